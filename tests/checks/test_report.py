"""The outcome of a test cell as text, as HTML and as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from nbgrader.utils import determine_grade

from autograder.inside.shell import new_shell, run_cell
from helpers.checks import Check, report, steps
from helpers.kit import assignment, colab

CELL = """
from helpers.checks import Check
check = Check("twice", points=3)
check.equal(4, 4, "right")
check.equal(4, 5, "twice two is four")
### BEGIN HIDDEN TESTS
check.equal(4, 123454321, "a hidden hint")
### END HIDDEN TESTS
check.score()
"""


def displayed(outputs: list[Any]) -> dict[str, Any]:
    (data,) = [output["data"] for output in outputs if output["output_type"] == "display_data"]
    return dict(data)


def test_data_says_what_the_text_says_and_nothing_else() -> None:
    check = Check("example", points=2)
    check.true(True, "fine")
    check.equal(1, 2, "one is not two")
    data = json.loads(json.dumps(report.as_data(check.outcome)))
    assert {key: data[key] for key in ("version", "name", "points", "score", "passed", "reached")} == {
        "version": 1,
        "name": "example",
        "points": 2.0,
        "score": 1.0,
        "passed": 1,
        "reached": 2,
    }
    seen = "expected 2 (int), got 1 (int)"
    assert data["findings"] == [{"hint": "one is not two", "seen": seen, "hidden": False, "requirement": ""}]
    assert (data["requirements"], data["notes"], data["unwritten"]) == ([], [], {})


def test_an_unwritten_answer_is_data_by_name() -> None:
    def todo() -> None:
        """Write me."""
        raise NotImplementedError()

    check = Check("example", points=2)
    check.close(check.run(todo), 1.0, "hint")
    check.score()
    assert report.last_shown is check.outcome
    data = report.as_data(check.outcome)
    assert (data["score"], data["findings"]) == (0.0, [])
    assert len(data["unwritten"]) == 1


def test_the_examiners_shell_records_the_data_and_nothing_of_a_hidden_check_but_its_hint() -> None:
    outputs, value, error = run_cell(new_shell(1 << 20), CELL, grab=False)
    assert (value, error) == (1.0, None)
    data = displayed(outputs)
    assert set(data) == {"text/plain", "text/html", report.MIME_TYPE}
    assert data[report.MIME_TYPE]["findings"][1] == {
        "hint": "a hidden hint",
        "seen": "",
        "hidden": True,
        "requirement": "",
    }
    assert "123454321" not in json.dumps(data)


def run_in_kernel(monkeypatch: pytest.MonkeyPatch, *cells: str, grading: str) -> list[list[Any]]:
    """Outputs of these cells, run in one kernel, for a person or in grading."""
    monkeypatch.setenv("NBGRADER_EXECUTION", grading) if grading else monkeypatch.delenv("NBGRADER_EXECUTION", False)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    nbformat.validate(notebook)
    return [cell.outputs for cell in nbformat.reads(nbformat.writes(notebook), as_version=4).cells]


@pytest.mark.slow
def test_in_grading_a_kernel_stores_the_data_and_a_page_shows_the_html(monkeypatch: pytest.MonkeyPatch) -> None:
    """nbclient runs the cell (as nbgrader does), and nbconvert (as for feedback) shows the HTML."""
    (outputs,) = run_in_kernel(monkeypatch, CELL, grading="autograde")
    assert displayed(outputs)[report.MIME_TYPE]["score"] == 1.0
    assert outputs[-1]["data"] == {"text/plain": "1.0"}
    cell = nbformat.v4.new_code_cell("", outputs=outputs)
    page, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    assert 'class="course-check"' in page
    assert report.MIME_TYPE not in page


@pytest.mark.slow
def test_a_person_sees_one_box_and_no_bare_number_and_nbgrader_reads_the_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unused = CELL.replace("check.score()", "value = check.score(); type(value)")
    ordinary = "1.0"  # another cell with the same number as its value
    outputs, shown_at_the_end, number = run_in_kernel(monkeypatch, CELL, unused, ordinary, grading="")
    (verdict,) = outputs
    assert verdict["output_type"] == "execute_result"
    assert set(verdict["data"]) == {"text/plain", "text/html", report.MIME_TYPE}
    about = {"grade": True, "grade_id": "twice-test", "solution": False, "locked": True, "points": 3}
    cell = nbformat.v4.new_code_cell("", outputs=outputs, metadata={"nbgrader": {**about, "schema_version": 3}})
    assert determine_grade(cell) == (1.0, 3.0)
    assert [output["output_type"] for output in shown_at_the_end] == ["execute_result", "display_data"]
    assert shown_at_the_end[0]["data"]["text/plain"] == "float"
    assert "course-check" in shown_at_the_end[1]["data"]["text/html"]
    assert set(number[0]["data"]) == {"text/plain"}


HELP = [("A question", "which `axis`?"), ("The idea", "rows"), ("The first step", "a < b")]


def test_steps_are_folded_one_inside_the_other_until_the_test_is_green(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report.steps, "of", lambda name: HELP if name == "twice" else [])
    right, wrong, another = Check("twice", points=1), Check("twice", points=1), Check("thrice", points=1)
    right.equal(4, 4, "hint")
    for check in (wrong, another):
        check.equal(4, 5, "hint")
    assert report.to_unfold(right.outcome) == report.to_unfold(another.outcome) == ""
    shown = report.as_html(wrong.outcome, report.to_unfold(wrong.outcome))
    order = ["<details", "A question", "axis</code>?", "<details", "The idea", "rows", "<details", "a &lt; b"]
    place = 0
    for piece in order:
        place = shown.index(piece, place) + 1
    assert shown.endswith("</details></details></details></div>")


def test_the_set_up_cell_says_whose_steps_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment, "_said", [])
    monkeypatch.setattr(assignment, "HERE", Path("anywhere"))
    assert steps.of("bptt") == []
    colab.ready(assignment="02-rnn-backprop")
    assert [title for title, _ in steps.of("bptt")] == list(steps.STEP_TITLES.values())
    assert steps.of("no such exercise") == []


def test_steps_cost_nothing_where_nobody_looks_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(name: str) -> Any:
        raise AssertionError("the file of steps was asked for")

    monkeypatch.setattr(report.steps, "of", read)
    check = Check("twice", points=1)
    check.equal(4, 5, "hint")
    assert check.score() == 0.0
