"""What a class costs: forty made-up students of 03-attention through every command, and what five hundred would take.

The scores of the class are compared with the known ones on the way.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from statistics import mean

from autograder import demo
from autograder.classroom.inbox import RECORD
from autograder.model import course

ASSIGNMENT, STUDENTS, LARGE = "03-attention", 40, 500


def report(done: demo.Demonstration) -> list[str]:
    """Lines to print: seconds of each command, and processor time and memory of a submission."""
    paths = sorted((done.folder / "autograded").glob(f"*/{ASSIGNMENT}/{RECORD}"))
    notebooks = [one for path in paths for one in json.loads(path.read_text())["notebooks"].values()]
    work, memory = mean(one["cpu_seconds"] for one in notebooks), max(one["peak_mb"] for one in notebooks)
    lines = [f"{typed}: {seconds:g} s" for typed, seconds in done.commands]
    lines.append(f"a submission: {work:.1f} s of processor time in its own processes, at most {memory} MB")
    graded = next(seconds for typed, seconds in done.commands if typed.startswith("course grade"))
    lines.append(
        f"{LARGE} submissions at this pace, {os.cpu_count()} cores: {graded * LARGE / len(notebooks) / 60:.0f} min"
    )
    lines.append(f"marks that are not the known ones: {len(done.wrong)}")
    return lines


def main() -> None:
    this = course.load()
    (assignment,) = this.select([ASSIGNMENT])
    with tempfile.TemporaryDirectory() as folder:
        done = demo.run(this, assignment, Path(folder) / "demo", STUDENTS)
        print("\n".join(report(done)))
