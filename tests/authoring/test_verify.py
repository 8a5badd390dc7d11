"""`course verify` notices what it is for: tests that a wrong answer passes, hints that do not come, right answers
refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import run_course

from autograder.authoring import engines, verify
from autograder.authoring.mistakes import Mistake
from autograder.model import course
from autograder.model.course import CourseError

pytestmark = pytest.mark.slow

GOOD = '''
from autograder.authoring.mistakes import Mistake, Right

VARIANTS = {
    "double": [
        Mistake("three times", change={"x + x": "3 * x"}, hint="twice one is two"),
        Mistake("nothing back", change={"return x + x": "x + x"}, hint="is a `return` missing"),
        Mistake("only right for ones", change={"x + x": "x + 1"}, hint="other numbers must be doubled"),
        Mistake("an exception", change={"x + x": "x + y"}, hint="your code raised NameError"),
        Right("a product", change={"x + x": "2 * x"}),
        Right("numpy", code="""
def double(x):
    import numpy as np
    return np.asarray(x) * 2
"""),
    ],
}
'''


def verified(root: Path, mistakes: str) -> tuple[int, list[str]]:
    (root / "solutions" / "01-small" / "mistakes.py").write_text(mistakes)
    done = run_course("verify", "--json", cwd=root)
    assert done.returncode in (0, 1), done.stderr
    (report,) = json.loads(done.stdout)
    return done.returncode, report["failures"]


def test_good_tests_pass_the_gate(small_course: Path) -> None:
    assert verified(small_course, GOOD) == (0, [])


def test_a_named_value_that_is_the_right_one_is_refused_because_it_can_never_speak(small_course: Path) -> None:
    script = small_course / "solutions" / "01-small" / "01-small.py"
    old = '2 * hidden_input, "other numbers must be doubled, too")'
    assert old in script.read_text()
    named = old.replace(
        'too")', 'too", wrong={"this adds": hidden_input + hidden_input, "this squares": hidden_input**2})'
    )
    script.write_text(script.read_text().replace(old, named))
    code, failures = verified(small_course, GOOD)
    assert code == 1
    assert failures == ["double-test: in `wrong=`, the value of 'this adds' is the right one: it can never speak"]


BAD = [
    (
        'Mistake("three times", change={"x + x": "x * 2.0"}, hint="twice one is two")',
        "mistake 'three times' keeps every point",
    ),
    (
        'Mistake("no such hint", change={"x + x": "3 * x"}, hint="along which axis")',
        "does not get the hint 'along which axis'",
    ),
    ('Mistake("no hint", change={"x + x": "3 * x"})', "'no hint' names no hint"),
    ('Mistake("broken", change={"x + x": "x + y"}, hint="twice one is two")', "'broken' is itself broken (NameError)"),
    ('Right("a wrong product", change={"x + x": "2.5 * x"})', "right answer 'a wrong product' earns only"),
    ('Right("nothing to change", change={"x - x": "2 * x"})', "the solution has no 'x - x' to change"),
    ('Right("the same", change={"x + x": "x + x"})', "'the same' of 'double' changes nothing"),
    (
        'Mistake("ends", code="def double(x):\\n    import os\\n    os._exit(0)", hint="is a `return` missing")',
        "'ends' did not finish",
    ),
]


def test_bad_tests_do_not(small_course: Path) -> None:
    variants = ",\n".join(variant for variant, _ in BAD)
    bad = GOOD.split("VARIANTS")[0] + f'VARIANTS = {{"double": [{variants}], "treble": []}}\n'
    code, failures = verified(small_course, bad)
    assert code == 1
    for _, message in [*BAD, ("", "names 'treble', which is not an exercise")]:
        assert any(message in failure for failure in failures), (message, failures)


def test_too_few_variants_are_counted(small_course: Path) -> None:
    code, failures = verified(
        small_course, GOOD.replace('        Right("a product", change={"x + x": "2 * x"}),\n', "")
    )
    assert code == 1
    assert failures == ["double: 4 named mistakes and 1 other right answers; at least 4 and 2 are needed"]


def test_a_solution_that_fails_its_own_test_is_noticed(small_course: Path) -> None:
    path = small_course / "solutions" / "01-small" / "01-small.py"
    path.write_text(path.read_text().replace("2 * hidden_input,", "3 * hidden_input,"))
    _, failures = verified(small_course, GOOD)
    assert any("the solution earns 1 of 2" in failure for failure in failures), failures


def test_a_test_that_an_untouched_notebook_passes_is_noticed(small_course: Path) -> None:
    path = small_course / "solutions" / "01-small" / "01-small.py"
    path.write_text(path.read_text().replace("check.score()", 'check.true(True, "always")\ncheck.score()'))
    _, failures = verified(small_course, GOOD)
    assert any("the untouched notebook earns" in failure for failure in failures), failures


def test_missing_mistakes_are_named(small_course: Path) -> None:
    done = run_course("verify", cwd=small_course)
    assert done.returncode == 2
    assert "mistakes.py is missing" in done.stderr


ANY_FILE = """
from autograder.mistakes import Mistake, Right

VARIANTS = {
    "double": [
        Mistake("three times", change={"x + x": "3 * x"}, gravity="idea"),
        Mistake("a product", change={"x + x": "2 * x"}),
        Mistake("no such text", change={"x - x": "2 * x"}),
        Mistake("for ever", code="def double(x):\\n    while True:\\n        pass"),
        Mistake("all the memory", code="kept = []\\nwhile True:\\n    kept.append(bytearray(50_000_000))"),
        Mistake("ends", code="def double(x):\\n    import os\\n    os._exit(0)"),
        Right("twice", change={"x + x": "2 * x"}),
        Right("not quite", change={"x + x": "2 * x + 1e-3"}),
    ],
    "treble": [Right("nothing", code="pass")],
}
"""
VERDICTS = {
    "three times": (0, "caught"),
    "a product": (2, "full marks"),
    "no such text": (0, "does not apply"),
    "for ever": (0, "did not finish"),
    "all the memory": (0, "caught"),  # by an exception: its test finds nothing to call
    "ends": (0, "did not finish"),
    "twice": (2, "full marks"),
    "not quite": (0, "lost points"),
}


def test_the_variants_of_any_file_are_tried_and_those_that_never_end_cost_only_themselves(small_course: Path) -> None:
    """No mistakes.py, no hints, no minimum.

    What loops, eats memory or ends its process is ended by the limits; the next one is tried.
    """
    with (small_course / "course.toml").open("a") as file:
        file.write("limits = { cell_seconds = 3, test_seconds = 6, memory_mb = 600 }\n")
    (small_course / "others.py").write_text(ANY_FILE)
    done = run_course("verify", "01-small", "--variants", "others.py", "--json", cwd=small_course)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {"assignment", "variants", "unknown"}
    assert (found["assignment"], found["unknown"]) == ("01-small", ["treble"])
    assert [row["name"] for row in found["variants"]] == list(VERDICTS), "in the order of the file"
    assert {row["name"]: (row["earned"], row["verdict"]) for row in found["variants"]} == VERDICTS
    first, *_, last = found["variants"]
    keys = ("exercise", "kind", "name", "gravity", "points", "earned", "hints", "verdict")
    assert tuple(first) == keys
    assert (first["exercise"], first["kind"], first["gravity"], first["points"]) == ("double", "mistake", "idea", 2)
    assert "twice one is two" in first["hints"]
    assert (last["kind"], last["gravity"]) == ("right", "")


def test_one_exercise_alone(small_course: Path) -> None:
    (small_course / "solutions" / "01-small" / "mistakes.py").write_text(GOOD)
    done = run_course("verify", "01-small", "--exercise", "double", "--json", cwd=small_course)
    (report,) = json.loads(done.stdout)
    assert (done.returncode, report["exercises"], report["variants"], report["failures"]) == (0, 1, 6, [])
    (small_course / "right.py").write_text(
        'from autograder.authoring.mistakes import Right\nVARIANTS = {"double": [Right("twice", change={"x + x": "2 *'
        ' x"})]}\n'
    )
    both = run_course(
        "verify", "01-small", "--exercise", "double", "--variants", "right.py", "--json", cwd=small_course
    )
    assert (both.returncode, [row["verdict"] for row in json.loads(both.stdout)["variants"]]) == (0, ["full marks"])


@pytest.mark.parametrize("more", [[], ["--variants", "solutions/01-small/mistakes.py"]])
def test_an_unknown_exercise_gets_the_nearest_name(more: list[str], small_course: Path) -> None:
    (small_course / "solutions" / "01-small" / "mistakes.py").write_text(GOOD)
    done = run_course("verify", "01-small", "--exercise", "doubel", *more, cwd=small_course)
    assert done.returncode == 2
    assert done.stderr.strip() == "course: unknown exercise 'doubel': did you mean double?"


def test_a_gravity_that_there_is_not_is_refused() -> None:
    with pytest.raises(CourseError, match="there are idea, part, edge"):
        Mistake("grave", gravity="deadly")


def two_processes(
    this: course.Course, assignment: course.Assignment, sheets: Sequence[engines.Sheet]
) -> engines.Engine:
    return engines.ExaminerEngine(this, assignment, sheets, engines.sandbox.Level.UNSAFE, workers=1)


def one_process(this: course.Course, assignment: course.Assignment, sheets: Sequence[engines.Sheet]) -> engines.Engine:
    return engines.KernelEngine(assignment, sheets)


@pytest.mark.parametrize("engine_for", [two_processes, pytest.param(one_process, marks=pytest.mark.thorough)])
def test_without_a_sandbox_and_without_fork_the_verdicts_are_the_same_and_it_says_that_this_is_not_the_gate(
    engine_for: Any, small_course: Path
) -> None:
    path = small_course / "solutions" / "01-small" / "mistakes.py"
    this = course.load(small_course)
    run = partial(verify.verify, this, this.assignments[0], engine_for=engine_for)
    path.write_text(GOOD)
    assert (run().failures, run().notice) == ([], "not the gate: run it on Linux")
    path.write_text(GOOD.replace('hint="twice one is two"', 'hint="along which axis"').replace('"2 * x"', '"2.5 * x"'))
    failures = run().failures
    assert len(failures) == 2
    assert "does not get the hint 'along which axis'" in failures[0]
    assert "right answer 'a product' earns only 0 of 2" in failures[1]


THREADS = """
from autograder.mistakes import Right

CODE = '''
import threading

def double(x):  # number {number}
    done = []
    threads = [threading.Thread(target=lambda: done.append(x + x)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done[0]
'''
VARIANTS = {"double": [Right(f"number {number}", code=CODE.format(number=number)) for number in range(200)]}
"""


@pytest.mark.slow
def test_many_variants_leave_the_last_one_as_many_threads_as_the_first(small_course: Path) -> None:
    """Copies that had ended once counted towards the limit of 64 processes, until no thread could start."""
    (small_course / "others.py").write_text(THREADS)
    done = run_course("verify", "01-small", "--variants", "others.py", "--json", cwd=small_course)
    assert [one["earned"] for one in json.loads(done.stdout)["variants"]] == [2.0] * 200
