"""Process 1 of a submission's namespaces. It runs no student code, and when it ends everything in the namespaces ends.

The examiner holds the other end of its *lifeline*, a socket. When that closes, init kills all and ends. Orders arrive
on it as one byte; each is answered with the same letter in lower case, and what the answer says beyond that:

    N  start another student's process, connected to the socket that comes with the order
    S  remember the files and processes that there are
    C  remove the files and end the processes that came since S
    M  say "M" first, if the kernel has ended a process because the memory cgroup was full, "F" if the machine was
    P  the number that the newest process or thread has (four bytes)
    K  has a process of the submission sent a stopping signal? (one byte)
    E  was this process ended from outside? (one byte; the order goes on with its number and when it started)
    R  nothing: the answer says that ended processes have been collected

Unasked, init writes "M" when it ends a process because the submission uses too much memory, and "F" when the machine is
full.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import time
from functools import partial
from typing import Any

from . import ends, memory_watch, processes, scratch, stops, student_process
from .audit import Names
from .system_calls import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, system_call

LOOK_SECONDS = 0.1  # between two looks at the memory of all processes


def run(
    control: int,
    lifeline: int,
    shell: Any,
    names: Names,
    settings: dict[str, Any],
    group: memory_watch.Group | None,
) -> None:
    """Make the private view, start the student's process, and serve the examiner until it closes the lifeline."""
    if settings["namespaces"]:
        figures = scratch.mount_private_view(settings)
    else:
        os.setsid()
        system_call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans of the submission become its children
        settings = {**settings, "home": scratch.make_home(settings, os.getpid())}
        figures = scratch.open_figures(("meminfo",))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    system_call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)  # the student's process must not read this one's memory
    init = Init(lifeline, shell, names, settings, group, figures)
    init.start_student(control)
    init.serve()


def clean_up_after(pid: int, settings: dict[str, Any]) -> None:
    """For the nursery, once init has ended: without namespaces, the rest of the submission did not end with it."""
    if settings["confined"]:
        processes.kill_all(settings)
    scratch.remove_home(settings, pid)


class Init:
    """The state of init, and its answers to the examiner."""

    def __init__(
        self,
        lifeline: int,
        shell: Any,
        names: Names,
        settings: dict[str, Any],
        group: memory_watch.Group | None,
        figures: dict[str, int],
    ) -> None:
        self.line = socket.socket(fileno=lifeline)
        self.shell, self.names, self.settings, self.group, self.figures = shell, names, settings, group, figures
        self.poll = select.poll()
        self.poll.register(lifeline, select.POLLIN | select.POLLHUP)
        self.listeners = stops.Listeners(self.poll)
        self.ends = ends.Ends(settings["cpu_seconds"])
        self.pids = partial(processes.of_submission, settings)
        self.memory = memory_watch.MemoryWatch(settings["memory_bytes"], group, figures, self.pids)
        if settings["confined"] and not settings["namespaces"]:
            self.memory.reader = settings["uid"]
        self.looked = 0.0  # when memory was last looked at
        self.known_files: dict[str, scratch.Signature] = {}
        self.known_processes: set[int] = set()

    def start_student(self, control: int) -> None:
        """Fork a student's process.

        Init has run nothing of the student's: a copy of it is the state before the first cell.
        """
        ours, theirs = socket.socketpair()
        entered, enter = os.pipe()
        pid = os.fork()
        if pid:
            os.close(control)
            os.close(entered)
            theirs.close()
            if self.group is not None:
                self.group.take(pid)  # takes the kernel ten milliseconds; the student's process gets ready meanwhile
            os.write(enter, b"g")
            os.close(enter)
            self.listeners.add(ours)
            return
        self.line.close()
        ours.close()
        os.close(enter)
        self.listeners.close()
        for fd in self.figures.values():
            os.close(fd)
        if self.group is not None:
            self.group.close()
        student_process.run(control, entered, theirs, self.shell, self.names, self.settings)
        os._exit(0)

    def serve(self) -> None:
        while True:
            for fd, event in self.poll.poll(1000 * LOOK_SECONDS):
                if not self.listeners.answered(fd, event):
                    self.obey(event)
            self.ends.reap()
            if time.monotonic() - self.looked >= LOOK_SECONDS / 2:
                self.looked = time.monotonic()
                self.look_at_memory()

    def obey(self, event: int) -> None:
        """Carry out the order that has arrived, and answer it."""
        closed = event & select.POLLHUP and not event & select.POLLIN
        order, fds, _, _ = (b"", [], 0, None) if closed else socket.recv_fds(self.line, 1, 1)
        if not order:
            processes.kill_all(self.settings)
            os._exit(0)
        if order == b"N":
            self.start_student(fds[0])
        elif order == b"S":
            self.known_files, self.known_processes = scratch.contents(self.settings), set(self.pids())
        elif order == b"C":
            self.clean()
        elif order == b"M":
            self.tell_ended_by_kernel()
        self.ends.reap()  # before the answer: it says that ended processes are gone
        self.tell(order.lower() + self.details(order))

    def details(self, order: bytes) -> bytes:
        """What the answer to an order says beyond that it was carried out."""
        if order == b"P":
            return self.newest_process()
        if order == b"E":
            return bytes([self.ended_from_outside()])
        return bytes([self.listeners.stopped()]) if order == b"K" else b""

    def ended_from_outside(self) -> bool:
        pid, started = struct.unpack("=IQ", self.line.recv(12, socket.MSG_WAITALL))
        if self.memory.ended_any():
            return False
        return self.ends.from_outside((pid, started), self.listeners.seen)

    def newest_process(self) -> bytes:
        """The number that the newest process or thread in the namespace has; 0 without a namespace."""
        if "loadavg" not in self.figures:
            return bytes(4)
        return int(os.pread(self.figures["loadavg"], 200, 0).split()[4]).to_bytes(4, "little")

    def clean(self) -> None:
        """Remove what came since the last "S": a test's inputs must not be found by the next test."""
        for pid in set(self.pids()) - self.known_processes:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        scratch.remove_all_but(self.settings, self.known_files)

    def look_at_memory(self) -> None:
        """End the process that has to go, if all together use too much."""
        victim = self.memory.too_large()
        if victim is None:
            self.tell_ended_by_kernel()
            return
        with contextlib.suppress(OSError):
            os.write(self.line.fileno(), b"F" if self.memory.for_the_machine else b"M")
            os.kill(victim, signal.SIGKILL)

    def tell_ended_by_kernel(self) -> None:
        if self.memory.kernel_ended_one():
            self.tell(b"F" if self.memory.for_the_machine else b"M")

    def tell(self, message: bytes) -> None:
        with contextlib.suppress(OSError):  # the examiner is gone: the next look at the lifeline ends this process
            os.write(self.line.fileno(), message)
