"""What grading found out about one notebook of one submission, as data.

A fact is a kind and plain data (`Repair`, `Sign`, `Event`, `Reason`). It crosses processes as it is; `wording` makes
the sentence that a person reads. No program looks at a sentence: it asks for the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Self


class RepairKind(StrEnum):
    """What had to be mended before a submission could be graded."""

    FILE_RENAMED = "file renamed"  # file, notebook
    IN_FOLDER = "in folder"  # folder
    OTHER_TAKEN = "other taken"  # file, taken
    OTHERS_IGNORED = "others ignored"  # files
    NOT_QUITE_JSON = "not quite json"  # version ("first" or "second" of a merge conflict), commas, behind (characters)
    REORDERED = "reordered"
    UNKNOWN_NAME = "unknown name"  # cell
    DUPLICATED = "duplicated"  # cell, count
    MISSING = "missing"  # cell, role
    RETYPED = "retyped"  # cell, was, now
    UNNAMED = "unnamed"  # cell
    ANSWER_NEARBY = "answer nearby"  # cell, where
    ANSWER_ELSEWHERE = "answer elsewhere"  # cell: its own cell was missing
    STUB_ANSWERED_ELSEWHERE = "stub answered elsewhere"  # cell: its own cell was as it was given


class SignKind(StrEnum):
    """What looks like more than an accident."""

    EDITED = "edited"  # cell, role
    CHANGED = "changed"  # text: what the student's process says it changed around itself
    ATTEMPT = "attempt"  # text: what the student's code tried


class EventKind(StrEnum):
    """What stopped, or had to be stopped, while the notebook ran."""

    FILES_LEFT_OUT = "files left out"  # files
    INTERRUPTED = "interrupted"  # seconds, slept
    STOPPED = "stopped"  # cell, why
    STOPPED_BEFORE = "stopped before"  # cell, why
    PROCESSES_ENDED = "processes ended"  # count
    OUT_OF_TIME = "out of time"  # seconds
    NOT_RESTORED = "not restored"
    SAID_NOTHING = "said nothing"
    UNREADABLE = "unreadable"  # why


class ReasonKind(StrEnum):
    """Why a process was ended, a question has no verdict, or a file cannot be read."""

    # The student's process, while a cell ran ("it …")
    ENDED = "ended"
    ENDED_AFTERWARDS = "ended afterwards"
    SENT = "sent"  # what
    FOREIGN_ANSWER = "foreign answer"
    NO_ANSWER = "no answer"
    SILENT = "silent"
    CELL_LATE = "cell late"  # seconds, slept
    CELL_MEMORY = "cell memory"  # mb
    NOT_COPIED = "not copied"
    NOT_COPIED_ERROR = "not copied, error"  # error
    # A question without a verdict
    NOT_RUN = "not run"
    NOT_COMPLETED = "not completed"
    NO_STATE = "no state"
    STATE_NOT_KEPT = "state not kept"
    STATE_NOT_RESTORED = "state not restored"
    NOTEBOOK_TIME = "notebook time"  # seconds
    SUBMISSION_TIME = "submission time"  # seconds
    SUBMISSION_LATE = "submission late"  # seconds, slept
    ANSWER_LATE = "answer late"  # seconds, slept
    TEST_LATE = "test late"  # seconds, slept
    UNUSABLE = "unusable"  # name
    ANSWER_ENDED = "answer ended"
    ANSWER_SENT = "answer sent"  # what
    MALFORMED_ANSWER = "malformed answer"
    MALFORMED_MEASUREMENT = "malformed measurement"
    MALFORMED_GRADIENTS = "malformed gradients"
    PROCESSES_WHERE_FORBIDDEN = "processes where forbidden"
    PROCESSES_WHERE_COUNTED = "processes where counted"
    UNCOUNTED_MEMORY = "uncounted memory"
    UNCOUNTED_WORK = "uncounted work"
    MACHINE = "machine"  # text: no verdict, the submission is tried again
    NOT_READ = "not read"  # why
    # A file that is no notebook
    NO_NOTEBOOK = "no notebook"
    NO_FILE = "no file"
    EMPTY = "empty"
    TOO_LARGE = "too large"  # mb
    TOO_MANY_VALUES = "too many values"  # most
    TOO_DEEP = "too deep"
    NO_CELLS = "no cells"
    TOO_MANY_CELLS = "too many cells"  # count, most
    TOO_SLOW = "too slow"  # seconds
    TOO_MUCH_MEMORY = "too much memory"  # mb
    PDF = "pdf"
    ZIP = "zip"
    GZIP = "gzip"
    HTML = "html"
    CONFLICT = "conflict"
    CUT_OFF = "cut off"  # line (0: unknown)
    NOT_JSON = "not json"  # line (0: unknown)


@dataclass(frozen=True)
class Fact:
    """Something that happened: its kind, and plain data about it."""

    kinds: ClassVar[type[StrEnum]]
    kind: StrEnum
    about: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, kind: StrEnum, **about: Any) -> Self:
        return cls(kind, about)

    def to_json(self) -> dict[str, Any]:
        about = {name: value.to_json() if isinstance(value, Fact) else value for name, value in self.about.items()}
        return {"kind": self.kind.value, **about}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        about = {name: value for name, value in data.items() if name != "kind"}
        if "why" in about:
            about["why"] = Reason.from_json(about["why"])
        return cls(cls.kinds(data["kind"]), about)


class Repair(Fact):
    kinds = RepairKind


class Sign(Fact):
    kinds = SignKind


class Event(Fact):
    kinds = EventKind


class Reason(Fact):
    kinds = ReasonKind


@dataclass(frozen=True)
class Verdict:
    """The points of one graded cell. None where a person decides."""

    score: float | None
    points: float


@dataclass(frozen=True)
class Record:
    """One notebook of one submission.

    Verdicts and comments are read from the graded notebook, where nbgrader is at hand.
    """

    notebook: str  # the graded notebook, as the text of its file
    limits: Mapping[str, Any]
    repairs: tuple[Repair, ...] = ()
    integrity: tuple[Sign, ...] = ()
    incidents: tuple[Event, ...] = ()
    ungraded: Mapping[str, Reason] = field(default_factory=dict)
    unreadable: Reason | None = None
    ended: tuple[str, ...] = ()  # cells in which the student's process ended, nobody knows why
    times: Mapping[str, float] = field(default_factory=dict)
    processor: Mapping[str, float] = field(default_factory=dict)  # processor time by cell: what the benchmark reads
    cpu_seconds: float = 0.0
    peak_mb: int = 0
    job: str = ""
    seconds: float = 0.0
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    comments: Mapping[str, str | None] = field(default_factory=dict)
    decided_by: Mapping[str, Any] = field(default_factory=dict)  # digests, of results that may be used again
    reused: int = 0  # tests whose result is that of an earlier run

    def with_verdicts(self, verdicts: Mapping[str, Verdict], comments: Mapping[str, str | None]) -> Record:
        return replace(self, verdicts=verdicts, comments=comments)

    def is_missing(self, cell: str) -> bool:
        """Was this cell not in the submission, and put back?"""
        return any(repair.kind == RepairKind.MISSING and repair.about["cell"] == cell for repair in self.repairs)

    def to_json(self) -> dict[str, Any]:
        """What a worker sends. (What `grading.json` publishes is made by `published`.)"""
        return {
            "notebook": self.notebook,
            "limits": dict(self.limits),
            "repairs": [fact.to_json() for fact in self.repairs],
            "integrity": [fact.to_json() for fact in self.integrity],
            "incidents": [fact.to_json() for fact in self.incidents],
            "ungraded": {name: reason.to_json() for name, reason in self.ungraded.items()},
            "unreadable": self.unreadable.to_json() if self.unreadable is not None else None,
            "ended": list(self.ended),
            "times": dict(self.times),
            "processor": dict(self.processor),
            "cpu_seconds": self.cpu_seconds,
            "peak_mb": self.peak_mb,
            "decided_by": dict(self.decided_by),
            "reused": self.reused,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        """From what a worker sent, with the name of the job and the time it took."""
        return cls(
            notebook=data["notebook"],
            limits=data["limits"],
            repairs=tuple(map(Repair.from_json, data["repairs"])),
            integrity=tuple(map(Sign.from_json, data["integrity"])),
            incidents=tuple(map(Event.from_json, data["incidents"])),
            ungraded={name: Reason.from_json(reason) for name, reason in data["ungraded"].items()},
            unreadable=None if data["unreadable"] is None else Reason.from_json(data["unreadable"]),
            ended=tuple(data.get("ended", ())),
            times=data["times"],
            processor=data.get("processor", {}),
            cpu_seconds=data["cpu_seconds"],
            peak_mb=data["peak_mb"],
            job=data.get("job", ""),
            seconds=data.get("seconds", 0.0),
            decided_by=data.get("decided_by", {}),
            reused=data.get("reused", 0),
        )
