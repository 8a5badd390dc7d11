"""Notebooks as students hand them in, made from a student's notebook and answers to its exercises."""

from __future__ import annotations

import ast

import nbformat

from autograder.model.notebook import Cell
from autograder.model.regions import without_markers


def submission(student: str, answers: dict[str, str]) -> str:
    """A student's notebook with these answers in place of the stubs."""
    notebook = nbformat.reads(student, as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if name in answers:
            cell.source = answers[name]
    return nbformat.writes(notebook)


def model_answers(cells: list[Cell]) -> dict[str, str]:
    """The solution of every exercise that is code, as a student would write it into the cell."""
    return {cell.grade_id: without_markers(cell.source) for cell in cells if cell.is_solution and cell.kind == "code"}


def empty_functions(source: str) -> str:
    """The same functions with nothing useful in them."""
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.body = [ast.Return(ast.Constant(None))]
    return ast.unparse(ast.fix_missing_locations(tree))
