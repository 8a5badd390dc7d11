"""Training runs that can be interrupted: a small run with everything in it that can be forgotten, an optimiser's
trajectory with a change of process in the middle, and a script that is killed and started again.
"""

from __future__ import annotations

import ast
import dis
import inspect
import io
import os
import random
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import torch
import torch._dynamo  # an optimiser's first step imports it, which takes seconds: better here than in a test cell
from torch import Tensor, nn

from helpers.checks import Failed
from helpers.checks.failed import fail
from helpers.checks.student_side import CHANGED_GRADIENT
from helpers.kit.seeding import seed as seed_all
from helpers.training_craft.crash_disk import Folder

CHECKPOINT = "run.pt"


def to_bytes(state: Any) -> bytes:
    """A checkpoint as bytes. It holds tensors and plain data only."""
    found = foreign(state)
    if found:
        raise TypeError(
            f"a checkpoint holds tensors and plain data only, and this one holds {found}: take its state_dict(), a"
            " list, a tensor"
        )
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def from_bytes(data: bytes) -> Any:
    """The checkpoint back. Nothing but tensors and plain data is accepted: a pickle from a stranger could run code."""
    return torch.load(io.BytesIO(data), weights_only=True)


def foreign(state: Any, where: str = "") -> str:
    """What in a checkpoint is neither a tensor nor plain data, and where: "" if there is nothing."""
    if isinstance(state, Tensor) or type(state) in (
        type(None),
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        torch.dtype,
        torch.device,
    ):
        return ""
    if isinstance(state, dict):
        parts = [(f"{where}[{key!r}]", part) for key, value in state.items() for part in (key, value)]
    elif type(state) in (list, tuple, set, torch.Size):
        parts = [(f"{where}[{place}]", part) for place, part in enumerate(state)]
    else:
        return f"a {type(state).__name__}{f' (under {where})' if where else ''}"
    return next((found for place, part in parts if (found := foreign(part, place))), "")


def explained(result: Any, error: str, reason: str) -> Any:
    """A result of student code; where the code raised this error, a failure that says why that happens."""
    raised = isinstance(result, Failed) and f"raised {error}" in result.__dict__["reason"]
    return Failed(reason, reason) if raised else result


def then(result: Any, look: Callable[[Any], Any]) -> Any:
    """What a test looks at in a result of student code: `look(result)`.

    A failure stays what it is; a result of another form becomes one.
    """
    if isinstance(result, Failed):
        return result
    try:
        return look(result)
    except Exception:  # noqa: BLE001  a result of another form can fail in any way
        reason = "the result does not have the required form: read the docstring again"
        return Failed(reason, reason)


# ---- an optimiser's trajectory --------------------------------------------------------------------------------------


def follow(
    cls: Callable[..., torch.optim.Optimizer],
    start: Sequence[Tensor],
    gradients: Sequence[Sequence[Tensor | None]],
    rates: Sequence[float],
    restart: int | None = None,
    unchanged: bool = False,
    **options: Any,
) -> list[list[Tensor]]:
    """Parameters after every step, with a learning rate for each step and two groups: matrices as `options` say, others
    without weight decay.

    After `restart` steps another optimiser takes over. It knows only what the first one's `state_dict()` says. With
    `unchanged`, a step that changes a gradient is a failure.

    """

    def make(values: Iterable[Tensor]) -> tuple[list[nn.Parameter], torch.optim.Optimizer]:
        made = [nn.Parameter(value.detach().clone()) for value in values]
        groups: list[dict[str, Any]] = [
            {"params": [p for p in made if p.dim() >= 2]},
            {"params": [p for p in made if p.dim() < 2], "weight_decay": 0.0},
        ]
        return made, cls([group for group in groups if group["params"]], lr=rates[0], **options)

    parameters, stepper = make(start)
    path = []
    for number, (grads, rate) in enumerate(zip(gradients, rates, strict=True)):
        if number == restart:
            saved = from_bytes(to_bytes(stepper.state_dict()))
            parameters, stepper = make(parameters)
            stepper.load_state_dict(saved)
        for group in stepper.param_groups:
            group["lr"] = rate
        for parameter, grad in zip(parameters, grads, strict=True):
            parameter.grad = None if grad is None else grad.clone()
        stepper.step()
        if unchanged and any(
            g is not None and (p.grad is None or not torch.equal(p.grad, g))
            for p, g in zip(parameters, grads, strict=True)
        ):
            fail(CHANGED_GRADIENT)
        path.append([p.detach().clone() for p in parameters])
    return path


# ---- a run with everything that can be forgotten --------------------------------------------------------------------


class SmallRun:
    """A training run on 22 made-up examples in batches of 4. Everything it is made of:

    `model` (a network with dropout), `optimiser` (AdamW), `schedule` (a cosine, a torch scheduler): each with
    `state_dict()` and `load_state_dict()`; `generator`, a torch.Generator that draws the order of the examples;
    `order`, this epoch's order (a tensor), and `place`, how far it is used up; `step`, the number of steps done.
    Dropout draws from torch's global generator, and some noise on the inputs from Python's `random`.

    With `poison=(i, j)` any batch that holds both examples makes the loss infinite: a stand-in for the rare conjunction
    of data and weights that makes large runs diverge.
    """

    B, EXAMPLES = 4, 22

    def __init__(
        self, seed: int = 0, poison: tuple[int, int] | None = None, optimiser: Callable[..., Any] = torch.optim.AdamW
    ) -> None:
        fixed = torch.Generator().manual_seed(1234)
        self.x = torch.randn(self.EXAMPLES, 5, generator=fixed)
        self.y = (self.x @ torch.randn(5, 1, generator=fixed)).tanh()
        seed_all(seed)
        self.model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 1))
        self.optimiser = optimiser(self.model.parameters(), lr=0.02, weight_decay=0.1)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimiser, T_max=200)
        self.generator = torch.Generator().manual_seed(seed)
        self.order = torch.randperm(self.EXAMPLES, generator=self.generator)
        self.place = 0
        self.step = 0
        self.poison = poison

    def next_batch(self) -> Tensor:
        """Numbers of the next examples. What is left at the end of an epoch and fills no batch is dropped."""
        if self.place + self.B > len(self.order):
            self.order = torch.randperm(self.EXAMPLES, generator=self.generator)
            self.place = 0
        batch = self.order[self.place : self.place + self.B]
        self.place += self.B
        return batch

    def advance(self) -> float:
        """One training step; gives its loss."""
        batch = self.next_batch()
        noise = 0.05 * random.gauss(0.0, 1.0)
        loss = (self.model(self.x[batch] + noise) - self.y[batch]).square().mean()
        if self.poison is not None and set(self.poison) <= set(batch.tolist()):
            loss = loss * torch.inf
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self.schedule.step()
        self.step += 1
        return loss.item()

    def reshuffle(self, seed: int) -> None:
        """Draw a new order, from this seed, for the examples that this epoch has not used yet, and let later epochs
        follow from it.
        """
        self.generator.manual_seed(seed)
        rest = self.order[self.place :].sort().values
        shuffled = rest[torch.randperm(len(rest), generator=self.generator)]
        self.order = torch.cat([self.order[: self.place], shuffled])

    def weights(self) -> Tensor:
        """All weights in one row, as they are now."""
        return torch.cat([p.detach().flatten() for p in self.model.parameters()])


# ---- a script that is killed and started again ----------------------------------------------------------------------

# What a notebook's set-up cell imports: the parts were written there, and may use it.
IMPORTS = """
import copy
import math
import random
import statistics
import sys
import time
from math import inf, nan
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)

from helpers.kit import models, training
from helpers.precision import workers
from helpers.training_craft import checkpoints as craft, crash_disk
from helpers.kit.seeding import seed
from helpers.kit.scale import pick, scale
"""
SCRIPT = (
    IMPORTS
    + """
{sources}

craft.carry_on(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), AdamW, snapshot, restore, save_atomically)
"""
)


def source_of(part: Any) -> str:
    """The text of a function or a class, also of a class that was defined in a notebook, where `inspect` finds
    functions only.
    """
    if not inspect.isclass(part):
        return textwrap.dedent(inspect.getsource(part))
    method = next(value for value in vars(part).values() if inspect.isfunction(value))
    text = "".join(inspect.findsource(method)[0])
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef) and node.name == part.__name__:
            return ast.get_source_segment(text, node) or ""
    raise OSError(f"the source of {part.__name__} cannot be read")


def globals_of(code: CodeType) -> set[str]:
    """The names that compiled code looks up outside of itself, its functions and classes included."""
    here = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return here.union(*(globals_of(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def sources_of(*parts: Any) -> str:
    """The text of functions and classes, with the functions, classes and plain values of the same notebook that they
    use, those first.
    """
    texts: dict[str, str] = {}

    def add(name: str, part: Any) -> None:
        texts[name] = ""  # on its way: a function may use itself
        if not (inspect.isclass(part) or inspect.isfunction(part)):
            texts[name] = f"{name} = {part!r}"
        else:
            text = source_of(part)
            method = (
                part
                if inspect.isfunction(part)
                else next(value for value in vars(part).values() if inspect.isfunction(value))
            )
            around = method.__globals__
            for used in sorted(globals_of(compile(text, name, "exec")) & around.keys() - texts.keys()):
                value = around[used]
                own = (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__ == part.__module__
                if own or type(value) in (bool, int, float, str, tuple):
                    add(used, value)
            texts[name] = text
        texts[name] = texts.pop(name)  # after what it uses

    for part in parts:
        if part.__name__ not in texts:
            add(part.__name__, part)
    return "\n\n\n".join(texts.values())


def script(*parts: Any) -> str:
    """The text of a script that trains with these functions and classes of yours."""
    return SCRIPT.replace("{sources}", sources_of(*parts))


def carry_on(
    folder: str,
    steps: int,
    every: int,
    optimiser: Callable[..., Any],
    snapshot: Callable[[SmallRun], Any],
    restore: Callable[[SmallRun, Any], None],
    save: Callable[[Any, str, bytes], None],
) -> None:
    """What the script does: take up the last checkpoint if there is one, train, save every few steps, print the losses
    and the weights.
    """
    disk = Folder(folder)
    run = SmallRun(0, optimiser=optimiser)
    losses: list[str] = []
    if CHECKPOINT in disk.names():
        run = SmallRun(
            int.from_bytes(os.urandom(3), "big"), optimiser=optimiser
        )  # a new process: nothing may depend on how it starts
        saved = from_bytes(disk.read(CHECKPOINT))
        restore(run, saved["run"])
        losses = saved["losses"]
        print(f"resumed {run.step}", flush=True)
    while run.step < steps:
        if run.step % every == 0:
            save(disk, CHECKPOINT, to_bytes({"run": snapshot(run), "losses": losses}))
        losses.append(run.advance().hex())
        print(f"step {run.step}", flush=True)
    print("losses", *losses)
    print("weights", run.weights().numpy().tobytes().hex(), flush=True)


@dataclass(frozen=True)
class Story:
    """What a run of the script printed: the step it resumed from (None: from the start), the last step it reached, and
    its bits, if it finished.
    """

    resumed: int | None
    last_step: int
    losses: tuple[str, ...]
    weights: str
    killed: bool


def start(text: str, folder: str | Path, steps: int, every: int) -> subprocess.Popen[str]:
    """Start the script in a process of its own."""
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    (home / "train.py").write_text(text, encoding="utf-8")
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))}
    command = [sys.executable, str(home / "train.py"), str(home / "checkpoints"), str(steps), str(every)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def watch(process: subprocess.Popen[str], kill_at: int | None = None) -> Story:
    """Read what the script prints. At `kill_at` steps, kill it: SIGKILL, which no program can catch."""
    resumed: int | None = None
    losses: tuple[str, ...] = ()
    last, weights = 0, ""
    assert process.stdout is not None
    assert process.stderr is not None
    for line in process.stdout:
        word, *rest = line.split()
        if word == "resumed":
            resumed = int(rest[0])
        elif word == "losses":
            losses = tuple(rest)
        elif word == "weights":
            weights = rest[0]
        elif word == "step":
            last = int(rest[0])
            if kill_at is not None and last >= kill_at:
                process.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
                kill_at = None
    complaint = process.stderr.read()
    code = process.wait()
    process.stdout.close()
    process.stderr.close()
    if code > 0:
        raise RuntimeError(f"the script failed: {complaint.strip().splitlines()[-1] if complaint.strip() else code}")
    return Story(resumed, last, losses, weights, killed=code < 0)
