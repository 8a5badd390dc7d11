"""`course release`: an assignment's folder as students get it, complete or not at all."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from autograder.authoring import build
from autograder.authoring.github_classroom import workflow_files
from autograder.model.course import Assignment, Course, CourseError, replace_folder
from helpers.student import authorship


def release(course: Course, assignment: Assignment, target: Path) -> Path:
    """Build afresh, add the assignment's data files, and put the folder in place in one step."""
    made = build.student_texts(course, assignment)
    target = target.resolve()
    if target.exists() and not target.is_dir():
        raise CourseError(f"{target} is a file: give a folder with --to")
    refuse_to_replace_work(target / assignment.id, made)
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target, prefix=".release-") as folder:
            new = Path(folder) / assignment.id
            new.mkdir()
            for name, path in assignment.data_files().items():
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, new / name)
            for name, text in {**workflow_files(course, assignment), **made}.items():
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                (new / name).write_text(text, encoding="utf-8")
            replace_folder(new, target / assignment.id)
    except OSError as error:
        raise CourseError(
            f"cannot write to {target}: {error.strerror or error}. Choose a folder you may write to, with some space"
            " left."
        ) from None
    return target / assignment.id


def refuse_to_replace_work(folder: Path, made: dict[str, str]) -> None:
    """A released folder in which somebody has worked is not replaced by a new release."""
    for path in sorted(folder.rglob("*.ipynb")):
        as_released = path.name in made and path.read_bytes() == made[path.name].encode()
        if not as_released and authorship.is_a_persons(path):
            raise CourseError(
                f"{path} was changed by a person: nothing was released. Move it away, or release to another folder"
            )
