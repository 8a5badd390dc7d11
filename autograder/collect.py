"""`course collect`: submissions out of an LMS archive (or a folder) into `submitted/`, one notebook per student."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from autograder.course import Course, CourseError, write_whole

LARGEST_NOTEBOOK = 50 * 2**20

# How the systems name what they hand out; `student` becomes the folder's name.
NAMES = [
    re.compile(r"(?:.*/)?(?P<student>[^/]+)_\d+_assignsubmission_file_?/[^/]*\.ipynb"),  # Moodle: Name_123_assignsubmission_file_/x.ipynb
    re.compile(r"(?:.*/)?(?P<student>[^/_]+)_(?:LATE_)?\d+_\d+_[^/]*\.ipynb"),  # Canvas: name_123_456_x.ipynb
    re.compile(r"(?:.*/)?submission_(?P<student>\d+)/[^/]*\.ipynb"),  # Gradescope: submission_123/x.ipynb
    re.compile(r"(?:.*/)?(?P<student>[^/]+)/(?P<assignment>[^/]+)/[^/]+\.ipynb"),  # nbgrader: student/assignment/x.ipynb
    re.compile(r"(?:.*/)?(?P<student>[^/]+)/[^/]+\.ipynb"),  # student/x.ipynb
]


@dataclass
class Collected:
    """What happened: notebooks put in place, and files that were left out, with the reason."""

    placed: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


def members(archive: Path) -> Iterator[tuple[str, int, bytes]]:
    """(name, size, content) of every notebook in a zip, tar or folder. Links are not followed; large files are not read."""
    if archive.is_dir():
        for path in sorted(archive.rglob("*.ipynb")):
            if path.is_file() and not path.is_symlink() and path.resolve().is_relative_to(archive.resolve()):
                size = path.stat().st_size
                yield path.relative_to(archive).as_posix(), size, path.read_bytes() if size <= LARGEST_NOTEBOOK else b""
    elif zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as bundle:
            for info in bundle.infolist():
                if info.filename.endswith(".ipynb") and not info.is_dir():
                    with bundle.open(info) as stream:  # what an entry says of its size is not believed
                        content = stream.read(LARGEST_NOTEBOOK + 1)
                    yield info.filename, len(content), content
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as bundle:
            for entry in bundle:
                if entry.isfile() and entry.name.endswith(".ipynb"):
                    member = bundle.extractfile(entry)
                    content = member.read(LARGEST_NOTEBOOK + 1) if member is not None else b""
                    yield entry.name, len(content), content
    else:
        raise CourseError(f"{archive} is neither a folder nor a zip or tar archive")


def student_of(name: str) -> str | None:
    """The student's id as the archive's naming has it, made safe as a folder's name; None where it cannot be told."""
    path = PurePosixPath(name.replace("\\", "/")).as_posix()
    for pattern in NAMES:
        match = pattern.fullmatch(path)
        if match:
            student = re.sub(r"[^\w.@+-]+", "-", match["student"].strip()).strip("-.")
            return student or None
    return None


def assignment_of(course: Course, name: str, content: bytes) -> str | None:
    """The assignment a notebook belongs to: by its name or folder, else by the ids of its cells."""
    for assignment in course.assignments:
        if assignment.id in name:
            return assignment.id
    text = content.decode("utf-8", "replace")
    best = {a.id: sum(f'"grade_id": "{grade_id}"' in text for grade_id in ids_of(a.source)) for a in course.assignments}
    winner = max(best, key=lambda key: best[key], default=None)
    return winner if winner is not None and best[winner] > 3 else None


def ids_of(source: Path) -> list[str]:
    return re.findall(r'"grade_id": "([^"]+)"', source.read_text(encoding="utf-8")) if source.exists() else []


def collect(course: Course, archive: Path, only: str | None = None) -> Collected:
    """Put every recognised notebook into submitted/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb. The last of several wins, and is said."""
    if not archive.exists():
        raise CourseError(f"{archive} does not exist: give the archive you downloaded, or a folder")
    result = Collected()
    for name, size, content in members(archive):
        student = student_of(name)
        assignment = only or assignment_of(course, name, content)
        if "__MACOSX" in name or ".ipynb_checkpoints" in name:
            continue
        if size > LARGEST_NOTEBOOK:
            result.skipped.append((name, f"larger than {LARGEST_NOTEBOOK // 2**20} MiB"))
        elif student is None:
            result.skipped.append((name, "whose submission is this? Put it into a folder named after the student"))
        elif assignment is None:
            result.skipped.append((name, "of which assignment? Say so with --assignment"))
        else:
            if (student, assignment) in result.placed:
                result.skipped.append((name, f"{student} handed in more than one notebook: this one replaced the one before"))
            else:
                result.placed.append((student, assignment))
            write_whole(course.root / "submitted" / student / assignment / f"{assignment}.ipynb", content)
    return result
