"""A memory cgroup per submission, where the grader can make one.

The kernel then counts memory that no figure of a process shows.

The grader makes the group and gives open files of it to the submission's init, which puts every process of the student
into it. Version 1 needs root. Version 2 needs root, or a cgroup folder that belongs to the grader ("delegated").
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autograder.model.course import CourseError

PREFIX = "course-"
TABLES_OF_A_PROCESS = 4 << 20  # bytes that the kernel needs for one process
numbers = itertools.count()


@dataclass
class MemoryGroup:
    """A cgroup, and the files of it that the init of the submission works with."""

    folder: Path
    version: int
    fds: tuple[int, ...]

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)
        self.fds = ()

    def remove(self) -> None:
        """Remove the group, once its processes have ended."""
        with contextlib.suppress(OSError):  # a process has not ended yet: remove_stale will remove the group
            self.folder.rmdir()


def own_group(lines: str) -> dict[int, str]:
    """The paths of the memory cgroups of a process by version, from its /proc/PID/cgroup."""
    paths = {}
    for line in lines.splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            paths[1] = path
        elif not controllers:
            paths[2] = path
    return paths


def mounted(lines: str) -> dict[int, tuple[str, Path]]:
    """Where cgroups are mounted, by version, from /proc/PID/mountinfo: a cgroup, and the folder that shows it."""
    mounts = {}
    for line in lines.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        root, folder = before.split()[3:5]
        if kind == "cgroup2":
            mounts[2] = root, Path(folder)
        elif kind == "cgroup" and "memory" in options.split(","):
            mounts[1] = root, Path(folder)
    return mounts


def candidates(groups: dict[int, str], mounts: dict[int, tuple[str, Path]]) -> Iterator[tuple[int, Path]]:
    """Folders in which a group could be made, best first.

    Below the grader's own group, so that its limits hold for students, too.

    In version 2 a group with processes of its own gives no controller to groups below it: there, the nearest group
    above that does.
    """
    for version in sorted(groups.keys() & mounts.keys()):
        root, folder = mounts[version]
        path = groups[version]
        own = folder / (path.removeprefix(root) if path.startswith(root) else "").strip("/")
        if version == 1:
            yield 1, own
            continue
        for above in (own, *own.parents):
            if not above.is_relative_to(folder):
                break
            with contextlib.suppress(OSError):
                if "memory" in (above / "cgroup.subtree_control").read_text().split():
                    yield 2, above


@cache
def place() -> tuple[int, Path] | None:
    """Version and folder for groups: the first candidate in which a group can be made, limited and entered."""
    try:
        groups = own_group(Path("/proc/self/cgroup").read_text())
        mounts = mounted(Path("/proc/self/mountinfo").read_text())
    except OSError:
        return None  # not Linux
    for version, folder in candidates(groups, mounts):
        with contextlib.suppress(OSError):
            made = make(version, folder, 1 << 30)
            entered = can_be_entered(made)
            made.close()
            made.remove()
            if entered:
                return version, folder
    return None


def can_be_entered(group: MemoryGroup) -> bool:
    """Can a process be put into this group? A child of the grader tries it."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.write(group.fds[0], b"0")
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def make(version: int, folder: Path, most: int) -> MemoryGroup:
    """A group that may hold so many bytes."""
    made = folder / f"{PREFIX}{os.getpid()}-{next(numbers)}"
    made.mkdir()
    try:
        if version == 1:
            limits = {"memory.limit_in_bytes": most, "memory.memsw.limit_in_bytes": most}
            limits["memory.kmem.tcp.limit_in_bytes"] = most // 16
            needed, files = "memory.limit_in_bytes", ["memory.kmem.usage_in_bytes", "memory.oom_control"]
            files += ["memory.max_usage_in_bytes", "memory.limit_in_bytes"]
        else:
            limits = {"memory.max": most, "memory.swap.max": 0, "memory.oom.group": 0}
            needed, files = "memory.max", ["memory.stat", "memory.events", "memory.current", "memory.max"]
        for name, value in limits.items():
            if name == needed or (made / name).exists():
                (made / name).write_text(str(value))
        members = os.open(made / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
        readable = [os.open(made / name, os.O_RDONLY | os.O_CLOEXEC) for name in files]
    except OSError:
        made.rmdir()
        raise
    return MemoryGroup(made, version, (members, *readable))


def largest(memory_bytes: int, scratch_bytes: int, processes: int) -> int:
    """Bytes that a submission may hold: the rule of memory_watch.py, its scratch folders, tables for its processes."""
    return memory_bytes + memory_bytes // 4 + 2 * scratch_bytes + processes * TABLES_OF_A_PROCESS


def of_submission(limits: dict[str, int]) -> MemoryGroup | None:
    """A group for one submission; None on a machine where the grader can make none."""
    known = place()
    if known is None:
        return None
    try:
        return make(*known, largest(limits["memory_bytes"], limits["scratch_bytes"], limits["processes"]))
    except OSError as error:
        raise CourseError(f"no memory cgroup could be made in {known[1]}: {error.strerror}") from None


def remove_stale() -> None:
    """Remove groups of graders that have ended."""
    known = place()
    if known is None:
        return
    for folder in known[1].glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
