"""A class of forty whose facts are known, written straight into the gradebook: no submission is run.

A hard exercise, a copied pair, three who handed in nothing, and a mistake that a third of the class makes.
"""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from conftest import ROOT

from autograder.classroom import gradebook
from autograder.classroom.roster_files import read_roster
from autograder.classroom.roster_store import update_roster
from autograder.examiner.limits import Limits
from autograder.model import course
from autograder.model.outcome import MIME
from autograder.model.record import Event, EventKind, Record, Repair, RepairKind, Sign, SignKind
from helpers.checks import credit, report

ASSIGNMENT = "01-small"
SETUP = """
# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import torch
from helpers.checks import Check, randn
"""
EXERCISE = '''
# %% [markdown]
# ### {number} {title} <small>★☆☆ · 5 min · {points} points</small>
# Write `{name}`: the sum of $x_i^{{{number}}}$.

# %% exercise="{cell}"
def {name}(x):
    """The {title} of a tensor x (n,)."""
    ### BEGIN SOLUTION
    return (x ** {number}).sum()
    ### END SOLUTION

# %% test="{cell}" points={points}
check = Check("{cell}", points={points})
with check.idea("sum of powers"):
    check.close(check.run({name}, torch.ones(3)), 3.0, "three ones sum to three")
    ### BEGIN HIDDEN TESTS
    hidden_input = randn(4)
    check.close(check.run({name}, hidden_input), (hidden_input ** {number}).sum(), "the powers are wrong")
    ### END HIDDEN TESTS
with check.part("{cell} batch axis"):
    check.true(True, "rows stay rows")
with check.edge("{cell} empty input"):
    check.true(True, "an empty sum is zero")
check.score()
'''
WRITTEN = """
# %% [markdown]
# ### 5 Why does it grow? <small>★☆☆ · 5 min · 2 points</small>

# %% [markdown] written="why" points=2
# *Your answer here.*
# <!-- BEGIN SOLUTION -->
# Because every power of a number above one is larger than the one before.
#
# | points | rubric |
# | --- | --- |
# | 1 | a power is larger |
# | 1 | of numbers above one |
# <!-- END SOLUTION -->
"""
MISTAKES = """
from autograder.authoring.mistakes import Mistake, Right

VARIANTS = {
    "squares": [
        Mistake("mean in place of sum", change={".sum()": ".mean()"}, says="this is the mean: sum, do not average", gravity="idea"),
        Right("a loop", code="def squares(x):\\n    total = 0\\n    for value in x:\\n        total = total + value * value\\n    return total"),
    ],
}
"""
NAMES = ["firsts", "squares", "cubes", "fourths"]
TITLES = {"firsts": "First powers", "squares": "Squares", "cubes": "Cubes", "fourths": "Fourth powers"}
POINTS = {"firsts": 2, "squares": 3, "cubes": 4, "fourths": 3}
MEAN = "this is the mean: sum, do not average"
HARD, MISTAKEN, NOBODY = "cubes", "squares", ["nobody-1", "nobody-2", "nobody-3"]
COPIED = ("student-07", "student-31")
# Alike in all but names, and like nobody else's: no variant of the bank, and not how the others write it.
COPY = '''def cubes(x):
    """The cubes of a tensor x (n,)."""
    {one} = torch.stack([x, x, x], dim=0)
    {two} = {one}.log().sum(dim=0).exp() * x.sign()
    return torch.einsum("i,i->", {two}, torch.ones_like({two})) + 0 * {one}.mean()
'''


@dataclass
class Answers:
    """What one student wrote and what the tests found: failed requirements and hints by exercise."""

    texts: dict[str, str] = field(default_factory=dict)
    failed: dict[str, dict[str, str]] = field(default_factory=dict)  # exercise: requirement: hint
    blank: set[str] = field(default_factory=set)


def make_course(root: Path) -> course.Course:
    (root / "course.toml").write_text(
        'title = "Small"\ncourse_id = "small"\nrepository = "https://github.com/example/small"\n'
        'regrade = "graders@example.org"\n\n'
        f'[[assignment]]\nid = "{ASSIGNMENT}"\ntitle = "Sums of powers"\npart = "I. Small"\nminutes = 5\n'
    )
    folder = root / "solutions" / ASSIGNMENT
    folder.mkdir(parents=True)
    exercises = [
        EXERCISE.format(number=number, title=TITLES[name], name=name, cell=name, points=POINTS[name])
        for number, name in enumerate(NAMES, 1)
    ]
    (folder / f"{ASSIGNMENT}.py").write_text("".join([SETUP.lstrip(), *exercises, WRITTEN]))
    (folder / "mistakes.py").write_text(MISTAKES)
    shutil.copy(ROOT / "nbgrader_config.py", root)
    return course.load(root)


def the_class() -> dict[str, Answers]:
    """Forty students. Most write what the model solution or a neighbour of it says."""
    made: dict[str, Answers] = {}
    chance = random.Random(7)
    for number in range(40):
        one = made[f"student-{number:02}"] = Answers()
        good = number >= 12
        for name in NAMES:
            power = NAMES.index(name) + 1
            one.texts[name] = f"def {name}(x):\n    result_{number} = x ** {power}\n    return result_{number}.sum()"
        if number % 3 == 0:  # 14 of 40
            one.texts[MISTAKEN] = f"def {MISTAKEN}(x):\n    return (x ** 2).mean()"
            one.failed[MISTAKEN] = {"sum of powers": MEAN}
        if number % 10 != 1:  # 36 of 40 fail the hard one, the better ones a part of it only
            part = {f"{HARD} batch axis": "the rows are summed together"}
            one.failed[HARD] = part if good and chance.random() < 0.3 else {"sum of powers": "the powers are wrong"}
        if not good:
            one.failed["fourths"] = {"fourths empty input": "an empty sum is zero"}
        if number in (3, 5):
            one.blank |= {"firsts", "squares", "cubes", "fourths"}
    for student, names in zip(COPIED, (("stacked", "powers"), ("a", "b")), strict=True):
        made[student].texts[HARD] = COPY.format(one=names[0], two=names[1])
    return made


def outcome_of(name: str, answers: Answers) -> report.Outcome:
    if name in answers.blank:
        return report.Outcome(name, POINTS[name], 0, 3, unwritten={name: f"{name} is not written yet"})
    failed = answers.failed.get(name, {})
    gravities = {"sum of powers": "idea", f"{name} batch axis": "part", f"{name} empty input": "edge"}
    made = report.Outcome(name, POINTS[name], 0, 0)
    for requirement, gravity in gravities.items():
        one = credit.Requirement(requirement, gravity)
        one.add(requirement not in failed, form=False)
        made.requirements.append(one)
        made.passed, made.reached = made.passed + one.passed, made.reached + one.reached
    made.findings = [report.Finding(hint, "", True, requirement) for requirement, hint in failed.items()]
    return made


def graded_notebook(student: str, released: str, answers: Answers) -> str:
    """The notebook as grading leaves it: answers in their cells, outcomes in those of the tests."""
    notebook = nbformat.reads(released, as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if name in NAMES and name not in answers.blank:
            cell.source = answers.texts[name]
        if name == "why" and "why" not in answers.blank:
            cell.source = f"Powers grow, says {student}."
        if name.removesuffix("-test") in NAMES and name.endswith("-test"):
            outcome = outcome_of(name.removesuffix("-test"), answers)
            shown: dict[str, Any] = {
                "text/plain": report.text(outcome),
                "text/html": report.as_html(outcome),
                MIME: report.as_data(outcome),
            }
            cell.outputs = [
                nbformat.v4.new_output("display_data", shown),
                nbformat.v4.new_output("execute_result", {"text/plain": repr(outcome.score)}),
            ]
    return json.dumps(notebook)


def store(this: course.Course, students: dict[str, Answers]) -> None:
    """Into gradebook and autograded/, as `course grade` writes what workers send."""
    (assignment,) = this.assignments
    gradebook.register(this, assignment)
    released = assignment.student_notebook.read_text(encoding="utf-8")
    with gradebook.open_gradebook(this) as book:
        writer = gradebook.Writer(this, assignment, book)
        for number, (student, answers) in enumerate(students.items()):
            submitted = this.root / "submitted" / student / ASSIGNMENT
            submitted.mkdir(parents=True)
            (submitted / f"{ASSIGNMENT}.ipynb").write_text(released)
            record = Record(
                graded_notebook(student, released, answers),
                Limits().as_dict(),
                repairs=(Repair.of(RepairKind.REORDERED),) if number == 2 else (),
                integrity=(Sign.of(SignKind.EDITED, cell="cubes-test", role="test"),) if number == 4 else (),
                incidents=(Event.of(EventKind.OUT_OF_TIME, seconds=60.0),) if number == 6 else (),
                cpu_seconds=1.0 + number,
                peak_mb=100 + number,
                seconds=2.0,
            )
            writer.save(
                student, submitted, {ASSIGNMENT: gradebook.with_marks(record.to_json() | {"seconds": 2.0})}, "x"
            )


def planted_class(root: Path) -> course.Course:
    from autograder.authoring import build

    this = make_course(root)
    files, _ = build.outputs(this, list(this.assignments))
    build.write(files)
    students = the_class()
    store(this, students)
    lines = ["id,name,email", *(f"{name},{name.title()},{name}@example.org" for name in [*students, *NOBODY])]
    (root / "roster.csv").write_text("\n".join(lines) + "\n")
    update_roster(this, read_roster(root / "roster.csv", this, None))
    return this
