"""The words of a kernel, `tl`: Triton's names, on blocks of NumPy numbers.

What is not here is refused by name (`refusals.py`). Operations that reach memory go through `running.memory`.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from helpers.kit.tiles.blocks import Block, Pointer, block_of, constexpr, is_power_of_two, pair, together
from helpers.kit.tiles.faults import Refused
from helpers.kit.tiles.types import (
    Type,
    bfloat16,
    float16,
    float32,
    float64,
    int1,
    int8,
    int16,
    int32,
    int64,
    uint8,
)

KERNEL_MARK = "__kernel__"  # a global of every compiled kernel: its frames are found by it
SMALLEST_DOT = 16
PRECISIONS = ("ieee", "tf32", "tf32x3")

__all__ = ["bfloat16", "constexpr", "float16", "float32", "float64", "int1", "int8", "int16", "int32", "int64", "uint8"]


class Running:
    """The program that runs at the moment: its memory, its place in the grid."""

    memory: Any = None
    program: tuple[int, int, int] = (0, 0, 0)
    grid: tuple[int, int, int] = (1, 1, 1)


running = Running()


def line() -> int:
    """The line of the kernel that is running, counted in the kernel's own text."""
    frame: Any = sys._getframe(1)
    while frame is not None and KERNEL_MARK not in frame.f_globals:
        frame = frame.f_back
    return 0 if frame is None else int(frame.f_lineno)


def constant(value: Any, what: str) -> Any:
    """A value that must be known when the kernel is compiled."""
    if isinstance(value, constexpr):
        value = value.value
    if isinstance(value, Block | Pointer):
        raise Refused(f"{what} must be known when the kernel is compiled: give a `tl.constexpr`")
    return value


def side(value: Any, what: str) -> int:
    n = constant(value, what)
    if not isinstance(n, int) or not is_power_of_two(n):
        raise Refused(f"{what} must be a power of two, not {n}")
    return n


def shape_of(shape: Any) -> tuple[int, ...]:
    sides = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple(side(n, "the side of a block") for n in sides)


# ---- programs and numbers --------------------------------------------------------------------------------------------


def program_id(axis: Any) -> Block:
    return Block(running.program[grid_axis(axis)], int32)


def num_programs(axis: Any) -> Block:
    return Block(running.grid[grid_axis(axis)], int32)


def grid_axis(axis: Any) -> int:
    number = constant(axis, "the axis of the grid")
    if number not in (0, 1, 2):
        raise Refused(f"a grid has the axes 0, 1 and 2, not {number}")
    return int(number)


def arange(start: Any, end: Any) -> Block:
    first, last = constant(start, "the start of `arange`"), constant(end, "the end of `arange`")
    if not isinstance(first, int) or not isinstance(last, int) or not is_power_of_two(last - first):
        raise Refused("the length of `arange` must be a power of two")
    return Block(np.arange(first, last), int32)


def zeros(shape: Any, dtype: Any) -> Block:
    return full(shape, 0, dtype)


def full(shape: Any, value: Any, dtype: Any) -> Block:
    if not isinstance(dtype, Type):
        raise Refused("name the type of the block, such as `tl.float32`")
    lanes = block_of(value).lanes
    if lanes.ndim:
        raise Refused("a block is filled with one number")
    return Block(np.full(shape_of(shape), lanes), dtype)


def zeros_like(x: Any) -> Block:
    return Block(np.zeros(block_of(x).shape), block_of(x).dtype)


def cdiv(x: Any, y: Any) -> Any:
    """How many blocks of y cover x."""
    if isinstance(x, Block) or isinstance(y, Block):
        return (x + (y - 1)) // y
    return -(-constant(x, "cdiv") // constant(y, "cdiv"))


def static_range(*bounds: Any) -> Iterator[int]:
    return iter(builtins.range(*(constant(bound, "a bound of `static_range`") for bound in bounds)))


def block_range(*bounds: Any, num_stages: Any = None, **options: Any) -> Iterator[Any]:
    """`range` in a kernel: its bounds may be computed, and what it gives is a number of the kernel's."""
    if all(isinstance(bound, int | constexpr) for bound in bounds):
        numbers = builtins.range(*(constant(bound, "a bound") for bound in bounds))
    else:
        numbers = builtins.range(*(block_of(bound).__index__() for bound in bounds))
    return (Block(number, int32) for number in numbers)


# ---- memory ----------------------------------------------------------------------------------------------------------


def prepared(pointer: Any, mask: Any, verb: str, value: Any = None) -> tuple[Pointer, Any, Any]:
    """Addresses, mask and values in one shape."""
    if not isinstance(pointer, Pointer):
        raise Refused(f"`tl.{verb}` takes addresses: an argument of the launch plus offsets")
    parts = {"pointer": pointer.lanes}
    if mask is not None:
        truth = block_of(mask)
        if truth.dtype is not int1:
            raise Refused(f"a mask is a block of truth values, not of {truth.dtype}")
        parts["mask"] = truth.lanes
    if value is not None:
        parts["value"] = block_of(value, pointer.element).lanes
    stretched = dict(zip(parts, together(*parts.values()), strict=True))
    if stretched["pointer"].shape != pointer.shape and verb != "load":
        raise Refused(f"`tl.{verb}`: values or mask have more axes than the addresses, {pointer.shape}")
    return pointer.with_lanes(stretched["pointer"].copy()), stretched.get("mask"), stretched.get("value")


def sent(lanes: Any) -> Any:
    return None if lanes is None else np.ascontiguousarray(lanes).reshape(np.shape(lanes))


def load(pointer: Any, mask: Any = None, other: Any = None, **hints: Any) -> Block:
    """Numbers at these addresses. What is masked has the value `other`, and is undefined without it."""
    if other is not None and mask is None:
        raise Refused("`other` is for lanes that are masked, and there is no mask")
    place, inside, instead = prepared(pointer, mask, "load", other)
    values = running.memory.load(place.array, sent(place.lanes), sent(inside), line())
    if instead is not None:
        values = np.where(inside, values, pointer.element.rounded(instead))
    return Block(values, pointer.element)


def store(pointer: Any, value: Any, mask: Any = None, **hints: Any) -> None:
    place, inside, values = prepared(pointer, mask, "store", value)
    running.memory.store(place.array, sent(place.lanes), sent(pointer.element.rounded(values)), sent(inside), line())


def atomic_add(pointer: Any, val: Any, mask: Any = None, **hints: Any) -> Block:
    """Add, as one step that no other program can come between; gives the numbers from before."""
    place, inside, values = prepared(pointer, mask, "atomic_add", val)
    given = sent(pointer.element.rounded(values))
    before = running.memory.add(place.array, sent(place.lanes), given, sent(inside), line())
    return Block(before, pointer.element)


def dot(
    input: Any, other: Any, acc: Any = None, input_precision: Any = None, allow_tf32: Any = None, out_dtype: Any = None
) -> Block:
    """Product of two blocks, accumulated in float32."""
    a, b = block_of(input), block_of(other)
    if a.lanes.ndim != 2 or b.lanes.ndim != 2:
        raise Refused(f"`tl.dot` takes two blocks with two axes, not {a.shape} and {b.shape}")
    if a.dtype is not b.dtype:
        raise Refused(f"`tl.dot` takes two blocks of one type, not {a.dtype} and {b.dtype}: use `.to`")
    if a.shape[1] != b.shape[0]:
        raise Refused(f"`tl.dot`: blocks of shape {a.shape} and {b.shape} do not fit")
    if builtins.min(*a.shape, *b.shape) < SMALLEST_DOT:
        raise Refused(f"`tl.dot` takes blocks with sides of at least {SMALLEST_DOT}, not {a.shape} and {b.shape}")
    if a.dtype not in (float16, bfloat16, float32):
        raise Refused(f"`tl.dot` multiplies fp16, bf16 or fp32 here, not {a.dtype}")
    if input_precision is not None and input_precision not in PRECISIONS:
        raise Refused(f"`input_precision` is one of {', '.join(PRECISIONS)}")
    if out_dtype not in (None, float32):
        raise Refused("`tl.dot` gives float32 here: convert the result with `.to`")
    product = running.memory.dot(sent(a.lanes), sent(b.lanes))
    if acc is None:
        return Block(product, float32)
    start = block_of(acc)
    if start.dtype is not float32 or start.shape != product.shape:
        raise Refused(f"`tl.dot` adds to a float32 block of shape {product.shape}, not to {start!r}")
    return Block(start.lanes + product, float32)


# ---- numbers, one by one ---------------------------------------------------------------------------------------------


def function_of_floats(name: str, function: Callable[[np.ndarray], np.ndarray]) -> Callable[[Any], Block]:
    def apply(x: Any) -> Block:
        block = block_of(x)
        if block.dtype not in (float32, float64):
            raise Refused(f"`tl.{name}` takes float32, not {block.dtype}: use `.to(tl.float32)`")
        return Block(function(block.lanes), block.dtype)

    apply.__name__ = name
    return apply


exp = function_of_floats("exp", np.exp)
exp2 = function_of_floats("exp2", np.exp2)
log = function_of_floats("log", np.log)
log2 = function_of_floats("log2", np.log2)
sqrt = function_of_floats("sqrt", np.sqrt)
rsqrt = function_of_floats("rsqrt", lambda x: 1 / np.sqrt(x))
sin = function_of_floats("sin", np.sin)
cos = function_of_floats("cos", np.cos)
sigmoid = function_of_floats("sigmoid", lambda x: 1 / (1 + np.exp(-x)))


def abs(x: Any) -> Block:
    return Block(np.abs(block_of(x).lanes), block_of(x).dtype)


def maximum(x: Any, y: Any) -> Block:
    a, b, dtype = pair(x, y)
    return Block(np.maximum(a, b), dtype)


def minimum(x: Any, y: Any) -> Block:
    a, b, dtype = pair(x, y)
    return Block(np.minimum(a, b), dtype)


def where(condition: Any, x: Any, y: Any) -> Block:
    truth = block_of(condition)
    if truth.dtype is not int1:
        raise Refused(f"`tl.where` takes truth values first, not {truth.dtype}")
    a, b, dtype = pair(x, y)
    chosen, first, second = together(truth.lanes, a, b)
    return Block(np.where(chosen, first, second), dtype)


# ---- whole blocks ----------------------------------------------------------------------------------------------------


def reduced(name: str, x: Any, axis: Any, keep_dims: Any, function: Callable[..., Any]) -> Block:
    block = block_of(x)
    along = constant(axis, "the axis")
    if not block.lanes.ndim:
        raise Refused(f"`tl.{name}` takes a block: this is one number")
    if along is not None and not -block.lanes.ndim <= along < block.lanes.ndim:
        raise Refused(f"`tl.{name}`: a block of shape {block.shape} has no axis {along}")
    dtype = float32 if block.dtype is bfloat16 else block.dtype
    if dtype.kind == "int" and dtype.bits < 32:
        dtype = int32
    return Block(function(dtype.rounded(block.lanes), axis=along, keepdims=bool(keep_dims)), dtype)


def sum(input: Any, axis: Any = None, keep_dims: Any = False) -> Block:
    return reduced("sum", input, axis, keep_dims, np.sum)


def max(input: Any, axis: Any = None, keep_dims: Any = False) -> Block:
    return reduced("max", input, axis, keep_dims, np.max)


def min(input: Any, axis: Any = None, keep_dims: Any = False) -> Block:
    return reduced("min", input, axis, keep_dims, np.min)


def cumsum(input: Any, axis: Any = 0) -> Block:
    block = block_of(input)
    return Block(np.cumsum(block.lanes, axis=constant(axis, "the axis"), dtype=block.lanes.dtype), block.dtype)


def trans(input: Any) -> Block:
    block = block_of(input)
    if block.lanes.ndim != 2:
        raise Refused(f"`tl.trans` takes a block with two axes, not {block.shape}")
    return block.T


def expand_dims(input: Any, axis: Any) -> Any:
    if not isinstance(input, Pointer):
        input = block_of(input)
    return input.with_lanes(np.expand_dims(input.lanes, constant(axis, "the axis")))


def broadcast_to(input: Any, shape: Any) -> Block:
    block = block_of(input)
    try:
        return block.with_lanes(np.broadcast_to(block.lanes, shape_of(shape)))
    except ValueError:
        raise Refused(f"a block of shape {block.shape} cannot be stretched to {shape}") from None


def cast(input: Any, dtype: Any) -> Block:
    return block_of(input).to(dtype)


def multiple_of(input: Any, values: Any) -> Any:
    """A promise to the compiler, which changes nothing here."""
    return input


max_contiguous = multiple_of
range = block_range
