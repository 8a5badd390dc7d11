"""Exceptions of student code, raised on the examiner's side, and the exception that ends a test."""

from __future__ import annotations

import builtins
from typing import Any

from autograder.model import wording
from autograder.model.record import Reason
from helpers.checks import failed, student_side

# Names that the examiner uses itself, and classes that cannot be made from a message alone: a student's exception never
# has them.
RESERVED = ("NotGraded", "TestAborted", "BaseExceptionGroup", "ExceptionGroup")
MOST_NAMES = 20  # of one exception: its class and the classes above it
MOST_CHARACTERS = 2000


class TestAborted(BaseException):
    """The student's process has ended, is late, or broke the rules: this test is over.

    No `except Exception` stops it.
    """

    ends_the_cell = True

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        super().__init__(wording.sentence(reason))


class RemoteError(Exception):
    """An exception of student code, raised here under the name of its class."""

    place: tuple[int, str] = (0, "")  # line number and text of the line that raised it
    trace: tuple[str, ...] = ()
    stub: failed.Unwritten | None = None  # what is still to be written, where that is the reason


def from_message(head: dict[str, Any]) -> BaseException:
    """The exception that a message of the student's process describes.

    What it says about itself is text, cut to size.
    """
    names = head.get("mro")
    names = [n for n in names if type(n) is str and n.isidentifier()][:MOST_NAMES] if type(names) is list else []
    names = [name for name in names if name not in RESERVED] or ["Error"]
    message = head.get("message")
    message = message[:MOST_CHARACTERS] if type(message) is str else ""
    if names[0] == "StudentError":  # of the check library, which ran beside the student's code
        reason = message.removeprefix("<failed: ").removesuffix(">")
        known = reason if reason in student_side.REASONS else "your result could not be measured"
        return failed.StudentError(failed.Failed(reason, known))
    cls = class_named(names)
    error: Any = cls.__new__(cls)
    error.args = (message,)
    return error


def class_named(names: list[str]) -> Any:
    """A class called `names[0]`, below RemoteError and the most special built-in exception among the names."""
    base: Any = RemoteError
    for name in reversed(names):
        builtin = getattr(builtins, name, None)
        if not (isinstance(builtin, type) and issubclass(builtin, Exception)):
            continue
        if base is RemoteError or issubclass(builtin, base):
            base = builtin
    if base is not RemoteError:
        base = type(names[0], (RemoteError, base), {})
    for name in reversed(names):
        if getattr(builtins, name, None) is None and name not in {c.__name__ for c in base.__mro__}:
            base = type(name, (base,), {})
    return base if base.__name__ == names[0] else type(names[0], (base,), {})
