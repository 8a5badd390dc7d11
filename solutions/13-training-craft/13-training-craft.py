# %% [markdown]
# # 13 · Training craft: making it converge
#
# | | |
# | --- | --- |
# | **You will be able to** | write SGD, Adam and AdamW that take the same steps as torch's · choose and plot learning-rate schedules · watch gradient norms, clip them, find spikes · stop a run at any instant and resume it bit for bit · roll back after a divergence |
# | **You need** | `09-gpt` and `12-translation` (warm-up); PyTorch modules and optimisers |
# | **Time** | about four and a quarter hours; each exercise says its own |
# | **Points** | 36, and 4 bonus |
#
# A model that is right on paper can still fail to train: the rate is too high, a gradient explodes, the machine is switched off after three days, the loss becomes infinite after five.
# Papers have a sentence about each of these.
# This notebook has an exercise about each: small enough to check exactly, and done the way large runs do it.
#
# **Notation.**
# $\theta$ is a parameter tensor, $g_t$ its gradient in step $t = 1, 2, \dots$, $\eta$ the learning rate, $\mu$ the momentum, $\lambda$ the weight decay.
# $D$ is the width of a model, $V$ its vocabulary.
# All operations on parameters are elementwise.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, run the test below it.
# Grading runs further checks of the same ideas.
# A test that fails tells you which idea to check.
# *Before you run it* marks a prediction: write it down first, on paper.
#
# Your functions leave their inputs as they are, unless the exercise says otherwise.

# %% locked="setup"
import copy
import math
import random
import statistics
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from helpers import checks
from helpers.checks import Check, rand, randn
from helpers.kit import characters, models, plots, training
from helpers.kit.scale import pick
from helpers.kit.seeding import seed
from helpers.training_craft import checkpoints as craft
from helpers.training_craft import crash_disk, valley

torch.set_num_threads(1)  # the models here are small: several threads would only wait for each other

# %% [markdown]
# ## 1 Three optimisers
#
# An optimiser in PyTorch is a class.
# It gets parameters in one or several *groups*, each with its own options (a learning rate, a weight decay), and its `step()` changes every parameter that has a gradient.
# What it has to remember about a parameter from step to step is kept in `self.state[p]`, a dictionary that is empty at first.
# Options are kept in the group, because a schedule changes `group["lr"]` between two steps.
# State that is kept anywhere else does not get into a checkpoint.
# This is the frame:
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
# Write the body of `step`.
# It already runs under `torch.no_grad()`.
# Do not change the gradients themselves.
#
# *Before you run it:* under a constant gradient and with $\mu = 0.9$, how many times larger than without momentum do the steps finally become?


# %% exercise="sgd"
class SGD(torch.optim.Optimizer):
    """Stochastic gradient descent with momentum μ and weight decay λ."""

    def __init__(self, params, lr, momentum=0.0, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    def step(self, closure=None):
        """One update of every parameter that has a gradient. `closure`, if given, computes the loss again."""
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
    """For the test: the parameters after every step, with a rate for each step and perhaps a restart in the middle."""
    return craft.follow(SGD, start, gradients, rates, restart, **options)


# %% test="sgd" points=3
check = Check("sgd", points=3)
with check.idea("the velocity moves the parameter"):
    one_path = check.measure(checks.optimizer, SGD, [torch.tensor([1.0, 10.0])], [[torch.tensor([2.0, -4.0])]], lr=0.5)
    slips = {"the parameter moved along the gradient: it must go down, −η times the gradient": [2.0, 8.0]}
    slips["the parameter did not move (`p = p − …` only binds a new name: change it in place, as p.sub_(…))"] = [1.0, 10.0]
    check.close(one_path[0][0], [0.0, 12.0], "plain SGD: the parameter moves by −η times the gradient, in place", wrong=slips)
    slow_path = check.measure(checks.optimizer, SGD, [torch.zeros(1)], [[torch.ones(1)]] * 3, lr=1.0, momentum=0.5)
    three = craft.then(slow_path, lambda r: torch.cat([state[0] for state in r]))
    check.close(three, [-1.0, -2.5, -4.25], "with momentum ½ and gradients of one the velocities are 1, 1.5, 1.75")
    ### BEGIN HIDDEN TESTS

    def flat(path):
        return torch.stack([torch.cat([p.flatten() for p in entry]) for entry in path])

    def right_path(start, grads, paces, momentum=0.0, decay=0.0, vectors_decay=True):
        ws, vs, path = [w.clone() for w in start], [None] * len(start), []
        for row, pace in zip(grads, paces):
            for i, g in enumerate(row):
                if g is None:
                    continue
                d = g + (decay if vectors_decay or ws[i].dim() >= 2 else 0.0) * ws[i]
                vs[i] = d if vs[i] is None else momentum * vs[i] + d
                ws[i] = ws[i] - pace * vs[i]
            path.append([w.clone() for w in ws])
        return flat(path)

    shapes = [(3, 4), (5,), (5,), (2, 3, 2), (1, 1), ()]
    w0 = [randn(*s, dtype=torch.float64) for s in shapes]
    gs = [[randn(*s, dtype=torch.float64) for s in shapes] for _ in range(40)]
    paces = [0.05] * 40
    got = check.measure(checks.optimizer, SGD, w0, gs, lr=0.05, momentum=0.9)
    check.close(
        craft.then(got, flat),
        right_path(w0, gs, paces, 0.9),
        "over 40 steps on several shapes the parameters are not those of torch.optim.SGD(momentum=0.9)",
        rtol=1e-4,
        atol=1e-4,
    )
    ### END HIDDEN TESTS
with check.part("weight decay"):
    shrunk = check.measure(checks.optimizer, SGD, [torch.tensor([10.0])], [[torch.tensor([2.0])]], lr=0.5, weight_decay=0.1)
    pull = "with weight decay 0.1, a parameter of 10 and a gradient of 2 the velocity is 2 + 0.1 · 10 = 3, and the step 0.5 · 3"
    check.close(shrunk[0][0], [8.5], pull, wrong={"weight decay pulls towards zero: λθ is added to the gradient, not subtracted": [9.5]})
    ### BEGIN HIDDEN TESTS
    twins = [nn.Parameter(w.clone()) for w in w0]
    torchs = torch.optim.SGD(twins, lr=0.05, momentum=0.9, weight_decay=0.1, foreach=False)
    exact = []
    for row in gs:
        for p, g in zip(twins, row):
            p.grad = g.clone()
        torchs.step()
        exact.append([p.detach().clone() for p in twins])
    got = check.measure(checks.optimizer, SGD, w0, gs, lr=0.05, momentum=0.9, weight_decay=0.1)
    check.close(
        craft.then(got, flat),
        flat(exact),
        "over 40 steps the parameters are not those of torch.optim.SGD(momentum=0.9, weight_decay=0.1)",
        rtol=1e-4,
        atol=1e-4,
    )
    changing = [0.05 / (1 + t) for t in range(12)]
    check.close(
        craft.then(check.run(follow_sgd, w0, gs[:12], [0.05] * 12, momentum=0.9, weight_decay=0.3), flat),
        right_path(w0, gs[:12], [0.05] * 12, 0.9, 0.3, vectors_decay=False),
        "with groups that have their own weight decay the steps are wrong: read it from `group` inside step",
        rtol=1e-5,
        atol=1e-6,
    )
with check.part("the rate of each step"):
    check.close(
        craft.then(check.run(follow_sgd, w0, gs[:12], changing, momentum=0.9), flat),
        right_path(w0, gs[:12], changing, 0.9),
        "with a rate that changes every step the steps are wrong: read group['lr'] inside step, and keep η out of the velocity",
        rtol=1e-5,
        atol=1e-6,
    )
with check.part("state in self.state[p]"):
    steady = [0.05] * 12
    got = check.run(follow_sgd, w0, gs[:12], steady, restart=5, momentum=0.9)
    check.close(
        craft.then(got, flat),
        right_path(w0, gs[:12], steady, 0.9),
        "after a restart from state_dict() the steps differ: keep the velocity in self.state[p], and nowhere else",
        rtol=1e-5,
        atol=1e-6,
    )
    ### END HIDDEN TESTS
with check.part("no gradient, no step"):
    frozen = check.measure(checks.optimizer, SGD, [torch.ones(2), torch.ones(2)], [[None, torch.ones(2)]] * 2, lr=0.1, weight_decay=0.5)
    check.close(frozen[-1][0], torch.ones(2), "a parameter without a gradient (None) stays as it is: no step, no weight decay")
    ### BEGIN HIDDEN TESTS
    gaps = [[g if (t + i) % 3 else None for i, g in enumerate(row)] for t, row in enumerate(gs[:9])]
    got = check.measure(checks.optimizer, SGD, w0, gaps, lr=0.05, momentum=0.9)
    check.close(
        craft.then(got, flat),
        right_path(w0, gaps, [0.05] * 9, 0.9),
        "when a gradient is missing in some steps the later steps are wrong: a parameter without one keeps its velocity, and does not move",
        rtol=1e-5,
        atol=1e-6,
    )
with check.edge("all digits of float64"):
    got = check.measure(checks.optimizer, SGD, w0, gs[:20], lr=0.05, momentum=0.9)
    check.close(
        craft.then(got, flat),
        right_path(w0, gs[:20], paces, 0.9),
        "with float64 parameters digits are lost: keep the dtype",
        rtol=1e-9,
        atol=1e-9,
    )
    ### END HIDDEN TESTS
with check.edge("gradients unchanged"):
    kept = check.run(follow_sgd, [torch.ones(2, 2)], [[torch.ones(2, 2)]] * 2, [0.5, 0.5], unchanged=True, momentum=0.5, weight_decay=1.0)
    check.true(craft.then(kept, lambda r: len(r) == 2), "the gradients themselves must stay as they are")
check.score()

# %% [markdown]
# Under a constant gradient $g$ the velocity tends to $g\,(1 + \mu + \mu^2 + \dots) = g / (1-\mu)$: with $\mu = 0.9$ the steps become ten times as large.
# Where gradients keep their direction, a rate that suits plain SGD may be too high with momentum.
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
# Put $t = 1$ into the formulas and simplify.
# The function returns what is *subtracted* from the parameter in the first step: with the hats, or without them ($m_1$ and $v_1$ instead).
#
# *Before you run it:* without the correction, is the first step with the usual $\beta_1 = 0.9$, $\beta_2 = 0.999$ too small or too large?


# %% exercise="first-step"
def first_adam_step(g, lr, betas=(0.9, 0.999), eps=1e-8, corrected=True):
    """What Adam subtracts in its first step, with or without bias correction: a tensor like g (any shape)."""
    ### BEGIN SOLUTION
    b1, b2 = betas
    if corrected:
        return lr * g / (g.abs() + eps)
    return lr * (1 - b1) * g / ((1 - b2) ** 0.5 * g.abs() + eps)
    ### END SOLUTION


# %% test="first-step" points=2
check = Check("first-step", points=2)
tilt = torch.tensor([3.0, -0.01, 0.0], dtype=torch.float64)
with check.idea("with the correction"):
    corrected_step = check.run(first_adam_step, tilt, 0.1, shape=(3,))
    size_of = "with the correction the first step has the size η and the gradient's sign (0 for a gradient of 0)"
    slips = {"return what is subtracted: it has the same sign as the gradient": [-0.1, 0.1, 0.0]}
    slips["the mean's correction is missing: m̂ = g in the first step"] = [0.01, -0.01, 0.0]
    slips["this step is proportional to the gradient: v̂ = g², so √v̂ = |g| cancels it"] = [0.3, -0.001, 0.0]
    check.close(corrected_step, [0.1, -0.1, 0.0], size_of, rtol=1e-3, atol=1e-9, wrong=slips)
    ### BEGIN HIDDEN TESTS
    wide = randn(4, 3, dtype=torch.float64)
    found = check.run(first_adam_step, wide, 0.3, (0.8, 0.9), shape=(4, 3))
    check.close(found, 0.3 * wide.sign(), "for other gradients, rates and betas the corrected step is wrong", rtol=1e-3)
    again = check.run(first_adam_step, -wide, 0.3, (0.8, 0.9), shape=(4, 3))
    check.close(again, -0.3 * wide.sign(), "a second call with other gradients of the same shape is wrong", rtol=1e-3)
    ### END HIDDEN TESTS
with check.part("without the correction"):
    plain_step = check.run(first_adam_step, tilt, 0.1, (0.9, 0.96), 1e-8, False, shape=(3,))
    slips = {"the correction is still there: with corrected=False use m₁ and v₁ themselves": [0.1, -0.1, 0.0]}
    slips["the root of 1 − β₂ is needed: v is a mean of squares"] = [0.25, -0.25, 0.0]
    slips["m₁ = (1 − β₁) g, and v₁ = (1 − β₂) g²: you used β₁ and β₂ instead"] = [0.0918558, -0.0918558, 0.0]
    half = "without the correction, β₁ = 0.9 and β₂ = 0.96 give η · 0.1 / √0.04 = η / 2"
    check.close(plain_step, [0.05, -0.05, 0.0], half, rtol=1e-3, atol=1e-9, wrong=slips)
    ### BEGIN HIDDEN TESTS
    found = check.run(first_adam_step, wide, 0.3, (0.8, 0.9), 1e-8, False, shape=(4, 3))
    check.close(found, 0.06 / 0.1**0.5 * wide.sign(), "for other gradients, rates and betas the uncorrected step is wrong", rtol=1e-3)
with check.edge("ε outside the root"):
    small = randn(4, 3, dtype=torch.float64) * 1e-3
    check.close(
        check.run(first_adam_step, small, 0.3, (0.8, 0.9), 1e-3, shape=(4, 3)),
        0.3 * small / (small.abs() + 1e-3),
        "with a large ε and small gradients the corrected step is wrong",
    )
with check.edge("ε without the correction"):
    check.close(
        check.run(first_adam_step, small, 0.3, (0.8, 0.9), 1e-3, False, shape=(4, 3)),
        0.3 * 0.2 * small / (0.1**0.5 * small.abs() + 1e-3),
        "with a large ε and small gradients the uncorrected step is wrong: which factor goes where?",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(first_adam_step, tilt, 0.1)
    check.unchanged(first_adam_step, tilt, 0.1, (0.9, 0.999), 1e-8, False)
check.score()

# %% look=true
ratio = (first_adam_step(torch.tensor(1.0), 1.0, corrected=False) / first_adam_step(torch.tensor(1.0), 1.0)).item()
print(f"without bias correction the first step is {ratio:.2f} times as large as with it")

# %% [markdown]
# Too large, by $(1-\beta_1)/\sqrt{1-\beta_2} = 3.16$: the running mean of squares also starts from zero, it is the slower of the two, and it is in the denominator.
#
# ### 1.3 Adam <small>★★☆ · 20 min · 4 points</small>
# Now the class.
# Weight decay is again part of the gradient: $g_t + \lambda\,\theta_{t-1}$ takes the place of $g_t$ everywhere ("L2").
# $\varepsilon$ is added to $\sqrt{\hat v_t}$, outside the root and after the correction.
# Each parameter counts its own steps, so keep $t$ in its state, too.


# %% exercise="adam"
class Adam(torch.optim.Optimizer):
    """Adam with bias correction; weight decay is part of the gradient."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def step(self, closure=None):
        """One update of every parameter that has a gradient. `closure`, if given, computes the loss again."""
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
    """For the test: the parameters after every step, with a rate for each step and perhaps a restart in the middle."""
    return craft.follow(Adam, start, gradients, rates, restart, **options)


# %% test="adam" points=4
check = Check("adam", points=4)
with check.idea("two means, both corrected"):
    two = [[torch.tensor([4.0, -1.0])], [torch.tensor([0.0, -1.0])]]
    short_path = check.measure(checks.optimizer, Adam, [torch.zeros(2)], two, lr=0.1, betas=(0.5, 0.84))
    slips = {
        "the correction of m is missing: the first step is too small": [-0.05, 0.05],
        "the parameter moved along the gradient: it must go down": [0.1, -0.1],
    }
    slips |= {
        "the correction of v is missing: the first step is too large": [-0.25, 0.25],
        "the first step lacks both corrections": [-0.125, 0.125],
    }
    check.close(short_path[0][0], [-0.1, 0.1], "the first step has the size η (see 1.2)", rtol=1e-4, wrong=slips)
    second = "the second step is wrong: for gradients 4, then 0, the means are m = 1 and v = 2.1504, corrected with t = 2"
    slips = {
        "the running means are not remembered: keep them in self.state[p]": [-0.1, 0.2],
        "the step count stays at 1: t grows with every step": [-0.15455, 0.21058],
    }
    slips["the betas are swapped: β₁ belongs to m, β₂ to v"] = [-0.17907, 0.2]
    check.close(short_path[1][0], [-0.14933, 0.2], second, rtol=1e-3, wrong=slips)
    ### BEGIN HIDDEN TESTS

    def flat(path):
        return torch.stack([torch.cat([p.flatten() for p in entry]) for entry in path])

    def by_hand(start, grads, paces, decay=0.0, vectors_decay=True):
        (b1, b2), ws, path = (0.9, 0.999), [w.clone() for w in start], []
        ms, vs = [torch.zeros_like(w) for w in ws], [torch.zeros_like(w) for w in ws]
        for t, (row, pace) in enumerate(zip(grads, paces), 1):
            for i, g in enumerate(row):
                g = g + (decay if vectors_decay or ws[i].dim() >= 2 else 0.0) * ws[i]
                ms[i] = b1 * ms[i] + (1 - b1) * g
                vs[i] = b2 * vs[i] + (1 - b2) * g * g
                ws[i] = ws[i] - pace * ms[i] / (1 - b1**t) / ((vs[i] / (1 - b2**t)).sqrt() + 1e-8)
            path.append([w.clone() for w in ws])
        return flat(path)

    def torchs_path(start, grads, **options):
        twins = [nn.Parameter(w.clone()) for w in start]
        torchs, path = torch.optim.Adam(twins, lr=0.02, foreach=False, **options), []
        for row in grads:
            for p, g in zip(twins, row):
                p.grad = None if g is None else g.clone()
            torchs.step()
            path.append([p.detach().clone() for p in twins])
        return flat(path)

    sizes = [(4, 3), (5,), (5,), (2, 1, 3), ()]
    w0 = [randn(*s, dtype=torch.float64) for s in sizes]
    gs = [[randn(*s, dtype=torch.float64) * (0.3 if t % 7 else 3.0) for s in sizes] for t in range(40)]
    paces = [0.02] * 40
    got, exact = craft.then(check.measure(checks.optimizer, Adam, w0, gs, lr=0.02), flat), torchs_path(w0, gs)
    check.close(
        got,
        exact,
        "over 40 steps on several shapes the parameters are not those of torch.optim.Adam",
        rtol=1e-3,
        atol=1e-3,
    )
with check.part("decay in the gradient"):
    check.close(
        craft.then(check.measure(checks.optimizer, Adam, w0, gs, lr=0.02, weight_decay=0.2), flat),
        torchs_path(w0, gs, weight_decay=0.2),
        "over 40 steps the parameters are not those of torch.optim.Adam with weight decay",
        rtol=1e-3,
        atol=1e-3,
    )
    check.close(
        craft.then(check.run(follow_adam, w0, gs[:12], [0.02] * 12, weight_decay=0.3), flat),
        by_hand(w0, gs[:12], [0.02] * 12, decay=0.3, vectors_decay=False),
        "with groups that have their own weight decay the steps are wrong: read it from `group` inside step",
        rtol=1e-5,
        atol=1e-5,
    )
with check.part("the rate of each step"):
    changing = [0.05 / (1 + t) for t in range(12)]
    check.close(
        craft.then(check.run(follow_adam, w0, gs[:12], changing), flat),
        by_hand(w0, gs[:12], changing),
        "with a rate that changes every step the steps are wrong: read group['lr'] inside step",
        rtol=1e-5,
        atol=1e-5,
    )
with check.part("state in self.state[p]"):
    check.close(
        craft.then(check.run(follow_adam, w0, gs[:12], [0.02] * 12, restart=5), flat),
        by_hand(w0, gs[:12], [0.02] * 12),
        "after a restart from state_dict() the steps differ: keep m, v and t in self.state[p]",
        rtol=1e-5,
        atol=1e-5,
    )
    ### END HIDDEN TESTS
with check.part("no gradient, no step"):
    idle = check.measure(checks.optimizer, Adam, [torch.ones(2), torch.ones(2)], [[None, torch.ones(2)]] * 2, lr=0.1, weight_decay=0.5)
    check.close(idle[-1][0], torch.ones(2), "a parameter without a gradient (None) stays as it is")
    ### BEGIN HIDDEN TESTS
    gaps = [[g if (t + i) % 3 else None for i, g in enumerate(row)] for t, row in enumerate(gs[:9])]
    check.close(
        craft.then(check.measure(checks.optimizer, Adam, w0, gaps, lr=0.02), lambda r: flat(r)[-1]),
        torchs_path(w0, gaps)[-1],
        "when a gradient is missing in some steps the corrections are wrong: every parameter counts the steps it has taken itself",
        rtol=1e-5,
        atol=1e-5,
    )
with check.edge("ε outside the root"):
    how = {"betas": (0.8, 0.95), "eps": 1e-2}
    check.close(
        craft.then(check.measure(checks.optimizer, Adam, w0, gs, lr=0.02, **how), flat),
        torchs_path(w0, gs, **how),
        "with ε = 0.01 the parameters are not those of torch.optim.Adam",
        rtol=1e-5,
        atol=1e-5,
    )
    faint = [[1e-8 * g for g in row] for row in gs[:9]]
    check.close(
        craft.then(check.measure(checks.optimizer, Adam, w0, faint, lr=0.02), flat),
        torchs_path(w0, faint),
        "with gradients as small as ε the parameters are not those of torch.optim.Adam",
        rtol=1e-5,
        atol=1e-5,
    )
with check.edge("all digits of float64"):
    digits = "almost right, but digits are lost: compute 1 − βᵗ with plain Python numbers, and keep the parameters' dtype"
    large = [[1e4 * g for g in row] for row in gs]  # ε is another question
    check.close(craft.then(check.measure(checks.optimizer, Adam, w0, large, lr=0.02), flat), torchs_path(w0, large), digits)
    ### END HIDDEN TESTS
with check.edge("gradients unchanged"):
    kept = check.run(follow_adam, [torch.ones(2, 2)], [[torch.ones(2, 2)]] * 2, [0.5, 0.5], unchanged=True, weight_decay=1.0)
    check.true(craft.then(kept, lambda r: len(r) == 2), "the gradients themselves must stay as they are")
check.score()

# %% [markdown]
# ### 1.4 AdamW <small>★★☆ · 15 min · 4 points</small>
# In Adam, weight decay is divided by $\sqrt{\hat v}$ with the rest of the gradient: weights with large gradients are hardly decayed.
# AdamW (Loshchilov and Hutter, 2019) takes it out of the gradient and applies it to the parameter directly, with the rate of the step, before Adam's own step with the pure gradient:
#
# $$ \theta_{t-1}' = (1 - \eta\lambda)\, \theta_{t-1}, \qquad \theta_t = \theta_{t-1}' - \eta\, \frac{\hat m_t}{\sqrt{\hat v_t} + \varepsilon} . $$
#
# The default of $\lambda$ is 0.01, as in torch.
# Write it as a separate class, without calling your Adam: it will be copied into a script later.


# %% exercise="adamw"
class AdamW(torch.optim.Optimizer):
    """Adam with decoupled weight decay."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def step(self, closure=None):
        """One update of every parameter that has a gradient. `closure`, if given, computes the loss again."""
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
    """For the test: the parameters after every step, with a rate for each step and perhaps a restart in the middle."""
    return craft.follow(AdamW, start, gradients, rates, restart, **options)


# %% test="adamw" points=4
check = Check("adamw", points=4)
with check.idea("decay beside Adam's step"):
    still = check.measure(checks.optimizer, AdamW, [torch.tensor([8.0])], [[torch.zeros(1)]] * 2, lr=0.5, weight_decay=0.1)
    slips = {
        "nothing decays: multiply the parameter by 1 − ηλ": [8.0, 8.0],
        "the decay is λ, without the learning rate: 1 − ηλ": [7.2, 6.48],
    }
    slips["the decay goes through Adam's running means: apply it to the parameter itself"] = [7.5, 7.0011]
    slips["the weights grow: the factor is 1 − ηλ"] = [8.4, 8.82]
    alone = "with a gradient of zero only the decay acts: every step multiplies by 1 − ηλ = 0.95"
    check.close(craft.then(still, lambda r: torch.cat([state[0] for state in r])), [7.6, 7.22], alone, wrong=slips)
    moved = check.measure(checks.optimizer, AdamW, [torch.tensor([8.0])], [[torch.tensor([3.0])]], lr=0.5, weight_decay=0.1)
    check.close(
        moved[0][0], [7.1], "with a gradient the step is that of Adam, η in the first step, on top of the decay: 8 · 0.95 − 0.5", atol=0.03
    )
    ### BEGIN HIDDEN TESTS

    def flat(path):
        return torch.stack([torch.cat([p.flatten() for p in entry]) for entry in path])

    def by_hand(start, grads, paces, decay=0.01, vectors_decay=True):
        (b1, b2), ws, path = (0.9, 0.999), [w.clone() for w in start], []
        ms, vs = [torch.zeros_like(w) for w in ws], [torch.zeros_like(w) for w in ws]
        for t, (row, pace) in enumerate(zip(grads, paces), 1):
            for i, g in enumerate(row):
                shrink = decay if vectors_decay or ws[i].dim() >= 2 else 0.0
                ms[i] = b1 * ms[i] + (1 - b1) * g
                vs[i] = b2 * vs[i] + (1 - b2) * g * g
                ws[i] = ws[i] * (1 - pace * shrink) - pace * ms[i] / (1 - b1**t) / ((vs[i] / (1 - b2**t)).sqrt() + 1e-8)
            path.append([w.clone() for w in ws])
        return flat(path)

    def torchs_path(start, grads, **options):
        twins = [nn.Parameter(w.clone()) for w in start]
        torchs, path = torch.optim.AdamW(twins, lr=0.02, foreach=False, **options), []
        for row in grads:
            for p, g in zip(twins, row):
                p.grad = None if g is None else g.clone()
            torchs.step()
            path.append([p.detach().clone() for p in twins])
        return flat(path)

    sizes = [(4, 3), (5,), (5,), (2, 1, 3), ()]
    w0 = [3 * randn(*s, dtype=torch.float64) for s in sizes]
    gs = [[randn(*s, dtype=torch.float64) * (0.3 if t % 7 else 3.0) for s in sizes] for t in range(40)]
    paces = [0.02] * 40
    exact = torchs_path(w0, gs, weight_decay=0.3)
    got = craft.then(check.measure(checks.optimizer, AdamW, w0, gs, lr=0.02, weight_decay=0.3), flat)
    check.close(
        got,
        exact,
        "over 40 steps on several shapes the parameters are not those of torch.optim.AdamW",
        rtol=0,
        atol=0.015,  # decay after the step stays below this (40 η² λ = 0.005): an edge asks for the order,
    )
with check.part("groups with their own decay"):
    check.close(
        craft.then(check.run(follow_adamw, w0, gs[:12], [0.02] * 12, weight_decay=0.3), flat),
        by_hand(w0, gs[:12], [0.02] * 12, decay=0.3, vectors_decay=False),
        "with groups that have their own weight decay the steps are wrong: read it from `group` inside step",
        rtol=0,
        atol=2e-3,  # an edge below asks for the order of decay and step,
    )
with check.part("the rate of each step"):
    changing = [0.05 / (1 + t) for t in range(12)]
    check.close(
        craft.then(check.run(follow_adamw, w0, gs[:12], changing, weight_decay=0.0), flat),
        by_hand(w0, gs[:12], changing, decay=0.0),
        "with a rate that changes every step the steps are wrong: read group['lr'] inside step",
        rtol=1e-5,
        atol=1e-5,
    )
    at_rest = check.run(follow_adamw, [torch.full((2, 2), 8.0)], [[torch.zeros(2, 2)]] * 2, [0.5, 0.25], weight_decay=0.4)
    paced = "the decay does not follow the rate of the step: with η = 0.5, then 0.25 and λ = 0.4 it is 0.8, then 0.9"
    check.close(craft.then(at_rest, lambda r: [float(entry[0].mean()) for entry in r]), [6.4, 5.76], paced, rtol=1e-5)
with check.part("state in self.state[p]"):
    check.close(
        craft.then(check.run(follow_adamw, w0, gs[:12], [0.02] * 12, restart=5, weight_decay=0.0), flat),
        by_hand(w0, gs[:12], [0.02] * 12, decay=0.0),
        "after a restart from state_dict() the steps differ: keep m, v and t in self.state[p]",
        rtol=1e-5,
        atol=1e-5,
    )
    ### END HIDDEN TESTS
with check.part("no gradient, no step"):
    idle = check.measure(checks.optimizer, AdamW, [torch.ones(2), torch.ones(2)], [[None, torch.ones(2)]] * 2, lr=0.1)
    check.close(idle[-1][0], torch.ones(2), "a parameter without a gradient (None) stays as it is: it is not decayed either")
    ### BEGIN HIDDEN TESTS
    gaps = [[g if (t + i) % 3 else None for i, g in enumerate(row)] for t, row in enumerate(gs[:9])]
    check.close(
        craft.then(check.measure(checks.optimizer, AdamW, w0, gaps, lr=0.02, weight_decay=0.0), lambda r: flat(r)[-1]),
        torchs_path(w0, gaps, weight_decay=0.0)[-1],
        "when a gradient is missing in some steps the corrections are wrong: every parameter counts the steps it has taken itself",
        rtol=1e-5,
        atol=1e-5,
    )
with check.edge("decay before the step"):
    check.close(
        got,
        exact,
        "the parameters are nearly those of torch.optim.AdamW: is the decay applied before Adam's step?",
        rtol=1e-4,
        atol=1e-4,
    )
with check.edge("ε outside the root"):
    how = {"betas": (0.8, 0.95), "eps": 1e-2}
    check.close(
        craft.then(check.measure(checks.optimizer, AdamW, w0, gs, lr=0.02, weight_decay=0.0, **how), flat),
        torchs_path(w0, gs, weight_decay=0.0, **how),
        "with ε = 0.01 the parameters are not those of torch.optim.AdamW",
        rtol=1e-5,
        atol=1e-5,
    )
with check.edge("all digits of float64"):
    digits = "almost right, but digits are lost: compute 1 − βᵗ with plain Python numbers, and keep the parameters' dtype"
    large = [[1e4 * g for g in row] for row in gs]  # ε is another question
    plain_path = craft.then(check.measure(checks.optimizer, AdamW, w0, large, lr=0.02, weight_decay=0.0), flat)
    check.close(plain_path, torchs_path(w0, large, weight_decay=0.0), digits)
with check.edge("a decay of 0.01 by default"):
    eight = check.measure(checks.optimizer, AdamW, [torch.tensor([8.0])], [[torch.zeros(1)]], lr=0.5)
    check.close(eight[0][0], [7.96], "the default weight decay is 0.01, as in torch")
    ### END HIDDEN TESTS
with check.edge("gradients unchanged"):
    kept = check.run(follow_adamw, [torch.ones(2, 2)], [[torch.ones(2, 2)]] * 2, [0.5, 0.5], unchanged=True, weight_decay=1.0)
    check.true(craft.then(kept, lambda r: len(r) == 2), "the gradients themselves must stay as they are")
check.score()

# %% [markdown]
# ### Look: a narrow valley
# Two parameters, a loss that is 100 times steeper in one direction than in the other: $f(x, y) = \frac{1}{2}(x^2 + 100\, y^2)$.
# SGD's rate is limited by the steep direction (above $\eta = 2/100$ it diverges), so progress along the flat one is slow.
# Momentum helps; Adam gives each direction its own rate.
#
# *Before you run it:* at the start the gradient is (−9, 120): almost straight along y.
# Which of the paths does not start in that direction?
# Why?


# %% look=true
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
# Adam does not: its first step has the size $\eta$ in *both* directions, whatever the gradient's are (1.2).
# (The two axes of the picture have different scales, so right angles do not look right.)
#
# ### Look: turn up the rate and the momentum
# The same valley, with SGD alone.
# First leave the momentum at 0: what is the largest rate at which the loss does not grow?
# Then set the momentum to 0.9.
# *Before you try it:* a step can become ten times as large now (1.1).
# Does the largest rate become ten times smaller?
# The bonus at the end derives the answer.

# %% look=true
valley.valley_dial()

# %% [markdown]
# ## 2 Schedules
#
# ### Recall: warm up, then fall with the root
# You wrote the schedule of the original Transformer (Vaswani et al., 2017) in `12-translation`, 3.2, and derived where it is highest.
# Here it is again, with a rate for step 0, which some loops ask for before they begin:
#
# $$ \eta(\text{step}) = \text{factor} \cdot D^{-1/2} \cdot \min\bigl(\text{step}^{-1/2},\; \text{step} \cdot \text{warmup}^{-3/2}\bigr). $$


# %% look=true
def noam_rate(step, width, warmup, factor=1.0):
    """The learning rate in this step (counted from 1; 0.0 for step 0), for a model of this width: a float."""
    return factor * width**-0.5 * min(step**-0.5, step * warmup**-1.5) if step else 0.0


def noam_peak(width, warmup, factor=1.0):
    """The highest rate of the schedule, at step = warmup: a float."""
    return noam_rate(warmup, width, warmup, factor)


# %% [markdown]
# ### 2.1 Warm up, then half a cosine <small>★☆☆ · 15 min · 2 points</small>
# Many language models since GPT-3 use this schedule.
# Iterations $t$ are counted from 0; $T_w$ is the end of the warm-up, $T_c$ the end of the cosine, $\eta_{\max}$ the highest rate and $\eta_{\min}$ the last one:
#
# - warm-up, $t < T_w$: $\;\eta = \frac{t}{T_w}\, \eta_{\max}$;
# - cosine, $T_w \le t < T_c$: $\;\eta = \eta_{\min} + \frac{1}{2}\Bigl(1 + \cos\bigl(\pi\, \frac{t - T_w}{T_c - T_w}\bigr)\Bigr)(\eta_{\max} - \eta_{\min})$;
# - the end, $t \ge T_c$: $\;\eta = \eta_{\min}$.
#
# There may be no warm-up at all ($T_w = 0$), and it may last until the end ($T_w = T_c$).


# %% exercise="cosine"
def cosine_rate(it, max_lr, min_lr, warmup_iters, cosine_cycle_iters):
    """The learning rate in iteration `it` (from 0), a float.

    Linear warm-up until T_w = warmup_iters, half a cosine until T_c = cosine_cycle_iters, then min_lr.
    """
    ### BEGIN SOLUTION
    if it < warmup_iters:
        return it / warmup_iters * max_lr
    if it >= cosine_cycle_iters:
        return min_lr
    share = (it - warmup_iters) / (cosine_cycle_iters - warmup_iters)
    return min_lr + 0.5 * (1 + math.cos(math.pi * share)) * (max_lr - min_lr)
    ### END SOLUTION


# %% test="cosine" points=2
check = Check("cosine", points=2)
with check.idea("warm-up, then half a cosine"):
    slips = {"the warm-up counts from 1: in iteration 0 the rate is 0": [0.25, 0.75, 1.0, 0.6]}
    slips |= {
        "the cosine falls to zero: it ends at min_lr": [0.0, 0.5, 1.0, 0.5],
        "the warm-up starts at min_lr: it starts at 0": [0.2, 0.6, 1.0, 0.6],
    }
    slips["the cosine starts at iteration 0: start it at the end of the warm-up"] = [0.0, 0.5, 0.8, 0.4]
    rates_of = "with peak 1, end 0.2, warm-up 4 and the cosine's end at 12, the rates at 0, 2, 4 and 8 are wrong"
    check.close(
        check.run(lambda: [cosine_rate(t, 1.0, 0.2, 4, 12) for t in (0, 2, 4, 8)]), [0.0, 0.5, 1.0, 0.6], rates_of, rtol=1e-6, wrong=slips
    )
    ### BEGIN HIDDEN TESTS
    high, low, first, last = 0.7, 0.1, 7, 29
    exact = [
        t / first * high if t < first else low + (high - low) * math.cos(math.pi * (t - first) / (last - first) / 2) ** 2 for t in range(29)
    ]
    check.close(
        check.run(lambda: [cosine_rate(t, high, low, first, last) for t in range(29)]),
        exact,
        "with other numbers the rates are wrong",
        rtol=1e-6,
    )
    ### END HIDDEN TESTS
with check.part("after the end"):
    swing = {"after the end the cosine swings up again: stay at min_lr": [0.2, 1.0]}
    check.close(
        check.run(lambda: [cosine_rate(t, 1.0, 0.2, 4, 12) for t in (12, 20)]),
        [0.2, 0.2],
        "from iteration 12 on the rate is min_lr",
        rtol=1e-6,
        wrong=swing,
    )
    ### BEGIN HIDDEN TESTS
    past = check.run(lambda: [cosine_rate(t, high, low, first, last) for t in (last, last + 1, last + 2, 3 * last)])
    check.close(past, [low] * 4, "in the iterations right after the end the rate is not min_lr", rtol=1e-6)
    ### END HIDDEN TESTS
with check.edge("no warm-up"):
    peak = "without a warm-up the first rate is the peak"
    check.close(check.run(lambda: [cosine_rate(t, 3.0, 1.0, 0, 2) for t in (0, 1)]), [3.0, 2.0], peak, rtol=1e-6)
### BEGIN HIDDEN TESTS
with check.edge("warm-up until the end"):
    zero_length = "a warm-up that lasts until the end: nothing may be divided by zero"
    check.close(check.run(lambda: [cosine_rate(t, 1.0, 0.5, 3, 3) for t in (2, 3, 4)]), [2 / 3, 0.5, 0.5], zero_length, rtol=1e-6)
### END HIDDEN TESTS
check.score()

# %% look=true
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
# One number says most about the health of a run: the norm of all gradients together, $\lVert g \rVert = \sqrt{\sum_i \lVert g^{(i)} \rVert^2}$ over all tensors $g^{(i)}$.
# Clipping (Pascanu et al., 2013) scales *all* gradients by one factor, so that the direction stays and the norm is at most $c$:
#
# $$ g^{(i)} \leftarrow g^{(i)} \cdot \min\Bigl(1, \frac{c}{\lVert g \rVert + 10^{-6}}\Bigr). $$
#
# The $10^{-6}$ is torch's, and keeps the factor finite.
# Return new tensors and the norm *before* clipping: that is the number to plot.
# A gradient that is `None` stays `None` and does not count in the norm.


# %% exercise="clip"
def clip_gradients(gradients, max_norm):
    """Gradients (a list of tensors or None) scaled so that their common norm is at most max_norm.

    Gives (clipped, norm): the list of new gradients, and the norm before clipping, a float.
    """
    ### BEGIN SOLUTION
    norm = math.sqrt(sum(g.double().square().sum().item() for g in gradients if g is not None))
    factor = min(1.0, max_norm / (norm + 1e-6))
    return [None if g is None else g * factor for g in gradients], norm
    ### END SOLUTION


# %% test="clip" points=3
check = Check("clip", points=3)
with check.idea("one factor for all"):
    pair = check.run(clip_gradients, [torch.tensor([1.0, 2.0]), torch.tensor([[2.0], [4.0]])], 1.0)
    slips = {"each tensor is clipped by its own norm: use one norm for all": [0.44721, 0.89443, 0.44721, 0.89443]}
    slips |= {"nothing was clipped": [1.0, 2.0, 2.0, 4.0], "the values are clipped one by one: that changes the direction": [1.0] * 4}
    fifth = "the norm of (1, 2) and (2, 4) together is √(1 + 4 + 4 + 16) = 5: all gradients are scaled by the same factor 1/5"
    check.close(craft.then(pair, lambda r: torch.cat([g.flatten() for g in r[0]])), [0.2, 0.4, 0.4, 0.8], fifth, rtol=1e-4, wrong=slips)
    ### BEGIN HIDDEN TESTS

    def torchs(parts, limit):
        leaves = [nn.Parameter(torch.zeros_like(g)) for g in parts]
        for leaf, g in zip(leaves, parts):
            leaf.grad = g.clone()
        before = nn.utils.clip_grad_norm_(leaves, limit)
        return torch.cat([leaf.grad.flatten() for leaf in leaves]), float(before)

    cases = [(0.5, [randn(3, 4), randn(5), randn(2, 2, 2)]), (1.0, [3 + randn(1), 3 + randn(7, 1)])]
    for limit, parts in cases:
        check.close(
            craft.then(check.run(clip_gradients, parts, limit), lambda r: torch.cat([g.flatten() for g in r[0]])),
            torchs(parts, limit)[0],
            "the clipped gradients differ from torch's clip_grad_norm_",
            rtol=1e-4,
        )
    ### END HIDDEN TESTS
with check.part("the norm before clipping"):
    clipped_norm = {"this is the norm after clipping: return the one before": 1.0}
    check.close(
        craft.then(pair, lambda r: float(r[1])), 5.0, "the second result is the norm before clipping, 5", rtol=1e-4, wrong=clipped_norm
    )
    ### BEGIN HIDDEN TESTS
    for limit, parts in cases:
        before = craft.then(check.run(clip_gradients, parts, limit), lambda r: r[1])
        check.close(before, torchs(parts, limit)[1], "the norm differs from torch's", rtol=1e-4)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("shapes kept"):
    limit, parts = cases[0]
    sizes = craft.then(check.run(clip_gradients, parts, limit), lambda r: [list(g.shape) for g in r[0]])
    check.equal(sizes, [list(g.shape) for g in parts], "each gradient keeps its own shape")
### END HIDDEN TESTS
with check.part("small gradients stay"):
    tame = check.run(clip_gradients, [torch.tensor([0.3]), torch.tensor([0.4])], 1.0)
    scaled_up = {"small gradients are scaled up to the limit: the factor is at most 1": [0.6, 0.8]}
    stay = "gradients below the limit stay as they are: the factor is at most 1"
    check.close(craft.then(tame, lambda r: [g.item() for g in r[0]]), [0.3, 0.4], stay, rtol=1e-4, wrong=scaled_up)
with check.part("None stays None"):
    holes = check.run(clip_gradients, [torch.tensor([0.3]), None, torch.tensor([0.4])], 1.0)
    check.equal(
        craft.then(holes, lambda r: [g is None for g in r[0]]),
        [False, True, False],
        "a gradient that is None stays None, at the same index",
    )
with check.edge("inputs unchanged"):
    check.unchanged(clip_gradients, [torch.tensor([3.0]), torch.tensor([4.0])], 1.0)
### BEGIN HIDDEN TESTS
with check.edge("the 10⁻⁶"):
    tiny = check.run(clip_gradients, [torch.tensor([3e-6], dtype=torch.float64)], 1e-6)
    outside = "for very small gradients the 10⁻⁶ matters: it is added to the norm, outside the root"
    check.close(craft.then(tiny, lambda r: r[0][0]), [0.75e-6], outside, rtol=1e-5, atol=0)
    check.close(craft.then(tiny, lambda r: r[1]), 3e-6, "the norm that comes back is without the 10⁻⁶", rtol=1e-5, atol=0)
with check.edge("gradients of zero"):
    nothing = check.run(clip_gradients, [torch.zeros(3)], 1.0)
    check.close(craft.then(nothing, lambda r: r[0][0]), torch.zeros(3), "gradients of zero stay zero: nothing may be divided by zero")
with check.edge("all digits of float64"):
    fine = [randn(4, dtype=torch.float64), randn(2, 3, dtype=torch.float64)]
    scaled = craft.then(check.run(clip_gradients, fine, 0.1), lambda r: torch.cat([g.double().flatten() for g in r[0]]))
    exact = 0.1 / (torch.cat([g.flatten() for g in fine]).norm() + 1e-6)
    check.close(
        scaled, exact * torch.cat([g.flatten() for g in fine]), "with float64 gradients digits are lost: keep the dtype", rtol=1e-10
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.2 Find spikes <small>★★☆ · 15 min · 3 points</small>
# A spike is a norm far above what has been normal recently.
# Go through the norms in order and keep a list of *accepted* ones.
# A norm is a spike
#
# - if it is not finite, always;
# - if there are at least `window` accepted norms and it is larger than `factor` times the median of the last `window` of them.
#
# A norm that is not a spike is accepted.
# A spike is not accepted: one bad step must not raise the bar for the next.
# `window` is odd, so that the median is the middle value.
#
# *Before you run it:* why the median, and not the mean?


# %% exercise="spikes"
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


# %% test="spikes" points=3
check = Check("spikes", points=3)
with check.idea("far above the normal"):
    ten = "after 1.0, 1.2, 0.9 and 1.1 the norm 10 is a spike: more than 3 times the median of the last three. Nothing else is"
    missed = {"the 10 is missed": [False] * 6}
    check.equal(
        check.run(find_spikes, [1.0, 1.2, 0.9, 1.1, 10.0, 1.1], 3, 3.0), [False, False, False, False, True, False], ten, wrong=missed
    )
    ### BEGIN HIDDEN TESTS

    def judged(values, window, factor):
        accepted, found = [], []
        for value in values:
            spike = not math.isfinite(value)
            if not spike and len(accepted) >= window:
                spike = value > factor * statistics.median(accepted[-window:])
            found.append(spike)
            if not spike:
                accepted.append(value)
        return found

    noisy = (1.05 + 0.1 * rand(60)).tolist()
    noisy[30], noisy[45] = 5.0, 4.0
    check.equal(
        check.run(find_spikes, noisy, 9, 3.0),
        judged(noisy, 9, 3.0),
        "among 60 norms near 1, plus a 4 and a 5, the wrong ones are called spikes",
    )
    ### END HIDDEN TESTS
with check.part("not finite"):
    nan_too = {"NaN is missed: every comparison with NaN is false, so use math.isfinite": [False, True, False, False]}
    infinite = "infinity and NaN are always spikes, even at the beginning. (Every comparison with NaN is false.)"
    check.equal(check.run(find_spikes, [1.0, math.inf, 1.0, math.nan], 3, 3.0), [False, True, False, True], infinite, wrong=nan_too)
with check.part("from `window` norms on"):
    early = {"the 50 comes too early to be judged: fewer than `window` norms are accepted": [False, True, False]}
    check.equal(
        check.run(find_spikes, [1.0, 50.0, 1.0], 3, 3.0), [False] * 3, "before `window` norms are accepted none is judged", wrong=early
    )
    ### BEGIN HIDDEN TESTS
    check.equal(
        check.run(find_spikes, [1.0, 1.2, 0.9, 10.0], 3, 3.0),
        [False, False, False, True],
        "three norms are accepted, so the fourth is judged",
    )
    soon = "with one norm less than `window` accepted the next one is judged: wait until there are `window`"
    check.equal(check.run(find_spikes, [1.0, 1.0, 50.0, 1.0], 3, 3.0), [False] * 4, soon)
    check.equal(check.run(find_spikes, [1.0, 1.0, 1.0, 1.0, 50.0], 5, 3.0), [False] * 5, soon)
    ### END HIDDEN TESTS
with check.part("the median"):
    middle = "the median of 1, 1 and 2.8 is 1, and 3.5 is more than 3 times that"
    check.equal(check.run(find_spikes, [1.0, 1.0, 1.0, 2.8, 3.5], 3, 3.0), [False, False, False, False, True], middle)
    ### BEGIN HIDDEN TESTS
    uneven = [1.0, 3.0, 2.0, 5.0, 7.0, 1.0, 14.0, 21.5, 16.0]
    medians = "the bar is the median of the last `window` accepted norms: not their mean, smallest or largest"
    check.equal(check.run(find_spikes, uneven, 3, 3.0), judged(uneven, 3, 3.0), medians)
    wider = [4.0, 27.0, 30.0, 1.0, 5.0, 26.0, 8.0, 20.0, 13.0, 13.0, 20.0, 3.0, 21.0, 2.0, 16.0, 29.0]
    check.equal(check.run(find_spikes, wider, 5, 1.97), judged(wider, 5, 1.97), medians)
    ### END HIDDEN TESTS
with check.part("spikes are not accepted"):
    raised = {"spikes are accepted: after two of them the third looks normal": [False, False, False, True, True, False]}
    bar = "the three large norms are all compared with the median of 1.0, 1.1 and 0.9"
    check.equal(check.run(find_spikes, [1.0, 1.1, 0.9, 8.0, 9.0, 8.5], 3, 3.0), [False, False, False, True, True, True], bar, wrong=raised)
    ### BEGIN HIDDEN TESTS
    endless = "infinity and NaN must not count among the accepted norms: the median of 1.0, 1.1 and 0.9 decides about the 10"
    for bad in (math.inf, math.nan):
        got = check.run(find_spikes, [1.0, 1.1, bad, bad, 0.9, 10.0], 3, 3.0)
        check.equal(got, [False, False, True, True, False, True], endless)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("the last `window`, the factor"):
    falling = [5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 1.0, 3.5, 1.0]
    check.equal(check.run(find_spikes, falling, 3, 3.0), judged(falling, 3, 3.0), "compare with the last `window` accepted norms")
    longer = [9.0, 8.0, 7.0, 1.0, 1.0, 10.0]
    width = "the argument `window` is not used: of the last five norms, 9, 8, 7, 1 and 1, the median is 7, and 10 is no spike"
    check.equal(check.run(find_spikes, longer, 5, 3.0), [False] * 6, width)
    noisy[31] = 3.0  # between 2.5 and 3 times any median of these
    check.equal(
        check.run(find_spikes, noisy, 9, 2.5),
        judged(noisy, 9, 2.5),
        "with another window and factor the wrong norms are spikes: use the arguments",
    )
with check.edge("exactly `factor` times"):
    check.equal(
        check.run(find_spikes, [2.0, 6.0], 1, 3.0),
        [False, False],
        "exactly `factor` times the median is not yet a spike: it must be larger",
    )
with check.edge("no norms"):
    check.equal(check.run(find_spikes, [], 3, 3.0), [], "no norms, no answers")
### END HIDDEN TESTS
with check.edge("the list unchanged"):
    check.unchanged(find_spikes, [1.0, 3.0, 2.0, 40.0], 3, 3.0, hint="your code changes the list of norms that it is given: make a new one")
check.score()

# %% [markdown]
# ### Look: the same run three times
# A small language model on the State of the Union addresses, with your AdamW, your schedule and your clipping: at a good rate, at a rate that is far too high, and at that rate with clipping.
# The lower panel shows the gradient norm *before* clipping; spikes found by your function are marked.
#
# *Before you run it:* Adam divides by the gradient's size anyway.
# What is left for clipping to do?

# %% look=true
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
    for t in training.progress(range(watch_steps), f"peak {peak}, clip {limit}", keep=[model, stepper, losses, norms], watch=losses):
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
# Adam's step has about the size $\eta$ whatever the gradient's size is, so scaling all gradients by one factor changes it little, and a rate that is far too high stays too high.
# We saw this at laptop scale with three seeds: at the good rate the runs ended at 2.33 to 2.35 nats.
# At the high rate they ended at 3.08 to 3.11, with clipping and without; a model that knows only how frequent each character is does as well.
# None of these nine runs had a spike: a rate can be far too high without one.
# What clipping does is narrower: one enormous gradient no longer fills the running mean $v$, which would make the following steps tiny for about $1/(1-\beta_2)$ steps, and with SGD it bounds the step itself.
#
# ## 4 Bit for bit
#
# A run of three weeks will be interrupted.
# It should continue as if nothing had happened: not "about as well", but with the same bits.
# Then every difference that you do see later is a bug, and can be hunted down.
# Three things are needed: a file that is never half written, a checkpoint in which nothing is missing, and a plan for the day on which the run itself goes wrong.
#
# ### 4.1 A file that is never half written <small>★★☆ · 20 min · 3 points</small>
# If the machine dies while a checkpoint is being written over the old one, both are lost.
# You write the remedy for a `disk` with these operations:
#
# | operation | what it does | after a crash |
# | --- | --- | --- |
# | `disk.write(name, data)` | empties the file, then writes the bytes | until `sync`, the file may hold the old bytes, none, some or all of the new ones |
# | `disk.sync(name)` | returns when the bytes of the file are on the disk (`os.fsync`) | they are safe |
# | `disk.rename(old, new)` | gives the file the name `new`; a file of that name disappears in the same moment (`os.replace`) | either the old state or the new one, never half; until `sync_folder`, you do not know which |
# | `disk.sync_folder()` | returns when all names are on the disk (`os.fsync` of the folder) | they are safe |
#
# Write `save_atomically`.
# At every instant, a crash must leave the complete old file or the complete new one under `name`.
# When the function has returned, it must be the new one, and no other file may be left over.
#
# The test runs your function on a simulated disk, and looks at everything that a crash after each operation could leave behind.
# `crash_disk.Folder(path)` does the same four things in a real folder.


# %% exercise="atomic"
def save_atomically(disk, name, data):
    """Put data (bytes) into the file `name`. A crash at any moment leaves the whole old or the whole new file."""
    ### BEGIN SOLUTION
    disk.write(name + ".tmp", data)
    disk.sync(name + ".tmp")
    disk.rename(name + ".tmp", name)
    disk.sync_folder()
    ### END SOLUTION


# %% test="atomic" points=3
check = Check("atomic", points=3)
disk = crash_disk.Disk({"run.pt": b"old weights", "notes.txt": b"keep me"})
with check.idea("another name, then rename"):
    done = check.run(lambda: [save_atomically(disk, "run.pt", b"new, longer weights"), disk.read("run.pt")][1])
    check.equal(done, b"new, longer weights", "when the function has returned, the file must hold the new bytes")
    in_place = (
        "the file is written in place: a crash in the middle leaves neither the old nor the new one. Write to another name, then rename"
    )
    check.true("rename" in disk.calls, in_place)
    ### BEGIN HIDDEN TESTS
    fresh = crash_disk.Disk()
    first_time = check.run(lambda: [save_atomically(fresh, "a-b.bin", b"12345678"), fresh.read("a-b.bin")][1])
    check.equal(first_time, b"12345678", "the first save, when there is no old file, fails")
    ### END HIDDEN TESTS
moments = disk.left_behind("run.pt")  # what a crash after each operation could leave under this name
with check.part("bytes safe before the rename"):
    torn = [moment for moment in moments if moment - {b"old weights", b"new, longer weights", None}]
    sync_first = "the new file gets its name before its bytes are on the disk: sync it before you rename it"
    check.true(bool(moments) and not torn, sync_first if "rename" in disk.calls else in_place)
    ### BEGIN HIDDEN TESTS
    clean = all(not moment - {None, b"12345678"} for moment in fresh.left_behind("a-b.bin"))
    check.true(first_time and clean, "on the first save a crash can leave a half-written file: sync it before you rename it")
    ### END HIDDEN TESTS
with check.part("the old file until then"):
    gone = "there is a moment without any file of this name: do not remove the old one, let `rename` replace it"
    check.true(bool(moments) and not any(None in moment for moment in moments), gone)
with check.part("the new file safe at the end"):
    safe = bool(moments) and b"old weights" not in moments[-1] and None not in moments[-1]
    check.true(safe, "the function returns before the new name is safe: after the rename, sync the folder")
with check.edge("nothing left over"):
    names = check.run(lambda: [done, disk.names()][1]) if done else done
    check.equal(names, ["notes.txt", "run.pt"], "a file is left over, or one is missing: at the end there must be the same names as before")
### BEGIN HIDDEN TESTS
with check.edge("twice in a row"):
    twice = crash_disk.Disk({"x": b"first"})
    kept = check.run(lambda: [save_atomically(twice, "x", b"second"), save_atomically(twice, "x", b"third"), twice.read("x")][2])
    check.equal(kept, b"third", "saving twice in a row fails")
with check.edge("other files untouched"):
    bystander = crash_disk.Disk({"run.pt": b"old", "notes.txt": b"keep me"})
    called = check.run(lambda: [save_atomically(bystander, "run.pt", b"new"), bystander.names()][1])
    check.true(called and all(moment == {b"keep me"} for moment in bystander.left_behind("notes.txt")), "another file is touched")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.2 A checkpoint in which nothing is missing <small>★★☆ · 35 min · 5 points</small>
# `craft.SmallRun` is a training run that contains everything people forget to save.
# These are its parts:
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
# `run.advance()` does one step and returns its loss.
# Write `snapshot`, which returns a dictionary of tensors and plain data from which the run can continue, and `restore`, which brings *another* run, made in another process with another seed, into exactly that state.
# How you name the entries is up to you.
# The dictionary is turned into bytes with `torch.save` and read back with `torch.load(…, weights_only=True)`, which rejects everything but tensors and plain data: an untrusted pickle can run code.
#
# *Before you run it:* forget one part.
# After how many steps would you notice, by looking at the loss?


# %% exercise="snapshot"
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
    """Bring another run into the state that `snapshot` saw. Changes the run; returns nothing."""
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


# %% test="snapshot" points=5
check = Check("snapshot", points=5)
whole_run = craft.SmallRun(0)
whole_losses = [whole_run.advance() for _ in range(30)]
with check.idea("weights and steps restored"):
    plain = "a checkpoint holds tensors and plain data only: save state_dict() and get_state(), not the objects"
    result = check.run(interrupted, 12, 18)
    check.equal(len(result["losses"]), 30, plain)
    check.equal(result["step"], 30, "12 steps, a restart, 18 more: run.step must say 30")
    check.equal(result["losses"][:12], whole_losses[:12], "the losses before the restart are wrong: does `snapshot` change the run?")
    ### BEGIN HIDDEN TESTS
    for before, number in [(12, 0), (7, 4)]:
        straight = craft.SmallRun(number)
        while straight.step < before:
            straight.advance()
        at_once = check.run(interrupted, before, 0, number)
        check.equal(at_once["weights"], straight.weights(), "the weights are not restored: model.state_dict()")
    ### END HIDDEN TESTS
same = craft.then(result["losses"], lambda r: next((i for i, (a, b) in enumerate(zip(r, whole_losses)) if a != b), 30))
with check.part("optimiser and schedule"):
    step_differs = "the first loss after the restart is right, but later ones are not: are the optimiser and the schedule restored?"
    check.true(craft.then(same, lambda r: not 12 < r < 15), step_differs)
    other_rate = "the learning rate at the end is wrong: is the schedule's state restored, after the optimiser's?"
    check.equal(result["rate"], whole_run.optimiser.param_groups[0]["lr"], other_rate)
    ### BEGIN HIDDEN TESTS
    PARTS = {
        "optimiser": "the optimiser starts from scratch: save its running means in the checkpoint",
        "schedule": "the schedule starts from scratch: the learning rate after the restart is wrong",
        "order": "this epoch's order of the examples is not restored: some are seen twice, some never",
        "place": "`place` is not restored: the epoch begins again",
        "generator": "the generator of the data order is not restored: the next epoch has a different order",
        "torch": "torch's global generator is not restored: the dropout masks are different ones",
        "python": "Python's own generator is not restored: the noise on the inputs is different",
    }
    found, stopped = check.run(interrupted, 12, 8)["losses"], craft.SmallRun(0)
    while stopped.step < 12:
        stopped.advance()
    kept = {name: copy.deepcopy(getattr(stopped, name).state_dict()) for name in ("model", "optimiser", "schedule")}
    kept |= {"generator": stopped.generator.get_state(), "order": stopped.order, "place": stopped.place}
    kept |= {"torch": torch.get_rng_state(), "python": random.getstate()}
    set_state = {
        "generator": lambda run: run.generator.set_state,
        "torch": lambda run: torch.set_rng_state,
        "python": lambda run: random.setstate,
    }

    def goes_on_without(missing):
        other = craft.SmallRun(1)
        other.advance()
        for name, value in copy.deepcopy(kept).items():
            if name in missing:
                continue
            if name in ("order", "place"):
                setattr(other, name, value)
            else:
                set_state.get(name, lambda run, name=name: getattr(run, name).load_state_dict)(other)(value)
        return all(other.advance() == loss for loss in found[12:])

    # Which parts are missing: those without which the run goes on as the student's does.
    groups = sorted({tuple(sorted({a, b, c})) for a in PARTS for b in PARTS for c in PARTS}, key=lambda group: (len(group), group))
    right = craft.then(found, lambda r: r == whole_losses[:20])
    missing = craft.then(right, lambda r: [] if r else next((list(g) for g in [*groups, PARTS] if goes_on_without(set(g))), ["unknown"]))
    lost = craft.then(missing, lambda m: [part for part in m if part in ("optimiser", "schedule")])
    named = {"; ".join(PARTS[part] for part in lost): lost} if lost else {}
    check.equal(lost, [], "the optimiser or the schedule is not restored", wrong=named)
    ### END HIDDEN TESTS
with check.part("data order and generators"):
    first_loss = (
        "the first loss after the restart is already wrong: it depends on this epoch's order, `place`, torch's generator and Python's"
    )
    check.true(craft.then(same, lambda r: r > 12), first_loss)
    next_epoch = "the losses are right until the epoch ends, and wrong in the next one: which generator draws its order?"
    check.true(craft.then(same, lambda r: r < 15 or r == 30), next_epoch)
    ### BEGIN HIDDEN TESTS
    others = craft.then(missing, lambda m: [part for part in m if part not in lost and (part != "unknown" or same == 12)])
    drawn = (
        "the first loss after the restart is wrong, though nothing is left out: does `snapshot` or `restore` draw a number, or set a seed?"
    )
    named = {"; ".join(PARTS.get(part, drawn) for part in others): others} if others else {}
    check.equal(others, [], "something that the data depend on is not restored", wrong=named)
with check.edge("stopped elsewhere"):
    for before, after, number in [(0, 6, 3), (5, 7, 7), (23, 1, 5)]:
        straight = craft.SmallRun(number)
        exact = [straight.advance() for _ in range(before + after)]
        result = check.run(interrupted, before, after, number)
        where = "before the first step" if not before else "at the end of an epoch" if before % 5 == 0 else "in the middle of an epoch"
        check.equal(result["losses"], exact, f"stopped {where}, the run does not continue bit for bit")
        check.equal(result["weights"], straight.weights(), f"stopped {where}, the run ends with different weights")
    ### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: kill it
# Now for real.
# The next cell writes a script, out of *your* `save_atomically`, `snapshot`, `restore` and `AdamW`, and starts it twice.
# One process is left alone.
# The other is killed in the middle of its work with `SIGKILL`, the signal that no program can catch, and started again.
# Both print their losses and weights as exact bit patterns.

# %% look=true
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
# ### 4.3 Roll back <small>★★☆ · 25 min · 4 points</small>
# Sometimes it is not the machine that fails.
# The loss becomes infinite, and every weight is NaN after that step.
# The way out is an earlier checkpoint, but a run that continues bit for bit from there diverges bit for bit again.
# The data must come in a different order.
# PaLM's authors (Chowdhery et al., 2022) went back about 100 steps before each spike and skipped 200 to 500 batches.
# The same batches did no harm elsewhere in the run, so it was the *conjunction* of data and weights.
# `SmallRun(…, poison=(i, j))` imitates this: a batch that contains both examples makes the loss infinite.
#
# Write the loop.
# Until `run.step` is `steps`:
#
# 1. Whenever `run.step` is a multiple of `every` (0 is one, too), take a snapshot, as bytes (`craft.to_bytes`): later steps must not change it.
# 2. Advance.
#    If the loss is finite, keep it.
# 3. If not: count the rollback, restore the last snapshot (`craft.from_bytes`), call `run.reshuffle(k)` for the $k$-th rollback of the whole run ($k = 1, 2, \dots$), and drop the losses of the steps that are undone.
#    After more than `patience` rollbacks raise a `FloatingPointError`: something else is wrong.
#
# Return `(losses, undone)`: one finite loss per step, and for each rollback the number of steps that had been completed before the bad one (the value of `run.step` at that moment, before the bad step was counted).


# %% exercise="rollback"
def train_with_rollback(run, steps, every, patience=5):
    """Train until run.step == steps, and roll back when a loss is not finite. Returns (losses, undone)."""
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


# %% test="rollback" points=4
check = Check("rollback", points=4)
calm_run, suspects = craft.SmallRun(0), craft.SmallRun(0)
calm_losses = [calm_run.advance() for _ in range(20)]
batch = [suspects.next_batch() for _ in range(7)][-1].tolist()  # the seventh batch of this run, made poisonous
with check.idea("roll back, then a new order"):
    simply = "where nothing goes wrong, these are simply the losses of 20 steps: do not reshuffle, do not advance twice"
    check.equal(check.run(rolled_back, 20, 4, None)["losses"], calm_losses, simply)
    GAVE_UP = "every rollback failed again: first restore the snapshot, which you kept as bytes, then call run.reshuffle(k)"
    result = craft.explained(check.run(rolled_back, 20, 4, (batch[0], batch[2])), "FloatingPointError", GAVE_UP)
    check.true(craft.then(result, lambda r: len(r["undone"]) > 0), "no rollback happened: do you check the loss in every step?")
    bad_kept = "a loss that is not finite is in the list: infinity is as bad as NaN, so use math.isfinite"
    check.true(craft.then(result, lambda r: all(math.isfinite(loss) for loss in r["losses"])), bad_kept)
    check.finite(result["weights"], "the weights are NaN: the snapshot was taken after the bad step, or nothing was restored")
    ### BEGIN HIDDEN TESTS
    ends_badly = check.run(rolled_back, 7, 4, (batch[0], batch[2]))  # no step follows that would turn infinity into NaN
    check.true(craft.then(ends_badly, lambda r: bool(np.isfinite(r["losses"]).all())), bad_kept)
    ### END HIDDEN TESTS
with check.part("losses of undone steps dropped"):
    check.equal(craft.then(result, lambda r: len(r["losses"])), 20, "20 steps give 20 losses: drop the losses of the steps that are undone")
    ### BEGIN HIDDEN TESTS
    cases = []
    for number, steps, every, at in [(0, 20, 4, 7), (1, 24, 5, 12), (3, 22, 1, 9)]:
        suspects = craft.SmallRun(number)
        batch = [suspects.next_batch() for _ in range(at)][-1].tolist()
        cases.append((number, steps, every, (batch[1], batch[3])))  # five, one and two rollbacks

    def reference(steps, every, poison, number=0):
        run = craft.SmallRun(seed=number, poison=poison)
        losses, undone, saved = [], [], None
        while run.step < steps and len(undone) < 9:
            if run.step % every == 0:
                saved = [copy.deepcopy(part.state_dict()) for part in (run.model, run.optimiser, run.schedule)]
                saved += [
                    run.generator.get_state().clone(),
                    run.order.clone(),
                    run.place,
                    run.step,
                    torch.get_rng_state(),
                    random.getstate(),
                ]
            loss = run.advance()
            if math.isfinite(loss):
                losses.append(loss)
                continue
            undone.append(run.step - 1)
            for part, state in zip((run.model, run.optimiser, run.schedule), saved):
                part.load_state_dict(copy.deepcopy(state))
            run.generator.set_state(saved[3])
            run.order, run.place, run.step = saved[4].clone(), saved[5], saved[6]
            torch.set_rng_state(saved[7])
            random.setstate(saved[8])
            run.reshuffle(len(undone))
            del losses[run.step :]
        return {"losses": losses, "undone": undone, "weights": run.weights()}

    rights = [reference(steps, every, pair, number) for number, steps, every, pair in cases]
    answers = [check.run(rolled_back, steps, every, pair, number, 8) for number, steps, every, pair in cases]
    for got, right in zip(answers, rights):
        check.equal(
            craft.then(got, lambda r: len(r["losses"])),
            len(right["losses"]),
            "after a run with rollbacks the number of losses is not the number of steps",
        )
    ### END HIDDEN TESTS
with check.part("the failed steps noted"):
    slips = {"the bad step is counted, or infinity went unnoticed: return the number of steps completed before it": [7]}
    slips["this is the step of the snapshot: return the number of steps completed before the bad one"] = [4]
    check.equal(craft.then(result, lambda r: r["undone"][:1]), [6], "the seventh step fails: six were completed before it", wrong=slips)
### BEGIN HIDDEN TESTS
with check.part("last snapshot, k-th order"):
    for got, right in zip(answers, rights):
        check.equal(
            got["weights"],
            right["weights"],
            "the weights after a run with rollbacks are not, bit for bit, what they should be",
        )
with check.part("patience"):
    number, steps, every, pair = cases[2]  # two rollbacks: too many for a patience of one, not for a patience of two
    for_ever = "when no order helps, raise a FloatingPointError after more than `patience` rollbacks, instead of trying forever"
    check.raises(lambda: rolled_back(10, 5, (0, 0), 0, patience=3), error="FloatingPointError", hint=for_ever)  # any batch with 0 is poison
    check.raises(
        lambda: rolled_back(steps, every, pair, number, patience=1),
        error="FloatingPointError",
        hint="with patience 1 the second rollback is one too many: raise then, not later",
    )
    allowed = check.run(lambda: rolled_back(steps, every, pair, number, patience=2)["step"])
    check.equal(allowed, steps, "with patience 2 two rollbacks are allowed: raise after more than `patience` of them")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.4 In your own words <small>★★☆ · 15 min · 3 points, graded by hand</small>
# (a) A colleague restores weights and optimiser only: "the loss curve looks the same to me".
# Name one thing that is wrong with the run's data and one with its learning rate, and say why the curve hides both.
# (b) Name two reasons why even a complete checkpoint may not give the same bits on another machine or with another number of GPUs.
# (c) Why does rolling back *without* reshuffling not help, and why is that a good sign for your checkpoints?
# About 150 words.

# %% [markdown] written="written-restart" points=3
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
# ## 5 Bonus: how fast may momentum go? <small>★★★ · 30 min · 4 bonus points</small>
# Along one axis of the valley the loss is $\frac{1}{2} h\,\theta^2$ with the steepness $h$, and the gradient is $h\,\theta$.
# Put this into SGD with momentum (1.1, without weight decay) and eliminate the velocity, with $\eta\, v_t = \theta_{t-1} - \theta_t$.
# What remains is a second-order recurrence:
#
# $$ \theta_{t+1} = (1 + \mu - \eta h)\, \theta_t - \mu\, \theta_{t-1} . $$
#
# Its solutions are sums of powers $z^t$.
# Find the quadratic equation for $z$.
# In the long run the larger of the two $|z|$ decides: each step multiplies the distance to the minimum by it.
# The two roots may be complex.
#
# 1. `step_factor`: the larger $|z|$.
# 2. `largest_rate`: the rate at which it reaches 1. Above this rate the run diverges.
#    Derive it: at which real $z$ does $|z|$ first reach 1 as $\eta$ grows?
#    (Take $0 \le \mu < 1$.)
#
# *Before you run it:* for $h = 100$, the largest rate without momentum is $2/h = 0.02$.
# Is it larger or smaller with $\mu = 0.9$?
# You can try it in the valley above.


# %% exercise="bonus-edge"
def step_factor(rate, momentum, steepness):
    """The factor by which the distance to the minimum changes per step in the long run, the larger |z|: a float."""
    ### BEGIN SOLUTION
    half = (1 + momentum - rate * steepness) / 2
    inside = half**2 - momentum
    if inside < 0:  # complex roots: the product of the two is the momentum, and they are equally large
        return math.sqrt(momentum)
    return abs(half) + math.sqrt(inside)
    ### END SOLUTION


def largest_rate(momentum, steepness):
    """The learning rate at which this factor reaches 1: a float."""
    ### BEGIN SOLUTION
    return 2 * (1 + momentum) / steepness
    ### END SOLUTION


# %% test="bonus-edge" points=4
check = Check("bonus-edge", points=4)
with check.idea("factor and edge"):
    slips = {
        "a factor is a size: take the absolute value": [-0.8, -1.5],
        "this is the smaller root: in the long run the larger one decides": [0.0, 0.0],
    }
    plain = "without momentum the factor is |1 − ηh|: 0.8 for ηh = 1.8, and 1.5 for ηh = 2.5"
    check.close(
        check.run(lambda: [step_factor(0.018, 0.0, 100.0), step_factor(0.025, 0.0, 100.0)]), [0.8, 1.5], plain, rtol=1e-6, wrong=slips
    )
    slips = {
        "this is the smaller root: in the long run the larger one decides": 0.3,
        "this is without momentum: the equation is quadratic": 0.86,
    }
    slips["this is √μ, which is right for complex roots only. Is the middle term 1 + μ − ηh?"] = 0.24**0.5
    roots = "for ηh = 0.14 and μ = 0.24 the equation is z² − 1.1 z + 0.24 = 0, with the roots 0.8 and 0.3"
    check.close(check.run(step_factor, 0.0014, 0.24, 100.0), 0.8, roots, rtol=1e-6, wrong=slips)
    ### BEGIN HIDDEN TESTS

    def larger_root(rate, momentum, steepness):
        matrix = torch.tensor([[1 + momentum - rate * steepness, -momentum], [1.0, 0.0]], dtype=torch.float64)
        return torch.linalg.eigvals(matrix).abs().max().item()

    real, complex_roots, beyond = [], [], []
    for momentum in (0.0, 0.3, 0.6, 0.95):
        for steepness in (0.5, 30.0):
            border = 2 * (1 + momentum) / steepness
            for share in (1e-3, 0.05, 0.3, 0.5, 0.9, 1.2, 3.0):
                case = (share * border, momentum, steepness)
                inside = (1 + momentum - case[0] * steepness) ** 2 < 4 * momentum
                (beyond if share > 1 else complex_roots if inside else real).append(case)
    truth = [larger_root(*case) for case in real]
    check.close(
        check.run(lambda: [step_factor(*case) for case in real]),
        truth,
        "where both roots are real, the factor is wrong for other numbers: the larger |z|",
        rtol=1e-6,
        atol=1e-6,
    )
    ### END HIDDEN TESTS
    slips = {
        "this is the edge without momentum: the momentum moves it": [0.02, 0.02],
        "this is half of the largest rate: here no root has reached −1 yet": [0.01, 0.019],
    }
    slips["the edge moves up with the momentum, not down: put z = −1 into the equation"] = [0.02, 0.002]
    slips["this divides by 1 − μ, as the long-run step does: put z = −1 into the equation"] = [0.02, 0.2]
    minus_one = "the factor reaches 1 where z = −1. For h = 100 the rate is 0.02 without momentum and 0.038 with μ = 0.9"
    check.close(check.run(lambda: [largest_rate(0.0, 100.0), largest_rate(0.9, 100.0)]), [0.02, 0.038], minus_one, rtol=1e-6, wrong=slips)
    ### BEGIN HIDDEN TESTS
    others = check.run(lambda: [largest_rate(0.5, 1.0), largest_rate(0.99, 7.0), largest_rate(0.2, 0.01)])
    check.close(others, [3.0, 2 * 1.99 / 7, 240.0], "for other momenta and steepnesses the largest rate is wrong", rtol=1e-6)
    ### END HIDDEN TESTS
with check.part("complex roots"):
    slips = {
        "this is the real part of a complex root: take its absolute value": 0.405,
        "the product of the two roots is μ: the absolute value of each is √μ": 0.81,
    }
    equal_sizes = "for ηh = 1 and μ = 0.81 the roots are complex, and their product is μ: both have the size √μ = 0.9"
    check.close(check.run(step_factor, 0.01, 0.81, 100.0), 0.9, equal_sizes, rtol=1e-6, wrong=slips)
    ### BEGIN HIDDEN TESTS
    truth = [larger_root(*case) for case in complex_roots]
    check.close(
        check.run(lambda: [step_factor(*case) for case in complex_roots]),
        truth,
        "where the roots are complex, the factor is wrong for other numbers",
        rtol=1e-6,
        atol=1e-6,
    )
with check.part("beyond the edge"):
    truth = [larger_root(*case) for case in beyond]
    far = "for rates from a little to far beyond the edge the factor is wrong: it is the larger |z|, and above 1"
    check.close(check.run(lambda: [step_factor(*case) for case in beyond]), truth, far, rtol=1e-6, atol=1e-6)
    ### END HIDDEN TESTS
check.score()

# %% look=true
tried_rates = np.linspace(1e-4, 0.05, 400)
for mu in (0.0, 0.5, 0.9):
    slowest = [max(step_factor(float(rate), mu, h) for h in valley.STEEPNESS) for rate in tried_rates]
    best = int(np.argmin(slowest))
    print(
        f"μ = {mu}: the valley diverges above η = {largest_rate(mu, 100.0):.3f}; at best, at η = {tried_rates[best]:.4f}, "
        f"every step multiplies the distance by {slowest[best]:.3f}"
    )

# %% [markdown]
# Momentum allows *larger* rates, not smaller ones.
# Near the edge the gradient on the steep axis changes its sign in every step, so the old velocity works against it and shortens the step.
# The factor of ten from 1.1 applies to gradients that keep their direction, as on the flat axis, and there it helps.

# %% [markdown]
# ## What you can now do
#
# - You wrote SGD, Adam and AdamW, and they take torch's steps: with groups, schedules and restarts.
# - You can say what bias correction is for, and you choose between a schedule that knows the width and one that knows the end.
# - You watch one number, the gradient norm, and know what clipping does to it and what a spike is.
# - You have killed a run and resumed it, bit for bit, and you know the nine things that are in a complete checkpoint.
# - You roll a diverged run back, and you know why the data must come in a different order.
#
# Next, `14-fine-tuning` continues from a model that somebody else has trained.
# `16-precision` starts where this notebook ends: numbers with few bits, two processes, and two designs at equal cost.
