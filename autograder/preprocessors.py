"""Steps that the course adds to nbgrader's own pipeline."""

from __future__ import annotations

from typing import Any

from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.source import BEGIN_HIDDEN, END_HIDDEN


class HideHiddenTests(NbGraderPreprocessor):
    """Takes hidden tests out of what a student sees: their source, and the tracebacks that quote it."""

    def preprocess_cell(self, cell: Any, resources: Any, cell_index: int) -> tuple[Any, Any]:
        if cell.cell_type == "code" and BEGIN_HIDDEN in cell.source:
            cell.source = without_hidden(cell.source)
            for output in cell.outputs:
                if output.output_type == "error":
                    output.traceback = [f"{output.ename} in a hidden test of this cell."]
                    output.evalue = ""
        return cell, resources


def without_hidden(source: str) -> str:
    """The cell's text with every hidden region replaced by one comment."""
    lines, hidden = [], False
    for line in source.split("\n"):
        if BEGIN_HIDDEN in line:
            hidden = True
            lines.append("# (hidden tests ran here)")
        elif END_HIDDEN in line:
            hidden = False
        elif not hidden:
            lines.append(line)
    return "\n".join(lines)
