"""`course collect`: submissions out of an LMS archive (or a folder) into `submitted/`, one notebook per student."""

from __future__ import annotations

import io
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from autograder.course import Course, CourseError, write_whole

LARGEST_NOTEBOOK = 50 * 2**20
MOST_INSIDE = 20  # notebooks of a student's own archive that are looked at
UNREADABLE = (OSError, RuntimeError, NotImplementedError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, tarfile.TarError)

# How the systems name what they hand out; `student` becomes the folder's name, `number` tells two people of one name apart.
NAMES = [
    re.compile(r"(?:.*/)?(?P<student>[^/]+)_(?P<number>\d+)_assignsubmission_file_?/.*"),  # Moodle: Name_123_assignsubmission_file_/x.ipynb
    re.compile(r"(?:.*/)?(?P<student>[^/_]+)_(?:LATE_)?(?P<number>\d+)_\d+_[^/]*"),  # Canvas: name_123_456_x.ipynb
    re.compile(r"(?:.*/)?submission_(?P<student>\d+)/.*"),  # Gradescope: submission_123/x.ipynb
]
FOLDER = re.compile(r"(?:.*/)?(?P<student>[^/]+)/[^/]+")  # student/x.ipynb
NOTEBOOKS = (".ipynb", ".ipynb.txt", ".ipynb.json")  # the last two are what browsers make of it


@dataclass
class Collected:
    """What happened: notebooks put in place, and files that were left out, with the reason."""

    placed: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Member:
    """A file of an archive: its content, or why there is none."""

    name: str
    content: bytes = b""
    problem: str = ""
    outer: str = ""  # where it came in an archive of the student's own: that archive's name

    @property
    def handed_in_as(self) -> str:
        return self.outer or self.name


def members(archive: Path) -> Iterator[Member]:
    """Every file in a zip, tar or folder. Links are not followed; only notebooks are read, and only up to a size."""
    if archive.is_dir():
        for path in sorted(archive.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.resolve().is_relative_to(archive.resolve()):
                yield from member_or_more(path.relative_to(archive).as_posix(), partial(path.open, "rb"))
    elif zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as bundle:
            for info in bundle.infolist():
                if not info.is_dir() and not stat.S_ISLNK(info.external_attr >> 16):
                    yield from member_or_more(info.filename, partial(bundle.open, info))
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as files:
            try:
                for entry in files:
                    if entry.isfile():
                        yield from member_or_more(entry.name, partial(files.extractfile, entry))
            except (tarfile.TarError, EOFError, OSError, zlib.error):
                yield Member(archive.name, problem="the archive is damaged: what comes after this is lost. Download it again")
    else:
        raise CourseError(f"{archive} is neither a folder nor a zip or tar archive")


def member_or_more(name: str, opened: Callable[[], Any]) -> Iterator[Member]:
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
                yield replace(member(f"{name}/{info.filename}", partial(bundle.open, info)), outer=name)
    except UNREADABLE as error:
        yield Member(name, problem=f"it cannot be read: {error}")
        return
    if not inner:
        yield Member(name, problem="there is no notebook (.ipynb) in it")


def member(name: str, opened: Callable[[], Any]) -> Member:
    if not name.lower().endswith(NOTEBOOKS):
        return Member(name, problem="it is not a notebook (.ipynb)")
    try:
        with opened() as stream:  # what an entry says of its size is not believed
            content = stream.read(LARGEST_NOTEBOOK + 1)
    except UNREADABLE as error:
        return Member(name, problem=f"it cannot be read: {error}")
    return Member(name, content, f"larger than {LARGEST_NOTEBOOK // 2**20} MiB" if len(content) > LARGEST_NOTEBOOK else "")


def student_of(name: str, assignments: Collection[str] = ()) -> tuple[str, str] | None:
    """The student's id as the archive's naming has it, made safe as a folder's name, and a number; None where it cannot be told."""
    path = PurePosixPath(name.replace("\\", "/")).as_posix()
    match = next((found for pattern in NAMES if (found := pattern.fullmatch(path))), None)
    if match is None:
        parts = path.split("/")
        inner = next((place for place in range(len(parts) - 2, 0, -1) if parts[place] in assignments), None)
        student = parts[inner - 1] if inner else found["student"] if (found := FOLDER.fullmatch(path)) else ""
    else:
        student = match["student"]
    safe = re.sub(r"[^\w.@+-]+", "-", student.strip()).strip("-.")[:120]
    return (safe, match.groupdict().get("number") or "" if match else "") if safe else None


def assignment_of(course: Course, name: str, content: bytes) -> str | None:
    """The assignment a notebook belongs to: by its name or folder, else by the ids of its cells."""
    for assignment in course.assignments:
        if assignment.id in name:
            return assignment.id
    text = re.sub(r'"grade_id":\s*', '"grade_id": ', content.decode("utf-8", "replace"))
    best = {a.id: sum(f'"grade_id": "{grade_id}"' in text for grade_id in ids_of(a.source)) for a in course.assignments}
    winner = max(best, key=lambda key: best[key], default=None)
    return winner if winner is not None and best[winner] > 3 else None


def ids_of(source: Path) -> list[str]:
    return re.findall(r'"grade_id": "([^"]+)"', source.read_text(encoding="utf-8")) if source.exists() else []


def collect(course: Course, archive: Path, only: str | None = None) -> Collected:
    """Put every recognised notebook into submitted/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb.

    Of several, the last one that bears the assignment's name wins, and is said; so is everything that is left out.
    """
    if not archive.exists():
        raise CourseError(f"{archive} does not exist: give the archive you downloaded, or a folder")
    result = Collected()
    ids = {assignment.id for assignment in course.assignments}
    numbers: dict[str, str] = {}
    named: set[tuple[str, str]] = set()
    for found in members(archive):
        name = found.name
        if "__MACOSX" in name or ".ipynb_checkpoints" in name or PurePosixPath(name).name.startswith("."):
            continue
        owner = student_of(found.handed_in_as, ids)
        assignment = only or assignment_of(course, name, found.content)
        if found.problem:
            result.skipped.append((name, found.problem))
            continue
        if owner is None:
            result.skipped.append((name, "whose submission is this? Put it into a folder named after the student"))
            continue
        if assignment is None:
            result.skipped.append((name, "of which assignment? Say so with --assignment"))
            continue
        student, number = owner
        if numbers.setdefault(student, number) != number:
            result.skipped.append((name, f"there are two people called {student}: this one is put into {student}-{number}"))
            student = f"{student}-{number}"
        exact = assignment in PurePosixPath(name).name
        if (student, assignment) in result.placed:
            if (student, assignment) in named and not exact:
                result.skipped.append((name, f"{student} handed in more than one notebook: another one bears the assignment's name"))
                continue
            result.skipped.append((name, f"{student} handed in more than one notebook: this one replaced the one before"))
        try:
            write_whole(course.root / "submitted" / student / assignment / f"{assignment}.ipynb", found.content)
        except CourseError as error:
            result.skipped.append((name, str(error)))
            continue
        named |= {(student, assignment)} if exact else set()
        if (student, assignment) not in result.placed:
            result.placed.append((student, assignment))
    return result
