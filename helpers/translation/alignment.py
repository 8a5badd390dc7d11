"""Which source word a produced word looks at: pictures of cross-attention, and how often it is the right one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from torch import Tensor, nn

from helpers.kit import controls, plots
from helpers.translation.pairs import english_french


@torch.no_grad()
def cross_maps(model: Any, source: Tensor, inputs: Tensor) -> Tensor:
    """Cross-attention weights (L, H, T, S) of one sentence, from what each block's `cross` was given in a forward
    pass.
    """
    given: list[tuple[nn.Module, tuple[Any, ...]]] = []
    handles = [
        block.cross.register_forward_pre_hook(lambda layer, args: given.append((layer, args))) for block in model.blocks
    ]
    was_training = model.training
    model.eval()
    try:
        model(source[None], inputs[None])
    finally:
        for handle in handles:
            handle.remove()
        model.train(was_training)
    return torch.stack([layer.weights(*args)[0] for layer, args in given])  # type: ignore[operator]


def dictionary() -> dict[str, set[str]]:
    """French noun forms of the grammar with the English forms that they translate."""
    found: dict[str, set[str]] = {}
    for noun in [*english_french.lexicon.NOUNS, *english_french.lexicon.PLACES]:
        for plural in (False, True):
            forms = {
                noun.in_english(number) for number in (False, True) if noun.in_french(number) == noun.in_french(plural)
            }
            found.setdefault(noun.in_french(plural), set()).update(forms)
    return found


def alignment_share(weights: Tensor, source: Sequence[str], produced: Sequence[str]) -> tuple[int, int]:
    """Of the produced French nouns whose English noun is in the source exactly once: how many look most at it, and how
    many there are.

    `weights` (T, S): row t belongs to the position that *produced* word t.

    """
    known = dictionary()
    hits = total = 0
    for t, word in enumerate(produced):
        places = [s for s, english in enumerate(source) if english in known.get(word, ())]
        if len(places) == 1:
            total += 1
            hits += int(weights[t, : len(source)].argmax()) == places[0]
    return hits, total


def alignment_map(
    weights: Tensor, source: Sequence[str], produced: Sequence[str], title: str = "", ax: Axes | None = None
) -> Axes:
    """One heat map: rows are the words as they are produced, columns the words of the source."""
    plots.use_course_style()
    if ax is None:
        _, ax = plt.subplots(figsize=(2 + 0.5 * len(source), 1.5 + 0.36 * len(produced)))
    image = ax.imshow(plots.array(weights), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    ax.set_xticks(range(len(source)), source, rotation=60, ha="right")
    ax.set_yticks(range(len(produced)), produced)
    ax.grid(False)
    ax.set(title=title, xlabel="source word", ylabel="word that is produced")
    ax.figure.colorbar(image, ax=ax, label="weight")
    return ax


def alignment_explorer(show: Callable[[int], tuple[Tensor, list[str], list[str]]], sentences: Sequence[str]) -> None:
    """Choose a sentence, a layer and a head.

    `show(i)` gives weights (L, H, T, S), source words and produced words of sentence i.
    """
    import ipywidgets
    from IPython.display import display

    layers, heads = show(0)[0].shape[:2]
    narrow = controls.options()
    wide = {**narrow, "layout": ipywidgets.Layout(width="640px", max_width="100%")}
    goal = controls.Goal("the layer and head with the largest weight of this sentence")
    which = ipywidgets.Dropdown(
        options=[(text, i) for i, text in enumerate(sentences)], value=0, description="sentence", **wide
    )
    layer = ipywidgets.Dropdown(
        options=[("mean", -1), *((str(i), i) for i in range(layers))], value=layers - 1, description="layer", **narrow
    )
    head = ipywidgets.Dropdown(
        options=[("mean", -1), *((str(i), i) for i in range(heads))], value=-1, description="head", **narrow
    )

    def draw() -> Any:
        weights, source, produced = show(which.value)
        alone = layer.value >= 0 and head.value >= 0
        goal.tell(bool(alone and weights[layer.value, head.value].max() == weights.max()))
        chosen = weights.mean(0) if layer.value < 0 else weights[layer.value]
        chosen = chosen.mean(0) if head.value < 0 else chosen[head.value]
        ax = alignment_map(chosen, source, produced, f"layer {layer.label}, head {head.label}")
        figure: Any = ax.figure
        figure.tight_layout()
        plt.close(figure)  # the page shows it, not the end of the cell
        return figure

    display(ipywidgets.VBox([which, layer, head, goal.line]))
    shown = display(draw(), display_id=True)

    def redraw(change: Any) -> None:
        if shown is not None:
            shown.update(draw())

    for control in (which, layer, head):
        control.observe(redraw, names="value")
