"""What `course build` refuses in the help in steps of an assignment (`helpers/checks/steps.py` shows it)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from autograder.authoring.problem import Problem
from autograder.authoring.quoting import quoted_in
from autograder.model.course import Assignment
from autograder.model.notebook import Cell
from helpers.kit.assignment import STEP_TITLES, STEPS, room_of


def problems(assignment: Assignment, cells: list[Cell]) -> list[Problem]:
    path = Path("helpers", room_of(assignment.id), STEPS)
    try:
        text = (assignment.root / path).read_text(encoding="utf-8")
        tables = tomllib.loads(text)
    except FileNotFoundError:
        return []
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return [Problem(path, 1, f"not valid TOML: {error}")]
    tested = {cell.name.removesuffix("-test") for cell in cells if cell.is_test}
    lines = Lines(text)
    found: list[Problem] = []
    for exercise, steps in tables.items():
        if exercise not in tested:
            found.append(
                Problem(path, lines.of(exercise), f"steps for {exercise!r}, which no test cell is named after")
            )
        elif not are_three(steps):
            wanted = ", ".join(f"`{key}`" for key in STEP_TITLES)
            found.append(Problem(path, lines.of(exercise), f"the steps of {exercise!r} are not three texts: {wanted}"))
        else:
            found += quotes(path, [(lines.of(exercise, key), steps[key]) for key in STEP_TITLES], cells)
    return found


def are_three(steps: object) -> bool:
    return (
        isinstance(steps, dict)
        and steps.keys() == STEP_TITLES.keys()
        and all(isinstance(text, str) and text.strip() for text in steps.values())
    )


def quotes(path: Path, steps: list[tuple[int, str]], cells: list[Cell]) -> Iterator[Problem]:
    """Lines of an answer or a hidden test that stand in a step."""
    prose = [(line, " ".join(text.replace("`", " ").split())) for line, text in steps]
    for cell in cells:
        for region in cell.regions:
            for number, text in region.body:
                if (line := quoted_in(prose, text)) is not None:
                    where = f"line {cell.file_line(number)} of the {region.kind.value}"
                    yield Problem(path, line, f"this step quotes {where}: say what to think of, not what to type")


class Lines:
    """Finds the line of a table, or of a key in it."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")

    def of(self, table: str, key: str = "") -> int:
        head = re.compile(rf"""\[["']?{re.escape(table)}["']?\]""")
        start = next((number for number, line in enumerate(self.lines, 1) if head.match(line)), 1)
        after = (number for number, line in enumerate(self.lines[start:], start + 1) if line.startswith(key))
        return next(after, start) if key else start
