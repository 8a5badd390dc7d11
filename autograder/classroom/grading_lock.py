"""One `course grade` of an assignment at a time. Whoever comes second is told, and stops."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from autograder.classroom import database
from autograder.model.course import Assignment, Course, CourseError

MEMORY = ".course"  # below the course's root: what `course` keeps for itself


@contextmanager
def only_grader(course: Course, assignment: Assignment) -> Iterator[None]:
    """Hold the turn to grade this assignment. The system takes it back when this process ends, however it ends."""
    with ExitStack() as held:
        held.enter_context(file_lock(course.root / MEMORY / f"{assignment.id}.lock", assignment))
        if database.is_postgresql(database.gradebook_url(course)):
            held.enter_context(server_lock(course, assignment))
        yield


@contextmanager
def file_lock(path: Path, assignment: Assignment) -> Iterator[None]:
    """A lock on a file in the course's folder. The file stays: a new one in its place could be locked by two."""
    try:
        import fcntl
    except ImportError:  # Windows, where nothing is graded
        yield
        return
    path.parent.mkdir(exist_ok=True)
    with open(
        os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644), "r+", encoding="utf-8"
    ) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise refusal(assignment, file.read(200).strip()) from None
        file.truncate()
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        yield


@contextmanager
def server_lock(course: Course, assignment: Assignment) -> Iterator[None]:
    """An advisory lock of PostgreSQL: other machines may grade into the same gradebook. It ends with its connection."""
    from sqlalchemy import create_engine, text
    from sqlalchemy.pool import NullPool

    database.must_answer(database.gradebook_url(course))
    name = hashlib.sha256(f"course grade\n{course.course_id}\n{assignment.id}".encode()).digest()
    key = int.from_bytes(name[:8], "big", signed=True)
    engine = create_engine(database.gradebook_url(course), poolclass=NullPool)
    with contextlib.closing(engine.connect()) as connection:
        connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        if not connection.execute(text("select pg_try_advisory_lock(:key)"), {"key": key}).scalar():
            raise refusal(assignment, "on another machine")
        yield


def refusal(assignment: Assignment, who: str) -> CourseError:
    return CourseError(
        f"{assignment.id} is being graded by another `course grade`{f' ({who})' if who else ''}: wait for it, or stop"
        " it, then run this again"
    )
