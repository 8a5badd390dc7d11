"""What the operating system protects, and how it is asked to.

The nursery is started inside bubblewrap: a read-only view of the system and of the interpreter, no network, no other folder of the machine,
no environment. Every submission then gets namespaces, a user, limits and a scratch folder of its own (see student.py).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from autograder.course import CourseError, forget_the_dead
from autograder.examiner import cgroups

HERE = Path(__file__).parent
FILES = ["student.py", "recorder.py", "stops.py", "wire.py", "memory_watch.py", "private_view.py", "student_rights.py", "system_calls.py"]
CAPABILITIES = ["SYS_ADMIN", "SYS_RESOURCE", "SETUID", "SETGID", "SETPCAP", "KILL", "DAC_OVERRIDE", "CHOWN", "SYS_PTRACE"]
FIRST_UID = 200_000
SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime"]
SYSTEM += ["/etc/mime.types"]
# What libraries read of /proc, as it is when grading starts: a figure that changes would carry messages between submissions.
READ_BY_LIBRARIES = ["cpuinfo", "filesystems", "meminfo", "stat", "swaps", "uptime", "version", "vmstat", "diskstats", "partitions"]
READ_BY_LIBRARIES += [f"sys/kernel/{name}" for name in ("osrelease", "ostype", "pid_max", "threads-max", "cap_last_cap", "ngroups_max")]
READ_BY_LIBRARIES += ["sys/vm/overcommit_memory", "sys/vm/max_map_count", "sys/net/core/somaxconn", "sys/crypto/fips_enabled"]
IDLE = "0.00 0.00 0.00 1/1 1\n"  # /proc/loadavg


@dataclass(frozen=True)
class Limits:
    """What one submission may use. `[limits]` in course.toml changes it for the course, `limits` of an assignment for that one."""

    cell_seconds: float = 30  # one cell of the student, and one call from a test
    test_seconds: float = 30  # one test cell
    submission_seconds: float = 600  # the whole submission
    cpu_seconds: int = 300  # of one process of the student
    memory_mb: int = 2048  # of one process beyond the libraries; all of them together may use a quarter more
    processes: int = 64
    file_mb: int = 64  # one file
    scratch_mb: int = 256  # all files
    output_kb: int = 1024  # outputs of one cell

    def with_changes(self, changes: dict[str, Any], where: str) -> Limits:
        known = {field.name for field in fields(self)}
        for name, value in changes.items():
            if name not in known:
                raise CourseError(f"{where}: there is no limit {name!r}; there are {', '.join(sorted(known))}")
            if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
                raise CourseError(f"{where}: {name} must be a number above zero")
        return replace(self, **{name: type(getattr(self, name))(value) for name, value in changes.items()})

    def settings(self) -> dict[str, Any]:
        return {
            "memory_bytes": self.memory_mb << 20,
            "cpu_seconds": int(self.cpu_seconds),
            "file_bytes": self.file_mb << 20,
            "scratch_bytes": self.scratch_mb << 20,
            "processes": int(self.processes),
        }

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Nursery:
    """The warm process that students' processes are forked from, and the sockets that reach it."""

    def __init__(self, process: subprocess.Popen[bytes], sockets: list[socket.socket], unsafe: bool, folder: str) -> None:
        self.process, self.sockets, self.unsafe, self.folder = process, sockets, unsafe, folder


def bubblewrap() -> str | None:
    return shutil.which("bwrap")


def copy_what_is_read(folder: Path, packages: list[Path], files: list[str]) -> None:
    """Copies, in this folder, of what a notebook needs to see of the course: the sandbox's mount table then tells no path of the grader's."""
    for path in packages:
        if path.is_dir():
            shutil.copytree(path, folder / "course" / path.name)
    (folder / "examiner").mkdir()
    for name in files:
        shutil.copy2(HERE / name, folder / "examiner")
    shutil.copytree(HERE / "filters", folder / "examiner" / "filters")
    for kind in ("file", "folder"):  # to cover the rest of /proc with
        place = folder / "proc" / ".nothing" / kind
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch() if kind == "file" else place.mkdir()
    (folder / "proc" / "loadavg").write_text(IDLE)
    for name in READ_BY_LIBRARIES:
        with contextlib.suppress(OSError):
            text = Path("/proc", name).read_bytes()
            (folder / "proc" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "proc" / name).write_bytes(text)


def readable_places(folder: Path) -> list[tuple[str, str]]:
    """Host path and sandbox path of what a notebook needs to see, copies in `folder` included."""
    places = [(path, path) for path in SYSTEM if os.path.exists(path)]
    interpreter = {sys.prefix, sys.base_prefix, sysconfig.get_paths()["stdlib"], os.path.dirname(os.path.realpath(sys.executable))}
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
    "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",  # larger than a file may be
}


def command(folder: Path, program: str = "student.py") -> list[str]:
    """The bubblewrap command line around the nursery, or around another program of the examiner's."""
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
    capabilities = CAPABILITIES if root else [*CAPABILITIES, "SETFCAP"]  # without it the kernel lets nobody map user 0 once more
    line += ["--cap-drop", "ALL", *(part for name in capabilities for part in ("--cap-add", f"CAP_{name}"))]
    line += ["--clearenv", "--hostname", "examiner"]
    for name, value in {**ENVIRONMENT, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PYTHONPATH": "/course"}.items():
        line += ["--setenv", name, value]
    made = {"/", "/tmp"}
    line += ["--perms", "1777", "--tmpfs", "/tmp"]  # first: the course itself may lie below it
    for source, target in readable_places(folder):
        for parent in reversed(Path(target).parents):  # bubblewrap would make them for root only
            if str(parent) not in made:
                made.add(str(parent))
                line += ["--perms", "0755", "--dir", str(parent)]
        made.add(target)
        if os.path.islink(source) and source in SYSTEM:
            line += ["--symlink", os.readlink(source), target]
        else:
            line += ["--ro-bind", source, target]
    line += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]  # all submissions share it: nobody may leave anything there
    line += ["--dir", "/student", "--chdir", "/", "--remount-ro", "/"]
    return [*line, "--", sys.executable, "-B", f"/run/examiner/{program}"]


def start_nursery(workers: int, packages: list[Path], modules: list[str], output_bytes: int, unsafe: bool = False) -> Nursery:
    """Start it; it serves `workers` sockets once its imports are done."""
    pairs = [socket.socketpair() for _ in range(workers)]
    far = [theirs.fileno() for _, theirs in pairs]
    forget_the_dead(Path(tempfile.gettempdir()), "course-")
    folder = tempfile.mkdtemp(prefix=f"course-{os.getpid()}-")
    if unsafe:
        line = [sys.executable, "-B", str(HERE / "student.py")]
        environment = {**ENVIRONMENT, "PATH": os.environ.get("PATH", ""), "HOME": folder, "MPLCONFIGDIR": folder}
        environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(str(p.parent) for p in packages))
    else:
        if (reason := why_not()) is not None:
            raise CourseError(f"student code cannot be sandboxed here: {reason}. `--unsafe` grades without a sandbox, with your rights")
        cgroups.remove_stale()
        copy_what_is_read(Path(folder), packages, FILES)
        line, environment = command(Path(folder)), {}
    settings = {
        "fds": far,
        "modules": modules,
        "output_bytes": output_bytes,
        "namespaces": not unsafe,
        "seccomp": seccomp_known(),
        "home": folder,
    }
    settings["uid"] = 0
    settings["one_user"] = os.geteuid() != 0  # all submissions run as the user who grades
    settings["own_tmp"] = own_tmp(Path(folder))
    process = subprocess.Popen(line, stdin=subprocess.PIPE, pass_fds=far, env=environment, start_new_session=True)
    assert process.stdin is not None
    process.stdin.write(json.dumps(settings).encode())
    process.stdin.close()
    for _, theirs in pairs:
        theirs.close()
    return Nursery(process, [ours for ours, _ in pairs], unsafe, folder)


def own_tmp(folder: Path) -> bool:
    """Can a submission have a /tmp of its own? Not where the interpreter lies below it."""
    return not any(target.startswith("/tmp/") for _, target in readable_places(folder))


def seccomp_known() -> bool:
    return (HERE / "filters" / f"{os.uname().machine}.bpf").exists()


def why_not() -> str | None:
    """The reason why there is no sandbox on this machine, or None."""
    if sys.platform != "linux":
        return f"it needs Linux, this is {sys.platform}"
    if bubblewrap() is None:
        return "bubblewrap is not installed (Debian and Ubuntu: apt-get install bubblewrap)"
    probe = [str(bubblewrap()), "--unshare-pid", "--unshare-net", "--unshare-ipc", *([] if os.geteuid() == 0 else ["--unshare-user"])]
    probe += ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/true"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"bubblewrap cannot make namespaces here ({(done.stderr.strip().splitlines() or ['no reason given'])[-1]})"
    return None
