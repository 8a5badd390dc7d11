"""What a checked notebook has earned and what is missing, shown in one box."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

HEADING = re.compile(r"^#{1,6} +(.+?)(?: *<small>.*)?$", re.MULTILINE)
WRITTEN_STUB = "YOUR ANSWER HERE"  # nbgrader's: what a written answer is before it is written


@dataclass
class Summary:
    """Points of the visible tests, bonus apart, and exercises by their headings."""

    assignment: str
    earned: float = 0.0
    possible: float = 0.0
    bonus: float = 0.0
    unanswered: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)  # answered, not all points
    unwritten: list[str] = field(default_factory=list)  # written answers that are still empty
    written: int = 0

    def lines(self) -> list[tuple[str, str]]:
        """(label, text) of each line."""
        bonus = f", and {self.bonus:g} bonus" if self.bonus else ""
        lines = [("visible tests", f"{self.earned:g} of {self.possible:g} points{bonus}")]
        lines += [("not answered", "; ".join(self.unanswered))] if self.unanswered else []
        lines += [("not all points yet", "; ".join(self.incomplete))] if self.incomplete else []
        if self.written:
            done = self.written - len(self.unwritten)
            still = f"; empty: {'; '.join(self.unwritten)}" if self.unwritten else ""
            lines.append(("written answers", f"{done} of {self.written} filled in, read by a person{still}"))
        lines.append(("grading", "runs hidden checks, too: the same ideas on other sizes and corners"))
        return lines


def summarize(assignment: str, notebook: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Summary:
    names = headings(notebook)
    found = Summary(assignment)
    for result in results:
        if result["name"].startswith("bonus-"):
            found.bonus += result["score"]
            continue
        found.earned += result["score"]
        found.possible += result["points"]
        name = names.get(f"{result['name']}-test", result["name"])
        if result["unwritten"] and not result["score"]:
            found.unanswered.append(name)
        elif not result["passed"]:
            found.incomplete.append(f"{name} ({result['score']:g} of {result['points']:g})")
    found.unanswered = list(dict.fromkeys(found.unanswered))
    for cell in notebook["cells"]:
        about = grading(cell)
        if cell["cell_type"] == "markdown" and about.get("solution"):
            found.written += 1
            if WRITTEN_STUB in text_of(cell):
                found.unwritten.append(names[about["grade_id"]])
    return found


def headings(notebook: Mapping[str, Any]) -> dict[str, str]:
    """The heading above each graded cell, by the cell's id; the id itself where there is none."""
    names, last = {}, ""
    for cell in notebook["cells"]:
        about = grading(cell)
        if about.get("grade_id"):
            names[about["grade_id"]] = last or about["grade_id"]
        elif cell["cell_type"] == "markdown" and (found := HEADING.findall(text_of(cell))):
            last = found[-1]
    return names


def grading(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    """What nbgrader keeps with a cell."""
    about: Mapping[str, Any] = cell.get("metadata", {}).get("nbgrader", {})
    return about


def text_of(cell: Mapping[str, Any]) -> str:
    return cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])


def show(assignment: str, notebook: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> None:
    from IPython.display import display

    found = summarize(assignment, notebook, results)
    display({"text/plain": as_text(found), "text/html": as_html(found)}, raw=True)


def as_text(found: Summary) -> str:
    return "\n".join([found.assignment, *(f"  {label}: {text}" for label, text in found.lines())])


def as_html(found: Summary) -> str:
    rows = "".join(
        f'<tr><td style="text-align:left;vertical-align:top;opacity:0.75;white-space:nowrap">{html.escape(label)}</td>'
        f'<td style="text-align:left;white-space:normal">{html.escape(text)}</td></tr>'
        for label, text in found.lines()
    )
    done = not (found.unanswered or found.incomplete or found.unwritten)
    colour = "#029e73" if done else "#0173b2"  # green and blue of the colour-blind-safe palette
    return (
        f'<div style="border-left:4px solid {colour};padding:4px 12px;margin:4px 0"><b>{html.escape(found.assignment)}'
        f"</b><table>{rows}</table></div>"
    )
