"""Pictures to play with.

They are small pages that run in the browser: they need no kernel and keep working in a saved notebook.
"""

from __future__ import annotations

import itertools
import json
from importlib.resources import files
from typing import Any

import torch
from IPython.display import HTML

_numbers = itertools.count(1)
SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"


def drag_query(keys: torch.Tensor, query: tuple[float, float, float] = (0.6, 0.3, 0.2)) -> Any:
    """A query to drag among keys (m, 3): its first two coordinates by mouse or arrow keys, the third and its length by
    sliders.

    Scores are plain inner products. The weights and the mixture of values follow at once.

    """
    weights = (keys @ torch.tensor(query)).softmax(0).tolist()
    bar = (
        '<div style="height:12px;background:#8883"><div class="bar"'
        ' style="height:12px;background:#888;width:{}%"></div></div>'
    )
    rows = "".join(
        f'<tr><td style="width:2.5em">w{SUBSCRIPTS[j]}</td><td>{bar.format(round(100 * w, 1))}</td>'
        f'<td class="weight" style="width:4em;text-align:right">{w:.3f}</td></tr>'
        for j, w in enumerate(weights)
    )
    page = files("helpers.attention").joinpath("drag_query.html").read_text(encoding="utf-8")
    for mark, text in {
        "@ID@": f"drag-query-{next(_numbers)}",
        "@KEYS@": json.dumps(keys.tolist()),
        "@QUERY@": json.dumps(list(query)),
        "@ROWS@": rows,
        "@SUM@": "output = " + " + ".join(f"{w:.2f} v{SUBSCRIPTS[j]}" for j, w in enumerate(weights)),
    }.items():
        page = page.replace(mark, text)
    return HTML(page)
