"""Where a text quotes a line of code that students must not get."""

from __future__ import annotations

from collections.abc import Sequence

# A solution line this short (without spaces) may well stand in given code too: `return x` gives nothing away.
DISTINCTIVE = 20


def quoted_in(prose: Sequence[tuple[int, str]], text: str) -> int | None:
    """Where a line of code stands inside one of these (line, text): that line.

    The head of a loop or a condition gives nothing away.
    """
    code = " ".join(text.partition("  #")[0].split())
    if len(code.replace(" ", "")) < DISTINCTIVE or code.endswith(":"):
        return None
    return next((line for line, words in prose if code in words), None)
