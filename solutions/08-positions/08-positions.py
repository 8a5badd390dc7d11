# %% [markdown]
# # 08 · Positions: where am I?
#
# | | |
# | --- | --- |
# | **You will be able to** | prove that attention alone does not see order · write six ways to give it positions, in both layouts and both pairings that are in use · derive which of them depend on distances only · say which of them go on working on sequences longer than any in training, from your own experiment |
# | **You need** | `03-attention`, sine and cosine of a sum, indexing with integer tensors |
# | **Time** | about five hours; each heading says how long its exercise takes |
# | **Points** | 56, and 3 bonus |
#
# "Dog bites man" and "man bites dog" have the same words.
# Attention compares every word with every other one, and a comparison does not know where its two words stand.
# Unless it is told where they stand, the two sentences are one and the same to it.
# You will write down six ways of telling it.
# Then you train a small model with each of them, at one length, and test it at up to eight times that length.
#
# **Notation.**
# A batch holds $B$ sequences of $T$ positions of width $D$; there are $H$ heads of width $d = D/H$.
# Positions are whole numbers and start at 0. $n$ queries stand at positions `q_positions`, an integer tensor $(n,)$, and $m$ keys at `k_positions`, $(m,)$.
# Both are arguments, because they need not be $0, 1, 2, \ldots$: a model that generates text asks with one new query, far from the beginning.
# $D$ and $d$ are even throughout.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, then run the test below it.
# Grading runs further checks of the same ideas.
# *Before you run it* marks a prediction: write it down first.
# Loops are allowed, and so are your functions from earlier exercises.
# Leave inputs as they are, and use torch operations: in Part 8 a model is trained through your functions.

# %% locked="setup"
import math

import matplotlib.pyplot as plt
import torch

from helpers import checks
from helpers.checks import Check, rand, randn, randperm
from helpers.kit import plots, training
from helpers.kit.scale import pick
from helpers.kit.seeding import seed
from helpers.positions import extrapolation
from helpers.positions.extrapolation import Scheme
from helpers.positions.rotary_dial import rotary_dial

# %% [markdown]
# ## 1 Attention does not see order
#
# ### 1.1 Attention with a bias <small>★☆☆ · 10 min · 3 points</small>
# Scaled dot-product attention once more, with one more argument: a *bias*, a number $b_{ij}$ for each query and key.
# It says how much key $j$ is favoured by query $i$ before anybody looks at the contents:
# whatever $q$, $k$ and $d$ are, the ratio of the weights of two keys is multiplied by $e^{b_{ij} - b_{ij'}}$.
# Work out where the bias has to enter: before or after the scaling, before or after the softmax, added or multiplied?
# And a key that the mask forbids has no weight at all, however large its bias is.
#
# Half of the schemes of this notebook enter through $b$.
# The mask is boolean, **True where looking is allowed**; every query may look at something.


# %% exercise="attend"
def attend(q, k, v, bias=None, mask=None):
    """Attention of q (..., n, d) over k (..., m, d) and v (..., m, e). Returns (..., n, e).

    bias (numbers) and mask (bool, True = may look) are broadcastable to (..., n, m), or None.
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
q, k, v = randn(5, 7), randn(4, 7), randn(4, 6)  # all sizes differ: a swapped axis cannot hide
with check.idea("scaled scores plus bias"):
    check.run(attend, q, k, v, shape=(5, 6), hint="without a bias and a mask it is attention as in 03: one output per query")
    picks, alike = torch.tensor([[1.0], [0.0]]), "four products of log(3)/2 sum to 2 log 3, scaled log 3: a weight of 3 : 1"
    check.close(check.run(attend, torch.ones(1, 4), torch.tensor([[math.log(3.0) / 2] * 4, [0.0] * 4]), picks), [[0.75]], alike)
    tilted = check.run(attend, torch.zeros(1, 2), randn(2, 2), picks, torch.tensor([[math.log(3.0), 0.0]]))
    check.close(tilted, [[0.75]], "with q = 0 the bias alone decides: log 3 against 0 is a weight of 3 : 1")
    ### BEGIN HIDDEN TESTS
    for width in (7, 3):
        q, k, b = randn(5, width), randn(4, width), 2 * randn(5, 4)
        raw, root = q @ k.T, width**0.5
        check.close(
            check.run(attend, q, k, v),
            (raw / root).softmax(-1) @ v,
            "without a bias and a mask the output differs from scaled dot-product attention",
        )
        check.close(
            check.run(attend, q, k, v, b),
            (raw / root + b).softmax(-1) @ v,
            "with a bias the output differs from softmax(q · k / √d + b) times the values",
        )
    ### END HIDDEN TESTS
with check.part("mask"):
    only = check.run(attend, randn(5, 3), randn(4, 3), v, None, torch.tensor([False, False, True, False]))
    check.close(only, v[2].expand(5, 6), "if only key 2 may be seen, the output is its value. True means: may look")
    ### BEGIN HIDDEN TESTS
    rule = rand(5, 4) > 0.4
    rule[:, 1], rule[0, 0], rule[0, 2] = True, False, False
    low = raw / root + b
    ruled, hidden_out = check.run(attend, q, k, v, b, rule, shape=(5, 6)), low.masked_fill(~rule, -torch.inf).softmax(-1) @ v
    check.close(
        ruled,
        hidden_out,
        "with a bias and a mask the output is wrong",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(attend, q, k, v, randn(5, 4), torch.ones(5, 4, dtype=torch.bool))
### BEGIN HIDDEN TESTS
with check.part("batch axes"):
    deep_q, deep_k, deep_v, by_head = randn(2, 3, 5, 8), randn(2, 3, 4, 8), randn(2, 3, 4, 6), 2 * randn(3, 5, 4)
    deep = deep_q @ deep_k.mT / 8**0.5 + by_head
    got = check.run(attend, deep_q, deep_k, deep_v, by_head, shape=(2, 3, 5, 6))
    check.close(got, deep.softmax(-1) @ deep_v, "with axes in front and a bias for each head the output is wrong")
    if (ruled - hidden_out).abs().max() < 1e-4:  # what is wrong about the mask itself is told above
        each = rand(2, 1, 5, 4) > 0.4
        each[..., 1] = True
        got = check.run(attend, deep_q, deep_k, deep_v, by_head, each)
        several = "a mask (B, 1, n, m), one for each sequence and shared by the heads: the output is wrong"
        check.close(got, deep.masked_fill(~each, -torch.inf).softmax(-1) @ deep_v, several)
with check.part("gradients"):
    check.gradients(
        attend,
        lambda *z: (z[0] @ z[1].mT / z[0].shape[-1] ** 0.5 + z[3]).softmax(-1) @ z[2],
        (q, k, v, b),
        "the gradients are wrong, or do not flow to all of q, k, v and bias: a learned bias needs them, too",
    )
with check.edge("large scores"):
    steep = check.run(attend, torch.zeros(1, 2), randn(2, 2), picks, torch.tensor([[200.0 + math.log(3.0), 200.0]]))
    check.close(
        steep, [[0.75]], "scores near 200 overflow: e²⁰⁰ is infinite in float32. Use torch's softmax", atol=1e-3
    )  # 200 + log 3 in float32
    only = check.run(attend, torch.zeros(1, 2), randn(2, 2), picks, torch.tensor([[300.0, -300.0]]), torch.tensor([False, True]))
    check.close(only, [[0.0]], "a forbidden key weighs nothing, however large its score is: the score becomes −∞, not a little smaller")
    lured = check.run(attend, torch.zeros(1, 2), randn(2, 2), picks, torch.tensor([[1e12, 0.0]]), torch.tensor([False, True]))
    check.close(lured, [[0.0]], "a forbidden key weighs nothing, however large its bias is: the mask has the last word")
with check.edge("one query, one key"):
    single = check.run(attend, randn(1, 2), randn(1, 2), torch.tensor([[5.0]]), torch.tensor([[-9.0]]))
    check.close(single, [[5.0]], "one query and one key: the output is that key's value, whatever the bias")
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
# Now measure it.
# Write the gap, the largest absolute difference between $f(PX)$ and $P f(X)$, over all rows and columns.
# The permutation is given as an index: $PX$ is `x[order]`.


# %% exercise="equivariance-gap"
def equivariance_gap(f, x, order):
    """How far f is from f(Px) = P f(x): the largest absolute difference, one number.

    f maps a tensor (T, D) to a tensor with T rows, x is (T, D), order (T,) is a permutation of 0 … T-1, Px is x[order].
    """
    ### BEGIN SOLUTION
    return (f(x[order]) - f(x)[order]).abs().max()
    ### END SOLUTION


# %% test="equivariance-gap" points=3
check = Check("equivariance-gap", points=3)
x, turn_round = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([1, 2, 0])
with check.idea("f(Px) against P f(x)"):
    number = "the gap is one number"
    double = check.run(equivariance_gap, lambda z: 2 * z, x, turn_round, shape=(), hint=number)
    check.close(double, 0.0, "doubling every row is equivariant, so the gap is 0: are the rows of f(x) shuffled, too?")
    slips = {"you compare f(Px) with f(x): that asks for invariance. Shuffle the rows of f(x), too": 3.0}
    slips["you shuffle f(x) the other way round: use the same order on both sides"] = 5.0
    sums = "running sums see the order: f(Px) = (2, 6, 7) and P f(x) = (3, 7, 1) differ by up to 6"
    check.close(check.run(equivariance_gap, lambda z: z.cumsum(0), x, turn_round, shape=(), hint=number), 6.0, sums, wrong=slips)
    sign = "with the opposite sign of f the gap stays 6: take absolute values before the maximum"
    check.close(check.run(equivariance_gap, lambda z: -z.cumsum(0), x, turn_round), 6.0, sign)
    ### BEGIN HIDDEN TESTS
    rows, order = randn(7, 5), torch.tensor([3, 0, 6, 1, 5, 2, 4])
    place = torch.arange(7.0)[:, None]

    def along(z):
        columns = torch.tensor([1.0] + [9.0] * 7)  # the largest difference is never in the first one
        return torch.cat([z * place, z.cumsum(0)], 1)[:, :8] * columns

    want = (along(rows[order]) - along(rows)[order]).abs()
    for way in (1, -1):  # one of the two has its largest difference below 0
        check.close(
            check.run(equivariance_gap, lambda z, way=way: way * along(z), rows, order),
            want.max(),
            "the gap of another function, with eight columns, is wrong: is it the largest difference over all rows and columns?",
        )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    after = check.measure(checks.inout, equivariance_gap, torch.tanh, x, turn_round)[1]
    check.equal(after[1], x, "your code changes x in place: work on a new tensor")
    check.equal(after[2], turn_round, "your code changes `order` in place: work on a new tensor")
### BEGIN HIDDEN TESTS
with check.edge("rounding stays small"):
    wide, mix = randn(6, 4), torch.tensor([5, 3, 1, 0, 2, 4])
    blind_gap = check.run(equivariance_gap, lambda z: (z @ z.T).softmax(1) @ z, wide, mix, shape=(), hint=number)
    check.true(blind_gap < 1e-4, "plain self-attention has the gap 0, up to rounding: is anything added or divided?")
    tiny_gap = check.run(equivariance_gap, lambda z: 1e-4 * along(z), rows, order)
    check.close(tiny_gap, 1e-4 * want.max(), "a small gap is lost: do not round it", rtol=1e-3, atol=0)
with check.edge("one row"):
    lone = check.run(equivariance_gap, lambda z: z + 1, randn(1, 3), torch.tensor([0]), shape=(), hint=number)
    check.close(lone, 0.0, "one row: there is nothing to shuffle, so the gap is 0")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# *Before you run it:* which of these four is equivariant?
# Self-attention; a stack of two layers with a feed-forward part between; self-attention with a causal mask; the mean of all rows, repeated for every row.

# %% look=true
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
# Its numbers are sines and cosines of the angles $p\,\omega_i$, with one frequency $\omega_i$ for each pair of columns, $i = 0, \ldots, D/2 - 1$.
# Think of a clock with $D/2$ hands: the first turns by one radian at every step, the last needs tens of thousands of steps for one round.
#
# ### 2.1 The frequencies <small>★☆☆ · 5 min · 2 points</small>
# The first frequency is $\omega_0 = 1$.
# Each next one is smaller by the same factor, and the factor is chosen so that $D/2$ such steps lead from 1 to $1/\mathrm{base}$, with $\mathrm{base} = 10000$.
# Work out $\omega_i$.
# *Before you run it:* is $1/\mathrm{base}$ itself among the frequencies?


# %% exercise="frequencies"
def frequencies(D, base=10000.0):
    """The D / 2 angular frequencies, largest first: a floating tensor (D / 2,)."""
    ### BEGIN SOLUTION
    return base ** (-torch.arange(0, D, 2) / D)
    ### END SOLUTION


# %% test="frequencies" points=2
check = Check("frequencies", points=2)
with check.idea("equal factors from 1 on"):
    eight = check.run(frequencies, 8, shape=(4,), hint="D / 2 frequencies, one for each pair of columns")
    spread = "the last frequency is already 1/base: it should take one more step to get there"
    steep = "the frequencies fall too fast: 1/base would be reached after D/4 steps, but there are D/2"
    slow = "the frequencies fall too slowly: 1/base would be reached after D steps, but there are D/2"
    slips = {told: [10000.0 ** (-i / steps) for i in range(4)] for told, steps in [(spread, 3), (steep, 2), (slow, 8)]}
    slips["the first frequency is 1: one factor too many"] = [0.1, 0.01, 0.001, 0.0001]
    four = "for D = 8 there are four, 1, 0.1, 0.01 and 0.001: one more factor of 0.1 would give 1/10000"
    check.close(eight, [1.0, 0.1, 0.01, 0.001], four, wrong=slips)
    ### BEGIN HIDDEN TESTS
    for width in (10, 64):
        check.close(
            check.run(frequencies, width, shape=(width // 2,)),
            [10000.0 ** (-2 * i / width) for i in range(width // 2)],
            f"for D = {width} the frequencies are wrong: D/2 equal factors lead from 1 to 1/base",
        )
    ### END HIDDEN TESTS
with check.part("any base"):
    check.close(check.run(frequencies, 4, base=100.0), [1.0, 0.1], "with base = 100 and D = 4 they are 1 and 0.1: is `base` used?")
    ### BEGIN HIDDEN TESTS
    other = [50.0 ** (-2 * i / 10) for i in range(5)]
    check.close(check.run(frequencies, 10, 50.0), other, "with base = 50 and D = 10 the frequencies are wrong")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("D = 2"):
    check.close(check.run(frequencies, 2, shape=(1,)), [1.0], "for D = 2 there is one frequency, 1")
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
    """Sinusoidal vectors (..., D) of integer positions (...); layout: "interleaved" (sin, cos, sin, …) or "halves"."""
    ### BEGIN SOLUTION
    angles = positions[..., None] * frequencies(D, base)  # (..., ⌈D / 2⌉)
    if layout == "halves":
        return torch.cat([angles.sin(), angles.cos()], dim=-1)[..., :D]
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., :D]  # an odd D has one cosine less
    ### END SOLUTION


# %% test="sinusoidal" points=4
check = Check("sinusoidal", points=4)
s, c, slow_s, slow_c = math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)
with check.idea("sines and cosines, interleaved"):
    first = check.run(sinusoidal, torch.tensor([0, 1]), 4, shape=(2, 4), hint="one row of width D for each position")
    check.close(
        first, [[0, 1, 0, 1], [s, c, slow_s, slow_c]], "position 0 is (0, 1, 0, 1), position 1 is (sin 1, cos 1, sin 0.01, cos 0.01)"
    )
    ### BEGIN HIDDEN TESTS
    spots = 3 + randperm(40)[:6]

    def exact(where, width=10, layout="interleaved", base=10000.0):
        speed = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        sines, cosines = (where[..., None] * speed).sin(), (where[..., None] * speed).cos()
        return torch.stack([sines, cosines], -1).flatten(-2) if layout == "interleaved" else torch.cat([sines, cosines], -1)

    loose = 2e-4  # angles up to 250 carry a float32 rounding of 1e-5 and more
    check.close(
        check.run(sinusoidal, torch.tensor([5, 2]), 4), exact(torch.tensor([5, 2]), 4), "for positions 5 and 2 it is wrong", atol=loose
    )
    check.close(
        check.run(sinusoidal, spots, 10, shape=(6, 10)),
        exact(spots),
        "for other positions and D = 10 the vectors are wrong",
        atol=loose,
    )
    ### END HIDDEN TESTS
with check.part("halves"):
    second = check.run(sinusoidal, torch.tensor([0, 1]), 4, layout="halves", shape=(2, 4))
    check.close(second, [[0, 0, 1, 1], [s, slow_s, c, slow_c]], "halves: position 1 is (sin 1, sin 0.01, cos 1, cos 0.01)")
    ### BEGIN HIDDEN TESTS
    check.close(
        check.run(sinusoidal, spots, 10, "halves"),
        exact(spots, layout="halves"),
        "layout halves: the vectors are wrong for other positions",
        atol=loose,
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(sinusoidal, torch.tensor([0, 1]), 4)
### BEGIN HIDDEN TESTS
with check.part("another base"):
    check.close(
        check.run(sinusoidal, spots, 6, base=500.0),
        exact(spots, 6, base=500.0),
        "with base = 500 the vectors are wrong",
        atol=loose,
    )
    mixed = check.run(sinusoidal, spots, 6, "halves", 500.0, shape=(6, 6))
    check.close(  # sorted: which layout it is does not matter here
        mixed.sort(-1).values,
        exact(spots, 6, base=500.0).sort(-1).values,
        "with base = 500 and layout halves the numbers are wrong",
        atol=loose,
    )
with check.part("positions of any shape"):
    grid = torch.tensor([[7, 0, 31], [2, 250, 3]])
    got = check.run(sinusoidal, grid, 10, shape=(2, 3, 10), hint="positions may have any shape: (2, 3) gives (2, 3, D)")
    check.close(got, exact(grid), "positions of shape (2, 3): the vectors are wrong", atol=loose)
    got = check.run(sinusoidal, grid, 10, "halves", shape=(2, 3, 10), hint="layout halves: positions of shape (2, 3) give (2, 3, D)")
    check.close(  # sorted: which layout it is does not matter here
        got.sort(-1).values, exact(grid).sort(-1).values, "layout halves, positions of shape (2, 3): the numbers are wrong", atol=loose
    )
with check.edge("a single position, D = 2"):
    lone = check.run(sinusoidal, torch.tensor(3), 2)
    check.close(lone, [math.sin(3), math.cos(3)], "a single position, a tensor without axes, gives one vector: one sine, one cosine")
    far = check.run(sinusoidal, torch.tensor(3001), 2)
    told = "a far position is rounded: half precision has three digits. Leave positions as they are"
    check.close(far, [math.sin(3001), math.cos(3001)], told, atol=2e-3)
### END HIDDEN TESTS
check.score()

# %% look=true
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
    """Inner product (...) of the sinusoidal vectors of two positions, `distance` apart (an integer tensor (...))."""
    ### BEGIN SOLUTION
    return (distance[..., None] * frequencies(D, base)).cos().sum(dim=-1)
    ### END SOLUTION


# %% test="sinusoidal-product" points=2
check = Check("sinusoidal-product", points=2)
near = math.cos(1) + math.cos(0.01)
with check.idea("a cosine for each pair"):
    got = check.run(sinusoidal_product, torch.tensor([0, 1, -1]), 4, shape=(3,), hint="one number for each distance")
    by_hand = "for D = 4: at distance 0 each pair gives sin² + cos² = 1, the sum is 2; at distance ±1 it is cos 1 + cos 0.01"
    check.close(got, [2.0, near, near], by_hand)
    ### BEGIN HIDDEN TESTS
    far = 1 + randperm(60)[:5]

    def product_at(gap, width, root=10000.0, start=20):
        speed = root ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        here, there = start * speed, (start + gap[..., None]) * speed
        return here.sin() * there.sin(), here.cos() * there.cos()

    loose = 1e-3  # angles up to 60, in float32, summed
    three = torch.tensor([2, 9, 5])
    check.close(
        check.run(sinusoidal_product, three, 4), sum(product_at(three, 4)).sum(-1), "for D = 4 other distances are wrong", atol=loose
    )
    sines, cosines = product_at(far, 10)
    check.close(
        check.run(sinusoidal_product, far, 10),
        (sines + cosines).sum(-1),
        "for D = 10 it is not the inner product of two sinusoidal vectors",
        atol=loose,
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("another base"):
    check.close(
        check.run(sinusoidal_product, far, 6, 300.0),
        sum(product_at(far, 6, 300.0)).sum(-1),
        "with base = 300 it is not the inner product of two sinusoidal vectors",
        atol=loose,
    )
with check.edge("distances of any shape"):
    check.close(check.run(sinusoidal_product, torch.tensor(0), 8), 4.0, "a single distance, a tensor without axes, gives one number")
    grid = torch.tensor([[3, 60], [0, 7], [-12, 1]])
    got = check.run(sinusoidal_product, grid, 6, shape=(3, 2), hint="distances may have any shape: (3, 2) gives (3, 2)")
    check.close(got, sum(product_at(grid, 6)).sum(-1), "for distances of shape (3, 2) the products are wrong", atol=loose)
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(sinusoidal_product, torch.tensor([0, 1, -1]), 4)
check.score()

# %% look=true
reach = torch.arange(0, 400)
likeness = sinusoidal_product(reach, 64)
start_a, start_b = torch.tensor(11), torch.tensor(523)
for r in (1, 10, 100):
    direct = [(sinusoidal(p, 64) @ sinusoidal(p + r, 64)).item() for p in (start_a, start_b)]
    from_11, from_523 = direct
    print(f"distance {r:>3}: from position 11 {from_11:.3f}, from 523 {from_523:.3f}, formula {likeness[r].item():.3f}")
rises = (likeness.diff() > 0).float().mean().item()
print(f"share of steps at which it rises: {rises:.2f}; mean over distances 0–99, 100–199, 200–299, 300–399:", end=" ")
print([f"{part.mean().item():.1f}" for part in likeness.split(100)])
plots.curves({"D = 64": (reach, likeness)}, "distance r", "inner product", "Falls on average, not steadily")
plt.show()

# %% [markdown]
# The inner product depends on the distance alone, and not on its sign.
# It falls on average; but it goes up and down on the way, so two distant positions can look more alike than two close ones.
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
with check.idea("one rotation per pair"):
    still = check.run(shift_matrix, 0, 6, shape=(6, 6))
    check.close(still, torch.eye(6), "a step of 0 changes nothing: M_0 is the identity", atol=1e-5)
    moved = check.run(shift_matrix, 1, 2, shape=(2, 2)).float() @ torch.tensor([0.0, 1.0])
    back = "the step goes backwards: M_1 takes s(0) to s(−1). Is the block written for (cos, sin)? Here the sine comes first"
    slips = {back: [-math.sin(1), math.cos(1)]}
    check.close(moved, [math.sin(1), math.cos(1)], "D = 2: M_1 must take s(0) = (0, 1) to s(1) = (sin 1, cos 1)", wrong=slips)
    returned = check.run(shift_matrix, 3, 6).float() @ check.run(shift_matrix, -3, 6).float()
    check.close(returned, torch.eye(6), "three steps on and three steps back: M_3 M_−3 is the identity", atol=1e-5)
    ### BEGIN HIDDEN TESTS
    spots = torch.arange(0, 40, 3).double()[:, None]

    def moved_by(step, width, root=10000.0):
        angles = (spots + step) * root ** (-torch.arange(0, width, 2).double() / width)
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)

    for step, width in [(5, 6), (-2, 8), (12, 2)]:
        got = check.run(shift_matrix, step, width, shape=(width, width))
        check.close(
            (got.double() @ moved_by(0, width).T).T,
            moved_by(step, width),
            "M_r s(p) is not s(p + r) for every p: look at one 2 × 2 block, its angle r ω_i, and the signs of its sines",
            atol=1e-4,
        )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("another base"):
    got = check.run(shift_matrix, -2, 8, 50.0, shape=(8, 8))
    check.close(
        (got.double() @ moved_by(0, 8, 50.0).T).T,
        moved_by(-2, 8, 50.0),
        "with base = 50, M_r s(p) is not s(p + r)",
        atol=1e-4,
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
# Which rows belong to the others, and when does the table have them all?
# Refuse what is beyond the table with a `ValueError`: a wrong row would be worse.


# %% exercise="learned"
def add_learned(x, table, start=0):
    """x (B, T, D), each position plus its row of the table (L, D). Raises ValueError if a position has no row."""
    ### BEGIN SOLUTION
    T = x.shape[1]
    if start + T > len(table):
        raise ValueError(f"positions up to {start + T - 1}, but the table ends at {len(table) - 1}")
    return x + table[start : start + T]
    ### END SOLUTION


# %% test="learned" points=2
check = Check("learned", points=2)
x, rows = randn(2, 3, 4), randn(6, 4)
with check.idea("row t at position t"):
    small = check.run(add_learned, torch.tensor([[[10.0], [20.0]], [[30.0], [40.0]]]), torch.tensor([[1.0], [2.0], [3.0]]), shape=(2, 2, 1))
    check.close(small, [[[11.0], [22.0]], [[31.0], [42.0]]], "every sequence of the batch gets row 0 at its first position, then row 1")
    ### BEGIN HIDDEN TESTS
    check.close(
        check.run(add_learned, x, rows, shape=(2, 3, 4)),
        x + rows[:3],
        "every sequence of the batch gets rows 0, 1, 2 of the table",
    )
    ### END HIDDEN TESTS
with check.part("start"):
    slips = {"the argument `start` is not used": x + rows[:3], "the first row is `start`, not the one after it": x + rows[3:6]}
    check.close(check.run(add_learned, x, rows, 2), x + rows[2:5], "with start = 2 the rows are 2, 3, 4", wrong=slips)
with check.part("nothing beyond the table"):
    check.raises(add_learned, randn(2, 7, 4), rows, error="ValueError", hint="seven positions, six rows: raise a ValueError")
    ### BEGIN HIDDEN TESTS
    shorter = "five positions, four rows: raise a ValueError, however long the table is"
    check.raises(add_learned, randn(2, 5, 4), rows[:4], error="ValueError", hint=shorter)
    both = "start = 4 and three positions, 4, 5, 6, do not fit into six rows: compare start + T, not T alone, and raise a ValueError"
    check.raises(add_learned, randn(1, 3, 4), rows, 4, error="ValueError", hint=both)
    single = "a single position beyond the table must be refused with a ValueError, too, not clipped or wrapped"
    check.raises(add_learned, randn(1, 1, 4), rows, 6, error="ValueError", hint=single)
    ### END HIDDEN TESTS
with check.part("inputs and gradients"):  # an input that is changed in place has no gradient
    check.unchanged(add_learned, x, rows)
    ### BEGIN HIDDEN TESTS
    check.gradients(
        add_learned,
        lambda a, b: a + b[:3],
        (x, rows),
        "the gradients are wrong, or do not reach the table: then it cannot be learned",
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("as long as the table"):
    fits = "a sequence as long as the table is allowed: look at `>` and `>=`"
    check.close(check.run(add_learned, torch.zeros(1, 6, 4), rows), rows[None], fits)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 4 Relative positions
#
# Shaw, Uszkoreit and Vaswani (2018) say what is meant: not "I am at 17", but "you are three before me".
# There is a learned vector $a_r$ for each distance $r$, and it enters the scores as if it were part of the key:
#
# $$ e_{ij} = \frac{q_i \cdot (k_j + a_{j - i})}{\sqrt d} . $$
#
# So one key looks different to every query, and the queries at different places can't share one matrix of keys.
# But a score is linear in the key: what the distance adds can be split off, as a bias that depends on the query.
# Distances are clipped to $-c, \ldots, c$: beyond $c$, far is far.
# That leaves $2c + 1$ vectors, in a table whose row 0 is for $-c$ and whose last row, $2c$, is for $+c$.
# (They add such vectors to the values, too, and report that leaving those out hardly changes their translation results.)
#
# ### 4.1 Which row? <small>★☆☆ · 10 min · 2 points</small>
# The distance is the **key's position minus the query's**: negative for the past.
# Turn each distance into the number of its row.
# *Before you run it:* what would the table give for the row $-1$, and would you notice?


# %% exercise="relative-index"
def relative_index(q_positions, k_positions, clip):
    """Which of 2 * clip + 1 rows belongs to query i and key j: integers (n, m), for positions (n,) and (m,)."""
    ### BEGIN SOLUTION
    distance = k_positions[None, :] - q_positions[:, None]  # (n, m)
    return distance.clamp(-clip, clip) + clip
    ### END SOLUTION


# %% test="relative-index" points=2
check = Check("relative-index", points=2)
with check.idea("the row of a distance"):
    sides = "one row for each query, one column for each key"
    got = check.run(relative_index, torch.arange(3), torch.arange(3), 2, shape=(3, 3), hint=sides)
    sign = "the sign is wrong: the distance is the key's position minus the query's, and rows are queries"
    slips = {sign: [[2, 1, 0], [3, 2, 1], [4, 3, 2]]}
    slips["a negative index counts from the end of the table, without any error: row 0 is for −c"] = [[0, 1, 2], [-1, 0, 1], [-2, -1, 0]]
    table = "clip 2 has the rows −2, −1, 0, 1, 2: distance 0 is row 2, one to the right is row 3, two to the left is row 0"
    check.equal(got, [[2, 3, 4], [1, 2, 3], [0, 1, 2]], table, wrong=slips)
    ### BEGIN HIDDEN TESTS
    shifted = check.run(relative_index, torch.tensor([4, 5, 6]), torch.tensor([5, 4, 6]), 2)
    check.equal(shifted, [[3, 2, 4], [2, 1, 3], [1, 0, 2]], "queries at 4, 5, 6 and keys at 5, 4, 6: use the positions that are given")
    asks, keys_at = 20 + randperm(9)[:3], 20 + randperm(9)[:5]
    check.equal(
        check.run(relative_index, asks, keys_at, 11, shape=(3, 5), hint=sides),
        (keys_at[None] - asks[:, None] + 11).tolist(),
        "queries and keys at other places: use the positions that are given, not 0, 1, 2, …",
        wrong={
            sign: (asks[:, None] - keys_at[None] + 11).tolist(),
        },
    )
    ### END HIDDEN TESTS
with check.part("far is far"):
    far = check.run(relative_index, torch.arange(4), torch.arange(4), 1, shape=(4, 4))
    clipped = "clip 1 leaves three rows: everything before is row 0, everything after is row 2"
    check.equal(far, [[1, 2, 2, 2], [0, 1, 2, 2], [0, 0, 1, 2], [0, 0, 0, 1]], clipped)
    ### BEGIN HIDDEN TESTS
    spread = check.run(relative_index, torch.tensor([9, 3]), torch.tensor([0, 8, 9, 12, 30]), 4)
    check.equal(
        spread,
        [[0, 3, 4, 7, 8], [1, 8, 8, 8, 8]],
        "distances from −9 to 27 with clip 4: both sides must be clipped",
    )
    ### END HIDDEN TESTS
with check.edge("whole numbers"):
    check.equal(got.dtype.is_floating_point, False, "these are rows of a table: whole numbers, an integer tensor")
### BEGIN HIDDEN TESTS
with check.edge("one query, clip 0"):
    lone = check.run(relative_index, torch.tensor([5]), torch.tensor([5]), 3)
    check.equal(lone, [[3]], "one query, one key, at the same place: the middle row")
    check.equal(check.run(relative_index, torch.arange(2), torch.arange(3), 0), [[0] * 3] * 2, "clip 0: there is one row for all")
    tall = check.run(relative_index, torch.arange(4), torch.arange(2), 5)
    check.equal(
        tall, [[5, 6], [4, 5], [3, 4], [2, 3]], "there may be more queries than keys: one row for each query, one column for each key"
    )
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(relative_index, torch.arange(3), torch.arange(4), 2)
check.score()

# %% [markdown]
# ### 4.2 The bias <small>★★☆ · 15 min · 3 points</small>
# `attend` of 1.1 takes the plain keys, scales, and adds a bias.
# Which bias $b_{ij}$ makes its scores equal to $e_{ij}$?
# Split $e_{ij}$ on paper first, and note for each of $q$, $a$ and $b$ which of the axes $i$, $j$ and column it has, and over which one you sum.
# All heads and sequences share the table, and `clip` is not an argument: work it out from the shape of the table.


# %% exercise="shaw-bias"
def shaw_bias(q, table, q_positions, k_positions):
    """Bias (..., n, m) of queries q (..., n, d) with a table (2 * clip + 1, d) of relative vectors."""
    ### BEGIN SOLUTION
    vectors = table[relative_index(q_positions, k_positions, len(table) // 2)]  # (n, m, d)
    return torch.einsum("...nd,nmd->...nm", q, vectors) / q.shape[-1] ** 0.5
    ### END SOLUTION


# %% test="shaw-bias" points=3
check = Check("shaw-bias", points=3)
with check.idea("query i with the vector of j − i"):
    three = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])  # before, here, after
    asks = torch.tensor([[2.0, 4.0, 6.0, 0.0], [20.0, 40.0, 60.0, 0.0]])
    got = check.run(shaw_bias, asks, three, torch.arange(2), torch.arange(2), shape=(2, 2))
    example = "query 0, distances 0 and 1: 4 and 6, divided by √4. Query 1, distances −1 and 0: 20 and 40, divided by 2"
    check.close(got, [[2.0, 3.0], [10.0, 20.0]], example)
    ### BEGIN HIDDEN TESTS
    q, rows = randn(5, 6), randn(7, 6)
    gap = torch.arange(6)[None] - torch.arange(5)[:, None]
    products = (q[:, None] * rows[gap.clamp(-3, 3) + 3]).sum(-1)
    check.close(
        check.run(shaw_bias, q, rows, torch.arange(5), torch.arange(6), shape=(5, 6)),
        products / 6**0.5,
        "the bias differs from q_i · a_ij / √d for d = 6 and seven rows",
    )
    square = check.run(shaw_bias, q, rows, torch.arange(5), torch.arange(5))
    check.close(square, products[:, :5] / 6**0.5, "for as many keys as queries the bias differs from q_i · a_ij / √d")
    ### END HIDDEN TESTS
with check.part("axes in front"):
    deep, other = randn(2, 3, 5, 4), randn(7, 4)
    axes_hint = "there may be any number of axes in front of (n, d), and all share the table"
    biases = check.run(shaw_bias, deep, other, torch.arange(5), torch.arange(6), shape=(2, 3, 5, 6), hint=axes_hint)
    ### BEGIN HIDDEN TESTS
    check.close(biases, (deep[..., None, :] * other[gap.clamp(-3, 3) + 3]).sum(-1) / 2, "with axes in front the bias is wrong")
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(shaw_bias, asks, three, torch.arange(2), torch.arange(2))
### BEGIN HIDDEN TESTS
with check.part("given positions"):
    places = torch.tensor([9, 30, 2])
    check.close(
        check.run(shaw_bias, q[:3], rows, places, torch.arange(10), shape=(3, 10)),
        (q[:3, None] * rows[(torch.arange(10)[None] - places[:, None]).clamp(-3, 3) + 3]).sum(-1) / 6**0.5,
        "queries at 9, 30 and 2: use the positions that are given. Beyond the clip all keys share the first or the last row",
    )
with check.part("gradients"):
    check.gradients(
        lambda a, b: shaw_bias(a, b, torch.arange(5), torch.arange(6)),
        lambda a, b: (a[..., None, :] * b[gap.clamp(-3, 3) + 3]).sum(-1) / 6**0.5,
        (q, rows),
        "the gradients are wrong, or do not reach the table: then it cannot be learned",
    )
with check.edge("one query, one row"):
    lone = check.run(shaw_bias, q[:1], rows[:1], torch.tensor([4]), torch.arange(3), shape=(1, 3))
    check.close(lone, (q[0] @ rows[0] / 6**0.5).expand(1, 3), "a table with one row has clip 0: every key gets that row")
    tall = check.run(shaw_bias, q, rows, torch.arange(5), torch.arange(2), shape=(5, 2), hint="there may be more queries than keys")
    check.close(tall, products[:, :2] / 6**0.5, "more queries than keys: the bias is wrong")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 5 Rotary positions
#
# A rotation of both vectors by the same angle leaves their inner product alone; if the angles *differ*, only their difference matters.
# RoPE (Su et al., 2021) turns the query at position $m$ by $m\,\omega_i$ and the key at position $n$ by $n\,\omega_i$, in pairs of columns, with the frequencies of 2.1 for width $d$.
# Nothing is added anywhere, and values are not turned.
# For one pair $(a, b)$ at position $p$:
#
# $$ \begin{pmatrix} a' \\ b' \end{pmatrix} = \begin{pmatrix} \cos p\omega_i & -\sin p\omega_i \\ \sin p\omega_i & \phantom{-}\cos p\omega_i \end{pmatrix} \begin{pmatrix} a \\ b \end{pmatrix}. $$
#
# ### 5.1 Turn, in both pairings <small>★★☆ · 25 min · 5 points</small>
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
    """x (..., T, d), each pair of columns turned by its angle at its position. Same shape and dtype as x.

    positions: integers, broadcastable to (..., T). pairing: "interleaved" (columns 2i, 2i + 1), "halves" (i, i + d/2).
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
s, c, slow_s, slow_c = math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)
pair = torch.tensor([[1.0, 0.0, 2.0, 0.0]])
with check.idea("each pair turned, interleaved"):
    got = check.run(rope, pair, torch.tensor([1]), shape=(1, 4))
    example = "at position 1 the vector (1, 0, 2, 0) becomes (cos 1, sin 1, 2 cos 0.01, 2 sin 0.01)"
    check.close(got, [[c, s, 2 * slow_c, 2 * slow_s]], f"interleaved: {example}")
    quarter = check.run(rope, torch.tensor([[0.0, 3.0]]), torch.tensor([1]))
    check.close(quarter, [[-3 * s, 3 * c]], "at position 1 the pair (0, 3) becomes (−3 sin 1, 3 cos 1)")
    ### BEGIN HIDDEN TESTS
    x, spots = randn(5, 8), 3 + randperm(60)[:5]

    def turned(z, where, kind="interleaved", base=10000.0):
        width = z.shape[-1]
        by = {"interleaved": [(2 * i, 2 * i + 1) for i in range(width // 2)], "halves": [(i, i + width // 2) for i in range(width // 2)]}
        result = torch.zeros_like(z.double())
        for i, (left, right) in enumerate(by[kind]):
            turn = where.double() * base ** (-2 * i / width)
            a, b = z[..., [left, right]].double().unbind(-1)
            result[..., left], result[..., right] = a * turn.cos() - b * turn.sin(), a * turn.sin() + b * turn.cos()
        return result.to(z.dtype)

    loose = 3e-4  # angles up to 90 in float32, times entries up to 4

    for width in (8, 6):
        check.close(
            check.run(rope, x[:, :width], spots, shape=(5, width)),
            turned(x[:, :width], spots),
            "positions in any order: the pairs are not turned by position × frequency",
            atol=loose,
        )
    ### END HIDDEN TESTS
with check.part("halves"):
    got = check.run(rope, pair, torch.tensor([1]), pairing="halves", shape=(1, 4))
    example = "halves: at position 1 the vector (1, 0, 2, 0) becomes (cos 1 − 2 sin 1, 0, sin 1 + 2 cos 1, 0)"
    check.close(got, [[c - 2 * s, 0.0, s + 2 * c, 0.0]], example)
    ### BEGIN HIDDEN TESTS
    in_halves = check.run(rope, x, spots, "halves", shape=(5, 8))
    check.close(
        in_halves,
        turned(x, spots, "halves"),
        "halves: columns i and i + d/2 are not turned by position × frequency i",
        atol=loose,
    )
    ### END HIDDEN TESTS
with check.part("inputs and gradients"):  # an input that is changed in place has no gradient
    check.unchanged(rope, randn(5, 8), torch.arange(5))
    check.unchanged(rope, randn(5, 8), torch.arange(5), "halves")
    ### BEGIN HIDDEN TESTS
    turns = torch.arange(5.0)[:, None] * 10000 ** (-torch.arange(0, 8, 2) / 8)
    check.gradients(
        lambda z: rope(z, torch.arange(5)),
        lambda z: torch.stack(
            [z[..., 0::2] * turns.cos() - z[..., 1::2] * turns.sin(), z[..., 0::2] * turns.sin() + z[..., 1::2] * turns.cos()], -1
        ).flatten(-2),
        (x,),
        "the gradients through the rotation are wrong, or do not flow",
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("another base"):
    right = (in_halves - turned(x, spots, "halves")).abs().max() < loose  # what is wrong about halves itself is told above
    for kind in ("interleaved", "halves") if right else ("interleaved",):
        check.close(
            check.run(rope, x, spots, kind, 700.0),
            turned(x, spots, kind, 700.0),
            f"with base = 700 and pairing {kind} the pairs are not turned by position × frequency",
            atol=loose,
        )
with check.part("heads and sequences"):
    deep, each = randn(2, 3, 5, 8), torch.tensor([[[7, 0, 90, 3, 3]], [[1, 2, 4, 8, 60]]])
    for kind in ("interleaved", "halves") if right else ("interleaved",):
        got = check.run(rope, deep, torch.arange(5) + 30, kind, shape=(2, 3, 5, 8), hint="positions (T,) serve all heads and sequences")
        told = f"{kind}: in x of shape (B, H, T, d) a vector is turned wrongly. The columns are the last axis"
        check.close(got, turned(deep, torch.arange(5) + 30, kind), told, atol=loose)
    got = check.run(rope, deep, each, shape=(2, 3, 5, 8), hint="positions of shape (B, 1, T) must broadcast")
    check.close(got, turned(deep, each), "positions of shape (B, 1, T): a sequence is not turned by its own positions", atol=loose)
with check.edge("dtype of x"):
    for pairs in ("interleaved", "halves"):
        half = check.measure(checks.inout, rope, torch.ones(2, 4, dtype=torch.bfloat16), torch.arange(2), pairs)[0]
        same = "x in bfloat16 must come back in bfloat16: the float32 sines and cosines turn the product into float32"
        check.equal(str(half.dtype), "torch.bfloat16", same)
    far = check.run(rope, torch.tensor([[2.0, 1.0]], dtype=torch.bfloat16), torch.tensor([1003]))
    told = "the angles are rounded to the dtype of x: work them out in float32, and round sine and cosine"
    check.close(far, [[2 * math.cos(1003) - math.sin(1003), 2 * math.sin(1003) + math.cos(1003)]], told, atol=0.05)
with check.edge("one vector, d = 2"):
    lone = check.run(rope, torch.tensor([[3.0, 4.0]]), torch.tensor([0]), shape=(1, 2), hint="d = 2, one vector, no axes in front")
    check.close(lone, [[3.0, 4.0]], "position 0 is not turned at all")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: turning dials
# Four pairs of a query and of a key, with $\omega = 1, 0.1, 0.01, 0.001$ ($d = 8$).
# Move $m$ and $n$ one by one, then both together.
# What changes the score, and what does not?

# %% look=true
rotary_dial()

# %% [markdown]
# ### 5.2 The score, from the distance alone <small>★★☆ · 20 min · 3 points</small>
# Derive what the dials show.
# Write $R_p$ for the rotation of one pair by $p\,\omega$, so that $R_m^\top R_n = R_{n - m}$.
# Work out $(R_m q) \cdot (R_n k) = q^\top R_{n-m}\, k$ for one pair in terms of $q_0, q_1, k_0, k_1$ and the angle, then sum over the pairs.
# Only the distance $r = m - n$, the query's position minus the key's, may remain.


# %% exercise="rope-score"
def rope_score(q, k, r, base=10000.0):
    """Inner product of q (d,) turned to position m and k (d,) turned to n, for r = m - n; interleaved pairs, unscaled.

    r is an integer tensor (...), and so is the shape of the result.
    """
    ### BEGIN SOLUTION
    angles = r[..., None] * frequencies(len(q), base)  # (..., d / 2)
    q0, q1, k0, k1 = q[0::2], q[1::2], k[0::2], k[1::2]
    return ((q0 * k0 + q1 * k1) * angles.cos() + (q0 * k1 - q1 * k0) * angles.sin()).sum(dim=-1)
    ### END SOLUTION


# %% test="rope-score" points=3
check = Check("rope-score", points=3)
east, north, gaps = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]), torch.tensor([0, 1, -1])
with check.idea("the distance decides"):
    along = check.run(rope_score, east, east, gaps, shape=(3,), hint="one score for each distance in r")
    check.close(along, [1.0, math.cos(1), math.cos(1)], "two equal unit vectors: the score is the cosine of the angle")
    across = check.run(rope_score, east, north, gaps, shape=(3,), hint="one score for each distance in r")
    nearer = "q = (1, 0), k = (0, 1): turned by one radian, the query is nearer to the key: the score for r = 1 is +sin 1"
    check.close(across, [0.0, math.sin(1), -math.sin(1)], nearer)
    ### BEGIN HIDDEN TESTS
    gaps = randperm(40)[:5] - 20

    def by_angle(a, b, where, root=10000.0, sign=1, cross=1.0, flip=1.0):
        turns = where[..., None].double() * root ** (-torch.arange(0, len(a), 2).double() / len(a))
        even, odd = a[0::2] * b[0::2] + a[1::2] * b[1::2], a[0::2] * b[1::2] - flip * a[1::2] * b[0::2]
        return (even * turns.cos() + sign * cross * odd * turns.sin()).sum(-1).float()

    def split(z):  # halves, laid out as interleaved pairs
        return z.view(2, -1).T.flatten()

    for width in (6, 10):
        a, b = randn(width), randn(width)
        want = by_angle(a, b, gaps)
        check.close(
            check.run(rope_score, a, b, gaps, shape=(5,)),
            want,
            f"d = {width}: the score differs from the inner product of the two turned vectors",
            atol=3e-4,  # angles up to 20 in float32, times entries up to 4, summed,
        )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("another base"):
    check.close(
        check.run(rope_score, a, b, gaps, 90.0),
        by_angle(a, b, gaps, 90.0),
        "with base = 90 the score differs from the inner product of the two turned vectors",
        atol=3e-4,
    )
with check.edge("distances of any shape"):
    check.close(check.run(rope_score, a, b, torch.tensor(0)), a @ b, "at distance 0 it is the plain inner product, one number")
    grid = torch.tensor([[0, 5, -3], [17, 1, 40]])
    got = check.run(rope_score, a, b, grid, shape=(2, 3), hint="distances may have any shape: (2, 3) gives (2, 3)")
    check.close(got, by_angle(a, b, grid), "for distances of shape (2, 3) the scores are wrong", atol=6e-4)
with check.edge("gradients"):
    check.gradients(
        lambda y, z: rope_score(y, z, torch.tensor([0])),
        lambda y, z: (y @ z)[None],
        (a, b),
        "the gradients are wrong, or do not flow: use torch operations",
    )
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(rope_score, randn(4), randn(4), torch.tensor([1, 2]))
check.score()

# %% look=true
seed(1)
one_query, one_key = torch.randn(2, 64)
span = torch.arange(0, 200)
for m, n in [(5, 2), (105, 102), (1005, 1002)]:
    turned_score = rope(one_query[None], torch.tensor([m]))[0] @ rope(one_key[None], torch.tensor([n]))[0]
    by_distance = rope_score(one_query, one_key, torch.tensor(3))
    print(f"m = {m:>4}, n = {n:>4}: {turned_score:.4f}; from the distance alone: {by_distance:.4f}")
plots.curves(
    {
        "q = k = ones": (span, rope_score(torch.ones(64), torch.ones(64), span)),
        "random q, k": (span, rope_score(one_query, one_key, span)),
    },
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
with check.idea("pairs side by side become halves"):
    got = check.run(pairing_order, 6, shape=(6,))
    once = "every column occurs exactly once: an order of 0 … d − 1, whole numbers"
    check.equal(sorted(got.tolist()) if got.numel() else got, [0, 1, 2, 3, 4, 5], once)
    check.true((got[0] == 0) & (got[3] == 1), "columns 0 and 1 are the first pair: in halves (d = 6) they are at places 0 and 3")
    ### BEGIN HIDDEN TESTS
    for width in (6, 10, 8):
        check.equal(
            check.run(pairing_order, width),
            [*range(0, width, 2), *range(1, width, 2)],
            f"d = {width}: this is not the order that turns interleaved pairs into halves",
        )
    ### END HIDDEN TESTS
with check.edge("whole numbers"):
    check.equal(got.dtype.is_floating_point, False, "an order is an index: whole numbers, an integer tensor")
with check.edge("a single pair"):
    check.equal(check.run(pairing_order, 2), [0, 1], "for d = 2 the two pairings are the same")
check.score()

# %% [markdown]
# ### 5.4 Longer than trained: which angles are new? <small>★★☆ · 20 min · 3 points</small>
# A model was trained at length $L$, and you want to use it up to $sL$, with $s > 1$.
# RoPE is defined everywhere, but look at one pair: in training its angle never went beyond $(L - 1)\,\omega_i$.
# The fast pairs have gone round many times, so that further positions bring no new directions.
# The slow pairs have seen only a small arc, and beyond $L$ they point where no training example pointed.
# Two ways bring them back, and both only change the frequencies:
#
# - `"linear"`, position interpolation (Chen et al., 2023): position $p$ is turned as position $p/s$ was.
#   Then *every* angle below position $sL$ stays below that of position $L$.
#   The price: neighbours, which differed by one radian in the fastest pair, differ by $1/s$.
# - `"ntk"`, a new base (bloc97, 2023; written up by Peng et al., 2023): the frequencies are those of 2.1 with another base, and that base is chosen so that the *slowest* pair is slowed down exactly by $s$.
#   The fastest is not slowed down at all.
#
# For `"linear"` say what becomes of $\omega_i$.
# For `"ntk"` write the slowest frequency with the new base, set it equal to what it should be, and solve for the base.
# ($d \ge 4$ here: with one pair only, fastest and slowest are the same.)
#
# *Before you run it:* is the new base smaller or larger than $s \cdot \mathrm{base}$?
# What happens to a pair in the middle?


# %% exercise="stretched"
def stretched_frequencies(d, s, how, base=10000.0):
    """The d / 2 frequencies of RoPE for up to s times the trained length, largest first: a floating tensor (d / 2,).

    how: "linear" (position p is treated as p / s) or "ntk" (a new base that slows down the slowest pair by s, and the
    fastest not at all).
    """
    ### BEGIN SOLUTION
    if how == "linear":
        return frequencies(d, base) / s
    return frequencies(d, base * s ** (d / (d - 2)))
    ### END SOLUTION


# %% test="stretched" points=3
check = Check("stretched", points=3)
with check.idea("both ways to stretch"):
    halved = check.run(stretched_frequencies, 8, 2.0, "linear", shape=(4,))
    slower = "linear: at s = 2 position 2 has the angles that position 1 had, for d = 8: 1, 0.1, 0.01 and 0.001"
    check.close(halved, [0.5, 0.05, 0.005, 0.0005], slower)
    both_ends = check.run(stretched_frequencies, 8, 8.0, "ntk", shape=(4,))
    ends = "ntk: for d = 8 and s = 8 the first frequency stays 1, and the last, 0.001, becomes 0.001/8"
    check.close(both_ends[[0, 3]], [1.0, 0.000125], ends)
    check.close(both_ends, [1.0, 0.05, 0.0025, 0.000125], "ntk: as in 2.1 each frequency falls by the same factor, here 20")
    ### BEGIN HIDDEN TESTS

    def speeds(width, root=10000.0):
        return root ** (-2 * torch.arange(width // 2).double() / width)

    def slowed(width, factor, exponent, root=10000.0):
        return speeds(width, root * factor**exponent)

    for width, factor in [(10, 4.0), (6, 3.0)]:
        check.close(
            check.run(stretched_frequencies, width, factor, "linear"),
            speeds(width) / factor,
            f"linear: for d = {width} and s = {factor:g} the angle at position p is not the trained one at p/s",
        )
        check.close(
            check.run(stretched_frequencies, width, factor, "ntk"),
            slowed(width, factor, width / (width - 2)),
            f"ntk: for d = {width} and s = {factor:g} the frequencies are not those of the new base",
        )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("linear: any base"):
    check.close(
        check.run(stretched_frequencies, 10, 4.0, "linear", 300.0),
        speeds(10, 300.0) / 4.0,
        "linear: with base = 300 the frequencies are wrong",
    )
with check.edge("linear: s of any size"):
    check.close(check.run(stretched_frequencies, 6, 1.5, "linear"), speeds(6) / 1.5, "linear: s need not be a whole number")
    check.close(check.run(stretched_frequencies, 6, 1.0, "linear"), speeds(6), "linear: with s = 1 nothing changes")
with check.part("ntk: any base"):
    check.close(
        check.run(stretched_frequencies, 10, 4.0, "ntk", 300.0),
        slowed(10, 4.0, 10 / 8, 300.0),
        "ntk: with base = 300 the frequencies are wrong",
    )
with check.edge("ntk: s of any size"):
    check.close(check.run(stretched_frequencies, 6, 1.5, "ntk"), slowed(6, 1.5, 1.5), "ntk: s need not be a whole number")
    check.close(check.run(stretched_frequencies, 6, 1.0, "ntk"), speeds(6), "ntk: with s = 1 nothing changes")
with check.edge("two pairs"):
    check.close(check.run(stretched_frequencies, 4, 2.0, "ntk"), [1.0, 0.005], "ntk: d = 4 has a fastest and a slowest pair, and no other")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: the angles at twice the length
# $L = 32$ and $d = 16$, as in Part 8, used at length $2L$.
# For each pair the figure shows the largest angle, divided by the largest of training.
# Above 1 an angle is new; how much that matters depends on how much of a round the pair had seen, which the table below the figure shows.
# *Before you run it:* which of the three curves are straight lines?

# %% look=true
trained_length, pair_width, longer = 32, 16, 2
trained_speeds = frequencies(pair_width)
ways = {
    "as trained": trained_speeds,
    "linear": stretched_frequencies(pair_width, longer, "linear"),
    "ntk": stretched_frequencies(pair_width, longer, "ntk"),
}
pair_numbers = list(range(pair_width // 2))
largest_trained = (trained_length - 1) * trained_speeds
ax = plots.curves(
    {name: (pair_numbers, (longer * trained_length - 1) * speed / largest_trained) for name, speed in ways.items()},
    "pair, from the fastest to the slowest",
    "largest angle ÷ largest angle of training",
    f"Trained at {trained_length}, used at {longer * trained_length}",
)
ax.axhline(1, color="0.3", linewidth=1)
ax.set(ylim=(0, 2.3))
plt.show()
print("pair    rounds in training    step between neighbours: as trained, linear, ntk (radians)")
for i in pair_numbers:
    steps_apart = "  ".join(f"{speed[i]:.6f}" for speed in ways.values())
    print(f"{i:>4}    {largest_trained[i] / (2 * math.pi):>18.4f}    {steps_apart}")

# %% [markdown]
# (The curves of the stretched clocks end a little above 1: the last position is 63, and 63/2 is not 31 but 31½.)
# With the new base, pair $i$ is slowed down by $s^{2i/(d - 2)}$: by 1 at one end, by $s$ at the other, and on the way by equal factors.
# So the pairs in the middle still go beyond what they have seen, while nearby positions stay as far apart as they were.
# Which price is the smaller one is a question for an experiment: Part 8 asks it.
# YaRN (Peng et al., 2023) mixes the two: it leaves alone the pairs that have gone round often, interpolates those that have not finished one round, and passes smoothly from the one to the other.

# %% [markdown]
# ## 6 ALiBi
#
# Press, Smith and Lewis (2022) put nothing in at all.
# They only make looking far away cost something: head $h$ subtracts a multiple of the distance, $b_{ij} = -\mu_h\,|i - j|$, from the scores.
# The slopes $\mu_h$ are fixed, not learned.
#
# ### 6.1 Slopes for any number of heads <small>★★☆ · 20 min · 3 points</small>
# For a power of two $H = N$ the slopes are $2^{-8h/N}$ for $h = 1, \ldots, N$: for eight heads $\frac12, \frac14, \ldots, \frac1{256}$.
# If $H$ is not a power of two, let $N$ be the largest power of two below $H$.
# Take the $N$ slopes for $N$ heads; then, for the remaining $H - N$ heads, go through the slopes for $2N$ heads and take every other one: the first, the third, the fifth, and so on.
# (The second, fourth, … are there already.)
# Keep this order: the slopes are not sorted.


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
with check.idea("a power of two"):
    eight = check.run(alibi_slopes, 8, shape=(8,), hint="one slope for each head")
    slips = {"h starts at 1: the first slope is 1/2, not 1": [2.0**-h for h in range(8)]}
    slips["slopes are positive here: the minus sign comes with the bias"] = [-(2.0**-h) for h in range(1, 9)]
    slips["the order is reversed: the steepest head comes first"] = [2.0**-h for h in range(8, 0, -1)]
    check.close(eight, [2.0**-h for h in range(1, 9)], "eight heads: 1/2, 1/4, …, 1/256", rtol=1e-5, wrong=slips)
    slips = {"the exponent is −8h/H: with fewer heads the steps are larger": [0.5, 0.25, 0.125, 0.0625]}
    four = "four heads: 2^(−8h/4) is 1/4, 1/16, 1/64, 1/256"
    check.close(
        check.run(alibi_slopes, 4), [1 / 4, 1 / 16, 1 / 64, 1 / 256], four, rtol=1e-5, wrong=slips
    )  # a list of float32 is right, too
    ### BEGIN HIDDEN TESTS
    for heads in (2, 16, 32):
        expected = [2.0 ** (-8 * h / heads) for h in range(1, heads + 1)]
        got = check.run(alibi_slopes, heads, shape=(heads,), hint=f"one slope for each of {heads} heads")
        check.close(got, expected, f"the slopes of {heads} heads are wrong: 2^(−8h/{heads})", rtol=1e-5)
    ### END HIDDEN TESTS
with check.part("any number of heads"):
    three = "three heads: the slopes of two heads (1/16, 1/256), then the first slope of four heads (1/4)"
    check.close(check.run(alibi_slopes, 3, shape=(3,)), [1 / 16, 1 / 256, 1 / 4], three, rtol=1e-5)
    ### BEGIN HIDDEN TESTS
    for heads in (7, 5, 6, 12, 20, 31, 33):
        power = max(2**e for e in range(7) if 2**e <= heads)
        first_ones = [2.0 ** (-8 * h / power) for h in range(1, power + 1)]
        right = first_ones + [2.0 ** (-8 * h / (2 * power)) for h in range(1, 2 * power, 2)][: heads - power]
        check.close(
            check.run(alibi_slopes, heads, shape=(heads,), hint=f"one slope for each of {heads} heads"),
            right,
            f"the slopes of {heads} heads are wrong",
            rtol=1e-5,
        )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("one head"):
    check.close(check.run(alibi_slopes, 1, shape=(1,)), [2.0**-8], "one head: 1 is a power of two, its slope is 1/256", rtol=1e-5)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 6.2 The bias <small>★☆☆ · 10 min · 2 points</small>
# Every step between query and key costs head $h$ its slope $\mu_h$, whichever of the two comes first.
# (With a causal mask only keys before the query count; without one the same bias looks both ways.)


# %% exercise="alibi-bias"
def alibi_bias(q_positions, k_positions, slopes):
    """Bias (H, n, m) for queries at q_positions (n,), keys at k_positions (m,) and slopes (H,)."""
    ### BEGIN SOLUTION
    distance = (q_positions[:, None] - k_positions[None, :]).abs()  # (n, m)
    return -slopes[:, None, None] * distance
    ### END SOLUTION


# %% test="alibi-bias" points=2
check = Check("alibi-bias", points=2)
asks, order = torch.tensor([2, 3]), "the axes are head, query, key, in this order"
with check.idea("far costs more"):
    got = check.run(alibi_bias, asks, torch.arange(3), torch.tensor([1.0, 0.25, 8.0]), shape=(3, 2, 3), hint=order)
    costs = "slope 1: a query at 2 and keys at 0, 1, 2 give −2, −1, 0, a query at 3 gives −3, −2, −1"
    check.close(got[0], [[-2.0, -1.0, 0.0], [-3.0, -2.0, -1.0]], costs)
    check.close(got[1], [[-0.5, -0.25, 0.0], [-0.75, -0.5, -0.25]], "slope 1/4: every head has its own slope, from `slopes`")
    ### BEGIN HIDDEN TESTS
    nearer = check.run(alibi_bias, torch.tensor([5, 3]), torch.arange(3), torch.tensor([2.0, 1.0, 0.5]), shape=(3, 2, 3), hint=order)
    check.close(
        nearer[0], [[-10.0, -8.0, -6.0], [-6.0, -4.0, -2.0]], "slope 2, queries at 5 and 3: the bias is not minus slope times distance"
    )
    late, keys_at, slope = 50 + randperm(20)[:2], randperm(50)[:5], rand(3) + 0.1
    gap = (late[:, None] - keys_at).float()  # all keys before the queries
    check.close(
        check.run(alibi_bias, late, keys_at, slope, shape=(3, 2, 5), hint=order),
        -slope[:, None, None] * gap,
        "queries and keys at other places: the bias is not minus slope times distance",
    )
    ### END HIDDEN TESTS
with check.part("keys in the future"):
    ahead = check.run(alibi_bias, torch.arange(2), torch.arange(4), torch.tensor([1.0]), shape=(1, 2, 4))
    slips = {"one side is rewarded: the distance has a sign here. Take its absolute value": [[0.0, 1.0, 2.0, 3.0], [-1.0, 0.0, 1.0, 2.0]]}
    slips["distances in the future are set to 0: the formula looks both ways; hiding is the mask's job"] = [[0.0] * 4, [-1.0] + [0.0] * 3]
    both = "the formula looks both ways: keys at 0, 1, 2, 3 give a query at 0 the biases 0, −1, −2, −3"
    check.close(ahead[0], [[0.0, -1.0, -2.0, -3.0], [-1.0, 0.0, -1.0, -2.0]], both, wrong=slips)
with check.edge("inputs unchanged"):
    check.unchanged(alibi_bias, asks, torch.arange(3), torch.tensor([1.0, 0.25]))
### BEGIN HIDDEN TESTS
with check.edge("one query, one key"):
    lone = check.run(alibi_bias, torch.tensor([4]), torch.tensor([4]), torch.tensor([1.0]), shape=(1, 1, 1), hint=order)
    check.close(lone, [[[0.0]]], "one head, one query, one key: no distance")
    tall = check.run(
        alibi_bias, torch.arange(5), torch.arange(2), torch.tensor([1.0]), shape=(1, 5, 2), hint="there may be more queries than keys"
    )
    check.close(tall[0, 4], [-4.0, -3.0], "more queries than keys: the bias is wrong")
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
# *Before you run it:* with 32 buckets in both directions and $r_{\max} = 128$, how many distances have a bucket to themselves?


# %% exercise="t5-bucket"
def t5_bucket(distance, bidirectional, buckets=32, max_distance=128):
    """T5's bucket, an integer in 0 … buckets - 1, of each distance (...), the key's position minus the query's."""
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
shared = "8 buckets, r_max = 16: r = 0 … 3 are exact, then 4–5, 6–7, 8–11, and all from 12 on share buckets"
with check.idea("exact, then logarithmic"):
    back = -torch.tensor([0, 1, 15, 16, 20, 32, 64, 100])
    got = check.run(t5_bucket, back, False, shape=(8,), hint="one bucket for each distance")
    slips = {"the past is negative: a key before the query has a negative distance, and r is minus the distance": [0] * 8}
    slips["the logarithm is rounded to the nearest integer: round it down"] = [0, 1, 15, 16, 18, 21, 27, 30]
    thirds = "32 buckets: r = 0 … 15 are exact; r = 32, 64 are 1/3, 2/3 of the way from log 16 to log 128: buckets 21, 26"
    check.equal(got, [0, 1, 15, 16, 17, 21, 26, 30], thirds, wrong=slips)
    ### BEGIN HIDDEN TESTS
    few_back = check.run(t5_bucket, -torch.tensor([3, 2, 1, 0, 4, 5, 6, 7]), False)
    check.equal(few_back, [3, 2, 1, 0, 4, 5, 6, 7], "32 buckets: r = 0 … 15 are exact, in any order")

    def by_powers(gap, total, most, both_ways):  # in whole numbers: (most/E)^(s/(N−E)) ≤ r/E, without any logarithm
        size = total // 2 if both_ways else total
        back, low = abs(gap) if both_ways else max(-gap, 0), size // 2
        wide = [e for e in range(size - low) if most**e * low ** (size - low - e) <= back ** (size - low)]
        return (back if back < low else low + max(wide)) + (size if both_ways and gap > 0 else 0)

    def clear(first, last, total, most, both_ways):
        """Distances from first to last; where log(r/E) / log(r_max/E) · (N − E) is a whole number, rounding decides: left out."""
        size = total // 2 if both_ways else total
        low = size // 2
        steps = [math.log(max(abs(g), low) / low) / math.log(most / low) * (size - low) for g in range(first, last)]
        return [g for g, z in zip(range(first, last), steps, strict=True) if abs(g) <= low or abs(z - round(z)) > 1e-4]

    gaps = [g for g in clear(-127, 1, 32, 128, False) if g in clear(-127, 1, 16, 128, False)]
    check.equal(
        check.run(t5_bucket, torch.tensor(gaps), False),
        [by_powers(g, 32, 128, False) for g in gaps],
        "one direction, 32 buckets, r_max = 128: a bucket below r_max is wrong. Look at the exact half first, then at the logarithm",
    )
    ### END HIDDEN TESTS
with check.part("other numbers of buckets"):
    few = check.run(t5_bucket, -torch.tensor([0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 15]), False, 8, 16)
    check.equal(few, [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7], shared)
    ### BEGIN HIDDEN TESTS
    for total, most in [(12, 50), (32, 60), (20, 128), (4, 9), (11, 70)]:
        gaps = clear(1 - most, 1, total, most, False)
        want = [by_powers(g, total, most, False) for g in gaps]
        got = check.run(t5_bucket, torch.tensor(gaps), False, total, most)
        check.equal(got, want, f"one direction, {total} buckets, r_max = {most}: a bucket is wrong")
    ### END HIDDEN TESTS
with check.part("the last bucket"):
    last = "the last bucket is N − 1: everything from r_max = 128 on falls into bucket 31"
    check.equal(check.run(t5_bucket, -torch.tensor([130, 500, 5000]), False), [31, 31, 31], last)
with check.part("both directions"):
    got = check.run(t5_bucket, torch.tensor([-100, -20, -7, -1, 0, 1, 7, 20, 100]), True)
    slips = {"past and future are exchanged: N/2 is added where the distance is positive": [31, 26, 23, 17, 0, 1, 7, 10, 15]}
    slips["distance 0 belongs to the first half: N/2 is added where the distance is greater than 0"] = [15, 10, 7, 1, 16, 17, 23, 26, 31]
    slips["the sign is lost: past and future need separate buckets"] = [15, 10, 7, 1, 0, 1, 7, 10, 15]
    slips["each direction has half of the buckets: use N/2 in the formula, too"] = [30, 17, 7, 1, 0, 17, 23, 33, 46]
    sides = "both directions: 0 … 15 for the past and the query itself, 16 … 31 for the future; r = 0 … 7 are exact"
    check.equal(got, [15, 10, 7, 1, 0, 17, 23, 26, 31], sides, wrong=slips)
    ### BEGIN HIDDEN TESTS
    gaps = clear(-127, 128, 32, 128, True)
    halved = "both directions, 32 buckets, r_max = 128: a bucket is wrong. Is every N in the formula halved?"
    check.equal(check.run(t5_bucket, torch.tensor(gaps), True), [by_powers(g, 32, 128, True) for g in gaps], halved)
    ### END HIDDEN TESTS
with check.part("the future in one direction"):
    future = "one direction: all keys in the future fall into bucket 0; the mask hides them anyway"
    check.equal(check.run(t5_bucket, torch.tensor([1, 5, 200]), False, 8, 16), [0, 0, 0], future)
### BEGIN HIDDEN TESTS
with check.edge("whole numbers of any shape"):
    gaps = -torch.arange(6)[None] - torch.arange(5)[:, None]
    grid = check.run(t5_bucket, gaps, False, shape=(5, 6), hint="distances of any shape: (n, m) gives (n, m)")
    check.equal(grid.dtype.is_floating_point, False, "buckets are rows of a table: whole numbers, an integer tensor")
    check.close(grid, -gaps, "distances of shape (n, m): each entry has its own bucket")
    both_ways = check.run(t5_bucket, gaps, True)
    check.equal(both_ways.dtype.is_floating_point, False, "in both directions, too, buckets are whole numbers: halve with `//`")
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(t5_bucket, torch.arange(-5, 6), True)
    check.unchanged(t5_bucket, torch.arange(-5, 6), False)
check.score()

# %% [markdown]
# ### 7.2 The bias <small>★☆☆ · 10 min · 2 points</small>
# The table has a row for each bucket and a column for each head.
# The result is added to scores of shape $(B, H, n, m)$: which order of axes does that need, and how many buckets are there?


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
axes_hint = "the axes are head, query, key, as in the scores; and there are as many buckets as the table has rows"
with check.idea("look up the bucket of a distance"):
    got = check.run(t5_bias, torch.arange(4), torch.arange(5), names, True, shape=(3, 4, 5), hint=axes_hint)
    slips = {"the distance is the key's position minus the query's: rows are queries": [200.0, 201.0, 202.0, 202.0, 202.0]}
    eight = "head 2, first query, both directions, 8 rows and so 8 buckets: buckets 0, 5, 6, 6, 6"
    check.close(got[2, 0], [200.0, 205.0, 206.0, 206.0, 206.0], eight, wrong=slips)
    ### BEGIN HIDDEN TESTS
    numbers, asks, keys_at = randn(12, 5), torch.tensor([70, 3]), torch.tensor([0, 69, 70, 71, 5, 3])
    by_row = [[5, 1, 0, 7, 5, 5], [3, 11, 11, 11, 8, 0]]  # N/2 = 6, E = 3, r_max = 128: 3–10, 11–36, 37 and more share buckets
    check.close(
        check.run(t5_bias, asks, keys_at, numbers, True, shape=(5, 2, 6), hint=axes_hint),
        numbers[torch.tensor(by_row)].permute(2, 0, 1),
        "queries at 70 and 3, keys at other places, twelve rows: the bias is wrong. Are the given positions used?",
    )
    ### END HIDDEN TESTS
with check.part("one direction"):
    one_way = check.run(t5_bias, torch.arange(4), torch.arange(5), names, False, shape=(3, 4, 5), hint=axes_hint)
    back = "head 0, last query, one direction: three back, two back, one back, itself, and the future as 0"
    slips = {"the argument `bidirectional` is not used": [2.0, 2.0, 1.0, 0.0, 5.0]}
    check.close(one_way[0, 3], [3.0, 2.0, 1.0, 0.0, 0.0], back, wrong=slips)
### BEGIN HIDDEN TESTS
with check.edge("more queries than keys"):
    tall = check.run(t5_bias, torch.arange(5), torch.arange(2), names, False, shape=(3, 5, 2), hint=axes_hint)
    check.close(tall[0, 3], [3.0, 2.0], "more queries than keys: the bias is wrong")
with check.part("max_distance"):
    for most, bucket in [(12, 3.0), (128, 2.0)]:
        middle = check.run(t5_bias, torch.tensor([9]), torch.tensor([0]), names, True, most, shape=(3, 1, 1))
        check.close(middle[0, 0, 0], bucket, f"nine back, eight buckets, r_max = {most}: is `max_distance` passed on?")
with check.part("gradients"):
    check.gradients(
        lambda z: t5_bias(torch.tensor([70, 3]), torch.tensor([0, 69, 70, 71, 5, 3]), z, True),
        lambda z: z[torch.tensor(by_row)].permute(2, 0, 1),
        (numbers,),
        "the gradients are wrong, or do not reach the table: then it cannot be learned",
    )
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(t5_bias, torch.arange(4), torch.arange(5), names, True)
check.score()

# %% look=true
steps_back = torch.arange(0, 160)
figure, axes = plt.subplots(1, 2, figsize=(13, 4))
falling = alibi_bias(torch.tensor([159]), torch.arange(160), alibi_slopes(6))[:, 0].flip(-1)  # (6, 160), nearest first
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
# In both directions the 15 distances from −7 to 7 have a bucket to themselves, and bucket 16 stays empty: it would be the future at distance 0.
#
# ## 8 Longer than ever seen
#
# Now try all six, in the same model and on the same task.
# The task is *recall*.
# Each token is a pair of one of 8 keys and one of 8 values.
# At every step the model has to give the value that the token's key had **at its latest earlier occurrence**.
# Content says which earlier tokens have the same key; only position says which of them is the latest, and the longer the sequence, the more old ones there are.
# Guessing gives 1/8.
#
# The model has one layer of causal attention, `attend`, with 4 heads and width 64. It is trained on sequences of length $L = 32$ only and tested at lengths from 8 to $8L = 256$, always on the last eight positions.
# `Scheme` says where positions enter: `embed` changes the embeddings, `turn` the queries and keys, `bias` adds to the scores.
# Read the six lines: they are the summary of this notebook.
# `"none"`, the control, has no positions.
#
# You may stop the cell (the ■ button): you get what there is so far, and running the cell again goes on from there.
#
# *Before you run it:* rank the six by their accuracy at length 256. Which will be good at 32 and bad at 256, and why?

# %% look=true
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


# %% look=true
def accuracy_curves(found, title):
    """Accuracies (seeds, lengths) against the test length, with a line at the training length."""
    ax = plots.curves(found, "test length", "share of right answers", title, log_x=True)
    ax.axvline(L, color="0.3", linewidth=1)
    ax.set(ylim=(0, 1.02), xticks=[8, 16, 32, 64, 128, 256], xticklabels=[8, 16, 32, 64, 128, 256])
    return ax


ax = accuracy_curves(results, f"Trained at {L}: mean and range over the seeds")
if "none" in results:  # the control, in grey
    ax.lines[-1].set(color="0.5", linestyle=":", marker="x")
    ax.collections[-1].set(color="0.5")
ax.axhline(1 / extrapolation.VALUES, color="0.3", linewidth=1, linestyle=":")
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

# %% look=true
up_to_24 = {"bidirectional": False, "max_distance": 24}
all_trained = Scheme(bias=lambda q, k, table: t5_bias(at(q), at(k), table, **up_to_24), table=(32, H))
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
accuracy_curves({name: pair for name, pair in compared.items() if pair is not None}, f"T5, trained at {L}")
plt.show()

# %% [markdown]
# What we measured:
#
# | accuracy at length | 32 | 64 | 256 |
# | --- | --- | --- | --- |
# | T5, `max_distance` 128 | .87–.89 | .54–.57 | .26–.28 |
# | T5, `max_distance` 24 | .87–.89 | .76–.77 | .53–.54 |
#
# So untrained buckets explain much of the fall, but not all of it.
#
# Part of the rest is arithmetic.
# Beyond the last bucket all keys have the same bias $b$.
# A sequence of length $T$ has about $T/8$ matching keys out there, and each weighs $e^{b}$ times what content gives it: together they grow with $T$ and outvote the latest one in the end.
# How soon depends on $b$: Shaw's vectors are clipped, too, and fall more slowly.
# With ALiBi the far keys together weigh at most $\sum_{r} e^{-\mu r} = 1/(1 - e^{-\mu})$, however long the sequence is: a geometric series, which does not grow.
# The next cell checks the sum, for the steepest of four heads and for a bias that stops falling at 24.

# %% look=true
steepest = alibi_slopes(4)[0]
for longest_distance in (32, 64, 256, 4096):
    gap_sizes = torch.arange(longest_distance)
    linear, floored = (-steepest * gap_sizes).exp().sum(), (-steepest * gap_sizes.clamp(max=24)).exp().sum()
    bound = 1 / (1 - (-steepest).exp())
    print(f"T = {longest_distance:>4}: linear {linear:.3f}, stops at 24 {floored:.3f}, bound {bound:.3f}")

# %% [markdown]
# ### Look: RoPE, stretched
# One more explanation can be tested: RoPE falls because its slow pairs reach new angles (5.4).
# The next cell trains RoPE as before, at length 32 and unstretched.
# When it is tested at a length $T > 32$, it uses the frequencies of 5.4 with $s = T/32$, without any further training.
#
# *Before you run it:* the fast pairs can tell a token's neighbours apart.
# What does the task of recall need most, and which of the two ways keeps it?


# %% look=true
def turned_by(x, speeds):
    """x (..., T, d), in interleaved pairs, turned by position × speed, for speeds (d / 2,)."""
    angles = at(x)[:, None] * speeds
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def stretched_scheme(how):
    return Scheme(turn=lambda x: turned_by(x, stretched_frequencies(x.shape[-1], max(1.0, x.shape[-2] / L), how)))


stretches = {"as trained": SCHEMES["RoPE"], "linear": stretched_scheme("linear"), "ntk": stretched_scheme("ntk")}
test_lengths = [8, 16, 32, 64, 128, 256]
stretched_rows = {name: [] for name in stretches}
with extrapolation.one_thread():
    seed_numbers = range(pick(smoke=1, laptop=3, gpu=5))
    for seed_number in training.progress(seed_numbers, "RoPE, then stretched", keep=[stretched_rows]):
        trained = extrapolation.train(
            SCHEMES["RoPE"],
            attend,
            seed_number,
            L,
            pick(smoke=3, laptop=500, gpu=2000),
            label=f"RoPE, seed {seed_number}",
        )
        for name, scheme in stretches.items():  # one model, tested in three ways
            trained.scheme = scheme
            accuracies = [extrapolation.accuracy(trained, T, pick(smoke=8, laptop=64, gpu=256)) for T in test_lengths]
            stretched_rows[name].append(accuracies)
for name, of_seeds in stretched_rows.items():
    print(extrapolation.summary(name, test_lengths, of_seeds))
stretched_curves = {name: (test_lengths, torch.tensor(of_seeds)) for name, of_seeds in stretched_rows.items()}
accuracy_curves(stretched_curves, f"RoPE, trained at {L}")
plt.show()

# %% [markdown]
# ### 8.1 Read the figure <small>★★☆ · 15 min · 3 points, graded by hand</small>
# Which schemes hold their accuracy beyond the training length here, which lose it, and which cannot be tested there at all?
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
# For queries $(n, d)$, no tensor you create may have more than $n \cdot \max(m, 2c + 1)$ elements (the test that measures this has $d \le 2c + 1$).
# An answer that breaks this limit earns nothing.


# %% exercise="bonus-shaw-lean"
def shaw_bias_lean(q, table, q_positions, k_positions):
    """The same as shaw_bias, for q (n, d): (n, m). Never more than n * max(m, 2 * clip + 1) elements in one tensor."""
    ### BEGIN SOLUTION
    products = q @ table.T / q.shape[-1] ** 0.5  # (n, 2 clip + 1)
    return products.gather(-1, relative_index(q_positions, k_positions, len(table) // 2))
    ### END SOLUTION


# %% test="bonus-shaw-lean" points=3
check = Check("bonus-shaw-lean", points=3)
with check.idea("products first, then gather"):
    spent = check.measure(checks.cost, shaw_bias_lean, randn(20, 8), randn(11, 8), torch.arange(20), torch.arange(30))
    thrifty = (spent.largest <= 20 * 30) & (spent.flops >= 2 * 20 * 11 * 8)  # the product with the table, which every answer needs
    check.counted(thrifty, "a tensor has more than n · max(m, 2c + 1) elements: multiply with the table first, then gather")
    broken = "a tensor was larger than allowed, so the results are not looked at"
    refused = checks.Failed(broken, broken) if type(thrifty) is bool else thrifty
    three = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    asks = torch.tensor([[2.0, 4.0, 6.0, 0.0], [20.0, 40.0, 60.0, 0.0]])
    got = check.run(shaw_bias_lean, asks, three, torch.arange(2), torch.arange(2), shape=(2, 2)) if thrifty else refused
    check.close(got, [[2.0, 3.0], [10.0, 20.0]], "the example from 4.2 comes out differently")
    ### BEGIN HIDDEN TESTS
    q, rows, gap = randn(5, 6), randn(9, 6), (torch.arange(7)[None] - torch.arange(5)[:, None]).clamp(-4, 4)
    picked = (q[:, None] * rows[gap + 4]).sum(-1)
    check.close(
        check.run(shaw_bias_lean, q, rows, torch.arange(5), torch.arange(7), shape=(5, 7)) if thrifty else refused,
        picked / 6**0.5,
        "the bias differs from q_i · a_ij / √d for d = 6 and nine rows",
    )
    thrifty = thrifty and check.affordable(
        shaw_bias_lean,
        lambda m: (randn(512, 128), randn(65, 128), torch.arange(512), torch.arange(m)),
        512,
        megabytes=32,  # the result has 1
        wasteful=128,  # the cube
        right=lambda out, q, table, i, j: checks.near(
            out, (q @ table.T / q.shape[1] ** 0.5).gather(1, (j - i[:, None]).clamp(-32, 32) + 32)
        ),
        hint="for 512 queries and keys the n × m × d tensor was built after all: multiply with the table first, then gather",
        or_nothing=True,
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(shaw_bias_lean, asks, three, torch.arange(2), torch.arange(2))
### BEGIN HIDDEN TESTS
with check.part("more rows than keys"):
    again = check.measure(checks.cost, shaw_bias_lean, randn(16, 8), randn(33, 8), torch.arange(16), torch.arange(20))
    lean = (again.largest <= 16 * 33) & (again.flops >= 16 * 33 * 8)  # a product with one vector counts once
    check.counted(lean, "with 33 rows and 20 keys a tensor with more than n · (2c + 1) elements was made")
with check.part("given positions"):
    places, keys_at = torch.tensor([100, 3, 57]), 50 + randperm(60)[:7]
    check.close(
        check.run(shaw_bias_lean, q[:3], rows, places, keys_at, shape=(3, 7)) if thrifty else refused,
        (q[:3, None] * rows[(keys_at[None] - places[:, None]).clamp(-4, 4) + 4]).sum(-1) / 6**0.5,
        "queries at 100, 3 and 57: use the positions that are given",
    )
    tall = check.run(shaw_bias_lean, q, rows, torch.arange(5), torch.arange(2), shape=(5, 2)) if thrifty else refused
    check.close(tall, picked[:, :2] / 6**0.5, "there may be more queries than keys")
with check.part("gradients"):
    check.gradients(
        lambda a, b: shaw_bias_lean(a, b, torch.arange(5), torch.arange(7)),
        lambda a, b: (a[:, None] * b[gap + 4]).sum(-1) / 6**0.5,
        (q, rows),
        "the gradients are wrong, or do not flow",
    ) if thrifty else check.true(refused, "a tensor was larger than allowed, so the gradients are not looked at")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## What you can now do
# - Prove with three lines of algebra, and with a test, that attention alone does not see order.
# - Write sinusoidal, learned, relative, rotary, linear and bucketed positions, in every layout and pairing you will meet in a checkpoint.
# - Say which of them depend on distances alone, and derive it.
# - Stretch RoPE to lengths beyond those of training, and say what each way of doing it gives up.
# - Plug a scheme into a model, train at one length, test at others, and report the spread over seeds with the result.
#
# Next, `09-gpt` puts tokens, blocks and positions together into a language model.
