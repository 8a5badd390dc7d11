"""Attacks through what a process is: its files in /proc, its terminal, who its parent is.

Importing this adds them to the class of attacks.py.
"""

from __future__ import annotations

from attacks import INSIDE, answer, beside, family

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
