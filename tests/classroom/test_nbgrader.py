"""nbgrader end to end, for real: three submissions of 03-attention from the release to the exported mark."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT, TOOLS, run_course

from autograder import demo
from autograder.authoring import build, statements
from autograder.authoring.answers import empty_functions, submission
from autograder.authoring.mistakes import Mistake
from autograder.authoring.mistakes import load as load_mistakes
from autograder.classroom.grade import grade
from autograder.classroom.nbgrader_command import nbgrader
from autograder.model import course
from autograder.model.notebook import Cell, Notebook
from autograder.model.regions import without_markers

pytestmark = pytest.mark.slow


def three_students(assignment: course.Assignment, cells: list[Cell]) -> dict[str, dict[str, str]]:
    """Answers of a perfect, a half-done and a hopeless student. The second one makes named mistakes."""
    variants = load_mistakes(assignment.mistakes).by_exercise
    answers: dict[str, dict[str, str]] = {"ada": {}, "ben": {}, "cleo": {}}
    exercises = [cell for cell in cells if cell.is_solution]
    for number, cell in enumerate(exercises):
        if cell.kind == "markdown":
            answers["ada"][cell.grade_id] = "Selecting copies one vector, averaging blurs many."
            if number % 2:
                answers["ben"][cell.grade_id] = "It helps the model."
            continue
        answers["ada"][cell.grade_id] = without_markers(cell.source)
        answers["cleo"][cell.grade_id] = empty_functions(cell.source)
        wrong = next((v for v in variants.get(cell.grade_id, []) if isinstance(v, Mistake)), None)
        if number % 2 == 0:
            answers["ben"][cell.grade_id] = without_markers(cell.source)
        elif wrong is not None:
            answers["ben"][cell.grade_id] = without_markers(wrong.source(cell))
    return answers


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Cell]]:
    """A class of three: ada has everything right, ben half, cleo nothing."""
    this = course.load(ROOT)
    made = demo.demo_course(this, this.select(["03-attention"])[0], tmp_path_factory.mktemp("class"))
    (assignment,) = made.assignments
    cells, _ = build.checked_cells(assignment)
    student = assignment.student_notebook.read_text(encoding="utf-8")
    for name, answers in three_students(assignment, cells).items():
        place = made.root / "submitted" / name / assignment.id
        place.mkdir(parents=True)
        (place / f"{assignment.id}.ipynb").write_text(submission(student, answers), encoding="utf-8")
    grade(made, assignment)
    nbgrader(made, "generate_feedback", assignment.id)
    nbgrader(made, "export")
    return made.root, cells


def marks(root: Path) -> dict[str, float]:
    with open(root / "grades.csv") as handle:
        return {row["student_id"]: float(row["score"]) for row in csv.DictReader(handle)}


def feedback(root: Path, student: str) -> str:
    return (root / "feedback" / student / "03-attention" / "03-attention.html").read_text(encoding="utf-8")


def scores(root: Path, student: str) -> dict[str, tuple[float, float]]:
    """Score and points by exercise with a test, read off the feedback page."""
    found = re.findall(
        r'data-exercise="([\w-]+)" data-state="\w+" data-score="([\d.]+)" data-points="([\d.]+)"',
        feedback(root, student),
    )
    return {name: (float(score), float(points)) for name, score, points in found if not name.startswith("written")}


def test_perfect_half_done_and_hopeless_are_told_apart(graded: tuple[Path, list[Cell]]) -> None:
    root, cells = graded
    tested = sum(float(cell.nbgrader["points"]) for cell in cells if cell.is_test)
    earned = marks(root)
    assert earned["ada"] == tested
    assert 0.25 * tested < earned["ben"] < 0.95 * tested
    assert earned["cleo"] == 0


def test_half_done_feedback_names_every_mistake_and_shows_no_hidden_test(graded: tuple[Path, list[Cell]]) -> None:
    root, cells = graded
    page = feedback(root, "ben")
    by_cell = scores(root, "ben")
    assert by_cell
    lost = [name for name, (score, points) in by_cell.items() if score < points]
    assert len(lost) >= 8
    assert page.count("<div class='course-check'>") == len(by_cell)
    plain = re.sub(r"<[^>]+>", "", page).replace("&quot;", '"').replace("&#39;", "'").replace("&amp;", "&")
    for cell in cells:
        for region in cell.regions:
            if region.kind.value != "hidden tests":
                continue
            for _, line in region.body:
                if len(line.replace(" ", "")) >= 30:
                    assert line.strip() not in plain, f"a hidden line of {cell.grade_id} is on the page"


def test_every_failed_test_in_the_half_done_submission_says_something_useful(graded: tuple[Path, list[Cell]]) -> None:
    root, _ = graded
    notebook = nbformat.read(root / "autograded" / "ben" / "03-attention" / "03-attention.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade"):
            (shown,) = [output for output in cell.outputs if output.output_type == "display_data"]
            assert not any(output.output_type in ("error", "stream") for output in cell.outputs), (
                cell.metadata.nbgrader.grade_id
            )
            text = shown.data["text/plain"]
            if "✗" in text:
                assert len(text.splitlines()) >= 2, text


def test_hidden_findings_hold_no_numbers_of_the_test(graded: tuple[Path, list[Cell]]) -> None:
    root, _ = graded
    notebook = nbformat.read(root / "autograded" / "ben" / "03-attention" / "03-attention.ipynb", as_version=4)
    lines = [
        line
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "display_data" and "text/plain" in output.data
        for line in output.data["text/plain"].splitlines()
        if "(hidden check)" in line
    ]
    assert lines
    assert not any(re.search(r"expected|got|index", line) for line in lines), lines


def test_a_manual_grade_survives_regrading_and_reaches_the_export(graded: tuple[Path, list[Cell]]) -> None:
    from nbgrader.api import Gradebook

    root, _ = graded
    before = marks(root)["ada"]
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}", "sequence-models") as book:
        grade = book.find_grade("written-selecting", "03-attention", "03-attention", "ada")
        assert grade.needs_manual_grade
        grade.manual_score = 2.5
        grade.needs_manual_grade = False
        book.db.commit()
    environment = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    for args in (["autograde", "03-attention", "--student=ada", "--force"], ["export"]):
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *args],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert marks(root)["ada"] == before + 2.5


def test_course_report_export_and_feedback_agree_with_nbgrader(graded: tuple[Path, list[Cell]]) -> None:
    root, cells = graded
    report = run_course("report", "03-attention", "--json", cwd=root)
    assert report.returncode == 0, report.stderr
    entries = {entry["name"]: entry for entry in json.loads(report.stdout)}
    assert set(entries) == {cell.grade_id for cell in cells if cell.is_grade}
    assert entries["weights-test"]["submissions"] == 3
    assert any(entry["hints"] for entry in entries.values())
    exported = run_course("export", "--format", "csv", cwd=root)
    assert exported.returncode == 0, exported.stderr
    rows = {row["student_id"]: row for row in csv.DictReader(exported.stdout.splitlines())}
    for student, score in marks(root).items():
        assert float(rows[student]["score"]) == pytest.approx(score, abs=1e-3)
    count, _ = statements.sums(Notebook(cells).points())
    assert float(rows["ada"]["out_of"]) == count
    pages = run_course("feedback", "03-attention", "--student", "ben", cwd=root)
    assert pages.returncode == 0, pages.stderr
    assert pages.stdout.strip() == str(Path("feedback", "ben", "03-attention", "03-attention.html"))


def test_commands_say_what_to_do_before_anything_is_graded(small_course: Path) -> None:
    for args in (["report", "01-small"], ["export"], ["feedback", "01-small"]):
        done = run_course(*args, cwd=small_course)
        assert done.returncode == 2
        assert len(done.stderr.strip().splitlines()) == 1
        assert "Traceback" not in done.stderr
