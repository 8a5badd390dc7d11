"""Who stopped or killed a process: somebody outside the sandbox, or the submission itself?

The kernel does not tell. So inside the sandbox a seccomp filter shows every system call that sends a signal of this
kind to init (which runs no student code) before the call is carried out, and init remembers that there was one. Ways to
have the kernel send such a signal later, which a filter cannot see, are refused or shown, too. A process that is
stopped although nothing was shown was stopped from outside; about killed ones see ends.py.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import socket
import struct

STOPPING_SIGNALS = (19, 20, 21, 22)  # SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU
KILL, ENDING_SIGNALS = 9, (9, 15)  # SIGKILL, SIGTERM
FIRST, SECOND, THIRD = 16, 24, 32  # offsets of the arguments of a call, as a filter sees them
# Calls that send a signal, and the argument that is the signal: kill, tkill, rt_sigqueueinfo, pidfd_send_signal,
# tgkill, rt_tgsigqueueinfo
SENDING = {
    "x86_64": ((62, SECOND), (200, SECOND), (129, SECOND), (424, SECOND), (234, THIRD), (297, THIRD)),
    "aarch64": ((129, SECOND), (130, SECOND), (138, SECOND), (424, SECOND), (131, THIRD), (240, THIRD)),
}
TIMER_CREATE, MQ_NOTIFY = {"x86_64": 222, "aarch64": 107}, {"x86_64": 244, "aarch64": 184}
FCNTL, PRCTL, CLONE = {"x86_64": 72, "aarch64": 25}, {"x86_64": 157, "aarch64": 167}, {"x86_64": 56, "aarch64": 220}
F_SETSIG, PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 10, 1, 38
# A process may lower its limit on processor time; the kernel kills it there. (prlimit64 with no new limit only asks.)
SETRLIMIT, PRLIMIT64 = {"x86_64": 160, "aarch64": 164}, {"x86_64": 302, "aarch64": 261}
RLIMIT_CPU = 0
SECCOMP = {"x86_64": 317, "aarch64": 277}
SET_MODE_FILTER, NEW_LISTENER = 1, 8
LOAD, AND, EQUAL, GIVE = 0x20, 0x54, 0x15, 0x06
ALLOW, REFUSE, SHOW = (GIVE, 0, 0, 0x7FFF0000), (GIVE, 0, 0, 0x00050001), (GIVE, 0, 0, 0x7FC00000)
CALL_SHOWN = 16  # where a notice holds what a filter sees
RECEIVE, ANSWER = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV and _SEND, with structures of 80 and 24 bytes
CONTINUE = 1

Instruction = tuple[int, int, int, int]


def program(machine: str) -> list[Instruction]:
    """The filter: one block of instructions for each call that it looks at."""
    code: list[Instruction] = [(LOAD, 0, 0, 0)]

    def block(number: int, *lines: Instruction) -> None:
        code.extend([(EQUAL, 0, len(lines), number), *lines])

    def if_one_of(signals: tuple[int, ...], then: Instruction) -> list[Instruction]:
        tests = [(EQUAL, len(signals) - place, 0, number) for place, number in enumerate(signals)]
        return [*tests, ALLOW, then]

    every = STOPPING_SIGNALS + ENDING_SIGNALS
    for number, place in SENDING[machine]:
        block(number, (LOAD, 0, 0, place), *if_one_of(every, SHOW))
    block(TIMER_CREATE[machine], REFUSE)
    block(MQ_NOTIFY[machine], REFUSE)
    block(FCNTL[machine], (LOAD, 0, 0, SECOND), (EQUAL, 0, 1, F_SETSIG), REFUSE, ALLOW)
    # A child that is to end with its parent: honest libraries ask for that.
    shown = [(EQUAL, 0, 1, number) for number in ENDING_SIGNALS]
    parent = (LOAD, 0, 0, SECOND), shown[0], SHOW, shown[1], SHOW, *if_one_of(STOPPING_SIGNALS, REFUSE)
    block(PRCTL[machine], (LOAD, 0, 0, FIRST), (EQUAL, 1, 0, PR_SET_PDEATHSIG), ALLOW, *parent)
    # The low byte of clone's flags is the signal that the parent gets when the child ends.
    block(CLONE[machine], (LOAD, 0, 0, FIRST), (AND, 0, 0, 0xFF), *if_one_of(every, REFUSE))
    block(SETRLIMIT[machine], (LOAD, 0, 0, FIRST), (EQUAL, 0, 1, RLIMIT_CPU), SHOW, ALLOW)
    asks = [(LOAD, 0, 0, THIRD), (EQUAL, 0, 3, 0), (LOAD, 0, 0, THIRD + 4), (EQUAL, 0, 1, 0), ALLOW]
    block(PRLIMIT64[machine], (LOAD, 0, 0, SECOND), (EQUAL, 1, 0, RLIMIT_CPU), ALLOW, *asks, SHOW)
    return [*code, ALLOW]


def signal_of(notice: bytes | bytearray) -> int:
    """The signal that a call which is shown sends; SIGKILL where it is the kernel that will."""
    call, places = struct.unpack_from("=i", notice, CALL_SHOWN)[0], dict(SENDING[os.uname().machine])
    places[PRCTL[os.uname().machine]] = SECOND
    return struct.unpack_from("=I", notice, CALL_SHOWN + places[call])[0] if call in places else KILL


def show_to(reporter: socket.socket, wanted: bool) -> None:
    """In the student's process, before student code runs: install the filter, and give init the descriptor that shows
    calls.
    """
    machine = os.uname().machine
    if wanted and machine in SENDING:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        code = b"".join(struct.pack("=HBBI", *line) for line in program(machine))
        keep = ctypes.create_string_buffer(code, len(code))
        header = ctypes.c_char_p(struct.pack("=HxxxxxxQ", len(code) // 8, ctypes.addressof(keep)))
        listener = libc.syscall(SECCOMP[machine], SET_MODE_FILTER, NEW_LISTENER, header)
        # A kernel before 5.5 has no listeners: then every stop counts as one from outside, and no kill.
        if listener >= 0:
            socket.send_fds(reporter, [b"L"], [listener])
            os.close(listener)
    reporter.close()


class Listeners:
    """In init: the listeners of all student's processes. `seen` are the signals that one of them has sent."""

    def __init__(self, poll: select.poll) -> None:
        self.poll, self.open, self.seen = poll, set[int](), set[int]()

    def stopped(self) -> bool:
        """Did anything send a signal that stops processes?"""
        return not self.seen.isdisjoint(STOPPING_SIGNALS)

    def add(self, sock: socket.socket) -> None:
        """Take the listener of a student's process that was just started."""
        with sock:
            _, fds, _, _ = socket.recv_fds(sock, 1, 1)
        if not fds:
            self.seen.update(ENDING_SIGNALS)  # nobody knows
        for listener in fds:
            self.open.add(listener)
            self.poll.register(listener, select.POLLIN)

    def answered(self, listener: int, event: int) -> bool:
        """Let the call that a listener shows go on. False where this descriptor is no listener."""
        if listener not in self.open:
            return False
        if event & select.POLLIN:
            with contextlib.suppress(OSError):  # the caller may have ended
                notice = bytearray(80)
                fcntl.ioctl(listener, RECEIVE, notice)
                self.seen.add(signal_of(notice))
                fcntl.ioctl(listener, ANSWER, struct.pack("=QqiI", struct.unpack_from("=Q", notice)[0], 0, 0, CONTINUE))
        else:  # all processes with this filter have ended
            self.poll.unregister(listener)
            self.open.discard(listener)
            os.close(listener)
        return True

    def close(self) -> None:
        """In a fork of init that becomes a student's process: with a listener it could answer in init's place."""
        for listener in self.open:
            os.close(listener)
