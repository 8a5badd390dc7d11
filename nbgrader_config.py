"""nbgrader's own pipeline on the course's folders.

`nbgrader generate_assignment`, `autograde`, `generate_feedback`, `export` and formgrader use it.
"""

import tomllib
from pathlib import Path

from nbconvert.preprocessors import ClearMetadataPreprocessor
from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    IgnorePattern,
    LimitOutput,
    SaveAutoGrades,
)

from autograder.authoring.build import Stamp
from autograder.classroom.database import url_for
from autograder.classroom.feedback import clean_html, code_in_colours, markdown_without_scripts
from autograder.classroom.nbgrader_plugins import Examine, HideHiddenTests

c = get_config()  # noqa: F821  nbgrader provides it

course = tomllib.loads((Path(__file__).parent / "course.toml").read_text(encoding="utf-8"))
c.CourseDirectory.course_id = course["course_id"]
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "notebooks"

# The sources of an assignment lie beside its notebook and must not be released with it.
c.CourseDirectory.ignore = [
    ".ipynb_checkpoints",
    "*.pyc",
    "__pycache__",
    "feedback",
    "mistakes.py",
    "[0-9][0-9]-*.py",
    "grading.json",
]

# What nbgrader makes for students carries the digest of what was made, as what `course build` makes does: it can be
# told from a person's work.
c.GenerateAssignment.preprocessors = [*GenerateAssignment.class_traits()["preprocessors"].default(), Stamp]

if "gradebook" in course:
    c.CourseDirectory.db_url = url_for(course["gradebook"])

# `nbgrader autograde` examines submissions as `course grade` does: student code and tests in two processes, sandboxed.
# Put nbgrader.preprocessors.Execute in place of Examine to get its own way back, which runs student code with your
# rights.
c.Autograde.autograde_preprocessors = [
    Examine,
    IgnorePattern,
    ClearMetadataPreprocessor,
    LimitOutput,
    SaveAutoGrades,
    AssignLatePenalties,
    CheckCellMetadata,
]

# For those who do: one cell may take this long; test cells need at most 2 s.
c.Execute.timeout = 30

# nbgrader's feedback prints hidden tests; our page shows their hints only, and the same total as `course export`.
c.GenerateFeedback.preprocessors = [HideHiddenTests]
c.GenerateFeedback.exporter_class = "autograder.classroom.pages.feedback_page.FeedbackExporter"

# What a student wrote is shown in formgrader: as text and pictures, never as scripts.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.filters = {
    "markdown2html": markdown_without_scripts,
    "highlight_code": code_in_colours,
    "clean_html": clean_html,
}
