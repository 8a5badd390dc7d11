"""System calls that Python has no function for, made through libc."""

from __future__ import annotations

import ctypes
import os
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 22, 24, 38
PR_SET_CHILD_SUBREAPER = 36


def system_call(name: str, *args: Any) -> int:
    """Call a function of libc; raise OSError where it fails."""
    result: int = getattr(libc, name)(*args)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result
