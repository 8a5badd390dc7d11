"""Functions with a known leak, and Student's t."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest
import torch

from helpers.attention_experiments.intervals import t_probability, t_quantile
from helpers.attention_experiments.leaks import MaskFigure, Mixer, PeekingModel


@pytest.mark.parametrize(
    ("level", "degrees", "expected"),
    [
        (0.95, 1, 12.7062),
        (0.95, 2, 4.30265),
        (0.95, 4, 2.77645),
        (0.99, 2, 9.92484),
        (0.9, 30, 1.69726),
        (0.95, 1000, 1.96234),
    ],
)
def test_quantiles_of_students_t_are_those_of_the_tables(level: float, degrees: int, expected: float) -> None:
    assert t_quantile(level, degrees) == pytest.approx(expected, rel=1e-5)
    assert t_probability(expected, degrees) == pytest.approx(level, abs=1e-6)


@pytest.mark.parametrize(("level", "degrees"), [(1.0, 3), (0.0, 3), (0.95, 0)])
def test_impossible_intervals_are_refused(level: float, degrees: int) -> None:
    with pytest.raises(ValueError, match=r"level|degrees"):
        t_quantile(level, degrees)


def test_a_mixer_depends_on_what_its_weights_say() -> None:
    torch.manual_seed(0)
    mixer = Mixer(torch.randn(4, 4).tril(), torch.randn(3, 2))
    x = torch.randn(4, 3)
    later = x.clone()
    later[3] += 1
    torch.testing.assert_close(mixer(x)[:3], mixer(later)[:3])
    assert not torch.equal(mixer(x)[3], mixer(later)[3])


def test_a_peeking_model_sees_as_far_as_it_is_told() -> None:
    torch.manual_seed(0)
    table = torch.randn(5, 5)
    tokens = torch.tensor([[0, 1, 2, 3]])
    changed = torch.tensor([[0, 1, 2, 4]])
    moved = (PeekingModel(table, [1.0, 0.0])(changed) - PeekingModel(table, [1.0, 0.0])(tokens)).abs().amax(-1)[0] > 0
    assert moved.tolist() == [False, False, True, True]
    torch.testing.assert_close(PeekingModel(table)(tokens)[:, :2], PeekingModel(table)(tokens[:, :2]))


def test_the_mask_figure_draws() -> None:
    figure = MaskFigure(
        lambda s, m: s.masked_fill(~m, -torch.inf).softmax(-1),
        lambda s, m: s.softmax(-1) * m,
        scores=[1.0, 0.0, 2.0],
        place=1,
    )
    figure.draw(3.0)
    plt.close("all")


def test_a_peeking_model_takes_a_batch_and_says_so() -> None:
    with pytest.raises(ValueError, match=r"one sentence is \(1, T\)"):
        PeekingModel(torch.eye(5))(torch.tensor([1, 2, 3]))
