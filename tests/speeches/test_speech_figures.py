"""Figures of 11-speeches: one panel per layer and head, and the quantiles that intervals rest on."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from helpers.speeches import figures as speech_figures


@pytest.fixture(autouse=True)
def _close_figures() -> object:
    yield
    plt.close("all")


def test_there_is_one_map_per_layer_and_head() -> None:
    maps = {f"layer {number}": torch.rand(2, 3, 5, 5).softmax(-1) for number in range(4)}
    figure = speech_figures.attention_grid(maps, ["a", "b", "c"], "title")
    panels = [ax for ax in figure.axes if ax.get_xlabel() == "key"]
    assert len(panels) == 12
    assert panels[0].images[0].get_array().shape == (3, 3)  # padding is not shown
    shown = max(float(weights[0, :, :3, :3].max()) for weights in maps.values())
    for panel in panels:
        assert panel.images[0].get_clim() == pytest.approx((0.0, shown))  # one scale, and no map is all dark


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 10, 19])
def test_quantiles_leave_two_and_a_half_percent_above(freedom: int) -> None:
    x = np.linspace(0, speech_figures.T_QUANTILES[freedom], 200_001)
    log_constant = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    density = np.exp(log_constant) * (1 + x**2 / freedom) ** (-(freedom + 1) / 2)
    below = 0.5 + float(((density[1:] + density[:-1]) / 2 * np.diff(x)).sum())
    assert below == pytest.approx(0.975, abs=2e-5)


def test_every_seed_is_a_point() -> None:
    figure = speech_figures.seed_spread({"one": [0.5, 0.6], "two": [0.7, 0.8]}, 0.02, {"chance": 0.4}, "accuracy")
    points = [offset for collection in figure.axes[0].collections for offset in collection.get_offsets()]
    assert sorted(round(float(x), 2) for x, _ in points) == [0.5, 0.6, 0.7, 0.8]


def test_every_head_has_its_score() -> None:
    figure = speech_figures.head_scores({"one": torch.tensor([[0.1, -0.2]]), "two": torch.zeros(1, 2)}, "title")
    assert [text.get_text() for text in figure.axes[0].texts] == ["+0.100", "-0.200"]
    assert [text.get_color() for text in figure.axes[0].texts] == ["black", "white"]  # readable on a dark cell
