"""Weights and a model so small that every result can be worked out on paper: what the tests of 09 begin with."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from helpers.kit.training import TableModel


def small_layer() -> dict[str, Tensor]:
    """Attention of width 1 with one head: queries x log 3, keys x, values 4x; the projection doubles."""
    weights = {"qkv.weight": torch.tensor([[math.log(3.0)], [1.0], [4.0]]), "proj.weight": torch.tensor([[2.0]])}
    return weights | no_biases(weights)


def no_biases(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Zeros for the biases that a wrong answer may have, so that it is wrong about these only."""
    return {name.replace("weight", "bias"): torch.zeros(len(part)) for name, part in weights.items()}


def small_block() -> dict[str, Tensor]:
    """A block of width 2: attention multiplies by −4, feed-forward adds 10 GELU(first entry) to the first entry."""
    unit, up, down = torch.eye(2), torch.zeros(8, 2), torch.zeros(2, 8)
    up[0, 0], down[0, 0] = 1.0, 10.0
    attention = {"attention.qkv.weight": torch.cat([unit, unit, unit]), "attention.proj.weight": -4 * unit}
    norms = {"norm1.weight": torch.ones(2), "norm2.weight": torch.ones(2)}
    weights = {**attention, **norms, "up.weight": up, "down.weight": down}
    return weights | no_biases(weights)


def small_gpt(blocks: int) -> dict[str, Tensor]:
    """A GPT of width 2 with three tokens and three positions, whose blocks change nothing.

    `head.weight` is for an answer that writes its tied output layer as a layer.
    """
    token = torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    state = {
        "token.weight": token,
        "head.weight": token,
        "position.weight": torch.tensor([[0.0, 0.0], [1.0, 3.0], [5.0, 0.0]]),
    }
    state |= {"norm.weight": torch.ones(2), "norm.bias": torch.zeros(2)}
    for i in range(blocks):
        state |= {f"blocks.{i}.{name}": part for name, part in small_block().items()}
        state |= {f"blocks.{i}.attention.proj.weight": torch.zeros(2, 2), f"blocks.{i}.down.weight": torch.zeros(2, 8)}
    return state


class SumModel(TableModel):
    """A language model that needs its whole context: the next token is the sum of all tokens so far, modulo V."""

    def __init__(self, V: int, context: int = 8) -> None:
        super().__init__(80 * torch.eye(V), context)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (B, T, V) after tokens (B, T)."""
        return super().forward(tokens.cumsum(1) % len(self.table))
