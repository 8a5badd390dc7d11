"""Leaderboards rank what the test side counted, of answers with full marks, and name nobody unless asked."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
import torch
from conftest import run_course

from autograder.model import outcome
from helpers.checks import Check
from helpers.checks.failed import Failed
from helpers.checks.report import as_data
from helpers.kit.tiles.launch import Traffic
from helpers.logit_bias.semi_closed import SemiClosedLM


def graded(root: Path, student: str, count: int, score: float) -> None:
    """A graded notebook whose test has counted."""
    data = {"version": 1, "name": "double", "points": 2.0, "score": score, "passed": 1, "reached": 1}
    test = nbformat.v4.new_code_cell("check.score()")
    test.metadata["nbgrader"] = {"grade": True, "solution": False, "grade_id": "double-test"}
    test.outputs = [nbformat.v4.new_output("display_data", data={outcome.MIME: {**data, "counts": {"calls": count}}})]
    forged = nbformat.v4.new_code_cell("display(…)")  # a student's own cell
    forged.outputs = [nbformat.v4.new_output("display_data", data={outcome.MIME: {**data, "counts": {"calls": 0}}})]
    folder = root / "autograded" / student / "01-small"
    folder.mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[test, forged]), folder / "01-small.ipynb")


def test_full_marks_are_ranked_without_names(small_course: Path) -> None:
    for student, count, score in (("ada", 7, 2.0), ("ben", 5, 2.0), ("cleo", 7, 2.0), ("dan", 1, 1.5), ("eve", 9, 2.0)):
        graded(small_course, student, count, score)
    done = run_course("report", "01-small", "--leaderboard", "--json", cwd=small_course)
    assert done.returncode == 0, done.stderr
    (board,) = json.loads(done.stdout)
    assert board["counted"] == "calls"
    assert [(one["rank"], one["count"], one["students"]) for one in board["places"]] == [
        (1, 5, 1),
        (2, 7, 2),
        (4, 9, 1),
    ]
    assert "ben" not in done.stdout
    named = run_course("report", "01-small", "--leaderboard", "--names", cwd=small_course).stdout
    assert "ada, cleo" in named
    assert "dan" not in named


def test_only_what_the_test_counted_can_be_ranked() -> None:
    check = Check("double", points=2)
    model = SemiClosedLM(torch.zeros(4, dtype=torch.float64), bias_cap=5)
    model.top2()
    check.ranked("calls", model)
    check.ranked("bytes", Traffic(8, 4, 2, 0, 1, {}))
    check.ranked("nothing came", Failed("no result", "no result"))
    assert check.outcome.counts == {"calls": 1, "bytes": 14}
    for own in (3, {"calls": 1}, "3"):
        with pytest.raises(TypeError, match="the object that counts"):
            check.ranked("calls", own)
    assert outcome.from_json(as_data(check.outcome)).counts == {"calls": 1, "bytes": 14}
    forged = {**as_data(check.outcome), "counts": {"calls": -1}}
    with pytest.raises(outcome.OutcomeError):
        outcome.from_json(forged)
