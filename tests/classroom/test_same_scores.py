"""A class of a real assignment, graded alone, by two workers, on a cluster that loses a worker, and after interruptions:
every time the same points, hints and outputs.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import TOOLS
from dask_cluster import Cluster

from autograder.examiner import sandbox
from autograder.model import course
from benchmarks import thousand

ASSIGNMENT = "16-precision"
STUDENTS = 10  # of every kind in benchmarks/thousand.py

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(sandbox.why_not() is not None, reason=f"no sandbox here: {sandbox.why_not()}"),
]


@pytest.fixture(scope="module")
def class_graded_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a course: one worker has graded its class. Others start from a copy, with the same secret."""
    root = tmp_path_factory.mktemp("alone")
    made = thousand.class_of(root, [ASSIGNMENT])
    thousand.make_submissions(made, STUDENTS)
    grade(root, "--workers", "1")
    return root


@pytest.fixture
def not_graded(class_graded_alone: Path, tmp_path: Path) -> Path:
    root = tmp_path / "course"
    shutil.copytree(class_graded_alone, root)
    shutil.rmtree(root / "autograded")
    return root


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    running = Cluster(folder)
    yield running
    running.end()


def started(root: Path, *options: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "autograder", "grade", ASSIGNMENT, "--json", *options]
    environment = {**os.environ, "COURSE_ROOT": str(root), "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    pipe = subprocess.PIPE
    return subprocess.Popen(line, cwd=root, env=environment, stdout=pipe, stderr=pipe, text=True)


def grade(root: Path, *options: str) -> None:
    output, errors = (process := started(root, *options)).communicate()
    assert process.returncode == 0, errors
    assert json.loads(output)["failed"] == []


def when_there_are(root: Path, count: int, process: subprocess.Popen[str]) -> bool:
    """Wait for so many records; False where the command has ended before."""
    while process.poll() is None:
        if len(list((root / "autograded").glob("*/*/grading.json"))) >= count:
            return True
        time.sleep(0.02)
    return False


def results(root: Path) -> dict[str, Any]:
    """By student: the points, and what every cell of the graded notebook shows."""
    found = {}
    for path in sorted((root / "autograded").glob(f"*/{ASSIGNMENT}/grading.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        notebook = json.loads(path.with_name(f"{ASSIGNMENT}.ipynb").read_text(encoding="utf-8"))
        shown = [cell.get("outputs") for cell in notebook["cells"] if cell["metadata"].get("nbgrader", {}).get("grade")]
        found[path.parts[-3]] = record["score"], record["notebooks"][ASSIGNMENT]["lost"], shown
    return found


def test_the_class_has_every_kind(class_graded_alone: Path) -> None:
    (own,) = course.load(class_graded_alone).assignments
    scores = {score for score, _, _ in results(class_graded_alone).values()}
    assert own.id == ASSIGNMENT
    assert len(results(class_graded_alone)) == STUDENTS
    assert len(scores) > 2  # else "the same" would say little


def test_by_two_workers(class_graded_alone: Path, not_graded: Path) -> None:
    grade(not_graded, "--workers", "2")
    assert results(not_graded) == results(class_graded_alone)


def test_on_a_cluster_that_loses_a_worker(class_graded_alone: Path, not_graded: Path, cluster: Cluster) -> None:
    first = cluster.start_worker()
    cluster.start_worker()
    process = started(not_graded, "--scheduler", cluster.address)
    assert when_there_are(not_graded, 2, process)
    first.kill()
    output, errors = process.communicate()
    assert process.returncode == 0, output + errors
    assert results(not_graded) == results(class_graded_alone)


def test_after_interruptions(class_graded_alone: Path, not_graded: Path) -> None:
    for count, end in ((2, signal.SIGKILL), (5, signal.SIGINT), (8, signal.SIGTERM)):
        process = started(not_graded, "--workers", "2")
        assert when_there_are(not_graded, count, process)
        process.send_signal(end)
        process.communicate()
        assert len(results(not_graded)) >= count
    grade(not_graded, "--workers", "2")
    assert results(not_graded) == results(class_graded_alone)
