# %% [markdown]
# # 08 · Positions: where am I?
#
# | | |
# | --- | --- |
# | **You will be able to** | prove that attention alone does not see order · write six ways to tell it, in both layouts and both pairings that are in use · derive which of them depend on distances only · say which of them go on working on sequences longer than any in training, from an experiment of your own |
# | **You need** | `03-attention`, sine and cosine of a sum, indexing with integer tensors |
# | **Time** | about five hours; each exercise says its own |
# | **Points** | 53, and 3 bonus |
#
# "Dog bites man" and "man bites dog" have the same words.
# Attention compares every word with every other one, and a comparison does not know where its two words stand.
# Unless somebody says so, the two sentences are one and the same to it.
# This notebook writes down six ways of saying it, and then trains a small model with each of them at one length and tests it at up to eight times that length.
#
# **Notation.**
# $B$ sequences of $T$ positions of width $D$; $H$ heads of width $d = D/H$.
# Positions are whole numbers and start at 0. $n$ queries stand at positions `q_positions`, an integer tensor $(n,)$, and $m$ keys at `k_positions`, $(m,)$.
# Both are arguments, because they need not be $0, 1, 2, \ldots$: a model that generates text asks with one new query, far from the beginning.
# $D$ and $d$ are even throughout.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, run the test below it.
# Grading runs further checks of the same ideas.
# *Before you run it* marks a prediction: write it down first.
# Loops are allowed, and so are your functions of earlier exercises.
# Leave inputs as they are, and use torch operations: in Part 8 a model is trained through your functions.

# %% locked="setup"
import math

import matplotlib.pyplot as plt
import torch

from helpers import checks
from helpers.checks import Check, rand, randn
from helpers.kit import plots
from helpers.kit.scale import pick
from helpers.kit.seeding import seed
from helpers.positions import extrapolation
from helpers.positions.extrapolation import Scheme
from helpers.positions.rotary_dial import rotary_dial

# %% [markdown]
# ## 1 Attention does not see order
#
# ### 1.1 Attention with a bias <small>★☆☆ · 10 min · 3 points</small>
# Scaled dot-product attention once more, with one more argument: a *bias* that is added to the scaled scores, before the mask and the softmax:
#
# $$ w_{ij} = \mathrm{softmax}_j\!\left(\frac{q_i \cdot k_j}{\sqrt d} + b_{ij}\right), \qquad o_i = \sum_j w_{ij} v_j . $$
#
# Half of the schemes of this notebook enter through $b$.
# The mask is boolean, **True where looking is allowed**; every query may look at something.


# %% exercise="attend"
def attend(q, k, v, bias=None, mask=None):
    """Attention of q (..., n, d) over k (..., m, d) and v (..., m, e). Returns (..., n, e).

    bias, added to the scaled scores, and mask (bool, True = may look) are broadcastable to (..., n, m), or None.
    """
    ### BEGIN SOLUTION
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (..., n, m)
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1) @ v
    ### END SOLUTION


# %% test="attend" points=3
check = Check("attend", points=3)
q, k, v = randn(2, 3, 5, 8), randn(2, 3, 4, 8), randn(2, 3, 4, 6)
out = check.run(attend, q, k, v, shape=(2, 3, 5, 6), hint="without a bias and a mask it is attention as in 03: one output per query")
check.close(
    check.run(attend, q, k, v, torch.full((5, 4), 3.7)),
    out,
    "the same bias on every score changes nothing, because softmax sees differences only: is the bias added before the softmax?",
)
tilted = check.run(attend, torch.zeros(1, 2), randn(2, 2), torch.tensor([[1.0], [0.0]]), torch.tensor([[math.log(3.0), 0.0]]), shape=(1, 1))
check.close(
    tilted,
    [[0.75]],
    "with q = 0 the bias alone decides: log 3 against 0 is a weight of 3 : 1",
    wrong={
        "the bias is subtracted: add it": [[0.25]],
        "the bias is divided by the root of the width together with the scores: only the scores are scaled": [[1 / (1 + 3 ** -(0.5**0.5))]],
        "the bias is not used, or multiplied with the scores: it must be added": [[0.5]],
        "the bias is added to the weights, after the softmax: add it to the scores": [[0.5 + math.log(3.0)]],
    },
)
only = torch.tensor([False, False, True, False])
check.close(
    check.run(attend, q, k, v, None, only),
    v[:, :, 2:3].expand(2, 3, 5, 6),
    "if only key 2 may be seen, the output is its value: is the mask used, with True for may look?",
)
check.unchanged(attend, q, k, v, randn(5, 4))
### BEGIN HIDDEN TESTS
b = 2 * randn(3, 5, 4)
rule = rand(2, 1, 5, 4) > 0.4
rule[..., 1] = True
raw = q @ k.mT / 8**0.5
check.close(
    check.run(attend, q, k, v, b, rule),
    (raw + b).masked_fill(~rule, -torch.inf).softmax(-1) @ v,
    "with a bias for each head and a mask for each sequence the output is wrong",
    wrong={
        "the bias is divided by the root of the width together with the scores": (raw + b / 8**0.5)
        .masked_fill(~rule, -torch.inf)
        .softmax(-1)
        @ v,
        "the mask is read the wrong way round: True means that looking is allowed": (
            (raw + b).masked_fill(rule, -torch.inf).softmax(-1).nan_to_num() @ v
        ),
        "the weights are set to 0 after the softmax: mask the scores before it": ((raw + b).softmax(-1) * rule) @ v,
        "the scores are not scaled": (raw * 8**0.5 + b).masked_fill(~rule, -torch.inf).softmax(-1) @ v,
        "the mask is ignored where there is a bias": (raw + b).softmax(-1) @ v,
        "the bias is ignored where there is a mask": raw.masked_fill(~rule, -torch.inf).softmax(-1) @ v,
        "the bias is subtracted: add it": (raw - b).masked_fill(~rule, -torch.inf).softmax(-1) @ v,
    },
)
check.close(
    out,
    raw.softmax(-1) @ v,
    "without a bias and a mask the output differs from scaled dot-product attention",
    wrong={
        "the scores are not scaled by the root of the width": (raw * 8**0.5).softmax(-1) @ v,
        "you divide by the width, not by its root": (raw / 8**0.5).softmax(-1) @ v,
    },
)
check.close(check.run(attend, randn(1, 2), randn(1, 2), torch.tensor([[5.0]]), torch.tensor([[-9.0]])), [[5.0]], "one query, one key")
check.gradients(
    attend,
    lambda *z: (z[0] @ z[1].mT / 8**0.5 + z[3]).softmax(-1) @ z[2],
    (q, k, v, b),
    "the gradients are wrong, or do not flow: a learned bias needs them, too",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 1.2 A test for blindness <small>★★☆ · 15 min · 3 points</small>
# Let $P$ be a permutation matrix: $PX$ has the rows of $X$ in another order.
# A function of a sequence is *permutation-equivariant* if $f(PX) = P f(X)$: shuffle the words, and you get the same outputs, shuffled in the same way.
# No position can be told from another.
#
# For unmasked self-attention this is three short steps.
# All queries, keys and values are shuffled: $PQ$, $PK$, $PV$.
# The scores become $PQ(PK)^\top = P\,QK^\top P^\top$.
# Softmax works on each row and does not care in which order the entries stand, so the weights are $P\,W P^\top$.
# And $P W P^\top P V = P\,W V$, because $P^\top P = I$.
#
# Now prove it by test.
# Write the measure: the largest absolute difference between $f(PX)$ and $P f(X)$, over all rows and columns.
# The permutation is given as an index: $PX$ is `x[order]`.


# %% exercise="equivariance-gap"
def equivariance_gap(f, x, order):
    """How far f is from f(Px) = P f(x): the largest absolute difference, one number.

    f maps a tensor (T, D) to a tensor with T rows, x is (T, D), order (T,) is a permutation of 0 … T-1, and Px is x[order].
    """
    ### BEGIN SOLUTION
    return (f(x[order]) - f(x)[order]).abs().max()
    ### END SOLUTION


# %% test="equivariance-gap" points=3
check = Check("equivariance-gap", points=3)
x, turn_round = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([1, 2, 0])
check.close(
    check.run(equivariance_gap, lambda z: 2 * z, x, turn_round, shape=(), hint="the gap is one number"),
    0.0,
    "doubling every row is equivariant, so the gap is 0: are the rows of f(x) shuffled, too, and in the same order?",
)
check.close(
    check.run(equivariance_gap, lambda z: z.cumsum(0), x, turn_round, shape=(), hint="the gap is one number"),
    6.0,
    "running sums see the order: f(Px) = (2, 6, 7) and P f(x) = (3, 7, 1) differ by up to 6",
    wrong={
        "that is the mean of the differences; the largest one was asked for": 8 / 3,
        "you compare f(Px) with f(x): that asks for invariance. Shuffle the rows of f(x), too": 3.0,
        "you shuffle f(x) the other way round: the same order is used on both sides": 5.0,
        "that is the sum of the differences; the largest one was asked for": 8.0,
    },
)
check.close(
    check.run(equivariance_gap, lambda z: -z.cumsum(0), x, turn_round),
    6.0,
    "with the sign of f turned round the gap stays the same: take absolute values before the maximum",
)
check.unchanged(lambda z: equivariance_gap(lambda y: y.cumsum(0), z, turn_round), x)
### BEGIN HIDDEN TESTS
x, order = randn(7, 5), torch.tensor([3, 0, 6, 1, 5, 2, 4])
place = torch.arange(7.0)[:, None]


def along(z):
    return torch.cat([z * place, z.cumsum(0)], 1)[:, :8]


want = (along(x[order]) - along(x)[order]).abs()
check.close(
    check.run(equivariance_gap, along, x, order),
    want.max(),
    "the gap of another function is wrong",
    wrong={
        "you compare f(Px) with f(x), which is not shuffled": (along(x[order]) - along(x)).abs().max(),
        "you shuffle f(x) the other way round: the same order is used on both sides": (along(x[order]) - along(x)[order.argsort()])
        .abs()
        .max(),
        "that is the mean; the largest difference was asked for": want.mean(),
        "take absolute values before the maximum": (along(x[order]) - along(x)[order]).max(),
        "that is a norm of all the differences; the largest single one was asked for": want.norm(),
        "f is never given the shuffled rows: compare f(Px) with P f(x)": (along(x) - along(x)[order]).abs().max(),
    },
)
wide = randn(6, 4)
mix = torch.tensor([5, 3, 1, 0, 2, 4])
sees_order = torch.ones(6, 6).tril()
blind_gap = check.run(equivariance_gap, lambda z: (z @ z.T).softmax(1) @ z, wide, mix, shape=(), hint="the gap is one number")
other_gap = check.run(equivariance_gap, lambda z: sees_order @ z, wide, mix, shape=(), hint="the gap is one number")
check.true(
    (blind_gap < 1e-4) & (other_gap > 0.1),
    "plain self-attention has the gap 0, up to rounding, and a causal sum has not",
)
check.close(check.run(equivariance_gap, lambda z: z + 1, randn(1, 3), torch.tensor([0])), 0.0, "one row: there is nothing to shuffle")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# *Before you run it:* which of these four is equivariant?
# Self-attention; a stack of two layers with a feed-forward part between; self-attention with a causal mask; the mean of all rows, repeated for every row.

# %%
seed(0)
words, features = 9, 16
sentence, shuffled = torch.randn(words, features), torch.randperm(words)
Wq, Wk, Wv, W1, W2 = (torch.randn(features, features) / features**0.5 for _ in range(5))
causal_rule = torch.ones(words, words, dtype=torch.bool).tril()


def layer(x, mask=None):
    return attend(x @ Wq, x @ Wk, x @ Wv, mask=mask)


candidates = {
    "self-attention": layer,
    "two layers with a feed-forward part": lambda x: layer((layer(x) @ W1).relu() @ W2),
    "self-attention with a causal mask": lambda x: layer(x, causal_rule),
    "the mean, repeated": lambda x: x.mean(0).expand_as(x),
}
for name, f in candidates.items():
    print(f"{name:>36}: gap {equivariance_gap(f, sentence, shuffled):.1e}")

# %% [markdown]
# Rounding aside, the gap is 0 for all but the causal one: depth does not help, but *a mask does*.
# The first position sees one key, the second two: a causal decoder without any positions can count what it sees and learn something about order (Haviv et al., 2022).
# An encoder without a mask cannot: nothing tells its positions apart.
#
# So positions must be put in.
# There are three doors: add something to the **embeddings**, change **queries and keys**, or add something to the **scores**.
#
# ## 2 Sinusoidal positions
#
# Vaswani et al. (2017) give every position $p$ a fixed vector and add it to the embedding.
# Its numbers are sines and cosines of the angles $p\,\omega_i$, one frequency for each pair of columns:
#
# $$ \omega_i = \mathrm{base}^{-2i/D}, \qquad i = 0, \ldots, D/2 - 1, \qquad \mathrm{base} = 10000 . $$
#
# Think of a clock with $D/2$ hands: the first turns by one radian at every step, the last needs tens of thousands of steps for one round.
#
# ### 2.1 The frequencies <small>★☆☆ · 5 min · 2 points</small>


# %% exercise="frequencies"
def frequencies(D, base=10000.0):
    """The D / 2 angular frequencies base ** (-2 i / D), largest first: a floating tensor (D / 2,)."""
    ### BEGIN SOLUTION
    return base ** (-torch.arange(0, D, 2) / D)
    ### END SOLUTION


# %% test="frequencies" points=2
check = Check("frequencies", points=2)
eight = check.run(frequencies, 8, shape=(4,), hint="D / 2 frequencies, one for each pair of columns")
check.close(
    eight,
    [1.0, 0.1, 0.01, 0.001],
    "for D = 8 the exponents −2i/D are 0, −1/4, −1/2, −3/4, so the frequencies are 1, 0.1, 0.01 and 0.001",
    wrong={
        "the last frequency is 1/base: you spread the exponents over D/2 − 1 steps (as the tensor2tensor code does); the formula divides by D": [
            10000.0 ** (-i / 3) for i in range(4)
        ],
        "the exponent is −i/D: each step is a pair of columns, so it is −2i/D": [10000.0 ** (-i / 8) for i in range(4)],
        "the exponent is −4i/D: is i counted in steps of two already?": [10000.0 ** (-i / 2) for i in range(4)],
        "the exponent has the wrong sign: frequencies fall": [1.0, 10.0, 100.0, 1000.0],
        "i starts at 0, so that the first frequency is 1": [0.1, 0.01, 0.001, 0.0001],
        "the order is reversed: the largest frequency comes first": [0.001, 0.01, 0.1, 1.0],
    },
)
check.close(check.run(frequencies, 2), [1.0], "for D = 2 there is one frequency, 1")
### BEGIN HIDDEN TESTS
other = check.run(frequencies, 10, base=50.0, shape=(5,))
check.close(
    other,
    [50.0 ** (-2 * i / 10) for i in range(5)],
    "with base = 50 and D = 10 the frequencies are wrong",
    wrong={
        "the argument `base` is not used": [10000.0 ** (-2 * i / 10) for i in range(5)],
        "the exponent is −i/D; it is −2i/D": [50.0 ** (-i / 10) for i in range(5)],
        "you divide by D/2 − 1; the formula divides by D": [50.0 ** (-i / 4) for i in range(5)],
        "the frequencies fall by equal steps; they fall by equal factors": torch.linspace(1, 50.0**-0.8, 5),
    },
)
check.close(check.run(frequencies, 64, shape=(32,))[-1], 10000 ** (-62 / 64), "the last frequency for D = 64 is wrong")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 The vectors, in both layouts <small>★★☆ · 15 min · 4 points</small>
# Two layouts are in use.
# Both hold the same numbers.
#
# - `"interleaved"`, as in the paper: $(\sin p\omega_0, \cos p\omega_0, \sin p\omega_1, \cos p\omega_1, \ldots)$.
# - `"halves"`, as in the first implementation and in many models since: all sines, then all cosines.
#
# A model trained with one and run with the other is a broken model, without any error message.
# So the layout is an argument.
#
# $D$ is even in every model you will meet, and in the tests.
# If you want to allow an odd one, leave out the last cosine, in both layouts, so that exactly $D$ columns come back: $\lceil D/2 \rceil$ sines and $\lfloor D/2 \rfloor$ cosines.


# %% exercise="sinusoidal"
def sinusoidal(positions, D, layout="interleaved", base=10000.0):
    """Sinusoidal vectors (..., D) of integer positions (...); layout is "interleaved" (sin, cos, sin, cos, …) or "halves"."""
    ### BEGIN SOLUTION
    angles = positions[..., None] * frequencies(D, base)  # (..., ⌈D / 2⌉)
    if layout == "halves":
        return torch.cat([angles.sin(), angles.cos()], dim=-1)[..., :D]
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., :D]  # an odd D has one cosine less
    ### END SOLUTION


# %% test="sinusoidal" points=4
check = Check("sinusoidal", points=4)
s, c, small = math.sin(1), math.cos(1), 0.01
first = check.run(sinusoidal, torch.tensor([0, 1]), 4, shape=(2, 4), hint="one row of width D for each position")
slips = {
    "this is the other layout: interleaved means sin, cos, sin, cos": [[0.0, 0.0, 1.0, 1.0], [s, small, c, 1.0]],
    "cosines come first; sines come first in both layouts": [[1.0, 0.0, 1.0, 0.0], [c, s, 1.0, small]],
    "positions are counted from 1; they are used as they are given": [
        [s, c, small, 1.0],
        [math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)],
    ],
    "every column has a frequency of its own; a sine and its cosine share one": [
        [0.0, 1.0, 0.0, 1.0],
        [s, math.cos(0.1), small, math.cos(0.001)],
    ],
}
check.close(
    first,
    [[0.0, 1.0, 0.0, 1.0], [s, c, math.sin(small), math.cos(small)]],
    "position 0 is (0, 1, 0, 1), position 1 is (sin 1, cos 1, sin 0.01, cos 0.01)",
    atol=6e-5,  # the named slips write sin 0.01 as 0.01 and cos 0.01 as 1
    wrong=slips,
)
second = check.run(sinusoidal, torch.tensor([0, 1]), 4, layout="halves", shape=(2, 4))
check.close(
    second,
    [[0.0, 0.0, 1.0, 1.0], [s, math.sin(small), c, math.cos(small)]],
    "halves: position 1 is (sin 1, sin 0.01, cos 1, cos 0.01)",
    atol=6e-5,
    wrong={
        "the argument `layout` is not used: halves means all sines, then all cosines": [[0.0, 1.0, 0.0, 1.0], [s, c, small, 1.0]],
        "in halves the sines come first": [[1.0, 1.0, 0.0, 0.0], [c, 1.0, s, small]],
    },
)
check.unchanged(sinusoidal, torch.tensor([0, 1]), 4)
### BEGIN HIDDEN TESTS
spots = torch.tensor([[7, 0, 31], [2, 250, 3]])
turns = spots[..., None].double() * 500.0 ** (-torch.arange(0, 10, 2, dtype=torch.float64) / 10)
both = {"halves": torch.cat([turns.sin(), turns.cos()], -1), "interleaved": torch.stack([turns.sin(), turns.cos()], -1).flatten(-2)}
default = spots[..., None].double() * 10000.0 ** (-torch.arange(0, 10, 2, dtype=torch.float64) / 10)
for kind, exact in both.items():
    got = check.run(
        sinusoidal, spots, 10, layout=kind, base=500.0, shape=(2, 3, 10), hint="positions may have any shape: (2, 3) gives (2, 3, D)"
    )
    check.close(
        got,
        exact,
        f"for positions in any order and shape, layout {kind} and base 500, the vectors are wrong",
        atol=2e-4,  # angles up to 250 carry a float32 rounding of 1e-5 and more
        wrong={
            "the argument `base` is not used": torch.cat([default.sin(), default.cos()], -1)
            if kind == "halves"
            else torch.stack([default.sin(), default.cos()], -1).flatten(-2),
            "the layouts are exchanged": both["interleaved" if kind == "halves" else "halves"],
        },
    )
check.close(check.run(sinusoidal, torch.tensor([3]), 2), [[math.sin(3), math.cos(3)]], "D = 2: one sine, one cosine")
check.close(
    check.run(sinusoidal, torch.tensor(3), 2), [math.sin(3), math.cos(3)], "a single position, a tensor without axes, gives one vector"
)
### END HIDDEN TESTS
check.score()

# %%
plots.use_course_style()
figure, axes = plt.subplots(1, 2, figsize=(13, 4.2), sharey=True)
for ax, arrangement in zip(axes, ("interleaved", "halves"), strict=True):
    picture = ax.imshow(sinusoidal(torch.arange(64), 32, arrangement), cmap="cividis", aspect="auto", vmin=-1, vmax=1)
    ax.set(title=arrangement, xlabel="column")
    ax.grid(False)
axes[0].set_ylabel("position")
figure.colorbar(picture, ax=axes, label="entry")
plt.show()

# %% [markdown]
# ### 2.3 How alike are two positions? <small>★★☆ · 15 min · 2 points</small>
# Derive the inner product of the vectors of two positions $p$ and $p + r$.
# Take one pair of columns, use $\cos(a - b) = \cos a \cos b + \sin a \sin b$, then sum over the pairs.
# Where does $p$ go?
# Write the result as a function of the distance $r$ alone.
#
# *Before you run it:* does the result fall steadily as $r$ grows?


# %% exercise="sinusoidal-product"
def sinusoidal_product(distance, D, base=10000.0):
    """Inner product of the sinusoidal vectors of two positions that are `distance` (an integer tensor (...)) apart. Returns (...)."""
    ### BEGIN SOLUTION
    return (distance[..., None] * frequencies(D, base)).cos().sum(dim=-1)
    ### END SOLUTION


# %% test="sinusoidal-product" points=2
check = Check("sinusoidal-product", points=2)
got = check.run(sinusoidal_product, torch.tensor([0, 1, -1]), 4, shape=(3,), hint="one number for each distance")
near = math.cos(1) + math.cos(0.01)
check.close(
    got,
    [2.0, near, near],
    "for D = 4: at distance 0 each pair gives sin² + cos² = 1, so the sum is 2; at distance ±1 it is cos 1 + cos 0.01",
    wrong={
        "you took the mean over the pairs; an inner product is a sum": [1.0, near / 2, near / 2],
        "these are sines: cos a cos b + sin a sin b is the cosine of the difference": [
            0.0,
            math.sin(1) + math.sin(0.01),
            -math.sin(1) - math.sin(0.01),
        ],
        "each pair counts twice here: sin a sin b + cos a cos b is one cosine": [4.0, 2 * near, 2 * near],
        "the vector is compared with that of position 0 column by column only for the cosines or sines: add both": [
            1.0,
            near - 1,
            near - 1,
        ],
    },
)
### BEGIN HIDDEN TESTS
far = torch.tensor([[3, 60], [0, 7], [-12, 1]])


def vectors_at(p, width, root):
    turns = p[..., None].double() * root ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.cat([turns.sin(), turns.cos()], -1)


for width, root in [(10, 10000.0), (6, 300.0)]:
    exact = (vectors_at(far + 20, width, root) * vectors_at(torch.tensor(20), width, root)).sum(-1)
    check.close(
        check.run(sinusoidal_product, far, width, root, shape=(3, 2)),
        exact,
        f"for D = {width} and base {root:g} it is not the inner product of two sinusoidal vectors",
        atol=1e-3,  # angles up to 60, in float32, summed
        wrong={
            "the argument `base` is not used": (vectors_at(far, width, 10000.0) * vectors_at(torch.tensor(0), width, 10000.0)).sum(-1),
            "you took the mean over the pairs; an inner product is a sum": exact / (width / 2),
            "these are sines; the difference formula gives cosines": vectors_at(far, width, root)[..., : width // 2].sum(-1),
        },
    )
check.close(
    check.run(sinusoidal_product, torch.tensor(0), 8), 4.0, "a single distance, a tensor without axes, gives one number: D/2 at distance 0"
)
### END HIDDEN TESTS
check.score()

# %%
reach = torch.arange(0, 400)
likeness = sinusoidal_product(reach, 64)
start_a, start_b = torch.tensor(11), torch.tensor(523)
for r in (1, 10, 100):
    direct = [(sinusoidal(p, 64) @ sinusoidal(p + r, 64)).item() for p in (start_a, start_b)]
    print(f"distance {r:>3}: from position 11 {direct[0]:.3f}, from position 523 {direct[1]:.3f}, formula {likeness[r].item():.3f}")
rises = (likeness.diff() > 0).float().mean().item()
print(f"share of steps at which it rises: {rises:.2f}; mean over distances 0–99, 100–199, 200–299, 300–399:", end=" ")
print([f"{part.mean().item():.1f}" for part in likeness.split(100)])
plots.curves({"D = 64": (reach, likeness)}, "distance r", "inner product", "Falls on average, not steadily")
plt.show()

# %% [markdown]
# The inner product depends on the distance alone, and not on its sign.
# It falls on average; but it goes up and down on the way, so two far positions can look nearer than two close ones.
#
# ### 2.4 A step is a rotation <small>★★☆ · 20 min · 3 points</small>
# The authors hoped that a model could learn to attend by *relative* position, because a step by $r$ is the same linear map everywhere: there is a matrix $M_r$ with $M_r\,s(p) = s(p + r)$ for **every** $p$, where $s(p)$ is the sinusoidal vector as a column, interleaved.
# Find it.
# Start with one pair of columns and $\sin(a + b) = \sin a \cos b + \cos a \sin b$, $\cos(a + b) = \cos a \cos b - \sin a \sin b$: that is a $2 \times 2$ block.
# (`torch.block_diag` puts blocks together.)


# %% exercise="shift-matrix"
def shift_matrix(r, D, base=10000.0):
    """The matrix M (D, D) with M @ s(p) = s(p + r) for every position p, s interleaved; r is a Python integer."""
    ### BEGIN SOLUTION
    blocks = []
    for angle in r * frequencies(D, base):
        c, s = angle.cos(), angle.sin()
        blocks.append(torch.stack([torch.stack([c, s]), torch.stack([-s, c])]))
    return torch.block_diag(*blocks)
    ### END SOLUTION


# %% test="shift-matrix" points=3
check = Check("shift-matrix", points=3)
check.close(check.run(shift_matrix, 0, 6, shape=(6, 6)), torch.eye(6), "a step of 0 changes nothing: M_0 is the identity", atol=1e-5)
two = check.run(shift_matrix, 1, 2, shape=(2, 2))
check.close(
    two.float() @ torch.tensor([0.0, 1.0]),
    [math.sin(1), math.cos(1)],
    "D = 2: M_1 must take s(0) = (0, 1) to s(1) = (sin 1, cos 1)",
    wrong={
        "the step goes backwards: M_1 takes s(0) to s(−1). Is the block transposed?": [-math.sin(1), math.cos(1)],
        "the block is written for (cos, sin); here the sine comes first": [math.cos(1), math.sin(1)],
    },
)
there, back = check.run(shift_matrix, 3, 6, shape=(6, 6)), check.run(shift_matrix, -3, 6, shape=(6, 6))
check.close(there.float() @ back.float(), torch.eye(6), "three steps on and three steps back: M_3 M_−3 is the identity", atol=1e-5)
### BEGIN HIDDEN TESTS
for step, width, root in [(5, 6, 10000.0), (-2, 8, 50.0), (12, 2, 10000.0)]:
    got = check.run(shift_matrix, step, width, root, shape=(width, width))
    speed = root ** (-torch.arange(0, width, 2).double() / width)
    spots = torch.arange(0, 40, 3).double()[:, None]
    before, after, backwards = (
        torch.stack([((spots + z) * speed).sin(), ((spots + z) * speed).cos()], -1).flatten(-2) for z in (0, step, -step)
    )
    usual = 10000.0 ** (-torch.arange(0, width, 2).double() / width)
    plain_base = torch.block_diag(
        *[torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]]) for a in (step * usual).tolist()]
    )
    cs, sn = torch.diag((step * speed).cos()), torch.diag((step * speed).sin())
    check.close(
        (got.double() @ before.T).T.float(),
        after.float(),
        "M_r s(p) is not s(p + r) for every p: check each 2 × 2 block and its frequency",
        atol=1e-4,
        wrong={
            "the step goes backwards: the signs of the sines are exchanged": backwards.float(),
            "the argument `base` is not used": (plain_base.double() @ before.T).T.float(),
            "this matrix is for the layout `halves`; here sine and cosine alternate": (
                torch.cat([torch.cat([cs, sn], 1), torch.cat([-sn, cs], 1)]) @ before.T
            ).T.float(),
        },
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# Each block is a rotation.
# Keep that in mind for Part 5, which applies the rotation to queries and keys themselves.
#
# ## 3 Learned positions
#
# BERT and GPT-2 have a table with one learned row for each position, up to some largest length $L$, and add row $p$ to the embedding at position $p$.
# Simple, and good up to $L$.
# Beyond $L$ there is no row, and nothing to fall back on.
#
# ### 3.1 A table with an end <small>★☆☆ · 10 min · 2 points</small>
# The first of the $T$ embeddings stands at position `start` (0 unless the sequence goes on from an earlier piece).
# Refuse what is beyond the table with a `ValueError`: a wrong row would be worse.


# %% exercise="learned"
def add_learned(x, table, start=0):
    """x (B, T, D) plus rows start … start + T - 1 of table (L, D). Raises ValueError if the table has no such rows."""
    ### BEGIN SOLUTION
    T = x.shape[1]
    if start + T > len(table):
        raise ValueError(f"positions up to {start + T - 1}, but the table ends at {len(table) - 1}")
    return x + table[start : start + T]
    ### END SOLUTION


# %% test="learned" points=2
check = Check("learned", points=2)
x, rows = randn(2, 3, 4), randn(6, 4)
check.close(
    check.run(add_learned, x, rows, shape=(2, 3, 4)),
    x + rows[:3],
    "every sequence of the batch gets rows 0, 1, 2 of the table",
    wrong={
        "the same row is added everywhere: position t gets row t": x + rows[0],
        "the last rows are used; the first position has row 0": x + rows[-3:],
    },
)
check.close(
    check.run(add_learned, x, rows, 2),
    x + rows[2:5],
    "with start = 2 the rows are 2, 3, 4",
    wrong={"`start` is not used": x + rows[:3], "the first row is `start`, not the one after it": x + rows[3:6]},
)
check.raises(add_learned, randn(2, 7, 4), rows, error="ValueError", hint="seven positions, six rows: raise a ValueError")
check.unchanged(add_learned, x, rows)
### BEGIN HIDDEN TESTS
check.close(
    check.run(add_learned, torch.zeros(1, 6, 4), rows, shape=(1, 6, 4))[0],
    rows,
    "a sequence as long as the table is allowed: look at `>` and `>=`",
)
check.close(
    check.run(add_learned, torch.zeros(1, 2, 4), rows, 4, shape=(1, 2, 4))[0],
    rows[4:],
    "start = 4 and T = 2 just fit into six rows: look at `>` and `>=`",
)
check.raises(
    add_learned,
    randn(1, 3, 4),
    rows,
    4,
    error="ValueError",
    hint="start + T counts, not T alone: positions 4, 5, 6 do not fit into six rows",
)
check.raises(
    add_learned,
    randn(1, 1, 4),
    rows,
    6,
    error="ValueError",
    hint="a single position beyond the table must be refused, too: nothing may be clipped or wrapped",
)
check.gradients(
    lambda a, b: add_learned(a, b, 1),
    lambda a, b: a + b[1:4],
    (x, rows),
    "the gradients are wrong, or do not reach the table: then it cannot be learned",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 4 Relative positions
#
# Shaw, Uszkoreit and Vaswani (2018) say what is meant: not "I am at 17", but "you are three before me".
# There is a learned vector $a_r$ for each distance $r$, and it enters the scores as if it were part of the key:
#
# $$ e_{ij} = \frac{q_i \cdot (k_j + a_{j - i})}{\sqrt d} = \frac{q_i \cdot k_j}{\sqrt d} + \underbrace{\frac{q_i \cdot a_{j-i}}{\sqrt d}}_{b_{ij}} . $$
#
# So it is a bias of the scores, one that depends on the query.
# Distances are clipped to $-c, \ldots, c$: beyond $c$, far is far.
# That leaves $2c + 1$ vectors, in a table whose row 0 is for $-c$ and whose last row, $2c$, is for $+c$.
# (They add such vectors to the values, too, and report that leaving those out hardly changes their translation results.)
#
# ### 4.1 Which row? <small>★☆☆ · 10 min · 2 points</small>
# The distance is the **key's position minus the query's**: negative for the past.


# %% exercise="relative-index"
def relative_index(q_positions, k_positions, clip):
    """Rows of a table with 2 * clip + 1 rows: (n, m), entry [i, j] is k_positions[j] - q_positions[i], clipped, plus clip."""
    ### BEGIN SOLUTION
    distance = k_positions[None, :] - q_positions[:, None]  # (n, m)
    return distance.clamp(-clip, clip) + clip
    ### END SOLUTION


# %% test="relative-index" points=2
check = Check("relative-index", points=2)
got = check.run(relative_index, torch.arange(4), torch.arange(4), 2, shape=(4, 4))
check.equal(got.dtype.is_floating_point, False, "these are rows of a table: whole numbers, an integer tensor")
check.equal(
    got.tolist(),
    [[2, 3, 4, 4], [1, 2, 3, 4], [0, 1, 2, 3], [0, 0, 1, 2]],
    "for T = 4 and clip 2: the diagonal is row 2, one to the right is row 3, far to the left is row 0",
    wrong={
        "the sign is wrong: the distance is the key's position minus the query's, rows are queries": [
            [2, 1, 0, 0],
            [3, 2, 1, 0],
            [4, 3, 2, 1],
            [4, 4, 3, 2],
        ],
        "`clip` is not added: a negative index counts from the end of the table, without any error": [
            [0, 1, 2, 2],
            [-1, 0, 1, 2],
            [-2, -1, 0, 1],
            [-2, -2, -1, 0],
        ],
        "the distances are not clipped: the table ends at 2 · clip": [[2, 3, 4, 5], [1, 2, 3, 4], [0, 1, 2, 3], [-1, 0, 1, 2]],
        "the sign of the distance is lost: before and after are different": [[2, 3, 4, 4], [3, 2, 3, 4], [4, 3, 2, 3], [4, 4, 3, 2]],
    },
)
### BEGIN HIDDEN TESTS
asks, keys_at = torch.tensor([9, 3]), torch.tensor([0, 8, 9, 12, 30])
want = [[0, 3, 4, 7, 8], [1, 8, 8, 8, 8]]
check.equal(
    check.run(relative_index, asks, keys_at, 4, shape=(2, 5), hint="one row for each query, one column for each key"),
    want,
    "queries at 9 and 3, keys elsewhere: use the positions that are given, not 0, 1, 2, …",
)
check.equal(
    check.run(relative_index, torch.tensor([5]), torch.tensor([5]), 3), [[3]], "one query, one key, at the same place: the middle row"
)
check.equal(check.run(relative_index, torch.arange(2), torch.arange(3), 0), [[0] * 3] * 2, "clip 0: there is one row for all")
check.unchanged(relative_index, asks, keys_at, 4)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.2 The bias <small>★★☆ · 15 min · 3 points</small>
# $b_{ij} = q_i \cdot a_{j-i} / \sqrt d$.
# All heads and sequences share the table.
# How large `clip` is, the table says: it has $2c + 1$ rows.


# %% exercise="shaw-bias"
def shaw_bias(q, table, q_positions, k_positions):
    """Bias (..., n, m) of queries q (..., n, d) with a table (2 * clip + 1, d) of relative vectors: q_i · a_ij / sqrt(d)."""
    ### BEGIN SOLUTION
    vectors = table[relative_index(q_positions, k_positions, len(table) // 2)]  # (n, m, d)
    return torch.einsum("...nd,nmd->...nm", q, vectors) / q.shape[-1] ** 0.5
    ### END SOLUTION


# %% test="shaw-bias" points=3
check = Check("shaw-bias", points=3)
three = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])  # before, here, after
asks = torch.tensor([[2.0, 4.0, 6.0, 0.0], [20.0, 40.0, 60.0, 0.0]])
got = check.run(shaw_bias, asks, three, torch.arange(2), torch.arange(2), shape=(2, 2))
check.close(
    got,
    [[2.0, 3.0], [10.0, 20.0]],
    "query 0 with the keys here and after: 4 and 6, divided by √4. Query 1 with the keys before and here: 20 and 40, divided by 2",
    wrong={
        "the products are not divided by the root of d": [[4.0, 6.0], [20.0, 40.0]],
        "the products are divided by d, not by its root": [[1.0, 1.5], [5.0, 10.0]],
        "before and after are exchanged: the distance is the key's position minus the query's": [[2.0, 1.0], [30.0, 20.0]],
        "the vectors are multiplied with the wrong query: b_ij uses q_i, the row": [[2.0, 30.0], [1.0, 20.0]],
    },
)
q, rows = randn(2, 3, 5, 4), randn(7, 4)
deep = check.run(
    shaw_bias, q, rows, torch.arange(5), torch.arange(6), shape=(2, 3, 5, 6), hint="any number of axes may stand in front of (n, d)"
)
check.unchanged(shaw_bias, q, rows, torch.arange(5), torch.arange(6))
### BEGIN HIDDEN TESTS
gap = (torch.arange(6)[None] - torch.arange(5)[:, None]).clamp(-3, 3)
check.close(
    deep,
    (q[..., None, :] * rows[gap + 3]).sum(-1) / 2,
    "the bias differs from q_i · a_ij / √d",
    wrong={
        "the products are not divided by the root of d": (q[..., None, :] * rows[gap + 3]).sum(-1),
        "before and after are exchanged": (q[..., None, :] * rows[3 - gap]).sum(-1) / 2,
        "the middle row of the table is for distance 0: `clip` is added to the distance": (q[..., None, :] * rows[gap]).sum(-1) / 2,
    },
)
shifted = check.run(shaw_bias, q, rows, torch.arange(5) + 100, torch.arange(6) + 100)
check.close(shifted, deep, "queries and keys moved on by 100 together: only distances count, so nothing may change")
single = check.run(shaw_bias, q[0, 0, :1], rows, torch.tensor([9]), torch.arange(10), shape=(1, 10))
check.close(
    single[0, :7], single[0, :1].expand(7), "a query at position 9: all keys at distance 3 and more share the first row of the table"
)
check.gradients(
    lambda a, b: shaw_bias(a, b, torch.arange(5), torch.arange(6)),
    lambda a, b: (a[..., None, :] * b[gap + 3]).sum(-1) / 2,
    (q, rows),
    "the gradients are wrong, or do not reach the table: then it cannot be learned",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 5 Rotary positions
#
# A rotation of both vectors by the same angle leaves their inner product alone; a rotation by *different* angles changes it by the difference.
# RoPE (Su et al., 2021) turns the query at position $m$ by $m\,\omega_i$ and the key at position $n$ by $n\,\omega_i$, in pairs of columns, with the frequencies of 2.1 for width $d$.
# Nothing is added anywhere, and values are not turned.
# For one pair $(a, b)$ at position $p$:
#
# $$ \begin{pmatrix} a' \\ b' \end{pmatrix} = \begin{pmatrix} \cos p\omega_i & -\sin p\omega_i \\ \sin p\omega_i & \phantom{-}\cos p\omega_i \end{pmatrix} \begin{pmatrix} a \\ b \end{pmatrix}. $$
#
# ### 5.1 Turn, in both pairings <small>★★★ · 25 min · 5 points</small>
# Which two columns make pair $i$?
# Again two conventions are in use, and a checkpoint works with one of them only:
#
# - `"interleaved"`: columns $2i$ and $2i + 1$ (the paper, the original LLaMA code);
# - `"halves"`: columns $i$ and $i + d/2$ (GPT-NeoX, and the `transformers` library's LLaMA).
#
# The result has the columns in the same places.
# `positions` says where each vector stands.
# It need not start at 0, and it broadcasts against the axes of `x` without the last: $(T,)$ serves all heads and sequences alike; one row for each sequence of $(B, H, T, d)$ is $(B, 1, T)$.
#
# *Before you run it:* does it matter for the scores whether queries and keys are turned to the left or to the right?


# %% exercise="rope"
def rope(x, positions, pairing="interleaved", base=10000.0):
    """x (..., T, d), each pair of columns i turned by positions * frequencies(d, base)[i]. Same shape and dtype as x.

    positions: integers, broadcastable to (..., T). pairing: "interleaved" (columns 2i, 2i + 1) or "halves" (i, i + d / 2).
    """
    ### BEGIN SOLUTION
    angles = positions[..., None] * frequencies(x.shape[-1], base)  # (..., T, d / 2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = (x[..., 0::2], x[..., 1::2]) if pairing == "interleaved" else x.chunk(2, dim=-1)
    turned = a * cos - b * sin, a * sin + b * cos
    return torch.stack(turned, dim=-1).flatten(-2) if pairing == "interleaved" else torch.cat(turned, dim=-1)
    ### END SOLUTION


# %% test="rope" points=5
check = Check("rope", points=5)
s, c = math.sin(1), math.cos(1)
slow_s, slow_c = math.sin(0.01), math.cos(0.01)
pair = torch.tensor([[1.0, 0.0, 2.0, 0.0]])
got = check.run(rope, pair, torch.tensor([1]), shape=(1, 4))
check.close(
    got,
    [[c, s, 2 * slow_c, 2 * slow_s]],
    "interleaved: at position 1 the vector (1, 0, 2, 0) becomes (cos 1, sin 1, 2 cos 0.01, 2 sin 0.01)",
    wrong={
        "you turn the other way: a' = a cos − b sin, b' = a sin + b cos. Distances alone would still decide, but with the sign turned round, and no checkpoint would work": [
            [c, -s, 2 * slow_c, -2 * slow_s]
        ],
        "columns 0 and 2 are paired; interleaved pairs columns 0 and 1": [[c - 2 * s, 0.0, s + 2 * c, 0.0]],
        "the turned columns are put together as halves; each has to go back to its own place": [[c, 2 * slow_c, s, 2 * slow_s]],
        "the angles stand as (ω_0, ω_1, ω_0, ω_1), which belongs to halves; interleaved columns need (ω_0, ω_0, ω_1, ω_1)": [
            [c, slow_s, 2 * c, 2 * slow_s]
        ],
        "nothing is turned: are the given positions used?": [[1.0, 0.0, 2.0, 0.0]],
    },
)
got = check.run(rope, pair, torch.tensor([1]), pairing="halves", shape=(1, 4))
check.close(
    got,
    [[c - 2 * s, 0.0, s + 2 * c, 0.0]],
    "halves: at position 1 the vector (1, 0, 2, 0) becomes (cos 1 − 2 sin 1, 0, sin 1 + 2 cos 1, 0)",
    wrong={
        "the argument `pairing` is not used: halves pairs columns i and i + d/2": [[c, s, 2 * slow_c, 2 * slow_s]],
        "halves: you turn the other way": [[c + 2 * s, 0.0, 2 * c - s, 0.0]],
        "the angles stand as (ω_0, ω_0, ω_1, ω_1), which belongs to interleaved; in halves they are (ω_0, ω_1, ω_0, ω_1)": [
            [c - 2 * s, 0.0, slow_s + 2 * slow_c, 0.0]
        ],
    },
)
x = randn(2, 3, 5, 8)
turned = check.run(rope, x, torch.arange(5), shape=(2, 3, 5, 8))
check.close(turned.norm(dim=-1), x.norm(dim=-1), "a rotation keeps the length of every vector: check the signs of a' and b'")
check.close(turned[..., 0, :], x[..., 0, :], "position 0 is not turned at all")
check.unchanged(rope, x, torch.arange(5))
### BEGIN HIDDEN TESTS


def turn_slowly(z, spots, pairs, root=10000.0, sign=1):
    width, result = z.shape[-1], z.clone()
    for i, (left, right) in enumerate(pairs):
        angle = sign * spots.double() * root ** (-2 * i / width)
        result[..., left] = (z[..., left] * angle.cos() - z[..., right] * angle.sin()).float()
        result[..., right] = (z[..., left] * angle.sin() + z[..., right] * angle.cos()).float()
    return result


spots = torch.tensor([[[7, 0, 90, 3, 3]], [[1, 2, 4, 8, 60]]])
near, apart = [(2 * i, 2 * i + 1) for i in range(4)], [(i, i + 4) for i in range(4)]
loose = 3e-4  # angles up to 90 in float32, times entries up to 4
for kind, pairs, others in [("interleaved", near, apart), ("halves", apart, near)]:
    for root in (10000.0, 700.0):
        got = check.run(rope, x, spots, pairing=kind, base=root, shape=(2, 3, 5, 8), hint="positions of shape (B, 1, T) must broadcast")
        check.close(
            got,
            turn_slowly(x, spots, pairs, root),
            f"pairing {kind}, base {root:g}, positions in any order: the pairs are not turned by position × frequency",
            atol=loose,
            wrong={
                f"{kind}: you turn the other way: a' = a cos − b sin, b' = a sin + b cos": turn_slowly(x, spots, pairs, root, -1),
                f"{kind}: the other pairing is used": turn_slowly(x, spots, others, root),
                "the argument `base` is not used": turn_slowly(x, spots, pairs),
                "the argument `positions` is not used: it need not be 0, 1, 2, …": turn_slowly(x, torch.arange(5), pairs, root),
            },
        )
check.close(
    check.run(rope, x, torch.arange(5)),
    turn_slowly(x, torch.arange(5), near),
    "with the default arguments: the pairing is interleaved, the base 10000",
    atol=loose,
)
lone = check.run(rope, randn(1, 2), torch.tensor([400]), shape=(1, 2), hint="d = 2, one vector, no axes in front")
tall = check.run(rope, x[0, 0], torch.arange(5) + 30, shape=(5, 8), hint="x without axes in front, positions from 30 on")
check.close(
    tall, turn_slowly(x[0, 0], torch.arange(5) + 30, near), "positions that start at 30: use the numbers that are given", atol=loose
)
check.gradients(
    lambda z: rope(z, torch.arange(5)),
    lambda z: torch.stack(
        [
            z[..., 0::2] * (torch.arange(5.0)[:, None] * 10000 ** (-torch.arange(0, 8, 2) / 8)).cos()
            - z[..., 1::2] * (torch.arange(5.0)[:, None] * 10000 ** (-torch.arange(0, 8, 2) / 8)).sin(),
            z[..., 0::2] * (torch.arange(5.0)[:, None] * 10000 ** (-torch.arange(0, 8, 2) / 8)).sin()
            + z[..., 1::2] * (torch.arange(5.0)[:, None] * 10000 ** (-torch.arange(0, 8, 2) / 8)).cos(),
        ],
        -1,
    ).flatten(-2),
    (x,),
    "the gradients through the rotation are wrong, or do not flow",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: turning dials
# Four pairs of a query and of a key, with $\omega = 1, 0.1, 0.01, 0.001$ ($d = 8$).
# Move $m$ and $n$ one by one, then both together.
# What changes the score, and what does not?

# %%
rotary_dial()

# %% [markdown]
# ### 5.2 The score, from the distance alone <small>★★★ · 20 min · 3 points</small>
# Derive what the dials show.
# Write $R_p$ for the rotation of one pair by $p\,\omega$, so that $R_m^\top R_n = R_{n - m}$.
# Work out $(R_m q) \cdot (R_n k) = q^\top R_{n-m}\, k$ for one pair in terms of $q_0, q_1, k_0, k_1$ and the angle, then sum over the pairs.
# $m$ and $n$ must drop out but for $r = m - n$, the query's position minus the key's.


# %% exercise="rope-score"
def rope_score(q, k, r, base=10000.0):
    """Inner product of q (d,), turned to position m, and k (d,), turned to position n, for r = m - n. Interleaved pairs, unscaled.

    r is an integer tensor (...), and so is the shape of the result.
    """
    ### BEGIN SOLUTION
    angles = r[..., None] * frequencies(len(q), base)  # (..., d / 2)
    q0, q1, k0, k1 = q[0::2], q[1::2], k[0::2], k[1::2]
    return ((q0 * k0 + q1 * k1) * angles.cos() + (q0 * k1 - q1 * k0) * angles.sin()).sum(dim=-1)
    ### END SOLUTION


# %% test="rope-score" points=3
check = Check("rope-score", points=3)
east, north = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
check.close(
    check.run(rope_score, east, east, torch.tensor([0, 1, -1]), shape=(3,)),
    [1.0, math.cos(1), math.cos(1)],
    "two equal vectors of length 1: the score is the cosine of the angle between them, here of r",
)
check.close(
    check.run(rope_score, east, north, torch.tensor([0, 1, -1]), shape=(3,)),
    [0.0, math.sin(1), -math.sin(1)],
    "q = (1, 0), k = (0, 1): turning the query on by one radian brings it nearer to the key, so the score for r = 1 is +sin 1",
    wrong={
        "the sign of the sine is wrong: r is the query's position minus the key's, so r = 1 turns the query": [
            0.0,
            -math.sin(1),
            math.sin(1),
        ],
        "the part with the sine is missing: q_0 k_1 and q_1 k_0 do not drop out": [0.0, 0.0, 0.0],
        "the sign of the distance is lost: before and after are different": [0.0, math.sin(1), math.sin(1)],
    },
)
### BEGIN HIDDEN TESTS
a, b, gaps = randn(6), randn(6), torch.tensor([[0, 5, -3], [17, 1, 40]])


def by_angle(root=10000.0, sign=1, cross=1.0, flip=1.0, mean=1.0):
    turns = sign * gaps[..., None].double() * root ** (-torch.arange(0, 6, 2).double() / 6)
    even, odd = a[0::2] * b[0::2] + a[1::2] * b[1::2], a[0::2] * b[1::2] - flip * a[1::2] * b[0::2]
    return ((even * turns.cos() + cross * odd * turns.sin()).sum(-1) / mean).float()


for root in (10000.0, 90.0):
    check.close(
        check.run(rope_score, a, b, gaps, root, shape=(2, 3)),
        by_angle(root),
        f"base {root:g}: the score differs from the inner product of the two turned vectors",
        atol=3e-4,
        wrong={
            "the sign of the sine is wrong: r is the query's position minus the key's": by_angle(root, sign=-1),
            "the part with the sine is missing": by_angle(root, cross=0.0),
            "q_0 k_1 and q_1 k_0 have opposite signs": by_angle(root, flip=-1.0),
            "the argument `base` is not used": by_angle(),
            "the pairs are summed, not averaged": by_angle(root, mean=3.0),
            "the score is not divided by the root of d here": by_angle(root, mean=6**0.5),
        },
    )
check.close(check.run(rope_score, a, b, torch.tensor(0)), a @ b, "at distance 0 it is the plain inner product, one number")
check.gradients(
    lambda y, z: rope_score(y, z, torch.tensor([0])),
    lambda y, z: (y @ z)[None],
    (a, b),
    "the gradients are wrong, or do not flow: use torch operations",
)
### END HIDDEN TESTS
check.score()

# %%
seed(1)
one_query, one_key = torch.randn(2, 64)
span = torch.arange(0, 200)
for m, n in [(5, 2), (105, 102), (1005, 1002)]:
    turned_score = rope(one_query[None], torch.tensor([m]))[0] @ rope(one_key[None], torch.tensor([n]))[0]
    print(f"m = {m:>4}, n = {n:>4}: {turned_score:.4f}; from the distance alone: {rope_score(one_query, one_key, torch.tensor(3)):.4f}")
plots.curves(
    {"q = k = ones": (span, rope_score(torch.ones(64), torch.ones(64), span)), "random q, k": (span, rope_score(one_query, one_key, span))},
    "distance m − n",
    "score",
    "RoPE: the distance decides, the content says how",
)
plt.show()

# %% [markdown]
# With $q = k = (1, 1, \ldots, 1)$ this is twice the curve of 2.3: RoPE moved the sinusoids from the embeddings into the scores.
# With other vectors it is another curve: each query can choose, by its content, which distances it likes.
# And the direction of the rotation does matter: turning the other way is the same as turning $r$ into $-r$, which changes the part with the sine.
# A model can be trained with either direction, but not trained with one and run with the other.
#
# ### 5.3 From one pairing to the other <small>★★☆ · 10 min · 2 points</small>
# The two pairings are the same model with the columns in another order.
# Find the order: an index with `rope(x, p, "interleaved")[..., order]` equal to `rope(x[..., order], p, "halves")` for every `x` and `p`.
# (Whoever converts LLaMA checkpoints applies it to the rows of $W_q$ and $W_k$.)


# %% exercise="pairing-order"
def pairing_order(d):
    """The order (d,) of columns, an integer tensor, that turns interleaved pairs into halves: x[..., order]."""
    ### BEGIN SOLUTION
    return torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])
    ### END SOLUTION


# %% test="pairing-order" points=2
check = Check("pairing-order", points=2)
got = check.run(pairing_order, 6, shape=(6,))
check.equal(got.dtype.is_floating_point, False, "an order is an index: whole numbers, an integer tensor")
check.equal(
    sorted(got.tolist()) if got.numel() else got,
    [0, 1, 2, 3, 4, 5],
    "every column occurs exactly once: an order of 0 … d − 1, whole numbers",
)
check.true((got[0] == 0) & (got[3] == 1), "columns 0 and 1 are the first pair: in halves (d = 6) they stand at places 0 and 3")
check.equal(check.run(pairing_order, 2), [0, 1], "for d = 2 the two pairings are the same")
### BEGIN HIDDEN TESTS
for width in (6, 10):
    check.equal(
        check.run(pairing_order, width),
        [*range(0, width, 2), *range(1, width, 2)],
        "the order is not the one that turns interleaved pairs into halves",
        wrong={
            "this is the way back, from halves to interleaved: place j of the result holds column order[j]": [
                (i // 2) + (width // 2) * (i % 2) for i in range(width)
            ],
            "nothing is reordered": list(range(width)),
            "the second columns of the pairs come first: then every rotation goes the other way": [
                *range(1, width, 2),
                *range(0, width, 2),
            ],
            "the second half is reversed: pair i must stand at i and i + d/2": [*range(0, width, 2), *range(width - 1, 0, -2)],
        },
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 6 ALiBi
#
# Press, Smith and Lewis (2022) put nothing in at all.
# They only make looking far away cost something: head $h$ subtracts a multiple of the distance, $b_{ij} = -\mu_h\,|i - j|$, from the scores.
# The slopes $\mu_h$ are fixed, not learned.
#
# ### 6.1 Slopes for any number of heads <small>★★☆ · 20 min · 3 points</small>
# For a power of two $H = N$ the slopes are $2^{-8h/N}$ for $h = 1, \ldots, N$: for eight heads $\frac12, \frac14, \ldots, \frac1{256}$.
# If $H$ is no power of two, let $N$ be the largest power of two below $H$.
# Take the $N$ slopes for $N$ heads; then, for the remaining $H - N$ heads, go through the slopes for $2N$ heads and take every other one: the first, the third, the fifth, and so on.
# (The second, fourth, … are there already.)
# The order is as told; nothing is sorted.


# %% exercise="alibi-slopes"
def alibi_slopes(H):
    """The slopes (H,) of H heads, a positive floating tensor; H is any positive integer."""
    ### BEGIN SOLUTION
    N = 2 ** (H.bit_length() - 1)  # the largest power of two that is at most H
    slopes = 2.0 ** (-8 * torch.arange(1, N + 1) / N)
    between = 2.0 ** (-8 * torch.arange(1, 2 * N + 1) / (2 * N))[0::2]
    return torch.cat([slopes, between[: H - N]])
    ### END SOLUTION


# %% test="alibi-slopes" points=3
check = Check("alibi-slopes", points=3)
check.close(
    check.run(alibi_slopes, 8, shape=(8,), hint="one slope for each head"),
    [2.0**-h for h in range(1, 9)],
    "eight heads: 1/2, 1/4, …, 1/256",
    rtol=1e-5,  # a list made from float32 is right, too
    wrong={
        "h starts at 1: the first slope is 1/2, not 1": [2.0**-h for h in range(8)],
        "slopes are positive here: the minus sign comes with the bias": [-(2.0**-h) for h in range(1, 9)],
        "the order is reversed: the steepest head comes first": [2.0**-h for h in range(8, 0, -1)],
    },
)
check.close(
    check.run(alibi_slopes, 4),
    [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8],
    "four heads: 2^(−8h/4) is 1/4, 1/16, 1/64, 1/256",
    rtol=1e-5,
    wrong={"the exponent is −8h/H: with fewer heads the steps are larger": [0.5, 0.25, 0.125, 0.0625]},
)
check.close(
    check.run(alibi_slopes, 3, shape=(3,)),
    [2.0**-4, 2.0**-8, 2.0**-2],
    "three heads: the slopes of two heads (1/16, 1/256), then the first slope of four heads (1/4)",
    rtol=1e-5,
    wrong={
        "three is no power of two: do not put H = 3 into the formula; start from the slopes of two heads": [
            2.0 ** (-8 * h / 3) for h in (1, 2, 3)
        ],
        "the slopes are sorted; keep those of N heads first": [2.0**-2, 2.0**-4, 2.0**-8],
        "these are the first three slopes of four heads: start from the slopes of two heads": [2.0**-2, 2.0**-4, 2.0**-6],
        "the extra slope is there already: take the first, third, … slope of 2N heads, not the second": [2.0**-4, 2.0**-8, 2.0**-4],
    },
)
### BEGIN HIDDEN TESTS
for heads in (1, 2, 5, 6, 7, 12, 16, 20, 31, 33):
    power = max(2**e for e in range(7) if 2**e <= heads)
    first_ones = [2.0 ** (-8 * h / power) for h in range(1, power + 1)]
    check.close(
        check.run(alibi_slopes, heads, shape=(heads,), hint=f"one slope for each of {heads} heads"),
        first_ones + [2.0 ** (-8 * h / (2 * power)) for h in range(1, 2 * power, 2)][: heads - power],
        f"the slopes of {heads} heads are wrong",
        rtol=1e-5,
        wrong={
            "the number of heads is no power of two: start from the largest power of two below": [
                2.0 ** (-8 * h / heads) for h in range(1, heads + 1)
            ],
            "take the first, third, fifth, … slope of 2N heads: the second, fourth, … are there already": first_ones
            + [2.0 ** (-8 * h / (2 * power)) for h in range(2, 2 * power + 1, 2)][: heads - power],
            "take every other slope of 2N heads, not the first ones in a row": first_ones
            + [2.0 ** (-8 * h / (2 * power)) for h in range(1, heads - power + 1)],
            "these are the first slopes of 2N heads: start from the slopes of N heads": [
                2.0 ** (-8 * h / (2 * power)) for h in range(1, heads + 1)
            ],
        },
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 6.2 The bias <small>★☆☆ · 10 min · 2 points</small>
# $b_{hij} = -\mu_h\,|p_i - p_j|$ with the positions $p_i$ of the query and $p_j$ of the key.
# With a causal mask only $j \le i$ counts; without one the same formula looks both ways.


# %% exercise="alibi-bias"
def alibi_bias(q_positions, k_positions, slopes):
    """Bias (H, n, m): minus slope times distance, for queries (n,), keys (m,) and slopes (H,)."""
    ### BEGIN SOLUTION
    distance = (q_positions[:, None] - k_positions[None, :]).abs()  # (n, m)
    return -slopes[:, None, None] * distance
    ### END SOLUTION


# %% test="alibi-bias" points=2
check = Check("alibi-bias", points=2)
got = check.run(
    alibi_bias,
    torch.arange(3),
    torch.arange(3),
    torch.tensor([1.0, 0.25]),
    shape=(2, 3, 3),
    hint="the axes are head, query, key, in this order",
)
steep = torch.tensor([[0.0, -1.0, -2.0], [-1.0, 0.0, -1.0], [-2.0, -1.0, 0.0]])
check.close(
    got[0],
    steep,
    "slope 1: the bias is minus the distance, 0 on the diagonal and lower the farther away the key is",
    wrong={
        "far keys are preferred: the bias is minus the slope times the distance": -steep,
        "the distance has a sign here: take its absolute value, or one side is rewarded": torch.tensor(
            [[0.0, 1.0, 2.0], [-1.0, 0.0, 1.0], [-2.0, -1.0, 0.0]]
        ),
        "one side is rewarded: take the absolute value of the distance": torch.tensor(
            [[0.0, -1.0, -2.0], [1.0, 0.0, -1.0], [2.0, 1.0, 0.0]]
        ),
        "the distance is squared: ALiBi is linear": -(steep**2),
        "this uses the key's position alone: after a causal softmax that is the same, but here the distance was asked for": torch.arange(
            3.0
        ).expand(3, 3),
        "distances in the future are set to 0: the formula looks both ways, hiding is the mask's work": steep.tril(),
    },
)
check.close(got[1], steep / 4, "slope 1/4: every head has its own slope, from `slopes`")
### BEGIN HIDDEN TESTS
asks, keys_at, slope = torch.tensor([9, 3]), torch.tensor([0, 8, 9, 12, 30]), torch.tensor([0.5, 0.25, 0.125])
got = check.run(alibi_bias, asks, keys_at, slope, shape=(3, 2, 5), hint="the axes are head, query, key, in this order")
check.close(
    got,
    -slope[:, None, None] * torch.tensor([[9, 1, 0, 3, 21], [3, 5, 6, 9, 27]]),
    "queries at 9 and 3, keys elsewhere: use the positions that are given",
    wrong={
        "the argument `slopes` is not used": -torch.tensor([2.0**-4, 2.0**-8, 2.0**-2])[:, None, None]
        * torch.tensor([[9, 1, 0, 3, 21], [3, 5, 6, 9, 27]])
    },
)
check.true(got[:, 1].diff(dim=-1) < 0, "from the query on, the bias falls steadily")
check.close(
    check.run(alibi_bias, torch.tensor([4]), torch.tensor([4]), torch.tensor([1.0])), [[[0.0]]], "one head, one query, one key: no distance"
)
check.unchanged(alibi_bias, asks, keys_at, slope)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 7 T5's buckets
#
# T5 (Raffel et al., 2020) learns one number per head for each *bucket* of distances, and adds it to the score.
# (T5 leaves out the factor $1/\sqrt d$; here `attend` keeps it.)
# Near distances have a bucket each; far ones share buckets that grow wider, up to `max_distance`; everything beyond falls into the last.
# Let `distance` be the key's position minus the query's, as in Part 4.
#
# **One direction** (a causal decoder), $N$ buckets.
# Let $r = \max(-\text{distance}, 0)$, how far back the key is; keys in the future count as 0. Half of the buckets are exact, $E = N/2$ (`//`).
# Then
#
# $$ \mathrm{bucket}(r) = \begin{cases} r & r < E \\[2pt] \min\!\left(E + \left\lfloor \dfrac{\log (r/E)}{\log(r_{\max}/E)} (N - E) \right\rfloor,\; N - 1\right) & r \ge E . \end{cases} $$
#
# **Both directions** (an encoder): half of the buckets serve each side.
# Let $r = |\text{distance}|$, use the formula with $N/2$ in place of $N$, and add $N/2$ to the bucket where the distance is *positive* (the future).
#
# ### 7.1 The bucket <small>★★★ · 25 min · 4 points</small>
# *Before you run it:* with 32 buckets in both directions and $r_{\max} = 128$, how many distances have a bucket of their own?


# %% exercise="t5-bucket"
def t5_bucket(distance, bidirectional, buckets=32, max_distance=128):
    """T5's bucket of each distance (key's position minus query's, an integer tensor (...)): integers (...) in 0 … buckets - 1."""
    ### BEGIN SOLUTION
    side = torch.zeros_like(distance)
    if bidirectional:
        buckets = buckets // 2
        side = (distance > 0) * buckets
        r = distance.abs()
    else:
        r = (-distance).clamp(min=0)
    exact = buckets // 2
    share = torch.log(r.clamp(min=exact) / exact) / math.log(max_distance / exact)
    far = exact + (share * (buckets - exact)).long()
    return side + torch.where(r < exact, r, far.clamp(max=buckets - 1))
    ### END SOLUTION


# %% test="t5-bucket" points=4
check = Check("t5-bucket", points=4)
backwards = -torch.tensor([0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 15, 17, 100])
got = check.run(t5_bucket, backwards, False, 8, 16, shape=(14,), hint="one bucket for each distance")
check.equal(got.dtype.is_floating_point, False, "buckets are rows of a table: whole numbers, an integer tensor")
check.equal(
    got.tolist(),
    [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7, 7, 7],
    "one direction, 8 buckets, r_max = 16: r = 0 … 3 are exact, then 4–5, 6–7, 8–11, and all from 12 on share buckets",
    wrong={
        "the past is negative: a key before the query has a negative distance, and r is minus the distance": [0] * 14,
        "the last bucket is N − 1: everything farther belongs there": [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 13],
        "the logarithm is rounded; take the part before the point": [0, 1, 2, 3, 4, 5, 5, 6, 6, 7, 7, 7, 7, 7],
        "one direction has all the buckets: the halving is for both directions only": [0, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3],
    },
)
check.equal(
    check.run(t5_bucket, torch.tensor([1, 5, 200]), False, 8, 16),
    [0, 0, 0],
    "one direction: all keys in the future fall into bucket 0; the mask hides them anyway",
)
got = check.run(t5_bucket, torch.tensor([-20, -5, -2, -1, 0, 1, 2, 5, 20]), True, 8, 16)
check.equal(
    got,
    [3, 2, 2, 1, 0, 5, 6, 6, 7],
    "both directions, 8 buckets: 0 … 3 for the past and the query itself, 4 … 7 for the future",
    wrong={
        "past and future are exchanged: N/2 is added where the distance is positive": [7, 6, 6, 5, 0, 1, 2, 2, 3],
        "distance 0 belongs to the first half: N/2 is added where the distance is greater than 0": [3, 2, 2, 1, 4, 5, 6, 6, 7],
        "the sign is lost: past and future need buckets of their own": [3, 2, 2, 1, 0, 1, 2, 2, 3],
        "each direction has half of the buckets: use N/2 in the formula, too": [7, 4, 2, 1, 0, 5, 6, 8, 11],
    },
)
### BEGIN HIDDEN TESTS


def bucket_by_powers(gap, total, most, both_ways):  # in whole numbers: (most/E)^(s/(N−E)) ≤ r/E, without any logarithm
    size = total // 2 if both_ways else total
    back, low = abs(gap) if both_ways else max(-gap, 0), size // 2
    wide = [e for e in range(size - low) if most**e * low ** (size - low - e) <= back ** (size - low)]
    return (back if back < low else low + max(wide)) + (size if both_ways and gap > 0 else 0)


for total, most, both_ways in [(32, 128, True), (32, 128, False), (12, 50, False), (20, 90, True), (4, 9, False)]:
    way = "both directions" if both_ways else "one direction"
    # where log(r/E) / log(r_max/E) · (N − E) is a whole number, rounding decides: such r are left out
    size = total // 2 if both_ways else total
    low = size // 2
    steps = [math.log(max(abs(g), low) / low) / math.log(most / low) * (size - low) for g in range(-2 * most, 2 * most + 1)]
    gaps = [g for g, z in zip(range(-2 * most, 2 * most + 1), steps, strict=True) if abs(g) <= low or abs(z - round(z)) > 1e-4]
    check.equal(
        check.run(t5_bucket, torch.tensor(gaps), both_ways, total, most),
        [bucket_by_powers(g, total, most, both_ways) for g in gaps],
        f"{way}, {total} buckets, r_max = {most}: a bucket is wrong. Check the exact half, the logarithm and the last bucket",
    )
grid = check.run(
    t5_bucket, torch.arange(6)[None] - torch.arange(5)[:, None], True, shape=(5, 6), hint="distances of any shape: (n, m) gives (n, m)"
)
check.equal(
    grid[0], [0, 17, 18, 19, 20, 21], "the default is 32 buckets and r_max = 128: the first keys in the future have buckets 17, 18, …"
)
past = check.run(t5_bucket, -torch.arange(300), False, shape=(300,))
check.true((past.diff() >= 0) & (past.diff() <= 1), "farther back never means a lower bucket, and no bucket is left out")
check.unchanged(lambda z: t5_bucket(z, True), torch.arange(-5, 6))
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 7.2 The bias <small>★☆☆ · 10 min · 2 points</small>
# The table has a row for each bucket and a column for each head.
# Look up, and bring the head's axis to the front.


# %% exercise="t5-bias"
def t5_bias(q_positions, k_positions, table, bidirectional, max_distance=128):
    """Bias (H, n, m) from a table (buckets, H), for queries at q_positions (n,) and keys at k_positions (m,)."""
    ### BEGIN SOLUTION
    distance = k_positions[None, :] - q_positions[:, None]  # (n, m)
    return table[t5_bucket(distance, bidirectional, len(table), max_distance)].permute(2, 0, 1)
    ### END SOLUTION


# %% test="t5-bias" points=2
check = Check("t5-bias", points=2)
names = torch.arange(8.0)[:, None] + torch.tensor([0.0, 100.0, 200.0])  # row b, column h: the number 100 h + b
got = check.run(
    t5_bias, torch.arange(4), torch.arange(5), names, True, 16, shape=(3, 4, 5), hint="the axes are head, query, key: use `permute`"
)
check.close(
    got[2, 0],
    [200.0, 205.0, 206.0, 206.0, 206.0],
    "head 2, first query, both directions, 8 buckets: buckets 0, 5, 6, 6, 6",
    wrong={
        "the distance is the key's position minus the query's: rows are queries": [200.0, 201.0, 202.0, 202.0, 202.0],
        "the number of buckets is the number of rows of the table, not 32": [200.0] * 5,
    },
)
check.close(
    check.run(t5_bias, torch.arange(4), torch.arange(5), names, False, 16, shape=(3, 4, 5))[0, 3],
    [3.0, 2.0, 1.0, 0.0, 0.0],
    "head 0, last query, one direction: three back, two back, one back, itself, and the future as 0",
    wrong={"the argument `bidirectional` is not used": [2.0, 2.0, 1.0, 0.0, 5.0]},
)
### BEGIN HIDDEN TESTS
numbers, asks, keys_at = randn(12, 5), torch.tensor([70, 3]), torch.tensor([0, 8, 69, 70, 71, 100])
got = check.run(
    t5_bias, asks, keys_at, numbers, False, 50, shape=(5, 2, 6), hint="one query far from the beginning: use the positions that are given"
)
check.close(
    got,
    torch.stack([numbers[[11, 11, 1, 0, 0, 0]], numbers[[3, 0, 0, 0, 0, 0]]]).permute(2, 0, 1),
    "queries at 70 and 3, twelve buckets, r_max = 50: the bias is wrong. Are `max_distance` and the number of rows handed on?",
)
middle = check.run(t5_bias, torch.tensor([9]), torch.tensor([0]), names, False, 12, shape=(3, 1, 1))
check.close(middle[0, 0, 0], 6.0, "nine back, eight buckets, r_max = 12: is `max_distance` handed on?")
check.gradients(
    lambda z: t5_bias(asks, keys_at, z, False, 50),
    lambda z: torch.stack([z[[11, 11, 1, 0, 0, 0]], z[[3, 0, 0, 0, 0, 0]]]).permute(2, 0, 1),
    (numbers,),
    "the gradients are wrong, or do not reach the table: then it cannot be learned",
)
### END HIDDEN TESTS
check.score()

# %%
steps_back = torch.arange(0, 160)
figure, axes = plt.subplots(1, 2, figsize=(13, 4))
falling = alibi_bias(torch.tensor([159]), torch.arange(160), alibi_slopes(6))[:, 0].flip(-1)  # (6, 160), nearest key first
plots.curves(
    {f"head {h}, slope {falling[h, 1].abs():.4f}": (steps_back, falling[h]) for h in (4, 0, 5, 1)},
    "keys back",
    "bias",
    "ALiBi, 4 of 6 heads",
    ax=axes[0],
)
axes[0].set_ylim(-12, 0.5)
plots.curves(
    {
        "one direction": (steps_back, t5_bucket(-steps_back, False)),
        "both directions, past": (steps_back, t5_bucket(-steps_back, True)),
        "both directions, future": (steps_back, t5_bucket(steps_back, True)),
    },
    "distance",
    "bucket",
    "T5: 32 buckets, up to 128",
    ax=axes[1],
)
figure.tight_layout()
plt.show()
both_sides = torch.arange(-200, 201)
numbers_used, how_many = t5_bucket(both_sides, True).unique(return_counts=True)
print(
    "buckets with a single distance:",
    int((how_many == 1).sum()),
    "· buckets never used:",
    sorted(set(range(32)) - set(numbers_used.tolist())),
)

# %% [markdown]
# ALiBi's bias falls steadily in every head; only the steepness differs.
# T5's buckets are exact nearby and coarse far away; what a bucket is worth is learned.
# In both directions the 15 distances from −7 to 7 have a bucket of their own, and bucket 16 stays empty: it would be the future at distance 0.
#
# ## 8 Longer than ever seen
#
# Now all six in the same model and the same task.
# The task is *recall*.
# Each token is a pair of one of 8 keys and one of 8 values.
# At every step the model has to give the value that the token's key had **the last time before**.
# Content says which earlier tokens have the same key; only position says which of them is the latest, and the longer the sequence, the more old ones there are.
# Guessing gives 1/8.
#
# The model has one layer of causal attention, `attend`, with 4 heads and width 64. It is trained on sequences of length $L = 32$ only and tested at lengths from 8 to $8L = 256$, always on the last eight positions.
# `Scheme` says where positions enter: `embed` changes the embeddings, `turn` the queries and keys, `bias` adds to the scores.
# Read the six lines: they are the summary of this notebook.
# "None" is the control.
#
# You may stop the cell (the ■ button): you get what there is so far, and running the cell again goes on from there.
#
# *Before you run it:* rank the six by their accuracy at length 256. Which will be good at 32 and bad at 256, and why?

# %%
L, D, H = 32, 64, 4


def at(x):
    """The positions 0 … T-1 of x (..., T, d)."""
    return torch.arange(x.shape[-2])


SCHEMES = {
    "sinusoidal": Scheme(embed=lambda x, table: x + sinusoidal(at(x), D)),
    "learned": Scheme(embed=add_learned, table=(L, D), longest=L),
    "Shaw": Scheme(bias=lambda q, k, table: shaw_bias(q, table, at(q), at(k)), table=(2 * 16 + 1, D // H)),
    "RoPE": Scheme(turn=lambda x: rope(x, at(x))),
    "ALiBi": Scheme(bias=lambda q, k, table: alibi_bias(at(q), at(k), alibi_slopes(H))),
    "T5": Scheme(bias=lambda q, k, table: t5_bias(at(q), at(k), table, bidirectional=False), table=(32, H)),
    "none": Scheme(),
}
results = extrapolation.experiment(
    SCHEMES,
    attend,
    length=L,
    tests=[8, 16, 32, 64, 128, 256],
    seeds=range(pick(smoke=1, laptop=3, gpu=5)),
    steps=pick(smoke=3, laptop=500, gpu=2000),
    sequences=pick(smoke=8, laptop=64, gpu=256),
)

# %%
ax = plots.curves(
    {name: (lengths, scores) for name, (lengths, scores) in results.items()},
    "test length",
    "share of right answers",
    f"Trained at {L}: mean and range over the seeds",
    log_x=True,
)
if "none" in results:  # the control, in grey
    ax.lines[-1].set(color="0.5", linestyle=":", marker="x")
    ax.collections[-1].set(color="0.5")
ax.axvline(L, color="0.3", linewidth=1)
ax.axhline(1 / extrapolation.VALUES, color="0.3", linewidth=1, linestyle=":")
ax.set(ylim=(0, 1.02), xticks=[8, 16, 32, 64, 128, 256], xticklabels=[8, 16, 32, 64, 128, 256])
ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
plt.show()

# %% [markdown]
# What we measured (500 steps, three seeds, two CPU cores; the range over the seeds is given).
# Your numbers will be close.
#
# | accuracy at length | 32 | 64 | 256 |
# | --- | --- | --- | --- |
# | sinusoidal | .80–.81 | .29–.33 | .14–.19 |
# | learned | .82–.85 | – | – |
# | Shaw, clipped at 16 | .95–.96 | .90 | .79–.83 |
# | RoPE | .85–.86 | .64–.68 | .34–.39 |
# | ALiBi | .78–.82 | .73–.78 | .75–.79 |
# | T5, `max_distance` 128 | .87–.89 | .54–.57 | .26–.28 |
# | none | .51–.52 | .35–.36 | .19–.21 |
#
# T5's fall may surprise you: its bias is defined at every distance.
# But *defined* is not *trained*.
# At length 32 no distance is larger than 31, so the buckets for 32 and more keep the numbers they started with.
# T5 itself was trained at length 512 with `max_distance` 128: there all buckets are in use.
# You can test this explanation: with `max_distance=24` everything from 24 on shares one bucket, and training at length 32 reaches it.
#
# *Before you run it:* sketch the new curve.

# %%
all_trained = Scheme(bias=lambda q, k, table: t5_bias(at(q), at(k), table, bidirectional=False, max_distance=24), table=(32, H))
fully_trained = extrapolation.experiment(
    {"T5, 24": all_trained},
    attend,
    length=L,
    tests=[8, 16, 32, 64, 128, 256],
    seeds=range(pick(smoke=1, laptop=3, gpu=5)),
    steps=pick(smoke=3, laptop=500, gpu=2000),
    sequences=pick(smoke=8, laptop=64, gpu=256),
)
compared = {"max_distance 128": results.get("T5"), "max_distance 24": fully_trained.get("T5, 24")}
ax = plots.curves(
    {name: pair for name, pair in compared.items() if pair is not None},
    "test length",
    "share of right answers",
    f"T5, trained at {L}",
    log_x=True,
)
ax.axvline(L, color="0.3", linewidth=1)
ax.set(ylim=(0, 1.02), xticks=[8, 16, 32, 64, 128, 256], xticklabels=[8, 16, 32, 64, 128, 256])
plt.show()

# %% [markdown]
# We measured .87–.89 at length 32 as before, then .76–.77 at 64 and .53–.54 at 256, against .54–.57 and .26–.28.
# So untrained buckets explain a good part of the fall, but not all of it.
#
# Part of the rest is arithmetic.
# Beyond the last bucket all keys have the same bias $b$.
# A sequence of length $T$ has about $T/8$ matching keys out there, and each weighs $e^{b}$ times what content gives it: together they grow with $T$ and outvote the latest one in the end.
# How soon depends on $b$: Shaw's vectors are clipped, too, and fall more slowly.
# With ALiBi the far keys together weigh at most $\sum_{r} e^{-\mu r} = 1/(1 - e^{-\mu})$, however long the sequence is: a geometric series, which does not grow.
# The next cell checks the sum, for the steepest of four heads and for a bias that stops falling at 24.

# %%
steepest = alibi_slopes(4)[0]
for longest_distance in (32, 64, 256, 4096):
    gap_sizes = torch.arange(longest_distance)
    linear, floored = (-steepest * gap_sizes).exp().sum(), (-steepest * gap_sizes.clamp(max=24)).exp().sum()
    print(f"T = {longest_distance:>4}: linear {linear:.3f}, stops at 24 {floored:.3f}, bound {1 / (1 - (-steepest).exp()):.3f}")

# %% [markdown]
# ### 8.1 Read the figure <small>★★☆ · 15 min · 3 points, graded by hand</small>
# Which schemes hold their accuracy beyond the training length here, which lose it, and which cannot even be asked?
# Give a reason for one that holds and for one that falls, from the formulas of this notebook.
# Then say what this experiment does *not* show: name at least two limits.
# About 150 words.
# Use the numbers of your own run.

# %% [markdown] written="written-experiment" points=3
# <!-- BEGIN SOLUTION -->
# **Model answer.** In our run ALiBi holds: .78–.82 at 32 and .75–.79 at 256, and Shaw's clipped vectors nearly do (.95–.96, then .79–.83). RoPE (.85 to .34–.39) and T5 with
# `max_distance` 128 (.88 to .27) lose most of it, the sinusoidal model everything beyond chance (.80 to .14–.19; chance is .125). The learned table ends at 32 and cannot be asked. The differences are much larger than the
# spread over the seeds. ALiBi's bias is $-\mu|i-j|$: every new distance continues a line the model already lives with, and the far keys together have bounded weight. The sinusoidal vectors of positions 32 and more never occurred in training, so the
# projections give arbitrary scores for them; RoPE meets differences of angles that it never saw. T5's buckets beyond 31 were never trained; with `max_distance` 24 it gets .53–.54 at 256.
# What it does not show: that ALiBi is the best scheme. The task rewards recency, which is what ALiBi builds in; at the training length it is among the lowest. One layer, one width, 500 steps, three seeds, the same learning rate for all; a task that needs an exact distance, a deeper model or
# longer training could give another order.
#
# | points | rubric |
# | --- | --- |
# | 1 | names who holds, who falls and who ends at $L$, with numbers from the own run and the seed spread in view |
# | 1 | a reason from the formulas for one that holds (distance-only, clipped or monotone, nothing unseen at longer lengths) and one that falls (unseen vectors, angles or no recency at all) |
# | 1 | two real limits: one task, one layer, tiny model, few seeds and steps, one length, hyper-parameters not tuned for each scheme, no interpolation or longer training tried |
# <!-- END SOLUTION -->

# %% [markdown]
# ### 8.2 In your own words <small>★★☆ · 25 min · 5 points, graded by hand</small>
# Explain to a fellow student, in about 250 words: why a Transformer needs positions at all; through which doors they enter, with a scheme for each; and how three of the more recent schemes (of Shaw, RoPE, ALiBi, T5) differ from the sinusoidal one: absolute or relative, added where, in which layers, learned or fixed, what happens beyond the training length.

# %% [markdown] written="written-positions" points=5
# <!-- BEGIN SOLUTION -->
# **Model answer.** Self-attention without a mask is permutation-equivariant: shuffle the input and the outputs are shuffled in the same way, because scores compare contents and softmax and the
# weighted sum do not care about order. Feed-forward layers work on each position alone, so depth does not help. "Dog bites man" would equal "man bites dog". A causal mask breaks the symmetry, but leaves it to the model to count.
#
# There are three doors.
# *Embeddings*: a vector for each position is added once, before the first layer (sinusoidal: fixed; learned: a table up to $L$).
# *Queries and keys*: RoPE turns them by an angle proportional to the position, in every layer.
# *Scores*: a bias is added in every layer (Shaw: query times a vector for the distance; T5: a learned number for each bucket of distances and head; ALiBi: minus slope times distance).
#
# The sinusoidal scheme is absolute: the model has to find out distances for itself, through products in which content and position are mixed, and what it needs must survive all layers.
# RoPE uses the same frequencies, but multiplies instead of adding, so that the score depends on the distance exactly; content decides which distances matter; values stay free of positions; nothing is learned.
# ALiBi is relative, fixed and has no vectors at all: nearer is better, with a steepness for each head.
# It meets nothing new on longer sequences, but cannot ask for "exactly three back".
# T5 learns its preferences for each head, precisely nearby and coarsely far away; beyond `max_distance` all is one bucket.
# Beyond the training length the sinusoidal model sees vectors, and RoPE angles, that it was never trained on; a learned table has no rows there; clipped, bucketed and linear biases are defined at any length.
#
# | points | rubric |
# | --- | --- |
# | 1 | why: equivariance of unmasked attention, with the reason (not merely "attention has no order") |
# | 1 | the doors: embeddings, queries and keys, scores, each with a fitting scheme |
# | 2 | three recent schemes against the sinusoidal one: relative instead of absolute, in every layer, multiplied or added to scores, learned or fixed (half a point for each scheme told right, half for a clear common contrast) |
# | 1 | what happens beyond the training length, right for at least two of the schemes |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 9 Bonus: Shaw's bias without the cube <small>★★★ · 20 min · 3 bonus points</small>
# In 4.2 it is natural to build a tensor $(n, m, d)$, the vector $a_{j-i}$ for each pair.
# There are only $2c + 1$ different vectors.
# Compute the products $q_i \cdot a_r$ with each of them first, then *gather* the right one for each pair.
# (`torch.gather(x, -1, index)` picks along the last axis.)
# For queries $(n, d)$, no tensor you create may have more than $n \cdot \max(m, 2c + 1)$ elements; $d \le 2c+1$ where this is measured.
# If one has, no result counts.


# %% exercise="bonus-shaw-lean"
def shaw_bias_lean(q, table, q_positions, k_positions):
    """The same as shaw_bias, for q (n, d): (n, m). Never more than n * max(m, 2 * clip + 1) elements in one tensor."""
    ### BEGIN SOLUTION
    products = q @ table.T / q.shape[-1] ** 0.5  # (n, 2 clip + 1)
    return products.gather(-1, relative_index(q_positions, k_positions, len(table) // 2))
    ### END SOLUTION


# %% test="bonus-shaw-lean" points=3
check = Check("bonus-shaw-lean", points=3)
spent = check.measure(checks.cost, shaw_bias_lean, randn(20, 8), randn(11, 8), torch.arange(20), torch.arange(30))
thrifty = (spent.largest <= 20 * 30) & (spent.flops >= 2 * 20 * 11 * 8)  # the product with the table, which every answer needs
check.counted(thrifty, "a tensor with more than n · max(m, 2c + 1) elements was made: multiply with the table first, then gather")
broken = "the limit on memory is broken, so no result counts"
refused = checks.Failed(broken, broken) if type(thrifty) is bool else thrifty
three = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
asks = torch.tensor([[2.0, 4.0, 6.0, 0.0], [20.0, 40.0, 60.0, 0.0]])
got = check.run(shaw_bias_lean, asks, three, torch.arange(2), torch.arange(2), shape=(2, 2)) if thrifty else refused
check.close(
    got,
    [[2.0, 3.0], [10.0, 20.0]],
    "the example of 4.2 comes out differently",
    wrong={
        "the products are not divided by the root of d": [[4.0, 6.0], [20.0, 40.0]],
        "before and after are exchanged": [[2.0, 1.0], [30.0, 20.0]],
        "every query gets the products of the first one: gather along the last axis": [[2.0, 3.0], [1.0, 2.0]],
    },
)
### BEGIN HIDDEN TESTS
thrifty = thrifty and check.affordable(
    shaw_bias_lean,
    lambda m: (randn(512, 64), randn(65, 64), torch.arange(512), torch.arange(m)),
    512,
    megabytes=32,  # the cube has 64, the result 1
    hint="for 512 queries and keys the n × m × d tensor was built after all: multiply with the table first, then gather",
    or_nothing=True,
)
q, rows = randn(5, 6), randn(9, 6)
for first, last in [(0, 7), (100, 107)]:
    gap = (torch.arange(first, last)[None] - torch.arange(first, first + 5)[:, None]).clamp(-4, 4) + 4
    got = (
        check.run(shaw_bias_lean, q, rows, torch.arange(first, first + 5), torch.arange(first, last), shape=(5, 7)) if thrifty else refused
    )
    check.close(
        got,
        (q[:, None] * rows[gap]).sum(-1) / 6**0.5,
        "the bias differs from q_i · a_ij / √d",
        wrong={
            "the products are not divided by the root of d": (q[:, None] * rows[gap]).sum(-1),
            "before and after are exchanged": (q[:, None] * rows[8 - gap]).sum(-1) / 6**0.5,
        },
    )
again = check.measure(checks.cost, shaw_bias_lean, randn(8, 16), randn(33, 16), torch.arange(8), torch.arange(20))
check.counted(
    (again.largest <= 8 * 33) & (again.flops >= 2 * 8 * 33 * 16),
    "with 33 rows and 20 keys a tensor with more than n · (2c + 1) elements was made",
)
check.gradients(
    lambda a, b: shaw_bias_lean(a, b, torch.arange(5), torch.arange(7)),
    lambda a, b: (a[:, None] * b[(torch.arange(7)[None] - torch.arange(5)[:, None]).clamp(-4, 4) + 4]).sum(-1) / 6**0.5,
    (q, rows),
    "the gradients are wrong, or do not flow",
) if thrifty else check.true(refused, "the limit on memory is broken, so no gradient counts")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## What you can now do
# - Prove with three lines of algebra, and with a test, that attention alone does not see order.
# - Write sinusoidal, learned, relative, rotary, linear and bucketed positions, in every layout and pairing you will meet in a checkpoint.
# - Say which of them depend on distances alone, and derive it.
# - Plug a scheme into a model, train at one length, test at others, and report the spread over seeds with the result.
#
# Next, `09-gpt` puts tokens, blocks and positions together into a language model.
