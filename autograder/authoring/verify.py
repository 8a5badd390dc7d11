"""`course verify`: the tests are tested.

Solution = full marks, and nothing that looks like tampering. Untouched student notebook = nothing, and every test
says what to write. Every named mistake keeps at most what its gravity allows and gets its own hint. Every other right
answer keeps every point. With `--mutate`, every mutant of the solution loses points, or `mistakes.py` says why not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from autograder.authoring import build, gravity, looks, recordings, survivors
from autograder.authoring.answers import model_answers, submission
from autograder.authoring.engines import VISIBLE, Candidate, Engine, Sheet, Tested, engine_for, sheet_of
from autograder.authoring.mistakes import Mistake, Variant, load
from autograder.examiner import recognition
from autograder.model.course import Assignment, Course, CourseError
from autograder.model.notebook import Cell
from autograder.model.regions import without_markers
from helpers.kit import validate

MINIMUM_MISTAKES, MINIMUM_RIGHT = 4, 2
UNTOUCHED = "the untouched exercise"
SLIPS = ("NameError", "SyntaxError")  # of the author of a variant, unless its hint is about them

Progress = Callable[[str], None]
EngineFor = Callable[[Course, Assignment, Sequence[Sheet]], Engine]


@dataclass
class Report:
    """What was tried for one assignment, and what went wrong."""

    assignment: str
    exercises: int = 0
    variants: int = 0
    failures: list[str] = field(default_factory=list)
    notice: str = ""
    kept: dict[str, dict[str, float]] = field(default_factory=dict)  # by mistakes, on average, by gravity
    mutants: survivors.Mutants | None = None  # None where none were asked for

    def as_dict(self) -> dict[str, Any]:
        plain = {name: value for name, value in vars(self).items() if name != "mutants"}
        return plain if self.mutants is None else {**plain, "mutants": self.mutants.as_dict()}


@dataclass(frozen=True)
class Exercise:
    """An exercise, its test, and other answers to it."""

    cell: Cell
    test: Cell
    variants: list[Variant]

    @property
    def name(self) -> str:
        return self.cell.grade_id

    @property
    def points(self) -> float:
        return float(self.test.nbgrader["points"])


@dataclass(frozen=True)
class Outcome:
    """What became of a variant. Verdicts:

    caught: a mistake that lost points. full marks: it kept every point. lost points: a right answer that did not. did
    not finish: its process was ended, by itself or by a limit. does not apply: the solution has no such text to
    change.
    """

    exercise: Exercise
    variant: Variant
    earned: float
    told: list[validate.Told]
    verdict: str
    detail: str = ""
    requirements: list[dict[str, Any]] = field(default_factory=list)
    calls: list[Any] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Lost points if it is a mistake, every point if it is right."""
        if self.verdict == DOES_NOT_APPLY:
            return False
        return (
            self.earned < self.exercise.points
            if isinstance(self.variant, Mistake)
            else self.earned >= self.exercise.points
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "exercise": self.exercise.name,
            "kind": "mistake" if isinstance(self.variant, Mistake) else "right",
            "name": self.variant.name,
            "gravity": self.variant.gravity if isinstance(self.variant, Mistake) else "",
            "points": self.exercise.points,
            "earned": self.earned,
            "hints": list(dict.fromkeys(one.hint for one in self.told if one.hint))
            or [self.detail] * bool(self.detail),
            "verdict": self.verdict,
        }

    def message(self) -> str:
        """All that the student would read."""
        return "\n".join(text for one in self.told for text in (one.hint, one.seen) if text) or self.detail


def verify(
    course: Course,
    assignment: Assignment,
    progress: Progress = lambda text: None,
    sample: int = 1,
    exercise: str = "",
    engine_for: EngineFor = engine_for,
    seeds: int = 0,
    operators: str = "",
    both_ways: bool = False,
) -> Report:
    """Run the gate for one assignment.

    With `sample`, for every so many variants only; with `exercise`, for that one alone; with `seeds`, also with the
    hidden inputs of so many other secrets; with `operators`, a group of them, also for mutants; with `both_ways`, once
    more with the cells that only show something.
    """
    if assignment.ordinary_notebooks:
        return verify_ordinary(course, assignment, progress, engine_for)
    known = load(assignment.mistakes)
    cells, _ = build.checked_cells(assignment)
    exercises = exercises_of(cells, known.by_exercise)
    report = Report(assignment.id, len([cell for cell in cells if cell.is_exercise]))
    if exercise:
        exercises = [chosen(exercise, exercises)]
        report.exercises = 1
    else:
        report.failures += enough_variants(cells, known.by_exercise, known.exempt)
    sheet = sheet_of(course, assignment, cells)
    with closing(engine_for(course, assignment, [sheet])) as engine:
        report.notice = engine.notice
        if exercise:
            report.failures += judge_single(engine, sheet, exercises[0])
        else:
            progress("solution and untouched notebook")
            report.failures += judge_notebooks(engine, sheet, assignment, cells)
        kept, speaking, found = [], [], []
        for outcome in tried(engine, sheet, exercises, progress, sample):
            found.append(outcome.as_dict())
            report.variants += outcome.verdict != DOES_NOT_APPLY
            report.failures += judge(outcome)
            speaking += [outcome] if outcome.calls else []
            if isinstance(outcome.variant, Mistake) and outcome.verdict != DOES_NOT_APPLY:
                kept.append((outcome.variant.gravity, outcome.earned / outcome.exercise.points))
        report.kept = gravity.mean_kept(kept)
        report.failures += judge_recordings(speaking, right_calls(engine, sheet, speaking))
        report.failures += judge_seeds(engine, sheet, exercises, seeds, progress)
    if both_ways and any(cell.is_look for cell in cells):
        shown = replace(sheet, looks=False)
        with closing(engine_for(course, assignment, [shown])) as engine:
            if not exercise:
                report.failures += judge_notebooks(engine, shown, assignment, cells)
            again = [outcome.as_dict() for outcome in tried(engine, shown, exercises, progress, sample)]
        report.failures += looks.differences(found, again)
    if operators:
        report.mutants = survivors.hunt(
            course, assignment, cells, exercises, known.equivalent, operators, sheet, progress, engine_for
        )
        unknown = set(known.equivalent) - {cell.grade_id for cell in cells if cell.is_exercise} - {survivors.EVERYWHERE}
        report.failures += [f"EQUIVALENT of mistakes.py names {name!r}, which is not an exercise" for name in unknown]
        report.failures += report.mutants.failures()
    return report


def verify_variants(
    course: Course,
    assignment: Assignment,
    path: Path,
    progress: Progress = lambda text: None,
    exercise: str = "",
    engine_for: EngineFor = engine_for,
) -> tuple[list[Outcome], list[str], str]:
    """Try the variants of any file in the format of `mistakes.py`: what became of them, exercises it names that do
    not exist, a notice.
    """
    if assignment.ordinary_notebooks:
        raise CourseError(
            f"{assignment.id} is a folder of ordinary notebooks: variants are tried of an assignment that has a script"
        )
    by_exercise = load(path).by_exercise
    cells, _ = build.checked_cells(assignment)
    everything = exercises_of(cells, by_exercise)
    exercises = [chosen(exercise, everything)] if exercise else everything
    unknown = [name for name in by_exercise if name not in {one.name for one in everything}]
    order = {
        (one.name, variant.name): place
        for place, (one, variant) in enumerate((e, v) for e in exercises for v in e.variants)
    }
    sheet = sheet_of(course, assignment, cells)
    sheet = replace(sheet, recorded=recordings.recorded(course, assignment, sheet, cells, progress=progress))
    with closing(engine_for(course, assignment, [sheet])) as engine:
        outcomes = sorted(
            tried(engine, sheet, exercises, progress),
            key=lambda outcome: order[outcome.exercise.name, outcome.variant.name],
        )
        return outcomes, unknown, engine.notice


# ---- what there is to try ------------------------------------------------------------------------------------------


def exercises_of(cells: list[Cell], variants: dict[str, list[Variant]]) -> list[Exercise]:
    """Every exercise that has a test, in the order of the notebook."""
    tests = {cell.grade_id.removesuffix("-test"): cell for cell in cells if cell.is_test}
    named = [cell for cell in cells if cell.is_exercise and cell.grade_id in tests]
    return [Exercise(cell, tests[cell.grade_id], variants.get(cell.grade_id, [])) for cell in named]


def chosen(name: str, exercises: list[Exercise]) -> Exercise:
    """The exercise of this name; a wrong name gets the nearest right one as advice."""
    known = {one.name: one for one in exercises}
    if name not in known:
        near = [one for one in known if name in one][:1] or get_close_matches(name, known, n=1, cutoff=0.0)
        raise CourseError(
            f"unknown exercise {name!r}: did you mean {near[0]}?"
            if near
            else f"unknown exercise {name!r}: there is none"
        )
    return known[name]


def enough_variants(cells: list[Cell], variants: dict[str, list[Variant]], exempt: dict[str, str]) -> list[str]:
    names = [cell.grade_id for cell in cells if cell.is_exercise]
    failures = [f"mistakes.py names {name!r}, which is not an exercise" for name in variants if name not in names]
    for name in names:
        mistakes = sum(isinstance(v, Mistake) for v in variants.get(name, []))
        right = len(variants.get(name, [])) - mistakes
        if name not in exempt and (mistakes < MINIMUM_MISTAKES or right < MINIMUM_RIGHT):
            failures.append(
                f"{name}: {mistakes} named mistakes and {right} other right answers; "
                f"at least {MINIMUM_MISTAKES} and {MINIMUM_RIGHT} are needed"
            )
    return failures


# ---- variants ------------------------------------------------------------------------------------------------------

DOES_NOT_APPLY, DID_NOT_FINISH = "does not apply", "did not finish"


def tried(
    engine: Engine, sheet: Sheet, exercises: list[Exercise], progress: Progress, sample: int = 1, secret: str = ""
) -> Iterator[Outcome]:
    """What becomes of every variant, as it comes; with `sample`, of every so many; with `secret`, with its inputs."""
    candidates: list[Candidate] = []
    known: dict[int, tuple[Exercise, Variant]] = {}
    for number, exercise in enumerate(exercises):
        for place, variant in enumerate(exercise.variants, number):
            try:
                text = variant.source(exercise.cell)
            except CourseError as error:
                yield Outcome(exercise, variant, 0.0, [], DOES_NOT_APPLY, str(error))
                continue
            if place % sample == 0:
                known[len(known)] = exercise, variant
                recording = isinstance(variant, Mistake) and bool(variant.says)
                candidates.append(
                    Candidate(len(candidates), exercise.name, text, exercise.test.grade_id, secret, recording)
                )
    for done, (key, tested) in enumerate(engine.try_variants(sheet, candidates), 1):
        exercise, variant = known[key]
        progress(f"{done} of {len(candidates)} variants · {exercise.name}: {variant.name}")
        yield outcome_of(exercise, variant, tested)


def outcome_of(exercise: Exercise, variant: Variant, tested: Tested) -> Outcome:
    earned = 0.0 if tested.lost else validate.score_of(tested.outputs, exercise.points, exercise.test.source)
    told = validate.told(tested.outputs) + [one for one in validate.told(tested.answer) if one.error]
    if tested.lost:
        return Outcome(exercise, variant, earned, told, DID_NOT_FINISH, tested.lost)
    full = earned >= exercise.points
    return Outcome(
        exercise,
        variant,
        earned,
        told,
        "full marks" if full else "caught" if isinstance(variant, Mistake) else "lost points",
        requirements=validate.requirements(tested.outputs),
        calls=tested.calls,
    )


def judge(outcome: Outcome) -> list[str]:
    """What is wrong with the tests, or with the variant itself."""
    variant, points = outcome.variant, outcome.exercise.points
    label = f"{outcome.exercise.name}: {'mistake' if isinstance(variant, Mistake) else 'right answer'} {variant.name!r}"
    message = outcome.message()
    if outcome.verdict == DOES_NOT_APPLY:
        return [outcome.detail]
    if outcome.verdict == DID_NOT_FINISH:
        return [f"{label} did not finish: {outcome.detail}"]
    if not isinstance(variant, Mistake):
        return [] if outcome.good else [f"{label} earns only {outcome.earned:g} of {points:g}:\n{message}"]
    failures = [] if outcome.good else [f"{label} keeps every point"]
    weighed = gravity.problems(variant.gravity, outcome.requirements, outcome.earned, points)
    failures += [f"{label} {problem}" for problem in weighed]
    for slip in SLIPS:
        if slip in message and slip not in variant.hint and "is not defined" not in variant.hint:
            failures.append(f"{label} is itself broken ({slip}), so its hint proves nothing:\n{message}")
    if variant.says:
        failures += [] if outcome.calls else [f"{label} has nothing to be recognised by: its test calls no answer"]
    elif not variant.hint:
        failures.append(f"{label} names no hint")
    elif variant.hint not in message:
        failures.append(f"{label} does not get the hint {variant.hint!r}, but:\n{message}")
    return failures


def right_calls(engine: Engine, sheet: Sheet, outcomes: list[Outcome]) -> dict[str, list[Any]]:
    """By exercise, what the solution gives in every call of its test."""
    cells = {outcome.exercise.name: outcome.exercise for outcome in outcomes}
    candidates = [
        Candidate(key, name, without_markers(one.cell.source), one.test.grade_id, recording=True)
        for key, (name, one) in enumerate(cells.items())
    ]
    trials = engine.try_variants(sheet, candidates) if candidates else ()
    return {candidates[key].exercise: tested.calls for key, tested in trials}


def judge_recordings(outcomes: list[Outcome], right: Mapping[str, list[Any]]) -> list[str]:
    """Every mistake that says something is told from the right answer and from all the others of its exercise by its
    results.
    """
    failures = []
    for outcome in outcomes:
        label = f"{outcome.exercise.name}: mistake {outcome.variant.name!r}"
        if recognition.agrees(outcome.calls, right[outcome.exercise.name]):
            failures.append(
                f"{label} gives the results of the right answer, as far as they are compared, so nobody is told what it"
                " says: give it a `hint` from a check in place of `says`, or a call in which it differs by more"
            )
            continue
        others = [one for one in outcomes if one.exercise.name == outcome.exercise.name]
        known = [recordings.known(one.variant, one.calls) for one in others if isinstance(one.variant, Mistake)]
        if not recognition.recognised(outcome.calls, known):
            twins = [
                one["name"]
                for one in known
                if one["name"] != outcome.variant.name and recognition.agrees(outcome.calls, one["calls"])
            ]
            failures.append(
                f"{label} gives the same results as"
                f" {', '.join(twins)}: they cannot be told apart, so let them say the same"
            )
    return failures


# ---- the solution and the untouched notebook -----------------------------------------------------------------------


def judge_notebooks(engine: Engine, sheet: Sheet, assignment: Assignment, cells: list[Cell]) -> list[str]:
    """The whole notebook with every answer right, and as students are given it: with all tests, and with those they
    have.
    """
    answers = model_answers(cells)
    untouched = {"visible tests": VISIBLE + sheet.name, "all tests": sheet.name}
    jobs = {"solution": (sheet.name, submission(sheet.student, answers))}
    jobs |= {label: (name, sheet.student) for label, name in untouched.items()}
    examined = engine.examine(jobs)
    failures = [f"the solution looks like tampering: {text}" for text in examined["solution"].integrity]
    for cell in (cell for cell in cells if cell.is_test):
        failures += judge_solution(cell, examined["solution"].tests[cell.grade_id])
        for label in untouched:
            failures += judge_blank(cell, examined[label].tests[cell.grade_id], label)
    return failures


def judge_single(engine: Engine, sheet: Sheet, exercise: Exercise) -> list[str]:
    """The same for one exercise, on top of the right answers before it."""
    texts = [without_markers(exercise.cell.source), exercise.cell.given]
    candidates = [Candidate(key, exercise.name, text, exercise.test.grade_id) for key, text in enumerate(texts)]
    solution, blank = (tested for _, tested in sorted(engine.try_variants(sheet, candidates), key=lambda pair: pair[0]))
    return judge_solution(exercise.test, solution) + judge_blank(exercise.test, blank, "all tests")


def judge_seeds(engine: Engine, sheet: Sheet, exercises: list[Exercise], seeds: int, progress: Progress) -> list[str]:
    """Solution, untouched exercise and right answers, with the hidden inputs of several secrets: no verdict may hang on
    one of them.
    """
    candidates: list[Candidate] = []
    known: list[tuple[Exercise, str, int]] = []
    for exercise in exercises:
        texts = {"the solution": without_markers(exercise.cell.source), UNTOUCHED: exercise.cell.given}
        for variant in exercise.variants:
            if not isinstance(variant, Mistake):
                with suppress(CourseError):  # one that does not apply: `judge` says so
                    texts[f"right answer {variant.name!r}"] = variant.source(exercise.cell)
        for label, text in texts.items():
            for number in range(seeds):
                one = Candidate(len(known), exercise.name, text, exercise.test.grade_id, f"of verify: {number}")
                candidates.append(one)
                known.append((exercise, label, number))
    failures = []
    for done, (key, tested) in enumerate(engine.try_variants(sheet, candidates) if candidates else (), 1):
        exercise, label, number = known[key]
        progress(f"{done} of {len(candidates)} with other secrets · {exercise.name}: {label}")
        if label == UNTOUCHED:
            found = judge_blank(exercise.test, tested, "all tests")
        else:
            found = judge_solution(exercise.test, tested)
        failures += [f"{label}, with secret {number}: {text}" for text in found]
    return failures


def judge_solution(test: Cell, tested: Tested) -> list[str]:
    points = float(test.nbgrader["points"])
    score = 0.0 if tested.lost else validate.score_of(tested.outputs, points, test.source)
    reason = tested.lost or "\n".join(f"{one.hint} {one.seen}".strip() for one in validate.told(tested.outputs))
    failures = [] if score == points else [f"{test.grade_id}: the solution earns {score:g} of {points:g}: {reason}"]
    for outcome in validate.outcomes(tested.outputs):
        for name in outcome.get("never_speak", []):
            failures.append(f"{test.grade_id}: in `wrong=`, the value of {name!r} is the right one: it can never speak")
    return failures


def judge_blank(test: Cell, tested: Tested, which: str) -> list[str]:
    """No point, and every word about what is to be written."""
    if tested.lost:
        return [f"{test.grade_id}: the untouched notebook did not finish ({which}): {tested.lost}"]
    failures = []
    if (score := validate.score_of(tested.outputs, float(test.nbgrader["points"]), test.source)) > 0:
        failures.append(f"{test.grade_id}: the untouched notebook earns {score:g} ({which})")
    told = validate.told(tested.outputs)
    if not told or not all(one.unwritten for one in told):
        message = "; ".join(f"{one.hint} {one.seen}".strip() for one in told)
        failures.append(
            f"{test.grade_id}: the untouched notebook is not told what to write, and that alone ({which}): {message}"
        )
    return failures


# ---- ordinary notebooks --------------------------------------------------------------------------------------------


def verify_ordinary(course: Course, assignment: Assignment, progress: Progress, engine_for: EngineFor) -> Report:
    """Ordinary nbgrader notebooks: the solution gets every point, the notebook as it is given none."""
    report = Report(assignment.id)
    progress("building")
    given = build.ordinary_notebooks(course, assignment)
    sheets = [
        Sheet(path.stem, path.read_text(encoding="utf-8"), given[path.name]) for path in assignment.ordinary_notebooks
    ]
    jobs = {f"{sheet.name}, solution": (sheet.name, sheet.instructor) for sheet in sheets}
    jobs |= {f"{sheet.name}, untouched": (sheet.name, sheet.student) for sheet in sheets}
    with closing(engine_for(course, assignment, sheets)) as engine:
        report.notice = engine.notice
        progress("solution and untouched notebook")
        examined = engine.examine(jobs)
    for sheet in sheets:
        for name, points in tests_of(sheet).items():
            report.exercises += 1
            solution = examined[f"{sheet.name}, solution"].tests[name]
            blank = examined[f"{sheet.name}, untouched"].tests[name]
            earned = [0.0 if one.lost else validate.score_of(one.outputs, points) for one in (solution, blank)]
            if earned[0] < points:
                report.failures.append(f"{sheet.name}, {name}: the solution earns {earned[0]:g} of {points:g}")
            if earned[1]:
                report.failures.append(f"{sheet.name}, {name}: the untouched notebook earns {earned[1]:g}")
    return report


def tests_of(sheet: Sheet) -> dict[str, float]:
    """Ids and points of the cells that are graded by running them."""
    found = [
        cell["metadata"]["nbgrader"] for cell in sheet.cells() if validate.is_test({**cell, "cell_type": cell["kind"]})
    ]
    return {known["grade_id"]: float(known["points"]) for known in found}
