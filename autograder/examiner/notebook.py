"""What the examiner needs to know of an assignment's notebook: the instructor's cells, what students were given, and
the names they define.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from autograder.model import names, regions
from autograder.model.notebook import Cell, Notebook, Role
from autograder.model.regions import Kind

if TYPE_CHECKING:
    from nbgrader.api import Gradebook


def from_gradebook(book: Gradebook, assignment: str, notebook: str, layout: dict[str, Any]) -> dict[str, Any]:
    """The instructor's cells as nbgrader keeps them, in the order of the notebook that students were given."""
    stored = book.find_notebook(notebook, assignment)
    rows = {cell.name: cell for cell in stored.source_cells}
    points = {cell.name: cell.max_score for cell in [*stored.grade_cells, *stored.task_cells]}
    grades = {cell.name for cell in stored.grade_cells}
    solutions = {cell.name for cell in stored.solution_cells}
    tasks = {cell.name for cell in stored.task_cells}
    cells = []
    given = {}
    for entry in layout["cells"]:
        metadata = entry.get("metadata", {})
        name = metadata.get("nbgrader", {}).get("grade_id", "")
        source = entry["source"] if isinstance(entry["source"], str) else "".join(entry["source"])
        if name in rows:
            row = rows[name]
            given[name] = source
            known = {
                "grade_id": name,
                "grade": name in grades,
                "solution": name in solutions,
                "task": name in tasks,
                "locked": bool(row.locked),
                "schema_version": 3,
                "cell_type": row.cell_type,
                "checksum": row.checksum,
            }
            if name in points:
                known["points"] = points[name]
            cells.append(
                {
                    "kind": row.cell_type,
                    "source": row.source,
                    "metadata": {"nbgrader": known},
                    "id": entry.get("id", ""),
                }
            )
        else:
            look = {"look": metadata["look"]} if Cell.from_json(entry).is_look else {}
            cells.append({"kind": entry["cell_type"], "source": source, "metadata": look, "id": entry.get("id", "")})
    return {**described(cells), "released": given}


def from_cells(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """The same from the cells of a notebook at hand."""
    return described(cells)


def described(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Add what students were given, the set-up, the imports and the names that tests may ask for."""
    notebook = Notebook([Cell(**cell) for cell in cells])
    setup = next((cell.source for cell in notebook.with_role(Role.SETUP)), None)
    exports: set[str] = set()
    imported: set[str] = set()
    imports: list[str] = []
    modules: dict[str, None] = {}
    for cell in notebook:
        if cell.kind != "code":
            continue
        modules |= dict.fromkeys(names.imported_modules(regions.without(cell.source, Kind.HIDDEN)))
        if cell.is_test:
            continue
        bound, brought = names.bound_in_cell(cell.source)
        exports |= bound - brought
        imported |= brought
        if setup is None:
            imports += names.import_statements(cell.source)
    return {
        "cells": cells,
        "released": {name: regions.without(cell.source, Kind.HIDDEN) for name, cell in notebook.named().items()},
        "setup": setup,
        "imports": imports,
        "helpers": [cell.source for cell in notebook.with_role(Role.LOCKED) if is_helper(cell)],
        "imported": sorted(imported - exports),
        "exports": sorted(exports),
        "modules": list(modules),
        "looks": {cell.source: cell.look_for for cell in notebook if cell.is_look},
    }


def is_helper(cell: Cell) -> bool:
    """A locked cell of the instructor's that is neither a test nor the set-up: what it defines, tests take from here,
    not from a student.
    """
    return cell.kind == "code" and bool(cell.name) and cell.name != "colab"


def layout_of(text: str) -> dict[str, Any]:
    found = json.loads(text)
    assert isinstance(found, dict)
    return found
