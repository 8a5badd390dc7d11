"""How the kit's models start: sizes that follow the width, and learning that keeps up with torch's own Transformer."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.kit import models
from helpers.kit.models import LanguageModel, Shape, Translator
from helpers.translation import batches as batching
from helpers.translation import pairs
from helpers.translation.pairs import BEGIN, END, PAD

DESIGNS = [
    {"positions": "learned", "activation": "gelu"},
    {"positions": "sinusoidal"},
    {"positions": "rope", "norm": "rms", "activation": "swiglu", "bias": False},
    {"positions": "none"},
]


@pytest.mark.parametrize("width", [24, 96, 384])
def test_deviations_follow_the_width(width: int) -> None:
    torch.manual_seed(0)
    model = LanguageModel(Shape(500, width=width, heads=2, layers=1, positions="sinusoidal"))
    block = model.stack.blocks[0]
    for layer in (
        block.attention.inputs,
        block.attention.output,
        block.feed_forward.up,
        block.feed_forward.down,
        model.head,
    ):
        rows, columns = layer.weight.shape
        assert layer.weight.std().item() == pytest.approx((2 / (rows + columns)) ** 0.5, rel=0.1)


@pytest.mark.parametrize("width", [24, 384])
@pytest.mark.parametrize("design", DESIGNS)
def test_at_the_start_all_branches_together_add_about_what_the_stream_holds(
    design: dict[str, object], width: int
) -> None:
    torch.manual_seed(0)
    stack = LanguageModel(Shape(200, width=width, heads=4, layers=3, **design)).stack  # type: ignore[arg-type]
    ends: list[Tensor] = []
    stack.norm.register_forward_pre_hook(lambda _, args: ends.append(args[0]))  # type: ignore[union-attr]
    tokens = torch.randint(200, (8, 20))
    stack(tokens)
    start = stack.embed(tokens, torch.arange(20))
    ratio = ((ends[0] - start).std() / start.std()).item()
    assert 0.1 < ratio < 4


class TorchTranslator(nn.Module):
    """torch's own Transformer with the kit's design: norms in front, sinusoids, a head that is the target embedding."""

    def __init__(self, source: int, target: int, D: int, H: int, L: int) -> None:
        super().__init__()
        self.D = D
        self.source, self.target = nn.Embedding(source, D), nn.Embedding(target, D)
        layer = nn.TransformerEncoderLayer(D, H, 4 * D, dropout=0.0, batch_first=True, norm_first=True)
        encoder = nn.TransformerEncoder(layer, L, nn.LayerNorm(D), enable_nested_tensor=False)
        self.body = nn.Transformer(
            D, H, L, L, 4 * D, dropout=0.0, batch_first=True, norm_first=True, custom_encoder=encoder
        )
        for table in (self.source, self.target):
            nn.init.normal_(table.weight, std=D**-0.5)

    def embed(self, table: nn.Embedding, tokens: Tensor) -> Tensor:
        return table(tokens) * self.D**0.5 + models.sinusoids(torch.arange(tokens.shape[1]), self.D)

    def forward(self, source: Tensor, inputs: Tensor, real: Tensor) -> Tensor:
        x, y = self.embed(self.source, source), self.embed(self.target, inputs)
        future = ~models.causal_mask(inputs.shape[1])
        out = self.body(x, y, tgt_mask=future, src_key_padding_mask=~real, memory_key_padding_mask=~real)
        return out @ self.target.weight.T


def kit_translator(source: int, target: int, D: int, H: int, L: int) -> Translator:
    sizes = {"width": D, "heads": H, "layers": L, "positions": "sinusoidal"}
    return Translator(Shape(source, **sizes), Shape(target, tied=True, **sizes))  # type: ignore[arg-type]


def small_weights(source: int, target: int, D: int, H: int, L: int) -> Translator:
    """The kit's model with GPT-2's deviation, which is made for a width of 768."""
    model = kit_translator(source, target, D, H, L)
    models.initialise(model, std=0.02)
    nn.init.normal_(model.decoder.embedding.weight, std=D**-0.5)
    return model


def translation_loss(model: nn.Module, batch: tuple[Tensor, list[list[int]]]) -> Tensor:
    source, targets = batch
    inputs = batching.padded([[BEGIN, *row] for row in targets])
    labels = batching.padded([[*row, END] for row in targets])
    return F.cross_entropy(model(source, inputs, source != PAD).flatten(0, 1), labels.flatten(), ignore_index=PAD)


@pytest.mark.slow
def test_the_translator_learns_as_fast_as_torchs_own() -> None:
    """Held-out loss after equal steps, on the same batches.

    Seeds move the ratio by about 3 %, small weights by 20 %.
    """
    corpus = pairs.grammar_corpus(2000, 100)
    words = [pairs.Vocabulary(pair[side] for pair in corpus.train) for side in (0, 1)]
    train, dev = (batching.encoded(part, *words) for part in (corpus.train, corpus.dev))
    held_out = next(iter(batching.Batches(dev, len(dev), 1)))
    steps, peak = 120, 4e-3

    def loss_after_training(make: Callable[..., nn.Module], seed: int) -> float:
        torch.manual_seed(seed)
        model = make(*map(len, words), 32, 2, 2)
        adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
        rates = [peak * min(1.0, (step + 1) / 15) for step in range(steps)]
        models.train(model, batching.Batches(train, 32, steps, seed), translation_loss, adam, rates)
        with torch.no_grad():
            return translation_loss(model.eval(), held_out).item()

    torchs = [loss_after_training(TorchTranslator, seed) for seed in (0, 1, 2)]
    kits = [loss_after_training(kit_translator, seed) for seed in (0, 1, 2)]
    assert statistics.fmean(kits) < 1.05 * statistics.fmean(torchs), (kits, torchs)
    small = loss_after_training(small_weights, 0)
    assert small > 1.1 * torchs[0], f"the comparison cannot tell small weights: {small} against {torchs[0]}"
