"""What the operating system protects, and how it is asked to.

There are three levels (`Level`). At the first, which is the rule, the nursery is started inside bubblewrap: a read-only
view of the system and of the interpreter, no network, no other folder of the machine, no environment variables. Every
submission then gets its own namespaces, user, limits and scratch folders (see inside/).

The second is for containers in which nobody may make namespaces (Gradescope's, most of Docker's): grading runs there as
root, and every submission gets a user, limits, a list of system calls without sockets, and rules on files (Landlock)
where the kernel has them. The third has no sandbox.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from autograder.examiner import cgroups
from autograder.inside import landlock
from autograder.model.course import CourseError, find_root, remove_stale_folders

INSIDE = Path(__file__).parents[1] / "inside"  # all that the sandbox sees of the course's tools
CAPABILITIES = ["SYS_ADMIN", "SYS_RESOURCE", "SYS_PTRACE", "SETUID", "SETGID", "SETPCAP"]
CAPABILITIES += ["KILL", "DAC_OVERRIDE", "CHOWN"]
FIRST_UID, MOST_UIDS = 200_000, 1 << 30
SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"]
SYSTEM += [f"/etc/{name}" for name in ("ld.so.cache", "alternatives", "fonts", "localtime", "mime.types")]
# Files of /proc that libraries read. The sandbox shows copies made when grading starts: figures that change would carry
# messages between submissions.
READ_BY_LIBRARIES = ["cpuinfo", "filesystems", "meminfo", "stat", "swaps", "uptime", "version", "vmstat", "diskstats"]
READ_BY_LIBRARIES += ["partitions", "sys/kernel/osrelease", "sys/kernel/ostype", "sys/kernel/pid_max"]
READ_BY_LIBRARIES += [f"sys/kernel/{name}" for name in ("threads-max", "cap_last_cap", "ngroups_max")]
READ_BY_LIBRARIES += ["sys/vm/overcommit_memory", "sys/vm/max_map_count"]
READ_BY_LIBRARIES += ["sys/net/core/somaxconn", "sys/crypto/fips_enabled"]
PRIVATE = ["solutions", "submitted", "autograded", "feedback", "gradebook.db"]  # files of the course
IDLE_LOAD = "0.00 0.00 0.00 1/1 1\n"  # for /proc/loadavg


class Level(StrEnum):
    """How student code is kept from the rest of the machine."""

    NAMESPACES = "namespaces"
    CONTAINER = "container"
    UNSAFE = "unsafe"

    @property
    def own_user(self) -> bool:
        """Does a submission run as a user of its own, where the grader is root?"""
        return self is not Level.UNSAFE

    def why_not(self) -> str | None:
        """Why this level cannot be had on this machine; None where it can."""
        if self is Level.UNSAFE:
            return None
        return why_not() if self is Level.NAMESPACES else why_no_users()

    def open_here(self) -> str:
        """What is not protected at this level on this machine, for the person who grades."""
        if self is Level.NAMESPACES:
            return ""
        if self is Level.UNSAFE:
            return "student code runs without a sandbox and with your rights"
        files = [] if landlock.version() else ["files that every user can read (there is no Landlock here)"]
        seen = ["that other processes exist", "counters of the machine", *files]
        return f"student code sees {', '.join(seen)}; its folder and the kernel's memory for it have no limit"

    def others(self) -> str:
        """What can be done where this level cannot be had."""
        unsafe = "`--unsafe` grades without a sandbox, with your rights"
        if self is Level.NAMESPACES and why_no_users() is None:
            return f"`--sandbox container` grades with fewer protections (docs/security.md), {unsafe}"
        return unsafe


@dataclass
class Nursery:
    """The warm process that students' processes are forked from, and the sockets that reach it."""

    process: subprocess.Popen[bytes]
    sockets: list[socket.socket]
    level: Level
    folder: str


def bubblewrap() -> str | None:
    return shutil.which("bwrap")


def copy_what_is_read(folder: Path, packages: list[Path]) -> None:
    """Copy what a notebook needs to see of the course: the sandbox's mount table then shows no path of the grader's."""
    for path in packages:
        if path.is_dir():
            shutil.copytree(path, folder / "course" / path.name)
    shutil.copytree(INSIDE, folder / "examiner" / INSIDE.name, ignore=shutil.ignore_patterns("__pycache__"))
    for place in (folder, *folder.rglob("*")):  # whatever the grader's umask is: submissions have other users
        place.chmod(0o755 if place.is_dir() else 0o644)
    for kind in ("file", "folder"):  # to be mounted over the rest of /proc
        place = folder / "proc" / ".nothing" / kind
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch() if kind == "file" else place.mkdir()
    (folder / "proc" / "loadavg").write_text(IDLE_LOAD)
    for name in READ_BY_LIBRARIES:
        with contextlib.suppress(OSError):
            text = Path("/proc", name).read_bytes()
            (folder / "proc" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "proc" / name).write_bytes(text)


def readable_places(folder: Path) -> list[tuple[str, str]]:
    """Path outside and path inside the sandbox of what a notebook needs to see, with the copies in `folder`."""
    places = [(path, path) for path in [*filter(os.path.exists, SYSTEM), *interpreter()]]
    places += [(str(folder / name), target) for name, target in (("examiner", "/run/examiner"), ("proc", "/run/proc"))]
    places += [(str(folder / "course"), "/course")] if (folder / "course").is_dir() else []
    return places


def interpreter() -> list[str]:
    """Folders of Python that do not lie below /usr."""
    folders = {sys.prefix, sys.base_prefix, sysconfig.get_paths()["stdlib"]}
    folders.add(os.path.dirname(os.path.realpath(sys.executable)))
    return [path for path in sorted(folders) if not path.startswith("/usr/") and path != "/usr"]


ENVIRONMENT = {
    "NBGRADER_EXECUTION": "autograde",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "HF_HUB_OFFLINE": "1",
    "PIP_NO_INDEX": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "LANG": "C.UTF-8",
    "USER": "student",
    "LOGNAME": "student",
    "HOME": "/student",
    "MPLCONFIGDIR": "/tmp",
    "XDG_CACHE_HOME": "/tmp",
    "IPYTHONDIR": "/tmp/ipython",
    "PYTHONWARNINGS": "",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",  # they are larger than the limit on a file
}


def command(folder: Path, program: str = "nursery") -> list[str]:
    """The command line that runs a program of inside/ in bubblewrap."""
    root = os.geteuid() == 0
    line = [
        str(bubblewrap()),
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--die-with-parent",
    ]
    line += [] if root else ["--unshare-user", "--uid", "0", "--gid", "0"]
    # An ordinary user's nursery maps user 0 in a further user namespace, which needs SETFCAP.
    capabilities = CAPABILITIES if root else [*CAPABILITIES, "SETFCAP"]
    line += ["--cap-drop", "ALL", *(part for name in capabilities for part in ("--cap-add", f"CAP_{name}"))]
    line += ["--clearenv", "--hostname", "examiner"]
    for name, value in {
        **ENVIRONMENT,
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "PYTHONPATH": "/course:/run/examiner",
    }.items():
        line += ["--setenv", name, value]
    made = {"/", "/tmp"}
    line += ["--perms", "1777", "--tmpfs", "/tmp"]  # before the rest: the course may lie below /tmp
    for source, target in readable_places(folder):
        for parent in reversed(Path(target).parents):  # bubblewrap would make them readable for root only
            if str(parent) not in made:
                made.add(str(parent))
                line += ["--perms", "0755", "--dir", str(parent)]
        made.add(target)
        if os.path.islink(source) and source in SYSTEM:
            line += ["--symlink", os.readlink(source), target]
        else:
            line += ["--ro-bind", source, target]
    line += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]  # read only, because all submissions share it
    line += ["--dir", "/student", "--chdir", "/", "--remount-ro", "/"]
    return [*line, "--", sys.executable, "-B", "-P", "-m", f"{INSIDE.name}.{program}"]


def start_nursery(
    workers: int,
    packages: list[Path],
    modules: list[str],
    output_bytes: int,
    level: Level,
) -> Nursery:
    """Start the nursery; it serves `workers` sockets once its imports are done."""
    pairs = [socket.socketpair() for _ in range(workers)]
    nursery_fds = [theirs.fileno() for _, theirs in pairs]
    remove_stale_folders(Path(tempfile.gettempdir()), "course-")
    folder = tempfile.mkdtemp(prefix=f"course-{os.getpid()}-")
    if level.own_user:
        cgroups.remove_stale()
    copy_what_is_read(Path(folder), packages)
    line, environment = command_at(level, Path(folder))
    settings = {
        "fds": nursery_fds,
        "modules": modules,
        "output_bytes": output_bytes,
        **settings_of(level, Path(folder)),
    }
    process = subprocess.Popen(
        line,
        stdin=subprocess.PIPE,
        pass_fds=nursery_fds,
        env=environment,
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(settings).encode())
    process.stdin.close()
    for _, theirs in pairs:
        theirs.close()
    return Nursery(process, [ours for ours, _ in pairs], level, folder)


def command_at(level: Level, folder: Path, program: str = "nursery") -> tuple[list[str], dict[str, str]]:
    """The command line and the environment of a program of inside/, with the copies in `folder`."""
    if level is Level.NAMESPACES:
        return command(folder, program), {}
    environment = {**ENVIRONMENT, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder)}
    environment["PYTHONPATH"] = f"{folder}/course:{folder}/examiner"
    environment["MPLCONFIGDIR"] = environment["XDG_CACHE_HOME"] = str(folder)
    return [sys.executable, "-B", "-P", "-m", f"{INSIDE.name}.{program}"], environment


def settings_of(level: Level, folder: Path) -> dict[str, Any]:
    """What the programs of inside/ need to know."""
    readable = [*SYSTEM, *interpreter(), str(folder / "course"), str(folder / "examiner")]
    readable += [f"/proc/{name}" for name in [*READ_BY_LIBRARIES, "loadavg"]]
    readable += [f"/dev/{name}" for name in ("zero", "full", "random", "urandom")]
    return {
        "namespaces": level is Level.NAMESPACES,
        "confined": level.own_user,
        "one_user": os.geteuid() != 0,  # all submissions run as the user who grades
        "uid": 0,
        "seccomp": seccomp_known(),
        "own_tmp": own_tmp(folder),
        "home": "/student" if level is Level.NAMESPACES else str(folder),
        "readable": [path for path in readable if os.path.exists(path)],
    }


def new_user() -> int:
    """A user for one submission, which no other one has.

    The kernel counts processes by user, on the whole machine: with the numbers of another grader that runs here, one
    submission could take the processes of the other, which would be left without a copy to test.
    """
    last = largest_uid(Path("/proc/self/uid_map").read_text())
    if last < 2 * FIRST_UID:  # a container with few users: its highest numbers are nobody's
        return last - secrets.randbelow(last // 4)
    return FIRST_UID + secrets.randbelow(min(MOST_UIDS, last - FIRST_UID))


def largest_uid(uid_map: str) -> int:
    """The highest user that there is here, from /proc/self/uid_map: a container may have 65,536 of them."""
    return max(int(first) + int(count) - 1 for first, _, count in map(str.split, uid_map.splitlines()))


def own_tmp(folder: Path) -> bool:
    """Can a submission have its own /tmp? Not where the interpreter lies below /tmp."""
    return not any(target.startswith("/tmp/") for _, target in readable_places(folder))


def seccomp_known() -> bool:
    return (INSIDE / "filters" / f"{os.uname().machine}.bpf").exists()


def why_not() -> str | None:
    """Why there is no sandbox on this machine; None where there is one."""
    if sys.platform != "linux":
        return f"it needs Linux, this is {sys.platform}"
    if bubblewrap() is None:
        return "bubblewrap is not installed (Debian and Ubuntu: apt-get install bubblewrap)"
    probe = [str(bubblewrap()), "--unshare-pid", "--unshare-net", "--unshare-ipc"]
    probe += [] if os.geteuid() == 0 else ["--unshare-user"]
    probe += ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/true"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return f"bubblewrap cannot make namespaces here ({reason})"
    return None


def why_no_users() -> str | None:
    """Why there is no sandbox of the second level on this machine: a child tries it. None where there is one."""
    if sys.platform != "linux":
        return f"it needs Linux, this is {sys.platform}"
    if os.geteuid() != 0:
        return "only root can give every submission a user of its own"
    if not seccomp_known():
        return f"there is no list of system calls for {os.uname().machine}"
    private = []
    with contextlib.suppress(CourseError):
        private = [path for path in (find_root() / name for name in PRIVATE) if path.exists()]
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(writer, (first_hole(private) or "\n").encode())
            signal.pause()
        finally:
            os._exit(0)
    os.close(writer)
    reason = os.read(reader, 1 << 12).decode().strip()
    os.close(reader)
    try:
        os.kill(pid, signal.SIGKILL)
    except PermissionError:
        reason = reason or "root cannot end processes of other users here (it lacks CAP_KILL)"
    os.waitpid(pid, 0)
    return reason or None


def first_hole(private: list[Path]) -> str | None:
    """As another user: is Python within reach, and what is private not? (Landlock closes what is open to all users.)"""
    uid = new_user()
    try:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    except OSError as error:
        return f"root cannot become another user here ({error.strerror})"
    if not all(os.access(path, os.R_OK | os.X_OK) for path in (sys.executable, os.path.dirname(os.__file__))):
        return f"other users cannot read Python in {sys.prefix}"
    readable = [] if landlock.version() else [path for path in private if os.access(path, os.R_OK)]
    if readable:
        return f"there is no Landlock, and all users can read {readable[0]} (close it: chmod -R go-rwx)"
    return None
