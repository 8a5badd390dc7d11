"""One submission: run the student's cells, test the clones, and write down what happened."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from autograder.examiner import recorder, tester, wire
from autograder.examiner.bridge import processor_seconds, usage
from autograder.examiner.deadline import KernelMeter, LoadAwareDeadline, MachineFault, line_from
from autograder.examiner.page import harmless
from autograder.examiner.pool import die_with
from autograder.examiner.sandbox import Limits
from autograder.examiner.tester import Prepared, Test

START_SECONDS = 60.0  # for a process of ours to say that it is there
GRACE = 2.0  # after an interrupt, before a kill
INIT_SECONDS = 30.0  # for init to answer: it has little to do, but perhaps no processor to do it with
MOST_RESTORES = 25
MOST_OUTPUTS = 200
MOST_ATTEMPTS = 60  # that are kept for the report
NOTEBOOK_OUTPUTS = 20  # times what one cell may put out
NOTEBOOK_TAGS = 100_000  # whoever shows the page builds a tree of them
RICH = ("text/html", "text/markdown")
KEPT = ("text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/jpeg")


@dataclass
class Process:
    """The student's process or a clone of it: a socket, and its process id as the kernel gives it."""

    sock: socket.socket
    pid: int
    handle: int
    asked: int = 0

    def signal(self, number: int) -> None:
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self.handle, number)

    def dead(self) -> bool:
        return bool(select.select([self.handle], [], [], 0)[0])

    def close(self) -> None:
        self.sock.close()
        with contextlib.suppress(OSError):
            os.close(self.handle)


@dataclass
class Result:
    """What was seen while a notebook ran."""

    outputs: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    tamper: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)  # cells in which the student's process ended, nobody here knows why
    peak: int = 0
    cpu: float = 0.0


class Gone(Exception):
    """The student's process is not there any more; the text says why."""


class Ended(Gone):
    """It ended, by its own doing or somebody else's."""


class Stale(Gone):
    """An answer to an earlier request: the cell before had answered for the grader, and is to blame."""


def reply(process: Process, head: dict[str, Any], value: Any, deadline: wire.Deadline, fds: tuple[int, ...] = ()) -> Any:
    """One request to the student's process outside tests: plain data only."""
    process.asked += 1
    try:
        wire.send(process.sock, wire.pack({**head, "n": process.asked}, value, refuse), deadline, fds)
        found, answer = simple(wire.receive(process.sock, deadline)[0])
    except wire.Closed:
        raise Ended("it ended the Python process (a crash, `os._exit`, a kill, or out of memory)") from None
    except wire.Crowd as error:
        kind = Stale if number_of(error.first) < process.asked else Gone
        raise kind(f"it broke the connection: it sent {error}") from None
    except wire.Violation as error:
        raise Gone(f"it broke the connection: it sent {error}") from None
    if type(found.get("n")) is int and found["n"] < process.asked:
        raise Stale("it broke the connection: it sent an answer of its own")
    if found.get("op") != "done" or found.get("n") != process.asked:
        raise Gone("it broke the connection to the grader")
    return answer


def number_of(text: bytes) -> float:
    """The request that a message answers; one that names none is nobody's but the present one's."""
    try:
        number = json.loads(text).get("n")
    except (ValueError, RecursionError, AttributeError):
        return math.inf
    return number if type(number) is int else math.inf


def refuse(value: Any) -> Any:
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def simple(text: bytes) -> tuple[dict[str, Any], Any]:
    """Head and value of a message outside tests: nothing, a text, or a list of texts. Nothing is built from anything else."""
    try:
        head = json.loads(text)
    except (ValueError, RecursionError):
        raise wire.Violation("a message that is not JSON") from None
    value = head.pop("value", None) if type(head) is dict else 0
    if value is not None and type(value) is not str and not (type(value) is list and all(type(item) is str for item in value)):
        raise wire.Violation("something that is no answer")
    return head, value


def pair() -> tuple[socket.socket, socket.socket]:
    """Two ends of a connection; on ours the kernel notes who sends."""
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ours, theirs


def ready(sock: socket.socket, deadline: wire.Deadline) -> Process:
    """Wait for a new process to say that it is there, and take its id from the kernel, not from its words."""
    try:
        sock.settimeout(None)
        while not select.select([sock], [], [], deadline.left())[0]:
            pass
        data, ancillary, _, _ = sock.recvmsg(wire.FIRST, socket.CMSG_SPACE(struct.calcsize("3i")))
        if not data:
            raise Gone("the notebook's process could not be copied")
        pid = next(struct.unpack("3i", body[:12])[0] for level, kind, body in ancillary if kind == socket.SCM_CREDENTIALS)
        wire.receive(sock, deadline, data)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        return Process(sock, pid, os.pidfd_open(pid))
    except (OSError, StopIteration, wire.Closed, wire.Violation, wire.Late) as error:
        sock.close()
        raise Gone(f"the notebook's process could not be copied ({type(error).__name__})") from None


class Examination:
    """Drives the student's process through the cells of a notebook, then the tests."""

    def __init__(
        self,
        shell: recorder.Shell,
        prepared: Prepared,
        limits: Limits,
        files: list[tuple[str, bytes]],
        lifeline: socket.socket,
        begin: Callable[[int], None] | None = None,
    ) -> None:
        """With `begin`, tests run in this process, and it is told of each before it starts; without, in one that can be ended."""
        self.shell, self.prepared, self.limits, self.files, self.lifeline = shell, prepared, limits, files, lifeline
        self.result = Result()
        self.begin = begin
        self.student: Process | None = None
        self.clones: dict[int, Process] = {}
        self.broken: set[int] = set()
        self.restores = 0
        self.last = -1  # the cell that ran last
        self.written = self.tags = 0
        self.names: dict[int, str] = {}
        self.given: set[int] = set()  # cells that are as the instructor wrote them
        self.attempts: list[str] = []
        self.talking = False  # with init
        self.memory = False  # init has ended a process for the memory it used
        self.meter = KernelMeter((os.getpid(),), min(limits.cell_seconds, limits.test_seconds, limits.submission_seconds))
        self.meter.stopped_inside = self.stopped_inside
        self.budget = LoadAwareDeadline(self.meter, limits.submission_seconds)

    def run(self, control: socket.socket, cells: list[tuple[int, str, str, bool]]) -> Result:
        """`cells` are (index, name, source, is it a test), code cells only, in order."""
        self.names = {index: name or f"cell {index + 1}" for index, name, _, _ in cells}
        try:
            self.student = ready(control, LoadAwareDeadline(self.meter, START_SECONDS))
            self.meter.follow((os.getpid(), parent_of(self.student.pid)))
            self.budget = LoadAwareDeadline(self.meter, self.limits.submission_seconds)
            if self.files:
                left_out = reply(self.student, {"op": "files"}, self.files, self.deadline(self.student, START_SECONDS))
                if type(left_out) is list and left_out:
                    self.result.events.append(f"files that did not fit were left out: {', '.join(map(str, left_out))[:300]}")
        except (Gone, wire.Late) as reason:  # no line of the student's has run: it is the machine's fault, and no reason for a zero
            raise MachineFault(f"no process for the student could be started here: {reason}") from None
        self.run_cells(cells)
        self.finish()
        self.run_tests(cells)
        if not self.ask_init(b"R"):  # nobody inside can end it; if it is gone, everything in there was ended from outside
            raise MachineFault("the sandbox of this submission was ended from outside")
        return self.result

    def deadline(self, process: Process, seconds: float) -> LoadAwareDeadline:
        """So much time for what this process does next."""
        self.meter.main = process.pid
        return LoadAwareDeadline(self.meter, seconds)

    # ---- the student's cells ------------------------------------------------------------------------------------------

    def run_cells(self, cells: list[tuple[int, str, str, bool]]) -> None:
        for place, (index, _, source, is_test) in enumerate(cells):
            if self.budget.remaining() <= 0:
                self.out_of_time(cells[place:])
                return
            if self.student is None and not self.restore(cells, place):
                self.lost_for_good(cells[place:])
                return
            if is_test:
                if not self.clone(index) and self.restore(cells, place):
                    self.clone(index)
                continue
            started = time.monotonic()
            if not self.run_one(index, source) and index not in self.broken and self.restore(cells, place):
                self.run_one(index, source)
            self.result.seconds[index] = time.monotonic() - started

    def run_one(self, index: int, source: str) -> bool:
        """One cell of the student; False where the process had to be ended, for what this cell or the one before did."""
        try:
            self.result.outputs[index] = self.cell(index, source)
        except Gone as reason:
            self.break_off(self.last if isinstance(reason, Stale) else index, reason)
            return False
        if self.student is not None and self.student.dead():
            self.break_off(index, Ended("it ended the Python process"))
            return False
        self.last = index
        return True

    def cell(self, index: int, source: str) -> list[dict[str, Any]]:
        """Run one cell; interrupt it at its limit, and end the process if that does not help."""
        assert self.student is not None
        process, seconds = self.student, min(self.limits.cell_seconds, max(0.1, self.budget.remaining()))
        deadline = self.deadline(process, seconds)
        try:
            return self.outputs(index, reply(process, {"op": "cell"}, source, deadline))
        except wire.Late:
            how = deadline.how()
            process.signal(signal.SIGCONT)
            process.signal(signal.SIGINT)
        try:
            found, answer = simple(wire.receive(process.sock, self.deadline(process, GRACE))[0])
            if found.get("op") == "done":
                outputs = self.outputs(index, answer)
                outputs.append(error_output("TimeoutError", f"the cell was interrupted after {seconds:g} s"))
                self.result.events.append(f"a cell was interrupted after {how.removeprefix('within ')}")
                return outputs
        except (wire.Late, wire.Closed, wire.Violation):
            pass
        raise Gone(f"it did not finish {how}")

    def outputs(self, index: int, answer: Any) -> list[dict[str, Any]]:
        """What a cell showed; what it tried is kept for the report."""
        most = self.limits.output_kb << 10
        text, *notes = answer if type(answer) is list and answer else [answer]
        found = checked_outputs(text, most)
        self.note(index, notes)
        self.written += len(text)
        if self.written > NOTEBOOK_OUTPUTS * most and found:
            return [{"output_type": "stream", "name": "stderr", "text": "… more output than is kept of one notebook"}]
        for data in (output["data"] for output in found if "data" in output):
            self.tags += sum(text.count("<") for kind, text in data.items() if kind in RICH)
            if self.tags > NOTEBOOK_TAGS and "text/plain" in data:
                for kind in RICH:
                    data.pop(kind, None)
        return found

    def note(self, index: int, notes: list[str]) -> None:
        """Attempts that the student's process reports. What a given cell does itself, the student did not write."""
        for text in notes:
            by, _, what = text.partition(" ")
            line = f"attempt: {clean(what[:300])}"
            if not (by == "cell" and index in self.given) and line not in self.attempts and len(self.attempts) < MOST_ATTEMPTS:
                self.attempts.append(line)

    def break_off(self, index: int, why: Gone) -> None:
        """This cell ended the student's process: on the record, and never run again."""
        reason = str(why)
        if self.out_of_memory():
            reason = f"it used more than {self.limits.memory_mb} MB of memory"
        elif isinstance(why, Ended):
            self.result.ended.append(self.names[index])
        self.broken.add(index)
        self.result.events.append(f"{self.names[index]}: {reason}")
        self.result.outputs[index] = [*self.result.outputs.get(index, []), error_output("Stopped", f"this cell was stopped: {reason}")]
        if self.student is not None:
            self.account(self.student)
            self.student.signal(signal.SIGKILL)
            self.student.close()
            self.student = None

    def restore(self, cells: list[tuple[int, str, str, bool]], place: int) -> bool:
        """A new process with the state before the cell at `place`: from the last clone that lives, replaying what came after it."""
        while self.restores < MOST_RESTORES and self.budget.remaining() > 0:
            self.restores += 1
            start = max((index for index, clone in self.clones.items() if index < cells[place][0] and not clone.dead()), default=-1)
            ours, theirs = pair()
            try:
                if start < 0:  # none: the state before the first cell, which init keeps
                    self.ask_init(b"N", theirs.fileno())
                else:
                    order = wire.pack({"op": "spawn"}, None, refuse)
                    clone = self.clones[start]
                    wire.send(clone.sock, order, self.deadline(clone, GRACE), (theirs.fileno(),))
                theirs.close()
                self.student = ready(ours, LoadAwareDeadline(self.meter, self.start_seconds()))
                if start >= 0:
                    wire.receive(self.clones[start].sock, self.deadline(self.clones[start], GRACE))
            except (Gone, wire.Closed, wire.Late, wire.Violation):
                theirs.close()
                if start < 0:
                    return False
                self.drop(start)
                continue
            for index, _, source, is_test in cells[:place]:
                if index <= start or is_test or index in self.broken:
                    continue
                before = self.result.outputs.get(index)
                if not self.run_one(index, source):
                    break
                if before is not None:
                    self.result.outputs[index] = before  # what it showed the first time
            if self.student is not None:
                return True
        return False

    def drop(self, index: int) -> None:
        clone = self.clones.pop(index)
        clone.signal(signal.SIGKILL)
        clone.close()

    def clone(self, index: int) -> bool:
        """A copy of the student's process as it is at this test cell. It waits until every cell of the student has run.

        False where the process had to be ended, and the copy could be made of a restored one.
        """
        for attempt in (1, 2):
            if self.student is None:
                break
            ours, theirs = pair()
            try:
                deadline = self.deadline(self.student, self.limits.cell_seconds)
                problem = reply(self.student, {"op": "clone"}, None, deadline, (theirs.fileno(),))
                theirs.close()
                if problem is None:
                    self.clones[index] = ready(ours, LoadAwareDeadline(self.meter, self.start_seconds()))
                    self.result.lost.pop(index, None)
                    return True
            except Stale as reason:
                theirs.close()
                ours.close()
                self.break_off(self.last, reason)
                break
            except (Gone, wire.Late) as reason:
                theirs.close()
                problem = str(reason) or "it did not answer"
                if isinstance(reason, Ended) and not self.out_of_memory():
                    self.result.ended.append(self.names.get(index, ""))
                self.result.events.append(f"before {self.names.get(index, 'the first cell')}: {problem}")
                self.student.signal(signal.SIGKILL)
                self.student.close()
                self.student = None
                break
            ours.close()
            if attempt == 1:
                self.sweep()
        self.result.lost[index] = "the state of the notebook before this test could not be kept"
        return self.student is not None

    def start_seconds(self) -> float:
        """A clone is a copy of a process that runs: it says so at once, or something in it keeps it from doing so."""
        return min(max(5.0, self.limits.cell_seconds), max(1.0, self.budget.remaining()))

    def sweep(self, dying: int = 0) -> None:
        """End processes that a cell left behind: they keep the student's process from being copied, or would run beside the tests."""
        keep = {process.pid for process in [*self.clones.values(), *([self.student] if self.student else [])]}
        try:
            ours = os.readlink(f"/proc/{next(iter(keep))}/ns/pid")
            if ours == os.readlink("/proc/self/ns/pid"):  # no sandbox, no namespace of the student's own: everybody else is in there
                return
        except (OSError, StopIteration):
            return
        ended: set[int] = set()
        quiet = 0
        for _ in range(100):
            strays = [pid for pid in strangers(ours) if pid not in keep and pid != dying and running(pid)]
            fresh = [pid for pid in strays if pid not in ended]
            for number in (signal.SIGSTOP,) if fresh else (signal.SIGKILL,):  # all of them stand still before the first one dies
                for pid in strays:
                    with contextlib.suppress(OSError):
                        os.kill(pid, number)
            ended.update(fresh)
            quiet = 0 if strays else quiet + 1
            if quiet == (3 if ended else 1):  # one that was just being made is not seen at once
                break
            time.sleep(0.002 if ended else 0)
        if ended:
            self.result.events.append(f"{len(ended)} processes that a cell left behind were ended")
            self.ask_init(b"R")

    def out_of_time(self, cells: list[tuple[int, str, str, bool]]) -> None:
        self.result.events.append(f"the submission used its {self.limits.submission_seconds:g} s")
        for index, _, _, is_test in cells:
            if is_test:
                self.result.lost[index] = f"the notebook did not get here within {self.limits.submission_seconds:g} s"

    def lost_for_good(self, cells: list[tuple[int, str, str, bool]]) -> None:
        self.result.events.append("the notebook's process could not be restored")
        for index, _, _, is_test in cells:
            if is_test:
                self.result.lost[index] = "your code ended the Python process, and its state could not be restored"

    def account(self, process: Process) -> None:
        cpu, peak = usage(process.pid)
        self.result.cpu += cpu
        self.result.peak = max(self.result.peak, peak)

    def finish(self) -> None:
        """Ask what the notebook changed around itself, then end its process: nothing of it runs beside the tests."""
        if self.student is None:
            self.result.tamper += self.attempts
            return
        self.account(self.student)
        try:
            found = reply(self.student, {"op": "end"}, None, self.deadline(self.student, 5.0))
            if type(found) is list:
                self.result.tamper += [clean(text[:300]) for text in found if type(text) is str][:60]
        except (Gone, wire.Late):
            self.result.events.append("the notebook's process did not say what it changed")
        self.result.tamper += self.attempts
        self.student.signal(signal.SIGKILL)
        self.student.close()
        dying, self.student = self.student.pid, None
        self.sweep(dying)

    # ---- the tests --------------------------------------------------------------------------------------------------------

    def run_tests(self, cells: list[tuple[int, str, str, bool]]) -> None:
        tests: list[Test] = []
        for place, (index, _, source, is_test) in enumerate(cells):
            if not is_test:
                continue
            before = [text for _, _, text, other in cells[:place] if not other]
            clone = self.clones.get(index)
            reason = self.result.lost.get(index, "")
            test = Test(
                index,
                source,
                self.limits.test_seconds,
                self.limits.cell_seconds,
                clone.sock if clone else None,
                clone.pid if clone else 0,
                clone.handle if clone else -1,
                any("BEGIN HIDDEN TESTS" in earlier.source for earlier in tests),
                reason,
                before,
                partial(self.started, index),
            )
            tests.append(test)
        self.ask_init(b"S")
        if self.begin is None:
            while tests:
                tests = self.run_some(tests)
        else:
            tester.limit_memory(self.most_memory())
            for test in tests:
                self.begin(test.index)
                self.take(tester.run_test(self.shell, self.prepared, test, self.budget))
                self.clean_scratch()
        for index in list(self.clones):
            self.drop(index)
        if self.budget.remaining() <= 0 and not any(text.startswith("the submission used") for text in self.result.events):
            self.result.events.append(f"the submission used its {self.limits.submission_seconds:g} s")

    def clean_scratch(self) -> None:
        """What one test left behind, files or processes, is gone before the next: it may have seen hidden inputs."""
        self.ask_init(b"C")

    def ask_init(self, order: bytes, *fds: int, size: int = 0) -> bytes:
        """Its answer, without a letter in front of so many bytes; nothing where it does not answer."""
        if self.talking:  # a timer asks in the middle of another question
            return b""
        self.talking = True
        try:
            self.lifeline.settimeout(INIT_SECONDS)
            socket.send_fds(self.lifeline, [order], list(fds)) if fds else self.lifeline.sendall(order)
            while (answer := self.lifeline.recv(1)) and answer != order.lower():
                self.memory = self.memory or answer == b"M"
                if answer == b"F":  # within its limit, but the machine had nothing left for anybody
                    raise MachineFault("the machine had too little memory left, and the student's process was ended for that")
            return answer and answer + (self.lifeline.recv(size, socket.MSG_WAITALL) if size else b"")
        except OSError:
            return b""
        finally:
            self.talking = False

    def out_of_memory(self) -> bool:
        """Has a process been ended for its memory since this was asked last? Init is asked: the kernel may have done so a moment ago."""
        self.ask_init(b"M")
        found, self.memory = self.memory, False
        return found

    def stopped_inside(self) -> bool:
        """Did anything in the sandbox send a signal that stops processes?"""
        return self.ask_init(b"K", size=1) != b"k\0"

    def started(self, own: int) -> tuple[int, float]:
        """How many processes and threads there have been in the sandbox, and the processor time of all clones but the one of this test."""
        answer = self.ask_init(b"P", size=4)
        count = int.from_bytes(answer[1:], "little") if answer else -1
        return count, sum(processor_seconds(clone.pid) for index, clone in self.clones.items() if index != own)

    def most_memory(self) -> int:
        """For tests: what student code sends back is compared here, and must not be able to use up the machine."""
        return (2 * self.limits.memory_mb + 1024) << 20

    def run_some(self, tests: list[Test]) -> list[Test]:
        """Run tests in one process until it ends or has to be ended; gives those that are still to run."""
        reader, writer = os.pipe()
        examiner, pid = os.getpid(), os.fork()
        if not pid:
            os.close(reader)
            die_with(examiner)
            self.meter.follow((os.getpid(), *self.meter.roots[1:]))
            tester.run_tests(self.shell, self.prepared, tests, writer, self.most_memory(), self.clean_scratch, self.budget)
        os.close(writer)
        left, current, buffer, silent = list(tests), -1, b"", False
        meter = KernelMeter((pid,), self.limits.test_seconds)
        meter.main, meter.alive = pid, self.meter.alive
        while True:
            try:
                chunk = line_from(reader, LoadAwareDeadline(meter, self.limits.test_seconds + 5 * GRACE))
            except wire.Late:
                silent = True
                break
            if not chunk:
                break
            self.meter.look()
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                message = json.loads(line)
                if "begin" in message:
                    current = message["begin"]
                elif "fault" in message:
                    raise MachineFault(message["fault"])
                elif "index" in message:
                    self.take(message)
                    left = [test for test in left if test.index != message["index"]]
                    current = -1
        if silent:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        os.close(reader)
        if not silent and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            raise MachineFault("the process that ran the tests was killed from outside")
        if current >= 0 or len(left) == len(tests):  # it stopped inside a test: that one is lost, the others go on
            stuck = current if current >= 0 else left[0].index
            self.take(
                {"index": stuck, "outputs": [], "lost": "the test could not be completed with what your code gave back", "seconds": 0.0}
            )
            left = [test for test in left if test.index != stuck]
        return left

    def take(self, message: dict[str, Any]) -> None:
        index = message["index"]
        self.result.outputs[index] = message["outputs"]
        self.result.seconds[index] = message["seconds"]
        if message["lost"]:
            self.result.lost[index] = message["lost"]
        if message.get("ended") and not self.out_of_memory():
            self.result.ended.append(self.names[index])
        if index in self.clones:
            self.drop(index)


def parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def running(pid: int) -> bool:
    """Is this process still there, and more than a line in the table of processes?"""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


def strangers(namespace: str) -> list[int]:
    """Processes in this process namespace, which must not be the examiner's own, without its init."""
    if namespace == os.readlink("/proc/self/ns/pid"):
        raise ValueError("the examiner's own processes are no strangers")
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{name}/ns/pid") != namespace:
                    continue
                with open(f"/proc/{name}/status") as file:
                    inner = next((line.split()[-1] for line in file if line.startswith("NSpid:")), "1")
                if inner != "1":
                    found.append(int(name))
    return found


def error_output(name: str, value: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": name, "evalue": value, "traceback": [f"{name}: {value}"]}


def checked_outputs(text: Any, most: int) -> list[dict[str, Any]]:
    """Outputs that the student's process reports, rebuilt from plain data: it could claim anything."""
    used = 0
    if type(text) is not str:
        raise Gone("it broke the connection to the grader")
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise Gone("it broke the connection to the grader") from None
    found: list[dict[str, Any]] = []
    for output in given[:MOST_OUTPUTS] if type(given) is list else []:
        kind = output.get("output_type") if type(output) is dict else None
        if kind == "stream" and output.get("name") in ("stdout", "stderr"):
            found.append({"output_type": "stream", "name": output["name"], "text": clean(output.get("text", ""))})
        elif kind == "error":
            lines = output.get("traceback")
            lines = [clean(line) for line in lines if type(line) is str][-40:] if type(lines) is list else []
            found.append(
                {"output_type": "error", "ename": clean(output.get("ename")), "evalue": clean(output.get("evalue")), "traceback": lines}
            )
        elif kind in ("display_data", "execute_result") and type(output.get("data")) is dict:
            data = {key: value for key, value in output["data"].items() if key in KEPT and type(value) is str}
            if used + sum(map(len, data.values())) > 4 * most:
                return [*found, {"output_type": "stream", "name": "stderr", "text": "… more output than is kept"}]
            data = {key: harmless(key, clean(value)) for key, value in data.items()}
            entry = {"output_type": kind, "data": data, "metadata": {}}
            found.append({**entry, "execution_count": None} if kind == "execute_result" else entry)
        used += len(json.dumps(found[-1])) if found else 0
        if used > 4 * most:  # figures and escapes take more than the characters that were counted
            return [*found[:-1], {"output_type": "stream", "name": "stderr", "text": "… more output than is kept"}]
    return found


def clean(text: Any) -> str:
    return text.encode("utf-8", "replace").decode() if type(text) is str else ""
