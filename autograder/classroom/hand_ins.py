"""Who handed in what lies in `submitted/`: remembered between archives, with the names that the LMS gave to files."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from autograder.classroom.grading_lock import MEMORY
from autograder.classroom.owners import Owner, owner_of_file
from autograder.model.course import Course, write_whole


@dataclass
class HandedIn:
    """One submission. `place` and `number` are those of the archive, `files` its names for what was handed in."""

    place: str = ""
    number: str = ""
    system: str = ""
    known: bool = False
    files: dict[str, str] = field(default_factory=dict)  # by notebook
    members: list[str] = field(default_factory=list)  # others that it counts for
    time: str = ""


class HandIns:
    """By assignment and student. Of two people of one name, one may come in a later archive alone."""

    def __init__(self, course: Course) -> None:
        self.path = course.root / MEMORY / "handed-in.json"
        self.of: dict[str, dict[str, HandedIn]] = {}
        with suppress(FileNotFoundError, ValueError):
            for assignment, entries in json.loads(self.path.read_text(encoding="utf-8")).items():
                self.of[assignment] = {student: read_entry(entry) for student, entry in entries.items()}

    def get(self, student: str, assignment: str) -> HandedIn:
        return self.of.get(assignment, {}).get(student, HandedIn())

    def is_anothers(self, student: str, owner: Owner, assignment: str) -> bool:
        """The roster knows; else by the number, where both have one (a system numbers people anew for every
        assignment); without numbers, by the name as it was.
        """
        before = self.get(student, assignment)
        if not before.place or (before.known and owner.known) or bool(before.number) != bool(owner.number):
            return False
        return before.number != owner.number if before.number else before.place != owner.place

    def remember(self, student: str, owner: Owner, assignment: str, files: dict[str, str]) -> None:
        """What came in the newest archive."""
        self.of.setdefault(assignment, {})[student] = HandedIn(
            owner.place, owner.number, owner.system, owner.known, files, list(owner.members), owner.time
        )

    def anonymous_author_of(self, assignment: str, number: str) -> str | None:
        """Who handed in Canvas's file of this number, without a name."""
        for student, entry in self.of.get(assignment, {}).items():
            if number and entry.system == "canvas anonymous":
                owners = map(owner_of_file, entry.files.values())  # what a student called the file says nothing
                if any(owner is not None and owner.file == number for owner in owners):
                    return student
        return None

    def earlier_names(self, student: str, owner: Owner, assignment: str) -> list[str]:
        """Other ids that the same person's work was collected under, before the roster was read."""
        entries = self.of.get(assignment, {}).items()
        return [name for name, entry in entries if name != student and entry.place == owner.place and not entry.known]

    def holders(self, assignment: str) -> dict[str, str]:
        """By student for whom somebody handed in, in whose folder that lies."""
        return {member: student for student, entry in self.of.get(assignment, {}).items() for member in entry.members}

    def add_member(self, assignment: str, student: str, member: str) -> None:
        entry = self.get(student, assignment)
        entry.members = list(dict.fromkeys([*entry.members, member]))

    def save(self) -> None:
        if self.of:
            entries = {
                assignment: {student: asdict(entry) for student, entry in students.items()}
                for assignment, students in self.of.items()
            }
            write_whole(self.path, json.dumps(entries, ensure_ascii=False, indent=1))


def read_entry(entry: object) -> HandedIn:
    """Versions before 0.3 kept place and number only."""
    if isinstance(entry, list):
        return HandedIn(*entry[:2])
    return HandedIn(**entry) if isinstance(entry, dict) else HandedIn()
