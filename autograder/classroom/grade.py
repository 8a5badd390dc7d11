"""`course grade`: a whole class through the examiner, one writer to nbgrader's gradebook.

Killed at any instant, the next run carries on: a submission is graded when its `grading.json` names the content that
was graded, and that file is written last. Everything before it is written whole or not at all, and writing it twice
changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.classroom import cluster, database
from autograder.classroom.grading_lock import only_grader
from autograder.classroom.inbox import RECORD, Job, combined, jobs_of, likely_modules, submissions
from autograder.classroom.own_solution import OWN, Outcome, OwnSolution
from autograder.classroom.settle import TRIES, failed, settled
from autograder.examiner.limits import Limits, limits_of
from autograder.examiner.pool import Pool, modules_of
from autograder.examiner.sandbox import Level
from autograder.examiner.tools_digest import tools_digest
from autograder.model.course import Assignment, Course, CourseError
from autograder.model.record import Record

if TYPE_CHECKING:
    from autograder.classroom.gradebook import Writer

Results = dict[str, Record | dict[str, Any]]  # of one submission, by notebook; {"failed": why} where there is no record
OnResult = Callable[[dict[str, Any], int, int], None]  # the row, how many are done, how many there are


@dataclass
class Summary:
    """What a run did. `rows` are (student, score, out of, seconds, notes)."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    skipped: int = 0
    failed: list[str] = field(default_factory=list)
    not_graded: list[str] = field(
        default_factory=list
    )  # no result could be had: nothing was written, the next run tries again
    warnings: list[str] = field(default_factory=list)
    own: dict[str, Any] = field(default_factory=dict)  # the instructor's own notebook: score, out_of, remembered
    seconds: float = 0.0

    def take_own(self, outcome: Outcome, on_own: Callable[[Outcome], None]) -> None:
        """What grading the instructor's own notebook has shown, told at once."""
        self.own = {"score": outcome.score, "out_of": outcome.out_of, "remembered": outcome.remembered}
        self.warnings += outcome.warnings
        on_own(outcome)


def grade(
    course: Course,
    assignment: Assignment,
    *,
    student: str = "*",
    workers: int = 0,
    scheduler: str | None = None,
    force: bool = False,
    level: Level = Level.NAMESPACES,
    new_secret: bool = False,
    on_start: Callable[[int, int], None] = lambda total, skipped: None,
    on_result: OnResult = lambda row, done, total: None,
    on_own: Callable[[Outcome], None] = lambda outcome: None,
) -> Summary:
    """Grade every matching submission that has changed since it was graded. One student never stops the class."""
    begun, summary = time.monotonic(), Summary()
    limits = limits_of(course, assignment)
    everyone = find(course, assignment, student)
    with ExitStack() as stack:
        stack.enter_context(only_grader(course, assignment))
        pool = None
        if scheduler is None and (
            force or any_new(course, assignment, everyone)
        ):  # it warms up while nbgrader is imported, two seconds
            pool = stack.enter_context(
                early_pool(assignment, min(workers or processors(), len(everyone)), limits, level)
            )
        from autograder.classroom import gradebook
        from autograder.classroom import secret as secrets

        data = gradebook.register(course, assignment)
        book = stack.enter_context(gradebook.open_gradebook(course))
        if new_secret:
            secrets.start_anew(course, book)
        data = with_secret(data, secrets.class_secret(course, book))
        writer = gradebook.Writer(course, assignment, book)
        base = environment_digest(course, data, limits) + gradebook.due_date(book, assignment)
        own = OwnSolution(course, assignment, list(data), base, again=force)
        todo = skip(course, assignment, everyone, list(data), base, None if force else writer, summary)
        if own.known is not None:
            summary.take_own(own.known, on_own)
        on_start(len(todo), summary.skipped)
        if todo:
            data = with_recordings(course, assignment, data, summary)
        for job in (queue := [*own.jobs, *(job for jobs in todo.values() for job in jobs)] if todo else []):
            job.tools = tools_of(limits, level)
            job.record = None if force or job.student == OWN else writer.folder(job.student) / RECORD
        if scheduler is not None:
            answers = cluster.on_cluster(scheduler, assignment.id, queue, data, limits, level)
        else:
            answers = on_this_machine(workers or processors(), assignment, queue, data, limits, level, pool)
        for done, (name, results) in enumerate(
            examine(answers, todo, own, partial(summary.take_own, on_own=on_own)), 1
        ):
            if (row := write(writer, name, results, todo[name], summary)) is not None:
                on_result(row, done, len(todo))
    summary.rows.sort(key=lambda row: row["student"])
    summary.seconds = time.monotonic() - begun
    return summary


def find(course: Course, assignment: Assignment, student: str) -> list[tuple[str, Path]]:
    """Every submission of these students, where there is a database to write results to."""
    database.must_answer(database.gradebook_url(course))
    everyone = submissions(course, assignment, student)
    if not everyone:
        raise CourseError(
            f"nothing to grade: no folder submitted/{student}/{assignment.id}. `course collect` puts submissions there"
        )
    return everyone


def with_secret(data: dict[str, dict[str, Any]], secret: str) -> dict[str, dict[str, Any]]:
    """What the examiner needs to know of the notebooks, with the secret that their hidden inputs are drawn from."""
    return {name: {**notebook, "secret": secret} for name, notebook in data.items()}


def with_recordings(
    course: Course, assignment: Assignment, data: dict[str, dict[str, Any]], summary: Summary
) -> dict[str, dict[str, Any]]:
    """What the named mistakes answer, for the examiner to compare with. Without them hints say less; scores do not
    change.
    """
    if assignment.id not in data or not assignment.source.exists():
        return data
    from autograder.authoring import recordings
    from autograder.authoring.build import checked_cells
    from autograder.authoring.engines import sheet_of

    try:
        cells, _ = checked_cells(assignment)
        sheet = sheet_of(course, assignment, cells)
        found = recordings.recorded(course, assignment, sheet, cells, data[assignment.id]["secret"])
    except CourseError as error:
        summary.warnings.append(f"mistakes are not named this time: {error}")
        return data
    return {**data, assignment.id: {**data[assignment.id], "recorded": found}}


def skip(
    course: Course,
    assignment: Assignment,
    everyone: list[tuple[str, Path]],
    names: list[str],
    base: str,
    writer: Writer | None,
    summary: Summary,
) -> dict[str, list[Job]]:
    """Jobs by student, of those whose content the writer does not know as graded.

    Folders that are no submission are named and left out.
    """
    todo: dict[str, list[Job]] = {}
    for name, folder in everyone:
        if not name.isprintable() or name.encode("utf-8", "replace").decode() != name:
            summary.failed.append(f"the folder submitted/{name!a} has a name that is no student id: rename it")
            continue
        if folder.is_symlink() or folder.parent.is_symlink():
            summary.failed.append(
                f"{name}: submitted/{name}/{assignment.id} is a link, not a folder: nothing was graded"
            )
            continue
        try:
            jobs = jobs_of(course, assignment, name, folder, names, base)
        except OSError as error:
            summary.failed.append(f"{name}: the submission cannot be read: {error.strerror}: {error.filename}")
            continue
        if writer is not None and writer.graded(name, combined(jobs)):
            summary.skipped += 1
        else:
            todo[name] = jobs
    return todo


def examine(
    answers: Iterator[tuple[Job, dict[str, Any]]],
    todo: dict[str, list[Job]],
    own: OwnSolution,
    take_own: Callable[[Outcome], None],
) -> Iterator[tuple[str, Results]]:
    """Students whose every notebook has been examined, as they come.

    The instructor's own notebook is looked at on the way.
    """
    from autograder.classroom.gradebook import with_marks

    finished: dict[str, Results] = {}
    for job, answer in answers:
        result: Record | dict[str, Any] = answer if "failed" in answer else replace(with_marks(answer), job=job.student)
        if job.student == OWN:
            if (outcome := own.take(job.notebook, result)) is not None:
                take_own(outcome)
            continue
        finished.setdefault(job.student, {})[job.notebook] = result
        if len(finished[job.student]) == len(todo[job.student]):
            yield job.student, finished.pop(job.student)


def write(writer: Writer, student: str, results: Results, jobs: list[Job], summary: Summary) -> dict[str, Any] | None:
    """Store the results of one student; the row of the summary, or None where there was nothing to store or it could
    not be.
    """
    records = {name: result for name, result in results.items() if isinstance(result, Record)}
    if broken := [result["failed"] for result in results.values() if not isinstance(result, Record)]:
        summary.not_graded.append(student)
        summary.failed += [f"{student}: not graded: {reason}. Grade again" for reason in broken]
        return None
    try:
        published = database.across_a_restart(
            writer.book, lambda: writer.save(student, jobs[0].folder, records, combined(jobs))
        )
    except (OSError, CourseError) as error:  # this student's files; the class goes on
        summary.failed.append(f"{student}: the result could not be written: {error}")
        return None
    row = published.row()
    summary.rows.append(row)
    return row


def environment_digest(course: Course, data: dict[str, dict[str, Any]], limits: Limits) -> str:
    """Tests, limits, check library, examiner and versions: a change of any of them makes every submission worth
    grading again.
    """
    digest = hashlib.sha256(json.dumps([data, limits.as_dict()], sort_keys=True).encode())
    digest.update(tools_digest().encode())
    return digest.hexdigest()


def tools_of(limits: Limits, level: Level) -> str:
    """Of that, what decides the result of every test: in one word, for the keys of results."""
    return hashlib.sha256(json.dumps([tools_digest(), limits.as_dict(), level.value]).encode()).hexdigest()


def processors() -> int:
    return os.cpu_count() or 1


def any_new(course: Course, assignment: Assignment, everyone: list[tuple[str, Path]]) -> bool:
    """Is there a submission that was never graded?"""
    return any(not (course.root / "autograded" / name / assignment.id / RECORD).exists() for name, _ in everyone)


def early_pool(assignment: Assignment, workers: int, limits: Limits, level: Level) -> Pool:
    return Pool(workers, likely_modules(assignment), limits.output_kb << 10, level)


def on_this_machine(
    workers: int,
    assignment: Assignment,
    queue: list[Job],
    data: dict[str, dict[str, Any]],
    limits: Limits,
    level: Level,
    pool: Pool | None = None,
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Hand jobs to the workers of a pool, and give results as they come.

    What the machine kept from being done is tried again, if need be with a new pool.
    """
    waiting = list(queue)
    in_vain = 0
    while waiting and in_vain < TRIES:
        in_vain += 1
        with ExitStack() as stack:
            if pool is None:
                pool = stack.enter_context(
                    Pool(min(workers, len(waiting)), modules_of(data), limits.output_kb << 10, level)
                )
            pool.prepare(assignment.id, data, assignment.source.parent)
            for job, answer in pool.examine_all(waiting, lambda job: job.submission(assignment.id, limits)):
                if (result := settled(job, answer)) is None:
                    waiting.append(job)
                else:
                    in_vain = 0
                    yield job, result
        pool = None  # all of its workers ended, or there is nothing left to do
    for job in waiting:
        yield job, failed("every worker ended")
