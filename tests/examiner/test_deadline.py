"""Whose fault it is that something is not done: told by what the kernel says about real processes, here on an
overloaded processor.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from autograder.examiner import deadline
from autograder.inside import wire

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's figures are Linux's")
SECONDS = 0.6  # the limit of every process below
ONE = min(os.sched_getaffinity(0)) if sys.platform == "linux" else 0
SPIN = "while True: pass"
SLEEP = "import time; time.sleep(1000)"
FREEZER = Path("/sys/fs/cgroup/freezer")
UNIFIED = next(
    (path for path in (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")) if (path / "cgroup.procs").exists()),
    None,
)


@contextlib.contextmanager
def process(code: str) -> Iterator[int]:
    """A process that runs this, once it has started to, and ends with everything it started."""
    line = [sys.executable, "-c", f"print(flush=True)\n{code}"]
    started = subprocess.Popen(line, stdout=subprocess.PIPE, process_group=0)  # in our session: there, priorities count
    assert started.stdout is not None
    try:
        started.stdout.readline()
        yield started.pid
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        started.stdout.close()


@contextlib.contextmanager
def no_processor_for(*pids: int) -> Iterator[None]:
    """These get almost nothing of one processor, for which others compete."""
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            os.sched_setaffinity(stack.enter_context(process(SPIN)), {ONE})
        for pid in pids:
            os.sched_setaffinity(pid, {ONE})
            os.setpriority(os.PRIO_PROCESS, pid, 19)
        yield


def wait(limit: deadline.LoadAwareDeadline) -> NoReturn:
    while True:
        select.select([], [], [], limit.left())


WORKED, SLEPT = "worked", "slept"  # how a process spent the time that was its own


def verdict(pid: int, inside: bool = False, seconds: float = SECONDS) -> str:
    """What a wait for this process ends with."""
    meter = deadline.KernelMeter((pid,), seconds)
    meter.main, meter.stopped_inside = pid, lambda: inside
    limit = deadline.LoadAwareDeadline(meter, seconds)
    try:
        wait(limit)
    except wire.DeadlinePassed:
        return SLEPT if limit.spent()["slept"] else WORKED
    except deadline.MachineFault as fault:
        return str(fault)


def test_who_used_up_its_processor_time_is_late() -> None:
    with process(SPIN) as pid:
        assert verdict(pid) == WORKED


def test_processor_time_of_all_its_processes_counts() -> None:
    with process(f"import os\nos.fork(); os.fork()\n{SPIN}") as pid:
        meter = deadline.KernelMeter((pid,), SECONDS)
        limit = deadline.LoadAwareDeadline(meter, SECONDS)
        with pytest.raises(wire.DeadlinePassed):
            wait(limit)
        assert meter.ran > 0.5 * SECONDS


def test_processor_time_of_a_process_that_ended_counts_once() -> None:
    """It was counted while it ran; then the kernel adds it to its parent's account."""
    spin = "until = time.process_time() + 0.8\n    while time.process_time() < until: pass\n    os._exit(0)"
    with process(f"import os, time\nif not os.fork():\n    {spin}\nos.wait()\n{SLEEP}") as pid:
        meter = deadline.KernelMeter((pid,), SECONDS)
        while not (child := deadline.snapshot((pid,)).ended):
            meter.look()
            select.select([], [], [], meter.tick)
        meter.at -= meter.tick
        meter.look()
        assert 0.5 * child < meter.ran < 1.5 * child


@pytest.mark.parametrize("way", [SLEEP, "import os; os.read(os.pipe()[0], 1)", "import signal; signal.pause()"])
def test_who_sleeps_or_waits_is_late_on_an_overloaded_machine_too(way: str) -> None:
    with process(way) as pid, no_processor_for(pid):
        assert verdict(pid) == SLEPT


def test_who_wants_a_processor_and_gets_none_is_not_late() -> None:
    with process(SPIN) as pid, no_processor_for(pid):
        assert "too busy" in verdict(pid, seconds=0.3)


TAKING_TURNS = """
import os
to_child, to_parent = os.pipe(), os.pipe()
if os.fork():
    read, write = to_parent[0], to_child[1]
    os.write(write, b"x")
else:
    read, write = to_child[0], to_parent[1]
while os.read(read, 1):
    for _ in range(5000):
        pass
    os.write(write, b"x")
"""


def test_two_that_take_turns_have_waited_for_both() -> None:
    """As the examiner and a student's process do when answers call back, here beside others that want the processor."""
    with contextlib.ExitStack() as stack:
        pid = stack.enter_context(process(TAKING_TURNS))
        while not (partner := deadline.text_of(f"/proc/{pid}/task/{pid}/children")):
            pass
        for one in (pid, int(partner), *(stack.enter_context(process(SPIN)) for _ in range(6))):
            os.sched_setaffinity(one, {ONE})
        meter = deadline.KernelMeter((pid,), 4.0)
        while meter.ran < 0.15:
            meter.look()
            select.select([], [], [], meter.tick)
    assert 0 <= meter.own < 2 * meter.ran, (meter.own, meter.ran, meter.queued)


def test_who_waits_for_its_own_processes_is_late() -> None:
    """Many that spin make the first one wait for a processor: that is no load of the machine's."""
    crowd = (
        f"import os\nos.sched_setaffinity(0, {{{ONE}}})\nfor _ in range(6):\n    if not os.fork():\n       "
        f" {SPIN}\nos.nice(19)\n{SPIN}"
    )
    with process(crowd) as pid:
        assert verdict(pid) in (WORKED, SLEPT)


def test_who_was_stopped_from_outside_is_not_late_and_who_stopped_itself_is() -> None:
    with process(SPIN) as pid:
        os.kill(pid, signal.SIGSTOP)
        assert "from outside" in verdict(pid)
    with process("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)") as pid:
        assert verdict(pid, inside=True) == SLEPT


def test_who_goes_on_after_a_stop_has_lost_nothing() -> None:
    with process(SPIN) as pid:
        meter = deadline.KernelMeter((pid,), SECONDS)
        meter.main = pid
        os.kill(pid, signal.SIGSTOP)
        limit = deadline.LoadAwareDeadline(meter, SECONDS)
        while meter.held < SECONDS / 2:
            select.select([], [], [], limit.left())
        assert limit.remaining() > SECONDS / 2
        os.kill(pid, signal.SIGCONT)
        with pytest.raises(wire.DeadlinePassed):
            wait(limit)
        assert meter.ran > SECONDS / 2


@pytest.mark.parametrize("version", [1, 2])
def test_who_was_frozen_from_outside_is_not_late(version: int) -> None:
    root, switch, off, on = (
        (FREEZER, "freezer.state", "THAWED", "FROZEN") if version == 1 else (UNIFIED, "cgroup.freeze", "0", "1")
    )
    if root is None or not os.access(root / "cgroup.procs", os.W_OK):
        pytest.skip(f"there is no freezer of version {version} that we may use")
    group = root / f"course-test-{os.getpid()}"
    group.mkdir()
    try:
        with process(SPIN) as pid:
            (group / "cgroup.procs").write_text(str(pid))
            (group / switch).write_text(on)
            try:
                assert "from outside" in verdict(pid)
            finally:
                (group / switch).write_text(off)
    finally:
        group.rmdir()


def test_time_in_which_whoever_looks_was_stopped_counts_for_nobody() -> None:
    """The examiner stands still with everybody else where the machine sleeps, or somebody freezes all of it."""
    with process(SLEEP) as pid:
        meter = deadline.KernelMeter((pid,), SECONDS)
        meter.at -= 100 * SECONDS  # the last look was long ago, and nobody has run since
        meter.look()
        assert meter.own <= 2 * meter.tick
        assert meter.queued > 90 * SECONDS


def test_a_clock_is_all_there_is_elsewhere() -> None:
    meter = deadline.KernelMeter((os.getpid(),), SECONDS)
    meter.known = False
    limit = deadline.LoadAwareDeadline(meter, SECONDS)
    with pytest.raises(wire.DeadlinePassed):
        wait(limit)
