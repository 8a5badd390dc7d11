"""A Dask cluster of real processes, and a small class to grade on it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from conftest import TOOLS, run_course

from autograder import demo

WORKER = ("dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "60")


class Cluster:
    """A scheduler, on loopback or another address of this machine, and workers."""

    def __init__(self, folder: Path, host: str = "127.0.0.1") -> None:
        self.folder, self.host = folder, host
        with socket.socket() as free:
            free.bind((host, 0))
            self.port = free.getsockname()[1]
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start_scheduler()

    @property
    def address(self) -> str:
        return f"tcp://{self.host}:{self.port}"

    def start(
        self, program: str, *arguments: str, before: tuple[str, ...] = (), **environment: str
    ) -> subprocess.Popen[bytes]:
        return self.run(*before, sys.executable, "-m", f"distributed.cli.{program}", *arguments, **environment)

    def run(self, *line: str, **environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            line,
            cwd=self.folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        return self.start("dask_scheduler", "--host", self.host, "--port", str(self.port), "--no-dashboard")

    def start_worker(self, **environment: str) -> subprocess.Popen[bytes]:
        return self.start(*WORKER, self.address, **environment)

    def end(self) -> None:
        for process in self.processes:
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()


def class_of(root: Path, size: int) -> dict[str, float]:
    """Submissions of the small course, every third one wrong; their true scores."""
    assert run_course("build", cwd=root).returncode == 0
    student = (root / "notebooks" / "01-small" / "01-small.ipynb").read_text(encoding="utf-8")
    scores = {}
    for number in range(size):
        wrong = number % 3 == 2
        answer = f"def double(x):\n    return {'x' if wrong else '2 * x'}\n# {number}"
        hand_in(root, student, f"s{number:02}", answer)
        scores[f"s{number:02}"] = 0.0 if wrong else 2.0
    return scores


def hand_in(root: Path, student: str, name: str, answer: str) -> None:
    folder = root / "submitted" / name / "01-small"
    folder.mkdir(parents=True)
    (folder / "01-small.ipynb").write_text(demo.submission(student, {"double": answer}), encoding="utf-8")


def graded(
    root: Path, cluster: Cluster, meanwhile: Callable[[], None] = lambda: None
) -> tuple[int, dict[str, Any], str]:
    """`course grade` on the cluster; `meanwhile` is called when the first results are there."""
    process = subprocess.Popen(
        [sys.executable, "-m", "autograder", "grade", "01-small", "--json", "--scheduler", cluster.address],
        cwd=root,
        env={**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and len(list((root / "autograded").glob("*/*/grading.json"))) < 2:
        time.sleep(0.05)
    if process.poll() is None:
        meanwhile()
    output, errors = process.communicate(timeout=400)
    return process.returncode, json.loads(output or "{}"), errors


def scores_in(report: dict[str, Any]) -> dict[str, float]:
    return {row["student"]: row["score"] for row in report["rows"]}
