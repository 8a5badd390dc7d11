"""A mistake is recognised by its results: in every call, or not at all."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch

from autograder.examiner.recognition import agrees, digest, recognised, same, sketch

VALUES = [
    None, True, 3, -2.5, math.nan, math.inf, 1 << 80, "text", b"bytes", {1, 2}, (1, 2), [1, [2.0, "x"]], {"a": [1], 2: None},
    torch.arange(6.0).view(2, 3), torch.ones(2, 3, dtype=torch.float64), torch.zeros(0), torch.tensor(True),
    torch.randn(100, 7, generator=torch.Generator().manual_seed(0)), np.float32(2), list(range(1000)), ValueError("x"),
]  # fmt: skip


def test_a_sketch_is_json_and_tells_results_apart() -> None:
    sketches = [json.loads(json.dumps(sketch(value))) for value in VALUES]
    for number, one in enumerate(sketches):
        assert [place for place, other in enumerate(sketches) if same(one, other)] == [number]


def test_rounding_does_not_matter_and_a_difference_anywhere_does() -> None:
    big = torch.randn(300, 200, generator=torch.Generator().manual_seed(1))
    assert same(sketch(big), sketch(big + 1e-7))
    for place in (0, 777, 59_999):
        other = big.flatten().clone()
        other[place] += 150.0
        assert not same(sketch(big), sketch(other.view(300, 200)))
    assert not same(sketch(big), sketch(big.T))
    assert not same(sketch(big), sketch(big.double()))


def test_an_answer_is_named_only_if_it_agrees_in_every_call_and_nothing_is_guessed() -> None:
    calls = [["a", sketch(1.0)], ["b", sketch(2.0)]]
    one = {"name": "one", "says": "first", "calls": calls}
    two = {"name": "two", "says": "second", "calls": [["a", sketch(1.0)], ["b", sketch(9.0)]]}
    assert recognised(calls, [one, two]) == "first"
    assert recognised([["a", sketch(1.0)], ["b", sketch(5.0)]], [one, two]) == ""
    assert recognised(calls[:1], [one, two]) == ""
    assert recognised([["a", sketch(1.0)], ["other", sketch(2.0)]], [one, two]) == ""
    assert recognised(calls, [one, {**two, "calls": calls}]) == ""
    assert recognised(calls, [one, {**one, "name": "twin"}]) == "first"
    assert recognised([], [{**one, "calls": []}]) == ""
    assert agrees(calls, calls)


@pytest.mark.parametrize("other", [[b"ab", b"d"], [b"ab", bytearray(b"C")], [b"ab"]])
def test_a_digest_is_of_all_that_was_asked(other: list[bytes]) -> None:
    assert digest([b"ab", b"c"]) != digest(other)
