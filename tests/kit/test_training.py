"""What surrounds a training loop: schedules, batches that cover a text, a progress bar that stays off standard error."""

import itertools
import math

import pytest
import torch

from helpers.kit import training
from helpers.kit.training import TableModel


@pytest.mark.parametrize(("length", "B", "T"), [(30, 3, 4), (2, 1, 1), (5, 2, 4), (6, 2, 4), (101, 7, 3)])
def test_every_token_but_the_first_is_a_target_exactly_once(length: int, B: int, T: int) -> None:
    stream = torch.arange(100, 100 + length)
    targets, rows = [], 0
    for x, y in training.cover(stream, B, T):
        assert x.shape == y.shape == (len(x), T)
        assert len(x) <= B
        real = y >= 0
        assert bool((y[real] == x[real] + 1).all())
        targets += y[real].tolist()
        rows += len(x)
    assert targets == stream[1:].tolist()
    assert rows == math.ceil((length - 1) / T)


def test_schedule_rises_peaks_and_falls_to_its_floor() -> None:
    rates = training.warmup_cosine(100, peak=2.0)
    assert len(rates) == 100
    assert rates[0] == pytest.approx(0.2)
    assert max(rates) == pytest.approx(2.0)
    assert rates[9] == pytest.approx(2.0)
    assert all(a >= b for a, b in itertools.pairwise(rates[10:]))
    assert rates[-1] == pytest.approx(0.2, rel=0.05)
    assert len(training.warmup_cosine(1, peak=1.0)) == 1


def test_weight_decay_is_for_matrices_only() -> None:
    model = TableModel(torch.zeros(3, 3))
    groups = training.make_optimizer(model, weight_decay=0.3).param_groups
    assert [(g["weight_decay"], [p.dim() for p in g["params"]]) for g in groups] == [(0.3, [2]), (0.0, [1])]


def test_a_model_without_vectors_has_one_group() -> None:
    assert len(training.make_optimizer(torch.nn.Linear(2, 3, bias=False)).param_groups) == 1


def test_fused_and_plain_optimiser_take_the_same_steps() -> None:
    tables = []
    for fused in (True, False):
        model = TableModel(torch.linspace(-1, 1, 9).view(3, 3))
        optimizer = training.make_optimizer(model, fused=fused)
        for _ in range(5):
            optimizer.zero_grad()
            model(torch.tensor([[0, 1, 2]])).square().sum().backward()
            optimizer.step()
        tables.append(model.table.detach())
    assert torch.allclose(*tables, atol=1e-6)


@pytest.mark.parametrize("scale", ["smoke", "laptop"])
def test_progress_never_writes_to_standard_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scale: str
) -> None:
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setenv("COURSE_SCALE", scale)
    assert list(training.progress(iter(range(3)), "counting", total=3)) == [0, 1, 2]
    written = capfd.readouterr()
    assert written.err == ""
    assert ("counting" in written.out) == (scale == "laptop")


def test_table_model_shows_its_mode_and_what_it_was_given() -> None:
    model = TableModel(torch.eye(3), context=4)
    tokens = torch.tensor([[0, 2]])
    assert torch.equal(model(tokens), torch.eye(3)[tokens] / 2)
    with torch.no_grad():
        assert torch.equal(model.eval()(tokens), torch.eye(3)[tokens])
    assert model.facts() == {"training": False, "most_tokens": 2, "gradients_recorded": True}
    with pytest.raises(ValueError, match="context of 4"):
        model(torch.zeros(1, 5, dtype=torch.long))
