"""The course on disk: where it is, what `course.toml` says, and how files are written (whole, or not at all)."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from autograder.model.policy import Policy, moment
from autograder.model.regrade import checked_address
from helpers.student import files
from helpers.student.files import CourseError as CourseError
from helpers.student.files import is_hidden
from helpers.student.files import write_whole as write_whole

STUDENTS_FOLDERS = ("submitted", "autograded", "feedback")  # below the course's root: what students wrote lies there


@dataclass(frozen=True)
class Assignment:
    """One entry of `course.toml`, with its places in the tree."""

    root: Path
    id: str
    title: str
    part: str
    minutes: int
    needs: tuple[str, ...] = ()
    limits: tuple[tuple[str, float], ...] = ()
    due: datetime | None = None
    groups: bool = False  # one member of a group hands in for all
    lms_name: str = ""  # what the LMS calls it, where that is neither its id nor its title
    picture: int = 1  # which of its figures the site's map shows

    @property
    def source(self) -> Path:
        return self.root / "solutions" / self.id / f"{self.id}.py"

    @property
    def instructor_notebook(self) -> Path:
        return self.source.with_suffix(".ipynb")

    @property
    def ordinary_notebooks(self) -> list[Path]:
        """An assignment without a script is a folder of ordinary nbgrader notebooks."""
        folder = self.source.parent
        return (
            []
            if self.source.exists()
            else sorted(path for path in folder.glob("*.ipynb") if not path.name.startswith("."))
        )

    @property
    def student_notebook(self) -> Path:
        return self.root / "notebooks" / self.id / f"{self.id}.ipynb"

    @property
    def student_notebooks(self) -> list[Path]:
        """What students get: one notebook, or as many as the folder of ordinary notebooks has."""
        return [self.student_notebook.with_name(path.name) for path in self.ordinary_notebooks] or [
            self.student_notebook
        ]

    def data_files(self) -> dict[str, Path]:
        """The files that students need beside the notebook, by name.

        Of a scripted assignment no Python file is one: it may be a source.
        """
        folder = self.source.parent
        private = (".ipynb", ".pyc", ".py") if self.source.exists() else (".ipynb", ".pyc")
        found = {
            path.relative_to(folder): path
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix not in private
        }
        return {
            name.as_posix(): path for name, path in found.items() if not is_hidden(name) and name.name != "mistakes.py"
        }

    @property
    def mistakes(self) -> Path:
        return self.source.with_name("mistakes.py")


@dataclass(frozen=True)
class Course:
    """`course.toml`, read."""

    root: Path
    title: str
    course_id: str
    repository: str
    tag: str  # what Colab opens and installs: the release that the notebooks were built for
    assignments: tuple[Assignment, ...]
    gradebook: str = ""
    common_limits: tuple[tuple[str, float], ...] = ()
    secret_file: str = ""  # where the secret of the class lies, if not in .course/
    policy: Policy | None = None  # without one, late penalties are nbgrader's own
    student_repository: str = ""  # the public one, with what `course release` makes; without it, `repository` is public
    regrade: str = ""  # where students ask for a second look
    figures: bool = False  # grading also runs the cells that only show something
    self_study_repository: str = ""  # the public one of the package with answers, if there is one
    self_study: bool = False  # this is that package's description, with a version of its own

    @property
    def zone(self) -> tzinfo | None:
        """Of times that are written without one."""
        return self.policy.zone if self.policy is not None else None

    def select(self, ids: tuple[str, ...] | list[str]) -> list[Assignment]:
        """The named assignments, or all of them; a wrong name gets the nearest right one as advice."""
        known = {a.id: a for a in self.assignments}
        for name in ids:
            if name not in known:
                near = [one for one in known if name and name in one][:1] or get_close_matches(
                    name, known, n=1, cutoff=0.6
                )
                advice = f"did you mean {near[0]}?" if near else f"course.toml knows: {', '.join(known)}"
                raise CourseError(f"unknown assignment {name!r}: {advice}")
        return [known[name] for name in ids] or list(self.assignments)

    def colab_link(self, assignment: Assignment, notebook: Path | None = None) -> str:
        """The badge's target: the notebook in the repository that students see, at the release's tag."""
        home = self.student_repository or self.repository
        path = home.removeprefix("https://github.com/").removesuffix(".git")
        name = (notebook or assignment.student_notebook).name
        return f"https://colab.research.google.com/github/{path}/blob/{self.tag}/notebooks/{assignment.id}/{name}"


def find_root(start: Path | None = None) -> Path:
    """The folder with `course.toml`, unless that came with a submission."""
    return not_handed_in(files.find_root(start))


def not_handed_in(root: Path) -> Path:
    """This folder, unless it came with a submission: nbgrader_config.py beside a course.toml is code, and would run
    with your rights.
    """
    if (course := course_that_got(root)) is not None:
        raise CourseError(f"{root / 'course.toml'} came with a submission and is not used: run `course` in {course}")
    return root


def course_that_got(path: Path) -> Path | None:
    """The course whose submissions this file or folder lies among; None where it is no part of a submission."""
    for folder in (path, *path.parents):
        if folder.name in STUDENTS_FOLDERS and (folder.parent / "course.toml").is_file():
            return folder.parent
    return None


def load(root: Path | None = None) -> Course:
    """Read and check `course.toml`."""
    root = root or find_root()
    path = root / "course.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CourseError(f"{path} is missing: run `course` inside the course folder, or set COURSE_ROOT") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} is not valid TOML: {error}") from None
    try:
        policy = Policy.from_table(table["policy"]) if "policy" in table else None
        zone = policy.zone if policy is not None else None
        entries = tuple(
            Assignment(
                root,
                str(e["id"]),
                str(e["title"]),
                str(e["part"]),
                int(e["minutes"]),
                tuple(e.get("needs", ())),
                tuple(e.get("limits", {}).items()),
                due_date(e, zone),
                bool(e.get("groups", False)),
                str(e.get("lms_name", "")),
                int(e.get("picture", 1)),
            )
            for e in table.get("assignment", [])
        )
        limits = tuple(table.get("limits", {}).items())
        tag, book = table.get("tag") or table.get("branch", "main"), table.get("gradebook", "")
        figures = bool(table.get("figures", False))
        head = (table["title"], table["course_id"], table["repository"], tag)
        students = str(table.get("student_repository", ""))
        regrade = checked_address(table.get("regrade", ""))
        secret_file = str(table.get("secret_file", ""))
        alone = str(table.get("self_study_repository", ""))
        return Course(root, *head, entries, book, limits, secret_file, policy, students, regrade, figures, alone)
    except KeyError as error:
        raise CourseError(f"{path}: the key {error} is missing") from None
    except ValueError as error:
        raise CourseError(f"{path}: {error}") from None


def due_date(entry: Mapping[str, Any], zone: tzinfo | None) -> datetime | None:
    """`due` of an assignment. ValueError with a sentence where it cannot be read."""
    if "due" not in entry:
        return None
    try:
        return moment(entry["due"], zone)
    except ValueError as error:
        raise ValueError(f"due of {entry['id']}: {error}") from None


def remove_stale_folders(place: Path, prefix: str) -> None:
    """Remove folders that processes left here when they were killed: after the prefix, the name says whose they are."""
    for folder in place.glob(f"{prefix}*-*") if sys.platform == "linux" else ():
        owner = folder.name.removeprefix(prefix).split("-")[0]
        if owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
            shutil.rmtree(folder, ignore_errors=True)


def replace_folder(new: Path, target: Path) -> None:
    """Put the finished folder `new` where `target` is; the old one goes only when the new one stands."""
    old = target.with_name(f".{target.name}.old")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(old, ignore_errors=True)
        if target.exists():
            os.replace(target, old)
        os.replace(new, target)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        if old.exists() and not target.exists():
            os.replace(old, target)
        raise CourseError(
            f"cannot write {target}: {error.strerror or error}. Choose a folder you may write to."
        ) from None
