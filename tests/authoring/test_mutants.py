"""`course verify --mutate`: wrong answers made out of the solution find what a test does not see."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import run_course

from autograder.authoring import build, engines, mistakes, observing, survivors, verify
from autograder.authoring.mutants import Mutant, mutants_of
from autograder.model import course
from autograder.model.course import CourseError
from autograder.model.notebook import Cell

# ---- operators, each on a small function -----------------------------------------------------------------------------


def mutants(source: str, call: str = "", group: str = "all") -> dict[str, Mutant]:
    """The mutants of an answer, after one call in which it was observed."""
    cell = Cell("code", source, {})
    namespace: dict[str, Any] = {"torch": torch}
    exec(observing.instrumented(cell.tree), namespace)
    if call:
        eval(call, namespace)
    notes = namespace[observing.ASK]()
    observed = observing.observed_in([{"output_type": "stream", "text": f"a line before\n{notes}\n"}])
    assert observed is not None
    return {one.name: one for one in mutants_of(cell, observed, survivors.GROUPS[group])}


def run(mutant: Mutant, call: str) -> Any:
    namespace: dict[str, Any] = {"torch": torch}
    exec(mutant.code, namespace)
    return eval(call, namespace)


SCALE = "def scale(x):\n    return x / x.shape[-1] ** 0.5"
UNPACKED = "def flat(x):\n    B, T = x.shape\n    return x.reshape(B * T)"
MASKED = "def fill(x, mask=None):\n    x = x + 1\n    return x if mask is None else x.masked_fill(mask, 0.0)"
EVALUATE = (
    "def evaluate(model, batches):\n    model.eval()\n    total = 0\n    for x in batches:\n"
    "        with torch.no_grad():\n            total += model(x)\n    return total"
)
A_MODEL = "torch.nn.Identity()"
HOLES = [
    (SCALE, "scale(torch.ones(3, 8))", "constant: x.shape[-1] → 8", "return x / 8 ** 0.5"),
    ("def n(x):\n    return x / len(x)", "n(torch.ones(3))", "constant: len(x) → 3", "return x / 3"),
    ("def n(x):\n    return x / x.size(0)", "n(torch.ones(3))", "constant: x.size(0) → 3", "return x / 3"),
    ("def n(x):\n    return x / x.ndim", "n(torch.ones(3))", "constant: x.ndim → 1", "return x / 1"),
    (UNPACKED, "flat(torch.ones(2, 5))", "constant: T → 5", "T = 5"),
    ("def up(x, k):\n    return x * k", "up(torch.ones(3), 4)", "constant: up, k → 4", "k = 4"),
    (MASKED, "fill(torch.ones(2))", "ignored: fill, mask is always None", "mask = None"),
    (SCALE, "scale(torch.ones(3, 8))", "ignored: scale, x is zeros", "x = torch.zeros_like(x)"),
    (SCALE, "scale(torch.ones(3, 8))", "one row: scale, result, row 0 for all", "return result[:1].expand_as(result).clone()"),
    (EVALUATE, f"evaluate({A_MODEL}, [1, 2])", "one row: for x, first only", "for x in batches: …; break"),
    (MASKED, "fill(torch.ones(2))", "in place: x = x + 1 as x += 1", "x += 1"),
    (MASKED, "fill(torch.ones(2))", "in place: x.masked_fill as masked_fill_", "return x if mask is None else x.masked_fill_(mask, 0.0)"),
    (SCALE, "scale(torch.ones(3, 8))", "in place: scale, x is changed afterwards", "x.add_(1)"),
    ("def c(x):\n    return x.clone()", "c(torch.ones(2))", "copy: x.clone() without clone", "return x"),
    ("def z(x):\n    return torch.zeros(2, dtype=x.dtype)", "z(torch.ones(2))", "dtype: x.dtype → torch.float32", "return torch.zeros(2, dtype=torch.float32)"),
    ("def z(x):\n    return torch.zeros_like(x)", "z(torch.ones(2))", "dtype: torch.zeros_like(x) without its dtype", "return torch.zeros(x.shape)"),
    ("def z(x):\n    return x.new_zeros(2)", "z(torch.ones(2))", "dtype: x.new_zeros as torch.zeros", "return torch.zeros(2)"),
    (SCALE, "scale(torch.ones(3, 8))", "dtype: scale, result rounded to float16", "return result.to(torch.float16).to(result.dtype)"),
    (SCALE, "scale(torch.ones(3, 8))", "gradient: scale, x is detached", "x = x.detach()"),
    ("def two(x):\n    return x, 2 * x", "two(torch.ones(3))", "gradient: two, result[1] is detached", "result[1] = result[1].detach()"),
    ("def draw():\n    return torch.rand(3)", "draw()", "global: draw, seeds at every call", "torch.manual_seed(0)"),
    (EVALUATE, f"evaluate({A_MODEL}, [1, 2])", "global: evaluate, gradients stay switched off", "torch.set_grad_enabled(False)"),
    (EVALUATE, f"evaluate({A_MODEL}, [1, 2])", "global: without torch.no_grad()", "total += model(x)"),
    (EVALUATE, f"evaluate({A_MODEL}, [1, 2])", "global: without model.eval()", "(left out)"),
    (SCALE, "scale(torch.ones(3, 8))", "state: scale, the first result, always", "return kept['first']"),
    (EVALUATE, f"evaluate({A_MODEL}, [1, 2])", "iterator: evaluate, batches needs a length", "len(batches)"),
]  # fmt: skip
CLASSICAL = [
    ("def f(x):\n    return x.sum(dim=-1)", "axis: x.sum, dim=-1 → 0", "return x.sum(dim=0)"),
    ("def f(x):\n    return x + 1", "sign: x + 1 → x - 1", "return x - 1"),
    ("def f(x):\n    return -x", "sign: -x → x", "return x"),
    ("def f(x):\n    return x < 1", "comparison: x < 1 → x <= 1", "return x <= 1"),
    ("def f(x, y):\n    return x and y", "comparison: x and y → x or y", "return x or y"),
    ("def f(x):\n    return x[3]", "number: 3 → 4", "return x[4]"),
    ("def f(x, y):\n    return x @ y", "order: x @ y → y @ x", "return y @ x"),
    ("def f(x):\n    return x @ x.mT", "order: x.mT → x", "return x @ x"),
    ("def f(x):\n    y = 1\n    x = y\n    return x", "left out: without x = y", "(left out)"),
    ("def f(x):\n    return x / 2", "left out: x / 2 → x", "return x"),
    ("def f(x, m):\n    return x.masked_fill(m, 0)", "left out: without masked_fill of x", "return x"),
    ("def f(x, m):\n    return torch.where(m, x, 0)", "left out: without where of x", "return x"),
    ("def f(x):\n    if x:\n        x = 1\n    return x", "left out: never x", "(left out)"),
    ("def f(x):\n    return max(x)", "extreme: max → min", "return min(x)"),
]


@pytest.mark.parametrize(("source", "call", "name", "line"), HOLES, ids=[row[2] for row in HOLES])
def test_an_operator_for_holes(source: str, call: str, name: str, line: str) -> None:
    made = mutants(source, call, "holes")
    assert name in made, list(made)
    assert made[name].text == line


@pytest.mark.parametrize(("source", "name", "line"), CLASSICAL, ids=[row[1] for row in CLASSICAL])
def test_a_classical_operator(source: str, name: str, line: str) -> None:
    made = mutants(source, group="classical")
    assert name in made, list(made)
    assert made[name].text == line


def test_every_operator_has_an_example() -> None:
    shown = {row[2].partition(":")[0] for row in HOLES} | {row[1].partition(":")[0] for row in CLASSICAL}
    assert shown == set(survivors.GROUPS["all"])


def test_mutants_are_python_differ_from_the_solution_and_from_each_other() -> None:
    for source, call, *_ in HOLES:
        trees = [ast.dump(ast.parse(one.code)) for one in mutants(source, call).values()]
        assert len({ast.dump(ast.parse(source)), *trees}) == len(trees) + 1


def test_mutants_do_what_their_names_say() -> None:
    made = mutants(SCALE, "scale(torch.ones(3, 8))")
    assert run(made["constant: x.shape[-1] → 8"], "scale(torch.ones(4))[0]") == 8**-0.5
    assert run(
        made["state: scale, the first result, always"], "[scale(torch.ones(4)), scale(torch.ones(9))][1].shape"
    ) == (4,)
    assert run(made["in place: scale, x is changed afterwards"], "[x := torch.ones(4), scale(x)][0][0]") == 2
    assert not run(made["gradient: scale, x is detached"], "scale(torch.ones(4, requires_grad=True))").requires_grad
    assert run(made["one row: scale, result, row 0 for all"], "scale(torch.arange(4.0)[:, None])").abs().max() == 0
    lost = mutants(EVALUATE, f"evaluate({A_MODEL}, [1, 2])")[
        "iterator: evaluate, batches loses its first item if it is a generator"
    ]
    assert run(lost, f"evaluate({A_MODEL}, [1, 2])") == 3
    assert run(lost, f"evaluate({A_MODEL}, iter([1, 2]))") == 2


def test_numbers_cannot_be_changed_in_place() -> None:
    source = "def more(n):\n    n = n + 1\n    return n"
    assert not any(name.startswith("in place") for name in mutants(source, "more(3)"))
    assert "in place: n = n + 1 as n += 1" in mutants(source, "more(torch.ones(3))")


def test_only_the_students_lines_change() -> None:
    source = "def f(x):\n    x = x + 1\n    ### BEGIN SOLUTION\n    return x * 2\n    ### END SOLUTION"
    names = list(mutants(source, group="classical"))
    assert names
    assert not any("+ 1" in name for name in names)
    assert {one.line for one in mutants(source, group="classical").values()} == {4}


def test_how_an_error_is_worded_is_no_mistake() -> None:
    source = 'def f(x):\n    if len(x) > 3:\n        raise ValueError(f"{len(x)} is more than {3 + 0}")\n    return x'
    lines = {one.line for one in mutants(source, "f([1])").values()}
    assert 2 in lines
    assert not any("+ 0" in name or "#2" in name for name in mutants(source, "f([1])"))


def test_methods_keep_their_object_and_generators_are_left_alone() -> None:
    source = "class Layer(torch.nn.Module):\n    def forward(self, x):\n        return x * len(x)\n\ndef count(x):\n    yield x"
    made = mutants(source, "Layer()(torch.ones(3))")
    assert run(made["gradient: Layer.forward, result is detached"], "Layer()(torch.ones(2))").tolist() == [2, 2]
    assert not any(name.startswith("state: count") for name in made)


def test_a_solution_that_could_not_be_watched_is_a_failure_not_an_exercise_without_sizes() -> None:
    assert observing.observed_in([{"output_type": "stream", "text": "interrupted\n"}]) is None
    assert survivors.Mutants(unobserved=["spread"]).failures()


# ---- reasons ---------------------------------------------------------------------------------------------------------


def test_only_a_star_is_a_wild_card() -> None:
    assert survivors.fits("constant: x.shape[-1] → *", "constant: x.shape[-1] → 8")
    assert not survivors.fits("constant: x.shape[-1] → *", "constant: x.shape[0] → 8")
    assert not survivors.fits("constant: x.shape?-1] → 8", "constant: x.shape[-1] → 8")


@pytest.mark.parametrize("said", ['{"double": {"state: *": ""}}', '{"double": "equivalent"}'])
def test_a_reason_needs_words(said: str, tmp_path: Path) -> None:
    (tmp_path / "mistakes.py").write_text(f"EQUIVALENT = {said}\n")
    with pytest.raises(CourseError, match="must give every mutant a reason"):
        mistakes.load(tmp_path / "mistakes.py")


# ---- a course with holes ---------------------------------------------------------------------------------------------

SETUP = """
# %% locked="setup"
import torch
from helpers.checks import Check, randn

"""
ANSWER = '''
# %% exercise="spread"
def spread(x, shift=0.0):
    """x (n, d), each row divided by the root of its width, plus shift; gradients flow to x."""
    ### BEGIN SOLUTION
    return x / x.shape[-1] ** 0.5 + shift
    ### END SOLUTION


def total(parts):
    """The sum of tensors, which may come from a generator."""
    ### BEGIN SOLUTION
    result = 0
    for part in parts:
        result = result + part
    return result
    ### END SOLUTION

'''
POOR = """
# %% test="spread" points=2
check = Check("spread", points=2)
x = randn(3, 16)
check.close(check.run(spread, torch.ones(2, 16)), 0.25, "sixteen ones: a quarter each")
check.close(check.run(total, [torch.ones(2), torch.ones(2)]), 2.0, "one and one")
### BEGIN HIDDEN TESTS
check.close(check.run(spread, x), x / 4, "divide by the root of the width")
### END HIDDEN TESTS
check.score()
"""
PLANTED = {
    "constant: x.shape[-1] → 16",
    "ignored: spread, shift is always 0.0",
    "in place: spread, x is changed afterwards",
    "gradient: spread, x is detached",
    "state: spread, the first result of these shapes",
    "iterator: total, parts needs a length",
}
CASES = """check.close(check.run(spread, x[:, :9]), x[:, :9] / 3, "another width")
check.close(check.run(spread, x, 2.0), x / 4 + 2, "the shift")
check.close(check.run(spread, x + 1), (x + 1) / 4, "the same size again")
check.unchanged(spread, x)
check.gradients(spread, lambda t: t / 4, [x], "the gradient")
check.close(check.run(lambda: total(iter([torch.ones(1), 2 * torch.ones(1)]))), 3.0, "a generator")
check.unchanged(total, [torch.ones(2), torch.ones(2)])
### END HIDDEN TESTS
"""
VARIANTS = """
from autograder.authoring.mistakes import Mistake, Right

EXEMPT = {"spread": "mutants are tried here"}
"""
REASONS = """
EQUIVALENT = {
    "spread": {"gradient: total, *": "the text does not ask for gradients of a sum"},
    "*": {"dtype: total, *": "the text does not ask for digits of a sum"},
}
"""


def course_with(root: Path, test: str, more: str = "") -> None:
    folder = root / "solutions" / "01-small"
    (folder / "01-small.py").write_text((SETUP + ANSWER + test).lstrip())
    (folder / "mistakes.py").write_text(VARIANTS + more)


def mutated(root: Path, *more: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Exit code, report, and what it says of mutants."""
    done = run_course("verify", "01-small", "--mutate", "--json", *more, cwd=root)
    assert done.returncode in (0, 1), done.stderr
    (report,) = json.loads(done.stdout)
    return done.returncode, report, report["mutants"]


@pytest.mark.slow
def test_holes_are_named(small_course: Path) -> None:
    course_with(small_course, POOR)
    code, report, found = mutated(small_course)
    names = {one["name"] for one in found["survivors"]}
    assert code == 1
    assert names >= PLANTED, names
    assert found["made"] == found["caught"] + found["explained"] + len(found["survivors"])
    assert len(report["failures"]) == len(names), "each of them is a failure, and nothing else is"
    assert set(report) >= {"assignment", "exercises", "variants", "failures", "notice", "kept", "mutants"}
    (one,) = [one for one in found["survivors"] if one["name"] == "constant: x.shape[-1] → 16"]
    assert (one["exercise"], one["text"]) == ("spread", "return x / 16 ** 0.5 + shift")
    source = (small_course / "solutions" / "01-small" / "01-small.py").read_text().split("\n")
    assert source[one["line"] - 1].strip() == "return x / x.shape[-1] ** 0.5 + shift"


def hunted(root: Path, engine_for: Any) -> survivors.Mutants:
    """The mutants alone, without the rest of the gate."""
    this = course.load(root)
    assignment = this.assignments[0]
    cells, _ = build.checked_cells(assignment)
    known = mistakes.load(assignment.mistakes)
    exercises, sheet = verify.exercises_of(cells, {}), verify.sheet_of(this, assignment, cells)
    return survivors.hunt(
        this, assignment, cells, exercises, known.equivalent, "holes", sheet, lambda text: None, engine_for
    )


class StartedError(Exception):
    """There is something to try."""


def refuse(*_: Any) -> Any:
    raise StartedError


@pytest.mark.slow
def test_holes_go_when_the_cases_are_added_and_nothing_is_tried_twice(small_course: Path) -> None:
    rich = POOR.replace("### END HIDDEN TESTS\n", CASES)
    course_with(small_course, rich, REASONS)
    first = hunted(small_course, engines.engine_for)
    assert first.failures() == []
    assert (first.survivors, first.stale, first.remembered) == ([], [], 0)
    assert first.explained >= 2
    assert first.caught + first.explained == first.made

    again = hunted(small_course, refuse)
    assert again.remembered == first.made + 1, "with the solution itself"
    assert again.as_dict() == {**first.as_dict(), "remembered": again.remembered}

    worn = '"state: total, *": "not any more", "sign: *": "of another group", "gradient: total, *"'
    course_with(small_course, rich, REASONS.replace('"gradient: total, *"', worn))
    found = hunted(small_course, refuse)
    assert [(one["exercise"], one["name"]) for one in found.stale] == [("spread", "state: total, *")]
    assert len(found.failures()) == 1

    course_with(small_course, rich, REASONS.replace('"dtype: total, *"', '"dtype: totals, *"'))
    found = hunted(small_course, refuse)
    assert len(found.survivors) == found.made - found.caught - found.explained > 0
    assert [one["name"] for one in found.stale] == ["dtype: totals, *"]

    course_with(small_course, rich.replace("a generator", "an iterator"), REASONS)
    with pytest.raises(StartedError):
        hunted(small_course, refuse)


@pytest.mark.slow
def test_a_mutant_that_never_ends_is_caught(small_course: Path) -> None:
    with (small_course / "course.toml").open("a") as file:
        file.write("limits = { cell_seconds = 3, test_seconds = 3 }\n")
    path = small_course / "solutions" / "01-small" / "01-small.py"
    loop = "    times = 2\n    while times > 1:\n        times = times - 1\n        x = x + x\n    return x"
    path.write_text(path.read_text().replace("    return x + x  # the secret of doubling", loop))
    (small_course / "solutions" / "01-small" / "mistakes.py").write_text(VARIANTS.replace("spread", "double"))
    _, _, found = mutated(small_course, "--operators", "classical")
    survived = {one["name"] for one in found["survivors"]}
    assert found["broken"] == []
    assert "left out: without times = times - 1" not in survived
    assert found["caught"] > 0


@pytest.mark.parametrize(
    ("options", "advice"),
    [(["--operators", "all"], "add --mutate"), (["--mutate", "--variants", "x.py"], "leave out --variants")],
)
def test_options_that_do_not_go_together_are_refused_in_one_line(
    options: list[str], advice: str, small_course: Path
) -> None:
    done = run_course("verify", "01-small", *options, cwd=small_course)
    assert done.returncode == 2
    assert advice in done.stderr
    assert len(done.stderr.strip().split("\n")) == 1
