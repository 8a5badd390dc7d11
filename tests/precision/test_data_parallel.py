"""Gradients averaged over workers: threads in step, and two processes started by torchrun, equal to one process."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.authoring.source import read
from helpers.precision import workers

SOURCE = Path(__file__).parents[2] / "solutions" / "16-precision" / "16-precision.py"


@pytest.fixture(scope="module")
def average() -> Any:
    """The reference's averaging function, with a source that can be read."""
    cell = next(cell for cell in read(SOURCE) if cell.grade_id == "average")
    where = "<cell average>"
    linecache.cache[where] = (len(cell.source), None, cell.source.splitlines(keepends=True), where)
    names: dict[str, Any] = {"torch": torch, "workers": workers}
    exec(compile(cell.source, where, "exec"), names)
    return names["average_gradients"]


@pytest.fixture(scope="module")
def alone(average: Any) -> torch.Tensor:
    return workers.train(average, 0, 1, lambda tensor: tensor.clone())


@pytest.mark.parametrize("count", [2, 3, 7])
def test_threads_in_step_equal_one_process(average: Any, alone: torch.Tensor, count: int) -> None:
    weights, calls = workers.in_step(lambda rank, all_sum: workers.train(average, rank, count, all_sum), count)
    assert calls > 0
    for each in weights:
        assert torch.equal(each, weights[0])
        torch.testing.assert_close(each, alone, rtol=1e-9, atol=1e-12)


def test_a_plain_mean_is_not_equal_when_shares_differ(alone: torch.Tensor) -> None:
    def plain_mean(gradients: list[torch.Tensor], count: int, all_sum: workers.AllSum) -> list[torch.Tensor]:
        return [all_sum(g) / 2 for g in gradients]

    weights, _ = workers.in_step(lambda rank, all_sum: workers.train(plain_mean, rank, 2, all_sum), 2)
    assert (weights[0] - alone).abs().max() > 1e-3


def test_workers_out_of_step_are_told_so_instead_of_waiting_for_ever() -> None:
    with pytest.raises(RuntimeError, match="out of step"):
        workers.in_step(lambda rank, all_sum: all_sum(torch.ones(1)) if rank else None, 3)
    with pytest.raises(RuntimeError, match="out of step"):
        workers.in_step(lambda rank, all_sum: all_sum(torch.ones(1 + rank)), 2)


def test_an_exception_in_one_worker_ends_all() -> None:
    def work(rank: int, all_sum: workers.AllSum) -> None:
        if rank == 1:
            raise KeyError("mine")
        all_sum(torch.ones(1))

    with pytest.raises(KeyError, match="mine"):
        workers.in_step(work, 2)


@pytest.mark.slow
def test_two_processes_under_torchrun_equal_one(average: Any, alone: torch.Tensor, tmp_path: Path) -> None:
    pair = workers.torchrun(workers.script(average), tmp_path, count=2)
    assert torch.equal(*pair)
    torch.testing.assert_close(pair[0], alone, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_a_worker_that_fails_is_reported(average: Any, tmp_path: Path) -> None:
    broken = workers.script(average).replace("workers.worker(", "workers.no_such_worker(")
    with pytest.raises(RuntimeError, match="no_such_worker"):
        workers.torchrun(broken, tmp_path, count=2)
