"""The gradebook on a real PostgreSQL server, started from Debian's package on loopback."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, TOOLS, run_course
from nbgrader.api import Gradebook

from autograder import demo
from autograder.classroom import database
from autograder.examiner import sandbox

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.slow,
    pytest.mark.skipif(sandbox.why_not() is not None, reason=f"no sandbox here: {sandbox.why_not()}"),
    pytest.mark.skipif(not PROGRAMS, reason="no PostgreSQL server here: apt-get install postgresql"),
]


class Server:
    """A PostgreSQL server with a folder and a port of its own. It refuses to run as root, so root lends it a user."""

    def __init__(self, folder: Path) -> None:
        self.programs, self.data = PROGRAMS[-1].parent, folder / "data"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.data.mkdir(parents=True)
        if os.geteuid() == 0:
            shutil.chown(self.data, "postgres", "postgres")
            folder.chmod(0o711)
        self.call("initdb", "--auth=trust", "--username=grader", "--no-sync", "-D", str(self.data))
        self.start()
        self.call("createdb", "--host=127.0.0.1", f"--port={self.port}", "--username=grader", "marks")

    @property
    def url(self) -> str:
        return f"postgresql://grader@127.0.0.1:{self.port}/marks"

    def call(self, program: str, *arguments: str) -> None:
        user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        done = subprocess.run(
            [str(self.programs / program), *arguments],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            **identity,
        )
        assert done.returncode == 0, done.stdout

    def start(self) -> None:
        log = self.data / "log"
        options = f"-h 127.0.0.1 -p {self.port} -k ''"
        self.call("pg_ctl", "start", "-w", "-D", str(self.data), "-l", str(log), "-o", options)

    def stop(self) -> None:
        self.call("pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(self.data))


@pytest.fixture
def server() -> Iterator[Server]:
    """In a folder of its own: every pytest that starts closes the folder of them all to other users, also to this one."""
    with tempfile.TemporaryDirectory(prefix="postgresql-") as folder:
        running = Server(Path(folder))
        yield running
        if (running.data / "postmaster.pid").exists():
            running.stop()


ANSWERS = {"right": ("def double(x):\n    return 2 * x", 2.0), "wrong": ("def double(x):\n    return x", 0.0)}
MANUAL = (
    "\n# %% [markdown] nbgrader={"
    '"grade": true, "grade_id": "why", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}\n'
    "# YOUR ANSWER HERE\n"
)


def class_of(root: Path, server: Server, size: int) -> dict[str, float]:
    """Submissions of a small course whose gradebook is on the server, every third one wrong; their true scores."""
    source = root / "solutions" / "01-small" / "01-small.py"
    source.write_text(source.read_text() + MANUAL)
    settings = root / "course.toml"
    settings.write_text(f'gradebook = "{server.url}"\n' + settings.read_text())
    assert run_course("build", cwd=root).returncode == 0
    student = (root / "notebooks" / "01-small" / "01-small.ipynb").read_text(encoding="utf-8")
    scores = {}
    for number in range(size):
        answer, score = ANSWERS["wrong" if number % 3 == 2 else "right"]
        folder = root / "submitted" / f"s{number:02}" / "01-small"
        folder.mkdir(parents=True)
        text = demo.submission(student, {"double": f"{answer}\n# {number}", "why": f"because of {number}"})
        (folder / "01-small.ipynb").write_text(text, encoding="utf-8")
        scores[f"s{number:02}"] = score
    return scores


def grading(root: Path, *options: str) -> subprocess.Popen[str]:
    """`course grade` in the background."""
    return subprocess.Popen(
        [sys.executable, "-m", "autograder", "grade", "01-small", "--json", *options],
        cwd=root,
        env={**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def records(root: Path) -> list[Path]:
    return sorted((root / "autograded").glob("*/01-small/grading.json"))


def wait_for_records(root: Path, process: subprocess.Popen[str], count: int) -> None:
    """Until some results are stored, or the process has ended."""
    while len(records(root)) < count and process.poll() is None:
        time.sleep(0.05)
    assert len(records(root)) >= count, process.communicate()


def stored(server: Server) -> dict[str, tuple[float | None, float | None]]:
    """By student: the automatic score of `double-test` and the manual one of `why`, each row of the gradebook once."""
    with Gradebook(database.url_for(server.url), "small") as book:
        rows = [
            (submission.student.id, {grade.name: grade for grade in submission.notebooks[0].grades})
            for submission in book.assignment_submissions("01-small")
        ]
        assert len({name for name, _ in rows}) == len(rows)
        return {name: (grades["double-test"].auto_score, grades["why"].manual_score) for name, grades in rows}


def grade_by_hand(server: Server, names: list[str], stop: threading.Event, given: dict[str, float]) -> None:
    """Give points for written answers as they come in, as formgrader does: one short transaction each."""
    with Gradebook(database.url_for(server.url), "small") as book:
        while not stop.is_set():
            for name in names:
                if name in given:
                    continue
                waiting = [found.student.id for found in book.assignment_submissions("01-small")]
                if name in waiting:
                    grade = book.find_grade("why", "01-small", "01-small", name)
                    grade.manual_score = float(int(name[1:]) % 4)
                    grade.needs_manual_grade = False
                    book.db.commit()
                    given[name] = grade.manual_score
            book.db.rollback()
            stop.wait(0.05)


def test_two_people_grade_by_hand_while_a_class_is_written(small_course: Path, server: Server) -> None:
    scores = class_of(small_course, server, 12)
    assert run_course("grade", "01-small", "--student", "s0[0-3]", cwd=small_course).returncode == 0
    stop = threading.Event()
    given: list[dict[str, float]] = [{}, {}]
    names = sorted(scores)
    graders = [
        threading.Thread(target=grade_by_hand, args=(server, names[half::2], stop, given[half])) for half in (0, 1)
    ]
    for grader in graders:
        grader.start()
    try:
        done = run_course("grade", "01-small", "--json", "--force", cwd=small_course)
        assert done.returncode == 0, done.stderr
        deadline = time.monotonic() + 120
        while sum(map(len, given)) < len(scores) and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        stop.set()
        for grader in graders:
            grader.join()
    by_hand = given[0] | given[1]
    assert set(by_hand) == set(scores)
    assert stored(server) == {name: (scores[name], by_hand[name]) for name in scores}
    again = run_course("grade", "01-small", "--json", "--force", cwd=small_course)
    assert again.returncode == 0, again.stderr
    assert stored(server) == {name: (scores[name], by_hand[name]) for name in scores}


def test_a_server_that_is_stopped_and_started_in_the_middle_loses_and_doubles_nothing(
    small_course: Path, server: Server
) -> None:
    scores = class_of(small_course, server, 20)
    running = grading(small_course, "--workers", "1")
    wait_for_records(small_course, running, 3)
    server.stop()
    time.sleep(1.0)
    server.start()
    output, errors = running.communicate(timeout=300)
    assert running.returncode == 0, errors
    assert len(json.loads(output)["rows"]) == len(scores)
    assert stored(server) == {name: (score, None) for name, score in scores.items()}
    again = run_course("grade", "01-small", "--json", cwd=small_course)
    assert json.loads(again.stdout)["skipped"] == len(scores)


def test_a_server_that_stays_away_ends_the_run_with_one_line_and_the_next_run_carries_on(
    small_course: Path, server: Server
) -> None:
    scores = class_of(small_course, server, 20)
    running = grading(small_course, "--workers", "1")
    wait_for_records(small_course, running, 3)
    server.stop()
    _, errors = running.communicate(timeout=300)
    assert running.returncode == 2
    assert "Traceback" not in errors
    assert [line for line in errors.splitlines() if line.startswith("course:")]
    kept = len(records(small_course))
    assert kept < len(scores)
    server.start()
    again = run_course("grade", "01-small", "--json", cwd=small_course)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["skipped"] == kept
    assert stored(server) == {name: (score, None) for name, score in scores.items()}


def test_one_grader_at_a_time_across_machines(
    small_course: Path, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    scores = class_of(small_course, server, 12)
    other = tmp_path_factory.mktemp("elsewhere") / "course"  # another machine: its own folder, the same database
    shutil.copytree(small_course, other)
    running = grading(small_course, "--workers", "1")
    wait_for_records(small_course, running, 1)
    second = run_course("grade", "01-small", cwd=other)
    assert running.poll() is None, "the first run was over too soon to tell"
    output, errors = running.communicate(timeout=300)
    assert running.returncode == 0, errors
    assert second.returncode == 2
    assert len(json.loads(output)["rows"]) == len(scores)
