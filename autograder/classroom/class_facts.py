"""What there is to know about a class in one assignment, as plain data: the page of `course report --html`, and its
summary in the terminal, say the same facts.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import correlation, mean, median, quantiles
from typing import Any

from nbgrader.api import Gradebook as StoredGradebook
from nbgrader.api import MissingEntry, SubmittedAssignment

from autograder.authoring.mistakes import Mistake
from autograder.authoring.mistakes import load as load_mistakes
from autograder.classroom.inbox import RECORD
from autograder.classroom.pages.returned import Exercise, Gradebook, returned
from autograder.classroom.similar import Known, Pair, similar
from autograder.classroom.totals import BONUS, Mark, Totals, gradebook
from autograder.classroom.written.questions import instructor_cells
from autograder.model.course import Assignment, Course, CourseError
from autograder.model.outcome import Gravity
from autograder.model.published import Published

FEWEST_TO_CORRELATE = 8  # submissions: with fewer, a correlation is chance
NEEDS_HELP = 0.5  # of the maximum: below it
BINS = 10
TAKES = {Gravity.IDEA: 0.75, Gravity.PART: 0.5, Gravity.EDGE: 0.2}  # as helpers/checks/credit.py, without torch


@dataclass
class ExerciseFacts:
    """One graded cell over the class. Shares are of the points, between 0 and 1."""

    name: str
    title: str
    points: float
    bonus: bool
    submissions: int = 0  # with points
    average: float = 0.0
    share: float | None = None
    full_marks: int = 0
    unanswered: int = 0
    waiting: int = 0
    not_graded: int = 0
    discrimination: float | None = None
    requirements: list[dict[str, Any]] = field(default_factory=list)  # name, gravity, failed, of
    lost: dict[str, float] = field(default_factory=dict)  # points, by what they were lost to


@dataclass
class Submission:
    """One submission, read once."""

    student: str
    exercises: list[Exercise]
    answers: dict[str, str]  # by answer cell, the text
    published: Published | None

    @property
    def unanswered(self) -> int:
        return sum(one.unanswered for one in self.exercises)


def class_facts(course: Course, assignment: Assignment) -> dict[str, Any]:
    """Everything. CourseError where nothing is graded yet."""
    with gradebook(course) as book:
        submissions = list(read_submissions(course, assignment, book))
        totals = Totals(course, book)
        marks = sorted(totals.of_assignment(assignment), key=lambda one: one.student)
        roster = totals.roster
    if not submissions:
        raise CourseError(f"nothing of {assignment.id} is graded yet: run `course grade {assignment.id}` first")
    names = {mark.student: f"{mark.first_name} {mark.last_name}".strip() for mark in marks}
    names |= {person.id: person.name for person in roster.people.values()}
    exercises = exercise_facts(submissions)
    told = mistake_facts(assignment, submissions)
    counted = [mark for mark in marks if not mark.excused]
    return {
        "course": course.title,
        "assignment": assignment.id,
        "title": assignment.title,
        "made": datetime.now(UTC).isoformat(timespec="minutes"),
        "on_roster": len(roster.people),
        "submissions": len(submissions),
        "names": {student: name for student, name in sorted(names.items()) if name},
        "scores": score_facts(counted),
        "exercises": [asdict(one) for one in exercises],
        "mistakes": [one for one in told if one["mistake"]],
        "hints": [one for one in told if not one["mistake"]],
        "gravities": gravity_facts(exercises),
        "help": help_facts(counted, submissions),
        "nothing_handed_in": nothing_handed_in(course, assignment, totals, {mark.student for mark in marks}),
        "excused": sorted(person.id for person in roster.people.values() if person.is_excused(assignment.id)),
        "waiting": [{"exercise": one.name, "answers": one.waiting} for one in exercises if one.waiting],
        "late": [
            {"student": mark.student, "days": mark.late.days, "penalty": mark.penalty}
            for mark in marks
            if mark.late.days or mark.penalty
        ],
        **record_facts(submissions),
        "similar": [pair.as_dict() for pair in similar_pairs(assignment, submissions)],
    }


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_submissions(course: Course, assignment: Assignment, book: StoredGradebook) -> Iterable[Submission]:
    try:
        stored = book.assignment_submissions(assignment.id)
    except MissingEntry:
        return
    for one in sorted(stored, key=lambda one: str(one.student.id)):
        yield read_submission(course.root / "autograded" / one.student.id / assignment.id, one)


def read_submission(folder: Path, stored: SubmittedAssignment) -> Submission:
    record = folder / RECORD
    published = Published.from_json(json.loads(record.read_text(encoding="utf-8"))) if record.is_file() else None
    made = Submission(stored.student.id, [], {}, published)
    for notebook in stored.notebooks:
        book = Gradebook.of(notebook)
        path = folder / f"{notebook.name}.ipynb"
        nodes = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.is_file() else []
        known = published.notebooks.get(notebook.name) if published is not None else None
        work = returned(nodes, book, known.ungraded if known is not None else {})
        made.exercises += work.exercises
        for exercise in work.exercises:
            made.answers |= {shown.cell.name: shown.cell.source for shown in exercise.answers}
    return made


# ---- scores and exercises --------------------------------------------------------------------------------------------


def score_facts(marks: Sequence[Mark]) -> dict[str, Any]:
    """Marks as they are exported, in percent of the maximum. With bonus, some are above a hundred."""
    percents = [mark.percent for mark in marks]
    counts = Counter(min(int(percent * BINS // 100), BINS) for percent in percents)
    top = BINS + 1 if counts[BINS] and any(percent > 100 for percent in percents) else BINS
    if top == BINS:  # full marks belong to the last tenth
        counts[BINS - 1] += counts.pop(BINS, 0)
    quarters = quantiles(percents, n=4, method="inclusive") if len(percents) > 1 else [*percents] * 3
    return {
        "students": len(marks),
        "out_of": marks[0].out_of if marks else 0.0,
        "mean": round(mean(percents), 1) if percents else 0.0,
        "median": round(median(percents), 1) if percents else 0.0,
        "quartiles": [round(one, 1) for one in quarters],
        "bins": [
            {"from": 100 // BINS * place, "to": 100 // BINS * (place + 1), "students": counts[place]}
            for place in range(top)
        ],
        "percents": {mark.student: round(mark.percent, 1) for mark in marks},
    }


def exercise_facts(submissions: Sequence[Submission]) -> list[ExerciseFacts]:
    """In the order of the notebook."""
    by_name: dict[str, list[tuple[Submission, Exercise]]] = defaultdict(list)
    for submission in submissions:
        for exercise in submission.exercises:
            by_name[exercise.name].append((submission, exercise))
    totals = {
        one.student: sum(x.grade.score for x in one.exercises if not x.grade.waiting and not x.bonus)
        for one in submissions
    }
    return [one_exercise(name, entries, totals) for name, entries in by_name.items()]


def one_exercise(
    name: str, entries: Sequence[tuple[Submission, Exercise]], totals: Mapping[str, float]
) -> ExerciseFacts:
    first = entries[0][1]
    graded = [(submission, one) for submission, one in entries if not one.grade.waiting]
    scores = [one.grade.score for _, one in graded]
    made = ExerciseFacts(name, first.title, first.grade.points, name.startswith(BONUS), len(graded))
    made.average = round(mean(scores), 4) if scores else 0.0
    made.share = round(made.average / made.points, 4) if scores and made.points else None
    made.full_marks = sum(one.lost == 0 for _, one in graded)
    made.unanswered = sum(one.unanswered for _, one in graded)
    made.waiting = len(entries) - len(graded)
    made.not_graded = sum(bool(one.reason) for _, one in graded)
    own = 0.0 if made.bonus else 1.0
    rest = [totals[submission.student] - own * one.grade.score for submission, one in graded]
    made.discrimination = correlated(scores, rest)
    made.requirements = requirement_facts(one for _, one in graded)
    lost: dict[str, float] = defaultdict(float)
    for _, one in graded:
        for kind, points in lost_to(one).items():
            lost[kind] += points
    made.lost = {kind: round(points, 3) for kind, points in lost.items() if points > 0}
    return made


def correlated(scores: Sequence[float], rest: Sequence[float]) -> float | None:
    """Pearson's correlation; None where it says nothing."""
    if len(scores) < FEWEST_TO_CORRELATE or len(set(scores)) < 2 or len(set(rest)) < 2:
        return None
    return round(correlation(scores, rest), 3)


def requirement_facts(exercises: Iterable[Exercise]) -> list[dict[str, Any]]:
    """How often each was failed, among answers that were written."""
    failed: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for exercise in exercises:
        outcome = exercise.outcome
        for one in outcome.requirements if outcome is not None and not exercise.unanswered else ():
            failed[one.name, one.gravity.value].append(not one.passed)
    return [
        {"name": name, "gravity": gravity, "failed": sum(each), "of": len(each)}
        for (name, gravity), each in failed.items()
    ]


def lost_to(exercise: Exercise) -> dict[str, float]:
    """The points that an answer lost, by what it lost them to.

    Where an idea fails, the points of its function are lost to it. Else failed parts and edges share the loss as they
    would take points alone (a half, a fifth).
    """
    outcome = exercise.outcome
    if exercise.unanswered:
        return {"unanswered": exercise.lost}
    if not exercise.is_test or exercise.grade.by_person:
        return {"by hand": exercise.lost}
    if outcome is None or exercise.reason or not outcome.requirements:
        return {"other": exercise.lost}
    failed: dict[str, float] = defaultdict(float)
    idea_failed = False
    for one in outcome.requirements:
        if one.gravity is Gravity.IDEA:
            idea_failed = not one.passed
        share = 1.0 if one.share is None else one.share
        if not one.passed and (one.gravity is Gravity.IDEA or not idea_failed):
            failed[one.gravity.value] += TAKES[one.gravity] * share
    whole = sum(failed.values())
    return {kind: exercise.lost * weight / whole for kind, weight in failed.items()} if whole else {}


def gravity_facts(exercises: Sequence[ExerciseFacts]) -> dict[str, float]:
    """The points of all submissions together: earned, and lost to what. Waiting answers are left out."""
    made: dict[str, float] = defaultdict(float)
    for one in exercises:
        made["possible"] += one.points * one.submissions
        made["earned"] += one.average * one.submissions
        for kind, points in one.lost.items():
            made[kind] += points
    order = ("possible", "earned", *(gravity.value for gravity in Gravity), "by hand", "unanswered", "other")
    return {kind: round(made[kind], 2) for kind in order}


def hardest_first(exercises: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those with points, as the page and the summary list them. Where answers still wait, the average is of the others,
    blank ones mostly: these come last.
    """
    graded = [one for one in exercises if one["share"] is not None]
    return sorted(graded, key=lambda one: (one["waiting"] > 0, one["share"]))


# ---- mistakes --------------------------------------------------------------------------------------------------------


def mistake_facts(assignment: Assignment, submissions: Sequence[Submission]) -> list[dict[str, Any]]:
    """What tests said, each once for a student; by how many students were told it. What is unanswered is not here."""
    bank = named_mistakes(assignment)
    told: dict[tuple[str, str], list[str]] = defaultdict(list)
    gravities: dict[tuple[str, str], str] = {}
    answered: Counter[str] = Counter()
    for submission in submissions:
        for exercise in submission.exercises:
            outcome = exercise.outcome
            if outcome is None or exercise.unanswered or exercise.reason:
                continue
            answered[exercise.name] += 1
            by_requirement = {one.name: one.gravity.value for one in outcome.requirements}
            for finding in outcome.findings:
                key = exercise.name, finding.hint
                if finding.hint and submission.student not in told[key]:
                    told[key].append(submission.student)
                    gravities.setdefault(key, by_requirement.get(finding.requirement, ""))
    made = [
        {
            "exercise": exercise,
            "mistake": mistake_called(bank.get(exercise, ()), hint),
            "hint": hint,
            "gravity": gravities[exercise, hint],
            "students": len(students),
            "of": answered[exercise],
            "who": sorted(students),
        }
        for (exercise, hint), students in told.items()
        if students
    ]
    return sorted(made, key=lambda one: (-one["students"], one["exercise"], one["hint"]))


def named_mistakes(assignment: Assignment) -> dict[str, list[Mistake]]:
    if not assignment.mistakes.is_file():
        return {}
    bank = load_mistakes(assignment.mistakes).by_exercise
    return {name: [one for one in variants if isinstance(one, Mistake)] for name, variants in bank.items()}


def mistake_called(bank: Iterable[Mistake], hint: str) -> str:
    """The name in `mistakes.py` of the mistake that must earn this hint, as `course verify` proves it."""
    names = [one.name for one in bank if one.says == hint or (not one.says and one.hint and one.hint in hint)]
    return " / ".join(dict.fromkeys(names[:2]))


# ---- people ----------------------------------------------------------------------------------------------------------


def help_facts(marks: Sequence[Mark], submissions: Sequence[Submission]) -> list[dict[str, Any]]:
    """Who handed in, and is far from passing. Whose marks still wait may be better off than it looks."""
    by_student = {one.student: one for one in submissions}
    found = []
    for mark in marks:
        submission = by_student.get(mark.holder or mark.student)
        unanswered = submission.unanswered if submission is not None else 0
        of = len(submission.exercises) if submission is not None else 0
        unreadable = (
            submission is not None
            and submission.published is not None
            and any(one.unreadable is not None for one in submission.published.notebooks.values())
        )
        if mark.percent < 100 * NEEDS_HELP or unreadable or unanswered > of / 2:
            found.append(
                {
                    "student": mark.student,
                    "percent": round(mark.percent, 1),
                    "unanswered": unanswered,
                    "exercises": of,
                    "waiting": mark.waiting,
                    "unreadable": unreadable,
                }
            )
    return sorted(found, key=lambda one: one["percent"])


def nothing_handed_in(course: Course, assignment: Assignment, totals: Totals, marked: set[str]) -> list[str]:
    """Of those on the roster who are not excused."""
    held = totals.hand_ins.holders(assignment.id)
    return sorted(
        person.id
        for person in totals.roster.people.values()
        if person.id not in marked
        and person.id not in held
        and not person.is_excused(assignment.id)
        and not (course.root / "submitted" / person.id / assignment.id).is_dir()
    )


# ---- what grading noticed --------------------------------------------------------------------------------------------


def record_facts(submissions: Sequence[Submission]) -> dict[str, Any]:
    """Repairs, signs of tampering, stops, and time, from the records. nbgrader's own command leaves none."""
    made: dict[str, Any] = {"repairs": [], "integrity": [], "stopped": [], "not_graded": []}
    used: list[dict[str, Any]] = []
    for submission in submissions:
        if submission.published is None:
            continue
        notebooks = submission.published.notebooks.values()
        for one in notebooks:
            for kind, texts in (
                ("repairs", one.repairs),
                ("integrity", one.integrity),
                ("stopped", one.incidents),
                ("not_graded", [f"{name}: {reason}" for name, reason in one.ungraded.items()]),
            ):
                made[kind] += [{"student": submission.student, "what": text} for text in texts]
        used.append(
            {
                "student": submission.student,
                "cpu_seconds": round(sum(one.cpu_seconds for one in notebooks), 2),
                "seconds": round(sum(one.seconds for one in notebooks), 2),
                "peak_mb": max((one.peak_mb for one in notebooks), default=0),
            }
        )
    slowest = sorted(used, key=lambda one: -one["cpu_seconds"])[:3]
    made["time"] = {
        "records": len(used),
        "cpu_median": round(median(one["cpu_seconds"] for one in used), 2) if used else 0.0,
        "cpu_total": round(sum(one["cpu_seconds"] for one in used), 1),
        "seconds_total": round(sum(one["seconds"] for one in used), 1),
        "peak_mb": max((one["peak_mb"] for one in used), default=0),
        "slowest": slowest,
    }
    return made


# ---- similar answers -------------------------------------------------------------------------------------------------


def similar_report(course: Course, assignment: Assignment) -> list[Pair]:
    with gradebook(course) as book:
        return similar_pairs(assignment, list(read_submissions(course, assignment, book)))


def similar_pairs(assignment: Assignment, submissions: Sequence[Submission]) -> list[Pair]:
    answers: dict[str, dict[str, str]] = defaultdict(dict)
    for submission in submissions:
        for name, text in submission.answers.items():
            answers[name][submission.student] = text
    return similar(answers, known_texts(assignment))


def known_texts(assignment: Assignment) -> dict[str, Known]:
    """By answer cell: the given text, the solution with it, and every variant in `mistakes.py`."""
    bank = load_mistakes(assignment.mistakes).by_exercise if assignment.mistakes.is_file() else {}
    found = {}
    for path in assignment.student_notebooks:
        for cell in instructor_cells(assignment, path.stem):
            if cell.is_solution:
                variants = [one.source(cell) for one in bank.get(cell.name, [])]
                found[cell.name] = Known(cell.kind == "code", (cell.given, cell.source, *variants))
    return found
