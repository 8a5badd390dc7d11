"""Grading as root in a container that allows no namespaces: what the level `container` protects, and that it refuses
where it cannot.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import as_others
import pytest
from attacks import Attack
from classroom import Graded, hand_in, once, output_text, scores
from course import FULL, NAME, POINTS, make

from autograder.inside import processes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(as_others.why_not() is not None, reason=f"not here: {as_others.why_not()}"),
]

# Each cell prints HOLE where something works that must not.
ATTEMPTS = {
    "files": """
import glob, os
for path in glob.glob("{root}/**/*", recursive=True) + ["/etc/passwd", "/etc/hostname", "/root"]:
    try:
        os.listdir(path) if os.path.isdir(path) else open(path).read()
        print("HOLE: read", path)
    except OSError:
        pass
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/", "{root}", "{root}/autograded", os.path.dirname(os.getcwd())):
    try:
        open(folder + "/left-behind", "w").write("x")
        print("HOLE: wrote", folder)
    except OSError:
        pass
""",
    "network": """
import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
    try:
        socket.socket(family, socket.SOCK_STREAM if family != socket.AF_NETLINK else socket.SOCK_RAW)
        print("HOLE: socket", family)
    except OSError:
        pass
left, right = socket.socketpair()
left.send(b"x")
assert right.recv(1) == b"x"
""",
    "processes": """
import os, signal
reached = []
for name in os.listdir("/proc"):
    if not name.isdigit() or int(name) == os.getpid():
        continue
    try:
        os.kill(int(name), 0)
        reached.append(name)
    except OSError:
        pass
    for part in ("environ", "mem", "maps", "cmdline", "status", "fd/0"):
        try:
            open(f"/proc/{{name}}/{{part}}", "rb").read(1)
            print("HOLE: read", name, part)
        except OSError:
            pass
print("HOLE: signals reach", reached) if reached else None
""",
    "rights": """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for name, call in {{
    "setuid": lambda: os.setuid(0),
    "setgid": lambda: os.setgid(0),
    "chroot": lambda: os.chroot("."),
    "device": lambda: os.mknod("device", 0o60600, os.makedev(8, 0)),
    "priority": lambda: os.nice(-5),
}}.items():
    try:
        call()
        print("HOLE:", name)
    except OSError:
        pass
if os.getuid() == 0 or os.getgid() == 0 or os.getgroups():
    print("HOLE: user", os.getuid(), os.getgid(), os.getgroups())
""",
    "environment": """
import os
print("HOLE: the grader's environment") if "hunter2" in str(dict(os.environ)) else None
""",
    "forks": """
import os, signal, time
children = []
try:
    while len(children) < 200:
        pid = os.fork()
        if not pid:
            time.sleep(600)
        children.append(pid)
    print("HOLE: no limit on processes")
except OSError:
    pass
for pid in children:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
""",
    "daemon": """
import os, time
print(f"user {{os.getuid()}} in {{os.getcwd()}}.")
if not os.fork():
    os.setsid()
    if not os.fork():
        time.sleep(600)
    os._exit(0)
""",
}
BOMBS = {
    "memory": "kept = []\nwhile True:\n    kept.append(bytearray(1 << 20))",
    "copies": "import os, time\nkept = bytearray(400 << 20)\nfor _ in range(3):\n    if not os.fork():\n"
    "        for place in range(0, len(kept), 4096):\n            kept[place] = 1\n        time.sleep(3)\n        os._exit(0)\n"
    "time.sleep(2)",
    "spin": "while True: pass",
}


def hostile(root: Path) -> dict[str, Attack | None]:
    """Every attempt before the first answer; an answer that leaves a file for the next test; bombs in one answer."""
    found: dict[str, Attack | None] = {"honest": None}
    for name, code in ATTEMPTS.items():
        found[name] = Attack(name, cells=[("setup", code.format(root=root))])
    for name, code in BOMBS.items():
        body = "\n".join(f"    {line}" for line in code.split("\n"))
        found[name] = Attack(name, answers={"shout": f"def shout(text):\n{body}"}, scores={"shout": 0})
    leave = "def double(x):\n    open('seen', 'a').write(str(x))\n    return [2 * y for y in x] if isinstance(x, list) else 2 * x"
    find = "def shout(text):\n    import os\n    return text.upper() + '!' if not os.path.exists('seen') else ''"
    found["next test"] = Attack("next test", answers={"double": leave, "shout": find})
    return {name.replace(" ", "-"): attack for name, attack in found.items()}


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    def work(shared: Path) -> dict[str, Any]:
        root = shared / "container"
        root.mkdir()
        _, assignment = make(root)
        for student, attack in hostile(root).items():
            hand_in(root, assignment, student, attack)
        done = course_in_container("grade", NAME, "--sandbox", "container", "--workers", "2", "--json", cwd=root)
        return {"root": str(root), "code": done.returncode, "out": done.stdout, "err": done.stderr}

    found = once(tmp_path_factory, "container", work)
    assert found["code"] == 0, found["err"][-2000:] + found["out"][-2000:]
    return Graded(Path(found["root"]), json.loads(found["out"]), found["err"])


def course_in_container(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    tools = os.path.dirname(sys.executable)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "COURSE_PROBE_TOKEN": "hunter2"}
    line = [*as_others.with_open_python(as_others.IN_CONTAINER), sys.executable, "-m", "autograder", *args]
    return subprocess.run(line, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("student", hostile(Path("/")))
def test_attempts_fail_and_cost_only_their_own_question(graded: Graded, student: str) -> None:
    attack = hostile(graded.root)[student]
    assert "HOLE" not in output_text(graded.notebook(student))
    wanted = {**POINTS, **(attack.scores if attack else {})}
    found = graded.record(student)["notebooks"][NAME]
    assert scores(graded.record(student)) == wanted, (found["lost"], found["events"])


def test_honest_students_are_not_accused(graded: Graded) -> None:
    found = graded.record("honest")["notebooks"][NAME]
    assert graded.record("honest")["score"] == FULL
    assert (found["lost"], found["repairs"], found["tamper"], found["events"]) == ({}, [], [], [])


def test_what_is_not_protected_is_said(graded: Graded) -> None:
    assert "--sandbox container: student code sees that other processes exist" in graded.errors


def test_no_process_and_no_file_is_left(graded: Graded) -> None:
    said = re.search(r"user (\d+) in (/.*)\.", output_text(graded.notebook("daemon")))
    assert said is not None
    assert processes.of_user(int(said[1])) == []
    assert not Path(said[2]).exists()
    assert not Path(said[2]).parent.exists()


def test_without_namespaces_grading_is_refused_and_the_way_out_is_named(graded: Graded) -> None:
    done = course_in_container("grade", NAME, "--force", cwd=graded.root)
    assert done.returncode == 2
    assert "bubblewrap cannot make namespaces here" in done.stderr
    assert "--sandbox container" in done.stderr


def test_an_ordinary_user_cannot_have_this_level(graded: Graded) -> None:
    line = [*as_others.with_open_python(as_others.AS_USER), sys.executable, "-P", "-c"]
    code = "from autograder.examiner.sandbox import Level; print(Level.CONTAINER.why_not())"
    done = subprocess.run([*line, code], cwd="/", capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "only root can give every submission a user of its own", done.stderr
