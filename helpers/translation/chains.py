"""Small models with known answers, to try a search in."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from helpers.translation.pairs import BEGIN


class TimedChain:
    """A next-token model for one sentence whose results can be worked out on paper: P(next | step, last token) from a
    table.

    `probabilities` (steps, V, V) must have rows that sum to one. `log_probabilities(prefixes)` takes prefixes (N, t)
    that start with BEGIN and gives (N, V); beyond the table's last step the last one is used. `calls` and `most_rows`
    say how it was asked.
    """

    PUBLIC: ClassVar[tuple[str, ...]] = ("log_probabilities", "calls", "most_rows")

    def __init__(self, probabilities: Tensor) -> None:
        self.table = probabilities.double()
        self.calls = self.most_rows = 0

    def log_probabilities(self, prefixes: Any) -> Tensor:
        rows = checked(prefixes, self.table.shape[-1])
        self.calls += 1
        self.most_rows = max(self.most_rows, len(rows))
        step = min(rows.shape[1], len(self.table)) - 1
        return self.table[step, rows[:, -1]].log()


class RowChains:
    """The same for a batch of B sentences: row b of the prefixes (B, t) follows table b of `probabilities` (B, V,
    V).
    """

    PUBLIC: ClassVar[tuple[str, ...]] = ("log_probabilities", "calls")

    def __init__(self, probabilities: Tensor) -> None:
        self.table = probabilities.double()
        self.calls = 0

    def log_probabilities(self, prefixes: Any) -> Tensor:
        rows = checked(prefixes, self.table.shape[-1])
        if len(rows) != len(self.table):
            raise ValueError(
                f"{len(rows)} prefixes for a batch of {len(self.table)} sentences: keep one row for each, even when it"
                " has ended"
            )
        self.calls += 1
        return self.table[torch.arange(len(rows)), rows[:, -1]].log()


def checked(prefixes: Any, V: int) -> Tensor:
    rows = torch.as_tensor(prefixes)
    if rows.dim() != 2 or rows.is_floating_point():
        raise ValueError(f"prefixes are whole numbers of shape (N, t), not {tuple(rows.shape)} of {rows.dtype}")
    if rows.numel() and (not bool((rows[:, 0] == BEGIN).all()) or int(rows.max()) >= V or int(rows.min()) < 0):
        raise ValueError("every prefix begins with BEGIN and holds tokens of the vocabulary")
    return rows
