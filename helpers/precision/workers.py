"""Workers that compute in step: several threads that add up tensors, and the same with processes that `torchrun`
starts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from helpers.training_craft.checkpoints import IMPORTS, sources_of

AllSum = Callable[[Tensor], Tensor]
Average = Callable[[list[Tensor], int, AllSum], Sequence[Tensor]]
OUT_OF_STEP = (
    "the workers are out of step: every worker has to call all_sum equally often, with tensors of the same shape"
)


def in_step(work: Callable[[int, AllSum], Any], count: int) -> tuple[list[Any], int]:
    """Run `work(rank, all_sum)` for ranks 0 … count − 1 at the same time.

    Gives the results, and how often each worker called `all_sum`.

    `all_sum(tensor)` waits for all workers and gives each the sum of their tensors, a new tensor. As over a network,
    the sum is formed once.
    """
    barrier = threading.Barrier(count)
    offers: list[Tensor | None] = [None] * count
    results: list[Any] = [None] * count
    errors: list[BaseException] = []
    calls = [0] * count

    def exchange(rank: int, tensor: Tensor | None) -> list[Tensor | None]:
        offers[rank] = tensor
        barrier.wait()
        seen = list(offers)
        barrier.wait()
        return seen

    def all_sum(rank: int, tensor: Tensor) -> Tensor:
        calls[rank] += 1
        seen = exchange(rank, torch.as_tensor(tensor).detach().clone())
        given = [offer for offer in seen if offer is not None]
        if len(given) < count or len({offer.shape for offer in given}) > 1:
            raise RuntimeError(OUT_OF_STEP)
        return torch.stack(given).sum(0)

    def whole(rank: int) -> None:
        try:
            results[rank] = work(rank, lambda tensor: all_sum(rank, tensor))
            if any(offer is not None for offer in exchange(rank, None)):
                raise RuntimeError(OUT_OF_STEP)
        except BaseException as error:  # noqa: BLE001  what happens in a thread is raised again below
            if not isinstance(error, threading.BrokenBarrierError):
                errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=whole, args=(rank,), daemon=True) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results, calls[0]


# ---- real processes -------------------------------------------------------------------------------------------------

SCRIPT = (
    IMPORTS
    + """
{sources}

workers.worker(average_gradients, sys.argv[1])
"""
)


def script(*parts: Any) -> str:
    """The text of a worker's script with your averaging function in it."""
    return SCRIPT.replace("{sources}", sources_of(*parts))


def train(average: Average, rank: int, count: int, all_sum: AllSum, steps: int = 20) -> Tensor:
    """Train a small network on this worker's share of every batch; gives its weights.

    Batches of 7 do not divide evenly, on purpose.

    Every worker draws the same weights and the same batches, takes every `count`-th example, and steps with the
    averaged gradients.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(steps, 7, 5, generator=generator, dtype=torch.float64)
    y = torch.randn(steps, 7, 1, generator=generator, dtype=torch.float64)
    model = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 1)).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) / 3)
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.05, weight_decay=0.1)
    for batch, goal in zip(x, y, strict=True):
        mine, aim = batch[rank::count], goal[rank::count]
        optimiser.zero_grad()
        (model(mine) - aim).square().mean().backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        for parameter, gradient in zip(model.parameters(), average(gradients, len(mine), all_sum), strict=True):
            parameter.grad = gradient
        optimiser.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def worker(average: Average, folder: str) -> None:
    """What each process that `torchrun` starts does: join the group, train, write down the weights."""
    from torch import distributed

    distributed.init_process_group("gloo")
    rank, count = distributed.get_rank(), distributed.get_world_size()

    def all_sum(tensor: Tensor) -> Tensor:
        total = tensor.detach().clone()
        distributed.all_reduce(total, op=distributed.ReduceOp.SUM)
        return total

    torch.save(train(average, rank, count, all_sum), Path(folder) / f"weights-{rank}.pt")
    distributed.destroy_process_group()


def torchrun(text: str, folder: str | Path, count: int = 2, seconds: float = 600) -> list[Tensor]:
    """Start `count` processes on this machine with torchrun; gives the weights of each."""
    home = Path(folder)
    (home / "worker.py").write_text(text, encoding="utf-8")
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(count)]
    done = subprocess.run(
        [*launcher, str(home / "worker.py"), str(home)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    if done.returncode:
        named = [
            line for line in done.stderr.splitlines() if "Error" in line
        ]  # the workers' own come before the launcher's
        raise RuntimeError(
            f"torchrun ended with code {done.returncode}: {named[0] if named else done.stderr.strip()[-2000:]}"
        )
    return [torch.load(home / f"weights-{rank}.pt", weights_only=True) for rank in range(count)]
