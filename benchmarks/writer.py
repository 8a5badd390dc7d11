"""The one writer of results: how many graded submissions a minute it can put into the gradebook.

One perfect submission is graded; its record is then written for so many students, as `course grade` does it: gradebook,
notebook, `grading.json`. What grading it takes is measured beside, so the ratio says how many cores can grade before
the writer is the limit. WRITER_STUDENTS is their number (400), WRITER_ASSIGNMENTS the assignments, WRITER_URL the
address of an empty PostgreSQL database in place of SQLite:

    WRITER_URL=postgresql://user@localhost/empty python -m benchmarks writer
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from autograder import demo
from autograder.classroom import gradebook
from autograder.classroom.gradebook import Writer
from autograder.examiner.limits import Limits
from autograder.examiner.pool import Pool, modules_of
from autograder.model import course
from autograder.model.course import Assignment, Course
from autograder.model.record import Record
from benchmarks.cost import measured, prepared

STUDENTS = int(os.environ.get("WRITER_STUDENTS", "400"))
CHOSEN = os.environ.get("WRITER_ASSIGNMENTS", "02-rnn-backprop 11-speeches").split()
URL = os.environ.get("WRITER_URL", "")
PART = 5  # the first and the last fifth are compared: does it slow down as the gradebook fills?


def graded(this: Course, own: Assignment, folder: Path) -> tuple[Record, float]:
    """The record of a perfect submission, and the processor seconds of grading it."""
    about, job = prepared(this, own, folder)
    with Pool(1, modules_of({own.id: about}), Limits().output_kb << 10) as pool:
        pool.prepare(own.id, {own.id: about}, own.source.parent)
        cost = measured(pool, job)
        return gradebook.with_marks(pool.examine(job)), cost.total


def written(made: Course, own: Assignment, record: Record) -> list[float]:
    """Seconds by the clock of writing each student's result, one after the other."""
    text = own.student_notebook.read_text(encoding="utf-8")
    seconds = []
    with gradebook.open_gradebook(made) as book:
        writer = Writer(made, own, book)
        for number in range(STUDENTS):
            student = f"student{number:05d}"
            submitted = made.root / "submitted" / student / own.id
            submitted.mkdir(parents=True)
            (submitted / f"{own.id}.ipynb").write_text(text, encoding="utf-8")
            started = time.perf_counter()
            writer.save(student, submitted, {own.id: replace(record, job=student)}, f"digest of {student}")
            seconds.append(time.perf_counter() - started)
    return seconds


def row(name: str) -> str:
    this = course.load()
    (assignment,) = this.select([name])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        record, cost = graded(this, assignment, root)
        made = demo.demo_course(this, assignment, root / "course")
        if URL:
            settings = made.root / "course.toml"
            settings.write_text(f'gradebook = "{URL}"\n{settings.read_text(encoding="utf-8")}', encoding="utf-8")
            made = course.load(made.root)
        (own,) = made.assignments
        gradebook.register(made, own)
        seconds = written(made, own, record)
    fifth = max(1, len(seconds) // PART)
    first, last = statistics.median(seconds[:fifth]), statistics.median(seconds[-fifth:])
    each = statistics.mean(seconds)
    parts = [f"{60 / each:,.0f}", f"{1000 * each:.0f} ms", f"{last / first:.2f}", f"{cost:.2f} s", f"{cost / each:.0f}"]
    return f"| {name} | {'PostgreSQL' if URL else 'SQLite'} | {' | '.join(parts)} |"


def main() -> None:
    print(f"{STUDENTS} students, one writer\n")
    titles = ["assignment", "gradebook", "written a minute", "each", "last fifth ÷ first", "grading one"]
    print(f"| {' | '.join(titles)} | cores it keeps up with |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for name in CHOSEN:
        print(row(name), flush=True)


if __name__ == "__main__":
    main()
