"""Lateness is computed in one place; the page about policies shows what it computes."""

from __future__ import annotations

import re
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conftest import ROOT

from autograder.model import course
from autograder.model.course import CourseError
from autograder.model.policy import HandIn, Policy, extended, lateness_of_student, moment

PAGE = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")


def cells(line: str) -> list[str]:
    return [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]


def test_the_example_of_the_page_is_what_is_computed(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    head = 'title = "x"\ncourse_id = "x"\nrepository = "x"\n'
    more = text.replace("[[assignment]]\n", '[[assignment]]\ntitle = "x"\npart = "x"\nminutes = 1\n')
    (tmp_path / "course.toml").write_text(head + more)
    this = course.load(tmp_path)
    assert this.policy is not None
    assert this.policy == Policy.from_table(tomllib.loads(text)["policy"])
    due = {one.id: one.due for one in this.assignments}
    lines = re.findall(r"^\| .*\d{4}-\d\d-\d\d.*\|$", PAGE, re.MULTILINE)
    assert len(lines) >= 4
    students: dict[str, list[list[str]]] = {}
    for line in lines:
        row = cells(line)
        students.setdefault(row[0], []).append(row)
    for rows in students.values():
        hand_ins = []
        for _, assignment, time, extension, *_ in rows:
            until = due[assignment]
            assert until is not None
            until = extended(until, extension) if extension else until
            hand_ins.append(HandIn(assignment, until, moment(time, this.zone)))
        found = lateness_of_student(this.policy, hand_ins)
        for _, assignment, _, _, earned, days, free, score in rows:
            late = found.get(assignment)
            told = (late.days, late.free_days) if late is not None else (0, 0)
            assert told == (int(days), int(free)), rows
            penalty = late.penalty(float(earned)) if late is not None else 0.0
            assert float(earned) - penalty == pytest.approx(float(score)), rows


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('due = "next Tuesday"', "is no date"),
        ("due = 2026-11-10T23:59:00", "has no time zone"),
        ("due = 2026-11-10", "has no time zone"),
        ("due = 5", "is no date"),
    ],
)
def test_a_due_date_that_cannot_be_read_gets_one_clear_sentence(written: str, words: str, tmp_path: Path) -> None:
    text = f'title = "x"\ncourse_id = "x"\nrepository = "x"\n[[assignment]]\nid = "03-x"\ntitle = "x"\npart = "x"\nminutes = 1\n{written}\n'
    (tmp_path / "course.toml").write_text(text)
    with pytest.raises(CourseError, match=words) as caught:
        course.load(tmp_path)
    assert "due of 03-x" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "table",
    [
        {"late_days": -1},
        {"late_days": 1.5},
        {"penalty_per_day": 10},
        {"penalty_cap": "half"},
        {"timezone": "Middle Earth"},
        {"timezone": 1},
        {"late_day": 2},
    ],
)
def test_a_policy_that_cannot_be_meant_is_refused(table: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(table))):
        Policy.from_table(table)


def test_times_are_compared_across_zones_and_a_day_ends_with_its_last_second() -> None:
    zurich = Policy(timezone="Europe/Zurich").zone
    assert moment("2026-11-10", zurich).astimezone(UTC) == datetime(2026, 11, 10, 22, 59, 59, tzinfo=UTC)
    assert moment("2026-07-10 23:00", zurich).astimezone(UTC).hour == 21
    due = datetime(2026, 11, 10, 22, tzinfo=UTC)
    stored = datetime(2026, 11, 10, 22, 0, 1)  # nbgrader's times are in UTC, and do not say so
    policy = Policy(penalty_per_day=0.1)
    assert lateness_of_student(policy, [HandIn("a", due, stored)])["a"].days == 1
    assert lateness_of_student(policy, [HandIn("a", due, stored - timedelta(seconds=1))]) == {}
    assert lateness_of_student(Policy(grace_minutes=1), [HandIn("a", due, stored)]) == {}
    assert lateness_of_student(policy, [HandIn("a", None, stored), HandIn("b", due, None)]) == {}


@pytest.mark.parametrize(
    ("written", "hours"),
    [("2d", 48), ("2", 48), ("36h", 36), ("1w", 168), ("0.5 days", 12), ("2026-11-11T10:00:00Z", 12)],
)
def test_extensions_are_amounts_or_dates(written: str, hours: float) -> None:
    due = datetime(2026, 11, 10, 22, tzinfo=UTC)
    assert extended(due, written) - due == timedelta(hours=hours)


def test_late_days_are_used_in_the_order_of_due_dates_and_the_cap_holds() -> None:
    day = timedelta(days=1)
    due = [datetime(2026, 11, 1 + week, tzinfo=UTC) for week in (0, 7, 14)]
    policy = Policy(late_days=3, penalty_per_day=0.2, penalty_cap=0.5)
    hand_ins = [HandIn(f"{n}", due[n], due[n] + late * day) for n, late in ((2, 5), (0, 2), (1, 2))]
    found = lateness_of_student(policy, hand_ins)
    assert {name: (late.days, late.free_days, late.share) for name, late in found.items()} == {
        "0": (2, 2, 0.0),
        "1": (2, 1, 0.2),
        "2": (5, 0, 0.5),
    }
    assert found["2"].penalty(10.0) == 5.0
