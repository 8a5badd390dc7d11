"""The last cell of every notebook: it finds the notebook, runs it from the top, and gives the right file."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from autograder.authoring import build
from autograder.authoring.answers import submission
from autograder.model import course
from helpers.kit import validate
from helpers.student import hand_in as module
from helpers.student import summary
from helpers.student.hand_in import hand_in

CALL = 'hand_in("'


@pytest.fixture
def notebook(small_course: Path) -> str:
    """The small course's notebook with a right answer."""
    this = course.load(small_course)
    (assignment,) = this.assignments
    _, student, _ = build.build(this, assignment)
    return submission(student, {"double": "def double(x):\n    return x + x"})


@pytest.fixture
def colab(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """The parts of Colab's package that are used, with what they were asked."""
    asked = types.SimpleNamespace(downloads=[], answer={})
    google, package = types.ModuleType("google"), types.ModuleType("google.colab")
    message, files = types.ModuleType("google.colab._message"), types.ModuleType("google.colab.files")
    message.blocking_request = lambda name, request, timeout_sec: asked.answer[name]  # type: ignore[attr-defined]
    files.download = asked.downloads.append  # type: ignore[attr-defined]
    package._message, package.files = message, files  # type: ignore[attr-defined]
    google.colab = package  # type: ignore[attr-defined]
    for one in (google, package, message, files):
        monkeypatch.setitem(sys.modules, one.__name__, one)
    return asked


def results(**changes: Any) -> list[dict[str, Any]]:
    return [{"name": "double", "score": 2.0, "points": 2.0, "passed": True, "unwritten": False, **changes}]


@pytest.mark.parametrize("assignment", course.load(ROOT).assignments, ids=lambda a: a.id)
def test_every_notebook_ends_with_it_and_has_it_once(assignment: course.Assignment) -> None:
    cells = json.loads(assignment.student_notebook.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert f'hand_in("{assignment.id}")' in "".join(cells[-1]["source"])
    assert sum(CALL in source for source in sources) == 1


@pytest.mark.parametrize("grader", ["validate", "autograde"])
def test_it_does_nothing_while_a_notebook_is_checked_or_graded(
    grader: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NBGRADER_EXECUTION", grader)
    monkeypatch.setattr(module, "this_notebook", lambda *args: pytest.fail("it looked for the notebook"))
    hand_in("01-small")
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_a_saved_notebook_is_run_from_the_top_and_its_own_call_does_nothing(
    notebook: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "mine"
    place.mkdir()
    (place / "01-small (new version).ipynb").write_text(notebook)
    monkeypatch.setenv("JPY_SESSION_NAME", str(place / "01-small (new version).ipynb"))
    hand_in("01-small")
    said = capsys.readouterr().out
    assert "2 of 2 points" in said
    assert said.count("from the top") == 1
    copy = place / "hand-in" / "01-small.ipynb"
    assert f"The file to hand in: {copy}" in said
    assert copy.read_text() == notebook


def test_on_colab_the_notebook_comes_from_the_page_and_is_downloaded_under_its_name(
    notebook: str,
    colab: types.SimpleNamespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    colab.answer = {"get_ipynb": {"ipynb": json.loads(notebook)}}
    monkeypatch.chdir(tmp_path)
    checked: list[Any] = []

    def check(path: Path) -> list[dict[str, Any]]:
        checked.append((path.parent, json.loads(path.read_text())))
        return results()

    monkeypatch.setattr(module, "check", check)
    hand_in("01-small")
    assert checked == [(tmp_path, json.loads(notebook))]
    assert colab.downloads == [str(tmp_path / "hand-in" / "01-small.ipynb")]
    assert [path.name for path in tmp_path.glob(".hand-in-*")] == []
    assert "hand in that file" in capsys.readouterr().out


@pytest.mark.parametrize("answer", [{}, {"get_ipynb": None}, {"get_ipynb": {}}], ids=["no call", "no answer", "empty"])
def test_where_colab_does_not_give_the_notebook_words_do(
    answer: dict[str, Any], colab: types.SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    colab.answer = answer
    hand_in("01-small")
    said = capsys.readouterr().out
    assert "File, Download, Download .ipynb; name the file 01-small.ipynb" in said
    assert 'hand_in("01-small", "' in said


def test_a_notebook_that_is_not_found_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    hand_in("01-small")
    assert 'Say where it is: hand_in("01-small", "/path/to/01-small.ipynb")' in capsys.readouterr().out
    (tmp_path / "broken.ipynb").write_text("{")
    hand_in("01-small", "broken.ipynb")
    assert "is not a notebook that can be read" in capsys.readouterr().out


def test_vs_codes_variable_names_the_file(notebook: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / "in vs code.ipynb"
    theirs.write_text(notebook)
    monkeypatch.setattr(module, "user_variables", lambda: {"__vsc_ipynb_file__": str(theirs)})
    assert module.saved_file("01-small") == theirs


class Kernel:
    """A shell that runs its third cell."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.history_manager = types.SimpleNamespace(input_hist_raw=["", "first", "second", "hand_in()"])


@pytest.mark.parametrize(("count", "is_old"), [(2, False), (1, True), (None, True)])
def test_a_file_without_the_cell_that_was_run_last_is_called_old(
    count: int | None, is_old: bool, notebook: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.loads(notebook)
    content["cells"][-2]["execution_count"] = count
    path = tmp_path / "01-small.ipynb"
    path.write_text(json.dumps(content))
    monkeypatch.setattr(module, "shell", Kernel)
    found = module.this_notebook("01-small", str(path))
    assert ("Save" in module.unsaved(found)) == is_old


def test_a_run_that_does_not_end_is_said_and_no_points_are_shown(
    notebook: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "01-small.ipynb"
    path.write_text(notebook)
    broken = types.SimpleNamespace(returncode=2, stdout="", stderr="course: the kernel died while a cell ran\n")
    monkeypatch.setattr(module.subprocess, "run", lambda *args, **kwargs: broken)
    hand_in("01-small", str(path))
    said = capsys.readouterr().out
    assert "nothing was checked: course: the kernel died" in said
    assert "points" not in said


def test_the_summary_names_exercises_by_their_headings_and_counts_bonus_apart() -> None:
    def cell(kind: str, source: str, **about: Any) -> dict[str, Any]:
        return {"cell_type": kind, "source": [source], "metadata": {"nbgrader": about} if about else {}}

    cells = [
        cell("markdown", "### 1.1 Doubling <small>★☆☆ · 5 min · 2 points</small>"),
        cell("code", "check.score()", grade_id="double-test", grade=True, points=2),
        cell("markdown", "### 1.2 Halving"),
        cell("code", "check.score()", grade_id="half-test", grade=True, points=2),
        cell("markdown", "### 1.3 In words"),
        cell("markdown", "YOUR ANSWER HERE", grade_id="why", grade=True, solution=True, points=3),
    ]
    found = summary.summarize(
        "01-small",
        {"cells": cells},
        [
            *results(score=1.5, passed=False),
            *results(name="half", score=0.0, passed=False, unwritten=True),
            *results(name="bonus-more", score=1.0, points=4.0, passed=False),
        ],
    )
    assert (found.earned, found.possible, found.bonus) == (1.5, 4.0, 1.0)
    assert found.unanswered == ["1.2 Halving"]
    assert found.incomplete == ["1.1 Doubling (1.5 of 2)"]
    assert found.unwritten == ["1.3 In words"]
    for shown in (summary.as_text(found), summary.as_html(found)):
        assert "1.5 of 4 points, and 1 bonus" in shown


@pytest.mark.slow
def test_a_checked_notebook_says_what_is_not_written_yet(small_course: Path) -> None:
    this = course.load(small_course)
    (assignment,) = this.assignments
    path = small_course / "blank.ipynb"
    path.write_text(build.build(this, assignment)[1])
    (result,) = validate.check_notebook(path)
    assert result.unwritten
