"""The nursery: a warm process inside the sandbox that students' processes are forked from.

It holds nothing of the course's tests.

    nursery ─ fork ─ init (process 1 of new namespaces) ─ fork ─ the student's process ─ fork ─ one clone per test cell

The examiner trusts nothing here: whatever these processes say is data. What protects others from student code is set up
before its first line runs, and by processes that run no student code.
"""

from __future__ import annotations

import gc

if __name__ == "__main__":
    gc.disable()  # until all is imported: a hundred collections during the imports take a second

import contextlib
import json
import os
import socket
import sys
from typing import Any

import torch

from . import audit, init, memory_watch, scratch, server, student_process
from . import shell as shells

# The first figure and the first table fill caches of matplotlib and IPython, which every student's process then has.
WARM_UP = """
import matplotlib.pyplot as _plt, numpy as _np
_figure, _axes = _plt.subplots(1, 2, figsize=(4, 2), layout="constrained")
_axes[0].plot([1, 2], [10, 1000], label=r"$x^2$, bold"); _axes[0].set_yscale("log")
_axes[0].legend(title="title"); _axes[0].set_title("Title $\\\\alpha$")
_axes[0].set_xlabel("x"); _axes[0].annotate("1", (1, 10)); _axes[0].grid(True)
_figure.colorbar(_axes[1].imshow(_np.eye(3)), ax=_axes[1])
_plt.show()
"""
# Modules whose source the examiner sends before a measurement (Bridge.run_remotely). Compiled before the forks.
SENT_BY_EXAMINER = ("failed", "plain_data", "banned", "bans", "meter", "student_side")


def warm_up(modules: list[str], output_bytes: int) -> shells.Shell:
    """Import what notebooks import, and do everything once that is slow the first time."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    shells.import_all(modules)
    if "tqdm" in sys.modules:
        # tqdm's monitor is a thread, and every thread of a student's process should be one that the student started.
        sys.modules["tqdm"].tqdm.monitor_interval = 0
    # The first operation and the first backward pass load more.
    torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
    shell = shells.new_shell(output_bytes)
    shells.run_cell(shell, WARM_UP)
    shells.run_cell(shell, shells.FIRST_ERROR)
    shells.run_cell(shell, "from helpers.kit import colab\ncolab.ready()")
    shell.reset(new_session=True)
    for name in (f"helpers.checks.{part}" for part in SENT_BY_EXAMINER):
        module = sys.modules.get(name)
        if module is not None and module.__file__ is not None:
            with open(module.__file__, encoding="utf-8") as file:
                server.compiled(name, file.read())
    if (bans := sys.modules.get("helpers.checks.bans")) is not None:
        bans.references(set())  # torch works out the names of 1,500 operators when it is first asked for them
    return shell


def nursery(fds: list[int], modules: list[str], settings: dict[str, Any]) -> None:
    """Warm up, then serve one worker per socket, each from a forked copy of this process."""
    shell = warm_up(modules, settings["output_bytes"])
    names = audit.fingerprint()
    settings["files"] = student_process.open_files()
    shells.ready_to_fork()
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


def serve_worker(sock: socket.socket, shell: Any, names: audit.Names, settings: dict[str, Any]) -> None:
    """Fork an init per order of the worker; tell it when the whole submission has ended."""
    own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY) if settings["namespaces"] else -1
    while True:
        data, fds, _, _ = socket.recv_fds(sock, 65536, 7)
        if not data:
            return
        order = json.loads(data)
        if "join" in order:
            join(sock, fds[0], own_pids, order["join"], shell, settings)
            continue
        control, lifeline, *group_fds = fds
        try:
            if settings["namespaces"] and not settings["one_user"]:
                scratch.enter_pid_namespace(own_pids)
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
                    continue_in_user_namespace(fds)
                group = memory_watch.Group(order["group"], *group_fds) if group_fds else None
                init.run(control, lifeline, shell, names, {**settings, **order}, group)
            finally:
                os._exit(70)
        for fd in fds:
            os.close(fd)
        sock.sendall(json.dumps({"pid": pid}).encode())
        _, status, usage = os.wait4(pid, 0)
        if not settings["namespaces"]:
            init.clean_up_after(pid, {**settings, **order})
        sock.sendall(json.dumps({"gone": status, "cpu": usage.ru_utime + usage.ru_stime}).encode())


def join(sock: socket.socket, fd: int, own_pids: int, modules: list[str], shell: Any, settings: dict[str, Any]) -> None:
    """Serve one more worker, of a front that came later, from a copy that has also imported what its notebooks do."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:  # copies whose workers are gone
            pass
    if not os.fork():
        try:
            sock.close()
            if own_pids >= 0:
                os.close(own_pids)  # the copy opens its own, and closes that one before a student's process begins
            shells.import_all(modules)
            fresh = {**settings, "files": student_process.open_files()}
            names = audit.fingerprint()
            shells.ready_to_fork()
            serve_worker(socket.socket(fileno=fd), shell, names, fresh)
        finally:
            os._exit(0)
    os.close(fd)
    sock.sendall(json.dumps({"joined": True}).encode())


def continue_in_user_namespace(fds: list[int]) -> None:
    """Enter a user namespace and fork. This process waits there and ends; only its child returns from here."""
    scratch.enter_user_namespace()
    pid = os.fork()
    if pid:
        for fd in fds:
            os.close(fd)
        os.waitpid(pid, 0)
        os._exit(0)


def start() -> None:
    """The program: settings arrive on standard input, sockets are inherited."""
    settings = json.loads(sys.stdin.read())
    nursery(settings.pop("fds"), settings.pop("modules"), settings)


if __name__ == "__main__":
    sys.modules[f"{__package__}.nursery"] = sys.modules["__main__"]  # audit.py looks its names up there
    start()
