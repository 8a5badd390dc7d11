"""How plain data crosses between the examiner and the student's process.

A message is a JSON text with tags for what JSON lacks, followed by raw buffers for tensors, arrays and bytes. Only exact plain types come
out of `decode`: a subclass, a lying shape, a cycle or a reply of ten gigabytes is turned into plain data by the sender or refused by the
receiver. Nothing is ever unpickled. This file is also read inside the sandbox, so it imports nothing of the course.
"""

from __future__ import annotations

import json
import math
import re
import socket
import struct
import time
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

MAX_TEXT = 32 << 20  # bytes of JSON in one message
MAX_BUFFERS = 1 << 28  # bytes of all buffers in one message
MAX_COUNT = 20_000  # buffers in one message
MAX_DEPTH = 60
MAX_NODES = 2_000_000

HEAD = struct.Struct("<4sII")
MAGIC = b"smw1"

TORCH_TYPES = {
    str(kind).removeprefix("torch."): kind
    for kind in (
        torch.float64,
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.complex64,
        torch.complex128,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.bool,
        torch.float8_e4m3fn,
        torch.float8_e5m2,
    )
}
ARRAY_TYPE = re.compile(r"^(\|b1|[<|][iu][1248]|<f[248]|<c(8|16)|<U\d{1,6}|\|S\d{1,6})$")
FIELD = re.compile(r"^[A-Za-z][A-Za-z0-9_]{0,40}$")
SCALARS = (bool, int, float, str, type(None))
CONTAINERS = (list, tuple, dict, set, frozenset)


class Violation(Exception):
    """What arrived breaks the rules of the wire. The connection is over."""


class NotPlain(Exception):
    """This value has no plain form (a cycle, too deep, too large)."""


# ---- turning values into a message -----------------------------------------------------------------------------------


class Encoder:
    """Plain data to tags and buffers; `refer(value)` gives the tag for anything else."""

    def __init__(self, refer: Callable[[Any], Any]) -> None:
        self.refer = refer
        self.buffers: list[Any] = []
        self.nodes = 0
        self.open: set[int] = set()

    def encode(self, value: Any, depth: int = 0) -> Any:
        kind = type(value)
        self.nodes += 1
        if kind in SCALARS:
            return value if kind is not int or value.bit_length() < 4000 else {"I": hex(value)}
        if kind in CONTAINERS and depth <= MAX_DEPTH and self.nodes <= MAX_NODES:
            return self.container(value, depth)
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise NotPlain("it is nested too deeply" if depth > MAX_DEPTH else "it has too many parts")
        if kind is torch.Tensor or isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, np.ndarray):
            return self.array(value)
        if isinstance(value, np.generic) and value.dtype.kind in "biufc":
            return {"N": self.array(np.asarray(value))["A"]}
        if isinstance(value, bytes | bytearray):
            return {"b": self.buffer(bytes(value))}
        if isinstance(value, torch.dtype):
            return {"D": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"V": str(value)}
        if isinstance(value, list | tuple | dict | set | frozenset):
            return self.container(value, depth)
        if isinstance(value, bool | int | float | str):  # a subclass with ideas of its own becomes what it is made of
            base: Any = next(kind for kind in (int, float, str) if isinstance(value, kind))
            return self.encode(base.__getnewargs__(value)[0], depth)
        if kind is complex:
            return {"c": [value.real, value.imag]}
        if value is Ellipsis:
            return {"x": "..."}
        if kind is slice:
            return {"x": [self.encode(part, depth + 1) for part in (value.start, value.stop, value.step)]}
        if kind is range:
            return {"r": [value.start, value.stop, value.step]}
        return self.refer(value)

    def buffer(self, data: Any) -> int:
        self.buffers.append(data)
        return len(self.buffers) - 1

    def container(self, value: Any, depth: int) -> Any:
        if id(value) in self.open:
            raise NotPlain("it contains itself")
        self.open.add(id(value))
        try:
            if isinstance(value, dict):
                return {"d": [[self.encode(k, depth + 1), self.encode(v, depth + 1)] for k, v in dict.items(value)]}
            if isinstance(value, list):
                return [self.encode(item, depth + 1) for item in list.__iter__(value)]
            if isinstance(value, set | frozenset):
                base: Any = set if isinstance(value, set) else frozenset
                return {"s" if base is set else "f": [self.encode(item, depth + 1) for item in base.__iter__(value)]}
            items = [self.encode(item, depth + 1) for item in tuple.__iter__(value)]
            fields = getattr(type(value), "_fields", None)
            if type(value) is not tuple and isinstance(fields, tuple) and len(fields) == len(items):
                return {"m": [type(value).__name__, list(fields), items]}
            return {"t": items}
        finally:
            self.open.discard(id(value))

    def tensor(self, value: torch.Tensor) -> Any:
        wants = bool(value.requires_grad)
        with torch.no_grad():
            value = value.detach()
            if type(value) is not torch.Tensor:
                value = value.as_subclass(torch.Tensor)
            if value.is_sparse or value.layout is not torch.strided:
                value = value.to_dense()
            name = str(value.dtype).removeprefix("torch.")
            if name not in TORCH_TYPES or value.is_meta:
                return self.refer(value)
            value = value.cpu().resolve_conj().resolve_neg().contiguous()
            shape = list(value.shape)
            raw = memoryview(value.reshape(-1).view(torch.uint8).numpy().data).cast("B") if value.numel() else b""
        return {"T": [self.buffer(raw), name, shape, wants]}

    def array(self, value: np.ndarray) -> Any:
        value = np.asarray(value)
        if value.dtype.byteorder == ">":
            value = value.astype(value.dtype.newbyteorder("<"))
        if not ARRAY_TYPE.match(value.dtype.str):
            return self.refer(value)
        return {"A": [self.buffer(np.ascontiguousarray(value).tobytes()), value.dtype.str, list(value.shape)]}


def pack(head: dict[str, Any], value: Any, refer: Callable[[Any], Any]) -> list[Any]:
    """The parts of a message, ready to send."""
    encoder = Encoder(refer)
    text = json.dumps({**head, "value": encoder.encode(value)}).encode()
    sizes = [memoryview(b).nbytes for b in encoder.buffers]
    if len(text) > MAX_TEXT or sum(sizes) > MAX_BUFFERS or len(sizes) > MAX_COUNT:
        raise NotPlain("it is too large")
    return [HEAD.pack(MAGIC, len(text), len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes) + text, *encoder.buffers]


# ---- and back --------------------------------------------------------------------------------------------------------


class Decoder:
    """Tags and buffers to exact plain types; `resolve(tag)` gives what a reference stands for."""

    def __init__(self, buffers: list[bytearray], resolve: Callable[[str, Any], Any]) -> None:
        self.buffers = buffers
        self.resolve = resolve
        self.nodes = 0

    def decode(self, coded: Any, depth: int = 0) -> Any:
        self.nodes += 1
        if depth > MAX_DEPTH + 5 or self.nodes > 2 * MAX_NODES:
            raise Violation("a value is nested too deeply or has too many parts")
        if type(coded) in SCALARS:
            return coded
        if type(coded) is list:
            return [self.decode(item, depth + 1) for item in coded]
        if type(coded) is not dict or len(coded) != 1:
            raise Violation("an unknown form of value")
        ((tag, body),) = coded.items()
        if tag == "t":
            return tuple(self.decode(item, depth + 1) for item in self.listed(body))
        if tag == "d":
            made = {}
            for pair in self.listed(body):
                key, value = self.listed(pair, 2)
                made[self.hashable(self.decode(key, depth + 1))] = self.decode(value, depth + 1)
            return made
        if tag in "sf":
            items = set()
            for item in self.listed(body):
                items.add(self.hashable(self.decode(item, depth + 1)))
            return items if tag == "s" else frozenset(items)
        if tag == "T":
            return self.tensor(body)
        if tag == "A":
            return self.array(body)
        if tag == "N":
            found = self.array(body)
            if found.shape != ():
                raise Violation("a number with a shape")
            return found[()]
        if tag == "b":
            return bytes(self.taken(body))
        if tag == "m":
            name, fields, values = self.listed(body, 3)
            values = self.listed(values)
            fields = self.listed(fields, len(values))
            if len(fields) > 100 or not all(type(f) is str and FIELD.match(f) for f in [name, *fields]):
                return tuple(self.decode(item, depth + 1) for item in values)
            return namedtuple(name, fields, rename=True)(*(self.decode(item, depth + 1) for item in values))
        if tag == "D":
            if body not in TORCH_TYPES:
                raise Violation("an unknown dtype")
            return TORCH_TYPES[body]
        if tag == "V":
            return torch.device("cpu")
        if tag == "c":
            real, imaginary = self.listed(body, 2)
            return complex(float(real), float(imaginary))
        if tag == "I":
            if type(body) is not str or len(body) > 1_000_000:
                raise Violation("a number that is too long")
            return int(body, 16)
        if tag == "x":
            return Ellipsis if body == "..." else slice(*(self.decode(part, depth + 1) for part in self.listed(body, 3)))
        if tag == "r":
            return range(*(int(part) for part in self.listed(body, 3)))
        return self.resolve(tag, body)

    @staticmethod
    def listed(body: Any, length: int | None = None) -> list[Any]:
        if type(body) is not list or (length is not None and len(body) != length):
            raise Violation("a malformed value")
        return body

    @staticmethod
    def hashable(key: Any) -> Any:
        if isinstance(key, SCALARS) or type(key) in (tuple, bytes, frozenset, complex) or isinstance(key, np.generic):
            return key
        raise Violation("a key that cannot be one")

    def taken(self, index: Any) -> bytearray:
        if type(index) is not int or not 0 <= index < len(self.buffers):
            raise Violation("a buffer that was not sent")
        return self.buffers[index]

    @staticmethod
    def sized(shape: Any) -> list[int]:
        if type(shape) is not list or len(shape) > 64 or not all(type(n) is int and 0 <= n < 1 << 48 for n in shape):
            raise Violation("a malformed shape")
        return shape

    def tensor(self, body: Any) -> torch.Tensor:
        index, name, shape, wants = self.listed(body, 4)
        data, shape = self.taken(index), self.sized(shape)
        if name not in TORCH_TYPES or type(wants) is not bool:
            raise Violation("an unknown dtype")
        kind = TORCH_TYPES[name]
        if math.prod(shape) * kind.itemsize != len(data):
            raise Violation("a tensor whose shape does not match its bytes")
        if not data:
            made = torch.empty(shape, dtype=kind)
        elif kind is torch.bool:
            made = (torch.frombuffer(data, dtype=torch.uint8) != 0).reshape(shape)
        else:  # a tensor of its own: a view of bytes would cut the graph at the first slice of it
            made = torch.empty(shape, dtype=kind)
            made.view(-1).view(torch.uint8).copy_(torch.frombuffer(data, dtype=torch.uint8))
        return made.requires_grad_() if wants and (kind.is_floating_point or kind.is_complex) else made

    def array(self, body: Any) -> Any:
        index, name, shape = self.listed(body, 3)
        data, shape = self.taken(index), self.sized(shape)
        if type(name) is not str or not ARRAY_TYPE.match(name):
            raise Violation("an unknown array type")
        kind = np.dtype(name)
        if math.prod(shape) * kind.itemsize != len(data) or (not kind.itemsize and data):
            raise Violation("an array whose shape does not match its bytes")
        if kind.kind == "b":
            return (np.frombuffer(data, dtype=np.uint8) != 0).reshape(shape)
        if kind.kind == "U" and len(data) and int(np.frombuffer(data, dtype="<u4").max()) > 0x10FFFF:
            raise Violation("characters that do not exist")
        return np.frombuffer(data, dtype=kind).reshape(shape).copy()


def unpack(text: bytes, buffers: list[bytearray], resolve: Callable[[str, Any], Any]) -> tuple[dict[str, Any], Any]:
    """Head and value of a message."""
    try:
        head = json.loads(text)
    except (ValueError, RecursionError):
        raise Violation("a message that is not JSON") from None
    if type(head) is not dict or "value" not in head:
        raise Violation("a message without a value")
    value = head.pop("value")
    try:
        return head, Decoder(buffers, resolve).decode(value)
    except (ValueError, TypeError, OverflowError, RecursionError, RuntimeError, KeyError):
        raise Violation("a malformed value") from None


# ---- sockets ---------------------------------------------------------------------------------------------------------


class Crowd(Violation):
    """More arrived than was asked for; `first` is the text of the first message."""

    def __init__(self, first: bytes) -> None:
        super().__init__("more than one message at once")
        self.first = first


class Closed(Exception):
    """The other side is gone."""


class Late(Exception):
    """The other side did not answer in time."""


class Deadline:
    """A point in time. On a clock that the load of the machine does not touch: deadline.LoadAwareDeadline."""

    def __init__(self, seconds: float) -> None:
        self.at = time.monotonic() + seconds

    def left(self) -> float:
        seconds = self.at - time.monotonic()
        if seconds <= 0:
            raise Late
        return seconds


def left(deadline: Deadline | None) -> float | None:
    return None if deadline is None else deadline.left()


def send(sock: socket.socket, parts: list[Any], deadline: Deadline | None = None, fds: tuple[int, ...] = ()) -> None:
    try:
        for number, part in enumerate(parts):
            view = part if type(part) is bytes else memoryview(part).cast("B")
            while len(view):
                sock.settimeout(left(deadline))
                try:
                    sent = socket.send_fds(sock, [view], list(fds)) if fds and number == 0 else sock.send(view)
                except TimeoutError:
                    continue  # the deadline says whether there is more time
                fds = ()
                if sent == len(view):
                    break
                view = memoryview(view)[sent:]
    except OSError:
        raise Closed from None


def exactly(sock: socket.socket, size: int, deadline: Deadline | None, have: bytes = b"") -> bytearray:
    data = bytearray(size)
    data[: len(have)] = have
    view = memoryview(data)[len(have) :]
    try:
        while view.nbytes:
            sock.settimeout(left(deadline))
            try:
                count = sock.recv_into(view)
            except TimeoutError:
                continue
            if not count:
                raise Closed
            view = view[count:]
    except OSError:
        raise Closed from None
    return data


FIRST = 1 << 16  # most messages arrive in one piece of this size


def receive(sock: socket.socket, deadline: Deadline | None = None, data: bytes = b"") -> tuple[bytes, list[bytearray]]:
    """Text and buffers of the next message; sizes are looked at before a byte is kept. `data` is what was read of it already."""
    while not data:
        sock.settimeout(left(deadline))
        try:
            data = sock.recv(FIRST)
        except TimeoutError:
            continue
        except OSError:
            raise Closed from None
        if not data:
            raise Closed
    if len(data) < HEAD.size:
        data = bytes(exactly(sock, HEAD.size, deadline, data))
    magic, length, count = HEAD.unpack_from(data)
    if magic != MAGIC or length > MAX_TEXT or count > MAX_COUNT:
        raise Violation("a message that is too large or not one of ours")
    start = HEAD.size + 8 * count
    if len(data) < start:
        data = bytes(exactly(sock, start, deadline, data))
    sizes = struct.unpack_from(f"<{count}Q", data, HEAD.size) if count else ()
    if sum(sizes) > MAX_BUFFERS:
        raise Violation("a reply that is too large")
    total = start + length + sum(sizes)
    if len(data) > total:
        raise Crowd(data[start : start + length])
    if len(data) == total and not count:
        return data[start:], []
    if len(data) < start + length:
        data = bytes(exactly(sock, start + length, deadline, data))
    text, rest = data[start : start + length], data[start + length :]
    buffers = []
    for size in sizes:
        buffers.append(exactly(sock, size, deadline, rest[:size]))
        rest = rest[size:]
    return text, buffers
