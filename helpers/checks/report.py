"""How the outcome of a test cell is shown: tidy HTML in a notebook, plain text in a terminal, and data for programs.

Never on standard error.
"""

from __future__ import annotations

import html
import os
from dataclasses import dataclass, field
from typing import Any

from helpers.checks import credit

MIME_TYPE = "application/vnd.sequence-models.check+json"  # the outcome as data, beside its text and HTML


@dataclass
class Finding:
    """One failed check: the hint that names the likely mistake, what was seen, and whether the check is hidden."""

    hint: str
    seen: str
    hidden: bool = False
    requirement: str = ""
    named: bool = False  # the hint says what this answer does, not only what was expected of it
    matched: bool = False  # it does because a value came out that a known mistake gives: others may give it, too


@dataclass
class Outcome:
    """What one test cell found."""

    name: str
    points: float
    passed: int
    reached: int
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unwritten: dict[str, str] = field(default_factory=dict)  # names of stubs, and the sentence that says what to write
    requirements: list[credit.Requirement] = field(default_factory=list)
    never_speak: list[str] = field(default_factory=list)  # in `course verify`: names in `wrong=` whose value is right
    counts: dict[str, int] = field(default_factory=dict)  # for a leaderboard, by what was counted
    void: bool = False  # a rule was broken that the whole cell rests on: nothing is earned

    @property
    def score(self) -> float:
        """By the requirements; where a cell has none, points × checks passed / checks reached. A plain float."""
        if self.void:
            return 0.0
        if self.requirements:
            return credit.earned(self.points, self.requirements)
        return float(self.points) if self.passed == self.reached else round(self.points * self.passed / self.reached, 6)

    @property
    def headline(self) -> str:
        if self.passed == self.reached:
            return f"{self.name}: all {self.reached} checks passed" if self.reached > 1 else f"{self.name}: passed"
        if self.unwritten and not self.passed and not self.findings:
            return f"{self.name}: not written yet"
        if self.requirements:
            return f"{self.name}: {sum(r.met for r in self.requirements)} of {len(self.requirements)} requirements met"
        return f"{self.name}: {self.passed} of {self.reached} checks passed"

    @property
    def by_name(self) -> str:
        """The requirements by name, where some are met and some are not: "weights ✓ · mask ✗"."""
        shown = self.passed < self.reached and not (self.unwritten and not self.passed)
        return " · ".join(f"{r.name} {'✓' if r.met else '✗'}" for r in self.requirements) if shown else ""


def grouped(findings: list[Finding]) -> list[tuple[str, list[str]]]:
    """Hints in order, each once, with what was seen under it; the same observation is not repeated."""
    groups: dict[str, list[str]] = {}
    for finding in findings:
        seen = groups.setdefault(finding.hint, [])
        text = f"{finding.seen} (hidden check)".strip() if finding.hidden else finding.seen
        if text and text not in seen:
            seen.append(text)
    return list(groups.items())


def told(outcome: Outcome) -> list[tuple[str, list[str]]]:
    """What is still to be written comes first: one sentence each, without the checks that had nothing to look at."""
    return [(sentence, []) for sentence in outcome.unwritten.values()] + grouped(outcome.findings)


def text(outcome: Outcome) -> str:
    mark = "✓" if outcome.passed == outcome.reached else "✗"
    lines = [f"{mark} {outcome.headline}  ({outcome.score:g} of {outcome.points:g} points)"]
    if outcome.by_name:
        lines.append(f"  {outcome.by_name}")
    for hint, seen in told(outcome):
        lines.append(f"  ✗ {hint}" if hint else "  ✗")
        lines += [f"      {line}" for line in seen]
    lines += [f"  note: {note}" for note in outcome.notes]
    return "\n".join(lines)


def as_data(outcome: Outcome) -> dict[str, Any]:
    """The same as the text says, for programs. It holds nothing that the text does not: students see it, too."""
    return {
        "version": 1,
        "name": outcome.name,
        "points": float(outcome.points),
        "score": outcome.score,
        "passed": outcome.passed,
        "reached": outcome.reached,
        "requirements": [
            {"name": requirement.name, "gravity": requirement.gravity, "passed": requirement.met, "share": share}
            for requirement, share in zip(outcome.requirements, credit.shares(outcome.requirements), strict=True)
        ],
        "findings": [
            {"hint": finding.hint, "seen": finding.seen, "hidden": finding.hidden, "requirement": finding.requirement}
            for finding in outcome.findings
        ],
        "notes": list(outcome.notes),
        "unwritten": dict(outcome.unwritten),
        **({"counts": dict(outcome.counts)} if outcome.counts else {}),
        **({"never_speak": outcome.never_speak} if outcome.never_speak else {}),
    }


CODE = "font-family:var(--jp-code-font-family,monospace);font-size:0.92em"


def as_html(outcome: Outcome) -> str:
    good = outcome.passed == outcome.reached
    colour = "#029e73" if good else "#d55e00"  # the green and the orange of the colour-blind-safe palette
    parts = [
        (
            f'<div class="course-check" style="border-left:4px solid {colour};padding:4px 12px;margin:4px'
            ' 0;line-height:1.45">'
        ),
        (
            f'<div><b style="color:{colour}">{"✓" if good else "✗"}</b> <b>{html.escape(outcome.headline)}</b>'
            f' <span style="opacity:0.7">· {outcome.score:g} of {outcome.points:g} points</span></div>'
        ),
    ]
    if outcome.by_name:
        parts.append(f'<div style="opacity:0.8">{html.escape(outcome.by_name)}</div>')
    for hint, seen in told(outcome):
        parts.append(f'<div style="margin:6px 0 0 0"><span style="color:{colour}">✗</span> {code_marks(hint)}</div>')
        parts += [f'<div style="margin-left:1.4em;opacity:0.8;{CODE}">{code_marks(line)}</div>' for line in seen]
    parts += [f'<div style="margin-top:6px;opacity:0.7">note: {html.escape(note)}</div>' for note in outcome.notes]
    return "".join(parts) + "</div>"


def code_marks(line: str) -> str:
    """Escape, and show what stands between back-ticks as code."""
    pieces = html.escape(line).split("`")
    if len(pieces) % 2 == 0:  # an odd back-tick: leave the text as it is
        return html.escape(line)
    return "".join(f'<code style="{CODE}">{p}</code>' if i % 2 else p for i, p in enumerate(pieces))


last_shown: Outcome | None = None  # for whoever runs test cells and asks what kind of outcome there was


def show(outcome: Outcome) -> None:
    """HTML, the same as text and as data where there is a kernel, else print. `last_shown` is set in both cases."""
    global last_shown
    last_shown = outcome
    try:
        from IPython import get_ipython
    except ImportError:
        shell = None
    else:
        shell = get_ipython()
    if shell is not None and getattr(shell, "kernel", None) is not None:
        from IPython.display import display

        display({"text/plain": text(outcome), "text/html": as_html(outcome), MIME_TYPE: as_data(outcome)}, raw=True)
    else:
        print(text(outcome))
    strict = os.environ.get("COURSE_STRICT_CHECKS") == "1"
    if strict and outcome.passed < outcome.reached:
        raise AssertionError(text(outcome))
