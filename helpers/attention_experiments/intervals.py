"""Student's t distribution, for intervals from a handful of runs. No package is needed."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

SIMPSON = np.array([1, *[4, 2] * 299, 4, 1]) / 1800  # weights of Simpson's rule on 600 equal steps


def t_probability(t: float, degrees: int) -> float:
    """P(|X| ≤ t) for Student's t with this many degrees of freedom.

    With x = √ν tan θ the density becomes cos^(ν−1) θ, which is smooth and lives on a finite interval: Simpson's rule is
    enough.
    """
    whole = area_in_all(degrees)
    end = math.atan(t / degrees**0.5)
    heights = np.cos(np.linspace(0.0, end, len(SIMPSON))) ** (degrees - 1)
    return float(SIMPSON @ heights) * end / whole


def area_in_all(degrees: int) -> float:
    """The integral of cos^(ν−1) θ from 0 to π/2."""
    if degrees < 1:
        raise ValueError(f"{degrees} degrees of freedom: at least 1 is needed, that is, two values")
    return math.pi**0.5 / 2 * math.exp(math.lgamma(degrees / 2) - math.lgamma((degrees + 1) / 2))


@cache
def t_quantile(level: float, degrees: int) -> float:
    """The t with P(|X| ≤ t) = level: 12.71, 4.30, 3.18, 2.78 for level 0.95 and 1, 2, 3, 4 degrees of freedom."""
    if not 0 < level < 1:
        raise ValueError(f"level {level}: a number between 0 and 1 is expected, such as 0.95")
    t, area = 0.0, area_in_all(degrees)
    for _ in range(100):  # Newton's method: the probability is concave in t, so from 0 it never overshoots
        slope = math.cos(math.atan(t / degrees**0.5)) ** (degrees + 1) / (degrees**0.5 * area)
        step = (level - t_probability(t, degrees)) / slope
        t += step
        if abs(step) <= 1e-13 * t:
            break
    return t
