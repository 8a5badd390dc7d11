"""The memory of a launch: arrays, bounds, races, and what was moved.

Programs reach numbers only through `load`, `store` and `add`, and multiply blocks only through `dot`. In grading this
object stays with the examiner, and the student's process calls these methods across: so bytes, operations, bounds and
races are the examiner's own figures. Whatever comes in may come from student code, and is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from helpers.kit.tiles.faults import KernelError, OutOfBounds, Place, Race, Refused
from helpers.kit.tiles.types import of_torch

NOBODY, SEVERAL = -1, -2
POISON = -1163005939  # what an integer lane holds that was masked and got no `other`: as an address it is outside
MOST_LANES = 1 << 20  # Triton's own limit of a block


class Touch(NamedTuple):
    """One access of one program, for pictures of a launch: first and last address of the lanes that are not masked."""

    program: tuple[int, ...]
    verb: str
    array: str
    addresses: np.ndarray


class Array:
    """The numbers of one argument, flat, and which program used each of them how."""

    def __init__(self, name: str, tensor: torch.Tensor, strides: Sequence[int] = ()) -> None:
        self.name, self.tensor = name, tensor
        self.dtype = of_torch(tensor.dtype, name)
        self.numbers = self.dtype.rounded(flat(tensor, name, strides))
        self.users = {verb: np.full(self.numbers.size, NOBODY, np.int64) for verb in ("load", "store", "add")}

    def written_back(self) -> torch.Tensor:
        """The numbers as a tensor like the argument; the argument itself is changed, as a kernel changes it."""
        values = torch.from_numpy(self.numbers.copy()).to(self.tensor.dtype)
        self.tensor.detach().as_strided((values.numel(),), (1,), self.tensor.storage_offset()).copy_(values)
        return self.tensor


def flat(tensor: torch.Tensor, name: str, strides: Sequence[int]) -> np.ndarray:
    """The numbers from a tensor's first to its last, in the order in which they lie in memory."""
    needed = [step for side, step in zip(tensor.shape, tensor.stride(), strict=True) if side > 1]
    if not tensor.is_contiguous() and not all(step in strides for step in needed if step != 1):
        raise Refused(
            f"`{name}` is not contiguous: a kernel sees its numbers in the order in which they lie in memory."
            f" Hand over `{name}.contiguous()`, or its strides as well"
        )
    if tensor.numel() == 0:
        return np.zeros(0, np.float32)
    span = sum((side - 1) * step for side, step in zip(tensor.shape, tensor.stride(), strict=True)) + 1
    numbers = tensor.detach().as_strided((span,), (1,), tensor.storage_offset())
    return (numbers.float() if tensor.dtype == torch.bfloat16 else numbers).numpy().copy()


class Memory:
    """The arrays of one launch, the program that runs at the moment, and the counters."""

    PUBLIC = ("load", "store", "add", "dot")

    def __init__(self, arrays: Mapping[str, Array], grid: tuple[int, int, int]) -> None:
        self.arrays = list(arrays.values())
        self.grid = grid
        self.program = (0, 0, 0)
        self.loaded = self.stored = self.added = self.flops = self.programs = self.calls = 0
        self.fault: KernelError | None = None
        self.place: Callable[[int], Place] = lambda line: Place(line, "")
        self.watcher: Callable[[Touch], None] | None = None

    def begin(self, program: tuple[int, int, int]) -> None:
        """From here on this program runs. Who it is, the side that starts programs says, not the program."""
        self.program = program
        self.programs += 1

    # ---- what programs may do ---------------------------------------------------------------------------------------

    def load(self, array: Any, offsets: Any, mask: Any = None, line: Any = 0) -> np.ndarray:
        """The numbers at these addresses; what is masked is NaN, or POISON."""
        source, inside = self.used(array, "load", offsets, mask, line)
        undefined: Any = np.nan if source.numbers.dtype.kind == "f" else POISON if source.dtype.bits >= 32 else 0
        values = np.full(offsets.shape, undefined, source.numbers.dtype)
        values[inside] = source.numbers[offsets[inside]]
        self.loaded += int(inside.sum()) * source.dtype.bytes
        return values

    def store(self, array: Any, offsets: Any, values: Any, mask: Any = None, line: Any = 0) -> None:
        target, inside = self.used(array, "store", offsets, mask, line)
        given = self.given(values, offsets)[inside]
        addresses = offsets[inside]
        target.numbers[addresses] = target.dtype.rounded(given)
        last = target.numbers[addresses]
        twice = ~((last == target.dtype.rounded(given)) | (np.isnan(last) & np.isnan(given)))
        if twice.any():
            address = int(addresses[np.flatnonzero(twice)[0]])
            self.raise_fault(Race(target.name, address, "store", self.program, "store", self.program), line)
        self.stored += addresses.size * target.dtype.bytes

    def add(self, array: Any, offsets: Any, values: Any, mask: Any = None, line: Any = 0) -> np.ndarray:
        """Add atomically; gives the numbers as they were before."""
        target, inside = self.used(array, "add", offsets, mask, line)
        before = np.zeros(offsets.shape, target.numbers.dtype)
        before[inside] = target.numbers[offsets[inside]]
        np.add.at(target.numbers, offsets[inside], target.dtype.rounded(self.given(values, offsets)[inside]))
        target.numbers = target.dtype.rounded(target.numbers)
        self.added += int(inside.sum()) * target.dtype.bytes
        return before

    def dot(self, a: Any, b: Any) -> np.ndarray:
        """The product of two blocks in float32: two operations for each of its m × n × k terms."""
        if not all(isinstance(x, np.ndarray) and x.ndim == 2 and x.dtype.kind in "fi" for x in (a, b)):
            raise Refused("dot takes two blocks with two axes")
        if a.shape[1] != b.shape[0] or max(a.size, b.size) > MOST_LANES:
            raise Refused(f"dot: blocks of shape {a.shape} and {b.shape} do not fit")
        self.calls += 1
        self.flops += 2 * a.shape[0] * a.shape[1] * b.shape[1]
        with np.errstate(all="ignore"):
            product: np.ndarray = a.astype(np.float32) @ b.astype(np.float32)
        return product

    # ---- bounds and races -------------------------------------------------------------------------------------------

    def used(self, array: Any, verb: str, offsets: Any, mask: Any, line: Any) -> tuple[Array, np.ndarray]:
        """The array, and which lanes take part, once all is known to be allowed."""
        self.calls += 1
        if type(array) is not int or not 0 <= array < len(self.arrays):
            raise Refused("there is no such array in this launch")
        if not isinstance(offsets, np.ndarray) or offsets.dtype != np.int64 or offsets.size > MOST_LANES:
            raise Refused("addresses are a block of integers")
        inside = np.ones(offsets.shape, bool) if mask is None else mask
        if not isinstance(inside, np.ndarray) or inside.dtype != bool or inside.shape != offsets.shape:
            raise Refused("a mask is a block of truth values, of the shape of the addresses")
        target = self.arrays[array]
        addresses = offsets[inside]
        outside = (addresses < 0) | (addresses >= target.numbers.size)
        if outside.any():
            first = int(addresses[np.flatnonzero(outside)[0]])
            count, size = int(outside.sum()), target.numbers.size
            lanes, masked = int(offsets.size), mask is not None
            self.raise_fault(OutOfBounds(verb, target.name, self.program, first, size, count, lanes, masked), line)
        self.look_for_races(target, verb, addresses, line)
        if self.watcher is not None:
            self.watcher(Touch(self.program, verb, target.name, addresses.copy()))
        return target, inside

    def look_for_races(self, target: Array, verb: str, addresses: np.ndarray, line: Any) -> None:
        """A number that one program stores is for no other; a number that several add to, nobody loads or stores."""
        me = self.number(self.program)
        conflicts = {"load": ("store", "add"), "store": ("store", "load", "add"), "add": ("store", "load")}[verb]
        for other_verb in conflicts:
            users = target.users[other_verb][addresses]
            foreign = np.flatnonzero((users != NOBODY) & (users != me))
            if foreign.size:
                other = self.identity(int(users[foreign[0]]))
                address = int(addresses[foreign[0]])
                self.raise_fault(Race(target.name, address, verb, self.program, other_verb, other), line)
        users = target.users[verb]
        before = users[addresses]
        users[addresses] = np.where((before == NOBODY) | (before == me), me, SEVERAL)

    def number(self, program: tuple[int, int, int]) -> int:
        return (program[2] * self.grid[1] + program[1]) * self.grid[0] + program[0]

    def identity(self, number: int) -> tuple[int, int, int]:
        """The program with this number; of several, some other one is as good as any."""
        if number == SEVERAL:
            number = next(n for n in range(2) if n != self.number(self.program))
        across, rest = number % self.grid[0], number // self.grid[0]
        return across, rest % self.grid[1], rest // self.grid[1]

    def raise_fault(self, fault: KernelError, line: Any) -> None:
        fault.place = self.place(line if type(line) is int else 0)
        self.fault = self.fault or fault
        raise fault

    @staticmethod
    def given(values: Any, offsets: np.ndarray) -> np.ndarray:
        if not isinstance(values, np.ndarray) or values.shape != offsets.shape or values.dtype.kind not in "fib":
            raise Refused("the values to store are a block of numbers, of the shape of the addresses")
        return values
