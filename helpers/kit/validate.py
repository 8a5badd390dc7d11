"""`course check`: a notebook's tests, run in a fresh kernel from the top. The same on Colab, Linux, macOS and Windows.

`python -m helpers.kit.validate NOTEBOOK` does it without the `course` command. This is the only module of helpers/
that needs nbclient and nbformat; it imports them when a notebook is run, so that notebooks can import the rest of
helpers/ without them.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

CELL_SECONDS = 600
OUTCOME = "application/vnd.sequence-models.check+json"  # checks.report.MIME_TYPE, known here without importing torch


class NotCheckedError(Exception):
    """Nothing was run, or not to the end: one line that says why and what to do."""


@dataclass
class TestResult:
    """One test cell: what it earned and what it said."""

    __test__ = False  # not a pytest class

    name: str
    score: float
    points: float
    message: str
    unwritten: bool = False  # what the exercise asks for is not there yet

    @property
    def passed(self) -> bool:
        return self.score >= self.points

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "score": self.score,
            "points": self.points,
            "passed": self.passed,
            "message": self.message,
            "unwritten": self.unwritten,
        }

    def text(self) -> str:
        return (
            self.message
            if self.message
            else f"{'✓' if self.passed else '✗'} {self.name}: {self.score:g} of {self.points:g} points"
        )


def check_notebook(path: Path) -> list[TestResult]:
    """Run every cell, then look at the test cells."""
    return results_of(executed(path))


def summary(results: Sequence[TestResult]) -> str:
    earned, possible = sum(r.score for r in results), sum(r.points for r in results)
    passed = sum(r.passed for r in results)
    return f"{passed} of {len(results)} tests passed, {earned:g} of {possible:g} points (written answers not counted)"


# ---- running -------------------------------------------------------------------------------------------------------


def needed(name: str) -> Any:
    """A package that only this module needs."""
    try:
        return __import__(name)
    except ImportError:
        raise NotCheckedError(f"{name} is missing: pip install nbclient nbformat ipykernel") from None


def read_notebook(path: Path) -> Any:
    """A notebook, or one clear line why it cannot be read."""
    nbformat = needed("nbformat")
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
    except FileNotFoundError:
        raise NotCheckedError(f"{path} does not exist: give the path of a notebook (.ipynb)") from None
    except IsADirectoryError:
        raise NotCheckedError(f"{path} is a folder: give the path of a notebook (.ipynb)") from None
    except (
        ValueError,
        nbformat.reader.NotJSONError,
        nbformat.ValidationError,
        UnicodeDecodeError,
        AttributeError,
    ) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise NotCheckedError(f"{path} is not a notebook that can be read: {reason[:160]}") from None
    return notebook


# As in a kernel of JupyterLab's: what lies beside the notebook can be imported by its cells, after Python's own
# library.
BESIDE_THE_NOTEBOOK = (
    "(lambda path: path.insert(next((n for n, part in enumerate(path) if part.endswith('-packages')), len(path)), ''))"
    "(__import__('sys').path)"
)
# Errors of the kernel are shown, and none of its remarks (that it talks over TCP: to itself, on this machine).
KERNEL_OPTIONS = ["--IPKernelApp.log_level=40", f"--IPKernelApp.exec_lines={BESIDE_THE_NOTEBOOK}"]


@cache
def client_class() -> Any:
    """nbclient's client, mended in two places."""
    nbclient = needed("nbclient")

    class Client(nbclient.NotebookClient):  # type: ignore[name-defined]
        """ipykernel can miss that a request has come, and then waits for ever (ipython/ipykernel#1529, #1554).

        Another one wakes it.
        """

        nudge_seconds = 20.0

        def create_kernel_manager(self) -> Any:
            """The kernel starts with Python's own modules, whatever lies in the notebook's folder (-P)."""
            manager = super().create_kernel_manager()
            spec = manager.kernel_spec
            assert spec is not None
            spec.argv[1:1] = ["-P"]
            return manager

        async def async_execute_cell(self, *args: Any, **kwargs: Any) -> Any:
            nudges = asyncio.ensure_future(self.nudge())
            try:
                return await super().async_execute_cell(*args, **kwargs)
            finally:
                nudges.cancel()

        async def nudge(self) -> None:
            while True:
                await asyncio.sleep(self.nudge_seconds)
                if self.kc is not None:
                    self.kc.kernel_info()  # its answer belongs to no cell, and is passed over

    return Client


def executed(path: Path, **environment: str) -> Any:
    """The notebook after a run from the top in a fresh kernel, at the scale of grading."""
    notebook = read_notebook(path)
    if not any(
        about(cell).get("grade") or about(cell).get("task") for cell in notebook.cells
    ):  # there may be written answers only
        raise NotCheckedError(f"{path} has no graded cells: is it one of the course's notebooks?")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    return run(notebook, path, environment)


def run(
    notebook: Any,
    path: Path,
    environment: Mapping[str, str] | None = None,
    cell_seconds: int = CELL_SECONDS,
    interrupt: bool = False,
) -> Any:
    """Run the cells as if the notebook were at `path`.

    With `interrupt`, a cell that takes too long is ended and the next one runs.
    """
    client_type = client_class()
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    client = client_type(
        notebook,
        timeout=cell_seconds,
        interrupt_on_timeout=interrupt,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(path.resolve().parent)}},
        extra_arguments=KERNEL_OPTIONS,
    )
    try:
        one_thread = {"OMP_NUM_THREADS": "1"}  # as in grading: at this scale two would only wait for each other
        client.execute(env={**one_thread, **os.environ, "NBGRADER_EXECUTION": "validate", **(environment or {})})
    except CellTimeoutError:
        raise NotCheckedError(f"{path}: a cell ran for more than {cell_seconds} s: is there an endless loop?") from None
    except DeadKernelError:
        raise NotCheckedError(f"{path}: the kernel died while a cell ran: did it run out of memory?") from None
    return notebook


# ---- reading outputs -----------------------------------------------------------------------------------------------


def about(cell: Any) -> Any:
    """What nbgrader keeps with a cell."""
    return cell["metadata"].get("nbgrader", {})


def is_test(cell: Any) -> bool:
    return cell["cell_type"] == "code" and bool(about(cell).get("grade")) and not about(cell).get("solution")


def results_of(notebook: Any) -> list[TestResult]:
    return [result_of(cell) for cell in notebook["cells"] if is_test(cell)]


def result_of(cell: Any) -> TestResult:
    points = float(about(cell)["points"])
    score = score_of(cell["outputs"], points, cell["source"])
    unwritten = any(one.unwritten for one in told(cell["outputs"]))
    return TestResult(about(cell)["grade_id"].removesuffix("-test"), score, points, message_of(cell), unwritten)


def score_of(outputs: Sequence[Any], points: float, source: str = "") -> float:
    """Points as nbgrader reads them from the outputs of a test cell; nothing where a cell that ends in a score did
    not reach it.
    """
    for output in outputs:
        kind = output["output_type"]
        if kind == "error" or (kind == "stream" and output["name"] == "stderr"):
            return 0.0
        if kind == "execute_result":
            return partial_score(output["data"].get("text/plain", ""), points)
    return 0.0 if source.rstrip().endswith(".score()") else points


def partial_score(shown: Any, points: float) -> float:
    """What the value of a test cell says; nbgrader takes anything but a number from zero to the points as all of
    them.
    """
    text = shown if isinstance(shown, str) else "".join(shown)
    try:
        score = float(text)
    except ValueError:
        return points
    return score if 0.0 <= score <= points else points


def message_of(cell: Any) -> str:
    """What the cell showed the student, as text."""
    parts = []
    for output in cell["outputs"]:
        if output["output_type"] == "display_data" and "text/plain" in output["data"]:
            parts.append(output["data"]["text/plain"])
        elif output["output_type"] == "error":
            parts.append(f"✗ {output['ename']}: {output['evalue']}")
    return "\n".join(parts)


@dataclass(frozen=True)
class Told:
    """What a cell told the student: a hint and what was seen; does it ask for what is not written yet, is it an
    exception?
    """

    hint: str
    seen: str = ""
    unwritten: bool = False
    error: bool = False


def told(outputs: Sequence[Any]) -> list[Told]:
    """Hints of a test cell: its outcome as data; of a cell without one, its error."""
    found: list[Told] = []
    for output in outputs:
        outcome = output.get("data", {}).get(OUTCOME)
        if outcome is not None:
            found += [Told(sentence, unwritten=True) for sentence in outcome["unwritten"].values()]
            found += [Told(finding["hint"], finding["seen"]) for finding in outcome["findings"]]
        elif output["output_type"] == "error":
            found.append(Told(f"{output['ename']}: {output['evalue']}", error=True))
    return found


def outcomes(outputs: Sequence[Any]) -> list[dict[str, Any]]:
    """What the check library says of a test cell, as data."""
    return [data for output in outputs if (data := output.get("data", {}).get(OUTCOME)) is not None]


def requirements(outputs: Sequence[Any]) -> list[dict[str, Any]]:
    """The named requirements of a test cell: name, gravity, passed, share of the points. Empty where it has none."""
    return [requirement for outcome in outcomes(outputs) for requirement in outcome["requirements"]]


def hints_of(outputs: Sequence[Any]) -> list[str]:
    """The hints that a test cell gave, each once."""
    return list(dict.fromkeys(one.hint for one in told(outputs) if one.hint))


def main(args: Sequence[str]) -> int:
    """Exit code 0: all tests passed; 1: some did not; 2: nothing was checked."""
    if len(args) != 1:
        print("usage: python -m helpers.kit.validate NOTEBOOK", file=sys.stderr)
        return 2
    try:
        results = check_notebook(Path(args[0]))
    except NotCheckedError as reason:
        print(reason, file=sys.stderr)
        return 2
    for result in results:
        print(result.text())
    print(f"\n{summary(results)}")
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
