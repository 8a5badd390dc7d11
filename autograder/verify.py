"""`course verify`: the tests are tested.

Solution = full marks. Untouched student notebook = nothing, and every visible test says what to do. Every named mistake
loses points and gets its own hint. Every other right answer keeps every point. The solution runs once; each variant is a
fork of that run at its exercise.
"""

from __future__ import annotations

import os

os.environ.setdefault("NBGRADER_EXECUTION", "verify")  # smoke scale, as in grading
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # a child forked after a multi-threaded operation hangs
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

import helpers.plots  # noqa: F401  matplotlib and seaborn, imported once, before the forks
from autograder import build, rules
from autograder.course import Assignment, Course, CourseError
from autograder.mistakes import Mistake, Variant, load
from autograder.shell import CellResult, Child, Shell, fork
from autograder.source import SourceCell
from helpers.checks import report as shown

MINIMUM_MISTAKES, MINIMUM_RIGHT = 4, 2


@dataclass
class Report:
    """What was tried for one assignment, and what went wrong."""

    assignment: str
    exercises: int = 0
    variants: int = 0
    failures: list[str] = field(default_factory=list)


def verify(course: Course, assignment: Assignment, progress: Callable[[str], None] = lambda text: None, sample: int = 1) -> Report:
    """Run the gate for one assignment; with `sample`, for every so many variants only."""
    if assignment.ordinary_notebooks:
        return verify_ordinary(course, assignment, progress)
    torch.set_num_threads(1)
    cells, _ = build.checked_cells(assignment)
    known = load(assignment.mistakes)
    exercises = {cell.grade_id: cell for cell in cells if cell.kind == "code" and cell.is_solution and not cell.is_manual}
    tests = {cell.grade_id.removesuffix("-test"): cell for cell in cells if cell.is_test}
    report = Report(assignment.id, len(exercises))
    report.failures += enough_variants(exercises, known.by_exercise, known.exempt)
    with in_scratch_folder():
        shell = Shell()
        for name, hidden in (("visible tests", False), ("all tests", True)):
            progress(f"untouched notebook, {name}")
            blank = fork(name, partial(run_blank, shell, cells, hidden), 600).result()
            report.failures += judge_blank(name, blank)
        running: list[tuple[Child, Variant, float]] = []
        for cell in cells:
            if cell.kind != "code":
                continue
            name = cell.grade_id
            if name in exercises and name in tests:
                for number, variant in enumerate(known.by_exercise.get(name, []), list(exercises).index(name)):
                    try:
                        text = variant.source(cell)
                    except CourseError as error:
                        report.failures.append(str(error))
                        continue
                    if number % sample:
                        continue
                    progress(f"{name}: {variant.name}")
                    report.variants += 1
                    test = tests[name]
                    child = fork(name, partial(run_variant, shell, text, test.source))
                    running.append((child, variant, float(test.nbgrader["points"])))
                    if len(running) >= (os.cpu_count() or 1):
                        report.failures += judge_variant(*running.pop(0))
            progress(name or "solution")
            result = shell.run(cell.source)
            if cell.is_test:
                points = float(cell.nbgrader["points"])
                if score_of(result) != points:
                    report.failures.append(
                        f"{name}: the solution earns {score_of(result):g} of {points:g}: {result.error or result.output.strip()}"
                    )
            elif result.error:
                where = f"{assignment.source.relative_to(course.root)}:{cell.line}"
                report.failures.append(f"{where}: the solution notebook fails here: {result.error}")
        for entry in running:
            report.failures += judge_variant(*entry)
    return report


def verify_ordinary(course: Course, assignment: Assignment, progress: Callable[[str], None]) -> Report:
    """Ordinary nbgrader notebooks, through the grader itself: the solution gets every point, the notebook as it is given none."""
    from autograder.demo import demo_course
    from autograder.examiner.sandbox import why_not
    from autograder.grade import grade
    from autograder.submissions import RECORD

    report = Report(assignment.id)
    with tempfile.TemporaryDirectory(prefix="course-verify-") as folder:
        progress("building")
        made = demo_course(course, assignment, Path(folder) / "course")
        (this,) = made.assignments
        handed_in = {"solution": this.ordinary_notebooks, "untouched": this.student_notebooks}
        for student, paths in handed_in.items():
            place = made.root / "submitted" / student / this.id
            place.mkdir(parents=True)
            for path in paths:
                shutil.copy(path, place)
        progress("solution and untouched notebook, in the examiner")
        summary = grade(made, this, unsafe=why_not() is not None)  # both are the instructor's own code
        report.failures += [f"could not be graded: {line}" for line in summary.failed]
        for student in handed_in:
            record = json.loads((made.root / "autograded" / student / this.id / RECORD).read_text(encoding="utf-8"))
            for name, result in record["notebooks"].items():
                tests = tests_of(made.root / "solutions" / this.id / f"{name}.ipynb")
                report.exercises += len(tests) if student == "solution" else 0
                report.failures += judge_ordinary(student, name, {test: result["grades"][test] for test in tests})
    return report


def tests_of(path: Path) -> list[str]:
    """The ids of the cells that are graded by running them."""
    known = [(cell["cell_type"], cell["metadata"].get("nbgrader", {})) for cell in json.loads(path.read_bytes())["cells"]]
    return [about["grade_id"] for kind, about in known if kind == "code" and about.get("grade") and not about.get("solution")]


def judge_ordinary(student: str, notebook: str, grades: dict[str, dict[str, float]]) -> list[str]:
    if student == "solution":
        return [
            f"{notebook}, {test}: the solution earns {mark['auto'] or 0:g} of {mark['max']:g}"
            for test, mark in grades.items()
            if (mark["auto"] or 0) < mark["max"]
        ]
    return [f"{notebook}, {test}: the untouched notebook earns {mark['auto']:g}" for test, mark in grades.items() if mark["auto"]]


def enough_variants(exercises: dict[str, SourceCell], variants: dict[str, list[Variant]], exempt: dict[str, str]) -> list[str]:
    found = [f"mistakes.py names {name!r}, which is not an exercise" for name in variants.keys() - exercises.keys()]
    for name in exercises:
        mistakes = sum(isinstance(v, Mistake) for v in variants.get(name, []))
        right = len(variants.get(name, [])) - mistakes
        if name not in exempt and (mistakes < MINIMUM_MISTAKES or right < MINIMUM_RIGHT):
            found.append(
                f"{name}: {mistakes} named mistakes and {right} other right answers; at least {MINIMUM_MISTAKES} and {MINIMUM_RIGHT} are needed"
            )
    return found


@contextlib.contextmanager
def in_scratch_folder() -> Iterator[None]:
    """Work in an empty folder: what notebooks write must not end up in the course."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def score_of(result: CellResult) -> float:
    """The score as nbgrader would read it; without a float there is no completion, and no point."""
    return result.value if type(result.value) is float and not result.error else 0.0


def run_variant(shell: Shell, answer: str, test: str) -> tuple[float, str]:
    first = shell.run(answer)
    second = shell.run(test)
    return score_of(second), "\n".join(filter(None, [second.output, second.error, first.error]))


def run_blank(shell: Shell, cells: list[SourceCell], hidden: bool) -> list[tuple[str, float, str, bool]]:
    """Every test cell of the notebook as the student gets it: (name, score, message, whether it says what to write and nothing else)."""
    found = []
    for cell in cells:
        if cell.kind != "code":
            continue
        text = cell.source if cell.is_test and hidden else rules.stubbed(cell)
        shown.last_shown = None
        result = shell.run(text)
        if cell.is_test:
            outcome = shown.last_shown
            told = outcome is not None and bool(outcome.unwritten) and not outcome.findings
            found.append((cell.grade_id, score_of(result), result.output.strip() or result.error, told))
    return found


def judge_blank(name: str, outcome: Any) -> list[str]:
    if outcome is None:
        return [f"the untouched notebook ({name}) did not finish"]
    found = [f"{test}: the untouched notebook earns {score:g} ({name})" for test, score, _, _ in outcome if score > 0]
    found += [
        f"{test}: the untouched notebook is not told what to write, and that alone ({name}): {message}"
        for test, _, message, told in outcome
        if not told
    ]
    return found


def judge_variant(child: Child, variant: Variant, points: float) -> list[str]:
    outcome = child.result()
    label = f"{child.name}: {'mistake' if isinstance(variant, Mistake) else 'right answer'} {variant.name!r}"
    if outcome is None:
        return [f"{label} did not finish"]
    score, message = outcome
    if not isinstance(variant, Mistake):
        return [] if score == points else [f"{label} earns only {score:g} of {points:g}:\n{message.strip()}"]
    found = []
    if score >= points:
        found.append(f"{label} keeps every point")
    for slip in ("NameError", "SyntaxError"):
        if slip in message and slip not in variant.hint and "is not defined" not in variant.hint:
            found.append(f"{label} is itself broken ({slip}), so its hint proves nothing:\n{message.strip()}")
    if not variant.hint:
        found.append(f"{label} names no hint")
    elif variant.hint not in message:
        found.append(f"{label} does not get the hint {variant.hint!r}, but:\n{message.strip()}")
    return found
