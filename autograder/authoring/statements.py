"""What the text says about points and times is what the cells and `course.toml` say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from autograder.authoring.problem import Problem
from autograder.model.notebook import Cell, Notebook

HEADING = re.compile(
    r"^#{1,6} .*<small>.*?(?P<minutes>\d+) min · (?P<points>[\d.]+) (?P<bonus>bonus )?points?\b", re.MULTILINE
)
TOTAL = re.compile(r"\*\*Points\*\* *\| *(?P<points>[\d.]+)(?:, and (?P<bonus>[\d.]+) bonus)?")
TIME = re.compile(r"\*\*Time\*\* *\| *(?P<text>[^|;]*)")
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
PARTS = {"quarter": 0.25, "half": 0.5}
NEAR = 20  # minutes: "about four hours" may be a quarter of an hour more


@dataclass
class Heading:
    """An exercise's heading, and the points of the graded cells below it."""

    line: int
    stated: float
    bonus: bool
    cells: list[Cell] = field(default_factory=list)


def headings(cells: list[Cell]) -> list[Heading]:
    found: list[Heading] = []
    for cell in cells:
        if cell.kind == "markdown":
            for match in HEADING.finditer(cell.source):
                line = cell.file_line(cell.source[: match.start()].count("\n") + 1)
                found.append(Heading(line, float(match["points"]), match["bonus"] is not None))
        if cell.is_graded and found:
            found[-1].cells.append(cell)
    return found


def points(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    """Each heading states the points of the cells below it, the introduction those of the notebook."""
    for heading in headings(cells):
        earned = sum(cell.points for cell in heading.cells)
        if earned != heading.stated:
            names = ", ".join(f"`{cell.name}`" for cell in heading.cells) or "no graded cell"
            yield Problem(
                path,
                heading.line,
                f"the heading says {heading.stated:g} points, the cells below it ({names}) {earned:g}",
            )
        elif any(cell.name.startswith("bonus-") != heading.bonus for cell in heading.cells):
            yield Problem(
                path,
                heading.line,
                "a heading says `bonus points` where the ids below it begin with `bonus-`, and only there",
            )
    count, bonus = sums(Notebook(cells).points())
    for cell in cells:
        match = TOTAL.search(cell.source) if cell.kind == "markdown" else None
        if match and (float(match["points"]), float(match["bonus"] or 0)) != (count, bonus):
            line = cell.file_line(cell.source[: match.start()].count("\n") + 1)
            stated = f"{match['points']} points and {match['bonus'] or 0} bonus"
            yield Problem(path, line, f"the introduction says {stated}, the cells {count:g} and {bonus:g}")


def sums(graded: dict[str, float]) -> tuple[float, float]:
    """(points that count, bonus points)."""
    bonus = sum(value for name, value in graded.items() if name.startswith("bonus-"))
    return sum(graded.values()) - bonus, bonus


def time(path: Path, cells: list[Cell], minutes: int) -> Iterator[Problem]:
    """The introduction's time is the one in `course.toml`, from which the start page and the README are made."""
    for cell in cells:
        match = TIME.search(cell.source) if cell.kind == "markdown" else None
        stated = minutes_in(match["text"]) if match else None
        if match and stated is not None and abs(stated - minutes) > NEAR:
            line = cell.file_line(cell.source[: match.start()].count("\n") + 1)
            yield Problem(path, line, f"the introduction says {match['text'].strip()!r}, course.toml {minutes} minutes")


def minutes_in(text: str) -> float | None:
    """ "about five and a half hours" is 330; None where no time is named."""
    words = re.findall(r"[a-z]+|[\d.]+", text.lower())
    number = next(
        (NUMBERS[word] if word in NUMBERS else float(word) for word in words if word in NUMBERS or word[0].isdigit()),
        None,
    )
    if number is None:
        return None
    if "minutes" in words or "min" in words:
        return float(number)
    parts = next((PARTS[word] for word in words if word in PARTS), 0.0)
    return 60 * (number + parts * (3 if "three" in words and "quarters" in words else 1))
