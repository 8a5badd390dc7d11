"""Sentence pairs as batches of tokens."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from helpers.translation.pairs import PAD

Tokens = list[int]


def padded(rows: Sequence[Tokens]) -> Tensor:
    """Rows of different lengths as one tensor (B, longest), filled up with PAD."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


def encoded(
    pairs: Sequence[tuple[str, str]], source: Any, target: Any, longest: int = 100
) -> list[tuple[Tokens, Tokens]]:
    """Pairs as tokens of the two vocabularies; a pair with a side longer than `longest` is left out."""
    both = ((source.encode(a), target.encode(b)) for a, b in pairs)
    return [(a, b) for a, b in both if 0 < len(a) <= longest and 0 < len(b) <= longest]


class Batches:
    """`steps` batches (source (B, S), list of B target token lists), passing over the pairs as often as it takes.

    Pairs of similar length go into one batch, so that there is little padding; the order is new in every pass and
    depends on the seed alone.
    """

    def __init__(self, pairs: Sequence[tuple[Tokens, Tokens]], size: int, steps: int, seed: int = 0) -> None:
        if not pairs:
            raise ValueError("no pairs to make batches of")
        self.pairs, self.size, self.steps, self.seed = pairs, size, steps, seed

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[tuple[Tensor, list[Tokens]]]:
        rng = random.Random(self.seed)
        made = 0
        while made < self.steps:
            for group in self.groups(rng)[: self.steps - made]:
                yield padded([self.pairs[i][0] for i in group]), [self.pairs[i][1] for i in group]
                made += 1

    def groups(self, rng: random.Random) -> list[list[int]]:
        order = list(range(len(self.pairs)))
        rng.shuffle(order)
        pool = 20 * self.size  # sorting a pool, not everything, keeps the batches different from pass to pass
        pools = [sorted(order[i : i + pool], key=lambda j: len(self.pairs[j][1])) for i in range(0, len(order), pool)]
        groups = [chunk[i : i + self.size] for chunk in pools for i in range(0, len(chunk), self.size)]
        rng.shuffle(groups)
        return groups
