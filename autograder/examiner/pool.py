"""A pool of workers: one warm process starts the nursery, then forks a worker per socket. Each worker examines one submission at a time.

    front ── exec ── pool ── fork ── worker ── fork ── examiner of one submission and its tests
                       └──── exec (bubblewrap) ── nursery ── …the student's processes

Started by `Pool` in the process that grades (`course grade`, or nbgrader through the preprocessor): that one never runs student code.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from autograder.course import CourseError, forget_the_dead

HOME = Path(__file__).resolve().parents[2]  # the folder that the package lies in
SIZE = struct.Struct("<Q")
SAME_AS_STUDENT = ["NBGRADER_EXECUTION", "MPLBACKEND", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONHASHSEED"]
SAME_AS_STUDENT += ["HF_HUB_OFFLINE", "PYTHONWARNINGS"]
SILENT_SECONDS = 120.0  # of an examiner that works on a submission, before it is given up
SPARE_TEST_SECONDS = 10.0  # beyond a test's own limit
MOST_ATTEMPTS = 3  # at a submission in which a process ended, nobody knows why

# What every notebook needs; the rest is what its own cells import (see notebook.modules). The first optimiser and the first operation
# under a counter import torch._dynamo, which takes a second: better once, before students' processes are made. Tests seldom need it;
# where they do, a worker learns so from its first submission.
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


class PoolEnded(CourseError, ConnectionError):
    """The other side of a socket is gone."""


def send(sock: socket.socket, message: Any) -> None:
    data = json.dumps(message).encode()
    try:
        sock.sendall(SIZE.pack(len(data)) + data)
    except ConnectionError:
        raise PoolEnded(
            "the processes that examine submissions have ended: were they killed, or did memory run out? "
            "What was graded is stored: run this again, perhaps with fewer --workers"
        ) from None


def receive(sock: socket.socket) -> Any:
    """The next message, or None where the other side is gone."""
    head = exactly(sock, SIZE.size)
    if head is None:
        return None
    body = exactly(sock, SIZE.unpack(head)[0])
    return None if body is None else json.loads(body)


def exactly(sock: socket.socket, size: int) -> bytes | None:
    parts, missing = [], size
    while missing:
        try:
            data = sock.recv(min(missing, 1 << 20))
        except ConnectionError:
            return None
        if not data:
            return None
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)


# ---- the grading process's side --------------------------------------------------------------------------------------------


class Pool:
    """Workers, seen from the process that grades."""

    def __init__(self, workers: int, packages: list[Path], modules: list[str], output_bytes: int, unsafe: bool = False) -> None:
        from autograder.examiner import sandbox

        if not unsafe and (reason := sandbox.why_not()) is not None:
            raise CourseError(f"student code cannot be sandboxed here: {reason}. `--unsafe` grades without a sandbox, with your rights")
        pairs = [socket.socketpair() for _ in range(workers)]
        fds = [theirs.fileno() for _, theirs in pairs]
        settings = {
            "fds": fds,
            "packages": [str(path) for path in packages],
            "modules": modules,
            "output_bytes": output_bytes,
            "unsafe": unsafe,
            "parent": os.getpid(),
        }
        environment = {**os.environ, **{name: sandbox.ENVIRONMENT[name] for name in SAME_AS_STUDENT}}
        self.process = subprocess.Popen(  # -P and a folder of ours: no file of a submission is ever imported by it
            [sys.executable, "-P", "-m", "autograder.examiner.pool", json.dumps(settings)],
            pass_fds=fds,
            env=environment,
            cwd=HOME,
            process_group=0,  # Ctrl-C is for the process that grades, which ends this one
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        for _, theirs in pairs:
            theirs.close()
        self.sockets = [ours for ours, _ in pairs]

    def close(self, at_once: bool = False) -> None:
        """End the pool: when its workers are done, or at once."""
        for sock in self.sockets:
            sock.close()
        if not at_once:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            forget_the_dead(Path(tempfile.gettempdir()), "course-")

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: Any, *unused: Any) -> None:
        self.close(at_once=kind is not None)


# ---- the pool --------------------------------------------------------------------------------------------------------------


def main(settings: dict[str, Any]) -> None:
    """Start the nursery, warm up beside it, fork the workers and wait for them."""
    from autograder.examiner import sandbox

    gc.disable()  # until all is imported
    die_with(settings["parent"])
    fds = settings["fds"]
    packages = [Path(path) for path in settings["packages"]]
    modules = [*WARM, *settings["modules"]]
    nursery = sandbox.start_nursery(len(fds), packages, [*modules, *STUDENTS], settings["output_bytes"], settings["unsafe"])
    import torch

    from autograder.examiner import recorder

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    recorder.import_all([*modules, "helpers.checks", "autograder.examiner.submission", "nh3"])
    torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
    shell = recorder.new_shell(settings["output_bytes"])
    recorder.run_cell(shell, recorder.FIRST_ERROR, grab=False)
    recorder.ready_to_fork()
    children = []
    sockets = [socket.socket(fileno=fd) for fd in fds]
    for number, sock in enumerate(sockets):
        pid = os.fork()
        if not pid:
            status = 1
            try:
                for other, (front, nest) in enumerate(zip(sockets, nursery.sockets, strict=True)):
                    if other != number:
                        front.close()
                        nest.close()
                Worker(number, sock, nursery.sockets[number], shell, settings["unsafe"], len(fds), nursery.folder).serve()
                status = 0
            finally:
                os._exit(status)
        children.append(pid)
    for sock in [*sockets, *nursery.sockets]:
        sock.close()
    for pid in children:
        os.waitpid(pid, 0)
    nursery.process.terminate()
    nursery.process.wait()
    shutil.rmtree(nursery.folder, ignore_errors=True)


def die_with(parent: int) -> None:
    """End when the grading process ends, however it ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


class Worker:
    """Examines one submission after the other. What touches student data runs in a fork of it."""

    def __init__(self, number: int, front: socket.socket, nest: socket.socket, shell: Any, unsafe: bool, workers: int, folder: str) -> None:
        self.number, self.front, self.nest, self.shell, self.unsafe, self.workers = number, front, nest, shell, unsafe, workers
        self.place = f"{folder}-tests-{number}"  # the folder that tests run in
        self.prepared: dict[str, Any] = {}
        self.count = 0
        self.orphaned = False  # the nursery is gone
        die_with(os.getppid())

    def serve(self) -> None:
        """Until the front has nothing more to do, or nothing can be done here any more: whoever waits is told by the end of this process."""
        while not self.orphaned and (message := receive(self.front)) is not None:
            if message["op"] == "prepare":
                send(self.front, self.prepare(message))
            else:
                send(self.front, self.submission(message))

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
        """One submission, again where a process of the student's ended: the student's code would do that each time, a kill would not."""
        from autograder.examiner import recorder

        started = time.monotonic()
        known: set[str] = set()
        found: dict[str, Any] = {}
        for _ in range(MOST_ATTEMPTS):
            found = self.examined(job)
            ended = set(found.pop("ended", []))
            if ended <= known:
                break
            known |= ended
        else:
            found = {"error": f"the student's process ended each time in another place: {', '.join(sorted(known))}", "late": True}
        if new := found.pop("modules", []):
            recorder.import_all(new)
            gc.freeze()
        return {"job": job["job"], "seconds": time.monotonic() - started, **found}

    def examined(self, job: dict[str, Any]) -> dict[str, Any]:
        """Tests run in the examiner's own process; where that fails or hangs, once more with tests in one that can be ended."""
        found = self.attempt(job, careful=False)
        if found is None or ("error" in found and not found.get("fault") and not found.get("late")):
            found = self.attempt(job, careful=True) or {"error": "the examiner of this submission had to be ended", "late": True}
        return found

    def attempt(self, job: dict[str, Any], careful: bool) -> dict[str, Any] | None:
        """The submission in a process of its own, which can be ended from here; None where it had to be."""
        self.count += 1
        from autograder.examiner import cgroups
        from autograder.examiner.examine import pair

        control, theirs = pair()
        lifeline, watched = socket.socketpair()
        order: dict[str, Any] = {"uid": 0, **job["rlimits"]}
        if not self.unsafe and os.geteuid() == 0:
            from autograder.examiner import sandbox

            order["uid"] = sandbox.FIRST_UID + self.number + self.workers * (self.count % 10_000)
        group = None if self.unsafe else cgroups.of_submission(job["rlimits"])
        order["group"] = group.version if group else 0
        answer = self.ask_nursery(order, (theirs.fileno(), watched.fileno(), *(group.fds if group else ())))
        if group:
            group.close()
        theirs.close()
        watched.close()
        if "error" in answer:
            control.close()
            lifeline.close()
            if group:
                group.remove()
            return {"error": f"no sandbox could be made: {answer['error']}", "fault": True}
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(reader)
            self.front.close()
            self.nest.close()
            self.examine(job, control, lifeline, writer, careful)
        os.close(writer)
        control.close()
        found = watched_result(reader, pid, job["limits"])
        os.close(reader)
        lifeline.close()
        self.from_nursery()  # everything in the sandbox is gone
        if group:
            group.remove()
        shutil.rmtree(self.place, ignore_errors=True)
        return found

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

    def examine(self, job: dict[str, Any], control: socket.socket, lifeline: socket.socket, writer: int, careful: bool) -> None:
        from autograder.examiner import submission
        from autograder.examiner.deadline import MachineFault

        def tell(message: dict[str, Any]) -> None:
            data = json.dumps(message, default=str).encode() + b"\n"
            while data:
                data = data[os.write(writer, data) :]

        status = 1
        try:
            die_with(os.getppid())
            prepared, notebook = self.prepared[job["prepared"]]
            begin = None if careful else lambda index: tell({"test": index})
            before = len(sys.modules)
            os.makedirs(self.place, mode=0o700, exist_ok=True)
            about = {**job, "place": self.place, "alive": lambda: tell({"alive": True})}
            record = submission.grade(about, notebook, prepared, self.shell, control, lifeline, begin)
            tell({"record": {**record, "modules": installed(since(before))}})
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
    """Modules that came after the first so many, oldest first, without a look at the others: that would copy their pages."""
    return list(islice(reversed(sys.modules), max(0, len(sys.modules) - count)))[::-1]


def installed(names: Iterable[str]) -> list[str]:
    """Those that are modules of Python or of an installed package: what a test imported, every next test will import again."""
    found = []
    for name in names:
        origin = getattr(getattr(sys.modules[name], "__spec__", None), "origin", None) or ""
        if origin.startswith((sys.prefix, sys.base_prefix)):
            found.append(name)
    return found


def watched_result(reader: int, pid: int, limits: dict[str, Any]) -> dict[str, Any] | None:
    """What the examiner of a submission says at its end. It ends here.

    None where a test, or whatever the student's code gave back, ended it or kept it silent for longer than its work can take.
    """
    from autograder.examiner.deadline import KernelMeter, LoadAwareDeadline, MachineFault, line_from
    from autograder.examiner.wire import Late

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
            seconds = limits["test_seconds"] + SPARE_TEST_SECONDS if in_test else SILENT_SECONDS
        over = found is None
    except Late:
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
