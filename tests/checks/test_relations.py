"""What came is put into words, before the hint that says what was expected."""

import math

import pytest
import torch

from helpers.checks import Check
from helpers.checks.relations import NEARLY, of_shapes, relation

WANT = torch.tensor([[0.3, -1.7, 2.2], [4.1, 0.9, -0.6], [1.3, 5.5, -3.2]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("got", "told"),
    [
        (WANT, NEARLY),
        (0 * WANT, "every value is 0"),
        (torch.full((3, 3), 0.7), "every value is the same"),
        (-WANT, "every value has the wrong sign"),
        (WANT.abs(), "the signs are lost"),
        (2 * WANT, "every value is twice the right one"),
        (WANT * 1.37, "every value is a fixed number times the right one"),
        (WANT + 0.8, "every value is too large by the same number"),
        (WANT.mT, "rows and columns are exchanged"),
        (WANT.flip(1), "the order along axis 1 is reversed"),
        (WANT.roll(1, 1), "everything stands one place too late along axis 1"),
        (WANT[:1].expand(3, 3), "the first entry along axis 0 is repeated for all"),
        (torch.cat([WANT[:1], 3 - WANT[1:] ** 2]), "only the first entry along axis 0 is right"),
        (torch.cat([WANT[:, :2], WANT[:, 2:] ** 2 + 1], 1), "only the last entry along axis 1 is wrong"),
        (WANT[[1, 0, 2]], "these are the right numbers, in the wrong places"),
        (WANT**2, "these are the squares of the right values"),
        (WANT.exp(), "these are the exponentials of the right values"),
        (WANT * torch.tensor([[1.1], [0.3], [2.4]]), "every row is the right one times a number of its own"),
        (WANT + torch.tensor([[1.1, 0.3, 2.4]]), "every column is the right one plus a number of its own"),
        (WANT * 1.01 + 0.001 * WANT**2, NEARLY),
        (WANT**2 + WANT - 0.4, ""),
        (WANT[:, :2], "axis 1 is too short by one"),
        (WANT[0], "one axis is missing, axis 0"),
    ],
)
def test_a_wrong_result_is_described_by_what_it_is_to_the_right_one(got: torch.Tensor, told: str) -> None:
    assert relation(got, WANT) == told or (told and relation(got, WANT).startswith(told))


@pytest.mark.parametrize(
    ("got", "told"),
    [
        ((WANT / 7).round(decimals=3), "the values are rounded to 3 decimals"),
        ((WANT / 7).float(), "the values have the digits of float32 only"),
        ((WANT / 7).float().exp().log().double(), "the values have the digits of float32 only"),
        ((WANT / 7).half(), "the values are rounded to half precision"),
        ((WANT / 7).bfloat16(), "the values are rounded to bfloat16"),
        (WANT / 7 + 1e-12, NEARLY),
    ],
)
def test_lost_digits_are_named(got: torch.Tensor, told: str) -> None:
    assert relation(got, WANT / 7).startswith(told)


def test_a_single_number_that_is_rounded_is_told_so() -> None:
    assert relation(0.33, 1 / 3) == "the values are rounded to 2 decimals"
    assert relation(0.34, 1 / 3) == ""


def test_rounding_is_named_where_float32_is_right() -> None:
    want = (WANT / 7).float()
    assert relation(want.round(decimals=3), want) == "the values are rounded to 3 decimals"
    assert (
        relation(torch.tensor([0.5, 0.25, 0.75]) * (1 + 1e-7), torch.tensor([0.5, 0.25, 0.75]))
        != "the values are rounded to 2 decimals"
    )


def test_a_miscounted_whole_number_has_lost_no_digits() -> None:
    assert relation(49_920, 49_984) == ""  # by chance it is what bfloat16 makes of the right one


def test_a_small_number_that_is_added_is_not_called_float32() -> None:
    for got in (WANT / 7 + 1e-7, WANT / (7 + 1e-6)):
        told = relation(got, WANT / 7)
        assert "a small number is added" in told
        assert "float32 only" not in told


def test_float32_on_the_way_is_named_where_the_result_is_float64_again() -> None:
    assert "float32 only" in relation((WANT / 7).exp().float().double().log(), WANT / 7)


def test_a_tiny_number_that_is_lost_is_not_called_half_precision() -> None:
    assert relation(0.0, math.exp(-700.0)) == ""


def test_shares_that_become_zero_and_one_are_not_called_rounded() -> None:
    assert "rounded" not in relation([0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.6, 0.1, 0.3, 0.0])


def test_float32_is_no_fault_where_float32_is_right() -> None:
    want = (WANT / 7).float()
    assert relation(want * (1 + 1e-6), want) == NEARLY


def test_a_small_count_beside_a_large_number_has_not_lost_digits() -> None:
    assert relation([2.0**25, 5], [2.0**25, 0]) == ""
    assert "float32" in relation([2.0**25 + 0.5, 0.125], [2.0**25, 0.125])


def test_small_values_that_are_wrong_beside_large_ones_have_not_lost_digits() -> None:
    want = torch.tensor([1e9, 3.7, 0.21, 2.5e8], dtype=torch.float64)
    assert "float32" not in relation(want * torch.tensor([1.0, 2.0, 2.0, 1.0]), want)
    assert "float16" not in relation(torch.zeros(3, dtype=torch.float64), torch.tensor([0.0, 1e-30, -3e-30]).double())


def test_masks_are_turned_round_or_exchanged() -> None:
    rule = torch.ones(4, 4, dtype=torch.bool).tril()
    assert relation(~rule, rule) == "True and False are exchanged"
    assert relation(rule.mT, rule) == "rows and columns are exchanged"
    assert relation(torch.ones(4, 4, dtype=torch.bool), rule) == "every entry is True"


def test_shapes() -> None:
    assert of_shapes((4, 5), (5, 4)) == "the axes stand in another order than asked"
    assert of_shapes((2, 5, 4), (5, 4)) == "there is one axis too many, axis 0"
    assert of_shapes((5, 4, 1), (5, 4)) == "there is one axis of length 1 too many, axis 2"
    assert of_shapes((7,), (5, 4)) == ""


def test_few_values_and_text_are_related_to_nothing() -> None:
    assert relation([2.0, 4.0], [1.0, 2.0]) == ""
    assert relation("cat", "dog") == ""
    assert relation(None, [1.0, 2.0, 3.0]) == ""


def test_of_two_relations_that_nearly_hold_the_better_fit_is_told() -> None:
    places = torch.arange(104, 112).view(2, 4)  # a hundredth less is nearly one less
    assert relation(places - 1, places) == "every value is too small by the same number"
    assert relation(0.99 * places, places) == "every value is a fixed number times the right one"


def test_noughts_and_ones_are_not_taken_for_rounded_numbers() -> None:
    greedy, nucleus = torch.tensor([[0.0, 1.0, 0.0, 0.0]]), torch.tensor([[0.0, 4 / 7, 0.0, 3 / 7]])
    assert relation(greedy, nucleus) == ""
    assert relation(WANT.round(), WANT) == "the right values are rounded"


def test_numbers_are_named_only_where_inputs_are_visible() -> None:
    assert relation(1.37 * WANT, WANT, numbers=True) == "every value is 1.37 times the right one"
    assert "1.37" not in relation(1.37 * WANT, WANT)


def test_the_fact_comes_before_the_hint() -> None:
    check = Check("relations", points=1)
    with check.idea("values"):
        check.close(-WANT, WANT, "subtract the mean")
    assert check.outcome.findings[0].hint == "every value has the wrong sign; subtract the mean"


def test_a_gradient_that_is_missing_is_named() -> None:
    check = Check("relations", points=1)
    with check.idea("values"):
        check.gradients(lambda a, b: a * b.detach(), lambda a, b: a * b, (WANT, WANT), "the gradients are wrong")
    told = check.outcome.findings[0].hint
    assert told == "tensor 2 of 2 gets no gradient, because it is detached or not used; the gradients are wrong"
