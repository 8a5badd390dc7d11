"""Where there is a GPU: kernels that run there for tensors that are there, and in the simulator for all others.

So the tests of a notebook, whose tensors are on the CPU, run and count the same on every machine.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from typing import Any

import torch

from helpers.kit.tiles import launch


def words() -> tuple[Any, Any]:
    """`triton` and `tl` of real Triton, with a `jit` whose kernels run on both sides."""
    triton = importlib.import_module("triton")
    base: Any = importlib.import_module("triton.runtime.jit").JITFunction

    class RealKernel(base):
        """Real Triton's kernel: other kernels can call it, and the compiler takes it as its own."""

        def __getitem__(self, grid: Any) -> Callable[..., Any]:
            on_gpu = super().__getitem__(grid)

            def run(*args: Any, **kwargs: Any) -> Any:
                given = [*args, *kwargs.values()]
                if any(isinstance(value, torch.Tensor) and value.is_cuda for value in given):
                    return on_gpu(*args, **kwargs)
                return launch.jit(self.fn)[grid](*args, **kwargs)

            return run

    names = {"cdiv": launch.cdiv, "next_power_of_2": launch.next_power_of_2, "jit": RealKernel}
    return types.SimpleNamespace(**names), importlib.import_module(f"{triton.__name__}.language")
