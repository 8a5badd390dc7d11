"""Names the mistake in an answer: the named mistake whose results agree with the student's in every call of the test.

What the named mistakes of `mistakes.py` give does not depend on the student. It is recorded once per assignment and
secret, call by call, arguments included (a digest) and results as a sketch: shapes, types, and some of the numbers. A
name then costs a comparison, and between two mistakes that agree with the answer nothing is guessed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from autograder.examiner.handles import Handle

SAMPLES = 48  # numbers kept of a tensor
MOST_PARTS = 64  # kept of a long list, half of them from its end
MOST_CALLS = 500  # of one test cell
RELATIVE, ABSOLUTE = 1e-3, 1e-5  # two results are the same: looser than a check, for the sums of large tensors

Call = list[Any]  # [digest of the request, sketch of the answer]
Known = dict[str, Any]  # a recorded mistake: {"name", "says", "calls"}


def digest(parts: Iterable[Any]) -> str:
    """Of a request as it is sent: the operation and all arguments."""
    found = hashlib.blake2b(digest_size=8)
    for part in parts:
        found.update(memoryview(part).cast("B"))
    return found.hexdigest()


# ---- a result, kept small --------------------------------------------------------------------------------------------


def sketch(value: Any) -> Any:
    """A result as JSON: enough to tell it from another one, whatever its size."""
    if isinstance(value, bool | int | type(None)):
        return value if not isinstance(value, int) or abs(value) < 1 << 53 else ["int", str(value)[:40]]
    if isinstance(value, float):
        return ["float", number(value)]
    if isinstance(value, BaseException):
        return ["error", type(value).__name__]
    if isinstance(value, Handle):
        return ["object", value._type]
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        value = torch.from_numpy(np.array(value))
    if isinstance(value, torch.Tensor):
        return ["tensor", list(value.shape), str(value.dtype), sampled(value)]
    if isinstance(value, dict):
        return ["dict", [[sketch(key), sketch(item)] for key, item in shortened(list(value.items()))]]
    if isinstance(value, list | tuple):
        return ["list", len(value), [sketch(item) for item in shortened(value)]]
    return ["text", type(value).__name__, hashlib.blake2b(repr(value).encode(), digest_size=8).hexdigest()]


def sampled(value: torch.Tensor) -> list[float | str]:
    """The numbers at fixed places, their sum and the sum of their sizes."""
    flat = value.detach().to("cpu").flatten()
    flat = torch.view_as_real(flat).flatten() if flat.is_complex() else flat
    places = torch.linspace(0, max(flat.numel() - 1, 0), min(SAMPLES, flat.numel())).round().long()
    flat = flat.double()
    return [number(float(x)) for x in (*flat[places], flat.sum(), flat.abs().sum())]


def number(value: float) -> float | str:
    """JSON has no NaN and no infinity."""
    return value if math.isfinite(value) else str(value)


def shortened(items: Sequence[Any]) -> Sequence[Any]:
    half = MOST_PARTS // 2
    return items if len(items) <= MOST_PARTS else [*items[:half], *items[-half:]]


# ---- comparing -------------------------------------------------------------------------------------------------------


def same(a: Any, b: Any) -> bool:
    """Two sketches of what is the same result within the tolerance."""
    if (
        isinstance(a, float | int)
        and isinstance(b, float | int)
        and not isinstance(a, bool)
        and not isinstance(b, bool)
    ):
        return abs(a - b) <= ABSOLUTE + RELATIVE * max(abs(a), abs(b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(one, other) for one, other in zip(a, b, strict=True))
    return type(a) is type(b) and bool(a == b)


def agrees(calls: Sequence[Call], recorded: Sequence[Call]) -> bool:
    """Did the test ask the same, and get the same answers?"""
    return (
        0 < len(calls) == len(recorded)
        and all(asked == known for (asked, _), (known, _) in zip(calls, recorded, strict=True))
        and all(same(got, given) for (_, got), (_, given) in zip(calls, recorded, strict=True))
    )


def recognised(calls: Sequence[Call], known: Sequence[Known]) -> str:
    """What the mistake that agrees in every call says; "" where none does, or two say different things."""
    found = {one["says"] for one in known if agrees(calls, one["calls"])}
    return found.pop() if len(found) == 1 else ""
