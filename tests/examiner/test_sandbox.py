"""What `course doctor` says of the sandbox is tried; memory that the kernel keeps is counted, with a cgroup and
without.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.examiner import cgroups, protections, sandbox
from autograder.examiner.pool import Pool
from autograder.inside import memory_watch
from autograder.model.course import CourseError

needs_sandbox = pytest.mark.skipif(sandbox.why_not() is not None, reason="there is no sandbox on this machine")
needs_group = pytest.mark.skipif(cgroups.place() is None, reason="no memory cgroup can be made on this machine")


LIMITS, SIGNALS = "memory, processor, process, file and output limits", "whoever ends or stops a process"


def by_name() -> dict[str, protections.Protection]:
    return {found.name.removeprefix("sandbox: "): found for found in protections.protections()}


# ---- doctor ----------------------------------------------------------------------------------------------------------


@needs_sandbox
def test_doctor_tries_every_protection() -> None:
    found = by_name()
    own_user = found.pop("a user of its own per submission")
    assert own_user.active == (os.geteuid() == 0)
    assert {name: one.detail for name, one in found.items() if not one.active} == {}


@needs_sandbox
def test_doctor_notices_a_filter_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "seccomp_known", lambda: False)
    found = by_name()["system calls refused (seccomp)"]
    assert not found.active
    assert "memfd_create" in found.detail


@needs_sandbox
def test_doctor_notices_a_sandbox_that_shows_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The course's own files are let in."""
    real, own = sandbox.command, Path(sandbox.__file__).parent

    def leaky(folder: Path, program: str) -> list[str]:
        line = real(folder, program)
        place = line.index("--remount-ro")
        parents = [word for parent in reversed(own.parents[:-1]) for word in ("--perms", "0755", "--dir", str(parent))]
        return [*line[:place], *parents, "--ro-bind", str(own), str(own), *line[place:]]

    monkeypatch.setattr(sandbox, "command", leaky)
    found = by_name()["files"]
    assert not found.active
    assert found.detail == "it reads a file of the grader's"


CLOSED_NETWORK = ("scratch.py", "NEWNS | NEWIPC | NEWNET | NEWUTS", "NEWNS | NEWIPC | NEWUTS")
PRIVATE_PROCESSES = ("scratch.py", '    system_call("unshare", NEWPID)\n', "")
HIDDEN_PROCESSES = ("scratch.py", '"hidepid=2"', '"hidepid=0"')
# What is taken out of the code inside the sandbox, the line of doctor's that must change, and what it must say.
BROKEN = {
    "processes": ([PRIVATE_PROCESSES, HIDDEN_PROCESSES], "other processes", "it sees other processes"),
    "network": ([CLOSED_NETWORK], "network", "reaches the machine's network"),
    "device times": (
        [("scratch.py", "for name in DEVICES:", "for name in ():")],
        "files",
        "sets the time of /dev/null",
    ),
    "user": ([], "a user of its own per submission", "uid 0"),
    "calls": (
        [("rights.py", "seccomp.install(seccomp.allowed())", "pass")],
        "system calls refused (seccomp)",
        "inotify",
    ),
    "/proc": ([("scratch.py", "    cover_proc()\n", "")], "counters of the machine", "sys/fs/aio-nr"),
    "files of processes": (
        [("rights.py", "        hide_process_files()", "        pass")],
        "counters of the machine",
        "smaps",
    ),
    "memory": ([("rights.py", "        resource.RLIMIT_AS: ", "        # ")], LIMITS, "could not be tried"),
    "size of a file": ([("rights.py", "        resource.RLIMIT_FSIZE: ", "        # ")], LIMITS, "the size of a file"),
    "processes of one": (
        [("rights.py", 'resource.RLIMIT_NPROC: settings["processes"],', "")],
        LIMITS,
        "number of processes",
    ),
    "processor time": ([("rights.py", 'resource.RLIMIT_CPU: settings["cpu_seconds"],', "")], LIMITS, "processor time"),
    "size of all files": ([("scratch.py", "size={share},", "")], LIMITS, "the size of all files"),
    "signals": (
        [("stops.py", "every = STOPPING_SIGNALS + ENDING_SIGNALS", "every = STOPPING_SIGNALS")],
        SIGNALS,
        "was not shown",
    ),
}


@needs_sandbox
@pytest.mark.parametrize("broken", BROKEN)
def test_each_line_of_doctor_s_changes_when_its_protection_is_taken_out(
    broken: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a copy of the code that runs inside."""
    changes, name, said = BROKEN[broken]
    if os.geteuid() != 0 and broken in ("user", "processes"):
        pytest.skip("as an ordinary user this is done in another way")
    shutil.copytree(sandbox.INSIDE, tmp_path / "inside")
    for file, before, after in changes:
        text = (tmp_path / "inside" / file).read_text(encoding="utf-8")
        assert text.count(before) >= 1
        (tmp_path / "inside" / file).write_text(text.replace(before, after), encoding="utf-8")
    monkeypatch.setattr(sandbox, "INSIDE", tmp_path / "inside")
    if broken == "user":
        monkeypatch.setattr(sandbox, "new_user", lambda: 0)
    if changes == [CLOSED_NETWORK]:
        real = sandbox.command
        monkeypatch.setattr(sandbox, "command", lambda *a: [one for one in real(*a) if one != "--unshare-net"])
    found = by_name()
    assert not found[name].active, found[name].detail
    assert said in found[name].detail
    others = [one.name for other, one in found.items() if other != name and not one.active]
    assert len(others) <= (os.geteuid() != 0) + 1, others  # one protection can be the ground of another one


@needs_sandbox
def test_doctor_says_which_memory_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "place", lambda: None)
    found = by_name()["memory that the kernel keeps for a process"]
    assert found.active, "without a cgroup the watch counts sockets at their full size"
    assert found.detail == protections.NO_CGROUP


def test_doctor_says_why_there_is_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "why_not", lambda: "no namespaces here")
    monkeypatch.setattr(sandbox, "why_no_users", lambda: "not root")
    found = by_name()
    assert not any(one.active for one in found.values())
    assert found["files"].detail == "no namespaces here"
    assert {one.advice for one in found.values()} == {"`course grade` refuses to run without a sandbox"}


def test_without_a_sandbox_nothing_is_graded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "why_not", lambda: "no namespaces here")
    monkeypatch.setattr(sandbox, "why_no_users", lambda: "not root")
    with pytest.raises(
        CourseError, match=r"no namespaces here\. `--unsafe` grades without a sandbox, with your rights"
    ):
        Pool(1, [], 1 << 20)


def test_users_are_chosen_among_those_that_there_are() -> None:
    """A container may have 65,536 of them."""
    assert sandbox.largest_uid("         0          0 4294967295\n") == 4294967294
    assert sandbox.largest_uid("         0       1000          1\n         1     100000      65535\n") == 65535
    assert sandbox.FIRST_UID <= sandbox.new_user() <= sandbox.FIRST_UID + sandbox.MOST_UIDS


# ---- cgroups ---------------------------------------------------------------------------------------------------------


def test_groups_are_made_below_the_own_one() -> None:
    groups = cgroups.own_group("9:name=systemd:/\n4:cpu,memory:/slurm/job7\n0::/\n")
    mounts = cgroups.mounted(
        "30 25 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,cpu,memory\n31 25 0:27 /"
        " /sys/fs/cgroup/unified rw - cgroup2 none rw\n"
    )
    assert next(cgroups.candidates(groups, mounts)) == (1, Path("/sys/fs/cgroup/memory/slurm/job7"))


def test_groups_are_found_in_a_container_that_sees_its_own_part() -> None:
    groups = cgroups.own_group("4:memory:/docker/abc/inner\n")
    mounts = cgroups.mounted("30 25 0:26 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")
    assert list(cgroups.candidates(groups, mounts)) == [(1, Path("/sys/fs/cgroup/memory/inner"))]


def test_version_2_uses_the_nearest_group_that_hands_memory_down(tmp_path: Path) -> None:
    leaf = tmp_path / "user.slice" / "app.slice" / "grade.scope"
    leaf.mkdir(parents=True)
    for folder, handed in (
        (leaf, ""),
        (leaf.parent, "memory pids"),
        (leaf.parent.parent, "memory"),
        (tmp_path, "cpu memory"),
    ):
        (folder / "cgroup.subtree_control").write_text(handed + "\n")
    mounts = {2: ("/", tmp_path)}
    found = [folder for _, folder in cgroups.candidates({2: "/user.slice/app.slice/grade.scope"}, mounts)]
    assert found == [leaf.parent, leaf.parent.parent, tmp_path]


FILL = """
import socket, sys, time
kept, held = [], 0
while held < 96 << 20:
    pair = socket.socketpair()
    kept += pair
    for sock in pair:
        sock.setblocking(False)
        try:
            while True: held += sock.send(bytes(100_000))
        except BlockingIOError: pass
print("held", flush=True)
time.sleep(60)
"""


@contextlib.contextmanager
def filler() -> Iterator[subprocess.Popen[str]]:
    """A process that holds a hundred megabytes in socket buffers; it starts with a word on its standard input."""
    code = "input()\nimport resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))\n" + FILL
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@needs_group
def test_group_counts_socket_buffers_and_is_removed() -> None:
    place = cgroups.place()
    assert place is not None
    group = cgroups.make(*place, 64 << 20)
    seen = memory_watch.Group(group.version, *group.fds)
    with filler() as process:
        seen.take(process.pid)
        assert process.stdin is not None
        print("go", file=process.stdin, flush=True)
        assert process.wait(60) == -9
    assert seen.ended() > 0
    group.close()
    group.remove()
    assert not group.folder.exists()


@needs_group
def test_groups_of_dead_graders_are_removed() -> None:
    place = cgroups.place()
    assert place is not None
    dead = subprocess.Popen(["true"])
    dead.wait()
    left, own = place[1] / f"course-{dead.pid}-0", cgroups.make(*place, 1 << 30)
    left.mkdir()
    cgroups.remove_stale()
    assert not left.exists()
    assert own.folder.exists()
    own.close()
    own.remove()


# ---- the watch -------------------------------------------------------------------------------------------------------


def opened(path: Path, text: str) -> int:
    path.write_text(text)
    return os.open(path, os.O_RDONLY)


def test_kernel_memory_of_a_version_2_group(tmp_path: Path) -> None:
    stat = opened(tmp_path / "stat", "anon 5\nkernel 4096\nkernel_stack 1\npagetables 2\nsock 100\n")
    events = opened(tmp_path / "events", "low 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n")
    group = memory_watch.Group(2, os.open(os.devnull, os.O_WRONLY), stat, events, os.dup(events), os.dup(events))
    assert (group.kernel_bytes(), group.ended(), group.reached_its_limit()) == (4196, 2, True)
    group.close()


@pytest.mark.parametrize(("above", "machine"), [(False, False), (True, True)])
@needs_group
def test_whoever_fills_the_group_is_told_from_a_machine_that_is_full(above: bool, machine: bool) -> None:
    """A group above it stands for the machine: the kernel counts a kill in the group of the process that it ends."""
    place = cgroups.place()
    assert place is not None
    outer = cgroups.make(*place, (32 if above else 256) << 20)
    inner = cgroups.make(place[0], outer.folder, 64 << 20)
    watch = memory_watch.MemoryWatch(1 << 40, memory_watch.Group(inner.version, *inner.fds), {}, list)
    with filler() as process:
        os.write(inner.fds[0], str(process.pid).encode())
        assert process.stdin is not None
        print("go", file=process.stdin, flush=True)
        assert process.wait(60) == -9
    assert (watch.kernel_ended_one(), watch.for_the_machine) == (True, machine)
    for group in (inner, outer):
        group.close()
        group.remove()


def watch(tmp_path: Path, memory_bytes: int, available_kb: int = 10**7) -> memory_watch.MemoryWatch:
    figures = {
        "meminfo": opened(
            tmp_path / "meminfo", f"MemTotal: 20000000 kB\nMemFree: 1 kB\nMemAvailable: {available_kb} kB\n"
        ),
        "self/net/unix": os.open("/proc/self/net/unix", os.O_RDONLY),
    }
    return memory_watch.MemoryWatch(memory_bytes, None, figures, lambda: [os.getpid()])


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_without_a_group_sockets_count_at_their_full_size(tmp_path: Path) -> None:
    seen = watch(tmp_path, 1 << 40)
    before = seen.kernel_bytes(0)
    kept = [sock for _ in range(50) for sock in socket.socketpair()]
    kept += [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(10)]
    assert (
        seen.kernel_bytes(0) - before > (100 + 10 * memory_watch.DATAGRAMS - 20) * memory_watch.SOCKET_BYTES
    )  # others may close some
    for sock in kept:
        sock.close()


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_a_full_machine_ends_who_uses_most_of_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def uses(share: float, available_kb: int) -> tuple[int | None, bool]:
        seen = watch(tmp_path, 1 << 30, available_kb)
        monkeypatch.setattr(seen, "by_process", lambda: ({7: int(share * 2**30), 8: 1}, 0))
        monkeypatch.setattr(seen, "kernel_bytes", lambda tables: 0)
        monkeypatch.setattr(memory_watch, "shares", lambda pids: dict(pids))
        return seen.too_large(), seen.for_the_machine

    plenty, little = 10**7, 10**5
    assert uses(0.6, plenty)[0] is None
    assert uses(0.6, little) == (7, True), "the machine's fault: it will be tried again"
    assert uses(0.4, little)[0] is None
    assert uses(1.3, plenty) == (7, False)
    assert uses(1.3, little) == (7, False), "whoever breaks its own limit is to blame on a full machine, too"


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_the_watch_works_without_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = memory_watch.MemoryWatch(1 << 30, None, {}, lambda: [7])
    monkeypatch.setattr(seen, "by_process", lambda: ({7: 6 << 27}, 0))
    assert (seen.too_large(), seen.kernel_ended_one()) == (None, False)
