"""`course demo`: a class of three through the whole pipeline, from the release to the exported marks."""

from __future__ import annotations

import ast
import csv
import shutil
from collections.abc import Callable
from pathlib import Path

from autograder.authoring import build
from autograder.authoring.answers import submission
from autograder.authoring.mistakes import Mistake
from autograder.authoring.mistakes import load as load_mistakes
from autograder.classroom.grade import grade
from autograder.classroom.nbgrader_command import nbgrader
from autograder.model.course import Assignment, Course, CourseError, load
from autograder.model.notebook import Cell
from autograder.model.regions import without_markers

Progress = Callable[[str], None]


def demo_course(course: Course, assignment: Assignment, target: Path) -> Course:
    """A course of this one assignment in its own folder, so that a demonstration never touches a real gradebook."""
    if (target / "gradebook.db").exists():
        shutil.rmtree(target)
    (target / "solutions").mkdir(parents=True, exist_ok=True)
    shutil.copytree(assignment.source.parent, target / "solutions" / assignment.id, dirs_exist_ok=True)
    if (course.root / "nbgrader_config.py").exists():
        shutil.copy(course.root / "nbgrader_config.py", target)
    entry = (
        f'[[assignment]]\nid = "{assignment.id}"\ntitle = "{assignment.title}"\npart = "{assignment.part}"\nminutes ='
        f" {assignment.minutes}\n"
    )
    head = (
        f'title = "{course.title}"\ncourse_id = "{course.course_id}"\nrepository = "{course.repository}"\ntag ='
        f' "{course.tag}"\n\n'
    )
    (target / "course.toml").write_text(head + entry, encoding="utf-8")
    made = load(target)
    files, _ = build.outputs(made, list(made.assignments))
    build.write(files)
    return made


def careless(source: str) -> str:
    """The same functions with nothing useful in them."""
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.body = [ast.Return(ast.Constant(None))]
    return ast.unparse(ast.fix_missing_locations(tree))


def three_students(assignment: Assignment, cells: list[Cell]) -> dict[str, dict[str, str]]:
    """Answers of a perfect, a half-done and a hopeless student. The second one makes named mistakes."""
    variants = load_mistakes(assignment.mistakes).by_exercise
    answers: dict[str, dict[str, str]] = {"ada": {}, "ben": {}, "cleo": {}}
    exercises = [cell for cell in cells if cell.is_solution]
    for number, cell in enumerate(exercises):
        if cell.kind == "markdown":
            answers["ada"][cell.grade_id] = (
                "Selecting copies one earlier vector, averaging blurs many into their common topic; a model needs both."
            )
            if number % 2:
                answers["ben"][cell.grade_id] = "It helps the model."
            continue
        answers["ada"][cell.grade_id] = without_markers(cell.source)
        answers["cleo"][cell.grade_id] = careless(cell.source)
        wrong = next((v for v in variants.get(cell.grade_id, []) if isinstance(v, Mistake)), None)
        if number % 2 == 0:
            answers["ben"][cell.grade_id] = without_markers(cell.source)
        elif wrong is not None:
            answers["ben"][cell.grade_id] = without_markers(wrong.source(cell))
    return answers


def run(
    course: Course, assignment: Assignment, target: Path, progress: Progress = lambda text: None
) -> list[dict[str, str]]:
    """Release, collect three submissions, autograde, write feedback, export. Gives the exported rows."""
    if assignment.ordinary_notebooks:
        raise CourseError(
            f"{assignment.id} has no mistakes.py to make up students from: give `course demo` an assignment that has a"
            " script"
        )
    progress("building")
    made = demo_course(course, assignment, target)
    (this,) = made.assignments
    cells, _ = build.checked_cells(this)
    student = this.student_notebook.read_text(encoding="utf-8")
    for name, answers in three_students(this, cells).items():
        place = made.root / "submitted" / name / this.id
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{this.id}.ipynb").write_text(submission(student, answers), encoding="utf-8")
    progress("course grade (three submissions)")
    grade(made, this)
    progress("nbgrader generate_feedback")
    nbgrader(made, "generate_feedback", this.id)
    progress("nbgrader export")
    nbgrader(made, "export")
    with open(made.root / "grades.csv", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))
