"""An autograder for Gradescope: the archive is complete, and grades in a container that allows no namespaces."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import as_others
import pytest
from conftest import TOOLS, run_course

from autograder.authoring.answers import submission
from autograder.classroom.gradescope_autograder import results
from autograder.examiner.sandbox import Level
from autograder.model.published import Published, PublishedNotebook
from autograder.model.record import Verdict

NOSY = """def double(x):
    import os
    seen = [p for p in ({secret!r}, {solution!r}, {results!r}) if os.access(p, os.R_OK) or os.access(p, os.W_OK)]
    return 2 * x if not seen else x
"""


def unpacked(root: Path, small_course: Path) -> Path:
    """As Gradescope has it after setup.sh, which installs what is installed here already."""
    archive = small_course / "autograder.zip"
    done = run_course("export", "01-small", "--format", "gradescope-autograder", "--to", str(archive), cwd=small_course)
    assert done.returncode == 0, done.stderr
    source = root / "source"
    with zipfile.ZipFile(archive) as bundle:
        modes = {info.filename: info.external_attr >> 16 for info in bundle.infolist()}
        bundle.extractall(source)
    assert all(modes[name] & stat.S_IXUSR for name in ("setup.sh", "run_autograder"))
    assert not [name for name in modes if name.endswith((".pyc", ".db")) or name.startswith(("submitted", "tests"))]
    secret = (small_course / ".course" / "secret").read_text()
    assert (source / ".course" / "secret").read_text() == secret, "hidden inputs are those of the class"
    for script in ("setup.sh", "run_autograder"):
        subprocess.run(["bash", "-n", str(source / script)], check=True)
    (source / ".venv").symlink_to(TOOLS.parent)
    return source


@pytest.fixture
def autograder() -> Iterator[Path]:
    """/autograder, where every user may go through. (pytest closes its own folders.)"""
    with tempfile.TemporaryDirectory(prefix="autograder-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.slow
def test_a_submission_is_graded_where_no_namespaces_are_allowed(small_course: Path, autograder: Path) -> None:
    if (reason := as_others.why_not()) is not None:
        pytest.skip(reason)
    root = autograder
    source = unpacked(root, small_course)
    (root / "results").mkdir()
    (root / "submission").mkdir()
    secret, solution = source / ".course" / "secret", source / "solutions" / "01-small" / "01-small.py"
    answer = NOSY.format(secret=str(secret), solution=str(solution), results=str(root / "results"))
    blank = (source / "notebooks" / "01-small" / "01-small.ipynb").read_text(encoding="utf-8")
    (root / "submission" / "my homework.ipynb").write_text(submission(blank, {"double": answer}), encoding="utf-8")
    script = (source / "run_autograder").read_text(encoding="utf-8").replace("/autograder", str(root))
    done = subprocess.run(
        [*as_others.with_open_python(as_others.IN_CONTAINER), "bash", "-c", script],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads((root / "results" / "results.json").read_text(encoding="utf-8"))
    (test,) = said["tests"]
    assert (test["name"], test["score"], test["max_score"], test["status"]) == ("double", 2, 2, "passed"), said
    assert said["extra_data"]["sandbox"] == "container"
    assert said["extra_data"]["not_protected"]
    assert said["extra_data"]["not_protected"] in said["output"], "the page says which protections are off"


def test_results_have_a_test_per_exercise_with_hints_and_bonus_above_the_maximum() -> None:
    verdicts = {"double-test": Verdict(0.5, 2.0), "bonus-more-test": Verdict(3.0, 3.0), "why": Verdict(None, 4.0)}
    notebook = PublishedNotebook({}, verdicts=verdicts, ungraded={"double-test": "it took too long"}, seconds=2.4)
    published = Published("student", "01-small", "", 3.5, 2.0, True, 0.0, 0.0, {"01-small": notebook})
    hints = {"double-test": ["twice one is two"], "bonus-more-test": []}
    said = results(published, hints, Level.NAMESPACES)
    first, bonus = said["tests"]
    assert (first["score"], first["max_score"], first["status"]) == (0.5, 2.0, "failed")
    assert first["output"] == "it took too long\ntwice one is two"
    assert (bonus["name"], bonus["score"], bonus["max_score"]) == ("bonus-more", 3.0, 0.0)
    assert {test["visibility"] for test in said["tests"]} == {"visible"}
    assert said["stdout_visibility"] == "hidden"
    assert "1 answers" in said["output"]
    unreadable = PublishedNotebook({}, unreadable="it is a PDF")
    none = Published("student", "01-small", "", 0.0, 2.0, False, 0.0, 0.0, {"01-small": unreadable})
    said = results(none, {}, Level.NAMESPACES)
    assert (said["score"], said["tests"]) == (0.0, [])
    assert "it is a PDF" in said["output"]


def test_an_archive_is_of_one_assignment_and_has_a_name(small_course: Path) -> None:
    done = run_course("export", "--format", "gradescope-autograder", cwd=small_course)
    assert done.returncode == 2
    assert "--to autograder.zip" in " ".join(done.stderr.split())
