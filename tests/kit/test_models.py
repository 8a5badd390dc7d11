"""The model kit: parameter counts, masks, positions, cache, recording, training."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from helpers.kit import models
from helpers.kit.models import Attention, Cache, Classifier, LanguageModel, Shape, Translator
from helpers.kit.seeding import seed

SPEECHES = Shape(vocabulary=5755, width=64, heads=2, layers=4, context=32)
KINDS = [
    {"positions": "learned"},
    {"positions": "sinusoidal", "pre_norm": False, "final_norm": False},
    {"positions": "rope", "norm": "rms", "activation": "swiglu", "bias": False, "tied": True},
    {"positions": "alibi", "activation": "gelu", "projections": "shared-qk"},
    {"positions": "none", "projections": "shared-qkv"},
]


@pytest.fixture(autouse=True)
def same_numbers_every_time() -> None:
    seed(0)


def small(**changes: object) -> Shape:
    return dataclasses.replace(Shape(vocabulary=11, width=12, heads=3, layers=2, context=10), **changes)  # type: ignore[arg-type]


def lively(model: nn.Module) -> nn.Module:
    """Weights large enough that no path through the model is negligible."""
    models.initialise(model, std=0.4)
    return model.eval()


def plain_attend(q, k, v, mask, bias):  # type: ignore[no-untyped-def]
    scores = q @ k.mT / q.shape[-1] ** 0.5
    scores = scores if bias is None else scores + bias
    return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1) @ v


class Weighted(nn.Module):
    """A plug-in with a weight of its own, one instance per layer."""

    def __init__(self, heads: int, d: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((heads, 1, 1), d**-0.5))

    def forward(self, q, k, v, mask, bias):  # type: ignore[no-untyped-def]
        return plain_attend(q * self.scale * q.shape[-1] ** 0.5, k, v, mask, bias)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (lambda: Classifier(dataclasses.replace(SPEECHES, hidden=256, final_norm=False), 3, 200), 583_907),
        (
            lambda: Classifier(dataclasses.replace(SPEECHES, hidden=256, final_norm=False, positions="alibi"), 3, 200),
            581_859,
        ),
        (lambda: LanguageModel(dataclasses.replace(SPEECHES, hidden=100)), 858_256),
    ],
)
def test_the_parameter_counts_of_the_published_models_come_out_exactly(model, expected) -> None:  # type: ignore[no-untyped-def]
    assert models.parameters(model()) == expected


def test_sharing_projections_saves_a_third_of_the_input_matrix_each() -> None:
    counts = [models.parameters(Attention(64, 2, projections=kind)) for kind in ("separate", "shared-qk", "shared-qkv")]
    assert counts == [4 * (64 * 64 + 64), 3 * (64 * 64 + 64), 2 * (64 * 64 + 64)]


def test_tied_weights_are_counted_once() -> None:
    assert models.parameters(LanguageModel(small())) - models.parameters(LanguageModel(small(tied=True))) == 11 * 12


@pytest.mark.parametrize(
    "bad", [{"norm": "batch"}, {"positions": "rotary"}, {"width": 13}, {"positions": "rope", "width": 9}]
)
def test_an_impossible_shape_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"choose one of|cannot be cut|even width"):
        small(**bad)


@pytest.mark.parametrize("kind", KINDS)
def test_a_language_model_does_not_see_the_future(kind: dict[str, object]) -> None:
    model = lively(LanguageModel(small(**kind)))
    tokens = torch.randint(11, (3, 7))
    changed = tokens.clone()
    changed[:, 4] = (changed[:, 4] + 1) % 11
    before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[:, :4], after[:, :4])
    assert ((before[:, 4:] - after[:, 4:]).abs().amax((0, 2)) > 1e-4).all()


@pytest.mark.parametrize("kind", KINDS)
def test_recorded_maps_are_distributions_without_future_and_padding(kind: dict[str, object]) -> None:
    tokens = torch.randint(11, (2, 6))
    real = torch.ones(2, 6, dtype=torch.bool)
    real[1, 4:] = False
    decoder, encoder = lively(LanguageModel(small(**kind))), lively(models.Encoder(small(**kind)))
    with models.recorded(decoder) as past, models.recorded(encoder) as both:
        decoder(tokens)
        encoder(tokens, real)
    assert list(past) == ["stack.blocks.0.attention", "stack.blocks.1.attention"]
    for weights in [*past.values(), *both.values()]:
        assert weights.shape == (2, 3, 6, 6)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 6))
    assert all(weights.triu(1).abs().max() == 0 for weights in past.values())
    assert all(weights[1, :, :, 4:].abs().max() == 0 and weights[0].min() > 0 for weights in both.values())
    with models.recorded(decoder) as none:
        pass
    decoder(tokens)
    assert not none


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing(kind: dict[str, object]) -> None:
    model = lively(Classifier(small(**kind), 3, 5))
    tokens = torch.randint(11, (4, 6))
    longer = torch.cat([tokens, torch.randint(11, (4, 3))], dim=1)
    real = (torch.arange(9) < 6).expand(4, 9)
    torch.testing.assert_close(model(longer, real), model(tokens))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attend", [None, plain_attend, Weighted])
def test_the_cache_changes_nothing(kind: dict[str, object], attend: object) -> None:
    model = lively(LanguageModel(small(**kind), attend))
    tokens = torch.randint(11, (2, 8))
    cache = Cache()
    pieces = [model(part, cache=cache) for part in tokens.split([3, 1, 2, 1, 1], dim=1)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), model(tokens))
    assert cache.length == 8


@pytest.mark.parametrize("kind", KINDS)
def test_a_translator_decodes_step_by_step_as_it_trains(kind: dict[str, object]) -> None:
    model = lively(Translator(small(**kind), small(**{**kind, "vocabulary": 13, "context": 9})))
    source, target = torch.randint(11, (3, 6)), torch.randint(13, (3, 5))
    real = torch.arange(6) < torch.tensor([[6], [4], [1]])
    whole = model(source, target, real)
    assert whole.shape == (3, 5, 13)
    garbled = torch.where(real, source, (source + 1) % 11)
    torch.testing.assert_close(model(garbled, target, real), whole)
    memory, cache = model.encode(source, real), Cache()
    first = model.decode(target[:, :2], memory, real, cache)
    torch.testing.assert_close(first, whole[:, :2])
    order = torch.tensor([2, 0, 0, 1])
    cache.select(order)
    rest = model.decode(target[order, 2:], memory[order], real[order], cache)
    torch.testing.assert_close(rest, whole[order, 2:])


@pytest.mark.parametrize("attend", [plain_attend, Weighted])
@pytest.mark.parametrize("kind", KINDS)
def test_a_plugged_in_attention_that_computes_the_same_gives_the_same(attend: object, kind: dict[str, object]) -> None:
    seed(1)
    default = lively(LanguageModel(small(**kind)))
    plugged = lively(LanguageModel(small(**kind), attend))
    plugged.load_state_dict(default.state_dict(), strict=False)
    tokens = torch.randint(11, (2, 7))
    torch.testing.assert_close(plugged(tokens), default(tokens))
    with models.recorded(default) as a, models.recorded(plugged) as b:
        default(tokens), plugged(tokens)
    torch.testing.assert_close(a, b)


def test_attention_equals_torchs_own() -> None:
    ours, theirs = Attention(12, 3).double(), nn.MultiheadAttention(12, 3, batch_first=True).double()
    theirs.load_state_dict(dict(zip(theirs.state_dict(), ours.state_dict().values(), strict=True)))
    x, memory = torch.randn(2, 5, 12).double(), torch.randn(2, 7, 12).double()
    torch.testing.assert_close(ours(x), theirs(x, x, x)[0])
    torch.testing.assert_close(ours(x, memory), theirs(x, memory, memory)[0])


@pytest.mark.parametrize("projections", ["shared-qk", "shared-qkv"])
def test_shared_projections_mean_equal_matrices(projections: str) -> None:
    shared, separate = Attention(12, 3, projections=projections), Attention(12, 3)
    x, memory = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    for name in ("weight", "bias"):
        thirds = getattr(shared.inputs, name).chunk(max(shared.parts) + 1)
        getattr(separate.inputs, name).data = torch.cat([thirds[part] for part in shared.parts])
    separate.output.load_state_dict(shared.output.state_dict())
    torch.testing.assert_close(shared(x), separate(x))
    torch.testing.assert_close(shared(x, memory), separate(x, memory))


def test_rotary_scores_depend_on_the_distance_only() -> None:
    q, k = torch.randn(8).double(), torch.randn(8).double()
    at = models.rotation(torch.arange(40), 8)
    turned = [models.rotate(v.expand(40, 8), (at[0].double(), at[1].double())) for v in (q, k)]
    scores = turned[0] @ turned[1].T
    for distance in (0, 3, 17):
        torch.testing.assert_close(
            scores.diagonal(-distance), scores[distance, 0].expand(40 - distance), rtol=1e-4, atol=1e-4
        )
    torch.testing.assert_close(turned[0].norm(dim=-1), q.norm().expand(40), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("heads", [1, 2, 3, 6, 8, 12])
def test_alibi_slopes_fall_with_the_head_and_the_bias_with_the_distance(heads: int) -> None:
    slopes = models.alibi_slopes(heads)
    assert len(set(slopes.tolist())) == heads
    assert slopes.max() < 1
    assert slopes.min() >= 2**-8
    bias = models.alibi_bias(slopes, 3, 7)
    assert bias.shape == (heads, 3, 7)
    torch.testing.assert_close(bias[0, 2], -slopes[0] * torch.arange(6, -1, -1))
    torch.testing.assert_close(bias, models.alibi_bias(slopes, 7, 7)[:, 4:])


def test_alibi_slopes_are_the_papers() -> None:
    torch.testing.assert_close(models.alibi_slopes(8), 0.5 ** torch.arange(1, 9))
    torch.testing.assert_close(models.alibi_slopes(3), torch.tensor([2**-4, 2**-8, 2**-2]))


def test_sinusoids_are_the_papers() -> None:
    table = models.sinusoids(torch.arange(6), 8)
    torch.testing.assert_close(table[5, 4], torch.tensor(5 / 10_000 ** (4 / 8)).sin())
    torch.testing.assert_close(table[5, 5], torch.tensor(5 / 10_000 ** (4 / 8)).cos())


def test_positions_without_a_table_go_beyond_the_context_and_learned_ones_say_so() -> None:
    tokens = torch.randint(11, (1, 15))
    for kind in KINDS[1:]:
        assert LanguageModel(small(**kind))(tokens).shape == (1, 15, 11)
    with pytest.raises(ValueError, match="15 tokens do not fit into a context of 10"):
        LanguageModel(small())(tokens)


def test_a_new_model_guesses() -> None:
    for kind in KINDS:
        shape = small(**{**kind, "vocabulary": 300, "width": 48})
        logits = LanguageModel(shape)(torch.randint(300, (4, 10)))
        loss = F.cross_entropy(logits.flatten(0, 1), torch.randint(300, (40,)))
        assert abs(loss.item() - 5.70) < 0.6, kind


def test_generation_with_its_cache_is_greedy_decoding() -> None:
    model = lively(LanguageModel(small()))
    model.train()
    start = torch.randint(11, (2, 3))
    out = models.generate(model, start, 8)
    assert out.shape == (2, 11)
    assert model.training
    model.eval()
    for length in range(3, 11):
        torch.testing.assert_close(model(out[:, :length])[:, -1].argmax(-1), out[:, length])
    last = models.generate(model, start, 2, choose=lambda logits: logits.argmin(-1))
    torch.testing.assert_close(last[:, 3], model(start)[:, -1].argmin(-1))


def test_training_lowers_the_loss_follows_the_rates_and_calls_back() -> None:
    model = LanguageModel(small(dropout=0.1))
    tokens = torch.arange(40).remainder(11).view(4, 10)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1.0)
    seen: list[tuple[int, float]] = []

    def loss(net: nn.Module, batch: torch.Tensor) -> torch.Tensor:
        assert net.training
        return F.cross_entropy(net(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())

    def after(step: int, net: nn.Module) -> None:
        seen.append((step, optimiser.param_groups[0]["lr"]))
        net.eval()

    rates = [1e-2] * 20 + [1e-3] * 10
    history = models.train(model, [tokens] * 30, loss, optimiser, rates, after=after)
    assert history.losses[-1] < history.losses[0] / 2
    assert len(history.losses) == 30
    assert history.seconds > 0
    assert seen[0] == (1, 1e-2)
    assert seen[-1] == (30, 1e-3)
    assert models.train(model, [], loss, optimiser).losses == []


def test_dropout_is_off_in_evaluation() -> None:
    model = LanguageModel(small(dropout=0.5))
    tokens = torch.randint(11, (1, 6))
    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    assert torch.equal(model(tokens), model(tokens))


@pytest.mark.slow
def test_memory_stays_flat_while_a_model_trains() -> None:
    """Losses that stay as tensors would lie between the large tensors that go: the heap grew by one batch of logits a
    step.
    """
    code = """
import torch
from torch.nn import functional as F
from helpers.kit import models
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4 // 1024
torch.set_num_threads(1)
model = models.LanguageModel(models.Shape(5000, width=16, heads=2, layers=1, hidden=32, context=32))
pair = torch.randint(5000, (2, 16, 32))
sizes = {}
models.train(
    model, [pair] * 60, lambda model, pair: F.cross_entropy(model(pair[0]).flatten(0, 1), pair[1].flatten()),
    torch.optim.AdamW(model.parameters()), after=lambda step, model: sizes.update({step: resident()}),
)
print(sizes[60] - sizes[20])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-1]) < 150  # megabytes; it was over 400
