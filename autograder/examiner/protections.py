"""Which protections hold on this machine: a process with a student's rights tries each one (see inside/probe.py)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.examiner import cgroups, sandbox

SMALL = {"memory_bytes": 64 << 20, "cpu_seconds": 60, "file_bytes": 1 << 19, "scratch_bytes": 1 << 20, "processes": 8}
NO_CGROUP = "no memory cgroup can be made here: sockets count at their full size, and free memory is watched"


@dataclass(frozen=True)
class Protection:
    """One protection. `detail` says what it is, or why it is not active."""

    name: str
    active: bool
    detail: str
    advice: str = ""


def protections() -> list[Protection]:
    """What `course doctor` says about grading on this machine: at the best level that can be had here."""
    reason = sandbox.why_not()
    level = sandbox.Level.NAMESPACES
    rest = "`course grade` refuses to run without a sandbox"
    if reason and sandbox.why_no_users() is None:
        level = sandbox.Level.CONTAINER
        rest = "`course grade` refuses to run; `course grade --sandbox container` has what is tried below"
    elif reason:
        return [Protection(f"sandbox: {title}", False, reason, rest) for _, title, _, _ in lines(0, 0)]
    answers, version = attempt(level)
    missing = answers.get("", (False, "it could not be tried"))[1]
    advice = "student code is graded without this protection"
    tried = []
    for name, title, good, bad in lines(version, 0 if level is sandbox.Level.CONTAINER else os.geteuid()):
        held, detail = answers.get(name, (False, missing))
        if name == "namespaces":
            held, detail = reason is None, reason or ""
            tried.append(Protection(f"sandbox: {title}", held, good if held else detail, "" if held else rest))
            continue
        tried.append(Protection(f"sandbox: {title}", held, good if held else bad or detail, "" if held else advice))
    return tried


def lines(group: int, uid: int) -> list[tuple[str, str, str, str]]:
    """For each attempt its name, a title, what to say where it held, and where not (else: what the attempt says)."""
    one_user = "only root can give one; process namespaces still keep submissions apart" if uid else ""
    counted = f"memory cgroup (version {group})" if group else NO_CGROUP
    limits = "rlimits, a sized scratch folder and a memory watch"
    return [
        ("namespaces", "namespaces", "bubblewrap and namespaces, fresh for every submission", ""),
        ("processes_hidden", "other processes", "out of sight", ""),
        ("network_closed", "network", "none", ""),
        ("files_closed", "files", "no file of the grader's; nothing written outside the submission's folders", ""),
        ("has_own_user", "a user of its own per submission", f"uid {sandbox.FIRST_UID} and up", one_user),
        ("calls_refused", "system calls refused (seccomp)", "all but those of a list", ""),
        ("machine_hidden", "counters of the machine", "of /proc only a submission's own processes, and copies", ""),
        ("limited", "memory, processor, process, file and output limits", limits, ""),
        ("signals_shown", "whoever ends or stops a process", "the submission itself is told from somebody outside", ""),
        ("kernel_memory", "memory that the kernel keeps for a process", counted, ""),
    ]


def attempt(level: sandbox.Level) -> tuple[dict[str, tuple[bool, str]], int]:
    """What a process in a sandbox could not do, by name, and the version of its memory cgroup.

    Under the name "" is the reason why there are no answers.
    """
    root = os.geteuid() == 0
    temporary = tempfile.TemporaryDirectory(prefix=f"course-{os.getpid()}-")
    with temporary as place, socket.create_server(("127.0.0.1", 0)) as server:
        folder = Path(place)
        sandbox.copy_what_is_read(folder, [])
        group = cgroups.of_submission(SMALL)
        settings: dict[str, Any] = {
            **SMALL,
            **sandbox.settings_of(level, folder),
            "uid": sandbox.new_user() if root else 0,
            "file": str(Path(sandbox.__file__)),
            "shared": [] if level is sandbox.Level.NAMESPACES else ["/tmp", "/dev/shm"],
            "port": server.getsockname()[1],
            "group": group.version if group else 0,
            "group_fds": group.fds if group else [],
        }
        line, environment = sandbox.command_at(level, folder, "probe")
        try:
            done = subprocess.run(
                line,
                input=json.dumps(settings),
                capture_output=True,
                text=True,
                env=environment,
                timeout=60,
                check=False,
                pass_fds=settings["group_fds"],
            )
        except subprocess.TimeoutExpired:
            return {"": (False, "it did not end")}, 0
        finally:
            if group:
                group.close()
                group.remove()
    answers = {name: (held, detail) for line in done.stdout.splitlines() for name, held, detail in json.loads(line)}
    if not answers:
        answers[""] = False, (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return answers, settings["group"]
