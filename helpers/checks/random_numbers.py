"""The tests' own random numbers, from a generator of their own: student code that draws numbers does not change a
test's inputs.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import torch

generator = torch.Generator()


def number_of(name: str) -> int:
    """The seed that belongs to a check's name."""
    return zlib.crc32(name.encode())


def randn(*shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Standard normal numbers, the same in every run of the test cell."""
    return torch.randn(shape, generator=generator, dtype=dtype)


def rand(*shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Uniform numbers in [0, 1), the same in every run of the test cell."""
    return torch.rand(shape, generator=generator, dtype=dtype)


def randint(low: int, high: int, shape: Sequence[int]) -> torch.Tensor:
    """Integers in [low, high), the same in every run of the test cell."""
    return torch.randint(low, high, tuple(shape), generator=generator)


def randperm(n: int) -> torch.Tensor:
    """A permutation of 0 … n−1, the same in every run of the test cell."""
    return torch.randperm(n, generator=generator)
