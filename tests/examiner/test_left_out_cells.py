"""Grading leaves out cells that only show something, keeps what was handed in of them and says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.examiner import notebook as notebooks
from autograder.examiner import sandbox
from autograder.examiner.limits import Limits
from autograder.examiner.outputs import OutputBudget
from autograder.examiner.pool import Pool, Submission
from autograder.model.record import Record

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sandbox.why_not() is not None, reason=f"no sandbox here: {sandbox.why_not()}"),
]
HANDED_IN = [{"output_type": "stream", "name": "stdout", "text": ["from ", "home\n"]}]
LOOK = "shown = 'made in ' + 'grading'\nprint(shown)"
ABOUT = "print('asked for')"


def known(name: str, **about: Any) -> dict[str, Any]:
    usual = {"grade": False, "locked": False, "points": 1, "schema_version": 3, "solution": False, "task": False}
    return {"nbgrader": {**usual, "grade_id": name, **about}}


CELLS = [
    {"kind": "code", "source": "def two():\n    return 2", "metadata": known("two", solution=True)},
    {"kind": "code", "source": LOOK, "metadata": {"look": True}},
    {"kind": "code", "source": ABOUT, "metadata": {"look": "why"}},
    {"kind": "markdown", "source": "", "metadata": known("why", solution=True, grade=True)},
    {"kind": "code", "source": "assert two() == 2", "metadata": known("two-test", grade=True, locked=True)},
]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(1, [], 1 << 20) as made:
        data = notebooks.from_cells([{**cell, "id": f"c{place}"} for place, cell in enumerate(CELLS)])
        made.prepare("looks", {"a": data})
        made.prepare("figures", {"a": {**data, "looks": {}}})
        yield made


def graded(
    pool: Pool, folder: Path, added: str = "", why: str = "", files: tuple[str, ...] = (), assignment: str = "looks"
) -> dict[str, Any]:
    """The cells of the graded notebook, by their text, of a submission with another cell at its end."""
    nodes = []
    for cell in [*CELLS, {"kind": "code", "source": added, "metadata": {}}]:
        source = why if cell["kind"] == "markdown" else cell["source"]
        node = {"cell_type": cell["kind"], "source": source, "metadata": cell["metadata"]}
        nodes.append(node | ({"outputs": HANDED_IN, "execution_count": 1} if cell["kind"] == "code" else {}))
    path = folder / "a.ipynb"
    path.write_text(json.dumps({"cells": nodes, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), encoding="utf-8")
    for name in files:
        (folder / name).write_text("")
    beside = [(name, str(folder / name)) for name in files]
    answer = pool.examine(Submission(assignment, "a", Limits(), str(path), files=beside))
    record = Record.from_json(answer)
    assert not record.ungraded
    return {cell["source"]: cell for cell in json.loads(record.notebook)["cells"]}


def text_of(cell: dict[str, Any]) -> str:
    return "".join(output.get("text", "") for output in cell["outputs"])


def test_what_nobody_needs_is_not_run_and_its_outputs_are_marked_as_handed_in(pool: Pool, tmp_path: Path) -> None:
    cells = graded(pool, tmp_path, "1 + 1")
    for source in (LOOK, ABOUT):
        assert text_of(cells[source]) == "from home\n"
        assert cells[source]["metadata"]["course"] == {"outputs": "as handed in"}
    assert "course" not in cells["1 + 1"]["metadata"]
    assert cells["1 + 1"]["outputs"][0]["data"] == {"text/plain": "2"}


@pytest.mark.parametrize("added", ["len(shown)", "globals()['shown']"])
def test_it_runs_where_a_cell_of_the_student_s_may_need_it(added: str, pool: Pool, tmp_path: Path) -> None:
    cells = graded(pool, tmp_path, added)
    assert text_of(cells[LOOK]) == "made in grading\n"
    assert "course" not in cells[LOOK]["metadata"]
    assert cells[added]["outputs"][0]["output_type"] == "execute_result"


def test_it_runs_where_its_question_was_answered_and_for_a_course_that_asks_for_figures(
    pool: Pool, tmp_path: Path
) -> None:
    assert text_of(graded(pool, tmp_path, why="Because.")[ABOUT]) == "asked for\n"
    shown = graded(pool, tmp_path, assignment="figures")
    assert [text_of(shown[source]) for source in (LOOK, ABOUT)] == ["made in grading\n", "asked for\n"]


def test_all_run_beside_a_module_of_the_student_s_own_and_not_beside_a_picture(pool: Pool, tmp_path: Path) -> None:
    assert text_of(graded(pool, tmp_path, files=("picture.png",))[LOOK]) == "from home\n"
    assert text_of(graded(pool, tmp_path, files=("mine.py",))[LOOK]) == "made in grading\n"


def test_what_was_handed_in_is_cleaned_like_every_output() -> None:
    script = {"output_type": "display_data", "data": {"text/html": ["<b>x</b>", "<script>1</script>"]}, "metadata": {}}
    (kept,) = OutputBudget(1 << 20).handed_in([script, {"output_type": "nonsense"}, 3])
    assert kept["data"]["text/html"] == "<b>x</b>"
    assert OutputBudget(1 << 20).handed_in([float("nan"), [1]]) == []
