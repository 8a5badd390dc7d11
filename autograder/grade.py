"""`course grade`: a whole class through the examiner, one writer to nbgrader's gradebook.

Killed at any instant, the next run carries on: a submission is graded when its `grading.json` names the content that was graded, and that
file is written last. Everything before it is written whole or not at all, and writing it twice changes nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import selectors
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from autograder import database
from autograder.course import Assignment, Course, CourseError
from autograder.examiner import pool as pools
from autograder.examiner.sandbox import Limits
from autograder.own_solution import OWN, Outcome, OwnSolution
from autograder.submissions import PACKAGES, RECORD, Job, combined, jobs_of, likely_modules, submissions
from autograder.turns import only_grader

if TYPE_CHECKING:
    from autograder.gradebook import Writer

TRIES = 3  # at a result that the machine kept from being had


@dataclass
class Summary:
    """What a run did. `rows` are (student, score, out of, seconds, notes)."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    skipped: int = 0
    failed: list[str] = field(default_factory=list)
    not_graded: list[str] = field(
        default_factory=list
    )  # students whose result could not be had: nothing was written, the next run tries again
    warnings: list[str] = field(default_factory=list)
    own: dict[str, Any] = field(default_factory=dict)  # the instructor's own notebook: score, out_of, remembered
    seconds: float = 0.0

    def take_own(self, outcome: Outcome, tried: Callable[[Outcome], None]) -> None:
        """What grading the instructor's own notebook has shown, told at once."""
        self.own = {"score": outcome.score, "out_of": outcome.out_of, "remembered": outcome.remembered}
        self.warnings += outcome.warnings
        tried(outcome)


def environment_digest(course: Course, data: dict[str, dict[str, Any]], limits: Limits) -> str:
    """Tests, limits, check library, examiner and versions: a change of any of them makes every submission worth grading again."""
    digest = hashlib.sha256(json.dumps([data, limits.as_dict()], sort_keys=True).encode())
    for folder in (*PACKAGES, Path(__file__).parent / "examiner"):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    digest.update(platform.python_version().encode())
    for package in ("torch", "numpy", "nbgrader"):
        with suppress(metadata.PackageNotFoundError):
            digest.update(f"{package}{metadata.version(package)}".encode())
    return digest.hexdigest()


Told = Callable[[dict[str, Any], int, int], None]


def grade(
    course: Course,
    assignment: Assignment,
    *,
    student: str = "*",
    workers: int = 0,
    scheduler: str | None = None,
    force: bool = False,
    unsafe: bool = False,
    started: Callable[[int, int], None] = lambda total, skipped: None,
    told: Told = lambda row, done, total: None,
    tried: Callable[[Outcome], None] = lambda outcome: None,
) -> Summary:
    """Grade every matching submission that has changed since it was graded. One student never stops the class."""
    begun = time.monotonic()
    database.must_answer(course.gradebook_url)
    everyone = submissions(course, assignment, student)
    if not everyone:
        raise CourseError(f"nothing to grade: no folder submitted/{student}/{assignment.id}. `course collect` puts submissions there")
    limits = course.limits(assignment)
    with ExitStack() as stack:
        stack.enter_context(only_grader(course, assignment))
        early = None
        if scheduler is None and (
            force or any(not (course.root / "autograded" / n / assignment.id / RECORD).exists() for n, _ in everyone)
        ):
            count = min(workers or os.cpu_count() or 1, len(everyone))
            early = stack.enter_context(
                pools.Pool(count, PACKAGES, likely_modules(assignment), limits.output_kb << 10, unsafe)
            )  # it warms up meanwhile
        from autograder import gradebook  # nbgrader takes two seconds to import: the pool warms up meanwhile

        data = gradebook.register(course, assignment)
        base = environment_digest(course, data, limits)
        summary = Summary()
        book = stack.enter_context(gradebook.open_gradebook(course))
        writer = gradebook.Writer(course, assignment, book)
        base += gradebook.due_date(book, assignment)
        todo = outstanding(course, assignment, everyone, list(data), base, None if force else writer, summary)
        own = OwnSolution(course, assignment, list(data), base, again=force)
        if own.known is not None:
            summary.take_own(own.known, tried)
        started(len(todo), summary.skipped)
        finished: dict[str, dict[str, dict[str, Any]]] = {}
        queue = [job for jobs in todo.values() for job in jobs]
        queue[:0] = own.jobs if queue else []
        run = (
            on_cluster(scheduler, assignment.id, queue, data, limits, unsafe)
            if scheduler is not None
            else on_this_machine(
                workers or os.cpu_count() or 1, assignment.id, queue, data, limits, unsafe, early, assignment.source.parent
            )
        )
        done = 0
        for job, result in run if queue else ():
            if job.student == OWN:
                outcome = own.take(job.notebook, result if "failed" in result else gradebook.with_marks(result))
                if outcome is not None:
                    summary.take_own(outcome, tried)
                continue
            finished.setdefault(job.student, {})[job.notebook] = result
            if len(finished[job.student]) < len(todo[job.student]):
                continue
            results = finished.pop(job.student)
            done += 1
            if broken := [result["failed"] for result in results.values() if "failed" in result]:
                summary.not_graded.append(job.student)
                summary.failed += [f"{job.student}: not graded: {reason}. Grade again" for reason in broken]
                continue
            results = {name: gradebook.with_marks(result) for name, result in results.items()}
            try:
                record = writer.save(job.student, job.folder, results, combined(todo[job.student]))
            except (OSError, CourseError) as error:  # this student's files; the class goes on
                summary.failed.append(f"{job.student}: the result could not be written: {error}")
                continue
            row = row_of(record, results)
            summary.rows.append(row)
            told(row, done, len(todo))
    summary.rows.sort(key=lambda row: row["student"])
    summary.seconds = time.monotonic() - begun
    return summary


def outstanding(
    course: Course,
    assignment: Assignment,
    everyone: list[tuple[str, Path]],
    names: list[str],
    base: str,
    writer: Writer | None,
    summary: Summary,
) -> dict[str, list[Job]]:
    """Jobs by student, of those whose content the writer does not know as graded. Folders that are no submission are named and left out."""
    todo: dict[str, list[Job]] = {}
    for name, folder in everyone:
        if not name.isprintable() or name.encode("utf-8", "replace").decode() != name:
            summary.failed.append(f"the folder submitted/{name!a} has a name that is no student id: rename it")
            continue
        if folder.is_symlink() or folder.parent.is_symlink():
            summary.failed.append(f"{name}: submitted/{name}/{assignment.id} is a link, not a folder: nothing was graded")
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


def row_of(record: dict[str, Any], results: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A line of the summary."""
    return {
        "student": record["student"],
        "score": record["score"],
        "out_of": record["out_of"],
        "waiting": record["waiting_for_manual_grade"],
        "late_penalty": record["late_penalty"],
        "seconds": round(sum(r.get("seconds", 0.0) for r in results.values()), 2),
        "repairs": [text for r in results.values() for text in r["repairs"]],
        "tamper": [text for r in results.values() for text in r["tamper"]],
        "lost": {name: reason for r in results.values() for name, reason in r["lost"].items()},
        "unreadable": next((r["unreadable"] for r in results.values() if "unreadable" in r), None),
    }


def prepare_message(assignment: str, data: dict[str, dict[str, Any]], folder: Path | None = None) -> dict[str, Any]:
    return {"op": "prepare", "assignment": assignment, "notebooks": data, "folder": str(folder or "")}


def job_message(job: Job, assignment: str, limits: Limits) -> dict[str, Any]:
    return {
        "op": "grade",
        "job": job.student,
        "prepared": f"{assignment}/{job.notebook}",
        "path": job.path,
        "repairs": job.repairs,
        "files": job.files,
        "given": job.given,
        "limits": limits.as_dict(),
        "rlimits": limits.settings(),
    }


def on_this_machine(
    workers: int,
    assignment: str,
    queue: list[Job],
    data: dict[str, dict[str, Any]],
    limits: Limits,
    unsafe: bool,
    pool: pools.Pool | None = None,
    folder: Path | None = None,
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Hand jobs to the workers of a pool, and give results as they come. What the machine kept from being done is tried again, if need
    be with a new pool."""
    waiting = list(queue)
    modules = list(dict.fromkeys(name for one in data.values() for name in one["modules"]))
    in_vain = 0
    while waiting and in_vain < TRIES:
        in_vain += 1
        with ExitStack() as stack:
            if pool is None:
                pool = stack.enter_context(pools.Pool(min(workers, len(waiting)), PACKAGES, modules, limits.output_kb << 10, unsafe))
            for job, answer in answers_of(pool, prepare_message(assignment, data, folder), waiting, assignment, limits):
                if (result := settled(job, answer)) is None:
                    waiting.append(job)
                else:
                    in_vain = 0
                    yield job, result
        pool = None  # all of its workers ended, or there is nothing left to do
    for job in waiting:
        yield job, failed("every worker ended")


def settled(job: Job, answer: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a job, or None where it is to be tried again."""
    if "error" not in answer:
        return answer
    job.tries += 1
    return failed(answer["error"]) if job.tries >= TRIES or answer.get("late") else None


def failed(reason: str) -> dict[str, Any]:
    """Of a submission that could not be graded, through no fault of its own: there is no record, and nothing to write."""
    return {"failed": reason, "seconds": 0.0}


def answers_of(
    pool: pools.Pool, prepare: dict[str, Any], waiting: list[Job], assignment: str, limits: Limits
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """What the workers of one pool say about the jobs that wait, until none waits or no worker is left. More may join meanwhile."""
    with selectors.DefaultSelector() as ready:
        idle: list[socket.socket] = []

        def hand_over(sock: socket.socket, message: dict[str, Any], job: Job | None) -> bool:
            try:
                pools.send(sock, message)
            except ConnectionError:  # this worker ended
                return False
            ready.register(sock, selectors.EVENT_READ, job)
            return True

        for sock in pool.sockets:
            hand_over(sock, prepare, None)
        while ready.get_map() or (idle and waiting):
            while idle and waiting:
                job = waiting.pop(0)
                if not hand_over(idle.pop(), job_message(job, assignment, limits), job):
                    waiting.insert(0, job)
            for key, _ in ready.select():
                sock, job = cast(socket.socket, key.fileobj), key.data
                message = pools.receive(sock)
                ready.unregister(sock)
                if message is not None:
                    idle.append(sock)
                if job is not None:
                    yield job, {"error": "its worker ended"} if message is None else message
                elif message is not None and "error" in message:
                    raise CourseError(f"{assignment}: {message['error']}")


# ---- clusters ---------------------------------------------------------------------------------------------------------------------


def on_cluster(
    scheduler: str, assignment: str, queue: list[Job], data: dict[str, dict[str, Any]], limits: Limits, unsafe: bool
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """The same jobs on a Dask cluster. Files travel with the job: the machines need not share a disk."""
    try:
        from dask.distributed import Client, as_completed
    except ImportError:
        raise CourseError("`--scheduler` needs Dask: pip install 'sequence-models-workbook[cluster]'") from None
    try:
        client = Client(scheduler, timeout="20s")
    except (OSError, TimeoutError) as error:
        raise CourseError(f"no Dask scheduler answers at {scheduler}: {error}") from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise CourseError(f"the Dask scheduler at {scheduler} has no workers")
        shared = client.scatter(data, broadcast=True)
        jobs: dict[Any, Job] = {}
        running = as_completed()

        def submit(job: Job) -> dict[str, Any] | None:
            """Send it off; a result only where it could not be sent."""
            result = None
            while result is None:
                try:
                    files = packed(job)
                except OSError as error:
                    result = settled(job, {"error": f"the submission cannot be read: {error.strerror}"})
                    continue
                future = client.submit(grade_far, files, job_message(job, assignment, limits), shared, assignment, unsafe, pure=False)
                jobs[future] = job
                running.add(future)
                return None
            return result

        for job in queue:
            if (result := submit(job)) is not None:
                yield job, result
        for future in running:
            job = jobs.pop(future)
            lost = future.status != "finished"
            result = settled(job, {"error": f"the cluster lost it: {future.exception()}"} if lost else future.result())
            result = submit(job) if result is None else result
            if result is not None:
                yield job, result


def packed(job: Job) -> dict[str, Any]:
    """The files of a job as text."""
    named = [("notebook", job.path)] if job.path is not None and Path(job.path).is_file() and not Path(job.path).is_symlink() else []
    named += [(f"file {name}", path) for name, path in job.files]
    return {label: base64.b64encode(Path(path).read_bytes()).decode() for label, path in named}


_far: dict[str, Any] = {}


def grade_far(
    files: dict[str, str], message: dict[str, Any], data: dict[str, dict[str, Any]], assignment: str, unsafe: bool
) -> dict[str, Any]:
    """On a worker of the cluster: unpack, and grade with a pool of one that stays warm for the next job."""
    digest = hashlib.sha256(json.dumps([data, unsafe], sort_keys=True).encode()).hexdigest()
    if _far.get("digest") != digest:
        if "pool" in _far:
            _far.pop("pool").close()
        modules = list(dict.fromkeys(name for one in data.values() for name in one["modules"]))
        pool = pools.Pool(1, PACKAGES, modules, message["limits"]["output_kb"] << 10, unsafe)
        answer = None
        with suppress(ConnectionError):
            pools.send(pool.sockets[0], prepare_message(assignment, data))
            answer = pools.receive(pool.sockets[0])
        if answer is None or "error" in answer:
            pool.close()
            return {"error": (answer or {}).get("error", "the worker's pool ended")}
        _far.update(pool=pool, digest=digest)
    with tempfile.TemporaryDirectory() as folder:
        message = {**message, "files": [], "path": None}
        for number, (label, text) in enumerate(files.items()):
            path = Path(folder) / str(number)
            path.write_bytes(base64.b64decode(text))
            if label == "notebook":
                message["path"] = str(path)
            else:
                message["files"].append((label.removeprefix("file "), str(path)))
        sock = _far["pool"].sockets[0]
        found = None
        with suppress(ConnectionError):
            pools.send(sock, message)
            found = pools.receive(sock)
    if found is None:
        _far.pop("pool").close()
        _far.clear()
        return {"error": "the worker's pool ended"}
    assert isinstance(found, dict)
    return found
