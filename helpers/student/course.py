"""The course as a student has it: `course.toml`, read for what the student's commands need."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from helpers.student.files import DESCRIPTION, CourseError, find_root


@dataclass(frozen=True)
class Assignment:
    """One assignment: its notebooks lie in notebooks/ID, and a student's copies in work/ID."""

    id: str
    title: str
    part: str
    minutes: int
    data: tuple[str, ...] = ()  # files beside the notebook that belong to the course


@dataclass(frozen=True)
class Course:
    """`course.toml`, read."""

    root: Path
    title: str
    about: str  # one sentence for the start page
    assignments: tuple[Assignment, ...]

    def data_files(self) -> dict[str, Path]:
        """The assignments' data files, by their names below `work/`."""
        names = [f"{assignment.id}/{name}" for assignment in self.assignments for name in assignment.data]
        return {name: self.root / "notebooks" / name for name in names}


def load(root: Path | None = None) -> Course:
    root = root or find_root()
    path = root / DESCRIPTION
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        entries = [
            Assignment(str(e["id"]), str(e["title"]), str(e["part"]), int(e["minutes"]), tuple(e.get("data", ())))
            for e in table.get("assignment", [])
        ]
        return Course(root, str(table["title"]), str(table.get("about", "")), tuple(entries))
    except FileNotFoundError:
        raise CourseError(f"{path} is missing: run `course` inside the course folder, or set COURSE_ROOT") from None
    except KeyError as error:
        raise CourseError(f"{path}: the key {error} is missing") from None
    except ValueError as error:  # no TOML, no text, or a number that is none
        raise CourseError(f"{path} cannot be read: {error}. Unpack the course afresh; your work/ stays") from None
