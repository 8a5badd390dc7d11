"""What several tests share: a small course in a temporary folder, and a way to run the `course` command."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.examiner import warm

ROOT = Path(__file__).parent.parent
TOOLS = Path(sys.executable).parent

# Tests run side by side, one per processor. Threads that wait for each other would take turns with those of the other
# test, a time slice for every small operation: what takes a second takes minutes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell that starts the tests in the background makes them ignore Ctrl-C, which some of them send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# As for everybody who grades twice, one warm process serves the commands of all tests; it is this test session's own.
SOCKETS = tempfile.mkdtemp(prefix="warm-")  # pytest's own folders would make the sockets' names too long
os.environ |= {"XDG_RUNTIME_DIR": SOCKETS, "COURSE_WARM": "10"}


def pytest_sessionfinish() -> None:
    warm.end_all()
    shutil.rmtree(SOCKETS, ignore_errors=True)


def run_course(*args: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """The `course` command as a user runs it."""
    env = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}", **environment}
    return subprocess.run(
        [sys.executable, "-m", "autograder", *args], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture(autouse=True)
def no_shell_left_behind() -> Iterator[None]:
    """A shell that a test makes ends with it: with one in the process, checks display what they otherwise print."""
    yield
    shells = sys.modules.get("IPython.core.interactiveshell")
    if shells is not None and (shell := shells.InteractiveShell._instance) is not None:
        type(shell).clear_instance()


SMALL = '''
# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch
from helpers.checks import Check, randn

# %% [markdown]
# Twice as much.

# %% nbgrader={"grade": false, "grade_id": "double", "locked": false, "schema_version": 3, "solution": true, "task": false}
def double(x):
    """Twice x, a tensor of any shape."""
    ### BEGIN SOLUTION
    return x + x  # the secret of doubling
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "double-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check = Check("double", points=2)
check.close(check.run(double, torch.ones(3)), 2.0, "twice one is two")
### BEGIN HIDDEN TESTS
hidden_input = randn(4, 5)
check.close(check.run(double, hidden_input), 2 * hidden_input, "other numbers must be doubled, too")
### END HIDDEN TESTS
check.score()
'''


@pytest.fixture
def small_course(tmp_path: Path) -> Path:
    """A course of one tiny assignment; returns its root. The source can be changed before building."""
    (tmp_path / "course.toml").write_text(
        'title = "Small"\ncourse_id = "small"\nrepository = "https://github.com/example/small"\n\n'
        '[[assignment]]\nid = "01-small"\ntitle = "Doubling"\npart = "I. Small"\nminutes = 5\n'
    )
    folder = tmp_path / "solutions" / "01-small"
    folder.mkdir(parents=True)
    (folder / "01-small.py").write_text(SMALL.lstrip())
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    return tmp_path
