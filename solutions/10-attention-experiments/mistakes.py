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
            "as many words lost as kept",
            change={"max(0, length - limit)": "max(0, length - limit + 1)"},
            hint="2 + 6 of the 24 words lie beyond 5",
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
            hint="a sentence of exactly `limit` words fits",
            gravity="idea",
        ),
        Mistake(
            "a count",
            change={"sum(length <= limit for length in lengths) / len(lengths)": "sum(length <= limit for length in lengths)"},
            hint="this is a number of sentences",
            gravity="idea",
        ),
        Mistake(
            "share that is cut", change={"length <= limit for": "length > limit for"}, hint="this is the share that is cut", gravity="idea"
        ),
        Mistake(
            "share of words",
            change={"sum(length <= limit for length in lengths) / len(lengths)": "sum(n for n in lengths if n <= limit) / sum(lengths)"},
            hint="this counts words",
            gravity="idea",
        ),
        Mistake(
            "whole sentences are lost",
            change={"sum(max(0, length - limit) for length in lengths)": "sum(length for length in lengths if length > limit)"},
            hint="this drops whole sentences",
            gravity="idea",
        ),
        Mistake(
            "negative losses",
            change={"max(0, length - limit)": "length - limit"},
            hint="short sentences give a negative loss",
            gravity="idea",
        ),
        Mistake(
            "per sentence",
            change={"for length in lengths) / sum(lengths)": "for length in lengths) / len(lengths)"},
            hint="not of sentences",
            gravity="idea",
        ),
        Mistake("not sorted", change={"sorted(set(lengths))": "lengths"}, hint="the lengths are not in order", gravity="idea"),
        Mistake(
            "more than the share",
            change={">= share": "> share"},
            hint="one length too far: *at least* the share is enough, it need not be more",
            gravity="part",
        ),
        Mistake(
            "rounded down",
            change={LIMIT: "sorted(lengths)[max(0, int(share * len(lengths)) - 1)]"},
            hint="the share is rounded down",
            gravity="part",
        ),
        Mistake(
            "median",
            change={LIMIT: "float(torch.tensor(lengths).double().quantile(share))"},
            hint="give a length that occurs",
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
            hint="not by those of the sentences that are cut",
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
        Mistake("no tanh", change={"pairs.tanh()": "pairs"}, hint="there is no tanh", gravity="idea"),
        Mistake(
            "tanh outside",
            change={'torch.einsum("bhtsd,hd->bhts", pairs.tanh(), v)': 'torch.einsum("bhtsd,hd->bhts", pairs, v).tanh()'},
            hint="tanh is applied after the sum",
            gravity="idea",
        ),
        Mistake(
            "scaled",
            change={"pairs.tanh(), v)": "pairs.tanh(), v) / q.shape[-1] ** 0.5"},
            hint="additive scores have no 1/√d",
            gravity="idea",
        ),
        Mistake(
            "transposed", change={"q @ W_q": "q @ W_q.mT", "k @ W_k": "k @ W_k.mT"}, hint="the matrices are transposed", gravity="idea"
        ),
        Mistake("swapped matrices", change={"q @ W_q": "q @ W_k", "k @ W_k": "k @ W_q"}, hint="W_q belongs to the queries", gravity="idea"),
        Mistake(
            "head 0 for all",
            change={"q @ W_q": "q @ W_q[0]", "k @ W_k": "k @ W_k[0]", "hd->bhts": "d->bhts", "pairs.tanh(), v)": "pairs.tanh(), v[0])"},
            hint="every head has its own matrices",
            gravity="part",
        ),
        Mistake(
            "keys by queries",
            change={"(q @ W_q)[:, :, :, None, :] + (k @ W_k)[:, :, None, :, :]": "(q @ W_q)[:, :, None] + (k @ W_k)[:, :, :, None]"},
            hint="one score per query and key: (B, H, T, S)",
            gravity="idea",
        ),
        Mistake(
            "mean", change={"pairs.tanh(), v)": "pairs.tanh(), v) / q.shape[-1]"}, hint="this is a mean over the d entries", gravity="idea"
        ),
        Mistake("detached", change={"pairs.tanh()": "pairs.tanh().detach()"}, hint="the gradient through the scores", gravity="part"),
        Mistake(
            "multiplied",
            change={"[:, :, :, None, :] + (k": "[:, :, :, None, :] * (k"},
            hint="q W_q and k W_k are multiplied: add them",
            gravity="idea",
        ),
        Mistake(
            "two tanh",
            change={"(q @ W_q)[": "(q @ W_q).tanh()[", "(k @ W_k)[": "(k @ W_k).tanh()[", "pairs.tanh()": "pairs"},
            hint="each of the two parts has its own tanh",
            gravity="idea",
        ),
        Mistake(
            "v of head 0",
            change={"hd->bhts": "d->bhts", "pairs.tanh(), v)": "pairs.tanh(), v[0])"},
            hint="every head has its own v",
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
            "additive without d",
            change={"B * H * T * S * d": "B * H * T * S"},
            hint="tanh is applied before the sum over d",
            gravity="idea",
        ),
        Mistake(
            "dot with d",
            change={"return B * H * T * S,": "return B * H * T * S * d,"},
            hint="the matrix product sums over d as it goes, so no tensor holds d numbers for every pair",
            gravity="idea",
        ),
        Mistake(
            "no heads",
            change={"B * H * T * S, B * H * T * S * d": "B * T * S, B * T * S * d"},
            hint="dot product: the heads are missing",
            gravity="idea",
        ),
        Mistake("side by side", change={"B * H * T * S * d": "B * H * (T + S) * d"}, hint="every query meets every key", gravity="idea"),
        Mistake("T squared", change={"B * H * T * S,": "B * H * T * T,"}, hint="queries and keys differ in number", gravity="idea"),
        Mistake("one number", change={"B * H * T * S, B * H * T * S * d": "B * H * T * S * d"}, hint="return two counts", gravity="idea"),
        Mistake(
            "no batch",
            change={"B * H * T * S, B * H * T * S * d": "H * T * S, H * T * S * d"},
            hint="the sentences of the batch are missing",
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
        Mistake("a float", change={"return V * D": "return 1.0 * V * D"}, hint="is an integer", gravity="edge"),
        Mistake("tied", change={" + D * V": ""}, hint="the output layer is not tied", gravity="part"),
        Mistake("no positions", change={" + T * D": ""}, hint="the positions are missing", gravity="part"),
        Mistake("no final norm", change={" + norm + D": " + D"}, hint="the LayerNorm after the last block is missing", gravity="part"),
        Mistake("one norm a block", change={"2 * norm)": "norm)"}, hint="a block has two LayerNorms", gravity="part"),
        Mistake(
            "no biases",
            change={"(D * D + D)": "(D * D)", "(D * 4 * D + 4 * D) + (4 * D * D + D)": "8 * D * D"},
            hint="the linear layers of attention and feed-forward have biases",
            gravity="part",
        ),
        Mistake(
            "no output projection",
            change={'{"separate": 4, "shared-qk": 3, "shared-qkv": 2}': '{"separate": 3, "shared-qk": 2, "shared-qkv": 1}'},
            hint="attention has an output projection",
            gravity="idea",
        ),
        Mistake("head with bias", change={" + D * V": " + D * V + V"}, hint="the output layer has no bias", gravity="part"),
        Mistake(
            "no biases in the feed-forward network",
            change={"(D * 4 * D + 4 * D) + (4 * D * D + D)": "8 * D * D"},
            hint="the biases of the feed-forward network are missing",
            gravity="part",
        ),
        Mistake(
            "no biases in attention",
            change={"(D * D + D)\n": "(D * D)\n"},
            hint="the biases of the four projections, or the two LayerNorms",
            gravity="part",
        ),
        Mistake(
            "sharing ignored",
            change={'"shared-qk": 3, "shared-qkv": 2': '"shared-qk": 4, "shared-qkv": 4'},
            hint="sharing changes nothing",
            gravity="part",
        ),
        Mistake(
            "biases not shared",
            change={"attention = matrices * (D * D + D)": "attention = matrices * D * D + 4 * D"},
            hint="a shared projection saves its bias too",
            gravity="part",
        ),
        Mistake(
            "saved once",
            change={
                "attention = matrices * (D * D + D)": "attention = 4 * (D * D + D)",
                "return V * D": "return (matrices - 4) * (D * D + D) + V * D",
            },
            hint="in every block, not once",
            gravity="part",
        ),
        Mistake(
            "one feed-forward matrix", change={"+ (4 * D * D + D)": "+ D"}, hint="the feed-forward network has two matrices", gravity="idea"
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
        Mistake("hidden by −10,000", change={"-torch.inf": "-1e4"}, hint="lower than any score", gravity="edge"),
        Mistake(
            "zeroed weights without gradient",
            change={"scores.softmax(dim=-1).masked_fill(~mask, 0.0)": "scores.detach().softmax(dim=-1).masked_fill(~mask, 0.0)"},
            hint="no gradient flows through zeroed_weights",
            gravity="edge",
        ),
        Mistake(
            "polarity",
            change={"masked_fill(~mask, -torch.inf)": "masked_fill(mask, -torch.inf)"},
            hint="yours hides what may be seen",
            gravity="idea",
        ),
        Mistake(
            "zero instead of minus infinity",
            change={"masked_fill(~mask, -torch.inf)": "masked_fill(~mask, 0.0)"},
            hint="a score of 0 is not a weight of 0",
            gravity="idea",
        ),
        Mistake(
            "both zeroed",
            change={"scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)": "scores.softmax(dim=-1).masked_fill(~mask, 0.0)"},
            hint="masked_weights: the hidden scores still count",
            gravity="idea",
        ),
        Mistake(
            "both right",
            change={
                "scores.softmax(dim=-1).masked_fill(~mask, 0.0)": "torch.where(mask, scores, torch.full_like(scores, -torch.inf)).softmax(dim=-1)"
            },
            hint="zeroed_weights is normalised again",
            gravity="idea",
        ),
        Mistake(
            "zeroing the past",
            change={"masked_fill(~mask, 0.0)": "masked_fill(mask, 0.0)"},
            hint="yours zeroes what may be seen",
            gravity="idea",
        ),
        Mistake(
            "over the queries",
            change={"-torch.inf).softmax(dim=-1)": "-torch.inf).softmax(dim=-2).nan_to_num()"},
            hint="softmax runs over the queries",
            gravity="idea",
        ),
        Mistake("not zeroed", change={".masked_fill(~mask, 0.0)": ""}, hint="the hidden weights are still there", gravity="idea"),
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
            hint="masked_weights: with heads (B, H, T, S)",
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
        Mistake("shifted in place", change={"p = s.softmax": "s -= s.max()\n    p = s.softmax"}, hint=IN_PLACE, gravity="edge"),
        Mistake("sign", change={"-p[j] * p[l]": "p[j] * p[l]"}, hint="the sign: if the future key scores higher", gravity="idea"),
        Mistake(
            "own score",
            change={"-p[j] * p[l]": "p[j] * (1 - p[j])"},
            hint="this is the derivative with respect to the key's own score, p_j (1 − p_j)",
            gravity="idea",
        ),
        Mistake("zero", change={"-p[j] * p[l]": "p[j] * 0"}, hint="zero is the answer for −∞ masking", gravity="idea"),
        Mistake("one probability", change={"-p[j] * p[l]": "-p[l]"}, hint="one of the two probabilities is missing", gravity="idea"),
        Mistake("squared", change={"-p[j] * p[l]": "-p[j] ** 2"}, hint="p_j is squared here", gravity="idea"),
        Mistake(
            "one minus p", change={"-p[j] * p[l]": "-p[j] * (1 - p[l])"}, hint="here the numerator does not depend on it", gravity="idea"
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
        Mistake("a row of derivatives", change={"-p[j] * p[l]": "-p * p[l]"}, hint="one number: the derivative", gravity="idea"),
        Mistake(
            "overflows", change={"s.softmax(dim=-1)": "s.exp() / s.exp().sum()"}, hint="with large scores exp overflows", gravity="edge"
        ),
        Mistake(
            "visible softmax",
            change={"-p[j] * p[l]": "-s[: j + 1].softmax(dim=-1)[j] * p[l]"},
            hint="p is the softmax over all scores",
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
            "first row only",
            change={"G.triu(1).max().item()": "G[0, 1:].max().item() if len(G) > 1 else 0.0"},
            hint="look at all j > i",
            gravity="idea",
        ),
        Mistake("triangle in place", change={"G.triu(1).max()": "G.triu_(1).max()"}, hint=IN_PLACE, gravity="edge"),
        Mistake("transposed", change={".sqrt()": ".sqrt().T"}, hint="rows are outputs, columns are inputs", gravity="idea"),
        Mistake("no root", change={".sqrt()": ""}, hint="the root is missing", gravity="idea"),
        Mistake(
            "plain sum",
            change={"jacobian.pow(2).sum(dim=(1, 3)).sqrt()": "jacobian.sum(dim=(1, 3))"},
            hint="entries are added before squaring",
            gravity="idea",
        ),
        Mistake(
            "absolute sum",
            change={"jacobian.pow(2).sum(dim=(1, 3)).sqrt()": "jacobian.abs().sum(dim=(1, 3))"},
            hint="these are sums of absolute values",
            gravity="idea",
        ),
        Mistake(
            "largest",
            change={"jacobian.pow(2).sum(dim=(1, 3)).sqrt()": "jacobian.abs().amax(dim=(1, 3))"},
            hint="this is the largest absolute entry",
            gravity="idea",
        ),
        Mistake(
            "outputs added first",
            change={
                "torch.autograd.functional.jacobian(f, x)": "torch.autograd.functional.jacobian(lambda z: f(z).sum(dim=1, keepdim=True), x)"
            },
            hint="are added before the derivative",
            gravity="idea",
        ),
        Mistake("wrong axes", change={"sum(dim=(1, 3))": "sum(dim=(0, 2))"}, hint="one number per output and input", gravity="idea"),
        Mistake("diagonal counts", change={"G.triu(1)": "G.triu(0)"}, hint="the diagonal is the present", gravity="idea"),
        Mistake("looks back", change={"G.triu(1)": "G.tril(-1)"}, hint="this looks below the diagonal", gravity="idea"),
        Mistake(
            "next only",
            change={"G.triu(1).max().item()": "max(G.diagonal(1).tolist(), default=0.0)"},
            hint="the leak may reach further",
            gravity="idea",
        ),
        Mistake(
            "sum of leaks", change={"G.triu(1).max()": "G.triu(1).sum()"}, hint="this is a sum: take the largest entry", gravity="idea"
        ),
        Mistake("a tensor", change={".max().item()": ".max()"}, hint="future_leak gives a Python float", gravity="edge"),
        Mistake(
            "empty maximum",
            change={"G.triu(1).max().item()": "max(G[i, j].item() for i in range(len(G)) for j in range(i + 1, len(G)))"},
            hint="with one position there is no future",
            gravity="edge",
        ),
        Mistake(
            "root of the mean",
            change={"pow(2).sum(dim=(1, 3))": "pow(2).mean(dim=(1, 3))"},
            hint="this is the root of the mean square: take the root of the sum",
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
        Mistake("signed", change={".abs().amax(dim=-1)": ".amax(dim=-1)"}, hint="the change has a sign", gravity="idea"),
        Mistake("mean", change={".abs().amax(dim=-1)": ".abs().mean(dim=-1)"}, hint="this is a mean over the vocabulary", gravity="idea"),
        Mistake("sum", change={".abs().amax(dim=-1)": ".abs().sum(dim=-1)"}, hint="this is a sum over the vocabulary", gravity="idea"),
        Mistake(
            "includes the place",
            change={"[0, :place]": "[0, : place + 1]"},
            hint="one number for each position before `place`",
            gravity="idea",
        ),
        Mistake("one number", change={".abs().amax(dim=-1)": ".abs().max()"}, hint="shape (place,)", gravity="idea"),
        Mistake("same tensor", change={"tokens.clone()": "tokens"}, hint="are both versions the same tensor", gravity="idea"),
        Mistake("everything after", change={"changed[place] =": "changed[place:] ="}, hint="more than one word is changed", gravity="idea"),
        Mistake(
            "no batch",
            change={"tokens[None]": "tokens", "changed[None]": "changed"},
            hint="the model takes a batch, (1, T)",
            gravity="idea",
        ),
        Mistake(
            "the place before", change={"changed[place]": "changed[place - 1]"}, hint="this model looks only at the past", gravity="idea"
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
            hint="this is the Euclidean norm of the change",
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
            "a tensor",
            change={"math.exp(sum(loss_sums) / sum(counts))": "torch.tensor(sum(loss_sums) / sum(counts)).exp()"},
            hint="not a tensor",
            gravity="edge",
        ),
        Mistake(
            "rounded",
            change={"return math.exp(sum(loss_sums) / sum(counts))": "return round(math.exp(sum(loss_sums) / sum(counts)), 2)"},
            hint="the perplexity is rounded",
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
            hint="this is a mean of perplexities",
            gravity="idea",
        ),
        Mistake(
            "mean of means",
            change={"sum(loss_sums) / sum(counts)": "sum(a / b for a, b in zip(loss_sums, counts)) / len(counts)"},
            hint="this is the mean of the batches' means",
            gravity="idea",
        ),
        Mistake("bits", change={"math.exp(": "2 ** ("}, hint="use e, not 2", gravity="idea"),
        Mistake("the loss", change={"math.exp(": "("}, hint="this is the mean loss", gravity="idea"),
        Mistake("per batch", change={"sum(counts)": "len(counts)"}, hint="not of batches", gravity="idea"),
        Mistake("sign", change={"math.exp(": "math.exp(-"}, hint="perplexity is at least 1", gravity="idea"),
        Mistake(
            "weighed perplexities",
            change={
                "math.exp(sum(loss_sums) / sum(counts))": "sum(math.exp(a / max(b, 1)) * b for a, b in zip(loss_sums, counts)) / sum(counts)"
            },
            hint="this is a mean of perplexities, weighted by the batches' sizes",
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
            "two words only",
            change={"tokens[None, : t + 1]": "tokens[None, max(0, t - 1) : t + 1]"},
            hint="give it all words before",
            gravity="idea",
        ),
        Mistake("cut off", change={"torch.stack(losses)": "torch.stack(losses).clamp(max=20)"}, hint="infinite or cut off", gravity="edge"),
        Mistake(
            "the whole sentence",
            change={"tokens[None, : t + 1])[0, -1]": "tokens[None])[0, t]"},
            hint="the model saw words that it has to predict",
            gravity="idea",
        ),
        Mistake(
            "all but the last",
            change={"tokens[None, : t + 1])[0, -1]": "tokens[None, :-1])[0, t]"},
            hint="the model got the whole sentence except its last word",
            gravity="idea",
        ),
        Mistake("sign", change={"-logits.log_softmax": "logits.log_softmax"}, hint="the sign: a loss is positive", gravity="idea"),
        Mistake("logits", change={"-logits.log_softmax(dim=-1)": "-logits"}, hint="these are logits", gravity="idea"),
        Mistake("current word", change={"[tokens[t + 1]]": "[tokens[t]]"}, hint="the target is the next one", gravity="idea"),
        Mistake(
            "log of softmax",
            change={"logits.log_softmax(dim=-1)": "logits.softmax(dim=-1).log()"},
            hint="use log_softmax, not the log of softmax",
            gravity="edge",
        ),
        Mistake(
            "mean", change={"torch.stack(losses)": "torch.stack(losses).mean()"}, hint="n words give n − 1 predictions", gravity="idea"
        ),
        Mistake(
            "a word too few",
            change={"tokens[None, : t + 1]": "tokens[None, : max(t, 1)]"},
            hint="the model gets one word too few",
            gravity="idea",
        ),
        Mistake("one too few", change={"range(len(tokens) - 1)": "range(len(tokens) - 2)"}, hint="shape (n − 1,)", gravity="idea"),
        Mistake(
            "the last word only",
            change={"tokens[None, : t + 1]": "tokens[None, t : t + 1]"},
            hint="the model gets the last word only",
            gravity="idea",
        ),
        Mistake(
            "probabilities",
            change={"-logits.log_softmax(dim=-1)": "logits.softmax(dim=-1)"},
            hint="these are probabilities: take −log",
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
        Mistake("a tensor", change={"return means": "return torch.tensor(means)"}, hint="return a Python list", gravity="edge"),
        Mistake(
            "forward",
            change={"losses[max(0, i - window + 1) : i + 1]": "losses[i : i + window]"},
            hint="the window looks forward",
            gravity="idea",
        ),
        Mistake(
            "divides by the window", change={"/ len(last)": "/ window"}, hint="divide by the number of losses there are", gravity="part"
        ),
        Mistake(
            "without the current one",
            change={"losses[max(0, i - window + 1) : i + 1]": "losses[max(0, i - window) : i] or losses[:1]"},
            hint="the current loss is left out",
            gravity="idea",
        ),
        Mistake("one too long", change={"i - window + 1": "i - window"}, hint="the window is one too long", gravity="idea"),
        Mistake("everything so far", change={"max(0, i - window + 1)": "0"}, hint="the mean of everything so far", gravity="idea"),
        Mistake(
            "centred",
            change={"max(0, i - window + 1) : i + 1": "max(0, i - window // 2) : i + window // 2 + 1"},
            hint="the window is centred",
            gravity="idea",
        ),
        Mistake(
            "negative index",
            change={"max(0, i - window + 1)": "i - window + 1", "len(last)": "max(1, len(last))"},
            hint="the first mean is that of one loss",
            gravity="part",
        ),
        Mistake(
            "starts late",
            change={"range(len(losses))": "range(min(window, len(losses)) - 1, len(losses))"},
            hint="the first means are missing",
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
        Mistake("two values are too few", change={"if n == 1:": "if n <= 2:"}, hint="two values have a spread", gravity="edge"),
        Mistake(
            "normal quantile",
            change={"t_quantile(level, n - 1)": "1.959964"},
            hint="this uses the normal distribution's 1.96",
            gravity="idea",
        ),
        Mistake(
            "divides by n",
            change={"for value in values) / (n - 1)": "for value in values) / n"},
            hint="s² divides by n − 1",
            gravity="idea",
        ),
        Mistake("no root of n", change={"(variance / n) ** 0.5": "variance**0.5"}, hint="the root of n is missing", gravity="idea"),
        Mistake(
            "degrees", change={"t_quantile(level, n - 1)": "t_quantile(level, n)"}, hint="n values leave n − 1 degrees", gravity="idea"
        ),
        Mistake(
            "variance",
            change={"(variance / n) ** 0.5": "variance / n**0.5"},
            hint="the square root of the variance is missing",
            gravity="idea",
        ),
        Mistake("standard error", change={"t_quantile(level, n - 1) * ": ""}, hint="this is the standard error", gravity="idea"),
        Mistake(
            "whole width",
            change={"t_quantile(level, n - 1) * ": "2 * t_quantile(level, n - 1) * "},
            hint="this is the whole width",
            gravity="idea",
        ),
        Mistake(
            "one-sided",
            change={"t_quantile(level, n - 1)": "t_quantile((1 + level) / 2, n - 1)"},
            hint="`t_quantile` is two-sided already",
            gravity="idea",
        ),
        Mistake("level ignored", change={"t_quantile(level,": "t_quantile(0.95,"}, hint="the level is ignored", gravity="part"),
        Mistake("one value has no spread", change={"math.inf": "0.0"}, hint="nothing is known about the spread", gravity="edge"),
        Mistake(
            "the two ends",
            change={
                "return mean, t_quantile(level, n - 1) * (variance / n) ** 0.5": "half = t_quantile(level, n - 1) * (variance / n) ** 0.5\n    return mean - half, mean + half"
            },
            hint="these are the two ends of the interval",
            gravity="idea",
        ),
        Mistake("root of n − 1", change={"(variance / n) ** 0.5": "(variance / (n - 1)) ** 0.5"}, hint="the half-width", gravity="idea"),
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
            "every value once",
            change={"[entry[metric] for entry in group]": "sorted({entry[metric] for entry in group})"},
            hint="count one by one",
            gravity="edge",
        ),
        Mistake(
            "one line per run",
            code="""
def results_table(runs, metrics, level=0.95):
    return [{"variant": r["variant"], "runs": 1, **{m: (r[m], math.inf) for m in metrics}} for r in runs]
""",
            hint="one line per run: group the runs",
            gravity="idea",
        ),
        Mistake("sorted", change={"in groups.items()": "in sorted(groups.items())"}, hint="the variants are sorted", gravity="part"),
        Mistake("count of all", change={"len(group)": "len(runs)"}, hint="count each variant's own", gravity="part"),
        Mistake(
            "all metrics",
            change={"for metric in metrics}": 'for metric in group[0] if metric not in ("variant", "seed")}'},
            hint="metrics that were not asked for",
            gravity="part",
        ),
        Mistake(
            "mixed variants",
            change={"[entry[metric] for entry in group]": "[entry[metric] for entry in runs]"},
            hint="the runs of all variants are mixed",
            gravity="idea",
        ),
        Mistake(
            "level dropped",
            change={"for entry in group], level)": "for entry in group])"},
            hint="the level is not passed on to t_interval",
            gravity="part",
        ),
        Mistake(
            "mean only",
            change={"for entry in group], level)": "for entry in group], level)[0]"},
            hint="old: losses 2, 4 and 3",
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
            hint="a metric is missing: every line has an interval for each of the metrics",
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
            "verdict by the means of all",
            change={"if mean + half < 0": "if sum(a.values()) / len(a) + half < sum(b.values()) / len(b)"},
            hint="the verdict, too, is about the seeds that both have",
            gravity="part",
        ),
        Mistake("b minus a", change={"a[s] - b[s]": "b[s] - a[s]"}, hint="yours has the other sign", gravity="idea"),
        Mistake(
            "two intervals added",
            change={
                "mean, half = t_interval([a[s] - b[s] for s in a if s in b], level)": "left, right = t_interval(list(a.values()), level), t_interval(list(b.values()), level)\n    mean, half = left[0] - right[0], left[1] + right[1]"
            },
            hint="these are two separate intervals added up",
            gravity="idea",
        ),
        Mistake(
            "sign only",
            change={"mean + half < 0": "mean < 0", "mean - half > 0": "mean > 0"},
            hint="the sign of the mean is not enough",
            gravity="part",
        ),
        Mistake(
            "verdict swapped",
            change={'"a is lower"': '"b is LOWER"', '"b is lower"': '"a is lower"', "LOWER": "lower"},
            hint="the names are swapped",
            gravity="part",
        ),
        Mistake(
            "paired by order",
            change={"[a[s] - b[s] for s in a if s in b]": "[u - v for u, v in zip(a.values(), b.values())]"},
            hint="the values are paired by their order",
            gravity="part",
        ),
        Mistake(
            "every seed of a", change={" for s in a if s in b": " for s in a"}, hint="use only the seeds that both have", gravity="part"
        ),
        Mistake(
            "missing seeds are zero",
            change={"[a[s] - b[s] for s in a if s in b]": "[a.get(s, 0.0) - b.get(s, 0.0) for s in {*a, *b}]"},
            hint="use only the seeds that both have",
            gravity="part",
        ),
        Mistake("level dropped", change={"if s in b], level)": "if s in b])"}, hint="the verdict depends on the level", gravity="part"),
        Mistake("touching counts", change={"mean + half < 0": "mean + half <= 0"}, hint="the interval touches 0", gravity="edge"),
        Mistake(
            "interval of all values",
            change={"[a[s] - b[s] for s in a if s in b]": "[a[s] for s in a if s in b]"},
            hint="this is the interval of a alone: take the interval of the differences",
            gravity="idea",
        ),
        Mistake(
            "never b",
            change={"if mean - half > 0:": "if False:"},
            hint="with a and b swapped the verdict must be swapped too",
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
        Mistake("a logit of −10", change={"= -torch.inf": "= -10.0"}, hint="a banned word comes out", gravity="part"),
        Mistake("a list", change={", 1)[:, 0]": ", 1)[:, 0].tolist()"}, hint="word numbers are an int64 tensor", gravity="edge"),
        Mistake(
            "temperature ignored", change={"logits / temperature": "logits.clone()"}, hint="the temperature is ignored", gravity="part"
        ),
        Mistake("temperature multiplies", change={"logits / temperature": "logits * temperature"}, hint="yours multiplies", gravity="part"),
        Mistake("not banned", change={"    scaled[:, list(banned)] = -torch.inf\n": ""}, hint="a banned word came out", gravity="part"),
        Mistake("logit zero", change={"= -torch.inf": "= 0.0"}, hint="a banned word came out: its probability must be 0", gravity="part"),
        Mistake(
            "greedy",
            change={"torch.multinomial(scaled.softmax(dim=-1), 1)[:, 0]": "scaled.argmax(dim=-1)"},
            hint="the likeliest word always wins",
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
            hint="every row has its own distribution",
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
            "not normalised",
            change={"weights / total.masked_fill(total == 0, 1.0)": "weights"},
            hint="the rows are not normalised again",
            gravity="idea",
        ),
        Mistake(
            "second softmax",
            change={"weights / total.masked_fill(total == 0, 1.0)": "weights.softmax(dim=-1)"},
            hint="a second softmax gives weight",
            gravity="idea",
        ),
        Mistake("NaN", change={"total.masked_fill(total == 0, 1.0)": "total"}, hint="0/0 is NaN", gravity="part"),
        Mistake(
            "over the queries",
            change={"weights.sum(dim=-1, keepdim=True)": "weights.sum(dim=-2, keepdim=True)"},
            hint="the sum runs over the queries",
            gravity="idea",
        ),
        Mistake(
            "epsilon",
            change={"total.masked_fill(total == 0, 1.0)": "(total + 1e-9)"},
            hint="a small constant in the denominator",
            gravity="edge",
        ),
        Mistake(
            "minus infinity",
            change={"weights / total.masked_fill(total == 0, 1.0)": "scores.masked_fill(~mask, -torch.inf).softmax(-1)"},
            hint="this is −∞ masking",
            gravity="part",
        ),
        Mistake(
            "one sum for all", change={"weights.sum(dim=-1, keepdim=True)": "weights.sum()"}, hint="one sum for all rows", gravity="idea"
        ),
        Mistake(
            "sum over axis 1",
            change={"sum(dim=-1, keepdim=True)": "sum(dim=1, keepdim=True)"},
            hint="sum over the last axis",
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
        Mistake("normal quantile", change={"t_quantile(level, n - 1)": "1.96"}, hint="this uses 1.96", gravity="idea"),
        Mistake("one too few", change={"return n\n": "return max(2, n - 1)\n"}, hint="one too few", gravity="idea"),
        Mistake(
            "starts at 1", change={"n = 2": "n = 1", "level, n - 1)": "level, max(1, n - 1))"}, hint="one seed says nothing", gravity="edge"
        ),
        Mistake("one too many", change={"return n\n": "return n + 1 if n > 7 else n\n"}, hint="one too many", gravity="idea"),
        Mistake("level ignored", change={"t_quantile(level,": "t_quantile(0.95,"}, hint="the level is ignored", gravity="part"),
        Mistake("divides by n", change={"n**0.5": "n"}, hint="the half-width has √n", gravity="idea"),
        Mistake(
            "n degrees",
            change={"t_quantile(level, n - 1)": "t_quantile(level, n)"},
            hint="n values leave n − 1 degrees of freedom",
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
