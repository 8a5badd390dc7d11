"""Handing in, grading and looking at the results: what the tests of this folder share."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from attacks import Attack
from course import NAME, POINTS, honest, insert
from nbgrader.api import Gradebook

from autograder.model.course import Assignment


def hand_in(root: Path, assignment: Assignment, student: str, attack: Attack | None) -> None:
    """Put a submission into submitted/; None is an honest one."""
    folder = root / "submitted" / student / NAME
    folder.mkdir(parents=True)
    notebook = honest(assignment, attack.answers if attack else {})
    for after, code in attack.cells if attack else ():
        insert(notebook, after, code)
    if attack is None or attack.damage is None or not attack.damage(notebook, folder):
        (folder / f"{NAME}.ipynb").write_text(json.dumps(notebook, indent=1), encoding="utf-8")


@dataclass
class Graded:
    """A class after grading."""

    root: Path
    summary: dict[str, Any]
    errors: str
    students: list[str] = field(default_factory=list)

    def record(self, student: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            (self.root / "autograded" / student / NAME / "grading.json").read_text(encoding="utf-8")
        )
        return found

    def notebook(self, student: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            (self.root / "autograded" / student / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8")
        )
        return found


def scores(record: dict[str, Any]) -> dict[str, float]:
    """Automatic score by question."""
    grades = record["notebooks"][NAME]["grades"]
    return {name: grades[f"{name}-test"]["auto"] for name in POINTS}


def output_text(notebook: dict[str, Any]) -> str:
    """Everything that outputs say."""
    found = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            found += [
                output.get("text", ""),
                output.get("ename", ""),
                output.get("evalue", ""),
                *output.get("traceback", []),
            ]
            found += [text for text in output.get("data", {}).values() if isinstance(text, str)]
    return "\n".join(found)


def gradebook(root: Path) -> dict[str, dict[str, tuple[float | None, float | None]]]:
    """Automatic and manual score by student and cell."""
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}", "hostile") as book:
        return {
            s.student.id: {g.name: (g.auto_score, g.manual_score) for g in s.notebooks[0].grades}
            for s in book.assignment_submissions(NAME)
        }


def once(factory: pytest.TempPathFactory, name: str, work: Callable[[Path], Any]) -> Any:
    """The result of `work(folder)`, done by one process where several run these tests, and shared by all of them."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with open(shared / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = shared / f"{name}.json"
        if not done.exists():
            done.write_text(json.dumps(work(shared)), encoding="utf-8")
    return json.loads(done.read_text(encoding="utf-8"))
