"""A student's notebook as a page of the site, in MyST Markdown.

Text stays text, and an exercise becomes a box: what it asks, the empty answer, the folded test. Beside the code of
given cells are their pictures. What the page is made of is the student's notebook, in which there is no answer.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from autograder.authoring.site.pictures import Picture, Pictures
from autograder.model.course import Assignment, Course
from autograder.model.notebook import TITLE, Cell, Notebook, Role

HEADING = re.compile(r"^(?P<level>#{1,6}) +(?P<title>.+?) *(?:<small>(?P<facts>.+)</small>)? *$")
FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
STARS = re.compile("[★☆]{3}")
NUMBER = re.compile(r"^(?:Question )?(\d+(?:\.\d+)*)\b")
UNWRITTEN = "raise NotImplementedError()"
ANSWER_TEXT = "YOUR ANSWER HERE"


@dataclass(frozen=True)
class Piece:
    """A part of the page between two headings."""

    text: str
    asks: bool = False  # an answer or its test: the box of the exercise reaches to the last of these


@dataclass
class Section:
    """A heading and what follows it. Facts are stars, minutes and points: they make an exercise of it."""

    level: int
    title: str
    facts: str = ""
    pieces: list[Piece] = field(default_factory=list)

    @property
    def stars(self) -> int:
        found = STARS.search(self.facts)
        return found[0].count("★") if found else 0

    def markdown(self) -> str:
        parts = [f"{'#' * self.level} {self.title}"] if self.level else []
        asked = [number for number, piece in enumerate(self.pieces, 1) if piece.asks]
        end = (asked[-1] if asked else len(self.pieces)) if self.facts else 0
        if end:
            parts += [f'<div class="exercise">\n{self.facts_line()}']
            parts += [piece.text for piece in self.pieces[:end]]
            parts += ["</div>"]
        parts += [piece.text for piece in self.pieces[end:]]
        return "\n\n".join(parts)

    def facts_line(self) -> str:
        """Exercise 3.2 ★★☆ · 10 min · 3 points."""
        number = NUMBER.match(self.title)
        kind = "Question" if self.title.startswith("Question") else "Exercise"
        name = f"{kind} {number[1]}" if number else kind
        rest = html.escape(STARS.sub("", self.facts).strip(" ·"))
        return f'<p class="facts"><b>{name}</b> {stars(self.stars)} {rest}</p>'


@dataclass(frozen=True)
class Shown:
    """A picture on the page."""

    picture: Picture
    name: str  # of a figure's file; "" for a small page to play with
    heading: str  # of the section that it is in

    def markdown(self, up: str) -> str:
        """`up` leads from the page to the site's folder."""
        if not self.name:
            return f'<div class="to-play">\n\n````{{raw}} html\n{self.picture.html}\n````\n\n</div>'
        place = f"{up}pictures/{self.name}"
        about = html.escape(re.sub(r"[$`*]", "", self.heading))
        size = f'width="{self.picture.width}" height="{self.picture.height}"'
        image = f'<img src="{place}" alt="Figure: {about}" {size} loading="lazy">'
        return f'<figure class="picture"><a href="{place}">{image}</a></figure>'


@dataclass
class Page:
    """A notebook's page: its text, and the pictures in it."""

    sections: list[Section] = field(default_factory=list)
    pictures: list[Shown] = field(default_factory=list)

    def markdown(self) -> str:
        return "\n\n".join(section.markdown() for section in self.sections) + "\n"

    @property
    def stars(self) -> list[int]:
        """Of every exercise, in order."""
        return [section.stars for section in self.sections if section.stars]


def page(
    course: Course, assignment: Assignment, file_name: str, notebook: str, pictures: Pictures, others: Sequence[str]
) -> Page:
    """The page of the notebook with this name and text. `others` are the assignments that have pages, too."""
    found, current = Page(), Section(0, "")
    for cell in Notebook.from_json(notebook):
        if cell.is_generated:
            continue
        if cell.kind == "markdown" and cell.role is not Role.WRITTEN:
            for part in sections_of(linked(cell.source, others)):
                if part.level:
                    found.sections.append(current)
                    current = part
                else:
                    current.pieces += part.pieces
            continue
        drawn = []
        for picture in pictures.get(cell.id, ()):
            figures = sum(1 for one in found.pictures if one.name)
            name = f"{assignment.id}-{figures + 1}.png" if picture.png else ""
            drawn.append(Shown(picture, name, current.title))
            found.pictures.append(drawn[-1])
        current.pieces += pieces_of(cell, [one.markdown("../") for one in drawn])
    found.sections = [one for one in [*found.sections, current] if one.level or one.pieces]
    if not found.sections or found.sections[0].level != 1:
        found.sections.insert(0, Section(1, assignment.title))
    found.sections[0].pieces.insert(0, Piece(bar(course, assignment, file_name)))
    return found


def sections_of(text: str) -> Iterator[Section]:
    """A text cell, cut at its headings; what comes before the first has level 0."""
    current, lines, fence = Section(0, ""), [], ""
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        heading = None if fence else HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        yield closed(current, lines)
        current, lines = Section(len(heading["level"]), heading["title"], heading["facts"] or ""), []
    yield closed(current, lines)


def closed(section: Section, lines: list[str]) -> Section:
    text = "\n".join(lines).strip("\n")
    section.pieces = [Piece(text)] if text else []
    return section


def pieces_of(cell: Cell, drawn: Sequence[str]) -> Iterator[Piece]:
    """A cell that is no text of the author's, and the pictures that it draws."""
    if cell.role is Role.WRITTEN:
        question = cell.source.replace(ANSWER_TEXT, "").strip()
        yield Piece("\n\n".join(part for part in (question, answer_box(cell)) if part), asks=True)
    elif cell.kind != "code":
        yield Piece(cell.source)
    elif cell.role in (Role.ANSWER, Role.READ_BY_HAND):
        source = "\n".join(line for line in cell.source.split("\n") if line.strip() != UNWRITTEN)
        yield Piece(f'<div class="cell answer"><p class="name">Your code</p>\n\n{code(source)}\n\n</div>', asks=True)
    elif cell.is_test:
        yield Piece(folded("test", test_title(cell), without_title(cell.source)), asks=True)
    else:
        if cell.role is Role.SETUP:
            yield Piece(folded("code", "Imports", cell.source))
        elif drawn and cell.is_look:
            yield Piece(folded("code", "The code of this picture", cell.source))
        else:
            yield Piece(f'<div class="cell given">\n\n{code(cell.source)}\n\n</div>')
        yield from (Piece(text) for text in drawn)


def answer_box(cell: Cell) -> str:
    about = f"{cell.points:g} points, read by a person"
    return f'<div class="cell answer written"><p class="name">Your answer <span>{about}</span></p>\n<p>…</p></div>'


def test_title(cell: Cell) -> str:
    return f"Test <span>{cell.points:g} point{'' if cell.points == 1 else 's'}; grading adds hidden checks</span>"


def without_title(source: str) -> str:
    first, _, rest = source.partition("\n")
    return rest if first.startswith(TITLE) else source


def folded(kind: str, summary: str, source: str) -> str:
    return f'<details class="cell {kind}"><summary>{summary}</summary>\n\n{code(source)}\n\n</details>'


def code(source: str) -> str:
    """A block of code; its fence is longer than any in the code."""
    longest = max((len(run) for run in re.findall("`+", source)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}ipython3\n{source.strip(chr(10))}\n{fence}"


def bar(course: Course, assignment: Assignment, name: str) -> str:
    """Below the title: where to work on it."""
    colab = course.colab_link(assignment, assignment.student_notebook.with_name(name))
    return (
        f'<p class="bar"><a class="button first" href="{html.escape(colab)}">Open in Colab</a> '
        f'<a class="button" href="../notebooks/{assignment.id}/{name}" download>Download the notebook</a></p>'
    )


def linked(text: str, others: Sequence[str]) -> str:
    """Assignments that a text names lead to their pages."""
    names = "|".join(map(re.escape, others))
    return re.sub(rf"(?<![`\[])`({names})`(?!`)", r"[`\1`](\1.md)", text)


def stars(count: int) -> str:
    """★★☆, which is read out as a difficulty."""
    if not count:
        return ""
    empty = f'<span class="no">{"☆" * (3 - count)}</span>'
    return f'<span class="stars" role="img" aria-label="difficulty {count} of 3">{"★" * count}{empty}</span>'
