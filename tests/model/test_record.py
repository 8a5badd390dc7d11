"""The record crosses processes as data; every kind has a sentence; what is published keeps its keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autograder.model.published import Published, PublishedNotebook
from autograder.model.record import (
    Event,
    EventKind,
    Fact,
    Reason,
    ReasonKind,
    Record,
    Repair,
    RepairKind,
    Sign,
    SignKind,
    Verdict,
)
from autograder.model.wording import SENTENCES, sentence

# Something for every name that a sentence can ask for.
ABOUT: dict[str, Any] = {
    "behind": 2,
    "cell": "double",
    "commas": True,
    "count": 3,
    "error": "OSError",
    "file": "a.ipynb",
    "files": ["a.ipynb", "b.ipynb"],
    "folder": "homework",
    "line": 7,
    "mb": 100,
    "most": 5000,
    "name": "double",
    "notebook": "03-attention",
    "now": "code",
    "role": "answer",
    "seconds": 3.0,
    "slept": True,
    "taken": "b.ipynb",
    "text": "os.kill(1, 9)",
    "version": "first",
    "was": "markdown",
    "what": "a message that is not JSON",
    "where": "below",
    "why": Reason.of(ReasonKind.EMPTY),
}
FACTS = [cls(kind, ABOUT) for cls in (Repair, Sign, Event, Reason) for kind in cls.kinds]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{type(fact).__name__} {fact.kind}")
def test_every_kind_crosses_processes_and_has_a_sentence(fact: Fact) -> None:
    back = type(fact).from_json(json.loads(json.dumps(fact.to_json())))
    assert back == fact
    assert sentence(back) == sentence(fact) != ""
    assert "{" not in sentence(fact)


def test_no_two_kinds_say_the_same() -> None:
    assert len(SENTENCES) == len(FACTS), "kinds are texts: two of one value would share a sentence"
    free = {kind for kind, text in SENTENCES.items() if text == "{text}"}
    assert free == {SignKind.CHANGED, ReasonKind.MACHINE}, "a text from elsewhere"
    said = [text for kind, text in SENTENCES.items() if kind not in free]
    assert len(set(said)) == len(said)


def test_a_sentence_holds_nothing_that_a_terminal_acts_on() -> None:
    assert sentence(Sign.of(SignKind.ATTEMPT, text="a\x1b[31mb\nc")) == "attempt: a [31mb c"
    assert sentence(Repair.of(RepairKind.UNKNOWN_NAME, cell="{cell!r}\n")) == (
        "a cell claimed to be '{cell!r}\\n', which this assignment does not have"
    )


RECORD = Record(
    notebook="{}",
    limits={"cell_seconds": 3},
    repairs=(Repair.of(RepairKind.MISSING, cell="double", role="answer"), Repair.of(RepairKind.REORDERED)),
    integrity=(Sign.of(SignKind.EDITED, cell="setup", role="locked cell"),),
    incidents=(
        Event.of(EventKind.STOPPED, cell="cell 4", why=Reason.of(ReasonKind.CELL_LATE, seconds=3.0, slept=True)),
    ),
    ungraded={"double-test": Reason.of(ReasonKind.NOT_RUN)},
    unreadable=Reason.of(ReasonKind.TOO_LARGE, mb=190),
    ended=("cell 4",),
    times={"double": 0.5},
    cpu_seconds=1.5,
    peak_mb=200,
)


def test_a_record_is_the_same_at_the_other_end() -> None:
    assert Record.from_json(json.loads(json.dumps(RECORD.to_json()))) == RECORD


def test_only_the_cell_that_was_put_back_was_missing() -> None:
    assert RECORD.is_missing("double")
    assert not RECORD.is_missing("softmax")


def test_the_published_keys_stay() -> None:
    notebook = PublishedNotebook.of(
        RECORD.with_verdicts({"double-test": Verdict(None, 2.0)}, {"double": "No response."})
    )
    published = Published("ada", "01-small", "digest", 1.0, 2.0, True, 0.0, 0.0, {"01-small": notebook})
    data = json.loads(json.dumps(published.to_json()))
    assert Published.from_json(data) == published
    assert list(data) == [
        "student",
        "assignment",
        "digest",
        "score",
        "out_of",
        "waiting_for_manual_grade",
        "seconds_late",
        "late_penalty",
        "notebooks",
    ]
    assert data["notebooks"]["01-small"] == {
        "job": "",
        "seconds": 0.0,
        "lost": {"double-test": "the test did not run"},
        "times": {"double": 0.5},
        "repairs": [
            "the answer 'double' was missing; it was put back as it was given",
            "cells were in another order; they are back in the assignment's order",
        ],
        "tamper": ["locked cell 'setup' was edited; the instructor's version was used"],
        "events": ["cell 4: it did not finish within 3 s: it slept or waited"],
        "cpu_seconds": 1.5,
        "peak_mb": 200,
        "limits": {"cell_seconds": 3},
        "unreadable": "the file has 190 MB, more than a notebook can have",
        "grades": {"double-test": {"auto": None, "max": 2.0}},
        "comments": {"double": "No response."},
        "decided_by": {},
        "reused": 0,
    }
    assert set(published.row()) == {
        "student",
        "score",
        "out_of",
        "waiting",
        "late_penalty",
        "seconds",
        "reused",
        "repairs",
        "tamper",
        "lost",
        "unreadable",
    }
