"""The dials of 08 show the score that the mathematics gives, and it depends on the distance alone."""

from __future__ import annotations

import math

import pytest

from helpers.positions.rotary_dial import rotary_dial, score


def test_the_score_is_the_inner_product_of_the_turned_pairs():
    query, key, speeds = [1.0, 0.5, -0.3, 2.0], [0.2, -1.0, 0.7, 0.4], [1.0, 0.01]
    total = 0.0
    for i, speed in enumerate(speeds):
        a, b = complex(*query[2 * i : 2 * i + 2]), complex(*key[2 * i : 2 * i + 2])
        left = a * complex(math.cos(7 * speed), math.sin(7 * speed))
        right = b * complex(math.cos(4 * speed), math.sin(4 * speed))
        total += left.real * right.real + left.imag * right.imag
    assert score(query, key, speeds, 7, 4) == pytest.approx(total)
    assert score(query, key, speeds, 107, 104) == pytest.approx(total)


def test_every_mark_of_the_page_is_filled_and_two_dials_do_not_share_an_id():
    first, second = rotary_dial().data, rotary_dial().data
    assert "@" not in first
    assert first != second
    assert "m − n = 3" in first
