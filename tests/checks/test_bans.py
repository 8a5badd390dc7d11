"""What is refused while a ban is held, from the first request of the examiner to the second."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from helpers.checks import bans
from helpers.checks.failed import StudentError

MARK = "a mark"
X = torch.tensor([[-1.0, 2.0, 3.0]])


@contextmanager
def held(*names: str) -> Iterator[None]:
    plan = bans.planned(names)
    bans.hold(names, MARK, plan)
    try:
        yield
    finally:
        bans.lift(names, MARK, plan)


@pytest.mark.parametrize(
    ("ban", "work"),
    [
        ("activations", lambda: F.leaky_relu(X, 0.0)),
        ("activations", lambda: F.prelu(X, torch.zeros(1))),
        ("activations", lambda: torch.ops.aten.gelu_backward(torch.ones_like(X), X)),
        ("activations", lambda: torch._addmm_activation(X[0], torch.zeros(1, 1), torch.zeros(1, 3))),
        (
            "cross entropy",
            lambda: torch.ops.aten.nll_loss_backward(X[0, :1], X, X[0].argmax()[None], None, 1, -100, X[0, 1]),
        ),
        ("autograd", lambda: torch.ops.aten._softmax_backward_data(X, X, 1, torch.float32)),
        ("autograd", lambda: torch.ops.aten.tanh_backward(X, X)),
        ("layer norm", lambda: attrgetter("layer_norm")(F)(X, (3,))),
    ],
)
def test_neighbours_and_derivatives_of_an_operator_are_refused_with_it(ban: str, work: Callable[[], Any]) -> None:
    work()
    with held(ban), pytest.raises(RuntimeError, match="does not allow"):
        work()
    work()


def test_recordings_are_refused() -> None:
    traced = torch.jit.trace(lambda x: x * torch.sigmoid(x), X)
    graph = torch.fx.symbolic_trace(lambda x: x * torch.sigmoid(x))
    with held("activations"):
        assert traced(X) is None
        with pytest.raises(RuntimeError, match="does not allow"):
            graph(X)
        with pytest.raises(RuntimeError, match="does not allow"):
            torch.fx.Interpreter(graph).run(X)
    assert torch.equal(traced(X), graph(X))


def test_torch_s_library_is_not_reached_through_ctypes() -> None:
    length = ctypes.CDLL(None).strlen
    another = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_char_p)(("strlen", ctypes.CDLL(None)))
    with held("activations"):
        assert length(b"four") is another(b"four") is None
    assert length(b"four") == another(b"four") == len(os.fsencode("four"))


def test_a_ban_that_was_ended_too_early_is_noticed() -> None:
    plan = bans.planned(("activations",))
    bans.hold(["activations"], MARK, plan)
    bans.held.close()
    F.relu(X)
    with pytest.raises(StudentError, match="torch was changed"):
        bans.lift(["activations"], MARK, plan)
