"""An ordinary IPython shell in the process of a test: no kernel, no examiner."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


@dataclass
class CellResult:
    """What running a cell gave: the value of its last expression, what it printed, and the exception, if any."""

    value: Any
    output: str
    error: str = ""

    @property
    def score(self) -> float:
        """Of a test cell: without a float it was not completed, and earns nothing."""
        return self.value if type(self.value) is float and not self.error else 0.0


class Shell:
    """Without history, threads or a terminal."""

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
