"""A class full of attacks, graded in one run: every attack gets its score and its report, and every honest student full
marks.

The class has the students that the chosen tests ask about: `make test` leaves out attacks that repeat a mechanism, and
`pytest -k NAME` grades that one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kernel_attacks  # noqa: F401  adds its attacks
import process_attacks  # noqa: F401
import pytest
from attacks import ATTACKS, HONEST, Attack, Range
from classroom import Graded, hand_in, once, output_text, scores
from conftest import run_course
from course import FULL, LIMITS, NAME, POINTS, SECRETS, WRITTEN, make
from nbgrader.api import Gradebook

from autograder.examiner import sandbox

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(sandbox.why_not() is not None, reason="hostile code needs a sandbox"),
]

EVERY = 20  # after so many attacks comes an honest student
TOKEN = "hunter2"  # in the grader's environment: no student may find it


def students() -> dict[str, Attack | None]:
    """Attacks in order, with honest students among them; None is an honest one."""
    found: dict[str, Attack | None] = {HONEST: None}
    for number, attack in enumerate(ATTACKS, 1):
        found[attack.student or f"s{number:03d}-{re.sub('[^a-z0-9]+', '-', attack.name.lower()).strip('-')}"] = attack
        if number % EVERY == 0:
            found[f"s{number:03d}z-honest"] = None
    return found


STUDENTS = students()


def named(chosen: Callable[[Attack | None], bool]) -> list[Any]:
    """These students as parameters of a test."""
    repeats = {student for student, attack in STUDENTS.items() if attack is not None and attack.repeat}
    marks = {student: [pytest.mark.thorough] if student in repeats else [] for student in STUDENTS}
    return [pytest.param(student, marks=marks[student]) for student, attack in STUDENTS.items() if chosen(attack)]


@pytest.fixture(scope="module")
def graded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Submissions through one `course grade`."""
    about = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    asked = {HONEST, *(params.get("student") for params in about)}
    present = [student for student in STUDENTS if student in asked]

    def work(shared: Path) -> dict[str, Any]:
        root = shared / "hostile"
        root.mkdir()
        _, assignment = make(root)
        for student in present:
            hand_in(root, assignment, student, STUDENTS[student])
        done = run_course("grade", NAME, "--workers", "2", "--json", cwd=root, COURSE_PROBE_TOKEN=TOKEN)
        return {"root": str(root), "code": done.returncode, "out": done.stdout, "err": done.stderr}

    found = once(tmp_path_factory, "graded", work)
    assert found["code"] == 0, found["err"][-2000:] + found["out"][-2000:]
    return Graded(Path(found["root"]), json.loads(found["out"]), found["err"], present)


# ---- the class -------------------------------------------------------------------------------------------------------


def test_batch_finishes_with_a_record_for_everybody(graded: Graded) -> None:
    assert {row["student"] for row in graded.summary["rows"]} == set(graded.students)
    assert graded.summary["failed"] == []
    assert graded.summary["skipped"] == 0
    assert "Traceback" not in graded.errors


def test_nobody_made_the_grader_noisy(graded: Graded) -> None:
    assert graded.errors.strip() == ""


def test_gradebook_has_every_student_with_the_record_s_score(graded: Graded) -> None:
    with Gradebook(f"sqlite:///{graded.root / 'gradebook.db'}", "hostile") as book:
        found = {s.student.id: s for s in book.assignment_submissions(NAME)}
        assert set(found) == set(graded.students)
        for student, submission in found.items():
            assert submission.score == pytest.approx(graded.record(student)["score"])
            assert submission.max_score == FULL + WRITTEN
            assert {g.name: g.auto_score for g in submission.notebooks[0].grades if g.name != "why"} == {
                f"{name}-test": score for name, score in scores(graded.record(student)).items()
            }


@pytest.mark.parametrize("student", named(lambda attack: attack is None))
def test_honest_students_among_them_keep_everything(graded: Graded, student: str) -> None:
    record = graded.record(student)
    assert scores(record) == POINTS
    assert record["score"] == FULL
    found = record["notebooks"][NAME]
    assert (found["lost"], found["repairs"], found["tamper"], found["events"]) == ({}, [], [], [])


@pytest.mark.parametrize("student", named(lambda attack: attack is not None))
def test_attack(graded: Graded, student: str) -> None:
    attack = STUDENTS[student]
    assert attack is not None
    record = graded.record(student)
    found = record["notebooks"][NAME]
    text = output_text(graded.notebook(student))
    assert "HOLE" not in text
    if attack.unreadable:
        assert re.search(attack.unreadable, found.get("unreadable") or "")
        assert record["score"] == 0
        return
    assert not found.get("unreadable")
    for name, score in scores(record).items():
        wanted = attack.scores.get(name, POINTS[name])
        if isinstance(wanted, Range):
            assert wanted.low <= score <= wanted.high + 1e-9, name
        else:
            assert score == pytest.approx(wanted), (name, found["lost"], found["events"])
    said = {
        "tamper": "\n".join(found["tamper"]),
        "repairs": "\n".join(found["repairs"]),
        "events": "\n".join(found["events"]),
        "lost": "\n".join(f"{name}: {reason}" for name, reason in found["lost"].items()),
    }
    for part, words in attack.says.items():
        assert re.search(words, said[part]), (part, said)
    assert re.search(attack.outputs, text)
    assert set(found["lost"]) <= {f"{name}-test" for name in attack.scores}, "only what the attack touched may be lost"


def test_outputs_stay_within_their_limit(graded: Graded) -> None:
    for student in graded.students:
        size = (graded.root / "autograded" / student / NAME / f"{NAME}.ipynb").stat().st_size
        code = [cell for cell in graded.notebook(student)["cells"] if cell["cell_type"] == "code"]
        own = sum(len(cell["source"]) for cell in graded.notebook(student)["cells"])
        assert size < 2 * own + (len(code) + 4) * LIMITS["output_kb"] * 1024, student


PICTURE = next(name for name, attack in STUDENTS.items() if attack and attack.name == "picture in the written answer")


@pytest.mark.parametrize("student", [PICTURE])
def test_attachments_of_written_answers_survive(graded: Graded, student: str) -> None:
    cell = next(
        c for c in graded.notebook(student)["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == "why"
    )
    assert cell.get("attachments") == {"sketch.png": {"image/png": "iVBORw0KGgo="}}


def test_hidden_text_never_reaches_student_code(graded: Graded) -> None:
    """What student code printed, and what its process reported about itself."""
    for student in graded.students:
        for cell in graded.notebook(student)["cells"]:
            if cell["metadata"].get("nbgrader", {}).get("grade_id", "").endswith("-test"):
                continue
            text = output_text({"cells": [cell]})
            assert not [secret for secret in SECRETS if secret in text], student
        found = graded.record(student)["notebooks"][NAME]
        said = json.dumps([found[part] for part in ("tamper", "repairs", "events", "lost")])
        assert not [secret for secret in SECRETS if secret in said], student


# ---- what students get to see ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def feedback(graded: Graded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def work(shared: Path) -> dict[str, Any]:
        done = run_course("feedback", NAME, cwd=graded.root)
        return {"code": done.returncode, "err": done.stderr}

    found = once(tmp_path_factory, "feedback", work)
    assert found["code"] == 0, found["err"][-2000:]
    return graded.root / "feedback"


def test_everybody_gets_a_page(graded: Graded, feedback: Path) -> None:
    assert {path.parent.parent.name for path in feedback.glob(f"*/{NAME}/{NAME}.html")} == set(graded.students)


@pytest.mark.parametrize("student", named(lambda attack: True))
def test_feedback_tells_no_secret_and_runs_no_code(feedback: Path, student: str) -> None:
    pages = [path for path in (feedback / student).rglob("*") if path.is_file()]
    assert pages
    for path in pages:
        text = path.read_text(encoding="utf-8", errors="replace")
        assert not [secret for secret in SECRETS if secret in text], path.name
        assert "<script>stealMarks" not in text
        assert not re.search(r"<[^>]*\bon(error|load)=['\"]?stealMarks", text)
        assert not re.search(r"(href|src)\s*=\s*['\"]?\s*javascript:", text)
        assert 'src="data:image/png;base64,">' not in text


def test_feedback_holds_pages_only(feedback: Path) -> None:
    """The examiner's record is the instructor's: it names signs of tampering."""
    assert not list(feedback.rglob("grading.json"))
