"""Credit by requirement: what idea, part and edge leave, and what is said when they fail."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autograder.inside.shell import new_shell, run_cell
from helpers.checks import Check, credit, report, student_side
from helpers.checks.compare import difference
from helpers.checks.recording import first_causes

GRAVITIES = ("idea", "part", "edge")


def cell(points: float, outcomes: Sequence[tuple[str, Sequence[bool]]]) -> Check:
    """A test cell with these requirements and results of their checks."""
    check = Check("example", points)
    for number, (gravity, results) in enumerate(outcomes):
        with getattr(check, gravity)(f"{gravity} {number}"):
            for result in results:
                check.true(result, f"hint of {gravity} {number}")
    return check


@pytest.mark.parametrize(
    ("outcomes", "earned"),
    [
        ([("idea", [True]), ("part", [True]), ("edge", [True])], 4.0),
        ([("idea", [True]), ("part", [False])], 2.0),
        ([("idea", [True]), ("part", [False]), ("part", [False])], 1.0),
        ([("idea", [True]), ("edge", [False])], 3.2),
        ([("idea", [True]), ("edge", [False]), ("edge", [False])], 2.5),  # 2.56, rounded down
        ([("idea", [True]), ("part", [False]), ("edge", [False])], 1.6),
        ([("idea", [False])], 0.0),
        ([("idea", [True, False])], 0.5),  # a quarter, times the share of checks that passed
        ([("idea", [False]), ("part", [True]), ("edge", [True, True])], 0.7),  # 0.75, rounded down
        ([("idea", [True]), ("idea", [False])], 2.0),  # two functions
    ],
)
def test_what_is_left(outcomes: list[tuple[str, list[bool]]], earned: float) -> None:
    score = cell(4, outcomes).score()
    assert type(score) is float
    assert score == earned


@pytest.mark.parametrize(
    ("left_behind", "hint"),
    [
        (lambda: torch.set_default_dtype(torch.float64), "default dtype"),
        (lambda: torch.set_grad_enabled(False), "gradients stay switched off"),
    ],
)
def test_settings_that_are_left_changed_fail_an_edge_and_are_put_back(
    left_behind: Callable[[], Any], hint: str
) -> None:
    check = Check("example", points=4)
    with check.idea("idea"):
        check.equal(check.run(lambda: (left_behind(), 1)[1]), 1, "")
    assert check.score() == 3.2
    assert [hint in finding.hint for finding in check.outcome.findings] == [True]
    assert (torch.get_default_dtype(), torch.is_grad_enabled()) == (torch.float32, True)


def test_functions_share_the_points_of_a_cell() -> None:
    check = Check("example", points=3)
    with check.idea("first", share=2):
        check.true(True, "")
    with check.idea("second"):
        check.true(False, "")
    assert check.score() == 2.0
    assert [entry["share"] for entry in report.as_data(check.outcome)["requirements"]] == pytest.approx([2 / 3, 1 / 3])


@settings(deadline=None)
@example([("part", [False]), ("part", [False]), ("part", [False, True, True]), ("part", [False, True, True])], 1)
@given(
    st.lists(st.tuples(st.sampled_from(GRAVITIES), st.lists(st.booleans(), min_size=1, max_size=4)), max_size=6),
    st.integers(1, 9),
)
def test_bounds(rest: list[tuple[str, list[bool]]], points: int) -> None:
    outcomes = [("idea", [True]), *rest]
    outcome = cell(points, outcomes).outcome
    everything = all(all(results) for _, results in outcomes)
    assert (outcome.score == points) == everything  # rounding makes full marks of nothing less
    assert 0 <= outcome.score <= points
    assert math.isclose(outcome.score * 10, round(outcome.score * 10), abs_tol=1e-9)
    for fewer in range(len(outcomes)):  # a requirement more that fails never earns anything
        gravity, results = outcomes[fewer]
        worse = [*outcomes[:fewer], (gravity, [False] * len(results)), *outcomes[fewer + 1 :]]
        assert cell(points, worse).outcome.score <= outcome.score + 1e-9


def test_a_single_mistake_keeps_what_its_gravity_allows() -> None:
    for points, gravity in itertools.product(range(1, 8), GRAVITIES):
        others = [("idea", [True, True]), ("part", [True]), ("edge", [True])]
        outcomes = [(name, [False] * len(results) if name == gravity else results) for name, results in others]
        least, most = credit.limits(gravity)
        assert least * points <= cell(points, outcomes).outcome.score <= most * points


def test_checks_of_form_earn_nothing_by_themselves() -> None:
    check = Check("example", points=4)
    with check.idea("values"):
        x = check.run(lambda: torch.ones(2), shape=(2,))
        check.finite(x, "finite")
        check.unchanged(lambda y: y + 1, torch.ones(2))
        check.close(x, 2.0, "wrong")
    assert check.outcome.passed == 3
    assert check.score() == 0.0


def test_an_exception_fails_its_requirement_and_no_other() -> None:
    check = Check("example", points=4)
    with check.idea("first"):
        check.true(True, "")
        number: Any = check.run(lambda: 3)
        number[0]
        check.true(True, "not reached")
    with check.part("second"):
        check.true(True, "")
    assert [requirement.met for requirement in check.outcome.requirements] == [False, True]
    score = check.score()
    assert 0 < score <= 1
    (finding,) = check.outcome.findings
    assert (finding.requirement, "TypeError" in finding.hint) == ("first", True)


CELL = """
from helpers.checks import Check
check = Check("example", points=4)
with check.idea("first"):
    check.true(True, "")
    ### BEGIN HIDDEN TESTS
    later = {"a": 1}["secret 123454321"]
    ### END HIDDEN TESTS
with check.part("second"):
    check.equal(later, 1, "a name that the lines above were to set")
with check.part("third"):
    check.equal(unwritten_function(), 1, "hint")
check.score()
"""


def test_an_exception_on_a_hidden_line_shows_its_class_only_and_what_follows_is_silent() -> None:
    outputs, value, error = run_cell(new_shell(1 << 20), CELL, grab=False)
    assert error is None
    assert 0 < value <= 1
    shown = str(outputs)
    assert "KeyError" in shown
    assert "123454321" not in shown
    assert "later" not in shown


def test_a_missing_answer_is_named() -> None:
    source = CELL.replace('{"a": 1}["secret 123454321"]', "1")
    outputs, _, error = run_cell(new_shell(1 << 20), source, grab=False)
    assert error is None
    assert "run the cell above first: `unwritten_function` is not defined yet" in str(outputs)


def test_where_the_idea_fails_only_one_finding_speaks() -> None:
    check = Check("example", points=4)
    with check.idea("idea"):
        check.equal(3, 1, "the first one")
        check.equal(4, 1, "generic", wrong={"you have counted twice": 4})
    with check.part("part"):
        check.equal(5, 1, "this follows")
    check.score()
    assert [finding.hint for finding in check.outcome.findings] == ["you have counted twice"]
    assert "idea ✗ · part ✗" in report.text(check.outcome)


def test_a_value_that_a_part_knows_does_not_speak_alone_for_an_idea_that_fails() -> None:
    check = Check("example", points=4)
    with check.idea("idea"):
        check.equal(3, 1, "what was expected of the idea")
    with check.part("part"):
        check.equal(False, True, "generic", wrong={"no scaler for float16": False})
    check.score()
    assert [finding.hint for finding in check.outcome.findings] == [
        "what was expected of the idea",
        "no scaler for float16",
    ]


def test_an_input_changed_in_place_speaks_alone_for_an_idea_that_fails() -> None:
    check = Check("example", points=4)
    with check.idea("idea"):
        check.equal(3, 1, "what was expected of the idea")
    with check.edge("inputs unchanged"):
        check.unchanged(lambda x: x.add_(1), torch.ones(2))
    check.score()
    assert [finding.requirement for finding in check.outcome.findings] == ["inputs unchanged"]


def test_a_recognised_mistake_speaks_alone_for_all_that_the_results_showed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Link:
        def recognised(self) -> str:
            return "the tokens are not counted"

    check = cell(4, [("idea", [True]), ("part", [False])])
    with check.edge("other sizes"):
        check.equal(8.0, 6.0, "generic", wrong={"the factor is rounded": 8.0})
    with check.edge("inputs unchanged"):
        check.unchanged(lambda x: x.add_(1), torch.ones(2))
    check._name_the_mistake()  # where nothing is recognised, nothing changes
    assert len(check.outcome.findings) == 3
    monkeypatch.setattr(student_side, "remote", Link())
    check._name_the_mistake()
    told = [(finding.requirement, finding.hint[:26]) for finding in first_causes(check.outcome)]
    assert told == [("part 1", "the tokens are not counted"), ("inputs unchanged", "your code changes its inpu")]


def test_a_small_case_is_told_what_a_larger_one_shows() -> None:
    values = torch.arange(1.0, 7.0).sqrt()
    check = Check("sums", 4)
    with check.idea("sums"):
        check.close(4.0, 2.0, "one and one is two")
        check.close(2 * values, values, "other numbers")
    with check.edge("large"):
        check.close(5.0, 2.0, "large ones, too")
    check.score()
    assert [finding.hint for finding in check.outcome.findings] == [
        "on other inputs every value is twice the right one; one and one is two"
    ]


def test_every_part_and_edge_that_fails_speaks_once() -> None:
    check = cell(4, [("idea", [True]), ("part", [False, False]), ("edge", [False])])
    check.score()
    assert [finding.hint for finding in check.outcome.findings] == ["hint of part 1", "hint of edge 2"]
    assert "idea 0 ✓ · part 1 ✗ · edge 2 ✗" in report.text(check.outcome)
    shown = re.sub("<[^>]*>", "", report.as_html(check.outcome))
    assert "✓ idea 0 ✗ part 1 ✗ edge 2" in shown


def test_an_unwritten_function_costs_its_share_and_says_what_to_write() -> None:
    def todo() -> None:
        """Write me."""
        raise NotImplementedError()

    check = Check("example", points=4)
    with check.idea("written"):
        check.equal(1, 1, "")
    with check.idea("todo"):
        check.equal(check.run(todo), 1, "hint")
    assert check.score() == 2.0
    assert check.outcome.findings == []
    assert len(check.outcome.unwritten) == 1


def test_the_kernels_figures_take_back_the_requirement_of_what_was_counted() -> None:
    check = Check("example", points=4)
    with check.idea("right"):
        check.true(True, "")
    with check.part("cheap"):
        check.counted(True, "counted")
    assert check.outcome.score == 4.0
    with check.part("affordable"):
        check.affordable(lambda x: torch.ones(60 << 20), lambda n: (n,), 4, megabytes=48, wasteful=240, hint="too much")
    assert [requirement.met for requirement in check.outcome.requirements] == [True, False, False]


def empty(check: Check) -> None:
    with check.edge("edge"):
        pass


SLIPS = {
    "outside": lambda check: check.true(True, ""),
    "no check": empty,
    "the same name twice": lambda check: check.part("idea"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_an_author_s_slip_is_an_error_and_no_verdict(slip: str) -> None:
    check = cell(4, [("idea", [True])])
    check.outcome.requirements[0].name = "idea"

    def rest() -> None:
        SLIPS[slip](check)
        check.score()

    with pytest.raises(RuntimeError, match="requirement"):
        rest()


def test_a_part_belongs_to_an_idea() -> None:
    with pytest.raises(RuntimeError, match="belongs to an idea"):
        Check("example", points=4).part("part")


def test_numbers_that_look_the_same_are_printed_with_the_digits_that_differ() -> None:
    found = difference(torch.tensor([0.25000001], dtype=torch.float64), torch.tensor([0.25], dtype=torch.float64))
    assert found is not None
    assert "expected 0.25, got 0.25000001" in found.detail
