"""The one scanner of solution and hidden-test regions: lines between a BEGIN and an END marker, as nbgrader reads them.

The two kinds are scanned independently of each other, as nbgrader's ClearSolutions and ClearHiddenTests do. Where
nbgrader refuses a text (a region that never ends, a BEGIN inside a region of its kind), everything up to the END, or to
the end of the text, belongs to the region: what should have been hidden is never shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

CODE_STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
HIDDEN_COMMENT = "# (hidden tests ran here)"


class Kind(Enum):
    """What a region holds. The value is how messages call it."""

    SOLUTION = "solution"
    HIDDEN = "hidden tests"

    @property
    def begin(self) -> str:
        return f"BEGIN {self.value.upper()}"

    @property
    def end(self) -> str:
        return f"END {self.value.upper()}"


MARKERS = tuple(marker for kind in Kind for marker in (kind.begin, kind.end))


@dataclass(frozen=True)
class Marker:
    """A BEGIN (`opens`) or an END on a line of a cell; the first line is 1."""

    line: int
    kind: Kind
    opens: bool

    @property
    def text(self) -> str:
        return self.kind.begin if self.opens else self.kind.end


@dataclass(frozen=True)
class Region:
    """The lines from a BEGIN marker (`first`) to its END (`last`, which lies behind the text where there is no END)."""

    kind: Kind
    first: int
    last: int
    body: tuple[tuple[int, str], ...]  # the lines between the markers, with their numbers

    @property
    def numbers(self) -> range:
        return range(self.first, self.last + 1)


def markers(source: str) -> Iterator[Marker]:
    """Every marker of a text, in order. BEGIN and END on one line count as BEGIN, as in nbgrader."""
    for number, line in enumerate(source.split("\n"), 1):
        for kind in Kind:
            if kind.begin in line:
                yield Marker(number, kind, True)
            elif kind.end in line:
                yield Marker(number, kind, False)


def regions(source: str, *kinds: Kind) -> list[Region]:
    """The regions of these kinds, or of both, in the order in which they begin."""
    lines = source.split("\n")
    opened: dict[Kind, int] = {}
    spans = []
    for marker in markers(source):
        if marker.opens:
            opened.setdefault(marker.kind, marker.line)
        elif marker.kind in opened:
            spans.append((opened.pop(marker.kind), marker.line, marker.kind))
    spans += [(first, len(lines) + 1, kind) for kind, first in opened.items()]
    return [
        Region(kind, first, last, tuple((number, lines[number - 1]) for number in range(first + 1, last)))
        for first, last, kind in sorted(spans, key=lambda span: span[:2])
        if not kinds or kind in kinds
    ]


def replaced(source: str, kind: Kind, stub: Callable[[str], list[str]]) -> str:
    """The text with other lines in place of each region; `stub` makes them from the indentation of the BEGIN marker."""
    first_lines = {region.first for region in regions(source, kind)}
    left_out = {number for region in regions(source, kind) for number in region.numbers}
    left_out |= {marker.line for marker in markers(source) if marker.kind is kind and not marker.opens}
    kept: list[str] = []
    for number, line in enumerate(source.split("\n"), 1):
        if number in first_lines:
            kept += stub(line[: len(line) - len(line.lstrip())])
        elif number not in left_out:
            kept.append(line)
    return "\n".join(kept)


def without(source: str, kind: Kind) -> str:
    """The text without the regions of this kind and their markers."""
    return replaced(source, kind, lambda indent: [])


def as_given(source: str) -> str:
    """A code cell as the student gets it: a stub for each solution, and no hidden test."""
    stub = CODE_STUB.split("\n")
    return without(replaced(source, Kind.SOLUTION, lambda indent: [indent + line for line in stub]), Kind.HIDDEN)


def hidden_replaced_by_comment(source: str) -> str:
    """A test cell for feedback: where hidden tests were, a comment says so."""
    return replaced(source, Kind.HIDDEN, lambda indent: [HIDDEN_COMMENT])


def hidden_text(source: str) -> str:
    """The lines of all hidden regions, one after the other."""
    return "".join(f"{line}\n" for region in regions(source, Kind.HIDDEN) for _, line in region.body)


def has_hidden(source: str) -> bool:
    return any(marker.kind is Kind.HIDDEN and marker.opens for marker in markers(source))


def before_hidden(source: str, line: int) -> bool:
    """Does this line run before any hidden test of its cell? What it raises then tells nothing of them."""
    first = min((region.first for region in regions(source, Kind.HIDDEN)), default=line + 1)
    return 1 <= line < first


def without_markers(source: str, kind: Kind = Kind.SOLUTION) -> str:
    """A solution as a student would hand it in: the lines between the markers stay, the markers go."""
    marked = {marker.line for marker in markers(source) if marker.kind is kind}
    return "\n".join(line for number, line in enumerate(source.split("\n"), 1) if number not in marked)
