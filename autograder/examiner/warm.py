"""The warm process that stays between calls of `course grade` and `course verify`: they need not import torch first.

    front ── Unix socket ── warm ── fork ── pool ── fork ── worker ── …
                              └──── exec (bubblewrap) ── nursery ── fork ── one copy per worker ── …

It holds no data of any course: what a front says about its assignment goes to the forks, which end with the front. Its
socket lies in a folder that only its owner can enter, under a name that has a digest of the tools and versions in
it: with other code, another one is started, and the old one is told to end. It ends by itself after some minutes
without work, when memory runs short, or when its nursery is gone. `COURSE_WARM=0` does without it, `COURSE_WARM=30`
keeps it for thirty minutes.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.examiner.messages import PoolEnded, receive, send

if TYPE_CHECKING:
    from autograder.examiner.sandbox import Nursery
    from autograder.inside.shell import Shell

MINUTES = 10.0  # without work, before it ends
LOOK_SECONDS = 5.0  # between two looks at the clock and the memory
SECONDS_TO_SAY = 10.0  # what a front wants: it is one of ours, and says so at once
LEAST_MEMORY = 0.1  # of the machine's that must be available: below, an idle process gives back what it holds
MOST_WORKERS = 200  # descriptors that one message can carry


# ---- the front's side ------------------------------------------------------------------------------------------------


def minutes() -> float:
    """How long it stays; 0 where it is not wanted."""
    try:
        return max(0.0, float(os.environ.get("COURSE_WARM") or MINUTES))
    except ValueError:
        return MINUTES


def folder() -> Path | None:
    """Where the sockets are: a folder of this user's that nobody else can enter. None where there can be none."""
    if sys.platform != "linux":
        return None
    place = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir(), f"course-warm-{os.getuid()}")
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        about = place.lstat()
    except OSError:
        return None
    private = about.st_uid == os.getuid() and not about.st_mode & 0o077 and not place.is_symlink() and place.is_dir()
    return place if private else None


def joined(settings: dict[str, Any], fixed: dict[str, str], sockets: list[socket.socket]) -> socket.socket | None:
    """Have the warm process serve these sockets, and start it if need be. `fixed` are variables as students have them.

    The connection that is given ends when all workers have ended; closing it ends them. None: there is no such process.
    """
    place = folder() if minutes() and len(sockets) <= MOST_WORKERS else None
    if place is None:
        return None
    line = None
    try:
        line = connected(place, {**settings, "fixed": fixed})
        socket.send_fds(line, [b"\n"], [one.fileno() for one in sockets])
        send(line, {"workers": len(sockets), "modules": settings["modules"], "environment": dict(os.environ)})
    except (OSError, PoolEnded):  # a path too long for a socket, a full disk: grading goes on without
        if line is not None:
            line.close()
        return None
    return line


def connected(place: Path, settings: dict[str, Any]) -> socket.socket:
    """A connection to the process with these tools; it may be still warming up."""
    from autograder.examiner.tools_digest import tools_digest

    same = {name: value for name, value in settings.items() if name != "modules"}
    of_python = {name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "LD_", "TMPDIR"))}
    parts = [tools_digest(), sys.executable, same, of_python]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    home = hashlib.sha256(str(Path(__file__).parent).encode()).hexdigest()
    path = place / f"{home[:8]}-{digest[:16]}.sock"
    line = socket.socket(socket.AF_UNIX)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            line.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            for other in place.glob(f"{home[:8]}-*.sock"):
                ask(other, {"end": True})
            start(path, settings)
            line.connect(str(path))
    return line


def start(path: Path, settings: dict[str, Any]) -> None:
    """By exec, in a session of its own, with no descriptor of the caller's but the socket."""
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(64)
        os.set_inheritable(listener.fileno(), True)
        given = {**settings, "listener": listener.fileno(), "path": str(path), "minutes": minutes()}
        null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
        program = [sys.executable, "-P", "-m", "autograder.examiner.warm", json.dumps(given)]
        os.posix_spawn(sys.executable, program, {**os.environ, **settings["fixed"]}, file_actions=null, setsid=True)


def ask(path: Path, question: dict[str, Any]) -> dict[str, Any] | None:
    """What a warm process answers; None where none listens any more, and its socket is removed."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(SECONDS_TO_SAY)
        try:
            line.connect(str(path))
            line.sendall(b"\n")
            send(line, question)
            answer: dict[str, Any] | None = receive(line)
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return None
        except (OSError, PoolEnded):
            return None
    return answer


def all_warm() -> Iterator[dict[str, Any]]:
    """What each warm process of this user says of itself: {"pid", "idle_seconds", "pools", "mb"}."""
    place = folder()
    for path in sorted(place.glob("*.sock")) if place is not None else ():
        if (answer := ask(path, {"about": True})) is not None:
            yield answer


def end_all() -> None:
    """End those that are idle; others end with their last front."""
    place = folder()
    for path in sorted(place.glob("*.sock")) if place is not None else ():
        ask(path, {"end": True})


# ---- the process itself ----------------------------------------------------------------------------------------------


def main(settings: dict[str, Any]) -> None:
    from autograder.examiner import sandbox, worker

    gc.disable()  # until all is imported
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2 and number != settings["listener"]:  # what the caller's shell left open
            with contextlib.suppress(OSError):
                os.close(number)
    listener = socket.socket(fileno=settings["listener"])
    packages = [Path(path) for path in settings["packages"]]
    modules = [*worker.WARM, *settings["modules"]]
    nursery = sandbox.start_nursery(
        1, packages, [*modules, *worker.STUDENTS], settings["output_bytes"], sandbox.Level(settings["level"])
    )
    shell = worker.warm_up(modules, settings["output_bytes"])
    warm = Warm(listener, nursery, shell, settings)
    try:
        while warm.stays():
            warm.look()
    finally:
        warm.end()


class Warm:
    """Forks a pool for every front that asks."""

    def __init__(self, listener: socket.socket, nursery: Nursery, shell: Shell, settings: dict[str, Any]) -> None:
        self.listener, self.nursery, self.shell, self.settings = listener, nursery, shell, settings
        self.pools: set[int] = set()
        self.used = time.monotonic()
        self.ending = False

    def stays(self) -> bool:
        while self.pools and (pid := os.waitpid(-1, os.WNOHANG)[0]):
            self.pools.discard(pid)
            self.used = time.monotonic()
        if self.nursery.process.poll() is not None:  # the next front starts another one
            return False
        if self.pools:
            return True
        late = time.monotonic() - self.used > 60 * self.settings["minutes"]
        return not (self.ending or late or not os.path.exists(self.settings["path"]) or little_memory())

    def look(self) -> None:
        """Wait for a front, not for long."""
        if not select.select([self.listener], [], [], LOOK_SECONDS)[0]:
            return
        line, _ = self.listener.accept()
        descriptors: list[int] = []
        try:
            line.settimeout(SECONDS_TO_SAY)
            _, descriptors, _, _ = socket.recv_fds(line, 1, MOST_WORKERS)
            order = receive(line) or {}
            if "workers" in order:
                self.fork_pool(line, descriptors, order)
            elif "end" in order:
                self.ending = True
                Path(self.settings["path"]).unlink(missing_ok=True)  # nobody new comes
                send(line, {"pools": len(self.pools)})
            elif "about" in order:
                send(line, self.about())
        except (OSError, PoolEnded):  # that front is gone; the next one is another's
            pass
        finally:
            for number in descriptors:
                os.close(number)
            line.close()

    def about(self) -> dict[str, Any]:
        idle = 0.0 if self.pools else time.monotonic() - self.used
        pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.processes())
        mb = pages * os.sysconf("SC_PAGE_SIZE") >> 20
        return {"pid": os.getpid(), "idle_seconds": round(idle), "pools": len(self.pools), "mb": mb}

    def processes(self) -> list[int]:
        """This one, bubblewrap, and the nursery in it."""
        found = [os.getpid()]
        for pid in found:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            found += [int(child) for child in children if int(child) not in self.pools]
        return found

    def fork_pool(self, line: socket.socket, descriptors: list[int], order: dict[str, Any]) -> None:
        """A process for this front, with a copy of the nursery for each of its workers."""
        from autograder.inside import shell as shells

        nests = []
        for _ in descriptors:
            ours, theirs = socket.socketpair()
            join = json.dumps({"join": order["modules"]}).encode()
            socket.send_fds(self.nursery.sockets[0], [join], [theirs.fileno()])
            self.nursery.sockets[0].recv(65536)  # it has begun to serve, or it is gone
            theirs.close()
            nests.append(ours)
        daemon, pid = os.getpid(), os.fork()
        if not pid:
            try:
                from autograder.examiner import worker

                worker.die_with(daemon)
                self.listener.close()
                self.nursery.sockets[0].close()
                os.environ.clear()
                os.environ.update(order["environment"] | self.settings["fixed"])
                shells.import_all(order["modules"])
                shells.ready_to_fork()
                sockets = [socket.socket(fileno=os.dup(number)) for number in descriptors]
                for number in descriptors:
                    os.close(number)
                serve_front(line, worker.fork_workers(sockets, nests, self.shell, self.nursery))
            finally:
                for place in Path(tempfile.gettempdir()).glob(
                    f"{Path(self.nursery.folder).name}-tests-{os.getpid()}-*"
                ):
                    shutil.rmtree(place, ignore_errors=True)
                os._exit(0)
        self.pools.add(pid)
        for ours in nests:
            ours.close()

    def end(self) -> None:
        Path(self.settings["path"]).unlink(missing_ok=True)
        self.listener.close()
        self.nursery.process.terminate()
        self.nursery.process.wait()
        shutil.rmtree(self.nursery.folder, ignore_errors=True)


def serve_front(line: socket.socket, workers: list[int]) -> None:
    """Until all workers have ended. When the front is gone, or wants no more, they are ended at once."""
    line.settimeout(None)
    handles = {os.pidfd_open(pid): pid for pid in workers}
    watched: list[Any] = [line, *handles]
    while handles:
        for one in select.select(watched, [], [])[0]:
            watched.remove(one)
            if one is line:
                for pid in handles.values():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            else:
                os.waitpid(handles.pop(one), 0)


def little_memory() -> bool:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return False
    kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    return kilobytes.get("MemAvailable", 1) < LEAST_MEMORY * kilobytes.get("MemTotal", 1)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
