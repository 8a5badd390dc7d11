"""Figures of fine-tuning: what a tokenizer's arguments do, where two curves separate, what a search found, and how the
best of many flatters.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, MaxNLocator, NullFormatter

from helpers.kit import controls, plots


def batch_table(tokenizer: Any, sentences: Sequence[str], **arguments: Any) -> str:
    """HTML: the batch that `tokenizer(sentences, **arguments)` gives, one cell per token, padding in grey; or the error
    it raises.
    """
    asked = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    head = f"<div><code>tokenizer(sentences, {html.escape(asked)})</code></div>"
    try:
        batch = tokenizer(list(sentences), **arguments)
    except ValueError as error:
        first = html.escape(str(error).split(".")[0])
        return (
            f'{head}<div style="color:#d55e00">ValueError: {first}: the rows have different lengths, and a tensor has'
            " none.</div>"
        )
    ids, masks = batch["input_ids"], batch["attention_mask"]
    kind = (
        f"a tensor of shape {tuple(ids.shape)}, {ids.dtype}"
        if hasattr(ids, "shape")
        else f"a list of lists, lengths {[len(r) for r in ids]}"
    )
    rows = []
    for row, mask in zip(ids, masks, strict=True):
        cells = []
        for token, seen in zip(tokenizer.convert_ids_to_tokens([int(i) for i in row]), mask, strict=True):
            style = "background:#0173b222" if int(seen) else "background:#8884;opacity:0.6"
            cells.append(
                f'<td style="{style};padding:1px 5px;text-align:center;border:1px solid'
                f' #8886">{html.escape(token)}<br><small>{int(seen)}</small></td>'
            )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"{head}<div>input_ids: {kind}; below each token its attention mask</div><table>{''.join(rows)}</table>"


def tokens_kept(tokenizer: Any, sentences: Sequence[str], **arguments: Any) -> int:
    """How many tokens of the sentences are in the batch, padding not counted; none where there is no batch."""
    try:
        return sum(int(sum(row)) for row in tokenizer(list(sentences), **arguments)["attention_mask"])
    except ValueError:
        return 0


def tokenizer_arguments(tokenizer: Any, sentences: Sequence[str]) -> None:
    """Controls for padding, truncation, max_length and return_tensors, and the batch they give.

    The table is plain HTML and stays in a saved notebook.
    """
    import ipywidgets
    from IPython.display import HTML, display

    options = controls.options()
    choices = [False, "longest", "max_length"]
    padding = ipywidgets.Dropdown(options=choices, value="longest", description="padding", **options)
    truncation = ipywidgets.Checkbox(value=True, description="truncation", **options)
    length = ipywidgets.IntSlider(value=8, min=3, max=14, description="max_length", continuous_update=False, **options)
    tensors = ipywidgets.Dropdown(options=[None, "pt"], value="pt", description="return_tensors", **options)
    goal = controls.Goal("a tensor that holds every token of every sentence")
    whole = sum(map(len, tokenizer(list(sentences))["input_ids"]))

    def page() -> Any:
        arguments = {
            "padding": padding.value,
            "truncation": truncation.value,
            "max_length": length.value,
            "return_tensors": tensors.value,
        }
        goal.tell(tensors.value == "pt" and tokens_kept(tokenizer, sentences, **arguments) == whole)
        return HTML(batch_table(tokenizer, sentences, **arguments))

    display(ipywidgets.VBox([padding, truncation, length, tensors, goal.line]))
    shown = display(page(), display_id=True)
    for control in (padding, truncation, length, tensors):
        control.observe(lambda change: shown.update(page()) if shown is not None else None, names="value")


def where_curves_part(
    train: Sequence[float], validation: Sequence[float], accuracy: Sequence[float], best: int
) -> Figure:
    """Two panels over epochs: both losses with the epoch to keep, and the validation accuracy."""
    plots.use_course_style()
    figure, axes = plt.subplots(1, 2, figsize=(12, 4))
    epochs = list(range(1, len(train) + 1))
    plots.curves(
        {"training": (epochs, train), "validation": (epochs, validation)},
        "epoch",
        "loss in nats",
        "Where the curves separate",
        ax=axes[0],
    )
    axes[0].axvline(best + 1, color="0.4", linewidth=1, linestyle=":")
    axes[0].annotate(
        "lowest validation loss",
        (best + 1, axes[0].get_ylim()[1]),
        ha="left",
        va="top",
        fontsize=9,
        color="0.3",
        xytext=(4, -4),
        textcoords="offset points",
    )
    plots.curves(
        {"validation": (epochs, accuracy)}, "epoch", "validation accuracy", "The accuracy tells less", ax=axes[1]
    )
    axes[1].axvline(best + 1, color="0.4", linewidth=1, linestyle=":")
    for ax in axes:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))  # there is no epoch 1.5
    figure.tight_layout()
    return figure


def search_results(results: Sequence[Mapping[str, Any]]) -> Figure:
    """Validation accuracy against the learning rate, one mark per trial: its form is the batch size, its size the
    number of epochs.
    """
    plots.use_course_style()
    figure, ax = plt.subplots(figsize=(7.5, 4.2))
    for number, batch_size in enumerate(sorted({r["batch_size"] for r in results})):
        chosen = [r for r in results if r["batch_size"] == batch_size]
        ax.scatter(
            [r["rate"] for r in chosen],
            [r["accuracy"] for r in chosen],
            s=[60 * r["epochs"] for r in chosen],
            marker=plots.MARKERS[number % len(plots.MARKERS)],
            color=f"C{number}",
            edgecolor="black",
            alpha=0.8,
            label=f"batches of {batch_size}",
        )
    for r in results:
        ax.annotate(
            f"{r['epochs']} ep.", (r["rate"], r["accuracy"]), xytext=(8, 4), textcoords="offset points", fontsize=8
        )
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(LogFormatterSciNotation(labelOnlyBase=False, minor_thresholds=(np.inf, np.inf)))
    ax.xaxis.set_minor_formatter(NullFormatter())  # over one decade or two they would run into each other
    ax.axhline(0.5, color="0.5", linewidth=1, linestyle=":")
    ax.set(xlabel="learning rate (log scale)", ylabel="validation accuracy", title="Random search: one mark per trial")
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        legend = ax.legend(handles, labels, loc="best")
        for handle in legend.legend_handles:
            handle.set_sizes([60])  # type: ignore[union-attr]
    figure.tight_layout()
    return figure


TRUTH = 0.85  # the accuracy that each setting has


def best_of(trials: int, sentences: int, truth: float = TRUTH, repeats: int = 4000) -> np.ndarray:
    """The best validation accuracy of `trials` settings that are all equally good, drawn `repeats` times."""
    generator = np.random.default_rng(0)
    return generator.binomial(sentences, truth, (repeats, trials)).max(1) / sentences


def best_of_figure(trials: int, sentences: int, truth: float = TRUTH) -> Figure:
    """Histograms: one setting's validation accuracy, and that of the best of many."""
    plots.use_course_style()
    figure, ax = plt.subplots(figsize=(8, 3.6))
    single, best = best_of(1, sentences, truth), best_of(trials, sentences, truth)
    low, high = (round(sentences * share) for share in (min(single.min(), truth - 0.02), max(best.max(), truth + 0.02)))
    edges = (
        (np.arange(low, high + 2, max(1, (high - low) // 30)) - 0.5) / sentences
    ).tolist()  # whole sentences in every bar
    ax.hist(single, edges, density=True, alpha=0.6, color="C0", label="one setting")
    ax.hist(best, edges, density=True, alpha=0.6, color="C1", hatch="//", label=f"the best of {trials}")
    ax.axvline(truth, color="black", linewidth=1.5)
    title = f"{sentences} validation sentences: the best of {trials} equal settings shows {best.mean() - truth:+.1%}"
    ax.set(xlabel="validation accuracy (line: the true accuracy of all settings)", ylabel="density", title=title)
    ax.legend()
    figure.tight_layout()
    return figure


def best_of_many() -> None:
    """Sliders for the number of trials and of validation sentences above the figure of `best_of_figure`."""
    import ipywidgets
    from IPython.display import display

    options = controls.options(continuous_update=False)
    goal = controls.Goal("100 trials whose best shows less than 2.5 percentage points too much")
    trials = ipywidgets.IntSlider(value=20, min=1, max=100, description="trials", **options)
    sentences = ipywidgets.IntSlider(value=200, min=50, max=2000, step=50, description="sentences", **options)
    display(ipywidgets.VBox([trials, sentences, goal.line]))
    figure = best_of_figure(trials.value, sentences.value)
    shown = display(figure, display_id=True)
    plt.close(figure)  # or the notebook would show it a second time

    def redraw(change: Any) -> None:
        new = best_of_figure(trials.value, sentences.value)
        goal.tell(trials.value == 100 and best_of(100, sentences.value, TRUTH).mean() - TRUTH < 0.025)
        if shown is not None:
            shown.update(new)
        plt.close(new)

    for slider in (trials, sentences):
        slider.observe(redraw, names="value")
