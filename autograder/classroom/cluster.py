"""`course grade --scheduler`: the same jobs on a Dask cluster.

Files travel with the job: the machines need not share a disk.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.classroom.inbox import Job
from autograder.classroom.settle import TRIES, failed, settled
from autograder.examiner.limits import Limits
from autograder.examiner.pool import Pool, Submission, modules_of
from autograder.examiner.sandbox import Level
from autograder.examiner.tools_digest import tools_digest, versions
from autograder.model.course import CourseError

if TYPE_CHECKING:
    from dask.distributed import Client

SECONDS_TO_CONNECT = 60  # also for a scheduler that is being restarted, and its workers

NOTEBOOK, FILE = "notebook", "file "  # how the parts of a packed job are labelled


def on_cluster(
    scheduler: str, assignment: str, queue: list[Job], data: dict[str, dict[str, Any]], limits: Limits, level: Level
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Results as they come, from whichever worker of the cluster.

    When the scheduler goes away, what it had not answered is sent again as soon as it is back.
    """
    waiting = list(queue)
    in_vain = 0
    while waiting and in_vain < TRIES:
        in_vain += 1
        with connected(scheduler) as client:
            sender = Sender(client, assignment, data, limits, level)
            for job in waiting:
                sender.send(job)
            waiting = []
            for job, answer in sender.answers():
                if answer is None:
                    waiting.append(job)
                elif (result := settled(job, answer)) is None:
                    sender.send(job)
                else:
                    in_vain = 0
                    yield job, result
    for job in waiting:
        yield job, failed(f"the Dask scheduler at {scheduler} went away")


def connected(scheduler: str) -> Client:
    """A connection to a cluster that has workers."""
    try:
        from dask.distributed import Client
    except ImportError:
        raise CourseError("`--scheduler` needs Dask: pip install 'sequence-models-workbook[cluster]'") from None
    try:
        client = Client(scheduler, timeout=SECONDS_TO_CONNECT)
        client.wait_for_workers(1, timeout=SECONDS_TO_CONNECT)
    except TimeoutError as error:
        raise CourseError(f"no Dask scheduler with workers answers at {scheduler}: {error}") from None
    except OSError as error:
        raise CourseError(f"no Dask scheduler answers at {scheduler}: {error}") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # a lost connection is told by us, in one line
    return client


class Sender:
    """Sends jobs over one connection to a scheduler, and gives their answers as they come."""

    def __init__(
        self, client: Client, assignment: str, data: dict[str, dict[str, Any]], limits: Limits, level: Level
    ) -> None:
        from dask.distributed import as_completed

        self.client, self.assignment, self.limits, self.level = client, assignment, limits, level
        self.shared = client.scatter(data, broadcast=True)
        self.running = as_completed()
        self.jobs: dict[Any, Job] = {}
        self.unsent: list[tuple[Job, dict[str, Any]]] = []
        self.refused: dict[str, str] = {}  # workers with other tools, and why

    def send(self, job: Job) -> None:
        """To any worker; once some have refused, to one that has not."""
        try:
            bundle = packed(job)
        except OSError as error:
            self.unsent.append((job, {"error": f"the submission cannot be read: {error.strerror}"}))
            return
        fit = [worker for worker in self.client.nthreads() if worker not in self.refused] if self.refused else None
        if fit == []:
            raise CourseError("; ".join(f"worker {worker} {reason}" for worker, reason in self.refused.items()))
        future = self.client.submit(
            examine_here,
            bundle,
            job.submission(self.assignment, self.limits),
            self.shared,
            self.level,
            (tools_digest(), versions()),
            key=f"examine-{job.student}-{job.notebook}-{bundle_digest(bundle)}-{job.tries}-{len(self.refused)}",
            workers=fit,
            pure=False,
        )
        self.jobs[future] = job
        self.running.add(future)

    def answers(self) -> Iterator[tuple[Job, dict[str, Any] | None]]:
        """None for a job that went down with the scheduler."""
        while self.jobs or self.unsent:
            yield from iter_pop(self.unsent)
            for future in self.running:
                job = self.jobs.pop(future)
                answer = answer_of(future)
                if answer is not None and "refused" in answer:
                    self.refused[answer["worker"]] = answer["refused"]
                    self.send(job)
                else:
                    yield job, answer
                yield from iter_pop(self.unsent)


def answer_of(future: Any) -> dict[str, Any] | None:
    """What a worker answered. None where the scheduler went away before or while it was fetched."""
    from dask.distributed import CancelledError

    try:
        if future.status == "error":
            return {"error": f"the cluster lost it: {future.exception()}"}
        answer: dict[str, Any] = future.result()
    except (OSError, CancelledError):
        return None
    return answer


def iter_pop(items: list[Any]) -> Iterator[Any]:
    while items:
        yield items.pop(0)


def bundle_digest(bundle: dict[str, str]) -> str:
    """What a submission's files are, in one word: the name under which the cluster knows them."""
    return hashlib.sha256(json.dumps(bundle, sort_keys=True).encode()).hexdigest()[:16]


def packed(job: Job) -> dict[str, str]:
    """The files of a job as text."""
    named = (
        [(NOTEBOOK, job.path)]
        if job.path is not None and Path(job.path).is_file() and not Path(job.path).is_symlink()
        else []
    )
    named += [(f"{FILE}{name}", path) for name, path in job.files]
    return {label: base64.b64encode(Path(path).read_bytes()).decode() for label, path in named}


def difference(here: dict[str, str], there: dict[str, str]) -> str:
    """Why a worker cannot grade for this machine."""
    others = [
        f"{name} {there.get(name, 'missing')} instead of {version}"
        for name, version in here.items()
        if there.get(name) != version
    ]
    if others:
        return f"has {', '.join(others)}: install the same versions there"
    return "has another version of the course's own code: install the same one there"


@dataclass
class WarmPool:
    """The pool of this worker of the cluster, kept for the next job of the same assignment."""

    digest: str = ""
    pool: Pool | None = None

    def ready(self, assignment: str, data: dict[str, dict[str, Any]], limits: Limits, level: Level) -> Pool:
        digest = hashlib.sha256(json.dumps([data, level], sort_keys=True).encode()).hexdigest()
        if self.pool is None or self.digest != digest:
            self.close()
            self.pool, self.digest = Pool(1, modules_of(data), limits.output_kb << 10, level, stays=False), digest
            self.pool.prepare(assignment, data)
        return self.pool

    def close(self) -> None:
        if self.pool is not None:
            self.pool.close()
        self.pool = None


warm = WarmPool()


def examine_here(
    files: dict[str, str],
    submission: Submission,
    data: dict[str, dict[str, Any]],
    level: Level,
    tools: tuple[str, dict[str, str]],
) -> dict[str, Any]:
    """On a worker of the cluster: unpack, and examine with a pool of one. Other tools might give other scores."""
    if tools_digest() != tools[0]:
        from dask.distributed import get_worker

        return {"refused": difference(tools[1], versions()), "worker": get_worker().address}
    try:
        pool = warm.ready(submission.assignment, data, submission.limits, level)
    except CourseError as error:
        warm.close()
        return {"error": str(error)}
    with tempfile.TemporaryDirectory() as folder:
        notebook, beside = None, []
        for number, (label, text) in enumerate(files.items()):
            path = Path(folder) / str(number)
            path.write_bytes(base64.b64decode(text))
            if label == NOTEBOOK:
                notebook = str(path)
            else:
                beside.append((label.removeprefix(FILE), str(path)))
        answer = pool.examine(replace(submission, path=notebook, files=beside))
    if answer.get("pool"):
        warm.close()
    return answer
