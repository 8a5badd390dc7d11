"""Named mistakes that say something: verified, recorded once, and recognised in answers that only behave like them."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import run_course

from autograder.authoring import build, recordings
from autograder.authoring.engines import Candidate, Engine, Sheet, Tested, sheet_of
from autograder.authoring.mistakes import Mistake
from autograder.authoring.recordings import Recorded
from autograder.model import course

MISTAKES = """
from autograder.mistakes import Mistake, Right

VARIANTS = {"double": [
    Mistake("squared", code="def double(x):\\n    return x * x", says="this squares the numbers"),
    Mistake("thrice", code="def double(x):\\n    return 3 * x", says="this is three times as much"),
    Mistake("in floats", code="def double(x):\\n    return x * x.float()", says=SAYS),
    Mistake("nothing", code="def double(x):\\n    return x", hint="twice one is two"),
    Right("sum", code="def double(x):\\n    return x.add(x)"),
    Right("shift", code="def double(x):\\n    return x - (-x)"),
]}
"""
OTHERS = """
from autograder.mistakes import Mistake

VARIANTS = {"double": [
    Mistake("a power", code="def double(x):\\n    return x ** 2"),
    Mistake("a power, but only of large tensors", code="def double(x):\\n    return x ** 2 if x.numel() > 3 else 4 * x"),
]}
"""


@pytest.mark.slow
def test_an_answer_that_behaves_like_a_named_mistake_is_told_what_that_one_says(small_course: Path) -> None:
    place = small_course / "solutions" / "01-small" / "mistakes.py"
    place.write_text(MISTAKES.replace("SAYS", '"this squares the numbers"'))
    done = run_course("verify", "01-small", "--json", cwd=small_course)
    assert json.loads(done.stdout)[0]["failures"] == []
    (small_course / "others.py").write_text(OTHERS)
    for _ in range(2):  # the second time from what was kept
        done = run_course("verify", "01-small", "--variants", "others.py", "--json", cwd=small_course)
        hints = [variant["hints"] for variant in json.loads(done.stdout)["variants"]]
        assert hints[0][0] == "this squares the numbers"
        assert "this squares the numbers" not in hints[1]
    kept = json.loads((small_course / ".course" / "recorded" / "01-small.json").read_text())
    assert [one["name"] for one in kept["tests"]["double-test"]] == ["squared", "thrice", "in floats"]


@pytest.mark.slow
def test_mistakes_with_the_same_results_must_say_the_same(small_course: Path) -> None:
    place = small_course / "solutions" / "01-small" / "mistakes.py"
    place.write_text(MISTAKES.replace("SAYS", '"something else"'))
    done = run_course("verify", "01-small", "--json", cwd=small_course)
    failures = json.loads(done.stdout)[0]["failures"]
    assert len(failures) == 2
    assert all("cannot be told apart" in failure for failure in failures)


CLOSE = """
from autograder.mistakes import Mistake, Right

VARIANTS = {"double": [
    Mistake("squared", code="def double(x):\\n    return x * x", says="this squares the numbers"),
    Mistake("a little more", code="def double(x):\\n    return 2.0005 * x", says="this is a little more than double"),
    Mistake("thrice", code="def double(x):\\n    return 3 * x", says="this is three times as much"),
    Mistake("nothing", code="def double(x):\\n    return x", hint="twice one is two"),
    Right("sum", code="def double(x):\\n    return x.add(x)"),
    Right("shift", code="def double(x):\\n    return x - (-x)"),
]}
"""


@pytest.mark.slow
def test_a_mistake_that_a_sketch_cannot_tell_from_the_right_answer_accuses_nobody(small_course: Path) -> None:
    (small_course / "solutions" / "01-small" / "mistakes.py").write_text(CLOSE)
    less = 'Mistake("a little less", code="def double(x):\\n    return 1.9995 * x")'
    (small_course / "others.py").write_text(
        f"from autograder.mistakes import Mistake\n\nVARIANTS = {{'double': [{less}]}}\n"
    )
    done = run_course("verify", "01-small", "--variants", "others.py", "--json", cwd=small_course)
    assert json.loads(done.stdout)["variants"][0]["hints"][0] == "twice one is two"
    kept = json.loads((small_course / ".course" / "recorded" / "01-small.json").read_text())
    assert [one["name"] for one in kept["tests"]["double-test"]] == ["squared", "thrice"]


@pytest.mark.slow
def test_a_mistake_that_could_never_say_its_sentence_fails_the_gate(small_course: Path) -> None:
    (small_course / "solutions" / "01-small" / "mistakes.py").write_text(CLOSE)
    done = run_course("verify", "01-small", "--json", cwd=small_course)
    (failure,) = json.loads(done.stdout)[0]["failures"]
    assert "'a little more' gives the results of the right answer" in failure


@pytest.mark.slow
def test_an_answer_that_is_detached_is_told_from_the_right_one(small_course: Path) -> None:
    """The values are the same: only the gradients, which are asked for in a message of their own, differ."""
    source = small_course / "solutions" / "01-small" / "01-small.py"
    gradients = 'check.gradients(double, lambda z: 2 * z, (torch.ones(3),), "the gradient is 2")\n'
    text = source.read_text()
    source.write_text(text.replace("check.score()", gradients + "check.score()"))
    cut = 'Mistake("detached", code="def double(x):\\n    return 2 * x.detach()", says="no gradient reaches x")'
    (small_course / "solutions" / "01-small" / "mistakes.py").write_text(
        MISTAKES.replace("SAYS", '"this squares the numbers"').replace(
            '    Mistake("nothing"', f'    {cut},\n    Mistake("nothing"'
        )
    )
    other = 'Mistake("of a copy", code="def double(x):\\n    return x.clone().detach() + x.detach()")'
    (small_course / "others.py").write_text(
        f"from autograder.mistakes import Mistake\n\nVARIANTS = {{'double': [{other}]}}\n"
    )
    done = run_course("verify", "01-small", "--json", cwd=small_course)
    assert json.loads(done.stdout)[0]["failures"] == []
    done = run_course("verify", "01-small", "--variants", "others.py", "--json", cwd=small_course)
    assert json.loads(done.stdout)["variants"][0]["hints"][0] == "no gradient reaches x"


class Shuffled:
    """An engine whose workers are done in another order than they began."""

    def try_variants(self, sheet: Sheet, candidates: list[Candidate]):
        for one in reversed(candidates):
            yield one.key, Tested([], calls=[one.answer])


def test_recordings_are_the_same_in_whatever_order_the_workers_are_done() -> None:
    pairs = [
        (Candidate(key, "double", name, "double-test", recording=True), Mistake(name, code=name, says=name))
        for key, name in enumerate(("squared", "thrice", "nothing"))
    ]
    made = recordings.record(Shuffled(), Sheet("01", "", ""), pairs, lambda text: None)
    assert [one["name"] for one in made["double-test"]] == ["squared", "thrice", "nothing"]


def test_a_changed_test_records_its_own_mistakes_anew_and_no_others(
    small_course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = small_course / "solutions" / "01-small" / "01-small.py"
    second = source.read_text().split("# %% [markdown]")[-1].replace("double", "twice")
    source.write_text(f"{source.read_text()}\n# %% [markdown]{second}")
    mistakes = MISTAKES.replace("SAYS", '"in floats"')
    twice = mistakes.replace("double", "twice").partition("VARIANTS = {")[2]
    (source.parent / "mistakes.py").write_text(mistakes.replace("]}", "],") + twice)
    asked: list[str] = []

    def record(engine: Engine, sheet: Sheet, candidates: list[tuple[Candidate, Mistake]], *rest: Any) -> Recorded:
        asked.extend(sorted({one.test for one, _ in candidates}))
        return {candidate.test: [recordings.known(mistake, [])] for candidate, mistake in candidates}

    def recorded() -> tuple[Recorded, list[str]]:
        asked.clear()
        made = course.load(small_course)
        (assignment,) = made.assignments
        cells, _ = build.checked_cells(assignment)
        return recordings.recorded(made, assignment, sheet_of(made, assignment, cells), cells), asked

    monkeypatch.setattr(recordings, "engine_for", lambda *unused: contextlib.nullcontext())
    monkeypatch.setattr(recordings, "closing", lambda engine: engine)
    monkeypatch.setattr(recordings, "right_calls", lambda *unused: {})
    monkeypatch.setattr(recordings, "record", record)
    first, all_of_them = recorded()
    assert all_of_them == ["double-test", "twice-test"]
    assert recorded() == (first, [])
    text = source.read_text()
    head, marker, tail = text.rpartition("### BEGIN HIDDEN TESTS\n")
    source.write_text(f"{head}{marker}changed = 1\n{tail}")
    assert recorded() == (first, ["twice-test"])
    source.write_text(source.read_text().replace("x + x", "2 * x", 1))  # an answer: the others may rest on it
    assert recorded() == (first, ["double-test", "twice-test"])
    place = source.parent / "mistakes.py"
    place.write_text(place.read_text().replace("this squares the numbers", "these are squares", 1))
    assert recorded()[1] == ["double-test"]
