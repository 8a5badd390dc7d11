"""What a package for learning alone has besides: our answers as a file, and a cell below each written question."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell

from autograder.model import regions
from autograder.model.course import Course
from autograder.model.notebook import Cell, Role
from autograder.model.regions import MARKERS, Kind
from autograder.model.rubric import rubric_of
from helpers.student import authorship


def edition(course: Course) -> Course:
    """The course as its self-study package describes it: its own repository, and a version of its own."""
    home = course.self_study_repository or course.student_repository
    return replace(course, student_repository=home, self_study=True)


def answers(cells: list[Cell], notebooks: Mapping[str, str]) -> str:
    """The file of one assignment's answers, which `helpers/checks/model_answers.py` reads.

    `notebooks` are the student's: they say what a written question looks like before it is answered.
    """
    tests = {cell.name: cell for cell in cells if cell.is_test}
    given = {cell.name: cell.source for text in notebooks.values() for cell in student_cells(text)}
    exercises = {
        cell.name: {"code": code_of(cell), "remarks": remarks_of(tests.get(f"{cell.name}-test"))}
        for cell in cells
        if cell.is_exercise
    }
    written = {
        cell.name: {"given": given.get(cell.name, ""), "answer": answer_of(cell)}
        for cell in cells
        if cell.role in (Role.WRITTEN, Role.READ_BY_HAND)
    }
    return json.dumps({"exercises": exercises, "written": written}, ensure_ascii=False, indent=1) + "\n"


def student_cells(text: str) -> list[Cell]:
    return [Cell.from_json(entry) for entry in json.loads(text)["cells"]]


def code_of(cell: Cell) -> str:
    lines = regions.without(cell.source, Kind.HIDDEN).split("\n")
    return "\n".join(line for line in lines if not any(marker in line for marker in MARKERS)).strip()


def remarks_of(test: Cell | None) -> list[str]:
    """Of a select-all question: which options apply, and why. Its hidden key says so."""
    if test is None:
        return []
    keys = [
        call
        for call in ast.walk(test.tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "key"
    ]
    said: dict[str, str] = {}
    for call in keys:
        for side in call.keywords:
            verb = "applies" if side.arg == "right" else "does not apply"
            said |= {letter: f"{letter} {verb}: {why}" for letter, why in ast.literal_eval(side.value).items()}
    return [said[letter] for letter in sorted(said)]


def answer_of(cell: Cell) -> str:
    """Our answer to a question that a person grades, and its rubric, as Markdown."""
    if cell.role is Role.READ_BY_HAND:
        return f"**Our answer**\n\n```python\n{code_of(cell)}\n```\n"
    rubric = rubric_of(cell.source)
    parts = [f"**Our answer**\n\n{rubric.model_answer}"]
    if rubric.items:
        rows = "\n".join(f"| {item.points:g} | {item.text} |" for item in rubric.items)
        parts.append(f"**What it is graded by**\n\n| points | for |\n| --- | --- |\n{rows}")
    if rubric.remarks:
        parts.append(rubric.remarks)
    return "\n\n".join(parts) + "\n"


def with_comparisons(text: str) -> str:
    """The student's notebook with one more cell below each question that a person would grade, and nothing else."""
    notebook = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
    cells: list[Any] = []
    for node in notebook.cells:
        cells.append(node)
        cell = Cell.from_json(node)
        if cell.role in (Role.WRITTEN, Role.READ_BY_HAND):
            cells.append(comparison(cell.name))
    notebook.cells = cells
    authorship.stamp(notebook)
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n"


def comparison(question: str) -> Any:
    text = (
        "# Written? Save the notebook and run this cell: it shows our answer, and how it is graded.\n"
        f'from helpers.student.self_study import compare\ncompare("{question}")'
    )
    return new_code_cell(text, id=f"compare-{question}"[:64], metadata={"course": {"generated": True}})
