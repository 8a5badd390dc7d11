"""What a call cost as the kernel counts it.

Student code can change a counter in its own process, but not the kernel's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from autograder.model.record import ReasonKind
from helpers.checks import meter

if TYPE_CHECKING:
    from autograder.examiner.bridge import Bridge

# How many processes and threads there have been so far, and the processor seconds of the clones that wait for other
# tests: they could do the work of the one that is tested.
Started = Callable[[], tuple[int, float]]

IDLE_SECONDS = 0.02  # processor time of clones that only wait


def worked_elsewhere(before: tuple[int, float], now: tuple[int, float]) -> bool:
    """Was there a new process or thread, or did a waiting clone work?"""
    return now[0] != before[0] or now[1] - before[1] > IDLE_SECONDS


def usage(pid: int) -> tuple[float, int]:
    """Processor seconds and memory high-water mark (bytes) of a process."""
    return meter.processor_seconds(pid), meter.fields(f"/proc/{pid}/status").get("VmHWM", 0)


def kills_for_memory() -> int:
    """How many processes the kernel has ended on this machine because there was no memory left."""
    with contextlib.suppress(OSError), open("/proc/vmstat") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("oom_kill ")), 0)
    return 0


class KernelCost:
    """Processor time and memory of a call. The margins are wide: a count beyond them was not made by our counter."""

    SECONDS, SECONDS_EACH, MOST_OPERATIONS, RATE = 2.0, 0.001, 20_000, 1e7
    BYTES, TENSORS = 64 << 20, 64

    def __init__(self, pid: int, started: Started) -> None:
        self.pid, self.started = pid, started
        self.before = started()
        with contextlib.suppress(OSError), open(f"/proc/{pid}/clear_refs", "w") as file:
            file.write("5")  # resets the high-water mark
        self.seconds, self.peak = usage(pid)

    def contradiction(self, flops: int, largest: int, operations: int) -> ReasonKind | None:
        """Why these counts cannot be true; None if they can.

        Without numbers: student code chooses them, and could tell a hidden input that way.
        """
        seconds, peak = usage(self.pid)
        if worked_elsewhere(self.before, self.started()):
            return ReasonKind.PROCESSES_WHERE_COUNTED
        if peak - self.peak > self.BYTES + self.TENSORS * 8 * largest:
            return ReasonKind.UNCOUNTED_MEMORY
        most = self.SECONDS + self.SECONDS_EACH * min(operations, self.MOST_OPERATIONS) + flops / self.RATE
        if seconds - self.seconds > most:
            return ReasonKind.UNCOUNTED_WORK
        return None


class ProcessMeter(meter.Meter):
    """A meter of the student's process.

    The test ends where another process did the work, which the meter does not see.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.bridge, self.before = bridge, bridge.started()
        super().__init__(bridge.pid, bridge.memory_before)

    def read(self) -> meter.Spent | None:
        spent = super().read()
        if worked_elsewhere(self.before, self.bridge.started()):
            self.bridge.end(ReasonKind.PROCESSES_WHERE_COUNTED)
        before, without_cells = self.bridge.memory_before, self.bridge.memory_without_cells
        if spent is None or before is None or without_cells is None:
            return spent
        return spent._replace(kept=max(0, before.own - without_cells.own - meter.USUALLY_KEPT))
