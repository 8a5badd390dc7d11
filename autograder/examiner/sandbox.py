"""What the operating system protects, and how it is asked to.

The nursery is started inside bubblewrap: a read-only view of the system and of the interpreter, no network, no other
folder of the machine, no environment variables. Every submission then gets its own namespaces, user, limits and scratch
folders (see inside/).
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

from autograder.examiner import cgroups
from autograder.model.course import CourseError, remove_stale_folders

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
IDLE_LOAD = "0.00 0.00 0.00 1/1 1\n"  # for /proc/loadavg


@dataclass
class Nursery:
    """The warm process that students' processes are forked from, and the sockets that reach it."""

    process: subprocess.Popen[bytes]
    sockets: list[socket.socket]
    unsafe: bool
    folder: str


def bubblewrap() -> str | None:
    return shutil.which("bwrap")


def copy_what_is_read(folder: Path, packages: list[Path]) -> None:
    """Copy what a notebook needs to see of the course: the sandbox's mount table then shows no path of the grader's."""
    for path in packages:
        if path.is_dir():
            shutil.copytree(path, folder / "course" / path.name)
    shutil.copytree(INSIDE, folder / "examiner" / INSIDE.name, ignore=shutil.ignore_patterns("__pycache__"))
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
    places = [(path, path) for path in SYSTEM if os.path.exists(path)]
    interpreter = {sys.prefix, sys.base_prefix, sysconfig.get_paths()["stdlib"]}
    interpreter.add(os.path.dirname(os.path.realpath(sys.executable)))
    places += [(path, path) for path in sorted(interpreter) if not path.startswith("/usr/") and path != "/usr"]
    places += [(str(folder / name), target) for name, target in (("examiner", "/run/examiner"), ("proc", "/run/proc"))]
    places += [(str(folder / "course"), "/course")] if (folder / "course").is_dir() else []
    return places


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
    unsafe: bool = False,
) -> Nursery:
    """Start the nursery; it serves `workers` sockets once its imports are done."""
    pairs = [socket.socketpair() for _ in range(workers)]
    nursery_fds = [theirs.fileno() for _, theirs in pairs]
    remove_stale_folders(Path(tempfile.gettempdir()), "course-")
    folder = tempfile.mkdtemp(prefix=f"course-{os.getpid()}-")
    if unsafe:
        line = [sys.executable, "-B", "-P", "-m", "autograder.inside.nursery"]
        environment = {**ENVIRONMENT, "PATH": os.environ.get("PATH", ""), "HOME": folder, "MPLCONFIGDIR": folder}
        environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(str(p.parent) for p in [*packages, INSIDE.parent]))
    else:
        if (reason := why_not()) is not None:
            without = "`--unsafe` grades without a sandbox, with your rights"
            raise CourseError(f"student code cannot be sandboxed here: {reason}. {without}")
        cgroups.remove_stale()
        copy_what_is_read(Path(folder), packages)
        line, environment = command(Path(folder)), {}
    settings = {
        "fds": nursery_fds,
        "modules": modules,
        "output_bytes": output_bytes,
        "namespaces": not unsafe,
        "seccomp": seccomp_known(),
        "home": folder,
    }
    settings["uid"] = 0
    settings["one_user"] = os.geteuid() != 0  # all submissions run as the user who grades
    settings["own_tmp"] = own_tmp(Path(folder))
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
    return Nursery(process, [ours for ours, _ in pairs], unsafe, folder)


def new_user() -> int:
    """A user for one submission, which no other one has.

    The kernel counts processes by user, on the whole machine: with the numbers of another grader that runs here, one
    submission could take the processes of the other, which would be left without a copy to test.
    """
    return FIRST_UID + secrets.randbelow(MOST_UIDS)


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
