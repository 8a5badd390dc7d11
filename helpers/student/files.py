"""Files of a course: where it is, what is out of sight, and how a file is written (whole, or not at all)."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

DESCRIPTION = "course.toml"  # marks the course's folder, the staff's and the student's


class CourseError(Exception):
    """A user's mistake or a machine's lack: one clear line that says what to do."""


def find_root(start: Path | None = None) -> Path:
    """The folder with `course.toml`: $COURSE_ROOT, or this folder or one above it."""
    if os.environ.get("COURSE_ROOT"):
        return Path(os.environ["COURSE_ROOT"]).resolve()
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / DESCRIPTION).is_file():
            return folder
    raise CourseError(
        f"no {DESCRIPTION} in {here} or above it: run `course` inside the course folder, or set COURSE_ROOT"
    )


def is_hidden(name: Path) -> bool:
    """A checkpoint, a cache or anything else that its maker keeps out of sight."""
    return any(part.startswith(".") or part == "__pycache__" for part in name.parts)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write to a temporary file beside the target, then rename: a full disk or a kill leaves the old file, never half a
    new one.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as handle:
            temporary = handle.name
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise CourseError(
            f"cannot write {path}: {error.strerror or error}. Free some space or choose a folder you may write to."
        ) from None
