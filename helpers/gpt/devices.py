"""Training on whatever device there is: facts about devices in a table, a plan for each, and a loop that carries the
plan out.

The table is plain data. A test on a machine without a GPU hands in a table with a pretended one, whose tensors live on
the CPU, and every decision and every line of the GPU path runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from helpers.kit.seeding import device
from helpers.kit.training import make_optimizer

KINDS = ("cpu", "cuda", "mps")
AUTOCAST = {None: None, "bfloat16": torch.bfloat16, "float16": torch.float16}
NO_GPU = (
    "There is no GPU here (neither CUDA nor Apple's MPS), so the table has one row. The same cell fills the second row"
    " on a machine with one: on Colab choose Runtime, Change runtime type, T4 GPU; on a cluster send the Slurm job of"
    " this notebook."
)


@dataclass(frozen=True)
class Device:
    """One device: its `kind`, a `name` for people, whether it computes in `bfloat16`, and the torch device its tensors
    live on.
    """

    kind: str
    name: str
    bfloat16: bool = False
    place: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind {self.kind!r}: choose one of {', '.join(KINDS)}")
        if not self.place:
            object.__setattr__(self, "place", self.kind)

    @property
    def is_gpu(self) -> bool:
        return self.kind != "cpu"


@dataclass(frozen=True)
class Plan:
    """How to train on a device. `autocast` names the type of the matrix products (None: float32 throughout)."""

    autocast: str | None = None
    scaler: bool = False
    pinned: bool = False

    def __post_init__(self) -> None:
        if self.autocast not in AUTOCAST:
            raise ValueError(f"autocast {self.autocast!r}: choose None, 'bfloat16' or 'float16'")


@dataclass(frozen=True)
class Run:
    """What one device did: its losses and its time per step."""

    device: Device
    losses: list[float]
    seconds_per_step: float


def found() -> list[Device]:
    """The devices of this machine, the CPU first."""
    native = any(getattr(torch.cpu, test, bool)() for test in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    table = [Device("cpu", "CPU", bfloat16=native)]  # other CPUs only emulate bfloat16, many times slower
    if torch.cuda.is_available():
        capable = torch.cuda.get_device_capability()[0] >= 8  # older cards only emulate bfloat16
        table.append(Device("cuda", torch.cuda.get_device_name(), bfloat16=capable))
    elif torch.backends.mps.is_available():
        table.append(Device("mps", "Apple GPU"))
    return table


def chosen(table: Sequence[Device]) -> Device:
    """The device of the table to train on: the one that `helpers.kit.seeding.device` gives."""
    return next(entry for entry in table if entry.kind == device().type)


def wait(device: Device) -> None:
    """Let the device finish: a GPU works behind Python's back, and a clock read too early lies."""
    if device.place.startswith("cuda"):
        torch.cuda.synchronize()
    elif device.place.startswith("mps"):
        torch.mps.synchronize()


def autocast(device: Device, plan: Plan) -> AbstractContextManager[Any]:
    """Matrix products in the plan's type, everything delicate in float32."""
    kind = torch.device(device.place).type
    return torch.autocast(kind, dtype=AUTOCAST[plan.autocast], enabled=plan.autocast is not None)


def moved(batches: Iterable[tuple[Tensor, Tensor]], device: Device, plan: Plan) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches on the device. From pinned memory the copy runs while the GPU computes."""
    pin = plan.pinned and device.place.startswith("cuda")
    for x, y in batches:
        pair = (x.pin_memory(), y.pin_memory()) if pin else (x, y)
        yield pair[0].to(device.place, non_blocking=pin), pair[1].to(device.place, non_blocking=pin)


def fit(
    model: nn.Module,
    loss_of: Callable[[Tensor, Tensor], Tensor],
    batches: Iterable[tuple[Tensor, Tensor]],
    rates: Sequence[float],
    device: Device,
    plan: Plan,
    weight_decay: float = 0.1,
    clip: float = 1.0,
) -> Run:
    """A training loop with the plan's switches.

    The first step is left out of the time: it warms up caches and kernels.
    """
    model.to(device.place).train()
    optimizer = make_optimizer(model, weight_decay)
    scaler = torch.amp.GradScaler(torch.device(device.place).type, enabled=plan.scaler)
    losses: list[Tensor] = []
    started = time.perf_counter()
    for step, ((x, y), rate) in enumerate(zip(moved(batches, device, plan), rates, strict=True)):
        if step == 1:
            wait(device)
            started = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = rate
        with autocast(device, plan):
            loss = loss_of(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
    wait(device)
    elapsed = time.perf_counter() - started
    return Run(device, torch.stack(losses).float().tolist(), elapsed / max(1, len(losses) - 1))


def side_by_side(run: Callable[[Device], Run], table: Sequence[Device]) -> tuple[list[Run], str]:
    """The same run on the CPU and on the GPU of the table.

    Without a GPU: one run, and a message that says what to do.
    """
    gpus = [device for device in table if device.is_gpu]
    chosen = [device for device in table if not device.is_gpu][:1] + gpus[:1]
    runs = [run(device) for device in chosen]
    if not gpus:
        return runs, NO_GPU
    slow, fast = runs[0], runs[-1]
    gap = max(abs(a - b) for a, b in zip(slow.losses, fast.losses, strict=True))
    ratio = slow.seconds_per_step / fast.seconds_per_step
    return runs, f"{fast.device.name}: {ratio:.1f} times the CPU's speed; the losses differ by at most {gap:.1e}."


def report(runs: Sequence[Run], message: str) -> str:
    """The comparison as a small table for people."""
    lines = [f"{'device':<24}{'ms per step':>12}{'first loss':>12}{'last loss':>12}"]
    for entry in runs:
        losses = f"{entry.losses[0]:>12.4f}{entry.losses[-1]:>12.4f}"
        row = f"{entry.device.name:<24}{1000 * entry.seconds_per_step:>12.1f}{losses}"
        lines.append(row)
    return "\n".join([*lines, message])
