"""The processes of a submission: find them, collect those that have ended, kill them all."""

from __future__ import annotations

import contextlib
import os
import signal


def visible() -> set[int]:
    """All processes that /proc shows: in a pid namespace, those of the submission and init."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def descendants(root: int) -> list[int]:
    """The children of a process, their children, and so on."""
    parents: dict[int, int] = {}
    for pid in visible():
        with contextlib.suppress(OSError, IndexError, ValueError), open(f"/proc/{pid}/stat") as file:
            parents[pid] = int(file.read().rpartition(")")[2].split()[1])
    below = []
    for pid in parents:
        ancestor = pid
        while ancestor in parents and ancestor != root:
            ancestor = parents[ancestor]
        if ancestor == root and pid != root:
            below.append(pid)
    return below


def of_submission() -> list[int]:
    """Asked by init: every process but init itself.

    Without a namespace (init is not process 1) /proc shows all of the machine.
    """
    own = os.getpid()
    return descendants(own) if own != 1 else [pid for pid in visible() if pid != own]


def kill_all(namespaces: bool) -> None:
    """Asked by init: kill every process of the submission."""
    if namespaces:
        with contextlib.suppress(OSError):
            os.kill(-1, signal.SIGKILL)
    else:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with contextlib.suppress(OSError):
            for pid in descendants(os.getpid()):
                os.kill(pid, signal.SIGKILL)


def reap() -> None:
    """Collect children that have ended: until then they count towards the limit on processes."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def fork_after_reaping() -> int:
    """Fork; where the limit on processes is reached, collect ended children and try once more."""
    try:
        return os.fork()
    except OSError:
        reap()
        return os.fork()
