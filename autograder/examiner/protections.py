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
    """What `course doctor` says about grading on this machine."""
    reason = sandbox.why_not()
    answers, version = ({}, 0) if reason else attempt()
    missing = reason or answers.get("", (False, "it could not be tried"))[1]
    advice = "student code is graded without this protection"
    if reason:
        advice = "`course grade` refuses to run without a sandbox"
    one_user = "only root can give one; process namespaces still keep submissions apart"
    if reason or os.geteuid() == 0:
        one_user = ""
    counted = f"memory cgroup (version {version})" if version else NO_CGROUP
    limits = "rlimits, a sized scratch folder and a memory watch"
    lines = [
        ("confined", "processes, network, files", "bubblewrap and namespaces, fresh for every submission", ""),
        ("has_own_user", "a user of its own per submission", f"uid {sandbox.FIRST_UID} and up", one_user),
        ("calls_refused", "system calls refused (seccomp)", "all but those of a list", ""),
        ("machine_hidden", "counters of the machine", "of /proc only a submission's own processes, and copies", ""),
        ("limited", "memory, processor, process, file and output limits", limits, ""),
        ("kernel_memory", "memory that the kernel keeps for a process", counted, ""),
    ]
    tried = []
    for name, title, good, bad in lines:
        held, detail = answers.get(name, (False, missing))
        tried.append(Protection(f"sandbox: {title}", held, good if held else bad or detail, "" if held else advice))
    return tried


def attempt() -> tuple[dict[str, tuple[bool, str]], int]:
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
            "namespaces": True,
            "one_user": not root,
            "own_tmp": sandbox.own_tmp(folder),
            "seccomp": sandbox.seccomp_known(),
            "uid": sandbox.FIRST_UID if root else 0,
            "file": str(Path(sandbox.__file__)),
            "port": server.getsockname()[1],
            "group": group.version if group else 0,
            "group_fds": group.fds if group else [],
        }
        try:
            done = subprocess.run(
                sandbox.command(folder, "probe"),
                input=json.dumps(settings),
                capture_output=True,
                text=True,
                env={},
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
