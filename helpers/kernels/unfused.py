"""Softmax as a chain of five kernels, each of which reads its input and writes its result: what fusing saves."""

from __future__ import annotations

from typing import Any

import torch

from helpers.kit.tiles import language as tl
from helpers.kit.tiles import launch
from helpers.kit.tiles import launch as triton


@triton.jit
def reduce_rows(x: Any, out: Any, columns: Any, BLOCK: tl.constexpr, LARGEST: tl.constexpr) -> None:
    row, places = tl.program_id(0), tl.arange(0, BLOCK)
    if LARGEST:
        numbers = tl.load(x + row * columns + places, mask=places < columns, other=float("-inf"))
        tl.store(out + row, tl.max(numbers, 0))
    else:
        numbers = tl.load(x + row * columns + places, mask=places < columns, other=0.0)
        tl.store(out + row, tl.sum(numbers, 0))


@triton.jit
def exponential(x: Any, out: Any, columns: Any, BLOCK: tl.constexpr) -> None:
    row, places = tl.program_id(0), tl.arange(0, BLOCK)
    numbers = tl.load(x + row * columns + places, mask=places < columns)
    tl.store(out + row * columns + places, tl.exp(numbers), mask=places < columns)


@triton.jit
def combine_rows(x: Any, r: Any, out: Any, columns: Any, BLOCK: tl.constexpr, DIVIDE: tl.constexpr) -> None:
    row, places = tl.program_id(0), tl.arange(0, BLOCK)
    numbers = tl.load(x + row * columns + places, mask=places < columns)
    of_row = tl.load(r + row)
    result = numbers / of_row if DIVIDE else numbers - of_row  # type: ignore[operator]
    tl.store(out + row * columns + places, result, mask=places < columns)


def softmax(x: torch.Tensor) -> tuple[torch.Tensor, int, int]:
    """Softmax of the rows of x (n, m), and the bytes that the five kernels load and store."""
    n, m = x.shape
    block = launch.next_power_of_2(m)
    top, shifted, powers, total, out = x.new_empty(n), x.clone(), x.clone(), x.new_empty(n), x.clone()
    chain = [
        reduce_rows[(n,)](x, top, m, BLOCK=block, LARGEST=True),
        combine_rows[(n,)](x, top, shifted, m, BLOCK=block, DIVIDE=False),
        exponential[(n,)](shifted, powers, m, BLOCK=block),
        reduce_rows[(n,)](powers, total, m, BLOCK=block, LARGEST=False),
        combine_rows[(n,)](powers, total, out, m, BLOCK=block, DIVIDE=True),
    ]
    return out, sum(one.loaded for one in chain), sum(one.stored for one in chain)
