"""Memory that no figure of a process shows.

A submission may hold 240 MB here, 432 with its folders and tables; no flood asks for more than CAP.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attacks import INSIDE, Attack
from classroom import Graded, hand_in, once, output_text, scores
from conftest import run_course
from course import NAME, POINTS, make

from autograder.examiner import sandbox

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sandbox.why_not() is not None, reason="hostile code needs a sandbox"),
]

MEMORY_MB, CAP = 192, 520 << 20
BEGIN = (
    INSIDE
    + f"""
import ctypes, socket, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
CAP, BLOCK, PAGE = {CAP}, 20 << 20, 4096
def shared(flags, fd, hide):
    held = 0
    while held < CAP:
        at = libc.mmap(None, ctypes.c_size_t(BLOCK), 3, flags, fd, ctypes.c_long(0))
        if at is None or at == 2**64 - 1: raise MemoryError("refused")
        ctypes.memset(ctypes.c_void_p(at), 1, BLOCK)
        hide(at)
        held += BLOCK
    time.sleep(1)
    print("HOLE", held >> 20, "MB")
def all_but_one_page(at): libc.munmap(ctypes.c_void_p(at + PAGE), ctypes.c_size_t(BLOCK - PAGE))
def forgotten(at): libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(BLOCK), 4)
def nobody_accepts():
    server = socket.socket(socket.AF_UNIX)
    server.bind("\\0backlog")
    server.listen(4000)
    held = 0
    while held < CAP:
        client = socket.socket(socket.AF_UNIX)
        client.setblocking(False)
        client.connect("\\0backlog")
        try:
            while True: held += client.send(bytes(1 << 16))
        except BlockingIOError: pass
        client.close()
    time.sleep(1)
    print("HOLE", held >> 20, "MB")
"""
)
WAYS = {
    "shared memory kept by one page": "shared(0x21, -1, all_but_one_page)",
    "shared memory that was touched and forgotten": "shared(0x21, -1, forgotten)",
    "shared memory of a device": "shared(1, os.open('/dev/zero', os.O_RDWR), all_but_one_page)",
    "connections that nobody accepts": "nobody_accepts()",
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    def work(shared: Path) -> dict[str, Any]:
        root = shared / "little-memory"
        root.mkdir()
        _, assignment = make(root)
        settings = root / "course.toml"
        settings.write_text(
            settings.read_text(encoding="utf-8").replace("memory_mb = 512", f"memory_mb = {MEMORY_MB}"),
            encoding="utf-8",
        )
        hand_in(root, assignment, "honest", None)
        for number, (name, call) in enumerate(WAYS.items()):
            hand_in(root, assignment, f"s{number}", Attack(name, cells=(("setup", BEGIN + call),)))
        done = run_course("grade", NAME, "--workers", "1", "--json", cwd=root)
        return {"root": str(root), "code": done.returncode, "err": done.stderr}

    found = once(tmp_path_factory, "little-memory", work)
    assert found["code"] == 0, found["err"][-2000:]
    return Graded(Path(found["root"]), {}, found["err"])


@pytest.mark.parametrize("number", range(len(WAYS)), ids=list(WAYS))
def test_memory_that_no_figure_shows_is_counted_or_refused(graded: Graded, number: int) -> None:
    text = output_text(graded.notebook(f"s{number}"))
    assert "HOLE" not in text
    assert f"more than {MEMORY_MB} MB of memory" in text or "MemoryError" in text or "OSError" in text
    assert scores(graded.record(f"s{number}")) == POINTS


def test_honest_students_keep_everything(graded: Graded) -> None:
    assert scores(graded.record("honest")) == POINTS
