"""System calls of the student's side: made directly, and refused by a seccomp filter. What is allowed is listed in allowed_calls.py."""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 22, 24, 38
SIGNALS = {"x86_64": (62, 200, 234), "aarch64": (129, 130, 131)}  # kill, tkill, tgkill
PIDFD_SEND_SIGNAL = 424


def system_call(name: str, *args: Any) -> int:
    found: int = getattr(libc, name)(*args)
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return found


@cache
def allowed() -> bytes:
    """The compiled list of allowed calls for this machine."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "filters", f"{os.uname().machine}.bpf"), "rb") as file:
        return file.read()


def install(program: bytes) -> None:
    """Add a seccomp filter to this process and its children; it stays for good."""
    keep = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(keep))
    system_call("prctl", PR_SET_SECCOMP, 2, ctypes.c_char_p(header), 0, 0)


def spare_init() -> None:
    """No signals to process 1. It would not hear them, but where it has the student's user the kernel does not say so."""
    load, equal, give = 0x20, 0x15, 0x06
    code = [(load, 0, 0, 0)]
    for number in SIGNALS[os.uname().machine]:
        code += [(equal, 0, 4, number), (load, 0, 0, 16), (equal, 0, 1, 1), (give, 0, 0, 0x00050001), (give, 0, 0, 0x7FFF0000)]
    install(b"".join(struct.pack("=HBBI", *line) for line in [*code, (give, 0, 0, 0x7FFF0000)]))


def signal_only_itself() -> None:
    """A clone that is being tested may end itself, not the others that wait for their tests."""
    load, equal, give = 0x20, 0x15, 0x06
    allow, refuse, argument = (give, 0, 0, 0x7FFF0000), (give, 0, 0, 0x00050001), (load, 0, 0, 16)
    code = [(load, 0, 0, 0)]
    for number in SIGNALS[os.uname().machine]:  # the first argument is a process, 0 the own group
        code += [(equal, 0, 5, number), argument, (equal, 2, 0, os.getpid()), (equal, 1, 0, 0), refuse, allow]
    code += [(equal, 0, 1, PIDFD_SEND_SIGNAL), refuse, allow]
    install(b"".join(struct.pack("=HBBI", *line) for line in code))
