"""What a written question is graded by: the model answer and the rubric of the instructor's cell.

They stand in the cell's solution region: text, a table with the header `| points | rubric |`, and remarks below it.
Rows with negative points take points off. A text without such a table is a model answer without items.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from autograder.model.regions import Kind, regions

HEADER = re.compile(r"\|\s*points\s*\|\s*rubric\s*\|\s*", re.IGNORECASE)
ROW = re.compile(r"\|\s*(?P<points>[-−+]?\d+(?:\.\d+)?)\s*\|\s*(?P<text>.*?)\s*\|\s*")
RULE = re.compile(r"\|[\s:|-]+\|\s*")


@dataclass(frozen=True)
class RubricItem:
    points: float  # below zero: taken off
    text: str  # Markdown


@dataclass(frozen=True)
class Rubric:
    model_answer: str = ""
    items: tuple[RubricItem, ...] = ()
    remarks: str = ""

    @property
    def points(self) -> float:
        """What a complete answer earns."""
        return sum(item.points for item in self.items if item.points > 0)


def rubric_of(source: str) -> Rubric:
    """The rubric of an instructor's cell, from its solution regions; of a cell without any, an empty one."""
    lines = [line for region in regions(source, Kind.SOLUTION) for _, line in region.body]
    start = next((number for number, line in enumerate(lines) if HEADER.fullmatch(line)), None)
    if start is None:
        return Rubric("\n".join(lines).strip())
    items = []
    end = start + 1
    while end < len(lines) and lines[end].startswith("|"):
        row = ROW.fullmatch(lines[end])
        if row:
            items.append(RubricItem(float(row["points"].replace("−", "-")), row["text"]))
        elif not RULE.fullmatch(lines[end]):
            break
        end += 1
    return Rubric("\n".join(lines[:start]).strip(), tuple(items), "\n".join(lines[end:]).strip())
