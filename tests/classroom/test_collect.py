"""Submissions come in archives of many shapes, and their names are the students' own."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

from autograder.classroom.collect import LARGEST_NOTEBOOK, MOST_LISTED, collect, student_of
from autograder.classroom.export import FORMATS, export, harmless
from autograder.classroom.totals import Mark
from autograder.model import course
from autograder.model.course import CourseError

NOTEBOOK = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def place(tmp_path: Path) -> course.Course:
    (tmp_path / "course.toml").write_bytes((ROOT / "course.toml").read_bytes())
    return course.load(tmp_path)


def zipped(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as bundle:
        for name, text in files.items():
            bundle.writestr(name, text)
    return path


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("Ada Lovelace_4711_assignsubmission_file_/03-attention.ipynb", "Ada-Lovelace"),
        ("lovelaceada_123_456_03-attention.ipynb", "lovelaceada"),
        ("lovelaceada_LATE_123_456_03-attention-1.ipynb", "lovelaceada"),
        ("assignment_export/submission_98765/notebook.ipynb", "98765"),
        ("ada/03-attention/03-attention.ipynb", "ada"),
        ("ada@example.org/03-attention.ipynb", "ada@example.org"),
        ("Ünal/03-attention.ipynb", "Ünal"),
        ("03-attention.ipynb", None),
        ("../03-attention.ipynb", None),
    ],
)
def test_the_student_is_read_off_the_name(name: str, student: str | None) -> None:
    found = student_of(name, {"03-attention"})
    assert (found and found[0]) == student


def test_a_zip_is_collected_and_what_is_odd_is_said(place: course.Course, tmp_path: Path) -> None:
    archive = zipped(
        tmp_path / "all.zip",
        {
            "ada_1_2_03-attention.ipynb": NOTEBOOK,
            "ben_1_3_03-attention.ipynb": NOTEBOOK,
            "ben_1_4_03-attention-2.ipynb": NOTEBOOK.replace("5}", "5} "),
            "03-attention.ipynb": NOTEBOOK,
            "cleo/something.ipynb": NOTEBOOK,
            "__MACOSX/ada_1_2_03-attention.ipynb": NOTEBOOK,
            "readme.txt": "hello",
        },
    )
    found = collect(place, archive)
    assert found.placed == [("ada", "03-attention"), ("ben", "03-attention")]
    assert [name for name, _ in found.skipped] == [
        "ben_1_4_03-attention-2.ipynb",
        "03-attention.ipynb",
        "cleo/something.ipynb",
        "readme.txt",
    ]
    assert (place.root / "submitted" / "ben" / "03-attention" / "03-attention.ipynb").read_text().endswith("} ")
    assert collect(place, archive, "03-attention").placed[-1] == ("cleo", "03-attention")


def test_people_of_one_name_nested_folders_and_second_files(place: course.Course, tmp_path: Path) -> None:
    second = NOTEBOOK.replace("5}", "5} ")
    archive = zipped(
        tmp_path / "all.zip",
        {
            "smithjohn_1003_9_03-attention.ipynb": NOTEBOOK,
            "smithjohn_1004_10_03-attention.ipynb": second,
            "smithjohn_1004_11_scratch.ipynb": NOTEBOOK,
            "submission_13/hw/nb/03-attention.ipynb": NOTEBOOK,
            "submission_14/hw/nb/03-attention.ipynb": NOTEBOOK,
            "homework/ada/03-attention.ipynb": NOTEBOOK,
            "homework/ben/03-attention.ipynb": NOTEBOOK,
            "essay.pdf": "x",
        },
    )
    found = collect(place, archive, "03-attention")
    assert {student for student, _ in found.placed} == {"smithjohn", "smithjohn-1004", "13", "14", "ada", "ben"}
    assert (place.root / "submitted" / "smithjohn-1004" / "03-attention" / "03-attention.ipynb").read_text() == second
    assert {"essay.pdf", "smithjohn_1004_11_scratch.ipynb"} <= {name for name, _ in found.skipped}


OTHER = NOTEBOOK.replace("5}", "5}  ")


@pytest.mark.parametrize(
    ("eve", "mallory", "eves"),
    [
        (
            "Eve_1_assignsubmission_file_/03-attention.ipynb",
            "Mal_2_assignsubmission_file_/Eve_1_assignsubmission_file_/x.ipynb",
            "Eve",
        ),
        ("submission_1/03-attention.ipynb", "submission_2/submission_1/03-attention.ipynb", "1"),
        ("submission_1/03-attention.ipynb", "submission_2/eve/submission_1/03-attention/03-attention.ipynb", "1"),
        ("eve/03-attention.ipynb", "mal/eve/03-attention.ipynb", "eve"),
        ("eve/03-attention/03-attention.ipynb", "mal/eve/03-attention/03-attention.ipynb", "eve"),
        ("eve/03-attention.ipynb", "mal/eve_1_2_03-attention.ipynb", "eve"),
        ("eve/03-attention.ipynb", "mal/eve_1_assignsubmission_file_/03-attention.ipynb", "eve"),
        ("eve/03-attention.ipynb", "mal/submission_1/../../eve/03-attention.ipynb", "eve"),
        ("eve/03-attention.ipynb", "eve\u0301/03-attention.ipynb", "eve"),
        ("eve/03-attention.ipynb", "eve!/03-attention.ipynb", "eve"),
        ("eve/03-attention.ipynb", ".eve./03-attention.ipynb", "eve"),
        ("eve_1_5_03-attention.ipynb", "mal_2_6_eve_1_5_03-attention.ipynb", "eve"),
    ],
)
@pytest.mark.parametrize("wrapper", ["", "export/", "export/week 3/"])
def test_nobody_hands_in_for_somebody_else(
    eve: str, mallory: str, eves: str, wrapper: str, place: course.Course, tmp_path: Path
) -> None:
    """Folders that are named after somebody else, inside a student's own, whatever the archive is wrapped in and
    whoever comes first.
    """
    third = (
        eve.replace("eve", "dan")
        .replace("Eve_1", "Dan_3")
        .replace("submission_1", "submission_3")
        .replace("_1_5_", "_3_7_")
    )
    for number, order in enumerate([(eve, mallory), (mallory, eve)]):
        files = {wrapper + name: NOTEBOOK if name == eve else OTHER for name in (*order, third)}
        found = collect(place, zipped(tmp_path / f"all{number}.zip", files), "03-attention")
        kept = place.root / "submitted" / eves / "03-attention" / "03-attention.ipynb"
        if (eves, "03-attention") in found.placed and not found.unplaced:
            assert kept.read_text() == NOTEBOOK
        else:  # nobody can tell which of the two is eve's: one of them is refused, and says which
            assert any("would both be the student eve" in reason for _, reason in found.skipped)
        assert len(found.placed) + len(found.unplaced) == 3


def test_a_name_is_the_same_whatever_machine_it_comes_from(place: course.Course, tmp_path: Path) -> None:
    archive = zipped(
        tmp_path / "all.zip", {"eve/03-attention.ipynb": NOTEBOOK, "ev\u0065\u0301/03-attention.ipynb": OTHER}
    )
    found = collect(place, archive)
    assert found.placed == [("eve", "03-attention"), ("ev\u00e9", "03-attention")]
    assert student_of("x\u0302/03-attention.ipynb") == ("x\u0302", "")  # a mark that has no letter of its own with it


@pytest.mark.parametrize("name", ["eve\u200b", "\u202eeve", " eve ", "eve.", "-eve", "\ufeffeve"])
def test_a_name_that_only_looks_like_somebodys_comes_after_it(name: str, place: course.Course, tmp_path: Path) -> None:
    """Signs that nobody sees, spaces and dots are left out of an id: whoever has the plain name has the id."""
    for number, order in enumerate([(name, "eve"), ("eve", name)]):
        files = {f"{student}/03-attention.ipynb": NOTEBOOK if student == "eve" else OTHER for student in order}
        found = collect(place, zipped(tmp_path / f"all{number}.zip", {**files, "ann/03-attention.ipynb": OTHER}))
        assert (place.root / "submitted" / "eve" / "03-attention" / "03-attention.ipynb").read_text() == NOTEBOOK
        assert found.unplaced == [f"{name}/03-attention.ipynb"]


def test_one_name_in_two_codes_is_two_folders(place: course.Course, tmp_path: Path) -> None:
    names = ["ev\u00e9/03-attention.ipynb", "eve\u0301/03-attention.ipynb"]
    found = collect(place, zipped(tmp_path / "all.zip", {names[0]: NOTEBOOK, names[1]: OTHER}))
    assert (found.placed, found.unplaced) == ([("ev\u00e9", "03-attention")], [names[1]])
    again = collect(place, zipped(tmp_path / "later.zip", {names[1]: OTHER, "ann/03-attention.ipynb": OTHER}))
    assert not again.unplaced  # another machine, another week


def test_a_lone_folder_in_a_folder_is_nobodys_unless_one_is_known(place: course.Course, tmp_path: Path) -> None:
    """A student's folder in the week's, or a folder of the student's own: only somebody who knows the class can tell."""
    for name in ("mal/eve/03-attention.ipynb", "mal/eve_1_2_03-attention.ipynb"):
        found = collect(place, zipped(tmp_path / "all.zip", {name: NOTEBOOK}), "03-attention")
        assert (found.placed, found.unplaced) == ([], [name])
    assert collect(place, zipped(tmp_path / "mal.zip", {"mal/eve/03-attention.ipynb": NOTEBOOK})).placed == [
        ("eve", "03-attention")
    ]
    (place.root / "submitted" / "mal").mkdir()
    for name in (
        "mal/eve/03-attention.ipynb",
        "mal/eve_1_2_03-attention.ipynb",
        "mal/eve_1_assignsubmission_file_/03-attention.ipynb",
    ):
        found = collect(place, zipped(tmp_path / "all.zip", {name: NOTEBOOK}), "03-attention")
        assert found.placed == [("mal", "03-attention")]


def test_folders_beside_a_students_notebook_are_the_students(place: course.Course, tmp_path: Path) -> None:
    """An archive of one student, who put somebody else's name on a folder of their own."""
    for inner in ("mal/eve/03-attention.ipynb", "mal/03-attention/eve/03-attention.ipynb"):
        archive = zipped(tmp_path / "late.zip", {"mal/03-attention.ipynb": NOTEBOOK, inner: OTHER})
        assert {student for student, _ in collect(place, archive, "03-attention").placed} == {"mal"}
    assert not (place.root / "submitted" / "eve").exists()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Jo Doe_1_assignsubmission_file_/x.ipynb", "Jo Doe_2_assignsubmission_file_/x.ipynb"),
        ("doejo_1_5_x.ipynb", "doejo_2_6_x.ipynb"),
        ("jo/x.ipynb", "jo!/x.ipynb"),
    ],
)
def test_a_later_archive_replaces_only_the_same_persons_work(
    first: str, second: str, place: course.Course, tmp_path: Path
) -> None:
    """Of two people of one name the second hands in later, in an archive without the first; and then the first once
    more.
    """
    collect(place, zipped(tmp_path / "week.zip", {first: NOTEBOOK}), "03-attention")
    (kept,) = (place.root / "submitted").glob("*/03-attention/03-attention.ipynb")
    found = collect(place, zipped(tmp_path / "late.zip", {second: OTHER}), "03-attention")
    assert kept.read_text() == NOTEBOOK
    assert len(found.placed) + len(found.unplaced) == 1
    collect(place, zipped(tmp_path / "again.zip", {first: OTHER}), "03-attention")
    assert kept.read_text() == OTHER


@pytest.mark.parametrize(
    ("files", "students"),
    [
        (["week/ada_1_2_03-attention.ipynb", "week/ben_2_3_03-attention.ipynb"], ["ada", "ben"]),
        (["submissions/ada_1_2_03-attention.ipynb"], ["ada"]),
        (["all/Ada_1_assignsubmission_file_/03-attention.ipynb"], ["Ada"]),
        (["x/y/ada/03-attention.ipynb", "x/y/ben/hw/03-attention.ipynb"], ["ada", "ben"]),
        (["03-attention/ada/a.ipynb", "03-attention/ben/b.ipynb"], ["ada", "ben"]),
        (["readme.ipynb", "hw/ada/03-attention.ipynb", "hw/ben/03-attention.ipynb"], ["ada", "ben"]),
    ],
)
def test_what_an_export_is_wrapped_in_is_no_student(
    files: list[str], students: list[str], place: course.Course, tmp_path: Path
) -> None:
    found = collect(place, zipped(tmp_path / "all.zip", dict.fromkeys(files, NOTEBOOK)), "03-attention")
    assert [student for student, _ in found.placed] == students


def with_password(archive: Path) -> Path:
    """The same archive with the mark that its entries are encrypted."""
    data = bytearray(archive.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(signature, at + 1)
    archive.write_bytes(data)
    return archive


def test_archives_that_cannot_be_opened_say_what_to_do(place: course.Course, tmp_path: Path) -> None:
    whole = zipped(tmp_path / "all.zip", {f"s{n}/03-attention.ipynb": NOTEBOOK for n in range(20)}).read_bytes()
    cut = tmp_path / "cut.zip"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CourseError, match="download it again"):
        collect(place, cut)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as bundle:
        bundle.addfile(tarfile.TarInfo("ada/03-attention.ipynb"))
    (tmp_path / "cut.tar.gz").write_bytes(packed.getvalue()[:40])
    with pytest.raises(CourseError, match="download it again"):
        collect(place, tmp_path / "cut.tar.gz")
    with pytest.raises(CourseError, match="protected with a password"):
        collect(place, with_password(tmp_path / "all.zip"))
    own = with_password(zipped(tmp_path / "own.zip", {"03-attention.ipynb": NOTEBOOK})).read_bytes()
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as bundle:
        bundle.writestr("ada/hw.zip", own)
        bundle.writestr("ben/03-attention.ipynb", NOTEBOOK)
    found = collect(place, tmp_path / "class.zip")
    assert found.placed == [("ben", "03-attention")]
    assert [(name, "password" in reason, "ZipInfo" in reason) for name, reason in found.skipped] == [
        ("ada/hw.zip/03-attention.ipynb", True, False)
    ]


@pytest.mark.parametrize(
    ("files", "status"),
    [
        ({"ada/03-attention.ipynb": NOTEBOOK, "readme.txt": "x"}, 0),
        ({"ada/03-attention.ipynb": NOTEBOOK, "ada/plot.png": "x", "ada/scratch-03-attention.ipynb": NOTEBOOK}, 0),
        ({"ada/03-attention.ipynb": NOTEBOOK, "ben/essay.pdf": "x"}, 1),
        ({"ada/03-attention.ipynb": NOTEBOOK, "ben/essay.ipynb": NOTEBOOK}, 1),
        ({"ada/03-attention.ipynb": NOTEBOOK, "03-attention.ipynb": NOTEBOOK}, 1),
        ({"ada/03-attention.ipynb": NOTEBOOK, "ben/03-attention.zip": "no zip"}, 1),
        ({"readme.txt": "x"}, 1),
    ],
)
def test_the_exit_code_says_whether_all_work_has_its_place(
    files: dict[str, str], status: int, place: course.Course, tmp_path: Path
) -> None:
    from click.testing import CliRunner

    from autograder.cli import course as command

    done = CliRunner(env={"COURSE_ROOT": str(place.root)}).invoke(
        command, ["collect", str(zipped(tmp_path / "all.zip", files))]
    )
    assert done.exit_code == status, done.output


def test_a_students_own_archive_is_opened_once(place: course.Course, tmp_path: Path) -> None:
    own = zipped(tmp_path / "own.zip", {"hw/03-attention.ipynb": NOTEBOOK, "hw/data.csv": "1"}).read_bytes()
    empty = zipped(tmp_path / "empty.zip", {"hw.pdf": "x"}).read_bytes()
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("ada_1_2_homework.zip", own)
        bundle.writestr("Ben Doe_7_assignsubmission_file_/hw.zip", own)
        bundle.writestr("cleo_1_3_homework.zip", empty)
        bundle.writestr("dan_1_4_homework.zip", own[:100])
    found = collect(place, archive)
    assert found.placed == [("ada", "03-attention"), ("Ben-Doe", "03-attention")]
    assert [(name[:3], reason[:18]) for name, reason in found.skipped] == [
        ("cle", "there is no notebo"),
        ("dan", "it cannot be read:"),
    ]


def test_a_damaged_entry_costs_itself_only(place: course.Course, tmp_path: Path) -> None:
    archive = zipped(
        tmp_path / "all.zip", {"ada/03-attention.ipynb": NOTEBOOK, "ben/03-attention.ipynb": NOTEBOOK + " " * 500}
    )
    data = bytearray(archive.read_bytes())
    at = data.index(b"ben/03-attention.ipynb") + 40
    data[at : at + 8] = b"\xff" * 8
    archive.write_bytes(data)
    found = collect(place, archive)
    assert ("ada", "03-attention") in found.placed
    assert [name for name, _ in found.skipped] == ["ben/03-attention.ipynb"]


def test_nothing_is_written_outside_the_submitted_folder(place: course.Course, tmp_path: Path) -> None:
    archive = zipped(
        tmp_path / "evil.zip",
        {
            "../../evil/03-attention.ipynb": NOTEBOOK,
            "/etc/03-attention.ipynb": NOTEBOOK,
            "..\\..\\evil2\\03-attention.ipynb": NOTEBOOK,
            ".../03-attention.ipynb": NOTEBOOK,
        },
    )
    before = {p for p in tmp_path.parent.rglob("*") if not {"submitted", ".course"} & set(p.parts)}
    found = collect(place, archive)
    assert all(not set(student) & set("/\\") and not student.startswith(".") for student, _ in found.placed)
    assert {p for p in tmp_path.parent.rglob("*") if not {"submitted", ".course"} & set(p.parts)} == before


def test_links_in_a_tar_or_folder_are_not_followed(place: course.Course, tmp_path: Path) -> None:
    secret = tmp_path / "secret.ipynb"
    secret.write_text(NOTEBOOK)
    archive = tmp_path / "all.tar.gz"
    with tarfile.open(archive, "w:gz") as bundle:
        info = tarfile.TarInfo("ada/03-attention.ipynb")
        info.size = len(NOTEBOOK)
        bundle.addfile(info, io.BytesIO(NOTEBOOK.encode()))
        link = tarfile.TarInfo("eve/03-attention.ipynb")
        link.type, link.linkname = tarfile.SYMTYPE, str(secret)
        bundle.addfile(link)
    assert collect(place, archive).placed == [("ada", "03-attention")]
    folder = tmp_path / "inbox"
    (folder / "eve").mkdir(parents=True)
    (folder / "eve" / "03-attention.ipynb").symlink_to(secret)
    assert collect(place, folder).placed == []


def test_a_students_archive_with_a_very_long_list_is_not_read(place: course.Course, tmp_path: Path) -> None:
    """44 MB of entries without content took 40 s and 444 MB."""
    own = io.BytesIO()
    with zipfile.ZipFile(own, "w") as bundle:
        for number in range(MOST_LISTED):
            bundle.writestr(f"{number}.txt", "")
        bundle.writestr("03-attention.ipynb", "{}")
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as bundle:
        bundle.writestr("ann/work.zip", own.getvalue())
        bundle.writestr("bob/03-attention.ipynb", "{}")
    found = collect(place, path)
    assert found.placed == [("bob", "03-attention")]
    assert found.unplaced == ["ann/work.zip"]
    assert "lists more than 10,000 files" in found.skipped[0][1]


def test_a_bomb_is_not_unpacked(place: course.Course, tmp_path: Path) -> None:
    archive = tmp_path / "bomb.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("eve/03-attention.ipynb", b" " * (LARGEST_NOTEBOOK + 10))
    found = collect(place, archive)
    assert found.placed == []
    assert "larger than" in found.skipped[0][1]


@pytest.mark.parametrize("content", [None, b"not an archive"])
def test_a_wrong_archive_is_named(content: bytes | None, place: course.Course, tmp_path: Path) -> None:
    path = tmp_path / "archive"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CourseError, match=r"does not exist|neither a folder nor"):
        collect(place, path)


ROWS = [
    Mark("03-attention", "ada", "Ada", "Lovelace", "ada@example.org", 63.5, 61, 4, False),
    Mark("03-attention", "eve", "=cmd()", "Mallory", "", 10, 61, 0, True),
    Mark("04-linear-attention", "ada", "Ada", "Lovelace", "ada@example.org", 40, 50, 0, False),
]


@pytest.mark.parametrize("form", FORMATS)
def test_exports_are_rectangular_and_hold_every_mark(form: str) -> None:
    import csv

    rows = list(csv.reader(io.StringIO(export(ROWS, form))))
    assert len({len(row) for row in rows}) == 1
    text = export(ROWS, form)
    for value in ("63.5", "10", "40"):
        assert value in text
    assert not any(value.startswith(("=", "+", "-", "@")) for row in rows for value in row)


def test_canvas_has_its_points_possible_row_and_moodle_its_id_column() -> None:
    canvas = export(ROWS, "canvas").splitlines()
    assert canvas[0] == "Student,ID,SIS User ID,SIS Login ID,Section,03-attention,04-linear-attention"
    assert canvas[1].strip().startswith("Points Possible,,,,,61,50")
    assert canvas[2] == '"Lovelace, Ada",,,ada,,63.5,40'
    assert export(ROWS, "moodle").splitlines()[2].endswith(",eve,,10,")


def test_bonus_points_raise_the_score_not_the_maximum() -> None:
    assert ROWS[0].percent > 100
    assert export(ROWS, "csv").splitlines()[1].split(",")[5:9] == ["63.5", "61", "104.10", "4"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx"])
def test_a_spreadsheet_takes_no_name_for_a_formula(text: str) -> None:
    assert harmless(text).startswith("'")
    assert harmless("Ada") == "Ada"


def test_a_file_of_any_name_is_found_by_its_cells_or_by_the_archives_name(place: course.Course, tmp_path: Path) -> None:
    for name in ("03-attention", "04-linear-attention"):
        (tmp_path / "notebooks" / name).mkdir(parents=True)
        shutil.copy(ROOT / "notebooks" / name / f"{name}.ipynb", tmp_path / "notebooks" / name)
    own = (ROOT / "notebooks" / "03-attention" / "03-attention.ipynb").read_text(encoding="utf-8")
    archive = zipped(
        tmp_path / "submissions.zip", {"lovelaceada_1_2_Untitled1.ipynb": own, "benb_3_4_hw.ipynb": NOTEBOOK}
    )
    found = collect(place, archive)
    assert found.placed == [("lovelaceada", "03-attention")]
    assert found.unplaced == ["benb_3_4_hw.ipynb"], "nothing in it tells"
    archive = archive.rename(tmp_path / "ML101-04-linear-attention-4242.zip")
    found = collect(place, archive)
    assert sorted(found.placed) == [("benb", "04-linear-attention"), ("lovelaceada", "03-attention")]
