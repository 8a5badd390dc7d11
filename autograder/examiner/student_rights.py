"""What a student's process may use and do: limits, a user without capabilities, and a filter of system calls."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import struct
from typing import Any

try:
    import system_calls
    from system_calls import PR_CAPBSET_DROP, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, libc, system_call
except ImportError:  # outside the sandbox it is a module of the package
    from autograder.examiner import system_calls
    from autograder.examiner.system_calls import PR_CAPBSET_DROP, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, libc, system_call

DESCRIPTORS = 192  # of one process: notebooks need a few dozen, and every socket is memory of the kernel
GOES_EARLY, GOES_FIRST = 500, 1000  # where memory runs out the kernel ends student code first, and of it a copy that is being tested


def limit(settings: dict[str, Any]) -> None:
    """Limits of every process of the student."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    hard = {
        resource.RLIMIT_AS: now + settings["memory_bytes"],
        resource.RLIMIT_CPU: settings["cpu_seconds"],
        resource.RLIMIT_FSIZE: settings["file_bytes"],
        resource.RLIMIT_NPROC: settings["processes"],
        resource.RLIMIT_NOFILE: DESCRIPTORS,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    if not settings["namespaces"]:
        del hard[resource.RLIMIT_NPROC]  # it would count every process of the user who grades
    for which, value in hard.items():
        resource.setrlimit(which, (value, value))
    when_memory_runs_out(GOES_EARLY)


def when_memory_runs_out(order: int) -> None:
    """When this process is ended, among others: the highest first. A process may raise its own number."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(order))


def give_up_rights(settings: dict[str, Any]) -> None:
    """Another user, no capability, no way to get one, and no system call that has no place in a notebook."""
    if settings["namespaces"]:
        for capability in range(41):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        uid = settings["uid"]
        if uid:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        drop_capabilities()
    system_call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)  # or /proc/self would belong to nobody
    system_call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if settings["seccomp"]:
        system_calls.install(system_calls.allowed())
        if settings["namespaces"]:
            system_calls.spare_init()


def drop_capabilities() -> None:
    header = struct.pack("=Ii", 0x20080522, 0)
    system_call("capset", ctypes.c_char_p(header), ctypes.c_char_p(bytes(24)))
