"""How a wrong result is related to the right one, in a few words: "every value has the wrong sign".

A hint says what was expected; this says what came. It is a fact about the two results, so it accuses of nothing, and it
needs no list of mistakes. Of hidden inputs it tells nothing: numbers are named for visible checks only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import torch

from helpers.checks.compare import as_tensor

LEAST = 3  # different right values: with fewer, a relation is likely to be an accident
MOST = 100_000  # values looked at
TOLERANCE = 1e-3  # of the larger of two values: looser than a check, and far from any relation by accident
FLOAT32 = 1e-9, 1e-5  # what a computation in float32 loses, as a share of the largest value
NEARLY = "the values are nearly right: something small is added, rounded, or computed with fewer digits"
SINGLE = "the values have the digits of float32 only: something on the way is not float64"
FEW_DIGITS = (
    "only the first digits are right: something on the way has float32's digits, or is rounded, or a small number is"
    " added"
)
FACTORS = {  # these may be named of hidden inputs, too: they tell nothing about them
    2.0: "twice",
    0.5: "half",
    3.0: "three times",
    1 / 3: "a third of",
    4.0: "four times",
    0.25: "a quarter of",
    10.0: "ten times",
    0.1: "a tenth of",
    2**0.5: "√2 times",
    2**-0.5: "1/√2 times",
    2 * math.pi: "2π times",
    math.log(2): "log 2 times",
    1 / math.log(2): "1/log 2 times",
}


def relation(actual: Any, expected: Any, numbers: bool = False) -> str:
    """What `actual` is to `expected`, or "" where nothing simple is found; `numbers` says that they may be named."""
    try:
        got, want = as_tensor(actual), as_tensor(expected)
    except (TypeError, ValueError, RuntimeError):
        return ""
    if got.is_complex() or want.is_complex() or not 0 < got.numel() <= MOST:
        return ""
    got = got.double()
    if got.shape != want.shape:
        return of_shapes(tuple(got.shape), tuple(want.shape)) if want.dim() else ""
    if want.dtype == torch.bool:
        return of_masks(got, want.double())
    precise, whole, want = want.dtype == torch.float64, not want.is_floating_point(), want.double()
    if not bool(got.isfinite().all() and want.isfinite().all()):
        return ""
    if not whole and (digits := of_digits(got, want, precise)):  # a miscounted whole number has lost no digits
        return digits
    if len(want.unique()) < LEAST:
        return ""
    if alike(got, want):
        return NEARLY
    return next(itertools.chain(by_numbers(got, want, numbers), by_places(got, want), by_functions(got, want)), "")


def alike(a: torch.Tensor, b: torch.Tensor) -> bool:
    scale = float(b.abs().max())
    return a.shape == b.shape and bool(torch.isclose(a, b, rtol=TOLERANCE, atol=1e-5 * max(scale, 1e-3)).all())


def of_digits(got: torch.Tensor, want: torch.Tensor, precise: bool) -> str:
    """The right values with fewer digits: rounded to decimals, or to a format; `precise` says that float64 is right."""
    if bool(got.eq(want).all()) or not bool(want.any()):
        return ""
    largest = float((got - want).abs().max())
    slack = 0.0 if precise else 1e-7 * float(want.abs().max())  # a rounded number has its own last digit in float32
    for decimals in range(2, 7):
        near = bool(((got - want.round(decimals=decimals)).abs() <= slack).all())
        if near and largest > 4 * slack and bool(got.any()):
            return f"the values are rounded to {decimals} decimals"
    gap = largest / float(want.abs().max())
    if precise and FLOAT32[0] < gap < FLOAT32[1] and slightly(got, want):
        return SINGLE if of_float32(got, want) else FEW_DIGITS
    for dtype, name in ((torch.float16, "half precision (float16)"), (torch.bfloat16, "bfloat16")):
        if bool(got.any()) and bool(got.eq(want.to(dtype).double()).all()):
            return f"the values are rounded to {name}"
    return ""


def slightly(got: torch.Tensor, want: torch.Tensor) -> bool:
    """Most values that differ do so in their last digits: beside large values, a small one may be quite wrong."""
    apart = got.ne(want)
    error = (got - want).abs()[apart] / want.abs()[apart].clamp(min=1e-300)
    return bool(error.numel()) and float(error.median()) < FLOAT32[1]


def of_float32(got: torch.Tensor, want: torch.Tensor) -> bool:
    """Errors of this size come from float32, and not from a small number that is added somewhere: that makes all values
    larger, or all sizes.
    """
    if bool(got.eq(got.float().double()).all()):
        return True
    errors = got - want
    return all(bool((signed > 0).any() and (signed < 0).any()) for signed in (errors, errors * want.sign()))


def of_masks(got: torch.Tensor, want: torch.Tensor) -> str:
    if want.numel() < 6 or len(want.unique()) < 2:
        return ""
    if bool((got == 1 - want).all()):
        return "True and False are exchanged"
    square = want.dim() > 1 and want.shape[-1] == want.shape[-2]
    if square and bool((got == want.mT).all()):
        return "rows and columns are exchanged"
    return f"every entry is {bool(got.any())}" if len(got.unique()) == 1 else ""


def by_numbers(got: torch.Tensor, want: torch.Tensor, numbers: bool) -> Iterator[str]:
    """One number makes the difference."""
    if not bool(got.any()):
        yield "every value is 0"
    elif got.numel() > 1 and float(got.max() - got.min()) <= 1e-9 * float(got.abs().max()):
        yield "every value is the same"
    elif alike(got, -want):
        yield "every value has the wrong sign"
    elif alike(got, want.abs()):
        yield "the signs are lost"
    factor, offset = float((got * want).sum() / (want * want).sum()), float((got - want).mean())
    fits = []  # of numbers that are close to each other both may be nearly true: the better fit is told
    if alike(got, factor * want) and abs(factor) > 1e-6:
        known = next((text for value, text in FACTORS.items() if abs(factor / value - 1) < TOLERANCE), "")
        times = known or (f"{factor:.4g} times" if numbers else "a fixed number times")
        fits.append((float((got - factor * want).abs().max()), f"every value is {times} the right one"))
    if alike(got, want + offset):
        size = f"{abs(offset):.4g} too" if numbers else "too"
        same = "" if numbers else " by the same number"
        way = "large" if offset > 0 else "small"
        fits.append((float((got - want - offset).abs().max()), f"every value is {size} {way}{same}"))
    yield from (text for _, text in sorted(fits))


def by_places(got: torch.Tensor, want: torch.Tensor) -> Iterator[str]:
    """The right values stand in the wrong places, or only some of them are right."""
    axes = [axis for axis in range(want.dim()) if want.shape[axis] > 1]
    if want.dim() > 1 and want.shape[-1] == want.shape[-2] and alike(got, want.mT):
        yield "rows and columns are exchanged"
    for axis in axes:
        along = f"along axis {axis}" if want.dim() > 1 else "here"
        size = want.shape[axis]
        if alike(got, want.flip(axis)):
            yield f"the order {along} is reversed"
        for start, word in ((0, "late"), (1, "early")):
            shifted = want.narrow(axis, start, size - 1)
            if len(shifted.unique()) > LEAST and alike(got.narrow(axis, 1 - start, size - 1), shifted):
                yield f"everything stands one place too {word} {along}"
        if len(want.select(axis, 0).unique()) >= LEAST and alike(got, want.narrow(axis, 0, 1).expand_as(want)):
            yield f"the first entry {along} is repeated for all"
    if alike(got.flatten().sort().values, want.flatten().sort().values):
        yield "these are the right numbers, in the wrong places"
    for axis in axes:
        if want.shape[axis] > 2:
            yield from some_entries(got, want, axis, f"along axis {axis}" if want.dim() > 1 else "here")


def some_entries(got: torch.Tensor, want: torch.Tensor, axis: int, along: str) -> Iterator[str]:
    size = want.shape[axis]
    right = [alike(got.select(axis, i), want.select(axis, i)) for i in range(size)]
    for place, name in ((0, "first"), (size - 1, "last")):
        others = right[:place] + right[place + 1 :]
        if right[place] and not any(others):
            yield f"only the {name} entry {along} is right"
        if not right[place] and all(others):
            yield f"only the {name} entry {along} is wrong"


def by_functions(got: torch.Tensor, want: torch.Tensor) -> Iterator[str]:
    """A function was forgotten, or applied once too often."""
    positive = bool((want > 0).all())
    candidates = [
        ("these are the squares of the right values", want**2),
        ("these are the exponentials of the right values", want.exp()),
        ("these are 1 minus the right values", 1 - want),
        ("what is below 0 is cut off", want.clamp(min=0)),
    ]
    if len(want.round().unique()) >= LEAST:  # noughts and ones come about in other ways, too
        candidates.append(("the right values are rounded", want.round()))
    if positive:
        candidates += [
            ("these are the square roots of the right values", want.sqrt()),
            ("these are the logarithms of the right values", want.log()),
        ]
    if len(want.round().unique()) >= LEAST:  # shares become 0 and 1, and so does a word that takes all
        candidates.append(("the right values are rounded", want.round()))
    if bool(want.all()):
        candidates.append(("these are 1 divided by the right values", 1 / want))
    yield from (text for text, value in candidates if bool(value.isfinite().all()) and alike(got, value))
    if want.dim() > 1 and min(want.shape[-2:]) > 2:
        yield from row_by_row(got, want)
    if bool(torch.isclose(got, want, rtol=0.02, atol=1e-3 * float(want.abs().max())).all()):
        yield NEARLY


def row_by_row(got: torch.Tensor, want: torch.Tensor) -> Iterator[str]:
    """Each row, or each column, is wrong by a number of its own: normalised, or not."""
    for axis, name in ((-1, "row"), (-2, "column")):
        factor = (got * want).sum(axis, keepdim=True) / (want * want).sum(axis, keepdim=True).clamp(min=1e-30)
        if alike(got, factor * want) and bool(factor.abs().min() > 1e-6):
            yield f"every {name} is the right one times a number of its own: is it normalised, and should it be?"
        if alike(got, want + (got - want).mean(axis, keepdim=True)):
            yield f"every {name} is the right one plus a number of its own"


def of_shapes(got: tuple[int, ...], want: tuple[int, ...]) -> str:
    """What a wrong shape is to the right one."""
    if len(got) == len(want) and sorted(got) == sorted(want):
        return "the axes stand in another order than asked"
    if len(got) == len(want) + 1:
        extra = next((axis for axis in range(len(got)) if got[:axis] + got[axis + 1 :] == want), None)
        if extra is not None:
            kind = "of length 1 " if got[extra] == 1 else ""
            return f"there is one axis {kind}too many, axis {extra}"
    if len(got) + 1 == len(want):
        lost = next((axis for axis in range(len(want)) if want[:axis] + want[axis + 1 :] == got), None)
        if lost is not None:
            return f"one axis is missing, axis {lost}"
    wrong = [axis for axis in range(min(len(got), len(want))) if got[axis] != want[axis]]
    if len(got) == len(want) and len(wrong) == 1:
        more = "long" if got[wrong[0]] > want[wrong[0]] else "short"
        by_one = " by one" if abs(got[wrong[0]] - want[wrong[0]]) == 1 else ""
        return f"axis {wrong[0]} is too {more}{by_one}"
    return ""
