"""How much memory a submission uses, with what the kernel keeps for it, and which process ends if it is too much."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass

ALL_PROCESSES = 1.25  # times the limit of one process: what all of them may use together
# The machine is full when less is left (or less than a twentieth of its memory, if that is smaller).
FREE_BYTES = 256 << 20
SOCKET_BYTES = 240 << 10  # what can wait in one local socket of the default size, a last message included
FEW_DESCRIPTORS = 24  # processes whose numbers of descriptors differ by less count as equal
# So many senders can each leave SOCKET_BYTES in a datagram socket (/proc/sys/net/unix/max_dgram_qlen, and one more).
DATAGRAMS = 11
READ_SECONDS = 1.0
ONE_CHARGE = 4 << 20  # bytes: less than that is missing to a limit when the kernel refuses the next page, small or huge


def kilobytes(text: str, *names: str) -> int:
    """The sum of these lines of a file like /proc/self/status, in bytes."""
    return 1024 * sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(names))


def anonymous_memory(pid: str) -> int:
    with open(f"/proc/{pid}/status") as file:
        return kilobytes(file.read(), "RssAnon:", "RssShmem:", "VmSwap:")


def own_share(pid: str) -> int:
    """Memory of a process, with pages that several processes share divided among them: exact, but slow to read."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return kilobytes(file.read(), "Pss_Anon:", "Pss_Shmem:", "SwapPss:")


def shares(pids: Iterable[int]) -> dict[int, int]:
    """What each of these processes uses, beyond what all were forked with. Shared pages are divided among them."""
    used = {}
    libraries = own_share("self")
    for pid in pids:
        with contextlib.suppress(OSError):
            used[pid] = max(0, own_share(str(pid)) - libraries)
    return used


def shares_read_by(uid: int, pids: Iterable[int]) -> dict[int, int]:
    """The same, read by a child as another user; nothing, if somebody keeps it from that."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setresuid(uid, uid, uid)
            os.write(writer, json.dumps(list(shares(pids).items())).encode())
        finally:
            os._exit(0)
    os.close(writer)
    in_time = select.select([reader], [], [], READ_SECONDS)[0]
    text = os.read(reader, 1 << 16) if in_time else b""
    os.close(reader)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    try:
        return {int(key): int(value) for key, value in json.loads(text)}
    except ValueError:
        return {}


def oom_score(pid: int) -> int:
    """When the kernel ends this process: a clone that is being tested goes before those that wait (see rights.py)."""
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
    """Open files of the submission's memory cgroup, which the grader has made (see cgroups.py)."""

    version: int
    members: int
    kernel: int
    events: int
    highest: int
    limit: int

    def take(self, pid: int) -> None:
        os.write(self.members, str(pid).encode())

    def close(self) -> None:
        for fd in (self.members, self.kernel, self.events, self.highest, self.limit):
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
        return self.event("oom_kill ")

    def reached_its_limit(self) -> bool:
        """Was the group itself full? Else its processes are ended because a group above it, or the machine, was."""
        if self.version == 1:
            highest, limit = (int(os.pread(fd, 100, 0)) for fd in (self.highest, self.limit))
            return highest > limit - ONE_CHARGE
        return self.event("oom ") > 0

    def event(self, name: str) -> int:
        lines = os.pread(self.events, 1 << 12, 0).decode().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)


class MemoryWatch:
    """Looks at all processes of a submission; init asks it ten times a second.

    `figures` are open files of /proc (see scratch.py); `pids` gives the processes of the submission.
    """

    def __init__(
        self,
        memory_bytes: int,
        group: Group | None,
        figures: dict[str, int],
        pids: Callable[[], Iterable[int]],
    ) -> None:
        self.most, self.group, self.figures, self.pids = memory_bytes, group, figures, pids
        self.base = anonymous_memory("self")
        self.reader: int | None = None  # the user who may read what is exact, where root without capabilities may not
        self.seen = 0
        self.chosen = False  # a process has had to go
        self.for_the_machine = False  # the submission kept its limit; a process has to go because the machine is full

    def ended_any(self) -> bool:
        """Was any process ended for memory, by the kernel or by init?"""
        return self.chosen or (self.group is not None and self.group.ended() > 0)

    def kernel_ended_one(self) -> bool:
        """Has the kernel ended a process since this was last asked?"""
        if self.group is None:
            return False
        before, self.seen = self.seen, self.group.ended()
        if self.seen > before:
            self.for_the_machine = not self.group.reached_its_limit()
        return self.seen > before

    def too_large(self) -> int | None:
        """The one process that has to go, if all together use too much.

        The others are left: they belong to other questions.
        """
        used, tables = self.by_process()
        kernel = self.kernel_bytes(tables)
        # When a process ends while shares are read, its part of shared pages goes to others: read again.
        for _ in range(3):
            if sum(used.values()) + kernel <= self.most:
                break
            used = shares(used) if self.reader is None else {**used, **shares_read_by(self.reader, used)}
        total = sum(used.values()) + kernel
        self.for_the_machine = total <= ALL_PROCESSES * self.most
        if used and (not self.for_the_machine or (total > self.most / 2 and self.machine_is_full())):
            self.chosen = True
            if kernel > total / 2:  # of sockets and pipes: end the process that has most of them
                return max(used, key=lambda pid: (descriptors(pid) // FEW_DESCRIPTORS, oom_score(pid), used[pid]))
            return max(used, key=lambda pid: (oom_score(pid), used[pid]))
        return None

    def by_process(self) -> tuple[dict[int, int], int]:
        """What each process uses beyond what it was forked with, and the size of all page tables."""
        used, tables = {}, 0
        for pid in self.pids():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
                text = file.read()
                used[pid] = max(0, kilobytes(text, "RssAnon:", "RssShmem:", "VmSwap:") - self.base)
                tables += kilobytes(text, "VmPTE:")
        return used, tables

    def kernel_bytes(self, tables: int) -> int:
        """Memory that the kernel keeps for these processes, beyond their page tables."""
        if self.group is not None:
            return max(0, self.group.kernel_bytes() - tables)
        if "self/net/unix" not in self.figures:
            return 0
        text, place = b"", 0
        while part := os.pread(self.figures["self/net/unix"], 1 << 16, place):
            text, place = text + part, place + len(part)
        kinds = [line.split()[4] for line in text.splitlines()[1:]]  # of all local sockets in the network namespace
        return SOCKET_BYTES * sum(1 if kind == b"0001" else DATAGRAMS for kind in kinds)

    def machine_is_full(self) -> bool:
        """Is so little memory left that the machine could come to a stop?"""
        if "meminfo" not in self.figures:
            return False  # without namespaces
        text = os.pread(self.figures["meminfo"], 1 << 14, 0).decode()
        return kilobytes(text, "MemAvailable:") < min(FREE_BYTES, kilobytes(text, "MemTotal:") // 20)
