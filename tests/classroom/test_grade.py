"""`course grade` as an instructor uses it: without a sandbox where told, on a cluster, with nbgrader's own notebooks,
limits by assignment.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbgrader
import pytest
from conftest import ROOT, run_course
from nbgrader.api import Gradebook

from autograder import demo
from autograder.classroom import grade, gradebook, grading_lock, nbgrader_command, own_solution
from autograder.examiner import limits, sandbox
from autograder.model import course
from autograder.model.outcome import MIME
from autograder.model.record import Record, Repair, RepairKind, Verdict

needs_sandbox = pytest.mark.skipif(sandbox.why_not() is not None, reason=f"no sandbox here: {sandbox.why_not()}")
RIGHT = 'def double(x):\n    """Twice x."""\n    return 2 * x'
SAMPLES = Path(nbgrader.__file__).parent / "docs" / "source" / "user_guide"


def hand_in(root: Path, **answers: str) -> None:
    """Submissions of the small course: student and answer."""
    assert run_course("build", cwd=root).returncode == 0
    student = (root / "notebooks" / "01-small" / "01-small.ipynb").read_text(encoding="utf-8")
    for name, answer in answers.items():
        folder = root / "submitted" / name / "01-small"
        folder.mkdir(parents=True)
        (folder / "01-small.ipynb").write_text(demo.submission(student, {"double": answer}), encoding="utf-8")


@pytest.mark.slow
def test_without_a_sandbox_only_when_told(small_course: Path) -> None:
    hand_in(small_course, ada=RIGHT, ben="def double(x):\n    return x")
    done = run_course("grade", "01-small", "--unsafe", "--workers", "1", "--json", cwd=small_course)
    assert done.returncode == 0, done.stderr
    assert "without a sandbox" in done.stderr
    assert {row["student"]: row["score"] for row in json.loads(done.stdout)["rows"]} == {"ada": 2.0, "ben": 0.0}
    refused = run_course("grade", "01-small", "--force", cwd=small_course, PATH="/nonexistent")
    assert refused.returncode == 2
    assert "bubblewrap" in refused.stderr


@pytest.mark.slow
@needs_sandbox
def test_on_a_cluster(small_course: Path) -> None:
    from dask.distributed import LocalCluster

    hand_in(small_course, ada=RIGHT, ben="def double(x):\n    return x", cleo="import os; os._exit(3)")
    this = course.load(small_course)
    (assignment,) = this.assignments
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        found = grade.grade(this, assignment, scheduler=cluster.scheduler_address)
    assert found.failed == []
    assert {row["student"]: row["score"] for row in found.rows} == {"ada": 2.0, "ben": 0.0, "cleo": 0.0}


@pytest.mark.slow
@needs_sandbox
def test_nbgraders_own_sample_course(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "source" / "ps1", tmp_path / "solutions" / "ps1")
    shutil.copytree(SAMPLES / "submitted", tmp_path / "submitted")
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    head = 'title = "Sample"\ncourse_id = "sample"\nrepository = "https://example.org"\n'
    (tmp_path / "course.toml").write_text(
        head + '[[assignment]]\nid = "ps1"\ntitle = "Problem set 1"\npart = "I"\nminutes = 60\n'
    )
    done = run_course("grade", "ps1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = {row["student"]: row for row in json.loads(done.stdout)["rows"]}
    assert {name: row["score"] for name, row in rows.items()} == {"bitdiddle": 1.5, "hacker": 3.0}
    assert all(row["lost"] == {} and row["waiting"] and row["out_of"] == 13.0 for row in rows.values())
    with Gradebook(
        f"sqlite:///{tmp_path / 'gradebook.db'}", "sample"
    ) as book:  # a task waits for a person, whatever else was done
        tasks = [book.find_grade("cell-938593c4a215c6cc", "problem1", "ps1", student) for student in rows]
        assert [(task.auto_score, task.needs_manual_grade) for task in tasks] == [(None, True)] * 2
    again = run_course("grade", "ps1", "--json", cwd=tmp_path)
    assert json.loads(again.stdout)["skipped"] == 2


FOREIGN = [
    ("double", "def double(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION", 0),
    ("point", "class Point:\n    def __init__(self, x):\n        self.x = x", 0),
    ("steps", "def steps(n):\n    yield from range(n)", 0),
    ("first", "import math\nexpected = 4\ndef same(a, b):\n    assert a == b\nsame(double(2), expected)", 1),
    ("later", "same(double(3), 6)\nassert math.isclose(double(0.5), 1) and expected == 4", 1),
    ("file", "assert open('data.txt').read() == 'four'\nopen('new.txt', 'w').close()", 1),
    ("kinds", "assert isinstance(Point(1), Point) and not isinstance(3, Point)\nassert next(steps(2)) == 0", 1),
    (
        "printed",
        (
            "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as out:\n    show()\nassert"
            " out.getvalue() == 'x\\n'"
        ),
        1,
    ),
]


@pytest.mark.slow
@needs_sandbox
def test_tests_that_build_on_each_other_and_on_files_and_those_that_cannot_work_are_named(tmp_path: Path) -> None:
    cells = [
        {
            "cell_type": "code",
            "metadata": {},
            "source": "def show():\n    print('x')",
            "outputs": [],
            "execution_count": None,
        }
    ]
    for name, source, points in FOREIGN:
        known = {
            "grade_id": name,
            "grade": bool(points),
            "solution": not points,
            "locked": bool(points),
            "task": False,
            "schema_version": 3,
        }
        known |= {"points": points} if points else {}
        cells.append(
            {
                "cell_type": "code",
                "metadata": {"nbgrader": known},
                "source": source,
                "outputs": [],
                "execution_count": None,
            }
        )
    task = {
        "grade_id": "task",
        "grade": False,
        "solution": False,
        "locked": True,
        "task": True,
        "points": 2,
        "schema_version": 3,
    }
    scheme = "Do it.\n\n=== BEGIN MARK SCHEME ===\none point\n=== END MARK SCHEME ==="
    cells.append({"cell_type": "markdown", "metadata": {"nbgrader": task}, "source": scheme})
    home = tmp_path / "solutions" / "ps"
    home.mkdir(parents=True)
    (home / "ps.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    (home / "data.txt").write_text("four")
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    head = 'title = "Sample"\ncourse_id = "sample"\nrepository = "https://example.org"\n'
    (tmp_path / "course.toml").write_text(head + '[[assignment]]\nid = "ps"\ntitle = "Set"\npart = "I"\nminutes = 60\n')
    this = course.load(tmp_path)
    nbgrader_command.nbgrader(this, "generate_assignment", "ps")
    student = json.loads((tmp_path / "notebooks" / "ps" / "ps.ipynb").read_text())
    for cell, (_, answer, _) in zip(student["cells"][1:4], FOREIGN, strict=False):
        cell["source"] = answer
    (tmp_path / "submitted" / "ada" / "ps").mkdir(parents=True)
    (tmp_path / "submitted" / "ada" / "ps" / "ps.ipynb").write_text(json.dumps(student))
    (tmp_path / "submitted" / "ada" / "ps" / "data.txt").write_text("forged")
    found = grade.grade(this, this.assignments[0], workers=1)
    (row,) = found.rows
    assert (row["score"], row["out_of"], row["waiting"], row["tamper"], row["repairs"]) == (4.0, 7.0, True, [], [])
    assert [text.partition(":")[0] for text in found.warnings] == ["ps, printed"]
    assert not (tmp_path / "new.txt").exists()
    assert not gradebook.out_of_date(this, this.assignments[0])
    (home / "ps.ipynb").write_text((home / "ps.ipynb").read_text().replace('"points": 2', '"points": 3'))
    assert gradebook.out_of_date(this, this.assignments[0])
    notebook = json.loads((home / "ps.ipynb").read_text())
    notebook["cells"] = [
        cell for cell in notebook["cells"] if cell["metadata"].get("nbgrader", {}).get("grade_id") != "kinds"
    ]
    (home / "ps.ipynb").write_text(json.dumps(notebook))
    with pytest.raises(course.CourseError, match="added or removed after submissions had been graded"):
        grade.grade(this, this.assignments[0], workers=1)


@pytest.mark.slow
@needs_sandbox
def test_stray_notebooks_are_nobodys_assignment(small_course: Path) -> None:
    """JupyterLab's Duplicate, or a notebook of another assignment, beside the course's own, the released and the
    submitted one.
    """
    hand_in(small_course, ada=RIGHT)
    student = (small_course / "notebooks" / "01-small" / "01-small.ipynb").read_text(encoding="utf-8")
    for place in ("notebooks/01-small", "solutions/01-small", "submitted/ada/01-small", "submitted/ada", "submitted"):
        (small_course / place / "01-small-Copy1.ipynb").write_text(student, encoding="utf-8")
        (small_course / place / "09-gpt-done.ipynb").write_text("no notebook at all", encoding="utf-8")
    done = run_course("grade", "01-small", "--json", cwd=small_course)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["student"], row["score"], row["out_of"]) == ("ada", 2.0, 2.0)
    with gradebook.open_gradebook(course.load(small_course)) as book:
        assert [one.name for one in book.find_assignment("01-small").notebooks] == ["01-small"]


@pytest.mark.slow
@needs_sandbox
def test_the_instructors_own_notebook_is_graded_first_and_remembered(small_course: Path) -> None:
    """A test that looks at a data frame means something else where the answer lives in another process."""
    source = small_course / "solutions" / "01-small" / "01-small.py"
    text = (
        source.read_text()
        .replace("import torch", "import pandas\nimport torch")
        .replace("def double(x)", "def double(x=1)")
    )
    text = text.replace(
        "return x + x  # the secret of doubling", 'return pandas.DataFrame({"a": [1, 2]})  # the secret of doubling'
    )
    start, end = text.index("check.close(check.run(double, torch"), text.index("check.score()")
    test = 'check.true(check.run(lambda: bool((double()["a"] > 0).all())), "every number is positive")\n'
    source.write_text(text[:start] + test + text[end:])
    hand_in(small_course, ada='def double(x=1):\n    return pandas.DataFrame({"a": [1, 2]})')
    done = run_course("grade", "01-small", "--json", cwd=small_course)
    found = json.loads(done.stdout)
    assert (found["own"]["score"], found["own"]["out_of"], found["own"]["remembered"]) == (0.0, 2.0, False)
    assert found["warnings"][0].startswith("01-small, double-test: your own solution earns 0 of 2 here")
    assert done.stderr.strip() == ""  # what is for programs says it once
    again = run_course("grade", "01-small", cwd=small_course)
    assert "your own notebook, graded first, does not get every point of its tests: 0 of 2 (as before" in again.stderr
    assert "01-small, double-test: your own solution earns 0 of 2 here" in again.stderr
    again = run_course("grade", "01-small", "--json", cwd=small_course)
    assert json.loads(again.stdout)["own"] == {"score": 0.0, "out_of": 2.0, "remembered": True}
    assert json.loads(again.stdout)["warnings"] == found["warnings"]


def test_a_failure_of_the_machine_is_not_remembered_as_the_solutions(small_course: Path) -> None:
    assert run_course("build", cwd=small_course).returncode == 0
    this = course.load(small_course)
    (assignment,) = this.assignments
    own = own_solution.OwnSolution(this, assignment, ["01-small"], "base")
    outcome = own.take("01-small", {"failed": "the worker ended"})
    assert outcome is not None
    assert "could not be graded: the worker ended" in outcome.warnings[0]
    assert own_solution.OwnSolution(this, assignment, ["01-small"], "base").known is None


def test_of_two_that_grade_one_assignment_the_second_says_so_and_stops(small_course: Path) -> None:
    hand_in(small_course, ada=RIGHT)
    this = course.load(small_course)
    (assignment,) = this.assignments
    with grading_lock.only_grader(this, assignment):
        done = run_course("grade", "01-small", cwd=small_course)
    assert done.returncode == 2
    assert f"is being graded by another `course grade` (process {os.getpid()} on" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (small_course / "autograded").exists()
    with grading_lock.only_grader(this, assignment):  # its turn is over
        pass


def test_a_killed_grader_keeps_nobody_waiting(small_course: Path) -> None:
    this = course.load(small_course)
    (assignment,) = this.assignments
    code = (
        "import sys, time; from autograder.classroom import grading_lock; from autograder.model import course\n"
        "this = course.load(); held = grading_lock.only_grader(this, this.assignments[0]); held.__enter__()\n"
        "print('held', flush=True); time.sleep(600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], cwd=small_course, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(course.CourseError, match="being graded by another"), grading_lock.only_grader(this, assignment):
        pass
    holder.kill()
    holder.wait()
    with grading_lock.only_grader(this, assignment):
        pass


WRITTEN = '''
# %% [markdown] nbgrader={"grade": true, "grade_id": "why", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# <!-- BEGIN SOLUTION -->
# Because.
# <!-- END SOLUTION -->

# %% nbgrader={"grade": false, "grade_id": "triple", "locked": false, "schema_version": 3, "solution": true, "task": false}
def triple(x):
    """Three times x."""
    ### BEGIN SOLUTION
    return 3 * x
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "triple-test", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check = Check("triple", points=1)
check.close(check.run(triple, torch.ones(3)), 3.0, "three times one is three")
check.score()
'''


def graded_text(root: Path, **changes: str) -> str:
    """The student's notebook as the examiner gives it back: answers by cell, every test with one point, the tests' text
    the instructor's.
    """
    notebook = json.loads((root / "solutions" / "01-small" / "01-small.ipynb").read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        known = cell["metadata"].get("nbgrader", {})
        name = known.get("grade_id")
        if known.get("solution"):
            cell["source"] = changes.get(name, f"an answer to {name}")
        elif known.get("grade"):
            earned = {
                "output_type": "execute_result",
                "data": {"text/plain": "1.0"},
                "metadata": {},
                "execution_count": 1,
            }
            cell["outputs"] = [earned]
    return json.dumps(notebook)


def store(root: Path, text: str) -> set[str]:
    """Put a graded notebook of ada's where results go, and say which cells then wait for a person."""
    this = course.load(root)
    (assignment,) = this.assignments
    gradebook.register(this, assignment)
    folder = root / "submitted" / "ada" / "01-small"
    folder.mkdir(parents=True, exist_ok=True)
    with gradebook.open_gradebook(this) as book:
        result = gradebook.with_marks(Record(text, {}).to_json())
        gradebook.Writer(this, assignment, book).save("ada", folder, {"01-small": result}, "digest")
        return {
            grade.name
            for one in book.find_submission("01-small", "ada").notebooks
            for grade in one.grades
            if grade.needs_manual_grade
        }


def judge(root: Path) -> None:
    """A person gives points everywhere."""
    with gradebook.open_gradebook(course.load(root)) as book:
        for one in book.find_submission("01-small", "ada").notebooks:
            for grade in one.grades:
                grade.manual_score, grade.needs_manual_grade = 0.5, False
        book.db.commit()


@pytest.mark.slow
def test_a_regrade_asks_a_person_again_only_for_what_changed(small_course: Path) -> None:
    source = small_course / "solutions" / "01-small" / "01-small.py"
    source.write_text(source.read_text() + WRITTEN)
    assert run_course("build", cwd=small_course).returncode == 0
    assert store(small_course, graded_text(small_course)) == {"why"}
    judge(small_course)
    assert store(small_course, graded_text(small_course)) == set()
    assert store(small_course, graded_text(small_course, why="another answer")) == {"why"}
    assert store(small_course, graded_text(small_course, why="another answer")) == {"why"}, (
        "nobody has looked at it yet"
    )
    judge(small_course)
    assert store(small_course, graded_text(small_course, why="another answer  \n", double="other code")) == {
        "double-test"
    }
    judge(small_course)
    last = {"why": "another answer", "double": "other code"}
    source.write_text(
        source.read_text().replace("other numbers must be doubled, too", "all numbers")
    )  # a hint of one test
    assert run_course("build", cwd=small_course).returncode == 0
    assert store(small_course, graded_text(small_course, **last)) == {"double-test"}
    judge(small_course)
    source.write_text(source.read_text().replace('"points": 3', '"points": 4'))
    assert run_course("build", cwd=small_course).returncode == 0
    assert store(small_course, graded_text(small_course, **last)) == {"why"}
    judge(small_course)
    wrong = graded_text(small_course, **last).replace('"text/plain": "1.0"', '"text/plain": "0.0"', 1)
    assert store(small_course, wrong) == {"double-test"}, "its automatic score is another one"


def test_the_answer_to_a_task_may_stand_anywhere_and_to_a_test_of_another_name_before_it() -> None:
    def cell(name: str, source: str, **known: object) -> dict[str, object]:
        about = {"nbgrader": {"grade_id": name, **known}} if name else {}
        return {"cell_type": "code", "metadata": about, "source": source}

    def text(first: str, second: str, own: str) -> str:
        cells = [
            cell("a", first, solution=True),
            cell("t1", "assert a", grade=True, points=1),
            cell("b", second, solution=True),
            cell("t2", "assert b", grade=True, points=1),
            cell("", own),
            cell("work", "Do it.", task=True, points=2),
        ]
        return json.dumps({"cells": cells})

    before = gradebook.what_was_judged(text("1", "2", "3"))
    for change, asked in (
        (("x", "2", "3"), {"t1", "work"}),
        (("1", "x", "3"), {"t2", "work"}),
        (("1", "2", "x"), {"work"}),
    ):
        after = gradebook.what_was_judged(text(*change))
        assert {name for name in before if before[name] != after[name]} == asked


def test_limits_come_from_the_course_and_the_assignment(small_course: Path) -> None:
    path = small_course / "course.toml"
    path.write_text(path.read_text() + "limits = { cell_seconds = 7 }\n\n[limits]\nmemory_mb = 300\ncell_seconds = 5\n")
    this = course.load(small_course)
    found = limits.limits_of(this, this.assignments[0])
    assert (found.cell_seconds, found.memory_mb, found.processes) == (7, 300, 64)
    path.write_text(path.read_text().replace("memory_mb", "memory"))
    with pytest.raises(course.CourseError, match="no limit 'memory'"):
        limits.limits_of(course.load(small_course), this.assignments[0])


def test_nothing_to_grade_is_one_line(small_course: Path) -> None:
    done = run_course("grade", "01-small", cwd=small_course)
    assert done.returncode == 2
    assert "nothing to grade" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_locked_gradebook_is_one_line(small_course: Path) -> None:
    """Another program holds it: nbgrader's own, or a second `course grade`."""
    import sqlite3

    path = small_course / "gradebook.db"
    gradebook.open_gradebook(course.load(small_course)).close()
    path.write_bytes(b"no database" * 1000)
    done = run_course("export", cwd=small_course)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "the gradebook cannot be used: file is not a database" in done.stderr
    path.unlink()
    gradebook.open_gradebook(course.load(small_course)).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin exclusive")
    try:
        done = run_course("export", cwd=small_course)
    finally:
        other.close()
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "Another program is writing to it" in done.stderr


def test_folders_of_killed_graders_are_removed_and_others_stay(tmp_path: Path) -> None:
    alive, other = tmp_path / f"course-{os.getpid()}-x", tmp_path / "course-notes"
    for folder in (alive, other, tmp_path / "course-4194999-x"):  # above the largest number a process can have
        folder.mkdir()
    course.remove_stale_folders(tmp_path, "course-")
    assert sorted(tmp_path.iterdir()) == sorted([alive, other])


def written_answer(source: str) -> str:
    known = {
        "grade_id": "why",
        "grade": True,
        "solution": True,
        "locked": False,
        "points": 2,
        "schema_version": 3,
        "cell_type": "markdown",
    }
    cell = {"cell_type": "markdown", "id": "why", "metadata": {"nbgrader": known}, "source": source}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_an_answer_that_was_missing_is_left_to_a_person() -> None:
    """By the kind of the repair: what it says to people may change."""
    blank = json.loads(written_answer("as given"))
    from nbformat import from_dict
    from nbgrader.utils import compute_checksum

    blank["cells"][0]["metadata"]["nbgrader"]["checksum"] = compute_checksum(from_dict(blank).cells[0])
    text = json.dumps(blank)
    missing = Repair.of(RepairKind.MISSING, cell="why", role="answer")
    assert gradebook.with_marks(Record(text, {}).to_json()).verdicts == {"why": Verdict(0.0, 2.0)}
    assert gradebook.with_marks(Record(text, {}, repairs=(missing,)).to_json()).verdicts == {"why": Verdict(None, 2.0)}


def test_your_own_solution_s_warning_quotes_the_first_hint_of_the_test() -> None:
    finding = {"hint": "twice one is two", "seen": "got 3", "hidden": False, "requirement": "double"}
    data = {
        "version": 1,
        "name": "double",
        "points": 2.0,
        "score": 0.0,
        "passed": 0,
        "reached": 1,
        "findings": [finding],
    }
    shown = {"output_type": "display_data", "data": {"text/plain": "anything", MIME: data}, "metadata": {}}
    assert own_solution.reason_in({"outputs": [shown]}) == ": twice one is two"
    assert own_solution.reason_in({"outputs": [{**shown, "data": {"text/plain": "x\n  ✗ an older notebook"}}]}) == ""
