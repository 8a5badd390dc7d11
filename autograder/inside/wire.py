"""How plain data crosses between the examiner and the student's process.

A message is a JSON text with tags for what JSON lacks, followed by raw buffers for tensors, arrays and bytes. Only
exact plain types come out of `unpack`. The sender turns subclasses into plain data; the receiver refuses wrong shapes,
unknown types, and messages that are too large or nested too deeply. Nothing is ever unpickled.

    null, true, 1, 1.5, "text", [...]     themselves          {"I": hex}                         a very long integer
    {"t": [...]}                          tuple               {"s": [...]}, {"f": [...]}         set, frozenset
    {"d": [[key, value], ...]}            dict                {"m": [name, fields, values]}      named tuple
    {"T": [buffer, dtype, shape, grad]}   tensor              {"A": [buffer, dtype, shape]}      array
    {"N": [buffer, dtype, shape]}         NumPy number        {"b": buffer}                      bytes
    {"D": name}, {"V": name}              dtype, device       {"c": [real, imaginary]}           complex
    {"x": "..."}, {"x": [a, b, c]}        Ellipsis, slice     {"r": [a, b, c]}                   range

Any other tag is a reference ("h", "k", "n"), which `refer` makes and `resolve` looks up (bridge.py, server.py).
"""

from __future__ import annotations

import json
import math
import re
import socket
import struct
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
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
    """This value has no plain form: it contains itself, or it is too deep or too large."""


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
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, np.ndarray):
            return self.array(value)
        if isinstance(value, np.generic) and value.dtype.kind in "biufc":
            return {"N": self.array(np.asarray(value))["A"]}
        if isinstance(value, bytes | bytearray):
            return {"b": self.buffer(bytes(value))}
        if isinstance(value, CONTAINERS):
            return self.container(value, depth)
        # A subclass may override every method: send the plain value in it.
        if isinstance(value, bool | int | float | str):
            base: Any = next(kind for kind in (int, float, str) if isinstance(value, kind))
            return self.encode(base.__getnewargs__(value)[0], depth)
        return self.rare(value, depth)

    def rare(self, value: Any, depth: int) -> Any:
        """Kinds of plain data that few values have, and references to everything else."""
        kind = type(value)
        if isinstance(value, torch.dtype):
            return {"D": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"V": str(value)}
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
        form = FORMS.get(tag)
        return self.resolve(tag, body) if form is None else form(self, body, depth)

    def items(self, body: Any, depth: int) -> Iterator[Any]:
        return (self.decode(item, depth + 1) for item in self.listed(body))

    def mapping(self, body: Any, depth: int) -> dict[Any, Any]:
        made = {}
        for pair in self.listed(body):
            key, value = self.listed(pair, 2)
            made[self.hashable(self.decode(key, depth + 1))] = self.decode(value, depth + 1)
        return made

    def members(self, body: Any, depth: int) -> set[Any]:
        made = set()
        for item in self.listed(body):
            made.add(self.hashable(self.decode(item, depth + 1)))
        return made

    def named_tuple(self, body: Any, depth: int) -> tuple[Any, ...]:
        name, fields, values = self.listed(body, 3)
        values = self.listed(values)
        fields = self.listed(fields, len(values))
        if len(fields) > 100 or not all(type(f) is str and FIELD.match(f) for f in [name, *fields]):
            return tuple(self.items(values, depth))
        made: tuple[Any, ...] = namedtuple(name, fields, rename=True)(*self.items(values, depth))
        return made

    def number(self, body: Any) -> Any:
        value = self.array(body)
        if value.shape != ():
            raise Violation("a number with a shape")
        return value[()]

    def dtype(self, body: Any) -> torch.dtype:
        if body not in TORCH_TYPES:
            raise Violation("an unknown dtype")
        return TORCH_TYPES[body]

    def complex_number(self, body: Any) -> complex:
        real, imaginary = self.listed(body, 2)
        return complex(float(real), float(imaginary))

    def long_integer(self, body: Any) -> int:
        if type(body) is not str or len(body) > 1_000_000:
            raise Violation("a number that is too long")
        return int(body, 16)

    def index(self, body: Any, depth: int) -> Any:
        if body == "...":
            return Ellipsis
        return slice(*(self.decode(part, depth + 1) for part in self.listed(body, 3)))

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
        else:  # a copy: autograd cannot follow slices of a tensor that is a view of other bytes
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


FORMS: dict[str, Callable[[Decoder, Any, int], Any]] = {
    "t": lambda decoder, body, depth: tuple(decoder.items(body, depth)),
    "d": Decoder.mapping,
    "s": Decoder.members,
    "f": lambda decoder, body, depth: frozenset(decoder.members(body, depth)),
    "m": Decoder.named_tuple,
    "x": Decoder.index,
    "T": lambda decoder, body, depth: decoder.tensor(body),
    "A": lambda decoder, body, depth: decoder.array(body),
    "N": lambda decoder, body, depth: decoder.number(body),
    "b": lambda decoder, body, depth: bytes(decoder.taken(body)),
    "D": lambda decoder, body, depth: decoder.dtype(body),
    "V": lambda decoder, body, depth: torch.device("cpu"),
    "c": lambda decoder, body, depth: decoder.complex_number(body),
    "I": lambda decoder, body, depth: decoder.long_integer(body),
    "r": lambda decoder, body, depth: range(*(int(part) for part in decoder.listed(body, 3))),
}


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


class TooManyMessages(Violation):
    """More than one message arrived; `first` is the text of the first one."""

    def __init__(self, first: bytes) -> None:
        super().__init__("more than one message at once")
        self.first = first


class ConnectionEnded(Exception):
    """The other side has closed the connection, or has ended."""


class DeadlinePassed(Exception):
    """The other side did not answer in time."""


class Deadline:
    """A point in time on the clock on the wall. See also deadline.LoadAwareDeadline."""

    def __init__(self, seconds: float) -> None:
        self.at = time.monotonic() + seconds

    def left(self) -> float:
        seconds = self.at - time.monotonic()
        if seconds <= 0:
            raise DeadlinePassed
        return seconds


def left(deadline: Deadline | None) -> float | None:
    return None if deadline is None else deadline.left()


def send(sock: socket.socket, parts: list[Any], deadline: Deadline | None = None, fds: tuple[int, ...] = ()) -> None:
    """Send the parts of a message, and file descriptors with the first byte."""
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
        raise ConnectionEnded from None


def exactly(sock: socket.socket, size: int, deadline: Deadline | None, have: bytes = b"") -> bytearray:
    """So many bytes, of which `have` was read already."""
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
                raise ConnectionEnded
            view = view[count:]
    except OSError:
        raise ConnectionEnded from None
    return data


FIRST = 1 << 16  # most messages arrive in one piece of this size


def receive(sock: socket.socket, deadline: Deadline | None = None, data: bytes = b"") -> tuple[bytes, list[bytearray]]:
    """Text and buffers of the next message. Sizes are checked before memory is taken; `data` was read already."""
    while not data:
        sock.settimeout(left(deadline))
        try:
            data = sock.recv(FIRST)
        except TimeoutError:
            continue
        except OSError:
            raise ConnectionEnded from None
        if not data:
            raise ConnectionEnded
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
        raise TooManyMessages(data[start : start + length])
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
