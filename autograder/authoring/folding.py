"""Folds test code away in students' notebooks: the source stays there for whoever opens it, outputs are never folded.

JupyterLab folds a cell that says so, and shows its first line. Colab's form view shows the title that the cell's first
line gives. So the first line of a test says which exercise it tests; scripts and instructors' notebooks do without.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from nbgrader.utils import compute_checksum

from autograder.model.notebook import TITLE, Cell

HEADING = re.compile(r"^###? +(.+?) *(?:<small>.*)?$", re.MULTILINE)
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}


def title(text: str) -> str:
    """The line that gives a cell its title."""
    return f"{TITLE} {text}"


def fold_tests(notebook: Any) -> None:
    """Give the test cells of a student's notebook their titles, and fold them. Ordinary tests of nbgrader's stay."""
    heading = ""
    tests = []
    for node in notebook.cells:
        cell = Cell.from_json(node)
        if cell.kind == "markdown":
            heading = next(reversed(HEADING.findall(cell.source)), heading)
        elif cell.is_test and cell.source.rstrip().endswith(".score()"):
            tests.append((node, cell, heading))
    shared = Counter(heading for _, _, heading in tests)
    for node, cell, heading in tests:
        name = cell.name.removesuffix("-test")
        about = name if not heading else heading if shared[heading] == 1 else f"{heading}, {name}"
        if not cell.source.startswith(TITLE):
            node.source = f"{title(f'Test of {about}: run this cell')}\n{cell.source}"
        node.metadata.update(FOLDED)
        if "checksum" in node.metadata.nbgrader:
            node.metadata.nbgrader.checksum = compute_checksum(node)
