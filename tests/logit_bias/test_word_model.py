"""The small word model: learns, repeats itself, and has the rank it says."""

import numpy as np
import pytest
import torch

from helpers.logit_bias import word_model


@pytest.fixture(scope="module")
def model():
    return word_model.train(vocabulary_size=120, width=6, steps=60, count=4)


def test_the_same_seed_gives_the_same_model_and_leaves_the_random_state_alone(model):
    state = torch.get_rng_state()
    again = word_model.train(vocabulary_size=120, width=6, steps=60, count=4)
    assert torch.equal(state, torch.get_rng_state())
    np.testing.assert_array_equal(again.logits("we will make"), model.logits("we will make"))


def test_training_beats_a_uniform_guess(model):
    stream = torch.tensor([model.number.get(token, 0) for token in word_model.speeches(4)])
    window = stream.unfold(0, 4, 1)[:2000]
    loss = torch.nn.functional.cross_entropy(model(window[:, :3]), window[:, 3])
    assert loss < 0.8 * np.log(120)


def test_centred_logits_have_the_rank_of_the_hidden_width(model):
    contexts = [model.words[n : n + 3] for n in range(1, 20)]
    rows = np.stack([model.logits(context) for context in contexts])
    assert rows.shape == (19, 120)
    assert rows.dtype == np.float64
    assert np.linalg.matrix_rank(rows - rows.mean(1, keepdims=True), rtol=1e-9) == 6


def test_unknown_words_share_one_number_and_short_contexts_are_refused(model):
    np.testing.assert_array_equal(model.logits("zyx will make"), model.logits(["<unk>", "will", "make"]))
    with pytest.raises(ValueError, match="3 words of context"):
        model.logits("we will")


def test_a_vocabulary_larger_than_the_text_is_refused():
    with pytest.raises(ValueError, match="ask for fewer"):
        word_model.train(vocabulary_size=1_000_000, width=2, steps=1, count=1)


def test_words_and_punctuation_are_tokens():
    assert word_model.tokens("We won't, ever!") == ["we", "won't", ",", "ever", "!"]
