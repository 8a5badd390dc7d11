"""What is to be graded: the submissions below `submitted/`, their files, and a digest of all that their result depends
on.

No link is followed and nothing is executed here. (Nor is nbgrader imported: that takes two seconds, in which the
workers warm up.)
"""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.classroom.kept_results import kept_results
from autograder.examiner.limits import Limits
from autograder.examiner.pool import Submission
from autograder.examiner.repair import MOST_BYTES, Unreadable, normal, read
from autograder.model import names
from autograder.model.course import Assignment, Course
from autograder.model.notebook import Notebook
from autograder.model.record import Repair, RepairKind

RECORD = "grading.json"
MOST_FILES, MOST_FILE_BYTES, DEEPEST = 200, 50 << 20, 20
MOST_COMPARED = 20 << 20  # bytes of a notebook that is one of several
IGNORED = [
    RECORD,
    "*.ipynb",
    "*.html",
    "*.pyc",
    "__pycache__*",
    ".ipynb_checkpoints*",
    "timestamp.txt",
    "mistakes.py",
    "[0-9][0-9]-*.py",
    ".*",
]
ENDINGS = (".ipynb", ".ipynb.txt", ".ipynb.json")  # what browsers make of it


@dataclass
class Job:
    """One notebook of one submission."""

    student: str
    folder: Path
    notebook: str
    path: str | None
    repairs: list[dict[str, Any]]  # as JSON: they travel with the job
    files: list[tuple[str, str]]
    digest: str
    tries: int = 0
    given: list[str] = field(default_factory=list)  # those of the files that are the instructor's
    tools: str = ""  # a digest of tools, versions and limits
    record: Path | None = None  # where the results of the last run are, if they may be used again

    def submission(self, assignment: str, limits: Limits) -> Submission:
        """The same as a pool takes it."""
        known = kept_results(self.record, self.notebook) if self.record is not None else None
        return Submission(
            assignment,
            self.notebook,
            limits,
            self.path,
            None,
            self.repairs,
            self.files,
            self.given,
            self.tools,
            known,
        )


def likely_modules(assignment: Assignment) -> list[str]:
    """What the released notebooks import: enough to warm up with while the gradebook is looked at."""
    modules: dict[str, None] = {}
    for path in filter(Path.is_file, assignment.student_notebooks):
        for cell in Notebook.from_json(path.read_bytes()):
            if cell.kind == "code":
                modules |= dict.fromkeys(names.imported_modules(cell.source))
    return list(modules)


def submissions(course: Course, assignment: Assignment, student: str) -> list[tuple[str, Path]]:
    """Students with a submission of this assignment, and its folder."""
    root = course.root / "submitted"
    found = []
    for folder in sorted(root.iterdir()) if root.is_dir() else []:
        if fnmatch.fnmatchcase(folder.name, student) and may_be_there(folder / assignment.id):
            found.append((folder.name, folder / assignment.id))
    return found


def may_be_there(path: Path) -> bool:
    """False only where there is nothing: what a disk or a right keeps from being looked at is found out by reading."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def jobs_of(
    course: Course, assignment: Assignment, student: str, folder: Path, names: list[str], base: str
) -> list[Job]:
    """A job per notebook, with the files that belong beside it and the digest of everything the result depends on."""
    listed = list(safe_files(folder))
    own = [(name, path) for name, path in listed if not ignored(name)]
    given = [(name, path) for name, path in safe_files(assignment.source.parent) if not ignored(name)]
    found = []
    for name in names:
        path, repairs = find_notebook(
            folder, listed, name, names, assignment.student_notebook.with_name(f"{name}.ipynb")
        )
        beside = {
            (str(p.relative_to(path.parent)) if path and p.is_relative_to(path.parent) else label): p
            for label, p in own
        }
        files = [(label, str(p)) for label, p in {**beside, **dict(given)}.items()]
        digest = hashlib.sha256(base.encode())
        for label, place in [*sorted(own), *sorted(given), ("notebook", path), ("timestamp", folder / "timestamp.txt")]:
            digest.update(f"\n{label}\n".encode("utf-8", "replace"))
            if place is not None and place.is_file() and not place.is_symlink():
                add_file(digest, place)
        labels = [label for label, _ in given]
        mended = [repair.to_json() for repair in repairs]
        found.append(
            Job(
                student,
                folder,
                name,
                str(path) if path is not None else None,
                mended,
                files,
                digest.hexdigest(),
                given=labels,
            )
        )
    return found


def add_file(digest: Any, path: Path) -> None:
    """Size and beginning of a file: what is longer than a notebook can be is refused without being read."""
    try:
        digest.update(str(path.stat().st_size).encode())
        with open(path, "rb") as file:
            left = MOST_BYTES
            while left > 0 and (chunk := file.read(min(left, 1 << 20))):
                digest.update(chunk)
                left -= len(chunk)
    except OSError as error:  # the record of this submission will say so
        digest.update(str(error.strerror).encode())


def ignored(name: str) -> bool:
    return any(
        fnmatch.fnmatch(part, pattern)
        for pattern in IGNORED
        for part in (name, name.rpartition("/")[2], name.partition("/")[0])
    )


def safe_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Regular files below a folder, by relative name: notebooks, and others up to a number and a size.

    No link is followed.
    """
    if folder.is_symlink() or not folder.is_dir():
        return
    count, size = 0, 0
    left = [(folder, 0)]
    while left:
        place, depth = left.pop(0)
        for path in sorted(place.iterdir(), key=lambda path: path.name):
            if (
                path.is_symlink() or path.name == "__MACOSX" or path.name.startswith("._")
            ):  # what a Mac adds to an archive
                continue
            if path.is_dir():
                left += [(path, depth + 1)] if depth < DEEPEST else []
                continue
            if not path.is_file():
                continue
            if not path.name.lower().endswith(ENDINGS):
                count, size = count + 1, size + path.stat().st_size
                if count > MOST_FILES or size > MOST_FILE_BYTES:
                    continue
            yield str(path.relative_to(folder)), path


def find_notebook(
    folder: Path, listed: list[tuple[str, Path]], name: str, names: list[str], given: Path
) -> tuple[Path | None, list[Repair]]:
    """The submitted notebook: under its own name, or the one that must be it.

    Of several, one that somebody worked on.
    """
    exact = folder / f"{name}.ipynb"
    copies = [
        path
        for label, path in listed
        if label.lower().endswith(ENDINGS) and path != exact and (path.stem not in names or path.stem == name)
    ]
    others = [path for path in copies if ".ipynb_checkpoints" not in path.parts] or (
        [] if may_be_there(exact) else copies
    )
    more = [Repair.of(RepairKind.OTHERS_IGNORED, files=[path.name for path in others[:5]])] if others else []
    if may_be_there(exact) and not (others and len(names) == 1 and nothing_in(exact, given)):
        return exact, more if len(names) == 1 else []
    inside = [path for path in others if path.name == exact.name]
    similar = [
        path for path in others if name.lower() in path.stem.lower().replace(" ", "-").replace("_", "-")
    ] or others
    found = inside or (similar if len(names) == 1 else [])
    by_age = sorted(found, key=lambda path: (path.stat().st_mtime, path.name), reverse=True)
    chosen = next(
        (path for path in by_age if len(by_age) == 1 or not nothing_in(path, given)), by_age[0] if by_age else None
    )
    if may_be_there(exact):
        if chosen is None or nothing_in(chosen, given):
            return exact, more
        return chosen, [Repair.of(RepairKind.OTHER_TAKEN, file=exact.name, taken=chosen.name), *more]
    if chosen is None:
        return None, []
    if chosen in inside:
        return chosen, [Repair.of(RepairKind.IN_FOLDER, folder=chosen.parent.name), *(more if len(others) > 1 else [])]
    return chosen, [
        Repair.of(RepairKind.FILE_RENAMED, file=chosen.name, notebook=name),
        *(more if len(others) > 1 else []),
    ]


def nothing_in(path: Path, given: Path) -> bool:
    """Is there nothing to grade in this file: what was given, or nothing that can be read?"""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_COMPARED:
            return False
        texts = [[normal(cell.source) for cell in read(one.read_bytes())] for one in (path, given)]
    except Unreadable:
        return True
    except OSError:
        return False
    return texts[0] == texts[1]


def combined(jobs: list[Job]) -> str:
    return hashlib.sha256("".join(job.digest for job in jobs).encode()).hexdigest()
