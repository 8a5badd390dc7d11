"""The package for learning alone has our answers, the class's has none, and neither replaces the other."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from autograder.authoring import build, package, release, release_leaks, self_study, source
from autograder.model import course
from autograder.model.course import Course, CourseError
from helpers.checks import Check, model_answers, report
from helpers.kit import assignment
from helpers.student.self_study import attempted, compare

WRITTEN = """
# %% [markdown] written="why" points=3
# Why is twice two four?
#
# <!-- BEGIN SOLUTION -->
# Because two and two are four, and twice means once more.
#
# | points | rubric |
# | --- | --- |
# | 2 | says what twice means |
# | 1 | names the sum |
# <!-- END SOLUTION -->
"""
SECRET = "the_answer_is_long_enough = x + x"
WORDS = "Because two and two are four"


@pytest.fixture
def small(small_course: Path) -> Course:
    path = small_course / "solutions" / "01-small" / "01-small.py"
    marker = "### BEGIN SOLUTION\n"
    path.write_text(path.read_text().replace(marker, f"{marker}    {SECRET}\n") + WRITTEN)
    return course.load(small_course)


@pytest.fixture(autouse=True)
def quick_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """setuptools takes seconds."""

    def make(this: Course, target: Path, more: dict[str, str]) -> Path:
        path = target / package.wheel_name(this)
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in more.items():
                archive.writestr(name, text)
        return path

    monkeypatch.setattr(package, "build_wheel", make)


def everything(folder: Path) -> str:
    return "\n".join(text for _, text in release_leaks.texts(folder))


def cells_of(folder: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads((folder / "notebooks/01-small/01-small.ipynb").read_text())["cells"]
    return cells


def test_only_the_package_for_learning_alone_has_answers(small: Course, tmp_path: Path) -> None:
    alone, classes = tmp_path / "alone", tmp_path / "class"
    release.release(small, list(small.assignments), alone, True)
    release.release(small, list(small.assignments), classes)
    for words in (SECRET, WORDS, "says what twice means"):
        assert words in everything(alone)
        assert words not in everything(classes)
    assert "hidden_input" not in everything(alone)
    assert (
        alone / f"{package.DISTRIBUTION.replace('-', '_')}-{package.version(small)}+selfstudy-py3-none-any.whl"
    ).exists()
    assert f"./{package.wheel_name(self_study.edition(small))}" in (alone / "requirements.txt").read_text()
    assert "Compare with our answer" in (alone / "README.md").read_text()
    assert "Compare with our answer" not in (classes / "README.md").read_text()
    release.release(small, list(small.assignments), tmp_path / "alone.zip", True)
    with zipfile.ZipFile(tmp_path / "alone.zip") as archive:
        assert any("+selfstudy" in name for name in archive.namelist())


def test_the_notebooks_are_the_same_but_for_the_cells_that_compare(small: Course, tmp_path: Path) -> None:
    release.release(small, list(small.assignments), tmp_path / "alone", True)
    release.release(small, list(small.assignments), tmp_path / "class")
    alone, classes = cells_of(tmp_path / "alone"), cells_of(tmp_path / "class")
    more = [cell for cell in alone if cell not in classes]
    assert [cell for cell in alone if cell in classes] == classes
    assert [cell["id"] for cell in more] == ["compare-why"]
    assert alone[alone.index(more[0]) - 1]["id"] == "why"


def test_neither_package_goes_over_the_other(small: Course, tmp_path: Path) -> None:
    for first in (True, False):
        target = tmp_path / str(first)
        release.release(small, list(small.assignments), target, first)
        with pytest.raises(CourseError, match="give another folder"):
            release.release(small, list(small.assignments), target, not first)
        release.release(small, list(small.assignments), target, first)


def test_a_repository_of_its_own_is_what_badges_and_colab_use(small: Course) -> None:
    (small.root / "course.toml").write_text(
        'self_study_repository = "https://github.com/example/alone"\n' + (small.root / "course.toml").read_text()
    )
    this = self_study.edition(course.load(small.root))
    _, text, _ = build.build(this, this.assignments[0])
    assert f"https://github.com/example/alone/raw/{this.tag}/{package.wheel_name(this)}" in text


@pytest.fixture
def answers(small: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of answers where the check library looks for it; gives the folder of the student's notebook."""
    (one,) = small.assignments
    place = tmp_path / "answers"
    place.mkdir()
    texts = build.student_texts(small, one)
    (place / "01-small.json").write_text(self_study.answers(source.read(one.source), texts))
    monkeypatch.setattr(model_answers, "PLACE", place)
    monkeypatch.setattr(assignment, "_said", ["01-small"])
    work = tmp_path / "work"
    work.mkdir()
    (work / "01-small.ipynb").write_text(texts["01-small.ipynb"])
    monkeypatch.chdir(work)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    return work


@pytest.mark.usefixtures("answers")
def test_our_answer_is_folded_below_a_green_test_and_nowhere_else() -> None:
    green, red = Check("double", points=1), Check("double", points=1)
    green.equal(4, 4, "hint")
    red.equal(4, 5, "hint")
    assert SECRET in report.to_unfold(green.outcome)
    assert "BEGIN" not in report.to_unfold(green.outcome)
    assert "Compare with our answer" in report.as_html(green.outcome, report.to_unfold(green.outcome))
    assert SECRET not in report.to_unfold(red.outcome)


def test_a_written_question_is_compared_after_an_attempt(
    answers: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    compare("why")
    assert "Write your own answer" in capsys.readouterr().out
    path = answers / "01-small.ipynb"
    notebook = json.loads(path.read_text())
    (cell,) = [cell for cell in notebook["cells"] if cell["id"] == "why"]
    ours = model_answers.of_written("why")
    assert ours is not None
    assert not attempted(notebook, "why", ours.given)
    cell["source"] = "Why is twice two four?\n\nBecause I have counted."
    path.write_text(json.dumps(notebook))
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    compare("why")
    assert WORDS in shown[0].data
    assert "| 2 | says what twice means |" in shown[0].data
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    compare("why")
    assert len(shown) == 1


def test_a_question_of_the_quiz_says_of_every_option_why() -> None:
    this = course.load(ROOT).select(["01-big-picture"])[0]
    found = json.loads(self_study.answers(source.read(this.source), {}))["exercises"]["q1"]
    assert [remark[:1] for remark in found["remarks"]] == list("ABCDE")
    assert any(" applies: " in remark for remark in found["remarks"])
