"""Checks of the submitted source: what it uses, what it avoids, its parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.checks import student_side
from helpers.checks.bans import Ban
from helpers.checks.compare import same
from helpers.checks.failed import first_failure
from helpers.checks.recording import Recorder

AROUND_OPERATORS = (
    "_refs",
    "_prims",
    "_decomp",
    "get_kernel",
    "_dispatch_library",
)  # parts of torch that lead around its operators


class SourceChecks(Recorder):
    """The part of `Check` that reads the submitted source."""

    def uses(self, function: Any, *names: str, hint: str) -> None:
        """The submitted source mentions every one of these names (or statements: "for", "while", "@")."""
        found = self._guarded(lambda: student_side.names_in(student_side.written(function)))
        if self._usable(found, hint):
            missing = [name for name in names if name not in found]
            self._record(not missing, hint, f"not used: {', '.join(missing)}", form=True)

    def avoids(
        self,
        function: Any,
        *names: str,
        hint: str,
        forbid: Sequence[Ban] = (),
        runs: Callable[[], Any] | None = None,
        own: bool = False,
    ) -> None:
        """The submitted source of a function, or of several, mentions none of these names, and does without what is
        forbidden.

        A source can be written so that nothing can be read from it, so `runs` (which calls the function) must give the
        same result while `forbid` is refused. The check fails where there is no result.
        """
        functions = function if isinstance(function, tuple) else (function,)
        found = self._guarded(
            lambda: set().union(*(student_side.names_in(student_side.written(f), own=own) for f in functions))
        )
        if not self._usable(found, hint):
            return
        used = [name for name in (*names, *(AROUND_OPERATORS if forbid else ())) if name in found]
        if used or runs is None:
            self._record(not used, hint, f"used: {', '.join(used)}", form=True, named=True)
            return
        student_side.seed(0)
        result = self._run(runs, (), {}, forbid)
        student_side.seed(0)
        again = self._run(runs, (), {})
        if self._usable(again, hint):
            failed = first_failure(result)
            seen = "the result is another one where that is refused" if failed is None else failed.__dict__["reason"]
            self._record(
                failed is None and same(result, again),
                hint,
                seen,
                "the result is another one where that is refused",
                form=True,
                named=True,
            )

    def signature(self, function: Any, names: Sequence[str], hint: str = "") -> None:
        """The submitted function takes these parameters, in this order."""
        hint = hint or "keep the function's parameters as they were given"
        found = self._guarded(lambda: student_side.parameters_of(student_side.written(function)))
        if self._usable(found, hint):
            self._record(
                list(found) == list(names), hint, f"expected ({', '.join(names)}), got ({', '.join(found)})", form=True
            )
