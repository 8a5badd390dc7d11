"""`course doctor` inside the sandbox: a process with a student's rights tries what must not work, and says what happened.

Run as a program in place of the nursery, with settings on standard input; the answer on standard output is a list of [name, held, detail].
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

try:
    import memory_watch
    import private_view as view
    import student_rights
except ImportError:  # outside the sandbox it is a module of the package
    from autograder.examiner import memory_watch, student_rights
    from autograder.examiner import private_view as view

Answer = list[tuple[str, bool, str]]
FILLERS = 4  # processes that fill socket buffers
SECONDS = 10.0


def fails(attempt: Callable[[], Any]) -> bool:
    try:
        attempt()
    except (OSError, MemoryError, ValueError):
        return True
    return False


def write(path: str, size: int) -> None:
    with open(path, "wb", buffering=0) as file:
        while size > 0:
            size -= file.write(bytes(min(size, 1 << 16)))


def confined(settings: dict[str, Any]) -> tuple[bool, str]:
    """Other processes, the network, the grader's files, the system's files."""
    seen = [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]
    address = ("127.0.0.1", settings["port"])
    open_ = [] if not seen else ["it sees other processes"]
    open_ += [] if fails(lambda: socket.create_connection(address, 2)) else ["it reaches the machine's network"]
    open_ += [] if fails(lambda: os.open(settings["file"], os.O_RDONLY)) else ["it reads a file of the grader's"]
    open_ += [f"it writes to {place}" for place in ("/usr", "/dev", "/") if not fails(partial(write, f"{place}/probe", 1))]
    return not open_, "; ".join(open_)


def has_own_user(settings: dict[str, Any]) -> tuple[bool, str]:
    refused = fails(lambda: os.setuid(0)) or os.getuid() == 0
    return settings["uid"] > 0 and os.getuid() == settings["uid"] and refused, f"uid {os.getuid()}"


def calls_refused(settings: dict[str, Any]) -> tuple[bool, str]:
    """Calls that the kernel grants to everybody, and that do no harm here where no filter refuses them."""
    libc = ctypes.CDLL(None, use_errno=True)
    tried = {
        "personality": lambda: libc.personality(ctypes.c_ulong(0xFFFFFFFF)),  # asks, changes nothing
        "inotify_init": lambda: libc.inotify_init1(0),
        "memfd_create": lambda: libc.memfd_create(b"x", 0),
        "io_uring_setup": lambda: libc.syscall(425, 1, ctypes.create_string_buffer(120)),
        "posix_fadvise": lambda: -libc.posix_fadvise(0, ctypes.c_long(0), ctypes.c_long(0), 0),
    }
    done = [name for name, call in tried.items() if call() >= 0]
    return not done, f"it could call {', '.join(done)}"


def limited(settings: dict[str, Any]) -> tuple[bool, str]:
    """Memory, files, processes; and no limit can be raised."""
    import resource

    open_ = [] if fails(lambda: bytearray(2 * settings["memory_bytes"])) else ["memory"]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    open_ += [] if fails(lambda: write("large", 2 * settings["file_bytes"])) else ["the size of a file"]
    full = any(fails(partial(write, f"f{number}", settings["file_bytes"])) for number in range(99))
    open_ += [] if full else ["the size of all files"]
    open_ += [] if fails(lambda: resource.setrlimit(resource.RLIMIT_CPU, (9999, 9999))) else ["processor time"]
    children: list[int] = []
    refused = False
    while not refused and len(children) <= settings["processes"]:
        try:
            pid = os.fork()
        except OSError:
            refused = True
            break
        if not pid:
            time.sleep(SECONDS)
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    open_ += [] if refused else ["the number of processes"]
    return not open_, f"not limited: {', '.join(open_)}"


def machine_hidden(settings: dict[str, Any]) -> tuple[bool, str]:
    """Figures of /proc that other submissions could change."""
    places = ("sys/fs/aio-nr", "sys/fs/file-nr", "sys/kernel/random/entropy_avail", "sys/kernel/ns_last_pid", "locks", "interrupts")
    told = []
    for place in places:
        with contextlib.suppress(OSError), open(f"/proc/{place}") as file:
            told += [place] if file.read() else []
    return not told, f"it reads {', '.join(told)}"


def fill_sockets() -> None:
    """As much of the kernel's memory as the descriptors of one process hold."""
    kept: list[socket.socket] = []
    with contextlib.suppress(OSError):
        while True:
            kept += (pair := socket.socketpair())
            for sock in pair:
                sock.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    while True:
                        sock.send(bytes(1 << 15))
    time.sleep(SECONDS)


ATTEMPTS = [confined, has_own_user, calls_refused, limited, machine_hidden]


def student(settings: dict[str, Any], entered: int, writer: int) -> None:
    """With a student's rights, try everything; then fill the memory that no figure of a process shows."""
    student_rights.limit(settings)
    student_rights.give_up_rights(settings)
    os.chdir(view.HOME)
    os.read(entered, 1)
    answers: Answer = [(attempt.__name__, *attempt(settings)) for attempt in ATTEMPTS]
    os.write(writer, json.dumps(answers).encode() + b"\n")
    for _ in range(FILLERS):
        if not os.fork():
            fill_sockets()
            os._exit(0)
    time.sleep(SECONDS)


def init(settings: dict[str, Any]) -> None:
    """The first process of the namespaces, as init() of student.py."""
    group = memory_watch.Group(settings["group"], *settings["group_fds"]) if settings["group"] else None
    figures = view.private_view(settings)
    entered, enter = os.pipe()
    pid = os.fork()
    if not pid:
        for fd in (enter, *figures.values(), *settings["group_fds"]):
            os.close(fd)
        student(settings, entered, 1)
        os._exit(0)
    if group is not None:
        group.take(pid)
    os.write(enter, b"g")
    numbers = lambda: [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]  # noqa: E731
    memory = memory_watch.MemoryWatch(settings["memory_bytes"], group, figures, numbers)
    until, stopped, alive = time.monotonic() + SECONDS, False, True
    while alive and not stopped and time.monotonic() < until:
        alive = os.waitpid(pid, os.WNOHANG) == (0, 0)
        stopped = memory.too_large() is not None or memory.kernel_ended_one()
        time.sleep(0.05)
    print(json.dumps([("kernel_memory", stopped, "socket buffers were counted by nobody")]), flush=True)
    os._exit(0)


def main() -> None:
    settings = json.loads(sys.stdin.read())
    if settings["one_user"]:
        view.new_user()
    else:
        view.new_process_numbers(os.open("/proc/self/ns/pid", os.O_RDONLY))
    pid = os.fork()
    if not pid:
        try:
            init(settings)
        except BaseException:  # noqa: BLE001  the reason goes to standard error; no copy of this process may go on
            traceback.print_exc()
        os._exit(1)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


if __name__ == "__main__":
    main()
