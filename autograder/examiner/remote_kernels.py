"""Kernels of student code: their programs run in the student's process, their arrays and counters are here.

The kernel is the text that was handed in. It is read and refused here; each program is one request, so that the
examiner knows which program it is that loads and stores. Every access is a call back to `Memory`, which checks bounds
and races and counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from autograder.examiner.remote_errors import RemoteError
from helpers.checks import kernel_runs
from helpers.kit.tiles import launch
from helpers.kit.tiles.launch import Kernel, Traffic

if TYPE_CHECKING:
    from autograder.examiner.bridge import Bridge


@lru_cache(maxsize=64)
def checked_kernel(name: str, text: str) -> Kernel:
    """A kernel that Triton would compile. A test launches the same one many times."""
    kernel = Kernel(name, text, {})
    kernel.checked()
    return kernel


def traffic(bridge: Bridge, name: str, text: str, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Traffic:
    """What a launch of the kernel `name` in `text` moves and computes."""
    kernel = checked_kernel(name, text)
    memory, arrays, arguments = launch.prepared(kernel, grid, args, kwargs)
    given = {key: tuple(value) for key, value in arguments.items()}
    for program in launch.order(memory.grid):
        memory.begin(program)
        try:
            bridge.run_remotely(kernel_runs.run, (name, text, memory, program, memory.grid, given), {})
        except RemoteError:
            if memory.fault is None:
                raise
        if memory.fault is not None:  # also where the student's process has kept quiet about it
            raise memory.fault
    return launch.counted(memory, arrays)
