"""What an answer earns: requirements of three gravities, and the points that are left when some of them fail.

Of the points of a function an *idea* that fails leaves at most a quarter, every *part* that fails halves what is left,
and every *edge* that fails takes a fifth of it. When the idea fails, the quarter is given by the share of checks that
passed all the same; checks of form (shape, finite, unchanged, …) are not among them, because wrong answers pass them,
too. Functions that have nothing to do with each other can have an idea each; they share the cell's points. Parts and
edges belong to the idea above them.

Points are rounded down to tenths, so less than full marks never becomes full marks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEFT = {"idea": 0.25, "part": 0.5, "edge": 0.8}  # of the points, when a requirement of this gravity fails
LEAST = {"idea": 0.0, "part": 0.0, "edge": 0.5}  # what a single mistake of this gravity keeps at least
STEPS = 10  # steps of one point


@dataclass
class Requirement:
    """A named group of checks. It is met when there are some and all of them pass."""

    name: str
    gravity: str
    share: float = 1.0  # of an idea: how its function's points compare with those of the others in the cell
    passed: int = 0
    reached: int = 0
    telling_passed: int = 0  # without the checks of form
    telling_reached: int = 0
    counted: int = 0  # checks that passed by what a counter saw, which the kernel's figures can take back

    @property
    def met(self) -> bool:
        return 0 < self.reached == self.passed

    def add(self, good: bool, form: bool) -> None:
        self.reached += 1
        self.passed += int(good)
        self.telling_reached += int(not form)
        self.telling_passed += int(good and not form)


def by_idea(requirements: Sequence[Requirement]) -> list[list[Requirement]]:
    """Every idea with the parts and edges that belong to it."""
    groups: list[list[Requirement]] = []
    for requirement in requirements:
        if requirement.gravity == "idea":
            groups.append([])
        groups[-1].append(requirement)
    return groups


def left(group: Sequence[Requirement]) -> float:
    """The share of a function's points that is left: never more without the idea than with it."""
    with_idea = math.prod(LEFT[requirement.gravity] for requirement in group[1:] if not requirement.met)
    if group[0].met:
        return with_idea
    reached = sum(requirement.telling_reached for requirement in group)
    passed = sum(requirement.telling_passed for requirement in group)
    return min(with_idea, LEFT["idea"] * passed / max(reached, 1))


def shares(requirements: Sequence[Requirement]) -> list[float]:
    """For every requirement the share of the cell's points that its function has."""
    groups = by_idea(requirements)
    total = sum(group[0].share for group in groups)
    return [group[0].share / total for group in groups for _ in group]


def earned(points: float, requirements: Sequence[Requirement]) -> float:
    """The points of a cell: a plain float, in tenths, full only if every requirement is met."""
    if all(requirement.met for requirement in requirements):
        return float(points)
    groups = by_idea(requirements)
    share = sum(group[0].share * left(group) for group in groups) / sum(group[0].share for group in groups)
    return math.floor(points * share * STEPS + 1e-6) / STEPS


def limits(gravity: str, share: float = 1.0) -> tuple[float, float]:
    """The least and the most that a mistake of this gravity may keep of its cell's points, if its function has this
    share of them.
    """
    return 1 - share + share * LEAST[gravity], 1 - share + share * LEFT[gravity]
