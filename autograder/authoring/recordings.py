"""What the named mistakes of an assignment answer in every call of their tests, once per assignment and secret.

The examiner compares a submission's answers with these, and names the mistake that agrees (examiner/recognition.py).
Only mistakes that say something (`says=`) are recorded; they are kept below `.course/`, test by test, until something
that decides them changes: another test does not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from autograder.authoring.engines import Candidate, Engine, Sheet, engine_for, is_test, name_of
from autograder.authoring.mistakes import Mistake, load
from autograder.examiner.recognition import agrees
from autograder.examiner.tester import is_foreign
from autograder.examiner.tools_digest import tools_digest
from autograder.model.course import Assignment, Course, CourseError, write_whole
from autograder.model.notebook import Cell

if TYPE_CHECKING:
    from autograder.examiner.recognition import Known

Recorded = dict[str, list["Known"]]  # by the id of the test


def recorded(
    course: Course,
    assignment: Assignment,
    sheet: Sheet,
    cells: list[Cell],
    secret: str = "",
    progress: Callable[[str], None] = lambda text: None,
) -> Recorded:
    """The recordings of an assignment's own mistakes: as they were kept, or made now."""
    candidates = telling(assignment, cells, secret)
    if not candidates:
        return {}
    path = course.root / ".course" / "recorded" / f"{assignment.id}.json"
    digests = digests_of(sheet, candidates, secret)
    tests: Recorded = {}
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        kept = json.loads(path.read_text(encoding="utf-8"))
        tests = {name: kept["tests"].get(name, []) for name, old in kept["digests"].items() if digests.get(name) == old}
    todo = [(one, mistake) for one, mistake in candidates if one.test not in tests]
    if todo:
        todo = [(replace(one, key=key), mistake) for key, (one, mistake) in enumerate(todo)]
        with closing(engine_for(course, assignment, [sheet])) as engine:
            right = right_calls(engine, sheet, cells, [one for one, _ in todo])
            tests |= record(engine, sheet, todo, progress, right)
        write_whole(path, json.dumps({"digests": digests, "tests": tests}, ensure_ascii=False) + "\n")
    return {name: known for name, known in tests.items() if known}


def digests_of(sheet: Sheet, candidates: list[tuple[Candidate, Mistake]], secret: str) -> dict[str, str]:
    """By test, of all that decides what its mistakes answer: the notebook with this test and without the others."""
    code = [cell for cell in sheet.cells() if cell["kind"] == "code"]
    foreign = any(is_test(cell) and is_foreign(cell["source"]) for cell in code)  # it may use what other tests make
    around = [secret, tools_digest(), sheet.looks]
    found: dict[str, str] = {}
    for test in {one.test for one, _ in candidates}:
        tried = [[mistake.name, mistake.says, one.answer] for one, mistake in candidates if one.test == test]
        near = [
            [cell["source"], {} if is_test(cell) else cell["metadata"]]
            for cell in code
            if foreign or not is_test(cell) or name_of(cell) == test
        ]
        found[test] = hashlib.sha256(json.dumps([around, near, tried], sort_keys=True).encode()).hexdigest()
    return found


def telling(assignment: Assignment, cells: list[Cell], secret: str) -> list[tuple[Candidate, Mistake]]:
    """The mistakes that say something, ready to be tried."""
    if not assignment.mistakes.exists():
        return []
    by_exercise = load(assignment.mistakes).by_exercise
    answers = {cell.grade_id: cell for cell in cells if cell.is_exercise}
    found: list[tuple[Candidate, Mistake]] = []
    for name, variants in by_exercise.items():
        for variant in variants if name in answers else ():
            if isinstance(variant, Mistake) and variant.says:
                with suppress(CourseError):  # does not apply: `course verify` says so
                    text = variant.source(answers[name])
                    found.append((Candidate(len(found), name, text, f"{name}-test", secret, recording=True), variant))
    return found


def right_calls(engine: Engine, sheet: Sheet, cells: list[Cell], candidates: list[Candidate]) -> dict[str, list[Any]]:
    """What the solution gives in every call of these tests."""
    answers = {cell.grade_id: cell.source for cell in cells if cell.is_exercise}
    tests = list({one.test: replace(one, answer=answers[one.exercise]) for one in candidates}.values())
    trials = engine.try_variants(sheet, [replace(one, key=key) for key, one in enumerate(tests)])
    return {tests[key].test: tested.calls for key, tested in trials if not tested.lost}


def record(
    engine: Engine,
    sheet: Sheet,
    candidates: list[tuple[Candidate, Mistake]],
    progress: Callable[[str], None],
    right: Mapping[str, list[Any]] = MappingProxyType({}),
) -> Recorded:
    """The recordings by test. A mistake that agrees with the right answer in every call is left out: it differs by less
    than a sketch can tell, and so would any other answer with a small fault.
    """
    answered: dict[int, Known] = {}
    trials = engine.try_variants(sheet, [candidate for candidate, _ in candidates])
    for done, (key, tested) in enumerate(trials, 1):
        candidate, mistake = candidates[key]
        progress(f"{done} of {len(candidates)} named mistakes recorded · {candidate.exercise}")
        if agrees(tested.calls, right.get(candidate.test, [])):
            continue
        if not tested.lost and tested.calls:  # an endless mistake holds up nobody: it has no recording
            answered[key] = known(mistake, tested.calls)
    found: Recorded = {}
    for key in sorted(answered):  # not as they came: the order is part of what decides a result
        found.setdefault(candidates[key][0].test, []).append(answered[key])
    return found


def known(mistake: Mistake, calls: list[Any]) -> Known:
    return {"name": mistake.name, "says": mistake.says, "calls": calls}
