"""The processes of a submission: find them, collect those that have ended, kill them all."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

KILL_SECONDS = 10.0


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


def of_user(uid: int) -> list[int]:
    """The processes of a user that have not ended."""
    found = []
    for pid in visible():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file if line.startswith(("State:", "Uid:")))
            if int(lines["Uid"].split()[0]) == uid and lines["State"].split()[0] not in "ZX":
                found.append(pid)
    return found


def of_submission(settings: dict[str, Any]) -> list[int]:
    """Asked by init: every process of the submission but init itself."""
    own = os.getpid()
    if settings["namespaces"]:
        return [pid for pid in visible() if pid != own]
    return of_user(settings["uid"]) if settings["confined"] else descendants(own)


def kill_all(settings: dict[str, Any]) -> None:
    """Asked by init: kill every process of the submission."""
    if settings["namespaces"]:
        with contextlib.suppress(OSError):
            os.kill(-1, signal.SIGKILL)
    elif settings["confined"]:
        kill_user(settings["uid"])
    else:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with contextlib.suppress(OSError):
            for pid in descendants(os.getpid()):
                os.kill(pid, signal.SIGKILL)


def kill_user(uid: int) -> None:
    """Kill all processes of a user at once, by a process of that user: one by one, they could fork faster.

    They could also kill the one that kills, so it is done until nobody is left.
    """
    until = time.monotonic() + KILL_SECONDS
    while of_user(uid) and time.monotonic() < until:
        pid = os.fork()
        if not pid:
            try:
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
                os.kill(-1, signal.SIGKILL)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)


def reap() -> None:
    """Collect children that have ended: until then they count towards the limit on processes."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def reap_these(pids: set[int]) -> None:
    """Collect those of these children that have ended. Others are the student's code's, which may wait for them."""
    for pid in list(pids):
        try:
            ended = os.waitpid(pid, os.WNOHANG)[0]
        except ChildProcessError:  # somebody has collected it
            ended = pid
        if ended:
            pids.discard(pid)


def fork_after_reaping() -> int:
    """Fork; where the limit on processes is reached, collect ended children and try once more."""
    try:
        return os.fork()
    except OSError:
        reap()
        return os.fork()
