"""The start page: made from the course's files and from what test cells recorded."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from helpers.kit import progress
from helpers.student import start_page
from helpers.student.course import Course, load
from helpers.student.students_tools import FOR_GRADERS, without_graders_tools


def cell(kind: str, source: str, **about: object) -> dict[str, object]:
    return {"cell_type": kind, "source": source, "metadata": {"nbgrader": about} if about else {}}


def graded(name: str, points: float) -> dict[str, object]:
    return cell("code", "check.score()", grade=True, solution=False, grade_id=f"{name}-test", points=points)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    entry = '[[assignment]]\nid = "{}"\ntitle = "{}"\npart = "I. Theory"\nminutes = {}\n'
    entries = [entry.format("01-first", "First & foremost", 60), entry.format("02-second", "Second", 90)]
    (tmp_path / "course.toml").write_text('title = "Small"\n' + "".join(entries))
    notebooks = {
        "01-first": [
            cell("markdown", "# One\n| **You need** | 20 fingers |\n### 1.1 Weights <small>★ · 2 points</small>"),
            graded("weights", 2),
            cell("markdown", "### 1.2 The look-up <small>2 points</small>"),
            graded("lookup", 2),
            graded("bonus-more", 1),
            cell("markdown", "why", grade=True, solution=True, grade_id="why", points=3),
        ],
        "02-second": [cell("markdown", "| **You need** | `01-first`, patience |\n### 1.1 Next"), graded("next", 4)],
    }
    for name, cells in notebooks.items():
        (tmp_path / "notebooks" / name).mkdir(parents=True)
        (tmp_path / "notebooks" / name / f"{name}.ipynb").write_text(json.dumps({"cells": cells}))
        (tmp_path / "work" / name).mkdir(parents=True)
    (tmp_path / "work" / progress.MARK).write_text("{}")
    return load(tmp_path)


def record(course: Course, assignment: str, name: str, score: float, points: float, when: int) -> None:
    progress.record(name, score, points, course.root / "work" / assignment)
    os.utime(course.root / "work" / progress.FOLDER / assignment / f"{name}.json", (when, when))


def test_a_new_student_starts_with_the_first_exercise(course: Course) -> None:
    first, second = start_page.cards(course)
    assert (first.possible, first.written, first.bonus) == (4.0, 3.0, (0.0, 1.0))
    assert (first.needs, second.needs) == ([], [first])
    step = start_page.next_step([first, second])
    assert step is not None
    assert (step.begun, step.exercise.heading) == (False, "1.1 Weights")
    assert step.link == "work/01-first/01-first.ipynb#cell-id=weights"


def test_one_continues_where_one_worked_last(course: Course) -> None:
    record(course, "02-second", "next", 1, 4, when=1000)
    record(course, "01-first", "weights", 2, 2, when=2000)
    cards = start_page.cards(course)
    step = start_page.next_step(cards)
    assert step is not None
    assert (step.begun, step.exercise.heading) == (True, "1.2 The look-up")
    assert [(card.got, card.percent) for card in cards] == [(2.0, 50), (1.0, 25)]
    record(course, "01-first", "lookup", 2, 2, when=3000)
    step = start_page.next_step(start_page.cards(course))
    assert step is not None
    assert step.exercise.heading == "1.1 Next"
    record(course, "02-second", "next", 4, 4, when=4000)
    assert start_page.next_step(start_page.cards(course)) is None


def test_the_page_names_everything_escapes_it_and_loads_nothing(course: Course) -> None:
    record(course, "01-first", "weights", 1.5, 2, when=1000)
    page = start_page.page(course, "/base/lab/tree/")
    assert "First &amp; foremost" in page
    assert "1.5 of 4 points · bonus 0 of 1 · 3 for written answers" in page
    assert "Continue with 01, 1.1 Weights" in page
    assert 'href="/base/lab/tree/work/02-second/02-second.ipynb"' in page
    assert "after 01" in page
    assert "http" not in page
    assert "<script" not in page


def test_a_notebook_that_cannot_be_read_leaves_a_page(course: Course) -> None:
    (course.root / "notebooks" / "02-second" / "02-second.ipynb").write_text("{")
    assert "Second" in start_page.page(course, "/")


def test_graders_tools_are_left_out_once_and_validate_stays() -> None:
    config = without_graders_tools(None, without_graders_tools(None, {"disabledExtensions": ["own"]}))
    assert config["disabledExtensions"] == ["own", *FOR_GRADERS]
    assert not any("validate" in name for name in FOR_GRADERS)
