"""`course lab`: the workbook in JupyterLab. Nothing is built here, and nothing that a person saved is changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from autograder import work
from autograder.classroom import written
from autograder.model.course import Assignment, Course, CourseError, write_whole

START = f"{work.FOLDER}/start.ipynb"


def lab_command(page: str, no_browser: bool, port: int | None, extra: tuple[str, ...]) -> list[str]:
    """The jupyter command line. As root (a container, a fresh server) Jupyter wants to be told that this is meant."""
    command = [sys.executable, "-P", "-m", "jupyterlab", "--ServerApp.root_dir=.", f"--LabApp.default_url={page}"]
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
        write_whole(
            path, '{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}}\n'
        )


def not_built(course: Course) -> list[str]:
    """What the author of an assignment should know: a line for each that has to be built.

    Only files' times are looked at.
    """
    lines = []
    for assignment in course.assignments:
        command = f"run `course build {assignment.id}`"
        if not all(path.exists() for path in assignment.student_notebooks):
            lines.append(f"notebooks/{assignment.id} is not complete: {command}")
        elif script_is_newer(assignment):
            lines.append(
                f"solutions/{assignment.id}/{assignment.source.name} is newer than what was built from it: {command}"
            )
    return lines


def script_is_newer(assignment: Assignment) -> bool:
    """Was the script saved after the instructor's notebook was built from it?

    Where none was built, as in a student's clone, nobody asks.
    """
    script, built = assignment.source, assignment.instructor_notebook
    return script.exists() and built.exists() and script.stat().st_mtime_ns > built.stat().st_mtime_ns


def start(course: Course, no_browser: bool, port: int | None, extra: tuple[str, ...], instructor: bool = False) -> None:
    """Hand out what is missing in work/, then run JupyterLab until it is stopped. Instructors get the pages for
    graders too.
    """
    lines = [*not_built(course), *work.prepare(course)]
    if instructor:
        extra = (*written.server_arguments(), *extra)
        lines.append(f"written answers are graded on {written.PAGE} of the server's address")
    for line in [
        *lines,
        f"your notebooks are in {work.FOLDER}/. Starting JupyterLab, which takes some seconds; stop it with Ctrl-C",
    ]:
        print(f"course: {line}", file=sys.stderr, flush=True)
    quiet_settings()
    environment = dict(os.environ)
    tools = Path(sys.executable).parent
    environment["PATH"] = f"{tools}{os.pathsep}{environment.get('PATH', '')}"  # nbgrader calls `alembic` from PATH
    if shutil.which("jupyter-lab", path=environment["PATH"]) is None:
        raise CourseError("JupyterLab is not installed: run `make setup`")
    page = f"/lab/tree/{START}" if (course.root / START).exists() else "/lab"
    done = subprocess.run(lab_command(page, no_browser, port, extra), cwd=course.root, env=environment, check=False)
    if done.returncode not in (0, -2, 130):
        raise CourseError(f"JupyterLab ended with exit code {done.returncode}: its own message is above")
