"""Files of a text corpus, found by the names that such files have: WikiText as it is distributed, or train.txt and so
on.
"""

from __future__ import annotations

from pathlib import Path

PARTS = {"train": ("train",), "valid": ("valid", "validation", "dev"), "test": ("test",)}
PATTERNS = ("wiki.{}.tokens", "wiki.{}.raw", "wiki.{}.txt", "{}.txt")


def names(part: str) -> list[str]:
    """What the file of a part may be called, the likeliest first."""
    return [pattern.format(name) for pattern in PATTERNS for name in PARTS[part]]


def find(folder: Path, part: str) -> Path | None:
    """The file of one part: in the folder itself, else anywhere below it."""
    for name in names(part):
        for path in [folder / name, *sorted(folder.rglob(name))]:
            if path.is_file():
                return path
    return None
