"""What `course report --json` and `--integrity` print; `class_facts` has what the page and the summary say."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from statistics import mean

import nbformat
from nbgrader.api import MissingEntry

from autograder.classroom.inbox import RECORD
from autograder.classroom.totals import gradebook
from autograder.model.course import Assignment, Course
from autograder.model.outcome import outcomes_in
from autograder.model.published import Published


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
    """What the records of the examiner say beyond scores: signs of tampering, questions without a verdict, repairs."""
    lines = []
    for path in sorted((course.root / "autograded").glob(f"*/{assignment.id}/{RECORD}")):
        published = Published.from_json(json.loads(path.read_text(encoding="utf-8")))
        for notebook in published.notebooks.values():
            ungraded = [f"{name}: {reason}" for name, reason in notebook.ungraded.items()]
            for kind, texts in (
                ("tampering", notebook.integrity),
                ("stopped", notebook.incidents),
                ("not graded", ungraded),
                ("repair", notebook.repairs),
            ):
                lines += [{"student": published.student, "kind": kind, "what": text} for text in texts]
    return lines


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
            known = cell.metadata.get("nbgrader", {})
            name = known.get("grade_id", "")
            if (
                name in reports and cell.cell_type == "code" and not known.get("solution")
            ):  # what a student's cell shows is no verdict
                reports[name].hints.update({hint for outcome in outcomes_in(cell.outputs) for hint in outcome.hints})
    return list(reports.values())
