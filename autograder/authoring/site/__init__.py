"""`course site`: the course as a website of static files, made from what students get. `site.py` tells the order."""
