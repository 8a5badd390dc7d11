"""The pretended disk: what a crash can leave behind, for each way to replace a file."""

from pathlib import Path

import pytest

from helpers.training_craft.crash_disk import Disk, Folder


def contents(disk: Disk, name: str = "a") -> set[bytes | None]:
    return set().union(*disk.left_behind(name))


def test_a_file_written_in_place_can_be_torn() -> None:
    disk = Disk({"a": b"old!"})
    disk.write("a", b"new!")
    assert contents(disk) == {b"old!", b"", b"ne", b"new!"}
    disk.sync("a")
    assert disk.left_behind("a")[-1] == {b"new!"}


def test_write_sync_rename_sync_leaves_only_whole_files() -> None:
    disk = Disk({"a": b"old!"})
    disk.write("t", b"new!")
    disk.sync("t")
    disk.rename("t", "a")
    assert disk.left_behind("a")[-1] == {b"old!", b"new!"}  # nobody knows yet which
    disk.sync_folder()
    assert disk.left_behind("a")[-1] == {b"new!"}
    assert contents(disk) == {b"old!", b"new!"}
    assert disk.names() == ["a"]


def test_renaming_before_syncing_can_leave_a_torn_file_under_the_final_name() -> None:
    disk = Disk({"a": b"old!"})
    disk.write("t", b"new!")
    disk.rename("t", "a")
    assert b"ne" in contents(disk)


def test_moving_the_old_file_away_leaves_a_moment_without_any() -> None:
    disk = Disk({"a": b"old!"})
    disk.write("t", b"new!")
    disk.sync("t")
    disk.rename("a", "b")
    disk.rename("t", "a")
    assert None in contents(disk)


def test_other_files_are_not_affected_and_missing_ones_are_named() -> None:
    disk = Disk({"a": b"old!", "z": b"other"})
    disk.write("a", b"new!")
    assert disk.left_behind("z") == [{b"other"}]
    assert disk.read("a") == b"new!"
    with pytest.raises(FileNotFoundError, match="nowhere"):
        disk.sync("nowhere")


def test_a_real_folder_has_the_same_operations(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "deep" / "down")
    folder.write("t", b"new")
    folder.sync("t")
    folder.rename("t", "a")
    folder.sync_folder()
    assert folder.names() == ["a"]
    assert folder.read("a") == b"new"
    assert set(Disk.PUBLIC) <= set(dir(folder))
