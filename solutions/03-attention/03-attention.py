# %% [markdown]
# # 03 · Attention: selection, averaging, masks, cost
#
# | | |
# | --- | --- |
# | **You will be able to** | write a query that selects a value, averages some, or hits any weights you ask for · say why scores are divided by $\sqrt{d}$ and prove it · mask so that nothing leaks and nothing is NaN · count what attention costs · build multi-head attention by reshaping |
# | **You need** | matrix products, softmax, partial derivatives, a little PyTorch |
# | **Time** | about four hours; each heading says how long its exercise takes |
# | **Points** | 61, and 4 bonus |
#
# A recurrent network carries the past in one vector.
# Whatever it wants to use later has to fit in there, and has to survive every step in between.
# Attention (Bahdanau, Cho and Bengio, 2015) keeps all past vectors and looks up what it needs, when it needs it.
# This notebook takes that look-up apart: what it can select, what it can average, what it must not see, what it costs.
#
# **Notation.**
# $n$ queries and $m$ keys of width $d$ are the rows of $Q \in \mathbb{R}^{n \times d}$ and $K \in \mathbb{R}^{m \times d}$.
# Each key $k_j$ comes with a value $v_j$ of width $e$, a row of $V \in \mathbb{R}^{m \times e}$.
# From Part 5 on there may be batch axes in front.
#
# Rows and entries are counted from 0, as in Python.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, then run the test below it.
# Grading runs further checks of the same ideas.
# *Before you run it* marks a prediction: write it down first, on paper.
#
# Your functions get torch tensors and return new ones: leave the inputs as they are.
# Loops are allowed, and so are functions that you wrote in an earlier exercise.
# Networks are built from 1.1, 1.2, 4.2, 5.1, 5.3, 6.1, 7.1, 7.2 and 7.3: in these, gradients have to flow back to every floating-point input.
# Use torch operations all the way through.

# %% locked="setup"
import math

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from helpers import checks
from helpers.attention import widgets
from helpers.attention.four_keys import KEYS
from helpers.checks import Check, rand, randn, randperm
from helpers.kit import plots
from helpers.kit.scale import pick
from helpers.kit.seeding import seed

# %% [markdown]
# ## 1 A soft look-up
#
# A dictionary returns the value whose key *equals* the query.
# Attention returns a mixture of all values, weighted by how well each key *matches* the query.
# In Parts 1 to 3 the match is the plain inner product, without any scaling:
#
# $$ s_{ij} = q_i \cdot k_j, \qquad w_{ij} = \frac{e^{s_{ij}}}{\sum_{l=0}^{m-1} e^{s_{il}}}, \qquad o_i = \sum_{j=0}^{m-1} w_{ij}\, v_j . $$
#
# ### 1.1 Weights <small>★☆☆ · 5 min · 2 points</small>
# Each query compares itself with every key.
# Turn the comparisons into one distribution per query.
#
# *Before you run it:* what happens to the weights when every key is multiplied by ten?
# And when the same vector is added to every key?


# %% exercise="lookup-weights"
def lookup_weights(Q, K):
    """Weights of queries Q (n, d) on keys K (m, d), scores unscaled: an (n, m) tensor whose rows sum to one."""
    ### BEGIN SOLUTION
    return (Q @ K.mT).softmax(dim=-1)
    ### END SOLUTION


# %% test="lookup-weights" points=2
check = Check("lookup-weights", points=2)
q, k = randn(5, 7), randn(4, 7)  # all sizes differ: a swapped axis cannot hide
with check.idea("scores become weights"):
    shape = "one row per query, one column per key: which of Q and K comes first in the product?"
    w = check.run(lookup_weights, q, k, shape=(5, 4), hint=shape)
    ready = check.run(lookup_weights, torch.tensor([[0.0, 0.0], [1.0, 0.0]]), torch.tensor([[math.log(3.0), 5.0], [0.0, -2.0]]))
    expected = "a zero query gives equal weights; scores log 3 and 0 give 3 : 1. Is the score the plain inner product?"
    check.close(ready, [[0.5, 0.5], [0.75, 0.25]], expected)
    check.distribution(w, "every row is one query's distribution over the keys: along which axis does softmax run?")
    ### BEGIN HIDDEN TESTS
    scores = q @ k.T
    right = torch.exp(scores) / torch.exp(scores).sum(1, keepdim=True)
    check.close(w, right, "the weights differ from exp(q·k) divided by its row sums")
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(lookup_weights, q, k)
### BEGIN HIDDEN TESTS
with check.part("gradients"):
    softly = lambda a, b: (a @ b.T).softmax(1)  # noqa: E731
    check.gradients(
        lookup_weights, softly, (randn(5, 7), randn(4, 7)), "the gradients through your look-up are wrong, or do not flow at all"
    )
with check.edge("one query, one key"):
    single = check.run(lookup_weights, randn(1, 3), randn(1, 3), shape=(1, 1))
    check.close(single, 1.0, "one query and one key: the weight is one")
with check.edge("large scores"):
    big = check.run(lookup_weights, torch.full((2, 3), 17.0), torch.full((4, 3), 17.0), shape=(2, 4))
    check.finite(big, "large scores overflow: exp(867) is infinite. Subtract the row's maximum first, or use torch's softmax")
    check.close(big, 0.25, "four equal keys have equal weights, however large the scores are")
    high = check.run(lookup_weights, torch.tensor([[60.0]]), torch.tensor([[2.0], [2.0 + math.log(3.0) / 60]]))
    check.close(
        high, [[0.25, 0.75]], "scores of 120 and 120 + log 3 give 1 : 3, as any two that are log 3 apart: are they cut off?", rtol=1e-3
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 1.2 The look-up <small>★☆☆ · 5 min · 2 points</small>
# Use your weights to mix the values.
# The output has one row per query and the width of the *values*, which need not be the width of the keys.


# %% exercise="lookup"
def lookup(Q, K, V):
    """Soft look-up: queries Q (n, d), keys K (m, d), values V (m, e). Returns (n, e)."""
    ### BEGIN SOLUTION
    return lookup_weights(Q, K) @ V
    ### END SOLUTION


# %% test="lookup" points=2
check = Check("lookup", points=2)
q, k, v = randn(5, 7), randn(4, 7), randn(4, 3)
with check.idea("weights mix the values"):
    shape = "one row per query, as wide as a value: do the weights multiply V from the left?"
    out = check.run(lookup, q, k, v, shape=(5, 3), hint=shape)
    asks, keys = torch.tensor([[1.0, 0.0]]), torch.tensor([[math.log(3.0), 5.0], [0.0, -2.0]])
    mixed = check.run(lookup, asks, keys, torch.tensor([[4.0, 0.0], [0.0, 8.0]]))
    check.close(mixed, [[3.0, 2.0]], "the weights 3/4 and 1/4 mix (4, 0) and (0, 8) to (3, 2): use your weights from 1.1")
    ### BEGIN HIDDEN TESTS
    same_size = randn(6, 6)
    other = check.run(lookup, same_size, same_size.flip(0), same_size * 2, shape=(6, 6))
    cases = [(out, q, k, v), (other, same_size, same_size.flip(0), same_size * 2)]  # square inputs: a wrong role does not show in the shape
    for result, ask, key, give in cases:
        check.close(
            result,
            (ask @ key.T).softmax(1) @ give,
            "the output is the weights from 1.1 times the values: is a matrix transposed, or is it the wrong matrix that you mix?",
        )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(lookup, q, k, v)
### BEGIN HIDDEN TESTS
with check.part("gradients"):
    softly = lambda a, b, c: (a @ b.T).softmax(1) @ c  # noqa: E731
    flow = "the gradients through your look-up are wrong, or do not reach the queries, the keys and the values"
    check.gradients(lookup, softly, (randn(5, 7), randn(4, 7), randn(4, 3)), flow)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: drag a query
# Four keys, four values.
# Drag the tip of the query in the plane of its first two coordinates, move the sliders for the third coordinate and for the query's length, and watch the weights and the output.
# Can you make one weight almost 1?
# All four equal?
# Exactly two equal and the others 0?

# %% look=true
widgets.drag_query(KEYS)

# %% [markdown]
# ## 2 Selection
#
# The keys of this part (the rows of `KEYS`) are
#
# $$ K = \begin{pmatrix} .47 & .65 & .60 \\ .64 & .50 & -.59 \\ -.03 & -.48 & -.88 \\ .43 & -.83 & .35 \end{pmatrix}. $$
#
# They point in different directions and have almost the same length.
# Softmax only sees differences of scores: when one score leads by $\Delta$, every other weight is at most $e^{-\Delta}$.
# Multiply a query by a large number $S$, and every lead is multiplied by $S$.

# %% look=true
lengths = KEYS.norm(dim=1)
print("lengths      ", [f"{x:.4f}" for x in lengths.tolist()])
print("k_0 · k_j    ", [f"{x:.3f}" for x in (KEYS @ KEYS[0]).tolist()])
for factor in (1, 10, 100):
    print(f"weights of {factor:>3} k_0", [f"{x:.4f}" for x in (factor * KEYS @ KEYS[0]).softmax(0).tolist()])

# %% [markdown]
# ### 2.1 Select one value <small>★☆☆ · 5 min · 2 points</small>
# Write the query that returns $v_0$: its weight on the first key, $k_0$, must exceed 0.999.
# Use $S = 10^5$ for "large".


# %% exercise="select-first"
def select_first(keys):
    """A query (d,) that puts a weight above 0.999 on the first of the keys (m, d), all of about the same length."""
    ### BEGIN SOLUTION
    return 1e5 * keys[0]
    ### END SOLUTION


# %% test="select-first" points=2
check = Check("select-first", points=2)
with check.idea("along the first key"):
    shape = "the query is one vector with the width of a key: not a matrix, and not the weights"
    query = check.run(select_first, KEYS, shape=(3,), hint=shape)
    check.finite(query, "the query must stay finite: infinity times a key gives NaN. S = 1e5 is long enough")
    score = query.double() @ KEYS.double().T
    away = "the first key has the lowest score of all: your query points away from it, not along it"
    check.true(score.argmin() != 0, away)
    check.equal(score.argmax().tolist(), 0, "another key gets the most weight: which key does your query point to?")
    ### BEGIN HIDDEN TESTS
    unit = torch.nn.functional.normalize(randn(5, 8), dim=1)
    query = check.run(select_first, unit, shape=(8,), hint="the query has the width of the keys that are given: build it from `keys`")
    best = (query.double() @ unit.double().T).argmax().tolist()
    check.equal(best, 0, "with other keys another one gets the most weight: is the query built from `keys`?")
    ### END HIDDEN TESTS
with check.part("long enough"):
    check.true(score.softmax(0)[0] > 0.999, "the first key should get almost all of the weight: make the query long")
    ### BEGIN HIDDEN TESTS
    lead = (query.double() @ unit.double().T).softmax(0)[0]
    check.true(lead > 0.999, "with other keys of length one the weight stays below 0.999: make the query long (S = 1e5)")
    ### END HIDDEN TESTS
with check.edge("input unchanged"):
    check.unchanged(select_first, KEYS)
### BEGIN HIDDEN TESTS
with check.edge("keys close together"):
    close_by = torch.tensor([[1.0, 0.0], [0.9998, 0.02], [0.9998, -0.02]])
    for near in (close_by, close_by.flip(0)):
        query = check.run(select_first, near, shape=(2,), hint="the query has the width of the keys that are given: build it from `keys`")
        lead = (query.double() @ near.double().T).softmax(0)[0]
        check.true(lead > 0.999, "keys that lie close together need a longer query: use S = 1e5")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 Select every value in turn <small>★☆☆ · 5 min · 2 points</small>
# Now a whole matrix $Q$: row $i$ selects $v_i$.
# With it, attention copies its values, $\mathrm{lookup}(Q, K, V) \approx V$.


# %% exercise="select-all"
def select_all(keys):
    """Queries (m, d): row i puts a weight above 0.999 on key i of the keys (m, d)."""
    ### BEGIN SOLUTION
    return 1e5 * keys
    ### END SOLUTION


# %% test="select-all" points=2
check = Check("select-all", points=2)
with check.idea("query i along key i"):
    queries = check.run(select_all, KEYS, shape=(4, 3), hint="one query per key, each as wide as a key")
    chosen = (queries.double() @ KEYS.double().T).softmax(1)
    alike, reverse = "every query selects the same key: row i must be built from key i", "the rows are in reverse order"
    order = "query i should look most at key i: are the rows in the keys' order?"
    check.equal(chosen.argmax(1).tolist(), [0, 1, 2, 3], order, wrong={alike: [0, 0, 0, 0], reverse: [3, 2, 1, 0]})
    ### BEGIN HIDDEN TESTS
    unit = torch.nn.functional.normalize(randn(9, 6), dim=1)
    queries = check.run(select_all, unit, shape=(9, 6), hint="other keys, other queries: build them from `keys`")
    found = (queries.double() @ unit.double().T).softmax(1)
    check.equal(found.argmax(1).tolist(), list(range(9)), "with other keys query i does not look most at key i: build all from `keys`")
    ### END HIDDEN TESTS
with check.part("long enough"):
    check.true(chosen.max(1).values > 0.999, "every row should put almost all weight on one key: make the queries long")
    ### BEGIN HIDDEN TESTS
    check.close(found, torch.eye(9), "with other keys of length one the rows do not select: make the queries long (S = 1e5)", atol=1e-3)
    ### END HIDDEN TESTS
with check.edge("input unchanged"):
    check.unchanged(select_all, KEYS)
### BEGIN HIDDEN TESTS
with check.edge("keys close together"):
    close_by = torch.tensor([[1.0, 0.0], [0.9998, 0.02], [0.9998, -0.02]])
    for near in (close_by, close_by.flip(0)):
        queries = check.run(select_all, near, shape=(3, 2), hint="other keys, other queries: build them from `keys`")
        lead = (queries.double() @ near.double().T).softmax(1).diagonal()
        check.true(lead > 0.999, "keys that lie close together need longer queries: use S = 1e5")
with check.edge("a single key"):
    one = check.run(select_all, torch.ones(1, 5), shape=(1, 5))
    check.finite(one, "a single key: the query must stay finite")
### END HIDDEN TESTS
check.score()

# %% look=true
values = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
figure, axes = plt.subplots(1, 2, figsize=(11, 3.6))
plots.heatmap(lookup_weights(KEYS, KEYS), title="queries = keys: a soft mixture", ax=axes[0])
plots.heatmap(lookup_weights(select_all(KEYS), KEYS), title="your queries: one value each", ax=axes[1])
plt.show()
print("copied values:\n", lookup(select_all(KEYS), KEYS, values).round(decimals=3))

# %% [markdown]
# Scaling up a key selects it only because these keys have almost the same length.
# If $k_1 = 3\,k_0$, then $S\,k_0$ selects $k_1$.
# In general, if all keys are different, some query selects key $j$ if and only if $k_j$ is a corner of the convex hull of the keys.
# Two equal keys have equal scores and share their weight, whatever the query: neither can be selected, even if they lie at a corner.
#
# ## 3 Averaging
#
# ### 3.1 All values <small>★☆☆ · 5 min · 1 point</small>
# Which query gives all four keys the weight 1/4?
# A common answer is the mean of the keys.
# Before you write yours, look at what that one does:

# %% look=true
mean_of_all = KEYS.mean(0)
print("mean of the keys:", [f"{x:.3f}" for x in (KEYS @ mean_of_all).softmax(0).tolist()])


# %% exercise="average-all"
def average_all(keys):
    """A query (d,) that gives every one of the keys (m, d) exactly the same weight, whatever the keys are."""
    ### BEGIN SOLUTION
    return torch.zeros_like(keys[0])
    ### END SOLUTION


# %% test="average-all" points=1
check = Check("average-all", points=1)
with check.idea("equal scores"):
    shape = "the query is one vector with the width of a key: not a number, and not the weights"
    query = check.run(average_all, KEYS, shape=(3,), hint=shape)
    near_mean = "the mean of the keys prefers the keys that lie near it: look at the numbers printed above"
    near_sum = "the sum of the keys is four times their mean, and prefers the keys that lie near it even more"
    slips = {near_mean: (KEYS @ KEYS.mean(0)).softmax(0), near_sum: (KEYS @ KEYS.sum(0)).softmax(0)}
    slips["a long mean of the keys selects the one key nearest to it"] = [0.0, 1.0, 0.0, 0.0]
    slips["a query of ones prefers keys with large entries"] = KEYS.sum(1).softmax(0)
    even = "the four weights should be exactly 1/4: which query has the same score with every key?"
    check.close((query.double() @ KEYS.double().T).softmax(0), 0.25, even, wrong=slips, atol=1e-6)
with check.edge("input unchanged"):
    check.unchanged(average_all, KEYS)
### BEGIN HIDDEN TESTS
with check.part("whatever the keys"):
    long_keys = 1e4 * randn(6, 5)
    query = check.run(average_all, long_keys, shape=(5,), hint="the query has the width of the keys that are given")
    check.close(
        (query.double() @ long_keys.double().T).softmax(0),
        1 / 6,
        "with other keys the weights are not equal: which query has the same score with every key, whatever the keys?",
        rtol=1e-4,
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.2 Two values only <small>★★☆ · 15 min · 3 points</small>
# Now $v_0$ and $v_1$ get 1/2 each, and the others nothing.
# The obvious answer is the mean of the first two keys, made long:

# %% look=true
mean_of_two = KEYS[:2].mean(0)
for factor in (1, 10, 100, 1e5):
    of_keys = (factor * KEYS @ mean_of_two).softmax(0).tolist()
    print(f"{factor:>8g} × mean of k_0 and k_1:", [f"{x:.3f}" for x in of_keys])

# %% [markdown]
# It never works.
# The two scores, $\tfrac12(|k_0|^2 + k_0 \cdot k_1)$ and $\tfrac12(|k_1|^2 + k_0 \cdot k_1)$, differ by $\tfrac12(|k_0|^2 - |k_1|^2)$: not much, but a long query multiplies the difference too.
#
# Ask for the scores you want instead.
# "Equal to each other, and well above the other two" is a linear system for $q$: with four keys in three dimensions, three differences of scores determine the three entries of $q$.
#
# Both weights must be within 0.001 of 1/2, and the other two within 0.001 of 0. *Before you run it:* how far must the first two scores lie above the others for that?
# (A lead of $10^5$ is too much of a good thing: float32 has seven digits, and the two large scores must agree to 0.004.)


# %% exercise="average-two"
def average_first_two(keys):
    """A query (3,) that gives the first two of four keys (4, 3) the weight 1/2 each, the others 0, to within 0.001.

    The keys are affinely independent: none of their differences keys[i] - keys[3] is a combination of the others.
    """
    ### BEGIN SOLUTION
    differences = keys[:3] - keys[3]  # (3, 3)
    leads = torch.tensor([20.0, 20.0, 0.0], dtype=keys.dtype)  # scores of k_0, k_1, k_2 above that of k_3
    return torch.linalg.solve(differences, leads)
    ### END SOLUTION


# %% test="average-two" points=3
check = Check("average-two", points=3)
with check.idea("two equal scores on top"):
    query = check.run(average_first_two, KEYS, shape=(3,), hint="the query is one vector with the width of a key: not the weights")
    score = query.double() @ KEYS.double().T
    lead = score[:2].max() - score[2:].max()
    low = "one of the last two keys has the best score: which way round are the leads, and does every key have an equation?"
    check.true(lead > 0, low)
    unequal = "the scores of the first two keys differ, and no multiple of the keys' mean makes them equal: solve the equations for q"
    check.true((score[0] - score[1]).abs() <= 1e-4 * lead.abs(), unequal)  # rounding is below this share of the lead
with check.part("weights 1/2, 1/2, 0, 0"):
    small = "the last two keys still get weight: the first two scores must lead by more (by 10, for example)"
    large = "the lead is so large that rounding makes the two scores differ: a lead of 20 is plenty"
    check.close(score.softmax(0), [0.5, 0.5, 0.0, 0.0], small if lead < 8 else large, atol=1e-3)
with check.edge("input unchanged"):
    check.unchanged(average_first_two, KEYS)
### BEGIN HIDDEN TESTS
with check.part("other keys"):
    for _ in range(3):
        keys = randn(4, 3)
        query = check.run(average_first_two, keys, shape=(3,))
        score = query.double() @ keys.double().T
        lead = score[:2].amax() - score[2:].amax()
        equal = (score[0] - score[1]).abs() <= 1e-4 * lead.abs()
        hint = "with four other keys the weights are not 1/2, 1/2, 0, 0: build the equations from `keys`, not for this one matrix"
        if equal and lead > 0:
            hint = small if lead < 8 else large
        check.close(score.softmax(0), [0.5, 0.5, 0.0, 0.0], hint, atol=1e-3)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.3 Any weights you like <small>★★☆ · 20 min · 4 points</small>
# Generalise.
# Given target weights $w_0, \dots, w_{m-1} > 0$ that sum to one, find $q$ with $\mathrm{softmax}(Kq) = w$.
#
# Softmax is undone by the logarithm, up to a constant: $\mathrm{softmax}(s) = w$ exactly when $s_j = \log w_j + c$ for some number $c$ that you may choose.
# So $q$ must satisfy $k_j \cdot q = \log w_j + c$.
# Subtract one equation from the others and $c$ is gone:
#
# $$ (k_j - k_0) \cdot q = \log w_j - \log w_0, \qquad j = 1, \dots, m-1 . $$
#
# These are $m - 1$ equations for $d$ unknowns.
# They have a solution for *every* target when the differences $k_j - k_0$ are linearly independent: when the keys are *affinely independent*, which needs $m \le d + 1$.
# There may be fewer equations than unknowns, so solve them in the least-squares sense (`torch.linalg.lstsq`, or the pseudo-inverse).


# %% exercise="query-for"
def query_for(target, keys):
    """A query (d,) with softmax(keys @ q) = target, for a positive target (m,) and affinely independent keys (m, d)."""
    ### BEGIN SOLUTION
    differences = keys[1:] - keys[0]  # (m - 1, d)
    leads = target[1:].log() - target[0].log()  # (m - 1,)
    return torch.linalg.pinv(differences) @ leads
    ### END SOLUTION


# %% test="query-for" points=4
check = Check("query-for", points=4)
goal = torch.tensor([0.1, 0.2, 0.3, 0.4])
with check.idea("softmax undone by the logarithm"):
    query = check.run(query_for, goal, KEYS, shape=(3,), hint="the query is one vector with the width of a key")
    reached = (query.double() @ KEYS.double().T).softmax(0)
    steps = "the weights are not the target: take logarithms, subtract one equation from the others, solve for q"
    no_log = "the right-hand sides are differences of weights: softmax is undone by the logarithm"
    flipped = "the sign is wrong: large targets get small weights. Subtract in the same order on both sides"
    first = "log w_0 is missing: the subtracted equation has a right-hand side, too"
    slips = {no_log: goal.softmax(0), flipped: (1 / goal) / (1 / goal).sum(), first: torch.tensor([1.0, 0.2, 0.3, 0.4]) / 1.9}
    slips["use differences of keys, not the keys themselves: the free constant c must drop out"] = [0.1766, 0.07, 0.5362, 0.2172]
    check.close(reached, goal, steps, atol=1e-4, wrong=slips)
    ### BEGIN HIDDEN TESTS
    double = {"dtype": torch.float64}

    def reached_by(count, width, shift=0.0):
        keys, target = randn(count, width, **double) + shift, rand(count, **double) + 0.05
        target = target / target.sum()
        query = check.run(query_for, target, keys)
        return (query.double() @ keys.T).softmax(0), target

    for count, width in [(4, 3), (6, 5)]:
        got, target = reached_by(count, width)
        check.close(got, target, "the weights are not the target for other keys and targets", atol=1e-3)
    got, target = reached_by(4, 3, shift=10.0)
    check.close(
        got,
        target,
        "it fails when all keys are shifted by the same vector: the free constant c must drop out, so use differences of keys, not the keys themselves",
        atol=1e-3,
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(query_for, goal, KEYS)
### BEGIN HIDDEN TESTS
with check.part("fewer equations than unknowns"):
    for count, width in [(3, 6), (2, 5)]:
        got, target = reached_by(count, width)
        check.close(
            got,
            target,
            "it fails with fewer equations than unknowns: there are m − 1 equations for d unknowns. Use the pseudo-inverse or least squares, not a square solver",
            atol=1e-3,
        )
with check.edge("all digits of float64"):
    for _ in range(3):  # float64 gives some 12 digits here, float32 never more than 7
        got, target = reached_by(4, 3)
        check.close(got, target, "digits are lost: keep the dtype of the inputs (these are float64)", rtol=1e-8, atol=1e-10)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.4 When is it impossible? <small>★★☆ · 15 min · 3 points</small>
# Five keys in three dimensions give four equations for three unknowns: most targets are out of reach.
# So is any target with a zero in it, for a finite query: $e^s > 0$.
# Write the test: a target is reachable exactly when it is strictly positive and the equations of 3.3 have an exact solution.
# (With the pseudo-inverse you get the best $q$ there is. Does it solve the equations? Computers round: let both sides differ by up to $10^{-4}$.)


# %% exercise="reachable"
def reachable(target, keys):
    """True if some query (d,) gives the keys (m, d) the weights target (m,), which sum to one; else False.

    Any keys are possible here: many, equal, on a line. Allow for rounding: compare with a tolerance of 1e-4.
    """
    ### BEGIN SOLUTION
    if (target <= 0).any():
        return False
    differences = keys[1:] - keys[0]
    leads = target[1:].log() - target[0].log()
    best = torch.linalg.pinv(differences) @ leads
    return torch.allclose(differences @ best, leads, atol=1e-4)
    ### END SOLUTION


# %% test="reachable" points=3
check = Check("reachable", points=3)
some = torch.tensor([0.1, 0.2, 0.3, 0.4])
corner, line = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
with check.idea("do the equations have a solution"):
    even = "q = 0 reaches equal weights: return one bool, and use the equations of 3.3, differences on both sides"
    check.equal(check.run(reachable, torch.full((3,), 1 / 3), corner), True, even)
    every = "affinely independent keys reach every positive target. Allow for rounding: use a tolerance, not =="
    check.equal(check.run(reachable, some, KEYS), True, every)
    middle = "three keys on a line: the middle score lies between the outer two, so this target is out of reach"
    check.equal(check.run(reachable, torch.tensor([0.2, 0.6, 0.2]), line), False, middle)
    ### BEGIN HIDDEN TESTS
    check.equal(
        check.run(reachable, torch.tensor([1.0, 2.0, 4.0]) / 7, line),
        True,
        "three keys on a line do reach targets whose logarithms lie on a line: test the equations, not only the rank of the keys",
    )
    crowd = randn(6, 3, dtype=torch.float64)
    made = (0.2 * crowd @ randn(3, dtype=torch.float64)).softmax(0)  # no weight is tiny
    check.equal(
        check.run(reachable, made, crowd),
        True,
        "these weights came from a query, so they are reachable, although there are more keys than width + 1: test the equations, not the count",
    )
    missed = torch.tensor([0.3, 0.1, 0.2, 0.1, 0.1, 0.2], dtype=torch.float64)
    check.equal(
        check.run(reachable, missed, crowd),
        False,
        "six keys in three dimensions do not reach this target: does the best q really solve the equations, within a small tolerance?",
    )
    check.equal(
        check.run(reachable, torch.tensor([0.1, 0.45, 0.45]), torch.tensor([[0.0, 0.0], [1.0, 1.0], [-1.0, -1.0]])),
        False,
        "three keys on a line, the middle one first: its score cannot be the lowest, so this target is out of reach",
    )
    # One equation holds by itself, the last or the first, and the errors of the other three have the sum zero.
    fan = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    spread = torch.tensor([0.2, 0.1, 0.4, 0.1, 0.2])
    for turn in ([0, 1, 2, 3, 4], [0, 4, 1, 2, 3]):
        check.equal(
            check.run(reachable, spread[turn], fan[turn]),
            False,
            "the best q solves one equation here and misses three, by errors that cancel out: every single equation must hold",
        )
    ### END HIDDEN TESTS
with check.part("a weight of zero"):
    zero = "a weight of exactly zero needs a score of minus infinity: no finite query gives it"
    check.equal(check.run(reachable, torch.tensor([0.5, 0.5, 0.0, 0.0]), KEYS), False, zero)
with check.edge("inputs unchanged"):
    check.unchanged(reachable, some, KEYS)
### BEGIN HIDDEN TESTS
with check.edge("tolerance"):
    off = torch.linalg.svd(crowd[1:] - crowd[0])[0][:, -1]  # at right angles to what queries can do to the logarithms
    near = (made.log() + torch.cat([torch.zeros(1), 0.01 * off / off.abs().max()])).softmax(0)
    check.equal(
        check.run(reachable, near, crowd), False, "a target that is missed by one percent is out of reach: your tolerance is too generous"
    )
with check.edge("equal keys"):
    twins = torch.tensor([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]])
    share = check.run(reachable, torch.tensor([0.3, 0.3, 0.4]), twins)
    check.equal(share, True, "two equal keys can share equal weights: that target is reachable")
    unlike = check.run(reachable, torch.tensor([0.2, 0.4, 0.4]), twins)
    check.equal(unlike, False, "two equal keys always get equal weights: this target is out of reach")
with check.edge("a single key"):
    check.equal(check.run(reachable, torch.tensor([1.0]), torch.ones(1, 4)), True, "a single key always has the weight one")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.5 In your own words <small>★★☆ · 15 min · 3 points, graded by hand</small>
# What do *selecting* and *averaging* each do for a language model?
# Give one example of a word whose prediction needs selection and one of a word that needs an average, and say what a model would lose if its attention could only do one of the two.
# About 120 words.

# %% [markdown] written="written-selecting" points=3
# <!-- BEGIN SOLUTION -->
# **Model answer.** Selecting copies one earlier vector unchanged, however far away it is. It serves dependencies on a single word: the verb in "the *keys* that lay on the
# table *were*" needs the number of one noun, a pronoun needs its antecedent, and a repeated name can be copied. Averaging gives every matching position the
# same small share, so single words blur and what they have in common remains: the topic, the register, the language, whether the review so far is friendly. The
# next content word in a weather report needs such an average. With selection only, a model sees one word per head and no overall picture, and an error in the choice
# is an error in everything. With averaging only, it is a bag of words: it knows what the text is about, but not who did what to whom. Heads of one layer can do both side by side.
#
# | points | rubric |
# | --- | --- |
# | 1 | selecting: one position is copied, at any distance, for a dependency on a specific word; with a fitting example |
# | 1 | averaging: common content of many positions, details cancel; with a fitting example |
# | 1 | what is lost with only one of them (no overall context / no specific reference), argued, not asserted |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 4 Why divide by $\sqrt{d}$?
#
# ### 4.1 How large is a score? <small>★☆☆ · 10 min · 2 points</small>
# Let the entries of $q$ and $k$ be independent with mean 0 and variance $\sigma^2$.
# Derive the variance of $q \cdot k = \sum_{i=0}^{d-1} q_i k_i$, in two steps: the variance of one product $q_i k_i$ (its mean is 0, so this is $\mathbb{E}[q_i^2 k_i^2]$), then of a sum of $d$ independent ones.
# Write the result as a function.


# %% exercise="score-variance"
def score_variance(d, sigma):
    """Variance of q·k for vectors of width d with independent entries of mean 0 and standard deviation sigma."""
    ### BEGIN SOLUTION
    return d * sigma**4
    ### END SOLUTION


# %% test="score-variance" points=2
check = Check("score-variance", points=2)
with check.idea("variances of products add up"):
    exact = "for d = 1 and σ = 1 the variance is 1 · 1, and the formula is exact: derive it, do not measure it"
    check.close(check.run(score_variance, 1, 1.0), 1.0, exact)
    squared = "the terms are independent, so their variances add up: d of them, not d²"
    slips = {squared: 64.0**2, "that is the standard deviation of the score; the variance was asked for": 8.0}
    slips["that is the variance of one product: there are d of them"] = 1.0
    check.close(check.run(score_variance, 64, 1.0), 64.0, "variances of independent terms add up", wrong=slips)
    two = "for σ = 2 each entry has the variance 4, and a product has two factors"
    check.close(check.run(score_variance, 1, 2.0), 16.0, two)
    ### BEGIN HIDDEN TESTS
    check.close(
        check.run(score_variance, 10, 2.0),
        160.0,
        "the formula is wrong for σ = 2: each product brings the variance of both factors",
    )
    check.close(check.run(score_variance, 3, 0.5), 0.1875, "the formula is wrong for σ < 1")
    ### END HIDDEN TESTS
check.score()

# %% look=true
# The formula against a measurement: 20,000 pairs with uniform entries (any distribution with that variance will do).
seed(0)
for d, sigma in [(4, 1.0), (64, 1.0), (64, 0.5), (256, 2.0)]:
    pairs = (torch.rand(2, 20_000, d) - 0.5) * math.sqrt(12) * sigma
    measured = (pairs[0] * pairs[1]).sum(-1).var().item()
    print(f"d = {d:>3}, σ = {sigma}: measured {measured:10.3f}, your formula {score_variance(d, sigma):10.3f}")

# %% [markdown]
# So the spread of the scores grows like $\sqrt{d}$ when the entries have unit variance.
# Dividing by $\sqrt{d}$ brings the variance back to 1, at every width (Vaswani et al., 2017).
#
# ### 4.2 Scaled weights <small>★☆☆ · 5 min · 3 points</small>
# The weights of 1.1 once more, now with every score divided by $\sqrt{d}$, where $d$ is the width of a key.
# This is the form that is used from here on.
#
# *Before you run it:* where does the division belong, before the softmax or after it?
# What would go wrong in the other place?


# %% exercise="weights"
def weights(q, k):
    """Scaled dot-product weights of queries q (n, d) on keys k (m, d): an (n, m) tensor whose rows sum to one."""
    ### BEGIN SOLUTION
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (n, m)
    return scores.softmax(dim=-1)
    ### END SOLUTION


# %% test="weights" points=3
check = Check("weights", points=3)
q, k = randn(5, 7), randn(4, 7)
with check.idea("scaled scores become weights"):
    w = check.run(weights, q, k, shape=(5, 4), hint="one row per query, one column per key")
    wide = check.run(weights, torch.ones(1, 16), torch.cat([torch.ones(1, 16), torch.zeros(2, 16)]), shape=(1, 3))
    four = "two vectors of 16 ones have the score 16, and 4 after scaling: which number do you divide by?"
    check.close(wide.log()[0, 0] - wide.log()[0, 1], 4.0, four)
    check.distribution(w, "every row is one query's distribution over the keys: along which axis does softmax run?")
    ### BEGIN HIDDEN TESTS
    check.close(
        w,
        (q @ k.T / 7**0.5).softmax(1),
        "scale by the square root of a key's width",
    )
    nine = check.run(weights, torch.full((1, 9), 0.5), torch.eye(9)[:2] * 6)
    check.close(nine, [[0.5, 0.5]], "for keys of width 9 the weights are wrong")
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(weights, q, k)
### BEGIN HIDDEN TESTS
with check.part("gradients"):
    flow = "the gradients through your weights are wrong, or do not flow at all"
    check.gradients(weights, lambda a, b: (a @ b.T / a.shape[1] ** 0.5).softmax(1), (q, k), flow)
with check.edge("width one"):
    thin = check.run(weights, randn(3, 1), randn(2, 1), shape=(3, 2))
    check.distribution(thin, "width one: every row is still a distribution")
with check.edge("large scores"):
    big = check.run(weights, torch.full((2, 4), 40.0), torch.full((3, 4), 40.0), shape=(2, 3))
    check.finite(big, "large scores overflow: exp(3200) is infinite. Subtract the row's maximum first, or use torch's softmax")
    high = check.run(weights, torch.tensor([[60.0]]), torch.tensor([[2.0], [2.0 + math.log(3.0) / 60]]))
    check.close(
        high, [[0.25, 0.75]], "scores of 120 and 120 + log 3 give 1 : 3, as any two that are log 3 apart: are they cut off?", rtol=1e-3
    )
with check.edge("all digits of float64"):
    precise = randn(2, 9, dtype=torch.float64)
    sharp = check.run(weights, precise, precise, shape=(2, 2))
    check.close(sharp, (precise @ precise.T / 3).softmax(1), "with float64 input digits are lost: do you convert to float32 on the way?")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.3 What a saturated softmax does to gradients <small>★★☆ · 20 min · 4 points</small>
# Let $p = \mathrm{softmax}(s)$.
# Derive $\partial p_i / \partial s_j$.
# Write $p_i = e^{s_i} / Z$ and use the quotient rule, once for $i = j$ and once for $i \ne j$; then find one matrix expression for both cases, in terms of $p$ alone.
# Your matrix is compared with autograd and with finite differences, in float64.
#
# Note that your function is given $p$, the result of the softmax, not the scores.


# %% exercise="softmax-jacobian"
def softmax_jacobian(p):
    """The matrix of derivatives ∂p_i/∂s_j (m, m) for p = softmax(s), given p (m,)."""
    ### BEGIN SOLUTION
    return torch.diag(p) - torch.outer(p, p)
    ### END SOLUTION


# %% test="softmax-jacobian" points=4
check = Check("softmax-jacobian", points=4)
s = randn(5, dtype=torch.float64)
with check.idea("every score moves every weight"):
    shape = "one row per p_i, one column per s_j: every score changes every probability"
    jacobian = check.run(softmax_jacobian, s.softmax(0), shape=(5, 5), hint=shape)
    small = check.run(softmax_jacobian, torch.tensor([0.2, 0.8]))
    check.close(
        small, [[0.16, -0.16], [-0.16, 0.16]], "for p = (0.2, 0.8): the p_i always sum to one, so every column sums to zero", atol=1e-6
    )
    check.derivative(jacobian[2], lambda x: x.softmax(0)[2], s, "row 2 is not the gradient of p_2: work out i = j and i ≠ j once more")
    ### BEGIN HIDDEN TESTS
    for count in (2, 7):
        s = 2 * randn(count, dtype=torch.float64)
        p = s.softmax(0)
        jacobian = check.run(softmax_jacobian, p, shape=(count, count))
        for i in range(count):
            check.derivative(
                jacobian[i],
                lambda x, i=i: x.softmax(0)[i],
                s,
                "an entry of the matrix is not the derivative: compare i = j and i ≠ j",
            )
    ### END HIDDEN TESTS
with check.edge("input unchanged"):
    check.unchanged(softmax_jacobian, s.softmax(0))
### BEGIN HIDDEN TESTS
with check.edge("a single weight"):
    alone = check.run(softmax_jacobian, torch.ones(1, dtype=torch.float64), shape=(1, 1))
    check.close(alone, [[0.0]], "a single weight is always one: its derivative is zero", atol=1e-9)
with check.edge("float64 in, float64 out"):
    p = randn(6, dtype=torch.float64).softmax(0)
    entries = check.run(softmax_jacobian, p)
    check.close(entries, p.diag() - p[:, None] * p, "given float64, digits are lost: do you convert to float32 on the way?")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# The diagonal is $p_i (1 - p_i)$: when one weight is close to 1 and the others close to 0, *every* entry is close to 0, and almost no gradient reaches the queries and keys.
# The figure measures it, with your two functions: the size of the softmax gradient for random unit-variance queries and keys of growing width.
#
# *Before you run it:* sketch the two curves.


# %% look=true
def mean_gradient(d, scaled, m=16):
    """Mean Frobenius norm of the softmax Jacobian over random queries against m random keys of width d."""
    pairs, total = pick(smoke=20, laptop=300, gpu=300), 0.0
    for _ in range(pairs):
        query, keys = torch.randn(1, d), torch.randn(m, d)
        p = weights(query, keys)[0] if scaled else lookup_weights(query, keys)[0]
        total += softmax_jacobian(p).norm().item()
    return total / pairs


seed(0)
widths = [1, 4, 16, 64, 256, 1024]
kinds = [("divided by √d", True), ("plain", False)]
sizes = {name: [mean_gradient(d, scaled) for d in widths] for name, scaled in kinds}
plots.curves(
    {name: (widths, y) for name, y in sizes.items()},
    "width d",
    "mean size of ∂p/∂s",
    "Without 1/√d the gradient dies",
    log_x=True,
)
plt.show()

# %% [markdown]
# ## 5 Masks
#
# A mask says which keys a query may look at.
# Here, as in PyTorch's `scaled_dot_product_attention`, a boolean mask is **True where looking is allowed**.
# The forbidden scores become $-\infty$ *before* the softmax, so that their weight is exactly 0 and the others still sum to one.
#
# Setting the weights to 0 *after* the softmax looks the same and is not: the rows no longer sum to one, and worse, the sum $Z$ in the denominator still contains the forbidden scores.
# What must not be seen is still felt.
# (Assignment 10 trains a model that lives off this leak.)

# %% look=true
leaky_scores = torch.tensor([[1.0, 2.0, 0.5], [1.0, 2.0, 9.0]])  # the third key is forbidden; only its score differs
allowed = torch.tensor([True, True, False])
zeroed_after = leaky_scores.softmax(1) * allowed
hidden_before = leaky_scores.masked_fill(~allowed, -torch.inf).softmax(1)
for name, rows in [("0 after softmax", zeroed_after), ("−∞ before softmax", hidden_before)]:
    print(f"{name:>18}:", [[f"{x:.4f}" for x in row] for row in rows.tolist()])

# %% [markdown]
# ### 5.1 A masked softmax <small>★★☆ · 15 min · 4 points</small>
# One case needs care: a row in which *everything* is forbidden, such as a padding query.
# $-\infty$ everywhere makes softmax $0/0$, a NaN, and one NaN spreads through the whole model, forwards and in the gradients.
# Make such a row all zeros: it looks at nothing and returns nothing.
#
# *Broadcastable* means that the mask may lack leading axes of the scores, or have size one where they are longer: one row of $m$ entries serves all queries.


# %% exercise="masked-softmax"
def masked_softmax(scores, mask):
    """Softmax over the last axis of scores (..., n, m) where the bool mask (broadcastable) is True; weight 0 elsewhere.

    Rows without any True are all zeros. The inputs are left as they are.
    """
    ### BEGIN SOLUTION
    hidden = scores.masked_fill(~mask, -torch.inf)
    nothing = ~mask.any(dim=-1, keepdim=True)  # rows that may look at nothing: give softmax finite numbers there
    return hidden.masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(~mask, 0.0)
    ### END SOLUTION


# %% test="masked-softmax" points=4
check = Check("masked-softmax", points=4)
s, nothing = randn(3, 4), torch.tensor([[False] * 4, [True] * 4, [True] * 4])
m = torch.tensor([[True, True, False, True], [False, True, True, False], [True, False, False, False]])
with check.idea("softmax over what is allowed"):
    ready = check.run(masked_softmax, torch.tensor([[0.0, math.log(3.0), 5.0]]), torch.tensor([[True, True, False]]), shape=(1, 3))
    three = "scores 0, log 3 and a forbidden one: the weights are 1/4, 3/4 and exactly 0. Mask before the softmax"
    check.close(ready, [[0.25, 0.75, 0.0]], three)
    w = check.run(masked_softmax, s, m, shape=(3, 4))
    check.close(w[~m], torch.zeros(6), "where the mask is False the weight must be exactly 0 (True means: may look)", atol=0)
    ### BEGIN HIDDEN TESTS
    exact = torch.zeros(3, 4)
    for row in range(3):
        exact[row, m[row]] = s[row, m[row]].softmax(0)
    check.close(
        w,
        exact,
        "the allowed weights should be the softmax over the allowed scores alone",
    )
    ### END HIDDEN TESTS
with check.part("a row that may look at nothing"):
    empty = check.run(masked_softmax, s, nothing, shape=(3, 4))
    check.close(empty[0], torch.zeros(4), "a row that may look at nothing must be all zeros: not NaN, and not an even spread")
    ### BEGIN HIDDEN TESTS
    none = check.run(masked_softmax, s, torch.zeros(4, dtype=torch.bool), shape=(3, 4))
    check.close(none, torch.zeros(3, 4), "when nothing at all is allowed, everything is zero", atol=0)
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(masked_softmax, s, m)
### BEGIN HIDDEN TESTS
with check.part("batch axes and broadcasting"):
    deep, rule = randn(2, 3, 5, 6), rand(2, 1, 1, 6) > 0.4
    rule[0, 0, 0, 0] = rule[1, 0, 0, 0] = True
    wrong = "with batch axes and a mask that must be broadcast the weights are wrong"
    deep_w = check.run(masked_softmax, deep, rule, shape=(2, 3, 5, 6), hint=wrong)
    check.close(deep_w, deep.masked_fill(~rule, -torch.inf).softmax(-1), wrong)
with check.part("gradient"):
    found = check.measure(checks.gradients, masked_softmax, (s, nothing), randn(3, 4))
    check.finite(
        found.inputs[0],
        "the gradient is NaN, or does not flow, where a row may look at nothing: replace the scores of such rows before the softmax, not the NaN after it",
    )
with check.edge("very low scores"):
    low = check.run(masked_softmax, torch.full((1, 3), -2e9), torch.tensor([[True, True, False]]), shape=(1, 3))
    check.close(
        low,
        [[0.5, 0.5, 0.0]],
        "three very low scores, the last one forbidden: the other two share the weight",
    )
with check.edge("a large forbidden score"):
    loud = check.run(masked_softmax, torch.tensor([[0.0, 0.0, 300.0]]), torch.tensor([[True, True, False]]), shape=(1, 3))
    check.close(
        loud,
        [[0.5, 0.5, 0.0]],
        "a very large forbidden score is still felt, in the maximum or in the sum: hide it before the softmax; dividing it out afterwards comes too late",
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.2 Three masks <small>★★☆ · 15 min · 3 points</small>
# - `hide_position`: nobody may look at position `j`.
# - `causal_mask`: position $t$ may look at itself and at what came before.
#   That is what makes a language model predict rather than copy.
# - `padding_mask`: sequences of unequal `lengths` share one tensor; nobody may look at the filler.
#   The result has an axis of size one for the queries, so that it broadcasts.


# %% exercise="masks"
def hide_position(T, j):
    """Mask (T, T): True everywhere except at key j, which no query may see."""
    ### BEGIN SOLUTION
    return (torch.arange(T) != j).expand(T, T)
    ### END SOLUTION


def causal_mask(T):
    """Mask (T, T): query t may see the keys 0 … t."""
    ### BEGIN SOLUTION
    return torch.ones(T, T, dtype=torch.bool).tril()
    ### END SOLUTION


def padding_mask(lengths, T):
    """Mask (B, 1, T), True at real keys, for sequences of these lengths (integers (B,)), padded at the end to T."""
    ### BEGIN SOLUTION
    return torch.arange(T) < lengths[:, None, None]
    ### END SOLUTION


# %% test="masks" points=3
check = Check("masks", points=3)
Y, N = True, False
with check.idea("three masks"):
    hide = check.run(hide_position, 3, 1, shape=(3, 3))
    one_row = "hide_position: this hides every key from one query (a row); hide one key from every query (a column)"
    inverse = "hide_position: the mask is the wrong way round: True means that looking is allowed"
    slips = {one_row: [[Y, Y, Y], [N, N, N], [Y, Y, Y]], inverse: [[N, Y, N]] * 3}
    column = "hide_position: one key is hidden from every query, so one column is False (a row is a query, a column a key)"
    check.equal(hide.bool().tolist(), [[Y, N, Y]] * 3, column, wrong=slips)
    causal = check.run(causal_mask, 3, shape=(3, 3))
    slips = {"causal_mask: a query must see itself (the diagonal is True)": [[N, N, N], [Y, N, N], [Y, Y, N]]}
    slips["causal_mask: this one sees the future and not the past: queries are rows"] = [[Y, Y, Y], [N, Y, Y], [N, N, Y]]
    slips["causal_mask: the mask is the wrong way round: True means may look"] = [[N, Y, Y], [N, N, Y], [N, N, N]]
    slips["causal_mask: this one sees one position ahead"] = [[Y, Y, N], [Y, Y, Y], [Y, Y, Y]]
    past = "causal_mask: query t sees keys 0 … t, itself included, and nothing later"
    check.equal(causal.bool().tolist(), [[Y, N, N], [Y, Y, N], [Y, Y, Y]], past, wrong=slips)
    shape = "padding_mask: one row of keys per sequence, with an axis of size one for the queries between the two"
    padding = check.run(padding_mask, torch.tensor([2, 3]), 4, shape=(2, 1, 4), hint=shape)
    slips = {"padding_mask: one key too many is seen: look at `<` and `<=`": [[[Y, Y, Y, N]], [[Y, Y, Y, Y]]]}
    slips["padding_mask: the mask is the wrong way round: True means may look"] = [[[N, N, Y, Y]], [[N, N, N, Y]]]
    slips["padding_mask: the filler is at the end; the real keys come first"] = [[[N, N, Y, Y]], [[N, Y, Y, Y]]]
    real = "padding_mask: the first `length` keys are real, the rest is filler (True means: may look)"
    check.equal(padding.bool().tolist(), [[[Y, Y, N, N]], [[Y, Y, Y, N]]], real, wrong=slips)
with check.edge("boolean"):
    truth = "masks are boolean tensors, all three of them: True and False, not 1 and 0 or −inf"
    check.equal([str(made.dtype) for made in (hide, causal, padding)], ["torch.bool"] * 3, truth)
### BEGIN HIDDEN TESTS
with check.part("hide_position: any T and j"):
    for size, spot in [(1, 0), (5, 3), (5, 0)]:
        other = check.run(hide_position, size, spot, shape=(size, size)).bool()
        check.equal(other, [[c != spot for c in range(size)]] * size, "hide_position: exactly column j is hidden, for every T and j")
with check.part("causal_mask: any T"):
    for size in (1, 5):
        other = check.run(causal_mask, size, shape=(size, size)).bool()
        check.equal(other, [[c <= r for c in range(size)] for r in range(size)], "causal_mask is wrong for another length")
with check.part("padding_mask: any lengths and T"):
    for real, width in [([3, 1], 4), ([2, 5, 3], 6)]:
        padded = check.run(padding_mask, torch.tensor(real), width, shape=(len(real), 1, width)).bool()
        check.equal(padded, [[[c < size for c in range(width)]] for size in real], "padding_mask is wrong for other lengths, or another T")
with check.edge("padding_mask: input unchanged"):
    check.unchanged(padding_mask, torch.tensor([2, 3]), 4)
with check.edge("padding_mask: full and empty"):
    extreme = check.run(padding_mask, torch.tensor([4, 1, 0]), 4, shape=(3, 1, 4)).bool()
    extremes = "padding_mask: a full sequence hides nothing, an empty one everything"
    check.equal(extreme, [[[c < size for c in range(4)]] for size in (4, 1, 0)], extremes)
### END HIDDEN TESTS
check.score()

# %% look=true
seed(1)
T = 6
example = torch.randn(T, T)
everything = torch.ones(T, T, dtype=torch.bool)
both = causal_mask(T) & padding_mask(torch.tensor([4]), T)[0]
figure, axes = plt.subplots(2, 2, figsize=(10, 8))
masks = {
    "no mask": everything,
    "position 2 hidden": hide_position(T, 2),
    "causal": causal_mask(T),
    "causal, and the last two are padding": both,
}
for ax, (name, mask) in zip(axes.flat, masks.items(), strict=True):
    plots.heatmap(masked_softmax(example, mask), title=name, ax=ax)
figure.tight_layout()
plt.show()

# %% [markdown]
# ### 5.3 Attention, whole <small>★★☆ · 10 min · 4 points</small>
# Put it together: scaled scores, an optional mask, a mixture of values, for any number of batch axes in front.
# (`k.mT` transposes the last two axes.)
# PyTorch has this as `scaled_dot_product_attention`; here you write it yourself.
# A query that may see nothing returns zeros.


# %% exercise="attention"
def attention(q, k, v, mask=None):
    """Attention (..., n, e) of q (..., n, d), k (..., m, d), v (..., m, e); mask is broadcastable to (..., n, m)."""
    ### BEGIN SOLUTION
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (..., n, m)
    w = scores.softmax(dim=-1) if mask is None else masked_softmax(scores, mask)
    return w @ v
    ### END SOLUTION


# %% test="attention" points=4
check = Check("attention", points=4)
q, k, v = randn(2, 3, 5, 8), randn(2, 3, 4, 8), randn(2, 3, 4, 6)
with check.idea("scaled dot-product attention"):
    sides = "without a mask (mask is None): one row per query, as wide as v"
    out = check.run(attention, q[0, 0], k[0, 0], v[0, 0], shape=(5, 6), hint=sides)
    wide = check.run(attention, torch.ones(1, 16), torch.stack([torch.ones(16), torch.zeros(16)]), torch.tensor([[1.0], [0.0]]))
    check.close(wide, [[0.982014]], "16 ones times 16 ones give 16; divided by the root of k's width, 4", rtol=1e-5)
    own, runs = "write attention yourself: do not call `scaled_dot_product_attention`", lambda: attention(q[0, 0].clone(), k[0, 0], v[0, 0])
    check.avoids(attention, "scaled_dot_product_attention", hint=own, forbid=["attention"], runs=runs)
    ### BEGIN HIDDEN TESTS
    one_q, one_k, one_v = q[0, 0], k[0, 0], v[0, 0]
    scores = one_q @ one_k.T
    check.close(
        out,
        (scores / 8**0.5).softmax(1) @ one_v,
        "without a mask the output differs from scaled dot-product attention",
    )
    order = randperm(4)
    check.invariant(
        attention,
        (one_q, one_k, one_v),
        (one_q, one_k[order], one_v[order]),
        "shuffling keys together with their values must not change anything",
    )
    ### END HIDDEN TESTS
with check.part("batch axes"):
    batch = check.run(attention, q, k, v, shape=(2, 3, 5, 6), hint="with two batch axes: transpose the last two axes of k only")
    ### BEGIN HIDDEN TESTS
    check.close(
        batch,
        F.scaled_dot_product_attention(q, k, v),
        "with two batch axes the output differs from scaled dot-product attention",
    )
    ### END HIDDEN TESTS
with check.part("mask"):
    no_truth = "a mask of shape (4,) is broadcast. Test `mask is None`: a tensor of several entries has no truth value"
    picked = check.run(attention, q, k, v, torch.arange(4) == 2, shape=(2, 3, 5, 6), hint=no_truth)
    unused, seen = "the mask is not used: the output is the same without it", "if only key 2 may be seen, the output is its value"
    check.close(picked, v[:, :, 2:3].expand(2, 3, 5, 6), seen, wrong={unused: batch})
    later = "with a causal mask a later position changes an earlier output: is the mask applied before the softmax?"
    check.causal(lambda x: attention(x, x, x, torch.ones(6, 6, dtype=torch.bool).tril()), randn(6, 8), later)
    ### BEGIN HIDDEN TESTS
    rule = rand(2, 1, 5, 4) > 0.5
    rule[..., 0] = True
    check.close(
        check.run(attention, q, k, v, rule, forbid=["attention"]),
        F.scaled_dot_product_attention(q, k, v, attn_mask=rule),
        "with a random mask the output differs",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(attention, q, k, v)
    ### BEGIN HIDDEN TESTS
    check.unchanged(attention, q, k, v, rule)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("a query that sees nothing"):
    rule[0, 0, 3] = False
    dark = check.run(attention, q, k, v, rule, shape=(2, 3, 5, 6))
    check.close(dark[0, :, 3], torch.zeros(3, 6), "a query that may see nothing returns zeros, not NaN")
    check.finite(dark, "a query that may see nothing must not spoil the rest with NaN")
    blind = check.run(attention, q, k, v, torch.zeros(4, dtype=torch.bool), shape=(2, 3, 5, 6))
    check.close(blind, torch.zeros(2, 3, 5, 6), "a mask without any True hides everything: all outputs are zero")
with check.part("gradients"):
    flow = "the gradients through your attention are wrong, or do not flow"
    check.gradients(attention, lambda a, b, c: (a @ b.mT / 8**0.5).softmax(-1) @ c, (q, k, v), flow)
with check.edge("a large forbidden score"):
    loud, gives = torch.cat([torch.full((1, 4), 40.0), torch.zeros(2, 4)]), torch.tensor([[9.0], [1.0], [3.0]])
    rest = check.run(attention, torch.full((1, 4), 10.0), loud, gives, torch.tensor([False, True, True]), shape=(1, 1))
    check.close(
        rest, [[2.0]], "a very large forbidden score is still felt: hide it before the softmax; dividing it out afterwards comes too late"
    )
with check.edge("one query, one key"):
    plain_case = check.run(attention, randn(1, 2), randn(1, 2), torch.tensor([[7.0, -7.0, 1.0]]), shape=(1, 3))
    check.close(plain_case, [[7.0, -7.0, 1.0]], "one query, one key, no batch axis: the output is the only value")
with check.edge("all digits of float64"):
    precise = [randn(4, 5, dtype=torch.float64) for _ in range(3)]
    digits = "with float64 input digits are lost: do you convert to float32 on the way?"
    check.close(check.run(attention, *precise), F.scaled_dot_product_attention(*precise), digits)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 6 What does it cost?
#
# ### 6.1 Self-attention <small>★☆☆ · 10 min · 2 points</small>
# In *self*-attention queries, keys and values are three linear views of the same sequence $x \in \mathbb{R}^{n \times h}$: $Q = x W_q$, $K = x W_k$, $V = x W_v$ with $W_q, W_k, W_v \in \mathbb{R}^{h \times h}$.


# %% exercise="self-attention"
def self_attention(x, Wq, Wk, Wv):
    """Unmasked self-attention (n, h) of x (n, h), with projections Wq, Wk, Wv (h, h) applied from the right."""
    ### BEGIN SOLUTION
    return attention(x @ Wq, x @ Wk, x @ Wv)
    ### END SOLUTION


# %% test="self-attention" points=2
check = Check("self-attention", points=2)
x, a, b, c = randn(6, 5), randn(5, 5), randn(5, 5), randn(5, 5)
with check.idea("three views of one sequence"):
    shape = "one output per position: x is multiplied by the weights from the right, x @ W"
    out = check.run(self_attention, x, a, b, c, shape=(6, 5), hint=shape)
    two, one = torch.tensor([[1.0], [0.0]]), torch.ones(1, 1)
    narrow = check.run(self_attention, two, math.log(3.0) * one, one, 4 * one, shape=(2, 1))
    check.close(narrow, [[3.0], [2.0]], "row 0 mixes the values 4 and 0 with weights 3/4 and 1/4, row 1 with 1/2 each")
    ### BEGIN HIDDEN TESTS
    score = x @ a @ (x @ b).T
    check.close(
        out,
        (score / 5**0.5).softmax(1) @ x @ c,
        "the output is not softmax(QKᵀ/√h) V with Q = x W_q, K = x W_k, V = x W_v",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(self_attention, x, a, b, c)
### BEGIN HIDDEN TESTS
with check.part("gradients"):
    flow = "the gradients do not reach x and all three projections, or are wrong"
    softly = lambda z, i, j, k: (z @ i @ (z @ j).T / 5**0.5).softmax(1) @ z @ k  # noqa: E731
    check.gradients(self_attention, softly, (randn(6, 5), randn(5, 5), randn(5, 5), randn(5, 5)), flow)
with check.edge("a sequence of length one"):
    alone = check.run(self_attention, x[:1], a, b, c, shape=(1, 5), hint="a sequence of length one must work")
    check.close(alone, x[:1] @ c, "a sequence of length one: the output is its own value")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 6.2 Count before you run <small>★★☆ · 15 min · 3 points</small>
# A product of an $a \times b$ with a $b \times c$ matrix takes $abc$ multiplications and as many additions: $2abc$ operations.
# Derive the number of operations in the five matrix products of self-attention (three projections, the scores, the weighted sum), and write it as a function of $n$ and $h$.
# Softmax and scaling are left out.
#
# *Before you run it:* for which $n$, as a multiple of $h$, are the projections as expensive as the other two products?
# Write that as a function, too.


# %% exercise="cost"
def matmul_operations(n, h):
    """Operations (multiplications and additions) in the matrix products of self-attention on n positions of width h."""
    ### BEGIN SOLUTION
    return 6 * n * h**2 + 4 * n**2 * h
    ### END SOLUTION


def crossover(h):
    """The sequence length, not rounded, at which the projections cost as much as scores and weighted sum together."""
    ### BEGIN SOLUTION
    return 1.5 * h
    ### END SOLUTION


# %% test="cost" points=3
check = Check("cost", points=3)
with check.idea("operations and crossover"):
    check.close(check.run(matmul_operations, 1, 1), 10, "n = h = 1: five products, each one multiplication and one addition")
    wide = "a short sequence of wide vectors: the projections are n × h times h × h, and there are three of them"
    check.close(check.run(matmul_operations, 3, 8), 1440, wide)
    long = "a long sequence of narrow vectors: scores are n × h times h × n, the weighted sum n × n times n × h"
    check.close(check.run(matmul_operations, 40, 2), 13760, long)
    ### BEGIN HIDDEN TESTS
    check.close(check.run(matmul_operations, 7, 11), 7238, "the count is wrong for n = 7, h = 11")
    ### END HIDDEN TESTS
    slips = {"crossover: three projections against two other products: count the products on both sides": 2}
    slips["crossover: the ratio is upside down: which side has three products?"] = 4 / 3
    slips["crossover: all three projections count, not one"] = 1
    slips["crossover: the scores and the weighted sum both count on the other side"] = 6
    solve = "crossover: set the cost of the three projections equal to that of the other two products, and solve for n"
    check.close(check.run(crossover, 2), 3.0, solve, wrong=slips)
    check.close(check.run(crossover, 10), 15.0, "crossover: it is proportional to h")
    ### BEGIN HIDDEN TESTS
    check.close(check.run(crossover, 64), 96.0, "crossover: it is proportional to h: 6 n h² = 4 n² h")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("crossover: not rounded"):
    check.close(check.run(crossover, 5), 7.5, "crossover: it is not right for an odd width: do not round it")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# Now count for real: `checks.flops` watches every operation that torch carries out, softmax and scaling included.
# Counting has no noise and gives the same number on every machine; a clock does not.

# %% look=true
h = 64
lengths_tried = pick(
    smoke=[8, 32, 128],
    laptop=[8, 16, 32, 64, 128, 256, 512, 1024],
    gpu=[8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
)
square = torch.eye(h)
counted_operations = [checks.flops(self_attention, torch.randn(n, h), square, square, square) for n in lengths_tried]
one_projection = [checks.flops(torch.matmul, torch.randn(n, h), square) for n in lengths_tried]
one_score_matrix = [checks.flops(torch.matmul, torch.randn(n, h), torch.randn(h, n)) for n in lengths_tried]
plots.curves(
    {
        "counted": (lengths_tried, counted_operations),
        "your formula": (lengths_tried, [matmul_operations(n, h) for n in lengths_tried]),
        "projections": (lengths_tried, [3 * count for count in one_projection]),
        "scores and weighted sum": (lengths_tried, [2 * count for count in one_score_matrix]),
    },
    "sequence length n",
    "operations",
    f"O(n²h + nh²), width {h}: the terms cross at n = {crossover(h):g}",
    log_x=True,
    log_y=True,
)
plt.show()

# %% [markdown]
# ### 6.3 Why GPUs like it all the same <small>★★☆ · 10 min · 3 points, graded by hand</small>
# A recurrent network needs $O(nh^2)$ operations, fewer than attention on long sequences.
# Yet on a GPU attention trains much faster.
# Explain with the number of operations that must follow *one after the other*, and with the shape of the work.
# When does the quadratic term make attention the slower one after all?
# About 80 words.

# %% [markdown] written="written-gpu" points=3
# <!-- BEGIN SOLUTION -->
# **Model answer.** A recurrent network has $n$ dependent steps: step $t$ cannot start before step $t-1$ is done, and each is a small matrix–vector product that leaves most of a GPU idle.
# Attention computes all positions at once: its depth of dependent operations does not grow with $n$, and the work is a few large matrix products, for which GPUs are
# built (thousands of multiply–adds per byte fetched, full occupancy). While there are free units, $n^2$ parallel operations cost hardly more time than $n$ dependent ones.
# Once the device is saturated, time grows with $n^2h$, and the $n \times n$ weights no longer fit in fast memory: for sequences much longer than the width, the quadratic term wins,
# and one needs fused kernels or linear attention.
#
# | points | rubric |
# | --- | --- |
# | 1 | dependent steps: $O(n)$ for the recurrent network, $O(1)$ in $n$ for attention |
# | 1 | shape of the work: few large matrix products, high utilisation, against many small ones |
# | 1 | limits: saturation or memory for $n \gg h$; quadratic cost wins in the end |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 7 Variations
#
# ### 7.1 Cross-attention <small>★☆☆ · 5 min · 2 points</small>
# In translation the decoder looks into the *source* sentence: queries come from one sequence $x \in \mathbb{R}^{n \times h}$, keys and values from another, $y \in \mathbb{R}^{m \times g}$, of another length and perhaps another width.


# %% exercise="cross-attention"
def cross_attention(x, y, Wq, Wk, Wv):
    """x (n, h) looks into y (m, g): Wq (h, d), Wk (g, d), Wv (g, e). Returns (n, e)."""
    ### BEGIN SOLUTION
    return attention(x @ Wq, y @ Wk, y @ Wv)
    ### END SOLUTION


# %% test="cross-attention" points=2
check = Check("cross-attention", points=2)
x, y, a, b, c = randn(5, 3), randn(4, 6), randn(3, 7), randn(6, 7), randn(6, 2)
with check.idea("x asks, y answers"):
    shape = "one output per position of x, as wide as y W_v: which sequence gives the queries, which the keys and values?"
    out = check.run(cross_attention, x, y, a, b, c, shape=(5, 2), hint=shape)
    asks, answers, one = torch.tensor([[1.0], [0.0]]), torch.tensor([[math.log(3.0)], [0.0], [0.0]]), torch.ones(1, 1)
    narrow = check.run(cross_attention, asks, answers, one, one, 5 * one / math.log(3.0), shape=(2, 1))
    check.close(narrow, [[3.0], [5 / 3]], "row 0 mixes the values 5, 0, 0 with weights 3/5, 1/5, 1/5, row 1 with 1/3 each")
    ### BEGIN HIDDEN TESTS
    score = x @ a @ (y @ b).T
    check.close(
        out,
        (score / 7**0.5).softmax(1) @ y @ c,
        "the output is not attention(x W_q, y W_k, y W_v)",
    )
    x, y, a, b, c = randn(4, 4), randn(4, 4), randn(4, 4), randn(4, 4), randn(4, 4)  # all alike: a wrong role does not show in the shape
    score = x @ a @ (y @ b).T / 2
    check.close(
        check.run(cross_attention, x, y, a, b, c),
        score.softmax(1) @ y @ c,
        "with x and y of the same size the output is wrong",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(cross_attention, x, y, a, b, c)
### BEGIN HIDDEN TESTS
with check.part("gradients"):
    flow = "the gradients do not reach x, y and all three projections, or are wrong"
    softly = lambda z, s, i, j, k: (z @ i @ (s @ j).T / 2).softmax(1) @ s @ k  # noqa: E731
    check.gradients(cross_attention, softly, (randn(4, 4), randn(4, 4), randn(4, 4), randn(4, 4), randn(4, 4)), flow)
with check.edge("a source of one position"):
    single = check.run(cross_attention, x, y[:1], a, b, c, shape=(4, 4))
    check.close(single, (y[:1] @ c).expand(4, 4), "a source of one position: every query gets its value")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 7.2 Additive scores <small>★★☆ · 15 min · 3 points</small>
# Before the dot product there was a small network.
# Bahdanau, Cho and Bengio (2015) scored a pair by
#
# $$ s_{ij} = u \cdot \tanh(W_q^\top q_i + W_k^\top k_j) , $$
#
# with learned matrices $W_q \in \mathbb{R}^{d \times a}$, $W_k \in \mathbb{R}^{c \times a}$ and a learned vector $u \in \mathbb{R}^a$.
# Queries and keys may have different widths, $d$ and $c$.
# Each of the $n \cdot m$ pairs needs its own tanh of a vector of width $a$.
# Write it without a loop if you can: make an $n \times m \times a$ tensor by broadcasting.
#
# *Before you run it:* how much memory does that tensor take for $n = m = 1024$, $a = 512$, against the dot product's $n \times m$?


# %% exercise="additive"
def additive_scores(q, k, Wq, Wk, u):
    """Additive scores (n, m) of queries q (n, d) and keys k (m, c), with Wq (d, a), Wk (c, a) and u (a,)."""
    ### BEGIN SOLUTION
    hidden = torch.tanh((q @ Wq)[:, None, :] + (k @ Wk)[None, :, :])  # (n, m, a)
    return hidden @ u
    ### END SOLUTION


# %% test="additive" points=3
check = Check("additive", points=3)
q, k, a, b, u = randn(5, 3), randn(4, 6), randn(3, 7), randn(6, 7), randn(7)
with check.idea("u · tanh of the sum"):
    shape = "one score per query (row) and key (column): which axis do you insert where, and is the width a summed away?"
    scores = check.run(additive_scores, q, k, a, b, u, shape=(5, 4), hint=shape)
    pair = check.run(additive_scores, *(torch.ones(1, 1) for _ in range(4)), torch.tensor([3.0]), shape=(1, 1))
    inside = "one query and one key with W_q q = W_k k = 1 and u = 3: the score is 3 · tanh(1 + 1)"
    check.close(pair, [[3 * math.tanh(2.0)]], inside)
    ### BEGIN HIDDEN TESTS
    one_by_one = torch.stack([torch.stack([(torch.tanh(q[i] @ a + k[j] @ b) * u).sum() for j in range(4)]) for i in range(5)])
    check.close(
        scores,
        one_by_one,
        "a score is not u · tanh(W_qᵀ q_i + W_kᵀ k_j)",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(additive_scores, q, k, a, b, u)
### BEGIN HIDDEN TESTS
with check.part("gradients"):
    flow = "the gradients through your scores are wrong, or do not flow"
    by_formula = lambda *z: torch.tanh((z[0] @ z[2])[:, None] + (z[1] @ z[3])[None]) @ z[4]  # noqa: E731
    check.gradients(additive_scores, by_formula, (q, k, a, b, u), flow)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 7.3 Many heads by reshaping <small>★★☆ · 25 min · 6 points</small>
# From here on a batch of $B$ sequences has $T$ positions of width $D$.
# One head gives one distribution per position.
# To look at several things at once, cut the width $D$ into $H$ heads of width $D / H$, let each attend separately, and put the results side by side again.
# Nothing is learned in the cut: it is a reshape and a transpose.
#
# 1. `split_heads`: `(B, T, D)` to `(B, H, T, D/H)`.
#    Head 0 gets the *first* $D/H$ columns.
#    (`view` alone to the final shape mixes positions and heads.)
# 2. `merge_heads`: the way back.
# 3. `multi_head`: project, split, attend, merge, project with $W_o$.


# %% exercise="multi-head"
def split_heads(x, H):
    """x (B, T, D) as H heads: (B, H, T, D // H)."""
    ### BEGIN SOLUTION
    B, T, D = x.shape
    return x.view(B, T, H, D // H).transpose(1, 2)
    ### END SOLUTION


def merge_heads(x):
    """Heads (B, H, T, D // H) side by side again: (B, T, D)."""
    ### BEGIN SOLUTION
    B, H, T, width = x.shape
    return x.transpose(1, 2).reshape(B, T, H * width)
    ### END SOLUTION


def multi_head(x, Wq, Wk, Wv, Wo, H, mask=None):
    """Self-attention (B, T, D) of x (B, T, D) in H heads, with weights (D, D) applied from the right.

    The mask, if there is one, is broadcastable to (B, H, T, T).
    """
    ### BEGIN SOLUTION
    q, k, v = (split_heads(x @ W, H) for W in (Wq, Wk, Wv))
    return merge_heads(attention(q, k, v, mask)) @ Wo
    ### END SOLUTION


# %% test="multi-head" points=6
check = Check("multi-head", points=6)
x, a, b, c, o = randn(2, 5, 6), randn(6, 6), randn(6, 6), randn(6, 6), randn(6, 6)
with check.idea("split, merge, attend"):
    axes_are = "split_heads: the axes are batch, head, position, width of a head, in this order"
    numbers = torch.arange(2 * 3 * 8.0).view(2, 3, 8)
    parts = check.run(split_heads, numbers, 4, shape=(2, 4, 3, 2), hint=axes_are)
    columns = "split_heads: head 2 holds columns 4 and 5: split the last axis first, then move the head axis forward"
    check.close(parts[1, 2, 0], [28.0, 29.0], columns)
    ### BEGIN HIDDEN TESTS
    check.close(
        parts,
        torch.stack([row.view(3, 4, 2).transpose(0, 1) for row in numbers]),
        "split_heads mixes positions and heads",
    )
    ### END HIDDEN TESTS
    pieces = check.run(merge_heads, torch.arange(8.0).view(1, 2, 2, 2), shape=(1, 2, 4))
    undo = "merge_heads: the heads go side by side, head 0 first: undo the transpose before you join the axes"
    check.close(pieces, [[[0.0, 1.0, 4.0, 5.0], [2.0, 3.0, 6.0, 7.0]]], undo)
    ### BEGIN HIDDEN TESTS
    given = randn(2, 3, 4, 5)
    check.close(
        check.run(merge_heads, given),
        torch.cat([given[:, 0], given[:, 1], given[:, 2]], -1),
        "merge_heads: the heads must go side by side, head 0 first",
    )
    ### END HIDDEN TESTS
    whole = "multi_head: (B, T, D) in and out. Are the heads merged again? (After a transpose use `reshape`, not `view`.)"
    out = check.run(multi_head, x, a, b, c, o, 3, shape=(2, 5, 6), hint=whole)
    eye, two = torch.eye(2), torch.tensor([[[4.0, 8.0], [0.0, 0.0]]])
    even = check.run(multi_head, two, 0 * eye, eye, eye, 2 * eye, 2, shape=(1, 2, 2))
    check.close(even, [[[4.0, 8.0], [4.0, 8.0]]], "multi_head: if W_q = 0, every output is the values' mean, times W_o")
    ### BEGIN HIDDEN TESTS
    lower = torch.ones(5, 5, dtype=torch.bool).tril()

    def side_by_side(rule=None):
        results = []
        for cut in (slice(0, 2), slice(2, 4), slice(4, 6)):
            raw = x @ a[:, cut] @ (x @ b[:, cut]).mT / 2**0.5
            raw = raw if rule is None else raw.masked_fill(~rule, -torch.inf)
            results.append(raw.softmax(-1) @ (x @ c[:, cut]))
        return torch.cat(results, -1)

    check.close(
        out,
        side_by_side() @ o,
        "the output differs from three single heads side by side",
    )
    solo = check.run(multi_head, x, a, b, c, o, 1, shape=(2, 5, 6))
    check.close(solo, (x @ a @ (x @ b).mT / 6**0.5).softmax(-1) @ (x @ c) @ o, "with one head it is plain self-attention")
    ### END HIDDEN TESTS
with check.part("mask"):
    tril = torch.ones(5, 5, dtype=torch.bool).tril()
    later = "with a causal mask a later position still changes an earlier output: is the mask passed on to `attention`?"
    check.causal(lambda z: multi_head(z[None], a, b, c, o, 3, tril)[0], x[0], later)
    ### BEGIN HIDDEN TESTS
    filler = torch.arange(5) < torch.tensor([4, 2])[:, None, None, None]  # (2, 1, 1, 5)
    broadcast = "a mask of shape (B, 1, 1, T) must broadcast against scores of shape (B, H, T, T)"
    ragged = check.run(multi_head, x, a, b, c, o, 3, filler, shape=(2, 5, 6), hint=broadcast)
    check.close(
        ragged,
        side_by_side(rule=filler[:, 0]) @ o,
        "with a mask for each sequence of the batch, (B, 1, 1, T), the output is wrong",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(multi_head, x, a, b, c, o, 3)
    ### BEGIN HIDDEN TESTS
    check.unchanged(multi_head, x, a, b, c, o, 3, filler)
    check.unchanged(split_heads, numbers, 4)
    check.unchanged(merge_heads, given)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("gradients"):
    flow = "split_heads: the gradient does not flow back to x, or is wrong"
    check.gradients(split_heads, lambda z, heads: z.unflatten(-1, (heads, 2)).transpose(1, 2), (randn(2, 3, 8), 4), flow)
    flow = "merge_heads: the gradient does not flow back to the heads, or is wrong"
    check.gradients(merge_heads, lambda z: z.transpose(1, 2).flatten(-2), (randn(2, 3, 4, 5),), flow)
    flow = "multi_head: the gradients do not reach x and all four weights, or are wrong"

    def by_heads(z, wq, wk, wv, wo, heads):
        cut = lambda w: (z @ w).unflatten(-1, (heads, -1)).transpose(1, 2)  # noqa: E731
        mixed = (cut(wq) @ cut(wk).mT / (6 / heads) ** 0.5).softmax(-1) @ cut(wv)
        return mixed.transpose(1, 2).flatten(-2) @ wo

    check.gradients(multi_head, by_heads, (randn(2, 5, 6), a, b, c, o, 3), flow)
with check.edge("batch, length and width of one"):
    tiny = check.run(multi_head, randn(1, 1, 6), a, b, c, o, 6)
    check.shape(tiny, (1, 1, 6), "a batch of one, a sequence of one, heads of width one: this must work")
### END HIDDEN TESTS
check.score()

# %% look=true
seed(4)
T, D, H = 8, 16, 4
sequence = torch.randn(1, T, D)
projections = [torch.randn(D, D) / D**0.5 for _ in range(2)]
queries_by_head, keys_by_head = (split_heads(sequence @ W, H) for W in projections)
figure, axes = plt.subplots(1, H, figsize=(16, 3.6))
for head, ax in enumerate(axes):
    plots.heatmap(
        masked_softmax(queries_by_head[0, head] @ keys_by_head[0, head].mT / (D / H) ** 0.5, causal_mask(T)),
        title=f"head {head}",
        ax=ax,
    )
figure.tight_layout()
plt.show()

# %% [markdown]
# Even with random weights the heads look at different things: each sees another part of the width.
#
# ## 8 Bonus: attention that never builds the matrix <small>★★★ · 40 min · 4 bonus points</small>
# The $n \times m$ weights are what fills the memory.
# They are not needed all at once: the softmax of a row can be built up block by block (Milakov and Gimelshein, 2018), which is the idea behind FlashAttention (Dao et al., 2022).
# For each query keep three things: the largest score $\mu$ seen so far, the sum $Z = \sum_j e^{s_j - \mu}$, and the unfinished output $o = \sum_j e^{s_j - \mu} v_j$.
# When a new block brings a larger maximum $\mu'$, multiply $Z$ and $o$ by $e^{\mu - \mu'}$ and go on.
# At the end the answer is $o / Z$.
#
# No tensor you create may have more than $n \cdot \max(b, d, e)$ elements, where $b$ is the block size (the tests that measure this use $b \le n$).
# If one of your tensors has more, the exercise earns nothing.
# Slices and transposes are views and cost nothing.
# The number of keys $m$ need not be a multiple of $b$: the last block may be short.
# Before the first block $\mu = -\infty$.


# %% exercise="bonus-blockwise"
def blockwise_attention(q, k, v, block):
    """attention(q, k, v) for q (n, d), k (m, d), v (m, e), visiting the keys `block` at a time."""
    ### BEGIN SOLUTION
    n, d = q.shape
    top = q.new_full((n, 1), -torch.inf)
    total, out = q.new_zeros(n, 1), q.new_zeros(n, v.shape[1])
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        scores = q @ keys.T / d**0.5  # (n, block)
        new_top = torch.maximum(top, scores.amax(dim=1, keepdim=True))
        old, part = (top - new_top).exp(), (scores - new_top).exp()
        total = total * old + part.sum(dim=1, keepdim=True)
        out = out * old + part @ values
        top = new_top
    return out / total
    ### END SOLUTION


# %% test="bonus-blockwise" points=4
check = Check("bonus-blockwise", points=4)
q, k, v = randn(5, 6), randn(9, 6), randn(9, 3)
with check.idea("block by block, the same result"):
    spent = check.measure(checks.cost, blockwise_attention, randn(32, 8), randn(64, 8), randn(64, 8), 4)
    thrifty = (spent.largest <= 32 * 8) & (spent.flops >= 2 * 32 * 64 * 8)  # the two products, one operation a term
    check.counted(thrifty, "a tensor larger than n · max(b, d, e) was made: look at one block of keys at a time")
    broken = "a tensor was larger than allowed, so the results are not looked at"
    refused = checks.Failed(broken, broken) if type(thrifty) is bool else thrifty
    for size in (9, 1, 4, 100):
        out = check.run(blockwise_attention, q, k, v, size) if thrifty else refused
        hint = "in a single block the result differs from attention: is everything scaled, and divided by Z at the end?"
        if size < 9:
            hint = f"with blocks of {size} the result differs: are Z and the output rescaled when the maximum changes?"
        check.close(out, (q @ k.T / 6**0.5).softmax(1) @ v, hint)
    ### BEGIN HIDDEN TESTS
    # One row of all scores is too much by the count below. What it takes in memory depends on gaps in the heap: no verdict.
    row = check.measure(checks.cost, blockwise_attention, randn(4, 8), randn(256, 8), randn(256, 8), 4).largest > 4 * 8
    by_rows = type(row) is bool and row
    some = randperm(512)[:8]
    thrifty = thrifty and (
        by_rows
        or check.affordable(
            blockwise_attention,
            lambda m: (randn(512, 16), randn(m, 16), randn(m, 16), 1024),  # few turns for an answer that loops over queries, too
            65536,
            megabytes=48,  # a block has 2; the results of all blocks, kept until the end, 2
            wasteful=128,  # the matrix
            right=lambda out, q, k, v, b: checks.near(out[some], (q[some] @ k.T / q.shape[1] ** 0.5).softmax(1) @ v),
            hint="for 512 queries and 65,536 keys the n × m weights were built after all: look at one block of keys at a time",
            or_nothing=True,
        )
    )
    by_hand = "write the blocks yourself: do not call `scaled_dot_product_attention`"
    if thrifty:
        check.avoids(
            blockwise_attention,
            *("scaled_dot_product_attention",),
            hint=by_hand,
            forbid=("attention",),
            runs=lambda: blockwise_attention(q.clone(), k.clone(), v.clone(), 4),
        )
    else:
        check.true(refused, by_hand)
    plain_scores = q @ k.T / 6**0.5

    def slip(rescale_total=1, rescale_out=1):
        top, total, mixed = torch.full((5, 1), -torch.inf), 0.0, 0.0
        for part, give in zip(plain_scores.split(4, 1), v.split(4), strict=True):
            high = torch.maximum(top, part.amax(1, keepdim=True))
            total = total * (top - high).exp() ** rescale_total + (part - high).exp().sum(1, keepdim=True)
            mixed = mixed * (top - high).exp() ** rescale_out + (part - high).exp() @ give
            top = high
        return mixed / total

    out = check.run(blockwise_attention, q, k, v, 4, forbid=["attention"]) if thrifty else refused
    check.close(
        out,
        plain_scores.softmax(1) @ v,
        "blocks of 4 for 9 keys: the result is wrong",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(blockwise_attention, q, k, v, 4)
### BEGIN HIDDEN TESTS
with check.part("memory"):
    check.largest(
        blockwise_attention,
        randn(128, 16),
        randn(512, 16),
        randn(512, 16),
        16,
        elements=128 * 16,
        at_least=2 * 128 * 512 * 16,
        hint="for longer inputs a tensor larger than n · max(b, d, e) was made",
    )
    check.largest(
        blockwise_attention,
        randn(4, 8),
        randn(256, 8),
        randn(256, 8),
        4,
        elements=4 * 8,
        at_least=2 * 4 * 256 * 8,
        hint="for few queries and many keys a tensor larger than n · max(b, d, e) was made: not even one row of all scores fits",
    )
with check.edge("large scores"):
    rising, steep = torch.linspace(-40, 40, 12)[:, None] * torch.ones(12, 4), 5 * torch.ones(3, 4)
    out = check.run(blockwise_attention, steep, rising, randn(12, 2), 5, shape=(3, 2)) if thrifty else refused
    check.finite(out, "scores that keep rising overflow: subtract the running maximum before every exp")
    counted = torch.arange(24.0).view(12, 2)
    falling = check.run(blockwise_attention, steep, rising.flip(0), counted, 5, shape=(3, 2)) if thrifty else refused
    check.close(falling, [[0.0, 1.0]] * 3, "the first key has by far the largest score, so its value must win, whichever block it is in")
with check.edge("very low scores"):
    apart = 5 * torch.tensor([[1.0], [-1.0]]) * torch.ones(2, 4)  # one query with scores near 400, one with scores near −400
    level = torch.linspace(30, 40, 12)[:, None] * torch.ones(12, 4)
    low = check.run(blockwise_attention, apart, level, counted, 5) if thrifty else refused
    check.close(
        low,
        (apart @ level.T / 2).softmax(1) @ counted,
        "a query whose scores are all very low underflows: every query has its own maximum, which starts at minus infinity, not at 0",
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## What you can now do
# - Read a query as a request: along a key it selects, at zero it averages everything, and a small linear system hits any reachable weights.
# - Explain $1/\sqrt{d}$ with a variance and a Jacobian, not with a habit.
# - Mask without leaking and without NaN, and say why zeroing after the softmax leaks.
# - Count the operations of self-attention, predict where $n^2h$ overtakes $nh^2$, and say why GPUs like it all the same.
# - Tell self- from cross-attention and dot-product from additive scores, and build heads by reshaping.
#
# Next, `04-linear-attention` asks how much of the $n \times n$ matrix is really needed.
