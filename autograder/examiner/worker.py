"""The warm process behind a pool.

It starts the nursery, imports what everybody needs, and forks a worker per socket of the front.

Each worker examines one submission at a time, in a fork of itself that can be ended. The front's side, and a picture
of all the processes, is in pool.py.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.examiner.messages import receive, send

if TYPE_CHECKING:
    from autograder.examiner.cgroups import MemoryGroup
    from autograder.examiner.sandbox import Level, Nursery

SILENT_SECONDS = 120.0  # of an examiner that works on a submission, before it is given up
SPARE_TEST_SECONDS = 10.0  # beyond a test's own limit
MOST_ATTEMPTS = 3  # at a submission in which a process ended, nobody knows why

# What every notebook needs; the rest is what its own cells import (see notebook.modules). The first optimiser and the
# first operation under a counter import torch._dynamo, which takes a second: better once, before students' processes
# are made. Tests seldom need it; where they do, a worker learns so from its first submission.
STUDENTS = ["torch._dynamo"]
WARM = [
    "torch",
    "torch.utils.flop_counter",
    "numpy.random",
    "encodings.utf_8_sig",
    "helpers.checks",
    "IPython",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
    "matplotlib.backends.backend_agg",
    "tqdm.auto",
]


def main(settings: dict[str, Any]) -> None:
    """Start the nursery, warm up beside it, fork the workers and wait for them."""
    from autograder.examiner import sandbox

    gc.disable()  # until all is imported
    die_with(settings["parent"])
    fds = settings["fds"]
    packages = [Path(path) for path in settings["packages"]]
    modules = [*WARM, *settings["modules"]]
    nursery = sandbox.start_nursery(
        len(fds), packages, [*modules, *STUDENTS], settings["output_bytes"], sandbox.Level(settings["level"])
    )
    shell = warm_up(modules, settings["output_bytes"])
    sockets = [socket.socket(fileno=fd) for fd in fds]
    children = fork_workers(sockets, nursery.sockets, shell, nursery)
    for pid in children:
        os.waitpid(pid, 0)
    nursery.process.terminate()
    nursery.process.wait()
    shutil.rmtree(nursery.folder, ignore_errors=True)


def warm_up(modules: list[str], output_bytes: int) -> Any:
    """Import what tests import, and do once what is slow the first time. Gives the shell that tests run in."""
    import torch

    from autograder.inside import shell as shells

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    shells.import_all([*modules, "helpers.checks", "autograder.examiner.job", "nh3"])
    torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
    shell = shells.new_shell(output_bytes)
    shells.run_cell(shell, shells.FIRST_ERROR, grab=False)
    shells.ready_to_fork()
    return shell


def fork_workers(sockets: list[socket.socket], nests: list[socket.socket], shell: Any, nursery: Nursery) -> list[int]:
    """A worker for each socket of the front and its line to the nursery, which are closed here; their process ids."""
    children = []
    parent = os.getpid()
    for number, sock in enumerate(sockets):
        pid = os.fork()
        if not pid:
            status = 1
            try:
                for other, (front, nest) in enumerate(zip(sockets, nests, strict=True)):
                    if other != number:
                        front.close()
                        nest.close()
                place = f"{nursery.folder}-tests-{parent}-{number}"
                Worker(sock, nests[number], shell, nursery.level, place).serve()
                status = 0
            finally:
                os._exit(status)
        children.append(pid)
    for sock in [*sockets, *nests]:
        sock.close()
    return children


def die_with(parent: int) -> None:
    """End when the grading process ends, however it ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


@dataclass
class SandboxLine:
    """The connections to one sandbox: to the student's process, and to its init, which ends everything when this one
    is closed.
    """

    control: socket.socket
    lifeline: socket.socket
    group: MemoryGroup | None

    def close(self) -> None:
        self.control.close()
        self.lifeline.close()


Tell = Callable[[dict[str, Any]], None]
Examine = Callable[[SandboxLine, Tell], dict[str, Any]]  # runs in a fork: gives the record


class Worker:
    """Examines one submission after the other. What touches student data runs in a fork of it."""

    def __init__(
        self,
        front: socket.socket,
        nest: socket.socket,
        shell: Any,
        level: Level,
        place: str,
    ) -> None:
        self.front, self.nest, self.shell, self.level = front, nest, shell, level
        self.place = place  # the folder that tests run in
        self.prepared: dict[str, Any] = {}
        self.orphaned = False  # the nursery is gone
        die_with(os.getppid())

    def serve(self) -> None:
        """Until the front has nothing more to do, or nothing can be done here any more: whoever waits is told by the
        end of this process.
        """
        verbs = {"prepare": self.prepare, "examine": self.submission, "try": self.trials}
        while not self.orphaned and (message := receive(self.front)) is not None:
            send(self.front, verbs[message["op"]](message))

    def prepare(self, message: dict[str, Any]) -> dict[str, Any]:
        """Run the set-up of every notebook of an assignment once; examiners are forked from that."""
        from autograder.examiner import tester

        try:
            if os.path.isdir(message["folder"]) and message["folder"] not in sys.path:
                sys.path.insert(0, message["folder"])  # modules that the instructor put beside the notebook
            for name, notebook in message["notebooks"].items():
                made = tester.prepare(self.shell, notebook)
                self.prepared[f"{message['assignment']}/{name}"] = (made, notebook)
        except Exception as error:  # noqa: BLE001  an instructor's set-up cell can raise anything
            return {"error": str(error)}
        return {"ready": True}

    def submission(self, job: dict[str, Any]) -> dict[str, Any]:
        """One submission, again where a process of the student's ended: the student's code would do that each time, a
        kill would not.
        """
        started = time.monotonic()
        known: set[str] = set()
        found: dict[str, Any] = {}
        for _ in range(MOST_ATTEMPTS):
            found = self.examined(job)
            if job.get("known") and ("error" in found or found.get("unsettled")):
                job = {**job, "known": None}
                found = self.examined(job)
            ended = set(found.pop("ended", []))
            if ended <= known:
                break
            known |= ended
        else:
            found = {
                "error": f"the student's process ended each time in another place: {', '.join(sorted(known))}",
                "late": True,
            }
        self.import_for_the_next(found.pop("modules", []))
        if self.orphaned and "error" in found:
            found["pool"] = True
        return {"seconds": time.monotonic() - started, **found}

    def import_for_the_next(self, modules: list[str]) -> None:
        from autograder.inside import shell as shells

        if modules:
            shells.import_all(modules)
            gc.freeze()

    def examined(self, job: dict[str, Any]) -> dict[str, Any]:
        """Tests run in the examiner's own process; where that fails or hangs, once more with tests in one that can be
        ended.
        """
        found = self.attempt(job, lambda line, tell: self.examine(job, line, tell, careful=False))
        if found is None or ("error" in found and not found.get("fault") and not found.get("late")):
            found = self.attempt(job, lambda line, tell: self.examine(job, line, tell, careful=True))
        return found or {"error": "the examiner of this submission had to be ended", "late": True}

    def trials(self, job: dict[str, Any]) -> dict[str, Any]:
        """Variants of answers in one run of a notebook. The front gets each outcome when it is there."""
        found = self.attempt(job, lambda line, tell: self.try_variants(job, line, tell))
        return found or {"error": "the examiner of these variants had to be ended"}

    def attempt(self, job: dict[str, Any], examine: Examine) -> dict[str, Any] | None:
        """The work in a process of its own, with a sandbox of its own, both of which can be ended from here; None
        where they had to be.
        """
        line = self.sandbox(job["rlimits"])
        if isinstance(line, str):
            return {"error": f"no sandbox could be made: {line}", "fault": True}
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(reader)
            self.front.close()
            self.nest.close()
            self.in_fork(lambda tell: examine(line, tell), writer)
        os.close(writer)
        line.control.close()
        found = watched_result(reader, pid, job["limits"], lambda outcome: send(self.front, {"outcome": outcome}))
        os.close(reader)
        line.lifeline.close()
        self.from_nursery()  # everything in the sandbox is gone
        if line.group:
            line.group.remove()
        shutil.rmtree(self.place, ignore_errors=True)
        return found

    def sandbox(self, rlimits: dict[str, Any]) -> SandboxLine | str:
        """A new one, made by the nursery, or the reason why there is none."""
        from autograder.examiner import cgroups, sandbox
        from autograder.examiner.process import pair

        control, theirs = pair()
        lifeline, watched = socket.socketpair()
        order: dict[str, Any] = {"uid": 0, **rlimits}
        if self.level.own_user and os.geteuid() == 0:
            order["uid"] = sandbox.new_user()
        line = SandboxLine(control, lifeline, cgroups.of_submission(rlimits) if self.level.own_user else None)
        order["group"] = line.group.version if line.group else 0
        answer = self.ask_nursery(order, (theirs.fileno(), watched.fileno(), *(line.group.fds if line.group else ())))
        if line.group:
            line.group.close()
        theirs.close()
        watched.close()
        if "error" not in answer:
            return line
        line.close()
        if line.group:
            line.group.remove()
        return str(answer["error"])

    def ask_nursery(self, order: dict[str, Any], fds: tuple[int, ...]) -> dict[str, Any]:
        try:
            socket.send_fds(self.nest, [json.dumps(order).encode()], list(fds))
        except ConnectionError:
            self.orphaned = True
        return self.from_nursery()

    def from_nursery(self) -> dict[str, Any]:
        """What it says next."""
        data = b""
        with contextlib.suppress(ConnectionError):
            data = self.nest.recv(65536)
        self.orphaned = self.orphaned or not data
        return json.loads(data) if data else {"error": "the process that starts sandboxes was ended"}

    # ---- in the fork -----------------------------------------------------------------------------------------------

    def examine(self, job: dict[str, Any], line: SandboxLine, tell: Tell, careful: bool) -> dict[str, Any]:
        from autograder.examiner import job as jobs

        prepared, notebook = self.prepared[job["prepared"]]
        begin = None if careful else lambda index: tell({"test": index})
        before = len(sys.modules)
        about = {**job, **self.about(line, tell)}
        record = jobs.grade(about, notebook, prepared, self.shell, line.control, line.lifeline, begin)
        if record is None:
            return {"unsettled": True}
        return {**record.to_json(), "modules": installed(since(before))}

    def about(self, line: SandboxLine, tell: Tell) -> dict[str, Any]:
        """What the examiner of a submission knows beside its job."""
        alive = lambda: tell({"alive": True})  # noqa: E731
        return {"place": self.place, "group": line.group is not None, "alive": alive}

    def try_variants(self, job: dict[str, Any], line: SandboxLine, tell: Tell) -> dict[str, Any]:
        from autograder.examiner import variants

        prepared, _ = self.prepared[job["prepared"]]
        about = {**job, **self.about(line, tell)}
        for outcome in variants.tried(about, prepared, self.shell, line.control, line.lifeline):
            tell({"outcome": outcome})
        return {"done": True}

    def in_fork(self, work: Callable[[Tell], dict[str, Any]], writer: int) -> None:
        """Do it, say what came of it, and end this process."""
        from autograder.examiner.deadline import MachineFault

        def tell(message: dict[str, Any]) -> None:
            data = json.dumps(message, default=str).encode() + b"\n"
            while data:
                data = data[os.write(writer, data) :]

        status = 1
        try:
            die_with(os.getppid())
            os.makedirs(self.place, mode=0o700, exist_ok=True)
            tell({"record": work(tell)})
            status = 0
        except MachineFault as fault:
            tell({"record": {"error": str(fault), "fault": True}})
        except BaseException as error:  # noqa: BLE001  the record says so; one student never stops the class
            import traceback

            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"the examiner failed: {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
            tell({"record": {"error": text[:2000]}})
        finally:
            os._exit(status)


def since(count: int) -> list[str]:
    """Modules that came after the first so many, oldest first, without a look at the others: that would copy their
    pages.
    """
    return list(islice(reversed(sys.modules), max(0, len(sys.modules) - count)))[::-1]


def installed(names: Iterable[str]) -> list[str]:
    """Those that are modules of Python or of an installed package: what a test imported, every next test will import
    again.
    """
    found = []
    for name in names:
        origin = getattr(getattr(sys.modules[name], "__spec__", None), "origin", None) or ""
        if origin.startswith((sys.prefix, sys.base_prefix)):
            found.append(name)
    return found


def watched_result(reader: int, pid: int, limits: dict[str, Any], on_outcome: Tell) -> dict[str, Any] | None:
    """What the examiner of a submission says at its end. It ends here.

    None where a test, or whatever the student's code gave back, ended it or kept it silent for longer than its work
    can take.
    """
    from autograder.examiner.deadline import KernelMeter, LoadAwareDeadline, MachineFault, line_from
    from autograder.inside.wire import DeadlinePassed

    meter = KernelMeter((pid,), limits["test_seconds"])
    meter.main = pid
    seconds, parts, in_test, over = SILENT_SECONDS, [b""], False, False
    found: dict[str, Any] | None = None
    try:
        while found is None and (chunk := line_from(reader, LoadAwareDeadline(meter, seconds))):
            parts.append(chunk)
            if b"\n" not in chunk:
                continue
            *lines, rest = b"".join(parts).split(b"\n")
            parts = [rest]
            for message in map(json.loads, lines):
                found = message.get("record", found)
                in_test = in_test or "test" in message
                if "outcome" in message:
                    on_outcome(message["outcome"])
            seconds = limits["test_seconds"] + SPARE_TEST_SECONDS if in_test else SILENT_SECONDS
        over = found is None
    except DeadlinePassed:
        found = None if in_test else {"error": f"it was silent for {seconds:g} s", "late": True}
    except MachineFault as fault:
        found = {"error": f"the process that examines it: {fault}", "fault": True}
    if not over:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if over and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return {"error": "the process that examined it was killed from outside", "fault": True}
    return found


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
