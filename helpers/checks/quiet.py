"""Runs student code quietly: nothing it does can end a test cell early.

An exception becomes a `Failed`. Standard error and warnings are kept aside: plain nbgrader gives zero points to a
cell that writes a single byte to standard error, and a progress bar is not a mistake.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from helpers.checks.failed import Failed, StudentError, Unwritten, consumed, first_paragraph, not_written, run_first

COURSE_PACKAGES = (f"{os.sep}helpers{os.sep}", f"{os.sep}autograder{os.sep}")
RAISED = "your code raised "
EXTRA_ERRORS = {
    "LinAlgError",
    "OutOfMemoryError",
    "BackendCompilerFailed",
    "CppCompileError",
    "InductorError",
    "TorchRuntimeError",
}


class Quiet:
    """What was kept aside while student code ran."""

    def __init__(self) -> None:
        self.stderr = ""
        self.warnings: list[str] = []


@contextlib.contextmanager
def quiet(hide_stdout: bool = False) -> Iterator[Quiet]:
    """Keep standard error (Python's and the file descriptor's) and warnings aside; hide printing if asked."""
    kept = Quiet()
    errors = io.StringIO()
    saved = None
    with contextlib.ExitStack() as stack:
        spill = stack.enter_context(tempfile.TemporaryFile())
        try:
            sys.stderr.flush()
            saved = os.dup(2)
            os.dup2(spill.fileno(), 2)
        except (OSError, ValueError):  # no file descriptor 2 here: Python's own stream is all there is
            saved = None
        stack.enter_context(contextlib.redirect_stderr(errors))
        if hide_stdout:
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        try:
            yield kept
        finally:
            if saved is not None:
                os.dup2(saved, 2)
                os.close(saved)
            spill.seek(0)
            kept.stderr = errors.getvalue() + spill.read().decode(errors="replace")
            kept.warnings = [str(entry.message) for entry in caught]


def guarded(function: Callable[[], Any], hide_stdout: bool = False, test_file: str = "") -> tuple[Any, Quiet]:
    """The result of `function()`, or a `Failed` that says what went wrong and where in the student's code.

    Lines of `test_file`, the test cell itself, are never shown: they may be hidden ones.
    """
    with quiet(hide_stdout) as kept:
        consumed.clear()
        try:
            result = function()
        except StudentError as error:
            result = error.failed
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit and friends must not end the cell either
            if getattr(error, "ends_the_cell", False):  # there is nothing left to ask: the student's process is gone
                raise
            result = failure_of(error, test_file)
        if consumed:
            result = consumed[0]
    return result, kept


MOST_LINES = 80


def failure_of(error: BaseException, test_file: str = "") -> Failed:
    """The `Failed` for an exception: one reason with the message, one without anything the student could have put
    there.
    """
    place, line = student_line(error, test_file)
    name = type(error).__name__
    known = name if hasattr(builtins, name) or name in EXTRA_ERRORS else kind_of(error)
    if isinstance(error, NotImplementedError) and (
        not str(error) or "NotImplementedError" in line
    ):  # torch raises it, too, with a message
        return not_written(stub_of(error, test_file))
    if isinstance(error, NameError) and error.name and names_itself(error, test_file):
        return Failed(run_first(error.name), run_first(error.name))
    at = f" at line {place} of the cell: `{line}`" if line else ""
    message = " ".join(str(error).split())[:300]
    told = (
        at if place <= MOST_LINES else ""
    )  # a cell made of thousands of lines could tell by their numbers what a hidden test gave it
    return Failed(f"{RAISED}{name}{': ' + message if message else ''}{at}", f"{RAISED}{known}{told}")


def stub_of(error: BaseException, test_file: str) -> Unwritten:
    """Which function of the student's raised `NotImplementedError`, and its docstring."""
    known: Unwritten | None = getattr(error, "stub", None)  # raised in another process, whose examiner knows
    if known is not None:
        return known
    found, trace = Unwritten("", ""), error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if is_notebook(code.co_filename, test_file) and "<" not in code.co_name:
            text = code.co_consts[0] if code.co_consts and isinstance(code.co_consts[0], str) else ""
            name, _, method = getattr(code, "co_qualname", code.co_name).rpartition("<locals>.")[2].partition(".")
            if method:  # the exercise is the class
                text = getattr(trace.tb_frame.f_globals.get(name), "__doc__", None) or text
            found = Unwritten(name, first_paragraph(text))
        trace = trace.tb_next
    return found


def names_itself(error: NameError, test_file: str) -> bool:
    """Is it the test cell that names what is not there, not the student's code?"""
    innermost = traceback.extract_tb(error.__traceback__)[-1:]
    return bool(test_file) and [frame.filename for frame in innermost] == [test_file]


def is_notebook(filename: str, test_file: str) -> bool:
    """Is this a cell of the student's: neither a library, nor the course's own code, nor the test?"""
    installed = (
        "site-packages" in filename
        or any(part in filename for part in COURSE_PACKAGES)
        or f"{os.sep}lib{os.sep}python" in filename
    )
    return not installed and filename != test_file


def kind_of(error: BaseException) -> str:
    """What Python calls an exception of a class that it does not know."""
    known = [
        cls
        for cls in vars(builtins).values()
        if isinstance(cls, type) and cls not in (Exception, BaseException, object)
    ]
    names = (cls.__name__ for cls in type(error).__mro__ if any(cls is one for one in known))
    return next((f"a kind of {name}" for name in names), "an exception")


def student_line(error: BaseException, test_file: str) -> tuple[int, str]:
    """Line number and text of the innermost frame that is in a notebook cell, or (0, '')."""
    place: tuple[int, str] | None = getattr(error, "place", None)  # raised in another process, which named the line
    if place is not None:
        return place
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if (
            is_notebook(frame.filename, test_file)
            and frame.line
            and frame.name != "<module>"
            and frame.lineno is not None
        ):
            return frame.lineno, frame.line.strip()[:120]
    return 0, ""
