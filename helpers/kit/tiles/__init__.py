"""A GPU to think with: kernels in Triton's language, on any computer.

    from helpers.kit.tiles import tl, triton

gives real Triton where there is a CUDA device and the wheel (tensors on the CPU still go to the simulator:
real_triton.py), and a simulator in NumPy elsewhere, and always in grading.
The simulator runs the programs of a launch in shuffled order, and checks what a GPU does not: every address is inside
its array, no two programs race for a number, and what is undefined is NaN. It counts bytes and operations, so that a
cost is a figure that is the same on every machine.

    types.py     the types of numbers            memory.py    arrays, bounds, races, counters
    blocks.py    blocks and pointers             refusals.py  what Triton would not compile
    language.py  the words `tl.…`                launch.py    `@triton.jit`, `kernel[grid](…)`
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import torch

from helpers.kit.tiles import language, launch
from helpers.kit.tiles.faults import KernelError, OutOfBounds, Race, Refused
from helpers.kit.tiles.launch import Kernel, Traffic
from helpers.kit.tiles.real_triton import words


def has_real_triton() -> bool:
    """Is there a GPU that Triton can compile for? Never in grading: figures must be the same everywhere."""
    if os.environ.get("NBGRADER_EXECUTION") or os.environ.get("COURSE_TILES") == "simulator":
        return False
    return torch.cuda.is_available() and importlib.util.find_spec("triton") is not None


def simulated(kernel: Any) -> Kernel:
    """This kernel for the simulator, wherever it was made."""
    return kernel if isinstance(kernel, Kernel) else launch.jit(getattr(kernel, "fn", kernel))


real = has_real_triton()
triton: Any
tl: Any
triton, tl = words() if real else (launch, language)

__all__ = ["KernelError", "OutOfBounds", "Race", "Refused", "Traffic", "real", "simulated", "tl", "triton"]
