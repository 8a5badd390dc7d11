"""What a late submission costs: due dates, late days, extensions and excuses, in one place.

A penalty is a share of the points that a submission has now, so it follows every later grade. Nothing of it is stored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

ALL = "*"  # in place of an assignment: every one
DAY = 86400.0
AMOUNT = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>h|hours?|d|days?|w|weeks?)?")
UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
EXAMPLE = "2026-11-10T23:59:00+01:00"


@dataclass(frozen=True)
class Policy:
    """`[policy]` in course.toml."""

    timezone: str = ""  # of times that are written without one
    late_days: int = 0  # of each student, for the whole course: days that cost nothing
    penalty_per_day: float = 0.0  # share of the points earned, for each day begun
    penalty_cap: float = 1.0  # the most that is taken
    grace_minutes: float = 0.0  # after the due date, not yet late

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Policy:
        """ValueError with a sentence for what cannot be read."""
        known = {field.name: field.type for field in fields(cls)}
        for name, value in table.items():
            if name not in known:
                raise ValueError(f"[policy] has no {name!r}: it knows {', '.join(known)}")
            if name == "timezone":
                zone_called(value)
            elif isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                raise ValueError(f"{name} in [policy] is {value!r}: write a number that is not negative")
        for name in ("penalty_per_day", "penalty_cap"):
            if table.get(name, 0) > 1:
                raise ValueError(f"{name} in [policy] is {table[name]!r}: write a share, 0.1 for ten percent")
        if table.get("late_days", 0) != int(table.get("late_days", 0)):
            raise ValueError(f"late_days in [policy] is {table['late_days']!r}: write whole days")
        return cls(**table)

    @property
    def zone(self) -> tzinfo | None:
        return zone_called(self.timezone) if self.timezone else None


def zone_called(name: Any) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError, AttributeError):
        raise ValueError(
            f'timezone in [policy] is {name!r}, which is no time zone: write one like "Europe/Zurich"'
        ) from None


def moment(value: Any, zone: tzinfo | None) -> datetime:
    """A point in time, with its zone, from what TOML or a person wrote. A day alone means its last second."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip()) if len(value.strip()) > 10 else date.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{value!r} is no date: write {EXAMPLE}") from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time(23, 59, 59))
    if not isinstance(value, datetime):
        raise ValueError(f"{value!r} is no date: write {EXAMPLE}")
    if value.tzinfo is None:
        if zone is None:
            raise ValueError(
                f'{value.isoformat()} has no time zone: write {EXAMPLE}, or timezone = "Europe/Zurich" in [policy]'
            )
        value = value.replace(tzinfo=zone)
    return value


def extended(due: datetime, extension: str) -> datetime:
    """The due date with an extension: `2d`, `36h`, `1w`, days without a unit, or a new date."""
    if (found := AMOUNT.fullmatch(extension.strip())) is not None:
        return due + float(found["number"]) * UNITS[(found["unit"] or "d")[0]]
    return moment(extension, due.tzinfo)


@dataclass(frozen=True)
class HandIn:
    """One submission, as lateness sees it. `due` has the extension in it."""

    assignment: str
    due: datetime | None
    time: datetime | None


@dataclass(frozen=True)
class Lateness:
    """How late a submission is, and the share of its points that this costs."""

    seconds: float = 0.0
    days: int = 0  # begun
    free_days: int = 0  # of them, those that came out of the student's budget
    share: float = 0.0

    def penalty(self, score: float) -> float:
        return round(max(score, 0.0) * self.share, 4)


ON_TIME = Lateness()


def lateness_of_student(policy: Policy, hand_ins: Iterable[HandIn]) -> dict[str, Lateness]:
    """By assignment, all that one student handed in. Late days are used up in the order of due dates."""
    found: dict[str, Lateness] = {}
    left = int(policy.late_days)
    dated = [one for one in hand_ins if one.due is not None and one.time is not None]
    for one in sorted(dated, key=lambda one: (in_utc(one.due), one.assignment)):
        seconds = (in_utc(one.time) - in_utc(one.due)).total_seconds()
        if seconds <= 60 * policy.grace_minutes:
            continue
        days = math.ceil(seconds / DAY)
        free = min(days, left)
        left -= free
        share = min(policy.penalty_cap, policy.penalty_per_day * (days - free))
        found[one.assignment] = Lateness(seconds, days, free, round(share, 9))
    return found


def in_utc(value: datetime | None) -> datetime:
    """nbgrader keeps times in UTC, without saying so."""
    assert value is not None
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
