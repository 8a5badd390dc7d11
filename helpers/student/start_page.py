"""The start page: what the course is, where to go on, and what the student's own tests gave, made afresh every time.

Everything is read from files: `course.toml`, the notebooks as they were released, and what test cells recorded in
`work/`. No kernel is needed, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from helpers.kit.progress import Result, results
from helpers.student.course import Assignment, Course
from helpers.student.work import FOLDER

HEADING = re.compile(r"^### +(.+?) *(?:<small>.*)?$", re.MULTILINE)
NEEDS = re.compile(r"\*\*You need\*\* *\| *(.+?) *\|")
NUMBER = re.compile(r"\b\d\d\b")


@dataclass(frozen=True)
class Exercise:
    """One graded cell: its heading, its points, and whether a test gives them."""

    name: str
    heading: str
    points: float
    tested: bool
    bonus: bool


@dataclass(frozen=True)
class Contents:
    """What one released notebook says about itself."""

    exercises: tuple[Exercise, ...]
    needs: str = ""


@dataclass
class Card:
    """One assignment on the page."""

    assignment: Assignment
    notebook: str  # its file's name
    title: str
    contents: Contents
    known: Mapping[str, Result]
    needs: list[Card] = field(default_factory=list)

    @property
    def number(self) -> str:
        number = self.assignment.id.partition("-")[0]
        return number if number.isdigit() else ""

    @property
    def tested(self) -> list[Exercise]:
        return [one for one in self.contents.exercises if one.tested]

    def earned(self, exercise: Exercise) -> float:
        result = self.known.get(exercise.name)
        return min(result.score, exercise.points) if result is not None else 0.0

    @property
    def got(self) -> float:
        return sum(self.earned(one) for one in self.tested if not one.bonus)

    @property
    def possible(self) -> float:
        return sum(one.points for one in self.tested if not one.bonus)

    @property
    def written(self) -> float:
        """Points that a person gives."""
        return sum(one.points for one in self.contents.exercises if not one.tested and not one.bonus)

    @property
    def bonus(self) -> tuple[float, float]:
        extra = [one for one in self.contents.exercises if one.bonus]
        return sum(self.earned(one) for one in extra), sum(one.points for one in extra)

    @property
    def percent(self) -> int:
        return int(100 * self.got / self.possible) if self.possible else 0

    @property
    def begun(self) -> bool:
        return bool(self.known)

    @property
    def touched(self) -> float:
        return max((result.when for result in self.known.values()), default=0.0)

    @property
    def next(self) -> Exercise | None:
        """The first exercise whose test did not give all its points yet."""
        return next((one for one in self.tested if not one.bonus and self.earned(one) < one.points), None)

    @property
    def hours(self) -> str:
        return f"{self.assignment.minutes / 60:.2g} h"

    @property
    def link(self) -> str:
        return quote(f"{FOLDER}/{self.assignment.id}/{self.notebook}")


@dataclass(frozen=True)
class Step:
    """Where to go on."""

    card: Card
    exercise: Exercise
    begun: bool

    @property
    def link(self) -> str:
        return f"{self.card.link}#cell-id={quote(self.exercise.name)}"


def cards(course: Course) -> list[Card]:
    """A card for every notebook of the course, in the order learners meet them."""
    made = []
    for assignment in course.assignments:
        known = results(course.root / FOLDER, assignment.id)
        paths = sorted((course.root / "notebooks" / assignment.id).glob("[!.]*.ipynb"))
        for path in paths:
            title = assignment.title if len(paths) == 1 else f"{assignment.title}: {path.stem}"
            made.append(Card(assignment, path.name, title, contents(path, path.stat().st_mtime_ns), known))
    for card in made:
        numbers = set(NUMBER.findall(card.contents.needs))
        card.needs = [other for other in made if other.number in numbers and other is not card]
    return made


@lru_cache(maxsize=256)
def contents(path: Path, changed: int) -> Contents:
    """Read once for every change of the file."""
    try:
        notebook = json.loads(path.read_bytes())
        return contents_of(notebook)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # a page is shown all the same
        return Contents(())


def contents_of(notebook: Any) -> Contents:
    heading, needs = "", ""
    exercises = []
    for cell in notebook["cells"]:
        text = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        about = cell["metadata"].get("nbgrader", {})
        if cell["cell_type"] == "markdown":
            heading = next(reversed(HEADING.findall(text)), heading)
            found = NEEDS.search(text)
            needs = needs or (found.group(1) if found else "")
        if about.get("grade") or about.get("task"):
            name = about["grade_id"].removesuffix("-test")
            tested = cell["cell_type"] == "code" and not about.get("solution") and not about.get("task")
            bonus = name.startswith("bonus-")
            exercises.append(Exercise(name, heading or name, float(about["points"]), tested, bonus))
    return Contents(tuple(exercises), needs)


def next_step(cards: list[Card]) -> Step | None:
    """The first open exercise of the assignment worked on last, or of the ones after it. None when all is done."""
    if not cards:
        return None
    last = max(cards, key=lambda card: card.touched)
    begun = last.begun
    start = cards.index(last) if begun else 0
    for card in [*cards[start:], *cards[:start]]:
        if card.next is not None:
            return Step(card, card.next, begun)
    return None


def parts(cards: list[Card]) -> list[tuple[str, list[Card]]]:
    """The cards by part of the course, in order."""
    grouped: dict[str, list[Card]] = {}
    for card in cards:
        grouped.setdefault(card.assignment.part, []).append(card)
    return list(grouped.items())


def page(course: Course, base: str) -> str:
    """The page as HTML; `base` is the server's address of JupyterLab's documents."""
    from jinja2 import Environment, FileSystemLoader, select_autoescape

    templates = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=select_autoescape())
    templates.filters["points"] = lambda number: f"{round(number, 2):g}"
    made = cards(course)
    minutes = sum(assignment.minutes for assignment in course.assignments)
    return templates.get_template("start_page.html").render(
        title=course.title,
        about=course.about,
        step=next_step(made),
        parts=parts(made),
        base=base,
        total=len(made),
        hours=round(minutes / 60),
        got=sum(card.got for card in made),
        possible=sum(card.possible for card in made),
    )
