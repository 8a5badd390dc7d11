"""An answer as a grader sees it: cleaned of all that runs, with its pictures and formulas, and without its author."""

from __future__ import annotations

import hashlib
import html
import json
import re
from pathlib import Path

from nbgrader.api import Grade

from autograder.classroom.formulas import markdown_html
from autograder.model.course import Course
from autograder.model.notebook import Cell, Notebook

PICTURE_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"}
BESIDE = re.compile(r'(<img\s[^>]*?\bsrc=")(?!data:)([^"]+)"')


def answer_folder(course: Course, grade: Grade) -> Path:
    return course.root / "autograded" / grade.student.id / grade.assignment.name


def answer_cell(course: Course, grade: Grade) -> Cell | None:
    """The graded notebook's cell, or None where the notebook cannot be found or read."""
    path = answer_folder(course, grade) / f"{grade.notebook.name}.ipynb"
    try:
        return Notebook.from_json(path.read_bytes()).named().get(grade.name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def digest(cell: Cell | None) -> str:
    """Tells one answer from another."""
    content = json.dumps(None if cell is None else [cell.source, cell.attachments], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def answer_html(cell: Cell, pictures: str) -> str:
    """An answer on the page; `pictures` is the address of files that were handed in beside the notebook."""
    if cell.kind != "markdown":
        return f"<pre>{html.escape(cell.source)}</pre>"
    made = markdown_html(cell.source, cell.attachments)
    return BESIDE.sub(lambda found: f'{found[1]}{html.escape(pictures)}/{found[2]}"', made)
