"""What the check library says about one test cell, as data.

It stands in the cell's outputs under a MIME type of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

MIME = "application/vnd.sequence-models.check+json"
VERSION = 1
MOST_ENTRIES, LONGEST_TEXT = 200, 2000


class Gravity(StrEnum):
    """How much a requirement of a test weighs."""

    IDEA = "idea"
    PART = "part"
    EDGE = "edge"


@dataclass(frozen=True)
class Requirement:
    """A named part of a test, whether the answer meets it, and the share of the cell's points that it is about."""

    name: str
    gravity: Gravity
    passed: bool
    share: float | None = None  # where the check library says it


@dataclass(frozen=True)
class Finding:
    """One failed check: the hint that names the likely mistake, what was seen, and whether the check is hidden."""

    hint: str
    seen: str = ""
    hidden: bool = False
    requirement: str = ""


@dataclass(frozen=True)
class Outcome:
    """One test cell. `unwritten` has a sentence for each name that the student has still to define."""

    name: str
    points: float
    score: float
    passed: int
    reached: int
    requirements: tuple[Requirement, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    unwritten: Mapping[str, str] | None = None
    counts: Mapping[str, int] | None = None  # what the test itself counted, for a leaderboard
    never_speak: tuple[str, ...] = ()  # in `course verify`: names of mistakes that no answer can ever be told

    @property
    def hints(self) -> list[str]:
        """Each hint once: what is still to be written, then what the failed checks say."""
        spoken = [*(self.unwritten or {}).values(), *(finding.hint for finding in self.findings)]
        return list(dict.fromkeys(hint for hint in spoken if hint))

    def to_json(self) -> dict[str, Any]:
        made = {"version": VERSION, **asdict(self), "unwritten": dict(self.unwritten or {})}
        for name in ("never_speak", "counts"):  # of few cells
            if not made[name]:
                del made[name]
        return made


class OutcomeError(ValueError):
    """Not what the check library writes."""


def from_json(data: Any) -> Outcome:
    """An outcome out of plain data, whoever wrote it: every part is checked, long texts and lists are cut."""
    entry = mapping(data)
    if entry.get("version") != VERSION:
        raise OutcomeError("another version")
    requirements = []
    for one in map(mapping, entries(entry, "requirements")):
        if one.get("gravity") not in list(Gravity):
            raise OutcomeError("gravity")
        share = None if one.get("share") is None else number(one, "share")
        requirements.append(Requirement(text(one, "name"), Gravity(one["gravity"]), flag(one, "passed"), share))
    findings = [
        Finding(text(one, "hint"), text(one, "seen", ""), flag(one, "hidden", False), text(one, "requirement", ""))
        for one in map(mapping, entries(entry, "findings"))
    ]
    unwritten, counts = mapping(entry.get("unwritten", {})), mapping(entry.get("counts", {}))
    return Outcome(
        name=text(entry, "name"),
        points=number(entry, "points"),
        score=number(entry, "score"),
        passed=count(entry, "passed"),
        reached=count(entry, "reached"),
        requirements=tuple(requirements),
        findings=tuple(findings),
        notes=tuple(text({"note": note}, "note") for note in entries(entry, "notes")),
        counts={str(name)[:LONGEST_TEXT]: count(counts, name) for name in list(counts)[:MOST_ENTRIES]},
        never_speak=tuple(text({"name": name}, "name") for name in entries(entry, "never_speak")),
        unwritten={str(name)[:LONGEST_TEXT]: text(unwritten, name) for name in list(unwritten)[:MOST_ENTRIES]},
    )


def outcomes_in(outputs: Iterable[Mapping[str, Any]]) -> list[Outcome]:
    """What the outputs of a test cell hold.

    An older notebook holds none. (Ask for test cells only: any cell can show anything.)
    """
    found = []
    for output in outputs:
        data = output.get("data")
        if isinstance(data, Mapping) and MIME in data:
            try:
                found.append(from_json(data[MIME]))
            except OutcomeError:
                continue
    return found


def checked(data: dict[str, Any]) -> dict[str, Any]:
    """The data of one output, with its outcome as `from_json` reads it, or without."""
    if MIME not in data:
        return data
    others = {kind: value for kind, value in data.items() if kind != MIME}
    try:
        return {**others, MIME: from_json(data[MIME]).to_json()}
    except OutcomeError:
        return others


# ---- parts -----------------------------------------------------------------------------------------------------------


def mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise OutcomeError("not an object")
    return value


def entries(entry: Mapping[str, Any], name: str) -> list[Any]:
    value = entry.get(name, [])
    if not isinstance(value, list | tuple):
        raise OutcomeError(name)
    return list(value[:MOST_ENTRIES])


def text(entry: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = entry.get(name, default)
    if not isinstance(value, str):
        raise OutcomeError(name)
    return value[:LONGEST_TEXT].encode("utf-8", "replace").decode()


def flag(entry: Mapping[str, Any], name: str, default: bool | None = None) -> bool:
    value = entry.get(name, default)
    if not isinstance(value, bool):
        raise OutcomeError(name)
    return value


def number(entry: Mapping[str, Any], name: str) -> float:
    value = entry.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise OutcomeError(name)
    return float(value)


def count(entry: Mapping[str, Any], name: str) -> int:
    value = entry.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise OutcomeError(name)
    return value
