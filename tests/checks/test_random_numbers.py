"""Visible numbers are everybody's; hidden ones hang on the secret of the class."""

from __future__ import annotations

import linecache
from typing import Any

import pytest
import torch

from helpers import checks
from helpers.checks import Check, random_numbers

CELL = """
check = Check("draws", points=1)
first = randn(3)
{begin}
secret = randn(3), rand(2), randint(0, 1000, (4,)), randperm(50)
checks.seed(5)
drawn = torch.rand(3)
{end}
last = randn(3)
checks.seed(5)
seeded = torch.rand(3)
"""
HIDDEN = CELL.format(begin="### BEGIN HIDDEN TESTS", end="### END HIDDEN TESTS")
WITHOUT = HIDDEN.partition("### BEGIN")[0] + HIDDEN.partition("### END HIDDEN TESTS\n")[2]


def run(text: str, monkeypatch: pytest.MonkeyPatch, secret: str = random_numbers.PUBLIC) -> dict[str, Any]:
    """The names that a test cell sets, under this secret."""
    monkeypatch.setattr(random_numbers, "secret", secret)
    name = f"<cell {hash((text, secret))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"Check": Check, "checks": checks, "torch": torch}
    names |= {one: getattr(checks, one) for one in ("randn", "rand", "randint", "randperm")}
    exec(compile(text, name, "exec"), names)
    return names


def test_visible_numbers_do_not_depend_on_the_secret_nor_on_hidden_lines_before_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    student = run(WITHOUT, monkeypatch)
    for secret in ("", "one", "two"):
        graded = run(HIDDEN, monkeypatch, secret)
        for name in ("first", "last", "seeded"):
            assert torch.equal(graded[name], student[name])


def test_hidden_numbers_are_the_same_for_one_secret_and_others_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    one, again, two = (run(HIDDEN, monkeypatch, secret) for secret in ("one", "one", "two"))
    for same, other in ((again, True), (two, False)):
        pairs = zip([*one["secret"], one["drawn"]], [*same["secret"], same["drawn"]], strict=True)
        assert [torch.equal(a, b) for a, b in pairs] == [other] * 5


def test_the_draws_of_one_check_say_nothing_about_those_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    other = HIDDEN.replace('"draws"', '"other"')
    assert not torch.equal(run(HIDDEN, monkeypatch)["secret"][0], run(other, monkeypatch)["secret"][0])
