"""How grave a mistake is: computed from the requirements that it fails, and compared with what `mistakes.py` says.

Gravity is not a matter of taste. A mistake that fails a check of an idea is wrong about the idea, whatever its author
calls it; one that passes them all and fails a part is wrong about that part; the rest are slips at an edge. What each
may keep is in `helpers/checks/credit.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from helpers.checks import credit

GRAVITIES = tuple(credit.LEFT)  # the gravest first


def computed(requirements: Sequence[dict[str, Any]]) -> str:
    """The gravest kind of requirement that failed; "" where none did."""
    failed = {requirement["gravity"] for requirement in requirements if not requirement["passed"]}
    return next((gravity for gravity in GRAVITIES if gravity in failed), "")


def affected_share(requirements: Sequence[dict[str, Any]]) -> float:
    """The share of the cell's points that belongs to the functions with a failed requirement."""
    share, group_failed, group_share = 0.0, False, 0.0
    for requirement in [*requirements, {"gravity": "idea", "passed": True, "share": 0.0}]:
        if requirement["gravity"] == "idea":
            share += group_share if group_failed else 0.0
            group_failed, group_share = False, requirement["share"]
        group_failed = group_failed or not requirement["passed"]
    return share


def problems(said: str, requirements: Sequence[dict[str, Any]], earned: float, points: float) -> list[str]:
    """What is wrong with the gravity that `mistakes.py` gives a mistake, or with what the mistake keeps."""
    really = computed(requirements)
    if not said:
        return [f"names no gravity: it fails {'an' if really != 'part' else 'a'} {really}"] if really else []
    if really and said != really:
        failed = [one["name"] for one in requirements if not one["passed"] and one["gravity"] == really]
        return [f"is called {said}, but the gravest requirement that it fails is {really}: {', '.join(failed)}"]
    share = affected_share(requirements) or 1.0
    least, most = credit.limits(said, share)
    lowest = math.floor(least * points * credit.STEPS + 1e-6) / credit.STEPS
    if not lowest <= earned <= most * points + 1e-9:
        return [f"keeps {earned:g} of {points:g}; {said} may keep {lowest:g} to {most * points:g}"]
    return []


def mean_kept(kept: Iterable[tuple[str, float]]) -> dict[str, dict[str, float]]:
    """By gravity, and over all: how many mistakes there are, and the share of the points they keep on average."""
    kept = list(kept)
    groups = {gravity: [share for said, share in kept if said == gravity] for gravity in GRAVITIES}
    groups["all"] = [share for _, share in kept]
    return {
        name: {"mistakes": len(shares), "mean": round(sum(shares) / len(shares), 3)}
        for name, shares in groups.items()
        if shares
    }
