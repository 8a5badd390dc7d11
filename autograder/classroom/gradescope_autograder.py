"""An autograder for Gradescope: the archive that is uploaded there, and what runs in its container.

Gradescope unpacks the archive into /autograder/source and runs setup.sh once. For every submission it runs
run_autograder in a fresh copy of that container, with the files in /autograder/submission, and reads
/autograder/results/results.json. `course grade` does the grading there as everywhere.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.authoring.single_course import course_of_one
from autograder.classroom import secret
from autograder.classroom.inbox import RECORD
from autograder.classroom.leaderboard import counts_in, tested_cells
from autograder.classroom.totals import BONUS
from autograder.examiner.pool import HOME
from autograder.examiner.sandbox import Level
from autograder.model import course as courses
from autograder.model.course import Assignment, Course, CourseError
from autograder.model.published import Published, PublishedNotebook

PACKAGE = ("autograder", "helpers", "data")
FILES = ("pyproject.toml", "constraints.txt", "README.md", "LICENSE")
LEFT_OUT = ("__pycache__", "*.pyc", "*.egg-info", "cache", ".*")
STUDENT = "student"  # there is one in a container
BY_HAND = "Graded by hand, and not in this score: {count} answers."

SETUP = """\
#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image. Needs Ubuntu 22.04 or newer.
set -euo pipefail
cd /autograder/source
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install --yes --no-install-recommends bubblewrap python3 python3-venv
python=python3
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    apt-get install --yes --no-install-recommends python3.11 python3.11-venv
    python=python3.11
fi
"$python" -m venv .venv
# Put the address of PyTorch's builds for CPUs here: the others bring gigabytes for a card that is not there.
TORCH_INDEX=""
.venv/bin/pip install --quiet --constraint constraints.txt torch ${{TORCH_INDEX:+--index-url "$TORCH_INDEX"}}
.venv/bin/pip install --quiet --constraint constraints.txt --editable '.[instructor]' {needs}
# The untouched notebook: what is the same for everybody is then worked out already.
.venv/bin/python -P -m autograder.classroom.gradescope_autograder notebooks /tmp/results.json
"""

RUN = """\
#!/usr/bin/env bash
# Gradescope runs this for every submission. Student code has a user of its own, who may not read these.
set -euo pipefail
chmod -R go-rwx /autograder/results /autograder/source/.course /autograder/source/solutions
cd /autograder/source
results=/autograder/results/results.json
exec .venv/bin/python -P -m autograder.classroom.gradescope_autograder /autograder/submission "$results"
"""


# ---- the archive -----------------------------------------------------------------------------------------------------


def pack(course: Course, assignment: Assignment, target: Path) -> None:
    """Write the archive: the tools, the assignment with its hidden tests, and the secret of the class."""
    if not (HOME / "pyproject.toml").exists():
        raise CourseError("the autograder for Gradescope is packed from a clone of the course: run `course` in one")
    place = secret.place(course)
    text = secret.read(place) if place.exists() else secret.make(place)
    with tempfile.TemporaryDirectory(prefix=f"course-{os.getpid()}-") as folder:
        root = Path(folder)
        course_of_one(course, assignment, root)
        for name in PACKAGE:
            if (HOME / name).is_dir():
                shutil.copytree(HOME / name, root / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for name in FILES:
            shutil.copy(HOME / name, root)
        (root / ".course").mkdir()
        (root / ".course" / "secret").write_text(f"{text}\n", encoding="ascii")
        (root / "setup.sh").write_text(SETUP.format(needs=" ".join(assignment.needs)), encoding="utf-8")
        (root / "run_autograder").write_text(RUN, encoding="utf-8")
        zip_folder(root, target)


def zip_folder(root: Path, target: Path) -> None:
    """Whole or not at all. The two scripts can be executed, and the secret is its owner's."""
    modes = {"setup.sh": 0o755, "run_autograder": 0o755, ".course/secret": 0o600}
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as bundle:
            for path in sorted(path for path in root.rglob("*") if path.is_file()):
                name = path.relative_to(root).as_posix()
                info = zipfile.ZipInfo.from_file(path, name)
                info.external_attr = (0o100000 | modes.get(name, 0o644)) << 16
                bundle.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)
        os.chmod(temporary, 0o600)  # it holds hidden tests and the secret
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


# ---- in the container ------------------------------------------------------------------------------------------------


def level_here() -> Level:
    """Namespaces where the container allows them; else the level that is made for containers."""
    return Level.NAMESPACES if Level.NAMESPACES.why_not() is None else Level.CONTAINER


def take_in(course: Course, assignment: Assignment, submission: Path) -> None:
    """Put the files of a submission where `course grade` finds them. Links are not followed."""
    place = course.root / "submitted" / STUDENT / assignment.id
    shutil.rmtree(place.parent, ignore_errors=True)
    place.mkdir(parents=True)
    for path in sorted(submission.rglob("*")):
        if path.is_file() and not path.is_symlink():
            copy = place / path.relative_to(submission)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def grade_here(course: Course, assignment: Assignment, level: Level) -> Published:
    """`course grade` of the one submission. What could not be graded raises: Gradescope then says so, and no score."""
    line = [sys.executable, "-P", "-m", "autograder", "grade", assignment.id, "--force", "--workers", "1", "--json"]
    done = subprocess.run(
        [*line, "--sandbox", level.value],
        cwd=course.root,
        env={**os.environ, "COURSE_ROOT": str(course.root)},
        capture_output=True,
        text=True,
        check=False,
    )
    record = course.root / "autograded" / STUDENT / assignment.id / RECORD
    if done.returncode or not record.exists():
        raise CourseError(f"`course grade` ended with {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
    return Published.from_json(json.loads(record.read_text(encoding="utf-8")))


def results(
    published: Published, hints: dict[str, list[str]], level: Level, counts: dict[str, int] | None = None
) -> dict[str, Any]:
    """What Gradescope reads: a test for every test cell (`hints` has them all). Bonus is above the maximum."""
    notebooks = published.notebooks.values()
    tests = [one for notebook in notebooks for one in tests_of(notebook, hints)]
    by_hand = sum(name not in hints for notebook in notebooks for name in notebook.verdicts) if hints else 0
    told = [notebook.unreadable for notebook in notebooks if notebook.unreadable is not None]
    told += [text for notebook in notebooks for text in (*notebook.repairs, *notebook.incidents)]
    told += [BY_HAND.format(count=by_hand)] if by_hand else []
    open_here = level.open_here()
    told += [f"Graded in the sandbox “{level.value}”{f': {open_here}' if open_here else ''}."]
    made: dict[str, Any] = {
        "execution_time": round(sum(notebook.seconds for notebook in notebooks)),
        "output": "\n".join(told),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"sandbox": level.value, "not_protected": open_here},
        "tests": tests,
    }
    if counts:
        made["leaderboard"] = [{"name": name, "value": count, "order": "asc"} for name, count in counts.items()]
    return made if tests else {**made, "score": 0.0}


def tests_of(notebook: PublishedNotebook, hints: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
    for name, verdict in notebook.verdicts.items():
        if name not in hints or verdict.score is None:
            continue  # graded by hand
        lost = [notebook.ungraded[name]] if name in notebook.ungraded else []
        yield {
            "name": name.removesuffix("-test"),
            "score": verdict.score,
            "max_score": 0.0 if name.startswith(BONUS) else verdict.points,
            "status": "passed" if verdict.score >= verdict.points else "failed",
            "output": "\n".join([*lost, *hints.get(name, [])]),
            "output_format": "text",
            "visibility": "visible",
        }


def hints_in(folder: Path) -> dict[str, list[str]]:
    """The hints of the graded notebooks, by test. They hold nothing of a hidden test."""
    return {name: [hint for one in outcomes for hint in one.hints] for name, outcomes in tested_cells(folder)}


def main(submission: str, target: str) -> None:
    """Grade what lies in a folder, and write Gradescope's results."""
    this = courses.load(Path.cwd())
    (assignment,) = this.assignments
    secret.place(this).chmod(0o600)  # archives do not always keep it
    level = level_here()
    take_in(this, assignment, Path(submission))
    published = grade_here(this, assignment, level)
    folder = this.root / "autograded" / STUDENT / assignment.id
    made = results(published, hints_in(folder), level, counts_in(folder))
    courses.write_whole(Path(target), json.dumps(made, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except CourseError as error:
        sys.exit(f"course: {error}")
