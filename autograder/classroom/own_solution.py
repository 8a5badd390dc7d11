"""The instructor's own notebook as the first submission of every run: a test in which not even the right answer gets
the points is named.

Tests are written where they share a process with the answer, and graded where they do not. What means something else
there is seen at once. The result is remembered with a digest of everything it depends on, so that an assignment that
has not changed costs nothing.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from autograder.classroom.grading_lock import MEMORY
from autograder.classroom.inbox import combined, jobs_of
from autograder.model.course import Assignment, Course, write_whole
from autograder.model.outcome import outcomes_in
from autograder.model.record import Record

OWN = ""  # whose submission the instructor's own notebook is: no folder can have this name
LONGEST_REASON = 200


@dataclass
class Outcome:
    """Points of the tests in the instructor's own notebook, and what to look at."""

    score: float = 0.0
    out_of: float = 0.0
    warnings: list[str] = field(default_factory=list)
    remembered: bool = False

    def text(self) -> str:
        earned = "gets every point" if self.score >= self.out_of else "does not get every point"
        before = " (as before: nothing has changed since)" if self.remembered else ""
        return f"your own notebook, graded first, {earned} of its tests: {self.score:g} of {self.out_of:g}{before}"


class OwnSolution:
    """What is known of the instructor's own notebook, and what has to be graded to know it."""

    def __init__(
        self, course: Course, assignment: Assignment, names: list[str], base: str, again: bool = False
    ) -> None:
        home = assignment.source.parent
        jobs = [replace(job, student=OWN) for job in jobs_of(course, assignment, OWN, home, names, base)]
        self.path = course.root / MEMORY / f"{assignment.id}.solution.json"
        self.digest = combined(jobs)
        self.known = None if again else self.recall()
        self.jobs = [] if self.known is not None else jobs
        self.missing = len(self.jobs)
        self.found = Outcome()
        self.failed = False

    def recall(self) -> Outcome | None:
        with suppress(OSError, ValueError, TypeError, KeyError):
            stored = json.loads(self.path.read_text(encoding="utf-8"))
            if stored["digest"] == self.digest:
                return Outcome(
                    float(stored["score"]), float(stored["out_of"]), [str(text) for text in stored["warnings"]], True
                )
        return None

    def take(self, notebook: str, result: Record | dict[str, Any]) -> Outcome | None:
        """One notebook's record, or why there is none; the outcome when it was the last."""
        self.missing -= 1
        if not isinstance(result, Record):
            self.failed = True
            self.found.warnings.append(f"{notebook}: your own notebook could not be graded: {result['failed']}")
        else:
            score, out_of, warnings = points_of(notebook, result)
            self.found.score += score
            self.found.out_of += out_of
            self.found.warnings += warnings
        if self.missing:
            return None
        if not self.failed:  # else the next run tries again
            stored = {
                "digest": self.digest,
                "score": self.found.score,
                "out_of": self.found.out_of,
                "warnings": self.found.warnings,
            }
            write_whole(self.path, json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
        return self.found


def points_of(notebook: str, record: Record) -> tuple[float, float, list[str]]:
    """Points of the tests of one notebook, the most there are, and a line for each test that keeps some back, with what
    it says.
    """
    score, out_of, warnings = 0.0, 0.0, []
    for cell in json.loads(record.notebook)["cells"]:
        known = cell["metadata"].get("nbgrader", {})
        verdict = record.verdicts.get(known.get("grade_id", ""))
        if verdict is None or verdict.score is None or known.get("solution"):
            continue
        score += verdict.score
        out_of += verdict.points
        if verdict.score < verdict.points:
            earned = f"your own solution earns {verdict.score:g} of {verdict.points:g} here"
            warnings.append(f"{notebook}, {known['grade_id']}: {earned}{reason_in(cell)}")
    return score, out_of, warnings


def reason_in(cell: dict[str, Any]) -> str:
    """What the test said: its exception, or its first hint."""
    for output in cell.get("outputs", []):
        if output["output_type"] == "error":
            return f": {output['ename']}: {output['evalue']}"[:LONGEST_REASON]
    for outcome in outcomes_in(cell.get("outputs", [])):
        if outcome.hints:
            return f": {outcome.hints[0]}"[:LONGEST_REASON]
    return ""
