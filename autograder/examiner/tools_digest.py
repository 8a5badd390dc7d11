"""A digest of the tools that decide a result: helpers, examiner, sandbox, and the versions of what is below them."""

from __future__ import annotations

import hashlib
import json
import platform
from contextlib import suppress
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from autograder.examiner.pool import PACKAGES

ROOMS = ("examiner", "inside", "model")


@lru_cache(maxsize=1)
def tools_digest() -> str:
    digest = hashlib.sha256()
    for folder in (*PACKAGES, *(Path(__file__).parents[1] / room for room in ROOMS)):
        for path in sorted(filter(is_source, folder.rglob("*"))):  # widgets and system call filters, too
            digest.update(path.read_bytes())
    digest.update(json.dumps(versions()).encode())
    return digest.hexdigest()


def is_source(path: Path) -> bool:
    return path.is_file() and not any(part.startswith((".", "__pycache__")) for part in path.parts[-3:])


def versions() -> dict[str, str]:
    """Of Python and of the packages that results depend on, as far as they are installed."""
    found = {"Python": platform.python_version()}
    for package in ("torch", "numpy", "nbgrader"):
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found
