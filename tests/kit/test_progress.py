"""What test cells gave last is kept beside the notebooks, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from helpers.kit import progress


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work" / "01-small").mkdir(parents=True)
    (tmp_path / "work" / progress.MARK).write_text("{}")
    return tmp_path / "work"


def test_the_last_result_of_every_exercise_is_kept(work: Path) -> None:
    for score in (0.0, 1.5):
        progress.record("double", score, 2.0, work / "01-small")
    progress.record("triple", 1.0, 1.0, work / "01-small")
    found = progress.results(work, "01-small")
    assert {name: (one.score, one.points) for name, one in found.items()} == {
        "double": (1.5, 2.0),
        "triple": (1.0, 1.0),
    }
    assert progress.results(work, "02-other") == {}


def test_nothing_is_kept_outside_of_a_students_copies(work: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    progress.record("double", 1.0, 2.0, tmp_path / "elsewhere")
    progress.record("../../escape", 1.0, 2.0, work / "01-small")
    assert sorted(path.name for path in tmp_path.rglob("*.json")) == [progress.MARK]


def test_a_write_that_fails_leaves_the_old_result_and_no_rest(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress.record("double", 1.0, 2.0, work / "01-small")

    def full(source: str, target: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    progress.record("double", 2.0, 2.0, work / "01-small")
    monkeypatch.undo()
    assert progress.results(work, "01-small")["double"].score == 1.0
    assert len(list((work / progress.FOLDER / "01-small").iterdir())) == 1


def test_a_damaged_file_counts_as_not_there(work: Path) -> None:
    progress.record("double", 1.0, 2.0, work / "01-small")
    (work / progress.FOLDER / "01-small" / "double.json").write_text("{")
    assert progress.results(work, "01-small") == {}
