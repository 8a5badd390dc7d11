"""The student's engine (`course check`, a fresh kernel) and the examiner agree: the same visible tests give the same
scores in both.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import ROOT, run_course
from nbgrader.utils import determine_grade

from autograder.authoring import build, engines, verify
from autograder.authoring.answers import submission
from autograder.authoring.mistakes import Mistake, load
from autograder.examiner import sandbox
from autograder.model import course
from autograder.model.regions import without_markers
from helpers.checks import report
from helpers.kit import validate

COURSE = course.load(ROOT)
WITH_MISTAKES = (
    "02-rnn-backprop",
    "05-logit-bias",
    "09-gpt",
)  # call-backs, kept models, cost: all that crosses between processes


def scores(found: engines.Examined, sheet: engines.Sheet) -> dict[str, float]:
    points = {
        engines.name_of(cell): float(cell["metadata"]["nbgrader"]["points"])
        for cell in sheet.cells()
        if engines.is_test(cell)
    }
    return {
        name: 0.0 if tested.lost else validate.score_of(tested.outputs, points[name], ".score()")
        for name, tested in found.tests.items()
    }


# Call-backs, a corpus, kept models, kernels: where the engines differ, one of these shows it.
QUICK = ("02-rnn-backprop", "05-logit-bias", "12-translation", "15-kernels")


@pytest.mark.slow
@pytest.mark.skipif(sandbox.why_not() is not None, reason=f"no sandbox here: {sandbox.why_not()}")
@pytest.mark.parametrize(
    "assignment",
    [pytest.param(a, marks=() if a.id in QUICK else pytest.mark.thorough) for a in COURSE.assignments],
    ids=[assignment.id for assignment in COURSE.assignments],
)
def test_visible_tests_score_the_same_in_a_kernel_and_in_the_examiner(assignment: course.Assignment) -> None:
    cells, _ = build.checked_cells(assignment)
    sheet = verify.sheet_of(COURSE, assignment, cells)
    right = {cell.grade_id: without_markers(cell.source) for cell in cells if cell.is_solution and cell.kind == "code"}
    handed_in = {"solution": submission(sheet.student, right), "untouched": sheet.student}
    if assignment.id in WITH_MISTAKES:
        known = load(assignment.mistakes).by_exercise
        wrong = {}
        for number, cell in enumerate(cell for cell in cells if cell.is_exercise):
            mistakes = [one for one in known.get(cell.grade_id, []) if isinstance(one, Mistake)]
            if mistakes and number % 2:
                wrong[cell.grade_id] = without_markers(mistakes[number % len(mistakes)].source(cell))
        handed_in["mistakes"] = submission(sheet.student, {**right, **wrong})
    jobs = {label: (engines.VISIBLE + sheet.name, text) for label, text in handed_in.items()}
    examiner = engines.ExaminerEngine(COURSE, assignment, [sheet], engines.sandbox.Level.NAMESPACES, workers=1)
    try:
        examined = examiner.examine(jobs)
    finally:
        examiner.close()
    checked = engines.KernelEngine(assignment, [sheet]).examine(jobs)
    for label in jobs:
        assert scores(examined[label], sheet) == scores(checked[label], sheet), label
    assert sum(scores(checked["untouched"], sheet).values()) == 0
    assert any(scores(checked["solution"], sheet).values())


def output(kind: str, **more: Any) -> dict[str, Any]:
    return {"output_type": kind, **more}


RESULTS = {
    "nothing": [],
    "half": [output("execute_result", data={"text/plain": "1.5"}, metadata={}, execution_count=1)],
    "text": [output("execute_result", data={"text/plain": "'done'"}, metadata={}, execution_count=1)],
    "below zero": [output("execute_result", data={"text/plain": "-1.0"}, metadata={}, execution_count=1)],
    "not a number": [output("execute_result", data={"text/plain": "nan"}, metadata={}, execution_count=1)],
    "printed": [output("stream", name="stdout", text="hello")],
    "warned": [output("stream", name="stderr", text="hello")],
    "raised": [output("error", ename="AssertionError", evalue="", traceback=[])],
}


@pytest.mark.parametrize("kind", RESULTS)
def test_a_test_cell_is_scored_as_nbgrader_scores_it(kind: str) -> None:
    about = {"grade": True, "grade_id": "a-test", "solution": False, "locked": True, "points": 3, "schema_version": 3}
    cell = nbformat.v4.new_code_cell(
        "assert True", metadata={"nbgrader": about}, outputs=[nbformat.from_dict(o) for o in RESULTS[kind]]
    )
    assert (validate.result_of(cell).score, 3.0) == determine_grade(cell)


def test_hints_are_read_from_data_and_never_from_text() -> None:
    finding = report.Finding("which axis?", "got 3")
    outcome = report.Outcome("a", 2, 0, 2, [finding, finding], unwritten={"f": "write `f`"})
    data = {"text/plain": "✗ a\n  ✗ something else", report.MIME_TYPE: report.as_data(outcome)}
    shown = [output("display_data", data=data, metadata={})]
    assert validate.hints_of(shown) == ["write `f`", "which axis?"]
    (first, second, _) = validate.told(shown)
    assert (first.unwritten, second.unwritten, second.seen) == (True, False, "got 3")
    assert validate.hints_of([output("error", ename="KeyError", evalue="3", traceback=[])]) == ["KeyError: 3"]


@pytest.mark.slow
def test_the_student_s_engine_is_a_program_of_its_own(small_course: Path) -> None:
    import subprocess
    import sys

    assert run_course("build", cwd=small_course).returncode == 0
    line = [sys.executable, "-m", "helpers.kit.validate"]
    for folder, code in (("solutions", 0), ("notebooks", 1), ("nowhere", 2)):
        path = small_course / folder / "01-small" / "01-small.ipynb"
        done = subprocess.run([*line, str(path)], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
