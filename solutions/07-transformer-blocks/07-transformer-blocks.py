# %% [markdown]
# # 07 · Transformer blocks: the parts
#
# | | |
# | --- | --- |
# | **You will be able to** | write LayerNorm and RMSNorm, and LayerNorm's gradient by hand · say why text is not batch-normalised · write feed-forward layers with ReLU, GELU, Swish and SwiGLU · split, attend, merge and project in a multi-head module · assemble pre-LN and post-LN blocks that equal PyTorch's in value and gradient · count parameters without running anything · say what residuals and norms do in a deep stack |
# | **You need** | attention (03), the chain rule, `nn.Module` and `nn.Linear` |
# | **Time** | about four and a half hours; each heading says how long its exercise takes |
# | **Points** | 63, and 4 bonus |
#
# A Transformer is one block, repeated.
# The block has four parts: attention, which moves information between positions; a feed-forward layer, which works on each position alone; normalisation; and residual connections.
# Each part is a few lines.
# Each has a detail that is easy to get wrong and hard to see, because nothing raises an error.
# Here you build every part, prove it equal to PyTorch's, and then stack the blocks 32 deep to see what norms and residuals are for.
#
# **Notation.**
# A batch holds $B$ sequences of $T$ positions; the width is $D$, and there are $H$ heads.
# A tensor of activations has the shape `(B, T, D)`; $x \in \mathbb{R}^D$ is the vector at one position.
# Masks are boolean, and `True` means *may look*, as in 03.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, then run the test below it.
# Grading runs further checks of the same ideas.
# *Before you run it* marks a prediction: write it down first.
# Where a module has learned parts, the docstring gives their names: the tests load weights by name.
# Leave inputs as they are, and use torch operations all the way, so that gradients flow.
# You may use `nn.Linear` and `nn.Parameter`, and everything you wrote in an earlier exercise.

# %% locked="setup"
import math

import ipywidgets
import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from helpers import checks
from helpers.checks import Check, randn
from helpers.kit import plots
from helpers.kit.scale import pick
from helpers.kit.seeding import seed
from helpers.transformer_blocks import depth

# %% [markdown]
# ## 1 Normalisation
#
# Layers work best when their inputs keep one scale. *Layer normalisation* (Ba, Kiros and Hinton, 2016) looks at one position's vector $x
# \in \mathbb{R}^D$ and nothing else:
#
# $$ \mu = \frac1D \sum_{i} x_i, \qquad \sigma^2 = \frac1D \sum_i (x_i - \mu)^2, \qquad
#    \hat x = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}}, \qquad y = \gamma \odot \hat x + \beta . $$
#
# $\gamma, \beta \in \mathbb{R}^D$ are learned (`weight` and `bias`), $\odot$ multiplies entry by entry. Two details: the variance divides
# by $D$, not by $D - 1$; and $\varepsilon$ is *inside* the root.
#
# ### 1.1 LayerNorm <small>★☆☆ · 10 min · 4 points</small>
# Write it for any number of axes in front of the last one. Do not call torch's own.
#
# *Before you run it:* what comes out for a constant vector? And by how much does $D - 1$ instead of $D$ change $\hat x$ for $D = 4$, for
# $D = 4096$?


# %% exercise="layer-norm"
def layer_norm(x, weight, bias, eps=1e-5):
    """Layer normalisation of x (..., D) over its last axis, with weight (D,) and bias (D,). Returns (..., D)."""
    ### BEGIN SOLUTION
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return weight * centred / torch.sqrt(variance + eps) + bias
    ### END SOLUTION


# %% test="layer-norm" points=4
check = Check("layer-norm", points=4)
steps, one, zero = torch.tensor([[0.0, 0.0, 4.0, 4.0]]), torch.ones(4), torch.zeros(4)
with check.idea("mean 0, variance 1, then γ and β"):
    out = check.run(layer_norm, steps, one, zero, shape=(1, 4), hint="the result has the shape of x: is `keepdim=True` missing in a mean?")
    slips = {"the variance is divided by D − 1; it must be divided by D (`correction=0`)": [[-0.8660254, -0.8660254, 0.8660254, 0.8660254]]}
    check.close(out, [[-1, -1, 1, 1]], "(0, 0, 4, 4) has mean 2 and variance 4, so it becomes (−1, −1, 1, 1)", wrong=slips)
    out = check.run(layer_norm, steps, torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([10.0, 20.0, 30.0, 40.0]))
    check.close(out, [[9, 18, 33, 44]], "with γ = (1, 2, 3, 4) and β = (10, 20, 30, 40), (−1, −1, 1, 1) becomes (9, 18, 33, 44)")
    ### BEGIN HIDDEN TESTS
    x, w, b = randn(6, 8), randn(8), randn(8)
    check.close(
        check.run(layer_norm, x, w, b, shape=(6, 8), hint="the result has the shape of x: is `keepdim=True` missing in a mean?"),
        F.layer_norm(x, (8,), w, b),
        "the output differs from LayerNorm",
    )
    check.avoids(
        layer_norm,
        *("layer_norm", "LayerNorm", "native_layer_norm"),
        hint="write the formula yourself: do not call torch's LayerNorm",
        forbid=["layer norm"],
        runs=lambda: layer_norm(x.clone(), w, b),
    )
    ### END HIDDEN TESTS
with check.part("ε inside the root"):
    small = check.run(layer_norm, steps / 2000, one, zero)
    slips = {"ε is outside the root: it is √(σ² + ε), not √σ² + ε": [[-0.9900990, -0.9900990, 0.9900990, 0.9900990]]}
    slips["ε is missing"] = [[-1.0, -1.0, 1.0, 1.0]]
    less = "the variance 1e-6 is less than ε = 1e-5, so the entries become ±√(1/11) = ±0.3015: is ε added to the variance?"
    check.close(small, [[-0.3015113, -0.3015113, 0.3015113, 0.3015113]], less, wrong=slips)
    ### BEGIN HIDDEN TESTS
    other = "with ε = 0.5 the output is wrong: is the argument used, inside the root?"
    check.close(check.run(layer_norm, x, w, b, 0.5, forbid=["layer norm"]), F.layer_norm(x, (8,), w, b, 0.5), other)
    ### END HIDDEN TESTS
with check.edge("nothing but the mean"):
    flat = check.run(layer_norm, torch.full((2, 4), 7.0), torch.full((4,), 3.0), torch.tensor([1.0, 2.0, 3.0, 4.0]))
    check.close(flat, [[1.0, 2.0, 3.0, 4.0]] * 2, "a constant vector has nothing but its mean: what is left is the bias, not NaN")
    ### BEGIN HIDDEN TESTS
    thin = check.run(layer_norm, randn(4, 1), torch.ones(1), torch.full((1,), 2.0))
    check.close(thin, torch.full((4, 1), 2.0), "width one: only the bias is left, and nothing is NaN")
    ### END HIDDEN TESTS
with check.part("inputs and gradients"):  # an input that is changed in place has no gradient
    check.unchanged(layer_norm, steps, one, zero)
    ### BEGIN HIDDEN TESTS
    check.gradients(
        layer_norm,
        lambda *z: F.layer_norm(z[0], (8,), z[1], z[2]),
        (10 * x, w, b),  # ε is another question
        "the gradients through your LayerNorm are wrong, or do not flow: they go through the mean and the variance, too",
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("batch and positions"):
    stacked = randn(2, 3, 8)
    check.close(
        check.run(layer_norm, stacked, w, b, shape=(2, 3, 8)),
        F.layer_norm(stacked, (8,), w, b),
        "x of shape (B, T, D): the output is wrong",
    )
    lone = check.run(layer_norm, stacked[0, 0], w, b, shape=(8,), hint="a single vector, without any axis in front, must work")
    check.close(lone, F.layer_norm(stacked[0, 0], (8,), w, b), "a single vector, without any axis in front: the output is wrong")
with check.edge("numbers near 10,000"):
    far = 1e4 + randn(3, 64)
    check.close(
        check.run(layer_norm, far, torch.ones(64), torch.zeros(64)),
        F.layer_norm(far.double(), (64,)).float(),
        "numbers near 10,000 lose all their digits: the mean of squares minus the square of the mean cancels. Subtract the mean first",
        atol=2e-2,  # the mean of numbers near 1e4 is itself known to 1e-3 only in float32
    )
with check.edge("all digits of float64"):
    double = randn(3, 6, dtype=torch.float64)  # with ε = 0 its place does not matter
    got = check.run(layer_norm, double, torch.ones(6).double(), torch.zeros(6).double(), 0.0)
    check.close(got, F.layer_norm(double, (6,), eps=0.0), "in float64 digits are lost on the way")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 1.2 The gradient of LayerNorm <small>★★☆ · 30 min · 5 points</small>
# Derive it on paper first. Let $g = \partial J / \partial y$ be the gradient of some loss $J$ with respect to the output, and $s =
# \sqrt{\sigma^2 + \varepsilon}$. An input $x_i$ acts on $J$ in three ways: directly through $\hat x_i$, through $\mu$, and through
# $\sigma^2$. The steps:
#
# 1. $\partial J/\partial \gamma$ and $\partial J/\partial \beta$: every position adds its share.
# 2. $\hat g = \partial J / \partial \hat x$, from $y = \gamma \odot \hat x + \beta$.
# 3. $\partial \mu / \partial x_i$, $\partial s / \partial x_i$, and with them $\partial \hat x_j / \partial x_i$ (write $\delta_{ij}$ for
#    "1 if $i = j$, else 0").
# 4. Sum over $j$. The result needs only $\hat g$, $\hat x$, $s$ and two means over the last axis.
#
# *Before you run it:* if you add the same number to all entries of $x$, $y$ does not change. What does that say about $\sum_i \partial
# J/\partial x_i$?


# %% exercise="layer-norm-backward"
def layer_norm_backward(g, x, weight, eps=1e-5):
    """Gradients of a loss through LayerNorm, by formula and without autograd.

    g (..., D) is the loss's gradient with respect to the output; x (..., D), weight (D,), eps are as in `layer_norm`.
    Returns three tensors: the gradients with respect to x (..., D), weight (D,) and bias (D,).
    """
    ### BEGIN SOLUTION
    centred = x - x.mean(dim=-1, keepdim=True)
    s = torch.sqrt(centred.square().mean(dim=-1, keepdim=True) + eps)
    x_hat, g_hat = centred / s, g * weight
    dx = (g_hat - g_hat.mean(dim=-1, keepdim=True) - x_hat * (g_hat * x_hat).mean(dim=-1, keepdim=True)) / s
    return dx, (g * x_hat).reshape(-1, x.shape[-1]).sum(dim=0), g.reshape(-1, x.shape[-1]).sum(dim=0)
    ### END SOLUTION


# %% test="layer-norm-backward" points=5
check = Check("layer-norm-backward", points=5)
with check.idea("gradient with respect to x"):
    up, at, w = torch.tensor([[4.0, 0.0, 0.0, 0.0]]), torch.tensor([[0.0, 0.0, 4.0, 4.0]]), torch.tensor([2.0, 1.0, 1.0, 1.0])
    check.equal(len(check.run(layer_norm_backward, up, at, w)), 3, "three gradients are asked for: x, weight and bias")
    dx, dw, db = (check.run(layer_norm_backward, up, at, w, 0.0)[which] for which in range(3))
    by_hand = "x = (0, 0, 4, 4), ε = 0, γ = (2, 1, 1, 1) and g = (4, 0, 0, 0): x̂ = (−1, −1, 1, 1), s = 2, ĝ = (8, 0, 0, 0)"
    check.close(dx, [[2.0, -2.0, 0.0, 0.0]], f"{by_hand}, so the gradient with respect to x is (2, −2, 0, 0)")
    ### BEGIN HIDDEN TESTS
    g, near, gamma = randn(4, 3, dtype=torch.float64), randn(4, 3, dtype=torch.float64), randn(3, dtype=torch.float64)
    x = 1e3 * near  # so large that ε does not matter: it is another question
    check.derivative(
        check.run(layer_norm_backward, g, x, gamma, forbid=["autograd"])[0],
        lambda z: (F.layer_norm(z, (3,), gamma, None) * g).sum(),
        x,
        "the gradient with respect to x is wrong (autograd and finite differences agree on another one)",
    )
    check.avoids(
        layer_norm_backward,
        *("backward", "grad", "vjp", "jacobian", "jacrev"),
        hint="write the formula: autograd is not allowed here",
        forbid=["autograd"],
        runs=lambda: layer_norm_backward(g.clone(), x.clone(), gamma.clone()),
    )
    ### END HIDDEN TESTS
with check.part("gradient of the weight"):
    check.close(dw, [-4.0, 0.0, 0.0, 0.0], f"{by_hand}; the gradient with respect to the weight is (−4, 0, 0, 0), of shape (D,)")
    ### BEGIN HIDDEN TESTS
    hat = F.layer_norm(x, (3,))
    found_weight = check.run(layer_norm_backward, g, x, gamma)[1]
    check.close(
        found_weight,
        (g * hat).sum(0),
        "the gradient with respect to the weight is wrong",
        rtol=1e-6,
        atol=1e-6,
    )
    ### END HIDDEN TESTS
with check.part("gradient of the bias"):
    check.close(db, [4.0, 0.0, 0.0, 0.0], f"{by_hand}; the gradient with respect to the bias is (4, 0, 0, 0), of shape (D,)")
    ### BEGIN HIDDEN TESTS
    found_bias = check.run(layer_norm_backward, g, x, gamma)[2]
    check.close(
        found_bias,
        g.sum(0),
        "the gradient with respect to the bias is the sum of g over all positions",
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("ε"):
    check.derivative(
        check.run(layer_norm_backward, g, near, gamma, 0.7)[0],
        lambda z: (F.layer_norm(z, (3,), gamma, None, 0.7) * g).sum(),
        near,
        "with ε = 0.7 the gradient with respect to x is wrong: ε is part of s, and s is part of x̂",
    )
with check.part("batch and positions"):
    gg, xx = randn(2, 3, 5, dtype=torch.float64), 1e4 * randn(2, 3, 5, dtype=torch.float64)  # ε is another question
    want = checks.gradients(lambda a, b, c: F.layer_norm(a, (5,), b, c), (xx, torch.ones(5).double(), torch.zeros(5).double()), gg).inputs
    # what is wrong about the weight or the bias itself is told above
    sound = [True, (found_weight - (g * hat).sum(0)).abs().max() < 1e-6, (found_bias - g.sum(0)).abs().max() < 1e-6]
    for which, name in enumerate(("x", "the weight", "the bias")):
        if sound[which]:
            check.close(
                check.run(layer_norm_backward, gg, xx, torch.ones(5).double())[which],
                want[which],
                f"x of shape (B, T, D): the gradient with respect to {name} is wrong. The weight and the bias sum over all axes in front",
                rtol=1e-6,
            )
with check.edge("width one"):
    lonely = check.run(layer_norm_backward, torch.ones(5, 1), randn(5, 1), torch.ones(1))[0]
    check.close(lonely, torch.zeros(5, 1), "width one: the output does not depend on x at all, so the gradient is zero")
with check.edge("a second call"):
    once, twice = (check.run(layer_norm_backward, factor * g, x, gamma)[2] for factor in (1, 2))
    check.true((once != twice).any(), "a second call with another g gives the first result again")
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(layer_norm_backward, up, at, w)
check.score()

# %% [markdown]
# Read your formula as geometry.
# Up to $\varepsilon$, the vectors $\mathbf 1$ and $\hat x$ are orthogonal, and the gradient is $\hat g$ with its parts along both removed, divided by $s$.
# Two consequences matter in Part 6: the norm does not let through any change in mean or length, and what it lets through is divided by the size of its input.
#
# ### 1.3 RMSNorm <small>★☆☆ · 10 min · 3 points</small>
# Zhang and Sennrich (2019) leave out the mean and the bias:
#
# $$ y = \gamma \odot \frac{x}{\sqrt{\frac1D \sum_i x_i^2 + \varepsilon}} . $$
#
# Half-precision numbers need care: in `float16` the square of 300 is infinite.
# So if x is `float16` or `bfloat16`, convert it to `float32` first, and convert the result back to the dtype of x at the end.
# (Converting always is fine, too.)


# %% exercise="rms-norm"
def rms_norm(x, weight, eps=1e-5):
    """Root-mean-square normalisation of x (..., D) over its last axis, with weight (D,): (..., D), in the dtype of x.

    The work is done in float32 or better.
    """
    ### BEGIN SOLUTION
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    rms = torch.sqrt(wide.square().mean(dim=-1, keepdim=True) + eps)
    return (weight * wide / rms).to(x.dtype)
    ### END SOLUTION


# %% test="rms-norm" points=3
check = Check("rms-norm", points=3)
with check.idea("root of the mean square"):
    out = check.run(rms_norm, torch.tensor([[1.0, 1.0, 1.0, 7.0]]), torch.tensor([1.0, 2.0, 3.0, 4.0]), shape=(1, 4))
    mean = "the squares of (1, 1, 1, 7) have the mean 13: divide by √13, then multiply by γ = (1, 2, 3, 4)"
    check.close(out, torch.tensor([[1.0, 2.0, 3.0, 28.0]]) / 13**0.5, mean)
    ### BEGIN HIDDEN TESTS
    x, w = randn(6, 5) + 0.5, randn(5)
    check.close(
        check.run(rms_norm, x, w, shape=(6, 5)),
        F.rms_norm(x, (5,), w, 1e-5),
        "the output differs from RMSNorm",
    )
    check.avoids(
        rms_norm,
        *("rms_norm", "RMSNorm"),
        hint="write the formula yourself: do not call torch's RMSNorm",
        forbid=["rms norm"],
        runs=lambda: rms_norm(x.clone(), w.clone()),
    )
    ### END HIDDEN TESTS
with check.part("ε under the root"):
    small = check.run(rms_norm, torch.full((1, 4), 1e-3), torch.ones(4))
    slips = {"ε is outside the root": torch.full((1, 4), 0.990099), "ε is missing": torch.ones(1, 4)}
    less = "the mean square 1e-6 is less than ε = 1e-5, so the entries become √(1/11) = 0.3015: is ε added under the root?"
    check.close(small, torch.full((1, 4), 0.3015113), less, wrong=slips)
    ### BEGIN HIDDEN TESTS
    other = "with ε = 0.5 the output is wrong: is the argument used, under the root?"
    check.close(check.run(rms_norm, x, w, 0.5, forbid=["rms norm"]), F.rms_norm(x, (5,), w, 0.5), other)
    ### END HIDDEN TESTS
with check.part("half precision"):
    half = check.run(rms_norm, torch.full((1, 4), 300.0, dtype=torch.float16), torch.ones(4, dtype=torch.float16))
    check.close(half, torch.ones(1, 4).half(), "squares overflow at 65,504 in float16. Convert to float32 first")
    ### BEGIN HIDDEN TESTS
    fine = randn(4, 256).to(torch.bfloat16)
    exact = F.rms_norm(fine.double(), (256,), None, 1e-5).to(torch.bfloat16)
    got = check.run(rms_norm, fine, torch.ones(256, dtype=torch.bfloat16), shape=(4, 256))
    digits = "in bfloat16 digits are lost on the way: do all of the work in float32"
    check.close(got, exact, digits, rtol=1e-2, atol=0)  # one unit in the last place
    check.true((got == exact).double().mean() > 0.9, digits)  # in float32 all but rare ties are right, in bfloat16 about half
    ### END HIDDEN TESTS
with check.edge("dtype of x"):
    kind = check.measure(lambda: str(rms_norm(torch.ones(1, 4, dtype=torch.bfloat16), torch.ones(4)).dtype))
    check.equal(kind, "torch.bfloat16", "the result has the dtype of x, even if the weight is float32: convert back at the very end")
with check.part("inputs and gradients"):  # an input that is changed in place has no gradient
    check.unchanged(rms_norm, torch.ones(2, 3), torch.ones(3))
    ### BEGIN HIDDEN TESTS
    check.gradients(
        rms_norm,
        lambda *z: F.rms_norm(z[0], (5,), z[1], 1e-5),
        (10 * x, w),  # ε is another question
        "the gradients through your RMSNorm are wrong, or do not flow",
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("batch and positions"):
    stacked = randn(2, 3, 5)
    check.close(check.run(rms_norm, stacked, w), F.rms_norm(stacked, (5,), w, 1e-5), "x of shape (B, T, D): the output is wrong")
    check.close(
        check.run(rms_norm, stacked[0, 0], w), F.rms_norm(stacked[0, 0], (5,), w, 1e-5), "a single vector, without any axis in front"
    )
with check.edge("zeros, width one"):
    check.close(check.run(rms_norm, torch.zeros(2, 3), torch.ones(3)), torch.zeros(2, 3), "a zero vector stays zero, and nothing is NaN")
    thin = check.run(rms_norm, randn(1, 1, 1).abs() + 1, torch.full((1,), 3.0))
    check.close(thin, torch.full((1, 1, 1), 3.0), "width one: the sign times the weight is left", rtol=1e-4)
with check.edge("digits of float64"):
    double = 1e3 * randn(3, 6, dtype=torch.float64)  # so large that ε does not matter
    got = check.run(rms_norm, double, torch.ones(6).double())
    check.close(got, F.rms_norm(double, (6,), None, 1e-5), "in float64 digits are lost on the way: convert half precision only", rtol=1e-6)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 1.4 As modules <small>★☆☆ · 10 min · 3 points</small>
# A module holds what is learned.
# Wrap both functions.
# The learned parts are `nn.Parameter`s; a new norm has $\gamma = 1$ and $\beta = 0$.


# %% exercise="norm-modules"
class LayerNorm(nn.Module):
    """LayerNorm of width D. Parameters: `weight` (D,), ones at first, and `bias` (D,), zeros at first."""

    def __init__(self, D, eps=1e-5):
        ### BEGIN SOLUTION
        super().__init__()
        self.weight = nn.Parameter(torch.ones(D))
        self.bias = nn.Parameter(torch.zeros(D))
        self.eps = eps
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        return layer_norm(x, self.weight, self.bias, self.eps)
        ### END SOLUTION


class RMSNorm(nn.Module):
    """RMSNorm of width D. Parameter: `weight` (D,), ones at first."""

    def __init__(self, D, eps=1e-5):
        ### BEGIN SOLUTION
        super().__init__()
        self.weight = nn.Parameter(torch.ones(D))
        self.eps = eps
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        return rms_norm(x, self.weight, self.eps)
        ### END SOLUTION


# %% test="norm-modules" points=3
check = Check("norm-modules", points=3)
steps = torch.tensor([[0.0, 0.0, 4.0, 4.0]])
with check.idea("LayerNorm and RMSNorm"):
    layer = check.keep(LayerNorm, 4)
    names = check.run(lambda: sorted(name for name, _ in layer.state_dict().items()))
    learned = "LayerNorm has two learned parts, `weight` and `bias`: is each an `nn.Parameter` that is assigned to `self`?"
    check.equal(names, ["bias", "weight"], learned)
    slips = {"a new LayerNorm gives zeros: γ starts at 1, not at 0": torch.zeros(1, 4), "β starts at 0, not at 1": [[0.0, 0.0, 2.0, 2.0]]}
    check.close(
        check.run(layer, steps), [[-1.0, -1.0, 1.0, 1.0]], "a new LayerNorm only normalises: γ is 1 and β is 0 at first", wrong=slips
    )
    ### BEGIN HIDDEN TESTS
    x, w, b, back = randn(2, 3, 5), randn(5), randn(5), randn(2, 3, 5)
    layer = check.keep(LayerNorm, 5)
    check.run(layer.load_state_dict, {"weight": w, "bias": b})
    check.close(
        check.run(layer, x),
        F.layer_norm(x, (5,), w, b),
        "LayerNorm with other weights is wrong",
    )
    check.true(check.measure(checks.isinstance, layer, "torch.nn.Module"), "LayerNorm is a module: derive it from `nn.Module`")
    ### END HIDDEN TESTS
    rms = check.keep(RMSNorm, 4)
    names = check.run(lambda: sorted(name for name, _ in rms.state_dict().items()))
    check.equal("weight" in names, True, "RMSNorm has a learned part, `weight`: is it an `nn.Parameter` that is assigned to `self`?")
    slips = {
        "a new RMSNorm gives zeros: γ starts at 1, not at 0": torch.zeros(1, 4),
        "RMSNorm subtracts the mean": [[-1.0, -1.0, 1.0, 1.0]],
    }
    check.close(
        check.run(rms, steps), [[0, 0, 2**0.5, 2**0.5]], "a new RMSNorm divides (0, 0, 4, 4) by √8, and γ is 1 at first", wrong=slips
    )
    level = "(−3, −1, 1, 3) has the mean 0: there a new LayerNorm and a new RMSNorm give the same (look at LayerNorm first if it is wrong)"
    centred = torch.tensor([[-3.0, -1.0, 1.0, 3.0]])
    fresh = check.keep(LayerNorm, 4)
    check.close(check.run(rms, centred), check.run(fresh, centred), level)
    ### BEGIN HIDDEN TESTS
    rms = check.keep(RMSNorm, 5)
    check.run(lambda: rms.load_state_dict({"weight": w}, strict=False))
    check.close(
        check.run(rms, x),
        F.rms_norm(x, (5,), w, 1e-5),
        "RMSNorm with another weight is wrong",
    )
    check.true(check.measure(checks.isinstance, rms, "torch.nn.Module"), "RMSNorm is a module: derive it from `nn.Module`")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("LayerNorm: ε"):
    other = check.keep(LayerNorm, 5, eps=0.5)
    check.close(check.run(other, x), F.layer_norm(x, (5,), eps=0.5), "LayerNorm with ε = 0.5 is wrong")
with check.part("LayerNorm: gradients"):
    got = check.measure(checks.gradients, layer, (x,), back, params=[])
    both = "LayerNorm: `weight` and `bias` get no gradient: they must be parameters, `nn.Parameter`, not buffers or plain tensors"
    check.equal(sorted(got.params), ["bias", "weight"], both)
    target = checks.gradients(lambda *z: F.layer_norm(z[0], (5,), z[1], z[2]), (x, w, b), back)
    found = (got.inputs[0], got.params["weight"], got.params["bias"])
    for value, wanted, name in zip(found, target.inputs, ("its input", "weight", "bias"), strict=True):
        gradient = f"LayerNorm: the gradient with respect to {name} is wrong or missing: are weight and bias parameters?"
        check.close(value, wanted, gradient)
### END HIDDEN TESTS
with check.part("RMSNorm: no bias"):
    check.equal(names, ["weight"], "RMSNorm has one learned part, `weight`, and no bias")
### BEGIN HIDDEN TESTS
with check.part("RMSNorm: ε"):
    other = check.keep(RMSNorm, 5, eps=0.5)
    check.close(check.run(other, x), F.rms_norm(x, (5,), None, 0.5), "RMSNorm with ε = 0.5 is wrong")
with check.part("RMSNorm: gradients"):
    got = check.measure(checks.gradients, rms, (x,), back, params=[])
    check.equal("weight" in got.params, True, "RMSNorm: `weight` gets no gradient: it must be a parameter, `nn.Parameter`, not a buffer")
    target = checks.gradients(lambda *z: F.rms_norm(z[0], (5,), z[1], 1e-5), (x, w), back)
    for value, wanted, name in zip((got.inputs[0], got.params["weight"]), target.inputs, ("its input", "weight"), strict=True):
        gradient = f"RMSNorm: the gradient with respect to {name} is wrong or missing: is the weight a parameter?"
        check.close(value, wanted, gradient)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 1.5 Who influences whom? <small>★★☆ · 15 min · 3 points</small>
# Batch normalisation (Ioffe and Szegedy, 2015) has the same formula, but its mean and variance run over the batch *and* the positions, one pair for each of the $D$ features.
# In training these are the statistics of the batch at hand, in evaluation running averages.
# It made image networks trainable.
# Why is it not used for text?
#
# Measure it.
# For a function $f$ that maps `(T, D)` to `(T, D)`, shift the input at position $j$ by a vector $\delta$, and see how far the output at position $i$ moves:
#
# $$ M_{ij} = \big\| f(x^{(j)})_i - f(x)_i \big\|, \qquad x^{(j)} = x \text{ with } \delta \text{ added to row } j . $$
#
# *Before you run it:* what does $M$ look like for LayerNorm?
# For BatchNorm in training?
# For causal attention?


# %% exercise="influence"
def influence(f, x, delta):
    """M (T, T): how far output i (row) of f moves, in length, when delta (D,) is added to position j of x (T, D)."""
    ### BEGIN SOLUTION
    before, columns = f(x), []
    for j in range(len(x)):
        shifted = x.clone()
        shifted[j] += delta
        columns.append((f(shifted) - before).norm(dim=-1))  # (T,)
    return torch.stack(columns, dim=1)
    ### END SOLUTION


# %% test="influence" points=3
check = Check("influence", points=3)
x, shift = randn(4, 3), torch.tensor([3.0, 0.0, 4.0])
with check.idea("what a shift at j does to i"):
    same_place = check.run(influence, checks.Counted(lambda z: 2 * z), x, shift, shape=(4, 4))
    slips = {"this is the squared length: the root is missing": 100 * torch.eye(4)}
    slips["the absolute changes of the entries are added: use the Euclidean length"] = 14 * torch.eye(4)
    slips["earlier shifts stay in place: start again from x for every j"] = 10 * torch.ones(4, 4).triu()
    check.close(same_place, 10 * torch.eye(4), "f(x) = 2x: only the shifted position moves, by 2 · ‖(3, 0, 4)‖ = 10", wrong=slips)
    past = check.run(influence, checks.Counted(lambda z: z.cumsum(0)), x, shift, shape=(4, 4))
    later = "f = running sum: position j acts on itself and on later outputs. Rows are outputs i, columns are inputs j"
    slips = {"rows and columns are exchanged: M[i, j] is the effect of input j on output i": 5 * torch.ones(4, 4).triu()}
    check.close(past, 5 * torch.ones(4, 4).tril(), later, wrong=slips)
    ### BEGIN HIDDEN TESTS
    wave, wide = randn(5, 2), randn(2)
    for name, act in {"tanh": torch.tanh, "minus the mean": lambda z: z - z.mean(0), "reversed squares": lambda z: z.flip(0) ** 2}.items():
        pushed = [wave + wide * (torch.arange(5) == j)[:, None] for j in range(5)]
        table = torch.stack([(act(z) - act(wave)).norm(dim=1) for z in pushed], 1)
        check.close(
            check.run(influence, checks.Counted(act), wave, wide),
            table,
            f"the table is wrong for another function ({name}): is the change measured row by row, for every j?",
        )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    after = check.measure(checks.inout, influence, torch.tanh, x, shift)[1]
    check.equal(after[1], x, "your code changes x in place: work on a copy")
    ### BEGIN HIDDEN TESTS
    check.equal(after[2], shift, "your code changes delta in place: work on a copy")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("one position"):
    lone = check.run(influence, checks.Counted(torch.sin), torch.zeros(1, 2), torch.tensor([0.3, 0.4]))
    check.close(lone, [[(math.sin(0.3) ** 2 + math.sin(0.4) ** 2) ** 0.5]], "one position: a 1 × 1 table")
### END HIDDEN TESTS
check.score()

# %% look=true
seed(0)
T_show, D_show = 8, 16
words_in = torch.randn(T_show, D_show)
push = 2 * F.normalize(torch.randn(D_show), dim=0)
feature_mean, feature_variance = torch.zeros(D_show), torch.ones(D_show)
normalisers = {
    "LayerNorm": lambda z: F.layer_norm(z, (D_show,)),
    "BatchNorm in training": lambda z: F.batch_norm(z, None, None, training=True),
    "BatchNorm in evaluation": lambda z: F.batch_norm(z, feature_mean, feature_variance, training=False),
}
figure, axes = plt.subplots(1, 3, figsize=(16, 4.2))
for ax, (title, normaliser) in zip(axes, normalisers.items(), strict=True):
    plots.heatmap(
        influence(normaliser, words_in, push),
        title=title,
        ax=ax,
        label="change of output",
        row_label="output position i",
        column_label="input position j",
    )
figure.tight_layout()
plt.show()

# %% [markdown]
# Above the diagonal lies the future.
# In training, BatchNorm lets every position see all the others, later ones included: a language model could read what it should predict.
# In evaluation it does not, but then it is another function.
#
# ### Look: the same sentence in different batches
# The second measurement uses real sentences (a State of the Union address; every word gets a fixed random vector).
# One sentence is put into a batch with $n$ others, and then into a second batch with $n$ others, drawn again.
# How far do the sentence's own normalised vectors move from one batch to the other, relative to their length?
# And how far are they from those in evaluation, where BatchNorm uses the statistics of all sentences?
# The shaded band runs from the smallest to the largest value of several draws.

# %% look=true
vectors = depth.embed(depth.sentences(pick(smoke=60, laptop=300, gpu=300)), 32)
own, company = vectors[0], vectors[1:]
everything = torch.cat(vectors)
mates, draws = [1, 2, 4, 8, 16, 32], pick(smoke=3, laptop=12, gpu=12)


def in_company(n, generator):
    """The first sentence's vectors after BatchNorm in training, in a batch with n others."""
    chosen = torch.randperm(len(company), generator=generator)[:n].tolist()
    batch = torch.cat([own] + [company[i] for i in chosen])
    return F.batch_norm(batch, None, None, training=True)[: len(own)]


generator = torch.Generator().manual_seed(0)
settled = (own - everything.mean(0)) / everything.var(0, correction=0).add(1e-5).sqrt()
moved, gap = torch.zeros(draws, len(mates)), torch.zeros(draws, len(mates))
for column, n in enumerate(mates):
    for draw in range(draws):
        first, second = in_company(n, generator), in_company(n, generator)
        moved[draw, column] = (first - second).norm() / first.norm()
        gap[draw, column] = (first - settled).norm() / settled.norm()
plots.curves(
    {
        "BatchNorm, two different batches": (mates, moved),
        "BatchNorm, training against evaluation": (mates, gap),
        "LayerNorm (the batch has no effect)": (mates, torch.zeros(len(mates))),
    },
    "other sentences in the batch",
    "relative change of the output",
    "one sentence, normalised in different batches",
    log_x=True,
)
plt.show()
for n, change, distance in zip(mates, moved.mean(0).tolist(), gap.mean(0).tolist(), strict=True):
    print(f"{n:>3} others: moves by {change:.3f}, differs from evaluation by {distance:.3f}")

# %% [markdown]
# ### 1.6 Why not BatchNorm? <small>★★☆ · 15 min · 3 points, graded by hand</small>
# Explain to someone who knows BatchNorm from image classification why Transformers for text use LayerNorm.
# Use what you measured: (a) the table of influences, for a causal language model; (b) the figure, for small batches; (c) sentences of unequal length, which are padded to one length, and generation, which goes word by word.
# About 120 words.

# %% [markdown] written="written-batchnorm" points=3
# <!-- BEGIN SOLUTION -->
# **Model answer.** (a) In training, BatchNorm's statistics are taken over all positions of all sequences, so that every entry of the
# table is non-zero: an output depends on later words and on other sentences. A causal model could use that leak in training, and finds it
# gone in evaluation. LayerNorm's table is diagonal: each position is normalised with its own numbers, in training and evaluation alike.
# (b) The statistics of a few sentences are noisy: here the same sentence moved by about 22 % of its length with one other sentence in the
# batch and by 7 % with 32, and the function used in evaluation is another one than that used in training; the gap shrinks with larger
# batches only. Words are unevenly distributed and words of one sentence belong together, so that a batch of text holds fewer independent
# samples than positions. (c) Padding either enters the mean and variance or has to be masked out; late positions exist in few sequences.
# In generation there is one sequence and one new word: there is no batch to take statistics of. LayerNorm needs none of this.
#
# | points | rubric |
# | --- | --- |
# | 1 | the leak: statistics over positions (and sequences) make an output depend on the future; LayerNorm's table is diagonal |
# | 1 | noise and the gap between training and evaluation, with a number or trend from the figure |
# | 1 | unequal lengths or padding, and generation one word at a time (one of the two suffices if argued well) |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 2 The feed-forward layer
#
# Attention mixes positions; the feed-forward layer then works on each position alone: up to a wider layer, a non-linearity, down again.
#
# ### 2.1 Four non-linearities <small>★★☆ · 20 min · 4 points</small>
#
# | name | formula | used by |
# | --- | --- | --- |
# | ReLU | $\max(0, x)$ | the original Transformer (Vaswani et al., 2017) |
# | GELU, exact | $x\,\Phi(x)$, $\Phi(x) = \frac12\big(1 + \mathrm{erf}(x/\sqrt2)\big)$ the standard normal distribution function | BERT (Hendrycks and Gimpel, 2016) |
# | GELU, tanh approximation | $\frac x2 \big(1 + \tanh(\sqrt{2/\pi}\,(x + 0.044715\,x^3))\big)$ | GPT-2 |
# | Swish | $x\,\sigma(\beta x)$, $\sigma(z) = 1/(1 + e^{-z})$; with $\beta = 1$ it is called SiLU | Ramachandran, Zoph and Le (2017); LLaMA, inside SwiGLU |
#
# Write all four with basic functions (`torch.erf`, `torch.tanh`, `torch.sigmoid`, `clamp`…), without `F.relu`, `F.gelu` and `F.silu`.
#
# *Before you run it:* which function is Swish for $\beta = 0$?
# Which for $\beta \to \infty$?
# Which of the four are negative anywhere?


# %% exercise="activations"
def relu(x):
    """max(0, x), entry by entry."""
    ### BEGIN SOLUTION
    return x.clamp(min=0)
    ### END SOLUTION


def gelu(x):
    """Exact GELU, x Φ(x)."""
    ### BEGIN SOLUTION
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))
    ### END SOLUTION


def gelu_tanh(x):
    """GELU in its tanh approximation."""
    ### BEGIN SOLUTION
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ### END SOLUTION


def swish(x, beta=1.0):
    """x σ(βx). With beta = 1 this is SiLU."""
    ### BEGIN SOLUTION
    return x * torch.sigmoid(beta * x)
    ### END SOLUTION


# %% test="activations" points=4
check = Check("activations", points=4)
at = torch.tensor([-2.0, -0.5, 0.0, 0.5, 3.0])
with check.idea("four formulas"):
    slips = {"ReLU is not the absolute value": at.abs(), "ReLU of a negative number is 0, not a small share of it": F.leaky_relu(at)}
    check.close(check.run(relu, at), [0.0, 0.0, 0.0, 0.5, 3.0], "ReLU keeps what is positive and gives 0 for the rest", wrong=slips)
    ### BEGIN HIDDEN TESTS
    by_yourself = "write the formula: do not call torch's relu, gelu or silu"
    torchs = ("relu", "gelu", "silu", "GELU", "SiLU", "ReLU")
    many = 3 * randn(4, 5, dtype=torch.float64)
    check.avoids(relu, *torchs, hint=f"ReLU: {by_yourself}", forbid=["activations"], runs=lambda: relu(at.clone()))
    check.close(check.run(relu, many), F.relu(many), "ReLU is wrong for other numbers")
    check.close(
        check.run(relu, torch.tensor([-50.0, 8.0, 100.0])), [0.0, 8.0, 100.0], "ReLU is wrong for large numbers: nothing is cut off above"
    )
    ### END HIDDEN TESTS
    exact = "exact GELU: GELU(−2) = −2 Φ(−2) = −0.0455"
    check.close(check.run(gelu, at), [-0.0455003, -0.1542688, 0.0, 0.3457312, 2.9959503], exact, atol=1e-6)
    ### BEGIN HIDDEN TESTS
    check.avoids(gelu, *torchs, hint=f"GELU: {by_yourself}", forbid=["activations"], runs=lambda: gelu(at.clone()))
    check.close(
        check.run(gelu, many),
        F.gelu(many),
        "exact GELU is wrong for other numbers",
        rtol=1e-5,
    )
    ### END HIDDEN TESTS
    near = "GELU in its tanh approximation: −0.04540 at −2 (the exact one is −0.04550)"
    check.close(check.run(gelu_tanh, at), [-0.0454023, -0.1542859, 0.0, 0.3457141, 2.9963627], near, atol=1e-6)
    pair_of = "the approximation and your exact GELU differ by less than 0.0005 here (if `gelu` is wrong, this follows from it)"
    check.close(check.run(gelu_tanh, at), check.run(gelu, at), pair_of, rtol=0, atol=5e-4)
    ### BEGIN HIDDEN TESTS
    check.avoids(gelu_tanh, *torchs, hint=f"GELU (tanh): {by_yourself}", forbid=["activations"], runs=lambda: gelu_tanh(at.clone()))
    check.close(
        check.run(gelu_tanh, many),
        F.gelu(many, approximate="tanh"),
        "GELU (tanh) is wrong for other numbers",
        rtol=1e-5,
    )
    ### END HIDDEN TESTS
    check.close(
        check.run(swish, at), [-0.2384058, -0.1887703, 0.0, 0.3112297, 2.8577224], "Swish with β = 1 is SiLU: SiLU(3) = 3 σ(3) = 2.8577"
    )
    bend = "x σ(1.702 x) is within 0.02 of GELU: is σ multiplied by x? (If `gelu` is wrong, this follows from it)"
    check.close(check.run(lambda: swish(1.702 * at) / 1.702), check.run(gelu, at), bend, rtol=0, atol=0.025)
    ### BEGIN HIDDEN TESTS
    check.avoids(swish, *torchs, hint=f"Swish: {by_yourself}", forbid=["activations"], runs=lambda: swish(at.clone()))
    check.close(check.run(swish, many), F.silu(many), "Swish is wrong for other numbers")
    ### END HIDDEN TESTS
with check.edge("swish: far from zero"):
    steep = "far from zero SiLU is 0 on the left and x on the right"
    check.close(check.run(swish, 50 * at), [0.0, 0.0, 0.0, 25.0, 150.0], steep, rtol=0, atol=1e-4)
with check.edge("inputs unchanged"):
    check.unchanged(relu, at)
    check.unchanged(gelu, at)
    check.unchanged(gelu_tanh, at)
    check.unchanged(swish, at)
### BEGIN HIDDEN TESTS
with check.edge("gradients"):
    check.gradients(lambda z: relu(z.clone()), F.relu, (many,), "ReLU: the gradient is wrong or does not flow")
    check.gradients(lambda z: gelu(z.clone()), F.gelu, (many,), "GELU: the gradient is wrong or does not flow")
    approximate = "GELU (tanh): the gradient is wrong or does not flow"
    check.gradients(lambda z: gelu_tanh(z.clone()), lambda z: F.gelu(z, approximate="tanh"), (many,), approximate)
    check.gradients(lambda z: swish(z.clone()), F.silu, (many,), "Swish: the gradient is wrong or does not flow")
with check.edge("all digits"):
    check.close(check.run(gelu, many), F.gelu(many), "GELU in float64 has too few digits: are the constants exact?")
    far = check.run(gelu_tanh, torch.tensor([-100.0, 100.0]))
    check.close(far, [0.0, 100.0], "far from zero GELU is 0 or x", atol=1e-6)
    check.close(check.run(gelu_tanh, many), F.gelu(many, approximate="tanh"), "GELU (tanh) in float64 has too few digits")
### END HIDDEN TESTS
with check.part("swish: β"):
    check.close(check.run(swish, at, 0.0), at / 2, "with β = 0, σ is ½ everywhere: Swish is x/2. Is β used?")
    ### BEGIN HIDDEN TESTS
    for beta in (0.5, 2.0, 10.0, -1.5):
        check.close(
            check.run(swish, many, beta),
            many * torch.sigmoid(beta * many),
            "Swish is wrong for β other than 1",
        )
    ### END HIDDEN TESTS
check.score()


# %% [markdown]
# ### Look: turn β
# Move the slider.
# Where is Swish closest to GELU?
# (GELU is close to $x\,\sigma(1.702\,x)$.)


# %% look=true
@ipywidgets.interact(beta=ipywidgets.FloatSlider(value=1.0, min=0.0, max=10.0, step=0.1, description="β"))
def draw_activations(beta=1.0):
    grid = torch.linspace(-4, 4, 200)
    series = {
        "ReLU": (grid, relu(grid)),
        "GELU": (grid, gelu(grid)),
        f"Swish, β = {beta:.1f}": (grid, swish(grid, beta)),
    }
    plots.curves(
        series,
        "x",
        "activation",
        f"largest distance of Swish from GELU: {(swish(grid, beta) - gelu(grid)).abs().max():.3f}",
    )
    plt.ylim(-0.6, 4)
    plt.show()


difference_grid = torch.linspace(-4, 4, 2001, dtype=torch.float64)
largest = (gelu(difference_grid) - gelu_tanh(difference_grid)).abs().max()
print(f"exact GELU and its tanh approximation differ by at most {largest:.1e} on [−4, 4]")

# %% [markdown]
# ### 2.2 Two feed-forward layers <small>★★☆ · 20 min · 5 points</small>
# The classical layer has one non-linearity $\phi$ between two linear maps with biases; `hidden` is its inner width, often $4D$:
#
# $$ \mathrm{FFN}(x) = W_\text{down}\, \phi(W_\text{up}\, x + b_\text{up}) + b_\text{down} . $$
#
# SwiGLU (Shazeer, 2020) has two maps up, of which one *gates* the other, and no biases:
#
# $$ \mathrm{SwiGLU}(x) = W_2 \big( \mathrm{SiLU}(W_1 x) \odot W_3 x \big) . $$
#
# `nn.Linear(a, b)` maps width $a$ to width $b$; its weight has the shape `(b, a)`.


# %% exercise="feed-forward"
class FeedForward(nn.Module):
    """Linear, activation, linear: (..., D) to (..., D).

    Parts, both nn.Linear with bias: `up` (D to hidden) and `down` (hidden to D).
    """

    def __init__(self, D, hidden, activation=gelu):
        ### BEGIN SOLUTION
        super().__init__()
        self.up = nn.Linear(D, hidden)
        self.down = nn.Linear(hidden, D)
        self.activation = activation
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        return self.down(self.activation(self.up(x)))
        ### END SOLUTION


class SwiGLU(nn.Module):
    """W2 (SiLU(W1 x) ⊙ W3 x): (..., D) to (..., D).

    Parts, all nn.Linear without bias: `w1` and `w3` (D to hidden), `w2` (hidden to D).
    """

    def __init__(self, D, hidden):
        ### BEGIN SOLUTION
        super().__init__()
        self.w1 = nn.Linear(D, hidden, bias=False)
        self.w2 = nn.Linear(hidden, D, bias=False)
        self.w3 = nn.Linear(D, hidden, bias=False)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        return self.w2(swish(self.w1(x)) * self.w3(x))
        ### END SOLUTION


# %% test="feed-forward" points=5
check = Check("feed-forward", points=5)
eye, tens, one = torch.eye(2), torch.tensor([10.0, 20.0]), torch.tensor([[3.0, -5.0]])
with check.idea("FeedForward and SwiGLU"):
    layer = check.keep(FeedForward, 4, 7)
    shapes = check.run(lambda: {name: list(p.shape) for name, p in layer.state_dict().items()})
    two = "FeedForward has two parts, `up` from D to hidden and `down` from hidden to D, both `nn.Linear` with bias"
    check.equal(shapes, {"up.weight": [7, 4], "up.bias": [7], "down.weight": [4, 7], "down.bias": [4]}, two)
    weights = {"up.weight": eye, "up.bias": torch.zeros(2), "down.weight": -eye, "down.bias": tens}
    tiny = check.keep(FeedForward, 2, 2)
    check.run(tiny.load_state_dict, weights)
    gelu_of = "FeedForward with W_up = I, W_down = −I, biases 0 and (10, 20): (3, −5) becomes (10 − GELU(3), 20 − GELU(−5))"
    check.close(check.run(tiny, one), [[7.0040497, 20.0]], gelu_of, atol=1e-5)
    ### BEGIN HIDDEN TESTS
    x, back = randn(2, 3, 4), randn(2, 3, 4)
    w_up, b_up, w_down, b_down = randn(7, 4), randn(7), randn(4, 7), randn(4)
    inner = F.linear(x, w_up, b_up)
    state = {"up.weight": w_up, "up.bias": b_up, "down.weight": w_down, "down.bias": b_down}
    ffn = check.keep(FeedForward, 4, 7)
    check.run(ffn.load_state_dict, state)
    check.close(
        check.run(ffn, x, shape=(2, 3, 4), hint="FeedForward: (B, T, D) in, (B, T, D) out"),
        F.linear(F.gelu(inner), w_down, b_down),
        "FeedForward is not W_down φ(W_up x + b_up) + b_down with the default φ, exact GELU",
    )
    ### END HIDDEN TESTS
    gated = check.keep(SwiGLU, 4, 7)
    shapes = check.run(lambda: dict(sorted((name, list(p.shape)) for name, p in gated.state_dict().items())))
    three = "SwiGLU has three parts without bias: `w1` and `w3` from D to hidden, `w2` from hidden to D"
    check.equal(shapes, {"w1.weight": [7, 4], "w2.weight": [4, 7], "w3.weight": [7, 4]}, three)
    tiny = check.keep(SwiGLU, 2, 2)
    check.run(tiny.load_state_dict, {"w1.weight": eye, "w3.weight": 2 * eye, "w2.weight": -eye})
    gate = "SwiGLU with W1 = I, W3 = 2 I, W2 = −I: (1, 0) becomes (−2 SiLU(1), 0), and SiLU(1) = 0.731"
    check.close(check.run(tiny, torch.tensor([[1.0, 0.0]])), [[-2 * 0.7310586, 0.0]], gate)
    ### BEGIN HIDDEN TESTS
    w1, w2, w3 = randn(7, 4), randn(4, 7), randn(7, 4)
    glu = check.keep(SwiGLU, 4, 7)
    check.run(glu.load_state_dict, {"w1.weight": w1, "w2.weight": w2, "w3.weight": w3})
    a, c = x @ w1.T, x @ w3.T
    check.close(
        check.run(glu, x, shape=(2, 3, 4), hint="SwiGLU: (B, T, D) in, (B, T, D) out"),
        (F.silu(a) * c) @ w2.T,
        "SwiGLU is not W2 (SiLU(W1 x) ⊙ W3 x)",
    )
    ### END HIDDEN TESTS
with check.part("FeedForward: the given activation"):
    tiny = check.keep(FeedForward, 2, 2, torch.relu)
    check.run(tiny.load_state_dict, weights)
    ignored = {"FeedForward: the activation that is given is not used": [[7.0040497, 20.0]]}
    check.close(check.run(tiny, one), [[7.0, 20.0]], "the same with ReLU: (3, −5) becomes (10 − 3, 20 − 0)", wrong=ignored)
    ### BEGIN HIDDEN TESTS
    other = check.keep(FeedForward, 4, 7, torch.tanh)
    check.run(other.load_state_dict, state)
    check.close(check.run(other, x), F.linear(inner.tanh(), w_down, b_down), "FeedForward is wrong with tanh")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("FeedForward: gradients"):
    got = check.measure(checks.gradients, ffn, (x,), back, params=list(state))
    want = checks.gradients(lambda z, *p: F.linear(F.gelu(F.linear(z, p[0], p[1])), p[2], p[3]), (x, *state.values()), back)
    for name, target in zip(["its input", *state], want.inputs, strict=True):
        value = got.inputs[0] if name == "its input" else got.params[name]
        check.close(value, target, f"FeedForward: the gradient with respect to {name} is wrong or missing")
with check.part("SwiGLU: gradients"):
    got = check.measure(checks.gradients, glu, (x,), back, params=["w1.weight", "w2.weight", "w3.weight"])
    want = checks.gradients(lambda z, a, b, c: (F.silu(z @ a.T) * (z @ c.T)) @ b.T, (x, w1, w2, w3), back)
    for name, target in zip(["its input", "w1.weight", "w2.weight", "w3.weight"], want.inputs, strict=True):
        value = got.inputs[0] if name == "its input" else got.params[name]
        check.close(value, target, f"SwiGLU: the gradient with respect to {name} is wrong or missing")
with check.edge("SwiGLU: one position"):
    check.shape(check.run(glu, randn(1, 4)), (1, 4), "SwiGLU on a single position, without a batch axis")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 3 Multi-head attention
#
# ### 3.1 Split and merge <small>★★☆ · 10 min · 3 points</small>
# $H$ heads share the width: head $h$ owns columns $hD/H$ to $(h+1)D/H - 1$.
# Attention runs over the last two axes, so the head axis has to move in front of the positions: `(B, T, D)` becomes `(B, H, T, D/H)`.
# A `view` straight to that shape runs without any error and is wrong.
# `merge_heads` is the way back: what `split_heads` has taken apart is put together as it was.
# (You may know this exercise from 03. Here it is the start of a module.)
#
# *Before you run it:* for $T = 4$, $D = 4$, $H = 2$, what would the wrong `view(B, H, T, D // H)` put into head 0?


# %% exercise="heads"
def split_heads(x, H):
    """x (B, T, D) as H heads: (B, H, T, D // H). Head 0 gets the first D // H columns."""
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


# %% test="heads" points=3
check = Check("heads", points=3)
count_up = torch.arange(2 * 3 * 8.0).view(2, 3, 8)
with check.idea("split and merge"):
    axes_hint = "split_heads: the axes are batch, head, position, width of a head, in this order"
    cut = check.run(split_heads, count_up, 4, shape=(2, 4, 3, 2), hint=axes_hint)
    check.close(cut[1, 2], [[28, 29], [36, 37], [44, 45]], "split_heads: head 2 holds columns 4 and 5 of every position of its sequence")
    ### BEGIN HIDDEN TESTS
    whole_row = torch.stack(count_up.split(2, dim=-1), dim=1)
    check.close(
        cut,
        whole_row,
        "split_heads mixes positions and heads",
    )
    check.close(check.run(split_heads, count_up, 2), torch.stack(count_up.split(4, dim=-1), dim=1), "split_heads is wrong for two heads")
    ### END HIDDEN TESTS
    pair = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]])  # two heads with two positions each
    side = "merge_heads: position 0 has (1, 2) in head 0 and (5, 6) in head 1: side by side (1, 2, 5, 6)"
    check.close(check.run(merge_heads, pair, shape=(1, 2, 4), hint=side), [[[1, 2, 5, 6], [3, 4, 7, 8]]], side)
    back = "split into four heads and merged again, x must come back (if `split_heads` is wrong, this follows from it)"
    check.close(check.run(lambda: merge_heads(split_heads(count_up, 4))), count_up, back)
    check.close(check.run(lambda: split_heads(merge_heads(pair), 2)), pair, "two heads merged and split again must come back, too")
    ### BEGIN HIDDEN TESTS
    pieces = randn(2, 3, 4, 5)
    check.close(
        check.run(merge_heads, pieces),
        torch.cat(pieces.unbind(1), -1),
        "merge_heads: the heads must go side by side, head 0 first",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(split_heads, count_up, 2)
    check.unchanged(merge_heads, pair)
### BEGIN HIDDEN TESTS
with check.edge("split_heads: a transposed input"):
    strided = randn(3, 5, 6).transpose(0, 1)  # (5, 3, 6), not contiguous but each row is
    got, apart = check.run(split_heads, strided, 3), torch.stack(strided.split(2, dim=-1), 1)
    check.close(got, apart, "split_heads: an input that was transposed before must work, too")
with check.edge("split_heads: ones"):
    check.shape(check.run(split_heads, randn(1, 1, 6), 6), (1, 6, 1, 1), "one sequence, one position, heads of width one: this must work")
    check.close(check.run(split_heads, count_up, 1), count_up[:, None], "one head: nothing is cut")
with check.edge("gradients"):
    check.gradients(
        lambda z: split_heads(z.sin(), 2), lambda z: torch.stack(z.sin().split(2, -1), 1), (randn(2, 3, 4),), "no gradient flows"
    )
    check.gradients(lambda z: merge_heads(z.sin()), lambda z: torch.cat(z.sin().unbind(1), -1), (pieces,), "no gradient flows")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.2 The module <small>★★☆ · 25 min · 6 points</small>
# Project, split, attend, merge, project.
# With weights named as in the docstring:
#
# $$ \mathrm{MHA}(x) = W_o\, \mathrm{merge}\big(\mathrm{attention}(\mathrm{split}(W_q x), \mathrm{split}(W_k x), \mathrm{split}(W_v
# x))\big), $$
#
# biases left out of the formula.
# Each head scales its scores by $1/\sqrt{D/H}$.
# For the attention itself you may call `F.scaled_dot_product_attention(q, k, v, attn_mask=mask)`, or write it again as in 03. If $D$ is not a multiple of $H$, raise a `ValueError` in `__init__`.
#
# The mask is `None` or boolean, with two axes or more, and broadcastable to `(B, H, T, T)`; `True` means *may look*.
# (`F.scaled_dot_product_attention` agrees. `nn.MultiheadAttention` does not: there `True` means *must not look*.)


# %% exercise="multi-head"
class MultiHeadAttention(nn.Module):
    """Multi-head self-attention of x (B, T, D) in H heads: (B, T, D).

    Parts, all nn.Linear from D to D, with a bias each if `bias` is true: `q_proj`, `k_proj`, `v_proj`, `o_proj`.
    """

    def __init__(self, D, H, bias=True):
        ### BEGIN SOLUTION
        super().__init__()
        if D % H:
            raise ValueError(f"the width {D} is not a multiple of the number of heads, {H}")
        self.H = H
        self.q_proj = nn.Linear(D, D, bias=bias)
        self.k_proj = nn.Linear(D, D, bias=bias)
        self.v_proj = nn.Linear(D, D, bias=bias)
        self.o_proj = nn.Linear(D, D, bias=bias)
        ### END SOLUTION

    def forward(self, x, mask=None):
        """mask: None, or boolean and broadcastable to (B, H, T, T), True = may look."""
        ### BEGIN SOLUTION
        q, k, v = (split_heads(project(x), self.H) for project in (self.q_proj, self.k_proj, self.v_proj))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # (B, H, T, D // H)
        return self.o_proj(merge_heads(mixed))
        ### END SOLUTION


# %% test="multi-head" points=6
check = Check("multi-head", points=6)
parts = ["q_proj", "k_proj", "v_proj", "o_proj"]
with check.idea("split, attend, merge, project"):
    mha = check.keep(MultiHeadAttention, 6, 3)
    shapes = check.run(lambda: dict(sorted((name, list(p.shape)) for name, p in mha.state_dict().items())))
    four = "the parts are q_proj, k_proj, v_proj and o_proj, each an `nn.Linear(D, D)` with bias"
    check.equal(
        shapes, {f"{part}.{kind}": [6] if kind == "bias" else [6, 6] for part in sorted(parts) for kind in ("bias", "weight")}, four
    )
    tiny = check.keep(MultiHeadAttention, 2, 2)
    even = {f"{part}.{kind}": torch.zeros(2, 2) if kind == "weight" else torch.zeros(2) for part in parts for kind in ("weight", "bias")}
    check.run(tiny.load_state_dict, even | {"v_proj.weight": torch.eye(2), "o_proj.weight": 10 * torch.eye(2)})
    mean = "W_q = W_k = 0, so all weights are 1/2; W_v = I, W_o = 10 I: ten times the mean of (0, 6) and (2, 0)"
    check.close(check.run(tiny, torch.tensor([[[0.0, 6.0], [2.0, 0.0]]])), [[[10.0, 30.0], [10.0, 30.0]]], mean)
    ### BEGIN HIDDEN TESTS

    class Counterpart(nn.Module):
        """torch's own, with `True` turned into its own polarity."""

        def __init__(self, weights, heads):
            super().__init__()
            self.own = nn.MultiheadAttention(weights["q_proj.weight"].shape[0], heads, batch_first=True)
            joined = {f"in_proj_{kind}": torch.cat([weights[f"{part}.{kind}"] for part in parts[:3]]) for kind in ("weight", "bias")}
            self.own.load_state_dict(joined | {f"out_proj.{kind}": weights[f"o_proj.{kind}"] for kind in ("weight", "bias")})

        def forward(self, z, may=None):
            return self.own(z, z, z, need_weights=False, attn_mask=None if may is None else ~may)[0]

    def by_hand(z, p, heads, rule):
        cut = [F.linear(z, p[f"{part}.weight"], p[f"{part}.bias"]).chunk(heads, -1) for part in parts[:3]]
        q, k, v = (torch.stack(pieces, 1) for pieces in cut)
        raw = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~rule, -torch.inf)
        return torch.cat((raw.softmax(-1) @ v).unbind(1), -1)

    def last(z, p):
        return F.linear(z, p["o_proj.weight"], p["o_proj.bias"])

    x, back, lower = randn(2, 5, 6), randn(2, 5, 6), torch.ones(5, 5, dtype=torch.bool).tril()
    state = {f"{part}.{kind}": randn(6, 6) / 2 if kind == "weight" else randn(6) for part in parts for kind in ("weight", "bias")}
    check.run(lambda: mha.load_state_dict(state))
    check.close(
        check.run(mha, x, shape=(2, 5, 6), hint="(B, T, D) in, (B, T, D) out: are the heads merged again?"),
        checks.value(Counterpart(state, 3)(x)),
        "the output differs from nn.MultiheadAttention",
    )
    check.avoids(
        MultiHeadAttention,
        *("MultiheadAttention", "multi_head_attention_forward"),
        hint="build it from linear layers: do not call torch's multi-head attention",
        forbid=["multi-head attention"],
        runs=lambda: mha(x),
    )
    ### END HIDDEN TESTS
with check.part("mask"):
    check.run(tiny.load_state_dict, even | {"v_proj.weight": torch.eye(2), "o_proj.weight": torch.eye(2)})
    masked = check.run(tiny, torch.tensor([[[0.0, 6.0], [2.0, 0.0]]]), torch.tensor([[True, False], [True, True]]))
    seen = "causal: position 0 sees itself, (0, 6), position 1 the mean, (1, 3). Is the mask passed on? True means: may look"
    check.close(masked, [[[0.0, 6.0], [1.0, 3.0]]], seen)
    ### BEGIN HIDDEN TESTS
    check.close(
        check.run(mha, x, lower, forbid=["multi-head attention"]),
        checks.value(Counterpart(state, 3)(x, lower)),
        "the output differs from nn.MultiheadAttention with a causal mask",
    )
    ragged = torch.arange(5) < torch.tensor([4, 2])[:, None, None, None]  # (2, 1, 1, 5)
    check.close(
        check.run(mha, x, ragged, forbid=["multi-head attention"]),
        last(by_hand(x, state, 3, ragged), state),
        "with a mask for each sequence, (B, 1, 1, T), the output is wrong",
    )
    several = (randn(3, 5, 5) > 0) | torch.eye(5, dtype=torch.bool)  # nobody is blind
    each = "with a mask for each head, (H, T, T), the output is wrong"
    check.close(check.run(mha, x, several, forbid=["multi-head attention"]), last(by_hand(x, state, 3, several), state), each)
    ### END HIDDEN TESTS
with check.part("without biases"):
    bare = check.keep(MultiHeadAttention, 6, 2, bias=False)
    names = check.run(lambda: sorted(name for name, _ in bare.state_dict().items()))
    check.equal(names, ["k_proj.weight", "o_proj.weight", "q_proj.weight", "v_proj.weight"], "with bias=False no part has a bias")
with check.edge("D no multiple of H"):
    share = "six columns cannot be shared by four heads: raise a ValueError in `__init__`"
    check.raises(MultiHeadAttention, 6, 4, error="ValueError", hint=share)
### BEGIN HIDDEN TESTS
with check.part("gradients"):
    got = check.measure(checks.gradients, mha, (x,), back, params=list(state))
    joint = ["own.in_proj_weight", "own.in_proj_bias", "own.out_proj.weight", "own.out_proj.bias"]
    want = checks.gradients(Counterpart(state, 3), (x,), back, params=joint)
    for row, part in enumerate(parts[:3]):
        rows = slice(6 * row, 6 * row + 6)
        missing = f"the gradient with respect to {part}.weight is wrong or missing"
        check.close(got.params[f"{part}.weight"], want.params["own.in_proj_weight"][rows], missing)
        # a bias of the keys shifts all scores of a row alike: its gradient is zero, up to rounding
        missing = f"the gradient with respect to {part}.bias is wrong or missing"
        check.close(got.params[f"{part}.bias"], want.params["own.in_proj_bias"][rows], missing, atol=1e-4)
    output = "the gradient with respect to o_proj.weight is wrong or missing"
    check.close(got.params["o_proj.weight"], want.params["own.out_proj.weight"], output)
    check.close(got.inputs[0], want.inputs[0], "the gradient with respect to x differs from that of nn.MultiheadAttention")
with check.edge("lengths and widths of one"):
    single = check.keep(MultiHeadAttention, 4, 4)
    check.shape(check.run(single, randn(1, 1, 4)), (1, 1, 4), "a batch of one, a sequence of one, heads of width one: this must work")
    check.shape(check.run(mha, randn(1, 9, 6)), (1, 9, 6), "another length must work: no length is fixed in `__init__`")
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(tiny, torch.ones(1, 2, 2))
check.score()

# %% [markdown]
# ### Look: what one wrong line does
# The wrong `view` raises nothing, and gradients flow through it.
# So look at who influences whom, under a causal mask, with 6 positions and 3 heads:

# %% look=true
seed(1)
T_show, D_show, H_show = 6, 12, 3
tokens = torch.randn(T_show, D_show)
before_or_same = torch.ones(T_show, T_show, dtype=torch.bool).tril()


def attend_after(split, join):
    """Causal self-attention without projections, on (T, D), with a given way to split and to join."""

    def f(z):
        heads = split(z[None])
        return join(F.scaled_dot_product_attention(heads, heads, heads, attn_mask=before_or_same))[0]

    return f


right = attend_after(lambda z: split_heads(z, H_show), merge_heads)
wrong = attend_after(lambda z: z.view(1, H_show, T_show, -1), lambda z: z.reshape(1, T_show, -1))
nudge = torch.ones(D_show) / D_show**0.5
figure, axes = plt.subplots(1, 2, figsize=(12, 4.4))
for ax, title, attend in zip(axes, ("split, attend, merge", "view without transpose"), (right, wrong), strict=True):
    plots.heatmap(
        influence(attend, tokens, nudge),
        title=title,
        ax=ax,
        label="change of output",
        row_label="output position i",
        column_label="input position j",
    )
figure.tight_layout()
plt.show()

# %% [markdown]
# On the right each "head" holds a third of the *sequence*, not of the width.
# Output 5 sees positions 4 and 5 and nothing before.
# Every shape is right, and the memory of this layer ends after two words.
#
# ## 4 The block
#
# ### 4.1 Dropout <small>★☆☆ · 10 min · 3 points</small>
# In training, dropout (Srivastava et al., 2014) sets each entry to zero with probability $p$, independently, and multiplies the others by $1/(1-p)$, so that the expected value stays the same.
# In evaluation it does nothing.
# $p = 1$ drops everything.
# Write it with `torch.rand` or `torch.bernoulli`, not with `F.dropout`.
#
# *Before you run it:* a model is evaluated with dropout still switched on.
# What happens to its loss from run to run?


# %% exercise="dropout"
def dropout(x, p, training):
    """x, entries dropped with probability p (0 ≤ p ≤ 1), the rest scaled by 1 / (1 − p); x itself if not training."""
    ### BEGIN SOLUTION
    if not training or p == 0:
        return x
    kept = torch.rand_like(x) >= p
    return x * kept / (1 - p) if p < 1 else x * 0
    ### END SOLUTION


# %% test="dropout" points=3
check = Check("dropout", points=3)
x, sheet = randn(3, 4), torch.ones(200, 300)
with check.idea("drop and scale in training"):
    out = check.run(dropout, sheet, 0.2, True, shape=(200, 300))
    survivors = torch.where(out == 0, 1.25, out)
    slips = {"what survives is not scaled by 1 / (1 − p)": torch.where(out == 0, 1.25, 1.0)}
    slips["what survives is scaled by 1 / p"] = torch.where(out == 0, 1.25, 5.0)
    check.close(survivors, 1.25 * sheet, "with p = 0.2 every entry of 1 becomes 0 or 1/0.8 = 1.25", wrong=slips)
    fifth = "with p = 0.2 one fifth of the entries is dropped: is p the probability of dropping, or of keeping?"
    check.true(((out == 0).double().mean() - 0.2).abs() < 0.15, fifth)  # five standard deviations, even if whole rows are dropped
    ### BEGIN HIDDEN TESTS
    heavy = check.run(dropout, -3 * sheet, 0.75, True, shape=(200, 300), forbid=["dropout"])
    check.close(torch.where(heavy == 0, -12.0, heavy), -12 * sheet, "with p = 0.75 every entry of −3 becomes 0 or −3/0.25 = −12")
    check.true(((heavy == 0).double().mean() - 0.75).abs() < 0.16, "with p = 0.75 three quarters of the entries are dropped")  # as above
    check.avoids(
        dropout,
        *("dropout", "Dropout", "native_dropout", "alpha_dropout"),
        hint="write it yourself: do not call torch's dropout",
        forbid=["dropout"],
        runs=lambda: dropout(sheet.clone(), 0.5, True),
    )
    ### END HIDDEN TESTS
with check.part("evaluation"):
    scaled = {"in evaluation nothing is scaled: the scale 1 / (1 − p) in training has taken care of that": x * 0.5}
    check.close(check.run(dropout, x, 0.5, False), x, "in evaluation (training is False) dropout does nothing", wrong=scaled)
with check.edge("p = 0 and p = 1"):
    check.close(check.run(dropout, x, 0.0, True), x, "with p = 0 nothing is dropped")
    check.close(check.run(dropout, x, 1.0, True), torch.zeros(3, 4), "with p = 1 everything is dropped, and nothing is NaN or raises")
with check.part("inputs and gradients"):  # an input that is changed in place has no gradient
    check.unchanged(dropout, x, 0.5, True)
    ### BEGIN HIDDEN TESTS
    found = check.measure(checks.gradients, lambda z: dropout(z, 0.5, True), (torch.ones(40, 50),))
    check.close(found.inputs[0], found.output, "the gradient is scaled and zero exactly where the output is")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("entry by entry"):
    rows, columns = (out == 0).double().mean(1), (out == 0).double().mean(0)
    together = "whole rows or columns are dropped together: every entry is dropped independently"
    check.true((rows.max() < 0.5) & (columns.max() < 0.5), together)  # a row's share has a standard deviation of 0.023
    counted = "exactly the same number is dropped everywhere: every entry is dropped independently"
    check.true((rows.std() > 0.01) & (columns.std() > 0.01), counted)
with check.part("drawn anew"):
    again = check.run(dropout, sheet, 0.2, True, shape=(200, 300))
    check.true((again != out).any(), "two calls drop the same entries: draw anew in every call")
with check.edge("how many are dropped"):
    exact = "with p = 0.2 the share of zeros is not one fifth: is every entry dropped with probability p?"
    check.true(((out == 0).double().mean() - 0.2).abs() < 0.01, exact)  # 60,000 entries: a standard deviation of 0.0016
    tallies = check.run(lambda: [int((dropout(torch.ones(40), 0.5, True) == 0).sum()) for _ in range(12)])
    random = "the same number of entries is dropped in every call: every entry is dropped independently"
    check.true(tallies[0] * 0 + len(set(tallies)) > 1, random)  # twelve equal counts: a chance below 1e-9
with check.edge("zeros"):
    check.close(check.run(dropout, torch.zeros(5), 0.5, True), torch.zeros(5), "zeros stay zeros: multiply, do not add")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.2 Pre-LN and post-LN <small>★★☆ · 30 min · 6 points</small>
# A block has two branches $f$: attention first, then the feed-forward layer.
# What surrounds each branch comes in two orders:
#
# | | one branch | used by |
# | --- | --- | --- |
# | post-LN | $x \leftarrow \mathrm{LN}(x + f(x))$ | the original Transformer, BERT |
# | pre-LN | $x \leftarrow x + f(\mathrm{LN}(x))$ | GPT-2 and most models since |
#
# In pre-LN, the *residual stream* $x$ is never normalised: branches read a normalised copy and add to it.
# Dropout acts on the branch, and only in training (`self.training` is true): $f(\cdot)$ is replaced by $\mathrm{dropout}(f(\cdot))$.
# For the experiments of Part 6, `residual=False` leaves out "$x +$" in both branches.
#
# The attention uses `norm1`, the feed-forward layer `norm2`, in both orders.
# The method `branch` is a suggestion: what surrounds a branch is the same both times.
# If you do without it, delete it.


# %% exercise="block"
class Block(nn.Module):
    """A Transformer block, (B, T, D) to (B, T, D). `norm` is "pre" or "post", `p` each branch's dropout probability.

    Parts: `norm1`, `norm2` (LayerNorm), `attn` (MultiHeadAttention with biases), `ffn` (FeedForward with exact GELU).
    """

    def __init__(self, D, H, hidden, norm="pre", residual=True, p=0.0):
        ### BEGIN SOLUTION
        super().__init__()
        self.norm1, self.norm2 = LayerNorm(D), LayerNorm(D)
        self.attn = MultiHeadAttention(D, H)
        self.ffn = FeedForward(D, hidden)
        self.norm, self.residual, self.p = norm, residual, p
        ### END SOLUTION

    def branch(self, x, f, norm):
        """One branch f with its norm, its dropout and, if there is one, its residual connection."""
        ### BEGIN SOLUTION
        out = dropout(f(norm(x) if self.norm == "pre" else x), self.p, self.training)
        out = x + out if self.residual else out
        return out if self.norm == "pre" else norm(out)
        ### END SOLUTION

    def forward(self, x, mask=None):
        """mask: None, or boolean and broadcastable to (B, H, T, T), True = may look."""
        ### BEGIN SOLUTION
        x = self.branch(x, lambda z: self.attn(z, mask), self.norm1)
        return self.branch(x, self.ffn, self.norm2)
        ### END SOLUTION


# %% test="block" points=6
check = Check("block", points=6)
x = randn(2, 5, 6)
blank = {
    name: torch.ones(shape) if name in ("norm1.weight", "norm2.weight") else torch.zeros(shape)
    for name, shape in depth.block_shapes(6, 10).items()
}
with check.idea("pre-LN"):
    pre = check.keep(Block, 6, 3, 10)
    shapes = check.run(lambda: dict(sorted((name, tuple(p.shape)) for name, p in pre.state_dict().items())))
    inside = "the block's parts are norm1, norm2, attn and ffn, with the parameters of the modules you wrote"
    check.equal(shapes, dict(sorted(depth.block_shapes(6, 10).items())), inside)
    check.run(pre.load_state_dict, blank | {"attn.o_proj.bias": torch.full((6,), 10.0), "ffn.down.bias": torch.full((6,), 200.0)})
    stream_hint = "attention gives 10 and the feed-forward layer 200, whatever they read: pre-LN adds both to the stream, x + 210"
    check.close(check.run(pre, x), x + 210, stream_hint, atol=1e-3)
    ### BEGIN HIDDEN TESTS
    state = {name: randn(*shape) / 2 for name, shape in depth.block_shapes(6, 10).items()}
    back, lower = randn(2, 5, 6), torch.ones(5, 5, dtype=torch.bool).tril()

    def att(z, rule=None):
        heads = [
            torch.stack(F.linear(z, state[f"attn.{part}.weight"], state[f"attn.{part}.bias"]).chunk(3, -1), 1)
            for part in ("q_proj", "k_proj", "v_proj")
        ]
        mixed = torch.cat(F.scaled_dot_product_attention(*heads, attn_mask=rule).unbind(1), -1)
        return F.linear(mixed, state["attn.o_proj.weight"], state["attn.o_proj.bias"])

    def feed(z, act=F.gelu):
        return F.linear(act(F.linear(z, state["ffn.up.weight"], state["ffn.up.bias"])), state["ffn.down.weight"], state["ffn.down.bias"])

    def n1(z):
        return F.layer_norm(z, (6,), state["norm1.weight"], state["norm1.bias"])

    def n2(z):
        return F.layer_norm(z, (6,), state["norm2.weight"], state["norm2.bias"])

    def chain(z, *steps):
        for step in steps:
            z = step(z)
        return z

    def loaded(*args, **options):
        made = check.keep(Block, 6, 3, 10, *args, **options)
        check.run(made.load_state_dict, state)
        return made

    pre = loaded()
    check.close(
        check.run(pre, x, forbid=["encoder layer"]),
        checks.value(depth.torch_block(state, 3, "pre")(x)),
        "pre-LN: the output differs from nn.TransformerEncoderLayer",
    )
    check.avoids(
        Block,
        *("TransformerEncoderLayer", "TransformerEncoder"),
        hint="build the block from your own parts",
        forbid=["encoder layer"],
        runs=lambda: pre(x),
    )
    ### END HIDDEN TESTS
with check.part("post-LN"):
    post = check.keep(Block, 6, 3, 10, norm="post")
    check.run(post.load_state_dict, blank)
    steps = torch.tensor([[[0.0, 0.0, 0.0, 4.0, 4.0, 4.0]]])
    last = "post-LN, branches that give zero: the sum x is normalised, (0, 0, 0, 4, 4, 4) becomes (−1, −1, −1, 1, 1, 1)"
    check.close(check.run(post, steps), [[[-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]]], last, atol=1e-4)  # ε twice
    ### BEGIN HIDDEN TESTS
    after = check.run(loaded("post"), x, shape=(2, 5, 6))
    twin_after = checks.value(depth.torch_block(state, 3, "post")(x))
    check.close(
        after,
        twin_after,
        "post-LN: the output differs from nn.TransformerEncoderLayer",
    )
    ### END HIDDEN TESTS
with check.part("mask"):
    fresh = check.keep(Block, 6, 3, 10)
    past = torch.ones(5, 5, dtype=torch.bool).tril()
    later = "with a causal mask a later position changes an earlier output: is the mask passed on to the attention?"
    check.causal(lambda z: fresh(z[None], past)[0], x[0], later)
    ### BEGIN HIDDEN TESTS
    check.close(
        check.run(pre, x, lower),
        chain(x, lambda z: z + att(n1(z), lower), lambda z: z + feed(n2(z))),
        "pre-LN: the output differs from nn.TransformerEncoderLayer with a causal mask",
    )
    orders = ["pre", "post"] if (after - twin_after).abs().max() < 1e-3 else ["pre"]  # what is wrong about post-LN is told above
    if "post" in orders:
        seen = chain(x, lambda z: n1(z + att(z, lower)), lambda z: n2(z + feed(z)))
        check.close(check.run(loaded("post"), x, lower), seen, "post-LN: the output is wrong with a causal mask")
    ### END HIDDEN TESTS
with check.part("evaluation"):
    quiet = check.keep(Block, 6, 3, 10, p=0.9)
    check.keep(quiet.eval)
    check.close(
        check.run(quiet, x), check.run(quiet, x), "in evaluation two calls give the same output: pass `self.training` on to dropout"
    )
    ### BEGIN HIDDEN TESTS
    still = loaded(p=0.5)
    check.keep(still.eval)
    nothing = "in evaluation with p = 0.5 nothing is dropped or scaled: pass `self.training` on to dropout"
    check.close(check.run(still, x), checks.value(depth.torch_block(state, 3, "pre")(x)), nothing)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("dropout"):
    for order in orders:
        check.close(
            check.run(loaded(order, p=1.0), x),
            x if order == "pre" else n2(n1(x)),
            f"{order}-LN in training with p = 1: both branches are dropped, only the residual stream is left",
        )
    half_dropped = check.keep(Block, 6, 3, 10, p=0.5)
    check.run(half_dropped.load_state_dict, blank | {"attn.o_proj.bias": torch.ones(6)})  # the feed-forward layer gives zeros
    long = randn(4, 50, 6)
    added_by_branch = check.run(half_dropped, long, shape=(4, 50, 6)) - long
    once = (
        "in training with p = 0.5, a branch that gives ones adds 0 or 1/(1 − p) = 2 to the stream: is dropout applied once to each branch?"
    )
    check.true((added_by_branch.abs() < 1e-4) | ((added_by_branch - 2).abs() < 1e-4), once)
    dropped_share = (added_by_branch.abs() < 1e-4).double().mean()
    check.true((dropped_share - 0.5).abs() < 0.08, once)  # 1,200 entries: a standard deviation of 0.014
with check.part("residual=False"):
    for order in orders:
        bare = [lambda z: att(n1(z)), lambda z: feed(n2(z))] if order == "pre" else [lambda z: n1(att(z)), lambda z: n2(feed(z))]
        check.close(
            check.run(loaded(order, residual=False), x),
            chain(x, *bare),
            f"{order}-LN with residual=False: the branches replace x, norms stay",
        )
with check.part("gradients"):
    for order in orders:
        got = check.measure(checks.gradients, loaded(order), (x,), back, params=list(state))
        want = checks.gradients(depth.torch_block(state, 3, order), (x,), back, params=[])
        check.close(
            got.inputs[0], want.inputs[0], f"{order}-LN: the gradient with respect to x differs from that of nn.TransformerEncoderLayer"
        )
        for block_name, torch_name in {
            "norm1.weight": "norm1.weight",
            "norm2.bias": "norm2.bias",
            "ffn.up.weight": "linear1.weight",
            "ffn.down.bias": "linear2.bias",
            "attn.o_proj.weight": "self_attn.out_proj.weight",
        }.items():
            missing = f"{order}-LN: the gradient with respect to {block_name} is wrong or missing"
            check.close(got.params[block_name], want.params[torch_name], missing)
with check.edge("one sequence, one position"):
    check.shape(check.run(fresh, randn(1, 1, 6)), (1, 1, 6), "a batch of one and a sequence of one must work")
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(fresh, x)
check.score()

# %% [markdown]
# ## 5 Count the parameters
#
# ### 5.1 By formula <small>★★☆ · 25 min · 5 points</small>
# How large is a model?
# You can tell before any of it exists.
# A linear map from $a$ to $b$ has $ab$ weights and, if it has a bias, $b$ more.
#
# 1. `block_parameters`: your `Block` from 4.2, with inner width `hidden`.
# 2. `gpt2_parameters`: token embeddings ($V \times D$), learned positions ($T \times D$), $L$ blocks as in 1 with `hidden` $= 4D$, one last LayerNorm.
#    The output layer reuses the token embeddings and costs nothing.
# 3. `swiglu_hidden`: a classical layer of inner width $4D$ has $8D^2$ weights, biases not counted.
#    Which inner width gives SwiGLU as many?
#    Round *up* to a multiple of `multiple`.
# 4. `llama_parameters`: token embeddings ($V \times D$) and a separate output layer ($D \times V$), no biases anywhere, no parameters for positions; $L$ blocks of attention, SwiGLU and two RMSNorms; one last RMSNorm.
#
# *Before you run it:* for $D = 768$ and `hidden` $= 4D$, which has more parameters: the attention or the feed-forward layer?
# By what factor?


# %% exercise="count"
def block_parameters(D, hidden):
    """Number of parameters of Block(D, H, hidden)."""
    ### BEGIN SOLUTION
    attention = 4 * (D * D + D)
    feed_forward = D * hidden + hidden + hidden * D + D
    return attention + feed_forward + 2 * (2 * D)
    ### END SOLUTION


def gpt2_parameters(V, T, L, D):
    """Number of parameters of a GPT-2 with vocabulary V, context T, L blocks and width D."""
    ### BEGIN SOLUTION
    return V * D + T * D + L * block_parameters(D, 4 * D) + 2 * D
    ### END SOLUTION


def swiglu_hidden(D, multiple=64):
    """Smallest multiple of `multiple` that gives SwiGLU at least the weights of a classical layer of inner width 4D."""
    ### BEGIN SOLUTION
    return -(-8 * D // (3 * multiple)) * multiple
    ### END SOLUTION


def llama_parameters(V, L, D, hidden):
    """Number of parameters of a LLaMA with vocabulary V, L blocks of width D and SwiGLU of inner width `hidden`."""
    ### BEGIN SOLUTION
    return 2 * V * D + L * (4 * D * D + 3 * D * hidden + 2 * D) + D
    ### END SOLUTION


# %% test="count" points=5
check = Check("count", points=5)
with check.idea("four counts"):
    whole_block = "block_parameters(6, 10): your Block from 4.2, biases and norms included, has 328 parameters"
    slips = {"block_parameters: the biases of the feed-forward layer are missing": 312, "block_parameters: no bias is counted": 288}
    slips |= {"block_parameters: a LayerNorm has a weight and a bias": 316}
    slips |= {"block_parameters: 4 D numbers are missing: either the biases of the attention, or the two norms": 304}
    check.equal(int(check.run(block_parameters, 6, 10)), 328, whole_block, wrong=slips)
    ### BEGIN HIDDEN TESTS
    for wide, inner in [(5, 20), (4, 3), (1, 1), (16, 7)]:
        full = sum(math.prod(shape) for shape in depth.block_shapes(wide, inner).values())
        other = "block_parameters is wrong for another width: is every term a function of D and hidden?"
        check.close(check.run(block_parameters, wide, inner), full, other)
    ### END HIDDEN TESTS
    small = "GPT-2 small (V = 50,257, T = 1,024, L = 12, D = 768) has 124,439,808 parameters"
    check.close(check.run(gpt2_parameters, 50257, 1024, 12, 768), 124_439_808, small, rtol=0, atol=0.5)
    ### BEGIN HIDDEN TESTS
    for V, length, L, wide in [(50257, 1024, 48, 1600), (11, 7, 0, 3), (100, 9, 2, 12)]:
        full = V * wide + length * wide + L * (12 * wide * wide + 13 * wide) + 2 * wide
        other = "gpt2_parameters is wrong for another size"
        check.close(check.run(gpt2_parameters, V, length, L, wide), full, other, rtol=0, atol=0.5)
    ### END HIDDEN TESTS
    up = "8/3 · 512 = 1365.3…, and the next multiple of 64 is 1408"
    slips = {"swiglu_hidden: round up, not down": 1344, "swiglu_hidden: the result is not rounded": 8 * 512 / 3}
    slips |= {"swiglu_hidden: the classical layer has two maps, SwiGLU three: 4D · 2/3": 2048}
    check.close(check.run(swiglu_hidden, 512), 1408, up, wrong=slips)
    ### BEGIN HIDDEN TESTS
    for wide in (640, 25, 5, 5120, 4096):
        least = next(h for h in range(0, 8 * wide + 128, 64) if 3 * h >= 8 * wide)
        other = "swiglu_hidden: the smallest multiple of 64 with 3 · D · hidden ≥ 8 · D² is another one"
        check.close(check.run(swiglu_hidden, wide), least, other, rtol=0, atol=0.5)
    ### END HIDDEN TESTS
    seven = "LLaMA-7B (V = 32,000, L = 32, D = 4,096, hidden = 11,008) has 6,738,415,616 parameters"
    check.close(check.run(llama_parameters, 32000, 32, 4096, 11008), 6_738_415_616, seven, rtol=0, atol=0.5)
    inner = "V = 100, L = 1, D = 512 and the inner width `swiglu_hidden(512)`: 3,315,200 (if that is wrong, this follows from it)"
    check.close(check.run(lambda: llama_parameters(100, 1, 512, swiglu_hidden(512))), 3_315_200, inner, rtol=0, atol=0.5)
    ### BEGIN HIDDEN TESTS
    for V, L, wide, inner in [(32000, 40, 5120, 13824), (7, 1, 2, 3), (50, 3, 8, 24)]:
        full = 2 * V * wide + L * (4 * wide * wide + 3 * wide * inner + 2 * wide) + wide
        other = "llama_parameters is wrong for another size"
        check.close(check.run(llama_parameters, V, L, wide, inner), full, other, rtol=0, atol=0.5)
    ### END HIDDEN TESTS
with check.part("swiglu_hidden: a multiple already"):
    slips = {"swiglu_hidden: round up only if it is not a multiple already": 2112}
    check.close(check.run(swiglu_hidden, 768), 2048, "8/3 · 768 = 2048 is a multiple of 64 already", wrong=slips)
    ### BEGIN HIDDEN TESTS
    for wide, by in [(24, 64), (3, 8), (96, 256), (1200, 32)]:
        least = next(h for h in range(0, 8 * wide + 2 * by, by) if 3 * h >= 8 * wide)
        other = "swiglu_hidden: 8 D/3 is a multiple already, and stays as it is"
        check.close(check.run(swiglu_hidden, wide, by), least, other, rtol=0, atol=0.5)
    ### END HIDDEN TESTS
with check.part("swiglu_hidden: multiple"):
    slips = {"swiglu_hidden: the argument `multiple` is not used": 10944}
    check.close(check.run(swiglu_hidden, 4096, 256), 11008, "LLaMA-7B: D = 4,096, multiples of 256, gives 11,008", wrong=slips)
    ### BEGIN HIDDEN TESTS
    for wide, by in [(100, 1), (4, 8), (5120, 256), (100, 256), (1201, 32)]:
        least = next(h for h in range(0, 8 * wide + 2 * by, by) if 3 * h >= 8 * wide)
        other = "swiglu_hidden: for another `multiple` the result is wrong (watch rounding: use whole numbers)"
        check.close(check.run(swiglu_hidden, wide, by), least, other, rtol=0, atol=0.5)
    ### END HIDDEN TESTS
check.score()

# %% look=true
for label, V_size, T_size, L_size, D_size in [
    ("small", 50257, 1024, 12, 768),
    ("medium", 50257, 1024, 24, 1024),
    ("large", 50257, 1024, 36, 1280),
    ("XL", 50257, 1024, 48, 1600),
]:
    whole, in_blocks = gpt2_parameters(V_size, T_size, L_size, D_size), L_size * block_parameters(D_size, 4 * D_size)
    rule = f"12 L D² = {12 * L_size * D_size**2:>13,}"
    print(f"GPT-2 {label:>6}: {whole:>13,} parameters, {in_blocks / whole:.0%} of them in the blocks, {rule}")

# %% [markdown]
# For large models $12\,L\,D^2$ is all you need to remember: $4D^2$ for the attention, $8D^2$ for the feed-forward layer.
#
# ## 6 Depth
#
# What do norms and residuals do in a stack of 32 blocks? Watch two things: the gradients that reach each block, and
# whether positions can still be told apart.
#
# Start with the stream. In pre-LN each branch reads a vector of fixed size, so at the start of training it adds something of about the
# same variance $c$ each time, in a random direction. After $\ell$ blocks, that is $2\ell$ branches, the variance has grown to about $1 +
# 2 \ell c$, and its root like $\sqrt{\ell}$. By your formula from 1.2, a LayerNorm divides gradients by the size of its input. So the
# gradient that a late branch receives falls like $1/\sqrt{\ell}$, and in a stack of $L$ blocks the gradient of the last one like $1/\sqrt
# L$. In post-LN the stream is brought back to variance one after each branch, and the last block's gradient does not depend on $L$.
# (Xiong et al., 2020, prove both statements for the start of training.) Now measure.
#
# ### 6.1 A stack and its gradients <small>★★☆ · 15 min · 3 points</small>
# `Stack` is given: $L$ of your blocks, and one more LayerNorm at the end if they are pre-LN. Write `gradient_norms`: for the scalar loss
# $J = \sum (\text{output} \odot \text{cotangent})$, the Euclidean length of $\partial J / \partial(\text{all parameters of block }
# \ell)$, taken as one long vector, for each block. Calling it twice must give the same numbers.


# %% exercise="gradient-norms"
class Stack(nn.Module):
    """L blocks, `blocks`; pre-LN stacks have one more LayerNorm, `final`, after the last block."""

    def __init__(self, L, D, H, hidden, norm="pre", residual=True):
        super().__init__()
        self.blocks = nn.ModuleList(Block(D, H, hidden, norm, residual) for _ in range(L))
        self.final = LayerNorm(D) if norm == "pre" else nn.Identity()

    def forward(self, x, mask=None):
        for block in self.blocks:
            x = block(x, mask)
        return self.final(x)


def gradient_norms(stack, x, cotangent):
    """Length of each block's gradient of (stack(x) * cotangent).sum(): a list of floats, first block first."""
    ### BEGIN SOLUTION
    stack.zero_grad()
    (stack(x) * cotangent).sum().backward()
    return [math.sqrt(sum(p.grad.square().sum().item() for p in block.parameters())) for block in stack.blocks]
    ### END SOLUTION


# %% test="gradient-norms" points=3
check = Check("gradient-norms", points=3)
with check.idea("one length for each block"):
    pair = check.keep(depth.LinearChain, [1.0, 4.0])  # y = 4 · (1 · x + 0) + 0: two blocks with a weight and a bias each
    lengths = check.run(gradient_norms, pair, torch.tensor([[0.75]]), torch.tensor([[1.0]]))
    lengths = check.shape(lengths, (2,), "one number for each block, as a list")
    slips = {"these are the squared lengths: the root is missing": [25.0, 1.5625], "the order is reversed: first block first": [1.25, 5.0]}
    slips["the lengths of the parameters' gradients are added: take all as one vector, the root of the sum of squares"] = [7.0, 1.75]
    hand = "two blocks w x + b with w = 1, then 4, at x = 0.75: the gradients are (3, 4) in the first, then (0.75, 1)"
    check.close(lengths, [5.0, 1.25], hand, wrong=slips)
    cotangent = "a cotangent of −3 makes all gradients 3 times as long: is the loss the sum of output times cotangent?"
    again = check.keep(depth.LinearChain, [1.0, 4.0])
    check.close(check.run(gradient_norms, again, torch.tensor([[0.75]]), torch.tensor([[-3.0]])), [15.0, 3.75], cotangent)
    ### BEGIN HIDDEN TESTS
    x, back = randn(2, 3, 4), randn(2, 3, 4)
    for order in ("pre", "post"):
        one_by_one = [{name: randn(*shape) / 2 for name, shape in depth.block_shapes(4, 6).items()} for _ in range(4)]
        state = {f"blocks.{number}.{name}": p for number, part in enumerate(one_by_one) for name, p in part.items()}
        if order == "pre":
            state |= {"final.weight": randn(4), "final.bias": randn(4)}
        stack = check.keep(Stack, 4, 4, 2, 6, order)
        check.run(stack.load_state_dict, state)
        twin = nn.Sequential(
            *(depth.torch_block(part, 2, order) for part in one_by_one), nn.LayerNorm(4) if order == "pre" else nn.Identity()
        )
        if order == "pre":
            twin[-1].load_state_dict({"weight": state["final.weight"], "bias": state["final.bias"]})

        every = checks.gradients(twin, (x,), back, params=[]).params
        squares = [sum(p.square().sum().item() for name, p in every.items() if name.startswith(f"{number}.")) for number in range(4)]
        check.close(
            check.run(gradient_norms, stack, x, back),
            torch.tensor(squares).sqrt(),
            f"{order}-LN, 4 blocks: the gradients' lengths are wrong",
            rtol=1e-3,  # sums of some hundred squares in float32
        )
    ### END HIDDEN TESTS
with check.part("calling it twice"):
    twice = "the second call gives other numbers: gradients add up in `.grad` until `zero_grad` is called"
    first_call, second_call = (check.run(gradient_norms, pair, torch.tensor([[0.75]]), torch.tensor([[1.0]])) for _ in range(2))
    check.close(second_call, first_call, twice)
### BEGIN HIDDEN TESTS
with check.edge("a single block"):
    lone = check.keep(depth.LinearChain, [2.0])
    lone_length = check.run(gradient_norms, lone, torch.tensor([[0.75]]), torch.tensor([[4.0]]))
    check.close(lone_length, [5.0], "one block: a list with one number")
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    after = check.measure(checks.inout, gradient_norms, pair, torch.tensor([[0.75]]), torch.tensor([[1.0]]))[1]
    check.equal([after[1], after[2]], [torch.tensor([[0.75]]), torch.tensor([[1.0]])], "your code changes x or the cotangent in place")
check.score()

# %% [markdown]
# ### Look: gradients at depth 2 to 32
# Four stacks: pre-LN and post-LN, each with and without residuals.
# Two more, without any norm, are the control.
# Weights are drawn by Xavier's rule with biases zero, as in the original Transformer; the cotangent has length one.
#
# *Before you run it:* which of the six explode, which vanish, which hold?

# %% look=true
kinds = {
    "pre-LN": ("pre", True),
    "post-LN": ("post", True),
    "pre-LN, no residual": ("pre", False),
    "post-LN, no residual": ("post", False),
}
depths = pick(smoke=[2, 4], laptop=[2, 4, 8, 16, 32], gpu=[2, 4, 8, 16, 32, 64])
seeds = pick(smoke=1, laptop=3, gpu=5)
B_deep, T_deep, D_deep, H_deep = pick(smoke=(2, 8, 16, 2), laptop=(4, 16, 64, 4), gpu=(16, 64, 256, 8))


def deep(L, norm, residual, number, norms_too=True):
    """A freshly drawn stack, an input and a cotangent of length one."""
    seed(number)
    stack_ = depth.xavier(Stack(L, D_deep, H_deep, 4 * D_deep, norm, residual))
    stack_ = stack_ if norms_too else depth.without_norms(stack_)
    return (
        stack_,
        torch.randn(B_deep, T_deep, D_deep),
        F.normalize(torch.randn(B_deep * T_deep * D_deep), dim=0).view(B_deep, T_deep, D_deep),
    )


measured = {
    variant: {L: torch.tensor([gradient_norms(*deep(L, *how, number)) for number in range(seeds)]) for L in depths}
    for variant, how in kinds.items()
}
figure, axes = plt.subplots(1, 2, figsize=(14, 4.6))
plots.curves(
    {variant: (range(1, depths[-1] + 1), by_depth[depths[-1]]) for variant, by_depth in measured.items()},
    "block (1 is next to the input)",
    "gradient norm of its weights",
    f"{depths[-1]} blocks",
    log_y=True,
    ax=axes[0],
)
plots.curves(
    {variant: (depths, torch.stack([by_depth[L][:, -1] for L in depths], 1)) for variant, by_depth in measured.items()},
    "number of blocks L",
    "gradient norm of the last block",
    "the last block",
    log_x=True,
    log_y=True,
    ax=axes[1],
)
figure.tight_layout()
plt.show()
for variant, by_depth in measured.items():
    print(f"{variant:>21}: last block " + ", ".join(f"L = {L}: {by_depth[L][:, -1].mean():.3f}" for L in depths))
for residual in (True, False):
    lengths_of = gradient_norms(*deep(depths[-1], "pre", residual, 0, norms_too=False))
    first_and_last = f"first {lengths_of[0]:.1e}, last {lengths_of[-1]:.1e}"
    print(f"no norm, {'with' if residual else 'no'} residual, {depths[-1]} blocks: {first_and_last}")

# %% [markdown]
# Drag the depth.
# The axis stays the same, so that you can compare.

# %% look=true
means = {variant: {L: by_depth[L].mean(0).tolist() for L in depths} for variant, by_depth in measured.items()}
depth.explore_depth(means)

# %% [markdown]
# Now the stream itself: its root mean square after each block, for pre-LN, with the prediction $\sqrt{1 + 2 \ell c}$.
# The only number taken from the measurement is $c$, from the size after the last block.

# %% look=true
stack_shown, stream, _ = deep(depths[-1], "pre", True, 0)
sizes = [stream.square().mean().sqrt().item()]
added = []
with torch.no_grad():
    for block_shown in stack_shown.blocks:
        by_attention = block_shown.attn(block_shown.norm1(stream))
        by_feed_forward = block_shown.ffn(block_shown.norm2(stream + by_attention))
        added.append((by_attention.square().mean().item(), by_feed_forward.square().mean().item()))
        stream = block_shown(stream)
        sizes.append(stream.square().mean().sqrt().item())
places = torch.arange(len(sizes))
growth_rate = (sizes[-1] ** 2 - sizes[0] ** 2) / places[-1]
plots.curves(
    {"measured": (places, sizes), "prediction": (places, (sizes[0] ** 2 + growth_rate * places).sqrt())},
    "after block",
    "root mean square of the stream",
    "pre-LN: the stream grows",
)
plt.show()
for place in (0, len(added) // 2, len(added) - 1):
    by_attention, by_layer = added[place]
    print(f"block {place + 1:>2} adds a variance of {by_attention:.2f} (attention) and {by_layer:.2f} (feed-forward)")

# %% [markdown]
# The order of magnitude is right, the shape not quite: the stream first grows more slowly than predicted, then faster.
# The printed numbers say why.
# The feed-forward layer adds the same in every block.
# Attention averages: different vectors mostly cancel, equal ones do not cancel at all.
# It adds more in later blocks, so the positions must become more alike.
# That is the next measurement.
#
# ### 6.2 Can positions be told apart? <small>★☆☆ · 10 min · 3 points</small>
# Attention averages.
# If all it does is average, all positions end up alike.
# Let $\bar x$ be the mean of the $T$ vectors at the positions of one sequence.
# Measure what share of these vectors they do not have in common:
#
# $$ \mathrm{distinctness}(x) = \frac{\sqrt{\sum_t \|x_t - \bar x\|^2}}{\sqrt{\sum_t \|x_t\|^2}} \in [0, 1] . $$
#
# 0 means that all positions hold the same vector, 1 that they have nothing in common, $\bar x = 0$.
# If all vectors have the same length, the mean cosine of all pairs of positions (each with itself included) is $1 - \mathrm{distinctness}^2$; the test checks that, too.


# %% exercise="distinctness"
def distinctness(x):
    """Share of x (..., T, D) that is not common to all T positions of its sequence, between 0 and 1. Returns (...)."""
    ### BEGIN SOLUTION
    own_part = x - x.mean(dim=-2, keepdim=True)
    return own_part.square().sum(dim=(-2, -1)).sqrt() / x.square().sum(dim=(-2, -1)).sqrt()
    ### END SOLUTION


# %% test="distinctness" points=3
check = Check("distinctness", points=3)
with check.idea("the part that is not common"):
    three = check.run(distinctness, torch.tensor([[3.0, 0.0], [0.0, 3.0], [3.0, 3.0]]))
    shares = "(3, 0), (0, 3), (3, 3): the mean is (2, 2), the squared distances add up to 12, the squared lengths to 36"
    check.close(three, (12 / 36) ** 0.5, shares)
    equal = "five equal vectors have only a common part: 0. Over which axis does the mean run?"
    check.close(check.run(distinctness, torch.tensor([[1.0, 2.0, 3.0]] * 5)), 0.0, equal, atol=1e-6)
    check.close(check.run(distinctness, torch.tensor([[1.0, 2.0], [-1.0, -2.0]])), 1.0, "two opposite vectors have no common part: 1")
    ### BEGIN HIDDEN TESTS
    x = randn(5, 3) + 0.7
    rest, all_of_it = (x - x.mean(0)).norm(), x.norm()
    check.close(
        check.run(distinctness, x),
        rest / all_of_it,
        "the share is wrong for random vectors",
    )
    unit = F.normalize(randn(6, 3, dtype=torch.float64) + 0.5, dim=1)
    cosine = "for vectors of one length, the mean cosine of all pairs is 1 − distinctness²"
    check.close(1 - check.run(distinctness, unit) ** 2, (unit @ unit.T).mean(), cosine)
    ### END HIDDEN TESTS
with check.part("axes in front"):
    many = randn(2, 4, 5, 3) + 0.7
    one_each = "with axes in front, (2, 4, T, D), there is one number per sequence: shape (2, 4)"
    out = check.run(distinctness, many, shape=(2, 4), hint=one_each)
    ### BEGIN HIDDEN TESTS
    length = many.flatten(-2).norm(dim=-1)
    check.close(
        out,
        (many - many.mean(-2, keepdim=True)).flatten(-2).norm(dim=-1) / length,
        "with axes in front the shares are wrong",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(distinctness, torch.tensor([[3.0, 0.0], [0.0, 3.0]]))
### BEGIN HIDDEN TESTS
with check.edge("another scale, one position"):
    check.close(check.run(distinctness, 1e3 * x), rest / all_of_it, "multiplying everything by a number must not change the share")
    check.close(check.run(distinctness, randn(1, 4)), 0.0, "a single position has nothing that is not common", atol=1e-6)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: how identity fades
# Random vectors go through stacks with and without residuals, in `float64`.
#
# *Before you run it:* after how many blocks without residuals are the positions hard to tell apart?
# (In float32 everything below about $10^{-7}$ is rounding.)

# %% look=true
faded = {}
with torch.no_grad():
    for variant, how in kinds.items():
        runs = []
        for number in range(seeds):
            stack_, stream, _ = deep(depths[-1], *how, number)
            stack_, stream = stack_.double(), stream.double()
            trace = [distinctness(stream).mean().item()]
            for block_ in stack_.blocks:
                stream = block_(stream)
                trace.append(distinctness(stream).mean().item())
            runs.append(trace)
        faded[variant] = (range(depths[-1] + 1), torch.tensor(runs))
title = f"{depths[-1]} blocks, {seeds} seeds"
ax = plots.curves(faded, "after block", "distinctness of the positions", title, log_y=True)
ax.axhline(1e-7, color="grey", linewidth=1)
ax.text(7, 1.4e-7, "float32 rounding", fontsize=9, color="grey")
plt.show()
for variant, (_, values) in faded.items():
    shown = [place for place in (1, 2, 3, 4, 8, 16, 32) if place <= depths[-1]]
    print(f"{variant:>21}: " + ", ".join(f"{place}: {values[:, place].mean():.1e}" for place in shown))

# %% [markdown]
# Without residuals, each block multiplies the distinctness by a small number, and the number itself shrinks from block to block, until rounding stops it.
# Dong, Cordonnier and Loukas (2021) prove such a fall, faster than exponential, for attention alone.
# With residuals, post-LN still loses about a constant factor per block here, as each norm scales the old content down together with what was added; pre-LN loses least.
# A gradient of a healthy size says that something flows.
# It does not say that what flows can tell two words apart.
# All this is at the start of training: learned weights can do better.
#
# ### 6.3 What are norms and residuals for? <small>★★☆ · 25 min · 4 points, graded by hand</small>
# Use your figures.
# (a) Compare the last block's gradient in pre-LN and post-LN as $L$ grows, and explain it with the stream's size and your formula from 1.2.
# (b) Which part keeps gradients from vanishing or exploding, and which part keeps positions apart?
# Name the curves that show it.
# (c) Post-LN Transformers are usually trained with a learning rate that warms up slowly.
# What in your figures fits that, and what would you still have to measure to be sure?
# About 180 words.

# %% [markdown] written="written-depth" points=4
# <!-- BEGIN SOLUTION -->
# **Model answer.** (a) From $L = 2$ to $32$ the last block's gradient falls from about 8.3 to 2.6 in pre-LN, from $L = 4$ on close to
# $1/\sqrt L$, and
# stays at 10 to 11 in post-LN. In pre-LN the stream grows (from 1 to 6 here), and a LayerNorm divides the gradient by the size of its
# input; the last block sits behind the final norm, whose input is largest. In post-LN the stream has variance one after every branch, so
# nothing depends on $L$. (b) Sizes are kept by the norms: in the control without norms and with residuals, gradients overflow, without
# both they fall to $10^{-12}$; with norms they stay within a factor of about ten, even without residuals. Positions are kept apart by the
# residuals: without them distinctness is below $10^{-6}$ after four blocks, in pre- and post-LN alike, although the gradients look
# healthy. With residuals it is 0.36 (pre-LN) and $10^{-4}$ (post-LN) after 32. (c) In post-LN the gradients are several times larger, and
# do not shrink with depth; early in training, when statistics of the optimiser are poor, large steps do most harm, and warm-up makes them
# small. But I measured one instant, at random weights, with a random cotangent. I would have to train both, with and without warm-up,
# over several learning rates and seeds, and watch the loss.
#
# | points | rubric |
# | --- | --- |
# | 1 | (a) both trends, with numbers from the own figure |
# | 1 | (a) the reason: stream grows like $\sqrt\ell$, LayerNorm's gradient is divided by the size of its input |
# | 1 | (b) norms keep sizes (control without norms explodes or vanishes), residuals keep positions apart (distinctness), read from named curves |
# | 1 | (c) larger gradients at the start fit the need for small first steps; the limit is stated: one instant, random data, no training |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 7 Bonus: a LayerNorm that hides in its neighbours <small>★★★ · 30 min · 4 bonus points</small>
# Two identities simplify a trained model without changing its outputs.
#
# 1. `fold_norm`. A LayerNorm is followed by a linear map: $y = W(\gamma \odot \hat x + \beta) + b$. Find $W'$ and $b'$ with $y = W' \hat
#    x + b'$, so that the norm needs no parameters.
# 2. `centre_writer`. In pre-LN, everything in the stream was written there by linear maps $z \mapsto Wz + b$ with $W \in \mathbb{R}^{D
#    \times k}$. LayerNorm's first step removes the mean over the $D$ entries. Change $W$ and $b$ so that everything written has mean zero
#    already, and the centred part stays the same. Then LayerNorm with $\gamma = 1, \beta = 0$ and RMSNorm agree.


# %% exercise="bonus-fold"
def fold_norm(gamma, beta, W, b):
    """W' (k, D), b' (k,) with W (γ ⊙ x̂ + β) + b = W' x̂ + b' for every x̂; gamma (D,), beta (D,), W (k, D), b (k,)."""
    ### BEGIN SOLUTION
    return W * gamma, b + W @ beta
    ### END SOLUTION


def centre_writer(W, b):
    """W' (D, k) and b' (D,) such that W' z + b' is W z + b without its mean over the D entries, for every z."""
    ### BEGIN SOLUTION
    return W - W.mean(dim=0, keepdim=True), b - b.mean()
    ### END SOLUTION


# %% test="bonus-fold" points=4
check = Check("bonus-fold", points=4)
with check.idea("fold and centre"):
    fold = torch.tensor([2.0, 3.0]), torch.tensor([1.0, 1.0]), torch.tensor([[1.0, 10.0]]), torch.tensor([100.0])
    slips = {"fold_norm: β is not folded into b": [100.0], "fold_norm: the old bias b is lost": [11.0]}
    weight_hint = "fold_norm: with γ = (2, 3) and W = (1, 10), W' is (2, 30): γ multiplies the columns of W"
    check.close(check.run(fold_norm, *fold)[0], [[2.0, 30.0]], weight_hint)
    bias_hint = "fold_norm: β = (1, 1), W = (1, 10) and b = 100 give b' = 111: β goes through W before it is added to b"
    check.close(check.run(fold_norm, *fold)[1], [111.0], bias_hint, wrong=slips)
    ### BEGIN HIDDEN TESTS
    gamma, beta, W, b, hats = randn(5), randn(5), randn(3, 5), randn(3), randn(7, 5)
    folded = check.run(fold_norm, gamma, beta, W, b)
    new_weight = check.shape(folded[0], (3, 5), "fold_norm: W' has the shape of W")
    new_bias = check.shape(folded[1], (3,), "fold_norm: b' has the shape of b")
    check.close(
        hats @ new_weight.T + new_bias,
        (gamma * hats + beta) @ W.T + b,
        "fold_norm: W' x̂ + b' differs from W (γ ⊙ x̂ + β) + b",
    )
    square = randn(5, 5)
    squared = check.run(fold_norm, gamma, beta, square, beta)[0]
    check.close(squared, square * gamma, "fold_norm: with a square W it is wrong: γ multiplies the columns")
    ### END HIDDEN TESTS
    writer = torch.tensor([[1.0, 2.0], [3.0, 6.0]]), torch.tensor([0.0, 10.0])
    weight_hint = "centre_writer: the columns of ((1, 2), (3, 6)) have the means 2 and 4: W' is ((−1, −2), (1, 2))"
    check.close(check.run(centre_writer, *writer)[0], [[-1.0, -2.0], [1.0, 2.0]], weight_hint)
    check.close(check.run(centre_writer, *writer)[1], [-5.0, 5.0], "centre_writer: b = (0, 10) becomes (−5, 5)")
    ### BEGIN HIDDEN TESTS
    U, c, z = randn(4, 6), randn(4), randn(8, 6)
    centred = check.run(centre_writer, U, c)
    new_weight = check.shape(centred[0], (4, 6), "centre_writer: W' has the shape of W")
    new_bias = check.shape(centred[1], (4,), "centre_writer: b' has the shape of b")
    target = z @ U.T + c
    check.close(
        z @ new_weight.T + new_bias,
        target - target.mean(1, keepdim=True),
        "centre_writer: the centred part of what is written must stay as it was",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(fold_norm, *fold)
    check.unchanged(centre_writer, *writer)
check.score()

# %% [markdown]
# ## What you can now do
# - Write LayerNorm and RMSNorm with ε and the variance where they belong, and derive LayerNorm's gradient.
# - Show with a measurement, not an opinion, why text is not batch-normalised.
# - Choose between ReLU, GELU, Swish and SwiGLU, and say how wide a SwiGLU must be to cost the same.
# - Build multi-head attention and both kinds of block, equal to PyTorch's in value and gradient.
# - Count the parameters of GPT-2 and LLaMA exactly.
# - Say which part of a deep stack keeps gradients in range, and which keeps words apart.
#
# One thing is still missing.
# Shuffle the words, and every block here just shuffles its output: `08-positions` gives the model a sense of order.
