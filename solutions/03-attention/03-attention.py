# %% [markdown]
# # 03 · Attention: selection, averaging, masks, cost
#
# | | |
# | --- | --- |
# | **You will be able to** | write a query that selects a value, averages some, or hits any weights you ask for · say why scores are divided by $\sqrt{d}$ and prove it · mask so that nothing leaks and nothing is NaN · count what attention costs · build multi-head attention by reshaping |
# | **You need** | matrix products, softmax, partial derivatives, a little PyTorch |
# | **Time** | about four hours; each exercise says its own |
# | **Points** | 61, and 4 bonus |
#
# A recurrent network carries the past in one vector. Whatever it wants to use later has to fit in there, and has to survive
# every step in between. Attention (Bahdanau, Cho and Bengio, 2015) keeps all past vectors and looks up what it needs, when it
# needs it. This notebook takes that look-up apart: what it can select, what it can average, what it must not see, what it costs.
#
# **Notation.** $n$ queries and $m$ keys of width $d$ are the rows of $Q \in \mathbb{R}^{n \times d}$ and $K \in \mathbb{R}^{m \times d}$.
# Each key $k_j$ comes with a value $v_j$, a row of $V \in \mathbb{R}^{m \times e}$. From Part 5 on there may be batch axes in front.
#
# **How to work.** Replace `raise NotImplementedError()` with your code, run the cell, run the test below it. A test that fails
# tells you which idea to check. *Before you run it* marks a prediction: write it down first, on paper. It is the cheapest way to learn.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from helpers import checks, plots, widgets
from helpers.checks import Check, rand, randint, randn, randperm
from helpers.device import seed
from helpers.four_keys import KEYS
from helpers.scale import pick

# %% [markdown]
# ## 1 A soft look-up
#
# A dictionary returns the value whose key *equals* the query. Attention returns a mixture of all values, weighted by how well each
# key *matches* the query. In Parts 1 to 3 the match is the plain inner product, without any scaling:
#
# $$ s_{ij} = q_i \cdot k_j, \qquad w_{ij} = \frac{e^{s_{ij}}}{\sum_{l=1}^{m} e^{s_{il}}}, \qquad o_i = \sum_{j=1}^{m} w_{ij}\, v_j . $$
#
# ### 1.1 Weights <small>★☆☆ · 5 min · 2 points</small>
# Each query compares itself with every key. Turn the comparisons into one distribution per query.
#
# *Before you run it:* what happens to the weights when every key is multiplied by ten? And when the same vector is added to every key?

# %% nbgrader={"grade": false, "grade_id": "lookup-weights", "locked": false, "schema_version": 3, "solution": true, "task": false}
def lookup_weights(Q, K):
    """Weights of queries Q (n, d) on keys K (m, d), scores unscaled: an (n, m) tensor whose rows sum to one."""
    ### BEGIN SOLUTION
    return (Q @ K.mT).softmax(dim=-1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "lookup-weights-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check = Check("lookup-weights", points=2)
q, k = randn(5, 7), randn(4, 7)  # all sizes differ: a swapped axis cannot hide
w = check.run(lookup_weights, q, k, shape=(5, 4))
check.distribution(w, "every row is one query's distribution over the keys: along which axis does softmax run?")
two = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
ready = check.run(lookup_weights, two, torch.tensor([[math.log(3.0), 5.0], [0.0, -2.0]]), shape=(2, 2))
check.close(ready, [[0.5, 0.5], [0.75, 0.25]], "a zero query weighs all keys alike; a score of log 3 against 0 gives 3 : 1. Is the score the plain inner product?")
check.unchanged(lookup_weights, q, k)
### BEGIN HIDDEN TESTS
exact = torch.exp(q @ k.T) / torch.exp(q @ k.T).sum(1, keepdim=True)
check.close(
    w,
    exact,
    "the weights differ from exp(q·k) divided by its row sums",
    wrong={
        "in this part the scores are plain inner products: do not divide by the square root of the width yet": (q @ k.T / 7**0.5).softmax(1),
        "softmax runs over the queries: it must run over the keys, the last axis": (q @ k.T).softmax(0),
    },
)
single = check.run(lookup_weights, randn(1, 3), randn(1, 3), shape=(1, 1))
check.close(single, 1.0, "one query and one key: the weight is one")
big = check.run(lookup_weights, torch.full((2, 3), 60.0), torch.full((4, 3), 60.0), shape=(2, 4))
check.close(big, 0.25, "large scores overflow: exp(10800) is infinite. Subtract the row's maximum first, or use torch's softmax")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 1.2 The look-up <small>★☆☆ · 5 min · 2 points</small>
# Use your weights to mix the values. The output has one row per query and the width of the *values*, which need not be the width of the keys.

# %% nbgrader={"grade": false, "grade_id": "lookup", "locked": false, "schema_version": 3, "solution": true, "task": false}
def lookup(Q, K, V):
    """Soft look-up: queries Q (n, d), keys K (m, d), values V (m, e). Returns (n, e)."""
    ### BEGIN SOLUTION
    return lookup_weights(Q, K) @ V
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "lookup-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check = Check("lookup", points=2)
q, k, v = randn(5, 7), randn(4, 7), randn(4, 3)
out = check.run(lookup, q, k, v, shape=(5, 3))
check.true((out <= v.max(0).values + 1e-5) & (out >= v.min(0).values - 1e-5), "an average of the values cannot leave their range: do the weights multiply V, and sum to one?")
alike = check.run(lookup, q, k, torch.ones(4, 3) * torch.tensor([2.0, -1.0, 0.5]), shape=(5, 3))
check.close(alike, torch.tensor([2.0, -1.0, 0.5]).expand(5, 3), "if all values are alike, the output is that value, whatever the weights")
check.unchanged(lookup, q, k, v)
### BEGIN HIDDEN TESTS
check.close(out, (q @ k.T).softmax(1) @ v, "the output is the weights times the values, with the plain scores of 1.1", wrong={
    "you mix the keys; the output mixes the values": torch.zeros(5, 3),
    "in this part the scores are not divided by the square root of the width": (q @ k.T / 7**0.5).softmax(1) @ v,
    "softmax runs over the queries: every row of weights must sum to one over the keys": (q @ k.T).softmax(0) @ v,
})
same_size = randn(6, 6)
other = check.run(lookup, same_size, same_size.flip(0), same_size * 2, shape=(6, 6))
check.close(other, (same_size @ same_size.flip(0).T).softmax(1) @ (same_size * 2), "with square inputs something is transposed that should not be")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: drag a query
# Four keys, four values. Drag the tip of the query in the plane of its first two coordinates, move the sliders for the third
# coordinate and for the query's length, and watch the weights and the output. Can you make one weight almost 1? All four equal? Exactly two equal and the others 0?

# %%
widgets.drag_query(KEYS)

# %% [markdown]
# ## 2 Selection
#
# The keys of this part (the rows of `KEYS`) are
#
# $$ K = \begin{pmatrix} .47 & .65 & .60 \\ .64 & .50 & -.59 \\ -.03 & -.48 & -.88 \\ .43 & -.83 & .35 \end{pmatrix}. $$
#
# They point in different directions and have almost the same length. Softmax only sees differences of scores: when one score leads by
# $\Delta$, every other weight is at most $e^{-\Delta}$. Multiply a query by a large number $S$, and every lead grows by $S$.

# %%
lengths = KEYS.norm(dim=1)
print("lengths      ", [f"{x:.4f}" for x in lengths.tolist()])
print("k_0 · k_j    ", [f"{x:.3f}" for x in (KEYS @ KEYS[0]).tolist()])
for factor in (1, 10, 100):
    print(f"weights of {factor:>3} k_0", [f"{x:.4f}" for x in (factor * KEYS @ KEYS[0]).softmax(0).tolist()])

# %% [markdown]
# ### 2.1 Select one value <small>★☆☆ · 5 min · 2 points</small>
# Write the query that returns $v_0$: its weight on the first key must exceed 0.999. Use $S = 10^5$ for "large".

# %% nbgrader={"grade": false, "grade_id": "select-first", "locked": false, "schema_version": 3, "solution": true, "task": false}
def select_first(keys):
    """A query (d,) that puts a weight above 0.999 on the first of the keys (m, d), which all have about the same length."""
    ### BEGIN SOLUTION
    return 1e5 * keys[0]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "select-first-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check = Check("select-first", points=2)
query = check.run(select_first, KEYS, shape=(3,), hint="the query is one vector with the width of a key")
reached = (KEYS @ query).softmax(0)
check.true(reached[0] > 0.999, "the first key should get almost all of the weight: point the query along that key, and make it long")
check.true(reached.argmax() == 0, "another key gets the most weight: which key does your query point to?")
check.unchanged(select_first, KEYS)
### BEGIN HIDDEN TESTS
unit = torch.nn.functional.normalize(randn(5, 8), dim=1)
query = check.run(select_first, unit, shape=(8,))
check.true((unit @ query).softmax(0)[0] > 0.999, "with other keys of length one it fails: is the query built from `keys`, and long enough (S = 1e5)?")
close_by = torch.tensor([[1.0, 0.0], [0.9998, 0.02], [0.9998, -0.02]])
query = check.run(select_first, close_by, shape=(2,))
check.true((close_by @ query).softmax(0)[0] > 0.999, "keys that lie close together need a longer query: use S = 1e5")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 Select every value in turn <small>★☆☆ · 5 min · 2 points</small>
# Now a whole matrix $Q$: row $i$ selects $v_i$. With it, attention copies its values, $\mathrm{lookup}(Q, K, V) \approx V$.

# %% nbgrader={"grade": false, "grade_id": "select-all", "locked": false, "schema_version": 3, "solution": true, "task": false}
def select_all(keys):
    """Queries (m, d): row i puts a weight above 0.999 on key i of the keys (m, d)."""
    ### BEGIN SOLUTION
    return 1e5 * keys
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "select-all-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check = Check("select-all", points=2)
queries = check.run(select_all, KEYS, shape=(4, 3), hint="one query per key, each as wide as a key")
chosen = (queries @ KEYS.T).softmax(1)
check.equal(chosen.argmax(1), [0, 1, 2, 3], "query i should look most at key i: are the rows in the keys' order?")
check.true(chosen.max(1).values > 0.999, "every row should put almost all of its weight on one key: make the queries long")
check.unchanged(select_all, KEYS)
### BEGIN HIDDEN TESTS
unit = torch.nn.functional.normalize(randn(9, 6), dim=1)
queries = check.run(select_all, unit, shape=(9, 6))
check.close((queries @ unit.T).softmax(1), torch.eye(9), "with other keys of length one the rows do not select: are all queries built from `keys`, with S = 1e5?", atol=1e-3)
one = check.run(select_all, torch.ones(1, 5), shape=(1, 5))
check.finite(one, "a single key: the query must stay finite")
### END HIDDEN TESTS
check.score()

# %%
values = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
figure, axes = plt.subplots(1, 2, figsize=(11, 3.6))
plots.heatmap(lookup_weights(KEYS, KEYS), title="queries = keys: a soft mixture", ax=axes[0])
plots.heatmap(lookup_weights(select_all(KEYS), KEYS), title="your queries: one value each", ax=axes[1])
plt.show()
print("copied values:\n", lookup(select_all(KEYS), KEYS, values).round(decimals=3))

# %% [markdown]
# Scaling up a key selects it only because these keys have almost the same length. If $k_1 = 3\,k_0$, then $S\,k_0$ selects $k_1$.
# In general some query selects key $j$ if and only if $k_j$ is a corner of the convex hull of the keys.
#
# ## 3 Averaging
#
# ### 3.1 All values <small>★☆☆ · 5 min · 1 point</small>
# Which query gives all four keys the weight 1/4? An answer often given is the mean of the keys. Look before you write:

# %%
mean_of_all = KEYS.mean(0)
print("mean of the keys:", [f"{x:.3f}" for x in (KEYS @ mean_of_all).softmax(0).tolist()])

# %% nbgrader={"grade": false, "grade_id": "average-all", "locked": false, "schema_version": 3, "solution": true, "task": false}
def average_all(keys):
    """A query (d,) that gives every one of the keys (m, d) exactly the same weight, whatever the keys are."""
    ### BEGIN SOLUTION
    return torch.zeros_like(keys[0])
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "average-all-test", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check = Check("average-all", points=1)
query = check.run(average_all, KEYS, shape=(3,), hint="the query is one vector with the width of a key")
check.close((KEYS @ query).softmax(0), 0.25, "the four weights should be exactly 1/4. Equal weights need equal scores: which query has the same score with every key?")
### BEGIN HIDDEN TESTS
long_keys = 50 * randn(6, 5)
query = check.run(average_all, long_keys, shape=(5,))
check.close((long_keys @ query).softmax(0), 1 / 6, "with other keys the weights are not equal: which query has the same score with every key, whatever the keys?")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.2 Two values only <small>★★☆ · 15 min · 3 points</small>
# Now $v_0$ and $v_1$ get 1/2 each, and the others nothing. The obvious answer is the mean of the first two keys, made long:

# %%
mean_of_two = KEYS[:2].mean(0)
for factor in (1, 10, 100, 1e5):
    print(f"{factor:>8g} × mean of k_0 and k_1:", [f"{x:.3f}" for x in (factor * KEYS @ mean_of_two).softmax(0).tolist()])

# %% [markdown]
# It never works. The two scores, $\tfrac12(|k_0|^2 + k_0 \cdot k_1)$ and $\tfrac12(|k_1|^2 + k_0 \cdot k_1)$, differ by $\tfrac12(|k_0|^2 - |k_1|^2)$: not
# much, but a long query multiplies the difference too.
#
# Ask for the scores you want instead. "Equal to each other, and well above the other two" is a linear system for $q$:
# with four keys in three dimensions, three differences of scores determine the three entries of $q$.
#
# Both weights must be within 0.001 of 1/2. *Before you run it:* how far must the first two scores lie above the others for that? (A lead of
# $10^5$ is too much of a good thing: float32 has seven digits, and the two large scores must agree to 0.004.)

# %% nbgrader={"grade": false, "grade_id": "average-two", "locked": false, "schema_version": 3, "solution": true, "task": false}
def average_first_two(keys):
    """A query (3,) that gives the first two of four keys (4, 3) the weight 1/2 each, to within 0.001."""
    ### BEGIN SOLUTION
    differences = keys[:3] - keys[3]  # (3, 3)
    leads = torch.tensor([20.0, 20.0, 0.0], dtype=keys.dtype)  # scores of k_0, k_1, k_2 above that of k_3
    return torch.linalg.solve(differences, leads)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "average-two-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("average-two", points=3)
query = check.run(average_first_two, KEYS, shape=(3,), hint="the query is one vector with the width of a key")
reached = (KEYS.double() @ query.double()).softmax(0)
check.close(reached[0] - reached[1], 0.0, "the first two weights differ: their two scores must be equal. Set up the equations for q and solve them", atol=1e-3)
check.close(reached[2:], [0.0, 0.0], "the last two keys still get weight: their scores must lie well below the first two (a lead of 10 or more)", atol=1e-3)
### BEGIN HIDDEN TESTS
for _ in range(3):
    keys = randn(4, 3)
    query = check.run(average_first_two, keys, shape=(3,))
    check.close(
        (keys.double() @ query.double()).softmax(0),
        [0.5, 0.5, 0.0, 0.0],
        "with four other keys the weights are not 1/2, 1/2, 0, 0: build the equations from `keys`, for score differences, not for this one matrix",
        atol=1e-3,
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.3 Any weights you like <small>★★★ · 20 min · 4 points</small>
# Generalise. Given target weights $w_1, \dots, w_m > 0$ that sum to one, find $q$ with $\mathrm{softmax}(Kq) = w$.
#
# Softmax is undone by the logarithm, up to a constant: $\mathrm{softmax}(s) = w$ exactly when $s_j = \log w_j + c$ for some number $c$ that you may choose.
# So $q$ must satisfy $k_j \cdot q = \log w_j + c$. Subtract one equation from the others and $c$ is gone:
#
# $$ (k_j - k_1) \cdot q = \log w_j - \log w_1, \qquad j = 2, \dots, m . $$
#
# These are $m - 1$ equations for $d$ unknowns. They have a solution for *every* target when the differences $k_j - k_1$ are linearly independent: when the
# keys are *affinely independent*, which needs $m \le d + 1$. There may be fewer equations than unknowns, so solve them in the least-squares sense (`torch.linalg.lstsq`, or the pseudo-inverse).

# %% nbgrader={"grade": false, "grade_id": "query-for", "locked": false, "schema_version": 3, "solution": true, "task": false}
def query_for(target, keys):
    """A query (d,) with softmax(keys @ q) = target, for positive weights target (m,) and affinely independent keys (m, d)."""
    ### BEGIN SOLUTION
    differences = keys[1:] - keys[0]  # (m - 1, d)
    leads = target[1:].log() - target[0].log()  # (m - 1,)
    return torch.linalg.pinv(differences) @ leads
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "query-for-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check = Check("query-for", points=4)
goal = torch.tensor([0.1, 0.2, 0.3, 0.4])
query = check.run(query_for, goal, KEYS, shape=(3,), hint="the query is one vector with the width of a key")
check.close((KEYS @ query).softmax(0), goal, "the weights are not the target: take logarithms, subtract one equation from the others, solve for q", atol=1e-4)
even = check.run(query_for, torch.full((4,), 0.25), KEYS, shape=(3,))
check.close(even, torch.zeros(3), "equal weights have the solution q = 0, and with these keys no other: are your right-hand sides differences of logarithms?", atol=1e-4)
check.unchanged(query_for, goal, KEYS)
### BEGIN HIDDEN TESTS
for count, width in [(4, 3), (3, 6), (2, 5), (6, 5)]:
    keys, goal = randn(count, width, dtype=torch.float64), rand(count, dtype=torch.float64) + 0.05
    goal = goal / goal.sum()
    query = check.run(query_for, goal, keys, shape=(width,))
    check.close(
        (keys @ query).softmax(0),
        goal,
        "it fails for other numbers of keys or other widths: there are m − 1 equations for d unknowns. Use the pseudo-inverse or least squares, not a square solver",
        rtol=1e-6,
    )
far = randn(4, 3, dtype=torch.float64) + 100
query = check.run(query_for, goal[:4] / goal[:4].sum(), far, shape=(3,))
check.close(
    (far @ query).softmax(0),
    goal[:4] / goal[:4].sum(),
    "it fails when all keys are shifted by the same vector: the free constant c must drop out, so use differences of keys, not the keys themselves",
    rtol=1e-6,
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.4 When is it impossible? <small>★★★ · 15 min · 3 points</small>
# Five keys in three dimensions give four equations for three unknowns: most targets are out of reach. So is any target with a zero in it, for a finite
# query: $e^s > 0$. Write the test: a target is reachable exactly when it is strictly positive and the equations of 3.3 have an exact solution.
# (With the pseudo-inverse you get the best $q$ there is. Does it solve the equations?)

# %% nbgrader={"grade": false, "grade_id": "reachable", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reachable(target, keys):
    """True if some query (d,) gives the keys (m, d) exactly the weights target (m,), which sum to one; else False."""
    ### BEGIN SOLUTION
    if (target <= 0).any():
        return False
    differences = keys[1:] - keys[0]
    leads = target[1:].log() - target[0].log()
    best = torch.linalg.pinv(differences) @ leads
    return torch.allclose(differences @ best, leads, atol=1e-4)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "reachable-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("reachable", points=3)
check.equal(check.run(reachable, torch.tensor([0.1, 0.2, 0.3, 0.4]), KEYS), True, "affinely independent keys reach every positive target")
check.equal(check.run(reachable, torch.tensor([0.5, 0.5, 0.0, 0.0]), KEYS), False, "a weight of exactly zero needs a score of minus infinity: no finite query gives it")
line = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
check.equal(check.run(reachable, torch.tensor([0.2, 0.6, 0.2]), line), False, "three keys on a line: the middle score lies between the outer two, so this target is out of reach")
### BEGIN HIDDEN TESTS
check.equal(check.run(reachable, torch.tensor([1.0, 2.0, 4.0]) / 7, line), True, "three keys on a line do reach targets whose logarithms lie on a line: test the equations, not only the number of keys")
crowd = randn(6, 3)
made = (crowd @ randn(3)).softmax(0)
check.equal(check.run(reachable, made, crowd), True, "these weights came from a query, so they are reachable, although there are more keys than width + 1: test the equations, not the count")
check.equal(check.run(reachable, torch.tensor([0.3, 0.1, 0.2, 0.1, 0.1, 0.2]), crowd), False, "six keys in three dimensions do not reach this target: does the best q really solve the equations?")
twins = torch.tensor([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]])
check.equal(check.run(reachable, torch.tensor([0.3, 0.3, 0.4]), twins), True, "two equal keys can share equal weights: that target is reachable")
check.equal(check.run(reachable, torch.tensor([0.2, 0.4, 0.4]), twins), False, "two equal keys always get equal weights: this target is out of reach")
check.equal(check.run(reachable, torch.tensor([1.0]), torch.ones(1, 4)), True, "a single key always has the weight one")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.5 In your own words <small>★★☆ · 15 min · 3 points, graded by hand</small>
# What do *selecting* and *averaging* each do for a language model? Give one example of a word whose prediction wants selection and one that wants an average, and
# say what a model would lose if its attention could only do one of the two. About 120 words.

# %% [markdown] nbgrader={"grade": true, "grade_id": "written-selecting", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# <!-- BEGIN SOLUTION -->
# **Model answer.** Selecting copies one earlier vector unchanged, however far away it is. It serves dependencies on a single word: the verb in "the *keys* that lay on the
# table *were*" needs the number of one noun, a pronoun needs its antecedent, and a repeated name can be copied. Averaging gives every matching position the
# same small share, so single words blur and what they have in common remains: the topic, the register, the language, whether the review so far is friendly. The
# next content word in a weather report wants such an average. With selection only, a model sees one word per head and no overall picture, and an error in the choice
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
# Let the entries of $q$ and $k$ be independent with mean 0 and variance $\sigma^2$. Derive the variance of $q \cdot k = \sum_{i=1}^{d} q_i k_i$, in two steps:
# the variance of one product $q_i k_i$ (its mean is 0, so this is $\mathbb{E}[q_i^2 k_i^2]$), then of a sum of $d$ independent ones. Write the result as a function.

# %% nbgrader={"grade": false, "grade_id": "score-variance", "locked": false, "schema_version": 3, "solution": true, "task": false}
def score_variance(d, sigma):
    """Variance of q·k for vectors of width d with independent entries of mean 0 and standard deviation sigma."""
    ### BEGIN SOLUTION
    return d * sigma**4
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "score-variance-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check = Check("score-variance", points=2)
check.close(check.run(score_variance, 1, 1.0), 1.0, "for d = 1 and σ = 1 the product of two independent numbers has the variance 1 · 1")
check.close(check.run(score_variance, 64, 1.0), 64.0, "variances of independent terms add up: d of them")
### BEGIN HIDDEN TESTS
check.close(check.run(score_variance, 10, 2.0), 160.0, "the dependence on σ is wrong: each product brings the variance of both factors", wrong={
    "σ is a standard deviation: the variance of one entry is σ², and a product has two factors": 40.0,
    "that is the standard deviation; the variance was asked for": 160.0**0.5,
    "that is the variance of one product, without the sum over d": 16.0,
})
check.close(check.run(score_variance, 3, 0.5), 0.1875, "the dependence on σ is wrong for σ < 1: d · σ · σ · σ · σ")
### END HIDDEN TESTS
check.score()

# %%
# The formula against a measurement: 20,000 pairs of vectors, with uniform entries (any distribution with that variance will do).
seed(0)
for d, sigma in [(4, 1.0), (64, 1.0), (64, 0.5), (256, 2.0)]:
    pairs = (torch.rand(2, 20_000, d) - 0.5) * math.sqrt(12) * sigma
    measured = (pairs[0] * pairs[1]).sum(-1).var().item()
    print(f"d = {d:>3}, σ = {sigma}: measured {measured:10.3f}, your formula {score_variance(d, sigma):10.3f}")

# %% [markdown]
# So scores spread like $\sqrt{d}$ when the entries have unit variance. Dividing by $\sqrt{d}$ brings the variance back to 1, at every width (Vaswani et al., 2017).
#
# ### 4.2 Scaled weights <small>★☆☆ · 5 min · 3 points</small>

# %% nbgrader={"grade": false, "grade_id": "weights", "locked": false, "schema_version": 3, "solution": true, "task": false}
def weights(q, k):
    """Scaled dot-product weights of queries q (n, d) on keys k (m, d): an (n, m) tensor whose rows sum to one."""
    ### BEGIN SOLUTION
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (n, m)
    return scores.softmax(dim=-1)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "weights-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("weights", points=3)
q, k = randn(5, 7), randn(4, 7)
w = check.run(weights, q, k, shape=(5, 4))
check.distribution(w, "every row is one query's distribution over the keys: along which axis does softmax run?")
wide = check.run(weights, torch.ones(1, 16), torch.cat([torch.ones(1, 16), torch.zeros(2, 16)]), shape=(1, 3))
check.close(wide.log()[0, 0] - wide.log()[0, 1], 4.0, "two vectors of 16 ones have the score 16, scaled 4: which number do you divide by?")
### BEGIN HIDDEN TESTS
check.close(w, (q @ k.T / 7**0.5).softmax(1), "scale by the square root of a key's width", wrong={
    "you divide by d; divide by its square root": (q @ k.T / 7).softmax(1),
    "you divide by the root of the number of keys; the width of a key counts": (q @ k.T / 4**0.5).softmax(1),
    "you divide by the root of the number of queries; the width of a key counts": (q @ k.T / 5**0.5).softmax(1),
    "the scores are not scaled": (q @ k.T).softmax(1),
    "you scale after softmax: then the rows no longer sum to one": (q @ k.T).softmax(1) / 7**0.5,
    "you multiply by the root of the width; divide by it": (q @ k.T * 7**0.5).softmax(1),
})
thin = check.run(weights, randn(3, 1), randn(2, 1), shape=(3, 2))
check.distribution(thin, "width one: every row is still a distribution")
precise = randn(2, 9, dtype=torch.float64)
check.close(check.run(weights, precise, precise, shape=(2, 2)), (precise @ precise.T / 3).softmax(1), "with float64 input digits are lost: do you convert to float32 on the way?")
check.gradients(weights, lambda a, b: (a @ b.T / a.shape[1] ** 0.5).softmax(1), (q, k), "the gradients through your weights are wrong, or do not flow at all")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.3 What a saturated softmax does to gradients <small>★★★ · 20 min · 4 points</small>
# Let $p = \mathrm{softmax}(s)$. Derive $\partial p_i / \partial s_j$. Write $p_i = e^{s_i} / Z$ and use the quotient rule, once for $i = j$ and once for $i \ne j$;
# then find one matrix expression for both cases, in terms of $p$ alone. Your matrix is compared with autograd and with finite differences, in float64.

# %% nbgrader={"grade": false, "grade_id": "softmax-jacobian", "locked": false, "schema_version": 3, "solution": true, "task": false}
def softmax_jacobian(p):
    """The matrix of derivatives ∂p_i/∂s_j (m, m) for p = softmax(s), given p (m,)."""
    ### BEGIN SOLUTION
    return torch.diag(p) - torch.outer(p, p)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "softmax-jacobian-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check = Check("softmax-jacobian", points=4)
s = randn(5, dtype=torch.float64)
jacobian = check.run(softmax_jacobian, s.softmax(0), shape=(5, 5))
check.close(jacobian.sum(0), torch.zeros(5), "the p_i always sum to one, so the derivatives of all p_i by one s_j sum to zero: is the off-diagonal part there, with its sign?", atol=1e-9)
check.true(jacobian.diagonal() > 0, "raising a score raises its own probability: the diagonal must be positive")
check.derivative(jacobian[2], lambda x: x.softmax(0)[2], s, "row 2 is not the gradient of p_2: work out i = j and i ≠ j once more")
### BEGIN HIDDEN TESTS
for size in (1, 2, 7):
    s = 2 * randn(size, dtype=torch.float64)
    p = s.softmax(0)
    jacobian = check.run(softmax_jacobian, p, shape=(size, size))
    for i in range(size):
        check.derivative(
            jacobian[i],
            lambda x, i=i: x.softmax(0)[i],
            s,
            "an entry of the matrix is not the derivative: compare i = j and i ≠ j",
            wrong={
                "only the diagonal is there: s_j changes every p_i, through the sum Z": torch.diag(p * (1 - p))[i],
                "the sign is flipped": (torch.outer(p, p) - torch.diag(p))[i],
                "the diagonal is p_i: subtract p_i p_j there, too": (torch.diag(p + p * p) - torch.outer(p, p))[i],
            },
        )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# The diagonal is $p_i (1 - p_i)$: when one weight is close to 1 and the others close to 0, *every* entry is close to 0, and almost no gradient reaches the queries
# and keys. The figure measures it, with your two functions: the size of the softmax gradient for random unit-variance queries and keys of growing width.
#
# *Before you run it:* sketch the two curves.

# %%
def mean_gradient(d, scaled, pairs=pick(smoke=20, laptop=300, gpu=300), m=16):
    """Mean Frobenius norm of the softmax Jacobian over random queries against m random keys of width d."""
    total = 0.0
    for _ in range(pairs):
        query, keys = torch.randn(1, d), torch.randn(m, d)
        p = weights(query, keys)[0] if scaled else lookup_weights(query, keys)[0]
        total += softmax_jacobian(p).norm().item()
    return total / pairs


seed(0)
widths = [1, 4, 16, 64, 256, 1024]
sizes = {name: [mean_gradient(d, scaled) for d in widths] for name, scaled in [("divided by √d", True), ("plain", False)]}
plots.curves({name: (widths, y) for name, y in sizes.items()}, "width d", "mean size of ∂p/∂s", "Without 1/√d the gradient dies", log_x=True)
plt.show()

# %% [markdown]
# ## 5 Masks
#
# A mask says which keys a query may look at. Here, as in PyTorch's `scaled_dot_product_attention`, a boolean mask is **True where looking is allowed**.
# The forbidden scores become $-\infty$ *before* the softmax, so that their weight is exactly 0 and the others still sum to one.
#
# Setting the weights to 0 *after* the softmax looks the same and is not: the rows no longer sum to one, and worse, the sum $Z$ in the
# denominator still contains the forbidden scores. What must not be seen is still felt. (Assignment 10 trains a model that lives off this leak.)

# %%
leaky_scores = torch.tensor([[1.0, 2.0, 0.5], [1.0, 2.0, 9.0]])  # the third key is forbidden; only its score differs
allowed = torch.tensor([True, True, False])
zeroed_after = leaky_scores.softmax(1) * allowed
hidden_before = leaky_scores.masked_fill(~allowed, -torch.inf).softmax(1)
for name, rows in [("0 after softmax", zeroed_after), ("−∞ before softmax", hidden_before)]:
    print(f"{name:>18}:", [[f"{x:.4f}" for x in row] for row in rows.tolist()])

# %% [markdown]
# ### 5.1 A masked softmax <small>★★☆ · 15 min · 4 points</small>
# One case needs care: a row in which *everything* is forbidden, such as a padding query. $-\infty$ everywhere makes softmax $0/0$, a NaN, and one NaN spreads through
# the whole model. Such a row shall be all zeros: it looks at nothing and returns nothing.

# %% nbgrader={"grade": false, "grade_id": "masked-softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
def masked_softmax(scores, mask):
    """Softmax over the last axis of scores (..., n, m) where mask (broadcastable, bool) is True; weight 0 where it is False.

    Rows without any True are all zeros. The inputs are left as they are.
    """
    ### BEGIN SOLUTION
    hidden = scores.masked_fill(~mask, -torch.inf)
    nothing = ~mask.any(dim=-1, keepdim=True)  # rows that may look at nothing: give softmax finite numbers there
    return hidden.masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(~mask, 0.0)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "masked-softmax-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check = Check("masked-softmax", points=4)
s = randn(3, 4)
m = torch.tensor([[True, True, False, True], [False, True, True, False], [True, False, False, False]])
w = check.run(masked_softmax, s, m, shape=(3, 4))
check.close(w[~m], torch.zeros(6), "where the mask is False the weight must be exactly 0 (True means: may look)", atol=0)
check.close(w.sum(1), torch.ones(3), "the weights that remain must sum to one: mask the scores before the softmax, not the weights after it")
empty = check.run(masked_softmax, s, torch.tensor([[False] * 4, [True] * 4, [True] * 4]), shape=(3, 4))
check.close(empty[0], torch.zeros(4), "a row that may look at nothing must be all zeros: not NaN, and not an even spread")
check.unchanged(masked_softmax, s, m)
### BEGIN HIDDEN TESTS
exact = torch.zeros(3, 4)
for row in range(3):
    exact[row, m[row]] = s[row, m[row]].softmax(0)
check.close(w, exact, "the allowed weights should be the softmax over the allowed scores alone", wrong={
    "you set weights to 0 after the softmax: the forbidden scores are still in the denominator": s.softmax(1) * m,
    "the mask is read the wrong way round: True means that looking is allowed": torch.stack([torch.zeros(4).masked_scatter(~m[r], s[r, ~m[r]].softmax(0)) for r in range(3)]),
    "a forbidden score of 0 is not hidden: e^0 = 1. It must be minus infinity": (s * m).softmax(1),
})
deep, rule = randn(2, 3, 5, 6), rand(2, 1, 1, 6) > 0.4
rule[0, 0, 0, 0] = rule[1, 0, 0, 0] = True
w = check.run(masked_softmax, deep, rule, shape=(2, 3, 5, 6))
check.close(w, deep.masked_fill(~rule, -torch.inf).softmax(-1), "with batch axes and a mask that must be broadcast the weights are wrong")
none = check.run(masked_softmax, deep, torch.zeros(6, dtype=torch.bool), shape=(2, 3, 5, 6))
check.close(none, torch.zeros(2, 3, 5, 6), "when nothing at all is allowed, everything is zero", atol=0)
low = check.run(masked_softmax, torch.full((1, 3), -2e9), torch.tensor([[True, True, False]]), shape=(1, 3))
check.close(low, [[0.5, 0.5, 0.0]], "very low but allowed scores lose against your mask value: only −inf is below every score")
finite = check.measure(checks.gradients, masked_softmax, (s, torch.tensor([[False] * 4, [True] * 4, [True] * 4])), randn(3, 4))
check.finite(finite.inputs[0], "the gradient is NaN where a row may look at nothing: replace the scores of such rows before the softmax, not the NaN after it")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.2 Three masks <small>★★☆ · 15 min · 3 points</small>
# - `hide_position`: nobody may look at position `j`.
# - `causal_mask`: position $t$ may look at itself and at what came before. That is what makes a language model predict rather than copy.
# - `padding_mask`: sequences of unequal `lengths` share one tensor; nobody may look at the filler. The result has an axis of size one for the queries, so that it broadcasts.

# %% nbgrader={"grade": false, "grade_id": "masks", "locked": false, "schema_version": 3, "solution": true, "task": false}
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
    """Mask (B, 1, T) for sequences of the given lengths (B,), padded to T: True at real keys, False at filler."""
    ### BEGIN SOLUTION
    return torch.arange(T) < lengths[:, None, None]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "masks-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("masks", points=3)
hide = check.run(hide_position, 3, 1, shape=(3, 3))
check.equal(hide, [[True, False, True]] * 3, "hide_position: one key is hidden from every query, so one column is False (queries are rows, keys are columns; True means: may look)")
causal = check.run(causal_mask, 3, shape=(3, 3))
check.equal(causal, [[True, False, False], [True, True, False], [True, True, True]], "causal_mask: query t sees keys 0 … t, itself included, and nothing later", wrong={
    "causal_mask: a query must see itself (the diagonal is True)": [[False, False, False], [True, False, False], [True, True, False]],
    "causal_mask: this one sees the future and not the past: queries are rows, keys are columns": [[True, True, True], [False, True, True], [False, False, True]],
})
padding = check.run(padding_mask, torch.tensor([2, 3]), 4, shape=(2, 1, 4))
check.equal(padding, [[[True, True, False, False]], [[True, True, True, False]]], "padding_mask: the first `length` keys are real, the rest is filler (True means: may look)")
### BEGIN HIDDEN TESTS
for length in (1, 5):
    hide, causal = check.run(hide_position, length, length - 1, shape=(length, length)), check.run(causal_mask, length, shape=(length, length))
    check.equal(hide.sum(), length * (length - 1), "hide_position: exactly one column is hidden, for every T and j")
    check.equal(causal, [[c <= r for c in range(length)] for r in range(length)], "causal_mask is wrong for another length")
padding = check.run(padding_mask, torch.tensor([4, 1, 0]), 4, shape=(3, 1, 4))
check.equal(padding.sum(-1), [[4], [1], [0]], "padding_mask: a full sequence hides nothing, an empty one everything: look at `<` and `<=`")
check.true(padding.dtype == torch.bool, "masks are boolean tensors")
### END HIDDEN TESTS
check.score()

# %%
seed(1)
T = 6
example = torch.randn(T, T)
everything = torch.ones(T, T, dtype=torch.bool)
both = causal_mask(T) & padding_mask(torch.tensor([4]), T)[0]
figure, axes = plt.subplots(2, 2, figsize=(10, 8))
for ax, (name, mask) in zip(axes.flat, [("no mask", everything), ("position 2 hidden", hide_position(T, 2)), ("causal", causal_mask(T)), ("causal, and the last two are padding", both)]):
    plots.heatmap(masked_softmax(example, mask), title=name, ax=ax)
figure.tight_layout()
plt.show()

# %% [markdown]
# ### 5.3 Attention, whole <small>★★☆ · 10 min · 4 points</small>
# Put it together: scaled scores, an optional mask, a mixture of values, for any number of batch axes in front.

# %% nbgrader={"grade": false, "grade_id": "attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention(q, k, v, mask=None):
    """Scaled dot-product attention: q (..., n, d), k (..., m, d), v (..., m, e), mask broadcastable to (..., n, m). Returns (..., n, e)."""
    ### BEGIN SOLUTION
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (..., n, m)
    w = scores.softmax(dim=-1) if mask is None else masked_softmax(scores, mask)
    return w @ v
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "attention-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check = Check("attention", points=4)
q, k, v = randn(2, 3, 5, 8), randn(2, 3, 4, 8), randn(2, 3, 4, 6)
out = check.run(attention, q, k, v, shape=(2, 3, 5, 6))
check.close(check.run(attention, q, k, torch.ones(2, 3, 4, 6)), torch.ones(2, 3, 5, 6), "if all values are one, so is the output: do the weights of every query sum to one?")
only = torch.tensor([False, False, True, False])
picked = check.run(attention, q, k, v, only, shape=(2, 3, 5, 6))
check.close(picked, v[:, :, 2:3].expand(2, 3, 5, 6), "if only key 2 may be seen, the output is its value: is the mask used, with True for may look?")
causal_rule = torch.ones(6, 6, dtype=torch.bool).tril()
check.causal(lambda x: attention(x, x, x, causal_rule), randn(6, 8), "with a causal mask a later position still changes an earlier output: is the mask applied before the softmax?")
### BEGIN HIDDEN TESTS
check.close(out, F.scaled_dot_product_attention(q, k, v), "without a mask the output differs from scaled dot-product attention: are the scores divided by the root of the width?", wrong={
    "the scores are not scaled by the root of the width": (q @ k.mT).softmax(-1) @ v,
    "you divide by the root of the number of keys": (q @ k.mT / 4**0.5).softmax(-1) @ v,
    "you divide by the width, not its root": (q @ k.mT / 8).softmax(-1) @ v,
    "you divide by the root of the values' width; the keys' width counts": (q @ k.mT / 6**0.5).softmax(-1) @ v,
})
rule = rand(2, 1, 5, 4) > 0.5
rule[..., 0] = True
check.close(check.run(attention, q, k, v, rule), F.scaled_dot_product_attention(q, k, v, attn_mask=rule), "with a random mask the output differs")
rule[0, 0, 3] = False
dark = check.run(attention, q, k, v, rule, shape=(2, 3, 5, 6))
check.close(dark[0, :, 3], torch.zeros(3, 6), "a query that may see nothing returns zeros, not NaN")
check.finite(dark, "a query that may see nothing must not spoil the rest with NaN")
order = randperm(4)
check.invariant(attention, (q, k, v), (q, k[:, :, order], v[:, :, order]), "shuffling keys together with their values must not change anything")
plain_case = check.run(attention, randn(1, 2), randn(1, 2), torch.tensor([[7.0, -7.0, 1.0]]), shape=(1, 3))
check.close(plain_case, [[7.0, -7.0, 1.0]], "one query, one key, no batch axis: the output is the only value")
check.unchanged(attention, q, k, v)
check.gradients(attention, lambda a, b, c: (a @ b.mT / 8**0.5).softmax(-1) @ c, (q, k, v), "the gradients through your attention are wrong, or do not flow")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 6 What does it cost?
#
# ### 6.1 Self-attention <small>★☆☆ · 10 min · 2 points</small>
# In *self*-attention queries, keys and values are three linear views of the same sequence $x \in \mathbb{R}^{n \times h}$: $Q = x W_q$, $K = x W_k$, $V = x W_v$
# with $W_q, W_k, W_v \in \mathbb{R}^{h \times h}$.

# %% nbgrader={"grade": false, "grade_id": "self-attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def self_attention(x, Wq, Wk, Wv):
    """Unmasked self-attention of x (n, h) with projections Wq, Wk, Wv (h, h), applied from the right. Returns (n, h)."""
    ### BEGIN SOLUTION
    return attention(x @ Wq, x @ Wk, x @ Wv)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "self-attention-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check = Check("self-attention", points=2)
x, a, b, c = randn(6, 5), randn(5, 5), randn(5, 5), randn(5, 5)
out = check.run(self_attention, x, a, b, c, shape=(6, 5))
check.close(check.run(self_attention, x, a, b, torch.zeros(5, 5)), torch.zeros(6, 5), "with W_v = 0 all values are zero: are the values projected, too?")
blind = check.run(self_attention, x, torch.zeros(5, 5), b, torch.eye(5), shape=(6, 5))
check.close(blind, x.mean(0).expand(6, 5), "with W_q = 0 all scores are equal: every output is the mean of the values")
### BEGIN HIDDEN TESTS
check.close(out, (x @ a @ (x @ b).T / 5**0.5).softmax(1) @ x @ c, "the output is not softmax(QKᵀ/√h) V with Q = x W_q, K = x W_k, V = x W_v", wrong={
    "the projections are transposed: x is multiplied by W from the right, without a transpose": (x @ a.T @ (x @ b.T).T / 5**0.5).softmax(1) @ x @ c.T,
    "the roles of W_q and W_k are exchanged": (x @ b @ (x @ a).T / 5**0.5).softmax(1) @ x @ c,
    "the values are not projected": (x @ a @ (x @ b).T / 5**0.5).softmax(1) @ x,
    "the scores are not scaled": (x @ a @ (x @ b).T).softmax(1) @ x @ c,
})
check.equivariant(lambda y: self_attention(y, a, b, c), x, "without positions, shuffling the sequence must shuffle the output in the same way")
check.shape(check.run(self_attention, randn(1, 5), a, b, c), (1, 5), "a sequence of length one must work")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 6.2 Count before you run <small>★★☆ · 15 min · 3 points</small>
# A product of an $a \times b$ with a $b \times c$ matrix takes $abc$ multiplications and as many additions: $2abc$ operations. Derive the number of operations
# in the five matrix products of self-attention (three projections, the scores, the weighted sum), and write it as a function of $n$ and $h$. Softmax and scaling are left out.
#
# *Before you run it:* for which $n$, as a multiple of $h$, are the projections as expensive as the other two products? Write that as a function, too.

# %% nbgrader={"grade": false, "grade_id": "cost", "locked": false, "schema_version": 3, "solution": true, "task": false}
def matmul_operations(n, h):
    """Operations (multiplications and additions) in the matrix products of self-attention on n positions of width h."""
    ### BEGIN SOLUTION
    return 6 * n * h**2 + 4 * n**2 * h
    ### END SOLUTION


def crossover(h):
    """The sequence length at which the three projections cost as much as scores and weighted sum together."""
    ### BEGIN SOLUTION
    return 1.5 * h
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "cost-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("cost", points=3)
check.close(check.run(matmul_operations, 1, 1), 10, "n = h = 1: five products of one multiplication and one addition each")
check.close(check.run(crossover, 2), 3.0, "crossover: set the cost of the three projections equal to that of the other two products, and solve for n")

check.close(check.run(matmul_operations, 3, 8), 1440, "a short sequence of wide vectors: the projections are n × h times h × h, and there are three of them")
check.close(check.run(matmul_operations, 40, 2), 13760, "a long sequence of narrow vectors: scores are n × h times h × n, the weighted sum n × n times n × h")
### BEGIN HIDDEN TESTS
check.close(check.run(matmul_operations, 7, 11), 7238, "the count is wrong for n = 7, h = 11", wrong={
    "multiplications and additions both count: a factor of two is missing": 3619,
    "only one of the three projections is counted": 3850,
    "the output projection is not part of this function": 8932,
    "the weighted sum of the values is missing": 6160,
})
check.close(check.run(crossover, 64), 96.0, "the crossover is proportional to h: 6 n h² = 4 n² h")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# Now count for real: `checks.flops` watches every operation that torch carries out, softmax and scaling included. Counting has no noise and gives the same number on every machine; a clock does not.

# %%
h = 64
lengths_tried = pick(smoke=[8, 32, 128], laptop=[8, 16, 32, 64, 128, 256, 512, 1024], gpu=[8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096])
square = torch.eye(h)
counted_operations = [checks.flops(self_attention, torch.randn(n, h), square, square, square) for n in lengths_tried]
plots.curves(
    {
        "counted": (lengths_tried, counted_operations),
        "your formula": (lengths_tried, [matmul_operations(n, h) for n in lengths_tried]),
        "projections 6nh²": (lengths_tried, [6 * n * h * h for n in lengths_tried]),
        "scores and sum 4n²h": (lengths_tried, [4 * n * n * h for n in lengths_tried]),
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
# A recurrent network needs $O(nh^2)$ operations, fewer than attention on long sequences. Yet on a GPU attention trains much faster. Explain with the number of operations
# that must follow *one after the other*, and with the shape of the work. When does the quadratic term win in the end? About 80 words.

# %% [markdown] nbgrader={"grade": true, "grade_id": "written-gpu", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
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
# In translation the decoder looks into the *source* sentence: queries come from one sequence $x \in \mathbb{R}^{n \times h}$, keys and values from another, $y \in \mathbb{R}^{m \times g}$,
# of another length and perhaps another width.

# %% nbgrader={"grade": false, "grade_id": "cross-attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def cross_attention(x, y, Wq, Wk, Wv):
    """x (n, h) looks into y (m, g): Wq (h, d), Wk (g, d), Wv (g, e). Returns (n, e)."""
    ### BEGIN SOLUTION
    return attention(x @ Wq, y @ Wk, y @ Wv)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "cross-attention-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check = Check("cross-attention", points=2)
x, y = randn(5, 3), randn(4, 6)
a, b, c = randn(3, 7), randn(6, 7), randn(6, 2)
out = check.run(cross_attention, x, y, a, b, c, shape=(5, 2), hint="one output per position of x, as wide as the values: which sequence gives the queries?")
order = randperm(4)
check.invariant(cross_attention, (x, y, a, b, c), (x, y[order], a, b, c), "the order of y carries no information: shuffling it must not change the output. Do keys and values both come from y?")
check.equivariant(lambda z: cross_attention(z, y, a, b, c), x, "each position of x asks for itself: shuffling x must shuffle the output")
### BEGIN HIDDEN TESTS
check.close(out, (x @ a @ (y @ b).T / 7**0.5).softmax(1) @ y @ c, "the output is not attention(x W_q, y W_k, y W_v)", wrong={
    "the scores must be scaled by the root of the projected width d": (x @ a @ (y @ b).T).softmax(1) @ y @ c,
    "scale by the root of the projected width d, not of x's own": (x @ a @ (y @ b).T / 3**0.5).softmax(1) @ y @ c,
})
w = randn(4, 4)
z = randn(3, 4)
check.close(check.run(cross_attention, z, z, w, w, w), (z @ w @ (z @ w).T / 2).softmax(1) @ z @ w, "with y = x it must be self-attention")
one = check.run(cross_attention, x, y[:1], a, b, c, shape=(5, 2))
check.close(one, (y[:1] @ c).expand(5, 2), "a source of one position: everybody gets its value")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 7.2 Additive scores <small>★★☆ · 15 min · 3 points</small>
# Before the dot product there was a small network. Bahdanau, Cho and Bengio (2015) scored a pair by
#
# $$ s_{ij} = u \cdot \tanh(W_q^\top q_i + W_k^\top k_j) . $$
#
# Each of the $n \cdot m$ pairs needs its own tanh of a vector of width $a$. Write it without a loop if you can: make an $n \times m \times a$ tensor by broadcasting.
#
# *Before you run it:* how much memory does that tensor take for $n = m = 1024$, $a = 512$, against the dot product's $n \times m$?

# %% nbgrader={"grade": false, "grade_id": "additive", "locked": false, "schema_version": 3, "solution": true, "task": false}
def additive_scores(q, k, Wq, Wk, u):
    """Additive scores (n, m) of queries q (n, d) and keys k (m, c), with Wq (d, a), Wk (c, a) and u (a,)."""
    ### BEGIN SOLUTION
    hidden = torch.tanh((q @ Wq)[:, None, :] + (k @ Wk)[None, :, :])  # (n, m, a)
    return hidden @ u
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "additive-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("additive", points=3)
q, k, a, b, u = randn(5, 3), randn(4, 6), randn(3, 7), randn(6, 7), randn(7)
scores = check.run(additive_scores, q, k, a, b, u, shape=(5, 4), hint="one score per pair of a query (row) and a key (column)")
check.true(scores.abs() <= u.abs().sum() + 1e-4, "tanh lies between −1 and 1, so |s| is at most Σ|u|: is tanh applied before the product with u?")
zero = check.run(additive_scores, 0 * q, 0 * k, a, b, u, shape=(5, 4))
check.close(zero, torch.zeros(5, 4), "zero query and zero key: tanh(0) = 0, so the score is 0")
### BEGIN HIDDEN TESTS
one_by_one = torch.stack([torch.stack([(torch.tanh(q[i] @ a + k[j] @ b) * u).sum() for j in range(4)]) for i in range(5)])
check.close(scores, one_by_one, "a score is not u · tanh(W_q q_i + W_k k_j)", wrong={
    "tanh is missing": torch.stack([torch.stack([((q[i] @ a + k[j] @ b) * u).sum() for j in range(4)]) for i in range(5)]),
    "tanh is taken of each part; it must be taken of their sum": (torch.tanh(q @ a) @ u)[:, None] + (torch.tanh(k @ b) @ u)[None, :],
    "tanh is taken of the finished score; it belongs inside, before the product with u": torch.tanh((q @ a @ u)[:, None] + (k @ b @ u)[None, :]),
    "the two parts are multiplied; they must be added": torch.tanh((q @ a)[:, None] * (k @ b)[None]) @ u,
})
level = check.run(additive_scores, randn(3, 3), randn(3, 3), torch.eye(3), torch.zeros(3, 3), torch.ones(3), shape=(3, 3))
check.close(level[:, :1].expand(3, 3), level, "if the keys do not matter, all scores in a row are equal: rows are queries, columns are keys")
check.gradients(additive_scores, lambda *z: torch.tanh((z[0] @ z[2])[:, None] + (z[1] @ z[3])[None]) @ z[4], (q, k, a, b, u), "the gradients through your scores are wrong, or do not flow")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 7.3 Many heads by reshaping <small>★★★ · 25 min · 6 points</small>
# One head gives one distribution per position. To look at several things at once, cut the width $D$ into $H$ heads of width $D / H$, let each attend for itself,
# and put the results side by side again. Nothing is learned in the cut: it is a reshape and a transpose.
#
# 1. `split_heads`: `(B, T, D)` to `(B, H, T, D/H)`. Head 0 gets the *first* $D/H$ columns. (`view` alone to the final shape mixes positions and heads.)
# 2. `merge_heads`: the way back.
# 3. `multi_head`: project, split, attend, merge, project with $W_o$.

# %% nbgrader={"grade": false, "grade_id": "multi-head", "locked": false, "schema_version": 3, "solution": true, "task": false}
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
    """Multi-head self-attention of x (B, T, D) with weights (D, D), applied from the right. Returns (B, T, D)."""
    ### BEGIN SOLUTION
    q, k, v = (split_heads(x @ W, H) for W in (Wq, Wk, Wv))
    return merge_heads(attention(q, k, v, mask)) @ Wo
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "multi-head-test", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check = Check("multi-head", points=6)
x = torch.arange(2 * 3 * 8.0).view(2, 3, 8)
heads = check.run(split_heads, x, 4, shape=(2, 4, 3, 2))
check.close(heads[1, 2, 0], x[1, 0, 4:6], "head 2 of position 0 holds columns 4 and 5 of that position: split the last axis first, then move the head axis forward")
check.close(check.run(lambda: merge_heads(split_heads(x, 4))), x, "merging what was split must give the original back: undo the transpose before you join the axes")
x, a, b, c, o = randn(2, 5, 6), randn(6, 6), randn(6, 6), randn(6, 6), randn(6, 6)
out = check.run(multi_head, x, a, b, c, o, 3, shape=(2, 5, 6))
check.close(check.run(multi_head, x, a, b, c, torch.zeros(6, 6), 3), torch.zeros(2, 5, 6), "with W_o = 0 the output is zero: is the output projected?")
lower = torch.ones(5, 5, dtype=torch.bool).tril()
check.causal(lambda z: multi_head(z[None], a, b, c, o, 3, lower)[0], x[0], "with a causal mask a later position still changes an earlier output: is the mask handed on?")
### BEGIN HIDDEN TESTS
check.close(heads, torch.stack([x_.view(3, 4, 2).transpose(0, 1) for x_ in torch.arange(48.0).view(2, 3, 8)]), "split_heads mixes positions and heads", wrong={
    "`view` straight to (B, H, T, D/H) cuts the sequence, not the width: view to (B, T, H, D/H), then transpose": torch.arange(48.0).view(2, 4, 3, 2),
    "head h takes every H-th column; it should take D/H columns in a row": torch.arange(48.0).view(2, 3, 2, 4).permute(0, 3, 1, 2),
})
parts = []
for start in (0, 2, 4):
    cut = slice(start, start + 2)
    parts.append((x @ a[:, cut] @ (x @ b[:, cut]).mT / 2**0.5).softmax(-1) @ (x @ c[:, cut]))
check.close(out, torch.cat(parts, -1) @ o, "the output differs from three single heads side by side", wrong={
    "the scores are scaled by the root of the whole width D; each head has width D/H": torch.cat([(x @ a[:, s : s + 2] @ (x @ b[:, s : s + 2]).mT / 6**0.5).softmax(-1) @ (x @ c[:, s : s + 2]) for s in (0, 2, 4)], -1) @ o,
    "the output projection W_o is missing": torch.cat(parts, -1),
    "this is one head over the whole width: is the split used?": (x @ a @ (x @ b).mT / 6**0.5).softmax(-1) @ (x @ c) @ o,
})
solo = check.run(multi_head, x, a, b, c, o, 1, shape=(2, 5, 6))
check.close(solo, (x @ a @ (x @ b).mT / 6**0.5).softmax(-1) @ (x @ c) @ o, "with one head it is plain self-attention")
check.shape(check.run(multi_head, randn(1, 1, 6), a, b, c, o, 6), (1, 1, 6), "a batch of one, a sequence of one, heads of width one: this must work")
### END HIDDEN TESTS
check.score()

# %%
seed(4)
T, D, H = 8, 16, 4
sequence = torch.randn(1, T, D)
projections = [torch.randn(D, D) / D**0.5 for _ in range(2)]
queries_by_head, keys_by_head = (split_heads(sequence @ W, H) for W in projections)
figure, axes = plt.subplots(1, H, figsize=(16, 3.6))
for head, ax in enumerate(axes):
    plots.heatmap(masked_softmax(queries_by_head[0, head] @ keys_by_head[0, head].mT / (D / H) ** 0.5, causal_mask(T)), title=f"head {head}", ax=ax)
figure.tight_layout()
plt.show()

# %% [markdown]
# Even with random weights the heads look at different things: each sees another part of the width.
#
# ## 8 Bonus: attention that never builds the matrix <small>★★★ · 40 min · 4 bonus points</small>
# The $n \times m$ weights are what fills the memory. They are not needed all at once: the softmax of a row can be built up block by block (Milakov and Gimelshein, 2018), which is the
# idea behind FlashAttention (Dao et al., 2022). For each query keep three things: the largest score $\mu$ seen so far, the sum $Z = \sum_j e^{s_j - \mu}$, and the unfinished
# output $o = \sum_j e^{s_j - \mu} v_j$. When a new block brings a larger maximum $\mu'$, multiply $Z$ and $o$ by $e^{\mu - \mu'}$ and go on. At the end the answer is $o / Z$.
#
# No tensor you create may have more than $n \cdot \max(b, d, e)$ elements, where $b$ is the block size. Assume $m, d, e \ge b$ or smaller; the last block may be short.

# %% nbgrader={"grade": false, "grade_id": "bonus-blockwise", "locked": false, "schema_version": 3, "solution": true, "task": false}
def blockwise_attention(q, k, v, block):
    """attention(q, k, v) for q (n, d), k (m, d), v (m, e), visiting the keys `block` at a time."""
    ### BEGIN SOLUTION
    n, d = q.shape
    top = q.new_full((n, 1), -torch.inf)
    total, out = q.new_zeros(n, 1), q.new_zeros(n, v.shape[1])
    for keys, values in zip(k.split(block), v.split(block)):
        scores = q @ keys.T / d**0.5  # (n, block)
        new_top = torch.maximum(top, scores.amax(dim=1, keepdim=True))
        old, part = (top - new_top).exp(), (scores - new_top).exp()
        total = total * old + part.sum(dim=1, keepdim=True)
        out = out * old + part @ values
        top = new_top
    return out / total
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "bonus-blockwise-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check = Check("bonus-blockwise", points=4)
q, k, v = randn(5, 6), randn(9, 6), randn(9, 3)
for size in (1, 4, 9, 100):
    out = check.run(blockwise_attention, q, k, v, size, shape=(5, 3))
    check.close(out, (q @ k.T / 6**0.5).softmax(1) @ v, f"with blocks of {size} the result differs from attention in one go: are Z and the output rescaled when the maximum changes?")
check.largest(blockwise_attention, randn(32, 8), randn(64, 8), randn(64, 8), 4, elements=32 * 8, hint="a tensor larger than n · max(b, d, e) was made: look at one block of keys at a time")
### BEGIN HIDDEN TESTS
rising = torch.linspace(-40, 40, 12)[:, None] * torch.ones(12, 4)
out = check.run(blockwise_attention, 5 * torch.ones(3, 4), rising, randn(12, 2), 3, shape=(3, 2))
check.finite(out, "scores that keep rising overflow: subtract the running maximum before every exp")
falling = check.run(blockwise_attention, 5 * torch.ones(3, 4), rising.flip(0), torch.arange(24.0).view(12, 2), 5, shape=(3, 2))
check.close(falling, [[0.0, 1.0]] * 3, "the first key has by far the largest score, so its value must win, whichever block it is in")
check.largest(blockwise_attention, randn(128, 16), randn(512, 16), randn(512, 16), 16, elements=128 * 16, hint="for longer inputs a tensor larger than n · max(b, d, e) was made")
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
