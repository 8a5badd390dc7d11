"""Attacks through the kernel: memory that it keeps for a process, counters and caches that all submissions share, calls
outside the list.

Importing this adds them to the class of attacks.py. No flood asks for more than CAP bytes in all.
"""

from __future__ import annotations

from attacks import INSIDE, answer, beside, family

CAP = 900 << 20  # a submission here may hold 640 MB; where nothing stops a flood it ends by itself at this

# ---- memory that no figure of a process shows ------------------------------------------------------------------------

family("memory that no figure of a process shows")

FLOOD = (
    INSIDE
    + f"""
import select, socket, time
CAP = {CAP}
kept, held, block = [], 0, bytes(200_000)
def fill(sock):
    global held
    sock.setblocking(False)
    try:
        while held < CAP // 24: held += sock.send(block)
    except (BlockingIOError, BrokenPipeError): pass
def pairs(kind=socket.SOCK_STREAM, close=False, size=0):
    while held < CAP // 24:
        here, there = socket.socketpair(socket.AF_UNIX, kind)
        for sock in (here, there):
            if size: sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
        kept.append(there)
        fill(here)
        if close: here.close()
        else: kept.append(here), fill(there)
def in_flight():
    out, into = socket.socketpair()
    kept.extend((out, into))
    while held < CAP // 24:
        here, there = socket.socketpair()
        fill(here), fill(there)
        socket.send_fds(out, [b"x"], [here.fileno(), there.fileno()])
        here.close(), there.close()
def many_senders():
    for number in range(90): senders_of("\\0receiver%d-%d" % (os.getpid(), number))
def senders_of(name):
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind(name)
    kept.append(receiver)
    while held < CAP // 24:
        sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sender.connect(name)
        before = held
        fill(sender)
        sender.close()
        if held == before: break
def pipes():
    import fcntl
    while held < CAP // 24:
        r, w = os.pipe()
        os.set_blocking(w, False)
        fcntl.fcntl(w, 1031, 1 << 20)
        globals().update(held=held + os.write(w, bytes(1 << 20)))
def flood(how):
    said, say = os.pipe()
    wait, go = os.pipe()
    started = []
    for _ in range(24):
        try: pid = os.fork()
        except OSError: break
        if pid == 0:
            os.close(go)
            try: how()
            except (OSError, ValueError, MemoryError): pass
            os.write(say, held.to_bytes(8, "little"))
            os.read(wait, 1)  # all hold what they have until all have it
            os._exit(7)
        started.append(pid)
    os.close(say)
    total = 0
    while word := os.read(said, 8) if select.select([said], [], [], 1)[0] else b"":
        total += int.from_bytes(word, "little")
    time.sleep(0.3)
    os.close(go)
    ends = {{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in started}}
    print("HOLE" if ends == {{7}} and total > 700 << 20 else "stopped or too little:", total >> 20, "MB")
"""
)
STOPPED = "stopped or too little|Stopped|MB of memory|TimeoutError"
for way, call in {
    "socket pairs": "pairs",
    "socket pairs with large buffers": "lambda: pairs(size=1 << 20)",
    "sockets whose sender is gone": "lambda: pairs(close=True)",
    "sockets in flight": "in_flight",
    "packets": "lambda: pairs(socket.SOCK_SEQPACKET)",
    "messages of many senders": "many_senders",
    "pipes": "pipes",
}.items():
    beside(f"kernel memory: {way}", FLOOD + f"flood({call})", outputs=STOPPED)
answer(
    "kernel memory in a test", "double", FLOOD + "def double(x):\n    flood(pairs)\n    flood(pairs)\n    os._exit(0)"
)
beside(
    "memory that is no file",
    INSIDE
    + """
import ctypes, platform
libc = ctypes.CDLL(None)
numbers = [319, 447] if platform.machine() == "x86_64" else [279, 447]
for number in numbers:
    if libc.syscall(number, b"x", 0) >= 0: print("HOLE", number)
print("tried")
""",
    outputs="tried",
)

# ---- what one submission could tell another --------------------------------------------------------------------------

family("what one submission could tell another")

# A page of a file that both see: is it in memory? One side loads or evicts it, the other asks.
PAGES = (
    INSIDE
    + """
import ctypes, mmap, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open(os.path.join(sys.prefix, "pyvenv.cfg"), os.O_RDONLY)
pc = platform.machine() == "x86_64"
area = libc.mmap
area.restype = ctypes.c_void_p
at = ctypes.c_void_p(area(None, ctypes.c_size_t(4096), 1, 1, fd, ctypes.c_long(0)))
text, vector = ctypes.create_string_buffer(4096), (ctypes.c_ulong * 2)()
vector[0], vector[1] = ctypes.addressof(text), 4096
long = ctypes.c_long
ways = {
    "preadv2, no waiting": lambda: os.preadv(fd, [bytearray(16)], 0, 8),
    "preadv2": lambda: libc.syscall(327 if pc else 286, fd, vector, long(1), long(0), long(0), 8),
    "fadvise, will need": lambda: -libc.posix_fadvise(fd, long(0), long(4096), 3),
    "fadvise, not needed": lambda: -libc.posix_fadvise(fd, long(0), long(4096), 4),
    "mincore": lambda: libc.mincore(at, ctypes.c_size_t(4096), text),
    "readahead": lambda: libc.readahead(fd, long(0), ctypes.c_size_t(4096)),
    "madvise, will need": lambda: libc.madvise(at, ctypes.c_size_t(4096), 3),
    "madvise, cold": lambda: libc.madvise(at, ctypes.c_size_t(4096), 20),
    "madvise, page out": lambda: libc.madvise(at, ctypes.c_size_t(4096), 21),
    "madvise, populate": lambda: libc.madvise(at, ctypes.c_size_t(4096), 22),
    "madvise, merge": lambda: libc.madvise(at, ctypes.c_size_t(4096), 12),
    "cachestat": lambda: libc.syscall(451, fd, (ctypes.c_uint64 * 2)(0, 4096), (ctypes.c_uint64 * 5)(), 0),
    "splice": lambda: libc.splice(fd, None, os.pipe()[1], None, ctypes.c_size_t(16), 2),
    "aio": lambda: libc.syscall(206 if pc else 0, 8, ctypes.byref(ctypes.c_ulong(0))),
    "sync of a range": lambda: libc.sync_file_range(fd, long(0), long(4096), 7),
}
for name, way in ways.items():
    try: found = way()
    except OSError: found = -1
    if found >= 0: print("HOLE", name)
print("tried")
"""
)
beside("page cache", PAGES, outputs="tried")

# Every figure of /proc that is not of a process, before and after something that counts; nothing may have changed.
COUNTERS = (
    INSIDE
    + """
import ctypes, time
def figures():
    found, left = {}, ["/proc"]
    while left and len(found) < 4000:
        folder = left.pop()
        for entry in os.scandir(folder):
            if folder == "/proc" and (entry.name.isdigit() or entry.is_symlink()): continue
            if entry.is_dir(follow_symlinks=False): left.append(entry.path)
            elif entry.is_file():
                try:
                    fd = os.open(entry.path, os.O_RDONLY | os.O_NONBLOCK)
                    found[entry.path] = os.read(fd, 100_000)
                    os.close(fd)
                except OSError: pass
    return found
before = figures()
work = [bytearray(1) * 60_000_000]
for _ in range(9):
    if os.fork() == 0:
        time.sleep(0.5)
        os._exit(0)
files = [open("/dev/null") for _ in range(50)]
after = figures()
for name in before.keys() | after.keys():
    if before.get(name) != after.get(name): print("HOLE", name)
info = ctypes.create_string_buffer(200)
if ctypes.CDLL(None).sysinfo(info) == 0: print("HOLE sysinfo")
print("tried", len(before))
"""
)
beside("counters of the machine", COUNTERS, outputs="tried")
for part in (
    "fs/aio-nr",
    "fs/file-nr",
    "fs/inode-nr",
    "fs/dentry-state",
    "kernel/ns_last_pid",
    "kernel/random/entropy_avail",
    "kernel/pty/nr",
):
    beside(
        f"counter {part}",
        f"try: print('HOLE', open('/proc/sys/{part}').read())\nexcept OSError: print('not there')",
        outputs="not there",
    )
beside(
    "the mount table",
    """
for name in ("mountinfo", "mounts", "mountstats"):
    try: text = open(f"/proc/self/{name}").read()
    except OSError: continue
    for part in ("/helpers", "/autograder", "/solutions", "/submitted", "/english_french"):
        if part in text: print("HOLE", part)
print("tried")
""",
    outputs="tried",
)

# ---- calls outside the list ------------------------------------------------------------------------------------------

family("calls outside the list")

OUTSIDE = {
    "x86_64": (
        """27 29 64 68 99 101 103 105 106 116 117 126 129 135 144 149 151 155 159 161 162 163 165 166 167 169 170 175 179 187 188 206
        207 212 221 222 237 238 240 248 250 251 272 275 276 277 278 279 294 297 298 300 303 304 305 306 308 310 312 314 317 319 321 323 327
        328 330 424 425 428 430 434 435 440"""
    ),
    "aarch64": (
        """0 1 5 18 26 30 39 40 41 51 60 75 76 77 81 84 89 91 92 105 107 116 117 119 138 142 144 146 147 159 161 171 179 180 186 190
        194 213 217 219 223 224 228 230 232 235 237 239 240 241 262 264 265 266 267 268 270 272 274 277 279 280 282 286 287 289 424 425 428
        430 434 435 440"""
    ),
}
beside(
    "calls outside the list",
    INSIDE
    + f"""
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
for number in [int(word) for word in {OUTSIDE}[platform.machine()].split()] + list(range(442, 600)):
    for args in ((0, 0, 0, 0, 0, 0), (-1, 0, 0, 0, 0, 0), (3, 4096, 0, 0, 0, 0)):
        found = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, args))
        if found != -1 or ctypes.get_errno() not in (errno.ENOSYS, errno.EPERM): print("HOLE", number, found, ctypes.get_errno())
if platform.machine() == "x86_64":
    found = libc.syscall(ctypes.c_long(0x40000000 + 39))
    if found != -1: print("HOLE x32", found)
print("tried")
""",
    outputs="tried",
    says={"tamper": "attempt"},
)
beside(
    "what honest libraries need",
    """
import asyncio, concurrent.futures, multiprocessing, os, subprocess, tempfile, threading
print(subprocess.run("echo shell | sort", shell=True, capture_output=True, text=True).stdout.strip())
with concurrent.futures.ThreadPoolExecutor(2) as pool: print(sum(pool.map(abs, [-1, -2])))
loop = asyncio.new_event_loop()
print(loop.run_until_complete(asyncio.sleep(0, "slept")))
here, there = multiprocessing.Pipe()
here.send([1]); print(there.recv())
with tempfile.TemporaryDirectory() as folder: open(os.path.join(folder, "x"), "w").close()
for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "MPLCONFIGDIR", "XDG_CACHE_HOME"):
    os.makedirs(os.environ[name], exist_ok=True)
    open(os.path.join(os.environ[name], "x"), "w").close()
import psutil
print(psutil.virtual_memory().total > 0, psutil.cpu_count() > 0, len(psutil.pids()) > 0, os.cpu_count() > 0)
print("all of it")
""",
    outputs="all of it",
)

# ---- what shared files say about themselves --------------------------------------------------------------------------

family("what shared files say about themselves")

beside(
    "times of shared files",
    INSIDE
    + """
import os, time
devices = [f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "console")]
shared = [*devices, "/", "/dev", "/usr/bin/env", "/course", "/course/helpers/__init__.py", "/run/proc/meminfo"]
shared = [path for path in shared if os.path.exists(path)]
def said():
    found = {path: os.stat(path) for path in shared}
    return {path: (s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns, s.st_mode, s.st_nlink) for path, s in found.items()}
before = said()
for path in shared:
    changes = [lambda: os.utime(path), lambda: os.chmod(path, 0o666), lambda: os.truncate(path, 0)]
    for change in [*changes, lambda: os.setxattr(path, "user.a", b"1"), lambda: os.link(path, "here")]:
        try:
            change()
            print("HOLE: changed", path)
        except OSError:
            pass
for path in ["/dev/null", "/dev/full", "/dev/zero"]:
    with open(path, "r+b", buffering=0) as file:
        try:
            file.read(1), file.write(b"x")
        except OSError:
            pass
open("/usr/bin/env", "rb").read(1), open("/run/proc/meminfo", "rb").read(1), os.listdir("/usr/share")
print("HOLE: times", [path for path in shared if said()[path] != before[path]]) if said() != before else None
print("tried")
""",
    outputs="tried",
)
beside(
    "how full the disk is",
    INSIDE
    + """
import os
for path in ("/", "/usr", "/course", "/dev/shm"):
    try:
        os.statvfs(path)
        print("HOLE: statvfs", path)
    except OSError:
        pass
    try:
        os.fstatvfs(os.open(path, os.O_RDONLY))
        print("HOLE: fstatvfs", path)
    except OSError:
        pass
print("tried")
""",
    outputs="tried",
    repeat=False,
)
