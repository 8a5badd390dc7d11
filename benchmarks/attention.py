"""Attention variants of 03 and 04 over growing sequences: processor seconds, and the exponent of n that fits them.

Width 32, one head, one thread; the best of three runs. The exponent is the slope of a line through the logarithms.
Softmax attention needs n² numbers, kernel attention a constant number for each position. The causal loop of 04 is
linear, too, but pays Python for every position, which its version in chunks does not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from autograder.authoring.source import read

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 32
SIZES = (512, 1024, 2048, 4096)
RUNS = 3


def solutions(assignment: str) -> dict[str, Any]:
    """The names that the answers of an assignment define."""
    names: dict[str, Any] = {}
    for cell in read(ROOT / "solutions" / assignment / f"{assignment}.py"):
        if cell.kind == "code" and (cell.grade_id == "setup" or (cell.is_solution and not cell.is_manual)):
            exec(compile(cell.python, f"{assignment}:{cell.line}", "exec"), names)
    return names


def seconds(function: Callable[..., Any], *args: Any) -> float:
    taken = []
    for _ in range(RUNS):
        before = time.process_time()
        function(*args)
        taken.append(time.process_time() - before)
    return min(taken)


def exponent(sizes: tuple[int, ...], times: list[float]) -> float:
    """The slope of the least-squares line of log time over log size."""
    x, y = [math.log(size) for size in sizes], [math.log(one) for one in times]
    middle, level = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - middle) * (b - level) for a, b in zip(x, y, strict=True))
    return products / sum((a - middle) ** 2 for a in x)


def main() -> None:
    torch.set_num_threads(1)
    softmax, linear = solutions("03-attention"), solutions("04-linear-attention")
    variants: dict[str, Callable[..., Any]] = {
        "softmax attention (03)": softmax["attention"],
        "the same, fused by PyTorch": lambda q, k, v: F.scaled_dot_product_attention(q[None], k[None], v[None]),
        "kernel attention (04)": linear["kernel_attention"],
        "causal, a loop over positions (04)": linear["causal_linear_attention"],
        "causal, in chunks of 64 (04)": lambda q, k, v: linear["chunked_attention"](q, k, v, 64),
    }
    print(f"| variant | {' | '.join(f'n = {n:,}' for n in SIZES)} | exponent |")
    print(f"| --- |{' --- |' * (len(SIZES) + 1)}", flush=True)
    for name, function in variants.items():
        times = []
        for n in SIZES:
            q, k, v = torch.randn(3, n, WIDTH, generator=torch.Generator().manual_seed(n))
            times.append(seconds(function, q, k, v))
        cells = " | ".join(f"{1000 * one:.1f} ms" for one in times)
        print(f"| {name} | {cells} | {exponent(SIZES, times):.2f} |", flush=True)


if __name__ == "__main__":
    main()
