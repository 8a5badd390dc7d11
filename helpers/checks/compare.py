"""How two results are compared, and how a difference is put into words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

# Relative and absolute tolerance by dtype; the absolute one is multiplied by the largest expected magnitude.
# Each is some hundred to a thousand units in the last place: enough for another order of summation over a few
# thousand terms, far below the effect of any wrong formula. Half precisions get a few units only: they have three
# digits.
TOLERANCES = {
    torch.float64: (1e-9, 1e-11),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (8e-3, 4e-3),
    torch.bfloat16: (2e-2, 8e-3),
}
PRECISION = [torch.bfloat16, torch.float16, torch.float32, torch.float64]


class Difference(NamedTuple):
    """`summary` names the kind of difference and is safe to show for hidden tests; `detail` has numbers and places."""

    summary: str
    detail: str = ""


def as_tensor(value: Any) -> torch.Tensor:
    """A tensor from plain data; raises TypeError or ValueError for what has no numeric form."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if isinstance(value, np.ndarray | np.generic):
        return torch.from_numpy(np.array(value))
    if isinstance(value, bool | int):
        return torch.tensor(value)
    if isinstance(value, float):
        return torch.tensor(value, dtype=torch.float64)
    if isinstance(value, list | tuple):
        if any(isinstance(item, torch.Tensor | np.ndarray | list | tuple) for item in value):
            return torch.stack([as_tensor(item) for item in value])
        return (
            torch.tensor(value, dtype=torch.float64)
            if any(isinstance(i, float) for i in value)
            else torch.tensor(value)
        )
    raise TypeError(f"a {type(value).__name__} is not a number, a list of numbers or a tensor")


def plain_tensor(value: Any) -> Any:
    """An array as a tensor, everything else as it is."""
    return as_tensor(value) if isinstance(value, np.ndarray | np.generic) else value


def describe(value: Any) -> str:
    """A value in a few words, for messages."""
    if value is None:
        return "None (is a `return` missing?)"
    if isinstance(value, torch.Tensor) and value.numel() <= 12:
        return f"{value.tolist()} (tensor)"
    if isinstance(value, torch.Tensor | np.ndarray):
        return f"a {'tensor' if isinstance(value, torch.Tensor) else 'array'} of shape {tuple(value.shape)}"
    try:
        text = repr(value)
    except ValueError:  # an integer with thousands of digits
        text = "a number with thousands of digits"
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


def number(value: Any, digits: int = 6) -> str:
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def two_numbers(a: Any, b: Any) -> tuple[str, str]:
    """Two numbers that differ, with so many digits that they look different."""
    digits = next((digits for digits in (6, 9, 12) if number(a, digits) != number(b, digits)), 17)
    return number(a, digits), number(b, digits)


def tolerance(actual: Any, expected: Any, rtol: float | None, atol: float | None) -> tuple[float, float]:
    """Tolerances of the less precise side; integers and booleans must be equal. Plain Python numbers say nothing about
    the precision they were computed with, so a tensor on the other side decides."""
    kinds = [side.dtype for side in (actual, expected) if isinstance(side, torch.Tensor) and side.dtype in TOLERANCES]
    kind = min(kinds, key=PRECISION.index) if kinds else torch.float64
    relative, absolute = TOLERANCES[kind]
    want = as_tensor(expected)
    finite = want[torch.isfinite(want)] if want.is_floating_point() else want
    scale = finite.abs().max().item() if finite.numel() else 1.0
    return (relative if rtol is None else rtol), (absolute * max(scale, 1e-3) if atol is None else atol)


def difference(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None) -> Difference | None:
    """None where `actual` is close to `expected` (broadcast if that is a number), else what differs, where and by how
    much.
    """
    if actual is None:
        return Difference("nothing came back (None)", "is a `return` missing?")
    want = as_tensor(expected)
    try:
        got = as_tensor(actual)
    except (TypeError, ValueError, RuntimeError):
        return Difference("not numbers", f"got {describe(actual)}")
    if want.dim() and got.shape != want.shape:
        return Difference("the shape is wrong", f"expected {tuple(want.shape)}, got {tuple(got.shape)}")
    if not got.numel() and not want.dim():
        return Difference("the result is empty", f"got {describe(actual)}")
    if got.is_complex() != want.is_complex():
        return Difference("a complex number on one side only", f"got {got.dtype}")
    relative, absolute = tolerance(plain_tensor(actual), plain_tensor(expected), rtol, atol)
    common = torch.complex128 if got.is_complex() else torch.float64
    a, b = got.to(common), want.to(common).expand(got.shape)
    bad = ~torch.isclose(a, b, rtol=relative, atol=absolute, equal_nan=True)
    count = int(bad.sum())
    if not count:
        return None
    if a.numel() and bool((a.isnan() & ~b.isnan()).any()):
        where = tuple((a.isnan() & ~b.isnan()).nonzero()[0].tolist())
        return Difference("there is a NaN", f"{place(where)}, where {number(b[where].item())} is expected")
    gap = torch.where(bad, (a - b).abs().nan_to_num(nan=0.0, posinf=1e308), torch.zeros(()).to(torch.float64))
    where = (
        tuple(int(i) for i in np.unravel_index(int(gap.argmax()), gap.shape)) if gap.dim() else ()
    )  # torch's imports sympy for it
    got_at, want_at = got[where].item(), want.expand(got.shape)[where].item()
    want_text, got_text = two_numbers(want_at, got_at)
    share = f"{count} of {bad.numel()} values differ, most " if bad.numel() > 1 else ""
    return Difference("the values differ", f"{share}{place(where)}: expected {want_text}, got {got_text}")


def place(where: tuple[int, ...]) -> str:
    return f"at index {list(where)}" if where else "here"


def near(a: Any, b: torch.Tensor) -> bool:
    """The same up to a hundredth of their lengths: enough to see that a large result is no made-up one."""
    if not isinstance(a, torch.Tensor) or a.shape != b.shape or not a.isfinite().all():
        return False
    distance, length = float((a.double() - b.double()).norm()), float(b.double().norm())
    return 100 * distance <= length


def same(a: Any, b: Any) -> bool:
    """Equality of plain data, entry by entry; never by an object's own idea of equality."""
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        try:
            left, right = as_tensor(a), as_tensor(b)
        except (TypeError, ValueError, RuntimeError):
            return False
        if left.shape != right.shape or left.is_complex() != right.is_complex():
            return False
        if not (left.is_floating_point() or right.is_floating_point() or left.is_complex()):
            return bool((left == right).all())
        kind = torch.complex128 if left.is_complex() else torch.float64
        return bool(torch.isclose(left.to(kind), right.to(kind), rtol=0, atol=0, equal_nan=True).all())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    exact = (
        int,
        float,
        str,
        bytes,
        bool,
        set,
        frozenset,
        type(None),
    )  # a subclass could bring its own idea of equality
    return type(a) in exact and type(b) in exact and bool(a == b)
