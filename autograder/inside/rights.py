"""What a student's process may use and do: limits, a user without capabilities, hidden files, listed system calls."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import struct
from typing import Any

from . import landlock, scratch, seccomp
from .system_calls import PR_CAPBSET_DROP, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, libc, system_call

DESCRIPTORS = 192  # of one process: notebooks need a few dozen, and every socket is memory of the kernel
# Signals that may wait for a process. The kernel counts them by user: where all submissions have one user, a lower
# limit keeps one of them from filling the common account, which the others would notice.
PENDING_SIGNALS = 256

# When memory runs out, the kernel ends the process with the highest number first (oom_score_adj).
OOM_STUDENT, OOM_TESTED_CLONE = 500, 1000

CAPABILITIES = range(41)
CAPABILITY_VERSION = 0x20080522


def limit(settings: dict[str, Any]) -> None:
    """Set the limits that hold for every process of the student."""
    with open("/proc/self/statm") as file:
        address_space = int(file.read().split()[0]) * resource.getpagesize()
    limits = {
        resource.RLIMIT_AS: address_space + settings["memory_bytes"],
        resource.RLIMIT_CPU: settings["cpu_seconds"],
        resource.RLIMIT_FSIZE: settings["file_bytes"],
        resource.RLIMIT_NPROC: settings["processes"],
        resource.RLIMIT_NOFILE: DESCRIPTORS,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: PENDING_SIGNALS,
    }
    if not settings["confined"]:
        del limits[resource.RLIMIT_NPROC]  # it would count every process of the user who grades
    for which, value in limits.items():
        resource.setrlimit(which, (value, value))
    set_oom_score(OOM_STUDENT)


def set_oom_score(score: int) -> None:
    """Say how early the kernel ends this process when memory runs out. A process may raise its own score."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(score))


def give_up_rights(settings: dict[str, Any]) -> None:
    """Become another user, without capabilities and a way to get them back; then restrict files and system calls."""
    if settings["confined"]:
        for capability in CAPABILITIES:
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        uid = settings["uid"]
        if uid:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        drop_capabilities()
    system_call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)  # otherwise /proc/self belongs to root
    system_call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if settings["namespaces"]:
        hide_process_files()
    elif settings["confined"] and landlock.version():
        confine_to_files(settings)
    if settings["seccomp"]:
        seccomp.install(seccomp.allowed())
        if settings["namespaces"]:
            seccomp.refuse_signals_to_init()
        elif settings["confined"]:
            seccomp.refuse_sockets()
        if not settings["group"]:
            seccomp.refuse_shared_memory()


def drop_capabilities() -> None:
    header = struct.pack("=Ii", CAPABILITY_VERSION, 0)
    system_call("capset", ctypes.c_char_p(header), ctypes.c_char_p(bytes(24)))


def hide_process_files() -> None:
    """From now on no file of /proc/PID can be read. Folders and links there can, and everything outside.

    smaps and pagemap say whether another process on the machine uses the same page of a file, and net/sockstat counts
    the sockets of all network namespaces: two submissions could talk through them. Where the kernel's Landlock is too
    old (before Linux 5.19) or switched off, `course doctor` says so.
    """
    if landlock.version() < 2:  # it would forbid moving files between folders
        return
    readable = [f"/{name}" for name in os.listdir("/") if name != "proc"]
    readable += [f"/proc/{name}" for name in os.listdir("/proc") if not scratch.belongs_to_process(name)]
    rights = landlock.READ_FILE | landlock.REFER
    landlock.restrict(rights, dict.fromkeys(readable, rights))


def confine_to_files(settings: dict[str, Any]) -> None:
    """Without a view of its own: from now on only the system, Python and the course's helpers can be read, and only
    the home folder written to.
    """
    rights = landlock.all_rights()
    allowed = dict.fromkeys(settings["readable"], landlock.READ)
    allowed["/proc"] = landlock.READ_DIR
    allowed["/dev/null"] = landlock.READ_FILE | landlock.WRITE_FILE | landlock.TRUNCATE
    devices = landlock.MAKE_CHARACTER_DEVICE | landlock.MAKE_BLOCK_DEVICE
    allowed[settings["home"]] = rights & ~devices
    landlock.restrict(rights, allowed)
