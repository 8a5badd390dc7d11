"""The student's side. Run as a program inside the sandbox it is the *nursery*: a warm process that holds nothing of the course's tests.

    nursery ── fork ── init (pid 1 of fresh namespaces) ── fork ── the student's process ── fork ── one clone per test cell

Nothing here is trusted by the examiner: whatever this process says is data. What protects others from it is set up before the first line of
student code runs, and by processes that run no student code. This file and its two neighbours are all the sandbox sees of the course's tools.
"""

from __future__ import annotations

import gc

if __name__ == "__main__":
    gc.disable()  # until all is imported: the collector would look through it a hundred times, for a second in all

import atexit
import builtins
import contextlib
import copy
import ctypes
import importlib
import json
import os
import pickle
import random
import select
import signal
import socket
import stat
import sys
import tempfile
import threading
import time
import traceback
import types
from collections.abc import Iterator
from typing import Any

try:
    import memory_watch
    import private_view as view
    import recorder
    import stops
    import student_rights
    import system_calls
    import wire
except ImportError:  # outside the sandbox it is a module of the package
    from autograder.examiner import memory_watch, recorder, stops, student_rights, system_calls, wire
    from autograder.examiner import private_view as view

import numpy as np
import torch

MOST_ENTRIES = 50_000
LOOK_SECONDS = 0.1  # between two looks at the memory of all
PR_SET_DUMPABLE = system_calls.PR_SET_DUMPABLE


# ---- the nursery ------------------------------------------------------------------------------------------------------


# The first figure, the first table and the first traceback fill caches that every student's process then has.
WARM_UP = """
import matplotlib.pyplot as _plt, numpy as _np
_figure, _axes = _plt.subplots(1, 2, figsize=(4, 2), layout="constrained")
_axes[0].plot([1, 2], [10, 1000], label=r"$x^2$, bold"); _axes[0].set_yscale("log"); _axes[0].legend(title="title"); _axes[0].set_title("Title $\\\\alpha$")
_axes[0].set_xlabel("x"); _axes[0].annotate("1", (1, 10)); _axes[0].grid(True)
_figure.colorbar(_axes[1].imshow(_np.eye(3)), ax=_axes[1])
_plt.show()
"""


def nursery(fds: list[int], modules: list[str], settings: dict[str, Any]) -> None:
    """Import what notebooks import, then serve one worker per socket, each from a forked copy of this process."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    recorder.import_all(modules)
    if "tqdm" in sys.modules:
        sys.modules["tqdm"].tqdm.monitor_interval = 0  # no thread that looks after bars: a thread of the student's is one the student made
    torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()  # the first operation and the first backward pass load more
    shell = recorder.new_shell(settings["output_bytes"])
    recorder.run_cell(shell, WARM_UP)
    recorder.run_cell(shell, recorder.FIRST_ERROR)
    recorder.run_cell(shell, "from helpers import colab\ncolab.ready()")
    shell.reset(new_session=True)
    for name in ("helpers.checks.guard", "helpers.checks.bans", "helpers.checks.meter", "helpers.checks.beside"):
        module = sys.modules.get(name)
        if module is not None and module.__file__ is not None:
            with open(module.__file__, encoding="utf-8") as file:
                compiled(name, file.read())
    names = fingerprint()
    settings["files"] = open_files()
    recorder.ready_to_fork()
    sockets = [socket.socket(fileno=fd) for fd in fds]
    children = []
    for number, sock in enumerate(sockets):
        pid = os.fork()
        if not pid:
            for other, unused in enumerate(sockets):
                if other != number:
                    unused.close()
            serve_worker(sock, shell, names, settings)
            os._exit(0)
        children.append(pid)
    for sock in sockets:
        sock.close()
    for pid in children:
        os.waitpid(pid, 0)


def serve_worker(sock: socket.socket, shell: Any, names: Names, settings: dict[str, Any]) -> None:
    """Fork a student's process per request; say when all of it is gone."""
    own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY) if settings["namespaces"] else -1
    while True:
        data, fds, _, _ = socket.recv_fds(sock, 65536, 5)
        if not data:
            return
        order = json.loads(data)
        control, lifeline, *group = fds
        try:
            if settings["namespaces"] and settings["one_user"]:
                pid = os.fork()
            else:
                if settings["namespaces"]:
                    view.new_process_numbers(own_pids)
                pid = os.fork()
        except OSError as error:
            sock.sendall(json.dumps({"error": str(error)}).encode())
            for fd in fds:
                os.close(fd)
            continue
        if not pid:
            sock.close()
            if own_pids >= 0:
                os.close(own_pids)
            try:
                if settings["namespaces"] and settings["one_user"]:
                    as_another_user(fds)
                made = memory_watch.Group(order["group"], *group) if group else None
                init(control, lifeline, shell, names, {**settings, **order}, made)
            finally:
                os._exit(70)
        for fd in fds:
            os.close(fd)
        sock.sendall(json.dumps({"pid": pid}).encode())
        _, status, usage = os.wait4(pid, 0)
        sock.sendall(json.dumps({"gone": status, "cpu": usage.ru_utime + usage.ru_stime}).encode())


def as_another_user(fds: list[int]) -> None:
    """A user namespace of its own; a process in between waits, and only its child returns from here."""
    view.new_user()
    pid = os.fork()
    if pid:
        for fd in fds:
            os.close(fd)
        os.waitpid(pid, 0)
        os._exit(0)


# ---- namespaces, limits, rights -----------------------------------------------------------------------------------------


def init(control: int, lifeline: int, shell: Any, names: Names, settings: dict[str, Any], group: memory_watch.Group | None) -> None:
    """Process 1 of the namespaces. When it ends everything in them ends; it ends when the examiner does."""
    if settings["namespaces"]:
        figures = view.private_view(settings)
    else:
        os.setsid()
        os.makedirs(settings["home"], exist_ok=True)
        figures = {}
    line = socket.socket(fileno=lifeline)

    poll = select.poll()
    poll.register(lifeline, select.POLLIN | select.POLLHUP)
    listeners = stops.Listeners(poll)

    def start_student(control: int) -> None:
        """This process has run nothing of the student's, so a copy of it is the state before the first cell, at any time."""
        ours, theirs = socket.socketpair()
        entered, enter = os.pipe()
        pid = os.fork()
        if pid:
            os.close(control)
            os.close(entered)
            theirs.close()
            if group is not None:
                group.take(pid)  # the kernel takes ten milliseconds for it; the student's process gets ready meanwhile
            os.write(enter, b"g")
            os.close(enter)
            listeners.add(ours)
            return
        line.close()
        ours.close()
        os.close(enter)
        listeners.close()
        for fd in figures.values():
            os.close(fd)
        if group is not None:
            group.close()
        stops.show_to(theirs, settings["seccomp"])
        student_process(control, entered, shell, names, settings)
        os._exit(0)

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    system_calls.system_call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)  # out of the student's reach before there is one
    start_student(control)
    memory = memory_watch.MemoryWatch(settings["memory_bytes"], group, figures, others)
    known: tuple[dict[str, tuple[int, ...]], set[int]] = {}, set()
    looked = 0.0

    def tell_memory() -> None:
        if memory.kernel_ended_one():
            with contextlib.suppress(OSError):
                os.write(lifeline, b"M")

    while True:
        for place, event in poll.poll(1000 * LOOK_SECONDS):
            if listeners.answered(place, event):
                continue
            gone = event & select.POLLHUP and not event & select.POLLIN
            order, fds, _, _ = (b"", [], 0, None) if gone else socket.recv_fds(line, 1, 1)
            if not order:
                end_everything(settings)
            if order == b"N":
                start_student(fds[0])
            elif order == b"S":
                known = contents(settings), processes()
            elif order == b"C":
                leave_only(settings, *known)
            elif order == b"M":
                tell_memory()
            reap()  # before an answer is given: "R" asks for nothing else
            with contextlib.suppress(OSError):
                os.write(lifeline, order.lower() + answer_to(order, figures, listeners))
        reap()
        if time.monotonic() - looked < LOOK_SECONDS / 2:
            continue
        looked = time.monotonic()
        victim = memory.too_large()
        if victim is None:
            tell_memory()
            continue
        with contextlib.suppress(OSError):
            os.write(lifeline, b"F" if memory.for_the_machine else b"M")
            os.kill(victim, signal.SIGKILL)


def answer_to(order: bytes, figures: dict[str, int], listeners: stops.Listeners) -> bytes:
    """What the answer to an order of the examiner's says beyond that it was carried out."""
    if order == b"P":
        return last_process(figures)
    return bytes([listeners.seen]) if order == b"K" else b""


def last_process(figures: dict[str, int]) -> bytes:
    """The number that the newest process or thread in here was given; without a namespace of its own everybody's would count."""
    if "loadavg" not in figures:
        return bytes(4)
    return int(os.pread(figures["loadavg"], 200, 0).split()[4]).to_bytes(4, "little")


def others() -> list[int]:
    """The processes of the submission."""
    mine = os.getpid()
    return descendants(mine) if mine != 1 else [pid for pid in processes() if pid != mine]


def contents(settings: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Every file the student could have written, with what changes when it is written to."""
    found: dict[str, tuple[int, ...]] = {}
    left = list(view.scratch_places(settings))
    while left and len(found) < MOST_ENTRIES:  # not os.walk: a folder can be made deeper than Python can recurse
        with contextlib.suppress(OSError), os.scandir(left.pop()) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    left.append(entry.path)
                    found[entry.path] = (status.st_ino,)
                else:
                    found[entry.path] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return found


def processes() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def leave_only(settings: dict[str, Any], files: dict[str, tuple[int, ...]], pids: set[int]) -> None:
    """Remove what came since: a test's inputs must not be found by the next one."""
    if settings["namespaces"]:
        for pid in processes() - pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    for path, now in sorted(contents(settings).items(), reverse=True):
        if files.get(path) != now:
            with contextlib.suppress(OSError):
                os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def end_everything(settings: dict[str, Any]) -> None:
    kill_all(settings)
    os._exit(0)


def kill_all(settings: dict[str, Any]) -> None:
    if settings["namespaces"]:
        with contextlib.suppress(OSError):
            os.kill(-1, signal.SIGKILL)
    else:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with contextlib.suppress(OSError):
            for pid in descendants(os.getpid()):
                os.kill(pid, signal.SIGKILL)


def descendants(root: int) -> list[int]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError), open(f"/proc/{name}/stat") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
    found = []
    for pid in parents:
        above = pid
        while above in parents and above != root:
            above = parents[above]
        if above == root and pid != root:
            found.append(pid)
    return found


# ---- the student's process ----------------------------------------------------------------------------------------------

# Where libraries keep what they compile: folders of the submission's own, made when they are needed.
CACHES = {
    "XDG_CACHE_HOME": "cache",
    "MPLCONFIGDIR": "cache/matplotlib",
    "IPYTHONDIR": "cache/ipython",
    "TORCHINDUCTOR_CACHE_DIR": "cache/torchinductor",
    "TRITON_CACHE_DIR": "cache/triton",
    "TORCH_EXTENSIONS_DIR": "cache/torch_extensions",
    "NUMBA_CACHE_DIR": "cache/numba",
}


def open_files() -> dict[int, int]:
    """Files that libraries keep open (fonts), and where they stand in them."""
    found = {}
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []:
        with contextlib.suppress(OSError):
            if int(name) > 2 and stat.S_ISREG(os.fstat(int(name)).st_mode):
                found[int(name)] = os.lseek(int(name), 0, os.SEEK_CUR)
    return found


def reopen(files: dict[int, int]) -> None:
    """The same files anew: a place in a file that all processes share would pass a number from one student to the next."""
    for number, place in files.items():
        with contextlib.suppress(OSError):
            new = os.open(f"/proc/self/fd/{number}", os.O_RDONLY)
            os.lseek(new, place, os.SEEK_SET)
            os.dup2(new, number, inheritable=False)
            os.close(new)


def student_process(control: int, entered: int, shell: Any, names: Names, settings: dict[str, Any]) -> None:
    """Give up every right, then run what the examiner sends: once init says that this process is counted in its memory cgroup."""
    os.setsid()
    home = view.HOME if settings["namespaces"] else settings["home"]
    reopen(settings["files"])
    student_rights.limit(settings)
    student_rights.give_up_rights(settings)
    os.chdir(home)
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.environ["HOME"] = home
    caches = "/tmp" if settings["own_tmp"] and settings["namespaces"] else home
    if caches == home:
        os.environ["TMPDIR"] = tempfile.tempdir = home
    os.environ.update({name: f"{caches}/{folder}" for name, folder in CACHES.items()})
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path.insert(0, "")  # modules beside the notebook, as in a kernel
    watch = Watch(home)
    sys.addaudithook(watch)
    shell.user_ns["__name__"] = "__main__"
    if os.read(entered, 1) != b"g":
        os._exit(70)
    os.close(entered)
    Server(socket.socket(fileno=control), shell, names, watch, settings["seccomp"]).serve()


class Watch:
    """What the student's Python did that a notebook has no reason to do. A report, not a protection."""

    EVENTS: tuple[str, ...] = (
        "socket.connect",
        "socket.bind",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "subprocess.Popen",
        "os.system",
        "os.exec",
    )
    EVENTS += ("os.posix_spawn", "os.kill", "os.killpg", "ctypes.dlopen", "sys.settrace", "sys.setprofile", "gc.get_objects")
    EVENTS += ("gc.get_referrers", "os.fork", "signal.pthread_kill")
    USUAL: tuple[str, ...] = (
        "/usr/",
        "/lib",
        "/bin/",
        "/etc/",
        "/dev/",
        "/tmp",
        "/course",
        "/run/examiner/",
        "/proc/self/stat",
        "/proc/meminfo",
        "/proc/cpuinfo",
    )
    USUAL += ("/sys/devices", "/sys/fs/cgroup", sys.prefix, sys.base_prefix)
    # What a library reads for reasons of its own, by the package that does.
    LIBRARIES: tuple[tuple[str, str], ...] = (("/proc/mounts", "transformers"),)
    CELL = "<ipython-input-"  # how the code of cells is called

    def __init__(self, home: str) -> None:
        self.home = home
        self.seen: list[str] = []
        self.told = 0
        self.cell = "\0"  # what the code of the cell that runs is called
        self.busy = True

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self.busy or len(self.seen) > 200:
            return
        if event == "open":
            self.opened(args)
        elif event in self.EVENTS:
            self.note(f"{event}{self.short(args)}")

    def opened(self, args: tuple[Any, ...]) -> None:
        path, _, flags = args
        if not isinstance(path, str | bytes):
            return
        path = os.fsdecode(path)
        if not path.startswith("/"):
            if ".." not in path:
                return
            path = os.path.abspath(path)
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes and not path.startswith((self.home, "/tmp", "/dev/")):
            self.note(f"write outside the scratch folder: {path[:200]}")
        elif not path.startswith((self.home, *self.USUAL)) and not self.library_reads(path):
            self.note(f"read outside the scratch folder: {path[:200]}")

    def library_reads(self, path: str) -> bool:
        """Is this a library's own doing: does the line that asks for it stand in an installed file of that library?"""
        packages = tuple(
            os.path.join(place, package, "") for known, package in self.LIBRARIES if known == path for place in sys.path if place
        )
        caller = next((name for name in callers() if not standard(name)), "")
        return bool(packages) and caller.startswith(packages) and caller.startswith((sys.prefix, sys.base_prefix))

    def note(self, text: str) -> None:
        """With a mark where the cell that runs did it itself, with the help of libraries: no other code of the student's took part."""
        names = list(callers())
        own = all(name.startswith((self.cell, *INSTALLED)) for name in names) and any(name.startswith(self.cell) for name in names)
        text = f"{'cell' if own else 'code'} {text}"
        if text not in self.seen:
            self.seen.append(text)

    def news(self) -> list[str]:
        """What has not been told yet."""
        found, self.told = self.seen[self.told :], len(self.seen)
        return found

    @staticmethod
    def short(args: tuple[Any, ...]) -> str:
        plain = [a if isinstance(a, str | int | bytes | tuple | list) else type(a).__name__ for a in args]
        return str(tuple(plain))[:160]


STANDARD = os.path.dirname(os.__file__) + "/"
INSTALLED = (sys.prefix + "/", STANDARD, "/course/", "/run/examiner/", "<frozen ")


def standard(name: str) -> bool:
    """Is this a file of Python's own?"""
    return name.startswith(("<frozen ", STANDARD)) and "-packages/" not in name


def callers() -> Iterator[str]:
    """The files of the code that is being run, innermost first, without this one's."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename != __file__:
            yield frame.f_code.co_filename
        frame = frame.f_back


WATCHED: tuple[str, ...] = (
    "builtins",
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.linalg",
    "torch.autograd",
    "torch.testing",
    "numpy",
    "numpy.testing",
)
WATCHED += (
    "numpy.random",
    "math",
    "random",
    "os",
    "sys",
    "time",
    "json",
    "socket",
    "subprocess",
    "traceback",
    "linecache",
    "inspect",
    "unittest",
)
WATCHED += (
    "helpers.checks",
    "helpers.checks.check",
    "helpers.checks.bans",
    "helpers.checks.beside",
    "helpers.checks.compare",
    "helpers.checks.guard",
    "helpers.checks.report",
)
WATCHED += ("student", "recorder", "wire")
CLASSES = (
    "student.Server",
    "recorder.Shell",
    "recorder.Tape",
    "wire.Encoder",
    "torch.Tensor",
    "torch.nn.Module",
    "torch.optim.Optimizer",
    "helpers.checks.check.Check",
)
LIVELY = {
    "sys.last_type",
    "sys.last_value",
    "sys.last_traceback",
    "sys.last_exc",
    "sys.stdout",
    "sys.stderr",
    "sys.displayhook",
    "sys.excepthook",
}
LIVELY |= {
    "builtins._",
    "linecache.cache",
    "sys.ps1",
    "sys.ps2",
    "builtins.display",
    "sys.flags",
    "sys.breakpointhook",
    "torch.__getattr__",
}


ADDED_BY_LIBRARIES = {"torch.nn.Module.smart_apply"}  # by transformers, with the first model it makes


Names = dict[str, tuple[int, dict[str, int]]]  # of modules and classes: how often they had been changed, and what their names stood for


def fingerprint() -> Names:
    """Where the names of the libraries point, before the student's first line."""
    found = {}
    for owner in (*WATCHED, *CLASSES):
        place = names_in(owner)
        if place is not None:
            found[owner] = version(place), {k: id(v) for k, v in place.items() if callable(v) and f"{owner}.{k}" not in LIVELY}
    return found


def names_in(owner: str) -> dict[str, Any] | None:
    """The names of a module, or of a class in one."""
    if owner in sys.modules:
        return vars(sys.modules[owner])
    module, _, name = owner.rpartition(".")
    cls = getattr(sys.modules.get(module), name, None)
    return gc.get_referents(vars(cls))[0] if isinstance(cls, type) else None  # the dictionary itself, not the view of it


def version(names: dict[str, Any]) -> int:
    """A number that Python 3.11 changes with every change of a dictionary; -1 where there is none.

    To compare the names themselves would touch thousands of objects, and so copy a thousand pages of this process.
    """
    return ctypes.c_uint64.from_address(id(names) + 24).value if sys.version_info < (3, 12) else -1


def replaced(before: Names) -> tuple[list[str], list[str]]:
    """Names that now stand for something else, and names that classes have in addition."""
    changed, added = [], []
    for owner, (number, names) in before.items():
        place = names_in(owner)
        if place is not None and version(place) == number != -1:
            continue
        now = place or {}
        changed += [f"{owner}.{key}" for key, known in names.items() if key not in now or id(now[key]) != known]
        if owner in CLASSES:
            added += [f"{owner}.{key}" for key, value in list(now.items()) if callable(value) and key not in names]
    return sorted(changed), sorted(name for name in added if name not in ADDED_BY_LIBRARIES)


def hooks(shell: Any) -> dict[str, Any]:
    """What a notebook can register to change how later cells run."""
    manager = shell.input_transformer_manager
    return {
        "input transformers": len(manager.cleanup_transforms) + len(manager.line_transforms) + len(manager.token_transformers),
        "input_transformers_post": len(shell.input_transformers_post),
        "AST transformers": len(shell.ast_transformers),
        **{f"{event} hooks": len(calls) for event, calls in shell.events.callbacks.items() if event != "post_execute"},
        "import hooks": len(sys.meta_path) + len(sys.path_hooks),
        "trace functions": int(sys.gettrace() is not None) + int(sys.getprofile() is not None),
        "SIGINT, SIGTERM, SIGALRM handlers": [signal.getsignal(s) is not d for s, d in USUAL],
        "custom exception handlers": len(shell.custom_exceptions),
    }


USUAL = [(signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL), (signal.SIGALRM, signal.SIG_DFL)]


class Server:
    """Answers one request after the other. While the student's code runs, it may ask back."""

    def __init__(self, sock: socket.socket, shell: Any, names: Names, watch: Watch, confined: bool = False) -> None:
        self.sock, self.shell, self.names, self.watch, self.confined = sock, shell, names, watch, confined
        self.objects: dict[int, Any] = {}
        self.next = 1
        self.waiting = False  # a copy, for its test
        self.hooks_before = hooks(shell)
        self.graphs: list[tuple[list[torch.Tensor], list[torch.Tensor]]] = []
        self.pid = os.getpid()
        self.exits = atexit._ncallbacks()
        self.threads = threading.active_count()
        self.interrupt: Any = signal.signal(signal.SIGINT, signal.SIG_IGN)  # cells can be interrupted; what is between them cannot

    # ---- messages

    def serve(self) -> None:
        self.tell({"op": "ready"}, None)
        while True:
            self.answer(*self.message())

    def message(self) -> tuple[dict[str, Any], Any, tuple[int, ...]]:
        data, fds, _, _ = socket.recv_fds(self.sock, wire.FIRST, 1)
        if not data:
            os._exit(0)
        text, buffers = wire.receive(self.sock, None, data)
        head, value = wire.unpack(text, buffers, self.resolve)
        return head, value, tuple(fds)

    def tell(self, head: dict[str, Any], value: Any) -> None:
        if os.getpid() != self.pid:  # a child that a cell forked and that came back here: it has nothing to say
            os._exit(0)
        try:
            parts = wire.pack(head, value, self.refer)
        except Exception as error:  # noqa: BLE001  a value whose own methods raise
            why = str(error) if isinstance(error, wire.NotPlain) else type(error).__name__
            answer = {"op": "error", "type": "ValueError", "mro": ["ValueError"], "message": f"what came back is unusable: {why}"}
            parts = wire.pack(answer, None, self.refer)
        wire.send(self.sock, parts)

    def refer(self, value: Any) -> dict[str, Any]:
        if isinstance(value, Far):
            return {"k": object.__getattribute__(value, "_far_id")}
        if isinstance(value, Kept):
            value = value.value
        number = self.next
        self.next += 1
        self.objects[number] = value
        kind = "function" if isinstance(value, types.FunctionType | types.BuiltinFunctionType | types.MethodType) else "object"
        return {"h": [number, "class" if isinstance(value, type) else kind, type(value).__name__[:60]]}

    def resolve(self, tag: str, body: Any) -> Any:
        if tag == "h":
            return self.objects[body]
        if tag == "k":
            number, public, methods = body
            return Far(self, number, tuple(public), tuple(methods))
        if tag == "n":
            found: Any = importlib.import_module(body[0])
            for part in body[1].split("."):
                found = getattr(found, part)
            return found
        raise wire.Violation(f"unknown tag {tag}")

    def answer(self, head: dict[str, Any], value: Any, fds: tuple[int, ...]) -> None:
        op, number = head["op"], {"n": head.get("n")}
        if op in ("clone", "spawn"):
            self.clone(fds[0], number)
            return
        for fd in fds:
            os.close(fd)
        if self.waiting and op != "cell":
            self.waiting = False
            student_rights.when_memory_runs_out(student_rights.GOES_FIRST)
        try:
            found = getattr(self, f"do_{op}")(value)
        except BaseException as error:  # noqa: BLE001  whatever the student's code raises is an answer
            self.tell({**described(error), **number}, None)
        else:
            self.tell({"op": "done", **number}, found)

    def clone(self, fd: int, number: dict[str, Any]) -> None:
        """Fork: the copy waits on its own socket with everything as it is now."""
        try:
            pid = fork_after_reaping()
        except OSError as error:
            os.close(fd)
            self.tell({"op": "done", **number}, f"cannot fork: {error.strerror}")
            return
        if pid:
            os.close(fd)
            self.tell({"op": "done", **number}, None)
            return
        self.sock.close()
        self.sock = socket.socket(fileno=fd)
        self.pid = os.getpid()
        os.setpgid(0, 0)
        torch.set_num_threads(1)
        if self.confined:
            system_calls.signal_only_itself()
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
        self.watch.busy = False
        outputs: list[Any] = []
        try:
            signal.signal(signal.SIGINT, self.interrupt or signal.SIG_DFL)  # None: a handler that is not Python's
            self.watch.cell = f"{self.watch.CELL}{self.shell.execution_count}-"
            outputs, _, _ = recorder.run_cell(self.shell, source)
        except KeyboardInterrupt:  # it came when the cell was just over
            pass
        finally:
            self.interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
            self.watch.busy = True
        return [json.dumps(outputs, default=str), *self.watch.news()]

    def do_end(self, value: Any) -> Any:
        """What the notebook has changed around itself."""
        found = []
        changed, added = replaced(self.names)
        if changed:
            found.append(f"names replaced: {', '.join(changed[:20])}" + (f" and {len(changed) - 20} more" if len(changed) > 20 else ""))
        if added:
            found.append(f"names added: {', '.join(added[:20])}")
        signal.signal(signal.SIGINT, self.interrupt or signal.SIG_DFL)
        after = hooks(self.shell)
        found += [f"{name} registered" for name, before in self.hooks_before.items() if after.get(name) != before]
        if atexit._ncallbacks() > self.exits + 2:
            found.append("atexit functions registered")
        if threading.active_count() > self.threads:
            found.append(f"{threading.active_count() - self.threads} threads still running")
        return found

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
        """A call, with what it changed in its arguments if that is asked for, and with its graph kept where gradients may be."""
        function, args, kwargs, traced, watched = value
        named = [*enumerate(args), *kwargs.items()] if watched else []
        before = [frozen(item) for _, item in named]
        found = function(*args, **kwargs)
        changes = [(place, item) for (place, item), old in zip(named, before, strict=True) if old is not None and changed(item, old)]
        if not traced:
            return found, changes, None
        self.graphs.append(([t for t in tensors_in([args, kwargs]) if t.requires_grad and t.is_leaf], tensors_in(found)))
        return found, changes, len(self.graphs) - 1

    def do_backward(self, value: Any) -> Any:
        """Gradients of a traced call's inputs."""
        number, cotangents = value
        leaves, outputs = self.graphs[number]
        pairs = [(out, g) for out, g in zip(outputs, cotangents, strict=True) if g is not None and out.requires_grad]
        if not pairs:
            return [None] * len(leaves)
        given = [g.to(out.dtype) for out, g in pairs]
        return list(torch.autograd.grad([out for out, _ in pairs], leaves, given, retain_graph=True, allow_unused=True))

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
        torch.default_generator.manual_seed(value)  # there is no other device here

    def do_carry(self, value: Any) -> Any:
        """Carry out one of the examiner's measurements here, from the source it sends."""
        sources, module, name, args, kwargs = value
        for key, text in sources:
            made = types.ModuleType(key)
            made.__file__ = f"<examiner {key}>"
            sys.modules[key] = made
            exec(compiled(key, text), made.__dict__)
        found: Any = sys.modules[module]
        for part in name.split("."):
            found = getattr(found, part)
        return found(*args, **kwargs)


def frozen(value: Any) -> Any:
    """Something to compare an argument with after a call; None for what cannot change."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in (list, dict, set):
        try:
            return pickle.dumps(value)
        except Exception:  # noqa: BLE001  it holds something of the examiner's: nothing to compare
            return None
    return None


def changed(value: Any, before: Any) -> bool:
    if isinstance(before, torch.Tensor):
        now = value.detach()
        return now.shape != before.shape or not bool(torch.isclose(now, before, rtol=0, atol=0, equal_nan=True).all())
    if isinstance(before, np.ndarray):
        return value.shape != before.shape or value.tobytes() != before.tobytes()
    return bool(frozen(value) != before)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Tensors in nested lists, tuples and dictionaries, in the examiner's order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [t for item in value for t in tensors_in(item)]
    return [t for item in value.values() for t in tensors_in(item)] if isinstance(value, dict) else []


_compiled: dict[tuple[str, str], types.CodeType] = {}


def compiled(name: str, text: str) -> types.CodeType:
    """Source as code; what the nursery has compiled already is not compiled again."""
    if (name, text) not in _compiled:
        _compiled[name, text] = compile(text, f"<examiner {name}>", "exec")
    return _compiled[name, text]


def fork_after_reaping() -> int:
    """Fork; where there are too many processes, first take away the children that have ended."""
    try:
        return os.fork()
    except OSError:
        reap()
        return os.fork()


def reap() -> None:
    """Take away children that have ended: until then they count among the processes there may be."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


class Kept:
    """Something that stays here, whatever it is: the examiner gets a handle on it."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Far:
    """An object or function of the examiner's, used from here: every use is counted there."""

    def __init__(self, server: Server, number: int, public: tuple[str, ...], methods: tuple[str, ...]) -> None:
        for key, value in (("_far_server", server), ("_far_id", number), ("_far_public", public), ("_far_methods", methods)):
            object.__setattr__(self, key, value)

    def __getattr__(self, name: str) -> Any:
        if name in object.__getattribute__(self, "_far_methods"):
            return lambda *args, **kwargs: ask_back(self, f"call {name}", args, kwargs)
        if name in object.__getattribute__(self, "_far_public"):
            return ask_back(self, f"get {name}", (), {})
        raise AttributeError(f"this object has no {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("this object cannot be changed")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return ask_back(self, "call", args, kwargs)

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        found = ask_back(self, "next", (), {})
        if not found:
            raise StopIteration
        return found[0]


def ask_back(far: Far, how: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    server = object.__getattribute__(far, "_far_server")
    server.tell({"op": "back", "id": object.__getattribute__(far, "_far_id"), "how": how}, (args, kwargs))
    while True:
        head, value, fds = server.message()
        if head["op"] == "answer":
            return value
        if head["op"] == "refuse":
            raise exception_of(head)
        server.answer(head, value, fds)


def exception_of(head: dict[str, Any]) -> BaseException:
    """The examiner's exception, raised here as what it is."""
    module, name, message = head["type"]
    found = getattr(builtins, name, None)
    if found is None:
        with contextlib.suppress(ImportError):
            found = getattr(importlib.import_module(module), name, None)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        found = RuntimeError
    made = found.__new__(found)
    made.args = (message,)
    return made


def described(error: BaseException) -> dict[str, Any]:
    """An exception as plain data, with the innermost line of it that is in a notebook cell."""
    line, text = 0, ""
    trace = []
    for frame in traceback.extract_tb(error.__traceback__):
        name = frame.filename
        ours = name.endswith(("student.py", "recorder.py", "wire.py")) and "/examiner/" in name
        installed = "site-packages" in name or "/helpers/" in name or "/lib/python" in name or name.startswith("<frozen") or ours
        if not installed and not name.startswith("<examiner") and frame.line:
            trace.append(f"line {frame.lineno}, in {frame.name}: {frame.line.strip()[:120]}")
            if frame.name != "<module>":
                line, text = frame.lineno or 0, frame.line.strip()[:120]
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


def start() -> None:
    """The program: settings arrive on standard input, sockets are inherited."""
    settings = json.loads(sys.stdin.read())
    nursery(settings.pop("fds"), settings.pop("modules"), settings)


if __name__ == "__main__":
    sys.modules["student"] = sys.modules["__main__"]
    start()
