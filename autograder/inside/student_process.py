"""The student's process, from its fork to the first request: it gives up its rights before student code runs."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import sys
import tempfile
from typing import Any

from . import audit, rights, stops
from .server import Server

# Where libraries keep what they compile: folders of the submission, made when they are needed.
CACHES = {
    "XDG_CACHE_HOME": "cache",
    "MPLCONFIGDIR": "cache/matplotlib",
    "IPYTHONDIR": "cache/ipython",
    "TORCHINDUCTOR_CACHE_DIR": "cache/torchinductor",
    "TRITON_CACHE_DIR": "cache/triton",
    "TORCH_EXTENSIONS_DIR": "cache/torch_extensions",
    "NUMBA_CACHE_DIR": "cache/numba",
}


def run(
    control: int,
    entered: int,
    reporter: socket.socket,
    shell: Any,
    names: audit.Names,
    settings: dict[str, Any],
) -> None:
    """Give up every right, then answer the examiner's requests.

    `entered` is a pipe: no student code runs before init says there that this process is in its memory cgroup. Through
    `reporter` init gets the listener that shows system calls.
    """
    os.setsid()
    home = settings["home"]
    reopen(settings["files"])
    rights.limit(settings)
    stops.show_to(reporter, settings["seccomp"])
    rights.give_up_rights(settings)
    os.chdir(home)
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    set_folders(home, settings["own_tmp"] and settings["namespaces"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path.insert(0, "")  # modules beside the notebook can be imported, as in a kernel
    watch = audit.Watch(home)
    sys.addaudithook(watch)
    shell.user_ns["__name__"] = "__main__"
    if os.read(entered, 1) != b"g":
        os._exit(70)
    os.close(entered)
    Server(socket.socket(fileno=control), shell, names, watch, settings["seccomp"]).serve()


def set_folders(home: str, own_tmp: bool) -> None:
    """Tell libraries where to put their files."""
    os.environ["HOME"] = home
    if not own_tmp:
        os.environ["TMPDIR"] = tempfile.tempdir = home
    caches = "/tmp" if own_tmp else home
    os.environ.update({name: f"{caches}/{folder}" for name, folder in CACHES.items()})


def open_files() -> dict[int, int]:
    """Descriptors of files that libraries keep open (fonts), and the position in each."""
    positions = {}
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []:
        with contextlib.suppress(OSError):
            if int(name) > 2 and stat.S_ISREG(os.fstat(int(name)).st_mode):
                positions[int(name)] = os.lseek(int(name), 0, os.SEEK_CUR)
    return positions


def reopen(positions: dict[int, int]) -> None:
    """Open these files again: forks share the position in a file, a covert channel from one student to the next."""
    for number, position in positions.items():
        with contextlib.suppress(OSError):
            new = os.open(f"/proc/self/fd/{number}", os.O_RDONLY)
            os.lseek(new, position, os.SEEK_SET)
            os.dup2(new, number, inheritable=False)
            os.close(new)
