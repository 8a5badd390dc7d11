"""What the course adds to nbgrader's own pipeline, used by `nbgrader_config.py`."""

from __future__ import annotations

import atexit
import json
from pathlib import Path
from typing import Any

from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.classroom import secret
from autograder.examiner import notebook as notebooks
from autograder.examiner.limits import Limits, limits_of
from autograder.examiner.pool import Pool, Submission, modules_of
from autograder.model import course as courses
from autograder.model import regions, wording
from autograder.model.notebook import Notebook
from autograder.model.record import Record

TRIES = 3  # at a submission that the machine kept from being graded


class Examine(NbGraderPreprocessor):
    """`nbgrader autograde` with the examiner in place of its Execute: student code and tests in two processes,
    sandboxed.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        about = resources["nbgrader"]
        this = courses.load()
        assignment = next((a for a in this.assignments if a.id == about["assignment"]), None)
        limits = Limits() if assignment is None else limits_of(this, assignment)
        cells = [
            {
                "kind": c.cell_type,
                "source": c.source,
                "metadata": json.loads(json.dumps(c.metadata)),
                "id": c.get("id", ""),
            }
            for c in nb.cells
        ]
        data = notebooks.from_cells(instructor_cells(this, about, cells))
        data["secret"] = secret.known_secret(this)
        data["looks"] = {}  # nbgrader has cleared what was handed in: only a run can show their figures
        folder = Path(resources["metadata"]["path"])
        for path in copies_of_links(this.root / "submitted" / about["student"] / about["assignment"], folder):
            self.log.warning("%s: %s was a link; it was left out", about["student"], path.name)
            path.unlink()
        files = [
            (str(path.relative_to(folder)), str(path))
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix != ".ipynb"
        ]
        home = this.root / "solutions" / about["assignment"]
        given = [label for label, _ in files if (home / label).is_file()]
        submission = Submission(about["assignment"], about["notebook"], limits, cells=cells, files=files, given=given)
        for tries_left in reversed(range(TRIES)):
            answer = record_of(submission, data, home)
            if "error" not in answer:
                break
            if not tries_left or answer.get("late"):  # nbgrader writes nothing for this student
                raise RuntimeError(f"the examiner could not grade this: {answer['error']}")
        record = Record.from_json(answer)
        for cell, graded in zip(nb.cells, json.loads(record.notebook)["cells"], strict=True):
            if cell.cell_type == "code":
                cell.outputs = [notebook_node(output) for output in graded["outputs"]]
                cell.execution_count = graded["execution_count"]
        for fact in (*record.repairs, *record.integrity, *record.incidents):
            self.log.warning("%s: %s", about["student"], wording.sentence(fact))
        return nb, resources


def copies_of_links(submitted: Path, folder: Path) -> list[Path]:
    """What nbgrader copied from where links in a submission led: the grader's own files, or another student's."""
    links = [path.relative_to(submitted) for path in submitted.rglob("*") if path.is_symlink()]
    return [folder / name for name in links if (folder / name).is_file()]


def notebook_node(output: Any) -> Any:
    import nbformat

    return nbformat.from_dict(output)


def instructor_cells(
    course: courses.Course, about: dict[str, Any], cells: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Cells to take imports and names from: the instructor's own notebook where it is at hand, else the locked cells of
    this one.
    """
    path = course.root / "solutions" / about["assignment"] / f"{about['notebook']}.ipynb"
    if not path.exists():
        return [cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("locked")]
    return [cell.as_dict() for cell in Notebook.from_json(path.read_bytes())]


def record_of(submission: Submission, data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What the shared worker finds out about a submission, or why it could not."""
    pool = shared_pool(tuple(modules_of({submission.notebook: data})), submission.limits.output_kb << 10)
    try:
        pool.prepare(submission.assignment, {submission.notebook: data}, folder)
    except courses.CourseError as error:
        return {"error": str(error)}
    answer = pool.examine(submission)
    if answer.get("pool"):
        close_pools()  # the next try has a new one
    return answer


_pools: dict[tuple[str, ...], Pool] = {}


def shared_pool(modules: tuple[str, ...], output_bytes: int) -> Pool:
    """One worker for this nbgrader process, started when the first submission needs it.

    It has imported what the notebook imports: else that would count as memory of the student's cells.
    """
    if modules not in _pools:
        close_pools()
        _pools[modules] = Pool(1, list(modules), output_bytes)
        atexit.register(close_pools)
    return _pools[modules]


def close_pools() -> None:
    while _pools:
        _pools.popitem()[1].close()


class HideHiddenTests(NbGraderPreprocessor):
    """Takes hidden tests out of what a student sees: their source, and the tracebacks that quote it."""

    seen = False

    def preprocess_cell(self, cell: Any, resources: Any, cell_index: int) -> tuple[Any, Any]:
        self.seen = (self.seen if cell_index else False) or (
            cell.cell_type == "code" and regions.has_hidden(cell.source)
        )
        graded = cell.metadata.get("nbgrader", {}).get("grade", False)
        if cell.cell_type == "code" and (
            regions.has_hidden(cell.source) or (self.seen and graded)
        ):  # after a hidden test, errors could quote it
            cell.source = regions.hidden_replaced_by_comment(cell.source)
            for output in cell.outputs:
                if output.output_type == "error" and output.ename != wording.NOT_GRADED:
                    output.traceback = [f"{output.ename} in a hidden test of this cell."]
                    output.evalue = ""
        return cell, resources
