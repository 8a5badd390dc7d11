"""Starting the lab: students get copies in work/, and nothing that a person saved is ever changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from autograder import lab, work
from autograder.model import course
from autograder.model.course import Course, CourseError
from helpers.student import authorship

NAME = "01-small/01-small.ipynb"


def notebook(text: str, stamp: bool = True) -> str:
    """A built notebook with one exercise that says this."""
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "id": "text", "metadata": {}, "source": [text]},
        {
            "cell_type": "code",
            "id": "a",
            "metadata": {},
            "source": ["# YOUR CODE HERE"],
            "outputs": [],
            "execution_count": None,
        },
    ]
    made: dict[str, Any] = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    if stamp:
        authorship.stamp(made)
    return json.dumps(made, indent=1) + "\n"


def answered(text: str, answer: str = "return 2 * x") -> str:
    return text.replace("# YOUR CODE HERE", answer)


@pytest.fixture
def built(small_course: Path) -> Course:
    """The small course with built notebooks, in git's place."""
    given = small_course / "notebooks" / "01-small"
    given.mkdir(parents=True)
    (given / "01-small.ipynb").write_text(notebook("first version"))
    (given.parent / "reading.ipynb").write_text(notebook("a list of books"))
    (small_course / "solutions" / "01-small" / "table.csv").write_text("1,2\n")
    (small_course / "solutions" / "01-small" / "mistakes.py").write_text("VARIANTS = {}\n")
    return course.load(small_course)


def arrive(this: Course, text: str) -> None:
    """What `git pull` does: another file in the place of the old one."""
    course.write_whole(this.root / "notebooks" / NAME, text)


def files_in(folder: Path) -> dict[str, str]:
    return {
        p.relative_to(folder).as_posix(): p.read_text()
        for p in folder.rglob("*")
        if p.is_file() and p.name != work.RECORD
    }


def test_the_first_start_copies_the_notebooks_with_their_data_and_no_source(built: Course) -> None:
    before = files_in(built.root / "notebooks")
    assert work.prepare(built) == []
    assert files_in(built.root / "work") == {**before, "01-small/table.csv": "1,2\n"}
    assert files_in(built.root / "notebooks") == before


def test_an_answer_is_there_after_any_number_of_starts(built: Course) -> None:
    work.prepare(built)
    mine = built.root / "work" / NAME
    mine.write_text(answered(mine.read_text()))
    before = files_in(built.root)
    for _ in range(3):
        assert work.prepare(built) == []
    assert files_in(built.root) == before


def test_a_new_version_is_put_beside_an_answered_copy_once(built: Course) -> None:
    work.prepare(built)
    mine = built.root / "work" / NAME
    mine.write_text(answered(mine.read_text()))
    arrive(built, notebook("second version"))
    (line,) = work.prepare(built)
    beside = mine.with_name("01-small (new version).ipynb")
    assert beside.name in line
    assert "return 2 * x" in mine.read_text()
    assert beside.read_text() == notebook("second version")
    before = files_in(built.root / "work")
    assert work.prepare(built) == []
    (built.root / "work" / work.RECORD).unlink()  # whatever happens to what it remembers
    assert work.prepare(built) == []
    assert files_in(built.root / "work") == before
    beside.unlink()  # they do not want it
    assert work.prepare(built) == []
    assert not beside.exists()


def test_a_newer_version_takes_the_place_of_an_offered_one_only_if_nobody_worked_in_that(built: Course) -> None:
    work.prepare(built)
    mine = built.root / "work" / NAME
    mine.write_text(answered(mine.read_text()))
    for text in ("second version", "third version"):
        arrive(built, notebook(text))
        assert len(work.prepare(built)) == 1
    beside = mine.with_name("01-small (new version).ipynb")
    assert beside.read_text() == notebook("third version")
    beside.write_text(answered(beside.read_text(), "return x + x"))
    arrive(built, notebook("fourth version"))
    (line,) = work.prepare(built)
    assert "(new version 2)" in line
    assert "return x + x" in beside.read_text()
    assert "fourth version" in mine.with_name("01-small (new version 2).ipynb").read_text()
    assert "return 2 * x" in mine.read_text()


def test_an_untouched_copy_is_renewed(built: Course) -> None:
    work.prepare(built)
    mine = built.root / "work" / NAME
    opened = json.loads(mine.read_text())  # JupyterLab saves the kernel's language, and ids of its own
    opened["metadata"]["language_info"] = {"name": "python", "version": "3.11.2"}
    opened["cells"][0]["id"] = "another"
    mine.write_text(json.dumps(opened))
    arrive(built, notebook("second version"))
    (line,) = work.prepare(built)
    assert "renewed" in line
    assert mine.read_text() == notebook("second version")
    assert sorted(p.name for p in mine.parent.iterdir()) == ["01-small.ipynb", "table.csv"]


@pytest.mark.parametrize("touch", ["text", "output", "count", "cell", "metadata", "attachment", "broken", "no digest"])
def test_whatever_a_person_may_have_done_makes_it_theirs(touch: str, built: Course) -> None:
    work.prepare(built)
    mine = built.root / "work" / NAME
    changed = json.loads(mine.read_text())
    first, second = changed["cells"]
    if touch == "text":
        first["source"] = ["first version "]
    elif touch == "output":
        second["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["an hour of training"]}]
    elif touch == "count":
        second["execution_count"] = 1
    elif touch == "cell":
        changed["cells"].append({"cell_type": "raw", "id": "new", "metadata": {}, "source": []})
    elif touch == "metadata":
        second["metadata"] = {"tags": ["mine"]}
    elif touch == "attachment":
        first["attachments"] = {"photo.png": {"image/png": "AAAA"}}
    elif touch == "no digest":
        changed["metadata"] = {}
    mine.write_text("{ not json" if touch == "broken" else json.dumps(changed))
    before = mine.read_bytes()
    arrive(built, notebook("second version"))
    (line,) = work.prepare(built)
    assert "new version" in line
    assert mine.read_bytes() == before


def test_a_copy_that_is_a_link_is_never_replaced(built: Course) -> None:
    work.prepare(built)
    mine = built.root / "work" / NAME
    elsewhere = built.root / "drive.ipynb"
    os.replace(mine, elsewhere)
    mine.symlink_to(elsewhere)
    arrive(built, notebook("second version"))
    assert len(work.prepare(built)) == 1
    assert mine.is_symlink()
    assert elsewhere.read_text() == notebook("first version")


@pytest.mark.parametrize("stamp", [True, False], ids=["this version", "the version before"])
def test_answers_given_in_notebooks_are_taken_over_and_survive_its_restoration(stamp: bool, built: Course) -> None:
    given = built.root / "notebooks" / NAME
    given.write_text(answered(notebook("first version", stamp)))
    (line,) = work.prepare(built)
    assert f"go on with the copy work/{NAME}" in line
    mine = built.root / "work" / NAME
    assert mine.read_text() == given.read_text() == answered(notebook("first version", stamp))
    assert work.prepare(built) == []
    arrive(built, notebook("second version"))  # `git restore notebooks`, `git pull`
    work.prepare(built)
    assert "return 2 * x" in mine.read_text()


def test_answers_given_in_notebooks_take_the_place_of_an_untouched_copy(built: Course) -> None:
    work.prepare(built)
    arrive(built, answered(notebook("first version")))
    (line,) = work.prepare(built)
    assert "go on with the copy" in line
    assert "return 2 * x" in (built.root / "work" / NAME).read_text()


def test_answers_given_in_notebooks_later_are_put_beside(built: Course) -> None:
    work.prepare(built)
    mine = built.root / "work" / NAME
    mine.write_text(answered(mine.read_text()))
    arrive(built, answered(notebook("first version"), "return x + x"))
    (line,) = work.prepare(built)
    assert "(from notebooks)" in line
    assert "return x + x" in mine.with_name("01-small (from notebooks).ipynb").read_text()
    assert "return 2 * x" in mine.read_text()
    assert work.prepare(built) == []


def test_a_data_file_is_renewed_only_if_nobody_changed_it(built: Course) -> None:
    work.prepare(built)
    source, mine = built.root / "solutions" / "01-small" / "table.csv", built.root / "work" / "01-small" / "table.csv"
    source.write_text("1,2,3\n")
    work.prepare(built)
    assert mine.read_text() == "1,2,3\n"
    mine.write_text("mine\n")
    source.write_text("1,2,3,4\n")
    assert len(work.prepare(built)) == 1
    assert work.prepare(built) == []
    assert mine.read_text() == "mine\n"


def test_a_start_that_is_interrupted_leaves_whole_files_and_the_next_one_goes_on(
    built: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, written = os.replace, []

    def full(source: str, target: Path) -> None:
        if len(written) == 1:
            raise OSError(28, "No space left on device")
        written.append(target)
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(CourseError, match="No space left"):
        work.prepare(built)
    monkeypatch.undo()
    assert len(files_in(built.root / "work")) == 1
    work.prepare(built)
    assert set(files_in(built.root / "work")) == {NAME, "reading.ipynb", "01-small/table.csv"}


def test_a_source_that_was_edited_is_named_and_not_built(built: Course) -> None:
    (assignment,) = built.assignments
    assert lab.not_built(built) == []  # a student's clone: nobody built an instructor's notebook here
    assignment.instructor_notebook.write_text(notebook("instructor"))
    os.utime(assignment.instructor_notebook, ns=(0, assignment.source.stat().st_mtime_ns))
    assert lab.not_built(built) == []
    os.utime(assignment.source)
    (line,) = lab.not_built(built)
    assert "run `course build 01-small`" in line
    assignment.student_notebook.unlink()
    (line,) = lab.not_built(built)
    assert "notebooks/01-small is not complete" in line


def test_starting_the_lab_imports_nothing_heavy(tmp_path: Path) -> None:
    """Until JupyterLab itself is started: what takes seconds to import is not needed to hand out copies."""
    code = (
        "import sys; from autograder import cli, lab, work; from autograder.model import course; this = course.load();"
        " lab.not_built(this); work.originals(this)\nheavy = {'nbgrader', 'nbconvert', 'nbformat', 'jupytext', 'torch',"
        " 'IPython', 'sqlalchemy', 'numpy'}\nprint(sorted(heavy & {name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
