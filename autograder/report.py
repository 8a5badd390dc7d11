"""`course report`: how the class did, exercise by exercise, and which hints were given most."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from statistics import mean

import nbformat
from nbgrader.api import MissingEntry

from autograder.check import message_of
from autograder.course import Assignment, Course
from autograder.marks import gradebook
from autograder.submissions import RECORD


@dataclass
class ExerciseReport:
    """One graded cell over the class."""

    name: str
    points: float
    scores: list[float] = field(default_factory=list)
    hints: Counter[str] = field(default_factory=Counter)
    waiting: int = 0

    @property
    def average(self) -> float:
        return mean(self.scores) if self.scores else 0.0

    @property
    def full_marks(self) -> int:
        return sum(score >= self.points for score in self.scores)

    def as_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "points": self.points,
            "average": round(self.average, 4),
            "full_marks": self.full_marks,
            "submissions": len(self.scores),
            "waiting": self.waiting,
            "hints": dict(self.hints.most_common()),
        }


def integrity_report(course: Course, assignment: Assignment) -> list[dict[str, str]]:
    """What the records of the examiner say beyond scores: signs of tampering, questions that were lost, repairs."""
    found = []
    for path in sorted((course.root / "autograded").glob(f"*/{assignment.id}/{RECORD}")):
        record = json.loads(path.read_text(encoding="utf-8"))
        for notebook in record["notebooks"].values():
            lost = [f"{name}: {reason}" for name, reason in notebook["lost"].items()]
            for kind, texts in (
                ("tampering", notebook["tamper"]),
                ("stopped", notebook["events"]),
                ("not graded", lost),
                ("repair", notebook["repairs"]),
            ):
                found += [{"student": record["student"], "kind": kind, "what": text} for text in texts]
    return found


def class_report(course: Course, assignment: Assignment) -> list[ExerciseReport]:
    """Every graded cell in the notebook's order, from the gradebook; hints from the autograded notebooks."""
    reports: dict[str, ExerciseReport] = {}
    with gradebook(course) as book:
        try:
            submissions = book.assignment_submissions(assignment.id)
        except MissingEntry:
            return []
        for submission in submissions:
            for notebook in submission.notebooks:
                for grade in notebook.grades:
                    entry = reports.setdefault(grade.name, ExerciseReport(grade.name, grade.max_score))
                    if grade.needs_manual_grade:
                        entry.waiting += 1
                    else:
                        entry.scores.append(grade.score)
    for path in sorted((course.root / "autograded").glob(f"*/{assignment.id}/{assignment.id}.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
            if name in reports and cell.cell_type == "code":
                reports[name].hints.update(hints_in(message_of(cell)))
    return list(reports.values())


def hints_in(message: str) -> set[str]:
    """The hints of a test cell's message: its lines that begin with a cross, the headline left out."""
    return {line.strip().removeprefix("✗ ") for line in message.splitlines()[1:] if re.match(r"\s+✗ ", line)}
