"""Wrong answers that the tests of 03-attention must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

IN_PLACE = "your code changes its input in place"
NO_TORCH = "gradients can only flow through torch operations"

# Three functions share a cell in `masks` and `multi-head`, and two in `cost`: the right ones, to go with one that is wrong.
HIDE = """
def hide_position(T, j):
    return (torch.arange(T) != j).expand(T, T)
"""
CAUSAL = """
def causal_mask(T):
    return torch.arange(T)[:, None] >= torch.arange(T)
"""
PADDING = """
def padding_mask(lengths, T):
    return (torch.arange(T) < lengths[:, None])[:, None]
"""

VARIANTS = {
    "lookup-weights": [
        Mistake(
            "softmax over the queries",
            change={"softmax(dim=-1)": "softmax(dim=0)"},
            says="softmax runs over the queries: it must run over the keys, the last axis",
            gravity="idea",
        ),
        Mistake(
            "scaled too early",
            change={"(Q @ K.mT)": "(Q @ K.mT / Q.shape[-1] ** 0.5)"},
            says="in this part the scores are plain inner products: do not divide by the square root of the width yet",
            gravity="idea",
        ),
        Mistake(
            "no softmax",
            change={".softmax(dim=-1)": ""},
            says="these are the scores: turn them into weights with a softmax",
            gravity="idea",
        ),
        Mistake(
            "keys ask, queries answer", change={"Q @ K.mT": "K @ Q.mT"}, hint="which of Q and K comes first in the product", gravity="idea"
        ),
        Mistake(
            "one softmax for all pairs",
            change={".softmax(dim=-1)": ".flatten().softmax(0).view(len(Q), len(K))"},
            says="one softmax runs over all pairs at once: every query needs its own distribution",
            gravity="idea",
        ),
        Mistake("log-softmax", change={".softmax(": ".log_softmax("}, says="these are the logarithms of the weights", gravity="idea"),
        Mistake(
            "exp without the maximum",
            change={"return (Q @ K.mT).softmax(dim=-1)": "e = (Q @ K.mT).exp()\n    return e / e.sum(-1, keepdim=True)"},
            hint="large scores overflow",
            gravity="edge",
        ),
        Mistake(
            "divided by the sum, no exp",
            change={"return (Q @ K.mT).softmax(dim=-1)": "s = Q @ K.mT\n    return s / s.sum(-1, keepdim=True)"},
            says="the scores are divided by their sum: softmax takes exp first, so that every weight is positive",
            gravity="idea",
        ),
        Mistake("normalised in place", change={"return": "Q -= K.mean(0)\n    return"}, hint=IN_PLACE, gravity="idea"),
        Mistake(
            "in NumPy",
            code="""
import numpy as np

def lookup_weights(Q, K):
    s = Q.detach().numpy() @ K.detach().numpy().T
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
""",
            hint=NO_TORCH,
            gravity="part",
        ),
        Mistake(
            "scores cut off",
            change={"(Q @ K.mT)": "(Q @ K.mT).clamp(-50, 50)"},
            hint="scores of 120 and 120 + log 3 give 1 : 3",
            gravity="edge",
        ),
        Right("einsum in float64", change={"(Q @ K.mT)": 'torch.einsum("nd,md->nm", Q.double(), K.double())'}),
        Right(
            "by logsumexp",
            change={"return (Q @ K.mT).softmax(dim=-1)": "s = Q @ K.mT\n    return (s - s.logsumexp(1, keepdim=True)).exp()"},
        ),
        Mistake(
            "vectors normalised",
            change={"(Q @ K.mT).softmax(dim=-1)": "(F.normalize(Q, dim=1) @ F.normalize(K, dim=1).mT).softmax(dim=-1)"},
            says="the score is the inner product, lengths included: do not normalise the vectors",
            gravity="idea",
        ),
        Mistake(
            "keys normalised",
            change={"(Q @ K.mT).softmax(dim=-1)": "(Q @ F.normalize(K, dim=1).mT).softmax(dim=-1)"},
            says="the keys are normalised: the score is the inner product, lengths included",
            gravity="idea",
        ),
        Mistake(
            "queries normalised",
            change={"(Q @ K.mT).softmax(dim=-1)": "(F.normalize(Q, dim=1) @ K.mT).softmax(dim=-1)"},
            says="the queries are normalised: the score is the inner product, lengths included",
            gravity="idea",
        ),
        Mistake(
            "sigmoid, then shares",
            change={"return (Q @ K.mT).softmax(dim=-1)": "s = torch.sigmoid(Q @ K.mT)\n    return s / s.sum(-1, keepdim=True)"},
            says="a sigmoid takes the place of exp: a weight is exp of the score, divided by the sum",
            gravity="idea",
        ),
        Mistake(
            "sigmoid",
            change={"(Q @ K.mT).softmax(dim=-1)": "torch.sigmoid(Q @ K.mT)"},
            says="each weight is a sigmoid of its own score: with softmax the weights of a row share one sum",
            gravity="idea",
        ),
        Mistake(
            "squared scores",
            change={"return (Q @ K.mT).softmax(dim=-1)": "s = (Q @ K.mT) ** 2\n    return s / s.sum(-1, keepdim=True)"},
            says="the scores are squared and divided by their sum: softmax takes exp of them",
            gravity="idea",
        ),
        Mistake(
            "positive scores, then shares",
            change={"return (Q @ K.mT).softmax(dim=-1)": "s = torch.relu(Q @ K.mT)\n    return s / s.sum(-1, keepdim=True)"},
            says="negative scores are cut off, and the rest is divided by its sum: softmax takes exp of every score",
            gravity="idea",
        ),
        Mistake(
            "distances",
            change={"(Q @ K.mT).softmax(dim=-1)": "(-((Q[:, None] - K) ** 2).sum(-1)).softmax(dim=-1)"},
            says="the score is a distance here; in this part the match is the inner product",
            gravity="idea",
        ),
        Mistake(
            "scaled by d",
            change={"(Q @ K.mT).softmax(dim=-1)": "(Q @ K.mT / Q.shape[1]).softmax(dim=-1)"},
            says="in this part the scores are plain inner products: do not divide by the width",
            gravity="idea",
        ),
        Mistake(
            "base 2",
            change={"return (Q @ K.mT).softmax(dim=-1)": "e = 2.0 ** (Q @ K.mT)\n    return e / e.sum(-1, keepdim=True)"},
            says="the base of the powers is 2: softmax has e",
            gravity="idea",
        ),
        Mistake(
            "softmin",
            change={"(Q @ K.mT).softmax(dim=-1)": "(-(Q @ K.mT)).softmax(dim=-1)"},
            says="the scores have the wrong sign: the better a key matches, the smaller is its weight",
            gravity="idea",
        ),
        Mistake(
            "softmax twice",
            change={"(Q @ K.mT).softmax(dim=-1)": "(Q @ K.mT).softmax(dim=-1).softmax(dim=-1)"},
            says="softmax is applied twice: the weights go through it once more",
            gravity="idea",
        ),
        Mistake(
            "exp, not divided",
            change={"(Q @ K.mT).softmax(dim=-1)": "(Q @ K.mT).exp()"},
            says="the exponentials are not divided by their sum",
            gravity="idea",
        ),
        Mistake(
            "divided by the largest",
            change={"return (Q @ K.mT).softmax(dim=-1)": "e = (Q @ K.mT).exp()\n    return e / e.amax(-1, keepdim=True)"},
            says="the exponentials are divided by the largest of the row, not by the sum",
            gravity="idea",
        ),
        Mistake(
            "sum over the queries, by hand",
            change={"return (Q @ K.mT).softmax(dim=-1)": "e = (Q @ K.mT).exp()\n    return e / e.sum(0, keepdim=True)"},
            says="the sum runs over the queries: it must run over the keys, the last axis",
            gravity="idea",
        ),
        Mistake(
            "one sum for all, by hand",
            change={"return (Q @ K.mT).softmax(dim=-1)": "e = (Q @ K.mT).exp()\n    return e / e.sum()"},
            says="one sum runs over all pairs at once: every query needs its own",
            gravity="idea",
        ),
        Mistake(
            "the best key only",
            change={"(Q @ K.mT).softmax(dim=-1)": "F.one_hot((Q @ K.mT).argmax(-1), len(K)).to(Q.dtype)"},
            says="only the best key has a weight: the look-up is soft, every key has its share",
            gravity="idea",
        ),
        Mistake(
            "absolute scores",
            change={"(Q @ K.mT).softmax(dim=-1)": "(Q @ K.mT).abs().softmax(dim=-1)"},
            says="the scores lose their sign: use the inner products as they are",
            gravity="idea",
        ),
        Mistake(
            "something small in the denominator",
            change={
                "return (Q @ K.mT).softmax(dim=-1)": "s = Q @ K.mT\n    e = (s - s.amax(-1, keepdim=True)).exp()\n    return e / (e.sum(-1, keepdim=True) + 0.1)"
            },
            says="something is added to the sum in the denominator: then the weights do not sum to one",
            gravity="idea",
        ),
        Mistake(
            "root of the number of keys",
            change={"return (Q @ K.mT).softmax(dim=-1)": "return (Q @ K.mT / len(K) ** 0.5).softmax(dim=-1)"},
            says="in this part the scores are plain inner products: do not divide by a root",
            gravity="idea",
        ),
        Mistake(
            "multiplied by the root",
            change={"return (Q @ K.mT).softmax(dim=-1)": "return (Q @ K.mT * Q.shape[1] ** 0.5).softmax(dim=-1)"},
            says="the scores are multiplied by the root of the width: in this part they are plain inner products",
            gravity="idea",
        ),
        Mistake(
            "squared weights",
            change={"return (Q @ K.mT).softmax(dim=-1)": "return (Q @ K.mT).softmax(dim=-1) ** 2"},
            says="the weights are squared, and no longer sum to one",
            gravity="idea",
        ),
        Mistake(
            "transposed weights",
            change={"return (Q @ K.mT).softmax(dim=-1)": "return (Q @ K.mT).softmax(dim=-1).mT"},
            says="the result is transposed: it has a row for every query and a column for every key",
            gravity="idea",
        ),
    ],
    "lookup": [
        Mistake("mixes the keys", change={"@ V": "@ K"}, says="you mix the keys; the output mixes the values", gravity="idea"),
        Mistake(
            "scaled too early",
            change={"lookup_weights(Q, K)": "lookup_weights(Q / Q.shape[1] ** 0.5, K)"},
            says="in this part the scores are not divided by the square root of the width",
            gravity="idea",
        ),
        Mistake(
            "softmax over the queries",
            change={"lookup_weights(Q, K)": "(Q @ K.T).softmax(0)"},
            says="softmax runs over the queries: every row of weights must sum to one over the keys",
            gravity="idea",
        ),
        Mistake(
            "scores for weights",
            change={"lookup_weights(Q, K)": "(Q @ K.T)"},
            says="the scores themselves multiply the values: they must become weights first",
            gravity="idea",
        ),
        Mistake(
            "softmax twice",
            change={"lookup_weights(Q, K)": "lookup_weights(Q, K).softmax(-1)"},
            says="softmax is applied twice: `lookup_weights` has done it already",
            gravity="idea",
        ),
        Mistake(
            "hard look-up",
            change={"lookup_weights(Q, K) @ V": "V[(Q @ K.T).argmax(1)]"},
            says="only the best key counts here: the look-up is soft, every value has its share",
            gravity="idea",
        ),
        Mistake(
            "transposed result",
            change={"lookup_weights(Q, K) @ V": "V.T @ lookup_weights(Q, K).T"},
            says="the output is transposed: it has one row per query, as wide as a value",
            gravity="idea",
        ),
        Mistake("values scaled in place", change={"return": "V -= V.mean(0)\n    return"}, hint=IN_PLACE, gravity="idea"),
        Right(
            "loops",
            change={"lookup_weights(Q, K) @ V": "torch.stack([sum(w * v for w, v in zip(row, V)) for row in lookup_weights(Q, K)])"},
        ),
        Right("einsum", change={"lookup_weights(Q, K) @ V": 'torch.einsum("nm,me->ne", lookup_weights(Q, K), V)'}),
        Mistake(
            "in NumPy",
            change={"lookup_weights(Q, K) @ V": "lookup_weights(Q, K).detach().numpy() @ V.detach().numpy()"},
            hint=NO_TORCH,
            gravity="part",
        ),
        Mistake(
            "queries and keys exchanged",
            change={"lookup_weights(Q, K) @ V": "lookup_weights(K, Q).mT @ V"},
            says="softmax runs over the queries: every row of weights must sum to one over the keys",
            gravity="idea",
        ),
        Mistake(
            "divided by the number of values",
            change={"lookup_weights(Q, K) @ V": "lookup_weights(Q, K) @ V / len(V)"},
            says="the mixture is divided by the number of values: the weights sum to one already",
            gravity="idea",
        ),
        Mistake(
            "divided by the number of queries",
            change={"lookup_weights(Q, K) @ V": "lookup_weights(Q, K) @ V / len(Q)"},
            says="the mixture is divided by the number of queries: the weights sum to one already",
            gravity="idea",
        ),
        Mistake(
            "values normalised",
            change={"lookup_weights(Q, K) @ V": "lookup_weights(Q, K) @ F.normalize(V, dim=1)"},
            says="the values are normalised: mix them as they are",
            gravity="idea",
        ),
        Mistake(
            "softmax of the values",
            change={"lookup_weights(Q, K) @ V": "lookup_weights(Q, K) @ V.softmax(0)"},
            says="softmax is applied to the values: mix them as they are",
            gravity="idea",
        ),
        Mistake(
            "softmax of the result",
            change={"lookup_weights(Q, K) @ V": "(lookup_weights(Q, K) @ V).softmax(-1)"},
            says="softmax is applied to the output: the mixture itself was asked for",
            gravity="idea",
        ),
        Mistake(
            "the mean of the values",
            change={"lookup_weights(Q, K) @ V": "V.mean(0).expand(len(Q), -1)"},
            says="every query gets the plain mean of the values: the weights are not used",
            gravity="idea",
        ),
        Mistake(
            "mean added",
            change={"lookup_weights(Q, K) @ V": "V.mean(0) + lookup_weights(Q, K) @ V"},
            says="the mean of the values is added: the output is the mixture alone",
            gravity="idea",
        ),
        Mistake(
            "sorted weights",
            change={"lookup_weights(Q, K) @ V": "lookup_weights(Q, K).flip(1) @ V"},
            says="the values are mixed in reverse order: weight j belongs to value j",
            gravity="idea",
        ),
        Mistake(
            "one query for all",
            change={"lookup_weights(Q, K) @ V": "(lookup_weights(Q, K) @ V)[:1].expand(len(Q), -1)"},
            says="the first query's mixture is given to all queries",
            gravity="idea",
        ),
        Mistake(
            "summed over the queries",
            change={"lookup_weights(Q, K) @ V": "(lookup_weights(Q, K) @ V).sum(0)"},
            says="the mixtures of all queries are added up: the output has one row per query",
            gravity="idea",
        ),
        Mistake(
            "the weights alone",
            change={"lookup_weights(Q, K) @ V": "lookup_weights(Q, K)"},
            says="these are the weights: mix the values with them",
            gravity="idea",
        ),
        Mistake(
            "the best value's weight only",
            change={"return lookup_weights(Q, K) @ V": "w = lookup_weights(Q, K)\n    return w.amax(1, keepdim=True) * V[w.argmax(1)]"},
            says="only the value with the largest weight is used: every value has its share",
            gravity="idea",
        ),
        Mistake(
            "weights cut from the graph",
            change={"lookup_weights(Q, K) @ V": "lookup_weights(Q, K).detach() @ V"},
            says="the weights are cut from the graph: no gradient reaches the queries and the keys",
            gravity="part",
        ),
        Mistake(
            "weights squared",
            change={"lookup_weights(Q, K) @ V": "lookup_weights(Q, K) ** 2 @ V"},
            says="the weights are squared: mix with the weights as they are",
            gravity="idea",
        ),
        Mistake(
            "sum of the values",
            change={"lookup_weights(Q, K) @ V": "V.sum(0).expand(len(Q), -1)"},
            says="every query gets the plain sum of the values: the weights are not used",
            gravity="idea",
        ),
        Mistake(
            "the worst key only",
            change={"lookup_weights(Q, K) @ V": "V[lookup_weights(Q, K).argmin(1)]"},
            says="the value of the key that matches least is given: the look-up is soft, every value has its share",
            gravity="idea",
        ),
        Mistake(
            "output scaled",
            change={"lookup_weights(Q, K) @ V": "lookup_weights(Q, K) @ V / Q.shape[1] ** 0.5"},
            says="the output is divided by the root of the width: nothing is scaled in this part",
            gravity="idea",
        ),
        Mistake(
            "cosines",
            change={"lookup_weights(Q, K) @ V": "lookup_weights(F.normalize(Q, dim=1), F.normalize(K, dim=1)) @ V"},
            says="queries and keys are made of length one: use them as they are",
            gravity="idea",
        ),
    ],
    "select-first": [
        Mistake("short query", change={"1e5 * ": ""}, hint="make the query long", gravity="part"),
        Mistake("not long enough", change={"1e5": "100"}, hint="keys that lie close together need a longer query", gravity="edge"),
        Mistake("last key", change={"keys[0]": "keys[-1]"}, hint="another key gets the most weight", gravity="idea"),
        Mistake("away from the key", change={"1e5": "-1e5"}, hint="your query points away from it", gravity="idea"),
        Mistake("a whole matrix", change={"keys[0]": "keys"}, hint="not a matrix, and not the weights", gravity="idea"),
        Mistake("infinitely long", change={"1e5": "float('inf')"}, hint="the query must stay finite", gravity="idea"),
        Mistake(
            "built from KEYS", change={"keys[0]": "KEYS[0]"}, hint="the query has the width of the keys that are given", gravity="idea"
        ),
        Mistake("in place", change={"return 1e5 * keys[0]": "keys *= 1e5\n    return keys[0]"}, hint=IN_PLACE, gravity="edge"),
        Right("a list", change={"1e5 * keys[0]": "[1e5 * x for x in keys[0].tolist()]"}),
        Right("of length one, then longer", change={"1e5 * keys[0]": "1e6 * keys[0].double() / keys[0].double().norm()"}),
        Right("whole numbers", change={"1e5 * keys[0]": "(1e5 * keys[0]).round().long()"}),
        Mistake(
            "a column",
            change={"1e5 * keys[0]": "1e5 * keys[:, 0]"},
            says="that is a column: a key is a row of `keys`, keys[0]",
            gravity="idea",
        ),
        Mistake(
            "second key",
            change={"1e5 * keys[0]": "1e5 * keys[1]"},
            says="the query points along keys[1]: counting from 0, the first key is keys[0]",
            gravity="idea",
        ),
        Mistake(
            "sum of all keys",
            change={"1e5 * keys[0]": "1e5 * keys.sum(0)"},
            says="the query points along the sum of all keys: it selects whichever key lies nearest to it",
            gravity="idea",
        ),
        Mistake(
            "mean of all keys",
            change={"1e5 * keys[0]": "1e5 * keys.mean(0)"},
            says="the query points along the mean of all keys: it selects whichever key lies nearest to it",
            gravity="idea",
        ),
        Mistake(
            "first axis",
            change={"1e5 * keys[0]": "1e5 * torch.eye(keys.shape[1])[0]"},
            says="the query points along the first axis, not along the first key",
            gravity="idea",
        ),
        Mistake(
            "a query of ones",
            change={"1e5 * keys[0]": "torch.full_like(keys[0], 1e5)"},
            says="the query is the same number in every place: it prefers keys with a large sum, not the first one",
            gravity="idea",
        ),
        Mistake(
            "softmax of the key",
            change={"1e5 * keys[0]": "1e5 * keys[0].softmax(0)"},
            says="softmax is applied to the key itself: the query points along the key as it is",
            gravity="idea",
        ),
        Mistake(
            "the size of the key",
            change={"1e5 * keys[0]": "1e5 * keys[0].abs()"},
            says="the signs of the key are lost: the query points along the key as it is",
            gravity="idea",
        ),
        Mistake(
            "one over the key",
            change={"1e5 * keys[0]": "1e5 / keys[0]"},
            says="that is one divided by the key's entries: the query points along the key as it is",
            gravity="idea",
        ),
        Mistake(
            "the weights",
            change={"1e5 * keys[0]": "torch.eye(len(keys))[0]"},
            says="these are the weights that you want, one for each key: asked is a query, as wide as a key",
            gravity="idea",
        ),
    ],
    "select-all": [
        Mistake("short queries", change={"1e5 * ": ""}, hint="make the queries long", gravity="part"),
        Mistake("not long enough", change={"1e5": "100"}, hint="keys that lie close together need longer queries", gravity="edge"),
        Mistake("transposed", change={"keys\n": "keys.T\n"}, hint="one query per key, each as wide as a key", gravity="idea"),
        Mistake("reverse order", change={"keys\n": "keys.flip(0)\n"}, hint="the rows are in reverse order", gravity="idea"),
        Mistake(
            "the first key only", change={"keys\n": "keys[0].expand_as(keys)\n"}, hint="every query selects the same key", gravity="idea"
        ),
        Mistake("away from the keys", change={"1e5": "-1e5"}, hint="query i should look most at key i", gravity="idea"),
        Mistake("in place", change={"return 1e5 * keys": "keys *= 1e5\n    return keys"}, hint=IN_PLACE, gravity="edge"),
        Right("one by one", change={"1e5 * keys": "torch.stack([select_first(keys.roll(-i, 0)) for i in range(len(keys))])"}),
        Right("numpy in float64", change={"1e5 * keys": "keys.double().numpy() * 1e5"}),
        Mistake(
            "the keys' axes",
            change={"1e5 * keys": "1e5 * torch.eye(len(keys), keys.shape[1])"},
            says="the queries point along the axes, not along the keys",
            gravity="idea",
        ),
        Mistake(
            "one place late",
            change={"1e5 * keys": "1e5 * keys.roll(1, 0)"},
            says="the rows are moved by one: row i must be built from key i",
            gravity="idea",
        ),
        Mistake(
            "one place early",
            change={"1e5 * keys": "1e5 * keys.roll(-1, 0)"},
            says="the rows are moved by one: row i must be built from key i",
            gravity="idea",
        ),
        Mistake(
            "for KEYS only",
            change={"1e5 * keys": "1e5 * KEYS"},
            says="the queries are built from `KEYS`, whatever keys are given: use `keys`",
            gravity="idea",
        ),
        Mistake(
            "four queries",
            change={"1e5 * keys": "1e5 * keys[:4]"},
            says="there are four queries, however many keys are given",
            gravity="idea",
        ),
        Mistake(
            "softmax of the keys",
            change={"1e5 * keys": "(1e5 * keys).softmax(0)"},
            says="softmax is applied to the queries: the look-up does that to the scores",
            gravity="idea",
        ),
        Mistake(
            "softmax of every key",
            change={"1e5 * keys": "(1e5 * keys).softmax(1)"},
            says="softmax is applied to the queries: the look-up does that to the scores",
            gravity="idea",
        ),
        Mistake(
            "the weights",
            change={"1e5 * keys": "torch.eye(len(keys))"},
            says="these are the weights that you want, one for each key: asked are queries, as wide as a key",
            gravity="idea",
        ),
        Mistake(
            "minus the mean, away",
            change={"1e5 * keys": "1e5 * (keys.mean(0) - keys)"},
            says="the queries point away from their keys",
            gravity="idea",
        ),
        Mistake(
            "one key at a time from the first",
            change={"1e5 * keys": "1e5 * keys.cumsum(0)"},
            says="the keys are added up row by row: row i needs key i alone",
            gravity="idea",
        ),
    ],
    "average-all": [
        Mistake(
            "mean of the keys", change={"torch.zeros_like(keys[0])": "keys.mean(0)"}, hint="the mean of the keys prefers", gravity="idea"
        ),
        Mistake(
            "sum of the keys",
            change={"torch.zeros_like(keys[0])": "keys.sum(0)"},
            hint="the sum of the keys is four times their mean",
            gravity="idea",
        ),
        Mistake(
            "long mean of the keys",
            change={"torch.zeros_like(keys[0])": "1e5 * keys.mean(0)"},
            hint="a long mean of the keys selects",
            gravity="idea",
        ),
        Mistake("ones", change={"zeros_like": "ones_like"}, hint="a query of ones prefers", gravity="idea"),
        Mistake(
            "the weights",
            change={"torch.zeros_like(keys[0])": "torch.full((len(keys),), 1 / len(keys))"},
            hint="not a number, and not the weights",
            gravity="idea",
        ),
        Mistake(
            "width three only",
            change={"torch.zeros_like(keys[0])": "torch.zeros(3)"},
            hint="the query has the width of the keys that are given",
            gravity="part",
        ),
        Mistake("almost zero", change={"torch.zeros_like(keys[0])": "1e-6 * keys.mean(0)"}, hint="whatever the keys?", gravity="part"),
        Mistake("in place", change={"torch.zeros_like(keys[0])": "keys.zero_()[0]"}, hint=IN_PLACE, gravity="edge"),
        Right("zero times a key", change={"torch.zeros_like(keys[0])": "0 * keys[0]"}),
        Right("a list", change={"torch.zeros_like(keys[0])": "[0] * keys.shape[1]"}),
        Right(
            "equations for equal scores",
            change={"torch.zeros_like(keys[0])": "torch.linalg.pinv(keys[1:] - keys[0]) @ torch.zeros(len(keys) - 1)"},
        ),
        Mistake(
            "quarters",
            change={"torch.zeros_like(keys[0])": "torch.full_like(keys[0], 0.25)"},
            says="the query is 1/4 in every place: that is the weight that you want, not a query that gives it",
            gravity="idea",
        ),
        Mistake(
            "scores of one",
            change={"torch.zeros_like(keys[0])": "torch.linalg.pinv(keys) @ torch.ones(len(keys))"},
            says="scores of exactly 1 cannot be reached by more keys than the query has entries: which scores can always be equal?",
            gravity="idea",
        ),
        Mistake(
            "short mean",
            change={"torch.zeros_like(keys[0])": "1e-3 * keys.mean(0)"},
            says="a short mean of the keys still prefers the keys that lie near it: the weights are only nearly equal",
            gravity="idea",
        ),
        Mistake(
            "normalised mean",
            change={"torch.zeros_like(keys[0])": "F.normalize(keys.mean(0), dim=0)"},
            says="the mean of the keys, made length one, prefers the keys that lie near it",
            gravity="idea",
        ),
        Mistake(
            "short key",
            change={"torch.zeros_like(keys[0])": "1e-3 * keys[0]"},
            says="a short key still prefers itself: the weights are only nearly equal",
            gravity="idea",
        ),
        Mistake(
            "first key",
            change={"torch.zeros_like(keys[0])": "keys[0]"},
            says="the query is the first key, and prefers it: which query has the same score with every key?",
            gravity="idea",
        ),
        Mistake(
            "negative mean",
            change={"torch.zeros_like(keys[0])": "-keys.mean(0)"},
            says="the mean with a minus prefers the keys that lie far from it",
            gravity="idea",
        ),
        Mistake(
            "infinite",
            change={"torch.zeros_like(keys[0])": "torch.full_like(keys[0], torch.inf)"},
            says="an infinite query times a key gives infinities and NaN: which query has the same score with every key?",
            gravity="idea",
        ),
    ],
    "average-two": [
        Mistake(
            "mean of the two keys",
            change={"torch.linalg.solve(differences, leads)": "keys[:2].mean(0)"},
            hint="no multiple of the keys' mean",
            gravity="idea",
        ),
        Mistake(
            "ten times their mean",
            change={"torch.linalg.solve(differences, leads)": "10 * keys[:2].mean(0)"},
            hint="no multiple of the keys' mean",
            gravity="idea",
        ),
        Mistake(
            "a long mean",
            change={"torch.linalg.solve(differences, leads)": "1e5 * keys[:2].mean(0)"},
            hint="no multiple of the keys' mean",
            gravity="idea",
        ),
        Mistake("a lead of 1e5", change={"[20.0, 20.0, 0.0]": "[1e5, 1e5, 0.0]"}, hint="a lead of 20 is plenty", gravity="part"),
        Mistake(
            "wrong way round",
            change={"[20.0, 20.0, 0.0]": "[-20.0, -20.0, 0.0]"},
            says="the leads have the wrong sign: the first two keys get the lowest scores",
            gravity="idea",
        ),
        Mistake(
            "for KEYS only", change={"keys[:3] - keys[3]": "KEYS[:3] - KEYS[3]"}, hint="build the equations from `keys`", gravity="part"
        ),
        Mistake(
            "last key without an equation",
            change={"keys[:3] - keys[3]": "keys[:3]"},
            says="the leads are asked of the keys themselves: take differences of keys, so that the last key has its place, too",
            gravity="idea",
        ),
        Mistake(
            "the weights",
            change={"torch.linalg.solve(differences, leads)": "torch.tensor([0.5, 0.5, 0.0, 0.0])"},
            hint="not the weights",
            gravity="idea",
        ),
        Mistake(
            "in place",
            change={"differences = keys[:3] - keys[3]": "keys -= keys[3].clone()\n    differences = keys[:3]"},
            hint=IN_PLACE,
            gravity="edge",
        ),
        Right(
            "other equations, float64",
            code="""
def average_first_two(keys):
    k = keys.double()
    return torch.linalg.solve(torch.stack([k[0] - k[1], k[0] - k[2], k[1] - k[3]]), torch.tensor([0.0, 15.0, 25.0]).double())
""",
        ),
        Right(
            "numpy",
            code="""
import numpy as np

def average_first_two(keys):
    k = keys.numpy().astype(float)
    return np.linalg.lstsq(k - k.mean(0), np.array([8.0, 8.0, -8.0, -8.0]), rcond=None)[0]
""",
        ),
        Right(
            "a list, a larger lead",
            change={"[20.0, 20.0, 0.0]": "[100.0, 100.0, 0.0]", "solve(differences, leads)": "solve(differences, leads).tolist()"},
        ),
        Mistake(
            "transposed",
            change={"torch.linalg.solve(differences, leads)": "torch.linalg.solve(differences.T, leads)"},
            says="the system is transposed: each row holds one difference of keys, and there is one equation per row",
            gravity="idea",
        ),
        Mistake(
            "multiplied, not solved",
            change={"torch.linalg.solve(differences, leads)": "differences @ leads"},
            says="the differences are multiplied by the leads: solve the equations for q",
            gravity="idea",
        ),
        Mistake(
            "multiplied from the left",
            change={"torch.linalg.solve(differences, leads)": "leads @ differences"},
            says="the differences are added up, as often as the leads say: solve the equations for q",
            gravity="idea",
        ),
        Mistake(
            "differences the wrong way round",
            change={"differences = keys[:3] - keys[3]": "differences = keys[3] - keys[:3]"},
            says="the leads have the wrong sign: the first two keys get the lowest scores",
            gravity="idea",
        ),
        Mistake(
            "three equal",
            change={"[20.0, 20.0, 0.0]": "[20.0, 20.0, 20.0]"},
            says="the third key leads as well: three keys share the weight",
            gravity="idea",
        ),
        Mistake(
            "second and third",
            change={"[20.0, 20.0, 0.0]": "[0.0, 20.0, 20.0]"},
            says="the leads are given to the second and the third key: they belong to the first two",
            gravity="idea",
        ),
        Mistake(
            "only the first",
            change={"[20.0, 20.0, 0.0]": "[20.0, 0.0, 0.0]"},
            says="only the first key has a lead: the second must have the same one",
            gravity="idea",
        ),
        Mistake(
            "unequal leads",
            change={"[20.0, 20.0, 0.0]": "[20.0, 10.0, 0.0]"},
            says="the leads of the first two keys differ: then their weights do, too",
            gravity="idea",
        ),
        Mistake(
            "halves",
            change={"[20.0, 20.0, 0.0]": "[0.5, 0.5, 0.0]"},
            says="the leads are 1/2: these are the weights that you want, not the scores that give them. A lead of 20 is plenty",
            gravity="part",
        ),
        Mistake(
            "a lead of five",
            change={"[20.0, 20.0, 0.0]": "[5.0, 5.0, 0.0]"},
            says="a lead of 5 leaves e^-5 of the weight to the other keys: too much for 0.001",
            gravity="part",
        ),
        Mistake(
            "sum of the two",
            change={"torch.linalg.solve(differences, leads)": "1e5 * (keys[0] + keys[1])"},
            says="the query points along the sum of the two keys: no multiple of it gives both the same score",
            gravity="idea",
        ),
        Mistake(
            "sum of the two directions",
            change={"torch.linalg.solve(differences, leads)": "20 * (F.normalize(keys[0], dim=0) + F.normalize(keys[1], dim=0))"},
            says="the query points between the two keys, and the others are not looked at: solve the equations for q",
            gravity="idea",
        ),
    ],
    "query-for": [
        Mistake(
            "no logarithm",
            change={"target[1:].log() - target[0].log()": "target[1:] - target[0]"},
            hint="the right-hand sides are differences of weights",
            gravity="idea",
        ),
        Mistake(
            "sign",
            change={"target[1:].log() - target[0].log()": "target[0].log() - target[1:].log()"},
            hint="large targets get small weights",
            gravity="idea",
        ),
        Mistake("first logarithm forgotten", change={" - target[0].log()": ""}, hint="log w_0 is missing", gravity="idea"),
        Mistake(
            "keys, not differences",
            change={"keys[1:] - keys[0]": "keys", "target[1:].log() - target[0].log()": "target.log()"},
            hint="use differences of keys, not the keys themselves",
            gravity="idea",
        ),
        Mistake(
            "square solver",
            change={"pinv(differences) @ leads": "solve(differences, leads)"},
            says="a square solver needs as many equations as unknowns: with fewer, use the pseudo-inverse or least squares",
            gravity="part",
        ),
        Mistake("a column", change={"@ leads": "@ leads[:, None]"}, hint="the query is one vector with the width of a key", gravity="idea"),
        Mistake(
            "float32 on the way",
            change={"pinv(differences) @ leads": "pinv(differences.float()) @ leads.float()"},
            hint="digits are lost",
            gravity="edge",
        ),
        Mistake(
            "in place",
            change={"differences = keys[1:] - keys[0]": "keys -= keys[0].clone()\n    differences = keys[1:]"},
            hint=IN_PLACE,
            gravity="edge",
        ),
        Right(
            "least squares",
            change={"torch.linalg.pinv(differences) @ leads": "torch.linalg.lstsq(differences, leads[:, None]).solution[:, 0]"},
        ),
        Right(
            "the constant as one more unknown",
            code="""
def query_for(target, keys):
    return (torch.linalg.pinv(torch.cat([keys, -torch.ones_like(keys[:, :1])], 1)) @ target.log())[:-1]
""",
        ),
        Right(
            "differences of neighbours",
            change={"keys[1:] - keys[0]": "keys.diff(dim=0)", "target[1:].log() - target[0].log()": "target.log().diff()"},
        ),
        Right(
            "numpy",
            code="""
import numpy as np

def query_for(target, keys):
    t, k = target.numpy(), keys.numpy()
    return np.linalg.lstsq(k[:-1] - k[-1], np.log(t[:-1] / t[-1]), rcond=None)[0]
""",
        ),
        Mistake(
            "logarithm to base 10",
            change={"target[1:].log() - target[0].log()": "target[1:].log10() - target[0].log10()"},
            says="the logarithm has the base 10: softmax is made of powers of e",
            gravity="idea",
        ),
        Mistake(
            "logarithm to base 2",
            change={"target[1:].log() - target[0].log()": "target[1:].log2() - target[0].log2()"},
            says="the logarithm has the base 2: softmax is made of powers of e",
            gravity="idea",
        ),
        Mistake(
            "multiplied, not solved",
            change={"torch.linalg.pinv(differences) @ leads": "differences.T @ leads"},
            says="the equations are not solved: the transpose is no inverse",
            gravity="idea",
        ),
        Mistake(
            "mixture of keys",
            change={"torch.linalg.pinv(differences) @ leads": "target @ keys"},
            says="that is the mixture of the keys with the target's weights: solve the equations for q",
            gravity="idea",
        ),
        Mistake(
            "mixture by logarithms",
            change={"torch.linalg.pinv(differences) @ leads": "target.log() @ keys"},
            says="the keys are mixed with the logarithms of the weights: solve the equations for q",
            gravity="idea",
        ),
        Mistake(
            "differences of neighbours on one side",
            change={"keys[1:] - keys[0]": "keys[1:] - keys[:-1]"},
            says="on one side neighbours are subtracted, on the other the first: subtract the same equation on both sides",
            gravity="idea",
        ),
        Mistake(
            "neighbours on the right only",
            change={"target[1:].log() - target[0].log()": "target.log().diff()"},
            says="on one side neighbours are subtracted, on the other the first: subtract the same equation on both sides",
            gravity="idea",
        ),
        Mistake(
            "keys the wrong way round",
            change={"keys[1:] - keys[0]": "keys[0] - keys[1:]"},
            says="the keys are subtracted the other way round than the logarithms: large targets get small weights",
            gravity="idea",
        ),
        Mistake(
            "ridge",
            change={
                "torch.linalg.pinv(differences) @ leads": "torch.linalg.solve(differences.T @ differences + 0.01 * torch.eye(keys.shape[1], dtype=keys.dtype), differences.T @ leads)"
            },
            says="something is added to the matrix before it is solved: then the equations hold only roughly",
            gravity="idea",
        ),
        Mistake(
            "quotients without a logarithm",
            change={"target[1:].log() - target[0].log()": "target[1:] / target[0]"},
            says="the right-hand sides are quotients of weights: take their logarithm",
            gravity="idea",
        ),
        Mistake(
            "exp, not log",
            change={"target[1:].log() - target[0].log()": "target[1:].exp() - target[0].exp()"},
            says="exp is applied to the target: softmax is undone by the logarithm",
            gravity="idea",
        ),
        Mistake(
            "softmax of the target",
            change={"target[1:].log() - target[0].log()": "target.softmax(0)[1:].log() - target.softmax(0)[0].log()"},
            says="softmax is applied to the target before the logarithm: it is a distribution already",
            gravity="idea",
        ),
        Mistake(
            "first key subtracted from itself only",
            change={"keys[1:] - keys[0]": "keys[1:]"},
            says="the keys are not subtracted, but the logarithms are: subtract the same equation on both sides",
            gravity="idea",
        ),
        Mistake(
            "the last as reference on the right",
            change={"target[1:].log() - target[0].log()": "target[1:].log() - target[-1].log()"},
            says="on the right the last logarithm is subtracted, on the left the first key: subtract the same equation on both sides",
            gravity="idea",
        ),
        Mistake(
            "length one",
            change={"return torch.linalg.pinv(differences) @ leads": "return F.normalize(torch.linalg.pinv(differences) @ leads, dim=0)"},
            says="the query is made length one: its length is part of the solution",
            gravity="idea",
        ),
    ],
    "reachable": [
        Mistake(
            "positive is enough",
            change={"torch.allclose(differences @ best, leads, atol=1e-4)": "True"},
            hint="the middle score lies between the outer two",
            gravity="idea",
        ),
        Mistake(
            "counts the keys",
            change={"torch.allclose(differences @ best, leads, atol=1e-4)": "len(keys) <= keys.shape[1] + 1"},
            hint="the middle score lies between the outer two",
            gravity="idea",
        ),
        Mistake(
            "rank of the keys",
            change={"torch.allclose(differences @ best, leads, atol=1e-4)": "bool(torch.linalg.matrix_rank(differences) == len(keys) - 1)"},
            hint="test the equations, not only the rank",
            gravity="idea",
        ),
        Mistake(
            "no tolerance",
            change={"torch.allclose(differences @ best, leads, atol=1e-4)": "bool((differences @ best == leads).all())"},
            hint="Allow for rounding",
            gravity="idea",
        ),
        Mistake(
            "generous tolerance",
            change={"torch.allclose(differences @ best, leads, atol=1e-4)": "torch.allclose((keys @ best).softmax(0), target, atol=0.05)"},
            hint="your tolerance is too generous",
            gravity="edge",
        ),
        Mistake(
            "zero replaced by a little",
            change={"if (target <= 0).any():\n        return False": "target = target + 1e-9"},
            hint="a weight of exactly zero needs a score of minus infinity",
            gravity="part",
        ),
        Mistake(
            "keys, not differences",
            change={"keys[1:] - keys[0]": "keys", "target[1:].log() - target[0].log()": "target.log()"},
            hint="use the equations of 3.3, differences on both sides",
            gravity="idea",
        ),
        Mistake(
            "the query, not a bool",
            change={"return torch.allclose(differences @ best, leads, atol=1e-4)": "return best"},
            hint="return one bool",
            gravity="idea",
        ),
        Mistake(
            "in place",
            change={"differences = keys[1:] - keys[0]": "keys -= keys[0].clone()\n    differences = keys[1:]"},
            hint=IN_PLACE,
            gravity="edge",
        ),
        Mistake("a tolerance of two percent", change={"atol=1e-4": "atol=2e-2"}, hint="your tolerance is too generous", gravity="edge"),
        Right(
            "compares the weights",
            change={
                "torch.linalg.pinv(differences) @ leads": "query_for(target, keys)",
                "differences @ best, leads": "(keys @ best).softmax(0), target",
            },
        ),
        Right(
            "rank with the right-hand side",
            change={
                "torch.allclose(differences @ best, leads, atol=1e-4)": "bool(torch.linalg.matrix_rank(differences, rtol=1e-4) == torch.linalg.matrix_rank(torch.cat([differences, leads[:, None]], 1), rtol=1e-4))"
            },
        ),
        Right("no case for zeros: infinities never match", change={"if (target <= 0).any():\n        return False": ""}),
        Right(
            "a tensor of one bool",
            change={"torch.allclose(differences @ best, leads, atol=1e-4)": "(differences @ best - leads).norm() < 1e-3"},
        ),
        Mistake(
            "one equation is enough",
            change={"torch.allclose(differences @ best, leads, atol=1e-4)": "bool(((differences @ best - leads).abs() < 1e-4).any())"},
            says="one equation that holds is enough here: every single one must hold",
            gravity="idea",
        ),
        Mistake(
            "mean error",
            change={"torch.allclose(differences @ best, leads, atol=1e-4)": "bool((differences @ best - leads).mean().abs() < 1e-4)"},
            says="the errors are averaged before they are compared, so they cancel out: every single equation must hold",
            gravity="idea",
        ),
        Mistake(
            "errors without their size",
            change={"torch.allclose(differences @ best, leads, atol=1e-4)": "bool((differences @ best - leads < 1e-4).all())"},
            says="errors below zero count as none: compare their size",
            gravity="idea",
        ),
        Mistake(
            "keys, not differences, on one side",
            change={"keys[1:] - keys[0]": "keys[1:]"},
            says="the keys are not subtracted, but the logarithms are: subtract the same equation on both sides",
            gravity="idea",
        ),
        Mistake(
            "no logarithm",
            change={"target[1:].log() - target[0].log()": "target[1:] - target[0]"},
            says="the right-hand sides are differences of weights: softmax is undone by the logarithm",
            gravity="idea",
        ),
        Mistake(
            "never",
            change={"torch.allclose(differences @ best, leads, atol=1e-4)": "False"},
            says="the answer is always False",
            gravity="idea",
        ),
        Mistake(
            "a word",
            change={
                "torch.allclose(differences @ best, leads, atol=1e-4)": '"yes" if torch.allclose(differences @ best, leads, atol=1e-4) else "no"'
            },
            says="the result is a word: return True or False",
            gravity="idea",
        ),
        Mistake(
            "only as many keys as the width",
            change={"torch.allclose(differences @ best, leads, atol=1e-4)": "len(keys) <= keys.shape[1]"},
            says="the keys are counted: whether the equations have a solution depends on the target, too",
            gravity="idea",
        ),
        Mistake(
            "unreachable and reachable exchanged",
            change={
                "torch.allclose(differences @ best, leads, atol=1e-4)": "not torch.allclose(differences @ best, leads, atol=1e-4)",
                "return False": "return True",
            },
            says="True and False are exchanged: True means that the target is reachable",
            gravity="idea",
        ),
        Mistake(
            "one key is never enough",
            change={"    differences": "    if len(keys) < 2:\n        return False\n    differences"},
            says="a single key is called out of reach: it always has the weight one",
            gravity="edge",
        ),
        Mistake(
            "only the first equation",
            change={"torch.allclose(differences @ best, leads, atol=1e-4)": "bool((differences @ best - leads)[:1].abs().sum() < 1e-4)"},
            says="only the first equation is looked at: every single one must hold",
            gravity="idea",
        ),
        Mistake(
            "only the last equation",
            change={"torch.allclose(differences @ best, leads, atol=1e-4)": "bool((differences @ best - leads)[-1:].abs().sum() < 1e-4)"},
            says="only the last equation is looked at: every single one must hold",
            gravity="idea",
        ),
    ],
    "score-variance": [
        Mistake(
            "σ²",
            change={"sigma**4": "sigma**2"},
            says="σ is a standard deviation: the variance of one entry is σ², and a product has two factors",
            gravity="idea",
        ),
        Mistake(
            "standard deviation",
            change={"d * sigma**4": "d**0.5 * sigma**2"},
            says="that is the standard deviation; the variance was asked for",
            gravity="idea",
        ),
        Mistake(
            "one product",
            change={"d * sigma**4": "sigma**4"},
            says="that is the variance of one product, without the sum over d",
            gravity="idea",
        ),
        Mistake(
            "d²",
            change={"d * sigma**4": "d**2 * sigma**4"},
            says="d stands there squared: variances of independent terms add up, and there are d of them",
            gravity="idea",
        ),
        Mistake(
            "σ",
            change={"sigma**4": "sigma"},
            says="the power of σ is wrong: each of the two factors brings its variance, σ²",
            gravity="idea",
        ),
        Mistake(
            "measured",
            change={"d * sigma**4": "(sigma * torch.randn(2, 1000, d)).prod(0).sum(-1).var()"},
            hint="derive it, do not measure it",
            gravity="idea",
        ),
        Right("a sum", change={"d * sigma**4": "sum((sigma**2) ** 2 for _ in range(d))"}),
        Right("a float32 tensor", change={"d * sigma**4": "torch.full((d,), sigma).pow(4).sum()"}),
        Mistake(
            "twice",
            change={"d * sigma**4": "2 * d * sigma**2"},
            says="the variances of the two factors are added: the variance of a product with mean 0 is their product",
            gravity="idea",
        ),
        Mistake(
            "divided by d",
            change={"d * sigma**4": "sigma**4 / d"},
            says="you divide by d, as for a mean: the score is a sum of d terms",
            gravity="idea",
        ),
        Mistake(
            "d only", change={"d * sigma**4": "d"}, says="σ is not used: each of the two factors brings its variance, σ²", gravity="idea"
        ),
        Mistake(
            "d minus one",
            change={"d * sigma**4": "(d - 1) * sigma**4"},
            says="you count d − 1 terms; the score is a sum of d",
            gravity="idea",
        ),
        Mistake(
            "d squared, σ squared",
            change={"d * sigma**4": "d**2 * sigma**2"},
            says="d stands there squared: variances of independent terms add up, and there are d of them",
            gravity="idea",
        ),
        Mistake(
            "root of d",
            change={"d * sigma**4": "d**0.5 * sigma**4"},
            says="the root of d belongs to the standard deviation; the variance grows with d",
            gravity="idea",
        ),
        Mistake(
            "σ to the eighth",
            change={"d * sigma**4": "d * sigma**8"},
            says="the power of σ is wrong: each of the two factors brings its variance, σ²",
            gravity="idea",
        ),
        Mistake(
            "σ cubed",
            change={"d * sigma**4": "d * sigma**3"},
            says="the power of σ is wrong: each of the two factors brings its variance, σ²",
            gravity="idea",
        ),
        Mistake(
            "d times σ, squared",
            change={"d * sigma**4": "(d * sigma**2) ** 2"},
            says="d stands there squared: variances of independent terms add up, and there are d of them",
            gravity="idea",
        ),
    ],
    "weights": [
        Mistake(
            "softmax over the queries",
            change={"softmax(dim=-1)": "softmax(dim=0)"},
            says="softmax runs over the queries: it must run over the keys, the last axis",
            gravity="idea",
        ),
        Mistake(
            "scale by d", change={"q.shape[-1] ** 0.5": "q.shape[-1]"}, says="you divide by d; divide by its square root", gravity="idea"
        ),
        Mistake(
            "scale by the number of keys",
            change={"q.shape[-1] ** 0.5": "k.shape[0] ** 0.5"},
            says="you divide by the root of the number of keys: use the width of a key",
            gravity="idea",
        ),
        Mistake("no scale", change={" / q.shape[-1] ** 0.5": ""}, says="the scores are not scaled", gravity="idea"),
        Mistake(
            "scale by the number of queries",
            change={"q.shape[-1] ** 0.5": "q.shape[0] ** 0.5"},
            says="you divide by the root of the number of queries: use the width of a key",
            gravity="idea",
        ),
        Mistake(
            "scale after softmax",
            change={" / q.shape[-1] ** 0.5": "", "softmax(dim=-1)": "softmax(dim=-1) / q.shape[-1] ** 0.5"},
            says="you scale after softmax: then the rows no longer sum to one",
            gravity="idea",
        ),
        Mistake(
            "multiplied",
            change={" / q.shape[-1] ** 0.5": " * q.shape[-1] ** 0.5"},
            says="you multiply by the root of the width; divide by it",
            gravity="idea",
        ),
        Mistake(
            "scaled in place",
            change={"scores = q @ k.mT / q.shape[-1] ** 0.5": "q /= q.shape[-1] ** 0.5\n    scores = q @ k.mT"},
            hint=IN_PLACE,
            gravity="part",
        ),
        Mistake(
            "exp without the maximum",
            change={"return scores.softmax(dim=-1)": "e = scores.exp()\n    return e / e.sum(-1, keepdim=True)"},
            hint="large scores overflow",
            gravity="edge",
        ),
        Mistake("float32 on the way", change={"q @ k.mT": "q.float() @ k.float().mT"}, hint="digits are lost", gravity="edge"),
        Mistake("cut from the graph", change={"softmax(dim=-1)": "softmax(dim=-1).detach()"}, hint="do not flow at all", gravity="part"),
        Mistake(
            "scores cut off",
            change={"return scores.softmax": "return scores.clamp(max=30).softmax"},
            hint="scores of 120 and 120 + log 3 give 1 : 3",
            gravity="edge",
        ),
        Right(
            "explicit loop with exp",
            code="""
def weights(q, k):
    rows = []
    for query in q:
        scores = torch.stack([(query * key).sum() / math.sqrt(len(query)) for key in k])
        e = torch.exp(scores - scores.max())
        rows.append(e / e.sum())
    return torch.stack(rows)
""",
        ),
        Right("einsum", change={"q @ k.mT": 'torch.einsum("nd,md->nm", q, k)'}),
        Right(
            "both sides share the root",
            change={"q @ k.mT / q.shape[-1] ** 0.5": "(q / q.shape[-1] ** 0.25) @ (k / k.shape[-1] ** 0.25).mT"},
        ),
        Mistake(
            "a logarithm",
            change={"q.shape[-1] ** 0.5": "math.log(q.shape[-1])"},
            says="you divide by the logarithm of the width: use its square root",
            gravity="idea",
        ),
        Mistake(
            "always four",
            change={"q.shape[-1] ** 0.5": "4"},
            says="you divide by 4, whatever the width is: use the root of a key's width",
            gravity="idea",
        ),
        Mistake(
            "rounded root",
            change={"q.shape[-1] ** 0.5": "int(q.shape[-1] ** 0.5)"},
            says="the root of the width is rounded: divide by the exact one",
            gravity="idea",
        ),
        Mistake(
            "length of the query",
            change={"q.shape[-1] ** 0.5": "q.norm(dim=-1, keepdim=True)"},
            says="you divide by the length of the query: use the square root of its width",
            gravity="idea",
        ),
        Mistake(
            "both lengths",
            change={"scores = q @ k.mT / q.shape[-1] ** 0.5": "scores = F.normalize(q, dim=1) @ F.normalize(k, dim=1).mT"},
            says="the vectors are normalised: the scores are inner products, divided by the root of the width",
            gravity="idea",
        ),
        Mistake(
            "spread of the scores",
            change={"q.shape[-1] ** 0.5": "(q @ k.mT).std()"},
            says="you divide by the standard deviation of these scores: use the square root of the width",
            gravity="idea",
        ),
        Mistake(
            "fourth root",
            change={"q.shape[-1] ** 0.5": "q.shape[-1] ** 0.25"},
            says="you divide by the fourth root of the width: use the square root",
            gravity="idea",
        ),
        Mistake(
            "only one side, quarter power of both",
            change={"q @ k.mT / q.shape[-1] ** 0.5": "(q / q.shape[-1] ** 0.5) @ (k / k.shape[-1] ** 0.5).mT"},
            says="you divide by d; divide by its square root",
            gravity="idea",
        ),
        Mistake(
            "no softmax",
            change={"scores.softmax(dim=-1)": "scores"},
            says="these are the scaled scores: turn them into weights with a softmax",
            gravity="idea",
        ),
        Mistake(
            "twice the root",
            change={"q.shape[-1] ** 0.5": "(2 * q.shape[-1]) ** 0.5"},
            says="you divide by the root of twice the width",
            gravity="idea",
        ),
        Mistake(
            "softmax twice",
            change={"scores.softmax(dim=-1)": "scores.softmax(dim=-1).softmax(dim=-1)"},
            says="softmax is applied twice: the weights go through it once more",
            gravity="idea",
        ),
        Mistake(
            "softmin",
            change={"scores.softmax(dim=-1)": "(-scores).softmax(dim=-1)"},
            says="the scores have the wrong sign: the better a key matches, the smaller is its weight",
            gravity="idea",
        ),
        Mistake(
            "one softmax for all pairs",
            change={"scores.softmax(dim=-1)": "scores.flatten().softmax(0).view_as(scores)"},
            says="one softmax runs over all pairs at once: every query needs its own distribution",
            gravity="idea",
        ),
        Mistake(
            "scaled weights, normalised",
            change={
                "return scores.softmax(dim=-1)": "w = (q @ k.mT).softmax(dim=-1) / q.shape[-1] ** 0.5\n    return w / w.sum(-1, keepdim=True)"
            },
            says="the scores are not scaled",
            gravity="idea",
        ),
        Mistake(
            "a sigmoid",
            change={"scores.softmax(dim=-1)": "torch.sigmoid(scores)"},
            says="each weight is a sigmoid of its own score: with softmax the weights of a row share one sum",
            gravity="idea",
        ),
    ],
    "softmax-jacobian": [
        Mistake(
            "diagonal only",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.diag(p * (1 - p))"},
            says="only the diagonal is there: s_j changes every p_i, through the sum Z",
            gravity="idea",
        ),
        Mistake(
            "sign flipped",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.outer(p, p) - torch.diag(p)"},
            says="the sign is flipped",
            gravity="idea",
        ),
        Mistake(
            "float32 on the way",
            change={
                "return torch.diag(p) - torch.outer(p, p)": "q = p.float()\n    return (torch.diag(q) - torch.outer(q, q)).to(p.dtype)"
            },
            hint="digits are lost",
            gravity="edge",
        ),
        Mistake(
            "plus",
            change={"torch.diag(p) - ": "torch.diag(p) + "},
            says="the sign of the product p_i p_j is wrong: Z is in the denominator",
            gravity="idea",
        ),
        Mistake(
            "p on the diagonal",
            change={"torch.diag(p) - ": "torch.diag(p + p * p) - "},
            says="the diagonal is p_i: subtract p_i p_j there, too",
            gravity="idea",
        ),
        Mistake(
            "denominator forgotten",
            change={" - torch.outer(p, p)": ""},
            says="only p_i on the diagonal is there: differentiate the sum Z in the denominator, too",
            gravity="idea",
        ),
        Mistake(
            "numerator forgotten",
            change={"torch.diag(p) - ": "-"},
            says="only the part that comes from the sum Z is there: for i = j the numerator changes, too",
            gravity="idea",
        ),
        Mistake(
            "a vector",
            change={"torch.diag(p) - torch.outer(p, p)": "p * (1 - p)"},
            says="that is the diagonal only, as a vector: the result is a matrix, with a row for every p_i and a column for every s_j",
            gravity="idea",
        ),
        Mistake(
            "derivative at p",
            change={"torch.diag(p)": "p = p.softmax(0)\n    return torch.diag(p)", "return p =": "p ="},
            says="p is treated as the scores, but it is already the result of the softmax",
            gravity="idea",
        ),
        Mistake(
            "of the logarithm",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.eye(len(p)) - p"},
            says="that is the derivative of log p_i: multiply row i by p_i",
            gravity="idea",
        ),
        Mistake("in place", change={"return": "p -= p.mean()\n    p += 1 / len(p) + 1e-3\n    return"}, hint=IN_PLACE, gravity="idea"),
        Right("broadcast", change={"torch.diag(p) - torch.outer(p, p)": "p[:, None] * (torch.eye(len(p)) - p)"}),
        Right(
            "autograd at log p",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.autograd.functional.jacobian(lambda s: s.softmax(0), p.log())"},
        ),
        Right(
            "two loops",
            code="""
def softmax_jacobian(p):
    p = p.tolist()
    return [[p[i] * (1 - p[i]) if i == j else -p[i] * p[j] for j in range(len(p))] for i in range(len(p))]
""",
        ),
        Mistake(
            "identity on the diagonal",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.eye(len(p), dtype=p.dtype) - torch.outer(p, p)"},
            says="the first term is 1 on the diagonal: for i = j the derivative of the numerator, divided by Z, is p_i",
            gravity="idea",
        ),
        Mistake(
            "as for a sigmoid",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.outer(p, 1 - p)"},
            says="every entry is p_i (1 − p_j): that holds for i = j only; the others are −p_i p_j",
            gravity="idea",
        ),
        Mistake(
            "as for a sigmoid, columns",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.outer(1 - p, p)"},
            says="every entry is p_j (1 − p_i): that holds for i = j only; the others are −p_i p_j",
            gravity="idea",
        ),
        Mistake(
            "p_i squared",
            change={"torch.diag(p) - torch.outer(p, p)": "p[:, None] * (torch.eye(len(p), dtype=p.dtype) - p[:, None])"},
            says="off the diagonal stands −p_i², the same in the whole row: which probability comes from the derivative with respect to s_j?",
            gravity="idea",
        ),
        Mistake(
            "p_j squared",
            change={"torch.diag(p) - torch.outer(p, p)": "p * (torch.eye(len(p), dtype=p.dtype) - p)"},
            says="off the diagonal stands −p_j², the same in the whole column: the factor p_i is missing",
            gravity="idea",
        ),
        Mistake(
            "squared product",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.diag(p) - torch.outer(p, p) ** 2"},
            says="the product p_i p_j is squared",
            gravity="idea",
        ),
        Mistake(
            "positive off the diagonal",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.diag(p - 2 * p * p) + torch.outer(p, p)"},
            says="off the diagonal the sign is wrong: a larger s_j makes Z larger and p_i smaller",
            gravity="idea",
        ),
        Mistake(
            "p_j only",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.diag(p) - p.expand(len(p), -1)"},
            says="the second term is −p_j: the factor p_i is missing",
            gravity="idea",
        ),
        Mistake(
            "p_i only",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.diag(p) - p[:, None].expand(-1, len(p))"},
            says="the second term is −p_i: the factor p_j is missing",
            gravity="idea",
        ),
        Mistake(
            "a number",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.diag(p) - p @ p"},
            says="the second term is one number, the inner product of p with itself: it is the outer product, p_i p_j",
            gravity="idea",
        ),
        Mistake(
            "outer product left as zero on the diagonal",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.diag(p) - torch.outer(p, p) + torch.diag(p * p)"},
            says="the diagonal is p_i: subtract p_i p_j there, too",
            gravity="idea",
        ),
        Mistake(
            "p times one minus p twice",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.diag(p * (1 - p)) - torch.outer(p, p)"},
            says="on the diagonal p_i² is subtracted twice",
            gravity="idea",
        ),
        Mistake(
            "half",
            change={"torch.diag(p) - torch.outer(p, p)": "0.5 * (torch.diag(p) - torch.outer(p, p))"},
            says="every entry is half of the derivative",
            gravity="idea",
        ),
        Mistake(
            "1 - p on the diagonal",
            change={"torch.diag(p) - torch.outer(p, p)": "torch.diag(1 - p) - torch.outer(p, p)"},
            says="the first term is 1 − p on the diagonal: the derivative of the numerator, divided by Z, is p_i",
            gravity="idea",
        ),
    ],
    "masked-softmax": [
        Mistake(
            "mask after softmax",
            code="""
def masked_softmax(scores, mask):
    return scores.softmax(-1) * mask
""",
            says="you set weights to 0 after the softmax: the forbidden scores are still in the denominator",
            gravity="idea",
        ),
        Mistake(
            "polarity",
            code="""
def masked_softmax(scores, mask):
    return scores.masked_fill(mask, -torch.inf).softmax(-1).nan_to_num()
""",
            says="the mask is read the wrong way round: True means that looking is allowed",
            gravity="idea",
        ),
        Mistake(
            "forbidden scores are zero",
            code="""
def masked_softmax(scores, mask):
    return (scores * mask).softmax(-1)
""",
            says="a forbidden score of 0 is not hidden: e^0 = 1. It must be minus infinity",
            gravity="idea",
        ),
        Mistake(
            "softmax over the queries",
            code="""
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-2).nan_to_num()
""",
            says="softmax runs over the queries: it must run over the keys, the last axis",
            gravity="idea",
        ),
        Mistake(
            "NaN in dark rows",
            code="""
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)
""",
            hint="not NaN, and not an even spread",
            gravity="part",
        ),
        Mistake(
            "a mask value of -1e9",
            code="""
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1)
""",
            says="very low but allowed scores lose against your mask value: only −inf is below every score",
            gravity="part",
        ),
        Mistake(
            "a mask value of -1e9, then zeros",
            code="""
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1) * mask
""",
            says="very low but allowed scores are lost: your mask value lies above them, or exp underflows",
            gravity="edge",
        ),
        Mistake(
            "renormalised afterwards",
            code="""
def masked_softmax(scores, mask):
    w = scores.softmax(-1) * mask
    return w / w.sum(-1, keepdim=True).clamp(min=1e-9)
""",
            hint="a very large forbidden score is still felt",
            gravity="edge",
        ),
        Mistake(
            "NaN in the gradient",
            code="""
def masked_softmax(scores, mask):
    return (scores + torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)).softmax(-1).nan_to_num()
""",
            hint="the gradient is NaN",
            gravity="part",
        ),
        Mistake("in place", change={"hidden = scores.masked_fill(": "hidden = scores.masked_fill_("}, hint=IN_PLACE, gravity="part"),
        Mistake(
            "for matrices only",
            code="""
def masked_softmax(scores, mask):
    rows = [s.masked_fill(~m, -torch.inf).softmax(-1).nan_to_num() for s, m in zip(scores, mask.expand(scores.shape[0], scores.shape[-1]))]
    return torch.stack(rows)
""",
            says="this works for matrices and whole masks only: with batch axes, and with a mask that must be broadcast, it does not",
            gravity="part",
        ),
        Right(
            "the lowest finite number, then zeros",
            code="""
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask
""",
        ),
        Right(
            "NaN replaced, where masked_fill stops its gradient",
            code="""
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num()
""",
        ),
        Right(
            "exp and sum",
            code="""
def masked_softmax(scores, mask):
    low = torch.finfo(scores.dtype).min
    top = torch.where(mask, scores, low).amax(-1, keepdim=True)
    e = torch.where(mask, scores - top, -torch.inf).exp()
    return e / e.sum(-1, keepdim=True).clamp(min=1e-9)
""",
        ),
        Mistake(
            "scores of zero, removed later",
            code="""
def masked_softmax(scores, mask):
    return (scores * mask).softmax(-1) * mask
""",
            says="a forbidden score of 0 still counts in the denominator, even if its weight is removed later",
            gravity="idea",
        ),
        Mistake(
            "mask added",
            code="""
def masked_softmax(scores, mask):
    return (scores + mask).softmax(-1)
""",
            says="the mask is added to the scores as a number, 1 or 0: a forbidden score must become minus infinity",
            gravity="idea",
        ),
        Mistake(
            "whole columns",
            code="""
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask.any(-2, keepdim=True), -torch.inf).softmax(-1).nan_to_num()
""",
            says="a key is hidden from all queries or from none: every row of the mask has its own say",
            gravity="idea",
        ),
        Mistake(
            "only the first row of the mask",
            code="""
def masked_softmax(scores, mask):
    first = mask[..., :1, :] if mask.dim() > 1 else mask
    return scores.masked_fill(~first, -torch.inf).softmax(-1).nan_to_num()
""",
            says="the first row of the mask is used for all rows",
            gravity="idea",
        ),
        Mistake(
            "allowed scores in one row",
            code="""
def masked_softmax(scores, mask):
    return scores[mask].softmax(0)
""",
            says="the allowed scores of all rows are put into one softmax: every row has its own",
            gravity="idea",
        ),
        Mistake(
            "allowed scores in one softmax",
            code="""
def masked_softmax(scores, mask):
    out = torch.zeros_like(scores)
    keep = mask.expand(scores.shape)
    out[keep] = scores[keep].softmax(0)
    return out
""",
            says="the allowed scores of all rows are put into one softmax: every row has its own",
            gravity="idea",
        ),
        Mistake(
            "minus one",
            code="""
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -1.0).softmax(-1)
""",
            says="a forbidden score of -1 is not hidden: e^-1 is still something. It must be minus infinity",
            gravity="idea",
        ),
        Mistake(
            "fill after, not renormalised",
            code="""
def masked_softmax(scores, mask):
    w = scores.softmax(-1).masked_fill(~mask, -torch.inf)
    return w
""",
            says="minus infinity is put into the weights, after the softmax: it belongs into the scores, before it",
            gravity="idea",
        ),
        Mistake(
            "softmax over the wrong axis, masked after",
            code="""
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-2).nan_to_num().masked_fill(~mask, 0.0)
""",
            says="softmax runs over the queries: it must run over the keys, the last axis",
            gravity="idea",
        ),
        Mistake(
            "plus infinity",
            code="""
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, torch.inf).softmax(-1).nan_to_num()
""",
            says="forbidden scores become plus infinity: they must become minus infinity",
            gravity="idea",
        ),
        Mistake(
            "times infinity",
            code="""
def masked_softmax(scores, mask):
    return (scores * torch.where(mask, 1.0, torch.inf)).softmax(-1).nan_to_num()
""",
            says="forbidden scores are multiplied by infinity: they keep their sign, and must become minus infinity",
            gravity="idea",
        ),
        Mistake(
            "even spread in dark rows",
            code="""
def masked_softmax(scores, mask):
    hidden = scores.masked_fill(~mask, -torch.inf)
    return hidden.masked_fill(~mask.any(-1, keepdim=True), 0.0).softmax(-1)
""",
            says="a row that may look at nothing spreads its attention evenly: it must be all zeros",
            gravity="part",
        ),
        Mistake(
            "zeros only if all is dark",
            code="""
def masked_softmax(scores, mask):
    if not mask.any():
        return torch.zeros_like(scores)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)
""",
            says="a row that may look at nothing is NaN, unless the whole mask is False: look at every row by itself",
            gravity="part",
        ),
        Mistake(
            "mask ignored",
            code="""
def masked_softmax(scores, mask):
    return scores.softmax(-1)
""",
            says="the mask is not used",
            gravity="idea",
        ),
        Mistake(
            "log of the mask",
            code="""
def masked_softmax(scores, mask):
    return (scores + mask.float().log()).softmax(-1)
""",
            says="a row that may look at nothing is NaN: it must be all zeros",
            gravity="part",
        ),
        Mistake(
            "NaN in dark rows, no more",
            code="""
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)
""",
            says="a row that may look at nothing is NaN: it must be all zeros",
            gravity="part",
        ),
        Mistake(
            "dark columns",
            code="""
def masked_softmax(scores, mask):
    hidden = scores.masked_fill(~mask, -torch.inf)
    nothing = ~mask.any(dim=-2, keepdim=True) if mask.dim() > 1 else ~mask
    return hidden.masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(~mask, 0.0)
""",
            says="the keys that nobody sees are given the score 0, in place of the queries that see nothing: they then count in the denominator",
            gravity="idea",
        ),
    ],
    "masks": [
        Mistake(
            "a row is hidden",
            code=CAUSAL
            + PADDING
            + """
def hide_position(T, j):
    return (torch.arange(T) != j)[:, None].expand(T, T)
""",
            hint="this hides every key from one query",
            gravity="idea",
        ),
        Mistake("hide_position: polarity", change={"!= j": "== j"}, hint="hide_position: the mask is the wrong way round", gravity="idea"),
        Mistake(
            "one entry is hidden",
            code=CAUSAL
            + PADDING
            + """
def hide_position(T, j):
    mask = torch.ones(T, T, dtype=torch.bool)
    mask[j, j] = False
    return mask
""",
            hint="hide_position: one key is hidden from every query",
            gravity="idea",
        ),
        Mistake(
            "hides the wrong key in longer sequences", change={"!= j": "!= min(j, 1)"}, hint="exactly column j is hidden", gravity="part"
        ),
        Mistake("blind to itself", change={".tril()": ".tril(-1)"}, hint="a query must see itself", gravity="idea"),
        Mistake("sees the future", change={".tril()": ".triu()"}, hint="this one sees the future and not the past", gravity="idea"),
        Mistake(
            "causal_mask: polarity", change={".tril()": ".triu(1)"}, hint="causal_mask: the mask is the wrong way round", gravity="idea"
        ),
        Mistake("one ahead", change={".tril()": ".tril(1)"}, hint="sees one position ahead", gravity="idea"),
        Mistake(
            "numbers, not booleans",
            change={"torch.ones(T, T, dtype=torch.bool)": "torch.ones(T, T)"},
            hint="masks are boolean tensors",
            gravity="edge",
        ),
        Mistake("one key too many", change={"< lengths": "<= lengths"}, hint="one key too many is seen", gravity="idea"),
        Mistake(
            "padding_mask: polarity",
            change={"< lengths": ">= lengths"},
            hint="padding_mask: the mask is the wrong way round",
            gravity="idea",
        ),
        Mistake("filler in front", change={"< lengths": ">= T - lengths"}, hint="the filler is at the end", gravity="idea"),
        Mistake(
            "no axis for the queries",
            change={"lengths[:, None, None]": "lengths[:, None]"},
            hint="an axis of size one for the queries",
            gravity="idea",
        ),
        Right("comparisons", code=HIDE + CAUSAL + PADDING),
        Right(
            "loops",
            code="""
def hide_position(T, j):
    return [[key != j for key in range(T)] for query in range(T)]

def causal_mask(T):
    return torch.tensor([[key <= query for key in range(T)] for query in range(T)])

def padding_mask(lengths, T):
    mask = torch.zeros(len(lengths), 1, T, dtype=torch.bool)
    for row, length in enumerate(lengths):
        mask[row, 0, :length] = True
    return mask
""",
        ),
        Right(
            "numpy",
            code="""
import numpy as np

def hide_position(T, j):
    mask = np.ones((T, T), dtype=bool)
    mask[:, j] = False
    return mask

def causal_mask(T):
    return np.tril(np.ones((T, T), dtype=bool))

def padding_mask(lengths, T):
    return np.arange(T) < lengths.numpy()[:, None, None]
""",
        ),
        Mistake(
            "row and column are hidden",
            code=CAUSAL
            + PADDING
            + """
def hide_position(T, j):
    m = torch.ones(T, T, dtype=torch.bool)
    m[j] = m[:, j] = False
    return m
""",
            says="hide_position: a row is hidden as well: only column j is False, one key for every query",
            gravity="idea",
        ),
        Mistake(
            "counted from 1",
            code=CAUSAL
            + PADDING
            + """
def hide_position(T, j):
    return (torch.arange(1, T + 1) != j).expand(T, T)
""",
            says="hide_position: positions are counted from 1 here; they are counted from 0",
            gravity="idea",
        ),
        Mistake(
            "one row",
            code=CAUSAL
            + PADDING
            + """
def hide_position(T, j):
    return torch.arange(T) != j
""",
            says="hide_position: this is one row for all queries; a (T, T) mask was asked for",
            gravity="idea",
        ),
        Mistake(
            "all from j on",
            code=CAUSAL
            + PADDING
            + """
def hide_position(T, j):
    return (torch.arange(T) < j).expand(T, T)
""",
            says="hide_position: everything from position j on is hidden: only j itself is",
            gravity="idea",
        ),
        Mistake(
            "all after j",
            code=CAUSAL
            + PADDING
            + """
def hide_position(T, j):
    return (torch.arange(T) <= j).expand(T, T)
""",
            says="hide_position: what comes after position j is hidden: only j itself is",
            gravity="idea",
        ),
        Mistake(
            "nothing hidden",
            code=CAUSAL
            + PADDING
            + """
def hide_position(T, j):
    return torch.ones(T, T, dtype=torch.bool)
""",
            says="hide_position: nothing is hidden",
            gravity="idea",
        ),
        Mistake(
            "hidden from others only",
            code=CAUSAL
            + PADDING
            + """
def hide_position(T, j):
    return (torch.arange(T) != j) | torch.eye(T, dtype=torch.bool)
""",
            says="hide_position: position j still sees itself: nobody may look at it",
            gravity="idea",
        ),
        Mistake(
            "always the middle",
            code=CAUSAL
            + PADDING
            + """
def hide_position(T, j):
    return (torch.arange(T) != T // 2).expand(T, T)
""",
            says="hide_position: the middle position is hidden, whatever j is",
            gravity="part",
        ),
        Mistake(
            "all True",
            code=HIDE
            + PADDING
            + """
def causal_mask(T):
    return torch.ones(T, T, dtype=torch.bool)
""",
            says="causal_mask: nothing is hidden: what comes later must be",
            gravity="idea",
        ),
        Mistake(
            "two back",
            code=HIDE
            + PADDING
            + """
def causal_mask(T):
    gap = torch.arange(T)[:, None] - torch.arange(T)
    return (gap >= 0) & (gap < 3)
""",
            says="causal_mask: a query sees only the last few keys: it sees all from 0 to t",
            gravity="part",
        ),
        Mistake(
            "always three",
            code=HIDE
            + PADDING
            + """
def causal_mask(T):
    return torch.ones(3, 3, dtype=torch.bool).tril()
""",
            says="causal_mask: the mask has three rows and columns, whatever T is",
            gravity="part",
        ),
        Mistake(
            "itself only",
            code=HIDE
            + PADDING
            + """
def causal_mask(T):
    return torch.eye(T, dtype=torch.bool)
""",
            says="causal_mask: a query sees itself only: it sees all that came before, too",
            gravity="idea",
        ),
        Mistake(
            "the one before only",
            code=HIDE
            + PADDING
            + """
def causal_mask(T):
    gap = torch.arange(T)[:, None] - torch.arange(T)
    return (gap >= 0) & (gap < 2)
""",
            says="causal_mask: a query sees itself and one key before: it sees all from 0 to t",
            gravity="idea",
        ),
        Mistake(
            "minus infinity",
            code=HIDE
            + PADDING
            + """
def causal_mask(T):
    return torch.full((T, T), -torch.inf).triu(1)
""",
            says="causal_mask: this is what is added to the scores, 0 and minus infinity: the mask is boolean, True where looking is allowed",
            gravity="idea",
        ),
        Mistake(
            "square",
            code=HIDE
            + CAUSAL
            + """
def padding_mask(lengths, T):
    real = torch.arange(T) < lengths[:, None]
    return real[:, None, :] & real[:, :, None]
""",
            says="padding_mask: the mask is (B, T, T): give it an axis of size one for the queries",
            gravity="idea",
        ),
        Mistake(
            "as long as the longest",
            code=HIDE
            + CAUSAL
            + """
def padding_mask(lengths, T):
    return torch.arange(int(lengths.max())) < lengths[:, None, None]
""",
            says="padding_mask: the last axis is as long as the longest sequence: it has T entries",
            gravity="idea",
        ),
        Mistake(
            "last real key only",
            code=HIDE
            + CAUSAL
            + """
def padding_mask(lengths, T):
    return torch.arange(T) == lengths[:, None, None] - 1
""",
            says="padding_mask: only the last real key of each sequence is True: all of them are",
            gravity="idea",
        ),
        Mistake(
            "axis in front",
            code=HIDE
            + CAUSAL
            + """
def padding_mask(lengths, T):
    return (torch.arange(T) < lengths[:, None])[None]
""",
            says="padding_mask: the axis of size one stands in front: it belongs between the sequences and the keys",
            gravity="idea",
        ),
        Mistake(
            "axis at the end",
            code=HIDE
            + CAUSAL
            + """
def padding_mask(lengths, T):
    return (torch.arange(T) < lengths[:, None])[..., None]
""",
            says="padding_mask: the axis of size one stands at the end: it belongs between the sequences and the keys",
            gravity="idea",
        ),
        Mistake(
            "one key too few",
            code=HIDE
            + CAUSAL
            + """
def padding_mask(lengths, T):
    return torch.arange(T) < lengths[:, None, None] - 1
""",
            says="padding_mask: one key too few is seen: keys 0 to length − 1 are real",
            gravity="idea",
        ),
        Mistake(
            "the first sequence for all",
            code=HIDE
            + CAUSAL
            + """
def padding_mask(lengths, T):
    return (torch.arange(T) < lengths[0]).expand(len(lengths), 1, T)
""",
            says="padding_mask: the first sequence's length is used for all",
            gravity="idea",
        ),
        Mistake(
            "position of the first filler",
            code=HIDE
            + CAUSAL
            + """
def padding_mask(lengths, T):
    return torch.arange(T) != lengths[:, None, None]
""",
            says="padding_mask: only the first filler is hidden: all of the filler is",
            gravity="idea",
        ),
    ],
    "attention": [
        Mistake(
            "no scale", change={" / q.shape[-1] ** 0.5": ""}, says="the scores are not scaled by the root of the width", gravity="idea"
        ),
        Mistake("scale by d", change={"q.shape[-1] ** 0.5": "q.shape[-1]"}, says="you divide by the width, not its root", gravity="idea"),
        Mistake(
            "scale by the number of keys",
            change={"q.shape[-1] ** 0.5": "k.shape[-2] ** 0.5"},
            says="you divide by the root of the number of keys",
            gravity="idea",
        ),
        Mistake(
            "scale by the number of queries",
            change={"q.shape[-1] ** 0.5": "q.shape[-2] ** 0.5"},
            says="you divide by the root of the number of queries",
            gravity="idea",
        ),
        Mistake(
            "scale by the values' width",
            change={"q.shape[-1] ** 0.5": "v.shape[-1] ** 0.5"},
            says="you divide by the root of the values' width: use the keys' width",
            gravity="idea",
        ),
        Mistake(
            "softmax over the queries",
            change={"softmax(dim=-1)": "softmax(dim=-2)"},
            says="softmax runs over the queries: it must run over the keys, the last axis",
            gravity="idea",
        ),
        Mistake(
            "softmax over a batch axis",
            change={"softmax(dim=-1)": "softmax(dim=1)"},
            says="softmax runs over a batch axis: with batch axes in front, count from the end (dim=-1)",
            gravity="part",
        ),
        Mistake(
            "mask ignored", change={" if mask is None else masked_softmax(scores, mask)": ""}, hint="the mask is not used", gravity="part"
        ),
        Mistake(
            "mask after softmax",
            change={"masked_softmax(scores, mask)": "scores.softmax(-1) * mask"},
            says="the weights are set to 0 after the softmax: mask the scores before it",
            gravity="part",
        ),
        Mistake(
            "polarity",
            change={"masked_softmax(scores, mask)": "masked_softmax(scores, ~mask)"},
            says="the mask is read the wrong way round: True means that looking is allowed",
            gravity="part",
        ),
        Mistake(
            "renormalised afterwards",
            change={"masked_softmax(scores, mask)": "F.normalize(scores.softmax(-1) * mask, p=1, dim=-1)"},
            hint="a very large forbidden score is still felt",
            gravity="edge",
        ),
        Mistake(
            "NaN in dark rows",
            change={"masked_softmax(scores, mask)": "scores.masked_fill(~mask, -torch.inf).softmax(-1)"},
            says="a query that may see nothing returns NaN: it must return zeros",
            gravity="part",
        ),
        Mistake(
            "every axis transposed",
            change={"k.mT": "k.permute(*reversed(range(k.dim())))"},
            hint="transpose the last two axes of k only",
            gravity="part",
        ),
        Mistake(
            "truth value of a mask",
            change={"if mask is None": "if not mask"},
            hint="a tensor of several entries has no truth value",
            gravity="part",
        ),
        Mistake(
            "scaled in place",
            change={"scores = q @ k.mT / q.shape[-1] ** 0.5": "q /= q.shape[-1] ** 0.5\n    scores = q @ k.mT"},
            hint=IN_PLACE,
            gravity="part",
        ),
        Mistake(
            "torch's own",
            code="""
def attention(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=None if mask is None else mask.expand(*q.shape[:-1], k.shape[-2]))
""",
            hint="write attention yourself",
            gravity="idea",
        ),
        Mistake(
            "float32 on the way",
            change={"return w @ v": "return w.float() @ v.float()"},
            hint="with float64 input digits are lost",
            gravity="edge",
        ),
        Right(
            "einsum, and a mask of ones",
            code="""
def attention(q, k, v, mask=None):
    scores = torch.einsum("...nd,...md->...nm", q, k) / math.sqrt(k.shape[-1])
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    return torch.einsum("...nm,...me->...ne", masked_softmax(scores, mask), v)
""",
        ),
        Right(
            "on its own",
            code="""
def attention(q, k, v, mask=None):
    scores = (q.size(-1) ** -0.5 * q) @ k.transpose(-2, -1)
    if mask is None:
        return torch.softmax(scores, -1) @ v
    return (scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask) @ v
""",
        ),
        Mistake(
            "mask before the scale",
            change={"masked_softmax(scores, mask)": "masked_softmax(q @ k.mT, mask)"},
            says="with a mask the scores are not scaled",
            gravity="part",
        ),
        Mistake(
            "forbidden scores are zero",
            change={"masked_softmax(scores, mask)": "(scores * mask).softmax(-1)"},
            says="a forbidden score becomes 0, which is not hidden: e^0 = 1",
            gravity="part",
        ),
        Mistake(
            "a mask value of -1e9",
            change={"masked_softmax(scores, mask)": "scores.masked_fill(~mask, -1e9).softmax(-1)"},
            says="a query that may see nothing looks at everything alike: it must return zeros",
            gravity="part",
        ),
        Mistake(
            "even spread in dark rows",
            change={
                "masked_softmax(scores, mask)": "scores.masked_fill(~mask, -torch.inf).masked_fill(~mask.any(-1, keepdim=True), 0.0).softmax(-1)"
            },
            says="a query that may see nothing looks at everything alike: it must return zeros",
            gravity="part",
        ),
        Mistake(
            "mask transposed",
            change={
                "masked_softmax(scores, mask)": "masked_softmax(scores, mask.mT if mask.dim() > 1 and mask.shape[-1] == mask.shape[-2] else mask)"
            },
            says="the mask is transposed: its rows are queries, its columns keys",
            gravity="part",
        ),
        Mistake(
            "mask of the first batch entry",
            change={"masked_softmax(scores, mask)": "masked_softmax(scores, mask[0] if mask.dim() > 2 else mask)"},
            says="the mask of the first sequence is used for the whole batch",
            gravity="part",
        ),
        Mistake(
            "a dark mask is no mask",
            change={"mask is None": "mask is None or not mask.any()"},
            says="a mask without any True is ignored: it hides everything",
            gravity="part",
        ),
        Mistake(
            "values in reverse",
            change={"w @ v": "w @ v.flip(-2)"},
            says="the values are mixed in reverse order: weight j belongs to value j",
            gravity="idea",
        ),
        Mistake(
            "scale by the first axis",
            change={"q.shape[-1] ** 0.5": "q.shape[0] ** 0.5"},
            says="you divide by the root of the first axis: use the width, the last one",
            gravity="idea",
        ),
        Mistake(
            "scale by axis 1",
            change={"q.shape[-1] ** 0.5": "q.shape[1] ** 0.5"},
            says="you divide by the root of axis 1: with batch axes in front the width is the last one, axis -1",
            gravity="part",
        ),
        Mistake(
            "scaled after softmax",
            change={"q @ k.mT / q.shape[-1] ** 0.5": "q @ k.mT", "return w @ v": "return w @ v / q.shape[-1] ** 0.5"},
            says="you scale after the softmax; the scores are divided by the root of the width before it",
            gravity="idea",
        ),
        Mistake(
            "multiplied",
            change={"/ q.shape[-1] ** 0.5": "* q.shape[-1] ** 0.5"},
            says="you multiply by the root of the width; divide by it",
            gravity="idea",
        ),
        Mistake(
            "scaled twice",
            change={"return w @ v": "return w @ v", "/ q.shape[-1] ** 0.5": "/ q.shape[-1] ** 0.5 / q.shape[-1] ** 0.5"},
            says="you divide by the width, not its root",
            gravity="idea",
        ),
        Mistake(
            "softmax twice",
            change={"return w @ v": "return w.softmax(-1) @ v"},
            says="softmax is applied twice: the weights go through it once more",
            gravity="idea",
        ),
        Mistake("mixes the keys", change={"w @ v": "w @ k"}, says="you mix the keys; the output mixes the values", gravity="idea"),
        Mistake("the weights", change={"return w @ v": "return w"}, says="these are the weights: mix the values with them", gravity="idea"),
        Mistake(
            "scores for weights",
            change={"scores.softmax(dim=-1)": "scores"},
            says="without a mask the scores themselves multiply the values: they must become weights first",
            gravity="idea",
        ),
        Mistake(
            "first batch entry for all",
            change={"return w @ v": "return w[:1] @ v"},
            says="the weights of the first batch entry are used for all",
            gravity="idea",
        ),
        Mistake(
            "values cut from the graph",
            change={"w @ v": "w @ v.detach()"},
            says="the values are cut from the graph: no gradient reaches them",
            gravity="part",
        ),
        Mistake(
            "weights cut from the graph",
            change={"w @ v": "w.detach() @ v"},
            says="the weights are cut from the graph: no gradient reaches the queries and the keys",
            gravity="part",
        ),
        Mistake(
            "always causal",
            change={
                "scores.softmax(dim=-1) if mask is None else masked_softmax(scores, mask)": "masked_softmax(scores, torch.ones(scores.shape[-2:], dtype=torch.bool).tril() & (True if mask is None else mask))"
            },
            says="the output is causal even without a mask: the mask decides what is hidden",
            gravity="idea",
        ),
        Mistake(
            "output divided by the number of keys",
            change={"return w @ v": "return w @ v / k.shape[-2]"},
            says="the output is divided by the number of keys: the weights sum to one already",
            gravity="idea",
        ),
        Mistake(
            "the best key only",
            change={"return w @ v": "return F.one_hot(w.argmax(-1), w.shape[-1]).to(v.dtype) @ v"},
            says="only the best key counts: every value has its share",
            gravity="idea",
        ),
        Mistake(
            "mask added",
            change={"masked_softmax(scores, mask)": "(scores + mask).softmax(-1)"},
            says="the mask is added to the scores as a number, 1 or 0: a forbidden score must become minus infinity",
            gravity="part",
        ),
        Mistake(
            "mask subtracted the wrong way round",
            change={"masked_softmax(scores, mask)": "(scores + mask * -1e9).softmax(-1)"},
            says="what may be seen is pushed down, and what is forbidden stays: True means that looking is allowed",
            gravity="part",
        ),
    ],
    "self-attention": [
        Mistake(
            "transposed weights",
            change={"@ Wq": "@ Wq.T", "@ Wk": "@ Wk.T", "@ Wv": "@ Wv.T"},
            says="the projections are transposed: x is multiplied by W from the right, without a transpose",
            gravity="idea",
        ),
        Mistake(
            "queries and keys exchanged",
            change={"x @ Wq, x @ Wk": "x @ Wk, x @ Wq"},
            says="the roles of W_q and W_k are exchanged",
            gravity="idea",
        ),
        Mistake("values not projected", change={"x @ Wv": "x"}, says="the values are not projected", gravity="idea"),
        Mistake(
            "values from W_k",
            change={"x @ Wv": "x @ Wk"},
            says="the values are projected with W_k; they have their own W_v",
            gravity="idea",
        ),
        Mistake("queries not projected", change={"x @ Wq": "x"}, says="the queries are not projected", gravity="idea"),
        Mistake("no scale", change={"attention(x @": "lookup(x @"}, says="the scores are not scaled", gravity="idea"),
        Mistake(
            "scaled twice",
            change={"x @ Wq,": "x @ Wq / x.shape[1] ** 0.5,"},
            says="the scores are scaled twice: `attention` does it already",
            gravity="idea",
        ),
        Mistake(
            "scale by the length",
            code="""
def self_attention(x, Wq, Wk, Wv):
    return ((x @ Wq) @ (x @ Wk).T / len(x) ** 0.5).softmax(-1) @ x @ Wv
""",
            says="you divide by the root of the sequence length: use the width",
            gravity="idea",
        ),
        Mistake(
            "softmax over the queries",
            code="""
def self_attention(x, Wq, Wk, Wv):
    return ((x @ Wq) @ (x @ Wk).T / x.shape[1] ** 0.5).softmax(0) @ x @ Wv
""",
            says="softmax runs over the queries: it must run over the keys, the last axis",
            gravity="idea",
        ),
        Mistake(
            "causal",
            change={"x @ Wv)": "x @ Wv, causal_mask(len(x)))"},
            says="the output is causal; here every position sees the whole sequence",
            gravity="idea",
        ),
        Mistake(
            "weights from the left",
            change={"x @ Wq": "Wq @ x.T", "x @ Wk": "Wk @ x.T", "x @ Wv": "Wv @ x.T"},
            hint="x is multiplied by the weights from the right, x @ W",
            gravity="idea",
        ),
        Right(
            "weights folded",
            change={"attention(x @ Wq, x @ Wk, x @ Wv)": "(x @ (Wq @ Wk.T) @ x.T / x.shape[1] ** 0.5).softmax(-1) @ (x @ Wv)"},
        ),
        Right(
            "position by position",
            change={"attention(x @ Wq, x @ Wk, x @ Wv)": "torch.stack([weights((r @ Wq)[None], x @ Wk)[0] @ (x @ Wv) for r in x])"},
        ),
        Mistake(
            "in NumPy",
            code="""
import numpy as np

def self_attention(x, Wq, Wk, Wv):
    x, a, b, c = (t.detach().double().numpy() for t in (x, Wq, Wk, Wv))
    e = np.exp(x @ a @ (x @ b).T / np.sqrt(x.shape[1]))
    return e / e.sum(1, keepdims=True) @ (x @ c)
""",
            hint=NO_TORCH,
            gravity="part",
        ),
        Mistake("keys not projected", change={"x @ Wk": "x"}, says="the keys are not projected", gravity="idea"),
        Mistake(
            "nothing projected",
            change={"attention(x @ Wq, x @ Wk, x @ Wv)": "attention(x, x, x)"},
            says="nothing is projected: use W_q, W_k and W_v",
            gravity="idea",
        ),
        Mistake(
            "keys and values exchanged",
            change={"attention(x @ Wq, x @ Wk, x @ Wv)": "attention(x @ Wq, x @ Wv, x @ Wk)"},
            says="the roles of W_k and W_v are exchanged",
            gravity="idea",
        ),
        Mistake(
            "queries and values exchanged",
            change={"attention(x @ Wq, x @ Wk, x @ Wv)": "attention(x @ Wv, x @ Wk, x @ Wq)"},
            says="the roles of W_q and W_v are exchanged",
            gravity="idea",
        ),
        Mistake(
            "keys from W_q", change={"x @ Wk": "x @ Wq"}, says="the keys are projected with W_q; they have their own W_k", gravity="idea"
        ),
        Mistake(
            "queries from W_k",
            change={"x @ Wq": "x @ Wk"},
            says="the queries are projected with W_k; they have their own W_q",
            gravity="idea",
        ),
        Mistake(
            "one projection for all",
            change={"attention(x @ Wq, x @ Wk, x @ Wv)": "attention(x @ Wq, x @ Wq, x @ Wq)"},
            says="W_q is used for all three: keys and values have their own projections",
            gravity="idea",
        ),
        Mistake(
            "residual",
            change={"attention(x @ Wq, x @ Wk, x @ Wv)": "x + attention(x @ Wq, x @ Wk, x @ Wv)"},
            says="x is added to the output: there is no residual connection here",
            gravity="idea",
        ),
        Mistake(
            "only values projected",
            change={"attention(x @ Wq, x @ Wk, x @ Wv)": "attention(x, x, x @ Wv)"},
            says="only the values are projected: queries and keys have their own projections",
            gravity="idea",
        ),
        Mistake(
            "projected twice",
            change={"return attention(x @ Wq, x @ Wk, x @ Wv)": "return attention(x @ Wq, x @ Wk, x @ Wv) @ Wv"},
            says="the values are projected twice",
            gravity="idea",
        ),
        Mistake(
            "x cut from the graph",
            change={"attention(x @ Wq, x @ Wk, x @ Wv)": "attention(x.detach() @ Wq, x.detach() @ Wk, x @ Wv)"},
            says="x is cut from the graph on the way to queries and keys: its gradient is wrong",
            gravity="part",
        ),
        Mistake(
            "mean over the sequence",
            change={
                "return attention(x @ Wq, x @ Wk, x @ Wv)": "return attention(x @ Wq, x @ Wk, x @ Wv).mean(0, keepdim=True).expand_as(x)"
            },
            says="every position gets the mean of all outputs",
            gravity="idea",
        ),
    ],
    "cost": [
        Mistake(
            "multiplications only",
            change={"6 * n * h**2 + 4 * n**2 * h": "3 * n * h**2 + 2 * n**2 * h"},
            says="multiplications and additions both count: a factor of two is missing",
            gravity="idea",
        ),
        Mistake("one projection", change={"6 * n": "2 * n"}, says="only one of the three projections is counted", gravity="idea"),
        Mistake("output projection", change={"6 * n": "8 * n"}, says="the output projection is not part of this function", gravity="idea"),
        Mistake("no weighted sum", change={"4 * n**2": "2 * n**2"}, says="the weighted sum of the values is missing", gravity="idea"),
        Mistake(
            "n and h exchanged",
            change={"6 * n * h**2 + 4 * n**2 * h": "6 * n**2 * h + 4 * n * h**2"},
            says="n and h are exchanged: a projection is n × h times h × h",
            gravity="idea",
        ),
        Mistake(
            "order of growth",
            change={"6 * n * h**2 + 4 * n**2 * h": "n * h**2 + n**2 * h"},
            says="that is the order of growth; the exact number of operations was asked for",
            gravity="idea",
        ),
        Mistake("no projections", change={"6 * n * h**2 + ": ""}, says="the projections are missing", gravity="idea"),
        Mistake("crossover at h", change={"1.5 * h": "h"}, hint="count the products on both sides", gravity="idea"),
        Mistake("crossover upside down", change={"1.5 * h": "2 * h / 3"}, hint="the ratio is upside down", gravity="idea"),
        Mistake(
            "crossover against the scores alone",
            change={"1.5 * h": "3 * h"},
            hint="the scores and the weighted sum both count",
            gravity="idea",
        ),
        Mistake("crossover rounded", change={"1.5 * h": "3 * h // 2"}, hint="do not round it", gravity="edge"),
        Right(
            "product by product",
            change={
                "6 * n * h**2 + 4 * n**2 * h": "sum(2 * a * b * c for a, b, c in 3 * [(n, h, h)] + [(n, h, n), (n, n, h)])",
                "1.5 * h": "3 * h / 2",
            },
        ),
        Right(
            "tensors",
            change={"6 * n * h**2 + 4 * n**2 * h": "torch.tensor(2.0 * n * h) * (3 * h + 2 * n)", "1.5 * h": "torch.tensor(6.0) * h / 4"},
        ),
        Mistake(
            "projections only",
            code="""
def matmul_operations(n, h):
    return 6 * n * h**2

def crossover(h):
    return 1.5 * h
""",
            says="the scores and the weighted sum are missing",
            gravity="idea",
        ),
        Mistake(
            "one addition less",
            code="""
def matmul_operations(n, h):
    return 3 * n * h * (2 * h - 1) + n * n * (2 * h - 1) + n * h * (2 * n - 1)

def crossover(h):
    return 1.5 * h
""",
            says="a sum of b terms has b − 1 additions, but here every product counts 2abc",
            gravity="idea",
        ),
        Mistake(
            "projections with h cubed",
            code="""
def matmul_operations(n, h):
    return 6 * h**3 + 4 * n**2 * h

def crossover(h):
    return 1.5 * h
""",
            says="a projection multiplies n × h by h × h, which makes 2nh²; h³ counts n rows as if they were h",
            gravity="idea",
        ),
        Mistake(
            "weighted sum with n cubed",
            code="""
def matmul_operations(n, h):
    return 6 * n * h**2 + 2 * n**2 * h + 2 * n**3

def crossover(h):
    return 1.5 * h
""",
            says="the weighted sum multiplies n × n by n × h: that is 2n²h, not 2n³",
            gravity="idea",
        ),
        Mistake(
            "both with n cubed",
            code="""
def matmul_operations(n, h):
    return 6 * n * h**2 + 4 * n**3

def crossover(h):
    return 1.5 * h
""",
            says="scores and weighted sum are n × n times h: that is 2n²h each, not 2n³",
            gravity="idea",
        ),
        Mistake(
            "five alike",
            code="""
def matmul_operations(n, h):
    return 10 * n * h * max(n, h)

def crossover(h):
    return 1.5 * h
""",
            says="all five products are counted alike: three take 2nh², two take 2n²h",
            gravity="idea",
        ),
        Mistake(
            "five projections",
            code="""
def matmul_operations(n, h):
    return 10 * n * h**2

def crossover(h):
    return 1.5 * h
""",
            says="all five products are counted as projections: the scores and the weighted sum take 2n²h each",
            gravity="idea",
        ),
        Mistake(
            "five scores",
            code="""
def matmul_operations(n, h):
    return 10 * n**2 * h

def crossover(h):
    return 1.5 * h
""",
            says="all five products are counted as scores: a projection takes 2nh²",
            gravity="idea",
        ),
        Mistake(
            "two projections",
            code="""
def matmul_operations(n, h):
    return 4 * n * h**2 + 4 * n**2 * h

def crossover(h):
    return 1.5 * h
""",
            says="two projections are counted: there are three",
            gravity="idea",
        ),
        Mistake(
            "projections without the inner sum",
            code="""
def matmul_operations(n, h):
    return 6 * n * h + 4 * n**2 * h

def crossover(h):
    return 1.5 * h
""",
            says="a projection takes 2nh², a factor h more than you count",
            gravity="idea",
        ),
        Mistake(
            "scores without the inner sum",
            code="""
def matmul_operations(n, h):
    return 6 * n * h**2 + 4 * n**2

def crossover(h):
    return 1.5 * h
""",
            says="the scores and the weighted sum take 2n²h each, a factor h more than you count",
            gravity="idea",
        ),
        Mistake(
            "softmax counted",
            code="""
def matmul_operations(n, h):
    return 6 * n * h**2 + 4 * n**2 * h + 5 * n**2

def crossover(h):
    return 1.5 * h
""",
            says="softmax and scaling are left out of this count",
            gravity="idea",
        ),
        Mistake(
            "projections counted once",
            code="""
def matmul_operations(n, h):
    return 3 * n * h**2 + 4 * n**2 * h

def crossover(h):
    return 1.5 * h
""",
            says="the projections are counted without the factor of two: multiplications and additions both count",
            gravity="idea",
        ),
        Mistake(
            "weighted sum as one row",
            code="""
def matmul_operations(n, h):
    return 6 * n * h**2 + 2 * n**2 * h + n * h

def crossover(h):
    return 1.5 * h
""",
            says="the weighted sum is n × n times n × h: it takes 2n²h",
            gravity="idea",
        ),
        Mistake(
            "crossover with one factor only",
            code="""
def matmul_operations(n, h):
    return 6 * n * h**2 + 4 * n**2 * h

def crossover(h):
    return 6 * h
""",
            says="crossover: the root of nothing is needed, but both sides have factors: 6 n h² = 4 n² h",
            gravity="idea",
        ),
        Mistake(
            "crossover squared",
            code="""
def matmul_operations(n, h):
    return 6 * n * h**2 + 4 * n**2 * h

def crossover(h):
    return 1.5 * h**2
""",
            says="crossover: one factor h cancels on both sides, so the result is proportional to h",
            gravity="idea",
        ),
        Mistake(
            "crossover without h",
            code="""
def matmul_operations(n, h):
    return 6 * n * h**2 + 4 * n**2 * h

def crossover(h):
    return 1.5
""",
            says="crossover: the result is a number that does not depend on h: it is a multiple of h",
            gravity="idea",
        ),
        Mistake(
            "crossover for h = 2 only",
            code="""
def matmul_operations(n, h):
    return 6 * n * h**2 + 4 * n**2 * h

def crossover(h):
    return 3.0
""",
            says="crossover: the result does not depend on h: it is a multiple of h",
            gravity="idea",
        ),
        Mistake(
            "crossover at 2h",
            code="""
def matmul_operations(n, h):
    return 6 * n * h**2 + 4 * n**2 * h

def crossover(h):
    return 2 * h
""",
            says="crossover: the ratio of three products to two is 3/2, not 2",
            gravity="idea",
        ),
        Mistake(
            "crossover at h/2",
            code="""
def matmul_operations(n, h):
    return 6 * n * h**2 + 4 * n**2 * h

def crossover(h):
    return h / 2
""",
            says="crossover: you have one projection on one side, and two products on the other: there are three projections",
            gravity="idea",
        ),
        Mistake(
            "crossover rounded up",
            code="""
def matmul_operations(n, h):
    return 6 * n * h**2 + 4 * n**2 * h

def crossover(h):
    return math.ceil(1.5 * h)
""",
            says="crossover: the result is rounded; it was asked for as it is",
            gravity="edge",
        ),
        Mistake(
            "crossover with a root",
            code="""
def matmul_operations(n, h):
    return 6 * n * h**2 + 4 * n**2 * h

def crossover(h):
    return (1.5 * h) ** 0.5
""",
            says="crossover: no root is needed: one factor n cancels",
            gravity="idea",
        ),
    ],
    "cross-attention": [
        Mistake("values from x", change={"y @ Wv": "x @ Wv"}, says="the values come from x: they must come from y", gravity="idea"),
        Mistake("keys from x", change={"y @ Wk": "x @ Wk"}, says="the keys come from x: they must come from y", gravity="idea"),
        Mistake(
            "self-attention of x",
            change={"y @ W": "x @ W"},
            says="this is self-attention of x: keys and values must come from y",
            gravity="idea",
        ),
        Mistake(
            "self-attention of y",
            change={"x @ Wq": "y @ Wq"},
            says="this is self-attention of y: the queries must come from x",
            gravity="idea",
        ),
        Mistake(
            "x and y exchanged",
            change={"attention(x @ Wq, y @ Wk, y @ Wv)": "attention(y @ Wq, x @ Wk, x @ Wv)"},
            says="x and y are exchanged: x asks, y answers",
            gravity="idea",
        ),
        Mistake("values not projected", change={"y @ Wv": "y"}, says="the values are not projected with W_v", gravity="idea"),
        Mistake(
            "no scale",
            change={"attention(x @": "lookup(x @"},
            says="the scores must be scaled by the root of the projected width d",
            gravity="idea",
        ),
        Mistake(
            "scale by x's width",
            code="""
def cross_attention(x, y, Wq, Wk, Wv):
    return ((x @ Wq) @ (y @ Wk).T / x.shape[1] ** 0.5).softmax(-1) @ y @ Wv
""",
            says="scale by the root of the projected width d, not of x's own",
            gravity="idea",
        ),
        Mistake(
            "scale by d",
            code="""
def cross_attention(x, y, Wq, Wk, Wv):
    return ((x @ Wq) @ (y @ Wk).T / Wq.shape[1]).softmax(-1) @ y @ Wv
""",
            says="you divide by the width d; divide by its square root",
            gravity="idea",
        ),
        Mistake(
            "softmax over the queries",
            code="""
def cross_attention(x, y, Wq, Wk, Wv):
    return ((x @ Wq) @ (y @ Wk).T / Wq.shape[1] ** 0.5).softmax(0) @ y @ Wv
""",
            says="softmax runs over the queries: it must run over the keys, the positions of y",
            gravity="idea",
        ),
        Right(
            "weights folded",
            code="""
def cross_attention(x, y, Wq, Wk, Wv):
    return (x @ (Wq @ Wk.T) @ y.T / Wq.shape[1] ** 0.5).softmax(-1) @ (y @ Wv)
""",
        ),
        Right(
            "position by position",
            code="""
def cross_attention(x, y, Wq, Wk, Wv):
    keys, mixed = y @ Wk, []
    for row in x:
        mixed.append((keys @ (Wq.T @ row) / math.sqrt(keys.shape[1])).softmax(0) @ y @ Wv)
    return torch.stack(mixed)
""",
        ),
        Mistake(
            "scale by y's width",
            change={"attention(x @ Wq, y @ Wk, y @ Wv)": "((x @ Wq) @ (y @ Wk).T / y.shape[1] ** 0.5).softmax(1) @ (y @ Wv)"},
            says="scale by the root of the projected width d, not of y's own",
            gravity="idea",
        ),
        Mistake(
            "scale by the number of keys",
            change={"attention(x @ Wq, y @ Wk, y @ Wv)": "((x @ Wq) @ (y @ Wk).T / len(y) ** 0.5).softmax(1) @ (y @ Wv)"},
            says="scale by the root of the projected width d, not of the number of keys",
            gravity="idea",
        ),
        Mistake(
            "scale by the values' width",
            change={"attention(x @ Wq, y @ Wk, y @ Wv)": "((x @ Wq) @ (y @ Wk).T / Wv.shape[1] ** 0.5).softmax(1) @ (y @ Wv)"},
            says="scale by the root of the projected width d, not of the values' width",
            gravity="idea",
        ),
        Mistake(
            "values from W_k",
            change={"y @ Wv": "y @ Wk"},
            says="the values are projected with W_k; they have their own W_v",
            gravity="idea",
        ),
        Mistake(
            "causal",
            change={"y @ Wv)": "y @ Wv, torch.ones(len(x), len(y), dtype=torch.bool).tril())"},
            says="the output is causal: the decoder may look at the whole source",
            gravity="idea",
        ),
        Mistake(
            "residual",
            change={
                "return attention(x @ Wq, y @ Wk, y @ Wv)": "out = attention(x @ Wq, y @ Wk, y @ Wv)\n    return out + x if out.shape == x.shape else out"
            },
            says="x is added to the output: there is no residual connection here",
            gravity="idea",
        ),
        Mistake(
            "transposed where square",
            change={"x @ Wq": "x @ (Wq.T if Wq.shape[0] == Wq.shape[1] else Wq)"},
            says="W_q is transposed where it is square: x is multiplied by it from the right",
            gravity="idea",
        ),
        Mistake(
            "exchanged where they fit",
            change={
                "return attention(x @ Wq, y @ Wk, y @ Wv)": "if x.shape == y.shape:\n        x, y = y, x\n    return attention(x @ Wq, y @ Wk, y @ Wv)"
            },
            says="x and y are exchanged where they have the same size: x asks, y answers",
            gravity="idea",
        ),
        Mistake(
            "queries and keys exchanged",
            change={"attention(x @ Wq, y @ Wk, y @ Wv)": "attention(y @ Wk, x @ Wq, x[:, :1] @ Wv[:1])"},
            says="queries come from y and keys from x: x asks, y answers",
            gravity="idea",
        ),
        Mistake(
            "y cut from the graph",
            change={"attention(x @ Wq, y @ Wk, y @ Wv)": "attention(x @ Wq, y.detach() @ Wk, y.detach() @ Wv)"},
            says="y is cut from the graph: no gradient reaches it",
            gravity="part",
        ),
        Mistake(
            "mean of the source",
            change={"attention(x @ Wq, y @ Wk, y @ Wv)": "(y @ Wv).mean(0).expand(len(x), -1)"},
            says="every position gets the plain mean of the values: the weights are not used",
            gravity="idea",
        ),
    ],
    "additive": [
        Mistake("no tanh", change={"torch.tanh(": "("}, says="tanh is missing", gravity="idea"),
        Mistake(
            "tanh of each part",
            change={"torch.tanh((q @ Wq)[:, None, :] + (k @ Wk)[None, :, :])": "torch.tanh(q @ Wq)[:, None] + torch.tanh(k @ Wk)[None]"},
            says="tanh is taken of each part; it must be taken of their sum",
            gravity="idea",
        ),
        Mistake(
            "tanh of the score",
            change={"torch.tanh(": "(", "return hidden @ u": "return torch.tanh(hidden @ u)"},
            says="tanh is taken of the finished score; it belongs inside, before the product with u",
            gravity="idea",
        ),
        Mistake(
            "u inside",
            change={"torch.tanh(": "(", "return hidden @ u": "return torch.tanh(hidden * u).sum(-1)"},
            says="u is multiplied inside tanh; it belongs outside",
            gravity="idea",
        ),
        Mistake("parts multiplied", change={" + (k": " * (k"}, says="the two parts are multiplied; they must be added", gravity="idea"),
        Mistake("parts subtracted", change={" + (k": " - (k"}, says="the two parts are subtracted; they must be added", gravity="idea"),
        Mistake(
            "keys as rows",
            change={"[:, None, :]": "[None, :, :]", "[None, :, :])  #": "[:, None, :])  #"},
            hint="which axis do you insert where",
            gravity="idea",
        ),
        Mistake(
            "weights, not scores",
            change={"hidden @ u": "(hidden @ u).softmax(-1)"},
            says="these are weights; the scores were asked for, before any softmax",
            gravity="idea",
        ),
        Mistake(
            "dot products",
            change={"return hidden @ u": "return (q @ Wq) @ (k @ Wk).T"},
            says="these are dot-product scores: use the formula with tanh and u",
            gravity="idea",
        ),
        Mistake(
            "scaled",
            change={"hidden @ u": "hidden @ u / len(u) ** 0.5"},
            says="additive scores are not divided by a square root: tanh keeps them small",
            gravity="idea",
        ),
        Mistake("cut from the graph", change={"hidden @ u": "(hidden @ u).detach()"}, hint="or do not flow", gravity="part"),
        Mistake("in place", change={"hidden @ u": "hidden @ u.div_(u.norm()) * u.norm()"}, hint=IN_PLACE, gravity="idea"),
        Right(
            "two loops",
            code="""
def additive_scores(q, k, Wq, Wk, u):
    return torch.stack([torch.stack([u @ torch.tanh(Wq.T @ a + Wk.T @ b) for b in k]) for a in q])
""",
        ),
        Right("einsum", change={"return hidden @ u": 'return torch.einsum("nma,a->nm", hidden, u)'}),
        Right(
            "one product for each pair side by side",
            code="""
def additive_scores(q, k, Wq, Wk, u):
    pairs = torch.cat([q[:, None].expand(-1, len(k), -1), k[None].expand(len(q), -1, -1)], -1)
    return torch.tanh(pairs @ torch.cat([Wq, Wk])) @ u
""",
        ),
        Mistake(
            "mean over the width",
            change={"hidden @ u": "(hidden * u).mean(-1)"},
            says="the product with u is a sum over the width, not a mean",
            gravity="idea",
        ),
        Mistake("sigmoid", change={"torch.tanh(": "torch.sigmoid("}, says="a sigmoid takes the place of tanh", gravity="idea"),
        Mistake("relu", change={"torch.tanh(": "torch.relu("}, says="relu takes the place of tanh", gravity="idea"),
        Mistake("gelu", change={"torch.tanh(": "F.gelu("}, says="gelu takes the place of tanh", gravity="idea"),
        Mistake("sine", change={"torch.tanh(": "torch.sin("}, says="a sine takes the place of tanh", gravity="idea"),
        Mistake(
            "u left out",
            change={"hidden @ u": "hidden.sum(-1)"},
            says="u is not used: the score is the inner product of u with the tanh",
            gravity="idea",
        ),
        Mistake(
            "only the queries",
            change={"torch.tanh((q @ Wq)[:, None, :] + (k @ Wk)[None, :, :])": "torch.tanh((q @ Wq)[:, None, :].expand(-1, len(k), -1))"},
            says="the keys have no part in the scores",
            gravity="idea",
        ),
        Mistake(
            "only the keys",
            change={"torch.tanh((q @ Wq)[:, None, :] + (k @ Wk)[None, :, :])": "torch.tanh((k @ Wk)[None, :, :].expand(len(q), -1, -1))"},
            says="the queries have no part in the scores",
            gravity="idea",
        ),
        Mistake(
            "maximum over the width",
            change={"hidden @ u": "(hidden * u).amax(-1)"},
            says="the largest product over the width is taken: the score is their sum",
            gravity="idea",
        ),
        Mistake(
            "the mean of both parts",
            change={
                "torch.tanh((q @ Wq)[:, None, :] + (k @ Wk)[None, :, :])": "torch.tanh(((q @ Wq)[:, None, :] + (k @ Wk)[None, :, :]) / 2)"
            },
            says="the two parts are averaged; they must be added",
            gravity="idea",
        ),
        Mistake(
            "tanh twice",
            change={"return hidden @ u": "return torch.tanh(hidden @ u)"},
            says="tanh is taken twice, of the sum and of the score: only the sum goes through it",
            gravity="idea",
        ),
        Mistake("u squared", change={"hidden @ u": "hidden @ u**2"}, says="u is squared", gravity="idea"),
        Mistake(
            "u cut from the graph",
            change={"hidden @ u": "hidden @ u.detach()"},
            says="u is cut from the graph: no gradient reaches it",
            gravity="part",
        ),
        Mistake(
            "the hidden tensor",
            change={"return hidden @ u": "return hidden"},
            says="the width is not summed away: multiply by u",
            gravity="idea",
        ),
        Mistake(
            "u made a distribution",
            change={"hidden @ u": "hidden @ u.softmax(0)"},
            says="softmax is applied to u: use it as it is",
            gravity="idea",
        ),
    ],
    "multi-head": [
        Mistake(
            "view alone",
            change={"x.view(B, T, H, D // H).transpose(1, 2)": "x.view(B, H, T, D // H)"},
            says="`view` straight to (B, H, T, D/H) cuts the sequence, not the width: view to (B, T, H, D/H), then transpose",
            gravity="idea",
        ),
        Mistake(
            "every H-th column",
            change={"x.view(B, T, H, D // H).transpose(1, 2)": "x.view(B, T, D // H, H).permute(0, 3, 1, 2)"},
            says="head h takes every H-th column; it should take D/H adjacent columns",
            gravity="idea",
        ),
        Mistake(
            "head axis stays behind",
            change={"x.view(B, T, H, D // H).transpose(1, 2)": "x.view(B, T, H, D // H)"},
            hint="split_heads: the axes are batch, head, position",
            gravity="idea",
        ),
        Mistake(
            "merge without transpose",
            change={"x.transpose(1, 2).reshape(": "x.reshape("},
            says="merge_heads: `reshape` alone mixes positions and heads: bring the position axis back to its place first",
            gravity="idea",
        ),
        Mistake(
            "view after transpose",
            change={".reshape(B, T, H * width)": ".view(B, T, H * width)"},
            says="merge_heads: after the transpose the entries are no longer in one piece: use `reshape`, not `view`",
            gravity="idea",
        ),
        Mistake("no output projection", change={" @ Wo": ""}, says="the output projection W_o is missing", gravity="idea"),
        Mistake(
            "output projection transposed",
            change={" @ Wo": " @ Wo.T"},
            says="W_o is transposed: the merged heads are multiplied by it from the right",
            gravity="idea",
        ),
        Mistake(
            "mask lost",
            change={"attention(q, k, v, mask)": "attention(q, k, v)"},
            says="the mask is not used: is it passed on to `attention`?",
            gravity="part",
        ),
        Mistake(
            "scale by the whole width",
            change={"attention(q, k, v, mask)": "attention(q / H**0.5, k, v, mask)"},
            says="the scores are scaled by the root of the whole width D; each head has width D/H",
            gravity="idea",
        ),
        Mistake(
            "one wide head",
            change={"q, k, v = (split_heads(x @ W, H) for": "q, k, v = (split_heads(x @ W, 1) for"},
            says="this is one head over the whole width: is the split used?",
            gravity="idea",
        ),
        Mistake(
            "always causal",
            change={"attention(q, k, v, mask)": "attention(q, k, v, causal_mask(x.shape[1]))"},
            says="without a mask the output is causal: the mask is optional",
            gravity="idea",
        ),
        Mistake(
            "queries and keys exchanged",
            change={"q, k, v = (": "k, q, v = ("},
            says="the roles of W_q and W_k are exchanged",
            gravity="idea",
        ),
        Mistake(
            "first sequence's mask for all",
            change={"attention(q, k, v, mask)": "attention(q, k, v, mask[0] if mask is not None and mask.dim() > 2 else mask)"},
            says="one sequence's mask is used for the whole batch",
            gravity="part",
        ),
        Right(
            "chunks and concatenation",
            change={
                "x.view(B, T, H, D // H).transpose(1, 2)": "torch.stack(x.chunk(H, dim=-1), dim=1)",
                "x.transpose(1, 2).reshape(B, T, H * width)": "torch.cat(x.unbind(1), dim=-1)",
            },
        ),
        Right(
            "einsum with cut weights",
            code="""
def split_heads(x, H):
    return x.unflatten(-1, (H, -1)).movedim(2, 1)

def merge_heads(x):
    return x.permute(0, 2, 1, 3).flatten(2)

def multi_head(x, Wq, Wk, Wv, Wo, H, mask=None):
    q, k, v = (torch.einsum("btd,dhw->bhtw", x, W.unflatten(1, (H, -1))) for W in (Wq, Wk, Wv))
    return torch.einsum("bhtw,hwd->btd", attention(q, k, v, mask), Wo.unflatten(0, (H, -1)))
""",
        ),
        Mistake(
            "no scale",
            change={"attention(q, k, v, mask)": "attention(q * q.shape[-1] ** 0.5, k, v, mask)"},
            says="the scores are not scaled",
            gravity="idea",
        ),
        Mistake(
            "heads interleaved",
            change={"x.transpose(1, 2).reshape(B, T, H * width)": "x.permute(0, 2, 3, 1).reshape(B, T, H * width)"},
            says="merge_heads: the heads are interleaved; each head keeps its columns together",
            gravity="idea",
        ),
        Mistake(
            "width and heads exchanged",
            change={"x.view(B, T, H, D // H).transpose(1, 2)": "x.view(B, T, D // H, H).transpose(1, 2)"},
            says="split_heads: the width of a head and the number of heads are exchanged in `view`",
            gravity="idea",
        ),
        Mistake(
            "heads in reverse",
            change={"x.view(B, T, H, D // H).transpose(1, 2)": "x.view(B, T, H, D // H).transpose(1, 2).flip(1)"},
            says="split_heads: the heads stand in reverse order: head 0 has the first columns",
            gravity="idea",
        ),
        Mistake(
            "heads averaged",
            change={"x.transpose(1, 2).reshape(B, T, H * width)": "x.mean(1)"},
            says="merge_heads: the heads are averaged; they go side by side",
            gravity="idea",
        ),
        Mistake(
            "heads added up",
            change={"x.transpose(1, 2).reshape(B, T, H * width)": "x.sum(1)"},
            says="merge_heads: the heads are added up; they go side by side",
            gravity="idea",
        ),
        Mistake(
            "heads added up and repeated",
            change={"x.transpose(1, 2).reshape(B, T, H * width)": "x.sum(1).repeat(1, 1, H)"},
            says="merge_heads: the heads are added up; they go side by side",
            gravity="idea",
        ),
        Mistake(
            "heads one after the other",
            change={"x.transpose(1, 2).reshape(B, T, H * width)": "x.flatten(1, 2)"},
            says="merge_heads: the heads stand one after the other along the sequence; they go side by side along the width",
            gravity="idea",
        ),
        Mistake(
            "merged in reverse",
            change={"x.transpose(1, 2).reshape(B, T, H * width)": "x.flip(1).transpose(1, 2).reshape(B, T, H * width)"},
            says="merge_heads: the heads stand in reverse order: head 0 has the first columns",
            gravity="idea",
        ),
        Mistake(
            "not projected",
            change={"split_heads(x @ W, H)": "split_heads(x, H)"},
            says="multi_head: x is not projected: use W_q, W_k and W_v",
            gravity="idea",
        ),
        Mistake(
            "values not projected",
            change={"return merge_heads(attention(q, k, v, mask))": "return merge_heads(attention(q, k, split_heads(x, H), mask))"},
            says="multi_head: the values are not projected with W_v",
            gravity="idea",
        ),
        Mistake(
            "keys and values exchanged",
            change={"for W in (Wq, Wk, Wv)": "for W in (Wq, Wv, Wk)"},
            says="multi_head: the roles of W_k and W_v are exchanged",
            gravity="idea",
        ),
        Mistake(
            "residual",
            change={"@ Wo": "@ Wo + x"},
            says="multi_head: x is added to the output: there is no residual connection here",
            gravity="idea",
        ),
        Mistake(
            "projection before the merge",
            change={
                "merge_heads(attention(q, k, v, mask)) @ Wo": "merge_heads(attention(q, k, split_heads(merge_heads(v) @ Wo, H), mask))"
            },
            says="multi_head: W_o is applied to the values, before the heads attend: it comes last, after the merge",
            gravity="idea",
        ),
        Mistake(
            "weights transposed",
            change={"split_heads(x @ W, H)": "split_heads(x @ W.T, H)"},
            says="multi_head: the projections are transposed: x is multiplied by W from the right, without a transpose",
            gravity="idea",
        ),
        Mistake(
            "only masks of two axes",
            change={"attention(q, k, v, mask)": "attention(q, k, v, mask if mask is None or mask.dim() == 2 else None)"},
            says="multi_head: a mask with batch axes is not used",
            gravity="part",
        ),
        Mistake(
            "mask with one more axis",
            change={"attention(q, k, v, mask)": "attention(q, k, v, None if mask is None else mask[:, None])"},
            says="multi_head: the mask is given another axis: it is broadcastable to (B, H, T, T) as it is",
            gravity="part",
        ),
        Mistake(
            "mask upside down",
            change={"attention(q, k, v, mask)": "attention(q, k, v, None if mask is None else ~mask)"},
            says="multi_head: the mask is turned over: True means that looking is allowed",
            gravity="part",
        ),
        Mistake(
            "output projection cut from the graph",
            change={"@ Wo": "@ Wo.detach()"},
            says="multi_head: W_o is cut from the graph: no gradient reaches it",
            gravity="part",
        ),
    ],
    "bonus-blockwise": [
        Mistake(
            "the whole matrix",
            code="""
def blockwise_attention(q, k, v, block):
    return attention(q, k, v)
""",
            hint="look at one block of keys at a time",
            gravity="idea",
        ),
        Mistake(
            "query by query, all keys",
            code="""
def blockwise_attention(q, k, v, block):
    return torch.stack([(k @ row / q.shape[1] ** 0.5).softmax(0) @ v for row in q])
""",
            hint="not even one row of all scores fits",
            gravity="part",
        ),
        Mistake(
            "output not rescaled",
            change={"out = out * old +": "out = out +"},
            says="the unfinished output is not rescaled when the maximum changes",
            gravity="idea",
        ),
        Mistake(
            "sum not rescaled",
            change={"total = total * old +": "total = total +"},
            says="the sum Z is not rescaled when the maximum changes",
            gravity="idea",
        ),
        Mistake(
            "no maximum",
            change={"(scores - new_top).exp()": "scores.exp()", "(top - new_top).exp()": "torch.ones_like(top)"},
            hint="scores that keep rising overflow",
            gravity="edge",
        ),
        Mistake("maximum starts at 0", change={"-torch.inf": "0.0"}, hint="which starts at minus infinity, not at 0", gravity="edge"),
        Mistake(
            "one maximum for all queries",
            change={"scores.amax(dim=1, keepdim=True)": "scores.max()"},
            hint="every query has its own maximum",
            gravity="edge",
        ),
        Mistake("no scale", change={" / d**0.5": ""}, says="the scores are not divided by the root of the width", gravity="idea"),
        Mistake(
            "blocks averaged",
            code="""
def blockwise_attention(q, k, v, block):
    parts = [attention(q, keys, values) for keys, values in zip(k.split(block), v.split(block))]
    return sum(parts) / len(parts)
""",
            says="the blocks' results are averaged: blocks with large scores must count more",
            gravity="idea",
        ),
        Mistake(
            "short block left out",
            change={
                "v.split(block), strict=True):": "v.split(block), strict=True):\n        if len(keys) < block <= len(k):\n            break"
            },
            says="the last, short block is left out",
            gravity="idea",
        ),
        Mistake("no division", change={"out / total": "out"}, says="the division by Z at the end is missing", gravity="idea"),
        Mistake(
            "scaled in place",
            change={"n, d = q.shape": "n, d = q.shape\n    q /= d**0.5", " / d**0.5  #": "  #"},
            hint=IN_PLACE,
            gravity="edge",
        ),
        Mistake(
            "torch's own",
            code="""
def blockwise_attention(q, k, v, block):
    return F.scaled_dot_product_attention(q[None, None], k[None, None], v[None, None])[0, 0]
""",
            hint="write the blocks yourself",
            gravity="idea",
        ),
        Right(
            "two passes: maximum first",
            code="""
def blockwise_attention(q, k, v, block):
    scale = q.shape[1] ** -0.5
    top = torch.full((len(q), 1), -math.inf)
    for keys in k.split(block):
        top = torch.maximum(top, (scale * q @ keys.T).amax(1, keepdim=True))
    total, out = 0, 0
    for keys, values in zip(k.split(block), v.split(block)):
        e = (scale * q @ keys.T - top).exp()
        total, out = total + e.sum(1, keepdim=True), out + e @ values
    return out / total
""",
        ),
        Right(
            "finished blocks, weighted by their logsumexp",
            code="""
def blockwise_attention(q, k, v, block):
    level, out = torch.full((len(q), 1), -math.inf), torch.zeros(len(q), v.shape[1])
    for start in range(0, len(k), block):
        scores = q @ k[start : start + block].T / math.sqrt(q.shape[1])
        part = scores.logsumexp(1, keepdim=True)
        new = torch.logaddexp(level, part)
        out = out * (level - new).exp() + scores.softmax(1) @ v[start : start + block] * (part - new).exp()
        level = new
    return out
""",
        ),
        Right(
            "query by query, block by block",
            code="""
def blockwise_attention(q, k, v, block):
    rows = []
    for query in q:
        top, total, out = torch.tensor(-math.inf), torch.tensor(0.0), torch.zeros(v.shape[1])
        for keys, values in zip(k.split(block), v.split(block)):
            scores = keys @ query / len(query) ** 0.5
            new = torch.maximum(top, scores.max())
            e = (scores - new).exp()
            total, out, top = total * (top - new).exp() + e.sum(), out * (top - new).exp() + e @ values, new
        rows.append(out / total)
    return torch.stack(rows)
""",
        ),
        Mistake(
            "divided by the number of keys",
            change={"return out / total": "return out / len(k)"},
            says="the output is divided by the number of keys; divide by Z",
            gravity="idea",
        ),
        Mistake(
            "factor upside down",
            change={"(top - new_top).exp()": "(new_top - top).exp()"},
            says="the factor for the old sums is upside down: it is e^(μ − μ'), at most 1",
            gravity="idea",
        ),
        Mistake(
            "maximum not kept",
            change={"        top = new_top\n": ""},
            says="the new maximum is not kept: μ stays what it was before the first block",
            gravity="idea",
        ),
        Mistake(
            "Z without the old sum",
            change={"total = total * old + part.sum": "total = part.sum"},
            says="Z holds the last block only: what came before must stay in the sum",
            gravity="idea",
        ),
        Mistake(
            "output without the old one",
            change={"out = out * old + part @ values": "out = part @ values"},
            says="the output holds the last block only: what came before must stay in it",
            gravity="idea",
        ),
        Mistake(
            "every block divided by Z",
            change={"out = out * old + part @ values": "out = (out * old + part @ values) / total"},
            says="the output is divided by Z at every block: divide once, at the end",
            gravity="idea",
        ),
        Mistake("scaled by d", change={" / d**0.5": " / d"}, says="you divide by the width, not its root", gravity="idea"),
        Mistake(
            "softmax in every block, added",
            change={"part @ values": "scores.softmax(1) @ values"},
            says="every block has its own softmax: keep the exponentials, and divide once, at the end",
            gravity="idea",
        ),
        Mistake(
            "first block only",
            change={"        top = new_top\n": "        top = new_top\n        break\n"},
            says="only the first block of keys is looked at",
            gravity="idea",
        ),
    ],
}

# Mutants that `course verify --mutate` makes and that are no mistakes.
MATRIX = "of a matrix the last axis is axis 1"
LONG = "half of S selects as surely, for all keys that the text allows"
INFINITE = "the logarithm of zero is minus infinity, and no finite query gives it"
NO_GRADIENT = "the introduction lists the exercises that gradients have to flow through, and this is none of them"
EQUIVALENT = {
    "lookup-weights": {"sign: -1 → 1": MATRIX},
    "select-first": {"gradient: *": NO_GRADIENT, "number: 100000.0 → 50000.0": LONG},
    "select-all": {"gradient: *": NO_GRADIENT, "number: 100000.0 → 50000.0": LONG},
    "average-all": {
        "number: 0 → *": "any key has the width that is asked for",
        "ignored: average_all, keys is *": "the query is zero, whatever the keys are",
        "state: average_all, the first result of these shapes": "the query is zero, whatever the keys are",
        "dtype: *": "zero is the same number in every dtype",
        "gradient: *": NO_GRADIENT,
    },
    "average-two": {
        "dtype: torch.tensor(*) without dtype": "the text does not ask for other dtypes than the notebook's float32",
        "dtype: keys.dtype → torch.float32": "the text does not ask for other dtypes than the notebook's float32",
        "gradient: *": NO_GRADIENT,
    },
    "query-for": {"gradient: *": NO_GRADIENT},
    "reachable": {
        "gradient: *": NO_GRADIENT,
        "comparison: target <= 0 → target < 0": INFINITE,
        "number: 0 → -1": INFINITE,
        "left out: never *": INFINITE,
        "extreme: *": INFINITE,
        "number: 0.0001 → 5e-05": "the tolerance may be met by both sides of the equations or by the weights",
        "order: *": "with a minus on one side the solution is -q, and it exists or not all the same",
    },
    "weights": {"sign: -1 → 1*": MATRIX},
    "softmax-jacobian": {"gradient: *": NO_GRADIENT},
    "masked-softmax": {"left out: without masked_fill of hidden": "masked_fill stops the gradient that is NaN, and removes the NaN"},
    "masks": {"one row: hide_position, *": "all rows of this mask are alike"},
    "bonus-blockwise": {
        "number: True → False": "keys and values are of one length",
        "constant: blockwise_attention, block → *": "smaller blocks than allowed give the same result in less memory",
        "dtype: q.new_*": "zero and minus infinity are exact in float32, and sums with float64 are float64",
        "gradient: *": NO_GRADIENT,
    },
}
