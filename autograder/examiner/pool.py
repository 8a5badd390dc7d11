"""A pool of workers, seen from the process that grades: `prepare` an assignment, `examine` submissions,
`try_variants` of answers.

    front ── exec ── pool ── fork ── worker ── fork ── examiner of one submission and its tests
                       └──── exec (bubblewrap) ── nursery ── …the student's processes

The front is `course grade`, `course verify`, or nbgrader through the preprocessor. It never runs student code. Nobody
else speaks to the sockets of a pool. The other end is worker.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from autograder.examiner import sandbox, warm
from autograder.examiner.limits import Limits
from autograder.examiner.messages import PoolEnded, receive, send
from autograder.examiner.sandbox import Level
from autograder.model.course import CourseError, remove_stale_folders

HOME = Path(__file__).resolve().parents[2]  # the folder that the package lies in
PACKAGES = (HOME / "helpers", HOME / "data" / "english_french")  # what notebooks import of the course
SAME_AS_STUDENT = [
    "NBGRADER_EXECUTION",
    "MPLBACKEND",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "PYTHONHASHSEED",
]
SAME_AS_STUDENT += ["HF_HUB_OFFLINE", "PYTHONWARNINGS"]
SECONDS_TO_END = 10  # for workers that have nothing more to do
WORKER_ENDED = {"error": "its worker ended", "pool": True}

Answer = dict[str, Any]  # a record, or {"error": why there is none, "late": no use to try again, "pool": it ended}
Job = TypeVar("Job")


@dataclass(frozen=True)
class Submission:
    """One notebook to examine. `assignment` and `notebook` name what was prepared."""

    assignment: str
    notebook: str
    limits: Limits
    path: str | None = None
    cells: list[dict[str, Any]] | None = None  # in place of a file: nbgrader has read and overwritten it already
    repairs: list[dict[str, Any]] = field(default_factory=list)  # `Repair`s as JSON
    files: list[tuple[str, str]] = field(default_factory=list)  # beside the notebook: name and path
    given: list[str] = field(default_factory=list)  # those of the files that are the instructor's
    tools: str = ""  # a digest of tools, versions and limits; "" where no result is to be used again
    known: dict[str, Any] | None = None  # results of an earlier run (classroom/kept_results.py)

    def message(self) -> dict[str, Any]:
        made = {
            "op": "examine",
            "prepared": f"{self.assignment}/{self.notebook}",
            "repairs": self.repairs,
            "files": self.files,
            "given": self.given,
            "limits": self.limits.as_dict(),
            "rlimits": self.limits.settings(),
            "tools": self.tools,
            "known": self.known,
        }
        return {**made, "path": self.path} if self.cells is None else {**made, "cells": self.cells}


@dataclass(frozen=True)
class Trial:
    """Another answer to an exercise: the cell to put in place of the solution's, and the test cell to run after it,
    by their indices.
    """

    key: int
    exercise: int
    answer: str
    test: int
    secret: str = ""  # for hidden inputs; "" is the one that was prepared
    recording: bool = False


@dataclass(frozen=True)
class Trials:
    """Variants to try in one run of a notebook's cells, which are (index, name, source, is it a test)."""

    assignment: str
    notebook: str
    limits: Limits
    cells: list[tuple[int, str, str, bool]]
    trials: list[Trial]
    files: list[tuple[str, str]] = field(default_factory=list)

    def message(self) -> dict[str, Any]:
        return {
            "op": "try",
            "prepared": f"{self.assignment}/{self.notebook}",
            "cells": self.cells,
            "trials": [asdict(trial) for trial in self.trials],
            "files": self.files,
            "given": [name for name, _ in self.files],
            "limits": self.limits.as_dict(),
            "rlimits": self.limits.settings(),
        }


def modules_of(notebooks: dict[str, dict[str, Any]]) -> list[str]:
    """What the notebooks of an assignment import: a pool that imports it first saves every submission the time."""
    return list(dict.fromkeys(name for notebook in notebooks.values() for name in notebook["modules"]))


class Pool:
    """Workers that examine. Usable at once: they warm up meanwhile."""

    def __init__(
        self,
        workers: int,
        modules: list[str],
        output_bytes: int,
        level: Level = Level.NAMESPACES,
        stays: bool = True,
    ) -> None:
        """`stays`: what is warm may be that of an earlier pool, and stays for the next one."""
        if (reason := level.why_not()) is not None:
            raise CourseError(f"student code cannot be sandboxed here: {reason}. {level.others()}")
        pairs = [socket.socketpair() for _ in range(workers)]
        self.sockets = [ours for ours, _ in pairs]
        theirs = [socket for _, socket in pairs]
        fixed = {name: sandbox.ENVIRONMENT[name] for name in SAME_AS_STUDENT}
        settings = {
            "packages": [str(path) for path in PACKAGES],
            "modules": modules,
            "output_bytes": output_bytes,
            "level": level,
        }
        environment = {**os.environ, **fixed}
        # Without namespaces students share folders, which must not outlive the run.
        stays = stays and level is Level.NAMESPACES
        self.line = warm.joined(settings, fixed, theirs) if stays else None
        self.process = None if self.line is not None else started(settings, environment, theirs)
        for one in theirs:
            one.close()

    def prepare(self, assignment: str, notebooks: dict[str, dict[str, Any]], folder: Path | None = None) -> None:
        """Have every worker run the set-up of these notebooks.

        `folder` holds modules that the instructor put beside them.
        """
        message = {"op": "prepare", "assignment": assignment, "notebooks": notebooks, "folder": str(folder or "")}
        asked = []
        for sock in self.sockets:
            with contextlib.suppress(PoolEnded):  # a worker that is gone has nothing to prepare
                send(sock, message)
                asked.append(sock)
        for answer in filter(None, map(receive, asked)):
            if "error" in answer:
                raise CourseError(f"{assignment}: {answer['error']}")

    def examine(self, submission: Submission) -> Answer:
        """The record of one submission, by the first worker."""
        with contextlib.suppress(PoolEnded):
            send(self.sockets[0], submission.message())
            return receive(self.sockets[0]) or dict(WORKER_ENDED)
        return dict(WORKER_ENDED)

    def examine_all(self, waiting: list[Job], submission: Callable[[Job], Submission]) -> Iterator[tuple[Job, Answer]]:
        """Records as they come, until no job waits or no worker is left.

        Jobs are taken out of `waiting`; more may join meanwhile.
        """
        return self._hand_out(waiting, lambda job: submission(job).message())

    def try_variants(self, waiting: list[Trials]) -> Iterator[tuple[Trials, Answer]]:
        """Answers {"outcome": {"key", "answer", "outputs", "lost"}} as they come, one a trial; then one about all,
        perhaps an error.
        """
        return self._hand_out(waiting, lambda trials: trials.message())

    def _hand_out(self, waiting: list[Job], message: Callable[[Job], dict[str, Any]]) -> Iterator[tuple[Job, Answer]]:
        idle = list(self.sockets)
        with selectors.DefaultSelector() as busy:
            while busy.get_map() or (idle and waiting):
                while idle and waiting:
                    sock, job = idle.pop(), waiting.pop(0)
                    try:
                        send(sock, message(job))
                    except PoolEnded:
                        waiting.insert(0, job)
                        continue
                    busy.register(sock, selectors.EVENT_READ, job)
                for key, _ in busy.select() if busy.get_map() else ():
                    sock = cast(socket.socket, key.fileobj)
                    answer = receive(sock)
                    if answer is None or "outcome" not in answer:  # else it goes on with the same job
                        busy.unregister(sock)
                        idle += [] if answer is None else [sock]
                    yield key.data, answer or dict(WORKER_ENDED)

    def close(self, at_once: bool = False) -> None:
        """End the pool: when its workers are done, or at once."""
        for sock in self.sockets:
            sock.close()
        if self.line is not None:
            if not at_once:
                select.select([self.line], [], [], SECONDS_TO_END)  # it is closed there when all have ended
            self.line.close()
            self.line = None
        if self.process is None:
            return
        if not at_once:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(SECONDS_TO_END)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            remove_stale_folders(Path(tempfile.gettempdir()), "course-")

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: Any, *unused: Any) -> None:
        self.close(at_once=kind is not None)


def started(
    settings: dict[str, Any], environment: dict[str, str], sockets: list[socket.socket]
) -> subprocess.Popen[bytes]:
    """A process for this pool alone."""
    fds = [one.fileno() for one in sockets]
    given = {**settings, "fds": fds, "parent": os.getpid()}
    return subprocess.Popen(  # -P and a folder of ours: no file of a submission is ever imported by it
        [sys.executable, "-P", "-m", "autograder.examiner.worker", json.dumps(given)],
        pass_fds=fds,
        env=environment,
        cwd=HOME,
        process_group=0,  # Ctrl-C is for the process that grades, which ends this one
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
