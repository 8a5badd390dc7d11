"""What the translation notebook needs around its exercises: batches, BLEU's words, models to search in, and pictures of cross-attention."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from torch import Tensor, nn

from helpers import plots
from helpers.pairs import BEGIN, PAD, english_french

Tokens = list[int]

# ---- BLEU's words ---------------------------------------------------------------------------------------------------

ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
RULES = [
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),  # signs stand alone, but not the apostrophe, comma, hyphen and full stop
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),  # a comma or full stop does too, unless it is inside a number
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),  # and a hyphen after a digit
]


def tokenize_13a(text: str) -> list[str]:
    """The words that BLEU counts, cut as the WMT evaluations do it ("13a"), so that scores can be compared with published ones."""
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for name, sign in ENTITIES.items():
        text = text.replace(name, sign)
    text = f" {text} "
    for pattern, spaced in RULES:
        text = pattern.sub(spaced, text)
    return text.split()


# ---- batches --------------------------------------------------------------------------------------------------------


def padded(rows: Sequence[Tokens]) -> Tensor:
    """Rows of different lengths as one tensor (B, longest), filled up with PAD."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


def encoded(pairs: Sequence[tuple[str, str]], source: Any, target: Any, longest: int = 100) -> list[tuple[Tokens, Tokens]]:
    """Pairs as tokens of the two vocabularies; a pair with a side longer than `longest` is left out."""
    both = ((source.encode(a), target.encode(b)) for a, b in pairs)
    return [(a, b) for a, b in both if 0 < len(a) <= longest and 0 < len(b) <= longest]


class Batches:
    """`steps` batches (source (B, S), list of B target token lists), passing over the pairs as often as it takes.

    Pairs of similar length go into one batch, so that there is little padding; the order is new in every pass and depends on the seed alone.
    """

    def __init__(self, pairs: Sequence[tuple[Tokens, Tokens]], size: int, steps: int, seed: int = 0) -> None:
        if not pairs:
            raise ValueError("no pairs to make batches of")
        self.pairs, self.size, self.steps, self.seed = pairs, size, steps, seed

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[tuple[Tensor, list[Tokens]]]:
        rng = random.Random(self.seed)
        made = 0
        while made < self.steps:
            for group in self.groups(rng)[: self.steps - made]:
                yield padded([self.pairs[i][0] for i in group]), [self.pairs[i][1] for i in group]
                made += 1

    def groups(self, rng: random.Random) -> list[list[int]]:
        order = list(range(len(self.pairs)))
        rng.shuffle(order)
        pool = 20 * self.size  # sorting a pool, not everything, keeps the batches different from pass to pass
        pools = [sorted(order[i : i + pool], key=lambda j: len(self.pairs[j][1])) for i in range(0, len(order), pool)]
        groups = [chunk[i : i + self.size] for chunk in pools for i in range(0, len(chunk), self.size)]
        rng.shuffle(groups)
        return groups


# ---- models to search in --------------------------------------------------------------------------------------------


class TimedChain:
    """A next-token model for one sentence whose results can be worked out on paper: P(next | step, last token) from a table.

    `probabilities` (steps, V, V) must have rows that sum to one. `log_probabilities(prefixes)` takes prefixes (N, t) that start with
    BEGIN and gives (N, V); beyond the table's last step the last one is used. `calls` and `most_rows` say how it was asked.
    """

    PUBLIC: ClassVar[tuple[str, ...]] = ("log_probabilities", "calls", "most_rows")

    def __init__(self, probabilities: Tensor) -> None:
        self.table = probabilities.double()
        self.calls = self.most_rows = 0

    def log_probabilities(self, prefixes: Any) -> Tensor:
        rows = checked(prefixes, self.table.shape[-1])
        self.calls += 1
        self.most_rows = max(self.most_rows, len(rows))
        step = min(rows.shape[1], len(self.table)) - 1
        return self.table[step, rows[:, -1]].log()


class RowChains:
    """The same for a batch of B sentences: row b of the prefixes (B, t) follows table b of `probabilities` (B, V, V)."""

    PUBLIC: ClassVar[tuple[str, ...]] = ("log_probabilities", "calls")

    def __init__(self, probabilities: Tensor) -> None:
        self.table = probabilities.double()
        self.calls = 0

    def log_probabilities(self, prefixes: Any) -> Tensor:
        rows = checked(prefixes, self.table.shape[-1])
        if len(rows) != len(self.table):
            raise ValueError(
                f"{len(rows)} prefixes for a batch of {len(self.table)} sentences: keep one row for each, also when it has ended"
            )
        self.calls += 1
        return self.table[torch.arange(len(rows)), rows[:, -1]].log()


def checked(prefixes: Any, V: int) -> Tensor:
    rows = torch.as_tensor(prefixes)
    if rows.dim() != 2 or rows.is_floating_point():
        raise ValueError(f"prefixes are whole numbers of shape (N, t), not {tuple(rows.shape)} of {rows.dtype}")
    if rows.numel() and (not bool((rows[:, 0] == BEGIN).all()) or int(rows.max()) >= V or int(rows.min()) < 0):
        raise ValueError("every prefix begins with BEGIN and holds tokens of the vocabulary")
    return rows


# ---- cross-attention, seen ------------------------------------------------------------------------------------------


@torch.no_grad()
def cross_maps(model: Any, source: Tensor, inputs: Tensor) -> Tensor:
    """Cross-attention weights (L, H, T, S) of one sentence, from what each block's `cross` was given in a forward pass."""
    given: list[tuple[nn.Module, tuple[Any, ...]]] = []
    handles = [block.cross.register_forward_pre_hook(lambda layer, args: given.append((layer, args))) for block in model.blocks]
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
            forms = {noun.in_english(number) for number in (False, True) if noun.in_french(number) == noun.in_french(plural)}
            found.setdefault(noun.in_french(plural), set()).update(forms)
    return found


def alignment_share(weights: Tensor, source: Sequence[str], produced: Sequence[str]) -> tuple[int, int]:
    """Of the produced French nouns whose English noun is in the source exactly once: how many look most at it, and how many there are.

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


def alignment_map(weights: Tensor, source: Sequence[str], produced: Sequence[str], title: str = "", ax: Axes | None = None) -> Axes:
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
    """Choose a sentence, a layer and a head. `show(i)` gives weights (L, H, T, S), source words and produced words of sentence i."""
    import ipywidgets
    from IPython.display import display

    layers, heads = show(0)[0].shape[:2]
    wide = ipywidgets.Layout(width="640px")
    which = ipywidgets.Dropdown(options=[(text, i) for i, text in enumerate(sentences)], value=0, description="sentence", layout=wide)
    layer = ipywidgets.Dropdown(options=[("mean", -1), *((str(i), i) for i in range(layers))], value=layers - 1, description="layer")
    head = ipywidgets.Dropdown(options=[("mean", -1), *((str(i), i) for i in range(heads))], value=-1, description="head")

    def draw() -> Any:
        weights, source, produced = show(which.value)
        chosen = weights.mean(0) if layer.value < 0 else weights[layer.value]
        chosen = chosen.mean(0) if head.value < 0 else chosen[head.value]
        ax = alignment_map(chosen, source, produced, f"layer {layer.label}, head {head.label}")
        figure: Any = ax.figure
        figure.tight_layout()
        plt.close(figure)  # the page shows it, not the end of the cell
        return figure

    display(ipywidgets.VBox([which, layer, head]))
    shown = display(draw(), display_id=True)

    def redraw(change: Any) -> None:
        if shown is not None:
            shown.update(draw())

    for control in (which, layer, head):
        control.observe(redraw, names="value")
