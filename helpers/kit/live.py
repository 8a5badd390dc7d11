"""The loss of a running loop as a curve that grows while it runs, in a notebook that a person looks at.

One output, drawn anew about once a second and gone when the loop ends: the notebook's own figure comes after it.
Elsewhere a loop has its bar, one line of text. In grading there is neither.
"""

from __future__ import annotations

import html
import math
import time
from collections.abc import Sequence
from typing import Any

SECONDS = 1.0  # between two drawings
POINTS = 120  # of a curve: more would not be seen
WIDTH, HEIGHT, LEFT = 460, 130, 44
COLOUR = "#0173b2"  # blue of the colour-blind-safe palette


class Panel:
    """Takes the place of a progress bar: the same three calls."""

    def __init__(self, label: str, total: int | None, done: int, losses: Sequence[float]) -> None:
        from IPython.display import HTML, display

        self.label, self.total, self.count, self.first, self.losses = label, total, done, done, losses
        self.values: list[float] = []  # of the losses that have been drawn: one on a GPU is fetched once
        self.began = self.drawn = time.monotonic()
        self.html = HTML
        self.handle: Any = display(HTML(""), display_id=True)

    def update(self) -> None:
        self.count += 1
        now = time.monotonic()
        if now - self.drawn >= SECONDS:
            self.drawn = now
            self.values += map(float, self.losses[len(self.values) :])
            self.handle.update(self.html(picture(self.said(now - self.began), self.values)))

    def set_postfix(self, numbers: dict[str, str], refresh: bool = False) -> None:
        """The curve ends in the same number."""

    def close(self) -> None:
        self.handle.update(self.html(""))

    def said(self, seconds: float) -> str:
        if self.total is None:
            return f"{self.label}: step {self.count}"
        left = seconds / max(1, self.count - self.first) * (self.total - self.count)
        return f"{self.label}: step {self.count} of {self.total}, {readable(left)} left"


def readable(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def panel(label: str, total: int | None, done: int, losses: Sequence[float]) -> Panel | None:
    """A panel where a person looks on, else None."""
    from helpers.checks.verdict import a_person_looks_on, notebook_shell

    return Panel(label, total, done, losses) if a_person_looks_on(notebook_shell()) else None


def thinned(losses: Sequence[float]) -> list[float]:
    """At most `POINTS` means of equally many losses in a row; what is not finite is left out."""
    values = [value for value in losses if math.isfinite(value)]
    size = -(-len(values) // POINTS)
    groups = [values[start : start + size] for start in range(0, len(values), size or 1)]
    return [sum(group) / len(group) for group in groups]


def picture(said: str, losses: Sequence[float]) -> str:
    """The curve as SVG in the page's own colours, with its smallest, largest and last value."""
    values = thinned(losses)
    text = f'<div style="font-size:0.92em;opacity:0.85">{html.escape(said)}</div>'
    if len(values) < 2:
        return text
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    wide, tall = WIDTH - LEFT - 60, HEIGHT - 20
    places = [
        (LEFT + wide * number / (len(values) - 1), 10 + tall * (high - value) / span)
        for number, value in enumerate(values)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    x, y = places[-1]
    label = 'font-size="11" fill="currentColor"'
    return (
        f'{text}<svg role="img" aria-label="loss so far, now {values[-1]:.3g}" width="{WIDTH}" height="{HEIGHT}">'
        f'<line x1="{LEFT}" y1="{10 + tall}" x2="{LEFT + wide}" y2="{10 + tall}" stroke="currentColor" opacity="0.3"/>'
        f'<text x="{LEFT - 6}" y="14" text-anchor="end" {label} opacity="0.7">{high:.3g}</text>'
        f'<text x="{LEFT - 6}" y="{14 + tall}" text-anchor="end" {label} opacity="0.7">{low:.3g}</text>'
        f'<text x="{LEFT - 6}" y="{14 + tall / 2:.0f}" text-anchor="end" {label} opacity="0.7">loss</text>'
        f'<polyline points="{line}" fill="none" stroke="{COLOUR}" stroke-width="2"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOUR}"/>'
        f'<text x="{x + 7:.1f}" y="{y + 4:.1f}" {label}>{values[-1]:.3g}</text></svg>'
    )
