"""Marks as files: for a spreadsheet, and for the LMS that the roster came from, which imports them as they are."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from autograder.classroom.roster import CANVAS, LOGIN, SIS, Roster, Sheet, number_of
from autograder.classroom.totals import Mark
from autograder.model.course import Assignment, CourseError

Table = list[list[str]]


@dataclass
class Export:
    """What goes into a file, and what a person is to know about it."""

    rows: list[Mark]
    roster: Roster = field(default_factory=Roster)
    assignments: dict[str, Assignment] = field(default_factory=dict)  # those with other names in the LMS
    remarks: list[str] = field(default_factory=list)

    @cached_property
    def names(self) -> list[str]:
        return list(dict.fromkeys(row.assignment for row in self.rows))

    @cached_property
    def people(self) -> list[Mark]:
        """One mark of each, for names."""
        return list({row.student: row for row in self.rows}.values())

    @cached_property
    def table(self) -> dict[tuple[str, str], Mark]:
        return {(row.student, row.assignment): row for row in self.rows}

    @cached_property
    def out_of(self) -> dict[str, float]:
        return {row.assignment: row.out_of for row in self.rows}

    def cell(self, student: str, assignment: str, excused: str = "") -> str:
        person = self.roster.people.get(student)
        if person is not None and person.is_excused(assignment):
            return excused
        mark = self.table.get((student, assignment))
        return "" if mark is None else points(mark.score)

    def not_in(self, sheet: Sheet, lms: str) -> None:
        """Say whose marks have no line in the file."""
        strangers = [row.student for row in self.people if row.student not in sheet.rows]
        if strangers:
            self.remarks.append(
                f"{len(strangers)} marks have no line in the file of {lms}, because it does not know"
                f" {', '.join(strangers[:5])}: read a newer roster, and collect again"
            )


def points(value: float) -> str:
    return f"{round(value, 4):g}" if abs(value) < 100000 else f"{value:.2f}"


class Verbatim(str):
    """What the LMS reads back, and the instructor wrote."""


def harmless(text: str) -> str:
    """Text that a spreadsheet does not take for a formula: names are the students' own input."""
    if isinstance(text, Verbatim):
        return text
    return f"'{text}" if len(text) > 1 and text[0] in "=+-@\t\r" else text


def as_csv(export: Export) -> Table:
    head = [
        *("assignment", "student_id", "last_name", "first_name", "email", "score", "out_of", "percent", "bonus"),
        *("waiting_for_manual_grade", "late_penalty", "late_days", "free_late_days", "excused", "section", "group_of"),
    ]
    body = [
        [
            r.assignment,
            r.student,
            r.last_name,
            r.first_name,
            r.email,
            points(r.score),
            points(r.out_of),
            f"{r.percent:.2f}",
            points(r.bonus),
            str(r.waiting),
            points(r.penalty),
            str(r.late.days),
            str(r.late.free_days),
            str(r.excused),
            r.section,
            r.holder,
        ]
        for r in export.rows
    ]
    return [head, *body]


# ---- Canvas ----------------------------------------------------------------------------------------------------------


def as_canvas(export: Export) -> Table:
    """Canvas' gradebook import: the columns of its own export, with a student's number in ID, and the assignments'
    columns as they are called there. Without such an export, the student's id goes into "SIS Login ID".
    """
    sheet = export.roster.sheets.get(("canvas", ""))
    if sheet is None:
        return canvas_without_sheet(export)
    titles = {name: title for name in export.names if (title := canvas_column(export, sheet, name)) is not None}
    if not titles:
        raise CourseError(
            f"Canvas's gradebook has no column for {', '.join(export.names)}: make the assignment there and read a"
            " newer export with `course roster`, or write its name to course.toml as lms_name"
        )
    export.not_in(sheet, "Canvas")
    for name, title in titles.items():
        told = sheet.points[title].replace(",", ".")
        if told and float(told) != export.out_of[name]:
            export.remarks.append(
                f"{name} is out of {points(export.out_of[name])} points, and out of {points(float(told))} in Canvas:"
                " change it there"
            )
    first = sheet.header[0]
    possible = {first: "    Points Possible"}
    return [
        [*sheet.header, *titles.values()],
        [
            *(possible.get(name, "") for name in sheet.header),
            *(sheet.points[title] or points(export.out_of[name]) for name, title in titles.items()),
        ],
        *(
            [*(row.get(name, "") for name in sheet.header), *(export.cell(student, name, "EX") for name in titles)]
            for student, row in sheet.rows.items()
        ),
    ]


def canvas_column(export: Export, sheet: Sheet, name: str) -> str | None:
    """The title of an assignment's column: by what course.toml says, its id, or its title."""
    assignment = export.assignments.get(name)
    wanted = [name] if assignment is None else list(filter(None, [assignment.lms_name, name, assignment.title]))
    plain = {title: re.sub(r"\s*\(\d+\)\s*$", "", title).strip().casefold() for title in sheet.points}
    for word in wanted:
        found = [title for title in sheet.points if plain[title] == word.casefold() or number_of(title) == word]
        found = found or [title for title in sheet.points if word.casefold() in plain[title]]
        if len(found) == 1:
            return found[0]
        if found:
            raise CourseError(
                f"Canvas's gradebook has several columns for {name}: {', '.join(found)}. Write the right one's name to"
                " course.toml as lms_name"
            )
    export.remarks.append(f"{name} is left out: Canvas's gradebook has no column of that name")
    return None


def canvas_without_sheet(export: Export) -> Table:
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *export.names]
    possible = ["    Points Possible", "", "", "", "", *(points(export.out_of[name]) for name in export.names)]
    body = []
    for mark in export.people:
        person = export.roster.people.get(mark.student)
        numbers = person.numbers if person is not None else {}
        ids = [numbers.get(CANVAS, ""), numbers.get(SIS, ""), numbers.get(LOGIN, mark.student)]
        cells = [export.cell(mark.student, name, "EX") for name in export.names]
        body.append([name_of(mark), *ids, mark.section, *cells])
    export.remarks.append(
        "without Canvas's own gradebook, its assignments' numbers are not known, and students are matched by login:"
        " export it there, and read it with `course roster`"
    )
    return [head, possible, *body]


def name_of(person: Mark) -> str:
    return ", ".join(filter(None, [person.last_name, person.first_name])) or person.student


# ---- Moodle ----------------------------------------------------------------------------------------------------------


FEEDBACK = "Feedback comments"


def as_moodle(export: Export) -> Table:
    """Moodle's grading worksheet, with the grades in it. Without one, a table for its grade import."""
    sheets = {name: sheet for name in export.names if (sheet := export.roster.sheets.get(("moodle", name))) is not None}
    if not sheets:
        return moodle_without_sheet(export)
    if len(export.names) > 1:
        raise CourseError(
            "a grading worksheet of Moodle is of one assignment: name it, as in `course export 03-attention --format"
            " moodle`"
        )
    ((name, sheet),) = sheets.items()
    export.not_in(sheet, "Moodle")
    body = []
    above = []
    for student, row in sheet.rows.items():
        grade = export.cell(student, name) or row.get("Grade", "")
        cells = {**row, "Grade": grade, FEEDBACK: Verbatim(row.get(FEEDBACK, ""))}
        body.append([cells.get(column, "") for column in sheet.header])
        most = next((row[column] for column in ("Maximum grade", "Maximum Grade") if row.get(column)), "")
        if grade and most and float(grade.replace(",", ".")) > float(most.replace(",", ".")):
            above.append(student)
        if most and float(most.replace(",", ".")) != export.out_of[name] and not export.remarks:
            export.remarks.append(
                f"{name} is out of {points(export.out_of[name])} points, and out of {most} in Moodle: change it there"
            )
    if above:
        export.remarks.append(
            f"Moodle passes over {len(above)} grades above its maximum ({', '.join(above[:5])}): raise it there"
        )
    return [list(sheet.header), *body]


def moodle_without_sheet(export: Export) -> Table:
    head = ["First name", "Last name", "ID number", "Email address", *export.names]
    export.remarks.append(
        "without a grading worksheet, import this as grades of the course and map ID number or Email address to the"
        " user; with one (`course roster`), the file can be uploaded as it is"
    )
    body = []
    for mark in export.people:
        person = export.roster.people.get(mark.student)
        number = person.numbers.get(SIS, "") if person is not None else mark.student
        cells = [export.cell(mark.student, name) for name in export.names]
        body.append([mark.first_name, mark.last_name, number, mark.email, *cells])
    return [head, *body]


# ---- Gradescope ------------------------------------------------------------------------------------------------------


def as_gradescope(export: Export) -> Table:
    """The columns of a Gradescope gradebook: names, SID, email, then score and maximum for each assignment."""
    export.remarks.append(
        "Gradescope imports no marks: this is a table in the columns of its own gradebook, to join with that by SID or"
        " Email. To return marks to students, use --format canvas or moodle"
    )
    head = [
        *("First Name", "Last Name", "SID", "Email"),
        *(title for name in export.names for title in (name, f"{name} - Max Points")),
    ]
    body = []
    for mark in export.people:
        person = export.roster.people.get(mark.student)
        number = person.numbers.get(SIS, "") if person is not None else mark.student
        pairs = [
            value for name in export.names for value in (export.cell(mark.student, name), points(export.out_of[name]))
        ]
        body.append([mark.first_name, mark.last_name, number, mark.email, *pairs])
    return [head, *body]


FORMATS: dict[str, Callable[[Export], Table]] = {
    "csv": as_csv,
    "canvas": as_canvas,
    "moodle": as_moodle,
    "gradescope": as_gradescope,
}


def export(
    rows: list[Mark],
    form: str,
    roster: Roster | None = None,
    assignments: Iterable[Assignment] = (),
    remarks: list[str] | None = None,
) -> str:
    """The marks as the text of a CSV file. What a person is to know is added to `remarks`."""
    made = Export(rows, Roster() if roster is None else roster, {one.id: one for one in assignments})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in FORMATS[form](made):
        writer.writerow([harmless(value) for value in row])
    if remarks is not None:
        remarks += made.remarks
    return text.getvalue()
