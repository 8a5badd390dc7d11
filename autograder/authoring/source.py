"""Reads an assignment's percent script into cells that know their line in the file."""

from __future__ import annotations

import importlib
from pathlib import Path

from autograder.authoring import headers
from autograder.authoring.problem import Problem as Problem
from autograder.model import names
from autograder.model.course import CourseError
from autograder.model.notebook import Cell


def bound_names(cell: Cell) -> set[str]:
    """Names that a cell assigns, defines or imports at top level."""
    return star_names(cell) | cell.names.bound


def imported_names(cell: Cell) -> set[str]:
    return star_names(cell) | cell.names.imported


def free_names(cell: Cell) -> set[str]:
    """Names that a cell needs from elsewhere, built-ins included."""
    return set(cell.names.read) - bound_names(cell)


def star_names(cell: Cell) -> set[str]:
    """Names that `from module import *` brings, of the course's own modules: only these may be imported to find out."""
    found: set[str] = set()
    for name in names.star_imports(cell.tree):
        if name.startswith("helpers"):
            module = importlib.import_module(name)
            found |= set(getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")]))
    return found


def line_of_name(cell: Cell, name: str) -> int:
    """The file's line where the name is first mentioned."""
    return cell.file_line(names.first_line(cell.tree, name))


def read(path: Path) -> list[Cell]:
    """The cells of a percent script. Generated cells that came back from an edited notebook are left out."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CourseError(
            f"{path} is missing: an assignment is a script, solutions/NN-name/NN-name.py, or a folder of nbgrader"
            " notebooks"
        ) from None
    except UnicodeDecodeError:
        raise CourseError(f"{path} is not UTF-8 text") from None
    import jupytext  # a second: the examiner, which only asks for names, does without

    try:
        notebook = jupytext.reads(text, fmt="py:percent")
    except Exception as error:  # noqa: BLE001  jupytext raises many kinds for text it cannot read
        raise CourseError(f"{path}: jupytext cannot read it: {error}") from None
    starts = [number + 1 for number, line in enumerate(text.split("\n"), 1) if line.startswith("# %%")]
    if len(starts) != len(notebook.cells):
        raise CourseError(
            f"{path}: text before the first `# %%` cell, or a `# %%` inside a string: move it into a cell"
        )
    cells = []
    for cell, start in zip(notebook.cells, starts, strict=True):
        cells.append(Cell(cell.cell_type, cell.source, headers.expanded(dict(cell.metadata)), line=start))
    return [cell for cell in cells if not cell.is_generated]
