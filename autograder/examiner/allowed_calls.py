"""The system calls that student code may make, and the seccomp filters made of that list.

    python -m autograder.examiner.allowed_calls

compiles the list with libseccomp (Debian: libseccomp2) into `filters/MACHINE.bpf`, which are committed: grading needs no libseccomp.
Every call that is not listed "does not exist" (ENOSYS), whatever the kernel offers: libraries then use the older way, and a call that a
future kernel adds is refused before anybody has heard of it. No call ends the process.

Not listed, and why: what changes the system or other processes (mount, ptrace, bpf, setuid, …); io_uring and aio, which make calls that no
filter sees; what tells or changes the state of memory that all submissions share (mincore, fadvise64, readahead, cachestat, preadv2 with
RWF_NOWAIT, sysinfo); what outlives a process (System V objects, message queues, keys) or counts for the machine (inotify, fanotify).
"""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

FILTERS = Path(__file__).parent / "filters"
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # libseccomp's names for them are the kernel's (AUDIT_ARCH_…)

NAMES = """
access brk chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fallocate fchdir fchmod fchmodat
fchown fchownat fdatasync fgetxattr flistxattr fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64 getxattr lchown lgetxattr
link linkat listxattr llistxattr lseek lstat mkdir mkdirat newfstatat open openat pread64 preadv pwrite64 pwritev read readlink readlinkat
readv rename renameat renameat2 rmdir sendfile stat statfs statx symlink symlinkat truncate umask unlink unlinkat utime utimensat utimes
write writev

epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 pipe pipe2 poll ppoll pselect6 select signalfd
signalfd4 timerfd_create timerfd_gettime timerfd_settime

accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg sendto shutdown

execve execveat exit exit_group fork getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getresgid getresuid getsid gettid
getuid set_robust_list set_tid_address setpgid setsid vfork wait4 waitid rseq futex membarrier restart_syscall

alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep pause rt_sigaction rt_sigpending rt_sigprocmask
rt_sigreturn rt_sigsuspend rt_sigtimedwait setitimer sigaltstack tgkill time times tkill

get_mempolicy mmap mprotect mremap msync munmap

capget getcpu getpriority getrandom getrlimit getrusage sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getparam
sched_getscheduler sched_setaffinity sched_yield setrlimit uname
"""
ALLOWED = NAMES.split()

INT = 0xFFFFFFFF  # the kernel looks at this part of an `int` argument only
ALLOW = 0x7FFF0000


def error(number: int) -> int:
    """The action that makes a call fail with this error; with 0 it succeeds and does nothing."""
    return 0x00050000 | number


ABSENT, REFUSE, GRANT = error(errno.ENOSYS), error(errno.EPERM), error(0)


@dataclass(frozen=True)
class Rule:
    """What happens to a call where `argument & mask == value` for each condition."""

    call: str
    action: int
    conditions: tuple[tuple[int, int, int], ...]  # argument, mask, value


def one_of(call: str, argument: int, values: list[int], action: int = ALLOW) -> list[Rule]:
    return [Rule(call, action, ((argument, INT, value),)) for value in values]


def options(call: str, level: int, names: list[int], action: int = ALLOW) -> list[Rule]:
    return [Rule(call, action, ((1, INT, level), (2, INT, name))) for name in names]


NEW_NAMESPACES = [1 << bit for bit in (7, 17, 25, 26, 27, 28, 29, 30)]  # time, mount, cgroup, uts, ipc, user, pid, network
UNIX, INTERNET, INTERNET6 = 1, 2, 10
STREAM, DATAGRAM, KIND = 1, 2, 0xF  # the bits above say that a socket does not block, or ends with exec
PARTLY = [
    # Threads and processes, no namespaces. (clone3, whose arguments a filter cannot see, is absent: libc then uses clone.)
    Rule("clone", ALLOW, ((0, sum(NEW_NAMESPACES), 0),)),
    *[Rule("clone", REFUSE, ((0, bit, bit),)) for bit in NEW_NAMESPACES],
    # One process or the own group, no other group of processes.
    Rule("kill", ALLOW, ((0, 0x80000000, 0),)),
    Rule("kill", REFUSE, ((0, 0x80000000, 0x80000000),)),
    # Sockets that the network namespace confines.
    *one_of("socket", 0, [INTERNET, INTERNET6]),
    *one_of("socket", 0, [0, 3, 4, 5, 6, 7, 8, 9, *range(11, 46)], REFUSE),
    *[Rule(name, ALLOW, ((0, INT, UNIX), (1, KIND, kind))) for name in ("socket", "socketpair") for kind in (STREAM, DATAGRAM)],
    # A larger buffer is memory of the kernel: the wish succeeds and changes nothing.
    *options("setsockopt", 1, [7, 8], GRANT),  # SO_SNDBUF, SO_RCVBUF
    *options("setsockopt", 1, [32, 33], REFUSE),  # the same by force
    *options("setsockopt", 1, [2, 9, 13, 15, 16, 20, 21, 66, 67]),  # reuse, keep alive, linger, credentials, time limits
    *options("setsockopt", 6, [1, 4, 5, 6]),  # TCP: no delay, keep alive
    *options("setsockopt", 41, [26]),  # IPv6 only
    # File locks are a covert channel between submissions graded at the same time, so they always succeed and lock nothing.
    *one_of("fcntl", 1, [0, 1, 2, 3, 4, 1030, 1031, 1032]),  # copies, flags, size of a pipe
    *one_of("fcntl", 1, [6, 7, 37, 38], GRANT),  # set a lock
    *one_of("fcntl", 1, [5, 36, 1024, 1025, 1026], REFUSE),  # ask for locks; leases; notices
    Rule("flock", GRANT, ()),
    # Terminals, and how much there is to read.
    *one_of("ioctl", 1, [*range(0x5401, 0x540C), 0x540E, 0x540F, 0x5410, 0x5411, 0x5413, 0x5414, 0x541B, 0x5421, 0x5422, 0x5429, 0x5441]),
    *one_of("ioctl", 1, [0x5450, 0x5451, 0x5452, 0x80045430, 0x40045431, 0x80045439]),
    # Memory of one's own; nothing that loads, evicts or merges pages that others use.
    *one_of("madvise", 2, [0, 1, 2, 4, 8, 10, 11, 14, 15, 16, 17, 18, 19]),
    # Signal at the parent's end, dumpable, name, timer slack, no new privileges, a further filter; what is asked about these.
    *one_of("prctl", 0, [1, 2, 3, 4, 15, 16, 21, 22, 23, 29, 30, 38, 39]),
    *one_of("arch_prctl", 0, [0x1002, 0x1003]),  # the place of a thread's variables
    *one_of("prlimit64", 0, [0]),  # of oneself
    Rule("setpriority", ALLOW, ((0, INT, 0), (1, INT, 0))),
    Rule("mknod", ALLOW, ((1, 0o170000, 0o010000),)),  # named pipes
    Rule("mknodat", ALLOW, ((2, 0o170000, 0o010000),)),
]


class Comparison(ctypes.Structure):
    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


MASKED_EQUAL = 7
BAD_ARCHITECTURE, OPTIMIZE = 2, 8  # attributes of a filter
UNKNOWN = -1


class NoLibrary(Exception):
    """libseccomp is not installed."""


def library() -> ctypes.CDLL:
    name = ctypes.util.find_library("seccomp")
    if name is None:
        raise NoLibrary("libseccomp is not installed (Debian and Ubuntu: apt-get install libseccomp2)")
    found = ctypes.CDLL(name, use_errno=True)
    found.seccomp_init.restype = ctypes.c_void_p
    found.seccomp_arch_native.restype = ctypes.c_uint32
    found.seccomp_version.restype = ctypes.POINTER(ctypes.c_uint * 3)
    return found


def version() -> tuple[int, ...]:
    return tuple(library().seccomp_version().contents)


def number_of(name: str, machine: str) -> int:
    """The number of a call; below zero where this machine has none of that name."""
    found: int = library().seccomp_syscall_resolve_name_arch(MACHINES[machine], name.encode())
    return found


def rules() -> list[Rule]:
    return [*(Rule(name, ALLOW, ()) for name in ALLOWED), *PARTLY]


def compiled(machine: str) -> bytes:
    """The filter for this machine."""
    seccomp = library()
    context = ctypes.c_void_p(seccomp.seccomp_init(ABSENT))
    own = seccomp.seccomp_arch_native()

    def done(found: int, what: str) -> None:
        if found < 0:
            raise OSError(-found, f"libseccomp: {what}: {os.strerror(-found)}")

    try:
        if own != MACHINES[machine]:
            done(seccomp.seccomp_arch_add(context, MACHINES[machine]), machine)
            done(seccomp.seccomp_arch_remove(context, own), "the machine it runs on")
        done(seccomp.seccomp_attr_set(context, BAD_ARCHITECTURE, ABSENT), "calls of another machine")
        done(seccomp.seccomp_attr_set(context, OPTIMIZE, 2), "a binary tree")
        for rule in rules():
            number = seccomp.seccomp_syscall_resolve_name(rule.call.encode())
            if number == UNKNOWN:
                raise ValueError(f"libseccomp knows no system call {rule.call!r}")
            if number_of(rule.call, machine) < 0:
                continue
            made = (Comparison * max(1, len(rule.conditions)))(*(Comparison(a, MASKED_EQUAL, m, v) for a, m, v in rule.conditions))
            done(seccomp.seccomp_rule_add_array(context, rule.action, number, len(rule.conditions), made), rule.call)
        with tempfile.TemporaryFile() as file:
            done(seccomp.seccomp_export_bpf(context, file.fileno()), "export")
            file.seek(0)
            return file.read()
    finally:
        seccomp.seccomp_release(context)


def main() -> None:
    for machine in MACHINES:
        code = compiled(machine)
        (FILTERS / f"{machine}.bpf").write_bytes(code)
        print(f"{machine}: {len(code) // 8} instructions")


if __name__ == "__main__":
    main()
