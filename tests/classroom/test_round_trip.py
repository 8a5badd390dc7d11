"""Roster, archive, collect, marks, export: every mark finds its student again in the LMS that the work came from."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import run_course
from lms_files import (
    CANVAS_ANONYMOUS,
    CANVAS_GRADEBOOK,
    CANVAS_IDS,
    CANVAS_NAMES,
    GRADESCOPE_METADATA,
    GRADESCOPE_ROSTER,
    MOODLE_BLIND,
    MOODLE_FILES,
    MOODLE_FOLDERS,
    MOODLE_HEADER,
    MOODLE_TEAM_FOLDER,
    MOODLE_TEAMS,
    MOODLE_WORKSHEET,
    empty_gradebook,
    place,
    written,
    zipped,
)
from nbgrader.api import Gradebook

from autograder.authoring.answers import submission
from autograder.classroom.collect import collect
from autograder.classroom.gradebook import read_timestamp
from autograder.classroom.roster_files import read_roster
from autograder.classroom.roster_store import update_roster
from autograder.classroom.totals import marks
from autograder.cli import course as command
from autograder.model import course
from autograder.model.course import Course

__all__ = ["empty_gradebook", "place"]

OUT_OF, BONUS = 61.0, 4.0


def read(place: Course, text: str, assignment: str | None = None) -> None:
    update_roster(place, read_roster(written(place.root / "roster.csv", text), place, assignment))


def hand_in(place: Course, names: list[str], **more: str) -> list[str]:
    return [
        student for student, _ in collect(place, zipped(place.root / "all.zip", names, **more), "03-attention").placed
    ]


def graded(place: Course, scores: dict[str, float], assignment: str = "03-attention", bonus: float = 0.0) -> None:
    """What `course grade` would write: points, and the time from timestamp.txt."""
    with Gradebook(f"sqlite:///{place.root / 'gradebook.db'}", place.course_id) as book:
        book.update_or_create_assignment(assignment)
        book.update_or_create_notebook(assignment, assignment)
        book.update_or_create_grade_cell("weights-test", assignment, assignment, max_score=OUT_OF, cell_type="code")
        book.update_or_create_grade_cell("bonus-test", assignment, assignment, max_score=BONUS, cell_type="code")
        for student, score in scores.items():
            book.update_or_create_student(student)
            time = read_timestamp(place.root / "submitted" / student / assignment)
            book.update_or_create_submission(assignment, student, timestamp=time)
            for name, value in (("weights-test", score), ("bonus-test", bonus)):
                grade = book.find_grade(name, assignment, assignment, student)
                grade.auto_score, grade.needs_manual_grade = value, False
        book.db.commit()


def exported(place: Course, form: str, *args: str) -> tuple[list[dict[str, str]], str]:
    """Lines of the file, and what the command remarks."""
    done = CliRunner(env={"COURSE_ROOT": str(place.root)}).invoke(command, ["export", *args, "--format", form])
    assert done.exit_code == 0, done.output
    return list(csv.DictReader(io.StringIO(done.stdout))), done.stderr


def scores_of(students: list[str]) -> dict[str, float]:
    """A mark for each that nobody else has."""
    return {student: 10.5 + number for number, student in enumerate(students)}


def test_canvas_reads_back_what_came_from_canvas(place: Course) -> None:
    read(place, CANVAS_GRADEBOOK)
    read(place, "id,excused\nli6,03-attention\n")
    students = hand_in(place, list(CANVAS_NAMES.values()))
    scores = scores_of(students)
    graded(place, scores)
    rows, remarks = exported(place, "canvas")
    assert list(rows[0]) == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "03-attention (123456)"]
    # lib/gradebook_importer.rb: the line of points possible is known by its beginning, a student by ID.
    assert (rows[0]["Student"], rows[0]["03-attention (123456)"]) == ("    Points Possible", "61.00")
    found = {row["ID"]: row["03-attention (123456)"] for row in rows[1:]}
    late = scores["aobrien@example.org"]
    assert late == 11.5  # one day late, which is one of the late days
    assert found == {
        **{number: f"{scores[CANVAS_IDS[number]]:g}" for number in CANVAS_NAMES},
        "106": "EX",
    }
    assert remarks == ""
    names = {row["ID"]: row["Student"] for row in rows[1:]}
    assert names["105"] == "Smith, John, III"


def test_canvas_columns_are_found_by_the_name_that_course_toml_gives(place: Course) -> None:
    text = CANVAS_GRADEBOOK.replace("03-attention (123456)", "Homework 3: what? (123456)")
    read(place, text.replace("61.00", "100"))
    graded(place, scores_of(hand_in(place, list(CANVAS_NAMES.values()))))
    env = {"COURSE_ROOT": str(place.root)}
    refused = CliRunner(env=env).invoke(command, ["export", "--format", "canvas"])
    assert (refused.exit_code, len(refused.stderr.strip().splitlines())) == (2, 1)
    assert "lms_name" in refused.stderr
    path = place.root / "course.toml"
    named = 'id = "03-attention"\nlms_name = "Homework 3: what?"\n'
    path.write_text(path.read_text().replace('id = "03-attention"\n', named))
    rows, remarks = exported(place, "canvas")
    assert rows[1]["Homework 3: what? (123456)"] == "10.5"
    assert "out of 61 points, and out of 100 in Canvas" in remarks


def test_anonymous_marks_reach_their_authors(place: Course) -> None:
    read(place, CANVAS_GRADEBOOK)
    students = hand_in(place, list(CANVAS_ANONYMOUS.values()))
    scores = scores_of(students)
    graded(place, scores)
    assert "3 marks have no line in the file of Canvas" in exported(place, "canvas")[1]
    hand_in(place, [CANVAS_NAMES[number] for number in CANVAS_ANONYMOUS])  # downloaded again when the names are shown
    rows, remarks = exported(place, "canvas")
    found = {row["ID"]: row["03-attention (123456)"] for row in rows[1:] if row["03-attention (123456)"]}
    assert found == {"101": "10.5", "102": "11.5", "103": "12.5"}
    assert remarks == ""


@pytest.mark.parametrize("names", [MOODLE_FOLDERS, MOODLE_FILES])
def test_moodle_reads_back_what_came_from_moodle(names: dict[str, str], place: Course) -> None:
    read(place, MOODLE_WORKSHEET, "03-attention")
    students = hand_in(place, list(names.values()))
    graded(place, scores_of(students))
    rows, remarks = exported(place, "moodle")
    assert ",".join(rows[0]) == MOODLE_HEADER
    # mod/assign/feedback/offline/importgradeslib.php: the participant by what follows "Participant ".
    found = {row["Identifier"][len("Participant ") :]: row["Grade"] for row in rows}
    assert found == {"4711": "10.5", "4712": "10.35", "4713": "12.5", "4714": "13.5", "4715": ""}
    assert all(row["Last modified (grade)"] == "-" for row in rows)
    assert rows[4]["Full name"] == "John Smith, III"
    assert remarks == ""


def test_moodle_is_told_of_marks_that_it_would_pass_over(place: Course) -> None:
    read(place, MOODLE_WORKSHEET, "03-attention")
    graded(place, dict.fromkeys(hand_in(place, [MOODLE_FOLDERS["4711"]]), OUT_OF), bonus=BONUS)
    rows, remarks = exported(place, "moodle")
    assert rows[0]["Grade"] == "65"
    assert "above its maximum (S-001)" in remarks


def test_blind_marks_go_back_by_number(place: Course) -> None:
    read(place, MOODLE_BLIND, "03-attention")
    names = [f"Participant_{n}_assignsubmission_file/03-attention.ipynb" for n in (22, 21)]
    graded(place, scores_of(hand_in(place, names)))
    rows, _ = exported(place, "moodle")
    assert {row["Identifier"]: row["Grade"] for row in rows} == {"Participant 22": "10.5", "Participant 21": "11.5"}


def test_a_groups_one_mark_is_every_members(place: Course) -> None:
    read(place, MOODLE_TEAMS, "03-attention")
    (holder,) = hand_in(place, [MOODLE_TEAM_FOLDER])
    graded(place, {holder: 40.0})
    rows, _ = exported(place, "moodle")
    assert {row["Identifier"]: row["Grade"] for row in rows} == {
        "Participant 4711": "40",
        "Participant 4712": "40",
        "Participant 4713": "",
    }
    rows, _ = exported(place, "csv")
    assert [(row["student_id"], row["score"], row["group_of"]) for row in rows] == [
        ("ada@example.org", "40", ""),
        ("aobrien@example.org", "40", "ada@example.org"),
    ]


def test_gradescope_gets_a_table_and_the_sentence_that_it_imports_none(place: Course) -> None:
    read(place, GRADESCOPE_ROSTER)
    names = [f"e/submission_{number}/03-attention.ipynb" for number in (501, 502)]
    graded(place, scores_of(hand_in(place, names, **{"e/submission_metadata.yml": GRADESCOPE_METADATA})))
    rows, remarks = exported(place, "gradescope")
    assert {row["SID"]: row["03-attention"] for row in rows} == {"S-001": "10.5", "S-002": "10.5", "S-003": "11.5"}
    assert "imports no marks" in remarks


def test_a_mark_of_one_who_handed_in_alone_is_not_the_groups(place: Course) -> None:
    read(place, MOODLE_TEAMS, "03-attention")
    hand_in(place, ["aobrien@example.org/03-attention.ipynb"])
    (holder,) = hand_in(place, [MOODLE_TEAM_FOLDER])
    # Whoever had something before holds the group's work, so that nothing is graded twice.
    assert holder == "aobrien@example.org"
    graded(place, {holder: 40.0, "ada@example.org": 7.0})
    assert {mark.student: mark.score for mark in marks(place, place.select(["03-attention"]))} == {
        "ada@example.org": 7.0,
        "aobrien@example.org": 40.0,
    }


# ---- feedback --------------------------------------------------------------------------------------------------------


def pages(place: Course, students: list[str]) -> None:
    for student in students:
        folder = place.root / "feedback" / student / "03-attention"
        folder.mkdir(parents=True)
        (folder / "03-attention.html").write_text(f"for {student}")


def packed(place: Course, lms: str) -> dict[str, str]:
    from autograder.classroom.feedback_pack import pack_feedback

    target = place.root / "pack.zip"
    _, left_out = pack_feedback(place, place.select(["03-attention"])[0], lms, target)
    assert left_out == []
    with zipfile.ZipFile(target) as bundle:
        return {name: bundle.read(name).decode() for name in bundle.namelist()}


def canvas_finds(name: str) -> tuple[str, str]:
    """app/models/abstract_assignment.rb, infer_comment_context_from_filename: the student and the file by number."""
    words = [word for word in Path(name).name.split("_") if word != "LATE"]
    if words[0] == "anon":
        return words[1], words[2]
    user, file = [word for word in words if word.isdigit()][:2]
    return user, file


@pytest.mark.parametrize("names", [CANVAS_NAMES, CANVAS_ANONYMOUS])
def test_canvas_finds_the_students_of_packed_pages(names: dict[str, str], place: Course) -> None:
    read(place, CANVAS_GRADEBOOK)
    students = hand_in(place, list(names.values()))
    pages(place, students)
    found = {canvas_finds(name): text for name, text in packed(place, "canvas").items()}
    assert found == {
        canvas_finds(name): f"for {student}" for name, student in zip(names.values(), students, strict=True)
    }


def moodle_finds(name: str) -> str:
    """mod/assign/feedback/file/importziplib.php: the second of at least four words is the participant's number."""
    words = name.split("/")[0].split("_", 4)
    assert len(words) >= 4
    assert words[2:4] == ["assignsubmission", "file"]
    return words[1]


@pytest.mark.parametrize("names", [MOODLE_FOLDERS, MOODLE_FILES])
def test_moodle_finds_the_students_of_packed_pages(names: dict[str, str], place: Course) -> None:
    read(place, MOODLE_WORKSHEET, "03-attention")
    students = hand_in(place, list(names.values()))
    pages(place, students)
    found = {moodle_finds(name): text for name, text in packed(place, "moodle").items()}
    assert found == {number: f"for {student}" for number, student in zip(names, students, strict=True)}


def test_every_member_of_a_group_in_moodle_gets_the_page(place: Course) -> None:
    read(place, MOODLE_TEAMS, "03-attention")
    pages(place, hand_in(place, [MOODLE_TEAM_FOLDER]))
    found = {moodle_finds(name): text for name, text in packed(place, "moodle").items()}
    assert found == {"4711": "for ada@example.org", "4712": "for ada@example.org"}


# ---- policy ----------------------------------------------------------------------------------------------------------


def test_the_penalty_follows_a_later_grade_a_due_date_and_an_extension(place: Course) -> None:
    read(place, MOODLE_WORKSHEET, "03-attention")
    students = hand_in(place, [MOODLE_FOLDERS["4712"]])  # two days after the due date have begun: one is free
    graded(place, dict.fromkeys(students, 40.0), bonus=2.0)

    def mark() -> tuple[float, float]:
        this = course.load(place.root)
        (one,) = marks(this, this.select(["03-attention"]))
        assert one.out_of == OUT_OF
        return one.score, one.penalty

    assert mark() == (37.8, 4.2)
    with Gradebook(f"sqlite:///{place.root / 'gradebook.db'}", place.course_id) as book:
        book.find_grade("weights-test", "03-attention", "03-attention", students[0]).manual_score = 50.0
        book.db.commit()
    assert mark() == (46.8, 5.2)
    read(place, f"id,extensions\n{students[0]},03-attention=12h\n")  # one day is left, and it is free
    assert mark() == (52.0, 0.0)
    read(place, f"id,extensions\n{students[0]},03-attention=-\n")
    path = place.root / "course.toml"
    path.write_text(path.read_text().replace("2026-11-10 23:00", "2026-11-08 23:00"))
    assert mark() == (36.4, 15.6)
    path.write_text(path.read_text().replace("penalty_cap = 0.5", "penalty_cap = 0.15"))
    assert mark() == (44.2, 7.8)
    read(place, f"id,excused\n{students[0]},03-attention\n")
    assert mark() == (52.0, 0.0)


def test_members_of_a_group_pay_from_their_own_budget(place: Course) -> None:
    read(place, MOODLE_TEAMS, "03-attention")
    (holder,) = hand_in(place, [MOODLE_TEAM_FOLDER])
    stamp = place.root / "submitted" / holder / "03-attention" / "timestamp.txt"
    stamp.write_text("2026-11-11 08:00:00 UTC")
    graded(place, {holder: 40.0})
    early = place.root / "submitted" / "aobrien@example.org" / "02-rnn-backprop"
    early.mkdir(parents=True)
    (early / "timestamp.txt").write_text("2026-10-02 08:00:00 UTC")
    graded(place, {"aobrien@example.org": 20.0}, "02-rnn-backprop")
    path = place.root / "course.toml"
    path.write_text(
        path.read_text().replace('id = "02-rnn-backprop"\n', 'id = "02-rnn-backprop"\ndue = "2026-10-01"\n')
    )
    this = course.load(place.root)
    found = {(mark.assignment, mark.student): mark.score for mark in marks(this, list(this.assignments))}
    assert found == {
        ("02-rnn-backprop", "aobrien@example.org"): 20.0,
        ("03-attention", "ada@example.org"): 40.0,
        ("03-attention", "aobrien@example.org"): 36.0,
    }


BONUS_EXERCISE = '''
# %% exercise="bonus-triple"
def triple(x):
    """Three times x, a tensor of any shape."""
    ### BEGIN SOLUTION
    return 3 * x
    ### END SOLUTION

# %% test="bonus-triple" points=1
check = Check("bonus-triple", points=1)
check.close(check.run(triple, torch.ones(3)), 3.0, "three times one is three")
### BEGIN HIDDEN TESTS
numbers = randn(4, 5)
check.close(check.run(triple, numbers), 3 * numbers, "other numbers, too")
### END HIDDEN TESTS
check.score()
'''


@pytest.mark.slow
def test_table_feedback_and_export_show_the_same_total(small_course: Path) -> None:
    """A late submission with bonus points: the table of `course grade`, the page, and the file."""
    source = small_course / "solutions" / "01-small" / "01-small.py"
    source.write_text(source.read_text() + BONUS_EXERCISE)
    toml = small_course / "course.toml"
    policy = '[policy]\npenalty_per_day = 0.1\n\n[[assignment]]\ndue = "2026-11-10T23:00:00+01:00"\n'
    toml.write_text(toml.read_text().replace("[[assignment]]\n", policy))
    assert run_course("build", cwd=small_course).returncode == 0
    student = (small_course / "notebooks" / "01-small" / "01-small.ipynb").read_text(encoding="utf-8")
    answers = {
        "double": "def double(x):\n    return 2 * x",
        "bonus-triple": "def triple(x):\n    return 3 * x",
    }
    folder = small_course / "submitted" / "ada" / "01-small"
    folder.mkdir(parents=True)
    (folder / "01-small.ipynb").write_text(submission(student, answers), encoding="utf-8")
    (folder / "timestamp.txt").write_text("2026-11-11 08:00:00 UTC\n")
    done = run_course("grade", "01-small", "--unsafe", "--workers", "1", "--json", cwd=small_course)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["score"], row["out_of"], row["late_penalty"]) == (2.7, 2.0, 0.3)
    done = run_course("feedback", "01-small", cwd=small_course)
    assert done.returncode == 0, done.stderr
    page = (small_course / "feedback" / "ada" / "01-small" / "01-small.html").read_text(encoding="utf-8")
    assert 'data-score="2.7" data-out-of="2"' in page
    assert "10% of the points, 0.3, are taken off" in page
    done = run_course("export", cwd=small_course)
    (line,) = csv.DictReader(io.StringIO(done.stdout))
    assert (line["score"], line["out_of"], line["late_penalty"], line["bonus"]) == ("2.7", "2", "0.3", "1")
    done = run_course("feedback", "01-small", "--pack", "canvas", cwd=small_course)
    assert done.returncode == 2  # it came from nowhere that Canvas knows
    assert "nothing of 01-small came from Canvas" in done.stderr
