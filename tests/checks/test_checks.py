"""The check library: every check can pass, can fail, and says something useful when it fails."""

from __future__ import annotations

import linecache
import math
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_shell import Shell

from helpers import checks
from helpers.checks import (
    Check,
    Failed,
    cost_checks,
    quiet,
    rand,
    randint,
    randn,
    randperm,
    recording,
    report,
    student_side,
)
from helpers.checks.compare import difference
from helpers.checks.plain_data import copied, plain


@pytest.fixture
def check() -> Check:
    return Check("example", points=4)


def findings(check: Check) -> str:
    return report.text(check.outcome)


def passed(check: Check) -> bool:
    return check.outcome.passed == check.outcome.reached > 0


# ---- the score ------------------------------------------------------------------------------------------------------


def test_score_is_points_times_passed_over_reached_as_a_plain_float(
    check: Check, capsys: pytest.CaptureFixture[str]
) -> None:
    check.true(True, "a")
    check.true(False, "the third one is wrong")
    check.true(True, "b")
    score = check.score()
    assert type(score) is float
    assert score == pytest.approx(8 / 3, abs=1e-5)
    captured = capsys.readouterr()
    assert "2 of 3 checks passed" in captured.out
    assert "the third one is wrong" in captured.out
    assert captured.err == ""


def test_full_marks_are_exact(check: Check) -> None:
    for _ in range(7):
        check.true(True, "")
    assert check.score() == 4.0


def test_a_cell_without_checks_is_an_error_not_full_marks(check: Check) -> None:
    with pytest.raises(RuntimeError, match="reached no check"):
        check.score()


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(1, 20))
def test_score_lies_between_zero_and_points(results: list[bool], points: int) -> None:
    check = Check("example", points)
    for result in results:
        check.true(result, "hint")
    assert check.outcome.score == pytest.approx(points * sum(results) / len(results), abs=1e-5)
    assert 0 <= check.outcome.score <= points


def test_strict_mode_raises_so_that_nbval_notices(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_STRICT_CHECKS", "1")
    check.true(False, "no")
    with pytest.raises(AssertionError):
        check.score()


# ---- student code that misbehaves -----------------------------------------------------------------------------------


def written_in_a_cell(name: str, source: str) -> Any:
    """A student's function as a notebook has it: in a cell of its own, whose source can be looked up."""
    linecache.cache["<student cell>"] = (len(source), None, source.splitlines(keepends=True), "<student cell>")
    space: dict[str, Any] = {"torch": torch}
    exec(compile(source, "<student cell>", "exec"), space)
    return space[name]


def test_an_exception_fails_its_checks_and_no_others(check: Check) -> None:
    broken = written_in_a_cell("broken", "def broken(x):\n    return x @ torch.ones(99)\n")
    w = check.run(broken, torch.ones(3, 4), shape=(3,))
    check.close(w.sum(-1), 1.0, "rows sum to one")
    check.close((torch.ones(3) - w).exp()[0] / 2, 1.0, "anything done with it fails, too")
    check.true(True, "this one counts")
    assert (check.outcome.passed, check.outcome.reached) == (1, 4)
    assert "RuntimeError" in findings(check)
    assert "at line 2 of the cell: `return x @ torch.ones(99)`" in findings(check)


def test_a_line_of_the_test_cell_is_never_quoted(check: Check) -> None:
    fine = written_in_a_cell("fine", "def fine(x):\n    return None\n")
    check.close(check.run(lambda: fine(1)[12345]), 1.0, "hint")
    assert "TypeError" in findings(check)
    assert "12345" not in findings(check)


def test_torch_and_numpy_functions_absorb_a_failure(check: Check) -> None:
    bad = check.run(lambda: 1 / 0)
    assert isinstance(torch.stack([bad, bad]), Failed)
    assert isinstance(torch.cat([torch.ones(1), bad]), Failed)
    assert isinstance(np.exp(bad), Failed)
    assert isinstance(bad > 3, Failed)
    check.true(bad > 3, "comparison")
    assert "ZeroDivisionError" in findings(check)


def test_where_none_is_asked_for_no_return_is_missed(check: Check) -> None:
    check.equal(math.inf, None, "give None")
    check.equal(None, 3, "give 3")
    first, second = check.outcome.findings
    assert first.seen == "expected None, got inf (float)"
    assert "got None (is a `return` missing?)" in second.seen


def test_an_unwritten_answer_is_told_what_to_do(check: Check) -> None:
    def todo() -> None:
        raise NotImplementedError()

    check.close(check.run(todo), 1.0, "hint")
    assert "not written yet" in findings(check)
    assert check.score() == 0.0


STUBS = '''
class Layer(torch.nn.Module):
    """A module that nobody has written: (T, D) to (T, D)."""

    def __init__(self):
        raise NotImplementedError()


def half(x):
    """Half of x (n,): (n,).

    More about it.
    """
    raise NotImplementedError()
'''


def cell(text: str, name: str = "<cell of a student>") -> dict[str, Any]:
    """The names that a cell of a notebook defines, in a file of its own as IPython has it."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "np": np}
    exec(compile(text, name, "exec"), namespace)
    return namespace


def test_an_untouched_cell_says_what_to_write_and_nothing_else() -> None:
    check, half = Check("half", points=3), cell(STUBS)["half"]
    x = torch.ones(3)
    check.run(half, x, shape=(3,))
    check.unchanged(half, x)
    check.raises(half, None, error="TypeError", hint="refuse None")
    check.flops(half, x, at_most=10, hint="too much work")
    check.avoids(half, "for", hint="no loop")
    check.equal(check.run(lambda: [float(v) for v in [half(x)][0]]), [0.5], "a half")
    check.equal(1 if check.run(half, x) else 2, 1, "an accusation that is made of nothing")
    assert check.score() == 0.0
    sentence = "not written yet: in place of `raise NotImplementedError()`, write `half`: Half of x (n,): (n,)."
    assert report.text(check.outcome) == f"✗ half: not written yet  (0 of 3 points)\n  ✗ {sentence}"
    shown = report.as_html(check.outcome)
    assert (shown.count("✗"), shown.count("○")) == (0, 1)  # what is not written yet is no mistake


def test_of_several_functions_those_unwritten_are_named_and_the_others_judged() -> None:
    check = Check("two", points=2)
    model = check.keep(cell(STUBS)["Layer"])
    check.equal(check.run(lambda: sorted(dict(model.named_parameters()))), ["weight"], "there is a weight")
    check.equal(check.run(lambda: dict(model.state_dict())["weight"]), 1, "the weight is one")
    check.equal(check.run(lambda: 1), 1, "one")
    check.equal(check.run(lambda: 1), 2, "two")
    check.score()
    assert list(check.outcome.unwritten) == ["Layer"]
    assert check.outcome.unwritten["Layer"].endswith(
        "write `Layer`: A module that nobody has written: (T, D) to (T, D)."
    )
    assert [finding.hint for finding in check.outcome.findings] == ["two"]
    assert (check.outcome.passed, check.outcome.reached) == (1, 4)


TEST_CELL = """
from helpers.checks import Check
check = Check("early", points=1)
check.equal(check.run({call}), 1, "one")
check.score()
"""


@pytest.mark.parametrize("call", ["answer_7f3a", "lambda: answer_7f3a()"])
def test_a_test_before_its_answer_says_to_run_the_cell_above(call: str) -> None:
    shell = Shell()
    result = shell.run(TEST_CELL.format(call=call))
    assert "run the cell above first: `answer_7f3a` is not defined yet" in result.output
    assert "Traceback" not in result.output
    assert result.value in (None, 0.0)  # no score, or zero: never a point
    shell.run("def answer_7f3a():\n    return wrong_7f3a")
    assert "your code raised NameError: name 'wrong_7f3a'" in shell.run(TEST_CELL.format(call=call)).output
    assert "Traceback" in shell.run("elsewhere_7f3a").output  # a NameError of another cell looks as it always does


def test_an_operation_that_torch_lacks_is_not_an_unwritten_answer(check: Check) -> None:
    result = check.run(lambda: torch.ones(3) >> 2)
    check.equal(result, [0], "shift whole numbers")
    assert "not written yet" not in findings(check)
    assert "your code raised NotImplementedError" in findings(check)


def test_exit_does_not_end_the_cell(check: Check) -> None:
    check.true(check.run(sys.exit, 0), "do not exit")
    assert "SystemExit" in findings(check)


def test_standard_error_and_warnings_become_notes(check: Check, capfd: pytest.CaptureFixture[str]) -> None:
    def noisy() -> float:
        import os

        print("progress 50%", file=sys.stderr)
        os.write(2, b"from C\n")
        warnings.warn("this is slow", stacklevel=1)
        return 1.0

    check.close(check.run(noisy), 1.0, "")
    check.score()
    captured = capfd.readouterr()
    assert captured.err == ""
    assert "this is slow" in captured.out
    assert "standard error" in captured.out


def test_a_missing_return_is_named(check: Check) -> None:
    check.shape(check.run(lambda: None), (3,))
    check.close(check.run(lambda: None), 1.0, "")
    assert findings(check).count("is a `return` missing?") == 2


def test_student_code_cannot_change_the_tests_data(check: Check) -> None:
    def greedy(x: torch.Tensor) -> torch.Tensor:
        return x.zero_()

    x = torch.ones(3)
    check.run(greedy, x)
    assert x.tolist() == [1, 1, 1]


def test_random_state_is_restored_and_inputs_do_not_depend_on_student_code() -> None:
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first = Check("a", 1)
    first.run(torch.randn, 100)
    one = randn(3)
    first.true(True, "")
    first.score()
    assert torch.equal(torch.get_rng_state(), state)
    Check("a", 1)
    assert torch.equal(randn(3), one)
    assert not torch.equal(randn(3), one)
    assert sorted(randperm(5).tolist()) == [0, 1, 2, 3, 4]
    assert ((rand(9) >= 0) & (rand(9) < 1)).all()
    assert set(randint(2, 4, (50,)).tolist()) == {2, 3}


# ---- comparing ------------------------------------------------------------------------------------------------------


def test_close_says_where_and_by_how_much(check: Check) -> None:
    expected = torch.zeros(3, 4)
    actual = expected.clone()
    actual[1, 2] = 0.5
    actual[0, 0] = 0.1
    check.close(actual, expected, "check the second row")
    text = findings(check)
    assert "2 of 12 values differ, most at index [1, 2]: expected 0, got 0.5" in text
    assert "check the second row" in text


def test_close_names_the_mistake_that_fits(check: Check) -> None:
    check.close(
        torch.tensor([2.0]),
        torch.tensor([3.0]),
        "general",
        wrong={"you forgot one": torch.tensor([2.0]), "other": torch.tensor([9.0])},
    )
    assert "you forgot one" in findings(check)
    assert "general" not in findings(check)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tolerance_accepts_rounding_and_rejects_five_percent(dtype: torch.dtype) -> None:
    exact = torch.linspace(0.5, 2, 50, dtype=torch.float64)
    assert difference(exact.to(dtype), exact) is None
    assert difference((exact * 1.05).to(dtype), exact) is not None


def test_float32_and_float64_tolerances_reject_a_small_wrong_formula() -> None:
    exact = torch.linspace(0.5, 2, 50, dtype=torch.float64)
    assert difference((exact * 1.001).float(), exact) is not None
    assert difference(exact * (1 + 1e-7), exact) is not None


def test_large_scale_does_not_hide_an_error_in_small_entries() -> None:
    exact = torch.tensor([1.0, 100.0])
    assert difference(torch.tensor([1.1, 100.0]), exact) is not None


@pytest.mark.parametrize(
    ("actual", "expected", "word"),
    [
        (torch.ones(2, 3), torch.ones(3, 2), "shape"),
        (torch.tensor([1.0, math.nan]), torch.ones(2), "NaN"),
        ("text", torch.ones(2), "not numbers"),
        (torch.ones(0), 1.0, "empty"),
        (torch.tensor([math.inf]), torch.ones(1), "values differ"),
        (torch.ones(2, dtype=torch.complex64), torch.ones(2), "complex"),
    ],
)
def test_differences_of_kind_are_named(actual: object, expected: torch.Tensor, word: str) -> None:
    found = difference(actual, expected)
    assert found is not None
    assert word in found.summary


def test_equal_infinities_and_nans_are_equal() -> None:
    both = torch.tensor([math.inf, -math.inf, math.nan, 1.0])
    assert difference(both, both.clone()) is None


@settings(max_examples=40)
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=8), st.integers(0, 7), st.floats(0.5, 3))
def test_any_single_wrong_entry_is_found(values: list[float], index: int, shift: float) -> None:
    exact = torch.tensor(values, dtype=torch.float64)
    wrong = exact.clone()
    wrong[index % len(values)] += shift
    assert difference(exact, exact) is None
    found = difference(wrong, exact)
    assert found is not None
    assert f"[{index % len(values)}]" in found.detail


def test_lists_arrays_and_numbers_are_accepted_as_tensors(check: Check) -> None:
    check.close([[1.0, 2.0]], torch.tensor([[1.0, 2.0]]), "")
    check.close(np.ones((2, 3)), torch.ones(2, 3), "")
    check.close(check.run(lambda: np.float32(2)), 2.0, "")
    check.close([torch.ones(2), torch.ones(2)], torch.ones(2, 2), "")
    check.equal([1, 2], (1, 2), "")
    check.equal(torch.tensor([1, 2]), [1, 2], "")
    check.equal({"a": [1]}, {"a": [1]}, "")
    assert passed(check)


def test_equal_does_not_ask_the_object(check: Check) -> None:
    class Agreeable:
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 0

    class Number(int):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = int.__hash__

    for value in (Agreeable(), Number(3)):
        check.equal(value, 7, "no")
    check.equal(True, 1, "a bool is not a number")
    check.equal(1.0, "1.0", "text is not a number")
    assert check.outcome.passed == 0


# ---- each check can pass and fail -----------------------------------------------------------------------------------


def test_distribution() -> None:
    for good, p in [
        (True, torch.full((2, 4), 0.25)),
        (False, torch.ones(2, 4)),
        (False, torch.tensor([1.5, -0.5])),
        (False, torch.tensor([math.nan, 1.0])),
    ]:
        check = Check("d", 1)
        check.distribution(p, "hint")
        assert passed(check) is good


def test_finite() -> None:
    for good, value in [(True, 1.0), (False, math.inf), (False, math.nan)]:
        check = Check("f", 1)
        check.finite(torch.tensor([value, 0.0]), "hint")
        assert passed(check) is good


def test_raises() -> None:
    def refuse(x: int) -> int:
        if x < 0:
            raise KeyError("negative")
        return x

    for good, x, error in [
        (True, -1, "KeyError"),
        (True, -1, "LookupError"),
        (False, 1, "KeyError"),
        (False, -1, "ValueError"),
    ]:
        check = Check("r", 1)
        check.raises(refuse, x, error=error, hint="refuse negative numbers")
        assert passed(check) is good


def test_derivative_by_autograd_and_finite_differences() -> None:
    x = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    for good, answer in [(True, 3 * x**2), (False, 2 * x**2), (False, -3 * x**2)]:
        check = Check("d", 1)
        check.derivative(answer, lambda y: (y**3).sum(), x, "the power rule")
        assert passed(check) is good


def test_derivative_refuses_a_reference_that_is_not_smooth() -> None:
    with pytest.raises(RuntimeError, match="finite differences disagree"):
        checks.reference_gradient(lambda x: torch.relu(x).sum(), torch.zeros(1))


def test_gradients_through_student_code() -> None:
    def right(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x * y).tanh()

    for good, student in [
        (True, right),
        (False, lambda x, y: (x * y).detach().tanh()),
        (False, lambda x, y: (x.detach() * y).tanh()),
    ]:
        check = Check("g", 1)
        check.gradients(student, right, (randn(3), randn(3)), "gradients must flow")
        assert passed(check) is good


def test_gradients_of_named_parameters() -> None:
    layer = torch.nn.Linear(3, 2)
    found = checks.gradients(layer, (torch.ones(1, 3),), params=["bias"])
    assert found.params["bias"].tolist() == [1.0, 1.0]
    assert set(checks.gradients(layer, (torch.ones(1, 3),), params=[]).params) == {"weight", "bias"}


def test_unchanged() -> None:
    for good, student in [
        (True, lambda x: x + 1),
        (False, lambda x: x.add_(1)),
        (False, lambda x: x.masked_fill_(x > 0, 0)),
    ]:
        check = Check("u", 1)
        check.unchanged(student, torch.ones(3))
        assert passed(check) is good


def test_leaving_its_input_alone_is_no_merit_of_a_wrong_answer(check: Check) -> None:
    check.shape(torch.zeros(3), (3,))
    check.unchanged(torch.zeros_like, torch.ones(3))
    assert check.outcome.passed == 2  # so far nothing is wrong
    check = Check("example", points=4)
    check.shape(torch.zeros(3), (3,))
    check.close(torch.zeros(3), torch.ones(3), "wrong")
    check.unchanged(torch.zeros_like, torch.ones(3))
    check.flops(lambda x: x + x, torch.ones(3), at_most=10, hint="cheap")
    assert check.outcome.passed == 1  # the shape
    check.unchanged(lambda x: x.add_(1), torch.ones(3), hint="in place")
    assert "in place" in findings(check)


def test_doing_nothing_is_no_merit(check: Check) -> None:
    def nothing(x: torch.Tensor) -> None:
        return None

    check.unchanged(nothing, torch.ones(3))
    check.flops(nothing, torch.ones(3), at_most=10, hint="cheap")
    check.largest(nothing, torch.ones(3), elements=10, hint="small")
    assert check.outcome.passed == 0
    assert findings(check).count("is a `return` missing?") == 1
    assert findings(check).count(recording.NO_RESULT) == 2


def test_equivariant_and_invariant() -> None:
    x = torch.arange(12.0).view(4, 3)
    for good, student in [(True, lambda y: y * 2), (False, lambda y: y * torch.arange(4.0)[:, None])]:
        check = Check("e", 1)
        check.equivariant(student, x, "order must not matter")
        assert passed(check) is good
    for good, student in [(True, lambda y: y.sum(0)), (False, lambda y: y[0])]:
        check = Check("i", 1)
        check.invariant(student, (x,), (x.flip(0),), "order must not matter")
        assert passed(check) is good


def test_causal() -> None:
    x = torch.arange(12.0).view(6, 2)
    for good, student in [
        (True, lambda y: y.cumsum(0)),
        (False, lambda y: y - y.mean(0)),
        (False, lambda y: y.flip(0).cumsum(0).flip(0)),
    ]:
        check = Check("c", 1)
        check.causal(student, x, "no looking ahead")
        assert passed(check) is good


def test_flops_growth_and_largest_tensor() -> None:
    assert checks.flops(lambda a, b: a @ b, torch.ones(3, 4), torch.ones(4, 5)) == 2 * 3 * 4 * 5
    assert checks.flops(lambda a: a + a, torch.ones(7)) == 7
    assert checks.flops(lambda a: a.view(7).transpose(0, 0), torch.ones(7)) == 0
    assert checks.cost(lambda a: (a[:, None] * a[None]).sum(), torch.ones(9)).largest == 81
    for good, limit in [(True, 120), (False, 119)]:
        check = Check("f", 1)
        check.flops(lambda a, b: a @ b, torch.ones(3, 4), torch.ones(4, 5), at_most=limit, hint="too much work")
        assert passed(check) is good
    assert (
        checks.flops(torch.nn.functional.scaled_dot_product_attention, *(torch.ones(1, 1, 8, 4) for _ in range(3)))
        == 2 * 2 * 8 * 8 * 4
    )
    assert checks.flops(torch.linalg.pinv, torch.ones(6, 3)) >= 4 * 6 * 9
    unseen = Check("n", 1)
    unseen.flops(lambda a: a.tolist(), torch.ones(3), at_most=10, hint="hint")
    unseen.growth(lambda a: a.tolist(), lambda n: (torch.ones(n),), (4, 8), 1, "hint")
    unseen.largest(lambda a: a.tolist(), torch.ones(3), elements=10, hint="hint")
    assert unseen.outcome.passed == 0
    assert "use torch" in report.text(unseen.outcome)
    wrong = Check("w", 1)
    wrong.equal(wrong.run(lambda: 1), 2, "two")
    wrong.largest(lambda a: a + 1, torch.ones(3), elements=3, hint="too large")
    assert wrong.outcome.passed == 0  # cheap, but wrong
    assert recording.ONLY_RIGHT in report.text(wrong.outcome)
    for good, order in [(True, 2), (False, 1)]:
        check = Check("o", 1)
        check.growth(lambda x: x @ x.T, lambda n: (torch.ones(n, 4),), (64, 128), order, "linear, please")
        assert passed(check) is good
    for good, limit in [(True, 81), (False, 80)]:
        check = Check("l", 1)
        check.largest(lambda a: a[:, None] * a[None], torch.ones(9), elements=limit, hint="too large")
        assert passed(check) is good


def test_calls_are_counted_by_the_object() -> None:
    for good, times in [(True, 2), (False, 3)]:
        check = Check("c", 1)
        api = checks.Counted(lambda x: x)
        check.run(lambda api, n: [api(i) for i in range(n)], api, times)
        check.calls(api, "at most two calls", at_most=2)
        assert passed(check) is good


def with_a_loop(xs: list[int]) -> int:
    total = 0
    for x in xs:
        total += x
    return total


def unwritten(xs: list[int]) -> int:
    raise NotImplementedError()


def test_an_unwritten_function_breaks_no_rule_and_earns_nothing(check: Check) -> None:
    check.avoids(unwritten, "for", hint="no loop")
    check.signature(unwritten, ["xs"])
    assert check.outcome.passed == 0
    assert "not written yet" in findings(check)


def test_never_calling_is_no_merit(check: Check) -> None:
    check.calls(checks.Counted(lambda: 1), "at most two calls", at_most=2)
    assert check.outcome.passed == 0


@pytest.mark.parametrize("answer", [None, "text", {"a": 1}, [1.0], torch.ones(())], ids=str)
def test_no_odd_result_ends_the_cell(answer: object, check: Check) -> None:
    student = lambda *args: answer  # noqa: E731
    check.finite(check.run(student), "finite")
    check.distribution(check.run(student), "distribution")
    check.equivariant(student, torch.ones(4, 2), "equivariant")
    check.causal(student, torch.ones(4, 2), "causal")
    check.invariant(student, (torch.ones(2),), (torch.zeros(2),), "invariant")
    check.close(1.0, check.run(lambda: 1 / 0), "an expectation that failed")
    check.shape(check.run(student), (3, 3))
    check.equal(check.run(student), 17, "equal")
    assert check.outcome.reached == 8
    assert check.score() < 4


def test_a_list_answer_is_judged_by_the_precision_of_what_it_is_compared_with() -> None:
    expected = torch.tensor([0.1, 0.2]) / 3
    assert difference((expected * (1 + 1e-6)).tolist(), expected) is None
    assert difference((expected * 1.01).tolist(), expected) is not None


def test_torch_functions_keep_the_reason_of_a_failure(check: Check) -> None:
    check.true(torch.stack([torch.ones(1), check.run(lambda: 1 / 0)]), "stacked")
    assert "ZeroDivisionError" in findings(check)


def test_source_checks() -> None:
    for good, names in [(True, ("for", "total")), (False, ("while",))]:
        check = Check("s", 1)
        check.uses(with_a_loop, *names, hint="use a loop")
        assert passed(check) is good
        check = Check("s", 1)
        check.avoids(with_a_loop, *names, hint="no loop")
        assert passed(check) is not good
    for good, parameters in [(True, ["xs"]), (False, ["xs", "y"])]:
        check = Check("s", 1)
        check.signature(with_a_loop, parameters)
        assert passed(check) is good


def test_optimizer_trajectory_equals_torchs_own() -> None:
    grads = [[torch.tensor([1.0, -2.0])], [torch.tensor([0.5, 0.5])]]
    steps = checks.optimizer(torch.optim.SGD, [torch.zeros(2)], grads, lr=0.1)
    assert torch.allclose(steps[0][0], torch.tensor([-0.1, 0.2]))
    assert torch.allclose(steps[1][0], torch.tensor([-0.15, 0.15]))


def test_inout_put_value_keep_isinstance_and_seed() -> None:
    result, after = checks.inout(lambda x: x.zero_().sum(), torch.ones(2))
    assert (result.item(), after[0].tolist()) == (0.0, [0.0, 0.0])
    model = checks.keep(torch.nn.Linear, 2, 3)
    assert checks.isinstance(model, "torch.nn.Module")
    assert not checks.isinstance(model, "torch.Tensor")
    assert checks.value(model.weight).shape == (3, 2)
    assert not checks.value(model.weight).requires_grad
    handle = checks.put([torch.ones(1)])
    assert checks.value(handle)[0].item() == 1.0
    checks.seed(3)
    first = (torch.rand(1).item(), np.random.rand())
    checks.seed(3)
    assert (torch.rand(1).item(), np.random.rand()) == first


def test_copied_and_plain() -> None:
    data = {"a": [torch.ones(1), (np.ones(2), {3})]}
    other = copied(data)
    other["a"][0].zero_()
    other["a"][1][0][:] = 0
    assert data["a"][0].item() == 1
    assert data["a"][1][0].tolist() == [1, 1]
    assert plain(torch.ones(1, requires_grad=True) * 2).requires_grad is False
    assert plain(np.float64(3)).item() == 3
    assert plain([np.ones(2)], torch.float32)[0].dtype == torch.float32


def test_a_variable_of_one_s_own_is_no_use_of_a_name() -> None:
    assert "grad" not in student_side.names_in("def f(p, q):\n    grad = -p * q\n    return grad", own=False)
    assert "grad" in student_side.names_in(
        "def f(y, x):\n    grad = torch.autograd.grad\n    return grad(y, x)", own=False
    )
    assert "grad" in student_side.names_in(
        "from torch.autograd import grad\ndef f(y, x):\n    return grad(y, x)", own=False
    )
    assert "mask" not in student_side.names_in("def f(x, mask):\n    return x * mask", own=False)


# ---- what is forbidden ----------------------------------------------------------------------------------------------

BEFORE = """
import functools, operator, base64, importlib
saved = F.scaled_dot_product_attention
table = {"x": F.scaled_dot_product_attention}
kernel = torch.library.get_kernel("aten::_scaled_dot_product_flash_attention_for_cpu", "CPU")
class Borrowed:
    call = staticmethod(torch._C._nn.scaled_dot_product_attention)
"""
DISGUISES = {
    "open": "F.scaled_dot_product_attention(q, k, v)",
    "saved reference": "saved(q, k, v)",
    "in a dictionary": "table['x'](q, k, v)",
    "in a class": "Borrowed.call(q, k, v)",
    "binding": "torch._C._nn.scaled_dot_product_attention(q, k, v)",
    "torch.ops": "torch.ops.aten.scaled_dot_product_attention.default(q, k, v)",
    "computed name": "getattr(F, 'scaled_dot_' + 'product_attention')(q, k, v)",
    "from a dictionary of names": "vars(F)['_'.join(['scaled', 'dot', 'product', 'attention'])](q, k, v)",
    "eval": "eval(base64.b64decode('Ri5zY2FsZWRfZG90X3Byb2R1Y3RfYXR0ZW50aW9u'))(q, k, v)",
    "method caller": "operator.methodcaller('scaled_dot_product_attention', q, k, v)(F)",
    "partial": "functools.partial(saved, q)(k, v)",
    "imported anew": "importlib.import_module('torch.nn.functional').scaled_dot_product_attention(q, k, v)",
    "the fused kernel": "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)[0]",
    "the plain kernel": "torch._scaled_dot_product_attention_math(q, k, v)[0]",
    "inside vmap": "torch.func.vmap(saved)(q, k, v)",
    "without modes": (
        "[__import__('torch.utils._python_dispatch')._C, torch._C._nn.scaled_dot_product_attention(q, k, v)][1]"
    ),
    "without autograd": "torch.inference_mode()(saved)(q, k, v)",
    "a module": (
        "torch.nn.functional.multi_head_attention_forward(q[0].mT, k[0].mT, v[0].mT, 1, 1, None, None, None, None,"
        " False, 0., None, None)"
    ),
    "saved kernel": "kernel.call_boxed(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), q, k, v, 0.0, False)[0]",
}
OWN = "(q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v"


def attends(body: str) -> Any:
    return cell(f"{BEFORE}\ndef attend(q, k, v):\n    return {body}\n")["attend"]


@pytest.mark.parametrize("way", DISGUISES)
def test_a_forbidden_operator_is_refused_by_whatever_name(way: str) -> None:
    q, k, v = randn(1, 2, 5, 4), randn(1, 2, 6, 4), randn(1, 2, 6, 4)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    check = Check("banned", 1)
    check.close(check.run(attends(DISGUISES[way]), q, k, v, forbid=["attention"]), expected, "write it yourself")
    assert check.outcome.passed == 0
    own = check.run(attends(OWN), q, k, v, forbid=["attention"])
    check.close(own, expected, "write it yourself")
    assert check.outcome.passed == 1
    after = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert torch.equal(after, expected)  # nothing is refused any more


def test_a_source_without_the_name_is_not_enough() -> None:
    q, k, v = randn(1, 2, 5, 4), randn(1, 2, 6, 4), randn(1, 2, 6, 4)
    for body, good in (
        (OWN, True),
        ("saved(q, k, v)", False),
        (DISGUISES["computed name"], False),
        (DISGUISES["open"], False),
    ):
        check, attend = Check("banned", 1), attends(body)
        check.avoids(
            attend,
            "scaled_dot_product_attention",
            hint="write it",
            forbid=["attention"],
            runs=lambda attend=attend: attend(q, k, v),
        )
        assert passed(check) is good, body


GRADIENTS = {
    "backward": "x = x.detach().requires_grad_(); x.pow(2).sum().backward(); return x.grad",
    "saved reference": "x = x.detach().requires_grad_(); return saved(x.pow(2).sum(), x)[0]",
    "the engine": (
        "x = x.detach().requires_grad_(); return engine((x.pow(2).sum(),), (torch.ones(()),), False, False, (x,),"
        " False)[0]"
    ),
    "torch.func": "return torch.func.grad(lambda z: z.pow(2).sum())(x)",
    "forward mode": "return torch.func.jacfwd(lambda z: z.pow(2).sum())(x)",
    "operator": "x = x.detach().requires_grad_(); torch.ops.aten._backward(x.pow(2).sum(), [x]); return x.grad",
    "graph by hand": (
        "x = x.detach().requires_grad_(); return x.pow(2).sum().grad_fn.next_functions[0][0](torch.ones(3))"
    ),
    "grad mode": (
        "torch.set_grad_enabled(True); x = x.clone().requires_grad_(); x.pow(2).sum().backward(); return x.grad"
    ),
    "thread": (
        "out = []; t = threading.Thread(target=lambda: out.append(open_way(x))); t.start(); t.join(); return out[0]"
    ),
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("way", GRADIENTS)
def test_autograd_is_refused_by_whatever_way(way: str) -> None:
    text = f"""
import threading
saved = torch.autograd.grad
engine = torch.autograd.Variable._execution_engine.run_backward
def open_way(x):
    x = x.detach().requires_grad_(); return saved(x.pow(2).sum(), x)[0]
def gradient(x):
    {GRADIENTS[way]}
"""
    x, gradient = torch.tensor([1.0, 2.0, 3.0]), cell(text)["gradient"]
    check = Check("banned", 1)
    check.close(check.run(gradient, x), 2 * x, "2x")
    assert check.outcome.passed == 1, findings(check)
    check.close(check.run(gradient, x, forbid=["autograd"]), 2 * x, "2x")
    assert check.outcome.passed == 1
    check.close(check.run(lambda z: 2 * z, x, forbid=["autograd"]), 2 * x, "2x")
    check.close(check.run(gradient, x), 2 * x, "2x")
    assert check.outcome.passed == 3  # and everything works as before


def test_a_function_of_the_notebook_s_can_be_forbidden() -> None:
    made = cell("def other(x):\n    return 2 * x\nsaved = other\ndef f(x):\n    return saved(x)")
    check = Check("banned", 1)
    check.equal(check.run(made["f"], 3, forbid=[made["other"]]), 6, "six")
    assert "does not allow the call of `other`" in findings(check)
    check.equal(check.run(made["f"], 3), 6, "six")
    assert check.outcome.passed == 1


BANNED_CALLS = {
    "layer norm": [
        "F.layer_norm(x, (4,))",
        "torch.native_layer_norm(x, (4,), None, None, 1e-5)[0]",
        "torch.nn.GroupNorm(1, 4)(x)",
    ],
    "rms norm": ["F.rms_norm(x, (4,))", "torch.nn.RMSNorm(4)(x)"],
    "activations": [
        "F.relu(x)",
        "x.clone().relu_()",
        "torch.nn.GELU()(x)",
        "F.gelu(x, approximate='tanh')",
        "torch.nn.SiLU()(x)",
    ],
    "dropout": [
        "F.dropout(x)",
        "torch.nn.Dropout()(x)",
        "torch.native_dropout(x, 0.5, True)[0]",
        "F.alpha_dropout(x, training=True)",
    ],
    "cross entropy": [
        "F.cross_entropy(x, torch.tensor([1, 2, 3]))",
        "F.nll_loss(x, torch.tensor([1, 2, 3]))",
        "F.kl_div(x, x.exp())",
    ],
    "multi-head attention": [
        "torch.nn.MultiheadAttention(4, 2)(x, x, x)[0]",
        "torch.nn.MultiheadAttention(4, 2).eval()(x, x, x)[0]",
    ],
    "encoder layer": ["torch.nn.TransformerEncoderLayer(4, 2)(x)", "torch.nn.TransformerEncoderLayer(4, 2).eval()(x)"],
}


@pytest.mark.parametrize(("ban", "call"), [(ban, call) for ban, calls in BANNED_CALLS.items() for call in calls])
def test_what_each_ban_refuses(ban: str, call: str) -> None:
    check, f = Check("banned", 1), cell(f"def f(x):\n    return {call}")["f"]
    x = randn(3, 4)
    check.finite(check.run(f, x), "it works")
    assert passed(check)
    check.finite(check.run(f, x, forbid=[ban]), "it is refused")
    assert "this exercise does not allow the call of" in findings(check)


def test_an_unreadable_source_breaks_the_rule() -> None:
    made: dict[str, Any] = {}
    exec("def f(x):\n    return x", made)  # there is no text anywhere
    check = Check("unreadable", 1)
    check.avoids(made["f"], "softmax", hint="write it")
    assert check.outcome.passed == 0
    assert student_side.UNREADABLE in findings(check)


def test_the_source_of_a_class_of_a_notebook_is_found() -> None:
    shell = Shell()
    shell.run("class Layer:\n    def forward(self, x):\n        return x.softmax(-1)")
    check = Check("class", 1)
    check.avoids(shell.shell.user_ns["Layer"], "relu", hint="no relu")
    assert passed(check)
    check.avoids(shell.shell.user_ns["Layer"], "softmax", hint="no softmax")
    assert not passed(check)


def test_names_in_a_source_text() -> None:
    found = student_side.names_in("import numpy as np\ny = [F.softmax(x) for x in z]\nw = a @ b if c else (lambda: 0)")
    assert {"numpy", "softmax", "F", "for", "@", "if", "lambda"} <= found
    assert "while" not in found


# ---- how it looks ---------------------------------------------------------------------------------------------------


def test_html_escapes_what_students_write_and_keeps_code_marks() -> None:
    check = Check("html", 2)
    check.true(False, "use `x <= y` here")
    check.equal("<script>alert(1)</script>", "safe", "no scripts")
    page = report.as_html(check.outcome)
    assert "<script>" not in page
    assert "x &lt;= y</code>" in page
    assert "0 of 2 points" in page


def test_the_same_hint_is_shown_once(check: Check) -> None:
    for value in (1.0, 2.0, 2.0):
        check.close(value, 0.0, "same hint")
    assert findings(check).count("same hint") == 1
    assert findings(check).count("got 2") == 1


def test_a_function_given_as_an_argument_counts_as_unchanged(check: Check) -> None:
    check.unchanged(lambda f, x: f(x), torch.exp, torch.ones(2))
    assert passed(check)


def test_what_stands_beside_a_model_must_stay_as_it_was(check: Check) -> None:
    model = checks.keep(torch.nn.Linear, 2, 2)
    check.unchanged(lambda m, x: m(x), model, torch.ones(1, 2))
    assert passed(check)
    check.unchanged(lambda m, x: m(x.zero_()), model, torch.ones(1, 2))
    assert not passed(check)
    assert checks.inout(lambda m, x: m(x), model, torch.ones(1, 2))[1][0] is None


# ---- hidden checks ---------------------------------------------------------------------------------------------------


def run_cell(text: str, check: Check) -> str:
    """What a test cell of this text tells."""
    linecache.cache["<cell>"] = (len(text), None, text.splitlines(keepends=True), "<cell>")
    exec(compile(text, "<cell>", "exec"), {"check": check})
    return findings(check)


def test_a_check_in_a_function_is_hidden_where_its_caller_is(check: Check) -> None:
    told = run_cell(
        'def judge(value):\n    check.equal(value, 4711, "the number")\njudge(3)\n'
        "### BEGIN HIDDEN TESTS\njudge(1234)\n### END HIDDEN TESTS\n",
        check,
    )
    assert "got 3" in told
    assert "1234" not in told
    assert "(hidden check)" in told


def test_of_several_exceptions_in_hidden_checks_the_first_is_told(check: Check) -> None:
    """Which of many exceptions it was would spell out a hidden input."""
    told = run_cell(
        "### BEGIN HIDDEN TESTS\nfor fails in (lambda: 1 // 0, lambda: 1 // 0, lambda: [][1]):\n"
        '    check.equal(check.run(fails), 1, "")\n### END HIDDEN TESTS\n',
        check,
    )
    assert "your code raised ZeroDivisionError" in told
    assert "your code raised another exception" in told
    assert "IndexError" not in told


def test_an_exception_that_python_does_not_know_is_told_by_its_kind(check: Check) -> None:
    """Its own name is the student's or a library's: it could spell out a hidden input."""
    told = run_cell(
        "### BEGIN HIDDEN TESTS\ndef fails(): raise type('Spelt1234', (RuntimeError,), {})\n"
        'check.equal(check.run(fails), 1, "")\n### END HIDDEN TESTS\n',
        check,
    )
    assert "your code raised a kind of RuntimeError" in told
    assert "Spelt1234" not in told
    assert (
        quiet.failure_of(type("InductorError", (RuntimeError,), {})()).safe_reason == "your code raised InductorError"
    )


def test_a_name_given_to_getattr_is_used() -> None:
    assert "softmax" in checks.names_in("y = getattr(F, 'softmax')(x)")
    assert student_side.COMPUTED in checks.names_in("y = getattr(F, 'soft' + 'max')(x)")


# ---- cost by the kernel's figures -----------------------------------------------------------------------------------


def by_table(x: torch.Tensor) -> torch.Tensor:
    """Running sums by a table of all pairs, where torch's counter does not see it."""
    return torch.from_numpy(np.tril(np.ones((len(x), len(x)), np.float32)) @ x.numpy()) + 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process took")
def test_the_kernel_s_figures_take_back_what_was_counted() -> None:
    for or_nothing, left in ((False, 1), (True, 0)):
        check = Check("table", 4)
        check.close(check.run(by_table, torch.ones(3)), [1.0, 2.0, 3.0], "sums")
        check.growth(
            by_table, lambda n: (torch.ones(n),), (64, 128), 1, "linear, please"
        )  # one addition is all that is seen
        check.counted(True, "a condition on what was counted")
        assert passed(check)
        args = (by_table, lambda n: (torch.ones(n),), 4096)
        assert not check.affordable(
            *args, megabytes=32, wasteful=128, hint="no table of all pairs", or_nothing=or_nothing
        )
        check.largest(by_table, torch.ones(64), elements=64, hint="small")  # counted, and no longer believed
        assert check.outcome.passed == left
        assert "no table of all pairs" in findings(check)


def test_a_size_at_which_waste_could_hide_in_what_cells_leave_is_an_author_s_error() -> None:
    check = Check("sums", 4)
    with pytest.raises(RuntimeError, match="at least 112 MB"):
        check.affordable(torch.cumsum, lambda n: (torch.ones(n), 0), 64, megabytes=32, wasteful=64, hint="no table")


def one_by_one(n: int) -> int:
    return sum(1 for _ in range(n))


def test_the_processor_time_of_the_plain_way_is_the_measure() -> None:
    numbers = iter(range(600_000, 600_010))  # another input each time
    check = Check("count", 4)
    assert check.quicker(lambda n: n, one_by_one, lambda: (next(numbers),), share=0.5, hint="do not count")
    assert not check.quicker(one_by_one, one_by_one, lambda: (next(numbers),), share=0.1, hint="do not count")
    assert findings(check).count("do not count") == 1
    assert not check.quicker(lambda n: 0, one_by_one, lambda: (next(numbers),), share=0.5, hint="too slow")
    assert "the result is wrong" in findings(check)
    assert "too slow" not in findings(check)


def test_an_honest_answer_is_affordable_and_a_wrong_or_counted_one_is_not_run() -> None:
    check = Check("sums", 4)
    check.close(check.run(torch.cumsum, torch.ones(3), 0), [1.0, 2.0, 3.0], "sums")
    assert check.affordable(
        torch.cumsum, lambda n: (torch.ones(n), 0), 4096, megabytes=32, wasteful=128, hint="no table"
    )
    assert passed(check)
    check.largest(torch.cumsum, torch.ones(64), 0, elements=10, hint="small")
    reached = check.outcome.reached
    assert not check.affordable(
        torch.cumsum, lambda n: (torch.ones(n), 0), 4096, megabytes=32, wasteful=128, hint="no table"
    )
    assert check.outcome.reached == reached  # the counter has said it


RANK_BY_RANK = """
import resource
import torch
from helpers.checks import student_side

torch.set_num_threads(1)

def product(U, V):
    out = U.new_zeros(U.shape[0], V.shape[1])
    for u, v in zip(U.mT, V):
        out = out + 0.5 * torch.outer(u, v)
    return out

student_side.spent(product, torch.randn(6144, 128), torch.randn(128, 128))
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
student_side.spent(product, torch.randn(6144, 128), torch.randn(128, 128))
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process took")
def test_a_large_tensor_at_every_step_is_not_new_memory_at_every_step() -> None:
    """The kernel clears new memory, page by page: a loop that is linear in the size would look quadratic.

    In a process that has freed no large tensor before: afterwards less memory goes back.
    """
    done = subprocess.run([sys.executable, "-c", RANK_BY_RANK], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    pages = 6144 * 128 * 4 // 4096
    assert after - before < 20 * pages  # arguments, their copies, three tensors that all 128 steps use again


def test_a_counter_that_saw_almost_nothing_earns_nothing() -> None:
    for measure in ("flops", "largest", "growth"):
        check = Check("floor", 1)
        if measure == "flops":
            check.flops(by_table, torch.ones(64), at_most=10_000, at_least=1000, hint="hint")
        elif measure == "largest":
            check.largest(by_table, torch.ones(64), elements=64, at_least=1000, hint="hint")
        else:
            check.growth(by_table, lambda n: (torch.ones(n),), (64, 128), 1, "hint", at_least=1000)
        assert check.outcome.passed == 0
        assert cost_checks.UNCOUNTED in findings(check)
