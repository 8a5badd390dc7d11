# %% [markdown]
# # 04 · Linear attention: low rank
#
# | | |
# | --- | --- |
# | **You will be able to** | measure the rank that an attention head really uses · attend through a truncated SVD and say exactly what that loses · factor softmax-free attention as $Q(CK)^\top DV$ without ever forming an $n \times n$ matrix, and prove it · replace softmax by a feature map and run attention as a recurrent network · predict which jobs a low-rank head cannot do, and from which length on each method pays off |
# | **You need** | assignment 03, the singular value decomposition (SVD), the QR decomposition |
# | **Time** | about four hours; each heading says how long its exercise takes |
# | **Points** | 57, and 4 bonus |
#
# Attention compares every position with every other: $n^2$ numbers for $n$ positions.
# At $n = 16{,}384$ that is 268 million weights, one gigabyte, for *one* head.
# Are they all needed?
# A matrix of rank $k$ with $n$ rows and columns is described by about $2nk$ numbers.
# This notebook measures the rank of attention, uses it, removes the softmax to get it for free, and finds out what that costs.
#
# **Notation.**
# $n$ queries and $m$ keys of width $h$ are the rows of $Q \in \mathbb{R}^{n \times h}$ and $K \in \mathbb{R}^{m \times h}$; the values are the rows of $V \in \mathbb{R}^{m \times e}$.
# In self-attention $m = n$.
# The matrix of attention weights is $P \in \mathbb{R}^{n \times m}$, the output is $PV$, and $k$ is a rank.
# $\|A\|_F = \sqrt{\sum_{ij} A_{ij}^2}$ is the Frobenius norm.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, then run the test below it.
# Grading runs further checks of the same ideas.
# *Before you run it* marks a prediction: write it down first, on paper.
#
# **In every exercise:** leave the inputs as they are.
# Where something is trained, gradients must flow back to every input: in 4.1 (also to $C$ and $D$), 5.1, 5.2 and 5.5.
#
# **Costs are counted, not timed.**
# The tests count the arithmetic operations of every torch call, and note the largest tensor it creates.
# Use torch throughout (no NumPy): the counter sees nothing else.

# %% locked="setup"
import math

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from helpers import checks
from helpers.checks import Check, rand, randint, randn
from helpers.kit import plots
from helpers.kit.scale import pick
from helpers.kit.seeding import seed
from helpers.linear_attention import low_rank

# %% [markdown]
# This is the counter at work.
# A product of a $3 \times 4$ with a $4 \times 5$ matrix takes $2 \cdot 3 \cdot 4 \cdot 5 = 120$ operations (a multiplication and an addition each), and creates a tensor of 15 elements.
# Views and transposes are free.

# %% look=true
print(checks.cost(torch.matmul, torch.ones(3, 4), torch.ones(4, 5)))
print(checks.cost(lambda x: x.mT.softmax(dim=-1), torch.ones(3, 4)))

# %% [markdown]
# ## 1 The spectrum of attention
#
# Every matrix has an SVD $P = U \Sigma W^\top$.
# $U$ and $W$ have orthonormal columns, the *left* and *right singular vectors*; $\Sigma$ is diagonal with the *singular values* $\sigma_1 \ge \sigma_2 \ge \dots \ge 0$.
# The rank is the number of singular values that are not zero.
# In measured matrices hardly any is exactly zero, so ask instead how many carry most of the matrix.
# A natural measure is $\|P\|_F^2 = \sum_i \sigma_i^2$.
#
# ### 1.1 How many singular values matter? <small>★☆☆ · 10 min · 3 points</small>
# Return the smallest $k$ for which the first $k$ singular values hold at least the given share of the sum of squares:
#
# $$ \sigma_1^2 + \dots + \sigma_k^2 \;\ge\; \text{share} \cdot \sum_i \sigma_i^2 . $$


# %% exercise="rank-holding"
def rank_holding(S, share):
    """Smallest k (an int) for which the first k singular values S (r,), largest first, hold `share` of all squares."""
    ### BEGIN SOLUTION
    held = S.square().cumsum(0) / S.square().sum()
    return int((held < share).sum()) + 1
    ### END SOLUTION


# %% test="rank-holding" points=3
check = Check("rank-holding", points=3)
with check.idea("squares up to the share"):
    nine = "one value holds 9 of 9 + 1 + 1 + 1 = 12, enough for 0.7: are the values squared, and is k a count, not an index?"
    check.equal(check.run(rank_holding, torch.tensor([3.0, 1.0, 1.0, 1.0]), 0.7), 1, nine)
    check.equal(check.run(rank_holding, torch.ones(4), 0.6), 3, "of four equal values two hold only 0.5: for 0.6 it takes three")
    ### BEGIN HIDDEN TESTS
    for share_given in (0.9, 0.5, 0.2 + 0.7 * float(rand(1))):
        falling = (3 * rand(400)).sort(descending=True).values + 0.1  # so many that counts of two mistakes differ
        held_so_far = falling.square().cumsum(0)
        smallest_k = int((held_so_far < share_given * held_so_far[-1]).sum()) + 1
        check.equal(
            check.run(rank_holding, falling, share_given),
            smallest_k,
            "for falling singular values the count is wrong: add up squares from the largest on until the share is reached",
        )
    steep = "four values of which the first holds most: one is enough for 0.6"
    check.equal(check.run(rank_holding, torch.tensor([5.0, 1.0, 1.0, 1.0]), 0.6), 1, steep)
    ### END HIDDEN TESTS
with check.edge("exactly the share"):
    half = 'of four equal values two hold exactly one half, and "at least" one half was asked for: look at < and <='
    check.equal(check.run(rank_holding, torch.ones(4), 0.5), 2, half)
with check.edge("input unchanged"):
    check.unchanged(rank_holding, torch.tensor([3.0, 2.0, 1.0]), 0.7)
### BEGIN HIDDEN TESTS
with check.edge("a single value"):
    check.equal(check.run(rank_holding, torch.tensor([5.0]), 0.99), 1, "a single singular value holds everything: k = 1")
with check.edge("all of the squares"):
    zeros = "share 1 with two zeros at the end: k is the number of non-zero singular values"
    check.equal(check.run(rank_holding, torch.tensor([3.0, 2.0, 0.0, 0.0]), 1.0), 2, zeros)
    check.equal(check.run(rank_holding, torch.ones(4), 0.9), 4, "of four equal values three hold only 0.75: for 0.9 it takes all four")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: three heads, trained in seconds
# Now you need trained heads to measure.
# Each position of a sequence of $n = 64$ carries a random content vector, belongs to one of 6 groups at random, and knows its place.
# One softmax head ($h = 24$) is trained on each of three jobs:
#
# - **group mean**: return the mean content of all positions of my group.
#   Who belongs together changes with every sequence.
# - **block mean**: the sequence is cut into 8 blocks of 8 neighbours; return the mean content of my block.
#   The blocks are always the same.
# - **neighbour**: return the content of the position on my left (for the first position, of the last).
#
# In the words of assignment 03, the first two average and the third selects.
#
# *Before you run it:* what would the perfect $P$ look like for each job, and what is its rank?
# What is the rank of $P$ for a head that has not learned anything yet?

# %% look=true
names = {"group_mean": "group mean", "block_mean": "block mean", "neighbour": "neighbour"}
trained, measured_heads, spectra = {}, {}, {}
seed(0)
for task, name in names.items():
    trained[task], history = low_rank.train(task, steps=pick(smoke=30, laptop=400, gpu=400))
    queries, keys, values = (x[0] for x in low_rank.triples(trained[task], B=1))
    weights = low_rank.softmax_weights(queries, keys)
    measured_heads[name] = (weights, values)
    spectra[name] = torch.linalg.svdvals(weights)
    scores_rank, weights_rank = (torch.linalg.matrix_rank(matrix).item() for matrix in (queries @ keys.T, weights))
    held = rank_holding(spectra[name], 0.99)
    ranks_found = f"rank of QKᵀ {scores_rank}, of P {weights_rank}; 99 % of the squares in {held}"
    print(f"{name:>10}: error {history[0]:.3f} → {history[-1]:.5f}; {ranks_found}")
fresh = low_rank.softmax_weights(*low_rank.triples(low_rank.Head(), B=1)[:2])[0]
spectra["untrained"] = torch.linalg.svdvals(fresh)
print(f" untrained: 99 % of the squares in {rank_holding(spectra['untrained'], 0.99)}")

plots.use_course_style()
figure, axes = plt.subplots(1, 4, figsize=(16, 3.8), width_ratios=[1, 1, 1, 1.4])
for ax, (name, (weights, _)) in zip(axes, measured_heads.items()):
    ax.imshow(plots.array(weights), cmap="cividis", vmin=0, interpolation="nearest")
    ax.set(title=name, xlabel="key", ylabel="query")
    ax.grid(False)
plots.curves(
    {name: (range(1, 65), S) for name, S in spectra.items()},
    "number i",
    "singular value",
    "Averaging is low rank, selecting is not",
    ax=axes[3],
)
figure.tight_layout()
plt.show()

# %% [markdown]
# $QK^\top$ has rank at most $h = 24$: it is a product with an inner dimension of 24. Softmax acts on each entry by itself and destroys that: judged by `matrix_rank`, $P$ has a rank close to 64. But how many singular values *matter* depends on the job.
# A mean over groups makes all rows of a group alike, so 6 different rows are left and 6 singular values near one.
# Blocks give 8. Copying the neighbour is a permutation matrix: all 64 singular values are one, and no approximation of smaller rank is any good.
# The untrained head averages over everything, which is rank one and a little noise: a low rank alone says nothing good about a head.
#
# For a large trained encoder, Wang et al. (2020, *Linformer*) report spectra with most of their weight in the first few singular values, more so in higher layers.
#
# ## 2 Attention through an SVD
#
# ### 2.1 The order of brackets <small>★☆☆ · 10 min · 4 points</small>
# Suppose somebody hands you the SVD of a $P$ of rank $k$: $U_k \in \mathbb{R}^{n \times k}$, the singular values $(\sigma_1, \dots, \sigma_k)$ and $W_k^\top \in \mathbb{R}^{k \times m}$, called `Wt`.
# Then $PV = U_k \Sigma_k W_k^\top V$.
# Matrix products may be bracketed as you like; the result is the same, the cost is not.
# Choose the brackets that need $O((n + m)\,k\,e)$ operations and no $n \times m$ matrix.
#
# *Before you run it:* how many operations do the worst brackets need?


# %% exercise="svd-attention"
def svd_attention(U, S, Wt, V):
    """P V for P = U diag(S) Wt, given U (n, k), S (k,), Wt (k, m) and values V (m, e). Returns (n, e)."""
    ### BEGIN SOLUTION
    return U @ (S[:, None] * (Wt @ V))
    ### END SOLUTION


# %% test="svd-attention" points=4
check = Check("svd-attention", points=4)
u_two, s_two = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), torch.tensor([2.0, 3.0])
wt_two, v = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0]]), torch.tensor([[1.0], [2.0], [3.0], [4.0]])
with check.idea("U Σ Wᵀ V"):
    out = check.run(svd_attention, u_two, s_two, wt_two, v, shape=(3, 1))
    check.close(out, [[2.0], [15.0], [17.0]], "Wᵀ V = (1, 5), times the singular values 2 and 3 is (2, 15), and U adds these up")
    ### BEGIN HIDDEN TESTS
    for rows, inner, columns, out_width in ((9, 4, 7, 5), (6, 2, 8, 3), (5, 5, 5, 5), (10, 3, 4, 1)):
        a, c, d = randn(rows, inner), randn(inner, columns), randn(columns, out_width)
        b = (rand(inner) + 0.3).sort(descending=True).values  # as singular values come: the largest is the first
        check.close(check.run(svd_attention, a, b, c, d), (a * b) @ c @ d, "the result is not U diag(S) Wt V")
    ### END HIDDEN TESTS
with check.part("no n × n matrix"):
    sized = lambda n: (randn(n, 4), rand(4), randn(4, n), randn(n, 3))  # noqa: E731
    cost = check.measure(checks.cost, svd_attention, *sized(512))
    check.counted(cost.flops >= 2 * 512 * 4 * 3, low_rank.UNCOUNTED)
    check.growth(svd_attention, sized, (256, 512), 1, "twice as many positions must cost twice as much: bracket from the right")
    check.counted(cost.largest <= 16 * 512, "an n × n tensor was created: at n = 16,384 it takes a gigabyte. Multiply Wt with V first")
    ### BEGIN HIDDEN TESTS
    check.affordable(
        function=svd_attention,
        make_args=lambda n: (randn(n, 128), rand(128), randn(128, n), randn(n, 32)),  # a result that fits into a cache at both sizes
        size=6144,
        megabytes=64,
        wasteful=144,  # an n × n matrix
        right=lambda out, U, S, Wt, V: checks.near(out, U @ (S[:, None] * (Wt @ V))),
        hint="for n = 6,144 the work or the memory is that of an n × n matrix, although the counter did not see it: bracket from the right",
    )
    check.flops(
        svd_attention, *sized(512), at_most=3 * (2 * 2 * 512 * 4 * 3), hint="more operations than two products need: bracket from the right"
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(svd_attention, u_two, s_two, wt_two, v)
### BEGIN HIDDEN TESTS
with check.edge("rank one, one position"):
    one = check.run(svd_attention, torch.ones(1, 1), torch.tensor([2.0]), torch.ones(1, 1), torch.tensor([[3.0, 4.0]]), shape=(1, 2))
    check.close(one, [[6.0, 8.0]], "rank one, one query, one key: 1 · 2 · 1 · v")
with check.edge("all digits of float64"):
    u, s, wt = torch.linalg.svd(randn(6, 6, dtype=torch.float64))
    check.close(check.run(svd_attention, u, s, wt, u), (u * s) @ wt @ u, "with float64 input digits are lost: do you convert to float32?")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 What does truncation lose? <small>★★☆ · 15 min · 3 points</small>
# Keep the first $k$ of all singular values: $P_k = U_k \Sigma_k W_k^\top$.
# What is lost is $P - P_k = \sum_{i > k} \sigma_i\, u_i w_i^\top$, itself an SVD.
# Derive the size of the loss in two norms, as functions of the singular values:
#
# - the *spectral* norm $\|P - P_k\|_2$, the largest factor by which a vector can be stretched, which is the largest singular value;
# - the *Frobenius* norm $\|P - P_k\|_F$.
#
# No matrix of rank $k$ comes closer to $P$ in either norm (Eckart and Young, 1936; Mirsky, 1960).
# Mind the ends: $k = 0$ keeps nothing, $k = r$ everything.


# %% exercise="truncation-errors"
def truncation_errors(S, k):
    """(spectral, Frobenius) norm of P − P_k, from all singular values S (r,) of P, largest first, for 0 ≤ k ≤ r."""
    ### BEGIN SOLUTION
    lost = S[k:]
    spectral = lost[0] if len(lost) else S.new_zeros(())
    return spectral, lost.square().sum().sqrt()
    ### END SOLUTION


# %% test="truncation-errors" points=3
check = Check("truncation-errors", points=3)
known = torch.tensor([6.0, 5.0, 4.0, 3.0])
one_of = lambda which: lambda S, k: truncation_errors(S, k)[which]  # noqa: E731
with check.idea("what is lost, in two norms"):
    spectral = "spectral norm (the first result): 6 and 5 are kept; which is the largest singular value of what is lost?"
    check.close(check.run(one_of(0), known, 2), 4.0, spectral)
    check.close(check.run(one_of(1), known, 2), 5.0, "Frobenius norm (the second result): √(4² + 3²) of what is lost")
    ### BEGIN HIDDEN TESTS
    for rows, columns, kept in ((9, 7, 3), (4, 9, 1), (6, 6, 4), (4, 9, 2)):
        matrix = randn(rows, columns, dtype=torch.float64)
        u, s, wt = torch.linalg.svd(matrix, full_matrices=False)
        rest = matrix - (u[:, :kept] * s[:kept]) @ wt[:kept]
        check.close(
            check.run(one_of(0), s, kept),
            torch.linalg.matrix_norm(rest, 2),
            "spectral norm: it is not that of P − P_k for a random matrix",
            rtol=1e-5,
        )
        check.close(
            check.run(one_of(1), s, kept),
            rest.norm(),
            "Frobenius norm: it is not that of P − P_k for a random matrix",
            rtol=1e-5,
        )
    ### END HIDDEN TESTS
with check.edge("input unchanged"):
    check.unchanged(truncation_errors, known, 2)
### BEGIN HIDDEN TESTS
with check.edge("nothing kept"):
    check.close(check.run(one_of(0), known, 0), 6.0, "spectral norm, k = 0: everything is lost, so it is the largest singular value")
    check.close(check.run(one_of(1), known, 0), 86.0**0.5, "Frobenius norm, k = 0: everything is lost", rtol=1e-5)
with check.edge("everything kept"):
    check.close(
        check.run(one_of(0), known, 4), 0.0, "spectral norm: with everything kept nothing is lost: the error is 0, not an index error"
    )
    check.close(check.run(one_of(1), known, 4), 0.0, "Frobenius norm: with everything kept the error is 0")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# For the output there is a bound: $\|PV - P_kV\|_F \le \|P - P_k\|_2\, \|V\|_F = \sigma_{k+1} \|V\|_F$.
# The figure compares it with what your two functions measure.
# At full rank only rounding errors are left, too small for the picture.

# %% look=true
ranks = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64]
figure, axes = plt.subplots(1, 3, figsize=(15, 3.8), sharey=True)
for ax, (name, (weights, values)) in zip(axes, measured_heads.items()):
    left, sigma, right = torch.linalg.svd(weights)
    exact_output = weights @ values
    of_weights = [((left[:, :r] * sigma[:r]) @ right[:r] - weights).norm() / weights.norm() for r in ranks]
    predicted = [truncation_errors(sigma, r)[1] / weights.norm() for r in ranks]
    outputs = [svd_attention(left[:, :r], sigma[:r], right[:r], values) for r in ranks]
    of_output = [low_rank.relative_error(output, exact_output) for output in outputs]
    bound = [truncation_errors(sigma, r)[0] * values.norm() / exact_output.norm() for r in ranks]
    plots.curves(
        {
            "error of P": (ranks, of_weights),
            "your prediction": (ranks, predicted),
            "error of PV": (ranks, of_output),
            "bound for PV": (ranks, bound),
        },
        "rank k",
        "relative error (Frobenius)" if ax is axes[0] else "",
        name,
        log_y=True,
        ax=ax,
    )
    ax.set_ylim(1e-4, 10)
figure.tight_layout()
plt.show()

# %% [markdown]
# ### Look: a slider for the rank
# Choose a head and move the rank.
# At which rank do the group, block and neighbour heads come into focus?

# %% look=true
low_rank.explore_rank(measured_heads)

# %% [markdown]
# So attention through an SVD is cheap, and as exact as the spectrum allows.
# There is a catch: you need $P$ to compute its SVD, and the SVD of an $n \times n$ matrix takes $O(n^3)$ operations.
# We have saved nothing yet.
# We need the singular vectors of a matrix that we never look at.
#
# ## 3 Without softmax
#
# Leave the softmax out: from here to the end of Part 3, $P = QK^\top / \sqrt{h}$.
# Its rows no longer sum to one, but its rank $k$ is at most $h$, however long the sequence.
#
# ### 3.1 Brackets again <small>★☆☆ · 5 min · 2 points</small>
# Compute $PV$ in $O((n + m)\,h\,e)$ operations.


# %% exercise="softmax-free"
def softmax_free(Q, K, V):
    """(Q Kᵀ / √h) V (n, e) for queries Q (n, h), keys K (m, h) and values V (m, e), in time linear in n and m."""
    ### BEGIN SOLUTION
    return Q @ (K.mT @ V) / Q.shape[-1] ** 0.5
    ### END SOLUTION


# %% test="softmax-free" points=2
check = Check("softmax-free", points=2)
q, k = torch.tensor([[2.0, 0.0, 0.0, 0.0]]), torch.tensor([[1.0, 5.0, 0.0, 0.0], [3.0, 0.0, 7.0, 0.0]])
one_query = (q, k, torch.tensor([[1.0], [10.0]]))
with check.idea("scaled scores times values"):
    out = check.run(softmax_free, *one_query, shape=(1, 1))
    check.close(out, [[31.0]], "h = 4: the scores are 2 and 6, divided by √4 they are 1 and 3, and 1 · 1 + 3 · 10 = 31")
    ### BEGIN HIDDEN TESTS
    for queries_n, keys_n, width_h, width_e in ((9, 7, 4, 5), (6, 8, 3, 2), (5, 5, 5, 5)):
        q, k, v = randn(queries_n, width_h), randn(keys_n, width_h), randn(keys_n, width_e)
        hint = "the result is not (Q Kᵀ / √h) V"
        check.close(check.run(softmax_free, q, k, v), q @ k.T @ v / width_h**0.5, hint)
    ### END HIDDEN TESTS
with check.part("no n × n matrix"):
    sized = lambda n: (randn(n, 4), randn(n, 4), randn(n, 3))  # noqa: E731
    cost = check.measure(checks.cost, softmax_free, *sized(512))
    check.counted(cost.flops >= 2 * 512 * 4 * 3, low_rank.UNCOUNTED)
    check.growth(softmax_free, sized, (256, 512), 1, "twice as many positions must cost twice as much: what do you multiply first?")
    check.counted(cost.largest <= 16 * 512, "an n × n tensor was created: multiply Kᵀ with V first")
    ### BEGIN HIDDEN TESTS
    check.affordable(
        function=softmax_free,
        make_args=lambda n: (randn(n, 128), randn(n, 128), randn(n, 128)),
        size=6144,
        megabytes=64,
        wasteful=144,  # an n × n matrix
        right=lambda out, Q, K, V: checks.near(out, Q @ (K.mT @ V) / Q.shape[1] ** 0.5),
        hint="for n = 6,144 the work or the memory is that of an n × n matrix, although the counter did not see it: multiply Kᵀ with V first",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(softmax_free, *one_query)
### BEGIN HIDDEN TESTS
with check.edge("one query, one key, width one"):
    for queries_n, keys_n, width_h, width_e in ((6, 1, 3, 2), (1, 8, 5, 3), (4, 6, 1, 7)):
        q, k, v = randn(queries_n, width_h), randn(keys_n, width_h), randn(keys_n, width_e)
        hint = "with one query, one key or a width of one the result differs"
        check.close(check.run(softmax_free, q, k, v), q @ k.T @ v / width_h**0.5, hint)
with check.edge("all digits of float64"):
    q, k, v = (randn(5, columns, dtype=torch.float64) for columns in (3, 3, 2))
    digits = "with float64 input digits are lost: do you convert to float32?"
    check.close(check.run(softmax_free, q, k, v), (q @ k.T) @ v / 3**0.5, digits)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# That was easy, and it works only because nothing stands between $QK^\top$ and $V$.
# There is another form, in which keys and values are each *shortened* from $n$ rows to $k$:
#
# $$ PV \;=\; Q\,(CK)^\top\, D V, \qquad C, D \in \mathbb{R}^{k \times n} . $$
#
# $CK$ is a sequence of $k$ keys, $DV$ a sequence of $k$ values.
# Between the two one can put the softmax back, over $k$ instead of $n$ entries; Part 4 does.
# But first: do such $C$ and $D$ exist, and can you find them without forming $P$?
# Here $m = n$.
#
# ### 3.2 Singular vectors of a matrix you never form <small>★★☆ · 30 min · 6 points</small>
# The thin QR decomposition (`torch.linalg.qr`) writes $Q = A_Q R_Q$ and $K = A_K R_K$, where $A_Q, A_K \in \mathbb{R}^{n \times h}$ have orthonormal columns and $R_Q, R_K \in \mathbb{R}^{h \times h}$ are triangular.
# So
#
# $$ P = \frac{1}{\sqrt h}\, A_Q\, \bigl(R_Q R_K^\top\bigr)\, A_K^\top . $$
#
# The matrix in the middle is only $h \times h$.
# Take *its* SVD, and you can read off that of $P$: which product gives the right singular vectors $W$?
# Return the $k$ vectors that belong to the non-zero singular values, largest first.
# The sign of each column is free.
# All of it takes $O(nh^2)$ operations.
#
# `torch.linalg.svd(M)` returns `U, S, Vh`, with the right singular vectors in the *rows* of `Vh`.


# %% exercise="right-singular-vectors"
def right_singular_vectors(Q, K, k):
    """W (n, k): right singular vectors of P = Q Kᵀ / √h, which has rank k, largest first, for Q and K (n, h)."""
    ### BEGIN SOLUTION
    _, R_q = torch.linalg.qr(Q)
    A_k, R_k = torch.linalg.qr(K)
    _, _, Vh = torch.linalg.svd(R_q @ R_k.mT)  # (h, h)
    return A_k @ Vh[:k].mT
    ### END SOLUTION


# %% test="right-singular-vectors" points=6
check = Check("right-singular-vectors", points=6)
plain_q, plain_k = torch.tensor([[3.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), torch.tensor([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]])
with check.idea("right singular vectors"):
    w = check.run(right_singular_vectors, plain_q, plain_k, 2, shape=(3, 2), hint="W has n rows and k columns")
    by_hand = "P is 3/√2 in row 0, column 1 and 2/√2 in row 1, column 0: its right singular vectors are e_1, then e_0"
    check.close(w.abs(), [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]], by_hand, atol=1e-5)
    ### BEGIN HIDDEN TESTS
    for positions, width_h in ((9, 4), (13, 5), (40, 6)):
        q, k = randn(positions, width_h, dtype=torch.float64), randn(positions, width_h, dtype=torch.float64)
        w = check.run(right_singular_vectors, q, k, width_h, shape=(positions, width_h), hint="W has n rows and k columns").double()
        one = torch.eye(width_h, dtype=torch.float64)
        u, s, vh = torch.linalg.svd(q @ k.T)
        (q_factor, q_triangle), (k_factor, k_triangle) = torch.linalg.qr(q), torch.linalg.qr(k)
        small_u, small_s, small_vh = torch.linalg.svd(q_triangle @ k_triangle.T)
        turned_u, turned_s, turned_vh = torch.linalg.svd(q_triangle @ k_triangle)
        known = vh[:width_h]
        check.close(
            (known @ w).abs(),
            one,
            "the columns are not the right singular vectors of P, largest singular value first",
            atol=1e-5,
            wrong={
                "W is the orthonormal factor of K alone: it spans the right space. Rotate it with the SVD of the small matrix": (
                    known @ k_factor
                ).abs(),
                "these are left singular vectors of P: the right ones come from K's side": (known @ u[:, :width_h]).abs(),
                "`Vh` holds right singular vectors in its rows: transpose it before you multiply": (known @ k_factor @ small_vh).abs(),
                "the small matrix's left singular vectors are combined with K's factor; its right ones belong there": (
                    known @ k_factor @ small_u
                ).abs(),
                "the singular vectors come smallest first; largest first was asked for": one.flip(0),
                "the small matrix is R_Q R_Kᵀ: the transpose is missing": (known @ k_factor @ turned_vh.T).abs(),
                "Q's factor is combined with the right singular vectors of the small matrix; K's belongs there": (
                    known @ q_factor @ small_vh.T
                ).abs(),
            },
        )
        orthonormal = (
            "the columns of W must be orthonormal, WᵀW = 1: an orthonormal factor of QR times orthogonal vectors stays orthonormal"
        )
        check.close(w.T @ w, one, orthonormal, atol=1e-5)
    ### END HIDDEN TESTS
with check.part("no n × n matrix"):
    sized = lambda n: (randn(n, 4), randn(n, 4), 4)  # noqa: E731
    cost = check.measure(checks.cost, right_singular_vectors, *sized(256))
    check.counted(cost.flops >= 2 * 256 * 4 * 4, low_rank.UNCOUNTED)
    check.growth(right_singular_vectors, sized, (128, 256), 1, "the work must grow like n: only thin factors and an h × h matrix")
    check.counted(cost.largest <= 16 * 256, "an n × n tensor was created: P is never formed, and QR is the thin one (the default)")
    ### BEGIN HIDDEN TESTS
    check.affordable(
        function=right_singular_vectors,
        make_args=lambda n: (randn(n, 8), randn(n, 8), 8),
        size=6144,
        megabytes=64,
        wasteful=144,  # an n × n matrix
        right=lambda W, Q, K, k: checks.near(W.T @ W, torch.eye(k)) and checks.near(W @ (W.T @ K), K),
        hint="for n = 6,144 the work or the memory is that of an n × n matrix, although the counter did not see it: use thin factors and an h × h matrix",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(right_singular_vectors, plain_q, plain_k, 2)
### BEGIN HIDDEN TESTS
with check.part("a rank below h"):
    mixed = torch.linalg.qr(randn(5, 5, dtype=torch.float64))[0]
    q, k = randn(11, 3, dtype=torch.float64) @ mixed[:3], randn(11, 4, dtype=torch.float64) @ mixed[1:]
    product = q @ k.T / 5**0.5  # Q has rank 3, K rank 4, and they share two directions: P has rank 2
    w = check.run(
        right_singular_vectors, q, k, 2, shape=(11, 2), hint="P may have a smaller rank than h: return the first k vectors only"
    ).double()
    check.close(
        product @ w @ w.T,
        product,
        "the rank of P can be below h. Then the first k columns of K's factor do not span its rows: use the SVD of the small matrix",
        atol=1e-5,
    )
with check.edge("a sequence of length one"):
    single = check.run(right_singular_vectors, randn(1, 3), randn(1, 3), 1, shape=(1, 1))
    check.close(single.abs(), [[1.0]], "a sequence of length one: W is 1 or −1")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.3 Shortened keys and values <small>★★★ · 20 min · 5 points</small>
# Use $W$ to construct $C$ and $D$ with $PV = Q(CK)^\top DV$ for *every* $V$.
# Hint: the rows of $P$ lie in the space that the columns of $W$ span, and $WW^\top$ is the projection onto that space; what does it do to $P$?
# Then compute $PV$ with them, in $O(n)$.
#
# $C$ and $D$ are not unique: for any invertible $M \in \mathbb{R}^{k \times k}$, $M^{-\top} C$ and $M D$ work, too.
# So the test compares $PV$, not $C$ and $D$.


# %% exercise="factors"
def factors(Q, K, k):
    """C and D, both (k, n), with (Q Kᵀ / √h) V = Q (C K)ᵀ D V for every V; Q and K are (n, h), and Q Kᵀ has rank k."""
    ### BEGIN SOLUTION
    W = right_singular_vectors(Q, K, k)
    return W.mT / Q.shape[-1] ** 0.5, W.mT
    ### END SOLUTION


def factored_attention(Q, K, V, k):
    """(Q Kᵀ / √h) V (n, e), as Q (C K)ᵀ D V with your factors, for Q and K (n, h), V (n, e), in time linear in n."""
    ### BEGIN SOLUTION
    C, D = factors(Q, K, k)
    return Q @ (C @ K).mT @ (D @ V)
    ### END SOLUTION


# %% test="factors" points=5
check = Check("factors", points=5)
lone_q, lone_k = torch.zeros(3, 4).index_fill(0, torch.tensor(0), 1.0), torch.zeros(3, 4).index_fill(0, torch.tensor(1), 3.0)
with check.idea("C, D and attention through them"):
    both = check.run(factors, lone_q, lone_k, 1, shape=(2, 1, 3), hint="`factors` returns C and D, each with k rows and n columns")
    row = (lone_q @ (both[0].float() @ lone_k).T @ both[1].float())[0]
    check.close(row, [0.0, 6.0, 0.0], "q_0 · k_1 = 12 and h = 4: row 0 of Q (C K)ᵀ D must be that of P, (0, 6, 0)", atol=1e-4)
    ### BEGIN HIDDEN TESTS
    for positions, width_h in ((9, 4), (50, 3), (7, 5)):
        q, k = randn(positions, width_h, dtype=torch.float64), randn(positions, width_h, dtype=torch.float64)
        scores = q @ k.T
        pair = check.run(factors, q, k, width_h, shape=(2, width_h, positions), hint="C and D have k rows and n columns").to(q.dtype)
        check.close(
            q @ (pair[0] @ k).T @ pair[1],
            scores / width_h**0.5,
            "Q (C K)ᵀ D is not P: what does the projection W Wᵀ do to P?",
            rtol=1e-5,
            atol=1e-5,
            wrong={
                "the scale 1/√h is missing: put it into C or into D": scores,
                "the scale 1/√h is there twice: put it into C or into D, not into both": scores / width_h,
                "divide by the root of the width h, not of the number of positions": scores / positions**0.5,
                "the scale is right for one width only: compute it from the shape of Q": scores / 2,
            },
        )
    ### END HIDDEN TESTS
    out = check.run(factored_attention, lone_q, lone_k, torch.tensor([[7.0, 8.0], [1.0, -1.0], [9.0, 9.0]]), 1, shape=(3, 2))
    check.close(out, [[6.0, -6.0], [0.0, 0.0], [0.0, 0.0]], "P is 6 in row 0, column 1: row 0 of P V is 6 times (1, −1)", atol=1e-4)
    ### BEGIN HIDDEN TESTS
    for positions, width_h, width_e in ((9, 4, 6), (50, 3, 2), (7, 5, 5)):
        q, k, v = (randn(positions, columns, dtype=torch.float64) for columns in (width_h, width_h, width_e))
        target = q @ k.T @ v / width_h**0.5
        check.close(
            check.run(factored_attention, q, k, v, width_h),
            target,
            "`factored_attention` is not P V: Q (C K)ᵀ D V with your factors",
            rtol=1e-5,
            atol=1e-5,
            wrong={
                "`factored_attention`: the scale 1/√h is missing": target * width_h**0.5,
                "`factored_attention`: the scale 1/√h is applied once more than needed": target / width_h**0.5,
            },
        )
    ### END HIDDEN TESTS
with check.part("no n × n matrix"):
    sized = lambda n: (randn(n, 4), randn(n, 4), randn(n, 3), 4)  # noqa: E731
    cost = check.measure(checks.cost, factored_attention, *sized(256))
    check.counted(cost.flops >= 2 * 256 * 4 * 3, low_rank.UNCOUNTED)
    check.counted(cost.largest <= 16 * 256, "an n × n tensor was created: Cᵀ D and Q Kᵀ are n × n, so avoid both")
    ### BEGIN HIDDEN TESTS
    check.growth(factored_attention, sized, (128, 256), 1, "twice as many positions must cost twice as much: shorten K and V first")
    check.affordable(
        function=factored_attention,
        make_args=lambda n: (randn(n, 8), randn(n, 8), randn(n, 32), 8),
        size=6144,
        megabytes=64,
        wasteful=144,  # an n × n matrix
        right=lambda out, Q, K, V, k: checks.near(out, Q @ (K.mT @ V) / Q.shape[1] ** 0.5),
        hint="for n = 6,144 the work or the memory is that of an n × n matrix, although the counter did not see it: shorten K and V first",
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("with your factors"):  # the products alone take 8 n h e at most, a decomposition of K at least 4 n h² more
    unused = "`factored_attention` does not use C and D: compute it with your factors"
    found = check.measure(checks.cost, factored_attention, randn(256, 8), randn(256, 8), randn(256, 2), 8)
    check.true((found.flops < 256) | (found.flops >= 4 * 256 * 8 * 8), unused)
with check.edge("one position"):
    single = check.run(factored_attention, torch.tensor([[2.0, 0.0]]), torch.tensor([[3.0, 1.0]]), torch.tensor([[1.0, -1.0, 0.5]]), 1)
    check.close(single, torch.tensor([[6.0, -6.0, 3.0]]) / 2**0.5, "one position: P is the number q · k / √h")
with check.edge("inputs of factors unchanged"):
    check.unchanged(factors, q, k, width_h)
with check.edge("inputs of factored_attention unchanged"):
    check.unchanged(factored_attention, q, k, v, 5)
with check.part("a rank below h"):
    mixed = torch.linalg.qr(randn(5, 5, dtype=torch.float64))[0]
    q, k = randn(11, 3, dtype=torch.float64) @ mixed[:3], randn(11, 4, dtype=torch.float64) @ mixed[1:]
    pair = check.run(factors, q, k, 2, shape=(2, 2, 11), hint="C and D have k rows, also where k < h").to(q.dtype)
    check.close(
        q @ (pair[0] @ k).T @ pair[1],
        q @ k.T / 5**0.5,
        "for rank P < h the factors do not give P: they need the right singular vectors of P, not only an orthonormal basis from K",
        rtol=1e-5,
        atol=1e-5,
        wrong={"divide by the root of the width h, not of the rank k": q @ k.T / 2**0.5},
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.4 Prove it <small>★★☆ · 30 min · 6 points, graded by hand</small>
# Let $Q, K \in \mathbb{R}^{n \times h}$, $V \in \mathbb{R}^{n \times e}$, and let $P = QK^\top / \sqrt h$ have rank $k$.
# Prove that there are $C, D \in \mathbb{R}^{k \times n}$ with $PV = Q(CK)^\top DV$ for every $V$.
# Then show that $C$ and $D$ can be computed, and $PV$ with them, in a number of operations that is linear in $n$; state the order in $n$, $h$, $k$ and $e$ for each step.
# Where do you use that $k$ is the rank?
# What breaks if $P$ is the softmax of these scores?

# %% [markdown] written="written-proof" points=6
# <!-- BEGIN SOLUTION -->
# **Model answer.** *Existence.* Let $P = U \Sigma W^\top$ be the thin SVD: since $P$ has rank $k$, $U, W \in \mathbb{R}^{n \times k}$ have
# orthonormal columns and $\Sigma$ is $k \times k$. Because $W^\top W = I_k$,
# $$ P W W^\top = U \Sigma (W^\top W) W^\top = U \Sigma W^\top = P . $$
# Put $C = W^\top / \sqrt h$ and $D = W^\top$, both $k \times n$. Then $(CK)^\top = K^\top C^\top = K^\top W / \sqrt h$, and for every $V$
# $$ Q (CK)^\top D V = \tfrac{1}{\sqrt h}\, Q K^\top W\, W^\top V = P W W^\top V = P V . $$
# *Computing $W$.* Thin QR: $Q = A_Q R_Q$, $K = A_K R_K$, $O(nh^2)$. The SVD of the small matrix, $R_Q R_K^\top = X S Y^\top$, $O(h^3)$,
# gives $P = (A_Q X)(S / \sqrt h)(A_K Y)^\top$. Products of matrices with orthonormal columns
# have orthonormal columns, so this is an SVD of $P$, and $W$ consists of the columns of $A_K Y$ with non-zero singular values: $O(nhk)$. As
# $k \le h \le n$, all of this is $O(nh^2)$.
# *Using them.* $CK$: $O(nkh)$; $DV$: $O(nke)$; $(CK)^\top (DV)$: $O(hke)$; times $Q$: $O(nhe)$. (Or $Q(CK)^\top$ first, $O(nhk)$, then
# $O(nke)$.) Every step is linear in $n$, no intermediate has more than $n \max(h, k, e)$ entries.
# *The rank* is used when $W$ has only $k$ columns and $PWW^\top = P$ still holds exactly. With fewer columns one gets the best
# approximation, with the error of Eckart and Young.
# *Softmax* is applied to each entry of $QK^\top$. The result is not a product with inner dimension $h$: its rank can be $n$, and its
# singular vectors cannot be read off QR factors of $Q$ and $K$. Then $W$ costs $O(n^3)$ and needs $P$.
#
# | points | rubric |
# | --- | --- |
# | 2 | $PWW^\top = P$ derived from the SVD and $W^\top W = I_k$ (1 if only asserted, or if $WW^\top = I_n$ is claimed) |
# | 1 | $C$ and $D$ stated with shapes and scale, $Q(CK)^\top DV = PV$ carried through, transposes right |
# | 1 | $W$ from thin QR factors and the SVD of an $h \times h$ matrix, with the reason why this is an SVD of $P$ |
# | 1 | costs of construction, $O(nh^2)$, and of use, linear in $n$; brackets stated |
# | 1 | the role of the rank, and why softmax breaks the argument |
#
# Other proofs earn the same points, for instance with $D$ any orthonormal basis of the row space of $P$ and $C = D/\sqrt h$, or $D = W^\top$ and a $C$ that solves $CK = \Sigma U^\top (Q^\top)^{+}$.
# <!-- END SOLUTION -->

# %% [markdown]
# ## 4 Put the softmax back: projected attention
#
# The theorem is about softmax-free attention.
# Linformer (Wang et al., 2020) keeps its *form* and puts the softmax where it fits.
# With $C, D \in \mathbb{R}^{k \times m}$:
#
# $$ \mathrm{softmax}\!\left(\frac{Q\,(CK)^\top}{\sqrt h}\right) D V . $$
#
# Each query now looks at $k$ mixtures of keys and averages $k$ mixtures of values: $O((n + m)\,k\,(h + e))$.
# It is no longer equal to attention.
# How close it comes depends on $C$ and $D$.
#
# ### 4.1 Projected attention <small>★★☆ · 10 min · 4 points</small>
# There may be batch axes in front of $Q$, $K$ and $V$.
# $C$ and $D$ are shared by the whole batch.


# %% exercise="projected-attention"
def projected_attention(Q, K, V, C, D):
    """softmax(Q (C K)ᵀ / √h) D V (..., n, e) for Q (..., n, h), K (..., m, h), V (..., m, e) and C, D (k, m)."""
    ### BEGIN SOLUTION
    scores = Q @ (C @ K).mT / Q.shape[-1] ** 0.5  # (..., n, k)
    return scores.softmax(dim=-1) @ (D @ V)
    ### END SOLUTION


# %% test="projected-attention" points=4
check = Check("projected-attention", points=4)
ask, key_rows = torch.tensor([[2 * math.log(3.0), 0.0, 0.0, 0.0]]), torch.tensor([[1.0, 0.0, 2.0, 0.0], [0.0, 5.0, 0.0, 0.0]])
swap, twice, gives = torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([[4.0], [2.0]])
with check.idea("softmax over mixtures"):
    out = check.run(projected_attention, ask, key_rows, gives, swap, twice, shape=(1, 1))
    check.close(out, [[3.5]], "C exchanges the keys: the scores are 0 and log 3, the weights 1/4 and 3/4, and D V is (8, 2)")
    ### BEGIN HIDDEN TESTS
    for queries_n, keys_n, inner, width_h, width_e in ((9, 7, 3, 4, 5), (5, 8, 6, 3, 2), (6, 6, 6, 6, 6)):
        q, k, v = randn(queries_n, width_h), randn(keys_n, width_h), randn(keys_n, width_e)
        c, d = randn(inner, keys_n), randn(inner, keys_n)
        scores = q @ (c @ k).T / width_h**0.5
        check.close(
            check.run(projected_attention, q, k, v, c, d),
            scores.softmax(1) @ (d @ v),
            "the result is not softmax(Q (C K)ᵀ / √h) D V",
        )
    ### END HIDDEN TESTS
with check.part("no n × n matrix"):
    sized = lambda n: (randn(n, 4), randn(n, 4), randn(n, 3), randn(5, n), randn(5, n))  # noqa: E731
    cost = check.measure(checks.cost, projected_attention, *sized(512))
    check.counted(cost.flops >= 2 * 512 * 4 * 5, low_rank.UNCOUNTED)
    check.growth(projected_attention, sized, (256, 512), 1, "twice as many positions must cost twice as much: shorten K before it meets Q")
    check.counted(cost.largest <= 16 * 512, "an n × n tensor was created: project the keys and the values, not the finished scores")
    ### BEGIN HIDDEN TESTS
    check.affordable(
        function=projected_attention,
        make_args=lambda n: (randn(n, 128), randn(n, 128), randn(n, 128), randn(32, n) / n**0.5, randn(32, n)),
        size=6144,
        megabytes=64,
        wasteful=144,  # an n × n matrix
        right=lambda out, Q, K, V, C, D: checks.near(out, (Q @ (C @ K).mT / Q.shape[1] ** 0.5).softmax(1) @ (D @ V)),
        hint="for n = 6,144 the work or the memory is that of an n × n matrix, although the counter did not see it: shorten K before it meets Q",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(projected_attention, ask, key_rows, gives, swap, twice)
### BEGIN HIDDEN TESTS
with check.part("batch axes"):
    for front in ((2, 3), (3,)):
        q, k, v, c, d = randn(*front, 6, 4), randn(*front, 8, 4), randn(*front, 8, 5), randn(2, 8), randn(2, 8)
        hint = "with batch axes the result differs: transpose the last two axes only (`.mT`)"
        check.close(check.run(projected_attention, q, k, v, c, d), (q @ (c @ k).mT / 2).softmax(-1) @ (d @ v), hint)
with check.part("gradient"):
    q, k, v, c, d = randn(6, 4), randn(8, 4), randn(8, 5), randn(3, 8), randn(3, 8)
    shortened = lambda a, b, x, y, z: (a @ (y @ b).mT / 2).softmax(-1) @ (z @ x)  # noqa: E731
    learned = "the gradients through your function are wrong, or do not flow: they must reach C and D, too, because these are learned"
    check.gradients(projected_attention, shortened, (q, k, v, c, d), learned)
with check.edge("one key, one mixture"):
    lone = check.run(projected_attention, randn(5, 4), randn(1, 4), torch.tensor([[1.0, 2.0]]), torch.ones(1, 1), torch.full((1, 1), 3.0))
    check.close(lone, torch.tensor([[3.0, 6.0]]).expand(5, 2), "one key, one mixture: the softmax over one entry is 1, and the output D V")
with check.edge("large scores"):
    big = check.run(projected_attention, 60 * torch.ones(3, 4), 60 * torch.ones(2, 4), torch.ones(2, 5), torch.eye(2), torch.eye(2))
    check.close(big, torch.ones(3, 5), "large scores overflow: subtract the row's maximum before exp, or use torch's softmax")
with check.edge("all digits of float64"):
    q, k, v, c, d = (x.double() for x in (q, k, v, c, d))
    digits = "with float64 input digits are lost: do you convert to float32?"
    check.close(check.run(projected_attention, q, k, v, c, d), (q @ (c @ k).T / 2).softmax(1) @ (d @ v), digits)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.2 A random projection <small>★★☆ · 15 min · 2 points</small>
# Which $C$ and $D$?
# The cheapest choice is a random one.
# Take $D = C$ with independent entries of mean zero.
# Then $C^\top C$ should be the identity *on average*, so that nothing is stretched on average: $\mathbb{E}[C^\top C] = I$.
# Derive the variance that the entries need: write down entry $(i, j)$ of $C^\top C$ as a sum over the $k$ rows, and take the mean for $i = j$ and $i \ne j$.
# Then draw such a matrix.


# %% exercise="random-projection"
def random_projection(k, n):
    """A new random matrix C (k, n) with independent entries of mean zero and E[CᵀC] = 1, the n × n identity."""
    ### BEGIN SOLUTION
    return torch.randn(k, n) / k**0.5
    ### END SOLUTION


# %% test="random-projection" points=2
check = Check("random-projection", points=2)
# All limits are five or more standard deviations away from what a right answer gives. Sizes are compared as logarithms.
with check.idea("variance 1/k"):
    tall = check.run(random_projection, 400, 30, shape=(400, 30)).float()
    size = "the diagonal of CᵀC should average 1 (its logarithm 0). It is a sum of k squares: which variance must an entry have?"
    no_root = "you divide by k: dividing the entries by √k divides the squares by k"
    slips = {"the diagonal of CᵀC is a sum of k squares, and yours adds up to k: divide the entries by √k": math.log(400)}
    slips |= {no_root: -math.log(400), "you divide by the root of n: the sum over the rows has k terms": math.log(400 / 30)}
    check.close(tall.square().sum(0).mean().log(), 0.0, size, atol=0.1, wrong=slips)
    ### BEGIN HIDDEN TESTS
    wide = check.run(random_projection, 25, 500, shape=(25, 500)).float()
    other = "for another shape (k < n) the diagonal of CᵀC is not 1 on average: the variance of the entries must depend on k alone"
    check.close(wide.square().sum(0).mean().log(), 0.0, other, atol=0.1, wrong={"the variance is right for one k only": math.log(25 / 400)})
    ### END HIDDEN TESTS
with check.part("mean zero"):
    zero = "the entries should have mean zero: otherwise the off-diagonal entries of CᵀC do not vanish on average"
    check.true(tall.mean().abs() < 0.06 * tall.square().mean().sqrt(), zero)
### BEGIN HIDDEN TESTS
with check.part("independent entries"):
    few = "a few entries carry all of a column: every entry must be a random number"
    check.true(tall.square().amax(0) < 0.2 * tall.square().sum(0), few)  # of 400 normal entries the largest has a share near 0.03
    one_size, one_length = tall.abs().std() < 1e-4, tall.square().sum(0).std() < 1e-4  # signs alone have both
    always = "every column has exactly the length one: entries that are independent give it that length on average only"
    check.true(one_size | ~one_length, always)
    for sample in (tall, wide.T):  # columns against each other, then rows
        gram = sample.T @ sample / sample.square().sum(0).mean()
        apart = gram - torch.diag(gram.diagonal())
        # chance gives 1/√400 and 1/√500, with small deviations
        check.true(
            apart.square().mean().sqrt() < 0.1, "the entries are not independent: CᵀC or CCᵀ differs from the identity by more than chance"
        )
        exact = "the columns or the rows are orthogonal: entries that are independent make them so on average only, and not exactly"
        check.true(apart.square().mean().sqrt() > 0.02, exact)
with check.edge("a new matrix in every call"):
    again = check.run(random_projection, 25, 500, shape=(25, 500)).float()
    check.true((again - wide).abs().max() > 1e-4, "every call must draw a new matrix: do not fix the seed inside the function")
with check.edge("one row"):
    row = check.run(random_projection, 1, 2000, shape=(1, 2000)).float()
    # at most: the squares of normal numbers have a standard deviation of 1.41, so their mean one of 0.032
    check.close(row.square().mean(), 1.0, "with k = 1 the entries have the variance 1", atol=0.2)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# How good is it?
# Look at the simplest use, $P\,C^\top C\,V \approx PV$.
# It is right on average.
# For normally distributed entries its mean squared error is
#
# $$ \mathbb{E}\,\|P C^\top C V - PV\|_F^2 = \frac{\|P\|_F^2\, \|V\|_F^2 + \|PV\|_F^2}{k} . $$
#
# *Before you run it:* $\|V\|_F^2$ adds up $n$ rows.
# If $P$ averages, $PV$ is small.
# Will $k = 32$ mixtures of $n = 64$ positions do?

# %% look=true
seed(1)
for name, (weights, values) in measured_heads.items():
    exact_output = weights @ values
    for rank in (8, 32):
        squares = []
        for _ in range(pick(smoke=20, laptop=400, gpu=400)):
            mixer = random_projection(rank, 64)
            squares.append((weights @ mixer.T @ (mixer @ values) - exact_output).square().sum())
        formula = (weights.square().sum() * values.square().sum() + exact_output.square().sum()) / rank
        relative = (torch.stack(squares).mean().sqrt() / exact_output.norm()).item()
        expected = (formula.sqrt() / exact_output.norm()).item()
        print(f"{name:>10}, k = {rank:>2}: relative error measured {relative:.2f}, by the formula {expected:.2f}")

# %% [markdown]
# More than 100 % error in every line: returning zeros would be better.
# The formula says why.
# Random mixtures bring noise from all $n$ positions.
# It is as large as $\|P\|_F \|V\|_F$, which is much more than $\|PV\|_F$ when a head averages, and it shrinks only like $1/\sqrt{k}$.
# To keep the relative error of these heads below 10 %, $k$ would have to be in the thousands, far larger than $n$.
#
# Linformer *learns* its projections.
# The next cell does so: it fits $C$ and $D$ to 256 sequences by gradient descent through your `projected_attention`, and measures the error on 64 new ones.
#
# *Before you run it:* all three heads get the same treatment.
# Their ranks are 6, 8 and 64. At which $k$ will the learned projection work for each?

# %% look=true
seed(2)
fitted_ranks = pick(smoke=[4, 8], laptop=[2, 4, 6, 8, 16, 32, 64], gpu=[2, 4, 6, 8, 16, 32, 64])
figure, axes = plt.subplots(1, 3, figsize=(15, 3.8), sharey=True)
for ax, (task, name) in zip(axes, names.items()):
    seen, unseen = low_rank.triples(trained[task], B=256), low_rank.triples(trained[task], B=64)
    exact_output = low_rank.softmax_attention(*unseen)
    left, sigma, right = torch.linalg.svd(low_rank.softmax_weights(*unseen[:2]))
    errors = {"best rank k for each sequence": [], "learned C and D": [], "random C = D": []}
    for rank in fitted_ranks:
        best = left[..., :rank] @ (sigma[:, :rank, None] * (right[:, :rank] @ unseen[2]))
        errors["best rank k for each sequence"].append(low_rank.relative_error(best, exact_output))
        mixers = low_rank.fit_projections(projected_attention, seen, rank, steps=pick(smoke=20, laptop=300, gpu=300))
        errors["learned C and D"].append(low_rank.relative_error(projected_attention(*unseen, *mixers), exact_output))
        mixer = random_projection(rank, 64)
        errors["random C = D"].append(low_rank.relative_error(projected_attention(*unseen, mixer, mixer), exact_output))
    y_label = "relative error of the output" if ax is axes[0] else ""
    plots.curves(
        {label: (fitted_ranks, y) for label, y in errors.items()},
        "number of mixtures k",
        y_label,
        name,
        log_x=True,
        log_y=True,
        ax=ax,
    )
    ax.axhline(1, color="black", linewidth=1)  # what returning zeros would give
    ax.set_ylim(1e-2, 60)
    if ax is not axes[0]:
        ax.get_legend().remove()
figure.tight_layout()
plt.show()

# %% [markdown]
# Only the block head can be shortened.
# Its $P$ is nearly the same for every sequence, so one $C$ and one $D$ with 8 mixtures serve all of them.
# The neighbour head has rank 64, and no smaller $k$ helps.
# The group head is the interesting one: for *each* sequence 6 mixtures would do, but they are different ones every time, because the groups are.
# A projection that is learned once mixes positions without looking at what is there.
# *Low rank for each input* and *one low-rank projection for all inputs* are two claims, and a spectrum shows only the first.
#
# ## 5 Kernels: softmax replaced by a feature map
#
# Softmax weights are $e^{q \cdot k / \sqrt h}$, divided by their sum over the keys.
# Replace the exponential by an inner product of features, $\varphi(q) \cdot \varphi(k)$, with $\varphi > 0$ so that no weight is negative (Katharopoulos et al., 2020):
#
# $$ o_i = \frac{\sum_j \bigl(\varphi(q_i) \cdot \varphi(k_j)\bigr)\, v_j}{\sum_j \varphi(q_i) \cdot \varphi(k_j)}
#        = \frac{\varphi(q_i)^\top \bigl[\sum_j \varphi(k_j)\, v_j^\top\bigr]}{\varphi(q_i)^\top \bigl[\sum_j \varphi(k_j)\bigr]} . $$
#
# The square brackets do not depend on $i$.
# Compute them once, and every query is answered from an $h \times e$ matrix and a vector of width $h$.
# No $1/\sqrt h$ is needed here.
#
# ### 5.1 A positive feature map <small>★☆☆ · 5 min · 1 point</small>
# Take $\varphi(x) = \mathrm{elu}(x) + 1$, entry by entry: $x + 1$ for $x > 0$, and $e^x$ otherwise.
#
# In exact numbers $\varphi$ is positive.
# In float32, `F.elu(x) + 1` is not always: $\mathrm{elu}(-20) = e^{-20} - 1$ is rounded to $-1$, and adding 1 leaves exactly 0. If all features of a query vanish like that, attention divides 0 by 0. Our own version computes $e^x$ itself where $x \le 0$, without going through $e^x - 1$, and treats entries below $-40$ as $-40$, so that not even the products $\varphi(q) \cdot \varphi(k)$ underflow.
# Entries in this notebook stay far from $-20$, so the tests accept both.


# %% exercise="features"
def features(x):
    """φ(x) = elu(x) + 1, entry by entry, for a tensor of any shape: x + 1 where x > 0, e^x elsewhere."""
    ### BEGIN SOLUTION
    return torch.where(x > 0, x + 1, x.clamp(-40, 0).exp())
    ### END SOLUTION


# %% test="features" points=1
check = Check("features", points=1)
with check.idea("elu plus one"):
    phi = check.run(features, torch.tensor([-1.0, 0.0, 2.0]), shape=(3,))
    elu = "elu alone reaches down to −1, and weights must not be negative: add 1"
    relu = "relu gives zero below zero: such a key is lost, with its gradient. Use elu"
    slips = {elu: [-0.63212, 0.0, 2.0], relu: [1.0, 1.0, 3.0]}
    slips |= {"this is the exponential everywhere; for x > 0 φ is x + 1": [0.36788, 1.0, 7.38906]}
    slips |= {"this is softplus, a smooth relative: φ(0) should be 1": [0.31326, 0.69315, 2.12693]}
    check.close(phi, [0.36788, 1.0, 3.0], "φ(−1) = e^−1, φ(0) = 1, φ(2) = 3", atol=1e-4, wrong=slips)
    ### BEGIN HIDDEN TESTS
    for sizes in ((7,), (4, 3), (2, 5, 3), (3,)):
        x = 3 * randn(*sizes).clamp(-2.5, 2.5)  # what happens to large inputs is an edge below
        exact = torch.where(x > 0, x + 1, x.clamp(max=0).exp())
        check.close(check.run(features, x), exact, "for other shapes φ is not elu + 1 entry by entry")
    ### END HIDDEN TESTS
with check.edge("input unchanged"):
    check.unchanged(features, torch.tensor([-1.0, 0.0, 2.0]))
### BEGIN HIDDEN TESTS
with check.part("gradient"):
    bent = lambda x: torch.where(x > 0, x + 1, x.clamp(max=0).exp())  # noqa: E731
    check.gradients(features, bent, (3 * randn(4, 5),), "the gradient through φ is wrong, or does not flow: 1 above zero, e^x below")
with check.edge("large inputs"):
    large = check.run(features, torch.tensor([200.0, 1000.0]), shape=(2,))
    check.close(large, [201.0, 1001.0], "large inputs: for x > 0 φ is x + 1, without an exponential and without a limit")
with check.edge("all digits of float64"):
    x = randn(6, dtype=torch.float64)
    check.close(check.run(features, x), bent(x), "with float64 input digits are lost")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.2 Kernel attention <small>★★☆ · 15 min · 4 points</small>
# Every query sees every key here.
# There may be batch axes in front.


# %% exercise="kernel-attention"
def kernel_attention(Q, K, V):
    """Attention with weights φ(q)·φ(k), normalised over the keys, in time linear in n and m.

    Q (..., n, h), K (..., m, h), V (..., m, e). Returns (..., n, e).
    """
    ### BEGIN SOLUTION
    phi_q, phi_k = features(Q), features(K)
    total = phi_q @ phi_k.sum(dim=-2)[..., None]  # (..., n, 1)
    return phi_q @ (phi_k.mT @ V) / total
    ### END SOLUTION


# %% test="kernel-attention" points=4
check = Check("kernel-attention", points=4)
two_keys = (torch.tensor([[0.0]]), torch.tensor([[0.0], [2.0]]), torch.tensor([[4.0], [8.0]]))
with check.idea("normalised weights φ(q)·φ(k)"):
    out = check.run(kernel_attention, *two_keys, shape=(1, 1))
    check.close(out, [[7.0]], "φ(0) = 1 and φ(2) = 3, so the weights are 1/4 and 3/4, and 4/4 + 24/4 = 7")
    ### BEGIN HIDDEN TESTS
    phi_of = lambda x: torch.where(x > 0, x + 1, x.clamp(max=0).exp())  # noqa: E731
    for queries_n, keys_n, width_h, width_e in ((9, 7, 4, 5), (5, 8, 2, 4), (6, 6, 6, 6)):
        q, k, v = randn(queries_n, width_h), randn(keys_n, width_h), randn(keys_n, width_e)
        raw = phi_of(q) @ phi_of(k).T
        check.close(
            check.run(kernel_attention, q, k, v),
            raw / raw.sum(1, keepdim=True) @ v,
            "the result is not Σ_j w_ij v_j with w_ij = φ(q_i)·φ(k_j) / Σ_l φ(q_i)·φ(k_l)",
        )
    ### END HIDDEN TESTS
with check.part("no n × n matrix"):
    sized = lambda n: (randn(n, 4), randn(n, 4), randn(n, 3))  # noqa: E731
    cost = check.measure(checks.cost, kernel_attention, *sized(512))
    check.counted(cost.flops >= 2 * 512 * 4 * 3, low_rank.UNCOUNTED)
    check.growth(kernel_attention, sized, (256, 512), 1, "twice as many positions must cost twice as much: sum over the keys first")
    check.counted(cost.largest <= 20 * 512, "an n × n tensor was created: the weights themselves are never needed")
    ### BEGIN HIDDEN TESTS
    check.affordable(
        function=kernel_attention,
        make_args=lambda n: (randn(n, 128), randn(n, 128), randn(n, 128)),
        size=6144,
        megabytes=64,
        wasteful=144,  # an n × n matrix
        right=lambda out, Q, K, V: checks.near(out, phi_of(Q) @ (phi_of(K).mT @ V) / (phi_of(Q) @ phi_of(K).sum(0))[:, None]),
        hint="for n = 6,144 the work or the memory is that of an n × n matrix, although the counter did not see it: sum over the keys first",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(kernel_attention, *two_keys)
### BEGIN HIDDEN TESTS
with check.part("batch axes"):
    for front in ((2, 3), (3,)):
        q, k, v = randn(*front, 6, 4), randn(*front, 8, 4), randn(*front, 8, 5)
        raw = phi_of(q) @ phi_of(k).mT
        hint = "with batch axes the result differs: sum over the axis of the keys (−2), transpose the last two axes only"
        check.close(check.run(kernel_attention, q, k, v), raw / raw.sum(-1, keepdim=True) @ v, hint)
with check.part("gradient"):
    q, k, v = randn(6, 4), randn(8, 4), randn(8, 5)
    check.gradients(
        kernel_attention,
        lambda a, b, c: (phi_of(a) @ phi_of(b).mT) / (phi_of(a) @ phi_of(b).mT).sum(-1, keepdim=True) @ c,
        (q, k, v),
        "the gradients through your function are wrong, or do not flow",
    )
with check.edge("a single key"):
    lone = check.run(kernel_attention, randn(3, 4), randn(1, 4), torch.tensor([[1.0, 2.0]]))
    check.close(lone, torch.tensor([[1.0, 2.0]]).expand(3, 2), "a single key gets the weight 1")
with check.edge("all digits of float64"):
    q, k, v = (x.double() for x in (q, k, v))
    raw = phi_of(q) @ phi_of(k).T
    digits = "with float64 input digits are lost: do you convert to float32?"
    check.close(check.run(kernel_attention, q, k, v), raw / raw.sum(1, keepdim=True) @ v, digits)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.3 What rank h cannot copy <small>★★☆ · 10 min · 2 points</small>
# The weights of kernel attention are $\varphi(Q)\varphi(K)^\top$ with scaled rows: a matrix of rank at most $h$.
# Copying the left neighbour asks for a permutation matrix $\Pi \in \mathbb{R}^{n \times n}$.
# Use Eckart and Young (2.2) to derive the smallest possible relative *squared* error of a matrix of rank at most $r$:
#
# $$ \min_{\operatorname{rank} A \le r} \frac{\|A - \Pi\|_F^2}{\|\Pi\|_F^2} . $$
#
# This is a statement about the matrix.
# What it says about the outputs comes after the experiment.
# ($r$ may also exceed $n$.)


# %% exercise="copying-floor"
def copying_floor(n, r):
    """Smallest relative squared Frobenius error of a matrix of rank at most r against an n × n permutation matrix."""
    ### BEGIN SOLUTION
    return max(0.0, 1 - r / n)
    ### END SOLUTION


# %% test="copying-floor" points=2
check = Check("copying-floor", points=2)
close_enough = {"rtol": 1e-5, "atol": 1e-6}  # singular values in float32 will do
with check.idea("the share that is lost"):
    check.close(
        check.run(copying_floor, 5, 0), 1.0, "rank 0 is the zero matrix: everything is lost, the relative error is 1", **close_enough
    )
    check.close(check.run(copying_floor, 4, 1), 0.75, "four singular values, all of them 1, and one of them is kept", **close_enough)
    ### BEGIN HIDDEN TESTS
    for size, rank_given in ((7, 2), (10, 1), (9, 8), (16, 12), (60, 11 + int(randint(0, 20, ())))):
        shifted = torch.eye(size, dtype=torch.float64).roll(1, 0)
        lost = torch.linalg.svdvals(shifted)[rank_given:].square().sum() / size
        check.close(
            check.run(copying_floor, size, rank_given),
            lost,
            "a permutation matrix has n singular values, all of them 1: how much of the sum of squares is lost with the last n − r?",
            **close_enough,
        )
    ### END HIDDEN TESTS
with check.edge("full rank"):
    check.close(check.run(copying_floor, 5, 5), 0.0, "full rank loses nothing", **close_enough)
### BEGIN HIDDEN TESTS
with check.edge("a rank above n"):
    check.close(check.run(copying_floor, 4, 9), 0.0, "a rank above n loses nothing: the error cannot be negative", **close_enough)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# Now train heads with *your* kernel attention on the three jobs, beside softmax heads of the same size ($n = 64$, $h = 24$).
#
# *Before you run it:* which error do you expect for the neighbour?
# (Returning zeros gives 1 there, because the content has variance one.)

# %% look=true
seed(3)
floor = copying_floor(64, low_rank.WIDTH)
finals = {}
for task, name in names.items():
    for label, attend in (("softmax", low_rank.softmax_attention), ("kernel", kernel_attention)):
        _, history = low_rank.train(task, pick(smoke=10, laptop=400, gpu=1000), attend)
        finals[name, label] = sum(history[-20:]) / len(history[-20:])
    print(f"{name:>10}: softmax head {finals[name, 'softmax']:.4f}, kernel head {finals[name, 'kernel']:.4f}")
print(f"floor of the matrix for copying with rank {low_rank.WIDTH}: {floor:.4f}")

plots.use_course_style()
figure, ax = plt.subplots(figsize=(7, 3.8))
places = torch.arange(3)
for shift, label, hatch in ((-0.2, "softmax", ""), (0.2, "kernel", "//")):
    ax.bar(places + shift, [finals[name, label] for name in names.values()], 0.4, label=label, hatch=hatch)
ax.axhline(floor, color="black", linestyle="--", linewidth=1, label="your floor, for the matrix")
ax.set_xticks(places, names.values())
ax.set(ylabel="mean squared error after training", title="What rank h cannot do", yscale="log", ylim=(1e-6, 100))
ax.legend(loc="upper left", ncols=3)
plt.show()

# %% [markdown]
# The kernel head learns both averages, the group mean less sharply than softmax does, and stops near the floor when it has to copy.
#
# Near, not above: the floor holds for the matrix.
# The outputs have an error of $\|(A - \Pi) V\|_F^2$.
# If $A$ does not depend on the content and the entries of $V$ are independent with variance one, its mean over all sequences is $\|A - \Pi\|_F^2$ for each column of $V$, and the floor holds for that mean.
# It does not hold for one sequence with weights made for it.
# An extreme case: $A = \Pi V V^+$ (with the pseudoinverse) has the rank of $V$, at most 4 here, and copies this one $V$ without any error:

# %% look=true
shift_left = torch.eye(64, dtype=torch.float64).roll(1, 0)
one_sequence = low_rank.batch(1, 64).neighbour[0].double()
made_for_it = shift_left @ one_sequence @ torch.linalg.pinv(one_sequence)
print(f"rank {torch.linalg.matrix_rank(made_for_it)}:", end=" ")
print(
    f"error of the matrix {(made_for_it - shift_left).square().sum() / 64:.3f} (floor {copying_floor(64, 4):.3f}),",
    end=" ",
)
print(f"error of the output {((made_for_it - shift_left) @ one_sequence).square().mean():.0e}")

# %% [markdown]
# A head that sees the content can use a little of this.
# In our runs (three seeds, 1,500 steps, measured on new sequences) it reached 0.616 to 0.621, below 0.625; heads whose queries and keys could not see the content stayed above, at 0.634 to 0.638.
# Softmax has no such floor: it turns scores of rank 24 into weights of rank 64. This is what linear attention gives up.
#
# ### 5.4 One step of a recurrent network <small>★★☆ · 15 min · 3 points</small>
# In a language model position $t$ sees only the keys $1, \dots, t$.
# Then the two brackets become running sums,
#
# $$ S_t = S_{t-1} + \varphi(k_t)\, v_t^\top \in \mathbb{R}^{h \times e}, \qquad z_t = z_{t-1} + \varphi(k_t) \in \mathbb{R}^{h},
# \qquad o_t = \frac{S_t^\top \varphi(q_t)}{z_t \cdot \varphi(q_t)}, $$
#
# with $S_0 = 0$ and $z_0 = 0$.
# That is a recurrent network with the state $(S, z)$: to generate the next word it needs neither the old keys nor the old values.
# Its memory does not grow.
#
# Write one step.
# Return new tensors, and leave the old state as it is.


# %% exercise="linear-step"
def linear_step(S, z, q, k, v):
    """One step of causal kernel attention: state S (h, e) and z (h,); query q (h,), key k (h,), value v (e,).

    Returns three new tensors: the output o (e,), the new S and the new z.
    """
    ### BEGIN SOLUTION
    phi_q, phi_k = features(q), features(k)
    S = S + torch.outer(phi_k, v)
    z = z + phi_k
    return phi_q @ S / (phi_q @ z), S, z
    ### END SOLUTION


# %% test="linear-step" points=3
check = Check("linear-step", points=3)
narrow = [torch.tensor(x) for x in ([[2.0]], [1.0], [0.0], [2.0], [4.0])]  # S, z, q, k, v, with φ(q) = 1 and φ(k) = 3
result = lambda which: lambda *a: linear_step(*a)[which]  # noqa: E731
with check.idea("update, then read"):
    out = check.run(result(0), *narrow, shape=(1,), hint="the first result is the output, a vector like v")
    check.close(out, [3.5], "S becomes 2 + 3 · 4 = 14 and z becomes 1 + 3 = 4, so the output is 14 / 4")
    ### BEGIN HIDDEN TESTS
    phi_of = lambda x: torch.where(x > 0, x + 1, x.clamp(max=0).exp())  # noqa: E731
    for width_h, width_e in ((4, 3), (2, 5), (3, 3)):
        S_old, z_old = randn(width_h, width_e), rand(width_h) + 0.5
        q, k, v = randn(width_h), randn(width_h), randn(width_e)
        a, b = phi_of(q), phi_of(k)
        S_new, z_new = S_old + torch.outer(b, v), z_old + b
        check.close(
            check.run(result(0), S_old, z_old, q, k, v),
            a @ S_new / (a @ z_new),
            "the output is not S_tᵀ φ(q_t) / (z_t · φ(q_t))",
        )
    ### END HIDDEN TESTS
with check.part("the new state"):
    matrix = "the second result is the new S: one row per feature, one column per entry of a value"
    check.close(check.run(result(1), *narrow, shape=(1, 1), hint=matrix), [[14.0]], "the new S is 2 + 3 · 4 = 14")
    check.close(check.run(result(2), *narrow, shape=(1,), hint="the third result is the new z"), [4.0], "the new z is 1 + 3 = 4")
    ### BEGIN HIDDEN TESTS
    S_old, z_old, q, k, v = randn(4, 3), rand(4) + 0.5, randn(4), randn(4), randn(3)
    got = check.run(result(1), S_old, z_old, q, k, v, shape=(4, 3), hint=matrix)
    check.close(
        got,
        S_old + torch.outer(phi_of(k), v),
        "the new S is not the old one plus φ(k) vᵀ",
    )
    check.close(
        check.run(result(2), S_old, z_old, q, k, v, shape=(4,)),
        z_old + phi_of(k),
        "the new z is not the old one plus φ(k)",
    )
    ### END HIDDEN TESTS
with check.edge("the old state stays"):
    check.unchanged(linear_step, *narrow)
### BEGIN HIDDEN TESTS
with check.edge("the first step"):
    first = check.run(result(0), torch.zeros(4, 3), torch.zeros(4), q, k, v, shape=(3,))
    check.close(first, v, "from a state of zeros the output is the value itself: the first position sees only itself")
with check.edge("all digits of float64"):
    S_old, z_old, q, k, v = (x.double() for x in (S_old, z_old, q, k, v))
    exact = phi_of(q) @ (S_old + torch.outer(phi_of(k), v)) / (phi_of(q) @ (z_old + phi_of(k)))
    check.close(check.run(result(0), S_old, z_old, q, k, v), exact, "with float64 input it fails, or digits are lost")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.5 Causal linear attention <small>★★☆ · 20 min · 5 points</small>
# Now a whole sequence at once, so that one can train on it.
# The result must equal the *masked quadratic form*: weights $\varphi(q_i) \cdot \varphi(k_j)$, zero for $j > i$, each row divided by its sum.
# But the work must grow like $n$.
# A loop over your step will do.
# So will running sums over the whole sequence (`cumsum`): think about their shape.


# %% exercise="causal-linear"
def causal_linear_attention(Q, K, V):
    """Causal kernel attention (n, e) of Q and K (n, h), V (n, e), in time linear in n: t sees positions 0 … t."""
    ### BEGIN SOLUTION
    S, z = V.new_zeros(K.shape[1], V.shape[1]), V.new_zeros(K.shape[1])
    outputs = []
    for q, k, v in zip(Q, K, V):
        o, S, z = linear_step(S, z, q, k, v)
        outputs.append(o)
    return torch.stack(outputs)
    ### END SOLUTION


# %% test="causal-linear" points=5
check = Check("causal-linear", points=5)
three_keys = (torch.zeros(3, 1), torch.tensor([[0.0], [2.0], [1.0]]), torch.tensor([[4.0], [8.0], [1.0]]))  # φ(k) is 1, 3 and 2
with check.idea("sums from the start to t"):
    out = check.run(causal_linear_attention, *three_keys, shape=(3, 1))
    check.close(out, [[4.0], [7.0], [5.0]], "the sums of φ(k) v are 4, 28 and 30, those of φ(k) are 1, 4 and 6")
    later = "a later position changes an earlier output: the sums must run from the start to t and no further"
    check.causal(lambda x: causal_linear_attention(x, x, x), randn(6, 4), later)
    ### BEGIN HIDDEN TESTS
    phi_of = lambda x: torch.where(x > 0, x + 1, x.clamp(max=0).exp())  # noqa: E731
    for size, h_in, e_out in ((7, 4, 3), (12, 2, 5), (9, 5, 5), (4, 4, 4)):
        q, k, v = randn(size, h_in), randn(size, h_in), randn(size, e_out)
        masked = (phi_of(q) @ phi_of(k).T).tril()
        check.close(
            check.run(causal_linear_attention, q, k, v),
            masked / masked.sum(1, keepdim=True) @ v,
            "the result differs from the masked quadratic form",
        )
    ### END HIDDEN TESTS
with check.part("work like n"):
    carry = "the work must grow like n: carry the sums along; do not form the weights, or add up the past again at every step"
    sized = lambda n: (randn(n, 4), randn(n, 4), randn(n, 3))  # noqa: E731
    cost = check.measure(checks.cost, causal_linear_attention, *sized(64))
    check.counted(cost.flops >= 64 * 4 * 3, low_rank.UNCOUNTED)
    check.growth(causal_linear_attention, sized, (32, 64), 1, carry)
    ### BEGIN HIDDEN TESTS
    some = randint(0, 3840, (8,))
    kept = lambda Q, K: (phi_of(Q[some]) @ phi_of(K).T) * (torch.arange(3840) <= some[:, None])  # noqa: E731
    check.affordable(
        function=causal_linear_attention,
        make_args=lambda n: [randn(n, width, dtype=torch.float64) for width in (8, 8, 16)],
        size=3840,
        megabytes=32,
        wasteful=112,  # an n × n matrix
        right=lambda out, Q, K, V: checks.near(out[some], kept(Q, K) @ V / kept(Q, K).sum(1, keepdim=True)),
        hint="for n = 3,840 the work or the memory is that of an n × n matrix, although the counter did not see it: carry the sums along",
    )
    longer = check.measure(checks.cost, causal_linear_attention, *sized(100))
    check.counted(longer.largest <= 2 * 100 * 4 * 3, "a tensor larger than n · h · e was created: no n × n weights")
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(causal_linear_attention, *three_keys)
### BEGIN HIDDEN TESTS
with check.part("gradient"):
    weights_of = lambda a, b: (phi_of(a) @ phi_of(b).T).tril()  # noqa: E731
    quadratic = lambda a, b, c: weights_of(a, b) / weights_of(a, b).sum(1, keepdim=True) @ c  # noqa: E731
    q, k, v = randn(6, 4), randn(6, 4), randn(6, 3)
    check.gradients(causal_linear_attention, quadratic, (q, k, v), "the gradients through your function are wrong, or do not flow")
with check.edge("one position"):
    single = check.run(causal_linear_attention, q[:1], k[:1], v[:1], shape=(1, 3))
    check.close(single, v[:1], "a sequence of one position: its output is its own value")
with check.edge("all digits of float64"):
    q, k, v = (x.double() for x in (q, k, v))
    digits = "with float64 input it fails, or digits are lost: new tensors must keep the type (`V.new_zeros`)"
    check.close(check.run(causal_linear_attention, q, k, v), quadratic(q, k, v), digits)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# *Look.*
# To generate the next word, a softmax head keeps all keys and values of the past; the recurrent form keeps only its state.
# The cell counts, for step $t$, the numbers that are kept and the operations that are needed.

# %% look=true
width = 64
past_lengths = [1, 4, 16, 64, 256, 1024, 4096]
query, new_key, new_value = (torch.randn(width) for _ in range(3))
state, total_key = torch.randn(width, width), torch.rand(width) + 1
step_costs = {"softmax with all past keys": [], "recurrent state": []}
for past in past_lengths:
    cache = torch.randn(past, width)
    step_costs["softmax with all past keys"].append(checks.flops(low_rank.softmax_attention, query[None], cache, cache))
    step_costs["recurrent state"].append(checks.flops(linear_step, state, total_key, query, new_key, new_value))
figure, axes = plt.subplots(1, 2, figsize=(12, 3.8))
plots.curves(
    {name: (past_lengths, y) for name, y in step_costs.items()},
    "position t",
    "operations for one step",
    "One more word: work",
    log_x=True,
    log_y=True,
    ax=axes[0],
)
memory = {
    "softmax with all past keys": [2 * past * width for past in past_lengths],
    "recurrent state": [width * width + width] * len(past_lengths),
}
plots.curves(
    {name: (past_lengths, y) for name, y in memory.items()},
    "position t",
    "numbers kept",
    "One more word: memory",
    log_x=True,
    log_y=True,
    ax=axes[1],
)
figure.tight_layout()
plt.show()

# %% [markdown]
# ## 6 Where do the curves cross?
#
# ### 6.1 Count first <small>★★☆ · 15 min · 4 points</small>
# A product of an $a \times b$ with a $b \times c$ matrix takes $2abc$ operations.
# Let $m = n$ and $e = h$.
# Derive the operations in the matrix products of
#
# - `"quadratic"`: $QK^\top$, then times $V$;
# - `"svd"`: $U_k(\Sigma_k(W_k^\top V))$, with the SVD already computed ($\Sigma_k$ is diagonal: it scales rows by numbers and is not a matrix product);
# - `"projected"`: $CK$, $DV$, $Q(CK)^\top$, and the product with $DV$;
# - `"kernel"`: $\varphi(K)^\top V$, then $\varphi(Q)$ times that (the normaliser is left out).
#
# Softmax, scaling by numbers (so also $\Sigma_k$) and features are left out, too.
# Then derive the break-even lengths: the $n$ at which each of the last three costs as much as the quadratic form.


# %% exercise="operations"
def operations(n, h, k):
    """Operations in the matrix products of each method: a dict with keys "quadratic", "svd", "projected", "kernel"."""
    ### BEGIN SOLUTION
    return {"quadratic": 4 * n * n * h, "svd": 4 * n * k * h, "projected": 8 * n * k * h, "kernel": 4 * n * h * h}
    ### END SOLUTION


def break_even(h, k):
    """The n at which a method costs as much as the quadratic form: a dict with keys "svd", "projected", "kernel"."""
    ### BEGIN SOLUTION
    return {"svd": k, "projected": 2 * k, "kernel": h}
    ### END SOLUTION


# %% test="operations" points=4
check = Check("operations", points=4)
count = lambda method: lambda *sizes: operations(*sizes)[method]  # noqa: E731
even = lambda method: lambda *sizes: break_even(*sizes)[method]  # noqa: E731
with check.idea("operations and break-even"):
    ones = "all sizes one: every product has one multiplication and one addition"
    for method, number in [("quadratic", 4), ("svd", 4), ("projected", 8), ("kernel", 4)]:
        check.close(check.run(count(method), 1, 1, 1), number, f"{method}, {ones}")
    check.close(check.run(count("quadratic"), 10, 1, 1), 400, "quadratic: n = 10 queries meet n = 10 keys, in both products")
    check.close(check.run(count("kernel"), 10, 1, 1), 40, "kernel: both products are linear in n")
    ### BEGIN HIDDEN TESTS
    many, wide, inner = (int(size) for size in (20 + randint(0, 9, ()), 11 + randint(0, 5, ()), 3 + randint(0, 5, ())))
    nhh, nkh, nnh = many * wide**2, many * inner * wide, many**2 * wide
    check.close(
        check.run(count("quadratic"), many, wide, inner),
        4 * nnh,
        "quadratic: Q Kᵀ is n × h times h × n, the product with V is n × n times n × h",
    )
    check.close(
        check.run(count("svd"), many, wide, inner),
        4 * nkh,
        "svd: Wᵀ V is k × n times n × h, then n × k times k × h",
    )
    check.close(
        check.run(count("projected"), many, wide, inner),
        8 * nkh,
        "projected: there are four products, C K, D V, Q (C K)ᵀ and the one with D V, each with 2 n k h operations",
    )
    check.close(
        check.run(count("kernel"), many, wide, inner),
        4 * nhh,
        "kernel: φ(K)ᵀ V is h × n times n × h, then n × h times h × h. There is no k in it",
    )
    ### END HIDDEN TESTS
    check.close(check.run(even("kernel"), 3, 1), 3, "kernel: set its count equal to the quadratic one and solve for n")
    ### BEGIN HIDDEN TESTS
    for rank_given in (inner, inner + 9):
        check.close(check.run(even("svd"), wide, rank_given), rank_given, "break-even of svd: 4 n k h = 4 n² h")
    check.close(
        check.run(even("projected"), wide, inner),
        2 * inner,
        "break-even of projected: 8 n k h = 4 n² h",
    )
    check.close(
        check.run(even("kernel"), wide, inner),
        wide,
        "break-even of kernel: 4 n h² = 4 n² h",
    )
    ### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: the crossover
# On the left: the counted operations of your functions, with softmax, features and normaliser.
# On the right: the time measured on this machine.
# A clock is noisy and says something about one machine only; look, but do not conclude much.
# The fifth method is PyTorch's fused `scaled_dot_product_attention`: the same operations as the quadratic form, but block by block, without ever storing the $n \times n$ weights (the bonus exercise of assignment 03).
# The counter cannot look into a fused kernel, so the left figure uses your formula for it.
#
# *Before you run it:* $h = 64$, $k = 16$.
# Where will the curves cross on the left?
# Will they cross at the same place on the right?

# %% look=true
seed(4)
h_wide, k_given = 64, 16
lengths = pick(
    smoke=[32, 128],
    laptop=[8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
    gpu=[8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384],
)
counted = {name: [] for name in ("quadratic", "SVD at hand", "projected", "kernel", "fused")}
seconds = {name: [] for name in counted}
for length in lengths:
    queries, keys, values = (torch.randn(length, h_wide) for _ in range(3))
    tall_factor, mixer = torch.randn(length, k_given), random_projection(k_given, length)
    methods = {
        "quadratic": (low_rank.softmax_attention, queries, keys, values),
        "SVD at hand": (svd_attention, tall_factor, torch.rand(k_given), mixer, values),
        "projected": (projected_attention, queries, keys, values, mixer, mixer),
        "kernel": (kernel_attention, queries, keys, values),
        "fused": (F.scaled_dot_product_attention, queries[None, None], keys[None, None], values[None, None]),
    }
    for name, call in methods.items():
        by_formula = operations(length, h_wide, k_given)["quadratic"]
        counted[name].append(by_formula if name == "fused" else checks.flops(*call))
        seconds[name].append(low_rank.best_time(*call, repeats=pick(smoke=1, laptop=7, gpu=7)))
figure, axes = plt.subplots(1, 2, figsize=(14, 4.6))
plots.curves(
    {name: (lengths, y) for name, y in counted.items()},
    "sequence length n",
    "operations",
    f"Counted, h = {h_wide}, k = {k_given}",
    log_x=True,
    log_y=True,
    ax=axes[0],
)
plots.curves(
    {name: (lengths, [1e3 * s for s in y]) for name, y in seconds.items()},
    "sequence length n",
    "milliseconds",
    "Measured on this machine",
    log_x=True,
    log_y=True,
    ax=axes[1],
)
figure.tight_layout()
plt.show()
print("break-even by your formulas:", break_even(h_wide, k_given))
for name in ("SVD at hand", "projected", "kernel"):
    cheaper = [length for length, a, b in zip(lengths, counted[name], counted["quadratic"]) if a < b]
    faster = [length for length, a, b in zip(lengths, seconds[name], seconds["quadratic"]) if a < b]
    fastest = [length for length, a, b in zip(lengths, seconds[name], seconds["fused"]) if a < b]
    counts_from, clock_from, fused_from = (min(found, default="—") for found in (cheaper, faster, fastest))
    sooner = f"less time from about {clock_from}, than fused from {fused_from}"
    print(f"{name:>12}: fewer operations than quadratic from n = {counts_from}, {sooner}")

# %% [markdown]
# ### 6.2 Which one, and at what price? <small>★★☆ · 20 min · 3 points, graded by hand</small>
# Kernel attention with $h = 64$ needs fewer operations than the quadratic form from $n = 64$ on.
# Yet large language models with contexts of many thousand words mostly use (fused) softmax attention.
# Explain, with what you measured in this notebook: what does each of the linear methods (SVD, projected, kernel) give up or need, which of them can serve a causal language model, and for which task and length would you choose linear attention nevertheless?
# About 150 words.

# %% [markdown] written="written-choice" points=3
# <!-- BEGIN SOLUTION -->
# **Model answer.** Operations are not time: short sequences are dominated by fixed costs, and the fused kernel does its many operations in
# fast memory, so that on the clock the curves cross later than in operations (in one run here kernel attention overtook the fused kernel at
# $n \approx 256$, not at 64); and in a whole model, projections and feed-forward layers
# cost $O(nh^2)$ anyway, so that attention is not the bottleneck before $n$ exceeds the width several times. More important is what is lost.
# The SVD needs $P$ first, $O(n^3)$: a way to understand heads, not to speed them up. Projections are tied to one length and to positions:
# they worked for
# the block head, whose weights never change, and failed for the group head, whose weights depend on content; mixing all positions also
# mixes in the future, so they do not fit a causal model. Kernel attention is causal with a state of fixed size, but its weights have rank
# $h$ at most: it averaged well
# and could not copy a neighbour (error about 0.63, near the floor $1 - h/n$ of the matrix). Language needs copying: names, quotations, agreement. I would
# choose linear attention where $n \gg h$, memory or latency per step is the limit, and summaries are what counts: long audio, sensor
# streams, very long documents for classification; or mixed with some softmax layers.
#
# | points | rubric |
# | --- | --- |
# | 1 | why fewer operations need not be less time that matters (fixed costs, memory traffic and fusion, the rest of the model) |
# | 1 | price of each method: SVD needs $P$; projections are fixed over positions and not causal; kernel weights have rank at most $h$, a fixed-size state, poor copying. Supported by measurements from the notebook |
# | 1 | a sensible case for linear attention, with $n$ against $h$ and the kind of task named |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 7 Bonus: chunks <small>★★★ · 40 min · 4 bonus points</small>
# The loop in 5.5 has $n$ dependent steps of tiny products; `cumsum` stores $n$ states of $h \times e$ numbers.
# Both are slow.
# Take the middle road (Hua et al., 2022): cut the sequence into chunks of $c$ positions.
# *Inside* a chunk use the masked quadratic form, for all its positions at once.
# What came *before* the chunk enters through the state $(S, z)$, which is updated once per chunk.
# The numerator for the queries $\varphi(Q_b)$ of one chunk is
#
# $$ \varphi(Q_b)\, S \;+\; \bigl[\varphi(Q_b)\varphi(K_b)^\top\bigr]_{j \le i}\, V_b , $$
#
# and the normaliser has the same two parts.
# The last chunk may be shorter.
# No tensor may have more than $\max(n h,\, n e,\, c^2,\, h e)$ elements.
# Inside a chunk there must be no loop over positions.
# The test sees that in the count: the products inside the chunks take $2nc(h + e)$ operations, so a larger $c$ must cost more, by at least half of what this formula says.


# %% exercise="bonus-chunked"
def chunked_attention(Q, K, V, c):
    """causal_linear_attention(Q, K, V), `c` positions at a time: Q and K (n, h), V (n, e). Returns (n, e)."""
    ### BEGIN SOLUTION
    S, z = V.new_zeros(K.shape[1], V.shape[1]), V.new_zeros(K.shape[1])
    outputs = []
    for q, k, v in zip(features(Q).split(c), features(K).split(c), V.split(c)):
        inside = (q @ k.mT).tril()  # (c, c)
        outputs.append((q @ S + inside @ v) / (q @ z + inside.sum(dim=1))[:, None])
        S, z = S + k.mT @ v, z + k.sum(dim=0)
    return torch.cat(outputs)
    ### END SOLUTION


# %% test="bonus-chunked" points=4
check = Check("bonus-chunked", points=4)
four_keys = (torch.zeros(4, 1), torch.tensor([[0.0], [2.0], [1.0], [0.0]]), torch.tensor([[4.0], [8.0], [1.0], [12.0]]))
with check.idea("inside the chunk and before it"):
    out = check.run(chunked_attention, *four_keys, 2, shape=(4, 1))
    by_hand = "φ(k) is 1, 3, 2, 1: the sums of φ(k) v are 4, 28, 30, 42, those of φ(k) are 1, 4, 6, 7"
    check.close(out, [[4.0], [7.0], [5.0], [6.0]], by_hand)
    ### BEGIN HIDDEN TESTS
    phi_of = lambda x: torch.where(x > 0, x + 1, x.clamp(max=0).exp())  # noqa: E731
    for positions, width_h, width_e, size in ((24, 3, 5, 6), (12, 4, 2, 3), (20, 5, 5, 10)):
        q, k, v = randn(positions, width_h), randn(positions, width_h), randn(positions, width_e)
        tril = (phi_of(q) @ phi_of(k).T).tril()
        check.close(
            check.run(chunked_attention, q, k, v, size),
            tril / tril.sum(1, keepdim=True) @ v,
            "the result differs from causal linear attention: what comes from the chunk, what from the state?",
        )
    ### END HIDDEN TESTS
with check.part("small tensors, work like n"):
    sized = lambda n: (randn(n, 4), randn(n, 4), randn(n, 3), 16)  # noqa: E731
    check.growth(chunked_attention, sized, (256, 512), 1, "for a fixed chunk size the work must grow like n", at_least=512)
    large = "a tensor with more than max(nh, ne, c², he) elements was created: neither n × n weights nor n states"
    check.largest(chunked_attention, *sized(512), elements=512 * 4, at_least=512, hint=large)
    ### BEGIN HIDDEN TESTS
    some = randint(0, 6144, (8,))
    kept = lambda Q, K: (phi_of(Q[some]) @ phi_of(K).T) * (torch.arange(6144) <= some[:, None])  # noqa: E731
    check.affordable(
        function=chunked_attention,
        make_args=lambda n: (randn(n, 64), randn(n, 64), randn(n, 96), 64),
        size=6144,
        megabytes=64,
        wasteful=144,  # an n × n matrix
        right=lambda out, Q, K, V, c: checks.near(out[some], kept(Q, K) @ V / kept(Q, K).sum(1, keepdim=True)),
        hint="for n = 6,144 the work or the memory is that of an n × n matrix, although the counter did not see it: only inside a chunk may there be a square",
    )
    check.largest(
        chunked_attention,
        *(randn(1024, 4), randn(1024, 4), randn(1024, 3), 32),
        elements=1024 * 4,
        at_least=1024,
        hint="for a longer sequence a tensor with more than max(nh, ne, c², he) elements was created",
    )
    ### END HIDDEN TESTS
with check.part("a chunk at once"):
    long = (randn(256, 4), randn(256, 4), randn(256, 3))
    less, more = (check.measure(checks.flops, chunked_attention, *long, c) for c in (16, 64))
    at_once = "inside a chunk work on all positions at once, with a c × c matrix: is there a loop, or is c ignored?"
    check.counted(more - less >= 256 * (64 - 16) * (4 + 3), at_once)
with check.edge("inputs unchanged"):
    check.unchanged(chunked_attention, *four_keys, 2)
### BEGIN HIDDEN TESTS
with check.part("a shorter last chunk"):
    q, k, v = randn(23, 3), randn(23, 3), randn(23, 5)
    tril = (phi_of(q) @ phi_of(k).T).tril()
    exact = tril / tril.sum(1, keepdim=True) @ v
    for size in (6, 2, 22, 100):
        shorter = "with a shorter last chunk the result differs: the result must not depend on c"
        check.close(check.run(chunked_attention, q, k, v, size), exact, shorter)
with check.edge("chunks of one, one chunk"):
    for size in (1, 23):
        hint = "with chunks of one position, or a single chunk, the result differs: it must not depend on c"
        check.close(check.run(chunked_attention, q, k, v, size), exact, hint)
    single = check.run(chunked_attention, q[:1], k[:1], v[:1], 6, shape=(1, 5))
    check.close(single, v[:1], "a sequence of length one: the output is the only value")
with check.edge("all digits of float64"):
    q, k, v = (x[:18].double() for x in (q, k, v))
    tril = (phi_of(q) @ phi_of(k).T).tril()
    digits = "with float64 input it fails, or digits are lost: new tensors must keep the type (`V.new_zeros`)"
    check.close(check.run(chunked_attention, q, k, v, 6), tril / tril.sum(1, keepdim=True) @ v, digits)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## What you can now do
# - Read a head's spectrum: averaging is low rank, selecting is not, and a low rank for each input does not mean one subspace for all inputs.
# - Bracket a product so that no $n \times n$ matrix appears, count the work, and say exactly what a truncated SVD loses.
# - Find the singular vectors of $QK^\top$ without forming it, factor softmax-free attention as $Q(CK)^\top DV$, and prove that it works.
# - Run attention as a recurrent network with a fixed-size state, equal to the masked quadratic form.
# - Say from which length on each method pays off, and which jobs a head of rank $h$ cannot do.
#
# Next, `05-logit-bias` recovers a whole distribution from an interface that shows two words of it, and turns low rank into an attack.
