"""What a training run needs around its loop: an optimiser, a schedule, batches that cover a text, a bar that can be
stopped, a model to test with.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import torch
import torch._dynamo  # the optimiser's first step imports it, which takes seconds: better here than in a test cell
from torch import Tensor, nn

from helpers.kit.interrupts import Loop, forget, remember_optimizer

__all__ = ["PADDING", "Loop", "TableModel", "cover", "forget", "make_optimizer", "progress", "warmup_cosine"]
PADDING = -1
Item = TypeVar("Item")


def make_optimizer(model: nn.Module, weight_decay: float = 0.1, fused: bool = True) -> torch.optim.AdamW:
    """AdamW that shrinks matrices and leaves vectors (gains, biases) alone; `fused` does the whole update in one
    kernel.
    """
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(
        [group for group in groups if group["params"]], lr=1e-3, betas=(0.9, 0.99), fused=fused
    )
    remember_optimizer(model, optimizer)
    return optimizer


def warmup_cosine(steps: int, peak: float, warmup: float = 0.1, floor: float = 0.1) -> list[float]:
    """One learning rate per step: a linear rise over the first share `warmup`, then half a cosine down to `floor` ×
    peak.
    """
    rise = max(1, round(warmup * steps))
    fall = max(1, steps - rise)
    return [
        (
            peak * (step + 1) / rise
            if step < rise
            else peak * (floor + (1 - floor) * (1 + math.cos(math.pi * (step - rise) / fall)) / 2)
        )
        for step in range(steps)
    ]


def cover(stream: Tensor, B: int, T: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches (x, y) of at most B windows of length T in which every entry of the stream but the first is a target
    exactly once.

    The windows do not overlap. The last one is filled up: its inputs with 0, its targets with PADDING.

    """
    count = len(stream) - 1
    rows = -(-count // T)
    x = torch.zeros(rows * T, dtype=torch.long)
    y = torch.full((rows * T,), PADDING)
    x[:count], y[:count] = stream[:-1], stream[1:]
    yield from zip(x.view(rows, T).split(B), y.view(rows, T).split(B), strict=True)


def progress(
    items: Iterable[Item],
    label: str,
    total: int | None = None,
    keep: Sequence[Any] = (),
    watch: Sequence[float] | None = None,
) -> Loop[Item]:
    """A progress bar on standard output, never on standard error (nbgrader gives no points to a cell that writes
    there); none at smoke scale. With a list of losses to `watch`, a notebook shows their curve while it grows.

    An interrupt ends it early, and what it is told to `keep` is there again when the cell is run once more: see
    `helpers.kit.interrupts`.
    """
    return Loop(items, label, total, keep, watch=watch)


class TableModel(nn.Module):
    """A language model that looks at the last token only: logits = table[token] + bias.

    Its results can be worked out on paper.

    It takes at most `context` tokens. In training mode it halves its logits, so that a wrong mode shows. It remembers
    the most tokens it was given and whether gradients were being recorded.
    """

    def __init__(self, table: Tensor, context: int = 8) -> None:
        super().__init__()
        self.table = nn.Parameter(table.detach().clone())
        self.bias = nn.Parameter(torch.zeros(table.shape[1], dtype=table.dtype))
        self.T = context
        self.most_tokens = 0
        self.gradients_recorded = False

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (B, T, V) after tokens (B, T)."""
        if tokens.shape[1] > self.T:
            raise ValueError(f"{tokens.shape[1]} tokens do not fit into a context of {self.T}")
        self.most_tokens = max(self.most_tokens, tokens.shape[1])
        self.gradients_recorded |= torch.is_grad_enabled()
        logits = self.table[tokens] + self.bias
        return logits / 2 if self.training else logits

    def facts(self) -> dict[str, int | bool]:
        """What was seen from outside: the mode now, the most tokens in one call, and whether gradients were
        recorded.
        """
        return {
            "training": self.training,
            "most_tokens": self.most_tokens,
            "gradients_recorded": self.gradients_recorded,
        }
