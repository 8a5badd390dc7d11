"""What a submission sees: its own namespaces, its scratch folders, and a /proc that tells nothing of the machine."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
from typing import Any

from . import landlock
from .system_calls import system_call

HOME = "/student"
OPEN_TO_ALL = ("/tmp", "/var/tmp", "/dev/shm")  # folders that every user of a machine can write to
PROC_COPIES = "/run/proc"  # made by sandbox.py
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")  # that bubblewrap puts into /dev
INODES = 20_000  # files and folders that one scratch folder can hold
MOST_ENTRIES = 50_000  # files and folders that are compared before and after a test
NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 0x20, 0x1000
MS_REC, MS_PRIVATE = 0x4000, 0x40000

Signature = tuple[int, ...]  # of a file: numbers that change when it is written to


# ---- namespaces ------------------------------------------------------------------------------------------------------


def enter_pid_namespace(nursery_pids: int) -> None:
    """The next child gets a new pid namespace. An earlier call has left the nursery's: go back there first."""
    system_call("setns", nursery_pids, NEWPID)
    system_call("unshare", NEWPID)


def enter_user_namespace() -> None:
    """A user namespace, so that the kernel counts the processes of submissions apart where all have one user.

    A process that has entered one cannot go back. So this is done by a process that only waits afterwards.
    """
    system_call("unshare", NEWUSER | NEWPID)
    for name, text in (("setgroups", "deny"), ("uid_map", "0 0 1"), ("gid_map", "0 0 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


# ---- mounts ----------------------------------------------------------------------------------------------------------


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    source_, kind_, options_ = (text if text is None else text.encode() for text in (source, kind, options))
    system_call("mount", source_, target.encode(), kind_, ctypes.c_ulong(flags), options_)


def mount_private_view(settings: dict[str, Any]) -> dict[str, int]:
    """Give this process and its children their own view of the system.

    Returns open files of /proc with figures of the machine, by name. Init reads them; its children cannot open them.
    """
    system_call("unshare", NEWNS | NEWIPC | NEWNET | NEWUTS)
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    uid, size = settings["uid"], settings["scratch_bytes"]
    for folder in scratch_folders(settings):
        share = size if folder == HOME else size // 2
        options = f"size={share},nr_inodes={INODES},mode=700,uid={uid},gid={uid}"
        mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, options)
    if not settings["own_tmp"]:  # all submissions see the nursery's /tmp: none may write there
        mount(None, "/tmp", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,max=64")
    for name in DEVICES:  # they can still be written to, but nobody can set their times, which others would see
        if os.path.exists(f"/dev/{name}"):
            mount(None, f"/dev/{name}", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC)
    if not settings["group"]:  # a shared mapping of /dev/zero is uncounted memory (see seccomp.refuse_shared_memory)
        mount("/dev/null", "/dev/zero", None, MS_BIND)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2")
    figures = open_figures()
    cover_proc()
    return figures


def open_figures(names: tuple[str, ...] = ("loadavg", "meminfo", "self/net/unix")) -> dict[str, int]:
    """Files with figures of the machine, by name."""
    return {name: os.open(f"/proc/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in names}


def belongs_to_process(name: str) -> bool:
    """Is this entry of /proc a process, or a link to one?"""
    return name.isdigit() or name in ("self", "thread-self", "mounts", "net")


def cover_proc() -> None:
    """Leave only processes visible in /proc.

    Files that libraries read are covered by a copy, everything else by nothing.

    Counters of the machine (/proc/sys/fs/aio-nr, /proc/meminfo, /proc/stat, …) would carry messages between
    submissions. (The mount option `subset=pid` does the same, but leaves no copies.)
    """
    for name in os.listdir("/proc"):
        if belongs_to_process(name):
            continue
        target, source = f"/proc/{name}", f"{PROC_COPIES}/{name}"
        if not os.path.lexists(source):
            source = f"{PROC_COPIES}/.nothing/{'folder' if os.path.isdir(target) else 'file'}"
        mount(source, target, None, MS_BIND)


# ---- scratch folders -------------------------------------------------------------------------------------------------


def scratch_folders(settings: dict[str, Any]) -> tuple[str, ...]:
    """The folders that a submission can write to.

    It has no /tmp where the interpreter lies below /tmp: temporary files then go to the home folder.
    """
    if settings["namespaces"]:
        return (HOME, "/dev/shm", "/tmp") if settings["own_tmp"] else (HOME, "/dev/shm")
    if settings["confined"] and not landlock.version():
        return (settings["home"], *OPEN_TO_ALL)
    return (settings["home"],)


def make_home(settings: dict[str, Any], pid: int) -> str:
    """Without a view of its own, a submission gets a folder below the nursery's."""
    home = home_below(settings, pid)
    os.mkdir(home, 0o700)
    if settings["uid"]:
        os.chown(home, settings["uid"], settings["uid"])
    return home


def home_below(settings: dict[str, Any], pid: int) -> str:
    return f"{settings['home']}/student-{pid}"


def remove_home(settings: dict[str, Any], pid: int) -> None:
    """Remove all that a submission without a view of its own has written. Its processes have ended."""
    settings = {**settings, "home": home_below(settings, pid)}
    remove_all_but(settings, {})
    shutil.rmtree(settings["home"], ignore_errors=True)


def contents(settings: dict[str, Any]) -> dict[str, Signature]:
    """Every file and folder that the student could have written, by path."""
    entries: dict[str, Signature] = {}
    folders = list(scratch_folders(settings))
    while folders and len(entries) < MOST_ENTRIES:  # not os.walk: folders can be nested deeper than Python can recurse
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as children:
            for child in children:
                status = child.stat(follow_symlinks=False)
                if settings["uid"] and status.st_uid != settings["uid"]:
                    continue  # in a folder that all users write to: somebody else's
                if child.is_dir(follow_symlinks=False):
                    folders.append(child.path)
                    entries[child.path] = (status.st_ino,)
                else:
                    entries[child.path] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return entries


def remove_all_but(settings: dict[str, Any], known: dict[str, Signature]) -> None:
    """Remove every file that is new or was written to: a test's inputs must not be found by the next test."""
    for path, signature in sorted(contents(settings).items(), reverse=True):
        if known.get(path) != signature:
            with contextlib.suppress(OSError):
                os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
