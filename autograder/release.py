"""`course release`: an assignment's folder as students get it, complete or not at all."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from autograder import build
from autograder.course import Assignment, Course, CourseError, replace_folder

PRIVATE = shutil.ignore_patterns("*.py", "*.ipynb", "__pycache__", ".ipynb_checkpoints", "*.pyc")


def release(course: Course, assignment: Assignment, target: Path) -> Path:
    """Build afresh, add the assignment's data files, and put the folder in place in one step."""
    _, student, _ = build.build(course, assignment)
    target = target.resolve()
    if target.exists() and not target.is_dir():
        raise CourseError(f"{target} is a file: give a folder with --to")
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target, prefix=".release-") as folder:
            new = Path(folder) / assignment.id
            shutil.copytree(assignment.source.parent, new, ignore=PRIVATE)
            (new / f"{assignment.id}.ipynb").write_text(student, encoding="utf-8")
            replace_folder(new, target / assignment.id)
    except OSError as error:
        raise CourseError(
            f"cannot write to {target}: {error.strerror or error}. Choose a folder you may write to, with some space left."
        ) from None
    return target / assignment.id
