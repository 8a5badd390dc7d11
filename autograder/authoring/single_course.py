"""A course of one assignment in a folder of its own: for a demonstration, and to be sent elsewhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from autograder.authoring import build
from autograder.model.course import Assignment, Course, load


def course_of_one(course: Course, assignment: Assignment, target: Path, policy: str = "", due: str = "") -> Course:
    """The sources of the assignment, a course.toml that knows no other and no gradebook, and the notebooks, built."""
    ignored = [".*", "__pycache__", *["*.ipynb"] * assignment.source.exists()]  # of a script, notebooks are built
    place = target / "solutions" / assignment.id
    shutil.copytree(assignment.source.parent, place, ignore=shutil.ignore_patterns(*ignored))
    if (course.root / "nbgrader_config.py").exists():
        shutil.copy(course.root / "nbgrader_config.py", target)
    (target / "course.toml").write_text(toml_of(course, assignment, policy, due), encoding="utf-8")
    made = load(target)
    files, _ = build.outputs(made, list(made.assignments))
    build.write(files)
    return made


def toml_of(course: Course, assignment: Assignment, policy: str, due: str) -> str:
    head: dict[str, object] = {
        "title": course.title,
        "course_id": course.course_id,
        "repository": course.repository,
        "tag": course.tag,
    }
    entry: dict[str, object] = {
        "id": assignment.id,
        "title": assignment.title,
        "part": assignment.part,
        "minutes": assignment.minutes,
    }
    entry |= {"needs": list(assignment.needs)} | ({"due": due} if due else {})
    text = lines(head) + (f"\n[limits]\n{lines(dict(course.common_limits))}" if course.common_limits else "")
    text += f"\n{policy}\n[[assignment]]\n{lines(entry)}"
    return text + (f"[assignment.limits]\n{lines(dict(assignment.limits))}" if assignment.limits else "")


def lines(table: dict[str, object]) -> str:
    """Texts, numbers and lists of texts are written in TOML as in JSON."""
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in table.items())
