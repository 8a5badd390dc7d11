"""`course check`: a notebook's tests, run in a fresh kernel from the top, as grading does."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbgrader.utils import determine_grade, is_grade, is_solution, is_task

from autograder.course import CourseError

CELL_SECONDS = 600


@dataclass
class TestResult:
    """One test cell: what it earned and what it said."""

    __test__ = False  # not a pytest class

    name: str
    score: float
    points: float
    message: str

    @property
    def passed(self) -> bool:
        return self.score >= self.points

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "score": self.score, "points": self.points, "passed": self.passed, "message": self.message}

    def text(self) -> str:
        return self.message if self.message else f"{'✓' if self.passed else '✗'} {self.name}: {self.score:g} of {self.points:g} points"


def read_notebook(path: Path) -> Any:
    """A notebook, or one clear line why it cannot be read."""
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
    except FileNotFoundError:
        raise CourseError(f"{path} does not exist: give the path of a notebook (.ipynb)") from None
    except IsADirectoryError:
        raise CourseError(f"{path} is a folder: give the path of a notebook (.ipynb)") from None
    except (ValueError, nbformat.reader.NotJSONError, nbformat.ValidationError, UnicodeDecodeError, AttributeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CourseError(f"{path} is not a notebook that can be read: {reason[:160]}") from None
    return notebook


def check_notebook(path: Path) -> list[TestResult]:
    """Run every cell, then look at the test cells."""
    return results_of(executed(path))


def results_of(notebook: Any) -> list[TestResult]:
    return [result_of(cell) for cell in notebook.cells if is_test(cell)]


def is_test(cell: Any) -> bool:
    return cell.cell_type == "code" and is_grade(cell) and not is_solution(cell)


# As in a kernel of JupyterLab's: what lies beside the notebook can be imported by its cells, after Python's own library.
BESIDE_THE_NOTEBOOK = (
    "(lambda path: path.insert(next((n for n, part in enumerate(path) if part.endswith('-packages')), len(path)), ''))"
    "(__import__('sys').path)"
)
# Errors of the kernel are shown, and none of its remarks (that it talks over TCP: to itself, on this machine).
KERNEL_OPTIONS = ["--IPKernelApp.log_level=40", f"--IPKernelApp.exec_lines={BESIDE_THE_NOTEBOOK}"]


class Client(NotebookClient):
    """ipykernel can miss that a request has come, and then waits for ever beside it (ipython/ipykernel#1529, #1554). Another one wakes it."""

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


def executed(path: Path, **environment: str) -> Any:
    """The notebook after a run from the top in a fresh kernel, at the scale of grading."""
    notebook = read_notebook(path)
    if not any(is_grade(cell) or is_task(cell) for cell in notebook.cells):  # there may be written answers only
        raise CourseError(f"{path} has no graded cells: is it one of the course's notebooks?")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    folder = {"metadata": {"path": str(path.resolve().parent)}}
    client = Client(
        notebook, timeout=CELL_SECONDS, kernel_name="python3", allow_errors=True, resources=folder, extra_arguments=KERNEL_OPTIONS
    )
    try:
        one_thread = {"OMP_NUM_THREADS": "1"}  # as in grading: at this scale two would only wait for each other
        client.execute(env={**one_thread, **os.environ, "NBGRADER_EXECUTION": "validate", **environment})
    except CellTimeoutError:
        raise CourseError(f"{path}: a cell ran for more than {CELL_SECONDS} s: is there an endless loop?") from None
    except DeadKernelError:
        raise CourseError(f"{path}: the kernel died while a cell ran: did it run out of memory?") from None
    return notebook


def result_of(cell: Any) -> TestResult:
    score, points = determine_grade(cell)
    if not any(output.output_type == "execute_result" for output in cell.outputs) and cell.source.rstrip().endswith(".score()"):
        score = 0.0  # a test cell that did not reach its score has not been passed
    return TestResult(cell.metadata.nbgrader.grade_id.removesuffix("-test"), float(score or 0.0), points, message_of(cell))


def message_of(cell: Any) -> str:
    """What the cell showed the student, as text."""
    parts = []
    for output in cell.outputs:
        if output.output_type == "display_data" and "text/plain" in output.data:
            parts.append(output.data["text/plain"])
        elif output.output_type == "error":
            parts.append(f"✗ {output.ename}: {output.evalue}")
    return "\n".join(parts)
