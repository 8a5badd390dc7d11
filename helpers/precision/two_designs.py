"""Two designs of one language model, the original Transformer's and LLaMA's, trained at equal cost: held-out loss
against FLOPs.

Post-norm, LayerNorm, ReLU, sinusoidal positions and biases on one side; pre-norm, RMSNorm, SwiGLU, rotary positions and
no biases on the other. The rate rises over the first tenth of a run and then stays: after that, every point of a curve
is what a run of that length, with the same warm-up, would give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from helpers.kit.models import LanguageModel, Shape, train
from helpers.kit.training import PADDING, cover

# The five changes, one at a time: what each sets in a Shape.
CHANGES: dict[str, dict[str, Any]] = {
    "pre-norm": {"pre_norm": True, "final_norm": True},
    "RMSNorm": {"norm": "rms"},
    "SwiGLU": {"activation": "swiglu"},
    "RoPE": {"positions": "rope"},
    "no biases": {"bias": False},
}


def original(**sizes: Any) -> Shape:
    """The design of Vaswani et al. (2017)."""
    return Shape(
        **sizes, norm="layer", pre_norm=False, final_norm=False, activation="relu", positions="sinusoidal", bias=True
    )


def changed(shape: Shape, names: Sequence[str], gated_hidden: int) -> Shape:
    """A shape with some of the `CHANGES`; SwiGLU also takes the feed-forward width `gated_hidden`."""
    for name in names:
        shape = replace(shape, **CHANGES[name])
    return replace(shape, hidden=gated_hidden) if "SwiGLU" in names else shape


def llama(gated_hidden: int, **sizes: Any) -> Shape:
    """The design of Touvron et al. (2023): all five changes."""
    return changed(original(**sizes), list(CHANGES), gated_hidden)


def counted_flops(shape: Shape, B: int) -> int:
    """Matrix-product FLOPs of one training step (forward and backward) on B full contexts: B times what torch counts
    for one.
    """
    model = LanguageModel(shape)
    tokens = torch.zeros(1, shape.context, dtype=torch.long)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        model(tokens).sum().backward()
    return B * int(counter.get_total_flops())


def multiplying_weights(model: nn.Module) -> int:
    """Weights of the linear layers, the output head included: those that take part in matrix products."""
    return sum(layer.weight.numel() for layer in model.modules() if isinstance(layer, nn.Linear))


@dataclass(frozen=True)
class Curve:
    """Held-out loss in nats per token after some FLOPs of training."""

    flops: list[float]
    losses: list[float]


def held_out_loss(model: nn.Module, batches: Sequence[tuple[Tensor, Tensor]]) -> float:
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for x, y in batches:
            total += F.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=PADDING, reduction="sum").item()
            count += int((y != PADDING).sum())
    return total / count


def looks_at(steps: int, points: int) -> list[int]:
    """Steps at which a curve has its points: evenly spread on a log scale, the last step among them."""
    return sorted({max(1, round(steps ** ((i + 1) / points))) for i in range(points)} | {steps})


def learning_curve(
    shape: Shape,
    stream: Tensor,
    held_out: Tensor,
    steps: int,
    B: int,
    peak: float,
    seed: int,
    optimiser: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW,
    device: str | torch.device = "cpu",
    points: int = 14,
    label: str = "training",
) -> Curve:
    """One run from scratch.

    Start, batches and everything else follow from the seed; two designs with one seed see the same batches.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LanguageModel(shape).to(device)
        per_step = counted_flops(shape, B)
    generator = torch.Generator().manual_seed(seed)
    starts = torch.randint(len(stream) - shape.context, (steps, B, 1), generator=generator)
    windows = (stream[start + torch.arange(shape.context + 1)].to(device) for start in starts)
    validation = [(x.to(device), y.to(device)) for x, y in cover(held_out, 4 * B, shape.context)]
    rise = max(1, steps // 10)
    rates = [peak * min(1.0, (step + 1) / rise) for step in range(steps)]
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    stepper = optimiser(
        [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
        lr=peak,
        betas=(0.9, 0.95),
    )
    when = set(looks_at(steps, points))
    flops: list[float] = []
    losses: list[float] = []

    def look(step: int, model: nn.Module) -> None:
        if step in when:
            flops.append(float(step * per_step))
            losses.append(held_out_loss(model, validation))

    def loss(model: nn.Module, window: Tensor) -> Tensor:
        return F.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())

    history = train(model, windows, loss, stepper, rates, label=label, after=look, keep=[flops, losses])
    if len(history.losses) < steps:  # interrupted: the last point is where it stopped
        flops.append(float(len(history.losses) * per_step))
        losses.append(held_out_loss(model, validation))
    return Curve(flops, losses)


def spread(curves: Sequence[Curve]) -> tuple[list[float], Tensor]:
    """GFLOPs, and losses (seeds, points) of several runs of one design, as far as all of them go."""
    points = sum(len(set(at)) == 1 for at in zip(*(curve.flops for curve in curves), strict=False))
    together = curves if points else curves[:1]  # an interrupted run may not have a point in common with the others
    points = points or len(curves[0].flops)
    return [flops / 1e9 for flops in curves[0].flops[:points]], torch.tensor(
        [curve.losses[:points] for curve in together]
    )


def table(results: Mapping[str, Sequence[Curve]]) -> str:
    """The last losses: mean, least and most over the seeds."""
    lines = [f"{'design':<28}{'mean loss':>10}{'least':>9}{'most':>9}{'seeds':>7}"]
    for name, curves in results.items():
        last = [curve.losses[-1] for curve in curves]
        lines.append(f"{name:<28}{sum(last) / len(last):>10.4f}{min(last):>9.4f}{max(last):>9.4f}{len(last):>7}")
    return "\n".join(lines)
