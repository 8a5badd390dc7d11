"""Blocks and pointers: what a kernel computes with. Both are values: nothing about them ever changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.kit.tiles.faults import Refused
from helpers.kit.tiles.types import PointerType, Type, common, float32, int1, int32, int64

NO_TRUTH = "a block of many truth values is no single one: use `tl.where`, or `&` and `|` in place of `and` and `or`"


def is_power_of_two(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0


class constexpr:  # noqa: N801  Triton's name
    """A number that is known when the kernel is compiled: an annotation of a parameter, or a global constant."""

    def __init__(self, value: Any) -> None:
        self.value: Any = value.value if isinstance(value, constexpr) else value


class Shaped:
    """What blocks and pointers share: an array of lanes, and indexing that only adds axes."""

    lanes: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lanes.shape

    def with_lanes(self, lanes: np.ndarray) -> Any:
        raise NotImplementedError

    def __getitem__(self, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        whole = slice(None)
        if any(part is not None and part != whole for part in parts):
            raise Refused("a block is one value, no list: single numbers cannot be picked. Only `[:, None]` is known")
        if sum(part is not None for part in parts) != self.lanes.ndim:
            raise Refused(f"the index names {len(parts)} axes; the block has {self.lanes.ndim}")
        return self.with_lanes(self.lanes[parts])

    def __setitem__(self, index: Any, value: Any) -> None:
        raise Refused("a block cannot be changed in place: make a new one with `tl.where`")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Refused(f"a block has no `.{name}`")

    def __iter__(self) -> Any:
        raise Refused("a block is one value, no list: it cannot be looped over")

    def __len__(self) -> int:
        raise Refused("a block has a shape that the kernel knows already: `len` is not known")


class Block(Shaped):
    """Numbers of one type. A single number is a block without axes."""

    def __init__(self, lanes: Any, dtype: Type) -> None:
        self.lanes = dtype.rounded(np.asarray(lanes))
        self.lanes.setflags(write=False)
        self.dtype = dtype

    def with_lanes(self, lanes: np.ndarray) -> Block:
        return Block(lanes, self.dtype)

    def to(self, dtype: Any) -> Block:
        if not isinstance(dtype, Type):
            raise Refused("`.to` takes a type such as `tl.float16`")
        return Block(self.lanes, dtype)

    @property
    def T(self) -> Block:
        return self.with_lanes(self.lanes.T)

    def __repr__(self) -> str:
        return f"<block {self.shape} of {self.dtype}>"

    def __bool__(self) -> bool:
        if self.lanes.ndim:
            raise Refused(NO_TRUTH)
        return bool(self.lanes)

    def __index__(self) -> int:
        if self.lanes.ndim or self.dtype.kind != "int":
            raise Refused("a whole number is wanted here, not a block")
        return int(self.lanes)

    def __neg__(self) -> Block:
        return Block(-self.lanes, self.dtype)

    def __invert__(self) -> Block:
        whole(self)
        return Block(~self.lanes, self.dtype)

    __hash__ = None  # type: ignore[assignment]


class Pointer(Shaped):
    """Addresses in one array of the launch: `array` is its place among the arguments."""

    def __init__(self, array: int, lanes: np.ndarray, element: Type, name: str) -> None:
        self.array, self.element, self.name = array, element, name
        self.lanes = np.asarray(lanes, np.int64)
        self.lanes.setflags(write=False)
        self.dtype = PointerType(element)

    def with_lanes(self, lanes: np.ndarray) -> Pointer:
        return Pointer(self.array, lanes, self.element, self.name)

    def __repr__(self) -> str:
        return f"<addresses {self.shape} in {self.name}>"

    def moved(self, by: Any, sign: int) -> Pointer:
        steps = block_of(by)
        if steps.dtype.kind != "int" or steps.dtype is int1:
            raise Refused(f"an address moves by whole numbers: `{self.name}` plus {steps.dtype} is no address")
        common_shape(self.lanes, steps.lanes)
        return self.with_lanes(self.lanes + sign * steps.lanes.astype(np.int64))

    def __add__(self, by: Any) -> Pointer:
        return self.moved(by, 1)

    __radd__ = __add__

    def __sub__(self, by: Any) -> Pointer:
        return self.moved(by, -1)


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def common_shape(*lanes: np.ndarray) -> tuple[int, ...]:
    """The shape that blocks are stretched to: sides of one repeat, other sides must agree."""
    if all(x.shape == lanes[0].shape for x in lanes):
        return lanes[0].shape
    try:
        return np.broadcast_shapes(*(x.shape for x in lanes))
    except ValueError:
        shapes = " and ".join(str(x.shape) for x in lanes)
        raise Refused(f"blocks of shape {shapes} do not fit: add an axis with `[:, None]` or `[None, :]`") from None


def together(*lanes: np.ndarray) -> list[np.ndarray]:
    """Blocks stretched to one shape."""
    shape = common_shape(*lanes)
    return [x if x.shape == shape else np.broadcast_to(x, shape) for x in lanes]


def block_of(value: Any, like: Type | None = None) -> Block:
    """A block, or a number of Python's in the type that it takes beside a block."""
    if isinstance(value, constexpr):
        value = value.value
    if isinstance(value, Block):
        return value
    if isinstance(value, Pointer):
        raise Refused(f"`{value.name}` is an address: load the numbers first")
    if isinstance(value, bool | np.bool_):
        return Block(value, int1)
    if isinstance(value, int):
        small = int32 if -(2**31) <= value < 2**31 else int64
        return Block(value, small if like is None or like is int1 else like)
    if isinstance(value, float):
        return Block(value, like if like is not None and like.is_floating() else float32)
    raise Refused(f"{type(value).__name__} is no number and no block")


def pair(a: Any, b: Any, division: bool = False) -> tuple[np.ndarray, np.ndarray, Type]:
    """Two operands in one shape and one type."""
    first = block_of(a, b.dtype if isinstance(b, Block) else None)
    second = block_of(b, first.dtype if isinstance(a, Block) else None)
    dtype = common(first.dtype, second.dtype, division)
    common_shape(first.lanes, second.lanes)
    return dtype.rounded(first.lanes), dtype.rounded(second.lanes), dtype


def whole(block: Block) -> None:
    if block.dtype.kind != "int":
        raise Refused(f"`&`, `|`, `^` and `~` take truth values or whole numbers, not {block.dtype}")


def divided(x: np.ndarray, y: np.ndarray, dtype: Type) -> Block:
    if dtype.kind == "int":
        return Block(x.astype(np.float32) / y.astype(np.float32), float32)
    return Block(x / y, dtype)


def quotient(x: np.ndarray, y: np.ndarray, dtype: Type) -> Block:
    """Whole division as the machine does it: towards zero."""
    if dtype.kind != "int":
        raise Refused("`//` takes whole numbers")
    if (y == 0).any():
        raise Refused("a whole number is divided by zero")
    return Block((np.abs(x.astype(np.int64)) // np.abs(y.astype(np.int64))) * np.sign(x) * np.sign(y), dtype)


def remainder(x: np.ndarray, y: np.ndarray, dtype: Type) -> Block:
    if dtype.kind == "int" and (y == 0).any():
        raise Refused("a whole number is divided by zero")
    return Block(np.fmod(x, y), dtype)


Operation = Callable[[np.ndarray, np.ndarray, Type], Block]


def simple(function: Callable[..., Any]) -> Operation:
    def operation(x: np.ndarray, y: np.ndarray, dtype: Type) -> Block:
        if dtype is int1 and function in (np.add, np.subtract, np.multiply):  # truth values are counted
            return Block(function(x.astype(np.int32), y.astype(np.int32)), int32)
        return Block(function(x, y), dtype)

    return operation


def compared(function: Callable[..., Any]) -> Operation:
    return lambda x, y, dtype: Block(function(x, y), int1)


def bitwise(function: Callable[..., Any]) -> Operation:
    def operation(x: np.ndarray, y: np.ndarray, dtype: Type) -> Block:
        whole(Block(x, dtype))
        return Block(function(x, y), dtype)

    return operation


OPERATIONS: dict[str, Operation] = {
    "add": simple(np.add),
    "sub": simple(np.subtract),
    "mul": simple(np.multiply),
    "truediv": divided,
    "floordiv": quotient,
    "mod": remainder,
    "and": bitwise(np.bitwise_and),
    "or": bitwise(np.bitwise_or),
    "xor": bitwise(np.bitwise_xor),
    "lshift": bitwise(np.left_shift),
    "rshift": bitwise(np.right_shift),
    "lt": compared(np.less),
    "le": compared(np.less_equal),
    "gt": compared(np.greater),
    "ge": compared(np.greater_equal),
    "eq": compared(np.equal),
    "ne": compared(np.not_equal),
}


def operator(name: str, swapped: bool = False) -> Any:
    def method(self: Block, other: Any) -> Any:
        if isinstance(other, Pointer):
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        return OPERATIONS[name](*pair(a, b, name == "truediv"))

    return method


def unknown(sign: str, instead: str) -> Any:
    def method(self: Block, *others: Any) -> Any:
        raise Refused(f"`{sign}` is not known for blocks: use {instead}")

    return method


for _name in OPERATIONS:
    setattr(Block, f"__{_name}__", operator(_name))
    if _name not in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Block, f"__r{_name}__", operator(_name, swapped=True))
for _name in ("matmul", "rmatmul"):
    setattr(Block, f"__{_name}__", unknown("@", "`tl.dot`"))
for _name in ("pow", "rpow"):
    setattr(Block, f"__{_name}__", unknown("**", "a product, or `tl.exp`"))
