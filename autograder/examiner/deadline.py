"""Time limits that mean the same on an idle and on an overloaded machine.

What the kernel says about the processes of a submission divides every moment into three: they ran, or they slept (both are the
submission's own time, and the limits are on that), or the machine kept them from running: they stood in the queue for a processor, or
somebody outside stopped or froze them. A submission that has used its own time is late. One that the machine kept waiting for far longer
than that is nobody's fault: a `MachineFault`, which ends in no verdict at all.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from autograder.examiner import wire

PATIENCE = 10.0  # times its limit, that something may wait for a processor before it is given up
SHORTEST, LONGEST = 0.05, 0.5  # seconds between two looks at the processes
LOOKS = 16  # in the shortest of the limits
TICKS = os.sysconf("SC_CLK_TCK")
CGROUPS = "/sys/fs/cgroup"


class MachineFault(Exception):
    """The machine kept a result from being had. The submission is not graded, and tried again."""


class Task(NamedTuple):
    """One thread as the kernel sees it: seconds on a processor, seconds in the queue for one, how often it got one, and its state."""

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
    """What the kernel says about these processes and all below them. What ends meanwhile is left out."""
    found = Snapshot()
    left, seen = list(roots), set(roots)
    while left:
        pid = left.pop()
        try:
            threads = os.listdir(f"/proc/{pid}/task")
            fields = text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()
        except OSError:
            continue
        found.ended += (int(fields[13]) + int(fields[14])) / TICKS
        for thread in threads:
            with contextlib.suppress(OSError, ValueError, IndexError):
                place = f"/proc/{pid}/task/{thread}"
                ran, queued, turns = text_of(f"{place}/schedstat").split()
                state = text_of(f"{place}/stat").rpartition(")")[2].split()[0]
                found.tasks[int(thread)] = Task(int(ran) / 1e9, int(queued) / 1e9, int(turns), state)
                children = [int(child) for child in text_of(f"{place}/children").split()]
                if children:
                    found.parents.add(pid)
                left += [child for child in children if child not in seen]
                seen.update(children)
    return found


def text_of(path: str) -> str:
    with open(path) as file:
        return file.read()


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

    `roots` are the processes that count, with all below them: the one that examines, and the first one of the sandbox. `main` is the one
    that the student's code runs in at the moment; `stopped_inside` says whether a signal that stops processes was sent inside the sandbox.
    """

    def __init__(self, roots: tuple[int, ...], shortest_limit: float) -> None:
        self.roots = roots
        self.tick = min(LONGEST, max(SHORTEST, shortest_limit / LOOKS))
        self.main = 0
        self.stopped_inside: Callable[[], bool] = lambda: False
        self.alive: Callable[[], None] = lambda: None  # told at every look that finds all limits kept
        self.fresh = False
        self.own = self.ran = self.queued = self.held = 0.0  # seconds, since the start
        self.at = time.monotonic()
        self.counted = 0.0  # seconds of threads that ended, counted while they were there, not yet on their parents' accounts
        self.doubtful = 0.0  # own time that may turn out to have been the beginning of a wait
        self.waiting: dict[int, float] = {}  # threads in the queue, and how much of their wait has been counted
        self.looking = False
        self.known = os.path.exists("/proc/self/schedstat")  # elsewhere the clock on the wall is all there is
        self.last = snapshot(roots) if self.known else Snapshot()

    def follow(self, roots: tuple[int, ...]) -> None:
        """From now on, these count."""
        self.look()
        self.roots = roots
        self.last = snapshot(roots) if self.known else Snapshot()
        self.counted = 0.0

    def look(self) -> None:
        """Account for the time since the last look, unless that was just now."""
        if self.looking or time.monotonic() - self.at < self.tick:
            return
        self.looking = True  # a timer may ask in the middle of it
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
        # Whoever looks is meant to look once a tick. Where it could not, without having worked, it was kept from running itself.
        seen = min(passed, max(2 * self.tick, ran))
        held = seen if self.is_held(before) else 0.0
        queued = self.kept_waiting(before, passed, each, ended)
        # A wait is on the kernel's account only when it is over: it may have begun when the last look took the time for the submission's.
        queued = 0.0 if held else min(queued, seen + self.doubtful)
        if queued != seen:  # that wait, if there was one, is over
            self.doubtful = max(0.0, seen - held - queued)
        self.ran += ran
        self.held += held
        self.queued += queued + passed - seen
        self.own += seen - held - queued

    def ran_by_thread(self, before: Snapshot) -> dict[int, float]:
        """Processor seconds since the last look, of those that are there."""
        new = Task(0.0, 0.0, 0, "")
        return {thread: max(0.0, task.ran - before.tasks.get(thread, new).ran) for thread, task in self.last.tasks.items()}

    def ran_unseen(self, before: Snapshot) -> float:
        """Processor seconds of what came and went between two looks.

        Whoever ends is added, whole, to the account of its parent: what was counted while it was there is not counted again.
        """
        self.counted += sum(task.ran for thread, task in before.tasks.items() if thread not in self.last.tasks)
        more = self.last.ended - before.ended
        found = max(0.0, more - self.counted)
        self.counted = max(0.0, self.counted - more)
        return found

    def kept_waiting(self, before: Snapshot, seconds: float, ran: dict[int, float], ended: float) -> float:
        """How long some thread wanted a processor, since the last look, while no other one of the same submission had it.

        One that stands in the queue without having had a turn has waited all the time, though the kernel has not counted it yet. While one
        thread waits for another of the same submission, that is no fault of the machine: what the others ran is taken off. (The roots are
        no such others: they run nothing of the student's.)
        """
        new = Task(0.0, 0.0, 0, "")
        tasks = self.last.tasks
        total = sum(amount for thread, amount in ran.items() if thread not in self.roots) + ended
        longest, waiting = 0.0, {}
        for thread, task in tasks.items():
            old = before.tasks.get(thread, new)
            counted = self.waiting.get(thread, 0.0)
            if task.state == "R" and thread in before.tasks and task.turns == old.turns and not ran[thread]:
                queued, waiting[thread] = seconds, counted + seconds
            else:
                queued = task.queued - old.queued - counted
            longest = max(longest, queued - total + (0.0 if thread in self.roots else ran[thread]))
        self.waiting = waiting
        return longest

    def is_held(self, before: Snapshot) -> bool:
        """Has somebody outside kept the student's process from running all the time: stopped it, froze it, or made it wait for a disk?"""
        then, now = before.tasks.get(self.main), self.last.tasks.get(self.main)
        if then is None or now is None or now.turns != then.turns:
            return False
        if now.state in "Tt":
            return not self.stopped_inside()
        if now.state == "D":  # a disk, or swapped memory; but who has a child may be waiting for it (vfork)
            return self.main not in self.last.parents
        return now.state == "S" and held_from_outside(self.main)


class LoadAwareDeadline(wire.Deadline):
    """A limit on a submission's own time. Where the machine takes far more than that, it gives up without a verdict."""

    def __init__(self, meter: KernelMeter, seconds: float) -> None:
        meter.look()
        self.meter, self.seconds = meter, seconds
        self.own, self.ran, self.queued, self.held = meter.own, meter.ran, meter.queued, meter.held

    def remaining(self) -> float:
        """Of the submission's own time; nothing or less where it has been used up, asleep or on processors."""
        self.meter.look()
        return self.seconds - max(self.meter.own - self.own, self.meter.ran - self.ran)

    def left(self) -> float:
        """Seconds until the next look is due."""
        remaining = self.remaining()
        if remaining <= 0:
            raise wire.Late
        if self.meter.held - self.held >= self.seconds:
            raise MachineFault(f"the student's process was stopped or frozen from outside for {self.meter.held - self.held:.0f} s")
        if self.meter.queued - self.queued >= PATIENCE * self.seconds:
            waited = self.meter.queued - self.queued
            raise MachineFault(f"the machine is too busy: the student's code waited {waited:.0f} s for a processor")
        if self.meter.fresh:
            self.meter.fresh = False
            self.meter.alive()
        return max(0.01, min(self.meter.tick, remaining))

    def how(self) -> str:
        """What the time went into, for the reason."""
        ran, own = self.meter.ran - self.ran, self.meter.own - self.own
        return f"within {self.seconds:g} s" + ("" if 2 * ran > own else ": it slept or waited")


def line_from(reader: int, deadline: LoadAwareDeadline) -> bytes:
    """What arrives next in a pipe, before a deadline; nothing at its end."""
    while not select.select([reader], [], [], deadline.left())[0]:
        pass
    return os.read(reader, 1 << 20)
