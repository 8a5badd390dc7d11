"""The gradebook's database: the address that SQLAlchemy understands, whether it can be reached, and what to do about
its errors.
"""

from __future__ import annotations

import socket
import sqlite3
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from autograder.model.course import Course, CourseError

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

Result = TypeVar("Result")

DRIVERS = ("psycopg", "psycopg2")  # the first is what our extra installs; the second is accepted where it is there
PORT = 5432
SECONDS_TO_ANSWER = 10.0
RESTART_WAITS = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)  # seconds between tries: half a minute for a server to come back

SQLITE_ADVICE = {
    sqlite3.SQLITE_BUSY: "Another program is writing to it: wait for it or close it, then run this again",
    sqlite3.SQLITE_LOCKED: "Another program is writing to it: wait for it or close it, then run this again",
    sqlite3.SQLITE_READONLY: "Make it writable",
    sqlite3.SQLITE_CANTOPEN: "Make its folder writable",
    sqlite3.SQLITE_FULL: "The disk is full: make room, then run this again",
    sqlite3.SQLITE_NOTADB: "Restore it from a copy, or move it away and grade again",
    sqlite3.SQLITE_CORRUPT: "Restore it from a copy, or move it away and grade again",
}


def url_for(text: str) -> str:
    """What an instructor writes, as SQLAlchemy wants it: `postgresql://` with the driver that is installed."""
    scheme, separator, rest = text.partition("://")
    if scheme not in ("postgres", "postgresql"):
        return text
    return f"postgresql+{driver() or DRIVERS[0]}{separator}{rest}"


def gradebook_url(course: Course) -> str:
    """nbgrader's gradebook: a file in the course's folder, or what `gradebook` in course.toml names (PostgreSQL)."""
    return url_for(course.gradebook) or f"sqlite:///{course.root / 'gradebook.db'}"


def driver() -> str | None:
    return next((name for name in DRIVERS if find_spec(name) is not None), None)


def is_postgresql(url: str) -> bool:
    return url.startswith(("postgresql", "postgres:"))


def must_answer(url: str) -> None:
    """Refuse in one line where the driver is missing or nobody listens at a PostgreSQL server's address.

    A file needs neither.
    """
    if not is_postgresql(url):
        return
    if driver() is None:
        raise CourseError(
            "`gradebook` in course.toml names a PostgreSQL database, and the driver for it is not installed: "
            "pip install 'sequence-models-workbook[postgresql]'"
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or PORT
    except ValueError as error:
        raise CourseError(f"`gradebook` in course.toml is no address of a database: {error}") from None
    if not host or "," in host:  # a socket in the file system, or several servers: the driver knows
        return
    try:
        socket.create_connection((host, port), SECONDS_TO_ANSWER).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise CourseError(
            f"the database server at {host}:{port} does not answer ({reason}): start it, or correct `gradebook` in"
            " course.toml. Marks that are in it are safe"
        ) from None


def across_a_restart(book: Gradebook, work: Callable[[], Result]) -> Result:
    """Do this work; do it again from its beginning when the server went away in the middle and has come back.

    The work must be safe to repeat. A file is never away, so its errors are final.
    """
    from sqlalchemy.exc import OperationalError

    for wait in RESTART_WAITS:
        try:
            return work()
        except OperationalError:
            if not is_postgresql(str(book.engine.url)):
                raise
            book.db.rollback()
            time.sleep(wait)
    return work()


def problem(error: Exception) -> str | None:
    """What the database says, if this error is about it, and what to do."""
    known = sys.modules.get("sqlalchemy.exc")
    if known is None or not isinstance(error, known.SQLAlchemyError):
        return None
    original: Any = getattr(error, "orig", None)
    text = (str(original or error).strip().splitlines() or [type(error).__name__])[0]
    return f"{text}. {advice(error, original)}"


def advice(error: Exception, original: Any) -> str:
    if isinstance(original, sqlite3.Error):
        code = (getattr(original, "sqlite_errorcode", None) or 0) & 0xFF  # the rest of it is a detail
        return SQLITE_ADVICE.get(code, "Restore it from a copy, or move it away and grade again")
    if getattr(error, "connection_invalidated", False):
        return "The server ended the connection: start it again, then run this again. What was stored is safe"
    return (
        "Is the server running, and are user, password and database in `gradebook` of course.toml right? What was"
        " stored is safe"
    )
