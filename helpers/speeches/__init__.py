"""What 11-speeches needs around its exercises."""

from helpers.speeches.loading import (
    FILE_NAMES,
    FOLDER,
    HELD_OUT,
    SPEAKERS,
    Corpus,
    FormatError,
    corpus,
    cut,
    load,
    save,
    speaker,
    tidy,
    tokens,
)

__all__ = [
    "FILE_NAMES",
    "FOLDER",
    "HELD_OUT",
    "SPEAKERS",
    "Corpus",
    "FormatError",
    "corpus",
    "cut",
    "load",
    "save",
    "speaker",
    "tidy",
    "tokens",
]
