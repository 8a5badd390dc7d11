"""A widget for momentum: sliders for the learning rate and the momentum, and the path of SGD down a narrow valley.

The loss is (x² + 100 y²) / 2. The page runs in the browser: it needs no kernel and keeps working in a saved notebook.
"""

from __future__ import annotations

import itertools
import json
import math
from importlib.resources import files
from typing import Any

from IPython.display import HTML

_numbers = itertools.count(1)
STEEPNESS = (1.0, 100.0)  # of the loss along x and along y
START = (-9.0, 1.2)
STEPS = 60


def path(rate: float, momentum: float, steps: int = STEPS) -> list[tuple[float, float]]:
    """The points that SGD with momentum visits, the start included."""
    point, velocity = list(START), [0.0, 0.0]
    points = [START]
    for _ in range(steps):
        for axis, steepness in enumerate(STEEPNESS):
            velocity[axis] = momentum * velocity[axis] + steepness * point[axis]
            point[axis] -= rate * velocity[axis]
        points.append((point[0], point[1]))
    return points


def loss(point: tuple[float, float]) -> float:
    return sum(steepness * at**2 for steepness, at in zip(STEEPNESS, point, strict=True)) / 2


def verdict(points: list[tuple[float, float]]) -> str:
    """One line under the picture: where the path ends, and the loss there beside the loss at the start."""
    x, y = points[-1]
    words = "it grows" if loss(points[-1]) > loss(points[0]) else "it falls"
    return (
        f"after {len(points) - 1} steps: x = {x:.4g}, y = {y:.4g}; loss {loss(points[0]):.4g} → {loss(points[-1]):.4g}:"
        f" {words}"
    )


def valley_dial(rate: float = 0.018, momentum: float = 0.0) -> Any:
    """The path of SGD with momentum for the learning rate and the momentum that two sliders choose."""
    page = files("helpers.training_craft").joinpath("valley.html").read_text(encoding="utf-8")
    for mark, text in {
        "@ID@": f"valley-dial-{next(_numbers)}",
        "@STEEPNESS@": json.dumps(STEEPNESS),
        "@START@": json.dumps(START),
        "@STEPS@": str(STEPS),
        "@EXPONENT@": f"{math.log10(rate):.4f}",
        "@MOMENTUM@": str(momentum),
        "@VERDICT@": verdict(path(rate, momentum)),
    }.items():
        page = page.replace(mark, text)
    return HTML(page)
