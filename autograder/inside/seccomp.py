"""The system calls that student code may make: the list, how it becomes a seccomp filter, how filters are installed.

    python -m autograder.inside.seccomp

compiles the list with libseccomp (Debian: libseccomp2) into `filters/MACHINE.bpf`, which are committed: grading needs
no libseccomp. Every call that is not listed fails with "not implemented" (ENOSYS), whatever the kernel offers.
Libraries then use the older way, and a call that a future kernel adds is refused from the start. No call ends the
process.

Not listed, and why: what changes the system or other processes (mount, ptrace, bpf, setuid, …); io_uring and aio, whose
operations no filter sees; what reads or changes the state of memory that all submissions share (mincore, fadvise64,
readahead, cachestat, preadv2 with RWF_NOWAIT, sysinfo), or tells how full the disk is (statfs); what outlives a process
(System V objects, message queues, keys) or uses up a limit of the whole machine (inotify, fanotify).
"""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import os
import struct
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .system_calls import PR_SET_SECCOMP, system_call

FILTERS = Path(__file__).parent / "filters"
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # the kernel's AUDIT_ARCH_…, which libseccomp uses, too

NAMES = """
access brk chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fallocate
fchdir fchmod fchmodat fchown fchownat fdatasync fgetxattr flistxattr fstat fsync ftruncate futimesat getcwd
getdents getdents64 getxattr lchown lgetxattr link linkat listxattr llistxattr lseek lstat mkdir mkdirat newfstatat
open openat pread64 preadv pwrite64 pwritev read readlink readlinkat readv rename renameat renameat2 rmdir sendfile
stat statx symlink symlinkat truncate umask unlink unlinkat utime utimensat utimes write writev

epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 pipe pipe2 poll ppoll
pselect6 select signalfd signalfd4 timerfd_create timerfd_gettime timerfd_settime

accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg
sendto shutdown

execve execveat exit exit_group fork getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getresgid
getresuid getsid gettid getuid set_robust_list set_tid_address setpgid setsid vfork wait4 waitid rseq futex
membarrier restart_syscall

alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep pause rt_sigaction rt_sigpending
rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait setitimer sigaltstack tgkill time times tkill

get_mempolicy mmap mprotect mremap msync munmap

capget getcpu getpriority getrandom getrlimit getrusage sched_get_priority_max sched_get_priority_min
sched_getaffinity sched_getparam sched_getscheduler sched_setaffinity sched_yield setrlimit uname
"""
ALLOWED = NAMES.split()

INT = 0xFFFFFFFF  # the part of an argument of type `int` that the kernel reads
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


# Time, mount, cgroup, uts, ipc, user, pid, network.
NEW_NAMESPACES = [1 << bit for bit in (7, 17, 25, 26, 27, 28, 29, 30)]
CLONE_PARENT = 0x8000
UNIX, INTERNET, INTERNET6 = 1, 2, 10
STREAM, DATAGRAM, KIND = 1, 2, 0xF  # KIND masks the flags that are passed with the type (SOCK_NONBLOCK, SOCK_CLOEXEC)
PARTLY = [
    # Threads and processes, but no namespaces, and no child of one's parent (CLONE_PARENT with vfork makes the caller
    # sleep in state "D" without children, which deadline.py takes for a wait for the disk). clone3, whose arguments a
    # filter cannot see, is absent: libc then uses clone.
    Rule("clone", ALLOW, ((0, sum(NEW_NAMESPACES) + CLONE_PARENT, 0),)),
    *[Rule("clone", REFUSE, ((0, bit, bit),)) for bit in (*NEW_NAMESPACES, CLONE_PARENT)],
    # Signals to one process or to the caller's own group, not to another group.
    Rule("kill", ALLOW, ((0, 0x80000000, 0),)),
    Rule("kill", REFUSE, ((0, 0x80000000, 0x80000000),)),
    # Only kinds of sockets that the network namespace confines.
    *one_of("socket", 0, [INTERNET, INTERNET6]),
    *one_of("socket", 0, [0, 3, 4, 5, 6, 7, 8, 9, *range(11, 46)], REFUSE),
    *[Rule("socket", ALLOW, ((0, INT, UNIX), (1, KIND, kind))) for kind in (STREAM, DATAGRAM)],
    *[Rule("socketpair", ALLOW, ((0, INT, UNIX), (1, KIND, kind))) for kind in (STREAM, DATAGRAM)],
    # A larger socket buffer would be memory of the kernel: the call succeeds and changes nothing.
    *options("setsockopt", 1, [7, 8], GRANT),  # SO_SNDBUF, SO_RCVBUF
    *options("setsockopt", 1, [32, 33], REFUSE),  # SO_SNDBUFFORCE, SO_RCVBUFFORCE
    # Reuse, keep alive, linger, credentials, time limits.
    *options("setsockopt", 1, [2, 9, 13, 15, 16, 20, 21, 66, 67]),
    *options("setsockopt", 6, [1, 4, 5, 6]),  # TCP: no delay, keep alive
    *options("setsockopt", 41, [26]),  # IPv6 only
    # File locks are a covert channel between submissions graded at the same time, so they always succeed and lock
    # nothing.
    *one_of("fcntl", 1, [0, 1, 2, 3, 4, 1030, 1031, 1032]),  # copies, flags, size of a pipe
    *one_of("fcntl", 1, [6, 7, 37, 38], GRANT),  # set a lock
    *one_of("fcntl", 1, [5, 36, 1024, 1025, 1026], REFUSE),  # ask for locks; leases; notices
    Rule("flock", GRANT, ()),
    # Terminals, and how many bytes there are to read.
    *one_of("ioctl", 1, [*range(0x5401, 0x540C), 0x540E, 0x540F, 0x5410, 0x5411, 0x5413, 0x5414]),
    *one_of("ioctl", 1, [0x541B, 0x5421, 0x5422, 0x5429, 0x5441]),
    *one_of("ioctl", 1, [0x5450, 0x5451, 0x5452, 0x80045430, 0x40045431, 0x80045439]),
    # Advice about the process's own memory; nothing that loads, evicts or merges pages that other processes use.
    *one_of("madvise", 2, [0, 1, 2, 4, 8, 10, 11, 14, 15, 16, 17, 18, 19]),
    # Set and get: signal when the parent ends, dumpable, name, timer slack, no new privileges; add a further filter.
    *one_of("prctl", 0, [1, 2, 3, 4, 15, 16, 21, 22, 23, 29, 30, 38, 39]),
    *one_of("arch_prctl", 0, [0x1002, 0x1003]),  # where a thread's variables lie
    *one_of("prlimit64", 0, [0]),  # the caller's own
    Rule("setpriority", ALLOW, ((0, INT, 0), (1, INT, 0))),
    Rule("mknod", ALLOW, ((1, 0o170000, 0o010000),)),  # named pipes
    Rule("mknodat", ALLOW, ((2, 0o170000, 0o010000),)),
]


# ---- compiling -------------------------------------------------------------------------------------------------------


class Comparison(ctypes.Structure):
    """libseccomp's `struct scmp_arg_cmp`."""

    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


MASKED_EQUAL = 7
BAD_ARCHITECTURE, OPTIMIZE = 2, 8  # attributes of a filter
UNKNOWN = -1  # libseccomp's answer for a name that is no system call


class NoLibrary(Exception):
    """libseccomp is not installed."""


def library() -> ctypes.CDLL:
    name = ctypes.util.find_library("seccomp")
    if name is None:
        raise NoLibrary("libseccomp is not installed (Debian and Ubuntu: apt-get install libseccomp2)")
    seccomp = ctypes.CDLL(name, use_errno=True)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    seccomp.seccomp_arch_native.restype = ctypes.c_uint32
    seccomp.seccomp_version.restype = ctypes.POINTER(ctypes.c_uint * 3)
    return seccomp


def version() -> tuple[int, ...]:
    return tuple(library().seccomp_version().contents)


def number_of(name: str, machine: str) -> int:
    """The number of a call; below zero where this machine has none of that name."""
    number: int = library().seccomp_syscall_resolve_name_arch(MACHINES[machine], name.encode())
    return number


def rules() -> list[Rule]:
    return [*(Rule(name, ALLOW, ()) for name in ALLOWED), *PARTLY]


def compiled(machine: str) -> bytes:
    """The filter for this machine."""
    seccomp = library()
    context = ctypes.c_void_p(seccomp.seccomp_init(ABSENT))
    own = seccomp.seccomp_arch_native()

    def done(status: int, what: str) -> None:
        if status < 0:
            raise OSError(-status, f"libseccomp: {what}: {os.strerror(-status)}")

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
            count = len(rule.conditions)
            tests = (Comparison * max(1, count))(*(Comparison(a, MASKED_EQUAL, m, v) for a, m, v in rule.conditions))
            done(seccomp.seccomp_rule_add_array(context, rule.action, number, count, tests), rule.call)
        with tempfile.TemporaryFile() as file:
            done(seccomp.seccomp_export_bpf(context, file.fileno()), "export")
            file.seek(0)
            return file.read()
    finally:
        seccomp.seccomp_release(context)


# ---- installing ------------------------------------------------------------------------------------------------------

SIGNALS = {"x86_64": (62, 200, 234), "aarch64": (129, 130, 131)}  # kill, tkill, tgkill
PIDFD_SEND_SIGNAL = 424
MMAP, SOCKET = {"x86_64": 9, "aarch64": 222}, {"x86_64": 41, "aarch64": 198}
SHARED_ANONYMOUS = 0x21  # MAP_SHARED | MAP_ANONYMOUS

# Instructions of a filter, (code, jump if true, jump if false, value), and where it finds what it looks at.
Instruction = tuple[int, int, int, int]
LOAD, AND, EQUAL, RETURN = 0x20, 0x54, 0x15, 0x06
CALL_NUMBER, FIRST_ARGUMENT, FOURTH_ARGUMENT = (LOAD, 0, 0, 0), (LOAD, 0, 0, 16), (LOAD, 0, 0, 40)
RETURN_ALLOW, RETURN_REFUSE = (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)
RETURN_NO_MEMORY = (RETURN, 0, 0, error(errno.ENOMEM))


@cache
def allowed() -> bytes:
    """The compiled list of allowed calls for this machine."""
    return (FILTERS / f"{os.uname().machine}.bpf").read_bytes()


def assembled(code: list[Instruction]) -> bytes:
    return b"".join(struct.pack("=HBBI", *line) for line in code)


def install(program: bytes) -> None:
    """Add a filter to this process and its children. It can never be removed."""
    keep = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(keep))
    system_call("prctl", PR_SET_SECCOMP, 2, ctypes.c_char_p(header), 0, 0)


def refuse_signals_to_init() -> None:
    """The kernel keeps signals from process 1, but where init has the student's user it reports them as delivered."""
    code = [CALL_NUMBER]
    for number in SIGNALS[os.uname().machine]:
        code += [(EQUAL, 0, 4, number), FIRST_ARGUMENT, (EQUAL, 0, 1, 1), RETURN_REFUSE, RETURN_ALLOW]
    install(assembled([*code, RETURN_ALLOW]))


def refuse_signals_to_others() -> None:
    """For a clone that is being tested: it may end itself, not the clones that wait for their tests."""
    code = [CALL_NUMBER]
    for number in SIGNALS[os.uname().machine]:  # the first argument is a process; 0 is the caller's own group
        code += [(EQUAL, 0, 5, number), FIRST_ARGUMENT, (EQUAL, 2, 0, os.getpid()), (EQUAL, 1, 0, 0)]
        code += [RETURN_REFUSE, RETURN_ALLOW]
    code += [(EQUAL, 0, 1, PIDFD_SEND_SIGNAL), RETURN_REFUSE, RETURN_ALLOW]
    install(assembled(code))


def refuse_sockets() -> None:
    """For a process without a network namespace: it can make pairs of sockets, but none that reaches anybody else."""
    code = [CALL_NUMBER, (EQUAL, 0, 1, SOCKET[os.uname().machine]), RETURN_REFUSE, RETURN_ALLOW]
    install(assembled(code))


def refuse_shared_memory() -> None:
    """Shared anonymous memory is kept while one page of it is mapped, and no figure of a process shows its size."""
    code = [CALL_NUMBER, (EQUAL, 0, 4, MMAP[os.uname().machine]), FOURTH_ARGUMENT, (AND, 0, 0, SHARED_ANONYMOUS)]
    code += [(EQUAL, 0, 1, SHARED_ANONYMOUS), RETURN_NO_MEMORY, RETURN_ALLOW]
    install(assembled(code))


def main() -> None:
    for machine in MACHINES:
        code = compiled(machine)
        (FILTERS / f"{machine}.bpf").write_bytes(code)
        print(f"{machine}: {len(code) // 8} instructions")


if __name__ == "__main__":
    main()
