"""Made-up students whose true scores are known: answers from the solution and from `mistakes.py`.

An answer's true score is what it earns alone, with everything else as in the solution, as `course verify` finds it
with the hidden inputs of the class's secret; a student's is the sum. So nobody's answer builds on a wrong one: whoever
misses an exercise leaves out those that need it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace

from autograder.authoring.engines import engine_for
from autograder.authoring.mistakes import Mistake, Variant, load
from autograder.authoring.verify import DID_NOT_FINISH, DOES_NOT_APPLY, exercises_of, sheet_of, tried
from autograder.model import names
from autograder.model.course import Assignment, Course
from autograder.model.notebook import Cell, Role
from autograder.model.regions import without_markers

SEED = 17
MISTAKES_OF_AN_EXERCISE, RIGHT_OF_AN_EXERCISE = 3, 1  # so many of the bank: trying each takes a quarter of a second
WRITTEN = "Selecting copies one earlier vector, averaging blurs many into their common topic; a model needs both."

Bank = dict[str, list[tuple[Variant, float]]]  # by exercise: answers, and what each earns


@dataclass
class MadeUpStudent:
    """Answers by id of the exercise (what is missing was left as it was given), and the points that they are worth."""

    answers: dict[str, str] = field(default_factory=dict)
    score: float = 0.0
    mistakes: dict[str, str] = field(default_factory=dict)  # by exercise, the name in mistakes.py


def bank_of(
    course: Course,
    assignment: Assignment,
    cells: list[Cell],
    secret: str = "",
    progress: Callable[[str], None] = lambda text: None,
) -> Bank:
    """Some answers of `mistakes.py` to every exercise, with what each earns alone."""
    variants = {name: some_of(several) for name, several in load(assignment.mistakes).by_exercise.items()}
    exercises = exercises_of(cells, variants)
    found: Bank = {exercise.name: [] for exercise in exercises}
    if any(variants.values()):
        sheet = sheet_of(course, assignment, cells)
        with closing(engine_for(course, assignment, [sheet])) as engine:
            for outcome in tried(engine, sheet, exercises, progress, secret=secret):
                if outcome.verdict not in (DID_NOT_FINISH, DOES_NOT_APPLY):
                    found[outcome.exercise.name].append((outcome.variant, outcome.earned))
    order = {(name, one.name): place for name, several in variants.items() for place, one in enumerate(several)}
    for name, several in found.items():  # they come in the order in which two workers finish
        several.sort(key=lambda pair: order[name, pair[0].name])
    return found


def some_of(variants: list[Variant]) -> list[Variant]:
    wrong = [one for one in variants if isinstance(one, Mistake)][:MISTAKES_OF_AN_EXERCISE]
    return [*wrong, *[one for one in variants if not isinstance(one, Mistake)][:RIGHT_OF_AN_EXERCISE]]


def made_up_students(cells: list[Cell], bank: Bank, count: int) -> list[MadeUpStudent]:
    """So many, from those who know everything to those who know little; the same ones every time."""
    numbers = random.Random(SEED)
    hard = {name: numbers.uniform(-0.25, 0.25) for name in bank}
    abilities = [1.25 - place / max(1, count - 1) for place in range(count)]
    numbers.shuffle(abilities)
    return [answered(cells, bank, ability, hard, numbers) for ability in abilities]


def answered(
    cells: list[Cell], bank: Bank, ability: float, hard: dict[str, float], numbers: random.Random
) -> MadeUpStudent:
    student = MadeUpStudent()
    tests = {cell.grade_id.removesuffix("-test"): cell for cell in cells if cell.is_test}
    wrong: set[str] = set()  # names that have other values than in the solution
    for cell in cells:
        own = cell.names if cell.kind == "code" else names.NOTHING
        if cell.role is Role.WRITTEN and numbers.random() < ability:
            student.answers[cell.grade_id] = WRITTEN
        elif cell.is_exercise and cell.grade_id in bank:
            knows = numbers.random() < ability - hard[cell.grade_id]
            right = answer(student, cell, tests[cell.grade_id], bank, numbers, knows, wrong)
            wrong = wrong - own.bound if right else wrong | own.bound
        elif not cell.is_test and own.free & wrong:
            wrong |= own.bound
    return replace(student, score=round(student.score, 4))


def answer(
    student: MadeUpStudent, cell: Cell, test: Cell, bank: Bank, numbers: random.Random, knows: bool, wrong: set[str]
) -> bool:
    """Let the student answer one exercise; can later answers build on it? On the names in `wrong` none can."""
    around = test.names.free - cell.names.bound
    name = cell.grade_id

    def stands_alone(text: str) -> bool:
        return names.is_python(text) and not (names.of(text).free | around) & wrong

    solution = without_markers(cell.source)
    texts = [(one, without_markers(one.source(cell)), earned) for one, earned in bank[name]]
    mistakes = [(one, text, earned) for one, text, earned in texts if isinstance(one, Mistake) and stands_alone(text)]
    luck = numbers.random()
    if not stands_alone(solution) or (not knows and (luck < 0.25 or not mistakes)):
        return False
    if not knows:
        mistake, student.answers[name], earned = numbers.choice(mistakes)
        student.mistakes[name] = mistake.name
        student.score += earned
        return False
    others = [text for one, text, _ in texts if not isinstance(one, Mistake) and stands_alone(text)]
    student.answers[name] = others[0] if others and luck < 0.25 else solution
    student.score += test.points
    return student.answers[name] == solution  # others may give lists, which later answers choke on
