"""`course grade --scheduler`: the same jobs on a Dask cluster.

Files travel with the job: the machines need not share a disk.
"""

from __future__ import annotations

import base64
import hashlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autograder.classroom.inbox import Job
from autograder.classroom.settle import settled
from autograder.examiner.limits import Limits
from autograder.examiner.pool import Pool, Submission, modules_of
from autograder.model.course import CourseError

NOTEBOOK, FILE = "notebook", "file "  # how the parts of a packed job are labelled


def on_cluster(
    scheduler: str, assignment: str, queue: list[Job], data: dict[str, dict[str, Any]], limits: Limits, unsafe: bool
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Results as they come, from whichever worker of the cluster."""
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
                future = client.submit(
                    examine_here, files, job.submission(assignment, limits), shared, unsafe, pure=False
                )
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
    named = (
        [(NOTEBOOK, job.path)]
        if job.path is not None and Path(job.path).is_file() and not Path(job.path).is_symlink()
        else []
    )
    named += [(f"{FILE}{name}", path) for name, path in job.files]
    return {label: base64.b64encode(Path(path).read_bytes()).decode() for label, path in named}


@dataclass
class WarmPool:
    """The pool of this worker of the cluster, kept for the next job of the same assignment."""

    digest: str = ""
    pool: Pool | None = None

    def ready(self, assignment: str, data: dict[str, dict[str, Any]], limits: Limits, unsafe: bool) -> Pool:
        digest = hashlib.sha256(json.dumps([data, unsafe], sort_keys=True).encode()).hexdigest()
        if self.pool is None or self.digest != digest:
            self.close()
            self.pool, self.digest = Pool(1, modules_of(data), limits.output_kb << 10, unsafe), digest
            self.pool.prepare(assignment, data)
        return self.pool

    def close(self) -> None:
        if self.pool is not None:
            self.pool.close()
        self.pool = None


warm = WarmPool()


def examine_here(
    files: dict[str, str], submission: Submission, data: dict[str, dict[str, Any]], unsafe: bool
) -> dict[str, Any]:
    """On a worker of the cluster: unpack, and examine with a pool of one."""
    try:
        pool = warm.ready(submission.assignment, data, submission.limits, unsafe)
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
