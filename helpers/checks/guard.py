"""Runs student code so that nothing it does can end a test cell early.

An exception becomes a `Failed` value. Standard error and warnings are kept aside: plain nbgrader gives zero points to a
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
from typing import Any, NamedTuple, NoReturn

import numpy as np
import torch

COURSE_PACKAGES = (f"{os.sep}helpers{os.sep}", f"{os.sep}autograder{os.sep}")
NOTHING = "nothing came back (None): is a `return` missing?"
RAISED = "your code raised "
EXTRA_ERRORS = {"LinAlgError", "OutOfMemoryError", "BackendCompilerFailed", "CppCompileError", "InductorError", "TorchRuntimeError"}


class Unwritten(NamedTuple):
    """A function or class that is still the stub students are given, and what its docstring asks for."""

    name: str
    asked: str

    def sentence(self) -> str:
        what = f"`{self.name}`" if self.name else "your answer"
        return f"not written yet: in place of `raise NotImplementedError()`, write {what}{': ' + self.asked if self.asked else ''}"


class Failed:
    """What student code returned when it returned nothing usable.

    It absorbs whatever the test does with it next, so that the checks that depend on it are reached and fail with the
    reason, while the checks that do not depend on it still count.
    """

    def __init__(self, reason: str, safe_reason: str, unwritten: Unwritten | None = None) -> None:
        self.__dict__.update(reason=reason, safe_reason=safe_reason, unwritten=unwritten)

    def __getattr__(self, name: str) -> Failed:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Failed:
        return self

    def __getitem__(self, index: Any) -> Failed:
        return self

    def __iter__(self) -> Iterator[Any]:
        _consumed.append(self)
        return iter(())

    def __len__(self) -> int:
        _consumed.append(self)
        return 0

    def __bool__(self) -> bool:
        _consumed.append(self)
        return False

    def __float__(self) -> float:
        _consumed.append(self)
        return float("nan")

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<failed: {self.__dict__['reason']}>"

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Failed:
        found = first_failure((args, kwargs or {}))
        return cls("unknown", "unknown") if found is None else found

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Failed:
        return self

    def __array_function__(self, *args: Any, **kwargs: Any) -> Failed:
        return self


_consumed: list[Failed] = []  # what was read as an empty list, as false or as no number: a result made of it is no result


def _absorb(self: Failed, *args: Any) -> Failed:
    return self


for _name in [
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "floordiv",
    "rfloordiv",
    "mod",
    "rmod",
    "pow",
    "rpow",
    "matmul",
    "rmatmul",
    "neg",
    "pos",
    "abs",
    "invert",
    "and",
    "rand",
    "or",
    "ror",
    "xor",
    "rxor",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
]:
    setattr(Failed, f"__{_name}__", _absorb)


def first_failure(value: Any) -> Failed | None:
    """The first `Failed` inside nested tuples, lists and dicts, or None."""
    if isinstance(value, Failed):
        return value
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        return next((found for item in value if (found := first_failure(item)) is not None), None)
    return None


class StudentError(Exception):
    """Carries a `Failed` out of nested course code, for example out of a call-back."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(repr(failed))
        self.failed = failed


def copied(value: Any) -> Any:
    """A copy of plain data: what the student's code changes in place must not change the test's own data."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in (list, tuple, set):
        return type(value)(copied(item) for item in value)
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    return value


def plain(value: Any, dtype: torch.dtype | None = None) -> Any:
    """Plain data as the checks want it: arrays become tensors, graphs are cut, floats are cast to `dtype` if given."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        value = torch.from_numpy(np.array(value))
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if dtype is not None and value.is_floating_point():
            value = value.to(dtype)
        return value
    if type(value) in (list, tuple):
        return type(value)(plain(item, dtype) for item in value)
    if type(value) is dict:
        return {key: plain(item, dtype) for key, item in value.items()}
    return value


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
        _consumed.clear()
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
        if _consumed:
            result = _consumed[0]
    return result, kept


MOST_LINES = 80


def failure_of(error: BaseException, test_file: str = "") -> Failed:
    """The `Failed` for an exception: one reason with the message, one without anything the student could have put there."""
    place, line = student_line(error, test_file)
    name = type(error).__name__
    known = name if hasattr(builtins, name) or name in EXTRA_ERRORS else kind_of(error)
    if isinstance(error, NotImplementedError) and (not str(error) or "NotImplementedError" in line):  # torch raises it, too, with a message
        return not_written(stub_of(error, test_file))
    if isinstance(error, NameError) and error.name and names_itself(error, test_file):
        return Failed(run_first(error.name), run_first(error.name))
    at = f" at line {place} of the cell: `{line}`" if line else ""
    message = " ".join(str(error).split())[:300]
    told = at if place <= MOST_LINES else ""  # a cell made of thousands of lines could tell by their numbers what a hidden test gave it
    return Failed(f"{RAISED}{name}{': ' + message if message else ''}{at}", f"{RAISED}{known}{told}")


def not_written(stub: Unwritten) -> Failed:
    return Failed(stub.sentence(), stub.sentence(), stub)


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


def first_paragraph(docstring: str | None) -> str:
    return " ".join((docstring or "").strip().split("\n\n")[0].split())[:300]


def run_first(name: str) -> str:
    return f"run the cell above first: `{name}` is not defined yet"


def names_itself(error: NameError, test_file: str) -> bool:
    """Is it the test cell that names what is not there, not the student's code?"""
    innermost = traceback.extract_tb(error.__traceback__)[-1:]
    return bool(test_file) and [frame.filename for frame in innermost] == [test_file]


def is_notebook(filename: str, test_file: str) -> bool:
    """Is this a cell of the student's: neither a library, nor the course's own code, nor the test?"""
    installed = "site-packages" in filename or any(part in filename for part in COURSE_PACKAGES) or f"{os.sep}lib{os.sep}python" in filename
    return not installed and filename != test_file


def kind_of(error: BaseException) -> str:
    """What Python calls an exception of a class that it does not know."""
    known = [cls for cls in vars(builtins).values() if isinstance(cls, type) and cls not in (Exception, BaseException, object)]
    names = (cls.__name__ for cls in type(error).__mro__ if any(cls is one for one in known))
    return next((f"a kind of {name}" for name in names), "an exception")


def student_line(error: BaseException, test_file: str) -> tuple[int, str]:
    """Line number and text of the innermost frame that is in a notebook cell, or (0, '')."""
    place: tuple[int, str] | None = getattr(error, "place", None)  # raised in another process, which named the line
    if place is not None:
        return place
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if is_notebook(frame.filename, test_file) and frame.line and frame.name != "<module>" and frame.lineno is not None:
            return frame.lineno, frame.line.strip()[:120]
    return 0, ""


def fail(reason: str) -> NoReturn:
    """Raise a student-facing failure from course code that runs inside `guarded`."""
    raise StudentError(Failed(reason, reason))
