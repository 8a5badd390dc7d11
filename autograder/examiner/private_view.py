"""What a submission sees: namespaces of its own, scratch folders that end with it, and a /proc that tells nothing of the machine."""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any

try:
    from system_calls import system_call
except ImportError:  # outside the sandbox it is a module of the package
    from autograder.examiner.system_calls import system_call

HOME = "/student"
COPIES = "/run/proc"  # made by sandbox.py
NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 0x20, 0x1000, 0x4000, 0x40000
OF_A_PROCESS = {"self", "thread-self", "mounts", "net"}  # the last two are links into the first


def new_process_numbers(own_pids: int) -> None:
    """Children of this process get a pid namespace of their own, below the nursery's."""
    system_call("setns", own_pids, NEWPID)
    system_call("unshare", NEWPID)


def new_user() -> None:
    """Where nobody can give a submission a user of its own: a user namespace, so that its processes are counted apart.

    Who enters one cannot go back: this is done by a process that then only waits.
    """
    system_call("unshare", NEWUSER | NEWPID)
    for name, text in (("setgroups", "deny"), ("uid_map", "0 0 1"), ("gid_map", "0 0 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def scratch_places(settings: dict[str, Any]) -> tuple[str, ...]:
    """A /tmp of its own, too, unless the interpreter lies below it: then temporary files go to the home folder."""
    if not settings["namespaces"]:
        return (settings["home"],)
    return (HOME, "/dev/shm", "/tmp") if settings["own_tmp"] else (HOME, "/dev/shm")


def private_view(settings: dict[str, Any]) -> dict[str, int]:
    """Make it, for this process and its children. Gives files of /proc that they no longer see, for the caller: open, by name."""
    system_call("unshare", NEWNS | NEWIPC | NEWNET | NEWUTS)
    system_call("mount", None, b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
    uid = settings["uid"]
    flags = ctypes.c_ulong(MS_NOSUID | MS_NODEV)
    size = settings["scratch_bytes"]
    for place in scratch_places(settings):
        share = size if place == HOME else size // 2
        system_call(
            "mount", b"tmpfs", place.encode(), b"tmpfs", flags, f"size={share},nr_inodes=20000,mode=700,uid={uid},gid={uid}".encode()
        )
    if not settings["own_tmp"]:  # the nursery's is shared by all: nobody may write there
        system_call("mount", None, b"/tmp", None, ctypes.c_ulong(MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV), None)
    system_call("mount", b"devpts", b"/dev/pts", b"devpts", ctypes.c_ulong(MS_NOSUID | MS_NOEXEC), b"newinstance,ptmxmode=0666,max=64")
    system_call("mount", b"proc", b"/proc", b"proc", ctypes.c_ulong(MS_NOSUID | MS_NODEV | MS_NOEXEC), b"hidepid=2")
    kept = open_figures()
    only_processes()
    return kept


def open_figures() -> dict[str, int]:
    """Files with figures of the machine, by name."""
    return {name: os.open(f"/proc/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in ("loadavg", "meminfo", "self/net/unix")}


def only_processes() -> None:
    """Of /proc only processes are left, as with `subset=pid`; the rest is covered, by a copy where libraries read it, or by nothing.

    Counters of the machine (/proc/sys/fs/aio-nr, /proc/meminfo, /proc/stat, …) would carry messages between submissions.
    """
    for name in os.listdir("/proc"):
        if name.isdigit() or name in OF_A_PROCESS:
            continue
        target = f"/proc/{name}"
        source = f"{COPIES}/{name}"
        if not os.path.lexists(source):
            with contextlib.suppress(FileNotFoundError):
                source = f"{COPIES}/.nothing/{'folder' if os.path.isdir(target) else 'file'}"
        system_call("mount", source.encode(), target.encode(), None, ctypes.c_ulong(MS_BIND), None)
