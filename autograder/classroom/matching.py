"""Whose submission it is in the words of the roster: by the LMS's own numbers, never by what a student can choose.

Without a roster everybody is called as the archive does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from autograder.classroom.gradescope_export import Submission, Submitter
from autograder.classroom.hand_ins import HandIns
from autograder.classroom.owners import Owner, safe
from autograder.classroom.roster import CANVAS, SIS, Person, Roster, in_file_names, moodle
from autograder.model.course import Assignment, Course

MOODLE_TIMES = (  # of its English language packs
    *("%A, %d %B %Y, %I:%M %p", "%A, %B %d, %Y, %I:%M %p", "%A, %d %B %Y, %H:%M"),
    *("%d/%m/%y, %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"),
)
HANDED_IN = "Last modified (submission)"


class Matching:
    """For one archive. `exported`: what Gradescope says about its folders."""

    def __init__(self, course: Course, roster: Roster, hand_ins: HandIns, exported: Mapping[str, Submission]) -> None:
        self.course, self.roster, self.hand_ins, self.exported = course, roster, hand_ins, exported

    def of(self, owner: Owner, assignment: str) -> Owner:
        """The same owner with the id of the roster, the others it counts for, and the time."""
        (known,) = self.course.select([assignment])
        if owner.system == "gradescope" and owner.place in self.exported:
            return self.gradescope(owner, self.exported[owner.place], known)
        if owner.system.startswith("canvas"):
            found = self.canvas(owner, known)
        elif owner.system == "moodle":
            found = self.moodle(owner, known)
        else:
            person = self.roster.called(owner.student) or self.roster.called(owner.place)
            found = self.as_person(owner, person, known)
        return found

    def as_person(self, owner: Owner, person: Person | None, assignment: Assignment) -> Owner:
        """This person; in an assignment of groups, with the group. One folder holds the work of all."""
        if person is None:
            return owner
        if not (assignment.groups and person.group):
            return replace(owner, student=person.id, known=True)
        return self.as_group(owner, [person, *self.roster.members(person.group)], assignment)

    def as_group(self, owner: Owner, people: list[Person], assignment: Assignment) -> Owner:
        ids = list(dict.fromkeys(person.id for person in people))
        return replace(owner, student=self.holder(ids, assignment), known=True, members=tuple(ids))

    def holder(self, ids: list[str], assignment: Assignment) -> str:
        """Whoever held the group's work before, so that it is not graded twice."""
        earlier = self.hand_ins.of.get(assignment.id, {})
        return next((name for name in ids if name in earlier), ids[0])

    def canvas(self, owner: Owner, assignment: Assignment) -> Owner:
        if owner.late and assignment.due is not None:  # by how much, Canvas does not say: as little as can be
            owner = replace(owner, time=stamp(assignment.due + timedelta(seconds=1)))
        if owner.system == "canvas anonymous":
            return owner
        return self.as_person(owner, self.roster.numbered(CANVAS, owner.number), assignment)

    def moodle(self, owner: Owner, assignment: Assignment) -> Owner:
        sheet = self.roster.sheets.get(("moodle", assignment.id))
        name = in_file_names(owner.place.split("_")[0])
        if sheet is not None and "Group" in sheet.header:  # then folders are the groups', and so are their numbers
            of_group = [
                self.roster.people[student]
                for student, row in sheet.rows.items()
                if in_file_names(row["Group"]) == name and student in self.roster.people
            ]
            if of_group:
                found = self.as_group(owner, of_group, assignment)
                return replace(found, time=self.moodle_time(assignment, of_group[0].id))
        person = self.roster.numbered(moodle(assignment.id), owner.number)
        if person is None and sheet is None:
            person = self.roster.by_name.get(name)
        if person is not None:
            return replace(self.as_person(owner, person, assignment), time=self.moodle_time(assignment, person.id))
        blind = f"Participant-{owner.number}"
        if name == "participant" or (sheet is not None and blind in sheet.rows):
            known = sheet is not None and blind in sheet.rows
            return replace(owner, student=blind, known=known, time=self.moodle_time(assignment, blind))
        return owner

    def moodle_time(self, assignment: Assignment, student: str) -> str:
        sheet = self.roster.sheets.get(("moodle", assignment.id))
        text = sheet.rows.get(student, {}).get(HANDED_IN, "") if sheet is not None else ""
        zone = self.course.zone
        for form in MOODLE_TIMES if zone is not None and text not in ("", "-") else ():
            try:
                return stamp(datetime.strptime(text, form).replace(tzinfo=zone))
            except ValueError:
                continue
        return ""

    def gradescope(self, owner: Owner, submission: Submission, assignment: Assignment) -> Owner:
        people = [self.submitter(one) for one in submission.submitters]
        time = stamp(submission.time) if submission.time is not None else ""
        if not people:
            return replace(owner, time=time)
        on_roster = [one for one in people if isinstance(one, Person)]
        ids = [one.id if isinstance(one, Person) else one for one in people]
        known = len(on_roster) == len(people)
        if len(ids) == 1:
            return replace(owner, student=ids[0], known=known, time=time)
        return replace(
            owner, student=self.holder(ids, assignment), known=known, members=tuple(dict.fromkeys(ids)), time=time
        )

    def submitter(self, one: Submitter) -> Person | str:
        """On the roster by number or address; else as Gradescope calls them."""
        person = self.roster.numbered(SIS, one.sid) or self.roster.by_email.get(one.email.casefold())
        if person is None:
            person = self.roster.called(one.sid) or self.roster.called(one.email)
        return person or next((name for name in map(safe, (one.sid, one.email, one.name)) if name), "nobody")


def stamp(time: datetime) -> str:
    """As nbgrader writes and reads `timestamp.txt`."""
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
