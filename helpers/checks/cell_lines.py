"""Where a check is called from: which lines of the test cell are running, and whether they are hidden ones."""

from __future__ import annotations

import functools
import linecache
import os
import sys
import traceback
from types import FrameType

from helpers.checks import student_side

HERE = os.path.dirname(os.path.dirname(__file__)) + os.sep  # helpers/: what a room draws for a test is the test's


def calling_frame() -> FrameType:
    """The frame of the test cell that called a check: the first one outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    return frame


def running_lines(error: BaseException | None = None) -> tuple[tuple[str, ...], set[int]]:
    """The test cell that called a check: its text, and the numbers of its lines that are being carried out, or that
    `error` came by.
    """
    called = calling_frame()
    file = called.f_code.co_filename
    frames = traceback.walk_stack(called) if error is None else traceback.walk_tb(error.__traceback__)
    return tuple(linecache.getlines(file)), {number for frame, number in frames if frame.f_code.co_filename == file}


@functools.lru_cache(maxsize=16)  # every draw and every check of a cell asks
def hidden_lines(lines: tuple[str, ...]) -> frozenset[int]:
    """Numbers of the lines between the hidden-test markers."""
    numbers, hidden = set(), False
    for number, line in enumerate(lines, 1):
        hidden = (hidden or "BEGIN HIDDEN TESTS" in line) and "END HIDDEN TESTS" not in line
        if hidden:
            numbers.add(number)
    return frozenset(numbers)


def in_hidden_region(error: BaseException | None = None) -> bool:
    """Is the line that checks (or that raised `error`) a hidden one?

    Or one that called it: visible functions may be called from there.
    """
    lines, numbers = running_lines(error)
    return bool(numbers & hidden_lines(lines))


def discreet(error: BaseException | None = None) -> bool:
    """In the examiner a student's values are not quoted once hidden inputs were handed out: they could be those
    inputs.
    """
    if student_side.remote is None:
        return False
    lines, numbers = running_lines(error)
    before = max(numbers, default=len(lines) + 1)
    return bool(getattr(student_side.remote, "discreet", False)) or any(
        number < before for number in hidden_lines(lines)
    )
