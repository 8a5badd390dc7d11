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
    ],
    "lookup": [
        Mistake("mixes the keys", change={"@ V": "@ K"}, hint="you mix the keys; the output mixes the values", gravity="idea"),
        Mistake(
            "scaled too early",
            change={"lookup_weights(Q, K)": "lookup_weights(Q / Q.shape[1] ** 0.5, K)"},
            hint="the scores are not divided by the square root",
            gravity="idea",
        ),
        Mistake(
            "softmax over the queries",
            change={"lookup_weights(Q, K)": "(Q @ K.T).softmax(0)"},
            hint="every row of weights must sum to one over the keys",
            gravity="idea",
        ),
        Mistake(
            "scores for weights",
            change={"lookup_weights(Q, K)": "(Q @ K.T)"},
            hint="the scores themselves multiply the values",
            gravity="idea",
        ),
        Mistake(
            "softmax twice",
            change={"lookup_weights(Q, K)": "lookup_weights(Q, K).softmax(-1)"},
            hint="softmax is applied twice",
            gravity="idea",
        ),
        Mistake("hard look-up", change={"lookup_weights(Q, K) @ V": "V[(Q @ K.T).argmax(1)]"}, hint="the look-up is soft", gravity="idea"),
        Mistake(
            "transposed result",
            change={"lookup_weights(Q, K) @ V": "V.T @ lookup_weights(Q, K).T"},
            hint="one row per query, as wide as a value",
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
            "wrong way round", change={"[20.0, 20.0, 0.0]": "[-20.0, -20.0, 0.0]"}, hint="which way round are the leads", gravity="idea"
        ),
        Mistake(
            "for KEYS only", change={"keys[:3] - keys[3]": "KEYS[:3] - KEYS[3]"}, hint="build the equations from `keys`", gravity="part"
        ),
        Mistake(
            "last key without an equation",
            change={"keys[:3] - keys[3]": "keys[:3]"},
            hint="does every key have an equation",
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
            hint="it fails with fewer equations than unknowns",
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
        Mistake("d²", change={"d * sigma**4": "d**2 * sigma**4"}, hint="d of them, not d²", gravity="idea"),
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
            hint="one row per p_i, one column per s_j",
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
            hint="with batch axes and a mask that must be broadcast",
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
            hint="a query that may see nothing returns zeros, not NaN",
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
            hint="use `reshape`, not `view`",
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
    ],
}

# Mutants that `course verify --mutate` makes and that are no mistakes.
NO_GRADIENT = "the introduction lists the exercises that gradients have to flow through, and this is none of them"
EQUIVALENT = {
    "select-first": {"gradient: *": NO_GRADIENT},
    "select-all": {"gradient: *": NO_GRADIENT},
    "average-all": {
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
    "reachable": {"gradient: *": NO_GRADIENT},
    "softmax-jacobian": {"gradient: *": NO_GRADIENT},
    "masks": {"one row: hide_position, *": "all rows of this mask are alike"},
    "bonus-blockwise": {
        "constant: blockwise_attention, block → *": "smaller blocks than allowed give the same result in less memory",
        "dtype: q.new_*": "zero and minus infinity are exact in float32, and sums with float64 are float64",
        "gradient: *": NO_GRADIENT,
    },
}
