"""`submission_metadata.yml` of a Gradescope export: who handed in each folder, with whom, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import yaml

from autograder.model.course import CourseError

METADATA = "submission_metadata.yml"
LARGEST = 200 * 2**20  # it holds the results of Gradescope's own tests, too


@dataclass(frozen=True)
class Submitter:
    name: str
    sid: str
    email: str


@dataclass(frozen=True)
class Submission:
    submitters: tuple[Submitter, ...]
    time: datetime | None


def submissions_in(text: bytes) -> dict[str, Submission]:
    """By folder. Ruby wrote the file, so its keys begin with a colon."""
    try:
        table = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError):
        raise CourseError(f"{METADATA} cannot be read: export the submissions again") from None
    found = {}
    for folder, entry in table.items() if isinstance(table, Mapping) else ():
        if isinstance(entry, Mapping):
            people = entry.get(":submitters") or ()
            submitters = tuple(
                Submitter(word(one, ":name"), word(one, ":sid"), word(one, ":email"))
                for one in people
                if isinstance(one, Mapping)
            )
            found[str(folder)] = Submission(submitters, time_of(entry.get(":created_at")))
    return found


def word(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    return "" if value is None else str(value).strip()


def time_of(value: Any) -> datetime | None:
    """YAML's own times are in UTC where they name no other zone."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return (value.replace(tzinfo=UTC) if value.tzinfo is None else value).astimezone(UTC)
