"""The student's own copies in a staff repository: data files come from solutions/, where a released package has them
beside the notebooks.
"""

from __future__ import annotations

from pathlib import Path

from autograder.model.course import Course
from helpers.student import work
from helpers.student.work import FOLDER as FOLDER
from helpers.student.work import RECORD as RECORD
from helpers.student.work import Original


def data_files(course: Course) -> dict[str, Path]:
    """The assignments' data files, by their names below `work/`."""
    return {
        f"{assignment.id}/{label}": path
        for assignment in course.assignments
        for label, path in assignment.data_files().items()
    }


def originals(course: Course) -> list[Original]:
    return work.originals(course.root, data_files(course))


def prepare(course: Course) -> list[str]:
    return work.prepare(course.root, data_files(course))
