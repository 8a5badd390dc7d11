"""The training loop of the kit's models."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from helpers.kit.training import progress


@dataclass
class History:
    """What a training run leaves behind: the loss of every step, before the step, and the seconds it took."""

    losses: list[float]
    seconds: float


def train(
    model: nn.Module,
    batches: Iterable[Any],
    loss: Callable[[nn.Module, Any], Tensor],
    optimiser: torch.optim.Optimizer,
    rates: Sequence[float] | None = None,
    clip: float | None = 1.0,
    label: str = "training",
    after: Callable[[int, nn.Module], None] | None = None,
    keep: Sequence[Any] = (),
) -> History:
    """One step per batch.

    `loss(model, batch)` gives a scalar. `rates` holds one learning rate per step (None: the optimiser's own).

    `after(step, model)` is called after each step, counted from 1: evaluate there. The model is set to training mode
    before every step. The time of `after` does not count. An interrupt ends the run early; the same call goes on from
    there. Lists that `after` fills are handed over as `keep`, so that they are there again.
    """
    losses: list[Any] = []
    clock = [0.0]  # seconds, `after` left out
    total = len(batches) if isinstance(batches, Sized) else None
    started = time.perf_counter()
    for batch in progress(batches, label, total, keep=[model, optimiser, losses, clock, *keep], watch=losses):
        step = len(losses)
        if rates is not None:
            for group in optimiser.param_groups:
                group["lr"] = rates[step]
        model.train()
        value = loss(model, batch)
        optimiser.zero_grad(set_to_none=True)
        value.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimiser.step()
        # On a CPU a number: thousands of small tensors that stay would lie between the large ones that go, and no gap
        # would fit again.
        losses.append(value.item() if value.device.type == "cpu" else value.detach())
        clock[0] += time.perf_counter() - started
        if after is not None:
            after(step + 1, model)
        started = time.perf_counter()
    numbers = [float(value) for value in losses]  # waits for the GPU: only then the clock is right
    return History(numbers, clock[0] + time.perf_counter() - started)
