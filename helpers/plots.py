"""One style for every figure: labelled axes, readable in grey and by colour-blind people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import torch
from matplotlib.axes import Axes

MARKERS = ["o", "s", "^", "D", "v", "P"]
LINES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1))]


def use_course_style() -> None:
    """Set the course's style; every helper here calls it, so a notebook needs not."""
    sns.set_theme(style="whitegrid", palette="colorblind", context="notebook", rc={"figure.dpi": 100, "axes.titlesize": 12})


def array(values: Any) -> np.ndarray:
    return values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)


def heatmap(
    weights: Any,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    title: str = "",
    ax: Axes | None = None,
    label: str = "weight",
    row_label: str = "query",
    column_label: str = "key",
) -> Axes:
    """Attention weights: one row per query, one column per key; small matrices show their numbers."""
    use_course_style()
    grid = array(weights)
    if ax is None:
        _, ax = plt.subplots(figsize=(1.6 + 0.55 * min(grid.shape[1], 16), 1.2 + 0.45 * min(grid.shape[0], 16)))
    sns.heatmap(
        grid,
        vmin=0,
        vmax=max(1.0, float(np.nanmax(grid))) if grid.size else 1.0,
        cmap="cividis",
        annot=grid.size <= 64,
        fmt=".2f",
        square=grid.size <= 400,
        xticklabels=columns if columns is not None else "auto",
        yticklabels=rows if rows is not None else "auto",
        cbar_kws={"label": label},
        ax=ax,
    )
    ax.set(title=title, xlabel=column_label, ylabel=row_label)
    ax.tick_params(axis="y", rotation=0)
    return ax


def curves(
    series: Mapping[str, tuple[Any, Any]],
    x_label: str,
    y_label: str,
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Named curves {name: (x, y)}; a two-dimensional y (seeds × points) is drawn as its mean with a band from least to most."""
    use_course_style()
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 4))
    for number, (name, (x, y)) in enumerate(series.items()):
        xs, ys = array(x), array(y)
        colour = f"C{number}"
        style: Any = LINES[number % len(LINES)]
        if ys.ndim == 2:
            ax.fill_between(xs, ys.min(0), ys.max(0), color=colour, alpha=0.2, linewidth=0)
            ys = ys.mean(0)
        marker = MARKERS[number % len(MARKERS)] if len(xs) <= 30 else None
        ax.plot(xs, ys, label=name, color=colour, linestyle=style, marker=marker, markersize=4)
    ax.set(xlabel=x_label, ylabel=y_label, title=title)
    if log_x:
        ax.set_xscale("log", base=2)
    if log_y:
        ax.set_yscale("log")
    if len(series) > 1:
        ax.legend()
    return ax
