"""Whose text is a notebook: the build's own, or a person's? A built notebook carries the digest of what was built.

Wherever this cannot be told (no digest, no JSON, a link), the notebook is a person's. Needs nothing but the standard
library: `course lab` asks at every start.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

PASSING = {"trusted", "jupyter", "cellView"}  # metadata of a cell that an editor keeps for itself: what is folded


def source_of(cell: Any) -> str:
    """A cell's text; files have it as a list of lines."""
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def digest_of(notebook: Any) -> str:
    """Of everything that can be written into cells.

    Not of ids and results, nor of what editors note about the notebook.
    """
    cells = [
        [
            cell.get("cell_type"),
            source_of(cell),
            {key: value for key, value in cell.get("metadata", {}).items() if key not in PASSING},
            cell.get("attachments", {}),
        ]
        for cell in notebook["cells"]
    ]
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()[:32]


def stamp(notebook: Any) -> None:
    """Write the digest of this notebook into it."""
    notebook["metadata"]["course"] = {**notebook["metadata"].get("course", {}), "digest": digest_of(notebook)}


def digest_in(notebook: Any) -> str | None:
    """The digest that the build wrote into this notebook, or one it was made from."""
    course = notebook["metadata"].get("course", {})
    return course.get("digest") if isinstance(course, dict) else None


def read(path: Path) -> Any:
    """A notebook's JSON; None where there is none that can be read, or where the file is a link to elsewhere."""
    try:
        if path.is_symlink():
            return None
        notebook = json.loads(path.read_bytes())
        digest_of(notebook), digest_in(notebook)
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return None
    return notebook


def has_results(notebook: Any) -> bool:
    """Has anything been run in it?"""
    return any(cell.get("outputs") or cell.get("execution_count") is not None for cell in notebook["cells"])


def unedited(notebook: Any) -> bool:
    """Nobody changed a cell since it was built, though cells may have been run."""
    return notebook is not None and digest_in(notebook) == digest_of(notebook)


def untouched(notebook: Any) -> bool:
    """Nobody changed or ran anything since it was built."""
    return unedited(notebook) and not has_results(notebook)


def is_a_persons(path: Path) -> bool:
    """Is this file anything but what a build wrote?

    One without a digest may be an older build's: then git has the same bytes.
    """
    notebook = read(path)
    if untouched(notebook):
        return False
    return notebook is None or digest_in(notebook) is not None or not is_committed(path)


def is_committed(path: Path) -> bool:
    """Does git have exactly this file?"""
    try:
        done = subprocess.run(["git", "show", f"HEAD:./{path.name}"], cwd=path.parent, capture_output=True, check=False)
    except OSError:  # no git here
        return False
    return done.returncode == 0 and done.stdout == path.read_bytes()


def says(notebook: Any) -> list[Any]:
    """What a notebook says, for comparison: generated cells and blank ends of cells left out, as a script paired with
    it leaves them out.
    """
    return [
        [cell.get("cell_type"), source_of(cell).rstrip(), cell.get("metadata", {}).get("nbgrader")]
        for cell in notebook["cells"]
        if not cell.get("metadata", {}).get("course", {}).get("generated")
    ]
