"""What the notebooks import. Light: no nbgrader, no server; runs on Colab's older Jupyter stack."""
