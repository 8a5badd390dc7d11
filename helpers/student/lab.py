"""`course lab`: the workbook in JupyterLab. Nothing is built here, and nothing that a person saved is changed."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from helpers.student import work
from helpers.student.files import CourseError, write_whole

PAGE = "/course"  # the start page, on the server
START_PAGE, STUDENTS_TOOLS = "helpers.student.server", "helpers.student.students_tools"  # extensions of the server
STOPPED = (0, -2, 130)  # exit codes of a server that was asked to stop


def lab_command(no_browser: bool, port: int | None, extra: Sequence[str]) -> list[str]:
    """The jupyter command line. As root (a container, a fresh server) Jupyter wants to be told that this is meant."""
    command = [sys.executable, "-P", "-m", "jupyterlab", "--ServerApp.root_dir=.", f"--LabApp.default_url={PAGE}"]
    if no_browser:
        command.append("--no-browser")
    if port is not None:
        command.append(f"--port={port}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    return [*command, *extra]


def quiet_settings() -> None:
    """No pop-up about news over a student's work, and no line that runs out of its cell. Settings of one's own are left
    alone.
    """
    no_news = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
    wrapped = {"@jupyterlab/notebook-extension:tracker": {"codeCellConfig": {"lineWrap": True}}}
    path = Path(sys.prefix) / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
    earlier = json.dumps(no_news) + "\n"  # what an earlier version wrote
    if not path.exists() or path.read_bytes() == earlier.encode():
        write_whole(path, json.dumps(no_news | wrapped) + "\n")


def extension(module: str) -> str:
    """The argument that adds a module to the server."""
    return f"--ServerApp.jpserver_extensions={module}=True"


def start(
    root: Path,
    lines: Sequence[str],
    no_browser: bool,
    port: int | None,
    extra: Sequence[str],
    extensions: Sequence[str] = (START_PAGE, STUDENTS_TOOLS),
) -> None:
    """Say these lines, then run JupyterLab on the course in `root` until it is stopped."""
    for line in [
        *lines,
        f"your notebooks are in {work.FOLDER}/. Starting JupyterLab, which takes some seconds; stop it with Ctrl-C",
    ]:
        print(f"course: {line}", file=sys.stderr, flush=True)
    if importlib.util.find_spec("jupyterlab") is None:
        raise CourseError("JupyterLab is not installed: install the course as its README says")
    quiet_settings()
    environment = dict(os.environ)
    tools = Path(sys.executable).parent
    environment["PATH"] = f"{tools}{os.pathsep}{environment.get('PATH', '')}"  # nbgrader calls `alembic` from PATH
    command = lab_command(no_browser, port, [*map(extension, extensions), *extra])
    done = subprocess.run(command, cwd=root, env=environment, check=False)
    if done.returncode not in STOPPED:
        raise CourseError(f"JupyterLab ended with exit code {done.returncode}: its own message is above")
