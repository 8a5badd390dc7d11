"""The committed seccomp filters do what the list of allowed system calls says, on both machines, call by call."""

from __future__ import annotations

import ctypes.util
import errno
import struct

import pytest

from autograder.inside import seccomp
from autograder.inside.seccomp import ABSENT, ALLOW, FILTERS, GRANT, MACHINES, PARTLY, REFUSE

needs_library = pytest.mark.skipif(ctypes.util.find_library("seccomp") is None, reason="libseccomp is not installed")
BOTH = pytest.mark.parametrize("machine", list(MACHINES))
LAST = 600  # no call has a higher number yet
X32 = 0x40000000


def program(machine: str) -> list[tuple[int, int, int, int]]:
    return list(struct.iter_unpack("=HBBI", (FILTERS / f"{machine}.bpf").read_bytes()))


def verdict(code: list[tuple[int, int, int, int]], architecture: int, number: int, *args: int) -> int:
    """What a filter says to a call: a small interpreter of the kernel's classic BPF."""
    data = struct.pack("=iIQ6Q", number, architecture, 0, *[a & (2**64 - 1) for a in (*args, *[0] * 6)[:6]])
    place = accumulator = 0
    while True:
        operation, yes, no, operand = code[place]
        place += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, operand)
        elif operation == 0x54:
            accumulator &= operand
        elif operation == 0x06:
            return operand
        elif operation == 0x05:
            place += operand
        else:
            holds = {
                0x15: accumulator == operand,
                0x25: accumulator > operand,
                0x35: accumulator >= operand,
                0x45: accumulator & operand,
            }
            place += yes if holds[operation] else no


@needs_library
@BOTH
def test_filters_are_compiled_from_the_list(machine: str) -> None:
    if seccomp.version()[:2] != (2, 5):
        pytest.skip("another libseccomp may order the instructions in another way")
    assert (FILTERS / f"{machine}.bpf").read_bytes() == seccomp.compiled(machine), "python -m autograder.inside.seccomp"


@BOTH
def test_no_call_ends_a_process(machine: str) -> None:
    given = {operand for operation, _, _, operand in program(machine) if operation == 0x06}
    assert given == {ALLOW, ABSENT, REFUSE, GRANT}


@needs_library
@BOTH
def test_only_listed_calls_are_allowed(machine: str) -> None:
    code, architecture = program(machine), MACHINES[machine]
    numbers = {seccomp.number_of(name, machine) for name in seccomp.ALLOWED}
    partly = {seccomp.number_of(rule.call, machine) for rule in PARTLY}
    assert not numbers & {n for n in partly if n >= 0}
    for number in range(LAST):
        if number in numbers:
            assert verdict(code, architecture, number) == ALLOW
        elif number not in partly:
            assert verdict(code, architecture, number) == ABSENT


@needs_library
@BOTH
def test_arguments_decide_where_the_list_says_so(machine: str) -> None:
    code, architecture = program(machine), MACHINES[machine]
    for rule in PARTLY:
        number = seccomp.number_of(rule.call, machine)
        if number < 0:
            continue
        args, noise = [0] * 6, [0] * 6
        for argument, mask, value in rule.conditions:
            args[argument] = value
            noise[argument] = value | (0x5A << 32 if mask <= 0xFFFFFFFF else 0)  # bits that the kernel does not look at
        assert verdict(code, architecture, number, *args) == rule.action, rule
        assert verdict(code, architecture, number, *noise) == rule.action, rule


@needs_library
@BOTH
@pytest.mark.parametrize(
    ("call", "args", "action"),
    [
        ("clone", (0x01200011,), ALLOW),  # what fork() of libc does
        ("clone", (0x10000011,), REFUSE),
        ("clone", (0x003D0F00,), ALLOW),  # a thread
        ("kill", (-1, 9), REFUSE),
        ("kill", (12, 9), ALLOW),
        ("socket", (1, 0o2000001), ALLOW),  # SOCK_CLOEXEC
        ("socket", (1, 2), ALLOW),
        ("socket", (16, 3), REFUSE),  # netlink
        ("socketpair", (1, 5), ABSENT),
        ("setsockopt", (5, 1, 7), GRANT),
        ("setsockopt", (5, 1, 32), REFUSE),
        ("setsockopt", (5, 0, 64), ABSENT),
        ("madvise", (0, 4096, 4), ALLOW),
        ("madvise", (0, 4096, 3), ABSENT),  # MADV_WILLNEED
        ("madvise", (0, 4096, 21), ABSENT),  # MADV_PAGEOUT
        ("fcntl", (3, 6), GRANT),
        ("fcntl", (3, 5), REFUSE),
        ("fcntl", (3, 1033), ABSENT),
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), ABSENT),  # TIOCSTI
        ("prctl", (35,), ABSENT),
        ("prlimit64", (7, 6), ABSENT),
        ("mknodat", (-100, 0, 0o020666), ABSENT),
    ],
)
def test_known_arguments(machine: str, call: str, args: tuple[int, ...], action: int) -> None:
    assert verdict(program(machine), MACHINES[machine], seccomp.number_of(call, machine), *args) == action


@needs_library
@BOTH
def test_what_tells_of_others_is_absent(machine: str) -> None:
    names = [
        "preadv2",
        "fadvise64",
        "mincore",
        "readahead",
        "io_setup",
        "io_submit",
        "io_uring_setup",
        "memfd_create",
        "sysinfo",
    ]
    names += [
        "ptrace",
        "mount",
        "unshare",
        "setns",
        "bpf",
        "perf_event_open",
        "userfaultfd",
        "process_vm_readv",
        "keyctl",
        "shmget",
    ]
    names += ["splice", "vmsplice", "tee", "rt_sigqueueinfo", "pidfd_send_signal", "clone3", "setuid", "syslog", "sync"]
    numbers = [451, *(seccomp.number_of(name, machine) for name in names)]  # 451: cachestat
    assert min(numbers) >= 0
    assert {verdict(program(machine), MACHINES[machine], number) for number in numbers} == {ABSENT}


@BOTH
def test_calls_of_another_machine_are_absent(machine: str) -> None:
    for architecture in (0x40000003, *(a for m, a in MACHINES.items() if m != machine)):  # the first is a PC of 32 bits
        assert verdict(program(machine), architecture, 1) == ABSENT
    assert verdict(program("x86_64"), MACHINES["x86_64"], X32 + 1) == ABSENT
    assert ABSENT & 0xFFFF == errno.ENOSYS
