"""Where `course verify` runs notebooks and variants of their answers.

In the examiner: what is proved is what grading does. Where there is no sandbox, in the examiner's two processes
without one, for it is the author's own code. Where there is no Linux, in one ordinary kernel: good for writing
exercises, but not the gate.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from autograder.authoring import build
from autograder.examiner import notebook as notebooks
from autograder.examiner import sandbox
from autograder.examiner.limits import limits_of
from autograder.examiner.pool import Pool, Submission, Trial, Trials, modules_of
from autograder.model import wording
from autograder.model.course import Assignment, Course, CourseError
from autograder.model.notebook import Cell
from autograder.model.record import Record
from helpers.kit import validate

if TYPE_CHECKING:
    from autograder.examiner.recognition import Known

NOT_THE_GATE = "not the gate: run it on Linux"
TRIES = 3  # at what the machine kept from being done
KERNEL_CELL_SECONDS = 60
WORTH_A_WORKER = 30  # so many variants take longer than the cells before them, which every worker has to run
VISIBLE = "visible tests of "  # before a notebook's name: the same with the tests that students are given


@dataclass
class Tested:
    """What one test cell gave."""

    outputs: list[dict[str, Any]]
    lost: str = ""  # why it could not be completed
    answer: list[dict[str, Any]] = field(default_factory=list)  # outputs of the variant's own cell
    calls: list[Any] = field(default_factory=list)  # what was asked and answered, where that was recorded


@dataclass
class Examined:
    """What the tests of one notebook gave, by their ids, and what the examiner noticed beside them."""

    tests: dict[str, Tested]
    integrity: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Sheet:
    """One notebook of an assignment: as the instructor has it, and as students are given it (both as text)."""

    name: str
    instructor: str
    student: str
    recorded: dict[str, list[Known]] = field(default_factory=dict)  # named mistakes, by the id of the test they fail
    looks: bool = True  # cells that only show something are left out, as in grading

    def cells(self) -> list[dict[str, Any]]:
        """The instructor's, as the examiner takes them."""
        given = {name_of(cell): text_of(cell) for cell in json.loads(self.student)["cells"]}
        found = []
        for entry in json.loads(self.instructor)["cells"]:
            source = text_of(entry)
            if "AUTOTEST" in source:  # the build has made tests of it
                source = given.get(name_of(entry), source)
            found.append(
                {"kind": entry["cell_type"], "source": source, "metadata": entry["metadata"], "id": entry.get("id", "")}
            )
        return found

    def prepared(self, hidden: bool = True) -> dict[str, Any]:
        """What a pool needs to know of it; without hidden tests, as students have them."""
        given = {name_of(cell): text_of(cell) for cell in json.loads(self.student)["cells"] if name_of(cell)}
        cells = self.cells()
        if not hidden:
            cells = [{**cell, "source": given[name_of(cell)]} if is_test(cell) else cell for cell in cells]
        made = {**notebooks.from_cells(cells), "released": given, "recorded": self.recorded, "audit": True}
        return made if self.looks else {**made, "looks": {}}


def sheet_of(course: Course, assignment: Assignment, cells: list[Cell]) -> Sheet:
    """Of an assignment that is written as a script."""
    instructor = build.instructor_notebook(course, assignment, cells)
    return Sheet(assignment.id, instructor, build.student_notebook(course, assignment, instructor))


@dataclass(frozen=True)
class Candidate:
    """A variant to try: the answer's cell, and the ids of the exercise and of its test."""

    key: int
    exercise: str
    answer: str
    test: str
    secret: str = ""  # for hidden inputs, in place of the public one
    recording: bool = False  # what the test asked and the answer gave is part of the outcome


class Engine(Protocol):
    """Runs whole notebooks, and variants of single answers. `notice` says what the result is not."""

    notice: str

    def examine(self, submissions: dict[str, tuple[str, str]]) -> dict[str, Examined]:
        """Submissions are (name of a sheet, perhaps after `VISIBLE`; text of the notebook)."""

    def try_variants(self, sheet: Sheet, candidates: Sequence[Candidate]) -> Iterator[tuple[int, Tested]]:
        """What the tests say, as it comes, by the candidates' keys."""

    def close(self) -> None: ...


def engine_for(course: Course, assignment: Assignment, sheets: Sequence[Sheet]) -> Engine:
    """The best one that this machine has."""
    if sys.platform == "linux":
        level = sandbox.Level.UNSAFE if sandbox.why_not() else sandbox.Level.NAMESPACES
        return ExaminerEngine(course, assignment, sheets, level)
    return KernelEngine(assignment, sheets)


def text_of(cell: dict[str, Any]) -> str:
    """The source of a cell as a notebook's file has it: one text, or its lines."""
    return cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])


def name_of(cell: dict[str, Any]) -> str:
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id") or "")


def is_test(cell: dict[str, Any]) -> bool:
    known = cell["metadata"].get("nbgrader", {})
    return (cell.get("cell_type") or cell["kind"]) == "code" and bool(known.get("grade")) and not known.get("solution")


# ---- the examiner --------------------------------------------------------------------------------------------------


class ExaminerEngine:
    """The processes, limits and repairs of grading."""

    def __init__(
        self, course: Course, assignment: Assignment, sheets: Sequence[Sheet], level: sandbox.Level, workers: int = 0
    ) -> None:
        self.assignment, self.limits = assignment, limits_of(course, assignment)
        self.notice = NOT_THE_GATE if level is sandbox.Level.UNSAFE else ""
        self.files = [(name, str(path)) for name, path in assignment.data_files().items()]
        self.data = {sheet.name: sheet.prepared() for sheet in sheets}
        self.data |= {f"{VISIBLE}{sheet.name}": sheet.prepared(hidden=False) for sheet in sheets}
        self.workers = workers or os.cpu_count() or 1
        self.level = level
        self.pool = self.new_pool()

    def new_pool(self) -> Pool:
        pool = Pool(self.workers, modules_of(self.data), self.limits.output_kb << 10, self.level)
        pool.prepare(self.assignment.id, self.data, self.assignment.source.parent)
        return pool

    def close(self) -> None:
        self.pool.close()

    def examine(self, submissions: dict[str, tuple[str, str]]) -> dict[str, Examined]:
        found: dict[str, Examined] = {}
        with tempfile.TemporaryDirectory(prefix=f"course-{os.getpid()}-") as folder:
            waiting = []
            for number, (label, (sheet, text)) in enumerate(submissions.items()):
                path = Path(folder) / f"{number}.ipynb"
                path.write_text(text, encoding="utf-8")
                waiting.append((label, sheet, str(path)))
            for _ in range(TRIES):
                failed = []
                for job, answer in self.pool.examine_all(waiting, lambda job: self.submission(job[1], job[2])):
                    if "error" in answer:
                        failed.append((job, answer["error"]))
                    else:
                        found[job[0]] = examined(Record.from_json(answer))
                if not failed and not waiting:
                    return found
                waiting += [job for job, _ in failed]
                self.pool.close()
                self.pool = self.new_pool()
        raise CourseError(
            f"{self.assignment.id}, {failed[0][0][0] if failed else 'a notebook'}:"
            f" {failed[0][1] if failed else 'workers ended'}"
        )

    def submission(self, sheet: str, path: str) -> Submission:
        return Submission(
            self.assignment.id, sheet, self.limits, path, files=self.files, given=[name for name, _ in self.files]
        )

    def try_variants(self, sheet: Sheet, candidates: Sequence[Candidate]) -> Iterator[tuple[int, Tested]]:
        """Every worker runs the solution's cells and tries its share, in turns: so all of them are done at about the
        same time.
        """
        code = [cell for cell in sheet.cells() if cell["kind"] == "code" and cell["source"].strip()]
        cells = [(index, name_of(cell), cell["source"], is_test(cell)) for index, cell in enumerate(code)]
        places = {name: index for index, name, _, _ in cells if name}
        trials = [
            Trial(one.key, places[one.exercise], one.answer, places[one.test], one.secret, one.recording)
            for one in candidates
        ]
        trials.sort(key=lambda trial: trial.exercise)
        waiting = [
            Trials(self.assignment.id, sheet.name, self.limits, cells, share, self.files)
            for share in shares(trials, min(self.workers, 1 + len(trials) // WORTH_A_WORKER))
        ]
        strikes: dict[int, int] = {}
        left = {trial.key for trial in trials}
        while waiting:
            for job, answer in self.pool.try_variants(waiting):
                if "outcome" in answer:
                    outcome = answer["outcome"]
                    left.remove(outcome["key"])
                    yield (
                        outcome["key"],
                        Tested(outcome["outputs"], outcome["lost"], outcome["answer"], outcome.get("calls", [])),
                    )
                elif "error" in answer:
                    rest = [trial for trial in job.trials if trial.key in left]
                    if gave_up := rest and strike(
                        strikes, rest[0].key
                    ):  # the first one without an outcome is what it stopped at
                        left.remove(rest[0].key)
                        yield rest[0].key, Tested([], answer["error"])
                    if rest := rest[1:] if gave_up else rest:
                        waiting.append(Trials(job.assignment, job.notebook, job.limits, job.cells, rest, job.files))
            if waiting:  # no worker is left
                self.pool.close()
                self.pool = self.new_pool()


def strike(strikes: dict[int, int], key: int) -> bool:
    """Count another failure; is it one too many?"""
    strikes[key] = strikes.get(key, 0) + 1
    return strikes[key] >= TRIES


def shares(trials: list[Trial], count: int) -> list[list[Trial]]:
    return [share for number in range(count) if (share := trials[number::count])]


def examined(record: Record) -> Examined:
    """The examiner's record, as far as `verify` looks at it."""
    ungraded = {name: wording.sentence(reason) for name, reason in record.ungraded.items()}
    cells = [cell for cell in json.loads(record.notebook)["cells"] if is_test(cell)]
    tests = {name_of(cell): Tested(cell["outputs"], ungraded.get(name_of(cell), "")) for cell in cells}
    return Examined(tests, [wording.sentence(sign) for sign in record.integrity])


# ---- one process ---------------------------------------------------------------------------------------------------


class KernelEngine:
    """One ordinary kernel, as `course check` has it. A variant that ends the kernel ends the run."""

    notice = NOT_THE_GATE

    def __init__(self, assignment: Assignment, sheets: Sequence[Sheet]) -> None:
        self.assignment = assignment
        self.sheets = {sheet.name: sheet for sheet in sheets}

    def close(self) -> None:
        pass

    def examine(self, submissions: dict[str, tuple[str, str]]) -> dict[str, Examined]:
        found = {}
        for label, (name, text) in submissions.items():
            notebook = json.loads(text)
            if not name.startswith(VISIBLE):
                full = {name_of(cell): cell["source"] for cell in self.sheets[name].cells()}
                for cell in filter(is_test, notebook["cells"]):
                    cell["source"] = full[name_of(cell)]
            done = self.run(notebook)
            found[label] = Examined({name_of(cell): Tested(cell["outputs"]) for cell in done["cells"] if is_test(cell)})
        return found

    def try_variants(self, sheet: Sheet, candidates: Sequence[Candidate]) -> Iterator[tuple[int, Tested]]:
        """One notebook in which every exercise is answered many times, each answer with its test after it, and the
        solution's last.
        """
        notebook = json.loads(sheet.instructor)
        tests = {name_of(cell): cell for cell in notebook["cells"] if is_test(cell)}
        cells: list[dict[str, Any]] = []
        for cell in notebook["cells"]:
            for one in candidates:
                if one.exercise == name_of(cell):
                    test = tests[one.test]
                    cells.append({**cell, "source": one.answer, "id": f"answer-{one.key}"})
                    cells.append({**test, "outputs": [], "id": f"test-{one.key}"})
            cells.append(cell)
        done = {
            cell["id"]: cell["outputs"]
            for cell in self.run({**notebook, "cells": cells})["cells"]
            if cell["cell_type"] == "code"
        }
        for one in candidates:
            yield one.key, Tested(done[f"test-{one.key}"], answer=done[f"answer-{one.key}"])

    def run(self, notebook: dict[str, Any]) -> Any:
        nbformat = validate.needed("nbformat")
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            for name, path in self.assignment.data_files().items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, folder / name)
            try:
                return validate.run(
                    nbformat.reads(json.dumps(notebook), as_version=4),
                    folder / "notebook.ipynb",
                    None,
                    KERNEL_CELL_SECONDS,
                    interrupt=True,
                )
            except validate.NotCheckedError as error:
                raise CourseError(f"{self.assignment.id}: {error}") from None
