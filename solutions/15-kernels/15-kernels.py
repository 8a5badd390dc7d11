# %% [markdown]
# # 15 · Kernels: attention on a GPU, on any computer
#
# | | |
# | --- | --- |
# | **You will be able to** | count the bytes and the operations of attention before you write it · write GPU kernels in Triton's language: masks, tiles, running sums, atomics · derive FlashAttention, forward and backward, and prove that its running softmax is right · say why the faster kernel is faster |
# | **You need** | `03-attention` and `04-linear-attention`; softmax and its gradient |
# | **Time** | about four and a half hours; each exercise says its own |
# | **Points** | 64, and 4 bonus |
#
# A GPU multiplies far faster than it reads.
# So the fastest way to compute attention is the one that moves the fewest bytes, even if it computes something twice.
# In this notebook you write the kernels yourself, in the language of Triton (Tillet, Kung and Cox, 2019).
# You do not need a GPU: `tiles`, a simulator, runs the same text on any computer.
# It counts every byte, it checks every address, and it says when two programs race for the same number.
# On a machine with a GPU the same cells run on the GPU.
#
# **Notation.**
# $T$ is the length of a sequence, $D$ the width of a head, $H$ the number of heads.
# A block has $B_M$ queries or $B_N$ keys.
# In code, `BM` and `BN`.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, run the test below it.
# Grading runs further checks of the same ideas.
# A test that fails tells you which idea to check.
# *Before you run it* marks a prediction: write it down first, on paper.

# %% locked="setup"
import math

import matplotlib.pyplot as plt
import torch

from helpers import checks
from helpers.checks import Check, randint, randn
from helpers.kernels import gpu, launches, unfused
from helpers.kit import plots
from helpers.kit.seeding import seed
from helpers.kit.tiles import tl, triton

# %% [markdown]
# ## 1 Count first
#
# A device has two speeds: $P$ floating-point operations (FLOP) per second, and $W$ bytes per second to and from its memory.
# A computation of $F$ FLOP that moves $X$ bytes has the **arithmetic intensity** $I = F / X$.
# It needs at least the time of the slower side, so it reaches at most $\min(P,\, I \cdot W)$ FLOP per second.
# This is the roofline (Williams, Waterman and Patterson, 2009).
# Left of the corner $I = P / W$ the memory limits the speed; right of it the arithmetic does.
#
# One head of attention without a mask has two matrix products: $QK^\top$ gives the scores, and the weights times $V$ give the output $O$.
# Each product has $T \cdot T \cdot D$ terms, and a term costs two FLOP.
# A number has $b$ bytes.
# $Q$, $K$ and $V$ are read once and $O$ is written once; if everything else stays on the chip, that is all.
# If the $T \times T$ matrix goes through memory, it does so four times: the scores are written, the softmax reads them and writes the weights, and the second product reads those.
# (The FLOP of the softmax are not counted here.)
#
# ### 1.1 Bytes, intensity, roofline <small>★☆☆ · 15 min · 5 points</small>
# *Before you run it:* how does the intensity grow with $T$, with and without the matrix?


# %% exercise="count-first"
def attention_bytes(T, D, b, matrix):
    """Bytes that one head moves, b bytes a number; `matrix` says whether the T × T matrix goes through memory."""
    ### BEGIN SOLUTION
    numbers = 4 * T * D
    if matrix:
        numbers += 4 * T * T
    return numbers * b
    ### END SOLUTION


def intensity(T, D, b, matrix):
    """FLOP per byte of one head of attention."""
    ### BEGIN SOLUTION
    return 4 * T * T * D / attention_bytes(T, D, b, matrix)
    ### END SOLUTION


def reachable(P, W, I):
    """FLOP per second that a device with P FLOP/s and W bytes/s reaches at most, at the intensity I."""
    ### BEGIN SOLUTION
    return min(P, I * W)
    ### END SOLUTION


# %% test="count-first" points=5
check = Check("count-first", points=5)
with check.idea("bytes, intensity, roofline"):
    moved = check.run(attention_bytes, 8, 2, 2, False)
    check.equal(moved, 128, "without the matrix: Q, K, V and O, 8 × 2 numbers each, 2 bytes a number")
    moved = check.run(attention_bytes, 8, 2, 2, True)
    check.equal(moved, 640, "with the matrix: 8 × 8 numbers also go through memory four times. What is written, what is read?")
    ratio = check.run(intensity, 8, 2, 2, False)
    check.close(ratio, 4.0, "two products of 8 · 8 · 2 terms, two FLOP a term: 512 FLOP for 128 bytes")
    slow, fast = check.run(reachable, 100.0, 10.0, 4.0), check.run(reachable, 100.0, 10.0, 25.0)
    check.close(
        torch.tensor([float(slow), float(fast)]), [40.0, 100.0], "the slower side decides: 4 FLOP a byte, 10 bytes a second; then the peak"
    )
    ### BEGIN HIDDEN TESTS
    for T, D, b in ((5, 3, 4), (100, 64, 2), (7, 9, 1)):
        for matrix in (False, True):
            moved = check.run(attention_bytes, T, D, b, matrix)
            check.equal(
                moved, b * (4 * T * D + (4 * T * T if matrix else 0)), "other sizes: four arrays of T × D, and the matrix four times"
            )
    ratio = check.run(intensity, 100, 64, 2, True)
    check.close(ratio, 100 * 64 / (2 * (100 + 64)), "with the matrix the intensity is T D / (b (T + D)): are both products counted?")
    ratio = check.run(intensity, 300, 64, 4, False)
    check.close(ratio, 300 / 4, "without the matrix the intensity is T / b, whatever the width is")
    check.close(check.run(reachable, 65.0, 0.32, 500.0), 65.0, "right of P / W the peak is reached, and no more")
    check.close(check.run(reachable, 65.0, 0.32, 100.0), 32.0, "left of P / W the memory decides: I · W")
    ### END HIDDEN TESTS
check.score()

# %% [markdown]
# Three devices, from their vendors' data sheets: dense fp16 with tensor cores, and the bandwidth of their memory.

# %% look=true
DEVICES = {"T4": (65e12, 320e9), "A100": (312e12, 2039e9), "H100": (989e12, 3350e9)}
figure, ax = plt.subplots(figsize=(9, 4))
intensities = [2.0**e for e in range(0, 13)]
for number, (device, (P, W)) in enumerate(DEVICES.items()):
    ax.loglog(
        intensities,
        [reachable(P, W, I) for I in intensities],
        label=f"{device}: P / W = {P / W:.0f} FLOP a byte",
        linestyle=plots.LINES[number],
        color=f"C{number}",
    )
for length in (512, 4096):
    ax.axvline(intensity(length, 64, 2, False), color="0.3", linestyle=":")
    ax.annotate(f"T = {length}, no matrix", (intensity(length, 64, 2, False), 1e12), rotation=90, ha="right", fontsize=9)
    ax.axvline(intensity(length, 64, 2, True), color="0.7", linestyle=":")
ax.set(xlabel="arithmetic intensity, FLOP a byte", ylabel="FLOP per second", title="The roofline; light dotted lines: with the matrix")
ax.legend()
plt.show()
for device, (P, W) in DEVICES.items():
    print(f"{device}: without the matrix, fp16 attention is bound by arithmetic from T = {2 * P / W:.0f} on")

# %% [markdown]
# Without the matrix the intensity is $T / b$: long sequences leave the memory behind.
# With it the intensity is $TD / (b\,(T + D)) < D / b$, which is 32 for $D = 64$ in fp16: left of the corner of every one of these devices, however long the sequence is.
# That is the whole case for FlashAttention (Dao et al., 2022).
#
# ## 2 Programs and masks
#
# A kernel is a function that many **programs** run at the same time, in any order.
# `tl.program_id(0)` says which one you are.
# A program works on **blocks**: arrays whose sides are powers of two.
# `tl.arange(0, BLOCK)` is a block of offsets; an argument that is a tensor is an address, and `x + offsets` is a block of addresses.
# `tl.load(addresses, mask=…, other=…)` and `tl.store(addresses, values, mask=…)` move numbers.
# Where the mask is false nothing is moved. There a load gives `other`. Without `other` the result is undefined: here it is NaN, so that you notice.
# Parameters marked `tl.constexpr` are known when the kernel is compiled; the sides of blocks must be such constants.
#
# A launch is `kernel[grid](arguments)`, and `grid` is a tuple: how many programs there are along each axis.
# `triton.cdiv(n, BLOCK)` is $\lceil n / \text{BLOCK} \rceil$.
#
# ### 2.1 Add <small>★☆☆ · 15 min · 5 points</small>
# Program $i$ adds the numbers $i \cdot \text{BLOCK}, \dots, (i + 1) \cdot \text{BLOCK} - 1$.
# The last block may not be full: nothing beyond number $n - 1$ may be read or written.
# Then write the launch.


# %% exercise="add"
@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    """out = x + y, all with n numbers; each program adds BLOCK of them."""
    ### BEGIN SOLUTION
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < n
    total = tl.load(x + places, mask=inside) + tl.load(y + places, mask=inside)
    tl.store(out + places, total, mask=inside)
    ### END SOLUTION


def add(a, b):
    """a + b for tensors of one shape, by `add_kernel` in blocks of 64."""
    ### BEGIN SOLUTION
    out = torch.empty_like(a)
    add_kernel[(triton.cdiv(a.numel(), 64),)](a, b, out, a.numel(), BLOCK=64)
    return out
    ### END SOLUTION


# %% test="add" points=5
check = Check("add", points=5)
with check.idea("add_kernel and its launch"):
    whole = torch.arange(32.0)
    run = check.measure(checks.traffic, add_kernel, (2,), whole, 10 * whole, torch.full((32,), torch.nan), 32, BLOCK=16)
    check.close(run.arrays["out"], 11 * whole, "two blocks of 16: program 1 starts at number 16. Does every program add its own block?")
    check.uses(add, "add_kernel", hint="add: the sum is the kernel's work: launch `add_kernel` with enough programs")
    check.close(
        check.run(add, torch.arange(64.0), torch.ones(64)),
        torch.arange(1.0, 65.0),
        "add: make an empty result, launch enough programs, return it",
    )
    ### BEGIN HIDDEN TESTS
    left, right = randn(256), randn(256)
    run = check.measure(checks.traffic, add_kernel, (8,), left, right, torch.full((256,), torch.nan), 256, BLOCK=32)
    check.close(run.arrays["out"], left + right, "eight blocks of 32: the sum is wrong")
    wide = randn(3, 64)
    check.close(check.run(add, wide, wide), 2 * wide, "add: 192 numbers need three programs of 64")
    ### END HIDDEN TESTS
with check.part("a last block that is not full"):
    run = check.measure(checks.traffic, add_kernel, (3,), whole.repeat(2)[:40], torch.ones(40), torch.full((40,), torch.nan), 40, BLOCK=16)
    check.close(run.arrays["out"], whole.repeat(2)[:40] + 1, "40 numbers in blocks of 16: mask everything after number 39")
    ### BEGIN HIDDEN TESTS
    odd = randn(101)
    run = check.measure(checks.traffic, add_kernel, (7,), odd, odd, torch.full((101,), torch.nan), 101, BLOCK=16)
    check.close(run.arrays["out"], 2 * odd, "101 numbers in blocks of 16: the sum is wrong")
    check.equal([run.loaded, run.stored], [808, 404], "every number is loaded once and stored once: 8 and 4 bytes for each sum")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("enough programs"):
    wide = randn(9, 15)
    check.close(
        check.run(add, wide, wide),
        2 * wide,
        "add: 135 numbers need three programs of 64, of which the last is not full: is the grid rounded up?",
    )
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(add, torch.ones(3, 5), torch.full((3, 5), 2.0))
check.score()

# %% [markdown]
# ### Look: which program touches what
# Step through the programs of a launch: which part of each array does each one load and store?

# %% look=true
seed(1)
watched = launches.watch(add_kernel, (4,), torch.randn(100), torch.randn(100), torch.zeros(100), 100, BLOCK=32)
launches.step_through(watched)

# %% [markdown]
# ## 3 Fusing
#
# Computed as a chain of five kernels (largest number, subtract it, exponential, sum, divide), the softmax of the rows of a matrix reads and writes the matrix again and again.
# For $n$ rows of $m$ numbers the chain loads $5nm + 2n$ numbers and stores $3nm + 2n$.

# %% look=true
matrix_to_weigh = torch.randn(20, 50)
_, chain_loaded, chain_stored = unfused.softmax(matrix_to_weigh)
print(f"five kernels: {chain_loaded:,} bytes loaded, {chain_stored:,} stored")
print(f"the formula:  {4 * (5 * 20 * 50 + 2 * 20):,} bytes loaded, {4 * (3 * 20 * 50 + 2 * 20):,} stored")
print(f"one kernel:   {4 * 20 * 50:,} bytes loaded, {4 * 20 * 50:,} stored, if it reads and writes every number once")

# %% [markdown]
# ### 3.1 Softmax in one kernel <small>★★☆ · 15 min · 5 points</small>
# One program per row. The whole row is one block, of which the first `columns` lanes count.
# Read every number once, write every number once.
#
# *Before you run it:* which `other` keeps the lanes beyond the end out of the maximum and out of the sum?


# %% exercise="softmax"
@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    """Softmax of each row of x (rows, columns) into out; program i takes row i, and columns ≤ BLOCK."""
    ### BEGIN SOLUTION
    row = tl.program_id(0) * columns
    places = tl.arange(0, BLOCK)
    inside = places < columns
    numbers = tl.load(x + row + places, mask=inside, other=float("-inf"))
    weights = tl.exp(numbers - tl.max(numbers, axis=0))
    tl.store(out + row + places, weights / tl.sum(weights, axis=0), mask=inside)
    ### END SOLUTION


# %% test="softmax" points=5
check = Check("softmax", points=5)
with check.idea("rows become weights"):
    ready = torch.tensor([[0.0, math.log(3.0)], [5.0, 5.0]])
    run = check.measure(checks.traffic, softmax_kernel, (2,), ready, torch.full((2, 2), torch.nan), 2, BLOCK=2)
    check.close(
        run.arrays["out"],
        [[0.25, 0.75], [0.5, 0.5]],
        "scores 0 and log 3 give 1 : 3. Is the sum over the row, and is every program at its own row?",
    )
    ### BEGIN HIDDEN TESTS
    scores = randn(5, 32)
    run = check.measure(checks.traffic, softmax_kernel, (5,), scores, torch.full((5, 32), torch.nan), 32, BLOCK=32)
    check.close(run.arrays["out"], scores.softmax(1), "rows of 32 numbers: the weights are wrong")
    ### END HIDDEN TESTS
with check.part("rows that do not fill the block"):
    ragged = torch.zeros(3, 5)
    run = check.measure(checks.traffic, softmax_kernel, (3,), ragged, torch.full((3, 5), torch.nan), 5, BLOCK=8)
    beyond = "five equal numbers in a block of 8 have the weight 1/5 each: which `other` keeps lanes beyond the end out of the sum?"
    check.close(run.arrays["out"], 0.2, beyond)
    ### BEGIN HIDDEN TESTS
    low = randn(4, 37) - 50
    run = check.measure(checks.traffic, softmax_kernel, (4,), low, torch.full((4, 37), torch.nan), 37, BLOCK=64)
    check.close(run.arrays["out"], low.softmax(1), beyond)
    ### END HIDDEN TESTS
with check.part("one read, one write"):
    check.counted((run.loaded == run.stored) & (run.loaded > 0), "a number is loaded or stored more than once: keep the row in a block")
    ### BEGIN HIDDEN TESTS
    check.equal([run.loaded, run.stored], [4 * 4 * 37, 4 * 4 * 37], "4 × 37 numbers: load each once and store each once")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("large scores"):
    steep = torch.tensor([[200.0, 0.0, -200.0, 199.0]])
    run = check.measure(checks.traffic, softmax_kernel, (1,), steep, torch.full((1, 4), torch.nan), 4, BLOCK=4)
    check.close(run.arrays["out"], steep.softmax(1), "scores of 200 overflow: subtract the row's largest number before exp")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 4 Tiles
#
# The product of $A$ ($M \times K$) and $B$ ($K \times N$) has $MNK$ terms.
# A program that computes one tile of $B_M \times B_N$ numbers reads $B_M$ rows of $A$ and $B_N$ columns of $B$.
# There are $\frac{M}{B_M} \cdot \frac{N}{B_N}$ tiles, so the numbers read are
#
# $$ \frac{M N}{B_M B_N} \,(B_M K + B_N K) = M N K \left( \frac{1}{B_N} + \frac{1}{B_M} \right), $$
#
# four bytes each in float32, if the tile sides divide $M$ and $N$.
# Tiles with twice the side read half as much: a number that is on the chip is used for a whole row or column of the tile.
#
# `tl.dot(a, b)` multiplies two blocks with sides of at least 16, of one type, and adds up in float32.
# On a GPU it may round float32 inputs to 10 bits of mantissa (tf32); `input_precision="ieee"` forbids it.
#
# ### 4.1 Matrix product <small>★★☆ · 25 min · 6 points</small>
# Program $(i, j)$ computes tile $(i, j)$ of $C$, going through $K$ in steps of `BK`.
# $M$, $N$ and $K$ need not be multiples of the tile.
# `block[:, None]` and `block[None, :]` add an axis, and masks are joined with `&`.


# %% exercise="matmul"
@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """c (M, N) = a (M, K) @ b (K, N), one tile of BM × BN per program (i, j)."""
    ### BEGIN SOLUTION
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        inner = start + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        right = tl.load(b + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=(rows[:, None] < M) & (columns[None, :] < N))
    ### END SOLUTION


def matmul_bytes(M, N, K, BM, BN):
    """Bytes that such a product loads in float32, where BM divides M and BN divides N."""
    ### BEGIN SOLUTION
    return 4 * M * N * K * (1 / BM + 1 / BN)
    ### END SOLUTION


# %% test="matmul" points=6
check = Check("matmul", points=6)
with check.idea("matmul_kernel and matmul_bytes"):
    ones = torch.ones(16, 32)
    run = check.measure(
        checks.traffic,
        matmul_kernel,
        (1, 2),
        ones,
        ones.T.contiguous() @ torch.eye(16, 32),
        torch.full((16, 32), torch.nan),
        16,
        32,
        32,
        BM=16,
        BN=16,
        BK=16,
    )
    halves = torch.cat([torch.full((16, 16), 32.0), torch.zeros(16, 16)], 1)
    check.close(
        run.arrays["c"],
        halves,
        "ones times ones over 32 terms is 32, in two steps of 16: is there a loop over K, and is the second tile at its own place?",
    )
    check.close(
        check.run(matmul_bytes, 32, 32, 32, 16, 16),
        16384.0,
        "2 × 2 tiles; each reads 16 rows and 16 columns of 32 numbers, 4 bytes a number",
    )
    ### BEGIN HIDDEN TESTS
    first, second = randn(32, 64), randn(64, 48)
    run = check.measure(
        checks.traffic, matmul_kernel, (2, 3), first, second, torch.full((32, 48), torch.nan), 32, 48, 64, BM=16, BN=16, BK=32
    )
    check.close(
        run.arrays["c"], first @ second, "32 × 64 times 64 × 48: the product is wrong. Which axis has which stride?", atol=1e-4, rtol=1e-4
    )
    check.close(
        check.run(matmul_bytes, 96, 64, 40, 48, 16),
        4 * 96 * 64 * 40 * (1 / 48 + 1 / 16),
        "tiles that are not square: rows of a are read once per column of tiles",
    )
    ### END HIDDEN TESTS
with check.part("sides that are not multiples"):
    run = check.measure(
        checks.traffic,
        matmul_kernel,
        (2, 1),
        torch.ones(20, 18),
        torch.ones(18, 5),
        torch.full((20, 5), torch.nan),
        20,
        5,
        18,
        BM=16,
        BN=16,
        BK=16,
    )
    check.close(run.arrays["c"], 18.0, "18 terms in steps of 16: mask rows, columns and terms beyond the end, and let them count as 0")
    ### BEGIN HIDDEN TESTS
    first, second = randn(40, 50), randn(50, 33)
    run = check.measure(
        checks.traffic, matmul_kernel, (2, 3), first, second, torch.full((40, 33), torch.nan), 40, 33, 50, BM=32, BN=16, BK=16
    )
    check.close(
        run.arrays["c"], first @ second, "40 × 50 times 50 × 33: the product is wrong where tiles are not full", atol=1e-4, rtol=1e-4
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("traffic"):
    for BM, BN in ((16, 16), (32, 16), (64, 32)):
        run = check.measure(
            checks.traffic,
            matmul_kernel,
            (64 // BM, 64 // BN),
            randn(64, 64),
            randn(64, 64),
            torch.full((64, 64), torch.nan),
            64,
            64,
            64,
            BM=BM,
            BN=BN,
            BK=16,
        )
        check.equal(
            run.loaded,
            4 * 64**3 // BM + 4 * 64**3 // BN,
            "a program loads more than its rows of a and its columns of b, or loads them twice",
        )
        check.equal([run.stored, run.flops], [4 * 64 * 64, 2 * 64**3], "each number of c is stored once, and the work is in `tl.dot`")
### END HIDDEN TESTS
check.score()

# %% look=true
for tile in (16, 32, 64):
    squares = torch.randn(64, 64), torch.randn(64, 64), torch.zeros(64, 64)
    counted = checks.traffic(matmul_kernel, (64 // tile, 64 // tile), *squares, 64, 64, 64, BM=tile, BN=tile, BK=16).loaded
    print(f"tiles of {tile} × {tile}: counted {counted:,}, by the formula {matmul_bytes(64, 64, 64, tile, tile):,.0f} bytes")
watched = launches.watch(
    matmul_kernel, (2, 2), torch.randn(32, 32), torch.randn(32, 32), torch.zeros(32, 32), 32, 32, 32, BM=16, BN=16, BK=16
)
launches.still(watched)
plt.show()

# %% [markdown]
# ## 5 Softmax in pieces
#
# For the softmax of a row of scores $s_j$ two numbers are enough: the largest score $m$, and $l = \sum_j e^{s_j - m}$.
# They can be computed for each part of the row separately, and then merged:
#
# $$ (m_1, l_1) \oplus (m_2, l_2) = (m,\; l_1 e^{m_1 - m} + l_2 e^{m_2 - m}), \qquad m = \max(m_1, m_2). $$
#
# Why may you merge in any order and with any brackets?
# A pair stands for the number $l e^m = \sum_j e^{s_j}$, and merging adds these numbers:
# $\bigl(l_1 e^{m_1 - m} + l_2 e^{m_2 - m}\bigr) e^m = l_1 e^{m_1} + l_2 e^{m_2}$.
# Addition is associative and commutative, and so is the maximum. So $\oplus$ is both.
#
# ### 5.1 Merge <small>★★☆ · 10 min · 4 points</small>
# The pair of no scores at all is $(-\infty, 0)$, and two of those must not give NaN.


# %% exercise="merge"
def merge(first, second):
    """The pair (m, l) of two parts of a row, from the pairs of the parts; m and l are tensors of one shape."""
    ### BEGIN SOLUTION
    m = torch.maximum(first[0], second[0])
    finite = torch.where(m == -torch.inf, 0.0, m)
    return m, first[1] * (first[0] - finite).exp() + second[1] * (second[0] - finite).exp()
    ### END SOLUTION


# %% test="merge" points=4
check = Check("merge", points=4)
with check.idea("two parts, one row"):
    both = check.run(merge, (torch.tensor(math.log(2.0)), torch.tensor(2.0)), (torch.tensor(math.log(4.0)), torch.tensor(1.0)))
    check.close(both[0], math.log(4.0), "the larger of the two maxima is the maximum")
    check.close(both[1], 2.0, "2 · 2 + 1 · 4 = 8 = l e^m with e^m = 4: both sums are brought to the new maximum")
    ### BEGIN HIDDEN TESTS
    row = 3 * randn(4, 60)
    parts = [(p.amax(1), (p - p.amax(1, keepdim=True)).exp().sum(1)) for p in row.split([7, 20, 1, 32], 1)]
    pair = check.run(merge, parts[0], parts[1])
    check.close(
        pair[0] + pair[1].log(),
        row[:, :27].logsumexp(1),
        "the merged pair represents the wrong sum of exponentials: which sum is multiplied by which exponential?",
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("any brackets, any order"):
    left = check.run(merge, check.run(merge, check.run(merge, parts[0], parts[1]), parts[2]), parts[3])
    right = check.run(merge, parts[0], check.run(merge, parts[1], check.run(merge, parts[2], parts[3])))
    swapped = check.run(merge, check.run(merge, parts[3], parts[1]), check.run(merge, parts[2], parts[0]))
    for brackets in (left, right, swapped):
        check.close(brackets[0], row.amax(1), "with different brackets the maximum is different")
        check.close(brackets[1], (row - row.amax(1, keepdim=True)).exp().sum(1), "with different brackets the sum is different")
### END HIDDEN TESTS
with check.edge("nothing seen yet"):
    nothing = (torch.tensor(-torch.inf), torch.tensor(0.0))
    alone = check.run(merge, nothing, (torch.tensor(3.0), torch.tensor(2.0)))
    check.close(alone[1], 2.0, "a part without scores, (−∞, 0), changes nothing")
    empty = check.run(merge, nothing, nothing)
    check.close(empty[1], 0.0, "two parts without scores: −∞ − (−∞) is NaN. Subtract something finite there")
### BEGIN HIDDEN TESTS
with check.edge("pairs unchanged"):
    check.unchanged(merge, (torch.tensor([1.0, 5.0]), torch.tensor([2.0, 3.0])), (torch.tensor([4.0, 2.0]), torch.tensor([1.0, 7.0])))
with check.edge("scores of ±200"):
    far = check.run(merge, (torch.tensor(-200.0), torch.tensor(1.0)), (torch.tensor(200.0), torch.tensor(1.0)))
    check.close(far[1], 1.0, "e²⁰⁰ overflows: exponentiate only differences from the new maximum")
    for m in (-200.0, 200.0):
        near = check.run(merge, (torch.tensor(m), torch.tensor(2.0)), (torch.tensor(m - math.log(2.0)), torch.tensor(4.0)))
        check.close(near[1], 4.0, "two parts with maxima around ±200: exponentiate only differences from the new maximum")
        near = check.run(merge, (torch.tensor(m - math.log(2.0)), torch.tensor(4.0)), (torch.tensor(m), torch.tensor(2.0)))
        check.close(near[1], 4.0, "two parts with maxima around ±200: exponentiate only differences from the new maximum")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: attention in tiles, in plain torch
# Nothing about this needs a GPU.
# The block loop below keeps, for each query, $m$, $l$ and the unfinished output $o = \sum_j e^{s_j - m} v_j$.
# When the maximum grows from $m$ to $m'$, both sums are multiplied by $e^{m - m'}$.
# In the end the output is $o / l$, and the log-sum-exp of the scores is $m + \log l$.


# %% look=true
def tiled_attention(q, k, v, block):
    """Attention of q, k, v (T, D), visiting `block` keys at a time."""
    top, total, mixed = torch.full((len(q), 1), -torch.inf), torch.zeros(len(q), 1), torch.zeros_like(q)
    for keys, values in zip(k.split(block), v.split(block)):
        scores = q @ keys.T / q.shape[1] ** 0.5
        new_top = torch.maximum(top, scores.amax(1, keepdim=True))
        weights, old = (scores - new_top).exp(), (top - new_top).exp()
        total, mixed, top = total * old + weights.sum(1, keepdim=True), mixed * old + weights @ values, new_top
    return mixed / total


def with_matrix(q, k, v):
    """The same by way of the T × T matrix."""
    return (q @ k.T / q.shape[1] ** 0.5).softmax(1) @ v


seed(2)
q, k, v = torch.randn(3, 512, 32)
print("largest difference:", f"{(tiled_attention(q, k, v, 64) - with_matrix(q, k, v)).abs().max():.1e}")
print(
    "largest tensor with the matrix:",
    f"{checks.cost(with_matrix, q, k, v).largest:,}",
    "numbers; in tiles:",
    f"{checks.cost(tiled_attention, q, k, v, 64).largest:,}",
)

# %% [markdown]
# ## 6 FlashAttention
#
# Now the same as a kernel.
# Program $(i, h)$ takes `BM` queries of head $h$ and walks through all keys, `BN` at a time.
# $Q$, $K$, $V$ and $O$ have the shape $(H, T, D)$ and are contiguous, so head $h$ begins at number $h T D$.
# Each program reads its queries once, and all keys and values of its head.
# With $n = \lceil T / B_M \rceil$ blocks of queries the kernel loads $4H\,(TD + 2nTD)$ bytes, and stores $4H\,(TD + T)$.
#
# ### 6.1 Forward <small>★★★ · 45 min · 10 points</small>
# Write $O$, and the log-sum-exp of every row of scores, which the backward pass will need.
# $T$ may be any number: what lies beyond the end is not loaded, gets no weight, and is not stored.
# The scores are multiplied by `scale`.
#
# *Before you run it:* which of your two masks makes the result wrong when it is missing, and which one makes the kernel crash?


# %% exercise="flash"
@triton.jit
def flash_kernel(q, k, v, out, lse, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Attention of q, k, v (H, T, D) into out (H, T, D), log-sum-exp of the scores into lse (H, T); program (i, h)."""
    ### BEGIN SOLUTION
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    head = tl.program_id(1) * T
    width = tl.arange(0, D)
    places = (head + rows)[:, None] * D + width[None, :]
    queries = tl.load(q + places, mask=rows[:, None] < T, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    mixed = tl.zeros((BM, D), tl.float32)
    for start in range(0, T, BN):
        columns = start + tl.arange(0, BN)
        at = (head + columns)[:, None] * D + width[None, :]
        keys = tl.load(k + at, mask=columns[:, None] < T, other=0.0)
        values = tl.load(v + at, mask=columns[:, None] < T, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale
        scores = tl.where(columns[None, :] < T, scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new_top[:, None])
        old = tl.exp(top - new_top)
        total = total * old + tl.sum(weights, axis=1)
        mixed = mixed * old[:, None] + tl.dot(weights, values, input_precision="ieee")
        top = new_top
    tl.store(out + places, mixed / total[:, None], mask=rows[:, None] < T)
    tl.store(lse + head + rows, top + tl.log(total), mask=rows < T)
    ### END SOLUTION


# %% test="flash" points=10
check = Check("flash", points=10)
nan = torch.nan
with check.idea("a running softmax"):
    ask, key = torch.zeros(1, 32, 16), torch.zeros(1, 32, 16)
    ask[..., 0], key[0, 20, 0] = 1.0, 2 * math.log(31.0)  # one score of log 31 and 31 of 0: half of the weight each
    give = torch.zeros(1, 32, 16)
    give[0, 20], give[0, 3] = 8.0, 62.0
    run = check.measure(
        checks.traffic,
        flash_kernel,
        (2, 1),
        ask,
        key,
        give,
        torch.full((1, 32, 16), nan),
        torch.full((1, 32), nan),
        32,
        0.5,
        D=16,
        BM=16,
        BN=16,
    )
    check.close(
        run.arrays["out"],
        5.0,
        "half of the weight is on key 20, in the second block, 1/62 on key 3: 8/2 + 62/62 = 5. Are both sums rescaled, and divided at the end?",
        atol=1e-4,
    )
    ### BEGIN HIDDEN TESTS
    ask, key, give = randn(2, 64, 32), randn(2, 64, 32), randn(2, 64, 32)
    run = check.measure(
        checks.traffic,
        flash_kernel,
        (2, 2),
        ask,
        key,
        give,
        torch.full((2, 64, 32), nan),
        torch.full((2, 64), nan),
        64,
        0.3,
        D=32,
        BM=32,
        BN=32,
    )
    check.ranked("bytes moved for two heads of 64 queries", run)
    scores = ask @ key.mT * 0.3
    steps = "two heads, two blocks of queries, two of keys: the output is wrong. Head, block, scale, accumulator?"
    blockwise, whole = run.arrays["out"], scores.softmax(-1) @ give
    check.close(
        run.arrays["out"],
        scores.softmax(-1) @ give,
        steps,
        atol=1e-2,
        rtol=1e-2,
        wrong={
            "the scores are not multiplied by the argument `scale`": (ask @ key.mT).softmax(-1) @ give,
            "the scale is written as a constant, 1/√D: multiply by the argument `scale`": (ask @ key.mT / 32**0.5).softmax(-1) @ give,
            "the output is not divided by the sum of the weights": (scores - scores.amax(-1, keepdim=True)).exp() @ give,
            "the weights are applied to the keys: apply them to the values": scores.softmax(-1) @ key,
            "every head gets the result of the first one: where does head h begin?": (scores.softmax(-1) @ give)[:1].expand(2, -1, -1),
            "only the last block of keys counts: the sums of earlier blocks are lost": scores[..., 32:].softmax(-1) @ give[:, 32:],
            "only the first block of keys counts": scores[..., :32].softmax(-1) @ give[:, :32],
        },
    )
    ### END HIDDEN TESTS
with check.part("log-sum-exp"):
    flat = torch.zeros(1, 32, 16)
    run = check.measure(
        checks.traffic,
        flash_kernel,
        (2, 1),
        flat,
        flat,
        flat,
        torch.full((1, 32, 16), nan),
        torch.full((1, 32), nan),
        32,
        1.0,
        D=16,
        BM=16,
        BN=16,
    )
    check.close(run.arrays["lse"], math.log(32.0), "32 scores of 0: the log-sum-exp is log 32 = m + log l")
    ### BEGIN HIDDEN TESTS
    run = check.measure(
        checks.traffic,
        flash_kernel,
        (4, 2),
        ask,
        key,
        give,
        torch.full((2, 64, 32), nan),
        torch.full((2, 64), nan),
        64,
        0.3,
        D=32,
        BM=16,
        BN=32,
    )
    check.close(run.arrays["lse"], scores.logsumexp(-1), "the log-sum-exp of a row is m + log l, of the scaled scores", atol=1e-4)
    ### END HIDDEN TESTS
with check.part("any length"):
    ends = "the last block is not full: keys beyond the end must have the weight 0, and nothing beyond it is loaded or stored"
    short = torch.ones(2, 20, 16)
    run = check.measure(
        checks.traffic,
        flash_kernel,
        (2, 2),
        short,
        short,
        short,
        torch.full((2, 20, 16), nan),
        torch.full((2, 20), nan),
        20,
        1.0,
        D=16,
        BM=16,
        BN=16,
    )
    check.close(run.arrays["lse"], 16 + math.log(20.0), ends)
    ### BEGIN HIDDEN TESTS
    for T, BM, BN in ((100, 32, 32), (50, 16, 16), (40, 32, 32)):
        ask, key, give = randn(2, T, 16), randn(2, T, 16), randn(2, T, 16) + 2
        run = check.measure(
            checks.traffic,
            flash_kernel,
            (-(-T // BM), 2),
            ask,
            key,
            give,
            torch.full((2, T, 16), nan),
            torch.full((2, T), nan),
            T,
            0.25,
            D=16,
            BM=BM,
            BN=BN,
        )
        check.close(run.arrays["out"], (ask @ key.mT * 0.25).softmax(-1) @ give, ends, atol=2e-2, rtol=1e-2)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("float32 all the way"):
    rounded = "the output is wrong by more than 1e-4: accumulator, weights and values stay in float32"
    check.close(blockwise, whole, rounded, atol=1e-4, rtol=1e-4)
with check.part("every number once per block"):
    check.equal(
        run.loaded,
        4 * 2 * (40 * 16 + 2 * 2 * 40 * 16),
        "a program loads its queries once, and each key and value once: something is loaded again, or not at all",
    )
    check.equal(run.stored, 4 * 2 * (40 * 16 + 40), "each output and each log-sum-exp is stored once")
    check.equal(run.flops, 2 * 2 * 2 * 2 * 2 * 32 * 32 * 16, "two products for each pair of blocks, both with `tl.dot`")
with check.edge("unequal blocks"):
    for T, BM, BN in ((48, 16, 64), (48, 64, 16)):
        ask, key, give = randn(1, T, 16), randn(1, T, 16), randn(1, T, 16)
        run = check.measure(
            checks.traffic,
            flash_kernel,
            (-(-T // BM), 1),
            ask,
            key,
            give,
            torch.full((1, T, 16), nan),
            torch.full((1, T), nan),
            T,
            0.25,
            D=16,
            BM=BM,
            BN=BN,
        )
        check.close(
            run.arrays["out"],
            (ask @ key.mT * 0.25).softmax(-1) @ give,
            "blocks of 16 queries and 64 keys, or 64 and 16: is one size used for the other?",
            atol=1e-4,
            rtol=1e-4,
        )
with check.edge("scores of ±200"):
    rising = torch.linspace(-200, 200, 64).repeat(1, 1, 1).mT * torch.eye(1, 16)
    for keys_in_order in (rising, rising.flip(1)):
        ask, give = torch.tensor([1.0, -1.0]).repeat(32)[None, :, None] * torch.eye(1, 16), randn(1, 64, 16)
        run = check.measure(
            checks.traffic,
            flash_kernel,
            (2, 1),
            ask,
            keys_in_order,
            give,
            torch.full((1, 64, 16), nan),
            torch.full((1, 64), nan),
            64,
            1.0,
            D=16,
            BM=32,
            BN=16,
        )
        check.close(
            run.arrays["out"],
            (ask @ keys_in_order.mT).softmax(-1) @ give,
            "scores of ±200: every row has its own running maximum, which starts at minus infinity",
            atol=1e-4,
            rtol=1e-4,
        )
    low = -200 * torch.ones(1, 64, 16) / 16 + 0.1 * randn(1, 64, 16)
    ask = torch.tensor([1.0, -1.0]).repeat(32)[None, :, None] * torch.ones(1, 64, 16)
    run = check.measure(
        checks.traffic,
        flash_kernel,
        (2, 1),
        ask,
        low,
        give,
        torch.full((1, 64, 16), nan),
        torch.full((1, 64), nan),
        64,
        1.0,
        D=16,
        BM=32,
        BN=16,
    )
    check.close(
        run.arrays["out"],
        (ask @ low.mT).softmax(-1) @ give,
        "one query has scores around −200, the next around 200: each has its own running maximum, which starts at minus infinity, not at 0",
        atol=1e-4,
        rtol=1e-4,
    )
### END HIDDEN TESTS
check.score()


# %% [markdown]
# ### Look: on a GPU, and on one that you do not have
# The function below launches your kernel. With a GPU it is timed against torch's fused attention and against the form with the matrix.
# Where Triton is installed, the second cell compiles your kernel for an A100 (sm_80), without having one: how much shared memory does a program take, and does it use the tensor cores?


# %% look=true
def flash_attention(q, k, v, BM=64, BN=32):
    """Attention of contiguous q, k, v (H, T, D), by `flash_kernel`."""
    H, T, D = q.shape
    out, lse = torch.empty_like(q), q.new_empty(H, T)
    flash_kernel[(triton.cdiv(T, BM), H)](q, k, v, out, lse, T, D**-0.5, D=D, BM=BM, BN=BN)
    return out


print(gpu.compare(flash_attention))

# %% look=true
names_and_types = {**dict.fromkeys(("q", "k", "v", "out", "lse"), "*fp32"), "T": "i32", "scale": "fp32"}
compiled = gpu.compiled_for_a100(flash_kernel, names_and_types, {"D": 64, "BM": 64, "BN": 32})
print(gpu.NO_TRITON if compiled is None else compiled)

# %% [markdown]
# With `input_precision="ieee"` there are no tensor-core instructions for float32: tensor cores read tf32, fp16, bf16 and shorter.
#
# ## 7 Causal: what is not computed is fastest
#
# With a causal mask, query $t$ sees keys $0, \dots, t$.
# A block of queries needs no block of keys that begins after its last query.
# With $T = nB$ and blocks of $B$ queries and $B$ keys, block $i$ of the queries (counted from 1) reads $i$ blocks of keys.
# That makes $\frac{n(n+1)}{2}$ blocks instead of $n^2$: the bytes of $K$ and $V$ fall to a share of $\frac{n + 1}{2n}$.
#
# ### 7.1 Causal FlashAttention <small>★★☆ · 20 min · 6 points</small>
# The same as 6.1 with a causal mask.
# Do not load a block of keys if no query of the program's block may see it. (`tl.minimum` may help with the end of the loop.)


# %% exercise="causal"
@triton.jit
def causal_kernel(q, k, v, out, lse, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Causal attention of q, k, v (H, T, D) into out, log-sum-exp into lse (H, T); program (i, h)."""
    ### BEGIN SOLUTION
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    head = tl.program_id(1) * T
    width = tl.arange(0, D)
    places = (head + rows)[:, None] * D + width[None, :]
    queries = tl.load(q + places, mask=rows[:, None] < T, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    mixed = tl.zeros((BM, D), tl.float32)
    end = tl.minimum(T, (tl.program_id(0) + 1) * BM)
    for start in range(0, end, BN):
        columns = start + tl.arange(0, BN)
        at = (head + columns)[:, None] * D + width[None, :]
        keys = tl.load(k + at, mask=columns[:, None] < T, other=0.0)
        values = tl.load(v + at, mask=columns[:, None] < T, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale
        scores = tl.where((columns[None, :] <= rows[:, None]) & (columns[None, :] < T), scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new_top[:, None])
        old = tl.exp(top - new_top)
        total = total * old + tl.sum(weights, axis=1)
        mixed = mixed * old[:, None] + tl.dot(weights, values, input_precision="ieee")
        top = new_top
    tl.store(out + places, mixed / total[:, None], mask=rows[:, None] < T)
    tl.store(lse + head + rows, top + tl.log(total), mask=rows < T)
    ### END SOLUTION


# %% test="causal" points=6
check = Check("causal", points=6)
nan = torch.nan
with check.idea("the past only"):
    flat = torch.zeros(1, 32, 16)
    count = torch.arange(32.0)[None, :, None].repeat(1, 1, 16)
    run = check.measure(
        checks.traffic,
        causal_kernel,
        (2, 1),
        flat,
        flat,
        count,
        torch.full((1, 32, 16), nan),
        torch.full((1, 32), nan),
        32,
        1.0,
        D=16,
        BM=16,
        BN=16,
    )
    check.close(
        run.arrays["out"],
        count / 2,
        "equal scores: query t mixes values 0 … t, whose mean is t/2. Does it see itself, and nothing later?",
        atol=1e-4,
    )
    ### BEGIN HIDDEN TESTS
    lower = torch.ones(64, 64, dtype=torch.bool).tril()
    ask, key, give = randn(2, 64, 16), randn(2, 64, 16), randn(2, 64, 16)
    seen = (ask @ key.mT * 0.3).masked_fill(~lower, -torch.inf)
    run = check.measure(
        checks.traffic,
        causal_kernel,
        (2, 2),
        ask,
        key,
        give,
        torch.full((2, 64, 16), nan),
        torch.full((2, 64), nan),
        64,
        0.3,
        D=16,
        BM=32,
        BN=32,
    )
    check.close(
        run.arrays["out"],
        seen.softmax(-1) @ give,
        "two heads, two blocks: the output differs from causal attention",
        atol=1e-4,
        rtol=1e-4,
        wrong={
            "a query does not see its own key: key t is for query t": (ask @ key.mT * 0.3).masked_fill(~lower.tril(-1), -1e9).softmax(-1)
            @ give,
            "there is no causal mask: a query sees later keys": (ask @ key.mT * 0.3).softmax(-1) @ give,
            "the mask is reversed: a query sees the keys after it": (ask @ key.mT * 0.3).masked_fill(lower.tril(-1), -torch.inf).softmax(-1)
            @ give,
        },
    )
    check.close(run.arrays["lse"], seen.logsumexp(-1), "the log-sum-exp covers only the scores that the query may see", atol=1e-4)
    ### END HIDDEN TESTS
with check.part("blocks are skipped"):
    run = check.measure(
        checks.traffic,
        causal_kernel,
        (2, 1),
        flat,
        flat,
        count,
        torch.full((1, 32, 16), nan),
        torch.full((1, 32), nan),
        32,
        1.0,
        D=16,
        BM=16,
        BN=16,
    )
    check.counted(
        run.loaded == 4 * (32 * 16 + 2 * 3 * 16 * 16),
        "two blocks of queries need 1 + 2 blocks of keys and of values: load no others",
    )
    ### BEGIN HIDDEN TESTS
    run = check.measure(
        checks.traffic,
        causal_kernel,
        (4, 2),
        ask,
        key,
        give,
        torch.full((2, 64, 16), nan),
        torch.full((2, 64), nan),
        64,
        0.3,
        D=16,
        BM=16,
        BN=16,
    )
    check.equal(
        run.loaded, 4 * 2 * (64 * 16 + 2 * 10 * 16 * 16), "four blocks of queries need 1 + 2 + 3 + 4 blocks of keys: (n + 1)/2n of all"
    )
    check.equal(run.flops, 2 * 10 * 2 * 2 * 16 * 16 * 16, "fully masked blocks are computed and thrown away: skip them")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("any length, any blocks"):
    for T, BM, BN in ((50, 16, 32), (40, 32, 16), (100, 64, 32)):
        lower = torch.ones(T, T, dtype=torch.bool).tril()
        ask, key, give = randn(2, T, 16), randn(2, T, 16), randn(2, T, 16)
        run = check.measure(
            checks.traffic,
            causal_kernel,
            (-(-T // BM), 2),
            ask,
            key,
            give,
            torch.full((2, T, 16), nan),
            torch.full((2, T), nan),
            T,
            0.25,
            D=16,
            BM=BM,
            BN=BN,
        )
        check.close(
            run.arrays["out"],
            (ask @ key.mT * 0.25).masked_fill(~lower, -torch.inf).softmax(-1) @ give,
            "unequal blocks or a last block that is not full: where does the loop over keys end?",
            atol=1e-4,
            rtol=1e-4,
        )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 8 Backward
#
# Let $P$ be the weights, $O = PV$, and $dO$ the gradient of the loss with respect to $O$.
# Then $dV = P^\top dO$ and $dP = dO\,V^\top$.
# The gradient of a softmax (02 and 03) is $dS_{ij} = P_{ij}\,(dP_{ij} - \delta_i)$ with $\delta_i = \sum_j P_{ij}\, dP_{ij}$.
# This sum seems to need the whole row of $dP$. It does not:
#
# $$ \delta_i = \sum_j P_{ij} \sum_d dO_{id} V_{jd} = \sum_d dO_{id} \sum_j P_{ij} V_{jd} = \sum_d dO_{id}\, O_{id}. $$
#
# So $\delta$ is the row sum of $dO \circ O$, and $P_{ij} = e^{s_{ij} - \mathrm{lse}_i}$ is computed again from the log-sum-exp that you kept.
# With $S = \text{scale} \cdot QK^\top$: $dQ = \text{scale} \cdot dS\,K$ and $dK = \text{scale} \cdot dS^\top Q$.
#
# ### 8.1 Delta <small>★☆☆ · 5 min · 2 points</small>


# %% exercise="delta"
def delta(d_out, out):
    """δ for each query, (H, T), from the gradient of the output and the output, both (H, T, D)."""
    ### BEGIN SOLUTION
    return (d_out * out).sum(-1)
    ### END SOLUTION


# %% test="delta" points=2
check = Check("delta", points=2)
with check.idea("row sums of dO ∘ O"):
    two = check.run(delta, torch.tensor([[[1.0, 2.0], [0.0, 1.0]]]), torch.tensor([[[3.0, 4.0], [5.0, 6.0]]]), shape=(1, 2))
    check.close(two, [[11.0, 6.0]], "1 · 3 + 2 · 4 = 11 and 6: multiply elementwise, and sum over the width")
    ### BEGIN HIDDEN TESTS
    w, gift, pull = randn(2, 5, 7).softmax(-1), randn(2, 7, 3), randn(2, 5, 3)
    sums = check.run(delta, pull, w @ gift, shape=(2, 5))
    check.close(sums, (w * (pull @ gift.mT)).sum(-1), "δ is the row sum of P ∘ dP")
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(delta, torch.full((1, 2, 3), 2.0), torch.full((1, 2, 3), 3.0))
check.score()

# %% [markdown]
# ### 8.2 Backward kernel <small>★★★ · 40 min · 7 points</small>
# Program $(j, h)$ takes `BN` keys and walks through all queries, `BM` at a time.
# It sums its blocks of $dK$ and $dV$ on the chip and stores them once.
# Every program contributes to every row of $dQ$, so several programs add to the same numbers.
# Load, add and store would be a **race**: two programs load the same old number, and one sum is lost.
# Use `tl.atomic_add`, to arrays that begin with zeros. (The other way is a second kernel, with a program per block of queries.)


# %% exercise="backward"
@triton.jit
def backward_kernel(q, k, v, d_out, lse, delta, dq, dk, dv, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Gradients dq, dk, dv (H, T, D) of attention without a mask; dq begins with zeros. Program (j, h)."""
    ### BEGIN SOLUTION
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    head = tl.program_id(1) * T
    width = tl.arange(0, D)
    at = (head + columns)[:, None] * D + width[None, :]
    keys = tl.load(k + at, mask=columns[:, None] < T, other=0.0)
    values = tl.load(v + at, mask=columns[:, None] < T, other=0.0)
    d_keys = tl.zeros((BN, D), tl.float32)
    d_values = tl.zeros((BN, D), tl.float32)
    for start in range(0, T, BM):
        rows = start + tl.arange(0, BM)
        places = (head + rows)[:, None] * D + width[None, :]
        queries = tl.load(q + places, mask=rows[:, None] < T, other=0.0)
        pull = tl.load(d_out + places, mask=rows[:, None] < T, other=0.0)
        norm = tl.load(lse + head + rows, mask=rows < T, other=0.0)
        shift = tl.load(delta + head + rows, mask=rows < T, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scale
        weights = tl.exp(scores - norm[:, None])
        weights = tl.where((rows[:, None] < T) & (columns[None, :] < T), weights, 0.0)
        d_values += tl.dot(tl.trans(weights), pull, input_precision="ieee")
        d_scores = weights * (tl.dot(pull, tl.trans(values), input_precision="ieee") - shift[:, None]) * scale
        d_keys += tl.dot(tl.trans(d_scores), queries, input_precision="ieee")
        tl.atomic_add(dq + places, tl.dot(d_scores, keys, input_precision="ieee"), mask=rows[:, None] < T)
    tl.store(dk + at, d_keys, mask=columns[:, None] < T)
    tl.store(dv + at, d_values, mask=columns[:, None] < T)
    ### END SOLUTION


# %% test="backward" points=7
check = Check("backward", points=7)
nan = torch.nan
with check.idea("dV and dK"):
    flat, ones = torch.zeros(1, 32, 16), torch.ones(1, 32, 16)
    level = torch.full((1, 32), math.log(32.0))
    run = check.measure(
        checks.traffic,
        backward_kernel,
        (1, 1),
        flat,
        flat,
        flat,
        ones,
        level,
        torch.zeros(1, 32),
        torch.zeros(1, 32, 16),
        ones * nan,
        ones * nan,
        32,
        1.0,
        D=16,
        BM=16,
        BN=32,
    )
    check.close(
        run.arrays["dv"],
        1.0,
        "32 queries give each key the weight 1/32, and dO is 1: dV = Pᵀ dO = 1. Are all blocks of queries summed?",
        atol=1e-4,
    )

    ### BEGIN HIDDEN TESTS
    def reference(T, scale):
        ask, key, give, pull = (randn(2, T, 16) for _ in range(4))
        with torch.enable_grad():
            leaves = [x.double().requires_grad_() for x in (ask, key, give)]
            s = leaves[0] @ leaves[1].mT * scale
            o = s.softmax(-1) @ leaves[2]
            wanted = torch.autograd.grad((o * pull).sum(), leaves)
        kept = s.logsumexp(-1).float().detach(), (o.detach() * pull).sum(-1).float()
        return (ask, key, give, pull, *kept, torch.zeros(2, T, 16), torch.full((2, T, 16), nan), torch.full((2, T, 16), nan), T, scale), [
            g.float() for g in wanted
        ]

    arguments, wanted = reference(64, 0.3)
    run = check.measure(checks.traffic, backward_kernel, (1, 2), *arguments, D=16, BM=32, BN=64)
    check.close(run.arrays["dv"], wanted[2], "dV = Pᵀ dO, with P = exp(scores − lse) and scaled scores", atol=1e-4, rtol=1e-4)
    check.close(run.arrays["dk"], wanted[1], "dK = scale · dSᵀ Q with dS = P ∘ (dP − δ)", atol=1e-4, rtol=1e-4)
    ### END HIDDEN TESTS
with check.part("dQ, without a race"):
    meet = "dQ: every program adds its part, with `tl.atomic_add`"
    even = torch.ones(1, 32, 16)
    run = check.measure(
        checks.traffic,
        backward_kernel,
        (2, 1),
        flat,
        even,
        torch.arange(32.0)[None, :, None] * even,
        even,
        level,
        torch.full((1, 32), 248.0),
        torch.zeros(1, 32, 16),
        even * nan,
        even * nan,
        32,
        1.0,
        D=16,
        BM=16,
        BN=16,
    )
    check.close(
        run.arrays["dq"],
        0.0,
        "equal keys: moving a query changes no weight, so dQ = 0. Do all blocks of keys add their part, and is δ subtracted?",
        atol=1e-3,
    )
    ### BEGIN HIDDEN TESTS
    arguments, wanted = reference(64, 0.3)
    run = check.measure(checks.traffic, backward_kernel, (4, 2), *arguments, D=16, BM=32, BN=16)
    check.close(run.arrays["dq"], wanted[0], meet, atol=1e-4, rtol=1e-4)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("lengths that are not multiples"):
    for T, BM, BN in ((50, 16, 32), (40, 32, 16)):
        arguments, wanted = reference(T, 0.25)
        run = check.measure(checks.traffic, backward_kernel, (-(-T // BN), 2), *arguments, D=16, BM=BM, BN=BN)
        for name, gradient in zip(("dq", "dk", "dv"), wanted, strict=True):
            check.close(
                run.arrays[name],
                gradient,
                "a last block that is not full: queries and keys beyond the end have no weight",
                atol=1e-4,
                rtol=1e-4,
            )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 9 Linear attention with a running state
#
# Without the softmax (04), causal attention is $o_t = \sum_{s \le t} (q_t \cdot k_s)\, v_s$.
# The past fits into one $D \times D$ matrix, the state $S = \sum_s k_s v_s^\top$.
# One program per head walks through the sequence in chunks of $C$:
# inside a chunk it masks, $\bigl(\mathrm{tril}(Q K^\top)\bigr) V$; the past before the chunk comes from the state, $Q S$; then it adds the chunk to the state, $S \leftarrow S + K^\top V$.
# Every number is loaded once: $4H \cdot 3TD$ bytes, linear in $T$.
#
# ### 9.1 Chunks <small>★★☆ · 20 min · 5 points</small>


# %% exercise="linear"
@triton.jit
def linear_kernel(q, k, v, out, T, D: tl.constexpr, C: tl.constexpr):
    """Causal linear attention of q, k, v (H, T, D), without scale, into out; program h, chunks of C."""
    ### BEGIN SOLUTION
    head = tl.program_id(0) * T
    inside, width = tl.arange(0, C), tl.arange(0, D)
    state = tl.zeros((D, D), tl.float32)
    for start in range(0, T, C):
        rows = start + inside
        places = (head + rows)[:, None] * D + width[None, :]
        queries = tl.load(q + places, mask=rows[:, None] < T, other=0.0)
        keys = tl.load(k + places, mask=rows[:, None] < T, other=0.0)
        values = tl.load(v + places, mask=rows[:, None] < T, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee")
        scores = tl.where(inside[:, None] >= inside[None, :], scores, 0.0)
        mixed = tl.dot(scores, values, input_precision="ieee") + tl.dot(queries, state, input_precision="ieee")
        tl.store(out + places, mixed, mask=rows[:, None] < T)
        state += tl.dot(tl.trans(keys), values, input_precision="ieee")
    ### END SOLUTION


# %% test="linear" points=5
check = Check("linear", points=5)
nan = torch.nan
with check.idea("chunk and state"):
    one = torch.eye(1, 16).repeat(1, 32, 1)
    run = check.measure(checks.traffic, linear_kernel, (1,), one, one, one, torch.full((1, 32, 16), nan), 32, D=16, C=16)
    check.close(
        run.arrays["out"][0, :, 0],
        torch.arange(1.0, 33.0),
        "all products are 1: position t sums t + 1 values. Does the mask keep the diagonal? Is the state read before its update?",
    )
    ### BEGIN HIDDEN TESTS
    ask, key, give = randn(2, 64, 16), randn(2, 64, 16), randn(2, 64, 16)
    run = check.measure(checks.traffic, linear_kernel, (2,), ask, key, give, torch.full((2, 64, 16), nan), 64, D=16, C=16)
    check.close(run.arrays["out"], (ask @ key.mT).tril() @ give, "four chunks: the output differs from tril(Q Kᵀ) V", atol=1e-3, rtol=1e-4)
    ### END HIDDEN TESTS
with check.part("every number once"):
    check.counted(
        (run.loaded > 0) & (run.loaded == 3 * run.stored), "q, k, v are loaded once and out is stored once: is the past loaded again?"
    )
    ### BEGIN HIDDEN TESTS
    check.equal([run.loaded, run.stored], [4 * 2 * 3 * 64 * 16, 4 * 2 * 64 * 16], "4 H · 3 T D bytes are loaded and 4 H T D stored")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("a short last chunk"):
    for T in (50, 40, 7):
        ask, key, give = randn(1, T, 16), randn(1, T, 16), randn(1, T, 16)
        run = check.measure(checks.traffic, linear_kernel, (1,), ask, key, give, torch.full((1, T, 16), nan), T, D=16, C=32)
        check.close(
            run.arrays["out"],
            (ask @ key.mT).tril() @ give,
            "a last chunk that is not full: mask what lies beyond the end",
            atol=1e-3,
            rtol=1e-4,
        )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 10 Loss and gradient in one read
#
# The logits of a language model are its largest array: $T \times V$.
# Cross-entropy needs $\mathrm{lse} - z_y$ for each row $z$ with target $y$, and its gradient is $\mathrm{softmax}(z) - e_y$, where $e_y$ has a one at index $y$ and zeros elsewhere.
# Both come from one read.
#
# ### 10.1 Fused cross-entropy <small>★★☆ · 15 min · 5 points</small>
# One program per row. `targets` are whole numbers; `tl.load(targets + row)` loads one.


# %% exercise="cross-entropy"
@triton.jit
def cross_entropy_kernel(logits, targets, loss, gradient, V, BLOCK: tl.constexpr):
    """Loss (rows,) and gradient (rows, V) of logits (rows, V) for targets (rows,); program i takes row i, V ≤ BLOCK."""
    ### BEGIN SOLUTION
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    z = tl.load(logits + row * V + places, mask=places < V, other=float("-inf"))
    y = tl.load(targets + row)
    top = tl.max(z, axis=0)
    weights = tl.exp(z - top)
    total = tl.sum(weights, axis=0)
    chosen = tl.sum(tl.where(places == y, z, 0.0), axis=0)
    tl.store(loss + row, top + tl.log(total) - chosen)
    tl.store(gradient + row * V + places, weights / total - tl.where(places == y, 1.0, 0.0), mask=places < V)
    ### END SOLUTION


# %% test="cross-entropy" points=5
check = Check("cross-entropy", points=5)
nan = torch.nan
with check.idea("the loss"):
    z = torch.tensor([[0.0, 0.0, 0.0, math.log(5.0)], [0.0, 0.0, 0.0, 0.0]])
    run = check.measure(
        checks.traffic, cross_entropy_kernel, (2,), z, torch.tensor([3, 1]), torch.full((2,), nan), torch.full((2, 4), nan), 4, BLOCK=4
    )
    check.close(run.arrays["loss"], [math.log(8 / 5), math.log(4.0)], "the target has 5 of 8, then 1 of 4: the loss is lse − z_y")
    ### BEGIN HIDDEN TESTS
    z, aims = 2 * randn(6, 32), randint(0, 32, (6,))
    run = check.measure(checks.traffic, cross_entropy_kernel, (6,), z, aims, torch.full((6,), nan), torch.full((6, 32), nan), 32, BLOCK=32)
    check.close(run.arrays["loss"], z.logsumexp(1) - z.gather(1, aims[:, None])[:, 0], "the loss of each row is lse − z_y", atol=1e-5)
    ### END HIDDEN TESTS
with check.part("the gradient"):
    z = torch.zeros(1, 4)
    run = check.measure(
        checks.traffic, cross_entropy_kernel, (1,), z, torch.tensor([2]), torch.full((1,), nan), torch.full((1, 4), nan), 4, BLOCK=4
    )
    check.close(run.arrays["gradient"], [[0.25, 0.25, -0.75, 0.25]], "the gradient is softmax(z), minus one at the target")
    ### BEGIN HIDDEN TESTS
    z = 2 * randn(6, 32)
    run = check.measure(checks.traffic, cross_entropy_kernel, (6,), z, aims, torch.full((6,), nan), torch.full((6, 32), nan), 32, BLOCK=32)
    check.close(run.arrays["gradient"], z.softmax(1) - torch.eye(32)[aims], "the gradient of each row is softmax(z) − e_y")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("a vocabulary that does not fill the block"):
    z, aims = randn(4, 37) - 20, randint(0, 37, (4,))
    run = check.measure(checks.traffic, cross_entropy_kernel, (4,), z, aims, torch.full((4,), nan), torch.full((4, 37), nan), 37, BLOCK=64)
    beyond = "37 logits in a block of 64: lanes beyond the end must have the weight 0"
    check.close(run.arrays["loss"], z.logsumexp(1) - z.gather(1, aims[:, None])[:, 0], beyond, atol=1e-4)
    check.close(run.arrays["gradient"], z.softmax(1) - torch.eye(37)[aims], beyond)
with check.part("one read"):
    check.true((run.loaded >= 4 * 4 * 37 + 4 * 8) & (run.loaded <= 4 * 4 * 38 + 4 * 8), "the logits are loaded more than once")
with check.edge("large logits"):
    z = torch.tensor([[200.0, 0.0, -200.0, 150.0]])
    run = check.measure(
        checks.traffic, cross_entropy_kernel, (1,), z, torch.tensor([1]), torch.full((1,), nan), torch.full((1, 4), nan), 4, BLOCK=4
    )
    check.close(run.arrays["loss"], 200.0, "logits of 200 overflow: subtract the row's largest before exp")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 10.2 Why is the faster one faster? <small>★★☆ · 15 min · 4 points, graded by hand</small>

# %% [markdown] written="why-faster" points=4
# FlashAttention computes every score of the backward pass a second time, so it needs *more* FLOP than attention with the matrix.
# Still it is faster. Explain with the numbers of this notebook: bytes, FLOP, intensity, and the corner $P / W$ of one device.
# When would it not be faster?
#
# <!-- BEGIN SOLUTION -->
# With the matrix, $T^2$ numbers pass through memory four times: the intensity stays below $D/b$, 32 FLOP a byte for $D = 64$ in fp16.
# The corner of an A100 lies at 153 FLOP a byte, so at most a fifth of its arithmetic can be used: the time is that of the bytes.
# In tiles the matrix never leaves the chip: the intensity is up to $T/b$, and from $T \approx 310$ on the arithmetic decides.
# Computing the scores again adds FLOP where FLOP were idle, and saves bytes where bytes were what took the time.
# It would not be faster where bytes do not decide: short sequences (little to save, and the launch itself takes time), a single query (decoding reads K and V once in any case),
# or a device whose memory keeps up with its arithmetic.
#
# | points | rubric |
# | --- | --- |
# | 1 | bytes, not FLOP, take the time |
# | 1 | an intensity and a corner compared in numbers |
# | 1 | recomputing costs FLOP that were idle |
# | 1 | a case in which it is not faster, with the reason |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 11 Bonus: split the keys <small>★★★ · 30 min · 4 bonus points</small>
# When a model generates text, there is one query and a long past.
# One program per head would leave the GPU idle, so the keys are split: program $(s, h)$ takes the keys $s \cdot \text{CHUNK}, \dots, (s + 1) \cdot \text{CHUNK} - 1$ of head $h$,
# and writes its partial $m$, $l$ and $o = \sum_j e^{s_j - m} v_j$. There are `splits` programs per head, and the last chunk may be short, but not empty.
# A second step merges them, as you did in 5.1.
# With one query there is nothing for `tl.dot`: multiply and sum.


# %% exercise="bonus-split"
@triton.jit
def split_kernel(q, k, v, m, l, o, T, splits, scale, D: tl.constexpr, CHUNK: tl.constexpr):
    """Partial m, l (H, splits) and o (H, splits, D) of one query q (H, D) on k, v (H, T, D); program (s, h)."""
    ### BEGIN SOLUTION
    split, head = tl.program_id(0), tl.program_id(1)
    columns = split * CHUNK + tl.arange(0, CHUNK)
    width = tl.arange(0, D)
    at = (head * T + columns)[:, None] * D + width[None, :]
    query = tl.load(q + head * D + width)
    keys = tl.load(k + at, mask=columns[:, None] < T, other=0.0)
    values = tl.load(v + at, mask=columns[:, None] < T, other=0.0)
    scores = tl.where(columns < T, tl.sum(keys * query[None, :], axis=1) * scale, float("-inf"))
    top = tl.max(scores, axis=0)
    weights = tl.exp(scores - top)
    part = head * splits + split
    tl.store(m + part, top)
    tl.store(l + part, tl.sum(weights, axis=0))
    tl.store(o + part * D + width, tl.sum(weights[:, None] * values, axis=0))
    ### END SOLUTION


def combine(m, l, o):
    """The output (H, D) from partial m, l (H, splits) and o (H, splits, D)."""
    ### BEGIN SOLUTION
    share = (m - m.amax(1, keepdim=True)).exp()
    return (share[..., None] * o).sum(1) / (share * l).sum(1, keepdim=True)
    ### END SOLUTION


# %% test="bonus-split" points=4
check = Check("bonus-split", points=4)
nan = torch.nan
with check.idea("split_kernel and combine"):
    flat = torch.zeros(1, 32, 16)
    run = check.measure(
        checks.traffic,
        split_kernel,
        (2, 1),
        torch.zeros(1, 16),
        flat,
        flat + 1,
        torch.full((1, 2), nan),
        torch.full((1, 2), nan),
        torch.full((1, 2, 16), nan),
        32,
        2,
        1.0,
        D=16,
        CHUNK=16,
    )
    check.close(run.arrays["l"], [[16.0, 16.0]], "with 16 equal scores in each part, m = 0, l = 16 and o = 16 times the value")
    mixed = check.run(combine, torch.tensor([[0.0, math.log(3.0)]]), torch.ones(1, 2), torch.tensor([[[4.0], [8.0]]]), shape=(1, 1))
    check.close(mixed, [[7.0]], "weights 1 and 3: (1 · 4 + 3 · 8) / 4 = 7. Rescale both o and l to one maximum")
    ### BEGIN HIDDEN TESTS
    for T, chunk in ((64, 16), (50, 16), (100, 64)):
        parts = -(-T // chunk)
        ask, key, give = randn(2, 16), randn(2, T, 16), randn(2, T, 16)
        run = check.measure(
            checks.traffic,
            split_kernel,
            (parts, 2),
            ask,
            key,
            give,
            torch.full((2, parts), nan),
            torch.full((2, parts), nan),
            torch.full((2, parts, 16), nan),
            T,
            parts,
            0.25,
            D=16,
            CHUNK=chunk,
        )
        scores = (key @ ask[..., None])[..., 0] * 0.25
        check.close(
            run.arrays["m"],
            torch.stack([p.amax(1) for p in scores.split(chunk, 1)], 1),
            "m is the largest scaled score of the part",
            atol=1e-4,
        )
        check.close(
            run.arrays["o"],
            torch.stack(
                [
                    ((p - p.amax(1, keepdim=True)).exp()[..., None] * g).sum(1)
                    for p, g in zip(scores.split(chunk, 1), give.split(chunk, 1), strict=True)
                ],
                1,
            ),
            "o = Σ exp(s − m) v over the part, not divided",
            atol=1e-4,
            rtol=1e-4,
        )
    check.equal(run.loaded, 4 * 2 * (2 * 16 + 2 * 100 * 16), "every key and value is loaded by one program only")
    scores, give = 3 * randn(2, 48), randn(2, 48, 5)
    pieces = list(zip(scores.split(16, 1), give.split(16, 1), strict=True))
    tops = torch.stack([p.amax(1) for p, _ in pieces], 1)
    sums = torch.stack([(p - p.amax(1, keepdim=True)).exp().sum(1) for p, _ in pieces], 1)
    outs = torch.stack([((p - p.amax(1, keepdim=True)).exp()[..., None] * g).sum(1) for p, g in pieces], 1)
    mixed = check.run(combine, tops, sums, outs, shape=(2, 5))
    check.close(mixed, (scores.softmax(1)[..., None] * give).sum(1), "three parts: the output differs from attention", atol=1e-4)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("large scores"):
    far = check.run(combine, tops + 300, sums, outs, shape=(2, 5))
    apart = check.run(combine, tops + torch.tensor([[0.0], [300.0]]), sums, outs, shape=(2, 5))
    check.close(apart, mixed, "two heads with scores 300 apart: every head has its own largest maximum", atol=1e-4)
    check.close(far, mixed, "the same scores plus 300 overflow: exponentiate only differences from the largest maximum", atol=1e-4)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## What you can now do
# - Count bytes and FLOP before you write a kernel, and say on which side of the roofline it lies.
# - Write kernels whose last block is not full, and know what a missing mask does.
# - Derive FlashAttention from one fact: $(m, l)$ pairs merge in any order.
# - Name a race, and choose between atomics and a second kernel.
# - Explain why computing something twice can be faster.
