"""Wrong answers that the tests of 08-positions must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

IN_PLACE = "your code changes its input in place"

VARIANTS = {
    "attend": [
        Mistake(
            "e to the bias added",
            change={"scores + bias": "scores + bias.exp()"},
            says="e to the power of the bias is added: add the bias itself, softmax takes the power",
            gravity="idea",
        ),
        Mistake(
            "bias transposed",
            change={"scores + bias": "scores + bias.mT"},
            says="the bias is transposed: its rows are queries, like those of the scores",
            gravity="idea",
        ),
        Mistake(
            "bias added after masking",
            change={
                "    if bias is not None:\n        scores = scores + bias\n": "",
                "scores.masked_fill(~mask, -torch.inf)\n": "scores.masked_fill(~mask, -1e9)\n    if bias is not None:\n        scores = scores + bias\n",
            },
            hint="a forbidden key weighs nothing",
            gravity="edge",
        ),
        Mistake(
            "bias scaled, too",
            change={"scores + bias": "scores + bias / q.shape[-1] ** 0.5"},
            says="the bias is divided by the root of the width together with the scores: only the scores are scaled",
            gravity="idea",
        ),
        Mistake("bias subtracted", change={"scores + bias": "scores - bias"}, says="the bias is subtracted: add it", gravity="idea"),
        Mistake(
            "bias multiplied",
            change={"scores + bias": "scores * bias"},
            says="the scores are multiplied by the bias: it must be added",
            gravity="idea",
        ),
        Mistake(
            "mask the wrong way round",
            change={"~mask": "mask"},
            says="the mask is read the wrong way round: True means that looking is allowed",
            gravity="part",
        ),
        Mistake(
            "no scale", change={" / q.shape[-1] ** 0.5": ""}, says="the scores are not scaled by the root of the width", gravity="idea"
        ),
        Mistake(
            "bias without mask only",
            change={"if mask is not None": "if bias is None and mask is not None"},
            says="the mask is ignored where there is a bias",
            gravity="part",
        ),
        Mistake(
            "bias after the softmax",
            code="""
def attend(q, k, v, bias=None, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    w = scores.softmax(-1)
    return (w if bias is None else w + bias) @ v
""",
            says="the bias is added to the weights, after the softmax: add it to the scores",
            gravity="idea",
        ),
        Mistake(
            "mask after the softmax",
            code="""
def attend(q, k, v, bias=None, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    w = (scores if bias is None else scores + bias).softmax(-1)
    return (w if mask is None else w * mask) @ v
""",
            says="the weights are set to 0 after the softmax, so they no longer sum to one: mask the scores before it",
            gravity="part",
        ),
        Mistake(
            "bias detached",
            change={"scores + bias": "scores + bias.detach()"},
            says="no gradient reaches the bias: a learned bias needs one",
            gravity="part",
        ),
        Mistake(
            "a fixed root of 8",
            change={"q.shape[-1] ** 0.5": "8 ** 0.5"},
            says="you divide by a fixed number, √8: take the width from the query",
            gravity="idea",
        ),
        Mistake(
            "root of the number of keys",
            change={"q.shape[-1] ** 0.5": "k.shape[-2] ** 0.5"},
            says="you divide by the root of the number of keys: use the width of a query",
            gravity="idea",
        ),
        Mistake(
            "mask multiplies scores",
            change={"scores.masked_fill(~mask, -torch.inf)": "scores * mask"},
            says="forbidden scores become 0, and e⁰ is 1: they must become −∞",
            gravity="part",
        ),
        Mistake(
            "exp without the maximum",
            change={"return scores.softmax(dim=-1) @ v": "e = scores.exp()\n    return e / e.sum(-1, keepdim=True) @ v"},
            hint="scores near 200 overflow: e²⁰⁰ is infinite in float32. Use torch's softmax",
            gravity="edge",
        ),
        Mistake(
            "two axes only",
            change={"k.mT": "k.T"},
            hint="your code raised RuntimeError at line 7 of the cell: `scores = q @ k.T / q.shape[-1] ** 0.5  # (..., n, m)`",
            gravity="part",
        ),
        Right(
            "torch's own",
            code="""
def attend(q, k, v, bias=None, mask=None):
    extra = torch.zeros(q.shape[-2], k.shape[-2]) if bias is None else bias
    if mask is not None:
        extra = torch.where(mask, extra, -torch.inf)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=extra)
""",
        ),
        Right(
            "einsum, factors",
            code="""
def attend(q, k, v, bias=0.0, mask=None):
    bias = 0.0 if bias is None else bias
    s = torch.einsum("...nd,...md->...nm", q, k) * q.shape[-1] ** -0.5 + bias
    s = s if mask is None else torch.where(mask, s, torch.tensor(float("-inf")))
    e = (s - s.amax(-1, keepdim=True)).exp()
    return (e / e.sum(-1, keepdim=True)) @ v
""",
        ),
        Mistake(
            "root of the width of a value",
            change={"q.shape[-1] ** 0.5": "v.shape[-1] ** 0.5"},
            says="you divide by the root of the width of a value: use the width of a query",
            gravity="idea",
        ),
        Mistake(
            "divided by the width",
            change={"q.shape[-1] ** 0.5": "q.shape[-1]"},
            says="you divide by the width, not by its root",
            gravity="idea",
        ),
        Mistake(
            "softmax over the queries",
            change={"softmax(dim=-1)": "softmax(dim=-2)"},
            says="softmax runs over the queries: it must run over the keys, the last axis",
            gravity="idea",
        ),
        Mistake("bias not used", change={"scores + bias": "scores"}, says="the bias is not used", gravity="idea"),
        Mistake(
            "bias without mask only",
            change={"if bias is not None": "if mask is None and bias is not None"},
            says="the bias is ignored where there is a mask",
            gravity="part",
        ),
        Mistake(
            "forbidden keys a little lower",
            change={"scores.masked_fill(~mask, -torch.inf)": "scores - 20.0 * ~mask"},
            hint="a forbidden key weighs nothing, however large its score is",
            gravity="edge",
        ),
        Mistake(
            "one bias for all heads",
            change={"scores + bias": "scores + (bias.reshape(-1, *bias.shape[-2:])[0] if bias.dim() > 2 else bias)"},
            says="the first head's bias is used for all: a bias has its own matrix for each head",
            gravity="part",
        ),
        Mistake(
            "query detached",
            change={"q @ k.mT": "q.detach() @ k.mT"},
            says="no gradient reaches the queries: they are detached",
            gravity="part",
        ),
    ],
    "equivariance-gap": [
        Mistake(
            "columns shuffled",
            change={"f(x[order])": "f(x[:, order])", "f(x)[order]": "f(x)[:, order]"},
            says="the columns are shuffled: P x has the rows in another order",
            gravity="idea",
        ),
        Mistake(
            "an order of its own",
            change={"    return (f": "    order = torch.randperm(len(x))\n    return (f"},
            says="the order that is given is not used: another one is drawn",
            gravity="idea",
        ),
        Mistake(
            "rounded",
            change={".abs().max()": ".abs().max().round(decimals=3)"},
            hint="a small gap is lost: do not round it",
            gravity="edge",
        ),
        Mistake("invariance", change={"f(x)[order]": "f(x)"}, hint="that asks for invariance", gravity="idea"),
        Mistake(
            "the other way round",
            change={"f(x)[order]": "f(x)[order.argsort()]"},
            says="you shuffle f(x) the other way round: use the same order on both sides",
            gravity="idea",
        ),
        Mistake("mean", change={".max()": ".mean()"}, says="that is the mean; the largest difference was asked for", gravity="idea"),
        Mistake("no absolute value", change={".abs()": ""}, says="take absolute values before the maximum", gravity="idea"),
        Mistake(
            "norm",
            change={".abs().max()": ".norm()"},
            says="that is a norm of all the differences; the largest single one was asked for",
            gravity="idea",
        ),
        Mistake(
            "f never sees the shuffled rows",
            change={"f(x[order])": "f(x)"},
            says="f is never given the shuffled rows: compare f(Px) with P f(x)",
            gravity="idea",
        ),
        Mistake("squared", change={".abs().max()": ".pow(2).max()"}, says="that is a square: take the absolute value", gravity="idea"),
        Mistake(
            "first row only",
            change={".abs().max()": "[0].abs().max()"},
            says="this is the largest difference in the first row only",
            gravity="idea",
        ),
        Mistake(
            "in place",
            change={"return (f(x[order]) - f(x)[order])": "before = f(x)[order]\n    x[:] = x[order]\n    return (f(x) - before)"},
            hint="your code changes x in place",
            gravity="edge",
        ),
        Right("float", change={"return (f(x[order]) - f(x)[order]).abs().max()": "return float((f(x[order]) - f(x)[order]).abs().max())"}),
        Right(
            "permutation matrix",
            code="""
def equivariance_gap(f, x, order):
    P = torch.eye(len(x))[order]
    return torch.linalg.norm((f(P @ x) - P @ f(x)).flatten(), float("inf"))
""",
        ),
        Mistake(
            "sum", change={".max()": ".sum()"}, says="that is the sum of the differences; the largest one was asked for", gravity="idea"
        ),
        Mistake(
            "first column only",
            change={".abs().max()": "[:, 0].abs().max()"},
            says="this is the largest difference in the first column only",
            gravity="idea",
        ),
        Mistake(
            "largest minus smallest",
            change={"(f(x[order]) - f(x)[order]).abs().max()": "(f(x[order]) - f(x)[order]).max() - (f(x[order]) - f(x)[order]).min()"},
            says="this is the span from the smallest to the largest difference: take the largest absolute value",
            gravity="idea",
        ),
        Mistake(
            "maximum before the absolute value",
            change={".abs().max()": ".max().abs()"},
            says="take absolute values before the maximum",
            gravity="idea",
        ),
        Mistake(
            "relative",
            change={".abs().max()": ".abs().max() / f(x).abs().max()"},
            says="the gap is divided by the size of f(x): the difference itself was asked for",
            gravity="idea",
        ),
        Mistake(
            "longest row",
            change={".abs().max()": ".norm(dim=-1).max()"},
            says="this is the length of the most different row; the largest single difference was asked for",
            gravity="idea",
        ),
        Mistake(
            "its own permutation",
            change={"    return (": "    order = torch.arange(len(x)).roll(-1)\n    return ("},
            says="the argument `order` is not used: the permutation is given",
            gravity="idea",
        ),
    ],
    "frequencies": [
        Mistake(
            "tensor2tensor's spacing",
            change={"-torch.arange(0, D, 2) / D": "-torch.arange(D // 2) / max(D // 2 - 1, 1)"},
            says="the last frequency is already 1/base: it should take one more step to get there",
            gravity="idea",
        ),
        Mistake(
            "half the exponent",
            change={"torch.arange(0, D, 2)": "torch.arange(D // 2)"},
            says="the frequencies fall too slowly: 1/base would be reached after D steps, but there are D/2",
            gravity="idea",
        ),
        Mistake("sign", change={"(-torch": "(torch"}, says="the frequencies rise; they must fall", gravity="idea"),
        Mistake("base ignored", change={"return base **": "return 10000.0 **"}, says="the argument `base` is not used", gravity="part"),
        Mistake(
            "i from 1",
            change={"torch.arange(0, D, 2)": "torch.arange(2, D + 2, 2)"},
            says="the first frequency is 1: one factor too many",
            gravity="idea",
        ),
        Mistake(
            "one for each column",
            change={"torch.arange(0, D, 2)": "torch.arange(D)"},
            says="there is a frequency for each column: one for each pair of columns is asked for",
            gravity="idea",
        ),
        Mistake(
            "doubled",
            change={"torch.arange(0, D, 2)": "2 * torch.arange(0, D, 2)"},
            says="the frequencies fall too fast: 1/base would be reached after D/4 steps, but there are D/2",
            gravity="idea",
        ),
        Mistake(
            "a fixed D",
            change={"torch.arange(0, D, 2) / D": "torch.arange(0, D, 2) / 8"},
            says="the factor is 0.1 whatever D is: it depends on D",
            gravity="idea",
        ),
        Mistake(
            "equal steps",
            change={"base ** (-torch.arange(0, D, 2) / D)": "torch.linspace(1, 1 / base, D // 2)"},
            says="the frequencies fall by equal steps; they fall by equal factors",
            gravity="idea",
        ),
        Mistake(
            "both ends included",
            change={"base ** (-torch.arange(0, D, 2) / D)": "torch.logspace(0, -math.log10(base), D // 2)"},
            says="the last frequency is already 1/base: it should take one more step to get there",
            gravity="idea",
        ),
        Right(
            "by the exponential",
            change={"base ** (-torch.arange(0, D, 2) / D)": "torch.exp(torch.arange(0, D, 2) * (-math.log(base) / D))"},
        ),
        Right("a list", change={"base ** (-torch.arange(0, D, 2) / D)": "torch.tensor([1 / base ** (2 * i / D) for i in range(D // 2)])"}),
        Right("float64", change={"torch.arange(0, D, 2)": "torch.arange(0, D, 2, dtype=torch.float64)"}),
        Mistake(
            "smallest first",
            change={"base ** (-torch.arange(0, D, 2) / D)": "(base ** (-torch.arange(0, D, 2) / D)).flip(0)"},
            says="the order is reversed: the largest frequency comes first",
            gravity="idea",
        ),
        Mistake(
            "in rounds",
            change={"return base": "return 2 * math.pi * base"},
            says="there is a factor of 2π too much: the first frequency is 1, one radian for each step",
            gravity="idea",
        ),
        Mistake(
            "wavelengths",
            change={"base ** (-torch.arange(0, D, 2) / D)": "2 * math.pi / base ** (-torch.arange(0, D, 2) / D)"},
            says="these are the wavelengths, 2π / ω: the frequencies were asked for",
            gravity="idea",
        ),
        Mistake("whole division", change={"/ D": "// D"}, says="the exponent is a whole number: use `/`, not `//`", gravity="idea"),
        Mistake(
            "powers of e",
            change={"base ** (-": "torch.exp(-"},
            says="these are powers of e: the frequencies are powers of `base`",
            gravity="idea",
        ),
        Mistake(
            "half precision",
            change={"base ** (-torch.arange(0, D, 2) / D)": "(base ** (-torch.arange(0, D, 2) / D)).half().float()"},
            hint="the values are rounded to half precision (float16)",
            gravity="idea",
        ),
    ],
    "sinusoidal": [
        Mistake(
            "cosines first",
            change={
                "[angles.sin(), angles.cos()], dim=-1)[..., :D]": "[angles.cos(), angles.sin()], dim=-1)[..., :D]",
                "[angles.sin(), angles.cos()], dim=-1).flatten(-2)": "[angles.cos(), angles.sin()], dim=-1).flatten(-2)",
            },
            says="cosines come first: each pair is (sin, cos), in this order",
            gravity="idea",
        ),
        Mistake(
            "sines only",
            change={"    if layout": "    return (positions[..., None] * frequencies(D, base).repeat_interleave(2)).sin()\n    if layout"},
            says="there are sines only: every frequency has a sine and a cosine",
            gravity="idea",
        ),
        Mistake(
            "angles in degrees",
            change={
                "angles = positions[..., None] * frequencies(D, base)": "angles = torch.deg2rad(positions[..., None] * frequencies(D, base))"
            },
            says="the angles are taken for degrees: they are in radians",
            gravity="idea",
        ),
        Mistake(
            "one axis of positions",
            change={"positions[..., None]": "positions[:, None]"},
            says="only one axis of positions works: there may be any number, (...), also none",
            gravity="part",
        ),
        Mistake(
            "halves along axis 1",
            change={"torch.cat([angles.sin(), angles.cos()], dim=-1)": "torch.cat([angles.sin(), angles.cos()], dim=1)"},
            says="halves: sines and cosines are joined along axis 1; the columns are the last axis, whatever shape the positions have",
            gravity="part",
        ),
        Mistake(
            "layouts exchanged",
            change={'layout == "halves"': 'layout != "halves"'},
            says="this is the other layout: interleaved means sin, cos, sin, cos",
            gravity="idea",
        ),
        Mistake(
            "layout ignored",
            change={'layout == "halves"': "False"},
            says="the argument `layout` is not used: halves means all sines, then all cosines",
            gravity="part",
        ),
        Mistake(
            "cosine first",
            change={"stack([angles.sin(), angles.cos()]": "stack([angles.cos(), angles.sin()]"},
            says="cosines come first; sines come first in both layouts",
            gravity="idea",
        ),
        Mistake(
            "cosine first in halves",
            change={"cat([angles.sin(), angles.cos()]": "cat([angles.cos(), angles.sin()]"},
            says="in halves the sines come first",
            gravity="part",
        ),
        Mistake("base ignored", change={"frequencies(D, base)": "frequencies(D)"}, says="the argument `base` is not used", gravity="part"),
        Mistake(
            "positions from 1",
            change={"positions[..., None]": "(positions[..., None] + 1)"},
            says="positions are counted from 1; they are used as they are given",
            gravity="idea",
        ),
        Mistake(
            "counts for itself",
            change={"positions[..., None]": "torch.arange(len(positions))[:, None]"},
            says="the argument `positions` is not used: it need not be 0, 1, 2, …",
            gravity="idea",
        ),
        Mistake(
            "a frequency for each column",
            change={
                "torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)": "torch.stack([angles.sin(), (angles * base ** (-1 / D)).cos()], dim=-1).flatten(-2)"
            },
            says="every column has its own frequency; a sine and its cosine share one",
            gravity="idea",
        ),
        Mistake(
            "base ignored in halves",
            change={'    if layout == "halves":\n': '    if layout == "halves":\n        angles = positions[..., None] * frequencies(D)\n'},
            says="the argument `base` is not used in the layout halves",
            gravity="part",
        ),
        Mistake(
            "positions flattened",
            change={"angles = positions[..., None]": "angles = positions.flatten()[:, None]"},
            says="the positions are flattened: a result of positions (2, 3) has the shape (2, 3, D)",
            gravity="part",
        ),
        Mistake(
            "positions moved to 0",
            change={"positions[..., None]": "(positions - positions.min())[..., None]"},
            says="positions are moved to start at 0; they are used as they are given",
            gravity="idea",
        ),
        Right(
            "filled in",
            code="""
def sinusoidal(positions, D, layout="interleaved", base=10000.0):
    out = torch.zeros(*positions.shape, D)
    angles = positions.unsqueeze(-1).double() / base ** (torch.arange(0, D, 2).double() / D)
    if layout == "interleaved":
        out[..., 0::2], out[..., 1::2] = torch.sin(angles), torch.cos(angles)
    else:
        out[..., : D // 2], out[..., D // 2 :] = torch.sin(angles), torch.cos(angles)
    return out
""",
        ),
        Right(
            "numpy",
            code="""
import numpy as np

def sinusoidal(positions, D, layout="interleaved", base=10000.0):
    a = positions.numpy()[..., None] * base ** (-2 * np.arange(D // 2) / D)
    out = np.concatenate([np.sin(a), np.cos(a)], -1)
    return torch.from_numpy(out if layout == "halves" else out[..., [i // 2 + (i % 2) * (D // 2) for i in range(D)]]).float()
""",
        ),
        Mistake(
            "sines beside cosines, interleaved as halves",
            change={"torch.stack([angles.sin(), angles.cos()], dim=-1)": "torch.stack([angles.sin(), angles.cos()], dim=-2)"},
            says="this is the other layout: interleaved means sin, cos, sin, cos",
            gravity="idea",
        ),
        Mistake(
            "in rounds",
            change={"frequencies(D, base)": "frequencies(D, base) * 2 * math.pi"},
            says="the angles have a factor of 2π too much: they are p ω_i, in radians",
            gravity="idea",
        ),
        Mistake(
            "sines only",
            change={"angles.cos()": "angles.sin()"},
            says="both columns of a pair are sines: the second is the cosine of the same angle",
            gravity="idea",
        ),
        Mistake(
            "divided by the frequency",
            change={"positions[..., None] * frequencies": "positions[..., None] / frequencies"},
            says="the position is divided by the frequency: an angle is their product",
            gravity="idea",
        ),
        Mistake(
            "cosines in reverse order in halves",
            change={"torch.cat([angles.sin(), angles.cos()], dim=-1)": "torch.cat([angles.sin(), angles.cos().flip(-1)], dim=-1)"},
            says="halves: the cosines stand in reverse order; column i of both halves belongs to pair i",
            gravity="part",
        ),
        Mistake(
            "frequencies of D = 4",
            change={"frequencies(D, base)": "frequencies(4, base).repeat(D)[: (D + 1) // 2]"},
            says="the frequencies are those of D = 4, whatever D is",
            gravity="idea",
        ),
        Mistake(
            "positions in half precision",
            change={"positions[..., None]": "positions[..., None].half()"},
            hint="a far position is rounded: half precision has three digits",
            gravity="edge",
        ),
    ],
    "sinusoidal-product": [
        Mistake(
            "one axis of distances",
            change={"distance[..., None]": "distance[:, None]"},
            says="only one axis of distances works: there may be any number, (...), also none",
            gravity="edge",
        ),
        Mistake("mean", change={".sum(": ".mean("}, says="you took the mean over the pairs; an inner product is a sum", gravity="idea"),
        Mistake(
            "sines",
            change={".cos()": ".sin()"},
            says="these are sines; cos a cos b + sin a sin b is the cosine of the difference",
            gravity="idea",
        ),
        Mistake(
            "twice",
            change={"return (": "return 2 * ("},
            says="each pair counts twice here: sin a sin b + cos a cos b is one cosine",
            gravity="idea",
        ),
        Mistake("base ignored", change={"frequencies(D, base)": "frequencies(D)"}, says="the argument `base` is not used", gravity="part"),
        Mistake(
            "no sum",
            change={".sum(dim=-1)": ""},
            says="the cosines of the pairs are not summed: there is one number for each distance",
            gravity="idea",
        ),
        Mistake(
            "divided by D", change={".sum(dim=-1)": ".sum(dim=-1) / D"}, says="you divide by D; an inner product is a sum", gravity="idea"
        ),
        Mistake(
            "a fixed D",
            change={"frequencies(D, base)": "frequencies(4, base)"},
            says="the frequencies are those of D = 4, whatever D is",
            gravity="idea",
        ),
        Right(
            "the vectors themselves",
            change={
                "return (distance[..., None] * frequencies(D, base)).cos().sum(dim=-1)": "return (sinusoidal(distance + 7, D, base=base) * sinusoidal(torch.tensor(7), D, base=base)).sum(-1)"
            },
        ),
        Right(
            "a loop",
            change={
                "return (distance[..., None] * frequencies(D, base)).cos().sum(dim=-1)": "return sum((w * distance).cos() for w in frequencies(D, base))"
            },
        ),
        Mistake(
            "first pair only",
            change={".sum(dim=-1)": "[..., 0]"},
            says="only the first pair is counted: sum over all pairs",
            gravity="idea",
        ),
        Mistake(
            "sines added",
            change={
                "return (distance[..., None] * frequencies(D, base)).cos()": "turns = distance[..., None] * frequencies(D, base)\n    return (turns.cos() + turns.sin())"
            },
            says="the sines do not cancel: cos a cos b + sin a sin b is the cosine of the difference, and nothing else",
            gravity="idea",
        ),
        Mistake(
            "cosine of the sum",
            change={".cos().sum(dim=-1)": ".sum(dim=-1).cos()"},
            says="this is the cosine of a sum of angles: take the cosine for each pair, then the sum",
            gravity="idea",
        ),
        Mistake(
            "twice as many pairs",
            change={"frequencies(D, base)": "frequencies(2 * D, base)"},
            says="there are D cosines here: D columns make D/2 pairs",
            gravity="idea",
        ),
        Mistake(
            "sum over the distances",
            change={".sum(dim=-1)": ".sum(dim=0)"},
            says="the sum runs over the distances: it must run over the pairs, the last axis",
            gravity="idea",
        ),
        Mistake(
            "divided by the lengths",
            change={".sum(dim=-1)": ".sum(dim=-1) / (D / 2) ** 0.5"},
            says="you divide by the length of a vector; an inner product is a plain sum",
            gravity="idea",
        ),
        Mistake(
            "absolute value",
            change={".sum(dim=-1)": ".sum(dim=-1).abs()"},
            says="the sign of the product is lost: it may be negative, no absolute value",
            gravity="part",
        ),
    ],
    "shift-matrix": [
        Mistake(
            "sine and cosine exchanged",
            change={"c, s = angle.cos(), angle.sin()": "s, c = angle.cos(), angle.sin()"},
            says="sine and cosine are exchanged: the cosines stand on the diagonal, so that a step of 0 changes nothing",
            gravity="idea",
        ),
        Mistake(
            "backwards",
            change={"stack([c, s])": "stack([c, -s])", "stack([-s, c])": "stack([s, c])"},
            says="the step goes backwards: the signs of the sines are exchanged",
            gravity="idea",
        ),
        Mistake("base ignored", change={"frequencies(D, base)": "frequencies(D)"}, says="the argument `base` is not used", gravity="part"),
        Mistake(
            "for halves",
            code="""
def shift_matrix(r, D, base=10000.0):
    a = r * frequencies(D, base)
    c, s = torch.diag(a.cos()), torch.diag(a.sin())
    return torch.cat([torch.cat([c, s], 1), torch.cat([-s, c], 1)])
""",
            says="this matrix is for the layout `halves`; here sine and cosine alternate",
            gravity="idea",
        ),
        Mistake(
            "cosine first",
            change={"stack([c, s])": "stack([s, c])", "stack([-s, c])": "stack([c, -s])"},
            says="sine and cosine are exchanged: at r = 0 nothing turns, the identity with cos 0 = 1 on the diagonal",
            gravity="idea",
        ),
        Mistake(
            "both signs plus",
            change={"stack([-s, c])": "stack([s, c])"},
            says="both sines have a plus: a rotation has one minus, in the cosine's row",
            gravity="idea",
        ),
        Mistake(
            "one frequency for all",
            change={"r * frequencies(D, base)": "[torch.tensor(float(r))] * (D // 2)"},
            says="all blocks turn by the same angle: pair i has the frequency ω_i",
            gravity="idea",
        ),
        Mistake("r ignored", change={"r * frequencies": "1 * frequencies"}, says="the step is 1 whatever r is", gravity="idea"),
        Mistake(
            "sign of r lost",
            change={"r * frequencies": "abs(r) * frequencies"},
            says="the step goes backwards: the signs of the sines are exchanged",
            gravity="idea",
        ),
        Right(
            "least squares",
            code="""
def shift_matrix(r, D, base=10000.0):
    p = torch.arange(0, 4000, 7)
    w = base ** (-torch.arange(0, D, 2).double() / D)
    s = lambda z: torch.stack([(z[:, None] * w).sin(), (z[:, None] * w).cos()], -1).flatten(-2)
    return torch.linalg.lstsq(s(p), s(p + r)).solution.T
""",
        ),
        Right(
            "filled in",
            code="""
def shift_matrix(r, D, base=10000.0):
    M = torch.zeros(D, D)
    for i, w in enumerate(frequencies(D, base).tolist()):
        M[2 * i, 2 * i] = M[2 * i + 1, 2 * i + 1] = math.cos(r * w)
        M[2 * i, 2 * i + 1], M[2 * i + 1, 2 * i] = math.sin(r * w), -math.sin(r * w)
    return M
""",
        ),
        Mistake(
            "frequencies in reverse order",
            change={"frequencies(D, base)": "frequencies(D, base).flip(0)"},
            says="the blocks stand in reverse order: the first pair has the largest frequency",
            gravity="idea",
        ),
        Mistake(
            "step plus frequency",
            change={"r * frequencies": "r + frequencies"},
            says="the angle of a block is r times its frequency, not their sum",
            gravity="idea",
        ),
        Mistake(
            "no steps back",
            change={"r * frequencies": "max(r, 0) * frequencies"},
            says="a negative r does nothing here: it is a step back",
            gravity="idea",
        ),
        Mistake(
            "from one position only",
            code="""
def shift_matrix(r, D, base=10000.0):
    angles = r * frequencies(D, base)
    there = torch.stack([angles.sin(), angles.cos()], -1).flatten()
    here = torch.tensor([0.0, 1.0]).repeat(D // 2)
    return torch.outer(there, here) / (D / 2)
""",
            says="this matrix is right for one position only: M_r has to serve every p, one 2 × 2 block for each pair",
            gravity="idea",
        ),
    ],
    "learned": [
        Mistake(
            "T from the batch",
            change={"T = x.shape[1]": "T = x.shape[0]"},
            says="the number of sequences is taken for T: x is (B, T, D)",
            gravity="idea",
        ),
        Mistake("multiplied", change={"x + table": "x * table"}, says="the rows are multiplied with x: add them", gravity="idea"),
        Mistake("start ignored", change={"table[start : start + T]": "table[:T]"}, says="the argument `start` is not used", gravity="part"),
        Mistake(
            "off by one",
            change={"start + T > len": "start + T >= len"},
            says="a sequence as long as the table is refused, and it fits: look at `>` and `>=`",
            gravity="edge",
        ),
        Mistake(
            "wraps round",
            change={
                "if start + T > len(table):": "if False:",
                "table[start : start + T]": "table[torch.arange(start, start + T) % len(table)]",
            },
            says="positions beyond the table start again at row 0: raise a ValueError instead",
            gravity="part",
        ),
        Mistake(
            "T alone",
            change={"start + T > len": "T > len"},
            says="T alone is compared with the table: compare start + T, and raise a ValueError",
            gravity="part",
        ),
        Mistake(
            "one row for all",
            change={"table[start : start + T]": "table[start]"},
            says="the same row is added everywhere: position t gets row t",
            gravity="idea",
        ),
        Mistake(
            "table detached",
            change={"+ table[": "+ table.detach()["},
            says="no gradient reaches the table, which is detached: then it cannot be learned",
            gravity="part",
        ),
        Mistake(
            "in place",
            change={"return x + table[start : start + T]": "x += table[start : start + T]\n    return x"},
            hint=IN_PLACE,
            gravity="part",
        ),
        Mistake(
            "rows along the batch",
            code="""
def add_learned(x, table, start=0):
    if start + x.shape[0] > len(table):
        raise ValueError("too long")
    return x + table[start : start + x.shape[0]][:, None]
""",
            says="the rows follow the batch axis: they belong to the positions, axis 1",
            gravity="idea",
        ),
        Mistake(
            "another exception",
            change={"raise ValueError": "raise IndexError"},
            says="positions beyond the table raise an IndexError here: a ValueError is asked for",
            gravity="part",
        ),
        Mistake(
            "clipped to the last row",
            change={
                "if start + T > len(table):": "if False:",
                "table[start : start + T]": "table[torch.arange(start, start + T).clamp(max=len(table) - 1)]",
            },
            says="positions beyond the table all get the last row: raise a ValueError instead",
            gravity="part",
        ),
        Right("embedding", change={"table[start : start + T]": "torch.nn.functional.embedding(torch.arange(start, start + T), table)"}),
        Right("a loop", change={"x + table[start : start + T]": "torch.stack([x[:, t] + table[start + t] for t in range(T)], 1)"}),
        Mistake(
            "last rows",
            change={"table[start : start + T]": "table[len(table) - T :][:T]"},
            says="the last rows are used; the first position has row `start`",
            gravity="idea",
        ),
        Mistake(
            "rows from 1",
            change={"table[start : start + T]": "table[start + 1 : start + T + 1]", "start + T > len": "start + T + 1 > len"},
            says="rows are counted from 1: the first position has row 0",
            gravity="idea",
        ),
        Mistake(
            "rows without x",
            change={"x + table[start : start + T]": "table[start : start + T].expand_as(x)"},
            says="these are the rows themselves: add them to x",
            gravity="idea",
        ),
        Mistake(
            "rows scaled",
            change={"+ table[start : start + T]": "+ table[start : start + T] / x.shape[-1] ** 0.5"},
            says="the rows are divided by a root: they are added as they are",
            gravity="idea",
        ),
        Mistake(
            "first sequence only",
            change={"return x + table[start : start + T]": "y = x.clone()\n    y[0] += table[start : start + T]\n    return y"},
            says="only the first sequence of the batch gets its rows: every sequence gets them",
            gravity="idea",
        ),
        Mistake("x detached", change={"return x +": "return x.detach() +"}, says="no gradient reaches x: it is detached", gravity="part"),
        Mistake(
            "start moves the columns of x",
            change={"x + table[start : start + T]": "torch.cat([x[:, :start], x[:, start:] + table[: max(T - start, 0)]], 1)"},
            says="`start` counts rows of the table here, not positions of x: the first embedding gets row `start`",
            gravity="part",
        ),
    ],
    "relative-index": [
        Mistake(
            "shifted before clipping",
            change={"distance.clamp(-clip, clip) + clip": "(distance + clip).clamp(0, clip)"},
            says="after adding clip the rows run from 0 to 2 · clip: here they stop at clip, so all of the future has one row",
            gravity="idea",
        ),
        Mistake(
            "no sign",
            change={"distance.clamp(-clip, clip) + clip": "distance.abs().clamp(max=clip)"},
            says="the sign of the distance is lost: before and after have rows of their own",
            gravity="idea",
        ),
        Mistake("clip fixed", change={"clamp(-clip, clip)": "clamp(-2, 2)"}, says="you clip at 2, whatever `clip` is", gravity="idea"),
        Mistake(
            "sign",
            change={"k_positions[None, :] - q_positions[:, None]": "q_positions[:, None] - k_positions[None, :]"},
            hint="the sign is wrong",
            gravity="idea",
        ),
        Mistake(
            "clip not added",
            change={"clamp(-clip, clip) + clip": "clamp(-clip, clip)"},
            says="`clip` is not added: a negative index counts from the end of the table, without any error, and row 0 is for −c",
            gravity="idea",
        ),
        Mistake(
            "not clipped",
            change={".clamp(-clip, clip)": ""},
            says="the distances are not clipped: the table ends at row 2 · clip",
            gravity="part",
        ),
        Mistake(
            "sign lost",
            change={"distance.clamp": "distance.abs().clamp"},
            says="the sign of the distance is lost: before and after are different",
            gravity="idea",
        ),
        Mistake(
            "counts for itself",
            change={
                "k_positions[None, :] - q_positions[:, None]": "torch.arange(len(k_positions))[None, :] - torch.arange(len(q_positions))[:, None]"
            },
            says="queries and keys are counted 0, 1, 2, …: use the positions that are given",
            gravity="idea",
        ),
        Mistake(
            "floats", change={"+ clip": "+ float(clip)"}, hint="these are rows of a table: whole numbers, an integer tensor", gravity="edge"
        ),
        Mistake(
            "in place",
            change={
                "distance = k_positions[None, :] - q_positions[:, None]": "k_positions -= 0\n    q_positions *= -1\n    distance = k_positions[None, :] + q_positions[:, None]"
            },
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Mistake(
            "wraps round",
            change={"distance.clamp(-clip, clip) + clip": "(distance + clip) % (2 * clip + 1)"},
            says="far distances wrap round to the other end of the table: far is far, the first or the last row",
            gravity="part",
        ),
        Right(
            "loops",
            change={
                "distance.clamp(-clip, clip) + clip": "torch.tensor([[max(0, min(2 * clip, int(x) + clip)) for x in row] for row in distance])"
            },
        ),
        Right("clipped at the end", change={"distance.clamp(-clip, clip) + clip": "torch.clip(distance + clip, 0, 2 * clip)"}),
        Mistake(
            "only the future clipped",
            change={"clamp(-clip, clip)": "clamp(max=clip)"},
            says="only the future is clipped: distances below −clip have row 0",
            gravity="part",
        ),
        Mistake(
            "only the past clipped",
            change={"clamp(-clip, clip)": "clamp(min=-clip)"},
            says="only the past is clipped: distances above clip have the last row",
            gravity="part",
        ),
        Mistake(
            "rows from 1",
            change={"clamp(-clip, clip) + clip": "clamp(-clip, clip) + clip + 1"},
            says="the rows are counted from 1: distance −clip has row 0",
            gravity="idea",
        ),
        Mistake(
            "one row too few",
            change={"clamp(-clip, clip)": "clamp(-clip, clip - 1)"},
            says="the last row is never used: distances are clipped at +clip, not at clip − 1",
            gravity="idea",
        ),
        Mistake(
            "from the first pair",
            change={"distance.clamp": "(distance - distance[0, 0]).clamp"},
            says="distances are counted from that of the first query and key: use the positions that are given, key minus query",
            gravity="idea",
        ),
        Mistake(
            "far is here",
            change={"distance.clamp(-clip, clip)": "distance.masked_fill(distance.abs() > clip, 0)"},
            says="beyond the clip you use the row of distance 0: far is far, the first or the last row",
            gravity="part",
        ),
        Mistake(
            "at most as many queries as keys",
            change={"return distance": "distance = distance[: len(k_positions)]\n    return distance"},
            hint="there may be more queries than keys",
            gravity="edge",
        ),
    ],
    "shaw-bias": [
        Mistake(
            "clip of four",
            change={"len(table) // 2)": "4)"},
            says="clip is always 4: work it out from the number of rows, 2c + 1",
            gravity="idea",
        ),
        Mistake(
            "queries and keys exchanged",
            change={"relative_index(q_positions, k_positions,": "relative_index(k_positions, q_positions,"},
            says="queries and keys are exchanged in the index: rows are queries",
            gravity="idea",
        ),
        Mistake(
            "mean over the columns",
            change={'torch.einsum("...nd,nmd->...nm", q, vectors) / q.shape[-1] ** 0.5': "(q[..., :, None, :] * vectors).mean(-1)"},
            says="the products are divided by d, not by its root",
            gravity="idea",
        ),
        Mistake("not scaled", change={" / q.shape[-1] ** 0.5": ""}, says="the products are not divided by the root of d", gravity="idea"),
        Mistake(
            "scaled by d",
            change={" / q.shape[-1] ** 0.5": " / q.shape[-1]"},
            says="the products are divided by d, not by its root",
            gravity="idea",
        ),
        Mistake(
            "before and after exchanged",
            change={"(q_positions, k_positions, len(table) // 2)": "(q_positions, k_positions, len(table) // 2).sub(len(table) - 1).neg()"},
            says="before and after are exchanged: the distance is the key's position minus the query's",
            gravity="idea",
        ),
        Mistake(
            "clip too small",
            change={"len(table) // 2)": "len(table) // 2 - 1)"},
            says="a table of 7 rows has clip 3: you clip at 2",
            gravity="idea",
        ),
        Mistake(
            "wrong query",
            change={'"...nd,nmd->...nm", q, vectors': '"...md,nmd->...nm", q, vectors[:, : q.shape[-2]]'},
            says="the vectors are multiplied with the wrong query: b_ij uses q_i, the row",
            gravity="idea",
        ),
        Mistake(
            "one axis in front",
            change={'"...nd,nmd->...nm"': '"nd,nmd->nm"'},
            says="no axes are allowed in front of (n, d): there may be any number of them, and all share the table",
            gravity="part",
        ),
        Mistake(
            "table detached",
            change={"table[relative": "table.detach()[relative"},
            hint="tensor 2 of 2 gets no gradient, because it is detached or not used",
            gravity="part",
        ),
        Mistake(
            "divided by a fixed 2",
            change={"q.shape[-1] ** 0.5": "2"},
            says="the products are divided by 2, a fixed number: take the root of the width of q",
            gravity="idea",
        ),
        Mistake(
            "a fixed clip",
            change={"len(table) // 2": "1"},
            says="a table of 7 rows has clip 3, and you clip at 1, as if it had three rows",
            gravity="idea",
        ),
        Mistake(
            "positions ignored",
            change={
                "relative_index(q_positions, k_positions": "relative_index(torch.arange(len(q_positions)), torch.arange(len(k_positions))"
            },
            says="queries and keys are counted 0, 1, 2, …: use the positions that are given",
            gravity="part",
        ),
        Right("multiply and sum", change={'torch.einsum("...nd,nmd->...nm", q, vectors)': "(q[..., None, :] * vectors).sum(-1)"}),
        Right(
            "products first",
            change={
                'torch.einsum("...nd,nmd->...nm", q, vectors)': "torch.stack([(q[..., i, :] @ vectors[i].T) for i in range(len(q_positions))], -2)"
            },
        ),
        Mistake(
            "clip not added",
            change={
                "table[relative_index(q_positions, k_positions, len(table) // 2)]": "table[relative_index(q_positions, k_positions, len(table) // 2) - len(table) // 2]"
            },
            says="the middle row of the table is for distance 0: `clip` is added to the distance",
            gravity="idea",
        ),
        Mistake(
            "first query for all",
            change={'"...nd,nmd->...nm", q,': '"...nd,nmd->...nm", q[..., :1, :].expand_as(q),'},
            says="the vectors are multiplied with the first query; b_ij uses q_i, the row",
            gravity="idea",
        ),
        Mistake(
            "root of the number of rows",
            change={"q.shape[-1] ** 0.5": "len(table) ** 0.5"},
            says="you divide by the root of the number of rows: use the width of a query",
            gravity="idea",
        ),
        Mistake(
            "root of the number of queries",
            change={"q.shape[-1] ** 0.5": "q.shape[-2] ** 0.5"},
            says="you divide by the root of the number of queries: use the width of a query",
            gravity="idea",
        ),
        Mistake(
            "sums multiplied",
            change={'torch.einsum("...nd,nmd->...nm", q, vectors)': "q.sum(-1, keepdim=True) * vectors.sum(-1)"},
            says="you multiply two sums: an inner product multiplies column by column, then sums",
            gravity="idea",
        ),
        Mistake(
            "clip as large as the table",
            change={"len(table) // 2": "len(table)"},
            says="you clip at the number of rows: a table of 2c + 1 rows has clip c",
            gravity="idea",
        ),
        Mistake(
            "query detached",
            change={'"...nd,nmd->...nm", q,': '"...nd,nmd->...nm", q.detach(),'},
            hint="tensor 1 of 2 gets no gradient, because it is detached or not used",
            gravity="part",
        ),
    ],
    "rope": [
        Mistake(
            "one axis of positions",
            change={"positions[..., None]": "positions[:, None]"},
            says="only one axis of positions works: `positions` broadcasts against the axes of x without the last",
            gravity="part",
        ),
        Mistake(
            "first column of each pair only",
            change={"a * cos - b * sin, a * sin + b * cos": "a * cos - b * sin, b"},
            says="only the first column of each pair is turned: the second changes, too",
            gravity="idea",
        ),
        Mistake(
            "added instead of turned",
            change={"    a, b = (x": "    return x + sinusoidal(positions, x.shape[-1], base=base)\n    a, b = (x"},
            says="the sinusoidal vectors are added: here nothing is added, pairs are turned",
            gravity="idea",
        ),
        Mistake(
            "halves along axis 1",
            change={"x.chunk(2, dim=-1)": "x.chunk(2, dim=1)", "torch.cat(turned, dim=-1)": "torch.cat(turned, dim=1)"},
            hint="your code raised",
            gravity="part",
        ),
        Mistake(
            "the other way",
            change={"a * cos - b * sin, a * sin + b * cos": "a * cos + b * sin, b * cos - a * sin"},
            says="you turn the other way; a′ = a cos − b sin, b′ = a sin + b cos",
            gravity="idea",
        ),
        Mistake(
            "pairing ignored",
            change={'pairing == "interleaved"': "True"},
            says="the argument `pairing` is not used: halves pairs columns i and i + d/2",
            gravity="part",
        ),
        Mistake(
            "pairings exchanged",
            change={'pairing == "interleaved"': 'pairing != "interleaved"'},
            says="the two pairings are exchanged: interleaved are columns 2i and 2i + 1",
            gravity="idea",
        ),
        Mistake(
            "positions ignored",
            change={"positions[..., None]": "torch.arange(x.shape[-2])[:, None]"},
            says="`positions` is not used: it need not be 0, 1, 2, …",
            gravity="idea",
        ),
        Mistake(
            "base ignored",
            change={"frequencies(x.shape[-1], base)": "frequencies(x.shape[-1])"},
            says="the argument `base` is not used",
            gravity="part",
        ),
        Mistake(
            "both signs plus",
            change={"a * cos - b * sin": "a * cos + b * sin"},
            says="both sines have a plus; a rotation has one minus, in a′ = a cos − b sin",
            gravity="idea",
        ),
        Mistake(
            "positions shifted to start at 0",
            change={"positions[..., None]": "(positions - positions[..., :1])[..., None]"},
            says="`positions` is moved to start at 0: use the numbers that are given",
            gravity="idea",
        ),
        Mistake(
            "put back as halves",
            change={"torch.stack(turned, dim=-1).flatten(-2)": "torch.cat(turned, dim=-1)"},
            says="interleaved: the turned columns are put back as in halves; each has its own place",
            gravity="idea",
        ),
        Mistake(
            "angles repeated for the other pairing",
            code="""
def rope(x, positions, pairing="interleaved", base=10000.0):
    angles = positions[..., None] * frequencies(x.shape[-1], base)
    angles = torch.cat([angles, angles], -1)
    if pairing == "interleaved":
        other = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
    else:
        other = torch.cat([-x.chunk(2, -1)[1], x.chunk(2, -1)[0]], -1)
    return x * angles.cos() + other * angles.sin()
""",
            says="interleaved: every column must have the angle of its own pair; these are laid out for halves",
            gravity="idea",
        ),
        Mistake(
            "in place, sequential",
            code="""
def rope(x, positions, pairing="interleaved", base=10000.0):
    angles = positions[..., None] * frequencies(x.shape[-1], base)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = (x[..., 0::2], x[..., 1::2]) if pairing == "interleaved" else x.chunk(2, dim=-1)
    a[:] = a * cos - b * sin
    b[:] = a * sin + b * cos
    return x
""",
            says="x is overwritten while it is turned: b′ is made from the new a′. Write into a new tensor",
            gravity="idea",
        ),
        Mistake(
            "in place, right values",
            code="""
def rope(x, positions, pairing="interleaved", base=10000.0):
    angles = positions[..., None] * frequencies(x.shape[-1], base)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = (x[..., 0::2], x[..., 1::2]) if pairing == "interleaved" else x.chunk(2, dim=-1)
    new = a * cos - b * sin, a * sin + b * cos
    a[:], b[:] = new
    return x
""",
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="part",
        ),
        Mistake(
            "on a clone, sequential",
            code="""
def rope(x, positions, pairing="interleaved", base=10000.0):
    angles = positions[..., None] * frequencies(x.shape[-1], base)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    y = x.clone()
    a, b = (y[..., 0::2], y[..., 1::2]) if pairing == "interleaved" else y.chunk(2, dim=-1)
    a[:] = a * cos - b * sin
    b[:] = a * sin + b * cos
    return y
""",
            says="b′ is made from the new a′, because a has been overwritten: write into a new tensor",
            gravity="idea",
        ),
        Mistake(
            "bfloat16 becomes float32",
            change={".cos().to(x.dtype)": ".cos()", ".sin().to(x.dtype)": ".sin()"},
            hint="x in bfloat16 must come back in bfloat16: the float32 sines and cosines turn the product into float32",
            gravity="edge",
        ),
        Mistake(
            "other way in halves only",
            change={"    turned =": '    sin = sin if pairing == "interleaved" else -sin\n    turned ='},
            says="halves: you turn the other way; a′ = a cos − b sin, b′ = a sin + b cos",
            gravity="part",
        ),
        Mistake(
            "one row of positions for all",
            change={"positions[..., None]": "positions.flatten()[: x.shape[-2], None]"},
            says="all sequences are turned by the first one's positions: positions of shape (B, 1, T) have a row for each",
            gravity="part",
        ),
        Right(
            "complex numbers",
            code="""
def rope(x, positions, pairing="interleaved", base=10000.0):
    d = x.shape[-1]
    order = torch.arange(d).view(-1, 2) if pairing == "interleaved" else torch.arange(d).view(2, -1).T
    z = torch.view_as_complex(x[..., order].float().contiguous())
    angles = positions[..., None] * frequencies(d, base)
    turned = torch.view_as_real(z * torch.polar(torch.ones_like(angles), angles)).flatten(-2)
    return turned[..., order.flatten().argsort()].to(x.dtype)
""",
        ),
        Right(
            "pair by pair, float64",
            code="""
def rope(x, positions, pairing="interleaved", base=10000.0):
    d, columns = x.shape[-1], [None] * x.shape[-1]
    for i in range(d // 2):
        l, r = (2 * i, 2 * i + 1) if pairing == "interleaved" else (i, i + d // 2)
        angle = positions.double() * base ** (-2 * i / d)
        columns[l] = x[..., l] * angle.cos() - x[..., r] * angle.sin()
        columns[r] = x[..., l] * angle.sin() + x[..., r] * angle.cos()
    return torch.stack(columns, -1).to(x.dtype)
""",
        ),
        Mistake(
            "nothing turned",
            change={"    return torch.stack": "    return x\n    return torch.stack"},
            says="nothing is turned",
            gravity="idea",
        ),
        Mistake(
            "angles doubled",
            change={"positions[..., None] *": "2 * positions[..., None] *"},
            says="the angles are doubled: pair i turns by position × ω_i",
            gravity="idea",
        ),
        Mistake(
            "frequencies of twice the width",
            change={"frequencies(x.shape[-1], base)": "frequencies(2 * x.shape[-1], base)[: x.shape[-1] // 2]"},
            says="these are the first frequencies of another width: d columns make d/2 pairs, with the frequencies of width d",
            gravity="idea",
        ),
        Mistake(
            "first pair only",
            change={
                "    turned =": "    first = torch.arange(a.shape[-1]) == 0\n    cos, sin = torch.where(first, cos, 1.0), torch.where(first, sin, 0.0)\n    turned ="
            },
            says="only the first pair is turned: every pair turns, by its own frequency",
            gravity="idea",
        ),
        Mistake(
            "one frequency for all",
            change={"frequencies(x.shape[-1], base)": "torch.ones(x.shape[-1] // 2)"},
            says="all pairs turn by the same angle: pair i has the frequency ω_i",
            gravity="idea",
        ),
        Mistake(
            "cosine and sine exchanged",
            change={"angles.cos().to(x.dtype), angles.sin().to(x.dtype)": "angles.sin().to(x.dtype), angles.cos().to(x.dtype)"},
            says="sine and cosine are exchanged: at position 0 nothing turns, and cos 0 is 1",
            gravity="idea",
        ),
        Mistake(
            "from the last position",
            change={"positions[..., None]": "(positions[..., -1:] - positions)[..., None]"},
            says="positions are counted back from the last one: use the numbers that are given",
            gravity="idea",
        ),
        Mistake(
            "halves put back exchanged",
            change={"torch.cat(turned, dim=-1)": "torch.cat(turned[::-1], dim=-1)"},
            says="halves: the two halves of the result are exchanged; a′ comes first",
            gravity="part",
        ),
        Mistake(
            "angles in the dtype of x",
            change={
                "positions[..., None] * frequencies(x.shape[-1], base)": "positions[..., None].to(x.dtype) * frequencies(x.shape[-1], base).to(x.dtype)"
            },
            says="the angles are rounded to the dtype of x: in bfloat16 a far position is off by whole radians",
            gravity="edge",
        ),
        Mistake(
            "result detached",
            change={"    turned =": "    a, b = a.detach(), b.detach()\n    turned ="},
            says="no gradient reaches x: it is detached",
            gravity="part",
        ),
    ],
    "rope-score": [
        Mistake(
            "one axis of distances",
            change={"r[..., None]": "r[:, None]"},
            says="only one axis of distances works: there may be any number, (...), also none",
            gravity="edge",
        ),
        Mistake(
            "sign of the sine",
            change={"(q0 * k1 - q1 * k0)": "(q1 * k0 - q0 * k1)"},
            says="the sign of the sine is wrong: r is the query's position minus the key's, so r = 1 turns the query",
            gravity="idea",
        ),
        Mistake(
            "no sine",
            change={" + (q0 * k1 - q1 * k0) * angles.sin()": ""},
            says="the part with the sine is missing: q_0 k_1 and q_1 k_0 do not drop out",
            gravity="idea",
        ),
        Mistake(
            "cross terms added",
            change={"q0 * k1 - q1 * k0": "q0 * k1 + q1 * k0"},
            says="q_0 k_1 and q_1 k_0 have opposite signs",
            gravity="idea",
        ),
        Mistake(
            "distance without a sign",
            change={"r[..., None]": "r.abs()[..., None]"},
            says="the sign of the distance is lost: before and after are different",
            gravity="idea",
        ),
        Mistake(
            "base ignored",
            change={"frequencies(len(q), base)": "frequencies(len(q))"},
            says="the argument `base` is not used",
            gravity="part",
        ),
        Mistake("mean", change={".sum(dim=-1)": ".mean(dim=-1)"}, says="the pairs are summed, not averaged", gravity="idea"),
        Mistake(
            "scaled",
            change={".sum(dim=-1)": ".sum(dim=-1) / len(q) ** 0.5"},
            says="the score is not divided by the root of d here",
            gravity="idea",
        ),
        Mistake(
            "halves pairs",
            change={"q[0::2], q[1::2], k[0::2], k[1::2]": "*q.chunk(2), *k.chunk(2)"},
            says="columns i and i + d/2 are paired; here the pairs are interleaved",
            gravity="idea",
        ),
        Mistake(
            "first pair only",
            change={".sum(dim=-1)": "[..., 0]"},
            says="only the first pair is counted: sum over all pairs",
            gravity="idea",
        ),
        Mistake(
            "one axis of distances only",
            change={"r[..., None]": "r[:, None]"},
            hint="your code raised IndexError at line 7 of the cell: `angles = r[:, None] * frequencies(len(q), base)  # (..., d / 2)`",
            gravity="edge",
        ),
        Right(
            "turns the query",
            code="""
def rope_score(q, k, r, base=10000.0):
    return rope(q.expand(*r.shape, len(q)), r, "interleaved", base) @ k
""",
        ),
        Right(
            "complex numbers",
            code="""
def rope_score(q, k, r, base=10000.0):
    z = torch.view_as_complex(q.view(-1, 2)) * torch.view_as_complex(k.view(-1, 2)).conj()
    angles = r[..., None] * frequencies(len(q), base)
    return (z * torch.polar(torch.ones_like(angles), angles)).real.sum(-1)
""",
        ),
        Mistake(
            "query and key exchanged",
            change={"q0, q1, k0, k1 =": "q, k = k, q\n    q0, q1, k0, k1 ="},
            says="the sign of the sine is wrong: r is the query's position minus the key's, so r = 1 turns the query",
            gravity="idea",
        ),
        Mistake(
            "sum of the angles",
            change={"r[..., None] * frequencies(len(q), base)": "(r[..., None] * frequencies(len(q), base)).sum(-1, keepdim=True)"},
            says="one angle for all pairs: every pair has its own, r ω_i",
            gravity="idea",
        ),
        Mistake(
            "sine and cosine exchanged",
            change={"angles.cos() +": "angles.sin() +", "angles.sin()).sum": "angles.cos()).sum"},
            says="sine and cosine are exchanged: at distance 0 the plain inner product is left",
            gravity="idea",
        ),
        Mistake(
            "minus in the cosine's part",
            change={"q0 * k0 + q1 * k1": "q0 * k0 - q1 * k1"},
            says="the part with the cosine is the inner product, q_0 k_0 + q_1 k_1: there is no minus in it",
            gravity="idea",
        ),
        Mistake(
            "frequencies of width 8",
            change={"frequencies(len(q), base)": "frequencies(8, base).repeat(len(q))[: len(q) // 2]"},
            says="the frequencies are those of d = 8, whatever d is: take the width of q",
            gravity="idea",
        ),
        Mistake(
            "divided by the lengths",
            change={".sum(dim=-1)": ".sum(dim=-1) / (q.norm() * k.norm())"},
            says="you divide by the lengths of q and k: the score is the inner product itself",
            gravity="idea",
        ),
        Mistake(
            "query detached",
            change={"q0, q1, k0, k1 =": "q = q.detach()\n    q0, q1, k0, k1 ="},
            says="no gradient reaches q: it is detached",
            gravity="edge",
        ),
    ],
    "pairing-order": [
        Mistake(
            "for eight columns",
            change={"(0, d, 2)": "(0, 8, 2)", "(1, d, 2)": "(1, 8, 2)"},
            says="the order is always that of eight columns: `d` says how many there are",
            gravity="idea",
        ),
        Mistake(
            "a matrix",
            change={
                "return torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "return torch.eye(d)[torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])]"
            },
            says="this is a matrix: an order is an index, one whole number for each column",
            gravity="idea",
        ),
        Mistake(
            "the way back",
            change={"torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.arange(d).view(2, -1).T.flatten()"},
            says="this is the way back, from halves to interleaved: place j of the result holds column order[j]",
            gravity="idea",
        ),
        Mistake(
            "nothing",
            change={"torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.arange(d)"},
            says="nothing is reordered",
            gravity="idea",
        ),
        Mistake(
            "odd columns first",
            change={"torch.arange(0, d, 2), torch.arange(1, d, 2)": "torch.arange(1, d, 2), torch.arange(0, d, 2)"},
            says="the second columns of the pairs come first: then every rotation goes the other way",
            gravity="idea",
        ),
        Mistake(
            "second half reversed",
            change={"torch.arange(1, d, 2)": "torch.arange(1, d, 2).flip(0)"},
            says="the second half is reversed: pair i must be at i and i + d/2",
            gravity="idea",
        ),
        Mistake(
            "half of it",
            change={"torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.arange(0, d, 2)"},
            says="only the first columns of the pairs are there: the second ones, 1, 3, 5, …, follow them",
            gravity="idea",
        ),
        Mistake(
            "floats",
            change={
                "torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)]).float()"
            },
            hint="an order is an index: whole numbers, an integer tensor",
            gravity="edge",
        ),
        Mistake(
            "for d = 6 only",
            change={"torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.tensor([0, 2, 4, 1, 3, 5])"},
            says="the order of d = 6 is given for every d",
            gravity="idea",
        ),
        Right("a list", change={"torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "[*range(0, d, 2), *range(1, d, 2)]"}),
        Right(
            "by transposing",
            change={"torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.arange(d).view(-1, 2).T.flatten()"},
        ),
        Mistake(
            "halves exchanged",
            change={"torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.arange(d).roll(d // 2)"},
            says="you exchange the two halves: the first half of the order are the first columns of all pairs, 0, 2, 4, …",
            gravity="idea",
        ),
        Mistake(
            "reversed",
            change={"torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.arange(d - 1, -1, -1)"},
            says="you reverse all columns: the order begins with the first columns of the pairs, 0, 2, 4, …",
            gravity="idea",
        ),
        Mistake(
            "both halves reversed",
            change={
                "torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.cat([torch.arange(0, d, 2).flip(0), torch.arange(1, d, 2).flip(0)])"
            },
            says="the pairs stand in reverse order: then each is turned by another pair's frequency",
            gravity="idea",
        ),
        Mistake(
            "swapped within pairs",
            change={"torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.arange(d).view(-1, 2).flip(1).flatten()"},
            says="you exchange the two columns of each pair: halves keeps them d/2 apart",
            gravity="idea",
        ),
        Mistake(
            "rows from 1",
            change={
                "torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)]) + 1"
            },
            says="columns are counted from 0, not from 1",
            gravity="idea",
        ),
    ],
    "stretched": [
        Mistake(
            "ntk: pairs counted for columns",
            change={"(d / (d - 2))": "(d / 2 / (d / 2 - 2))"},
            says="ntk: the exponent is that of half the width: the slowest of d/2 pairs has 2i = d − 2",
            gravity="idea",
        ),
        Mistake(
            "linear: faster",
            change={"frequencies(d, base) / s": "frequencies(d, base) * s"},
            says="linear: the frequencies are multiplied by s; they must become smaller",
            gravity="idea",
        ),
        Mistake(
            "linear: nothing",
            change={"frequencies(d, base) / s": "frequencies(d, base)"},
            says="linear: nothing is stretched",
            gravity="idea",
        ),
        Mistake(
            "linear: by the base",
            change={"frequencies(d, base) / s": "frequencies(d, base * s)"},
            says="linear: the base is multiplied by s; that slows down each pair by another factor",
            gravity="idea",
        ),
        Mistake(
            "linear: base ignored",
            change={"frequencies(d, base) / s": "frequencies(d) / s"},
            says="linear: the argument `base` is not used",
            gravity="part",
        ),
        Mistake(
            "linear: whole numbers",
            change={"frequencies(d, base) / s": "frequencies(d, base) / int(s)"},
            says="linear: s is cut to a whole number; it may be any number",
            gravity="edge",
        ),
        Mistake(
            "how turned round",
            change={'how == "linear"': 'how == "ntk"'},
            says="linear: this is the new base; here every frequency is divided",
            gravity="idea",
        ),
        Mistake(
            "ntk: base times s",
            change={"base * s ** (d / (d - 2))": "base * s"},
            says="ntk: the base is multiplied by s: the slowest pair is then slowed down by less than s",
            gravity="idea",
        ),
        Mistake(
            "ntk: exponent turned round",
            change={"s ** (d / (d - 2))": "s ** ((d - 2) / d)"},
            says="ntk: the exponent is upside down: solve for the base once more",
            gravity="idea",
        ),
        Mistake(
            "ntk: smaller base",
            change={"base * s ** (d / (d - 2))": "base / s ** (d / (d - 2))"},
            says="ntk: the base becomes smaller; lower frequencies need a larger one",
            gravity="idea",
        ),
        Mistake(
            "ntk as linear",
            change={"frequencies(d, base * s ** (d / (d - 2)))": "frequencies(d, base) / s"},
            says="ntk: all frequencies are divided by s; that is `linear`",
            gravity="idea",
        ),
        Mistake(
            "ntk: both",
            change={"frequencies(d, base * s ** (d / (d - 2)))": "frequencies(d, base * s ** (d / (d - 2))) / s"},
            says="ntk: the frequencies of the new base are divided by s as well: leave that out",
            gravity="idea",
        ),
        Mistake(
            "ntk: exponent d/2",
            change={"s ** (d / (d - 2))": "s ** (d / 2)"},
            says="ntk: the exponent is d/2; the slowest frequency is base to the power −(d − 2)/d",
            gravity="idea",
        ),
        Mistake(
            "ntk: slowest pair only",
            change={
                "return frequencies(d, base * s ** (d / (d - 2)))": "speeds = frequencies(d, base)\n    return torch.cat([speeds[:-1], speeds[-1:] / s])"
            },
            says="ntk: only the slowest pair is slowed down: with a new base each frequency falls by the same factor",
            gravity="idea",
        ),
        Mistake(
            "ntk: base ignored",
            change={"base * s ** (d / (d - 2))": "10000.0 * s ** (d / (d - 2))"},
            says="ntk: the argument `base` is not used",
            gravity="part",
        ),
        Mistake(
            "ntk: whole numbers",
            change={"s ** (d / (d - 2))": "int(s) ** (d / (d - 2))"},
            says="ntk: s is cut to a whole number; it may be any number",
            gravity="edge",
        ),
        Right(
            "slowed down pair by pair",
            code="""
def stretched_frequencies(d, s, how, base=10000.0):
    i = torch.arange(d // 2)
    slower = s ** (i / (d / 2 - 1)) if how == "ntk" else s
    return frequencies(d, base) / slower
""",
        ),
        Right(
            "by logarithms",
            code="""
def stretched_frequencies(d, s, how, base=10000.0):
    if how == "ntk":
        slowest = -math.log(base) * (d - 2) / d - math.log(s)
        return torch.linspace(0, slowest, d // 2).exp()
    return torch.stack([torch.tensor(base ** (-2 * i / d) / s) for i in range(d // 2)])
""",
        ),
        Mistake(
            "ntk: nothing",
            change={"return frequencies(d, base * s ** (d / (d - 2)))": "return frequencies(d, base)"},
            says="ntk: nothing is stretched",
            gravity="idea",
        ),
        Mistake(
            "linear: root of s",
            change={"frequencies(d, base) / s": "frequencies(d, base) / s**0.5"},
            says="linear: you divide by the root of s: position p is treated as p / s, so divide by s",
            gravity="idea",
        ),
        Mistake(
            "linear: slowest only",
            change={
                "return frequencies(d, base) / s": "speeds = frequencies(d, base)\n        return torch.cat([speeds[:-1], speeds[-1:] / s])"
            },
            says="linear: only the slowest pair is slowed down: every frequency is divided by s",
            gravity="idea",
        ),
        Mistake(
            "linear: smaller base",
            change={"frequencies(d, base) / s": "frequencies(d, base / s)"},
            says="linear: the base is divided by s: leave the base alone and change each frequency",
            gravity="idea",
        ),
        Mistake(
            "ntk: d / (d - 1)",
            change={"s ** (d / (d - 2))": "s ** (d / (d - 1))"},
            says="ntk: the exponent is d/(d − 1): the slowest frequency is base to the power −(d − 2)/d; solve for the base once more",
            gravity="idea",
        ),
        Mistake(
            "ntk: power of the base",
            change={"base * s ** (d / (d - 2))": "(base * s) ** (d / (d - 2))"},
            says="ntk: the old base is raised to the power, too: only s is",
            gravity="idea",
        ),
        Mistake(
            "ntk: in equal steps",
            change={"return frequencies(d, base * s ** (d / (d - 2)))": "return frequencies(d, base) / torch.linspace(1, s, d // 2)"},
            says="ntk: the pairs are slowed down in equal steps: with a new base they are slowed down by equal factors",
            gravity="idea",
        ),
        Mistake(
            "ntk: s is added",
            change={"base * s ** (d / (d - 2))": "base + s ** (d / (d - 2))"},
            says="ntk: s is added to the base: it must be multiplied",
            gravity="idea",
        ),
    ],
    "alibi-slopes": [
        Mistake(
            "between: from the end, reversed",
            change={"between[: H - N]": "between.flip(0)[: H - N]"},
            says="the rest are taken from the end of the slopes for 2N heads: go from the first one on",
            gravity="part",
        ),
        Mistake(
            "formula for every H",
            change={"N = 2 ** (H.bit_length() - 1)": "N = H"},
            says="the number of heads is not a power of two: do not put it into the formula; start from the largest power of two below",
            gravity="part",
        ),
        Mistake(
            "sorted",
            change={
                "return torch.cat([slopes, between[: H - N]])": "return torch.cat([slopes, between[: H - N]]).sort(descending=True).values"
            },
            says="the slopes are sorted; keep those of N heads first",
            gravity="part",
        ),
        Mistake(
            "second, fourth, …",
            change={"[0::2]": "[1::2]"},
            says="take the first, third, fifth, … slope of 2N heads: the second, fourth, … are there already",
            gravity="part",
        ),
        Mistake("in a row", change={"[0::2]": ""}, says="take every other slope of 2N heads, not the first ones in a row", gravity="part"),
        Mistake(
            "h from 0",
            change={"torch.arange(1, N + 1)": "torch.arange(N)"},
            says="h starts at 1: the first slope is 1/2, not 1",
            gravity="idea",
        ),
        Mistake(
            "halved each time",
            change={"(-8 * torch.arange(1, N + 1) / N)": "(-1.0 * torch.arange(1, N + 1))"},
            says="every slope is half the one before: the exponent is −8h/N, so with fewer heads the steps are larger",
            gravity="idea",
        ),
        Mistake(
            "negative",
            change={"return torch": "return -torch"},
            says="slopes are positive here: the minus sign comes with the bias",
            gravity="idea",
        ),
        Mistake(
            "first slopes of the next power",
            change={
                "return torch.cat([slopes, between[: H - N]])": "return slopes if H == N else (2.0 ** (-8 * torch.arange(1, 2 * N + 1) / (2 * N)))[:H]"
            },
            says="these are the first slopes of 2N heads: start from the slopes of N heads",
            gravity="part",
        ),
        Mistake(
            "between first",
            change={"[slopes, between[: H - N]]": "[between[: H - N], slopes]"},
            says="you put the slopes from 2N heads first; those of N heads come first",
            gravity="part",
        ),
        Mistake(
            "the first slopes again",
            change={"torch.cat([slopes, between[: H - N]])": "torch.cat([slopes, slopes[: H - N]])"},
            says="take the first, third, fifth, … slope of 2N heads: the second, fourth, … are there already",
            gravity="part",
        ),
        Right(
            "recursive lists",
            code="""
def alibi_slopes(H):
    if math.log2(H).is_integer():
        start = 2 ** (-(2 ** -(math.log2(H) - 3)))
        return torch.tensor([start * start**i for i in range(H)])
    n = 2 ** math.floor(math.log2(H))
    return torch.cat([alibi_slopes(n), alibi_slopes(2 * n)[0::2][: H - n]])
""",
        ),
        Right(
            "numpy",
            code="""
import numpy as np

def alibi_slopes(H):
    N = 1
    while 2 * N <= H:
        N *= 2
    return np.array([2 ** (-8 * h / N) for h in range(1, N + 1)] + [2 ** (-4 * (2 * j + 1) / N) for j in range(H - N)])
""",
        ),
        Mistake(
            "powers of e",
            change={"slopes = 2.0 **": "slopes = math.e **"},
            says="these are powers of e: the slopes are powers of 2",
            gravity="idea",
        ),
        Mistake(
            "slopes in the middle",
            change={"between[: H - N]": "((slopes + torch.cat([torch.ones(1), slopes[:-1]])) / 2)[: H - N]"},
            says="the rest are means of two neighbours: take the first, third, … slope for 2N heads",
            gravity="part",
        ),
        Mistake(
            "rest from the end",
            change={"between[: H - N]": "between[len(between) - (H - N) :]"},
            says="the rest are taken from the end of the slopes for 2N heads: go from the first one on",
            gravity="part",
        ),
        Mistake(
            "one slope for the rest",
            change={"between[: H - N]": "between[:1].expand(H - N)"},
            says="all remaining heads have the same slope: go on to the third, the fifth, …",
            gravity="part",
        ),
        Mistake(
            "N rounded",
            change={
                "return torch.cat([slopes, between[: H - N]])": "N = 2 ** round(math.log2(H))\n    slopes = 2.0 ** (-8 * torch.arange(1, N + 1) / N)\n    between = 2.0 ** (-8 * torch.arange(1, 2 * N + 1) / (2 * N))[0::2]\n    return torch.cat([slopes, between[: max(H - N, 0)]])[:H]"
            },
            says="N is the nearest power of two here: take the largest one that is at most H",
            gravity="part",
        ),
    ],
    "alibi-bias": [
        Mistake(
            "positive",
            change={"-slopes": "slopes"},
            says="far keys are preferred: the bias is minus the slope times the distance",
            gravity="idea",
        ),
        Mistake(
            "no absolute value",
            change={".abs()": ""},
            says="one side is rewarded: the distance has a sign here. Take its absolute value",
            gravity="part",
        ),
        Mistake("squared", change={"* distance": "* distance**2"}, says="the distance is squared: ALiBi is linear", gravity="idea"),
        Mistake(
            "axes",
            change={"-slopes[:, None, None] * distance": "-slopes * distance[..., None]"},
            says="the head is the last axis here: the axes are head, query, key",
            gravity="idea",
        ),
        Mistake(
            "key's position alone",
            change={"-slopes[:, None, None] * distance": "slopes[:, None, None] * k_positions.expand_as(distance)"},
            says="this uses the key's position alone: after a causal softmax that is the same, but here the distance was asked for",
            gravity="idea",
        ),
        Mistake(
            "future set to 0",
            change={".abs()": ".clamp(min=0)"},
            says="distances in the future are set to 0: the formula looks both ways; hiding is the mask's job",
            gravity="part",
        ),
        Mistake(
            "its own slopes", change={"-slopes[:": "-alibi_slopes(len(slopes))[:"}, says="the argument `slopes` is not used", gravity="idea"
        ),
        Mistake(
            "one slope for all",
            change={"slopes[:, None, None]": "slopes[0].expand(len(slopes), 1, 1)"},
            says="every head has the first slope",
            gravity="idea",
        ),
        Mistake(
            "counts for itself",
            change={
                "q_positions[:, None] - k_positions[None, :]": "torch.arange(len(q_positions))[:, None] - torch.arange(len(k_positions))[None, :]"
            },
            says="the given positions are not used: they need not be 0, 1, 2, …",
            gravity="idea",
        ),
        Right("einsum", change={"-slopes[:, None, None] * distance": 'torch.einsum("h,nm->hnm", slopes, -distance.float())'}),
        Right("stacked", change={"-slopes[:, None, None] * distance": "torch.stack([-s * distance for s in slopes])"}),
        Mistake(
            "from the last key",
            change={"-slopes[:, None, None] * distance": "-slopes[:, None, None] * (k_positions.max() - k_positions).expand_as(distance)"},
            says="distances are counted from the last key: every query has its own distances",
            gravity="idea",
        ),
        Mistake(
            "divided by the slope",
            change={"-slopes[:, None, None] * distance": "-distance / slopes[:, None, None]"},
            says="the distance is divided by the slope: every step costs the slope, so multiply",
            gravity="idea",
        ),
        Mistake(
            "logarithm",
            change={"* distance": "* (1 + distance).log()"},
            says="the logarithm of the distance is used: ALiBi is linear",
            gravity="idea",
        ),
        Mistake(
            "first step free",
            change={"* distance": "* (distance - 1).clamp(min=0)"},
            says="the first step costs nothing here: every step costs the slope",
            gravity="idea",
        ),
        Mistake(
            "mask inside",
            change={
                "return -slopes[:, None, None] * distance": "return (-slopes[:, None, None] * distance).masked_fill(q_positions[:, None] < k_positions, -torch.inf)"
            },
            says="keys in the future are hidden here: that is the mask's job, the bias looks both ways",
            gravity="part",
        ),
        Mistake(
            "keys negated in place",
            change={"(q_positions[:, None] - k_positions[None, :])": "(q_positions[:, None] + k_positions.neg_()[None, :])"},
            hint="your code changes its input in place",
            gravity="edge",
        ),
    ],
    "t5-bucket": [
        Mistake(
            "logarithm of r alone",
            change={
                "torch.log(r.clamp(min=exact) / exact) / math.log(max_distance / exact)": "torch.log(r.clamp(min=exact).float()) / math.log(max_distance)"
            },
            says="the logarithms are not those of r/E and r_max/E: divide by E first",
            gravity="idea",
        ),
        Mistake(
            "one direction always",
            change={"if bidirectional:": "if False:"},
            says="`bidirectional` is not used: with it, past and future have separate buckets",
            gravity="part",
        ),
        Mistake(
            "halved to a float",
            change={"buckets = buckets // 2\n        side": "buckets = buckets / 2\n        side"},
            hint="in both directions, too, buckets are whole numbers: halve with `//`",
            gravity="edge",
        ),
        Mistake(
            "sign, one direction",
            change={"(-distance).clamp": "distance.clamp"},
            says="the past is negative: a key before the query has a negative distance, and r is minus the distance",
            gravity="idea",
        ),
        Mistake(
            "no last bucket",
            change={"far.clamp(max=buckets - 1)": "far"},
            says="there are buckets beyond N − 1: everything from r_max on falls into the last one",
            gravity="part",
        ),
        Mistake(
            "rounded",
            change={"(share * (buckets - exact)).long()": "(share * (buckets - exact)).round().long()"},
            says="the logarithm is rounded to the nearest integer: round it down",
            gravity="idea",
        ),
        Mistake(
            "always halved",
            change={"else:\n        r =": "else:\n        buckets = buckets // 2\n        r ="},
            says="one direction has all the buckets: the halving is for both directions only",
            gravity="idea",
        ),
        Mistake(
            "past and future exchanged",
            change={"distance > 0": "distance < 0"},
            says="past and future are exchanged: N/2 is added where the distance is positive",
            gravity="part",
        ),
        Mistake(
            "zero in the future",
            change={"distance > 0": "distance >= 0"},
            says="distance 0 belongs to the first half: N/2 is added where the distance is greater than 0",
            gravity="part",
        ),
        Mistake(
            "sign lost",
            change={"return side + torch": "return torch"},
            says="the sign is lost: past and future need separate buckets",
            gravity="part",
        ),
        Mistake(
            "absolute value in one direction",
            change={"(-distance).clamp(min=0)": "distance.abs()"},
            says="one direction: keys in the future are treated as keys in the past; they all fall into bucket 0",
            gravity="part",
        ),
        Mistake(
            "not halved",
            change={"buckets = buckets // 2\n        side = (distance > 0) * buckets": "side = (distance > 0) * (buckets // 2)"},
            says="each direction has half of the buckets: use N/2 in the formula, too",
            gravity="part",
        ),
        Mistake(
            "max_distance ignored",
            change={"max_distance / exact": "128 / exact"},
            says="the argument `max_distance` is not used",
            gravity="part",
        ),
        Mistake(
            "rounded up",
            change={"(share * (buckets - exact)).long()": "(share * (buckets - exact)).ceil().long()"},
            says="the logarithm is rounded up: round it down",
            gravity="idea",
        ),
        Mistake(
            "floats", change={".long()": ".floor()"}, hint="buckets are rows of a table: whole numbers, an integer tensor", gravity="edge"
        ),
        Mistake(
            "buckets ignored",
            change={"    exact = buckets // 2": "    buckets = 16 if bidirectional else 32\n    exact = buckets // 2"},
            says="the argument `buckets` is not used",
            gravity="part",
        ),
        Mistake(
            "the future negative",
            change={"(-distance).clamp(min=0)": "(-distance)"},
            says="one direction: keys in the future get negative buckets; they all fall into bucket 0",
            gravity="part",
        ),
        Mistake(
            "in place",
            change={"r = distance.abs()": "r = distance.abs_()"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Right(
            "loops",
            code="""
def t5_bucket(distance, bidirectional, buckets=32, max_distance=128):
    n = buckets // 2 if bidirectional else buckets
    e = n // 2
    def one(x):
        r = abs(x) if bidirectional else max(-x, 0)
        b = r if r < e else min(n - 1, e + math.floor((n - e) * math.log(r / e) / math.log(max_distance / e)))
        return b + (n if bidirectional and x > 0 else 0)
    return torch.tensor([one(x) for x in distance.flatten().tolist()]).view(distance.shape)
""",
        ),
        Right(
            "edges and bucketize",
            code="""
def t5_bucket(distance, bidirectional, buckets=32, max_distance=128):
    n = buckets // 2 if bidirectional else buckets
    e = n // 2
    edges = torch.tensor([float(b) for b in range(1, e + 1)] + [e * (max_distance / e) ** (s / (n - e)) for s in range(1, n - e)])
    r = distance.abs() if bidirectional else torch.relu(-distance)
    return torch.bucketize(r.float() + 1e-4, edges, right=True) + (n * (distance > 0) if bidirectional else 0)
""",
        ),
        Mistake(
            "binary logarithm above",
            change={"torch.log(r": "torch.log2(r"},
            says="two kinds of logarithm are mixed: use the same one above and below",
            gravity="idea",
        ),
        Mistake(
            "log of r_max alone",
            change={"math.log(max_distance / exact)": "math.log(max_distance)"},
            says="below stands log r_max: it is log(r_max / E)",
            gravity="idea",
        ),
        Mistake(
            "N steps instead of N - E",
            change={"share * (buckets - exact)": "share * buckets"},
            says="the logarithm is spread over N buckets: only N − E are left",
            gravity="idea",
        ),
        Mistake(
            "one exact bucket less",
            change={"exact = buckets // 2": "exact = buckets // 2 - 1"},
            says="there is one exact bucket too few: E is N/2",
            gravity="idea",
        ),
        Mistake(
            "last bucket N - 2",
            change={"clamp(max=buckets - 1)": "clamp(max=buckets - 2)"},
            says="the last bucket is never used: the largest number is N − 1",
            gravity="idea",
        ),
        Mistake(
            "last bucket N",
            change={"clamp(max=buckets - 1)": "clamp(max=buckets)"},
            says="there is one bucket too many: the last one is N − 1, not N",
            gravity="part",
        ),
        Mistake(
            "far buckets equally wide",
            change={
                "torch.log(r.clamp(min=exact) / exact) / math.log(max_distance / exact)": "(r.clamp(min=exact) - exact) / (max_distance - exact)"
            },
            says="the far buckets are equally wide here: they grow, by the logarithm",
            gravity="idea",
        ),
        Mistake(
            "past and present in the second half",
            change={"distance > 0": "distance <= 0"},
            says="N/2 is added for the past: it is added where the distance is positive, the future",
            gravity="part",
        ),
    ],
    "t5-bias": [
        Mistake(
            "one direction always",
            change={"distance, bidirectional,": "distance, False,"},
            says="the argument `bidirectional` is not used",
            gravity="idea",
        ),
        Mistake(
            "heads counted for buckets",
            change={"len(table), max_distance": "table.shape[1], max_distance"},
            says="the number of heads is taken for the number of buckets: the table has a row for each bucket",
            gravity="idea",
        ),
        Mistake(
            "positions not used",
            change={
                "k_positions[None, :] - q_positions[:, None]": "torch.arange(len(k_positions))[None] - torch.arange(len(q_positions))[:, None]"
            },
            says="the given positions are not used: they need not be 0, 1, 2, …",
            gravity="idea",
        ),
        Mistake(
            "axes",
            change={".permute(2, 0, 1)": ""},
            says="the head is the last axis here: the axes are head, query, key, as in the scores",
            gravity="idea",
        ),
        Mistake(
            "sign",
            change={"k_positions[None, :] - q_positions[:, None]": "q_positions[:, None] - k_positions[None, :]"},
            says="the sign is wrong: the distance is the key's position minus the query's",
            gravity="idea",
        ),
        Mistake(
            "always 32 buckets",
            change={"len(table), max_distance": "32, max_distance"},
            says="the number of buckets is left at 32: there are as many as the table has rows",
            gravity="idea",
        ),
        Mistake(
            "bidirectional ignored",
            change={"(distance, bidirectional,": "(distance, True,"},
            says="the argument `bidirectional` is not used",
            gravity="part",
        ),
        Mistake(
            "max_distance ignored",
            change={"len(table), max_distance": "len(table)"},
            says="`max_distance` is not passed on",
            gravity="part",
        ),
        Mistake(
            "table detached",
            change={"table[t5": "table.detach()[t5"},
            says="no gradient reaches the table, which is detached: then it cannot be learned",
            gravity="part",
        ),
        Mistake(
            "always 8 buckets",
            change={"len(table)": "8"},
            says="the number of buckets is always 8: there are as many as the table has rows",
            gravity="idea",
        ),
        Mistake(
            "first head for all",
            change={".permute(2, 0, 1)": ".permute(2, 0, 1)[:1].expand(table.shape[1], -1, -1)"},
            says="every head gets the first column of the table: each has its own",
            gravity="idea",
        ),
        Right(
            "einsum",
            change={
                "table[t5_bucket(distance, bidirectional, len(table), max_distance)].permute(2, 0, 1)": 'torch.einsum("nmb,bh->hnm", torch.nn.functional.one_hot(t5_bucket(distance, bidirectional, len(table), max_distance), len(table)).to(table.dtype), table)'
            },
        ),
        Right(
            "head by head",
            change={
                "table[t5_bucket(distance, bidirectional, len(table), max_distance)].permute(2, 0, 1)": "torch.stack([column[t5_bucket(distance, bidirectional, len(table), max_distance)] for column in table.T])"
            },
        ),
        Mistake(
            "scaled",
            change={".permute(2, 0, 1)": ".permute(2, 0, 1) / table.shape[1] ** 0.5"},
            says="the bias is divided by a root: it is the entry of the table itself",
            gravity="idea",
        ),
        Mistake(
            "key and query exchanged",
            change={".permute(2, 0, 1)": ".permute(2, 1, 0)"},
            says="query and key are exchanged: the axes are head, query, key",
            gravity="idea",
        ),
        Mistake(
            "reshaped",
            change={".permute(2, 0, 1)": ".reshape(table.shape[1], len(q_positions), len(k_positions))"},
            says="reshape does not move axes, it cuts the numbers anew: use permute",
            gravity="idea",
        ),
        Mistake(
            "heads taken for buckets",
            change={"len(table)": "max(table.shape[1], 4)"},
            says="the number of heads is taken for the number of buckets: the table has a row for each bucket",
            gravity="idea",
        ),
        Mistake(
            "twice the buckets",
            change={"len(table)": "2 * len(table)"},
            says="there are twice as many buckets as rows: the rows of the table are all buckets, of both directions",
            gravity="idea",
        ),
        Mistake(
            "queries count for themselves",
            change={"q_positions[:, None]": "torch.arange(len(q_positions))[:, None]"},
            says="the queries' positions are not used: they need not be 0, 1, 2, …",
            gravity="idea",
        ),
        Mistake(
            "at most 32 far",
            change={"max_distance)]": "min(max_distance, 32))]"},
            says="`max_distance` is cut at 32: pass it on as it is",
            gravity="part",
        ),
    ],
    "bonus-shaw-lean": [
        Mistake(
            "queries and keys exchanged",
            change={"relative_index(q_positions, k_positions,": "relative_index(k_positions, q_positions,"},
            says="queries and keys are exchanged in the index: rows are queries",
            gravity="idea",
        ),
        Right(
            "query by query",
            code="""
def shaw_bias_lean(q, table, q_positions, k_positions):
    rows = relative_index(q_positions, k_positions, len(table) // 2)
    return torch.stack([(table @ query)[row] for query, row in zip(q, rows)]) / q.shape[-1] ** 0.5
""",
        ),
        Mistake(
            "the cube",
            change={"return products.gather(": "return shaw_bias(q, table, q_positions, k_positions) + 0 * products.gather("},
            hint="multiply with the table first, then gather",
            gravity="idea",
        ),
        Mistake("not scaled", change={" / q.shape[-1] ** 0.5": ""}, says="the products are not divided by the root of d", gravity="idea"),
        Mistake("before and after exchanged", change={"table.T": "table.flip(0).T"}, says="before and after are exchanged", gravity="idea"),
        Mistake(
            "first query for all",
            change={
                "products.gather(-1, relative_index(q_positions, k_positions, len(table) // 2))": "products[0][relative_index(q_positions, k_positions, len(table) // 2)]"
            },
            says="every query gets the products of the first one: gather along the last axis",
            gravity="idea",
        ),
        Mistake(
            "divided by a fixed 2",
            change={"q.shape[-1] ** 0.5": "2"},
            says="the products are divided by 2, a fixed number: take the root of the width of q",
            gravity="idea",
        ),
        Mistake(
            "positions ignored",
            change={
                "relative_index(q_positions, k_positions": "relative_index(torch.arange(len(q_positions)), torch.arange(len(k_positions))"
            },
            says="queries and keys are counted 0, 1, 2, …: use the positions that are given",
            gravity="part",
        ),
        Mistake(
            "table detached",
            change={"q @ table.T": "q @ table.detach().T"},
            hint="tensor 2 of 2 gets no gradient, because it is detached or not used",
            gravity="part",
        ),
        Right("take along", change={"products.gather(-1, relative": "torch.take_along_dim(products, dim=-1, indices=relative"}),
        Right(
            "row by row",
            change={
                "products.gather(-1, relative_index(q_positions, k_positions, len(table) // 2))": "torch.stack([row[relative_index(p[None], k_positions, len(table) // 2)[0]] for row, p in zip(products, q_positions)])"
            },
        ),
        Mistake(
            "root of the number of rows",
            change={"q.shape[-1] ** 0.5": "len(table) ** 0.5"},
            says="you divide by the root of the number of rows: use the width of a query",
            gravity="idea",
        ),
        Mistake(
            "clip too small",
            change={"len(table) // 2)": "len(table) // 2 - 1)"},
            says="you clip one too early: a table of 2c + 1 rows has clip c",
            gravity="idea",
        ),
        Mistake(
            "first row of distances for all",
            change={
                "products.gather(-1, relative_index(q_positions, k_positions, len(table) // 2))": "products[:, relative_index(q_positions, k_positions, len(table) // 2)[0]]"
            },
            says="every query picks the rows of the first one: gather along the last axis, with an index for each query",
            gravity="idea",
        ),
        Mistake(
            "query detached",
            change={"q @ table.T": "q.detach() @ table.T"},
            hint="tensor 1 of 2 gets no gradient, because it is detached or not used",
            gravity="part",
        ),
    ],
}

# Mutants that `course verify --mutate` makes and that are no mistakes.
NOTHING_LEARNED = "made of positions and sizes alone: nothing that is learned stands in front of it"
EQUIVALENT = {
    "equivariance-gap": {
        "gradient: *": "the gap is a number to look at: no model is trained through it",
        "order: f(x[order]) - f(x)[order] → *": "the absolute value does not see which of the two is subtracted",
        "state: *, the first result of these shapes": "the function is part of what is remembered, and every call has another one",
    },
    "frequencies": {"gradient: *": NOTHING_LEARNED},
    "sinusoidal": {"gradient: *": NOTHING_LEARNED},
    "sinusoidal-product": {"gradient: *": NOTHING_LEARNED},
    "shift-matrix": {"gradient: *": NOTHING_LEARNED},
    "stretched": {"gradient: *": NOTHING_LEARNED},
    "alibi-slopes": {"gradient: *": NOTHING_LEARNED}
    | dict.fromkeys(
        ["sign: 2 * N + 1 → 2 * N - 1", "number: 2 → 3 #2", "number: 1 → * #5", "left out: 2 * N + 1 → 2 * N"],
        "of the slopes in between only the first H − N are used, and all of these have them: how many more there are makes no difference",
    ),
    "alibi-bias": {
        "gradient: *": "the slopes are fixed, not learned, and nothing else stands in front of the bias",
        "order: q_positions* - k_positions*": "the absolute value does not see which of the two is subtracted",
    },
    "t5-bucket": {
        "comparison: r < exact → r <= exact": "at r = E the logarithm is 0: both formulas give E",
        "left out: without clamp of r": "the logarithm of the near distances is not used, whatever it is",
    },
    "bonus-shaw-lean": {"sign: -1 → 1*": "q has two axes here, and the products, too: axis 1 is the last one"},
}
