"""Named mistakes that say something: verified, recorded once, and recognised in answers that only behave like them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import run_course

from autograder.authoring import recordings
from autograder.authoring.engines import Candidate, Sheet, Tested
from autograder.authoring.mistakes import Mistake

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
