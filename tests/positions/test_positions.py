"""The reference solutions of 08-positions equal what the `transformers` library computes, where it has the same scheme."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autograder.authoring.source import read

SOURCE = Path(__file__).parents[2] / "solutions" / "08-positions" / "08-positions.py"
transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install transformers")


@pytest.fixture(scope="module")
def reference() -> Any:
    names: dict[str, Any] = {}
    for cell in read(SOURCE):
        if cell.kind == "code" and (cell.grade_id == "setup" or cell.is_solution):
            exec(compile(cell.source, cell.grade_id, "exec"), names)
    return SimpleNamespace(**names)


def test_interleaved_sinusoids_equal_distilbert(reference):
    from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings

    theirs = create_sinusoidal_embeddings(50, 12, torch.empty(50, 12))
    torch.testing.assert_close(reference.sinusoidal(torch.arange(50), 12), theirs, atol=1e-5, rtol=0)


def test_sinusoids_in_halves_equal_marian(reference):
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    module = MarianSinusoidalPositionalEmbedding(50, 12)
    theirs = module.create_weight() if hasattr(module, "create_weight") else module(torch.Size([1, 50]))
    torch.testing.assert_close(reference.sinusoidal(torch.arange(50), 12, "halves"), theirs, atol=1e-5, rtol=0)


@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_rope_in_halves_equals_llama(reference, base):
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    positions = torch.tensor([[0, 1, 7, 90, 91]])
    angles = positions[..., None] * torch.cat([reference.frequencies(8, base)] * 2)
    q, k = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 8)
    theirs = apply_rotary_pos_emb(q, k, angles.cos(), angles.sin())
    for x, other in zip((q, k), theirs, strict=True):
        torch.testing.assert_close(reference.rope(x, positions, "halves", base), other, atol=1e-5, rtol=1e-5)


def test_llamas_own_frequencies_are_ours(reference):
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    config = LlamaConfig(hidden_size=24, num_attention_heads=3, num_key_value_heads=3, num_hidden_layers=1)
    x, positions = torch.randn(1, 6, 8), torch.arange(6)[None]
    cos, _ = LlamaRotaryEmbedding(config)(x, positions)
    torch.testing.assert_close(
        cos[0, :, :4], (torch.arange(6)[:, None] * reference.frequencies(8)).cos(), atol=1e-6, rtol=0
    )


def test_interleaved_rope_equals_gptj(reference):
    from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb, create_sinusoidal_positions

    x = torch.randn(2, 5, 3, 8)  # GPT-J has the heads after the positions
    sin, cos = create_sinusoidal_positions(5, 8)[None].chunk(2, dim=-1)
    ours = reference.rope(x.transpose(1, 2), torch.arange(5)).transpose(1, 2)
    torch.testing.assert_close(ours, apply_rotary_pos_emb(x, sin, cos), atol=1e-5, rtol=1e-5)


def test_one_pairing_becomes_the_other_by_reordering_columns(reference):
    x, positions, order = torch.randn(2, 7, 10), torch.arange(7) + 3, reference.pairing_order(10)
    ours = reference.rope(x, positions, "interleaved")[..., order]
    torch.testing.assert_close(ours, reference.rope(x[..., order], positions, "halves"))


@pytest.mark.parametrize("heads", [1, 2, 3, 6, 8, 12, 20])
def test_alibi_equals_bloom_after_the_softmax(reference, heads):
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    theirs = build_alibi_tensor(
        torch.ones(1, 9, dtype=torch.long), heads, torch.float32
    )  # (H, 1, 9): up to a constant for each query
    slopes, places = reference.alibi_slopes(heads), torch.arange(9)
    torch.testing.assert_close(slopes, theirs[:, 0, 1], atol=0, rtol=1e-6)
    future = ~torch.ones(9, 9, dtype=torch.bool).tril()
    ours = reference.alibi_bias(places, places, slopes).masked_fill(future, -math.inf).softmax(-1)
    torch.testing.assert_close(ours, theirs.expand(heads, 9, 9).masked_fill(future, -math.inf).softmax(-1))


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "max_distance"), [(32, 128), (16, 64), (12, 50), (64, 1000)])
def test_buckets_equal_t5(reference, bidirectional, buckets, max_distance):
    from transformers.models.t5.modeling_t5 import T5Attention

    distance = torch.arange(-3 * max_distance, 3 * max_distance)
    theirs = T5Attention._relative_position_bucket(distance, bidirectional, buckets, max_distance)
    assert torch.equal(reference.t5_bucket(distance, bidirectional, buckets, max_distance), theirs)


def test_t5_bias_equals_t5(reference):
    from transformers import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    config = T5Config(d_model=12, d_kv=4, num_heads=3, is_decoder=True)
    attention = T5Attention(config, has_relative_attention_bias=True)
    theirs = attention.compute_bias(7, 7)[0]
    ours = reference.t5_bias(
        torch.arange(7), torch.arange(7), attention.relative_attention_bias.weight, bidirectional=False
    )
    torch.testing.assert_close(ours, theirs)


def test_shaws_bias_equals_wav2vec2_bert(reference):
    from transformers import Wav2Vec2BertConfig
    from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

    config = Wav2Vec2BertConfig(
        hidden_size=12,
        num_attention_heads=3,
        position_embeddings_type="relative_key",
        left_max_position_embeddings=4,
        right_max_position_embeddings=4,
        attention_dropout=0.0,
    )
    theirs = Wav2Vec2BertSelfAttention(config).eval()
    x, places = torch.randn(2, 9, 12), torch.arange(9)
    q, k, v = (part(x).view(2, 9, 3, 4).transpose(1, 2) for part in (theirs.linear_q, theirs.linear_k, theirs.linear_v))
    bias = reference.shaw_bias(q, theirs.distance_embedding.weight, places, places)
    ours = theirs.linear_out(reference.attend(q, k, v, bias).transpose(1, 2).reshape(2, 9, 12))
    torch.testing.assert_close(ours, theirs(x)[0], atol=1e-5, rtol=1e-4)


def test_the_convention_of_cs336_is_one_call(reference):
    """theta, d_k, token positions (1, T) against (B, H, T, d), interleaved pairs."""
    theta, x, token_positions = 10_000.0, torch.randn(2, 3, 12, 16), torch.arange(12)[None]
    pairs = torch.view_as_complex(x.view(2, 3, 12, 8, 2))
    turn = torch.polar(torch.ones(12, 8), torch.arange(12)[:, None] / theta ** (torch.arange(0, 16, 2) / 16))
    expected = torch.view_as_real(pairs * turn).flatten(-2)
    torch.testing.assert_close(reference.rope(x, token_positions, "interleaved", theta), expected, atol=1e-5, rtol=1e-5)
