"""An interrupt keeps what was learned; running the cell again goes on from there; in grading a stop is a stop."""

from __future__ import annotations

import signal
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from helpers.kit import interrupts, models, training
from helpers.kit.interrupts import Loop
from helpers.positions import extrapolation
from helpers.positions.extrapolation import Scheme


@pytest.fixture(autouse=True)
def outside_grading(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setenv("COURSE_SCALE", "laptop")
    interrupts.forget()
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before, "the handler of before is there again"


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call it to begin a new cell of a notebook."""
    number = [0]
    monkeypatch.setattr(interrupts, "_number_of_cell", lambda: number[0])

    def begin() -> None:
        number[0] += 1

    begin()
    return begin


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def learn(
    stop_at: int | None = None, steps: int = 12, start: int = 0, label: str = "training"
) -> tuple[nn.Module, list[float]]:
    """A small run with dropout, Adam and a schedule; an interrupt comes in the middle of a step."""
    torch.manual_seed(start)
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
    losses: list[float] = []
    for step in training.progress(range(steps), label, keep=[model, optimizer, schedule, losses]):
        loss = model(torch.randn(4, 3)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        if step + 1 == stop_at:
            press()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return model, losses


def test_a_stopped_run_goes_on_to_exactly_what_it_would_have_become(
    cell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, all_losses = learn()
    cell()
    _, first = learn(stop_at=5)
    assert first == all_losses[:5]
    assert "stopped at step 5 of 12; run the cell again to go on" in capsys.readouterr().out
    cell()
    _, twice = learn(stop_at=9)
    assert twice == all_losses[:9]
    assert "going on after step 5 of 12" in capsys.readouterr().out
    cell()
    final, losses = learn()
    assert losses == all_losses
    for a, b in zip(whole.parameters(), final.parameters(), strict=True):
        assert torch.equal(a, b)
    cell()
    assert learn()[1] == all_losses, "a run that was finished starts afresh"
    assert "going on" not in capsys.readouterr().out.splitlines()[-1]


def test_in_grading_a_stop_is_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupts.forget()  # what tests of other files have kept in this process
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(KeyboardInterrupt):
        learn(stop_at=5)
    assert not interrupts._kept


def test_a_second_interrupt_does_not_wait(cell: Any) -> None:
    def impatient() -> None:
        for _ in Loop(range(3), "training"):
            press()
            press()

    with pytest.raises(KeyboardInterrupt):
        impatient()


def test_another_start_does_not_go_on_from_an_old_one(cell: Any) -> None:
    learn(stop_at=5)
    cell()
    assert len(learn(start=1, stop_at=2)[1]) == 2
    cell()
    assert len(learn(steps=7)[1]) == 7
    interrupts.forget()
    cell()
    assert len(learn(stop_at=1)[1]) == 1


def test_other_loops_of_the_cell_take_one_step_and_finished_ones_are_not_repeated(cell: Any) -> None:
    calm = {label: learn(label=label)[1] for label in "abc"}
    cell()
    assert {label: len(learn(stop_at=5 if label == "b" else None, label=label)[1]) for label in "abc"} == {
        "a": 12,
        "b": 5,
        "c": 1,
    }
    cell()
    repeated: list[int] = []
    for step in Loop(range(3), "watch", bar=False):
        repeated.append(step)
    assert {label: learn(label=label)[1] for label in "abc"} == calm
    assert repeated == [0, 1, 2], "a stop ends with its cell"


def test_an_item_whose_inner_loop_was_cut_is_done_again(cell: Any) -> None:
    def study(stop: bool) -> dict[str, int]:
        results: dict[str, int] = {}
        for label in Loop("abc", "runs", keep=[results], bar=False):
            results[label] = len(learn(stop_at=4 if stop and label == "b" else None, label=label)[1])
        return results

    assert study(stop=True) == {"a": 12, "b": 4}
    cell()
    assert study(stop=False) == {"a": 12, "b": 12, "c": 12}


def test_a_block_around_a_loop_that_must_see_all_items_ends_quietly_and_goes_on(cell: Any) -> None:
    def student_train(model: nn.Module, batches: Any, rates: list[float], watch: Any) -> None:
        optimizer = training.make_optimizer(model)
        for (x, y), rate in zip(batches, rates, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = rate
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            watch(loss.item())

    def run(stop_at: int | None = None) -> tuple[torch.Tensor, list[float]]:
        torch.manual_seed(0)
        model = training.TableModel(torch.randn(5, 5))
        losses: list[float] = []

        def watch(loss: float) -> None:
            losses.append(loss)
            if len(losses) == stop_at:
                press()

        with training.Loop(range(10), "training", keep=[model, losses]) as steps:
            batches = ((torch.randint(5, (2, 4)), torch.randint(5, (2, 4))) for _ in steps)
            student_train(model, batches, training.warmup_cosine(10, 0.3)[steps.done :], watch)
        return model.table.detach(), losses

    table, losses = run()
    cell()
    assert run(stop_at=6)[1] == losses[:6]
    cell()
    again, more = run()
    assert more == losses
    assert torch.equal(again, table)


def test_the_kit_s_training_loop_goes_on_with_what_was_recorded_on_the_way(cell: Any) -> None:
    def run(stop_at: int | None = None) -> tuple[models.History, list[int]]:
        torch.manual_seed(0)
        model = nn.Linear(2, 1)
        seen: list[int] = []

        def after(step: int, model: nn.Module) -> None:
            if step % 2 == 0:
                seen.append(step)
            if step == stop_at:
                press()

        def loss(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
            return model(batch).square().mean()

        batches = [torch.randn(3, 2) for _ in range(8)]
        rates = [0.1 / (step + 1) for step in range(8)]
        return models.train(
            model, batches, loss, torch.optim.AdamW(model.parameters()), rates, after=after, keep=[seen]
        ), seen

    whole, looks = run()
    cell()
    part, early = run(stop_at=5)
    assert (part.losses, early) == (whole.losses[:5], [2, 4])
    cell()
    again, late = run()
    assert (again.losses, late) == (whole.losses, looks)


def test_the_length_experiment_gives_what_there_is_and_goes_on(cell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    calls = [0]

    def attend(q: Any, k: Any, v: Any, bias: Any = None, mask: Any = None) -> Any:
        calls[0] += 1
        if calls[0] == stop_at:
            press()
        return ((q @ k.mT + (0 if bias is None else bias)).masked_fill(~mask, -torch.inf)).softmax(-1) @ v

    def study() -> dict[str, Any]:
        calls[0] = 0
        schemes = {"one": Scheme(longest=4), "two": Scheme(), "three": Scheme()}
        return extrapolation.experiment(schemes, attend, length=4, tests=[4, 8], seeds=[0, 1], steps=5, sequences=4)

    stop_at = -1
    whole = study()
    assert "loss=" in capsys.readouterr().out
    cell()
    stop_at = (
        2 * (5 + 1) + 5 + 2 + 3
    )  # both runs of the first scheme, one of the second with its two tests, and three steps of the next
    partial = study()
    assert list(partial) == ["one", "two"]
    assert "two, seed 1: stopped at step 3 of 5; run the cell again to go on" in capsys.readouterr().out
    cell()
    stop_at = -1
    again = study()
    for name, (lengths, scores) in whole.items():
        assert again[name][0] == lengths
        assert torch.equal(again[name][1], scores)
    assert calls[0] == 2 + 2 + 2 * (5 + 2), "nothing finished was done again"
