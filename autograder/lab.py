"""`course lab`: the workbook in JupyterLab."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from autograder import build
from autograder.course import Course, CourseError, write_whole

START = "notebooks/start.ipynb"


def lab_command(no_browser: bool, port: int | None, extra: tuple[str, ...]) -> list[str]:
    """The jupyter command line. As root (a container, a fresh server) Jupyter wants to be told that this is meant."""
    command = [sys.executable, "-P", "-m", "jupyterlab", "--ServerApp.root_dir=.", f"--LabApp.default_url=/lab/tree/{START}"]
    if no_browser:
        command.append("--no-browser")
    if port is not None:
        command.append(f"--port={port}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    return [*command, *extra]


def quiet_settings() -> None:
    """No pop-up about news over a student's work. Settings of one's own are left alone."""
    path = Path(sys.prefix) / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
    if not path.exists():
        write_whole(path, '{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}}\n')


def start(course: Course, no_browser: bool, port: int | None, extra: tuple[str, ...]) -> None:
    """Build what is not built, then run JupyterLab until it is stopped."""
    files, _ = build.outputs(course, list(course.assignments))
    build.write(files)
    quiet_settings()
    environment = dict(os.environ)
    tools = Path(sys.executable).parent
    environment["PATH"] = f"{tools}{os.pathsep}{environment.get('PATH', '')}"  # nbgrader calls `alembic` from PATH
    if shutil.which("jupyter-lab", path=environment["PATH"]) is None:
        raise CourseError("JupyterLab is not installed: run `make setup`")
    done = subprocess.run(lab_command(no_browser, port, extra), cwd=course.root, env=environment, check=False)
    if done.returncode not in (0, -2, 130):
        raise CourseError(f"JupyterLab ended with exit code {done.returncode}: its own message is above")
