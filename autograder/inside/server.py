"""Answers the examiner's requests in the student's process: runs cells, reads names, calls functions, forks clones.

While student code runs it may use objects of the examiner's (RemoteObject): then this side asks, and the examiner
answers.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import copy
import importlib
import json
import os
import pickle
import random
import signal
import socket
import sys
import threading
import traceback
import types
from typing import Any

import numpy as np
import torch

from . import audit, rights, seccomp, wire
from . import shell as shells
from .processes import fork_after_reaping, reap_these


class Server:
    """Answers one request after the other."""

    def __init__(
        self,
        sock: socket.socket,
        shell: Any,
        names: audit.Names,
        watch: audit.Watch,
        confined: bool = False,
    ) -> None:
        self.sock, self.shell, self.names, self.watch, self.confined = sock, shell, names, watch, confined
        self.objects: dict[int, Any] = {}  # what the examiner has handles on, by number
        self.next = 1
        self.waiting = False  # this process is a clone whose test has not begun
        self.clones: set[int] = set()  # children of this process; ended ones count towards the limit on processes
        self.graphs: list[tuple[list[torch.Tensor], list[torch.Tensor]]] = []  # leaves and outputs of traced calls
        self.pid = os.getpid()
        self.hooks_before = audit.hooks(shell)
        self.exits_before = atexit._ncallbacks()
        self.threads_before = threading.active_count()
        # Cells can be interrupted, the server between them cannot: here is the handler that cells get.
        self.interrupt: Any = signal.signal(signal.SIGINT, signal.SIG_IGN)

    # ---- messages

    def serve(self) -> None:
        self.tell({"op": "ready"}, None)
        while True:
            self.answer(*self.message())

    def message(self) -> tuple[dict[str, Any], Any, tuple[int, ...]]:
        """The next message: its head, its value, and the file descriptors that came with it."""
        data, fds, _, _ = socket.recv_fds(self.sock, wire.FIRST, 1)
        if not data:
            os._exit(0)
        text, buffers = wire.receive(self.sock, None, data)
        head, value = wire.unpack(text, buffers, self.resolve)
        return head, value, tuple(fds)

    def tell(self, head: dict[str, Any], value: Any) -> None:
        if os.getpid() != self.pid:  # a cell forked, and the child has returned to here: only the parent answers
            os._exit(0)
        try:
            parts = wire.pack(head, value, self.refer)
        except Exception as error:  # noqa: BLE001  a value whose own methods raise
            why = str(error) if isinstance(error, wire.NotPlain) else type(error).__name__
            message = f"what came back is unusable: {why}"
            answer = {"op": "error", "type": "ValueError", "mro": ["ValueError"], "message": message}
            parts = wire.pack(answer, None, self.refer)
        wire.send(self.sock, parts)

    def refer(self, value: Any) -> dict[str, Any]:
        """The reference that crosses the wire in place of a value that is not plain data."""
        if isinstance(value, RemoteObject):
            return {"k": object.__getattribute__(value, "_remote_id")}
        if isinstance(value, Kept):
            value = value.value
        number = self.next
        self.next += 1
        self.objects[number] = value
        functions = types.FunctionType | types.BuiltinFunctionType | types.MethodType
        kind = "class" if isinstance(value, type) else "function" if isinstance(value, functions) else "object"
        return {"h": [number, kind, type(value).__name__[:60]]}

    def resolve(self, tag: str, body: Any) -> Any:
        """What a reference of the examiner's stands for."""
        if tag == "h":
            return self.objects[body]
        if tag == "k":
            number, public, methods = body
            return RemoteObject(self, number, tuple(public), tuple(methods))
        if tag == "n":
            return attribute(importlib.import_module(body[0]), body[1])
        raise wire.Violation(f"unknown tag {tag}")

    def answer(self, head: dict[str, Any], value: Any, fds: tuple[int, ...]) -> None:
        op, number = head["op"], {"n": head.get("n")}
        if op in ("clone", "spawn"):
            self.clone(fds[0], number)
            return
        for fd in fds:
            os.close(fd)
        if self.waiting and op != "cell":  # the test begins
            self.waiting = False
            rights.set_oom_score(rights.OOM_TESTED_CLONE)
        try:
            result = getattr(self, f"do_{op}")(value)
        except BaseException as error:  # noqa: BLE001  whatever student code raises is an answer
            self.tell({**described(error), **number}, None)
        else:
            self.tell({"op": "done", **number}, result)

    def clone(self, fd: int, number: dict[str, Any]) -> None:
        """Fork: the clone waits on its own socket with everything as it is now."""
        reap_these(self.clones)
        try:
            pid = fork_after_reaping()
        except OSError as error:
            os.close(fd)
            self.tell({"op": "done", **number}, f"cannot fork: {error.strerror}")
            return
        if pid:
            self.clones.add(pid)
            os.close(fd)
            self.tell({"op": "done", **number}, None)
            return
        self.clones = set()
        self.sock.close()
        self.sock = socket.socket(fileno=fd)
        self.pid = os.getpid()
        os.setpgid(0, 0)
        torch.set_num_threads(1)  # torch's other threads do not survive a fork, and it would wait for them
        if self.confined:
            seccomp.refuse_signals_to_others()
        self.waiting = True
        self.tell({"op": "ready"}, None)

    # ---- cells

    def do_files(self, value: Any) -> list[str]:
        """Put the assignment's data files into the scratch folder; gives the names of those that do not fit."""
        left_out = []
        for name, data in value:
            try:
                os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
                with open(name, "wb") as file:
                    file.write(data)
            except OSError:
                left_out.append(name)
        return left_out

    def do_cell(self, source: str) -> Any:
        """Run a cell; gives its outputs as JSON, and what the audit has noted."""
        self.watch.busy = False
        outputs: list[Any] = []
        try:
            signal.signal(signal.SIGINT, self.interrupt or signal.SIG_DFL)  # None: a handler that is not Python's
            self.watch.cell = f"{audit.CELL}{self.shell.execution_count}-"
            outputs, _, _ = shells.run_cell(self.shell, source)
        except KeyboardInterrupt:  # it came just after the cell had ended
            pass
        finally:
            self.interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
            self.watch.busy = True
        return [json.dumps(outputs, default=str), *self.watch.news()]

    def do_end(self, value: Any) -> Any:
        """What the notebook has changed around itself."""
        changes = audit.describe_replaced(self.names)
        signal.signal(signal.SIGINT, self.interrupt or signal.SIG_DFL)
        after = audit.hooks(self.shell)
        changes += [f"{name} registered" for name, before in self.hooks_before.items() if after.get(name) != before]
        if atexit._ncallbacks() > self.exits_before + 2:
            changes.append("atexit functions registered")
        if threading.active_count() > self.threads_before:
            changes.append(f"{threading.active_count() - self.threads_before} threads still running")
        return changes

    # ---- the student's names and objects

    def do_get(self, name: str) -> Any:
        try:
            return self.shell.user_ns[name]
        except KeyError:
            raise NameError(f"name {name!r} is not defined") from None

    def do_bind(self, value: Any) -> None:
        name, given = value
        self.shell.user_ns[name] = given

    def do_unbind(self, name: str) -> None:
        self.shell.user_ns.pop(name, None)

    def do_call(self, value: Any) -> Any:
        function, args, kwargs = value
        return function(*args, **kwargs)

    def do_use(self, value: Any) -> Any:
        """Call. Gives the result, the arguments that it changed if `watched`, the number of its graph if `traced`.

        A change is (place, None, argument) or, for a tensor inside a list or dictionary, (place, its number, tensor).
        """
        function, args, kwargs, traced, watched = value
        places = [*enumerate(args), *kwargs.items()] if watched else []
        inner = [((place, at), tensor) for place, item in places for at, tensor in enumerate(tensors_inside(item))]
        named = [*inner, *(((place, None), item) for place, item in places)]
        before = [snapshot(item) for _, item in named]
        result = function(*args, **kwargs)
        compared = zip(named, before, strict=True)
        changes = [(*place, item) for (place, item), old in compared if old is not None and changed(item, old)]
        if not traced:
            return result, changes, None
        leaves = [t for t in tensors_in([args, kwargs]) if t.requires_grad and t.is_leaf]
        self.graphs.append((leaves, tensors_in(result)))
        return result, changes, len(self.graphs) - 1

    def do_backward(self, value: Any) -> Any:
        """Gradients of a traced call's inputs."""
        number, cotangents = value
        leaves, outputs = self.graphs[number]
        pairs = [(out, g) for out, g in zip(outputs, cotangents, strict=True) if g is not None and out.requires_grad]
        if not pairs:
            return [None] * len(leaves)
        given = [g.to(out.dtype) for out, g in pairs]
        outs = [out for out, _ in pairs]
        return list(torch.autograd.grad(outs, leaves, given, retain_graph=True, allow_unused=True))

    def do_keep(self, value: Any) -> Any:
        return Kept(self.do_call(value))

    def do_put(self, value: Any) -> Any:
        return Kept(value)

    def do_value(self, value: Any) -> Any:
        return value

    def do_attr(self, value: Any) -> Any:
        owner, name = value
        return getattr(owner, name)

    def do_setattr(self, value: Any) -> None:
        owner, name, given = value
        setattr(owner, name, given)

    def do_item(self, value: Any) -> Any:
        return value[0][value[1]]

    def do_setitem(self, value: Any) -> None:
        value[0][value[1]] = value[2]

    def do_len(self, value: Any) -> int:
        return len(value)

    def do_iter(self, value: Any) -> Any:
        return Kept(iter(value))

    def do_next(self, value: Any) -> Any:
        try:
            return [next(value)]
        except StopIteration:
            return []

    def do_contains(self, value: Any) -> bool:
        return bool(value[1] in value[0])

    def do_deepcopy(self, value: Any) -> Any:
        return copy.deepcopy(value)

    def do_seed(self, value: int) -> None:
        random.seed(value)
        np.random.seed(value % 2**32)
        # torch.manual_seed would also look for other devices: there are none.
        torch.default_generator.manual_seed(value)

    def do_settings(self, value: Any) -> list[Any]:
        return [str(torch.get_default_dtype()), torch.is_grad_enabled()]

    def do_run(self, value: Any) -> Any:
        """Run a function of the check library here, from the source that the examiner sends."""
        sources, module, name, args, kwargs = value
        for key, text in sources:
            made = types.ModuleType(key)
            made.__file__ = f"<examiner {key}>"
            sys.modules[key] = made
            exec(compiled(key, text), made.__dict__)
        return attribute(sys.modules[module], name)(*args, **kwargs)


# ---- arguments before and after a call -------------------------------------------------------------------------------


def snapshot(value: Any) -> Any:
    """Something to compare an argument with after a call; None for what cannot change."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in (list, dict, set):
        try:
            return pickle.dumps(value)
        except Exception:  # noqa: BLE001  it holds an object of the examiner's, which cannot be pickled or compared
            return None
    return None


def changed(value: Any, before: Any) -> bool:
    if isinstance(before, torch.Tensor):
        now = value.detach()
        return now.shape != before.shape or not bool(torch.isclose(now, before, rtol=0, atol=0, equal_nan=True).all())
    if isinstance(before, np.ndarray):
        return value.shape != before.shape or value.tobytes() != before.tobytes()
    return bool(snapshot(value) != before)


def tensors_inside(value: Any) -> list[torch.Tensor]:
    return [] if isinstance(value, torch.Tensor) else tensors_in(value)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Tensors in nested lists, tuples and dictionaries, in the order in which the examiner counts them, too."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [t for item in value for t in tensors_in(item)]
    return [t for item in value.values() for t in tensors_in(item)] if isinstance(value, dict) else []


# ---- code ------------------------------------------------------------------------------------------------------------

_compiled: dict[tuple[str, str], types.CodeType] = {}


def compiled(name: str, text: str) -> types.CodeType:
    """Source as code; what the nursery has compiled is not compiled again."""
    if (name, text) not in _compiled:
        _compiled[name, text] = compile(text, f"<examiner {name}>", "exec")
    return _compiled[name, text]


def attribute(owner: Any, path: str) -> Any:
    """`owner.a.b` for the path "a.b"."""
    for part in path.split("."):
        owner = getattr(owner, part)
    return owner


# ---- references ------------------------------------------------------------------------------------------------------


class Kept:
    """A result that stays here even if it is plain data: the examiner gets a handle on it."""

    def __init__(self, value: Any) -> None:
        self.value = value


class RemoteObject:
    """An object or function of the examiner's. It runs there, and every use is counted there."""

    def __init__(self, server: Server, number: int, public: tuple[str, ...], methods: tuple[str, ...]) -> None:
        fields = {"server": server, "id": number, "public": public, "methods": methods}
        for key, value in fields.items():
            object.__setattr__(self, f"_remote_{key}", value)

    def __getattr__(self, name: str) -> Any:
        if name in object.__getattribute__(self, "_remote_methods"):
            return lambda *args, **kwargs: ask_examiner(self, f"call {name}", args, kwargs)
        if name in object.__getattribute__(self, "_remote_public"):
            return ask_examiner(self, f"get {name}", (), {})
        raise AttributeError(f"this object has no {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("this object cannot be changed")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return ask_examiner(self, "call", args, kwargs)

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        items = ask_examiner(self, "next", (), {})
        if not items:
            raise StopIteration
        return items[0]


def ask_examiner(remote: RemoteObject, how: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Use an object of the examiner's. Until its answer comes, the examiner may send requests of its own."""
    server = object.__getattribute__(remote, "_remote_server")
    server.tell({"op": "back", "id": object.__getattribute__(remote, "_remote_id"), "how": how}, (args, kwargs))
    while True:
        head, value, fds = server.message()
        if head["op"] == "answer":
            return value
        if head["op"] == "refuse":
            raise exception_of(head)
        server.answer(head, value, fds)


# ---- exceptions ------------------------------------------------------------------------------------------------------


def exception_of(head: dict[str, Any]) -> BaseException:
    """The examiner's exception, raised here as an exception of the same class."""
    module, name, message = head["type"]
    cls = getattr(builtins, name, None)
    if cls is None:
        with contextlib.suppress(ImportError):
            cls = getattr(importlib.import_module(module), name, None)
    if not (isinstance(cls, type) and issubclass(cls, Exception)):
        cls = RuntimeError
    error = cls.__new__(cls)
    error.args = (message,)
    return error


def is_student_code(filename: str) -> bool:
    """Is this the code of a cell, or a file that was handed in?"""
    if "site-packages" in filename or "/helpers/" in filename or "/lib/python" in filename:
        return False
    return not filename.startswith(("<frozen", "<examiner")) and os.path.dirname(filename) != audit.HERE


def described(error: BaseException) -> dict[str, Any]:
    """An exception as plain data, with the innermost line of student code that is in a function."""
    line, text = 0, ""
    trace = []
    for frame in traceback.extract_tb(error.__traceback__):
        if is_student_code(frame.filename) and frame.line:
            quoted = frame.line.strip()[:120]
            trace.append(f"line {frame.lineno}, in {frame.name}: {quoted}")
            if frame.name != "<module>":
                line, text = frame.lineno or 0, quoted
    names = [c.__name__ for c in type(error).__mro__ if c not in (object, BaseException)]
    try:
        message = str(error)[:2000]
    except Exception:  # noqa: BLE001  an exception whose own text raises
        message = ""
    return {
        "op": "error",
        "type": type(error).__name__[:80],
        "mro": names[:20],
        "message": message,
        "place": [line, text],
        "trace": trace[-12:],
    }
