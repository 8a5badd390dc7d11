"""A pretended disk that shows what a crash can leave behind, and a real folder with the same four operations.

What is modelled: written bytes stay in memory until the file is synced, so that a crash may leave the old bytes, none,
some or all of the new ones. Renaming is one indivisible step, but it, too, stays in memory until the folder is synced.
Of several renames not yet on the disk, any first few may survive. File systems differ in what they guarantee beyond
this; POSIX guarantees no more.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar


class Disk:
    """`write`, `sync`, `rename`, `sync_folder`, `read`, `names`: the operations.

    `left_behind` says what crashes can leave behind.
    """

    PUBLIC: ClassVar[tuple[str, ...]] = ("write", "sync", "rename", "sync_folder", "read", "names")

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self._content: list[bytes] = []  # of each file ever made, as a running program sees it
        self._possible: list[set[bytes]] = []  # of each file: what a crash may leave of it
        self._live: dict[str, int] = {}
        self._on_disk: dict[str, int] = {}
        self._pending: list[tuple[str, str | None, int]] = []  # (new name, old name or None, file) not yet on the disk
        self._moments: list[dict[str, set[bytes | None]]] = []
        self.calls: list[str] = []
        for name, data in (files or {}).items():
            self._live[name] = self._on_disk[name] = len(self._content)
            self._content.append(bytes(data))
            self._possible.append({bytes(data)})

    def write(self, name: str, data: bytes) -> None:
        """Write a file anew: an existing one is emptied first."""
        data = bytes(data)
        if name not in self._live:
            self._live[name] = len(self._content)
            self._pending.append((name, None, self._live[name]))
            self._content.append(b"")
            self._possible.append({b""})
        number = self._live[name]
        self._content[number] = data
        self._possible[number] = self._possible[number] | {b"", data[: len(data) // 2], data}
        self._done("write")

    def sync(self, name: str) -> None:
        """Come back when the file's bytes are on the disk."""
        number = self._file(name)
        self._possible[number] = {self._content[number]}
        self._done("sync")

    def rename(self, old: str, new: str) -> None:
        """Give a file another name; a file that has that name already disappears in the same moment."""
        number = self._file(old)
        del self._live[old]
        self._live[new] = number
        self._pending.append((new, old, number))
        self._done("rename")

    def sync_folder(self) -> None:
        """Come back when all names are on the disk."""
        self._on_disk = dict(self._live)
        self._pending.clear()
        self._done("sync_folder")

    def read(self, name: str) -> bytes:
        return self._content[self._file(name)]

    def names(self) -> list[str]:
        return sorted(self._live)

    def left_behind(self, name: str) -> list[set[bytes | None]]:
        """After each operation: what a crash at this moment could leave under this name.

        None stands for no such file.
        """
        return [moment.get(name, {None}) for moment in self._moments]

    def _file(self, name: str) -> int:
        if name not in self._live:
            raise FileNotFoundError(f"there is no file {name!r}")
        return self._live[name]

    def _done(self, operation: str) -> None:
        self.calls.append(operation)
        found: dict[str, set[bytes | None]] = {}
        names = dict(self._on_disk)
        everything = set(names) | {new for new, _, _ in self._pending}
        for step in [None, *self._pending]:
            if step is not None:
                new, old, number = step
                names[new] = number
                if old is not None:
                    names.pop(old, None)
            for name in everything:
                found.setdefault(name, set()).update(self._possible[names[name]] if name in names else {None})
        self._moments.append(found)


class Folder:
    """A real folder with the operations of `Disk`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, data: bytes) -> None:
        (self.path / name).write_bytes(data)

    def sync(self, name: str) -> None:
        self._fsync(self.path / name, os.O_RDWR)  # some systems sync only what is open for writing

    def rename(self, old: str, new: str) -> None:
        os.replace(self.path / old, self.path / new)

    def sync_folder(self) -> None:
        if os.name == "posix":  # other systems have no way to sync a folder
            self._fsync(self.path, os.O_RDONLY)

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def names(self) -> list[str]:
        return sorted(entry.name for entry in self.path.iterdir())

    @staticmethod
    def _fsync(path: Path, flags: int) -> None:
        handle = os.open(path, flags)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
