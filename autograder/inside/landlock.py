"""Landlock: the kernel's rules on files that a process without any rights can put on itself, for good.

Landlock has rules that allow; what no rule allows is refused. Where the kernel has none (before Linux 5.13, switched
off, or refused by a container), `version` is 0.
"""

from __future__ import annotations

import ctypes
import os
import struct

from .system_calls import libc

# Its system calls have the same numbers on every machine.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
GET_VERSION, PATH_BENEATH = 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 1 << 1, 1 << 2, 1 << 3
MAKE_CHARACTER_DEVICE, MAKE_BLOCK_DEVICE = 1 << 6, 1 << 11
FIRST = (1 << 13) - 1  # the rights that version 1 knows
REFER, TRUNCATE = 1 << 13, 1 << 14  # since versions 2 and 3; before version 2, no file can be moved to another folder
FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE  # all that a rule about a file can allow
READ = EXECUTE | READ_FILE | READ_DIR


def version() -> int:
    return max(0, libc.syscall(CREATE_RULESET, None, 0, GET_VERSION))


def all_rights() -> int:
    """Every right that this kernel's Landlock knows, and that is of use here."""
    return FIRST | (REFER if version() >= 2 else 0) | (TRUNCATE if version() >= 3 else 0)


def restrict(handled: int, allowed: dict[str, int]) -> None:
    """From now on this process and its children have the rights of `handled` only where `allowed` says so, by path."""
    attributes = struct.pack("=Q", handled)
    ruleset = libc.syscall(CREATE_RULESET, ctypes.c_char_p(attributes), ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "Landlock: no set of rules could be made")
    for path, rights in allowed.items():
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", handled & (rights if os.path.isdir(path) else rights & FOR_FILES), place)
        status = libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, ctypes.c_char_p(rule), 0)
        os.close(place)
        if status < 0:
            raise OSError(ctypes.get_errno(), f"Landlock: no rule could be made for {path}")
    if libc.syscall(RESTRICT_SELF, ruleset, 0) < 0:
        raise OSError(ctypes.get_errno(), "Landlock: the rules are not accepted")
    os.close(ruleset)
