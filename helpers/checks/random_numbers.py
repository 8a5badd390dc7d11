"""The tests' own random numbers, from generators of their own: student code that draws numbers does not change a
test's inputs.

Visible lines draw from the check's name alone, so that the notebook, Validate, `course check` and grading show a
student the same numbers. Hidden lines draw from the name and the secret of the class: who knows the hidden inputs of
another class, or of the published tests, knows nothing about these.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence

import torch

from helpers.checks import student_side
from helpers.checks.cell_lines import in_hidden_region

PUBLIC = ""  # the secret where there is no class: `course verify`, tests, nbgrader's own Execute
secret = PUBLIC  # set by the examiner, in its own process; the student's process never has it

visible, hidden = torch.Generator(), torch.Generator()


def number_of(name: str) -> int:
    """The seed that belongs to a check's name."""
    return zlib.crc32(name.encode())


def secret_number(*parts: str | int) -> int:
    """The seed that belongs to these words and the secret of the class."""
    text = "\0".join((secret, *map(str, parts)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def begin(name: str) -> None:
    """Start the numbers of a test cell."""
    visible.manual_seed(number_of(name))
    hidden.manual_seed(secret_number("draws", name))
    student_side.seed(number_of(name))


def seed(number: int) -> None:
    """Seed Python's, NumPy's and torch's generators, on both sides; in hidden lines with the secret of the class."""
    student_side.seed(secret_number("seed", number) if in_hidden_region() else number)


def generator() -> torch.Generator:
    return hidden if in_hidden_region() else visible


def randn(*shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Standard normal numbers, the same in every run of the test cell."""
    return torch.randn(shape, generator=generator(), dtype=dtype)


def rand(*shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Uniform numbers in [0, 1), the same in every run of the test cell."""
    return torch.rand(shape, generator=generator(), dtype=dtype)


def randint(low: int, high: int, shape: Sequence[int]) -> torch.Tensor:
    """Integers in [low, high), the same in every run of the test cell."""
    return torch.randint(low, high, tuple(shape), generator=generator())


def randperm(n: int) -> torch.Tensor:
    """A permutation of 0 … n−1, the same in every run of the test cell."""
    return torch.randperm(n, generator=generator())
