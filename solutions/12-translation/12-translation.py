# %% [markdown]
# # 12 · Translation: encoder and decoder
#
# | | |
# | --- | --- |
# | **You will be able to** | feed a decoder its own past in training (teacher forcing) and hide from it what it must not see · write cross-attention, a decoder block and the whole model · smooth labels and say how low the loss can go · warm a learning rate up · search greedily and with a beam, and normalise for length · compute BLEU so that it equals the standard tool's · build a hyper-parameter table with code, predict, run and analyse · read a report critically |
# | **You need** | 03-attention, 07-transformer-blocks, 08-positions, 09-gpt |
# | **Time** | about seven hours; each exercise says its own |
# | **Points** | 75, and 4 bonus |
#
# A translation is as long as it likes, in an order of its own.
# The Transformer was invented for this task (Vaswani et al., 2017): an *encoder* reads the whole source sentence, a *decoder* writes the target word by word, and *cross-attention* lets every word that is written look at the words that were read.
# You will build all of it, train it until it translates sentences of a kind it has never seen, and measure it as the field does.
#
# **Notation.**
# $B$ sentences in a batch, $S$ source tokens, $T$ target tokens, width $D$, $H$ heads, $L$ blocks on each side, $V$ tokens in the target vocabulary.
# Three tokens are special: `PAD` fills up a batch, `BEGIN` starts a target and `END` ends it.
# Masks are boolean, and `True` means *may look*.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, run the test below it.
# Grading runs further checks of the same ideas.
# A test that fails tells you which idea to check.
# *Before you run it* marks a prediction: write it down first, on paper.
# Your functions leave their inputs as they are.

# %% locked="setup"
import math
from collections import Counter

import matplotlib.pyplot as plt
import pandas as pd
import sacrebleu
import torch
from torch import nn
from torch.nn import functional as F

from helpers import checks, translation
from helpers.checks import Check, rand, randint, randn
from helpers.kit import models, plots
from helpers.kit.scale import pick
from helpers.kit.seeding import device, seed
from helpers.translation import RowChains, TimedChain, pairs, tokenize_13a
from helpers.translation.pairs import BEGIN, END, PAD

# %% [markdown]
# ## 1 Sentence pairs
#
# Real parallel text needs hours of training: with a model of width 256 and four blocks on each side, 30,000 sentence pairs of talks took us about ten minutes *per epoch* on two CPU cores.
# In one run on 29,000 pairs of image captions (Multi30k), two minutes of processor time gave a BLEU score of 7.5.
# So you work with English–French pairs from a grammar (`data/english_french/`), which can be learned in minutes and has exact references.
# Part 9 trains on a real corpus, if you have one.
#
# The grammar knows agreement, the place of adjectives, elision, negation, questions, numbers, dates and money.
# Every sentence has a *structure* of six parts.
# The split goes by three of them: mood (statement, yes–no question, wh-question, reported speech), tense and polarity.
# **Every two of these three occur together in training.
# The three together do not.**
# The model has seen "did not" in yes–no questions and in wh-questions, and plain statements in the past; a negative statement in the past is a new combination.

# %%
sizes = pick(smoke=(400, 24), laptop=(40_000, 500), gpu=(100_000, 2000))
corpus = pairs.grammar_corpus(train=sizes[0], held_out=sizes[1])
familiar = pairs.known_structures(sizes[1], after=sizes[0])  # new sentences of structures that are in training
print(f"{len(corpus.train):,} training pairs, {len(corpus.dev):,} dev and {len(corpus.test):,} test pairs of other structures")
for english, french in corpus.train[:4] + corpus.test[:3]:
    print(f"  {english}\n      {french}")

# %%
grid = {
    (mood, tense, polarity): "" for mood in pairs.PARTS["mood"] for tense in pairs.PARTS["tense"] for polarity in pairs.PARTS["polarity"]
}
for mood, tense, polarity in grid:
    grid[mood, tense, polarity] = pairs.split_of_core(mood, tense, polarity)
pd.DataFrame(
    {f"{tense}, {polarity}": {mood: grid[mood, tense, polarity] for mood in pairs.PARTS["mood"]} for _, tense, polarity in list(grid)[:6]}
)

# %% [markdown]
# Check the claim in the table: take any mood and any tense.
# One of its two polarities is for training.
# Take any tense and polarity: two of the four moods are.
#
# A token is a word or a sign here.
# An elided word keeps its apostrophe: `l'` and `ami` are two tokens.

# %%
english_words = pairs.Vocabulary(source for source, _ in corpus.train)
french_words = pairs.Vocabulary(target for _, target in corpus.train)
train_tokens = translation.encoded(corpus.train, english_words, french_words)
print(f"{len(english_words)} English and {len(french_words)} French tokens")
print(french_words.pieces(french_words.encode("L'ami de la reine n'a pas mangé vingt et une pommes.")))

# %% [markdown]
# ### 1.1 Teacher forcing <small>★☆☆ · 10 min · 3 points</small>
# In training the decoder does not continue its own guesses.
# It gets the *right* target, shifted: at each position it sees the right words so far and must name the next one.
# All positions are trained at once.
#
# From a batch of target token lists, make two `int64` tensors of shape `(B, longest + 1)`: `inputs` begin with `BEGIN`, followed by the tokens; `labels` are the tokens, followed by `END`.
# Fill both up with `PAD`.
# Where a label is `PAD`, nothing is learned, so what the input holds there does not matter.


# %% exercise="teacher-forcing"
def teacher_forcing(targets):
    """Inputs and labels, each an int64 tensor (B, longest + 1), of a list of B lists of tokens."""
    ### BEGIN SOLUTION
    inputs = translation.padded([[BEGIN, *row] for row in targets])
    labels = translation.padded([[*row, END] for row in targets])
    return inputs, labels
    ### END SOLUTION


# %% test="teacher-forcing" points=3
check = Check("teacher-forcing", points=3)
shifted = check.run(teacher_forcing, [[7, 8, 9], [5]])
both = shifted if type(shifted) in (tuple, list) and len(shifted) == 2 else [shifted] * 2
fed, wanted = (check.shape(part, (2, 4), "two tensors, inputs and labels, with one column more than the longest target") for part in both)
check.equal(
    wanted,
    [[7, 8, 9, END], [5, END, PAD, PAD]],
    "the labels are the tokens, then END, then PAD",
    wrong={
        "END is missing in the labels: the decoder would never learn to stop": [[7, 8, 9, PAD], [5, PAD, PAD, PAD]],
        "END stands at the end of the row, after the padding: it belongs right behind the last token": [[7, 8, 9, END], [5, PAD, PAD, END]],
        "the labels begin with BEGIN: nobody has to predict that": [[BEGIN, 7, 8, 9], [BEGIN, 5, PAD, PAD]],
        "the labels are shifted the wrong way: they run one ahead of the inputs": [[BEGIN, 7, 8, 9], [BEGIN, 5, END, PAD]],
    },
)
check.equal(
    fed[0],
    [BEGIN, 7, 8, 9],
    "the inputs are BEGIN, then the tokens: at each position the decoder sees the words *before* the one it must name",
    wrong={
        "the inputs are not shifted: the decoder sees the very word it must name": [7, 8, 9, END],
        "BEGIN is missing in the inputs": [7, 8, 9, PAD],
    },
)
check.equal(fed[1, :2], [BEGIN, 5], "the shorter row's inputs are wrong where it has labels")
### BEGIN HIDDEN TESTS
check.equal(check.run(lambda: [str(part.dtype) for part in teacher_forcing([[3]])]), ["torch.int64"] * 2, "tokens are int64 tensors")
check.equal(
    check.run(lambda: [part.tolist() for part in teacher_forcing([[4, 4]])]),
    [[[BEGIN, 4, 4]], [[4, 4, END]]],
    "a batch of one: nothing to fill up",
)
check.equal(check.run(lambda: teacher_forcing([[], [6]])[1]), [[END, PAD], [6, END]], "an empty target has one label: END")
listed = [[9, 3, 8], [4, 4, 4, 4], [5]]
inside = check.run(teacher_forcing, listed)
both = inside if type(inside) in (tuple, list) and len(inside) == 2 else [inside] * 2
fed, wanted = (check.shape(part, (3, 5), "three targets of 3, 4 and 1 tokens give two tensors of shape (3, 5)") for part in both)
kept = wanted[:, 1:] != PAD
check.equal(fed[:, 1:][kept], wanted[:, :-1][kept], "each input is the label before it: the two rows are shifted by one")
check.unchanged(lambda rows: teacher_forcing(rows), listed, hint="your code changes the lists it is given: `append` works in place")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 1.2 Who may look where <small>★★☆ · 15 min · 4 points</small>
# 1. `padding_mask`: nobody may look at padding.
#    From tokens `(B, S)` a mask `(B, 1, 1, S)`: the two axes of size one stand for heads and queries.
# 2. `target_mask`: in the decoder's self-attention a position may look at itself and what comes before, and not at padding: `(B, 1, T, T)`.
#
# At `gpu` scale the tokens live on the GPU, and what you make yourself must live there, too: `torch.ones(T, T, device=inputs.device)`.
#
# *Before you run it:* cross-attention runs from $T$ queries to $S$ keys.
# Which of the two masks does it need?


# %% exercise="masks"
def padding_mask(tokens):
    """True where tokens (B, S) are not PAD: (B, 1, 1, S)."""
    ### BEGIN SOLUTION
    return (tokens != PAD)[:, None, None, :]
    ### END SOLUTION


def target_mask(inputs):
    """True where position i of the inputs (B, T) may look at position j: not later, and not padding. (B, 1, T, T)."""
    ### BEGIN SOLUTION
    T = inputs.shape[1]
    causal = torch.ones(T, T, dtype=torch.bool, device=inputs.device).tril()
    return causal & padding_mask(inputs)
    ### END SOLUTION


# %% test="masks" points=4
check = Check("masks", points=4)
rows = torch.tensor([[1, 7, 9, 5], [1, 8, PAD, PAD], [1, PAD, PAD, PAD]])
hidden = check.run(
    padding_mask, rows, shape=(3, 1, 1, 4), hint="padding_mask: the shape is (B, 1, 1, S), so that it broadcasts over heads and queries"
)
check.equal(check.run(lambda: str(padding_mask(rows).dtype)), "torch.bool", "padding_mask: a mask is boolean")
check.equal(
    hidden[:, 0, 0],
    [[True] * 4, [True, True, False, False], [True, False, False, False]],
    "padding_mask: True at tokens, False at PAD",
    wrong={
        "padding_mask: the polarity is wrong. True means *may look*": [[False] * 4, [False, False, True, True], [False, True, True, True]]
    },
)
seen = check.run(target_mask, rows, shape=(3, 1, 4, 4), hint="target_mask: the shape is (B, 1, T, T), a matrix for each sentence")
lower = torch.ones(4, 4).tril().bool()
check.equal(
    seen[0, 0],
    lower,
    "target_mask: position i may look at j ≤ i",
    wrong={
        "target_mask: a position may look at itself: it holds the word *before* the one it must name": lower.tril(-1),
        "target_mask: the triangle points the wrong way: position 0 sees everything": lower.T,
        "target_mask: nothing is hidden from the past: this mask is not causal": torch.ones(4, 4).bool(),
        "target_mask: the polarity is wrong. True means *may look*": ~lower,
    },
)
check.equal(
    seen[1, 0, 3],
    [True, True, False, False],
    "target_mask: the last position of the second sentence may look at the two tokens only",
    wrong={"target_mask: padding can be seen: combine both masks": [True] * 4},
)
### BEGIN HIDDEN TESTS
check.equal(seen[2, 0, :, 0], [True] * 4, "target_mask: everyone may look at BEGIN, or a row would be empty and softmax NaN")
other = randint(0, 3, (5, 7))
other[:, 0] = BEGIN
again = check.run(target_mask, other, shape=(5, 1, 7, 7))
check.equal(again[:, 0], (other != PAD)[:, None, :] & torch.ones(7, 7).tril().bool(), "target_mask: wrong for another batch")
check.equal(
    check.run(padding_mask, other, shape=(5, 1, 1, 7))[:, 0, 0],
    other != PAD,
    "padding_mask: wrong for another batch: compare with PAD, not with a length",
)
check.equal(check.run(target_mask, torch.tensor([[1]])), [[[[True]]]], "target_mask: a batch of one token must work")
check.unchanged(target_mask, rows)
### END HIDDEN TESTS
check.score()

# %%
shown_inputs, shown_labels = teacher_forcing([french_words.encode(target) for _, target in corpus.train[:3]])
figure, axes = plt.subplots(1, 3, figsize=(13, 4))
for shown_mask, shown_row, ax in zip(target_mask(shown_inputs)[:, 0], shown_inputs, axes):
    filled = int((shown_row != PAD).sum())
    title = f"{filled} real inputs, {len(shown_row) - filled} of padding"
    plots.heatmap(
        shown_mask.int(), title=title, ax=ax, label="1: may look", row_label="position that looks", column_label="position looked at"
    )
figure.tight_layout()
plt.show()

# %% [markdown]
# ## 2 The model
#
# ### 2.1 Cross-attention <small>★★★ · 25 min · 6 points</small>
# In self-attention queries, keys and values come from one sequence.
# In cross-attention the *queries* come from the decoder, $x$ `(B, T, D)`, the *keys and values* from the encoder's output, the memory `(B, S, D)`.
# So the weights are a $T \times S$ matrix: one distribution over source words for each target word.
#
# The four linear layers are given, and `split` cuts `(B, n, D)` into heads `(B, H, n, D/H)`.
# Write
# - `weights`: scores of queries and keys, divided by $\sqrt{D/H}$, masked with $-\infty$, softmax over the source: `(B, H, T, S)`.
#   The mask broadcasts to that shape; `None` hides nothing.
# - `forward`: the weighted values, heads side by side again, through the layer `output`: `(B, T, D)`.


# %% exercise="cross-attention"
class CrossAttention(nn.Module):
    """Attention of x (B, T, D) on a memory (B, S, D), in H heads."""

    def __init__(self, D, H):
        super().__init__()
        self.H = H
        self.query, self.key = nn.Linear(D, D), nn.Linear(D, D)
        self.value, self.output = nn.Linear(D, D), nn.Linear(D, D)

    def split(self, x):
        return x.unflatten(-1, (self.H, -1)).transpose(1, 2)  # (B, n, D) to (B, H, n, D/H)

    def weights(self, x, memory, mask=None):
        """Who looks where: (B, H, T, S), each row a distribution over the source."""
        ### BEGIN SOLUTION
        q, k = self.split(self.query(x)), self.split(self.key(memory))
        scores = q @ k.mT / q.shape[-1] ** 0.5  # (B, H, T, S)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(dim=-1)
        ### END SOLUTION

    def forward(self, x, memory, mask=None):
        """What is found there: (B, T, D)."""
        ### BEGIN SOLUTION
        mixed = self.weights(x, memory, mask) @ self.split(self.value(memory))  # (B, H, T, D/H)
        return self.output(mixed.transpose(1, 2).flatten(2))
        ### END SOLUTION


# %% test="cross-attention" points=6
check = Check("cross-attention", points=6)
w = {f"{name}.weight": randn(6, 6) / 2 for name in ("query", "key", "value", "output")}
w |= {f"{name}.bias": randn(6) / 2 for name in ("query", "key", "value", "output")}
layer = check.keep(CrossAttention, 6, 3)
check.run(layer.load_state_dict, w)
x, memory = randn(2, 4, 6), randn(2, 5, 6)  # T = 4, S = 5: a swapped role cannot hide
maps = check.run(
    layer.weights,
    x,
    memory,
    shape=(2, 3, 4, 5),
    hint="weights: (B, H, T, S), queries from x, keys from the memory. Which of the two did you use where?",
)
check.distribution(maps, "weights: every row is a distribution over the *source*: along which axis does softmax run?")
out = check.run(layer, x, memory, shape=(2, 4, 6), hint="forward: (B, T, D), as long as x, not as the memory. Are the heads merged?")
plain = check.keep(CrossAttention, 4, 1)
plain_state = {f"{name}.weight": torch.eye(4) for name in ("query", "key", "value", "output")}
plain_state |= {name.replace("weight", "bias"): torch.zeros(4) for name in plain_state}
check.run(plain.load_state_dict, plain_state)
check.close(
    check.run(plain.weights, torch.tensor([[[2.0, 0, 0, 0]]]), torch.tensor([[[2.0, 0, 0, 0], [0, 0, 0, 0]]])),
    torch.tensor([[[[0.880797, 0.119203]]]]),
    "weights: one head of width 4, q·k = 4 and 0: softmax of 4/√4 = 2 and 0",
    rtol=1e-4,
    wrong={
        "weights: the scores are not divided by √(D/H)": torch.tensor([[[[0.982014, 0.017986]]]]),
        "weights: the scores are divided by D/H, not by its root": torch.tensor([[[[0.731059, 0.268941]]]]),
    },
)
double = check.keep(CrossAttention, 4, 2)
check.run(double.load_state_dict, {**plain_state, "output.weight": 2 * torch.eye(4)})
check.close(
    check.run(double, torch.zeros(1, 2, 4), torch.tensor([[[1.0, 2, 3, 4]]])),
    torch.tensor([[[2.0, 4, 6, 8], [2, 4, 6, 8]]]),
    "forward: where the memory is one word, (1, 2, 3, 4), every query gets its value; here `output` doubles it",
    wrong={
        "forward: the layer `output` is missing": torch.tensor([[[1.0, 2, 3, 4], [1, 2, 3, 4]]]),
        "forward: heads and positions are mixed up: transpose back before you merge": torch.tensor([[[2.0, 4, 2, 4], [6, 8, 6, 8]]]),
    },
)
cover = torch.tensor([[True] * 5, [True, True, False, False, False]])[:, None, None]  # (2, 1, 1, 5)
ragged = check.run(layer.weights, x, memory, cover, shape=(2, 3, 4, 5))
check.close(
    ragged[1, :, :, 2:],
    torch.zeros(3, 4, 3),
    "weights: what the mask hides has weight 0, exactly. True means *may look*: hide where it is False",
)
check.distribution(ragged, "weights: with a mask the rows must still sum to one: mask the scores before softmax, not the weights after it")
### BEGIN HIDDEN TESTS


def lin(name, z):
    return z @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def by_hand(rule=None, scale=2**0.5, keys=memory, queries=x, values=memory, axis=-1, merge=True, last=True):
    found, looks = [], []
    for cut in (slice(0, 2), slice(2, 4), slice(4, 6)):
        raw = lin("query", queries)[..., cut] @ lin("key", keys)[..., cut].mT / scale
        raw = raw if rule is None else raw.masked_fill(~rule[:, 0], -torch.inf)
        looks.append(raw.softmax(axis))
        found.append(looks[-1] @ lin("value", values)[..., cut])
    merged = torch.cat(found, -1)
    return torch.stack(looks, 1), lin("output", merged) if last else merged


check.close(
    maps,
    by_hand()[0],
    "weights: the values differ from softmax(q·k/√(D/H))",
    wrong={
        "weights: the scores are not divided by √(D/H)": by_hand(scale=1.0)[0],
        "weights: the scores are divided by the root of the whole width D; each head has width D/H": by_hand(scale=6**0.5)[0],
        "weights: the scores are divided by D/H, not by its root": by_hand(scale=2.0)[0],
        "weights: softmax runs over the target: every row must be a distribution over the source": by_hand(axis=-2)[0],
    },
)
check.close(
    ragged,
    by_hand(cover)[0],
    "weights: with a mask the values are wrong",
    wrong={
        "weights: the mask is not used": by_hand()[0],
        "weights: the polarity is wrong. True means *may look*": by_hand(cover.logical_not() | torch.zeros(1, 1, 1, 5).bool())[0],
        "weights: the hidden weights are zeroed after softmax: the others no longer sum to one": by_hand()[0] * cover,
        "weights: hidden scores are set to 0: that is a score like any other. Use −∞": (
            torch.stack([lin("query", x)[..., c : c + 2] @ lin("key", memory)[..., c : c + 2].mT / 2**0.5 for c in (0, 2, 4)], 1) * cover
        ).softmax(-1),
    },
)
check.close(
    out,
    by_hand()[1],
    "forward: the output differs from weights × values, merged and projected",
    wrong={
        "forward: the layer `output` is missing": by_hand(last=False)[1],
        "forward: the scores are not divided by √(D/H)": by_hand(scale=1.0)[1],
        "forward: the memory itself is mixed: values go through the layer `value`": lin(
            "output", torch.cat([by_hand()[0][:, h] @ memory[..., 2 * h : 2 * h + 2] for h in range(3)], -1)
        ),
        "forward: the keys are mixed; the output mixes the values": lin(
            "output", torch.cat([by_hand()[0][:, h] @ lin("key", memory)[..., 2 * h : 2 * h + 2] for h in range(3)], -1)
        ),
        "forward: heads and positions are mixed up: transpose back before you merge": lin(
            "output", torch.stack([by_hand()[0][:, h] @ lin("value", memory)[..., 2 * h : 2 * h + 2] for h in range(3)], 1).reshape(2, 4, 6)
        ),
    },
)
check.close(
    check.run(layer, x, memory, cover),
    by_hand(cover)[1],
    "forward: the mask is not handed on",
    wrong={"forward: the mask is not used": by_hand()[1]},
)
order = torch.tensor([3, 0, 4, 2, 1])
check.close(
    check.run(layer, x, memory[:, order]),
    by_hand()[1],
    "forward: shuffling the memory must not change the result: cross-attention has no order of its own",
)
each = (rand(2, 1, 4, 5) > 0.4) | (torch.arange(5) == 0)
check.close(
    check.run(layer.weights, x, memory, each), by_hand(each)[0], "weights: a mask with a row of its own for each query is not used as it is"
)
check.close(
    check.run(layer, x[:1, :1], memory[:1, :1]),
    lin("output", lin("value", memory[:1, :1])),
    "one query and one key: the value comes through as it is",
)
grads = check.measure(checks.gradients, layer, (x, memory), None, ("query.weight", "key.weight", "value.weight"))
flow = (
    check.run(lambda: [bool(grads.params[name].abs().sum() > 0) for name in ("query.weight", "key.weight", "value.weight")])
    if grads
    else grads
)
check.equal(flow, [True] * 3, "no gradient reaches the layers: use torch operations all the way, without `.data` or `.detach()`")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 A decoder block <small>★★☆ · 20 min · 5 points</small>
# An encoder block has two branches, a decoder block three: causal self-attention, cross-attention, feed-forward.
# Each has its own LayerNorm *in front* (pre-norm, as in 07), dropout behind, and a residual around it:
#
# $$x \leftarrow x + \mathrm{drop}(\mathrm{branch}(\mathrm{norm}(x))).$$
#
# The memory is not normalised here: the encoder has done so at its end.
# The layers are given; `attention(y, mask=…)` is self-attention from the course's kit, `helpers/kit/models.py`, which holds what 07 built.
# Write `forward`.


# %% exercise="decoder-block"
class DecoderBlock(nn.Module):
    """Self-attention, cross-attention and feed-forward, each with a norm in front and a residual around: (B, T, D) to (B, T, D)."""

    def __init__(self, D, H, dropout=0.0):
        super().__init__()
        self.norm1, self.norm_cross, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.attention = models.Attention(D, H)
        self.cross = CrossAttention(D, H)
        self.feed_forward = models.FeedForward(models.Shape(1, width=D, heads=H))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, mask, memory_mask):
        """`mask` is for self-attention, `memory_mask` for cross-attention."""
        ### BEGIN SOLUTION
        x = x + self.drop(self.attention(self.norm1(x), mask=mask))
        x = x + self.drop(self.cross(self.norm_cross(x), memory, memory_mask))
        return x + self.drop(self.feed_forward(self.norm2(x)))
        ### END SOLUTION


# %% test="decoder-block" points=5
check = Check("decoder-block", points=5)
block = check.keep(DecoderBlock, 8, 2)
shapes = check.run(lambda: {name: list(part.shape) for name, part in block.state_dict().items()})
w = {
    name: randn(*size) / (size[0] ** 0.5 if len(size) > 1 else 3) + (1.0 if "norm" in name and "weight" in name else 0.0)
    for name, size in (shapes or {}).items()
}
check.run(block.load_state_dict, w)
check.run(block.eval)
x, memory = randn(2, 4, 8), randn(2, 5, 8)
lower = torch.ones(4, 4).tril().bool()[None, None]
cover = torch.tensor([[True] * 5, [True, True, True, False, False]])[:, None, None]
out = check.run(block, x, memory, lower, cover, shape=(2, 4, 8), hint="(B, T, D) in, (B, T, D) out")
moved = x.clone()
moved[:, 2:] = randn(2, 2, 8)  # a constant would vanish in the norms
check.close(
    check.run(block, moved, memory, lower, cover, shape=(2, 4, 8))[:, :2],
    out[:, :2],
    "a later target position changes an earlier one: is `mask` given to self-attention?",
)
changed = memory.clone()
changed[1, 3:] = 5 * randn(2, 8)
check.close(
    check.run(block, x, changed, lower, cover), out, "padding of the source changes the result: is `memory_mask` given to cross-attention?"
)
check.true(
    (check.run(block, x, memory + randn(2, 5, 8), lower, cover, shape=(2, 4, 8)) - out).abs().max() > 1e-4,
    "the memory has no effect: is cross-attention used?",
)
idle = {name: part * 0.0 + (1.0 if "norm" in name and "weight" in name else 0.0) for name, part in w.items()}
check.run(block.load_state_dict, idle)
normed = F.layer_norm(x, (8,))
check.close(
    check.run(block, x, memory, lower, cover),
    x,
    "where attention and feed-forward give 0, the block gives back its input: x + part(norm(x)), three times",
    wrong={
        "there is no residual: add x to what each part gives": torch.zeros(2, 4, 8),
        "the norm comes after the residual: it belongs in front of each part": normed,
    },
    atol=1e-4,
)
check.run(block.load_state_dict, w)
### BEGIN HIDDEN TESTS
kit = models.Block(models.Shape(1, width=8, heads=2), cross=True).eval()
renamed = {name: part for name, part in w.items() if not name.startswith("cross.")}
if w:
    renamed |= {
        f"cross.inputs.{kind}": torch.cat([w[f"cross.{part}.{kind}"] for part in ("query", "key", "value")]) for kind in ("weight", "bias")
    }
    renamed |= {f"cross.output.{kind}": w[f"cross.output.{kind}"] for kind in ("weight", "bias")}
    kit.load_state_dict(renamed)


def other_way(order="acf", residual="acf", norms="acf", post=False, memory_norm=False, shared=False):
    y = x
    parts = {
        "a": (kit.norm1, lambda z: kit.attention(z, mask=lower)),
        "c": (kit.norm1 if shared else kit.norm_cross, lambda z: kit.cross(z, kit.norm_cross(memory) if memory_norm else memory, cover)),
        "f": (kit.norm2, kit.feed_forward),
    }
    for name in order:
        norm, branch = parts[name]
        if post:
            y = norm(y + branch(y))
        else:
            step = branch(norm(y) if name in norms else y)
            y = y + step if name in residual else step
    return y.detach()


check.close(
    out,
    other_way(),
    "the result differs from the three branches in their order",
    wrong={
        "the norms stand behind the residual sums (post-norm): here they stand in front of the branches": other_way(post=True),
        "cross-attention comes before self-attention": other_way("caf"),
        "the feed-forward branch is missing": other_way("ac"),
        "self-attention is missing": other_way("cf"),
        "cross-attention is missing": other_way("af"),
        "the residual around cross-attention is missing": other_way(residual="af"),
        "the residual around self-attention is missing": other_way(residual="cf"),
        "the residual around feed-forward is missing": other_way(residual="ac"),
        "there are no residuals at all": other_way(residual=""),
        "cross-attention gets x without its norm": other_way(norms="af"),
        "no branch has its norm": other_way(norms=""),
        "the memory is normalised once more: the encoder has done that": other_way(memory_norm=True),
        "cross-attention uses the norm of self-attention: it has its own, `norm_cross`": other_way(shared=True),
    },
)
lossy = check.keep(DecoderBlock, 8, 2, 0.5)
check.run(lossy.load_state_dict, w)
check.run(lossy.train)
runs = [check.run(lossy, x, memory, lower, cover, shape=(2, 4, 8)) for _ in range(2)]
check.true((runs[0] - runs[1]).abs().max() > 1e-3, "in training mode two runs give the same: is dropout applied to the branches?")
check.shape(check.run(block, x[:1, :1], memory[:1, :1], None, None), (1, 1, 8), "a batch of one, one token, no masks: this must work")
check.unchanged(lambda y, m: block(y, m, lower, cover), x, memory)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.3 The whole model <small>★★☆ · 25 min · 5 points</small>
# The encoder comes from the kit: `self.encoder(source, real)` turns source tokens `(B, S)` into the memory `(B, S, D)`, where `real` `(B, S)` is `True` at tokens that are not padding.
# You write
#
# 1. `encode(source)`: the memory.
# 2. `decode(inputs, memory, source)`: the logits `(B, T, V)` of each next token.
#    Embed the inputs, **multiply by** $\sqrt D$, add `models.sinusoids(places, D)` for the places $0, 1, \dots, T-1$ (on the device of the inputs), apply `self.drop`, run the blocks with both masks, then `self.norm` and `self.head`.
#    (The embeddings start with a deviation of $1/\sqrt D$; the factor brings them to the size of the sinusoids.)
# 3. `forward(source, inputs)`: both together.
#
# The head shares its weights with the target embedding (Press and Wolf, 2017).


# %% exercise="translator"
class Translator(nn.Module):
    """Logits (B, T, V) of the next target tokens, from source tokens (B, S) and target inputs (B, T)."""

    def __init__(self, source_size, target_size, D, H, L, dropout=0.0):
        super().__init__()
        self.D = D
        self.encoder = models.Encoder(models.Shape(source_size, width=D, heads=H, layers=L, dropout=dropout, positions="sinusoidal"))
        self.embedding = nn.Embedding(target_size, D)
        self.blocks = nn.ModuleList(DecoderBlock(D, H, dropout) for _ in range(L))
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, target_size, bias=False)
        self.drop = nn.Dropout(dropout)
        models.initialise(self)
        nn.init.normal_(self.embedding.weight, std=D**-0.5)
        self.head.weight = self.embedding.weight

    def encode(self, source):
        ### BEGIN SOLUTION
        return self.encoder(source, source != PAD)
        ### END SOLUTION

    def decode(self, inputs, memory, source):
        ### BEGIN SOLUTION
        places = torch.arange(inputs.shape[1], device=inputs.device)
        x = self.embedding(inputs) * self.D**0.5 + models.sinusoids(places, self.D)
        x = self.drop(x)
        for block in self.blocks:
            x = block(x, memory, target_mask(inputs), padding_mask(source))
        return self.head(self.norm(x))
        ### END SOLUTION

    def forward(self, source, inputs):
        ### BEGIN SOLUTION
        return self.decode(inputs, self.encode(source), source)
        ### END SOLUTION


# %% test="translator" points=5
check = Check("translator", points=5)
model = check.keep(Translator, 11, 13, 8, 2, 2)
begun = check.run(model.state_dict)
w = {
    name: (1.0 if "norm" in name and part.dim() == 1 and "weight" in name else 0.0)
    + randn(*part.shape) / (part.shape[-1] ** 0.5 if part.dim() > 1 else 4)
    for name, part in (begun or {}).items()
}
if w:
    w["head.weight"] = w["embedding.weight"]
check.run(model.load_state_dict, w)  # larger than the first weights, so that every part shows
check.run(model.eval)
source = torch.tensor([[4, 9, 6, 7, 5], [8, 10, 3, PAD, PAD]])
given = torch.tensor([[BEGIN, 7, 12, 4], [BEGIN, 9, 5, PAD]])
memory = check.run(model.encode, source, shape=(2, 5, 8), hint="encode: (B, S) in, (B, S, D) out")
logits = check.run(
    model, source, given, shape=(2, 4, 13), hint="forward: the logits have shape (B, T, V), one row of V numbers for each input position"
)
check.close(check.run(model.decode, given, memory, source), logits, "forward is encode, then decode")
longer = torch.cat([source, torch.full((2, 2), PAD)], 1)
check.close(
    check.run(model, longer, given),
    logits,
    "more padding behind the source changes the logits: does the encoder know what is real, and cross-attention its mask?",
)
later = given.clone()
later[:, 2:] = torch.tensor([3, 6])
check.close(
    check.run(model, source, later, shape=(2, 4, 13))[:, :2],
    logits[:, :2],
    "later target words change earlier logits: is the target mask used?",
)
swapped = check.run(model, source[:, [1, 0, 2, 3, 4]], given, shape=(2, 4, 13))
check.true((swapped - logits).abs().max() > 1e-5, "the order of the source has no effect: does the decoder look at the memory?")
same = check.run(model, source[:1], torch.tensor([[7, 7, 7]]), shape=(1, 3, 13))
check.true(
    (same[0, 1] - same[0, 2]).abs().max() > 1e-5, "decode: the same word at three places gets the same logits. Are the positions missing?"
)
bare = check.keep(Translator, 3, 3, 4, 1, 0)  # no blocks: embedding, positions, norm and head remain
table = torch.tensor([[0.0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
check.run(bare.load_state_dict, {"embedding.weight": table, "head.weight": table}, strict=False)
check.run(bare.eval)
check.close(
    check.run(bare, torch.tensor([[1]]), torch.tensor([[1, 1]]), shape=(1, 2, 3))[0, :, 1],
    [1.414199, 1.635827],
    "decode: without blocks, with D = 4 and the embedding (1, 0, 0, 0) of token 1, its logit is 1.4142 at place 0 and 1.6358 at place 1",
    rtol=1e-4,
    wrong={
        "decode: the embeddings are not multiplied by √D": [0.577335, 1.478196],
        "decode: places are counted from 0": [1.635827, 1.586956],
        "decode: the positions are missing": [1.732039, 1.732039],
    },
)
silent = check.keep(Translator, 11, 13, 8, 2, 2)
check.run(silent.load_state_dict, {**w, "norm.weight": torch.zeros(8), "norm.bias": torch.zeros(8)})
check.run(silent.eval)
check.close(
    check.run(silent, source, given),
    torch.zeros(2, 4, 13),
    "with a final norm whose gain and shift are 0 every logit is 0: is the final norm missing?",
)
### BEGIN HIDDEN TESTS
state = check.run(model.state_dict)
form = {"width": 8, "heads": 2, "layers": 2, "positions": "sinusoidal"}
twin = models.Translator(models.Shape(11, **form), models.Shape(13, tied=True, **form)).eval()
if state:
    moved = {}
    for name, part in state.items():
        new = name if name.startswith(("encoder.", "head.")) else f"decoder.{name}"
        if ".cross." in name and ".output." not in name:
            kind = name.rsplit(".", 1)[1]
            base = name.rsplit(".", 2)[0]
            moved[f"decoder.{base}.inputs.{kind}"] = torch.cat([state[f"{base}.{role}.{kind}"] for role in ("query", "key", "value")])
        else:
            moved[new] = part
    twin.load_state_dict(moved)


@torch.no_grad()
def reference(scaled=True, placed=True, first=0, masked=True, heard=True, causal=True, final=True):
    real = source != PAD
    stored = twin.encoder(source, real if heard else None)
    y = twin.decoder.embedding(given) * (8**0.5 if scaled else 1.0)
    if placed:
        y = y + models.sinusoids(torch.arange(first, first + 4), 8)
    rule = (given != PAD)[:, None, None] & (torch.ones(4, 4).tril().bool() if causal else torch.ones(4, 4).bool())
    for part in twin.decoder.blocks:
        y = part(y, stored, real[:, None, None] if masked else None, mask=rule)
    return twin.head(twin.decoder.norm(y) if final else y)[given != PAD]


check.close(
    memory[source != PAD],
    twin.encoder(source, source != PAD)[source != PAD].detach(),
    "encode: the memory is wrong",
    wrong={
        "encode: padding is heard: tell the encoder which tokens are real": twin.encoder(source)[source != PAD].detach(),
    },
)
check.close(
    logits[given != PAD],
    reference(),
    "the logits are wrong: compare `decode` with the text, step by step",
    wrong={
        "decode: the embeddings are not multiplied by √D": reference(scaled=False),
        "decode: the positions are missing": reference(placed=False),
        "decode: places are counted from 0": reference(first=1),
        "decode: cross-attention sees padding of the source: hand on the padding mask": reference(masked=False),
        "encode: padding is heard: tell the encoder which tokens are real": reference(heard=False),
        "decode: the future is visible: hand the target mask to the blocks": reference(causal=False),
        "decode: the final norm is missing": reference(final=False),
    },
)
alone = check.run(model, source[1:, :3], given[1:, :3], shape=(1, 3, 13))
check.close(alone, logits[1:, :3], "a sentence alone must get the logits that it gets in a batch with padding")
check.shape(check.run(model, source[:1, :1], given[:1, :1]), (1, 1, 13), "one source token and one target token: this must work")
lossy = check.keep(Translator, 11, 13, 8, 2, 1, 0.5)
check.run(lossy.train)
noisy = [check.run(lossy, source, given, shape=(2, 4, 13)) for _ in range(2)]
check.true((noisy[0] - noisy[1]).abs().max() > 1e-4, "in training mode two runs give the same: is dropout used?")
begins = check.keep(Translator, 11, 13, 8, 2, 0, 0.5)
check.run(begins.train)
noisy = [check.run(begins.decode, given, torch.zeros(2, 5, 8), source, shape=(2, 4, 13)) for _ in range(2)]
check.true((noisy[0] - noisy[1]).abs().max() > 1e-4, "decode: apply `self.drop` to the embeddings with their positions, before the blocks")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 3 Training
#
# ### 3.1 Label smoothing <small>★★☆ · 20 min · 4 points</small>
# Cross-entropy with one-hot labels asks for infinite logits.
# *Label smoothing* (Szegedy et al., 2016) asks for less: the label of a position with right token $y$ becomes the distribution
#
# $$q_v = (1 - \varepsilon)\,[v = y] + \frac{\varepsilon}{V}, \qquad \text{loss} = -\sum_v q_v \log p_v ,$$
#
# so a share $\varepsilon$ is spread over **all** $V$ tokens, the right one included.
# (Other texts spread it over the other $V-1$ or leave out `PAD`. State your convention when you compare losses.)
#
# 1. `smoothed_loss`: the mean of this loss over all positions whose label is not `PAD`.
# 2. `smallest_loss`: derive how low it can go.
#    For which $p$ is the loss smallest, and what is it then?
#    With $\varepsilon = 0$ it must be 0.
#
# Write the loss with `log_softmax` and sums: `F.cross_entropy` would do it for you, so it is not allowed here.
# Use it to check yourself.


# %% exercise="smoothing"
def smoothed_loss(logits, labels, epsilon):
    """Mean label-smoothed cross-entropy, a scalar, of logits (B, T, V) for labels (B, T); PAD labels do not count."""
    ### BEGIN SOLUTION
    log_p = logits.log_softmax(dim=-1)
    right = log_p.gather(-1, labels[..., None])[..., 0]  # (B, T)
    losses = -(1 - epsilon) * right - epsilon * log_p.mean(dim=-1)
    real = labels != PAD
    return losses[real].mean()
    ### END SOLUTION


def smallest_loss(V, epsilon):
    """The smallest value that the smoothed loss can take with V tokens: a float."""
    ### BEGIN SOLUTION
    if epsilon == 0:
        return 0.0
    top, rest = 1 - epsilon + epsilon / V, epsilon / V
    return -top * math.log(top) - (V - 1) * rest * math.log(rest)
    ### END SOLUTION


# %% test="smoothing" points=4
check = Check("smoothing", points=4)
even = torch.zeros(1, 2, 5)
check.close(check.run(smoothed_loss, even, torch.tensor([[3, 4]]), 0.1), math.log(5), "equal logits: whatever ε is, the loss is log V")
sure = torch.tensor([[[0.0, 0.0, math.log(2.0), 0.0]]])  # p = .2, .2, .4, .2
check.close(
    check.run(smoothed_loss, sure, torch.tensor([[2]]), 0.4),
    -0.7 * math.log(0.4) - 0.3 * math.log(0.2),
    "with V = 4 and ε = 0.4 the right token's label is 0.6 + 0.1, and each other token's 0.1",
    wrong={
        "the share ε goes to the other V − 1 tokens only: here all V get ε/V": -0.6 * math.log(0.4) - 0.4 * math.log(0.2),
        "the labels are not smoothed": -math.log(0.4),
        "every token gets ε, not ε/V": -0.6 * math.log(0.4) - 0.4 * (math.log(0.4) + 3 * math.log(0.2)),
        "ε and 1 − ε are exchanged": -0.4 * math.log(0.4) - 0.6 * (math.log(0.4) + 3 * math.log(0.2)) / 4,
        "the sign is wrong: a loss is minus a log-probability": 0.7 * math.log(0.4) + 0.3 * math.log(0.2),
        "the logits are used as if they were log-probabilities: normalise them with log_softmax": -0.7 * math.log(2.0),
    },
)
one_real = -0.7 * math.log(0.4) - 0.3 * math.log(0.2)
check.close(
    check.run(smoothed_loss, torch.cat([sure, torch.zeros(1, 1, 4)], dim=1), torch.tensor([[2, PAD]]), 0.4),
    one_real,
    "a position whose label is PAD does not count: neither in the sum nor in the number",
    wrong={
        "PAD labels count like words: leave their positions out": (one_real + math.log(4.0)) / 2,
        "PAD labels are left out of the sum, but counted in the mean": one_real / 2,
    },
)
check.close(
    check.run(smallest_loss, 4, 0.4),
    -0.7 * math.log(0.7) - 3 * 0.1 * math.log(0.1),
    "smallest_loss: the loss is smallest for p = q, and then it is the entropy of q",
    wrong={
        "smallest_loss: it is not 0, because no p can be both one-hot and smooth: put p = q into the loss": 0.0,
        "smallest_loss: the V − 1 other tokens all count": -0.7 * math.log(0.7) - 0.1 * math.log(0.1),
    },
)
check.close(check.run(smallest_loss, 7, 0), 0.0, "smallest_loss: with ε = 0 it is 0: take care of 0 · log 0")
check.avoids(
    smoothed_loss,
    "cross_entropy",
    "CrossEntropyLoss",
    "nll_loss",
    "kl_div",
    hint="write the loss out: no cross_entropy, nll_loss or kl_div",
    forbid=["cross entropy"],
    runs=lambda: smoothed_loss(sure, torch.tensor([[2]]), 0.4),
)
### BEGIN HIDDEN TESTS
for size, epsilon in [((3, 4, 7), 0.1), ((2, 6, 9), 0.25), ((1, 1, 5), 0.9), ((4, 3, 6), 0.0)]:
    z, y = 2 * randn(*size), randint(1, size[2], size[:2])
    z[..., 0] += 2.0
    if size[1] > 2:
        y[0, 1:] = PAD
    flat, spread = y.flatten(), z.log_softmax(-1)
    real = y != PAD
    picked = -spread.gather(-1, y[..., None])[..., 0]
    mixed = (1 - epsilon) * picked - epsilon * spread.mean(-1)
    check.close(
        check.run(smoothed_loss, z, y, epsilon, forbid=["cross entropy"]),
        F.cross_entropy(z.flatten(0, 1), flat, ignore_index=PAD, label_smoothing=epsilon),
        "with padding and other sizes the loss is wrong",
        wrong={
            "padding is counted: leave out positions whose label is PAD": mixed.mean(),
            "padding is set to zero, but still counted in the mean": (mixed * real).sum() / real.numel(),
            "this is the sum over positions: take the mean": mixed[real].sum(),
            "this is the sum over a sentence and the mean over sentences: take the mean over all real positions": (mixed * real).sum()
            / size[0],
            "each sentence's mean is averaged: every real *position* has the same weight": ((mixed * real).sum(1) / real.sum(1)).mean(),
            "the labels are not smoothed": picked[real].mean(),
            "the column of PAD is left out of the smoothing: here all V tokens get ε/V": (
                (1 - epsilon) * picked - epsilon * spread[..., 1:].mean(-1)
            )[real].mean(),
        },
    )
check.close(
    check.run(smallest_loss, 1000, 0.1),
    -(0.9 + 1e-4) * math.log(0.9 + 1e-4) - 999e-4 * math.log(1e-4),
    "smallest_loss: wrong for a large vocabulary",
)
best = torch.full((1, 1, 6), math.log(0.02)).index_fill(2, torch.tensor([4]), math.log(0.9))
check.close(
    check.run(lambda: smoothed_loss(best, torch.tensor([[4]]), 0.12) - smallest_loss(6, 0.12)),
    0.0,
    "for p = q the loss must equal the smallest one",
    atol=1e-6,
)
z, y = randn(2, 3, 5), torch.tensor([[1, 2, PAD], [4, PAD, PAD]])
check.gradients(
    lambda a: smoothed_loss(a, y, 0.1),
    lambda a: F.cross_entropy(a.flatten(0, 1), y.flatten(), ignore_index=PAD, label_smoothing=0.1),
    (z,),
    "the gradient through the loss is wrong, or does not flow",
)
check.finite(check.run(smoothed_loss, 200 * z, y, 0.1), "large logits overflow: use log_softmax, not log of softmax")
check.unchanged(smoothed_loss, z, y, 0.1)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.2 Warm-up <small>★☆☆ · 10 min · 3 points</small>
# Adam's first steps rest on a handful of gradients.
# The schedule of the original Transformer starts with small steps, rises linearly for $w$ steps, and then falls like $1/\sqrt{\text{step}}$:
#
# $$\eta(s) = f \cdot D^{-1/2} \cdot \min\!\left(s^{-1/2},\; s \cdot w^{-3/2}\right), \qquad s = 1, 2, \dots$$
#
# 1. `noam(step, D, warmup, factor)` gives $\eta$ (Noam Shazeer's name stuck to it).
# 2. `factor_for(peak, D, warmup)`: the factor $f$ for which the largest rate is `peak`.
#    Derive it: at which step is the rate largest?


# %% exercise="noam"
def noam(step, D, warmup, factor=1.0):
    """Learning rate of a step, counted from 1: a float."""
    ### BEGIN SOLUTION
    return factor * D**-0.5 * min(step**-0.5, step * warmup**-1.5)
    ### END SOLUTION


def factor_for(peak, D, warmup):
    """The factor for which the schedule's largest rate is `peak`: a float."""
    ### BEGIN SOLUTION
    return peak * (D * warmup) ** 0.5
    ### END SOLUTION


# %% test="noam" points=3
check = Check("noam", points=3)
check.close(
    [check.run(noam, step, 64, 100) for step in (1, 50, 100, 400)],
    [1.25e-4, 6.25e-3, 1.25e-2, 6.25e-3],
    "with D = 64 and w = 100 the rates of steps 1, 50, 100 and 400 are 1.25e-4, 6.25e-3, 1.25e-2 and 6.25e-3",
    rtol=1e-9,
    wrong={
        "the factor D^(−1/2) is missing": [1e-3, 5e-2, 1e-1, 5e-2],
        "D is not under a root": [1e-3 / 64, 5e-2 / 64, 1e-1 / 64, 5e-2 / 64],
        "after the warm-up the rate must fall: take the smaller of the two": [0.125, 0.125 / 50**0.5, 1.25e-2, 5e-2],
        "the rise is too steep: s is multiplied by w^(−3/2), so that the two meet at s = w": [1.25e-2, 50**-0.5 / 8, 1.25e-2, 6.25e-3],
        "the rate stays at its peak: after the warm-up it falls like 1/√step": [1.25e-4, 6.25e-3, 1.25e-2, 1.25e-2],
        "it rises to the peak and then falls like 1/step: the fall is 1/√step": [1.25e-4, 6.25e-3, 1.25e-2, 3.125e-3],
    },
)
check.close(check.run(noam, 30, 16, 10, 2.0), 2 / 4 / 30**0.5, "the factor multiplies the rate", rtol=1e-9)
check.close(
    check.run(factor_for, 1e-3, 64, 100),
    0.08,
    "factor_for: the rate is largest at step w, where it is f / √(D w)",
    rtol=1e-9,
    wrong={
        "factor_for: solve for f: this is the inverse": 1e-3 / 80,
        "factor_for: the root over D is missing": 1e-3 * 64 * 10,
        "factor_for: the warm-up counts too": 8e-3,
    },
)
### BEGIN HIDDEN TESTS
for D, warmup in [(128, 40), (512, 4000), (7, 1)]:
    steps = [1, 2, max(1, warmup // 3), warmup, warmup + 1, 3 * warmup, 10 * warmup]
    check.close(
        [check.run(noam, step, D, warmup, 1.7) for step in steps],
        [1.7 / D**0.5 * (step / warmup**1.5 if step < warmup else 1 / step**0.5) for step in steps],
        "for other widths and warm-ups the rates are wrong",
        rtol=1e-9,
    )
    rates = check.run(lambda D=D, warmup=warmup: [noam(step, D, warmup, factor_for(0.002, D, warmup)) for step in range(1, 3 * warmup + 1)])
    check.close(
        check.run(lambda rates=rates: max(rates)) if type(rates) in (tuple, list) else rates,
        0.002,
        "with factor_for(peak, …) the largest rate must be the peak",
        rtol=1e-9,
    )
### END HIDDEN TESTS
check.score()

# %%
show_steps = range(1, 4001)
plots.curves(
    {f"D = {D}, w = {w}": (list(show_steps), [noam(s, D, w) for s in show_steps]) for D, w in [(128, 400), (128, 1600), (512, 400)]},
    "step",
    "learning rate",
    "The warm-up decides the peak, too",
)
plt.show()

# %% [markdown]
# ### Look: train it
# All parts are there.
# `settings` holds everything that you may want to change later.
# At `gpu` scale they are the sizes of the source that this assignment follows; at `laptop` scale the model is small enough to be trained on two cores in a few minutes.
#
# *Before you run it:* where does the loss start?
# (What does an untrained model know?)
# And which is the lowest value it can reach?

# %%
settings = pick(
    smoke={"layers": 1, "heads": 2, "width": 32, "dropout": 0.0, "epochs": 1},
    laptop={"layers": 2, "heads": 4, "width": 128, "dropout": 0.0, "epochs": 2},
    gpu={"layers": 4, "heads": 8, "width": 256, "dropout": 0.1, "epochs": 10},
)
EPSILON, BATCH, PEAK = 0.1, pick(smoke=32, laptop=64, gpu=64), pick(smoke=2e-3, laptop=2e-3, gpu=7e-4)
here = device()


def translation_loss(model, batch):
    source, targets = batch
    inputs, labels = teacher_forcing(targets)
    return smoothed_loss(model(source.to(here), inputs.to(here)), labels.to(here), EPSILON)


@torch.no_grad()
def held_out_loss(model, tokens):
    model.eval()
    batches = list(translation.Batches(tokens, BATCH, -(-len(tokens) // BATCH)))
    words = torch.tensor([sum(len(target) + 1 for target in targets) for _, targets in batches], dtype=torch.float)
    losses = torch.tensor([translation_loss(model, batch).item() for batch in batches])
    return float((losses * words).sum() / words.sum())  # every word has the same weight, whatever batch it is in


def train_translator(settings, tokens, held_out, vocabularies, seed_number=0, label="training"):
    """A trained model, its losses per step, and (step, held-out loss) pairs."""
    seed(seed_number)
    sizes = [len(vocabulary) for vocabulary in vocabularies]
    model = Translator(*sizes, settings["width"], settings["heads"], settings["layers"], settings["dropout"]).to(here)
    steps = max(1, round(settings["epochs"] * len(tokens) / BATCH))
    warmup = max(1, steps // 8)
    factor = factor_for(PEAK, settings["width"], warmup)
    rates = [noam(step, settings["width"], warmup, factor) for step in range(1, steps + 1)]
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9, fused=True)
    curve = [(0, held_out_loss(model, held_out))]

    def look(step, model):
        if step % max(1, steps // 8) == 0 or step == steps:
            curve.append((step, held_out_loss(model, held_out)))

    batches = translation.Batches(tokens, BATCH, steps, seed_number)
    history = models.train(model, batches, translation_loss, adam, rates, label=label, after=look, keep=[curve])
    return model.eval(), history.losses, curve


dev_tokens = translation.encoded(corpus.dev, english_words, french_words)
vocabularies = (english_words, french_words)
trained, losses, dev_curve = train_translator(settings, train_tokens, dev_tokens, vocabularies)
print(f"{models.parameters(trained):,} parameters, {len(losses):,} steps")
print(f"dev loss {dev_curve[0][1]:.3f} at first (log V = {math.log(len(french_words)):.3f}), {dev_curve[-1][1]:.3f} at the end")

# %%
floor = smallest_loss(len(french_words), EPSILON)
window = max(1, len(losses) // 50)
smooth = [sum(losses[max(0, i - window + 1) : i + 1]) / min(i + 1, window) for i in range(len(losses))]
ax = plots.curves(
    {"training": (list(range(1, len(losses) + 1)), smooth), "dev (new structures)": tuple(zip(*dev_curve))},
    "step",
    "smoothed loss in nats per token",
    "The loss falls towards its floor, which is not 0",
)
ax.axhline(floor, color="0.5", linewidth=1)
ax.annotate(f"smallest possible: {floor:.2f}", (0, floor), ha="left", va="bottom", fontsize=9, color="0.35")
plt.show()

# %% [markdown]
# Did you expect a start at $\log V$, which is 6.96 here, from a model that knows nothing?
# At laptop scale it starts near 7.9.
# The head is the embedding once more, and at first a position still holds much of the embedding of its own input.
# If it held nothing else, that vector, normed, would have a product of about $\sqrt{D/1.5}$, for $D = 128$ about 9, with its own row (the embedding times $\sqrt D$ has a variance of 1 per number, the sinusoids add about a half) and about 0 with the other rows.
# What the branches add leaves a logit of about 6.6.
# So the untrained model bets on the word it was just given.
# The first steps unlearn it.
#
# ## 4 Search
#
# The model gives $P(y_t \mid y_{<t}, x)$.
# A translation is a whole sequence; its log-probability is the sum $\sum_t \log P(y_t \mid y_{<t}, x)$.
# Which sequence should we output?
# There are $V^T$.
#
# To keep search apart from the model, your functions get a function `step`: it takes prefixes, an `int64` tensor `(N, t)` of which each row starts with `BEGIN`, and gives the log-probabilities of the next token, `(N, V)`.
#
# ### 4.1 Greedy search <small>★★☆ · 15 min · 4 points</small>
# Take the most likely next token, append it, go on.
# Do it for $B$ sentences at once: row $b$ of the prefixes always belongs to sentence $b$, so a sentence that has ended keeps its row (what you append to it does not matter) until all have ended.
# Stop as soon as all have ended, or after `limit` tokens.
# Return $B$ lists of tokens, without `BEGIN`, and without `END` and what comes after it.


# %% exercise="greedy"
def greedy(step, B, limit):
    """Greedy translations of B sentences: a list of B lists of tokens, each with at most `limit` tokens."""
    ### BEGIN SOLUTION
    prefixes = torch.full((B, 1), BEGIN)
    ended = torch.zeros(B, dtype=torch.bool)
    for _ in range(limit):
        best = step(prefixes).argmax(dim=-1)  # (B,)
        prefixes = torch.cat([prefixes, best[:, None].to(prefixes.device)], dim=1)
        ended |= prefixes[:, -1] == END
        if ended.all():
            break
    rows = [row[1:] for row in prefixes.tolist()]
    return [row[: row.index(END)] if END in row else row for row in rows]
    ### END SOLUTION


# %% test="greedy" points=4
check = Check("greedy", points=4)


def chain_of(*ways):
    """One table per sentence: after BEGIN comes the way's first token, and so on; almost surely."""
    tables = torch.full((len(ways), 9, 9), 0.01)
    for table, way in zip(tables, ways, strict=True):
        for now, then in zip([BEGIN, *way], way, strict=False):
            table[now, then] = 0.92
    return RowChains(tables / tables.sum(-1, keepdim=True))


one = chain_of([4, 5, 6, END])
check.equal(
    check.run(lambda: greedy(one.log_probabilities, 1, 10)),
    [[4, 5, 6]],
    "the likely way is 4, 5, 6, END",
    wrong={
        "BEGIN is part of the result: leave it out": [[BEGIN, 4, 5, 6]],
        "END is part of the result: leave it out": [[4, 5, 6, END]],
        "BEGIN and END are part of the result: leave them out": [[BEGIN, 4, 5, 6, END]],
        "the same token comes again and again: append it and ask with the longer prefix": [[4] * 10],
        "only the first token comes back": [[4]],
    },
)
two = chain_of([4, END], [7, 6, 5, 8, END])
check.equal(
    check.run(lambda: greedy(two.log_probabilities, 2, 10)),
    [[4], [7, 6, 5, 8]],
    "two sentences of different lengths: each ends at its own END",
    wrong={"everything stops when the first sentence has ended: wait for all": [[4], [7, 6]]},
)
loop = chain_of([4, 5, 6, 7, 8, 4])
check.equal(check.run(lambda: greedy(loop.log_probabilities, 1, 3)), [[4, 5, 6]], "after `limit` tokens stop, END or not")
### BEGIN HIDDEN TESTS
short = chain_of([4, 5, END], [6, END])
check.run(lambda: greedy(short.log_probabilities, 2, 50))
check.calls(short, "stop as soon as all sentences have ended: do not go on to the limit", exactly=3)
after = chain_of([4, END], [7, 6, 5, 8, END])
after.table[0, END] = torch.tensor([0.0, 0, 0, 0, 0, 0, 0, 0, 1.0])  # what a sentence says after its END
check.equal(
    check.run(lambda: greedy(after.log_probabilities, 2, 10)),
    [[4], [7, 6, 5, 8]],
    "what comes after a sentence's END does not belong to it",
)
several = chain_of([5, 4, 6, 3, END], [END], [8, 3, 7, END], [3, END])
free = RowChains(rand(6, 9, 9) ** 4 + 1e-3)
free.table[:, :, :END] = 1e-7  # PAD and BEGIN are never said
free.table /= free.table.sum(-1, keepdim=True)


def plain(table, limit):
    rows = []
    for part in table:
        way, now = [], BEGIN
        for _ in range(limit):
            now = int(part[now].argmax())
            if now == END:
                break
            way.append(now)
        rows.append(way)
    return rows


for chains, size, limit in [(several, 4, 7), (free, 6, 12), (free, 6, 1)]:
    check.equal(
        check.run(lambda chains=chains, size=size, limit=limit: greedy(chains.log_probabilities, size, limit)),
        plain(chains.table, limit),
        "for other chains the greedy way is another: is the *most* likely token taken, for each row its own, and is END cut off?",
    )
check.equal(check.run(lambda: greedy(chain_of([END]).log_probabilities, 1, 5)), [[]], "a sentence that ends at once is an empty list")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.2 Beam search <small>★★★ · 40 min · 6 points</small>
# Greedy search cannot take back a step.
# *Beam search* keeps the `width` best beginnings.
# For one sentence:
#
# 1. Start with the single beginning `[BEGIN]`, whose total log-probability is 0.
# 2. Extend every live beginning by every token.
#    Of all these candidates keep the `width` with the highest total.
# 3. Those that end in `END` are finished and leave the beam: in this round nobody takes their places.
#    The others live on; in the next round you again keep `width` of all candidates.
#    Go back to 2 until none lives or they have `limit` tokens, `BEGIN` not counted.
#    What still lives at the limit counts as finished, too.
# 4. Output the finished one with the highest *score*: its total divided by $n^{\alpha}$, where $n$ is its number of tokens, `END` counted, `BEGIN` not.
#
# Every token adds a negative number to the total, so the total prefers short sequences.
# $\alpha$ corrects for that: 0 does nothing, 1 gives the mean log-probability per token (Wu et al., 2016, use a similar formula).
#
# Return the tokens (no `BEGIN`, no `END`) and the score.
# *Before you run it:* what is beam search of width 1?
# And with $\alpha = 0$, can a wider beam find something less likely than a narrower one?


# %% exercise="beam"
def beam_search(step, width, limit, alpha=1.0):
    """(tokens, score): the best finished sequence without BEGIN and END, and its length-normalised log-probability, a float."""
    ### BEGIN SOLUTION
    live, totals, finished = torch.tensor([[BEGIN]]), torch.zeros(1), []
    for length in range(1, limit + 1):
        candidates = totals[:, None] + step(live)  # (N, V)
        V = candidates.shape[1]
        totals, places = candidates.flatten().topk(min(width, candidates.numel()))
        live = torch.cat([live[places // V], places[:, None] % V], dim=1)
        done = (live[:, -1] == END) | (length == limit)
        finished += [(total / length**alpha, row) for total, row in zip(totals[done].tolist(), live[done].tolist())]
        live, totals = live[~done], totals[~done]
        if not len(live):
            break
    score, row = max(finished)
    return [token for token in row[1:] if token != END], score
    ### END SOLUTION


# %% test="beam" points=6
check = Check("beam", points=6)
# After BEGIN: 3 (.6) or 4 (.4). After 3: everything is unlikely. After 4: END almost surely. Greedy takes 3 and regrets it.
table = torch.full((3, 6, 6), 0.01)
table[0, BEGIN] = torch.tensor([0.0025, 0.0025, 0.0025, 0.59, 0.40, 0.0025])
table[1:, 3] = torch.tensor([0.02, 0.02, 0.25, 0.24, 0.24, 0.23])
table[1:, 4] = torch.tensor([0.01, 0.01, 0.95, 0.01, 0.01, 0.01])
table[1:, 5] = torch.tensor([0.02, 0.02, 0.90, 0.02, 0.02, 0.02])
table = table / table.sum(-1, keepdim=True)


chain = TimedChain(table)
narrow = check.run(lambda: beam_search(chain.log_probabilities, 1, 3, 0.0))
check.equal(
    check.run(lambda: list(narrow[0])) if type(narrow) in (tuple, list) else narrow,
    [3],
    "a beam of width 1 with α = 0 is greedy search: here it takes 3 first",
    wrong={"a beam of width 1 found the way over 4: it may keep only one beginning": [4]},
)
wide = check.run(lambda: beam_search(chain.log_probabilities, 2, 3, 0.0))
check.equal(
    check.run(lambda: list(wide[0])) if type(wide) in (tuple, list) else wide,
    [4],
    "a beam of width 2 keeps the beginning 4, which ends with .95: the sequence 4, END",
    wrong={
        "END or BEGIN is part of the result: leave them out": [4, END],
        "BEGIN is part of the result: leave it out": [BEGIN, 4],
        "BEGIN and END are part of the result: leave them out": [BEGIN, 4, END],
        "a beam of width 2 gives the greedy way: keep the two best *beginnings*, not the two best tokens of one, and output the *best* of the finished ones": [
            3
        ],
    },
)
pair_total = math.log(table[0, BEGIN, 4]) + math.log(table[1, 4, END])
check.close(
    check.run(lambda: float(wide[1])) if type(wide) in (tuple, list) else wide,
    pair_total,
    "the score with α = 0 is the sum of the log-probabilities, that of END included",
    rtol=1e-5,
    wrong={
        "the score leaves out the log-probability of END": math.log(table[0, BEGIN, 4]),
        "the score is a probability: return its logarithm": math.exp(pair_total),
        "with α = 0 the total is not divided by anything": pair_total / 2,
    },
)
mean = check.run(lambda: beam_search(chain.log_probabilities, 2, 3, 1.0))
check.close(
    check.run(lambda: float(mean[1])) if type(mean) in (tuple, list) else mean,
    pair_total / 2,
    "with α = 1 the score is the total divided by the number of tokens, END counted: here by 2",
    rtol=1e-5,
    wrong={
        "the score is not divided by n^α, or END is not counted in n: here n is 2": pair_total,
        "BEGIN is counted in the length: it was not chosen": pair_total / 3,
        "the score is divided twice by the length": pair_total / 4,
    },
)
never = torch.full((1, 4, 4), 0.32)
never[0, :, END] = 0.04
never[0, BEGIN, 3] = 0.4
lasting = check.run(lambda: beam_search(TimedChain(never / never.sum(-1, keepdim=True)).log_probabilities, 1, 4, 0.0))
check.equal(
    check.run(lambda: len(lasting[0])) if type(lasting) in (tuple, list) else lasting,
    4,
    "what still lives at the limit counts as finished: here all 4 tokens come back",
)
### BEGIN HIDDEN TESTS


def best_of(chances, width, limit, alpha, count_begin=0, by_total=False, keep_all=False, unfinished=True, shrink=False, hasty=False):
    """The four steps of the text, written with plain lists."""
    beams, ended = [([BEGIN], 0.0)], []
    for length in range(1, limit + 1):
        grown = [
            ([*row, v], total + math.log(p))
            for row, total in beams
            for v, p in enumerate(chances[min(length, len(chances)) - 1, row[-1]].tolist())
        ]
        grown = sorted(grown, key=lambda item: -item[1])
        if keep_all:  # finished ones do not take places
            ended += [item for item in grown[:width] if item[0][-1] == END]
            beams = [item for item in grown if item[0][-1] != END][:width]
        else:
            grown = grown[: width - len(ended) if shrink else width]
            ended += [item for item in grown if item[0][-1] == END]
            beams = [item for item in grown if item[0][-1] != END]
        if not beams or (hasty and ended):
            break
    ended = ended + (beams if unfinished and not (hasty and ended) else [])
    if not ended:
        return [], math.nan
    row, total = max(ended, key=lambda item: item[1] if by_total else item[1] / (len(item[0]) - 1 + count_begin) ** alpha)
    return [token for token in row[1:] if token != END], total / (len(row) - 1 + count_begin) ** alpha


cases = [
    (5, 5, 2, 6, 0.7),
    (6, 4, 3, 5, 0.0),
    (4, 7, 2, 7, 1.0),
    (5, 6, 50, 3, 0.6),
    (3, 5, 4, 1, 1.0),
    (6, 6, 1, 8, 1.3),
    (5, 5, 3, 6, 1.0),
]


def telling(steps, V, width, limit, alpha):
    """A table for which the slips below give other sequences; PAD and BEGIN are never worth saying."""
    for _ in range(300):
        chances = rand(steps, V, V) ** 2 + 1e-3
        chances[:, :, :END] = 1e-7
        chances = (chances / chances.sum(-1, keepdim=True)).double()
        right = best_of(chances, width, limit, alpha)[0]
        slips = [{"by_total": True}, {"keep_all": True}, {"shrink": True}, {"hasty": True}]
        others = [best_of(chances, width, limit, alpha, **slip)[0] for slip in slips]
        if alpha < 0.5 or limit < 4 or width in (1, 50) or right not in others:
            break
    return chances


for steps, V, width, limit, alpha in cases:
    chances = telling(steps, V, width, limit, alpha)
    model = TimedChain(chances)
    got = check.run(lambda model=model, width=width, limit=limit, alpha=alpha: beam_search(model.log_probabilities, width, limit, alpha))
    want = best_of(chances, width, limit, alpha)
    slips = {
        "the finished sequence with the highest *total* comes back: rank by the length-normalised score": best_of(
            chances, width, limit, alpha, by_total=True
        )[0],
        "the tokens fit a beam in which finished sequences take no place: of all candidates keep `width`, then take out the finished ones": best_of(
            chances, width, limit, alpha, keep_all=True
        )[0],
        "what still lives at the limit is lost: it counts as finished, too": best_of(chances, width, limit, alpha, unfinished=False)[0],
        "BEGIN is counted in the length": best_of(chances, width, limit, alpha, count_begin=1)[0],
        "the search stops at the first END: go on until nothing lives, a later one may score higher": best_of(
            chances, width, limit, alpha, hasty=True
        )[0],
        "the beam gets narrower with every finished sequence: in the next round keep `width` candidates again": best_of(
            chances, width, limit, alpha, shrink=True
        )[0],
        "the result is that of a beam of width 1": best_of(chances, 1, limit, alpha)[0],
    }
    slips = {hint: row for hint, row in slips.items() if row != want[0]}
    check.equal(
        check.run(lambda got=got: list(got[0])) if type(got) in (tuple, list) else got,
        want[0],
        "for other tables the beam finds another sequence",
        wrong=slips,
    )
    check.close(
        check.run(lambda got=got: float(got[1])) if type(got) in (tuple, list) else got,
        want[1],
        "for other tables the score is wrong: is it the normalised total of the sequence that comes back?",
        rtol=1e-5,
    )
    check.true((model.most_rows <= width) & (model.calls > 0), "more than `width` beginnings were kept alive")
early = torch.full((1, 4, 4), 0.01)
early[0, :, END] = 0.97
swift = TimedChain(early / early.sum(-1, keepdim=True))
check.equal(check.run(lambda: list(beam_search(swift.log_probabilities, 1, 30, 1.0)[0])), [], "a sentence that ends at once is empty")
check.calls(swift, "when nothing lives any more, stop", exactly=1)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# (Width 1 is greedy search. And yes: a wider beam can lose what a narrower one finds, because other beginnings that look better push it out. It is rare: of 4,000 random tables with six tokens, width 2 found something less likely than width 1 in 28.)
#
# Now both searches with your model.
# `next_step` makes the function `step` from a batch of source sentences; the memory is computed once.


# %%
@torch.no_grad()
def next_step(model, source):
    model.eval()
    source = source.to(here)
    memory = model.encode(source)

    @torch.no_grad()
    def step(prefixes):
        rows = len(prefixes)
        inputs = prefixes.to(here)
        logits = model.decode(inputs, memory.expand(rows, -1, -1), source.expand(rows, -1))[:, -1]
        return logits.log_softmax(dim=-1).cpu()

    return step


LONGEST = pick(smoke=12, laptop=50, gpu=100)  # tokens of a translation
SOURCE_LONGEST = 100  # tokens of a source: training has seen no longer ones


def translate(model, sentences, vocabularies, width=1, alpha=1.0, size=128):
    """Translations of a list of sentences: greedy for width 1, else by beam search."""
    made = []
    if width > 1:
        for sentence in sentences:
            source = torch.tensor([vocabularies[0].encode(sentence)[:SOURCE_LONGEST]])
            made.append(vocabularies[1].decode(beam_search(next_step(model, source), width, LONGEST, alpha)[0]))
        return made
    for i in range(0, len(sentences), size):
        source = translation.padded([vocabularies[0].encode(sentence)[:SOURCE_LONGEST] for sentence in sentences[i : i + size]])
        made += [vocabularies[1].decode(tokens) for tokens in greedy(next_step(model, source), len(source), LONGEST)]
    return made


greedy_dev = translate(trained, [english for english, _ in corpus.dev], vocabularies)
for (english, french), our_french in list(zip(corpus.dev, greedy_dev))[:6]:
    print(
        f"{'✓' if our_french == french else '✗'} {english}\n    {our_french}"
        + ("" if our_french == french else f"\n    {french}  (reference)")
    )

# %% [markdown]
# ## 5 BLEU
#
# How good is a translation?
# BLEU (Papineni et al., 2002) counts which word sequences of the translation also stand in the reference.
# It was made for whole corpora and agrees with humans' judgements there, not sentence by sentence.
#
# ### 5.1 Clipped matches <small>★★☆ · 15 min · 3 points</small>
# An *n-gram* is $n$ words in a row.
# Count the n-grams of the hypothesis that also occur in the reference.
# "The the the the" would get full marks against "the cat", so each n-gram counts at most as often as it stands in the *reference*: the counts are *clipped*.
#
# Return `(matches, total)`: the clipped matches, and the number of n-grams in the hypothesis.


# %% exercise="matches"
def ngram_matches(hypothesis, reference, n):
    """(matches, total) of the n-grams of two lists of words: clipped matches, and n-grams of the hypothesis."""
    ### BEGIN SOLUTION
    ours, theirs = (Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1)) for words in (hypothesis, reference))
    return (ours & theirs).total(), ours.total()
    ### END SOLUTION


# %% test="matches" points=3
check = Check("matches", points=3)
cat = ["the", "cat", "sat", "on", "the", "mat"]
check.equal(
    check.run(ngram_matches, ["the", "the", "the", "the"], cat, 1),
    (2, 4),
    "`the` stands twice in the reference, so it counts at most twice: 2 of 4",
    wrong={
        "the matches are not clipped: a word counts at most as often as it stands in the reference": (4, 4),
        "every n-gram counts once at most: it counts as often as it stands in the reference": (1, 4),
        "the total is the number of *different* n-grams: count every one": (2, 1),
        "this is the share: return the two counts": 0.5,
        "the total is taken from the reference: it is the number of n-grams in the hypothesis": (2, 6),
    },
)
check.equal(
    check.run(ngram_matches, ["the", "cat", "on", "the", "mat", "sat"], cat, 2),
    (3, 5),
    "the pairs `the cat`, `on the` and `the mat` match: 3 of 5",
    wrong={
        "words are counted, not sequences of n words": (6, 6),
        "the last n-gram is left out: there are len − n + 1 of them": (2, 4),
        "the last n-gram of the hypothesis is left out: there are len − n + 1": (3, 4),
        "the n-grams do not overlap in your count: one begins at every word": (1, 3),
    },
)
check.equal(check.run(ngram_matches, ["the", "cat"], cat, 3), (0, 0), "a hypothesis of two words has no 3-grams: (0, 0)")
### BEGIN HIDDEN TESTS


def slow(a, b, n):
    left = [tuple(b[i : i + n]) for i in range(len(b) - n + 1)]
    hits = 0
    for i in range(len(a) - n + 1):
        if tuple(a[i : i + n]) in left:
            left.remove(tuple(a[i : i + n]))
            hits += 1
    return hits, max(0, len(a) - n + 1)


letters = ["a", "b", "c"]
for size, other, n in [(9, 12, 1), (15, 8, 2), (11, 11, 3), (20, 14, 4), (1, 5, 1), (0, 4, 2), (6, 0, 1), (30, 25, 2)]:
    mine = [letters[i] for i in randint(0, 3, (size,)).tolist()]
    yours = [letters[i] for i in randint(0, 3, (other,)).tolist()]
    check.equal(
        check.run(ngram_matches, mine, yours, n),
        slow(mine, yours, n),
        "for other words the counts are wrong: clip by the reference, and count every n-gram of the hypothesis",
    )
joined = check.run(ngram_matches, ["ab", "c"], ["a", "bc"], 2)
check.equal(
    joined,
    (0, 1),
    "`ab c` and `a bc` are different pairs: compare lists of words, not joined letters",
    wrong={"`ab c` and `a bc` are different pairs: do not join the words": (1, 1)},
)
check.unchanged(ngram_matches, cat, cat, 2)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.2 BLEU <small>★★★ · 35 min · 6 points</small>
# Let $m_n$ and $t_n$ be matches and totals of order $n = 1, \dots, 4$, **summed over the whole corpus**, $c$ the number of words of all hypotheses and $r$ of all references.
# With the precisions $p_n = m_n / t_n$
#
# $$\mathrm{BLEU} = 100 \cdot \mathrm{BP} \cdot \Big(\prod_{n=1}^{4} p_n\Big)^{1/4}, \qquad \mathrm{BP} = \begin{cases} 1 & c \ge r \\ e^{1 - r/c} & c < r. \end{cases}$$
#
# The *brevity penalty* BP stands in for recall: without it, one safe word would win.
# The standard tool, sacreBLEU (Post, 2018), handles the cases where the formula breaks as follows, and so do you:
#
# - If no word matches ($m_1 = 0$), or a total $t_n$ is 0, BLEU is 0. (So it is for an empty translation.)
# - If $m_n = 0$ for some order with $t_n > 0$, its precision is *smoothed*: the first such order gets $p_n = 1/(2 t_n)$, the second $1/(4 t_n)$, the third $1/(8 t_n)$.
#
# `tokenize_13a`, which is given, turns a sentence into a list of words: scores are only comparable when everybody cuts the same way.
# Hypotheses and references are lists of sentences, equally long.
# The result must equal sacreBLEU's to $10^{-6}$; you may not call it.
# *Before you run it:* is the BLEU of a corpus the mean of its sentences' BLEU scores?


# %% exercise="bleu"
def bleu(hypotheses, references):
    """Corpus BLEU, a float from 0 to 100, of two lists of sentences."""
    ### BEGIN SOLUTION
    cut = [(tokenize_13a(ours), tokenize_13a(theirs)) for ours, theirs in zip(hypotheses, references, strict=True)]
    c, r = sum(len(ours) for ours, _ in cut), sum(len(theirs) for _, theirs in cut)
    log_precision, halves = 0.0, 1.0
    for n in (1, 2, 3, 4):
        counts = [ngram_matches(ours, theirs, n) for ours, theirs in cut]
        matches, total = sum(m for m, _ in counts), sum(t for _, t in counts)
        if total == 0 or (n == 1 and matches == 0):
            return 0.0
        if matches == 0:
            halves /= 2
        log_precision += math.log((matches or halves) / total) / 4
    return 100 * math.exp(min(0.0, 1 - r / c) + log_precision)
    ### END SOLUTION


# %% test="bleu" points=6
check = Check("bleu", points=6)
same = ["Le chat dort dans le jardin.", "La reine n'a pas ri."]
perfect = check.run(bleu, same, same)
check.close(perfect, 100.0, "a perfect translation has BLEU 100", wrong={"the scale is 0 to 100, not 0 to 1": 1.0}, atol=1e-6)
short = check.run(bleu, ["le chat dort dans le"], ["le chat dort dans le jardin vert ce soir"])
check.close(
    short,
    100 * math.exp(1 - 9 / 5),
    "5 of 9 words, all right: the precisions are 1, so BLEU is 100 · e^(1 − 9/5)",
    atol=1e-6,
    wrong={
        "the brevity penalty is missing": 100.0,
        "the brevity penalty is e^(1 − r/c), not c/r": 100 * 5 / 9,
        "the brevity penalty has c and r exchanged": 100 * math.exp(1 - 5 / 9),
    },
)
check.close(
    check.run(bleu, ["a b c d e f g h"], ["a b c d x f g h"]),
    100 * (7 / 8 * 5 / 7 * 3 / 6 * 1 / 5) ** 0.25,
    "one wrong word of eight: the precisions are 7/8, 5/7, 3/6 and 1/5",
    atol=1e-6,
    wrong={
        "the precisions are averaged: take the fourth root of their product": 25 * (7 / 8 + 5 / 7 + 3 / 6 + 1 / 5),
        "the fourth root is missing": 100 * (7 / 8 * 5 / 7 * 3 / 6 * 1 / 5),
        "the orders are 1 to 4, not 1 to 3": 100 * (7 / 8 * 5 / 7 * 3 / 6) ** (1 / 3),
        "the precisions come from different totals: t_n is the number of n-grams, which falls with n": 100
        * (7 / 8 * 5 / 8 * 3 / 8 * 1 / 8) ** 0.25,
    },
)
check.close(
    check.run(bleu, ["a b c x e f y h"], ["a b c d e f g h"]),
    100 * (6 / 8 * 3 / 7 * 1 / 6 * 1 / 2 / 5) ** 0.25,
    "no 4-gram matches: its precision is smoothed to 1/(2 · 5)",
    atol=1e-6,
    wrong={
        "a missing order makes the whole score 0: smooth it": 0.0,
        "the smoothed precision is 1/(2 t_n): the 2 is missing": 100 * (6 / 8 * 3 / 7 * 1 / 6 * 1 / 5) ** 0.25,
        "an order without matches is left out of the product: smooth it instead": 100 * (6 / 8 * 3 / 7 * 1 / 6) ** (1 / 3),
        "an order without matches counts as 1: smooth it instead": 100 * (6 / 8 * 3 / 7 * 1 / 6) ** 0.25,
    },
)
check.close(
    check.run(bleu, ["le chat dort ici ce soir", "la reine rit"], ["le chat dort ici ce soir", "la reine a ri hier"]),
    100 * math.exp(1 - 11 / 9) * (8 / 9 * 6 / 7 * 4 / 5 * 3 / 3) ** 0.25,
    "two sentences: the counts are summed first, 8/9, 6/7, 4/5 and 3/3, with c = 9 and r = 11",
    atol=1e-6,
    wrong={"this is the mean of the sentences' scores: sum the counts over the corpus first": 50.0},
)
check.close(
    check.run(bleu, ["Le chat dort dans ce jardin ."], ["Le chat dort dans ce jardin."]),
    100.0,
    "`jardin .` and `jardin.` are the same two words for tokenize_13a",
    atol=1e-6,
    wrong={"the sentences are cut at blanks: use tokenize_13a": 100 * (5 / 7 * 4 / 6 * 3 / 5 * 2 / 4) ** 0.25},
)
check.avoids(
    bleu,
    *("sacrebleu", "corpus_bleu", "BLEU", "corpus_score"),
    hint="compute it yourself: do not call sacreBLEU",
    forbid=["sacrebleu"],
    runs=lambda: bleu(["a b c x e f y h"], ["a b c d e f g h"]),
)
### BEGIN HIDDEN TESTS
vocabulary = ["le", "la", "chat", "l'ami", "dort", "1er", "mars", "n'a", "pas", "12,50", "€", "est-ce", "que", "vingt", "pomme.", "?"]


def text(size):
    return " ".join(vocabulary[i] for i in randint(0, len(vocabulary), (size,)).tolist())


def slips(ours, theirs, tokens=tokenize_13a, penalty="corpus", clip=True, smooth="exp", each=False):
    """BLEU with one thing done differently."""
    if each:
        return sum(slips([a], [b]) for a, b in zip(ours, theirs, strict=True)) / len(ours)
    both = [(tokens(a), tokens(b)) for a, b in zip(ours, theirs, strict=True)]
    c, r, logs, half = sum(len(a) for a, _ in both), sum(len(b) for _, b in both), 0.0, 1.0
    for n in (1, 2, 3, 4):
        grams = [[Counter(tuple(z[i : i + n]) for i in range(len(z) - n + 1)) for z in pair] for pair in both]
        m = sum((a & b).total() if clip else sum(k for g, k in a.items() if g in b) for a, b in grams)
        t = sum(a.total() for a, _ in grams)
        if t == 0 or (n == 1 and m == 0):
            return 0.0
        if m == 0:
            half = half / 2 if smooth == "exp" else 0.5
        logs += math.log((m or half) / t) / 4
    brief = min(0.0, 1 - r / c)
    if penalty == "sentence":
        brief = sum(min(0.0, 1 - len(b) / len(a)) if a else 0.0 for a, b in both) / len(both)
    if penalty == "symmetric":
        brief = 1 - max(r / c, c / r)
    return 100 * math.exp(brief + logs)


def distorted(sentence):
    words = sentence.split()
    keep = [word for word, luck in zip(words, rand(len(words)).tolist(), strict=True) if luck > 0.15]
    return " ".join(keep + text(2).split()) if rand(1).item() > 0.5 else " ".join(keep)


for count, length in [(1, 9), (5, 12), (30, 10), (3, 25), (12, 6)]:
    theirs = [text(length + i % 4) for i in range(count)]
    ours = [distorted(sentence) for sentence in theirs]
    check.close(
        check.run(bleu, ours, theirs, forbid=["sacrebleu"]),
        sacrebleu.corpus_bleu(ours, [theirs]).score,
        "on other sentences the score differs from sacreBLEU's",
        atol=1e-6,
        rtol=0,
        wrong={
            "this is the mean of the sentences' scores: sum the counts over the corpus first": slips(ours, theirs, each=True),
            "the sentences are cut at blanks: use tokenize_13a": slips(ours, theirs, tokens=str.split),
            "the matches are not clipped": slips(ours, theirs, clip=False),
            "the brevity penalty is averaged over sentences: c and r are sums over the corpus": slips(ours, theirs, penalty="sentence"),
            "a translation that is too long is penalised, too: the penalty is 1 for c ≥ r": slips(ours, theirs, penalty="symmetric"),
        },
    )
tail = (["le chat est la", "un deux trois quatre"], ["la est chat le", "cinq six sept huit neuf"])  # only single words match
check.close(
    check.run(bleu, *tail),
    sacrebleu.corpus_bleu(tail[0], [tail[1]]).score,
    "orders 2, 3 and 4 have no match: they get 1/(2 t), 1/(4 t) and 1/(8 t)",
    atol=1e-6,
    rtol=0,
    wrong={"every order without a match gets 1/(2 t): the second gets 1/(4 t), the third 1/(8 t)": slips(*tail, smooth="flat")},
)
for ours, theirs in [
    ([""], ["le chat"]),
    (["x y z u v"], ["a b c d e"]),
    (["le chat dort"], ["le chat dort"]),
    (["", "le chat dort dans"], ["la", "le chat dort dans"]),
]:
    check.close(
        check.run(bleu, ours, theirs),
        sacrebleu.corpus_bleu(ours, [theirs]).score,
        "an empty or very short translation, or one without any match: BLEU is 0 where no word matches or a total is 0, and there must be no division by zero",
        atol=1e-6,
        rtol=0,
    )
check.unchanged(bleu, same, same[::-1])
### END HIDDEN TESTS
check.score()

# %%
dev_references = [french for _, french in corpus.dev]
print(
    f"dev, greedy: BLEU {bleu(greedy_dev, dev_references):.2f} (sacreBLEU says {sacrebleu.corpus_bleu(greedy_dev, [dev_references]).score:.2f})"
)
sentence_mean = sum(bleu([ours], [theirs]) for ours, theirs in zip(greedy_dev, dev_references)) / len(greedy_dev)
print(f"the mean of the sentences' scores is another number: {sentence_mean:.2f}")

# %% [markdown]
# ## 6 Results
#
# ### Look: new words, new structures
# Three questions, in this order.
# Does the model translate new sentences of structures that it knows?
# Does it *compose*: sentences whose combination of mood, tense and polarity it has never seen?
# And the test set, once.
#
# *Before you run it:* how far apart will the first two be?


# %%
def judged(model, sentences, vocabularies, **search):
    ours = translate(model, [source for source, _ in sentences], vocabularies, **search)
    references = [target for _, target in sentences]
    exact = sum(a == b for a, b in zip(ours, references)) / len(ours)
    return {"BLEU": bleu(ours, references), "exactly right": exact}


results = {
    "known structures, new sentences": judged(trained, familiar, vocabularies),
    "dev: new structures": judged(trained, corpus.dev, vocabularies),
    "test: new structures": judged(trained, corpus.test, vocabularies),
}
pd.DataFrame(results).T.round(3)

# %% [markdown]
# What we saw at laptop scale with two seeds: BLEU 98.5 and 97.8 on known structures, 97.4 and 97.6 on dev, 97.3 and 96.8 on test (94 and 91, 89 and 89, 89 and 87 % of the sentences exactly right).
# So the model composes: that a combination is new costs about one point or less.
# (These two runs, and the counts of nouns below, were made when the kit's models started with smaller weights and learned more slowly.)
# Do not expect this of other splits.
# Here every *two* of the three parts were seen together.
# Where a split takes even that away, sequence models can fail altogether (Lake and Baroni, 2018).
#
# ### Look: does the beam help?
# The same model, searched with wider beams and different $\alpha$.
# *Before you run it:* the model is sure of almost every word of these sentences.
# How much can a wider beam find?

# %%
some = corpus.dev[: pick(smoke=4, laptop=60, gpu=500)]
searches = {"greedy": {}, "beam 4, α = 0": {"width": 4, "alpha": 0.0}, "beam 4, α = 1": {"width": 4, "alpha": 1.0}}
pd.DataFrame({name: judged(trained, some, vocabularies, **search) for name, search in searches.items()}).T.round(3)

# %% [markdown]
# ### Look: cross-attention is an alignment
# When the decoder produces a word, where does it look?
# Row $t$ of the picture belongs to the position that produces word $t$.
# Find the adjective that changes its place, and the two words of a negation.


# %%
def alignment_of(sentence):
    """Cross-attention (L, H, T, S) of a greedy translation, the source words and the produced words."""
    source = torch.tensor(english_words.encode(sentence))
    tokens = greedy(next_step(trained, source[None]), 1, LONGEST)[0]
    looked = translation.cross_maps(trained, source.to(here), torch.tensor([BEGIN, *tokens]).to(here)).cpu()
    return looked, english_words.pieces(source.tolist()), [*french_words.pieces(tokens), "</s>"]


chosen = [
    "The old teacher did not buy the red car on March 1, 1965.",
    "Why does she not see the woman's beautiful white horse?",
    "The queen says that twenty-one nurses will eat some green apples at the station.",
]
looked, source_words, produced = alignment_of(chosen[0])
fig, axes = plt.subplots(1, 2, figsize=(15, 6))
translation.alignment_map(looked[-1].mean(0), source_words, produced, "last layer, mean of the heads", ax=axes[0])
translation.alignment_map(looked[0].mean(0), source_words, produced, "first layer, mean of the heads", ax=axes[1])
fig.tight_layout()
plt.show()

# %%
translation.alignment_explorer(lambda i: alignment_of(chosen[i]), chosen)

# %% [markdown]
# A picture of one sentence proves little.
# For nouns the grammar's dictionary tells which source word is the right one: how often does the heaviest weight lie on it?
# An English sentence has twelve tokens on average, so chance would give one in twelve.

# %%
counted = {f"layer {depth}": [0, 0] for depth in range(settings["layers"])}
for english, _ in corpus.dev[: pick(smoke=4, laptop=100, gpu=500)]:
    looked, source_words, produced = alignment_of(english)
    for depth in range(settings["layers"]):
        hits, nouns = translation.alignment_share(looked[depth].mean(0), source_words, produced)
        counted[f"layer {depth}"][0] += hits
        counted[f"layer {depth}"][1] += nouns
for depth, (hits, nouns) in counted.items():
    print(f"{depth}: {hits} of {nouns} nouns look most at their English noun" + (f" ({hits / nouns:.0%})" if nouns else ""))

# %% [markdown]
# With one seed at laptop scale we saw 188 of 189 nouns in the last layer and 166 of 189 in the first.
# Attention is a place where information may flow, not a proof of what the model uses: a word can also travel through the encoder to a neighbour, and be fetched there.
# Compare the layers before you call a picture an explanation.
#
# ## 7 Hyper-parameters
#
# ### 7.1 Count before you train <small>★★☆ · 20 min · 3 points</small>
# Derive the number of parameters of your `Translator` from its sizes.
# All linear layers but the head have biases; a LayerNorm has $2D$ numbers; the hidden width of feed-forward is $4D$; the head shares the target embedding's weights; the encoder ends with a LayerNorm, too; sinusoids have no parameters.
# An attention layer, self or cross, has four $D \times D$ matrices with biases.
#
# *Before you run it:* how does the number depend on $H$?


# %% exercise="parameters"
def parameter_count(source_size, target_size, D, L):
    """Parameters of a Translator with these vocabulary sizes, width D and L blocks on each side: an int."""
    ### BEGIN SOLUTION
    attention, feed_forward, norm = 4 * (D * D + D), 8 * D * D + 5 * D, 2 * D
    encoder_block = attention + feed_forward + 2 * norm
    decoder_block = 2 * attention + feed_forward + 3 * norm
    return (source_size + target_size) * D + L * (encoder_block + decoder_block) + 2 * norm
    ### END SOLUTION


# %% test="parameters" points=3
check = Check("parameters", points=3)
check.equal(
    check.run(parameter_count, 10, 20, 4, 0),
    30 * 4 + 16,
    "without blocks there are two embeddings and two final norms",
    wrong={
        "the head is counted as well: it shares the target embedding's weights": 50 * 4 + 16,
        "the final norms are missing: encoder and decoder each end with one": 120,
        "only one final norm is counted: encoder and decoder each end with one": 128,
    },
)
small = check.run(parameter_count, 0, 0, 1, 3)
check.equal(
    small,
    3 * (25 + 35) + 4,
    "D = 1, three blocks on each side: an encoder block has 8 + 13 + 4 numbers, a decoder block 16 + 13 + 6, and the two final norms 4",
    wrong={
        "the biases are missing": 3 * (4 + 8 + 4 + 8 + 8 + 6) + 4,
        "cross-attention is missing: a decoder block has two attention layers": 184 - 3 * 8,
        "a decoder block has three norms": 184 - 3 * 2,
        "the final norms are missing: encoder and decoder each end with one": 180,
        "only one final norm is counted: encoder and decoder each end with one": 182,
        "L blocks stand on each side, not in all": 94,
    },
)
check.equal(
    check.run(parameter_count, 634, 1055, 128, 2),
    1142400,
    "the laptop-scale model with 634 English and 1055 French tokens has 1,142,400 parameters",
    wrong={
        "the head is counted as well: it shares the target embedding's weights": 1142400 + 1055 * 128,
    },
)
### BEGIN HIDDEN TESTS
for s, t, D, L in [(11, 13, 8, 2), (8000, 8000, 256, 4), (8000, 8000, 512, 6), (5, 3, 384, 6)]:
    right = (s + t) * D + L * (28 * D * D + 32 * D) + 4 * D
    check.equal(
        check.run(parameter_count, s, t, D, L),
        right,
        "for other sizes the count is wrong",
        wrong={
            "the biases are missing": (s + t) * D + L * (28 * D * D + 10 * D) + 4 * D,
            "cross-attention is missing: a decoder block has two attention layers": right - L * (4 * D * D + 4 * D),
            "a decoder block has three norms": right - 2 * D * L,
            "L blocks stand on each side, not in all": (s + t) * D + L * (14 * D * D + 16 * D) + 4 * D,
            "the head is counted as well": right + t * D,
            "feed-forward goes through 4D hidden numbers: two matrices of D × 4D": right - L * 2 * 6 * D * D,
        },
    )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 7.2 A table by code <small>★★☆ · 20 min · 3 points</small>
# A table of runs that is typed by hand will be wrong somewhere (Part 8 has one).
# Make it from the settings themselves.
# `base` has the keys `layers`, `heads`, `width`, `dropout` and `epochs`; each entry of `changes` is a dictionary of what differs from it.
# The result is a list of rows, the base first, then one per change, in order.
# A row is a dictionary with all settings of the run, and
#
# - `name`: `"base"`, or what was changed: `"width 128 → 64"`, several joined by `", "` in the order of the change's keys,
# - `head_width`: width of a head, `feed_forward`: hidden width ($4D$), `parameters`: from 7.1.
#
# Raise a `ValueError` if the width cannot be cut into equal heads, and a `KeyError` for a setting that `base` does not have.


# %% exercise="table"
def settings_table(base, changes, source_size, target_size):
    """Rows (dictionaries) of a hyper-parameter table: the base, then one for each change."""
    ### BEGIN SOLUTION
    rows = []
    for change in [{}, *changes]:
        for key in change:
            if key not in base:
                raise KeyError(f"{key} is not a setting")
        row = {**base, **change}
        if row["width"] % row["heads"]:
            raise ValueError(f"a width of {row['width']} cannot be cut into {row['heads']} equal heads")
        row["name"] = ", ".join(f"{key} {base[key]} → {value}" for key, value in change.items()) or "base"
        row["head_width"], row["feed_forward"] = row["width"] // row["heads"], 4 * row["width"]
        row["parameters"] = parameter_count(source_size, target_size, row["width"], row["layers"])
        rows.append(row)
    return rows
    ### END SOLUTION


# %% test="table" points=3
check = Check("table", points=3)
first = {"layers": 2, "heads": 4, "width": 128, "dropout": 0.1, "epochs": 4}
ways = [{"width": 64}, {"dropout": 0.35, "layers": 6}]
lines = check.run(settings_table, first, ways, 634, 1055)
check.equal(
    len(lines) if type(lines) in (tuple, list) else lines,
    3,
    "the base is a row, too: one row more than changes",
    wrong={"the base has no row": 2},
)
check.equal(
    check.run(lambda: [line["name"] for line in lines]) if type(lines) in (tuple, list) else lines,
    ["base", "width 128 → 64", "dropout 0.1 → 0.35, layers 2 → 6"],
    "the names say what was changed: setting, old value, arrow, new value; the base is called base",
    wrong={
        "the base is called base": ["", "width 128 → 64", "dropout 0.1 → 0.35, layers 2 → 6"],
        "a name lists what was changed, in the order of the change's keys": ["base", "width 128 → 64", "layers 2 → 6, dropout 0.1 → 0.35"],
    },
)
check.equal(
    check.run(lambda: [line["dropout"] for line in lines]) if type(lines) in (tuple, list) else lines,
    [0.1, 0.1, 0.35],
    "a change holds for its own row only",
    wrong={
        "the changes pile up or the base is changed: every row starts from the base": [0.35, 0.35, 0.35],
    },
)
check.equal(
    check.run(lambda: [line["width"] for line in lines]) if type(lines) in (tuple, list) else lines,
    [128, 64, 128],
    "a change holds for its own row only: every row starts from the base",
    wrong={
        "a change is carried over into the next row: every row starts from the base": [128, 64, 64],
        "the changes are not applied": [128, 128, 128],
    },
)
check.equal(
    check.run(lambda: [(line["head_width"], line["feed_forward"]) for line in lines]) if type(lines) in (tuple, list) else lines,
    [(32, 512), (16, 256), (32, 512)],
    "head_width is width / heads and feed_forward is 4 × width, both of the changed settings",
    wrong={
        "head_width and feed_forward are those of the base: use the row's own settings": [(32, 512)] * 3,
    },
)
check.raises(
    settings_table,
    first,
    [{"heads": 6}],
    5,
    5,
    error="ValueError",
    hint="a width of 128 cannot be cut into 6 equal heads: raise a ValueError",
)
### BEGIN HIDDEN TESTS
check.equal(
    check.run(lambda: [line["parameters"] for line in lines]) if type(lines) in (tuple, list) else lines,
    [1142400, (634 + 1055) * 64 + 2 * (28 * 64**2 + 32 * 64) + 256, 1689 * 128 + 6 * (28 * 128**2 + 32 * 128) + 512],
    "the number of parameters is that of the row's own width and layers",
    wrong={
        "the number of parameters is the base's: use the row's own settings": [1142400] * 3,
    },
)
check.raises(
    settings_table,
    first,
    [{"witdh": 64}],
    5,
    5,
    error="KeyError",
    hint="`witdh` is not a setting: raise a KeyError, or a typing error would pass as a run",
)
check.equal(
    check.run(lambda: [line["name"] for line in settings_table({**first, "width": 96, "heads": 6}, [], 5, 5)]),
    ["base"],
    "without changes there is the base alone",
)
check.raises(settings_table, {**first, "heads": 3}, [], 5, 5, error="ValueError", hint="the base itself is checked, too")
check.unchanged(settings_table, first, ways, 9, 9, hint="your code changes `base` or `changes`: make new dictionaries")
check.equal(
    check.run(lambda: [line["heads"] for line in settings_table(first, [{"width": 96, "heads": 6}], 5, 5)]),
    [4, 6],
    "two changes that only work together must be checked together",
)
check.equal(
    check.run(lambda: [line["epochs"] for line in lines]) if type(lines) in (tuple, list) else lines,
    [4, 4, 4],
    "a row holds all settings of the run, also those that stay",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 7.3 Three proposals <small>★★☆ · 20 min · 3 points</small>
# What would you change?
# Propose three runs against the base below.
# They are short (few sentences, few epochs), so that four of them fit into a few minutes; the configuration that was trained properly is the one of Part 3.
#
# Return a list of three dictionaries, each with
# - `change`: what differs from `base`, for example `{"width": 2 * base["width"]}`; possible keys are those of `BASE`; the three must be different and change something.
#   Another scale has another base, so build each change from the argument `base`, or choose values that differ from any base and can be trained with it (a width that 8 heads divide),
# - `why`: your reason, at least ten words,
# - `loss` and `bleu`: what you predict for the dev set against the base: `"lower"`, `"higher"` or `"same"`.
#
# The test cannot know whether your prediction is good.
# It checks that there is one, before you run it.

# %%
BASE = pick(
    smoke={"layers": 1, "heads": 2, "width": 16, "dropout": 0.0, "epochs": 1},
    laptop={"layers": 2, "heads": 4, "width": 64, "dropout": 0.0, "epochs": 6},
    gpu={"layers": 4, "heads": 8, "width": 256, "dropout": 0.1, "epochs": 10},
)


# %% exercise="proposals"
def proposals(base):
    """Three runs against the base: a list of dictionaries with `change`, `why`, `loss` and `bleu`."""
    ### BEGIN SOLUTION
    return [
        {
            "change": {"width": 2 * base["width"]},
            "why": "in so few steps a wider model learns faster, because each step moves more numbers in useful directions",
            "loss": "lower",
            "bleu": "higher",
        },
        {
            "change": {"dropout": 0.35},
            "why": "every sentence is new to the model, so there is little to overfit in a few passes and noise only slows it down",
            "loss": "higher",
            "bleu": "lower",
        },
        {
            "change": {"epochs": 2 * base["epochs"]},
            "why": "the loss is still falling at the end of the short run, so twice the time should help most of all",
            "loss": "lower",
            "bleu": "higher",
        },
    ]
    ### END SOLUTION


# %% test="proposals" points=3
check = Check("proposals", points=3)
origin = {"layers": 2, "heads": 4, "width": 64, "dropout": 0.0, "epochs": 6}
plan = check.run(proposals, origin)
check.equal(len(plan) if type(plan) in (tuple, list) else plan, 3, "propose three runs")
for number in range(3):
    part = check.run(lambda number=number: {**plan[number]}) if type(plan) in (tuple, list) else plan
    change = check.run(lambda part=part: {**part["change"]}) if type(part) is dict else part
    check.true(
        check.run(lambda change=change: bool(change) and all(key in origin for key in change)) if type(change) is dict else change,
        "a change names settings of BASE (layers, heads, width, dropout, epochs), at least one",
    )
    check.true(
        check.run(lambda change=change: any(origin.get(key) != value for key, value in change.items())) if type(change) is dict else change,
        f"proposal {number}: the change must differ from the base, {origin}",
    )
    whole = check.run(lambda change=change: {**origin, **change}) if type(change) is dict else change
    check.true(
        check.run(
            lambda whole=whole: (
                whole["width"] % whole["heads"] == 0
                and min(whole["layers"], whole["heads"], whole["epochs"]) > 0
                and 0 <= whole["dropout"] < 1
            )
        )
        if type(whole) is dict
        else whole,
        "these settings cannot be trained: the width must be a multiple of the heads, dropout at least 0 and below 1, the rest positive",
    )
    check.true(
        check.run(lambda part=part: len(str(part["why"]).split()) >= 10) if type(part) is dict else part, "say why in at least ten words"
    )
    check.true(
        check.run(lambda part=part: part["loss"] in ("lower", "higher", "same") and part["bleu"] in ("lower", "higher", "same"))
        if type(part) is dict
        else part,
        "predict `loss` and `bleu`, each as `lower`, `higher` or `same`",
    )
kinds = (
    check.run(lambda: [sorted((key, float(value)) for key, value in entry["change"].items()) for entry in plan])
    if type(plan) in (tuple, list)
    else plan
)
check.true(
    check.run(lambda: all(kinds[i] != kinds[j] for i in range(3) for j in range(i))) if type(kinds) in (tuple, list) else kinds,
    "two of the three changes are the same",
)
### BEGIN HIDDEN TESTS
other = {"layers": 4, "heads": 8, "width": 256, "dropout": 0.1, "epochs": 10}
again = check.run(proposals, other)
possible = check.run(
    lambda: [
        all(key in other for key in entry["change"]) and {**other, **entry["change"]}["width"] % {**other, **entry["change"]}["heads"] == 0
        for entry in again
    ]
)
check.equal(
    possible,
    [True] * 3,
    "with another base (width 256, 8 heads) a proposal cannot be trained: build the changes from `base`, or choose values that always fit",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: run them
# *Before you run it:* which of your three do you trust least?

# %%
short_tokens = train_tokens[: pick(smoke=64, laptop=5000, gpu=30_000)]
short_dev = corpus.dev[: pick(smoke=8, laptop=200, gpu=2000)]
short_dev_tokens = translation.encoded(short_dev, *vocabularies)
run_rows = settings_table(BASE, [entry["change"] for entry in proposals(BASE)], *map(len, vocabularies))
curves = {}
for row in run_rows:
    candidate, _, curve = train_translator(row, short_tokens, short_dev_tokens, vocabularies, label=row["name"])
    row["dev loss"] = curve[-1][1]
    row |= judged(candidate, short_dev, vocabularies)
    curves[row["name"]] = tuple(zip(*curve))
run_table = pd.DataFrame(run_rows).set_index("name")
for entry, row in zip(proposals(BASE), run_rows[1:]):
    for what, key in (("loss", "dev loss"), ("bleu", "BLEU")):
        gap = row[key] - run_rows[0][key]
        came = "same" if abs(gap) < (0.02 if what == "loss" else 1.0) else "higher" if gap > 0 else "lower"
        print(f"{row['name']:<24} {what:<5} predicted {entry[what]:<7} came {came:<7} ({gap:+.2f})")
run_table.round(3)

# %%
plots.curves(curves, "step", "dev loss in nats per token", "Your three proposals and the base")
plt.show()

# %% [markdown]
# ### 7.4 Written: what did each one do? <small>★★★ · 40 min · 6 points</small>
# Analyse your runs, about 250 words.
# For each of your three: what you predicted, what came, and a mechanism that explains the difference.
# Then say, from your runs or from what you know, what depth, number of heads, width, dropout and duration each do.
# Token-level loss and sequence-level BLEU need not agree: in the source that this assignment follows, training three times as long brought the loss from 2.65 to 1.70 and left BLEU where it was (0.070 and 0.068 on its scale of 0 to 1).
# How can that be?
# And which of your conclusions would you not trust before you have seen two more seeds?

# %% [markdown] written="analysis" points=6
# <!-- BEGIN SOLUTION -->
# **Model answer.** (For the proposals of the model solution, one laptop-scale run each. They were made when the kit's models started with smaller weights. With those of today the base ended at a dev loss of 1.69, one seed, so a student's numbers are others: grade by the student's own table.
# The base had dev loss 2.96 and BLEU 6.5. Another run gave 2.99 and 5.4, and 2.26 and 23.7 for width 128: read the differences with that in mind.) *Width 64 → 128*: predicted lower, came lower, 2.37, and BLEU 15.7. All runs were cut off while the loss was still falling fast, so what decides is how fast a model learns per step, and the wide one is faster. That says nothing about the end of training. *Dropout 0 → .35*: predicted higher, came higher, 3.45, and BLEU 0.6.
# In six passes over 5,000 pairs there was little to overfit; the noise slowed learning down. With thirty epochs the sign may turn. *Twice the epochs*: predicted lower, came 1.53, and BLEU 67.7: half the loss, ten times the BLEU. Words become right one by one, whole n-grams only when all their words are, so BLEU stays near 0 for long and then jumps. A base that ends just before the jump makes every change look dramatic.
#
# *In general.*
# Depth adds steps of composition, and costs time per step and trainability.
# Heads divide the same width: more heads mean more places to look at, each with a narrower comparison; the number of parameters stays.
# Width adds capacity everywhere, and parameters grow with its square.
# Dropout helps where the model could memorise (30,000 pairs, 30 epochs), and costs where every sentence is new.
# Duration lowers the loss until the model fits the training set, then only its training loss.
#
# *Loss and BLEU.*
# The loss is measured with teacher forcing: each token is judged after a right prefix.
# BLEU is measured after the model's own prefix, where one wrong word spoils the following ones (exposure bias), and only whole n-grams count.
# If 1.70 was a *training* loss, it can also be overfitting.
# And at BLEU 7 hardly any 4-gram matches, so the score is noise around zero: it cannot show an improvement.
# The loss also has a floor from label smoothing, so that differences near it look small.
#
# *Trust.*
# One seed each: a difference of one or two BLEU points, or of 0.02 in the loss, may be chance.
# The order of runs whose curves cross may change with more steps.
#
# **Rubric (6).**
# 2 for the three proposals with prediction, result and a mechanism that fits the numbers.
# 1 for depth, heads, width, dropout and duration named with their effects (half for three of them).
# 2 for loss against BLEU: teacher forcing against own prefix, and at least one other reason (overfitting, n-grams all or nothing, noise at a low score).
# 1 for a hedge that names seeds or the shortness of the runs.
# Take one off for a claim of significance from single runs.
# <!-- END SOLUTION -->

# %% [markdown]
# ## 8 Read a report
#
# Here is an excerpt from a report on such experiments.
# It is put together for this exercise, but every mistake in it has been made.
#
# > *We train on 30,000 sentence pairs. Table 1 lists our runs.*
# >
# > | run | layers | heads | width | feed-forward | dropout | epochs | loss | BLEU |
# > | --- | --- | --- | --- | --- | --- | --- | --- | --- |
# > | base | 4 | 8 | 256 | 1024 | .1 | 10 | 2.65 | .070 |
# > | long | 4 | 8 | 256 | 1024 | .1 | 30 | 1.70 | .068 |
# > | wide | 6 | 8 | 512 | 2048 | .35 | 10 | 2.81 | .061 |
# >
# > *The base model uses 4 layers, 6 heads and a width of 256. The wide model doubles the width and keeps everything else; its feed-forward layers have 2048 units. Because dropout of .1 over six layers keeps only $0.9^6 = 53\,\%$ of the signal, deep models need less of it.
# > Training longer lowers the loss by a third and hurts quality: BLEU falls from .070 to .068. We conclude that width is harmful.*
#
# ### 8.1 Contradictions by code <small>★★☆ · 15 min · 3 points</small>
# Claims can be compared with a table.
# A claim from the text is `(run, setting, value)`.
# Return the places (0, 1, …) of the claims that contradict the table: the run is not there, or has another value for that setting, or the setting is not a column.
# Then check every row against itself: a width that its heads do not divide, or a feed-forward width that is not four times the width.
# Return the names of those rows, in the table's order.


# %% exercise="contradictions"
def contradictions(table, claims):
    """(places, names): claims that the table contradicts, and runs that contradict themselves.

    `table` is a list of rows (dictionaries with `run`, `heads`, `width`, `feed_forward` and more), `claims` a list of (run, setting, value).
    """
    ### BEGIN SOLUTION
    runs = {row["run"]: row for row in table}
    missing = object()
    places = [i for i, (run, setting, value) in enumerate(claims) if runs.get(run, {}).get(setting, missing) != value]
    names = [row["run"] for row in table if row["width"] % row["heads"] or row["feed_forward"] != 4 * row["width"]]
    return places, names
    ### END SOLUTION


# %% test="contradictions" points=3
check = Check("contradictions", points=3)
lines = [
    {"run": "base", "layers": 4, "heads": 8, "width": 256, "feed_forward": 1024, "dropout": 0.1, "epochs": 10},
    {"run": "long", "layers": 4, "heads": 8, "width": 256, "feed_forward": 1024, "dropout": 0.1, "epochs": 30},
    {"run": "wide", "layers": 6, "heads": 8, "width": 512, "feed_forward": 2048, "dropout": 0.35, "epochs": 10},
]
said = [
    ("base", "layers", 4),
    ("base", "heads", 6),
    ("base", "width", 256),
    ("wide", "layers", 4),
    ("wide", "dropout", 0.1),
    ("wide", "feed_forward", 2048),
]
found = check.run(contradictions, lines, said)
check.equal(
    check.run(lambda: list(found[0])) if type(found) in (tuple, list) else found,
    [1, 3, 4],
    'the text says 6 heads where the table says 8, and "keeps everything else" means 4 layers and dropout .1 where the table says 6 and .35',
    wrong={
        "these are the claims that *agree* with the table": [0, 2, 5],
        "places are counted from 0": [2, 4, 5],
        "only the first contradiction is found": [1],
        "the claims themselves come back: return their places": [said[1], said[3], said[4]],
    },
)
check.equal(
    check.run(lambda: list(found[1])) if type(found) in (tuple, list) else found,
    [],
    "no row of this table contradicts itself",
    wrong={"every row's name comes back: only those that contradict themselves": ["base", "long", "wide"]},
)
six = check.run(contradictions, [{**lines[0], "heads": 6}, {**lines[2], "run": "odd", "feed_forward": 1024}], [])
check.equal(
    check.run(lambda: list(six[1])) if type(six) in (tuple, list) else six,
    ["base", "odd"],
    "256 cannot be cut into 6 heads, and 1024 is not 4 × 512: both runs contradict themselves",
    wrong={
        "the feed-forward width must be four times the width: check that, too": ["base"],
        "the heads must divide the width: check that, too": ["odd"],
        "the order is the table's": ["odd", "base"],
    },
)
ghost = check.run(lambda: list(contradictions(lines, [("tiny", "layers", 4), ("base", "layers", 4), ("long", "colour", 3)])[0]))
check.equal(
    ghost,
    [0, 2],
    "a run or a setting that the table does not have contradicts it, too, and must not raise",
    wrong={
        "a run that the table does not have is passed over": [2],
        "a setting that the table does not have is passed over": [0],
        "unknown runs and settings are passed over": [],
    },
)
### BEGIN HIDDEN TESTS
later = check.run(
    lambda: list(contradictions(lines, [("long", "epochs", 10), ("long", "epochs", 30), ("base", "epochs", 30), ("wide", "epochs", 10)])[0])
)
check.equal(
    later,
    [0, 2],
    "a claim is about its own run: do not accept the value of another row",
    wrong={"a value counts as right if any row has it": []},
)
check.equal(
    check.run(lambda: [list(part) for part in contradictions([], [("base", "layers", 4)])]),
    [[0], []],
    "an empty table contradicts every claim",
)
check.equal(
    check.run(lambda: list(contradictions(lines, [("base", "dropout", None), ("base", "seed", None)])[0])),
    [0, 1],
    "a setting that is not a column is no match for None",
)
both = [{**lines[2], "run": "a", "heads": 7, "feed_forward": 9}, lines[0], {**lines[0], "run": "b", "width": 250, "feed_forward": 1000}]
check.equal(check.run(lambda: list(contradictions(both, [])[1])), ["a", "b"], "a run that contradicts itself twice is named once")
check.unchanged(contradictions, lines, said)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 8.2 What dropout does to a signal <small>★★☆ · 20 min · 3 points</small>
# "Keeps only $0.9^6 = 53\,\%$ of the signal."
# Let us see.
# In training, dropout multiplies each number by $m/(1-p)$, where $m$ is 1 with probability $1 - p$ and 0 otherwise; in evaluation it does nothing.
# Send the number 1 through `layers` dropouts in a row, without any residual.
# Derive, as floats:
#
# - `training_mean`: the expected value of what comes out in training,
# - `evaluation`: what comes out in evaluation,
# - `training_variance`: the variance of what comes out in training,
# - `never_dropped`: the probability that it is dropped nowhere.


# %% exercise="dropout"
def dropout_facts(p, layers):
    """A dictionary with training_mean, evaluation, training_variance and never_dropped."""
    ### BEGIN SOLUTION
    survives = (1 - p) ** layers
    return {"training_mean": 1.0, "evaluation": 1.0, "training_variance": 1 / survives - 1, "never_dropped": survives}
    ### END SOLUTION


# %% test="dropout" points=3
check = Check("dropout", points=3)
facts = check.run(dropout_facts, 0.1, 6)
survives = 0.9**6
check.close(
    check.run(lambda: facts["never_dropped"]) if type(facts) is dict else facts,
    survives,
    "never_dropped: the six must all let it pass",
    rtol=1e-9,
    wrong={
        "never_dropped: this is the probability of being dropped somewhere": 1 - survives,
        "never_dropped: the six do not add up, they multiply": 0.4,
    },
)
check.close(
    check.run(lambda: facts["training_mean"]) if type(facts) is dict else facts,
    1.0,
    "training_mean: with probability (1 − p)^L it comes out as 1/(1 − p)^L, else as 0",
    rtol=1e-9,
    wrong={
        "training_mean: this is the report's mistake. What survives is divided by 1 − p": survives,
        "training_mean: most of the time it is dropped somewhere, and then 0 comes out": 1 / survives,
    },
)
check.close(
    check.run(lambda: facts["evaluation"]) if type(facts) is dict else facts,
    1.0,
    "evaluation: dropout does nothing in evaluation",
    rtol=1e-9,
    wrong={"evaluation: nothing is scaled in evaluation, because training has done it": survives},
)
check.close(
    check.run(lambda: facts["training_variance"]) if type(facts) is dict else facts,
    1 / survives - 1,
    "training_variance: E[y²] − E[y]², where y is 1/(1 − p)^L with probability (1 − p)^L",
    rtol=1e-9,
    wrong={
        "training_variance: this is E[y²]: subtract the square of the mean": 1 / survives,
        "training_variance: the variances of the layers do not add up: they multiply through": 6 * 0.1 / 0.9,
        "training_variance: this is the variance of the 0–1 variable: what survives is larger than 1": survives * (1 - survives),
        "training_variance: this is the standard deviation": (1 / survives - 1) ** 0.5,
    },
)
### BEGIN HIDDEN TESTS
for p, layers in [(0.1, 6), (0.35, 6), (0.5, 1), (0.2, 12), (0.0, 4), (0.3, 0)]:
    it = check.run(dropout_facts, p, layers)
    q = (1 - p) ** layers
    check.close(
        check.run(lambda it=it: [it[name] for name in ("training_mean", "evaluation", "never_dropped")]) if type(it) is dict else it,
        [1.0, 1.0, q],
        "for other p and numbers of layers a value is wrong",
        rtol=1e-9,
    )
    check.close(
        check.run(lambda it=it: it["training_variance"]) if type(it) is dict else it,
        1 / q - 1,
        "training_variance: wrong for other p and numbers of layers",
        rtol=1e-9,
        atol=1e-12,
    )
### END HIDDEN TESTS
check.score()

# %%
trials, signal = 200_000, {}
for rate in (0.1, 0.35):
    for residual in (False, True):
        seed(5)
        units = torch.ones(trials)
        for _ in range(6):
            units = units + F.dropout(0.5 * units, rate) if residual else F.dropout(units, rate)
        clean = 1.5**6 if residual else 1.0
        signal[f"p = {rate}, {'residual x + drop(x/2)' if residual else 'no residual'}"] = {
            "mean / value without dropout": (units / clean).mean().item(),
            "variance / value² without dropout": (units / clean).var().item(),
            "share that is exactly 0": (units == 0).float().mean().item(),
        }
pd.DataFrame(signal).T.round(3)

# %% [markdown]
# The mean stays.
# What grows is the noise, and in a Transformer, where dropout sits on branches beside a residual, far less than the chain of six suggests: nothing is ever lost altogether.
#
# ### 8.3 Written: the referee's letter <small>★★★ · 30 min · 5 points</small>
# Write to the authors, about 200 words.
# Name each contradiction and how to settle it; say what is wrong with the argument about dropout; judge the two conclusions ("hurts quality", "width is harmful"), and say which runs would decide.

# %% [markdown] written="referee" points=5
# <!-- BEGIN SOLUTION -->
# **Model answer.** *Contradictions.* Table 1 gives 8 heads for the base, the text 6. Six is impossible here, since 256 is not a multiple of 6; please state what was run, from the code's own settings. The text says that the wide model changes the width only; in the table it also has six layers and dropout .35.
#
# *Dropout.*
# $0.9^6 = 53\,\%$ is the probability that one number is dropped in none of six layers in a row.
# It is not the share of the signal that is kept: what survives is divided by $0.9$, so the expected value is unchanged, and in evaluation nothing is dropped at all.
# Moreover dropout sits on branches; the residual path carries the signal past it.
# What grows with depth is the variance, so "deep models need less" may be true, but not for this reason.
#
# *"Hurts quality".* .070 and .068 differ by 0.2 points on the usual scale.
# Without seeds or a test on resampled sentences this is no difference.
# The loss is probably a training loss after 30 epochs on 30,000 pairs: please report the held-out loss, to see overfitting.
# Scores near 7 barely measure anything.
#
# *"Width is harmful".*
# Three things changed at once.
# Needed: width 512 with 4 layers and dropout .1; then dropout .35 alone, six layers alone; three seeds each; equal tuning of the learning rate.
#
# **Rubric (5).**
# 1 for heads 8 against 6, with a way to settle it (half without).
# 1 for the confounded wide run.
# 1 for dropout: expectation kept or scaling in training, and evaluation (half for one of them).
# 1 for "hurts": too small, no seeds, or training loss against test score.
# 1 for deciding runs that change one thing at a time.
# <!-- END SOLUTION -->

# %% [markdown]
# ## 9 Real sentences
#
# The same code trains on any line-aligned corpus.
# Set the environment variable `COURSE_PAIRS` to a folder with `train.en` and `train.fr` (and `dev` or `val`, and `test`, if there are any: otherwise they are cut from the end) before you start the notebook, or in a cell above the next one: `%env COURSE_PAIRS=/path/to/folder`.
# One pair of files with another name, such as `TED.en-fr.en` and `TED.en-fr.fr`, is taken for the training set.
# Files are UTF-8.
# Line ends of any system, blank lines and non-breaking spaces are fine; files of different lengths are refused.
# What is longer than 100 pieces is left out of training, and cut when it is translated.
#
# Real text has too many words for a table of whole words, so tokens are pieces of words: byte-pair encoding with 8,000 pieces, as you built it in 06 (here from the package `tokenizers`).
# At `gpu` scale the settings are the source's own.
# On a CPU expect little: two cores need about ten minutes for one epoch of 30,000 pairs at width 256. One run on 29,000 pairs of Multi30k had a BLEU score of 7.5 after two minutes of processor time.

# %%
real_settings = pick(
    smoke={"a few steps": {"layers": 1, "heads": 2, "width": 16, "dropout": 0.1, "epochs": 1}},
    laptop={"small, one epoch": {"layers": 2, "heads": 4, "width": 128, "dropout": 0.1, "epochs": 1}},
    gpu={
        "base": {"layers": 4, "heads": 8, "width": 256, "dropout": 0.1, "epochs": 10},
        "long": {"layers": 4, "heads": 8, "width": 256, "dropout": 0.1, "epochs": 30},
        "middle": {"layers": 6, "heads": 6, "width": 384, "dropout": 0.2, "epochs": 30},
        "wide": {"layers": 6, "heads": 8, "width": 512, "dropout": 0.35, "epochs": 30},
    },
)
folder = pairs.real_folder()
if not folder:
    print("COURSE_PAIRS is not set, so there is nothing to do here. The grammar's pairs were enough for Parts 1 to 8.")
else:
    real_pairs = pairs.real_corpus(folder)
    real_pairs = real_pairs._replace(
        train=real_pairs.train[: pick(smoke=200, laptop=30_000, gpu=10**9)],
        dev=real_pairs.dev[:1000],
        test=real_pairs.test[: pick(smoke=8, laptop=200, gpu=2000)],
    )
    pieces = tuple(pairs.Subwords((pair[side] for pair in real_pairs.train), pick(smoke=300, laptop=8000, gpu=8000)) for side in (0, 1))
    real_train, real_dev = (
        translation.encoded(part, *pieces) for part in (real_pairs.train, real_pairs.dev[: pick(smoke=8, laptop=200, gpu=1000)])
    )
    print(f"{len(real_pairs.train):,} pairs, {len(pieces[0]):,} and {len(pieces[1]):,} pieces")
    real_rows = []
    for run_name, chosen_settings in real_settings.items():
        real_model, _, curve = train_translator(chosen_settings, real_train, real_dev, pieces, label=run_name)
        real_rows.append({"run": run_name, **chosen_settings, "dev loss": curve[-1][1], **judged(real_model, real_pairs.test, pieces)})
        for english, french in real_pairs.test[:2]:
            print(f"{english}\n    {translate(real_model, [english], pieces)[0]}\n    {french}  (reference)")
    print(pd.DataFrame(real_rows).round(3).to_string(index=False))

# %% [markdown]
# ## 10 Bonus: is the difference real? <small>★★★ · 30 min · 4 bonus points</small>
# Two systems, one test set, BLEU 31.2 and 31.5.
# *Paired bootstrap resampling* (Koehn, 2004) asks: if the test set had been another one of the same kind, how often would the second still win?
# Draw as many sentences as there are, with replacement; compute both systems' BLEU *on the same draw*; repeat.
#
# BLEU needs only sums, so each sentence is reduced to ten numbers once: $m_1, \dots, m_4, t_1, \dots, t_4, c, r$.
# Given these for both systems, `(N, 10)` each, and the draws, `(R, N)` indices of sentences, return two tensors `(R,)` with the BLEU scores of the two systems on each draw, and the share of draws in which the second is *strictly* better, a float.
# Use `bleu`'s rules for zero counts.
# Matrix operations instead of loops make it fast, but are not required.


# %% exercise="bonus-bootstrap"
def bootstrap(first, second, draws):
    """(scores of the first (R,), scores of the second (R,), share of draws where the second is strictly better)."""

    ### BEGIN SOLUTION
    def score(sums):
        if sums[0] == 0 or 0 in sums[4:8]:
            return 0.0
        logs, halves = 0.0, 1.0
        for m, t in zip(sums[:4], sums[4:8]):
            halves = halves / 2 if m == 0 else halves
            logs += math.log((m or halves) / t) / 4
        return 100 * math.exp(min(0.0, 1 - sums[9] / sums[8]) + logs)

    a, b = (torch.tensor([score(stats[draw].sum(0).tolist()) for draw in draws], dtype=torch.float64) for stats in (first, second))
    return a, b, float((b > a).double().mean())
    ### END SOLUTION


# %% test="bonus-bootstrap" points=4
check = Check("bonus-bootstrap", points=4)


def numbers_of(ours, theirs):
    grams = [[Counter(tuple(z[i : i + n]) for i in range(len(z) - n + 1)) for z in (ours, theirs)] for n in (1, 2, 3, 4)]
    return [(a & b).total() for a, b in grams] + [a.total() for a, _ in grams] + [len(ours), len(theirs)]


def sentence_of(size):
    return ["abcdef"[i] for i in randint(0, 6, (size,)).tolist()]


truth = [sentence_of(8 + i % 5) for i in range(14)]
texts = [
    [[word if luck > share else "x" for word, luck in zip(row, rand(len(row)).tolist(), strict=True)] for row in truth]
    for share in (0.25, 0.2)
]
stats = [torch.tensor([numbers_of(a, b) for a, b in zip(side, truth, strict=True)]) for side in texts]
draws = randint(0, 14, (40, 14))
answer = check.run(bootstrap, stats[0], stats[1], draws)


def exact(side, draw):
    rows = draw.tolist()
    return sacrebleu.corpus_bleu([" ".join(texts[side][i]) for i in rows], [[" ".join(truth[i]) for i in rows]], tokenize="none").score


whole = torch.arange(14)[None]
plain_scores = check.run(lambda: [float(part[0]) for part in bootstrap(stats[0], stats[1], whole)[:2]])
check.close(
    plain_scores,
    [exact(0, whole[0]), exact(1, whole[0])],
    "a draw that takes every sentence once gives the corpus's own BLEU scores",
    atol=1e-6,
    rtol=1e-6,
    wrong={
        "this is the mean of the sentences' scores: sum the ten numbers first": [
            sum(exact(side, torch.tensor([i])) for i in range(14)) / 14 for side in (0, 1)
        ],
    },
)
check.shape(check.run(lambda: answer[0]) if type(answer) in (tuple, list) else answer, (40,), "one score per draw: (R,)")
want = torch.tensor([[exact(side, draw) for draw in draws] for side in (0, 1)], dtype=torch.float64)
share = float((want[1] > want[0]).double().mean())
check.close(
    check.run(lambda: float(answer[2])) if type(answer) in (tuple, list) else answer,
    share,
    "the share of draws in which the second system is strictly better",
    atol=1e-9,
    wrong={
        "this is the share in which the first is better": float((want[0] > want[1]).double().mean()),
        "this is a count: divide by the number of draws": share * 40,
        "this is in percent: return a share": share * 100,
    },
)
### BEGIN HIDDEN TESTS
check.close(
    check.run(lambda: answer[0].double()) if type(answer) in (tuple, list) else answer,
    want[0],
    "the scores of the first system are wrong on some draws: a sentence drawn twice counts twice",
    atol=1e-6,
    rtol=1e-6,
)
check.close(
    check.run(lambda: answer[1].double()) if type(answer) in (tuple, list) else answer,
    want[1],
    "the scores of the second system are wrong on some draws: both get the same draw",
    atol=1e-6,
    rtol=1e-6,
)
tie = check.run(lambda: float(bootstrap(stats[0], stats[0], draws)[2]))
check.close(
    tie,
    0.0,
    "two equal systems: neither is strictly better",
    wrong={"ties do not count as better": 1.0, "ties count half here: only strictly better counts": 0.5},
)
bare = torch.tensor([[3, 1, 0, 0, 6, 5, 4, 3, 6, 7], [0, 0, 0, 0, 5, 4, 3, 2, 5, 5]])
thin = check.run(lambda: bootstrap(bare, bare, torch.tensor([[0, 0], [1, 1], [0, 1]]))[0].double())


def single(sums):
    if sums[0] == 0 or 0 in sums[4:8]:
        return 0.0
    logs, half = 0.0, 1.0
    for m, t in zip(sums[:4], sums[4:8], strict=True):
        half = half / 2 if m == 0 else half
        logs += math.log((m or half) / t) / 4
    return 100 * math.exp(min(0.0, 1 - sums[9] / sums[8]) + logs)


sums = [(2 * bare[0]).tolist(), (2 * bare[1]).tolist(), bare.sum(0).tolist()]
check.close(
    thin,
    [single(part) for part in sums],
    "zero counts follow the rules of 5.2: smoothing, and 0 where no word matches",
    atol=1e-6,
    rtol=1e-6,
)
check.unchanged(lambda a, b, d: bootstrap(a, b, d)[0], stats[0], stats[1], draws)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## What you can now do
# - Train a decoder with teacher forcing, and keep the future and the padding out of its sight.
# - Build cross-attention, a decoder block and a whole encoder–decoder, and count its parameters beforehand.
# - Say how low a smoothed loss can go, and choose a warm-up by its peak.
# - Search with a beam, normalise for length, and know when it cannot help.
# - Compute BLEU to the last digit, and say what it does not measure.
# - Make a table of runs from the settings themselves, predict before you run, and hedge what you conclude.
# - Read a report with a calculator at hand.
#
# Next, `13-training-craft` asks what makes such a training run converge, and go on after it was interrupted.
