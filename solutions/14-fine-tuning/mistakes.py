"""Wrong answers that the tests of 14-fine-tuning must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

IN_PLACE = "your code changes its input in place"

# Two functions share the cell `buckets`: the right ones, to go with one that is wrong.
SHARE = """
def padding_share(lengths, batches):
    positions = sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)
    return 1 - sum(lengths[i] for batch in batches for i in batch) / positions
"""

# The given functions that stand below the answers in the cells `extract` and `evaluate`.
TOY_FEATURES = """

def toy_features(table, batches):
    toy = ToyEncoder(table)
    return extract(toy, iter(batches)), toy.facts()
"""
TOY_EVALUATION = """

def toy_evaluation(table, batches, training=True):
    toy = ToyClassifier(table).train(training)
    return evaluate(toy, iter(batches)), toy.facts()
"""

VARIANTS = {
    "row-lengths": [
        Mistake(
            "cut to one less",
            change={"min(length, max_length)": "min(length, max_length - 1)"},
            says="truncation cuts to max_length − 1: a cut row has exactly max_length tokens",
            gravity="part",
        ),
        Mistake(
            "longest also at least max_length",
            change={"else max(lengths)": "else max(max(lengths), max_length if truncation else 0)"},
            says="with truncation the rows are padded to max_length, although padding is not 'max_length'",
            gravity="part",
        ),
        Mistake(
            "longest of the tokens",
            change={"else max(lengths)": "else max(counts)"},
            says="the longest row is measured without its two special tokens: they are part of every row",
            gravity="part",
        ),
        Mistake(
            "max_length pads two more",
            change={'max_length if padding == "max_length"': 'max_length + 2 if padding == "max_length"'},
            says="padding='max_length' fills up to max_length + 2: the special tokens are part of the row already",
            gravity="part",
        ),
        Mistake("no special tokens", change={"count + 2": "count"}, says="the two special tokens are missing", gravity="idea"),
        Mistake(
            "one special token",
            change={"count + 2": "count + 1"},
            says="two special tokens are added, one at the start and one at the end",
            gravity="idea",
        ),
        Mistake(
            "always truncated",
            change={"if truncation:": "if True:"},
            says="truncation is off: max_length alone cuts nothing",
            gravity="idea",
        ),
        Mistake(
            "special tokens after the cut",
            change={
                "count + 2": "count",
                "min(length, max_length)": "min(length, max_length) + 2",
                "if padding is False:\n        return lengths": "lengths = lengths if truncation else [n + 2 for n in lengths]\n    if padding is False:\n        return lengths",
            },
            says="max_length counts the special tokens, too: add them first, then cut",
            gravity="part",
        ),
        Mistake(
            "max for min",
            change={"min(length, max_length)": "max(length, max_length)"},
            says="truncation must not make a row longer: take the smaller of the two lengths",
            gravity="part",
        ),
        Mistake(
            "padding shortens",
            change={"max(length, target) for length in lengths": "target for length in lengths"},
            says="padding never shortens a row: without truncation the long one keeps its tokens",
            gravity="part",
        ),
        Mistake(
            "longest means max_length",
            change={'padding == "max_length"': "padding"},
            says="padding='longest' does not look at max_length",
            gravity="part",
        ),
        Mistake(
            "max_length means longest",
            change={"max_length if padding": "max(lengths) if padding"},
            says="padding='max_length' pads to max_length, not to the longest row",
            gravity="part",
        ),
        Mistake(
            "longest before the cut",
            change={"else max(lengths)": "else max(counts) + 2"},
            says="the longest row is measured before the cut",
            gravity="part",
        ),
        Mistake(
            "True is not known",
            change={"if padding is False:": 'if padding not in ("longest", "max_length"):'},
            hint="padding=True means the same",
            gravity="edge",
        ),
        Mistake(
            "counts changed",
            change={
                "lengths = [count + 2 for count in counts]": "for i in range(len(counts)):\n        counts[i] += 2\n    lengths = counts"
            },
            hint=IN_PLACE,
            gravity="edge",
        ),
        Mistake(
            "one number",
            change={"return [max(length, target) for length in lengths]": "return max(target, max(lengths))"},
            says="one number comes back where rows are padded: return the length of every row, a list",
            gravity="part",
        ),
        Mistake(
            "longest up to max_length",
            change={"else max(lengths)": "else min(max(lengths), max_length)"},
            says="padding='longest' stops at max_length: it does not look at max_length",
            gravity="part",
        ),
        Mistake("special tokens twice", change={"count + 2": "count + 4"}, says="four special tokens are added: it is two", gravity="idea"),
        Mistake(
            "padding to max_length cuts",
            change={"return [max(length, target) for length in lengths]": "return [target for length in lengths]"},
            says="padding never shortens a row: without truncation the long one keeps its tokens",
            gravity="part",
        ),
        Mistake(
            "padding without truncation only",
            change={"if padding is False:": "if padding is False or truncation:"},
            says="with truncation nothing is padded any more: the two are independent, first the cut, then the padding",
            gravity="part",
        ),
        Mistake(
            "always padded",
            change={"    if padding is False:\n        return lengths\n": ""},
            says="padding is off, and every row is filled up all the same: then every row keeps its own length",
            gravity="idea",
        ),
        Mistake(
            "every row cut to max_length",
            change={"[min(length, max_length) for length in lengths]": "[max_length for length in lengths]"},
            says="with truncation every row gets the length max_length: only rows that are too long are cut",
            gravity="part",
        ),
        Mistake(
            "never cut",
            change={"    if truncation:": "    if False:"},
            says="truncation is ignored: rows longer than max_length are cut to it",
            gravity="part",
        ),
        Right(
            "a loop",
            code="""
def row_lengths(counts, padding, truncation, max_length):
    rows = []
    for count in counts:
        n = count + 2
        rows.append(n if not truncation or n <= max_length else max_length)
    if padding == "max_length":
        return [n if n > max_length else max_length for n in rows]
    return [max(rows)] * len(rows) if padding else rows
""",
        ),
        Right(
            "tensors",
            code="""
def row_lengths(counts, padding, truncation, max_length):
    n = torch.tensor(counts) + 2
    n = n.clamp(max=max_length) if truncation else n
    if padding:
        n = n.clamp(min=max_length if padding == "max_length" else int(n.max()))
    return n
""",
        ),
    ],
    "dataset": [
        Mistake(
            "labels as text",
            change={'"label": self.labels[i]': '"label": str(self.labels[i])'},
            says="a label is a text: keep it as it was given",
            gravity="idea",
        ),
        Mistake(
            "a count of classes",
            change={"return len(self.rows)": "return len(set(self.labels))"},
            says="the length is the number of different labels: it is the number of sentences",
            gravity="idea",
        ),
        Mistake(
            "rows cut",
            change={'"input_ids": self.rows[i]': '"input_ids": self.rows[i][:-1]'},
            says="the last token of each row is missing: item i holds row i, unchanged",
            gravity="idea",
        ),
        Mistake("labels as floats", change={"self.labels[i]}": "float(self.labels[i])}"}, hint="a label is a float", gravity="edge"),
        Mistake(
            "the label of the row before",
            change={"self.labels[i]": "self.labels[i - 1]"},
            says="row i has the label of the row before it: both have the same index",
            gravity="idea",
        ),
        Mistake(
            "one short",
            change={"return len(self.rows)": "return len(self.rows) - 1"},
            says="an item is missing at the end: the length is the number of sentences",
            gravity="idea",
        ),
        Mistake(
            "labels in the plural", change={'"label": self': '"labels": self'}, hint="in the singular: it is one sentence", gravity="idea"
        ),
        Mistake(
            "a tuple",
            change={'{"input_ids": self.rows[i], "label": self.labels[i]}': "self.rows[i], self.labels[i]"},
            hint="an item is a dictionary",
            gravity="idea",
        ),
        Mistake(
            "always the first",
            change={"self.rows[i]": "self.rows[0]", "self.labels[i]": "self.labels[0]"},
            says="every item is the first sentence: use the index",
            gravity="idea",
        ),
        Mistake(
            "no complaint", change={"raise ValueError(": "print("}, hint="raise a ValueError, or the mix-up goes unnoticed", gravity="edge"
        ),
        Mistake(
            "padded early",
            change={
                "self.rows, self.labels = rows, labels": "n = max(map(len, rows))\n        self.rows, self.labels = [r + [0] * (n - len(r)) for r in rows], labels"
            },
            says="the rows are padded already: leave that to the batch, which knows its longest row",
            gravity="idea",
        ),
        Mistake("complains the wrong way", change={"!= len(labels)": "> len(labels)"}, hint="one row and two labels", gravity="edge"),
        Mistake(
            "first label for all",
            change={"self.labels[i]": "self.labels[0]"},
            says="every item has the first label: use the index",
            gravity="idea",
        ),
        Mistake(
            "length of the first row",
            change={"return len(self.rows)": "return len(self.rows[0])"},
            says="the length is that of the first row: it is the number of rows",
            gravity="idea",
        ),
        Mistake(
            "always the first row",
            change={"self.rows[i]": "self.rows[0]"},
            says="every item has the first row: use the index",
            gravity="idea",
        ),
        Mistake(
            "row and label exchanged",
            change={'{"input_ids": self.rows[i], "label": self.labels[i]}': '{"input_ids": self.labels[i], "label": self.rows[i]}'},
            says="row and label are exchanged",
            gravity="idea",
        ),
        Mistake(
            "labels reversed",
            change={"self.labels[i]}": "self.labels[-i - 1]}"},
            says="the labels are counted from the end: item i has label i",
            gravity="idea",
        ),
        Mistake(
            "no attention to the end",
            change={'{"input_ids": self.rows[i]': '{"input_ids": self.rows[i][1:-1]'},
            says="the first and the last token are left out: item i holds row i unchanged",
            gravity="idea",
        ),
        Mistake(
            "sorted",
            change={
                "self.rows, self.labels = rows, labels": "pairs = sorted(zip(rows, labels), key=lambda pair: len(pair[0]))\n        self.rows, self.labels = [row for row, _ in pairs], [label for _, label in pairs]"
            },
            says="the rows are sorted by length: item i is row i",
            gravity="idea",
        ),
        Right(
            "a list of items",
            code="""
class ReviewDataset(Dataset):
    def __init__(self, rows, labels):
        self.items = [{"input_ids": list(r), "label": int(y)} for r, y in zip(rows, labels, strict=True)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def all_items(dataset):
    return [dataset[i] for i in range(len(dataset))]
""",
        ),
        Right("tensors", change={'"input_ids": self.rows[i]': '"input_ids": torch.tensor(self.rows[i])'}),
    ],
    "collate": [
        Mistake(
            "padded to a multiple of 4",
            change={'T = max(len(item["input_ids"]) for item in items)': 'T = -(-max(len(item["input_ids"]) for item in items) // 4) * 4'},
            says="the rows are padded to a multiple of 4: pad to the longest row of this batch",
            gravity="idea",
        ),
        Mistake(
            "mask holds positions",
            change={"attention_mask[i, :n] = 1": "attention_mask[i, :n] = torch.arange(1, n + 1)"},
            says="the mask numbers the tokens: it is 1 wherever there is a token",
            gravity="part",
        ),
        Mistake(
            "mask one too few",
            change={"attention_mask[i, :n] = 1": "attention_mask[i, : n - 1] = 1"},
            says="the last token of every row is masked: filler begins after it",
            gravity="part",
        ),
        Mistake(
            "transposed",
            change={'"input_ids": input_ids,': '"input_ids": input_ids.T,'},
            says="the ids have the shape (T, B): one row per sentence, (B, T)",
            gravity="idea",
        ),
        Mistake(
            "one too long",
            change={'T = max(len(item["input_ids"]) for item in items)': 'T = max(len(item["input_ids"]) for item in items) + 1'},
            says="every row is padded one position too far: the longest row needs no filler",
            gravity="idea",
        ),
        Mistake(
            "as long as the first row",
            change={'T = max(len(item["input_ids"]) for item in items)': 'T = len(items[0]["input_ids"])'},
            says="the batch is as long as its first row: the longest one decides",
            gravity="idea",
        ),
        Mistake(
            "a fixed length",
            change={'T = max(len(item["input_ids"]) for item in items)': "T = 64"},
            says="every batch has the same length: pad to the longest row of this one",
            gravity="idea",
        ),
        Mistake(
            "sorted",
            change={"    T = max": "    items = sorted(items, key=lambda item: -len(item['input_ids']))\n    T = max"},
            says="the rows are sorted by length: row i of the batch is item i",
            gravity="idea",
        ),
        Mistake(
            "one column of labels",
            change={'[item["label"] for item in items])': '[[item["label"]] for item in items])'},
            says="the labels have the shape (B, 1): they must have the shape (B,)",
            gravity="part",
        ),
        Mistake(
            "ids as a list",
            change={'"input_ids": input_ids,': '"input_ids": input_ids.tolist(),'},
            hint="all three are int64",
            gravity="edge",
        ),
        Mistake(
            "label in the singular",
            change={'"labels": torch': '"label": torch'},
            hint="the model expects `labels`, in the plural",
            gravity="part",
        ),
        Mistake(
            "filler on the left",
            change={"input_ids[i, :n]": "input_ids[i, T - n :]"},
            says="the filler is on the left: this tokenizer's models expect it on the right",
            gravity="idea",
        ),
        Mistake(
            "cut to the shortest",
            change={"T = max(": "T = min(", '[i, :n] = torch.tensor(item["input_ids"])': '[i, :n] = torch.tensor(item["input_ids"][:T])'},
            says="the rows are cut to the shortest: pad to the longest",
            gravity="idea",
        ),
        Mistake(
            "mask upside down",
            change={
                "torch.zeros(len(items), T, dtype=torch.long)": "torch.ones(len(items), T, dtype=torch.long)",
                "attention_mask[i, :n] = 1": "attention_mask[i, :n] = 0",
            },
            says="the mask is inverted: 1 means that the position may be looked at",
            gravity="part",
        ),
        Mistake(
            "no mask",
            change={"torch.zeros(len(items), T, dtype=torch.long)": "torch.ones(len(items), T, dtype=torch.long)"},
            says="the mask hides nothing: filler must get 0",
            gravity="part",
        ),
        Mistake(
            "mask left out",
            change={'"attention_mask": attention_mask, ': ""},
            hint="the keys are input_ids, attention_mask and labels, and no more",
            gravity="part",
        ),
        Mistake("pad_id ignored", change={"T), pad_id)": "T), 0)"}, hint="with pad_id = 1, RoBERTa's, the filler is wrong", gravity="part"),
        Mistake(
            "mask from the ids",
            change={"    return {": "    attention_mask = (input_ids != pad_id).long()\n    return {"},
            hint="make the mask from the rows' lengths",
            gravity="part",
        ),
        Mistake("a float mask", change={"dtype=torch.long)": "dtype=torch.float)"}, hint="all three are int64", gravity="edge"),
        Mistake(
            "float labels",
            change={'torch.tensor([item["label"] for item in items])': 'torch.tensor([float(item["label"]) for item in items])'},
            hint="all three are int64",
            gravity="edge",
        ),
        Mistake(
            "fixed length",
            change={'T = max(len(item["input_ids"]) for item in items)': "T = 8"},
            hint="up to the longest row of this batch",
            gravity="idea",
        ),
        Mistake(
            "rows extended in place",
            code="""
def collate(items, pad_id=0):
    T = max(len(item["input_ids"]) for item in items)
    mask = torch.tensor([[1] * len(item["input_ids"]) + [0] * (T - len(item["input_ids"])) for item in items])
    for item in items:
        item["input_ids"] += [pad_id] * (T - len(item["input_ids"]))
    return {"input_ids": torch.tensor([item["input_ids"] for item in items]), "attention_mask": mask, "labels": torch.tensor([item["label"] for item in items])}
""",
            hint="your code changes the rows of the data set",
            gravity="edge",
        ),
        Mistake(
            "filler on the left",
            change={"input_ids[i, :n]": "input_ids[i, T - n :]", "attention_mask[i, :n]": "attention_mask[i, T - n :]"},
            says="the filler stands on the left: rows are filled on the right",
            gravity="idea",
        ),
        Mistake(
            "filler always 0",
            change={"(len(items), T), pad_id)": "(len(items), T), 0)"},
            says="`pad_id` is not used: the filler is always 0",
            gravity="part",
        ),
        Mistake(
            "labels in floats",
            change={'torch.tensor([item["label"] for item in items])': 'torch.tensor([float(item["label"]) for item in items])'},
            says="the labels are floats: all three tensors are int64",
            gravity="edge",
        ),
        Mistake(
            "mask in floats", change={"T, dtype=torch.long)": "T)"}, says="the mask is float: all three tensors are int64", gravity="edge"
        ),
        Mistake(
            "mask in bools",
            change={"T, dtype=torch.long)": "T, dtype=torch.bool)"},
            says="the mask is bool: all three tensors are int64",
            gravity="edge",
        ),
        Mistake(
            "always 128",
            change={'T = max(len(item["input_ids"]) for item in items)': "T = 128"},
            says="every batch is padded to 128: the longest row of this batch decides",
            gravity="idea",
        ),
        Mistake(
            "singular",
            change={'"labels": torch': '"label": torch'},
            says="the key is `label`: the model expects `labels`, in the plural, or it computes no loss",
            gravity="part",
        ),
        Mistake(
            "mask one too long",
            change={"attention_mask[i, :n] = 1": "attention_mask[i, : n + 1] = 1"},
            says="the mask also marks the first filler of each row: it is 1 for n tokens only",
            gravity="part",
        ),
        Right(
            "pad_sequence",
            code="""
from torch.nn.utils.rnn import pad_sequence

def collate(items, pad_id=0):
    rows = [torch.as_tensor(item["input_ids"]) for item in items]
    return {
        "input_ids": pad_sequence(rows, batch_first=True, padding_value=pad_id),
        "attention_mask": pad_sequence([torch.ones_like(r) for r in rows], batch_first=True),
        "labels": torch.tensor([item["label"] for item in items]),
    }
""",
        ),
        Right(
            "lists",
            code="""
def collate(items, pad_id=0):
    T = max(len(item["input_ids"]) for item in items)
    ids, mask = [], []
    for item in items:
        gap = T - len(item["input_ids"])
        ids.append(list(item["input_ids"]) + [pad_id] * gap)
        mask.append([1] * (T - gap) + [0] * gap)
    return {"labels": torch.LongTensor([item["label"] for item in items]), "attention_mask": torch.LongTensor(mask), "input_ids": torch.LongTensor(ids)}
""",
        ),
    ],
    "loader": [
        Mistake(
            "shuffled with Python's generator",
            code="""
def make_loader(dataset, batch_size, training, seed=0, pad_id=0):
    items = [dataset[i] for i in range(len(dataset))]
    if training:
        random.seed(seed)
        random.shuffle(items)
    return DataLoader(items, batch_size, shuffle=False, collate_fn=partial(collate, pad_id=pad_id))


def ids_in(loader):
    return [batch["input_ids"].tolist() for batch in loader]
""",
            says="the items are shuffled once, before the loader is made: it must shuffle again in every epoch",
            gravity="part",
        ),
        Mistake(
            "a list of batches",
            code="""
def make_loader(dataset, batch_size, training, seed=0, pad_id=0):
    generator = torch.Generator().manual_seed(seed)
    return list(DataLoader(dataset, batch_size, shuffle=training, collate_fn=partial(collate, pad_id=pad_id), generator=generator))


def ids_in(loader):
    return [batch["input_ids"].tolist() for batch in loader]
""",
            says="the batches are made once, when the loader is made: every epoch repeats their order. Return the DataLoader itself",
            gravity="part",
        ),
        Mistake(
            "dropped in training",
            change={"generator=generator)": "generator=generator, drop_last=training)"},
            says="in training the last, small batch is dropped: every sentence counts",
            gravity="part",
        ),
        Mistake("never shuffled", change={"shuffle=training": "shuffle=False"}, hint="training batches are shuffled", gravity="part"),
        Mistake("always shuffled", change={"shuffle=training": "shuffle=True"}, hint="validation keeps the order", gravity="part"),
        Mistake(
            "last batch dropped",
            change={"generator=generator)": "generator=generator, drop_last=True)"},
            says="the last, small batch is dropped: every sentence counts",
            gravity="idea",
        ),
        Mistake(
            "batches of one",
            change={"DataLoader(dataset, batch_size,": "DataLoader(dataset, 1,"},
            says="the batch size is not used",
            gravity="idea",
        ),
        Mistake("seed ignored", change={"manual_seed(seed)": "manual_seed(0)"}, hint="different seeds give the same order", gravity="part"),
        Mistake("no generator", change={", generator=generator)": ")"}, hint="the same seed gives a different order", gravity="part"),
        Mistake(
            "no collate",
            change={"collate_fn=partial(collate, pad_id=pad_id), ": ""},
            hint="is `collate` the loader's collate_fn?",
            gravity="idea",
        ),
        Mistake(
            "pad_id lost",
            change={"partial(collate, pad_id=pad_id)": "collate"},
            hint="is your `collate` used, with `pad_id`?",
            gravity="part",
        ),
        Mistake(
            "shuffled once",
            change={
                "    return DataLoader(dataset, batch_size, shuffle=training,": "    if training:\n        order = torch.randperm(len(dataset), generator=generator).tolist()\n        dataset = [dataset[i] for i in order]\n    return DataLoader(dataset, batch_size, shuffle=False,"
            },
            hint="the second epoch has the same order as the first",
            gravity="part",
        ),
        Mistake(
            "always in order",
            change={"shuffle=training": "shuffle=False"},
            says="training batches come in order: they are shuffled, `shuffle=training`",
            gravity="part",
        ),
        Mistake(
            "always in disorder",
            change={"shuffle=training": "shuffle=True"},
            says="validation is shuffled, too: it keeps its order, `shuffle=training`",
            gravity="part",
        ),
        Mistake(
            "turned round",
            change={"shuffle=training": "shuffle=not training"},
            says="it is the other way round: training batches are shuffled, validation keeps its order",
            gravity="part",
        ),
        Mistake(
            "the whole set",
            change={"DataLoader(dataset, batch_size,": "DataLoader(dataset, len(dataset),"},
            says="one batch holds the whole data set: use `batch_size`",
            gravity="idea",
        ),
        Mistake(
            "filler 0",
            change={"partial(collate, pad_id=pad_id)": "collate"},
            says="`pad_id` is not used: give `partial(collate, pad_id=pad_id)` to the loader",
            gravity="part",
        ),
        Right(
            "samplers",
            code="""
from torch.utils.data import RandomSampler, SequentialSampler

def make_loader(dataset, batch_size, training, seed=0, pad_id=0):
    g = torch.Generator()
    g.manual_seed(seed)
    sampler = RandomSampler(dataset, generator=g) if training else SequentialSampler(dataset)
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler, collate_fn=lambda items: collate(items, pad_id))


def ids_in(loader):
    return [batch["input_ids"].tolist() for batch in loader]
""",
        ),
        Right(
            "an object of one's own",
            code="""
class Loader:
    def __init__(self, dataset, batch_size, training, seed, pad_id):
        self.dataset, self.batch_size, self.training, self.pad_id = dataset, batch_size, training, pad_id
        self.draw = random.Random(seed)

    def __len__(self):
        return -(-len(self.dataset) // self.batch_size)

    def __iter__(self):
        order = list(range(len(self.dataset)))
        if self.training:
            self.draw.shuffle(order)
        for i in range(0, len(order), self.batch_size):
            yield collate([self.dataset[j] for j in order[i : i + self.batch_size]], self.pad_id)


def make_loader(dataset, batch_size, training, seed=0, pad_id=0):
    return Loader(dataset, batch_size, training, seed, pad_id)


def ids_in(loader):
    return [batch["input_ids"].tolist() for batch in loader]
""",
        ),
    ],
    "buckets": [
        Mistake(
            "shuffled within the batches",
            change={"    random.Random(seed).shuffle(batches)": "    for b in batches:\n        random.Random(seed).shuffle(b)"},
            says="length_buckets: the sentences are shuffled within each batch, and the batches are not: shuffle the list of batches",
            gravity="part",
        ),
        Mistake(
            "remainder joined to the last batch",
            change={
                "    random.Random(seed).shuffle(batches)": "    if len(batches) > 1 and len(batches[-1]) < batch_size:\n        last = batches.pop()\n        batches[-1] += last\n    random.Random(seed).shuffle(batches)"
            },
            says="length_buckets: the last, small batch is joined to the one before it: no batch is larger than batch_size",
            gravity="idea",
        ),
        Mistake(
            "index of a length",
            change={"order = sorted(range(len(lengths)), key=lambda i: lengths[i])": "order = [lengths.index(n) for n in sorted(lengths)]"},
            says="length_buckets: `lengths.index` finds the same sentence for all of one length: sort the numbers themselves",
            gravity="idea",
        ),
        Mistake(
            "whole division",
            change={"return 1 - tokens / positions": "return (positions - tokens) // positions"},
            says="padding_share: `//` cuts the share off to 0: divide with `/`",
            gravity="idea",
        ),
        Mistake(
            "share rounded",
            change={"return 1 - tokens / positions": "return round(1 - tokens / positions, 3)"},
            hint="padding_share: the share is rounded: return all its digits",
            gravity="edge",
        ),
        Mistake(
            "tokens of all sentences",
            change={"tokens = sum(lengths[i] for batch in batches for i in batch)": "tokens = sum(lengths)"},
            says="padding_share: all sentences' tokens are counted, also those that are in no batch: count those of the batches",
            gravity="edge",
        ),
        Mistake(
            "strides",
            change={
                "order[i : i + batch_size] for i in range(0, len(order), batch_size)": "order[i::batch_size] for i in range(batch_size)"
            },
            says="length_buckets: `order[i::n]` takes every n-th sentence, so the batches mix short and long ones: cut the sorted list into pieces",
            gravity="idea",
        ),
        Mistake(
            "the global generator seeded",
            change={"random.Random(seed).shuffle(batches)": "random.seed(seed)\n    random.shuffle(batches)"},
            hint="draws from Python's global generator, or seeds it",
            gravity="edge",
        ),
        Mistake(
            "share of tokens",
            change={"return 1 - tokens": "return tokens"},
            says="padding_share: that is the share of tokens: return the share of filler",
            gravity="idea",
        ),
        Mistake(
            "per token",
            change={"return 1 - tokens / positions": "return positions / tokens - 1"},
            says="padding_share: that is filler per token; divide by all positions",
            gravity="idea",
        ),
        Mistake(
            "longest of all",
            change={"max(lengths[i] for i in batch)": "max(lengths)"},
            says="padding_share: every batch is padded to its own longest sentence, not to the longest of all",
            gravity="idea",
        ),
        Mistake(
            "a count",
            change={"return 1 - tokens / positions": "return positions - tokens"},
            says="padding_share: that is a number of positions, not a share",
            gravity="idea",
        ),
        Mistake(
            "mean of shares",
            change={
                "return 1 - tokens / positions": "return sum(1 - sum(lengths[i] for i in b) / (len(b) * max(lengths[i] for i in b)) for b in batches) / len(batches)"
            },
            says="padding_share: the batches' shares are averaged: add up filler and positions first",
            gravity="idea",
        ),
        Mistake(
            "not shuffled",
            change={"    random.Random(seed).shuffle(batches)\n": ""},
            hint="the batches come in the order of their length",
            gravity="part",
        ),
        Mistake(
            "shuffled before the cut",
            change={"    batches = [order": "    random.Random(seed).shuffle(order)\n    batches = [order"},
            hint="the batches mix short and long sentences",
            gravity="idea",
        ),
        Mistake(
            "lengths for numbers",
            change={"order = sorted(range(len(lengths)), key=lambda i: lengths[i])": "order = sorted(lengths)"},
            hint="numbers of sentences, not their lengths",
            gravity="idea",
        ),
        Mistake(
            "small batch lost",
            change={"range(0, len(order), batch_size)": "range(0, len(order) - batch_size + 1, batch_size)"},
            hint="eleven sentences in batches of three: one has two, and is kept",
            gravity="idea",
        ),
        Mistake(
            "seed ignored",
            change={"random.Random(seed)": "random.Random(0)"},
            hint="every seed gives the same order of batches",
            gravity="part",
        ),
        Mistake(
            "global generator",
            change={"random.Random(seed).shuffle": "random.shuffle"},
            hint="the same seed gives two different orders",
            gravity="part",
        ),
        Mistake("sorted in place", change={"order = sorted(": "lengths.sort()\n    order = sorted("}, hint=IN_PLACE, gravity="idea"),
        Mistake(
            "the last batch dropped",
            change={"range(0, len(order), batch_size)": "range(0, len(order) - batch_size + 1, batch_size)"},
            says="length_buckets: the last, small batch is dropped: every sentence is in a batch",
            gravity="idea",
        ),
        Mistake(
            "largest only",
            change={
                "sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)": "sum(max(lengths[i] for i in batch) for batch in batches)"
            },
            says="padding_share: a batch has as many rows as sentences: multiply its longest length by their number",
            gravity="idea",
        ),
        Mistake(
            "percent",
            change={"1 - tokens / positions": "100 * (1 - tokens / positions)"},
            says="padding_share: this is a percentage: return a share between 0 and 1",
            gravity="idea",
        ),
        Right("longest first", change={"key=lambda i: lengths[i]": "key=lambda i: -lengths[i]"}),
        Right(
            "tensors and torch's generator",
            code=SHARE
            + """
def length_buckets(lengths, batch_size, seed):
    batches = list(torch.tensor(lengths).argsort().split(batch_size))
    order = torch.randperm(len(batches), generator=torch.Generator().manual_seed(seed))
    return [batches[i].tolist() for i in order.tolist()]
""",
        ),
        Right(
            "shuffled first, so that ties fall differently",
            change={"order = sorted(range(len(lengths))": "order = sorted(random.Random(seed).sample(range(len(lengths)), len(lengths))"},
        ),
    ],
    "mean-pool": [
        Mistake(
            "epsilon",
            change={"weights.sum(dim=1)": "(weights.sum(dim=1) + 1e-2)"},
            says="a number is added to the divisor, so the mean is too small: every row has at least one real token",
            gravity="idea",
        ),
        Mistake(
            "max pool",
            change={"(hidden * weights).sum(dim=1) / weights.sum(dim=1)": "hidden.masked_fill(weights == 0, -1e9).max(dim=1).values"},
            says="this is the largest value of the real tokens: return their mean",
            gravity="idea",
        ),
        Mistake(
            "last token left out",
            change={"    weights = mask": "    mask = mask.clone()\n    mask[:, -1] = 0\n    weights = mask"},
            says="the last position is never counted: the mask alone says which tokens are real",
            gravity="idea",
        ),
        Mistake(
            "softmax weights",
            change={".to(hidden.dtype)  # (B, T, 1)": ".to(hidden.dtype).softmax(dim=1)"},
            says="softmax gives filler a weight, too: divide the mask by its sum",
            gravity="idea",
        ),
        Mistake(
            "bfloat16 inside",
            change={"return (hidden * weights)": "return (hidden * weights).to(torch.bfloat16).to(hidden.dtype)"},
            says="the mean has lost digits on the way: keep the dtype of the hidden states",
            gravity="idea",
        ),
        Mistake(
            "filler counts",
            change={"return (hidden * weights).sum(dim=1) / weights.sum(dim=1)": "return hidden.mean(dim=1)"},
            says="filler is in the mean: weight every position by the mask",
            gravity="idea",
        ),
        Mistake(
            "divided by T",
            change={"/ weights.sum(dim=1)": "/ hidden.shape[1]"},
            says="the sum is divided by T: divide by the number of real tokens of each row",
            gravity="idea",
        ),
        Mistake("a sum", change={" / weights.sum(dim=1)": ""}, says="this is the sum: divide by the number of real tokens", gravity="idea"),
        Mistake(
            "first token",
            change={"return (hidden * weights).sum(dim=1) / weights.sum(dim=1)": "return hidden[:, 0]"},
            says="this is the first token's state: return the mean",
            gravity="idea",
        ),
        Mistake(
            "mask upside down",
            change={"mask.unsqueeze(-1)": "(1 - mask.int()).unsqueeze(-1)"},
            says="this is the mean of the filler: 1 marks the real tokens",
            gravity="idea",
        ),
        Mistake(
            "one count for all",
            change={"/ weights.sum(dim=1)": "/ weights.sum(dim=1).mean()"},
            says="one number of tokens is used for all rows: each row has its own",
            gravity="idea",
        ),
        Mistake(
            "over the width",
            change={"(hidden * weights).sum(dim=1) / weights.sum(dim=1)": "(hidden * weights).mean(dim=-1)"},
            hint="Which axis is averaged away?",
            gravity="idea",
        ),
        Mistake(
            "by lengths",
            change={"weights = mask.unsqueeze(-1)": "weights = (torch.arange(mask.shape[1]) < mask.sum(1, keepdim=True)).unsqueeze(-1)"},
            hint="use the mask, not lengths",
            gravity="edge",
        ),
        Mistake(
            "detached",
            change={"(hidden * weights)": "(hidden.detach() * weights)"},
            hint="the gradient through your mean is wrong, or does not flow",
            gravity="edge",
        ),
        Mistake("in place", change={"    return (hidden": "    hidden *= weights\n    return (hidden"}, hint=IN_PLACE, gravity="edge"),
        Mistake(
            "the largest",
            change={"(hidden * weights).sum(dim=1) / weights.sum(dim=1)": "(hidden * weights).amax(dim=1)"},
            says="this is the largest value over the tokens: return the mean",
            gravity="idea",
        ),
        Mistake(
            "the last token",
            change={"(hidden * weights).sum(dim=1) / weights.sum(dim=1)": "hidden[:, -1]"},
            says="this is the last position's state: return the mean of the real tokens",
            gravity="idea",
        ),
        Mistake(
            "over the width",
            change={"(hidden * weights).sum(dim=1) / weights.sum(dim=1)": "(hidden * weights).sum(dim=2) / hidden.shape[2]"},
            says="the mean runs over the width: it runs over the positions, axis 1",
            gravity="idea",
        ),
        Mistake(
            "over the batch",
            change={"(hidden * weights).sum(dim=1) / weights.sum(dim=1)": "(hidden * weights).sum(dim=0) / weights.sum(dim=0)"},
            says="the mean runs over the sentences: it runs over the positions, axis 1",
            gravity="idea",
        ),
        Mistake(
            "the mask of the batch",
            change={"weights.sum(dim=1)": "weights.sum()"},
            says="the sum of the mask over the whole batch is used: each row has its own number of tokens",
            gravity="idea",
        ),
        Mistake(
            "mask in the divisor only",
            change={"(hidden * weights).sum": "hidden.sum"},
            says="filler is summed up, too: use the mask in the sum, not only in the divisor",
            gravity="idea",
        ),
        Right(
            "einsum",
            change={
                "(hidden * weights).sum(dim=1) / weights.sum(dim=1)": 'torch.einsum("btd,bt->bd", hidden, weights[..., 0]) / weights.sum(dim=1)'
            },
        ),
        Right(
            "a loop",
            change={
                "(hidden * weights).sum(dim=1) / weights.sum(dim=1)": "torch.stack([h[m.bool()].mean(0) for h, m in zip(hidden, mask)])"
            },
        ),
    ],
    "extract": [
        Mistake(
            "evaluation mode too late",
            change={
                "    encoder.eval()\n": "",
                'labels.append(batch["labels"])': 'labels.append(batch["labels"])\n            encoder.eval()',
            },
            says="the first batch meets the encoder in training mode: call encoder.eval() before the loop",
            gravity="idea",
        ),
        Mistake(
            "batches read twice",
            code="""
def extract(encoder, batches):
    encoder.eval()
    with torch.no_grad():
        features = [mean_pool(encoder(input_ids=b["input_ids"], attention_mask=b["attention_mask"]).last_hidden_state, b["attention_mask"]) for b in batches]
    labels = [b["labels"] for b in batches]
    return torch.cat(features), torch.cat(labels)
"""
            + TOY_FEATURES,
            says="the batches are gone through twice, but a loader or generator may come only once: collect features and labels in the same loop",
            gravity="idea",
        ),
        Mistake(
            "normalised",
            change={"return torch.cat(features)": "return F.normalize(torch.cat(features), dim=-1)"},
            says="the features are divided by their length: return the pooled states as they are",
            gravity="idea",
        ),
        Mistake("training mode", change={"    encoder.eval()\n": ""}, hint="the encoder is in training mode", gravity="part"),
        Mistake("with gradients", change={"torch.no_grad()": "torch.enable_grad()"}, hint="gradients were recorded", gravity="part"),
        Mistake(
            "no mask for the encoder",
            change={', attention_mask=batch["attention_mask"])': ")"},
            says="the tokens look at filler: pass the encoder its attention_mask, too",
            gravity="part",
        ),
        Mistake(
            "no mask at all",
            change={', attention_mask=batch["attention_mask"])': ")", 'mean_pool(hidden, batch["attention_mask"])': "hidden.mean(1)"},
            says="the mask reaches neither the encoder nor the pooling",
            gravity="part",
        ),
        Mistake(
            "features only",
            change={"return torch.cat(features), torch.cat(labels)": "return torch.cat(features)"},
            hint="the labels of all batches, joined in the same order",
            gravity="part",
        ),
        Mistake(
            "lists of batches",
            change={"torch.cat(features), torch.cat(labels)": "features, labels"},
            hint="return features and labels, the batches joined along the first axis",
            gravity="idea",
        ),
        Mistake(
            "filler in the mean",
            change={'mean_pool(hidden, batch["attention_mask"])': "hidden.mean(1)"},
            says="the pooling ignores the mask, or the mask is not that of the batch",
            gravity="part",
        ),
        Mistake(
            "last batch only",
            change={"torch.cat(features), torch.cat(labels)": "features[-1], labels[-1]"},
            hint="three sentences in two batches",
            gravity="idea",
        ),
        Mistake(
            "twice through the encoder",
            change={
                "            hidden = ": '            encoder(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])\n            hidden = '
            },
            hint="the encoder is called once for each batch",
            gravity="edge",
        ),
        Mistake(
            "labels in reverse",
            change={"torch.cat(labels)": "torch.cat(labels[::-1])"},
            hint="the labels of all batches, joined in the same order",
            gravity="part",
        ),
        Mistake(
            "the first batch only",
            change={"torch.cat(features), torch.cat(labels)": "features[0], labels[0]"},
            says="only the first batch comes back: join all of them with `torch.cat`",
            gravity="idea",
        ),
        Mistake(
            "the last batch only",
            change={"torch.cat(features), torch.cat(labels)": "features[-1], labels[-1]"},
            says="only the last batch comes back: join all of them with `torch.cat`",
            gravity="idea",
        ),
        Mistake(
            "no labels",
            change={"torch.cat(features), torch.cat(labels)": "torch.cat(features)"},
            says="the labels are missing: return features and labels",
            gravity="part",
        ),
        Mistake(
            "labels first",
            change={"torch.cat(features), torch.cat(labels)": "torch.cat(labels), torch.cat(features)"},
            says="the labels come first: the features do",
            gravity="idea",
        ),
        Mistake(
            "frozen afterwards",
            change={"encoder.eval()": "encoder.eval().requires_grad_(False)"},
            says="the encoder's weights are frozen afterwards: `torch.no_grad()` is enough, leave `requires_grad` alone",
            gravity="edge",
        ),
        Mistake(
            "counted first",
            change={"    encoder.eval()\n": "    encoder.eval()\n    assert sum(len(batch['labels']) for batch in batches)\n"},
            hint="batches that come once",
            gravity="edge",
        ),
        Mistake(
            "before pooling",
            change={'mean_pool(hidden, batch["attention_mask"])': "hidden"},
            says="the states of the tokens come back: pool them to one vector per sentence",
            gravity="idea",
        ),
        Mistake(
            "the first token",
            change={'mean_pool(hidden, batch["attention_mask"])': "hidden[:, 0]"},
            says="this is the first token's state: pool with `mean_pool`",
            gravity="idea",
        ),
        Mistake(
            "in reverse",
            change={"torch.cat(features), torch.cat(labels)": "torch.cat(features[::-1]), torch.cat(labels[::-1])"},
            says="the batches come in reverse order",
            gravity="idea",
        ),
        Right(
            "decorated",
            code="""
@torch.no_grad()
def extract(encoder, batches):
    encoder.train(False)
    pairs = [(mean_pool(encoder(b["input_ids"], b["attention_mask"])[0], b["attention_mask"]), b["labels"]) for b in batches]
    return torch.cat([f for f, _ in pairs]), torch.cat([y for _, y in pairs])
"""
            + TOY_FEATURES,
        ),
        Right(
            "inference mode, everything but the labels",
            code="""
def extract(encoder, batches):
    encoder.eval()
    features, labels = [], []
    for batch in batches:
        inputs = {name: tensor for name, tensor in batch.items() if name != "labels"}
        with torch.inference_mode():
            features.extend(mean_pool(encoder(**inputs).last_hidden_state, batch["attention_mask"]))
        labels.extend(batch["labels"].tolist())
    return [torch.stack(features), torch.tensor(labels)]
"""
            + TOY_FEATURES,
        ),
    ],
    "head": [
        Mistake(
            "mean decay over D",
            change={"decay / 2 * w @ w": "decay / 2 * (w * w).mean()"},
            says="the weight decay is a mean over the features: it is λ/2 times the sum of the squares of w",
            gravity="part",
        ),
        Mistake(
            "bias decayed in the loss",
            change={"decay / 2 * w @ w": "decay / 2 * (w @ w + b * b)"},
            says="the bias is decayed in the loss: λ belongs to w alone",
            gravity="part",
        ),
        Mistake(
            "labels shifted to ±1",
            change={"residual = torch.sigmoid(z) - labels": "residual = torch.sigmoid(z) - (2 * labels - 1)"},
            says="the labels are turned into −1 and 1: here they are 0 and 1, and the residual is p − y",
            gravity="idea",
        ),
        Mistake(
            "divided by D",
            change={"residual / len(labels)": "residual / features.shape[1]"},
            says="the gradient by w is divided by the number of features: the mean runs over the N sentences",
            gravity="idea",
        ),
        Mistake(
            "gradients exchanged",
            change={"+ decay * w, residual.mean()": "+ decay * w", "return loss, ": "return loss, residual.mean(), "},
            says="the two gradients come in the wrong order: the one by w, then the one by b",
            gravity="idea",
        ),
        Mistake(
            "no decay in the loss",
            change={".mean() + decay / 2 * w @ w": ".mean()"},
            says="the loss lacks its weight decay, half of λ times the squared length of w",
            gravity="part",
        ),
        Mistake(
            "decay without one half",
            change={"decay / 2 * w @ w": "decay * w @ w"},
            says="the weight decay lacks its factor one half",
            gravity="part",
        ),
        Mistake(
            "no decay in the gradient",
            change={" + decay * w, residual": ", residual"},
            says="the gradient by w lacks the weight decay, λ w",
            gravity="part",
        ),
        Mistake(
            "a sum",
            change={"features.T @ residual / len(labels)": "features.T @ residual"},
            says="the gradient by w is a sum; the loss is a mean over N sentences",
            gravity="idea",
        ),
        Mistake(
            "residual turned round",
            change={"torch.sigmoid(z) - labels  #": "labels - torch.sigmoid(z)  #"},
            says="the sign of the residual is wrong: it is p − y",
            gravity="idea",
        ),
        Mistake(
            "squared error's factor",
            change={"features.T @ residual": "features.T @ (residual * torch.sigmoid(z) * (1 - torch.sigmoid(z)))"},
            says="there is an extra factor p(1 − p), which belongs to the squared error: derive the bracket by z again",
            gravity="idea",
        ),
        Mistake(
            "bias decayed", change={"residual.mean()\n": "residual.mean() + decay * b\n"}, hint="the bias is not decayed", gravity="part"
        ),
        Mistake(
            "summed bias gradient",
            change={"residual.mean()\n": "residual.sum()\n"},
            says="the gradient by b is a sum; the loss is a mean",
            gravity="idea",
        ),
        Mistake("overflow", change={"F.softplus(z)": "torch.log(1 + torch.exp(z))"}, hint="scores of ±200 overflow", gravity="edge"),
        Mistake(
            "loss only",
            change={"return loss, features.T @ residual / len(labels) + decay * w, residual.mean()": "return loss"},
            hint="three things come back",
            gravity="idea",
        ),
        Mistake(
            "autograd",
            code="""
def head_gradient(features, labels, w, b, decay):
    w, b = w.detach().clone().requires_grad_(), torch.as_tensor(b).detach().clone().requires_grad_()
    loss = F.binary_cross_entropy_with_logits(features @ w + b, labels) + decay / 2 * w @ w
    by_w, by_b = torch.autograd.grad(loss, (w, b))
    return loss.detach(), by_w, by_b
""",
            hint="do not let autograd do it",
            gravity="idea",
        ),
        Mistake(
            "labels added",
            change={"- labels * z)": "+ labels * z)"},
            says="the sign of y z in the loss is wrong: it is log(1 + e^z) − y z",
            gravity="idea",
        ),
        Mistake(
            "no labels",
            change={"(F.softplus(z) - labels * z)": "F.softplus(z)"},
            says="the loss lacks y z: it is log(1 + e^z) − y z",
            gravity="idea",
        ),
        Mistake(
            "no sigmoid",
            change={"torch.sigmoid(z) - labels": "z - labels"},
            says="the score z is used in place of the probability p in the gradients: the residual is p − y",
            gravity="idea",
        ),
        Mistake(
            "no labels in the residual",
            change={"torch.sigmoid(z) - labels": "torch.sigmoid(z)"},
            says="the labels are missing in the gradients: the residual is p − y",
            gravity="idea",
        ),
        Mistake(
            "derivative of the sigmoid",
            change={"torch.sigmoid(z) - labels": "(torch.sigmoid(z) - labels) * torch.sigmoid(z) * (1 - torch.sigmoid(z))"},
            says="the residual is multiplied by p (1 − p): that is the derivative for a squared error, here it is p − y",
            gravity="idea",
        ),
        Mistake(
            "features not used",
            change={"features.T @ residual": "features.sum(0) * residual.sum()"},
            says="features and residuals are summed before they are multiplied: multiply sentence by sentence",
            gravity="idea",
        ),
        Mistake(
            "absolute error",
            change={"(F.softplus(z) - labels * z).mean()": "(torch.sigmoid(z) - labels).square().mean()"},
            says="this is the mean squared error: the loss is the mean of log(1 + e^z) − y z",
            gravity="idea",
        ),
        Mistake(
            "decay squared", change={"decay * w, res": "decay**2 * w, res"}, says="the gradient by w has λ² w: it has λ w", gravity="part"
        ),
        Mistake(
            "loss summed up",
            change={"(F.softplus(z) - labels * z).mean()": "(F.softplus(z) - labels * z).sum()"},
            says="the loss is a mean over the sentences, not a sum",
            gravity="idea",
        ),
        Mistake(
            "labels inverted in the loss",
            change={"(F.softplus(z) - labels * z)": "(F.softplus(z) - (1 - labels) * z)"},
            says="the labels are inverted: y = 1 means positive",
            gravity="idea",
        ),
        Mistake("no bias", change={"features @ w + b": "features @ w"}, says="the bias is not used: z = w · f + b", gravity="idea"),
        Mistake(
            "length, not its square",
            change={"decay / 2 * w @ w": "decay / 2 * w.norm()"},
            says="the weight decay takes the length of w, not its square",
            gravity="part",
        ),
        Mistake(
            "decay's gradient doubled",
            change={"+ decay * w, res": "+ 2 * decay * w, res"},
            says="2 λ w: the derivative of λ/2 ‖w‖² is λ w",
            gravity="part",
        ),
        Mistake(
            "decay's gradient halved",
            change={"+ decay * w, res": "+ decay / 2 * w, res"},
            says="λ w / 2: the derivative of λ/2 ‖w‖² is λ w",
            gravity="part",
        ),
        Mistake(
            "decay divided by N",
            change={"features.T @ residual / len(labels) + decay * w": "(features.T @ residual + decay * w) / len(labels)"},
            says="λ w is divided by the number of sentences: only the data's part of the loss is a mean",
            gravity="part",
        ),
        Mistake(
            "sign of the bias's gradient",
            change={"residual.mean()": "-residual.mean()"},
            says="the gradient by b has the wrong sign: it is the mean of p − y",
            gravity="idea",
        ),
        Right(
            "a loop over sentences",
            code="""
def head_gradient(features, labels, w, b, decay):
    loss, by_w, by_b = decay / 2 * (w**2).sum(), decay * w, 0.0
    for f, y in zip(features, labels):
        z = (f * w).sum() + b
        p = 1 / (1 + torch.exp(-z))
        loss = loss - (F.logsigmoid(z) if y > 0.5 else F.logsigmoid(-z)) / len(labels)
        by_w = by_w + (p - y) * f / len(labels)
        by_b = by_b + (p - y) / len(labels)
    return loss, by_w, by_b
""",
        ),
        Right(
            "the library's loss",
            change={
                "(F.softplus(z) - labels * z).mean()": "F.binary_cross_entropy_with_logits(z, labels)",
                "features.T @ residual / len(labels)": "(features * residual[:, None]).mean(0)",
            },
        ),
    ],
    "groups": [
        Mistake(
            "head plus",
            change={"head_factor * rate": "head_factor + rate"},
            says="head_factor is added to the rate: multiply",
            gravity="idea",
        ),
        Mistake(
            "head decay scaled",
            change={"0.0 if plain else decay": "0.0 if plain else decay * (head_factor if name.startswith('classifier.') else 1)"},
            says="head_factor is applied to the head's decay: it belongs to the rate alone",
            gravity="part",
        ),
        Mistake(
            "shared dictionary",
            code="""
def parameter_settings(names, rate, decay, head_factor=10.0):
    settings, one = {}, {}
    for name in names:
        if "embeddings." in name:
            continue
        one["lr"] = head_factor * rate if name.startswith("classifier.") else rate
        one["weight_decay"] = 0.0 if name.endswith("bias") or "LayerNorm" in name else decay
        settings[name] = one
    return settings
""",
            says="all names share one dictionary, so all get the last name's numbers: make a new one for each name",
            gravity="idea",
        ),
        Mistake(
            "settings kept between calls",
            code="""
SETTINGS = {}
def parameter_settings(names, rate, decay, head_factor=10.0):
    for name in names:
        if "embeddings." in name:
            continue
        SETTINGS[name] = {"lr": head_factor * rate if name.startswith("classifier.") else rate, "weight_decay": 0.0 if name.endswith("bias") or "LayerNorm" in name else decay}
    return SETTINGS
""",
            says="the settings of an earlier call are still there: make the dictionary inside the function",
            gravity="part",
        ),
        Mistake(
            "embeddings trained",
            change={'        if "embeddings." in name:\n            continue\n': ""},
            hint="the embeddings must be left out",
            gravity="part",
        ),
        Mistake(
            "word embeddings only",
            change={'"embeddings." in name': '"word_embeddings" in name'},
            hint="all of the embeddings are frozen",
            gravity="part",
        ),
        Mistake(
            "one rate",
            change={"head_factor * rate if": "rate if"},
            says="the head learns as slowly as the encoder: multiply its rate by head_factor",
            gravity="idea",
        ),
        Mistake(
            "factor divides",
            change={"head_factor * rate": "rate / head_factor"},
            says="the head's rate is divided by head_factor: it has the longer way to go",
            gravity="idea",
        ),
        Mistake(
            "factor on the encoder",
            change={"head_factor * rate if name": "rate if name", "else rate\n": "else head_factor * rate\n"},
            says="head_factor is applied to the encoder: apply it to the head",
            gravity="idea",
        ),
        Mistake(
            "all decayed",
            change={"0.0 if plain else decay": "decay"},
            says="everything is decayed: biases and LayerNorm gains get 0",
            gravity="part",
        ),
        Mistake(
            "gain decayed",
            change={' or "LayerNorm" in name': ""},
            says="the LayerNorm gain is decayed: its decay is 0, as for the biases",
            gravity="part",
        ),
        Mistake(
            "biases decayed",
            change={'name.endswith("bias") or "LayerNorm" in name': '"LayerNorm" in name'},
            says="biases are decayed: they get 0",
            gravity="part",
        ),
        Mistake(
            "decay turned round",
            change={"0.0 if plain else decay": "decay if plain else 0.0"},
            says="it is the other way round: matrices are decayed, biases and gains are not",
            gravity="part",
        ),
        Mistake(
            "pooler as head",
            change={'name.startswith("classifier.")': '"encoder" not in name'},
            says="the pooler came with the pretrained model: only `classifier.` is new",
            gravity="idea",
        ),
        Mistake(
            "pairs of numbers",
            change={'{"lr": lr, "weight_decay": 0.0 if plain else decay}': "(lr, 0.0 if plain else decay)"},
            hint="every name gets a dictionary",
            gravity="idea",
        ),
        Mistake("another key", change={'"weight_decay"': '"decay"'}, hint="every name gets a dictionary", gravity="part"),
        Mistake(
            "one layer of the head",
            change={'name.startswith("classifier.")': 'name in ("classifier.weight", "classifier.bias")'},
            says="RoBERTa's classifier has more layers than one, all new: go by how a name starts",
            gravity="idea",
        ),
        Mistake(
            "all as the head",
            change={'if name.startswith("classifier.") else rate': "if True else rate"},
            says="every weight gets the head's rate: only what starts with `classifier.` does",
            gravity="idea",
        ),
        Mistake(
            "factor added",
            change={"head_factor * rate": "head_factor + rate"},
            says="head_factor is added to the rate: multiply",
            gravity="idea",
        ),
        Mistake(
            "no decay for the head",
            change={"0.0 if plain else decay": '0.0 if plain or name.startswith("classifier.") else decay'},
            says="the head gets no decay: its matrix is a matrix, and is decayed",
            gravity="part",
        ),
        Mistake(
            "classifier frozen",
            change={'if "embeddings." in name:': 'if "embeddings." in name or "pooler" in name:'},
            says="the pooler is left out: only the embeddings are frozen",
            gravity="idea",
        ),
        Mistake(
            "the head's bias",
            change={'if name.startswith("classifier.") else rate': 'if name.startswith("classifier.") and not plain else rate'},
            says="the head's bias belongs to the head, too: it learns with the head's rate",
            gravity="idea",
        ),
        Mistake(
            "always ten", change={"head_factor * rate": "10 * rate"}, says="head_factor is ignored: it is not always ten", gravity="idea"
        ),
        Mistake(
            "always 0.01",
            change={"0.0 if plain else decay": "0.0 if plain else 0.01"},
            says="the decay is not always 0.01: use the argument",
            gravity="part",
        ),
        Right(
            "comprehension",
            code="""
def parameter_settings(names, rate, decay, head_factor=10.0):
    return {
        n: dict(lr=rate * (head_factor if n.split(".")[0] == "classifier" else 1), weight_decay=decay * (n[-4:] != "bias" and "LayerNorm" not in n))
        for n in names
        if "embeddings." not in n
    }
""",
        ),
        Right(
            "regular expressions",
            code="""
import re

def parameter_settings(names, rate, decay, head_factor=10.0):
    found = {}
    for name in names:
        if not re.search(r"embeddings\\.", name):
            found[name] = {"weight_decay": decay, "lr": rate}
            if re.match(r"classifier\\.", name):
                found[name]["lr"] *= head_factor
            if re.search(r"LayerNorm|bias$", name):
                found[name]["weight_decay"] = 0
    return found
""",
        ),
    ],
    "calls": [
        Mistake(
            "both signs turned",
            change={"g = g + (w - c)": "g = g - (w - c)", "w = w - rate * g": "w = w + rate * g"},
            says="the stored gradient has the wrong sign: backward adds w − c, and step subtracts η times it",
            gravity="idea",
        ),
        Mistake(
            "rate in backward",
            change={"g = g + (w - c)": "g = g + rate * (w - c)", "w = w - rate * g": "w = w - g"},
            says="the learning rate is part of the stored gradient: it belongs to step",
            gravity="idea",
        ),
        Mistake(
            "average",
            change={"g = g + (w - c)": "g = (g + w - c) / 2"},
            says="the stored gradient is averaged with the new one: backward adds",
            gravity="idea",
        ),
        Mistake(
            "rounded",
            change={"return w, g": "return round(w, 3), round(g, 3)"},
            hint="the numbers are rounded: return all digits",
            gravity="edge",
        ),
        Mistake(
            "gradient kept between calls",
            code="""
G = [0.0]
def after_calls(calls, w, c, rate):
    for call in calls:
        if call == "zero_grad":
            G[0] = 0.0
        elif call == "backward":
            G[0] += w - c
        else:
            w -= rate * G[0]
    return w, G[0]
""",
            says="the stored gradient of an earlier call is still there: g starts at 0 in every call",
            gravity="idea",
        ),
        Mistake(
            "zero_grad gives None",
            change={
                "            g = 0.0": "            g = None",
                "g = g + (w - c)": "g = (g or 0.0) + (w - c)",
                "w = w - rate * g": "w = w - rate * (g or 0.0)",
            },
            says="zero_grad leaves None: here it sets the stored gradient to 0",
            gravity="part",
        ),
        Mistake(
            "the squared distance without its half",
            change={"(w - c)": "2 * (w - c)"},
            says="the gradient of ½ (w − c)² is w − c: the 2 and the ½ cancel",
            gravity="idea",
        ),
        Mistake("the sign", change={"(w - c)": "(c - w)"}, says="the gradient has the wrong sign: it is w − c", gravity="idea"),
        Mistake("c ignored", change={"(w - c)": "w"}, says="the argument `c` is not used: the gradient is w − c", gravity="idea"),
        Mistake(
            "zero_grad moves the weight",
            change={"            g = 0.0\n        elif": "            g = w = 0.0\n        elif"},
            says="zero_grad also sets the weight to 0: it changes only the gradient",
            gravity="part",
        ),
        Mistake(
            "step clears",
            change={"w = w - rate * g": "w, g = w - rate * g, 0.0"},
            says="step does not clear the gradient: only zero_grad does",
            gravity="idea",
        ),
        Mistake(
            "uphill", change={"w - rate * g": "w + rate * g"}, says="step goes downhill: subtract η times the gradient", gravity="idea"
        ),
        Mistake("no rate", change={"w - rate * g": "w - g"}, says="the learning rate is missing in step", gravity="idea"),
        Mistake(
            "backward replaces",
            change={"g = g + (w - c)": "g = w - c"},
            says="backward adds to the stored gradient, it does not replace it",
            gravity="idea",
        ),
        Mistake(
            "gradient at the start",
            change={"    g = 0.0\n    for": "    g, w0 = 0.0, w\n    for", "g + (w - c)": "g + (w0 - c)"},
            says="the gradient is taken at the first weight: backward uses the current one",
            gravity="idea",
        ),
        Mistake(
            "backward steps, too",
            change={"g = g + (w - c)": "g = g + (w - c)\n            w = w - rate * g"},
            hint="backward changes the gradient, not the weight",
            gravity="idea",
        ),
        Mistake(
            "zero_grad ignored",
            change={'if call == "zero_grad":\n            g = 0.0': 'if call == "zero_grad":\n            pass'},
            hint="with zero_grad in between only the second gradient counts",
            gravity="part",
        ),
        Mistake(
            "the loss",
            change={"g + (w - c)": "g + (w - c) ** 2 / 2"},
            says="backward adds the loss: it adds its derivative, w − c",
            gravity="idea",
        ),
        Mistake(
            "a fresh gradient",
            change={"w - rate * g": "w - rate * (w - c)"},
            says="step uses the gradient at the current weight: it uses the stored one, whatever it is",
            gravity="idea",
        ),
        Mistake(
            "zero_grad does nothing",
            change={"            g = 0.0\n        elif": "            pass\n        elif"},
            says="zero_grad does nothing: it sets g to 0",
            gravity="part",
        ),
        Mistake(
            "g starts at the gradient",
            change={"    g = 0.0\n    for": "    g = w - c\n    for"},
            says="g starts at the gradient: it starts at 0",
            gravity="idea",
        ),
        Mistake(
            "g divided",
            change={"w = w - rate * g": "w = w - rate * g / max(1, calls.count('backward'))"},
            says="the stored gradient is averaged over the backward calls: it is their sum",
            gravity="idea",
        ),
        Mistake(
            "gradient first", change={"return w, g": "return g, w"}, says="the order is (w, g): the weight comes first", gravity="idea"
        ),
        Right(
            "autograd itself",
            code="""
def after_calls(calls, w, c, rate):
    weight = nn.Parameter(torch.tensor(w, dtype=torch.float64))
    optimizer = torch.optim.SGD([weight], lr=rate)
    for call in calls:
        if call == "backward":
            ((weight - c) ** 2 / 2).backward()
        else:
            getattr(optimizer, call)()
    return weight.item(), 0.0 if weight.grad is None else weight.grad.item()
""",
        ),
        Right(
            "a table of functions",
            code="""
def after_calls(calls, w, c, rate):
    do = {"zero_grad": lambda w, g: (w, 0.0), "backward": lambda w, g: (w, g + w - c), "step": lambda w, g: (w - rate * g, g)}
    g = 0
    for call in calls:
        w, g = do[call](w, g)
    return [w, g]
""",
        ),
    ],
    "epoch": [
        Mistake(
            "clip before backward",
            change={
                "        loss.backward()\n        nn.utils.clip_grad_norm_(model.parameters(), clip)\n": "        nn.utils.clip_grad_norm_(model.parameters(), clip)\n        loss.backward()\n"
            },
            says="the gradients are not clipped to `clip` at the step: clip them after backward and before optimizer.step()",
            gravity="part",
        ),
        Mistake(
            "clip after step",
            change={
                "        nn.utils.clip_grad_norm_(model.parameters(), clip)\n        optimizer.step()": "        optimizer.step()\n        nn.utils.clip_grad_norm_(model.parameters(), clip)"
            },
            says="the gradients are not clipped to `clip` at the step: clip them after backward and before optimizer.step()",
            gravity="part",
        ),
        Mistake(
            "scheduler once per epoch",
            change={
                "        if scheduler is not None:\n            scheduler.step()\n": "",
                "    return losses": "    if scheduler is not None:\n        scheduler.step()\n    return losses",
            },
            says="the scheduler has no effect: call scheduler.step() after every optimizer.step()",
            gravity="part",
        ),
        Mistake(
            "evaluation mode at the end",
            change={"    return losses": "    model.eval()\n    return losses"},
            says="the model is left in evaluation mode: this function leaves it in training mode",
            gravity="part",
        ),
        Mistake(
            "each clipped by itself",
            change={
                "nn.utils.clip_grad_norm_(model.parameters(), clip)": "[nn.utils.clip_grad_norm_([p], clip) for p in model.parameters()]"
            },
            says="every tensor is clipped by its own norm: clip the common norm of all gradients",
            gravity="part",
        ),
        Mistake(
            "losses rounded",
            change={"loss.item()": "round(loss.item(), 2)"},
            says="the losses are rounded: return them as they are",
            gravity="part",
        ),
        Mistake(
            "running mean",
            change={"    return losses": "    return [sum(losses[: i + 1]) / (i + 1) for i in range(len(losses))]"},
            says="these are running means: return each batch's own loss",
            gravity="part",
        ),
        Mistake(
            "mean loss",
            change={"    return losses": "    return sum(losses) / len(losses)"},
            says="this is the mean of the losses: return the list, one loss per batch",
            gravity="part",
        ),
        Mistake(
            "loss after the step",
            change={"losses.append(loss.item())": "losses.append(model(**batch).loss.item())"},
            says="each loss is computed again after its step: return the one that was differentiated",
            gravity="part",
        ),
        Mistake(
            "one step for all batches",
            code="""
def train_epoch(model, batches, optimizer, scheduler=None, clip=1.0):
    model.train()
    losses = [model(**batch).loss for batch in batches]
    optimizer.zero_grad()
    torch.stack(losses).mean().backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    if scheduler is not None:
        scheduler.step()
    return [loss.item() for loss in losses]


def toy_epoch(table, batches, name="SGD", clip=1.0, falling=False):  # given: your loop on a model of a few weights; the batches come once
    toy = ToyClassifier(table).eval()
    stepper = toy.optimizer(name, 0.7)
    losses = train_epoch(toy, iter(batches), stepper, toy.schedule(stepper) if falling else None, clip)
    return {"losses": losses, "weights": toy.weights(), "training": toy.facts()["training"]}
""",
            says="all batches make one step together: every batch has its own step",
            gravity="idea",
        ),
        Mistake(
            "no zero_grad",
            change={"        optimizer.zero_grad()\n": ""},
            says="the gradients pile up: clear them with optimizer.zero_grad() before each backward",
            gravity="idea",
        ),
        Mistake(
            "no clipping",
            change={"        nn.utils.clip_grad_norm_(model.parameters(), clip)\n": ""},
            says="the gradients are not clipped to `clip` at the step: clip them after backward and before optimizer.step()",
            gravity="part",
        ),
        Mistake(
            "clipped to one",
            change={"model.parameters(), clip)": "model.parameters(), 1.0)"},
            says="the gradients are not clipped to `clip` at the step: clip them after backward and before optimizer.step()",
            gravity="part",
        ),
        Mistake(
            "no step",
            change={"        optimizer.step()\n": ""},
            says="the weights do not move: is optimizer.step() called, with this batch's gradients?",
            gravity="idea",
        ),
        Mistake(
            "evaluation mode",
            change={"model.train()": "model.eval()"},
            hint="the model must be in training mode: call model.train() before the loop",
            gravity="part",
        ),
        Mistake("tensors", change={"loss.item()": "loss.detach()"}, hint="each loss is a Python float", gravity="edge"),
        Mistake(
            "scheduler ignored",
            change={"scheduler is not None": "False"},
            says="the scheduler has no effect: call scheduler.step() after every optimizer.step()",
            gravity="part",
        ),
        Mistake(
            "mask left out",
            change={"model(**batch).loss": 'model(input_ids=batch["input_ids"], labels=batch["labels"]).loss'},
            says="the attention mask does not reach the model: call model(**batch)",
            gravity="part",
        ),
        Mistake(
            "cleared after backward",
            change={"        optimizer.zero_grad()\n        loss.backward()\n": "        loss.backward()\n        optimizer.zero_grad()\n"},
            says="the weights do not move: is optimizer.step() called, with this batch's gradients?",
            gravity="idea",
        ),
        Mistake("clipped by value", change={"clip_grad_norm_": "clip_grad_value_"}, hint="clip the gradients' common norm", gravity="part"),
        Mistake(
            "an optimiser of one's own",
            change={"    model.train()\n": "    model.train()\n    optimizer = torch.optim.SGD(model.parameters(), lr=0.7)\n"},
            hint="with AdamW the weights are wrong",
            gravity="idea",
        ),
        Mistake(
            "one step at the end",
            change={
                "        optimizer.step()\n        if scheduler": "        if scheduler",
                "    return losses": "    optimizer.step()\n    return losses",
            },
            says="there is one step for the whole epoch: one for each batch",
            gravity="idea",
        ),
        Mistake(
            "values clipped",
            change={"clip_grad_norm_(": "clip_grad_value_("},
            says="every entry of the gradients is clipped: clip their common norm",
            gravity="part",
        ),
        Mistake(
            "all batches twice",
            change={"    for batch in batches:\n": "    for batch in list(batches) * 2:\n"},
            says="every batch is used twice: an epoch is one pass",
            gravity="idea",
        ),
        Mistake(
            "the last loss",
            change={"return losses": "return losses[-1]"},
            says="only the last loss comes back: return the list, one loss per batch",
            gravity="part",
        ),
        Mistake(
            "losses added up",
            change={"return losses": "return sum(losses)"},
            says="the sum of the losses comes back: return the list, one loss per batch",
            gravity="part",
        ),
        Mistake(
            "length first",
            change={"    losses = []\n": "    losses = []\n    assert len([batch for batch in batches])\n"},
            hint="batches that come once",
            gravity="edge",
        ),
        Mistake(
            "all but the last",
            change={"for batch in batches:": "for batch in list(batches)[:-1]:"},
            says="the last batch is left out",
            gravity="idea",
        ),
        Mistake(
            "return inside",
            change={"        losses.append(loss.item())\n    return losses": "        losses.append(loss.item())\n        return losses"},
            says="only the first batch is used: is `return` inside the loop?",
            gravity="idea",
        ),
        Mistake(
            "scheduler first",
            change={
                "        optimizer.step()\n        if scheduler is not None:\n            scheduler.step()\n": "        if scheduler is not None:\n            scheduler.step()\n        optimizer.step()\n"
            },
            says="the scheduler steps before the optimiser: the first batch must have the first rate",
            gravity="part",
        ),
        Right(
            "zero_grad at the end of the round",
            change={
                "        optimizer.zero_grad()\n": "",
                "        losses.append(": "        optimizer.zero_grad(set_to_none=True)\n        losses.append(",
            },
        ),
        Right(
            "cleared through the model, the loss by hand",
            change={
                "optimizer.zero_grad()": "model.zero_grad()",
                "model(**batch).loss": 'F.cross_entropy(model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits, batch["labels"])',
            },
        ),
    ],
    "evaluate": [
        Mistake(
            "argmin",
            change={"argmax(dim=1)": "argmin(dim=1)"},
            says="this is the share of wrong answers: the larger logit is the model's choice",
            gravity="idea",
        ),
        Mistake(
            "last accuracy only",
            change={"correct += ": "correct = "},
            says="only the last batch's right answers are counted: add up those of all batches",
            gravity="idea",
        ),
        Mistake(
            "share of positives",
            change={'(out.logits.argmax(dim=1) == batch["labels"])': "(out.logits.argmax(dim=1) == 1)"},
            says="this is the share of sentences called positive: compare with the labels",
            gravity="idea",
        ),
        Mistake(
            "rounded",
            change={"return loss / count, correct / count": "return round(loss / count, 2), round(correct / count, 2)"},
            says="loss and accuracy are rounded: return all their digits",
            gravity="idea",
        ),
        Mistake(
            "tokens for sentences",
            change={'n = len(batch["labels"])': 'n = batch["input_ids"].numel()'},
            says="the weights are numbers of tokens: count sentences, len(batch['labels'])",
            gravity="idea",
        ),
        Mistake("training mode", change={"    model.eval()\n": ""}, hint="the model is in training mode", gravity="part"),
        Mistake(
            "mean of means",
            change={
                "loss, correct, count = 0.0, 0, 0": "loss, correct, count, k = 0.0, 0, 0, 0",
                "loss += out.loss.item() * n": "loss += out.loss.item()\n            k += 1",
                "return loss / count,": "return loss / k,",
            },
            hint="this is the mean of the batches' means",
            gravity="part",
        ),
        Mistake(
            "a sum", change={"return loss / count": "return loss"}, says="this is a sum: divide by the number of sentences", gravity="idea"
        ),
        Mistake(
            "means over sentences",
            change={"out.loss.item() * n": "out.loss.item()"},
            says="the batches' means are added up, then divided by the number of sentences: multiply each mean by its number of sentences first",
            gravity="idea",
        ),
        Mistake(
            "mode not restored",
            change={"    model.train(was_training)\n": ""},
            hint="the model was in training mode before, and must be back in it afterwards",
            gravity="part",
        ),
        Mistake(
            "always back to training",
            change={"model.train(was_training)": "model.train()"},
            hint="do not call model.train() unconditionally",
            gravity="part",
        ),
        Mistake("with gradients", change={"torch.no_grad()": "torch.enable_grad()"}, hint="gradients were recorded", gravity="part"),
        Mistake(
            "last batch only",
            change={"loss += ": "loss = ", "correct += ": "correct = ", "count += ": "count = "},
            says="only the last batch counts: add up all of them",
            gravity="idea",
        ),
        Mistake(
            "a count of right ones",
            change={"correct / count": "correct"},
            says="this is the number of right answers: divide by the number of sentences",
            gravity="idea",
        ),
        Mistake(
            "share of errors",
            change={"dim=1) == batch": "dim=1) != batch"},
            says="this is the share of wrong answers: the larger logit is the model's choice",
            gravity="idea",
        ),
        Mistake(
            "percent",
            change={"correct / count": "100 * correct / count"},
            says="this is a percentage: return a share between 0 and 1",
            gravity="idea",
        ),
        Mistake(
            "tensors",
            change={"out.loss.item() * n": "out.loss * n", ".sum().item()": ".sum()"},
            hint="return two Python floats",
            gravity="edge",
        ),
        Mistake(
            "loss only",
            change={"return loss / count, correct / count": "return loss / count"},
            says="this is the loss: the accuracy comes second",
            gravity="idea",
        ),
        Mistake(
            "exchanged",
            change={"return loss / count, correct / count": "return correct / count, loss / count"},
            says="this is the accuracy: the loss comes first",
            gravity="idea",
        ),
        Mistake(
            "the last batch",
            change={"loss += out": "loss = out", "correct += ": "correct = ", "count += n": "count = n"},
            says="only the last batch counts: add up all of them",
            gravity="idea",
        ),
        Mistake(
            "divided by the size of the last batch",
            change={"return loss / count, correct / count": "return loss / n, correct / n"},
            says="the sums are divided by the size of the last batch: by the number of all sentences",
            gravity="idea",
        ),
        Mistake(
            "read twice",
            change={
                "    loss, correct, count = 0.0, 0, 0\n": "    loss, correct, count = 0.0, 0, 0\n    assert len([batch for batch in batches])\n"
            },
            hint="batches that come once",
            gravity="edge",
        ),
        Mistake(
            "return inside",
            change={"            count += n\n": "            count += n\n            break\n"},
            says="only the first batch counts: is `return` inside the loop?",
            gravity="idea",
        ),
        Mistake(
            "sums of means",
            change={"out.loss.item() * n": "out.loss.item()", "return loss / count,": "return loss,"},
            says="the batches' means are added up: weight each by its batch's size, and divide by the number of sentences",
            gravity="idea",
        ),
        Mistake(
            "mean of the batches",
            change={"out.loss.item() * n": "out.loss.item()", ".sum().item()\n": ".float().mean().item()\n", "count += n": "count += 1"},
            says="these are means of the batches' means: weight each batch by its number of sentences",
            gravity="part",
        ),
        Mistake(
            "mean of the batches' losses",
            change={
                "loss, correct, count = 0.0, 0, 0": "loss, correct, count, rounds = 0.0, 0, 0, 0",
                "out.loss.item() * n": "out.loss.item()",
                "count += n": "count += n\n            rounds += 1",
                "return loss / count": "return loss / rounds",
            },
            says="the loss is the mean of the batches' means: weight each batch by its number of sentences",
            gravity="part",
        ),
        Right(
            "one tensor of logits",
            code="""
@torch.no_grad()
def evaluate(model, batches):
    before = model.training
    model.eval()
    pairs = [(model(**batch).logits, batch["labels"]) for batch in batches]
    model.train(before)
    logits, labels = torch.cat([p for p, _ in pairs]), torch.cat([y for _, y in pairs])
    return F.cross_entropy(logits, labels).item(), (logits.argmax(-1) == labels).float().mean().item()
"""
            + TOY_EVALUATION,
        ),
        Right(
            "inference mode, try and finally",
            code="""
def evaluate(model, batches):
    mode = model.training
    model.train(False)
    losses, hits = [], []
    try:
        with torch.inference_mode():
            for batch in batches:
                logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
                losses += F.cross_entropy(logits, batch["labels"], reduction="none").tolist()
                hits += ((logits[:, 1] > logits[:, 0]).long() == batch["labels"]).tolist()
    finally:
        model.train(mode)
    return sum(losses) / len(losses), sum(hits) / len(hits)
"""
            + TOY_EVALUATION,
        ),
    ],
    "early-stopping": [
        Mistake(
            "a tolerance",
            change={"loss < losses[best]": "loss < losses[best] - 0.05"},
            says="a loss that is a little lower does not count as a new best: any lower loss does",
            gravity="part",
        ),
        Mistake(
            "counted back",
            change={"return best, epoch": "return epoch - patience, epoch - 1"},
            says="best is always `patience` epochs before `last`, and `last` one epoch early: remember the lowest loss so far",
            gravity="idea",
        ),
        Mistake(
            "lowest starts at one",
            change={"best = 0\n": "best, low = 0, 1.0\n", "if loss < losses[best]:": "if loss < low:\n            low = loss"},
            says="the lowest loss starts at 1: the first epoch's loss may be larger",
            gravity="idea",
        ),
        Mistake(
            "last for best",
            change={"return best, len(losses) - 1": "return len(losses) - 1, len(losses) - 1"},
            says="where the list ends first, the last epoch is given as the best: the best is the one with the lowest loss",
            gravity="edge",
        ),
        Mistake(
            "the lowest of the whole list",
            change={"best = 0": "best = 0\n    lowest = losses.index(min(losses))", "return best, epoch": "return lowest, epoch"},
            says="the best epoch was looked for in the whole list: later epochs would never have been run",
            gravity="idea",
        ),
        Mistake(
            "the length of the list",
            change={"len(losses) - 1": "len(losses)"},
            says="where the list ends first, the last epoch is the number of losses minus one: epochs are counted from 0",
            gravity="idea",
        ),
        Mistake(
            "lowest of all",
            change={"        if epoch - best >= patience:\n            return best, epoch\n": ""},
            says="epoch 9 would never have been run: stop after `patience` epochs without a new best",
            gravity="idea",
        ),
        Mistake("too late", change={">= patience": "> patience"}, says="the run stops one epoch too late", gravity="idea"),
        Mistake(
            "too early",
            change={">= patience": ">= patience - 1"},
            says="the run stops one epoch too early: patience 4 allows four epochs without a new best",
            gravity="idea",
        ),
        Mistake(
            "the loss", change={"return best, epoch": "return losses[best], epoch"}, says="best is an epoch, not a loss", gravity="idea"
        ),
        Mistake(
            "exchanged",
            change={"return best, epoch": "return epoch, best"},
            says="the best epoch comes first, then the last one",
            gravity="idea",
        ),
        Mistake("from one", change={"return best, epoch": "return best + 1, epoch + 1"}, says="epochs are counted from 0", gravity="idea"),
        Mistake(
            "compared with the one before",
            code="""
def early_stopping(losses, patience):
    best, waited = 0, 0
    for epoch in range(1, len(losses)):
        if losses[epoch] < losses[epoch - 1]:
            waited = 0
            best = epoch if losses[epoch] < losses[best] else best
        else:
            waited += 1
        if waited >= patience:
            return best, epoch
    return best, len(losses) - 1
""",
            says="each loss is compared with the one before: compare with the lowest so far",
            gravity="idea",
        ),
        Mistake(
            "ties count as better",
            change={"loss < losses[best]": "loss <= losses[best]"},
            hint="an equal loss is not a new best",
            gravity="edge",
        ),
        Mistake(
            "counted over the whole run",
            code="""
def early_stopping(losses, patience):
    best, waited = 0, 0
    for epoch, loss in enumerate(losses[1:], 1):
        if loss < losses[best]:
            best = epoch
        else:
            waited += 1
        if waited >= patience:
            return best, epoch
    return best, len(losses) - 1
""",
            hint="a new best sets the count back to 0",
            gravity="part",
        ),
        Mistake(
            "the loss itself",
            change={
                "return best, epoch\n": "return losses[best], epoch\n",
                "return best, len(losses) - 1": "return losses[best], len(losses) - 1",
            },
            says="the lowest loss comes back: return its epoch",
            gravity="idea",
        ),
        Mistake(
            "the last first",
            change={"return best, epoch\n": "return epoch, best\n", "return best, len(losses) - 1": "return len(losses) - 1, best"},
            says="the order is (best, last): the best epoch comes first",
            gravity="idea",
        ),
        Mistake(
            "the highest",
            change={"loss < losses[best]": "loss > losses[best]"},
            says="the epoch with the highest loss is kept: keep the lowest",
            gravity="idea",
        ),
        Mistake(
            "counted from 1",
            change={"return best, epoch\n": "return best + 1, epoch + 1\n", "return best, len(losses) - 1": "return best + 1, len(losses)"},
            says="epochs are counted from 1: count from 0",
            gravity="idea",
        ),
        Mistake(
            "only the best",
            change={"return best, epoch\n": "return best\n", "return best, len(losses) - 1": "return best"},
            says="only the best epoch comes back: return (best, last)",
            gravity="idea",
        ),
        Mistake(
            "the whole list",
            change={"return best, epoch\n": "return best, len(losses) - 1\n"},
            says="the last entry of the list is given as the last epoch: the run stops before it",
            gravity="idea",
        ),
        Mistake(
            "patience of one",
            change={"epoch - best >= patience": "epoch - best >= 1"},
            says="the patience is not used: stop after `patience` epochs without a new best",
            gravity="idea",
        ),
        Right(
            "slices",
            code="""
def early_stopping(losses, patience):
    for epoch in range(len(losses)):
        seen = losses[: epoch + 1]
        best = seen.index(min(seen))
        if epoch - best == patience:
            break
    return best, epoch
""",
        ),
        Right(
            "a counter",
            code="""
def early_stopping(losses, patience):
    lowest, best, waited = float("inf"), 0, 0
    for epoch, loss in enumerate(losses):
        if loss < lowest:
            lowest, best, waited = loss, epoch, 0
        else:
            waited += 1
            if waited == patience:
                return [best, epoch]
    return [best, len(losses) - 1]
""",
        ),
    ],
    "lora": [
        Mistake("alpha over n_in", change={"alpha / r": "alpha / n_in"}, says="the factor is α/n_in: it is α/r", gravity="idea"),
        Mistake(
            "merge reshapes",
            change={"self.scale * self.B @ self.A": "self.scale * (self.A.T @ self.B.T).reshape(merged.weight.shape)"},
            says="merge adds the numbers of B A in the wrong places: the product is (n_out, n_in) as it stands, B times A",
            gravity="part",
        ),
        Mistake(
            "dropout in the correction",
            change={"(x @ self.A.T @ self.B.T)": "(F.dropout(x, 0.1, self.training) @ self.A.T @ self.B.T)"},
            says="there is dropout in the correction: the text asks for none",
            gravity="idea",
        ),
        Mistake(
            "scaled by alpha",
            change={"self.scale = alpha / r": "self.scale = alpha"},
            says="the correction is scaled by α: the factor is α/r",
            gravity="idea",
        ),
        Mistake(
            "not scaled",
            change={"self.scale = alpha / r": "self.scale = 1.0"},
            says="the correction is not scaled: the factor is α/r",
            gravity="idea",
        ),
        Mistake(
            "scaled by alpha over the root of r",
            change={"self.scale = alpha / r": "self.scale = alpha / r**0.5"},
            says="this is α/√r: the factor is α/r",
            gravity="idea",
        ),
        Mistake(
            "matrices transposed",
            change={
                "new_empty(r, n_in)": "new_empty(n_in, r)",
                "new_zeros(n_out, r)": "new_zeros(r, n_out)",
                "x @ self.A.T @ self.B.T": "x @ self.A @ self.B",
                "self.scale * self.B @ self.A": "self.scale * (self.A @ self.B).T",
            },
            hint="A and B are transposed",
            gravity="idea",
        ),
        Mistake(
            "names exchanged",
            change={
                "self.A = nn.Parameter": "self.swap = nn.Parameter",
                "self.B = nn.Parameter": "self.A = nn.Parameter",
                "self.swap = nn.Parameter": "self.B = nn.Parameter",
                "x @ self.A.T @ self.B.T": "x @ self.B.T @ self.A.T",
                "self.scale * self.B @ self.A": "self.scale * self.A @ self.B",
            },
            hint="A and B are swapped: x is multiplied by A first",
            gravity="idea",
        ),
        Mistake(
            "correction alone",
            change={"self.layer(x) + self.scale": "self.scale"},
            says="this is the correction alone: add the layer's own output",
            gravity="idea",
        ),
        Mistake(
            "bias lost",
            change={"self.layer(x) +": "x @ self.layer.weight.T +"},
            says="the layer's bias is lost",
            gravity="idea",
        ),
        Mistake(
            "B at random",
            change={"layer.weight.new_zeros(n_out, r)": "layer.weight.new_empty(n_out, r).normal_(std=0.02)"},
            hint="a new adapter changes the output of the layer",
            gravity="part",
        ),
        Mistake(
            "A at zero instead of B",
            change={
                "new_empty(r, n_in).normal_(std=n_in**-0.5)": "new_zeros(r, n_in)",
                "layer.weight.new_zeros(n_out, r)": "layer.weight.new_empty(n_out, r).normal_()",
            },
            hint="the r rows of a new A must be independent",
            gravity="part",
        ),
        Mistake(
            "both at zero",
            change={"new_empty(r, n_in).normal_(std=n_in**-0.5)": "new_zeros(r, n_in)"},
            hint="the r rows of a new A must be independent",
            gravity="part",
        ),
        Mistake(
            "equal rows in A",
            change={"new_empty(r, n_in).normal_(std=n_in**-0.5)": "new_empty(n_in).normal_(std=n_in**-0.5).repeat(r, 1)"},
            hint="the r rows of a new A must be independent",
            gravity="part",
        ),
        Mistake(
            "layer not frozen",
            change={"layer.requires_grad_(False)": "layer"},
            hint="the layer is not frozen: its weight and bias would learn, too",
            gravity="part",
        ),
        Mistake(
            "bias not frozen",
            change={"self.layer = layer.requires_grad_(False)": "self.layer = layer\n        layer.weight.requires_grad_(False)"},
            hint="the layer's bias is not frozen",
            gravity="part",
        ),
        Mistake(
            "everything frozen",
            change={"self.scale = alpha / r": "self.scale = alpha / r\n        self.requires_grad_(False)"},
            hint="nothing learns: A and B are parameters",
            gravity="part",
        ),
        Mistake(
            "no gradient of A",
            change={"x @ self.A.T @": "x @ self.A.detach().T @"},
            hint="do gradients reach A and B, and nothing else?",
            gravity="part",
        ),
        Mistake(
            "merge forgets the scale",
            change={"+= self.scale * self.B @ self.A": "+= self.B @ self.A"},
            says="merge leaves out the scale α/r",
            gravity="part",
        ),
        Mistake(
            "merge adds twice",
            change={"+= self.scale * self.B @ self.A": "+= 2 * self.scale * self.B @ self.A"},
            says="merge adds the correction twice",
            gravity="part",
        ),
        Mistake(
            "merge subtracts",
            change={"merged.weight +=": "merged.weight -="},
            says="merge subtracts the correction",
            gravity="part",
        ),
        Mistake(
            "merge loses the bias",
            change={"        return merged\n": "            merged.bias = None\n        return merged\n"},
            says="the bias is lost in the merge",
            gravity="part",
        ),
        Mistake(
            "merge gives a matrix",
            change={"        return merged\n": "        return merged.weight\n"},
            hint="merge gives an `nn.Linear`",
            gravity="part",
        ),
        Mistake(
            "merge in place",
            change={"merged = copy.deepcopy(self.layer)": "merged = self.layer"},
            hint="after `merge` the adapter gives a different output",
            gravity="edge",
        ),
        Mistake(
            "merged layer always with bias",
            change={
                "merged = copy.deepcopy(self.layer)": "merged = nn.Linear(*self.layer.weight.T.shape, dtype=self.layer.weight.dtype)",
                "merged.weight += self.scale * self.B @ self.A": "merged.weight.copy_(self.layer.weight + self.scale * self.B @ self.A)\n            merged.bias.copy_(torch.zeros_like(merged.bias) if self.layer.bias is None else self.layer.bias)",
            },
            hint="a layer without bias has none when it is merged",
            gravity="edge",
        ),
        Mistake(
            "a layer has a bias",
            change={"self.layer(x) +": "x @ self.layer.weight.T + self.layer.bias +"},
            hint="a layer without bias: the output is wrong",
            gravity="edge",
        ),
        Mistake(
            "float32 whatever the layer",
            change={"layer.weight.new_empty(r, n_in)": "torch.empty(r, n_in)", "layer.weight.new_zeros": "torch.zeros"},
            hint="A and B have the layer's dtype",
            gravity="edge",
        ),
        Mistake(
            "matrices only",
            change={"x @ self.A.T @ self.B.T": "torch.mm(torch.mm(x, self.A.t()), self.B.t())"},
            hint="each position by itself",
            gravity="edge",
        ),
        Mistake(
            "A with variance one",
            change={"normal_(std=n_in**-0.5)": "normal_()"},
            hint="their variance is 1/n_in",
            gravity="part",
        ),
        Mistake(
            "no start of A",
            change={".normal_(std=n_in**-0.5)": ".zero_()"},
            says="A starts at zero: it starts at random, and B at zero; with both at zero nothing would ever learn",
            gravity="part",
        ),
        Mistake(
            "B at random",
            change={"new_zeros(n_out, r)": "new_empty(n_out, r).normal_(std=0.1)"},
            hint="which of A and B starts at zero?",
            gravity="part",
        ),
        Mistake("variance 1/n squared", change={"std=n_in**-0.5": "std=1 / n_in"}, hint="their variance is 1/n_in", gravity="part"),
        Mistake(
            "not merged",
            change={"            merged.weight += self.scale * self.B @ self.A\n": "            pass\n"},
            says="merge gives the pretrained layer, without the correction",
            gravity="part",
        ),
        Mistake(
            "correction subtracted",
            change={"self.layer(x) + self.scale": "self.layer(x) - self.scale"},
            says="the correction is subtracted: add it",
            gravity="idea",
        ),
        Mistake(
            "a product with the layer",
            change={
                "self.layer(x) + self.scale * (x @ self.A.T @ self.B.T)": "self.layer(x) * (1 + self.scale * (x @ self.A.T @ self.B.T))"
            },
            says="the correction multiplies the layer's output: add it",
            gravity="idea",
        ),
        Mistake("turned round", change={"alpha / r": "r / alpha"}, says="the factor is inverted: it is α/r", gravity="idea"),
        Mistake(
            "merge by alpha",
            change={"merged.weight += self.scale * self.B": "merged.weight += self.scale * self.A.shape[0] * self.B"},
            says="merge scales by α: the factor is α/r",
            gravity="part",
        ),
        Mistake(
            "merge without the layer",
            change={"merged.weight += self.scale * self.B @ self.A": "merged.weight.copy_(self.scale * self.B @ self.A)"},
            says="the merged weight is the correction alone: add the layer's weight",
            gravity="part",
        ),
        Right(
            "buffers and one product",
            code="""
class LoRALinear(nn.Module):
    def __init__(self, layer, r, alpha):
        super().__init__()
        self.register_buffer("W", layer.weight.detach().clone())
        self.register_buffer("b", None if layer.bias is None else layer.bias.detach().clone())
        n_out, n_in = self.W.shape
        self.A = nn.Parameter(torch.randn(r, n_in, dtype=self.W.dtype, device=self.W.device) / n_in**0.5)
        self.B = nn.Parameter(torch.zeros(n_out, r, dtype=self.W.dtype, device=self.W.device))
        self.r, self.alpha = r, alpha

    def whole(self):
        return self.W + self.alpha / self.r * (self.B @ self.A)

    def forward(self, x):
        return F.linear(x, self.whole(), self.b)

    def merge(self):
        n_out, n_in = self.W.shape
        layer = nn.Linear(n_in, n_out, bias=self.b is not None).to(self.W)
        layer.weight = nn.Parameter(self.whole().detach())
        if self.b is not None:
            layer.bias = nn.Parameter(self.b.clone())
        return layer
""",
        ),
        Right(
            "einsum",
            change={
                "self.scale * (x @ self.A.T @ self.B.T)": 'self.scale * torch.einsum("...i,ri,or->...o", x, self.A, self.B)',
                "self.scale * self.B @ self.A": 'self.scale * torch.einsum("or,ri->oi", self.B, self.A)',
            },
        ),
        Right(
            "layer after layer",
            code="""
class LoRALinear(nn.Module):
    def __init__(self, layer, r, alpha):
        super().__init__()
        for parameter in layer.parameters():
            parameter.requires_grad = False
        self.layer, self.scale = layer, alpha / r
        self.A, self.B = (nn.Parameter(torch.empty(*size).to(layer.weight)) for size in ((r, layer.in_features), (layer.out_features, r)))
        nn.init.normal_(self.A, std=math.sqrt(1 / layer.in_features))
        nn.init.zeros_(self.B)

    def forward(self, x):
        low = F.linear(x, self.A) * self.scale
        return F.linear(low, self.B) + self.layer(x)

    def merge(self):
        plain = nn.Linear(self.layer.in_features, self.layer.out_features, bias=self.layer.bias is not None).to(self.layer.weight)
        state = self.layer.state_dict()
        plain.load_state_dict({**state, "weight": state["weight"] + self.scale * (self.B.detach() @ self.A.detach())})
        return plain
""",
        ),
    ],
    "lora-count": [
        Mistake(
            "one more for each layer",
            change={"r * (n_out + n_in)": "r * (n_out + n_in) + 1"},
            says="one number too many for each layer: α is no number that learns",
            gravity="idea",
        ),
        Mistake(
            "data of the parameters",
            change={"[weight for weight": "[weight.data for weight"},
            says="this is the parameters' `.data`, which has no gradient: return the parameters themselves",
            gravity="part",
        ),
        Mistake(
            "a generator",
            change={
                "[weight for weight in model.parameters() if weight.requires_grad]": "(weight for weight in model.parameters() if weight.requires_grad)"
            },
            says="this is a generator, which can be gone through only once: return a list",
            gravity="idea",
        ),
        Mistake(
            "sorted by size",
            change={
                "return [weight for weight in model.parameters() if weight.requires_grad]": "return sorted([weight for weight in model.parameters() if weight.requires_grad], key=lambda w: w.numel())"
            },
            says="the parameters are sorted by size: keep the model's order",
            gravity="idea",
        ),
        Mistake(
            "biases thawed",
            change={
                "[weight for weight in model.parameters() if weight.requires_grad]": "[weight.requires_grad_(True) for weight in model.parameters() if weight.requires_grad or weight.ndim == 1]"
            },
            says="frozen biases are made to learn again: `trainable` changes nothing",
            gravity="idea",
        ),
        Mistake(
            "numbers of the weights",
            change={"r * (n_out + n_in)": "n_out * n_in"},
            says="these are the numbers of the weights themselves",
            gravity="idea",
        ),
        Mistake(
            "product for sum",
            change={"r * (n_out + n_in)": "r * n_out * n_in"},
            says="these are the numbers of the matrices B A: count A and B",
            gravity="idea",
        ),
        Mistake(
            "square layers only",
            change={"n_out + n_in)": "2 * n_in)"},
            says="n_in is counted twice: B has n_out rows",
            gravity="idea",
        ),
        Mistake(
            "biases counted",
            change={"r * (n_out + n_in)": "r * (n_out + n_in) + n_out"},
            says="the biases are frozen: they do not count",
            gravity="idea",
        ),
        Mistake(
            "first layer only",
            change={
                "return sum(r * (n_out + n_in) for n_out, n_in in shapes)": "n_out, n_in = shapes[0] if shapes else (0, 0)\n    return r * (n_out + n_in)"
            },
            says="only the first layer is counted",
            gravity="idea",
        ),
        Mistake("only A", change={"r * (n_out + n_in)": "r * n_in"}, says="only A is counted", gravity="idea"),
        Mistake(
            "no layer is an error",
            change={
                "return sum(r * (n_out + n_in) for n_out, n_in in shapes)": "n_out, n_in = zip(*shapes)\n    return r * (sum(n_out) + sum(n_in))"
            },
            hint="without any layer nothing is learned: 0",
            gravity="edge",
        ),
        Mistake(
            "shapes used up",
            change={
                "return sum(r * (n_out + n_in) for n_out, n_in in shapes)": "total = 0\n    while shapes:\n        total += r * sum(shapes.pop())\n    return total"
            },
            hint=IN_PLACE,
            gravity="edge",
        ),
        Mistake(
            "all parameters",
            change={" if weight.requires_grad]": "]"},
            says="all parameters come back: those that are frozen do not learn",
            gravity="idea",
        ),
        Mistake(
            "the frozen ones",
            change={"if weight.requires_grad]": "if not weight.requires_grad]"},
            says="these are the frozen ones",
            gravity="idea",
        ),
        Mistake(
            "no biases",
            change={"if weight.requires_grad]": "if weight.requires_grad and weight.dim() > 1]"},
            says="biases can learn, too: ask each parameter whether it does",
            gravity="idea",
        ),
        Mistake(
            "names",
            change={"[weight for weight in model.parameters() if": "[name for name, weight in model.named_parameters() if"},
            says="these are names: an optimiser wants the parameters themselves",
            gravity="idea",
        ),
        Mistake(
            "a count",
            change={
                "[weight for weight in model.parameters() if weight.requires_grad]": "sum(w.numel() for w in model.parameters() if w.requires_grad)"
            },
            says="this is a number: return the parameters themselves",
            gravity="idea",
        ),
        Mistake(
            "copies",
            change={"[weight for weight": "[weight.detach().clone() for weight"},
            hint="return its own parameters, not copies",
            gravity="part",
        ),
        Mistake(
            "module by module",
            change={
                "return [weight for weight in model.parameters() if weight.requires_grad]": "return [weight for part in model for weight in part.parameters() if weight.requires_grad]"
            },
            hint="a parameter that comes twice",
            gravity="edge",
        ),
        Mistake(
            "r squared",
            change={"r * (n_out + n_in)": "r * n_out * r * n_in"},
            says="the sizes of A and B are multiplied: add them, r · n_in + n_out · r",
            gravity="idea",
        ),
        Mistake(
            "the difference",
            change={"r * (n_out + n_in)": "n_out * n_in - r * (n_out + n_in)"},
            says="this is what is saved: count the numbers of A and B",
            gravity="idea",
        ),
        Mistake(
            "with the weights",
            change={"r * (n_out + n_in)": "n_out * n_in + r * (n_out + n_in)"},
            says="the frozen weights are counted, too: only A and B learn",
            gravity="idea",
        ),
        Mistake(
            "B as large as A", change={"r * (n_out + n_in)": "2 * r * n_in"}, says="n_in is counted twice: B has n_out rows", gravity="idea"
        ),
        Mistake(
            "with a gradient",
            change={"if weight.requires_grad]": "if weight.grad is not None]"},
            says="the parameters that have a gradient come back: before the first backward none has, ask `requires_grad`",
            gravity="idea",
        ),
        Mistake(
            "shared ones twice",
            change={
                "for weight in model.parameters() if": "for module in model.modules() for weight in module.parameters(recurse=False) if"
            },
            says="a weight that two layers share comes twice: `model.parameters()` gives it once",
            gravity="edge",
        ),
        Mistake(
            "n_out twice", change={"r * (n_out + n_in)": "2 * r * n_out"}, says="n_out is counted twice: A has n_in columns", gravity="idea"
        ),
        Mistake("only B", change={"r * (n_out + n_in)": "r * n_out"}, says="only B is counted", gravity="idea"),
        Mistake("no rank", change={"r * (n_out + n_in)": "(n_out + n_in)"}, says="the rank is left out", gravity="idea"),
        Mistake(
            "another order",
            change={
                "return [weight for weight in model.parameters() if weight.requires_grad]": "return [weight for weight in model.parameters() if weight.requires_grad][::-1]"
            },
            says="the order is not the model's",
            gravity="idea",
        ),
        Right(
            "a loop and a filter",
            code="""
def lora_count(shapes, r):
    total = 0
    for rows, columns in shapes:
        total += rows * r + r * columns
    return total

def trainable(model):
    chosen = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            chosen.append(parameter)
    return chosen
""",
        ),
        Right(
            "flat sums",
            code="""
def lora_count(shapes, r):
    return r * sum(size for shape in shapes for size in shape)

def trainable(model):
    return list(filter(lambda weight: weight.requires_grad, model.parameters()))
""",
        ),
    ],
    "sample": [
        Mistake(
            "rounded rates",
            change={"low * (high / low) ** draw.random()": "round(low * (high / low) ** draw.random(), 5)"},
            hint="rates repeat: draw each one from the continuous scale, not from a grid, and do not round it",
            gravity="idea",
        ),
        Mistake(
            "upper half only",
            change={"** draw.random()": "** (draw.random() / 2 + 0.5)"},
            says="only the upper half of the logarithmic scale is drawn: u goes from 0 to 1",
            gravity="idea",
        ),
        Mistake(
            "powers of ten",
            change={"low * (high / low) ** draw.random()": "10 ** draw.uniform(math.log(low), math.log(high))"},
            says="10 is raised to a natural logarithm: use `math.exp`, or `math.log10`",
            gravity="idea",
        ),
        Mistake(
            "skewed",
            change={"draw.choice(batch_sizes)": "batch_sizes[len(batch_sizes) - 1 - int(draw.random() ** 2 * len(batch_sizes))]"},
            says="some batch sizes are drawn more often than others: all are equally likely",
            gravity="part",
        ),
        Mistake(
            "a generator for each trial",
            change={"for _ in range(count)": "for draw in [random.Random(seed + k) for k in range(count)]"},
            says="every trial starts a generator of its own from seed + k, so neighbouring seeds give nearly the same list: draw all trials from one",
            gravity="edge",
        ),
        Mistake(
            "batch sizes in turn",
            change={"draw.choice(batch_sizes)": "batch_sizes[_ % len(batch_sizes)]"},
            hint="two seeds give the same list of `batch_size`",
            gravity="part",
        ),
        Mistake(
            "the global generator seeded",
            change={"draw = random.Random(seed)": "random.seed(seed)\n    draw = random"},
            hint="draws from a global generator, or seeds it",
            gravity="edge",
        ),
        Mistake(
            "one trial more",
            change={"range(count)": "range(count + 1)"},
            says="there is one setting too many: give exactly `count`",
            gravity="idea",
        ),
        Mistake(
            "uniform rates",
            change={"low * (high / low) ** draw.random()": "low + (high - low) * draw.random()"},
            hint="a tenth of the rates is below 1e-4: their logarithms should be uniform",
            gravity="idea",
        ),
        Mistake(
            "one draw for all",
            code="""
def sample_settings(count, low, high, batch_sizes, epochs, seed):
    draw = random.Random(seed)
    setting = {"rate": low * (high / low) ** draw.random(), "batch_size": draw.choice(batch_sizes), "epochs": draw.choice(epochs)}
    return [setting] * count
""",
            hint="every trial has the same rate: draw a new one for each",
            gravity="idea",
        ),
        Mistake("rates from a grid", change={"** draw.random()": "** (draw.randrange(11) / 10)"}, hint="rates repeat", gravity="idea"),
        Mistake(
            "a bell curve", change={"draw.random()": "min(1, max(0, draw.gauss(0.5, 0.12)))"}, hint="not with a bell curve", gravity="idea"
        ),
        Mistake(
            "seed ignored", change={"random.Random(seed)": "random.Random(1)"}, hint="different seeds give the same list", gravity="part"
        ),
        Mistake(
            "global generator",
            change={"draw = random.Random(seed)": "draw = random"},
            hint="the same seed gives a different list",
            gravity="part",
        ),
        Mistake(
            "in step",
            change={
                "    return [\n": '    return [\n        {"rate": low * (high / low) ** u, "batch_size": batch_sizes[int(u * len(batch_sizes))], "epochs": epochs[int(u * len(epochs))]}\n        for u in [draw.random() for _ in range(count)]\n    ] or [\n'
            },
            hint="draw each of the three independently",
            gravity="part",
        ),
        Mistake(
            "always the first batch size",
            change={"draw.choice(batch_sizes)": "batch_sizes[0]"},
            hint="should be equally likely",
            gravity="part",
        ),
        Mistake(
            "range written in",
            change={"low * (high / low) ** draw.random()": "10 ** draw.uniform(-5, -3)"},
            hint="with low = high = 0.5 and one value for each of the others, all settings are the same",
            gravity="idea",
        ),
        Mistake("one too many", change={"range(count)": "range(count + 1)"}, hint="a list of `count` dictionaries", gravity="idea"),
        Mistake(
            "another key",
            change={'"rate":': '"lr":'},
            hint="with low = high = 0.5 and one value for each of the others, all settings are the same",
            gravity="idea",
        ),
        Mistake(
            "too far", change={"** draw.random()": "** (1.2 * draw.random())"}, hint="every rate lies between low and high", gravity="idea"
        ),
        Mistake(
            "ten to the power",
            change={"low * (high / low) ** draw.random()": "10 ** draw.uniform(low, high)"},
            hint="with low = high = 0.5",
            gravity="idea",
        ),
        Mistake(
            "from high on",
            change={"low * (high / low)": "high * (high / low)"},
            hint="every rate lies between low and high",
            gravity="idea",
        ),
        Right(
            "logarithms",
            change={"low * (high / low) ** draw.random()": "min(high, max(low, math.exp(draw.uniform(math.log(low), math.log(high)))))"},
        ),
        Right(
            "NumPy",
            code="""
import numpy as np

def sample_settings(count, low, high, batch_sizes, epochs, seed):
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        rate = float(np.clip(np.exp(rng.uniform(np.log(low), np.log(high))), low, high))
        found.append({"rate": rate, "batch_size": int(rng.choice(batch_sizes)), "epochs": int(rng.choice(epochs))})
    return found
""",
        ),
    ],
    "choose": [
        Mistake(
            "highest loss on ties",
            change={'results[i]["loss"]))': '-results[i]["loss"]))'},
            says="on equal accuracy the higher loss wins: the lower one should",
            gravity="part",
        ),
        Mistake(
            "rounded accuracy",
            change={'-results[i]["accuracy"]': '-round(results[i]["accuracy"], 1)'},
            says="the accuracies are rounded before they are compared: a small difference counts",
            gravity="idea",
        ),
        Mistake(
            "large losses left out",
            change={'not math.isnan(result["loss"])': 'result["loss"] < 1.0'},
            says="a trial with a loss of 1 or more is treated as diverged: only NaN is",
            gravity="part",
        ),
        Mistake(
            "ratio",
            change={'(-results[i]["accuracy"], results[i]["loss"])': 'results[i]["loss"] / results[i]["accuracy"]'},
            says="the trial with the smallest ratio of loss to accuracy wins: the accuracy decides, and the loss only on a tie",
            gravity="idea",
        ),
        Mistake(
            "weighed against each other",
            change={'(-results[i]["accuracy"], results[i]["loss"])': '-results[i]["accuracy"] + 0.001 * results[i]["loss"]'},
            says="accuracy and loss are weighed against each other: the loss decides only between trials of equal accuracy",
            gravity="part",
        ),
        Mistake(
            "training accuracy",
            change={'results[i]["accuracy"], results': 'results[i]["train_accuracy"], results'},
            says="that is the best on the training set: it may have learned it by heart",
            gravity="idea",
        ),
        Mistake(
            "lowest loss",
            change={'(-results[i]["accuracy"], results[i]["loss"])': 'results[i]["loss"]'},
            says="that is the lowest loss: here the accuracy decides",
            gravity="idea",
        ),
        Mistake(
            "ties to the first",
            change={'(-results[i]["accuracy"], results[i]["loss"])': '-results[i]["accuracy"]'},
            hint="on equal accuracy the validation loss decides",
            gravity="part",
        ),
        Mistake(
            "ties to the last",
            change={"min(sound,": "min(sound[::-1],"},
            says="on equal accuracy and loss the earlier trial wins",
            gravity="edge",
        ),
        Mistake(
            "NaN may win",
            change={'if not math.isnan(result["loss"])': "if True"},
            hint="the trial that has diverged (its loss is NaN) is chosen",
            gravity="part",
        ),
        Mistake(
            "no complaint",
            change={'        raise ValueError("every trial has diverged")\n': "        return 0\n"},
            hint="if every trial has diverged, raise a ValueError",
            gravity="edge",
        ),
        Mistake(
            "the trial itself",
            change={"return min(": "return results[min(", 'results[i]["loss"]))': 'results[i]["loss"]))]'},
            hint="the highest validation accuracy wins",
            gravity="idea",
        ),
        Mistake(
            "place among the sound ones",
            change={
                "return min(sound, key=lambda i:": "return sound.index(min(sound, key=lambda i:",
                'results[i]["loss"]))': 'results[i]["loss"])))',
            },
            hint="whatever its accuracy",
            gravity="part",
        ),
        Mistake(
            "the lowest loss",
            change={'(-results[i]["accuracy"], results[i]["loss"])': '(results[i]["loss"], -results[i]["accuracy"])'},
            says="the loss decides first: the accuracy does, and the loss only on a tie",
            gravity="idea",
        ),
        Mistake(
            "no look at the loss",
            change={'(-results[i]["accuracy"], results[i]["loss"])': '-results[i]["accuracy"]'},
            says="on equal accuracy the first trial wins, whatever its loss: the lower loss wins",
            gravity="part",
        ),
        Mistake(
            "place among the sound",
            change={
                'return min(sound, key=lambda i: (-results[i]["accuracy"], results[i]["loss"]))': 'return sound.index(min(sound, key=lambda i: (-results[i]["accuracy"], results[i]["loss"])))'
            },
            says="the place among the trials that have not diverged comes back: return the index in the whole list",
            gravity="part",
        ),
        Mistake(
            "the trial itself",
            change={
                'return min(sound, key=lambda i: (-results[i]["accuracy"], results[i]["loss"]))': 'return results[min(sound, key=lambda i: (-results[i]["accuracy"], results[i]["loss"]))]'
            },
            says="the trial itself comes back: return its index",
            gravity="idea",
        ),
        Mistake(
            "its accuracy",
            change={
                'return min(sound, key=lambda i: (-results[i]["accuracy"], results[i]["loss"]))': 'return max(results[i]["accuracy"] for i in sound)'
            },
            says="the highest accuracy comes back: return the trial's index",
            gravity="idea",
        ),
        Mistake(
            "counted from 1",
            change={"return min(sound,": "return 1 + min(sound,"},
            says="trials are counted from 1: count from 0",
            gravity="idea",
        ),
        Mistake(
            "the lowest", change={'-results[i]["accuracy"]': 'results[i]["accuracy"]'}, says="that is the lowest accuracy", gravity="idea"
        ),
        Right(
            "a loop",
            code="""
def pick_best(results):
    best = None
    for i, r in enumerate(results):
        if r["loss"] != r["loss"]:
            continue
        if best is None or r["accuracy"] > results[best]["accuracy"] or (r["accuracy"] == results[best]["accuracy"] and r["loss"] < results[best]["loss"]):
            best = i
    if best is None:
        raise ValueError("nothing to choose")
    return best
""",
        ),
        Right(
            "pandas",
            code="""
def pick_best(results):
    table = pd.DataFrame(results).dropna(subset=["loss"])
    if table.empty:
        raise ValueError("nothing to choose")
    return int(table.sort_values(["accuracy", "loss"], ascending=[False, True], kind="stable").index[0])
""",
        ),
    ],
    "final": [
        Mistake(
            "turned round",
            change={"predictions[chosen]": "[1 - p for p in predictions[chosen]]"},
            says="the predictions are turned round, 1 for 0: submit them as they are",
            gravity="idea",
        ),
        Mistake(
            "nested",
            change={"**sealed.submit(predictions[chosen])": '"answer": sealed.submit(predictions[chosen])'},
            says="the sealed set's answer is a dictionary inside yours: return one dictionary with the keys chosen, correct, total and accuracy",
            gravity="idea",
        ),
        Mistake(
            "majority vote",
            change={"predictions[chosen]": "[round(sum(col) / len(col)) for col in zip(*predictions)]"},
            says="the candidates vote: submit the predictions of the one that you chose",
            gravity="idea",
        ),
        Mistake(
            "the best on the test set",
            code="""
def final_test(results, predictions, sealed):
    gold = sealed._labels
    scores = [sum(a == b for a, b in zip(p, gold)) for p in predictions]
    chosen = scores.index(max(scores))
    return {"chosen": chosen, **sealed.submit(predictions[chosen])}
""",
            hint="the labels are sealed: use `submit`",
            gravity="idea",
        ),
        Mistake(
            "all submitted",
            change={
                "    chosen = pick_best(results)\n": '    chosen = max(range(len(results)), key=lambda i: sealed.submit(predictions[i])["accuracy"])\n'
            },
            hint="PermissionError",
            gravity="idea",
        ),
        Mistake(
            "the first",
            change={"pick_best(results)": "0"},
            says="the first candidate is submitted, whatever it validates",
            gravity="idea",
        ),
        Mistake(
            "lowest loss",
            change={"pick_best(results)": 'min(range(len(results)), key=lambda i: results[i]["loss"])'},
            says="the lowest loss is chosen: accuracy decides",
            gravity="idea",
        ),
        Mistake(
            "chosen not returned",
            change={'{"chosen": chosen, **sealed.submit(predictions[chosen])}': "sealed.submit(predictions[chosen])"},
            hint="return the index of your choice as `chosen`: here 1",
            gravity="part",
        ),
        Mistake(
            "NaN may win",
            change={"pick_best(results)": 'max(range(len(results)), key=lambda i: results[i]["accuracy"])'},
            hint="does `pick_best` choose?",
            gravity="part",
        ),
        Mistake(
            "PermissionError caught",
            change={
                '    return {"chosen": chosen, **sealed.submit(predictions[chosen])}': '    try:\n        return {"chosen": chosen, **sealed.submit(predictions[chosen])}\n    except PermissionError:\n        return {"chosen": chosen}'
            },
            hint="must raise its PermissionError",
            gravity="edge",
        ),
        Mistake(
            "percent",
            change={
                "**sealed.submit(predictions[chosen])}": '**{k: 100 * v if k == "accuracy" else v for k, v in sealed.submit(predictions[chosen]).items()}}'
            },
            hint="a share between 0 and 1",
            gravity="part",
        ),
        Mistake(
            "nothing submitted",
            change={"**sealed.submit(predictions[chosen])}": '"correct": 4, "total": 7, "accuracy": 4 / 7}'},
            hint="among six other candidates the wrong one is submitted",
            gravity="idea",
        ),
        Mistake(
            "the last predictions",
            change={"predictions[chosen]": "predictions[-1]"},
            says="the last candidate's predictions are submitted, whatever was chosen",
            gravity="idea",
        ),
        Mistake(
            "only two keys",
            change={
                '{"chosen": chosen, **sealed.submit(predictions[chosen])}': '{"chosen": chosen, "accuracy": sealed.submit(predictions[chosen])["accuracy"]}'
            },
            says="`correct` and `total` are missing: return all that the sealed set answers",
            gravity="idea",
        ),
        Mistake(
            "one further",
            change={"predictions[chosen]": "predictions[(chosen + 1) % len(predictions)]"},
            says="the next candidate's predictions are submitted: `predictions[i]` belongs to `results[i]`",
            gravity="idea",
        ),
        Right(
            "tensors submitted",
            code="""
def final_test(results, predictions, sealed):
    i = pick_best(results)
    answer = sealed.submit([int(v) for v in torch.tensor(predictions[i])])
    return {"accuracy": answer["correct"] / answer["total"], "total": answer["total"], "correct": answer["correct"], "chosen": i}
""",
        ),
        Right(
            "step by step",
            change={
                '    return {"chosen": chosen, **sealed.submit(predictions[chosen])}': '    verdict = dict(sealed.submit(list(predictions[chosen])))\n    verdict["chosen"] = chosen\n    return verdict'
            },
        ),
    ],
    "wilson": [
        Mistake(
            "continuity",
            change={"p = correct / total": "p = (correct + 0.5) / (total + 1)"},
            says="a half is added to `correct` and one to `total`: p̂ is k/n",
            gravity="idea",
        ),
        Mistake(
            "z fixed in the divisor",
            change={
                "(1 + z**2 / total), (middle + half) / (1 + z**2 / total)": "(1 + 1.96**2 / total), (middle + half) / (1 + 1.96**2 / total)"
            },
            says="the divisor uses 1.96, whatever z is: it is 1 + z²/n",
            gravity="part",
        ),
        Mistake(
            "Agresti-Coull",
            code="""
def wilson(correct, total, z=1.96):
    n = total + z**2
    p = (correct + z**2 / 2) / n
    half = z * math.sqrt(p * (1 - p) / n)
    return p - half, p + half
""",
            says="this is Agresti and Coull's interval, the textbook's one about a shifted middle: Wilson's has p̂(1 − p̂)/n + z²/4n² under the root",
            gravity="idea",
        ),
        Mistake(
            "whole division",
            change={"p = correct / total": "p = correct // total"},
            says="`//` cuts p̂ off to 0: divide with `/`",
            gravity="idea",
        ),
        Mistake("half of z", change={"half = z * ": "half = z / 2 * "}, says="the root is multiplied by z/2: by z", gravity="idea"),
        Mistake(
            "root of z",
            change={"z**2 / (4 * total**2)": "z / (4 * total**2)"},
            says="z²/4n² under the root lacks its square",
            gravity="idea",
        ),
        Mistake(
            "rounded",
            change={
                "return (middle - half) / (1 + z**2 / total), (middle + half) / (1 + z**2 / total)": "d = 1 + z**2 / total\n    return round((middle - half) / d, 3), round((middle + half) / d, 3)"
            },
            hint="digits are lost: do not round",
            gravity="edge",
        ),
        Mistake(
            "z not squared",
            change={"z**2 / (2 * total)": "z / (2 * total)"},
            says="the shift of the middle is z²/2n: the square is missing",
            gravity="idea",
        ),
        Mistake(
            "one sentence less",
            change={"p = correct / total": "p = correct / total\n    total = total - 1"},
            says="you divide by n − 1: n is the number of all sentences",
            gravity="idea",
        ),
        Mistake(
            "the textbook interval",
            code="""
def wilson(correct, total, z=1.96):
    p = correct / total
    half = z * math.sqrt(p * (1 - p) / total)
    return p - half, p + half
""",
            says="this is the textbook interval, p ± z √(p(1 − p)/n): use Wilson's",
            gravity="idea",
        ),
        Mistake("no division", change={" / (1 + z**2 / total)": ""}, says="the division by 1 + z²/n is missing", gravity="idea"),
        Mistake(
            "middle not shifted", change={"p + z**2 / (2 * total)": "p"}, says="the shift of the middle, z²/2n, is missing", gravity="idea"
        ),
        Mistake(
            "exchanged",
            change={"(middle - half) / (1 + z**2 / total), (middle + half)": "(middle + half) / (1 + z**2 / total), (middle - half)"},
            says="the ends are swapped: low comes first",
            gravity="idea",
        ),
        Mistake(
            "middle and half length",
            change={
                "(middle - half) / (1 + z**2 / total), (middle + half) / (1 + z**2 / total)": "middle / (1 + z**2 / total), half / (1 + z**2 / total)"
            },
            says="these are the middle and half the length: return the two ends",
            gravity="idea",
        ),
        Mistake(
            "a term missing under the root",
            change={" + z**2 / (4 * total**2)": ""},
            says="z²/4n² is missing under the root",
            gravity="idea",
        ),
        Mistake(
            "z ignored",
            change={"    p = correct": "    z = 1.96\n    p = correct"},
            says="the argument `z` is not used: the interval is always that of one z",
            gravity="part",
        ),
        Mistake(
            "n not squared", change={"4 * total**2": "4 * total"}, hint="8 of 10: the interval goes from 0.490 to 0.943", gravity="idea"
        ),
        Mistake(
            "zero left out",
            change={"    p = correct": "    if correct == 0:\n        return 0.0, 0.0\n    p = correct"},
            hint="the interval starts at 0 and ends at 0.278: its length is not 0",
            gravity="edge",
        ),
        Mistake(
            "z squared over n", change={"z**2 / (2 * total)": "z**2 / total"}, says="the middle has z²/n: it is p̂ + z²/(2n)", gravity="idea"
        ),
        Mistake(
            "4n",
            change={"z**2 / (4 * total**2)": "z**2 / (4 * total)"},
            says="under the root there is z²/(4n): it is z²/(4n²)",
            gravity="idea",
        ),
        Mistake(
            "no root",
            change={"math.sqrt(p * (1 - p) / total + z**2 / (4 * total**2))": "(p * (1 - p) / total + z**2 / (4 * total**2))"},
            says="the root is missing",
            gravity="idea",
        ),
        Mistake(
            "no z before the root",
            change={"half = z * math.sqrt": "half = math.sqrt"},
            says="the factor z before the root is missing",
            gravity="idea",
        ),
        Mistake("p squared", change={"p * (1 - p)": "p * p"}, says="under the root there is p̂²: it is p̂ (1 − p̂)", gravity="idea"),
        Mistake(
            "one minus in the denominator",
            change={"(1 + z**2 / total)": "(1 - z**2 / total)"},
            says="the denominator is 1 − z²/n: it is 1 + z²/n",
            gravity="idea",
        ),
        Mistake(
            "the half divided only",
            change={
                "(middle - half) / (1 + z**2 / total), (middle + half) / (1 + z**2 / total)": "middle - half / (1 + z**2 / total), middle + half / (1 + z**2 / total)"
            },
            says="only the half length is divided by 1 + z²/n: the middle is, too",
            gravity="idea",
        ),
        Mistake(
            "in percent",
            change={
                "return (middle - half) / (1 + z**2 / total), (middle + half) / (1 + z**2 / total)": "return 100 * (middle - half) / (1 + z**2 / total), 100 * (middle + half) / (1 + z**2 / total)"
            },
            says="these are percentages: return shares",
            gravity="idea",
        ),
        Right(
            "the quadratic equation",
            code="""
def wilson(correct, total, z=1.96):
    p, q = correct / total, z**2 / total
    a, b, c = 1 + q, -(2 * p + q), p * p
    root = math.sqrt(max(0.0, b * b - 4 * a * c))
    return (-b - root) / (2 * a), (-b + root) / (2 * a)
""",
        ),
        Right(
            "counts instead of shares",
            code="""
def wilson(correct, total, z=1.96):
    wrong = total - correct
    half = z * (correct * wrong / total + z * z / 4) ** 0.5
    return [(correct + z * z / 2 + sign * half) / (total + z * z) for sign in (-1, 1)]
""",
        ),
    ],
    "bonus-power": [
        Mistake(
            "one-sided p",
            change={"sign_p(n - k, k) <= level": "sign_p(n - k, k) / 2 <= level"},
            says="p is halved, as for a one-sided test: `sign_p` is compared with the level as it is",
            gravity="idea",
        ),
        Mistake("one short", change={"range(n + 1)": "range(n)"}, says="k = n is left out: k goes from 0 to n", gravity="idea"),
        Mistake("from one", change={"range(n + 1)": "range(1, n + 1)"}, says="k = 0 is left out: k goes from 0 to n", gravity="idea"),
        Mistake(
            "rounded",
            change={"return float(": "return round(", "for k in noticed))": "for k in noticed), 4)"},
            says="the power is rounded: return all its digits",
            gravity="idea",
        ),
        Mistake(
            "normal approximation",
            code="""
def power(n, share, level=0.05):
    z = 1.96
    return float(0.5 * math.erfc((z * 0.5 - (share - 0.5) * n**0.5) / (share * (1 - share)) ** 0.5 / 2**0.5)) if n else 0.0
""",
            says="this is the normal approximation: add up the binomial probabilities",
            gravity="idea",
        ),
        Mistake(
            "simulated",
            code="""
def power(n, share, level=0.05):
    draw = random.Random(0)
    hits = 0
    for _ in range(400):
        k = sum(draw.random() < share for _ in range(n))
        hits += sign_p(n - k, k) <= level
    return hits / 400
""",
            says="this is a simulation: add up the binomial probabilities exactly",
            gravity="idea",
        ),
        Mistake(
            "wins of the second only",
            change={"for k in range(n + 1) if": "for k in range(n // 2 + 1, n + 1) if"},
            says="only wins of the second model are counted: many wins of the first give a small p, too",
            gravity="idea",
        ),
        Mistake(
            "wins of the first only",
            change={"for k in range(n + 1) if": "for k in range(n // 2 + 1) if"},
            says="only wins of the first model are counted: many wins of the second give a small p, too",
            gravity="idea",
        ),
        Mistake(
            "not noticed",
            change={"<= level": "> level"},
            says="this is the probability that the test does not notice: sum over the k with p ≤ level",
            gravity="idea",
        ),
        Mistake(
            "fair coin",
            change={"share**k * (1 - share) ** (n - k)": "0.5**n"},
            says="these are the probabilities of a fair coin: the second model wins with probability `share`",
            gravity="idea",
        ),
        Mistake(
            "no coefficients",
            change={"math.comb(n, k) * share**k": "share**k"},
            says="the binomial coefficients are missing: k wins can be spread over the sentences in many ways",
            gravity="idea",
        ),
        Mistake("level ignored", change={"<= level": "<= 0.05"}, says="the level is ignored: use the argument", gravity="part"),
        Mistake("strictly below", change={"<= level": "< level"}, hint="at most the level is enough", gravity="edge"),
        Right(
            "a critical count",
            code="""
def power(n, share, level=0.05):
    c = -1
    while c < n // 2 and sign_p(c + 1, n - c - 1) <= level:
        c += 1
    tail = lambda s: sum(math.comb(n, k) * s**k * (1 - s) ** (n - k) for k in range(c + 1))
    return float(tail(share) + tail(1 - share))
""",
        ),
        Right(
            "step by step",
            code="""
def power(n, share, level=0.05):
    chances = [1.0]
    for _ in range(n):
        chances = [a * (1 - share) + b * share for a, b in zip(chances + [0.0], [0.0] + chances)]
    total = 0.0
    for k, chance in enumerate(chances):
        if sign_p(k, n - k) <= level:
            total += chance
    return total
""",
        ),
    ],
}
