"""What students install: a wheel with `helpers/` and the student's two commands, and the versions that go with it.

The wheel is made by setuptools from a copy of the sources, without a network, the same bytes every time.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from autograder.model.course import Assignment, Course, CourseError
from helpers.kit.colab import DISTRIBUTION

HOME = Path(__file__).parents[2]  # where helpers/ and, in a checkout, pyproject.toml lie
SOURCES = {"helpers": HOME / "helpers", "english_french": HOME / "data" / "english_french"}
LAB = ("ipykernel", "jupyterlab", "nbclient", "nbformat")  # what `course lab` and `course check` need
EARLIEST = "315532800"  # 1980-01-01, the first second that a zip file can name


def project(course: Course) -> dict[str, Any]:
    """The [project] table of the course's pyproject.toml; empty where a course uses an installed package."""
    path = course.root / "pyproject.toml"
    if not path.is_file():
        return {}
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
    return table


def version(course: Course) -> str:
    """The package's. What is made for learning alone is marked, or pip would take it for the class's."""
    plain = str(project(course).get("version") or metadata.version(DISTRIBUTION))
    return f"{plain}+selfstudy" if course.self_study else plain


def wheel_name(course: Course) -> str:
    return f"{DISTRIBUTION.replace('-', '_')}-{version(course)}-py3-none-any.whl"


def address(course: Course) -> str:
    """What the set-up cell on Colab installs: the wheel in the students' repository; without one, the repository."""
    if not course.student_repository:
        return f"git+{course.repository}@{course.tag}"
    return f"{course.student_repository.removesuffix('.git')}/raw/{course.tag}/{wheel_name(course)}"


def check_tag(course: Course) -> None:
    """Badges and set-up cells name the tag, the wheel has the version: two releases in one notebook help nobody."""
    if not (course.student_repository or project(course).get("version")):
        return
    wanted = f"v{version(course)}"
    if course.tag == wanted:
        return
    lines = (course.root / "course.toml").read_text(encoding="utf-8").splitlines()
    line = next((number for number, text in enumerate(lines, 1) if re.match(r"(tag|branch)\s*=", text)), 1)
    raise CourseError(
        f'course.toml:{line}: the tag {course.tag} is not the version of the package: write tag = "{wanted}", or'
        " change the version in pyproject.toml"
    )


# ---- requirements ----------------------------------------------------------------------------------------------------


def requirements(course: Course, assignments: list[Assignment]) -> str:
    """requirements.txt: the wheel, and a pinned version of all that it and these notebooks need."""
    pins = pinned(course)
    direct = [*students_dependencies(course), *LAB, *(name for one in assignments for name in one.needs)]
    names = sorted(closure({canonicalize_name(Requirement(line).name) for line in direct}, set(pins)))
    missing = [name for name in names if name not in pins]
    if missing:
        raise CourseError(f"constraints.txt has no version of {', '.join(missing)}: run `make setup` and add it")
    head = "# Versions that are tested together. Made by `course release`.\n"
    return head + "".join(f"{name}=={pins[name]}\n" for name in names) + f"./{wheel_name(course)}\n"


def pinned(course: Course) -> dict[str, str]:
    """Versions by name, of constraints.txt; where a course has none, what is installed here."""
    path = course.root / "constraints.txt"
    if not path.is_file():
        return {canonicalize_name(d.name): d.version for d in metadata.distributions() if d.name}
    lines = [line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return {canonicalize_name(name): pin for name, _, pin in (line.partition("==") for line in lines if "==" in line)}


def closure(names: set[str], known: set[str]) -> set[str]:
    """These packages and what they need in turn, as far as it is pinned. What a platform adds, pip chooses there."""
    found: set[str] = set()
    left = sorted(names)
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for needed in map(Requirement, lines):
            wanted = needed.marker is None or needed.marker.evaluate({"extra": ""})
            if wanted and canonicalize_name(needed.name) in known:
                left.append(canonicalize_name(needed.name))
    return found


def students_dependencies(course: Course) -> list[str]:
    """What notebooks need: the package's own requirements, no extras."""
    listed = project(course).get("dependencies") or metadata.requires(DISTRIBUTION) or []
    return [line for line in listed if "extra ==" not in line]


# ---- the wheel -------------------------------------------------------------------------------------------------------

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "{version}"
description = "What the notebooks of the course import, and the commands course lab and course check."
requires-python = ">=3.11"
license = "MIT"
dependencies = [{dependencies}]

[project.scripts]
course = "helpers.student.command:main"

[tool.setuptools.packages.find]
include = ["helpers*", "english_french*"]

[tool.setuptools.package-data]
"*" = ["*.html", "*.css", "*.js", "*.svg", "*.png", "*.json", "*.toml"]
"""
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"


def build_wheel(course: Course, target: Path, more: Mapping[str, str] | None = None) -> Path:
    """The wheel, in the folder `target`; `more` files by their paths in it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, source in SOURCES.items():
            if not source.is_dir():
                raise CourseError(f"{source} is missing: `course release` needs a checkout of the course's repository")
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        for name, text in (more or {}).items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, encoding="utf-8")
        dependencies = ", ".join(f'"{line}"' for line in students_dependencies(course))
        described = PYPROJECT.format(name=DISTRIBUTION, version=version(course), dependencies=dependencies)
        (place / "pyproject.toml").write_text(described, encoding="utf-8")
        for path in place.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)  # whatever this machine's umask is
        command = [sys.executable, "-c", BUILD, str(target)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": EARLIEST}
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise CourseError(f"the wheel could not be made: {last[0]}")
    return target / done.stdout.strip().splitlines()[-1]
