"""Figures of a language model: loss and perplexity over steps, and sliders that reshape a next-token distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure

from helpers.kit import controls, plots


def loss_and_perplexity(train: Sequence[float], held_out: Sequence[tuple[int, float]], uniform: float) -> Figure:
    """Two panels over steps: the loss in nats, and the perplexity.

    `held_out` has (step, loss) pairs; `uniform` is log V.

    The training loss is a moving average over a fiftieth of the steps.

    """
    plots.use_course_style()
    window = max(1, len(train) // 50)
    smooth = [sum(train[max(0, i - window + 1) : i + 1]) / min(i + 1, window) for i in range(len(train))]
    steps = list(range(1, len(train) + 1))
    at, losses = [step for step, _ in held_out], [loss for _, loss in held_out]
    figure, axes = plt.subplots(1, 2, figsize=(12, 4))
    plots.curves(
        {"training text": (steps, smooth), "held-out text": (at, losses)},
        "step",
        "loss in nats per character",
        "Loss",
        ax=axes[0],
    )
    exp = {
        "training text": (steps, [math.exp(v) for v in smooth]),
        "held-out text": (at, [math.exp(v) for v in losses]),
    }
    plots.curves(exp, "step", "perplexity", "Perplexity", log_y=True, ax=axes[1])
    axes[0].axhline(uniform, color="0.5", linewidth=1)
    axes[0].annotate("uniform guess, log V", (len(train), uniform), ha="right", va="bottom", fontsize=9, color="0.35")
    axes[1].axhline(math.exp(uniform), color="0.5", linewidth=1)
    axes[1].annotate(
        "uniform guess, V", (len(train), math.exp(uniform)), ha="right", va="bottom", fontsize=9, color="0.35"
    )
    figure.tight_layout()
    return figure


def label(character: str) -> str:
    """A character as an axis can show it."""
    return {" ": "␣", "\n": "↵"}.get(character, character)


class SamplingFigure:
    """The most likely next characters before and after temperature, top-k and top-p."""

    def __init__(self, distribution: Callable[..., Any], logits: torch.Tensor, alphabet: str, shown: int = 20) -> None:
        self.distribution, self.logits = distribution, logits
        self.order = logits.argsort(descending=True)[:shown]
        self.kept = len(logits)  # characters that can still be drawn
        self.names = [label(alphabet[int(i)]) for i in self.order]
        plots.use_course_style()
        self.figure, self.axes = plt.subplots(figsize=(9, 3.6))

    def draw(self, temperature: float, top_k: int, top_p: float) -> None:
        before = self.logits.softmax(-1)
        after = self.distribution(self.logits[None], temperature=temperature, top_k=top_k, top_p=top_p)[0]
        kept = self.kept = int((after > 0).sum())
        self.axes.clear()
        places = range(len(self.order))
        self.axes.bar([p - 0.2 for p in places], plots.array(before[self.order]), 0.4, label="the model's", color="C7")
        self.axes.bar(
            [p + 0.2 for p in places], plots.array(after[self.order]), 0.4, label="sampled from", color="C0", hatch="//"
        )
        self.axes.set_xticks(list(places), self.names)
        title = (
            f"temperature {temperature:.2f}, top-k {top_k}, top-p {top_p:.2f}: {kept} of {len(before)} characters"
            " remain"
        )
        self.axes.set(xlabel="next character, most likely first", ylabel="probability", title=title)
        self.axes.legend()
        self.figure.tight_layout()


def sampling_sliders(distribution: Callable[..., Any], logits: torch.Tensor, alphabet: str) -> None:
    """Three sliders above one figure.

    The figure is an ordinary image, so a page that cannot run widgets still shows it.
    """
    import ipywidgets
    from IPython.display import display

    picture = SamplingFigure(distribution, logits, alphabet)
    options = controls.options(continuous_update=False)
    goal = controls.Goal(f"with top-k at {len(alphabet)}, which cuts nothing, leave two or three characters")
    heat = ipywidgets.FloatSlider(value=0.8, min=0.0, max=2.0, step=0.1, description="temperature", **options)
    most = ipywidgets.IntSlider(value=20, min=1, max=len(alphabet), description="top-k", **options)
    mass = ipywidgets.FloatSlider(value=0.9, min=0.05, max=1.0, step=0.05, description="top-p", **options)
    picture.draw(heat.value, most.value, mass.value)
    display(ipywidgets.VBox([heat, most, mass, goal.line]))
    shown = display(picture.figure, display_id=True)
    plt.close(picture.figure)  # or the notebook would show the figure a second time at the end of the cell

    def redraw(change: Any) -> None:
        picture.draw(heat.value, most.value, mass.value)
        goal.tell(most.value == len(alphabet) and picture.kept in (2, 3))
        if shown is not None:
            shown.update(picture.figure)

    for slider in (heat, most, mass):
        slider.observe(redraw, names="value")
