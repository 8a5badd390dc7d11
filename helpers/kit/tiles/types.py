"""The types of numbers that kernels know, under Triton's names.

A bfloat16 is kept as a float32 whose lower 16 bits are zero: NumPy has no such type.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from helpers.kit.tiles.faults import Refused


class Type:
    """A type of numbers: `bits` as a GPU counts them, and the NumPy type that holds them here."""

    def __init__(self, name: str, holder: Any, bits: int, kind: str) -> None:
        self.name, self.bits, self.kind = name, bits, kind
        self.holder = np.dtype(holder)
        self.bytes = max(bits // 8, 1)

    def rounded(self, values: np.ndarray) -> np.ndarray:
        """These numbers in this type."""
        if values.dtype == self.holder and self is not bfloat16:
            return values
        with np.errstate(all="ignore"):
            if self.kind == "int" and values.dtype.kind == "f":
                values = np.nan_to_num(np.trunc(values))
            made: np.ndarray = np.asarray(values).astype(self.holder)
        return to_bfloat16(made) if self is bfloat16 else made

    def __repr__(self) -> str:
        return self.name

    def is_floating(self) -> bool:
        return self.kind == "float"


class PointerType:
    """The type of an address, for `pointer.dtype.element_ty`."""

    def __init__(self, element_ty: Type) -> None:
        self.element_ty = element_ty

    def __repr__(self) -> str:
        return f"pointer<{self.element_ty}>"


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """Rounded to the nearest number with 8 significant bits, ties to even."""
    bits = np.atleast_1d(np.ascontiguousarray(values, np.float32)).view(np.uint32)
    up = ((bits >> 16) & 1) + np.uint32(0x7FFF)
    halved = ((bits + up) & np.uint32(0xFFFF0000)).view(np.float32)
    kept = np.where(np.isnan(values), np.float32(np.nan), halved.reshape(np.shape(values)))
    return kept.astype(np.float32)


int1 = Type("int1", np.bool_, 1, "int")
int8 = Type("int8", np.int8, 8, "int")
uint8 = Type("uint8", np.uint8, 8, "int")
int16 = Type("int16", np.int16, 16, "int")
int32 = Type("int32", np.int32, 32, "int")
int64 = Type("int64", np.int64, 64, "int")
float16 = Type("fp16", np.float16, 16, "float")
bfloat16 = Type("bf16", np.float32, 16, "float")
float32 = Type("fp32", np.float32, 32, "float")
float64 = Type("fp64", np.float64, 64, "float")

TORCH = {
    torch.bool: int1,
    torch.int8: int8,
    torch.uint8: uint8,
    torch.int16: int16,
    torch.int32: int32,
    torch.int64: int64,
    torch.float16: float16,
    torch.bfloat16: bfloat16,
    torch.float32: float32,
    torch.float64: float64,
}
INTEGERS = (int1, int8, uint8, int16, int32, int64)  # the later one wins
FLOATS = (bfloat16, float16, float32, float64)


def of_torch(dtype: torch.dtype, name: str) -> Type:
    if dtype not in TORCH:
        raise Refused(f"`{name}` has the dtype {dtype}, which kernels here do not know")
    return TORCH[dtype]


def common(a: Type, b: Type, division: bool = False) -> Type:
    """The type in which two blocks meet: floating wins over whole, wide over narrow; halves are divided in float32."""
    ranks = FLOATS if "float" in (a.kind, b.kind) else INTEGERS
    wide = max((t for t in (a, b) if t in ranks), key=ranks.index)
    if division and wide in (float16, bfloat16):
        return float32
    return wide
