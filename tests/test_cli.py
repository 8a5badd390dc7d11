"""Bad input and poor machines: one clear line that says what to do, a non-zero exit, nothing half-written."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from conftest import ROOT, run_course

from autograder import course as courses
from autograder import doctor
from autograder.course import CourseError, replace_folder, write_whole

pytestmark = pytest.mark.slow


def one_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) == 1, text
    assert "Traceback" not in text
    return lines[0]


def test_unknown_assignment_gets_the_nearest_name() -> None:
    done = run_course("build", "03-atention")
    assert done.returncode == 2
    assert "did you mean 03-attention?" in one_line(done.stderr)


def test_missing_notebook() -> None:
    done = run_course("check", "no-such-notebook.ipynb")
    assert done.returncode == 2
    assert "does not exist" in one_line(done.stderr)


@pytest.mark.parametrize(
    "content", ["", "not json", "{}", '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "odd"}]}']
)
def test_a_file_that_is_no_notebook(content: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.ipynb"
    path.write_text(content)
    done = run_course("check", str(path))
    assert done.returncode == 2
    one_line(done.stderr)


def test_check_passes_and_fails_with_the_hint(small_course: Path) -> None:
    assert run_course("build", cwd=small_course).returncode == 0
    instructor, student = (small_course / folder / "01-small" / "01-small.ipynb" for folder in ("solutions", "notebooks"))
    good = run_course("check", str(instructor), cwd=small_course)
    assert good.returncode == 0, good.stdout + good.stderr
    assert "1 of 1 tests passed, 2 of 2 points" in good.stdout
    bad = run_course("check", str(student), "--json", cwd=small_course)
    assert bad.returncode == 1
    (result,) = json.loads(bad.stdout)
    assert result["score"] == 0
    assert "not written yet" in result["message"]


def test_check_of_a_test_before_its_answer_says_to_run_the_cell_above(small_course: Path) -> None:
    assert run_course("build", cwd=small_course).returncode == 0
    path = small_course / "notebooks" / "01-small" / "01-small.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "double":
            cell["source"] = "# nothing was run here"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    (result,) = json.loads(run_course("check", str(path), "--json", cwd=small_course).stdout)
    assert result["score"] == 0
    assert "run the cell above first: `double` is not defined yet" in result["message"]
    assert "Traceback" not in result["message"]


def test_outside_a_course(tmp_path: Path) -> None:
    done = run_course("build", cwd=tmp_path)
    assert done.returncode == 2
    assert "no course.toml" in one_line(done.stderr)


@pytest.mark.parametrize(("text", "message"), [("title = ", "not valid TOML"), ("title = 'x'", "'course_id' is missing")])
def test_a_broken_course_file(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text(text)
    done = run_course("build", cwd=tmp_path)
    assert done.returncode == 2
    assert message in one_line(done.stderr)


def test_missing_source(small_course: Path) -> None:
    (small_course / "solutions" / "01-small" / "01-small.py").unlink()
    done = run_course("build", cwd=small_course)
    assert done.returncode == 2
    assert "is missing" in one_line(done.stderr)


def test_release_is_complete_private_and_repeatable(small_course: Path, tmp_path: Path) -> None:
    (small_course / "solutions" / "01-small" / "table.csv").write_text("1,2\n")
    (small_course / "solutions" / "01-small" / "mistakes.py").write_text("VARIANTS = {}\n")
    target = tmp_path / "class"
    for _ in range(2):
        done = run_course("release", "01-small", "--to", str(target), cwd=small_course)
        assert done.returncode == 0, done.stderr
        assert sorted(p.name for p in (target / "01-small").iterdir()) == ["01-small.ipynb", "table.csv"]
    assert "secret of doubling" not in (target / "01-small" / "01-small.ipynb").read_text()
    assert sorted(p.name for p in target.iterdir()) == ["01-small"]


def test_release_to_a_file_is_refused(small_course: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = run_course("release", "01-small", "--to", str(tmp_path / "taken"), cwd=small_course)
    assert done.returncode == 2
    assert "is a file" in one_line(done.stderr)


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notebook.ipynb"
    path.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CourseError, match="No space left on device"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["notebook.ipynb"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write to a read-only folder")
def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    with pytest.raises(CourseError, match="cannot write"):
        write_whole(folder / "file", "text")


def test_a_folder_on_a_read_only_file_system_is_named() -> None:
    if not Path("/proc/self").exists():
        pytest.skip("no /proc here to stand in for a read-only file system")
    with pytest.raises(CourseError, match="cannot write"):
        write_whole(Path("/proc/self/course/file"), "text")


def test_replacing_a_folder_keeps_the_old_one_until_the_new_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, new = tmp_path / "target", tmp_path / "new"
    target.mkdir()
    (target / "old").write_text("")
    with pytest.raises(CourseError):
        replace_folder(new, target)  # `new` does not exist
    assert (target / "old").exists()
    new.mkdir()
    replace_folder(new, target)
    assert list(target.iterdir()) == []


def test_doctor_reports_and_exits_by_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run_course("doctor", "--json")
    assert done.returncode == 0, done.stdout
    names = {finding["name"] for finding in json.loads(done.stdout)}
    assert {"Python", "torch", "nbgrader", "Chromium", "GPU"} <= names
    monkeypatch.setattr(doctor, "version_of", lambda package: "not installed")
    assert any(finding.needed and not finding.good for finding in doctor.examine())


def test_help_names_every_command_and_the_exit_codes() -> None:
    done = run_course("--help")
    assert done.returncode == 0
    for name in ("build", "check", "demo", "doctor", "lab", "release", "verify", "Exit codes"):
        assert name in done.stdout


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    blocker = tmp_path / "click.py"
    blocker.write_text("raise ModuleNotFoundError('no click', name='click')\n")
    done = run_course("build", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert done.returncode == 2
    assert "the package click is missing" in one_line(done.stderr)


def test_the_course_is_found_from_a_folder_inside_it() -> None:
    assert courses.find_root(ROOT / "notebooks") == ROOT
    assert sys.version_info >= (3, 11)
