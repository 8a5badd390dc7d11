"""Every widget with a kernel has a goal, and says when it is reached."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import ipywidgets
import matplotlib.pyplot as plt
import pytest
import torch

from helpers.fine_tuning import figures as tuning
from helpers.gpt import figures as gpt
from helpers.linear_attention import low_rank
from helpers.rnn_backprop import figures as rnn
from helpers.speeches import figures as speeches
from helpers.transformer_blocks import depth
from helpers.translation import alignment


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What was displayed."""
    things: list[Any] = []

    def display(thing: Any, display_id: bool = False) -> Any:
        things.append(thing)
        return SimpleNamespace(update=lambda new: None)

    monkeypatch.setattr("IPython.display.display", display)
    yield things
    plt.close("all")


def said(box: Any) -> str:
    goals = [part.value for part in box.children if isinstance(part, ipywidgets.HTML)]
    (goal,) = goals
    return "reached" if "✓ Reached: " in goal else "open" if "Goal: " in goal else goal


def jacobian(W: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    J = torch.eye(len(W), dtype=W.dtype)
    for row in h[1:]:
        J = torch.diag(1 - row**2) @ W @ J
    return J


def test_gradients_part_at_a_spectral_radius_above_one_with_large_inputs(shown: list[Any]) -> None:
    rnn.gradient_slider(jacobian)
    box = shown[0]
    assert said(box) == "open"
    box.children[0].value, box.children[1].value = 1.3, 2.0
    assert said(box) == "reached"


def sampled(logits: torch.Tensor, temperature: float, top_k: int, top_p: float) -> torch.Tensor:
    chances, order = (logits / max(temperature, 1e-3)).softmax(-1).sort(-1, descending=True)
    kept = chances.cumsum(-1) - chances < top_p
    kept[..., top_k:] = False
    return torch.zeros_like(logits).scatter(-1, order, chances * kept)


def test_sampling_leaves_few_characters_by_their_mass(shown: list[Any]) -> None:
    gpt.sampling_sliders(sampled, torch.linspace(0, 3, 30), "".join(map(chr, range(97, 127))))
    box = shown[0]
    box.children[1].value = 2
    assert said(box) == "open", "top-k alone does not count"
    box.children[1].value, box.children[2].value = 30, 0.2
    assert said(box) == "reached"


class Words:
    """A tokenizer with one token for each word."""

    def __call__(
        self,
        texts: list[str],
        padding: Any = False,
        truncation: bool = False,
        max_length: int = 99,
        return_tensors: Any = None,
    ) -> dict[str, Any]:
        rows = [[1] * min(len(text.split()), max_length if truncation else 99) for text in texts]
        if padding:
            rows = [row + [0] * (max(map(len, rows)) - len(row)) for row in rows]
        if return_tensors and len({len(row) for row in rows}) > 1:
            raise ValueError("Unable to create tensor.")
        mask = torch.tensor(rows) if return_tensors else rows
        return {"input_ids": mask, "attention_mask": mask}

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [str(one) for one in ids]


def test_a_tensor_with_every_token_needs_padding_and_no_truncation(shown: list[Any]) -> None:
    tuning.tokenizer_arguments(Words(), ["one", "a sentence of more than eight words with no end"])
    box = shown[0]
    assert said(box) == "open"
    padding, truncation, _, tensors, _ = box.children
    truncation.value = False
    assert said(box) == "reached"
    padding.value = False
    assert said(box) == "open"
    tensors.value = None
    assert said(box) == "open"


def test_the_best_of_many_flatters_less_on_more_sentences(shown: list[Any]) -> None:
    tuning.best_of_many()
    box = shown[0]
    box.children[1].value = 2000
    assert said(box) == "open"
    box.children[0].value = 100
    assert said(box) == "reached"


def test_the_smallest_rank_is_found_and_a_larger_one_is_not_it() -> None:
    P = torch.diag(torch.tensor([10.0, 5.0, 0.5, 0.4]))
    box, _ = low_rank.explore_rank({"one": (P, torch.eye(4))}).children
    assert said(box) == "open"
    box.children[1].value = 2
    assert said(box) == "reached"
    U, S, Vt = torch.linalg.svd(P)
    for k, near in ((1, False), (2, True)):
        assert (low_rank.relative_error((U[:, :k] * S[:k]) @ Vt[:k], P) < 0.1) == near


def test_every_depth_and_every_head_is_looked_at(shown: list[Any]) -> None:
    box = depth.explore_depth({"pre": {1: [1.0], 2: [1.0, 2.0]}})
    assert said(box) == "open"
    box.children[0].value = 1
    assert said(box) == "reached"
    maps = {"0": torch.full((1, 2, 3, 3), 1 / 3)}
    speeches.map_browser(lambda name, text: (maps, ["a", "b", "c"]), ["encoder"], 2)
    box = shown[0]
    assert said(box) == "open"
    box.children[3].value = 1
    assert said(box) == "reached"
    box.children[1].value = 1
    assert said(box) == "open"


def test_the_sharpest_head_is_found(shown: list[Any]) -> None:
    weights = torch.full((2, 2, 3, 3), 1 / 3)
    weights[0, 1, 2] = torch.tensor([0.0, 0.0, 1.0])
    alignment.alignment_explorer(lambda i: (weights, list("abc"), list("xyz")), ["a b c"])
    box = shown[0]
    assert said(box) == "open"
    box.children[1].value, box.children[2].value = 0, 1
    assert said(box) == "reached"


def test_labels_have_room() -> None:
    from helpers.kit import controls

    options = controls.options(description="return_tensors")
    slider = ipywidgets.IntSlider(**options)
    assert slider.style.description_width == "8em"
    assert slider.layout.max_width == "100%"
