"""`course collect`: submissions out of an LMS archive (or a folder) into `submitted/`."""

from __future__ import annotations

import io
import json
import lzma
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from autograder.classroom.grading_lock import MEMORY
from autograder.classroom.owners import Owner, Owners
from autograder.model.course import Assignment, Course, CourseError, write_whole

LARGEST_NOTEBOOK = 50 * 2**20
MOST_INSIDE = 20  # notebooks of a student's own archive that are looked at
DAMAGE = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    zipfile.BadZipFile,
    tarfile.TarError,
)  # of an archive
UNREADABLE = (*DAMAGE, RuntimeError, NotImplementedError, ValueError)  # of a file in it

NOTEBOOKS = (".ipynb", ".ipynb.txt", ".ipynb.json")  # the last two are what browsers make of it


MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")  # how zip, gzip, bzip2 and xz files begin
DAMAGED = "the archive is damaged or was not downloaded to its end: download it again"
LOCKED = "it is protected with a password: unpack it, and give the folder"


@dataclass
class Collected:
    """What happened: notebooks put in place, files to look at with the reason, and those of them that are work which is
    nowhere now.
    """

    placed: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    unplaced: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Member:
    """A file of an archive: its content, or why there is none."""

    name: str
    content: bytes = b""
    problem: str = ""
    outer: str = ""  # where it came in an archive of the student's own: that archive's name
    odd: bool = False  # no notebook and no archive: a picture, a text, anything

    @property
    def handed_in_as(self) -> str:
        return self.outer or self.name


Opened = Callable[[], Any]


def entries(archive: Path) -> Iterator[tuple[str, Opened]]:
    """Name of every file in a zip, tar or folder, and how to open it.

    Links are not followed; what the systems add is passed over.
    """
    for name, opened in all_entries(archive):
        if "__MACOSX" not in name and ".ipynb_checkpoints" not in name and not PurePosixPath(name).name.startswith("."):
            yield name, opened


def all_entries(archive: Path) -> Iterator[tuple[str, Opened]]:
    if archive.is_dir():
        for path in sorted(archive.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.resolve().is_relative_to(archive.resolve()):
                yield path.relative_to(archive).as_posix(), partial(path.open, "rb")
    elif zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as bundle:
            files = [
                info for info in bundle.infolist() if not info.is_dir() and not stat.S_ISLNK(info.external_attr >> 16)
            ]
            if files and all(encrypted(info) for info in files):
                raise CourseError(f"{archive}: {LOCKED}")
            for info in files:
                yield info.filename, partial(opened_entry, bundle, info)
    elif is_tar(archive):
        with tarfile.open(archive) as bundle:
            for entry in bundle:
                if entry.isfile():
                    yield entry.name, partial(bundle.extractfile, entry)
    elif begins_like_an_archive(archive):
        raise CourseError(f"{archive}: {DAMAGED}")
    else:
        raise CourseError(f"{archive} is neither a folder nor a zip or tar archive")


def is_tar(archive: Path) -> bool:
    try:
        return tarfile.is_tarfile(archive)
    except DAMAGE:
        return False


def encrypted(info: zipfile.ZipInfo) -> bool:
    return bool(info.flag_bits & 1)


def begins_like_an_archive(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(8).startswith(MAGIC)


class LockedError(ValueError):
    """An entry that asks for a password."""


def opened_entry(bundle: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    if encrypted(info):
        raise LockedError(LOCKED)
    return bundle.open(info)


def members(archive: Path) -> Iterator[Member]:
    """Every file of an archive. Only notebooks are read, and only up to a size."""
    try:
        for name, opened in entries(archive):
            yield from member_or_more(name, opened)
    except DAMAGE:
        yield Member(archive.name, problem="the archive is damaged: what comes after this is lost. Download it again")


def names_in(archive: Path) -> list[str]:
    """Names of what was handed in, as far as a damaged archive tells them."""
    found = []
    with suppress(*DAMAGE):
        for name, _ in entries(archive):
            if name.lower().endswith((*NOTEBOOKS, ".zip")):
                found.append(name)
    return found


def member_or_more(name: str, opened: Opened) -> Iterator[Member]:
    """One file, or the notebooks in a zip archive that a student handed in. An archive in that one is not opened."""
    if not name.lower().endswith(".zip"):
        yield member(name, opened)
        return
    inner: list[zipfile.ZipInfo] = []
    try:
        with opened() as stream:
            content = stream.read(LARGEST_NOTEBOOK + 1)
        with zipfile.ZipFile(io.BytesIO(content)) as bundle:
            inner = [info for info in bundle.infolist() if info.filename.lower().endswith(NOTEBOOKS)][:MOST_INSIDE]
            for info in inner:
                yield replace(member(f"{name}/{info.filename}", partial(opened_entry, bundle, info)), outer=name)
    except UNREADABLE as error:
        yield Member(name, problem=why_unreadable(error))
        return
    if not inner:
        yield Member(name, problem="there is no notebook (.ipynb) in it")


def member(name: str, opened: Opened) -> Member:
    if not name.lower().endswith(NOTEBOOKS):
        return Member(name, problem="it is not a notebook (.ipynb)", odd=True)
    try:
        with opened() as stream:  # what an entry says of its size is not believed
            content = stream.read(LARGEST_NOTEBOOK + 1)
    except UNREADABLE as error:
        return Member(name, problem=why_unreadable(error))
    return Member(
        name, content, f"larger than {LARGEST_NOTEBOOK // 2**20} MiB" if len(content) > LARGEST_NOTEBOOK else ""
    )


def why_unreadable(error: Exception) -> str:
    if isinstance(error, LockedError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"it cannot be read: {error.strerror}"
    return "it cannot be read: it is damaged. Download the archive again, or ask for the file again"


def student_of(name: str, assignments: Collection[str] = ()) -> tuple[str, str] | None:
    """The student's id as a single file's name has it, made safe as a folder's name, and a number; None where it cannot
    be told.
    """
    found = Owners([name], assignments=assignments).of(name)
    return None if found is None else (found.student, found.number)


def assignment_of(course: Course, name: str, content: bytes) -> str | None:
    """The assignment a notebook belongs to: by its name or folder, else by the ids of its cells."""
    for assignment in course.assignments:
        if assignment.id in name:
            return assignment.id
    text = re.sub(r'"grade_id":\s*', '"grade_id": ', content.decode("utf-8", "replace"))
    best = {a.id: ids_found(text, [a.source, *a.ordinary_notebooks]) for a in course.assignments}
    winner = max(best, key=lambda key: best[key], default=None)
    return winner if winner is not None and best[winner] > 3 else None


def ids_found(text: str, sources: list[Path]) -> int:
    """How many ids of the cells of these scripts or notebooks stand in a notebook's text."""
    written = [path.read_text(encoding="utf-8", errors="replace") for path in sources if path.exists()]
    ids = {name for one in written for name in re.findall(r'"grade_id":\s*"([^"]+)"', one)}
    return sum(f'"grade_id": "{name}"' in text for name in ids)


def notebook_of(assignment: Assignment, name: str, content: bytes) -> str:
    """Which of the assignment's notebooks a file is: by its name, else, where there are several, by the ids of its
    cells.
    """
    own = [path.stem for path in assignment.student_notebooks]
    if len(own) == 1:
        return own[0]
    file = PurePosixPath(name).name.lower()
    called = [stem for stem in own if stem.lower() in file]
    if called:
        return max(called, key=len)
    text = re.sub(r'"grade_id":\s*', '"grade_id": ', content.decode("utf-8", "replace"))
    return max(own, key=lambda stem: ids_found(text, [assignment.source.with_name(f"{stem}.ipynb")]))


def collect(course: Course, archive: Path, only: str | None = None) -> Collected:
    """Put every recognised notebook into submitted/STUDENT/ASSIGNMENT/NOTEBOOK.ipynb.

    Of several for one place, the last one that bears its name wins, and is said; so is everything that is left out.
    """
    if not archive.exists():
        raise CourseError(f"{archive} does not exist: give the archive you downloaded, or a folder")
    if archive.is_file():
        archive.open("rb").close()  # whoever may not read it is told so
    known = [folder.name for folder in (course.root / "submitted").glob("*") if folder.is_dir()]
    owners = Owners(
        names_in(archive), archive.name.partition(".")[0], {assignment.id for assignment in course.assignments}, known
    )
    collecting = Collecting(course, only)
    for found in members(archive):
        collecting.take(found, owners.of(found.handed_in_as))
    return collecting.finished()


class Collecting:
    """Puts one file after the other in its place."""

    def __init__(self, course: Course, only: str | None) -> None:
        self.course, self.only = course, only
        self.result = Collected()
        self.places: dict[str, Owner] = {}  # whose folder below submitted/ it is, in this archive
        self.before = Handed(course)
        self.taken: dict[Path, bool] = {}  # notebooks in place, and whether the file bore that name
        self.odd: list[tuple[str, str]] = []  # (student, name) of files that are no notebooks

    def take(self, found: Member, owner: Owner | None) -> None:
        if found.problem:
            self.result.skipped.append((found.name, found.problem))
            if not found.odd:
                self.result.unplaced.append(found.name)
            elif owner is not None:
                self.odd.append((owner.student, found.name))
            return
        if owner is None:
            self.refuse(found.name, "whose submission is this? Put it into a folder named after the student")
            return
        assignment = self.only or assignment_of(self.course, found.name, found.content)
        if assignment is None:
            self.refuse(found.name, "of which assignment? Say so with --assignment")
            return
        student = self.folder_of(found.name, owner, assignment)
        if student is not None:
            self.put(found, student, assignment)

    def refuse(self, name: str, reason: str) -> None:
        self.result.skipped.append((name, reason))
        self.result.unplaced.append(name)

    def folder_of(self, name: str, owner: Owner, assignment: str) -> str | None:
        """The folder below submitted/ for this owner, which no other owner writes to, in this archive or in one
        before.
        """
        student = owner.student
        if self.is_theirs(student, owner, assignment):
            return student
        if owner.number:
            student = f"{owner.student}-{owner.number}"
            if self.is_theirs(student, owner, assignment):
                self.result.skipped.append(
                    (name, f"there are two people called {owner.student}: this one is put into {student}")
                )
                return student
        other = self.places[student].place if student in self.places else self.before.place_of(student, assignment)
        self.refuse(name, f"{owner.place!r} and {other!r} would both be the student {student}: rename one of them")
        return None

    def is_theirs(self, student: str, owner: Owner, assignment: str) -> bool:
        """Is this folder the owner's, or nobody's yet?"""
        if student in self.places:
            return self.places[student].place == owner.place
        if self.before.is_anothers(student, owner, assignment):
            return False
        self.places[student] = owner
        return True

    def put(self, found: Member, student: str, assignment: str) -> None:
        (known,) = self.course.select([assignment])
        notebook = notebook_of(known, found.name, found.content)
        target = self.course.root / "submitted" / student / assignment / f"{notebook}.ipynb"
        exact = notebook in PurePosixPath(found.name).name
        if target in self.taken:
            if self.taken[target] and not exact:
                self.result.skipped.append(
                    (found.name, f"{student} handed in more than one notebook: another one bears the assignment's name")
                )
                return
            self.result.skipped.append(
                (found.name, f"{student} handed in more than one notebook: this one replaced the one before")
            )
        try:
            write_whole(target, found.content)
        except CourseError as error:
            self.refuse(found.name, str(error))
            return
        self.taken[target] = exact
        self.before.remember(student, self.places[student], assignment)
        if (student, assignment) not in self.result.placed:
            self.result.placed.append((student, assignment))

    def finished(self) -> Collected:
        """With those named of whom nothing but other files came."""
        students = {student for student, _ in self.result.placed}
        self.result.unplaced += [name for student, name in self.odd if student not in students]
        self.before.save()
        return self.result


class Handed:
    """Who handed in what is in submitted/, by assignment and student: of two people of one name, one may come in a
    later archive alone.
    """

    def __init__(self, course: Course) -> None:
        self.path = course.root / MEMORY / "handed-in.json"
        self.owners: dict[str, dict[str, list[str]]] = {}
        with suppress(FileNotFoundError, ValueError):
            self.owners = json.loads(self.path.read_text(encoding="utf-8"))

    def place_of(self, student: str, assignment: str) -> str:
        return self.owners.get(assignment, {}).get(student, ["", ""])[0]

    def is_anothers(self, student: str, owner: Owner, assignment: str) -> bool:
        """By the number, where both have one (a system numbers people anew for every assignment); without numbers, by
        the name as it was.
        """
        place, number = self.owners.get(assignment, {}).get(student, ["", ""])
        if not place or bool(number) != bool(owner.number):
            return False
        return number != owner.number if number else place != owner.place

    def remember(self, student: str, owner: Owner, assignment: str) -> None:
        self.owners.setdefault(assignment, {})[student] = [owner.place, owner.number]

    def save(self) -> None:
        if self.owners:
            write_whole(self.path, json.dumps(self.owners, ensure_ascii=False, indent=1))
