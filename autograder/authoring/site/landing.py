"""What is filled into the text of the site's first page, docs/index.md:

| in the text                               | on the page                                                  |
| ----------------------------------------- | ------------------------------------------------------------ |
| `<!-- map of the assignments -->`         | a card for every assignment: stars, time, points, a figure   |
| `<!-- picture 2 of 03-attention -->`      | the second picture of that assignment, live if it can be     |
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.authoring.pages import number_of, worth
from autograder.authoring.site.notebook_page import Page, stars
from autograder.model.course import Assignment

MAP = "<!-- map of the assignments -->"
PICTURE = re.compile(r"<!-- picture (?P<number>\d+) of (?P<id>[\w-]+) -->")


@dataclass(frozen=True)
class Entry:
    """An assignment with its page, and where that is."""

    assignment: Assignment
    page: Page
    address: str  # without its ending


def with_pictures(text: str, entries: Sequence[Entry]) -> str:
    """The page's text with its marks filled in."""
    by_id = {entry.assignment.id: entry for entry in entries}
    text = PICTURE.sub(lambda mark: picture(by_id.get(mark["id"]), int(mark["number"])), text)
    return text.replace(MAP, "\n\n".join(map_of(entries)))


def picture(entry: Entry | None, number: int) -> str:
    """One of an assignment's pictures; nothing where the site has no such page."""
    found = entry.page.pictures[number - 1 : number] if entry else []
    return found[0].markdown("") if found else ""


def map_of(entries: Sequence[Entry]) -> Iterator[str]:
    """A heading and a row of cards for each part of the course."""
    parts = list(dict.fromkeys(entry.assignment.part for entry in entries))
    for part in parts:
        yield f"### Part {part}"
        cards = "\n".join(card(entry) for entry in entries if entry.assignment.part == part)
        yield f'<div class="map">\n{cards}\n</div>'


def card(entry: Entry) -> str:
    assignment, page = entry.assignment, entry.page
    figures = [one for one in page.pictures if one.name]
    shown = figures[min(assignment.picture, len(figures)) - 1] if figures else None
    image = f'<img src="pictures/{shown.name}" alt="" loading="lazy">' if shown else ""
    counts = [(count, page.stars.count(count)) for count in (1, 2, 3)]
    levels = " ".join(f"<span>{stars(count)} {number}</span>" for count, number in counts if number)
    return (
        f'<a class="card" href="{entry.address}.html"><span class="thumbnail">{image}</span>'
        f'<span class="number">{number_of(assignment)}</span><b>{html.escape(assignment.title)}</b>'
        f'<span class="levels">{levels}</span>'
        f'<span class="cost">{hours(assignment.minutes)} · {worth(assignment)} points</span></a>'
    )


def hours(minutes: int) -> str:
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.2g} h"
