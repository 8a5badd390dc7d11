"""Kernels that the simulator and real Triton must agree about, and what each is launched with.

The simulator's tests import this module. Run as a program with TRITON_INTERPRET=1 and COURSE_TILES=triton, it runs the
same text in real Triton's interpreter and saves the arrays.
"""

import os
import sys

import torch

if os.environ.get("COURSE_TILES") == "triton":
    import triton
    import triton.language as tl
else:
    from helpers.kit.tiles import tl, triton


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    """x + y"""
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < n
    tl.store(out + places, tl.load(x + places, mask=inside) + tl.load(y + places, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    numbers = tl.load(x + row * columns + places, mask=places < columns, other=float("-inf"))
    weights = tl.exp(numbers - tl.max(numbers, axis=0))
    tl.store(out + row * columns + places, weights / tl.sum(weights, axis=0), mask=places < columns)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        inner = start + tl.arange(0, BK)
        left = tl.load(
            a + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0
        )
        right = tl.load(
            b + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0
        )
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(
        c + rows[:, None] * N + columns[None, :],
        total.to(c.dtype.element_ty),
        mask=(rows[:, None] < M) & (columns[None, :] < N),
    )


@triton.jit
def rms_norm(x, weight, out, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    numbers = tl.load(x + row * columns + places, mask=places < columns, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(numbers * numbers, axis=0) / columns + epsilon)
    w = tl.load(weight + places, mask=places < columns, other=0.0)
    tl.store(out + row * columns + places, numbers * scale * w, mask=places < columns)


@triton.jit
def flash(q, k, v, out, lse, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    block, head = tl.program_id(0), tl.program_id(1)
    rows = block * BM + tl.arange(0, BM)
    width = tl.arange(0, D)
    start_of_head = head * T * D
    queries = tl.load(q + start_of_head + rows[:, None] * D + width[None, :], mask=rows[:, None] < T, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    mixed = tl.zeros((BM, D), tl.float32)
    end = T
    if CAUSAL:
        end = tl.minimum(T, (block + 1) * BM)
    for start in range(0, end, BN):
        columns = start + tl.arange(0, BN)
        places = start_of_head + columns[:, None] * D + width[None, :]
        keys = tl.load(k + places, mask=columns[:, None] < T, other=0.0)
        values = tl.load(v + places, mask=columns[:, None] < T, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale
        seen = columns[None, :] < T
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp(scores - new_top[:, None])
        old = tl.exp(top - new_top)
        total = total * old + tl.sum(weights, 1)
        mixed = mixed * old[:, None] + tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        top = new_top
    tl.store(out + start_of_head + rows[:, None] * D + width[None, :], mixed / total[:, None], mask=rows[:, None] < T)
    tl.store(lse + head * T + rows, top + tl.log(total), mask=rows < T)


@triton.jit
def column_sums(x, out, rows, columns, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    numbers = tl.load(x + row * columns + places, mask=places < columns, other=0.0)
    tl.atomic_add(out + places, numbers, mask=places < columns)


@triton.jit
def whole_numbers(x, out, n, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    numbers = tl.load(x + places, mask=places < n, other=0)
    left = numbers // 3 + numbers % 3 * 100
    chosen = tl.where((numbers > 0) & (places % 2 == 0), left, -left)
    tl.store(out + places, chosen + tl.cdiv(n, 4) + tl.num_programs(0), mask=places < n)


@triton.jit
def twice(x):
    return x + x


@triton.jit
def in_half(x, y, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + places, mask=places < n, other=1.0), tl.load(y + places, mask=places < n, other=1.0)
    product = twice(a * b) + a
    tl.store(out + places, product.to(tl.float32) + tl.exp2(tl.sqrt(tl.abs(a.to(tl.float32)))), mask=places < n)


@triton.jit
def from_bfloat16(x, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    numbers = tl.load(x + places, mask=places < n, other=1.0)
    tl.store(out + places, numbers.to(tl.float32) * 3.0, mask=places < n)


def randn(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def cases():
    """Name, kernel, grid, arguments, constants. The arrays are made anew in every call."""
    nan = float("nan")
    yield "add", add, (8,), (randn(1, 1000), randn(2, 1000), torch.full((1000,), nan), 1000), {"BLOCK": 128}
    yield "softmax", softmax, (5,), (randn(3, 5, 37), torch.full((5, 37), nan), 5, 37), {"BLOCK": 64}
    tiles = {"BM": 16, "BN": 32, "BK": 16}
    yield "matmul", matmul, (3, 2), (randn(4, 40, 50), randn(5, 50, 48), torch.full((40, 48), nan), 40, 48, 50), tiles
    half = (randn(4, 40, 50).half(), randn(5, 50, 48).half(), torch.full((40, 48), nan).half(), 40, 48, 50)
    yield "matmul in float16", matmul, (3, 2), half, tiles
    yield "rms norm", rms_norm, (6,), (randn(6, 6, 20), randn(7, 20), torch.full((6, 20), nan), 20, 1e-5), {"BLOCK": 32}
    for causal in (False, True):
        arrays = [*randn(8, 3, 2, 50, 16), torch.full((2, 50, 16), nan), torch.full((2, 50), nan)]
        sizes = {"D": 16, "BM": 32, "BN": 16, "CAUSAL": causal}
        yield f"flash, causal {causal}", flash, (2, 2), (*arrays, 50, 0.25), sizes
    yield "atomics", column_sums, (7,), (randn(9, 7, 20), torch.zeros(20), 7, 20), {"BLOCK": 32}
    numbers = torch.arange(-20, 20, dtype=torch.int32)
    yield "whole numbers", whole_numbers, (1,), (numbers, torch.zeros(40, dtype=torch.int32), 40), {"BLOCK": 64}
    half = [randn(10, 100).half(), randn(11, 100).half(), torch.full((100,), nan)]
    yield "in half", in_half, (2,), (*half, 100), {"BLOCK": 64}
    # Nothing but loads: the interpreter cuts off where a GPU rounds, and computes with the bits as if they were whole numbers.
    yield "from bfloat16", from_bfloat16, (2,), (randn(10, 100).bfloat16(), torch.full((100,), nan), 100), {"BLOCK": 64}


def results():
    """The arrays of every case after its launch."""
    after = {}
    for name, kernel, grid, args, constants in cases():
        kernel[grid](*args, **constants)
        after[name] = [a for a in args if isinstance(a, torch.Tensor)]
    return after


if __name__ == "__main__":
    torch.save(results(), sys.argv[1])
