"""Which assignment this notebook is. Its set-up cell says so; where that was not run, the notebook's folder does."""

from __future__ import annotations

from pathlib import Path

STEPS = "steps.toml"  # help in steps, in an assignment's room: helpers/checks/steps.py
STEP_TITLES = {"question": "Stuck? A question first", "idea": "The idea", "first": "The first step"}
HERE = Path.cwd()  # when the notebook began: its own cells may go elsewhere
_said: list[str] = []


def say(assignment: str) -> None:
    _said[:] = [assignment]


def current() -> str:
    """Its id, as "02-rnn-backprop"."""
    return _said[0] if _said else HERE.name


def room_of(assignment: str) -> str:
    """The folder of `helpers` that is named like the assignment: "rnn_backprop"."""
    return assignment.partition("-")[2].replace("-", "_")
