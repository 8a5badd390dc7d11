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
# A translation can have any length, and its words need not follow the order of the source.
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
from helpers.checks import Check, rand, randint, randn, randperm
from helpers.kit import models, plots
from helpers.kit.scale import pick
from helpers.kit.seeding import device, seed
from helpers.translation import RowChains, TimedChain, pairs, tokenize_13a
from helpers.translation.pairs import BEGIN, END, PAD

# %% [markdown]
# ## 1 Sentence pairs
#
# Real parallel text needs hours of training (the appendix has our figures, and trains on a real corpus if you have one).
# So you work with English–French pairs from a grammar (`data/english_french/`), which can be learned in minutes and has exact references.
#
# The grammar knows agreement, the place of adjectives, elision, negation, questions, numbers, dates and money.
# Every sentence has a *structure* of six parts.
# Three of them decide the split: mood (statement, yes–no question, wh-question, reported speech), tense and polarity.
# **Dev and test have combinations of all three that training never has.
# Every combination of *two* of them does occur in training.**
# The model has seen "did not" in yes–no questions and in wh-questions, and plain statements in the past; a negative statement in the past is a new combination.

# %% look=true
sizes = pick(smoke=(400, 24), laptop=(40_000, 500), gpu=(100_000, 2000))
corpus = pairs.grammar_corpus(train=sizes[0], held_out=sizes[1])
familiar = pairs.known_structures(sizes[1], after=sizes[0])  # new sentences of structures that are in training
print(f"{len(corpus.train):,} training pairs, {len(corpus.dev):,} dev and {len(corpus.test):,} test pairs of other structures")
for english, french in corpus.train[:4] + corpus.test[:3]:
    print(f"  {english}\n      {french}")

# %% look=true
grid = {
    (mood, tense, polarity): "" for mood in pairs.PARTS["mood"] for tense in pairs.PARTS["tense"] for polarity in pairs.PARTS["polarity"]
}
for mood, tense, polarity in grid:
    grid[mood, tense, polarity] = pairs.split_of_core(mood, tense, polarity)
pd.DataFrame(
    {f"{tense}, {polarity}": {mood: grid[mood, tense, polarity] for mood in pairs.PARTS["mood"]} for _, tense, polarity in list(grid)[:6]}
)

# %% [markdown]
# Check the claim in the table.
# Take any mood and any tense: one of the two polarities is for training.
# Take any tense and any polarity: two of the four moods are for training.
#
# A token here is a word or a punctuation mark.
# An elided word keeps its apostrophe: `l'` and `ami` are two tokens.

# %% look=true
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
with check.idea("labels one ahead of inputs"):
    shifted = check.run(teacher_forcing, [[7, 8, 9], [5]])
    both = shifted if type(shifted) in (tuple, list) and len(shifted) == 2 else [shifted] * 2
    two = "two tensors, inputs and labels, with one column more than the longest target"
    fed, wanted = (check.shape(part, (2, 4), two) for part in both)
    check.equal(wanted, [[7, 8, 9, END], [5, END, PAD, PAD]], "the labels are the tokens, then END, then PAD")
    before = "the inputs are BEGIN, then the tokens: at each position the decoder sees the words *before* its label"
    check.equal(fed[0], [BEGIN, 7, 8, 9], before)
    check.equal(fed[1, :2], [BEGIN, 5], "the shorter row's inputs are wrong where it has labels")
    ### BEGIN HIDDEN TESTS
    listed = [[9, 3, 8], [4, 4, 4, 4], [5], [6, 3]]
    more = check.run(teacher_forcing, listed)
    pair = more if type(more) in (tuple, list) and len(more) == 2 else [more] * 2
    fed, wanted = (check.shape(part, (4, 5), "targets of 3, 4, 1 and 2 tokens give two tensors of shape (4, 5)") for part in pair)

    def filled_up(rows):
        return torch.tensor([[*row, *[PAD] * (5 - len(row))] for row in rows])

    ahead, behind = filled_up([[*row, END] for row in listed]), filled_up([[BEGIN, *row] for row in listed])
    check.equal(
        wanted,
        ahead,
        "the labels of another batch are wrong: each row is its tokens, then END, then PAD",
    )
    real = ahead != PAD
    check.equal(
        (fed * real).tolist(),
        (behind * real).tolist(),
        "the inputs of another batch are wrong where there are labels: BEGIN, then the tokens",
    )
    ### END HIDDEN TESTS
with check.edge("lists unchanged"):
    check.unchanged(teacher_forcing, [[9, 3, 8], [4]], hint="your code changes the lists it is given: `append` works in place")
### BEGIN HIDDEN TESTS
with check.edge("whole numbers"):
    kinds = check.run(lambda: [str(part.dtype) for part in teacher_forcing([[3]])])
    check.equal(kinds, ["torch.int64"] * 2, "tokens are int64 tensors")
with check.edge("a batch of one"):
    alone = check.run(lambda: [part.tolist() for part in teacher_forcing([[4, 4]])])
    check.equal(alone, [[[BEGIN, 4, 4]], [[4, 4, END]]], "a batch of one: nothing to fill up")
with check.edge("an empty target"):
    check.equal(check.run(lambda: teacher_forcing([[], [6]])[1]), [[END, PAD], [6, END]], "an empty target has one label: END")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 1.2 Who may look where <small>★★☆ · 15 min · 4 points</small>
# 1. `padding_mask`: nobody may look at padding.
#    From tokens `(B, S)` a mask `(B, 1, 1, S)`: the two axes of size one are for heads and queries.
# 2. `target_mask`: in the decoder's self-attention a position may look at itself and what comes before, and not at padding: `(B, 1, T, T)`.
#
# At `gpu` scale the tokens are on the GPU, and every tensor that you create must be there, too: `torch.ones(T, T, device=inputs.device)`.
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
with check.idea("both masks"):
    form = "padding_mask: the shape is (B, 1, 1, S), so that it broadcasts over heads and queries"
    hidden = check.run(padding_mask, rows, shape=(3, 1, 1, 4), hint=form)
    marks = [[True] * 4, [True, True, False, False], [True, False, False, False]]
    check.equal(hidden[:, 0, 0].bool(), marks, "padding_mask: True at tokens, False at PAD")
    ### BEGIN HIDDEN TESTS
    sizes_of = torch.tensor([4, 3, 1, 7, 6])
    other = randint(1, 9, (5, 7)).masked_fill(torch.arange(7) >= sizes_of[:, None], PAD)
    other[:, 0], other[3, 6] = BEGIN, END
    again = check.run(padding_mask, other, shape=(5, 1, 1, 7), hint="padding_mask: the shape is (B, 1, 1, S), for other sizes, too")
    check.equal(
        again[:, 0, 0].bool(),
        other != PAD,
        "padding_mask: wrong for another batch: every token but PAD may be looked at, BEGIN and END, too",
    )
    ### END HIDDEN TESTS
    seen = check.run(target_mask, rows, shape=(3, 1, 4, 4), hint="target_mask: the shape is (B, 1, T, T), a matrix for each sentence")
    lower = torch.ones(4, 4).tril().bool()
    check.equal(seen[0, 0], lower, "target_mask: position i may look at j ≤ i")
    last_row = check.run(lambda: [mask(rows[:1])[0, 0, -1].bool().tolist() for mask in (target_mask, padding_mask)])
    check.equal(
        last_row, [[True] * 4] * 2, "the last of four tokens sees what padding_mask shows. (If padding_mask is wrong, mend it first)"
    )
    ### BEGIN HIDDEN TESTS
    full = randint(1, 9, (2, 6))
    square = check.run(target_mask, full, shape=(2, 1, 6, 6))
    low = torch.ones(2, 6, 6).tril().bool()
    check.equal(
        square[:, 0],
        low,
        "target_mask: without padding every sentence has the lower triangle, the diagonal included",
    )
    ### END HIDDEN TESTS
with check.edge("boolean"):
    kinds = check.run(lambda: [str(mask(rows).dtype) for mask in (padding_mask, target_mask)])
    check.equal(kinds, ["torch.bool"] * 2, "a mask is boolean: `True` and `False`, no numbers")
### BEGIN HIDDEN TESTS
with check.edge("PAD in the middle"):
    holes = torch.tensor([[1, PAD, 6, 2], [1, 5, PAD, 8]])
    found = check.run(padding_mask, holes, shape=(2, 1, 1, 4))[:, 0, 0].bool()
    check.equal(found, holes != PAD, "padding_mask: wrong where PAD comes between tokens: compare with PAD, not with a length")
### END HIDDEN TESTS
with check.part("padding hidden"):
    last = "target_mask: the last position of the second sentence may look at the two tokens only"
    check.equal(seen[1, 0, 3], [True, True, False, False], last)
    ### BEGIN HIDDEN TESTS
    again = check.run(target_mask, other, shape=(5, 1, 7, 7))
    check.equal(
        again[:, 0],
        (other != PAD)[:, None, :] & torch.ones(7, 7).tril().bool(),
        "target_mask: wrong for another batch with padding: position i may look at j ≤ i where j is not PAD",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(target_mask, rows)
### BEGIN HIDDEN TESTS
with check.edge("one token"):
    check.equal(check.run(target_mask, torch.tensor([[1]])), [[[[True]]]], "target_mask: a batch of one token must work")
### END HIDDEN TESTS
check.score()

# %% look=true
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
# ### 2.1 Cross-attention <small>★★☆ · 25 min · 6 points</small>
# In self-attention queries, keys and values come from one sequence.
# In cross-attention the *queries* come from the decoder's stream $x$ `(B, T, D)`, the *keys and values* from the encoder's output, the *memory* `(B, S, D)`.
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
layers = ("query", "key", "value", "output")
w = {f"{name}.weight": randn(6, 6) / 2 for name in layers} | {f"{name}.bias": randn(6) / 2 for name in layers}
layer = check.keep(CrossAttention, 6, 3)
check.run(layer.load_state_dict, w)
x, memory = randn(2, 4, 6), randn(2, 5, 6)  # T = 4, S = 5: a swapped role cannot hide
plain_state = {f"{name}.weight": torch.eye(4) for name in layers} | {f"{name}.bias": torch.zeros(4) for name in layers}
with check.idea("weights and forward"):
    form = "weights: (B, H, T, S), queries from x, keys from the memory. Which of the two did you use where?"
    maps = check.run(layer.weights, x, memory, shape=(2, 3, 4, 5), hint=form)
    check.distribution(maps, "weights: every row is a distribution over the *source*: along which axis does softmax run?")
    plain = check.keep(CrossAttention, 4, 1)
    check.run(plain.load_state_dict, plain_state)
    ready = check.run(plain.weights, torch.tensor([[[2.0, 0, 0, 0]]]), torch.tensor([[[2.0, 0, 0, 0], [0, 0, 0, 0]]]))
    check.close(ready, [[[[0.8808, 0.1192]]]], "weights: one head of width 4, q·k = 4 and 0: softmax of 4/√4 = 2 and 0", atol=1e-3)
    ### BEGIN HIDDEN TESTS
    cover = torch.tensor([[True] * 5, [True, True, False, False, False]])[:, None, None]  # (2, 1, 1, 5)

    def lin(name, z):
        return z @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def by_hand(rule=None, queries=x, words=memory):
        found, looks = [], []
        for cut in (slice(0, 2), slice(2, 4), slice(4, 6)):
            raw = lin("query", queries)[..., cut] @ lin("key", words)[..., cut].mT / 2**0.5
            raw = raw if rule is None else raw.masked_fill(~rule[:, 0], -torch.inf)
            looks.append(raw.softmax(-1))
            found.append(looks[-1] @ lin("value", words)[..., cut])
        return torch.stack(looks, 1), lin("output", torch.cat(found, -1))

    check.close(
        maps,
        by_hand()[0],
        "weights: the values differ from softmax(q·k/√(D/H)), where q = query(x) and k = key(memory), head by head",
    )
    ### END HIDDEN TESTS
    merged = "forward: (B, T, D), as long as x, not as the memory. Are the heads merged?"
    out = check.run(layer, x, memory, shape=(2, 4, 6), hint=merged)
    double = check.keep(CrossAttention, 4, 2)
    check.run(double.load_state_dict, {**plain_state, "output.weight": 2 * torch.eye(4)})
    one = check.run(double, torch.zeros(1, 2, 4), torch.tensor([[[1.0, 2, 3, 4]]]))
    word = "forward: the memory is one word, (1, 2, 3, 4), so every query gets its value; here `output` doubles it"
    check.close(one, [[[2.0, 4, 6, 8], [2, 4, 6, 8]]], word)
    ### BEGIN HIDDEN TESTS
    check.close(
        out,
        by_hand()[1],
        "forward: the output differs from weights × values, merged and projected",
    )
    ### END HIDDEN TESTS
with check.part("mask in weights"):
    short = torch.tensor([[True] * 5, [True, True, False, False, False]])[:, None, None]  # (2, 1, 1, 5)
    ragged = check.run(layer.weights, x, memory, short, shape=(2, 3, 4, 5))
    zero = "weights: what the mask hides has weight 0, exactly. True means *may look*: hide where it is False"
    check.close(ragged[1, :, :, 2:], torch.zeros(3, 4, 3), zero)
    check.distribution(
        ragged, "weights: with a mask the rows must still sum to one: mask the scores before softmax, not the weights after it"
    )
    ### BEGIN HIDDEN TESTS
    half = torch.tensor([[True, True, False, True, False], [True, True, False, False, False]])[:, None, None]
    partly = check.run(layer.weights, x, memory, half, shape=(2, 3, 4, 5))
    check.close(
        partly,
        by_hand(half)[0],
        "weights: with a mask the values are wrong: the scores that it hides become −∞, the others stay",
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("very low scores"):
    lowest = "weights: where all visible scores are very low, hidden words get weight: mask with −∞"
    for size, keys in ((40.0, (-40.0, -39.0, 40.0)), (400.0, (-400.0, -399.9, -399.95))):
        deep = torch.tensor([[[size, 0, 0, 0]]]), torch.tensor([[[key, 0, 0, 0] for key in keys]])
        faint = check.run(plain.weights, *deep, torch.tensor([[[[True, True, False]]]]))
        check.close(faint, [[[[0.0, 1.0, 0.0]]]], lowest, atol=1e-4)
with check.edge("a mask for every query"):
    each = (rand(2, 1, 4, 5) > 0.4) | (torch.arange(5) == 0)
    single = check.run(layer.weights, x, memory, each)
    check.close(
        single, by_hand(each)[0], "weights: a mask (B, 1, T, S), with a row for each query, gives a wrong result: use the mask as it is"
    )
    flat = check.run(layer.weights, x, memory, each[0, 0])
    check.close(flat, by_hand(each[:1])[0], "weights: a mask (T, S) broadcasts to (B, H, T, S): do not index into the mask")
### END HIDDEN TESTS
with check.part("mask in forward"):
    moved = memory.clone()
    moved[1, 2:] += 3.0
    same = check.run(layer, x, moved, short, shape=(2, 4, 6)) - check.run(layer, x, memory, short, shape=(2, 4, 6))
    check.close(same, torch.zeros(2, 4, 6), "forward: what the mask hides changes the result: is the mask passed on?", atol=1e-4)
    ### BEGIN HIDDEN TESTS
    check.close(
        check.run(layer, x, memory, cover),
        by_hand(cover)[1],
        "forward: with a mask the result is wrong",
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("gradients"):
    cotangent = randn(2, 4, 6)
    grads = check.measure(checks.gradients, layer, (x, memory), cotangent, ("query.weight", "key.weight", "value.weight"))
    expected = checks.gradients(lambda y, m: by_hand(queries=y, words=m)[1], (x, memory), cotangent)
    flow = "no gradient reaches the layers: use torch operations all the way, without `.data` or `.detach()`"
    check.true(
        check.run(lambda: all(part is not None and bool(part.abs().sum() > 0) for part in grads.params.values())) if grads else grads, flow
    )
    for place, name in enumerate(["x", "the memory"]):
        back = check.run(lambda place=place: grads.inputs[place]) if grads else grads
        check.close(back, expected.inputs[place], f"the gradient that flows back to {name} is wrong: is something cut off on the way?")
with check.edge("one query, one key"):
    single = check.run(layer, x[:1, :1], memory[:1, :1])
    check.close(single, lin("output", lin("value", memory[:1, :1])), "one query and one key: the value comes through unchanged")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 A decoder block <small>★★☆ · 20 min · 5 points</small>
# An encoder block has two branches, a decoder block three: causal self-attention, cross-attention, feed-forward.
# Each has its own LayerNorm *before* it (pre-norm, as in 07), dropout after it, and a residual around it:
#
# $$x \leftarrow x + \mathrm{drop}(\mathrm{branch}(\mathrm{norm}(x))).$$
#
# The memory is not normalised here: the encoder has done so at its end.
# The layers are given; `attention(y, mask=…)` is self-attention from the course's kit, `helpers/kit/models.py`, which holds what 07 built.
# Write `forward`.


# %% exercise="decoder-block"
class DecoderBlock(nn.Module):
    """Self-attention, cross-attention, feed-forward, each with a norm before and a residual around it: (B, T, D)."""

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
shapes = check.run(lambda: {name: list(part.shape) for name, part in block.state_dict().items()}) or {}
gains = {name: 1.0 if "norm" in name and "weight" in name else 0.0 for name in shapes}
w = {name: randn(*size) / (size[0] ** 0.5 if len(size) > 1 else 3) + gains[name] for name, size in shapes.items()}
idle = {name: torch.zeros(size) + gains[name] for name, size in shapes.items()}
added = {"attention.output.bias": 1.0, "cross.output.bias": 10.0, "feed_forward.down.bias": 100.0}
idle |= {name: torch.full((8,), number) for name, number in added.items()}  # the three branches give 1, 10 and 100
check.run(block.eval)
x, memory = randn(2, 4, 8), randn(2, 5, 8)
lower = torch.ones(4, 4).tril().bool()[None, None]
cover = torch.tensor([[True] * 5, [True, True, True, False, False]])[:, None, None]
with check.idea("three branches in their order"):
    check.run(block.load_state_dict, idle)
    sums = check.run(block, x, memory, None, None, shape=(2, 4, 8), hint="(B, T, D) in, (B, T, D) out")
    check.close(
        sums - x,
        111.0,
        "the branches here give 1, 10 and 100, so the block gives x + 111: three residuals, and the norms inside the branches",
        atol=1e-3,
    )
    check.run(block.load_state_dict, w)
    out = check.run(block, x, memory, None, None, shape=(2, 4, 8))
    ### BEGIN HIDDEN TESTS
    kit = models.Block(models.Shape(1, width=8, heads=2), cross=True).eval()
    renamed = {name: part for name, part in w.items() if not name.startswith("cross.")}
    if w:
        for kind in ("weight", "bias"):
            renamed[f"cross.inputs.{kind}"] = torch.cat([w[f"cross.{part}.{kind}"] for part in ("query", "key", "value")])
            renamed[f"cross.output.{kind}"] = w[f"cross.output.{kind}"]
        kit.load_state_dict(renamed)

    def expected(rule=None, sight=None):
        y = x
        for norm, branch in (
            (kit.norm1, lambda z: kit.attention(z, mask=rule)),
            (kit.norm_cross, lambda z: kit.cross(z, memory, sight)),
            (kit.norm2, kit.feed_forward),
        ):
            y = y + branch(norm(y))
        return y.detach()

    check.close(
        out,
        expected(),
        "the result differs from the three branches in their order: which norm, which residual, which memory does each get?",
    )
    ### END HIDDEN TESTS
with check.part("mask of self-attention"):
    moved = x.clone()
    moved[:, 2:] = randn(2, 2, 8)  # a constant would vanish in the norms
    early, late = (check.run(block, y, memory, lower, None, shape=(2, 4, 8)) for y in (x, moved))
    check.close(late[:, :2], early[:, :2], "a later target position changes an earlier one: is `mask` given to self-attention?")
    ### BEGIN HIDDEN TESTS
    check.close(early, expected(rule=lower), "with a causal `mask` the result is wrong: self-attention gets it, and nothing else does")
    ### END HIDDEN TESTS
with check.part("mask of cross-attention"):
    changed = memory.clone()
    changed[1, 3:] = 5 * randn(2, 8)
    heard, unheard = (check.run(block, x, m, None, cover) for m in (memory, changed))
    check.close(unheard, heard, "padding of the source changes the result: is `memory_mask` given to cross-attention?")
    ### BEGIN HIDDEN TESTS
    check.close(heard, expected(sight=cover), "with a `memory_mask` the result is wrong: cross-attention gets it, and nothing else does")
    ### END HIDDEN TESTS
with check.part("dropout"):
    lossy = check.keep(DecoderBlock, 8, 2, 0.25)
    check.run(lossy.load_state_dict, idle)
    check.run(lossy.train)
    many, far = torch.full((40, 25, 8), 1000.0), torch.zeros(40, 1, 8)
    noisy = ((check.run(lossy, many, far, None, None, shape=(40, 25, 8)) - 1000) * 0.75).round(decimals=2)
    check.true((noisy != 83.25).any(), "in training mode nothing is dropped: is dropout applied to the branches?")
    cases = torch.tensor([0.0, 1, 10, 11, 100, 101, 110, 111])
    each = "in training mode every entry is 4/3 of 0, 1, 10, 11, 100, 101, 110 or 111: `self.drop` acts on each branch, and on nothing else"
    check.true(torch.isin(noisy, cases), each)
    ### BEGIN HIDDEN TESTS
    # 8000 coins of .75: a standard deviation of .0048, so .03 is six of them; a seventh of all is .42 ± .0055.
    for number, branch in ((1, "self-attention"), (10, "cross-attention"), (100, "feed-forward")):
        alive = ((noisy / number).floor() % 10).mean()
        check.close(
            alive, 0.75, f"dropout at the rate .25 keeps .75 of the numbers after {branch}: is `self.drop` applied there, once?", atol=0.03
        )
    check.close((noisy == 111).float().mean(), 0.75**3, "the three branches are dropped independently of each other", atol=0.03)
    check.run(lossy.eval)
    still = check.run(lossy, many, far, None, None, shape=(40, 25, 8))
    check.close(still, 1111.0, "in evaluation dropout does nothing: use the layer `self.drop`, which knows the mode", atol=1e-3)
    half = check.keep(DecoderBlock, 8, 2, 0.6)
    check.run(half.load_state_dict, idle)
    check.run(half.train)
    noisy = ((check.run(half, many, far, None, None, shape=(40, 25, 8)) - 1000) * 0.4).round(decimals=2)
    check.close((noisy >= 100).float().mean(), 0.4, "with the rate .6 the wrong share survives: use the layer's own rate", atol=0.03)
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(block, x, memory, lower, cover)
### BEGIN HIDDEN TESTS
with check.edge("one token"):
    single = check.run(block, x[:1, :1], memory[:1, :1], None, None)
    check.shape(single, (1, 1, 8), "a batch of one, one token, no masks: this must work")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.3 The whole model <small>★★☆ · 25 min · 5 points</small>
# The encoder comes from the kit: `self.encoder(source, real)` turns source tokens `(B, S)` into the memory `(B, S, D)`, where `real` `(B, S)` is `True` at tokens that are not padding.
# You write
#
# 1. `encode(source)`: the memory.
# 2. `decode(inputs, memory, source)`: the logits `(B, T, V)` of each next token.
#    Embed the inputs, **multiply by** $\sqrt D$, add `models.sinusoids(places, D)`, where `places` holds the positions $0, 1, \dots, T-1$ (on the device of the inputs), apply `self.drop`, run the blocks with both masks, then `self.norm` and `self.head`.
#    (The embeddings start with a standard deviation of $1/\sqrt D$; the factor brings them to the size of the sinusoids.)
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
begun = check.run(model.state_dict) or {}
gains = {name: 1.0 if "norm" in name and part.dim() == 1 and "weight" in name else 0.0 for name, part in begun.items()}
w = {name: gains[name] + randn(*part.shape) / (part.shape[-1] ** 0.5 if part.dim() > 1 else 4) for name, part in begun.items()}
w |= {"head.weight": w["embedding.weight"]} if w else {}
check.run(model.load_state_dict, w)  # larger than the first weights, so that every part shows
check.run(model.eval)
source, given = torch.tensor([[4, 9, 6, 7, 5], [8, 10, 3, 6, 4]]), torch.tensor([[BEGIN, 7, 12, 4], [BEGIN, 9, 5, 3]])
with check.idea("logits of every next token"):
    memory = check.run(model.encode, source, shape=(2, 5, 8), hint="encode: (B, S) in, (B, S, D) out")
    each = "forward: the logits have shape (B, T, V), one row of V numbers for each input position"
    logits = check.run(model, source, given, shape=(2, 4, 13), hint=each)
    check.close(check.run(model.decode, given, memory, source), logits, "forward is encode, then decode")
    bare = check.keep(Translator, 3, 3, 4, 1, 0)  # no blocks: embedding, positions, norm and head remain
    table = torch.tensor([[0.0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    check.run(bare.load_state_dict, {"embedding.weight": table, "head.weight": table}, strict=False)
    check.run(bare.eval)
    ready = check.run(bare, torch.tensor([[1]]), torch.tensor([[1, 1]]), shape=(1, 2, 3))[0, :, 1]
    places = "decode: without blocks, with D = 4 and the embedding (1, 0, 0, 0), the logit is 1.4142 at position 0 and 1.6358 at position 1"
    check.close(ready, [1.4142, 1.6358], places, atol=1e-3)
    swapped = check.run(model, source[:, [1, 0, 2, 3, 4]], given, shape=(2, 4, 13))
    check.true((swapped - logits).abs().max() > 1e-5, "the order of the source has no effect: does the decoder look at the memory?")
    later = check.run(model, source, given.index_fill(1, torch.tensor([2, 3]), 6), shape=(2, 4, 13))
    check.close(later[:, :2], logits[:, :2], "later target words change earlier logits: is the target mask used?")
    ### BEGIN HIDDEN TESTS
    state = check.run(model.state_dict)
    form = {"width": 8, "heads": 2, "layers": 2, "positions": "sinusoidal"}
    twin = models.Translator(models.Shape(11, **form), models.Shape(13, tied=True, **form)).eval()
    if state:
        joined = {}
        for name, part in state.items():
            new = name if name.startswith(("encoder.", "head.")) else f"decoder.{name}"
            if ".cross." in name and ".output." not in name:
                kind, base = name.rsplit(".", 1)[1], name.rsplit(".", 2)[0]
                joined[f"decoder.{base}.inputs.{kind}"] = torch.cat([state[f"{base}.{role}.{kind}"] for role in ("query", "key", "value")])
            else:
                joined[new] = part
        twin.load_state_dict(joined)

    @torch.no_grad()
    def reference(words=source, fed=given, stored=None):
        real, T = words != PAD, fed.shape[1]
        stored = twin.encoder(words, real) if stored is None else stored
        y = twin.decoder.embedding(fed) * 8**0.5 + models.sinusoids(torch.arange(T), 8)
        rule = (fed != PAD)[:, None, None] & torch.ones(T, T).tril().bool()
        for part in twin.decoder.blocks:
            y = part(y, stored, real[:, None, None], mask=rule)
        return twin.head(twin.decoder.norm(y))

    check.close(memory, twin.encoder(source, source != PAD).detach(), "encode: the memory is wrong: it is what `self.encoder` gives")
    check.close(
        logits,
        reference(),
        "the logits are wrong: compare `decode` with the text, step by step",
    )
    foreign = randn(2, 5, 8)
    check.close(
        check.run(model.decode, given, foreign, source, shape=(2, 4, 13)),
        reference(stored=foreign),
        "decode: a different memory gives wrong logits: use the `memory` that is given, do not encode again",
    )
    ### END HIDDEN TESTS
with check.part("padding of the source"):
    longer = torch.cat([source, torch.full((2, 2), PAD)], 1)
    behind = "more padding after the source changes the logits: do the encoder and cross-attention know which tokens are real?"
    check.close(check.run(model, longer, given), logits, behind)
    ### BEGIN HIDDEN TESTS
    ragged = source.clone()
    ragged[1, 3:] = PAD
    stored = check.run(model.encode, ragged, shape=(2, 5, 8))
    check.close(
        stored[ragged != PAD],
        twin.encoder(ragged, ragged != PAD)[ragged != PAD].detach(),
        "encode: with padding in the batch the memory is wrong",
    )
    check.close(
        check.run(model, ragged, given, shape=(2, 4, 13)),
        reference(words=ragged),
        "with padding in the batch the logits are wrong",
    )
    alone = check.run(model, ragged[1:, :3], given[1:], shape=(1, 4, 13))
    check.close(alone, reference(words=ragged)[1:], "a sentence on its own must get the same logits as in a batch with padding")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("dropout of the embeddings"):
    # No blocks, and the unit matrix as embedding and head: the logits are the normed embeddings themselves. What was
    # dropped is 0 before the norm, so all such numbers of a row are equal behind it: their share is the p_drop.
    eye = {"embedding.weight": torch.eye(64), "head.weight": torch.eye(64)}
    for p_drop in (0.25, 0.5):
        begins = check.keep(Translator, 3, 64, 64, 2, 0, p_drop)
        check.run(begins.load_state_dict, eye, strict=False)
        check.run(begins.train)
        fed = randint(3, 64, (8, 40))
        rows = check.run(begins.decode, fed, torch.zeros(8, 5, 64), torch.ones(8, 5, dtype=torch.int64), shape=(8, 40, 64))
        rows = rows[:, 10:].reshape(-1, 64)  # the first places have equal numbers without any dropout
        dropped = (rows - rows.mode(dim=1, keepdim=True).values).abs() < 1e-5
        # 240 rows of 64: a standard deviation of .004 at most, so .03 is more than seven
        drop = "decode: apply `self.drop` to the embeddings with their positions, before the blocks"
        check.close(dropped.double().mean(), p_drop, drop, atol=0.03)
    # A block that adds 50 to the first number of each embedding, and is dropped by itself: its 50 is not dropped again.
    bump = check.keep(Translator, 3, 64, 64, 2, 1, 0.5)
    idle = {name: torch.zeros_like(part) for name, part in (check.run(bump.state_dict) or {}).items() if name.startswith("blocks.")}
    check.run(bump.load_state_dict, {**idle, **eye, "blocks.0.feed_forward.down.bias": 50 * torch.eye(64)[0]}, strict=False)
    check.run(bump.train)
    fed = randint(3, 64, (16, 40))
    rows = check.run(bump.decode, fed, torch.zeros(16, 5, 64), torch.ones(16, 5, dtype=torch.int64), shape=(16, 40, 64))
    late = "decode: what the blocks give is dropped once more: apply `self.drop` to the embeddings with their positions, before the blocks"
    check.close((rows[..., 0] > 4).double().mean(), 0.5, late, atol=0.1)  # 640 coins: a standard deviation of .02
    check.run(begins.eval)
    fed = randint(3, 64, (8, 40))
    quiet = [check.run(begins.decode, fed, torch.zeros(8, 5, 64), torch.ones(8, 5, dtype=torch.int64)) for _ in range(2)]
    check.close(quiet[0], quiet[1], "in evaluation two runs must give the same logits: use `self.drop`, which knows the mode")
with check.edge("one token"):
    check.shape(check.run(model, source[:1, :1], given[:1, :1]), (1, 1, 13), "one source token and one target token: this must work")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## 3 Training
#
# ### 3.1 Label smoothing <small>★★☆ · 20 min · 4 points</small>
# Cross-entropy with one-hot labels asks for infinite logits.
# *Label smoothing* (Szegedy et al., 2016) asks for less. With a share $0 \le \varepsilon < 1$, the label of a position with right token $y$ becomes the distribution
#
# $$q_v = (1 - \varepsilon)\,[v = y] + \frac{\varepsilon}{V}, \qquad \text{loss} = -\sum_v q_v \log p_v ,$$
#
# where $[v = y]$ is 1 for $v = y$ and 0 otherwise, and $p_v$ is the model's probability of token $v$.
# So a share $\varepsilon$ is spread over **all** $V$ tokens, the right one included.
# (Other texts spread it over the other $V-1$ or leave out `PAD`. State your convention when you compare losses.)
#
# 1. `smoothed_loss`: the mean of this loss over all positions whose label is not `PAD`.
# 2. `smallest_loss`: derive how low it can go.
#    For which $p$ is the loss smallest, and what is it then?
#    With $\varepsilon = 0$ it must be 0.
#
# Write the loss with `log_softmax` and sums: `F.cross_entropy` would do it for you, so it is not allowed in your answer.
# You may use it elsewhere to check yourself.


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
sure = torch.tensor([[[0.0, 0.0, math.log(2.0), 0.0]]])  # p = .2, .2, .4, .2
with check.idea("loss and its smallest value"):
    even = check.run(smoothed_loss, torch.zeros(1, 2, 5), torch.tensor([[3, 4]]), 0.1)
    check.close(even, math.log(5), "with equal logits the loss is log V, whatever ε is", atol=1e-5)
    spread = "with V = 4 and ε = 0.4 the right token's label is 0.6 + 0.1, and each other token's 0.1"
    check.close(check.run(smoothed_loss, sure, torch.tensor([[2]]), 0.4), -0.7 * math.log(0.4) - 0.3 * math.log(0.2), spread, atol=1e-5)
    bans = ("cross_entropy", "CrossEntropyLoss", "nll_loss", "kl_div")
    own = "write the loss out: no cross_entropy, nll_loss or kl_div"
    check.avoids(smoothed_loss, *bans, hint=own, forbid=["cross entropy"], runs=lambda: smoothed_loss(sure, torch.tensor([[2]]), 0.4))
    ### BEGIN HIDDEN TESTS
    for size, epsilon in [((3, 4, 7), 0.1), ((2, 6, 9), 0.25), ((4, 3, 6), 0.0)]:
        z, y = 2 * randn(*size), randint(1, size[2], size[:2])
        z[..., 0] += 2.0
        check.close(
            check.run(smoothed_loss, z, y, epsilon, forbid=["cross entropy"]),
            F.cross_entropy(z.flatten(0, 1), y.flatten(), label_smoothing=epsilon),
            "for other sizes the loss is wrong",
        )
    ### END HIDDEN TESTS
    entropy = "smallest_loss: the loss is smallest for p = q, and then it is the entropy of q"
    check.close(check.run(smallest_loss, 4, 0.4), -0.7 * math.log(0.7) - 3 * 0.1 * math.log(0.1), entropy)
    equal_q = torch.tensor([[[0.1, 0.1, 0.7, 0.1]] * 2]).log()
    reached = check.run(lambda: float(smoothed_loss(equal_q, torch.tensor([[2, 2]]), 0.4)) / smallest_loss(4, 0.4))
    check.close(reached, 1.0, "for p = q the smoothed loss is this smallest one. (If smoothed_loss is wrong, mend it first)", rtol=1e-4)
    ### BEGIN HIDDEN TESTS
    top, rest = 0.75 + 0.25 / 9, 0.25 / 9
    check.close(
        check.run(smallest_loss, 9, 0.25),
        -top * math.log(top) - 8 * rest * math.log(rest),
        "smallest_loss: wrong for V = 9 and ε = .25: put p = q into the loss",
    )
    large = -(0.9 + 1e-4) * math.log(0.9 + 1e-4) - 999e-4 * math.log(1e-4)
    check.close(check.run(smallest_loss, 1000, 0.1), large, "smallest_loss: wrong for a large vocabulary")
    ### END HIDDEN TESTS
with check.part("PAD labels"):
    one_real = -0.7 * math.log(0.4) - 0.3 * math.log(0.2)
    padded = check.run(smoothed_loss, torch.cat([sure, torch.zeros(1, 1, 4)], dim=1), torch.tensor([[2, PAD]]), 0.4)
    check.close(padded, one_real, "a position whose label is PAD does not count: neither in the sum nor in the number", atol=1e-5)
    ### BEGIN HIDDEN TESTS
    z, y, epsilon = 2 * randn(3, 6, 9), randint(1, 9, (3, 6)), 0.25
    y[0, 1:], y[2, 4:] = PAD, PAD
    check.close(
        check.run(smoothed_loss, z, y, epsilon, forbid=["cross entropy"]),
        F.cross_entropy(z.flatten(0, 1), y.flatten(), ignore_index=PAD, label_smoothing=epsilon),
        "with padding the loss is wrong",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(smoothed_loss, randn(2, 3, 5), torch.tensor([[1, 2, PAD], [4, PAD, PAD]]), 0.1)
### BEGIN HIDDEN TESTS
with check.part("gradients"):
    z, y = randn(2, 3, 5), torch.tensor([[1, 2, 4], [4, 3, 3]])
    check.gradients(
        lambda a: smoothed_loss(a, y, 0.1),
        lambda a: F.cross_entropy(a.flatten(0, 1), y.flatten(), label_smoothing=0.1),
        (z,),
        "the gradient through the loss is wrong, or does not flow",
    )
with check.edge("large logits"):
    big = check.run(smoothed_loss, 200 * z, y, 0.1)
    expected = F.cross_entropy(200 * z.flatten(0, 1), y.flatten(), label_smoothing=0.1)
    check.close(big, expected, "large logits overflow: use log_softmax, not log of softmax")
with check.edge("a sentence of padding"):
    y = torch.tensor([[1, 2, 4], [PAD, PAD, PAD]])
    expected = F.cross_entropy(z.flatten(0, 1), y.flatten(), ignore_index=PAD, label_smoothing=0.1)
    check.close(check.run(smoothed_loss, z, y, 0.1), expected, "a sentence that is all padding must not spoil the mean of the others")
### END HIDDEN TESTS
with check.edge("ε = 0"):
    check.close(check.run(smallest_loss, 7, 0), 0.0, "smallest_loss: with ε = 0 it is 0: take care of 0 · log 0")
check.score()

# %% [markdown]
# ### 3.2 Warm-up <small>★☆☆ · 10 min · 3 points</small>
# Adam's first steps rest on a handful of gradients.
# The schedule of the original Transformer starts with small steps, rises linearly for $w$ steps, and then falls like $1/\sqrt{\text{step}}$.
# With a factor $f$, the rate of step $s$ is
#
# $$\eta(s) = f \cdot D^{-1/2} \cdot \min\!\left(s^{-1/2},\; s \cdot w^{-3/2}\right), \qquad s = 1, 2, \dots$$
#
# 1. `noam(step, D, warmup, factor)` gives $\eta$ (the schedule is often named after Noam Shazeer).
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
with check.idea("rates and factor"):
    rates = [check.run(noam, step, 64, 100) for step in (1, 50, 100, 400)]
    four = "with D = 64 and w = 100 the rates of steps 1, 50, 100 and 400 are 1.25e-4, 6.25e-3, 1.25e-2 and 6.25e-3"
    check.close(rates, [1.25e-4, 6.25e-3, 1.25e-2, 6.25e-3], four, rtol=1e-9)
    ### BEGIN HIDDEN TESTS
    for D, warmup in [(128, 40), (512, 4000), (7, 9)]:
        steps = [1, 2, max(1, warmup // 3), warmup, warmup + 1, 3 * warmup, 10 * warmup]
        rise, fall = [step / warmup**1.5 for step in steps], [step**-0.5 for step in steps]
        shape = [min(pair) for pair in zip(rise, fall, strict=True)]
        check.close(
            [check.run(noam, step, D, warmup) for step in steps],
            [rate / D**0.5 for rate in shape],
            "for other widths and warm-ups the rates are wrong",
            rtol=1e-9,
        )
    ### END HIDDEN TESTS
    peak = "factor_for: the rate is largest at step w, where it is f / √(D w)"
    check.close(check.run(factor_for, 1e-3, 64, 100), 0.08, peak, rtol=1e-9)
    highest = check.run(lambda: [factor_for(1e-3, 64, 100) * noam(s, 64, 100) for s in (25, 100, 400)])
    back = "with this factor the rates of steps 25, 100 and 400 are 2.5e-4, 1e-3 and 5e-4. (If noam is wrong, mend it first)"
    check.close(highest, [2.5e-4, 1e-3, 5e-4], back, rtol=1e-9)
    ### BEGIN HIDDEN TESTS
    check.close(
        [check.run(factor_for, 0.002, D, warmup) for D, warmup in [(128, 40), (512, 4000), (7, 1)]],
        [0.002 * (D * warmup) ** 0.5 for D, warmup in [(128, 40), (512, 4000), (7, 1)]],
        "factor_for: wrong for other widths and warm-ups: at step w the rate is f / √(D w)",
        rtol=1e-9,
    )
    ### END HIDDEN TESTS
with check.part("factor"):
    check.close(check.run(noam, 30, 16, 10, 2.0), 2 / 4 / 30**0.5, "the factor multiplies the rate", rtol=1e-9)
    ### BEGIN HIDDEN TESTS
    scaled = [check.run(noam, step, 9, 25, 1.7) for step in (3, 700)]
    check.close(scaled, [1.7 / 3 * 3 / 125, 1.7 / 3 / 700**0.5], "the factor multiplies the rate, in the rise and in the fall", rtol=1e-9)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("a warm-up of one"):
    swift = [check.run(noam, step, 4, 1) for step in (1, 4)]
    check.close(swift, [0.5, 0.25], "with a warm-up of one step the rate falls from the first step on", rtol=1e-9)
### END HIDDEN TESTS
check.score()

# %% look=true
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
# You have all the parts.
# `settings` holds everything that you may want to change later.
# At `laptop` scale the model is small enough to be trained on two cores in a few minutes.
# At `gpu` scale it has the sizes of *the original report*: a report on translation experiments on which this assignment is modelled, and whose figures we quote in 7.4.
# (We have no author or link to cite it by.)
#
# *Before you run it:* where does the loss start?
# (What does an untrained model know?)
# And what is the lowest value it can reach?

# %% look=true
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

# %% look=true
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
# At laptop scale three seeds started at 7.7 to 7.8.
# The head shares its weights with the embedding, and at first a position still holds much of the embedding of its own input.
# Suppose it held nothing else.
# The embedding times $\sqrt D$ has a variance of 1 per entry, and the sinusoids add about a half.
# So after the norm, the product with the input's own row would be about $\sqrt{D/1.5}$, which is 9 for $D = 128$, and about 0 with every other row.
# With what the branches add, a logit of about 6 is left (the mean over a batch of dev sentences).
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
# Take the most likely next token, append it, repeat.
# Do it for $B$ sentences at once: row $b$ of the prefixes always belongs to sentence $b$, so a sentence that has ended keeps its row (what you append to it does not matter) until all have ended.
# Stop as soon as all have ended, or after `limit` tokens.
# Return $B$ lists of tokens, without `BEGIN`, and without `END` and everything after it.


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
    """One table per sentence: after BEGIN comes the path's first token, and so on; almost surely."""
    tables = torch.full((len(ways), 9, 9), 0.01)
    for table, way in zip(tables, ways, strict=True):
        for now, then in zip([BEGIN, *way], way, strict=False):
            table[now, then] = 0.92
    return RowChains(tables / tables.sum(-1, keepdim=True))


with check.idea("the most likely token, again and again"):
    one = chain_of([4, 5, 6, END])
    check.equal(check.run(lambda: greedy(one.log_probabilities, 1, 10)), [[4, 5, 6]], "the most likely tokens are 4, 5, 6, END")
    ### BEGIN HIDDEN TESTS
    way = [7, 3, 8, 5, 4, 6]
    single = chain_of([*way, END])
    check.equal(
        check.run(lambda: greedy(single.log_probabilities, 1, 12)),
        [way],
        "for another chain the tokens are wrong: append the most likely token, and ask again",
    )

    def looks_back(prefixes):
        """The next token depends on the whole prefix; END comes as the seventh."""
        rows = torch.as_tensor(prefixes)
        t = rows.shape[1]
        choice = 3 + (rows * torch.arange(1, t + 1) ** 2).sum(1) % 5 if t < 7 else torch.full((len(rows),), END)
        return (F.one_hot(choice, 9) * 0.9 + 0.1 / 9).log()

    path = [BEGIN]
    while path[-1] != END:
        path.append(int(looks_back([path]).argmax()))
    check.equal(
        check.run(lambda: greedy(looks_back, 1, 12)),
        [path[1:-1]],
        "where the next token depends on all words before, the tokens are wrong: give `step` the whole prefix, in order",
    )
    ### END HIDDEN TESTS
with check.part("several sentences"):
    two = chain_of([4, END], [7, 6, 5, 8, END])
    ends = "two sentences of different lengths: each takes its own tokens and ends at its own END"
    check.equal(check.run(lambda: greedy(two.log_probabilities, 2, 10)), [[4], [7, 6, 5, 8]], ends)
    ### BEGIN HIDDEN TESTS
    after = chain_of([7, 6, 5, 8, END], [4, 3, END], [5, END])
    after.table[1:, END] = torch.eye(9)[8].double()  # what a sentence says after its END
    after.table[2, 8] = torch.eye(9)[END].double()  # it may even end again
    check.equal(
        check.run(lambda: greedy(after.log_probabilities, 3, 10)),
        [[7, 6, 5, 8], [4, 3], [5]],
        "what comes after a sentence's END does not belong to it",
    )
    for lengths in [(4, 2, 3, 1), (2, 6, 5, 2, 1, 3)]:
        ways = [[3 + i for i in randperm(6).tolist()][:length] for length in lengths]
        several = chain_of(*[[*way, END] for way in ways])
        check.equal(
            check.run(lambda several=several, ways=ways: greedy(several.log_probabilities, len(ways), 9)),
            ways,
            "for other chains the tokens are wrong: does each row take its own most likely token, and is its END cut off?",
        )
    ### END HIDDEN TESTS
with check.part("limit"):
    loop = chain_of([4, 5, 6, 7, 8, 4])
    check.equal(check.run(lambda: greedy(loop.log_probabilities, 1, 3)), [[4, 5, 6]], "after `limit` tokens stop, END or not")
    ### BEGIN HIDDEN TESTS
    check.equal(check.run(lambda: greedy(loop.log_probabilities, 1, 1)), [[4]], "a limit of one token gives one token")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("stops when all have ended"):
    short = chain_of([4, 5, END], [6, END])
    check.run(lambda: greedy(short.log_probabilities, 2, 50))
    check.calls(short, "stop as soon as all sentences have ended: do not continue to the limit", at_most=3)
with check.edge("an empty sentence"):
    check.equal(check.run(lambda: greedy(chain_of([END]).log_probabilities, 1, 5)), [[]], "a sentence that ends at once is an empty list")
    beside = chain_of([4, 5, END], [END], [6, END])
    check.equal(
        check.run(lambda: greedy(beside.log_probabilities, 3, 5)),
        [[4, 5], [], [6]],
        "a sentence that ends at once has its empty list between the others",
    )
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
# 3. Those that end in `END` are finished and leave the beam. Nothing replaces them in this round.
#    The others stay live; in the next round you again keep `width` of all candidates.
#    Go back to 2 until none is live or they have `limit` tokens, `BEGIN` not counted.
#    A beginning that is still live at the limit counts as finished, too.
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
    """(tokens, score): the best finished sequence without BEGIN and END, and its length-normalised log-probability."""
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
# After BEGIN: 3 (.59) or 4 (.4). After 3: everything is unlikely. After 4: END almost surely. Greedy takes 3 and regrets it.
table = torch.full((3, 6, 6), 1 / 6)
table[0, BEGIN] = torch.tensor([0.0025, 0.0025, 0.0025, 0.59, 0.40, 0.0025])
table[1:, 3] = torch.tensor([0.02, 0.02, 0.25, 0.24, 0.24, 0.23])
table[1:, 4] = torch.tensor([0.01, 0.01, 0.95, 0.01, 0.01, 0.01])
chain = TimedChain(table)
with check.idea("the best beginnings survive"):
    narrow = check.run(lambda: beam_search(chain.log_probabilities, 1, 3, 0.0))
    greedily = "a beam of width 1 with α = 0 is greedy search: here it takes 3 first. Return the tokens and the score"
    check.equal(check.run(lambda: list(narrow[0])) if type(narrow) in (tuple, list) else narrow, [3], greedily)
    wide = check.run(lambda: beam_search(chain.log_probabilities, 2, 3, 0.0))
    ends = "a beam of width 2 keeps the beginning 4, which ends with .95: the sequence 4, END"
    check.equal(check.run(lambda: list(wide[0])) if type(wide) in (tuple, list) else wide, [4], ends)
    total = "the score with α = 0 is the sum of the log-probabilities, that of END included: here log(.4 · .95) = −0.9676"
    check.close(check.run(lambda: float(wide[1])) if type(wide) in (tuple, list) else wide, -0.9676, total, atol=1e-3)
    ### BEGIN HIDDEN TESTS

    def best_of(chances, width, limit, alpha, slip=""):
        """The four steps of the text, written with plain lists; `slip` names a way to rank that is wrong."""
        beams, ended = [([BEGIN], 0.0)], []
        for length in range(1, limit + 1):
            grown = [
                ([*row, v], (0.0 if slip == "last" else total) + math.log(p))
                for row, total in beams
                for v, p in enumerate(chances[min(length, len(chances)) - 1, row[-1]].tolist())
            ]
            grown = sorted(grown, key=lambda item: -item[1])[:width]
            ended += [item for item in grown if item[0][-1] == END]
            beams = [item for item in grown if item[0][-1] != END]
            if not beams:
                break
        row, total = (min if slip == "worst" else max)(ended + beams, key=lambda item: item[1] / (len(item[0]) - 1) ** alpha)
        return [token for token in row[1:] if token != END], total / (len(row) - 1) ** alpha

    def tokens_and_score(chances, width, limit, alpha):
        asked = TimedChain(chances)
        got = check.run(lambda: beam_search(asked.log_probabilities, width, limit, alpha))
        pair = got if type(got) in (tuple, list) and len(got) == 2 else [got] * 2
        tokens = check.run(lambda: [int(token) for token in pair[0]]) if type(pair[0]) in (tuple, list, torch.Tensor) else pair[0]
        return tokens, check.run(lambda: float(pair[1])) if type(pair[1]) in (float, int, torch.Tensor) else pair[1], asked

    def random_chances(steps, V, end=1.0):
        """PAD and BEGIN are never worth saying; END is `end` times as likely as another token."""
        chances = rand(steps, V, V) ** 2 + 1e-3
        chances[:, :, :END] = 1e-7
        chances[:, :, END] *= end
        return (chances / chances.sum(-1, keepdim=True)).double()

    def made_of(*steps):
        """Six tokens; a step is {token: {next token: probability}}, what is left over is spread evenly. A little noise on top."""
        chances = torch.full((len(steps), 6, 6), 1 / 6)
        for rows, step in zip(chances, steps, strict=True):
            for token, ways in step.items():
                rows[token] = (1 - sum(ways.values())) / (6 - len(ways))
                for then, chance in ways.items():
                    rows[token, then] = chance
        chances = chances * (1 + 0.01 * rand(len(steps), 6, 6))
        return (chances / chances.sum(-1, keepdim=True)).double()

    # END is out of the question until the fifth step, and sure there: how finished sequences are treated is a part below.
    for V, width in [(6, 3), (9, 2), (7, 4)]:  # V − 3 other tokens fill the beam: END does not get in as a stopgap
        for _attempt in range(60):
            chances = random_chances(5, V, 1e-6)
            chances[4] = 1e-7
            chances[4, :, END] = 1 - (V - 1) * 1e-7
            want = best_of(chances, width, 8, 0.0)
            slips = [best_of(chances, 1, 8, 0.0)[0], *(best_of(chances, width, 8, 0.0, slip)[0] for slip in ("last", "worst"))]
            if len({tuple(tokens) for tokens in (want[0], *slips)}) == 4:  # each is told from the others
                break
        tokens, value, asked = tokens_and_score(chances, width, 8, 0.0)
        check.equal(
            tokens,
            want[0],
            "for other tables the beam finds the wrong sequence: of all extensions of all beginnings keep `width`, each with its own tokens",
        )
        check.close(
            value,
            want[1],
            "for other tables the score is wrong: it is the total of the sequence that comes back, a logarithm",
            rtol=1e-5,
        )
        check.true((asked.most_rows <= width) & (asked.calls > 0), "more than `width` beginnings were kept alive")
    ### END HIDDEN TESTS
with check.part("length normalisation"):
    mean = check.run(lambda: beam_search(chain.log_probabilities, 2, 3, 1.0))
    half = "with α = 1 the score is the total divided by the number of tokens, END counted: here −0.9676 / 2"
    check.close(check.run(lambda: float(mean[1])) if type(mean) in (tuple, list) else mean, -0.4838, half, atol=1e-3)
    ### BEGIN HIDDEN TESTS
    # All sequences end with the fourth token, so that the score alone depends on α.
    chances = made_of(*[{token: {3: 0.5, 4: 0.4, END: 1e-7} for token in range(6)}] * 3, {token: {END: 0.9} for token in range(3, 6)})
    for alpha in (1.0, 0.7):
        want = best_of(chances, 2, 9, alpha)
        tokens, value, asked = tokens_and_score(chances, 2, 9, alpha)
        check.close(
            value,
            want[1],
            "for other tables the normalised score is wrong: total / n^α, END counted in n, BEGIN not",
            rtol=1e-5,
        )
    # The empty sequence has the higher total, .35 against .29, and the lower mean.
    chances = made_of({BEGIN: {END: 0.35, 3: 0.6}}, {3: {4: 0.7}}, {4: {END: 0.7}})
    for alpha in (1.0, 0.7):
        want = best_of(chances, 3, 9, alpha)
        tokens, value, asked = tokens_and_score(chances, 3, 9, alpha)
        check.equal(
            tokens,
            want[0],
            "for another table the wrong finished sequence comes back: rank by the total divided by n^α",
        )
    ### END HIDDEN TESTS
with check.part("the limit"):
    never = torch.full((1, 4, 4), 0.32)
    never[0, :, END] = 0.04
    lasting = check.run(lambda: beam_search(TimedChain(never).log_probabilities, 1, 4, 0.0))
    alive = "what is still live at the limit counts as finished: here all 4 tokens come back"
    check.equal(check.run(lambda: len(lasting[0])) if type(lasting) in (tuple, list) else lasting, 4, alive)
    ### BEGIN HIDDEN TESTS
    chances = made_of({BEGIN: {3: 0.8, END: 0.15}}, {3: {4: 0.8}}, {4: {5: 0.8}})
    tokens, value, asked = tokens_and_score(chances, 2, 3, 0.0)
    check.equal(
        tokens,
        [3, 4, 5],
        "what is still live at the limit has the highest total here: it counts as finished",
    )
    for V, width, limit in [(6, 2, 3), (5, 3, 1)]:
        chances = random_chances(4, V, 1e-6)
        tokens, value, asked = tokens_and_score(chances, width, limit, 0.0)
        check.equal(
            tokens,
            best_of(chances, width, limit, 0.0)[0],
            "at the limit the best live sequence comes back: `limit` tokens, BEGIN not counted",
        )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("finished ones leave the beam"):
    for chances, alpha in [
        (made_of({BEGIN: {3: 0.6, END: 0.3}}, {3: {END: 0.9}}), 0.0),  # what ends later has the higher total
        (made_of({BEGIN: {END: 0.5, 3: 0.4}}, {3: {4: 0.97}}, {4: {END: 0.97}}), 1.0),  # the best of a round ends; a later mean is higher
        (made_of({BEGIN: {3: 0.85, END: 0.05}}, {3: {4: 0.55, 5: 0.44}}, {4: {END: 0.2}, 5: {END: 0.95}}), 0.0),  # needs two places again
        (made_of({BEGIN: {3: 0.49, END: 0.26, 4: 0.24}}, {3: {END: 0.6}, 4: {5: 0.99}}, {5: {END: 0.99}}), 1.0),  # END takes a place
    ]:
        tokens, value, asked = tokens_and_score(chances, 2, 7, alpha)
        check.equal(
            tokens,
            best_of(chances, 2, 7, alpha)[0],
            "where some sequences finish early the beam finds the wrong one: read step 3 of the text again",
        )
        check.true(
            (asked.most_rows <= 2) & (asked.calls > 0), "more than `width` beginnings are kept after one has finished: keep `width` of all"
        )
    ending = made_of({BEGIN: {3: 0.6, 4: 0.3}}, {3: {END: 0.9}, 4: {END: 0.9}})
    tokens, value, asked = tokens_and_score(ending, 2, 9, 0.0)
    check.calls(asked, "both beginnings have finished after two steps, but the search continues: what has ended leaves the beam", at_most=3)
with check.edge("ends at once"):
    early = torch.full((1, 4, 4), 0.01)
    early[0, :, END] = 0.97
    check.equal(
        check.run(lambda: list(beam_search(TimedChain(early).log_probabilities, 1, 30, 1.0)[0])),
        [],
        "a sentence that ends at once is empty",
    )
with check.edge("a beam wider than the vocabulary"):
    chances = random_chances(5, 6, 1.0)
    tokens, value, asked = tokens_and_score(chances, 50, 3, 0.0)
    check.equal(tokens, best_of(chances, 50, 3, 0.0)[0], "with fewer candidates than `width` all are kept: this must work")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# (Width 1 is greedy search. And yes: a wider beam can lose what a narrower one finds, because other beginnings that look better push it out. It is rare: of 4,000 random tables with six tokens, width 2 found something less likely than width 1 in 28.)
#
# Now both searches with your model.
# `next_step` makes the function `step` from a batch of source sentences; the memory is computed once.


# %% look=true
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
# BLEU (Papineni et al., 2002) counts which word sequences of the translation also occur in the reference.
# It was made for whole corpora: it agrees with human judgements there, but not sentence by sentence.
#
# ### 5.1 Clipped matches <small>★★☆ · 15 min · 3 points</small>
# An *n-gram* is $n$ words in a row.
# Count the n-grams of the hypothesis that also occur in the reference.
# "The the the the" would get full marks against "the cat", so each n-gram counts at most as often as it occurs in the *reference*: the counts are *clipped*.
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
with check.idea("clipped matches of n-grams"):
    twice = "`the` occurs twice in the reference, so it counts at most twice: 2 of 4"
    check.equal(check.run(ngram_matches, ["the", "the", "the", "the"], cat, 1), (2, 4), twice)
    three = "the pairs `the cat`, `on the` and `the mat` match: 3 of 5"
    check.equal(check.run(ngram_matches, ["the", "cat", "on", "the", "mat", "sat"], cat, 2), (3, 5), three)
    ### BEGIN HIDDEN TESTS

    def grams_of(words, n):
        return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]

    def counts_of(ours, theirs):
        return sum(min(ours.count(gram), theirs.count(gram)) for gram in set(ours)), len(ours)

    letters = ["a", "b", "c"]
    for size, other, n in [(26, 20, 1), (30, 25, 2), (28, 31, 3), (40, 34, 4)]:
        mine = [letters[i] for i in randint(0, 3, (size,)).tolist()]
        yours = [letters[i] for i in randint(0, 3, (other,)).tolist()]
        ours, theirs = grams_of(mine, n), grams_of(yours, n)
        right = counts_of(ours, theirs)
        check.equal(
            check.run(ngram_matches, mine, yours, n),
            right,
            "for other words the counts are wrong: clip by the reference, and count every n-gram of the hypothesis",
        )
    ### END HIDDEN TESTS
with check.edge("no n-grams"):
    check.equal(check.run(ngram_matches, ["the", "cat"], cat, 3), (0, 0), "a hypothesis of two words has no 3-grams: (0, 0)")
    ### BEGIN HIDDEN TESTS
    for mine, yours, counts in [([], ["a", "b"], (0, 0)), (["a", "b"], [], (0, 1)), (["a", "b"], ["a"], (0, 1))]:
        check.equal(check.run(ngram_matches, mine, yours, 2), counts, "an empty or very short hypothesis or reference: this must work")
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(ngram_matches, cat, cat[::-1], 2)
### BEGIN HIDDEN TESTS
with check.edge("words stay apart"):
    check.equal(
        check.run(ngram_matches, ["ab", "c"], ["a", "bc"], 2),
        (0, 1),
        "`ab c` and `a bc` are different pairs: compare lists of words, not joined letters",
    )
with check.edge("capital letters"):
    check.equal(check.run(ngram_matches, ["The", "cat"], ["the", "cat"], 1), (1, 2), "`The` and `the` are two words: keep capital letters")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 5.2 BLEU <small>★★☆ · 35 min · 6 points</small>
# Let $m_n$ and $t_n$ be matches and totals of order $n = 1, \dots, 4$, **summed over the whole corpus**, $c$ the number of words of all hypotheses and $r$ of all references.
# With the precisions $p_n = m_n / t_n$
#
# $$\mathrm{BLEU} = 100 \cdot \mathrm{BP} \cdot \Big(\prod_{n=1}^{4} p_n\Big)^{1/4}, \qquad \mathrm{BP} = \begin{cases} 1 & c \ge r \\ e^{1 - r/c} & c < r. \end{cases}$$
#
# BLEU has no recall. The *brevity penalty* BP takes its place: without it, one safe word would win.
# The standard tool, sacreBLEU (Post, 2018), handles the cases where the formula breaks as follows, and so do you:
#
# - If no word matches ($m_1 = 0$), or a total $t_n$ is 0, BLEU is 0. (An empty translation is such a case.)
# - If $m_n = 0$ for some order with $t_n > 0$, its precision is *smoothed*: the first such order gets $p_n = 1/(2 t_n)$, the second $1/(4 t_n)$, the third $1/(8 t_n)$.
#
# `tokenize_13a`, which is given, turns a sentence into a list of words: scores are only comparable when everybody splits sentences the same way.
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
with check.idea("precisions of the whole corpus"):
    one = "one wrong word of eight: the precisions are 7/8, 5/7, 3/6 and 1/5, their product is 1/16, and its fourth root 1/2"
    check.close(check.run(bleu, ["a b c d e f g h"], ["a b c d x f g h"]), 50.0, one, atol=1e-2)
    summed = "two sentences, one perfect: the counts are summed first, 15/16, 12/14, 9/12 and 6/10"
    check.close(check.run(bleu, ["a b c d e f g h"] * 2, ["a b c d x f g h", "a b c d e f g h"]), 77.545973, summed, atol=1e-2)
    own, again = "compute it yourself: do not call sacreBLEU", ["a b c x e f y h"]
    bans = ("sacrebleu", "corpus_bleu", "BLEU", "corpus_score")
    check.avoids(bleu, *bans, hint=own, forbid=["sacrebleu"], runs=lambda: bleu(again, ["a b c d e f g h"]))
    ### BEGIN HIDDEN TESTS

    few_words = ["le", "la", "chat", "dort", "mars", "pas", "que", "vingt", "reine", "ami"]

    def changed(sentence, share, vocabulary, drop=False, add=0):
        """Some words replaced, or dropped, and some added at the end."""
        luck, other = rand(len(sentence)).tolist(), randint(0, len(vocabulary), (len(sentence) + add,)).tolist()
        kept = [word if chance > share else None if drop else vocabulary[i] for word, chance, i in zip(sentence, luck, other, strict=False)]
        return [word for word in kept if word is not None] + [vocabulary[i] for i in other[len(sentence) :]]

    def corpus_of(count, length, vocabulary, share=0.15, drop=False, add=0):
        """Two lists of sentences; the last pair stands there twice, and its hypothesis once more for another reference."""
        theirs = [[vocabulary[i] for i in randint(0, len(vocabulary), (length + row % 4,)).tolist()] for row in range(count)]
        ours = [changed(row, share, vocabulary, drop, add) for row in theirs]
        ours, theirs = [*ours, ours[-1], ours[-1]], [*theirs, theirs[-1], theirs[0]]
        return [" ".join(row) for row in ours], [" ".join(row) for row in theirs]

    for count, length in [(3, 14), (30, 12), (12, 25)]:  # as many words on both sides, and every order has matches
        ours, theirs = corpus_of(count, length, few_words)
        ours[-1] = theirs[-1] = theirs[0]
        check.close(
            check.run(bleu, ours, theirs, forbid=["sacrebleu"]),
            sacrebleu.corpus_bleu(ours, [theirs]).score,
            "on other sentences the score differs from sacreBLEU's: is every pair counted, even one that occurs twice?",
            atol=1e-2,
            rtol=0,
        )
    ### END HIDDEN TESTS
with check.part("brevity penalty"):
    short = check.run(bleu, ["le chat dort dans le"], ["le chat dort dans le jardin vert ce soir"])
    check.close(short, 44.932896, "5 of 9 words, all right: the precisions are 1, so BLEU is 100 · e^(1 − 9/5) = 44.93", atol=1e-2)
    ### BEGIN HIDDEN TESTS
    for drop, add in [(True, 0), (False, 3), (True, 1)]:
        ours, theirs = corpus_of(9, 13, few_words, drop=drop, add=add)
        check.close(
            check.run(bleu, ours, theirs),
            sacrebleu.corpus_bleu(ours, [theirs]).score,
            "where translations are shorter or longer than the references the score is wrong",
            atol=1e-2,
            rtol=0,
        )
    ### END HIDDEN TESTS
with check.part("smoothing"):
    half = 100 * (6 / 8 * 3 / 7 * 1 / 6 * 1 / 2 / 5) ** 0.25
    check.close(check.run(bleu, again, ["a b c d e f g h"]), half, "no 4-gram matches: its precision is smoothed to 1/(2 · 5)", atol=1e-2)
    ### BEGIN HIDDEN TESTS
    for ours, theirs in [
        (["le chat est la", "un deux trois quatre cinq"], ["la est chat le", "cinq six sept huit neuf"]),  # only single words match
        (["a b x c d y e f z g h"], ["a b u c d v e f w g h"]),
    ]:
        check.close(
            check.run(bleu, ours, theirs),
            sacrebleu.corpus_bleu(ours, [theirs]).score,
            "several orders have no match: they get 1/(2 t), 1/(4 t) and 1/(8 t), in their order",
            atol=1e-2,
            rtol=0,
        )
    ### END HIDDEN TESTS
with check.part("words of tokenize_13a"):
    dot = check.run(bleu, ["Le chat dort dans ce jardin ."], ["Le chat dort dans ce jardin."])
    check.close(dot, 100.0, "`jardin .` and `jardin.` are the same two words for tokenize_13a", atol=1e-2)
    ### BEGIN HIDDEN TESTS
    signs = ["le", "Le", "la", "LA", "l'ami", "1er", "n'a", "12,50", "€", "est-ce", "pomme.", "?", "chat,", "(vingt)"]
    other_case = {"le": "Le", "Le": "le", "la": "LA", "LA": "la"}
    theirs, ours = [" ".join(signs)], [" ".join([*signs[7:], *signs[:7]])]  # as many words on both sides
    for _number in range(12):
        picked = [signs[i] for i in randint(0, len(signs), (16,)).tolist()]
        theirs.append(" ".join(picked))
        ours.append(" ".join([other_case.get(picked[0], picked[0]), *picked[5:], *[other_case.get(word, word) for word in picked[1:5]]]))
    check.close(
        check.run(bleu, ours, theirs),
        sacrebleu.corpus_bleu(ours, [theirs]).score,
        "with punctuation and capital letters the score is wrong: pass every sentence to tokenize_13a as it is",
        atol=1e-2,
        rtol=0,
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(bleu, ["Le chat dort dans le jardin.", "La reine n'a pas ri."], ["La reine n'a pas ri.", "Le chat dort."])
### BEGIN HIDDEN TESTS
with check.edge("to the last digit"):
    ours, theirs = corpus_of(9, 13, few_words)
    ours[-1] = theirs[-1] = theirs[0]  # as many words on both sides: the brevity penalty is another question
    digits = "it must equal sacreBLEU's to 1e-6: do not round"
    check.close(check.run(bleu, ours, theirs), sacrebleu.corpus_bleu(ours, [theirs]).score, digits, atol=1e-6, rtol=0)
with check.edge("nothing to count"):
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
            atol=1e-2,
            rtol=0,
        )
### END HIDDEN TESTS
check.score()

# %% look=true
dev_references = [french for _, french in corpus.dev]
print(
    f"dev, greedy: BLEU {bleu(greedy_dev, dev_references):.2f} "
    f"(sacreBLEU says {sacrebleu.corpus_bleu(greedy_dev, [dev_references]).score:.2f})"
)
sentence_mean = sum(bleu([ours], [theirs]) for ours, theirs in zip(greedy_dev, dev_references)) / len(greedy_dev)
print(f"the mean of the sentences' scores is a different number: {sentence_mean:.2f}")

# %% [markdown]
# ## 6 Results
#
# ### Look: new words, new structures
# Three questions, in this order.
# Does the model translate new sentences of structures that it knows?
# Does it *compose*: sentences whose combination of mood, tense and polarity it has never seen?
# And how does it do on the test set, which you use once?
#
# *Before you run it:* how far apart will the first two be?


# %% look=true
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
# The difference between the first two rows is the price of a new combination.
# In earlier runs, whose models started with smaller weights and learned more slowly, it was about one point of BLEU or less (laptop scale, two seeds, all scores above 96): those models composed.
# Does yours?
# Do not expect this of other splits.
# Here every combination of *two* of the three parts was seen in training.
# Where a split takes even that away, sequence models can fail altogether (Lake and Baroni, 2018).
#
# ### Look: does the beam help?
# The same model, searched with wider beams and different $\alpha$.
# *Before you run it:* the model is sure of almost every word of these sentences.
# How much can a wider beam find?

# %% look=true
some = corpus.dev[: pick(smoke=4, laptop=60, gpu=500)]
searches = {"greedy": {}, "beam 4, α = 0": {"width": 4, "alpha": 0.0}, "beam 4, α = 1": {"width": 4, "alpha": 1.0}}
pd.DataFrame({name: judged(trained, some, vocabularies, **search) for name, search in searches.items()}).T.round(3)

# %% [markdown]
# ### Look: cross-attention is an alignment
# When the decoder produces a word, where does it look?
# Row $t$ of the picture belongs to the position that produces word $t$.
# Find the adjective that changes its place, and the two words of a negation.


# %% look=true
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

# %% look=true
translation.alignment_explorer(lambda i: alignment_of(chosen[i]), chosen)

# %% [markdown]
# A picture of one sentence proves little.
# For nouns the grammar's dictionary tells which source word is the right one: how often is the largest weight on it?
# An English sentence has twelve tokens on average, so chance would give one in twelve.

# %% look=true
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
# Which layer finds more of them?
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
with check.idea("blocks"):
    blocks = check.run(lambda: parameter_count(0, 0, 1, 3) - parameter_count(0, 0, 1, 0))
    three = "D = 1, three blocks on each side: an encoder block has 8 + 13 + 4 numbers, a decoder block 16 + 13 + 6"
    check.equal(blocks, 3 * (25 + 35), three)
    ### BEGIN HIDDEN TESTS
    for s, t, D, L in [(11, 13, 8, 2), (8000, 7000, 256, 4), (80, 90, 512, 6), (5, 3, 384, 1)]:
        right = L * (28 * D * D + 32 * D)
        check.equal(
            check.run(lambda s=s, t=t, D=D, L=L: parameter_count(s, t, D, L) - parameter_count(s, t, D, 0)),
            right,
            "for other sizes the parameters of the blocks are miscounted",
        )
    ### END HIDDEN TESTS
with check.part("embeddings and final norms"):
    ends = "without blocks there are two embeddings and two final norms: 10 · 4 + 20 · 4 + 2 · 8"
    check.equal(check.run(parameter_count, 10, 20, 4, 0), 136, ends)
    ### BEGIN HIDDEN TESTS
    for s, t, D in [(11, 29, 8), (8000, 7000, 256), (5, 90, 384)]:
        check.equal(
            check.run(parameter_count, s, t, D, 0),
            (s + t + 4) * D,
            "for other sizes the count without blocks is wrong",
        )
    ### END HIDDEN TESTS
with check.edge("a whole number"):
    check.true(type(check.run(parameter_count, 9, 9, 2, 0)) is int, "a number of parameters is an int: no division, no float")
check.score()

# %% [markdown]
# ### 7.2 A table by code <small>★★☆ · 20 min · 3 points</small>
# A table of runs that is typed by hand will be wrong somewhere (Part 8 shows one).
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


def column(*names):
    return check.run(lambda: [[line[name] for name in names] for line in lines]) if type(lines) in (tuple, list) else lines


with check.idea("a row of settings for each run"):
    base_too = "the base is a row, too: one row more than changes"
    check.equal(len(lines) if type(lines) in (tuple, list) else lines, 3, base_too, wrong={"the base has no row": 2})
    own_row = "a change holds for its own row only: every row starts from the base. Width and dropout are 128, .1 · 64, .1 · 128, .35"
    check.equal(column("width", "dropout"), [[128, 0.1], [64, 0.1], [128, 0.35]], own_row)
    ### BEGIN HIDDEN TESTS
    right = [{**first, **change} for change in [{}, *ways]]
    check.equal(
        column(*first),
        [list(row.values()) for row in right],
        "a row holds all settings of the run, including those that do not change",
    )
    ### END HIDDEN TESTS
with check.edge("dictionaries unchanged"):
    check.unchanged(settings_table, first, ways, 9, 9, hint="your code changes `base` or `changes`: make new dictionaries")
with check.part("names"):
    named = "the names say what was changed: setting, old value, arrow, new value; the base is called base"
    check.equal(column("name"), [["base"], ["width 128 → 64"], ["dropout 0.1 → 0.35, layers 2 → 6"]], named)
    ### BEGIN HIDDEN TESTS
    check.equal(
        check.run(lambda: [line["name"] for line in settings_table(first, [{"layers": 3, "heads": 2}, {"heads": 8, "epochs": 1}], 9, 9)]),
        ["base", "layers 2 → 3, heads 4 → 2", "heads 4 → 8, epochs 4 → 1"],
        "for other changes the names are wrong: the old value is the base's, the new one the change's",
    )
    ### END HIDDEN TESTS
with check.part("head_width and feed_forward"):
    derived = "head_width is width / heads and feed_forward is 4 × width, both of the changed settings"
    of_base = "head_width and feed_forward are those of the base: use the row's own settings"
    check.equal(column("head_width", "feed_forward"), [[32, 512], [16, 256], [32, 512]], derived, wrong={of_base: [[32, 512]] * 3})
    ### BEGIN HIDDEN TESTS
    heads = check.run(lambda: [[line["head_width"], line["feed_forward"]] for line in settings_table(first, [{"heads": 8}], 9, 9)])
    check.equal(heads, [[32, 512], [16, 512]], "head_width follows the heads of the row, and feed_forward the width only")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("parameters"):
    check.equal(
        column("parameters"),
        [[1142400], [(634 + 1055) * 64 + 2 * (28 * 64**2 + 32 * 64) + 256], [1689 * 128 + 6 * (28 * 128**2 + 32 * 128) + 512]],
        "the number of parameters is that of 7.1, for the row's own width and layers",
    )
### END HIDDEN TESTS
with check.part("impossible settings"):
    heads = "a width of 128 cannot be cut into 6 equal heads: raise a ValueError"
    check.raises(settings_table, first, [{"heads": 6}], 5, 5, error="ValueError", hint=heads)
    ### BEGIN HIDDEN TESTS
    spelling = "`witdh` is not a setting: raise a KeyError, or a typo would pass as a run"
    check.raises(settings_table, first, [{"epochs": 2}, {"witdh": 64}], 5, 5, error="KeyError", hint=spelling)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("whole head widths"):
    kinds_of = check.run(lambda: [type(line["head_width"]) is int for line in settings_table(first, [{"heads": 8}], 9, 9)])
    check.equal(kinds_of, [True, True], "head_width is a whole number: divide with //")
with check.edge("the base alone"):
    check.equal(
        check.run(lambda: [line["name"] for line in settings_table({**first, "width": 96, "heads": 6}, [], 5, 5)]),
        ["base"],
        "without changes there is the base alone",
    )
    check.raises(settings_table, {**first, "heads": 3}, [], 5, 5, error="ValueError", hint="the base itself is checked, too")
with check.edge("every setting of a change"):
    typo = "every setting of a change is looked up in `base`, not the first one only: one that is unknown raises a KeyError"
    check.raises(settings_table, first, [{"layers": 3, "witdh": 64}], 5, 5, error="KeyError", hint=typo)
with check.edge("changes that need each other"):
    check.equal(
        check.run(lambda: [line["heads"] for line in settings_table(first, [{"width": 96, "heads": 6}], 5, 5)]),
        [4, 6],
        "two changes that only work together must be checked together",
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
#   The base depends on the scale, so build each change from the argument `base`, or choose values that differ from any base and can be trained with it (a width that 8 heads divide),
# - `why`: your reason, at least ten words,
# - `loss` and `bleu`: what you predict for the dev set against the base: `"lower"`, `"higher"` or `"same"`.
#
# The test cannot know whether your prediction is good.
# It checks that there is one, before you run it.

# %% look=true
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
entries = [{**entry} if type(entry) is dict else {} for entry in plan] if type(plan) in (tuple, list) else []
changes = [entry["change"] if type(entry.get("change")) is dict else {} for entry in entries]
with check.idea("three different changes"):
    check.equal(len(plan) if type(plan) in (tuple, list) else plan, 3, "propose three runs: a list of three dictionaries")
    known = "a change names settings of BASE (layers, heads, width, dropout, epochs), at least one"
    check.true(bool(changes) and all(change and set(change) <= set(origin) for change in changes), known)
    for number, change in enumerate(changes):
        unlike = any(origin.get(key) != value for key, value in change.items())
        check.true(unlike, f"proposal {number}: the change must differ from the base, {origin}")
    differ = all(changes[i] != changes[j] for i in range(len(changes)) for j in range(i))
    check.true(bool(changes) and differ, "two of the three changes are the same")
with check.part("reasons"):
    check.true(bool(entries) and all(len(str(entry.get("why", "")).split()) >= 10 for entry in entries), "say why in at least ten words")
with check.part("predictions"):
    told = all(entry.get(name) in ("lower", "higher", "same") for entry in entries for name in ("loss", "bleu"))
    check.true(bool(entries) and told, "predict `loss` and `bleu`, each as `lower`, `higher` or `same`")
with check.part("can be trained"):
    cannot = "these settings cannot be trained: heads must divide the width, 0 ≤ dropout < 1, the rest positive integers"
    for change in changes:
        whole = {**origin, **change}
        numbers = [whole[key] for key in ("layers", "heads", "width", "epochs")]
        check.true(all(size == int(size) > 0 for size in numbers) and whole["width"] % whole["heads"] == 0 <= whole["dropout"] < 1, cannot)
    check.true(bool(changes), "there is no proposal to train")
### BEGIN HIDDEN TESTS
with check.part("another base"):
    other = {"layers": 4, "heads": 8, "width": 256, "dropout": 0.1, "epochs": 10}
    again = check.run(proposals, other)
    whole = check.run(lambda: [{**other, **entry["change"]} for entry in again])
    possible = check.run(lambda: [line["width"] % line["heads"] == 0 for line in whole])
    fits = "with a different base (width 256, 8 heads) a proposal cannot be trained: build the changes from `base`, or choose values that always fit"
    check.equal(possible, [True] * 3, fits)
    unlike = check.run(lambda: [line != other for line in whole])
    check.equal(unlike, [True] * 3, "with a different base a proposal changes nothing: build the changes from `base`")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: run them
# *Before you run it:* which of your three do you trust least?

# %% look=true
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

# %% look=true
plots.curves(curves, "step", "dev loss in nats per token", "Your three proposals and the base")
plt.show()

# %% [markdown]
# ### 7.4 Written: what did each one do? <small>★★☆ · 40 min · 6 points</small>
# Analyse your runs, about 250 words.
# For each of your three: what you predicted, what came out, and a mechanism that explains the difference.
# Then say, from your runs or from what you know, what depth, number of heads, width, dropout and duration each do.
# Token-level loss and sequence-level BLEU need not agree: in the original report (see Part 3), training three times as long brought the loss from 2.65 to 1.70 and left BLEU where it was (0.070 and 0.068 on its scale of 0 to 1).
# How can that be?
# And which of your conclusions would you not trust before you have seen two more seeds?

# %% [markdown] written="analysis" points=6
# <!-- BEGIN SOLUTION -->
# **Model answer.** (For the proposals of the model solution. Grade by the student's own table. The base at laptop scale, three seeds: dev loss 1.69 to 1.70, BLEU 55.3 to 56.9. The three changes were run with smaller starting weights only, where the base ended at 2.91 to 3.03 and BLEU 5.4 to 7.0; there all three came as predicted.)
# *Width 64 → 128*: predicted lower. All runs are cut off while the loss is still falling, so what decides is how fast a model learns per step, and the wide one is faster. That says nothing about the end of training. *Dropout 0 → .35*: predicted higher.
# In six passes over 5,000 pairs there is little to overfit; the noise slows learning down. With thirty epochs the sign may flip. *Twice the epochs*: predicted lower, and BLEU higher. Words become right one by one, whole n-grams only when all their words are, so BLEU stays near 0 for long and then jumps: of the base's dev sentences only 2 to 4 % were exactly right, at a BLEU above 55. A base that ends just before the jump makes every change look dramatic.
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
# | points | rubric |
# | --- | --- |
# | 2 | the three proposals with prediction, result and a mechanism that fits the numbers |
# | 1 | depth, heads, width, dropout and duration named with their effects (half for three of them) |
# | 2 | loss against BLEU: teacher forcing against own prefix, and at least one other reason (overfitting, n-grams all or nothing, noise at a low score) |
# | 1 | a hedge that names seeds or the shortness of the runs |
# | −1 | a claim of significance from single runs |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 8 Read a report
#
# Here is an excerpt from a report on such experiments.
# We made it up for this exercise, but every mistake in it has been made somewhere.
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
# Return the indices (0, 1, …) of the claims that the table contradicts: the run is not there, or has a different value for that setting, or the setting is not a column.
# Then check every row against itself: a width that its heads do not divide, or a feed-forward width that is not four times the width.
# Return the names of those rows, in the table's order.


# %% exercise="contradictions"
def contradictions(table, claims):
    """(indices, names): claims that the table contradicts, and runs that contradict themselves.

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
said = [("base", "layers", 4), ("base", "heads", 6), ("base", "width", 256), ("wide", "layers", 4), ("wide", "dropout", 0.1)]
with check.idea("claims against the table"):
    found = check.run(contradictions, lines, said)
    both = found if type(found) in (tuple, list) and len(found) == 2 else [found] * 2
    text = 'the text says 6 heads where the table says 8, and "keeps everything else" means 4 layers and dropout .1 where the table says 6 and .35'
    check.equal(check.run(lambda: sorted(both[0])) if type(both[0]) in (tuple, list, set) else both[0], [1, 3, 4], text)
    ### BEGIN HIDDEN TESTS
    more = [("long", "epochs", 10), ("long", "epochs", 30), ("base", "epochs", 30), ("wide", "epochs", 10), ("base", "run", "base")]
    more = [*more, ("wide", "feed_forward", 2048), ("wide", "width", 256), ("long", "dropout", 0.35), ("base", "layers", 5)]
    more = [*more, ("base", "layers", 8), ("long", "width", 1024), ("wide", "heads", 8)]
    check.equal(
        check.run(lambda: sorted(contradictions(lines, more)[0])),
        [0, 2, 6, 7, 8, 9, 10],
        "for other claims the indices are wrong: a claim is about its own run and its own setting",
    )
    ### END HIDDEN TESTS
with check.part("unknown runs and settings"):
    ghosts = [("tiny", "layers", 4), ("base", "layers", 4), ("long", "colour", 3)]
    passed = "a run or a setting that the table does not have contradicts it, too, and must not raise"
    slips = {"a run that the table does not have is ignored": [2], "a setting that the table does not have is ignored": [0]}
    slips["unknown runs and settings are ignored"] = []
    check.equal(check.run(lambda: sorted(contradictions(lines, ghosts)[0])), [0, 2], passed, wrong=slips)
with check.edge("inputs unchanged"):
    check.unchanged(contradictions, lines, said)
### BEGIN HIDDEN TESTS
with check.edge("a claim of None"):
    nothing = check.run(lambda: sorted(contradictions(lines, [("base", "dropout", None), ("base", "seed", None)])[0]))
    check.equal(nothing, [0, 1], "a setting that is not a column contradicts the claim, even if the claimed value is None")
with check.edge("an empty table"):
    empty = check.run(lambda: [list(part) for part in contradictions([], [("base", "layers", 4)])])
    check.equal(empty, [[0], []], "an empty table contradicts every claim")
### END HIDDEN TESTS
with check.part("rows against themselves"):
    no_fault = "no row of this table contradicts itself"
    check.equal(check.run(lambda: list(both[1])) if type(both[1]) in (tuple, list) else both[1], [], no_fault)
    six = check.run(contradictions, [{**lines[0], "heads": 6}, {**lines[2], "run": "odd", "feed_forward": 1024}], [])
    cut = "256 cannot be cut into 6 heads, and 1024 is not 4 × 512: both runs contradict themselves"
    check.equal(check.run(lambda: list(six[1])) if type(six) in (tuple, list) else six, ["base", "odd"], cut)
    ### BEGIN HIDDEN TESTS
    odd = [
        {**lines[2], "run": "z", "feed_forward": 1024},
        lines[0],
        {**lines[0], "run": "b", "heads": 6},
        {**lines[1], "run": "a", "heads": 5},
        {**lines[1], "run": "d", "heads": 4, "layers": 3},
    ]
    check.equal(
        check.run(lambda: list(contradictions([*odd, {**lines[2], "run": "c", "feed_forward": 512}], [])[1])),
        ["z", "b", "a", "c"],
        "in another table the wrong rows come back: check the heads and feed-forward of every row",
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("two faults in a row"):
    twofold = [
        {**lines[2], "run": "a", "heads": 7, "feed_forward": 9},
        lines[0],
        {**lines[0], "run": "b", "width": 250, "feed_forward": 1000},
    ]
    names = check.run(lambda: list(contradictions(twofold, [])[1]))
    check.equal(names, ["a", "b"], "a run that contradicts itself twice is named once")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 8.2 What dropout does to a signal <small>★★☆ · 20 min · 3 points</small>
# "Keeps only $0.9^6 = 53\,\%$ of the signal."
# Is that so?
# In training, dropout at rate $p$ multiplies each number by $m/(1-p)$, where $m$ is 1 with probability $1 - p$ and 0 otherwise; in evaluation it does nothing.
# Send the number 1 through `layers` dropouts in a row, without any residual.
# Derive, as floats:
#
# - `training_mean`: the expected value of what comes out in training,
# - `evaluation`: what comes out in evaluation,
# - `training_variance`: the variance of what comes out in training,
# - `never_dropped`: the probability that no layer drops it.


# %% exercise="dropout"
def dropout_facts(p, layers):
    """A dictionary with training_mean, evaluation, training_variance and never_dropped."""
    ### BEGIN SOLUTION
    survives = (1 - p) ** layers
    return {"training_mean": 1.0, "evaluation": 1.0, "training_variance": 1 / survives - 1, "never_dropped": survives}
    ### END SOLUTION


# %% test="dropout" points=3
check = Check("dropout", points=3)


def fact(name, p, layers):
    facts = check.run(dropout_facts, p, layers)
    return check.run(lambda: facts[name]) if type(facts) is dict else facts


near = {"rtol": 0, "atol": 6e-3}  # a number with two decimals passes: digits are an edge
with check.idea("never_dropped, mean, evaluation"):
    check.close(fact("never_dropped", 0.5, 3), 0.125, "never_dropped: all three layers must let it pass: ½ · ½ · ½", **near)
    ### BEGIN HIDDEN TESTS
    for p, layers in [(0.1, 6), (0.35, 6), (0.2, 12), (0.3, 1)]:
        check.close(
            fact("never_dropped", p, layers),
            (1 - p) ** layers,
            "never_dropped: wrong for other p and numbers of layers: every layer must let it pass",
            **near,
        )
    ### END HIDDEN TESTS
    mean = "training_mean: with probability (1 − p)^L it comes out as 1/(1 − p)^L, else as 0"
    check.close(fact("training_mean", 0.5, 3), 1.0, mean, **near)
    check.close(fact("evaluation", 0.5, 3), 1.0, "evaluation: dropout does nothing in evaluation", **near)
    ### BEGIN HIDDEN TESTS
    for p, layers in [(0.1, 6), (0.35, 3)]:
        q = (1 - p) ** layers
        check.close(
            fact("training_mean", p, layers),
            1.0,
            "training_mean: wrong for other p and numbers of layers: E[y] = (1 − p)^L · 1/(1 − p)^L",
            **near,
        )
        check.close(
            fact("evaluation", p, layers),
            1.0,
            "evaluation: wrong for other p and numbers of layers: dropout does nothing there",
            **near,
        )
    ### END HIDDEN TESTS
with check.part("training_variance"):
    square = "training_variance: E[y²] − E[y]², where y is 1/(1 − p)^L with probability (1 − p)^L: here 8 with ⅛, so 8 − 1"
    check.close(fact("training_variance", 0.5, 3), 7.0, square, **near)
    ### BEGIN HIDDEN TESTS
    for p, layers in [(0.1, 6), (0.35, 6), (0.2, 12), (0.3, 1)]:
        q = (1 - p) ** layers
        check.close(
            fact("training_variance", p, layers),
            1 / q - 1,
            "training_variance: wrong for other p and numbers of layers: E[y²] − E[y]²",
            **near,
        )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("all digits"):
    q = 0.83**5
    for name, right in (("never_dropped", q), ("training_mean", 1.0), ("training_variance", 1 / q - 1)):
        value = fact(name, 0.17, 5)
        if type(value) in (int, float) and abs(value - right) > 6e-3:
            value = right  # another formula: a requirement above says so
        check.close(value, right, "digits are lost: do not round", rtol=1e-9)
with check.edge("nothing is dropped"):
    still = [fact("training_variance", p, layers) for p, layers in ((0.0, 4), (0.3, 0))]
    check.close(still, [0.0, 0.0], "p = 0, or no layers at all: 1 comes out for sure, without any variance", **near)
### END HIDDEN TESTS
check.score()

# %% look=true
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
# The mean stays; what grows is the noise.
# In a Transformer, where dropout sits on branches beside a residual, it grows far less than the chain of six suggests: nothing is ever lost altogether.
#
# ### 8.3 Written: the referee's letter <small>★★☆ · 30 min · 5 points</small>
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
# Without seeds or a test on resampled sentences this does not count as a difference.
# The loss is probably a training loss after 30 epochs on 30,000 pairs: please report the held-out loss, to see overfitting.
# Scores near 7 barely measure anything.
#
# *"Width is harmful".*
# Three things changed at once.
# Needed: width 512 with 4 layers and dropout .1; then dropout .35 alone, six layers alone; three seeds each; equal tuning of the learning rate.
#
# | points | rubric |
# | --- | --- |
# | 1 | heads 8 against 6, with a way to settle it (half without) |
# | 1 | the confounded wide run |
# | 1 | dropout: expectation kept or scaling in training, and evaluation (half for one of them) |
# | 1 | "hurts": too small, no seeds, or training loss against test score |
# | 1 | deciding runs that change one thing at a time |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 9 Bonus: is the difference real? <small>★★★ · 30 min · 4 bonus points</small>
# Two systems, one test set, BLEU 31.2 and 31.5.
# *Paired bootstrap resampling* (Koehn, 2004) asks: with a different test set of the same kind, how often would the second still win?
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
half, full = [7, 5, 3, 1, 8, 7, 6, 5, 8, 8], [8, 7, 6, 5, 8, 7, 6, 5, 8, 8]  # BLEU 50 and 100, as in 5.2
known = check.run(bootstrap, torch.tensor([half, full]), torch.tensor([full, half]), torch.tensor([[0, 0, 0], [1, 1, 1], [0, 0, 1]]))
three = known if type(known) in (tuple, list) and len(known) == 3 else [known] * 3


def numbers(part):
    return check.run(lambda: torch.as_tensor(part).double())


with check.idea("BLEU of every draw"):
    scores = [numbers(part) for part in three[:2]]
    drawn = "the first system's sentences have BLEU 50 and 100: draws of one of them give 50 and 100, the mixed draw 69.317"
    check.close(scores[0], torch.tensor([50.0, 100.0, 69.316902]).double(), drawn, atol=1e-4)
    check.close(scores[1], torch.tensor([100.0, 50.0, 85.318413]).double(), "the second system has them the other way round", atol=1e-4)
    ### BEGIN HIDDEN TESTS

    def bleu_of(sums):
        if sums[0] == 0 or 0 in sums[4:8]:
            return 0.0
        logs, part = 0.0, 1.0
        for m, t in zip(sums[:4], sums[4:8], strict=True):
            part = part / 2 if m == 0 else part
            logs += math.log((m or part) / t) / 4
        return 100 * math.exp(min(0.0, 1 - sums[9] / sums[8]) + logs)

    def numbers_of(size, lost):
        """The ten numbers of a sentence as long as its reference, of which some words are wrong."""
        ok = (rand(size) > lost).tolist()
        hits = [sum(all(ok[i : i + n]) for i in range(size - n + 1)) for n in (1, 2, 3, 4)]
        return [*hits, size, size - 1, size - 2, size - 3, size, size]

    stats = [torch.tensor([numbers_of(9 + i % 5, lost) for i in range(14)]) for lost in (0.12, 0.1)]
    draws = randint(0, 14, (40, 14))
    want = torch.tensor([[bleu_of(side[draw].sum(0).tolist()) for draw in draws] for side in stats], dtype=torch.float64)
    answer = check.run(bootstrap, stats[0], stats[1], draws)
    both = answer if type(answer) in (tuple, list) and len(answer) == 3 else [answer] * 3
    for side, name in enumerate(("first", "second")):
        check.close(
            numbers(both[side]),
            want[side],
            f"the scores of the {name} system are wrong on some draws: sum the ten numbers of the drawn sentences, then apply the formula",
            atol=1e-4,
        )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("zero counts and brevity"):
    bare = torch.tensor([[3, 1, 0, 0, 6, 5, 4, 3, 6, 7], [0, 0, 0, 0, 5, 4, 3, 2, 5, 5]])
    sums = [(2 * bare[0]).tolist(), (2 * bare[1]).tolist(), bare.sum(0).tolist()]
    check.close(
        numbers(check.run(lambda: bootstrap(bare, bare, torch.tensor([[0, 0], [1, 1], [0, 1]]))[0])),
        torch.tensor([bleu_of(part) for part in sums]).double(),
        "zero counts follow the rules of 5.2: smoothing, and 0 where no word matches; translations that are too short pay the penalty",
        atol=1e-4,
    )
with check.part("longer than the references"):
    wordy = torch.tensor([[8, 6, 4, 2, 12, 11, 10, 9, 12, 9], [7, 6, 5, 4, 9, 8, 7, 6, 9, 8]])
    three_draws = torch.tensor([[0, 0], [1, 1], [1, 0]])
    check.close(
        numbers(check.run(lambda: bootstrap(wordy, wordy, three_draws)[1])),
        torch.tensor([bleu_of(wordy[draw].sum(0).tolist()) for draw in three_draws]).double(),
        "translations that are longer than their references are wrong: the brevity penalty is 1 there",
        atol=1e-4,
    )
with check.edge("two tensors"):
    check.equal([str(type(part).__name__) for part in both[:2]], ["Tensor"] * 2, "the scores come back as two tensors (R,)")
with check.edge("all digits"):
    check.close(numbers(both[0]), want[0], "digits are lost: compute the scores in float64, a difference may be small", rtol=1e-9)
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(bootstrap, torch.tensor([half, full]), torch.tensor([full, half]), torch.tensor([[0, 1], [1, 1]]))
with check.part("share of draws"):
    won = "the second is strictly better in two of the three draws: the share is 2/3"
    check.close(check.run(lambda: float(three[2])), 2 / 3, won, rtol=1e-6)
    ### BEGIN HIDDEN TESTS
    mixed = (rand(60, 3) > 0.7).long()  # an odd number of two sentences: there is no tie, and the second wins more often
    tally = check.run(lambda: float(bootstrap(torch.tensor([half, full]), torch.tensor([full, half]), mixed)[2]))
    share = ((mixed == 0).sum(1) >= 2).double().mean().item()
    check.close(
        tally,
        share,
        "the share of draws in which the second system is strictly better is wrong for other draws",
        rtol=1e-6,
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("ties"):
    tie = check.run(lambda: float(bootstrap(stats[0], stats[0], draws)[2]))
    check.close(tie, 0.0, "two equal systems: neither is strictly better")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ## Appendix: real sentences
#
# The same code trains on any line-aligned corpus.
# Set the environment variable `COURSE_PAIRS` to a folder with `train.en` and `train.fr` (and `dev` or `val`, and `test`, if there are any: otherwise they are cut from the end) before you start the notebook, or in a cell above the next one: `%env COURSE_PAIRS=/path/to/folder`.
# One pair of files with another name, such as `TED.en-fr.en` and `TED.en-fr.fr`, is used as the training set.
# Files are UTF-8.
# Line ends of any system, blank lines and non-breaking spaces are fine; files of different lengths are rejected.
# Sentences of more than 100 pieces are left out of training, and cut off when they are translated.
#
# Real text has too many words for a table of whole words, so tokens are pieces of words: byte-pair encoding with 8,000 pieces, as you built it in 06 (here from the package `tokenizers`).
# At `gpu` scale the settings are those of the original report.
# On a CPU expect little: with width 256 and four blocks on each side, two cores needed about ten minutes for one epoch of 30,000 sentence pairs of talks.
# One run on 29,000 pairs of image captions (Multi30k) reached a BLEU score of 7.5 after two minutes of processor time.

# %% look=true
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
# ## What you can now do
# - Train a decoder with teacher forcing, and keep the future and the padding out of its sight.
# - Build cross-attention, a decoder block and a whole encoder–decoder, and count its parameters beforehand.
# - Say how low a smoothed loss can go, and choose a warm-up by its peak.
# - Search with a beam, normalise for length, and know when it cannot help.
# - Compute BLEU to the last digit, and say what it does not measure.
# - Make a table of runs from the settings themselves, predict before you run, and hedge what you conclude.
# - Read a report with a calculator at hand.
#
# Next, `13-training-craft` asks what makes such a training run converge, and how it can continue after an interruption.
