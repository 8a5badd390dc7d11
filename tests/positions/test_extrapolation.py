"""The length experiment asks what it says it asks, and a scheme enters where it says it does."""

from __future__ import annotations

import pytest
import torch

from helpers.positions import extrapolation
from helpers.positions.extrapolation import NO_ANSWER, VALUES, RecallModel, Scheme


def attend(q, k, v, bias=None, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if bias is not None:
        scores = scores + bias
    return scores.masked_fill(~mask, -torch.inf).softmax(-1) @ v


def test_the_target_is_the_value_the_same_key_had_last():
    tokens, targets = extrapolation.recall_batch(5, 40, torch.Generator().manual_seed(3))
    for row, wanted in zip(tokens.tolist(), targets.tolist(), strict=True):
        latest: dict[int, int] = {}
        for token, target in zip(row, wanted, strict=True):
            key, value = divmod(token, VALUES)
            assert target == latest.get(key, NO_ANSWER)
            latest[key] = value


def test_a_model_does_not_see_the_future():
    model = RecallModel(Scheme(), attend).eval()
    tokens, _ = extrapolation.recall_batch(2, 12, torch.Generator().manual_seed(0))
    changed = tokens.clone()
    changed[:, 7:] = 0
    torch.testing.assert_close(model(changed)[:, :7], model(tokens)[:, :7])


@pytest.mark.parametrize(
    "scheme",
    [
        Scheme(embed=lambda x, table: x + table[: x.shape[1]], table=(12, 64)),
        Scheme(turn=lambda x: x * torch.arange(x.shape[-2])[:, None]),
        Scheme(bias=lambda q, k, table: table[:, : q.shape[-2], : k.shape[-2]], table=(4, 12, 12)),
    ],
    ids=["embed", "turn", "bias"],
)
def test_each_door_reaches_the_output(scheme):
    torch.manual_seed(0)
    model = RecallModel(scheme, attend)
    if model.table is not None:
        torch.nn.init.normal_(model.table)
    torch.manual_seed(0)
    plain = RecallModel(Scheme(), attend)
    plain.load_state_dict(model.state_dict(), strict=False)
    tokens, targets = extrapolation.recall_batch(3, 12, torch.Generator().manual_seed(1))
    assert not torch.allclose(model(tokens), plain(tokens), atol=1e-4)
    if model.table is not None:
        torch.nn.functional.cross_entropy(
            model(tokens).flatten(0, 1), targets.flatten(), ignore_index=NO_ANSWER
        ).backward()
        assert model.table.grad is not None
        assert model.table.grad.abs().sum() > 0


def test_the_same_seed_gives_the_same_model_and_leaves_the_random_state_alone():
    before = torch.get_rng_state()
    first, second, other = (extrapolation.train(Scheme(), attend, seed, 8, 2, batch=4) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first.head.weight, second.head.weight)
    assert not torch.equal(first.head.weight, other.head.weight)


def test_a_scheme_is_tested_up_to_its_longest_length_and_one_that_is_not_written_is_left_out(capsys):
    def unwritten(x, table):
        raise NotImplementedError

    schemes = {"short": Scheme(longest=8), "open": Scheme(), "unwritten": Scheme(embed=unwritten)}
    found = extrapolation.experiment(schemes, attend, length=8, tests=[4, 8, 16], seeds=[0, 1], steps=1, sequences=3)
    assert found["short"][0] == [4, 8]
    assert found["open"][1].shape == (2, 3)
    assert "unwritten" not in found
    assert "not written yet" in capsys.readouterr().out


def test_accuracy_counts_only_questions_that_have_an_answer():
    class Oracle(RecallModel):
        def forward(self, tokens):
            _, targets = truth[tuple(tokens.shape)]
            return torch.nn.functional.one_hot(targets.clamp(min=0), VALUES).float()

    truth = {(6, 9): extrapolation.recall_batch(6, 9, torch.Generator().manual_seed(9))}
    assert extrapolation.accuracy(Oracle(Scheme(), attend), 9, 6) == 1.0
