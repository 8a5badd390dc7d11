"""What was seen while a notebook ran."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from autograder.model.record import Event, EventKind, Reason, Sign


@dataclass
class Result:
    """What was seen while a notebook ran, by the index of a cell."""

    outputs: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    ungraded: dict[int, Reason] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)
    processor: dict[int, float] = field(default_factory=dict)  # seconds of processor time
    handed_in: dict[int, list[dict[str, Any]]] = field(default_factory=dict)  # outputs of cells that were left out
    incidents: list[Event] = field(default_factory=list)
    integrity: list[Sign] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)  # cells in which the student's process ended, nobody here knows why
    peak: int = 0
    cpu: float = 0.0

    def note(self, kind: EventKind, **about: Any) -> None:
        self.incidents.append(Event.of(kind, **about))
