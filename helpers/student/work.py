"""The student's own copies: `work/` mirrors `notebooks/`, and a file there that somebody changes is theirs from then
on.

What arrives later is put beside such a file, never over it. `work/.handed-out.json` remembers what has been handed out,
so that nothing is offered twice. Needs nothing but the standard library: it runs at every start of the lab.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.student import authorship
from helpers.student.files import is_hidden, write_whole

FOLDER = "work"
RECORD = ".handed-out.json"


@dataclass
class Original:
    """A file of the course that students get a copy of, by its name below `work/`."""

    name: str
    path: Path
    is_data: bool  # of the assignment's own; anything else in notebooks/ may be somebody's work

    @property
    def is_notebook(self) -> bool:
        return self.path.suffix == ".ipynb"


def originals(root: Path, data: Mapping[str, Path]) -> list[Original]:
    """Everything in notebooks/, and the assignments' data files: where they lie, by their names below `work/`."""
    given = root / "notebooks"
    found: dict[str, Original] = {}
    for path in sorted(given.rglob("*")):
        name = path.relative_to(given)
        if path.is_file() and not is_hidden(name):
            found[name.as_posix()] = Original(name.as_posix(), path, False)
    return list((found | {name: Original(name, path, True) for name, path in data.items()}).values())


def prepare(root: Path, data: Mapping[str, Path]) -> list[str]:
    """Bring work/ up to date without changing anything that a person changed.

    Gives a line for what is worth knowing.
    """
    place = root / FOLDER
    record = read_record(place / RECORD)
    before = json.dumps(record)
    lines: list[str] = []
    for original in originals(root, data):
        entry = record.setdefault(original.name, {"stamp": "", "seen": []})
        copy = place / original.name
        state = original.path.stat()
        stamp = f"{state.st_size}-{state.st_mtime_ns}"
        if copy.exists() and entry["stamp"] == stamp:
            continue
        content = for_this_python(original) if original.is_notebook else original.path.read_bytes()
        lines += hand_out(original, content, copy, entry["seen"])
        digest = hashlib.sha256(content).hexdigest()
        entry["stamp"] = stamp
        entry["seen"] = [*(seen for seen in entry["seen"] if seen != digest), digest]
    if json.dumps(record) != before:
        write_whole(place / RECORD, json.dumps(record, indent=1) + "\n")
    return lines


def for_this_python(original: Original) -> bytes:
    """A notebook as the build wrote it, but for the version of Python: JupyterLab notes the kernel's, and would call a
    notebook with another one unsaved as soon as it is opened. What a person wrote stays as it is.
    """
    content, notebook = original.path.read_bytes(), authorship.read(original.path)
    language = notebook["metadata"].get("language_info", {}) if authorship.untouched(notebook) else {}
    if "version" not in language:
        return content
    language["version"] = platform.python_version()
    return (json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()


def hand_out(original: Original, content: bytes, copy: Path, seen: list[str]) -> list[str]:
    """Put one file where the student finds it: in its place if that is free or untouched, else beside.

    `seen` are the digests of what was handed out before.
    """
    answered = original.is_notebook and authorship.is_a_persons(original.path)
    name = f"{FOLDER}/{original.name}"
    taken_over = f"notebooks/{original.name} has been changed: go on with the copy {name}; notebooks/ is left alone"
    if not copy.exists() and not copy.is_symlink():
        write_whole(copy, content)
        return [taken_over] if answered else []
    if not copy.is_file() or copy.read_bytes() == content:
        return []
    if is_untouched(original, copy, seen):
        write_whole(copy, content)
        return [
            taken_over if answered else f"{name} has been renewed: there is a new version, and you had not changed it"
        ]
    if hashlib.sha256(content).hexdigest() in seen:
        return []
    if not original.is_notebook:
        return [f"{name} is not what the course has now: it stays as it is, and is made afresh if you move it away"]
    if not answered and same_version(copy, content):
        return []
    beside = put_beside(copy, content, "from notebooks" if answered else "new version")
    if beside is None:
        return []
    what = "has also been changed in notebooks/" if answered else "has a new version"
    return [f"{name} {what}: yours stays as it is, the other one lies beside it as {beside.name!r}"]


def is_untouched(original: Original, copy: Path, seen: list[str]) -> bool:
    """Is this still exactly what a build wrote? Of a data file: what was handed out?

    That a notebook was handed out proves nothing: it may have been answered in notebooks/ before, and notebooks/
    restored since.
    """
    if copy.is_symlink():
        return False
    if original.is_notebook:
        return authorship.untouched(authorship.read(copy))
    return original.is_data and hashlib.sha256(copy.read_bytes()).hexdigest() in seen


def same_version(copy: Path, content: bytes) -> bool:
    """Was the student's copy made from a notebook with these cells?"""
    mine = authorship.read(copy)
    digest = None if mine is None else authorship.digest_in(mine)
    return digest is not None and digest == digest_in_bytes(content)


def digest_in_bytes(content: bytes) -> Any:
    try:
        return authorship.digest_in(json.loads(content))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def put_beside(copy: Path, content: bytes, label: str) -> Path | None:
    """A copy under the first name that is free or untouched. None if it is there already."""
    number = 1
    while True:
        path = copy.with_name(f"{copy.stem} ({label}{'' if number == 1 else f' {number}'}){copy.suffix}")
        if not path.exists() and not path.is_symlink():
            break
        if (path.is_file() and path.read_bytes() == content) or same_version(path, content):
            return None
        if authorship.untouched(authorship.read(path)):
            break
        number += 1
    write_whole(path, content)
    return path


def read_record(path: Path) -> dict[str, dict[str, Any]]:
    """What was handed out before. Without it nothing is lost: a version may be offered once more."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: {"stamp": entry["stamp"], "seen": list(map(str, entry["seen"]))} for name, entry in record.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
