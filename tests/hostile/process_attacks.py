"""Attacks through what a process is: its files in /proc, its terminal, who its parent is.

Importing this adds them to the class of attacks.py.
"""

from __future__ import annotations

from attacks import INSIDE, SERVER, answer, beside, family
from course import POINTS

family("what a process is")

# smaps and pagemap tell whether anybody else on the machine uses the same page of a file; net/sockstat counts
# everybody's sockets.
beside(
    "files of processes",
    INSIDE
    + """
def files(folder, depth):
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False) and depth: yield from files(entry.path, depth - 1)
        elif entry.is_file(follow_symlinks=False): yield entry.path
for folder in ("/proc/self", "/proc/thread-self", f"/proc/{os.getpid()}", "/proc/net", "/proc/self/net", f"/proc/self/task/{os.getpid()}"):
    for path in [*files(folder + "/", 1), folder + "/mounts"]:
        try:
            with open(path, "rb") as file: text = file.read(100)
        except OSError: continue
        if text: print("HOLE", path)
print("tried")
""",
    outputs="tried",
)
beside(
    "what is left of /proc and of moving files",
    """
import os, shutil, subprocess, psutil
print(len(open("/proc/cpuinfo").read()) > 0, len(open("/proc/meminfo").read()) > 0, len(os.listdir("/proc/self/fd")) > 2, psutil.pids())
os.makedirs("a/b")
open("a/b/x", "w").write("moved")
os.rename("a/b/x", "a/y")
os.link("a/y", "a/b/z")
shutil.move("a/b/z", "/tmp/z")
lines = !cat /tmp/z; ls -d /usr
print(lines == ["moved", "/usr"], subprocess.run(["cat", "a/y"], capture_output=True, text=True).stdout)
print("all of it")
""",
    outputs="all of it",
)

# A key on a terminal stops processes, and so does reading it in the background: the kernel sends the signal, no system
# call tells. It must
# count as the submission's own doing: "stopped from outside" would leave it without a verdict, and be tried again and
# again.
TERMINAL = (
    INSIDE
    + """
import time
key, other = os.openpty()
terminal = os.open(os.ttyname(other), os.O_RDWR)
def stopped():
    if os.fork() == 0:  # whose child joins our group: the kernel stops no group that nobody outside it could wake
        os.setpgid(0, 0)
        if os.fork() == 0: os.setpgid(0, os.getsid(0))
        time.sleep(1000)
    time.sleep(0.2)
    os.write(key, b"\\x1a")
    time.sleep(1000)
"""
)
beside("stopped by a key of its terminal", TERMINAL + "stopped()", outputs="interrupted after")
answer(
    "reads its terminal in the background",
    "double",
    TERMINAL + "def double(x):\n    os.read(terminal, 1)\n    return x + x",
    says={"lost": "double-test: your code did not finish"},
)

# Who waits in vfork looks like one who waits for a disk, except that it has a child; here the child is its parent's.
answer(
    "waits for a child of its parent's",
    "double",
    INSIDE
    + """
import ctypes
libc = ctypes.CDLL(None)
def double(x):
    stack = ctypes.create_string_buffer(1 << 16)
    top = (ctypes.addressof(stack) + (1 << 16)) & ~15
    memory, vfork, parent, child_ended = 0x100, 0x4000, 0x8000, 17
    started = libc.clone(ctypes.cast(libc.sleep, ctypes.c_void_p), ctypes.c_void_p(top), memory | vfork | parent | child_ended, 1000)
    return f"refused: {started}"
""",
)

# Who is killed from outside is tried again, and gets no verdict. So nobody may look like that: every way to be ended by
# SIGKILL or SIGTERM from inside the sandbox must count as the submission's own doing.
family("killed as if from outside")

DYING = (
    INSIDE
    + """
import ctypes, resource, signal, threading, time
libc = ctypes.CDLL(None, use_errno=True)
"""
)
ENDED = {"lost": "double-test: your code ended the Python process"}
answer(
    "one thread of it kills another",
    "double",
    DYING
    + "def double(x):\n    libc.syscall(200 if os.uname().machine == 'x86_64' else 130, os.getpid(), 9)\n    time.sleep(1)",
    says=ENDED,
)
answer(
    "a limit on processor time that it sets",
    "double",
    DYING + "def double(x):\n    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\n    while True: pass",
    says=ENDED,
)
beside(
    "copies that end with their parent",
    DYING + "os.register_at_fork(after_in_child=lambda: libc.prctl(1, 9, 0, 0, 0))",
    scores=dict.fromkeys(POINTS, 0.0),
    says={"lost": "double-test: your code ended the Python process"},
)
answer(
    "a child whose end kills its parent",
    "double",
    DYING
    + """
def double(x):
    if libc.syscall(56 if os.uname().machine == "x86_64" else 220, 9, 0, 0, 0, 0) == 0: os._exit(0)
    time.sleep(0.5)
    return "refused"
""",
)
answer(
    "a child in its memory that crashes",
    "double",
    DYING
    + """
crash = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
def double(x):
    stack = ctypes.create_string_buffer(1 << 16)
    top = (ctypes.addressof(stack) + (1 << 16)) & ~15
    libc.clone(ctypes.cast(libc.abort, ctypes.c_void_p), ctypes.c_void_p(top), 0x100 | 17, 0)
    time.sleep(0.5)
    return "alive"
""",
)
answer(
    "terminated by its child",
    "double",
    DYING
    + "def double(x):\n    if os.fork() == 0:\n        os.kill(os.getppid(), signal.SIGTERM)\n        os._exit(0)\n    time.sleep(2)",
)
answer(
    "a program that cannot be loaded",
    "double",
    DYING
    + """
import sys
def double(x):
    text = bytearray(open(sys.executable, "rb").read(1 << 14))
    start, count = int.from_bytes(text[32:40], "little"), int.from_bytes(text[56:58], "little")
    for at in range(start, start + 56 * count, 56):
        if text[at:at + 4] == b"\\1\\0\\0\\0": text[at + 16:at + 24] = b"\\0\\xf0\\xff\\xff\\xff\\x7f\\0\\0"
    open("bad", "wb").write(text)
    os.chmod("bad", 0o700)
    os.execv("bad", ["bad"])
""",
)
answer("broke only its connection", "double", DYING + "def double(x):\n    os.closerange(3, 192)\n    time.sleep(9)")
# The examiner kills the copy of the first test at its end, and so the one of the second.
beside(
    "one process is two copies",
    SERVER
    + """
import socket, threading
mine, (ours, theirs) = server(), socket.socketpair()
wire = sys.modules[type(mine).__module__].wire
def also_for_the_next():
    fd = socket.recv_fds(theirs, 1, 1)[1][0]
    wire.send(socket.socket(fileno=fd), wire.pack({"op": "ready"}, None, None))
    socket.socket(fileno=os.dup(fd)).recv(1)
class Twice(type(mine)):
    times, first = 0, os.getpid()
    def clone(self, fd, number):
        self.times += 1
        if self.times == 2:
            socket.send_fds(ours, [b"x"], [fd])
            os.close(fd)
            self.tell({"op": "done", **number}, None)
            return
        super().clone(fd, number)
        if self.times == 1 and os.getpid() != self.first: threading.Thread(target=also_for_the_next).start()
mine.__class__ = Twice
""",
    scores={"softmax": 0.0},
    says={"lost": "softmax-test: your code ended the Python process"},
)
