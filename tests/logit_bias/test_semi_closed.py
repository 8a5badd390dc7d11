"""The semi-closed API: exact answers, honest counting, clear refusals."""

import math

import numpy as np
import pytest
import torch

from helpers.logit_bias.semi_closed import SemiClosedLM


def softmax(logits: np.ndarray) -> np.ndarray:
    """In extended precision, so that the API's float64 is what is tested."""
    weights = np.exp(logits.astype(np.longdouble) - logits.max())
    return weights / weights.sum()


@pytest.mark.parametrize("size", [2, 3, 5, 64, 301])
def test_answers_are_softmax_of_the_biased_logits(size):
    rng = np.random.default_rng(size)
    for _ in range(50):
        logits = 5 * rng.standard_normal(size)
        words = rng.choice(size, rng.integers(0, size + 1), replace=False)
        bias = {int(w): float(b) for w, b in zip(words, 20 * rng.standard_normal(len(words)), strict=True)}
        changed = logits.copy()
        changed[list(bias)] += list(bias.values())
        p = softmax(changed)
        order = np.lexsort((np.arange(size), -changed))[:2]
        answer = SemiClosedLM(logits, bias_cap=200).top2(bias)
        assert [word for word, _ in answer] == order.tolist()
        np.testing.assert_allclose([x for _, x in answer], p[order].astype(float), rtol=1e-13)


def test_a_banned_peak_leaves_the_others_their_digits():
    logits = np.array([60.0, 0.0, -1.0, -2.0])
    answer = SemiClosedLM(logits).top2({0: -100.0})
    np.testing.assert_allclose(
        [x for _, x in answer], softmax(np.array([-40.0, 0.0, -1.0, -2.0]))[1:3].astype(float), rtol=1e-14
    )


def test_all_words_biased_far_down_still_give_a_distribution():
    (first, p), (second, q) = SemiClosedLM([0.0, 1.0], bias_cap=3000).top2({0: -2000.0, 1: -3000.0})
    assert (first, p, second, q) == (0, 1.0, 1, 0.0)


def test_equally_likely_words_come_in_the_order_of_their_numbers():
    api = SemiClosedLM([0.0, 1.0, 1.0, 1.0])
    assert [word for word, _ in api.top2()] == [1, 2]
    assert [word for word, _ in api.top2({0: 1.0})] == [0, 1]
    assert api.top1({3: 0.0})[0] == 1


def test_probabilities_are_rounded_after_the_order_is_decided():
    api = SemiClosedLM(np.log([0.49999, 0.50001]), digits=2)
    assert api.top2() == [(1, 0.5), (0, 0.5)]
    assert api.digits == 2


def test_answers_are_counted_and_refusals_are_not():
    api = SemiClosedLM(torch.zeros(4, dtype=torch.float64), bias_cap=10)
    api.top2()
    api.top1({np.int64(2): np.float32(1.5)})
    for bad, error, message in [
        ({0: 10.5}, ValueError, "at most 10"),
        ({0: math.nan}, ValueError, "at most 10"),
        ({4: 1.0}, ValueError, "0 to 3"),
        ({-1: 1.0}, ValueError, "0 to 3"),
        ({True: 1.0}, ValueError, "no word True"),
        ({1.0: 1.0}, TypeError, "words are integers"),
        ({"a": 1.0}, TypeError, "words are integers"),
        ({0: None}, TypeError, "biases are numbers"),
        ([0, 1.0], TypeError, "a dict"),
        ({torch.tensor(1): 1.0, torch.tensor(1): 2.0}, ValueError, "biased twice"),
    ]:
        with pytest.raises(error, match=message):
            api.top2(bad)
    assert api.calls == 2


def test_what_the_api_tells_about_itself_cannot_be_set():
    api = SemiClosedLM([0.0, 1.0])
    for name in ("calls", "bias_cap", "vocabulary_size", "digits"):
        with pytest.raises(AttributeError):
            setattr(api, name, 0)


def test_a_top_1_api_refuses_top_2():
    api = SemiClosedLM([0.0, 1.0], shown=1)
    assert api.top1()[0] == 1
    with pytest.raises(ValueError, match="call top1"):
        api.top2()
    assert api.calls == 1


def test_the_public_interface_is_what_it_says():
    assert all(hasattr(SemiClosedLM, name) for name in SemiClosedLM.PUBLIC)
    assert {name for name in dir(SemiClosedLM) if not name.startswith("_")} == {*SemiClosedLM.PUBLIC, "PUBLIC"}


@pytest.mark.parametrize("logits", [[0.0], [[0.0, 1.0]], [0.0, math.nan], [0.0, -math.inf], [0.0, 800.0]])
def test_unusable_logits_are_refused(logits):
    with pytest.raises(ValueError, match="logits"):
        SemiClosedLM(logits)
