"""Whose submission a file of an archive is. The outermost name decides, so that nobody can hand in for somebody else.

What lies below a student's folder is the student's own doing, folders with other people's names included. What lies
above, shared by the whole archive, is what exports come wrapped in.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

# How the systems name a student's folder, or file; `number` is the student's, and tells two people of one name apart.
FOLDERS = {
    "moodle": re.compile(r"(?P<student>.+)_(?P<number>\d+)_assignsubmission_file_?"),  # Ada Ames_123_…_file_/x.ipynb
    "gradescope": re.compile(r"submission_(?P<student>\d+)"),  # submission_123/x.ipynb
}
FILES = {  # all in one folder. Canvas writes LATE before the student's number, and the file's number after it
    "canvas anonymous": re.compile(r"(?P<late>LATE_)?anon_(?P<number>[A-Za-z0-9]+)_(?P<file>\d+)_.*"),
    "canvas": re.compile(r"(?P<student>.+?)_(?P<late>LATE_)?(?P<number>\d+)_(?P<file>\d+)_.*"),
    "moodle": re.compile(r"(?P<student>[^_]+)_(?P<number>\d+)_assignsubmission_file_.+"),  # as one setting has it
}
CANVAS_FOLDER = "submissions"
LONGEST_NAME = 120


@dataclass(frozen=True)
class Owner:
    """A student as an archive names one. Two owners of one name have different places."""

    student: str
    number: str
    place: str  # the folder, or the beginning of the file's name, that says so
    system: str = ""  # whose naming it is
    late: bool = False  # as the name says
    file: str = ""  # Canvas's number of the file
    known: bool = False  # on the roster: `student` is the id there
    members: tuple[str, ...] = ()  # others that the submission counts for
    time: str = ""  # when it was handed in, as nbgrader's timestamp.txt has it


def parts_of(name: str) -> tuple[str, ...]:
    """The folders and the file of a name in an archive; the same letters in the same code, whatever machine they come
    from.
    """
    text = unicodedata.normalize("NFC", name.replace("\\", "/"))
    return tuple(part for part in text.split("/") if part not in ("", ".", ".."))


def safe(student: str) -> str:
    """A student's id as the name of a folder: letters with their marks, digits and what addresses have."""
    kept = "".join(
        sign if re.match(r"[\w.@+-]", sign) or unicodedata.category(sign)[0] == "M" else " " for sign in student
    )
    return re.sub(r"\s+", "-", kept.strip()).strip("-.")[:LONGEST_NAME]


def shared_folders(paths: Collection[tuple[str, ...]]) -> tuple[str, ...]:
    """Folders that all of these lie in."""
    folders = [path[:-1] for path in paths]
    if not folders:
        return ()
    first, last = min(folders), max(folders)
    length = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:length]


class Owners:
    """Who owns what in one archive.

    `names`: of everything that was handed in; `known`: students the course has already.
    """

    def __init__(
        self, names: Iterable[str], archive: str = "", assignments: Collection[str] = (), known: Collection[str] = ()
    ) -> None:
        self.archive, self.assignments, self.known = unicodedata.normalize("NFC", archive), assignments, known
        self.names = list(names)
        paths = {parts_of(name) for name in self.names}
        deep = {path for path in paths if len(path) > 1}
        self.wrapped = self.above_students(shared_folders(deep))
        flat = [path[-1] for path in paths if len(path) == 1]
        beside = [path[-1] for path in deep if path[:-1] == self.wrapped]
        if students_in(flat):
            self.files_in: tuple[str, ...] | None = ()
        elif len(students_in(beside)) > 1 or self.wrapped[-1:] in ((CANVAS_FOLDER,), (self.archive,)):
            self.files_in = self.wrapped
        else:  # one such name in a folder: a system made it, or the student whose folder it is
            self.files_in = None
        plain = {path for path in deep if self.by_format(path) is None}
        self.wrapped_plain = self.above_students(shared_folders(plain))
        # A file right there, beside folders: then what all lie in is no wrapping, but the one student's folder.
        self.holds_files = any(path[:-1] == self.wrapped_plain for path in plain)

    def plainly_named(self) -> set[str]:
        """Students who have a folder of exactly their name."""
        found = (self.of(name) for name in self.names)
        return {one.student for one in found if one is not None and one.place == one.student}

    def above_students(self, shared: tuple[str, ...]) -> tuple[str, ...]:
        """Of shared folders, those above the first that is a student's."""
        for place, part in enumerate(shared):
            if part_of_system(part) is not None or part in self.known or safe(part) in self.known:
                return shared[:place]
        return shared

    def by_format(self, path: tuple[str, ...]) -> Owner | None:
        """The owner where the outermost name below what is shared is one that Moodle, Gradescope or Canvas makes."""
        rest = below(path, self.wrapped)
        if len(rest) > 1 and (made := part_of_system(rest[0])) is not None:
            system, match = made
            return owner(match["student"], match.groupdict().get("number") or "", rest[0], system)
        if path[:-1] == self.files_in:
            return owner_of_file(path[-1])
        return None

    def of(self, name: str) -> Owner | None:
        """The owner of a file; None where it cannot be told."""
        path = parts_of(name)
        if not path or (found := self.by_format(path)) is not None:
            return found if path else None
        rest = [part for part in below(path, self.wrapped_plain)[:-1] if part not in self.assignments]
        above = [part for part in self.wrapped_plain if part not in self.assignments and part != self.archive]
        if rest and above and self.holds_files and below(path, self.wrapped_plain) != path:
            return owner(above[0], "", above[0]) if len(above) == 1 else None
        if rest:
            return owner(rest[0], "", rest[0])
        # Everything lies in the same folders: one student's folder in another one, or a folder in a student's?
        shared = [part for part in path[:-1] if part not in self.assignments]
        shared = [part for part in shared if part != self.archive] or shared
        return owner(shared[0], "", shared[0]) if len(shared) == 1 and owner_of_file(path[-1]) is None else None


def below(path: tuple[str, ...], shared: tuple[str, ...]) -> tuple[str, ...]:
    return path[len(shared) :] if path[: len(shared)] == shared else path


def part_of_system(part: str) -> tuple[str, re.Match[str]] | None:
    """A folder's name, if Moodle or Gradescope makes such."""
    found = ((system, pattern.fullmatch(part)) for system, pattern in FOLDERS.items())
    return next(((system, match) for system, match in found if match is not None), None)


def owner_of_file(name: str) -> Owner | None:
    """Whose file it is, if Canvas or Moodle names files so."""
    for system, pattern in FILES.items():
        if (match := pattern.fullmatch(name)) is not None:
            parts = match.groupdict(default="")
            student = parts.get("student") or f"anon-{parts['number']}"
            place = f"{student}_{parts['number']}_"
            found = owner(student, parts["number"], place, system)
            return found and replace(found, late=bool(parts.get("late")), file=parts.get("file", ""))
    return None


def students_in(files: Iterable[str]) -> set[str]:
    return {found.student for name in files if (found := owner_of_file(name)) is not None}


def owner(student: str, number: str, place: str, system: str = "") -> Owner | None:
    name = safe(student)
    return Owner(name, number, place, system) if name else None
