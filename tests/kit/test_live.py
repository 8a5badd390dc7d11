"""The curve of a running loop: for a person in a notebook only, drawn rarely, gone at the end."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from helpers.kit import live, training


class Handle:
    """What `display` gives back, with all that was shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def update(self, html: Any) -> None:
        self.shown.append(html.data)


@pytest.fixture
def handle(monkeypatch: pytest.MonkeyPatch) -> Handle:
    made = Handle()
    monkeypatch.setattr("IPython.display.display", lambda html, display_id: made)
    monkeypatch.setattr("helpers.checks.verdict.a_person_looks_on", lambda shell: True)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setenv("COURSE_SCALE", "laptop")
    return made


def run(steps: int) -> list[float]:
    losses: list[float] = []
    for step in training.progress(range(steps), "test", watch=losses):
        losses.append(5.0 / (step + 1))
    return losses


def test_a_person_sees_the_curve_grow_in_place_of_the_bar(
    handle: Handle, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "SECONDS", 0.0)
    run(3)
    first, second, third, gone = handle.shown
    assert "test: step 1 of 3" in first
    assert "<polyline" not in first  # one point is no curve
    assert 'aria-label="loss so far, now 2.5"' in second
    assert third.count(",") > second.count(",")
    assert gone == ""
    assert capfd.readouterr() == ("", "")


def test_a_loop_of_thousands_of_steps_is_drawn_about_once_a_second(
    handle: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(step=0.01)
    monkeypatch.setattr(live.time, "monotonic", lambda: next(clock))
    run(3000)  # thirty seconds by this clock
    assert 28 <= len(handle.shown) <= 31


def test_elsewhere_there_is_one_line_and_in_grading_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COURSE_SCALE", "laptop")
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    run(3)
    said = capfd.readouterr()
    assert "test" in said.out
    assert "\n" not in said.out
    assert said.err == ""
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    run(3)
    assert capfd.readouterr() == ("", "")


def test_a_long_curve_is_thinned_and_what_is_not_finite_is_left_out() -> None:
    values = live.thinned([*range(1000), math.nan, math.inf])
    assert len(values) <= live.POINTS
    assert values[0] == pytest.approx(4.0)
    assert all(math.isfinite(value) for value in values)
    assert live.thinned([]) == []
    assert "<svg" in live.picture("flat", [2.0, 2.0, 2.0])
    assert ">loss</text>" in live.picture("flat", [2.0, 2.0, 2.0]), "the axis says what it shows"
