"""Which file of a submission is graded."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from autograder.classroom.inbox import find_notebook, may_be_there, safe_files
from autograder.model.record import Repair, RepairKind


def notebook(text: str) -> str:
    return json.dumps(
        {"cells": [{"cell_type": "code", "metadata": {}, "source": text}], "nbformat": 4, "nbformat_minor": 5}
    )


def found(
    folder: Path, files: dict[str, str], names: tuple[str, ...] = ("03-attention",)
) -> tuple[str | None, list[Repair]]:
    """The chosen file among these (the first is the oldest), and what is said about it."""
    given = folder / "given.ipynb"
    given.write_text(notebook("given"), encoding="utf-8")
    place = folder / "submitted"
    for number, (name, text) in enumerate(files.items()):
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (number, number))
    path, repairs = find_notebook(place, list(safe_files(place)), names[0], list(names), given)
    return (None if path is None else str(path.relative_to(place))), repairs


def test_its_own_name_wins(tmp_path: Path) -> None:
    path, repairs = found(
        tmp_path, {"03-attention.ipynb": notebook("work"), "03-attention (1).ipynb": notebook("more")}
    )
    assert path == "03-attention.ipynb"
    assert repairs == [Repair.of(RepairKind.OTHERS_IGNORED, files=["03-attention (1).ipynb"])]


def test_a_copy_that_was_worked_on_wins_over_what_was_given_and_over_what_cannot_be_read(tmp_path: Path) -> None:
    for number, text in enumerate((notebook("given"), "", "{")):
        place = tmp_path / str(number)
        place.mkdir()
        path, repairs = found(place, {"03-attention (1).ipynb": notebook("work"), "03-attention.ipynb": text})
        assert path == "03-attention (1).ipynb"
        assert repairs[0].kind == RepairKind.OTHER_TAKEN
    blank, _ = found(tmp_path, {"03-attention.ipynb": notebook("given"), "copy.ipynb": notebook("given")})
    assert blank == "03-attention.ipynb"


def test_of_copies_the_newest_that_was_worked_on(tmp_path: Path) -> None:
    files = {
        "Copy of 03-attention.ipynb": notebook("work"),
        "03_attention_final.ipynb": notebook("last"),
        "03-attention (1).ipynb": notebook("given"),
    }
    assert found(tmp_path, files)[0] == "03_attention_final.ipynb"


def test_an_automatic_copy_is_better_than_nothing(tmp_path: Path) -> None:
    kept = ".ipynb_checkpoints/03-attention-checkpoint.ipynb"
    path, repairs = found(tmp_path, {kept: notebook("work")})
    assert path == kept
    assert repairs == [Repair.of(RepairKind.FILE_RENAMED, file=Path(kept).name, notebook="03-attention")]
    assert found(tmp_path, {kept: notebook("work"), "hw.ipynb": notebook("older")})[0] == "hw.ipynb"


def test_what_cannot_be_looked_at_is_not_taken_for_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing is a zero; a disk that fails is none."""

    def broken(path: Path) -> os.stat_result:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    assert not may_be_there(tmp_path / "03-attention.ipynb")
    assert not may_be_there(Path(__file__) / "03-attention.ipynb")
    monkeypatch.setattr(Path, "lstat", broken)
    assert may_be_there(tmp_path / "03-attention.ipynb")
