"""nbgrader's own commands, run in the course's folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from autograder.course import Course, CourseError


def nbgrader(course: Course, *args: str) -> None:
    """One nbgrader command in the course's folder; its own last words if it fails."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *args], cwd=course.root, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = [line for line in done.stderr.strip().splitlines() if line.strip()] or ["it gave no reason"]
        raise CourseError(f"`nbgrader {' '.join(args)}` failed: {lines[-1]}")
