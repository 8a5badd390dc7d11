# %% [markdown]
# # 13 · Training craft: making it converge
#
# | | |
# | --- | --- |
# | **You will be able to** | write SGD, Adam and AdamW that take the same steps as torch's · choose and plot learning-rate schedules · watch gradient norms, clip them, find spikes · stop a run at any instant and carry it on bit for bit · roll back after a divergence · round to bf16, fp16, tf32 and fp8 by hand, and say why loss scaling exists · average gradients over workers so that two processes equal one · compare two designs at equal cost, and say honestly what you saw |
# | **You need** | 07-transformer-blocks and 09-gpt; PyTorch modules and optimisers |
# | **Time** | about seven hours; each exercise says its own |
# | **Points** | 72, and 4 bonus |
#
# A model that is right on paper can still fail to train: the rate is too high, a gradient overflows, the machine is switched off after three days, two GPUs
# compute two different models. The papers have a sentence about each of these. This notebook has an exercise about each: small enough to check exactly, and
# written as large runs do it.
#
# **Notation.** $\theta$ is a parameter tensor, $g_t$ its gradient in step $t = 1, 2, \dots$, $\eta$ the learning rate, $\lambda$ the weight decay. $D$ is the width of a model, $L$ its number of
# blocks, $T$ the length of its context, $V$ its vocabulary. All operations on parameters are element by element.
#
# **How to work.** Replace `raise NotImplementedError()` with your code, run the cell, run the test below it. Grading runs further checks of the same ideas. A test that fails
# tells you which idea to check. *Before you run it* marks a prediction: write it down first, on paper.
#
# Your functions leave their inputs as they are, unless the exercise says otherwise.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import copy
import math
import random
import statistics
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from helpers import characters, checks, craft, crash_disk, models, number_formats, plots, training, two_designs, workers
from helpers.checks import Check, rand, randint, randn
from helpers.device import seed
from helpers.number_formats import DTYPES, FORMATS
from helpers.scale import pick, scale

torch.set_num_threads(1)  # the models here are small: several threads would only wait for each other

# %% [markdown]
# ## 1 Three optimisers
#
# An optimiser in PyTorch is a class. It gets parameters, in one or several *groups* with options of their own (a learning rate, a weight decay), and its `step()` changes
# every parameter that has a gradient. What it has to remember about a parameter from step to step lives in `self.state[p]`, a dictionary that is empty at first.
# Options live in the group, because a schedule changes `group["lr"]` between two steps. State that lives anywhere else is lost in a checkpoint. This is the frame:
#
# ```python
# for group in self.param_groups:                # often there is only one
#     for parameter in group["params"]:
#         if parameter.grad is not None:         # a layer that was not used has none: leave it alone
#             memory = self.state[parameter]     # yours: {} in the first step
#             ...                                # read group["lr"] and parameter.grad; change the parameter in place: add_, mul_, sub_
# ```
#
# ### 1.1 SGD with momentum <small>★☆☆ · 15 min · 3 points</small>
# The gradient, with weight decay as part of it, feeds a velocity, and the velocity moves the parameter:
#
# $$ d_t = g_t + \lambda\,\theta_{t-1}, \qquad v_t = \mu\, v_{t-1} + d_t \quad (v_0 = 0), \qquad \theta_t = \theta_{t-1} - \eta\, v_t . $$
#
# Write the body of `step`. It stands under `torch.no_grad()` already. The gradients themselves must stay as they are.
#
# *Before you run it:* under a constant gradient, how many times larger than without momentum does a step become, in the end, for $\mu = 0.9$?


# %% nbgrader={"grade": false, "grade_id": "sgd", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SGD(torch.optim.Optimizer):
    """Stochastic gradient descent with momentum μ and weight decay λ."""

    def __init__(self, params, lr, momentum=0.0, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    def step(self, closure=None):
        """One update of every parameter that has a gradient. `closure`, if given, computes the loss once more."""
        loss = None if closure is None else closure()
        with torch.no_grad():
            ### BEGIN SOLUTION
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        d = p.grad + group["weight_decay"] * p
                        v = group["momentum"] * self.state[p].get("v", 0) + d
                        self.state[p]["v"] = v
                        p.sub_(group["lr"] * v)
            ### END SOLUTION
        return loss


def follow_sgd(start, gradients, rates, restart=None, **options):
    """For the test: the parameters after every step, with a rate for each step and, if asked, a new process in the middle."""
    return craft.follow(SGD, start, gradients, rates, restart, **options)


# %% nbgrader={"grade": true, "grade_id": "sgd-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("sgd", points=3)
one_path = check.measure(checks.optimizer, SGD, [torch.tensor([1.0, 10.0])], [[torch.tensor([2.0, -4.0])]], lr=0.5)
check.close(
    one_path[0][0],
    [0.0, 12.0],
    "plain SGD: the parameter moves by −η times the gradient, in place",
    wrong={
        "the parameter moved along the gradient: it must go down, −η times the gradient": [2.0, 8.0],
        "the parameter did not move: change it in place, as p.sub_(…); `p = p − …` only binds a new name": [1.0, 10.0],
    },
)
ones = [[torch.ones(1)]] * 3
slow_path = check.measure(checks.optimizer, SGD, [torch.zeros(1)], ones, lr=1.0, momentum=0.5)
check.close(
    craft.then(slow_path, lambda r: torch.cat([state[0] for state in r])),
    [-1.0, -2.5, -4.25],
    "with momentum ½ and gradients of one the velocities are 1, 1.5, 1.75",
    wrong={
        "there is no momentum: the velocity has to be remembered in self.state[p]": [-1.0, -2.0, -3.0],
        "the gradient enters the velocity with its full weight, not with 1 − μ": [-0.5, -1.25, -2.125],
        "this is Nesterov's variant, which looks one step ahead: the plain velocity moves the parameter": [-1.5, -3.25, -5.125],
    },
)
shrunk = check.measure(checks.optimizer, SGD, [torch.tensor([10.0])], [[torch.tensor([2.0])]], lr=0.5, weight_decay=0.1)
check.close(
    shrunk[0][0],
    [8.5],
    "with weight decay 0.1, a parameter of 10 and a gradient of 2 the velocity is 2 + 0.1 · 10 = 3, and the step 0.5 · 3",
    wrong={
        "the weight decay is missing: λθ is part of the gradient": [9.0],
        "weight decay pulls towards zero: λθ is added to the gradient, not subtracted": [9.5],
    },
)
frozen = check.measure(checks.optimizer, SGD, [torch.ones(2), torch.ones(2)], [[None, torch.ones(2)]] * 2, lr=0.1, weight_decay=0.5)
check.close(frozen[-1][0], torch.ones(2), "a parameter without a gradient (None) stays as it is: no step, no weight decay")
### BEGIN HIDDEN TESTS


def flat(path):
    return torch.stack([torch.cat([p.flatten() for p in entry]) for entry in path])


def right_path(start, grads, paces, momentum=0.0, decay=0.0, kind="right", vectors_decay=True):
    ws, vs, path = [w.clone() for w in start], [None] * len(start), []
    for row, pace in zip(grads, paces):
        for i, g in enumerate(row):
            if g is None:
                continue
            shrink = decay if vectors_decay or ws[i].dim() >= 2 else 0.0
            d = g if kind == "decoupled" else g - shrink * ws[i] if kind == "sign" else g + shrink * ws[i]
            damp = 1 - momentum if kind == "ema" else 1
            vs[i] = damp * d if vs[i] is None else momentum * vs[i] + damp * d
            move = d + momentum * vs[i] if kind == "nesterov" else d if kind == "none" else vs[i]
            ws[i] = ws[i] * (1 - pace * shrink) if kind == "decoupled" else ws[i]
            ws[i] = ws[i] - pace * move
        path.append([w.clone() for w in ws])
    return flat(path)


shapes = [(3, 4), (5,), (2, 3, 2), (1, 1), ()]
for dtype in (torch.float32, torch.float64):
    w0 = [randn(*s, dtype=dtype) for s in shapes]
    gs = [[randn(*s, dtype=dtype) for s in shapes] for _ in range(100)]
    twins = [nn.Parameter(w.clone()) for w in w0]
    torchs = torch.optim.SGD(twins, lr=0.05, momentum=0.9, weight_decay=0.1, foreach=False)
    exact = []
    for row in gs:
        for p, g in zip(twins, row):
            p.grad = g.clone()
        torchs.step()
        exact.append([p.detach().clone() for p in twins])
    got = check.measure(checks.optimizer, SGD, w0, gs, lr=0.05, momentum=0.9, weight_decay=0.1)
    paces = [0.05] * 100
    check.close(
        craft.then(got, flat),
        flat(exact),
        "over 100 steps on several shapes the parameters are not those of torch.optim.SGD(momentum=0.9, weight_decay=0.1)",
        wrong={
            "the momentum is not there: is the velocity kept in self.state[p]?": right_path(w0, gs, paces, 0.9, 0.1, "none"),
            "the gradient enters the velocity with its full weight, not with 1 − μ": right_path(w0, gs, paces, 0.9, 0.1, "ema"),
            "weight decay pulls towards zero: λθ is added to the gradient, not subtracted": right_path(w0, gs, paces, 0.9, 0.1, "sign"),
            "the weight decay is missing: λθ is part of the gradient": right_path(w0, gs, paces, 0.9, 0.0),
            "the weight decay bypasses the velocity: here λθ is added to the gradient first": right_path(
                w0, gs, paces, 0.9, 0.1, "decoupled"
            ),
            "this is Nesterov's variant: the plain velocity moves the parameter": right_path(w0, gs, paces, 0.9, 0.1, "nesterov"),
        },
    )
paces = [0.05 / (1 + t) for t in range(12)]
want = right_path(w0, gs[:12], paces, 0.9, 0.3, vectors_decay=False)
got = check.run(follow_sgd, w0, gs[:12], paces, momentum=0.9, weight_decay=0.3)
check.close(
    craft.then(got, flat),
    want,
    "with a rate that changes every step, and groups with their own weight decay, the steps are wrong: read every option from `group` inside step, and keep η out of the velocity",
    wrong={
        "the rate of the first step is used throughout: read group['lr'] in every step": right_path(
            w0, gs[:12], [0.05] * 12, 0.9, 0.3, vectors_decay=False
        ),
        "all groups get the same weight decay: read it from the group": right_path(w0, gs[:12], paces, 0.9, 0.3),
    },
)
got = check.run(follow_sgd, w0, gs[:12], paces, restart=5, momentum=0.9, weight_decay=0.3)
check.close(
    craft.then(got, flat),
    want,
    "after a restart from state_dict() the steps differ: the velocity must live in self.state[p], and nowhere else",
)
gaps = [[g if (t + i) % 3 else None for i, g in enumerate(row)] for t, row in enumerate(gs[:9])]
got = check.measure(checks.optimizer, SGD, w0, gaps, lr=0.05, momentum=0.9)
check.close(
    craft.then(got, flat),
    right_path(w0, gaps, [0.05] * 9, 0.9),
    "when a gradient is missing in some steps the later steps are wrong: a parameter without one keeps its velocity, and does not move",
)
single = torch.ones(2, 2)
kept = check.measure(checks.optimizer, SGD, [single], [[single]] * 3, lr=0.1, momentum=0.9, weight_decay=0.1)
check.close(
    craft.then(kept, flat),
    right_path([single], [[single]] * 3, [0.1] * 3, 0.9, 0.1),
    "the same gradient three times gives wrong steps: is the gradient tensor itself changed, or kept as the velocity and then changed?",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# Under a constant gradient $g$ the velocity tends to $g\,(1 + \mu + \mu^2 + \dots) = g / (1-\mu)$: with $\mu = 0.9$ the steps become ten times as large. A rate that suits plain SGD is too high with momentum.
#
# ### 1.2 Derive: how large is Adam's first step? <small>★★☆ · 15 min · 2 points</small>
# Adam (Kingma and Ba, 2015) keeps running means of the gradient and of its square, both from zero, and divides one by the root of the other:
#
# $$ m_t = \beta_1 m_{t-1} + (1-\beta_1)\, g_t, \qquad v_t = \beta_2 v_{t-1} + (1-\beta_2)\, g_t^2, \qquad
# \hat m_t = \frac{m_t}{1-\beta_1^t}, \quad \hat v_t = \frac{v_t}{1-\beta_2^t}, \qquad
# \theta_t = \theta_{t-1} - \eta\, \frac{\hat m_t}{\sqrt{\hat v_t} + \varepsilon} . $$
#
# The hats are the *bias correction*: with a constant gradient $g$ the mean that starts from zero is $m_t = (1-\beta_1^t)\, g$ (sum the geometric series), so dividing by $1-\beta_1^t$ gives $g$.
#
# Put $t = 1$ into the formulas and simplify. The function gives what is *subtracted* from the parameter in the first step: with the hats, and without them ($m_1$ and $v_1$ in their places).
#
# *Before you run it:* without the correction, is the first step with the usual $\beta_1 = 0.9$, $\beta_2 = 0.999$ too small or too large?


# %% nbgrader={"grade": false, "grade_id": "first-step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def first_adam_step(g, lr, betas=(0.9, 0.999), eps=1e-8, corrected=True):
    """What Adam subtracts in its first step for gradients g (any shape), with or without bias correction: a tensor like g."""
    ### BEGIN SOLUTION
    b1, b2 = betas
    if corrected:
        return lr * g / (g.abs() + eps)
    return lr * (1 - b1) * g / ((1 - b2) ** 0.5 * g.abs() + eps)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "first-step-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check = Check("first-step", points=2)
tilt = torch.tensor([3.0, -0.01, 0.0], dtype=torch.float64)
step = check.run(first_adam_step, tilt, 0.1, shape=(3,))
check.close(
    step,
    [0.1, -0.1, 0.0],
    "with the correction the first step has the size η, whatever the gradient's size, and the gradient's sign (0 where that is 0)",
    rtol=1e-4,
    wrong={
        "the step is to be subtracted: it has the gradient's own sign": [-0.1, 0.1, 0.0],
        "the mean's correction is missing: m̂ = g in the first step": [0.01, -0.01, 0.0],
        "this step is proportional to the gradient: v̂ = g², so √v̂ = |g| cancels it": [0.3, -0.001, 0.0],
    },
)
plain_step = check.run(first_adam_step, tilt, 0.1, (0.9, 0.96), 1e-8, False, shape=(3,))
check.close(
    plain_step,
    [0.05, -0.05, 0.0],
    "without the correction, β₁ = 0.9 and β₂ = 0.96 give η · 0.1 / √0.04 = η / 2",
    rtol=1e-4,
    wrong={
        "the correction is still there: with corrected=False use m₁ and v₁ themselves": [0.1, -0.1, 0.0],
        "the root of 1 − β₂ is needed: v is a mean of squares": [0.25, -0.25, 0.0],
        "m₁ = (1 − β₁) g, and v₁ = (1 − β₂) g²: you used β₁ and β₂ instead": [0.1 * 0.9 / 0.96**0.5, -0.1 * 0.9 / 0.96**0.5, 0.0],
    },
)
check.unchanged(first_adam_step, tilt, 0.1)
### BEGIN HIDDEN TESTS
tilt = randn(4, 3, dtype=torch.float64) * 1e-3
step = check.run(first_adam_step, tilt, 0.3, (0.8, 0.9), 1e-3, shape=(4, 3))
check.close(
    step,
    0.3 * tilt / (tilt.abs() + 1e-3),
    "with a large ε and small gradients the corrected step is wrong",
    wrong={
        "ε is missing: it is added to the root": 0.3 * tilt.sign(),
        "ε is added under the root: it belongs outside": 0.3 * tilt / (tilt**2 + 1e-3).sqrt(),
        "ε is added before the correction of v: √v̂ first, then ε": 0.3 * tilt / (tilt.abs() + 1e-3 / 0.1**0.5),
    },
)
step = check.run(first_adam_step, tilt, 0.3, (0.8, 0.9), 1e-3, False, shape=(4, 3))
check.close(
    step,
    0.3 * 0.2 * tilt / (0.1**0.5 * tilt.abs() + 1e-3),
    "with a large ε and small gradients the uncorrected step is wrong: which factor goes where?",
    wrong={
        "ε is missing: it is added to the root": 0.3 * 0.2 / 0.1**0.5 * tilt.sign(),
        "ε is added under the root: it belongs outside": 0.3 * 0.2 * tilt / (0.1 * tilt**2 + 1e-3).sqrt(),
    },
)
### END HIDDEN TESTS
check.score()

# %%
ratio = (first_adam_step(torch.tensor(1.0), 1.0, corrected=False) / first_adam_step(torch.tensor(1.0), 1.0)).item()
print(f"without bias correction the first step is {ratio:.2f} times as large as with it")

# %% [markdown]
# Too large, by $(1-\beta_1)/\sqrt{1-\beta_2} = 3.16$: the running mean of squares starts from zero as well, it is the slower of the two, and it stands in the denominator.
#
# ### 1.3 Adam <small>★★☆ · 20 min · 4 points</small>
# Now the class. Weight decay is again part of the gradient: $g_t + \lambda\,\theta_{t-1}$ takes the place of $g_t$ everywhere ("L2"). $\varepsilon$ is added to $\sqrt{\hat v_t}$, outside the root and
# after the correction. Each parameter counts its own steps: $t$ belongs into its state, too.


# %% nbgrader={"grade": false, "grade_id": "adam", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Adam(torch.optim.Optimizer):
    """Adam with bias correction; weight decay is part of the gradient."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def step(self, closure=None):
        """One update of every parameter that has a gradient. `closure`, if given, computes the loss once more."""
        loss = None if closure is None else closure()
        with torch.no_grad():
            ### BEGIN SOLUTION
            for group in self.param_groups:
                b1, b2 = group["betas"]
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    g = p.grad + group["weight_decay"] * p
                    t = state["t"] = state.get("t", 0) + 1
                    m = state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
                    v = state["v"] = b2 * state.get("v", 0) + (1 - b2) * g * g
                    root = (v / (1 - b2**t)).sqrt() + group["eps"]
                    p.sub_(group["lr"] * m / (1 - b1**t) / root)
            ### END SOLUTION
        return loss


def follow_adam(start, gradients, rates, restart=None, **options):
    """For the test: the parameters after every step, with a rate for each step and, if asked, a new process in the middle."""
    return craft.follow(Adam, start, gradients, rates, restart, **options)


# %% nbgrader={"grade": true, "grade_id": "adam-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check = Check("adam", points=4)
two = [[torch.tensor([4.0, -1.0])], [torch.tensor([0.0, -1.0])]]
short_path = check.measure(checks.optimizer, Adam, [torch.zeros(2)], two, lr=0.1, betas=(0.5, 0.84))
check.close(
    short_path[0][0],
    [-0.1, 0.1],
    "the first step has the size η (see 1.2)",
    wrong={
        "the correction of m is missing: the first step is too small": [-0.05, 0.05],
        "the correction of v is missing: the first step is too large": [-0.25, 0.25],
        "the first step lacks both corrections": [-0.125, 0.125],
        "the parameter moved along the gradient: it must go down": [0.1, -0.1],
    },
)
# second step, first entry: m = 0.5·2 + 0.5·0 = 1, m̂ = 1/0.75; v = 0.84·2.56 + 0.16·0 = 2.1504, v̂ = 2.1504/0.2944
check.close(
    short_path[1][0],
    [-0.1 - 0.1 * (1 / 0.75) / (2.1504 / 0.2944) ** 0.5, 0.2],
    "the second step is wrong: for gradients 4, then 0, the means are m = 1 and v = 2.1504, corrected with t = 2",
    rtol=1e-4,
    wrong={
        "the step count stays at 1: t grows with every step": [
            -0.1 - 0.1 * (1 / 0.5) / (2.1504 / 0.16) ** 0.5,
            0.1 + 0.1 * (0.75 / 0.5) / (0.2944 / 0.16) ** 0.5,
        ],
        "the running means are not remembered: keep them in self.state[p]": [-0.1, 0.2],
        "the betas are swapped: β₁ belongs to m, β₂ to v": [-0.1 - 0.1 * (0.5376 / 0.2944) / (4 / 0.75) ** 0.5, 0.2],
    },
)
idle = check.measure(checks.optimizer, Adam, [torch.ones(2), torch.ones(2)], [[None, torch.ones(2)]] * 2, lr=0.1, weight_decay=0.5)
check.close(idle[-1][0], torch.ones(2), "a parameter without a gradient (None) stays as it is")
### BEGIN HIDDEN TESTS


def flat(path):
    return torch.stack([torch.cat([p.flatten() for p in entry]) for entry in path])


def digits_lost(found, truth):
    return craft.then(found, lambda r: bool((flat(r) - truth).abs().max() < 1e-3)) is True


FEW_DIGITS = "almost, but digits are lost: compute 1 − βᵗ with plain numbers; a float32 tensor for t has seven digits only"


def by_hand(start, grads, paces, betas=(0.9, 0.999), eps=1e-8, decay=0.0, kind="right", vectors_decay=True):
    (b1, b2), ws, path = betas, [w.clone() for w in start], []
    ms, vs = [torch.zeros_like(w) for w in ws], [torch.zeros_like(w) for w in ws]
    for t, (row, pace) in enumerate(zip(grads, paces), 1):
        for i, g in enumerate(row):
            shrink = decay if vectors_decay or ws[i].dim() >= 2 else 0.0
            if kind != "decoupled":
                g = g + shrink * ws[i]
            ms[i] = b1 * ms[i] + (1 - b1) * g
            vs[i] = b2 * vs[i] + (1 - b2) * (g.abs() if kind == "abs" else g * g)
            count = {"first": 1, "late": t + 1, "shared": (t - 1) * len(row) + i + 1}.get(kind, t)
            c1, c2 = (1, 1) if kind == "raw" else (1 - b1**count, 1 - b2**count)
            c1, c2 = (c1, 1) if kind == "only m" else (1, c2) if kind == "only v" else (c1, c2)
            root = (vs[i] / c2 + eps).sqrt() if kind == "under" else vs[i].sqrt() + eps if kind == "early" else (vs[i] / c2).sqrt() + eps
            move = ms[i] / c1 / (root / c2**0.5 if kind == "early" else vs[i] / c2 + eps if kind == "no root" else root)
            ws[i] = (ws[i] * (1 - pace * shrink) if kind == "decoupled" else ws[i]) - pace * move
        path.append([w.clone() for w in ws])
    return flat(path)


sizes = [(4, 3), (5,), (2, 1, 3), ()]
for dtype, options in [(torch.float32, {}), (torch.float64, {"betas": (0.8, 0.95), "eps": 1e-2, "weight_decay": 0.2})]:
    w0 = [randn(*s, dtype=dtype) for s in sizes]
    gs = [[randn(*s, dtype=dtype) * (0.3 if t % 7 else 3.0) for s in sizes] for t in range(100)]
    twins = [nn.Parameter(w.clone()) for w in w0]
    torchs = torch.optim.Adam(twins, lr=0.02, foreach=False, **options)
    exact = []
    for row in gs:
        for p, g in zip(twins, row):
            p.grad = g.clone()
        torchs.step()
        exact.append([p.detach().clone() for p in twins])
    got = check.measure(checks.optimizer, Adam, w0, gs, lr=0.02, **options)
    how = {"betas": options.get("betas", (0.9, 0.999)), "eps": options.get("eps", 1e-8), "decay": options.get("weight_decay", 0.0)}
    paces = [0.02] * 100
    slips = {
        "the bias correction is missing": "raw",
        "only m is corrected: v needs its own correction, 1 − β₂ᵗ": "only m",
        "only v is corrected: m needs its own correction, 1 − β₁ᵗ": "only v",
        "the correction always uses t = 1: count the steps in the state": "first",
        "the correction uses t + 1: the first step is t = 1": "late",
        "one t counts the steps of all parameters together: each has a t of its own, in self.state[p]": "shared",
        "ε is added under the root: it belongs outside": "under",
        "ε is added before v is corrected: √v̂ first, then ε": "early",
        "the root of v is missing": "no root",
        "v is the running mean of squares, not of absolute values": "abs",
        "the weight decay bypasses the running means: that is AdamW, the next exercise. Here λθ is added to the gradient": "decoupled",
    }
    wrong = {hint: by_hand(w0, gs, paces, **how, kind=kind) for hint, kind in slips.items()}
    if how["decay"]:
        wrong["the weight decay is missing: λθ is part of the gradient"] = by_hand(w0, gs, paces, **{**how, "decay": 0.0})
        wrong["ε is missing"] = by_hand(w0, gs, paces, **{**how, "eps": 0.0})
    check.close(
        craft.then(got, flat),
        flat(exact),
        FEW_DIGITS
        if digits_lost(got, flat(exact))
        else f"over 100 steps on several shapes the parameters are not those of torch.optim.Adam{' with weight decay' if options else ''}",
        wrong=wrong,
    )
paces = [0.05 / (1 + t) for t in range(12)]
want = by_hand(w0, gs[:12], paces, decay=0.3, vectors_decay=False)
got = check.run(follow_adam, w0, gs[:12], paces, weight_decay=0.3)
check.close(
    craft.then(got, flat),
    want,
    "with a rate that changes every step, and groups with their own weight decay, the steps are wrong: read every option from `group` inside step",
)
got = check.run(follow_adam, w0, gs[:12], paces, restart=5, weight_decay=0.3)
check.close(
    craft.then(got, flat),
    want,
    "after a restart from state_dict() the steps differ: m, v and t must live in self.state[p]",
)
gaps = [[g if (t + i) % 3 else None for i, g in enumerate(row)] for t, row in enumerate(gs[:9])]
twins = [nn.Parameter(w.clone()) for w in w0]
torchs = torch.optim.Adam(twins, lr=0.02, foreach=False)
for row in gaps:
    for p, g in zip(twins, row):
        p.grad = None if g is None else g.clone()
    torchs.step()
got = check.measure(checks.optimizer, Adam, w0, gaps, lr=0.02)
check.close(
    craft.then(got, lambda r: flat(r)[-1]),
    flat([[p.detach() for p in twins]])[0],
    "when a gradient is missing in some steps the corrections are wrong: every parameter counts the steps it has taken itself",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 1.4 AdamW <small>★★☆ · 15 min · 4 points</small>
# In Adam, weight decay is divided by $\sqrt{\hat v}$ with the rest of the gradient: weights with large gradients are hardly decayed. AdamW (Loshchilov and Hutter, 2019) takes it out of
# the gradient and applies it to the parameter directly, with the rate of the step, before Adam's own step with the pure gradient:
#
# $$ \theta_{t-1}' = (1 - \eta\lambda)\, \theta_{t-1}, \qquad \theta_t = \theta_{t-1}' - \eta\, \frac{\hat m_t}{\sqrt{\hat v_t} + \varepsilon} . $$
#
# The default of $\lambda$ is 0.01, as in torch. Write it as a class of its own, without calling your Adam: it will be copied into a script later.


# %% nbgrader={"grade": false, "grade_id": "adamw", "locked": false, "schema_version": 3, "solution": true, "task": false}
class AdamW(torch.optim.Optimizer):
    """Adam with decoupled weight decay."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def step(self, closure=None):
        """One update of every parameter that has a gradient. `closure`, if given, computes the loss once more."""
        loss = None if closure is None else closure()
        with torch.no_grad():
            ### BEGIN SOLUTION
            for group in self.param_groups:
                b1, b2 = group["betas"]
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    t = state["t"] = state.get("t", 0) + 1
                    m = state["m"] = b1 * state.get("m", 0) + (1 - b1) * p.grad
                    v = state["v"] = b2 * state.get("v", 0) + (1 - b2) * p.grad**2
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                    root = (v / (1 - b2**t)).sqrt() + group["eps"]
                    p.sub_(group["lr"] * m / (1 - b1**t) / root)
            ### END SOLUTION
        return loss


def follow_adamw(start, gradients, rates, restart=None, **options):
    """For the test: the parameters after every step, with a rate for each step and, if asked, a new process in the middle."""
    return craft.follow(AdamW, start, gradients, rates, restart, **options)


# %% nbgrader={"grade": true, "grade_id": "adamw-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check = Check("adamw", points=4)
still = check.measure(checks.optimizer, AdamW, [torch.tensor([8.0])], [[torch.zeros(1)]] * 2, lr=0.5, weight_decay=0.1)
check.close(
    craft.then(still, lambda r: torch.cat([state[0] for state in r])),
    [7.6, 7.22],
    "with a gradient of zero only the decay acts: every step multiplies by 1 − ηλ = 0.95",
    wrong={
        "nothing decays: multiply the parameter by 1 − ηλ": [8.0, 8.0],
        "the decay is λ, without the learning rate: 1 − ηλ": [7.2, 6.48],
        "the decay went through Adam's running means: it must act on the parameter itself": [7.5, 7.0011],
        "the weights grow: the factor is 1 − ηλ": [8.4, 8.82],
    },
)
moved = check.measure(checks.optimizer, AdamW, [torch.tensor([8.0])], [[torch.tensor([3.0])]], lr=0.5, weight_decay=0.1)
check.close(moved[0][0], [7.1], "with a gradient the step is that of Adam, η in the first step, on top of the decay: 8 · 0.95 − 0.5")
idle = check.measure(checks.optimizer, AdamW, [torch.ones(2), torch.ones(2)], [[None, torch.ones(2)]] * 2, lr=0.1)
check.close(idle[-1][0], torch.ones(2), "a parameter without a gradient (None) stays as it is: it is not decayed either")
### BEGIN HIDDEN TESTS


def flat(path):
    return torch.stack([torch.cat([p.flatten() for p in entry]) for entry in path])


def digits_lost(found, truth):
    return craft.then(found, lambda r: bool((flat(r) - truth).abs().max() < 1e-3)) is True


FEW_DIGITS = "almost, but digits are lost: compute 1 − βᵗ with plain numbers; a float32 tensor for t has seven digits only"


def by_hand(start, grads, paces, betas=(0.9, 0.999), eps=1e-8, decay=0.01, kind="right", vectors_decay=True):
    (b1, b2), ws, path = betas, [w.clone() for w in start], []
    ms, vs = [torch.zeros_like(w) for w in ws], [torch.zeros_like(w) for w in ws]
    for t, (row, pace) in enumerate(zip(grads, paces), 1):
        for i, g in enumerate(row):
            shrink = decay if vectors_decay or ws[i].dim() >= 2 else 0.0
            if kind == "coupled":
                g = g + shrink * ws[i]
            ms[i] = b1 * ms[i] + (1 - b1) * g
            vs[i] = b2 * vs[i] + (1 - b2) * g * g
            c1, c2 = (1, 1) if kind == "raw" else (1 - b1**t, 1 - b2**t)
            move = (
                ms[i]
                / c1
                / (
                    (vs[i].sqrt() + eps) / c2**0.5
                    if kind == "early"
                    else (vs[i] / c2 + eps).sqrt()
                    if kind == "under"
                    else (vs[i] / c2).sqrt() + eps
                )
            )
            factor = {"coupled": 1, "no rate": 1 - shrink, "after": 1, "sign": 1 + pace * shrink, "squared": 1 - pace * shrink**2}.get(
                kind, 1 - pace * shrink
            )
            ws[i] = ws[i] * factor - pace * move
            ws[i] = ws[i] * (1 - pace * shrink) if kind == "after" else ws[i]
        path.append([w.clone() for w in ws])
    return flat(path)


sizes = [(4, 3), (5,), (2, 1, 3), ()]
for dtype, options in [
    (torch.float32, {}),
    (torch.float64, {"betas": (0.8, 0.95), "eps": 1e-2, "weight_decay": 0.3}),
    (torch.float64, {"betas": (0.9, 0.95), "weight_decay": 0.0}),
]:
    w0 = [3 * randn(*s, dtype=dtype) for s in sizes]
    gs = [[randn(*s, dtype=dtype) * (0.3 if t % 7 else 3.0) for s in sizes] for t in range(100)]
    twins = [nn.Parameter(w.clone()) for w in w0]
    torchs = torch.optim.AdamW(twins, lr=0.02, foreach=False, **options)
    exact = []
    for row in gs:
        for p, g in zip(twins, row):
            p.grad = g.clone()
        torchs.step()
        exact.append([p.detach().clone() for p in twins])
    got = check.measure(checks.optimizer, AdamW, w0, gs, lr=0.02, **options)
    how = {"betas": options.get("betas", (0.9, 0.999)), "eps": options.get("eps", 1e-8), "decay": options.get("weight_decay", 0.01)}
    paces = [0.02] * 100
    slips = {
        "the bias correction is missing": "raw",
        "ε is added before v is corrected: √v̂ first, then ε": "early",
        "ε is added under the root: it belongs outside": "under",
    }
    if how["decay"]:
        slips |= {
            "the decay is part of the gradient: that is Adam with L2, not AdamW": "coupled",
            "the decay lacks the learning rate: the factor is 1 − ηλ": "no rate",
            "the decay comes after Adam's step: it acts on the parameter before it": "after",
            "the weights grow: the factor is 1 − ηλ": "sign",
        }
    check.close(
        craft.then(got, flat),
        flat(exact),
        FEW_DIGITS
        if digits_lost(got, flat(exact))
        else "over 100 steps on several shapes the parameters are not those of torch.optim.AdamW",
        wrong={hint: by_hand(w0, gs, paces, **how, kind=kind) for hint, kind in slips.items()}
        | ({"the weight decay is missing": by_hand(w0, gs, paces, **{**how, "decay": 0.0})} if how["decay"] else {}),
    )
paces = [0.05 / (1 + t) for t in range(12)]
want = by_hand(w0, gs[:12], paces, decay=0.3, vectors_decay=False)
got = check.run(follow_adamw, w0, gs[:12], paces, weight_decay=0.3)
check.close(
    craft.then(got, flat),
    want,
    "with a rate that changes every step, and groups with their own weight decay, the steps are wrong: read every option from `group` inside step",
    wrong={
        "the rate of the first step is used throughout: read group['lr'] in every step": by_hand(
            w0, gs[:12], [0.05] * 12, decay=0.3, vectors_decay=False
        ),
        "all groups get the same weight decay: read it from the group": by_hand(w0, gs[:12], paces, decay=0.3),
    },
)
got = check.run(follow_adamw, w0, gs[:12], paces, restart=5, weight_decay=0.3)
check.close(
    craft.then(got, flat),
    want,
    "after a restart from state_dict() the steps differ: m, v and t must live in self.state[p]",
)
gaps = [[g if (t + i) % 3 else None for i, g in enumerate(row)] for t, row in enumerate(gs[:9])]
twins = [nn.Parameter(w.clone()) for w in w0]
torchs = torch.optim.AdamW(twins, lr=0.02, foreach=False)
for row in gaps:
    for p, g in zip(twins, row):
        p.grad = None if g is None else g.clone()
    torchs.step()
got = check.measure(checks.optimizer, AdamW, w0, gaps, lr=0.02)
check.close(
    craft.then(got, lambda r: flat(r)[-1]),
    flat([[p.detach() for p in twins]])[0],
    "when a gradient is missing in some steps the corrections are wrong: every parameter counts the steps it has taken itself",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: a narrow valley
# Two parameters, a loss that is 100 times steeper in one direction than in the other: $f(x, y) = \frac{1}{2}(x^2 + 100\, y^2)$. SGD's rate is limited by the steep direction (above $\eta = 2/100$ it
# diverges), so the flat one crawls. Momentum helps; Adam gives both directions a rate of their own.
#
# *Before you run it:* at the start the gradient is (−9, 120): almost straight along y. Which of the paths does not set out in that direction? Why?


# %%
def descend(make, steps=60):
    point = nn.Parameter(torch.tensor([-9.0, 1.2]))
    stepper = make([point])
    path = [point.detach().clone()]
    for _ in range(steps):
        stepper.zero_grad()
        (0.5 * (point[0] ** 2 + 100 * point[1] ** 2)).backward()
        stepper.step()
        path.append(point.detach().clone())
    return torch.stack(path)


valley_paths = {
    "SGD, η = 0.018": descend(lambda ps: SGD(ps, lr=0.018)),
    "momentum 0.9, η = 0.01": descend(lambda ps: SGD(ps, lr=0.01, momentum=0.9)),
    "Adam, η = 0.5": descend(lambda ps: Adam(ps, lr=0.5)),
}
plots.use_course_style()
figure, ax = plt.subplots(figsize=(9, 3.8))
xs, ys = np.meshgrid(np.linspace(-10, 4, 200), np.linspace(-1.6, 1.6, 200))
ax.contour(xs, ys, 0.5 * (xs**2 + 100 * ys**2), levels=[1, 5, 15, 40, 80, 140], colors="0.75", linewidths=1)
for index, (title, path) in enumerate(valley_paths.items()):
    ax.plot(path[:, 0], path[:, 1], label=title, color=f"C{index}", marker=plots.MARKERS[index], markersize=4, linewidth=1.2)
ax.set(xlabel="x (flat direction)", ylabel="y (steep direction)", title="60 steps down a narrow valley, from the left")
ax.legend(loc="lower right")
plt.show()
for title, path in valley_paths.items():
    print(f"{title:<24} ends at x = {path[-1][0].item():7.4f}, y = {path[-1][1].item():7.4f}")

# %% [markdown]
# Adam does not: its first step has the size $\eta$ in *both* directions, whatever the gradient's are (1.2). (The two axes of the picture have different units, so that right angles do not look right.)
#
# ## 2 Schedules
#
# ### 2.1 Warm up, then fall with the root <small>★☆☆ · 10 min · 2 points</small>
# The original Transformer's schedule (Vaswani et al., 2017), called Noam's after one of its authors:
#
# $$ \eta(\text{step}) = \text{factor} \cdot D^{-1/2} \cdot \min\bigl(\text{step}^{-1/2},\; \text{step} \cdot \text{warmup}^{-3/2}\bigr). $$
#
# Steps are counted from 1. Some loops ask for step 0 before they begin: give 0.0 there, which is the formula's limit.
#
# 1. `noam_rate`: the formula.
# 2. `noam_peak`: the highest rate of the whole schedule, derived, not searched. At which step do the two terms meet?


# %% nbgrader={"grade": false, "grade_id": "noam", "locked": false, "schema_version": 3, "solution": true, "task": false}
def noam_rate(step, width, warmup, factor=1.0):
    """The learning rate in this step (counted from 1; 0.0 for step 0), for a model of this width: a float."""
    ### BEGIN SOLUTION
    if step == 0:
        return 0.0
    return factor * width**-0.5 * min(step**-0.5, step * warmup**-1.5)
    ### END SOLUTION


def noam_peak(width, warmup, factor=1.0):
    """The highest rate of the schedule: a float."""
    ### BEGIN SOLUTION
    return factor * (width * warmup) ** -0.5
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "noam-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check = Check("noam", points=2)
rates = check.run(lambda: [noam_rate(n, 4, 4) for n in (1, 2, 4, 16)])
check.close(
    rates,
    [1 / 16, 1 / 8, 1 / 4, 1 / 8],
    "width 4, warm-up 4: the rate rises in a line to step 4, then falls with the root of the step",
    wrong={
        "the width is missing: multiply by D^(−1/2)": [1 / 8, 1 / 4, 1 / 2, 1 / 4],
        "the larger of the two terms is taken: it must be the smaller one": [1 / 2, 0.5**0.5 / 2, 1 / 4, 1.0],
        "the rate stays at its peak: after the warm-up it falls with step^(−1/2)": [1 / 16, 1 / 8, 1 / 4, 1 / 4],
        "multiply by the −1/2 power of the width, not by its +1/2 power": [1 / 4, 1 / 2, 1.0, 1 / 2],
        "the rate falls like 1/step: the power is −1/2": [1 / 32, 1 / 16, 1 / 8, 1 / 32],
    },
)
check.close(
    check.run(noam_peak, 4, 4),
    0.25,
    "the two terms meet at step = warm-up: put that into either of them",
    wrong={"this is the rate of the first step: the peak is at the end of the warm-up": 1 / 16, "the width is missing": 0.5},
)
### BEGIN HIDDEN TESTS
check.close(
    check.run(lambda: [noam_rate(n, 512, 4000) for n in (1, 4000, 100_000)]),
    [512**-0.5 * 4000**-1.5, (512 * 4000) ** -0.5, (512 * 100_000) ** -0.5],
    "the paper's own setting (width 512, warm-up 4000) gives other rates",
    rtol=1e-6,
)
check.equal(check.run(noam_rate, 0, 64, 10), 0.0, "step 0 gives 0.0, not an error: zero has no negative power")
check.close(
    check.run(lambda: [noam_rate(7, 3, 5, 2.5), noam_peak(3, 5, factor=2.5)]),
    [2.5 * (3 * 7) ** -0.5, 2.5 * 15**-0.5],
    "the factor multiplies every rate, and the peak",
)
check.close(check.run(lambda: [noam_rate(1, 9, 1), noam_peak(9, 1)]), [1 / 3, 1 / 3], "a warm-up of one step: the first rate is the peak")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 Warm up, then half a cosine <small>★☆☆ · 15 min · 2 points</small>
# What many language models use since GPT-3. Iterations $t$ are counted from 0:
#
# - warm-up, $t < T_w$: $\;\eta = \frac{t}{T_w}\, \eta_{\max}$;
# - cosine, $T_w \le t < T_c$: $\;\eta = \eta_{\min} + \frac{1}{2}\Bigl(1 + \cos\bigl(\pi\, \frac{t - T_w}{T_c - T_w}\bigr)\Bigr)(\eta_{\max} - \eta_{\min})$;
# - the end, $t \ge T_c$: $\;\eta = \eta_{\min}$.
#
# There may be no warm-up at all ($T_w = 0$), and it may last until the end ($T_w = T_c$).


# %% nbgrader={"grade": false, "grade_id": "cosine", "locked": false, "schema_version": 3, "solution": true, "task": false}
def cosine_rate(it, max_lr, min_lr, warmup_iters, cosine_cycle_iters):
    """The learning rate in iteration `it` (from 0): linear warm-up until T_w = warmup_iters, half a cosine until T_c = cosine_cycle_iters, then min_lr. A float."""
    ### BEGIN SOLUTION
    if it < warmup_iters:
        return it / warmup_iters * max_lr
    if it >= cosine_cycle_iters:
        return min_lr
    share = (it - warmup_iters) / (cosine_cycle_iters - warmup_iters)
    return min_lr + 0.5 * (1 + math.cos(math.pi * share)) * (max_lr - min_lr)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "cosine-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check = Check("cosine", points=2)
rates = check.run(lambda: [cosine_rate(t, 1.0, 0.2, 4, 12) for t in (0, 2, 4, 8, 12, 20)])
check.close(
    rates,
    [0.0, 0.5, 1.0, 0.6, 0.2, 0.2],
    "peak 1, end 0.2, warm-up 4, end of the cosine 12: at 0, 2, 4, 8, 12 and 20 the rates are wrong",
    rtol=1e-6,
    wrong={
        "the warm-up counts from 1: in iteration 0 the rate is 0": [0.25, 0.75, 1.0, 0.6, 0.2, 0.2],
        "the cosine falls to zero: it ends at min_lr": [0.0, 0.5, 1.0, 0.5, 0.0, 0.0],
        "after the end the cosine swings up again: stay at min_lr": [0.0, 0.5, 1.0, 0.6, 0.2, 1.0],
        "the cosine starts at iteration 0: its share is counted from the end of the warm-up": [
            0.0,
            0.5,
            0.2 + 0.4 * (1 + math.cos(math.pi / 3)),
            0.2 + 0.4 * (1 + math.cos(2 * math.pi / 3)),
            0.2,
            0.2,
        ],
        "the warm-up starts at min_lr: it starts at 0": [0.2, 0.6, 1.0, 0.6, 0.2, 0.2],
    },
)
check.close(
    check.run(lambda: [cosine_rate(t, 3.0, 1.0, 0, 2) for t in (0, 1, 2)]), [3.0, 2.0, 1.0], "without a warm-up the first rate is the peak"
)
### BEGIN HIDDEN TESTS
high, low, first, last = 0.7, 0.1, 7, 29
exact = [
    t / first * high if t < first else low if t >= last else low + (high - low) * math.cos(math.pi * (t - first) / (last - first) / 2) ** 2
    for t in range(40)
]
check.close(
    check.run(lambda: [cosine_rate(t, high, low, first, last) for t in range(40)]),
    exact,
    "with other numbers the rates are wrong",
    rtol=1e-6,
    wrong={
        "the fall is a straight line: it is half a cosine": [
            t / first * high if t < first else low if t >= last else high + (low - high) * (t - first) / (last - first) for t in range(40)
        ],
        "the cosine lasts T_c iterations after the warm-up: it ends at T_c": [
            t / first * high if t < first else low + (high - low) * math.cos(math.pi * (t - first) / last / 2) ** 2 if t < last else low
            for t in range(40)
        ],
    },
)
check.close(
    check.run(lambda: [cosine_rate(t, 1.0, 0.5, 3, 3) for t in (2, 3, 4)]),
    [2 / 3, 0.5, 0.5],
    "a warm-up that lasts until the end: nothing may be divided by zero",
)
### END HIDDEN TESTS
check.score()

# %%
widths, span = (128, 512), np.arange(0, 4001, 25)
shapes_of_rates = {f"Noam, width {w}, warm-up 500": (span, [noam_rate(int(t), w, 500) for t in span]) for w in widths}
shapes_of_rates["cosine, peak 0.002, end 0.0002"] = (span, [cosine_rate(int(t), 2e-3, 2e-4, 500, 3500) for t in span])
plots.curves(shapes_of_rates, "step", "learning rate", "Noam's schedule knows the width; the cosine knows the end")
plt.show()
print(f"Noam's peak for width 512 and warm-up 4000, the paper's setting: {noam_peak(512, 4000):.2e}")

# %% [markdown]
# ## 3 Watching the gradients
#
# ### 3.1 Clip by the global norm <small>★★☆ · 15 min · 3 points</small>
# One number tells most about the health of a run: the norm of all gradients together, $\lVert g \rVert = \sqrt{\sum_i \lVert g^{(i)} \rVert^2}$ over all tensors $g^{(i)}$. Clipping (Pascanu et al., 2013) scales
# *all* gradients by one factor, so that the direction stays and the norm is at most $c$:
#
# $$ g^{(i)} \leftarrow g^{(i)} \cdot \min\Bigl(1, \frac{c}{\lVert g \rVert + 10^{-6}}\Bigr). $$
#
# The $10^{-6}$ is torch's, and keeps the factor finite. Return new tensors and the norm *before* clipping: that is the number to plot. A gradient that is `None` stays `None` and counts nothing.


# %% nbgrader={"grade": false, "grade_id": "clip", "locked": false, "schema_version": 3, "solution": true, "task": false}
def clip_gradients(gradients, max_norm):
    """Gradients (a list of tensors or None) scaled so that their common norm is at most max_norm.

    Gives (clipped, norm): the list of new gradients, and the norm before clipping, a float.
    """
    ### BEGIN SOLUTION
    norm = math.sqrt(sum(g.double().square().sum().item() for g in gradients if g is not None))
    factor = min(1.0, max_norm / (norm + 1e-6))
    return [None if g is None else g * factor for g in gradients], norm
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "clip-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("clip", points=3)
pair = check.run(clip_gradients, [torch.tensor([1.0, 2.0]), torch.tensor([[2.0], [4.0]])], 1.0)
check.close(
    craft.then(pair, lambda r: r[1]),
    5.0,
    "the norm of (1, 2) and (2, 4) together is √(1 + 4 + 4 + 16) = 5",
    rtol=1e-5,
    wrong={
        "this is the sum of the two norms: square, add up, then take the root": 45**0.5,
        "this is the squared norm: take the root": 25.0,
        "this is the largest of the norms: all tensors count together": 20**0.5,
        "this is the norm after clipping: return the one before": 1.0,
    },
)
check.close(
    craft.then(pair, lambda r: torch.cat([g.flatten() for g in r[0]])),
    [0.2, 0.4, 0.4, 0.8],
    "all gradients are scaled by the same factor 1/5",
    wrong={
        "each tensor is clipped by its own norm: use one norm for all": [0.2**0.5, 2 * 0.2**0.5, 0.2**0.5, 2 * 0.2**0.5],
        "nothing was clipped": [1.0, 2.0, 2.0, 4.0],
        "the values are clipped one by one: that changes the direction": [1.0, 1.0, 1.0, 1.0],
    },
)
small = check.run(clip_gradients, [torch.tensor([0.3]), None, torch.tensor([0.4])], 1.0)
check.close(
    craft.then(small, lambda r: [r[0][0].item(), r[0][2].item(), r[1]]),
    [0.3, 0.4, 0.5],
    "gradients below the limit stay as they are: the factor is at most 1",
    rtol=1e-5,
    wrong={"small gradients are scaled up to the limit: the factor is at most 1": [0.6, 0.8, 0.5]},
)
check.equal(
    craft.then(small, lambda r: [g is None for g in r[0]]), [False, True, False], "a gradient that is None stays None, in its place"
)
check.unchanged(clip_gradients, [torch.tensor([3.0]), torch.tensor([4.0])], 1.0)
### BEGIN HIDDEN TESTS
for limit, parts in [
    (0.5, [randn(3, 4), randn(5), randn(2, 2, 2)]),
    (2.0, [randn(1, dtype=torch.float64), randn(7, 1, dtype=torch.float64)]),
]:
    leaves = [nn.Parameter(torch.zeros_like(g)) for g in parts]
    for leaf, g in zip(leaves, parts):
        leaf.grad = g.clone()
    before = nn.utils.clip_grad_norm_(leaves, limit)
    got = check.run(clip_gradients, parts, limit)
    check.close(craft.then(got, lambda r: r[1]), float(before), "the norm differs from torch's", rtol=1e-5)
    check.close(
        craft.then(got, lambda r: torch.cat([g.flatten() for g in r[0]])),
        torch.cat([leaf.grad.flatten() for leaf in leaves]),
        "the clipped gradients differ from torch's clip_grad_norm_",
        rtol=1e-5,
    )
tiny = check.run(clip_gradients, [torch.tensor([3e-6], dtype=torch.float64)], 1e-6)
check.close(
    craft.then(tiny, lambda r: r[0][0]),
    [3e-6 * 1e-6 / 4e-6],
    "for very small gradients the 10⁻⁶ matters: it is added to the norm, outside the root",
    rtol=1e-6,
    wrong={"the 10⁻⁶ is missing": [1e-6]},
)
nothing = check.run(clip_gradients, [torch.zeros(3)], 1.0)
check.close(craft.then(nothing, lambda r: r[0][0]), torch.zeros(3), "gradients of zero stay zero: nothing may be divided by zero")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.2 Find spikes <small>★★☆ · 15 min · 3 points</small>
# A spike is a norm far above what was normal lately. Go through the norms in order and keep a list of *accepted* ones. A norm is a spike
#
# - if it is not finite, always;
# - if there are at least `window` accepted norms and it is larger than `factor` times the median of the last `window` of them.
#
# A norm that is no spike is accepted. A spike is not: one bad step must not raise the bar for the next. `window` is odd, so that the median is the middle value.
#
# *Before you run it:* why the median, and not the mean?


# %% nbgrader={"grade": false, "grade_id": "spikes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def find_spikes(norms, window=11, factor=3.0):
    """One bool per norm (a list of floats): is it a spike, judged by the accepted norms before it?"""
    ### BEGIN SOLUTION
    accepted, found = [], []
    for norm in norms:
        spike = not math.isfinite(norm)
        if not spike and len(accepted) >= window:
            spike = norm > factor * statistics.median(accepted[-window:])
        found.append(spike)
        if not spike:
            accepted.append(norm)
    return found
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "spikes-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("spikes", points=3)
check.equal(
    check.run(find_spikes, [1.0, 1.2, 0.9, 10.0, 1.1], 3, 3.0),
    [False, False, False, True, False],
    "after 1.0, 1.2, 0.9 the norm 10 is a spike: more than 3 times the median 1.0",
    wrong={"the 10 is missed: with exactly `window` accepted norms the next one is judged already": [False] * 5},
)
check.equal(
    check.run(find_spikes, [1.0, 50.0, 1.0], 3, 3.0),
    [False, False, False],
    "before `window` norms are accepted only those that are not finite are spikes",
    wrong={"the 50 comes too early to be judged: fewer than `window` norms are accepted": [False, True, False]},
)
check.equal(
    check.run(find_spikes, [1.0, math.inf, 1.0, math.nan], 3, 3.0),
    [False, True, False, True],
    "infinity and NaN are always spikes, also at the beginning. (Every comparison with NaN is false.)",
    wrong={"NaN is missed: every comparison with NaN is false, so ask math.isfinite": [False, True, False, False]},
)
check.equal(
    check.run(find_spikes, [1.0, 1.0, 1.0, 2.8, 3.5], 3, 3.0),
    [False, False, False, False, True],
    "the median of 1, 1 and 2.8 is 1, and 3.5 is more than 3 times that",
    wrong={"this compares with the mean, which one large norm raises: take the median": [False] * 5},
)
check.equal(
    check.run(find_spikes, [1.0, 1.1, 0.9, 8.0, 9.0, 8.5], 3, 3.0),
    [False, False, False, True, True, True],
    "a spike is not accepted: the three large norms are all compared with the median of 1.0, 1.1 and 0.9",
    wrong={"spikes are accepted: after two of them the third looks normal": [False, False, False, True, True, False]},
)
check.unchanged(find_spikes, [1.0, 2.0, 3.0, 40.0], 3, 3.0)
### BEGIN HIDDEN TESTS


def judged(values, window, factor, keep=False, middle=statistics.median, whole=False, early=False):
    accepted, found = [], []
    for value in values:
        spike = not math.isfinite(value)
        if not spike and (len(accepted) >= window or (early and accepted)):
            spike = value > factor * middle(accepted if whole else accepted[-window:])
        found.append(spike)
        if not spike or (keep and math.isfinite(value)):
            accepted.append(value)
    return found


runs = [
    [1.0, 1.1, 0.9, 8.0, 9.0, 8.5, 9.5, 1.0, 4.0],
    [1.0, 1.0, 2.9, 2.9, 2.9, 8.0, 8.0, 8.0, 20.0, 30.0],
    [5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 1.0, 3.5, 1.0],
    [1.0, 1.0, 2.8, 4.0, 1.0, 1.0],
]
for values in runs:
    check.equal(
        check.run(find_spikes, values, 3, 3.0),
        judged(values, 3, 3.0),
        "the wrong norms are called spikes: compare with the median of the last `window` accepted norms",
        wrong={
            "spikes are accepted: a run of bad norms then raises the bar, and the later ones pass": judged(values, 3, 3.0, keep=True),
            "all accepted norms count: only the last `window` do": judged(values, 3, 3.0, whole=True),
            "this is the mean: one outlier moves it, the median hardly": judged(values, 3, 3.0, middle=statistics.fmean),
        },
    )
noisy = (1 + 0.2 * rand(60)).tolist()
noisy[30], noisy[31], noisy[45] = 5.0, 3.0, math.nan
check.equal(
    check.run(find_spikes, noisy, 9, 2.5),
    judged(noisy, 9, 2.5),
    "with another window and factor the wrong norms are spikes: use the arguments",
)
check.equal(check.run(find_spikes, [2.0, 6.0], 1, 3.0), [False, False], "exactly `factor` times the median is not yet a spike: larger")
check.equal(check.run(find_spikes, [], 3, 3.0), [], "no norms, no answers")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: the same run three times
# A small language model on the State of the Union addresses, with your AdamW, your schedule and your clipping: at a good rate, at a rate that is far too high, and at that rate with clipping.
# The gradient norm *before* clipping is what you see in the lower panel; spikes found by your function are marked.
#
# *Before you run it:* Adam divides by the gradient's size anyway. What is left for clipping to do?

# %%
data = characters.speeches(pick(smoke=2000, laptop=1946, gpu=1790))
V = len(data.alphabet)
watch_steps = pick(smoke=12, laptop=250, gpu=1000)
watch_shape = models.Shape(
    V,
    width=pick(smoke=16, laptop=48, gpu=48),
    heads=2,
    layers=pick(smoke=1, laptop=3, gpu=3),
    context=32,
    pre_norm=False,
    final_norm=False,
)


def watched_run(peak, limit):
    seed(1)
    model = models.LanguageModel(watch_shape)
    stepper = AdamW(model.parameters(), lr=peak)
    losses, norms = [], []
    for t in training.progress(range(watch_steps), f"peak {peak}, clip {limit}", keep=[model, stepper, losses, norms]):
        for group in stepper.param_groups:
            group["lr"] = cosine_rate(t + 1, peak, peak / 10, max(1, watch_steps // 20), watch_steps)
        start = torch.randint(len(data.train) - 32, (16, 1))
        window = data.train[start + torch.arange(33)]  # (16, 33)
        loss = F.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())
        stepper.zero_grad()
        loss.backward()
        clipped, norm = clip_gradients([p.grad for p in model.parameters()], limit)
        for p, g in zip(model.parameters(), clipped):
            p.grad = g
        stepper.step()
        losses.append(loss.item())
        norms.append(norm)
    return losses, norms


def smooth(values, n=10):
    return [statistics.fmean(values[max(0, i - n + 1) : i + 1]) for i in range(len(values))]


watched_runs = {
    "peak 0.003, clip 1": watched_run(3e-3, 1.0),
    "peak 0.05, no clipping": watched_run(5e-2, math.inf),
    "peak 0.05, clip 1": watched_run(5e-2, 1.0),
}
figure, axes = plt.subplots(2, 1, figsize=(10, 6.5), sharex=True)
step_counts = list(range(1, watch_steps + 1))
plots.curves(
    {title: (step_counts[: len(losses)], smooth(losses)) for title, (losses, _) in watched_runs.items()},
    "",
    "loss (mean of 10 steps)",
    "Loss, and the gradient norm before clipping",
    ax=axes[0],
)
plots.curves(
    {title: (step_counts[: len(norms)], norms) for title, (_, norms) in watched_runs.items()},
    "step",
    "gradient norm",
    log_y=True,
    ax=axes[1],
)
for index, (title, (_, norms)) in enumerate(watched_runs.items()):
    spikes = [i for i, spike in enumerate(find_spikes(norms)) if spike]
    axes[1].plot(
        [step_counts[i] for i in spikes],
        [norms[i] for i in spikes],
        "v",
        color=f"C{index}",
        markersize=9,
        markeredgecolor="black",
        zorder=3,
    )
    print(f"{title:<24} mean of the last ten losses {statistics.fmean(watched_runs[title][0][-10:]):.3f}, {len(spikes)} spikes")
figure.tight_layout()
plt.show()

# %% [markdown]
# Adam's step has about the size $\eta$ whatever the gradient's size is, so scaling all gradients by one factor changes it little, and a rate that is far too high stays too high. In our run both of the fast runs
# ended at 3.08 nats, where a model ends that knows only how frequent each character is, with clipping and without. (The one clear spike belonged to the *good* run: it came when the loss left that plateau. A spike is a reason to look, not a verdict.) What clipping does is narrower: one enormous gradient no longer fills the running mean $v$,
# which would make the following steps tiny for about $1/(1-\beta_2)$ steps, and with SGD it bounds the step itself.
#
# ## 4 Bit for bit
#
# A run of three weeks will be interrupted. It should go on as if nothing had happened: not "about as well", but with the same bits. Then every difference that you do see later is a bug, and can be
# hunted. Three things are needed: a file that is never half written, a checkpoint in which nothing is missing, and a plan for the day on which the run itself goes wrong.
#
# ### 4.1 A file that is never half written <small>★★☆ · 20 min · 3 points</small>
# If the machine dies while a checkpoint is being written over the old one, both are lost. You write the remedy against a `disk` with these operations:
#
# | operation | what it does | after a crash |
# | --- | --- | --- |
# | `disk.write(name, data)` | empties the file, then writes the bytes | until `sync`, the file may hold the old bytes, none, some or all of the new ones |
# | `disk.sync(name)` | comes back when the bytes of the file are on the disk (`os.fsync`) | they are safe |
# | `disk.rename(old, new)` | gives the file the name `new`; a file of that name disappears in the same moment (`os.replace`) | either the old state or the new one, never half; until `sync_folder`, you do not know which |
# | `disk.sync_folder()` | comes back when all names are on the disk (`os.fsync` of the folder) | they are safe |
#
# Write `save_atomically`. At every instant, a crash must leave the complete old file or the complete new one under `name`. When the function has come back, it must be the new one, and no other file may be left over.
#
# The test runs your function on a pretended disk, and looks at everything that a crash after each operation could leave behind. `crash_disk.Folder(path)` does the same four things in a real folder.


# %% nbgrader={"grade": false, "grade_id": "atomic", "locked": false, "schema_version": 3, "solution": true, "task": false}
def save_atomically(disk, name, data):
    """Put data (bytes) into the file `name`, so that no crash at any moment leaves anything but the whole old or the whole new file."""
    ### BEGIN SOLUTION
    disk.write(name + ".tmp", data)
    disk.sync(name + ".tmp")
    disk.rename(name + ".tmp", name)
    disk.sync_folder()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "atomic-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("atomic", points=3)
disk = crash_disk.Disk({"run.pt": b"old weights", "notes.txt": b"keep me"})
done = check.run(lambda: [save_atomically(disk, "run.pt", b"new, longer weights"), disk.read("run.pt")][1])
stored = done == b"new, longer weights"
check.equal(done, b"new, longer weights", "when the function has come back, the file holds the new bytes")
check.equal(
    check.run(lambda: [done, disk.names()][1]) if done else done,
    ["notes.txt", "run.pt"],
    "a file is left over, or one is missing: in the end there are the same names as before",
)
moments = disk.left_behind("run.pt")
torn = [i for i, moment in enumerate(moments) if moment - {b"old weights", b"new, longer weights", None}]
lost = [i for i, moment in enumerate(moments) if None in moment]
renamed_early = "rename" in disk.calls and "sync" not in disk.calls[: disk.calls.index("rename")]
in_place = "rename" not in disk.calls
torn_hint = (
    "the file is written in place: a crash in the middle leaves neither the old nor the new one. Write to another name first, then rename"
    if in_place
    else "the new file gets its name before its bytes are on the disk: sync it before you rename it"
    if renamed_early
    else "a crash can leave a half-written file under this name"
)
check.true(stored and not torn, torn_hint)
check.true(stored and not lost, "there is a moment without any file of this name: do not remove the old one, let `rename` replace it")
check.true(
    stored and bool(moments) and moments[-1] == {b"new, longer weights"},
    "the function comes back before the new file is safe: after the rename, sync the folder" if not torn else torn_hint,
)
### BEGIN HIDDEN TESTS
fresh = crash_disk.Disk()
first_time = check.run(lambda: [save_atomically(fresh, "a-b.bin", b"12345678"), fresh.read("a-b.bin")][1])
check.equal(first_time, b"12345678", "the first save, when there is no old file, fails")
check.true(
    first_time
    and all(not moment - {None, b"12345678"} for moment in fresh.left_behind("a-b.bin"))
    and fresh.left_behind("a-b.bin")[-1] == {b"12345678"},
    "on the first save a crash can leave a half-written file, or the file is not yet safe at the end",
)
twice = crash_disk.Disk({"x": b"first"})
check.equal(
    check.run(lambda: [save_atomically(twice, "x", b"second"), save_atomically(twice, "x", b"third"), twice.read("x"), twice.names()][2:]),
    [b"third", ["x"]],
    "saving twice in a row fails",
)
check.true(
    bool(twice.calls) and all(not moment - {b"first", b"second", b"third"} for moment in twice.left_behind("x")),
    "saving twice in a row can leave a half-written file",
)
bystander = crash_disk.Disk({"run.pt": b"old", "notes.txt": b"keep me"})
check.true(
    check.run(lambda: [save_atomically(bystander, "run.pt", b"new"), bystander.names()][1])
    and all(moment == {b"keep me"} for moment in bystander.left_behind("notes.txt")),
    "another file is touched",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.2 A checkpoint in which nothing is missing <small>★★★ · 35 min · 5 points</small>
# `craft.SmallRun` is a training run with everything that can be forgotten. These are its parts:
#
# | part | what it is | how to read and set it |
# | --- | --- | --- |
# | `run.model`, `run.optimiser`, `run.schedule` | a network with dropout, AdamW, a torch scheduler | `state_dict()`, `load_state_dict(…)` |
# | `run.generator` | the `torch.Generator` that draws each epoch's order | `get_state()`, `set_state(…)` |
# | `run.order`, `run.place` | this epoch's order of the examples (a tensor), and how much of it is used up (an int) | attributes |
# | `run.step` | the number of steps done (an int) | attribute |
# | torch's global generator | draws the dropout masks | `torch.get_rng_state()`, `torch.set_rng_state(…)` |
# | Python's generator | draws some noise on the inputs | `random.getstate()`, `random.setstate(…)` |
#
# `run.advance()` does one step and gives its loss. Write `snapshot`, which gives a dictionary of tensors and plain data from which the run can go on, and `restore`, which brings *another* run, made in another
# process with another seed, into exactly that state. How you name the entries is up to you. The dictionary is turned into bytes with `torch.save` and read back with
# `torch.load(…, weights_only=True)`, which refuses everything but tensors and plain data: an untrusted pickle can run code.
#
# *Before you run it:* forget one part. After how many steps would you notice, by looking at the loss?


# %% nbgrader={"grade": false, "grade_id": "snapshot", "locked": false, "schema_version": 3, "solution": true, "task": false}
def snapshot(run):
    """Everything that the run's next steps depend on: a dictionary of tensors and plain data."""
    ### BEGIN SOLUTION
    return {
        "model": run.model.state_dict(),
        "optimiser": run.optimiser.state_dict(),
        "schedule": run.schedule.state_dict(),
        "generator": run.generator.get_state(),
        "order": run.order,
        "place": run.place,
        "step": run.step,
        "torch": torch.get_rng_state(),
        "python": random.getstate(),
    }
    ### END SOLUTION


def restore(run, state):
    """Bring another run into the state that `snapshot` saw. Changes the run; gives nothing back."""
    ### BEGIN SOLUTION
    run.model.load_state_dict(state["model"])
    run.optimiser.load_state_dict(state["optimiser"])
    run.schedule.load_state_dict(state["schedule"])
    run.generator.set_state(state["generator"])
    run.order = state["order"]
    run.place = state["place"]
    run.step = state["step"]
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    ### END SOLUTION


def interrupted(before, after, number=0):
    """For the test: a run that is stopped after `before` steps and carried on by another one for `after` steps."""
    run = craft.SmallRun(number)
    losses = [run.advance() for _ in range(before)]
    checkpoint = craft.to_bytes(snapshot(run))
    other = craft.SmallRun(number + 1)
    other.advance()  # the other process has done something, too
    restore(other, craft.from_bytes(checkpoint))
    losses += [other.advance() for _ in range(after)]
    return {"losses": losses, "weights": other.weights(), "step": other.step, "rate": other.optimiser.param_groups[0]["lr"]}


# %% nbgrader={"grade": true, "grade_id": "snapshot-test", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check = Check("snapshot", points=5)
whole_run = craft.SmallRun(0)
whole_losses = [whole_run.advance() for _ in range(30)]
result = check.run(interrupted, 12, 18)
check.equal(result["step"], 30, "12 steps, a restart, 18 more: run.step must say 30")
check.close(result["losses"][:12], whole_losses[:12], "the losses before the restart are wrong: does `snapshot` change the run?")
parted = craft.then(result["losses"], lambda r: next((i for i, (a, b) in enumerate(zip(r, whole_losses)) if a != b), 30))
check.true(
    craft.then(parted, lambda r: r > 12),
    "the first loss after the restart is wrong already: the weights, this epoch's order, the place in it, torch's generator and Python's go into it",
)
check.true(
    craft.then(parted, lambda r: not 12 < r < 15),
    "the first loss after the restart is right, and then the losses part: the step itself differs. Are the optimiser and the schedule restored?",
)
check.true(
    craft.then(parted, lambda r: r < 15 or r == 30),
    "the losses are right until the epoch ends, and part with the next one: which generator draws its order?",
)
check.equal(
    craft.then(parted, lambda r: r),
    30,
    "the losses after the restart are not, bit for bit, those of the run that was never stopped: this many are right",
)
### BEGIN HIDDEN TESTS
PARTS = {
    "model": "the weights are not restored: model.state_dict()",
    "optimiser": "the optimiser starts anew: its running means belong into the checkpoint",
    "schedule": "the schedule starts anew: the learning rate after the restart is wrong",
    "order": "this epoch's order of the examples is not restored: some are seen twice, some never",
    "place": "the place in the epoch is not restored: the epoch begins again",
    "generator": "the generator of the data order is not restored: the next epoch has another order",
    "torch": "torch's global generator is not restored: the dropout masks are others",
    "python": "Python's own generator is not restored: the noise on the inputs is another",
}


def carried_over(before, after, missing, number=0):
    whole = craft.SmallRun(seed=number)
    lead = [whole.advance() for _ in range(before)]
    kept = {
        "model": copy.deepcopy(whole.model.state_dict()),
        "optimiser": copy.deepcopy(whole.optimiser.state_dict()),
        "schedule": copy.deepcopy(whole.schedule.state_dict()),
        "generator": whole.generator.get_state().clone(),
        "order": whole.order.clone(),
        "place": whole.place,
        "torch": torch.get_rng_state(),
        "python": random.getstate(),
    }
    other = craft.SmallRun(seed=number + 1)
    other.advance()
    for name in ("model", "optimiser", "schedule"):
        if name not in missing:
            getattr(other, name).load_state_dict(kept[name])
    if "order" not in missing:
        other.order = kept["order"]
    if "place" not in missing:
        other.place = kept["place"]
    if "generator" not in missing:
        other.generator.set_state(kept["generator"])
    if "torch" not in missing:
        torch.set_rng_state(kept["torch"])
    if "python" not in missing:
        random.setstate(kept["python"])
    return lead + [other.advance() for _ in range(after)]


for before, after, number in [(12, 8, 0), (0, 6, 3), (5, 7, 7), (23, 1, 5)]:
    straight = craft.SmallRun(number)
    exact = [straight.advance() for _ in range(before + after)]
    result = check.run(interrupted, before, after, number)
    check.equal(
        result["losses"],
        exact,
        f"stopped {'before the first step' if not before else 'at the end of an epoch' if before % 5 == 0 else 'in the middle of an epoch'}, the run does not go on bit for bit",
        wrong={hint: carried_over(before, after, {part}, number) for part, hint in PARTS.items()}
        | {"none of the random generators is restored": carried_over(before, after, {"torch", "python", "generator"}, number)},
    )
    check.equal(
        result["weights"], straight.weights(), f"after {before} + {after} steps the weights are not the same bits: which part is missing?"
    )
    check.equal(
        result["rate"],
        straight.optimiser.param_groups[0]["lr"],
        "the learning rate at the end is another one: is the schedule's state restored, after the optimiser's?",
    )
check.equal(result["step"], 24, "run.step is not restored")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: kill it
# Now for real. The next cell writes a script, out of *your* `save_atomically`, `snapshot`, `restore` and `AdamW`, and starts it twice. One process is left in peace. The other is killed in the middle of its
# work with `SIGKILL`, the signal that no program can catch, and started again. Both print their losses and weights as exact bit patterns.

# %%
kill_steps = pick(smoke=60, laptop=200, gpu=200)
with tempfile.TemporaryDirectory() as scratch:
    text = craft.script(save_atomically, snapshot, restore, AdamW)
    calm_process = craft.start(text, Path(scratch) / "calm", kill_steps, every=7)
    victim_process = craft.start(text, Path(scratch) / "victim", kill_steps, every=7)
    victim = craft.watch(victim_process, kill_at=kill_steps // 2)
    calm = craft.watch(calm_process)
    second_life = craft.watch(craft.start(text, Path(scratch) / "victim", kill_steps, every=7))
print(f"killed: {victim.killed}, the last step it told us about: {victim.last_step} of {kill_steps}")
print(f"second life: resumed from the checkpoint at step {second_life.resumed}, reached step {second_life.last_step}")
print(f"losses equal, bit for bit:  {second_life.losses == calm.losses}   ({len(calm.losses)} numbers)")
print(f"weights equal, bit for bit: {second_life.weights == calm.weights}   ({len(calm.weights) // 8} numbers)")

# %% [markdown]
# ### 4.3 Roll back <small>★★★ · 25 min · 4 points</small>
# Sometimes it is not the machine that fails. The loss becomes infinite, and every weight is NaN after that step. The way out is an earlier checkpoint, but a run that goes on bit for bit from there diverges bit
# for bit again. The data must come in another order: PaLM's authors (Chowdhery et al., 2022) went back about 100 steps before each spike and skipped 200 to 500 batches; the same batches did no harm in another place, so it was the
# *conjunction* of data and weights. `SmallRun(…, poison=(i, j))` stands in for it: a batch with both examples makes the loss infinite.
#
# Write the loop. Until `run.step` is `steps`:
#
# 1. Whenever `run.step` is a multiple of `every` (also at 0), take a snapshot, as bytes (`craft.to_bytes`): later steps must not change it.
# 2. Advance. If the loss is finite, keep it.
# 3. If not: count the rollback, restore the last snapshot (`craft.from_bytes`), call `run.reshuffle(k)` for the $k$-th rollback of the whole run ($k = 1, 2, \dots$), and drop the losses of the steps that are undone. After more
#    than `patience` rollbacks raise a `FloatingPointError`: something else is wrong.
#
# Return `(losses, undone)`: one finite loss per step, and for each rollback the number of steps that had been completed before the bad one (the value of `run.step` at that moment, before the bad step was counted).


# %% nbgrader={"grade": false, "grade_id": "rollback", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_with_rollback(run, steps, every, patience=5):
    """Train until run.step == steps; after a loss that is not finite go back to the last snapshot and reshuffle. Gives (losses, undone)."""
    ### BEGIN SOLUTION
    losses, undone = [], []
    while run.step < steps:
        if run.step % every == 0:
            saved = craft.to_bytes(snapshot(run))
        loss = run.advance()
        if math.isfinite(loss):
            losses.append(loss)
            continue
        undone.append(run.step - 1)
        if len(undone) > patience:
            raise FloatingPointError(f"{len(undone)} rollbacks: giving up")
        restore(run, craft.from_bytes(saved))
        run.reshuffle(len(undone))
        del losses[run.step :]
    return losses, undone
    ### END SOLUTION


def rolled_back(steps, every, poison, number=0, patience=5):
    """For the test: the losses, the rollbacks and the weights of a run with a poisoned pair of examples."""
    run = craft.SmallRun(number, poison=poison)
    losses, undone = train_with_rollback(run, steps, every, patience)
    return {"losses": losses, "undone": undone, "weights": run.weights(), "step": run.step}


# %% nbgrader={"grade": true, "grade_id": "rollback-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check = Check("rollback", points=4)
calm_run = craft.SmallRun(0)
calm_losses = [calm_run.advance() for _ in range(20)]
result = check.run(rolled_back, 20, 4, None)
check.close(
    result["losses"],
    torch.tensor(calm_losses, dtype=torch.float64),
    "where nothing goes wrong, these are simply the losses of 20 steps: do not reshuffle, do not advance twice",
    rtol=0,
    atol=0,
)
check.equal(result["undone"], [], "where nothing goes wrong, nothing is undone")
suspects = craft.SmallRun(0)
batch = [suspects.next_batch() for _ in range(7)][-1].tolist()  # the seventh batch of this run, made poisonous
pair = (batch[0], batch[2])
GAVE_UP = "the run gave up: every rollback failed again. First restore the snapshot (bytes: anything else changes with the run), then call run.reshuffle(k)"
result = craft.explained(check.run(rolled_back, 20, 4, pair), "FloatingPointError", GAVE_UP)
check.equal(
    craft.then(result, lambda r: r["undone"][:1]),
    [6],
    "the seventh step fails: six were completed before it",
    wrong={
        "the bad step is counted: give the number of steps completed before it": [7],
        "the step of the snapshot was noted: give the step that failed": [4],
        "no rollback happened: is the loss looked at in every step?": [],
    },
)
check.equal(craft.then(result, lambda r: len(r["losses"])), 20, "20 steps give 20 losses: drop the losses of the steps that are undone")
check.true(craft.then(result, lambda r: all(math.isfinite(loss) for loss in r["losses"])), "a loss that is not finite is in the list")
check.finite(result["weights"], "the weights are NaN: the snapshot was taken after the bad step, or nothing was restored")
### BEGIN HIDDEN TESTS


def reference(steps, every, poison, number=0, kind="right"):
    run = craft.SmallRun(seed=number, poison=poison)
    losses, undone, saved = [], [], None
    while run.step < steps and len(undone) < 9:
        if saved is None or (run.step % every == 0 and kind != "only first"):
            saved = [copy.deepcopy(part.state_dict()) for part in (run.model, run.optimiser, run.schedule)]
            saved += [run.generator.get_state().clone(), run.order.clone(), run.place, run.step, torch.get_rng_state(), random.getstate()]
        loss = run.advance()
        if math.isfinite(loss):
            losses.append(loss)
            continue
        undone.append(run.step - 1)
        for part, state in zip((run.model, run.optimiser, run.schedule), saved):
            part.load_state_dict(copy.deepcopy(state))
        if kind != "only weights":
            run.generator.set_state(saved[3])
            run.order, run.place, run.step = saved[4].clone(), saved[5], saved[6]
            torch.set_rng_state(saved[7])
            random.setstate(saved[8])
        if kind != "only weights":
            run.reshuffle(
                1 if kind == "same seed" else len(undone) - 1 if kind == "from zero" else run.step if kind == "step" else len(undone)
            )
        del losses[run.step :]
    return {"losses": losses, "undone": undone, "weights": run.weights()}


cases = []
for number, steps, every, at in [(0, 20, 4, 7), (1, 24, 5, 12), (3, 22, 1, 9)]:
    suspects = craft.SmallRun(number)
    batch = [suspects.next_batch() for _ in range(at)][-1].tolist()
    cases.append((number, steps, every, (batch[1], batch[3])))  # five, one and two rollbacks
for number, steps, every, pair in cases:
    right = reference(steps, every, pair, number)
    same_order = reference(steps, every, pair, number, "same seed")
    got = check.run(rolled_back, steps, every, pair, number)
    check.equal(
        got["undone"],
        right["undone"],
        "the rollbacks do not happen where they should",
        wrong={
            "every rollback reshuffles with the same number: use k for the k-th rollback": same_order["undone"],
        },
    )
    check.equal(
        got["losses"],
        right["losses"],
        "the losses of a run with rollbacks are wrong",
        wrong={
            "every rollback reshuffles with the same number: use k for the k-th rollback": same_order["losses"],
            "the reshuffling numbers start from 0: k = 1 for the first rollback": reference(steps, every, pair, number, "from zero")[
                "losses"
            ],
            "run.reshuffle gets the number of the rollback, not the step": reference(steps, every, pair, number, "step")["losses"],
            "you go back to the very first snapshot: go back to the last one": reference(steps, every, pair, number, "only first")[
                "losses"
            ],
        },
    )
    check.equal(got["weights"], right["weights"], "the weights after a run with rollbacks are not, bit for bit, what they should be")


def hopeless():
    rolled_back(10, 5, (0, 0), 0, patience=3)  # any batch with example 0 is poison: no order helps


check.raises(
    hopeless,
    error="FloatingPointError",
    hint="where no order helps, raise a FloatingPointError after more than `patience` rollbacks, instead of trying for ever",
)
number, steps, every, pair = 3, 22, 1, cases[2][3]  # two rollbacks: too many for a patience of one, not for a patience of two
check.raises(
    lambda: rolled_back(steps, every, pair, number, patience=1),
    error="FloatingPointError",
    hint="with patience 1 the second rollback is one too many: raise then, not later",
)
check.equal(
    craft.then(check.run(rolled_back, steps, every, pair, number, patience=2), lambda r: len(r["undone"])),
    2,
    "with patience 2 two rollbacks are allowed: raise after more than `patience` of them",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.4 In your own words <small>★★☆ · 15 min · 3 points, graded by hand</small>
# (a) A colleague restores weights and optimiser only: "the loss curve looks the same to me". Name one thing that is wrong with the run's data and one with its learning rate, and say why the curve hides both. (b) Name
# two reasons why even a complete checkpoint may not give the same bits on another machine or with another number of GPUs. (c) Why does rolling back *without* reshuffling not help, and why does that
# very fact speak for your checkpoints? About 150 words.

# %% [markdown] nbgrader={"grade": true, "grade_id": "written-restart", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# <!-- BEGIN SOLUTION -->
# **Model answer.** (a) The epoch begins again: some examples are seen twice and others not at all, so "one epoch" is no longer one. The schedule begins again too: the run gets its warm-up a second time, or the wrong rate for the
# rest of its life. The curve hides it because the noise from batch to batch is much larger than either effect; the harm is in what it no longer shows (data counted twice, a lower final quality, comparisons that are not
# comparable). (b) Floating-point addition is not associative: another number of threads or GPUs, another kernel or library version, or atomic additions on a GPU sum in another order. Also: another device draws other random
# numbers from the same seed; matrix products may run in TF32 on one machine and in fp32 on another. (c) A complete checkpoint replays the run exactly, so the same batch meets the same weights and the same dropout masks, and the loss diverges again in the same
# step. That it does is the proof that nothing is missing from the checkpoint. Another order breaks the conjunction.
#
# | points | rubric |
# | --- | --- |
# | 1 | (a) data order and schedule (repeated or skipped examples; wrong rate), and that noise hides it |
# | 1 | (b) two valid reasons (order of summation / kernels / device generators / precision modes) |
# | 1 | (c) exact replay meets the same conjunction; determinism as evidence of completeness |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 5 Numbers with few bits
#
# A floating-point number has a sign bit $s$, $E$ exponent bits and $M$ mantissa bits, in this order, the sign first. Read the exponent bits as a whole number $e$ and the mantissa bits as a whole number $m$. With the bias $b = 2^{E-1} - 1$ the value is
#
# $$ (-1)^s \cdot \begin{cases} \bigl(1 + m / 2^M\bigr) \cdot 2^{\,e - b} & 0 < e \quad \text{(normal: a hidden one)} \\ (m / 2^M) \cdot 2^{\,1 - b} & e = 0 \quad \text{(subnormal: no hidden one; zero is among them)} \end{cases} $$
#
# and the highest exponent, $e = 2^E - 1$, is reserved: infinity for $m = 0$, NaN for all other $m$. This is IEEE 754's scheme. A *finite* format (`finite=True`; here only fp8 e4m3fn) gives the highest exponent to
# ordinary numbers as well, to gain range: it has no infinities, and only the pattern with all exponent and mantissa bits set is NaN (Micikevicius et al., 2022).
#
# | | fp32 | tf32 | bf16 | fp16 | fp8 e4m3fn | fp8 e5m2 |
# | --- | --- | --- | --- | --- | --- | --- |
# | $E$, $M$ | 8, 23 | 8, 10 | 8, 7 | 5, 10 | 4, 3, finite | 5, 2 |
#
# ### Look: switch the bits
# Find the largest number and the smallest positive one of each format. How far apart are the neighbours of 1? And those of 256 in bf16?

# %%
number_formats.bit_dial()

# %% [markdown]
# ### 5.1 Derive: the limits of a format <small>★★☆ · 20 min · 3 points</small>
# Derive from $E$, $M$ and `finite`: the largest finite number, the smallest positive normal number, the smallest positive subnormal number, and $\varepsilon$, the distance from 1 to the next larger number.
# Floats in Python are fp64: everything here is exact.


# %% nbgrader={"grade": false, "grade_id": "limits", "locked": false, "schema_version": 3, "solution": true, "task": false}
def limits(exponent_bits, mantissa_bits, finite=False):
    """(largest, smallest normal, smallest subnormal, epsilon) of a format: four floats."""
    ### BEGIN SOLUTION
    bias = 2 ** (exponent_bits - 1) - 1
    highest, mantissa = (2**exponent_bits - 1, 2**mantissa_bits - 2) if finite else (2**exponent_bits - 2, 2**mantissa_bits - 1)
    largest = (1 + mantissa / 2**mantissa_bits) * 2.0 ** (highest - bias)
    return largest, 2.0 ** (1 - bias), 2.0 ** (1 - bias - mantissa_bits), 2.0**-mantissa_bits
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "limits-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("limits", points=3)
half = check.run(limits, 5, 10)
check.close(
    craft.then(half, lambda r: r[0]),
    65504.0,
    "fp16's largest number is 65504: the highest exponent is reserved, the mantissa is all ones",
    rtol=0,
    atol=0,
    wrong={
        "twice too large: the highest exponent belongs to infinity and NaN, the largest number has the one below (and the bias is 2^(E−1) − 1)": 131008.0,
        "the mantissa is all ones there, not zero": 32768.0,
        "65536 is the first number that is too large: the mantissa is at most 1 − 2^(−M)": 65536.0,
    },
)
check.close(
    craft.then(half, lambda r: r[1:3]),
    [2.0**-14, 2.0**-24],
    "fp16's smallest normal number is 2^−14 (e = 1), its smallest subnormal 2^−24 (e = 0, m = 1)",
    rtol=0,
    atol=0,
    wrong={
        "subnormal numbers have the exponent 1 − b, not 0 − b": [2.0**-14, 2.0**-25],
        "both are half of what they should be: is the bias 2^(E−1) − 1? The smallest normal number has e = 1: e = 0 is for subnormal ones": [
            2.0**-15,
            2.0**-25,
        ],
    },
)
check.close(
    craft.then(half, lambda r: r[3]),
    2.0**-10,
    "between 1 and the next number lies one step of the mantissa: 2^(−M)",
    rtol=0,
    atol=0,
    wrong={"this is half the distance": 2.0**-11},
)
check.close(
    craft.then(check.run(limits, 4, 3, True), lambda r: r[0]),
    448.0,
    "fp8 e4m3fn is finite: its largest number has the highest exponent, e = 15, and the largest mantissa that is not NaN, m = 6",
    rtol=0,
    atol=0,
    wrong={
        "the all-ones pattern is NaN in a finite format: the largest mantissa is 2^M − 2": 480.0,
        "a finite format uses its highest exponent for numbers": 240.0,
    },
)
### BEGIN HIDDEN TESTS
for name, (E, M, finite) in FORMATS.items():
    got = check.run(limits, E, M, finite)
    bias = 2 ** (E - 1) - 1
    if name in DTYPES:
        info = torch.finfo(DTYPES[name])
        exact = [info.max, info.tiny, 2.0 ** (1 - bias - M), info.eps]
    else:
        exact = [(2 - 2.0**-M) * 2.0**bias, 2.0 ** (1 - bias), 2.0 ** (1 - bias - M), 2.0**-M]
    for place, what in enumerate(["largest number", "smallest normal number", "smallest subnormal number", "epsilon"]):
        check.close(
            craft.then(got, lambda r, place=place: r[place]),
            exact[place],
            f"the {what} of a finite format is wrong: it has no infinity, and only the all-ones pattern is NaN"
            if finite and place == 0
            else f"the {what} of {name} is wrong",
            rtol=0,
            atol=0,
        )
### END HIDDEN TESTS
check.score()

# %%
print(f"{'format':<12}{'largest':>12}{'min normal':>13}{'min subnormal':>15}{'epsilon':>12}")
for title, (e_bits, m_bits, no_infinity) in FORMATS.items():
    most, least_normal, least, unit = limits(e_bits, m_bits, no_infinity)
    print(f"{title:<12}{most:>12.5g}{least_normal:>13.4g}{least:>15.4g}{unit:>12.4g}")

# %% [markdown]
# ### 5.2 From bits to numbers <small>★★☆ · 15 min · 3 points</small>
# Decode bit patterns: whole numbers in which the lowest $M$ bits are the mantissa, the next $E$ the exponent, and the one above the sign. Grading compares all 256 patterns of both fp8 formats with torch.


# %% nbgrader={"grade": false, "grade_id": "decode", "locked": false, "schema_version": 3, "solution": true, "task": false}
def decode_bits(bits, exponent_bits, mantissa_bits, finite=False):
    """The numbers that bit patterns (an int64 tensor of any shape) stand for: a float64 tensor, with ±inf and NaN where they belong."""
    ### BEGIN SOLUTION
    m = bits & (2**mantissa_bits - 1)
    e = (bits >> mantissa_bits) & (2**exponent_bits - 1)
    sign = 1.0 - 2.0 * (bits >> (exponent_bits + mantissa_bits))
    bias = 2 ** (exponent_bits - 1) - 1
    part = m.double() / 2**mantissa_bits + (e > 0)  # the hidden one of normal numbers
    value = part * torch.exp2((e.clamp(min=1) - bias).double())
    top = e == 2**exponent_bits - 1
    if finite:
        value[top & (m == 2**mantissa_bits - 1)] = torch.nan
    else:
        value[top] = torch.where(m[top] == 0, torch.inf, torch.nan).double()
    return sign * value
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "decode-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("decode", points=3)
half = check.run(decode_bits, torch.tensor([0b0_01111_0000000000, 0b1_10000_1000000000, 0b0_00000_0000000001, 0]), 5, 10, shape=(4,))
check.close(
    half[:2],
    [1.0, -3.0],
    "fp16: 0 01111 0000000000 is 1, and 1 10000 1000000000 is −(1 + ½) · 2 = −3: where are the sign, the exponent, the bias?",
    rtol=0,
    atol=0,
)
check.close(
    half[2:],
    [2.0**-24, 0.0],
    "fp16: the smallest pattern, 1, is 2^−24, and 0 is 0: e = 0 has no hidden one, and the exponent 1 − b",
    rtol=0,
    atol=0,
    wrong={
        "e = 0 has no hidden one": [2.0**-14 * (1 + 2.0**-10), 2.0**-14],
        "for e = 0 the exponent is 1 − b, not −b": [2.0**-25, 0.0],
        "there is a hidden one, and the exponent −b, where e = 0": [2.0**-15 * (1 + 2.0**-10), 2.0**-15],
    },
)
special = check.run(decode_bits, torch.tensor([0b0_11111_0000000000, 0b1_11111_0000000000, 0b0_11111_0000000001]), 5, 10)
check.equal(special, [math.inf, -math.inf, math.nan], "fp16: the highest exponent stands for ±infinity (m = 0) and NaN (all other m)")
check.unchanged(decode_bits, torch.tensor([1, 2, 0x7FFF]), 5, 10)
### BEGIN HIDDEN TESTS
every = torch.arange(256)
for name in ("fp8 e5m2", "fp8 e4m3fn"):
    E, M, finite = FORMATS[name]
    truth = number_formats.patterns(DTYPES[name], every)
    got = check.run(decode_bits, every, E, M, finite, shape=(256,))
    check.equal(
        got,
        truth,
        f"some of the 256 patterns of {name} are wrong"
        + (": a finite format has no infinity, and its only NaN is all ones" if finite else ""),
    )
    usual = truth.isfinite()
    check.equal(got[usual], truth[usual], f"some finite numbers of {name} are wrong")
for name in ("fp16", "bf16"):
    E, M, finite = FORMATS[name]
    some = randint(0, 65536, (3, 50))
    check.equal(
        check.run(decode_bits, some, E, M),
        number_formats.patterns(DTYPES[name], some),
        f"some patterns of {name} are wrong, in a tensor of shape (3, 50)",
    )
check.equal(
    check.run(decode_bits, torch.tensor(0b1_0000_001), 4, 3, True),
    torch.tensor(-(2.0**-9), dtype=torch.float64),
    "a single pattern, a tensor without axes, is wrong",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.3 Round to a format <small>★★★ · 35 min · 5 points</small>
# A number between two neighbours goes to the nearer one; exactly in the middle, to the one whose last mantissa bit is 0 (*round to nearest, ties to even*; `torch.round` does that for whole numbers). For each $x$:
#
# 1. Its exponent: the whole number $k$ with $2^k \le |x| < 2^{k+1}$ (`torch.frexp` is exact; mind that its mantissa lies in $[\frac{1}{2}, 1)$). Below $1 - b$ it is $1 - b$: subnormal numbers are evenly spaced.
# 2. The distance between neighbours there is $2^{k - M}$. Divide by it, round, multiply.
# 3. What is now larger than the format's largest number overflows: to infinity with the sign of $x$, or in a finite format to NaN. With `saturate=True` it becomes the largest number, with the sign of $x$, and so does infinity itself.
#    NaN stays NaN.
#
# Compute in float64.
#
# *Before you run it:* what is 257 in bf16? What is 0.1 + 0.2 in fp8 e4m3fn?


# %% nbgrader={"grade": false, "grade_id": "round", "locked": false, "schema_version": 3, "solution": true, "task": false}
def round_to(x, exponent_bits, mantissa_bits, finite=False, saturate=False):
    """The nearest numbers of a format for x (floating, any shape): a float64 tensor of the same shape."""
    ### BEGIN SOLUTION
    x = x.double()
    bias = 2 ** (exponent_bits - 1) - 1
    largest = limits(exponent_bits, mantissa_bits, finite)[0]
    k = (torch.frexp(x).exponent - 1).clamp(min=1 - bias)
    gap = torch.exp2((k - mantissa_bits).double())
    y = torch.round(x / gap) * gap  # torch.round takes ties to even
    over = largest if saturate else math.nan if finite else math.inf
    return torch.where((y.abs() > largest) | x.isinf(), x.sign() * over, y)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "round-test", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check = Check("round", points=5)
x = torch.tensor([1.0, 1.06, -1.1, 1.0625, 1.1875, 0.0], dtype=torch.float64)
check.close(
    check.run(round_to, x, 4, 3, shape=(6,)),
    [1.0, 1.0, -1.125, 1.0, 1.25, 0.0],
    "between 1 and 2, fp8 with 3 mantissa bits has steps of 1/8; a tie goes to the even neighbour: 1.0625 to 1.0, 1.1875 to 1.25",
    rtol=0,
    atol=0,
    wrong={
        "the rest is cut off: round to the nearest": [1.0, 1.0, -1.0, 1.0, 1.125, 0.0],
        "ties are rounded up: they go to the neighbour whose last bit is 0": [1.0, 1.0, -1.125, 1.125, 1.25, 0.0],
        "the steps are too wide: between 2^k and 2^(k+1) they are 2^(k−M). frexp's mantissa lies in [½, 1)": [
            1.0,
            1.0,
            -1.0,
            1.0,
            1.25,
            0.0,
        ],
        "the steps are too narrow: between 2^k and 2^(k+1) they are 2^(k−M)": [1.0, 1.0625, -1.125, 1.0625, 1.1875, 0.0],
    },
)
tiny = torch.tensor([2.0**-24, 2.0**-25, 3 * 2.0**-25, 2.0**-26], dtype=torch.float64)
check.close(
    check.run(round_to, tiny, 5, 10, shape=(4,)),
    [2.0**-24, 0.0, 2.0**-23, 0.0],
    "below 2^−14 the numbers of fp16 are evenly spaced, 2^−24 apart; half of that is a tie and goes to 0",
    rtol=0,
    atol=0,
    wrong={
        "the exponent must not fall below 1 − b: subnormal numbers are evenly spaced": tiny.tolist(),
        "everything below the smallest normal number becomes 0: there are subnormal numbers": [0.0, 0.0, 0.0, 0.0],
    },
)
big = torch.tensor([65519.0, 65520.0, -1e9, math.inf, math.nan], dtype=torch.float64)
check.equal(
    check.run(round_to, big, 5, 10, shape=(5,)),
    [65504.0, math.inf, -math.inf, math.inf, math.nan],
    "fp16: what rounds to at most 65504 stays, what rounds above it becomes infinite, NaN stays NaN",
    wrong={
        "a number overflows only if it is too large after rounding: 65519 rounds to 65504": [
            math.inf,
            math.inf,
            -math.inf,
            math.inf,
            math.nan,
        ],
        "what is too large becomes infinite: nothing overflows here": [65504.0, 65536.0, -(2.0**19) * 1907, math.inf, math.nan],
        "without `saturate` an overflow is infinite": [65504.0, 65504.0, -65504.0, 65504.0, math.nan],
    },
)
check.unchanged(round_to, x, 5, 10)
### BEGIN HIDDEN TESTS


def nearest(values, E, M, floor=True, kind="even"):
    values = values.double()
    bias = 2 ** (E - 1) - 1
    k = torch.frexp(values).exponent - 1
    k = k.clamp(min=1 - bias) if floor else k
    gap = torch.exp2((k - M).double())
    scaled = values / gap
    return (torch.round(scaled) if kind == "even" else torch.trunc(scaled) if kind == "cut" else torch.floor(scaled + 0.5)) * gap


spread = torch.cat([randn(400) * torch.exp2(randint(-34, 18, (400,)).float()), torch.tensor([0.0, 1.0, -1.0, 2.0**-126, 1e-45])])
for name in ("bf16", "fp16", "fp8 e5m2", "fp8 e4m3fn"):
    E, M, finite = FORMATS[name]
    largest = torch.finfo(DTYPES[name]).max
    some = randint(0, 2 ** (E + M), (200,))
    near, above = number_formats.patterns(DTYPES[name], some), number_formats.patterns(DTYPES[name], some + 1)
    inside = near.isfinite() & above.isfinite() & (above > near)
    near, middle = near[inside], ((near + above) / 2)[inside]  # each of these lies exactly between two neighbours
    tested = torch.cat([spread.double(), near, middle, -middle])
    tested = tested[tested.abs() <= largest].float()
    truth = tested.to(DTYPES[name]).double()
    got = check.run(round_to, tested, E, M, finite)
    check.equal(
        got,
        truth,
        f"some numbers are not rounded as torch rounds them to {name}",
        wrong={
            "the rest is cut off: round to the nearest": nearest(tested, E, M, kind="cut"),
            "ties are rounded up: they go to the neighbour whose last bit is 0": nearest(tested, E, M, kind="up"),
            "subnormal numbers are wrong: below 2^(1−b) the distance no longer shrinks": nearest(tested, E, M, floor=False),
        },
    )
huge = torch.tensor([57343.0, 61439.0, 61440.0, -61441.0, -math.inf, math.nan])
check.equal(
    check.run(round_to, huge, 5, 2), huge.to(torch.float8_e5m2).float(), "overflow of fp8 e5m2 is wrong: infinity with the sign of x"
)
edge = torch.tensor([448.0, 463.0, 464.0, 465.0, -500.0, math.inf, math.nan])
check.equal(
    check.run(round_to, edge, 4, 3, True),
    [448.0, 448.0, 448.0, math.nan, math.nan, math.nan, math.nan],
    "overflow of a finite format is wrong: 464 is a tie and goes to 448, all above becomes NaN, infinity too",
    wrong={"a finite format has no infinity: NaN takes its place": [448.0, 448.0, 448.0, math.inf, -math.inf, math.inf, math.nan]},
)
check.equal(
    check.run(lambda: torch.cat([round_to(edge, 4, 3, True, True), round_to(huge[3:], 5, 2, saturate=True)])),
    [448.0, 448.0, 448.0, 448.0, -448.0, 448.0, math.nan, -57344.0, -57344.0, math.nan],
    "with saturate=True an overflow, infinity included, becomes ± the largest number, and NaN stays NaN",
)
check.equal(
    check.run(round_to, torch.tensor(0.3), 8, 7, shape=()),
    torch.tensor(0.3).bfloat16().float(),
    "a single number, a tensor without axes, is wrong",
)
once = check.run(round_to, spread.double(), 8, 10)
check.equal(check.run(lambda: round_to(once, 8, 10)) if once is not None else once, once, "rounding twice must change nothing: tf32")
### END HIDDEN TESTS
check.score()

# %%
number_formats.relative_errors(round_to)
plt.show()
over = torch.tensor([500.0]).to(torch.float8_e4m3fn).float().item()
print(
    f"500 in fp8 e4m3fn: yours {round_to(torch.tensor(500.0), 4, 3, True).item()}, saturating {round_to(torch.tensor(500.0), 4, 3, True, True).item()}, this version of torch {over}"
)
print(f"0.1 + 0.2 in fp8 e4m3fn: {round_to(torch.tensor(0.1 + 0.2, dtype=torch.float64), 4, 3, True).item()}")
print(f"257 in bf16: {round_to(torch.tensor(257.0), 8, 7).item()};   1 + 0.003 in bf16: {round_to(torch.tensor(1.003), 8, 7).item()}")

# %% [markdown]
# (The specification of fp8 by the Open Compute Project, 2023, knows both conversions. Versions of torch differ: older ones give NaN, newer ones saturate.)
#
# ### 5.4 The same with a mask <small>★★★ · 20 min · 3 points</small>
# fp32, tf32 and bf16 have the same eight exponent bits, so rounding one into the other only drops low mantissa bits: integer arithmetic on the bit pattern does it. Let $r = 23 - M$ be the number of bits to drop. Read the float32 bits as an
# int32 (`x.view(torch.int32)`: the same bits, not the same value). Setting the lowest $r$ bits to 0 cuts off. To round to nearest with ties to even, first add $2^{r-1} - 1$ plus the lowest bit that stays, then mask.
# A carry into the exponent is just what is needed: 1.99… becomes 2. Infinity and NaN stay as they are: give the original bits there. For $M = 23$ there is nothing to drop.


# %% nbgrader={"grade": false, "grade_id": "mask", "locked": false, "schema_version": 3, "solution": true, "task": false}
def round_by_mask(x, mantissa_bits):
    """float32 x (any shape) rounded to this many mantissa bits by integer arithmetic on its bits: 10 gives tf32, 7 gives bf16. A float32 tensor."""
    ### BEGIN SOLUTION
    drop = 23 - mantissa_bits
    if drop == 0:
        return x.clone()
    bits = x.view(torch.int32)
    stays = (bits >> drop) & 1
    rounded = (bits + 2 ** (drop - 1) - 1 + stays) & -(2**drop)
    return torch.where(x.isfinite(), rounded.view(torch.float32), x)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "mask-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("mask", points=3)
x = torch.tensor([1.0, 1 + 2.0**-11 + 2.0**-20, 1 + 2.0**-11, 1 + 3 * 2.0**-11, -(1 + 2.0**-10 + 2.0**-12)])
check.equal(
    check.run(round_by_mask, x, 10, shape=(5,)),
    [1.0, 1 + 2.0**-10, 1.0, 1 + 2.0**-9, -(1 + 2.0**-10)],
    "tf32 keeps 10 mantissa bits: just above a tie goes up, ties go to the even neighbour, and the sign has a bit of its own",
    wrong={
        "the bits are cut off: add before you mask": [1.0, 1.0, 1.0, 1 + 2.0**-10, -(1 + 2.0**-10)],
        "ties are rounded up: add 2^(r−1) − 1 and the lowest bit that stays": [
            1.0,
            1 + 2.0**-10,
            1 + 2.0**-10,
            1 + 2.0**-9,
            -(1 + 2.0**-10),
        ],
        "ties are rounded down: the lowest bit that stays is missing from the sum": [1.0, 1 + 2.0**-10, 1.0, 1 + 2.0**-10, -(1 + 2.0**-10)],
        "these are whole numbers: `view` reads the same bits as int32, `int()` converts the value": [1.0, 1.0, 1.0, 1.0, -1.0],
        "everything became 0: `x.view(torch.int32)` reads the same bits, `x.int()` or `x.to(torch.int32)` converts the value": [0.0] * 5,
    },
)
check.close(
    check.run(round_by_mask, torch.tensor([1.999999]), 10, shape=(1,)),
    [2.0],
    "a carry out of the mantissa goes into the exponent: 1.999999 rounds to 2",
    rtol=0,
    atol=0,
)
check.unchanged(round_by_mask, x, 10)
### BEGIN HIDDEN TESTS
some = torch.cat(
    [
        randn(300) * torch.exp2(randint(-130, 120, (300,)).float()),
        (1 + randint(0, 256, (60,)) / 256) * torch.exp2(randint(-30, 30, (60,)).float()),
        torch.tensor([0.0, 1e-45, -3e-39]),
    ]
).view(3, 121)
bits = some.view(torch.int32)
check.equal(
    check.run(round_by_mask, some, 7),
    some.bfloat16().float(),
    "with 7 bits the result is not torch's bfloat16",
    wrong={
        "the bits are cut off: add before you mask": (bits & -(2**16)).view(torch.float32),
        "ties are rounded up: add 2^(r−1) − 1 and the lowest bit that stays": ((bits + 2**15) & -(2**16)).view(torch.float32),
        "ties are rounded down: the lowest bit that stays is missing from the sum": ((bits + 2**15 - 1) & -(2**16)).view(torch.float32),
        "always ten bits are kept: use `mantissa_bits`": ((bits + 2**12 - 1 + ((bits >> 13) & 1)) & -(2**13)).view(torch.float32),
    },
)
check.equal(
    check.run(round_by_mask, torch.tensor([3.4e38, -3.4e38]), 7),
    [math.inf, -math.inf],
    "above the largest bf16 the carry makes infinity: that is right, let it happen",
)
odd = torch.tensor([0x7FFFFFFF, 0x7F800001, -1], dtype=torch.int32).view(torch.float32)  # NaNs of several kinds
special = check.run(round_by_mask, torch.cat([torch.tensor([math.inf, -math.inf]), odd]), 7)
check.equal(
    special,
    [math.inf, -math.inf, math.nan, math.nan, math.nan],
    "infinity and NaN must stay what they are: the sum would carry a NaN's bits over, into another number",
)
check.equal(check.run(round_by_mask, some, 23), some, "with 23 bits nothing is dropped: the numbers stay as they are")
check.equal(
    check.run(round_by_mask, some, 22), ((bits + (bits >> 1 & 1)) & -2).view(torch.float32), "with 22 bits exactly one bit is dropped"
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.5 Loss scaling <small>★★☆ · 20 min · 4 points</small>
# fp16 has only five exponent bits: what is at most $2^{-25}$ becomes 0, and many gradients are that small. Multiply the *loss* by a large number $S$, and by the chain rule every gradient is multiplied by $S$ before it is rounded. Afterwards
# divide by $S$ again, in float32: in fp16 the division would bring the zeros back (Micikevicius et al., 2018). If $S$ is too large, a gradient overflows; then the step is skipped and $S$ is halved.
#
# 1. `unscale`: from the scaled fp16 gradients, the float32 gradients divided by the scale, and whether any of them is infinite or NaN.
# 2. `next_scale`: after an overflow, the scale times `backoff`, and the count of good steps starts from 0. After a good step the count grows by one; when it has reached `interval`, the scale is multiplied by `growth` and the count starts from 0.
#
# The order in a loop is: unscale, look for an overflow, *then* clip, then step.


# %% nbgrader={"grade": false, "grade_id": "loss-scale", "locked": false, "schema_version": 3, "solution": true, "task": false}
def unscale(gradients, scale):
    """Scaled fp16 gradients (a list of tensors): (overflow, list of float32 gradients), overflow a bool."""
    ### BEGIN SOLUTION
    overflow = any(not bool(g.isfinite().all()) for g in gradients)
    return overflow, [g.float() / scale for g in gradients]
    ### END SOLUTION


def next_scale(scale, good, overflow, interval=2000, growth=2.0, backoff=0.5):
    """The scale and the count of good steps after a step with or without an overflow: (scale, good)."""
    ### BEGIN SOLUTION
    if overflow:
        return scale * backoff, 0
    good += 1
    return (scale * growth, 0) if good == interval else (scale, good)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "loss-scale-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check = Check("loss-scale", points=4)
tiny = [torch.tensor([2.0**-20, -(2.0**-18)], dtype=torch.float16), torch.tensor([[1.0]], dtype=torch.float16)]
pair = check.run(lambda: unscale([t.clone() for t in tiny], 1024.0))
check.close(
    craft.then(pair, lambda r: r[1][0].double()),
    [2.0**-30, -(2.0**-28)],
    "2^−20 divided by 1024 is 2^−30, which fp16 cannot hold",
    rtol=0,
    atol=0,
    wrong={
        "the division happens in fp16, where the result is 0: convert to float32 first": [0.0, 0.0],
        "multiply back? The scale has to be divided out": [2.0**-10, -(2.0**-8)],
        "nothing is divided: take the scale out again": [2.0**-20, -(2.0**-18)],
    },
)
check.equal(
    craft.then(pair, lambda r: [r[0], str(r[1][1].dtype)]),
    [False, "torch.float32"],
    "no overflow here, and float32 gradients come back: (False, …)",
)
check.equal(
    check.run(
        lambda: [unscale([torch.tensor([1.0, bad]).half(), torch.ones(2).half()], 8.0)[0] for bad in (math.inf, -math.inf, math.nan)]
    ),
    [True, True, True],
    "one entry that is infinite or NaN is an overflow, in any tensor",
    wrong={
        "NaN is an overflow, too: ask for what is not finite": [True, True, False],
        "minus infinity is an overflow, too": [True, False, True],
    },
)
check.equal(
    check.run(next_scale, 64.0, 5, True),
    (32.0, 0),
    "after an overflow the scale is halved, and the count of good steps starts from 0",
    wrong={
        "the count of good steps goes on: it starts from 0 after an overflow": (32.0, 5),
        "the scale grows after an overflow: it must shrink": (128.0, 0),
    },
)
check.equal(
    check.run(lambda: [next_scale(64.0, 0, False, 3), next_scale(64.0, 2, False, 3)]),
    [(64.0, 1), (128.0, 0)],
    "good steps are counted; with the third of three the scale doubles and the count starts from 0",
    wrong={
        "the scale grows one step too late: this good step counts": [(64.0, 1), (64.0, 3)],
        "the count must start from 0 again when the scale grows": [(64.0, 1), (128.0, 3)],
    },
)
### BEGIN HIDDEN TESTS
last = check.run(lambda: unscale([torch.ones(2).half(), torch.ones(3, 1).half(), torch.tensor([[math.inf]]).half()], 8.0)[0])
check.equal(last, True, "an overflow in the last tensor is missed")
check.equal(check.run(lambda: unscale([torch.zeros(2).half()], 8.0)[0]), False, "zero is no overflow")
half = [randn(3, 2).half(), randn(4).half()]
got = check.run(lambda: unscale([t.clone() for t in half], 2.0**16))
check.close(
    craft.then(got, lambda r: torch.cat([g.flatten() for g in r[1]]).double()),
    torch.cat([h.flatten() for h in half]).double() / 2**16,
    "the unscaled gradients are wrong for other numbers",
    rtol=1e-6,
    atol=0,
)


def history(flags, interval, growth, backoff):
    state, seen = (2.0**10, 0), []
    for flag in flags:
        state = next_scale(*state, flag, interval, growth, backoff)
        seen.append(tuple(state))
    return seen


def expected_history(flags, interval, growth, backoff):
    size, count, seen = 2.0**10, 0, []
    for flag in flags:
        size, count = (size * backoff, 0) if flag else (size, count + 1)
        if count == interval:
            size, count = size * growth, 0
        seen.append((size, count))
    return seen


for flags, interval, growth, backoff in [
    ([False] * 9 + [True] * 3 + [False] * 5, 4, 2.0, 0.5),
    ([False, True] * 4, 1, 3.0, 0.25),
    ([False] * 5, 2000, 2.0, 0.5),
]:
    check.equal(
        check.run(history, flags, interval, growth, backoff),
        expected_history(flags, interval, growth, backoff),
        "over several steps the scale goes wrong: are interval, growth and backoff used?",
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: what fp16 would lose
# Gradients of the small language model after a few steps of training, and what fp16 can hold of them: as they are, and multiplied by $2^{12}$.
#
# *Before you run it:* guess the share of gradients that would become zero.

# %%
seed(2)
graded_model = models.LanguageModel(watch_shape)
graded_stepper = AdamW(graded_model.parameters(), lr=2e-3)
for _ in range(pick(smoke=2, laptop=60, gpu=200)):
    window = data.train[torch.randint(len(data.train) - 32, (16, 1)) + torch.arange(33)]
    graded_stepper.zero_grad()
    F.cross_entropy(graded_model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten()).backward()
    graded_stepper.step()
seen_gradients = [p.grad for p in graded_model.parameters() if p.grad is not None]
number_formats.gradient_histogram(seen_gradients, {"as they are": 1.0, "loss × 2¹²": 2.0**12}, limits(5, 10))
plt.show()
sizes_seen = torch.cat([g.flatten() for g in seen_gradients]).double()
sizes_seen = sizes_seen[sizes_seen != 0]
for factor in (1.0, 2.0**12):
    rounded = round_to(sizes_seen * factor, 5, 10)
    print(
        f"loss × {factor:>6.0f}: {(rounded == 0).double().mean().item():.2%} of the gradients become 0, {(~rounded.isfinite()).sum().item()} overflow"
    )

# %% [markdown]
# ### Look: who computes in what
# *Autocast* runs matrix products in a short format and everything delicate in float32. The weights stay in float32: an update is small beside the weight it changes, and a short format would round it away.
#
# *Before you run it:* in bf16, neighbours near 1 are 2⁻⁷ apart. Add 0.001 a thousand times to 1: what comes out?

# %%
linear, features = nn.Linear(8, 4), torch.randn(3, 8)
with torch.autocast("cpu", dtype=torch.bfloat16):
    product = linear(features)
    cost_of = F.cross_entropy(product, torch.tensor([0, 1, 2]))
cost_of.backward()
print(f"weights {linear.weight.dtype}, product {product.dtype}, loss {cost_of.dtype}, gradients {linear.weight.grad.dtype}")
short, long = torch.tensor(1.0, dtype=torch.bfloat16), torch.tensor(1.0)
for _ in range(1000):
    short, long = short + 0.001, long + 0.001
print(f"1 + 1000 × 0.001: in bf16 {short.item():.3f}, in fp32 {long.item():.3f}")


# %%
def short_run(mode):
    """The same steps in float32, under autocast (float32 weights, bf16 products), and with everything in bf16."""
    seed(3)
    model = models.LanguageModel(watch_shape)
    model = model.bfloat16() if mode == "all bf16" else model
    stepper, losses = torch.optim.AdamW(model.parameters(), lr=1e-3), []
    for _ in training.progress(range(pick(smoke=3, laptop=60, gpu=300)), mode, keep=[model, stepper, losses]):
        window = data.train[torch.randint(len(data.train) - 32, (16, 1)) + torch.arange(33)]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mode == "autocast"):
            loss = F.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())
        stepper.zero_grad()
        loss.backward()
        stepper.step()
        losses.append(loss.item())
    return losses


precision_runs = {mode: short_run(mode) for mode in ("float32", "autocast", "all bf16")}
plots.curves(
    {mode: (list(range(1, len(losses) + 1)), smooth(losses)) for mode, losses in precision_runs.items()},
    "step",
    "loss (mean of 10 steps)",
    "The same steps in three precisions",
)
plt.show()

# %% [markdown]
# At a rate of 0.001 a step is large beside most weights, and even weights in bf16 learn as the others do. *Before you run it:* schedules end at a hundredth of their peak and below. Which share of a model's weights does one step of AdamW still change, in float32 and in bf16?


# %%
def share_moved(rate, dtype):
    """Of the weights that have a gradient, the share that one step of AdamW changes at all."""
    seed(3)
    model = models.LanguageModel(watch_shape).to(dtype)
    before = [p.detach().clone() for p in model.parameters()]
    window = data.train[torch.randint(len(data.train) - 32, (16, 1)) + torch.arange(33)]
    F.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten()).backward()
    torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0).step()
    pairs = [(p.detach() != old)[p.grad != 0] for p, old in zip(model.parameters(), before, strict=True)]
    return torch.cat(pairs).double().mean().item()


print(f"{'rate':>8}{'float32':>10}{'bf16':>8}")
for rate in (1e-3, 1e-4, 1e-5, 1e-6):
    print(f"{rate:>8g}{share_moved(rate, torch.float32):>10.0%}{share_moved(rate, torch.bfloat16):>8.0%}")

# %% [markdown]
# An update below half the gap to the next number is rounded away. At laptop scale, with this seed, a rate of 10⁻⁵ left three of four bf16 weights where they were. Hence autocast: short products, float32 weights.
#
# ## 6 Two processes, one model
#
# In data-parallel training every worker has a copy of the model and a share of each batch. Each computes the gradient of the *mean* loss over its own examples; then the gradients are averaged over the network, and all workers take the same step. Done right,
# the copies stay equal, and equal to one process that sees the whole batch.
#
# ### 6.1 Average the gradients <small>★★☆ · 20 min · 4 points</small>
# Worker $w$ has $n_w$ examples and the gradient $g_w$ of its mean loss. What is the gradient of the mean loss over *all* examples? Derive it first: write both means as sums. It is not the plain mean of the $g_w$ when the shares differ, and they do at the end of every epoch.
#
# `all_sum(tensor)` is the only way to talk: it waits for all workers and gives each of them the sum of their tensors, a new tensor. With torch that is `torch.distributed.all_reduce`. Every worker runs your function, and all must call `all_sum`
# equally often and with the same shapes, or they wait for each other for ever.


# %% nbgrader={"grade": false, "grade_id": "average", "locked": false, "schema_version": 3, "solution": true, "task": false}
def average_gradients(gradients, count, all_sum):
    """The gradient of the mean loss over all workers' examples, on every worker.

    gradients: this worker's gradients (a list of tensors) of the mean loss over its `count` examples. Gives a list of new tensors.
    """
    ### BEGIN SOLUTION
    total = all_sum(torch.tensor(float(count), dtype=torch.float64))
    return [all_sum(g * count) / total.to(g.dtype) for g in gradients]
    ### END SOLUTION


def all_workers(gradients, counts):
    """For the test: what each of several workers (here threads) gets from your function."""
    return workers.in_step(lambda rank, all_sum: average_gradients(gradients[rank], counts[rank], all_sum), len(counts))[0]


# %% nbgrader={"grade": true, "grade_id": "average-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check = Check("average", points=4)
results = check.run(all_workers, [[torch.tensor([6.0])], [torch.tensor([2.0])]], [5, 5])
check.close(
    craft.then(results, lambda r: r[0][0]),
    [4.0],
    "two workers with equal shares: the plain mean of 6 and 2",
    wrong={
        "this is the sum of the gradients: divide. Did you divide by this worker's own count? It is the total that counts": [8.0],
        "each worker keeps its own gradient: all_sum brings them together": [6.0],
        "this is the sum over examples: divide by their number": [40.0],
    },
)
results = check.run(all_workers, [[torch.tensor([4.0, 8.0])], [torch.tensor([8.0, -4.0])]], [2, 6])
check.close(
    craft.then(results, lambda r: r[0][0]),
    [7.0, -1.0],
    "one worker has 2 examples, the other 6: each worker's mean counts as often as it has examples",
    wrong={
        "this is the plain mean over the workers: weigh each by its number of examples": [6.0, 2.0],
        "the weights are swapped: more examples, more weight": [5.0, 5.0],
        "this is the sum of the gradients, without any weight or division": [12.0, 4.0],
        "this is divided by this worker's own count: the total goes through all_sum, too": [28.0, -4.0],
        "this is the sum over examples: divide by their number": [56.0, -8.0],
        "each worker keeps its own gradient: all_sum brings them together": [4.0, 8.0],
    },
)
check.close(
    craft.then(results, lambda r: r[1][0]),
    craft.then(results, lambda r: r[0][0]),
    "the second worker gets something else than the first: all copies must take the same step",
)
check.unchanged(all_workers, [[torch.ones(2)], [torch.full((2,), 3.0)]], [2, 3])
### BEGIN HIDDEN TESTS
layers = [(3, 4), (4,), (2, 1, 2)]
for counts in ([2, 3, 7], [4], [1, 1], [5, 0, 2]):
    given = [[randn(*s, dtype=torch.float64) * (n > 0) for s in layers] for n in counts]
    exact = [sum(n * g[i] for n, g in zip(counts, given)) / sum(counts) for i in range(3)]
    plain_mean = [sum(g[i] for g in given) / len(counts) for i in range(3)]
    results = check.run(all_workers, given, counts)
    for rank in range(len(counts)):
        got = craft.then(results, lambda r, rank=rank: torch.cat([g.flatten() for g in r[rank]]))
        check.close(
            got,
            torch.cat([g.flatten() for g in exact]),
            "with several layers and workers, one of them perhaps without examples (count 0, gradients 0), the average is wrong"
            if len(counts) > 1
            else "a single worker gets its own gradients back",
            wrong={
                "this is the plain mean over the workers: weigh each by its number of examples": torch.cat(
                    [g.flatten() for g in plain_mean]
                )
            }
            if len(counts) > 1
            else None,
        )
    check.equal(
        craft.then(results, lambda r: [list(g.shape) for g in r[0]]), [list(s) for s in layers], "the gradients must keep their shapes"
    )
single = [[randn(4)], [randn(4)]]
results = check.run(all_workers, single, [3, 2])
check.equal(results and str(results[0][0].dtype), "torch.float32", "the dtype of the gradients must stay: float32")
asked = checks.Counted(lambda tensor: 3 * tensor)  # three workers that happen to be alike
results = check.run(lambda: average_gradients([torch.tensor([1.5, -2.0])], 4, asked))
check.close(
    craft.then(results, lambda r: r[0]),
    [1.5, -2.0],
    "three workers with the same gradients and counts: the average is that gradient. Is everything that is shared sent through all_sum, and nothing assumed about the number of workers?",
)
check.calls(asked, "all_sum is never called: the workers do not talk to each other")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: `torchrun`
# The same training three times, on batches of 7 examples, which two workers cannot share evenly: in one process, with two workers as threads, and (at laptop scale) with two real processes that `torchrun` starts and that talk over `gloo`. Your function is copied into the script.

# %%
alone = workers.train(average_gradients, 0, 1, lambda tensor: tensor.clone())
threads, talks = workers.in_step(lambda rank, all_sum: workers.train(average_gradients, rank, 2, all_sum), 2)
print(
    f"two threads:   largest difference to one process {max((w - alone).abs().max().item() for w in threads):.1e}, {talks} calls of all_sum"
)
if scale() == "smoke":
    print("two processes: started at laptop scale, and in the course's own tests")
else:
    with tempfile.TemporaryDirectory() as scratch:
        pair_of_weights = workers.torchrun(workers.script(average_gradients), scratch, count=2)
    print(f"two processes: largest difference to one process {max((w - alone).abs().max().item() for w in pair_of_weights):.1e}")
    print(f"               copies equal, bit for bit: {torch.equal(*pair_of_weights)}")

# %% [markdown]
# The copies agree to the last bit with each other, and to about $10^{-16}$ with one process: a sum of two partial sums rounds differently from one sum. Here the weights are float64; in float32 expect $10^{-7}$.
#
# ### 6.2 Bonus: one call for everything <small>★★☆ · 20 min · 4 bonus points</small>
# Every call of `all_sum` costs a round trip, and a model has hundreds of tensors. Do it with exactly one call: pack all gradients, and the count, into one flat tensor, sum it, and unpack. This is what "buckets" are in PyTorch's `DistributedDataParallel`.


# %% nbgrader={"grade": false, "grade_id": "bonus-bucket", "locked": false, "schema_version": 3, "solution": true, "task": false}
def average_in_one_call(gradients, count, all_sum):
    """The same result as average_gradients, with exactly one call of all_sum. All gradients have the same dtype."""
    ### BEGIN SOLUTION
    packed = torch.cat([g.flatten() * count for g in gradients] + [gradients[0].new_tensor([float(count)])])
    packed = all_sum(packed)
    parts = (packed[:-1] / packed[-1]).split([g.numel() for g in gradients])
    return [part.view(g.shape) for part, g in zip(parts, gradients)]
    ### END SOLUTION


def all_workers_at_once(gradients, counts):
    """For the test: what each of several workers (here threads) gets from your function."""
    return workers.in_step(lambda rank, all_sum: average_in_one_call(gradients[rank], counts[rank], all_sum), len(counts))[0]


# %% nbgrader={"grade": true, "grade_id": "bonus-bucket-test", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check = Check("bonus-bucket", points=4)
results = check.run(
    all_workers_at_once, [[torch.tensor([4.0, 8.0]), torch.tensor([[1.0]])], [torch.tensor([0.0, 0.0]), torch.tensor([[5.0]])]], [1, 3]
)
check.close(
    craft.then(results, lambda r: torch.cat([g.flatten() for g in r[1]])),
    [1.0, 2.0, 4.0],
    "the weighted averages are wrong: [4, 8] and [0, 0], 1 and 3 examples, give [1, 2]; [1] and [5] give [4]",
    wrong={
        "this is the plain mean over the workers: the counts belong into the packet": [2.0, 4.0, 3.0],
        "this is the sum: divide by the total count, the last entry of the packet": [4.0, 8.0, 16.0],
    },
)
check.equal(craft.then(results, lambda r: [list(g.shape) for g in r[0]]), [[2], [1, 1]], "the gradients must come back in their own shapes")
asked = checks.Counted(lambda tensor: 2 * tensor)  # two workers that happen to be alike
alike = check.run(lambda: average_in_one_call([torch.tensor([1.5, -2.0]), torch.tensor([[3.0]])], 4, asked))
check.close(
    craft.then(alike, lambda r: torch.cat([g.flatten() for g in r])),
    [1.5, -2.0, 3.0],
    "two workers with the same gradients and counts: the average is that gradient",
)
check.calls(asked, "exactly one call of all_sum: pack the gradients and the count into one flat tensor", exactly=1)
check.unchanged(all_workers_at_once, [[torch.ones(2)], [torch.full((2,), 3.0)]], [2, 3])
### BEGIN HIDDEN TESTS
layers = [(3, 4), (4,), (), (2, 1, 2)]
for counts in ([2, 3, 7], [4], [5, 0, 2]):
    given = [[randn(*s, dtype=torch.float64) * (n > 0) for s in layers] for n in counts]
    exact = torch.cat([(sum(n * g[i] for n, g in zip(counts, given)) / sum(counts)).flatten() for i in range(4)])
    results = check.run(all_workers_at_once, given, counts)
    for rank in range(len(counts)):
        check.close(
            craft.then(results, lambda r, rank=rank: torch.cat([g.flatten() for g in r[rank]])),
            exact,
            "with several shapes (one of them a single number) and counts the averages are wrong, or digits are lost in float32",
        )
    check.equal(
        craft.then(results, lambda r: [list(g.shape) for g in r[-1]]),
        [list(s) for s in layers],
        "the gradients must come back in their own shapes",
    )
asked = checks.Counted(lambda tensor: 5 * tensor)
check.run(lambda: average_in_one_call([randn(3), randn(2, 2), randn(1)], 3, asked))
check.calls(asked, "exactly one call of all_sum, however many tensors there are", exactly=1)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 7 The original Transformer against LLaMA's design, at equal cost
#
# Between 2017 and 2023 the block changed in five places: norms before the branches instead of after the sums, RMSNorm for LayerNorm, SwiGLU for ReLU, rotary for sinusoidal positions, no biases. One hears that the result is "about 10 times more
# efficient". Is it, at a size you can train here? A fair comparison has equal parameters, equal compute, the same data in the same order, a learning rate chosen for *each* design, and several seeds.
#
# ### 7.1 Match the parameters <small>★☆☆ · 10 min · 2 points</small>
# A feed-forward layer with ReLU has two matrices, $D \times h$ and $h \times D$. SwiGLU has three of them. Which hidden width $h'$ gives it as many weights? Round to the *nearest* multiple of `multiple` (hardware likes multiples), but not below one `multiple`.


# %% nbgrader={"grade": false, "grade_id": "match", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gated_hidden(hidden, multiple=1):
    """The hidden width of a SwiGLU layer with as many weights as a ReLU layer with this hidden width, to the nearest multiple: an int."""
    ### BEGIN SOLUTION
    return multiple * max(1, round(hidden * 2 / 3 / multiple))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "match-test", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check = Check("match", points=2)
check.equal(
    check.run(gated_hidden, 288),
    192,
    "two matrices of D × 288 have as many weights as three of D × 192",
    wrong={
        "three matrices instead of two: the hidden width shrinks, it does not stay": 288,
        "the factor is upside down: three matrices need a smaller hidden width": 432,
        "the factor is 2/3, not 1/2": 144,
    },
)
check.equal(
    check.run(gated_hidden, 2048, 8),
    1368,
    "2/3 of 2048 is 1365.33: the nearest multiple of 8 is 1368",
    wrong={"round to the nearest multiple, not down": 1360, "the result is a multiple of `multiple`": 1365},
)
### BEGIN HIDDEN TESTS
for given, multiple in [(2048, 64), (11008 * 3 // 2, 256), (100, 1), (64, 16), (1000, 7)]:
    near = multiple * max(1, int(given * 2 / 3 / multiple + 0.5))
    check.equal(
        check.run(gated_hidden, given, multiple),
        near,
        "with other sizes the hidden width is wrong: 2/3 of it, to the nearest multiple",
        wrong={
            "it is rounded up: to the nearest multiple": multiple * -(-given * 2 // (3 * multiple)),
            "it is rounded down: to the nearest multiple": multiple * (given * 2 // (3 * multiple)),
        },
    )
check.equal(check.run(gated_hidden, 3, 8), 8, "not below one `multiple`: a layer of width 0 is none")
check.true(check.run(lambda: type(gated_hidden(288, 8)) is int and type(gated_hidden(100)) is int), "a width is an int")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 7.2 Count the compute <small>★★☆ · 15 min · 3 points</small>
# Derive the FLOPs of training on a number of tokens (a multiply and an add are two):
#
# - A matrix of $N$ weights costs $2N$ per token forward. Backward costs twice that: one product for the gradient of the input, one for the gradient of the weights.
# - Attention itself has no weights, but per token and layer the scores of one query with $T$ keys, and the mixture of $T$ values, each over the full width $D$. (Count all $T$ keys, also the masked ones.) Backward is again twice as much.
#
# `weights` is the number of weights in all matrices that multiply, the output head included; looking up an embedding is free.


# %% nbgrader={"grade": false, "grade_id": "compute", "locked": false, "schema_version": 3, "solution": true, "task": false}
def training_flops(weights, layers, width, context, tokens):
    """FLOPs of training (forward and backward) on this many tokens, in full contexts: an int."""
    ### BEGIN SOLUTION
    return tokens * (6 * weights + 12 * layers * width * context)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "compute-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("compute", points=3)
check.equal(
    check.run(training_flops, 1000, 0, 0, 0, 1),
    6000,
    "without attention: 2 forward and 4 backward for every weight and token",
    wrong={
        "only the forward pass is counted: backward costs twice as much again": 2000,
        "a multiply and an add are two operations": 3000,
        "backward costs twice the forward pass, not as much": 4000,
    },
)
check.equal(
    check.run(training_flops, 0, 1, 10, 7, 1),
    12 * 70,
    "one layer of attention, one token: 2 · T · D for the scores, 2 · T · D for the mixture, and twice that backward",
    wrong={
        "only the scores, or only the mixture, are counted: both cost 2 · T · D": 6 * 70,
        "only the forward pass is counted": 4 * 70,
        "this grows with T² for one token: a token has T keys": 12 * 10 * 49,
    },
)
### BEGIN HIDDEN TESTS
for given in [(192384, 3, 72, 32, 512), (5000, 2, 16, 9, 27), (10, 1, 2, 1, 1)]:
    weights, layers, width, context, tokens = given
    check.equal(
        check.run(training_flops, *given),
        tokens * (6 * weights + 12 * layers * width * context),
        "for whole models the count is wrong",
        wrong={
            "the tokens multiply both terms": tokens * 6 * weights + 12 * layers * width * context,
            "attention is missing, or counted for one layer only": tokens * (6 * weights + 12 * width * context),
            "attention is missing": tokens * 6 * weights,
        },
    )
block = models.Shape(13, width=12, heads=2, layers=2, context=8, activation="swiglu", hidden=20, bias=False)
heavy = two_designs.multiplying_weights(models.LanguageModel(block))
check.equal(
    check.run(training_flops, heavy, 2, 12, 8, 3 * 8),
    two_designs.counted_flops(block, 3),
    "torch's own count of a small model's training step differs",
)
### END HIDDEN TESTS
check.score()

# %%
# hidden is 4 × width, a multiple of 3, so that the two feed-forward layers match exactly at laptop scale
design_sizes = pick(
    smoke={"width": 24, "heads": 2, "layers": 1, "context": 16, "hidden": 96},
    laptop={"width": 72, "heads": 4, "layers": 3, "context": 32, "hidden": 288},
    gpu={"width": 512, "heads": 8, "layers": 6, "context": 256, "hidden": 2048},
)
designs = {
    "original": two_designs.original(vocabulary=V, **design_sizes),
    "LLaMA style": two_designs.llama(gated_hidden(design_sizes["hidden"], pick(smoke=1, laptop=1, gpu=8)), vocabulary=V, **design_sizes),
}
compare_batch = pick(smoke=4, laptop=16, gpu=64)
for title, shape in designs.items():
    model = models.LanguageModel(shape)
    by_formula = training_flops(
        two_designs.multiplying_weights(model), shape.layers, shape.width, shape.context, compare_batch * shape.context
    )
    print(
        f"{title:<12} {models.parameters(model):>10,} parameters, {by_formula / 1e9:.4f} GFLOPs a step by your formula, {two_designs.counted_flops(shape, compare_batch) / 1e9:.4f} counted by torch"
    )

# %% [markdown]
# At laptop scale the compute is equal to the last operation (at `gpu` scale to about 0.1 %, because the hidden width is rounded). The parameters differ by about one per cent: the original has biases,
# in its linear layers and in LayerNorm; LLaMA's design has one norm more, at the end.
#
# ### 7.3 How many times more efficient? <small>★★☆ · 20 min · 3 points</small>
# Two curves of held-out loss against FLOPs, both with growing FLOPs. How many times fewer FLOPs does design B need to reach the *last* loss of design A?
#
# 1. Find B's first point whose loss is at most A's last loss. If there is none, give `None`. If it is B's very first point, take its FLOPs.
# 2. Else interpolate between the point before it and this one: the *logarithm* of the FLOPs is taken to be linear in the loss.
# 3. The answer is A's last FLOPs divided by B's FLOPs there. Below 1 means that B is worse.


# %% nbgrader={"grade": false, "grade_id": "efficiency", "locked": false, "schema_version": 3, "solution": true, "task": false}
def times_cheaper(flops_a, losses_a, flops_b, losses_b):
    """How many times fewer FLOPs B needs to reach A's last loss (lists of floats): a float, or None if B never reaches it."""
    ### BEGIN SOLUTION
    goal = losses_a[-1]
    for i, loss in enumerate(losses_b):
        if loss <= goal:
            if i == 0:
                return flops_a[-1] / flops_b[0]
            share = (losses_b[i - 1] - goal) / (losses_b[i - 1] - loss)
            log_flops = (1 - share) * math.log(flops_b[i - 1]) + share * math.log(flops_b[i])
            return flops_a[-1] / math.exp(log_flops)
    return None
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "efficiency-test", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("efficiency", points=3)
check.close(
    check.run(times_cheaper, [1.0, 100.0], [4.0, 2.0], [1.0, 10.0, 100.0], [4.0, 2.0, 1.5]),
    10.0,
    "B reaches A's last loss, 2, at 10 FLOPs; A took 100",
    rtol=1e-9,
    wrong={"upside down: A's FLOPs divided by B's": 0.1, "this compares the losses: compare the FLOPs at the same loss": 2.0 / 1.5},
)
check.close(
    check.run(times_cheaper, [1.0, 100.0], [4.0, 2.0], [1.0, 100.0], [3.0, 1.0]),
    10.0,
    "half-way between losses 3 and 1, on a log scale half-way between 1 and 100 FLOPs: 10",
    rtol=1e-9,
    wrong={
        "the FLOPs are interpolated as they are: take their logarithms": 100 / 50.5,
        "the point at which B is better is taken as it is: interpolate between the two": 1.0,
        "the point before is taken as it is: interpolate between the two": 100.0,
    },
)
check.equal(check.run(times_cheaper, [1.0, 2.0], [4.0, 2.0], [1.0, 2.0], [4.0, 2.5]), None, "B never reaches A's last loss: give None")
### BEGIN HIDDEN TESTS
curve_a, curve_b = ([1.0, 8.0, 64.0], [5.0, 3.0, 2.2]), ([2.0, 4.0, 16.0, 64.0, 128.0], [4.5, 2.6, 2.0, 2.4, 1.9])
share = (2.6 - 2.2) / 0.6
check.close(
    check.run(times_cheaper, *curve_a, *curve_b),
    64 / (4 * 4**share),
    "a curve that wiggles: the first crossing counts",
    rtol=1e-9,
    wrong={
        "the last crossing is taken: B was there before": 64 / (64 * 2 ** ((2.4 - 2.2) / 0.5)),
        "the goal is A's lowest loss, or another point: take A's last": 64 / 4,
    },
)
check.close(
    check.run(times_cheaper, [1.0, 50.0], [4.0, 3.0], [5.0, 20.0], [2.0, 1.0]),
    10.0,
    "B is better at its very first point: take that point's FLOPs",
    rtol=1e-9,
)
check.close(
    check.run(times_cheaper, [1.0, 10.0], [4.0, 3.0], [1.0, 100.0], [4.0, 3.0]),
    0.1,
    "B needs more FLOPs than A: the answer is below 1",
    rtol=1e-9,
)
rising = check.run(times_cheaper, [1.0, 10.0, 20.0], [4.0, 3.0, 3.5], [1.0, 10.0, 20.0], [4.0, 3.5, 3.0])
check.close(rising, 2.0, "A's last loss counts, even if it was lower before", rtol=1e-9)
check.unchanged(times_cheaper, [1.0, 2.0], [4.0, 2.0], [1.0, 2.0], [4.0, 1.0])
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: loss against FLOPs
# First a learning rate for each design, on one seed; then the remaining seeds with the rate that was best. Both designs get the same batches, no dropout, weights as in GPT-2 at the start, your AdamW ($\beta = (0.9, 0.95)$, weight decay 0.1 on matrices), gradients clipped at 1,
# a warm-up over the first tenth and a constant rate after it. A constant rate makes every later point of a curve what a run of that length, with the same warm-up, would have given; with a cosine that ends later, the points before would look worse than they need to.
#
# *Before you run it:* write down the factor you expect. Which of the five changes do you think matters most at this size?

# %%
compare_steps = pick(smoke=8, laptop=500, gpu=20_000)
seeds_used = pick(smoke=(0, 1), laptop=(0, 1, 2), gpu=(0, 1, 2, 3, 4))
rates_tried = pick(smoke=(1e-3,), laptop=(1e-3, 2e-3, 4e-3, 8e-3), gpu=(1e-4, 3e-4, 1e-3))
device = "cuda" if torch.cuda.is_available() else "cpu"
held_out = data.validation[: pick(smoke=300, laptop=10_000, gpu=500_000)]


def curve_of(title, rate, index):
    return two_designs.learning_curve(
        designs[title],
        data.train,
        held_out,
        compare_steps,
        compare_batch,
        rate,
        index,
        AdamW,
        device,
        label=f"{title}, η = {rate:g}, seed {index}",
    )


started = time.perf_counter()
trials = {(title, rate): curve_of(title, rate, seeds_used[0]) for title in designs for rate in rates_tried}
best_rate = {title: min(rates_tried, key=lambda rate: trials[title, rate].losses[-1]) for title in designs}
results_of = {
    f"{title}, η = {best_rate[title]:g}": [trials[title, best_rate[title]], *(curve_of(title, best_rate[title], n) for n in seeds_used[1:])]
    for title in designs
}
for (title, rate), curve in trials.items():
    print(f"{title:<12} η = {rate:g}: held-out loss {curve.losses[-1]:.4f}")
print(two_designs.table(results_of))
print(f"({time.perf_counter() - started:.0f} s)")

# %%
axis = plots.curves(
    {title: two_designs.spread(curves) for title, curves in results_of.items()},
    "training GFLOPs",
    "held-out loss, nats per character",
    "Mean of the seeds, with a band from the best to the worst",
)
axis.set_xscale("log")
plt.show()
(first_name, first_curves), (second_name, second_curves) = results_of.items()
factors = [times_cheaper(a.flops, a.losses, b.flops, b.losses) for a in first_curves for b in second_curves]
known = sorted(factor for factor in factors if factor is not None)
print(
    f"times cheaper, every seed of one against every seed of the other: {', '.join(f'{factor:.2f}' for factor in known)}"
    + ("" if len(known) == len(factors) else f" ({len(factors) - len(known)} never reached)")
)

# %% [markdown]
# On the machine this was written on (three seeds, the laptop sizes, 317 GFLOPs or 256,000 characters a run) the original design ended at 2.03 nats per character (2.00 to 2.09, $\eta = 0.004$) and LLaMA's at 1.88
# (1.87 to 1.91, $\eta = 0.002$). The ranges do not overlap. With three seeds that is a hint, not a proof: of the 20 ways to deal six losses to two designs, two separate them completely, so equal designs would do it in one case of ten. LLaMA's design
# reached the original's last loss with about 1.4 to 2 times fewer FLOPs. In CPU seconds the advantage was smaller: its step took 1.25 to 1.4 times as long, because RMSNorm, the gate and the rotation are many small operations that FLOP counts
# of matrix products do not see. At $\eta = 0.008$, on the first seed, the original ended at about 2.5 and the other at 1.95: the older design has the narrower range of rates. How much of the factor would remain with a rate tuned more finely,
# or grow with more compute, these runs do not say.
#
# Which of the five changes does it? Try your guess. One run takes about as long as one of those above:
# ```python
# designs["one change"] = two_designs.changed(designs["original"], ["pre-norm"], gated_hidden(design_sizes["hidden"]))  # or RMSNorm, SwiGLU, RoPE, no biases
# print(curve_of("one change", 0.002, 0).losses[-1])
# ```
#
# ### 7.4 What did you see? <small>★★★ · 25 min · 4 points, graded by hand</small>
# Report your comparison as you would in a paper: setting (parameters, tokens, FLOPs, how the rates were chosen, seeds), result with its spread, and the factor. Is "about 10 times more efficient" visible at this size? Name two reasons why the factor may be different at a
# thousand times the compute, one reason why FLOPs are not seconds, and one way in which your own comparison may be unfair to one of the designs. About 200 words, and no sentence stronger than your numbers.

# %% [markdown] nbgrader={"grade": true, "grade_id": "written-comparison", "locked": false, "points": 4, "schema_version": 3, "solution": true, "task": false}
# <!-- BEGIN SOLUTION -->
# **Model answer** (with the numbers of one machine; yours differ a little). Two language models over characters, 3 blocks of width 72, about 200,000 parameters each (equal to 1.2 %), 0.634 GFLOPs a step for both, 500 steps
# of 512 characters, the same batches, AdamW with warm-up and a constant rate. The rate was chosen for each design among four values, on one seed. Over three seeds the held-out loss was 2.03 (2.00 to 2.09) for the original and 1.88 (1.87 to 1.91)
# for LLaMA's design; the ranges do not overlap, which with three seeds is a hint and no proof. LLaMA's design needed about 1.4 to 2 times fewer FLOPs to reach the original's last loss. "About 10 times" is not visible here. It is not refuted either: the runs are
# short, and the claim is about others. At a larger scale the factor may differ because post-norm becomes harder to train with depth and forces smaller rates, so the gap may grow with the number of blocks; and because a
# factor read off at one loss changes when the two curves have different slopes. It may also shrink: small changes of a design are often worth less once data are plentiful. FLOPs are not seconds: here a step of LLaMA's design
# took longer, since element-wise operations are limited by memory, not arithmetic. My comparison may be unfair to the original: its initialisation was GPT-2's, not its own, it got no dropout and no schedule of its own, and
# the rates that I tried lie a factor of two apart.
#
# | points | rubric |
# | --- | --- |
# | 1 | the setting is complete: sizes, tokens or FLOPs, rates chosen for each design, number of seeds, held-out data |
# | 1 | the numbers with their spread, a factor that follows from them, and a clear "not visible here" (or what was seen) about 10× |
# | 1 | two valid reasons why scale may change the factor, and one why FLOPs are not seconds |
# | 1 | one real weakness of the comparison, named against its own conclusion; hedged language throughout |
# <!-- END SOLUTION -->

# %% [markdown]
# ## What you can now do
#
# - You wrote SGD, Adam and AdamW, and they take torch's steps: with groups, schedules and restarts.
# - You can say what warm-up and bias correction are for, and what Noam's schedule peaks at, without a plot.
# - You watch one number, the gradient norm, and know what clipping does to it and what a spike is.
# - You have killed a run and carried it on, bit for bit, and you know the nine things that are in a complete checkpoint.
# - You round to any floating-point format by hand, and can say which bits buy range and which buy precision.
# - You average gradients so that two processes are one, also when the shares are uneven.
# - You have compared two designs at equal cost, and you know how far the result carries.
