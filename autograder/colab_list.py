"""Compares what the notebooks need with the packages that Colab has: `python -m autograder.colab_list [LIST]`.

LIST is a file of `name==version` lines, such as the one that Colab publishes for its default runtime; without it, the
copy in tests/colab-constraints.txt, whose date is shown. Exit code 1: a package there is too old, so that a notebook
would not run, or its first cell would replace what Colab is built on.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from autograder.authoring import package
from autograder.model import course
from autograder.model.course import Course, CourseError

COPY = Path("tests") / "colab-constraints.txt"
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
TO_HAND_IN = ("ipykernel", "nbclient>=0.10", "nbformat>=5.10")  # hand_in() runs notebooks with these


@dataclass(frozen=True)
class Line:
    """One package that we need, and the version that Colab has; "" where it has none."""

    requirement: Requirement
    version: str

    @property
    def too_old(self) -> bool:
        return bool(self.version) and not self.requirement.specifier.contains(self.version, prereleases=True)

    def text(self) -> str:
        verdict = "TOO OLD" if self.too_old else "as it is" if self.version else "the first cell installs it"
        return f"{self.requirement!s:28} {self.version or '–':12} {verdict}"


def needed(this: Course) -> list[Requirement]:
    """What notebooks and hand_in() need, and what single assignments need besides."""
    extras = package.project(this).get("optional-dependencies", {})
    known = {canonicalize_name(Requirement(line).name): line for lines in extras.values() for line in lines}
    more = [known.get(canonicalize_name(name), name) for assignment in this.assignments for name in assignment.needs]
    lines = [*package.students_dependencies(this), *TO_HAND_IN, *more]
    return sorted(map(Requirement, dict.fromkeys(lines)), key=lambda requirement: requirement.name)


def read(path: Path) -> tuple[dict[str, str], str]:
    """(versions by name, the date that the list bears)."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CourseError(f"{path}: {error.strerror}") from None
    pairs = [line.strip().split("==") for line in text.splitlines() if "==" in line and not line.startswith("#")]
    dated = DATE.search(text)
    return {canonicalize_name(name): version for name, version in pairs}, dated[
        0
    ] if dated else "a day it does not name"


def compare(this: Course, versions: dict[str, str]) -> list[Line]:
    return [Line(one, versions.get(canonicalize_name(one.name), "")) for one in needed(this)]


def main(arguments: Sequence[str]) -> int:
    try:
        this = course.load()
        path = Path(arguments[0]) if arguments else this.root / COPY
        versions, date = read(path)
    except CourseError as error:
        print(f"course: {error}", file=sys.stderr)
        return 2
    lines = compare(this, versions)
    print(f"Colab's packages on {date}, by {path.name}:")
    for line in lines:
        print(f"  {line.text()}")
    return 1 if any(line.too_old for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
