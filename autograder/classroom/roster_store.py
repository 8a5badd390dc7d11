"""The roster in the gradebook's database: nbgrader's table of students, and two tables beside it for what that one has
no columns for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sqlalchemy import Column, MetaData, String, Table, Text, create_engine, delete, insert, inspect, select
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import NullPool

from autograder.classroom.database import gradebook_url, must_answer
from autograder.classroom.roster import CANVAS, Changes, Person, Roster, RosterFile, Sheet, merged
from autograder.model.course import Course

TABLES = MetaData()
PEOPLE = Table(
    "course_roster",
    TABLES,
    Column("course_id", String(128), primary_key=True),
    Column("student_id", String(128), primary_key=True),
    Column("section", Text, nullable=False),
    Column("team", Text, nullable=False),
    Column("numbers", Text, nullable=False),  # JSON, as the rest
    Column("extensions", Text, nullable=False),
    Column("excused", Text, nullable=False),
)
SHEETS = Table(
    "course_sheet",
    TABLES,
    Column("course_id", String(128), primary_key=True),
    Column("lms", String(32), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("content", Text, nullable=False),
)
STUDENTS = Table(  # nbgrader's
    "student",
    MetaData(),
    Column("id", String(128), primary_key=True),
    Column("first_name", String(128)),
    Column("last_name", String(128)),
    Column("email", String(128)),
)


def load_roster(course: Course) -> Roster:
    """The roster of the course; an empty one where none was read. (Without nbgrader, whose import takes seconds.)"""
    url = gradebook_url(course)
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        return Roster()
    must_answer(url)
    engine = create_engine(url, poolclass=NullPool)
    try:
        with engine.connect() as connection:
            return roster_in(connection, course)
    finally:
        engine.dispose()


def roster_in(connection: Connection, course: Course) -> Roster:
    if not inspect(connection).has_table(PEOPLE.name):
        return Roster()
    joined = select(PEOPLE, STUDENTS).join(STUDENTS, STUDENTS.c.id == PEOPLE.c.student_id)
    people = {
        row["student_id"]: Person(
            row["student_id"],
            row["first_name"] or "",
            row["last_name"] or "",
            row["email"] or "",
            row["section"],
            row["team"],
            json.loads(row["numbers"]),
            json.loads(row["extensions"]),
            tuple(json.loads(row["excused"])),
        )
        for row in connection.execute(
            joined.where(PEOPLE.c.course_id == course.course_id).order_by(PEOPLE.c.student_id)
        ).mappings()
    }
    sheets = {}
    for row in connection.execute(select(SHEETS).where(SHEETS.c.course_id == course.course_id)).mappings():
        content = json.loads(row["content"])
        sheets[row["lms"], row["assignment"]] = Sheet(
            row["lms"], row["assignment"], tuple(content["header"]), content["rows"], content["points"]
        )
    return Roster(people, sheets)


def update_roster(course: Course, file: RosterFile) -> tuple[Roster, Changes]:
    """Add a file to the roster, in one transaction: what cannot be stored whole is not stored at all."""
    from autograder.classroom.gradebook import open_gradebook

    with open_gradebook(course) as book:  # which makes nbgrader's tables, where there are none
        engine: Engine = book.engine
        TABLES.create_all(engine)
        with engine.begin() as connection:
            before = roster_in(connection, course)
            roster, changes = merged(before, file)
            write_people(connection, course, roster, [*changes.new, *changes.changed])
            write_sheets(connection, course, roster)
    return roster, changes


def write_people(connection: Connection, course: Course, roster: Roster, ids: list[str]) -> None:
    from nbgrader.api import Student

    students = Student.__table__
    known = set(connection.execute(select(STUDENTS.c.id)).scalars())
    for name in ids:
        person = roster.people[name]
        names: dict[str, Any] = {
            "first_name": person.first_name or None,
            "last_name": person.last_name or None,
            "email": person.email or None,
        }
        if CANVAS in person.numbers:
            names["lms_user_id"] = person.numbers[CANVAS]
        if name in known:
            connection.execute(students.update().where(students.c.id == name).values(**names))
        else:
            connection.execute(insert(students).values(id=name, **names))
        where = (PEOPLE.c.course_id == course.course_id) & (PEOPLE.c.student_id == name)
        connection.execute(delete(PEOPLE).where(where))
        connection.execute(
            insert(PEOPLE).values(
                course_id=course.course_id,
                student_id=name,
                section=person.section,
                team=person.group,
                numbers=as_json(person.numbers),
                extensions=as_json(person.extensions),
                excused=as_json(person.excused),
            )
        )


def write_sheets(connection: Connection, course: Course, roster: Roster) -> None:
    connection.execute(delete(SHEETS).where(SHEETS.c.course_id == course.course_id))
    for (lms, assignment), sheet in roster.sheets.items():
        content = {"header": sheet.header, "rows": sheet.rows, "points": sheet.points}
        connection.execute(
            insert(SHEETS).values(course_id=course.course_id, lms=lms, assignment=assignment, content=as_json(content))
        )


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
