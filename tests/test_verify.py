"""`course verify` notices what it is for: tests that a wrong answer passes, hints that do not come, right answers refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import run_course

pytestmark = pytest.mark.slow

GOOD = '''
from autograder.mistakes import Mistake, Right

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


BAD = [
    ('Mistake("three times", change={"x + x": "x * 2.0"}, hint="twice one is two")', "mistake 'three times' keeps every point"),
    ('Mistake("no such hint", change={"x + x": "3 * x"}, hint="along which axis")', "does not get the hint 'along which axis'"),
    ('Mistake("no hint", change={"x + x": "3 * x"})', "'no hint' names no hint"),
    ('Mistake("broken", change={"x + x": "x + y"}, hint="twice one is two")', "'broken' is itself broken (NameError)"),
    ('Right("a wrong product", change={"x + x": "2.5 * x"})', "right answer 'a wrong product' earns only"),
    ('Right("nothing to change", change={"x - x": "2 * x"})', "the solution has no 'x - x' to change"),
    ('Right("the same", change={"x + x": "x + x"})', "'the same' of 'double' changes nothing"),
    ('Mistake("ends", code="def double(x):\\n    import os\\n    os._exit(0)", hint="x")', "'ends' did not finish"),
]


def test_bad_tests_do_not(small_course: Path) -> None:
    variants = ",\n".join(variant for variant, _ in BAD)
    bad = GOOD.split("VARIANTS")[0] + f'VARIANTS = {{"double": [{variants}], "treble": []}}\n'
    code, failures = verified(small_course, bad)
    assert code == 1
    for _, message in [*BAD, ("", "names 'treble', which is not an exercise")]:
        assert any(message in failure for failure in failures), (message, failures)


def test_too_few_variants_are_counted(small_course: Path) -> None:
    code, failures = verified(small_course, GOOD.replace('        Right("a product", change={"x + x": "2 * x"}),\n', ""))
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
