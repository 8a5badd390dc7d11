"""A notebook shell inside this process, cheap to fork: what `verify` runs cells in."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from autograder.course import CourseError


@dataclass
class CellResult:
    """What running a cell gave: the value of its last expression, what it printed, and the exception, if any."""

    value: Any
    output: str
    error: str = ""


class Shell:
    """An IPython shell without history, threads or a terminal."""

    def __init__(self) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.autocall = 0
        config.InteractiveShell.colors = "nocolor"
        InteractiveShell.clear_instance()
        self.shell = InteractiveShell.instance(config=config)

    def run(self, source: str) -> CellResult:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            result = self.shell.run_cell(source, store_history=False)
        raised = result.error_before_exec or result.error_in_exec
        error = f"{type(raised).__name__}: {raised}" if raised is not None else ""
        return CellResult(result.result, out.getvalue() + err.getvalue(), error)


@contextlib.contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    def expire(signum: int, frame: Any) -> None:
        os._exit(99)

    previous = signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


@dataclass
class Child:
    """A forked copy of this process that computes one picklable result."""

    name: Any
    pid: int
    reader: int

    def result(self) -> Any:
        """Wait for it; None where it was killed or ran out of time."""
        with os.fdopen(self.reader, "rb") as stream:
            data = stream.read()
        os.waitpid(self.pid, 0)
        return pickle.loads(data) if data else None


def fork(name: Any, work: Callable[[], Any], seconds: int = 120) -> Child:
    """Start `work()` in a forked copy: whatever it does to names, random state or memory stays there."""
    if not hasattr(os, "fork"):
        raise CourseError("`course verify` needs an operating system that can fork: on Windows use WSL")
    sys.stdout.flush()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return Child(name, pid, reader)
    os.close(reader)
    status = 1
    try:
        with _time_limit(seconds):
            data = pickle.dumps(work())
        with os.fdopen(writer, "wb") as stream:
            stream.write(data)
        status = 0
    finally:
        os._exit(status)
