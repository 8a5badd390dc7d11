"""The class on one screen of a terminal, 80 columns by 40 lines: what `course report --html` says first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from autograder.classroom.class_facts import hardest_first
from autograder.model.wording import points, printable

COLUMNS, LINES = 80, 40
HARDEST, MISTAKES, NAMES = 10, 5, 3
BLOCKS = " ▁▂▃▄▅▆▇█"


def summary(facts: Mapping[str, Any]) -> list[str]:
    """Lines that fit the screen, whatever the size of the class."""
    return [cut(line) for line in chain(head(facts), exercises(facts), mistakes(facts), people(facts), grading(facts))]


def head(facts: Mapping[str, Any]) -> Iterator[str]:
    scores = facts["scores"]
    yield f"{facts['assignment']}: {facts['title']}"
    yield (
        f"{facts['submissions']} submissions · median {scores['median']:g}%, mean {scores['mean']:g}% of"
        f" {points(scores['out_of'])} points"
    )
    bins = scores["bins"]
    most = max([one["students"] for one in bins] + [1])
    yield ""
    yield "  students " + "".join(f"{one['students'] or '':^5}" for one in bins)
    yield "           " + "".join(f"{BLOCKS[-(-8 * one['students'] // most)]:^5}" for one in bins)
    yield "  from %   " + "".join(f"{one['from']:^5}" for one in bins)


def exercises(facts: Mapping[str, Any]) -> Iterator[str]:
    graded = hardest_first(facts["exercises"])
    shown = graded[:HARDEST]
    yield ""
    yield f"{'hardest exercises':<40}{'earned':>8}{'full':>9}{'blank':>7}{'tells apart':>14}"
    for one in shown:
        apart = "–" if one["discrimination"] is None else f"{one['discrimination']:+.2f}"
        full = f"{one['full_marks']}/{one['submissions']}"
        yield (f"  {cut(named(one), 37):<38}{one['share']:>8.0%}{full:>9}{one['unanswered'] or '':>7}{apart:>14}")
    if len(graded) > len(shown):
        yield f"  and {len(graded) - len(shown)} easier ones"


def named(exercise: Mapping[str, Any]) -> str:
    """Its title as plain text, or else its id."""
    return printable(re.sub(r"[`*$\\{}]", "", exercise["title"])) or exercise["name"]


def mistakes(facts: Mapping[str, Any]) -> Iterator[str]:
    told = (facts["mistakes"] or facts["hints"])[:MISTAKES]
    if told:
        yield ""
        yield "most frequent mistakes"
    for one in told:
        yield f"  {one['students']:>3} of {one['of']:<4}{one['exercise']}: {printable(one['mistake'] or one['hint'])}"


def people(facts: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    if facts["on_roster"]:
        yield f"handed in nothing: {some(facts['nothing_handed_in'])}"
    else:
        yield "handed in nothing: not known without a roster (course roster FILE)"
    yield f"need help: {some([one['student'] for one in facts['help']])}"
    waiting = sum(one["answers"] for one in facts["waiting"])
    yield f"answers that wait for a grader: {waiting or 'none'}"


def grading(facts: Mapping[str, Any]) -> Iterator[str]:
    counts = [
        f"{len({one['student'] for one in facts[kind]})} {word}"
        for kind, word in (("integrity", "with signs of tampering"), ("stopped", "stopped"), ("repairs", "repaired"))
        if facts[kind]
    ]
    yield f"submissions: {', '.join(counts) or 'nothing repaired, nothing looks like tampering'}"
    pairs = facts["similar"]
    first = f", first {' and '.join(pairs[0]['students'])}" if pairs else ""
    yield f"similar answers to read: {len(pairs) or 'none'}{first}"
    time = facts["time"]
    if time["records"]:
        yield f"time: {time['cpu_median']:g} s of processor time for half of them, {time['cpu_total']:g} s for all"


def some(names: Sequence[str]) -> str:
    if not names:
        return "nobody"
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    return f"{len(names)}: {', '.join(names[:NAMES])}{more}"


def cut(line: str, most: int = COLUMNS) -> str:
    return line if len(line) <= most else line[: most - 1] + "…"
