"""What the machine does to a run is nobody's zero: processes that are killed, stopped or starved while others have
their results.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from attacks import Attack
from classroom import gradebook, hand_in
from course import ANSWERS, FULL, LIMITS, NAME, make

from autograder.classroom import grade
from autograder.examiner import sandbox
from autograder.model import course as courses

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sandbox.why_not() is not None, reason="the student's processes are told by their namespaces"),
]
# A submission that takes a while: asleep, at work (seconds of processor time), and then right.
BUSY = "import time\ntime.sleep(0.5)\nuntil = time.process_time() + 0.7\nwhile time.process_time() < until: pass"
STUDENTS = ("ada", "ben", "cleo", "dan", "eve", "fay")


@pytest.fixture(scope="module")
def cold() -> Iterator[None]:
    """The processes to be killed are this grader's own: none of them is forked from a warm process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_WARM", "0")
        yield


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, cold: None) -> Path:
    """A class with full marks. Every test grades it once more."""
    root = tmp_path_factory.mktemp("faults")
    course, assignment = make(root)
    for student in STUDENTS:
        hand_in(root, assignment, student, Attack("busy", cells=(("setup", BUSY),)))
    found = grade.grade(course, assignment, workers=2)
    assert (found.failed, [row["score"] for row in found.rows]) == ([], [FULL] * len(STUDENTS))
    return root


def again(
    root: Path, told: Callable[[dict[str, Any], int, int], None] = lambda row, done, total: None, student: str = "*"
) -> grade.Summary:
    course = courses.load(root)
    return grade.grade(course, course.assignments[0], workers=2, force=True, on_result=told, student=student)


def nothing_is_lost(root: Path, found: grade.Summary, before: Any) -> None:
    assert (found.failed, found.not_graded) == ([], [])
    assert {row["student"]: (row["score"], row["lost"]) for row in found.rows} == dict.fromkeys(STUDENTS, (FULL, {}))
    assert gradebook(root) == before


# ---- who is who ------------------------------------------------------------------------------------------------------


def kinds() -> dict[str, list[int]]:
    """The processes of the run in this process, by what they are. (The youngest come last.)"""
    parents, lines, inner = {}, {}, {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = int(entry.name)
            parents[pid] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            lines[pid] = (entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
            inner[pid] = next(
                line.split()[1:] for line in (entry / "status").read_text().splitlines() if line.startswith("NSpid:")
            )
    below = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in below} - below:
        below |= more
    found: dict[str, list[int]] = {}
    for pid in sorted(below & set(inner)):
        depth = len(inner[pid]) - len(inner[os.getpid()])
        if "autograder.examiner.worker" in lines[pid]:
            above = [
                one
                for one in (parents[pid], parents.get(parents[pid]))
                if "autograder.examiner.worker" in lines.get(one or 0, "")
            ]
            found.setdefault(["pool", "worker", "examiner"][len(above)], []).append(pid)
        elif lines[pid].startswith(str(sandbox.bubblewrap())):
            found.setdefault("bubblewrap", []).append(pid)
        elif depth == 1 and "inside.nursery" in lines[pid]:
            found.setdefault("nursery", []).append(pid)
        elif depth == 2:
            found.setdefault("init" if inner[pid][-1] == "1" else "student", []).append(pid)
    return found


def one(kind: str) -> int:
    """Wait for a process of this kind."""
    for _ in range(3000):
        if pids := kinds().get(kind):
            return pids[0]
        time.sleep(0.02)
    raise AssertionError(f"there is no {kind}")


@contextlib.contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    yield
    thread.join(60)
    assert not thread.is_alive()


# ---- kills -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "victims",
    [
        pytest.param(("examiner", "student", "init"), id="examiner, student and init"),
        pytest.param(("worker", "nursery"), id="worker and nursery"),
        pytest.param(("bubblewrap", "pool"), id="bubblewrap and pool", marks=pytest.mark.thorough),
    ],
)
def test_whoever_is_killed_while_there_are_results_no_score_is_lost(graded: Path, victims: tuple[str, ...]) -> None:
    before = gradebook(graded)
    left = list(victims)
    results = threading.Semaphore(0)

    def kill_some() -> None:
        while left:
            results.acquire()
            with contextlib.suppress(
                ProcessLookupError
            ):  # it ended by itself before it was hit: the next one of its kind
                os.kill(one(left[0]), signal.SIGKILL)
                left.pop(0)
                continue
            results.release()

    with meanwhile(kill_some):
        found = again(graded, lambda row, done, total: results.release())
    assert not left
    nothing_is_lost(graded, found, before)


def test_what_is_killed_each_time_is_not_graded_nothing_is_written_and_the_next_run_tries_again(graded: Path) -> None:
    before = gradebook(graded)
    record = graded / "autograded" / "ada" / NAME / "grading.json"
    text = record.read_text()
    over = threading.Event()

    def kill_all() -> None:
        while not over.is_set():
            for pid in kinds().get("examiner", []):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    (graded / "submitted" / "ada" / NAME / "note.txt").write_text("a change")
    with meanwhile(kill_all):
        course = courses.load(graded)
        found = grade.grade(course, course.assignments[0], workers=2)
        over.set()
    assert (found.rows, found.not_graded, len(found.failed)) == ([], ["ada"], 1)
    assert gradebook(graded) == before
    assert record.read_text() == text
    after = grade.grade(courses.load(graded), course.assignments[0], workers=2)
    assert ([row["student"] for row in after.rows], after.skipped, after.failed) == (["ada"], len(STUDENTS) - 1, [])


# A submission that can be met in every state: its process with copies that wait, and a copy that is being tested.
LONG = Attack(
    "long",
    cells=(("top_words", "import time\ntime.sleep(1)"),),
    answers={"shout": "import time\n" + ANSWERS["shout"].replace("    return", "    time.sleep(1)\n    return")},
)


def state_of(pid: int, everyone: list[int]) -> str:
    """What a process of the student's is at the moment."""
    try:
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        if parent in everyone:
            return "copy that waits"
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        tested = Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"
    except OSError:
        return "gone"
    return "copy under test" if tested else "student's process" if len(children) > 2 else "too early"


@pytest.fixture(scope="module")
def one_long(tmp_path_factory: pytest.TempPathFactory, cold: None) -> Path:
    root = tmp_path_factory.mktemp("long")
    course, assignment = make(root)
    hand_in(root, assignment, "ada", LONG)
    found = grade.grade(course, assignment, workers=1)
    assert (found.failed, [row["score"] for row in found.rows]) == ([], [FULL])
    return root


@pytest.mark.parametrize(
    "signal_sent",
    [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)],
    ids=["SIGKILL", "SIGTERM"],
)
@pytest.mark.parametrize("victim", ["student's process", "copy that waits", "copy under test"])
def test_who_is_killed_at_the_same_place_each_time_is_never_a_zero(
    one_long: Path, victim: str, signal_sent: signal.Signals
) -> None:
    """Three tries that end in the same place look like a submission that ends itself, but nobody inside did it."""
    before = gradebook(one_long)
    text = (one_long / "autograded" / "ada" / NAME / "grading.json").read_text()
    over, killed = threading.Event(), set[int]()

    def kill_each() -> None:
        while not over.is_set():
            everyone = kinds().get("student", [])
            for pid in everyone:
                if pid not in killed and state_of(pid, everyone) == victim:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal_sent)
                    killed.add(pid)
            time.sleep(0.02)

    with meanwhile(kill_each):
        found = again(one_long)
        over.set()
    assert len(killed) >= 3
    assert (found.rows, found.not_graded) == ([], ["ada"])
    assert "killed from outside" in found.failed[0]
    assert gradebook(one_long) == before
    assert (one_long / "autograded" / "ada" / NAME / "grading.json").read_text() == text
    after = again(one_long)
    assert (after.failed, [row["score"] for row in after.rows]) == ([], [FULL])
    assert gradebook(one_long) == before


# ---- time ------------------------------------------------------------------------------------------------------------


def test_a_stop_from_outside_costs_nothing(graded: Path) -> None:
    before = gradebook(graded)
    with meanwhile(lambda: os.kill(one("student"), signal.SIGSTOP)):
        found = again(graded)
    nothing_is_lost(graded, found, before)


def test_a_submission_that_gets_no_processor_loses_nothing(graded: Path) -> None:
    """For longer than its cells may take."""
    before = gradebook(graded)
    cpu = min(os.sched_getaffinity(0))

    def starve() -> None:
        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
        try:
            for loop in loops:
                os.sched_setaffinity(loop.pid, {cpu})
            pid = one("student")
            os.sched_setaffinity(pid, {cpu})
            os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
            time.sleep(6)  # twice the limit of a cell
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()

    with meanwhile(starve):
        found = again(graded)
    nothing_is_lost(graded, found, before)


def test_a_passing_read_error_leaves_the_score_that_is_there(graded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = gradebook(graded)
    whole = grade.jobs_of

    def on_a_bad_disk(*args: Any) -> list[Any]:
        return [
            replace(job, path="/proc/self/mem") for job in whole(*args)
        ]  # a file that gives EIO to whoever reads its first byte

    monkeypatch.setattr(grade, "jobs_of", on_a_bad_disk)
    found = again(graded, student="ada")
    assert (found.rows, found.not_graded) == ([], ["ada"])
    assert os.strerror(errno.EIO) in found.failed[0]
    assert gradebook(graded) == before


def test_the_limit_of_a_submission_covers_its_tests(tmp_path: Path) -> None:
    """Every test of this one stays below its own limit, and the first is quick."""
    _, assignment = make(tmp_path)
    wait = "    time.sleep(0.5)\n    return"
    slow = {
        name: "import time\n" + text.replace("    return", wait, 1)
        for name, text in ANSWERS.items()
        if name != "double"
    }
    slow["double"] = ANSWERS["double"]
    hand_in(tmp_path, assignment, "ada", Attack("slow", answers=slow))
    config = tmp_path / "course.toml"
    config.write_text(config.read_text().replace("submission_seconds = 60", "submission_seconds = 4"))
    found = again(tmp_path)
    assert found.failed == []
    (row,) = found.rows
    assert list(row["lost"])[-1] == "shout-test"
    assert "within 4 s" in row["lost"]["shout-test"]
    assert 0 < row["score"] < FULL


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives submissions users of their own")
def test_another_grader_on_the_machine_takes_no_processes_from_this_one(graded: Path) -> None:
    """The kernel counts processes by user: a hostile class that is graded at the same time uses up those of its own."""
    before = gradebook(graded)
    crowd = """
import os, signal
for user in range(USERS):
    for _ in range(PROCESSES):
        if os.fork() == 0:
            os.setuid(FIRST + user)
            signal.pause()
print("there", flush=True)
signal.pause()
"""
    numbers = {"USERS": 2 * len(STUDENTS), "PROCESSES": LIMITS["processes"], "FIRST": sandbox.FIRST_UID}
    for name, number in numbers.items():
        crowd = crowd.replace(name, str(number))
    other = subprocess.Popen([sys.executable, "-c", crowd], stdout=subprocess.PIPE, process_group=0)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"there\n"
        nothing_is_lost(graded, again(graded), before)
    finally:
        os.killpg(other.pid, signal.SIGKILL)
        other.communicate()
