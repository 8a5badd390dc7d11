"""Files as the LMSs write them, for a class of odd names. Written by hand from the sources named here, never by our own
exporter.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT, TOOLS
from nbgrader.api import Gradebook

from autograder.model import course

NOTEBOOK = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

# Canvas, lib/gradebook_exporter.rb: Student (sortable name), ID, SIS User ID, SIS Login ID, Section, then a column
# "title (id)" for each assignment and read-only totals; a line about posting, where there is one; "    Points Possible".
# Two people are called Doe, Jo; one has no SIS ids; the test student has a login of 40 hexadecimal digits.
CANVAS_GRADEBOOK = """\ufeff\
Student,ID,SIS User ID,SIS Login ID,Section,03-attention (123456),04-linear-attention (123457),Homework Current Score,Final Score
,,,,,Manual Posting,,,
    Points Possible,,,,,61.00,50.00,(read only),(read only)
"Lovelace, Ada",101,S-001,alovelace,Monday,,12.50,25.00,25.00
"O'Brien-Núñez, Áine",102,S-002,aobrien@example.org,Monday,N/A,,,
"Doe, Jo",103,S-003,jdoe,Tuesday,,,,
"Doe, Jo",104,S-004,jdoe2,"Monday and Tuesday",,,,
"Smith, John, III",105,,,Tuesday,,,,
"李, 小龙",106,S-006,li6,Tuesday,,,,
"Student, Test",999,,9c7da6fbe3d4b2f1a05c7da6fbe3d4b2f1a05c7d,Monday,,,,
"""
CANVAS_IDS = {
    "101": "alovelace",
    "102": "aobrien@example.org",
    "103": "jdoe",
    "104": "jdoe2",
    "105": "canvas-105",
    "106": "li6",
}
# Canvas, lib/content_zipper.rb: the sortable name in small letters and LATE, if it is, and the user's number, joined with
# "_" and stripped of what is no letter, digit or "_"; then the number and the name of the file. Anonymous ones: anon_ID.
CANVAS_NAMES = {
    "101": "lovelaceada_101_9001_03-attention.ipynb",
    "102": "obriennúñezáine_LATE_102_9002_03-attention-2.ipynb",
    "103": "doejo_103_9003_03-attention.ipynb",
    "104": "doejo_104_9004_my answer_105_9005_03-attention.ipynb",
    "105": "smithjohniii_105_9006_03-attention.ipynb",
}
CANVAS_ANONYMOUS = {
    "101": "anon_Xy12z_9001_03-attention.ipynb",
    "102": "LATE_anon_4fQ9w_9002_03-attention-2.ipynb",
    "103": "anon_12345_9003_03-attention.ipynb",
}

# Moodle, mod/assign/gradingtable.php with the strings of mod/assign/lang/en/assign.php: what a download has.
MOODLE_HEADER = (
    "Identifier,Full name,ID number,Email address,Status,Grade,Maximum grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments"
)
MOODLE_ROWS = {
    "4711": 'Participant 4711,Ada Lovelace,S-001,ada@example.org,Submitted for grading - ,,61.00,Yes,"Tuesday, 10 November 2026, 10:30 PM",-,',
    "4712": 'Participant 4712,Áine O\'Brien-Núñez,S-002,aobrien@example.org,Submitted for grading - ,,61.00,Yes,"Thursday, 12 November 2026, 9:05 AM",-,',
    "4713": "Participant 4713,Jo Doe,S-003,jo@example.org,Submitted for grading - ,,61.00,Yes,-,-,",
    "4714": "Participant 4714,Jo Doe,S-004,jo2@example.org,Submitted for grading - ,,61.00,Yes,-,-,",
    "4715": 'Participant 4715,"John Smith, III",,john@example.org,No submission - ,,61.00,Yes,-,-,',
}
MOODLE_WORKSHEET = "\ufeff" + "\n".join([MOODLE_HEADER, *MOODLE_ROWS.values()]) + "\n"
# The same assignment, marked blind: no names, no addresses.
MOODLE_BLIND = (
    "Identifier,Status,Grade,Maximum grade,Grade can be changed,Last modified (submission),Last modified (grade)\n"
    "Participant 21,Submitted for grading - ,,61.00,Yes,-,-\nParticipant 22,Submitted for grading - ,,61.00,Yes,-,-\n"
)
# The same with groups: a column "Group" (submissionteam).
MOODLE_TEAMS = """\
Identifier,Full name,Email address,Status,Group,Grade,Maximum grade,Grade can be changed,Last modified (submission),Last modified (grade)
Participant 4711,Ada Lovelace,ada@example.org,Submitted for grading - ,Team_A/B,,61.00,Yes,-,-
Participant 4712,Áine O'Brien-Núñez,aobrien@example.org,Submitted for grading - ,Team_A/B,,61.00,Yes,-,-
Participant 4713,Jo Doe,jo@example.org,No submission - ,Team C,,61.00,Yes,-,-
"""
# Moodle, mod/assign/classes/downloader.php: the full name with "_" made blanks, the participant's number, the plug-in;
# clean_filename takes out & < > " ` | ' : \\ and /. Since 4.1 without the last "_". A group's has the group's name and
# number. Without the setting "download in folders", the file's name comes after another "_".
MOODLE_FOLDERS = {
    "4711": "Ada Lovelace_4711_assignsubmission_file/03-attention.ipynb",
    "4712": "Áine OBrien-Núñez_4712_assignsubmission_file/03-attention.ipynb",
    "4713": "Jo Doe_4713_assignsubmission_file/03-attention.ipynb",
    "4714": "Jo Doe_4714_assignsubmission_file/Jo Doe_4713_assignsubmission_file/03-attention.ipynb",
}
MOODLE_FILES = {number: name.replace("/", "_") for number, name in MOODLE_FOLDERS.items()}
MOODLE_TEAM_FOLDER = "Team AB_4713_assignsubmission_file/03-attention.ipynb"  # the group's number is somebody's, too

# Moodle, user/action_redir.php: the names and the identity fields that the site shows.
MOODLE_PARTICIPANTS = """\
"First name","Last name","ID number","Email address",Groups
Ada,Lovelace,S-001,ada@example.org,"Team A"
Áine,O'Brien-Núñez,S-002,aobrien@example.org,"No groups"
"""

# Gradescope, "Download Roster" (guides.gradescope.com, Adding Students and Staff; public tools read the same columns).
GRADESCOPE_ROSTER = """\
First Name,Last Name,SID,Email,Role,Section
Ada,Lovelace,S-001,ada@example.org,Student,Monday
Áine,O'Brien-Núñez,S-002,aobrien@example.org,Student,
Jo,Doe,S-003,jo@example.org,Student,Tuesday
Tess,Teacher,,tess@example.org,Instructor,
"""
# Gradescope, "Export Submissions": submission_metadata.yml as a Ruby program writes it, with symbols for keys, beside a
# folder per submission.
GRADESCOPE_METADATA = """\
---
submission_501:
  :submitters:
  - :name: Ada Lovelace
    :sid: S-001
    :email: ada@example.org
  - :name: Áine O'Brien-Núñez
    :sid:
    :email: aobrien@example.org
  :created_at: 2026-11-11 08:30:00.123456000 Z
  :score: 0.0
  :status: processed
  :results: {}
  :history: []
submission_502:
  :submitters:
  - :name: Jo Doe
    :sid: S-003
    :email: jo@example.org
  :created_at: 2026-11-10 21:00:00.000000000 -01:00
"""

DUE = 'due = "2026-11-10 23:00"\n'
POLICY = '[policy]\ntimezone = "Europe/Zurich"\nlate_days = 1\npenalty_per_day = 0.1\npenalty_cap = 0.5\n\n'


def zipped(path: Path, names: list[str], content: str = NOTEBOOK, **more: str) -> Path:
    with zipfile.ZipFile(path, "w") as bundle:
        for name in names:
            bundle.writestr(name, content)
        for name, text in more.items():
            bundle.writestr(name, text)
    return path


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def empty_gradebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """nbgrader takes seconds to make one."""
    path = tmp_path_factory.mktemp("gradebook") / "gradebook.db"
    os.environ["PATH"] = f"{TOOLS}{os.pathsep}{os.environ['PATH']}"  # for alembic
    Gradebook(f"sqlite:///{path}", "sequence-models").close()
    return path


@pytest.fixture
def place(tmp_path: Path, empty_gradebook: Path) -> course.Course:
    """The course's own list of assignments, with a policy and a due date, and nothing else."""
    shutil.copy(empty_gradebook, tmp_path / "gradebook.db")
    text = (ROOT / "course.toml").read_text(encoding="utf-8")
    text = text.replace('id = "03-attention"\n', f'id = "03-attention"\n{DUE}')
    (tmp_path / "course.toml").write_text(text.replace("[[assignment]]", f"{POLICY}[[assignment]]", 1))
    return course.load(tmp_path)
