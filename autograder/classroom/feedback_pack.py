"""Feedback pages in one archive, in the names that Canvas and Moodle find the students by when it is uploaded."""

from __future__ import annotations

import fnmatch
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from autograder.classroom.hand_ins import HandedIn, HandIns
from autograder.classroom.roster import NOT_IN_A_FILE_NAME, Person, Roster, moodle
from autograder.classroom.roster_store import load_roster
from autograder.model.course import Assignment, Course, CourseError, write_whole


def pack_feedback(
    course: Course, assignment: Assignment, lms: str, target: Path, student: str = "*"
) -> tuple[int, list[str]]:
    """Write the archive. How many submissions are in it, and which are not, because their names are not known."""
    roster, hand_ins = load_roster(course), HandIns(course)
    packed, left_out = 0, []
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as bundle:
        for folder in sorted((course.root / "feedback").glob(f"*/{assignment.id}")):
            holder = folder.parent.name
            pages = sorted(folder.glob("*.html"))
            if not pages or not fnmatch.fnmatchcase(holder, student):
                continue
            entry = hand_ins.get(holder, assignment.id)
            if lms == "canvas":
                names = list(canvas_names(entry, pages))
            else:
                names = list(moodle_names(roster, assignment, holder, entry, pages))
            for name, page in names:
                bundle.write(page, name)
            packed += bool(names)
            left_out += [] if names else [holder]
    if not packed:
        raise CourseError(
            f"nothing of {assignment.id} came from {lms.capitalize()}: collect its archive first, so that its names for"
            " the submissions are known"
        )
    write_whole(target, content.getvalue())
    return packed, left_out


def canvas_names(entry: HandedIn, pages: list[Path]) -> Iterator[tuple[str, Path]]:
    """The name of the file that was handed in, which has the numbers that Canvas goes by, and the page's ending."""
    files = list(entry.files.values()) if entry.system.startswith("canvas") else []
    for page in pages if files else ():
        handed_in = entry.files.get(page.stem, files[0])
        numbers = re.match(r".*?_(?:LATE_)?(?:\d+|anon_[A-Za-z0-9]+)_\d+_|(?:LATE_)?anon_[A-Za-z0-9]+_\d+_", handed_in)
        if numbers is not None:
            yield f"{numbers[0]}{page.name}", page


def moodle_names(
    roster: Roster, assignment: Assignment, holder: str, entry: HandedIn, pages: list[Path]
) -> Iterator[tuple[str, Path]]:
    """The folder as Moodle named it. A group's has the group's number there, which Moodle would take for somebody's: so
    each member has a folder.
    """
    if entry.members:
        people = [roster.people.get(name, Person(name)) for name in entry.members]
        numbers = [(one.name, one.numbers.get(moodle(assignment.id), "")) for one in people]
    elif entry.system == "moodle":
        numbers = [(entry.place.split("_")[0], entry.number)]
    else:
        person = roster.people.get(holder, Person(holder))
        numbers = [(person.name, person.numbers.get(moodle(assignment.id), ""))]
    for name, number in numbers:
        for page in pages if number else ():
            plain = NOT_IN_A_FILE_NAME.sub("", name.replace("_", " ")) or "Participant"
            yield f"{plain}_{number}_assignsubmission_file_/{page.name}", page
