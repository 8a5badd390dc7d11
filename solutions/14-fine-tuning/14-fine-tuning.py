# %% [markdown]
# # 14 · Fine-tuning: a pretrained encoder
#
# | | |
# | --- | --- |
# | **You will be able to** | say what every argument of a tokenizer does, and build a batch from unequal sentences · use a pretrained encoder frozen, and fine-tune it with your own loop and with the `Trainer` · evaluate without fooling yourself · see where the training and validation curves separate · compare optimisers fairly and search settings at random · touch the test set once, and say how sure the result is |
# | **You need** | `01-big-picture` (encoders, heads, padding); a training loop in PyTorch (`09-gpt` has one); `11-speeches` and `13-training-craft` help |
# | **Time** | about five and a half hours; each exercise says its own |
# | **Points** | 72, and 4 bonus |
#
# Few people train an encoder from scratch.
# They take one that has read a large amount of text, put a small head on it, and teach both a task with a few thousand labelled examples (Devlin et al., 2019).
# The task here: does a sentence from a film review speak for the film or against it?
#
# On a laptop you fine-tune all-MiniLM-L6-v2, a BERT of 6 layers with 22.7 million parameters, on sentences of Rotten Tomatoes reviews; both are installed with the course.
# With `COURSE_SCALE=gpu` it is RoBERTa-base (Liu et al., 2019) on SST-2 (Socher et al., 2013).
# The appendix says how to use other models and data.
# Grading uses a tiny random model: no point depends on how well a model does.
#
# **Notation.**
# $B$ sentences in a batch, at most $T$ tokens in a sentence, width $D$, $N$ sentences in all.
# Rows, epochs and tokens are counted from 0.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, run the test below it.
# Grading runs further checks of the same ideas.
# A test that fails tells you which idea to check.
# *Before you run it* marks a prediction: write it down first, on paper.
# Leave the arguments of your functions as they are: return new lists and tensors.

# %% locked="setup"
import copy
import math
import random
import tempfile
from functools import partial

import matplotlib.pyplot as plt
import pandas as pd
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from helpers import checks
from helpers.checks import Check, Failed, rand, randint, randn
from helpers.fine_tuning import adapters, pretrained, sentiment
from helpers.fine_tuning import figures as tuning_figures
from helpers.fine_tuning.pretrained import ToyClassifier, ToyEncoder
from helpers.fine_tuning.sentiment import SealedTest
from helpers.kit import models, plots, training
from helpers.kit.scale import pick
from helpers.kit.seeding import device, seed

# %% [markdown]
# ## 1 From sentences to tokens
#
# Three sets, three jobs.
# The model learns from the *training* set.
# You choose between models on the *validation* set.
# The *test* set says, once and at the very end, how good your choice is.
# In this notebook it is sealed: `corpus.test` shows its sentences, keeps its labels, and accepts one submission of predictions, as the server of a benchmark does.
# Loading the corpus again does not allow a second one.

# %% look=true
corpus = sentiment.load(
    train=pick(smoke=48, laptop=2400, gpu=None),  # None: all sentences
    validation=pick(smoke=24, laptop=600, gpu=None),
    test=pick(smoke=24, laptop=1000, gpu=None),
)
print(corpus.source)
print(
    f"{len(corpus.train.labels):,} sentences to train on, {len(corpus.validation.labels):,} to validate, "
    f"{len(corpus.test.sentences()):,} sealed"
)
print(f"share of positive sentences: {sum(corpus.train.labels) / len(corpus.train.labels):.2f}")
for sentence, label in list(zip(*corpus.train))[:4]:
    print(f"  {label}  {sentence[:110]}")

# %% [markdown]
# A model and its tokenizer belong together: the model's embedding has one row per token *of that tokenizer*.
# The `Auto` classes read the model's configuration and give you the matching classes, whatever the model is: `AutoTokenizer`, `AutoModel` (the encoder alone), `AutoModelForSequenceClassification` (the encoder with a new head).

# %% look=true
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

MODEL = pretrained.model_name()
tokenizer = AutoTokenizer.from_pretrained(MODEL)
example = "An unforgettably odd film."
ids = tokenizer(example)["input_ids"]
print("tokens        ", tokenizer.convert_ids_to_tokens(ids))
print("input_ids     ", ids)
print("attention_mask", tokenizer(example)["attention_mask"])
print("decoded       ", tokenizer.decode(ids))
print(
    "special tokens",
    {name: (getattr(tokenizer, name), getattr(tokenizer, f"{name}_id")) for name in ("cls_token", "sep_token", "pad_token")},
)

# %% [markdown]
# A rare word is cut into pieces, and two special tokens are added: one at the start, one at the end.
# The numbers are rows of the embedding.
# Nothing else of the text reaches the model.
# (BERT's tokenizer also gives `token_type_ids`, which tell two sentences of a pair apart; RoBERTa's does not. With one sentence they are all 0, which the model assumes by itself: leave them out.)
#
# ### Look: the arguments of a tokenizer
# Four arguments decide what a *batch* of sentences becomes.
# Change one at a time.
# The number under a token is its attention mask: 1 for a real token, 0 for *filler* (padding), which no token may look at.
# *Before you touch it:* which combinations make `return_tensors="pt"` fail?

# %% look=true
tuning_figures.tokenizer_arguments(tokenizer, ["Bad.", "A slow but honest film about fathers.", "I laughed a lot."])

# %% [markdown]
# ### 1.1 Predict the lengths <small>★☆☆ · 10 min · 3 points</small>
# Put what you saw into a function.
# Sentence $i$ has `counts[i]` tokens before the tokenizer adds its two special ones.
# These must hold, whatever the options are:
#
# - With `truncation=True` every row that would be longer than `max_length` is cut to exactly `max_length`.
# - With `padding="longest"` (or `True`) all rows of the result are as long as the longest of them.
# - With `padding="max_length"` no row of the result is shorter than `max_length`.
# - Padding only adds, truncation only cuts, and an option that is `False` does nothing.
#
# Adding the special tokens, truncating, padding: which happens first, which last?
# Try it in the cell above.
#
# Return the length of each row of `input_ids`, a list of integers.


# %% exercise="row-lengths"
def row_lengths(counts, padding, truncation, max_length):
    """Lengths of the rows that a tokenizer gives for sentences of `counts` tokens: a list of ints.

    padding is False, True, "longest" or "max_length"; truncation is True or False; two special tokens are added to every row.
    """
    ### BEGIN SOLUTION
    lengths = [count + 2 for count in counts]
    if truncation:
        lengths = [min(length, max_length) for length in lengths]
    if padding is False:
        return lengths
    target = max_length if padding == "max_length" else max(lengths)
    return [max(length, target) for length in lengths]
    ### END SOLUTION


# %% test="row-lengths" points=3
check = Check("row-lengths", points=3)
with check.idea("two special tokens"):
    alone = "without padding and truncation every row has its own length, special tokens included: max_length alone does nothing"
    check.equal(check.run(row_lengths, [3, 7, 1], False, False, 6), [5, 9, 3], alone)
    ### BEGIN HIDDEN TESTS
    tokens = [int(n) for n in randint(1, 40, (9,))]
    check.equal(
        check.run(row_lengths, tokens, False, False, 12),
        [n + 2 for n in tokens],
        "for nine other sentences the lengths are wrong: each has its tokens and two more",
    )
    ### END HIDDEN TESTS
with check.part("truncation"):
    only = "truncation cuts the rows that are longer than max_length, and only those"
    check.equal(check.run(row_lengths, [3, 7, 1], False, True, 6), [5, 6, 3], only)
    ### BEGIN HIDDEN TESTS
    check.equal(
        check.run(row_lengths, [*tokens, 38, 1], False, True, 12),
        [min(n + 2, 12) for n in [*tokens, 38, 1]],
        "for other sentences truncation gives the wrong lengths",
    )
    ### END HIDDEN TESTS
with check.part("padding to the longest"):
    of_batch = "padding='longest' fills up to the longest row of the batch, whatever max_length says"
    shorter = "padding='longest' does not look at max_length"
    check.equal(check.run(row_lengths, [3, 7, 1], "longest", False, 6), [9, 9, 9], of_batch, wrong={shorter: [6, 9, 6]})
    ### BEGIN HIDDEN TESTS
    check.equal(
        check.run(row_lengths, [3, 2, 1], "longest", False, 12),
        [5, 5, 5],
        "with padding='longest' short batches stay short: the longest row decides, not max_length",
    )
    ### END HIDDEN TESTS
with check.part("padding to max_length"):
    stays = "padding='max_length' fills short rows up to max_length; without truncation a longer row stays as it is"
    check.equal(check.run(row_lengths, [3, 7, 1], "max_length", False, 6), [6, 9, 6], stays)
    ### BEGIN HIDDEN TESTS
    check.equal(
        check.run(row_lengths, [3, 30, 1, 8], "max_length", False, 16),
        [16, 32, 16, 16],
        "for other sentences padding='max_length' gives the wrong lengths",
    )
    ### END HIDDEN TESTS
with check.edge("counts unchanged"):
    check.unchanged(row_lengths, [3, 7, 1], "longest", True, 6)
### BEGIN HIDDEN TESTS
with check.part("truncate first, then pad"):
    both = check.run(row_lengths, [3, 7, 1], "longest", True, 6)
    order = "first truncation, then padding: the longest row is measured after the cut"
    check.equal(both, [6, 6, 6], order)
    short_ones = check.run(row_lengths, [3, 7, 1], "longest", True, 64)
    check.equal(short_ones, [9, 9, 9], "padding='longest' with truncation: the longest row decides here, too, not max_length")
    all_alike = check.run(row_lengths, [3, 70, 1], "max_length", True, 16)
    check.equal(all_alike, [16, 16, 16], "padding='max_length' with truncation: every row has max_length tokens")
with check.edge("padding=True"):
    check.equal(check.run(row_lengths, [3, 2, 5], True, True, 64), [7, 7, 7], "padding=True means the same as padding='longest'")
with check.edge("one sentence, an empty sentence"):
    check.equal(check.run(row_lengths, [4], "longest", True, 64), [6], "a batch of one sentence needs no padding")
    check.equal(check.run(row_lengths, [0, 4], False, True, 6), [2, 6], "an empty sentence still has its two special tokens")
### END HIDDEN TESTS
check.score()

# %% look=true
some = corpus.train.sentences[:6]
without_special = [len(row) for row in tokenizer(some, add_special_tokens=False)["input_ids"]]
for asked in (
    {"padding": False, "truncation": False},
    {"padding": "longest", "truncation": False},
    {"padding": "longest", "truncation": True},
    {"padding": "max_length", "truncation": True},
    {"padding": "max_length", "truncation": False},
):
    rows = tokenizer(some, max_length=24, **asked)["input_ids"]
    predicted = row_lengths(without_special, asked["padding"], asked["truncation"], 24)
    print(f"{asked!s:<48} the tokenizer {[len(row) for row in rows]!s:<30} you {predicted}")

# %% [markdown]
# ## 2 From tokens to batches
#
# Tokenising is quick and always gives the same result: do it once, without padding.
# What remains to be done per batch is to bring unequal rows to one length.
# First, how long are they?

# %% look=true
MAX_LENGTH = pick(smoke=24, laptop=48, gpu=128)


def tokenised(sentences):
    """Token ids of each sentence, at most MAX_LENGTH of them: a list of lists of unequal lengths."""
    return tokenizer(list(sentences), truncation=True, max_length=MAX_LENGTH)["input_ids"]


train_rows, validation_rows = tokenised(corpus.train.sentences), tokenised(corpus.validation.sentences)
train_lengths = [len(row) for row in train_rows]
full = [len(row) for row in tokenizer(corpus.train.sentences)["input_ids"]]
plots.use_course_style()
figure, axes = plt.subplots(figsize=(8, 3.4))
axes.hist(full, bins=range(0, max(full) + 2), color="C0")
axes.axvline(MAX_LENGTH, color="black", linestyle="--")
axes.annotate(
    f"max_length = {MAX_LENGTH}", (MAX_LENGTH, axes.get_ylim()[1]), ha="left", va="top", xytext=(4, -4), textcoords="offset points"
)
axes.set(xlabel="tokens in a sentence, special tokens included", ylabel="sentences", title="How long are the training sentences?")
figure.tight_layout()
plt.show()
print(f"{sum(n > MAX_LENGTH for n in full) / len(full):.1%} of the sentences are cut")

# %% [markdown]
# ### 2.1 A data set <small>★☆☆ · 10 min · 3 points</small>
# A PyTorch `Dataset` answers two questions: how many items are there, and what is item $i$?
# Write one that holds token rows and labels.
# Item $i$ is the dictionary `{"input_ids": row, "label": label}`: one sentence, not yet padded.
# If there are more rows than labels, or fewer, the mistake could go unnoticed for a long time: raise a `ValueError`.


# %% exercise="dataset"
class ReviewDataset(Dataset):
    """Token rows (lists of ints) and their labels (0 or 1). Item i is {"input_ids": row i, "label": label i}."""

    def __init__(self, rows, labels):
        ### BEGIN SOLUTION
        if len(rows) != len(labels):
            raise ValueError(f"{len(rows)} rows, {len(labels)} labels")
        self.rows, self.labels = rows, labels
        ### END SOLUTION

    def __len__(self):
        ### BEGIN SOLUTION
        return len(self.rows)
        ### END SOLUTION

    def __getitem__(self, i):
        ### BEGIN SOLUTION
        return {"input_ids": self.rows[i], "label": self.labels[i]}
        ### END SOLUTION


def all_items(dataset):  # given: what a loader does with your data set, without batches
    return [dataset[i] for i in range(len(dataset))]


# %% test="dataset" points=3
check = Check("dataset", points=3)
some_rows, some_labels = [[101, 7, 102], [101, 102], [101, 8, 9, 10, 102]], [1, 0, 1]


def items_from(rows, labels):
    kept = check.keep(ReviewDataset, rows, labels)
    return kept if type(kept) is Failed else check.run(all_items, kept)


with check.idea("item i is row i with label i"):
    listed = items_from(some_rows, some_labels)
    kinds = [sorted(item) if type(item) is dict else item for item in listed] if listed else listed
    check.true(len(listed) == 3 if listed else listed, "the length of the data set is its number of sentences")
    keys = "an item is a dictionary with the keys input_ids and label (in the singular: it is one sentence)"
    check.true(kinds == [["input_ids", "label"]] * 3 if listed else listed, keys)
    items = [{"input_ids": row, "label": label} for row, label in zip(some_rows, some_labels)]
    check.equal(listed, items, "item i holds row i, unchanged, and label i")
    ### BEGIN HIDDEN TESTS
    long_rows = [[int(v) for v in randint(5, 99, (int(n),))] for n in randint(2, 9, (17,))] + [[7]]
    long_labels = [0, 1] + [int(v) for v in randint(0, 2, (15,))] + [1]  # the first and the last differ
    wanted = [{"input_ids": row, "label": label} for row, label in zip(long_rows, long_labels)]
    check.equal(
        items_from(long_rows, long_labels),
        wanted,
        "with eighteen other sentences the items are not their rows and labels",
    )
    ### END HIDDEN TESTS
with check.edge("unequal numbers"):
    short = "three rows and two labels: raise a ValueError, or the mix-up goes unnoticed"
    check.raises(ReviewDataset, some_rows, [1, 0], error="ValueError", hint=short)
    ### BEGIN HIDDEN TESTS
    check.raises(ReviewDataset, [[1]], [1, 0], error="ValueError", hint="one row and two labels: that, too, is a ValueError")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("one sentence"):
    check.equal(items_from([[101, 102]], [0]), [{"input_ids": [101, 102], "label": 0}], "a data set of one sentence")
with check.edge("whole labels"):
    whole = "a label is a float: keep it as it was given, or the batch gets float labels"
    check.true(
        all(type(item["label"]) is not float for item in listed) if kinds == [["input_ids", "label"]] * 3 else listed and False, whole
    )
with check.edge("two data sets"):
    first_kept, second_kept = check.keep(ReviewDataset, some_rows, some_labels), check.keep(ReviewDataset, [[5]], [0])
    again = first_kept if type(first_kept) is Failed else check.run(all_items, first_kept)
    check.equal(again, items, "a second data set changes the first: keep rows and labels in `self`, not in the class")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 Collate: a batch from unequal rows <small>★★☆ · 15 min · 4 points</small>
# The loader draws a list of items and asks your *collate* function to make one batch of it.
# Pad to the longest row **of this list**.
# The batch is a dictionary of three `int64` tensors:
#
# | key | shape | meaning |
# | --- | --- | --- |
# | `input_ids` | `(B, T)` | token ids; after the end of a row `pad_id` |
# | `attention_mask` | `(B, T)` | 1 where there is a token, 0 where there is filler |
# | `labels` | `(B,)` | 0 or 1. In the plural: with this name the model computes the loss itself |
#
# The id of the filler is 0 for BERT and 1 for RoBERTa.
# Do not make the mask by comparing ids with `pad_id`: use the lengths of the rows, which you know for sure.


# %% exercise="collate"
def collate(items, pad_id=0):
    """A batch from items {"input_ids": list of ints, "label": 0 or 1}, padded on the right: a dict of int64 tensors.

    input_ids (B, T), attention_mask (B, T), labels (B,).
    """
    ### BEGIN SOLUTION
    T = max(len(item["input_ids"]) for item in items)
    input_ids = torch.full((len(items), T), pad_id)
    attention_mask = torch.zeros(len(items), T, dtype=torch.long)
    for i, item in enumerate(items):
        n = len(item["input_ids"])
        input_ids[i, :n] = torch.tensor(item["input_ids"])
        attention_mask[i, :n] = 1
    return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": torch.tensor([item["label"] for item in items])}
    ### END SOLUTION


# %% test="collate" points=4
check = Check("collate", points=4)
three = [{"input_ids": [5, 6], "label": 1}, {"input_ids": [7, 8, 9, 4], "label": 0}, {"input_ids": [3], "label": 1}]
made = check.run(collate, three)


def entry(batch, key):
    """One tensor of the batch; where it is not there, a Failed that says so."""
    return batch[key] if type(batch) is Failed or (type(batch) is dict and key in batch) else Failed(f"the batch has no `{key}`", key)


with check.idea("rows filled up"):
    right_side = "rows are filled on the right with pad_id, up to the longest row of this batch"
    check.equal(entry(made, "input_ids"), [[5, 6, 0, 0], [7, 8, 9, 4], [3, 0, 0, 0]], right_side)
    ### BEGIN HIDDEN TESTS
    several = [{"input_ids": [int(v) for v in randint(3, 99, (n,))], "label": n % 2} for n in (4, 9, 2, 7, 1, 6)]
    token_rows = [item["input_ids"] for item in several]
    check.equal(
        entry(check.run(collate, several), "input_ids"),
        [row + [0] * (9 - len(row)) for row in token_rows],
        "six other rows, the longest of nine tokens, are filled up wrongly",
    )
    brief = check.run(collate, [{"input_ids": [8], "label": 0}, {"input_ids": [7, 9], "label": 1}])
    check.equal(
        entry(brief, "input_ids"),
        [[8, 0], [7, 9]],
        "rows of one and two tokens are filled up to two: the longest row of this batch decides",
    )
    ### END HIDDEN TESTS
with check.part("attention mask"):
    marks = "the mask is 1 where there is a token and 0 where there is filler"
    check.equal(entry(made, "attention_mask"), [[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]], marks)
    ### BEGIN HIDDEN TESTS
    real = (torch.arange(9) < torch.tensor([[4], [9], [2], [7], [1], [6]])).long()
    check.equal(
        entry(check.run(collate, several), "attention_mask"),
        real,
        "the mask of six other rows is wrong",
    )
    ### END HIDDEN TESTS
with check.part("labels"):
    plural = "the model expects `labels`, in the plural: without that name it computes no loss"
    check.true("labels" in made if type(made) is dict else made, plural)
    check.equal(entry(made, "labels"), [1, 0, 1], "one label per row, in the order of the items")
with check.edge("three keys"):
    three_keys = "the keys are input_ids, attention_mask and labels, and no more: the model gets all of them"
    check.equal(sorted(made) if type(made) is dict else made, ["attention_mask", "input_ids", "labels"], three_keys)
### BEGIN HIDDEN TESTS
with check.part("pad_id"):
    other = check.run(collate, three, 1)
    roberta = "with pad_id = 1, RoBERTa's, the filler is wrong: use the argument"
    check.equal(entry(other, "input_ids"), [[5, 6, 1, 1], [7, 8, 9, 4], [3, 1, 1, 1]], roberta)
with check.part("mask from the lengths"):
    same_mask = "with pad_id = 1 the mask is wrong: it must not depend on pad_id"
    check.equal(entry(other, "attention_mask"), (torch.arange(4) < torch.tensor([[2], [4], [1]])).long(), same_mask)
    inside = check.run(collate, [{"input_ids": [5, 0, 6], "label": 0}, {"input_ids": [0], "label": 0}])
    alike = "a token that has the same id as the filler is hidden: make the mask from the rows' lengths, not by comparing ids"
    check.equal(entry(inside, "attention_mask"), [[1, 1, 1], [1, 0, 0]], alike)
### END HIDDEN TESTS
with check.edge("int64"):
    types = check.run(lambda items: sorted({str(getattr(v, "dtype", type(v).__name__)) for v in collate(items).values()}), three)
    check.equal(types, ["torch.int64"], "all three are int64: ids and labels are used as indices, and the mask has their type")
with check.edge("items unchanged"):
    check.unchanged(collate, three, hint="your code changes the rows of the data set: build new ones, do not append to them")
### BEGIN HIDDEN TESTS
with check.edge("a batch of one"):
    alone = check.run(collate, [{"input_ids": [4, 5, 6, 7, 8], "label": 1}])
    check.equal(entry(alone, "input_ids"), [[4, 5, 6, 7, 8]], "a batch of one is not padded, and keeps its batch axis")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.3 Loaders <small>★★☆ · 10 min · 3 points</small>
# A `DataLoader` cuts a data set into batches and calls `collate_fn` on each.
# Make one:
#
# - **training** batches are shuffled again in every epoch: neighbours in a file are often alike, and a model must not see the classes in blocks.
#   Give the loader `generator=torch.Generator().manual_seed(seed)`, so that a run can be repeated;
# - **validation** batches keep their order.
#   Shuffling would not change the accuracy, but prediction $i$ would no longer belong to sentence $i$;
# - no sentence is dropped: the last batch may be small.
#   The filler is `pad_id`: `partial(collate, pad_id=pad_id)` is `collate` with that argument filled in.
#   The loader wants a function: pass it, do not call it.
#
# The loader's `num_workers` says how many processes prepare batches while the model computes.
# Here the rows are tokenised already and little is left to prepare: the default of 0 (do it in this process) is enough.


# %% exercise="loader"
def make_loader(dataset, batch_size, training, seed=0, pad_id=0):
    """A DataLoader of batches of `batch_size` items: shuffled by `seed` if `training`, else in order."""
    ### BEGIN SOLUTION
    generator = torch.Generator().manual_seed(seed)
    return DataLoader(dataset, batch_size, shuffle=training, collate_fn=partial(collate, pad_id=pad_id), generator=generator)
    ### END SOLUTION


def ids_in(loader):  # given: one epoch, the ids of every batch
    batches = list(loader)
    if not all(torch.is_tensor(batch["input_ids"]) for batch in batches):
        raise TypeError("input_ids of a batch is not a tensor: is `collate` the loader's collate_fn?")
    return [batch["input_ids"].tolist() for batch in batches]


# %% test="loader" points=3
check = Check("loader", points=3)
ten = [{"input_ids": [i], "label": i % 2} for i in range(50, 60)]


def ids_of(kept):
    return kept if type(kept) is Failed else check.run(ids_in, kept)


with check.idea("batches of all sentences"):
    in_order = ids_of(check.keep(make_loader, ten, 4, False))
    fours = "ten sentences in batches of four: 4, 4 and 2"
    slips = {"the last, small batch is dropped: every sentence counts": [4, 4], "the batch size is not used": [1] * 10}
    check.equal([len(part) for part in in_order] if in_order else in_order, [4, 4, 2], fours, wrong=slips)
    everyone = sorted(row[0] for part in in_order for row in part) if in_order else in_order
    check.equal(everyone, list(range(50, 60)), "every sentence comes exactly once")
    ### BEGIN HIDDEN TESTS
    seven = ids_of(check.keep(make_loader, ten[:7], 3, False))
    check.equal(
        [len(part) for part in seven] if seven else seven,
        [3, 3, 1],
        "seven sentences in batches of three: 3, 3 and 1",
    )
    ### END HIDDEN TESTS
with check.part("validation in order"):
    kept_order = [row[0] for part in in_order for row in part] if in_order else in_order
    check.equal(kept_order, list(range(50, 60)), "validation keeps the order: do not shuffle when `training` is False")
with check.part("training shuffled in every epoch"):
    busy = check.keep(make_loader, ten, 4, True, 3)
    rounds = [ids_of(busy), ids_of(busy)]
    orders = [[row[0] for part in one_round for row in part] if one_round else one_round for one_round in rounds]
    check.equal(sorted(orders[0]) if orders[0] else orders[0], list(range(50, 60)), "an epoch of training sees every sentence once")
    check.true(orders[0] != list(range(50, 60)) if orders[0] else orders[0], "training batches are shuffled: `shuffle=training`")
    ### BEGIN HIDDEN TESTS
    anew = "the second epoch has the same order as the first: the loader must shuffle again in every epoch"
    check.true(orders[0] != orders[1] if orders[1] else orders[1], anew)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("the seed"):
    again = ids_of(check.keep(make_loader, ten, 4, True, 3))
    check.equal(again, rounds[0], "the same seed gives a different order: pass the loader a generator that starts from `seed`")
    others = [ids_of(check.keep(make_loader, ten, 10, True, s)) for s in (4, 5, 6)]
    check.true(
        len({str(o) for o in others}) > 1 if all(others) else others[0],
        "different seeds give the same order: start the generator from `seed`",
    )
with check.part("collate and pad_id"):
    uneven = [{"input_ids": [9] * n, "label": 0} for n in (2, 3, 1)]
    for filler in (1, 5):
        used = f"unequal rows with pad_id = {filler} come out wrong: is your `collate` used, with `pad_id`?"
        one_batch = ids_of(check.keep(make_loader, uneven, 3, False, 0, filler))
        filled_up = [[[9, filler, filler], [9, 9, filler], [9, 9, 9]]]
        check.equal([sorted(part) for part in one_batch] if one_batch else one_batch, filled_up, used)
with check.edge("two loaders"):
    early = check.keep(make_loader, ten, 4, True, 3)
    late = check.keep(make_loader, ten, 4, True, 8)
    check.equal(
        ids_of(early), rounds[0], "a second loader changes the order of the first: give each loader its own generator, not the global one"
    )
with check.edge("the data set unchanged"):
    shared = checks.put(ten)
    ids_of(check.keep(make_loader, shared, 4, True, 3))
    still = "your code changes the order of the data set that it is given: shuffle the loader's batches, not the data set"
    check.equal(check.measure(checks.value, shared), ten, still)
with check.edge("a large batch"):
    large = ids_of(check.keep(make_loader, uneven, 64, False))
    check.equal([len(part) for part in large] if large else large, [3], "a batch may be larger than the data set")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: what is in a batch?
# *Before you run it:* write down the shape and the dtype of each tensor of a training batch of 8. Which of its sizes can change from batch to batch?

# %% look=true
PAD = tokenizer.pad_token_id
train_set = ReviewDataset(train_rows, corpus.train.labels)
validation_set = ReviewDataset(validation_rows, corpus.validation.labels)
for number, batch in enumerate(make_loader(train_set, 8, training=True, seed=0, pad_id=PAD)):
    print({name: (tuple(tensor.shape), str(tensor.dtype)) for name, tensor in batch.items()})
    if number == 2:
        break
print("row 0, decoded:", tokenizer.decode(batch["input_ids"][0]))

# %% [markdown]
# ### 2.4 Sentences of similar length <small>★★☆ · 20 min · 4 points</small>
# Filler costs as much time as text.
# If a batch holds sentences of similar length, there is little of it.
#
# 1. `padding_share(lengths, batches)`: the share of all positions that are filler, when `batches` is a list of lists of sentence numbers and every batch is padded to its longest sentence.
# 2. `length_buckets(lengths, batch_size, seed)`: sort the sentence numbers by length, cut the sorted list into batches of `batch_size` (one batch may be smaller), and shuffle **the order of the batches**, repeatably, with `random.Random(seed)`.
#    A model that met all short sentences first and all long ones last would learn something about length.


# %% exercise="buckets"
def padding_share(lengths, batches):
    """The share of filler among all positions, a float; sentence i has lengths[i] tokens, a batch lists such i."""
    ### BEGIN SOLUTION
    positions = sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)
    tokens = sum(lengths[i] for batch in batches for i in batch)
    return 1 - tokens / positions
    ### END SOLUTION


def length_buckets(lengths, batch_size, seed):
    """All sentence numbers in batches of similar length, a list of lists; the order of the batches is shuffled."""
    ### BEGIN SOLUTION
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    random.Random(seed).shuffle(batches)
    return batches
    ### END SOLUTION


# %% test="buckets" points=4
check = Check("buckets", points=4)


def batches_of(result):
    """The result if it is a list of lists or tensors of numbers; else a Failed that says so."""
    if type(result) is Failed or (
        type(result) in (list, tuple) and result and all(hasattr(part, "__len__") and len(part) for part in result)
    ):
        return result
    return Failed(
        "length_buckets gives a list of batches, each a list of sentence numbers", "length_buckets does not give a list of batches"
    )


sizes = [9, 2, 7, 4, 4, 11, 3, 5, 8, 6, 2]
with check.idea("padding_share and length_buckets"):
    two = "padding_share: 4 + 2 and 3 + 3 tokens in 8 and 6 positions: 2 of 14 are filler"
    check.close(check.run(padding_share, [4, 2, 3, 3], [[0, 1], [2, 3]]), 1 / 7, two, rtol=2e-3)
    cut = batches_of(check.run(length_buckets, sizes, 3, 0))
    check.equal(
        sorted(map(len, cut)) if cut else cut,
        [2, 3, 3, 3],
        "length_buckets: eleven sentences in batches of three: one has two, and is kept",
    )
    once = "length_buckets: every sentence number occurs exactly once. Are the entries numbers of sentences, not their lengths?"
    check.equal(sorted(i for part in cut for i in part) if cut else cut, list(range(11)), once)
    known = cut and all(0 <= i < 11 for part in cut for i in part)
    mixed = "length_buckets: the batches mix short and long sentences: sort by length, cut, and only then shuffle the batches"
    check.true(sum(len(part) * max(sizes[i] for i in part) for part in cut) <= 70 if known else known, mixed)
    ### BEGIN HIDDEN TESTS
    longest = ((40, 100), (20, 60), (12, 43))  # the longest sentences of the batches differ, whatever is drawn
    many = [int(n) for top, count in longest for n in randint(3, top, (count,))]
    split = [list(range(0, 100)), list(range(100, 160)), list(range(160, 203))]
    tops = [max(many[i] for i in part) for part in split]
    room, text = sum(len(part) * top for part, top in zip(split, tops)), sum(many)
    check.close(
        check.run(padding_share, many, split),
        1 - text / room,
        "padding_share: wrong for three batches of 100, 60 and 43 sentences",
        rtol=2e-3,
    )
    plans = [batches_of(check.run(length_buckets, many, 8, s)) for s in (0, 1, 2, 0)]
    usable = all(plans) and all(0 <= i < 203 for part in plans[0] for i in part)
    numbers = sorted(i for part in plans[0] for i in part) if usable else plans[0]
    check.equal(numbers, list(range(203)), "length_buckets: with 203 sentences some are missing or occur twice")
    eights = sorted(map(len, plans[0])) if usable else plans[0]
    check.equal(eights, [3] + [8] * 25, "length_buckets: 203 sentences in batches of eight: one has three. Is `batch_size` used?")
    ordered = sorted(many)
    forwards = sum(len(ordered[i : i + 8]) * max(ordered[i : i + 8]) for i in range(0, 203, 8))
    backwards = sum(8 * ordered[::-1][i] for i in range(0, 200, 8)) + 3 * ordered[2]
    filler = sum(len(part) * max(many[i] for i in part) for part in plans[0]) if usable else 0
    more = "length_buckets: with 203 sentences there is more filler than sorting by length leaves"
    check.true(filler <= max(forwards, backwards) if usable else plans[0] and False, more)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("all digits"):
    check.close(check.run(padding_share, many, split), 1 - text / room, "padding_share: the share is rounded: return all its digits")
with check.edge("some of the sentences"):
    few = check.run(padding_share, [5, 9, 2, 7], [[3, 2]])
    check.close(few, 5 / 14, "padding_share: batches may hold some of the sentences only: count the tokens of those", rtol=1e-6)
with check.edge("no filler"):
    check.close(check.run(padding_share, [5, 5, 5], [[0, 2], [1]]), 0.0, "padding_share: sentences of one length need no filler")
### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("batches shuffled"):
    longest = [max(many[i] for i in part) for part in plans[0]] if usable else plans[0]
    anyhow = longest != sorted(longest) and longest != sorted(longest, reverse=True) if usable else plans[0] and False
    check.true(anyhow, "length_buckets: the batches come in the order of their length: shuffle them")
with check.part("the seed"):
    unlike = len({str([[many[i] for i in part] for part in plan]) for plan in plans}) > 1 if usable else plans[0] and False
    check.true(unlike, "length_buckets: every seed gives the same order of batches: use `random.Random(seed)`")
    alike = "length_buckets: the same seed gives two different orders: use `random.Random(seed)`, not the global generator"
    check.equal(plans[3], plans[0], alike)
with check.edge("the global generator"):
    own = "length_buckets draws from Python's global generator, or seeds it: use `random.Random(seed)`"
    check.true(check.measure(checks.value, check.keep(adapters.leaves_generator, length_buckets, sizes, 3, 0)), own)
### END HIDDEN TESTS
with check.edge("lengths unchanged"):
    check.unchanged(length_buckets, sizes, 3, 0)
check.score()

# %% [markdown]
# *Before you run it:* which of the three ways has the least filler, and by how much?

# %% look=true
B = pick(smoke=8, laptop=32, gpu=32)
shuffled = random.Random(0).sample(range(len(train_lengths)), len(train_lengths))
in_shuffled_order = [shuffled[i : i + B] for i in range(0, len(shuffled), B)]
in_buckets = length_buckets(train_lengths, B, seed=0)
share_fixed = 1 - sum(train_lengths) / (len(train_lengths) * MAX_LENGTH)
print(f"every row padded to max_length      {share_fixed:6.1%} filler")
print(f"padded to the batch's longest row   {padding_share(train_lengths, in_shuffled_order):6.1%} filler")
print(f"batches of similar length           {padding_share(train_lengths, in_buckets):6.1%} filler")


def bucket_loader(dataset, batch_size, seed):
    """Training batches of similar length. `batch_sampler` takes the lists of numbers as they are."""
    batches = length_buckets([len(dataset[i]["input_ids"]) for i in range(len(dataset))], batch_size, seed)
    return DataLoader(dataset, batch_sampler=batches, collate_fn=partial(collate, pad_id=PAD))


# %% [markdown]
# ## 3 Frozen: use what it knows
#
# The cheapest way to use a pretrained encoder is to leave it as it is.
# Every sentence goes through it **once**; the results are kept as *features*, and only a logistic head on top is trained.
# The encoder never changes, so there is no reason to compute anything twice.
#
# ### 3.1 One vector per sentence <small>★★☆ · 10 min · 3 points</small>
# The encoder gives one vector per token.
# Average them over the tokens that are real:
#
# $$ f_b = \frac{\sum_t m_{bt}\, h_{bt}}{\sum_t m_{bt}} , $$
#
# with the hidden states $h_{bt} \in \mathbb{R}^D$ and the attention mask $m_{bt}$.
# Filler has hidden states, too, and they are not zero: the mask keeps tokens from *looking at* filler, it does not remove it.
# Every row has at least one real token.
# To multiply `(B, T, D)`, the mask `(B, T)` needs a third axis.


# %% exercise="mean-pool"
def mean_pool(hidden, mask):
    """Mean of the hidden states (B, T, D) over the positions where the mask (B, T), of 0 and 1, is 1: (B, D)."""
    ### BEGIN SOLUTION
    weights = mask.unsqueeze(-1).to(hidden.dtype)  # (B, T, 1)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1)
    ### END SOLUTION


# %% test="mean-pool" points=3
check = Check("mean-pool", points=3)
states = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [100.0, 100.0]], [[5.0, 5.0], [50.0, 50.0], [50.0, 50.0]]])
seen_mask = torch.tensor([[1, 1, 0], [1, 0, 0]])
with check.idea("mean of the real tokens"):
    width = "one vector of width D per sentence: (B, D). Which axis is averaged away?"
    pooled = check.run(mean_pool, states, seen_mask, shape=(2, 2), hint=width)
    means = "the first sentence has two real tokens, (1, 2) and (3, 6): their mean is (2, 4); the second has one"
    check.close(pooled, [[2.0, 4.0], [5.0, 5.0]], means)
    ### BEGIN HIDDEN TESTS
    many_states, many_mask = randn(5, 7, 3), (torch.arange(7) < torch.tensor([7, 1, 3, 6, 2])[:, None]).long()
    total = (many_states * many_mask[..., None]).sum(1)
    check.close(
        check.run(mean_pool, many_states, many_mask, shape=(5, 3)),
        torch.stack([row[: int(m.sum())].mean(0) for row, m in zip(many_states, many_mask)]),
        "with rows of 7, 1, 3, 6 and 2 tokens the means are wrong",
    )
    gap_states, gap_mask = randn(4, 6, 3), (torch.arange(6) < torch.tensor([5, 1, 3, 2])[:, None]).long()
    check.close(
        check.run(mean_pool, gap_states, gap_mask),
        torch.stack([row[: int(m.sum())].mean(0) for row, m in zip(gap_states, gap_mask)]),
        "with rows of 5, 1, 3 and 2 tokens the means are wrong",
    )
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(mean_pool, states, seen_mask)
### BEGIN HIDDEN TESTS
holes, row_states = torch.tensor([[0, 1, 0, 1]]), randn(1, 4, 6)
with check.edge("filler in between"):
    between = check.run(mean_pool, row_states, holes)
    exact = (row_states[:, 1] + row_states[:, 3]) / 2
    check.close(between, exact, "the mask may have filler on the left or in between: use the mask, not lengths")
with check.edge("one token, other masks"):
    check.close(check.run(mean_pool, randn(2, 1, 3) * 0 + 4, torch.ones(2, 1)), 4.0, "sentences of one token, and a mask of floats")
    fine = randn(2, 3, 4, dtype=torch.float64)
    boolean = check.run(mean_pool, fine, torch.ones(2, 3, dtype=torch.bool))
    check.close(boolean, fine.mean(1), "a boolean mask and float64: keep the dtype of the hidden states")
with check.edge("gradients"):
    flow = "the gradient through your mean is wrong, or does not flow"
    check.gradients(mean_pool, lambda h, m: (h * m[..., None]).sum(1) / 2, (row_states, holes), flow)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.2 All features, once <small>★★☆ · 15 min · 4 points</small>
# Go through the batches, call `encoder(input_ids=…, attention_mask=…)`, pool its `.last_hidden_state`, and collect.
# Two switches matter:
#
# - `encoder.eval()`: dropout off.
#   In training mode the same sentence would get different features every time;
# - `torch.no_grad()`: no graph is recorded.
#   Nothing will be differentiated, and the graph would fill the memory.


# %% exercise="extract"
def extract(encoder, batches):
    """Features (N, D) and labels (N,) of all batches, in order; evaluation mode, no gradients recorded."""
    ### BEGIN SOLUTION
    encoder.eval()
    features, labels = [], []
    with torch.no_grad():
        for batch in batches:
            hidden = encoder(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
            features.append(mean_pool(hidden, batch["attention_mask"]))
            labels.append(batch["labels"])
    return torch.cat(features), torch.cat(labels)
    ### END SOLUTION


def toy_features(
    table, batches
):  # given: your function on an encoder that adds to a token's row of a table twice the mean row of what it may look at
    toy = ToyEncoder(table)
    return extract(toy, batches), toy.facts()


# %% test="extract" points=4
check = Check("extract", points=4)
numbers = torch.tensor([[0.0, 90.0], [1.0, 0.0], [3.0, 2.0], [5.0, 10.0]])  # row i is the state of token i


def parts_of(result, count):
    """The result's parts, or the result itself for each where it has not so many."""
    return result if type(result) in (tuple, list) and len(result) == count else [result] * count


def batch_of(rows, mask, labels):
    return {"input_ids": torch.tensor(rows), "attention_mask": torch.tensor(mask), "labels": torch.tensor(labels)}


with check.idea("pooled states of all batches"):
    plain_batches = [batch_of([[1, 2], [2, 3]], [[1, 1], [1, 1]], [1, 0]), batch_of([[3]], [[1]], [1])]
    found, known = parts_of(check.run(toy_features, numbers, plain_batches), 2)
    known = known if type(known) is dict else {}
    features, marks = parts_of(found, 2)
    joined = "three sentences in two batches, width 2: return features and labels, the batches joined along the first axis"
    features = check.shape(features, (3, 2), joined)
    once = features / 2 if known.get("called_in_training") else features  # in training mode this encoder doubles its output
    states = "tokens 1 and 2 have the states (1, 0) and (3, 2): this encoder gives three times their mean, (6, 3)"
    check.close(once, [[6.0, 3.0], [12.0, 18.0], [15.0, 30.0]], states)
    ### BEGIN HIDDEN TESTS
    rows_of_states = randn(9, 5)
    found, facts = parts_of(
        check.run(toy_features, rows_of_states, [batch_of([[n, n + 1, n + 2]], [[1, 1, 1]], [n % 2]) for n in range(6)]), 2
    )
    facts = facts if type(facts) is dict else {}
    more = check.shape(parts_of(found, 2)[0], (6, 5), "six sentences in six batches, width 5: join the batches along the first axis")
    means = torch.stack([rows_of_states[n : n + 3].mean(0) for n in range(6)])
    check.close(
        more / 2 if facts.get("called_in_training") else more,
        3 * means,
        "the features of six other sentences are not the pooled hidden states, in the order of the batches",
    )
    ### END HIDDEN TESTS
with check.part("labels"):
    check.equal(marks, [1, 0, 1], "the labels of all batches, joined in the same order")
with check.part("evaluation mode"):
    mode = "the encoder is in training mode: call encoder.eval() first. In training mode this encoder doubles its output"
    check.close(features, [[6.0, 3.0], [12.0, 18.0], [15.0, 30.0]], mode, wrong={mode: 2 * torch.tensor([[6.0, 3], [12, 18], [15, 30]])})
    ### BEGIN HIDDEN TESTS
    check.equal(
        known.get("called_in_training", known), False, "the encoder was called in training mode: call encoder.eval() before the loop"
    )
    ### END HIDDEN TESTS
with check.part("attention mask"):
    padded = check.run(toy_features, numbers, [batch_of([[1, 2, 0], [1, 2, 3]], [[1, 1, 0], [1, 1, 1]], [1, 0])])
    hidden = parts_of(parts_of(padded, 2)[0], 2)[0]
    filler = "token 0 is filler here, and changes the features: pass the mask to the encoder and to the pooling"
    check.close(hidden[0] / 2 if known.get("called_in_training") else hidden[0], [6.0, 3.0], filler)
    ### BEGIN HIDDEN TESTS
    found, facts = parts_of(check.run(toy_features, rows_of_states, [batch_of([[1, 2, 0], [3, 4, 0]], [[1, 1, 0], [1, 1, 0]], [1, 0])]), 2)
    twice = 2 if (facts if type(facts) is dict else {}).get("called_in_training") else 1
    real = torch.stack([rows_of_states[1:3].mean(0), rows_of_states[3:5].mean(0)])
    check.close(
        parts_of(found, 2)[0] / twice,
        3 * real,
        "with filler in the batch the features are wrong",
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("no gradients"):
    check.equal(
        known.get("gradients_recorded", known), False, "gradients were recorded: put the calls of the encoder under torch.no_grad()"
    )
with check.edge("one call for each batch"):
    check.equal(known.get("calls", known), 2, "the encoder is called once for each batch: features are computed once")
with check.edge("batches that come once"):
    from_once = check.run(toy_features, rows_of_states, check.keep(adapters.once, [batch_of([[n]], [[1]], [n % 2]) for n in (3, 1, 2)]))
    one_pass = "batches that come once, as a loader's do, give another result: go through them a single time"
    once_only = parts_of(parts_of(from_once, 2)[0], 2)[0]
    check.close(once_only / (2 if known.get("called_in_training") else 1), 3 * rows_of_states[[3, 1, 2]], one_pass)
with check.edge("the encoder may learn afterwards"):
    learner = check.keep(ToyEncoder, numbers)
    fed = check.run(extract, learner, plain_batches)
    still_free = "the encoder's weights are frozen afterwards: `torch.no_grad()` is enough, leave `requires_grad` alone"
    check.equal(fed if type(fed) is Failed else check.measure(checks.value, check.keep(models.parameters, learner)), 8, still_free)
with check.edge("tensors"):
    kinds = check.run(lambda: [type(part).__name__ for part in toy_features(numbers, plain_batches)[0]])
    check.equal(kinds, ["Tensor", "Tensor"], "features and labels are tensors: the head computes with them")
with check.edge("stays in evaluation mode"):
    calm = check.keep(ToyEncoder, numbers)
    check.run(lambda: bool(calm.train(False).facts()))
    check.run(extract, calm, plain_batches)
    stays = "an encoder that was in evaluation mode comes back in training mode: do not call encoder.train()"
    check.equal(check.run(lambda: calm.facts()["training"]), False, stays)
with check.edge("whole labels, one sentence"):
    single = parts_of(parts_of(check.run(toy_features, numbers, plain_batches[1:]), 2)[0], 2)
    check.shape(single[0], (1, 2), "a single batch with a single sentence")
    check.equal(str(single[1].dtype) if type(single[1]) is torch.Tensor else single[1], "torch.int64", "labels stay int64")
### END HIDDEN TESTS
check.score()

# %% look=true
place = device()
encoder = AutoModel.from_pretrained(MODEL).to(place)
seed(0)


def features_of(dataset):
    """Features and labels in the order of the data set. Sorted by length for speed, then put back in order."""
    order = sorted(range(len(dataset)), key=lambda i: len(dataset[i]["input_ids"]))
    batches = [order[i : i + 32] for i in range(0, len(order), 32)]
    loader = pretrained.Moved(DataLoader(dataset, batch_sampler=batches, collate_fn=partial(collate, pad_id=PAD)), place)
    features, labels = extract(encoder, training.progress(loader, "features", total=len(batches)))
    back = torch.tensor(order[: len(features)]).argsort()  # fewer, if the cell was interrupted
    return features.cpu()[back], labels.cpu()[back]


train_features, train_labels = features_of(train_set)
validation_features, validation_labels = features_of(validation_set)
print("training features", tuple(train_features.shape), "labels", tuple(train_labels.shape))

# %% [markdown]
# ### 3.3 A logistic head, by hand <small>★★☆ · 20 min · 4 points</small>
# The head gives sentence $n$ with the features $f_n \in \mathbb{R}^D$ the score $z_n = w \cdot f_n + b$ and the probability $p_n = 1 / (1 + e^{-z_n})$ of being positive.
# With labels $y_n \in \{0, 1\}$ and a little weight decay $\lambda$ the loss is
#
# $$ J(w, b) = \frac1N \sum_n \Bigl( \log\bigl(1 + e^{z_n}\bigr) - y_n z_n \Bigr) + \frac{\lambda}{2} \lVert w \rVert^2 . $$
#
# (Check on paper that the bracket is $-\log p_n$ for $y_n = 1$ and $-\log(1 - p_n)$ for $y_n = 0$.)
# Derive $\partial J / \partial w$ and $\partial J / \partial b$.
# Start with the derivative of the bracket with respect to $z_n$: it is short.
# Return $J$ and the two gradients, without autograd.
# For large $z$ the number $e^z$ overflows: `F.softplus(z)` computes $\log(1 + e^z)$ without overflow.


# %% exercise="head"
def head_gradient(features, labels, w, b, decay):
    """J and its gradients by w and b, for features (N, D), labels (N,) of 0.0 and 1.0, weights w (D,), a number b."""
    ### BEGIN SOLUTION
    z = features @ w + b  # (N,)
    residual = torch.sigmoid(z) - labels  # the derivative of the bracket by z
    loss = (F.softplus(z) - labels * z).mean() + decay / 2 * w @ w
    return loss, features.T @ residual / len(labels) + decay * w, residual.mean()
    ### END SOLUTION


# %% test="head" points=4
check = Check("head", points=4)


def answer_of(result, place):
    return result[place] if type(result) in (tuple, list) and len(result) == 3 else result


with check.idea("the loss and its gradients"):
    given = (torch.tensor([[2.0], [4.0]]), torch.tensor([1.0, 0.0]), torch.zeros(1), torch.tensor(0.0), 0.0)
    even = check.run(head_gradient, *given)
    triple = type(even) in (tuple, list) and len(even) == 3 if even is None or even else even
    check.true(triple, "three things come back: the loss, its gradient by w, its gradient by b")
    check.close(answer_of(even, 0), 0.693147, "w = 0 and b = 0 give every sentence p = 1/2, and the loss log 2", rtol=1e-5)
    check.close(answer_of(even, 1), [0.5], "features 2 and 4, residuals −½ and ½ (w = b = 0): the mean of their products is ½")
    own = "derive the gradients on paper: do not let autograd do it"
    bans = ("backward", "autograd", "requires_grad_", "vmap", "jacrev", "jacfwd", "jvp", "vjp")
    check.avoids(head_gradient, *bans, hint=own, forbid=["autograd"], runs=lambda: head_gradient(*given))
    two = check.run(head_gradient, given[0], torch.zeros(2), *given[2:])
    check.close(answer_of(two, 2), 0.5, "two sentences with the label 0, w = b = 0: the mean of the residuals is ½")
    ### BEGIN HIDDEN TESTS
    double = {"dtype": torch.float64}
    X, truth, w, bias = randn(6, 4, **double), torch.tensor([1.0, 0, 1, 1, 0, 0], **double), randn(4, **double), torch.tensor(0.3, **double)

    def objective(weights, shift, strength):
        score = X @ weights + shift
        return -(truth * F.logsigmoid(score) + (1 - truth) * F.logsigmoid(-score)).mean() + strength / 2 * weights @ weights

    p_minus_y = torch.sigmoid(X @ w + bias) - truth
    bare, decayed = (check.run(head_gradient, X, truth, w, bias, strength) for strength in (0.0, 0.1))
    check.close(
        answer_of(bare, 0),
        objective(w, bias, 0.0),
        "the loss is wrong for six other sentences",
        rtol=1e-4,
    )
    check.shape(
        answer_of(bare, 1), (4,), "the gradient by w has one entry per feature: residuals times features, summed over the sentences"
    )
    check.derivative(
        answer_of(check.run(head_gradient, X, truth, w, bias, 0.0, forbid=["autograd"]), 1),
        lambda v: objective(v, bias, 0.0),
        w,
        "the gradient by w differs from a finite difference: what is the derivative of the bracket by z, and of z by w?",
    )
    check.derivative(
        answer_of(check.run(head_gradient, X, truth, w, bias, 0.0, forbid=["autograd"]), 2),
        lambda v: objective(w, v, 0.0),
        bias,
        "the gradient by b differs from a finite difference",
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("decay in the loss"):
    check.close(
        answer_of(decayed, 0) - answer_of(bare, 0),
        0.05 * w @ w,
        "the loss grows by λ/2 ‖w‖² where there is weight decay",
        rtol=1e-4,
    )
with check.edge("all digits of float64"):
    digits = "with float64 features digits are lost: keep their dtype"
    check.close(answer_of(bare, 0), objective(w, bias, 0.0), digits)
with check.edge("large scores"):
    far = check.run(head_gradient, torch.tensor([[200.0], [-200.0]]), torch.tensor([0.0, 0.0]), torch.ones(1), torch.tensor(0.0), 0.0)
    overflow = "scores of ±200 overflow or lose the loss: use `F.softplus`, or `F.binary_cross_entropy_with_logits`"
    check.close(answer_of(far, 0), 100.0, overflow)
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(head_gradient, randn(5, 3), torch.ones(5), randn(3), torch.tensor(0.5), 3.0)
### BEGIN HIDDEN TESTS
with check.part("decay in the gradient"):
    check.close(
        answer_of(decayed, 1) - answer_of(bare, 1),
        0.1 * w,
        "with weight decay the gradient by w grows by λ w",
        rtol=1e-4,
        atol=1e-5,
    )
with check.edge("all digits of the gradient"):
    check.close(answer_of(bare, 1), X.T @ p_minus_y / 6, digits)
with check.edge("large scores in the gradient"):
    check.close(answer_of(far, 1), [100.0], "scores of ±200 spoil the gradient: use `torch.sigmoid`")
with check.edge("one sentence"):
    lonely = check.run(head_gradient, X[:1], truth[:1], w, bias, 0.0)
    check.close(answer_of(lonely, 1), (torch.sigmoid(X[0] @ w + bias) - 1) * X[0], "one sentence: the gradient by w is (p − y) f")
### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("the bias is not decayed"):
    plain_bias = "the bias is not decayed: λ belongs to w alone"
    check.close(answer_of(decayed, 2), p_minus_y.mean(), plain_bias, rtol=1e-4)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# Now fit the head with your gradients.
# L-BFGS is a method for smooth problems of this size: it needs a loss and its gradient, and a few dozen evaluations.
# The features are scaled to mean 0 and standard deviation 1 with the statistics of the *training* set: whatever is applied to the validation set must come from the training set alone.

# %% look=true
centre, spread = train_features.mean(0), train_features.std(0) + 1e-6


def fit_head(features, labels, decay):
    """Weights and bias of a logistic head, by L-BFGS with your gradients."""
    w, b = torch.zeros(features.shape[1]), torch.zeros(())
    optimizer = torch.optim.LBFGS([w, b], max_iter=100, line_search_fn="strong_wolfe")

    def closure():
        loss, w.grad, b.grad = head_gradient(features, labels.float(), w, b, decay)
        return loss

    optimizer.step(closure)
    return w, b


def head_predictions(features, w, b):
    return (((features - centre) / spread) @ w + b > 0).long()


heads = {}
for decay in (0.001, 0.01, 0.1, 1.0):
    w_head, b_head = fit_head((train_features - centre) / spread, train_labels, decay)
    shares = [
        (head_predictions(f, w_head, b_head) == y).float().mean().item()
        for f, y in ((train_features, train_labels), (validation_features, validation_labels))
    ]
    heads[decay] = (shares[1], w_head, b_head)
    print(f"decay {decay:<6} training accuracy {shares[0]:.3f}   validation accuracy {shares[1]:.3f}")
frozen_accuracy, w_frozen, b_frozen = max(heads.values(), key=lambda entry: entry[0])
print(f"frozen features and a logistic head: {frozen_accuracy:.3f} on the validation set")

# %% [markdown]
# ## 4 Fine-tuning: let it learn
#
# Now the encoder learns, too.
# `AutoModelForSequenceClassification` puts a new, random head on the pretrained encoder.
# (The library warns that some weights are newly initialised. Here it is kept quiet, but the warning is right: before training, this model guesses.)
#
# ### 4.1 Not all weights are alike <small>★★☆ · 15 min · 4 points</small>
# Fine-tuning needs small steps: large ones would wipe out what the encoder knows.
# But the head starts from noise and has a long way to go.
# So each weight gets its own rate and its own decay, made from the base rate $\eta$ and the decay $\lambda$:
#
# - The embeddings are frozen, all of them: they get no entry.
# - The head learns `head_factor` times as fast as the rest of the model.
# - Decay pulls a weight towards 0. That is useful for a matrix, but not for a bias or the gain of a norm: these get a decay of 0.
#
# All you have is *names*.
# A name is the path through the model's modules, with dots between them: `bert.embeddings.LayerNorm.weight` is the gain of the norm inside the module `embeddings`.
# The head is the module `classifier` at the top level of the model, with all that it contains; in some models that is several layers.
# In this library the name of a bias ends with `bias`, and the names of a norm's weights contain `LayerNorm`.
#
# The frozen embeddings hold more than half of MiniLM's parameters (they are only looked up, so the backward pass ends above them).
# Shrinking gains and biases has no use: they do not overfit, and a gain of 0 switches a channel off.


# %% exercise="groups"
def parameter_settings(names, rate, decay, head_factor=10.0):
    """Rate and decay of each trained weight: {name: {"lr": …, "weight_decay": …}}. Frozen weights are left out."""
    ### BEGIN SOLUTION
    settings = {}
    for name in names:
        if "embeddings." in name:
            continue
        plain = name.endswith("bias") or "LayerNorm" in name
        lr = head_factor * rate if name.startswith("classifier.") else rate
        settings[name] = {"lr": lr, "weight_decay": 0.0 if plain else decay}
    return settings
    ### END SOLUTION


# %% test="groups" points=4
check = Check("groups", points=4)
some_names = ["bert.embeddings.word_embeddings.weight", "bert.embeddings.LayerNorm.weight"]
some_names += ["bert.encoder.layer.0.attention.self.query.weight", "bert.encoder.layer.0.attention.self.query.bias"]
some_names += ["bert.encoder.layer.0.output.LayerNorm.weight", "bert.pooler.dense.weight", "classifier.weight", "classifier.bias"]


def column(settings, names, key):
    """One number per name; where there is none, a Failed that says so."""
    if type(settings) is not dict:
        return settings
    unfit = [n for n in names if type(settings.get(n)) is not dict or key not in settings[n]]
    wanted = 'every name gets a dictionary {"lr": …, "weight_decay": …}'
    return Failed(f"{wanted}: {unfit[0]} has no `{key}`", wanted) if unfit else [settings[n][key] for n in names]


with check.idea("rates of encoder and head"):
    given = check.run(parameter_settings, some_names, 1e-4, 0.01)
    ten = "the encoder learns with the base rate, the head with ten times that"
    check.close(column(given, some_names[2:], "lr"), [1e-4, 1e-4, 1e-4, 1e-4, 1e-3, 1e-3], ten, rtol=1e-6)
    ### BEGIN HIDDEN TESTS
    roberta = ["roberta.embeddings.position_embeddings.weight", "roberta.encoder.layer.11.attention.output.LayerNorm.bias"]
    roberta += ["roberta.encoder.layer.11.intermediate.dense.weight", "roberta.pooler.dense.bias", "classifier.dense.weight"]
    roberta += ["classifier.dense.bias", "classifier.LayerNorm.weight", "classifier.weight"]
    other = check.run(parameter_settings, roberta, 2e-5, 0.1, 5.0)
    check.close(
        column(other, roberta[1:], "lr"),
        [2e-5] * 3 + [1e-4] * 4,
        "with RoBERTa's names, another rate and another head_factor the learning rates are wrong",
        rtol=1e-6,
    )
    ### END HIDDEN TESTS
with check.part("embeddings frozen"):
    left_out = "every name but those with `embeddings.` is there: frozen weights are left out"
    frozen_slips = {"the embeddings must be left out: they are frozen": sorted(some_names)}
    frozen_slips["all of the embeddings are frozen, their LayerNorm included"] = sorted(some_names[1:])
    check.equal(sorted(given) if type(given) is dict else given, sorted(some_names[2:]), left_out, wrong=frozen_slips)
    ### BEGIN HIDDEN TESTS
    robertas = "RoBERTa's names: some are missing, or its embeddings are there. Go by the rules of the text, not by this one model"
    check.equal(sorted(other) if type(other) is dict else other, sorted(roberta[1:]), robertas)
    ### END HIDDEN TESTS
with check.part("weight decay of matrices"):
    gains = "matrices are decayed, biases and LayerNorm gains are not"
    check.close(column(given, some_names[2:], "weight_decay"), [0.01, 0.0, 0.0, 0.01, 0.01, 0.0], gains, rtol=1e-6)
    ### BEGIN HIDDEN TESTS
    more = [*roberta[1:], "roberta.encoder.layer.3.output.LayerNorm.weight"]
    check.close(
        column(check.run(parameter_settings, more, 2e-5, 0.1, 5.0), more, "weight_decay"),
        [0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0],
        "with RoBERTa's names and another decay the decays are wrong: names that end with `bias` or contain `LayerNorm` get 0",
        rtol=1e-6,
    )
    ### END HIDDEN TESTS
with check.edge("names unchanged"):
    check.unchanged(parameter_settings, some_names, 1e-4, 0.01)
### BEGIN HIDDEN TESTS
with check.edge("names that start alike"):
    alike = check.run(parameter_settings, ["old.classifier.weight", "classifier_norm.weight"], 1.0, 0.5, 4.0)
    starts = "the head's names *start* with `classifier.`, the dot included: `old.classifier.weight` and `classifier_norm.weight` do not"
    check.close(column(alike, ["old.classifier.weight", "classifier_norm.weight"], "lr"), [1.0, 1.0], starts)
with check.edge("embeddings without a dot"):
    scale_name = "layer.0.embeddings_scale.weight"
    kept_name = check.run(parameter_settings, [scale_name], 1.0, 0.5, 4.0)
    check.equal(
        sorted(kept_name) if type(kept_name) is dict else kept_name,
        [scale_name],
        "`embeddings.` has a dot: `embeddings_scale` is a different name",
    )
with check.edge("names that contain bias"):
    ends = ["t5.relative_attention_bias.weight", "layer.0.out_bias"]
    placed = check.run(parameter_settings, ends, 1.0, 0.5, 4.0)
    letter = "a name must *end* with `bias`: `relative_attention_bias.weight` is a matrix, and `out_bias` is a bias without any dot"
    check.close(column(placed, ends, "weight_decay"), [0.5, 0.0], letter)
with check.edge("a factor of one"):
    alone = check.run(parameter_settings, ["classifier.weight"], 1.0, 0.5, 1.0)
    check.equal(alone, {"classifier.weight": {"lr": 1.0, "weight_decay": 0.5}}, "with head_factor 1 the head learns with the base rate")
### END HIDDEN TESTS
check.score()


# %% look=true
def fresh_model(start=0):
    """The pretrained encoder with a new head, whose random weights depend on `start` alone."""
    seed(start)
    return AutoModelForSequenceClassification.from_pretrained(MODEL, num_labels=2).to(place)


def grouped(model, rate, decay=0.01, head_factor=10.0):
    """Parameter groups for an optimiser, by your settings; what has none is frozen."""
    settings = parameter_settings([name for name, _ in model.named_parameters()], rate, decay, head_factor)
    groups = {}
    for name, weight in model.named_parameters():
        weight.requires_grad_(name in settings)
        if name in settings:
            key = tuple(settings[name].values())
            groups.setdefault(key, {"params": [], **settings[name]})["params"].append(weight)
    return list(groups.values())


model = fresh_model()
for group in grouped(model, rate=1e-4):
    print(
        f"rate {group['lr']:.0e}  decay {group['weight_decay']:<5}  {len(group['params']):3d} tensors, "
        f"{sum(p.numel() for p in group['params']):>11,} numbers"
    )
frozen = sum(p.numel() for p in model.parameters() if not p.requires_grad)
print(f"frozen                   {frozen:>23,} numbers, {frozen / sum(p.numel() for p in model.parameters()):.0%} of the model")

# %% [markdown]
# ### 4.2 What three calls do <small>★☆☆ · 10 min · 2 points</small>
# Every training loop has the same three calls, and it pays to know exactly what each one changes.
# Take a model with one weight $w$, the loss $\tfrac12 (w - c)^2$, and plain gradient descent with the rate $\eta$:
#
# - `zero_grad` sets the stored gradient $g$ to 0;
# - `backward` computes the gradient at the current $w$, which is $w - c$, and **adds** it to $g$;
# - `step` sets $w \leftarrow w - \eta\, g$.
#   It does not touch $g$.
#
# Play computer: go through a list of calls and return $w$ and $g$ at the end.
# At the start $g = 0$.
# *Before you run it:* where does `["backward", "step", "backward", "step"]` lead from $w = 1$, with $c = 0$ and $\eta = 1$?
# And with `zero_grad` in between?


# %% exercise="calls"
def after_calls(calls, w, c, rate):
    """Weight and stored gradient, (w, g), after a list of calls "zero_grad", "backward" and "step"; g starts at 0."""
    ### BEGIN SOLUTION
    g = 0.0
    for call in calls:
        if call == "zero_grad":
            g = 0.0
        elif call == "backward":
            g = g + (w - c)
        else:
            w = w - rate * g
    return w, g
    ### END SOLUTION


# %% test="calls" points=2
check = Check("calls", points=2)
with check.idea("backward adds, step moves"):
    stays = "backward changes the gradient, not the weight: w stays 3, and g is 3 − 1"
    check.close(check.run(after_calls, ["backward"], 3.0, 1.0, 0.5), [3.0, 2.0], stays)
    moves = "step moves the weight by −η g and leaves the gradient unchanged"
    check.close(check.run(after_calls, ["backward", "step"], 3.0, 1.0, 0.5), [2.0, 2.0], moves)
    adds = "without zero_grad the second step uses the sum of both gradients: 1 after the first backward, 1 + 0 after the second"
    check.close(check.run(after_calls, ["backward", "step", "backward", "step"], 1.0, 0.0, 1.0), [-1.0, 1.0], adds)
    ### BEGIN HIDDEN TESTS
    program = ["backward", "step", "backward", "backward", "step", "step", "backward", "step"]

    def played(clears=False, sign=-1.0, eta=0.3, replaces=False, first=False):
        weight, gradient = 2.0, 0.0
        for call in program:
            if call == "backward":
                gradient = (0.0 if replaces else gradient) + ((2.0 if first else weight) + 1.0)
            else:
                weight, gradient = weight + sign * eta * gradient, 0.0 if clears else gradient
        return [weight, gradient]

    check.close(
        check.run(after_calls, program, 2.0, -1.0, 0.3),
        played(),
        "a longer list of calls ends elsewhere: two backwards in a row add up, two steps use the same gradient",
    )
    ### END HIDDEN TESTS
with check.part("zero_grad"):
    clears = "with zero_grad in between only the second gradient counts: at w = 0 it is 0"
    check.close(check.run(after_calls, ["backward", "step", "zero_grad", "backward", "step"], 1.0, 0.0, 1.0), [0.0, 0.0], clears)
    ### BEGIN HIDDEN TESTS
    longer = ["backward", "backward", "step", "step", "backward", "zero_grad", "step", "backward", "step", "zero_grad"]
    nothing = "a step after zero_grad does nothing, and the last zero_grad leaves g = 0"
    check.close(check.run(after_calls, longer, 2.0, -1.0, 0.1), [0.62, 0.0], nothing)
    ### END HIDDEN TESTS
with check.edge("calls unchanged"):
    check.unchanged(after_calls, ["backward", "step", "zero_grad"], 3.0, 1.0, 0.5)
### BEGIN HIDDEN TESTS
with check.edge("all digits"):
    fine = check.run(after_calls, ["backward", "step", "backward"], 1.2345678, 0.1234567, 0.0123456)
    check.close(fine, [1.22085046680384, 2.20850486680384], "the numbers are rounded: return all digits", rtol=1e-8)
with check.edge("nothing to do"):
    check.close(check.run(after_calls, [], 2.0, -1.0, 0.1), [2.0, 0.0], "without any call nothing changes")
    early = "a step before any backward does nothing: the gradient is 0"
    check.close(check.run(after_calls, ["step", "zero_grad"], 2.0, -1.0, 0.1), [2.0, 0.0], early)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.3 One epoch <small>★★☆ · 20 min · 5 points</small>
# Write the loop.
# The model is in training mode.
# For each batch: `model(**batch)` gives `.loss` (because the batch has `labels`) and `.logits`; clear the old gradients; backward; clip the gradients' common norm to `clip` (`nn.utils.clip_grad_norm_`); step.
# If there is a scheduler, call its `step()` after the optimiser's: it sets the next learning rate.
# Return the losses, one float per batch.


# %% exercise="epoch"
def train_epoch(model, batches, optimizer, scheduler=None, clip=1.0):
    """One pass over the batches (dicts with input_ids, attention_mask, labels). Returns the list of losses, floats."""
    ### BEGIN SOLUTION
    model.train()
    losses = []
    for batch in batches:
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        losses.append(loss.item())
    return losses
    ### END SOLUTION


def toy_epoch(table, batches, name="SGD", clip=1.0, falling=False):  # given: your loop on a model of a few weights
    toy = ToyClassifier(table).eval()
    stepper = toy.optimizer(name, 0.7)
    losses = train_epoch(toy, batches, stepper, toy.schedule(stepper) if falling else None, clip)
    return {"losses": losses, "weights": toy.weights(), "training": toy.facts()["training"]}


# %% test="epoch" points=5
check = Check("epoch", points=5)
weights_before = 3 * randn(7, 2, dtype=torch.float64)
five_batches = [
    {"input_ids": randint(0, 7, (3, 4)), "attention_mask": torch.ones(3, 4).long(), "labels": randint(0, 2, (3,))} for step in range(5)
]
names = ["losses", "weights", "training"]


def trained_by(*arguments):
    result = check.run(toy_epoch, weights_before, *arguments)
    return result if type(result) is dict else dict.fromkeys(names, result)


with check.idea("clear, backward, step"):
    did = trained_by(five_batches, "SGD", 1e9)  # nothing is clipped here
    calm = pretrained.calm(did, weights_before, five_batches)  # the mode is a part of its own
    again = partial(
        pretrained.toy_outcome, weights_before, five_batches, limit=None, calm=calm
    )  # a loop of the helpers, right or with one slip
    start = torch.cat([weights_before.flatten(), torch.zeros(2)])
    learned = "nothing was learned: is optimizer.step() called after backward, and zero_grad() before it, not in between?"
    check.true((did["weights"] != start).any(), learned)
    loop = "after five batches the weights are not those of a plain loop: check the order of zero_grad, backward and step"
    check.close(did["weights"], again()[1], loop, rtol=1e-7)
    ### BEGIN HIDDEN TESTS
    check.close(
        did["weights"],
        again()[1],
        "the weights after five batches are wrong",
        rtol=1e-7,
    )
    adam = trained_by(five_batches, "AdamW", 1e9)["weights"]
    given_one = "with AdamW the weights are wrong: use the optimiser that is given"
    check.close(adam, again(name="AdamW")[1], given_one, rtol=1e-7)
    ### END HIDDEN TESTS
with check.part("training mode"):
    halved = "the model must be in training mode: call model.train() before the loop"
    check.equal(did["training"], True, halved)
    untrained = pretrained.toy_outcome(weights_before, five_batches, limit=None)[1]
    check.close(did["weights"], untrained, "the weights are not those of training mode, where this model halves its logits", rtol=1e-7)
with check.part("clipping"):
    clipped = pretrained.toy_outcome(weights_before, five_batches, limit=0.3, calm=calm)[1]
    norm = "with clip = 0.3 the weights are wrong: clip the gradients' common norm, after backward and before the step"
    check.close(trained_by(five_batches, "SGD", 0.3)["weights"], clipped, norm, rtol=1e-7)
    ### BEGIN HIDDEN TESTS
    check.close(
        trained_by(five_batches, "SGD", 0.1)["weights"],
        pretrained.toy_outcome(weights_before, five_batches, limit=0.1, calm=calm)[1],
        "with clip = 0.1 the weights are wrong",
        rtol=1e-7,
    )
    ### END HIDDEN TESTS
with check.part("losses"):
    expected = again()[0]
    check.close(did["losses"], expected, "a list with one loss per batch, each that of the batch before its step", rtol=1e-6)
    ### BEGIN HIDDEN TESTS
    check.equal(len(did["losses"]) if type(did["losses"]) is list else did["losses"], 5, "one loss for each of the five batches")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("the attention mask"):
    masked = [{**batch, "attention_mask": (torch.arange(4) < torch.tensor([4, 2, 3])[:, None]).long()} for batch in five_batches]
    hidden = partial(pretrained.toy_outcome, weights_before, masked, limit=None, calm=calm)
    check.close(
        trained_by(masked, "SGD", 1e9)["weights"],
        hidden()[1],
        "with filler in the batches the weights are wrong: call model(**batch)",
        rtol=1e-7,
    )
with check.part("scheduler"):
    check.close(
        trained_by(five_batches, "SGD", 1e9, True)["weights"],
        again(falling=1)[1],
        "with a scheduler the weights are wrong: its step() follows the optimiser's, once per batch",
        rtol=1e-7,
    )
with check.edge("batches that come once"):
    one_pass = "batches that come once, as a loader's do, give another result: go through them a single time"
    check.close(trained_by(check.keep(adapters.once, five_batches), "SGD", 1e9)["weights"], again()[1], one_pass, rtol=1e-7)
with check.edge("plain floats"):
    floats = [type(v) is float for v in did["losses"]] if type(did["losses"]) in (list, tuple) else did["losses"]
    check.equal(floats, [True] * 5, "each loss is a Python float (`.item()`): a tensor would keep its whole graph alive")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.4 Evaluation <small>★★☆ · 15 min · 5 points</small>
# Return the mean loss and the accuracy over all sentences.
# There are three rules, and breaking any one gives a number that looks fine:
#
# - evaluation mode inside, and **the mode you found** afterwards;
# - no gradients;
# - every *sentence* counts the same, so that a small last batch counts less than a full one.


# %% exercise="evaluate"
def evaluate(model, batches):
    """(loss, accuracy), two floats: means over all sentences, in evaluation mode; the model's mode is restored."""
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    loss, correct, count = 0.0, 0, 0
    with torch.no_grad():
        for batch in batches:
            out = model(**batch)
            n = len(batch["labels"])
            loss += out.loss.item() * n
            correct += (out.logits.argmax(dim=1) == batch["labels"]).sum().item()
            count += n
    model.train(was_training)
    return loss / count, correct / count
    ### END SOLUTION


def toy_evaluation(table, batches, training=True):  # given: your function on a model of a few weights
    toy = ToyClassifier(table).train(training)
    return evaluate(toy, batches), toy.facts()


# %% test="evaluate" points=5
check = Check("evaluate", points=5)
scores = 2 * randn(6, 2)
many = [(randint(0, 6, (n, 3)), (torch.arange(3) < randint(1, 4, (n, 1))).long(), randint(0, 2, (n,))) for n in (4, 4, 4, 3, 1)]
given_batches = [{"input_ids": ids, "attention_mask": mask, "labels": labels} for ids, mask, labels in many]


def both(result):
    """Two parts, or the result itself for each where it has not two."""
    return result if type(result) in (tuple, list) and len(result) == 2 else [result] * 2


def evaluated(some, *mode):
    """Loss, accuracy, and what the model noticed."""
    value, facts = both(check.run(toy_evaluation, scores, some, *mode))
    return (
        *both(value),
        facts if type(facts) is dict else dict.fromkeys(["training", "gradients_recorded", "calls", "called_in_training"], facts),
    )


def by_hand(batch, half=False, use_mask=True):
    mask = batch["attention_mask"].float() if use_mask else torch.ones(batch["input_ids"].shape)
    logits = (scores[batch["input_ids"]] * mask[..., None]).sum(1) / mask.sum(1, keepdim=True) / (2 if half else 1)
    return F.cross_entropy(logits, batch["labels"], reduction="none"), (logits.argmax(1) == batch["labels"]).float()


def joined(k, some, **options):
    return torch.cat([by_hand(batch, **options)[k] for batch in some])


even = given_batches[:3]
loss_value, accuracy_value, noted = evaluated(even)
halved = noted["called_in_training"] is True  # in training mode this model halves its logits: a part of its own
with check.idea("loss and accuracy"):
    twelve = "the mean loss over twelve sentences in three batches is wrong. Two numbers come back: the loss, then the accuracy"
    check.close(loss_value, joined(0, even, half=halved).mean(), twelve, rtol=1e-4)
    right_share = (
        "the accuracy over twelve sentences in three batches is wrong: the share of sentences whose larger logit is that of the label"
    )
    check.close(accuracy_value, joined(1, even).mean(), right_share, rtol=1e-4)
    ### BEGIN HIDDEN TESTS
    larger = [
        {"input_ids": randint(0, 6, (n, 3)), "attention_mask": torch.ones(n, 3).long(), "labels": randint(0, 2, (n,))} for n in (31, 31, 31)
    ]
    check.close(
        evaluated(larger)[1],
        joined(1, larger).mean(),
        "the accuracy over 93 sentences in three batches is wrong",
        rtol=1e-4,
    )
    ### END HIDDEN TESTS
with check.part("every sentence counts the same"):
    uneven = given_batches[2:]
    means = torch.stack([by_hand(batch, half=halved)[0].mean() for batch in uneven])
    counts = "batches of 4, 3 and 1 sentences: the mean loss over all eight is wrong"
    slip = {"this is the mean of the batches' means: weight each batch by its number of sentences": means.mean()}
    check.close(evaluated(uneven)[0], joined(0, uneven, half=halved).mean(), counts, rtol=1e-4, wrong=slip)
with check.part("evaluation mode"):
    mode = "the model is in training mode: call model.eval() first. In training mode this model halves its logits"
    check.close(loss_value, joined(0, even).mean(), mode, rtol=1e-4)
with check.part("mode restored"):
    check.equal(noted["training"], True, "the model was in training mode before, and must be back in it afterwards")
    ### BEGIN HIDDEN TESTS
    stays = "a model that was in evaluation mode before must stay in it: do not call model.train() unconditionally"
    check.equal(evaluated(even, False)[2]["training"], False, stays)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("no gradients"):
    check.equal(noted["gradients_recorded"], False, "gradients were recorded: put the forward passes under torch.no_grad()")
with check.edge("one pass"):
    check.equal(noted["calls"], 3, "one forward pass per batch is enough: loss and logits come from the same call")
with check.edge("plain floats"):
    kinds = [type(loss_value) is float, type(accuracy_value) in (float, int)]  # a count of right answers is another mistake
    check.equal(kinds if noted["calls"] == 3 or kinds[0] else loss_value, [True, True], "return two Python floats (`.item()`), not tensors")
### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("small batches count less"):
    check.close(
        evaluated(given_batches)[1],
        joined(1, given_batches).mean(),
        "with batches of 4, 4, 4, 3 and 1 sentences the accuracy is wrong",
        rtol=1e-4,
    )
with check.edge("batches that come once"):
    once = evaluated(check.keep(adapters.once, even))
    one_pass = "batches that come once, as a loader's do, give another result: go through them a single time"
    check.close(both(once[:2]), [joined(0, even, half=halved).mean(), joined(1, even).mean()], one_pass, rtol=1e-4)
with check.edge("one sentence"):
    single = evaluated(given_batches[4:])[1]
    check.close(single, by_hand(given_batches[4])[1].mean(), "a single batch with a single sentence: its accuracy is 0 or 1")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: fine-tune
# One epoch over the training set, in batches of similar length.
# The rate rises over the first tenth of the steps and then falls to 0 along a straight line, as is usual for fine-tuning.
#
# *Before you run it:* will it beat the frozen features?
# What should the loss of the first batches be, for a head that guesses?

# %% look=true
from transformers import get_linear_schedule_with_warmup

validation_batches = pretrained.Moved(make_loader(validation_set, 64, training=False, pad_id=PAD), place)


def fine_tune(dataset, rate, batch_size, epochs, start=0, label="fine-tuning", validate=None):
    """A fresh model, trained: the model, its training losses, and `validate(model)` after every epoch."""
    model = fresh_model(start)
    optimizer = torch.optim.AdamW(grouped(model, rate))
    steps = epochs * math.ceil(len(dataset) / batch_size)
    scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=max(1, steps // 10), num_training_steps=steps + 1)
    losses, history = [], []
    learned = [model, optimizer, scheduler]  # kept when the cell is interrupted, so that it can go on
    name = label or f"trial {start}"
    for epoch in training.Loop(range(epochs), f"{name}, epochs", keep=[*learned, losses, history], bar=False):
        loader = pretrained.Moved(bucket_loader(dataset, batch_size, seed=1000 * start + epoch), place)
        shown = training.Loop(loader, f"{name}, epoch {epoch}", keep=learned, bar=bool(label))
        losses += train_epoch(model, shown, optimizer, scheduler)
        if validate is not None:
            history.append(validate(model))
    return model, losses, history


tuned, tuned_losses, _ = fine_tune(
    train_set, rate=pick(smoke=1e-3, laptop=1e-4, gpu=2e-5), batch_size=B, epochs=pick(smoke=1, laptop=1, gpu=3)
)
tuned_loss, tuned_accuracy = evaluate(tuned, validation_batches)
window = max(1, len(tuned_losses) // 10)
smooth = [sum(tuned_losses[max(0, i - window + 1) : i + 1]) / min(i + 1, window) for i in range(len(tuned_losses))]
picture = plots.curves({"training batches, smoothed": (range(1, len(smooth) + 1), smooth)}, "step", "loss in nats", "Fine-tuning")
picture.axhline(math.log(2), color="0.5", linewidth=1)
picture.annotate("guessing, log 2", (len(smooth), math.log(2)), ha="right", va="bottom", fontsize=9, color="0.35")
plt.show()
print(f"validation accuracy: frozen features {frozen_accuracy:.3f}, fine-tuned {tuned_accuracy:.3f} (loss {tuned_loss:.3f})")

# %% [markdown]
# ### Look: the `Trainer` beside your loop
# Most people who use the library do not write the loop: they pass model, data and arguments to its `Trainer`.
# It is your loop, with logging, checkpoints and support for many devices around it.
# To see that, give both the same batches in the same order, the same optimiser and schedule, and switch off dropout, the one thing left to chance.
# *Before you run it:* which of the arguments below do you recognise from your own loop?

# %% look=true
from transformers import PrinterCallback, Trainer, TrainingArguments

small_set = ReviewDataset(train_rows[: 12 * B // 4], corpus.train.labels[: 12 * B // 4])
small_loader = make_loader(small_set, B // 4, training=False, pad_id=PAD)


def prepared():
    """The same start for both: model without dropout, optimiser, schedule."""
    model = fresh_model()
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    optimizer = torch.optim.AdamW(grouped(model, 1e-4))
    return model, optimizer, get_linear_schedule_with_warmup(optimizer, 2, len(small_loader) + 1)


class InMyOrder(Trainer):
    """The Trainer shuffles by itself; this one takes the batches of your loader."""

    def get_train_dataloader(self):
        return small_loader


def accuracy_of(outcome):
    return {"accuracy": (outcome.predictions.argmax(1) == outcome.label_ids).mean()}


loop_model, loop_optimizer, loop_scheduler = prepared()
loop_losses = train_epoch(loop_model, pretrained.Moved(small_loader, place), loop_optimizer, loop_scheduler)
trainer_model, trainer_optimizer, trainer_scheduler = prepared()
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        num_train_epochs=1,
        max_grad_norm=1.0,  # your `clip`
        per_device_eval_batch_size=64,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    trainer = InMyOrder(
        trainer_model,
        arguments,
        train_dataset=small_set,
        eval_dataset=ReviewDataset(validation_rows[:64], corpus.validation.labels[:64]),
        data_collator=partial(collate, pad_id=PAD),
        compute_metrics=accuracy_of,
        optimizers=(trainer_optimizer, trainer_scheduler),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    report = trainer.evaluate()
trainer_losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
print("your loop  ", [f"{loss:.4f}" for loss in loop_losses])
print("the Trainer", [f"{loss:.4f}" for loss in trainer_losses])
print(
    f"largest difference {max(abs(a - b) for a, b in zip(loop_losses, trainer_losses)):.1e}; "
    f"the Trainer's evaluation: loss {report['eval_loss']:.3f}, accuracy {report['eval_accuracy']:.3f}"
)

# %% [markdown]
# ### 4.5 When to stop <small>★★☆ · 15 min · 3 points</small>
# With few sentences and many epochs a large model learns its training set by heart.
# The training loss keeps falling; the validation loss turns and rises.
# Where the curves separate, generalising ends and memorising begins.
# *Early stopping* keeps the best epoch:
#
# - go through the validation losses epoch by epoch, and remember the lowest one so far (on a tie the earlier epoch stays the best);
# - stop when `patience` epochs in a row have brought no new lowest loss.
#   Do not look at later entries of the list: in a real run they would not have been computed.
#
# Return `(best, last)`: the epoch with the lowest loss, and the last epoch that was run.
# Both are counted from 0.


# %% exercise="early-stopping"
def early_stopping(losses, patience):
    """(best, last), counted from 0: the epoch with the lowest validation loss of those run, and the last epoch run."""
    ### BEGIN SOLUTION
    best = 0
    for epoch, loss in enumerate(losses):
        if loss < losses[best]:
            best = epoch
        if epoch - best >= patience:
            return best, epoch
    return best, len(losses) - 1
    ### END SOLUTION


# %% test="early-stopping" points=3
check = Check("early-stopping", points=3)
with check.idea("the lowest so far, and patience"):
    two = "epoch 1 is the best; epochs 2 and 3 bring nothing better, so with patience 2 epoch 3 is the last"
    check.equal(check.run(early_stopping, [0.6, 0.5, 0.55, 0.6, 0.7, 0.4], 2), (1, 3), two)
    falls = "as long as the loss falls nothing stops: the last epoch is the best"
    check.equal(check.run(early_stopping, [0.6, 0.5, 0.4], 1), (2, 2), falls)
    ### BEGIN HIDDEN TESTS

    below = "a loss below the previous one is not a new best: compare with the lowest so far"
    check.equal(check.run(early_stopping, [0.5, 0.6, 0.55, 0.7, 0.65, 0.8, 0.9, 1.0], 2), (0, 2), below)
    check.equal(
        check.run(early_stopping, [3.0, 2.7, 2.5, 2.4, 2.6, 2.5, 2.9, 2.8, 2.7, 1.0], 4),
        (3, 7),
        "with patience 4 and losses above 1 the epochs are wrong",
    )
    ### END HIDDEN TESTS
with check.part("a new best starts again"):
    in_a_row = "a new best starts the counting again: patience counts epochs *in a row*"
    whole_run = "epochs without a new best are counted over the whole run: a new best sets the count back to 0"
    check.equal(check.run(early_stopping, [0.6, 0.7, 0.5, 0.6, 0.4, 0.5, 0.6], 2), (4, 6), in_a_row, wrong={whole_run: (2, 3)})
    ### BEGIN HIDDEN TESTS
    twice = check.run(early_stopping, [3.0, 2.5, 2.6, 2.4, 2.5, 2.6, 2.7, 1.0], 3)
    check.equal(twice, (3, 6), "two new bests, and a lower loss after the stop: the counting starts again at every new best")
    ### END HIDDEN TESTS
with check.edge("losses unchanged"):
    check.unchanged(early_stopping, [0.6, 0.5, 0.55], 1)
    check.unchanged(early_stopping, [0.6, 0.5, 0.55], 3)
### BEGIN HIDDEN TESTS
with check.part("a little lower"):
    slightly = check.run(early_stopping, [0.5, 0.4999, 0.4998, 0.4997, 0.6, 0.6, 0.6], 2)
    check.equal(slightly, (3, 5), "a loss that is only a little lower than the best is a new best: there is no tolerance")
with check.edge("ties"):
    tie = "an equal loss is not a new best: on a tie the earlier epoch stays"
    check.equal(check.run(early_stopping, [0.5, 0.5, 0.5, 0.4], 2), (0, 2), tie)
with check.edge("short lists"):
    check.equal(check.run(early_stopping, [0.5], 3), (0, 0), "a single epoch is best and last")
    check.equal(check.run(early_stopping, [0.5, 0.6, 0.7], 5), (0, 2), "with more patience than epochs the list ends first")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# *Before you run it:* 200 sentences, epoch after epoch.
# Draw both losses as you expect them.
# What will the validation accuracy do when the validation loss rises?

# %% look=true
overfit_count = pick(smoke=16, laptop=200, gpu=400)
overfit_epochs = pick(smoke=3, laptop=6, gpu=12)
overfit_set = ReviewDataset(train_rows[:overfit_count], corpus.train.labels[:overfit_count])
some_count = pick(smoke=16, laptop=300, gpu=872)
some_validation = pretrained.Moved(
    make_loader(ReviewDataset(validation_rows[:some_count], corpus.validation.labels[:some_count]), 64, training=False, pad_id=PAD), place
)
overfit_model = fresh_model()
overfit_optimizer = torch.optim.AdamW(grouped(overfit_model, pick(smoke=1e-3, laptop=2e-4, gpu=2e-5)))
overfit_train, overfit_history = [], []
overfit_learned = [overfit_model, overfit_optimizer]
for epoch in training.progress(range(overfit_epochs), "by heart", keep=[*overfit_learned, overfit_train, overfit_history]):
    batches = pretrained.Moved(bucket_loader(overfit_set, 16, seed=epoch), place)
    shown = training.Loop(batches, f"by heart, epoch {epoch}", keep=overfit_learned, bar=False)
    epoch_losses = train_epoch(overfit_model, shown, overfit_optimizer)
    overfit_train.append(sum(epoch_losses) / len(epoch_losses))
    overfit_history.append(evaluate(overfit_model, some_validation))
best_epoch, last_epoch = early_stopping([loss for loss, _ in overfit_history], patience=2)
tuning_figures.where_curves_part(overfit_train, [loss for loss, _ in overfit_history], [share for _, share in overfit_history], best_epoch)
plt.show()
print(f"with patience 2: stop after epoch {last_epoch + 1}, keep epoch {best_epoch + 1} (counted from 1, as in the figure)")

# %% [markdown]
# What we saw in three runs with MiniLM:
#
# | quantity | during the run |
# | --- | --- |
# | training loss | fell to about 0.1 or below |
# | validation loss | climbed to between 3 and 4.5 times its lowest value |
# | validation accuracy | wavered between 54 % and 74 % and did not follow the loss (300 sentences: ±5 points) |
#
# The model becomes *sure* of its mistakes, and the loss makes it pay for that.
# If you need probabilities, follow the loss; if you need only the class, the accuracy is what counts, and it is noisy.
# The training loss of an epoch is an average while the model changes; the validation loss is measured at the end of the epoch.
# For the first epoch this alone can put the validation curve below the training curve.

# %% [markdown]
# ### 4.6 A correction of low rank <small>★★☆ · 25 min · 4 points</small>
# Fine-tuning makes a new copy of every weight, for every task.
# LoRA (Hu et al., 2022) leaves a linear layer with the weight $W$ ($n_\text{out} \times n_\text{in}$) and the bias $b$ as it is, and learns a correction beside it:
#
# $$ y = W x + b + \frac{\alpha}{r}\, B A\, x, \qquad A \in \mathbb{R}^{r \times n_\text{in}}, \quad B \in \mathbb{R}^{n_\text{out} \times r} . $$
#
# The matrix $BA$ is as large as $W$, but its rank is at most $r$, and $r$ is small: 4 or 8, where $W$ has hundreds of rows and columns.
# $BAx$ is a sum of $r$ terms, one for each column of $B$ and row of $A$; with the factor $\alpha / r$, a learning rate that suits one $r$ more or less suits another.
#
# - **$B$ starts at zero.**
#   So the first output is the pretrained layer's: training starts from what the model knows, not from noise.
# - **$A$ starts at random**, normal with variance $1 / n_\text{in}$.
#   Then the entries of $Ax$ are about as large as those of $x$.
# - **Merging.**
#   When training is over, the correction can be added to the weight once and for all.
#   One plain linear layer is left, which costs no more than the pretrained one.
#
# Write the module.
# `layer` is the `nn.Linear` to wrap: freeze it, bias included.
# `self.A` and `self.B` are `nn.Parameter`s, with the dtype and on the device of the layer's weight.
# `merge` returns a *new* `nn.Linear`, with a bias if the layer has one, and leaves the adapter and the layer as they were.
# (Whether the weights of the new layer may learn is up to you.)
#
# *Before you run it:* let $g$ be the gradient of the loss with respect to $y$.
# Write down the gradients with respect to $A$ and $B$.
# Which of the two is zero in the first step?
# What if $A$ started at zero, too?
# And what if all rows of $A$ were equal?


# %% exercise="lora"
class LoRALinear(nn.Module):
    """A frozen linear layer plus α/r · B A x. A (r, n_in) starts normal with variance 1/n_in, B (n_out, r) at zero."""

    def __init__(self, layer, r, alpha):
        super().__init__()
        ### BEGIN SOLUTION
        self.layer = layer.requires_grad_(False)
        n_out, n_in = layer.weight.shape
        self.A = nn.Parameter(layer.weight.new_empty(r, n_in).normal_(std=n_in**-0.5))
        self.B = nn.Parameter(layer.weight.new_zeros(n_out, r))
        self.scale = alpha / r
        ### END SOLUTION

    def forward(self, x):
        """From (…, n_in) to (…, n_out)."""
        ### BEGIN SOLUTION
        return self.layer(x) + self.scale * (x @ self.A.T @ self.B.T)
        ### END SOLUTION

    def merge(self):
        """A new nn.Linear with the same output; nothing else changes."""
        ### BEGIN SOLUTION
        merged = copy.deepcopy(self.layer)
        with torch.no_grad():
            merged.weight += self.scale * self.B @ self.A
        return merged
        ### END SOLUTION


# %% test="lora" points=4
check = Check("lora", points=4)
small_layer = check.keep(adapters.linear, torch.eye(4, 3), torch.tensor([0.0, 0.0, 0.0, 1.0]))
small_x, small_y = torch.tensor([[1.0, 2.0, 3.0]]), [[1.0, 2.0, 3.0, 1.0]]  # the output of this layer
with check.idea("the layer plus a correction"):
    small = check.keep(LoRALinear, small_layer, 2, 6.0)
    sizes = check.run(lambda: {name: list(part.shape) for name, part in small.state_dict().items() if name.split(".")[0] in ("A", "B")})
    own = "`self.A` and `self.B` are `nn.Parameter`s: A is r × n_in, here 2 × 3, and B is n_out × r, here 4 × 2"
    turned = {"A and B are transposed: A is r × n_in and B is n_out × r": {"A": [3, 2], "B": [2, 4]}}
    turned["A and B are swapped: x is multiplied by A first"] = {"A": [4, 2], "B": [2, 3]}
    check.equal(sizes, {"A": [2, 3], "B": [4, 2]}, own, wrong=turned)
    fresh_y, rank = check.run(small, small_x), check.run(lambda: torch.linalg.matrix_rank(small.A))
    pair = {"A": torch.tensor([[1.0, 0, 0], [0, 0, 1]]), "B": torch.tensor([[1.0, 0], [0, 1], [0, 0], [1, 1]])}
    check.run(lambda: len(small.load_state_dict(pair, strict=False)))
    worked = "x = (1, 2, 3): the layer gives (1, 2, 3, 1), A x is (1, 3), B A x is (1, 3, 0, 4), and α/r is 6/2"
    check.close(check.run(small, small_x), [[4.0, 11.0, 3.0, 13.0]], worked)
    ### BEGIN HIDDEN TESTS
    W, shift, down, up, xs = randn(5, 7), randn(5), randn(3, 7), randn(5, 3), randn(6, 7)

    def adapter(weight, bias, first, second, alpha):
        """A student's adapter around a layer, with these A and B."""
        made = check.keep(LoRALinear, check.keep(adapters.linear, weight, bias), len(first), alpha)
        check.run(lambda: len(made.load_state_dict({"A": first, "B": second}, strict=False)))
        return made

    def by_formula(factor, weight=W, bias=shift):
        return F.linear(xs, weight, bias) + factor * xs @ down.T @ up.T

    larger = adapter(W, shift, down, up, 12.0)
    check.close(
        check.run(larger, xs),
        by_formula(4.0),
        "a layer from 7 to 5 with r = 3 and α = 12: the output is not W x + b + α/r · B A x",
    )
    ### END HIDDEN TESTS
with check.part("starts as the layer"):
    check.close(fresh_y, small_y, "a new adapter changes the output of the layer: which of A and B starts at zero?")
    check.equal(
        rank, 2, "the r rows of a new A must be independent: if they are zero or equal, what do the gradients of A and B look like?"
    )
    ### BEGIN HIDDEN TESTS
    new = check.keep(LoRALinear, check.keep(adapters.linear, W, shift), 3, 12.0)
    check.equal(
        check.run(lambda: new.B.count_nonzero()),
        0,
        "B starts at zero and A does not: only then does B get a gradient in the first step",
    )
    ### END HIDDEN TESTS
with check.part("only A and B learn"):
    whole = "A has 2 × 3 numbers and B 4 × 2: those 14 learn, and no other"
    slips = {"the layer is not frozen: its weight and bias would learn, too": 30, "the layer's bias is not frozen": 18}
    slips |= {"the layer's weight is not frozen": 26, "nothing learns: A and B are parameters": 0}
    count_of = check.measure(checks.value, check.keep(models.parameters, small))
    check.equal(count_of, 14, whole, wrong=slips)
    ### BEGIN HIDDEN TESTS
    aims = randn(6, 5)
    moved = check.measure(checks.value, check.keep(adapters.trained, adapter(W, shift, down / 4, up / 4, 12.0), xs, aims, 3, 0.05))
    pair_of = [(down / 4).requires_grad_(), (up / 4).requires_grad_()]
    for _step in range(3):
        error = F.mse_loss(F.linear(xs, W, shift) + 4.0 * xs @ pair_of[0].T @ pair_of[1].T, aims)
        slopes = torch.autograd.grad(error, pair_of)
        pair_of = [(part - 0.05 * slope).detach().requires_grad_() for part, slope in zip(pair_of, slopes, strict=True)]
    aim = (F.linear(xs, W, shift) + 4.0 * xs @ pair_of[0].T @ pair_of[1].T).detach()
    steps_apart = "after three steps of gradient descent the output is wrong: do gradients reach A and B, and nothing else?"
    check.close(moved, aim, steps_apart, rtol=1e-4, atol=1e-4)  # three steps in float32, in another order of the sums
    ### END HIDDEN TESTS
with check.part("merge"):
    merged = check.keep(lambda: small.merge())
    check.true(check.measure(checks.isinstance, merged, "torch.nn.Linear"), "merge gives an `nn.Linear`")
    whole_weight = [[4.0, 0.0, 0.0], [0.0, 1.0, 3.0], [0.0, 0.0, 1.0], [3.0, 0.0, 3.0]]
    check.close(check.run(lambda: merged.weight), whole_weight, "the merged weight of this small layer is W + 3 B A, a 4 × 3 matrix")
    ### BEGIN HIDDEN TESTS
    plain_layer = check.keep(lambda: larger.merge())
    check.close(
        check.run(plain_layer, xs),
        by_formula(4.0),
        "the merged layer's output is not that of the adapter",
    )
    ### END HIDDEN TESTS
with check.edge("merge changes nothing else"):
    kept_y = "after `merge` the adapter gives a different output: work on a new layer, not on the wrapped one"
    check.close(check.run(small, small_x), [[4.0, 11.0, 3.0, 13.0]], kept_y)
    given_y = check.run(lambda: 0 * small.merge()(small_x) + small_layer(small_x))
    check.close(given_y, small_y, "the layer that was given has been changed: a merged layer is a new one")
### BEGIN HIDDEN TESTS
with check.edge("a layer without bias"):
    bare = adapter(W, None, down, up, 12.0)
    check.close(check.run(bare, xs), by_formula(4.0, W, None), "a layer without bias: the output is wrong")
    bare_merged = check.keep(lambda: bare.merge())
    check.close(check.run(bare_merged, xs), by_formula(4.0, W, None), "a layer without bias: merged, it gives a different output")
    check.equal(
        check.run(lambda: sorted(item[0] for item in bare_merged.state_dict().items())),
        ["weight"],
        "a layer without bias has none when it is merged",
    )
with check.part("the gradient by x"):
    through = "the gradient by x is wrong: it goes through the layer and through the correction"
    check.gradients(adapter(W, shift, down, up, 12.0), lambda x: F.linear(x, W, shift) + 4.0 * x @ down.T @ up.T, (xs,), through)
with check.edge("batch axes"):
    untouched = adapter(W, shift, down, up, 12.0)
    check.close(
        check.run(untouched, xs.view(2, 3, 7)), by_formula(4.0).view(2, 3, 5), "an input (2, 3, 7) gives (2, 3, 5): each position by itself"
    )
    check.close(check.run(untouched, xs[0]), by_formula(4.0)[0], "a single vector (7,) gives (5,)")
with check.edge("dtype of the layer"):
    precise = adapter(W.double(), shift.double(), down.double(), up.double(), 12.0)
    doubled = F.linear(xs.double(), W.double() + 4.0 * up.double() @ down.double(), shift.double())
    check.close(check.run(precise, xs.double()), doubled, "a layer in float64: A and B have the layer's dtype")
    precise_merged = check.keep(lambda: precise.merge())
    check.close(check.run(precise_merged, xs.double()), doubled, "a layer in float64: the merged layer has its dtype")
with check.edge("α smaller than r"):
    half_as_much = adapter(W, shift, down, up, 1.5)
    check.close(
        check.run(half_as_much, xs), by_formula(0.5), "with r = 3 and α = 1.5 the factor α/r is 0.5: do not divide to a whole number"
    )
with check.edge("a new A each time"):
    news = [check.keep(LoRALinear, check.keep(nn.Linear, 5, 2), 3, 1.0) for _ in range(3)]
    starts = [check.run(lambda one=one: one.A * 1) for one in news]
    alike = any(torch.equal(starts[i], starts[j]) for i, j in ((0, 1), (0, 2), (1, 2))) if all(s is not None for s in starts) else starts[0]
    check.equal(alike, False, "two adapters start with the same A: draw it from torch's generator, and do not seed that")
with check.part("variance of A"):
    wide = check.keep(LoRALinear, check.keep(nn.Linear, 400, 2), 50, 1.0)
    spread_of = check.run(lambda: wide.A.square().mean()) * 400
    size = "50 × 400 entries of a new A: their variance is 1/n_in, so that A x is about as large as x"
    check.close(spread_of, 1.0, size, rtol=0.06)  # the variance of 20,000 draws varies by 1 %
### END HIDDEN TESTS
check.score()

# %% [markdown]
# For one input $x$ the gradients are
#
# $$ \frac{\partial L}{\partial B} = \frac{\alpha}{r}\, g\, (A x)^\top, \qquad \frac{\partial L}{\partial A} = \frac{\alpha}{r}\, B^\top g\, x^\top . $$
#
# With $B = 0$ the second is zero: $B$ moves first, and $A$ from the second step on.
# If both were zero, both gradients would be, in every step.
# If all rows of $A$ were equal, so would be the columns of $B$'s gradient, and then the rows of $A$'s: the rank would stay 1, whatever $r$ is.


# %% look=true
def first_steps(adapter, x, target, rate=0.1, steps=3):
    """Gradient descent on the squared error; prints the gradients' lengths and their distance from the formulas."""
    for step in range(steps):
        y = adapter(x)
        gradients = torch.autograd.grad(F.mse_loss(y, target), [adapter.A, adapter.B])
        with torch.set_grad_enabled(False):
            g = 2 * (y - target) / y.numel()  # the gradient by y, one row per input
            formulas = (2.0 * (g @ adapter.B).T @ x, 2.0 * g.T @ (x @ adapter.A.T))  # α/r is 2 here
            difference = max((a - b).abs().max().item() for a, b in zip(gradients, formulas))
            for part, gradient in zip((adapter.A, adapter.B), gradients):
                part -= rate * gradient
        lengths = [gradient.norm().item() for gradient in gradients]
        print(f"step {step}: gradient of A {lengths[0]:.4f}, of B {lengths[1]:.4f} long; the formulas are {difference:.0e} away")


seed(0)
first_steps(LoRALinear(nn.Linear(6, 4), r=2, alpha=4.0), torch.randn(8, 6), torch.randn(8, 4))

# %% [markdown]
# ### 4.7 What is learned, in numbers <small>★☆☆ · 10 min · 2 points</small>
# Take a layer of MiniLM with $n_\text{in} = n_\text{out} = 384$.
# Its weight has $384 \cdot 384 = 147{,}456$ numbers.
# With $r = 8$, $A$ has $8 \cdot 384 = 3{,}072$ and so has $B$: 6,144 together, 4.2 % of the weight.
# AdamW keeps two further numbers for each one that learns, so its memory shrinks as well.
#
# Count twice: by a formula, for layers of any shapes, and in a model itself.
# For the second, return the *list* of the parameters that learn.
# That is also what an optimiser should be given: anything else costs it memory for nothing, or is changed although you meant to freeze it.
#
# *Before you run it:* from which $r$ on does the correction of a 384 × 384 layer have more numbers than its weight?


# %% exercise="lora-count"
def lora_count(shapes, r):
    """How many numbers LoRA of rank r learns for linear layers of these shapes, pairs (n_out, n_in): an int."""
    ### BEGIN SOLUTION
    return sum(r * (n_out + n_in) for n_out, n_in in shapes)
    ### END SOLUTION


def trainable(model):
    """The parameters of the model that learn, each once, in the model's order: a list."""
    ### BEGIN SOLUTION
    return [weight for weight in model.parameters() if weight.requires_grad]
    ### END SOLUTION


# %% test="lora-count" points=2
check = Check("lora-count", points=2)
with check.idea("both counts"):
    check.equal(check.run(lora_count, [(384, 384)], 8), 6144, "one layer of width 384, r = 8: 3,072 numbers in A and 3,072 in B")
    many_layers = "a layer from 3 to 5 and one from 4 to 2, r = 2: A and B have 6 + 10 numbers in the first, 8 + 4 in the second"
    check.equal(check.run(lora_count, [(5, 3), (2, 4)], 2), 28, many_layers)
    model_of = check.keep(adapters.stack, [(2, 3), (2, 2)], ["0.weight", "1.bias"])
    two_of_four = "of this model's four parameters 0.bias, all ones, and 1.weight, all twos, learn: give a list of these two"
    check.equal(check.run(trainable, model_of), [torch.ones(2), 2 * torch.ones(2, 2)], two_of_four)
    ### BEGIN HIDDEN TESTS
    shapes_of = [(11, 5), (7, 13), (3, 17)]
    check.equal(
        check.run(lora_count, shapes_of, 3),
        168,
        "three layers of other shapes with r = 3: the count is wrong",
    )
    longer_model = check.keep(adapters.stack, [(5, 3), (4, 5), (2, 4)], ["0.weight", "0.bias", "1.bias"])
    expected_of = [torch.full((4, 5), 2.0), torch.full((2, 4), 4.0), torch.full((2,), 5.0)]
    check.equal(
        check.run(trainable, longer_model),
        expected_of,
        "of six other parameters, three of them frozen, the wrong ones come back",
    )
    ### END HIDDEN TESTS
with check.edge("shapes unchanged"):
    check.unchanged(lora_count, [(5, 3), (2, 4)], 2)
### BEGIN HIDDEN TESTS
with check.edge("an int"):
    check.true(check.run(lambda: type(lora_count([(5, 3)], 2)) is int), "a count is an int")
with check.edge("r above the sizes"):
    check.equal(
        check.run(lora_count, [(3, 2)], 5), 25, "r = 5 and a layer from 2 to 3: A is 5 × 2 and B is 3 × 5, whatever the layer's size"
    )
with check.edge("no layer"):
    check.equal(check.run(lora_count, [], 4), 0, "without any layer nothing is learned: 0")
### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("the parameters themselves"):
    stepped = check.keep(adapters.stack, [(5, 3), (4, 5)], ["0.weight"])
    own_list = "an optimiser that gets what `trainable` returns does not change the model: return its own parameters, not copies or `.data`"
    moved = check.measure(checks.value, check.keep(adapters.stepped, trainable, stepped, 7.0))
    check.equal(moved, {"0.weight": 0.0, "0.bias": -6.0, "1.weight": -5.0, "1.bias": -4.0}, own_list)
with check.edge("a shared layer"):
    shared = check.keep(adapters.stack, [(3, 3), (3, 3)], ["1.bias"], tied=True)
    once = "a layer that occurs twice in the model counts once: an optimiser rejects a parameter that comes twice"
    check.equal(check.run(trainable, shared), [torch.zeros(3, 3), torch.ones(3), 2 * torch.ones(3, 3)], once)
with check.edge("a shared weight"):
    shared = check.keep(adapters.stack, [(3, 3), (3, 3)], ["1.bias"], shared=True)
    both_layers = "a weight that two layers share counts once: `model.parameters()` gives it once"
    check.equal(check.run(trainable, shared), [torch.zeros(3, 3), torch.ones(3)], both_layers)
with check.edge("all frozen"):
    still = check.keep(adapters.stack, [(2, 3)], ["0.weight", "0.bias"])
    check.equal(check.run(trainable, still), [], "where everything is frozen the list is empty")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: a few numbers, or all?
# The same pretrained model is tuned twice with the same sentences: with LoRA, $r = 8$ and $\alpha = 16$, on the queries and values of every layer (the choice of Hu et al., 2022) and the new head, and with all weights but the embeddings, as before.
# LoRA gets a larger rate here than full fine-tuning.
# Its rate is a first guess, not the result of a search: to compare the two ways fairly, try several rates for each.
#
# *Before you run it:* what share of the numbers learns with LoRA?
# How much accuracy will that cost?


# %% look=true
def with_lora(model, r, alpha, ends=("query", "value")):
    """The model with these linear layers wrapped; of the rest only the head learns."""
    for name, weight in model.named_parameters():
        weight.requires_grad_(name.startswith("classifier."))
    for name, layer in list(model.named_modules()):
        if isinstance(layer, nn.Linear) and name.endswith(ends):
            parent, _, child = name.rpartition(".")
            setattr(model.get_submodule(parent), child, LoRALinear(layer, r, alpha))
    return model


lora_count_of_sentences = pick(smoke=16, laptop=480, gpu=None)
lora_set = ReviewDataset(train_rows[:lora_count_of_sentences], corpus.train.labels[:lora_count_of_sentences])
lora_r, lora_table, lora_models = pick(smoke=2, laptop=8, gpu=8), [], {}
lora_runs = [
    ("LoRA and head", pick(smoke=1e-2, laptop=2e-3, gpu=5e-4)),  # first: the next cell needs it, also after a stop
    ("all but the embeddings", pick(smoke=1e-3, laptop=1e-4, gpu=2e-5)),
]
for way, rate in training.progress(lora_runs, "two ways to tune", keep=[lora_table, lora_models]):
    lora_model = fresh_model()
    pieces = grouped(lora_model, rate) if way != "LoRA and head" else trainable(with_lora(lora_model, lora_r, 2 * lora_r))
    lora_optimizer = torch.optim.AdamW(pieces, lr=rate)
    batches = pretrained.Moved(bucket_loader(lora_set, 8, seed=0), place)
    train_epoch(lora_model, training.Loop(batches, way, keep=[lora_model, lora_optimizer], bar=False), lora_optimizer)
    learned_count = sum(weight.numel() for weight in trainable(lora_model))
    loss, accuracy = evaluate(lora_model, some_validation)
    lora_table.append(
        {
            "what learns": way,
            "numbers that learn": f"{learned_count:,}",
            "share of the model": f"{learned_count / sum(weight.numel() for weight in lora_model.parameters()):.2%}",
            "rate": f"{rate:.0e}",
            "validation loss": loss,
            "validation accuracy": accuracy,
        }
    )
    lora_models[way] = lora_model
wrapped = {name: part for name, part in lora_models["LoRA and head"].named_modules() if isinstance(part, LoRALinear)}
wrapped_shapes = [(len(part.B), part.A.shape[1]) for part in wrapped.values()]
head_numbers = sum(weight.numel() for name, weight in lora_models["LoRA and head"].named_parameters() if name.startswith("classifier."))
print(f"{len(wrapped)} layers wrapped, by formula {lora_count(wrapped_shapes, lora_r):,} numbers, and {head_numbers:,} in the head")
pd.DataFrame(lora_table).round(3)

# %% [markdown]
# Now merge: every wrapped layer becomes a plain one again, and the model has the shape that it came with.

# %% look=true
lora_model, lora_batch = lora_models["LoRA and head"].eval(), next(iter(some_validation))
adapter_logits = lora_model(**lora_batch).logits.detach()
for name, part in wrapped.items():
    parent, _, child = name.rpartition(".")
    setattr(lora_model.get_submodule(parent), child, part.merge())
merged_logits = lora_model(**lora_batch).logits.detach()
print("the names of its weights are those of a fresh model:", list(lora_model.state_dict()) == list(fresh_model().state_dict()))
print(f"logits before and after the merge differ by {(adapter_logits - merged_logits).abs().max():.1e} at most")

# %% [markdown]
# ## 5 Which optimiser, which settings?
#
# ### Recall: the first step
# In `13-training-craft`, 1.2, you derived Adam's first step: both running means start from 0 and are corrected for that, so its size is the learning rate $\eta$, whatever the gradient's size is.
# AdamW without decay takes the same step.
# **SGD** moves by $-\eta\, g$.
# **RMSprop** ($\alpha = 0.99$) keeps $v \leftarrow \alpha v + (1 - \alpha) g^2$ from $v = 0$ and moves by $-\eta\, g / (\sqrt v + \epsilon)$.
# It has no bias correction.
#
# *Before you run it:* put the first step into RMSprop's formulas.
# How many times as long as AdamW's first step is it, at the same rate?

# %% look=true
nudges = torch.tensor([3.0, -0.2, 0.004])
for name in ("SGD", "RMSprop", "AdamW"):
    weight = nn.Parameter(torch.zeros(3))
    weight.grad = nudges.clone()
    getattr(torch.optim, name)([weight], lr=0.1, weight_decay=0.0).step()
    print(f"{name:<8} rate 0.1, gradient {nudges.tolist()}: first step {[f'{x:+.4f}' for x in weight.tolist()]}")

# %% [markdown]
# Ten times: $v$ is $(1 - \alpha) g^2$ after one step, and its root is $|g| / 10$.
# Only SGD's step knows the size of the gradient.
#
# ### Look: three optimisers
# "The same learning rate" is not the same step.
# A fair comparison tunes the rate of each.
# *Before you run it:* with the rate that suits AdamW, what will SGD do?
# And what do the first steps above say about RMSprop?

# %% look=true
compare_count = pick(smoke=16, laptop=480, gpu=None)
compare_set = ReviewDataset(train_rows[:compare_count], corpus.train.labels[:compare_count])
base_rate = pick(smoke=1e-3, laptop=2e-4, gpu=2e-5)
runs = [("AdamW", base_rate), ("RMSprop", base_rate), ("RMSprop", base_rate / 10), ("SGD", base_rate), ("SGD", 100 * base_rate)]
comparison, compared_curves = [], {}
for name, rate in training.progress(runs, "optimisers", keep=[comparison, compared_curves]):
    compared = fresh_model()
    compared_optimizer = getattr(torch.optim, name)(grouped(compared, rate, decay=0.0))  # no decay: only the steps differ
    losses = []
    for epoch in range(pick(smoke=1, laptop=1, gpu=1)):
        batches = pretrained.Moved(bucket_loader(compare_set, 8, seed=epoch), place)
        shown = training.Loop(batches, f"{name} {rate:.0e}, epoch {epoch}", keep=[compared, compared_optimizer], bar=False)
        losses += train_epoch(compared, shown, compared_optimizer)
    loss, accuracy = evaluate(compared, some_validation)
    comparison.append(
        {
            "optimiser": name,
            "rate": rate,
            "training loss, last 5 batches": sum(losses[-5:]) / len(losses[-5:]),
            "validation loss": loss,
            "validation accuracy": accuracy,
        }
    )
    compared_curves[f"{name}, rate {rate:.0e}"] = (
        range(1, len(losses) + 1),
        [sum(losses[max(0, i - 4) : i + 1]) / min(i + 1, 5) for i in range(len(losses))],
    )
plots.curves(compared_curves, "step", "training loss, mean of 5 batches", "Optimisers and their rates")
plt.show()
pd.DataFrame([{**row, "rate": f"{row['rate']:.0e}"} for row in comparison]).round(3)

# %% [markdown]
# What we saw in one run each with MiniLM (480 sentences, 60 steps, 300 validation sentences):
#
# | optimiser | rate | result |
# | --- | --- | --- |
# | AdamW | its own | 66 % |
# | RMSprop | a tenth of AdamW's | 74 % |
# | RMSprop | AdamW's | stayed at chance: its first steps are ten times as long |
# | SGD | AdamW's | did not move at all |
# | SGD, 20 steps only | 0.01 and 0.1 | did not move either |
#
# SGD has one step length for all weights, and the gradients of a Transformer's parts differ by orders of magnitude.
# With one start each, it is a finding that AdamW and the slow RMSprop learned and the others did not; which of these two is better is not.
#
# ### 5.1 A random search <small>★★☆ · 15 min · 4 points</small>
# Learning rate, batch size, number of epochs: try settings *drawn at random* and keep the one that validates best.
# Random beats a grid of the same size: usually one of the settings matters most, and a grid of $3 \times 3 \times 3$ tries only three values of it, where 27 random draws try 27 (Bergstra and Bengio, 2012).
#
# Going from a rate of $10^{-5}$ to $10^{-4}$ matters as much as going from $10^{-4}$ to $10^{-3}$.
# So draw its *logarithm* uniformly: with $u$ uniform in $[0, 1)$, $\text{rate} = \text{low} \cdot (\text{high} / \text{low})^u$.
# Each of the other two is one of the given values, all equally likely, and all three are drawn independently for every trial.
# The same seed gives the same list: use your own `random.Random(seed)`.


# %% exercise="sample"
def sample_settings(count, low, high, batch_sizes, epochs, seed):
    """A list of `count` random settings {"rate": float, "batch_size": int, "epochs": int}, the rate log-uniform."""
    ### BEGIN SOLUTION
    draw = random.Random(seed)
    return [
        {"rate": low * (high / low) ** draw.random(), "batch_size": draw.choice(batch_sizes), "epochs": draw.choice(epochs)}
        for _ in range(count)
    ]
    ### END SOLUTION


# %% test="sample" points=4
check = Check("sample", points=4)
with check.idea("rates on a logarithmic scale"):
    fixed = check.run(sample_settings, 2, 0.5, 0.5, [4], [7], 5)
    single = "a list of `count` dictionaries: with low = high = 0.5 and one value for each of the others, all settings are the same"
    check.equal(fixed, [{"rate": 0.5, "batch_size": 4, "epochs": 7}] * 2, single)
    drawn = check.run(sample_settings, 600, 1e-5, 1e-3, [8, 16, 32], [1, 2], 0)
    good = (
        type(drawn) is list and len(drawn) == 600 and all(type(s) is dict and sorted(s) == ["batch_size", "epochs", "rate"] for s in drawn)
    )
    check.true(good if drawn is None or drawn else drawn, "a list of `count` dictionaries with the keys rate, batch_size and epochs")
    rates = [s["rate"] for s in drawn] if good else drawn
    check.true(all(1e-5 <= r <= 1e-3 for r in rates) if good else rates and False, "every rate lies between low and high")
    small = sum(r < 1e-4 for r in rates) / 600 if good else -1.0  # five standard deviations are .102
    same, linear = (
        "every trial has the same rate: draw a new one for each",
        "a tenth of the rates is below 1e-4: their logarithms should be uniform",
    )
    half = "half of the rates should be below 1e-4, which is halfway between 1e-5 and 1e-3 on a logarithmic scale"
    reason = same if good and len(set(rates)) == 1 else linear if 0.04 < small < 0.16 else half
    check.true(0.39 < small < 0.61 if good else rates and False, reason)
    ### BEGIN HIDDEN TESTS
    thirds = [sum(1e-5 * 10 ** (k * 2 / 3) <= r < 1e-5 * 10 ** ((k + 1) * 2 / 3) for r in rates) for k in range(3)] if good else rates
    check.true(  # a third of 600 is 200; 60 is more than five standard deviations
        all(abs(n - 200) < 60 for n in thirds) if good else rates and False,
        "each third of the logarithmic scale should get about a third of the rates: draw the logarithm uniformly, not from a list and not with a bell curve",
    )
    distinct = len(set(rates)) > 590 if good else rates and False
    check.true(distinct, "rates repeat: draw each one from the continuous scale, not from a grid, and do not round it")
    other_range = check.run(lambda: [s["rate"] for s in sample_settings(400, 2.0, 32.0, [4], [7], 5)])
    inside = all(2 <= r <= 32 for r in other_range) and 140 < sum(r < 8 for r in other_range) < 260 if other_range else other_range
    check.true(inside, "with low = 2 and high = 32 half of the rates should be below 8: use `low` and `high`")
    ### END HIDDEN TESTS
with check.part("batch sizes and epochs"):
    values = all(s["batch_size"] in (8, 16, 32) and s["epochs"] in (1, 2) for s in drawn) if good else rates and False
    check.true(values, "batch_size and epochs must each be one of the given values")
    ### BEGIN HIDDEN TESTS
    tally = [sum(s["batch_size"] == b for s in drawn) for b in (8, 16, 32)] if good else drawn
    tally = tally + [2 / 3 * sum(s["epochs"] == e for s in drawn) for e in (1, 2)] if good else drawn
    likely = all(abs(n - 200) < 60 for n in tally) if good else rates and False  # more than five standard deviations
    check.true(likely, "the batch sizes, and the numbers of epochs, should be equally likely")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("drawn independently"):
    cells = [(s["batch_size"], s["epochs"], s["rate"] < 1e-4) for s in drawn] if good else drawn
    crowded = max(cells.count(cell) for cell in set(cells)) if good else 0
    pairs = {(s["batch_size"], s["epochs"]) for s in drawn} if good else set()
    # Of twelve cells each has 50 on average; 85 is more than five standard deviations above it.
    apart = crowded < 85 or len({s["batch_size"] for s in drawn}) < 3 if good else rates and False
    check.true(
        apart and bool(pairs), "rate, batch size and epochs depend on each other: draw each of the three independently, for every trial"
    )
with check.part("the seed"):
    repeated = check.run(sample_settings, 600, 1e-5, 1e-3, [8, 16, 32], [1, 2], 0)
    check.true(repeated == drawn if good else rates and False, "the same seed gives a different list: draw from `random.Random(seed)`")
    reseeded = check.run(lambda: [sample_settings(3, 1e-5, 1e-3, [8], [1], s)[0]["rate"] for s in (1, 2, 3)])
    check.true(len(set(reseeded)) == 3 if reseeded else reseeded, "different seeds give the same list: use the seed")
with check.edge("neighbouring seeds"):
    neighbours = check.run(lambda: [[s["rate"] for s in sample_settings(30, 1.0, 2.0, [8], [1], k)] for k in (4, 5)])
    one_source = "the lists of two neighbouring seeds share settings: draw all trials from one `random.Random(seed)`"
    check.true(not set(neighbours[0]) & set(neighbours[1]) if neighbours else neighbours, one_source)
with check.part("every value drawn"):
    plans = check.run(lambda: [sample_settings(40, 1.0, 2.0, [8, 16, 32], [1, 2], s) for s in (1, 2)])
    for key in ("batch_size", "epochs"):
        columns = [[s[key] for s in plan] for plan in plans] if good and plans else plans
        check.true(
            columns[0] != columns[1] if columns else columns, f"two seeds give the same list of `{key}`: draw it, too, for every trial"
        )
with check.edge("the global generator"):
    own = "your code draws from a global generator, or seeds it: use your own `random.Random(seed)`"
    check.true(check.measure(checks.value, check.keep(adapters.leaves_generator, sample_settings, 2, 0.5, 1.0, [4], [7], 5)), own)
with check.edge("no trials"):
    check.equal(check.run(sample_settings, 0, 1e-5, 1e-3, [8], [1], 0), [], "no trials: an empty list")
### END HIDDEN TESTS
with check.edge("lists unchanged"):
    check.unchanged(sample_settings, 5, 1e-5, 1e-3, [8, 16, 32], [1, 2, 4], 0, hint="your code changes the list of batch sizes or epochs")
check.score()

# %% [markdown]
# ### 5.2 Choose <small>★☆☆ · 10 min · 3 points</small>
# Each trial reports `accuracy` and `loss` on the **validation** set.
# It may report more, such as its settings and `train_accuracy`; only those two decide.
# Which trial wins?
#
# - the highest validation accuracy; on a tie the lower validation loss, and then the earlier trial;
# - a trial whose `loss` is NaN has diverged: it never wins, whatever its accuracy.
#   (Every comparison with NaN is false: `max` may well choose it.)
#   If all have diverged, raise a `ValueError`.
#   Only NaN counts as diverged.
#   An infinite loss is a number: such a trial takes part and loses every tie.
#   (No test has one.)
#
# Return the trial's index in the list.


# %% exercise="choose"
def pick_best(results):
    """The index of the best trial in a list of dicts with "accuracy" and "loss" on the validation set, among others."""
    ### BEGIN SOLUTION
    sound = [i for i, result in enumerate(results) if not math.isnan(result["loss"])]
    if not sound:
        raise ValueError("every trial has diverged")
    return min(sound, key=lambda i: (-results[i]["accuracy"], results[i]["loss"]))
    ### END SOLUTION


# %% test="choose" points=3
check = Check("choose", points=3)


def trial(accuracy, loss, train=0.9):
    return {"rate": 1e-4, "batch_size": 8, "epochs": 1, "train_accuracy": train, "accuracy": accuracy, "loss": loss}


with check.idea("highest validation accuracy"):
    highest = "the highest validation accuracy wins: return the trial's index in the list"
    check.equal(check.run(pick_best, [trial(0.80, 0.45, 0.99), trial(0.86, 0.55, 0.88), trial(0.84, 0.40, 0.85)]), 1, highest)
    ### BEGIN HIDDEN TESTS
    percents = [60, 88, 71, 64, 93, 79, 55, 82]
    their_losses = [0.6, 0.5, 0.2, 0.7, 0.9, 0.4, 0.8, 0.3]
    learned = [0.7, 0.9, 0.8, 0.99, 0.95, 0.91, 0.6, 0.94]
    check.equal(
        check.run(pick_best, [trial(p / 100, loss, train) for p, loss, train in zip(percents, their_losses, learned)]),
        4,
        "among eight trials the wrong one is chosen: which has the highest validation accuracy?",
    )
    apart = [trial(0.6, 0.40), trial(0.5, 0.35), trial(0.95, 0.60)]  # the lowest loss and the lowest loss per accuracy differ
    check.equal(check.run(pick_best, apart), 2, "of three trials the wrong one is chosen: the accuracy decides, not the loss")
    ### END HIDDEN TESTS
with check.part("ties go by the loss"):
    lower = "on equal accuracy the lower validation loss wins"
    slips = {"on equal accuracy the validation loss decides": 0, "the loss decides only between trials of equal accuracy": 2}
    check.equal(check.run(pick_best, [trial(0.86, 0.50), trial(0.86, 0.40), trial(0.5, 0.1)]), 1, lower, wrong=slips)
    ### BEGIN HIDDEN TESTS
    mixed = [trial(float(a), float(l)) for a, l in zip(randint(60, 70, (40,)) / 100, rand(40))]
    mixed += [trial(0.69, 2.0), trial(0.69, 1.5)]
    winner = min(range(42), key=lambda i: (-mixed[i]["accuracy"], mixed[i]["loss"]))
    three_alike = [trial(0.7, 0.5), trial(0.7, 0.9), trial(0.7, 0.2), trial(0.6, 0.1)]
    check.equal(check.run(pick_best, three_alike), 2, "of three trials with the same accuracy the wrong one is chosen")
    check.equal(check.run(pick_best, mixed), winner, "among forty-two trials with ties the wrong one is chosen")
    ### END HIDDEN TESTS
with check.part("diverged trials"):
    nan = float("nan")
    never = "a trial whose loss is NaN has diverged: it never wins, whatever its accuracy"
    chosen_nan = {"the trial that has diverged (its loss is NaN) is chosen": 0}
    check.equal(check.run(pick_best, [trial(0.99, nan), trial(0.70, 0.6), trial(0.71, 0.6)]), 2, never, wrong=chosen_nan)
    ### BEGIN HIDDEN TESTS
    fields = [trial(0.8, nan), trial(0.8, 0.9), trial(0.8, nan), trial(0.8, 0.5), trial(0.8, nan)]
    check.equal(check.run(pick_best, fields), 3, "diverged trials must not take part in a tie")
    check.equal(
        check.run(pick_best, [trial(0.7, 0.6), trial(0.71, 0.6), trial(0.99, nan)]), 1, "a diverged trial at the end of the list is chosen"
    )
    ### END HIDDEN TESTS
with check.edge("trials unchanged"):
    check.unchanged(pick_best, [trial(0.8, 0.9), trial(0.7, 0.5), trial(0.9, 0.3)])
### BEGIN HIDDEN TESTS
with check.edge("the earlier trial"):
    full_tie = [trial(0.7, 0.1), trial(0.86, 0.40), trial(0.86, 0.40)]

    check.equal(check.run(pick_best, full_tie), 1, "on equal accuracy and equal loss the earlier trial wins")
with check.edge("all have diverged"):
    check.raises(pick_best, [trial(0.8, nan), trial(0.9, nan)], error="ValueError", hint="if every trial has diverged, raise a ValueError")
with check.edge("a single trial"):
    check.equal(check.run(pick_best, [trial(0.4, 2.0)]), 0, "a single trial wins")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: search
# On a laptop a trial sees only a few hundred sentences, so that a search takes a minute or two.
# With `COURSE_SCALE=gpu` every trial trains on the whole training set.

# %% look=true
space = pick(
    smoke={"count": 2, "low": 1e-4, "high": 1e-2, "batch_sizes": [8, 16], "epochs": [1]},
    laptop={"count": 7, "low": 1e-5, "high": 1e-3, "batch_sizes": [8, 16], "epochs": [1, 2]},
    gpu={"count": 12, "low": 5e-6, "high": 1e-4, "batch_sizes": [16, 32, 64], "epochs": [2, 3, 4]},
)
search_count = pick(smoke=16, laptop=320, gpu=None)
search_set = ReviewDataset(train_rows[:search_count], corpus.train.labels[:search_count])
search_results = []
trials = list(enumerate(sample_settings(**space, seed=14)))
for number, setting in training.progress(trials, "random search", keep=[search_results]):
    candidate, losses, _ = fine_tune(search_set, **setting, start=number, label="")
    loss, accuracy = evaluate(candidate, some_validation)
    last = losses[-5:]
    search_results.append({**setting, "training loss": sum(last) / len(last), "loss": loss, "accuracy": accuracy})
chosen = pick_best(search_results)
tuning_figures.search_results(search_results)
plt.show()
ranking = pd.DataFrame(search_results).sort_values(["accuracy", "loss"], ascending=[False, True]).round(3)
ranking["rate"] = [f"{search_results[i]['rate']:.1e}" for i in ranking.index]
ranking

# %% [markdown]
# Each trial is one start, judged on a few hundred sentences: an accuracy of 0.70 on 300 sentences has an interval of ±5 points.
# *Which of the three settings matters most here?
# Which differences would you believe?*
#
# Now train with the winner's learning rate and batch size on the whole training set.
# The number of epochs does not carry over from a few hundred sentences to thousands: what counts is the number of steps, and one epoch now has more of them than all epochs of a trial had.
# So on a laptop we train for one epoch.

# %% look=true
winner_setting = {**{key: search_results[chosen][key] for key in ("rate", "batch_size", "epochs")}}
winner_setting["epochs"] = pick(smoke=1, laptop=1, gpu=winner_setting["epochs"])
searched, _, searched_history = fine_tune(
    train_set, **winner_setting, start=1, label="the winner", validate=lambda model: evaluate(model, validation_batches)
)
searched_loss, searched_accuracy = searched_history[-1]
print(f"{winner_setting} on the whole training set: validation loss {searched_loss:.3f}, accuracy {searched_accuracy:.3f}")

# %% [markdown]
# ## 6 The test set, once
#
# ### Look: the best of many
# All settings below have the *same* true accuracy, 85 %.
# You validate each, and report the best.
# Move the sliders: how much better than the truth does the winner look?
# What helps more, fewer trials or more validation sentences?

# %% look=true
tuning_figures.best_of_many()

# %% [markdown]
# The winner's validation accuracy is not what it will reach on new sentences: it won partly by luck.
# That is why there is a third set, and why you look at it once.
# If you chose by the test set, it would be a second validation set.
#
# ### 6.1 One submission <small>★★☆ · 15 min · 4 points</small>
# `sealed.submit(predictions)` takes one prediction (0 or 1) per sentence of `sealed.sentences()` and returns `{"correct": …, "total": …, "accuracy": …}`.
# It judges one submission; a second one raises a `PermissionError`.
#
# You get the candidates' validation results and their predictions on the test sentences: `predictions[i]` belongs to `results[i]`.
# Choose with `pick_best`, submit that candidate's predictions, and return the sealed set's answer together with your choice: a dictionary with the keys `chosen`, `correct`, `total` and `accuracy`.
# All that you know about the candidates when you choose comes from the validation set.


# %% exercise="final"
def final_test(results, predictions, sealed):
    """Submit the best candidate's predictions, once: {"chosen": its index, "correct": …, "total": …, "accuracy": …}."""
    ### BEGIN SOLUTION
    chosen = pick_best(results)
    return {"chosen": chosen, **sealed.submit(predictions[chosen])}
    ### END SOLUTION


# %% test="final" points=4
check = Check("final", points=4)
answers, tries = [1, 0, 0, 1, 1, 0, 1], [[1, 0, 0, 1, 1, 0, 0], [1, 1, 0, 1, 0, 0, 0], [0] * 7]  # 6, 4 and 3 of 7 are right
validated = [{"accuracy": 0.80, "loss": 0.5}, {"accuracy": 0.83, "loss": 0.4}, {"accuracy": 0.79, "loss": 0.3}]
box = SealedTest([f"sentence {i}" for i in range(7)], answers)
verdict = check.run(final_test, validated, tries, box)
with check.idea("the best on the validation set"):
    counts = [verdict.get(key) for key in ("correct", "total")] if type(verdict) is dict else verdict
    says = "candidate 1 validates best: return what the sealed set says about its predictions, 4 of 7"
    check.equal(counts, [4, 7], says)
    ### BEGIN HIDDEN TESTS
    quick = [[int(v) for v in randint(0, 2, (50,))] for guess in range(6)]
    key = [*quick[3][:45], *[1 - v for v in quick[3][45:]]]  # candidate 3 is best on the test set
    looks = [{"accuracy": a, "loss": b} for a, b in zip([0.7, 0.8, 0.9, 0.85, 0.75, 0.6], [0.5, 0.45, 0.4, 0.35, 0.2, 0.3])]
    second_box = SealedTest([str(i) for i in range(50)], key)
    second = check.run(final_test, looks, quick, second_box)
    rights = [sum(a == b for a, b in zip(guess, key)) for guess in quick]
    check.equal(
        [second.get(name) for name in ("correct", "total")] if type(second) is dict else second,
        [rights[2], 50],
        "among six other candidates the wrong one is submitted: choose with `pick_best`",
    )
    check.avoids(final_test, "_labels", hint="the labels are sealed: use `submit`")
    ### END HIDDEN TESTS
with check.part("one submission"):
    check.equal(box.submissions if type(verdict) is dict else verdict, 1, "exactly one submission is made, through `sealed.submit`")
    ### BEGIN HIDDEN TESTS
    others = "exactly one submission, here too: the others must not be tried"
    check.equal(second_box.submissions if type(second) is dict else second, 1, others)
    ### END HIDDEN TESTS
with check.part("choice and accuracy"):
    its_place = "return the index of your choice as `chosen`: here 1"
    check.equal(verdict["chosen"] if type(verdict) is dict and "chosen" in verdict else verdict, 1, its_place)
    ### BEGIN HIDDEN TESTS
    four = "the keys are chosen, correct, total and accuracy"
    check.equal(sorted(verdict) if type(verdict) is dict else verdict, ["accuracy", "chosen", "correct", "total"], four)
    sealed_share = "the accuracy is the sealed set's, a share between 0 and 1"
    check.close(verdict.get("accuracy") if type(verdict) is dict else verdict, 4 / 7, sealed_share, rtol=1e-6)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("the rules of pick_best"):
    harder = [{"accuracy": 0.9, "loss": 0.6}, {"accuracy": 0.9, "loss": 0.4}, {"accuracy": 0.99, "loss": float("nan")}]
    third = check.run(final_test, harder, tries, SealedTest(["."] * 7, answers))
    by_rules = "with a tie and a diverged candidate the wrong one is submitted: does `pick_best` choose?"
    check.equal(third.get("correct") if type(third) is dict else third, 4, by_rules)
with check.edge("predictions unchanged"):
    lent = checks.put(tries)
    check.run(final_test, validated, lent, SealedTest(["."] * 7, answers))
    check.equal(check.measure(checks.value, lent), tries, "your code changes the list of predictions that it is given")
with check.edge("a used set"):
    spent = SealedTest(["a"], [1])
    spent.submit([1])
    refused = "a set that has been used must raise its PermissionError: do not catch it"
    check.raises(final_test, [{"accuracy": 1.0, "loss": 0.1}], [[1]], spent, error="PermissionError", hint=refused)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 6.2 How sure? <small>★★☆ · 15 min · 3 points</small>
# A share $\hat p = k / n$ of $n$ sentences is an estimate.
# Wilson's interval (1927) contains the values $p$ that the observation does not contradict: those with $|\hat p - p| \le z \sqrt{p (1 - p) / n}$.
# Square this, solve the quadratic equation for $p$, and you find
#
# $$ p_\pm = \frac{\hat p + \dfrac{z^2}{2n} \pm z \sqrt{\dfrac{\hat p (1 - \hat p)}{n} + \dfrac{z^2}{4 n^2}}}{1 + \dfrac{z^2}{n}} . $$
#
# With $z = 1.96$ it contains the truth in about 95 of 100 experiments, even for few sentences and for shares near 0 or 1, where the textbook $\hat p \pm z \sqrt{\hat p (1 - \hat p) / n}$ gives nonsense such as an interval of length 0.


# %% exercise="wilson"
def wilson(correct, total, z=1.96):
    """Wilson's interval (low, high) for the accuracy, when `correct` of `total` answers are right."""
    ### BEGIN SOLUTION
    p = correct / total
    middle = p + z**2 / (2 * total)
    half = z * math.sqrt(p * (1 - p) / total + z**2 / (4 * total**2))
    return (middle - half) / (1 + z**2 / total), (middle + half) / (1 + z**2 / total)
    ### END SOLUTION


# %% test="wilson" points=3
check = Check("wilson", points=3)
with check.idea("Wilson's interval"):
    ends = check.run(wilson, 8, 10)
    check.close(ends, [0.490157, 0.943318], "8 of 10: the interval goes from 0.490 to 0.943", rtol=3e-3)
    ### BEGIN HIDDEN TESTS
    z, many, p = 1.96, 23, 17 / 23
    middle, half = p + z**2 / (2 * many), z * math.sqrt(p * (1 - p) / many + z**2 / (4 * many**2))
    divisor = 1 + z**2 / many
    check.close(
        check.run(wilson, 17, 23),
        [(middle - half) / divisor, (middle + half) / divisor],
        "17 of 23: the ends do not solve (p̂ − p)² = z² p(1 − p)/n",
        rtol=3e-3,
    )
    ### END HIDDEN TESTS
with check.edge("none right"):
    zero = "0 of 10: the interval starts at 0 and ends at 0.278: its length is not 0"
    check.close(check.run(wilson, 0, 10), [0.0, 0.277533], zero, rtol=3e-3, atol=1e-9)
### BEGIN HIDDEN TESTS


def solves(right_ones, many_ones, level, hint):
    found = check.run(wilson, right_ones, many_ones, level)
    usable = type(found) in (tuple, list, torch.Tensor) and len(found) == 2
    for place in range(2):
        end = float(found[place]) if usable else found
        gap = (right_ones / many_ones - end) ** 2 if usable else found
        check.close(gap, level**2 * end * (1 - end) / many_ones, hint, rtol=1e-6, atol=1e-10)
    check.true(found[0] < found[1] if usable else found, hint)


with check.part("another z"):
    check.close(check.run(wilson, 3, 7, 1.0), [0.262309, 0.612691], "3 of 7 with z = 1: the interval goes from 0.262 to 0.613", rtol=3e-3)
    check.close(check.run(wilson, 818, 872, 2.576), [0.913559, 0.955970], "818 of 872 with z = 2.576: the interval is wrong", rtol=3e-3)
with check.edge("all digits"):
    digits = "an end is almost right, but digits are lost: do not round"
    solves(818, 872, 2.576, digits)
    solves(3, 7, 1.0, digits)
with check.edge("all right"):
    solves(10, 10, 1.96, "10 of 10: the high end is 1, and the low one solves (p̂ − p)² = z² p(1 − p)/n")
    solves(1, 1, 1.96, "1 of 1: the high end is 1, and the low one solves (p̂ − p)² = z² p(1 − p)/n")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: the result
# Three candidates, all judged on the validation set.
# Their predictions on the test sentences are computed, but only one of them will be submitted.
# *Before you run it:* how far apart will test and validation accuracy be?
# Compare with the length of the interval.

# %% look=true
test_rows = tokenised(corpus.test.sentences())
test_set = ReviewDataset(test_rows, [0] * len(test_rows))  # the labels are sealed: these zeros are never used


@torch.no_grad()
def class_predictions(model, dataset):
    """The predicted class of each sentence, in order."""
    model.eval()
    return [
        int(c)
        for batch in pretrained.Moved(make_loader(dataset, 64, training=False, pad_id=PAD), place)
        for c in model(**batch).logits.argmax(1)
    ]


frozen_loss = head_gradient((validation_features - centre) / spread, validation_labels.float(), w_frozen, b_frozen, 0.0)[0].item()
candidates = [
    {"name": "frozen features, logistic head", "accuracy": frozen_accuracy, "loss": frozen_loss},
    {"name": "fine-tuned", "accuracy": tuned_accuracy, "loss": tuned_loss},
    {"name": "fine-tuned, searched settings", "accuracy": searched_accuracy, "loss": searched_loss},
]
test_predictions = [
    head_predictions(features_of(test_set)[0], w_frozen, b_frozen).tolist(),
    class_predictions(tuned, test_set),
    class_predictions(searched, test_set),
]
verdict_of_the_test = final_test(candidates, test_predictions, corpus.test)

# %% look=true
count = len(corpus.validation.labels)
lines = [
    {
        "what": f"validation: {c['name']}",
        "accuracy": c["accuracy"],
        **dict(zip(("low", "high"), wilson(round(c["accuracy"] * count), count))),
    }
    for c in candidates
]
winner_name = candidates[verdict_of_the_test["chosen"]]["name"]
low, high = wilson(verdict_of_the_test["correct"], verdict_of_the_test["total"])
lines.append({"what": f"TEST: {winner_name}", "accuracy": verdict_of_the_test["accuracy"], "low": low, "high": high})
for what, share, n in (("a report, RoBERTa on SST-2: validation", 0.938, 872), ("a report, RoBERTa on SST-2: test", 0.946, 1821)):
    lines.append({"what": what, "accuracy": share, **dict(zip(("low", "high"), wilson(round(share * n), n)))})
figure, axes = plt.subplots(figsize=(10.5, 3.6))
for number, line in enumerate(reversed(lines)):
    axes.errorbar(
        line["accuracy"],
        number,
        xerr=[[line["accuracy"] - line["low"]], [line["high"] - line["accuracy"]]],
        fmt="s" if "TEST" in line["what"] else "o",
        color="C1" if "TEST" in line["what"] else "C0",
        capsize=4,
    )
axes.set_yticks(range(len(lines)), [line["what"] for line in reversed(lines)])
axes.set(xlabel="accuracy, with Wilson's 95 % interval", title="What you know at the end")
figure.tight_layout()
plt.show()
print(f"submissions to the sealed test set: {corpus.test.submissions}")
print(f"test accuracy {verdict_of_the_test['accuracy']:.3f}, between {low:.3f} and {high:.3f}")

# %% [markdown]
# For orientation:
#
# | model | data | frozen features | fine-tuned |
# | --- | --- | --- | --- |
# | MiniLM, measured by us | the package's sentences: 2,400 to train on, 600 to validate; one epoch, one start | 74 % | 80 % |
# | MiniLM, measured by us | SST-2: 6,920 to train on | 81 % | 87 to 88 % |
# | RoBERTa-base, from a report on which this assignment is modelled | SST-2: 6,920 to train on, 872 to validate, 1,821 to test | | 93.8 % validation, 94.6 % test |
#
# (We have no author or link to cite that report by; its two numbers are in the figure.)
# Its RoBERTa is five times as large and has read far more text, and SST-2 leaves out the sentences that its annotators found neutral.
# Part of the distance is the model, part is the data: only runs on the same sentences could tell them apart.
# Never use a model that was tuned on one of the two data sets to get a result on the other: see the appendix.
#
# ### 6.3 In your own words <small>★★☆ · 20 min · 5 points, graded by hand</small>
# Three people fine-tune the same model on the same data, with 872 sentences to validate and 1,821 to test.
#
# - **Ada** tries 40 settings, takes the one with the best validation accuracy (88.4 %), and submits once: 86.9 % on the test set.
# - **Ben** tries the same 40 settings, evaluates all of them on the test set, and reports the best: 88.3 %.
# - **Cleo** tries one setting, taken from a paper: 87.2 % on the validation set, 87.0 % on the test set.
#   She trained for ten epochs; the validation loss was lowest after the second, and she used the model of the last.
#
# Whose number do you trust as an estimate for new sentences, and why are Ada's two numbers so far apart?
# What did Ben do wrong, although he evaluated every model correctly?
# Is Cleo's model better than Ada's?
# What would you have told her about the epochs, and what would you look at before you decide?
# Use numbers from the interval and from the slider above.
# About 200 words.

# %% [markdown] written="written-test" points=5
# <!-- BEGIN SOLUTION -->
# **Model answer.** Ada's and Cleo's test results are honest estimates: in each case the test set had no part in the choice. Ada's 88.4 % is the largest of 40 noisy numbers. With 872 sentences the standard error of one is about 1.1 points, and the best of 40
# equally good settings exceeds the truth by about two standard errors, 2.4 points (slider: 40 trials, 850 to 900 sentences). The drop to 86.9 % is what one should expect, not a failure. Ben made the test set a second validation set: his 88.3 % is the best of 40
# again, so it is too high by about the same mechanism (less, as 1,821 sentences have a standard error of 0.8 points). Each evaluation was correct; the *selection* was not. He has no unbiased number left, unless he finds new sentences. Ada's and Cleo's test accuracies
# differ by 0.1 points, and each interval is about ±1.6 points wide: nothing says that one model is better. (Both used the same test sentences, so a paired test would be sharper; it, too, would find nothing for two sentences of difference, unless the models
# disagreed on almost none.) Cleo's validation loss parted from the training loss after epoch 2: from there on the model memorised. I would have stopped early and kept epoch 2, or at least compared the accuracies of both epochs: loss and accuracy need not turn
# together. If she needs probabilities, the last epoch's are overconfident. If she decides about epochs now, it has to be on the validation set.
#
# | points | rubric |
# | --- | --- |
# | 1 | Ada's and Cleo's test numbers are trusted because the test set played no part in the choice |
# | 1 | Ada's gap is explained by selection among noisy scores, with a number (about 2 points for 40 trials and 872 sentences) |
# | 1 | Ben: selection on the test set biases the maximum; correct evaluation of each model does not help |
# | 1 | 86.9 against 87.0 cannot be told apart; the interval's size (about ±1.5 points) or a paired argument is given |
# | 1 | Cleo: early stopping by the validation set; loss and accuracy can turn at different epochs; not decided on the test set |
# <!-- END SOLUTION -->

# %% [markdown]
# ### Recall: two models, the same sentences
# Two overlapping intervals do not show that two models are equally good: both saw the *same* sentences, and the hard ones are hard for both.
# Look only at the $n$ sentences on which exactly one of the two is right.
# If the models were equally good, each of these would be a toss of a fair coin.
# The *sign test* (McNemar's, in its exact form) asks how unlikely a result at least as uneven is.
# You wrote it in the bonus of `11-speeches`; here it starts from the two counts.


# %%
def sign_p(n_a, n_b):
    """The sign test's two-sided p, from the numbers of sentences that only model a, and only model b, gets right."""
    n = n_a + n_b
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(min(n_a, n_b) + 1)) / 2**n)


# %% look=true
frozen_choices = head_predictions(validation_features, w_frozen, b_frozen).tolist()
tuned_choices = class_predictions(tuned, validation_set)
right_or_not = [(a == y, b == y) for a, b, y in zip(frozen_choices, tuned_choices, corpus.validation.labels)]
alone_frozen, alone_tuned = (sum(pair == only for pair in right_or_not) for only in ((True, False), (False, True)))
print(f"validation set: {alone_tuned} sentences only the fine-tuned model gets right, {alone_frozen} only the frozen one")
print(f"p = {sign_p(alone_frozen, alone_tuned):.4f}")

# %% [markdown]
# ## 7 Bonus: would the test notice? <small>★★★ · 25 min · 4 bonus points</small>
# A large $p$ does not show that two models are equally good.
# Perhaps there were too few sentences to notice a difference.
# Suppose that on $n$ sentences exactly one of the two models is right, and that on each of them, independently, it is the second model with probability $s$ (`share`).
# The number $k$ of those sentences is then binomial, $P(k) = \binom{n}{k} s^k (1 - s)^{n-k}$, and the sign test gives $p = $ `sign_p(n - k, k)`.
# The *power* of the test is the probability that $p$ is at most `level`.
# Every $k$ counts for which that is so: many wins of the second model, and also many of the first.
#
# *Before you run it:* if $s = \frac{1}{2}$, the models are equally good.
# How large can the power be then?
# And how many sentences does it take to notice $s = 0.6$ in four of five cases?


# %% exercise="bonus-power"
def power(n, share, level=0.05):
    """Probability that the sign test on n ≤ 500 sentences gives p ≤ level, when the second model wins with `share`."""
    ### BEGIN SOLUTION
    noticed = [k for k in range(n + 1) if sign_p(n - k, k) <= level]
    return float(sum(math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in noticed))
    ### END SOLUTION


# %% test="bonus-power" points=4
check = Check("bonus-power", points=4)
with check.idea("probability of a small p"):
    ten = "ten sentences: p is at most 0.05 for k = 0, 1, 9 and 10; with s = 0.6 these have the probability 0.0480 together"
    check.close(check.run(power, 10, 0.6), 0.048035, ten, rtol=1e-4)
    six = "six sentences and equally good models: only 0 and 6 have p ≤ 0.05, and that happens in 2 of 64 cases"
    check.close(check.run(power, 6, 0.5), 2 / 64, six, rtol=1e-4)
    ### BEGIN HIDDEN TESTS

    def by_counting(n, share, level, ways=True, side=0, strict=False):
        p_of = [min(1.0, 2 * sum(math.comb(n, j) for j in range(min(k, n - k) + 1)) / 2**n) for k in range(n + 1)]
        noticed = [k for k in range(n + 1) if (p_of[k] < level if strict else p_of[k] <= level) and side * (2 * k - n) >= 0]
        return sum((math.comb(n, k) if ways else 1) * share**k * (1 - share) ** (n - k) for k in noticed)

    for many, odds in [(25, 0.7), (40, 0.35), (120, 0.6), (9, 0.9)]:
        check.close(
            check.run(power, many, odds),
            by_counting(many, odds, 0.05),
            "for other numbers the power is wrong",
            rtol=1e-5,
        )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("another level"):
    for many, odds, limit in [(40, 0.35, 0.01), (120, 0.6, 0.1)]:
        got = check.run(power, many, odds, limit)
        check.close(got, by_counting(many, odds, limit), "with another level the power is wrong", rtol=1e-5)
with check.edge("exactly the level"):
    exact = check.run(power, 10, 0.6, 22 / 1024)
    check.close(exact, 0.048035, "p is exactly the level for k = 1 and 9 here: at most the level is enough", rtol=1e-4)
with check.edge("impossible and certain"):
    sure = "no sentences, or five of them, can never give p ≤ 0.05; if the second model always wins, eight notice it for sure"
    check.close(check.run(lambda: [power(0, 0.7), power(5, 0.99), power(8, 1.0)]), [0.0, 0.0, 1.0], sure, atol=1e-9)
with check.edge("a float"):
    check.true(
        type(check.run(power, 6, 0.5)) is float and type(check.run(power, 2, 0.5)) is float, "return a Python float, even where it is 0"
    )
### END HIDDEN TESTS
check.score()

# %% look=true
sentence_counts = list(range(5, pick(smoke=26, laptop=256, gpu=256), 10))
plots.curves(
    {f"s = {share}": (sentence_counts, [power(n, share) for n in sentence_counts]) for share in (0.5, 0.55, 0.6, 0.7)},
    "sentences on which exactly one model is right",
    "power of the sign test, level 0.05",
    "How often would a real difference be noticed?",
)
plt.show()

# %% [markdown]
# If the models are equally good, the power is the rate of false alarms: at most the level, and less, because $k$ is a whole number.
# That is also why the curves are not smooth.
# A share of 0.6 needs a little more than 200 such sentences to be noticed in four of five cases.
# Two models of which exactly one is right on every tenth sentence need more than 2,000 sentences for that.

# %% [markdown]
# ## Appendix: another model, other data
#
# | setting | on a laptop | with `COURSE_SCALE=gpu` |
# | --- | --- | --- |
# | model | all-MiniLM-L6-v2: 6 layers, width 384, 22.7 million parameters | RoBERTa-base from the hub: 12 layers, width 768, 125 million |
# | data | 8,530 sentences of Rotten Tomatoes reviews | SST-2 from the hub, all of it |
# | `COURSE_MODEL` | another model: a folder with a saved model and its tokenizer, or a name on the hub | the same |
# | `COURSE_SST2` | a folder with SST-2's files, or a data set on the hub | the same |
#
# `COURSE_MODEL` names a folder with `config.json`, `model.safetensors`, and `tokenizer.json` or `vocab.json` with `merges.txt`.
# `COURSE_SST2` names a folder with SST-2's files as you got them: `train.tsv`, `dev.tsv`, `test.tsv`, from GLUE or without a header; `stsa.binary.train` and so on; csv; jsonl; parquet (with pyarrow); the treebank's `train.txt`.
#
# Set the variables before Jupyter starts, with absolute paths: `COURSE_SCALE=gpu COURSE_MODEL=/home/you/roberta-base COURSE_SST2=/home/you/SST-2 make lab`.
# On Colab write `%env COURSE_SST2=/content/SST-2` into a new cell above the first.
# Python reads them once: restart the kernel after a change.
# For RoBERTa choose `gpu`, whose learning rates are meant for it.
# Where there is no network, `gpu` falls back to what is installed and says so.
#
# **Do not mix the two corpora.**
# The package's sentences and SST-2's come from the same reviews (Pang and Lee, 2005).
# Compared sentence by sentence, a model that was tuned on the package's has seen 56 % of SST-2's test set.
# Its accuracy there would be too high, and would not count as a result.
# For a result on SST-2, set `COURSE_SST2` and start again from a model that was not tuned on the package's sentences.

# %% [markdown]
# ## What you can now do
# - Predict what a tokenizer's arguments do to a batch, and write the data set, the collate function and the loaders yourself.
# - Use an encoder frozen, with features computed once, and fine-tune it with groups of weights, a schedule, and a loop in which you know what every call changes.
# - Read the `Trainer` as the loop that you wrote.
# - See where the curves separate, stop there, and say what the loss knows that the accuracy does not.
# - Compare optimisers without mistaking a rate for a step, search at random on a logarithmic scale, and choose on the validation set.
# - Open the test set once, with an interval around the result, and explain why not twice.
#
# Next, `16-precision` goes down to the machine: numbers with few bits, two processes that train one model, and two designs at equal cost.
