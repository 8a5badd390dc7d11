"""The helpers of 07: torch's block with the course's parameter names, initialisation, and the removal of norms."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from helpers.transformer_blocks import depth


@pytest.fixture
def weights():
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=generator) / 2 for name, shape in depth.block_shapes(6, 10).items()}


def by_formula(w, x, H, norm):
    """A block in plain functions, independent of nn.TransformerEncoderLayer."""

    def attend(z):
        q, k, v = (
            torch.stack(F.linear(z, w[f"attn.{n}.weight"], w[f"attn.{n}.bias"]).chunk(H, -1), 1)
            for n in ("q_proj", "k_proj", "v_proj")
        )
        mixed = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
        return F.linear(torch.cat(mixed.unbind(1), -1), w["attn.o_proj.weight"], w["attn.o_proj.bias"])

    def feed(z):
        return F.linear(
            F.gelu(F.linear(z, w["ffn.up.weight"], w["ffn.up.bias"])), w["ffn.down.weight"], w["ffn.down.bias"]
        )

    for f, name in ((attend, "norm1"), (feed, "norm2")):
        scale = w[f"{name}.weight"], w[f"{name}.bias"]
        x = x + f(F.layer_norm(x, (6,), *scale)) if norm == "pre" else F.layer_norm(x + f(x), (6,), *scale)
    return x


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_torch_block_is_the_block_of_the_formulas(weights, norm):
    x = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(
        depth.torch_block(weights, 3, norm)(x), by_formula(weights, x, 3, norm), rtol=1e-4, atol=1e-5
    )


def test_block_shapes_count_like_the_closed_formula():
    total = sum(torch.Size(shape).numel() for shape in depth.block_shapes(8, 32).values())
    assert total == 12 * 8 * 8 + 13 * 8


def test_xavier_sets_weights_and_biases():
    torch.manual_seed(0)
    layer = depth.xavier(nn.Sequential(nn.Linear(300, 100), nn.Linear(100, 50, bias=False)))
    assert layer[0].bias.abs().max() == 0
    assert layer[0].weight.var().item() == pytest.approx(2 / 400, rel=0.05)


def test_without_norms_replaces_only_the_norms():
    module = nn.Module()
    module.norm1, module.up = nn.LayerNorm(4), nn.Linear(4, 4)
    module.inner = nn.Module()
    module.inner.final = nn.LayerNorm(4)
    depth.without_norms(module)
    assert isinstance(module.norm1, nn.Identity)
    assert isinstance(module.inner.final, nn.Identity)
    assert isinstance(module.up, nn.Linear)


def test_embed_gives_the_same_word_the_same_vector():
    first, second = depth.embed([["we", "the", "we"], ["the"]], 8)
    assert torch.equal(first[0], first[2])
    assert torch.equal(first[1], second[0])
    assert not torch.equal(first[0], first[1])


def test_sentences_have_the_asked_length():
    found = depth.sentences(20)
    assert len(found) == 20
    assert all(4 <= len(words) <= 60 for words in found)


def test_explore_depth_draws_a_picture():
    widget = depth.explore_depth(
        {
            "pre-LN": {2: [1.0, 0.5], 4: [1.0, 0.9, 0.8, float("inf")]},
            "post-LN": {2: [1.0, 1.0], 4: [0.0, 1.0, 1.0, 1.0]},
        }
    )
    slider, _, picture = widget.children
    before = bytes(picture.value)
    slider.value = 2
    assert before.startswith(b"\x89PNG")
    assert bytes(picture.value) != before
