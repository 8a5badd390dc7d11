"""nbgrader's own pipeline on the course's folders: `nbgrader generate_assignment`, `autograde`, `generate_feedback`, `export`, formgrader."""

import tomllib
from pathlib import Path

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import GetGrades

from autograder.preprocessors import HideHiddenTests

c = get_config()  # noqa: F821  nbgrader provides it

course = tomllib.loads((Path(__file__).parent / "course.toml").read_text(encoding="utf-8"))
c.CourseDirectory.course_id = course["course_id"]
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "notebooks"

# The sources of an assignment lie beside its notebook and must not be released with it.
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback", "mistakes.py", "[0-9][0-9]-*.py"]

# One cell may take this long when nbgrader executes a submission; test cells need at most 2 s.
c.Execute.timeout = 30

# nbgrader's feedback prints hidden tests; ours shows their hints only.
c.GenerateFeedback.preprocessors = [GetGrades, HideHiddenTests, CSSHTMLHeaderPreprocessor]
