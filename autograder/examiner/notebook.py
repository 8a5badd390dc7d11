"""What the examiner needs to know of an assignment's notebook: the instructor's cells, what students were given, and the names they define."""

from __future__ import annotations

import ast
import json
import re
import symtable
from typing import TYPE_CHECKING, Any

from IPython.core.inputtransformer2 import TransformerManager

from autograder.source import BEGIN_HIDDEN, END_HIDDEN

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

HIDDEN = re.compile(rf"^[^\n]*{re.escape(BEGIN_HIDDEN)}.*?{re.escape(END_HIDDEN)}[^\n]*\n?", re.MULTILINE | re.DOTALL)


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
            cells.append({"kind": row.cell_type, "source": row.source, "metadata": {"nbgrader": known}, "id": entry.get("id", "")})
        else:
            cells.append({"kind": entry["cell_type"], "source": source, "metadata": {}, "id": entry.get("id", "")})
    return {**described(cells), "released": given}


def from_cells(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """The same from the cells of a notebook at hand."""
    return described(cells)


def described(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Add what students were given, the set-up, the imports and the names that tests may ask for."""
    named = [cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade_id")]
    released = {cell["metadata"]["nbgrader"]["grade_id"]: HIDDEN.sub("", cell["source"]) for cell in named}
    setup = next((cell["source"] for cell in named if is_setup(cell)), None)
    code = [cell for cell in cells if cell["kind"] == "code"]
    exports: set[str] = set()
    imported: set[str] = set()
    imports: list[str] = []
    for cell in code:
        known = cell["metadata"].get("nbgrader", {})
        if known.get("grade") and not known.get("solution"):
            continue
        bound, brought, statements = names(cell["source"])
        exports |= bound - brought
        imported |= brought
        if setup is None:
            imports += statements
    return {
        "cells": cells,
        "released": released,
        "setup": setup,
        "imports": imports,
        "helpers": [cell["source"] for cell in named if is_helper(cell)],
        "imported": sorted(imported - exports),
        "exports": sorted(exports),
        "modules": modules(code),
    }


def is_helper(cell: dict[str, Any]) -> bool:
    """A locked cell of the instructor's that is neither a test nor the set-up: what it defines, tests take from here, not from a student."""
    known = cell["metadata"]["nbgrader"]
    locked = bool(known.get("locked")) and not known.get("grade") and not known.get("solution") and not known.get("task")
    return cell["kind"] == "code" and locked and known["grade_id"] not in ("setup", "colab")


def is_setup(cell: dict[str, Any]) -> bool:
    known = cell["metadata"]["nbgrader"]
    return known["grade_id"] == "setup" and bool(known.get("locked")) and not known.get("solution") and cell["kind"] == "code"


def parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(TransformerManager().transform_cell(source))
    except (SyntaxError, ValueError):
        return None


def names(source: str) -> tuple[set[str], set[str], list[str]]:
    """Names that a cell binds, those it imports, and its import statements."""
    tree = parsed(source)
    if tree is None:
        return set(re.findall(r"^(?:def|class)\s+(\w+)", source, re.MULTILINE)), set(), []
    table = symtable.symtable(ast.unparse(tree), "cell", "exec")
    bound = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    imported = {s.get_name() for s in table.get_symbols() if s.is_imported()}
    return bound, imported, [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]


def modules(cells: list[dict[str, Any]]) -> list[str]:
    """What the notebook imports, as `module` or `module:name`: the nursery does it once, for everybody."""
    found: dict[str, None] = {}
    for cell in cells:
        tree = parsed(HIDDEN.sub("", cell["source"]))
        for node in ast.walk(tree) if tree is not None else []:
            if isinstance(node, ast.Import):
                found.update({alias.name: None for alias in node.names})
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found[node.module] = None
                found.update({f"{node.module}:{alias.name}": None for alias in node.names})
    return list(found)


def layout_of(text: str) -> dict[str, Any]:
    found = json.loads(text)
    assert isinstance(found, dict)
    return found
