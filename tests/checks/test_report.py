"""The outcome of a test cell as text, as HTML and as data."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from autograder.inside.shell import new_shell, run_cell
from helpers.checks import Check, report

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


@pytest.mark.slow
def test_a_kernel_stores_the_data_and_a_page_shows_the_html() -> None:
    """nbclient runs the cell (as nbgrader does), the notebook is valid, and nbconvert (as for feedback) shows the HTML."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL.strip())])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    nbformat.validate(notebook)
    again = nbformat.reads(nbformat.writes(notebook), as_version=4)
    assert displayed(again.cells[0].outputs)[report.MIME_TYPE]["score"] == 1.0
    page, _ = HTMLExporter().from_notebook_node(again)
    assert 'class="course-check"' in page
    assert report.MIME_TYPE not in page
