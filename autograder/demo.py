"""`course demo`: a class with known true scores through every command, from the roster to returned marks.

It has its own folder, and in it its own course, gradebook, roster and secret. Roster and archive are named as Canvas
names them; the commands are those that an instructor types.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path

from autograder.authoring import build
from autograder.authoring.answers import submission
from autograder.authoring.made_up_class import MadeUpStudent, bank_of, made_up_students
from autograder.authoring.single_course import course_of_one
from autograder.authoring.statements import sums
from autograder.classroom import secret as secrets
from autograder.examiner import sandbox
from autograder.model.course import Assignment, Course, CourseError
from autograder.model.notebook import Cell, Notebook

Progress = Callable[[str], None]

MARKER = ".course-demo"  # in a folder that a demonstration made, and may replace
ABSENT = 3  # on the roster, and hand in nothing
EVERY_LATE = 13  # one in so many is late
PENALTY = 0.1
POLICY = f'[policy]\ntimezone = "UTC"\npenalty_per_day = {PENALTY}\n'
DUE = "2026-11-10 23:59"
COLUMN = 4711  # the assignment's number in Canvas
FIRST_NAMES = ("Ada", "Blaise", "Cleo", "Dalia", "Emil", "Fatima", "Grete", "Hugo")
LAST_NAMES = ("Abel", "Bose", "Curie", "Dirac", "Euler", "Fermi")
GRADEBOOK, ARCHIVE, PAGE, MARKS = "canvas-gradebook.csv", "submissions.zip", "class.html", "marks.csv"


@dataclass(frozen=True)
class Enrolled:
    """One on the roster. Who hands in has work with a known score; a late one pays for a day."""

    number: int
    first_name: str
    last_name: str
    work: MadeUpStudent | None = None
    late: bool = False

    @property
    def login(self) -> str:
        return f"{self.first_name}.{self.last_name}.{self.number}".lower()

    @property
    def true_score(self) -> float | None:
        if self.work is None:
            return None
        return round(self.work.score * (1 - PENALTY * self.late), 4)

    def file_name(self, assignment: str) -> str:
        """As Canvas calls what was handed in."""
        late = "_LATE" if self.late else ""
        name = f"{self.last_name}{self.first_name}".lower()
        return f"{name}{late}_{self.number}_{self.number + 9000}_{assignment}.ipynb"


@dataclass
class Demonstration:
    """What was done, and whether the marks are the known ones."""

    folder: Path
    students: int = 0
    handed_in: int = 0
    commands: list[tuple[str, float]] = field(default_factory=list)  # as typed, and the seconds each took
    wrong: list[tuple[str, float | None, str]] = field(default_factory=list)  # login, known score, mark
    page: Path | None = None  # a feedback page
    seconds: float = 0.0

    def to_look_at(self) -> list[tuple[str, str]]:
        """What there is now, and where."""
        places: list[tuple[str, Path | None]] = [("class page", self.folder / PAGE), ("a feedback page", self.page)]
        places += [("marks for Canvas", self.folder / MARKS)]
        return [(what, str(place)) for what, place in places if place is not None]

    def as_dict(self) -> dict[str, object]:
        return {**asdict(self), "folder": str(self.folder), "page": str(self.page), "look_at": dict(self.to_look_at())}


def demo_course(course: Course, assignment: Assignment, target: Path) -> Course:
    """A course of this one assignment in its own folder, so that a demonstration never touches a real gradebook."""
    if target.exists() and any(target.iterdir()):
        if not (target / MARKER).exists():
            raise CourseError(f"{target} is not a folder of a demonstration: give another one with --to")
        shutil.rmtree(target)
    target.mkdir(parents=True, exist_ok=True)
    (target / MARKER).touch()
    return course_of_one(course, assignment, target, POLICY, DUE)


def enrolled(students: list[MadeUpStudent]) -> Iterator[Enrolled]:
    """Everybody on the roster: those with work, then a few without."""
    people = list(product(FIRST_NAMES, LAST_NAMES))
    for place, work in enumerate([*students, *[None] * ABSENT]):
        first, last = people[place * 7 % len(people)]
        late = work is not None and place % EVERY_LATE == EVERY_LATE - 1
        yield Enrolled(1001 + place, first, last, work, late)


def write_lms_files(made: Course, assignment: Assignment, cells: list[Cell], people: list[Enrolled]) -> None:
    """Canvas's gradebook and its archive of submissions."""
    out_of, _ = sums(Notebook(cells).points())
    with open(made.root / GRADEBOOK, "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Student", "ID", "SIS User ID", "SIS Login ID", "Section", f"{assignment.id} ({COLUMN})"])
        writer.writerow(["    Points Possible", "", "", "", "", f"{out_of:.2f}"])
        for one in people:
            name = f"{one.last_name}, {one.first_name}"
            writer.writerow([name, one.number, f"S-{one.number}", one.login, "Lecture", ""])
    student = made.assignments[0].student_notebook.read_text(encoding="utf-8")
    with zipfile.ZipFile(made.root / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as bundle:
        for one in people:
            if one.work is not None:
                bundle.writestr(one.file_name(assignment.id), submission(student, one.work.answers))


def steps(assignment: str, unsafe: bool) -> list[list[str]]:
    """The commands of an instructor, in order."""
    return [
        ["roster", GRADEBOOK],
        ["collect", ARCHIVE],
        ["grade", assignment, *["--unsafe"] * unsafe],
        ["feedback", assignment, "--pack", "canvas"],
        ["report", assignment, "--html", PAGE],
        ["export", assignment, "--format", "canvas", "--to", MARKS],
    ]


def run_command(root: Path, args: list[str]) -> str:
    """One `course` command in the demonstration's folder; what it printed."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "autograder", *args],
        cwd=root,
        env={**os.environ, "COURSE_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CourseError(f"`course {' '.join(args)}` in {root} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def marks_of(path: Path) -> dict[int, str]:
    """The marks in a file for Canvas, by its numbers of the students."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    column = next(place for place, title in enumerate(rows[0]) if title.endswith(f"({COLUMN})"))
    return {int(row[1]): row[column] for row in rows[1:] if row[1]}


def differences(people: list[Enrolled], marks: dict[int, str]) -> Iterator[tuple[str, float | None, str]]:
    """Whose mark is not the known score. Who handed in nothing has none."""
    for one in people:
        mark = marks.get(one.number, "")
        known = one.true_score
        if (known is None) != (mark == "") or (known is not None and abs(float(mark) - known) > 5e-4):
            yield one.login, known, mark


def run(
    course: Course, assignment: Assignment, target: Path, count: int, progress: Progress = lambda text: None
) -> Demonstration:
    """Make the class, take it through the commands, and compare the marks with the known scores."""
    if assignment.ordinary_notebooks:
        raise CourseError(
            f"{assignment.id} has no mistakes.py to make up students from: give `course demo` an assignment that has a"
            " script"
        )
    begun = time.monotonic()
    progress("building")
    made = demo_course(course, assignment, target)
    (this,) = made.assignments
    cells, _ = build.checked_cells(this)
    secret = secrets.make(secrets.place(made))
    bank = bank_of(made, this, cells, secret, lambda text: progress(f"what answers are worth: {text}"))
    people = list(enrolled(made_up_students(cells, bank, count)))
    write_lms_files(made, this, cells, people)
    done = Demonstration(target, len(people), count)
    for args in steps(this.id, sandbox.why_not() is not None):
        typed = f"course {' '.join(args)}"
        progress(typed)
        before = time.monotonic()
        run_command(target, args)
        done.commands.append((typed, round(time.monotonic() - before, 1)))
    done.wrong = list(differences(people, marks_of(target / MARKS)))
    done.page = next(iter(sorted((target / "feedback").glob("*/*/*.html"))), None)
    done.seconds = round(time.monotonic() - begun, 1)
    return done
