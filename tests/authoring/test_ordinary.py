"""An ordinary nbgrader notebook, listed in course.toml beside a scripted assignment: every command takes it, and none
refuses the course.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nbgrader
import pytest
from conftest import ROOT, run_course

from autograder import lab, work
from autograder.authoring import build, pages, verify
from autograder.classroom import collect
from autograder.examiner.sandbox import why_not
from autograder.model import course
from autograder.model.course import Course, CourseError
from helpers.student import authorship

SAMPLE = (
    Path(nbgrader.__file__).parent / "docs" / "source" / "user_guide" / "source" / "ps1"
)  # two notebooks and a picture
README = "# Small\n\n<!-- assignments: made by `course build` --><!-- end of assignments -->\n\nThe end.\n"


@pytest.fixture
def mixed(small_course: Path) -> Course:
    shutil.copytree(SAMPLE, small_course / "solutions" / "ps1")
    (small_course / "solutions" / "ps1" / "shapes.py").write_text("side = 3\n")
    (small_course / "README.md").write_text(README)
    entry = '\n[[assignment]]\nid = "ps1"\ntitle = "Problem set 1"\npart = "II. Ordinary"\nminutes = 60\n'
    with (small_course / "course.toml").open("a") as file:
        file.write(entry)
    return course.load(small_course)


def test_it_is_built_listed_and_handed_out(mixed: Course) -> None:
    files, warnings = build.outputs(mixed, list(mixed.assignments))
    assert warnings == []
    again, _ = build.outputs(mixed, list(mixed.assignments))
    assert files == again, "the same bytes every time"
    build.write(files)
    assert build.stale(mixed, files) == []
    for name in ("problem1.ipynb", "problem2.ipynb"):
        path = mixed.root / "notebooks" / "ps1" / name
        assert authorship.untouched(authorship.read(path))
        assert "BEGIN SOLUTION" not in path.read_text()
        assert "HIDDEN TESTS" not in path.read_text()
    readme = (mixed.root / "README.md").read_text()
    assert "| 01 | [Doubling](notebooks/01-small/01-small.ipynb) | 2 | 0.083 h |" in readme
    assert "[problem2](notebooks/ps1/problem2.ipynb) | 13 | 1 h |" in readme
    assert "blob/main/notebooks/ps1/problem2.ipynb" in readme
    assert readme.startswith("# Small\n")
    assert readme.endswith("The end.\n")
    assert lab.not_built(mixed) == []
    work.prepare(mixed)
    assert sorted(path.name for path in (mixed.root / "work" / "ps1").iterdir()) == [
        "jupyter.png",
        "problem1.ipynb",
        "problem2.ipynb",
        "shapes.py",
    ]
    (mixed.root / "notebooks" / "ps1" / "problem2.ipynb").unlink()
    (line,) = lab.not_built(mixed)
    assert "course build ps1" in line


def test_a_notebook_that_cannot_be_read_is_named(mixed: Course) -> None:
    (mixed.root / "solutions" / "ps1" / "problem2.ipynb").write_text("{")
    with pytest.raises(CourseError, match=r"problem2\.ipynb is not a notebook"):
        build.outputs(mixed, list(mixed.assignments))


def test_a_students_notebooks_are_collected_each_to_its_place(mixed: Course) -> None:
    """By name, whatever an LMS puts in front of it, or by the ids of the cells."""
    inbox = mixed.root / "inbox"
    inbox.mkdir()
    for student, names in {
        "ada_11_21": ("problem1.ipynb", "problem2.ipynb"),
        "ben_12_22": ("ps1-first.ipynb", "Problem2.ipynb"),
    }.items():
        for source, name in zip(("problem1.ipynb", "problem2.ipynb"), names, strict=True):
            shutil.copy(SAMPLE / source, inbox / f"{student}_{name}")
    found = collect.collect(mixed, inbox, "ps1")
    assert sorted(found.placed) == [("ada", "ps1"), ("ben", "ps1")]
    assert found.skipped == []
    for student in ("ada", "ben"):
        for name in ("problem1.ipynb", "problem2.ipynb"):
            assert (mixed.root / "submitted" / student / "ps1" / name).read_bytes() == (SAMPLE / name).read_bytes()


@pytest.mark.slow
def test_commands_take_the_whole_course(mixed: Course) -> None:
    assert run_course("build", cwd=mixed.root).returncode == 0
    assert run_course("build", "--check", cwd=mixed.root).returncode == 0
    done = run_course("release", "ps1", "--to", "class", cwd=mixed.root)
    assert done.returncode == 0, done.stderr
    released = mixed.root / "class" / "notebooks" / "ps1"
    assert sorted(path.name for path in released.iterdir()) == [
        "jupyter.png",
        "problem1.ipynb",
        "problem2.ipynb",
        "shapes.py",
    ]
    own = run_course("check", str(mixed.root / "solutions" / "ps1" / "problem1.ipynb"), "--json", cwd=mixed.root)
    assert own.returncode == 0, own.stdout + own.stderr
    blank = run_course("check", str(released / "problem1.ipynb"), "--json", cwd=mixed.root)
    assert blank.returncode == 1
    assert sum(result["score"] for result in json.loads(blank.stdout)) == 0
    written = run_course("check", str(released / "problem2.ipynb"), cwd=mixed.root)
    assert written.returncode == 0, "written answers only: nothing to run, nothing wrong"
    (released / "problem1.ipynb").write_text(
        (released / "problem1.ipynb").read_text().replace("YOUR CODE HERE", "mine")
    )
    again = run_course("release", "ps1", "--to", "class", cwd=mixed.root)
    assert again.returncode == 2
    assert "was changed by a person" in again.stderr
    assert "mine" in (released / "problem1.ipynb").read_text()


@pytest.mark.slow
@pytest.mark.skipif(why_not() is not None, reason="no sandbox on this machine: `course doctor` says why")
def test_verify_takes_it_through_the_grader(mixed: Course) -> None:
    (_, assignment) = mixed.assignments
    report = verify.verify(mixed, assignment)
    assert (report.exercises, report.failures) == (4, [])
    path = mixed.root / "solutions" / "ps1" / "problem1.ipynb"
    notebook = json.loads(path.read_text())
    tests = [
        cell
        for cell in notebook["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade") and cell["cell_type"] == "code"
    ]
    names = [cell["metadata"]["nbgrader"]["grade_id"] for cell in tests]
    tests[0]["source"], tests[1]["source"] = ["assert False"], ["assert True"]
    path.write_text(json.dumps(notebook))
    report = verify.verify(mixed, assignment)
    assert len(report.failures) == 2
    assert any(line.startswith(f"problem1, {names[0]}: the solution earns 0 of") for line in report.failures)
    assert any(line.startswith(f"problem1, {names[1]}: the untouched notebook earns") for line in report.failures)
    assert not (mixed.root / "gradebook.db").exists()
    assert not (mixed.root / "submitted").exists()


def test_the_course_itself_has_its_table_in_the_readme_from_the_build() -> None:
    assert pages.TABLE.search((ROOT / "README.md").read_text(encoding="utf-8"))
