"""The connection to init, the first process in a submission's sandbox: it keeps order there, and ends everything when
this end is closed.
"""

from __future__ import annotations

import signal
import socket
import struct

from autograder.examiner.deadline import MachineFault
from autograder.examiner.process import Process

INIT_SECONDS = 30.0  # for init to answer: it has little to do, but perhaps no processor to do it with


class Lifeline:
    """Asks init, one question at a time. The orders are listed in `inside/init.py`."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.asking = False
        self.memory = False  # init has ended a process for the memory it used
        self.killed: set[tuple[int, int]] = set()  # processes that the examiner itself has killed

    def kill(self, process: Process) -> None:
        process.signal(signal.SIGKILL)
        self.killed.add(process.identity)

    def ask(self, order: bytes, *fds: int, size: int = 0) -> bytes:
        """Its answer, without a letter in front of so many bytes; nothing where it does not answer."""
        if self.asking:  # a timer asks in the middle of another question
            return b""
        self.asking = True
        try:
            self.sock.settimeout(INIT_SECONDS)
            socket.send_fds(self.sock, [order], list(fds)) if fds else self.sock.sendall(order)
            while (answer := self.sock.recv(1)) and answer != order[:1].lower():
                self.memory = self.memory or answer == b"M"
                if answer == b"F":  # within its limit, but the machine had nothing left for anybody
                    raise MachineFault(
                        "the machine had too little memory left, and the student's process was ended for that"
                    )
            return answer and answer + (self.sock.recv(size, socket.MSG_WAITALL) if size else b"")
        except OSError:
            return b""
        finally:
            self.asking = False

    def out_of_memory(self) -> bool:
        """Has a process been ended for its memory since this was asked last?

        Init is asked: the kernel may have done so a moment ago.
        """
        self.ask(b"M")
        ended, self.memory = self.memory, False
        return ended

    def stopped_inside(self) -> bool:
        """Did anything in the sandbox send a signal that stops processes?"""
        return self.ask(b"K", size=1) != b"k\0"

    def ended_from_outside(self, process: Process) -> bool:
        """Was this process, which has ended, killed by somebody outside the sandbox, and not by the examiner?

        One process can be at the end of two connections, and be killed after the test of the first.
        """
        if process.identity in self.killed or not process.identity[0]:
            return False
        return self.ask(b"E" + struct.pack("=IQ", *process.identity), size=1) == b"e\1"

    def processes_started(self) -> int:
        """How many processes and threads there have been in the sandbox; -1 where init does not answer."""
        answer = self.ask(b"P", size=4)
        return int.from_bytes(answer[1:], "little") if answer else -1
