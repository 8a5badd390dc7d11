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
            hint="a training file is one whose *name begins*",
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
            hint="the vocabulary contains words of the test files",
            gravity="idea",
        ),
        Mistake(
            "only the language model's text",
            change={'name.startswith("train_")': 'name == "train_LM.txt"'},
            hint="only `train_LM.txt` was read: use all training files",
            gravity="idea",
        ),
        Mistake(
            "only the segments",
            change={'name.startswith("train_")': 'name == "train_CLS.tsv"'},
            hint="only `train_CLS.tsv` was read",
            gravity="idea",
        ),
        Mistake(
            "all but test",
            change={'name.startswith("train_")': '"test" not in name'},
            hint="a file whose name does not begin with `train_` is read",
            gravity="edge",
        ),
        Mistake(
            "train anywhere in the name",
            change={'name.startswith("train_")': '"train_" in name'},
            hint="a training file is one whose *name begins*",
            gravity="edge",
        ),
        Mistake(
            "no special words",
            change={'["<pad>", "<unk>", *sorted(found)]': "sorted(found)"},
            hint="padding and unknown are missing",
            gravity="idea",
        ),
        Mistake(
            "special words at the end",
            change={'["<pad>", "<unk>", *sorted(found)]': '[*sorted(found), "<pad>", "<unk>"]'},
            hint="padding and unknown are at the end",
            gravity="idea",
        ),
        Mistake(
            "unknown first",
            change={'["<pad>", "<unk>", *sorted(found)]': '["<unk>", "<pad>", *sorted(found)]'},
            hint="unknown is entry 0",
            gravity="idea",
        ),
        Mistake(
            "split at spaces",
            change={"found.update(speeches.tokens(text))": "found.update(text.split())"},
            hint="the text was split at spaces",
            gravity="idea",
        ),
        Mistake(
            "labels cut off",
            change={"speeches.tokens(text))": 'speeches.tokens(" ".join(line.split("\\t")[-1] for line in text.splitlines())))'},
            hint="the labels are cut off",
            gravity="idea",
        ),
        Mistake(
            "lower case", change={"speeches.tokens(text))": "speeches.tokens(text.lower()))"}, hint="capitals were folded", gravity="idea"
        ),
        Mistake(
            "unknown left out",
            change={
                "[place.get(token, 1) for token in speeches.tokens(text)]": "[place[token] for token in speeches.tokens(text) if token in place]"
            },
            hint="unknown tokens are left out",
            gravity="part",
        ),
        Mistake(
            "unknown becomes padding", change={"place.get(token, 1)": "place.get(token, 0)"}, hint="unknown tokens become 0", gravity="part"
        ),
        Mistake("unknown raises", change={"place.get(token, 1)": "place[token]"}, hint="your code raised KeyError", gravity="part"),
        Mistake("counted from 1", change={"enumerate(words)": "enumerate(words, 1)"}, hint="indices are counted from 0", gravity="idea"),
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
            hint="the result is an int64 tensor",
            gravity="edge",
        ),
        Mistake(
            "filler in front",
            change={"out[i, : len(row[:T])] =": "out[i, T - len(row[:T]) :] ="},
            hint="the filler is in front",
            gravity="idea",
        ),
        Mistake(
            "the last entries",
            change={"torch.tensor(row[:T]": "torch.tensor(row[-T:]"},
            hint="long lists keep their last entries",
            gravity="part",
        ),
        Mistake("filled with unknown", change={"torch.zeros(": "torch.ones("}, hint="the filler is 1", gravity="idea"),
        Mistake(
            "filled with −1",
            change={"torch.zeros(len(rows), T, dtype=torch.long)": "torch.full((len(rows), T), -1)"},
            hint="the filler is −1",
            gravity="idea",
        ),
        Mistake(
            "as wide as the longest list",
            change={"torch.zeros(len(rows), T,": "torch.zeros(len(rows), min(T, max(map(len, rows))),"},
            hint="do not cut at the longest list",
            gravity="part",
        ),
        Mistake("floats", change={"T, dtype=torch.long)": "T)"}, hint="the result is an int64 tensor", gravity="edge"),
        Mistake(
            "not cut",
            change={"len(row[:T])": "len(row)", "torch.tensor(row[:T]": "torch.tensor(row"},
            hint="your code raised RuntimeError",
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
            hint="4 D numbers are missing: the biases of the four attention matrices",
            gravity="idea",
        ),
        Mistake(
            "no biases in the feed-forward part",
            change={"D * hidden + hidden + hidden * D + D": "2 * D * hidden"},
            hint="hidden + D numbers are missing: the biases of the feed-forward part",
            gravity="idea",
        ),
        Mistake("one norm", change={"2 * 2 * D\n": "2 * D\n"}, hint="2 D numbers are missing: there are two LayerNorms", gravity="idea"),
        Mistake("three matrices", change={"4 * (D * D + D)": "3 * (D * D + D)"}, hint="attention has four matrices", gravity="idea"),
        Mistake(
            "no biases at all",
            change={"4 * (D * D + D)": "4 * D * D", "D * hidden + hidden + hidden * D + D": "2 * D * hidden"},
            hint="no biases at all are counted",
            gravity="idea",
        ),
        Mistake(
            "no positions in the encoder",
            change={"(T * D if learned else 0)": "0"},
            hint="the positions are missing: a table of T × D",
            gravity="idea",
        ),
        Mistake("always positions", change={"(T * D if learned else 0)": "T * D"}, hint="`learned=False` changes nothing", gravity="part"),
        Mistake(
            "classifier without biases",
            change={"D * C + C + C * K + K": "D * C + C * K"},
            hint="the classifier's biases are missing",
            gravity="idea",
        ),
        Mistake(
            "no classifier",
            change={"layer_parameters(D, hidden) + classifier": "layer_parameters(D, hidden)"},
            hint="the classifier is missing",
            gravity="idea",
        ),
        Mistake(
            "a norm at the encoder's end",
            change={"layer_parameters(D, hidden) + classifier": "layer_parameters(D, hidden) + classifier + 2 * D"},
            hint="there is no norm at the end of this encoder",
            gravity="idea",
        ),
        Mistake("tied output", change={"+ 2 * D + D * V": "+ 2 * D"}, hint="the output layer is missing", gravity="idea"),
        Mistake(
            "output with a bias", change={"+ 2 * D + D * V": "+ 2 * D + D * V + V"}, hint="the output layer has no bias", gravity="idea"
        ),
        Mistake(
            "no norm at the decoder's end", change={"+ 2 * D + D * V": "+ D * V"}, hint="the norm at the end is missing", gravity="idea"
        ),
        Mistake(
            "the example's numbers",
            change={"4 * (D * D + D)": "16640", "2 * 2 * D\n": "256\n"},
            hint="Is a number of the example written into the formula?",
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
            hint="exp alone overflows",
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
        Mistake("no scale", change={" / q.shape[-1] ** 0.5": ""}, hint="the scores are not scaled", gravity="idea"),
        Mistake("scale by d", change={"q.shape[-1] ** 0.5": "q.shape[-1]"}, hint="divided by d, not by its square root", gravity="idea"),
        Mistake(
            "scale by the number of keys",
            change={"q.shape[-1] ** 0.5": "k.shape[-2] ** 0.5"},
            hint="the scale is the root of the number of keys",
            gravity="idea",
        ),
        Mistake("mask turned around", change={"~mask": "mask"}, hint="True means may look", gravity="part"),
        Mistake(
            "zeroed after softmax",
            change={"    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)\n": ""},
            hint="the hidden keys still count in the normaliser: hide them before the softmax",
            gravity="part",
        ),
        Mistake(
            "hidden scores are 0",
            change={"torch.finfo(scores.dtype).min": "0.0", "softmax(dim=-1).masked_fill(~mask, 0) @ v": "softmax(dim=-1) @ v"},
            hint="hidden scores are set to 0",
            gravity="part",
        ),
        Mistake(
            "NaN for nobody",
            change={"torch.finfo(scores.dtype).min": "-torch.inf", ".masked_fill(~mask, 0) @ v": " @ v"},
            hint="a query that may look nowhere gets zeros",
            gravity="part",
        ),
        Mistake(
            "mean for nobody",
            change={".masked_fill(~mask, 0) @ v": " @ v"},
            hint="a query that may look nowhere gets zeros",
            gravity="part",
        ),
        Mistake("no bias", change={"scores = scores + bias": "pass"}, hint="the bias is not used", gravity="part"),
        Mistake("bias subtracted", change={"scores + bias": "scores - bias"}, hint="the bias is subtracted", gravity="part"),
        Mistake(
            "bias before the scale",
            change={"scores = scores + bias": "scores = scores + bias / q.shape[-1] ** 0.5"},
            hint="the bias is added before the scores are divided",
            gravity="part",
        ),
        Mistake(
            "softmax over queries",
            change={
                "    if mask is None:\n        return scores.softmax(dim=-1) @ v": "    if mask is None:\n        return scores.softmax(dim=-2) @ v"
            },
            hint="the weights of a query sum to one",
            gravity="idea",
        ),
        Mistake(
            "no gradient",
            change={"scores.softmax(dim=-1).masked_fill": "scores.detach().softmax(dim=-1).masked_fill"},
            hint="the gradients through your attention are wrong",
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
    ],
    "pool": [
        Mistake(
            "zeros are left out",
            change={"kept = real[:, :, None].to(x.dtype)": "kept = (real[:, :, None] & (x != 0)).to(x.dtype)"},
            hint="a number 0 at a real position counts",
            gravity="edge",
        ),
        Mistake(
            "all positions",
            code="""
def mean_over_real(x, real):
    return x.mean(dim=1)
""",
            hint="padding is in the mean",
            gravity="idea",
        ),
        Mistake(
            "divided by T", change={"/ kept.sum(dim=1).clamp(min=1)": "/ x.shape[1]"}, hint="you divide by all positions", gravity="idea"
        ),
        Mistake("a sum", change={" / kept.sum(dim=1).clamp(min=1)": ""}, hint="this is a sum", gravity="idea"),
        Mistake(
            "first position",
            code="""
def mean_over_real(x, real):
    return x[:, 0]
""",
            hint="this is the first position's vector",
            gravity="idea",
        ),
        Mistake(
            "maximum",
            code="""
def mean_over_real(x, real):
    return x.masked_fill(~real[..., None], -torch.inf).amax(dim=1)
""",
            hint="this is the maximum",
            gravity="idea",
        ),
        Mistake(
            "mask turned around",
            change={"real[:, :, None]": "(~real)[:, :, None]"},
            hint="this is the mean over the padding",
            gravity="idea",
        ),
        Mistake(
            "NaN for an empty segment", change={".clamp(min=1)": ""}, hint="a segment without a real position gives zeros", gravity="edge"
        ),
        Mistake(
            "one length for all",
            change={"kept.sum(dim=1).clamp(min=1)": "(kept.sum() / x.shape[0])"},
            hint="every segment is divided by the same number",
            gravity="idea",
        ),
        Mistake(
            "the first few",
            code="""
def mean_over_real(x, real):
    return torch.stack([row[: max(int(n), 1)].mean(0) * (n > 0) for row, n in zip(x, real.sum(1))])
""",
            hint="padding need not be at the end",
            gravity="edge",
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
            hint="entry [a, b] counts the segments",
            gravity="idea",
        ),
        Mistake(
            "the first training label",
            change={"train_labels.bincount().argmax()": "train_labels[0]"},
            hint="use the most frequent one in training",
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
            hint="rows and columns are swapped",
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
            hint="these are shares: return counts",
            gravity="idea",
        ),
        Mistake(
            "not enough classes",
            change={"minlength=K * K).view(K, K)": "minlength=0).view(-1, K)"},
            hint="the matrix is still (6, 6)",
            gravity="edge",
        ),
        Mistake(
            "accuracy",
            change={"(matrix.diagonal()[there] / total[there]).mean().item()": "(matrix.trace() / matrix.sum()).item()"},
            hint="this is the accuracy: large classes count more",
            gravity="idea",
        ),
        Mistake("precision", change={"matrix.sum(dim=1)": "matrix.sum(dim=0)"}, hint="this is the mean precision", gravity="idea"),
        Mistake(
            "absent class is 0",
            change={"(matrix.diagonal()[there] / total[there]).mean().item()": "(matrix.diagonal() / total.clamp(min=1)).mean().item()"},
            hint="counts as recall 0",
            gravity="part",
        ),
        Mistake(
            "absent class is NaN",
            change={"(matrix.diagonal()[there] / total[there])": "(matrix.diagonal() / total)"},
            hint="a class that does not occur gives NaN",
            gravity="part",
        ),
        Mistake(
            "majority of the test set",
            change={"train_labels.bincount()": "test_labels.bincount()"},
            hint="the most frequent *test* class is guessed",
            gravity="idea",
        ),
        Mistake(
            "share in training",
            change={"(test_labels == train_labels": "(train_labels == train_labels"},
            hint="this is the majority's share in training",
            gravity="idea",
        ),
        Mistake(
            "a tensor",
            change={".float().mean().item()": ".float().mean()"},
            hint="majority_accuracy: return a Python float (`.item()`), not a tensor",
            gravity="edge",
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
    ],
    "sanity": [
        Mistake(
            "sums over real keys",
            change={"weights.sum(dim=-1)": "(weights * real[:, None, None, :]).sum(dim=-1)"},
            hint="a weight on a padding key counts in its row's sum",
            gravity="part",
        ),
        Mistake(
            "future of real queries only",
            change={".triu(1) * causal": ".triu(1) * causal * real[:, None, :, None]"},
            hint="a padding query that looks ahead counts, too",
            gravity="edge",
        ),
        Mistake(
            "future on real keys only",
            change={".triu(1) * causal": ".triu(1) * causal * real[:, None, None, :]"},
            hint="a padding query that looks ahead counts, too",
            gravity="edge",
        ),
        Mistake(
            "sums over queries",
            change={"weights.sum(dim=-1) - 1).abs() * real[:, None, :]": "weights.sum(dim=-2) - 1).abs() * real[:, None, :]"},
            hint="the columns are summed: every *row* is one query's distribution",
            gravity="idea",
        ),
        Mistake("mean of the violations", change={"off.max()": "off.mean()"}, hint="this is the mean of the violations", gravity="idea"),
        Mistake(
            "padding queries must sum to one",
            change={" * real[:, None, :]  # (B, H, T)": ""},
            hint="only real queries must sum to one",
            gravity="part",
        ),
        Mistake(
            "padding queries for keys",
            change={"~real[:, None, None, :]": "~real[:, None, :, None]"},
            hint="padding *queries* are searched: the rule is about keys",
            gravity="part",
        ),
        Mistake(
            "real queries only",
            change={
                "padding = weights.abs() * ~real[:, None, None, :]": "padding = weights.abs() * ~real[:, None, None, :] * real[:, None, :, None]"
            },
            hint="a padding *query* that looks at a padding key counts, too",
            gravity="part",
        ),
        Mistake(
            "the past",
            change={".triu(1)": ".tril(-1)"},
            hint="the lower triangle is searched: the future of query i are the keys j > i",
            gravity="part",
        ),
        Mistake(
            "the diagonal is future",
            change={".triu(1)": ".triu(0)"},
            hint="the diagonal counts as future: a query may look at itself",
            gravity="part",
        ),
        Mistake("one key too late", change={".triu(1)": ".triu(2)"}, hint="the first key of the future is not searched", gravity="part"),
        Mistake(
            "always causal",
            change={"weights.abs().triu(1) * causal": "weights.abs().triu(1)"},
            hint="without `causal` there is no forbidden future",
            gravity="part",
        ),
        Mistake(
            "no absolute value for rows",
            change={"(weights.sum(dim=-1) - 1).abs()": "(weights.sum(dim=-1) - 1)"},
            hint="a row that sums to less than one",
            gravity="idea",
        ),
        Mistake(
            "no absolute value for the future",
            change={"weights.abs().triu(1)": "weights.triu(1)"},
            hint="a negative weight on the future is a violation",
            gravity="edge",
        ),
        Mistake("tensors", change={".max().item()": ".max()"}, hint="the values are Python floats", gravity="edge"),
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
    ],
    "perplexities": [
        Mistake(
            "filler counts",
            change={"real, known = targets >= 0, (targets >= 0)": "real, known = targets >= -1, (targets >= 0)"},
            hint="filler counts in `all`: leave the targets of −1 out",
            gravity="part",
        ),
        Mistake(
            "divided by all positions",
            change={"losses[real].mean()": "(losses[real].sum() / len(losses))"},
            hint="but you divide by all positions",
            gravity="part",
        ),
        Mistake(
            "mean of perplexities",
            change={"losses[real].mean().exp()": "losses[real].exp().mean()"},
            hint="this is the mean of the tokens' perplexities",
            gravity="idea",
        ),
        Mistake(
            "no exp",
            change={"losses[real].mean().exp()": "losses[real].mean()"},
            hint="this is the mean loss: take exp of it",
            gravity="idea",
        ),
        Mistake(
            "base 2",
            change={"losses[real].mean().exp()": "losses[real].mean().exp2()"},
            hint="the losses are in nats, so use exp",
            gravity="idea",
        ),
        Mistake(
            "a sum",
            change={"losses[real].mean().exp()": "losses[real].sum().exp()"},
            hint="divide the sum by the number of targets first",
            gravity="idea",
        ),
        Mistake(
            "unknown words left out",
            change={"losses[real].mean()": "losses[known].mean()"},
            hint="unknown words are left out of `all`",
            gravity="idea",
        ),
        Mistake(
            "filler is known", change={"(targets >= 0) & (targets != 1)": "targets != 1"}, hint="filler counts as known", gravity="part"
        ),
        Mistake(
            "unknown still in", change={"losses[known].mean()": "losses[real].mean()"}, hint="unknown words are still in", gravity="part"
        ),
        Mistake("share of known", change={"1 - (known.sum()": "(known.sum()"}, hint="this is the share of known words", gravity="part"),
        Mistake(
            "share of all positions",
            change={"1 - (known.sum() / real.sum()).item()": "((targets == 1).sum() / len(targets)).item()"},
            hint="filler counts in the number of targets",
            gravity="part",
        ),
        Mistake(
            "padding left out",
            change={"(targets >= 0) & (targets != 1)": "targets > 1"},
            hint="0 is a target like any other here",
            gravity="part",
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
    ],
    "interval": [
        Mistake(
            "variance", change={"(p * (1 - p) / n) ** 0.5": "p * (1 - p) / n"}, hint="this is the variance: take the root", gravity="idea"
        ),
        Mistake(
            "not divided",
            change={"(p * (1 - p) / n) ** 0.5": "(p * (1 - p)) ** 0.5"},
            hint="this is √(p(1 − p)): divide it by √n",
            gravity="idea",
        ),
        Mistake(
            "divided outside",
            change={"(p * (1 - p) / n) ** 0.5": "(p * (1 - p)) ** 0.5 / n"},
            hint="divide by n inside the root",
            gravity="idea",
        ),
        Mistake("a minus b", change={"[y - x for": "[x - y for"}, hint="the differences are a − b", gravity="idea"),
        Mistake("1.96", change={"T_QUANTILES[n - 1]": "1.96"}, hint="1.96 is for large samples", gravity="idea"),
        Mistake(
            "n degrees of freedom", change={"T_QUANTILES[n - 1]": "T_QUANTILES[n]"}, hint="the degrees of freedom are n − 1", gravity="idea"
        ),
        Mistake("standard deviation", change={" * s / n**0.5": " * s"}, hint="s is not divided by √n", gravity="idea"),
        Mistake(
            "biased", change={"for value in differences) / (n - 1)": "for value in differences) / n"}, hint="s divides by n", gravity="idea"
        ),
        Mistake("divided by n", change={" * s / n**0.5": " * s / n"}, hint="s is divided by n, not by √n", gravity="idea"),
        Mistake("variance for s", change={"(n - 1)) ** 0.5": "(n - 1))"}, hint="this is the variance: take its root", gravity="idea"),
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
            hint="the seeds are not paired",
            gravity="idea",
        ),
        Mistake(
            "three seeds always",
            change={"T_QUANTILES[n - 1]": "T_QUANTILES[2]"},
            hint="the quantile of three seeds is used",
            gravity="part",
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
    ],
    "follow": [
        Mistake(
            "no control",
            change={"by_head[:, here] - by_head[:, control].mean(dim=1, keepdim=True)": "by_head[:, here]"},
            hint="this is the weight on the hits without the control",
            gravity="idea",
        ),
        Mistake(
            "control at all distances",
            change={"hits & (distance == r), cells & ~hits & (distance == r)": "hits & (distance == r), cells & ~hits"},
            hint="the control takes cells at all distances",
            gravity="idea",
        ),
        Mistake(
            "hits in the control",
            change={"cells & ~hits & (distance == r)": "cells & (distance == r)"},
            hint="hits are in the control: leave them out",
            gravity="idea",
        ),
        Mistake(
            "cells that do not count",
            change={"cells & ~hits & (distance == r)": "~hits & (distance == r)"},
            hint="the control takes cells that do not count",
            gravity="part",
        ),
        Mistake("a sum", change={"total / max(count, 1)": "total"}, hint="this is the sum over the hits", gravity="idea"),
        Mistake(
            "transposed",
            change={"weights.transpose(0, 1)": "weights.mT.transpose(0, 1)"},
            hint="query and key are swapped",
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
            hint="the control looks at one segment at a time",
            gravity="part",
        ),
        Mistake(
            "NaN without a hit",
            change={"max(count, 1)": "torch.tensor(float(count))"},
            hint="without any hit the score is 0",
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
            hint="every distance has the same weight: give every *hit* the same weight",
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
        Mistake("one-sided", change={"2 * sum(": "sum("}, hint="this is one-sided: double it", gravity="idea"),
        Mistake(
            "one too early", change={"range(min(m, n - m) + 1)": "range(min(m, n - m))"}, hint="the sum stops one too early", gravity="idea"
        ),
        Mistake(
            "all segments",
            change={
                "n = sum(x != y for x, y in zip(a, b, strict=True))\n    m = sum(y and not x for x, y in zip(a, b, strict=True))": "n = len(a)\n    m = sum(b)"
            },
            hint="all segments are counted",
            gravity="idea",
        ),
        Mistake(
            "n is all segments",
            change={"n = sum(x != y for x, y in zip(a, b, strict=True))": "n = len(a)"},
            hint="n is the number of segments on which exactly one model is right",
            gravity="idea",
        ),
        Mistake(
            "exactly this result",
            change={"sum(math.comb(n, k) for k in range(min(m, n - m) + 1))": "math.comb(n, m)"},
            hint="this is the probability of exactly this result",
            gravity="idea",
        ),
        Mistake("not capped", change={"min(1.0, ": "max(0.0, "}, hint="p is at most 1", gravity="edge"),
        Mistake(
            "the second model's side only",
            change={"range(min(m, n - m) + 1)": "range(m + 1)"},
            hint="the larger side is summed: use min(m, n − m)",
            gravity="idea",
        ),
        Mistake(
            "floats overflow",
            change={"math.comb(n, k) for": "math.gamma(n + 1) / math.gamma(k + 1) / math.gamma(n - k + 1) for"},
            hint="large numbers: use whole numbers",
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
