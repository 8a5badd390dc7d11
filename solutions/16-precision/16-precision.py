# %% [markdown]
# # 16 · Precision: few bits, two processes, equal cost
#
# | | |
# | --- | --- |
# | **You will be able to** | derive what a number format can hold · round to bf16, fp16, tf32 and fp8 by hand, and say why loss scaling exists · say what autocast computes in which format, and what bf16 weights lose · average gradients over workers so that two processes equal one · match two designs in parameters and FLOPs, compare them over seeds, and say honestly what you saw |
# | **You need** | `07-transformer-blocks`, `09-gpt` and `13-training-craft` (AdamW, schedules, clipping); binary numbers |
# | **Time** | about four hours; each exercise says its own |
# | **Points** | 34, and 8 bonus |
#
# A large model is trained with numbers of 16 or 8 bits, on many processors at once, in a design that was chosen because it gives more for the same cost.
# Each of the three is a bargain.
# Short numbers are faster to move and to multiply, and they round updates away.
# Many processors share the work, and one wrong division makes them train a different model.
# A new design looks better, and perhaps it only got the better learning rate.
# In this notebook you check all three: bit by bit, worker by worker, FLOP by FLOP.
#
# **Notation.**
# $E$ and $M$ are the numbers of exponent and mantissa bits of a format, and $b$ is the bias of its exponent.
# $D$ is the width of a model, $L$ its number of blocks, $T$ the length of its context, $V$ its vocabulary, $\eta$ the learning rate.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, run the test below it.
# Grading runs further checks of the same ideas.
# A test that fails tells you which idea to check.
# *Before you run it* marks a prediction: write it down first, on paper.
#
# Your functions leave their inputs as they are.

# %% locked="setup"
import math
import tempfile
import time

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from helpers import checks
from helpers.checks import Check, randint, randn
from helpers.kit import characters, models, plots, training
from helpers.kit.scale import pick, scale
from helpers.kit.seeding import seed
from helpers.precision import number_formats, two_designs, workers
from helpers.precision.number_formats import DTYPES, FORMATS
from helpers.training_craft import checkpoints as craft

torch.set_num_threads(1)  # the models here are small: several threads would only wait for each other

# %% [markdown]
# ## 1 Numbers with few bits
#
# A floating-point number has a sign bit $s$, $E$ exponent bits and $M$ mantissa bits, in this order, the sign first.
# Read the exponent bits as an integer $e$ and the mantissa bits as an integer $m$.
# With the bias $b = 2^{E-1} - 1$ the value is
#
# $$ (-1)^s \cdot \begin{cases} \bigl(1 + m / 2^M\bigr) \cdot 2^{\,e - b} & 0 < e \quad \text{(normal: a hidden one)} \\ (m / 2^M) \cdot 2^{\,1 - b} & e = 0 \quad \text{(subnormal: no hidden one; zero is among them)} \end{cases} $$
#
# and the highest exponent, $e = 2^E - 1$, is reserved: infinity for $m = 0$, NaN for all other $m$.
# This is IEEE 754's scheme.
# A *finite* format (`finite=True`; here only fp8 e4m3fn) gives the highest exponent to ordinary numbers as well, to gain range: it has no infinities, and only the pattern with all exponent and mantissa bits set is NaN (Micikevicius et al., 2022).
#
# | | fp32 | tf32 | bf16 | fp16 | fp8 e4m3fn | fp8 e5m2 |
# | --- | --- | --- | --- | --- | --- | --- |
# | $E$, $M$ | 8, 23 | 8, 10 | 8, 7 | 5, 10 | 4, 3, finite | 5, 2 |
#
# ### Look: switch the bits
# Find the largest number and the smallest positive one of each format.
# How far apart are the neighbours of 1?
# And those of 256 in bf16?

# %% look=true
number_formats.bit_dial()

# %% [markdown]
# ### 1.1 Derive: the limits of a format <small>★★☆ · 20 min · 3 points</small>
# Derive from $E$, $M$ and `finite`: the largest finite number, the smallest positive normal number, the smallest positive subnormal number, and $\varepsilon$, the distance from 1 to the next larger number.
# Floats in Python are fp64: everything here is exact.


# %% exercise="limits"
def limits(exponent_bits, mantissa_bits, finite=False):
    """(largest, smallest normal, smallest subnormal, epsilon) of a format: four floats."""
    ### BEGIN SOLUTION
    bias = 2 ** (exponent_bits - 1) - 1
    highest, mantissa = (2**exponent_bits - 1, 2**mantissa_bits - 2) if finite else (2**exponent_bits - 2, 2**mantissa_bits - 1)
    largest = (1 + mantissa / 2**mantissa_bits) * 2.0 ** (highest - bias)
    return largest, 2.0 ** (1 - bias), 2.0 ** (1 - bias - mantissa_bits), 2.0**-mantissa_bits
    ### END SOLUTION


# %% test="limits" points=3
check = Check("limits", points=3)
with check.idea("the largest number"):
    half = check.run(limits, 5, 10)
    slips = {"this is twice too large: the highest exponent is for infinity and NaN (and the bias is 2^(E−1) − 1)": 131008.0}
    slips |= {"the mantissa is all ones there, not zero": 32768.0, "this is half of it: is the bias 2^(E−1) − 1?": 32752.0}
    slips["65536 is the first number that is too large: the mantissa is at most 1 − 2^(−M)"] = 65536.0
    ones = "fp16's largest number is 65504: the highest exponent is reserved, the mantissa is all ones"
    check.close(craft.then(half, lambda r: r[0]), 65504.0, ones, rtol=0, atol=0, wrong=slips)
    ### BEGIN HIDDEN TESTS
    usual = {name: check.run(limits, E, M) for name, (E, M, finite) in FORMATS.items() if not finite}
    bias_of = {name: 2 ** (FORMATS[name][0] - 1) - 1 for name in usual}
    for name, got in usual.items():
        M = FORMATS[name][1]
        check.close(
            craft.then(got, lambda r: r[0]), (2 - 2.0**-M) * 2.0 ** bias_of[name], f"the largest number of {name} is wrong", rtol=0, atol=0
        )
    ### END HIDDEN TESTS
with check.part("the smallest numbers"):
    slips = {"subnormal numbers have the exponent 1 − b, not 0 − b": [2.0**-14, 2.0**-25]}
    low = "both are half of what they should be: the smallest normal number has e = 1, because e = 0 is for subnormal ones"
    slips[low] = [2.0**-15, 2.0**-25]
    low = "fp16's smallest normal number is 2^−14 (e = 1), its smallest subnormal 2^−24 (e = 0, m = 1)"
    check.close(craft.then(half, lambda r: r[1:3]), [2.0**-14, 2.0**-24], low, rtol=0, atol=0, wrong=slips)
    ### BEGIN HIDDEN TESTS
    for name, got in usual.items():
        M, bias = FORMATS[name][1], bias_of[name]
        check.close(craft.then(got, lambda r: r[1]), 2.0 ** (1 - bias), f"the smallest normal number of {name} is wrong", rtol=0, atol=0)
        check.close(
            craft.then(got, lambda r: r[2]), 2.0 ** (1 - bias - M), f"the smallest subnormal number of {name} is wrong", rtol=0, atol=0
        )
    ### END HIDDEN TESTS
with check.part("epsilon"):
    slips, step = {"this is half the distance": 2.0**-11}, "between 1 and the next number lies one step of the mantissa: 2^−10 in fp16"
    check.close(craft.then(half, lambda r: r[3]), 2.0**-10, step, rtol=0, atol=0, wrong=slips)
    ### BEGIN HIDDEN TESTS
    for name, got in usual.items():
        check.close(craft.then(got, lambda r: r[3]), 2.0 ** -FORMATS[name][1], f"epsilon of {name} is wrong", rtol=0, atol=0)
    ### END HIDDEN TESTS
with check.part("a finite format"):
    slips = {"the all-ones pattern is NaN in a finite format: the largest mantissa is 2^M − 2": 480.0}
    slips["a finite format uses its highest exponent for numbers"] = 240.0
    topmost = "fp8 e4m3fn is finite: its largest number has the highest exponent, e = 15, and the largest mantissa that is not NaN, m = 6"
    check.close(craft.then(check.run(limits, 4, 3, True), lambda r: r[0]), 448.0, topmost, rtol=0, atol=0, wrong=slips)
    ### BEGIN HIDDEN TESTS
    other = "the largest number of another finite format (5, 2) is wrong: it has no infinity, and only the all-ones pattern is NaN"
    check.close(craft.then(check.run(limits, 5, 2, finite=True), lambda r: r[0]), 1.5 * 2.0**16, other, rtol=0, atol=0)
    ### END HIDDEN TESTS
check.score()

# %% look=true
print(f"{'format':<12}{'largest':>12}{'min normal':>13}{'min subnormal':>15}{'epsilon':>12}")
for title, (e_bits, m_bits, no_infinity) in FORMATS.items():
    most, least_normal, least, unit = limits(e_bits, m_bits, no_infinity)
    print(f"{title:<12}{most:>12.5g}{least_normal:>13.4g}{least:>15.4g}{unit:>12.4g}")

# %% [markdown]
# ### 1.2 From bits to numbers <small>★★☆ · 15 min · 3 points</small>
# Decode bit patterns: integers in which the lowest $M$ bits are the mantissa, the next $E$ bits the exponent, and the bit above them the sign.
# Grading compares all 256 patterns of both fp8 formats with torch.


# %% exercise="decode"
def decode_bits(bits, exponent_bits, mantissa_bits, finite=False):
    """The numbers that bit patterns (int64, any shape) stand for: a float64 tensor, with ±inf and NaN where needed."""
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


# %% test="decode" points=3
check = Check("decode", points=3)
with check.idea("sign, exponent, mantissa"):
    half = check.run(decode_bits, torch.tensor([0b0_01111_0000000000, 0b1_10000_1000000000]), 5, 10, shape=(2,))
    slips = {"the sign is not used: the highest bit": [1.0, 3.0], "the hidden one is missing where e > 0": [0.0, -1.0]}
    slips["this is half of what it should be: is the bias 2^(E−1) − 1?"] = [0.5, -1.5]
    slips["the lowest M bits are the mantissa, the next E bits the exponent: yours are exchanged"] = [2.0**-31, -(2.0**17)]
    where = "fp16: 0 01111 0000000000 is 1, and 1 10000 1000000000 is −(1 + ½) · 2 = −3: where are the sign, the exponent, the bias?"
    check.close(half, [1.0, -3.0], where, rtol=0, atol=0, wrong=slips)
    ### BEGIN HIDDEN TESTS
    for name in ("fp16", "bf16", "fp8 e5m2"):
        E, M = FORMATS[name][:2]
        some = randint(0, 2, (60,)) * 2 ** (E + M) + randint(1, 2**E - 1, (60,)) * 2**M + randint(0, 2**M, (60,))  # normal numbers
        got = check.run(decode_bits, some, E, M, shape=(60,))
        check.equal(got, number_formats.patterns(DTYPES[name], some), f"some normal numbers of {name} are wrong")
    ### END HIDDEN TESTS
with check.part("subnormal numbers"):
    low = check.run(decode_bits, torch.tensor([0b0_00000_0000000001, 0]), 5, 10, shape=(2,))
    slips = {"e = 0 has no hidden one": [2.0**-14 * (1 + 2.0**-10), 2.0**-14], "for e = 0 the exponent is 1 − b, not −b": [2.0**-25, 0.0]}
    slips["for e = 0 you use a hidden one and the exponent −b: there is no hidden one, and the exponent is 1 − b"] = [
        2.0**-15 * (1 + 2.0**-10),
        2.0**-15,
    ]
    tiny = "fp16: the smallest pattern, 1, is 2^−24, and 0 is 0: e = 0 has no hidden one, and the exponent 1 − b"
    check.close(low, [2.0**-24, 0.0], tiny, rtol=0, atol=0, wrong=slips)
    ### BEGIN HIDDEN TESTS
    some = torch.cat([torch.arange(8), 128 + torch.arange(8)])
    got, truth = check.run(decode_bits, some, 4, 3), number_formats.patterns(DTYPES["fp8 e4m3fn"], some)
    check.equal(got, truth, "some subnormal numbers with E = 4 and M = 3 are wrong")
    ### END HIDDEN TESTS
with check.part("infinity and NaN"):
    special = check.run(decode_bits, torch.tensor([0b0_11111_0000000000, 0b1_11111_0000000000, 0b0_11111_0000000001]), 5, 10)
    top = "fp16: the highest exponent stands for ±infinity (m = 0) and NaN (all other m)"
    check.equal(special, [math.inf, -math.inf, math.nan], top)
    ### BEGIN HIDDEN TESTS
    some = torch.cat([torch.arange(124, 128), torch.arange(252, 256)])
    truth = number_formats.patterns(DTYPES["fp8 e5m2"], some)
    check.equal(check.run(decode_bits, some, 5, 2), truth, "fp8 e5m2: the patterns with the highest exponent are wrong")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("finite formats"):
    some = torch.cat([torch.arange(119, 128), torch.arange(247, 256)])
    truth = number_formats.patterns(DTYPES["fp8 e4m3fn"], some)
    only = "fp8 e4m3fn: the highest patterns are wrong: a finite format has no infinity, and its only NaN is all ones"
    check.equal(check.run(decode_bits, some, 4, 3, True), truth, only)
with check.edge("tensors of any shape"):
    some = randint(1, 2**5 - 1, (3, 50)) * 2**10 + randint(0, 2**10, (3, 50))
    got = check.run(decode_bits, some, 5, 10, shape=(3, 50), hint="the result has the shape of the patterns: (3, 50)")
    check.equal(got, number_formats.patterns(DTYPES["fp16"], some), "some patterns are wrong in a tensor of shape (3, 50)")
    lone = check.run(decode_bits, torch.tensor(0b1_0111_100), 4, 3)
    check.equal(lone, torch.tensor(-1.5, dtype=torch.float64), "a single pattern, a tensor without axes, is wrong")
with check.edge("a float64 tensor"):
    check.equal(check.run(lambda: str(decode_bits(torch.tensor([1]), 5, 10).dtype)), "torch.float64", "the result is a float64 tensor")
    fine = randn(40, dtype=torch.float64).abs() * torch.exp2(randint(-900, 900, (40,)).double())
    check.close(
        check.run(decode_bits, fine.view(torch.int64), 11, 52),
        fine,
        "patterns of fp64, E = 11 and M = 52: compute in float64",
        rtol=0,
        atol=0,
    )
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(decode_bits, torch.tensor([1, 2, 0x7FFF]), 5, 10)
check.score()

# %% [markdown]
# ### 1.3 Round to a format <small>★★★ · 35 min · 5 points</small>
# A number between two neighbours goes to the nearer one; exactly in the middle, to the one whose last mantissa bit is 0 (*round to nearest, ties to even*; `torch.round` does that for whole numbers).
# For each $x$:
#
# 1. Find its exponent: the integer $k$ with $2^k \le |x| < 2^{k+1}$ (`torch.frexp` is exact; its mantissa lies in $[\frac{1}{2}, 1)$). If $k$ is below $1 - b$, use $1 - b$: subnormal numbers are evenly spaced.
# 2. The distance between neighbours there is $2^{k - M}$.
#    Divide by it, round, multiply.
# 3. If the result is larger than the format's largest number, it overflows: to infinity with the sign of $x$, or to NaN in a finite format.
#    With `saturate=True` it becomes the largest number, with the sign of $x$, and so does infinity itself.
#    NaN stays NaN.
#
# Compute in float64.
#
# *Before you run it:* what is 257 in bf16?
# What is 0.1 + 0.2 in fp8 e4m3fn?


# %% exercise="round"
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


# %% test="round" points=5
check = Check("round", points=5)
with check.idea("to the nearest"):
    x = torch.tensor([1.0, 1.06, -1.1, 1.2, 0.0], dtype=torch.float64)
    slips = {"the remainder is cut off: round to the nearest": [1.0, 1.0, -1.0, 1.125, 0.0]}
    slips["the steps are too wide: between 2^k and 2^(k+1) they are 2^(k−M). frexp's mantissa lies in [½, 1)"] = [1.0, 1.0, -1.0, 1.25, 0.0]
    slips["the steps are too narrow: between 2^k and 2^(k+1) they are 2^(k−M)"] = [1.0, 1.0625, -1.125, 1.1875, 0.0]
    eighths = "between 1 and 2, fp8 with 3 mantissa bits has steps of 1/8: −1.1 goes to −1.125, 1.2 to 1.25"
    check.close(check.run(round_to, x, 4, 3, shape=(5,)), [1.0, 1.0, -1.125, 1.25, 0.0], eighths, rtol=0, atol=0, wrong=slips)
    ### BEGIN HIDDEN TESTS
    for name in ("bf16", "fp16", "fp8 e5m2"):
        E, M = FORMATS[name][:2]
        some = randn(300) * torch.exp2(randint(-12, 12, (300,)).float())
        some = some[some.abs() > 2.0**-13].float()  # normal numbers
        check.equal(
            check.run(round_to, some, E, M),
            some.to(DTYPES[name]).double(),
            f"some numbers are not rounded as torch rounds them to {name}",
        )
    ### END HIDDEN TESTS
with check.part("ties to even"):
    ties = check.run(round_to, torch.tensor([1.0625, 1.1875, -1.0625, -1.1875]).double(), 4, 3)
    even = "exactly in the middle: 1.0625 goes to 1.0 and 1.1875 to 1.25, the neighbours whose last mantissa bit is 0"
    slips = {"ties are rounded up: they go to the neighbour whose last bit is 0": [1.125, 1.25, -1.0, -1.125]}
    slips["ties are rounded away from 0: they go to the neighbour whose last bit is 0"] = [1.125, 1.25, -1.125, -1.25]
    check.close(ties, [1.0, 1.25, -1.0, -1.25], even, rtol=0, atol=0, wrong=slips)
    ### BEGIN HIDDEN TESTS
    for name in ("bf16", "fp16", "fp8 e5m2"):
        E, M = FORMATS[name][:2]
        some = randint(2**M, (2**E - 2) * 2**M - 1, (200,))
        both = number_formats.patterns(DTYPES[name], some) + number_formats.patterns(DTYPES[name], some + 1)
        middle = torch.cat([both, -both]).div(2).float()  # each of these lies exactly between two neighbours

        check.equal(check.run(round_to, middle, E, M), middle.to(DTYPES[name]).double(), f"some ties of {name} go the wrong way")
    ### END HIDDEN TESTS
with check.part("subnormal numbers"):
    tiny = torch.tensor([2.0**-24, 1.2 * 2.0**-24, 1.7 * 2.0**-24, 0.3 * 2.0**-24], dtype=torch.float64)
    slips = {"everything below the smallest normal number becomes 0: there are subnormal numbers": [0.0] * 4}
    evenly = "below 2^−14 the numbers of fp16 are evenly spaced, 2^−24 apart"
    check.close(check.run(round_to, tiny, 5, 10), [2.0**-24, 2.0**-24, 2.0**-23, 0.0], evenly, rtol=0, atol=0, wrong=slips)
    ### BEGIN HIDDEN TESTS
    for name in ("fp16", "fp8 e5m2"):
        E, M = FORMATS[name][:2]
        some = randn(200) * torch.exp2(randint(-26, -15, (200,)).float())
        some = some[some.abs() < 2.0**-14]

        check.equal(check.run(round_to, some, E, M), some.to(DTYPES[name]).double(), f"some subnormal numbers of {name} are wrong")
    ### END HIDDEN TESTS
with check.part("overflow"):
    big = torch.tensor([65519.0, 65520.0, -1e9, math.inf], dtype=torch.float64)
    slips = {"a number overflows only if it is too large after rounding: 65519 rounds to 65504": [math.inf, math.inf, -math.inf, math.inf]}
    slips["without `saturate` an overflow is infinite"] = [65504.0, 65504.0, -65504.0, 65504.0]
    infinite = "fp16: what rounds to at most 65504 stays, what rounds above it becomes infinite, with the sign of x"
    overflowed = check.run(round_to, big, 5, 10)
    check.equal(overflowed, [65504.0, math.inf, -math.inf, math.inf], infinite, wrong=slips)
    ### BEGIN HIDDEN TESTS
    huge = torch.tensor([57343.0, 61439.0, 61440.0, -61441.0, -math.inf])
    truth = huge.to(torch.float8_e5m2).float()
    check.equal(check.run(round_to, huge, 5, 2), truth, "overflow of fp8 e5m2 is wrong: infinity with the sign of x")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("finite formats"):
    check.equal(check.run(round_to, torch.tensor([300.0, -448.0]), 4, 3, True), [288.0, -448.0], "fp8 e4m3fn: 300 rounds to 288, 448 stays")
    brink = torch.tensor([470.0, -500.0, math.inf])
    if overflowed.tolist() == [65504.0, math.inf, -math.inf, math.inf]:  # what is wrong about every overflow is told above
        beyond = "overflow of a finite format is wrong: what rounds above 448 becomes NaN, infinity too"
        check.equal(check.run(round_to, brink, 4, 3, True), [math.nan] * 3, beyond)
with check.part("saturate"):
    topmost = "with saturate=True an overflow, infinity included, becomes ± the largest number"
    check.equal(check.run(round_to, torch.tensor([math.inf, -math.inf, 2.0]), 4, 3, True, True), [448.0, -448.0, 2.0], topmost)
    if overflowed[1] != 65536.0:  # else nothing overflows at all, which is told above
        check.equal(check.run(round_to, brink, 4, 3, True, True), [448.0, -448.0, 448.0], topmost)
        check.equal(check.run(round_to, huge[2:], 5, 2, saturate=True), [57344.0, -57344.0, -57344.0], topmost)
with check.edge("NaN stays NaN"):
    for options in ({}, {"finite": True}, {"saturate": True}):
        nan = check.run(round_to, torch.tensor([math.nan, 1.0]), 4, 3, **options)
        check.equal(nan, [math.nan, 1.0], "NaN stays NaN, whatever `finite` and `saturate` say")
with check.edge("a tensor without axes"):
    lone = check.run(round_to, torch.tensor(0.3), 8, 7, shape=())
    check.equal(lone, torch.tensor(0.3).bfloat16().float(), "a single number, a tensor without axes, is wrong")
with check.edge("rounding twice"):
    once = check.run(round_to, randn(50, dtype=torch.float64), 8, 10)
    check.equal(check.run(lambda: round_to(once, 8, 10)) if once is not None else once, once, "rounding twice must change nothing: tf32")
with check.edge("a float64 tensor"):
    check.equal(check.run(lambda: str(round_to(torch.ones(2), 5, 10).dtype)), "torch.float64", "the result is a float64 tensor")
    fine = randn(40, dtype=torch.float64) * torch.exp2(randint(-900, 900, (40,)).double())
    check.close(
        check.run(round_to, fine, 11, 52),
        fine,
        "E = 11 and M = 52, fp64 itself: every float64 stays as it is. Compute in float64",
        rtol=0,
        atol=0,
    )
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(round_to, x, 5, 10)
check.score()

# %% look=true
number_formats.relative_errors(round_to)
plt.show()
over = torch.tensor([500.0]).to(torch.float8_e4m3fn).float().item()
print(
    f"500 in fp8 e4m3fn: yours {round_to(torch.tensor(500.0), 4, 3, True).item()}, "
    f"saturating {round_to(torch.tensor(500.0), 4, 3, True, True).item()}, this version of torch {over}"
)
print(f"0.1 + 0.2 in fp8 e4m3fn: {round_to(torch.tensor(0.1 + 0.2, dtype=torch.float64), 4, 3, True).item()}")
print(f"257 in bf16: {round_to(torch.tensor(257.0), 8, 7).item()};   1 + 0.003 in bf16: {round_to(torch.tensor(1.003), 8, 7).item()}")

# %% [markdown]
# (The Open Compute Project's specification of fp8, 2023, allows both conversions. Versions of torch differ: older ones give NaN, newer ones saturate.)
#
# ### 1.4 The same with a mask <small>★★☆ · 20 min · 3 points</small>
# fp32, tf32 and bf16 have the same eight exponent bits, so rounding one into the other only drops low mantissa bits: integer arithmetic on the bit pattern does it.
# Let $r = 23 - M$ be the number of bits to drop.
# Read the float32 bits as an int32 (`x.view(torch.int32)`: the same bits, not the same value).
# Setting the lowest $r$ bits to 0 (a mask) would cut the number off.
# To round to nearest with ties to even, first add $2^{r-1} - 1$ plus the lowest bit that stays, then mask.
# A carry into the exponent is just what is needed: 1.99… becomes 2.
# Infinity and NaN stay as they are: return the original bits there.
# For $M = 23$ there is nothing to drop.


# %% exercise="mask"
def round_by_mask(x, mantissa_bits):
    """float32 x (any shape) rounded to this many mantissa bits (tf32: 10, bf16: 7) by integer arithmetic: float32."""
    ### BEGIN SOLUTION
    drop = 23 - mantissa_bits
    if drop == 0:
        return x.clone()
    bits = x.view(torch.int32)
    stays = (bits >> drop) & 1
    rounded = (bits + 2 ** (drop - 1) - 1 + stays) & -(2**drop)
    return torch.where(x.isfinite(), rounded.view(torch.float32), x)
    ### END SOLUTION


# %% test="mask" points=3
check = Check("mask", points=3)
with check.idea("add, then mask"):
    x = torch.tensor([1.0, 1 + 2.0**-11 + 2.0**-20, 1 + 2.0**-11 - 2.0**-20, -(1 + 2.0**-10 + 2.0**-12), 1.999999])
    slips = {"the bits are cut off: add before you mask": [1.0, 1.0, 1.0, -(1 + 2.0**-10), 2 - 2.0**-10]}
    slips["these are integers: `view` reads the same bits as int32, `int()` converts the value"] = [1.0, 1.0, 1.0, -1.0, 1.0]
    slips["everything became 0: `x.view(torch.int32)` reads the same bits, `x.int()` converts the value"] = [0.0] * 5
    keeps = "tf32 keeps 10 mantissa bits: just above the middle goes up, just below down; 1.999999 carries into the exponent and becomes 2"
    check.equal(check.run(round_by_mask, x, 10, shape=(5,)), [1.0, 1 + 2.0**-10, 1.0, -(1 + 2.0**-10), 2.0], keeps, wrong=slips)
    ### BEGIN HIDDEN TESTS
    some = (randn(363) * torch.exp2(randint(-120, 120, (363,)).float())).view(3, 121)
    bits = some.view(torch.int32)
    tf32 = ((bits + 2**12 - 1 + ((bits >> 13) & 1)) & -(2**13)).view(torch.float32)

    check.equal(check.run(round_by_mask, some, 10, shape=(3, 121)), tf32, "with 10 bits the result is not tf32")
    ### END HIDDEN TESTS
with check.part("ties to even"):
    middle = check.run(round_by_mask, torch.tensor([1 + 2.0**-11, 1 + 3 * 2.0**-11, -(1 + 2.0**-11)]), 10)
    slips = {"ties are rounded up: add 2^(r−1) − 1 and the lowest bit that stays": [1 + 2.0**-10, 1 + 2.0**-9, -(1 + 2.0**-10)]}
    slips["ties are rounded down: the lowest bit that stays is missing from the sum"] = [1.0, 1 + 2.0**-10, -1.0]
    check.equal(middle, [1.0, 1 + 2.0**-9, -1.0], "exactly in the middle: the result's last bit must be 0", wrong=slips)
    ### BEGIN HIDDEN TESTS
    halves = (1 + (2 * randint(0, 1024, (60,)) + 1) / 2048) * torch.exp2(randint(-30, 30, (60,)).float())
    of_halves = halves.view(torch.int32)
    even = ((of_halves + 2**12 - 1 + ((of_halves >> 13) & 1)) & -(2**13)).view(torch.float32)
    check.equal(check.run(round_by_mask, halves, 10), even, "some ties go the wrong way: the result's last bit must be 0")
    wide = (1 + (2 * randint(0, 128, (60,)) + 1) / 256) * torch.exp2(randint(-30, 30, (60,)).float())
    check.equal(check.run(round_by_mask, wide, 7), wide.bfloat16().float(), "with 7 bits some ties go the wrong way")
    one_bit = ((bits + (bits >> 1 & 1)) & -2).view(torch.float32)
    check.equal(check.run(round_by_mask, some, 22), one_bit, "with 22 bits exactly one bit is dropped")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("any number of bits"):
    check.equal(check.run(round_by_mask, some, 7), some.bfloat16().float(), "with 7 bits the result is not torch's bfloat16")
    check.equal(check.run(round_by_mask, -2 * some, 7), (-2 * some).bfloat16().float(), "a second call with other numbers is wrong")
    few = ((bits + 2**18 - 1 + ((bits >> 19) & 1)) & -(2**19)).view(torch.float32)
    check.equal(check.run(round_by_mask, some, 4), few, "with 4 bits the result is wrong: 19 bits are dropped")
with check.edge("23 bits"):
    check.equal(check.run(round_by_mask, some, 23), some, "with 23 bits nothing is dropped: the numbers stay as they are")
with check.edge("overflow, subnormal numbers"):
    carried = check.run(round_by_mask, torch.tensor([3.4e38, -3.4e38]), 7)
    check.equal(carried, [math.inf, -math.inf], "above the largest bf16 the carry makes infinity: that is right, let it happen")
    small = torch.tensor([0.0, 1e-45, -3e-39])
    check.equal(check.run(round_by_mask, small, 7), small.bfloat16().float(), "zero and subnormal numbers are wrong")
with check.edge("infinity and NaN"):
    odd = torch.tensor([0x7FFFFFFF, 0x7F800001, -1], dtype=torch.int32).view(torch.float32)  # NaNs of several kinds
    special = check.run(round_by_mask, torch.cat([torch.tensor([math.inf, -math.inf]), odd]), 7)
    stay = "infinity and NaN must stay as they are: in a NaN the sum can carry over and make a different number"
    check.equal(special, [math.inf, -math.inf, math.nan, math.nan, math.nan], stay)
with check.edge("a float32 tensor"):
    check.equal(check.run(lambda: str(round_by_mask(torch.ones(2), 7).dtype)), "torch.float32", "the result is a float32 tensor")
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(round_by_mask, x, 10)
check.score()

# %% [markdown]
# ### 1.5 Loss scaling <small>★★☆ · 20 min · 4 points</small>
# fp16 has only five exponent bits: numbers of size $2^{-25}$ or less become 0, and many gradients are that small.
# Multiply the *loss* by a large number $S$, and by the chain rule every gradient is multiplied by $S$ before it is rounded.
# Afterwards divide by $S$ again, in float32: in fp16 the division would bring the zeros back (Micikevicius et al., 2018).
# If $S$ is too large, a gradient overflows; then the step is skipped and $S$ is halved.
#
# 1. `unscale` gets the scaled fp16 gradients. It returns whether any of them is infinite or NaN, and the float32 gradients divided by the scale.
# 2. `next_scale` updates the scale. After an overflow the scale is multiplied by `backoff`, and the count of good steps restarts from 0. After a good step the count grows by one; when it reaches `interval`, the scale is multiplied by `growth` and the count restarts from 0.
#
# The order in a loop is: unscale, look for an overflow, *then* clip, then step.


# %% exercise="loss-scale"
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


# %% test="loss-scale" points=4
check = Check("loss-scale", points=4)
with check.idea("unscale and next_scale"):
    tiny = [torch.tensor([2.0**-20, -(2.0**-18)], dtype=torch.float16), torch.tensor([[1.0]], dtype=torch.float16)]
    pair = check.run(lambda: unscale([t.clone() for t in tiny], 1024.0))
    slips = {"you divide in fp16, where the result is 0: convert to float32 first": [0.0, 0.0]}
    slips["the gradients are multiplied by the scale: divide by it"] = [2.0**-10, -(2.0**-8)]
    slips["the gradients are still scaled: divide by the scale"] = [2.0**-20, -(2.0**-18)]
    apart = "2^−20 divided by 1024 is 2^−30, which fp16 cannot hold"
    check.close(craft.then(pair, lambda r: r[1][0].double()), [2.0**-30, -(2.0**-28)], apart, rtol=0, atol=0, wrong=slips)
    slips = {"the count of good steps continues: it restarts from 0 after an overflow": (32.0, 5)}
    slips["the scale grows after an overflow: it must shrink"] = (128.0, 0)
    halved = "after an overflow the scale is halved, and the count of good steps starts from 0"
    check.equal(check.run(next_scale, 64.0, 5, True), (32.0, 0), halved, wrong=slips)
    check.equal(check.run(next_scale, 64.0, 5, False), (64.0, 6), "a good step is counted, and the scale stays until `interval` is reached")
    ### BEGIN HIDDEN TESTS
    half = [randn(3, 2).half(), randn(4).half()]
    got = craft.then(
        check.run(lambda: unscale([t.clone() for t in half], 2.0**16)), lambda r: torch.cat([g.flatten() for g in r[1]]).double()
    )
    right = torch.cat([h.flatten() for h in half]).double() / 2**16
    check.close(got, right, "the unscaled gradients are wrong for other numbers", rtol=1e-6, atol=0)

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

    flags = [False, False, True, True, False, False, False]
    steps = "over several steps, without growth, the scale or the count goes wrong"
    check.equal(check.run(history, flags, 2000, 2.0, 0.5), expected_history(flags, 2000, 2.0, 0.5), steps)
    ### END HIDDEN TESTS
with check.part("unscale: overflow"):
    check.equal(craft.then(pair, lambda r: r[0]), False, "no overflow here: (False, …)")
    found = check.run(
        lambda: [unscale([torch.tensor([1.0, bad]).half(), torch.ones(2).half()], 8.0)[0] for bad in (math.inf, -math.inf, math.nan)]
    )
    slips = {
        "NaN is an overflow, too: look for anything that is not finite": [True, True, False],
        "minus infinity is an overflow, too": [True, False, True],
    }
    check.equal(found, [True, True, True], "one entry that is infinite or NaN is an overflow, in any tensor", wrong=slips)
    ### BEGIN HIDDEN TESTS
    late = check.run(lambda: unscale([torch.ones(2).half(), torch.ones(3, 1).half(), torch.tensor([[math.inf]]).half()], 8.0)[0])
    check.equal(late, True, "an overflow in the last tensor is missed")
    fine = check.run(lambda: [unscale([torch.full((2,), x).half()], 8.0)[0] for x in (0.0, 65504.0)])
    check.equal(fine, [False, False], "zero is not an overflow, and neither is 65504, fp16's largest number")
    ### END HIDDEN TESTS
with check.edge("unscale: float32"):
    check.equal(craft.then(pair, lambda r: str(r[1][1].dtype)), "torch.float32", "float32 gradients come back")
### BEGIN HIDDEN TESTS
with check.edge("unscale: a bool"):
    kinds = check.run(lambda: [type(unscale([torch.tensor([x]).half()], 8.0)[0]) is bool for x in (1.0, math.inf)])
    check.equal(kinds, [True, True], "`overflow` is a Python bool, not a tensor or a number: `bool(…)` makes one")
with check.edge("unscale: gradients with an overflow"):
    after_overflow = check.run(lambda: unscale([torch.tensor([math.inf, 4.0]).half(), torch.ones(2).half()], 8.0))
    fine_ones = craft.then(after_overflow, lambda r: r[1][1])
    check.close(fine_ones, [0.125, 0.125], "after an overflow the gradients come back, too, divided by the scale")
    bad_ones = craft.then(after_overflow, lambda r: r[1][0])
    check.equal(bad_ones, [math.inf, 0.5], "infinity and NaN stay what they are: only divide by the scale")
with check.edge("unscale: any scale"):
    third = craft.then(check.run(lambda: unscale([torch.tensor([6.0, 600.0]).half()], 3000.0)), lambda r: r[1][0].double())
    check.close(third, [0.002, 0.2], "with a scale of 3000 digits are lost: divide in float32 by the scale itself", rtol=1e-6)
with check.edge("unscale: inputs unchanged"):
    given = [torch.full((2,), 8.0).half(), torch.ones(3)]
    after = check.measure(checks.inout, unscale, given, 8.0)[1]
    check.equal(after[0], given, "your code changes the gradients in place: return new tensors")
### END HIDDEN TESTS
with check.part("next_scale: growth"):
    third = check.run(next_scale, 64.0, 2, False, 3)
    slips = {"the scale has not grown: this good step counts, it is the third, and `interval` is 3": (64.0, 3)}
    slips["the count must start from 0 again when the scale grows"] = (128.0, 3)
    check.equal(third, (128.0, 0), "with the third good step of three the scale doubles and the count starts from 0", wrong=slips)
    ### BEGIN HIDDEN TESTS
    grown = "over several good steps the scale grows at the wrong ones: every time that the count reaches `interval`"
    check.equal(check.run(history, [False] * 7, 3, 2.0, 0.5), expected_history([False] * 7, 3, 2.0, 0.5), grown)
    check.equal(check.run(next_scale, 64.0, 1999, False), (128.0, 0), "without `interval` the scale grows with the 2000th good step")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("next_scale: growth and backoff"):
    if tuple(third) == (128.0, 0):  # what is wrong about the growth itself is told above
        grown = check.run(next_scale, 64.0, 3, False, 4, 3.0, 0.25)
        check.equal(grown, (192.0, 0), "the argument `growth` is not used: with 3, 64 becomes 192")
    check.equal(
        check.run(next_scale, 64.0, 3, True, 4, 3.0, 0.25), (16.0, 0), "the argument `backoff` is not used: with 0.25, 64 becomes 16"
    )
with check.edge("next_scale: no limits"):
    check.equal(check.run(next_scale, 1.0, 0, True), (0.5, 0), "the scale may fall below 1: there is no lower limit")
    if tuple(third) == (128.0, 0):
        check.equal(check.run(next_scale, 2.0**24, 4, False, 5), (2.0**25, 0), "the scale may grow beyond any limit: there is no upper one")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: what fp16 would lose
# The figure shows the gradients of a small language model on the State of the Union addresses, after a few steps of training, and what fp16 can hold of them: as they are, and multiplied by $2^{12}$.
# The optimiser is torch's AdamW.
# The one that you wrote in `13-training-craft` takes the same steps.
#
# *Before you run it:* guess the share of gradients that would become zero.

# %% look=true
data = characters.speeches(pick(smoke=2000, laptop=1946, gpu=1790))
V = len(data.alphabet)
small_shape = models.Shape(
    V,
    width=pick(smoke=16, laptop=48, gpu=48),
    heads=2,
    layers=pick(smoke=1, laptop=3, gpu=3),
    context=32,
    pre_norm=False,
    final_norm=False,
)
seed(2)
graded_model = models.LanguageModel(small_shape)
graded_stepper = torch.optim.AdamW(graded_model.parameters(), lr=2e-3)
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
        f"loss × {factor:>6.0f}: {(rounded == 0).double().mean().item():.2%} of the gradients become 0, "
        f"{(~rounded.isfinite()).sum().item()} overflow"
    )

# %% [markdown]
# ### Look: which format for what
# *Autocast* runs matrix products in a short format and everything delicate in float32.
# The weights stay in float32: an update is small compared with the weight it changes, and a short format would round it away.
#
# *Before you run it:* in bf16, neighbours near 1 are 2⁻⁷ apart.
# Add 0.001 a thousand times to 1: what comes out?

# %% look=true
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


# %% look=true
def short_run(mode):
    """The same steps in float32, under autocast (float32 weights, bf16 products), and with everything in bf16."""
    seed(3)
    model = models.LanguageModel(small_shape)
    model = model.bfloat16() if mode == "all bf16" else model
    stepper, losses = torch.optim.AdamW(model.parameters(), lr=1e-3), []
    for _ in training.progress(range(pick(smoke=3, laptop=60, gpu=300)), mode, keep=[model, stepper, losses], watch=losses):
        window = data.train[torch.randint(len(data.train) - 32, (16, 1)) + torch.arange(33)]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mode == "autocast"):
            loss = F.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())
        stepper.zero_grad()
        loss.backward()
        stepper.step()
        losses.append(loss.item())
    return losses


def smooth(values, n=10):
    return [np.mean(values[max(0, i - n + 1) : i + 1]) for i in range(len(values))]


precision_runs = {mode: short_run(mode) for mode in ("float32", "autocast", "all bf16")}
plots.curves(
    {mode: (list(range(1, len(losses) + 1)), smooth(losses)) for mode, losses in precision_runs.items()},
    "step",
    "loss (mean of 10 steps)",
    "The same steps in three precisions",
)
plt.show()

# %% [markdown]
# At a rate of 0.001 a step is large compared with most weights, and even weights in bf16 learn like the others.
# *Before you run it:* schedules end at a hundredth of their peak or below.
# What share of a model's weights does one step of AdamW still change, in float32 and in bf16?


# %% look=true
def share_moved(rate, dtype):
    """Of the weights that have a gradient, the share that one step of AdamW changes at all."""
    seed(3)
    model = models.LanguageModel(small_shape).to(dtype)
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
# An update below half the gap to the next number is rounded away.
# At laptop scale, with this seed, a rate of 10⁻⁵ left 95 % of the bf16 weights where they were.
# Hence autocast: short products, float32 weights.
#
# ### 1.6 Bonus: eight bits for the weights <small>★★☆ · 25 min · 4 bonus points</small>
# When a trained model generates text, it has to *move* all its weights from memory once for every token.
# Eight-bit integers take a quarter of float32's bytes. Every row $i$ of the weight $W$ ($n_\text{out} \times n_\text{in}$) gets its own step $s_i$:
#
# $$ W_{ij} \approx s_i\, q_{ij}, \qquad q_{ij} \in \{-127, \dots, 127\}, \qquad y_i = s_i \sum_j q_{ij}\, x_j + b_i . $$
#
# $q_{ij}$ is $W_{ij} / s_i$, rounded to the nearest integer, and $s_i$ is the smallest step with which the whole row fits.
# (−128 is not used, so that $W$ and $-W$ have the same steps.)
# A row of zeros has no smallest step; give it the step 1.
# Nothing is multiplied in eight bits here: the sum over $j$ has the dtype of $x$.
#
# *Before you run it:* by how much can one weight be wrong, at most, if the largest absolute value of its row is $m$?
# And the output $y_i$, for a given $x$?


# %% exercise="bonus-int8"
def quantize_rows(W):
    """(q, step): q (n_out, n_in) is int8, step (n_out,) has the dtype of W, and W is about step[:, None] * q."""
    ### BEGIN SOLUTION
    step = W.abs().amax(dim=1) / 127
    step = torch.where(step > 0, step, torch.ones_like(step))
    return torch.round(W / step[:, None]).to(torch.int8), step
    ### END SOLUTION


def int8_linear(x, q, step, bias=None):
    """The linear layer with the weight step[:, None] * q, from (…, n_in) to (…, n_out)."""
    ### BEGIN SOLUTION
    y = (x @ q.to(x.dtype).T) * step
    return y if bias is None else y + bias
    ### END SOLUTION


# %% test="bonus-int8" points=4
check = Check("bonus-int8", points=4)
tiny_weight = torch.tensor([[1.27, -0.5, 0.002], [-254.0, 126.0, 3.2]])
with check.idea("a step for each row, and back"):
    small = check.run(quantize_rows, tiny_weight)
    steps = "the largest weight of a row becomes 127 or −127: the steps are 1.27/127 = 0.01 and 254/127 = 2"
    slips = {"these are the steps to 128, which int8 does not have": [1.27 / 128, 254 / 128]}
    slips |= {
        "there is one step for the whole matrix: each row has its own": [2.0, 2.0],
        "the steps are twice too wide: q goes from −127 to 127": [0.02, 4.0],
    }
    check.close(craft.then(small, lambda r: r[1]), [0.01, 2.0], steps, wrong=slips)
    whole = "row 0 is 127, −50 and 0.2 steps, row 1 is −127, 63 and 1.6 steps: round to the nearest"
    slips = {"the remainder is cut off: round to the nearest": [[127.0, -50, 0], [-127, 63, 1]]}
    check.close(craft.then(small, lambda r: r[0].double()), [[127.0, -50, 0], [-127, 63, 2]], whole, rtol=0, atol=0, wrong=slips)
    q, s = torch.tensor([[127, -50, 0], [-127, 63, 2]], dtype=torch.int8), torch.tensor([0.01, 2.0])
    worked = "x = (1, 2, 0): row 0 gives 0.01 · (127 − 100), row 1 gives 2 · (−127 + 126)"
    check.close(check.run(int8_linear, torch.tensor([[1.0, 2.0, 0.0]]), q, s), [[0.27, -2.0]], worked)
    ### BEGIN HIDDEN TESTS
    W = randn(6, 9) * torch.exp2(randint(-6, 6, (6, 1)).float())
    got, exact_steps = check.run(quantize_rows, W), W.abs().amax(1) / 127
    largest = "with another weight the steps are wrong: of each row, the largest absolute value decides"
    check.close(craft.then(got, lambda r: r[1]), exact_steps, largest)
    off = craft.then(got, lambda r: r[0].double() * (r[1] / exact_steps)[:, None] - W / exact_steps[:, None])
    # at most half a step; the quotient is rounded in float32
    check.close(off, torch.zeros(6, 9), "step · q is more than half a step away from W: round to the nearest", rtol=0, atol=0.5001)
    q, s, b = randint(-127, 128, (5, 7)).to(torch.int8), randn(5).abs() + 0.1, randn(5)
    xs = randn(4, 7) * 3
    right = (xs.double() @ q.double().T * s.double()).float()
    check.close(check.run(int8_linear, xs, q, s), right, "the output is not s · Σ q x", rtol=1e-4, atol=1e-3)
    square = check.run(int8_linear, xs[:, :5], q[:, :5], s)
    sums = (xs[:, :5].double() @ q[:, :5].double().T * s.double()).float()
    check.close(square, sums, "with as many inputs as outputs the output is not s · Σ q x", rtol=1e-4, atol=1e-3)
    ### END HIDDEN TESTS
with check.part("stored in eight bits"):
    stored = "store q in eight bits: dtype torch.int8"
    check.equal(craft.then(small, lambda r: str(r[0].dtype)), "torch.int8", stored)
with check.part("bias"):
    with_bias = check.run(int8_linear, torch.tensor([[1.0, 0.0]]), torch.eye(2).to(torch.int8), torch.tensor([3.0, 5.0]), torch.ones(2))
    slips = {"the bias is lost": [[3.0, 0.0]], "the bias is not scaled by the step": [[6.0, 5.0]]}
    check.close(with_bias, [[4.0, 1.0]], "the bias is added to the output: 3 + 1 and 0 + 1", wrong=slips)
    ### BEGIN HIDDEN TESTS
    check.close(check.run(int8_linear, xs, q, s, bias=b), right + b, "with another bias the output is wrong", rtol=1e-4, atol=1e-3)
    ### END HIDDEN TESTS
with check.edge("a row of zeros"):
    empty = check.run(quantize_rows, torch.tensor([[0.0, 0.0], [254.0, -2.0]]))
    zeros = "a row of zeros has q = 0 and the step 1: nothing may be divided by 0"
    check.close(craft.then(empty, lambda r: torch.cat([r[0].double(), r[1][:, None].double()], 1)), [[0.0, 0, 1], [127, -1, 2]], zeros)
with check.edge("inputs unchanged"):
    check.unchanged(quantize_rows, tiny_weight)
### BEGIN HIDDEN TESTS
with check.edge("batch axes"):
    check.close(check.run(int8_linear, -xs.view(2, 2, 7), q, s), -right.view(2, 2, 5), "x (2, 2, 7) gives (2, 2, 5)", rtol=1e-4, atol=1e-3)
    check.close(check.run(int8_linear, xs.view(2, 2, 7), q, s), right.view(2, 2, 5), "x (2, 2, 7) gives (2, 2, 5)", rtol=1e-4, atol=1e-3)
with check.edge("float64"):
    fine = randn(3, 4, dtype=torch.float64)
    digits = "a float64 weight has float64 steps: digits are lost"
    check.close(craft.then(check.run(quantize_rows, fine), lambda r: r[1].double()), fine.abs().amax(1) / 127, digits, rtol=1e-12)
    long_x = randn(4, 7, dtype=torch.float64)
    exact = long_x @ q.double().T * s.double()
    check.close(
        check.run(int8_linear, long_x, q, s.double()),
        exact,
        "the output for a float64 x loses digits: convert q to the dtype of x",
        rtol=1e-12,
    )
    kinds = [
        str(check.run(lambda w=w: quantize_rows(w)[1].dtype)) for w in (torch.eye(2), torch.zeros(2, 2).double(), torch.eye(2).double())
    ]
    check.equal(kinds, ["torch.float32", "torch.float64", "torch.float64"], "the steps have the dtype of W")
    check.equal(check.run(lambda: str(int8_linear(xs, q, s).dtype)), "torch.float32", "the output has the dtype of x")
with check.edge("nothing changed, nothing kept"):
    check.unchanged(int8_linear, xs, q, s, b)
    check.close(
        craft.then(check.run(quantize_rows, 2 * W), lambda r: r[1]), 2 * exact_steps, "a second weight of the same shape gets wrong steps"
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# One weight is wrong by half a step at most, $m / 254$, and an output by $\frac{s_i}{2} \sum_j |x_j|$ at most: in the worst case the errors of a row all point the same way.
# In practice most of them cancel.
# The cell measures both on a layer as large as one of a small model's, and counts the bytes.

# %% look=true
seed(0)
layer, inputs = nn.Linear(256, 256), torch.randn(100, 256)
whole_weight, row_step = quantize_rows(layer.weight.detach())
wrong_weight = (row_step[:, None] * whole_weight - layer.weight.detach()).abs()
wrong_output = (int8_linear(inputs, whole_weight, row_step, layer.bias.detach()) - layer(inputs).detach()).abs()
bound = row_step / 2 * inputs.abs().sum(1, keepdim=True)
assert (wrong_weight <= row_step[:, None] / 2 * 1.001).all()
assert (wrong_output <= bound).all()
print(f"weights: wrong by at most {(wrong_weight / row_step[:, None]).max():.3f} steps")
print(
    f"outputs: wrong by at most {(wrong_output / bound).max():.1%} of the bound, "
    f"{wrong_output.norm() / layer(inputs).norm():.2%} of the outputs' length"
)
bytes_before, bytes_after = layer.weight.nbytes, whole_weight.nbytes + row_step.nbytes
print(f"bytes of the weight: {bytes_before:,} in float32, {bytes_after:,} in int8 with its steps: {bytes_after / bytes_before:.3f} of it")

# %% [markdown]
# ## 2 Two processes, one model
#
# In data-parallel training every worker has a copy of the model and a share of each batch.
# Each computes the gradient of the *mean* loss over its own examples; then the workers exchange and average their gradients, and all take the same step.
# Done right, the copies stay equal to each other, and to a single process that sees the whole batch.
#
# ### 2.1 Average the gradients <small>★★☆ · 20 min · 4 points</small>
# Worker $w$ has $n_w$ examples and the gradient $g_w$ of its mean loss.
# What is the gradient of the mean loss over *all* examples?
# Derive it first: write both means as sums.
# It is not the plain mean of the $g_w$ when the $n_w$ differ, as they often do at the end of an epoch.
#
# The workers can communicate only through `all_sum(tensor)`: it waits for all workers and gives each of them the sum of their tensors, a new tensor.
# In torch that is `torch.distributed.all_reduce`.
# Every worker runs your function. All must call `all_sum` equally often and with the same shapes, or they wait for each other forever.


# %% exercise="average"
def average_gradients(gradients, count, all_sum):
    """The gradient of the mean loss over all workers' examples, on every worker.

    gradients: this worker's gradients (a list of tensors) of the mean loss over its `count` examples. Returns new tensors.
    """
    ### BEGIN SOLUTION
    total = all_sum(torch.tensor(float(count), dtype=torch.float64))
    return [all_sum(g * count) / total.to(g.dtype) for g in gradients]
    ### END SOLUTION


def all_workers(gradients, counts):
    """For the test: what each of several workers (here threads) gets from your function."""
    return workers.in_step(lambda rank, all_sum: average_gradients(gradients[rank], counts[rank], all_sum), len(counts))[0]


# %% test="average" points=4
check = Check("average", points=4)
with check.idea("weighted by the examples"):
    equal_shares = check.run(all_workers, [[torch.tensor([6.0])], [torch.tensor([2.0])]], [5, 5])
    check.close(craft.then(equal_shares, lambda r: r[0][0]), [4.0], "two workers with equal shares: the plain mean of 6 and 2")
    unequal = check.run(all_workers, [[torch.tensor([4.0, 8.0])], [torch.tensor([8.0, -4.0])]], [2, 6])
    weighed = "one worker has 2 examples, the other 6: (2 · 4 + 6 · 8) / 8 = 7. Each worker's mean counts as often as it has examples"
    check.close(craft.then(unequal, lambda r: r[0][0]), [7.0, -1.0], weighed)
    ### BEGIN HIDDEN TESTS
    counts, given = [2, 3, 7], [[randn(6, dtype=torch.float64)] for _ in range(3)]
    grads = torch.stack([g[0] for g in given])
    heavy = torch.tensor(counts).double()[:, None]
    got = check.run(all_workers, given, counts)
    check.close(
        craft.then(got, lambda r: r[0][0]),
        (grads * heavy).sum(0) / 12,
        "for three workers with 2, 3 and 7 examples the average is wrong",
        rtol=5e-3,
    )
    asked = checks.Counted(lambda tensor: 3 * tensor)  # three workers that happen to be alike
    alike = check.run(lambda: average_gradients([torch.tensor([1.5, -2.0])], 4, asked))
    assumed = "three workers with the same gradients and counts: the average is that gradient. Do not assume how many workers there are"
    check.close(craft.then(alike, lambda r: r[0]), [1.5, -2.0], assumed)
    check.calls(asked, "all_sum is never called: the workers do not talk to each other")
    ### END HIDDEN TESTS
with check.part("the same on every worker"):
    other = "the second worker gets a different result from the first: all copies must take the same step"
    check.close(craft.then(unequal, lambda r: r[1][0]), craft.then(unequal, lambda r: r[0][0]), other)
with check.edge("inputs unchanged"):
    check.unchanged(all_workers, [[torch.ones(2)], [torch.full((2,), 3.0)]], [2, 3])
### BEGIN HIDDEN TESTS
with check.part("several layers"):
    layers = [(3, 4), (4,), (2, 1, 2)]
    given = [[randn(*s, dtype=torch.float64) for s in layers] for _ in counts]
    exact = [sum(n * g[i] for n, g in zip(counts, given)) / sum(counts) for i in range(3)]
    got = check.run(all_workers, given, counts)
    shapes = craft.then(got, lambda r: [list(g.shape) for g in r[0]])
    check.equal(shapes, [list(s) for s in layers], "the gradients must keep their shapes")
    flat = craft.then(got, lambda r: torch.cat([g.flatten() for g in r[0]]))
    check.close(flat, torch.cat([g.flatten() for g in exact]), "with several layers the average is wrong", rtol=5e-3, atol=5e-3)
with check.edge("digits"):
    lost_digits = "digits are lost on the way: exchange the gradients in their own dtype"
    check.close(flat, torch.cat([g.flatten() for g in exact]), lost_digits, rtol=1e-5, atol=1e-6)
    quarters = craft.then(check.run(all_workers, given, [1, 1, 2]), lambda r: torch.cat([g.flatten() for g in r[0]]))  # exact in float32
    exact = [(given[0][i] + given[1][i] + 2 * given[2][i]) / 4 for i in range(3)]
    check.close(quarters, torch.cat([g.flatten() for g in exact]), lost_digits, rtol=1e-12, atol=1e-14)
with check.edge("no examples, one worker"):
    given = [[torch.full((2,), 6.0)], [torch.zeros(2)], [torch.full((2,), 3.0)]]
    idle = "a worker without examples (count 0, gradients 0) takes part: all must call `all_sum` equally often"
    check.close(craft.then(check.run(all_workers, given, [1, 0, 2]), lambda r: r[1][0]), [4.0, 4.0], idle)
    single = check.run(all_workers, given[:1], [1])
    check.close(craft.then(single, lambda r: r[0][0]), [6.0, 6.0], "a single worker gets its own gradients back")
with check.edge("dtype of the gradients"):
    for kind in (torch.float32, torch.float64):
        one = check.measure(checks.inout, average_gradients, [torch.tensor([1 / 3], dtype=kind)], 3, torch.clone)[0]
        check.equal(
            craft.then(one, lambda r: str(r[0].dtype)), str(kind), f"gradients in {str(kind)[6:]} must come back in {str(kind)[6:]}"
        )
        lone = check.measure(checks.inout, average_gradients, [torch.tensor(1 / 3, dtype=kind)], 3, torch.clone)[0]
        check.equal(
            craft.then(lone, lambda r: str(r[0].dtype)),
            str(kind),
            f"a gradient without axes, in {str(kind)[6:]}, comes back in another dtype",
        )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: `torchrun`
# The cell runs the same training three times, on batches of 7 examples, which two workers cannot share evenly: in one process, with two workers as threads, and (at laptop scale) with two real processes that `torchrun` starts and that communicate over `gloo`.
# Your function is copied into the script.

# %% look=true
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
# The copies agree to the last bit with each other, and to about $10^{-16}$ with one process: a sum of two partial sums rounds differently from one sum.
# Here the weights are float64; in float32 expect $10^{-7}$.
#
# ### 2.2 Bonus: one call for everything <small>★★☆ · 20 min · 4 bonus points</small>
# Every call of `all_sum` costs a round trip, and a model has hundreds of tensors.
# Use exactly one call: pack all gradients, and the count, into one flat tensor, sum it, and unpack.
# PyTorch's `DistributedDataParallel` does this with its "buckets".


# %% exercise="bonus-bucket"
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


# %% test="bonus-bucket" points=4
check = Check("bonus-bucket", points=4)
with check.idea("everything in one packet"):
    given = [[torch.tensor([4.0, 8.0]), torch.tensor([[1.0]])], [torch.tensor([0.0, 0.0]), torch.tensor([[5.0]])]]
    packed = check.run(all_workers_at_once, given, [1, 3])
    averages = "[4, 8] and [0, 0], from 1 and 3 examples, give [1, 2]; [1] and [5] give [4]"
    slips = {"this is the plain mean over the workers: pack the counts, too": [2.0, 4.0, 3.0]}
    slips["this is the sum: divide by the total count, the last entry of the packet"] = [4.0, 8.0, 16.0]
    check.close(craft.then(packed, lambda r: torch.cat([g.flatten() for g in r[1]])), [1.0, 2.0, 4.0], averages, wrong=slips)
    asked = checks.Counted(lambda tensor: 2 * tensor)  # two workers that happen to be alike
    alike = check.run(lambda: average_in_one_call([torch.tensor([1.5, -2.0]), torch.tensor([[3.0]])], 4, asked))
    check.close(
        craft.then(alike, lambda r: torch.cat([g.flatten() for g in r])),
        [1.5, -2.0, 3.0],
        "two workers with the same gradients and counts: the average is that gradient",
    )
    check.calls(asked, "exactly one call of all_sum: pack the gradients and the count into one flat tensor", exactly=1)
    ### BEGIN HIDDEN TESTS
    layers = [(3, 4), (4,), (), (2, 1, 2)]
    given = [[randn(*s) for s in layers] for _ in range(3)]
    exact = torch.cat([(sum(n * g[i] for n, g in zip((2, 3, 7), given)) / 12).flatten() for i in range(4)])
    several = check.run(all_workers_at_once, given, [2, 3, 7])
    for rank in range(3):
        flat = craft.then(several, lambda r, rank=rank: torch.cat([g.flatten() for g in r[rank]]))
        check.close(flat, exact, "with several shapes (one of them a single number) and counts the averages are wrong")
    asked = checks.Counted(lambda tensor: 5 * tensor)
    check.run(lambda: average_in_one_call([randn(3), randn(2, 2), randn(1)], 3, asked))
    check.calls(asked, "exactly one call of all_sum, however many tensors there are", exactly=1)
    ### END HIDDEN TESTS
with check.part("unpacked again"):
    own_shapes = "the gradients must come back in their own shapes"
    check.equal(craft.then(packed, lambda r: [list(g.shape) for g in r[0]]), [[2], [1, 1]], own_shapes)
    ### BEGIN HIDDEN TESTS
    check.equal(craft.then(several, lambda r: [list(g.shape) for g in r[-1]]), [list(s) for s in layers], own_shapes)
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(all_workers_at_once, [[torch.ones(2)], [torch.full((2,), 3.0)]], [2, 3])
### BEGIN HIDDEN TESTS
with check.edge("all digits of float64"):
    given = [[randn(5, dtype=torch.float64)] for _ in range(2)]
    got = craft.then(check.run(all_workers_at_once, given, [2, 5]), lambda r: r[0][0].double())
    check.close(got, (2 * given[0][0] + 5 * given[1][0]) / 7, "digits are lost in float32: keep the dtype of the gradients", rtol=1e-12)
with check.edge("no examples, one worker"):
    got = check.run(all_workers_at_once, [[torch.full((2,), 6.0)], [torch.zeros(2)]], [4, 0])
    check.close(craft.then(got, lambda r: r[1][0]), [6.0, 6.0], "a worker without examples (count 0, gradients 0) takes part")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 3 The original Transformer against LLaMA's design, at equal cost
#
# Between 2017 and 2023 the block changed in five places: norms before the branches instead of after the sums, RMSNorm for LayerNorm, SwiGLU for ReLU, rotary for sinusoidal positions, no biases.
# People say that the result is "about 10 times more efficient".
# Is it, at a size you can train here?
# A fair comparison has equal parameters, equal compute, the same data in the same order, a learning rate chosen for *each* design, and several seeds.
#
# ### 3.1 Match the parameters <small>★☆☆ · 10 min · 2 points</small>
# A feed-forward layer with ReLU has two matrices, $D \times h$ and $h \times D$.
# SwiGLU has three of them.
# Which hidden width $h'$ gives it as many weights?
# Round to the *nearest* multiple of `multiple` (hardware likes multiples), but not below one `multiple`.


# %% exercise="match"
def gated_hidden(hidden, multiple=1):
    """Hidden width (an int) of a SwiGLU layer with as many weights as a ReLU layer of this hidden width, rounded."""
    ### BEGIN SOLUTION
    return multiple * max(1, round(hidden * 2 / 3 / multiple))
    ### END SOLUTION


# %% test="match" points=2
check = Check("match", points=2)
with check.idea("two thirds"):
    slips = {"three matrices instead of two: the hidden width shrinks, it does not stay": 288, "the factor is 2/3, not 1/2": 144}
    slips["the factor is inverted: three matrices need a smaller hidden width"] = 432
    check.equal(check.run(gated_hidden, 288), 192, "two matrices of D × 288 have as many weights as three of D × 192", wrong=slips)
    ### BEGIN HIDDEN TESTS
    for given in (3072, 999, 30):
        check.equal(check.run(gated_hidden, given), given * 2 // 3, "with other sizes the hidden width is wrong: 2/3 of it")
    ### END HIDDEN TESTS
with check.part("the nearest multiple"):
    slips = {"round to the nearest multiple, not down": 1360, "the result is a multiple of `multiple`": 1365}
    check.equal(check.run(gated_hidden, 2048, 8), 1368, "2/3 of 2048 is 1365.33: the nearest multiple of 8 is 1368", wrong=slips)
    ### BEGIN HIDDEN TESTS
    for given, multiple in [(2048, 64), (11008 * 3 // 2, 256), (100, 1), (64, 16), (1000, 7), (2048, 100)]:
        near = multiple * max(1, int(given * 2 / 3 / multiple + 0.5))
        check.equal(
            check.run(gated_hidden, given, multiple),
            near,
            "with other sizes the hidden width is wrong: 2/3 of it, to the nearest multiple",
        )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("not below one multiple"):
    check.equal(check.run(gated_hidden, 3, 8), 8, "not below one `multiple`: a layer of width 0 is not a layer")
with check.edge("an int"):
    check.true(check.run(lambda: type(gated_hidden(288, 8)) is int and type(gated_hidden(100)) is int), "a width is an int")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.2 Count the compute <small>★★☆ · 15 min · 3 points</small>
# Derive the FLOPs of training on a number of tokens (a multiply and an add are two):
#
# - A matrix of $N$ weights costs $2N$ per token forward.
#   Backward costs twice that: one product for the gradient of the input, one for the gradient of the weights.
# - Attention itself has no weights, but it computes, per token and layer, the scores of one query with $T$ keys and the weighted sum of $T$ values, each over the full width $D$.
#   (Count all $T$ keys, including the masked ones.)
#   Backward again costs twice as much.
#
# `weights` is the number of weights in all matrices that multiply, the output head included; looking up an embedding is free.


# %% exercise="compute"
def training_flops(weights, layers, width, context, tokens):
    """FLOPs of training (forward and backward) on this many tokens, in full contexts: an int."""
    ### BEGIN SOLUTION
    return tokens * (6 * weights + 12 * layers * width * context)
    ### END SOLUTION


# %% test="compute" points=3
check = Check("compute", points=3)
with check.idea("forward and backward"):
    slips = {"only the forward pass is counted: add the backward pass, which costs twice as much": 2000}
    slips |= {"a multiply and an add are two operations": 3000, "backward is counted like the forward pass: it costs twice as much": 4000}
    six = "without attention: 2 forward and 4 backward for every weight and token"
    check.equal(check.run(training_flops, 1000, 0, 0, 0, 1), 6000, six, wrong=slips)
    ### BEGIN HIDDEN TESTS
    for weights, tokens in [(192384, 512), (7, 27)]:
        check.equal(
            check.run(training_flops, weights, 0, 0, 0, tokens),
            6 * weights * tokens,
            "for more weights and tokens the count is wrong",
        )
    ### END HIDDEN TESTS
with check.part("attention"):
    slips = {"only the scores, or only the weighted sum, are counted: both cost 2 · T · D": 420, "only the forward pass is counted": 280}
    slips["this grows with T² for one token: a token has only T keys"] = 12 * 10 * 49
    both = "one layer of attention, one token: 2 · T · D for the scores, 2 · T · D for the weighted sum, and twice that backward"
    check.equal(check.run(training_flops, 0, 1, 10, 7, 1), 840, both, wrong=slips)
    ### BEGIN HIDDEN TESTS
    for layers, width, context, tokens in [(3, 72, 32, 512), (2, 16, 9, 27)]:
        right = tokens * 12 * layers * width * context
        check.equal(check.run(training_flops, 0, layers, width, context, tokens), right, "attention is miscounted for other sizes")
    together = check.run(training_flops, 50, 3, 8, 4, 2)
    check.equal(together, 2 * (300 + 1152), "weights and attention together: 6 · 50 + 12 · 3 · 8 · 4 FLOPs a token, for two tokens")
    block = models.Shape(13, width=12, heads=2, layers=2, context=8, activation="swiglu", hidden=20, bias=False)
    heavy = two_designs.multiplying_weights(models.LanguageModel(block))
    counted = two_designs.counted_flops(block, 3)
    check.equal(check.run(training_flops, heavy, 2, 12, 8, 3 * 8), counted, "torch's own count of a small model's training step differs")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("an int"):
    check.true(check.run(lambda: type(training_flops(7, 2, 4, 8, 3)) is int), "a count of operations is an int")
### END HIDDEN TESTS
check.score()

# %% look=true
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
        f"{title:<12} {models.parameters(model):>10,} parameters, {by_formula / 1e9:.4f} GFLOPs a step by your formula, "
        f"{two_designs.counted_flops(shape, compare_batch) / 1e9:.4f} counted by torch"
    )

# %% [markdown]
# At laptop scale the compute is equal to the last operation (at `gpu` scale to about 0.1 %, because the hidden width is rounded).
# The parameters differ by about one per cent: the original has biases, in its linear layers and in LayerNorm; LLaMA's design has one more norm, at the end.
#
# ### 3.3 How many times more efficient? <small>★★☆ · 20 min · 3 points</small>
# You get two curves of held-out loss against FLOPs, both with growing FLOPs.
# How many times fewer FLOPs does design B need to reach the *last* loss of design A?
#
# 1. Find B's first point whose loss is at most A's last loss.
#    If there is none, return `None`.
#    If it is B's very first point, use its FLOPs.
# 2. Otherwise interpolate between the point before it and this one: assume that the *logarithm* of the FLOPs is linear in the loss.
# 3. The answer is A's last FLOPs divided by B's FLOPs there.
#    Below 1 means that B is worse.


# %% exercise="efficiency"
def times_cheaper(flops_a, losses_a, flops_b, losses_b):
    """How many times fewer FLOPs B needs to reach A's last loss: a float, or None if B never reaches it."""
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


# %% test="efficiency" points=3
check = Check("efficiency", points=3)
with check.idea("FLOPs at the same loss"):
    got = check.run(times_cheaper, [2.0, 100.0], [4.0, 2.0], [1.0, 10.0, 100.0], [4.0, 2.0, 1.5])
    slips = {"this is the inverse: divide A's FLOPs by B's": 0.1, "this compares the losses: compare the FLOPs at the same loss": 2.0 / 1.5}
    check.close(got, 10.0, "B reaches A's last loss, 2, at 10 FLOPs; A took 100", rtol=1e-9, wrong=slips)
    ### BEGIN HIDDEN TESTS
    got = check.run(times_cheaper, [1.0, 10.0], [4.0, 3.0], [1.0, 100.0, 1000.0], [4.0, 3.0, 2.5])
    check.close(got, 0.1, "B needs more FLOPs than A: the answer is below 1", rtol=1e-9)
    got = check.run(times_cheaper, [1.0, 8.0, 64.0], [5.0, 3.0, 2.5], [2.0, 4.0, 16.0, 128.0], [4.5, 3.0, 2.5, 1.9])
    check.close(got, 4.0, "B reaches A's last loss, 2.5, at 16 FLOPs; A took 64", rtol=1e-9)
    ### END HIDDEN TESTS
with check.part("interpolation"):
    got = check.run(times_cheaper, [1.0, 100.0], [4.0, 2.0], [1.0, 100.0], [3.0, 1.0])
    slips = {"the FLOPs themselves are interpolated: interpolate their logarithms": 100 / 50.5}
    slips["you use the point at which B is better: interpolate between it and the point before"] = 1.0
    slips["you use the point before: interpolate between it and the next one"] = 100.0
    check.close(got, 10.0, "half-way between losses 3 and 1, on a log scale half-way between 1 and 100 FLOPs: 10", rtol=1e-9, wrong=slips)
    ### BEGIN HIDDEN TESTS
    got = check.run(times_cheaper, [1.0, 4.0], [4.0, 3.0], [4.0, 64.0], [4.0, 2.0])
    check.close(got, 0.25, "B needs four times A's FLOPs, half-way between its points: the answer is 1/4", rtol=1e-9)
    got = check.run(times_cheaper, [1.0, 64.0], [5.0, 2.25], [4.0, 64.0], [3.0, 2.0])
    later = check.run(times_cheaper, [1.0, 64.0], [5.0, 2.25], [1.0, 2.0, 4.0, 64.0, 99.0], [4.0, 3.5, 3.0, 2.0, 1.0])
    check.close(later, 64 / (4 * 16**0.75), "between B's third and fourth point: the interpolation is wrong", rtol=1e-9)
    check.close(got, 64 / (4 * 16**0.75), "three quarters of the way: the interpolation is wrong", rtol=1e-9)
    ### END HIDDEN TESTS
with check.part("never reached"):
    check.equal(
        check.run(times_cheaper, [1.0, 2.0], [4.0, 2.0], [1.0, 2.0], [4.0, 2.5]), None, "B never reaches A's last loss: return None"
    )
with check.edge("inputs unchanged"):
    check.unchanged(times_cheaper, [1.0, 2.0], [4.0, 2.0], [1.0, 2.0], [4.0, 1.0])
### BEGIN HIDDEN TESTS
with check.part("the first crossing"):
    got = check.run(times_cheaper, [1.0, 64.0], [5.0, 2.25], [2.0, 4.0, 16.0, 64.0, 256.0], [4.5, 2.25, 2.0, 2.5, 2.25])

    check.close(got, 16.0, "a curve that wiggles: the first point at or below the goal counts", rtol=1e-9)
with check.part("A's last loss"):
    got = check.run(times_cheaper, [1.0, 10.0, 20.0], [4.0, 3.0, 3.5], [1.0, 10.0, 20.0], [4.0, 3.5, 3.0])
    check.close(got, 2.0, "A's last loss counts, even if it was lower before", rtol=1e-9)
with check.edge("B's very first point"):
    got = check.run(times_cheaper, [1.0, 7.0, 50.0], [4.0, 3.5, 3.0], [5.0, 20.0], [2.0, 1.0])
    check.close(got, 10.0, "B is better at its very first point: use that point's FLOPs", rtol=1e-9)
with check.edge("all digits"):
    got = check.run(times_cheaper, [1.0, 7.0], [5.0, 2.5], [3.0, 11.0, 12.0], [3.5, 2.5, 1.5])
    check.close(got, 7 / 11, "the factor is rounded: return all its digits", rtol=1e-9)
with check.edge("reached at its last point"):
    got = check.run(times_cheaper, [1.0, 10.0], [4.0, 3.0], [1.0, 100.0], [4.0, 3.0])
    check.close(got, 0.1, "B reaches A's last loss exactly, at its very last point: at most counts, not only below", rtol=1e-9)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: loss against FLOPs
# First a learning rate for each design, on one seed; then the remaining seeds with the rate that was best.
# Both designs get the same batches, no dropout, starting weights that fit the design (`initialise` in `helpers/kit/models.py`), AdamW ($\beta = (0.9, 0.95)$, weight decay 0.1 on matrices), gradients clipped at 1, a warm-up over the first tenth and a constant rate after it.
# With a constant rate every later point of a curve is what a run of that length, with the same warm-up, would have given; with a cosine that ends later, earlier points would look worse than they should.
#
# *Before you run it:* write down the factor you expect.
# Which of the five changes do you think matters most at this size?

# %% look=true
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
        device=device,
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

# %% look=true
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
# On the machine this was written on, with three seeds and the laptop sizes (317 GFLOPs or 256,000 characters a run), we saw:
#
# | | original | LLaMA's |
# | --- | --- | --- |
# | last loss, nats per character: mean (range) | 1.94 (1.93 to 1.95) | 1.76 (1.75 to 1.78) |
# | chosen rate $\eta$ | 0.004 (0.002 gave the same on the first seed) | 0.002 |
# | FLOPs to reach the original's last loss | 1 | 1.8 to 2 times fewer |
# | CPU seconds per step | 1 | 1.25 to 1.4 times as many |
# | last loss if all linear layers start with a standard deviation of 0.02 | 2.04 | 1.88 |
#
# The ranges do not overlap.
# With three seeds that is a hint, not a proof: of the 20 ways to deal six losses to two designs, two separate them completely, so equal designs would do it in one case of ten.
# In CPU seconds the advantage is smaller, because RMSNorm, the gate and the rotation are many small operations that FLOP counts of matrix products do not see.
# The start matters, too: a standard deviation of 0.02 is GPT-2's, for a width of 768.
# These runs do not say how much of the factor would remain with a more finely tuned rate, or how it would change with more compute.
#
# Which of the five changes makes the difference?
# Try your guess.
# One run takes about as long as one of those above:
# ```python
# designs["one change"] = two_designs.changed(designs["original"], ["pre-norm"], gated_hidden(design_sizes["hidden"]))  # or RMSNorm, SwiGLU, RoPE, no biases
# print(curve_of("one change", 0.002, 0).losses[-1])
# ```
#
# ### 3.4 What did you see? <small>★★☆ · 25 min · 4 points, graded by hand</small>
# Report your comparison as you would in a paper: setting (parameters, tokens, FLOPs, how the rates were chosen, seeds), result with its spread, and the factor.
# Is "about 10 times more efficient" visible at this size?
# Name two reasons why the factor may be different at a thousand times the compute, one reason why FLOPs are not seconds, and one way in which your own comparison may be unfair to one of the designs.
# About 200 words, and no sentence stronger than your numbers.

# %% [markdown] written="written-comparison" points=4
# <!-- BEGIN SOLUTION -->
# **Model answer** (with the numbers of one machine; yours differ a little). Two language models over characters, 3 blocks of width 72, about 200,000 parameters each (equal to 1.2 %), 0.634 GFLOPs a step for both, 500 steps
# of 512 characters, the same batches, AdamW with warm-up and a constant rate. The rate was chosen for each design on one seed. Over three seeds the held-out loss was 1.94 (1.93 to 1.95) for the original and 1.76 (1.75 to 1.78)
# for LLaMA's design; the ranges do not overlap, which with three seeds is a hint, not a proof. LLaMA's design needed about 1.8 to 2 times fewer FLOPs to reach the original's last loss. "About 10 times" is not visible here. It is not refuted either: the runs are
# short, and the claim is about others. At a larger scale the factor may differ because post-norm becomes harder to train with depth and forces smaller rates, so the gap may grow with the number of blocks; and because a
# factor read off at one loss changes when the two curves have different slopes. It may also shrink: small changes of a design are often worth less once data are plentiful. FLOPs are not seconds: here a step of LLaMA's design
# took longer, since element-wise operations are limited by memory, not arithmetic. My comparison may be unfair to the original: it got no dropout and not its own schedule, and
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
# - You derive the limits of any floating-point format, read its bit patterns and round to it by hand.
# - You can say which bits buy range and which buy precision, and what loss scaling and autocast each protect.
# - You average gradients so that two processes are one, even when the shares are uneven, and with a single call.
# - You match two designs in parameters and count their training FLOPs before a run.
# - You have compared two designs at equal cost, and you know how far the result carries.
