"""nbgrader's own commands, run in the course's folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from autograder.classroom.database import gradebook_url, must_answer
from autograder.model.course import Course, CourseError


def nbgrader(course: Course, *args: str) -> None:
    """One nbgrader command in the course's folder; its own last words if it fails."""
    must_answer(gradebook_url(course))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "nbgrader", *args],
        cwd=course.root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = [line for line in done.stderr.strip().splitlines() if line.strip()] or ["it gave no reason"]
        if any("Cannot add or remove cells" in line for line in lines):
            raise CourseError(
                f"{args[1]}: exercises were added or removed after submissions had been graded, and nbgrader keeps the"
                " marks of the old ones. Put them back, or forget all marks of this assignment, manual ones too, with"
                f" `nbgrader db assignment remove {args[1]} --force`"
            )
        last = next((line for line in reversed(lines) if re.match(r"\w*(Error|Exception): ", line)), lines[-1])
        raise CourseError(f"`nbgrader {' '.join(args)}` failed: {last}")
