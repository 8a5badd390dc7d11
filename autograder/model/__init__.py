"""What a course, a notebook and a result are. Imports nothing else of ours."""
