"""Wrong answers that the tests of 10-attention-experiments must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

IN_PLACE = "your code changes its input in place"
COVERED = """
def covered(lengths, limit):
    return sum(length <= limit for length in lengths) / len(lengths)
"""
LOST = """
def words_lost(lengths, limit):
    return sum(max(0, length - limit) for length in lengths) / sum(lengths)
"""
MAP = """
def gradient_map(f, x):
    jacobian = torch.autograd.functional.jacobian(f, x)
    return jacobian.pow(2).sum(dim=(1, 3)).sqrt()
"""
LIMIT = "next(limit for limit in sorted(set(lengths)) if covered(lengths, limit) >= share)"

VARIANTS = {
    "lengths": [
        Mistake(
            "words_lost: mean of the shares",
            change={
                "sum(max(0, length - limit) for length in lengths) / sum(lengths)": "sum(max(0, length - limit) / length for length in lengths) / len(lengths)"
            },
            says="words_lost: this is the mean of the sentences' shares: a long sentence has more words to lose",
            gravity="idea",
        ),
        Mistake(
            "distinct lengths",
            change={
                "return sum(length <= limit for length in lengths) / len(lengths)": "kinds = set(lengths)\n    return sum(length <= limit for length in kinds) / len(kinds)"
            },
            says="covered: every length counts once here: count sentences, equal lengths one by one",
            gravity="idea",
        ),
        Mistake(
            "a percentage",
            change={
                "return sum(length <= limit for length in lengths) / len(lengths)": "return 100 * sum(length <= limit for length in lengths) / len(lengths)"
            },
            says="covered: this is a percentage: give a number between 0 and 1",
            gravity="idea",
        ),
        Mistake(
            "covered rounded",
            change={
                "return sum(length <= limit for length in lengths) / len(lengths)": "return round(sum(length <= limit for length in lengths) / len(lengths), 2)"
            },
            says="covered: the share is rounded: give all digits",
            gravity="edge",
        ),
        Mistake(
            "rounded down to 0",
            change={
                "return sum(length <= limit for length in lengths) / len(lengths)": "return sum(length <= limit for length in lengths) // len(lengths)"
            },
            says="covered: the division is rounded down: use / and not //",
            gravity="idea",
        ),
        Mistake(
            "lost rounded",
            change={
                "return sum(max(0, length - limit) for length in lengths) / sum(lengths)": "return round(sum(max(0, length - limit) for length in lengths) / sum(lengths), 2)"
            },
            says="words_lost: the share is rounded: give all digits",
            gravity="edge",
        ),
        Mistake(
            "sentences cut",
            change={
                "sum(max(0, length - limit) for length in lengths) / sum(lengths)": "sum(length > limit for length in lengths) / len(lengths)"
            },
            says="words_lost: this is the share of sentences that are cut: count words",
            gravity="idea",
        ),
        Mistake(
            "number of words lost",
            change={
                "sum(max(0, length - limit) for length in lengths) / sum(lengths)": "sum(max(0, length - limit) for length in lengths)"
            },
            says="words_lost: this is a number of words: divide by all words",
            gravity="idea",
        ),
        Mistake(
            "words kept",
            change={
                "sum(max(0, length - limit) for length in lengths) / sum(lengths)": "sum(min(limit, length) for length in lengths) / sum(lengths)"
            },
            says="words_lost: this is the share that is kept",
            gravity="idea",
        ),
        Mistake(
            "per kept word",
            change={
                "for length in lengths) / sum(lengths)": "for length in lengths) / max(1, sum(min(length, limit) for length in lengths))"
            },
            says="words_lost: this divides by the words that are kept: divide by all words",
            gravity="idea",
        ),
        Mistake(
            "limit by words",
            change={
                "next(limit for limit in sorted(set(lengths)) if covered(lengths, limit) >= share)": "next(n for n in sorted(set(lengths)) if 1 - words_lost(lengths, n) >= share)"
            },
            says="limit_for: this covers a share of the *words*: count sentences with `covered`",
            gravity="idea",
        ),
        Mistake(
            "share of the longest",
            change={
                "next(limit for limit in sorted(set(lengths)) if covered(lengths, limit) >= share)": "min(lengths, key=lambda n: abs(n - share * max(lengths)))"
            },
            says="limit_for: this is a share of the longest length: the share is one of sentences",
            gravity="idea",
        ),
        Mistake(
            "largest that covers less",
            change={
                "next(limit for limit in sorted(set(lengths)) if covered(lengths, limit) >= share)": "max([n for n in set(lengths) if covered(lengths, n) <= share], default=min(lengths))"
            },
            says="limit_for: the share is rounded down: the limit must cover *at least* that share",
            gravity="part",
        ),
        Mistake(
            "rounded to the nearest",
            change={
                "next(limit for limit in sorted(set(lengths)) if covered(lengths, limit) >= share)": "sorted(lengths)[max(0, round(share * len(lengths)) - 1)]"
            },
            says="limit_for: the number of sentences is rounded to the nearest: round it up, the limit must cover *at least* the share",
            gravity="part",
        ),
        Mistake(
            "with a tolerance",
            change={">= share": ">= share - 0.005"},
            says="limit_for: a little less than the share is accepted: *at least* the share",
            gravity="part",
        ),
        Mistake(
            "the longest",
            change={"next(limit for limit in sorted(set(lengths)) if covered(lengths, limit) >= share)": "max(lengths)"},
            says="limit_for: this is the longest length: give the smallest one that covers the share",
            gravity="idea",
        ),
        Mistake(
            "distinct ranks",
            change={
                "next(limit for limit in sorted(set(lengths)) if covered(lengths, limit) >= share)": "sorted(set(lengths))[math.ceil(share * len(set(lengths))) - 1]"
            },
            says="limit_for: equal lengths count once here: each sentence counts",
            gravity="idea",
        ),
        Mistake(
            "index for limit",
            change={"next(limit for limit in sorted(set(lengths)) if covered(lengths, limit) >= share)": "math.ceil(share * len(lengths))"},
            says="limit_for: this is a number of sentences: give the length at that place of the sorted list",
            gravity="idea",
        ),
        Mistake(
            "from the long end",
            change={
                "next(limit for limit in sorted(set(lengths)) if covered(lengths, limit) >= share)": "next(n for n in sorted(set(lengths), reverse=True) if covered(lengths, n) >= share)"
            },
            says="limit_for: this is the longest length: give the smallest one that covers the share",
            gravity="idea",
        ),
        Mistake(
            "as many words lost as kept",
            change={"max(0, length - limit)": "max(0, length - limit + 1)"},
            says="words_lost: one word too many is counted in every long sentence: length − limit words lie beyond the limit",
            gravity="idea",
        ),
        Mistake(
            "sorts the list",
            change={
                "return sum(length <= limit for length in lengths) / len(lengths)": "lengths.sort()\n    return sum(length <= limit for length in lengths) / len(lengths)"
            },
            hint="`sort()` sorts in place",
            gravity="edge",
        ),
        Mistake(
            "strictly shorter",
            change={"length <= limit for": "length < limit for"},
            says="covered: a sentence of exactly `limit` words fits: use ≤",
            gravity="idea",
        ),
        Mistake(
            "a count",
            change={"sum(length <= limit for length in lengths) / len(lengths)": "sum(length <= limit for length in lengths)"},
            says="covered: this is a number of sentences: divide by how many there are",
            gravity="idea",
        ),
        Mistake(
            "share that is cut",
            change={"length <= limit for": "length > limit for"},
            says="covered: this is the share that is cut: count those that fit",
            gravity="idea",
        ),
        Mistake(
            "share of words",
            change={"sum(length <= limit for length in lengths) / len(lengths)": "sum(n for n in lengths if n <= limit) / sum(lengths)"},
            says="covered: this counts words: `covered` is a share of sentences",
            gravity="idea",
        ),
        Mistake(
            "whole sentences are lost",
            change={"sum(max(0, length - limit) for length in lengths)": "sum(length for length in lengths if length > limit)"},
            says="this drops whole sentences: of a long sentence only the end is cut off",
            gravity="idea",
        ),
        Mistake(
            "negative losses",
            change={"max(0, length - limit)": "length - limit"},
            says="short sentences give a negative loss that cancels the real one: nothing is lost there",
            gravity="idea",
        ),
        Mistake(
            "per sentence",
            change={"for length in lengths) / sum(lengths)": "for length in lengths) / len(lengths)"},
            says="divide by the number of all words, not of sentences",
            gravity="idea",
        ),
        Mistake(
            "not sorted",
            change={"sorted(set(lengths))": "lengths"},
            says="limit_for: the lengths are not in order: sort them first",
            gravity="idea",
        ),
        Mistake(
            "more than the share",
            change={">= share": "> share"},
            says="limit_for: one length too far: *at least* the share is enough, it need not be more",
            gravity="part",
        ),
        Mistake(
            "rounded down",
            change={LIMIT: "sorted(lengths)[max(0, int(share * len(lengths)) - 1)]"},
            says="limit_for: the share is rounded down: the limit must cover *at least* that share",
            gravity="part",
        ),
        Mistake(
            "median",
            change={LIMIT: "float(torch.tensor(lengths).double().quantile(share))"},
            says="limit_for: this lies between two lengths: give a length that occurs",
            gravity="part",
        ),
        Mistake(
            "sorts in place",
            change={"return " + LIMIT: "lengths.sort()\n    return next(n for n in lengths if covered(lengths, n) >= share)"},
            hint="`sort()` sorts in place, `sorted(lengths)` makes a new list",
            gravity="edge",
        ),
        Mistake(
            "share of the words that are cut",
            change={"for length in lengths) / sum(lengths)": "for length in lengths) / sum(n for n in lengths if n > limit or limit > 99)"},
            says="divide by the number of all words, not by those of the sentences that are cut",
            gravity="idea",
        ),
        Right(
            "tensors",
            code="""
def covered(lengths, limit):
    return (torch.tensor(lengths) <= limit).double().mean().item()


def words_lost(lengths, limit):
    n = torch.tensor(lengths)
    return ((n - limit).clamp_min(0).sum() / n.sum()).item()


def limit_for(lengths, share):
    n = torch.tensor(lengths).sort().values
    return int(n[math.ceil(share * len(n)) - 1])
""",
        ),
        Right(
            "numpy quantile",
            code=COVERED
            + LOST
            + """
import numpy as np


def limit_for(lengths, share):
    return int(np.quantile(lengths, share, method="inverted_cdf"))
""",
        ),
    ],
    "additive": [
        Mistake("W_q transposed", change={"q @ W_q": "q @ W_q.mT"}, says="W_q is transposed: q is a row vector, q W_q", gravity="idea"),
        Mistake("W_k transposed", change={"k @ W_k": "k @ W_k.mT"}, says="W_k is transposed: k is a row vector, k W_k", gravity="idea"),
        Mistake(
            "softmax of the scores",
            change={
                'return torch.einsum("bhtsd,hd->bhts", pairs.tanh(), v)': 'return torch.einsum("bhtsd,hd->bhts", pairs.tanh(), v).softmax(-1)'
            },
            says="these are weights: return the scores, without softmax",
            gravity="idea",
        ),
        Mistake("sigmoid", change={"pairs.tanh()": "pairs.sigmoid()"}, says="this is a sigmoid: the text asks for tanh", gravity="idea"),
        Mistake("ReLU", change={"pairs.tanh()": "pairs.relu()"}, says="this is ReLU: the text asks for tanh", gravity="idea"),
        Mistake("one matrix for both", change={"k @ W_k": "k @ W_q"}, says="W_k is not used: the keys go through W_k", gravity="idea"),
        Mistake("W_k for both", change={"q @ W_q": "q @ W_k"}, says="W_q is not used: the queries go through W_q", gravity="idea"),
        Mistake("only W_q", change={"(k @ W_k)": "k"}, says="the keys are not multiplied by W_k", gravity="idea"),
        Mistake("only W_k", change={"(q @ W_q)": "q"}, says="the queries are not multiplied by W_q", gravity="idea"),
        Mistake(
            "subtracted", change={"[:, :, :, None, :] + (k": "[:, :, :, None, :] - (k"}, says="k W_k is subtracted: add it", gravity="idea"
        ),
        Mistake(
            "v not used",
            change={"pairs.tanh(), v)": "pairs.tanh(), torch.ones_like(v))"},
            says="v is not used: v · tanh(…) weights the d entries",
            gravity="idea",
        ),
        Mistake(
            "keys of the first sentence",
            change={"(k @ W_k)[:, :, None, :, :]": "(k @ W_k)[:1, :, None, :, :]"},
            says="every sentence gets the keys of the first one",
            gravity="part",
        ),
        Mistake(
            "heads in the wrong order",
            change={"pairs.tanh(), v)": "pairs.tanh(), v.flip(0))"},
            says="the heads of v are in another order: head h uses v[h]",
            gravity="part",
        ),
        Mistake(
            "matrices of head 0",
            change={"q @ W_q": "q @ W_q[0]", "k @ W_k": "k @ W_k[0]"},
            says="every head has its own W_q and W_k: yours all use head 0's",
            gravity="part",
        ),
        Mistake(
            "in float32",
            change={"pairs.tanh(), v)": "pairs.float().tanh(), v.float()).to(q.dtype)"},
            hint="the values have the digits of float32 only",
            gravity="edge",
        ),
        Mistake(
            "scaled before tanh",
            change={"pairs.tanh()": "(pairs / q.shape[-1] ** 0.5).tanh()"},
            says="additive scores have no 1/√d, and none inside tanh",
            gravity="idea",
        ),
        Mistake(
            "tanh of the product with v",
            change={'torch.einsum("bhtsd,hd->bhts", pairs.tanh(), v)': "(pairs * v[:, None, None]).tanh().sum(-1)"},
            says="v is inside tanh: multiply by v afterwards",
            gravity="idea",
        ),
        Mistake("no tanh", change={"pairs.tanh()": "pairs"}, says="there is no tanh", gravity="idea"),
        Mistake(
            "tanh outside",
            change={'torch.einsum("bhtsd,hd->bhts", pairs.tanh(), v)': 'torch.einsum("bhtsd,hd->bhts", pairs, v).tanh()'},
            says="tanh is applied after the sum: apply it inside, before v",
            gravity="idea",
        ),
        Mistake(
            "scaled",
            change={"pairs.tanh(), v)": "pairs.tanh(), v) / q.shape[-1] ** 0.5"},
            says="additive scores have no 1/√d",
            gravity="idea",
        ),
        Mistake(
            "transposed",
            change={"q @ W_q": "q @ W_q.mT", "k @ W_k": "k @ W_k.mT"},
            says="the matrices are transposed: q is a row vector, write q @ W_q",
            gravity="idea",
        ),
        Mistake(
            "swapped matrices",
            change={"q @ W_q": "q @ W_k", "k @ W_k": "k @ W_q"},
            says="W_q belongs to the queries and W_k to the keys",
            gravity="idea",
        ),
        Mistake(
            "head 0 for all",
            change={"q @ W_q": "q @ W_q[0]", "k @ W_k": "k @ W_k[0]", "hd->bhts": "d->bhts", "pairs.tanh(), v)": "pairs.tanh(), v[0])"},
            says="every head has its own matrices: yours all use head 0's",
            gravity="part",
        ),
        Mistake(
            "keys by queries",
            change={"(q @ W_q)[:, :, :, None, :] + (k @ W_k)[:, :, None, :, :]": "(q @ W_q)[:, :, None] + (k @ W_k)[:, :, :, None]"},
            says="queries and keys have changed places: the scores are (B, H, T, S), a row for each query",
            gravity="idea",
        ),
        Mistake(
            "mean",
            change={"pairs.tanh(), v)": "pairs.tanh(), v) / q.shape[-1]"},
            says="this is a mean over the d entries: v · tanh(…) is a sum",
            gravity="idea",
        ),
        Mistake(
            "detached",
            change={"pairs.tanh()": "pairs.tanh().detach()"},
            says="the scores are detached: no gradient flows through them",
            gravity="part",
        ),
        Mistake(
            "multiplied",
            change={"[:, :, :, None, :] + (k": "[:, :, :, None, :] * (k"},
            says="q W_q and k W_k are multiplied: add them",
            gravity="idea",
        ),
        Mistake(
            "two tanh",
            change={"(q @ W_q)[": "(q @ W_q).tanh()[", "(k @ W_k)[": "(k @ W_k).tanh()[", "pairs.tanh()": "pairs"},
            says="each of the two parts has its own tanh: add first, then one tanh",
            gravity="idea",
        ),
        Mistake(
            "v of head 0",
            change={"hd->bhts": "d->bhts", "pairs.tanh(), v)": "pairs.tanh(), v[0])"},
            says="every head has its own v: yours all use head 0's",
            gravity="part",
        ),
        Right(
            "loops over heads",
            code="""
def additive_scores(q, k, W_q, W_k, v):
    heads = []
    for h in range(q.shape[1]):
        a, b = q[:, h] @ W_q[h], k[:, h] @ W_k[h]
        heads.append(torch.tanh(a.unsqueeze(2) + b.unsqueeze(1)) @ v[h])
    return torch.stack(heads, dim=1)
""",
        ),
        Right(
            "multiply and sum",
            change={'torch.einsum("bhtsd,hd->bhts", pairs.tanh(), v)': "(torch.tanh(pairs) * v[None, :, None, None, :]).sum(-1)"},
        ),
    ],
    "elements": [
        Mistake(
            "the projected keys",
            change={"return B * H * T * S,": "return B * H * max(T, S) * d,"},
            says="dot product: these are the queries or the keys, which are there already: T and S are larger than d, so the scores are larger",
            gravity="idea",
        ),
        Mistake(
            "all tensors together",
            change={"B * H * T * S * d": "B * H * T * S * d + B * H * T * S"},
            says="additive: two tensors are added up: the largest one alone is asked for",
            gravity="idea",
        ),
        Mistake(
            "bytes",
            change={"B * H * T * S, B * H * T * S * d": "4 * B * H * T * S, 4 * B * H * T * S * d"},
            says="these are bytes: count numbers",
            gravity="idea",
        ),
        Mistake(
            "both summands",
            change={"B * H * T * S * d": "2 * B * H * T * S * d"},
            says="additive: twice too many: queries and keys are added as they are broadcast, so one tensor of pairs is built",
            gravity="idea",
        ),
        Mistake(
            "exchanged",
            change={"B * H * T * S, B * H * T * S * d": "B * H * T * S * d, B * H * T * S"},
            says="the two are exchanged: first the dot product, then additive scores",
            gravity="idea",
        ),
        Mistake(
            "heads missing in additive",
            change={"B * H * T * S * d": "B * T * S * d"},
            says="additive: the heads are missing",
            gravity="idea",
        ),
        Mistake(
            "additive T squared",
            change={"B * H * T * S * d": "B * H * T * T * d"},
            says="additive: queries and keys differ in number, so there are T × S pairs",
            gravity="idea",
        ),
        Mistake(
            "both T squared",
            change={"B * H * T * S, B * H * T * S * d": "B * H * T * T, B * H * T * T * d"},
            says="queries and keys differ in number, so there are T × S pairs",
            gravity="idea",
        ),
        Mistake(
            "queries and keys",
            change={"return B * H * T * S,": "return B * H * (T + S) * d,"},
            says="dot product: these are the queries and keys; the scores are larger",
            gravity="idea",
        ),
        Mistake(
            "width of all heads",
            change={"B * H * T * S * d": "B * H * T * S * H * d"},
            says="additive: d is the width of one head already",
            gravity="idea",
        ),
        Mistake(
            "additive without d",
            change={"B * H * T * S * d": "B * H * T * S"},
            says="additive: tanh is applied before the sum over d, so all d numbers of every pair must be there",
            gravity="idea",
        ),
        Mistake(
            "dot with d",
            change={"return B * H * T * S,": "return B * H * T * S * d,"},
            says="dot product: the matrix product sums over d as it goes, so no tensor holds d numbers for every pair",
            gravity="idea",
        ),
        Mistake(
            "no heads",
            change={"B * H * T * S, B * H * T * S * d": "B * T * S, B * T * S * d"},
            says="dot product: the heads are missing",
            gravity="idea",
        ),
        Mistake(
            "side by side",
            change={"B * H * T * S * d": "B * H * (T + S) * d"},
            says="additive: queries and keys are not just stored side by side: every query meets every key",
            gravity="idea",
        ),
        Mistake(
            "T squared",
            change={"B * H * T * S,": "B * H * T * T,"},
            says="dot product: queries and keys differ in number, so there are T × S pairs",
            gravity="idea",
        ),
        Mistake(
            "one number",
            change={"B * H * T * S, B * H * T * S * d": "B * H * T * S * d"},
            says="this is one number: return two counts, for the dot product and for additive scores",
            gravity="idea",
        ),
        Mistake(
            "no batch",
            change={"B * H * T * S, B * H * T * S * d": "H * T * S, H * T * S * d"},
            says="dot product: the sentences of the batch are missing",
            gravity="idea",
        ),
        Right("a list", change={"return B * H * T * S, B * H * T * S * d": "return [B * H * T * S, d * S * T * H * B]"}),
        Right(
            "by shapes",
            code="""
def largest_tensors(B, H, T, S, d):
    scores = torch.empty(B, H, T, S, device="meta")
    pairs = torch.empty(B, H, T, S, d, device="meta")
    return scores.numel(), pairs.numel()
""",
        ),
    ],
    "count": [
        Mistake(
            "another default",
            change={'projections="separate"': 'projections="shared-qk"'},
            says="`projections` is `separate` by default: yours shares a projection when it is left out",
            gravity="idea",
        ),
        Mistake(
            "positions per layer", change={"T * D +": "L * D +"}, says="positions are a table of T × D: yours has L rows", gravity="idea"
        ),
        Mistake("V squared", change={"+ D * V": "+ V * V"}, says="the output layer maps D to V: D × V weights", gravity="idea"),
        Mistake(
            "gains only", change={"norm = 2 * D": "norm = D"}, says="a LayerNorm has a gain and a bias, D numbers each", gravity="idea"
        ),
        Mistake(
            "qkv like qk",
            change={'"shared-qkv": 2': '"shared-qkv": 3'},
            says="`shared-qkv` saves as much as `shared-qk` in your count: it has one projection for all three",
            gravity="part",
        ),
        Mistake(
            "output projection shared",
            change={'"shared-qk": 3, "shared-qkv": 2': '"shared-qk": 2, "shared-qkv": 1'},
            says="sharing saves one matrix too many: the output projection stays",
            gravity="part",
        ),
        Mistake(
            "qk like qkv",
            change={'"shared-qk": 3': '"shared-qk": 2'},
            says="`shared-qk` saves as much as `shared-qkv` in your count: v keeps its own projection",
            gravity="part",
        ),
        Mistake(
            "inner bias of D",
            change={"(D * 4 * D + 4 * D)": "(D * 4 * D + D)"},
            says="the inner bias of the feed-forward network has 4D numbers",
            gravity="idea",
        ),
        Mistake(
            "outer bias of 4D",
            change={"(4 * D * D + D)": "(4 * D * D + 4 * D)"},
            says="the outer bias of the feed-forward network has D numbers",
            gravity="idea",
        ),
        Mistake("one block", change={"L * (attention": "(attention"}, says="the number of blocks is not used", gravity="idea"),
        Mistake(
            "half as wide",
            change={"(D * 4 * D + 4 * D) + (4 * D * D + D)": "(D * 2 * D + 2 * D) + (2 * D * D + D)"},
            says="the hidden width of the feed-forward network is 4D",
            gravity="idea",
        ),
        Mistake(
            "a last norm in every block",
            change={"+ 2 * norm) + norm": "+ 3 * norm)"},
            says="a block has two LayerNorms, and the one after the last block comes once",
            gravity="idea",
        ),
        Mistake(
            "two matrices for all",
            change={'"separate": 4': '"separate": 2'},
            says="`separate` has four matrices in each block: q, k, v and the output projection",
            gravity="idea",
        ),
        Mistake(
            "embedding missing",
            change={"return V * D + ": "return "},
            says="only one table of V × D is counted: the embedding and the output layer are not tied, and each has its own",
            gravity="idea",
        ),
        Mistake(
            "a float",
            change={"return V * D": "return 1.0 * V * D"},
            says="this is a float: a number of parameters is an integer",
            gravity="edge",
        ),
        Mistake(
            "tied",
            change={" + D * V": ""},
            says="only one table of V × D is counted: the embedding and the output layer are not tied, and each has its own",
            gravity="idea",
        ),
        Mistake("no positions", change={" + T * D": ""}, says="the positions are missing: T × D", gravity="idea"),
        Mistake("no final norm", change={" + norm + D": " + D"}, says="the LayerNorm after the last block is missing", gravity="idea"),
        Mistake(
            "one norm a block",
            change={"2 * norm)": "norm)"},
            says="a block has two LayerNorms, each with a gain and a bias of size D",
            gravity="idea",
        ),
        Mistake(
            "no biases",
            change={"(D * D + D)": "(D * D)", "(D * 4 * D + 4 * D) + (4 * D * D + D)": "8 * D * D"},
            says="the linear layers of attention and feed-forward have biases",
            gravity="idea",
        ),
        Mistake(
            "no output projection",
            change={'{"separate": 4, "shared-qk": 3, "shared-qkv": 2}': '{"separate": 3, "shared-qk": 2, "shared-qkv": 1}'},
            says="attention has an output projection besides q, k and v",
            gravity="idea",
        ),
        Mistake(
            "head with bias", change={" + D * V": " + D * V + V"}, says="the output layer has no bias: V numbers too many", gravity="idea"
        ),
        Mistake(
            "no biases in the feed-forward network",
            change={"(D * 4 * D + 4 * D) + (4 * D * D + D)": "8 * D * D"},
            says="the biases of the feed-forward network are missing: 4D and D",
            gravity="idea",
        ),
        Mistake(
            "no biases in attention",
            change={"(D * D + D)\n": "(D * D)\n"},
            says="4D numbers are missing in each block: the biases of the four projections, or the two LayerNorms",
            gravity="idea",
        ),
        Mistake(
            "sharing ignored",
            change={'"shared-qk": 3, "shared-qkv": 2': '"shared-qk": 4, "shared-qkv": 4'},
            says="`projections` changes nothing in your count: a shared projection is one matrix less",
            gravity="part",
        ),
        Mistake(
            "biases not shared",
            change={"attention = matrices * (D * D + D)": "attention = matrices * D * D + 4 * D"},
            says="a shared projection saves its bias, too",
            gravity="part",
        ),
        Mistake(
            "saved once",
            change={
                "attention = matrices * (D * D + D)": "attention = 4 * (D * D + D)",
                "return V * D": "return (matrices - 4) * (D * D + D) + V * D",
            },
            says="sharing saves projections in every block, not once",
            gravity="part",
        ),
        Mistake(
            "one feed-forward matrix",
            change={"+ (4 * D * D + D)": "+ D"},
            says="the feed-forward network has two matrices, D → 4D and 4D → D",
            gravity="idea",
        ),
        Right(
            "torch counts",
            code="""
def count_parameters(V, T, D, L, projections="separate"):
    shape = models.Shape(V, D, 1, L, context=T, projections=projections)
    return sum(part.numel() for part in models.LanguageModel(shape).parameters())
""",
        ),
        Right(
            "expanded by hand",
            code="""
def count_parameters(V, T, D, L, projections="separate"):
    total = 2 * V * D + T * D + 2 * D
    for _ in range(L):
        total += 12 * D * D + 13 * D
        if projections != "separate":
            total -= D * (D + 1)
        if projections == "shared-qkv":
            total -= D * (D + 1)
    return total
""",
        ),
    ],
    "masks": [
        Mistake(
            "masked: over the queries",
            change={"masked_fill(~mask, -torch.inf).softmax(dim=-1)": "masked_fill(~mask, -torch.inf).softmax(dim=-2)"},
            says="masked_weights: softmax runs over the queries: each row is one query's distribution",
            gravity="idea",
        ),
        Mistake(
            "own causal mask",
            change={"scores.masked_fill(~mask, -torch.inf)": "scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf)"},
            says="masked_weights: a mask of your own is used: take the mask that is given",
            gravity="idea",
        ),
        Mistake(
            "mask not used",
            change={"scores.masked_fill(~mask, -torch.inf)": "scores"},
            says="masked_weights: the mask is not used",
            gravity="idea",
        ),
        Mistake(
            "scores zeroed first",
            change={"scores.softmax(dim=-1).masked_fill(~mask, 0.0)": "scores.masked_fill(~mask, 0.0).softmax(dim=-1)"},
            says="zeroed_weights: the scores are zeroed before softmax: zero the weights afterwards",
            gravity="idea",
        ),
        Mistake(
            "zeroed over the queries",
            change={"scores.softmax(dim=-1).masked_fill": "scores.softmax(dim=-2).masked_fill"},
            says="zeroed_weights: softmax runs over the queries: each row is one query's distribution",
            gravity="idea",
        ),
        Mistake(
            "zeroed over axis 1",
            change={"scores.softmax(dim=-1).masked_fill": "scores.softmax(dim=1).masked_fill"},
            says="zeroed_weights: softmax runs over axis 1, which are the heads where there are any: it runs over the last axis",
            gravity="part",
        ),
        Mistake(
            "minus infinity afterwards",
            change={"masked_fill(~mask, 0.0)": "masked_fill(~mask, -torch.inf)"},
            says="zeroed_weights: hidden *weights* become −∞: set them to 0",
            gravity="idea",
        ),
        Mistake(
            "divided by the visible",
            change={
                "scores.softmax(dim=-1).masked_fill(~mask, 0.0)": "(scores.exp() * mask) / (scores.exp() * mask).sum(-1, keepdim=True)"
            },
            says="zeroed_weights is normalised again: leave the rows as they are",
            gravity="idea",
        ),
        Mistake(
            "exp by hand",
            change={"scores.softmax(dim=-1).masked_fill(~mask, 0.0)": "(scores.exp() / scores.exp().sum(-1, keepdim=True)) * mask"},
            says="zeroed_weights: exp alone overflows with large scores: softmax subtracts the largest score first",
            gravity="edge",
        ),
        Mistake(
            "masked in float32",
            change={"scores.masked_fill(~mask, -torch.inf)": "scores.float().masked_fill(~mask, -torch.inf)"},
            says="masked_weights: the weights are computed in float32: keep the dtype of the scores",
            gravity="edge",
        ),
        Mistake(
            "zeroed in float32",
            change={"scores.softmax(dim=-1).masked_fill": "scores.float().softmax(dim=-1).masked_fill"},
            says="zeroed_weights: the weights are computed in float32: keep the dtype of the scores",
            gravity="edge",
        ),
        Mistake(
            "masked detached",
            change={"scores.masked_fill(~mask, -torch.inf)": "scores.detach().masked_fill(~mask, -torch.inf)"},
            says="the scores are detached: no gradient flows through masked_weights, or through zeroed_weights",
            gravity="edge",
        ),
        Mistake(
            "mask inverted in place",
            change={"masked_fill(~mask, 0.0)": "masked_fill(mask.logical_not_(), 0.0)"},
            hint="your code changes its input in place",
            gravity="edge",
        ),
        Mistake(
            "masked not normalised over rows of one",
            change={"-torch.inf).softmax(dim=-1)": "-torch.inf).exp()"},
            says="masked_weights: the rows do not sum to one: exp alone is not softmax",
            gravity="idea",
        ),
        Mistake("hidden by −10,000", change={"-torch.inf": "-1e4"}, hint="lower than any score", gravity="edge"),
        Mistake(
            "zeroed weights without gradient",
            change={"scores.softmax(dim=-1).masked_fill(~mask, 0.0)": "scores.detach().softmax(dim=-1).masked_fill(~mask, 0.0)"},
            says="the scores are detached: no gradient flows through masked_weights, or through zeroed_weights",
            gravity="edge",
        ),
        Mistake(
            "polarity",
            change={"masked_fill(~mask, -torch.inf)": "masked_fill(mask, -torch.inf)"},
            says="masked_weights: True means may look: yours hides what may be seen",
            gravity="idea",
        ),
        Mistake(
            "zero instead of minus infinity",
            change={"masked_fill(~mask, -torch.inf)": "masked_fill(~mask, 0.0)"},
            says="masked_weights: a score of 0 is not a weight of 0: e⁰ = 1. Use −∞",
            gravity="idea",
        ),
        Mistake(
            "both zeroed",
            change={"scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)": "scores.softmax(dim=-1).masked_fill(~mask, 0.0)"},
            says="masked_weights: the hidden scores still count in the normaliser",
            gravity="idea",
        ),
        Mistake(
            "both right",
            change={
                "scores.softmax(dim=-1).masked_fill(~mask, 0.0)": "torch.where(mask, scores, torch.full_like(scores, -torch.inf)).softmax(dim=-1)"
            },
            says="zeroed_weights is normalised again: leave the rows as they are",
            gravity="idea",
        ),
        Mistake(
            "zeroing the past",
            change={"masked_fill(~mask, 0.0)": "masked_fill(mask, 0.0)"},
            says="zeroed_weights: True means may look: yours zeroes what may be seen",
            gravity="idea",
        ),
        Mistake(
            "over the queries",
            change={"-torch.inf).softmax(dim=-1)": "-torch.inf).softmax(dim=-2).nan_to_num()"},
            says="masked_weights: softmax runs over the queries: each row is one query's distribution",
            gravity="idea",
        ),
        Mistake(
            "not zeroed",
            change={".masked_fill(~mask, 0.0)": ""},
            says="zeroed_weights: the hidden weights are still there: set them to 0",
            gravity="idea",
        ),
        Mistake(
            "small stand-in", change={"-torch.inf": "-100.0"}, hint="mask with −∞, or with a number lower than any score", gravity="edge"
        ),
        Mistake(
            "in place",
            change={"scores.masked_fill(~mask, -torch.inf)": "scores.masked_fill_(~mask, -torch.inf)"},
            hint=IN_PLACE,
            gravity="edge",
        ),
        Mistake(
            "softmax over axis 1",
            change={"-torch.inf).softmax(dim=-1)": "-torch.inf).softmax(dim=1)"},
            says="masked_weights: softmax runs over axis 1, which are the heads where there are any: it runs over the last axis",
            gravity="part",
        ),
        Right(
            "where and product",
            change={
                "scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)": "torch.where(mask, scores, -torch.inf).softmax(-1)",
                "scores.softmax(dim=-1).masked_fill(~mask, 0.0)": "scores.softmax(-1) * mask",
            },
        ),
        Right(
            "added mask, exp by hand",
            code="""
def masked_weights(scores, mask):
    bias = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(mask.logical_not(), float("-inf"))
    shifted = scores + bias
    e = (shifted - shifted.max(-1, keepdim=True).values).exp()
    return e / e.sum(-1, keepdim=True)


def zeroed_weights(scores, mask):
    e = (scores - scores.max(-1, keepdim=True).values).exp()
    return mask * (e / e.sum(-1, keepdim=True))
""",
        ),
    ],
    "derive": [
        Mistake(
            "the derivative of its own score",
            change={"-p[j] * p[l]": "p[j] * (1 - p[l])"},
            says="this is of the form p (1 − p), as for the key's own score: l is another key than j",
            gravity="idea",
        ),
        Mistake(
            "all of the future",
            change={"p[l]": "p[l:].sum()"},
            says="the weights of all future keys are added: the derivative is by the score of key l alone",
            gravity="idea",
        ),
        Mistake(
            "sign of the scores",
            change={"s.softmax": "(-s).softmax"},
            says="the scores have the wrong sign: p is softmax of s",
            gravity="idea",
        ),
        Mistake(
            "the last key",
            change={"-p[j] * p[l]": "-p[j] * p[-1]"},
            says="`l` is not used: the last key is taken for the future key",
            gravity="idea",
        ),
        Mistake(
            "the first key",
            change={"-p[j] * p[l]": "-p[0] * p[l]"},
            says="`j` is not used: the first key is taken for the visible key",
            gravity="idea",
        ),
        Mistake(
            "no normaliser for later keys",
            change={"-p[j] * p[l]": "-(s[: l + 1].softmax(0)[j]) * s[: l + 1].softmax(0)[l]"},
            says="softmax stops at key l: it is taken over all S scores",
            gravity="idea",
        ),
        Mistake(
            "scores",
            change={"-p[j] * p[l]": "-s[j] * s[l]"},
            says="these are products of scores: the derivative has the probabilities p",
            gravity="idea",
        ),
        Mistake(
            "own score of l",
            change={"-p[j] * p[l]": "-p[l] * (1 - p[l])"},
            says="p_j does not occur: the derivative is that of the visible key's weight",
            gravity="idea",
        ),
        Mistake("p_j alone", change={"-p[j] * p[l]": "-p[j]"}, says="one of the two probabilities is missing: p_l", gravity="idea"),
        Mistake(
            "exponentials",
            change={"-p[j] * p[l]": "-s.exp()[j] * s.exp()[l]"},
            says="the normaliser is missing: e^s is not yet a probability",
            gravity="idea",
        ),
        Mistake(
            "divided once",
            change={"-p[j] * p[l]": "-p[j] * s.exp()[l]"},
            says="one normaliser is missing: the quotient rule divides by its square",
            gravity="idea",
        ),
        Mistake(
            "through an item",
            change={"-p[j] * p[l]": "torch.tensor((-p[j] * p[l]).item())"},
            says="the number is rounded to float32: keep the dtype of the scores",
            gravity="edge",
        ),
        Mistake(
            "finite difference",
            change={
                "    p = s.softmax(dim=-1)\n    return -p[j] * p[l]": "    h = torch.zeros_like(s)\n    h[l] = 1e-3\n    return ((s + h).softmax(-1)[j] - (s - h).softmax(-1)[j]) / 2e-3"
            },
            says="this is a finite difference, which rounds: derive the formula",
            gravity="idea",
        ),
        Mistake("shifted in place", change={"p = s.softmax": "s -= s.max()\n    p = s.softmax"}, hint=IN_PLACE, gravity="edge"),
        Mistake(
            "sign",
            change={"-p[j] * p[l]": "p[j] * p[l]"},
            says="the sign: if the future key scores higher, less is left for the past",
            gravity="idea",
        ),
        Mistake(
            "own score",
            change={"-p[j] * p[l]": "p[j] * (1 - p[j])"},
            says="this is the derivative with respect to the key's own score, p_j (1 − p_j)",
            gravity="idea",
        ),
        Mistake(
            "zero",
            change={"-p[j] * p[l]": "p[j] * 0"},
            says="zero is the answer for −∞ masking: here the normaliser sees the future",
            gravity="idea",
        ),
        Mistake("one probability", change={"-p[j] * p[l]": "-p[l]"}, says="one of the two probabilities is missing", gravity="idea"),
        Mistake(
            "squared",
            change={"-p[j] * p[l]": "-p[j] ** 2"},
            says="the two keys are swapped in the quotient rule: p_j is squared here",
            gravity="idea",
        ),
        Mistake(
            "one minus p",
            change={"-p[j] * p[l]": "-p[j] * (1 - p[l])"},
            says="1 − p belongs to the derivative with respect to the key's own score: here the numerator does not depend on s_l",
            gravity="idea",
        ),
        Mistake(
            "autograd",
            code="""
def leak_derivative(s, j, l):
    s = s.clone().requires_grad_()
    return torch.autograd.grad(s.softmax(-1)[j], s)[0][l]
""",
            hint="derive it on paper",
            gravity="idea",
        ),
        Mistake(
            "a row of derivatives",
            change={"-p[j] * p[l]": "-p * p[l]"},
            says="these are the derivatives of all weights: return one number, that of w_j",
            gravity="idea",
        ),
        Mistake(
            "overflows", change={"s.softmax(dim=-1)": "s.exp() / s.exp().sum()"}, hint="with large scores exp overflows", gravity="edge"
        ),
        Mistake(
            "visible softmax",
            change={"-p[j] * p[l]": "-s[: j + 1].softmax(dim=-1)[j] * p[l]"},
            says="p is the softmax over all scores, not over the visible ones",
            gravity="idea",
        ),
        Mistake(
            "in float32",
            change={"s.softmax(dim=-1)": "s.float().softmax(dim=-1)"},
            hint="with float64 scores digits are lost",
            gravity="edge",
        ),
        Right(
            "numpy",
            code="""
import numpy as np


def leak_derivative(s, j, l):
    z = s.numpy() - s.numpy().max()
    p = np.exp(z) / np.exp(z).sum()
    return -p[j] * p[l]
""",
        ),
        Right("from log-probabilities", change={"-p[j] * p[l]": "-(s.log_softmax(0)[j] + s.log_softmax(0)[l]).exp()"}),
    ],
    "gradient": [
        Mistake(
            "sums before the root",
            change={"jacobian.pow(2).sum(dim=(1, 3)).sqrt()": "jacobian.sum(dim=3).pow(2).sum(dim=1).sqrt()"},
            says="gradient_map: the D inputs of a row are added before squaring: opposite signs cancel",
            gravity="idea",
        ),
        Mistake(
            "spectral norm",
            change={"jacobian.pow(2).sum(dim=(1, 3)).sqrt()": "torch.linalg.matrix_norm(jacobian.transpose(1, 2), 2)"},
            says="gradient_map: this is the largest singular value: take the root of the sum of all squares",
            gravity="idea",
        ),
        Mistake(
            "mean of absolute values",
            change={"jacobian.pow(2).sum(dim=(1, 3)).sqrt()": "jacobian.abs().mean(dim=(1, 3))"},
            says="gradient_map: this is the mean of absolute values: take the root of the sum of squares",
            gravity="idea",
        ),
        Mistake(
            "absolute value of the sum",
            change={"jacobian.pow(2).sum(dim=(1, 3)).sqrt()": "jacobian.sum(dim=(1, 3)).abs()"},
            says="gradient_map: entries are added before the absolute value: opposite signs would cancel",
            gravity="idea",
        ),
        Mistake(
            "at zero",
            change={"functional.jacobian(f, x)": "functional.jacobian(f, torch.zeros_like(x))"},
            says="gradient_map: the derivative is taken at 0: take it at x",
            gravity="idea",
        ),
        Mistake(
            "first output only",
            change={"jacobian.pow(2).sum(dim=(1, 3)).sqrt()": "jacobian[:, 0].pow(2).sum(dim=-1).sqrt()"},
            says="gradient_map: only the first of the E outputs is used",
            gravity="idea",
        ),
        Mistake(
            "float32 map",
            change={"functional.jacobian(f, x)": "functional.jacobian(f, x.float()).to(x.dtype)"},
            hint="the values have the digits of float32 only",
            gravity="edge",
        ),
        Mistake(
            "last column only",
            change={"G.triu(1).max().item()": "G.triu(1)[:, -1].max().item()"},
            says="future_leak: only the last column is searched: look at all j > i",
            gravity="idea",
        ),
        Mistake(
            "two ahead",
            change={"G.triu(1)": "G.triu(2)"},
            says="future_leak: the next position is not searched: the future begins at j = i + 1",
            gravity="idea",
        ),
        Mistake(
            "mean leak",
            change={"G.triu(1).max()": "G.triu(1).mean()"},
            says="future_leak: this is a mean: take the largest entry",
            gravity="idea",
        ),
        Mistake(
            "mean above the diagonal",
            change={"G.triu(1).max().item()": "G[torch.ones_like(G).triu(1) > 0].mean().nan_to_num().item()"},
            says="future_leak: this is a mean: take the largest entry",
            gravity="idea",
        ),
        Mistake(
            "norm of the leaks",
            change={"G.triu(1).max()": "G.triu(1).norm()"},
            says="future_leak: this is the root of a sum of squares: take the largest entry",
            gravity="idea",
        ),
        Mistake(
            "largest of all",
            change={"G.triu(1).max()": "G.max()"},
            says="future_leak: this is the largest entry of all: look above the diagonal only",
            gravity="idea",
        ),
        Mistake(
            "not below",
            change={"G.triu(1).max()": "(G - G.diagonal().diag()).max()"},
            says="future_leak: the past is searched, too: look above the diagonal only",
            gravity="idea",
        ),
        Mistake(
            "a count of leaks",
            change={"G.triu(1).max().item()": "float((G.triu(1) > 0).sum())"},
            says="future_leak: this counts the entries: return the largest",
            gravity="idea",
        ),
        Mistake(
            "a place",
            change={"G.triu(1).max().item()": "float(G.triu(1).argmax())"},
            says="future_leak: this is the place of the largest entry: return its value",
            gravity="idea",
        ),
        Mistake(
            "rounded leak",
            change={"G.triu(1).max().item()": "round(G.triu(1).max().item(), 3)"},
            says="future_leak is rounded: give all digits",
            gravity="edge",
        ),
        Mistake(
            "smallest leak",
            change={"G.triu(1).max()": "G[torch.ones_like(G).triu(1) > 0].min() if len(G) > 1 else G.triu(1).max()"},
            says="future_leak: this is the smallest entry: take the largest",
            gravity="idea",
        ),
        Mistake(
            "first row only",
            change={"G.triu(1).max().item()": "G[0, 1:].max().item() if len(G) > 1 else 0.0"},
            says="future_leak: only row 0 is searched: the leak may stand in any row above the diagonal",
            gravity="idea",
        ),
        Mistake("triangle in place", change={"G.triu(1).max()": "G.triu_(1).max()"}, hint=IN_PLACE, gravity="edge"),
        Mistake(
            "transposed", change={".sqrt()": ".sqrt().T"}, says="rows are outputs, columns are inputs: yours is transposed", gravity="idea"
        ),
        Mistake("no root", change={".sqrt()": ""}, says="the root is missing", gravity="idea"),
        Mistake(
            "plain sum",
            change={"jacobian.pow(2).sum(dim=(1, 3)).sqrt()": "jacobian.sum(dim=(1, 3))"},
            says="entries are added before squaring: opposite signs would cancel",
            gravity="idea",
        ),
        Mistake(
            "absolute sum",
            change={"jacobian.pow(2).sum(dim=(1, 3)).sqrt()": "jacobian.abs().sum(dim=(1, 3))"},
            says="these are sums of absolute values: take the root of the sum of squares",
            gravity="idea",
        ),
        Mistake(
            "largest",
            change={"jacobian.pow(2).sum(dim=(1, 3)).sqrt()": "jacobian.abs().amax(dim=(1, 3))"},
            says="this is the largest absolute entry: take the root of the sum of squares",
            gravity="idea",
        ),
        Mistake(
            "outputs added first",
            change={
                "torch.autograd.functional.jacobian(f, x)": "torch.autograd.functional.jacobian(lambda z: f(z).sum(dim=1, keepdim=True), x)"
            },
            says="the E outputs of a row are added before the derivative: opposite signs cancel",
            gravity="idea",
        ),
        Mistake(
            "wrong axes",
            change={"sum(dim=(1, 3))": "sum(dim=(0, 2))"},
            says="gradient_map: the sum runs over the positions: it runs over the entries of a row's output and input, axes 1 and 3",
            gravity="idea",
        ),
        Mistake(
            "diagonal counts",
            change={"G.triu(1)": "G.triu(0)"},
            says="future_leak: the diagonal is the present, not the future: j > i",
            gravity="idea",
        ),
        Mistake(
            "looks back",
            change={"G.triu(1)": "G.tril(-1)"},
            says="future_leak: this looks below the diagonal: the future has j > i",
            gravity="idea",
        ),
        Mistake(
            "next only",
            change={"G.triu(1).max().item()": "max(G.diagonal(1).tolist(), default=0.0)"},
            says="future_leak: the leak may reach further than the next position: look at all j > i",
            gravity="idea",
        ),
        Mistake(
            "sum of leaks", change={"G.triu(1).max()": "G.triu(1).sum()"}, says="this is a sum: take the largest entry", gravity="idea"
        ),
        Mistake(
            "a tensor",
            change={".max().item()": ".max()"},
            says="future_leak gives a tensor: return a Python float (`.item()`)",
            gravity="edge",
        ),
        Mistake(
            "empty maximum",
            change={"G.triu(1).max().item()": "max(G[i, j].item() for i in range(len(G)) for j in range(i + 1, len(G)))"},
            hint="with one position there is no future",
            gravity="edge",
        ),
        Mistake(
            "root of the mean",
            change={"pow(2).sum(dim=(1, 3))": "pow(2).mean(dim=(1, 3))"},
            says="this is the root of the mean square: take the root of the sum",
            gravity="idea",
        ),
        Right(
            "row by row",
            code="""
def gradient_map(f, x):
    x = x.clone().requires_grad_()
    out = f(x)
    G = torch.zeros(len(x), len(x), dtype=x.dtype)
    for i in range(out.shape[0]):
        for e in range(out.shape[1]):
            (g,) = torch.autograd.grad(out[i, e], x, retain_graph=True)
            G[i] += (g**2).sum(dim=1)
    return G**0.5


def future_leak(G):
    worst = 0.0
    for i in range(len(G)):
        for j in range(i + 1, len(G)):
            worst = max(worst, float(G[i, j]))
    return worst
""",
        ),
        Right(
            "jacrev and norm",
            code="""
def gradient_map(f, x):
    J = torch.func.jacrev(f)(x).transpose(1, 2)
    return J.flatten(2).norm(dim=-1)


def future_leak(G):
    T = len(G)
    later = torch.arange(T)[None, :] > torch.arange(T)[:, None]
    return float((G * later).max())
""",
        ),
    ],
    "perturb": [
        Mistake(
            "added to the word",
            change={"changed[place] = token": "changed[place] += token"},
            says="the number of the new word is added to the old one: replace it",
            gravity="idea",
        ),
        Mistake(
            "the word after it",
            change={"changed[place] = token": "changed[min(place + 1, len(tokens) - 1)] = token"},
            says="the word after `place` is replaced: replace the one at `place`",
            gravity="idea",
        ),
        Mistake(
            "cut off behind the word",
            change={"model(changed[None]) - model(tokens[None])": "model(changed[None, : place + 1]) - model(tokens[None, : place + 1])"},
            says="the words behind `place` are cut off before the model runs: give it both whole sentences",
            gravity="edge",
        ),
        Mistake(
            "behind the word",
            change={"[0, :place]": "[0, place + 1 :]"},
            says="these are the positions *after* the word: look at those before it",
            gravity="idea",
        ),
        Mistake(
            "all positions", change={"[0, :place]": "[0]"}, says="all positions come back: return those before `place`", gravity="idea"
        ),
        Mistake(
            "the new word's logit",
            change={"difference[0, :place].abs().amax(dim=-1)": "difference[0, :place, token].abs()"},
            says="only the logit of `token` is compared: take the largest change over the vocabulary",
            gravity="idea",
        ),
        Mistake(
            "the old word's logit",
            change={"difference[0, :place].abs().amax(dim=-1)": "difference[0, :place, tokens[place]].abs()"},
            says="only the logit of the old word is compared: take the largest change over the vocabulary",
            gravity="idea",
        ),
        Mistake(
            "probabilities",
            change={"model(changed[None]) - model(tokens[None])": "model(changed[None]).softmax(-1) - model(tokens[None]).softmax(-1)"},
            says="these are changes of probabilities: compare the logits",
            gravity="idea",
        ),
        Mistake(
            "log-probabilities",
            change={
                "model(changed[None]) - model(tokens[None])": "model(changed[None]).log_softmax(-1) - model(tokens[None]).log_softmax(-1)"
            },
            says="these are changes of log-probabilities: compare the logits",
            gravity="idea",
        ),
        Mistake(
            "token added",
            change={"changed[place] = token": "changed[place] = (changed[place] + token) % 6"},
            says="the token is added to the word: replace it",
            gravity="idea",
        ),
        Mistake(
            "inserted",
            change={
                "    changed[place] = token\n": "    changed = torch.cat([tokens[:place], torch.tensor([token]), tokens[place:]])[: len(tokens)]\n"
            },
            says="the token is inserted: replace the word at `place`",
            gravity="idea",
        ),
        Mistake(
            "word taken out",
            change={
                "    changed[place] = token\n": "    changed = torch.cat([tokens[:place], tokens[place + 1 :], torch.tensor([token])])\n"
            },
            says="the word is taken out, and the others move up: replace it in its place",
            gravity="idea",
        ),
        Mistake(
            "argmax",
            change={".abs().amax(dim=-1)": ".abs().argmax(dim=-1).float()"},
            says="this is the number of the word that moves most: return how far it moves",
            gravity="idea",
        ),
        Mistake(
            "squared",
            change={".abs().amax(dim=-1)": ".pow(2).amax(dim=-1)"},
            says="these are squares: take absolute values",
            gravity="idea",
        ),
        Mistake(
            "over the positions",
            change={".abs().amax(dim=-1)": ".abs().amax(dim=0)"},
            says="the largest is taken over the positions: take it over the vocabulary, for each position",
            gravity="idea",
        ),
        Mistake(
            "smallest",
            change={".abs().amax(dim=-1)": ".abs().amin(dim=-1)"},
            says="this is the smallest change: take the largest",
            gravity="idea",
        ),
        Mistake(
            "gradients stay off",
            change={"    with torch.no_grad():\n        difference": "    torch.set_grad_enabled(False)\n    difference"},
            hint="gradients stay switched off afterwards",
            gravity="edge",
        ),
        Mistake(
            "gain only",
            change={".abs().amax(dim=-1)": ".clamp(min=0).amax(dim=-1)"},
            says="only logits that rise are counted: take absolute values before the largest",
            gravity="idea",
        ),
        Mistake(
            "signed",
            change={".abs().amax(dim=-1)": ".amax(dim=-1)"},
            says="the change has a sign: take absolute values before the largest",
            gravity="idea",
        ),
        Mistake(
            "mean",
            change={".abs().amax(dim=-1)": ".abs().mean(dim=-1)"},
            says="this is a mean over the vocabulary: take the largest change",
            gravity="idea",
        ),
        Mistake(
            "sum",
            change={".abs().amax(dim=-1)": ".abs().sum(dim=-1)"},
            says="this is a sum over the vocabulary: take the largest change",
            gravity="idea",
        ),
        Mistake(
            "includes the place",
            change={"[0, :place]": "[0, : place + 1]"},
            says="the word at `place` itself is in the result: return the positions *before* it",
            gravity="idea",
        ),
        Mistake(
            "one number",
            change={".abs().amax(dim=-1)": ".abs().max()"},
            says="this is one number: return the largest change of each earlier position",
            gravity="idea",
        ),
        Mistake(
            "same tensor",
            change={"tokens.clone()": "tokens"},
            says="nothing moves: is the changed sentence really changed, or are both versions the same tensor?",
            gravity="idea",
        ),
        Mistake(
            "everything after",
            change={"changed[place] =": "changed[place:] ="},
            says="more than one word is changed: replace the one at `place` only",
            gravity="idea",
        ),
        Mistake(
            "no batch",
            change={"tokens[None]": "tokens", "changed[None]": "changed"},
            hint="the model takes a batch, (1, T)",
            gravity="idea",
        ),
        Mistake(
            "the place before",
            change={"changed[place]": "changed[place - 1]"},
            says="the word before `place` is replaced: replace the one at `place`",
            gravity="idea",
        ),
        Mistake(
            "cannot take place 0",
            change={"difference[0, :place].abs().amax(dim=-1)": "torch.stack([row.abs().max() for row in difference[0, :place]])"},
            hint="before place 0 there is nothing",
            gravity="edge",
        ),
        Mistake(
            "Euclidean norm",
            change={".abs().amax(dim=-1)": ".norm(dim=-1)"},
            says="this is the Euclidean norm of the change: take the largest change",
            gravity="idea",
        ),
        Mistake(
            "changes the sentence",
            change={"changed = tokens.clone()\n": "old, changed = tokens.clone(), tokens\n", "model(tokens[None])": "model(old[None])"},
            hint="work on a copy, `tokens.clone()`",
            gravity="edge",
        ),
        Right(
            "two sentences, one list",
            code="""
def perturbation_leak(model, tokens, place, token):
    other = torch.cat([tokens[:place], torch.tensor([token]), tokens[place + 1 :]])
    before, after = model(tokens[None])[0], model(other[None])[0]
    return torch.tensor([(after[t] - before[t]).abs().max().item() for t in range(place)])
""",
        ),
        Right(
            "one batch",
            code="""
def perturbation_leak(model, tokens, place, token):
    both = tokens.repeat(2, 1)
    both[1, place] = token
    logits = model(both)
    return (logits[0] - logits[1]).abs().max(dim=-1).values[:place]
""",
        ),
    ],
    "perplexity": [
        Mistake(
            "one less",
            change={"sum(counts)": "(sum(counts) - 1)"},
            says="this divides by one less than the number of targets: perplexity has no n − 1",
            gravity="idea",
        ),
        Mistake("base 10", change={"math.exp(": "10 ** ("}, says="the losses are in nats: use e, not 10", gravity="idea"),
        Mistake(
            "median batch",
            change={"sum(loss_sums) / sum(counts)": "sorted(a / max(b, 1) for a, b in zip(loss_sums, counts))[len(counts) // 2]"},
            says="this is the median of the batches' means: take the mean over all targets",
            gravity="idea",
        ),
        Mistake(
            "equal batches",
            change={"sum(counts)": "(max(counts) * len(counts))"},
            says="every batch is counted like the largest: divide by the number of targets",
            gravity="idea",
        ),
        Mistake(
            "last batch dropped",
            change={"sum(loss_sums) / sum(counts)": "sum(loss_sums[:-1] or loss_sums) / sum(counts[:-1] or counts)"},
            says="the last batch is left out",
            gravity="idea",
        ),
        Mistake(
            "last batch only",
            change={"sum(loss_sums) / sum(counts)": "loss_sums[-1] / counts[-1]"},
            says="only the last batch is used: add up all of them",
            gravity="idea",
        ),
        Mistake(
            "mean of the sums",
            change={"math.exp(sum(loss_sums) / sum(counts))": "math.exp(sum(loss_sums)) / sum(counts)"},
            says="the sum is exponentiated before it is divided: first the mean, then e to its power",
            gravity="idea",
        ),
        Mistake(
            "a tensor",
            change={"math.exp(sum(loss_sums) / sum(counts))": "torch.tensor(sum(loss_sums) / sum(counts)).exp()"},
            says="this is a tensor: return a Python float",
            gravity="edge",
        ),
        Mistake(
            "rounded",
            change={"return math.exp(sum(loss_sums) / sum(counts))": "return round(math.exp(sum(loss_sums) / sum(counts)), 2)"},
            says="the perplexity is rounded: give all digits",
            gravity="edge",
        ),
        Mistake(
            "uses up the list",
            change={
                "return math.exp(sum(loss_sums) / sum(counts))": "total = 0\n    while loss_sums:\n        total += loss_sums.pop()\n    return math.exp(total / sum(counts))"
            },
            hint="your code changes the lists",
            gravity="edge",
        ),
        Mistake(
            "mean of perplexities",
            change={"math.exp(sum(loss_sums) / sum(counts))": "sum(math.exp(a / b) for a, b in zip(loss_sums, counts)) / len(counts)"},
            says="this is a mean of perplexities: average the losses first, then exponentiate once",
            gravity="idea",
        ),
        Mistake(
            "mean of means",
            change={"sum(loss_sums) / sum(counts)": "sum(a / b for a, b in zip(loss_sums, counts)) / len(counts)"},
            says="this is the mean of the batches' means: a small batch must count less",
            gravity="idea",
        ),
        Mistake("bits", change={"math.exp(": "2 ** ("}, says="the losses are in nats: use e, not 2", gravity="idea"),
        Mistake("the loss", change={"math.exp(": "("}, says="this is the mean loss: take e to its power", gravity="idea"),
        Mistake("per batch", change={"sum(counts)": "len(counts)"}, says="divide by the number of targets, not of batches", gravity="idea"),
        Mistake("sign", change={"math.exp(": "math.exp(-"}, says="the sign: perplexity is at least 1", gravity="idea"),
        Mistake(
            "weighed perplexities",
            change={
                "math.exp(sum(loss_sums) / sum(counts))": "sum(math.exp(a / max(b, 1)) * b for a, b in zip(loss_sums, counts)) / sum(counts)"
            },
            says="this is a mean of perplexities, weighted by the batches' sizes: average the losses first, then exponentiate once",
            gravity="idea",
        ),
        Mistake(
            "no empty batch",
            change={"sum(loss_sums) / sum(counts)": "sum(a / b * b for a, b in zip(loss_sums, counts)) / sum(counts)"},
            hint="a batch without targets must change nothing",
            gravity="edge",
        ),
        Right(
            "torch",
            change={
                "math.exp(sum(loss_sums) / sum(counts))": "(torch.tensor(loss_sums).double().sum() / torch.tensor(counts).sum()).exp().item()"
            },
        ),
        Right(
            "a loop",
            code="""
def perplexity(loss_sums, counts):
    total = number = 0
    for loss, count in zip(loss_sums, counts):
        total, number = total + loss, number + count
    return math.e ** (total / number)
""",
        ),
    ],
    "prefix": [
        Mistake(
            "one word too many",
            change={": t + 1])[0, -1]": ": t + 2])[0, -1]"},
            says="the model sees the word that it has to predict: give it tokens[: t + 1] only",
            gravity="idea",
        ),
        Mistake(
            "minus the probability",
            change={"-logits.log_softmax": "-logits.softmax"},
            says="these are minus the probabilities: the logarithm is missing",
            gravity="idea",
        ),
        Mistake(
            "softmax over the positions",
            change={"[0, -1]  # (V,)": "[0]", "logits.log_softmax(dim=-1)[tokens": "logits.log_softmax(dim=0)[-1][tokens"},
            says="softmax runs over the positions: it runs over the words, the last axis",
            gravity="idea",
        ),
        Mistake(
            "bits",
            change={"[tokens[t + 1]])": "[tokens[t + 1]] / math.log(2))"},
            says="these are bits: the loss is in nats, a natural logarithm",
            gravity="idea",
        ),
        Mistake(
            "mean over the prefix",
            change={"[0, -1]  # (V,)": "[0].mean(0)"},
            says="the logits of all positions are averaged: use the last one's",
            gravity="idea",
        ),
        Mistake(
            "first logits",
            change={"[0, -1]  # (V,)": "[0, 0]"},
            says="the logits of the first position are used: use the last one's",
            gravity="idea",
        ),
        Mistake(
            "added up",
            change={"torch.stack(losses)": "torch.stack(losses).cumsum(0)"},
            says="the losses are added up: return each one by itself",
            gravity="idea",
        ),
        Mistake(
            "prefix filled up",
            change={
                "model(tokens[None, : t + 1])[0, -1]": "model(torch.cat([tokens[: t + 1], torch.zeros(len(tokens) - t - 1, dtype=torch.long)])[None])[0, t]"
            },
            says="the prefix is filled up with words: give the model tokens[: t + 1] and nothing else",
            gravity="idea",
        ),
        Mistake(
            "without the first word",
            change={"tokens[None, : t + 1]": "tokens[None, 1 : t + 1] if t else tokens[None, :1]"},
            says="the first word is left out: give the model all words before",
            gravity="idea",
        ),
        Mistake(
            "with an epsilon",
            change={"-logits.log_softmax(dim=-1)[tokens[t + 1]]": "-(logits.softmax(dim=-1)[tokens[t + 1]] + 1e-8).log()"},
            says="a small number is added before the logarithm: use log_softmax, which needs none",
            gravity="edge",
        ),
        Mistake(
            "one minus p",
            change={"-logits.log_softmax(dim=-1)[tokens[t + 1]]": "1 - logits.softmax(dim=-1)[tokens[t + 1]]"},
            says="this is 1 − P: the loss is −log P",
            gravity="idea",
        ),
        Mistake(
            "likeliest word",
            change={"-logits.log_softmax(dim=-1)[tokens[t + 1]]": "-logits.log_softmax(dim=-1).max()"},
            says="this is the loss of the likeliest word: take that of the word that came",
            gravity="idea",
        ),
        Mistake(
            "predicts the last word",
            change={"[tokens[t + 1]]": "[tokens[-1]]"},
            says="the target is always the last word: it is tokens[t + 1]",
            gravity="idea",
        ),
        Mistake(
            "two words only",
            change={"tokens[None, : t + 1]": "tokens[None, max(0, t - 1) : t + 1]"},
            says="the model gets the last word only: give it all words before",
            gravity="idea",
        ),
        Mistake("cut off", change={"torch.stack(losses)": "torch.stack(losses).clamp(max=20)"}, hint="infinite or cut off", gravity="edge"),
        Mistake(
            "the whole sentence",
            change={"tokens[None, : t + 1])[0, -1]": "tokens[None])[0, t]"},
            says="the model saw words that it has to predict: give it tokens[: t + 1] only",
            gravity="idea",
        ),
        Mistake(
            "all but the last",
            change={"tokens[None, : t + 1])[0, -1]": "tokens[None, :-1])[0, t]"},
            says="the model got the whole sentence except its last word: give it tokens[: t + 1] only",
            gravity="idea",
        ),
        Mistake("sign", change={"-logits.log_softmax": "logits.log_softmax"}, says="the sign: a loss is positive", gravity="idea"),
        Mistake("logits", change={"-logits.log_softmax(dim=-1)": "-logits"}, says="these are logits: take log_softmax", gravity="idea"),
        Mistake(
            "current word",
            change={"[tokens[t + 1]]": "[tokens[t]]"},
            says="these are the losses of the current word: the target is the next one",
            gravity="idea",
        ),
        Mistake(
            "log of softmax",
            change={"logits.log_softmax(dim=-1)": "logits.softmax(dim=-1).log()"},
            hint="use log_softmax, not the log of softmax",
            gravity="edge",
        ),
        Mistake(
            "mean",
            change={"torch.stack(losses)": "torch.stack(losses).mean()"},
            says="this is the mean of the losses: return one loss for each prediction",
            gravity="idea",
        ),
        Mistake(
            "a word too few",
            change={"tokens[None, : t + 1]": "tokens[None, : max(t, 1)]"},
            says="the model gets one word too few: to predict word t + 1 it sees tokens[: t + 1], word t included",
            gravity="idea",
        ),
        Mistake(
            "one too few",
            change={"range(len(tokens) - 1)": "range(len(tokens) - 2)"},
            says="the last prediction is missing: n words give n − 1 losses",
            gravity="idea",
        ),
        Mistake(
            "the last word only",
            change={"tokens[None, : t + 1]": "tokens[None, t : t + 1]"},
            says="the model gets the last word only: give it all words before",
            gravity="idea",
        ),
        Mistake(
            "probabilities",
            change={"-logits.log_softmax(dim=-1)": "logits.softmax(dim=-1)"},
            says="these are probabilities: take −log",
            gravity="idea",
        ),
        Right(
            "cross entropy",
            change={"-logits.log_softmax(dim=-1)[tokens[t + 1]]": "F.cross_entropy(logits[None], tokens[t + 1][None])"},
        ),
        Right(
            "a list of numbers",
            code="""
def prefix_losses(model, tokens):
    found = []
    for n in range(1, len(tokens)):
        z = model(tokens[:n].unsqueeze(0))[0, n - 1]
        found.append((torch.logsumexp(z, 0) - z[int(tokens[n])]).item())
    return torch.tensor(found)
""",
        ),
    ],
    "smooth": [
        Mistake(
            "at least two losses",
            change={"i - window + 1)": "i - max(window, 2) + 1)"},
            hint="with a window of one nothing is smoothed",
            gravity="edge",
        ),
        Mistake(
            "without the current loss",
            change={": i + 1]": ": max(i, 1)]"},
            says="the current loss is left out: up to and including i",
            gravity="idea",
        ),
        Mistake(
            "not defined at the beginning",
            change={"means.append(sum(last) / len(last))": 'means.append(sum(last) / len(last) if i >= window - 1 else float("nan"))'},
            says="at the beginning there are no means: take the mean of as many losses as there are",
            gravity="part",
        ),
        Mistake(
            "exponential mean",
            code="""def smoothed(losses, window):
    means, mean = [], None
    for loss in losses:
        mean = loss if mean is None else mean + (loss - mean) / window
        means.append(mean)
    return means
""",
            says="this is an exponential mean: take the plain mean of the last `window` losses",
            gravity="idea",
        ),
        Mistake(
            "median",
            change={"sum(last) / len(last)": "sorted(last)[len(last) // 2]"},
            says="this is the median: take the mean",
            gravity="idea",
        ),
        Mistake(
            "sum", change={"sum(last) / len(last)": "sum(last)"}, says="this is the sum: divide by the number of losses", gravity="idea"
        ),
        Mistake(
            "blocks",
            change={"losses[max(0, i - window + 1) : i + 1]": "losses[i // window * window : i + 1]"},
            says="the window starts anew after every `window` losses: it moves along with i",
            gravity="idea",
        ),
        Mistake(
            "raw at the beginning",
            change={"means.append(sum(last) / len(last))": "means.append(sum(last) / len(last) if i + 1 >= window else losses[i])"},
            says="the first losses are not smoothed: take the mean of as many as there are",
            gravity="part",
        ),
        Mistake(
            "zeros at the beginning",
            change={"means.append(sum(last) / len(last))": "means.append(sum(last) / len(last) if i + 1 >= window else 0.0)"},
            says="the first means are 0: take the mean of as many losses as there are",
            gravity="part",
        ),
        Mistake(
            "first loss repeated",
            change={"last = losses[max(0, i - window + 1) : i + 1]": "last = ([losses[0]] * window + losses)[i + 1 : i + 1 + window]"},
            says="the first loss is repeated to fill the window: take the mean of as many losses as there are",
            gravity="part",
        ),
        Mistake(
            "rounded means",
            change={"sum(last) / len(last)": "round(sum(last) / len(last), 3)"},
            says="the means are rounded: give all digits",
            gravity="edge",
        ),
        Mistake(
            "losses as they are",
            change={"    return means": "    return list(losses)"},
            says="these are the losses as they were: nothing is smoothed",
            gravity="idea",
        ),
        Mistake(
            "of smoothed ones",
            change={"last = losses[max(0, i - window + 1) : i + 1]": "last = [*means[max(0, i - window + 1) : i], losses[i]]"},
            says="the window holds means: it holds the losses themselves",
            gravity="idea",
        ),
        Mistake("one too short", change={"i - window + 1": "min(i, i - window + 2)"}, says="the window is one too short", gravity="idea"),
        Mistake("a tensor", change={"return means": "return torch.tensor(means)"}, hint="return a Python list", gravity="edge"),
        Mistake(
            "forward",
            change={"losses[max(0, i - window + 1) : i + 1]": "losses[i : i + window]"},
            says="the window looks forward: entry i may use losses up to i only",
            gravity="idea",
        ),
        Mistake(
            "divides by the window",
            change={"/ len(last)": "/ window"},
            says="at the beginning divide by the number of losses there are, not by the window",
            gravity="part",
        ),
        Mistake(
            "without the current one",
            change={"losses[max(0, i - window + 1) : i + 1]": "losses[max(0, i - window) : i] or losses[:1]"},
            says="the current loss is left out: up to and including i",
            gravity="idea",
        ),
        Mistake("one too long", change={"i - window + 1": "i - window"}, says="the window is one too long", gravity="idea"),
        Mistake(
            "everything so far",
            change={"max(0, i - window + 1)": "0"},
            says="this is the mean of everything so far: use the last `window` only",
            gravity="idea",
        ),
        Mistake(
            "centred",
            change={"max(0, i - window + 1) : i + 1": "max(0, i - window // 2) : i + window // 2 + 1"},
            says="the window is centred: entry i may use losses up to i only",
            gravity="idea",
        ),
        Mistake(
            "negative index",
            change={"max(0, i - window + 1)": "i - window + 1", "len(last)": "max(1, len(last))"},
            says="at the beginning the slice starts at a negative index and is empty: start it at max(0, …)",
            gravity="part",
        ),
        Mistake(
            "starts late",
            change={"range(len(losses))": "range(min(window, len(losses)) - 1, len(losses))"},
            says="the first means are missing: at the beginning take the mean of as many losses as there are",
            gravity="idea",
        ),
        Right(
            "running sums",
            code="""
def smoothed(losses, window):
    means, total = [], 0.0
    for i, loss in enumerate(losses):
        total += loss
        if i >= window:
            total -= losses[i - window]
        means.append(total / min(i + 1, window))
    return means
""",
        ),
        Right(
            "numpy",
            code="""
import numpy as np


def smoothed(losses, window):
    sums = np.concatenate([[0.0], np.cumsum(losses)])
    first = np.maximum(0, np.arange(len(losses)) - window + 1)
    last = np.arange(len(losses)) + 1
    return ((sums[last] - sums[first]) / (last - first)).tolist()
""",
        ),
    ],
    "interval": [
        Mistake(
            "one-sided",
            change={"t_quantile(level,": "t_quantile(2 * level - 1,"},
            says="the level is turned into a one-sided one: t_quantile(level, …) is for both sides already",
            gravity="idea",
        ),
        Mistake(
            "absolute deviations",
            change={"(value - mean) ** 2": "abs(value - mean)"},
            says="the deviations are not squared: s² is the sum of their squares, divided by n − 1",
            gravity="idea",
        ),
        Mistake(
            "variance over n",
            change={"(variance / n) ** 0.5": "variance / n"},
            says="the root is missing: the half-width is t times the root of s²/n",
            gravity="idea",
        ),
        Mistake("divided by n", change={"(variance / n) ** 0.5": "variance**0.5 / n"}, says="this divides by n, not by √n", gravity="idea"),
        Mistake(
            "median",
            change={"mean = sum(values) / n": "mean = sorted(values)[n // 2]"},
            says="the first number is the median: it is the mean",
            gravity="idea",
        ),
        Mistake(
            "4.30 always",
            change={"t_quantile(level, n - 1)": "4.302653"},
            says="4.30 is used for every number of values: `t_quantile(level, n - 1)`",
            gravity="idea",
        ),
        Mistake(
            "half the range",
            change={"t_quantile(level, n - 1) * (variance / n) ** 0.5": "(max(values) - min(values)) / 2"},
            says="this is half the range: the half-width is t s/√n",
            gravity="idea",
        ),
        Mistake(
            "NaN for one value",
            change={"return mean, math.inf": "return mean, float('nan')"},
            says="with one value the half-width is NaN: it is math.inf",
            gravity="edge",
        ),
        Mistake(
            "exchanged",
            change={
                "return mean, t_quantile(level, n - 1) * (variance / n) ** 0.5": "return t_quantile(level, n - 1) * (variance / n) ** 0.5, mean"
            },
            says="the two numbers are exchanged: first the mean, then the half-width",
            gravity="idea",
        ),
        Mistake(
            "not centred",
            change={"(value - mean) ** 2": "value ** 2"},
            says="the mean is not subtracted: s² is about the deviations from the mean",
            gravity="idea",
        ),
        Mistake(
            "one minus level",
            change={"t_quantile(level, n - 1)": "t_quantile(1 - level, n - 1)"},
            says="`t_quantile` gets 1 − level: give it the level itself",
            gravity="idea",
        ),
        Mistake(
            "half the level",
            change={"t_quantile(level, n - 1)": "t_quantile(level / 2, n - 1)"},
            says="`t_quantile` gets half the level: give it the level itself",
            gravity="idea",
        ),
        Mistake(
            "float32",
            change={"variance = sum((value - mean) ** 2 for value in values) / (n - 1)": "variance = torch.tensor(values).var().item()"},
            hint="only the first digits are right",
            gravity="edge",
        ),
        Mistake(
            "rounded",
            change={
                "return mean, t_quantile(level, n - 1) * (variance / n) ** 0.5": "return round(mean, 3), round(t_quantile(level, n - 1) * (variance / n) ** 0.5, 3)"
            },
            hint="the values are rounded to 3 decimals",
            gravity="edge",
        ),
        Mistake(
            "n missing altogether",
            change={"(variance / n) ** 0.5": "(variance * (n - 1)) ** 0.5"},
            says="the sum of squares is not divided: s² is a mean over n − 1, and the half-width is t s/√n",
            gravity="idea",
        ),
        Mistake(
            "two values are too few",
            change={"if n == 1:": "if n <= 2:"},
            says="two values have a spread: only one has none",
            gravity="edge",
        ),
        Mistake(
            "normal quantile",
            change={"t_quantile(level, n - 1)": "1.959964"},
            says="this uses the normal distribution's 1.96: with few values the factor is Student's t",
            gravity="idea",
        ),
        Mistake(
            "divides by n",
            change={"for value in values) / (n - 1)": "for value in values) / n"},
            says="s² divides by n − 1, not by n",
            gravity="idea",
        ),
        Mistake(
            "no root of n",
            change={"(variance / n) ** 0.5": "variance**0.5"},
            says="the half-width is t s/√n: the root of n is missing",
            gravity="idea",
        ),
        Mistake(
            "degrees",
            change={"t_quantile(level, n - 1)": "t_quantile(level, n)"},
            says="n values leave n − 1 degrees of freedom, not n",
            gravity="idea",
        ),
        Mistake(
            "variance",
            change={"(variance / n) ** 0.5": "variance / n**0.5"},
            says="the square root of the variance is missing: the half-width is t s/√n",
            gravity="idea",
        ),
        Mistake(
            "standard error",
            change={"t_quantile(level, n - 1) * ": ""},
            says="this is the standard error s/√n: multiply by t",
            gravity="idea",
        ),
        Mistake(
            "whole width",
            change={"t_quantile(level, n - 1) * ": "2 * t_quantile(level, n - 1) * "},
            says="this is the whole width: give half of it",
            gravity="idea",
        ),
        Mistake(
            "one-sided",
            change={"t_quantile(level, n - 1)": "t_quantile((1 + level) / 2, n - 1)"},
            says="`t_quantile` is two-sided already: give it the level itself",
            gravity="idea",
        ),
        Mistake(
            "level ignored",
            change={"t_quantile(level,": "t_quantile(0.95,"},
            says="the level is ignored: pass it to t_quantile",
            gravity="part",
        ),
        Mistake(
            "one value has no spread",
            change={"math.inf": "0.0"},
            says="with one value nothing is known about the spread: the half-width is math.inf, not 0",
            gravity="edge",
        ),
        Mistake(
            "the two ends",
            change={
                "return mean, t_quantile(level, n - 1) * (variance / n) ** 0.5": "half = t_quantile(level, n - 1) * (variance / n) ** 0.5\n    return mean - half, mean + half"
            },
            says="these are the two ends of the interval: give its middle and its half-width",
            gravity="idea",
        ),
        Mistake(
            "root of n − 1",
            change={"(variance / n) ** 0.5": "(variance / (n - 1)) ** 0.5"},
            says="this divides by √(n − 1): s has its n − 1 already, and the standard error is s/√n",
            gravity="idea",
        ),
        Mistake(
            "sorts in place",
            change={"n = len(values)\n": "values.sort()\n    n = len(values)\n"},
            hint="your code changes the list of values",
            gravity="edge",
        ),
        Right(
            "torch",
            code="""
def t_interval(values, level=0.95):
    data = torch.tensor(values, dtype=torch.float64)
    if len(data) == 1:
        return data.item(), float("inf")
    return data.mean().item(), (data.std() / math.sqrt(len(data))).item() * t_quantile(level, len(data) - 1)
""",
        ),
        Right(
            "statistics",
            code="""
import statistics


def t_interval(values, level=0.95):
    if len(values) < 2:
        return values[0], math.inf
    error = statistics.stdev(values) / len(values) ** 0.5
    return statistics.mean(values), error * t_quantile(level, len(values) - 1)
""",
        ),
    ],
    "table": [
        Mistake(
            "last runs only",
            change={
                'setdefault(entry["variant"], []).append(entry)': 'setdefault(entry["variant"], []).append(entry)\n        groups[entry["variant"]] = groups[entry["variant"]][-2:]'
            },
            says="only a variant's last runs are used: use all of them",
            gravity="idea",
        ),
        Mistake(
            "neighbours grouped",
            code="""import itertools


def results_table(runs, metrics, level=0.95):
    rows = []
    for name, group in itertools.groupby(runs, key=lambda entry: entry["variant"]):
        group = list(group)
        rows.append({"variant": name, "runs": len(group), **{m: t_interval([e[m] for e in group], level) for m in metrics}})
    return rows
""",
            says="only neighbours are grouped: runs of a variant may stand anywhere in the list",
            gravity="idea",
        ),
        Mistake(
            "grouped by seed",
            change={'groups.setdefault(entry["variant"], [])': 'groups.setdefault(entry["seed"], [])'},
            says="the runs are grouped by seed: group them by variant",
            gravity="idea",
        ),
        Mistake(
            "first metric for all",
            change={"entry[metric] for entry in group": "entry[metrics[0]] for entry in group"},
            says="every metric has the interval of the first one",
            gravity="idea",
        ),
        Mistake(
            "formatted",
            change={
                "t_interval([entry[metric] for entry in group], level) for": "'%.2f ± %.2f' % t_interval([entry[metric] for entry in group], level) for"
            },
            says="these are texts: a metric's entry is the pair (mean, half-width)",
            gravity="idea",
        ),
        Mistake(
            "number of seeds",
            change={"len(group)": "len({entry['seed'] for entry in runs})"},
            says="`runs` is the number of all seeds: count each variant's own runs",
            gravity="part",
        ),
        Mistake(
            "order turned round",
            change={"in groups.items()": "in reversed(groups.items())"},
            says="the variants are sorted, or turned round: keep the order in which they first appear",
            gravity="part",
        ),
        Mistake(
            "sorted by the metric",
            change={
                "    return [\n": "    return sorted([\n",
                "in groups.items()\n    ]": "in groups.items()\n    ], key=lambda row: row[metrics[0]][0])",
            },
            says="the lines are sorted by a metric: list the variants as they first appear",
            gravity="part",
        ),
        Mistake(
            "single runs dropped",
            change={"in groups.items()": "in groups.items() if len(group) > 1"},
            says="variants with a single run are missing",
            gravity="idea",
        ),
        Mistake(
            "another key",
            change={'"variant": name, ': '"name": name, '},
            says="the variant's name stands under another key: it is `variant`",
            gravity="idea",
        ),
        Mistake(
            "ends of the interval",
            change={
                "metric: t_interval([entry[metric] for entry in group], level) for metric in metrics": "metric: (lambda m, h: (m - h, m + h))(*t_interval([entry[metric] for entry in group], level)) for metric in metrics"
            },
            says="these are the ends of the interval: a metric's entry is (mean, half-width)",
            gravity="idea",
        ),
        Mistake(
            "a dictionary by variant",
            change={
                "    return [\n": "    return {row['variant']: row for row in [\n",
                "in groups.items()\n    ]": "in groups.items()\n    ]}",
            },
            says="this is a dictionary: return a list of lines",
            gravity="idea",
        ),
        Mistake(
            "seeds in the table",
            change={'"runs": len(group), ': '"runs": len(group), "seeds": len(group), '},
            says="a line has a key that was not asked for: variant, runs and the metrics",
            gravity="part",
        ),
        Mistake(
            "every value once",
            change={"[entry[metric] for entry in group]": "sorted({entry[metric] for entry in group})"},
            says="equal values are counted once: runs count one by one",
            gravity="edge",
        ),
        Mistake(
            "one line per run",
            code="""
def results_table(runs, metrics, level=0.95):
    return [{"variant": r["variant"], "runs": 1, **{m: (r[m], math.inf) for m in metrics}} for r in runs]
""",
            says="there is one line per run: group the runs by variant",
            gravity="idea",
        ),
        Mistake(
            "sorted",
            change={"in groups.items()": "in sorted(groups.items())"},
            says="the variants are sorted, or turned round: keep the order in which they first appear",
            gravity="part",
        ),
        Mistake(
            "count of all",
            change={"len(group)": "len(runs)"},
            says="`runs` is the number of all runs: count each variant's own",
            gravity="part",
        ),
        Mistake(
            "all metrics",
            change={"for metric in metrics}": 'for metric in group[0] if metric not in ("variant", "seed")}'},
            says="metrics that were not asked for are in the table",
            gravity="part",
        ),
        Mistake(
            "mixed variants",
            change={"[entry[metric] for entry in group]": "[entry[metric] for entry in runs]"},
            says="the runs of all variants are mixed: use this variant's own",
            gravity="idea",
        ),
        Mistake(
            "level dropped",
            change={"for entry in group], level)": "for entry in group])"},
            says="the level is not passed on to t_interval",
            gravity="part",
        ),
        Mistake(
            "mean only",
            change={"for entry in group], level)": "for entry in group], level)[0]"},
            says="only the mean is in the table: a metric's entry is (mean, half-width)",
            gravity="idea",
        ),
        Mistake(
            "adds to the runs",
            change={"    groups = {}\n": '    groups = {}\n    for entry in runs:\n        entry.pop("seed", None)\n'},
            hint="your code changes the list of runs",
            gravity="edge",
        ),
        Mistake(
            "only the first metric",
            change={"for metric in metrics}": "for metric in metrics[:1]}"},
            says="only the first metric is in the table: every line has an interval for each of the metrics",
            gravity="idea",
        ),
        Right(
            "pandas",
            code="""
def results_table(runs, metrics, level=0.95):
    if not runs:
        return []
    rows = []
    for name, part in pd.DataFrame(runs).groupby("variant", sort=False):
        row = {"variant": str(name), "runs": len(part)}
        for metric in metrics:
            row[metric] = t_interval(part[metric].tolist(), level)
        rows.append(row)
    return rows
""",
        ),
        Right(
            "dict.fromkeys",
            code="""
def results_table(runs, metrics, level=0.95):
    rows = []
    for name in dict.fromkeys(r["variant"] for r in runs):
        own = [r for r in runs if r["variant"] == name]
        row = {m: list(t_interval([r[m] for r in own], level)) for m in metrics}
        row["variant"], row["runs"] = name, len(own)
        rows.append(row)
    return rows
""",
        ),
    ],
    "paired": [
        Mistake(
            "half of the half-width",
            change={"mean - half > 0": "mean > half / 2"},
            says="b is called lower where the mean is larger than half of the half-width: the whole interval must lie above 0",
            gravity="part",
        ),
        Mistake(
            "size of the difference",
            change={'return mean, half, "not separated"': 'return abs(mean), half, "not separated"'},
            hint="the mean difference keeps its sign",
            gravity="part",
        ),
        Mistake(
            "two seeds are too few",
            change={"if mean + half < 0:": "if len(a) > 2 and mean + half < 0:"},
            says="with two common seeds no verdict is given: the interval says when it is safe",
            gravity="part",
        ),
        Mistake(
            "every seed of a, by name",
            change={"[a[s] - b[s] for s in a if s in b]": "[a[s] - b[s] for s in a]"},
            says="a seed that b does not have raises an error: use only the seeds that both have",
            gravity="part",
        ),
        Mistake(
            "relative",
            change={"[a[s] - b[s] for s in a if s in b]": "[(a[s] - b[s]) / b[s] for s in a if s in b]"},
            says="the differences are divided by b: form a − b",
            gravity="idea",
        ),
        Mistake(
            "ratios",
            change={"[a[s] - b[s] for s in a if s in b]": "[a[s] / b[s] for s in a if s in b]"},
            says="these are ratios: form a − b",
            gravity="idea",
        ),
        Mistake(
            "absolute",
            change={"[a[s] - b[s] for s in a if s in b]": "[abs(a[s] - b[s]) for s in a if s in b]"},
            says="the differences lose their sign: form a − b",
            gravity="idea",
        ),
        Mistake(
            "sorted values",
            change={"[a[s] - b[s] for s in a if s in b]": "[u - v for u, v in zip(sorted(a.values()), sorted(b.values()))]"},
            says="the values are sorted before they are paired: pair them by seed",
            gravity="idea",
        ),
        Mistake(
            "first seeds",
            change={"[a[s] - b[s] for s in a if s in b]": "[a[s] - b[s] for s in range(min(len(a), len(b))) if s in a and s in b]"},
            says="seeds are taken for 0, 1, 2, …: use the seeds that both have, whatever numbers they are",
            gravity="part",
        ),
        Mistake(
            "usual seeds",
            change={"for s in a if s in b], level)": "for s in (0, 1, 2, 3, 4) if s in a and s in b], level)"},
            says="seeds are taken for 0, 1, 2, …: use the seeds that both have, whatever numbers they are",
            gravity="part",
        ),
        Mistake(
            "Welch",
            code="""def paired(a, b, level=0.95):
    x, y = torch.tensor(list(a.values())).double(), torch.tensor(list(b.values())).double()
    mean = (x.mean() - y.mean()).item()
    half = t_quantile(level, min(len(x), len(y)) - 1) * (x.var() / len(x) + y.var() / len(y)).sqrt().item() if min(len(x), len(y)) > 1 else math.inf
    return mean, half, "a is lower" if mean + half < 0 else "b is lower" if mean - half > 0 else "not separated"
""",
            says="these are two independent samples: take the interval of the differences, seed by seed",
            gravity="idea",
        ),
        Mistake(
            "other words",
            change={'return mean, half, "not separated"': 'return mean, half, "no difference"'},
            says='the third verdict is called "not separated"',
            gravity="part",
        ),
        Mistake(
            "all seeds agree",
            change={"mean + half < 0": "all(a[s] < b[s] for s in a if s in b)", "mean - half > 0": "all(a[s] > b[s] for s in a if s in b)"},
            says="the verdict asks whether all seeds agree: it asks where the interval lies",
            gravity="part",
        ),
        Mistake(
            "half of the half-width",
            change={"if mean + half < 0": "if mean + half / 2 < 0", "if mean - half > 0": "if mean - half / 2 > 0"},
            says="the verdict uses half of the half-width: the interval is mean ± half-width",
            gravity="part",
        ),
        Mistake(
            "seeds taken out",
            change={"    mean, half": "    for s in [s for s in a if s not in b]:\n        del a[s]\n    mean, half"},
            hint="your code changes the results that it is given",
            gravity="edge",
        ),
        Mistake(
            "intervals do not overlap",
            change={
                "mean + half < 0": "sum(t_interval(list(a.values()), level)) < t_interval(list(b.values()), level)[0] - t_interval(list(b.values()), level)[1]",
                "mean - half > 0": "sum(t_interval(list(b.values()), level)) < t_interval(list(a.values()), level)[0] - t_interval(list(a.values()), level)[1]",
            },
            says="the verdict asks whether the two intervals overlap: look at the interval of the differences",
            gravity="part",
        ),
        Mistake(
            "verdict at 0.95",
            change={
                "if mean + half < 0:": "half95 = t_interval([a[s] - b[s] for s in a if s in b])[1]\n    if mean + half95 < 0:",
                "if mean - half > 0:": "if mean - half95 > 0:",
            },
            says="the verdict is always at the level 0.95: use the interval that you return",
            gravity="part",
        ),
        Mistake(
            "verdict by the means of all",
            change={"if mean + half < 0": "if sum(a.values()) / len(a) + half < sum(b.values()) / len(b)"},
            says="the verdict compares the means of all seeds: it, too, is about the seeds that both have",
            gravity="part",
        ),
        Mistake(
            "b minus a", change={"a[s] - b[s]": "b[s] - a[s]"}, says="the difference is a − b: yours has the other sign", gravity="idea"
        ),
        Mistake(
            "two intervals added",
            change={
                "mean, half = t_interval([a[s] - b[s] for s in a if s in b], level)": "left, right = t_interval(list(a.values()), level), t_interval(list(b.values()), level)\n    mean, half = left[0] - right[0], left[1] + right[1]"
            },
            says="these are two separate intervals added up: take the interval of the differences",
            gravity="idea",
        ),
        Mistake(
            "sign only",
            change={"mean + half < 0": "mean < 0", "mean - half > 0": "mean > 0"},
            says="the sign of the mean is not enough: the whole interval must lie on one side",
            gravity="part",
        ),
        Mistake(
            "verdict swapped",
            change={'"a is lower"': '"b is LOWER"', '"b is lower"': '"a is lower"', "LOWER": "lower"},
            says="the names are swapped: where a − b is negative, a is lower",
            gravity="part",
        ),
        Mistake(
            "paired by order",
            change={"[a[s] - b[s] for s in a if s in b]": "[u - v for u, v in zip(a.values(), b.values())]"},
            says="the values are paired by their order, not by their seed",
            gravity="part",
        ),
        Mistake(
            "every seed of a", change={" for s in a if s in b": " for s in a"}, hint="use only the seeds that both have", gravity="part"
        ),
        Mistake(
            "missing seeds are zero",
            change={"[a[s] - b[s] for s in a if s in b]": "[a.get(s, 0.0) - b.get(s, 0.0) for s in {*a, *b}]"},
            says="a seed that one of the two lacks counts as 0: use only the seeds that both have",
            gravity="part",
        ),
        Mistake(
            "level dropped", change={"if s in b], level)": "if s in b])"}, says="the level is not passed on to t_interval", gravity="part"
        ),
        Mistake(
            "touching counts",
            change={"mean + half < 0": "mean + half <= 0"},
            says="an interval that touches 0 separates nothing: the whole interval must lie below 0",
            gravity="edge",
        ),
        Mistake(
            "interval of all values",
            change={"[a[s] - b[s] for s in a if s in b]": "[a[s] for s in a if s in b]"},
            says="this is the interval of a alone: take the interval of the differences",
            gravity="idea",
        ),
        Mistake(
            "never b",
            change={"if mean - half > 0:": "if False:"},
            says="b is never called lower: where the whole interval lies above 0, it is",
            gravity="part",
        ),
        Right(
            "set of seeds, absolute value",
            code="""
def paired(a, b, level=0.95):
    mean, half = t_interval([a[s] - b[s] for s in sorted(set(a) & set(b))], level)
    if abs(mean) <= half:
        verdict = "not separated"
    else:
        verdict = "a is lower" if mean < 0 else "b is lower"
    return mean, half, verdict
""",
        ),
        Right("a list", change={"return mean, half, ": "return list, ", "list, ": "*(mean, half), "}),
    ],
    "sample": [
        Mistake(
            "one draw for all rows",
            change={
                "torch.multinomial(scaled.softmax(dim=-1), 1)[:, 0]": "torch.multinomial(scaled.softmax(dim=-1)[:1], 1)[:, 0].expand(len(logits))"
            },
            says="one word is drawn for all rows: every row draws its own",
            gravity="idea",
        ),
        Mistake(
            "rows banned",
            change={"scaled[:, list(banned)]": "scaled[list(banned)]"},
            says="whole rows are banned: the words are columns",
            gravity="part",
        ),
        Mistake("a logit of −10", change={"= -torch.inf": "= -10.0"}, hint="a banned word comes out", gravity="part"),
        Mistake("a list", change={", 1)[:, 0]": ", 1)[:, 0].tolist()"}, hint="word numbers are an int64 tensor", gravity="edge"),
        Mistake(
            "temperature ignored", change={"logits / temperature": "logits.clone()"}, hint="the temperature is ignored", gravity="idea"
        ),
        Mistake(
            "temperature multiplies",
            change={"logits / temperature": "logits * temperature"},
            hint="yours multiplies",
            gravity="idea",
        ),
        Mistake("not banned", change={"    scaled[:, list(banned)] = -torch.inf\n": ""}, hint="a banned word came out", gravity="part"),
        Mistake("logit zero", change={"= -torch.inf": "= 0.0"}, hint="a banned word came out: its probability must be 0", gravity="part"),
        Mistake(
            "greedy",
            change={"torch.multinomial(scaled.softmax(dim=-1), 1)[:, 0]": "scaled.argmax(dim=-1)"},
            says="the likeliest word always wins: draw instead of taking the largest",
            gravity="idea",
        ),
        Mistake(
            "uniform",
            change={"scaled.softmax(dim=-1)": "(scaled > -torch.inf).float()"},
            hint="by the softmax of their logits the words have the probabilities 0.06",
            gravity="idea",
        ),
        Mistake("a column", change={", 1)[:, 0]": ", 1)"}, hint="one word number per row", gravity="edge"),
        Mistake("in place", change={"scaled = logits / temperature": "scaled = logits.div_(temperature)"}, hint=IN_PLACE, gravity="edge"),
        Mistake("overflows", change={"scaled.softmax(dim=-1)": "scaled.exp()"}, hint="no overflow, and the likeliest word", gravity="edge"),
        Mistake(
            "seeded",
            change={"    scaled = logits / temperature\n": "    torch.manual_seed(0)\n    scaled = logits / temperature\n"},
            hint="do not seed the generator",
            gravity="edge",
        ),
        Mistake(
            "one word for all rows",
            change={
                "torch.multinomial(scaled.softmax(dim=-1), 1)[:, 0]": "torch.multinomial(scaled.softmax(dim=-1)[:1], len(logits), replacement=True)[0]"
            },
            says="all words are drawn from the first row's distribution: every row has its own",
            gravity="idea",
        ),
        Right(
            "Gumbel",
            code="""
def next_word(logits, temperature, banned=()):
    keep = torch.ones(logits.shape[-1], dtype=torch.bool)
    keep[torch.tensor(list(banned), dtype=torch.long)] = False
    noise = -torch.log(-torch.log(torch.rand(logits.shape, dtype=torch.float64)))
    return torch.where(keep, logits.double() / temperature + noise, -torch.inf).argmax(-1)
""",
        ),
        Right(
            "Categorical and renormalising",
            code="""
def next_word(logits, temperature, banned=()):
    scaled = logits.double() / temperature
    for word in banned:
        scaled[:, word] = float("-inf")
    return torch.distributions.Categorical(logits=scaled).sample()
""",
        ),
    ],
    "bonus-repair": [
        Mistake(
            "largest weight",
            change={"weights.sum(dim=-1, keepdim=True)": "weights.amax(dim=-1, keepdim=True)"},
            says="the rows are divided by their largest weight: divide by their sum",
            gravity="idea",
        ),
        Mistake(
            "norm",
            change={"weights.sum(dim=-1, keepdim=True)": "weights.norm(dim=-1, keepdim=True)"},
            says="the rows are divided by their length, a root of squares: divide by their sum",
            gravity="idea",
        ),
        Mistake(
            "number of keys",
            change={"weights.sum(dim=-1, keepdim=True)": "mask.sum(dim=-1, keepdim=True)"},
            says="the rows are divided by the number of visible keys: divide by the sum of their weights",
            gravity="idea",
        ),
        Mistake(
            "even where gone",
            change={
                "weights / total.masked_fill(total == 0, 1.0)": "torch.where(total > 0, weights / total, mask / mask.sum(-1, keepdim=True))"
            },
            says="a row whose sum is 0 gets equal weights: give zeros",
            gravity="part",
        ),
        Mistake(
            "clamped",
            change={"total.masked_fill(total == 0, 1.0)": "total.clamp_min(1e-6)"},
            says="a small constant is added to the denominator, or replaces a small sum: treat only a sum of exactly 0 differently",
            gravity="edge",
        ),
        Mistake(
            "all or nothing",
            change={
                "    return weights / total.masked_fill(total == 0, 1.0)": "    if (total == 0).any():\n        return weights * 0\n    return weights / total"
            },
            says="one row with the sum 0 makes all rows zero: only that row is zeros",
            gravity="part",
        ),
        Mistake(
            "mask in place",
            change={"masked_fill(~mask, 0.0)": "masked_fill(mask.logical_not_(), 0.0)"},
            hint="your code changes its input in place",
            gravity="edge",
        ),
        Mistake(
            "softmax over the queries",
            change={"scores.softmax(dim=-1)": "scores.softmax(dim=-2)"},
            says="softmax runs over the queries: each row is one query",
            gravity="idea",
        ),
        Mistake(
            "mask not used", change={".masked_fill(~mask, 0.0)": ""}, says="the mask is not used: hidden weights become 0", gravity="idea"
        ),
        Mistake(
            "not normalised",
            change={"weights / total.masked_fill(total == 0, 1.0)": "weights"},
            says="the rows are not normalised again",
            gravity="idea",
        ),
        Mistake(
            "second softmax",
            change={"weights / total.masked_fill(total == 0, 1.0)": "weights.softmax(dim=-1)"},
            says="a second softmax gives weight to the zeros: divide by the sum",
            gravity="idea",
        ),
        Mistake(
            "NaN",
            change={"total.masked_fill(total == 0, 1.0)": "total"},
            says="0/0 is NaN: where the sum of a row is 0, give zeros",
            gravity="part",
        ),
        Mistake(
            "over the queries",
            change={"weights.sum(dim=-1, keepdim=True)": "weights.sum(dim=-2, keepdim=True)"},
            says="the sum runs over the queries: each row is one query",
            gravity="idea",
        ),
        Mistake(
            "epsilon",
            change={"total.masked_fill(total == 0, 1.0)": "(total + 1e-9)"},
            says="a small constant is added to the denominator, or replaces a small sum: treat only a sum of exactly 0 differently",
            gravity="edge",
        ),
        Mistake(
            "minus infinity",
            change={"weights / total.masked_fill(total == 0, 1.0)": "scores.masked_fill(~mask, -torch.inf).softmax(-1)"},
            says="this is −∞ masking: here softmax comes first, and what underflows is 0",
            gravity="part",
        ),
        Mistake(
            "one sum for all",
            change={"weights.sum(dim=-1, keepdim=True)": "weights.sum()"},
            says="one sum for all rows: every row is divided by its own",
            gravity="idea",
        ),
        Mistake(
            "sum over axis 1",
            change={"sum(dim=-1, keepdim=True)": "sum(dim=1, keepdim=True)"},
            says="the sum runs over axis 1, which are the heads where there are any: sum over the last axis",
            gravity="part",
        ),
        Right("nan_to_num", change={"weights / total.masked_fill(total == 0, 1.0)": "torch.nan_to_num(weights / total, nan=0.0)"}),
        Right(
            "where",
            code="""
def renormalised_weights(scores, mask):
    weights = torch.where(mask, scores.softmax(-1), 0.0)
    total = weights.sum(-1, keepdim=True)
    return torch.where(total > 0, weights / torch.where(total > 0, total, 1.0), 0.0)
""",
        ),
    ],
    "bonus-seeds": [
        Mistake(
            "in one formula",
            code="""def seeds_needed(s, difference, level=0.95):
    return max(2, math.ceil((t_quantile(level, 2) * s / difference) ** 2))
""",
            says="t is taken for one number of seeds: it depends on n, so try one n after the other",
            gravity="idea",
        ),
        Mistake("spread not used", change={" * s /": " /"}, says="`s` is not used: the half-width is t s/√n", gravity="idea"),
        Mistake(
            "whole width",
            change={"> difference": "> difference / 2"},
            says="the whole width is compared: ±`difference` is about the half-width",
            gravity="idea",
        ),
        Mistake("doubled", change={"n += 1": "n *= 2"}, says="n is doubled: the smallest n may lie in between", gravity="idea"),
        Mistake(
            "root of n − 1", change={"n**0.5": "(n - 1) ** 0.5"}, says="this divides by √(n − 1): the half-width is t s/√n", gravity="idea"
        ),
        Mistake(
            "at most 100",
            change={"while t_q": "while n < 100 and t_q"},
            says="the search stops at 100: there is no largest n",
            gravity="edge",
        ),
        Mistake(
            "at least three", change={"n = 2\n": "n = 3\n"}, says="the search starts at three: two seeds may be enough", gravity="edge"
        ),
        Mistake(
            "no spread at all",
            change={"n = 2\n    while": "n = 2\n    level = 0.95\n    while"},
            says="the level is ignored: pass it to t_quantile",
            gravity="part",
        ),
        Mistake(
            "normal quantile",
            change={"t_quantile(level, n - 1)": "1.96"},
            says="this uses 1.96 instead of Student's t: `t_quantile(level, n - 1)`",
            gravity="idea",
        ),
        Mistake(
            "one too few",
            change={"return n\n": "return max(2, n - 1)\n"},
            says="one too few: the half-width must be at most the difference",
            gravity="idea",
        ),
        Mistake(
            "starts at 1",
            change={"n = 2": "n = 1", "level, n - 1)": "level, max(1, n - 1))"},
            says="one seed comes out: it says nothing about the spread, at least two are needed",
            gravity="edge",
        ),
        Mistake(
            "one too many",
            change={"return n\n": "return n + 1 if n > 7 else n\n"},
            says="one too many: give the smallest n",
            gravity="idea",
        ),
        Mistake(
            "level ignored",
            change={"t_quantile(level,": "t_quantile(0.95,"},
            says="the level is ignored: pass it to t_quantile",
            gravity="part",
        ),
        Mistake("divides by n", change={"n**0.5": "n"}, says="the half-width has √n, not n", gravity="idea"),
        Mistake(
            "n degrees",
            change={"t_quantile(level, n - 1)": "t_quantile(level, n)"},
            says="n values leave n − 1 degrees of freedom",
            gravity="idea",
        ),
        Right(
            "search over a range",
            code="""
import itertools


def seeds_needed(s, difference, level=0.95):
    return next(n for n in itertools.count(2) if t_quantile(level, n - 1) * s <= difference * math.sqrt(n))
""",
        ),
        Right(
            "squares",
            change={"t_quantile(level, n - 1) * s / n**0.5 > difference": "(t_quantile(level, n - 1) * s) ** 2 > n * difference**2"},
        ),
    ],
}

# Mutants that `course verify --mutate` makes and that are no mistakes.
ONE_AXIS = "there is one axis: 0, -0 and -1 are the same"
NO_GRAD = "without `torch.no_grad()` the numbers are the same: the text does not forbid the memory that the graph takes"
LISTS = "the text says that this is a list: it has a length and several starts"
EQUIVALENT = {
    "derive": {"axis: s.softmax, dim=-1 → 0": ONE_AXIS, "number: 1 → 0": ONE_AXIS},
    "perturb": {
        "global: without torch.no_grad()": NO_GRAD,
        "sign: -1 → 1": "a matrix (place, V): axis 1 is the last",
        "number: 0 → -1": "a batch of one: its first sentence is its last",
        "order: model(changed[None]) - model(tokens[Non… → *": "the absolute value of a difference is the same in both directions",
    },
    "prefix": {
        "global: without torch.no_grad()": NO_GRAD,
        "axis: logits.log_softmax, dim=-1 → 0": ONE_AXIS,
        "number: 0 → -1": "a batch of one: its first sentence is its last",
        "number: 1 → 0 #4": ONE_AXIS,
    },
    "interval": {"order: value - mean → mean - value": "a square is the same for both signs"},
    "table": {"iterator: *": LISTS},
    "sample": {
        "copy: list(banned) without list": "word numbers in a list or a tuple are an index, too",
        "sign: -1 → 1": "a matrix (B, V): axis 1 is the last",
        "number: 0 → -1": "one column: the first is the last",
    },
    "bonus-repair": {"number: 1.0 → 0.5": "zeros are divided: by what does not matter"},
}
