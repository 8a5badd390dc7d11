"""The wire: plain data survives the crossing, and nothing else does."""

from __future__ import annotations

import contextlib
import json
import math
import socket
import struct
from collections import Counter, OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.inside import wire


def refuse(value: Any) -> Any:
    raise TypeError(type(value).__name__)


def no_reference(tag: str, body: Any) -> Any:
    raise wire.Violation(tag)


def crossed(value: Any) -> Any:
    """A value after both ways through a real socket."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        parts = wire.pack({"op": "done"}, value, refuse)
        blob = b"".join(bytes(part) for part in parts)
        assert len(blob) < 100_000, "small enough for one socket buffer"
        wire.send(ours, parts, wire.Deadline(10))
        _, found = wire.unpack(*wire.receive(theirs, wire.Deadline(10)), no_reference)
    return found


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False)
)
keys = st.none() | st.booleans() | st.integers() | st.text() | st.binary()
plain = st.recursive(
    scalars | st.frozensets(keys, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
        | st.sets(keys, max_size=4)
    ),
    max_leaves=12,
)


def kinds(value: Any) -> Any:
    """The exact types of nested plain data."""
    if isinstance(value, list | tuple):
        return type(value), [kinds(item) for item in value]
    if isinstance(value, dict):
        return dict, [kinds(item) for item in value.values()]
    return type(value)


@given(plain)
def test_plain_data_crosses_unchanged(value: Any) -> None:
    found = crossed(value)
    assert found == value
    assert kinds(found) == kinds(value)


@pytest.mark.parametrize("kind", sorted(wire.TORCH_TYPES))
def test_tensors_of_every_dtype(kind: str) -> None:
    made = torch.arange(12).reshape(3, 4).to(wire.TORCH_TYPES[kind]).t()  # not contiguous
    found = crossed(made)
    assert type(found) is torch.Tensor
    assert found.dtype == made.dtype
    assert found.shape == (4, 3)
    assert torch.equal(found.to(torch.complex128), made.to(torch.complex128))
    assert crossed(torch.empty(0, 3, dtype=made.dtype)).shape == (0, 3)
    assert crossed(torch.tensor(1).to(made.dtype)).shape == ()


def test_a_tensor_that_crossed_has_a_graph_of_its_own() -> None:
    found = crossed(torch.ones(4, requires_grad=True))
    assert found.requires_grad
    (gradient,) = torch.autograd.grad(found[:2].sum(), found)
    assert gradient.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize(
    "made",
    [
        np.arange(6).reshape(2, 3),
        np.array(["a", "bcd"]),
        np.float32(1.5),
        np.array(True),
        np.arange(3, dtype=">i4"),
        np.zeros((0, 2)),
    ],
)
def test_arrays(made: Any) -> None:
    found = crossed(made)
    assert np.array_equal(found, made)
    assert np.shape(found) == np.shape(made)


class AlwaysEqual(int):
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class Liar(torch.Tensor):
    @property
    def shape(self) -> Any:  # type: ignore[override]
        return torch.Size([99])


def test_subclasses_become_what_they_are_made_of() -> None:
    assert type(crossed(AlwaysEqual(3))) is int
    assert crossed(AlwaysEqual(3)) != 4
    found = crossed(torch.zeros(2, 2).as_subclass(Liar))
    assert type(found) is torch.Tensor
    assert tuple(found.shape) == (2, 2)
    assert crossed(Counter("aab")) == {"a": 2, "b": 1}
    assert type(crossed(OrderedDict(a=1))) is dict
    point = namedtuple("point", "x y")(1, 2)
    assert crossed(point).y == 2


def test_what_has_no_plain_form_is_refused_by_the_sender() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    deep: Any = 0
    for _ in range(200):
        deep = [deep]
    for value in (cycle, deep):
        with pytest.raises(wire.NotPlain):
            wire.pack({}, value, refuse)
    with pytest.raises(TypeError):
        wire.pack({}, object(), refuse)


def test_special_floats_and_large_integers() -> None:
    assert math.isnan(crossed(float("nan")))
    assert crossed(-math.inf) == -math.inf
    assert crossed(10**5000) == 10**5000
    assert math.copysign(1, crossed(-0.0)) == -1


def decoded(value: Any, buffers: tuple[bytes, ...] = ()) -> Any:
    return wire.unpack(json.dumps({"value": value}).encode(), [bytearray(b) for b in buffers], no_reference)[1]


@pytest.mark.parametrize(
    ("value", "buffers"),
    [
        ({"T": [0, "float32", [3], False]}, (b"1234",)),
        ({"T": [0, "float32", [-1], False]}, (b"1234",)),
        ({"T": [0, "float32", [1 << 60, 1 << 60], False]}, (b"1234",)),
        ({"T": [0, "quint8", [4], False]}, (b"1234",)),
        ({"T": [1, "uint8", [4], False]}, (b"1234",)),
        ({"T": [0, "uint8", [4]]}, (b"1234",)),
        ({"A": [0, "|O", [1]]}, (b"12345678",)),
        ({"A": [0, "<U1", [1]]}, (b"\xff\xff\xff\xff",)),
        ({"A": [0, "<f4", [2]]}, (b"1234",)),
        ({"N": [0, "<f4", [1]]}, (b"1234",)),
        ({"d": [[[1], 2]]}, ()),
        ({"d": [1]}, ()),
        ({"s": [{"d": []}]}, ()),
        ({"D": "float7"}, ()),
        ({"h": [1, "function", "x"]}, ()),
        ({"unknown": 1}, ()),
        ({"t": 3}, ()),
        ({"a": 1, "b": 2}, ()),
        ({"I": 5}, ()),
        ({"c": ["x", 1]}, ()),
        ({"x": [1]}, ()),
        ({"b": "0"}, ()),
    ],
)
def test_malformed_values_are_violations(value: Any, buffers: tuple[bytes, ...]) -> None:
    with pytest.raises(wire.Violation):
        decoded(value, buffers)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda x: st.lists(x, max_size=4) | st.dictionaries(st.sampled_from("TANbtdsfmDVcIxrhk?"), x, max_size=2),
        max_leaves=20,
    )
)
def test_any_json_is_decoded_or_refused(value: Any) -> None:
    with contextlib.suppress(wire.Violation):
        decoded(value, (b"12345678",))


def test_a_message_too_large_is_refused_before_it_is_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(wire.HEAD.pack(wire.MAGIC, 10, 1) + struct.pack("<Q", 10 << 30))
        with pytest.raises(wire.Violation):
            wire.receive(theirs, wire.Deadline(10))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"garbage that is no message at all")
        with pytest.raises(wire.Violation):
            wire.receive(theirs, wire.Deadline(10))


def test_two_messages_at_once_are_a_violation() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        (part,) = wire.pack({"op": "done"}, 1, refuse)
        ours.sendall(part + part)
        with pytest.raises(wire.Violation):
            wire.receive(theirs, wire.Deadline(10))


def test_silence_is_late_and_an_end_is_closed() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        with pytest.raises(wire.DeadlinePassed):
            wire.receive(theirs, wire.Deadline(0.01))
        ours.sendall(wire.MAGIC)
        ours.close()
        with pytest.raises(wire.ConnectionEnded):
            wire.receive(theirs, wire.Deadline(10))
