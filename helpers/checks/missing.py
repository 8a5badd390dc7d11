"""A test that is run before its answer says so, instead of `NameError` and a screen of traceback.

The test cell names the student's function before the check library sees it, so this is the notebook's own business:
IPython lets an exception have a handler. The cell still ends with an error, so it earns nothing, wherever it is run.
"""

from __future__ import annotations

from typing import Any

from helpers.checks.failed import run_first


class AnswerMissingError(NameError):
    """The cell that defines what the test asks for has not been run."""


def explain_in(test_file: str) -> None:
    """From now on a name that the test cell does not find is explained; every other exception looks as it always
    does.
    """
    shell = notebook_shell()
    if shell is None or (
        shell.custom_exceptions and NameError not in shell.custom_exceptions
    ):  # somebody else's handler stays
        return

    def explain(
        shell: Any, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: int | None = None
    ) -> list[str]:
        innermost = trace
        while innermost is not None and innermost.tb_next is not None:
            innermost = innermost.tb_next
        name = getattr(error, "name", None)
        if name and innermost is not None and innermost.tb_frame.f_code.co_filename == test_file:
            shell._showtraceback(AnswerMissingError, AnswerMissingError(run_first(name)), [run_first(name)])
        else:
            shell.showtraceback((kind, error, trace), tb_offset=tb_offset, running_compiled_code=True)
        return []  # it is shown already

    shell.set_custom_exc((NameError,), explain)


def notebook_shell() -> Any:
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    return get_ipython()
