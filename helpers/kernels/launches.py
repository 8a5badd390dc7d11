"""Pictures of a launch: which part of each array every program loads, stores or adds to."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure

from helpers.kit import plots, tiles
from helpers.kit.tiles import launch
from helpers.kit.tiles.memory import Touch

_numbers = itertools.count(1)
MOST_CELLS = 64  # of one side of a picture: larger arrays are drawn in coarser steps
COLOURS = {"load": 1, "store": 2, "add": 2}


class Watched(NamedTuple):
    """Shapes of the arrays as matrices, and for each program, in the order of the grid, the numbers it touched."""

    shapes: dict[str, tuple[int, int]]
    programs: list[tuple[int, ...]]
    touched: list[dict[str, np.ndarray]]  # 0 not at all, 1 loaded, 2 stored or added to


def watch(kernel: Any, grid: Any, *args: Any, **constants: Any) -> Watched:
    """Launch a kernel in the simulator on copies of its arguments, and keep what every program touched."""
    touches: list[Touch] = []
    given = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
    done = launch.launch(tiles.simulated(kernel), grid, given, constants, touches.append)
    shapes = {name: (max(a.numel() // max(a.shape[-1:].numel(), 1), 1), a.shape[-1]) for name, a in done.arrays.items()}
    seen: dict[tuple[int, ...], dict[str, np.ndarray]] = {}
    for touch in touches:
        of_program = seen.setdefault(touch.program, {n: np.zeros(r * c, int) for n, (r, c) in shapes.items()})
        flat = of_program[touch.array]
        flat[touch.addresses] = np.maximum(flat[touch.addresses], COLOURS[touch.verb])
    programs = sorted(seen, key=lambda program: program[::-1])
    return Watched(shapes, programs, [{n: flat.reshape(shapes[n]) for n, flat in seen[p].items()} for p in programs])


def coarse(picture: np.ndarray) -> np.ndarray:
    """A picture of at most MOST_CELLS × MOST_CELLS: each cell has the strongest colour of the numbers below it."""
    for axis in (0, 1):
        step = -(-picture.shape[axis] // MOST_CELLS)
        starts = np.arange(0, picture.shape[axis], step)
        picture = np.maximum.reduceat(picture, starts, axis=axis)
    return picture


def step_through(seen: Watched) -> Any:
    """A slider over the programs: the tiles that each one loads and stores light up. Runs in the browser."""
    from IPython.display import HTML

    page = files("helpers.kernels").joinpath("launch.html").read_text(encoding="utf-8")
    pictures = [{name: coarse(p).tolist() for name, p in one.items()} for one in seen.touched]
    for mark, text in {
        "@ID@": f"launch-{next(_numbers)}",
        "@PROGRAMS@": json.dumps([list(p) for p in seen.programs]),
        "@PICTURES@": json.dumps(pictures, separators=(",", ":")),
        "@SHAPES@": json.dumps({name: list(shape) for name, shape in seen.shapes.items()}),
    }.items():
        page = page.replace(mark, text)
    return HTML(page)


def still(seen: Watched, chosen: Sequence[int] = (0, 1, -1)) -> Figure:
    """The same without a browser: some programs of the launch, one row each."""
    plots.use_course_style()
    names = list(seen.shapes)
    figure, axes = plt.subplots(len(chosen), len(names), figsize=(2.2 * len(names), 2.2 * len(chosen)), squeeze=False)
    for row, number in zip(axes, chosen, strict=True):
        for ax, name in zip(row, names, strict=True):
            ax.imshow(coarse(seen.touched[number][name]), vmin=0, vmax=2, cmap="cividis", aspect="auto")
            ax.set_xticks([])
            ax.set_yticks([])
            ax.set_title(name)
        row[0].set_ylabel(f"program {seen.programs[number]}")
    figure.suptitle("Dark: not touched. Grey: loaded. Bright: stored")
    figure.tight_layout()
    return figure
