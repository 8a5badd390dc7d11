"""The examiner's connection to a clone of the student's process: requests, answers, and calls back.

The student's names are handles here (handles.py). Using one sends a request; plain data comes back by value, anything
else as another handle. Student code can call back into functions and helper objects that a test gave it; those run here
and are counted here. Every request has a deadline, and whatever breaks the rules ends the test with a reason.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils._mode_utils import no_dispatch

from autograder.examiner import (
    kernel_cost,
    recognition,
    remote_errors,
    remote_gradients,
    remote_kernels,
    submitted_source,
)
from autograder.examiner.deadline import KernelMeter, LoadAwareDeadline, MachineFault
from autograder.examiner.handles import Handle, handles_in, public_name
from autograder.examiner.remote_errors import RemoteError, TestAborted
from autograder.inside import wire
from autograder.model.record import Reason, ReasonKind
from helpers.checks import bans, failed, meter, student_side

MOST_CALLS_BACK = 200_000
# Requests whose answers tell mistakes apart.
RECORDED = {"use", "run", "keep", "value", "item", "len", "next", "call", "backward"}
MOST_QUOTED_LINES = 3000  # of a notebook; those of the course have a few hundred
# Modules that any measurement needs: their source is sent before the first one.
SENT = tuple(f"helpers.checks.{name}" for name in ("failed", "plain_data", "banned", "bans", "meter", "student_side"))


class Bridge:
    """One connection to a clone of the student's process, for one test cell."""

    def __init__(
        self,
        sock: socket.socket,
        seconds: float,
        cells: Callable[[], list[str]] = list,
        pid: int = 0,
        started: kernel_cost.Started = lambda: (0, 0.0),
        clock: KernelMeter | None = None,
    ) -> None:
        self.sock, self.seconds, self.pid, self.started = sock, seconds, pid, started
        self.clock = clock or KernelMeter((os.getpid(),), seconds)
        self.fault: MachineFault | None = None  # there is no verdict: the machine kept the student's code from running
        self.ended = False  # the student's process has ended
        self.cells = cells  # the submitted code before this test, for questions about the source
        self.lost: Reason | None = None  # why the test is over
        self.asking = False  # student code is running
        # Objects that student code may use, and their public names.
        self.lent: dict[int, tuple[Any, tuple[str, ...]]] = {}
        self.numbers: dict[int, int] = {}  # of lent objects, by identity
        self.calls = 0
        self.discreet = False  # the process may know hidden inputs: nothing it says is quoted
        self.sent: set[str] = set()
        # The student's names in the test's namespace, as the student's process knows them.
        self.bound: dict[str, Any] = {}
        self.namespace: dict[str, Any] = {}
        self.waiting: tuple[str, ...] = ()  # names that the test may bind anew
        self.mirrors = False  # what student code changes in its arguments is changed here, too
        self.given: set[str] = set()  # names of the assignment: the others are the student's own
        self.lines: set[tuple[int, str]] | None = None
        self.sources: dict[str, str | None] = {}  # submitted texts that a check has asked for
        self.refused: list[Any] = []  # what student code may not call at the moment
        self.auditing = False  # the test itself is tested: by `course verify`
        self.calls_made: list[recognition.Call] | None = None  # what was asked and answered, where that is recorded
        self.known: Sequence[recognition.Known] = ()  # the named mistakes of this test, as they answered
        self.memory_before = meter.memory(pid) if pid else None
        # The process that started the student's is a copy of what the student's was before its first cell.
        self.memory_without_cells = meter.memory(meter.parent(meter.parent(pid))) if pid else None

    # ---- requests -------------------------------------------------------------------------------------------------

    def ask(self, op: str, value: Any) -> Any:
        """One request, with the calls back that the student's code makes meanwhile."""
        if self.lost is not None:
            raise TestAborted(self.lost)
        self.mirror()
        return self.request(op, value)

    def request(self, op: str, value: Any) -> Any:
        deadline = LoadAwareDeadline(self.clock, self.seconds)
        try:
            parts = wire.pack({"op": op}, value, self.refer)
            asked = recognition.digest(parts) if self.records(op) else ""
            wire.send(self.sock, parts, deadline)
            while True:
                head, answer = wire.unpack(*self.received(deadline), self.resolve)
                kind = head.get("op")
                if kind == "done":
                    self.record(asked, answer)
                    return answer
                if kind == "error":
                    error = self.error_of(head, value)
                    self.record(asked, error)
                    raise error
                if kind != "back":
                    raise wire.Violation("an unknown message")
                self.called_back(head, answer, deadline)
        except wire.ConnectionEnded:
            self.ended = True
            self.end(ReasonKind.ANSWER_ENDED)
        except wire.DeadlinePassed:
            self.end(ReasonKind.ANSWER_LATE, **deadline.spent())
        except MachineFault as fault:
            self.fault = fault
            self.end(ReasonKind.MACHINE, text=str(fault))
        except wire.Violation as error:
            self.end(ReasonKind.ANSWER_SENT, what=str(error))
        except wire.NotPlain as error:
            raise TypeError(f"a test handed over a value that has no plain form: {error}") from None
        raise AssertionError("unreachable")

    def records(self, op: str) -> bool:
        return self.calls_made is not None and op in RECORDED and len(self.calls_made) < recognition.MOST_CALLS

    def record(self, asked: str, answer: Any) -> None:
        if asked and self.calls_made is not None:
            self.calls_made.append([asked, recognition.sketch(answer)])

    def recognised(self) -> str:
        """What is to be said of the named mistake that answered every call as this submission did."""
        return recognition.recognised(self.calls_made or [], self.known)

    def received(self, deadline: wire.Deadline) -> tuple[bytes, list[bytearray]]:
        self.asking = True
        message = wire.receive(self.sock, deadline)
        self.asking = False
        return message

    def end(self, kind: ReasonKind, **about: Any) -> None:
        self.lost = Reason.of(kind, **about)
        self.sock.close()
        raise TestAborted(self.lost) from None

    def get(self, name: str) -> Any:
        """The student's value of a name, by value or as a handle."""
        value = self.request("get", name)
        if isinstance(value, Handle):
            object.__setattr__(value, "_name", name)
        return value

    def mirror(self) -> None:
        """Delete or bind in the student's process what the test cell deleted or bound of the student's names."""
        for name, before in list(self.bound.items()):
            if name not in self.namespace:
                del self.bound[name]
                self.request("unbind", name)
            elif self.namespace[name] is not before:
                self.bind(name)
        for name in self.waiting:
            if name in self.namespace and name not in self.bound:
                self.bind(name)

    def bind(self, name: str) -> None:
        self.bound[name] = self.namespace[name]
        self.request("bind", (name, self.namespace[name]))

    # ---- calls ----------------------------------------------------------------------------------------------------

    def call(self, function: Handle, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call student code as if it were in this process: gradients flow, and counters that run here count it.

        What it changes in its arguments is changed here only for foreign notebooks, and where our own tests ask for it
        (`inout`, `unchanged`): otherwise an answer could change the data that its expected value is computed from.
        """
        if student_side.CostCounter.running:
            with no_dispatch():  # sending and receiving are not work of the student's
                result, flops, largest, operations = self.costed(function, args, kwargs)
            for counter in student_side.CostCounter.running:
                counter.flops += flops
                counter.largest = max(counter.largest, largest)
                counter.operations += operations
            return result
        if self.refused:
            return self.refusing(function, args, kwargs)
        tensors = remote_gradients.tensors_in((args, kwargs)) if torch.is_grad_enabled() else []
        leaves = [t for t in tensors if t.requires_grad]
        answer = self.ask("use", (function, list(args), kwargs, bool(leaves), self.mirrors))
        if type(answer) is not tuple or len(answer) != 3 or type(answer[1]) is not list:
            self.end(ReasonKind.MALFORMED_ANSWER)
        result, changes, traced = answer
        for change in changes if self.mirrors else ():
            if type(change) is not tuple or len(change) != 3:
                self.end(ReasonKind.MALFORMED_ANSWER)
            self.change(args, kwargs, *change)
        if leaves and type(traced) is int:
            return remote_gradients.connected(result, self, traced, leaves)
        return result

    def change(self, args: tuple[Any, ...], kwargs: dict[str, Any], place: Any, number: Any, value: Any) -> None:
        """Change an argument, or one of the tensors in it, into what the student's process says that it is now."""
        argument = args[place] if type(place) is int and 0 <= place < len(args) else kwargs.get(place)
        if number is not None:
            tensors = remote_gradients.tensors_in(argument)
            argument = tensors[number] if type(number) is int and 0 <= number < len(tensors) else None
        remote_gradients.change_in_place(argument, value)

    @contextlib.contextmanager
    def mirroring(self) -> Iterator[None]:
        """While this lasts, what student code changes in its arguments is changed here, too."""
        before, self.mirrors = self.mirrors, True
        try:
            yield
        finally:
            self.mirrors = before

    def costed(self, function: Handle, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, int, int, int]:
        """Result and cost of a call: counted in the student's process, and compared with what the kernel counted."""
        kernel = kernel_cost.KernelCost(self.pid, self.started)
        answer = self.run_remotely(student_side.costed, (function, list(args), kwargs), {})
        if type(answer) is not tuple or len(answer) != 4 or not all(type(n) is int and n >= 0 for n in answer[1:]):
            self.end(ReasonKind.MALFORMED_MEASUREMENT)
        result, flops, largest, operations = answer
        if (kind := kernel.contradiction(flops, largest, operations)) is not None:
            self.end(kind)
        return result, flops, largest, operations

    def refusing(self, function: Handle, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call while something is forbidden.

        It is forbidden in one thread only, so student code must not start another one.
        """
        before = self.started()[0]
        mark = secrets.token_hex(8)
        plan = bans.planned(bans.named(self.refused))
        self.unrecorded(bans.hold, self.refused, mark, plan)
        try:
            result = self.ask("call", (function, list(args), kwargs))
        finally:
            if self.lost is None:  # its result is here: nothing that the student's code does now can change it
                self.unrecorded(bans.lift, self.refused, mark, plan)
        if self.started()[0] != before:
            self.end(ReasonKind.PROCESSES_WHERE_FORBIDDEN)
        return result

    def unrecorded(self, function: Callable[..., Any], *args: Any) -> None:
        """Run a function of the check library there, which tells nothing of the answer."""
        calls, self.calls_made = self.calls_made, None
        try:
            self.run_remotely(function, args, {})
        finally:
            self.calls_made = calls

    # ---- references -----------------------------------------------------------------------------------------------

    def refer(self, value: Any) -> dict[str, Any]:
        """The reference that crosses the wire in place of a value that is not plain data."""
        if isinstance(value, Handle):
            return {"h": value._number}
        if isinstance(value, failed.Failed):
            raise failed.StudentError(value)
        if (name := public_name(value)) is not None:
            return {"n": name}
        public = tuple(getattr(type(value), "PUBLIC", ()))
        if not (public or callable(value) or hasattr(value, "__next__")):
            kind = type(value).__name__
            advice = "give plain data, or an object with a PUBLIC interface"
            raise TypeError(f"a test handed a {kind} to student code: {advice}")
        if id(value) not in self.numbers:
            self.numbers[id(value)] = len(self.lent) + 1
            self.lent[len(self.lent) + 1] = (value, public)
        methods = [name for name in public if callable(getattr(type(value), name, None))]
        return {"k": [self.numbers[id(value)], list(public), methods]}

    def resolve(self, tag: str, body: Any) -> Any:
        """What a reference of the student's process stands for."""
        if tag == "h":
            number, kind, type_name = wire.Decoder.listed(body, 3)
            if type(number) is not int or type(kind) is not str or type(type_name) is not str:
                raise wire.Violation("a malformed handle")
            return Handle(self, number, kind, type_name if type_name.isidentifier() else "object")
        if tag == "k":
            if type(body) is not int or body not in self.lent:
                raise wire.Violation("a reference to nothing")
            return self.lent[body][0]
        raise wire.Violation("an unknown form of value")

    def called_back(self, head: dict[str, Any], value: Any, deadline: wire.Deadline) -> None:
        """Use a lent object as the student's code asks, and send it the result."""
        number, how = head.get("id"), head.get("how")
        if number not in self.lent or type(value) is not tuple or len(value) != 2:
            raise wire.Violation("a call to something it was not given")
        self.calls += 1
        if self.calls > MOST_CALLS_BACK:
            raise wire.Violation("too many calls back")
        try:
            result = self.use_lent(*self.lent[number], how, *value)
            parts = wire.pack({"op": "answer"}, result, self.refer)
        except Exception as error:  # noqa: BLE001  student code gets it, as if the object had raised it there
            described = [type(error).__module__, type(error).__name__, str(error)[:2000]]
            parts = wire.pack({"op": "refuse", "type": described}, None, self.refer)
        wire.send(self.sock, parts, deadline)

    def use_lent(self, target: Any, public: tuple[str, ...], how: Any, args: Any, kwargs: Any) -> Any:
        """Call an object, take its next item, or call or read one of its public names."""
        if how == "call":
            if not callable(target):
                raise TypeError("this object cannot be called")
            return target(*args, **kwargs)
        if how == "next":
            return [item] if (item := next(target, self)) is not self else []
        verb, _, name = how.partition(" ") if type(how) is str else ("", "", "")
        if name not in public or verb not in ("call", "get"):
            raise AttributeError("this object has no such part")
        return getattr(target, name)(*args, **kwargs) if verb == "call" else getattr(target, name)

    # ---- exceptions -----------------------------------------------------------------------------------------------

    def error_of(self, head: dict[str, Any], asked: Any = None) -> BaseException:
        """The student's exception under its own name, with the line it comes from."""
        error = remote_errors.from_message(head)
        if isinstance(error, RemoteError):
            error.place = self.checked_place(head.get("place"))
            error.stub = self.stub(asked) if isinstance(error, NotImplementedError) else None
        return error

    def stub(self, asked: Any) -> failed.Unwritten:
        """The name in the notebook that a request was about, and what its docstring asks for."""
        names = (handle._name or handle._type for handle in handles_in(asked))
        name = next((name for name in names if name in self.given), "")
        docstring = submitted_source.docstring_of(name, self.cells())
        return failed.Unwritten(name, failed.first_paragraph(docstring))

    def checked_place(self, place: Any) -> tuple[int, str]:
        """Line number and text, if the text is a line that was handed in: the process could send any text.

        No line is quoted of a notebook with very many lines: the choice of a line could tell what a hidden test gave.
        """
        if type(place) is not list or len(place) != 2 or type(place[0]) is not int or type(place[1]) is not str:
            return 0, ""
        if self.lines is None:
            lines = [(number, line) for cell in self.cells() for number, line in enumerate(cell.splitlines(), 1)]
            self.lines = {(number, line.strip()[:120]) for number, line in lines}
            if len(self.lines) > MOST_QUOTED_LINES:
                self.lines = set()
        return (place[0], place[1]) if (place[0], place[1]) in self.lines else (0, "")

    # ---- what the check library asks for ----------------------------------------------------------------------------

    def owns(self, value: Any) -> bool:
        """Is there a handle in this value?"""
        return next(handles_in(value), None) is not None

    def run_remotely(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function of the check library in the student's process, from source that is sent along."""
        module = function.__module__
        sources = []
        for name in dict.fromkeys([*SENT, *getattr(sys.modules[module], "SENT_ALONG", ()), module]):
            if name not in self.sent:
                self.sent.add(name)
                with open(str(sys.modules[name].__file__), encoding="utf-8") as file:
                    sources.append((name, file.read()))
        return self.ask("run", (sources, module, function.__qualname__, list(args), kwargs))

    def traffic(self, kernel: Handle, text: str, grid: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What a launch of a student's kernel moves (remote_kernels.py), recorded as one call."""
        calls, self.calls_made = self.calls_made, None
        answer: Any = None
        try:
            answer = remote_kernels.traffic(self, kernel._name, text, grid, args, kwargs)
        except Exception as error:
            answer = error
            raise
        finally:
            self.calls_made = calls
            if self.records("run"):
                asked = wire.pack({"op": "traffic"}, (kernel._name, grid, list(args), kwargs), self.refer)
                self.record(recognition.digest(asked), answer)
        return answer

    def lives_there(self, function: Any) -> bool:
        """Is this the student's, or a class of the course or of torch, whose objects student code uses as its own?"""
        if isinstance(function, Handle):
            return True
        name = public_name(function)
        return name is not None and name[0].partition(".")[0] in ("helpers", "torch")

    def keep(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.ask("keep", (function, list(args), kwargs))

    def put(self, value: Any) -> Any:
        return self.ask("put", value)

    def value(self, handle: Any) -> Any:
        return self.ask("value", handle)

    def seed(self, number: int) -> None:
        self.ask("seed", number)

    def settings(self) -> Any:
        return self.ask("settings", None)

    def meter(self) -> kernel_cost.ProcessMeter:
        return kernel_cost.ProcessMeter(self)

    def source(self, handle: Handle) -> str | None:
        """The submitted text of a name, as it was before this test (see submitted_source.py)."""
        if handle._name not in self.sources:
            self.sources[handle._name] = submitted_source.source_of(handle._name, self.cells(), self.given)
        return self.sources[handle._name]
