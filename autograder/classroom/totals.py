"""What a student has in an assignment: points, late penalty, bonus and maximum, the same in every table, page and file.

A group's submission is stored once, and gives every member a mark. Penalties are of the points as they are now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from nbgrader.api import Assignment as StoredAssignment
from nbgrader.api import Gradebook, MissingEntry, SubmittedAssignment

from autograder.classroom.database import gradebook_url, must_answer
from autograder.classroom.hand_ins import HandIns
from autograder.classroom.roster import Person, Roster
from autograder.classroom.roster_store import load_roster
from autograder.model.course import Assignment, Course, CourseError
from autograder.model.policy import ON_TIME, HandIn, Lateness, extended, lateness_of_student

BONUS = "bonus-"  # cells of this name add to the score, and not to the maximum


@dataclass(frozen=True)
class Mark:
    """One student's mark in one assignment. The penalty is off the score; bonus is in it, and not in `out_of`."""

    assignment: str
    student: str
    first_name: str
    last_name: str
    email: str
    score: float
    out_of: float
    bonus: float
    waiting: bool
    penalty: float = 0.0
    late: Lateness = ON_TIME
    holder: str = ""  # of a group: in whose folder the submission lies
    excused: bool = False
    section: str = ""

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
    """Everybody's marks in these assignments, by assignment and student."""
    with gradebook(course) as book:
        totals = Totals(course, book)
        found = [mark for assignment in chosen for mark in totals.of_assignment(assignment)]
    return sorted(found, key=lambda mark: (mark.assignment, mark.student))


class Totals:
    """The one place where points become a mark. `only`: students to look at, where a page is about a few."""

    def __init__(
        self, course: Course, book: Gradebook, only: Collection[str] = (), roster: Roster | None = None
    ) -> None:
        self.course, self.book = course, book
        self.roster = load_roster(course) if roster is None else roster
        self.hand_ins = HandIns(course)
        self.assignments = {one.id: one for one in course.assignments}
        self.lateness = self.everybodys_lateness(only) if course.policy is not None else {}

    def counts_for(self, assignment: str, holder: str) -> list[str]:
        """Whose mark a submission is: the members of the group, or the author of an anonymous one."""
        return self.hand_ins.get(holder, assignment).members or [holder]

    def everybodys_lateness(self, only: Collection[str]) -> dict[tuple[str, str], Lateness]:
        """By student and assignment. Late days are one budget for the course, so all submissions are looked at."""
        assert self.course.policy is not None
        handed: dict[str, list[HandIn]] = {}
        own: set[tuple[str, str]] = set()
        rows = [row for row in self.stored_times(only) if row[0] in self.assignments]
        for name, holder, time, due in sorted(rows, key=lambda row: self.counts_for(row[0], row[1]) != [row[1]]):
            for student in self.counts_for(name, holder):
                if (only and student not in only) or (student, name) in own:
                    continue  # somebody who handed in alone has that
                own.add((student, name))
                person = self.roster.people.get(student, Person(student))
                if not person.is_excused(name):
                    handed.setdefault(student, []).append(HandIn(name, self.due(name, person, due), time))
        return {
            (student, name): late
            for student, hand_ins in handed.items()
            for name, late in lateness_of_student(self.course.policy, hand_ins).items()
        }

    def stored_times(self, only: Collection[str]) -> Iterator[tuple[str, str, datetime | None, datetime | None]]:
        """Assignment, student, time and due date of every submission, with an extension that nbgrader was told of."""
        query = self.book.db.query(
            StoredAssignment.name,
            SubmittedAssignment.student_id,
            SubmittedAssignment.timestamp,
            StoredAssignment.duedate,
            SubmittedAssignment.extension,
        ).filter(SubmittedAssignment.assignment_id == StoredAssignment.id)
        if only:
            held = [self.hand_ins.holders(name) for name in self.assignments]
            holders = {one[student] for one in held for student in only if student in one}
            query = query.filter(SubmittedAssignment.student_id.in_({*only, *holders}))
        for name, student, time, due, extension in query:
            toml = self.assignments[name].due if name in self.assignments else None
            base = toml if toml is not None else due
            yield name, student, time, base + extension if base is not None and extension is not None else base

    def due(self, assignment: str, person: Person, due: datetime | None) -> datetime | None:
        extension = person.extension(assignment)
        return extended(due, extension) if due is not None and extension else due

    def late(self, student: str, assignment: str) -> Lateness:
        return self.lateness.get((student, assignment), ON_TIME)

    def of_assignment(self, assignment: Assignment) -> list[Mark]:
        try:
            submissions = self.book.assignment_submissions(assignment.id)
        except MissingEntry:
            return []
        alone = {
            one.student.id for one in submissions if self.counts_for(assignment.id, one.student.id) == [one.student.id]
        }
        found = []
        for submission in submissions:
            holder = submission.student.id
            for student in self.counts_for(assignment.id, holder):
                if student == holder or student not in alone:
                    found.append(self.mark(assignment, submission, student))
        return found

    def mark(self, assignment: Assignment, submission: SubmittedAssignment, student: str) -> Mark:
        grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
        bonus = [grade for grade in grades if grade.name.startswith(BONUS)]
        holder = submission.student
        if student in self.roster.people:
            person = self.roster.people[student]
        elif student == holder.id:
            person = Person(student, holder.first_name or "", holder.last_name or "", holder.email or "")
        else:
            person = Person(student)
        score = sum(grade.score for grade in grades)
        late = self.late(student, assignment.id)
        taken = submission.late_submission_penalty or 0.0  # by a plug-in of nbgrader's, when it graded
        penalty = late.penalty(score) if self.course.policy is not None else taken
        return Mark(
            assignment.id,
            student,
            person.first_name,
            person.last_name,
            person.email,
            round(max(0.0, score - penalty), 4),
            sum(grade.max_score for grade in grades) - sum(grade.max_score for grade in bonus),
            round(sum(grade.score for grade in bonus), 4),
            any(grade.needs_manual_grade for grade in grades),
            penalty,
            late,
            holder.id if holder.id != student else "",
            person.is_excused(assignment.id),
            person.section,
        )
