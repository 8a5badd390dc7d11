"""`grading.json`: what is published of a graded submission. Its keys are a contract; the texts in it are for people."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from autograder.model.record import Record, Verdict
from autograder.model.wording import sentence


def file_digest(text: str) -> str:
    """Of the graded notebook as its file has it."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class PublishedNotebook:
    """One notebook of the submission, with a sentence for everything that the record holds as data."""

    limits: Mapping[str, Any]
    job: str = ""
    seconds: float = 0.0
    ungraded: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)
    repairs: tuple[str, ...] = ()
    integrity: tuple[str, ...] = ()
    incidents: tuple[str, ...] = ()
    cpu_seconds: float = 0.0
    peak_mb: int = 0
    unreadable: str | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    comments: Mapping[str, str | None] = field(default_factory=dict)
    decided_by: Mapping[str, Any] = field(default_factory=dict)  # digests of what decided the results
    reused: int = 0  # tests that were not run again

    @classmethod
    def of(cls, record: Record) -> PublishedNotebook:
        return cls(
            limits=record.limits,
            job=record.job,
            seconds=record.seconds,
            ungraded={name: sentence(reason) for name, reason in record.ungraded.items()},
            times=record.times,
            repairs=tuple(map(sentence, record.repairs)),
            integrity=tuple(map(sentence, record.integrity)),
            incidents=tuple(map(sentence, record.incidents)),
            cpu_seconds=record.cpu_seconds,
            peak_mb=record.peak_mb,
            unreadable=sentence(record.unreadable) if record.unreadable is not None else None,
            verdicts=record.verdicts,
            comments=record.comments,
            decided_by={**record.decided_by, "notebook": file_digest(record.notebook)} if record.decided_by else {},
            reused=record.reused,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "job": self.job,
            "seconds": self.seconds,
            "lost": dict(self.ungraded),
            "times": dict(self.times),
            "repairs": list(self.repairs),
            "tamper": list(self.integrity),
            "events": list(self.incidents),
            "cpu_seconds": self.cpu_seconds,
            "peak_mb": self.peak_mb,
            "limits": dict(self.limits),
            **({"unreadable": self.unreadable} if self.unreadable is not None else {}),
            "grades": {name: {"auto": verdict.score, "max": verdict.points} for name, verdict in self.verdicts.items()},
            "comments": dict(self.comments),
            "decided_by": dict(self.decided_by),
            "reused": self.reused,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PublishedNotebook:
        return cls(
            limits=data["limits"],
            job=data["job"],
            seconds=data["seconds"],
            ungraded=data["lost"],
            times=data["times"],
            repairs=tuple(data["repairs"]),
            integrity=tuple(data["tamper"]),
            incidents=tuple(data["events"]),
            cpu_seconds=data["cpu_seconds"],
            peak_mb=data["peak_mb"],
            unreadable=data.get("unreadable"),
            verdicts={name: Verdict(entry["auto"], entry["max"]) for name, entry in data["grades"].items()},
            comments=data["comments"],
            decided_by=data.get("decided_by", {}),
            reused=data.get("reused", 0),
        )


@dataclass(frozen=True)
class Published:
    """The whole file."""

    student: str
    assignment: str
    digest: str  # of everything that the result depends on
    score: float
    out_of: float
    waiting: bool
    seconds_late: float
    late_penalty: float
    notebooks: Mapping[str, PublishedNotebook]

    def to_json(self) -> dict[str, Any]:
        return {
            "student": self.student,
            "assignment": self.assignment,
            "digest": self.digest,
            "score": self.score,
            "out_of": self.out_of,
            "waiting_for_manual_grade": self.waiting,
            "seconds_late": self.seconds_late,
            "late_penalty": self.late_penalty,
            "notebooks": {name: notebook.to_json() for name, notebook in self.notebooks.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Published:
        return cls(
            data["student"],
            data["assignment"],
            data["digest"],
            data["score"],
            data["out_of"],
            data["waiting_for_manual_grade"],
            data["seconds_late"],
            data["late_penalty"],
            {name: PublishedNotebook.from_json(entry) for name, entry in data["notebooks"].items()},
        )

    def row(self) -> dict[str, Any]:
        """A line of the summary of `course grade --json`."""
        notebooks = self.notebooks.values()
        return {
            "student": self.student,
            "score": self.score,
            "out_of": self.out_of,
            "waiting": self.waiting,
            "late_penalty": self.late_penalty,
            "seconds": round(sum(notebook.seconds for notebook in notebooks), 2),
            "reused": sum(notebook.reused for notebook in notebooks),
            "repairs": [text for notebook in notebooks for text in notebook.repairs],
            "tamper": [text for notebook in notebooks for text in notebook.integrity],
            "lost": {name: reason for notebook in notebooks for name, reason in notebook.ungraded.items()},
            "unreadable": next(
                (notebook.unreadable for notebook in notebooks if notebook.unreadable is not None), None
            ),
        }
