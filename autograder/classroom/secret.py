"""The secret of a class: hidden inputs are drawn from it, so that knowing those of another class is worth nothing.

It is made by the first `course grade`, lies in a file that only its owner reads, and is the same for every student and
every regrade. `secret_file` in course.toml says where, for several graders of one class. The gradebook keeps a
fingerprint of it, so that a lost or different secret is noticed before anybody is graded by other inputs.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy

from autograder.model.course import Course, CourseError

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

FACT = "fingerprint of the secret"
facts = sqlalchemy.Table(
    "workbook_facts",
    sqlalchemy.MetaData(),
    sqlalchemy.Column("name", sqlalchemy.String(100), primary_key=True),
    sqlalchemy.Column("value", sqlalchemy.Text, nullable=False),
)


def place(course: Course) -> Path:
    return course.root / (course.secret_file or ".course/secret")


def fingerprint(secret: str) -> str:
    return hashlib.sha256(f"fingerprint of {secret}".encode()).hexdigest()[:16]


def known_secret(course: Course) -> str:
    """The secret if there is one yet, else the public value: for nbgrader's own commands, which make none."""
    return read(place(course)) if place(course).exists() else ""


def class_secret(course: Course, book: Gradebook) -> str:
    """The secret, made now if nothing was graded yet; an error where the gradebook knows another one."""
    path, known = place(course), remembered(book)
    if path.exists():
        secret = read(path)
    elif known:
        raise CourseError(
            f"the secret of this class is gone: {path} is missing, and marks were made with it. Restore it from a copy"
            " or from another grader; to start with a new one, and grade everybody again, run `course grade"
            " --new-secret`"
        )
    else:
        secret = make(path)
    if known and known != fingerprint(secret):
        raise CourseError(
            f"{path} is not the secret that this class was graded with: restore that one from a copy or from another"
            " grader; to go on with this one, and grade everybody again, run `course grade --new-secret`"
        )
    if not known:
        remember(book, fingerprint(secret))
    return secret


def start_anew(course: Course, book: Gradebook) -> None:
    """Forget which secret the class was graded with: the next one, made or found, is taken."""
    table_in(book)
    book.db.execute(facts.delete().where(facts.c.name == FACT))
    book.db.commit()


def make(path: Path) -> str:
    """A new secret in a file that only its owner reads. Of two graders that start at once, the first one's counts."""
    secret = secrets.token_hex(16)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
            file.write(secret + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
    except FileExistsError:
        return read(path)
    except OSError as error:
        raise CourseError(f"the secret of the class could not be written to {path}: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)
    return secret


def read(path: Path) -> str:
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise CourseError(f"{path} can be read by others: `chmod 600 {path}`, the hidden inputs are drawn from it")
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"the secret of the class cannot be read from {path}: {error}") from None
    if len(text) < 16:
        raise CourseError(f"{path} holds no secret: restore it from a copy")
    return text


# ---- in the gradebook ------------------------------------------------------------------------------------------------


def table_in(book: Gradebook) -> None:
    facts.create(book.db.get_bind(), checkfirst=True)


def remembered(book: Gradebook) -> str:
    table_in(book)
    return book.db.execute(sqlalchemy.select(facts.c.value).where(facts.c.name == FACT)).scalar() or ""


def remember(book: Gradebook, value: str) -> None:
    try:
        book.db.execute(facts.insert().values(name=FACT, value=value))
        book.db.commit()
    except sqlalchemy.exc.IntegrityError:  # another grader was faster: what it wrote is compared the next time
        book.db.rollback()
