"""13-training-craft against torch and against a real kill: the reference optimisers and checkpoints."""

from __future__ import annotations

import linecache
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autograder.authoring.source import read
from helpers.training_craft import checkpoints as craft

SOURCE = Path(__file__).parents[2] / "solutions" / "13-training-craft" / "13-training-craft.py"


@pytest.fixture(scope="module")
def reference() -> Any:
    """The names of all solution cells; their source can be read, as in a notebook."""
    names: dict[str, Any] = {"__name__": "reference"}
    for cell in read(SOURCE):
        if cell.kind == "code" and (cell.grade_id == "setup" or cell.is_solution):
            where = f"<cell {cell.grade_id}>"
            linecache.cache[where] = (len(cell.source), None, cell.source.splitlines(keepends=True), where)
            exec(compile(cell.source, where, "exec"), names)
    return SimpleNamespace(**names)


@pytest.mark.parametrize("shapes", [[(3, 4)], [(5,), ()], [(2, 3, 2), (1, 1), (7,)]])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": 0.1}),
        ("SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1}),
        ("Adam", {}),
        ("Adam", {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.2}),
        ("AdamW", {}),
        ("AdamW", {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.2}),
    ],
)
def test_optimisers_take_torchs_steps_for_a_hundred_steps(
    reference: Any, name: str, options: dict[str, Any], shapes: list[tuple[int, ...]]
) -> None:
    generator = torch.Generator().manual_seed(0)
    pairs = []
    for cls in (getattr(reference, name), getattr(torch.optim, name)):
        generator.manual_seed(0)
        parameters = [torch.nn.Parameter(torch.randn(s, generator=generator, dtype=torch.float64)) for s in shapes]
        stepper = cls(parameters, **options)
        for _ in range(100):
            for p in parameters:
                p.grad = torch.randn(p.shape, generator=generator, dtype=torch.float64)
            stepper.step()
        pairs.append(torch.cat([p.detach().flatten() for p in parameters]))
    torch.testing.assert_close(pairs[0], pairs[1], rtol=1e-10, atol=1e-12)


def test_a_restart_at_any_step_changes_no_bit(reference: Any) -> None:
    for before in range(13):
        straight = craft.SmallRun(4)
        losses = [straight.advance() for _ in range(before + 8)]
        result = reference.interrupted(before, 8, 4)
        assert result["losses"] == losses
        assert torch.equal(result["weights"], straight.weights())


def test_rolling_back_without_reshuffling_diverges_again(reference: Any) -> None:
    suspects = craft.SmallRun(0)
    batch = [suspects.next_batch() for _ in range(7)][-1].tolist()
    losses = []
    run = craft.SmallRun(0, poison=(batch[0], batch[2]))
    for _ in range(5):
        losses.append(run.advance())
    saved = craft.to_bytes(reference.snapshot(run))
    for _ in range(2):
        lives = [run.advance() for _ in range(2)]
        assert math.isfinite(lives[0])
        assert not math.isfinite(lives[1])
        reference.restore(run, craft.from_bytes(saved))
    run.reshuffle(1)
    assert all(math.isfinite(run.advance()) for _ in range(2))


def notebook(source: str) -> Any:
    """The names of one cell, defined as a notebook defines them after its set-up cell."""
    where = f"<cell {abs(hash(source))}>"
    linecache.cache[where] = (len(source), None, source.splitlines(keepends=True), where)
    names: dict[str, Any] = {"__name__": "__main__", "math": math, "torch": torch}
    exec(compile(source, where, "exec"), names)
    return SimpleNamespace(**names)


def test_a_script_takes_along_what_its_functions_use() -> None:
    cell = notebook("""
BETAS, FLOOR = (0.9, 0.999), -math.inf
losses = [object()]

def root(x):
    return math.sqrt(x)

def deeper(x):
    return root(x) if x > FLOOR else deeper(-x)

class Step:
    def __init__(self, scale=root(4.0)):
        self.scale = scale

    def take(self, x):
        losses = [deeper(x)]
        return self.scale * losses[0] * BETAS[0]
""")
    text = craft.sources_of(cell.Step)
    assert "object" not in text  # a local name is not the notebook's name
    names: dict[str, Any] = {}
    exec(craft.IMPORTS + text, names)
    assert names["Step"]().take(9.0) == 2.0 * 3.0 * 0.9
    assert text.count("def root(") == 1


def test_a_script_finds_what_the_set_up_cell_imports(reference: Any) -> None:
    text = craft.script(reference.save_atomically, reference.snapshot, reference.restore, reference.AdamW)
    names: dict[str, Any] = {}
    exec(text.split("craft.carry_on")[0], names)
    assert {
        "copy",
        "math",
        "random",
        "statistics",
        "np",
        "torch",
        "nn",
        "F",
        "Path",
        "AdamW",
        "snapshot",
    } <= names.keys()


def test_a_checkpoint_names_what_does_not_belong_into_it(reference: Any) -> None:
    run = craft.SmallRun(0)
    assert craft.foreign(reference.snapshot(run)) == ""
    with pytest.raises(TypeError, match=r"holds a Sequential \(under \['model'\]\)"):
        craft.to_bytes({"step": 3, "model": run.model})
    with pytest.raises(TypeError, match="holds a Generator"):
        craft.to_bytes([1, (run.generator, None)])


def test_only_the_named_error_is_explained() -> None:
    from helpers.checks import Failed

    gave_up = Failed("your code raised FloatingPointError: enough", "your code raised FloatingPointError")
    other = Failed("your code raised KeyError: 'model'", "your code raised KeyError")
    assert craft.explained(gave_up, "FloatingPointError", "why").__dict__["reason"] == "why"
    assert craft.explained(other, "FloatingPointError", "why") is other
    assert craft.explained({"losses": []}, "FloatingPointError", "why") == {"losses": []}


@pytest.mark.slow
def test_a_killed_run_carries_on_bit_for_bit(reference: Any, tmp_path: Path) -> None:
    text = craft.script(reference.save_atomically, reference.snapshot, reference.restore, reference.AdamW)
    calm = craft.watch(craft.start(text, tmp_path / "calm", 80, every=7))
    first = craft.watch(craft.start(text, tmp_path / "victim", 80, every=7), kill_at=30)
    assert first.killed
    assert not first.weights
    second = craft.watch(craft.start(text, tmp_path / "victim", 80, every=7), kill_at=60)
    assert second.killed
    assert second.resumed is not None
    assert second.resumed % 7 == 0
    assert second.resumed >= 28
    third = craft.watch(craft.start(text, tmp_path / "victim", 80, every=7))
    assert third.resumed is not None
    assert not third.killed
    assert len(calm.losses) == 80
    assert third.losses == calm.losses
    assert third.weights == calm.weights


@pytest.mark.slow
def test_a_script_that_fails_says_why(reference: Any, tmp_path: Path) -> None:
    text = craft.script(reference.save_atomically, reference.snapshot, reference.restore, reference.AdamW).replace(
        "run.order = state", "run.order = None or stat"
    )
    craft.watch(craft.start(text, tmp_path, 20, every=5), kill_at=10)
    with pytest.raises(RuntimeError, match="NameError"):
        craft.watch(craft.start(text, tmp_path, 20, every=5))
