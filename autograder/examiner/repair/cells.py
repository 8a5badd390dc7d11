"""A submission on its way to the notebook that is graded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autograder.model.notebook import TITLE, Cell
from autograder.model.record import Repair, RepairKind, Sign, SignKind


@dataclass
class Repaired:
    """The notebook to grade, what had to be mended, and what looks like more than an accident."""

    cells: list[Cell]
    repairs: list[Repair] = field(default_factory=list)
    edited: list[Sign] = field(default_factory=list)


@dataclass
class Mending(Repaired):
    """A submission while it is mended. `released` is what the student was given, by cell name."""

    submitted: list[Cell] = field(default_factory=list)
    framed: list[Cell] = field(default_factory=list)  # the instructor's cells that have a name
    released: dict[str, str] = field(default_factory=dict)
    ours: set[str] = field(default_factory=set)  # texts of the instructor's cells that have no name
    places: dict[str, int] = field(default_factory=dict)  # of the assignment's cells in the submission, by name
    own: dict[str, list[Cell]] = field(
        default_factory=dict
    )  # the student's own cells, by the assignment's cell that they follow

    @property
    def names(self) -> dict[int, str]:
        """The assignment's cells by their place in the submission."""
        return {place: name for name, place in self.places.items()}

    def given(self, cell: Cell) -> str:
        return self.released.get(cell.name, cell.source)

    def untouched(self, cell: Cell) -> bool:
        return cell.written_by_student and normal(cell.source) in ("", normal(self.given(cell)))

    def note(self, kind: RepairKind, **about: Any) -> None:
        self.repairs.append(Repair.of(kind, **about))

    def suspect(self, kind: SignKind, **about: Any) -> None:
        self.edited.append(Sign.of(kind, **about))


def normal(text: str) -> str:
    """A text without its title, which earlier notebooks did not have, and without the blanks at line ends and around it
    that editors add and take away.
    """
    lines = text.strip().splitlines()
    return "\n".join(line.rstrip() for line in (lines[1:] if lines and lines[0].startswith(TITLE) else lines))


def released_metadata(cell: Cell) -> dict[str, Any]:
    """What nbgrader knows of the instructor's cell, and nothing else."""
    return {"nbgrader": dict(cell.nbgrader)}
