"""Figures of fine-tuning: the table shows the batch or the error, and the best of many is better than the truth."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from helpers.fine_tuning import figures as tuning_figures


class Words:
    """A tokenizer with the library's interface: one token per word."""

    def __call__(
        self, sentences: list[str], padding: object = False, return_tensors: object = None, **rest: object
    ) -> dict[str, list[list[int]]]:
        rows = [list(range(len(s.split()))) for s in sentences]
        longest = max(map(len, rows))
        if return_tensors and not padding:
            raise ValueError("Unable to create tensor. You should probably pad.")
        gap = [longest - len(r) if padding else 0 for r in rows]
        return {
            "input_ids": [r + [99] * g for r, g in zip(rows, gap, strict=True)],
            "attention_mask": [[1] * len(r) + [0] * g for r, g in zip(rows, gap, strict=True)],
        }

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [f"<{i}>" for i in ids]


def test_table_shows_every_token_escaped_and_filler_apart() -> None:
    page = tuning_figures.batch_table(Words(), ["a b c", "d"], padding=True)
    assert page.count("<td") == 6
    assert page.count("&lt;99&gt;") == 2
    assert page.count("opacity:0.6") == 2
    assert "lengths [3, 3]" in page


def test_table_shows_why_there_is_no_tensor() -> None:
    page = tuning_figures.batch_table(Words(), ["a b c", "d"], return_tensors="pt")
    assert "Unable to create tensor" in page
    assert "<td" not in page


def test_the_best_of_many_flatters_and_more_sentences_help() -> None:
    one, many = tuning_figures.best_of(1, 200).mean(), tuning_figures.best_of(40, 200).mean()
    assert one == pytest.approx(0.85, abs=0.002)
    assert many > 0.88
    assert tuning_figures.best_of(40, 2000).mean() < 0.87
    assert tuning_figures.best_of(40, 872).mean() - 0.85 == pytest.approx(
        0.025, abs=0.004
    )  # the model answer of the written question


def test_figures_are_drawn_with_labels() -> None:
    trials = [{"rate": 1e-4, "batch_size": b, "epochs": e, "accuracy": 0.7} for b, e in ((8, 1), (16, 2), (8, 2))]
    for figure in (
        tuning_figures.where_curves_part([0.7, 0.3], [0.6, 0.9], [0.7, 0.69], 0),
        tuning_figures.search_results(trials),
        tuning_figures.best_of_figure(10, 100),
    ):
        assert all(ax.get_xlabel() and ax.get_ylabel() and ax.get_title() for ax in figure.axes)
        plt.close(figure)


def test_epochs_are_whole_numbers_on_the_axis() -> None:
    figure = tuning_figures.where_curves_part([0.7, 0.5, 0.3], [0.6, 0.7, 0.9], [0.7, 0.69, 0.7], 0)
    for ax in figure.axes:
        assert all(float(tick).is_integer() for tick in ax.get_xticks())
    plt.close(figure)
