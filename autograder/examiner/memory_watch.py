"""How much memory a submission uses, all of its processes and what the kernel keeps for them, and whom to end when it is too much."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

MOST_OF_A_LIMIT = 1.25  # a single process is held to the limit itself; all of them together to this much of it
LEFT_BYTES = 256 << 20  # the machine should never have less left, or a twentieth of what it has
SOCKET_BYTES = 240 << 10  # what can wait in one local socket of the default size, a last message included
MESSAGES = 11  # so many senders can each leave that much in a socket for messages (/proc/sys/net/unix/max_dgram_qlen, and one more)


def kilobytes(text: str, *names: str) -> int:
    """The sum of these lines of a file like /proc/self/status, in bytes."""
    return 1024 * sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(names))


def anonymous_memory(pid: str) -> int:
    with open(f"/proc/{pid}/status") as file:
        return kilobytes(file.read(), "RssAnon:", "RssShmem:")


def own_share(pid: str) -> int:
    """All of it, with pages that several processes share divided among them: right, but slow to find out."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return kilobytes(file.read(), "Pss_Anon:", "Pss_Shmem:")


def shares(pids: Iterable[int]) -> dict[int, int]:
    """What each of these processes uses, pages that they share divided among them, without what all were forked with."""
    found = {}
    libraries = own_share("self")
    for pid in pids:
        with contextlib.suppress(OSError):
            found[pid] = max(0, own_share(str(pid)) - libraries)
    return found


def ends_at(pid: int) -> int:
    """The kernel's order of ending processes: a copy that is being tested goes before those that wait (see student_rights.py)."""
    try:
        with open(f"/proc/{pid}/oom_score_adj") as file:
            return int(file.read())
    except OSError:
        return 0


def descriptors(pid: int) -> int:
    """How many files, pipes and sockets a process has open."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


@dataclass
class Group:
    """The memory cgroup of the submission, made by the grader: open files of it (see cgroups.py)."""

    version: int
    members: int
    kernel: int
    events: int

    def take(self, pid: int) -> None:
        os.write(self.members, str(pid).encode())

    def close(self) -> None:
        for fd in (self.members, self.kernel, self.events):
            os.close(fd)

    def kernel_bytes(self) -> int:
        """What the kernel keeps for the submission (socket buffers, pipes, …), the tables of its memory included."""
        text = os.pread(self.kernel, 1 << 14, 0).decode()
        if self.version == 1:
            return int(text)
        figures = dict(line.split() for line in text.splitlines())
        parts = ("kernel", "sock") if "kernel" in figures else ("slab", "kernel_stack", "pagetables", "percpu", "sock")
        return sum(int(figures.get(name, 0)) for name in parts)

    def ended(self) -> int:
        """How many processes the kernel has ended because the group was full."""
        lines = os.pread(self.events, 1 << 12, 0).decode().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


class MemoryWatch:
    """Init's look at all processes of a submission, ten times a second."""

    def __init__(self, memory_bytes: int, group: Group | None, figures: dict[str, int], numbers: Any) -> None:
        self.most, self.group, self.figures, self.numbers = memory_bytes, group, figures, numbers
        self.base = anonymous_memory("self")
        self.seen = 0
        self.for_the_machine = False  # who had to go last had kept its own limit: the machine was full

    def kernel_ended_one(self) -> bool:
        """Has the kernel ended a process since this was last asked?"""
        if self.group is None:
            return False
        before, self.seen = self.seen, self.group.ended()
        return self.seen > before

    def too_large(self) -> int | None:
        """The process that has to go, if all of them use too much; the others are somebody's other questions."""
        used, tables = self.by_process()
        kernel = self.kernel_bytes(tables)
        for _ in range(3):  # what ended processes shared counts for the others: a sum is only right while none ends
            if sum(used.values()) + kernel <= self.most:
                break
            used = shares(used)
        total = sum(used.values()) + kernel
        self.for_the_machine = total <= MOST_OF_A_LIMIT * self.most
        if used and (not self.for_the_machine or (total > self.most / 2 and self.machine_is_full())):
            if kernel > total / 2:  # it belongs to open sockets and pipes
                used = {pid: size + SOCKET_BYTES * descriptors(pid) for pid, size in used.items()}
            return max(used, key=lambda pid: (ends_at(pid), used[pid]))
        return None

    def by_process(self) -> tuple[dict[int, int], int]:
        """What each process here uses beyond what it started with; and the size of the tables of all of them."""
        found, tables = {}, 0
        for pid in self.numbers():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
                text = file.read()
                found[pid] = max(0, kilobytes(text, "RssAnon:", "RssShmem:") - self.base)
                tables += kilobytes(text, "VmPTE:")
        return found, tables

    def kernel_bytes(self, tables: int) -> int:
        """What the kernel keeps for these processes and no figure of theirs shows."""
        if self.group is not None:
            return max(0, self.group.kernel_bytes() - tables)
        if "self/net/unix" not in self.figures:
            return 0
        text, place = b"", 0
        while part := os.pread(self.figures["self/net/unix"], 1 << 16, place):
            text, place = text + part, place + len(part)
        kinds = [line.split()[4] for line in text.splitlines()[1:]]  # of all local sockets in the network namespace
        return SOCKET_BYTES * sum(1 if kind == b"0001" else MESSAGES for kind in kinds)

    def machine_is_full(self) -> bool:
        """Too little is left for all. Who uses more than half of what it may then has to go, before the machine comes to a stop."""
        if "meminfo" not in self.figures:
            return False  # without namespaces
        text = os.pread(self.figures["meminfo"], 1 << 14, 0).decode()
        return kilobytes(text, "MemAvailable:") < min(LEFT_BYTES, kilobytes(text, "MemTotal:") // 20)
