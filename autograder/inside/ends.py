"""How the processes of a submission ended: by their own doing, or by a signal from outside the sandbox?

The kernel tells which signal ended a process, not who sent it. Init finds that out by exclusion. SIGKILL and SIGTERM
can only come from inside by a system call, and stops.py shows those calls to init; or the kernel sends SIGKILL, because
memory or processor time was used up, which init can see. Whoever was ended by one of these signals without any of these
causes was ended from outside.

Doubts count against the submission: after a signal of that kind inside, or a process that ended for its memory, init
claims nothing more; nor on machines where some cause cannot be seen (`all_seen`).
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import NamedTuple

FATAL = (signal.SIGKILL, signal.SIGTERM)
MOST = 4096  # ends that are remembered: the oldest ones are forgotten
SECONDS = 2.0  # of processor time: whoever came so close to its limit was ended by the kernel for that
# Before this version of Linux, a process that crashed also ended others that shared its memory, by SIGKILL.
FIRST_VERSION = (5, 16)
VERSION = ".".join(map(str, FIRST_VERSION))
TICKS = os.sysconf("SC_CLK_TCK")

Identity = tuple[int, int]  # a process: its number in the sandbox, and when it started (a number may be used again)


class End(NamedTuple):
    number: int  # of the signal
    seconds: float  # of processor time, with that of children it had waited for


def all_seen() -> bool:
    version = os.uname().release.split(".")[:2]
    return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in version) >= FIRST_VERSION


def fields_of(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()


class Ends:
    """In init: collects ended processes, and remembers whom a signal ended."""

    def __init__(self, cpu_seconds: float) -> None:
        self.cpu_seconds = cpu_seconds
        self.known: dict[Identity, End] = {}

    def reap(self) -> None:
        """Collect children that have ended: until then they count towards the limit on processes."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                if ended.si_code in (os.CLD_KILLED, os.CLD_DUMPED) and ended.si_status in FATAL:
                    self.note(ended.si_pid, ended.si_status)
                os.waitpid(ended.si_pid, 0)

    def note(self, pid: int, number: int) -> None:
        with contextlib.suppress(OSError):
            fields = fields_of(pid)
            self.known[pid, int(fields[19])] = End(number, sum(map(int, fields[11:15])) / TICKS)
            if len(self.known) > MOST:
                del self.known[next(iter(self.known))]

    def end_of(self, process: Identity) -> End | None:
        """How it ended, if a signal did that. One that its parent has not collected yet says so itself."""
        pid, started = process
        if process not in self.known:
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = fields_of(pid)
                if int(fields[19]) == started and fields[0] == "Z" and int(fields[49]) in FATAL:
                    self.note(pid, int(fields[49]))
        return self.known.get(process)

    def from_outside(self, process: Identity, sent_inside: set[int]) -> bool:
        """Was this process ended by a signal that neither the submission nor the kernel sent?"""
        end = self.end_of(process)
        if end is None or end.number in sent_inside or not all_seen():
            return False
        return end.number != signal.SIGKILL or end.seconds < self.cpu_seconds - SECONDS
