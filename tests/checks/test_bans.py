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
from torch._inductor.fx_passes import fuse_attention
from torch.nn import functional as F
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from helpers.checks import bans
from helpers.checks.failed import StudentError

MARK = "a mark"
X = torch.tensor([[-1.0, 2.0, 3.0]])
DIRECTLY = torch._C.DispatchKey
GROUPS, ATTENTION = torch.ops.aten.native_group_norm.default, torch.ops.aten._scaled_dot_product_attention_math.default
PATTERN = attrgetter("_sfdp_pattern_1")(fuse_attention)


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
        ("activations", lambda: F.threshold(X, 0.0, 0.0)),
        ("activations", lambda: F.hardtanh(X, 0.0, 1e9)),
        ("layer norm", lambda: F.rms_norm(X - X.mean(), (3,))),
        ("rms norm", lambda: F.layer_norm(torch.cat([X, -X], 1), (6,))),
        ("cross entropy", lambda: F.ctc_loss(X.log_softmax(1), torch.tensor([1]), (1,), (1,))),
        ("cross entropy", lambda: F.binary_cross_entropy(X.softmax(1), torch.eye(3)[:1])),
        ("layer norm", lambda: GROUPS._op_dk(DIRECTLY.CompositeExplicitAutograd, X, None, None, 1, 3, 1, 1, 1e-5)),
        ("attention", lambda: ATTENTION._op_dk(DIRECTLY.FuncTorchBatchedDecomposition, X, X, X)),
        ("attention", lambda: torch.ao.nn.quantizable.MultiheadAttention(3, 1)(X[None], X[None], X[None])),
        ("attention", lambda: PATTERN(X, X, X, 1.0)),
        ("rms norm", lambda: LlamaRMSNorm(3)(X)),
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


def test_a_recording_is_not_run_by_another_door() -> None:
    graph = torch.jit.trace(lambda x: x * torch.sigmoid(x), X).graph
    run = torch._C._jit_interpret_graph
    assert run(graph, (X,)) is not None
    with held("activations"):
        assert run(graph, (X,)) is None


def test_a_graph_from_before_is_not_walked() -> None:
    """Its leaf can get other numbers without the graph's knowledge."""
    leaf = torch.zeros(3, requires_grad=True)
    node = (leaf**3).grad_fn
    assert node is not None
    leaf.data[:] = X[0]
    ways = [lambda: node(torch.ones(3)), lambda: type(node).__call__(node, torch.ones(3)), node.__call__]
    for way in ways[:2]:
        assert torch.equal(way(), 3 * X[0] ** 2)
    with held("autograd"):
        assert [way() for way in ways[:2]] == [None, None]
        assert ways[2](torch.ones(3)) is None  # saved before
    assert torch.equal(ways[2](torch.ones(3)), 3 * X[0] ** 2)


def test_the_dispatcher_cannot_be_told_to_record() -> None:
    sets = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    saved = torch._C._ForceDispatchKeyGuard(*sets)
    doors = [
        lambda: torch._C._ForceDispatchKeyGuard(*sets),
        lambda: torch._C._IncludeDispatchKeyGuard(DIRECTLY.AutogradCPU),
        lambda: torch._C._SetExcludeDispatchKeyGuard(DIRECTLY.AutogradFunctionality, False),
        lambda: saved,
    ]
    for door in doors:
        with held("autograd"):
            try:
                with door(), torch.enable_grad():
                    made = X.clone().requires_grad_() ** 3
            except TypeError:  # it is not to be had
                continue
            assert not made.requires_grad
    with saved:
        assert (X.clone().requires_grad_() ** 3).requires_grad


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
