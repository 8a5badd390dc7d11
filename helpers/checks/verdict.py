"""Puts the verdict in front of a person: in a notebook, one output that is both the box and the cell's value.

nbgrader reads the points from the text of the cell's value, and a bare number below the box would only puzzle a reader.
So where a person looks on, the value's output carries the box as HTML: front ends show that, and its text stays the
number. The value itself stays a plain float. In grading, validation and `course check` (`NBGRADER_EXECUTION` is set),
and in the examiner, the box is an output before the value.
"""

from __future__ import annotations

import os
from typing import Any

Bundle = dict[str, Any]


class Waiting:
    """A verdict that was reached and not shown yet: the cell's value will show it, or else the end of the cell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.score: float | None = None
        self.bundle: Bundle = {}
        shell.display_formatter.mimebundle_formatter.for_type(float, self.with_value)
        shell.events.register("post_run_cell", self.at_the_end)

    def put(self, score: float, bundle: Bundle) -> None:
        self.at_the_end()  # of two verdicts in one cell, the first
        self.score, self.bundle = score, bundle

    def with_value(self, value: float) -> Bundle | None:
        """What is shown with the value of a cell, besides its text, which IPython adds."""
        if value is not self.score:
            return None
        self.score = None
        return {kind: content for kind, content in self.bundle.items() if kind != "text/plain"}

    def at_the_end(self, *_: Any) -> None:
        if self.score is not None:
            self.score = None
            publish(self.bundle)


def publish(bundle: Bundle) -> None:
    from IPython.display import display

    display(bundle, raw=True)


def notebook_shell() -> Any:
    """The shell, if it has a kernel; else None."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    shell = get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


def a_person_looks_on(shell: Any) -> bool:
    """A kernel of Jupyter's, started to work in: not the examiner's shell, nor a run that only counts points."""
    return shell is not None and not os.environ.get("NBGRADER_EXECUTION") and hasattr(shell.kernel, "session")


def show(score: float, bundle: Bundle) -> None:
    """Show the verdict on a cell, whose value will be `score`, this very object."""
    shell = notebook_shell()
    if shell is None:
        print(bundle["text/plain"])
    elif a_person_looks_on(shell):
        waiting = getattr(shell, "course_verdict", None)
        if waiting is None:
            waiting = shell.course_verdict = Waiting(shell)
        waiting.put(score, bundle)
    else:
        publish(bundle)
