"""Who is who: rosters of every kind are read, kept in the gradebook, and find the students in archives again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
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
    MOODLE_PARTICIPANTS,
    MOODLE_TEAM_FOLDER,
    MOODLE_TEAMS,
    MOODLE_WORKSHEET,
    NOTEBOOK,
    empty_gradebook,
    place,
    written,
    zipped,
)

from autograder.classroom.collect import Collected, collect
from autograder.classroom.hand_ins import HandIns
from autograder.classroom.roster import Changes, Roster
from autograder.classroom.roster_files import read_roster
from autograder.classroom.roster_store import load_roster, update_roster
from autograder.cli import course as command
from autograder.model.course import Course, CourseError

__all__ = ["empty_gradebook", "place"]


def read(place: Course, text: str, name: str = "roster.csv", assignment: str | None = None) -> tuple[Roster, Changes]:
    return update_roster(place, read_roster(written(place.root / name, text), place, assignment))


def work_of(place: Course, student: str) -> Path:
    return place.root / "submitted" / student / "03-attention" / "03-attention.ipynb"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (CANVAS_GRADEBOOK, set(CANVAS_IDS.values())),
        (CANVAS_GRADEBOOK.replace(",", ";").replace("; ", ", "), set(CANVAS_IDS.values())),
        (MOODLE_WORKSHEET, {"S-001", "S-002", "S-003", "S-004", "john@example.org"}),
        (MOODLE_PARTICIPANTS, {"S-001", "S-002"}),
        (GRADESCOPE_ROSTER, {"S-001", "S-002", "S-003"}),
        ("id,name,e-mail\nada,Ada Lovelace,ada@example.org\n", {"ada"}),
        ("ID;First name;Last name;Section\nada;Ada;Lovelace;Monday\n", {"ada"}),
    ],
)
def test_every_kind_is_read_and_stored(text: str, ids: set[str], place: Course) -> None:
    _, changes = read(place, text, assignment="03-attention")
    assert set(changes.new) == ids
    stored = load_roster(place)
    assert set(stored.people) == ids
    ada = next(person for person in stored.people.values() if person.first_name == "Ada")
    assert (ada.first_name, ada.last_name) == ("Ada", "Lovelace")


def test_nbgraders_own_table_knows_the_students(place: Course) -> None:
    from nbgrader.api import Gradebook

    read(place, CANVAS_GRADEBOOK)
    with Gradebook(f"sqlite:///{place.root / 'gradebook.db'}") as book:
        student = book.find_student("aobrien@example.org")
        assert (student.first_name, student.last_name, student.lms_user_id) == ("Áine", "O'Brien-Núñez", "102")


def test_reading_again_updates_and_never_loses(place: Course) -> None:
    read(place, CANVAS_GRADEBOOK)
    read(place, "id,section,extensions,group,excused\njdoe,,03-attention=2d; 36h,Red,05-logit-bias\n")
    again = CANVAS_GRADEBOOK.replace('"Doe, Jo",103', '"Doe, Joanna",103').replace(
        '"李, 小龙",106,S-006,li6,Tuesday,,,,\n', ""
    )
    roster, changes = read(place, again)
    assert (changes.new, changes.changed, changes.absent) == ([], ["jdoe"], ["li6"])
    jo = roster.people["jdoe"]
    assert (jo.first_name, jo.section, jo.group) == ("Joanna", "Tuesday", "Red")
    assert (jo.extension("03-attention"), jo.extension("04-linear-attention")) == ("2d", "36h")
    assert (jo.is_excused("05-logit-bias"), jo.is_excused("03-attention")) == (True, False)
    assert load_roster(place) == roster
    sheet = roster.sheets["canvas", ""]
    assert sheet.rows["li6"]["ID"] == "106"
    assert sheet.points == {"03-attention (123456)": "61.00", "04-linear-attention (123457)": "50.00"}
    # A dash takes away what was there.
    roster, _ = read(place, "id,extensions,excused\njdoe,03-attention=-,-\n")
    assert (dict(roster.people["jdoe"].extensions), roster.people["jdoe"].excused) == ({"*": "36h"}, ())


def test_files_of_several_systems_are_about_the_same_people(place: Course) -> None:
    read(place, CANVAS_GRADEBOOK)
    _, changes = read(place, GRADESCOPE_ROSTER)
    assert (changes.new, changes.changed) == ([], ["alovelace", "aobrien@example.org", "jdoe"])
    roster, changes = read(place, MOODLE_WORKSHEET, "Grades-SEQ-03-attention-77.csv")
    assert changes.new == ["john@example.org"]  # who has no number there, and no address in Canvas
    assert roster.people["alovelace"].email == "ada@example.org"
    assert roster.people["jdoe2"].numbers["moodle 03-attention"] == "4714"


def test_people_of_one_name_and_nothing_else_are_told_apart_by_their_number(place: Course) -> None:
    text = "Identifier,Full name,Grade\nParticipant 1,Jo Doe,\nParticipant 2,Jo Doe,\n"
    roster, _ = read(place, text, assignment="03-attention")
    assert set(roster.people) == {"Jo-Doe", "Jo-Doe-2"}
    assert read(place, text, assignment="03-attention")[1].same == ["Jo-Doe", "Jo-Doe-2"]
    with pytest.raises(CourseError, match="several people called Jo Doe"):
        read(place, text, assignment="04-linear-attention")
    assert load_roster(place) == roster


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Nachname,Vorname\nLovelace,Ada\n", "cannot be told from the columns"),
        ("", "is empty"),
        ("id,name\n", "nobody is in it"),
        ("id,name\nada,Ada\nada,Ben\n", "lines 2 and 3 are the same student"),
        ("id,name\na/b,Ada\n", "line 2"),
        ("id,extensions\nada,soon\n", "line 2"),
        ("id,extensions\nada,99-nothing=2d\n", "unknown assignment"),
        ("id,excused\nada,3-attention\n", "did you mean 03-attention"),
        ("Identifier,Full name,Grade\nParticipant 1,Jo Doe,\n", "--assignment"),
    ],
)
def test_a_file_that_cannot_be_used_gets_one_clear_line_and_changes_nothing(
    text: str, words: str, place: Course
) -> None:
    file = written(place.root / "roster.csv", text)
    done = CliRunner(env={"COURSE_ROOT": str(place.root)}).invoke(command, ["roster", str(file)])
    assert done.exit_code == 2
    (line,) = done.stderr.strip().splitlines()
    assert words in line
    assert not load_roster(place)


def test_bytes_that_are_no_text_are_named(place: Course) -> None:
    for data, words in ((b"PK\x03\x04rest", "save it as CSV"), ("id,name\nada,Áda\n".encode("cp1252"), "UTF-8")):
        (place.root / "roster.csv").write_bytes(data)
        with pytest.raises(CourseError, match=words):
            read_roster(place.root / "roster.csv", place)


def test_the_command_says_what_changed(place: Course) -> None:
    file = written(place.root / "roster.csv", "id,name,shoe size\nada,Ada Lovelace,38\n")
    runner = CliRunner(env={"COURSE_ROOT": str(place.root)})
    done = runner.invoke(command, ["roster", str(file), "--json"])
    assert json.loads(done.stdout) == {
        "kind": "CSV file",
        "people": 1,
        "new": ["ada"],
        "changed": [],
        "same": [],
        "absent": [],
        "ignored": ["shoe size"],
    }
    assert "shoe size" in runner.invoke(command, ["roster", str(file)]).stderr


# ---- archives --------------------------------------------------------------------------------------------------------


def canvas_class(place: Course, names: dict[str, str] = CANVAS_NAMES) -> Collected:
    return collect(place, zipped(place.root / "submissions.zip", list(names.values())), "03-attention")


def test_canvas_files_find_their_students_by_number(place: Course) -> None:
    read(place, CANVAS_GRADEBOOK)
    found = canvas_class(place)
    assert [student for student, _ in found.placed] == [CANVAS_IDS[number] for number in CANVAS_NAMES]
    assert found.unplaced == []
    assert found.missing == [("li6", "03-attention")]
    assert found.late == [("aobrien@example.org", "03-attention")]
    late = work_of(place, "aobrien@example.org").with_name("timestamp.txt")
    assert late.read_text() == "2026-11-10 22:00:01 UTC\n"  # Canvas does not say by how much
    assert not work_of(place, "alovelace").with_name("timestamp.txt").exists()


def test_a_name_that_is_somebodys_id_does_not_make_one_that_somebody(place: Course) -> None:
    """In Canvas people choose their name. 777 is not on the roster, and calls himself jdoe."""
    read(place, CANVAS_GRADEBOOK)
    stranger = zipped(place.root / "one.zip", ["jdoe_777_9100_03-attention.ipynb"], NOTEBOOK + " ")
    canvas_class(place)
    found = collect(place, stranger, "03-attention")
    assert found.placed == [("jdoe-777", "03-attention")]
    assert found.not_on_roster == ["jdoe-777"]
    assert work_of(place, "jdoe").read_text() == NOTEBOOK


def test_anonymous_work_counts_for_its_author_once_canvas_tells_the_names(place: Course) -> None:
    read(place, CANVAS_GRADEBOOK)
    found = canvas_class(place, CANVAS_ANONYMOUS)
    assert [student for student, _ in found.placed] == ["anon-Xy12z", "anon-4fQ9w", "anon-12345"]
    assert len(found.missing) == 6
    found = canvas_class(place)
    assert [student for student, _ in found.placed] == ["jdoe2", "canvas-105"]
    assert HandIns(place).holders("03-attention")["alovelace"] == "anon-Xy12z"
    assert found.missing == [("li6", "03-attention")]
    assert found.unplaced == []


def test_a_number_in_the_name_that_a_student_gave_a_file_reveals_nothing(place: Course) -> None:
    read(place, CANVAS_GRADEBOOK)
    hostile = {"777": "anon_Zz9zz_9100_x_9001_03-attention.ipynb"}
    canvas_class(place, hostile)
    found = canvas_class(place)
    assert ("alovelace", "03-attention") in found.placed
    assert HandIns(place).holders("03-attention") == {}


def test_work_that_was_collected_before_the_roster_was_read_is_named(place: Course) -> None:
    canvas_class(place)
    read(place, CANVAS_GRADEBOOK)
    found = canvas_class(place)
    assert [student for student, _ in found.placed] == [CANVAS_IDS[number] for number in CANVAS_NAMES]
    told = [name for name, reason in found.skipped if "was collected as" in reason]
    assert told == list(CANVAS_NAMES.values())


@pytest.mark.parametrize("names", [MOODLE_FOLDERS, MOODLE_FILES])
def test_moodle_folders_and_files_find_their_students_by_number(names: dict[str, str], place: Course) -> None:
    read(place, MOODLE_WORKSHEET, assignment="03-attention")
    found = canvas_class(place, names)
    assert [student for student, _ in found.placed] == ["S-001", "S-002", "S-003", "S-004"]
    assert (found.missing, found.unplaced) == ([("john@example.org", "03-attention")], [])
    times = [work_of(place, student).with_name("timestamp.txt").read_text() for student in ("S-001", "S-002")]
    assert times == ["2026-11-10 21:30:00 UTC\n", "2026-11-12 08:05:00 UTC\n"]


def test_moodle_names_are_enough_where_they_are_of_one_person(place: Course) -> None:
    read(place, MOODLE_PARTICIPANTS)
    found = canvas_class(place, MOODLE_FOLDERS)
    assert [student for student, _ in found.placed] == ["S-001", "S-002", "Jo-Doe", "Jo-Doe-4714"]
    assert found.not_on_roster == ["Jo-Doe", "Jo-Doe-4714"]


def test_blind_marking_in_moodle_keeps_the_numbers(place: Course) -> None:
    read(place, MOODLE_WORKSHEET, assignment="03-attention")
    read(place, MOODLE_BLIND, assignment="04-linear-attention")
    names = [f"Participant_{n}_assignsubmission_file_/04-linear-attention.ipynb" for n in (21, 22)]
    found = collect(place, zipped(place.root / "all.zip", names))
    assert [student for student, _ in found.placed] == ["Participant-21", "Participant-22"]
    assert found.not_on_roster == []


def test_a_group_of_moodle_hands_in_once(place: Course) -> None:
    read(place, MOODLE_TEAMS, assignment="03-attention")
    found = collect(place, zipped(place.root / "all.zip", [MOODLE_TEAM_FOLDER]), "03-attention")
    assert found.placed == [("ada@example.org", "03-attention")]
    assert found.groups == {"ada@example.org": ["aobrien@example.org"]}
    assert found.missing == [("jo@example.org", "03-attention")]


@pytest.mark.parametrize("with_roster", [True, False])
def test_gradescope_tells_who_with_whom_and_when(with_roster: bool, place: Course) -> None:
    if with_roster:
        read(place, CANVAS_GRADEBOOK)
        read(place, GRADESCOPE_ROSTER)
    ids = ("alovelace", "aobrien@example.org", "jdoe") if with_roster else ("S-001", "aobrien@example.org", "S-003")
    root = "assignment_88_export"
    # A student's own file of that name says nothing.
    own = GRADESCOPE_METADATA.replace("S-003", "S-001")
    names = [f"{root}/submission_{number}/03-attention.ipynb" for number in (501, 502)]
    archive = zipped(
        place.root / "export.zip",
        names,
        **{
            f"{root}/submission_502/submission_metadata.yml": own,
            f"{root}/submission_metadata.yml": GRADESCOPE_METADATA,
        },
    )
    found = collect(place, archive, "03-attention")
    assert [student for student, _ in found.placed] == [ids[0], ids[2]]
    assert (found.groups, found.unplaced) == ({ids[0]: [ids[1]]}, [])
    times = [work_of(place, student).with_name("timestamp.txt").read_text() for student in (ids[0], ids[2])]
    assert times == ["2026-11-11 08:30:00 UTC\n", "2026-11-10 22:00:00 UTC\n"]
    assert [student for student, _ in found.missing] == (["canvas-105", "jdoe2", "li6"] if with_roster else [])
    # Handed in again, with a new number and the other one first: still one folder for both.
    again = (
        GRADESCOPE_METADATA.replace("submission_501", "submission_601")
        .replace("S-001", "X")
        .replace(":sid:\n", ":sid: S-002\n")
    )
    if with_roster:
        archive = zipped(
            place.root / "again.zip", ["e/submission_601/03-attention.ipynb"], **{"e/submission_metadata.yml": again}
        )
        assert collect(place, archive, "03-attention").placed == [("alovelace", "03-attention")]


def test_a_group_of_the_roster_hands_in_once_where_the_assignment_is_for_groups(place: Course) -> None:
    read(place, CANVAS_GRADEBOOK)
    read(place, "id,group,excused\njdoe,Red,\njdoe2,Red,\nli6,,yes\n")
    archive = zipped(place.root / "all.zip", ["red_team_104_9004_03-attention.ipynb"])
    alone = collect(place, archive, "03-attention")
    assert (alone.placed, alone.groups) == ([("jdoe2", "03-attention")], {})
    path = place.root / "course.toml"
    path.write_text(path.read_text().replace('id = "03-attention"\n', 'id = "03-attention"\ngroups = true\n'))
    from autograder.model import course

    found = collect(course.load(place.root), archive, "03-attention")
    assert (found.placed, found.groups) == ([("jdoe2", "03-attention")], {"jdoe2": ["jdoe"]})
    assert [student for student, _ in found.missing] == ["alovelace", "aobrien@example.org", "canvas-105"]
    assert found.excused == [("li6", "03-attention")]


def test_folders_that_an_instructor_named_are_students_of_the_roster(place: Course) -> None:
    read(place, CANVAS_GRADEBOOK)
    names = ["AOBrien@example.org/03-attention.ipynb", "S-003/03-attention.ipynb", "li6/03-attention.ipynb"]
    found = collect(place, zipped(place.root / "all.zip", names))
    assert [student for student, _ in found.placed] == ["aobrien@example.org", "jdoe", "li6"]
    both = ["jdoe/03-attention.ipynb", "S-003/03-attention.ipynb", "x/03-attention.ipynb"]
    found = collect(place, zipped(place.root / "all.zip", both))
    assert (len(found.placed), len(found.unplaced)) == (2, 1)


def test_a_time_that_a_person_wrote_stays(place: Course) -> None:
    read(place, CANVAS_GRADEBOOK)
    canvas_class(place)
    path = work_of(place, "aobrien@example.org").with_name("timestamp.txt")
    canvas_class(place)
    assert path.read_text() == "2026-11-10 22:00:01 UTC\n"
    path.write_text("2026-11-10 21:00:00 UTC\n")
    canvas_class(place)
    assert path.read_text() == "2026-11-10 21:00:00 UTC\n"
    path.write_text("2026-11-10 22:00:01 UTC\n")
    canvas_class(place, {"102": CANVAS_NAMES["102"].replace("LATE_", "")})
    assert not path.exists()


def test_the_command_names_those_who_have_not_handed_in(place: Course) -> None:
    read(place, CANVAS_GRADEBOOK)
    archive = zipped(place.root / "submissions.zip", list(CANVAS_NAMES.values()))
    done = CliRunner(env={"COURSE_ROOT": str(place.root)}).invoke(command, ["collect", str(archive)])
    assert done.exit_code == 0, done.output
    assert "03-attention: 1 not handed in: li6" in done.stdout
    assert "03-attention: 1 late: aobrien@example.org" in done.stdout
