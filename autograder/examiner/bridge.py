"""The examiner's end of the wire: stand-ins for what the student wrote.

A stand-in calls across; plain data comes back by value, anything else as another stand-in. Student code can call back into functions and
helper objects that a test gave it; those run here and are counted here. Every call has a deadline, and whatever breaks the rules ends the
question with a reason.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import os
import socket
import symtable
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from IPython.core.inputtransformer2 import TransformerManager
from torch.utils._mode_utils import no_dispatch

from autograder.examiner import wire
from autograder.examiner.deadline import KernelMeter, LoadAwareDeadline, MachineFault
from autograder.source import free_names
from helpers.checks import bans, beside, guard, meter
from helpers.checks.meter import processor_seconds

HOME_MODULES = ("torch", "torch.nn.functional", "torch.nn", "torch.linalg", "torch.special", "math", "numpy", "operator", "builtins")
LIBRARIES = ("torch", "numpy", "math", "operator", "builtins", "helpers", "collections", "itertools", "functools", "random")
MOST_CALLS_BACK = 200_000
SENT = ("helpers.checks.guard", "helpers.checks.bans", "helpers.checks.meter", "helpers.checks.beside")  # before any measurement
UNTOLD = {"exec", "eval", "globals", "vars", "__import__", "__builtins__", "builtins", "importlib"}  # as names: a model has an `eval`, too
UNTOLD_PARTS = {"__dict__", "__builtins__", "__globals__", beside.COMPUTED}
MOST_LINES = 3000  # of code; notebooks of the course have a few hundred
RESERVED = (
    "NotGraded",
    "Lost",
    "BaseExceptionGroup",
    "ExceptionGroup",
)  # names the examiner uses itself, or that cannot be made from a text


class Lost(BaseException):
    """The student's process is gone, late, or broke the rules: this question is over. No `except Exception` stops it."""

    ends_the_cell = True


class FarError(Exception):
    """An exception of student code, raised here under its own name."""

    place: tuple[int, str] = (0, "")
    trace: tuple[str, ...] = ()
    stub: guard.Unwritten | None = None


class Handle:
    """A stand-in for something that lives in the student's process. It can be used, but not compared: that would ask the student."""

    __slots__ = ("_bridge", "_kind", "_name", "_number", "_type")
    __hash__ = object.__hash__

    def __init__(self, bridge: Bridge, number: int, kind: str, type_name: str) -> None:
        for key, value in (("_bridge", bridge), ("_number", number), ("_kind", kind), ("_type", type_name), ("_name", "")):
            object.__setattr__(self, key, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._bridge.call(self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__name__", "__doc__", "__qualname__", "__len__", "__getitem__"):
            raise AttributeError(name)
        return self._bridge.ask("attr", (self, name))

    def __setattr__(self, name: str, value: Any) -> None:
        self._bridge.ask("setattr", (self, name, value))

    def __getitem__(self, index: Any) -> Any:
        return self._bridge.ask("item", (self, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._bridge.ask("setitem", (self, index, value))

    def __len__(self) -> int:
        found = self._bridge.ask("len", self)
        if type(found) is not int or found < 0:
            raise TypeError("a length must be a number")
        return found

    def __iter__(self) -> Iterator[Any]:
        iterator = self._bridge.ask("iter", self)
        while True:
            found = self._bridge.ask("next", iterator)
            if type(found) is not list or len(found) > 1:
                raise TypeError("this object cannot be iterated over")
            if not found:
                return
            yield found[0]

    def __next__(self) -> Any:
        found = self._bridge.ask("next", self)
        if type(found) is not list or len(found) > 1:
            raise TypeError("this object is no iterator")
        if not found:
            raise StopIteration
        return found[0]

    def __instancecheck__(self, value: Any) -> bool:
        return beside.isinstance(value, self) is True

    def __contains__(self, item: Any) -> bool:
        return self._bridge.ask("contains", (self, item)) is True

    def __deepcopy__(self, memo: Any) -> Any:
        return self._bridge.ask("deepcopy", self)

    def __repr__(self) -> str:
        return f"<the student's {self._name or self._type}>"

    def _refuse(self, *others: Any) -> Any:
        raise TypeError(
            f"{self!r} is not plain data: it cannot be compared, added or tested for truth here. Return numbers, text, lists or tensors."
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = __index__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = _refuse
    __pow__ = __rpow__ = __mod__ = __floordiv__ = __neg__ = __abs__ = __and__ = __or__ = __invert__ = _refuse
    __hash__ = object.__hash__  # defining equality took it away


class Bridge:
    """One connection to a clone of the student's process, for one test cell."""

    def __init__(
        self,
        sock: socket.socket,
        seconds: float,
        cells: Callable[[], list[str]] = list,
        pid: int = 0,
        started: Callable[[], tuple[int, float]] = lambda: (0, 0.0),
        clock: KernelMeter | None = None,
    ) -> None:
        self.sock, self.seconds, self.pid, self.started = sock, seconds, pid, started
        self.clock = clock or KernelMeter((os.getpid(),), seconds)
        self.fault: MachineFault | None = None  # there is no verdict: the machine kept the student's code from running
        self.ended = False  # the student's process is gone
        self.cells = cells  # the submitted code before this test, for questions about the source
        self.lost = ""
        self.asking = False  # the student's code has the word
        self.backs: dict[int, tuple[Any, tuple[str, ...]]] = {}
        self.numbers: dict[int, int] = {}
        self.calls = 0
        self.discreet = False  # hidden inputs may be known to this process: quote nothing it says
        self.sent: set[str] = set()
        self.bound: dict[str, Any] = {}
        self.namespace: dict[str, Any] = {}
        self.waiting: tuple[str, ...] = ()  # names the test may bind anew
        self.mirrors = False  # what student code changes in its arguments
        self.given: set[str] = set()  # names of the assignment: the others are the student's own
        self.lines: set[tuple[int, str]] | None = None
        self.refused: list[Any] = []  # what student code may not call at the moment
        self.at_first = meter.memory(pid) if pid else None

    # ---- asking ---------------------------------------------------------------------------------------------------

    def ask(self, op: str, value: Any) -> Any:
        """One request, with whatever the student's code asks back on the way."""
        if self.lost:
            raise Lost(self.lost)
        self.mirror()
        return self.request(op, value)

    def request(self, op: str, value: Any) -> Any:
        deadline = LoadAwareDeadline(self.clock, self.seconds)
        try:
            wire.send(self.sock, wire.pack({"op": op}, value, self.refer), deadline)
            while True:
                head, found = wire.unpack(*self.received(deadline), self.resolve)
                kind = head.get("op")
                if kind == "done":
                    return found
                if kind == "error":
                    raise self.error_of(head, value)
                if kind != "back":
                    raise wire.Violation("an unknown message")
                self.called_back(head, found, deadline)
        except wire.Closed:
            self.ended = True
            self.end("your code ended the Python process it ran in (a crash, `os._exit`, or out of memory)")
        except wire.Late:
            self.end(f"your code did not finish {deadline.how()}")
        except MachineFault as fault:
            self.fault = fault
            self.end(str(fault))
        except wire.Violation as error:
            self.end(f"your code sent {error} instead of a result")
        except wire.NotPlain as error:
            raise TypeError(f"a test handed over a value that has no plain form: {error}") from None
        raise AssertionError("unreachable")

    def received(self, deadline: wire.Deadline) -> tuple[bytes, list[bytearray]]:
        self.asking = True
        found = wire.receive(self.sock, deadline)
        self.asking = False
        return found

    def end(self, reason: str) -> None:
        self.lost = reason
        self.sock.close()
        raise Lost(reason) from None

    def call(self, function: Handle, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that means what it would mean in one process: gradients flow through it, and a counter that is running here counts what
        it costs there. What it changes in its arguments is changed here for tests that are not ours: ours ask for it (`inout`, `unchanged`),
        or an answer could change the data that its expected value is computed from."""
        if beside.CostCounter.running:
            with no_dispatch():  # what crosses the wire is no work of the student's
                found, flops, largest, operations = self.costed(function, args, kwargs)
            for counter in beside.CostCounter.running:
                counter.flops += flops
                counter.largest = max(counter.largest, largest)
                counter.operations += operations
            return found
        if self.refused:
            return self.refusing(function, args, kwargs)
        leaves = [t for t in tensors_in((args, kwargs)) if t.requires_grad] if torch.is_grad_enabled() else []
        answer = self.ask("use", (function, list(args), kwargs, bool(leaves), self.mirrors))
        if type(answer) is not tuple or len(answer) != 3 or type(answer[1]) is not list:
            self.end("your code sent a malformed answer instead of a result")
        found, changes, traced = answer
        for place, value in changes if self.mirrors else ():
            change(args[place] if type(place) is int and 0 <= place < len(args) else kwargs.get(place), value)
        if leaves and type(traced) is int:
            outputs = tensors_in(found)
            found = with_tensors(found, iter(Across.apply(self, traced, len(leaves), *leaves, *outputs)) if outputs else iter(()))
        return found

    def costed(self, function: Handle, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, int, int, int]:
        """Result and cost of a call: counted where it runs, and held against what is seen from outside, where nobody can change it."""
        outside = Outside(self.pid, self.started)
        answer = self.carry(beside.costed, (function, list(args), kwargs), {})
        if type(answer) is not tuple or len(answer) != 4 or not all(type(count) is int and count >= 0 for count in answer[1:]):
            self.end("your code sent a malformed measurement")
        found: tuple[Any, int, int, int] = answer
        if difference := outside.against(*found[1:]):
            self.end(difference)
        return found

    def refusing(self, function: Handle, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call while something is refused. What is refused in one thread only could be done in another, so there must be none."""
        before = self.started()[0]
        found = self.carry(bans.call_refusing, (self.refused, function, list(args), kwargs), {})
        if self.started()[0] != before:
            self.end("your code started processes or threads where something is forbidden: one process has to do it")
        return found

    def meter(self) -> ProcessMeter:
        return ProcessMeter(self)

    def get(self, name: str) -> Any:
        """The student's value of a name, by value or as a stand-in."""
        found = self.request("get", name)
        if isinstance(found, Handle):
            object.__setattr__(found, "_name", name)
        return found

    def mirror(self) -> None:
        """What the test cell deleted or bound anew among the student's names holds on the other side, too."""
        for name, before in list(self.bound.items()):
            if name not in self.namespace:
                del self.bound[name]
                self.request("unbind", name)
            elif self.namespace[name] is not before:
                self.bound[name] = self.namespace[name]
                self.request("bind", (name, self.namespace[name]))
        for name in self.waiting:
            if name in self.namespace and name not in self.bound:
                self.bound[name] = self.namespace[name]
                self.request("bind", (name, self.namespace[name]))

    # ---- references -----------------------------------------------------------------------------------------------

    def refer(self, value: Any) -> dict[str, Any]:
        if isinstance(value, Handle):
            return {"h": value._number}
        if isinstance(value, guard.Failed):
            raise guard.StudentError(value)
        if (place := public_name(value)) is not None:
            return {"n": place}
        public = tuple(getattr(type(value), "PUBLIC", ()))
        if not (public or callable(value) or hasattr(value, "__next__")):
            raise TypeError(
                f"a test handed a {type(value).__name__} to student code: give plain data, or an object with a PUBLIC interface"
            )
        if id(value) not in self.numbers:
            self.numbers[id(value)] = len(self.backs) + 1
            self.backs[len(self.backs) + 1] = (value, public)
        return {"k": [self.numbers[id(value)], list(public), [name for name in public if callable(getattr(type(value), name, None))]]}

    def resolve(self, tag: str, body: Any) -> Any:
        if tag == "h":
            number, kind, type_name = wire.Decoder.listed(body, 3)
            if type(number) is not int or type(kind) is not str or type(type_name) is not str:
                raise wire.Violation("a malformed handle")
            return Handle(self, number, kind, type_name if type_name.isidentifier() else "object")
        if tag == "k":
            if type(body) is not int or body not in self.backs:
                raise wire.Violation("a reference to nothing")
            return self.backs[body][0]
        raise wire.Violation("an unknown form of value")

    def called_back(self, head: dict[str, Any], value: Any, deadline: wire.Deadline) -> None:
        """Run what the student's code asked for, and answer it."""
        number, how = head.get("id"), head.get("how")
        if number not in self.backs or type(value) is not tuple or len(value) != 2:
            raise wire.Violation("a call to something it was not given")
        self.calls += 1
        if self.calls > MOST_CALLS_BACK:
            raise wire.Violation("too many calls back")
        target, public = self.backs[number]
        args, kwargs = value
        try:
            if how == "call":
                if not callable(target):
                    raise TypeError("this object cannot be called")
                found = target(*args, **kwargs)
            elif how == "next":
                found = [item] if (item := next(target, self)) is not self else []
            elif type(how) is str and how.startswith("call ") and how[5:] in public:
                found = getattr(target, how[5:])(*args, **kwargs)
            elif type(how) is str and how.startswith("get ") and how[4:] in public:
                found = getattr(target, how[4:])
            else:
                raise AttributeError("this object has no such part")
            parts = wire.pack({"op": "answer"}, found, self.refer)
        except Exception as error:  # noqa: BLE001  it goes to the student's code, where it would have been raised
            described = [type(error).__module__, type(error).__name__, str(error)[:2000]]
            parts = wire.pack({"op": "refuse", "type": described}, None, self.refer)
        wire.send(self.sock, parts, deadline)

    # ---- exceptions -----------------------------------------------------------------------------------------------

    def error_of(self, head: dict[str, Any], asked: Any = None) -> BaseException:
        """The student's exception under its own name; what it says about itself is text, cut to size."""
        names = [n for n in head.get("mro", []) if type(n) is str and n.isidentifier()][:20] if type(head.get("mro")) is list else []
        names = [name for name in names if name not in RESERVED] or ["Error"]
        message = head.get("message")
        message = message[:2000] if type(message) is str else ""
        if names[:1] == ["StudentError"]:
            reason = message.removeprefix("<failed: ").removesuffix(">")
            known = reason if reason in beside.REASONS else "your result could not be measured"
            return guard.StudentError(guard.Failed(reason, known))
        base: Any = FarError
        for name in reversed(names):
            found = getattr(builtins, name, None)
            if isinstance(found, type) and issubclass(found, Exception):
                base = found if base is FarError else base
                if issubclass(found, base):
                    base = found
        if base is not FarError:
            base = type(names[0] if names else "Error", (FarError, base), {})
        for name in reversed(names):
            if getattr(builtins, name, None) is None and name not in {c.__name__ for c in base.__mro__}:
                base = type(name, (base,), {})
        if names and base.__name__ != names[0]:
            base = type(names[0], (base,), {})
        made: Any = base.__new__(base)
        made.args = (message,)
        made.place = self.checked_place(head.get("place"))
        made.stub = self.stub(asked) if isinstance(made, NotImplementedError) else None
        return made

    def stub(self, asked: Any) -> guard.Unwritten:
        """What a request was about, by the name it has in the notebook, and what its docstring asks for."""
        name = next((name for handle in handles_in(asked) if (name := handle._name or handle._type) in self.given), "")
        nodes = [node for node in definitions(self.cells()).get(name, []) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        return guard.Unwritten(name, guard.first_paragraph(ast.get_docstring(nodes[-1])) if nodes else "")

    def checked_place(self, place: Any) -> tuple[int, str]:
        """Line number and text, if the text is a line that was handed in: a process could put anything there.

        Of a notebook with very many lines none is quoted: which one it is would tell what a hidden test gave.
        """
        if type(place) is not list or len(place) != 2 or type(place[0]) is not int or type(place[1]) is not str:
            return 0, ""
        if self.lines is None:
            self.lines = {(number, line.strip()[:120]) for cell in self.cells() for number, line in enumerate(cell.splitlines(), 1)}
            if len(self.lines) > MOST_LINES:
                self.lines = set()
        return (place[0], place[1]) if (place[0], place[1]) in self.lines else (0, "")

    # ---- what the check library asks for ----------------------------------------------------------------------------

    def owns(self, value: Any) -> bool:
        """Is anything in here a stand-in?"""
        return next(handles_in(value), None) is not None

    def carry(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Carry out a measurement beside the student's code, from source that is sent along."""
        module = function.__module__
        sources = []
        for name in dict.fromkeys([*SENT, module]):
            if name not in self.sent:
                self.sent.add(name)
                with open(str(sys.modules[name].__file__), encoding="utf-8") as file:
                    sources.append((name, file.read()))
        return self.ask("carry", (sources, module, function.__qualname__, list(args), kwargs))

    def lives_there(self, function: Any) -> bool:
        """Is this the student's, or a class of the course or of torch, whose objects student code is to use as its own?"""
        place = None if isinstance(function, Handle) else public_name(function)
        return isinstance(function, Handle) or (place is not None and place[0].partition(".")[0] in ("helpers", "torch"))

    def keep(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.ask("keep", (function, list(args), kwargs))

    def put(self, value: Any) -> Any:
        return self.ask("put", value)

    def value(self, handle: Any) -> Any:
        return self.ask("value", handle)

    def seed(self, number: int) -> None:
        self.ask("seed", number)

    def source(self, handle: Handle) -> str | None:
        """The submitted text of a name: its last definition before this test, with the student's own names that it mentions.

        None where that cannot be told, because the text makes code of texts or looks names up by texts.
        """
        known = definitions(self.cells())
        left, seen, found = [handle._name], {handle._name, *self.given}, []
        while left:
            for node in known.get(left.pop(0), []):
                text = ast.unparse(node)
                names = free_names(symtable.symtable(text, "answer", "exec"))
                if names & UNTOLD or beside.names_in(node) & UNTOLD_PARTS:
                    return None
                found.append(text)
                left += sorted(names - seen)
                seen |= names
        return "\n\n".join(found) or None


def definitions(cells: list[str]) -> dict[str, list[ast.stmt]]:
    """The statements that bind each name of a notebook. A later one takes the place of an earlier one, unless it may not be carried out."""
    found: dict[str, list[ast.stmt]] = {}
    for cell in cells:
        try:
            left = [(node, True) for node in ast.parse(TransformerManager().transform_cell(cell)).body]  # a line may be a magic
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        while left:
            node, certain = left.pop(0)
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                names = {node.name}
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            else:
                inner = list(statements_in(node))
                left[:0] = [(child, False) for child in inner]
                parts = [part for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt) for part in ast.walk(child)]
                used = [part for part in parts if isinstance(part, ast.Name)]
                names = {part.id for part in used if isinstance(part.ctx, ast.Store)}
                again = names & {part.id for part in used if isinstance(part.ctx, ast.Load)}  # f = wrapped(f): the first f still counts
                certain = certain and not inner and not again
            for name in names:
                found[name] = [node] if certain else [*found.get(name, []), node]
    return found


def statements_in(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements that an `if`, `for`, `with`, `try` or `match` holds."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.excepthandler | ast.match_case):
            yield from statements_in(child)


class Outside:
    """Processor time and memory of a call as the kernel counts them. Wide margins: a count that is far off was not made by our counter.

    `started` gives the number of processes and threads that there have been, and the processor time of the copies that wait for other
    tests: they could work for it, and be counted nowhere.
    """

    SECONDS, SECONDS_EACH, MOST_OPERATIONS, RATE = 2.0, 0.001, 20_000, 1e7
    BYTES, TENSORS = 64 << 20, 64
    IDLE = 0.02  # seconds of a copy that only waits
    ELSEWHERE = "your code started processes or threads where its work was counted: one process has to do it"

    def __init__(self, pid: int, started: Callable[[], tuple[int, float]]) -> None:
        self.pid, self.started = pid, started
        self.before = started()
        with contextlib.suppress(OSError), open(f"/proc/{pid}/clear_refs", "w") as file:
            file.write("5")  # the high-water mark starts anew
        self.seconds, self.peak = usage(pid)

    def against(self, flops: int, largest: int, operations: int) -> str:
        """What does not fit, or nothing. Without numbers: they are the student's to choose, and could be a hidden input's."""
        seconds, peak = usage(self.pid)
        count, elsewhere = self.started()
        if count != self.before[0] or elsewhere - self.before[1] > self.IDLE:
            return self.ELSEWHERE
        if peak - self.peak > self.BYTES + self.TENSORS * 8 * largest:
            return "your code took far more memory than the largest tensor that was counted: the counter was changed"
        if seconds - self.seconds > self.SECONDS + self.SECONDS_EACH * min(operations, self.MOST_OPERATIONS) + flops / self.RATE:
            return "your code worked far longer than the operations that were counted take: the work must be done with torch"
        return ""


class ProcessMeter(meter.Meter):
    """A meter of the student's process. Work done by another one would be counted nowhere."""

    def __init__(self, link: Bridge) -> None:
        self.link, self.before = link, link.started()
        super().__init__(link.pid, link.at_first)

    def read(self) -> meter.Spent | None:
        found = super().read()
        count, elsewhere = self.link.started()
        if count != self.before[0] or elsewhere - self.before[1] > Outside.IDLE:
            self.link.end(Outside.ELSEWHERE)
        return found


class Across(torch.autograd.Function):
    """The step of a graph that lies in the student's process: its backward pass is asked for there."""

    @staticmethod
    def forward(ctx: Any, bridge: Bridge, trace: int, count: int, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.bridge, ctx.trace, ctx.count, ctx.outputs = bridge, trace, count, len(tensors) - count
        made = tuple(t.clone() for t in tensors[count:])
        ctx.mark_non_differentiable(*(t for t in made if not (t.is_floating_point() or t.is_complex())))
        return made

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> tuple[Any, ...]:
        found = ctx.bridge.ask("backward", (ctx.trace, list(cotangents)))
        if type(found) is not list or len(found) != ctx.count or not all(g is None or isinstance(g, torch.Tensor) for g in found):
            ctx.bridge.end("your code sent malformed gradients")
        return (None, None, None, *found, *([None] * ctx.outputs))


def handles_in(value: Any) -> Iterator[Handle]:
    """Stand-ins in nested lists, tuples and dictionaries, in order."""
    if isinstance(value, Handle):
        yield value
    elif type(value) in (list, tuple):
        for item in value:
            yield from handles_in(item)
    elif type(value) is dict:
        for item in value.values():
            yield from handles_in(item)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Tensors in nested lists, tuples and dictionaries, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [t for item in value for t in tensors_in(item)]
    return [t for item in value.values() for t in tensors_in(item)] if isinstance(value, dict) else []


def with_tensors(value: Any, new: Iterator[torch.Tensor]) -> Any:
    """The same structure with other tensors."""
    if isinstance(value, torch.Tensor):
        return next(new)
    if type(value) in (list, tuple):
        return type(value)(with_tensors(item, new) for item in value)
    if isinstance(value, tuple):
        return type(value)(*(with_tensors(item, new) for item in value))
    return {key: with_tensors(item, new) for key, item in value.items()} if isinstance(value, dict) else value


def change(old: Any, new: Any) -> None:
    """Make an argument what student code made of it."""
    if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor) and old.dtype == new.dtype:
        with torch.no_grad():
            if old.shape == new.shape:
                old.copy_(new)
            else:
                old.resize_(new.shape).copy_(new)
    elif isinstance(old, np.ndarray) and isinstance(new, np.ndarray) and old.shape == new.shape and old.dtype == new.dtype:
        old[...] = new
    elif type(old) is list and type(new) is list:
        old[:] = new
    elif type(old) in (dict, set) and type(new) is type(old):
        old.clear()
        old.update(new)


def public_name(value: Any) -> list[str] | None:
    """Module and name of a library's function or class, if that is what this is."""
    if not isinstance(
        value, types.FunctionType | types.BuiltinFunctionType | type | np.ufunc | types.MethodDescriptorType | torch.jit.ScriptFunction
    ):
        return None
    names = dict.fromkeys(str(name) for key in ("__qualname__", "__name__") if (name := getattr(value, key, None)))
    own = getattr(value, "__module__", None) or ""
    for module in (own, *HOME_MODULES):
        if module.partition(".")[0] not in LIBRARIES:
            continue
        for name in names:
            found: Any = sys.modules.get(module)
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is value:
                return [module, name]
    return None


def usage(pid: int) -> tuple[float, int]:
    """Processor seconds and memory high-water mark (bytes) of a process, read from outside."""
    return processor_seconds(pid), meter.fields(f"/proc/{pid}/status").get("VmHWM", 0)
