"""A class: submissions, grading, the gradebook, feedback, marks."""
