"""Model answers, where the package has them: only one made for learning alone does (`course release --self-study`).

They lie in the folder `answers` of `helpers`, a file for each assignment: what to show below a green test, and below a
written question once it has been tried. A class's package has no such folder.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from helpers.kit import assignment

FOLDER = "answers"
PLACE = Path(__file__).parents[1] / FOLDER


@dataclass(frozen=True)
class Answer:
    """Our code for an exercise, and remarks on it."""

    code: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Written:
    """What a written question looks like before it is answered, and our answer with its rubric: Markdown."""

    given: str
    answer: str


@lru_cache
def of_assignment(name: str, place: Path) -> dict[str, Any]:
    path = place / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def of(exercise: str) -> Answer | None:
    """Of an exercise of the notebook's assignment."""
    found = of_assignment(assignment.current(), PLACE).get("exercises", {}).get(exercise)
    return Answer(found["code"], tuple(found["remarks"])) if found else None


def of_written(question: str) -> Written | None:
    found = of_assignment(assignment.current(), PLACE).get("written", {}).get(question)
    return Written(**found) if found else None
