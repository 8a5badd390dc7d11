"""Help in three steps for exercises on which people get stuck: a question, the idea, the first step.

The texts of an assignment are in its room, `helpers/ROOM/steps.toml`, a table for each exercise:

    [weights]
    question = "Which axis must sum to one?"
    idea = "…"
    first = "…"

A test that is not green shows them folded, each inside the one before. Read only where a person looks on.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path

from helpers.kit import assignment
from helpers.kit.assignment import STEP_TITLES, STEPS

HELPERS = Path(__file__).parents[1]


@lru_cache
def texts(room: str) -> dict[str, dict[str, str]]:
    """The steps of one assignment by exercise; none where the room has no such file."""
    path = HELPERS / room / STEPS
    return tomllib.loads(path.read_text(encoding="utf-8")) if room and path.is_file() else {}


def of(exercise: str) -> list[tuple[str, str]]:
    """(title, text) of each step for this exercise of the notebook's assignment, in order."""
    found = texts(assignment.room_of(assignment.current())).get(exercise, {})
    return [(title, found[key]) for key, title in STEP_TITLES.items() if key in found]
