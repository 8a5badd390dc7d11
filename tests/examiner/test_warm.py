"""The process that stays between calls: it serves whoever comes, keeps nothing of them, and ends."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder import doctor
from autograder.examiner import notebook as notebooks
from autograder.examiner import sandbox, tools_digest, warm
from autograder.examiner.limits import Limits
from autograder.examiner.pool import Pool, Submission
from autograder.examiner.process import running

SECRET = "marker-of-a-secret-"  # what follows is only joined where it is sent
CELLS = [
    {"kind": "code", "source": "x = 3", "metadata": {}, "id": "x"},
    {
        "kind": "code",
        "source": "x",
        "metadata": {"nbgrader": {"grade_id": "t", "grade": True, "solution": False, "locked": True, "points": 1}},
        "id": "t",
    },
]

needs_sandbox = pytest.mark.skipif(sandbox.why_not() is not None, reason=f"no sandbox here: {sandbox.why_not()}")


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder for sockets; pytest's own would make their names too long."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        patch.setenv("COURSE_WARM", "5")
        yield folder
        warm.end_all()
    shutil.rmtree(folder)


def soon(condition: Callable[[], Any]) -> bool:
    """Does this come true? A machine may be busy: the wait is long, and ends at once when it does."""
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.1)
    return False


def score(pool: Pool, secret: str = "") -> str:
    pool.prepare("01", {"01": {**notebooks.from_cells(CELLS), "secret": secret}})
    return str(pool.examine(Submission("01", "01", Limits(), cells=CELLS)))


def the_process() -> int:
    (about,) = warm.all_warm()
    return int(about["pid"])


def family(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for one in found:
        try:
            found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
        except OSError:
            continue
    return found


def open_in(pid: int) -> set[str]:
    """What a process has open: pipes and sockets by their number."""
    found = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):  # the one that listed the others
            found.add(os.readlink(f"/proc/{pid}/fd/{name}"))
    return found


def memory_has(pid: int, text: bytes) -> bool:
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            begin, end = (int(number, 16) for number in line.split()[0].split("-"))
            if "rw" not in line.split()[1]:
                continue
            try:
                memory.seek(begin)
                if text in memory.read(end - begin):
                    return True
            except (OSError, ValueError, OverflowError):  # a page that cannot be read
                continue
    return False


@pytest.mark.slow
@needs_sandbox
def test_one_process_serves_pool_after_pool_and_keeps_nothing(place: Path) -> None:
    with Pool(2, [], 1 << 20) as pool:
        assert pool.process is None
        assert "error" not in score(pool, SECRET + "of-this-class")
        first = the_process()
        with Pool(1, ["colorsys"], 1 << 20) as another:  # beside it
            assert "error" not in score(another)
    assert soon(lambda: next(warm.all_warm())["pools"] == 0)
    with Pool(1, [], 1 << 20) as pool:
        assert "error" not in score(pool)
        assert the_process() == first
    assert soon(lambda: next(warm.all_warm())["pools"] == 0)
    # What is left: the process itself, bubblewrap and its init, the nursery and the copy that makes copies.
    assert soon(lambda: len(list(filter(running, family(first)))) <= 5)
    if os.geteuid() == 0:
        marker = (SECRET + "of-this-class").encode()
        assert memory_has(os.getpid(), marker)  # the search finds what is there
        assert [pid for pid in family(first) if running(pid) and memory_has(pid, marker)] == []
    assert open_in(first) & open_in(os.getpid()) <= {os.devnull}
    assert os.getsid(first) == first
    finding = doctor.warm_processes()
    assert str(first) in finding.found
    assert "idle" in finding.found


NAMESPACES = """
import os
x = 1.0
for fd in os.listdir("/proc/self/fd"):
    try:
        x *= not os.readlink(f"/proc/self/fd/{fd}").startswith(("pid:", "mnt:", "net:", "user:", "ipc:"))
    except OSError:  # the folder that was read
        pass
"""


@needs_sandbox
def test_a_student_s_process_gets_no_namespace_of_those_it_was_copied_from(place: Path) -> None:
    with Pool(1, [], 1 << 20) as pool:
        cells = [{**CELLS[0], "source": NAMESPACES}, CELLS[1]]
        pool.prepare("01", {"01": {**notebooks.from_cells(CELLS), "secret": ""}})
        record = pool.examine(Submission("01", "01", Limits(), cells=cells))
    graded = json.loads(record["notebook"])["cells"][1]
    assert "".join(graded["outputs"][0]["data"]["text/plain"]) == "1.0"


FRONT = """
import sys, time
from autograder.examiner.pool import Pool
pool = Pool(2, [], 1 << 20)
pool.prepare("01", {})
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.slow
@needs_sandbox
def test_workers_end_with_a_front_that_is_killed_and_the_process_stays(place: Path) -> None:
    front = subprocess.Popen([sys.executable, "-c", FRONT], stdout=subprocess.PIPE)
    assert front.stdout is not None
    assert front.stdout.readline() == b"ready\n"
    daemon = the_process()
    assert next(warm.all_warm())["pools"] == 1
    front.send_signal(signal.SIGKILL)
    front.wait()
    front.stdout.close()
    assert soon(lambda: next(warm.all_warm())["pools"] == 0)
    assert the_process() == daemon


@pytest.mark.slow
@needs_sandbox
def test_when_it_is_killed_the_answer_says_so_and_the_next_pool_works(place: Path) -> None:
    with Pool(1, [], 1 << 20) as pool:
        score(pool)
        killed = the_process()
        os.kill(killed, signal.SIGKILL)
        answer = pool.examine(Submission("01", "01", Limits(), cells=CELLS))
        assert answer["pool"], answer
    with Pool(1, [], 1 << 20) as pool:
        assert "error" not in score(pool)
        assert the_process() != killed
    pid = the_process()
    warm.end_all()
    assert soon(lambda: not os.path.exists(f"/proc/{pid}/exe"))
    assert list((place / f"course-warm-{os.getuid()}").glob("*.sock")) == []


def settings() -> dict[str, Any]:
    return {"packages": [], "modules": [], "output_bytes": 1, "level": "namespaces", "fixed": {}}


def test_other_code_is_another_process_and_the_old_one_is_told_to_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    listeners: list[socket.socket] = []
    told: list[Path] = []

    def start(path: Path, settings: dict[str, Any]) -> None:
        listeners.append(socket.socket(socket.AF_UNIX))
        listeners[-1].bind(str(path))
        listeners[-1].listen()

    monkeypatch.setattr(warm, "start", start)
    monkeypatch.setattr(warm, "ask", lambda path, question: told.append(path))
    for digest, count in (("one", 1), ("one", 1), ("two", 2)):
        monkeypatch.setattr(tools_digest, "tools_digest", lambda digest=digest: digest)
        warm.connected(folder, settings()).close()
        assert len(listeners) == count
    assert len(told) == 1
    assert told[0].exists()
    for listener in listeners:
        listener.close()
    shutil.rmtree(folder)


def test_a_folder_that_others_can_enter_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("COURSE_WARM", "1")
    place = tmp_path / f"course-warm-{os.getuid()}"
    place.mkdir()
    place.chmod(0o755)
    assert warm.folder() is None
    assert warm.joined(settings(), {}, []) is None
    place.rmdir()
    place.symlink_to(tmp_path)
    assert warm.folder() is None
    place.unlink()
    assert warm.folder() == place
    assert oct(place.stat().st_mode) == "0o40700"


class Idle(warm.Warm):
    """One whose nursery never ends."""

    def __init__(self, path: Path, minutes: float) -> None:
        class Process:
            def poll(self) -> None:
                return None

        nursery: Any = type("Nursery", (), {"process": Process()})()
        super().__init__(None, nursery, None, {"path": str(path), "minutes": minutes})  # type: ignore[arg-type]


def test_it_ends_without_work_without_a_socket_and_when_memory_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.sock"
    path.touch()
    monkeypatch.setattr(warm, "little_memory", lambda: False)
    assert Idle(path, 1.0).stays()
    assert not Idle(path, -1.0).stays()
    assert not Idle(tmp_path / "gone", 1.0).stays()
    busy = Idle(tmp_path / "gone", -1.0)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    busy.pools.add(child.pid)
    assert busy.stays()
    child.kill()
    child.wait()
    monkeypatch.setattr(warm, "little_memory", lambda: True)
    assert not Idle(path, 1.0).stays()


@pytest.mark.parametrize(("value", "minutes"), [("", 10.0), ("0", 0.0), ("30", 30.0), ("-1", 0.0), ("yes", 10.0)])
def test_how_long_it_stays(value: str, minutes: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_WARM", value)
    assert warm.minutes() == minutes
