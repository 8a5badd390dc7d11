"""What a student's own test cells gave last, kept beside the notebooks for the start page. It stays on the computer.

Every exercise has a small file of its own, `work/.progress/ASSIGNMENT/EXERCISE.json`, written whole or not at all: two
kernels at once cannot mix their results. Whoever deletes it loses nothing but the display. Only kernels that work in
`work/ASSIGNMENT` keep anything, so nothing is kept on Colab, nor where notebooks are graded.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from helpers.kit.assignment import HERE

MARK = ".handed-out.json"  # lies in the folder with a student's copies
FOLDER = ".progress"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Result:
    """What the test of one exercise gave last, and when (seconds since 1970)."""

    score: float
    points: float
    when: float


def record(name: str, score: float, points: float, here: Path = HERE) -> None:
    """Keep the result of one test. A disk that is full or read-only must not disturb the test."""
    if not NAME.fullmatch(name) or not (here.parent / MARK).is_file():
        return
    path = here.parent / FOLDER / here.name / f"{name}.json"
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        number, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(number, "w", encoding="utf-8") as handle:
                json.dump({"score": score, "points": points}, handle)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)


def results(work: Path, assignment: str) -> dict[str, Result]:
    """What is known of an assignment, by exercise. A file that cannot be read counts as not there."""
    found = {}
    for path in (work / FOLDER / assignment).glob("[!.]*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            data = json.loads(path.read_text(encoding="utf-8"))
            found[path.stem] = Result(float(data["score"]), float(data["points"]), path.stat().st_mtime)
    return found
