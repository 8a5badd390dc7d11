"""What a grader says about one answer, and how that becomes nbgrader's score and comment.

The gradebook is the master. Which items of the rubric were ticked is kept beside it, and believed only as long as the
gradebook still has the score and comment that followed from them: formgrader may have changed them since.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from nbgrader.api import Comment, Grade, Gradebook
from sqlalchemy import Column, MetaData, String, Table, Text, delete, insert, inspect, select, update

from autograder.model.rubric import Rubric

TABLES = MetaData()
STORED = Table(
    "course_written_marks",
    TABLES,
    Column("grade_id", String(32), primary_key=True),
    Column("marks", Text, nullable=False),  # JSON
)
MOST_COMMENT = 20_000  # characters


class ChangedMeanwhileError(Exception):
    """The gradebook has other marks than those the grader saw."""


@dataclass(frozen=True)
class Marks:
    """A grader's judgement: ticked items, points more or less than these give, a comment.

    `graded` is false as long as the answer has no points: a comment alone is no grade.
    """

    graded: bool = False
    items: tuple[int, ...] = ()
    adjustment: float = 0.0
    comment: str = ""

    @classmethod
    def from_json(cls, data: Any) -> Marks:
        """ValueError where it is not what the page sends."""
        try:
            items = tuple(sorted({int(number) for number in data["items"]}))
            made = cls(bool(data["graded"]), items, float(data["adjustment"]), str(data["comment"]).strip())
        except (KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"no marks: {error}") from None
        if not -1000 < made.adjustment < 1000 or len(made.comment) > MOST_COMMENT:
            raise ValueError("no marks: an adjustment or comment of this size")
        return made

    def score(self, rubric: Rubric, points: float) -> float | None:
        if not self.graded:
            return None
        earned = sum(item.points for number, item in enumerate(rubric.items) if number in self.items)
        return min(max(earned + self.adjustment, 0.0), points)

    def text(self, rubric: Rubric) -> str | None:
        """nbgrader's comment, as Markdown: what each item earned, then the grader's words."""
        lines = []
        if self.graded and (self.items or not self.adjustment):
            for number, item in enumerate(rubric.items):
                if item.points > 0:
                    lines.append(f"- {item.points if number in self.items else 0:g} of {item.points:g}: {item.text}")
                elif number in self.items:
                    lines.append(f"- {item.points:g}: {item.text}")
            if self.adjustment and rubric.items:
                lines.append(f"- {self.adjustment:+g}: the grader's judgement")
        return "\n\n".join(part for part in ("\n".join(lines), self.comment) if part) or None


@dataclass(frozen=True)
class Seen:
    """What the gradebook said, and which answer was shown, when the page was loaded."""

    score: float | None
    comment: str | None
    waiting: bool
    answer: str  # a digest

    @classmethod
    def from_json(cls, data: Any) -> Seen:
        try:
            score = None if data["score"] is None else float(data["score"])
            comment = None if data["comment"] is None else str(data["comment"])
            return cls(score, comment, bool(data["waiting"]), str(data["answer"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"the page does not say what it saw: {error}") from None


def stored_marks(book: Gradebook, grades: Iterable[Grade]) -> dict[str, Marks]:
    """By grade, what was last saved on the page."""
    if not inspect(book.engine).has_table(STORED.name):
        return {}
    wanted = {grade.id for grade in grades}
    rows = book.db.execute(select(STORED.c.grade_id, STORED.c.marks))
    return {grade: Marks.from_json(json.loads(text)) for grade, text in rows if grade in wanted}


def marks_of(seen: Seen, stored: Marks | None, rubric: Rubric, points: float) -> Marks:
    """The marks that the gradebook has now, with their items where these are known."""
    if stored is not None and (stored.score(rubric, points), stored.text(rubric)) == (seen.score, seen.comment):
        return stored
    return Marks(seen.score is not None, (), seen.score or 0.0, seen.comment or "")


def comments_used(stored: Iterable[Marks]) -> list[str]:
    """The comments of a question that can be used again, a line each, the most frequent first."""
    counts = Counter(line.strip() for marks in stored for line in marks.comment.splitlines() if line.strip())
    return [line for line, _ in counts.most_common()]


def save(book: Gradebook, grade: Grade, seen: Seen, marks: Marks, rubric: Rubric, points: float) -> None:
    """Into nbgrader's tables as formgrader does it, in one transaction; nothing if the gradebook has changed since.

    Both updates name what was seen, so that of two graders at once the database itself lets only one through.
    """
    TABLES.create_all(book.engine)
    grades, comments = Grade.__table__, Comment.__table__
    score = marks.score(rubric, points)
    graded = update(grades).where(
        grades.c.id == grade.id,
        grades.c.manual_score.is_not_distinct_from(seen.score),
        grades.c.needs_manual_grade == seen.waiting,
    )
    said = update(comments).where(
        comments.c.cell_id.in_(comment_cells(grade)),
        comments.c.notebook_id == grade.notebook_id,
        comments.c.manual_comment.is_not_distinct_from(seen.comment),
    )
    waits = score is None and grade.auto_score is None
    statements = [
        graded.values(manual_score=score, needs_manual_grade=waits),
        said.values(manual_comment=marks.text(rubric)),
    ]
    identity = grade.id
    book.db.rollback()  # what was read before belongs to an older moment
    for statement in statements:
        if book.db.execute(statement).rowcount != 1:
            book.db.rollback()
            raise ChangedMeanwhileError
    book.db.execute(delete(STORED).where(STORED.c.grade_id == identity))
    book.db.execute(insert(STORED).values(grade_id=identity, marks=json.dumps(asdict(marks))))
    book.db.commit()


def comment_cells(grade: Grade) -> list[str]:
    """The cells under which nbgrader keeps comments on this answer: it stores the answer's cell twice."""
    return [comment.cell_id for comment in grade.notebook.comments if comment.name == grade.name]


def comment_on(grade: Grade) -> str | None:
    """What a person has said about this answer."""
    found = [comment.manual_comment for comment in grade.notebook.comments if comment.name == grade.name]
    return found[0] if found else None
