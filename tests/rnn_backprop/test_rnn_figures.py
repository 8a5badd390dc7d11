"""The figures of 02 can be drawn without a kernel, say nothing on standard error, and follow the sliders."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from helpers.rnn_backprop import figures as rnn_figures


def jacobian(W: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    result = torch.eye(len(W), dtype=W.dtype)
    for state in h[1:]:
        result = torch.diag(1 - state**2) @ W @ result
    return result


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


def test_orthogonal_keeps_lengths():
    Q = rnn_figures.orthogonal(6)
    torch.testing.assert_close(Q.T @ Q, torch.eye(6, dtype=torch.float64))


@pytest.mark.parametrize("rho", [0.5, 1.0, 1.5])
def test_the_linear_curve_is_rho_to_the_distance(rho):
    picture = rnn_figures.GradientFigure(jacobian, steps=10, n=5)
    linear, tanh = picture.norms(rho, 0.5)
    np.testing.assert_allclose(linear, rho ** np.arange(11), rtol=1e-10)
    assert (tanh <= linear * (1 + 1e-9)).all()


def test_the_slider_shows_an_ordinary_figure_and_redraws_it(monkeypatch, capfd):
    shown = []

    class Handle:
        def update(self, figure):
            shown.append(("update", figure.axes[0].get_title()))

    def display(thing, display_id=False):
        shown.append(("widget" if isinstance(thing, ipywidgets.Widget) else "figure", thing))
        return Handle() if display_id else None

    monkeypatch.setattr("IPython.display.display", display)
    rnn_figures.gradient_slider(jacobian, steps=5)
    assert [kind for kind, _ in shown] == ["widget", "figure"]
    shown[0][1].children[0].value = 1.5
    assert shown[-1][0] == "update"
    assert "explodes" in shown[-1][1]
    assert capfd.readouterr().err == ""


def test_the_graph_is_drawn_with_every_node():
    axes = rnn_figures.draw_graph([("W_hh", "z1"), ("h0", "z1"), ("z1", "h1"), ("J1", "J"), ("p1", "J1")])
    assert {text.get_text() for text in axes.texts} == {
        "$W_{hh}$",
        "$z_{1}$",
        "$h_{0}$",
        "$h_{1}$",
        "$J_{1}$",
        "$J$",
        r"$\hat{y}_{1}$",
    }


def test_an_empty_graph_can_be_drawn():
    rnn_figures.draw_graph([])
