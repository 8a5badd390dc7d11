"""Help in steps: for exercises that exist, three texts each, and no line of an answer in them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from conftest import ROOT

from autograder.authoring import build, source
from autograder.model import course

GOOD = """
[double]
question = "What is twice two?"
idea = "Twice a number is the number and itself, added."
first = '''
Begin with `x`, and ask what is missing.
'''
"""
SECRET = "remembered_result_of_doubling = x + x"
REFUSED = {
    "an exercise that is not there": ("[double]", "[triple]", "1: steps for 'triple'"),
    "two steps": ("idea =", "#", "1: the steps of 'double' are not three"),
    "four steps": ("idea =", 'more = "More."\nidea =', "1: the steps of 'double' are not three"),
    "an empty step": ('"What is twice two?"', '" "', "1: the steps of 'double' are not three"),
    "a line of the answer": ("Begin with `x`", f"Write `{SECRET}`", "4: this step quotes line"),
    "no TOML": ("[double]", "[double", "1: not valid TOML"),
}


@pytest.fixture
def small(small_course: Path) -> course.Course:
    (small_course / "helpers" / "small").mkdir(parents=True)
    path = small_course / "solutions" / "01-small" / "01-small.py"
    text = path.read_text()
    marker = "### BEGIN SOLUTION\n"
    path.write_text(text.replace(marker, f"{marker}    {SECRET}\n", 1))
    return course.load(small_course)


def said(this: course.Course, steps: str) -> str:
    (this.root / "helpers" / "small" / "steps.toml").write_text(steps)
    try:
        build.build(this, this.assignments[0])
    except build.BuildError as error:
        return str(error)
    return ""


def test_three_steps_that_tell_no_line_are_built(small: course.Course) -> None:
    assert said(small, GOOD) == ""


@pytest.mark.parametrize("case", REFUSED)
def test_the_build_refuses_other_steps_with_file_and_line(case: str, small: course.Course) -> None:
    old, new, message = REFUSED[case]
    steps = GOOD.lstrip().replace(old, new)
    assert steps != GOOD.lstrip()
    assert f"helpers/small/steps.toml:{message}" in said(small, steps)


def test_every_exercise_of_three_stars_that_a_test_judges_has_steps() -> None:
    this = course.load(ROOT)
    missing = []
    for assignment in this.assignments:
        hard, stars = set(), ""
        for cell in source.read(assignment.source):
            heads = [line for line in cell.source.split("\n") if line.startswith("#") and "<small>" in line]
            stars = heads[-1] if cell.kind == "markdown" and heads else stars
            if cell.is_exercise and "★★★" in stars:
                hard.add(cell.name)
        room = assignment.id.partition("-")[2].replace("-", "_")
        path = ROOT / "helpers" / room / "steps.toml"
        steps = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        missing += [f"{assignment.id}: {name}" for name in sorted(hard - steps.keys())]
    assert missing == []
