"""Figures of recurrent networks: the computation graph unrolled in time, and a slider that makes gradients vanish or
explode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from helpers.kit import controls, plots
from helpers.rnn_backprop.derivation import WEIGHTS, pairs

HEIGHT = {"x": 0.0, "z": 1.0, "h": 2.0, "o": 3.0, "p": 4.0, "y": 4.0, "J": 5.0}
LABEL = {"W_hh": "$W_{hh}$", "W_hx": "$W_{hx}$", "W_yh": "$W_{yh}$", "J": "$J$"}


def place(node: str, T: int) -> tuple[float, float]:
    """Where a node stands: one column per step, inputs at the bottom, the loss on top, shared weights at the left."""
    if node in WEIGHTS:
        return -1.1, {"W_hx": 0.45, "W_hh": 1.6, "W_yh": 3.6}[node]
    if node == "J":
        return (T + 1) / 2 * 1.6, 6.0
    kind, t = node[0], int(node[1:])
    return 1.6 * t + (0.62 if kind == "y" else 0.0), HEIGHT[kind]


def draw_graph(edges: Iterable[Any], ax: Axes | None = None) -> Axes:
    """The student's edges as a picture; arrows out of the shared weights are dashed."""
    plots.use_course_style()
    arrows = pairs(edges)
    names = sorted({node for arrow in arrows for node in arrow})
    T = max([int(node[1:]) for node in names if node not in LABEL], default=1)
    if ax is None:
        _, ax = plt.subplots(figsize=(3.2 + 2.1 * T, 6.2))
    for start, end in arrows:
        shared = start in WEIGHTS
        (x0, y0), (x1, y1) = place(start, T), place(end, T)
        bend = (
            0.0 if not shared or abs(x1 - x0) < 3 else 0.06 if start == "W_hx" else -0.06
        )  # around the nodes in between
        arrow = FancyArrowPatch(
            (x0, y0),
            (x1, y1),
            arrowstyle="-|>",
            mutation_scale=12,
            shrinkA=13,
            shrinkB=13,
            color={"W_hh": "C3", "W_hx": "C2", "W_yh": "C4"}.get(start, "0.25"),
            linestyle="--" if shared else "-",
            linewidth=1.2,
            connectionstyle=f"arc3,rad={bend}",
            zorder=1,
        )
        ax.add_patch(arrow)
    for node in names:
        x, y = place(node, T)
        base = r"\hat{y}" if node[0] == "p" else node[0]
        text = LABEL.get(node, f"${base}_{{{node[1:]}}}$")
        face = "#fff2cc" if node in WEIGHTS else "#dbe9f6" if node[0] in "xy" or node == "h0" else "white"
        ax.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            fontsize=12,
            zorder=2,
            bbox={"boxstyle": "circle,pad=0.28", "fc": face, "ec": "0.3"},
        )
    ax.set(
        xlim=(-1.8, 1.6 * T + 1.3),
        ylim=(-0.6, 6.6),
        title=f"{len(arrows)} edges, {T} steps; the same three weights feed every step",
    )
    ax.set_axis_off()
    return ax


def orthogonal(n: int, seed: int = 0) -> torch.Tensor:
    """A random orthogonal matrix (n, n), float64."""
    generator = torch.Generator().manual_seed(seed)
    return torch.linalg.qr(torch.randn(n, n, generator=generator, dtype=torch.float64))[0]


def tanh_run(W: torch.Tensor, steps: int, size: float, seed: int = 1) -> torch.Tensor:
    """States (steps + 1, n) of h ← tanh(W h + input), with random inputs of the given size."""
    generator = torch.Generator().manual_seed(seed)
    rows = [torch.zeros(len(W), dtype=W.dtype)]
    for _ in range(steps):
        rows.append(torch.tanh(W @ rows[-1] + size * torch.randn(len(W), generator=generator, dtype=W.dtype)))
    return torch.stack(rows)


class GradientFigure:
    """‖∂h_t/∂h_i‖ against t − i for W_hh = ρ × orthogonal: linear, and tanh with inputs of a chosen size.

    `jacobian(W_hh, h)` is the student's: the derivative of the last row of the states h by the first, through tanh.
    """

    def __init__(self, jacobian: Callable[[torch.Tensor, torch.Tensor], Any], steps: int = 40, n: int = 16) -> None:
        plots.use_course_style()
        self.jacobian, self.steps, self.n = jacobian, steps, n
        self.figure: Figure = plt.figure(figsize=(8, 4.2))
        self.ax = self.figure.add_subplot()
        self.parted = False  # whether the linear network's gradient explodes where that of tanh vanishes

    def norms(self, rho: float, size: float) -> tuple[np.ndarray, np.ndarray]:
        """Spectral norms for distances 0 … steps: of the linear network (states zero, where tanh has slope one), and of
        tanh.
        """
        W = rho * orthogonal(self.n)
        still, moving = torch.zeros(self.steps + 1, self.n, dtype=W.dtype), tanh_run(W, self.steps, size)
        found = []
        for h in (still, moving):
            matrices = [torch.as_tensor(self.jacobian(W, h[: k + 1])) for k in range(self.steps + 1)]
            found.append(np.array([torch.linalg.matrix_norm(m, 2).item() for m in matrices]))
        return found[0], found[1]

    def draw(self, rho: float, size: float) -> Figure:
        """Draw afresh for these settings."""
        linear, tanh = self.norms(rho, size)
        self.parted = bool(linear[-1] > 1000 and tanh[-1] < 0.001)
        self.ax.clear()
        distance = np.arange(self.steps + 1)
        series = {"linear": (distance, linear), f"tanh, inputs of size {size:g}": (distance, tanh)}
        verdict = "vanishes" if rho < 0.995 else "explodes" if rho > 1.005 else "holds"
        plots.curves(
            series,
            "distance t − i in steps",
            r"$\|\partial h_t/\partial h_i\|$",
            f"ρ = {rho:.2f}: the linear network's gradient {verdict}",
            log_y=True,
            ax=self.ax,
        )
        self.ax.axhline(1.0, color="0.4", linewidth=0.8)
        self.ax.set_ylim(1e-12, 1e12)
        return self.figure


def gradient_slider(
    jacobian: Callable[[torch.Tensor, torch.Tensor], Any], rho: float = 1.0, size: float = 0.5, steps: int = 40
) -> None:
    """Two sliders above one figure.

    The figure is an ordinary image, so a page that cannot run widgets still shows it.
    """
    import ipywidgets
    from IPython.display import display

    picture = GradientFigure(jacobian, steps)
    picture.draw(rho, size)
    options = controls.options(continuous_update=False)
    goal = controls.Goal("with the same W, a linear gradient above 1000 and a tanh gradient below 0.001")
    radius = ipywidgets.FloatSlider(value=rho, min=0.3, max=1.8, step=0.05, description="ρ", **options)
    inputs = ipywidgets.FloatSlider(value=size, min=0.0, max=2.0, step=0.1, description="input size", **options)
    goal.tell(picture.parted)
    display(ipywidgets.VBox([radius, inputs, goal.line]))
    shown = display(picture.figure, display_id=True)
    plt.close(picture.figure)  # or the notebook would show the figure a second time at the end of the cell

    def redraw(change: Any) -> None:
        picture.draw(radius.value, inputs.value)
        goal.tell(picture.parted)
        if shown is not None:
            shown.update(picture.figure)

    for slider in (radius, inputs):
        slider.observe(redraw, names="value")
