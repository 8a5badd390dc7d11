"""`course collect`: submissions out of an LMS archive (or a folder) into `submitted/`."""

from __future__ import annotations

import io
import lzma
import re
import stat
import struct
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Any

from autograder.classroom import gradescope_export
from autograder.classroom.hand_ins import HandIns
from autograder.classroom.matching import Matching
from autograder.classroom.owners import Owner, Owners, parts_of
from autograder.classroom.roster import Roster
from autograder.classroom.roster_store import load_roster
from autograder.model.course import Assignment, Course, CourseError, write_whole

LARGEST_NOTEBOOK = 50 * 2**20
ENOUGH_IDS = 4  # of an assignment's cells in a notebook: it is of that assignment
MOST_INSIDE = 20  # notebooks of a student's own archive that are looked at
MOST_LISTED = 10_000  # files that a student's own archive may list: each takes time and memory, whatever is in it
LISTED = b"PK\1\2"  # how an entry of a zip archive's list begins
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
    nowhere now. With a roster: who has handed in nothing at all.
    """

    placed: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    unplaced: list[str] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict)  # by student in whose folder it lies
    late: list[tuple[str, str]] = field(default_factory=list)  # as Canvas says
    not_on_roster: list[str] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)
    excused: list[tuple[str, str]] = field(default_factory=list)


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
        if content.count(LISTED) > MOST_LISTED:
            yield Member(name, problem=f"it lists more than {MOST_LISTED:,} files: unpack it, and look what it is")
            return
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


def spelling_of(place: str, name: str) -> str:
    """The part of a name that says whose it is, before its letters were brought into one code."""
    parts = name.replace("\\", "/").split("/")
    return next((part for part in parts if unicodedata.normalize("NFC", part) == place), place)


def student_of(name: str, assignments: Collection[str] = ()) -> tuple[str, str] | None:
    """The student's id as a single file's name has it, made safe as a folder's name, and a number; None where it cannot
    be told.
    """
    found = Owners([name], assignments=assignments).of(name)
    return None if found is None else (found.student, found.number)


def assignment_of(course: Course, name: str, content: bytes, archive: str = "") -> str | None:
    """The assignment a notebook belongs to: by its name or folder, else by the ids of its cells, else by the name of
    the archive.
    """
    for assignment in course.assignments:
        if assignment.id in name:
            return assignment.id
    found = {a.id: ids_found(content, [*a.student_notebooks, *a.ordinary_notebooks]) for a in course.assignments}
    winner = max(found, key=lambda key: found[key], default=None)
    if winner is not None and found[winner] >= ENOUGH_IDS:
        return winner
    named = [assignment.id for assignment in course.assignments if assignment.id in archive]
    return named[0] if len(named) == 1 else None


def ids_found(content: bytes, notebooks: list[Path]) -> int:
    """How many ids of the cells of these notebooks stand in a notebook's text."""
    known = [ids_of(path, path.stat().st_mtime_ns) for path in notebooks if path.exists()]
    return len(ids_in(content.decode("utf-8", "replace")).intersection(frozenset().union(*known)))


@lru_cache(maxsize=256)
def ids_of(path: Path, changed: int) -> frozenset[str]:
    """Of a notebook's cells; it is read once for a whole archive."""
    return ids_in(path.read_text(encoding="utf-8", errors="replace"))


def ids_in(text: str) -> frozenset[str]:
    return frozenset(re.findall(r'"grade_id":\s*"([^"]+)"', text)) - {"setup"}


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
    return max(own, key=lambda stem: ids_found(content, [assignment.source.with_name(f"{stem}.ipynb")]))


def collect(course: Course, archive: Path, only: str | None = None) -> Collected:
    """Put every recognised notebook into submitted/STUDENT/ASSIGNMENT/NOTEBOOK.ipynb.

    Of several for one place, the last one that bears its name wins, and is said; so is everything that is left out.
    """
    if not archive.exists():
        raise CourseError(f"{archive} does not exist: give the archive you downloaded, or a folder")
    if archive.is_file():
        archive.open("rb").close()  # whoever may not read it is told so
    roster, hand_ins = load_roster(course), HandIns(course)
    known = {folder.name for folder in (course.root / "submitted").glob("*") if folder.is_dir()} | set(roster.people)
    owners = Owners(
        names_in(archive), archive.name.partition(".")[0], {assignment.id for assignment in course.assignments}, known
    )
    matching = Matching(course, roster, hand_ins, gradescope_metadata(archive, owners))
    collecting = Collecting(course, only, roster, hand_ins, matching, archive.name)
    collecting.plainly_named = owners.plainly_named()
    for found in members(archive):
        collecting.take(found, owners.of(found.handed_in_as))
    return collecting.finished()


def gradescope_metadata(archive: Path, owners: Owners) -> dict[str, gradescope_export.Submission]:
    """What Gradescope says about the folders of its export. A file of that name in a student's folder says nothing."""
    wanted = (*owners.wrapped, gradescope_export.METADATA)
    with suppress(*DAMAGE):
        for name, opened in entries(archive):
            if parts_of(name) == wanted:
                with opened() as stream:
                    return gradescope_export.submissions_in(stream.read(gradescope_export.LARGEST))
    return {}


class Collecting:
    """Puts one file after the other in its place."""

    def __init__(
        self,
        course: Course,
        only: str | None,
        roster: Roster,
        hand_ins: HandIns,
        matching: Matching,
        archive: str,
    ) -> None:
        self.course, self.only, self.roster, self.matching, self.archive = course, only, roster, matching, archive
        self.result = Collected()
        self.places: dict[str, Owner] = {}  # whose folder below submitted/ it is, in this archive
        self.plainly_named: set[str] = set()  # students who have a folder of exactly their name in this archive
        self.spelled: dict[str, str] = {}  # by place: the bytes of that name, as they came first
        self.before = hand_ins
        self.taken: dict[Path, bool] = {}  # notebooks in place, and whether the file bore that name
        self.files: dict[tuple[str, str], dict[str, str]] = {}  # by student and assignment: as the archive calls them
        self.odd: list[tuple[str, str]] = []  # (place, name) of files that are no notebooks
        self.came: set[str] = set()  # places of which a notebook came

    def take(self, found: Member, owner: Owner | None) -> None:
        if found.problem:
            if PurePosixPath(found.name).name == gradescope_export.METADATA:
                return
            self.result.skipped.append((found.name, found.problem))
            if not found.odd:
                self.result.unplaced.append(found.name)
            elif owner is not None:
                self.odd.append((owner.place, found.name))
            return
        if owner is None:
            self.refuse(found.name, "whose submission is this? Put it into a folder named after the student")
            return
        if self.spelled.setdefault(owner.place, spelling := spelling_of(owner.place, found.handed_in_as)) != spelling:
            self.refuse(found.name, f"there are two folders that are both spelled {owner.place!r}: rename one of them")
            return
        assignment = self.only or assignment_of(self.course, found.name, found.content, self.archive)
        if assignment is None:
            self.refuse(found.name, "of which assignment? Say so with --assignment")
            return
        owner = self.matching.of(owner, assignment)
        if self.is_revealed(found.name, owner, assignment):
            return
        student = self.folder_of(found.name, owner, assignment)
        if student is not None:
            self.put(found, student, assignment, owner)

    def is_revealed(self, name: str, owner: Owner, assignment: str) -> bool:
        """Is this the file that somebody handed in anonymously? Then that is graded, and counts for its author."""
        holder = self.before.anonymous_author_of(assignment, owner.file) if owner.system == "canvas" else None
        if holder is None:
            return False
        self.before.add_member(assignment, holder, owner.student)
        self.came.add(owner.place)
        self.result.skipped.append((name, f"it is the work of {holder}, which counts for {owner.student} now"))
        return True

    def refuse(self, name: str, reason: str) -> None:
        self.result.skipped.append((name, reason))
        self.result.unplaced.append(name)

    def folder_of(self, name: str, owner: Owner, assignment: str) -> str | None:
        """The folder below submitted/ for this owner, which no other owner writes to, in this archive or in one
        before.
        """
        student = owner.student
        stranger = not owner.known and student in self.roster.people  # called as somebody on the roster is
        if not stranger and self.is_theirs(student, owner, assignment):
            return student
        if owner.number and not owner.known:
            student = f"{owner.student}-{owner.number}"
            if self.is_theirs(student, owner, assignment):
                self.result.skipped.append(
                    (name, f"there are two people called {owner.student}: this one is put into {student}")
                )
                return student
        if stranger:
            self.refuse(name, f"{owner.place!r} is not {owner.student} of the roster, and has no other name: rename it")
            return None
        other = self.places[student].place if student in self.places else self.before.get(student, assignment).place
        other = student if student in self.plainly_named else other
        self.refuse(name, f"{owner.place!r} and {other!r} would both be the student {student}: rename one of them")
        return None

    def is_theirs(self, student: str, owner: Owner, assignment: str) -> bool:
        """Is this folder the owner's, or nobody's yet?"""
        if student in self.plainly_named and owner.place != student and not owner.known:
            return False  # signs that nobody sees, spaces, …: whoever is called so plainly comes first
        if student in self.places:
            return self.places[student].place == owner.place
        if self.before.is_anothers(student, owner, assignment):
            return False
        self.places[student] = owner
        return True

    def put(self, found: Member, student: str, assignment: str, owner: Owner) -> None:
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
            self.put_time(target.with_name("timestamp.txt"), student, assignment, owner)
        except CourseError as error:
            self.refuse(found.name, str(error))
            return
        self.taken[target] = exact
        self.came.add(owner.place)
        files = self.files.setdefault((student, assignment), {})
        files[notebook] = PurePosixPath(found.handed_in_as).name
        self.before.remember(student, owner, assignment, files)
        if (student, assignment) not in self.result.placed:
            self.result.placed.append((student, assignment))
            self.tell(found.name, student, assignment, owner)

    def put_time(self, path: Path, student: str, assignment: str, owner: Owner) -> None:
        """nbgrader's timestamp. One that a person has changed stays."""
        before = self.before.get(student, assignment).time
        now = path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""
        if now not in ("", before, owner.time):
            self.result.skipped.append((f"{student}/{assignment}/timestamp.txt", "somebody changed it: it stays"))
        elif owner.time:
            write_whole(path, f"{owner.time}\n")
        elif now:
            path.unlink()

    def tell(self, name: str, student: str, assignment: str, owner: Owner) -> None:
        """What an instructor is to know of a submission that was put in its place."""
        others = [member for member in owner.members if member != student]
        if others:
            self.result.groups[student] = others
        for member in others:
            if (self.course.root / "submitted" / member / assignment).is_dir():
                self.result.skipped.append(
                    (name, f"{member} handed in alone before: that still counts for {member}, unless you remove it")
                )
        for earlier in self.before.earlier_names(student, owner, assignment) if owner.known else ():
            if (self.course.root / "submitted" / earlier / assignment).is_dir():
                self.result.skipped.append(
                    (name, f"it was collected as {earlier} before: remove submitted/{earlier}/{assignment}")
                )
        if owner.late:
            self.result.late.append((student, assignment))
            if not owner.time:
                self.result.skipped.append(
                    (name, f"it is late, and course.toml has no due date of {assignment}: nothing will be taken off")
                )
        if self.roster and not owner.known and owner.system != "canvas anonymous":
            self.result.not_on_roster.append(student)
            self.result.skipped.append(
                (name, f"{student} is not on the roster: read a newer one with `course roster`, and collect again")
            )

    def finished(self) -> Collected:
        """With those named of whom nothing but other files came, and those of whom nothing came."""
        self.result.unplaced += [name for place, name in self.odd if place not in self.came]
        assignments = dict.fromkeys(assignment for _, assignment in self.result.placed)
        for assignment in assignments or ([self.only] if self.only else ()):
            held = self.before.holders(assignment)
            for person in self.roster.people.values():
                if person.id in held or (self.course.root / "submitted" / person.id / assignment).is_dir():
                    continue
                excused = person.is_excused(assignment)
                (self.result.excused if excused else self.result.missing).append((person.id, assignment))
        self.before.save()
        return self.result
