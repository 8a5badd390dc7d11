"""Which protections hold on this machine: each is tried, at this moment, by a process with a student's rights (see probe.py)."""

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
UNCOUNTED = "no memory cgroup can be made here: sockets are counted at their full size, and what the machine has left is watched"


@dataclass(frozen=True)
class Protection:
    """One protection: is it active here, and what is it, or why not."""

    name: str
    active: bool
    detail: str
    advice: str = ""


def protections() -> list[Protection]:
    """What `course doctor` says about grading on this machine."""
    reason = sandbox.why_not()
    answers, group = ({}, 0) if reason else attempt()
    missing = reason or answers.get("", (False, "it could not be tried"))[1]
    advice = "`course grade` refuses to run without a sandbox" if reason else "student code is graded without this protection"
    one_user = "" if reason or os.geteuid() == 0 else "only root can give one; process namespaces still keep submissions apart"
    counted = f"memory cgroup (version {group})" if group else UNCOUNTED
    lines = [
        ("confined", "processes, network, files", "bubblewrap and namespaces, fresh for every submission", ""),
        ("has_own_user", "a user of its own per submission", f"uid {sandbox.FIRST_UID} and up", one_user),
        ("calls_refused", "system calls refused (seccomp)", "all but those of a list", ""),
        ("machine_hidden", "counters of the machine", "of /proc only a submission's own processes, and copies", ""),
        ("limited", "memory, processor, process, file and output limits", "rlimits, a sized scratch folder and a memory watch", ""),
        ("kernel_memory", "memory that the kernel keeps for a process", counted, ""),
    ]
    found = []
    for name, title, good, bad in lines:
        held, detail = answers.get(name, (False, missing))
        found.append(Protection(f"sandbox: {title}", held, good if held else bad or detail, "" if held else advice))
    return found


def attempt() -> tuple[dict[str, tuple[bool, str]], int]:
    """The answers of a process in a sandbox, by name ("" is the reason why there are none), and the version of its memory cgroup."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory(prefix=f"course-{os.getpid()}-") as place, socket.create_server(("127.0.0.1", 0)) as server:
        folder = Path(place)
        sandbox.copy_what_is_read(folder, [], [*sandbox.FILES, "probe.py"])
        group = cgroups.of_submission(SMALL)
        settings: dict[str, Any] = {
            **SMALL,
            "namespaces": True,
            "one_user": not root,
            "own_tmp": sandbox.own_tmp(folder),
            "seccomp": sandbox.seccomp_known(),
            "uid": sandbox.FIRST_UID if root else 0,
            "file": str(sandbox.HERE / "pool.py"),
            "port": server.getsockname()[1],
            "group": group.version if group else 0,
            "group_fds": group.fds if group else [],
        }
        try:
            done = subprocess.run(
                sandbox.command(folder, "probe.py"),
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
