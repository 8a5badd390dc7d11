"""Sequence functions whose leak is known, to test leak detectors with, and a picture of how a leak gets through a
mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from helpers.kit import plots


class Mixer:
    """f(x) = tanh(W x M) for x (T, D), W (T, T), M (D, E): row i of the result depends on row j of x exactly where W[i,
    j] ≠ 0.
    """

    def __init__(self, weights: Tensor, matrix: Tensor) -> None:
        self.weights, self.matrix = weights, matrix

    def __call__(self, x: Tensor) -> Tensor:
        return torch.tanh(self.weights.to(x.dtype) @ x @ self.matrix.to(x.dtype))


class PeekingModel:
    """A language model over a table (V, V) that looks a known number of tokens ahead, where there are any.

    logits[t] = table[x[t]] + table[x[t − 1]] / 2 + peeks[0] · table[x[t + 1]] + peeks[1] · table[x[t + 2]] + … With no
    peeks it is an honest model. With `first`, first · table[x[0]] is added everywhere: the model remembers how the
    sentence began. With `mean`, mean · (mean of table[x] over the whole sentence) is. Tokens (B, T) to logits
    (B, T, V); like the real models, it takes nothing but a batch.
    """

    def __init__(self, table: Tensor, peeks: Sequence[float] = (), first: float = 0.0, mean: float = 0.0) -> None:
        self.table, self.peeks, self.first, self.mean = table, tuple(peeks), first, mean

    def eval(self) -> PeekingModel:
        return self

    def train(self, mode: bool = True) -> PeekingModel:
        return self

    def __call__(self, tokens: Tensor) -> Tensor:
        if tokens.dim() != 2:
            raise ValueError(
                f"the model takes a batch of sentences, words of shape (B, T), and got {tuple(tokens.shape)}: one"
                " sentence is (1, T)"
            )
        rows = self.table[tokens]
        logits = rows + self.first * rows[:, :1] + self.mean * rows.mean(dim=1, keepdim=True)
        logits[:, 1:] += rows[:, :-1] / 2
        for ahead, strength in enumerate(self.peeks, 1):
            if ahead < tokens.shape[1]:
                logits[:, :-ahead] += strength * rows[:, ahead:]
        return logits


class MaskFigure:
    """Weights of one query on the past, by two ways of masking, while the score of a future key moves."""

    def __init__(
        self, masked: Callable[..., Any], zeroed: Callable[..., Any], scores: Sequence[float], place: int
    ) -> None:
        self.masked, self.zeroed, self.scores, self.place = masked, zeroed, list(scores), place

    def draw(self, future: float) -> None:
        """Bars for each key; the keys after `place` are the future, and the last of them has the score `future`."""
        plots.use_course_style()
        row = torch.tensor([[*self.scores[:-1], future]])
        mask = torch.arange(len(self.scores))[None] <= self.place
        _, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
        for ax, (name, function), colour in zip(
            axes, [("−∞ before", self.masked), ("0 after", self.zeroed)], ["C0", "C1"], strict=True
        ):
            weights = plots.array(function(row, mask))[0]
            ax.bar(range(len(weights)), weights, color=colour)
            for key, height in enumerate(weights[: self.place + 1]):
                ax.annotate(f"{height:.2f}", (key, height), ha="center", va="bottom", fontsize=9)
            ax.axvspan(self.place + 0.5, len(weights) - 0.5, color="0.9", zorder=0)
            ax.set(
                title=f"{name} softmax: the weights sum to {weights.sum():.2f}",
                xlabel="key (grey: the future)",
                ylim=(0, 1),
            )
        axes[0].set_ylabel("weight")
        plt.tight_layout()
        plt.show()
