"""What a kernel moves and computes, counted by the memory that it runs on. (`cost` counts what torch does.)"""

from __future__ import annotations

from typing import Any

from helpers.checks import student_side
from helpers.checks.failed import Failed, StudentError
from helpers.checks.plain_data import copied
from helpers.kit import tiles
from helpers.kit.tiles import launch
from helpers.kit.tiles.launch import Traffic


def traffic(kernel: Any, grid: Any, *args: Any, **kwargs: Any) -> Traffic:
    """Launch a kernel on copies of the arguments: bytes loaded, stored and added, operations in dots, programs, and
    the arrays afterwards, by the names of the kernel's parameters.

    It always runs in the simulator. In grading the arrays live in the examiner, and a load, a store or a product is a
    call across: the figures are the examiner's own. An address outside of an array, a race, and what Triton would not
    compile fail every check that uses the result, with the sentence that says where.
    """
    remote = student_side.remote
    text = student_side.written(kernel)
    try:
        if remote is not None and remote.owns(kernel):
            return remote.traffic(kernel, text, grid, copied(args), copied(kwargs))
        return launch.launch(tiles.simulated(kernel), grid, copied(args), copied(kwargs))
    except tiles.KernelError as fault:
        raise StudentError(Failed(str(fault), fault.quiet_sentence)) from None
