"""What student code did that a notebook has no reason to do, and which names of libraries it replaced.

A report, not a protection: it comes from the student's own process, where a clever student can silence it. No score
depends on it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import types
from collections.abc import Iterator
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
STANDARD_LIBRARY = os.path.dirname(os.__file__) + "/"
INSTALLED = (sys.prefix + "/", STANDARD_LIBRARY, "/course/", "/run/examiner/", "<frozen ")
MOST_NOTES = 200


# ---- attempts: what the audit hook of Python reports -----------------------------------------------------------------

REPORTED_EVENTS = {
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname"),
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork"),
    *("os.kill", "os.killpg", "signal.pthread_kill"),
    *("ctypes.dlopen", "sys.settrace", "sys.setprofile", "gc.get_objects", "gc.get_referrers"),
}
# Paths that libraries read in any notebook.
USUAL_PATHS = (
    *("/usr/", "/lib", "/bin/", "/etc/", "/dev/", "/tmp", "/course", "/run/examiner/"),
    *("/proc/self/stat", "/proc/meminfo", "/proc/cpuinfo", "/sys/devices", "/sys/fs/cgroup"),
    *(sys.prefix, sys.base_prefix),
)
READ_BY_PACKAGE = (("/proc/mounts", "transformers"),)  # paths that one installed package reads, and only it
CELL = "<ipython-input-"  # how IPython names the code of a cell


class Watch:
    """The audit hook: notes what code of the student's does while a cell runs."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.seen: list[str] = []
        self.told = 0
        self.cell = "\0"  # the file name of the cell that runs
        self.busy = True  # the server is at work, no cell

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self.busy or len(self.seen) > MOST_NOTES:
            return
        if event == "open":
            self.opened(args)
        elif event in REPORTED_EVENTS:
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
        elif not path.startswith((self.home, *USUAL_PATHS)) and not self.read_by_package(path):
            self.note(f"read outside the scratch folder: {path[:200]}")

    def read_by_package(self, path: str) -> bool:
        """Does the line that opens this file belong to the installed package that is known to read it?"""
        packages = [package for known, package in READ_BY_PACKAGE if known == path]
        folders = tuple(os.path.join(place, package, "") for package in packages for place in sys.path if place)
        caller = next((name for name in callers() if not in_standard_library(name)), "")
        return bool(folders) and caller.startswith(folders) and caller.startswith((sys.prefix, sys.base_prefix))

    def note(self, text: str) -> None:
        """Marked "cell" where only the running cell and libraries took part, "code" where other student code did."""
        names = list(callers())
        in_cell = any(name.startswith(self.cell) for name in names)
        own = in_cell and all(name.startswith((self.cell, *INSTALLED)) for name in names)
        text = f"{'cell' if own else 'code'} {text}"
        if text not in self.seen:
            self.seen.append(text)

    def news(self) -> list[str]:
        """What was noted since the last call."""
        notes, self.told = self.seen[self.told :], len(self.seen)
        return notes

    @staticmethod
    def short(args: tuple[Any, ...]) -> str:
        plain = [a if isinstance(a, str | int | bytes | tuple | list) else type(a).__name__ for a in args]
        return str(tuple(plain))[:160]


def in_standard_library(name: str) -> bool:
    return name.startswith(("<frozen ", STANDARD_LIBRARY)) and "-packages/" not in name


def callers() -> Iterator[str]:
    """The files of the code that is being run, innermost first, without those of this package."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if os.path.dirname(frame.f_code.co_filename) != HERE:
            yield frame.f_code.co_filename
        frame = frame.f_back


# ---- names of libraries that now stand for something else ------------------------------------------------------------

OWN_MODULES = ("nursery", "init", "rights", "scratch", "seccomp", "student_process", "server", "audit", "shell", "wire")
CHECK_MODULES = (
    *("check", "bans", "compare", "cost_checks", "credit", "failed", "quiet"),
    *("recording", "report", "source_checks", "student_side"),
)
WATCHED_MODULES = (
    *("builtins", "math", "random", "os", "sys", "time", "json", "socket", "subprocess"),
    *("traceback", "linecache", "inspect", "unittest"),
    *("torch", "torch.nn", "torch.nn.functional", "torch.linalg", "torch.autograd", "torch.testing"),
    *("numpy", "numpy.testing", "numpy.random"),
    "helpers.checks",
    *(f"helpers.checks.{name}" for name in CHECK_MODULES),
    *(f"{__package__}.{name}" for name in OWN_MODULES),
)
WATCHED_CLASSES = (
    *(f"{__package__}.{name}" for name in ("server.Server", "shell.Shell", "shell.OutputRecorder", "wire.Encoder")),
    *("torch.Tensor", "torch.nn.Module", "torch.optim.Optimizer"),
    *("helpers.checks.check.Check", "helpers.checks.recording.Recorder"),
)
# Names that Python and IPython change themselves.
VOLATILE = {
    *("sys.last_type", "sys.last_value", "sys.last_traceback", "sys.last_exc"),
    *("sys.stdout", "sys.stderr", "sys.displayhook", "sys.excepthook", "sys.breakpointhook"),
    *("sys.ps1", "sys.ps2", "sys.flags", "builtins._", "builtins.display", "linecache.cache", "torch.__getattr__"),
}
ADDED_BY_LIBRARIES = {"torch.nn.Module.smart_apply"}  # by transformers, with the first model it makes

# By module or class: the version of its dictionary, and the identity of what each name stands for.
Names = dict[str, tuple[int, dict[str, int]]]


def fingerprint() -> Names:
    """What the names of the libraries stand for, before the student's first line."""
    names: Names = {}
    for owner in (*WATCHED_MODULES, *WATCHED_CLASSES):
        namespace = namespace_of(owner)
        if namespace is not None:
            stable = {k: id(v) for k, v in namespace.items() if callable(v) and f"{owner}.{k}" not in VOLATILE}
            names[owner] = version(namespace), stable
    return names


def namespace_of(owner: str) -> dict[str, Any] | None:
    """The dictionary of a module, or of a class in one."""
    if owner in sys.modules:
        return vars(sys.modules[owner])
    module, _, name = owner.rpartition(".")
    cls = getattr(sys.modules.get(module), name, None)
    return gc.get_referents(vars(cls))[0] if isinstance(cls, type) else None  # vars() of a class is only a view of it


def version(namespace: dict[str, Any]) -> int:
    """A number that Python 3.11 changes with every change of a dictionary; -1 where there is none.

    Comparing the names themselves touches thousands of objects, and so copies a thousand pages of this process.
    """
    return ctypes.c_uint64.from_address(id(namespace) + 24).value if sys.version_info < (3, 12) else -1


def replaced(before: Names) -> tuple[list[str], list[str]]:
    """Names that now stand for something else, and names that were added to classes."""
    changed, added = [], []
    for owner, (number, names) in before.items():
        namespace = namespace_of(owner)
        if namespace is not None and version(namespace) == number != -1:
            continue
        now = namespace or {}
        changed += [f"{owner}.{key}" for key, known in names.items() if key not in now or id(now[key]) != known]
        if owner in WATCHED_CLASSES:
            added += [f"{owner}.{key}" for key, value in list(now.items()) if callable(value) and key not in names]
    return sorted(changed), sorted(name for name in added if name not in ADDED_BY_LIBRARIES)


def describe_replaced(before: Names) -> list[str]:
    changed, added = replaced(before)
    lines = []
    if changed:
        more = f" and {len(changed) - 20} more" if len(changed) > 20 else ""
        lines.append(f"names replaced: {', '.join(changed[:20])}{more}")
    if added:
        lines.append(f"names added: {', '.join(added[:20])}")
    return lines


# ---- hooks that change how later cells run ---------------------------------------------------------------------------

USUAL_HANDLERS = [
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGTERM, signal.SIG_DFL),
    (signal.SIGALRM, signal.SIG_DFL),
]


def hooks(shell: Any) -> dict[str, Any]:
    """What a notebook can register to change how later cells run, by name."""
    manager = shell.input_transformer_manager
    transformers = (manager.cleanup_transforms, manager.line_transforms, manager.token_transformers)
    return {
        "input transformers": sum(map(len, transformers)),
        "input_transformers_post": len(shell.input_transformers_post),
        "AST transformers": len(shell.ast_transformers),
        **{f"{event} hooks": len(calls) for event, calls in shell.events.callbacks.items() if event != "post_execute"},
        "import hooks": len(sys.meta_path) + len(sys.path_hooks),
        "trace functions": int(sys.gettrace() is not None) + int(sys.getprofile() is not None),
        "SIGINT, SIGTERM, SIGALRM handlers": [signal.getsignal(s) is not usual for s, usual in USUAL_HANDLERS],
        "custom exception handlers": len(shell.custom_exceptions),
    }
