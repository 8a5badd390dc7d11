"""What one submission may use."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from autograder.model.course import Assignment, Course, CourseError


@dataclass(frozen=True)
class Limits:
    """What one submission may use.

    `[limits]` in course.toml changes it for the course, `limits` of an assignment for that one.
    """

    cell_seconds: float = 30  # one cell of the student, and one call from a test
    test_seconds: float = 30  # one test cell
    submission_seconds: float = 600  # the whole submission
    cpu_seconds: int = 300  # of one process of the student
    memory_mb: int = 2048  # of one process beyond the libraries; all of them together may use a quarter more
    processes: int = 64
    file_mb: int = 64  # one file
    scratch_mb: int = 256  # all files
    output_kb: int = 1024  # outputs of one cell

    def with_changes(self, changes: dict[str, Any], where: str) -> Limits:
        known = {field.name for field in fields(self)}
        for name, value in changes.items():
            if name not in known:
                raise CourseError(f"{where}: there is no limit {name!r}; there are {', '.join(sorted(known))}")
            if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
                raise CourseError(f"{where}: {name} must be a number above zero")
        return replace(self, **{name: type(getattr(self, name))(value) for name, value in changes.items()})

    def settings(self) -> dict[str, Any]:
        return {
            "memory_bytes": self.memory_mb << 20,
            "cpu_seconds": int(self.cpu_seconds),
            "file_bytes": self.file_mb << 20,
            "scratch_bytes": self.scratch_mb << 20,
            "processes": int(self.processes),
        }

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def limits_of(course: Course, assignment: Assignment) -> Limits:
    """The defaults, changed by `[limits]` and by the assignment's own `limits` in course.toml."""
    common = Limits().with_changes(dict(course.common_limits), "course.toml [limits]")
    return common.with_changes(dict(assignment.limits), f"course.toml, limits of {assignment.id}")
