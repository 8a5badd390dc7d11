"""`course new`: what it makes builds and verifies, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import run_course

from autograder.authoring import build, headers
from autograder.authoring.mistakes import Mistake, Right, load
from autograder.authoring.new import new
from autograder.model import course
from autograder.model.notebook import Role


def test_a_new_assignment_builds_without_a_word_and_has_all_that_is_asked_for(small_course: Path) -> None:
    made = new(course.load(small_course), "02-state-spaces")
    this = course.load(small_course)
    assert [assignment.id for assignment in this.assignments] == ["01-small", "02-state-spaces"]
    assert (made.title, made.part) == ("State spaces", "I. Small")
    cells, warnings = build.checked_cells(made)
    assert warnings == []
    build.build(this, made)
    assert {Role.SETUP, Role.ANSWER, Role.TEST, Role.WRITTEN} <= {cell.role for cell in cells}
    lines = [line for line in made.source.read_text().splitlines() if line.startswith("# %%")]
    assert lines == [headers.header_of(cell) for cell in cells]
    variants = load(made.mistakes).by_exercise["shares"]
    assert sum(isinstance(variant, Mistake) for variant in variants) == 4
    assert sum(isinstance(variant, Right) for variant in variants) == 2


@pytest.mark.slow
def test_a_new_assignment_verifies_as_it_is(small_course: Path) -> None:
    assert run_course("new", "02-state-spaces", cwd=small_course).returncode == 0
    assert run_course("build", "02-state-spaces", cwd=small_course).returncode == 0
    verified = run_course("verify", "02-state-spaces", cwd=small_course)
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("01-small", "exists already"),
        ("01-other", "01-small has the number 01 already"),
        ("state-spaces", "is no name"),
        ("2-state", "is no name"),
        ("02-State", "is no name"),
        ("../02-state", "is no name"),
    ],
)
def test_a_name_that_is_taken_or_none_is_refused_and_nothing_is_written(
    name: str, message: str, small_course: Path
) -> None:
    before = sorted(small_course.rglob("*")), (small_course / "course.toml").read_bytes()
    with pytest.raises(course.CourseError, match=message):
        new(course.load(small_course), name)
    assert (sorted(small_course.rglob("*")), (small_course / "course.toml").read_bytes()) == before
