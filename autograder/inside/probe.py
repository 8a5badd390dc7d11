"""`course doctor` inside the sandbox: a process with a student's rights tries what must not work.

Run as a program in place of the nursery, with settings on standard input; standard output is a list of [name, held,
detail].
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from . import ends, memory_watch, processes, rights, scratch, stops

Answer = list[tuple[str, bool, str]]
FILLERS = 4  # processes that fill socket buffers
SECONDS = 10.0
SHOWN = (signal.SIGTERM, signal.SIGTSTP)


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


def processes_hidden(settings: dict[str, Any]) -> tuple[bool, str]:
    """Are other processes out of sight, and out of reach?"""
    seen = [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]
    parent = os.getppid()
    open_ = ["it sees other processes"] if seen else []
    # One user for all: the filter refuses signals to process 1, which is init.
    open_ += [] if fails(lambda: os.kill(parent, 0)) else ["it can signal other processes"]
    return not open_, "; ".join(open_)


def network_closed(settings: dict[str, Any]) -> tuple[bool, str]:
    reached = not fails(lambda: socket.create_connection(("127.0.0.1", settings["port"]), 2))
    return not reached, "it reaches the machine's network"


def files_closed(settings: dict[str, Any]) -> tuple[bool, str]:
    """Are the grader's files out of reach, and the system's read only?"""
    open_ = [] if fails(lambda: os.open(settings["file"], os.O_RDONLY)) else ["it reads a file of the grader's"]
    for path in ("/dev/null", "/dev/urandom"):
        if settings["namespaces"]:
            open_ += [] if fails(partial(os.utime, path)) else [f"it sets the time of {path}"]
    for place in ("/usr", "/dev", "/", *settings["shared"]):
        open_ += [] if fails(partial(write, f"{place}/probe", 1)) else [f"it writes to {place}"]
    return not open_, "; ".join(open_)


def has_own_user(settings: dict[str, Any]) -> tuple[bool, str]:
    refused = fails(lambda: os.setuid(0)) or os.getuid() == 0
    return settings["uid"] > 0 and os.getuid() == settings["uid"] and refused, f"uid {os.getuid()}"


def calls_refused(settings: dict[str, Any]) -> tuple[bool, str]:
    """Does the filter refuse calls that the kernel grants to everybody? (Without a filter these do no harm.)"""
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
    """Are memory, files and processes limited, and can no limit be raised?"""
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


def changes(path: str) -> bool:
    """Does this file say something else a moment later? A copy does not."""
    texts = set()
    for _ in range(2):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            texts.add(file.read())
        time.sleep(0.02)
    return len(texts) > 1


def machine_hidden(settings: dict[str, Any]) -> tuple[bool, str]:
    """Are figures of /proc hidden that other submissions could change?"""
    places = ["sys/fs/aio-nr", "sys/fs/file-nr", "sys/kernel/random/entropy_avail", "sys/kernel/ns_last_pid"]
    places += ["locks", "interrupts"]
    places += ["self/smaps", "self/pagemap", "self/net/sockstat"]  # Landlock hides them
    told = []
    for place in places:
        with contextlib.suppress(OSError), open(f"/proc/{place}", "rb") as file:
            told += [place] if file.read(1) else []
    told += ["uptime"] if changes("/proc/uptime") else []
    return not told, f"it reads {', '.join(told)}"


def fill_sockets() -> None:
    """Use as much memory of the kernel as the descriptors of one process can hold."""
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


ATTEMPTS = [processes_hidden, network_closed, files_closed, has_own_user, calls_refused, machine_hidden, limited]


def student(settings: dict[str, Any], entered: int, writer: int, reporter: socket.socket) -> None:
    """Try everything with a student's rights; then use memory of the kernel, which no figure of a process shows."""
    rights.limit(settings)
    stops.show_to(reporter, settings["seccomp"])
    rights.give_up_rights(settings)
    os.chdir(settings["home"])
    os.read(entered, 1)
    for number in SHOWN:  # a signal that is ignored is shown all the same
        signal.signal(number, signal.SIG_IGN)
        os.kill(os.getpid(), number)
    for attempt in ATTEMPTS:  # one by one: an attempt that ends this process says nothing of those before
        answer: Answer = [(attempt.__name__, *attempt(settings))]
        os.write(writer, json.dumps(answer).encode() + b"\n")
    for _ in range(FILLERS):
        if not os.fork():
            fill_sockets()
            os._exit(0)
    time.sleep(SECONDS)


def init(settings: dict[str, Any]) -> None:
    """Process 1 of the namespaces, like init.py."""
    group = memory_watch.Group(settings["group"], *settings["group_fds"]) if settings["group"] else None
    if settings["namespaces"]:
        figures = scratch.mount_private_view(settings)
    else:
        settings = {**settings, "home": scratch.make_home(settings, os.getpid())}
        figures = scratch.open_figures(("meminfo",))
    entered, enter = os.pipe()
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        for fd in (enter, ours.detach(), *figures.values(), *settings["group_fds"]):
            os.close(fd)
        student(settings, entered, 1, theirs)
        os._exit(0)
    theirs.close()
    poll = select.poll()
    listeners = stops.Listeners(poll)
    if group is not None:
        group.take(pid)
    os.write(enter, b"g")
    listeners.add(ours)
    pids = partial(processes.of_submission, settings)
    memory = memory_watch.MemoryWatch(settings["memory_bytes"], group, figures, pids)
    until, stopped, alive = time.monotonic() + SECONDS, False, True
    while alive and not stopped and time.monotonic() < until:
        alive = os.waitpid(pid, os.WNOHANG) == (0, 0)
        stopped = memory.too_large() is not None or memory.kernel_ended_one()
        for fd, event in poll.poll(50):
            listeners.answered(fd, event)
    processes.kill_all(settings)
    shown = ends.all_seen() and bool(listeners.open) and set(SHOWN) <= listeners.seen
    found = [("kernel_memory", stopped, "socket buffers were counted by nobody")]
    found.append(("signals_shown", shown, f"a signal was not shown, or Linux is older than {ends.VERSION}"))
    print(json.dumps(found), flush=True)
    os._exit(0)


def main() -> None:
    settings = json.loads(sys.stdin.read())
    if not settings["namespaces"]:
        pass
    elif settings["one_user"]:
        scratch.enter_user_namespace()
    else:
        scratch.enter_pid_namespace(os.open("/proc/self/ns/pid", os.O_RDONLY))
    pid = os.fork()
    if not pid:
        try:
            init(settings)
        except BaseException:  # noqa: BLE001  the reason goes to standard error; this fork must not go on as its parent
            traceback.print_exc()
        os._exit(1)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


if __name__ == "__main__":
    main()
