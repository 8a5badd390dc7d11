"""Grading again: after a kill, without changes, by force, with other files; and beside nbgrader's own Execute."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from attacks import ATTACKS, Attack
from classroom import gradebook, hand_in, once
from conftest import TOOLS, run_course
from course import FULL, NAME, WRONG, make
from nbgrader.api import Gradebook

from autograder.examiner import sandbox

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(sandbox.why_not() is not None, reason="hostile code needs a sandbox"),
]


EXPECTED = {"ada": FULL, "ben": 7.0, "cleo": 0.0, "dan": 10.0, "eve": 0.0, "fay": FULL}


def small_class(root: Path) -> Path:
    """Perfect, half done, wrong, two attackers, one more perfect."""
    root.mkdir()
    _, assignment = make(root)
    by_name = {attack.name: attack for attack in ATTACKS}
    half = Attack("half", answers={name: WRONG[name] for name in ("double", "tally", "shout")})
    chosen = {"ada": None, "ben": half, "cleo": Attack("wrong", answers=WRONG), "dan": by_name["os._exit in a test"]}
    for student, attack in {**chosen, "eve": by_name["edited tests"], "fay": None}.items():
        hand_in(root, assignment, student, attack)
    return root


def grade(root: Path, *args: str) -> dict[str, Any]:
    done = run_course("grade", NAME, "--workers", "2", "--json", *args, cwd=root)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def totals(root: Path) -> dict[str, float]:
    """Automatic points by student, from the gradebook."""
    return {student: sum(auto or 0.0 for auto, _ in cells.values()) for student, cells in gradebook(root).items()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The class after one run. Tests that change it work on a copy."""

    def work(shared: Path) -> dict[str, Any]:
        root = small_class(shared / "undisturbed")
        return {"root": str(root), "summary": grade(root)}

    found = once(tmp_path_factory, "undisturbed", work)
    assert {row["student"]: row["score"] for row in found["summary"]["rows"]} == EXPECTED
    return Path(found["root"])


def processes_of(pid: int) -> set[int]:
    """A process and everything below it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def still_running(pids: set[int]) -> list[int]:
    """Python processes among these, once they have had time to end."""
    found: list[int] = []
    for _ in range(100):
        found = []
        for pid in pids:
            with contextlib.suppress(OSError):
                found += [pid] if Path(f"/proc/{pid}/comm").read_text().startswith("python") else []
        if not found:
            break
        time.sleep(0.1)
    return found


@pytest.mark.thorough
def test_killed_at_any_instant_nothing_is_lost_and_nothing_twice(tmp_path: Path, undisturbed: Path) -> None:
    root = small_class(tmp_path / "killed")
    rng = random.Random(7)
    line = [sys.executable, "-m", "autograder", "grade", NAME, "--workers", "2", "--json"]
    below: set[int] = set()
    for _ in range(4):
        process = subprocess.Popen(line, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + rng.uniform(0.5, 10)
        while time.monotonic() < until and process.poll() is None:
            time.sleep(0.05)
            below |= processes_of(process.pid) - {process.pid}
        process.send_signal(signal.SIGKILL)
        process.wait()
        for path in root.glob(f"autograded/*/{NAME}/grading.json"):
            json.loads(path.read_text(encoding="utf-8"))  # whole, or not there
    found = grade(root)
    assert found["failed"] == []
    assert len(found["rows"]) + found["skipped"] == len(EXPECTED)
    assert gradebook(root) == gradebook(undisturbed)
    records = {path.parts[-3]: json.loads(path.read_text()) for path in root.glob(f"autograded/*/{NAME}/grading.json")}
    assert {student: record["score"] for student, record in records.items()} == EXPECTED
    assert not still_running(below)


def test_second_run_skips_and_forced_run_keeps_manual_grades(tmp_path: Path, undisturbed: Path) -> None:
    root = shutil.copytree(undisturbed, tmp_path / "again")
    again = grade(root)
    assert (again["rows"], again["skipped"]) == ([], len(EXPECTED))
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}", "hostile") as book:
        for cell, points in (("why", 1.5), ("double-test", 0.25)):
            mark = book.find_grade(cell, NAME, NAME, "ada")
            mark.manual_score, mark.needs_manual_grade = points, False
        book.db.commit()
    before = gradebook(root)
    forced = grade(root, "--force")
    assert len(forced["rows"]) == len(EXPECTED)
    assert gradebook(root) == before
    assert {row["student"]: row["score"] for row in forced["rows"]}["ada"] == FULL - 2.0 + 0.25 + 1.5


def test_odd_folders_and_other_files_do_not_stop_the_class(tmp_path: Path, undisturbed: Path) -> None:
    """A folder whose name is no text, one that is a link to somebody else's work; then a file becomes a folder and a
    folder a file.
    """
    root = shutil.copytree(undisturbed, tmp_path / "odd")
    place = root / "submitted" / "ada" / NAME
    strange = os.fsencode(root / "submitted") + b"/\xff\xfe/" + NAME.encode()
    os.makedirs(strange)
    shutil.copy(place / f"{NAME}.ipynb", os.fsdecode(strange))
    (root / "submitted" / "gus").mkdir()
    (root / "submitted" / "gus" / NAME).symlink_to(place)
    (place / "data").write_text("x")
    (place / "more").mkdir()
    (place / "more" / "x.csv").write_text("x")
    (place / "old.csv").write_text("x")
    done = run_course("grade", NAME, "--workers", "2", "--json", cwd=root)
    assert "Traceback" not in done.stderr
    assert "link" in done.stdout + done.stderr
    found = totals(root)
    assert found.pop("gus", 0.0) == 0.0
    assert {student: score for student, score in found.items() if student in EXPECTED} == EXPECTED
    shutil.rmtree(os.path.dirname(strange))
    shutil.rmtree(root / "submitted" / "gus")
    (place / "data").unlink()
    (place / "old.csv").unlink()
    shutil.rmtree(place / "more")
    (place / "data").mkdir()
    (place / "data" / "x.csv").write_text("x")
    (place / "more").write_text("x")
    assert {row["student"]: row["score"] for row in grade(root)["rows"]} == {"ada": FULL}
    graded = root / "autograded" / "ada" / NAME
    assert (graded / "data" / "x.csv").exists()
    assert (graded / "more").is_file()
    assert not (graded / "old.csv").exists()


@pytest.mark.thorough
def test_same_scores_as_nbgrader_cell_for_cell(tmp_path: Path, undisturbed: Path) -> None:
    """Honest students, perfect, half done and wrong, under nbgrader's own Execute."""
    root = tmp_path / "stock"
    root.mkdir()
    for name in ("solutions", "notebooks"):
        shutil.copytree(undisturbed / name, root / name)
    shutil.copy(undisturbed / "course.toml", root)
    text = (undisturbed / "nbgrader_config.py").read_text()
    assert "    Examine,\n" in text
    # In the list of preprocessors, not in the import of ours.
    before, found, after = text.rpartition("    Examine,\n")
    assert found, "nbgrader_config.py names Examine otherwise"
    text = f'{before}    "nbgrader.preprocessors.Execute",\n{after}'
    (root / "nbgrader_config.py").write_text(text)
    honest = ("ada", "ben", "cleo")
    for student in honest:
        shutil.copytree(undisturbed / "submitted" / student, root / "submitted" / student)
    environment = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    for words in (["generate_assignment", NAME, "--force"], ["autograde", NAME, "--create"]):
        line = [sys.executable, "-m", "nbgrader", *words]
        done = subprocess.run(line, cwd=root, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
    ours = gradebook(undisturbed)
    assert gradebook(root) == {student: ours[student] for student in honest}


def test_nbgrader_autograde_hands_nobody_what_a_link_leads_to(tmp_path: Path, undisturbed: Path) -> None:
    """nbgrader copies it; students would find it beside their notebook, and again in their feedback."""
    root = shutil.copytree(undisturbed, tmp_path / "links")
    (root / "submitted" / "ada" / NAME / "data.txt").symlink_to(root / "gradebook.db")
    (root / "submitted" / "ada" / NAME / "own.txt").write_text("x")
    environment = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    line = [sys.executable, "-m", "nbgrader", "autograde", NAME, "--student=ada", "--force"]
    done = subprocess.run(line, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert not (root / "autograded" / "ada" / NAME / "data.txt").exists()
    assert (root / "autograded" / "ada" / NAME / "own.txt").exists()
    assert totals(root)["ada"] == FULL
