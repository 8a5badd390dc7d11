"""A widget for rotary positions: pairs of a query and a key as arrows on circles that turn with their positions.

It runs in the browser: it needs no kernel and keeps working in a saved notebook.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from IPython.display import HTML

_numbers = itertools.count(1)
EXAMPLE = (1.0, 0.0, 0.8, 0.6, 0.6, 0.8, 1.0, 0.0)


def score(query: Sequence[float], key: Sequence[float], speeds: Sequence[float], m: int, n: int) -> float:
    """Inner product of the query's pairs, turned by m · speed, with the key's, turned by n · speed."""
    total = 0.0
    for i, speed in enumerate(speeds):
        a, b = complex(*query[2 * i : 2 * i + 2]), complex(*key[2 * i : 2 * i + 2])
        turn = (m - n) * speed
        total += (a * b.conjugate() * complex(math.cos(turn), math.sin(turn))).real
    return total


def rotary_dial(
    query: Sequence[float] = EXAMPLE, key: Sequence[float] = EXAMPLE, base: float = 10_000.0, m: int = 5, n: int = 2
) -> Any:
    """Sliders for the positions m and n, and for moving both: the arrows turn, and the score follows m − n alone."""
    speeds = [round(base ** (-2 * i / len(query)), 6) for i in range(len(query) // 2)]
    page = files("helpers.positions").joinpath("rotary_dial.html").read_text(encoding="utf-8")
    for mark, text in {
        "@ID@": f"rotary-dial-{next(_numbers)}",
        "@QUERY@": json.dumps(list(query)),
        "@KEY@": json.dumps(list(key)),
        "@SPEEDS@": json.dumps(speeds),
        "@M@": str(m),
        "@N@": str(n),
        "@SUM@": f"m − n = {m - n}, score = {score(query, key, speeds, m, n):.4f}",
    }.items():
        page = page.replace(mark, text)
    return HTML(page)
