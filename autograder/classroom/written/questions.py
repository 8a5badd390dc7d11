"""The written questions of a course: how many answers of each wait, its text, model answer and rubric, and the order in
which answers are shown.

nbgrader's gradebook says which questions and answers there are; model answer and rubric come from solutions/.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from nbgrader.api import Grade, Gradebook

from autograder.authoring import source
from autograder.model.course import Assignment, Course
from autograder.model.notebook import Cell, Notebook, Role
from autograder.model.rubric import Rubric, rubric_of

BY_HAND = (Role.WRITTEN, Role.READ_BY_HAND)  # a task's answer may stand anywhere: formgrader shows whole notebooks
HEADING = re.compile(r"(?m)^#{1,6} ")


@dataclass(frozen=True)
class Question:
    """A question and its answers, in the order of this question."""

    assignment: str
    notebook: str
    name: str
    points: float
    grades: list[Grade] = field(compare=False, repr=False)

    @property
    def to_grade(self) -> list[Grade]:
        """The answers that a person looks at. Blank ones have their zero already."""
        return [one for one in self.grades if one.needs_manual_grade or one.manual_score is not None]

    @property
    def waiting(self) -> int:
        return sum(one.needs_manual_grade for one in self.grades)


@dataclass(frozen=True)
class QuestionText:
    """What the grader reads beside an answer."""

    text: str
    rubric: Rubric


def questions(book: Gradebook, only: str | None = None) -> list[Question]:
    """Every question with answers that a person grades, by assignment and place in the notebook."""
    found = []
    for assignment in sorted(book.assignments, key=lambda one: one.name):
        if only is not None and assignment.name != only:
            continue
        for notebook in sorted(assignment.notebooks, key=lambda one: one.name):
            answered_here = {cell.name for cell in notebook.solution_cells}
            for cell in notebook.grade_cells:
                if cell.name in answered_here and cell.grades:
                    where = f"{assignment.name}/{notebook.name}/{cell.name}"
                    grades = sorted(cell.grades, key=lambda one: shuffled(where, one.id))
                    found.append(Question(assignment.name, notebook.name, cell.name, cell.max_score, grades))
    return found


def shuffled(question: str, grade: str) -> str:
    """A place in an order that differs from question to question, and is the same each time."""
    return hashlib.sha256(f"{question}/{grade}".encode()).hexdigest()


def question_of(book: Gradebook, assignment: str, notebook: str, name: str) -> Question | None:
    return next((one for one in questions(book, assignment) if (one.notebook, one.name) == (notebook, name)), None)


def question_text(course: Course, question: Question) -> QuestionText:
    """From the instructor's source. Without one, what the gradebook knows of the question is all there is."""
    assignment = next((one for one in course.assignments if one.id == question.assignment), None)
    cells = [] if assignment is None else instructor_cells(assignment, question.notebook)
    for place, cell in enumerate(cells):
        if cell.name == question.name and cell.role in BY_HAND:
            return QuestionText(asked_in(cells[:place], cell), rubric_of(cell.source))
    return QuestionText("", Rubric())


def instructor_cells(assignment: Assignment, notebook: str) -> list[Cell]:
    script = assignment.source
    path = script if script.exists() else script.with_name(f"{notebook}.ipynb")
    return cells_at(path, path.stat().st_mtime_ns) if path.is_file() else []


@lru_cache(maxsize=8)
def cells_at(path: Path, saved: int) -> list[Cell]:
    """The cells of a file as it was saved at this time. Reading a script takes most of a second."""
    return source.read(path) if path.suffix == ".py" else Notebook.from_json(path.read_bytes()).cells


def asked_in(before: list[Cell], cell: Cell) -> str:
    """The text of the question: from the last heading before the answer, and what the answer's cell itself gives."""
    parts: list[str] = []
    for earlier in reversed(before):
        if earlier.role is not Role.TEXT:
            break
        headings = list(HEADING.finditer(earlier.source))
        parts.insert(0, earlier.source[headings[-1].start() :] if headings else earlier.source)
        if headings:
            break
    given = cell.source.split("<!-- BEGIN SOLUTION -->")[0].strip() if cell.kind == "markdown" else ""
    return "\n\n".join([*parts, *([given] if given else [])])
