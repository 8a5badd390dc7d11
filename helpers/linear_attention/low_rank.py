"""Trained attention heads whose spectrum can be measured, projections fitted to them, and a slider for their rank.

Three regression tasks on the same input show what a head's job does to the rank of its weights: the mean over all
positions of one's own group (which changes with the input), the mean over one's own block of neighbouring positions
(which does not), and the content of the left neighbour. One softmax head learns each of them in a second or two.
"""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from matplotlib.figure import Figure
from torch import nn

from helpers.kit import controls, plots
from helpers.kit.interrupts import Loop

TASKS = ("group_mean", "block_mean", "neighbour")

GROUPS = 6  # every position belongs to one of these
BLOCKS = 8  # the sequence is cut into this many blocks of neighbours
CONTENT = 4  # numbers that a position carries
POSITION = 32  # width of the sinusoidal position code
INPUT = GROUPS + POSITION + CONTENT
WIDTH = 24  # h: width of queries and keys

# What the tests say where the counter has seen less than one operation a position.
UNCOUNTED = "the counter saw almost nothing of your work: compute with torch, not with NumPy or Python numbers"


class Batch(NamedTuple):
    """Inputs x (B, n, INPUT) and what each task wants at every position (B, n, CONTENT)."""

    x: torch.Tensor
    group_mean: torch.Tensor
    block_mean: torch.Tensor
    neighbour: torch.Tensor


def position_code(n: int) -> torch.Tensor:
    """Sines and cosines of the position on a circle of n places: (n, POSITION). A shift is a rotation of this code."""
    angle = 2 * math.pi * torch.arange(n)[:, None] * torch.arange(1, POSITION // 2 + 1) / n
    return torch.cat([angle.sin(), angle.cos()], dim=1)


def batch(B: int, n: int) -> Batch:
    """Random sequences: a group for every position, its place on the circle, and a random content vector."""
    group = nn.functional.one_hot(torch.randint(GROUPS, (B, n)), GROUPS).float()
    content = torch.randn(B, n, CONTENT)
    same = group @ group.mT  # (B, n, n): 1 where two positions share a group
    mean = same @ content / same.sum(dim=2, keepdim=True)
    block = content.view(B, BLOCKS, n // BLOCKS, CONTENT).mean(dim=2).repeat_interleave(n // BLOCKS, dim=1)
    x = torch.cat([group, position_code(n).expand(B, n, POSITION), content], dim=2)
    return Batch(x, mean, block, content.roll(1, dims=1))


class Head(nn.Module):
    """One head of softmax attention with linear queries, keys and values."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(INPUT, WIDTH, bias=False)
        self.key = nn.Linear(INPUT, WIDTH, bias=False)
        self.value = nn.Linear(INPUT, CONTENT, bias=False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries (B, n, WIDTH), keys (B, n, WIDTH) and values (B, n, CONTENT) of x."""
        return self.query(x), self.key(x), self.value(x)


def softmax_weights(Q: torch.Tensor, K: torch.Tensor) -> torch.Tensor:
    """P = softmax(Q Kᵀ / √h) for queries (..., n, h) and keys (..., m, h)."""
    return (Q @ K.mT / Q.shape[-1] ** 0.5).softmax(dim=-1)


def softmax_attention(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    """Attention with all n × m weights: the quadratic form that everything here is compared with."""
    return softmax_weights(Q, K) @ V


def train(
    task: str,
    steps: int,
    attend: Callable[..., torch.Tensor] = softmax_attention,
    n: int = 64,
    B: int = 32,
    learning_rate: float = 2e-2,
) -> tuple[Head, list[float]]:
    """A head trained on one of the TASKS, and its mean squared error at every step. About 5 ms a step on one core.

    An interrupt ends it early, and the same call goes on.
    """
    head = Head()
    optimizer = torch.optim.Adam(head.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, learning_rate, total_steps=steps)
    losses: list[float] = []
    for _ in Loop(
        range(steps), f"{task}, {getattr(attend, '__name__', 'attention')}", keep=[head, optimizer, schedule, losses]
    ):
        data = batch(B, n)
        loss = (attend(*head(data.x)) - getattr(data, task)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return head, losses


def triples(head: Head, B: int, n: int = 64) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, keys and values of a head on B new sequences of n positions."""
    with torch.no_grad():
        Q, K, V = head(batch(B, n).x)
    return Q, K, V


def fit_projections(
    attend: Callable[..., torch.Tensor],
    data: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    k: int,
    steps: int,
    learning_rate: float = 3e-2,
) -> tuple[torch.Tensor, torch.Tensor]:
    """C and D (k, n) for which attend(Q, K, V, C, D) comes closest to softmax attention, on average over the sequences
    in `data`.
    """
    Q, K, V = data
    target = softmax_attention(Q, K, V)
    C, D = (nn.Parameter(torch.randn(k, Q.shape[-2]) / (4 * k**0.5)) for _ in range(2))
    optimizer = torch.optim.Adam([C, D])
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, learning_rate, total_steps=steps)
    for _ in Loop(range(steps), f"projections of rank {k}", keep=[C, D, optimizer, schedule]):
        some = torch.randint(len(Q), (32,))
        loss = (attend(Q[some], K[some], V[some], C, D) - target[some]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return C.detach(), D.detach()


def relative_error(actual: torch.Tensor, exact: torch.Tensor) -> float:
    """Frobenius norm of the error, as a share of that of the exact result."""
    return ((actual - exact).norm() / exact.norm()).item()


def best_time(function: Callable[..., Any], *args: Any, repeats: int = 5) -> float:
    """Seconds of the fastest of some calls, after one that does not count. A look, never a test: clocks are noisy."""
    with torch.no_grad():
        function(*args)
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            function(*args)
            times.append(time.perf_counter() - start)
    return min(times)


def draw_truncation(P: torch.Tensor, V: torch.Tensor, k: int) -> Figure:
    """P, its best approximation of rank k, and the singular values with what is kept and what is lost."""
    plots.use_course_style()
    U, S, Vt = torch.linalg.svd(P)
    kept = (U[:, :k] * S[:k]) @ Vt[:k]
    figure = Figure(figsize=(11, 3.6))
    left, middle, right = figure.subplots(1, 3)
    top = P.max().item()
    for ax, grid, title in ((left, P, "P"), (middle, kept, f"rank {k}")):
        ax.imshow(plots.array(grid), vmin=0, vmax=top, cmap="cividis", interpolation="nearest")
        ax.set(title=title, xlabel="key", ylabel="query")
        ax.grid(False)
    places = torch.arange(1, len(S) + 1)
    right.plot(places[:k], S[:k], "o", color="C0", markersize=4, label="kept")
    right.plot(places[k:], S[k:], "x", color="C1", markersize=4, label="lost")
    right.set(
        xlabel="number i",
        ylabel="singular value",
        title=f"error of P {relative_error(kept, P):.1%}, of PV {relative_error(kept @ V, P @ V):.1%}",
    )
    right.set_ylim(-0.05, 1.1 * S[0].item())
    right.legend(loc="center right")
    figure.tight_layout()
    return figure


def smallest_rank(P: torch.Tensor, error: float) -> int:
    """The smallest rank at which the best approximation of P is nearer than this relative error."""
    squares = torch.linalg.svdvals(P) ** 2
    lost = 1 - squares.cumsum(0) / squares.sum()
    return int((lost >= error**2).sum()) + 1


def png(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=90)
    return file.getvalue()


def explore_rank(heads: Mapping[str, tuple[torch.Tensor, torch.Tensor]]) -> Any:
    """A widget: choose one of the heads {name: (P (n, n), V (n, e))} and a rank, and see what is left of P."""
    import ipywidgets

    names = list(heads)
    which = ipywidgets.Dropdown(options=names, value=names[0], description="head", **controls.options())
    n = len(heads[names[0]][0])
    rank = ipywidgets.IntSlider(
        value=min(4, n), min=1, max=n, description="rank k", **controls.options(continuous_update=False)
    )
    goal = controls.Goal("the smallest rank of this head whose error of P is below 10%")
    picture = ipywidgets.Image(format="png")

    def redraw(change: Any = None) -> None:
        P, V = heads[which.value]
        picture.value = png(draw_truncation(P, V, rank.value))
        goal.tell(rank.value == smallest_rank(P, 0.1))

    which.observe(redraw, names="value")
    rank.observe(redraw, names="value")
    redraw()
    return ipywidgets.VBox([ipywidgets.VBox([which, rank, goal.line]), picture])
