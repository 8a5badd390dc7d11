"""The feedback page of one notebook of one submission: a file that needs nothing else.

`FeedbackExporter` is what `nbgrader generate_feedback` makes pages with (nbgrader_config.py), and so `course feedback`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from nbconvert.exporters import Exporter
from nbgrader.api import Gradebook as StoredGradebook
from nbgrader.api import MissingEntry

from autograder.classroom.hand_ins import HandIns
from autograder.classroom.inbox import RECORD
from autograder.classroom.pages.outputs import COLOURS, CellsAsHtml
from autograder.classroom.pages.returned import Exercise, Gradebook, Returned, returned
from autograder.classroom.totals import BONUS, Mark, Totals
from autograder.model import course as courses
from autograder.model import regrade, wording
from autograder.model.course import Assignment, Course
from autograder.model.outcome import MIME
from autograder.model.policy import Lateness
from autograder.model.published import Published, PublishedNotebook

HERE = Path(__file__).parent
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"


class FeedbackExporter(Exporter):
    """In place of nbgrader's exporter. The preprocessors have taken hidden tests out of the notebook before."""

    def _file_extension_default(self) -> str:
        return ".html"

    def from_notebook_node(self, nb: Any, resources: Any = None, **kw: Any) -> tuple[Any, Any]:
        made, resources = super().from_notebook_node(nb, resources, **kw)
        about = resources["nbgrader"]
        folder = Path(resources.get("metadata", {}).get("path") or ".")
        return feedback_page(courses.load(), about, made.cells, folder), resources


@dataclass(frozen=True)
class Standing:
    """What the gradebook knows about the submission: the mark as it is exported, and this notebook's grades."""

    mark: Mark | None = None
    late: Mapping[str, Lateness] = field(default_factory=dict)  # by student that it counts for
    points: float = 0.0  # of the submission, before any penalty
    book: Gradebook = field(default_factory=Gradebook)
    others: tuple[str, ...] = ()  # other notebooks of the assignment
    bonus_possible: float = 0.0

    @property
    def lateness(self) -> list[str]:
        """A sentence for each student that the submission counts for, or one for all where they say the same."""
        told = {name: wording.lateness(one, one.penalty(self.points)) for name, one in self.late.items()}
        if len(set(told.values())) == 1:
            return [text for text in list(told.values())[:1] if text]
        return [f"{name}: {text}" for name, text in told.items() if text]


def feedback_page(course: Course, about: Mapping[str, Any], cells: list[Any], folder: Path) -> str:
    """`about`: student, assignment, notebook and the gradebook's address, as nbgrader names them."""
    known = next((one for one in course.assignments if one.id == about["assignment"]), None)
    assignment = known or Assignment(course.root, about["assignment"], about["assignment"], "", 0)
    standing = standing_of(course, assignment, about)
    record = record_of(folder, about["notebook"])
    work = returned(cells, standing.book, record.ungraded if record is not None else {})
    return page(course, assignment, about["student"], about["notebook"], standing, record, work, CellsAsHtml(folder))


def standing_of(course: Course, assignment: Assignment, about: Mapping[str, Any]) -> Standing:
    with StoredGradebook(about["db_url"]) as book:
        try:
            submission = book.find_submission(assignment.id, about["student"])
            notebook = book.find_submission_notebook(about["notebook"], assignment.id, about["student"])
        except MissingEntry:
            return Standing()
        members = HandIns(course).get(about["student"], assignment.id).members or [about["student"]]
        totals = Totals(course, book, only=members)
        holder = about["student"] if about["student"] in members else members[0]
        grades = [grade for one in submission.notebooks for grade in one.grades]
        return Standing(
            totals.mark(assignment, submission, holder),
            {name: totals.late(name, assignment.id) for name in members} if course.policy is not None else {},
            sum(grade.score for grade in grades),
            Gradebook.of(notebook),
            tuple(sorted(one.name for one in submission.notebooks if one.name != about["notebook"])),
            sum(grade.max_score for grade in grades if grade.name.startswith(BONUS)),
        )


def record_of(folder: Path, notebook: str) -> PublishedNotebook | None:
    """The examiner's, if it graded this. nbgrader's own command leaves none."""
    path = folder / RECORD
    if not path.is_file():
        return None
    return Published.from_json(json.loads(path.read_text(encoding="utf-8"))).notebooks.get(notebook)


def page(
    course: Course,
    assignment: Assignment,
    student: str,
    notebook: str,
    standing: Standing,
    record: PublishedNotebook | None,
    work: Returned,
    cells: CellsAsHtml,
) -> str:
    mark = standing.mark
    name = f"{mark.first_name} {mark.last_name}".strip() if mark is not None else ""

    def link(exercise: Exercise) -> str:
        grade = exercise.grade
        of = f"{wording.points(grade.score)} of {wording.points(grade.points)}"
        asked = regrade.request(student, assignment.id, exercise.name, exercise.failed_checks, of)
        return regrade.link(course.regrade, *asked)

    return (
        environment()
        .get_template("feedback.html")
        .render(
            course=course,
            assignment=assignment,
            student=student,
            person=name or student,
            notebook=notebook,
            standing=standing,
            mark=mark,
            work=work,
            rows=[Row(one, cells) for one in work.exercises],
            notes=notes_on(record),
            stops=stops_of(record),
            opening=[shown for shown in work.opening if shown.error is not None],
            cells=cells,
            regrade_link=link,
            MIME=MIME,
            policy=POLICY,
            wording=wording,
        )
    )


class Row:
    """An exercise as the page shows it."""

    def __init__(self, exercise: Exercise, cells: CellsAsHtml) -> None:
        self.exercise = exercise
        self.title = Markup(cells.line(exercise.title)) if exercise.title else ""
        self.outcome = exercise.outcome

    @property
    def state(self) -> str:
        """A word for the colour: a reader sees a sign and the points as well."""
        if self.exercise.grade.waiting:
            return "waiting"
        if not self.exercise.lost:
            return "full"
        return "blank" if self.exercise.unanswered else "lost"

    @property
    def test_outputs(self) -> list[Mapping[str, Any]]:
        """Without the bare number, which the box says in words, and the reason, which the page has said."""
        shown = self.exercise.graded.outputs if self.exercise.is_test else ()
        return [
            one
            for one in shown
            if one.get("ename") != wording.NOT_GRADED
            and not (
                self.outcome is not None and one.get("output_type") == "execute_result" and MIME not in one["data"]
            )
        ]


def stops_of(record: PublishedNotebook | None) -> list[str]:
    """What kept the notebook, or a question, from being graded: it comes before all hints."""
    if record is None:
        return []
    if record.unreadable is not None:  # nothing ran, and that says it all
        return [f"It could not be graded: {record.unreadable}"]
    return list(record.incidents)


def notes_on(record: PublishedNotebook | None) -> list[str]:
    """What was repaired, and what the cells used. A test's own time would tell what it was given."""
    if record is None:
        return []
    lines = [f"Repaired: {text}" for text in record.repairs]
    limits = record.limits
    lines.append(
        f"Your cells used {record.cpu_seconds:.1f} s of processor time and at most {record.peak_mb} MB of memory,"
        f" libraries included (allowed: {limits['cell_seconds']:g} s a cell, {limits['memory_mb']} MB beyond the"
        " libraries)."
    )
    own = {name: seconds for name, seconds in record.times.items() if name not in record.verdicts}
    slow = sorted(own.items(), key=lambda entry: -entry[1])[:3]
    return lines + (["Slowest: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in slow)] if slow else [])


def environment() -> Environment:
    """Everything is escaped that is not marked as HTML of ours."""
    made = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    made.filters["points"] = wording.points
    made.filters["code_marks"] = code_marks
    made.globals["style"] = Markup((HERE / "page.css").read_text(encoding="utf-8"))
    made.globals["code_style"] = Markup(COLOURS.get_style_defs(".code"))
    return made


def code_marks(text: str) -> Markup:
    """What stands between back-ticks is code."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # an odd back-tick: leave the text as it is
        return Markup.escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(one) if i % 2 else one for i, one in enumerate(pieces))
