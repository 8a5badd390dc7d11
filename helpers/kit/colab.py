"""Gets a notebook ready wherever it was opened. The one place that installs anything.

On a machine where the course is installed there is nothing to do. On Colab it adds the packages that are missing and
changes none that are there: every installed version is pinned while pip runs, so torch is never reinstalled.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from helpers.kit import assignment as this

DISTRIBUTION = "sequence-models-workbook"
_there: set[str] = set()  # packages that were found, so that they are looked for once


@lru_cache
def required() -> list[str]:
    """The course's own requirements, extras left out."""
    return [line for line in metadata.requires(DISTRIBUTION) or [] if "extra ==" not in line]


def name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    return found.group(0) if found else requirement


def is_installed(requirement: str) -> bool:
    name = name_of(requirement)
    if name not in _there:
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            return False
        _there.add(name)
    return True


def missing(more: tuple[str, ...] = ()) -> list[str]:
    """Requirements (the course's, and these) of which no version is installed."""
    try:
        wanted = [*required(), *more]
    except metadata.PackageNotFoundError:  # a checkout on the path, not installed: its owner chose the packages
        wanted = list(more)
    return [requirement for requirement in wanted if not is_installed(requirement)]


def install_command(requirements: list[str], pins: str) -> list[str]:
    return [sys.executable, "-m", "pip", "install", "--quiet", "--constraint", pins, *requirements]


def ready(*more: str, assignment: str = "") -> None:
    """Install what is missing, and only that.

    `more` names packages that one notebook needs besides, `assignment` the notebook's own.
    """
    if assignment:
        this.say(assignment)
    wanted = missing(more)
    if not wanted:
        return
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "installed.txt"
        pins.write_text("".join(f"{d.name}=={d.version}\n" for d in metadata.distributions() if d.name and d.version))
        print(f"Installing {', '.join(name_of(r) for r in wanted)} ...")
        done = subprocess.run(install_command(wanted, str(pins)), capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["pip gave no reason"]
        raise RuntimeError(
            f"could not install {', '.join(wanted)}: {last[0]}. Is there a network? Then run this cell again."
        )
