"""Files that say who is in the course: Canvas's gradebook, Moodle's grading worksheet and participants list,
Gradescope's roster, and a plain CSV file.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from autograder.classroom.owners import safe
from autograder.classroom.roster import CANVAS, LOGIN, NOTHING, SIS, Person, RosterFile, Sheet, moodle
from autograder.model.course import Course, CourseError
from autograder.model.policy import ALL, AMOUNT, moment

LARGEST = 50 * 2**20
Row = Mapping[str, str]
Rows = list[tuple[int, Row]]  # with the line in the file

PLAIN = {  # a plain file's columns, by what people write over them
    "id": "id",
    "student id": "id",
    "name": "name",
    "full name": "name",
    "first name": "first_name",
    "last name": "last_name",
    "surname": "last_name",
    "e-mail": "email",
    "email": "email",
    "e-mail address": "email",
    "email address": "email",
    "section": "section",
    "group": "group",
    "extension": "extensions",
    "extensions": "extensions",
    "excused": "excused",
    "canvas id": CANVAS,
    "login": LOGIN,
    "sis login id": LOGIN,
    "sis user id": SIS,
    "sid": SIS,
    "id number": SIS,
}
CANVAS_COLUMNS = (
    *("Student", "LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID"),
    *("Integration ID", "Root Account", "Section"),
)
CANVAS_TOTALS = re.compile(r"(Current|Final) (Score|Points|Grade)|Override (Score|Grade|Status)|\(read only\)")
CANVAS_TEST_STUDENT = ("Student, Test", re.compile(r"[0-9a-f]{40}"))
NOT_STUDENTS = ("instructor", "ta", "reader", "teacher")  # roles in Gradescope


def read_roster(path: Path, course: Course, assignment: str | None = None) -> RosterFile:
    """The people of a file, whichever of the five kinds it is."""
    header, rows = table_in(path)
    if not rows:
        raise CourseError(f"{path} has no lines below its header: nobody is in it")
    columns = set(header)
    try:
        if {"ID", "Section"} <= columns and columns & {"Student", "LastName"}:
            return canvas_gradebook(header, rows)
        if {"Identifier", "Grade"} <= columns:
            return moodle_worksheet(header, rows, assignment or assignment_named(course, path))
        if {"SID", "Email"} <= columns:
            return gradescope_roster(header, rows)
        if {"First name", "Email address"} <= columns and columns & {"Last name", "Surname"} and "id" not in columns:
            return moodle_participants(header, rows)
        return plain_file(header, rows, course)
    except CourseError as error:
        raise CourseError(f"{path}: {error}") from None


def table_in(path: Path) -> tuple[list[str], Rows]:
    """Header and lines of a CSV file, whatever its separator; every line as long as the header."""
    if path.is_file() and path.stat().st_size > LARGEST:
        raise CourseError(f"{path} is larger than {LARGEST >> 20} MiB: is it a roster?")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise CourseError(f"{path} does not exist: give the file that you downloaded") from None
    if data.startswith(b"PK\x03\x04"):
        raise CourseError(f"{path} is a spreadsheet or an archive: save it as CSV (comma-separated, UTF-8)")
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        raise CourseError(f"{path} is not in UTF-8, so its names would be garbled: save it as CSV UTF-8") from None
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        lines = [(reader.line_num, cells) for cells in reader]
    except csv.Error as error:
        raise CourseError(f"{path} is not a CSV file: {error}") from None
    if not lines:
        raise CourseError(f"{path} is empty")
    header = [cell.strip() for cell in lines[0][1]]
    return header, [
        (line, dict(zip(header, [*map(str.strip, cells), *[""] * len(header)], strict=False)))
        for line, cells in lines[1:]
        if any(cell.strip() for cell in cells)
    ]


def assignment_named(course: Course, path: Path) -> str:
    """The assignment that a worksheet is of, by its file's name, which has the assignment's in Moodle."""
    words = path.stem.casefold()
    found = [one.id for one in course.assignments if one.id in words]
    found = found or [
        one.id
        for one in course.assignments
        if any(name and name.casefold() in words for name in (one.lms_name, one.title))
    ]
    if len(found) == 1:
        return found[0]
    raise CourseError("a grading worksheet is of one assignment: say of which, with --assignment")


def two_names(full: str) -> tuple[str, str]:
    """First and last name: `Last, First`, or the last word is the last name."""
    last, comma, first = (part.strip() for part in full.partition(","))
    if comma:
        return first, last
    first, _, last = full.strip().rpartition(" ")
    return first, last


def present(known: Row) -> dict[str, str]:
    return {name: value for name, value in known.items() if value}


def canvas_gradebook(header: list[str], rows: Rows) -> RosterFile:
    """Grades → Export in Canvas."""
    own = [name for name in header if name in CANVAS_COLUMNS]
    titles = [name for name in header[header.index("Section") + 1 :] if name and not CANVAS_TOTALS.search(name)]
    possible: Row = {}
    people, cells = [], []
    for line, row in rows:
        first = row.get("Student", row.get("LastName", ""))
        if "Points Possible" in first:
            possible = row
            continue
        if not row["ID"]:
            continue  # a line about posting, or about nothing
        if first == CANVAS_TEST_STUDENT[0] and CANVAS_TEST_STUDENT[1].fullmatch(row.get("SIS Login ID", "")):
            continue
        names = two_names(first) if "Student" in row else (row["FirstName"], row["LastName"])
        ids = {CANVAS: row["ID"], LOGIN: row.get("SIS Login ID", ""), SIS: row.get("SIS User ID", "")}
        people.append(
            Person("", *names, section=row["Section"], numbers=present(ids), line=line),
        )
        cells.append({name: row[name] for name in own})
    points = {title: possible.get(title, "") for title in titles if "read only" not in possible.get(title, "")}
    sheet = Sheet("canvas", "", tuple(own), {}, points)
    return RosterFile("Canvas gradebook", tuple(people), sheet, tuple(cells))


def moodle_worksheet(header: list[str], rows: Rows, assignment: str) -> RosterFile:
    """View all submissions → Download grading worksheet in Moodle."""
    people = []
    for line, row in rows:
        number = re.search(r"\d+$", row["Identifier"])
        if number is None:
            raise CourseError(f"line {line}: the Identifier {row['Identifier']!r} has no number: download it again")
        ids = {SIS: row.get("ID number", ""), LOGIN: row.get("Username", "")}
        people.append(
            Person(
                "",
                *two_names(row.get("Full name", "")),
                row.get("Email address", ""),
                group=row.get("Group", ""),
                numbers={**present(ids), moodle(assignment): number[0]},
                line=line,
            )
        )
    sheet = Sheet("moodle", assignment, tuple(header))
    return RosterFile("Moodle grading worksheet", tuple(people), sheet, tuple(row for _, row in rows))


def moodle_participants(header: list[str], rows: Rows) -> RosterFile:
    """Participants → Download table data in Moodle."""
    people = []
    for line, row in rows:
        if row.get("Roles") and "student" not in row["Roles"].casefold():
            continue
        groups = [name.strip() for name in row.get("Groups", "").split(",") if name.strip() not in ("", "No groups")]
        people.append(
            Person(
                "",
                row["First name"],
                row.get("Last name") or row.get("Surname", ""),
                row["Email address"],
                group=groups[0] if len(groups) == 1 else "",
                numbers=present({SIS: row.get("ID number", ""), LOGIN: row.get("Username", "")}),
                line=line,
            )
        )
    return RosterFile("Moodle participants list", tuple(people))


def gradescope_roster(header: list[str], rows: Rows) -> RosterFile:
    """Roster → Download Roster in Gradescope; its gradebook begins with the same columns."""
    people = []
    for line, row in rows:
        if row.get("Role", "").casefold() in NOT_STUDENTS:
            continue
        split = (row["First Name"], row["Last Name"]) if "First Name" in row and "Last Name" in row else None
        full = row.get("Name") or row.get("Full Name") or ""
        section = next((row[name] for name in header if "section" in name.casefold() and row[name]), "")
        people.append(
            Person(
                "",
                *(split or two_names(full)),
                row["Email"],
                section,
                numbers=present({SIS: row["SID"]}),
                line=line,
            )
        )
    return RosterFile("Gradescope roster", tuple(people))


def plain_file(header: list[str], rows: Rows, course: Course) -> RosterFile:
    meaning = {name: PLAIN[key] for name in header if (key := name.casefold().replace("_", " ")) in PLAIN}
    if "id" not in meaning.values():
        raise CourseError(
            f"who these people are cannot be told from the columns {', '.join(header)[:200]!r}: give Canvas's gradebook"
            " export, Moodle's grading worksheet or participants list, Gradescope's roster, or a CSV file with the"
            " columns id, name, e-mail, section, extensions, group, excused"
        )
    people = []
    for line, row in rows:
        said = {meaning[name]: value for name, value in row.items() if name in meaning}
        first, last = two_names(said.get("name", ""))
        if safe(said["id"]) != said["id"]:
            raise CourseError(
                f"line {line}: the id {said['id']!r} cannot be the name of a folder: use letters, digits and . _ - @ +."
                " (Is it a file of an LMS in another language? Switch to English there, and download it again)"
            )
        people.append(
            Person(
                said["id"],
                said.get("first_name", first),
                said.get("last_name", last),
                said.get("email", ""),
                said.get("section", ""),
                said.get("group", ""),
                present({kind: said.get(kind, "") for kind in (CANVAS, LOGIN, SIS)}),
                dict(extensions_in(said.get("extensions", ""), course, line)),
                tuple(excuses_in(said.get("excused", ""), course, line)),
                line,
            )
        )
    return RosterFile("CSV file", tuple(people), ignored=tuple(name for name in header if name and name not in meaning))


def known_assignment(course: Course, name: str, line: int) -> str:
    try:
        course.select([name])
    except CourseError as error:
        raise CourseError(f"line {line}: {error}") from None
    return name


def extensions_in(text: str, course: Course, line: int) -> Iterator[tuple[str, str]]:
    """`03-attention=2d; 05-logit-bias=2026-12-01`; an amount alone is for every assignment."""
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, amount = (word.strip() for word in part.partition("="))
        if not equals:
            name, amount = ALL, name
        if name != ALL:
            known_assignment(course, name, line)
        try:
            if amount != NOTHING and AMOUNT.fullmatch(amount) is None:
                moment(amount, course.zone)
        except ValueError as error:
            raise CourseError(
                f"line {line}: the extension {part!r} cannot be read ({error}): write 03-attention=2d, or =36h"
            ) from None
        yield name, amount


def excuses_in(text: str, course: Course, line: int) -> Iterator[str]:
    """`yes`, for everything, or assignments with a semicolon between them."""
    for part in filter(None, (part.strip() for part in text.split(";"))):
        if part.casefold() in ("yes", "true", "x", "1", "all", ALL):
            yield ALL
        elif part == NOTHING or part.casefold() in ("no", "false", "0"):
            yield NOTHING
        else:
            yield known_assignment(course, part, line)
