"""Time and memory that reading and mending one notebook may take. A file can be made to be slow."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from autograder.examiner.repair.reading import Unreadable
from autograder.model.record import ReasonKind

REPAIR_SECONDS = 60.0  # of processor time
MEMORY_TO_READ = 1 << 30  # bytes beyond what the process has already


class TooSlow(BaseException):
    """Reading took more processor time than a notebook needs. (No `except Exception` on the way stops it.)"""


@contextmanager
def within_limits() -> Iterator[None]:
    """Read and mend within the limits, or refuse. Only in a process that does nothing else and has one thread."""

    def too_slow(signum: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, REPAIR_SECONDS)
    try:
        with memory_limit():
            yield
    except TooSlow:
        raise Unreadable(ReasonKind.TOO_SLOW, seconds=REPAIR_SECONDS) from None
    except MemoryError:
        if machine_is_short():
            from autograder.examiner.deadline import MachineFault

            raise MachineFault("the machine has too little memory left to read the notebook") from None
        raise Unreadable(ReasonKind.TOO_MUCH_MEMORY, mb=MEMORY_TO_READ >> 20) from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def machine_is_short() -> bool:
    """Could a notebook not have been given that much, whatever is in it?"""
    if not sys.platform.startswith("linux"):
        return False
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < address_space() + MEMORY_TO_READ:
        return True  # whoever grades has a limit of their own
    with open("/proc/meminfo", encoding="ascii") as file:
        known = {name: int(rest.split()[0]) << 10 for name, _, rest in (line.partition(":") for line in file)}
    return known.get("MemAvailable", MEMORY_TO_READ) < MEMORY_TO_READ


def address_space() -> int:
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


@contextmanager
def memory_limit() -> Iterator[None]:
    """At most so much more than the process has already; on Linux, where it can be known."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource  # Windows has none

    used = address_space()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = used + MEMORY_TO_READ
    resource.setrlimit(resource.RLIMIT_AS, (wanted if soft == resource.RLIM_INFINITY else min(soft, wanted), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
