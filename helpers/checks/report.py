"""The outcome of a test cell: as data for programs, as text for a terminal, and as the box of a notebook.

Never on standard error.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from helpers.checks import credit, model_answers, steps, verdict
from helpers.checks.box import box, code_marks, grouped, in_steps, model_answer, readable
from helpers.kit import progress

__all__ = ["MIME_TYPE", "Finding", "Outcome", "as_data", "as_html", "code_marks", "show", "text"]

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
    fact: str | None = None  # how the result is related to the right one, "" where nothing simple is found


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


def text(outcome: Outcome) -> str:
    mark = "✓" if outcome.passed == outcome.reached else "✗"
    lines = [f"{mark} {outcome.headline}  ({readable(outcome.score)} of {readable(outcome.points)} points)"]
    if outcome.by_name:
        lines.append(f"  {outcome.by_name}")
    lines += [f"  ✗ {sentence}" for sentence in outcome.unwritten.values()]  # what is to be written comes first
    for hint, seen in grouped(as_data(outcome)["findings"]):
        lines.append(f"  ✗ {hint}" if hint else "  ✗")
        lines += [f"      {line}" for line in seen]
    lines += [f"  note: {note}" for note in outcome.notes]
    return "\n".join(lines)


def as_data(outcome: Outcome) -> dict[str, Any]:
    """The same as the text says, for programs. It holds nothing that the text does not: students see it, too."""
    return {
        "version": 1,
        "name": outcome.name,
        "headline": outcome.headline,
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


def as_html(outcome: Outcome, folded: str = "") -> str:
    return box(as_data(outcome), folded)


def to_unfold(outcome: Outcome) -> str:
    """What a person finds folded in the box: help until the test is green, then our answer where the package has it."""
    if outcome.passed < outcome.reached:
        return in_steps(steps.of(outcome.name))
    ours = model_answers.of(outcome.name)
    return model_answer(ours.code, ours.remarks) if ours else ""


last_shown: Outcome | None = None  # for whoever runs test cells and asks what kind of outcome there was


def show(outcome: Outcome) -> float:
    """Show the outcome, and give the points earned: the value that the test cell has to end with.

    `last_shown` is set in every case.
    """
    global last_shown
    last_shown = outcome
    score = float(outcome.score)
    a_person = verdict.a_person_looks_on(verdict.notebook_shell())
    shown = as_html(outcome, to_unfold(outcome) if a_person else "")
    verdict.show(score, {"text/plain": text(outcome), "text/html": shown, MIME_TYPE: as_data(outcome)})
    if a_person:
        progress.record(outcome.name, score, float(outcome.points))
    strict = os.environ.get("COURSE_STRICT_CHECKS") == "1"
    if strict and outcome.passed < outcome.reached:
        raise AssertionError(text(outcome))
    return score
