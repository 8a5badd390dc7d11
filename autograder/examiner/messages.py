"""Messages between the process that grades and its workers: a length, then JSON.

Both sides are ours; no student's data is parsed here.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

from autograder.model.course import CourseError

SIZE = struct.Struct("<Q")


class PoolEnded(CourseError, ConnectionError):
    """The other side of a socket is gone."""


def send(sock: socket.socket, message: Any) -> None:
    data = json.dumps(message).encode()
    try:
        sock.sendall(SIZE.pack(len(data)) + data)
    except ConnectionError:
        raise PoolEnded(
            "the processes that examine submissions have ended: were they killed, or did memory run out? "
            "What was graded is stored: run this again, perhaps with fewer --workers"
        ) from None


def receive(sock: socket.socket) -> Any:
    """The next message, or None where the other side is gone."""
    head = exactly(sock, SIZE.size)
    if head is None:
        return None
    body = exactly(sock, SIZE.unpack(head)[0])
    return None if body is None else json.loads(body)


def exactly(sock: socket.socket, size: int) -> bytes | None:
    parts, missing = [], size
    while missing:
        try:
            data = sock.recv(min(missing, 1 << 20))
        except ConnectionError:
            return None
        if not data:
            return None
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)
