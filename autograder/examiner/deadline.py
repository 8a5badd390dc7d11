"""Time limits that mean the same on an idle and on an overloaded machine.

The kernel's figures divide the time of a submission's processes into three. They ran, or they slept: that is the
submission's own time, and the limits are on it. Or the machine kept them from running: they queued for a processor, or
somebody outside stopped or froze them. A submission that has used up its own time is late. One that the machine kept
waiting for far longer than its limit gets no verdict at all (`MachineFault`): it is graded again later.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from autograder.inside import wire

MOST_QUEUED = 10.0  # times the limit: how long something may queue for a processor before it is given up
SHORTEST, LONGEST = 0.05, 0.5  # seconds between two looks at the processes
LOOKS = 16  # in the shortest of the limits
TICKS = os.sysconf("SC_CLK_TCK")
CGROUPS = "/sys/fs/cgroup"


class MachineFault(Exception):
    """The machine prevented a result. The submission is not graded, and tried again later."""


class Task(NamedTuple):
    """One thread as the kernel sees it: seconds on a processor, seconds queued for one, turns on one, its state."""

    ran: float
    queued: float
    turns: int
    state: str


@dataclass
class Snapshot:
    """All threads of some processes and of those that they started, and the processor time of those that ended."""

    tasks: dict[int, Task] = field(default_factory=dict)
    ended: float = 0.0
    parents: set[int] = field(default_factory=set)  # processes that have children


def snapshot(roots: tuple[int, ...]) -> Snapshot:
    """What the kernel says about these processes and all below them. A process that ends meanwhile is left out."""
    taken = Snapshot()
    left, seen = list(roots), set(roots)
    while left:
        pid = left.pop()
        try:
            threads = os.listdir(f"/proc/{pid}/task")
            fields = text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()
        except OSError:
            continue
        taken.ended += (int(fields[13]) + int(fields[14])) / TICKS
        for thread in threads:
            with contextlib.suppress(OSError, ValueError, IndexError):
                place = f"/proc/{pid}/task/{thread}"
                ran, queued, turns = text_of(f"{place}/schedstat").split()
                state = text_of(f"{place}/stat").rpartition(")")[2].split()[0]
                taken.tasks[int(thread)] = Task(int(ran) / 1e9, int(queued) / 1e9, int(turns), state)
                children = [int(child) for child in text_of(f"{place}/children").split()]
                if children:
                    taken.parents.add(pid)
                left += [child for child in children if child not in seen]
                seen.update(children)
    return taken


def text_of(path: str) -> str:
    with open(path) as file:
        return file.read()


def has_terminal(pid: int) -> bool:
    """Has this process a controlling terminal?

    Keys typed there, or reading it in the background, make the kernel stop processes.
    """
    try:
        return text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()[4] != "0"
    except OSError:
        return False


def held_from_outside(pid: int) -> bool:
    """Is this process in a control group that somebody froze?"""
    with contextlib.suppress(OSError):
        for line in text_of(f"/proc/{pid}/cgroup").splitlines():
            number, names, path = line.split(":", 2)
            if "freezer" in names.split(","):
                with contextlib.suppress(OSError):
                    if text_of(f"{CGROUPS}/freezer{path}/freezer.state").strip() != "THAWED":
                        return True
            elif number == "0":
                for root in (CGROUPS, f"{CGROUPS}/unified"):
                    with contextlib.suppress(OSError):
                        if "frozen 1" in text_of(f"{root}{path}/cgroup.events"):
                            return True
    return False


class KernelMeter:
    """Counts the time of one submission: its own (running or asleep), and what the machine took.

    `roots` are the processes that count, with all below them: the one that examines, and the first one of the sandbox.
    `main` is the one that the student's code runs in at the moment; `stopped_inside` says whether a signal that stops
    processes was sent inside the sandbox.
    """

    def __init__(self, roots: tuple[int, ...], shortest_limit: float) -> None:
        self.roots = roots
        self.tick = min(LONGEST, max(SHORTEST, shortest_limit / LOOKS))
        self.main = 0
        self.stopped_inside: Callable[[], bool] = lambda: False
        self.alive: Callable[[], None] = lambda: None  # called after every look that finds all limits kept
        self.fresh = False
        # The student's process could be stopped through a terminal, which stops.py does not see.
        self.had_terminal = False
        self.own = self.ran = self.queued = self.held = 0.0  # seconds, since the start
        self.at = time.monotonic()
        # Seconds of ended threads that were counted already, and that the kernel will add to their parents.
        self.counted = 0.0
        self.doubtful = 0.0  # own time at the last look that may have been the beginning of a wait
        self.waiting: dict[int, float] = {}  # threads in the queue, and how much of their wait has been counted
        self.looking = False
        self.known = os.path.exists("/proc/self/schedstat")  # elsewhere there is only the clock on the wall
        self.last = snapshot(roots) if self.known else Snapshot()

    def follow(self, roots: tuple[int, ...]) -> None:
        """Count these processes from now on, with all below them."""
        self.look()
        self.roots = roots
        self.last = snapshot(roots) if self.known else Snapshot()
        self.counted = 0.0

    def look(self) -> None:
        """Account for the time since the last look, unless that was just now."""
        if self.looking or time.monotonic() - self.at < self.tick:
            return
        self.looking = True  # the handler of a timer may call this in the middle of it
        try:
            self.account()
        finally:
            self.looking = False
        self.fresh = True

    def account(self) -> None:
        now = time.monotonic()
        passed, self.at = now - self.at, now
        if not self.known:
            self.own += passed
            return
        before, self.last = self.last, snapshot(self.roots)
        each = self.ran_by_thread(before)
        ended = self.ran_unseen(before)
        ran = sum(each.values()) + ended
        # A look is due once a tick. If the last one is longer ago and the processes did not work, this process was kept
        # waiting, too.
        seen = min(passed, max(2 * self.tick, ran))
        held = seen if self.is_held(before) else 0.0
        queued = self.kept_waiting(before, passed, each, ended)
        # The kernel counts a wait only when it is over. It may have begun before the last look, which took it for the
        # submission's own time.
        queued = 0.0 if held else min(queued, seen + self.doubtful)
        self.doubtful -= max(0.0, queued - seen)
        if not self.waiting:  # no wait goes on any more
            self.doubtful = max(0.0, seen - held - queued)
        self.ran += ran
        self.held += held
        self.queued += queued + passed - seen
        self.own += seen - held - queued

    def ran_by_thread(self, before: Snapshot) -> dict[int, float]:
        """Processor seconds since the last look, of threads that still exist."""
        ran = {}
        for thread, task in self.last.tasks.items():
            earlier = before.tasks[thread].ran if thread in before.tasks else 0.0
            ran[thread] = max(0.0, task.ran - earlier)
        return ran

    def ran_unseen(self, before: Snapshot) -> float:
        """Processor seconds of processes that began and ended between two looks.

        The kernel adds all time of an ended process to its parent's. What was counted before it ended is not counted
        again.
        """
        self.counted += sum(task.ran for thread, task in before.tasks.items() if thread not in self.last.tasks)
        more = self.last.ended - before.ended
        unseen = max(0.0, more - self.counted)
        self.counted = max(0.0, self.counted - more)
        return unseen

    def kept_waiting(self, before: Snapshot, seconds: float, ran: dict[int, float], ended: float) -> float:
        """How long the submission queued for a processor since the last look, while no thread of its own had one.

        A thread in the queue that has had no turn has waited all the time, though the kernel has not counted it yet.
        Waiting for another thread of the same submission is not the machine's fault: what the others ran is subtracted.
        Examiner and student take turns, a thousand times a second where student code calls back: the wait of one is
        added to that of the other. (The roots run no student code, so nothing is subtracted from theirs.)
        """
        new = Task(0.0, 0.0, 0, "")
        tasks = self.last.tasks
        total = sum(amount for thread, amount in ran.items() if thread not in self.roots) + ended
        longest, of_roots, waiting = 0.0, 0.0, {}
        for thread, task in tasks.items():
            old = before.tasks.get(thread, new)
            counted = self.waiting.get(thread, 0.0)
            if task.state == "R" and thread in before.tasks and task.turns == old.turns and not ran[thread]:
                queued, waiting[thread] = seconds, counted + seconds
            else:
                queued = task.queued - old.queued - counted
            if thread in self.roots:
                of_roots += max(0.0, queued)
            else:
                longest = max(longest, queued - total + ran[thread])
        self.waiting = waiting
        return longest + of_roots

    def is_held(self, before: Snapshot) -> bool:
        """Since the last look: was the student's process stopped or frozen from outside, or waiting for a disk?"""
        then, now = before.tasks.get(self.main), self.last.tasks.get(self.main)
        self.had_terminal = self.had_terminal or has_terminal(self.main)
        if then is None or now is None or now.turns != then.turns:
            return False
        if now.state in "Tt":
            return not self.had_terminal and not self.stopped_inside()
        if now.state == "D":  # a disk or swapped memory; but a process with a child may be waiting for it (vfork)
            return self.main not in self.last.parents
        return now.state == "S" and held_from_outside(self.main)


class LoadAwareDeadline(wire.Deadline):
    """A limit on a submission's own time. Where the machine takes far more than that, it ends without a verdict."""

    def __init__(self, meter: KernelMeter, seconds: float) -> None:
        meter.look()
        self.meter, self.seconds = meter, seconds
        self.own, self.ran, self.queued, self.held = meter.own, meter.ran, meter.queued, meter.held

    def remaining(self) -> float:
        """Seconds that are left of the submission's own time; zero or less where it is used up."""
        self.meter.look()
        return self.seconds - max(self.meter.own - self.own, self.meter.ran - self.ran)

    def left(self) -> float:
        """Seconds until the next look is due."""
        remaining = self.remaining()
        if remaining <= 0:
            raise wire.DeadlinePassed
        if self.meter.held - self.held >= self.seconds:
            stopped = self.meter.held - self.held
            raise MachineFault(f"the student's process was stopped or frozen from outside for {stopped:.0f} s")
        if self.meter.queued - self.queued >= MOST_QUEUED * self.seconds:
            waited = self.meter.queued - self.queued
            raise MachineFault(f"the machine is too busy: the student's code waited {waited:.0f} s for a processor")
        if self.meter.fresh:
            self.meter.fresh = False
            self.meter.alive()
        return max(0.01, min(self.meter.tick, remaining))

    def spent(self) -> dict[str, Any]:
        """The limit, and whether the time went by without work."""
        ran, own = self.meter.ran - self.ran, self.meter.own - self.own
        return {"seconds": self.seconds, "slept": 2 * ran <= own}


def line_from(reader: int, deadline: LoadAwareDeadline) -> bytes:
    """The next bytes of a pipe, before a deadline; none at its end."""
    while not select.select([reader], [], [], deadline.left())[0]:
        pass
    return os.read(reader, 1 << 20)
