"""The trained heads of 04-linear-attention do their jobs with the rank the text promises, and the rank slider draws."""

from __future__ import annotations

import pytest
import torch

from helpers.linear_attention import low_rank


@pytest.fixture(autouse=True)
def repeatable() -> None:
    torch.manual_seed(0)


def effective_rank(weights: torch.Tensor) -> int:
    squares = torch.linalg.svdvals(weights).square()
    return int((squares.cumsum(0) / squares.sum() < 0.99).sum()) + 1


def test_targets_follow_from_the_input() -> None:
    data = low_rank.batch(2, 16)
    group = data.x[1, :, : low_rank.GROUPS].argmax(dim=1)
    content = data.x[1, :, -low_rank.CONTENT :]
    assert torch.allclose(data.group_mean[1, 5], content[group == group[5]].mean(0), atol=1e-6)
    assert torch.allclose(data.block_mean[1, 5], content[4:6].mean(0), atol=1e-6)
    assert torch.equal(data.neighbour[1, 5], content[4])
    assert torch.equal(data.neighbour[1, 0], content[15])


@pytest.mark.parametrize(
    ("task", "rank", "error"), [("group_mean", 6, 1e-3), ("block_mean", 8, 5e-3), ("neighbour", 64, 1e-3)]
)
def test_a_trained_head_has_the_rank_of_its_job(task: str, rank: int, error: float) -> None:
    head, history = low_rank.train(task, steps=300)
    Q, K, _ = low_rank.triples(head, B=1)
    assert history[-1] < error
    assert effective_rank(low_rank.softmax_weights(Q, K)[0]) == rank


def test_projections_are_fitted_to_a_head_whose_weights_never_change() -> None:
    Q, K = torch.zeros(40, 16, 3), torch.zeros(40, 16, 3)
    V = torch.randn(40, 16, 2)

    def attend(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor, C: torch.Tensor, D: torch.Tensor) -> torch.Tensor:
        return low_rank.softmax_weights(Q, C @ K) @ (D @ V)

    C, D = low_rank.fit_projections(attend, (Q, K, V), k=1, steps=300)
    assert C.shape == D.shape == (1, 16)
    assert low_rank.relative_error(attend(Q, K, V, C, D), low_rank.softmax_attention(Q, K, V)) < 0.02


def test_relative_error_and_time() -> None:
    assert low_rank.relative_error(torch.tensor([3.0, 4.0]), torch.tensor([0.0, 4.0])) == pytest.approx(0.75)
    assert low_rank.best_time(torch.add, torch.ones(2), torch.ones(2), repeats=2) > 0


def test_the_rank_slider_redraws_and_stays_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    P, V = torch.rand(6, 6).softmax(1), torch.rand(6, 2)
    widget = low_rank.explore_rank({"one": (P, V), "other": (torch.eye(6), V)})
    controls, picture = widget.children
    which, rank, _ = controls.children
    before = bytes(picture.value)
    assert before.startswith(b"\x89PNG")
    rank.value = 6
    after = bytes(picture.value)
    which.value = "other"
    assert len({before, after, bytes(picture.value)}) == 3
    assert capfd.readouterr().err == ""
