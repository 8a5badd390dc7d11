"""Marks from nbgrader's gradebook, and the files that learning management systems read."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass

from nbgrader.api import Gradebook, MissingEntry

from autograder.classroom.database import gradebook_url, must_answer
from autograder.model.course import Assignment, Course, CourseError


@dataclass(frozen=True)
class Mark:
    """One student's mark in one assignment. Bonus points add to `score` and are not part of `out_of`."""

    assignment: str
    student: str
    first_name: str
    last_name: str
    email: str
    score: float
    out_of: float
    bonus: float
    waiting: bool

    @property
    def percent(self) -> float:
        return 100 * self.score / self.out_of if self.out_of else 0.0


def gradebook(course: Course) -> Gradebook:
    """nbgrader's gradebook, if there is one."""
    path = course.root / "gradebook.db"
    if not course.gradebook and not path.exists():
        raise CourseError(f"no gradebook at {path}: grade something first, with `course grade`")
    must_answer(gradebook_url(course))
    return Gradebook(gradebook_url(course), course.course_id)


def marks(course: Course, chosen: list[Assignment]) -> list[Mark]:
    """Every graded submission of these assignments, by assignment and student."""
    found = []
    with gradebook(course) as book:
        for assignment in chosen:
            try:
                submissions = book.assignment_submissions(assignment.id)
            except MissingEntry:
                continue
            for submission in submissions:
                grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
                bonus = [grade for grade in grades if grade.name.startswith("bonus-")]
                student = submission.student
                found.append(
                    Mark(
                        assignment.id,
                        student.id,
                        student.first_name or "",
                        student.last_name or "",
                        student.email or "",
                        round(max(0.0, sum(g.score for g in grades) - (submission.late_submission_penalty or 0.0)), 4),
                        sum(g.max_score for g in grades) - sum(g.max_score for g in bonus),
                        round(sum(g.score for g in bonus), 4),
                        any(g.needs_manual_grade for g in grades),
                    )
                )
    return sorted(found, key=lambda mark: (mark.assignment, mark.student))


def harmless(text: str) -> str:
    """Text that a spreadsheet does not take for a formula: names are the students' own input."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def as_csv(rows: list[Mark]) -> list[list[str]]:
    head = [
        "assignment",
        "student_id",
        "last_name",
        "first_name",
        "email",
        "score",
        "out_of",
        "percent",
        "bonus",
        "waiting_for_manual_grade",
    ]
    body = [
        [
            r.assignment,
            r.student,
            r.last_name,
            r.first_name,
            r.email,
            f"{r.score:g}",
            f"{r.out_of:g}",
            f"{r.percent:.2f}",
            f"{r.bonus:g}",
            str(r.waiting),
        ]
        for r in rows
    ]
    return [head, *body]


def by_student(rows: list[Mark]) -> tuple[list[str], list[Mark], dict[tuple[str, str], Mark]]:
    """Assignments in order, one mark per student for names, and all marks by student and assignment."""
    assignments = list(dict.fromkeys(r.assignment for r in rows))
    people = list({r.student: r for r in rows}.values())
    return assignments, people, {(r.student, r.assignment): r for r in rows}


def cells(student: str, assignments: list[str], table: dict[tuple[str, str], Mark]) -> list[str]:
    return [f"{table[student, a].score:g}" if (student, a) in table else "" for a in assignments]


def as_canvas(rows: list[Mark]) -> list[list[str]]:
    """Canvas' gradebook import: the student's id goes into "SIS Login ID"; the second row has the points possible."""
    assignments, people, table = by_student(rows)
    out_of = {r.assignment: f"{r.out_of:g}" for r in rows}
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *assignments]
    possible = ["    Points Possible", "", "", "", "", *(out_of[a] for a in assignments)]
    body = [[name_of(p), "", "", p.student, "", *cells(p.student, assignments, table)] for p in people]
    return [head, possible, *body]


def name_of(person: Mark) -> str:
    return ", ".join(filter(None, [person.last_name, person.first_name])) or person.student


def as_moodle(rows: list[Mark]) -> list[list[str]]:
    """Moodle's CSV grade import: map "ID number" or "Email address" to the user, and each assignment to its grade
    item.
    """
    assignments, people, table = by_student(rows)
    head = ["First name", "Last name", "ID number", "Email address", *assignments]
    return [
        head,
        *([p.first_name, p.last_name, p.student, p.email, *cells(p.student, assignments, table)] for p in people),
    ]


def as_gradescope(rows: list[Mark]) -> list[list[str]]:
    """The columns of a Gradescope gradebook: names, SID, email, then score and maximum for each assignment."""
    assignments, people, table = by_student(rows)
    out_of = {r.assignment: f"{r.out_of:g}" for r in rows}
    head = [
        "First Name",
        "Last Name",
        "SID",
        "Email",
        *(name for a in assignments for name in (a, f"{a} - Max Points")),
    ]
    body = []
    for p in people:
        scores = cells(p.student, assignments, table)
        pairs = [value for a, score in zip(assignments, scores, strict=True) for value in (score, out_of[a])]
        body.append([p.first_name, p.last_name, p.student, p.email, *pairs])
    return [head, *body]


FORMATS: dict[str, Callable[[list[Mark]], list[list[str]]]] = {
    "csv": as_csv,
    "canvas": as_canvas,
    "moodle": as_moodle,
    "gradescope": as_gradescope,
}


def export(rows: list[Mark], form: str) -> str:
    """The marks as the text of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in FORMATS[form](rows):
        writer.writerow([harmless(value) for value in row])
    return text.getvalue()
