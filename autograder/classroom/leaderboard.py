"""Leaderboards of what the examiner itself has counted: calls of an object that a test handed out, bytes of a launch.

Only answers that earn every point of their test are ranked; the fewest win. What is counted in a student's process is
not ranked (`check.ranked` refuses it).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

from autograder.model.course import Assignment, Course
from autograder.model.outcome import Outcome, outcomes_in


def tested_cells(folder: Path) -> Iterator[tuple[str, list[Outcome]]]:
    """Id and outcomes of every test cell of the graded notebooks in a folder. What another cell shows is no verdict."""
    for path in sorted(folder.glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            known = cell.metadata.get("nbgrader", {})
            if cell.cell_type == "code" and known.get("grade") and not known.get("solution"):
                yield known["grade_id"], outcomes_in(cell.outputs)


def counts_in(folder: Path) -> dict[str, int]:
    """What was counted of the answers in a folder that have full marks."""
    return {
        name: count
        for _, outcomes in tested_cells(folder)
        for outcome in outcomes
        if outcome.score >= outcome.points
        for name, count in (outcome.counts or {}).items()
    }


def leaderboards(course: Course, assignment: Assignment, names: bool = False) -> list[dict[str, Any]]:
    """Every count with its places, fewest first; who shares a count shares the place. Without names unless asked."""
    found: dict[str, dict[int, list[str]]] = {}
    for folder in sorted((course.root / "autograded").glob(f"*/{assignment.id}")):
        for name, count in counts_in(folder).items():
            found.setdefault(name, {}).setdefault(count, []).append(folder.parent.name)
    return [{"counted": name, "places": list(places(counts, names))} for name, counts in found.items()]


def places(counts: dict[int, list[str]], names: bool) -> Iterator[dict[str, Any]]:
    rank = 1
    for count, students in sorted(counts.items()):
        yield {"rank": rank, "count": count, "students": len(students), **({"names": students} if names else {})}
        rank += len(students)
