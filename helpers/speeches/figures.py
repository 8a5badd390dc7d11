"""Figures of 11-speeches: attention maps per layer and head, a browser for them, perplexity and accuracy over seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure

from helpers.kit import controls, plots

# 97.5 % quantiles of Student's t distribution by degrees of freedom.
T_QUANTILES = dict(
    enumerate(
        [
            12.706,
            4.303,
            3.182,
            2.776,
            2.571,
            2.447,
            2.365,
            2.306,
            2.262,
            2.228,
            2.201,
            2.179,
            2.160,
            2.145,
            2.131,
            2.120,
            2.110,
            2.101,
            2.093,
        ],
        start=1,
    )
)


def attention_grid(maps: Mapping[str, torch.Tensor], words: Sequence[str], title: str, row: int = 0) -> Figure:
    """One heat map per layer (down) and head (across) for one sequence of a batch; all share one colour scale, from 0
    to the largest weight.
    """
    plots.use_course_style()
    layers = list(maps.values())
    top = max(float(weights[row, :, : len(words), : len(words)].max()) for weights in layers)
    heads = layers[0].shape[1]
    figure, axes = plt.subplots(len(layers), heads, figsize=(5.2 * heads, 4.4 * len(layers)), squeeze=False)
    image = None
    for layer, weights in enumerate(layers):
        for head in range(heads):
            ax = axes[layer][head]
            image = draw(ax, weights[row, head], words, top)
            ax.set_title(f"layer {layer}, head {head}")
    figure.suptitle(title)
    figure.tight_layout(rect=(0, 0, 0.93, 0.98))
    if image is not None:
        bar = figure.add_axes((0.945, 0.35, 0.015, 0.3))
        figure.colorbar(image, cax=bar, label="weight")
    return figure


def draw(ax: Any, weights: torch.Tensor, words: Sequence[str], top: float | None = None) -> Any:
    """One heat map.

    The brightest colour is the weight `top`, else the largest of this map: most weights are far below 1.
    """
    grid = plots.array(weights)[: len(words), : len(words)]
    image = ax.imshow(grid, vmin=0, vmax=top or float(grid.max()), cmap="cividis", aspect="auto")
    size = 8 if len(words) <= 24 else 6
    ax.set_xticks(range(len(words)), words, rotation=90, fontsize=size)
    ax.set_yticks(range(len(words)), words, fontsize=size)
    ax.set(xlabel="key", ylabel="query")
    ax.grid(False)
    return image


def map_browser(
    look: Callable[[str, int], tuple[Mapping[str, torch.Tensor], list[str]]], names: Sequence[str], texts: int
) -> None:
    """Menus for model, text, layer and head above one heat map. `look(name, text)` gives the maps and the words.

    The figure is an ordinary image, so a page that cannot run widgets still shows it.
    """
    import ipywidgets
    from IPython.display import display

    plots.use_course_style()
    figure, ax = plt.subplots(figsize=(7, 6))
    maps, _ = look(names[0], 0)
    layers, heads = len(maps), next(iter(maps.values())).shape[1]
    layout = controls.options()
    seen: dict[tuple[str, int], set[tuple[int, int]]] = {}
    goal = controls.Goal("look at every layer and head of one model on one text")
    model = ipywidgets.Dropdown(options=list(names), description="model", **layout)
    text = ipywidgets.IntSlider(value=0, min=0, max=texts - 1, description="text", continuous_update=False, **layout)
    layer = ipywidgets.IntSlider(value=0, min=0, max=layers - 1, description="layer", continuous_update=False, **layout)
    head = ipywidgets.IntSlider(value=0, min=0, max=heads - 1, description="head", continuous_update=False, **layout)

    def redraw() -> None:
        found, words = look(model.value, text.value)
        weights = list(found.values())[layer.value][0, head.value]
        ax.clear()
        image = draw(ax, weights, words)
        ax.set_title(
            f"{model.value}: layer {layer.value}, head {head.value}; the brightest cell is {image.get_clim()[1]:.2f}"
        )
        figure.tight_layout()
        here = seen.setdefault((model.value, text.value), set())
        here.add((layer.value, head.value))
        goal.tell(len(here) == layers * heads)

    redraw()
    display(ipywidgets.VBox([model, text, layer, head, goal.line]))
    shown = display(figure, display_id=True)
    plt.close(figure)  # or the notebook would show the figure a second time at the end of the cell

    def changed(change: Any) -> None:
        redraw()
        if shown is not None:
            shown.update(figure)

    for control in (model, text, layer, head):
        control.observe(changed, names="value")


def seed_spread(results: Mapping[str, Sequence[float]], error: float, lines: Mapping[str, float], label: str) -> Figure:
    """Every seed's result as a point, its mean as a bar, and reference lines.

    `error` is drawn as a grey band around each mean.
    """
    plots.use_course_style()
    figure, ax = plt.subplots(figsize=(8, 3.8))
    for place, (name, values) in enumerate(results.items()):
        mean = float(np.mean(values))
        ax.barh(place, 2 * error, left=mean - error, height=0.6, color="0.85", zorder=1)
        ax.plot([mean, mean], [place - 0.3, place + 0.3], color="black", linewidth=2, zorder=2)
        ax.scatter(
            list(values),
            [place] * len(values),
            color=f"C{place}",
            marker=plots.MARKERS[place],
            s=50,
            zorder=3,
            label=name,
        )
    for name, value in lines.items():
        ax.axvline(value, color="0.4", linestyle="--", linewidth=1)
        ax.annotate(f" {name}", (value, len(results) - 0.45), fontsize=9, color="0.3", rotation=0)
    ax.set_yticks(range(len(results)), list(results))
    ax.set_ylim(-0.6, len(results) - 0.2)
    ax.set(xlabel=label)
    figure.tight_layout()
    return figure


def head_scores(scores: Mapping[str, torch.Tensor], title: str) -> Figure:
    """Score of each layer (row) and head (column) of some models side by side, with a common scale around zero."""
    plots.use_course_style()
    most = max(float(part.abs().max()) for part in scores.values()) or 1.0
    figure, axes = plt.subplots(1, len(scores), figsize=(3.4 * len(scores) + 1, 3.6), squeeze=False)
    for ax, (name, part) in zip(axes[0], scores.items(), strict=True):
        ax.imshow(plots.array(part), vmin=-most, vmax=most, cmap="PuOr_r", aspect="auto")
        for (layer, head), score in np.ndenumerate(plots.array(part)):
            ink = "white" if abs(score) > 0.6 * most else "black"
            ax.text(head, layer, f"{score:+.3f}", ha="center", va="center", fontsize=10, color=ink)
        ax.set_xticks(range(part.shape[1]))
        ax.set_yticks(range(part.shape[0]))
        ax.set(xlabel="head", ylabel="layer", title=name)
        ax.grid(False)
    figure.suptitle(title)
    figure.tight_layout()
    return figure
