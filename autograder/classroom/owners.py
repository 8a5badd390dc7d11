"""Whose submission a file of an archive is. The outermost name decides, so that nobody can hand in for somebody else.

What lies below a student's folder is the student's own doing, folders with other people's names included. What lies
above, shared by the whole archive, is what exports come wrapped in.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass

# How the systems name a student's folder, or file; `number` tells two people of one name apart.
FOLDERS = [
    re.compile(
        r"(?P<student>.+)_(?P<number>\d+)_assignsubmission_file_?"
    ),  # Moodle: Name_123_assignsubmission_file_/x.ipynb
    re.compile(r"submission_(?P<student>\d+)"),  # Gradescope: submission_123/x.ipynb
]
CANVAS = re.compile(
    r"(?P<student>[^_]+)_(?:LATE_)?(?P<number>\d+)_\d+_.*"
)  # Canvas: name_123_456_x.ipynb, all in one folder
CANVAS_FOLDER = "submissions"
LONGEST_NAME = 120


@dataclass(frozen=True)
class Owner:
    """A student as an archive names one. Two owners of one name have different places."""

    student: str
    number: str
    place: str  # the folder, or the beginning of the file's name, that says so


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
        paths = {parts_of(name) for name in names}
        deep = {path for path in paths if len(path) > 1}
        self.wrapped = self.above_students(shared_folders(deep))
        flat = [path[-1] for path in paths if len(path) == 1]
        beside = [path[-1] for path in deep if path[:-1] == self.wrapped]
        if canvas_students(flat):
            self.canvas: tuple[str, ...] | None = ()
        elif len(canvas_students(beside)) > 1 or self.wrapped[-1:] in ((CANVAS_FOLDER,), (self.archive,)):
            self.canvas = self.wrapped
        else:  # one such name in a folder: Canvas made it, or the student whose folder it is
            self.canvas = None
        plain = {path for path in deep if self.by_format(path) is None}
        self.wrapped_plain = self.above_students(shared_folders(plain))
        # A file right there, beside folders: then what all lie in is no wrapping, but the one student's folder.
        self.holds_files = any(path[:-1] == self.wrapped_plain for path in plain)

    def above_students(self, shared: tuple[str, ...]) -> tuple[str, ...]:
        """Of shared folders, those above the first that is a student's."""
        for place, part in enumerate(shared):
            if part_of_system(part) is not None or part in self.known or safe(part) in self.known:
                return shared[:place]
        return shared

    def by_format(self, path: tuple[str, ...]) -> Owner | None:
        """The owner where the outermost name below what is shared is one that Moodle, Gradescope or Canvas makes."""
        rest = below(path, self.wrapped)
        if len(rest) > 1 and (match := part_of_system(rest[0])) is not None:
            return owner(match["student"], match.groupdict().get("number") or "", rest[0])
        if path[:-1] == self.canvas and (match := CANVAS.fullmatch(path[-1])) is not None:
            return owner(match["student"], match["number"], f"{match['student']}_{match['number']}_")
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
        return owner(shared[0], "", shared[0]) if len(shared) == 1 and not CANVAS.fullmatch(path[-1]) else None


def below(path: tuple[str, ...], shared: tuple[str, ...]) -> tuple[str, ...]:
    return path[len(shared) :] if path[: len(shared)] == shared else path


def part_of_system(part: str) -> re.Match[str] | None:
    """A folder's name, if Moodle or Gradescope makes such."""
    return next((found for pattern in FOLDERS if (found := pattern.fullmatch(part)) is not None), None)


def canvas_students(files: Iterable[str]) -> set[str]:
    return {match["student"] for name in files if (match := CANVAS.fullmatch(name)) is not None}


def owner(student: str, number: str, place: str) -> Owner | None:
    name = safe(student)
    return Owner(name, number, place) if name else None
