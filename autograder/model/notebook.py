"""A notebook and its cells.

A cell's role says what it is for; it follows from nbgrader's metadata and the cell's type.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from autograder.model import names, regions

TITLE = "# @title"  # a cell's first line may give it a title, which Colab shows when the cell is folded


class Role(Enum):
    """What a cell is for."""

    TEST = "test"  # code of the instructor's that is run to grade
    ANSWER = "answer"  # the student's code, graded by a test
    WRITTEN = "written answer"  # the student's text, graded by a person
    READ_BY_HAND = "code graded by hand"  # the student's code, graded by a person
    TASK = "task"  # a text that asks for something anywhere in the notebook, graded by a person
    SETUP = "set-up"  # the locked cell whose imports the tests may use
    LOCKED = "locked"  # another read-only cell
    GIVEN = "given code"  # code that is nobody's answer
    TEXT = "text"


@dataclass
class Cell:
    """One cell: of a script, of the instructor's notebook, of a student's notebook or of a submission."""

    kind: str  # "code", "markdown" or "raw"
    source: str
    metadata: dict[str, Any]
    id: str = ""
    attachments: dict[str, Any] = field(default_factory=dict)
    line: int = 1  # of the cell's first source line in the script it was written in
    outputs: list[Any] = field(default_factory=list)  # as they were handed in

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> Cell:
        """A cell as a notebook file has it; its text may be a list of lines."""
        source = entry["source"] if isinstance(entry["source"], str) else "".join(entry["source"])
        return cls(
            entry["cell_type"],
            source,
            dict(entry.get("metadata", {})),
            entry.get("id", ""),
            dict(entry.get("attachments", {})),
        )

    def as_dict(self) -> dict[str, Any]:
        """The plain data that is sent to another process: `Cell(**data)` is this cell again."""
        return {"kind": self.kind, "source": self.source, "metadata": self.metadata, "id": self.id}

    # ---- what nbgrader's metadata say

    @property
    def nbgrader(self) -> dict[str, Any]:
        found = self.metadata.get("nbgrader")
        return found if isinstance(found, dict) else {}

    @property
    def name(self) -> str:
        """The cell's id in nbgrader, or "" for a cell that nbgrader does not know."""
        name = self.nbgrader.get("grade_id", "")
        return name if isinstance(name, str) else ""

    @property
    def grade_id(self) -> str:
        return self.name

    @property
    def points(self) -> float:
        return float(self.nbgrader.get("points") or 0)

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
    def role(self) -> Role:
        if self.is_task:
            return Role.TASK
        if self.is_solution:
            graded = Role.READ_BY_HAND if self.kind == "code" else Role.WRITTEN
            return graded if self.is_grade else Role.ANSWER
        if self.is_grade and self.kind == "code":
            return Role.TEST
        if self.nbgrader.get("locked") and not self.is_grade:
            return Role.SETUP if self.kind == "code" and self.name == "setup" else Role.LOCKED
        return Role.GIVEN if self.kind == "code" else Role.TEXT

    @property
    def is_test(self) -> bool:
        return self.role is Role.TEST

    @property
    def is_exercise(self) -> bool:
        """The student's code, graded by a test."""
        return self.role is Role.ANSWER and self.kind == "code"

    @property
    def is_graded(self) -> bool:
        """Has points, given by a test or by a person."""
        return self.is_grade or self.is_task

    @property
    def is_manual(self) -> bool:
        """Graded by a person."""
        return self.role in (Role.WRITTEN, Role.READ_BY_HAND, Role.TASK)

    @property
    def is_locked(self) -> bool:
        """A read-only cell, such as the set-up cell, that is neither test nor answer."""
        return self.role in (Role.SETUP, Role.LOCKED)

    @property
    def is_generated(self) -> bool:
        """Added by the build: not part of the script."""
        course = self.metadata.get("course")
        return isinstance(course, dict) and bool(course.get("generated"))

    @property
    def is_look(self) -> bool:
        """Only shows something: see `looks`."""
        return self.role is Role.GIVEN and (self.metadata.get("look") is True or bool(self.look_for))

    @property
    def look_for(self) -> str:
        """The written question that asks about what this cell shows."""
        question = self.metadata.get("look")
        return question if isinstance(question, str) else ""

    @property
    def written_by_student(self) -> bool:
        return self.is_solution and not self.nbgrader.get("locked", False)

    # ---- what the text says

    def file_line(self, cell_line: int) -> int:
        """The script's line of the cell's line (1 is the first)."""
        return self.line + cell_line - 1

    @property
    def regions(self) -> list[regions.Region]:
        return regions.regions(self.source)

    @property
    def given(self) -> str:
        """The text that the student gets, worked out independently of nbgrader."""
        return regions.as_given(self.source)

    @property
    def python(self) -> str:
        """The source as plain Python; empty for a text."""
        return names.python(self.source) if self.kind == "code" else ""

    @property
    def tree(self) -> ast.Module:
        return ast.parse(self.python)

    @property
    def names(self) -> names.Names:
        return names.of(self.python)


@dataclass
class Notebook:
    """A notebook's cells, in order."""

    cells: list[Cell]

    @classmethod
    def from_json(cls, notebook: str | bytes | dict[str, Any]) -> Notebook:
        """From a file's content in nbformat 4, as text or read already."""
        content = json.loads(notebook) if isinstance(notebook, str | bytes) else notebook
        return cls([Cell.from_json(entry) for entry in content["cells"]])

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    def named(self) -> dict[str, Cell]:
        """The cells that nbgrader knows, by id."""
        return {cell.name: cell for cell in self.cells if cell.name}

    def with_role(self, *roles: Role) -> list[Cell]:
        return [cell for cell in self.cells if cell.role in roles]

    def points(self) -> dict[str, float]:
        """Points by id of every graded cell."""
        return {cell.name: cell.points for cell in self.cells if cell.is_graded}
