"""Reads an assignment's percent script into cells that know their line in the file."""

from __future__ import annotations

import ast
import symtable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

from autograder.course import CourseError

BEGIN_SOLUTION, END_SOLUTION = "BEGIN SOLUTION", "END SOLUTION"
BEGIN_HIDDEN, END_HIDDEN = "BEGIN HIDDEN TESTS", "END HIDDEN TESTS"
CODE_STUB = "# YOUR CODE HERE\nraise NotImplementedError()"


@dataclass(frozen=True)
class Problem:
    """Something wrong in a source file. An error stops the build; a warning does not."""

    path: Path
    line: int
    message: str
    warning: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {'warning: ' if self.warning else ''}{self.message}"


@dataclass
class Region:
    """Lines between a BEGIN and an END marker, by their line in the file."""

    kind: str
    lines: list[tuple[int, str]] = field(default_factory=list)


@dataclass
class SourceCell:
    """One cell of the script. `line` is the file's line of the cell's first source line."""

    kind: str
    source: str
    line: int
    metadata: dict[str, Any]

    @property
    def nbgrader(self) -> dict[str, Any]:
        return self.metadata.get("nbgrader", {})

    @property
    def grade_id(self) -> str:
        return str(self.nbgrader.get("grade_id") or "")

    @property
    def is_grade(self) -> bool:
        return bool(self.nbgrader.get("grade"))

    @property
    def is_solution(self) -> bool:
        return bool(self.nbgrader.get("solution"))

    @property
    def is_task(self) -> bool:
        return bool(self.nbgrader.get("task"))

    @property
    def is_test(self) -> bool:
        """Autograder tests: graded code that is not the student's."""
        return self.kind == "code" and self.is_grade and not self.is_solution

    @property
    def is_manual(self) -> bool:
        """Graded by hand: a written answer, a task, or code a person reads."""
        return self.is_task or (self.is_grade and self.is_solution)

    @property
    def is_locked(self) -> bool:
        """A read-only cell, such as the set-up cell."""
        return bool(self.nbgrader.get("locked")) and not self.is_grade and not self.is_solution

    @property
    def is_generated(self) -> bool:
        return bool(self.metadata.get("course", {}).get("generated"))

    def file_line(self, cell_line: int) -> int:
        """The file's line of the cell's line (1 is the first)."""
        return self.line + cell_line - 1

    @cached_property
    def regions(self) -> list[Region]:
        """Solution and hidden-test regions; markers are assumed balanced (see `rules.markers`)."""
        found: list[Region] = []
        open_region: Region | None = None
        for number, text in enumerate(self.source.split("\n"), 1):
            if BEGIN_SOLUTION in text or BEGIN_HIDDEN in text:
                open_region = Region("solution" if BEGIN_SOLUTION in text else "hidden tests")
                found.append(open_region)
            elif END_SOLUTION in text or END_HIDDEN in text:
                open_region = None
            elif open_region is not None:
                open_region.lines.append((self.file_line(number), text))
        return found

    @cached_property
    def python(self) -> str:
        """The source as plain Python: magics and shell lines translated, as IPython does."""
        return TransformerManager().transform_cell(self.source) if self.kind == "code" else ""

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.python)

    @cached_property
    def bound_names(self) -> set[str]:
        """Names this cell assigns, defines or imports at top level."""
        table = symtable.symtable(self.python, "cell", "exec")
        return {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()} | star_names(self.tree)

    @cached_property
    def imported_names(self) -> set[str]:
        table = symtable.symtable(self.python, "cell", "exec")
        return {s.get_name() for s in table.get_symbols() if s.is_imported()} | star_names(self.tree)

    @cached_property
    def free_names(self) -> set[str]:
        """Names this cell needs from elsewhere (built-ins included)."""
        return free_names(symtable.symtable(self.python, "cell", "exec")) - self.bound_names

    def line_of_name(self, name: str) -> int:
        """The file's line where the name is first mentioned."""
        lines = [node.lineno for node in ast.walk(self.tree) if isinstance(node, ast.Name) and node.id == name]
        return self.file_line(min(lines, default=1))


def free_names(table: symtable.SymbolTable) -> set[str]:
    top = table.get_type() == "module"
    names = {s.get_name() for s in table.get_symbols() if s.is_referenced() and (top or s.is_global())}
    return names.union(*(free_names(child) for child in table.get_children()))


def star_names(tree: ast.Module) -> set[str]:
    """Names that a top-level `from module import *` of the course's own packages brings in."""
    found: set[str] = set()
    for node in tree.body:
        if (
            isinstance(node, ast.ImportFrom)
            and any(alias.name == "*" for alias in node.names)
            and (node.module or "").startswith("helpers")
        ):
            module = __import__(str(node.module), fromlist=["*"])
            found |= set(getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")]))
    return found


def read(path: Path) -> list[SourceCell]:
    """The cells of a percent script. Generated cells that came back from an edited notebook are left out."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CourseError(
            f"{path} is missing: an assignment is a script, solutions/NN-name/NN-name.py, or a folder of nbgrader notebooks"
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
        raise CourseError(f"{path}: text before the first `# %%` cell, or a `# %%` inside a string: move it into a cell")
    cells = []
    for cell, start in zip(notebook.cells, starts, strict=True):
        cells.append(SourceCell(cell.cell_type, cell.source, start, dict(cell.metadata)))
    return [cell for cell in cells if not cell.is_generated]
