"""A graded notebook as its author gets it back, as data: the exercises in their order with points, parts and hints,
what a person has said, and what to fix first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbgrader.api import SubmittedNotebook

from autograder.classroom.totals import BONUS
from autograder.model import wording
from autograder.model.notebook import Cell, Role
from autograder.model.outcome import Outcome, outcomes_in

HEADING = re.compile(r"(?m)^#{1,6} +(?P<title>.+?)\s*$")
REMARK = re.compile(r"<small>.*?</small>|<[^>]*>")  # beside a title: stars, minutes and points
TO_FIX_FIRST = 5


@dataclass(frozen=True)
class Grade:
    """What the gradebook says about one graded cell."""

    score: float
    points: float
    waiting: bool = False
    by_person: bool = False


@dataclass(frozen=True)
class Gradebook:
    """What the gradebook says about one notebook of a submission: grades by graded cell, comments by answer."""

    grades: Mapping[str, Grade] = field(default_factory=dict)
    comments: Mapping[str, str] = field(default_factory=dict)  # of a person
    blank: frozenset[str] = frozenset()  # answers that are as they were given

    @classmethod
    def of(cls, notebook: SubmittedNotebook) -> Gradebook:
        grades = {
            one.name: Grade(one.score, one.max_score, bool(one.needs_manual_grade), one.manual_score is not None)
            for one in notebook.grades
        }
        said = {one.name: one.manual_comment for one in notebook.comments if one.manual_comment}
        blank = frozenset(one.name for one in notebook.comments if one.auto_comment == wording.NO_RESPONSE)
        return cls(grades, said, blank)


@dataclass(frozen=True)
class ShownCell:
    """A cell with what it showed. `as_handed_in`: grading did not run it, its outputs came with the submission."""

    cell: Cell
    outputs: Sequence[Mapping[str, Any]] = ()
    as_handed_in: bool = False

    @classmethod
    def of(cls, node: Mapping[str, Any]) -> ShownCell:
        cell = Cell.from_json(dict(node))
        about = cell.metadata.get("course")
        handed_in = isinstance(about, dict) and about.get("outputs") == wording.AS_HANDED_IN
        return cls(cell, node.get("outputs", ()), handed_in)

    @property
    def error(self) -> Mapping[str, Any] | None:
        return next((one for one in self.outputs if one.get("output_type") == "error"), None)


@dataclass
class Exercise:
    """A graded cell with the cells that belong to it."""

    graded: ShownCell
    grade: Grade
    title: str = ""  # Markdown
    task: list[ShownCell] = field(default_factory=list)  # texts
    given: list[ShownCell] = field(default_factory=list)  # code that is no answer, before the graded cell
    answers: list[ShownCell] = field(default_factory=list)
    after: list[ShownCell] = field(default_factory=list)  # what follows, up to the next exercise's heading
    comments: list[str] = field(default_factory=list)
    blank: bool = False
    reason: str = ""  # why a test has no verdict

    @property
    def name(self) -> str:
        return self.graded.cell.name.removesuffix("-test")

    @property
    def is_test(self) -> bool:
        return self.graded.cell.is_test

    @property
    def bonus(self) -> bool:
        return self.graded.cell.name.startswith(BONUS)

    @property
    def outcome(self) -> Outcome | None:
        return next(iter(outcomes_in(self.graded.outputs)), None) if self.is_test else None

    @property
    def lost(self) -> float:
        return max(0.0, self.grade.points - self.grade.score)

    @property
    def unanswered(self) -> bool:
        """Nothing is written, as far as the test or the gradebook can tell."""
        outcome = self.outcome
        if self.grade.by_person or self.grade.score > 0:
            return False
        if outcome is not None:
            return bool(outcome.unwritten) and not outcome.passed and not outcome.findings
        return self.blank and not self.grade.waiting

    @property
    def to_fix(self) -> bool:
        return self.lost > 0 and not self.grade.waiting and not self.unanswered

    @property
    def first_hint(self) -> str:
        """What to look at first: why there is no verdict, or what the test says first."""
        if self.reason:
            return self.reason
        outcome = self.outcome
        return next(iter(outcome.hints), "") if outcome is not None else ""

    @property
    def failed_checks(self) -> list[str]:
        outcome = self.outcome
        return [one.name for one in outcome.requirements if not one.passed] if outcome is not None else []


@dataclass
class Returned:
    """One notebook of a submission."""

    exercises: list[Exercise] = field(default_factory=list)
    opening: list[ShownCell] = field(default_factory=list)  # before the first exercise

    @property
    def fix_first(self) -> list[Exercise]:
        """Where most points can be had, bonus last; among equals, the one that comes first in the notebook."""
        return sorted((one for one in self.exercises if one.to_fix), key=lambda one: (one.bonus, -one.lost))[
            :TO_FIX_FIRST
        ]

    @property
    def unanswered(self) -> list[Exercise]:
        return [one for one in self.exercises if one.unanswered]

    @property
    def waiting(self) -> list[Exercise]:
        return [one for one in self.exercises if one.grade.waiting]


def returned(nodes: Sequence[Mapping[str, Any]], book: Gradebook, ungraded: Mapping[str, str]) -> Returned:
    """The cells of a graded notebook, put to the exercises they belong to. `ungraded`: reasons by test."""
    found = Returned()
    block: list[ShownCell] = []
    for shown in map(ShownCell.of, nodes):
        if not shown.cell.is_graded or shown.cell.name not in book.grades:
            block.append(shown)
            continue
        before, own = split_at_heading(block)
        (found.exercises[-1].after if found.exercises else found.opening).extend(before)
        found.exercises.append(exercise(shown, own, book, ungraded))
        block = []
    (found.exercises[-1].after if found.exercises else found.opening).extend(block)
    return found


def split_at_heading(block: list[ShownCell]) -> tuple[list[ShownCell], list[ShownCell]]:
    """What still belongs to the exercise before, and what begins the next one with its heading."""
    for place, shown in enumerate(block):
        if shown.cell.is_solution:
            break
        if shown.cell.kind == "markdown" and HEADING.search(shown.cell.source):
            return block[:place], block[place:]
    return [], block


def exercise(graded: ShownCell, own: list[ShownCell], book: Gradebook, ungraded: Mapping[str, str]) -> Exercise:
    made = Exercise(graded, book.grades[graded.cell.name])
    headings = [
        heading["title"]
        for shown in own
        if shown.cell.kind == "markdown" and not shown.cell.is_solution
        for heading in HEADING.finditer(shown.cell.source)
    ]
    made.title = REMARK.sub("", headings[-1]).strip() if headings else ""
    for shown in own:
        if shown.cell.is_solution:
            made.answers.append(shown)
        elif shown.cell.kind == "code":
            made.given.append(shown)
        else:
            made.task.append(shown)
    if graded.cell.role is Role.TASK:
        made.task.append(graded)
    elif graded.cell.is_solution:
        made.answers.append(graded)
    names = [shown.cell.name for shown in (*made.answers, graded)]
    made.comments = [book.comments[name] for name in dict.fromkeys(names) if name in book.comments]
    made.blank = bool(made.answers) and all(shown.cell.name in book.blank for shown in made.answers)
    error = graded.error if made.is_test else None
    not_graded = error["evalue"] if error is not None and error.get("ename") == wording.NOT_GRADED else ""
    made.reason = ungraded.get(graded.cell.name, not_graded)
    return made
