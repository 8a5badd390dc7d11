"""Tries machine-made wrong answers, and names those that keep every point.

A survivor is a hole in a test, or no mistake at all. `EQUIVALENT` in `mistakes.py` says of the second kind why. What
was tried is remembered by content in `.course/mutants/`: a second run tries only what has changed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.authoring import classical_operators, hole_operators, observing
from autograder.authoring.engines import Candidate, Engine, Sheet, Tested, is_test, text_of
from autograder.authoring.mutants import Mutant, Operator, mutants_of, written
from autograder.authoring.observing import Observed
from autograder.examiner.limits import limits_of
from autograder.examiner.tools_digest import tools_digest
from autograder.model.course import Assignment, Course, write_whole
from autograder.model.notebook import Cell, Role
from helpers.kit import validate

if TYPE_CHECKING:
    from autograder.authoring.verify import EngineFor, Exercise, Progress

GROUPS: Mapping[str, Mapping[str, Operator]] = {
    "holes": hole_operators.OPERATORS,
    "classical": classical_operators.OPERATORS,
    "all": hole_operators.OPERATORS | classical_operators.OPERATORS,
}
EVERYWHERE = "*"  # in EQUIVALENT: every exercise
FOLDER = Path(".course") / "mutants"
MOST_REMEMBERED, SAVED_EVERY = 20_000, 20
CAUGHT, SURVIVED, UNFINISHED = "caught", "survived", "did not finish"

# What no test is asked to catch, and why: it is not made. The expression after the pattern of the names speaks against
# it: where the notebook's introduction or the exercise's own text has it, the mutant needs a case, or its own reason.
BY_NATURE: dict[tuple[str, str], str] = {
    ("dtype: *result* in float64", "dtype"): (
        "`check.run` gives floats in the dtype of the inputs: a wider result has the same numbers, and computing in"
        " float64 is no mistake unless the text asks for a dtype"
    ),
    ("dtype: *result* rounded to float32", "float64"): (
        "inputs are float32 unless the text speaks of float64, and then nothing is rounded"
    ),
    ("gradient: *", "gradients? (have to |must )?flow|torch operations|differentiable"): (
        "a text that does not ask for it lets students compute with `.item()`, NumPy or under `no_grad`"
    ),
}


@dataclass
class Mutants:
    """What became of the mutants of one assignment."""

    made: int = 0
    caught: int = 0
    explained: int = 0
    remembered: int = 0
    survivors: list[dict[str, Any]] = field(default_factory=list)
    stale: list[dict[str, str]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)  # exercises whose solution, written anew, loses points
    unobserved: list[str] = field(default_factory=list)  # exercises whose solution could not be watched

    def as_dict(self) -> dict[str, Any]:
        return vars(self)

    def failures(self) -> list[str]:
        anew = "the solution, written anew from its syntax tree, loses points, so mutants prove nothing"
        return [
            *(f"{name}: {anew}" for name in self.broken),
            *(f"{name}: the solution could not be observed, so mutants are missing" for name in self.unobserved),
            *(
                f"{one['exercise']}: mutant {one['name']!r} keeps every point (line {one['line']}: {one['text']}):"
                " add a case, or give a reason in EQUIVALENT of mistakes.py"
                for one in self.survivors
            ),
            *(
                f"{one['exercise']}: EQUIVALENT of mistakes.py explains {one['name']!r}, but no such mutant keeps every"
                " point: take it out"
                for one in self.stale
            ),
        ]


@dataclass(frozen=True)
class Attempt:
    """One answer to try, and the digest of all that its result depends on."""

    exercise: Exercise
    code: str
    digest: str
    mutant: Mutant | None = None  # None: the solution itself


def hunt(
    course: Course,
    assignment: Assignment,
    cells: Sequence[Cell],
    exercises: Sequence[Exercise],
    equivalent: Mapping[str, Mapping[str, str]],
    group: str,
    sheet: Sheet,
    progress: Progress,
    engine_for: EngineFor,
) -> Mutants:
    """Make the mutants of these exercises, and try them."""
    memory = Memory(course.root / FOLDER / f"{assignment.id}.json", surroundings(course, assignment))
    with closing(memory), closing(EngineWhenNeeded(lambda: engine_for(course, assignment, [sheet]))) as engine:
        progress("observing the solution")
        observed = observations(engine, sheet, exercises, cells, memory)
        attempts = [
            one for exercise in exercises for one in attempts_at(exercise, cells, observed, GROUPS[group], memory)
        ]
        remembered = sum(one.digest in memory for one in attempts)
        verdicts = tried(engine, sheet, attempts, memory, progress)
    found = judged(attempts, verdicts, equivalent)
    found.remembered = remembered
    found.unobserved = [one.name for one in exercises if one.name not in observed]
    return found


class EngineWhenNeeded:
    """Starts an engine for the first thing there is to try: what is remembered needs none."""

    def __init__(self, start: Callable[[], Engine]) -> None:
        self.start = start
        self.engine: Engine | None = None

    def try_variants(self, sheet: Sheet, candidates: Sequence[Candidate]) -> Iterator[tuple[int, Tested]]:
        if candidates:
            self.engine = self.engine or self.start()
            yield from self.engine.try_variants(sheet, candidates)

    def close(self) -> None:
        if self.engine is not None:
            self.engine.close()


# ---- what there is to try ------------------------------------------------------------------------------------------


def observations(
    engine: EngineWhenNeeded, sheet: Sheet, exercises: Sequence[Exercise], cells: Sequence[Cell], memory: Memory
) -> dict[str, Observed]:
    """What each solution sees while its test runs, by exercise. One that could not be observed is missing."""
    asking = Sheet(sheet.name, with_questions(sheet.instructor), sheet.student)
    texts = {exercise.name: observing.instrumented(exercise.cell.tree) for exercise in exercises}
    digests = {one.name: memory.digest(one, texts[one.name], cells, "observed") for one in exercises}
    new = [one for one in exercises if digests[one.name] not in memory]
    candidates = [Candidate(key, one.name, texts[one.name], one.test.grade_id) for key, one in enumerate(new)]
    for key, tested in engine.try_variants(asking, candidates):
        if (seen := observing.observed_in(tested.outputs)) is not None:
            memory[digests[new[key].name]] = seen.places
    return {name: Observed(memory[digest]) for name, digest in digests.items() if digest in memory}


def with_questions(instructor: str) -> str:
    """The instructor's notebook, with tests that ask for what was observed."""
    notebook = json.loads(instructor)
    for cell in filter(is_test, notebook["cells"]):
        cell["source"] = observing.asking(text_of(cell))
    return json.dumps(notebook)


def attempts_at(
    exercise: Exercise,
    cells: Sequence[Cell],
    observed: Mapping[str, Observed],
    operators: Mapping[str, Operator],
    memory: Memory,
) -> Iterator[Attempt]:
    """The solution itself, then its mutants."""
    solution, texts = written(exercise.cell), texts_about(exercise, cells).lower()
    yield Attempt(exercise, solution, memory.digest(exercise, solution, cells))
    for mutant in mutants_of(exercise.cell, observed.get(exercise.name, Observed()), operators):
        if not any(fits(pattern, mutant.name) and not re.search(asked, texts) for pattern, asked in BY_NATURE):
            yield Attempt(exercise, mutant.code, memory.digest(exercise, mutant.code, cells), mutant)


def texts_about(exercise: Exercise, cells: Sequence[Cell]) -> str:
    """The introduction, the text since the last code before the exercise, and the cell as students get it."""
    place = next(number for number, cell in enumerate(cells) if cell is exercise.cell)
    code = [number for number, cell in enumerate(cells[:place]) if cell.kind == "code"]
    introduction = cells[: code[0]] if code else []
    own = cells[code[-1] + 1 : place] if code else cells[:place]
    return "\n".join([*(cell.given for cell in (*introduction, *own)), exercise.cell.given])


def tried(
    engine: EngineWhenNeeded, sheet: Sheet, attempts: Sequence[Attempt], memory: Memory, progress: Progress
) -> dict[str, str]:
    """The verdict on each attempt, by its digest."""
    new = [one for one in attempts if one.digest not in memory]
    candidates = [
        Candidate(key, one.exercise.name, one.code, one.exercise.test.grade_id) for key, one in enumerate(new)
    ]
    for done, (key, tested) in enumerate(engine.try_variants(sheet, candidates), 1):
        one = new[key]
        name = "the solution" if one.mutant is None else one.mutant.name
        progress(f"{done} of {len(new)} mutants · {one.exercise.name}: {name}")
        memory[one.digest] = verdict_on(one.exercise, tested)
    verdicts = {one.digest: memory[one.digest] for one in attempts}
    broken = {one.exercise.name for one in attempts if one.mutant is None and verdicts[one.digest] != SURVIVED}
    for one in attempts:
        if one.exercise.name in broken:  # perhaps the machine's fault: nothing is known of these
            memory.forget(one.digest)
    return verdicts


def verdict_on(exercise: Exercise, tested: Tested) -> str:
    if tested.lost:
        return UNFINISHED
    earned = validate.score_of(tested.outputs, exercise.points, exercise.test.source)
    return SURVIVED if earned >= exercise.points else CAUGHT


# ---- survivors and reasons -----------------------------------------------------------------------------------------


def judged(
    attempts: Sequence[Attempt], verdicts: Mapping[str, str], equivalent: Mapping[str, Mapping[str, str]]
) -> Mutants:
    found = Mutants()
    used: set[tuple[str, str]] = set()
    for one in attempts:
        survived = verdicts[one.digest] == SURVIVED
        if one.mutant is None:
            found.broken += [] if survived else [one.exercise.name]
            continue
        found.made += 1
        found.caught += not survived
        if survived:
            reasons = matching(one, equivalent)
            used |= set(reasons)
            if reasons:
                found.explained += 1
            else:
                about = {"exercise": one.exercise.name, "name": one.mutant.name, "line": one.mutant.line}
                found.survivors.append({**about, "text": one.mutant.text})
    made = {(one.exercise.name, one.mutant.operator) for one in attempts if one.mutant is not None}
    for exercise, reasons_by_name in equivalent.items():
        for pattern, reason in reasons_by_name.items():
            if (exercise, pattern) not in used and was_tried(exercise, pattern, made):
                found.stale.append({"exercise": exercise, "name": pattern, "reason": reason})
    return found


def matching(attempt: Attempt, equivalent: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    """The reasons of `mistakes.py` for this mutant: (exercise, pattern)."""
    assert attempt.mutant is not None
    return [
        (name, pattern)
        for name in (attempt.exercise.name, EVERYWHERE)
        for pattern in equivalent.get(name, {})
        if fits(pattern, attempt.mutant.name)
    ]


def fits(pattern: str, name: str) -> bool:
    """`*` is anything; every other character is itself, brackets included."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None


def was_tried(exercise: str, pattern: str, made: set[tuple[str, str]]) -> bool:
    """Could this pattern have matched something here? A reason for another exercise or another group is not stale."""
    operator = pattern.partition(":")[0] if ":" in pattern else "*"
    return any(exercise in (name, EVERYWHERE) and fits(operator, one) for name, one in made)


# ---- what is remembered --------------------------------------------------------------------------------------------


class Memory:
    """Verdicts by digest, in a file. What was used last is kept longest."""

    def __init__(self, path: Path, surroundings: str) -> None:
        self.path, self.surroundings = path, surroundings
        self.known: dict[str, Any] = {}
        self.unsaved = 0
        with suppress(OSError, ValueError):  # none yet, or not readable: everything is tried again
            self.known = dict(json.loads(path.read_text(encoding="utf-8")))

    def digest(self, exercise: Exercise, code: str, cells: Sequence[Cell], purpose: str = "") -> str:
        """Of everything that a result depends on."""
        texts = [self.surroundings, purpose, code, exercise.test.source, *needed_cells(exercise, cells)]
        return hashlib.sha256(json.dumps(texts).encode()).hexdigest()

    def __contains__(self, digest: str) -> bool:
        return digest in self.known

    def __getitem__(self, digest: str) -> Any:
        self.known[digest] = self.known.pop(digest)
        return self.known[digest]

    def __setitem__(self, digest: str, value: Any) -> None:
        self.known[digest] = value
        self.unsaved += 1
        if self.unsaved >= SAVED_EVERY:  # whatever ends this process, little is tried twice
            self.close()

    def forget(self, digest: str) -> None:
        self.unsaved += self.known.pop(digest, None) is not None

    def close(self) -> None:
        if self.unsaved:
            write_whole(self.path, json.dumps(dict([*self.known.items()][-MOST_REMEMBERED:])))
            self.unsaved = 0


def needed_cells(exercise: Exercise, cells: Sequence[Cell]) -> list[str]:
    """The code before an exercise that it or its test depends on, by the names they read."""
    code = [cell for cell in cells if cell.kind == "code" and not cell.is_test]
    place = next(number for number, cell in enumerate(code) if cell is exercise.cell)
    wanted = set(exercise.cell.names.read | exercise.test.names.read)
    kept = []
    for cell in reversed(code[:place]):
        if cell.role is Role.SETUP or cell.names.bound & wanted:
            wanted |= cell.names.read
            kept.append(cell.source)
    return kept


def surroundings(course: Course, assignment: Assignment) -> str:
    """The check library and all else that notebooks import, the examiner, versions, data files, and limits."""
    texts = [tools_digest(), str(limits_of(course, assignment))]
    texts += [hashlib.sha256(path.read_bytes()).hexdigest() for path in assignment.data_files().values()]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()
