"""Who is who: the people of a course, and the names and numbers that other systems know them by."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from autograder.classroom.owners import safe
from autograder.model.course import CourseError
from autograder.model.policy import ALL

# Under which name a number is kept. A participant's number in Moodle belongs to one assignment: "moodle 03-attention".
CANVAS, LOGIN, SIS = "canvas", "login", "sis"
NOT_IN_A_FILE_NAME = re.compile(r"[\x00-\x1f\x7f&<>\"`|':\\/]")  # what Moodle takes out of names of files


def moodle(assignment: str) -> str:
    return f"moodle {assignment}"


@dataclass(frozen=True)
class Person:
    """A student of the course. Without an id: as a file has one, before it is known who that is."""

    id: str = ""
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    section: str = ""
    group: str = ""
    numbers: Mapping[str, str] = field(default_factory=dict)
    extensions: Mapping[str, str] = field(default_factory=dict)  # by assignment, or for all, as they were written
    excused: tuple[str, ...] = ()  # from these assignments, or from all
    line: int = 0  # of the file

    @property
    def name(self) -> str:
        return " ".join(filter(None, [self.first_name, self.last_name]))

    def is_excused(self, assignment: str) -> bool:
        return ALL in self.excused or assignment in self.excused

    def extension(self, assignment: str) -> str:
        return self.extensions.get(assignment, self.extensions.get(ALL, ""))

    def likely_id(self) -> str:
        """What the course calls somebody who is new: the login, the number of the university, the address, the name."""
        canvas = f"canvas-{self.numbers[CANVAS]}" if CANVAS in self.numbers else ""
        candidates = (self.numbers.get(LOGIN), self.numbers.get(SIS), self.email, canvas, self.name)
        return next((name for name in map(safe, filter(None, candidates)) if name), "")

    def updated(self, new: Person) -> Person:
        """With what a newer file says. What it leaves blank stays as it was."""

        def word(name: str) -> str:
            said = str(getattr(new, name)) or str(getattr(self, name))
            return "" if said == NOTHING else said

        return replace(
            self,
            first_name=word("first_name"),
            last_name=word("last_name"),
            email=word("email"),
            section=word("section"),
            group=word("group"),
            numbers={**self.numbers, **new.numbers},
            extensions={name: text for name, text in {**self.extensions, **new.extensions}.items() if text != NOTHING},
            excused=() if new.excused == (NOTHING,) else new.excused or self.excused,
        )


NOTHING = "-"  # in a cell: take away what was there


@dataclass(frozen=True)
class Sheet:
    """A file of an LMS that its marks go back into: its own columns, and whose row is whose.

    Canvas has one for the course, with a column for each assignment (`points` possible); Moodle one per assignment.
    """

    lms: str
    assignment: str = ""
    header: tuple[str, ...] = ()
    rows: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by student: what stood in each column
    points: Mapping[str, str] = field(default_factory=dict)

    def updated(self, new: Sheet) -> Sheet:
        """A newer one, with the rows that only the old one has: it may be of one section."""
        kept = {title: points for title, points in self.points.items() if number_of(title) not in new.numbers}
        return replace(new, rows={**self.rows, **new.rows}, points={**kept, **new.points})

    @cached_property
    def numbers(self) -> set[str]:
        return {number_of(title) for title in self.points}


def number_of(title: str) -> str:
    """Of an assignment's column in Canvas: `03-attention (123456)`; without a number, the title itself."""
    found = re.fullmatch(r".*\((\d+)\)\s*", title, re.DOTALL)
    return found[1] if found is not None else title


def in_file_names(name: str) -> str:
    """A name as a system writes it into names of files, made equal where letters are."""
    plain = NOT_IN_A_FILE_NAME.sub("", name.replace("_", " "))
    return " ".join(unicodedata.normalize("NFC", plain).casefold().split())


@dataclass(frozen=True)
class Roster:
    """Everybody, by id, and the sheets of the LMSs by system and assignment."""

    people: Mapping[str, Person] = field(default_factory=dict)
    sheets: Mapping[tuple[str, str], Sheet] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.people)

    def numbered(self, kind: str, number: str) -> Person | None:
        return self.by_number.get((kind, number.casefold())) if number else None

    @cached_property
    def by_number(self) -> dict[tuple[str, str], Person]:
        return {
            (kind, number.casefold()): person
            for person in self.people.values()
            for kind, number in person.numbers.items()
        }

    @cached_property
    def by_email(self) -> dict[str, Person]:
        return only_ones((person.email.casefold(), person) for person in self.people.values() if person.email)

    @cached_property
    def by_name(self) -> dict[str, Person]:
        """Where a name is of one person only."""
        return only_ones((in_file_names(person.name), person) for person in self.people.values() if person.name)

    @cached_property
    def namesakes(self) -> set[str]:
        names = [in_file_names(person.name) for person in self.people.values() if person.name]
        return {name for name in names if names.count(name) > 1}

    def members(self, group: str) -> list[Person]:
        wanted = in_file_names(group)
        return [one for one in self.people.values() if one.group and in_file_names(one.group) == wanted]

    def called(self, word: str) -> Person | None:
        """By the id, an address, a login or the number of the university: what an instructor may name a folder."""
        if word in self.people:
            return self.people[word]
        folded = word.casefold()
        ids = only_ones((person.id.casefold(), person) for person in self.people.values())
        return ids.get(folded) or self.by_email.get(folded) or self.numbered(LOGIN, word) or self.numbered(SIS, word)


def only_ones(pairs: Iterable[tuple[str, Person]]) -> dict[str, Person]:
    found: dict[str, list[Person]] = {}
    for key, person in pairs:
        found.setdefault(key, []).append(person)
    return {key: people[0] for key, people in found.items() if len(people) == 1}


@dataclass(frozen=True)
class RosterFile:
    """A file that was read: whose it is, its people, and its sheet if marks go back into one.

    The rows of the sheet are in the order of the people.
    """

    kind: str
    people: tuple[Person, ...]
    sheet: Sheet | None = None
    sheet_rows: tuple[Mapping[str, str], ...] = ()
    ignored: tuple[str, ...] = ()  # columns


@dataclass
class Changes:
    """What reading a file did, by id."""

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)  # on the roster, and not in this file: they stay


def merged(roster: Roster, file: RosterFile) -> tuple[Roster, Changes]:
    """The roster with what a file says. People keep their id, and nobody is lost."""
    people, changes = dict(roster.people), Changes()
    taken: dict[str, Person] = {}
    rows: dict[str, Mapping[str, str]] = {}
    anonymous = file.sheet is not None and not any(person.name for person in file.people)
    cells = file.sheet_rows or ({},) * len(file.people)
    for read, row in zip(file.people, cells, strict=True):
        if anonymous:  # marked blind: the number is all that is known
            rows[f"Participant-{read.numbers[moodle(file.sheet.assignment)]}"] = row  # type: ignore[union-attr]
            continue
        known = same_person(roster, read)
        name = known.id if known is not None else new_id(read, people)
        if name in taken:
            raise CourseError(
                f"lines {taken[name].line} and {read.line} are the same student, {name}: take one of them out"
            )
        taken[name] = read
        rows[name] = row
        people[name] = (known or Person(name)).updated(read)
        people[name] = replace(people[name], id=name, line=0)
        list_for = changes.new if known is None else changes.same if people[name] == known else changes.changed
        list_for.append(name)
    changes.absent = [name for name in roster.people if name not in taken] if not anonymous else []
    sheets = dict(roster.sheets)
    if file.sheet is not None:
        key = (file.sheet.lms, file.sheet.assignment)
        sheet = replace(file.sheet, rows=rows)
        sheets[key] = sheets[key].updated(sheet) if key in sheets else sheet
    return Roster(people, sheets), changes


def same_person(roster: Roster, read: Person) -> Person | None:
    """Who of the roster this is: by id, by a number, by the address; by the name only where nothing else is told."""
    found = [roster.numbered(kind, number) for kind, number in read.numbers.items()]
    found += [roster.by_email.get(read.email.casefold()), roster.called(read.id)]
    ids = {person.id: person for person in found if person is not None}
    if len(ids) > 1:
        raise CourseError(
            f"line {read.line} is {' and '.join(sorted(ids))} of the roster at once, by its numbers and address:"
            " correct the file"
        )
    if ids:
        return next(iter(ids.values()))
    if read.id or read.email or any(not kind.startswith("moodle ") for kind in read.numbers):
        return None if read.id else roster.people.get(read.likely_id())
    if in_file_names(read.name) in roster.namesakes:
        raise CourseError(
            f"line {read.line}: there are several people called {read.name}, and nothing tells which one this is."
            " Ask your administrator to show the ID number or e-mail address in this file"
        )
    return roster.by_name.get(in_file_names(read.name))


def new_id(read: Person, people: Mapping[str, Person]) -> str:
    name = read.id or read.likely_id()
    if not name:
        raise CourseError(f"line {read.line} names nobody: it has neither an id nor a name")
    if name in people and not read.id:  # a namesake without anything else
        number = next(iter(read.numbers.values()), "")
        name = f"{name}-{number}" if number else name
    return name
