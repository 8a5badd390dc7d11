"""Runs single programs of a kernel where the student's code lives, on a memory that lives with the examiner.

The examiner sends this module and the simulator as source before the first program, so that what a notebook has changed
in its own copy of them has no influence. It also sends the kernel as the text that was handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helpers.kit.tiles.launch import Argument, Kernel, run_program

# In this order: each needs only those before it.
SENT_ALONG = tuple(
    f"helpers.kit.tiles.{name}" for name in ("faults", "types", "blocks", "memory", "language", "refusals", "launch")
)

_kernels: dict[tuple[str, str], Kernel] = {}


def run(
    name: str,
    text: str,
    memory: Any,
    program: tuple[int, int, int],
    grid: tuple[int, int, int],
    arguments: Mapping[str, tuple[str, Any]],
) -> None:
    """Run one program of the kernel `name` in `text`; every load, store and product is a call to `memory`."""
    if (name, text) not in _kernels:
        _kernels[name, text] = Kernel(name, text, {})
    run_program(
        _kernels[name, text], memory, program, grid, {key: Argument(*value) for key, value in arguments.items()}
    )
