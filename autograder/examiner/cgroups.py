"""A memory cgroup per submission, where the grader can make one: the kernel then counts what no figure of a process shows.

The grader makes the group and gives open files of it to the init of the submission, which puts every process of the student into it.
Version 1 needs root; version 2 a folder of cgroups that is the grader's own ("delegated"), or root.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autograder.course import CourseError

PREFIX = "course-"
TABLES_OF_A_PROCESS = 4 << 20  # memory that the kernel needs for one process
numbers = itertools.count()


@dataclass
class MemoryGroup:
    """A cgroup, and the files of it that the init of the submission works with."""

    folder: Path
    version: int
    fds: tuple[int, int, int]

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)
        self.fds = (-1, -1, -1)

    def remove(self) -> None:
        """The group of a submission whose processes are gone."""
        with contextlib.suppress(OSError):  # what still ends in it is removed with the stale ones
            self.folder.rmdir()


def own_group(lines: str) -> dict[int, str]:
    """The paths of the memory cgroups of a process by version, from its /proc/PID/cgroup."""
    found = {}
    for line in lines.splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            found[1] = path
        elif not controllers:
            found[2] = path
    return found


def mounted(lines: str) -> dict[int, tuple[str, Path]]:
    """Where cgroups are mounted, by version: the cgroup that is seen there, and the folder. From /proc/PID/mountinfo."""
    found = {}
    for line in lines.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        root, folder = before.split()[3:5]
        if kind == "cgroup2":
            found[2] = root, Path(folder)
        elif kind == "cgroup" and "memory" in options.split(","):
            found[1] = root, Path(folder)
    return found


def candidates(groups: dict[int, str], mounts: dict[int, tuple[str, Path]]) -> Iterator[tuple[int, Path]]:
    """Folders in which a group could be made, best first: below the grader's own, so that what limits the grader limits its students.

    In version 2 a group that has processes hands no controller down: there it is the nearest one above that does.
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
    """Version and folder for groups: the first in which one can be made and limited; None where there is none."""
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
    """A process of the grader's tries it."""
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
            limits = {"memory.limit_in_bytes": most, "memory.memsw.limit_in_bytes": most, "memory.kmem.tcp.limit_in_bytes": most // 16}
            needed, files = "memory.limit_in_bytes", ("memory.kmem.usage_in_bytes", "memory.oom_control")
        else:
            limits = {"memory.max": most, "memory.swap.max": 0, "memory.oom.group": 0}
            needed, files = "memory.max", ("memory.stat", "memory.events")
        for name, value in limits.items():
            if name == needed or (made / name).exists():
                (made / name).write_text(str(value))
        members = os.open(made / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
        kernel, events = (os.open(made / name, os.O_RDONLY | os.O_CLOEXEC) for name in files)
    except OSError:
        made.rmdir()
        raise
    return MemoryGroup(made, version, (members, kernel, events))


def largest(memory_bytes: int, scratch_bytes: int, processes: int) -> int:
    """What a submission may hold at most: the rule of memory_watch.py, its scratch folders, and the tables of its processes."""
    return memory_bytes + memory_bytes // 4 + 2 * scratch_bytes + processes * TABLES_OF_A_PROCESS


def of_submission(limits: dict[str, int]) -> MemoryGroup | None:
    """A group for one submission; None on a machine where the grader can make none."""
    found = place()
    if found is None:
        return None
    try:
        return make(*found, largest(limits["memory_bytes"], limits["scratch_bytes"], limits["processes"]))
    except OSError as error:
        raise CourseError(f"no memory cgroup could be made in {found[1]}: {error.strerror}") from None


def remove_stale() -> None:
    """Groups of graders that are gone."""
    found = place()
    if found is None:
        return
    for folder in found[1].glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
