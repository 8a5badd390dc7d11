"""nbgrader's gradebook: the assignment as it is stored there, and the one writer of results."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from nbgrader import utils
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.utils import parse_utc
from sqlalchemy.exc import SAWarning

from autograder.authoring import build
from autograder.classroom.database import gradebook_url, must_answer
from autograder.classroom.inbox import RECORD, ignored, safe_files
from autograder.classroom.nbgrader_command import nbgrader
from autograder.classroom.roster import Roster
from autograder.classroom.roster_store import load_roster
from autograder.classroom.totals import BONUS, Totals
from autograder.examiner import notebook as notebooks
from autograder.examiner.repair import normal
from autograder.model import wording
from autograder.model.course import Assignment, Course, CourseError, remove_stale_folders, replace_folder, write_whole
from autograder.model.published import Published, PublishedNotebook
from autograder.model.record import Record, Verdict

# ---- the assignment --------------------------------------------------------------------------------------------------


def register(course: Course, assignment: Assignment) -> dict[str, dict[str, Any]]:
    """The assignment's notebooks as the gradebook has them; brought up to date first where the sources have changed."""
    if out_of_date(course, assignment):
        only: list[str] = []
        if assignment.ordinary_notebooks:
            made = build.ordinary_notebooks(course, assignment)
            build.write({assignment.student_notebook.with_name(name): text for name, text in made.items()})
        else:
            only = [f"--notebook={assignment.id}"]  # not what somebody duplicated beside it
        with tempfile.TemporaryDirectory(
            prefix=f"course-{os.getpid()}-"
        ) as folder:  # notebooks/ is what `course build` made: nbgrader's copy of it goes elsewhere
            release = f"--CourseDirectory.release_directory={folder}"
            nbgrader(course, "generate_assignment", assignment.id, "--force", *only, release)
    layouts = released_notebooks(assignment)
    with open_gradebook(course) as book:
        found = {name: notebooks.from_gradebook(book, assignment.id, name, layout) for name, layout in layouts.items()}
    return {name: {**data, "looks": {}} if course.figures else data for name, data in found.items()}


def released_notebooks(assignment: Assignment) -> dict[str, dict[str, Any]]:
    """Name and cells of every notebook that students were given. Others that lie in the folder are somebody's own."""
    found = {}
    for path in assignment.student_notebooks:
        if not path.is_file():
            raise CourseError(f"{path} is missing: run `course build {assignment.id}` first")
        found[path.stem] = notebooks.layout_of(path.read_text(encoding="utf-8"))
    return found


def instructor_texts(course: Course, assignment: Assignment) -> dict[str, str]:
    """The instructor's notebooks as text; an assignment with a percent script is built, others are taken as they
    are.
    """
    if assignment.source.exists():
        cells, _ = build.checked_cells(assignment)
        text = build.instructor_notebook(course, assignment, cells)
        build.write({assignment.instructor_notebook: text}, keep=course.root / "kept")
        return {assignment.id: text}
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(assignment.source.parent.glob("*.ipynb"))}


def text_of(entry: dict[str, Any]) -> str:
    """The source of a cell as a notebook's file has it: one text, or its lines."""
    return entry["source"] if isinstance(entry["source"], str) else "".join(entry["source"])


def out_of_date(course: Course, assignment: Assignment) -> bool:
    """Does the gradebook lack this assignment, or have other tests than solutions/?"""
    texts = instructor_texts(course, assignment)
    if not texts:
        raise CourseError(f"solutions/{assignment.id} holds no source of this assignment")
    if not gradebook_exists(course):
        return True
    with open_gradebook(course) as book:
        for name, text in texts.items():
            try:
                notebook = book.find_notebook(name, assignment.id)
            except MissingEntry:
                return True
            stored = {cell.name: cell for cell in notebook.source_cells}
            points = {cell.name: cell.max_score for cell in [*notebook.grade_cells, *notebook.task_cells]}
            named = set()
            for entry in json.loads(text)["cells"]:
                known = entry["metadata"].get("nbgrader", {})
                if not known.get("grade_id"):
                    continue
                row = stored.get(known["grade_id"])
                named.add(known["grade_id"])
                if (known.get("grade") or known.get("task")) and points.get(known["grade_id"]) != float(
                    known["points"]
                ):
                    return True
                if row is None or (
                    row.locked and not known.get("solution") and row.source.strip() != text_of(entry).strip()
                ):
                    return True
            if set(stored) - named:
                return True
    return False


def gradebook_exists(course: Course) -> bool:
    return (
        not gradebook_url(course).startswith("sqlite:///")
        or Path(gradebook_url(course).removeprefix("sqlite:///")).exists()
    )


def due_date(book: Gradebook, assignment: Assignment) -> str:
    """As nbgrader has it; course.toml's is put there first, so that formgrader shows it."""
    stored = book.find_assignment(assignment.id)
    if assignment.due is not None and stored.duedate != parse_utc(assignment.due):
        stored.duedate = parse_utc(assignment.due)
        book.db.commit()
    return str(stored.duedate)


def open_gradebook(course: Course) -> Gradebook:
    """nbgrader's gradebook. Where somebody else is writing to the file, formgrader perhaps, wait a minute for it."""
    url = gradebook_url(course)
    must_answer(url)
    tools = str(Path(sys.executable).parent)
    if tools not in os.environ.get("PATH", "").split(
        os.pathsep
    ):  # nbgrader calls `alembic` from PATH when it makes a gradebook
        os.environ["PATH"] = f"{tools}{os.pathsep}{os.environ.get('PATH', '')}"
    return Gradebook(f"{url}?timeout=60" if url.startswith("sqlite:///") and "?" not in url else url, course.course_id)


def with_marks(answer: Mapping[str, Any]) -> Record:
    """The record that a worker sent, with what nbgrader reads from the graded notebook: points and comments."""
    record = Record.from_json(answer)
    verdicts, comments = {}, {}
    for cell in nbformat.from_dict(json.loads(record.notebook)).cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if not name:
            continue
        if utils.is_grade(cell):
            score, points = utils.determine_grade(cell)
            if utils.is_solution(cell) and record.is_missing(name):
                score = None  # it may stand somewhere else in the notebook: a person looks
            verdicts[name] = Verdict(score, points)
        if utils.is_task(cell):  # what it asks for may stand anywhere in the notebook: a person looks
            verdicts[name] = Verdict(
                None if record.unreadable is None else 0.0, float(cell.metadata.nbgrader["points"])
            )
        if utils.is_solution(cell) or utils.is_task(cell):
            blank = cell.metadata.nbgrader.get("checksum") == utils.compute_checksum(cell) and not utils.is_task(cell)
            comments[name] = wording.NO_RESPONSE if blank else None
    return record.with_verdicts(verdicts, comments)


# ---- manual grades ---------------------------------------------------------------------------------------------------


def what_was_judged(notebook: str) -> dict[str, str]:
    """By graded cell, everything that a person who gave points there has looked at: the answer, the test, its points.

    The answer to a written question is its own cell. To a test, it is the exercise of that name, or else the answers
    since the test before. A task may be answered anywhere.
    """
    cells = [(entry, entry["metadata"].get("nbgrader", {})) for entry in json.loads(notebook)["cells"]]
    written = {known["grade_id"]: seen(entry) for entry, known in cells if known.get("solution")}
    anywhere = [seen(entry) for entry, known in cells if known.get("solution") or not known.get("grade_id")]
    found = {}
    recent: list[str] = []
    for entry, known in cells:
        name = known.get("grade_id", "")
        if known.get("task"):
            parts = [*anywhere, seen(entry)]
        elif known.get("grade") and known.get("solution"):
            parts = [seen(entry)]
        elif known.get("grade"):
            exercise = name.removesuffix("-test")
            parts = [*([written[exercise]] if exercise in written else recent), seen(entry)]
            recent = []
        else:
            recent += [seen(entry)] if known.get("solution") else []
            continue
        found[name] = json.dumps([float(known.get("points", 0)), *parts])
    return found


def seen(entry: dict[str, Any]) -> str:
    """A cell's text, without the blanks at line ends that editors add and take away, and its pictures."""
    return json.dumps([normal(text_of(entry)), entry.get("attachments") or {}], sort_keys=True)


def same_as_judged(before: Path, now: str) -> set[str]:
    """Graded cells in which nothing has changed since the notebook was stored that a person has graded."""
    try:
        old = what_was_judged(before.read_text(encoding="utf-8"))
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
    ):  # there is none, or somebody has damaged it: a person looks again
        return set()
    return {name for name, judged in what_was_judged(now).items() if old.get(name) == judged}


# ---- one writer ------------------------------------------------------------------------------------------------------


class Writer:
    """Puts finished submissions where nbgrader keeps them: gradebook, notebook, record, in this order.

    The notebook that a person has graded stays until the gradebook knows what has changed since. The old record goes
    first: what is killed on the way is graded again.
    """

    def __init__(self, course: Course, assignment: Assignment, book: Gradebook) -> None:
        self.course, self.assignment, self.book = course, assignment, book
        stored = book.find_assignment(assignment.id)
        self.names = {
            cell.id: cell.name
            for one in stored.notebooks
            for cell in [*one.grade_cells, *one.solution_cells, *one.task_cells]
        }
        self.notebook_names = {one.id: one.name for one in stored.notebooks}

    def folder(self, student: str) -> Path:
        return self.course.root / "autograded" / student / self.assignment.id

    def graded(self, student: str, digest: str) -> bool:
        """Is exactly this content graded, and is it in the gradebook?"""
        try:
            record = json.loads((self.folder(student) / RECORD).read_text(encoding="utf-8"))
            self.book.find_submission(self.assignment.id, student)
        except (OSError, ValueError, MissingEntry):
            return False
        return bool(record.get("digest") == digest)

    def save(self, student: str, submitted: Path, results: dict[str, Record], digest: str) -> Published:
        folder = self.folder(student)
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_stale_folders(folder.parent, ".grading-")
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".grading-{os.getpid()}-") as place:
            new = Path(place) / self.assignment.id
            new.mkdir()
            for name, path in safe_files(submitted):
                if not ignored(name):
                    (new / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, new / name)
            timestamp = submitted / "timestamp.txt"
            if timestamp.is_file() and not timestamp.is_symlink():
                shutil.copyfile(timestamp, new / "timestamp.txt")
            for name, result in results.items():
                (new / f"{name}.ipynb").write_text(result.notebook, encoding="utf-8", errors="replace")
            (folder / RECORD).unlink(missing_ok=True)
            unchanged = {
                name: same_as_judged(folder / f"{name}.ipynb", result.notebook) for name, result in results.items()
            }
            score, out_of, waiting = self.to_gradebook(student, submitted, results, unchanged)
            replace_folder(new, folder)
        late, penalty = self.lateness(student, score)
        score = round(max(0.0, score - penalty), 6)
        notebooks = {name: PublishedNotebook.of(record) for name, record in results.items()}
        published = Published(student, self.assignment.id, digest, score, out_of, waiting, late, penalty, notebooks)
        write_whole(folder / RECORD, json.dumps(published.to_json(), indent=1) + "\n")
        return published

    def to_gradebook(
        self, student: str, submitted: Path, results: dict[str, Record], unchanged: dict[str, set[str]]
    ) -> tuple[float, float, bool]:
        """One transaction.

        Manual grades stay; a person is asked again only where answer, test, points or automatic score are others.
        """
        book = self.book
        book.update_or_create_student(student)
        timestamp = read_timestamp(submitted)
        extra = {} if timestamp is None else {"timestamp": timestamp}
        with (
            warnings.catch_warnings()
        ):  # nbgrader fills a new submission before it adds it, which SQLAlchemy remarks on
            warnings.simplefilter("ignore", SAWarning)
            submission = book.update_or_create_submission(self.assignment.id, student, **extra)
        score, out_of, waiting = 0.0, 0.0, False
        for one in submission.notebooks:
            notebook = self.notebook_names[one.notebook_id]
            record = results.get(notebook)
            for grade in one.grades:
                name = self.names[grade.cell_id]
                verdict = (record.verdicts if record else {}).get(name, Verdict(0.0, 0.0))
                judged = (
                    name in unchanged.get(notebook, ())
                    and grade.auto_score == verdict.score
                    and not grade.needs_manual_grade
                )
                grade.auto_score = verdict.score
                grade.needs_manual_grade = verdict.score is None if grade.manual_score is None else not judged
                score += grade.manual_score if grade.manual_score is not None else verdict.score or 0.0
                out_of += 0.0 if name.startswith(BONUS) else verdict.points
                waiting = waiting or grade.needs_manual_grade
            for comment in one.comments:
                comment.auto_comment = (record.comments if record else {}).get(self.names[comment.cell_id])
        late = submission.total_seconds_late > 0 or any(one.late_submission_penalty for one in submission.notebooks)
        if self.course.policy is not None:  # whose penalty follows later grades, so none is stored
            late = False
            for one in submission.notebooks:
                one.late_submission_penalty = None
        book.db.commit()
        book.db.expunge_all()
        if late:
            self.penalise(student, results)
        return round(score, 6), out_of, waiting

    def lateness(self, student: str, score: float) -> tuple[float, float]:
        """Seconds after the due date, and the points that are taken off for them."""
        if self.course.policy is not None:
            late = Totals(self.course, self.book, [student], self.roster).late(student, self.assignment.id)
            return late.seconds, late.penalty(score)
        submission = self.book.find_submission(self.assignment.id, student)
        found = submission.total_seconds_late, sum(one.late_submission_penalty or 0.0 for one in submission.notebooks)
        self.book.db.expunge_all()
        return found

    @cached_property
    def roster(self) -> Roster:
        return load_roster(self.course)

    def penalise(self, student: str, results: dict[str, Record]) -> None:
        """nbgrader's own late penalty, with the course's configuration."""
        from nbgrader.preprocessors import AssignLatePenalties

        for name in results:
            about = {
                "notebook": name,
                "assignment": self.assignment.id,
                "student": student,
                "db_url": gradebook_url(self.course),
            }
            try:
                AssignLatePenalties(config=self.config).preprocess(nbformat.v4.new_notebook(), {"nbgrader": about})
            except Exception as error:  # the course's own plugin can raise anything
                raise CourseError(
                    f"the late penalty of nbgrader_config.py failed: {type(error).__name__}: {error}"
                ) from error

    @cached_property
    def config(self) -> Any:
        """The course's nbgrader configuration."""
        from traitlets.config import Config
        from traitlets.config.loader import PyFileConfigLoader

        config = Config()
        if (self.course.root / "nbgrader_config.py").exists():
            config.merge(PyFileConfigLoader("nbgrader_config.py", path=str(self.course.root)).load_config())
        return config


def read_timestamp(folder: Path) -> Any:
    path = folder / "timestamp.txt"
    if not path.is_file() or path.is_symlink():
        return None
    try:
        with open(path, encoding="utf-8") as file:
            return parse_utc(file.read(100).strip())
    except (ValueError, UnicodeDecodeError, OverflowError):
        return None
