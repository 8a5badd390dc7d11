"""The student's process, a clone of it, and one request to it outside tests.

Nothing but plain data is built from what it sends.
"""

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
from dataclasses import dataclass
from typing import Any

from autograder.inside import wire
from autograder.model import wording
from autograder.model.record import Reason, ReasonKind


@dataclass
class Process:
    """The student's process or a clone of it: a socket, and its process id as the kernel gives it."""

    sock: socket.socket
    pid: int
    handle: int
    identity: tuple[int, int] = (0, 0)  # its number in the sandbox, and when it started; zeros where that is not known
    asked: int = 0

    def signal(self, number: int) -> None:
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self.handle, number)

    def dead(self) -> bool:
        return ended_within(self.handle, 0)

    def close(self) -> None:
        self.sock.close()
        with contextlib.suppress(OSError):
            os.close(self.handle)


def ended_within(handle: int, seconds: float) -> bool:
    """Has this process ended? Its connections break a little earlier."""
    return bool(select.select([handle], [], [], seconds)[0])


class ProcessLost(Exception):
    """The student's process cannot be used any more; `reason` says why."""

    def __init__(self, kind: ReasonKind, **about: Any) -> None:
        self.reason = Reason.of(kind, **about)
        super().__init__(wording.sentence(self.reason))


class ProcessEnded(ProcessLost):
    """It ended, by its own doing or somebody else's."""


class StaleAnswer(ProcessLost):
    """An answer to an earlier request: the cell before had answered for the grader, and is to blame."""


def ask(process: Process, head: dict[str, Any], value: Any, deadline: wire.Deadline, fds: tuple[int, ...] = ()) -> Any:
    """One request to the student's process outside tests: plain data only."""
    process.asked += 1
    try:
        wire.send(process.sock, wire.pack({**head, "n": process.asked}, value, refuse), deadline, fds)
        answered, answer = head_and_value(wire.receive(process.sock, deadline)[0])
    except wire.ConnectionEnded:
        raise ProcessEnded(ReasonKind.ENDED) from None
    except wire.TooManyMessages as error:
        kind = StaleAnswer if request_of(error.first) < process.asked else ProcessLost
        raise kind(ReasonKind.SENT, what=str(error)) from None
    except wire.Violation as error:
        raise ProcessLost(ReasonKind.SENT, what=str(error)) from None
    if type(answered.get("n")) is int and answered["n"] < process.asked:
        raise StaleAnswer(ReasonKind.FOREIGN_ANSWER)
    if answered.get("op") != "done" or answered.get("n") != process.asked:
        raise ProcessLost(ReasonKind.NO_ANSWER)
    return answer


def request_of(text: bytes) -> float:
    """The number of the request that a message answers; one that names none can only answer the present one."""
    try:
        number = json.loads(text).get("n")
    except (ValueError, RecursionError, AttributeError):
        return math.inf
    return number if type(number) is int else math.inf


def refuse(value: Any) -> Any:
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def head_and_value(text: bytes) -> tuple[dict[str, Any], Any]:
    """Head and value of a message outside tests: nothing, a text, or a list of texts.

    Nothing is built from anything else.
    """
    try:
        head = json.loads(text)
    except (ValueError, RecursionError):
        raise wire.Violation("a message that is not JSON") from None
    value = head.pop("value", None) if type(head) is dict else 0
    if (
        value is not None
        and type(value) is not str
        and not (type(value) is list and all(type(item) is str for item in value))
    ):
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
            raise ProcessEnded(ReasonKind.NOT_COPIED)
        pid = next(
            struct.unpack("3i", body[:12])[0] for level, kind, body in ancillary if kind == socket.SCM_CREDENTIALS
        )
        wire.receive(sock, deadline, data)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        process = Process(sock, pid, os.pidfd_open(pid), identity_of(pid))
        if process.dead():  # the number may be somebody else's by now
            process.identity = (0, 0)
        return process
    except (OSError, StopIteration, wire.ConnectionEnded, wire.Violation, wire.DeadlinePassed) as error:
        sock.close()
        kind = ProcessEnded if isinstance(error, OSError | wire.ConnectionEnded) else ProcessLost
        raise kind(ReasonKind.NOT_COPIED_ERROR, error=type(error).__name__) from None


# ---- as the kernel sees them -----------------------------------------------------------------------------------------


def parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def identity_of(pid: int) -> tuple[int, int]:
    """What init knows this process by."""
    with contextlib.suppress(OSError, StopIteration), open(f"/proc/{pid}/status") as file:
        inner = next(int(line.split()[-1]) for line in file if line.startswith("NSpid:"))
        with open(f"/proc/{pid}/stat") as stat:
            return inner, int(stat.read().rpartition(")")[2].split()[19])
    return 0, 0


def running(pid: int) -> bool:
    """Is this process still there, and more than a line in the table of processes?"""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


def processes_in(namespace: str) -> list[int]:
    """Processes in this process namespace, which must not be the examiner's own, without its init."""
    if namespace == os.readlink("/proc/self/ns/pid"):
        raise ValueError("this is the namespace of the examiner's own processes")
    inside = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{name}/ns/pid") != namespace:
                    continue
                with open(f"/proc/{name}/status") as file:
                    inner = next((line.split()[-1] for line in file if line.startswith("NSpid:")), "1")
                if inner != "1":
                    inside.append(int(name))
    return inside


def end_strays(keep: set[int], dying: int = 0) -> int:
    """End every process beside these in their namespace; gives how many there were."""
    try:
        theirs = os.readlink(f"/proc/{next(iter(keep))}/ns/pid")
        if theirs == os.readlink("/proc/self/ns/pid"):  # no sandbox, no namespace: everybody else is in there
            return 0
    except (OSError, StopIteration):
        return 0
    ended: set[int] = set()
    quiet = 0
    for _ in range(100):
        strays = [pid for pid in processes_in(theirs) if pid not in keep and pid != dying and running(pid)]
        fresh = [pid for pid in strays if pid not in ended]
        number = signal.SIGSTOP if fresh else signal.SIGKILL  # all of them stand still before the first one dies
        for pid in strays:
            with contextlib.suppress(OSError):
                os.kill(pid, number)
        ended.update(fresh)
        quiet = 0 if strays else quiet + 1
        if quiet == (3 if ended else 1):  # one that was just being made is not seen at once
            break
        time.sleep(0.002 if ended else 0)
    return len(ended)
