"""The demonstration: a class whose true scores are known, through every command; the real course is not touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import run_course

from autograder import demo
from autograder.authoring import build
from autograder.authoring.made_up_class import made_up_students
from autograder.authoring.mistakes import Mistake, Right
from autograder.model import course
from autograder.model.course import CourseError

BANK = """
from autograder.authoring.mistakes import Mistake, Right

VARIANTS = {
    "double": [
        Mistake("a square", code="def double(x):\\n    return x * x", hint="twice one is two"),
        Mistake("ones only", code="def double(x):\\n    return x + 1", hint="other numbers"),
        Right("a product", code="def double(x):\\n    return 2 * x"),
    ],
    "quadruple": [Mistake("doubled once", change={"double(double(x))": "double(x)"}, hint="four times")],
}
"""
SECOND = '''
# %% exercise="quadruple"
def quadruple(x):
    """Four times x."""
    ### BEGIN SOLUTION
    return double(double(x))
    ### END SOLUTION

# %% test="quadruple" points=3
check = Check("quadruple", points=3)
check.close(check.run(quadruple, torch.ones(3)), 4.0, "four times one is four")
check.score()
'''


@pytest.fixture
def course_with_a_bank(small_course: Path) -> Path:
    folder = small_course / "solutions" / "01-small"
    (folder / "mistakes.py").write_text(BANK)
    with open(folder / "01-small.py", "a", encoding="utf-8") as file:
        file.write(SECOND)
    return small_course


def test_nobody_builds_on_a_wrong_answer_and_scores_are_sums(course_with_a_bank: Path) -> None:
    (assignment,) = course.load(course_with_a_bank).assignments
    cells, _ = build.checked_cells(assignment)
    wrong = Mistake("a square", code="def double(x):\n    return x * x")
    bank = {"double": [(wrong, 0.5), (Right("other", code="def double(x):\n    return 2 * x"), 2.0)], "quadruple": []}
    students = made_up_students(cells, bank, 30)
    kinds = {(one.mistakes.get("double", ""), "double" in one.answers, one.score) for one in students}
    assert {("", True, 5.0), ("a square", True, 0.5), ("", False, 0.0)} <= kinds
    for one in students:
        if "quadruple" in one.answers:
            assert "double" in one.answers
            assert not one.mistakes
    assert students == made_up_students(cells, bank, 30), "the same ones every time"


@pytest.mark.slow
def test_marks_are_the_known_scores_and_the_course_is_left_alone(course_with_a_bank: Path) -> None:
    root = course_with_a_bank
    this = course.load(root)
    before = sorted(path.relative_to(root) for path in root.rglob("*"))
    demo.demo_course(this, this.assignments[0], root / "demo")  # what is left of an earlier one
    (root / "demo" / "gradebook.db").write_text("old")
    done = run_course("demo", "01-small", "--students", "14", "--json", cwd=root)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["wrong"] == []
    assert (said["handed_in"], said["students"]) == (14, 17)
    for place in said["look_at"].values():
        assert Path(place).stat().st_size > 0
    marks = demo.marks_of(root / "demo" / "marks.csv")
    assert len(set(filter(None, marks.values()))) > 3, "several different scores were told apart"
    assert list(marks.values()).count("") == demo.ABSENT
    assert sorted(p.relative_to(root) for p in root.rglob("*") if p.relative_to(root).parts[0] != "demo") == before


def test_a_mark_that_is_not_the_known_score_is_named() -> None:
    known = demo.MadeUpStudent(score=10.0)
    people = [demo.Enrolled(1, "Ada", "Abel", known, late=True), demo.Enrolled(2, "Ben", "Bose", known)]
    people += [demo.Enrolled(3, "Cleo", "Curie")]
    assert list(demo.differences(people, {1: "9", 2: "10", 3: ""})) == []
    wrong = list(demo.differences(people, {1: "10", 2: "", 3: "0"}))
    assert [login for login, _, _ in wrong] == ["ada.abel.1", "ben.bose.2", "cleo.curie.3"]


def test_a_folder_that_no_demonstration_made_is_not_replaced(small_course: Path) -> None:
    this = course.load(small_course)
    (small_course / "gradebook.db").write_text("marks of a term")
    with pytest.raises(CourseError, match="not a folder of a demonstration"):
        demo.demo_course(this, this.assignments[0], small_course)
    assert (small_course / "gradebook.db").read_text() == "marks of a term"
