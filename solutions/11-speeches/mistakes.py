"""Wrong answers that the tests of 11-speeches must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

IN_PLACE = "your code changes its input in place"

# Several functions share a cell: the right ones, to go with one that is different.
BUILD = """
def build_vocabulary(files):
    found = {token for name in files if name[:6] == "train_" for token in speeches.tokens(files[name])}
    return ["<pad>", "<unk>"] + sorted(found)
"""
LAYER = """
def layer_parameters(D, hidden):
    return 4 * D * D + 2 * D * hidden + 9 * D + hidden
"""

VARIANTS = {
    "vocabulary": [
        Mistake(
            "train without the underscore",
            change={'"train_"': '"train"'},
            says="files whose name begins with `train` are read, `trainers.txt` too: the name begins with `train_`",
            gravity="edge",
        ),
        Mistake(
            "new words are added",
            change={
                "return [place.get(token, 1) for token in speeches.tokens(text)]": "numbers = [place.get(token, 1) for token in speeches.tokens(text)]\n    words += [token for token in speeches.tokens(text) if token not in place]\n    return numbers"
            },
            hint="`encode` changes the vocabulary",
            gravity="edge",
        ),
        Mistake(
            "test files, too",
            change={'        if name.startswith("train_"):\n            found': "        if name:\n            found"},
            says="the vocabulary contains words of the test files: read only files whose name begins with `train_`",
            gravity="idea",
        ),
        Mistake(
            "only the language model's text",
            change={'name.startswith("train_")': 'name == "train_LM.txt"'},
            says="only `train_LM.txt` was read: use all training files",
            gravity="idea",
        ),
        Mistake(
            "only the segments",
            change={'name.startswith("train_")': 'name == "train_CLS.tsv"'},
            says="only `train_CLS.tsv` was read: use all training files",
            gravity="idea",
        ),
        Mistake(
            "all but test",
            change={'name.startswith("train_")': '"test" not in name'},
            says="every file that is no test file is read: a training file is one whose name begins with `train_`",
            gravity="edge",
        ),
        Mistake(
            "train anywhere in the name",
            change={'name.startswith("train_")': '"train_" in name'},
            says="files with `train_` anywhere in their name are read: the name *begins* with it",
            gravity="edge",
        ),
        Mistake(
            "no special words",
            change={'["<pad>", "<unk>", *sorted(found)]': "sorted(found)"},
            says="padding and unknown are missing: they are entries 0 and 1",
            gravity="idea",
        ),
        Mistake(
            "special words at the end",
            change={'["<pad>", "<unk>", *sorted(found)]': '[*sorted(found), "<pad>", "<unk>"]'},
            says="padding and unknown are at the end: they are entries 0 and 1",
            gravity="idea",
        ),
        Mistake(
            "unknown first",
            change={'["<pad>", "<unk>", *sorted(found)]': '["<unk>", "<pad>", *sorted(found)]'},
            says="unknown is entry 0: padding comes first",
            gravity="idea",
        ),
        Mistake(
            "split at spaces",
            change={"found.update(speeches.tokens(text))": "found.update(text.split())"},
            says="the text was split at spaces: use `speeches.tokens`",
            gravity="idea",
        ),
        Mistake(
            "labels cut off",
            change={"speeches.tokens(text))": 'speeches.tokens(" ".join(line.split("\\t")[-1] for line in text.splitlines())))'},
            says="the labels are cut off: use a file's text as it is, labels included",
            gravity="idea",
        ),
        Mistake(
            "lower case",
            change={"speeches.tokens(text))": "speeches.tokens(text.lower()))"},
            says="capitals were folded: the tokens stay as they are",
            gravity="idea",
        ),
        Mistake(
            "unknown left out",
            change={
                "[place.get(token, 1) for token in speeches.tokens(text)]": "[place[token] for token in speeches.tokens(text) if token in place]"
            },
            says="unknown tokens are left out: they become 1",
            gravity="part",
        ),
        Mistake(
            "unknown becomes padding",
            change={"place.get(token, 1)": "place.get(token, 0)"},
            says="unknown tokens become 0: that is padding, which attention would ignore",
            gravity="part",
        ),
        Mistake(
            "unknown raises",
            change={"place.get(token, 1)": "place[token]"},
            says="a token that is not in `words` raises a KeyError: it becomes 1",
            gravity="part",
        ),
        Mistake("counted from 1", change={"enumerate(words)": "enumerate(words, 1)"}, says="indices are counted from 0", gravity="idea"),
        Mistake(
            "most frequent first",
            change={
                "sorted(found)]": '(lambda c: sorted(c, key=lambda t: -c[t]))(Counter(t for n, text in files.items() if n.startswith("train_") for t in speeches.tokens(text)))]'
            },
            says="the words are sorted by how often they occur: sort the words themselves",
            gravity="idea",
        ),
        Mistake(
            "in the order of appearance",
            change={
                "found = set()": "found = {}",
                "found.update(speeches.tokens(text))": "found.update(dict.fromkeys(speeches.tokens(text)))",
                "*sorted(found)": "*found",
            },
            says="the words are in the order in which they appear: sort them",
            gravity="idea",
        ),
        Mistake(
            "sorted backwards",
            change={"sorted(found)": "sorted(found, reverse=True)"},
            says="the words are sorted backwards",
            gravity="idea",
        ),
        Mistake(
            "sorted without capitals",
            change={"sorted(found)": "sorted(sorted(found), key=str.lower)"},
            says="capitals are ignored in sorting: plain `sorted` puts them first",
            gravity="idea",
        ),
        Mistake(
            "special words sorted in",
            change={'["<pad>", "<unk>", *sorted(found)]': 'sorted(found | {"<pad>", "<unk>"})'},
            says="padding and unknown are sorted in with the words: they are entries 0 and 1",
            gravity="idea",
        ),
        Mistake(
            "every token again",
            change={"found = set()": "found = []", "found.update(": "found.extend("},
            says="a token that occurs twice is in the list twice: each word is there once",
            gravity="idea",
        ),
        Mistake(
            "last file only",
            change={"found.update(speeches.tokens(text))": "found = set(speeches.tokens(text))"},
            says="only the last training file is kept: join the words of all of them",
            gravity="idea",
        ),
        Mistake(
            "words of two or more",
            change={"*sorted(found)": "*sorted(word for word in found if len(word) > 1)"},
            says="tokens of one letter or sign are left out: every token is a word",
            gravity="idea",
        ),
        Mistake(
            "letters only",
            change={"*sorted(found)": "*sorted(word for word in found if word.isalpha())"},
            says="tokens with other signs than letters are left out: every token is a word",
            gravity="idea",
        ),
        Mistake(
            "a dictionary",
            change={
                'return ["<pad>", "<unk>", *sorted(found)]': 'return {word: i for i, word in enumerate(["<pad>", "<unk>", *sorted(found)])}'
            },
            says="build_vocabulary gives a dictionary: it is a list of words",
            gravity="idea",
        ),
        Mistake(
            "only padding added",
            change={'["<pad>", "<unk>", *': '["<pad>", *'},
            says="`<unk>` is missing in the vocabulary: it is entry 1",
            gravity="idea",
        ),
        Mistake(
            "letters numbered",
            change={"for token in speeches.tokens(text)]": "for token in text]"},
            says="encode goes through the letters of the text: use `speeches.tokens`",
            gravity="idea",
        ),
        Mistake(
            "encode splits at spaces",
            change={"for token in speeches.tokens(text)]": "for token in text.split()]"},
            says="encode splits the text at spaces: use `speeches.tokens`",
            gravity="idea",
        ),
        Mistake(
            "encode in small letters",
            change={"for token in speeches.tokens(text)]": "for token in speeches.tokens(text.lower())]"},
            says="encode folds capitals: the tokens stay as they are",
            gravity="idea",
        ),
        Mistake(
            "special words not counted",
            change={
                "place = {word: number for number, word in enumerate(words)}": "place = {word: number for number, word in enumerate(words[2:])}"
            },
            says="padding and unknown count, too: they are entries 0 and 1",
            gravity="idea",
        ),
        Mistake(
            "sorted numbers",
            change={
                "return [place.get(token, 1) for token in speeches.tokens(text)]": "return sorted(place.get(token, 1) for token in speeches.tokens(text))"
            },
            says="encode sorts the numbers: they follow the text",
            gravity="idea",
        ),
        Mistake(
            "each number once",
            change={
                "return [place.get(token, 1) for token in speeches.tokens(text)]": "return list(dict.fromkeys(place.get(token, 1) for token in speeches.tokens(text)))"
            },
            says="encode gives each number once: a token that comes again is numbered again",
            gravity="idea",
        ),
        Mistake(
            "a tensor",
            change={
                "return [place.get(token, 1) for token in speeches.tokens(text)]": "return torch.tensor([place.get(token, 1) for token in speeches.tokens(text)], dtype=torch.long)"
            },
            hint="Python integers",
            gravity="edge",
        ),
        Mistake(
            "unknown is −1",
            change={"place.get(token, 1)": "place.get(token, -1)"},
            says="unknown tokens become −1: they become 1",
            gravity="part",
        ),
        Mistake(
            "unknown comes after the last",
            change={"place.get(token, 1)": "place.get(token, len(words))"},
            says="unknown tokens get a number after the last word: they become 1",
            gravity="part",
        ),
        Mistake(
            "special tokens as words",
            change={"speeches.tokens(text)]": '(text.split() if "<unk>" in text else speeches.tokens(text))]'},
            hint="split like any other text",
            gravity="edge",
        ),
        Mistake(
            "test files only",
            change={'name.startswith("train_")': 'name.startswith("test_")'},
            says="the test files are read: read those whose name begins with `train_`",
            gravity="idea",
        ),
        Mistake(
            "one kind of file",
            change={'name.startswith("train_")': 'name.startswith("train_") and name.endswith(".txt")'},
            says="only `train_LM.txt` was read: use all training files",
            gravity="idea",
        ),
        Mistake(
            "numbers from the end",
            change={"for token in speeches.tokens(text)]": "for token in speeches.tokens(text)][::-1]"},
            says="encode gives the numbers from the end of the text: they follow the text",
            gravity="idea",
        ),
        Mistake(
            "two places on",
            change={"enumerate(words)": "enumerate(words, 2)"},
            says="encode adds 2 to every number: padding and unknown are in `words` already",
            gravity="idea",
        ),
        Right(
            "comprehension and index",
            code=BUILD
            + """
def encode(text, words):
    return [words.index(token) if token in words else 1 for token in speeches.tokens(text)]
""",
        ),
        Right(
            "dictionary as ordered set",
            code="""
def build_vocabulary(files):
    every = {}
    for name in sorted(files):
        if name.split("_")[0] == "train":
            for token in speeches.tokens(files[name]):
                every[token] = True
    words = list(every)
    words.sort()
    words.insert(0, "<unk>")
    words.insert(0, "<pad>")
    return words


def encode(text, words):
    numbers = []
    table = dict(zip(words, range(len(words))))
    for token in speeches.tokens(text):
        numbers.append(table[token] if token in table else table["<unk>"])
    return numbers
""",
        ),
    ],
    "pad": [
        Mistake(
            "lists",
            code="""
def pad(rows, T):
    return [(list(row) + [0] * T)[:T] for row in rows]
""",
            says="lists come back: make an int64 tensor of them",
            gravity="edge",
        ),
        Mistake(
            "filler in front",
            change={"out[i, : len(row[:T])] =": "out[i, T - len(row[:T]) :] ="},
            says="the filler is in front: put it at the end",
            gravity="idea",
        ),
        Mistake(
            "the last entries",
            change={"torch.tensor(row[:T]": "torch.tensor(row[-T:]"},
            says="long lists keep their last entries: keep the first T",
            gravity="part",
        ),
        Mistake(
            "filled with unknown",
            change={"torch.zeros(": "torch.ones("},
            says="the filler is 1, which is the unknown word: padding is 0",
            gravity="idea",
        ),
        Mistake(
            "filled with −1",
            change={"torch.zeros(len(rows), T, dtype=torch.long)": "torch.full((len(rows), T), -1)"},
            says="the filler is −1: padding is 0",
            gravity="idea",
        ),
        Mistake(
            "as wide as the longest list",
            change={"torch.zeros(len(rows), T,": "torch.zeros(len(rows), min(T, max(map(len, rows))),"},
            says="there are as many columns as the longest list has entries: there are always T",
            gravity="part",
        ),
        Mistake("floats", change={"T, dtype=torch.long)": "T)"}, hint="the result is an int64 tensor", gravity="edge"),
        Mistake(
            "not cut",
            change={"len(row[:T])": "len(row)", "torch.tensor(row[:T]": "torch.tensor(row"},
            says="a list with more than T entries is not cut: it keeps its first T",
            gravity="part",
        ),
        Mistake(
            "in place",
            code="""
def pad(rows, T):
    for row in rows:
        row += [0] * (T - len(row))
    return torch.tensor([row[:T] for row in rows])
""",
            hint=IN_PLACE,
            gravity="edge",
        ),
        Mistake(
            "filled with the last entry",
            change={
                "torch.zeros(len(rows), T, dtype=torch.long)": "torch.tensor([[row[-1] if row else 0] * T for row in rows], dtype=torch.long).view(len(rows), T)"
            },
            says="short lists are filled up with their last entry: fill up with 0",
            gravity="idea",
        ),
        Mistake(
            "repeated",
            change={
                "    out = torch.zeros(len(rows), T, dtype=torch.long)": "    rows = [row * T for row in rows]\n    out = torch.zeros(len(rows), T, dtype=torch.long)"
            },
            says="short lists are repeated: fill them up with 0",
            gravity="idea",
        ),
        Mistake(
            "one entry too few",
            change={"row[:T]": "row[: T - 1]"},
            says="a list of T entries or more loses its last one: T entries stay",
            gravity="idea",
        ),
        Mistake(
            "one column too many",
            change={"len(rows), T, dtype": "len(rows), T + 1, dtype"},
            says="there is one column too many: T columns",
            gravity="idea",
        ),
        Mistake(
            "turned",
            change={"return out": "return out.T"},
            says="rows and columns are exchanged: each list is a row",
            gravity="idea",
        ),
        Mistake(
            "int32",
            change={"return out": "return out.int()"},
            hint="the result is an int64 tensor",
            gravity="edge",
        ),
        Mistake(
            "long lists left out",
            change={"for i, row in enumerate(rows):": "for i, row in enumerate(rows):\n        if len(row) > T:\n            continue"},
            says="a list with more than T entries is left empty: it keeps its first T",
            gravity="part",
        ),
        Mistake(
            "the middle",
            change={
                "out[i, : len(row[:T])] = torch.tensor(row[:T], dtype=torch.long)": "row = row[max(0, len(row) - T) // 2 :][:T]\n        out[i, : len(row)] = torch.tensor(row, dtype=torch.long)"
            },
            says="long lists keep their middle: keep the first T",
            gravity="part",
        ),
        Mistake(
            "empty lists dropped",
            change={"    out = torch": "    rows = [row for row in rows if row]\n    out = torch"},
            says="an empty list is dropped: it is a row of padding",
            gravity="edge",
        ),
        Mistake(
            "shortest list",
            change={"    return out": "    return out[:, : min(T, min(map(len, rows)))]"},
            says="all lists are cut at the shortest one: there are T columns",
            gravity="idea",
        ),
        Mistake(
            "as wide as the longest",
            change={"    return out": "    return out[:, : max(map(len, rows))]"},
            hint="do not cut at the longest list",
            gravity="part",
        ),
        Mistake(
            "sorted by length",
            change={"    out = torch": "    rows = sorted(rows, key=len)\n    out = torch"},
            says="the rows are sorted by length: row i belongs to list i",
            gravity="idea",
        ),
        Right(
            "lists",
            code="""
def pad(rows, T):
    return torch.tensor([list(row[:T]) + [0] * (T - len(row[:T])) for row in rows], dtype=torch.long)
""",
        ),
        Right(
            "pad_sequence",
            code="""
def pad(rows, T):
    cut = [torch.tensor(row[:T], dtype=torch.long) for row in rows]
    cut.append(torch.zeros(T, dtype=torch.long))
    return nn.utils.rnn.pad_sequence(cut, batch_first=True)[:-1]
""",
        ),
        Right(
            "numpy",
            code="""
import numpy as np


def pad(rows, T):
    out = np.zeros((len(rows), T), dtype=np.int64)
    for i, row in enumerate(rows):
        for j in range(min(T, len(row))):
            out[i, j] = row[j]
    return torch.from_numpy(out)
""",
        ),
    ],
    "count": [
        Mistake(
            "no biases in attention",
            change={"4 * (D * D + D)": "4 * D * D"},
            says="4 D numbers are missing: the biases of the four attention matrices, or the two LayerNorms",
            gravity="idea",
        ),
        Mistake(
            "no biases in the feed-forward part",
            change={"D * hidden + hidden + hidden * D + D": "2 * D * hidden"},
            says="hidden + D numbers are missing: the biases of the feed-forward part",
            gravity="idea",
        ),
        Mistake(
            "one norm",
            change={"2 * 2 * D\n": "2 * D\n"},
            says="2 D numbers are missing: there are two LayerNorms, and each has a gain *and* a shift",
            gravity="idea",
        ),
        Mistake(
            "three matrices",
            change={"4 * (D * D + D)": "3 * (D * D + D)"},
            says="attention has four matrices: queries, keys, values *and* output",
            gravity="idea",
        ),
        Mistake(
            "no biases at all",
            change={"4 * (D * D + D)": "4 * D * D", "D * hidden + hidden + hidden * D + D": "2 * D * hidden"},
            says="no biases at all are counted",
            gravity="idea",
        ),
        Mistake(
            "no positions in the encoder",
            change={"(T * D if learned else 0)": "0"},
            says="the positions are missing: a table of T × D",
            gravity="idea",
        ),
        Mistake(
            "always positions",
            change={"(T * D if learned else 0)": "T * D"},
            says="`learned=False` changes nothing: then there is no table of positions",
            gravity="part",
        ),
        Mistake(
            "classifier without biases",
            change={"D * C + C + C * K + K": "D * C + C * K"},
            says="the classifier's biases are missing",
            gravity="idea",
        ),
        Mistake(
            "no classifier",
            change={"layer_parameters(D, hidden) + classifier": "layer_parameters(D, hidden)"},
            says="the classifier is missing: D·C + C + C·K + K",
            gravity="idea",
        ),
        Mistake(
            "a norm at the encoder's end",
            change={"layer_parameters(D, hidden) + classifier": "layer_parameters(D, hidden) + classifier + 2 * D"},
            says="there is no norm at the end of this encoder",
            gravity="idea",
        ),
        Mistake(
            "tied output",
            change={"+ 2 * D + D * V": "+ 2 * D"},
            says="decoder: one of the two tables of D × V is missing: embeddings and output layer do not share their weights",
            gravity="idea",
        ),
        Mistake(
            "output with a bias", change={"+ 2 * D + D * V": "+ 2 * D + D * V + V"}, says="the output layer has no bias", gravity="idea"
        ),
        Mistake(
            "no norm at the decoder's end", change={"+ 2 * D + D * V": "+ D * V"}, says="the norm at the end is missing", gravity="idea"
        ),
        Mistake(
            "the example's numbers",
            change={"4 * (D * D + D)": "16640", "2 * 2 * D\n": "256\n"},
            says="a number of the example is written into the formula: use the arguments",
            gravity="idea",
        ),
        Mistake(
            "three biases in attention",
            change={"4 * (D * D + D)": "4 * D * D + 3 * D"},
            says="D numbers are missing in a layer: the bias of F → D, or that of one of the four attention matrices",
            gravity="idea",
        ),
        Mistake(
            "one matrix in the feed-forward part",
            change={"D * hidden + hidden + hidden * D + D": "D * hidden + hidden"},
            says="the feed-forward part goes D → F *and* back F → D",
            gravity="idea",
        ),
        Mistake(
            "biases of the first matrix",
            change={"D * hidden + hidden + hidden * D + D": "2 * D * hidden + hidden"},
            says="D numbers are missing in a layer: the bias of F → D, or that of one of the four attention matrices",
            gravity="idea",
        ),
        Mistake(
            "biases of the second matrix",
            change={"D * hidden + hidden + hidden * D + D": "2 * D * hidden + D"},
            says="the bias of D → F is missing: F numbers",
            gravity="idea",
        ),
        Mistake(
            "hidden is 4 D",
            change={"    feed_forward = D": "    hidden = 4 * D\n    feed_forward = D"},
            says="`hidden` is not used: F is not always 4 D",
            gravity="idea",
        ),
        Mistake(
            "gains only",
            change={"2 * 2 * D\n": "2 * D  # two gains\n"},
            says="2 D numbers are missing: there are two LayerNorms, and each has a gain *and* a shift",
            gravity="idea",
        ),
        Mistake(
            "no norms",
            change={"2 * 2 * D\n": "0\n"},
            says="4 D numbers are missing: the biases of the four attention matrices, or the two LayerNorms",
            gravity="idea",
        ),
        Mistake(
            "a third norm",
            change={"2 * 2 * D\n": "3 * 2 * D\n"},
            says="three norms are counted in a layer: there are two",
            gravity="idea",
        ),
        Mistake(
            "two attentions",
            change={"attention + feed_forward + norms": "2 * attention + feed_forward + norms"},
            says="attention is counted twice: a layer has one",
            gravity="idea",
        ),
        Mistake(
            "one layer in the encoder",
            change={"tables + L * layer": "tables + layer"},
            says="encoder: L is not used: there are L layers",
            gravity="idea",
        ),
        Mistake(
            "one layer in the decoder",
            change={"T * D + L * layer_parameters(D, hidden) + 2": "T * D + layer_parameters(D, hidden) + 2"},
            says="decoder: L is not used: there are L layers",
            gravity="idea",
        ),
        Mistake(
            "no vocabulary in the encoder",
            change={"V * D + (T * D if": "(T * D if"},
            says="encoder: the table of V × D embeddings is missing",
            gravity="idea",
        ),
        Mistake(
            "one linear layer for classes",
            change={"D * C + C + C * K + K": "D * K + K"},
            says="encoder: the classifier has two layers, D → C → K",
            gravity="idea",
        ),
        Mistake(
            "classifier after T positions",
            change={"D * C + C + C * K + K": "T * D * C + C + C * K + K"},
            says="encoder: the classifier gets one vector of width D, not T of them",
            gravity="idea",
        ),
        Mistake(
            "learned turned around",
            change={"(T * D if learned else 0)": "(0 if learned else T * D)"},
            says="encoder: `learned` is turned around: positions are counted where it is False",
            gravity="idea",
        ),
        Mistake(
            "ALiBi has a slope per head",
            change={"(T * D if learned else 0)": "(T * D if learned else 2)"},
            hint="with `learned=False` there is no table of positions",
            gravity="part",
        ),
        Mistake(
            "ALiBi has no embeddings",
            change={"V * D + (T * D if learned else 0)": "((V + T) * D if learned else 0)"},
            says="with `learned=False` the embeddings are left out, too: only the positions are",
            gravity="part",
        ),
        Mistake(
            "no positions in the decoder",
            change={"V * D + T * D + L": "V * D + L"},
            says="decoder: the positions are missing: a table of T × D",
            gravity="idea",
        ),
        Mistake(
            "no embeddings in the decoder",
            change={"return V * D + T * D + L": "return T * D + L"},
            says="decoder: one of the two tables of D × V is missing: embeddings and output layer do not share their weights",
            gravity="idea",
        ),
        Mistake(
            "a norm without shift",
            change={"+ 2 * D + D * V": "+ D + D * V"},
            says="decoder: the norm at the end has a gain *and* a shift, 2 D numbers",
            gravity="idea",
        ),
        Mistake(
            "a bias of width D",
            change={"+ 2 * D + D * V": "+ 2 * D + D * V + D"},
            says="decoder: D numbers too many: the output layer has no bias, and there is one norm at the end",
            gravity="idea",
        ),
        Mistake(
            "floats",
            change={"return attention + feed_forward + norms": "return float(attention + feed_forward + norms)"},
            hint="whole numbers",
            gravity="edge",
        ),
        Mistake(
            "hidden for both biases",
            change={"D * hidden + hidden + hidden * D + D": "2 * D * hidden + 2 * hidden"},
            says="both biases of the feed-forward part have F numbers in your count: that of F → D has D",
            gravity="idea",
        ),
        Mistake(
            "second layer from D",
            change={"D * C + C + C * K + K": "D * C + C + D * K + K"},
            says="encoder: the classifier's second layer goes C → K, not D → K",
            gravity="idea",
        ),
        Mistake(
            "positions for every word",
            change={"(T * D if learned else 0)": "(V * D if learned else 0)"},
            says="encoder: the table of positions has T rows, not V",
            gravity="idea",
        ),
        Right(
            "collected terms",
            code=LAYER
            + """

def encoder_parameters(V, T, D, L, hidden, C, K, learned=True):
    return (V + T * bool(learned)) * D + L * layer_parameters(D, hidden) + (D + 1) * C + (C + 1) * K


def decoder_parameters(V, T, D, L, hidden):
    return (2 * V + T + 2) * D + L * layer_parameters(D, hidden)
""",
        ),
        Right(
            "build it and count",
            code="""
def layer_parameters(D, hidden):
    return models.parameters(models.Block(models.Shape(1, D, 1, 1, hidden)))


def encoder_parameters(V, T, D, L, hidden, C, K, learned=True):
    shape = models.Shape(V, D, 1, L, hidden, T, final_norm=False, positions="learned" if learned else "none")
    return models.parameters(models.Classifier(shape, K, C))


def decoder_parameters(V, T, D, L, hidden):
    return models.parameters(models.LanguageModel(models.Shape(V, D, 1, L, hidden, T)))
""",
        ),
    ],
    "attend": [
        Mistake(
            "exp overflows",
            change={
                "return scores.softmax(dim=-1) @ v\n": "grown = scores.exp()\n        return grown / grown.sum(-1, keepdim=True) @ v\n"
            },
            says="`exp` overflows where scores are large: softmax subtracts the largest score first",
            gravity="edge",
        ),
        Mistake(
            "bias detached",
            change={"scores = scores + bias": "scores = scores + bias.detach()"},
            hint="the gradients do not reach the bias",
            gravity="part",
        ),
        Mistake(
            "float64 comes back",
            change={"return scores.softmax(dim=-1) @ v": "return (scores.softmax(dim=-1) @ v).double()"},
            hint="float32 in, float32 out",
            gravity="edge",
        ),
        Mistake(
            "float32 inside",
            change={"scores = q @ k.mT": "q, k, v = q.float(), k.float(), v.float()\n    scores = q @ k.mT"},
            hint="with float64 input digits are lost",
            gravity="edge",
        ),
        Mistake("no scale", change={" / q.shape[-1] ** 0.5": ""}, says="the scores are not scaled", gravity="idea"),
        Mistake(
            "scale by d",
            change={"q.shape[-1] ** 0.5": "q.shape[-1]"},
            says="the scores are divided by d, not by its square root",
            gravity="idea",
        ),
        Mistake(
            "scale by the number of keys",
            change={"q.shape[-1] ** 0.5": "k.shape[-2] ** 0.5"},
            says="the scale is the root of the number of keys",
            gravity="idea",
        ),
        Mistake("mask turned around", change={"~mask": "mask"}, says="the mask is turned around: `True` means may look", gravity="part"),
        Mistake(
            "zeroed after softmax",
            change={"    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)\n": ""},
            says="the hidden keys still count in the normaliser: hide them before the softmax",
            gravity="part",
        ),
        Mistake(
            "hidden scores are 0",
            change={"torch.finfo(scores.dtype).min": "0.0", "softmax(dim=-1).masked_fill(~mask, 0) @ v": "softmax(dim=-1) @ v"},
            says="hidden scores are set to 0: that is a score like any other. Use a very negative number",
            gravity="part",
        ),
        Mistake(
            "NaN for nobody",
            change={"torch.finfo(scores.dtype).min": "-torch.inf", ".masked_fill(~mask, 0) @ v": " @ v"},
            says="a query that may look nowhere gets NaN: it gets zeros",
            gravity="part",
        ),
        Mistake(
            "mean for nobody",
            change={".masked_fill(~mask, 0) @ v": " @ v"},
            says="a query that may look nowhere gets the mean of all values: it gets zeros",
            gravity="part",
        ),
        Mistake("no bias", change={"scores = scores + bias": "pass"}, says="the bias is not used", gravity="part"),
        Mistake("bias subtracted", change={"scores + bias": "scores - bias"}, says="the bias is subtracted", gravity="part"),
        Mistake(
            "bias before the scale",
            change={"scores = scores + bias": "scores = scores + bias / q.shape[-1] ** 0.5"},
            says="the bias is added before the scores are divided by the root: it comes after",
            gravity="part",
        ),
        Mistake(
            "softmax over queries",
            change={
                "    if mask is None:\n        return scores.softmax(dim=-1) @ v": "    if mask is None:\n        return scores.softmax(dim=-2) @ v"
            },
            says="softmax runs over the queries: the weights of a query sum to one over the keys",
            gravity="idea",
        ),
        Mistake(
            "no gradient",
            change={"scores.softmax(dim=-1).masked_fill": "scores.detach().softmax(dim=-1).masked_fill"},
            hint="the gradients through your attention are wrong",
            gravity="part",
        ),
        Mistake(
            "scale multiplied",
            change={" / q.shape[-1] ** 0.5": " * q.shape[-1] ** 0.5"},
            says="the scores are multiplied by √d: divide",
            gravity="idea",
        ),
        Mistake(
            "scale of the values",
            change={"q.shape[-1] ** 0.5": "v.shape[-1] ** 0.5"},
            says="the scale is the root of a value's width: it is that of a query, d",
            gravity="idea",
        ),
        Mistake(
            "scale of the heads",
            change={"q.shape[-1] ** 0.5": "q.shape[1] ** 0.5"},
            says="the scale is the root of the number of heads: divide by √d",
            gravity="idea",
        ),
        Mistake(
            "scale of the queries",
            change={"q.shape[-1] ** 0.5": "q.shape[-2] ** 0.5"},
            says="the scale is the root of the number of queries: divide by √d",
            gravity="idea",
        ),
        Mistake(
            "no softmax",
            change={"return scores.softmax(dim=-1) @ v": "return scores @ v"},
            says="without a mask the softmax is missing",
            gravity="idea",
        ),
        Mistake(
            "sigmoid",
            change={"return scores.softmax(dim=-1) @ v": "return scores.sigmoid() @ v"},
            says="without a mask this is a sigmoid of each score: use softmax",
            gravity="idea",
        ),
        Mistake(
            "softmax over heads",
            change={"softmax(dim=-1)": "softmax(dim=1)"},
            says="softmax runs over the heads: the weights of a query sum to one over the keys",
            gravity="idea",
        ),
        Mistake(
            "weights returned",
            change={"return scores.softmax(dim=-1) @ v": "return scores.softmax(dim=-1)"},
            says="the weights come back: multiply them with the values",
            gravity="idea",
        ),
        Mistake(
            "keys for values",
            change={"softmax(dim=-1) @ v": "softmax(dim=-1) @ k"},
            says="the keys are averaged: average the values",
            gravity="idea",
        ),
        Mistake(
            "hidden by −10",
            change={"torch.finfo(scores.dtype).min": "-10.0"},
            says="hidden scores become −10, which still gives them weight: use a very negative number",
            gravity="part",
        ),
        Mistake(
            "hidden by −100",
            change={"torch.finfo(scores.dtype).min": "-100.0"},
            says="hidden scores become −100, which gives them weight where visible scores are lower: use the smallest number of the dtype, or −∞",
            gravity="edge",
        ),
        Mistake(
            "mask added",
            change={"scores.masked_fill(~mask, torch.finfo(scores.dtype).min)": "scores + mask"},
            says="the mask is added as 0 and 1: hide what is False with a very negative number",
            gravity="part",
        ),
        Mistake(
            "mask of the first",
            change={"scores.masked_fill(~mask,": "scores.masked_fill(~mask[:1],"},
            says="before the softmax only the first row of the mask is used: use the mask as it is",
            gravity="part",
        ),
        Mistake(
            "mask as a product",
            change={"    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)\n": "    scores = scores * mask\n"},
            says="hidden scores are set to 0: that is a score like any other. Use a very negative number",
            gravity="part",
        ),
        Mistake(
            "bias after the softmax",
            change={
                "        scores = scores + bias\n": "        pass\n",
                "        return scores.softmax(dim=-1) @ v": "        return (scores.softmax(dim=-1) if bias is None else scores.softmax(dim=-1) + bias) @ v",
            },
            says="the bias is added to the weights: add it to the scores, before the softmax",
            gravity="part",
        ),
        Mistake(
            "bias multiplies",
            change={"scores + bias": "scores * bias"},
            says="the bias multiplies the scores: add it",
            gravity="part",
        ),
        Mistake(
            "bias of the first head",
            change={"scores + bias": "scores + (bias[..., :1, :, :] if bias.dim() > 2 else bias)"},
            says="the first head's bias is used for all heads",
            gravity="part",
        ),
        Mistake(
            "bias or mask",
            change={"    if mask is None:\n": "    if mask is None or bias is not None:\n"},
            says="with a bias the mask is not used",
            gravity="edge",
        ),
        Mistake(
            "mask or bias",
            change={"    if bias is not None:\n": "    if bias is not None and mask is None:\n"},
            says="with a mask the bias is not used",
            gravity="edge",
        ),
        Mistake(
            "key by key",
            change={"q @ k.mT": "k @ q.mT"},
            says="the scores are those of keys with queries, (S, T): rows are queries",
            gravity="idea",
        ),
        Mistake(
            "in place on the bias",
            change={"scores = scores + bias": "bias += 1.0\n        scores = scores + bias"},
            hint="your code changes its input in place",
            gravity="part",
        ),
        Mistake(
            "whole batch empty",
            change={
                "    scores = scores.masked_fill(~mask, torch": "    if not mask.flatten(1).any(1).all():\n        return torch.zeros(*q.shape[:-1], v.shape[-1])\n    scores = scores.masked_fill(~mask, torch"
            },
            says="one empty segment makes the whole batch zero: only its own queries get zeros",
            gravity="part",
        ),
        Mistake(
            "scaled after the softmax",
            change={
                " / q.shape[-1] ** 0.5": "",
                "return scores.softmax(dim=-1) @ v": "return scores.softmax(dim=-1) @ v / q.shape[-1] ** 0.5",
            },
            says="the result is divided by √d: the scores are, before the softmax",
            gravity="idea",
        ),
        Mistake(
            "the best key alone",
            change={"return scores.softmax(dim=-1) @ v": "return F.one_hot(scores.argmax(-1), k.shape[-2]).to(v.dtype) @ v"},
            says="each query takes the value of its best key: all values count, with the weights of softmax",
            gravity="idea",
        ),
        Mistake(
            "mask transposed",
            change={
                "masked_fill(~mask, torch": "masked_fill(~mask.mT if mask.dim() > 1 and mask.shape[-1] == mask.shape[-2] else ~mask, torch"
            },
            says="a square mask is transposed: rows are queries, as they are",
            gravity="part",
        ),
        Right(
            "torch's kernel",
            code="""
def attend(q, k, v, mask=None, bias=None):
    scores = torch.zeros((), dtype=q.dtype) if bias is None else bias.to(q.dtype)
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=scores.expand(*q.shape[:3], k.shape[2]))
    return out if mask is None else torch.where(mask.any(-1, keepdim=True), out, torch.zeros_like(out))
""",
        ),
        Right(
            "einsum, exp by hand",
            code="""
def attend(q, k, v, mask=None, bias=None):
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias
    grown = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    if mask is not None:
        grown = grown * mask
    return torch.einsum("bhts,bhse->bhte", grown / grown.sum(dim=-1, keepdim=True).clamp_min(1e-30), v)
""",
        ),
        Right(
            "minus infinity and nan_to_num",
            change={
                "    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)\n": "    lost = ~mask.expand_as(scores).any(-1, keepdim=True)\n    scores = scores.masked_fill(~mask & ~lost, -torch.inf)\n"
            },
        ),
    ],
    "pool": [
        Mistake(
            "zeros are left out",
            change={"kept = real[:, :, None].to(x.dtype)": "kept = (real[:, :, None] & (x != 0)).to(x.dtype)"},
            says="numbers that are 0 do not count in your mean: `real` says what counts",
            gravity="edge",
        ),
        Mistake(
            "all positions",
            code="""
def mean_over_real(x, real):
    return x.mean(dim=1)
""",
            says="padding is in the mean",
            gravity="idea",
        ),
        Mistake(
            "divided by T",
            change={"/ kept.sum(dim=1).clamp(min=1)": "/ x.shape[1]"},
            says="the sum leaves padding out, but you divide by all positions",
            gravity="idea",
        ),
        Mistake(
            "a sum",
            change={" / kept.sum(dim=1).clamp(min=1)": ""},
            says="this is a sum: divide by the number of real positions",
            gravity="idea",
        ),
        Mistake(
            "first position",
            code="""
def mean_over_real(x, real):
    return x[:, 0]
""",
            says="this is the first position's vector: take the mean",
            gravity="idea",
        ),
        Mistake(
            "maximum",
            code="""
def mean_over_real(x, real):
    return x.masked_fill(~real[..., None], -torch.inf).amax(dim=1)
""",
            says="this is the maximum: take the mean",
            gravity="idea",
        ),
        Mistake(
            "mask turned around",
            change={"real[:, :, None]": "(~real)[:, :, None]"},
            says="this is the mean over the padding: `True` marks what is real",
            gravity="idea",
        ),
        Mistake(
            "NaN for an empty segment",
            change={".clamp(min=1)": ""},
            says="a segment without a real position gives NaN: it gives zeros",
            gravity="edge",
        ),
        Mistake(
            "one length for all",
            change={"kept.sum(dim=1).clamp(min=1)": "(kept.sum() / x.shape[0])"},
            says="every segment is divided by the same number: each has its own length",
            gravity="idea",
        ),
        Mistake(
            "the first few",
            code="""
def mean_over_real(x, real):
    return torch.stack([row[: max(int(n), 1)].mean(0) * (n > 0) for row, n in zip(x, real.sum(1))])
""",
            says="the first positions are averaged, as many as are real: which ones are real, the mask says",
            gravity="edge",
        ),
        Mistake(
            "last position",
            code="""
def mean_over_real(x, real):
    return x[torch.arange(len(x)), (real.sum(1) - 1).clamp(min=0)] * real.any(1, keepdim=True)
""",
            says="this is the last real position's vector: take the mean",
            gravity="idea",
        ),
        Mistake(
            "longest of the batch",
            change={"kept.sum(dim=1).clamp(min=1)": "kept.sum(dim=1).max().clamp(min=1)"},
            says="every segment is divided by the longest one's length: each has its own",
            gravity="idea",
        ),
        Mistake(
            "shortest of the batch",
            change={"kept.sum(dim=1).clamp(min=1)": "kept.sum(dim=1).min().clamp(min=1)"},
            says="every segment is divided by the shortest one's length: each has its own",
            gravity="idea",
        ),
        Mistake(
            "all segments together",
            change={"kept.sum(dim=1).clamp(min=1)": "kept.sum().clamp(min=1)"},
            says="every segment is divided by the number of real positions in the whole batch: each has its own",
            gravity="idea",
        ),
        Mistake(
            "one too many",
            change={"kept.sum(dim=1).clamp(min=1)": "(kept.sum(dim=1) + 1)"},
            says="you divide by one position more than there are",
            gravity="idea",
        ),
        Mistake(
            "small number added",
            change={"kept.sum(dim=1).clamp(min=1)": "(kept.sum(dim=1) + 1e-3)"},
            hint="something small is added",
            gravity="part",
        ),
        Mistake(
            "median",
            code="""
def mean_over_real(x, real):
    return torch.stack([row[keep].median(0).values if keep.any() else torch.zeros(x.shape[-1]) for row, keep in zip(x, real)])
""",
            says="this is the median: take the mean",
            gravity="idea",
        ),
        Mistake(
            "over the width",
            change={"(x * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1)": "(x * kept).sum(dim=2) / kept.sum(dim=1).clamp(min=1)"},
            says="the width is averaged away: average over the positions",
            gravity="idea",
        ),
        Mistake(
            "root of the length",
            change={"kept.sum(dim=1).clamp(min=1)": "kept.sum(dim=1).clamp(min=1) ** 0.5"},
            says="you divide by the root of the length: divide by the length",
            gravity="idea",
        ),
        Mistake(
            "at least two",
            change={"clamp(min=1)": "clamp(min=2)"},
            says="a segment with one real position is divided by 2: divide by 1",
            gravity="idea",
        ),
        Mistake(
            "NaN made 0",
            change={
                "return (x * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1)": "return ((x * kept).sum(dim=1) / kept.sum(dim=1)).nan_to_num(1.0)"
            },
            says="a segment without a real position gives ones: it gives zeros",
            gravity="edge",
        ),
        Mistake(
            "mean for nobody",
            change={
                "return (x * kept)": "return torch.where(real.any(1, keepdim=True), (x * kept)",
                "clamp(min=1)": "clamp(min=1), x.mean(1))",
            },
            says="a segment without a real position gives the mean of its padding: it gives zeros",
            gravity="edge",
        ),
        Mistake(
            "one for the whole batch",
            change={"return (x * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1)": "return x[:, real.all(0)].mean(1)"},
            says="only positions that are real in *every* segment are averaged: each segment has its own",
            gravity="idea",
        ),
        Mistake(
            "normalised",
            change={"return (x * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1)": "return F.normalize((x * kept).sum(dim=1), dim=-1)"},
            says="the vector is scaled to length one: divide by the number of real positions",
            gravity="idea",
        ),
        Mistake(
            "detached",
            change={"return (x * kept)": "return (x.detach() * kept)"},
            hint="the gradient through the mean is wrong, or does not flow",
            gravity="part",
        ),
        Right(
            "a loop",
            code="""
def mean_over_real(x, real):
    out = []
    for row, kept in zip(x, real):
        out.append(row[kept].mean(dim=0) if kept.any() else torch.zeros_like(row[0]))
    return torch.stack(out)
""",
        ),
        Right(
            "einsum",
            code="""
def mean_over_real(x, real):
    share = real.to(x.dtype)
    share = share / share.sum(1, keepdim=True).clamp_min(1)
    return torch.einsum("bt,btd->bd", share, x)
""",
        ),
    ],
    "evaluate": [
        Mistake(
            "repeats count once",
            change={
                "return torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)": "counts = torch.zeros(K, K, dtype=torch.long)\n    counts[labels, guesses] += 1\n    return counts"
            },
            says="confusion_matrix: a pair that occurs several times counts once: add up",
            gravity="idea",
        ),
        Mistake(
            "the first training label",
            change={"train_labels.bincount().argmax()": "train_labels[0]"},
            says="majority_accuracy: the first training label is guessed: use the most frequent one in training",
            gravity="idea",
        ),
        Mistake(
            "divided in place",
            change={
                "total = matrix.sum(dim=1)\n    there = total > 0\n    return (matrix.diagonal()[there] / total[there]).mean().item()": "there = matrix.sum(dim=1) > 0\n    if matrix.is_floating_point():\n        matrix /= matrix.sum(dim=1, keepdim=True).clamp(min=1)\n    else:\n        matrix = matrix / matrix.sum(dim=1, keepdim=True).clamp(min=1)\n    return matrix.diagonal()[there].mean().item()"
            },
            hint="your code changes its input in place",
            gravity="edge",
        ),
        Mistake(
            "counts as floats",
            change={"minlength=K * K).view(K, K)": "minlength=K * K).view(K, K).float()"},
            hint="the counts are whole numbers",
            gravity="edge",
        ),
        Mistake(
            "transposed",
            change={"labels * K + guesses": "guesses * K + labels"},
            says="rows and columns are swapped: the true class is the row",
            gravity="idea",
        ),
        Mistake(
            "shares",
            code="""
def confusion_matrix(guesses, labels, K):
    counts = torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)
    return counts / counts.sum(1, keepdim=True).clamp(min=1)


def mean_recall(matrix):
    total = matrix.sum(dim=1)
    return (matrix.diagonal()[total > 0] / total[total > 0]).mean().item()


def majority_accuracy(train_labels, test_labels):
    return (test_labels == train_labels.bincount().argmax()).float().mean().item()
""",
            says="these are shares: return counts",
            gravity="idea",
        ),
        Mistake(
            "not enough classes",
            change={"minlength=K * K).view(K, K)": "minlength=0).view(-1, K)"},
            says="confusion_matrix: the number of classes is taken from the data: it is K, even where a class never occurs",
            gravity="edge",
        ),
        Mistake(
            "accuracy",
            change={"(matrix.diagonal()[there] / total[there]).mean().item()": "(matrix.trace() / matrix.sum()).item()"},
            says="this is the accuracy: large classes count more there",
            gravity="idea",
        ),
        Mistake(
            "precision",
            change={"matrix.sum(dim=1)": "matrix.sum(dim=0)"},
            says="this is the mean precision (columns): a recall divides by the row's sum",
            gravity="idea",
        ),
        Mistake(
            "absent class is 0",
            change={"(matrix.diagonal()[there] / total[there]).mean().item()": "(matrix.diagonal() / total.clamp(min=1)).mean().item()"},
            says="a class that does not occur counts as recall 0: leave it out",
            gravity="part",
        ),
        Mistake(
            "absent class is NaN",
            change={"(matrix.diagonal()[there] / total[there])": "(matrix.diagonal() / total)"},
            says="a class that does not occur gives NaN: leave it out",
            gravity="part",
        ),
        Mistake(
            "majority of the test set",
            change={"train_labels.bincount()": "test_labels.bincount()"},
            says="the most frequent *test* class is guessed, which you cannot know beforehand: use the most frequent one in training",
            gravity="idea",
        ),
        Mistake(
            "share in training",
            change={"(test_labels == train_labels": "(train_labels == train_labels"},
            says="this is the majority's share in training: measure on the test labels",
            gravity="idea",
        ),
        Mistake(
            "a tensor",
            change={".float().mean().item()": ".float().mean()"},
            hint="majority_accuracy: return a Python float (`.item()`), not a tensor",
            gravity="edge",
        ),
        Mistake(
            "K taken from the labels",
            change={
                "return torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)": "K = int(max(labels.max(), guesses.max())) + 1\n    return torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)"
            },
            says="confusion_matrix: the number of classes is taken from the data: it is K, even where a class never occurs",
            gravity="edge",
        ),
        Mistake(
            "only the right ones",
            change={
                "return torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)": "return torch.diag(torch.bincount(labels[labels == guesses], minlength=K))"
            },
            says="confusion_matrix: only right guesses are counted: wrong ones stand beside the diagonal",
            gravity="idea",
        ),
        Mistake(
            "shares of all",
            change={
                "return torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)": "return torch.bincount(labels * K + guesses, minlength=K * K).view(K, K) / len(labels)"
            },
            says="confusion_matrix: these are shares: return counts",
            gravity="idea",
        ),
        Mistake(
            "shares by row",
            change={
                "return torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)": "m = torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)\n    return m / m.sum(1, keepdim=True)"
            },
            says="confusion_matrix: every row is divided by its sum: return counts",
            gravity="idea",
        ),
        Mistake(
            "marks for counts",
            change={
                "return torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)": "m = torch.zeros(K, K, dtype=torch.long)\n    m[labels, guesses] = 1\n    return m"
            },
            says="confusion_matrix: a pair that occurs several times counts once: add up",
            gravity="idea",
        ),
        Mistake(
            "first class only",
            change={
                "return torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)": "return torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)[:1].expand(K, K)"
            },
            says="confusion_matrix: every row is that of class 0",
            gravity="idea",
        ),
        Mistake(
            "sum of recalls",
            change={
                "return (matrix.diagonal()[there] / total[there]).mean().item()": "return (matrix.diagonal()[there] / total[there]).sum().item()"
            },
            says="mean_recall: this is the sum: take the mean over the classes",
            gravity="idea",
        ),
        Mistake(
            "recalls of all classes",
            change={"return (matrix.diagonal()[there] / total[there]).mean().item()": "return matrix.diagonal()[there] / total[there]"},
            says="mean_recall: there is one number for each class: take their mean",
            gravity="idea",
        ),
        Mistake(
            "largest recall",
            change={
                "return (matrix.diagonal()[there] / total[there]).mean().item()": "return (matrix.diagonal()[there] / total[there]).max().item()"
            },
            says="mean_recall: this is the best class's recall: take the mean over the classes",
            gravity="idea",
        ),
        Mistake(
            "errors",
            change={
                "return (matrix.diagonal()[there] / total[there]).mean().item()": "return 1 - (matrix.diagonal()[there] / total[there]).mean().item()"
            },
            says="mean_recall: this is the share that was *not* recognised",
            gravity="idea",
        ),
        Mistake(
            "classes never guessed left out",
            change={"there = total > 0": "there = matrix.sum(dim=0) > 0"},
            says="mean_recall: classes that are never *guessed* are left out: leave out those that do not occur, whose row is empty",
            gravity="idea",
        ),
        Mistake(
            "classes never right left out",
            change={"there = total > 0": "there = matrix.diagonal() > 0"},
            says="mean_recall: classes without a right guess are left out: their recall is 0, and it counts",
            gravity="idea",
        ),
        Mistake(
            "rarest class",
            change={"train_labels.bincount().argmax()": "train_labels.bincount().argmin()"},
            says="majority_accuracy: the rarest training class is guessed: take the most frequent one",
            gravity="idea",
        ),
        Mistake(
            "class 0",
            change={"train_labels.bincount().argmax()": "0"},
            says="majority_accuracy: class 0 is always guessed: use the most frequent one in training",
            gravity="idea",
        ),
        Mistake(
            "largest label",
            change={"train_labels.bincount().argmax()": "train_labels.max()"},
            says="majority_accuracy: the largest training label is guessed: take the most frequent one",
            gravity="idea",
        ),
        Mistake(
            "middle label",
            change={"train_labels.bincount().argmax()": "train_labels.median()"},
            says="majority_accuracy: the median of the training labels is guessed: take the most frequent one",
            gravity="idea",
        ),
        Mistake(
            "a count",
            change={
                "return (test_labels == train_labels.bincount().argmax()).float().mean().item()": "return (test_labels == train_labels.bincount().argmax()).float().sum().item()"
            },
            says="majority_accuracy: this is a count: divide by the number of test labels",
            gravity="idea",
        ),
        Mistake(
            "percent",
            change={
                "return (test_labels == train_labels.bincount().argmax()).float().mean().item()": "return 100 * (test_labels == train_labels.bincount().argmax()).float().mean().item()"
            },
            says="majority_accuracy: this is a percentage: return a share",
            gravity="idea",
        ),
        Mistake(
            "wrong ones",
            change={"(test_labels == train": "(test_labels != train"},
            says="majority_accuracy: this is the share of *wrong* guesses",
            gravity="idea",
        ),
        Mistake(
            "class comes back",
            change={
                "return (test_labels == train_labels.bincount().argmax()).float().mean().item()": "return train_labels.bincount().argmax().item()"
            },
            says="majority_accuracy: the class comes back: return the accuracy of guessing it",
            gravity="idea",
        ),
        Mistake(
            "labels together",
            change={"train_labels.bincount()": "torch.cat([train_labels, test_labels]).bincount()"},
            says="majority_accuracy: the most frequent class of training *and* test is guessed: you know the training labels only",
            gravity="idea",
        ),
        Mistake(
            "recall as a tensor",
            change={
                "return (matrix.diagonal()[there] / total[there]).mean().item()": "return (matrix.diagonal()[there] / total[there]).mean()"
            },
            hint="return a Python float",
            gravity="edge",
        ),
        Mistake(
            "recalls: median",
            change={"(matrix.diagonal()[there] / total[there]).mean()": "(matrix.diagonal()[there] / total[there]).median()"},
            says="mean_recall: the median of the recalls is taken: take their mean",
            gravity="idea",
        ),
        Mistake(
            "both directions",
            change={
                "return torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)": "m = torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)\n    return m + m.T"
            },
            says="confusion_matrix: every pair is counted in both directions: the true class is the row, the guess the column",
            gravity="idea",
        ),
        Right(
            "loops",
            code="""
def confusion_matrix(guesses, labels, K):
    counts = [[0] * K for _ in range(K)]
    for guess, label in zip(guesses.tolist(), labels.tolist()):
        counts[label][guess] += 1
    return torch.tensor(counts)


def mean_recall(matrix):
    shares = []
    for i, row in enumerate(matrix.tolist()):
        if sum(row):
            shares.append(row[i] / sum(row))
    return sum(shares) / len(shares)


def majority_accuracy(train_labels, test_labels):
    best = Counter(train_labels.tolist()).most_common(1)[0][0]
    return test_labels.tolist().count(best) / len(test_labels)
""",
        ),
        Right(
            "one-hot",
            code="""
def confusion_matrix(guesses, labels, K):
    return F.one_hot(labels, K).T @ F.one_hot(guesses, K)


def mean_recall(matrix):
    return float((matrix.diagonal() / matrix.sum(1)).nanmean())


def majority_accuracy(train_labels, test_labels):
    return float(torch.mean((test_labels == train_labels.mode().values).double()))
""",
        ),
        Right(
            "scatter and loops",
            change={
                "return torch.bincount(labels * K + guesses, minlength=K * K).view(K, K)": "m = torch.zeros(K, K, dtype=torch.long)\n    m.index_put_((labels, guesses), torch.ones_like(labels), accumulate=True)\n    return m",
                "return (test_labels == train_labels.bincount().argmax()).float().mean().item()": "top = Counter(train_labels.tolist()).most_common(1)[0][0]\n    return sum(label == top for label in test_labels.tolist()) / len(test_labels)",
            },
        ),
    ],
    "sanity": [
        Mistake(
            "sums over real keys",
            change={"weights.sum(dim=-1)": "(weights * real[:, None, None, :]).sum(dim=-1)"},
            says="rows: only weights on real keys are added up: the whole row sums to one, where the weight is, the second rule asks",
            gravity="part",
        ),
        Mistake(
            "future of real queries only",
            change={".triu(1) * causal": ".triu(1) * causal * real[:, None, :, None]"},
            says="future: padding is left out: the rule is for all queries and keys",
            gravity="edge",
        ),
        Mistake(
            "future on real keys only",
            change={".triu(1) * causal": ".triu(1) * causal * real[:, None, None, :]"},
            says="future: padding is left out: the rule is for all queries and keys",
            gravity="edge",
        ),
        Mistake(
            "sums over queries",
            change={"weights.sum(dim=-1) - 1).abs() * real[:, None, :]": "weights.sum(dim=-2) - 1).abs() * real[:, None, :]"},
            says="the columns are summed: every *row* is one query's distribution, sum over the last axis",
            gravity="idea",
        ),
        Mistake(
            "mean of the violations",
            change={"off.max()": "off.mean()"},
            says="this is the mean of the violations: one bad row among many would hide",
            gravity="idea",
        ),
        Mistake(
            "padding queries must sum to one",
            change={" * real[:, None, :]  # (B, H, T)": ""},
            says="rows: padding queries are asked to sum to one, too: only real ones must",
            gravity="part",
        ),
        Mistake(
            "padding queries for keys",
            change={"~real[:, None, None, :]": "~real[:, None, :, None]"},
            says="padding *queries* are searched: the rule is about keys",
            gravity="part",
        ),
        Mistake(
            "real queries only",
            change={
                "padding = weights.abs() * ~real[:, None, None, :]": "padding = weights.abs() * ~real[:, None, None, :] * real[:, None, :, None]"
            },
            says="padding: only real queries are searched: a padding query that looks at a padding key counts, too",
            gravity="part",
        ),
        Mistake(
            "the past",
            change={".triu(1)": ".tril(-1)"},
            says="the lower triangle is searched: the future of query i are the keys j > i",
            gravity="part",
        ),
        Mistake(
            "the diagonal is future",
            change={".triu(1)": ".triu(0)"},
            says="the diagonal counts as future: a query may look at itself",
            gravity="part",
        ),
        Mistake(
            "one key too late",
            change={".triu(1)": ".triu(2)"},
            says="the first key of the future is not searched: it begins at j = i + 1",
            gravity="part",
        ),
        Mistake(
            "always causal",
            change={"weights.abs().triu(1) * causal": "weights.abs().triu(1)"},
            says="future: `causal` is not used: without it there is no forbidden future, and the number is 0.0",
            gravity="part",
        ),
        Mistake(
            "no absolute value for rows",
            change={"(weights.sum(dim=-1) - 1).abs()": "(weights.sum(dim=-1) - 1)"},
            says="a row that sums to less than one is a violation, too: take absolute values",
            gravity="idea",
        ),
        Mistake(
            "no absolute value for the future",
            change={"weights.abs().triu(1)": "weights.triu(1)"},
            says="future: a negative weight is a violation, too: take absolute values",
            gravity="edge",
        ),
        Mistake("tensors", change={".max().item()": ".max()"}, hint="the values are Python floats", gravity="edge"),
        Mistake(
            "largest sum",
            change={"(weights.sum(dim=-1) - 1).abs()": "weights.sum(dim=-1)"},
            says="rows: this is the largest sum itself: subtract 1",
            gravity="idea",
        ),
        Mistake(
            "sum of the violations",
            change={"off.max()": "off.sum()"},
            says="rows: this is the sum of the violations: return the largest",
            gravity="idea",
        ),
        Mistake(
            "smallest violation",
            change={"off.max()": "off.min()"},
            says="rows: this is the smallest violation: return the largest",
            gravity="idea",
        ),
        Mistake(
            "squared",
            change={"(weights.sum(dim=-1) - 1).abs()": "(weights.sum(dim=-1) - 1).square()"},
            says="rows: the difference is squared: take its absolute value",
            gravity="idea",
        ),
        Mistake(
            "absolute weights summed",
            change={"(weights.sum(dim=-1) - 1).abs()": "(weights.abs().sum(dim=-1) - 1).abs()"},
            says="rows: absolute weights are added up: sum the weights as they are",
            gravity="edge",
        ),
        Mistake(
            "first head only",
            change={"off.max()": "off[:, 0].max()"},
            says="rows: only the first head is looked at",
            gravity="idea",
        ),
        Mistake(
            "first segment only",
            change={"off.max()": "off[0].max()"},
            says="rows: only the first segment is looked at",
            gravity="idea",
        ),
        Mistake(
            "padding: sum",
            change={"padding.max()": "padding.sum()"},
            says="padding: this is the sum of the weights on padding: return the largest",
            gravity="part",
        ),
        Mistake(
            "padding: mean",
            change={"padding.max()": "padding.mean()"},
            says="padding: this is a mean: return the largest weight on padding",
            gravity="part",
        ),
        Mistake(
            "padding: real keys",
            change={"~real[:, None, None, :]": "real[:, None, None, :]"},
            says="padding: the real keys are searched: the rule is about padding",
            gravity="part",
        ),
        Mistake(
            "padding: sum of a row",
            change={"padding.max()": "padding.sum(-1).max()"},
            says="padding: the weights of a row are added up: return the largest single weight",
            gravity="part",
        ),
        Mistake(
            "padding: no absolute value",
            change={"padding = weights.abs()": "padding = weights"},
            says="padding: a negative weight is a violation, too: take absolute values",
            gravity="edge",
        ),
        Mistake(
            "padding: last key",
            change={"padding = weights.abs() * ~real[:, None, None, :]": "padding = weights.abs()[..., -1] * ~real[:, -1, None, None]"},
            says="padding: only the last key is searched: every key that is padding counts",
            gravity="part",
        ),
        Mistake(
            "future: sum",
            change={"future.max()": "future.sum()"},
            says="future: this is the sum over the future: return the largest",
            gravity="part",
        ),
        Mistake(
            "future: mean",
            change={"future.max()": "future.mean()"},
            says="future: this is a mean: return the largest weight on a later key",
            gravity="part",
        ),
        Mistake(
            "future: next key only",
            change={".triu(1) * causal": ".diagonal(1, -2, -1) * causal"},
            says="future: only the next key is searched: all later keys count",
            gravity="part",
        ),
        Mistake(
            "future: never",
            change={".triu(1) * causal": ".triu(1) * 0"},
            says="future: it is always 0: with `causal` it is the largest weight on a later key",
            gravity="part",
        ),
        Mistake(
            "future: turned around",
            change={".triu(1) * causal": ".triu(1) * (not causal)"},
            says="future: `causal` is turned around: the rule holds where it is True",
            gravity="part",
        ),
        Mistake(
            "future: first head",
            change={"future.max()": "future[:, 0].max()"},
            says="future: only the first head is looked at",
            gravity="part",
        ),
        Mistake(
            "a tuple",
            change={
                'return {"rows": off.max().item(), "padding": padding.max().item(), "future": future.max().item()}': "return off.max().item(), padding.max().item(), future.max().item()"
            },
            says="a tuple comes back: return a dictionary with the keys rows, padding and future",
            gravity="idea",
        ),
        Mistake(
            "booleans",
            change={
                "off.max().item()": "bool(off.max() > 1e-5)",
                "padding.max().item()": "bool(padding.max() > 1e-5)",
                "future.max().item()": "bool(future.max() > 1e-5)",
            },
            says="the values say whether a rule is broken: return the largest violation",
            gravity="idea",
        ),
        Mistake(
            "real queries for the future",
            change={"weights.abs().triu(1) * causal": "weights.abs().triu(1) * causal * real[:, None, :, None] * real[:, None, None, :]"},
            says="future: padding is left out: the rule is for all queries and keys",
            gravity="edge",
        ),
        Mistake(
            "padding: both sides",
            change={"~real[:, None, None, :]": "(~real[:, None, None, :] & ~real[:, None, :, None])"},
            says="padding: only padding queries are searched: a real query that looks at a padding key is the violation",
            gravity="part",
        ),
        Mistake(
            "future: first segment",
            change={".triu(1) * causal": ".triu(1)[:1] * causal"},
            says="future: only the first segment is looked at",
            gravity="part",
        ),
        Mistake(
            "padding: first head",
            change={"padding.max()": "padding[:, 0].max()"},
            says="padding: only the first head is looked at",
            gravity="part",
        ),
        Mistake(
            "padding: first segment",
            change={"padding.max()": "padding[0].max()"},
            says="padding: only the first segment is looked at",
            gravity="part",
        ),
        Right(
            "loops",
            code="""
def sanity(weights, real, causal):
    worst = {"rows": 0.0, "padding": 0.0, "future": 0.0}
    B, H, T, _ = weights.shape
    for b in range(B):
        for h in range(H):
            for i in range(T):
                row = weights[b, h, i].tolist()
                if real[b, i]:
                    worst["rows"] = max(worst["rows"], abs(sum(row) - 1))
                for j in range(T):
                    if not real[b, j]:
                        worst["padding"] = max(worst["padding"], abs(row[j]))
                    if causal and j > i:
                        worst["future"] = max(worst["future"], abs(row[j]))
    return worst
""",
        ),
        Right(
            "selection by mask",
            code="""
def sanity(weights, real, causal):
    B, H, T, _ = weights.shape
    size = weights.abs()
    zero = weights.new_zeros(1)
    queries = real[:, None].expand(B, H, T)
    keys = real[:, None, None].expand(B, H, T, T)
    ahead = torch.arange(T)[None, :] > torch.arange(T)[:, None]
    found = {"padding": size[~keys], "future": size[:, :, ahead] if causal else zero, "rows": (weights.sum(-1)[queries] - 1).abs()}
    return {rule: float(torch.cat([part.flatten(), zero]).max()) for rule, part in found.items()}
""",
        ),
        Right(
            "masks and loops", change={"weights.abs() * ~real[:, None, None, :]": "weights.abs().masked_fill(real[:, None, None, :], 0.0)"}
        ),
    ],
    "perplexities": [
        Mistake(
            "filler counts",
            change={"real, known = targets >= 0, (targets >= 0)": "real, known = targets >= -1, (targets >= 0)"},
            says="filler counts in `all`: leave the targets of −1 out",
            gravity="part",
        ),
        Mistake(
            "divided by all positions",
            change={"losses[real].mean()": "(losses[real].sum() / len(losses))"},
            says="the sum leaves filler out, but you divide by all positions",
            gravity="part",
        ),
        Mistake(
            "mean of perplexities",
            change={"losses[real].mean().exp()": "losses[real].exp().mean()"},
            says="this is the mean of the tokens' perplexities: average the losses, then take exp",
            gravity="idea",
        ),
        Mistake(
            "no exp",
            change={"losses[real].mean().exp()": "losses[real].mean()"},
            says="this is the mean loss: take exp of it",
            gravity="idea",
        ),
        Mistake(
            "base 2",
            change={"losses[real].mean().exp()": "losses[real].mean().exp2()"},
            says="this is 2 to the power of the mean loss: the losses are in nats, so use exp",
            gravity="idea",
        ),
        Mistake(
            "a sum",
            change={"losses[real].mean().exp()": "losses[real].sum().exp()"},
            says="this is exp of the summed loss: divide the sum by the number of targets first",
            gravity="idea",
        ),
        Mistake(
            "unknown words left out",
            change={"losses[real].mean()": "losses[known].mean()"},
            says="unknown words are left out of `all`",
            gravity="idea",
        ),
        Mistake(
            "filler is known",
            change={"(targets >= 0) & (targets != 1)": "targets != 1"},
            says="filler counts as known: leave the targets of −1 out, too",
            gravity="part",
        ),
        Mistake(
            "unknown still in",
            change={"losses[known].mean()": "losses[real].mean()"},
            says="unknown words are still in: leave the targets of 1 out",
            gravity="part",
        ),
        Mistake("share of known", change={"1 - (known.sum()": "(known.sum()"}, says="this is the share of known words", gravity="part"),
        Mistake(
            "share of all positions",
            change={"1 - (known.sum() / real.sum()).item()": "((targets == 1).sum() / len(targets)).item()"},
            says="filler counts in the number of targets",
            gravity="part",
        ),
        Mistake(
            "padding left out",
            change={"(targets >= 0) & (targets != 1)": "targets > 1"},
            says="the targets of 0 are left out of `known`: 0 is a target like any other here",
            gravity="part",
        ),
        Mistake(
            "known without exp",
            change={"losses[known].mean().exp()": "losses[known].mean()"},
            says="known: this is the mean loss: take exp of it",
            gravity="part",
        ),
        Mistake(
            "base 10",
            change={".mean().exp()": ".mean().mul(math.log(10)).exp()"},
            says="this is 10 to the power of the mean loss: the losses are in nats, so use exp",
            gravity="idea",
        ),
        Mistake(
            "sign",
            change={
                "losses[real].mean().exp()": "(-losses[real].mean()).exp()",
                "losses[known].mean().exp()": "(-losses[known].mean()).exp()",
            },
            says="this is exp of minus the mean loss: losses are −log P already",
            gravity="idea",
        ),
        Mistake(
            "median",
            change={"losses[real].mean()": "losses[real].median()"},
            says="all: the median loss is taken: take the mean",
            gravity="idea",
        ),
        Mistake(
            "known: only 1",
            change={"& (targets != 1)": "& (targets == 1)"},
            says="known: the unknown words are kept and the known ones left out",
            gravity="part",
        ),
        Mistake(
            "known: all",
            change={"known = targets >= 0, (targets >= 0) & (targets != 1)": "known = targets >= 0, targets >= 0"},
            says="unknown words count as known: a target of 1 is an unknown word",
            gravity="part",
        ),
        Mistake(
            "unknown counted",
            change={"1 - (known.sum() / real.sum()).item()": "float((targets == 1).sum())"},
            says="unknown: this is a count: return a share",
            gravity="part",
        ),
        Mistake(
            "unknown in percent",
            change={"1 - (known.sum() / real.sum()).item()": "100 * (1 - (known.sum() / real.sum()).item())"},
            says="unknown: this is a percentage: return a share",
            gravity="part",
        ),
        Mistake(
            "unknown to known",
            change={"1 - (known.sum() / real.sum()).item()": "((targets == 1).sum() / known.sum()).item()"},
            says="unknown: this is the ratio of unknown to known words: divide by all real targets",
            gravity="part",
        ),
        Mistake(
            "unknown and filler",
            change={"1 - (known.sum() / real.sum()).item()": "1 - known.double().mean().item()"},
            says="filler counts as unknown: leave the targets of −1 out",
            gravity="part",
        ),
        Mistake(
            "filler set to loss 0",
            change={"losses[real].mean()": "(losses * real).mean()"},
            says="the sum leaves filler out, but you divide by all positions",
            gravity="part",
        ),
        Mistake(
            "filler everywhere",
            change={"real, known = targets >= 0, (targets >= 0) & (targets != 1)": "real, known = targets >= -1, targets != 1"},
            says="filler counts like any target: leave the targets of −1 out",
            gravity="part",
        ),
        Mistake(
            "tensors",
            change={".mean().exp().item()": ".mean().exp()"},
            hint="the three values are Python floats",
            gravity="edge",
        ),
        Mistake(
            "a tuple",
            change={"    return {\n": "    result = {\n", "    }\n": "    }\n    return tuple(result.values())\n"},
            says="a tuple comes back: return a dictionary with the keys all, known and unknown",
            gravity="idea",
        ),
        Mistake(
            "unknown share of the loss",
            change={"1 - (known.sum() / real.sum()).item()": "(losses[targets == 1].sum() / losses[real].sum()).item()"},
            says="unknown: this is a share of the loss: count targets",
            gravity="part",
        ),
        Mistake(
            "largest loss",
            change={"losses[real].mean().exp()": "losses[real].max().exp()"},
            says="all: the largest loss is taken: take the mean",
            gravity="idea",
        ),
        Mistake(
            "minus 1",
            change={"losses[real].mean().exp()": "losses[real].mean().expm1()"},
            says="all: 1 is subtracted: the perplexity is exp of the mean loss",
            gravity="idea",
        ),
        Right(
            "plain Python",
            code="""
def perplexities(losses, targets):
    pairs = [(loss, target) for loss, target in zip(losses.tolist(), targets.tolist()) if target != -1]
    known = [loss for loss, target in pairs if target != 1]
    every = [loss for loss, _ in pairs]
    return {
        "all": math.exp(sum(every) / len(every)),
        "known": math.exp(sum(known) / len(known)),
        "unknown": (len(every) - len(known)) / len(every),
    }
""",
        ),
        Right(
            "weights",
            code="""
def perplexities(losses, targets):
    real = (targets != -1).double()
    unknown = (targets == 1).double()
    known = real - unknown
    mean = lambda weight: float(((losses.double() * weight).sum() / weight.sum()).exp())
    return {"all": mean(real), "known": mean(known), "unknown": float(unknown.sum() / real.sum())}
""",
        ),
        Right(
            "numpy", change={"losses[real].mean().exp().item()": "float(math.exp(losses.numpy()[real.numpy()].astype('float64').mean()))"}
        ),
    ],
    "interval": [
        Mistake(
            "variance", change={"(p * (1 - p) / n) ** 0.5": "p * (1 - p) / n"}, says="this is the variance: take the root", gravity="idea"
        ),
        Mistake(
            "not divided",
            change={"(p * (1 - p) / n) ** 0.5": "(p * (1 - p)) ** 0.5"},
            says="this is √(p(1 − p)): divide it by √n",
            gravity="idea",
        ),
        Mistake(
            "divided outside",
            change={"(p * (1 - p) / n) ** 0.5": "(p * (1 - p)) ** 0.5 / n"},
            says="divide by n inside the root, not outside",
            gravity="idea",
        ),
        Mistake("a minus b", change={"[y - x for": "[x - y for"}, says="the differences are a − b: take b − a", gravity="idea"),
        Mistake(
            "1.96",
            change={"T_QUANTILES[n - 1]": "1.96"},
            says="1.96 is for large samples: with three seeds use T_QUANTILES[2]",
            gravity="idea",
        ),
        Mistake(
            "n degrees of freedom",
            change={"T_QUANTILES[n - 1]": "T_QUANTILES[n]"},
            says="the degrees of freedom are n − 1: T_QUANTILES[n − 1], not [n]",
            gravity="idea",
        ),
        Mistake("standard deviation", change={" * s / n**0.5": " * s"}, says="s is not divided by √n", gravity="idea"),
        Mistake(
            "biased",
            change={"for value in differences) / (n - 1)": "for value in differences) / n"},
            says="s divides by n: it must divide by n − 1",
            gravity="idea",
        ),
        Mistake("divided by n", change={" * s / n**0.5": " * s / n"}, says="s is divided by n, not by √n", gravity="idea"),
        Mistake("variance for s", change={"(n - 1)) ** 0.5": "(n - 1))"}, says="this is the variance: take its root", gravity="idea"),
        Mistake(
            "not paired",
            code="""
import statistics


def accuracy_error(p, n):
    return (p * (1 - p) / n) ** 0.5


def paired_interval(a, b):
    n = len(a)
    mean = statistics.mean(b) - statistics.mean(a)
    half = T_QUANTILES[n - 1] * (statistics.variance(a) + statistics.variance(b)) ** 0.5 / n**0.5
    return mean - half, mean + half
""",
            says="the seeds are not paired: s is that of the differences, not of both lists",
            gravity="idea",
        ),
        Mistake(
            "three seeds always",
            change={"T_QUANTILES[n - 1]": "T_QUANTILES[2]"},
            says="the quantile of three seeds is used for every number of seeds",
            gravity="part",
        ),
        Mistake(
            "p alone",
            change={"(p * (1 - p) / n) ** 0.5": "(p / n) ** 0.5"},
            says="accuracy_error: the variance of a coin flip is p(1 − p), not p",
            gravity="idea",
        ),
        Mistake(
            "n − 1",
            change={"(p * (1 - p) / n) ** 0.5": "(p * (1 - p) / (n - 1)) ** 0.5"},
            says="accuracy_error: n − 1 is for an estimated variance: here p is given, divide by n",
            gravity="idea",
        ),
        Mistake(
            "times n",
            change={"(p * (1 - p) / n) ** 0.5": "(p * (1 - p) * n) ** 0.5"},
            says="accuracy_error: this is the deviation of the number of right answers: divide by n in the root for a share",
            gravity="idea",
        ),
        Mistake(
            "p² under the root",
            change={"(p * (1 - p) / n) ** 0.5": "(p * p / n) ** 0.5"},
            says="accuracy_error: the variance of a coin flip is p(1 − p), not p²",
            gravity="idea",
        ),
        Mistake(
            "two errors",
            change={"(p * (1 - p) / n) ** 0.5": "1.96 * (p * (1 - p) / n) ** 0.5"},
            says="accuracy_error: this is the half-width of an interval: the standard error has no factor 1.96",
            gravity="idea",
        ),
        Mistake(
            "1.96 for t",
            change={"T_QUANTILES[n - 1] * s": "2 * s"},
            says="2 is for large samples: with three seeds use T_QUANTILES[2]",
            gravity="idea",
        ),
        Mistake(
            "n − 2 degrees",
            change={"T_QUANTILES[n - 1]": "T_QUANTILES[max(1, n - 2)]"},
            says="the degrees of freedom are n − 1: T_QUANTILES[n − 1], not [n − 2]",
            gravity="idea",
        ),
        Mistake(
            "root of n − 1",
            change={"s / n**0.5": "s / (n - 1) ** 0.5"},
            says="s is divided by √(n − 1): divide it by √n",
            gravity="idea",
        ),
        Mistake(
            "times the root",
            change={"s / n**0.5": "s * n**0.5"},
            says="s is multiplied by √n: divide",
            gravity="idea",
        ),
        Mistake(
            "high end first",
            change={"return mean - half, mean + half": "return mean + half, mean - half"},
            says="the low end comes first",
            gravity="idea",
        ),
        Mistake(
            "mean and half",
            change={"return mean - half, mean + half": "return mean, half"},
            says="this is the mean and the half-width: return the low and the high end",
            gravity="idea",
        ),
        Mistake(
            "symmetric around 0",
            change={"return mean - half, mean + half": "return -half, half"},
            says="the interval is around 0: it is around the mean difference",
            gravity="idea",
        ),
        Mistake(
            "full width",
            change={"half = T_Q": "half = 2 * T_Q"},
            says="the interval is twice as wide: t s / √n goes to either side",
            gravity="idea",
        ),
        Mistake(
            "half of the half",
            change={"half = T_Q": "half = 0.5 * T_Q"},
            says="the interval is half as wide: t s / √n goes to either side",
            gravity="idea",
        ),
        Mistake(
            "deviation of b",
            change={"(value - mean) ** 2 for value in differences": "(value - sum(b) / n) ** 2 for value in b"},
            says="s is that of the second list: it is that of the differences",
            gravity="idea",
        ),
        Mistake(
            "absolute differences",
            change={"[y - x for": "[abs(y - x) for"},
            says="the differences lose their sign: take b − a",
            gravity="idea",
        ),
        Mistake(
            "ratio",
            change={"[y - x for": "[y / x - 1 for"},
            says="these are relative differences: take b − a",
            gravity="idea",
        ),
        Mistake(
            "√3 always",
            change={"s / n**0.5": "s / 3**0.5"},
            says="√3 is used for every number of seeds",
            gravity="part",
        ),
        Mistake(
            "one-sided t",
            change={"T_QUANTILES[n - 1]": "{1: 6.314, 2: 2.920}.get(n - 1, 2.0)"},
            says="the quantile is one-sided: use T_QUANTILES, which leaves 2.5 % on either side",
            gravity="idea",
        ),
        Mistake(
            "sorted pairs",
            change={"zip(a, b, strict=True)]": "zip(sorted(a), sorted(b), strict=True)]"},
            says="the results are sorted before they are paired: entry i of both lists belongs to seed i",
            gravity="idea",
        ),
        Mistake(
            "mean of all pairs",
            change={
                "differences = [y - x for x, y in zip(a, b, strict=True)]": "differences = [y - x for x in a for y in b]",
                "n = len(a)": "n = len(a)",
            },
            says="every result is compared with every other: entry i of both lists belongs to seed i",
            gravity="idea",
        ),
        Mistake(
            "rounded",
            change={"return mean - half, mean + half": "return round(mean - half, 3), round(mean + half, 3)"},
            hint="digits are lost: do not round",
            gravity="edge",
        ),
        Mistake(
            "sum of the differences",
            change={"mean = sum(differences) / n": "mean = sum(differences)"},
            says="the differences are added up, not averaged",
            gravity="idea",
        ),
        Mistake(
            "degrees of two samples",
            change={"T_QUANTILES[n - 1]": "T_QUANTILES[2 * n - 2]"},
            says="2n − 2 degrees of freedom are for two independent samples: here there are n differences, so n − 1",
            gravity="idea",
        ),
        Right(
            "torch",
            code="""
def accuracy_error(p, n):
    return math.sqrt(p * (1 - p)) / math.sqrt(n)


def paired_interval(a, b):
    d = torch.tensor(b, dtype=torch.float64) - torch.tensor(a, dtype=torch.float64)
    half = T_QUANTILES[len(d) - 1] * d.std() / len(d) ** 0.5
    return [(d.mean() - half).item(), (d.mean() + half).item()]
""",
        ),
        Right(
            "numpy and statistics",
            code="""
import statistics

import numpy as np


def accuracy_error(p, n):
    return float(np.sqrt(p * (1 - p) / n))


def paired_interval(a, b):
    moves = (np.array(b) - np.array(a)).tolist()
    half = T_QUANTILES[len(a) - 1] * statistics.stdev(moves) / math.sqrt(len(a))
    return statistics.mean(moves) - half, statistics.mean(moves) + half
""",
        ),
        Right(
            "with torch in float64",
            change={
                "s = (sum((value - mean) ** 2 for value in differences) / (n - 1)) ** 0.5": "s = torch.tensor(differences, dtype=torch.float64).std().item()"
            },
        ),
    ],
    "follow": [
        Mistake(
            "no control",
            change={"by_head[:, here] - by_head[:, control].mean(dim=1, keepdim=True)": "by_head[:, here]"},
            says="this is the weight on the hits without the control: subtract the mean at the same distance",
            gravity="idea",
        ),
        Mistake(
            "control at all distances",
            change={"hits & (distance == r), cells & ~hits & (distance == r)": "hits & (distance == r), cells & ~hits"},
            says="the control takes cells at all distances: compare with the same distance only",
            gravity="idea",
        ),
        Mistake(
            "hits in the control",
            change={"cells & ~hits & (distance == r)": "cells & (distance == r)"},
            says="hits are in the control: leave them out",
            gravity="idea",
        ),
        Mistake(
            "cells that do not count",
            change={"cells & ~hits & (distance == r)": "~hits & (distance == r)"},
            says="the control takes cells that do not count: use `cells`",
            gravity="part",
        ),
        Mistake("a sum", change={"total / max(count, 1)": "total"}, says="this is the sum over the hits: take the mean", gravity="idea"),
        Mistake(
            "transposed",
            change={"weights.transpose(0, 1)": "weights.mT.transpose(0, 1)"},
            says="query and key are swapped: rows are queries",
            gravity="idea",
        ),
        Mistake(
            "one segment at a time",
            code="""
def follow(weights, hits, cells):
    T = weights.shape[-1]
    distance = torch.arange(T)[:, None] - torch.arange(T)
    total, count = torch.zeros(weights.shape[1]), 0
    for w, h, c in zip(weights, hits, cells):
        for r in distance[h].unique():
            here, control = h & (distance == r), c & ~h & (distance == r)
            if control.any():
                total = total + (w[:, here] - w[:, control].mean(1, keepdim=True)).sum(1)
                count += int(here.sum())
    return total / max(count, 1)
""",
            says="the control looks at one segment at a time: use the whole batch",
            gravity="part",
        ),
        Mistake(
            "NaN without a hit",
            change={"max(count, 1)": "torch.tensor(float(count))"},
            says="without any hit the score is NaN: it is 0",
            gravity="edge",
        ),
        Mistake(
            "hits without control kept",
            change={"        if control.any():\n": "        if True:\n"},
            hint="a hit without a control cell is left out",
            gravity="edge",
        ),
        Mistake(
            "weighs distances alike",
            change={".sum(dim=1)\n            count += int(here.sum())": ".mean(dim=1)\n            count += 1"},
            says="every distance has the same weight: give every *hit* the same weight",
            gravity="idea",
        ),
        Mistake(
            "mean of the means",
            change={
                "total + (by_head[:, here] - by_head[:, control].mean(dim=1, keepdim=True)).sum(dim=1)": "total + (by_head[:, here].mean(1) - by_head[:, control].mean(1))",
                "count += int(here.sum())": "count += 1",
            },
            says="every distance has the same weight: give every *hit* the same weight",
            gravity="idea",
        ),
        Mistake(
            "control of larger distances",
            change={"cells & ~hits & (distance == r)": "cells & ~hits & (distance >= r)"},
            says="the control takes larger distances, too: compare with the same distance only",
            gravity="idea",
        ),
        Mistake(
            "control of smaller distances",
            change={"cells & ~hits & (distance == r)": "cells & ~hits & (distance <= r)"},
            says="the control takes smaller distances, too: compare with the same distance only",
            gravity="idea",
        ),
        Mistake(
            "other distances",
            change={"cells & ~hits & (distance == r)": "cells & ~hits & (distance != r)"},
            says="the control takes the *other* distances: compare with the same distance",
            gravity="idea",
        ),
        Mistake(
            "same query",
            change={
                "        here, control = hits & (distance == r), cells & ~hits & (distance == r)": "        here, control = hits & (distance == r), cells & ~hits & (hits & (distance == r)).any(2, keepdim=True)"
            },
            says="the control is the rest of the query's row: compare with cells at the same distance",
            gravity="idea",
        ),
        Mistake(
            "ratio",
            change={
                "by_head[:, here] - by_head[:, control].mean(dim=1, keepdim=True)": "by_head[:, here] / by_head[:, control].mean(dim=1, keepdim=True)"
            },
            says="this is a ratio to the control: subtract it",
            gravity="idea",
        ),
        Mistake(
            "control first",
            change={
                "by_head[:, here] - by_head[:, control].mean(dim=1, keepdim=True)": "by_head[:, control].mean(dim=1, keepdim=True) - by_head[:, here]"
            },
            says="the sign is wrong: weight on the hits minus the control",
            gravity="idea",
        ),
        Mistake(
            "median control",
            change={"by_head[:, control].mean(dim=1, keepdim=True)": "by_head[:, control].median(dim=1, keepdim=True).values"},
            says="the control is a median: take the mean",
            gravity="idea",
        ),
        Mistake(
            "mean over heads",
            change={"return total / max(count, 1)": "return (total / max(count, 1)).mean().expand(weights.shape[1])"},
            says="the heads are averaged: each head has its own score",
            gravity="idea",
        ),
        Mistake(
            "divided by the cells",
            change={"count += int(here.sum())": "count += int((here | control).sum())"},
            says="you divide by hits and control cells: divide by the number of hits",
            gravity="idea",
        ),
        Mistake(
            "divided by all hits",
            change={"return total / max(count, 1)": "return total / max(int(hits.sum()), 1)"},
            says="hits without a control cell are counted in the mean: leave them out",
            gravity="edge",
        ),
        Mistake(
            "divided by segments",
            change={"return total / max(count, 1)": "return total / len(weights)"},
            says="the sum is divided by the number of segments: divide by the number of hits",
            gravity="idea",
        ),
        Mistake(
            "heads and batch exchanged",
            change={
                "by_head = weights.transpose(0, 1)": "by_head = weights.reshape(weights.shape[1], weights.shape[0], *weights.shape[2:])"
            },
            says="heads and segments are mixed up by `reshape`: exchange the two axes with `transpose`",
            gravity="part",
        ),
        Mistake(
            "first head",
            change={"return total / max(count, 1)": "return total[:1] / max(count, 1)"},
            says="only the first head's score comes back: (H,)",
            gravity="idea",
        ),
        Mistake(
            "all cells for hits",
            change={"distance[hits].unique()": "distance[cells].unique()", "here, control = hits &": "here, control = cells &"},
            says="all cells are taken for hits: use `hits`",
            gravity="idea",
        ),
        Mistake(
            "distance the other way",
            change={"torch.arange(T)[:, None] - torch.arange(T)": "torch.arange(T)[:, None] + torch.arange(T)"},
            says="cells with the same sum i + j are compared: the distance is i − j",
            gravity="idea",
        ),
        Mistake(
            "the next distance",
            change={"cells & ~hits & (distance == r)": "cells & ~hits & (distance == r + 1)"},
            says="the control is taken one distance further: compare with the same distance",
            gravity="idea",
        ),
        Mistake(
            "sizes of the differences",
            change={
                "(by_head[:, here] - by_head[:, control].mean(dim=1, keepdim=True)).sum(dim=1)": "(by_head[:, here] - by_head[:, control].mean(dim=1, keepdim=True)).abs().sum(dim=1)"
            },
            says="the differences lose their sign: a head may put less weight on hits",
            gravity="idea",
        ),
        Right(
            "a loop over hits",
            code="""
def follow(weights, hits, cells):
    B, H, T, _ = weights.shape
    sums, numbers = torch.zeros(T, H, dtype=weights.dtype), torch.zeros(T)
    lag = lambda i, j: i - j
    for b, i, j in (cells & ~hits).nonzero().tolist():
        sums[lag(i, j)] += weights[b, :, i, j]
        numbers[lag(i, j)] += 1
    score, count = torch.zeros(H, dtype=weights.dtype), 0
    for b, i, j in hits.nonzero().tolist():
        if numbers[lag(i, j)]:
            score += weights[b, :, i, j] - sums[lag(i, j)] / numbers[lag(i, j)]
            count += 1
    return score / count if count else score
""",
        ),
        Right(
            "diagonals",
            code="""
def follow(weights, hits, cells):
    H, T = weights.shape[1], weights.shape[-1]
    total, count = torch.zeros(H, dtype=weights.dtype), 0
    for r in range(-T + 1, T):
        band = weights.diagonal(-r, 2, 3)  # (B, H, length)
        hit, cell = hits.diagonal(-r, 1, 2)[:, None], cells.diagonal(-r, 1, 2)[:, None]
        other = cell & ~hit
        if other.any():
            control = (band * other).sum((0, 2)) / other.sum()
            total += (band * hit).sum((0, 2)) - control * hit.sum()
            count += int(hit.sum())
    return total / max(count, 1)
""",
        ),
    ],
    "bonus-sign": [
        Mistake("one-sided", change={"2 * sum(": "sum("}, says="this is one-sided: double it", gravity="idea"),
        Mistake(
            "one too early",
            change={"range(min(m, n - m) + 1)": "range(min(m, n - m))"},
            says="the sum stops one too early: it includes min(m, n − m)",
            gravity="idea",
        ),
        Mistake(
            "all segments",
            change={
                "n = sum(x != y for x, y in zip(a, b, strict=True))\n    m = sum(y and not x for x, y in zip(a, b, strict=True))": "n = len(a)\n    m = sum(b)"
            },
            says="all segments are counted: only those on which exactly one model is right",
            gravity="idea",
        ),
        Mistake(
            "n is all segments",
            change={"n = sum(x != y for x, y in zip(a, b, strict=True))": "n = len(a)"},
            says="n is the number of segments on which exactly one model is right, not of all",
            gravity="idea",
        ),
        Mistake(
            "exactly this result",
            change={"sum(math.comb(n, k) for k in range(min(m, n - m) + 1))": "math.comb(n, m)"},
            says="this is the probability of exactly this result: add the more uneven ones",
            gravity="idea",
        ),
        Mistake(
            "not capped",
            change={"min(1.0, ": "max(0.0, "},
            says="p is larger than 1 where both models win as often: it is at most 1",
            gravity="edge",
        ),
        Mistake(
            "the second model's side only",
            change={"range(min(m, n - m) + 1)": "range(m + 1)"},
            says="the larger side is summed: use min(m, n − m)",
            gravity="idea",
        ),
        Mistake(
            "floats overflow",
            change={"math.comb(n, k) for": "math.gamma(n + 1) / math.gamma(k + 1) / math.gamma(n - k + 1) for"},
            says="the binomial coefficients overflow for many segments: use whole numbers, `math.comb`",
            gravity="edge",
        ),
        Mistake(
            "one half missing",
            change={"/ 2**n": "/ 2 ** (n - 1)"},
            says="p is doubled twice: 2 Σ C(n, k) / 2^n",
            gravity="idea",
        ),
        Mistake(
            "larger side",
            change={"range(min(m, n - m) + 1)": "range(max(m, n - m) + 1)"},
            says="the larger side is summed: use min(m, n − m)",
            gravity="idea",
        ),
        Mistake(
            "first model's side",
            change={"range(min(m, n - m) + 1)": "range(n - m + 1)"},
            says="only the first model's side is summed: use min(m, n − m)",
            gravity="idea",
        ),
        Mistake(
            "from 1",
            change={"range(min(m, n - m) + 1)": "range(1, min(m, n - m) + 1)"},
            says="the sum begins at 1: k = 0 belongs to it",
            gravity="idea",
        ),
        Mistake(
            "share",
            change={"return min(1.0, 2 * sum": "return m / n if n else 1.0\n    return min(1.0, 2 * sum"},
            says="this is the share of the second model: return the probability p",
            gravity="idea",
        ),
        Mistake(
            "1 − p",
            change={"return min(1.0, 2 * sum(": "return 1 - min(1.0, 2 * sum("},
            says="this is 1 − p",
            gravity="idea",
        ),
        Mistake(
            "normal approximation",
            change={
                "return min(1.0, 2 * sum(math.comb(n, k) for k in range(min(m, n - m) + 1)) / 2**n)": "z = abs(2 * m - n) / n**0.5 if n else 0.0\n    return math.erfc(z / 2**0.5)"
            },
            says="this is the normal approximation: sum the binomial probabilities",
            gravity="idea",
        ),
        Mistake(
            "both right",
            change={"sum(x != y for": "sum(x and y for"},
            says="n counts segments on which both are right: it counts those on which exactly one is",
            gravity="idea",
        ),
        Mistake(
            "disagreements by sets",
            change={"math.comb(n, k)": "math.perm(n, k)"},
            says="these are ordered choices: use the binomial coefficient, `math.comb`",
            gravity="idea",
        ),
        Mistake(
            "not doubled at all",
            change={"min(1.0, 2 * sum(": "min(1.0, 0.5 * sum("},
            says="the sum is halved: double it",
            gravity="idea",
        ),
        Mistake(
            "0 for no difference",
            change={"return min(1.0, ": "if n == 0:\n        return 0.0\n    return min(1.0, "},
            says="for n = 0 the result is 0: the models never differ, and p is 1",
            gravity="edge",
        ),
        Right(
            "logarithms",
            code="""
def sign_test(a, b):
    first = sum(1 for x, y in zip(a, b) if x and not y)
    second = sum(1 for x, y in zip(a, b) if y and not x)
    n, low = first + second, min(first, second)
    log = lambda k: math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2)
    return min(1.0, 2 * sum(math.exp(log(k)) for k in range(low + 1)))
""",
        ),
        Right(
            "fractions",
            code="""
from fractions import Fraction


def sign_test(a, b):
    wins = [y for x, y in zip(a, b) if x != y]
    n, m = len(wins), sum(wins)
    tail, term = Fraction(0), Fraction(1, 2**n)
    for k in range(min(m, n - m) + 1):
        tail += term
        term = term * (n - k) / (k + 1)
    return float(min(Fraction(1), 2 * tail))
""",
        ),
    ],
}

# Mutants that `course verify --mutate` makes and that are no mistakes.
LOOKED_AT = "these are numbers to look at: no model is trained through them"
EQUIVALENT = {
    "vocabulary": {
        "iterator: encode, text *": "a text is a string: it has a length and as many starts as one likes",
        "iterator: encode, words *": "the docstring says that `words` is a list",
    },
    "pad": {"dtype: *": "a row without tokens has no number to lose: it is written into an int64 tensor"},
    "attend": {"dtype: scores.dtype → torch.float32": "the smallest float32 is hidden in float64 as well: its exponential is 0"},
    "pool": {
        "dtype: x.dtype → torch.float32": "zeros and ones are exact in float32, and products with float64 are float64",
        "axis: *, dim=1 → -2": "of three axes, 1 and -2 are the same",
        "left out: without to of real[:, :, None]": "numbers times booleans are numbers, and a sum of booleans is a whole number",
    },
    "sanity": {"gradient: *": LOOKED_AT, "order: weights.sum(dim=-1) - 1 → *": "its absolute value is the same"},
    "perplexities": {"gradient: *": LOOKED_AT},
    "interval": {
        "iterator: paired_interval, b *": "the accuracies are lists: they have a length and several starts",
        "number: True → False": "the text gives lists of the same seeds, so they are equally long",
        "order: value - mean → mean - value": "a square is the same for both signs",
    },
    "follow": {
        "gradient: *": LOOKED_AT,
        "number: 1 → 2 #2": "a map is square: both of its last axes have T",
        "order: torch.arange(T)[:, None] - torch.arange… → *": "with the other sign every cell keeps the company of its distance",
        "dtype: weights.new_zeros *": "zero is exact in float32, and sums with float64 are float64",
    },
    "bonus-sign": {"number: True → False*": "both lists are about the same segments, so they are equally long"},
}
