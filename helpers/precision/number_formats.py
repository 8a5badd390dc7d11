"""Floating-point formats: how many bits each has for what, which torch dtype it is, and pictures of what they can
hold.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor

from helpers.kit import plots

_numbers = itertools.count(1)


class Format(NamedTuple):
    """One bit for the sign, `exponent_bits`, `mantissa_bits`.

    A `finite` format has no infinities (see the notebook).
    """

    exponent_bits: int
    mantissa_bits: int
    finite: bool = False


FORMATS: dict[str, Format] = {
    "fp32": Format(8, 23),
    "tf32": Format(8, 10),
    "bf16": Format(8, 7),
    "fp16": Format(5, 10),
    "fp8 e4m3fn": Format(4, 3, finite=True),
    "fp8 e5m2": Format(5, 2),
}

# tf32 is what tensor cores read of a float32; torch has no dtype of its own for it.
DTYPES: dict[str, torch.dtype] = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp8 e4m3fn": torch.float8_e4m3fn,
    "fp8 e5m2": torch.float8_e5m2,
}


def patterns(dtype: torch.dtype, bits: Tensor) -> Tensor:
    """The numbers (float64) that torch reads from bit patterns (int64) of an 8- or 16-bit dtype."""
    carrier, size = (torch.uint8, 8) if torch.finfo(dtype).bits == 8 else (torch.int16, 16)
    signed = torch.where(bits >= 1 << (size - 1), bits - (1 << size), bits) if size == 16 else bits
    return signed.to(carrier).view(dtype).double()


def bit_dial(start: str = "fp8 e4m3fn") -> Any:
    """Bits to switch on and off, in each of the formats: the number they stand for, and its neighbours.

    Runs in the browser.
    """
    from IPython.display import HTML

    page = files("helpers.precision").joinpath("number_bits.html").read_text(encoding="utf-8")
    table = [[name, f.exponent_bits, f.mantissa_bits, f.finite] for name, f in FORMATS.items()]
    for mark, text in {
        "@ID@": f"bit-dial-{next(_numbers)}",
        "@FORMATS@": json.dumps(table),
        "@START@": json.dumps(start),
    }.items():
        page = page.replace(mark, text)
    return HTML(page)


def relative_errors(round_to: Callable[..., Tensor], ax: Axes | None = None) -> Axes:
    """Relative rounding error of each 16- and 8-bit format over the magnitude of a number: a plateau between two
    cliffs.
    """
    plots.use_course_style()
    if ax is None:
        _, ax = plt.subplots(figsize=(9, 4))
    ax.set_yscale("log")
    ax.set_ylim(1e-4, 3)
    rng = np.random.default_rng(0)
    for number, name in enumerate(["bf16", "fp16", "fp8 e4m3fn", "fp8 e5m2"]):
        shape = FORMATS[name]
        exponents = np.arange(-44, 44)
        worst = []
        for exponent in exponents:
            x = torch.tensor(
                2.0**exponent * np.append(1 + rng.random(400), 2 - 2.0**-24)
            )  # the last just below the next power
            y = round_to(x, shape.exponent_bits, shape.mantissa_bits, shape.finite)
            error = ((y - x).abs() / x).nan_to_num(nan=np.inf, posinf=np.inf)
            worst.append(float(error.max()))
        inside = np.isfinite(worst)
        style: Any = plots.LINES[number]
        ax.plot(exponents[inside], np.array(worst)[inside], label=name, color=f"C{number}", linestyle=style)
        if not inside.all():
            last = int(np.flatnonzero(inside)[-1])
            ax.plot([exponents[last]], [worst[last]], marker="x", markersize=9, color=f"C{number}", linestyle="none")
    ax.set(xlabel="exponent k of numbers between $2^k$ and $2^{k+1}$", ylabel="largest relative error")
    ax.set_title("Rounding: mantissa bits set the plateau, exponent bits its width (×: then some overflow)")
    ax.legend()
    return ax


def gradient_histogram(
    gradients: Sequence[Tensor], scales: Mapping[str, float], facts: Sequence[float], ax: Axes | None = None
) -> Axes:
    """Magnitudes of gradients, as they are and scaled, beside what fp16 can hold.

    `facts`: largest, smallest normal, smallest subnormal.
    """
    plots.use_course_style()
    if ax is None:
        _, ax = plt.subplots(figsize=(9, 4))
    largest, normal, subnormal = facts[:3]
    size = torch.cat([g.flatten() for g in gradients]).abs().double()
    size = size[size > 0]
    edges = np.arange(-44, 20)
    for number, (name, scale) in enumerate(scales.items()):
        counts, _ = np.histogram(np.log2(plots.array(size * scale)), bins=edges)
        ax.stairs(counts, edges, label=name, color=f"C{number}", linestyle=["-", "--", "-."][number % 3], linewidth=2)
    ax.axvspan(edges[0], np.log2(subnormal) - 1, color="0.75", zorder=0)
    ax.axvspan(np.log2(subnormal) - 1, np.log2(normal), color="0.9", zorder=0)
    ax.axvspan(np.log2(largest), edges[-1], color="0.75", zorder=0)
    top = ax.get_ylim()[1]
    for place, words in [(-34, "becomes 0"), (np.log2(normal) - 5.5, "few bits left"), (17.5, "∞")]:
        ax.annotate(words, (place, 0.93 * top), ha="center", fontsize=10)
    ax.set(
        xlabel="log₂ of the gradient's magnitude",
        ylabel="number of weights",
        title="What fp16 can hold of a model's gradients",
    )
    ax.legend(loc="center left")
    return ax
