"""nbgrader's exchange, as on a JupyterHub: release, fetch, submit and collect through a local folder, then grading."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import TOOLS, run_course

from autograder.authoring.answers import submission
from autograder.examiner import sandbox

pytestmark = pytest.mark.slow


def nbgrader(where: Path, exchange: Path, *args: str) -> None:
    """As a person of the hub types it; docs/jupyterhub.md has the folder in a configuration file."""
    environment = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}", "HOME": str(where)}
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *args, f"--Exchange.root={exchange}"],
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"nbgrader {args}: {done.stderr}"


def test_what_goes_through_the_exchange_is_graded(small_course: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    exchange, home = tmp_path_factory.mktemp("exchange"), tmp_path_factory.mktemp("home")
    exchange.chmod(0o777)
    assert run_course("build", cwd=small_course).returncode == 0
    nbgrader(small_course, exchange, "release_assignment", "01-small")
    nbgrader(home, exchange, "fetch_assignment", "01-small", "--course=small")
    notebook = home / "01-small" / "01-small.ipynb"
    assert "the secret of doubling" not in notebook.read_text(encoding="utf-8")
    answer = {"double": "def double(x):\n    return 2 * x"}
    notebook.write_text(submission(notebook.read_text(encoding="utf-8"), answer), encoding="utf-8")
    nbgrader(home, exchange, "submit", "01-small", "--course=small")
    nbgrader(small_course, exchange, "collect", "01-small")
    student = getpass.getuser()
    collected = small_course / "submitted" / student / "01-small"
    assert (collected / "timestamp.txt").exists()
    assert nbformat.read(collected / "01-small.ipynb", as_version=4).cells
    unsafe = ["--unsafe"] if sandbox.why_not() else []
    done = run_course("grade", "01-small", "--workers", "1", "--json", *unsafe, cwd=small_course)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["student"], row["score"], row["out_of"]) == (student, 2, 2)
