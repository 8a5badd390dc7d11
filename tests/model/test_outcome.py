"""What the check library says, read from outputs: checked, cut, and believed of test cells only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autograder.examiner.outputs import output_of_test, student_outputs
from autograder.model.outcome import (
    LONGEST_TEXT,
    MIME,
    MOST_ENTRIES,
    Finding,
    Gravity,
    OutcomeError,
    from_json,
    outcomes_in,
)

GOOD: dict[str, Any] = {
    "version": 1,
    "name": "double",
    "points": 2.0,
    "score": 0.5,
    "passed": 1,
    "reached": 2,
    "requirements": [{"name": "twice as much", "gravity": "idea", "passed": False, "share": 1.0}],
    "findings": [
        {"hint": "twice one is two", "seen": "got 3", "hidden": False, "requirement": "twice as much"},
        {"hint": "twice one is two", "seen": "", "hidden": True, "requirement": "twice as much"},
    ],
    "notes": ["slow"],
    "unwritten": {"triple": "write `triple`"},
}


def shown(data: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {"text/plain": "✗ double", MIME: data}, "metadata": {}}


def test_an_outcome_is_read_whole() -> None:
    (outcome,) = outcomes_in([{"output_type": "stream", "name": "stdout", "text": "x"}, shown(GOOD)])
    assert (outcome.name, outcome.points, outcome.score, outcome.passed, outcome.reached) == ("double", 2.0, 0.5, 1, 2)
    assert outcome.requirements[0].gravity == Gravity.IDEA
    assert outcome.findings[0] == Finding("twice one is two", "got 3", False, "twice as much")
    assert outcome.hints == ["write `triple`", "twice one is two"], "each once"
    assert json.loads(json.dumps(outcome.to_json())) == GOOD


def test_an_older_notebook_says_nothing() -> None:
    assert outcomes_in([{"output_type": "display_data", "data": {"text/plain": "✗ double\n  ✗ a hint"}}]) == []


BROKEN = {
    "no object": [1],
    "another version": {**GOOD, "version": 2},
    "no name": {**GOOD, "name": None},
    "a score that is none": {**GOOD, "score": float("nan")},
    "a truth as a number": {**GOOD, "points": True},
    "less than nothing": {**GOOD, "passed": -1},
    "findings that are none": {**GOOD, "findings": "x"},
    "a finding without a hint": {**GOOD, "findings": [{}]},
    "a share that is no number": {
        **GOOD,
        "requirements": [{"name": "x", "gravity": "idea", "passed": True, "share": "all"}],
    },
    "an unknown gravity": {**GOOD, "requirements": [{"name": "x", "gravity": "grave", "passed": True}]},
    "unwritten that is no object": {**GOOD, "unwritten": ["x"]},
}


@pytest.mark.parametrize("way", BROKEN)
def test_what_is_malformed_is_left_out(way: str) -> None:
    with pytest.raises(OutcomeError):
        from_json(BROKEN[way])
    assert outcomes_in([shown(BROKEN[way])]) == []
    assert output_of_test(shown(BROKEN[way]))["data"] == {"text/plain": "✗ double"}


def test_long_texts_and_lists_are_cut() -> None:
    finding = {**GOOD["findings"][0], "seen": "x" * 10**6}
    outcome = from_json({**GOOD, "findings": [finding] * 10_000, "notes": ["y"] * 10_000})
    assert len(outcome.findings) == len(outcome.notes) == MOST_ENTRIES
    assert len(outcome.findings[0].seen) == LONGEST_TEXT


def test_only_a_test_cell_can_say_it() -> None:
    """Whatever the student's process reports, its cells have no such output; what a test cell says stays."""
    for output_type in ("display_data", "execute_result"):
        (kept,) = student_outputs(json.dumps([{**shown(GOOD), "output_type": output_type}]), 1 << 16)
        assert kept["data"] == {"text/plain": "✗ double"}
        (kept,) = student_outputs(json.dumps([{**shown(json.dumps(GOOD)), "output_type": output_type}]), 1 << 16)
        assert kept["data"] == {"text/plain": "✗ double"}
    assert outcomes_in([output_of_test(shown(GOOD))]) == outcomes_in([shown(GOOD)]) != []
