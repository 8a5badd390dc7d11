"""What the kernel says about a process: processor time and memory.

Read from outside, nothing in the process can change it.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import time
from typing import NamedTuple

USUALLY_KEPT = 80 << 20  # bytes that cells leave in a process: libraries they load, data, models, gaps in the heap
PROCESS_CLOCK = 2  # the kernel's clock of a process is numbered by the process and this
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of glibc's `mallopt`
NEVER, USUAL = (1 << 30, 1 << 30), (64 << 20, 32 << 20)  # what glibc itself comes to, where large tensors are freed


class Memory(NamedTuple):
    """Bytes: in memory now, at most so far, and of what is there now the process's own (no files).

    Pages that it shares with nobody are no measure: they become more when another process ends.
    """

    now: int
    peak: int
    own: int


class Spent(NamedTuple):
    """Processor seconds of a call, and by how many bytes the process was larger at its peak than when it began to be
    tested.

    `kept`: bytes beyond what is usual that the notebook's cells had left there before. A call can write over them, and
    no figure grows.
    """

    seconds: float
    bytes: int
    kept: int = 0


class Meter:
    """Processor time and memory of one call in a process. None of it can be had where there is no /proc (macOS)."""

    def __init__(self, pid: int, at_first: Memory | None = None) -> None:
        self.pid = pid
        with contextlib.suppress(OSError), open(f"/proc/{pid}/clear_refs", "w") as file:
            file.write("5")  # the high-water mark starts anew
        self.memory = memory(pid)
        self.at_first = at_first or self.memory
        self.seconds = processor_seconds(pid)

    def read(self) -> Spent | None:
        seconds, after = processor_seconds(self.pid), memory(self.pid)
        if after is None or self.memory is None or self.at_first is None:
            return None
        kept = max(0, self.memory.own - self.at_first.own)  # from earlier calls of the same test
        return Spent(seconds - self.seconds, after.peak - self.memory.now + kept)


def keep_freed_memory(keep: bool = True) -> None:
    """From here on this process keeps freed memory for what comes next; what was freed before goes back now.

    Otherwise a tensor above some size is new memory each time, whose pages the kernel clears: a loop with one such
    tensor a step takes many times as long at four times the size, and looks quadratic.
    """
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None)
    with contextlib.suppress(AttributeError):  # another C library than glibc
        for threshold, size in zip((TRIM_THRESHOLD, MMAP_THRESHOLD), NEVER if keep else USUAL, strict=True):
            libc.mallopt(threshold, size)
        libc.malloc_trim(0)


def processor_seconds(pid: int) -> float:
    """Of a process, read from outside."""
    try:
        return time.clock_gettime((~pid << 3) | PROCESS_CLOCK)
    except OSError:
        return 0.0


def parent(pid: int) -> int:
    """The process that started this one; 0 where that is not known."""
    with contextlib.suppress(OSError, StopIteration), open(f"/proc/{pid}/status") as file:
        return int(next(line for line in file if line.startswith("PPid:")).split()[1])
    return 0


def memory(pid: int) -> Memory | None:
    found = fields(f"/proc/{pid}/status")
    if not {"VmRSS", "VmHWM", "RssAnon"} <= found.keys():
        return None
    return Memory(found["VmRSS"], found["VmHWM"], found["RssAnon"])


def fields(path: str) -> dict[str, int]:
    """The sizes in one of the kernel's tables, in bytes; nothing where it cannot be read."""
    found = {}
    with contextlib.suppress(OSError), open(path) as file:
        for line in file:
            name, _, rest = line.partition(":")
            if rest.endswith(" kB\n"):
                found[name] = int(rest.split()[0]) * 1024
    return found
