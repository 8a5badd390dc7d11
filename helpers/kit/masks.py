"""Who may look at whom, and where a token is: masks, sinusoids, rotations, ALiBi. Conventions as in `models`."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def causal_mask(T: int, S: int | None = None, device: torch.device | None = None) -> Tensor:
    """(T, S) boolean: the last query stands at the last key, and no query looks past its own place.

    S is T where not given.
    """
    S = T if S is None else S
    return torch.ones(T, S, dtype=torch.bool, device=device).tril(S - T)


def padding_mask(real: Tensor) -> Tensor:
    """(B, S) of real tokens to a mask (B, 1, 1, S): nobody looks at padding."""
    return real[:, None, None, :]


def sinusoids(places: Tensor, width: int) -> Tensor:
    """Sinusoidal positions (T, width) of places (T,): sines in the even columns, cosines in the odd ones (Vaswani et
    al., 2017).
    """
    rates = 10_000 ** (-torch.arange(0, width, 2, device=places.device) / width)
    angles = places[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]


def rotation(places: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines (T, width / 2) by which rotary positions turn the pairs of a head (Su et al., 2021)."""
    angles = places[:, None] * 10_000 ** (-torch.arange(0, width, 2, device=places.device) / width)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Turn x (..., T, d): entry i and entry i + d/2 form a pair (the half-split layout)."""
    (cos, sin), (a, b) = turn, x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def alibi_slopes(heads: int) -> Tensor:
    """One slope per head (Press et al., 2022): 2^(−8/n), 2^(−16/n), … for n a power of two; others take in-between
    slopes from 2n.
    """
    n = 2 ** int(math.log2(heads))
    slopes = [2 ** (-8 * (i + 1) / n) for i in range(n)] + [2 ** (-4 * (2 * i + 1) / n) for i in range(heads - n)]
    return torch.tensor(slopes)


def alibi_bias(slopes: Tensor, T: int, S: int) -> Tensor:
    """(H, T, S): minus slope times distance, symmetric; the last query stands at the last key."""
    distance = torch.arange(S - T, S, device=slopes.device)[:, None] - torch.arange(S, device=slopes.device)
    return -slopes[:, None, None] * distance.abs()
