"""The secret of a class: made once, kept from others, missed when it is gone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import run_course

from autograder.classroom import gradebook, secret
from autograder.model import course as courses
from autograder.model.course import CourseError


@pytest.fixture
def small(small_course: Path) -> courses.Course:
    return courses.load(small_course)


def test_the_first_grader_makes_the_secret_and_only_its_owner_reads_it(small: courses.Course) -> None:
    with gradebook.open_gradebook(small) as book:
        made = secret.class_secret(small, book)
        assert secret.class_secret(small, book) == made
        path = secret.place(small)
        assert path.stat().st_mode & 0o777 == 0o600
        assert made not in str(list(path.parent.iterdir()))
        path.chmod(0o644)
        with pytest.raises(CourseError, match="chmod 600"):
            secret.class_secret(small, book)


def test_a_lost_or_different_secret_is_noticed_before_anybody_is_graded_with_another(small: courses.Course) -> None:
    with gradebook.open_gradebook(small) as book:
        first = secret.class_secret(small, book)
        path = secret.place(small)
        path.unlink()
        with pytest.raises(CourseError, match="is gone"):
            secret.class_secret(small, book)
        secret.make(path)
        with pytest.raises(CourseError, match="is not the secret"):
            secret.class_secret(small, book)
        secret.start_anew(small, book)
        assert secret.class_secret(small, book) != first


def test_of_two_graders_that_start_at_once_the_first_one_s_secret_counts(small: courses.Course) -> None:
    path = secret.place(small)
    first = secret.make(path)
    assert secret.make(path) == first
    assert os.listdir(path.parent) == [path.name]


def test_its_place_is_a_setting(small_course: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("keys") / "class-2026"
    text = (small_course / "course.toml").read_text()
    (small_course / "course.toml").write_text(f'secret_file = "{elsewhere}"\n{text}')
    small = courses.load(small_course)
    with gradebook.open_gradebook(small) as book:
        assert secret.class_secret(small, book) == elsewhere.read_text().strip()
    assert secret.known_secret(small) == elsewhere.read_text().strip()


@pytest.mark.slow
def test_marks_are_kept_for_one_secret_and_made_again_for_another(small_course: Path) -> None:
    small = courses.load(small_course)
    assert run_course("build", cwd=small_course).returncode == 0
    folder = small_course / "submitted" / "ada" / "01-small"
    folder.mkdir(parents=True)
    notebook = json.loads(small.assignments[0].student_notebook.read_text())
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if "def double" in text:
            cell["source"] = text.replace("raise NotImplementedError()", "return 2 * x")
    (folder / "01-small.ipynb").write_text(json.dumps(notebook))

    def graded(*options: str) -> tuple[int, int, int]:
        done = run_course("grade", "01-small", "--json", *options, cwd=small_course)
        found = json.loads(done.stdout) if done.stdout else {"rows": [], "skipped": 0}
        return done.returncode, len(found["rows"]), found["skipped"]

    assert graded() == (0, 1, 0)
    assert graded() == (0, 0, 1)
    secret.place(small).unlink()
    assert graded() == (2, 0, 0)
    assert graded("--new-secret") == (0, 1, 0)
    assert graded() == (0, 0, 1)
