"""`course release`: all that students need, as a folder or a zip file, complete or not at all.

The folder is the content of the students' repository: notebooks, the wheel that they and Colab install, pinned
requirements, a README with two commands. Nothing that lies there besides is touched: `.git`, or a `work/` of somebody.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from autograder.authoring import build, github_classroom, package, release_leaks, release_texts, self_study
from autograder.model.course import Assignment, Course, CourseError, remove_stale_folders, replace_folder, write_whole
from helpers.checks.model_answers import FOLDER as ANSWERS
from helpers.student import authorship

FOR_STUDENTS = ("title", "about", "course_id")  # keys of course.toml that the student's has, too


def release(course: Course, chosen: list[Assignment], target: Path, alone: bool = False) -> Path:
    """Make the package of these assignments, look for leaks, and put it in place.

    A package for learning `alone` has our answers in it; no other has.
    """
    package.check_tag(course)
    course = self_study.edition(course) if alone else course
    target = target.resolve()
    if target.suffix == ".zip":
        return release_zip(course, chosen, target)
    if target.exists() and not target.is_dir():
        raise CourseError(f"{target} is a file: give a folder or a .zip with --to")
    try:
        target.mkdir(parents=True, exist_ok=True)
        remove_stale_folders(target, ".release-")
        with tempfile.TemporaryDirectory(dir=target, prefix=f".release-{os.getpid()}-") as folder:
            new = Path(folder)
            refuse_the_other_edition(course, target)
            make(course, chosen, released_before(course, chosen, target), new)
            refuse_to_replace_work(new, target)
            put_in_place(new, target)
    except OSError as error:
        raise CourseError(
            f"cannot write to {target}: {error.strerror or error}. Choose a folder you may write to, with some space"
            " left."
        ) from None
    return target


def described(target: Path) -> dict[str, Any]:
    """What an earlier release says of itself; nothing where there is none."""
    try:
        return tomllib.loads((target / "course.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CourseError(f"{target / 'course.toml'} is not valid TOML: {error}") from None


def refuse_the_other_edition(course: Course, target: Path) -> None:
    """Answers must not get into a class's repository by a wrong --to, nor a class's package over one with answers."""
    earlier = described(target)
    if earlier and bool(earlier.get("self_study")) != course.self_study:
        there, here = ("self-study", "a class's") if earlier.get("self_study") else ("a class's", "self-study")
        raise CourseError(f"{target} is {there} package, and this is {here}: give another folder with --to")


def released_before(course: Course, chosen: list[Assignment], target: Path) -> list[Assignment]:
    """The chosen assignments and those that the folder has from earlier releases, in the course's order."""
    known = described(target).get("assignment", [])
    there = {str(entry.get("id")) for entry in known} | {assignment.id for assignment in chosen}
    return [assignment for assignment in course.assignments if assignment.id in there]


def make(course: Course, chosen: list[Assignment], listed: list[Assignment], folder: Path) -> None:
    """The package in an empty folder: the notebooks of `chosen`, and texts that speak of all that are `listed`."""
    texts = {assignment.id: build.student_texts(course, assignment) for assignment in chosen}
    for assignment in chosen:
        place = folder / "notebooks" / assignment.id
        place.mkdir(parents=True)
        for name, path in assignment.data_files().items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place / name)
        for name, text in texts[assignment.id].items():
            made = self_study.with_comparisons(text) if course.self_study else text
            (place / name).write_text(made, encoding="utf-8")
    for name, text in files(course, listed).items():
        write_whole(folder / name, text)
    package.build_wheel(course, folder, answers(course, listed, texts) if course.self_study else {})
    release_leaks.check(course, folder)


def answers(course: Course, listed: list[Assignment], texts: dict[str, dict[str, str]]) -> dict[str, str]:
    """Files of the wheel for learning alone, of all that are `listed`: it replaces the wheel of an earlier release."""
    found = {f"helpers/{ANSWERS}/__init__.py": '"""Our answers, for learning alone."""\n'}
    for assignment in listed:
        notebooks = texts.get(assignment.id) or build.student_texts(course, assignment)
        name = f"helpers/{ANSWERS}/{assignment.id}.json"
        found[name] = self_study.answers(release_leaks.cells_of(assignment), notebooks)
    return found


def files(course: Course, assignments: list[Assignment]) -> dict[str, str]:
    """Every file of the package beside notebooks and wheel, by its path. What a package is to have more goes here."""
    return {
        "README.md": release_texts.readme(course, assignments),
        "AGENTS.md": release_texts.agents(course),
        "course.toml": description(course, assignments),
        "requirements.txt": package.requirements(course, assignments),
        ".gitignore": ".venv/\n.ipynb_checkpoints/\nwork/.progress/\n",
        **({} if course.self_study else github_classroom.workflow_files(assignments)),
        **release_texts.documents(course),
    }


def description(course: Course, assignments: list[Assignment]) -> str:
    """The student's course.toml: what `course lab` and the start page need, and nothing of dates or limits."""
    table = tomllib.loads((course.root / "course.toml").read_text(encoding="utf-8"))
    head = {key: table[key] for key in FOR_STUDENTS if key in table} | {"version": package.version(course)}
    lines = ["# Made by `course release`.", *(f"{key} = {as_toml(value)}" for key, value in head.items())]
    lines += ["self_study = true"] if course.self_study else []
    for assignment in assignments:
        lines += [
            "",
            "[[assignment]]",
            f"id = {as_toml(assignment.id)}",
            f"title = {as_toml(assignment.title)}",
            f"part = {as_toml(assignment.part)}",
            f"minutes = {assignment.minutes}",
        ]
        data = sorted(assignment.data_files())
        lines += [f"data = {as_toml(data)}"] if data else []
    return "\n".join(lines) + "\n"


def as_toml(value: str | list[str]) -> str:
    """A string or a list of strings, which TOML writes as JSON does."""
    return json.dumps(value, ensure_ascii=False)


def refuse_to_replace_work(new: Path, target: Path) -> None:
    """A notebook in which somebody has worked is not replaced by a new release."""
    for path in sorted((new / "notebooks").rglob("*.ipynb")):
        old = target / path.relative_to(new)
        if not os.path.lexists(old) or (not old.is_symlink() and old.read_bytes() == path.read_bytes()):
            continue
        if authorship.is_a_persons(old):
            raise CourseError(
                f"{old} was changed by a person: nothing was released. Move it away, or release to another folder"
            )


def put_in_place(new: Path, target: Path) -> None:
    """Folders of assignments first, then files; the wheel of an earlier version goes last."""
    for folder in sorted(path for path in (new / "notebooks").iterdir() if path.is_dir()):
        replace_folder(folder, target / "notebooks" / folder.name)
    made = sorted(path for path in new.rglob("*") if path.is_file())
    wheels = {path.name for path in made if path.suffix == ".whl"}
    for path in made:
        place = target / path.relative_to(new)
        place.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, place)
    pattern = f"{package.DISTRIBUTION.replace('-', '_')}-*.whl"
    for old in target.glob(pattern):
        if old.name not in wheels:
            old.unlink()


def release_zip(course: Course, chosen: list[Assignment], target: Path) -> Path:
    """The same as one file, the same bytes every time."""
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / course.course_id
        new.mkdir()
        make(course, chosen, chosen, new)
        packed = Path(folder) / "packed.zip"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(path for path in new.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(path.relative_to(new.parent).as_posix())
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                archive.writestr(entry, path.read_bytes())
        write_whole(target, packed.read_bytes())
    return target
