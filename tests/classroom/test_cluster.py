"""Grading on a real Dask cluster: a scheduler and workers as processes, killed, restarted, joining late, or with other
versions.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from dask_cluster import WORKER, Cluster, class_of, graded, hand_in, scores_in

from autograder.examiner import sandbox

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.slow,
    pytest.mark.skipif(sandbox.why_not() is not None, reason=f"no sandbox here: {sandbox.why_not()}"),
]


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = Cluster(tmp_path_factory.mktemp("cluster"))
    yield running
    running.end()


def test_a_killed_worker_and_one_that_joins_late(small_course: Path, cluster: Cluster) -> None:
    scores = class_of(small_course, 20)
    first = cluster.start_worker()

    def meanwhile() -> None:
        cluster.start_worker()
        first.send_signal(signal.SIGKILL)

    code, report, errors = graded(small_course, cluster, meanwhile)
    assert code == 0, errors
    assert scores_in(report) == scores


def test_a_scheduler_that_is_restarted(small_course: Path, cluster: Cluster) -> None:
    scores = class_of(small_course, 20)
    cluster.start_worker()

    def meanwhile() -> None:
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        cluster.scheduler = cluster.start_scheduler()
        cluster.start_worker()

    code, report, errors = graded(small_course, cluster, meanwhile)
    assert code == 0, errors
    assert scores_in(report) == scores


def other_versions(folder: Path) -> dict[str, str]:
    """An environment in which NumPy says that it is another version."""
    place = folder / "other" / "numpy-0.0.1.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 0.0.1\n")
    return {"PYTHONPATH": str(place.parent)}


def test_a_worker_with_other_versions_grades_nobody(small_course: Path, cluster: Cluster, tmp_path: Path) -> None:
    scores = class_of(small_course, 6)
    other = cluster.start_worker(**other_versions(tmp_path))
    code, report, errors = graded(small_course, cluster)
    assert code == 2
    assert "numpy 0.0.1" in errors
    assert not list((small_course / "autograded").glob("*/*/grading.json"))
    cluster.start_worker()
    code, report, errors = graded(small_course, cluster)
    assert code == 0, errors
    assert scores_in(report) == scores
    assert other.poll() is None


REACH = """
import socket
def double(x):
    try:
        socket.create_connection(("127.0.0.1", {port}), 5).close()
    except OSError:
        return x
    return 2 * x
"""


def test_student_code_cannot_reach_the_scheduler(small_course: Path, cluster: Cluster) -> None:
    class_of(small_course, 1)
    student = (small_course / "notebooks" / "01-small" / "01-small.ipynb").read_text(encoding="utf-8")
    hand_in(small_course, student, "eve", REACH.format(port=cluster.port))
    cluster.start_worker()
    code, report, errors = graded(small_course, cluster)
    assert code == 0, errors
    assert scores_in(report) == {"s00": 2.0, "eve": 0.0}
    socket.create_connection(("127.0.0.1", cluster.port), 5).close()  # it was there to be reached


HOST, GUEST = "10.231.77.1", "10.231.77.2"  # the two ends of a cable between this machine and a namespace


@pytest.fixture
def namespace() -> Iterator[str]:
    """A network namespace that is one cable away, as another machine would be."""
    name = f"course{os.getpid()}"
    near, far = f"c{os.getpid()}n", f"c{os.getpid()}f"
    inside = ("ip", "netns", "exec", name)
    try:
        for line in (
            ("ip", "netns", "add", name),
            ("ip", "link", "add", near, "type", "veth", "peer", "name", far),
            ("ip", "link", "set", far, "netns", name),
            ("ip", "addr", "add", f"{HOST}/30", "dev", near),
            ("ip", "link", "set", near, "up"),
            (*inside, "ip", "addr", "add", f"{GUEST}/30", "dev", far),
            (*inside, "ip", "link", "set", far, "up"),
            (*inside, "ip", "link", "set", "lo", "up"),
        ):
            subprocess.run(line, check=True, capture_output=True)
        yield name
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespace can be made here: {error}")
    finally:
        subprocess.run(["ip", "link", "del", near], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def test_workers_in_network_namespaces_of_their_own(
    small_course: Path, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The only worker is one cable away: every file travels, and student code there reaches neither end."""
    class_of(small_course, 4)
    student = (small_course / "notebooks" / "01-small" / "01-small.ipynb").read_text(encoding="utf-8")
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), HOST)
    try:
        hand_in(small_course, student, "eve", REACH.replace("127.0.0.1", HOST).format(port=cluster.port))
        worker = cluster.start(*WORKER, cluster.address, before=("ip", "netns", "exec", namespace))
        code, report, errors = graded(small_course, cluster)
        assert code == 0, errors
        assert scores_in(report) == {"s00": 2.0, "s01": 2.0, "s02": 0.0, "s03": 2.0, "eve": 0.0}
        assert os.readlink(f"/proc/{worker.pid}/ns/net") != os.readlink("/proc/self/ns/net")
        socket.create_connection((HOST, cluster.port), 5).close()
    finally:
        cluster.end()


def test_workers_that_the_slurm_job_starts(small_course: Path, cluster: Cluster) -> None:
    """The job file as Slurm runs it: by bash, with the variables that Slurm sets."""
    scores = class_of(small_course, 6)
    job = str(ROOT / "docs" / "recipes" / "slurm-workers.sh")
    cluster.run(
        "bash", job, SCHEDULER=cluster.address, COURSE_PYTHON=sys.executable, SLURM_CPUS_PER_TASK="2", SLURM_JOB_ID="7"
    )
    code, report, errors = graded(small_course, cluster)
    assert code == 0, errors
    assert scores_in(report) == scores
