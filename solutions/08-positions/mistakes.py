"""Wrong answers that the tests of 08-positions must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

IN_PLACE = "your code changes its input in place"

VARIANTS = {
    "attend": [
        Mistake(
            "bias scaled, too",
            change={"scores + bias": "scores + bias / q.shape[-1] ** 0.5"},
            hint="the bias is divided by the root of the width together with the scores",
            gravity="idea",
        ),
        Mistake("bias subtracted", change={"scores + bias": "scores - bias"}, hint="the bias is subtracted: add it", gravity="idea"),
        Mistake(
            "bias multiplied",
            change={"scores + bias": "scores * bias"},
            hint="the scores are multiplied by the bias: it must be added",
            gravity="idea",
        ),
        Mistake(
            "mask the wrong way round",
            change={"~mask": "mask"},
            hint="the mask is read the wrong way round: True means that looking is allowed",
            gravity="part",
        ),
        Mistake("no scale", change={" / q.shape[-1] ** 0.5": ""}, hint="the scores are not scaled", gravity="idea"),
        Mistake(
            "bias without mask only",
            change={"if mask is not None": "if bias is None and mask is not None"},
            hint="the mask is ignored where there is a bias",
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
            hint="the bias is added to the weights, after the softmax",
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
            hint="the weights are set to 0 after the softmax",
            gravity="part",
        ),
        Mistake("bias detached", change={"scores + bias": "scores + bias.detach()"}, hint="a learned bias needs them, too", gravity="part"),
        Mistake(
            "a fixed root of 8",
            change={"q.shape[-1] ** 0.5": "8 ** 0.5"},
            hint="you divide by a fixed number, √8: take the width from the query",
            gravity="idea",
        ),
        Mistake(
            "root of the number of keys",
            change={"q.shape[-1] ** 0.5": "k.shape[-2] ** 0.5"},
            hint="you divide by the root of the number of keys: use the width of a query",
            gravity="idea",
        ),
        Mistake(
            "mask multiplies scores",
            change={"scores.masked_fill(~mask, -torch.inf)": "scores * mask"},
            hint="forbidden scores become 0, and e⁰ is 1: they must become −∞",
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
    ],
    "equivariance-gap": [
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
            hint="you shuffle f(x) the other way round",
            gravity="idea",
        ),
        Mistake("mean", change={".max()": ".mean()"}, hint="that is the mean", gravity="idea"),
        Mistake("no absolute value", change={".abs()": ""}, hint="take absolute values before the maximum", gravity="idea"),
        Mistake("norm", change={".abs().max()": ".norm()"}, hint="that is a norm of all the differences", gravity="idea"),
        Mistake(
            "f never sees the shuffled rows", change={"f(x[order])": "f(x)"}, hint="f is never given the shuffled rows", gravity="idea"
        ),
        Mistake("squared", change={".abs().max()": ".pow(2).max()"}, hint="that is a square: take the absolute value", gravity="idea"),
        Mistake(
            "first row only",
            change={".abs().max()": "[0].abs().max()"},
            hint="this is the largest difference in the first row only",
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
    ],
    "frequencies": [
        Mistake(
            "tensor2tensor's spacing",
            change={"-torch.arange(0, D, 2) / D": "-torch.arange(D // 2) / max(D // 2 - 1, 1)"},
            hint="the last frequency is already 1/base: it should take one more step to get there",
            gravity="idea",
        ),
        Mistake(
            "half the exponent",
            change={"torch.arange(0, D, 2)": "torch.arange(D // 2)"},
            hint="the frequencies fall too slowly: 1/base would be reached after D steps, but there are D/2",
            gravity="idea",
        ),
        Mistake("sign", change={"(-torch": "(torch"}, hint="the frequencies rise; they must fall", gravity="idea"),
        Mistake("base ignored", change={"return base **": "return 10000.0 **"}, hint="the argument `base` is not used", gravity="part"),
        Mistake(
            "i from 1",
            change={"torch.arange(0, D, 2)": "torch.arange(2, D + 2, 2)"},
            hint="the first frequency is 1: one factor too many",
            gravity="idea",
        ),
        Mistake(
            "one for each column", change={"torch.arange(0, D, 2)": "torch.arange(D)"}, hint="one for each pair of columns", gravity="idea"
        ),
        Mistake(
            "doubled",
            change={"torch.arange(0, D, 2)": "2 * torch.arange(0, D, 2)"},
            hint="the frequencies fall too fast: 1/base would be reached after D/4 steps, but there are D/2",
            gravity="idea",
        ),
        Mistake(
            "a fixed D",
            change={"torch.arange(0, D, 2) / D": "torch.arange(0, D, 2) / 8"},
            hint="the factor is 0.1 whatever D is: it depends on D",
            gravity="idea",
        ),
        Mistake(
            "equal steps",
            change={"base ** (-torch.arange(0, D, 2) / D)": "torch.linspace(1, 1 / base, D // 2)"},
            hint="for D = 8 there are four, 1, 0.1, 0.01 and 0.001: one more factor of 0.1 would give 1/10000",
            gravity="idea",
        ),
        Mistake(
            "both ends included",
            change={"base ** (-torch.arange(0, D, 2) / D)": "torch.logspace(0, -math.log10(base), D // 2)"},
            hint="the last frequency is already 1/base: it should take one more step to get there",
            gravity="idea",
        ),
        Right(
            "by the exponential",
            change={"base ** (-torch.arange(0, D, 2) / D)": "torch.exp(torch.arange(0, D, 2) * (-math.log(base) / D))"},
        ),
        Right("a list", change={"base ** (-torch.arange(0, D, 2) / D)": "torch.tensor([1 / base ** (2 * i / D) for i in range(D // 2)])"}),
        Right("float64", change={"torch.arange(0, D, 2)": "torch.arange(0, D, 2, dtype=torch.float64)"}),
    ],
    "sinusoidal": [
        Mistake(
            "halves along axis 1",
            change={"torch.cat([angles.sin(), angles.cos()], dim=-1)": "torch.cat([angles.sin(), angles.cos()], dim=1)"},
            hint="layout halves: positions of shape (2, 3) give (2, 3, D)",
            gravity="part",
        ),
        Mistake("layouts exchanged", change={'layout == "halves"': 'layout != "halves"'}, hint="this is the other layout", gravity="idea"),
        Mistake("layout ignored", change={'layout == "halves"': "False"}, hint="the argument `layout` is not used", gravity="part"),
        Mistake(
            "cosine first",
            change={"stack([angles.sin(), angles.cos()]": "stack([angles.cos(), angles.sin()]"},
            hint="cosines come first",
            gravity="idea",
        ),
        Mistake(
            "cosine first in halves",
            change={"cat([angles.sin(), angles.cos()]": "cat([angles.cos(), angles.sin()]"},
            hint="in halves the sines come first",
            gravity="part",
        ),
        Mistake("base ignored", change={"frequencies(D, base)": "frequencies(D)"}, hint="the argument `base` is not used", gravity="part"),
        Mistake(
            "positions from 1",
            change={"positions[..., None]": "(positions[..., None] + 1)"},
            hint="positions are counted from 1",
            gravity="idea",
        ),
        Mistake(
            "counts for itself",
            change={"positions[..., None]": "torch.arange(len(positions))[:, None]"},
            hint="the argument `positions` is not used: it need not be 0, 1, 2, …",
            gravity="idea",
        ),
        Mistake(
            "a frequency for each column",
            change={
                "torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)": "torch.stack([angles.sin(), (angles * base ** (-1 / D)).cos()], dim=-1).flatten(-2)"
            },
            hint="every column has its own frequency",
            gravity="idea",
        ),
        Mistake(
            "base ignored in halves",
            change={'    if layout == "halves":\n': '    if layout == "halves":\n        angles = positions[..., None] * frequencies(D)\n'},
            hint="the argument `base` is not used in the layout halves",
            gravity="part",
        ),
        Mistake(
            "positions flattened",
            change={"angles = positions[..., None]": "angles = positions.flatten()[:, None]"},
            hint="positions may have any shape: (2, 3) gives (2, 3, D)",
            gravity="part",
        ),
        Mistake(
            "positions moved to 0",
            change={"positions[..., None]": "(positions - positions.min())[..., None]"},
            hint="positions are moved to start at 0; they are used as they are given",
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
    ],
    "sinusoidal-product": [
        Mistake("mean", change={".sum(": ".mean("}, hint="you took the mean over the pairs", gravity="idea"),
        Mistake("sines", change={".cos()": ".sin()"}, hint="these are sines", gravity="idea"),
        Mistake("twice", change={"return (": "return 2 * ("}, hint="each pair counts twice", gravity="idea"),
        Mistake("base ignored", change={"frequencies(D, base)": "frequencies(D)"}, hint="the argument `base` is not used", gravity="part"),
        Mistake("no sum", change={".sum(dim=-1)": ""}, hint="one number for each distance", gravity="idea"),
        Mistake(
            "divided by D", change={".sum(dim=-1)": ".sum(dim=-1) / D"}, hint="you divide by D; an inner product is a sum", gravity="idea"
        ),
        Mistake(
            "a fixed D",
            change={"frequencies(D, base)": "frequencies(4, base)"},
            hint="for D = 10 it is not the inner product of two sinusoidal vectors",
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
    ],
    "shift-matrix": [
        Mistake(
            "backwards",
            change={"stack([c, s])": "stack([c, -s])", "stack([-s, c])": "stack([s, c])"},
            hint="the step goes backwards",
            gravity="idea",
        ),
        Mistake("base ignored", change={"frequencies(D, base)": "frequencies(D)"}, hint="the argument `base` is not used", gravity="part"),
        Mistake(
            "for halves",
            code="""
def shift_matrix(r, D, base=10000.0):
    a = r * frequencies(D, base)
    c, s = torch.diag(a.cos()), torch.diag(a.sin())
    return torch.cat([torch.cat([c, s], 1), torch.cat([-s, c], 1)])
""",
            hint="this matrix is for the layout `halves`",
            gravity="idea",
        ),
        Mistake(
            "cosine first",
            change={"stack([c, s])": "stack([s, c])", "stack([-s, c])": "stack([c, -s])"},
            hint="a step of 0 changes nothing",
            gravity="idea",
        ),
        Mistake("both signs plus", change={"stack([-s, c])": "stack([s, c])"}, hint="three steps on and three steps back", gravity="idea"),
        Mistake(
            "one frequency for all",
            change={"r * frequencies(D, base)": "[torch.tensor(float(r))] * (D // 2)"},
            hint="all blocks turn by the same angle: pair i has the frequency ω_i",
            gravity="idea",
        ),
        Mistake("r ignored", change={"r * frequencies": "1 * frequencies"}, hint="the step is 1 whatever r is", gravity="idea"),
        Mistake(
            "sign of r lost",
            change={"r * frequencies": "abs(r) * frequencies"},
            hint="the step goes backwards: the signs of the sines are exchanged",
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
    ],
    "learned": [
        Mistake("start ignored", change={"table[start : start + T]": "table[:T]"}, hint="`start` is not used", gravity="part"),
        Mistake("off by one", change={"start + T > len": "start + T >= len"}, hint="look at `>` and `>=`", gravity="edge"),
        Mistake(
            "wraps round",
            change={
                "if start + T > len(table):": "if False:",
                "table[start : start + T]": "table[torch.arange(start, start + T) % len(table)]",
            },
            hint="seven positions, six rows",
            gravity="part",
        ),
        Mistake("T alone", change={"start + T > len": "T > len"}, hint="compare start + T, not T alone", gravity="edge"),
        Mistake(
            "one row for all", change={"table[start : start + T]": "table[start]"}, hint="the same row is added everywhere", gravity="idea"
        ),
        Mistake("table detached", change={"+ table[": "+ table.detach()["}, hint="do not reach the table", gravity="part"),
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
            hint="the rows follow the batch axis: they belong to the positions, axis 1",
            gravity="idea",
        ),
        Mistake(
            "another exception",
            change={"raise ValueError": "raise IndexError"},
            hint="seven positions, six rows: raise a ValueError",
            gravity="part",
        ),
        Mistake(
            "clipped to the last row",
            change={
                "if start + T > len(table):": "if False:",
                "table[start : start + T]": "table[torch.arange(start, start + T).clamp(max=len(table) - 1)]",
            },
            hint="seven positions, six rows: raise a ValueError",
            gravity="part",
        ),
        Right("embedding", change={"table[start : start + T]": "torch.nn.functional.embedding(torch.arange(start, start + T), table)"}),
        Right("a loop", change={"x + table[start : start + T]": "torch.stack([x[:, t] + table[start + t] for t in range(T)], 1)"}),
    ],
    "relative-index": [
        Mistake("clip fixed", change={"clamp(-clip, clip)": "clamp(-2, 2)"}, hint="you clip at 2, whatever `clip` is", gravity="idea"),
        Mistake(
            "sign",
            change={"k_positions[None, :] - q_positions[:, None]": "q_positions[:, None] - k_positions[None, :]"},
            hint="the sign is wrong",
            gravity="idea",
        ),
        Mistake(
            "clip not added",
            change={"clamp(-clip, clip) + clip": "clamp(-clip, clip)"},
            hint="a negative index counts from the end of the table, without any error: row 0 is for −c",
            gravity="idea",
        ),
        Mistake("not clipped", change={".clamp(-clip, clip)": ""}, hint="the distances are not clipped", gravity="part"),
        Mistake("sign lost", change={"distance.clamp": "distance.abs().clamp"}, hint="the sign of the distance is lost", gravity="idea"),
        Mistake(
            "counts for itself",
            change={
                "k_positions[None, :] - q_positions[:, None]": "torch.arange(len(k_positions))[None, :] - torch.arange(len(q_positions))[:, None]"
            },
            hint="use the positions that are given",
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
            hint="clip 1 leaves three rows: everything before is row 0, everything after is row 2",
            gravity="part",
        ),
        Right(
            "loops",
            change={
                "distance.clamp(-clip, clip) + clip": "torch.tensor([[max(0, min(2 * clip, int(x) + clip)) for x in row] for row in distance])"
            },
        ),
        Right("clipped at the end", change={"distance.clamp(-clip, clip) + clip": "torch.clip(distance + clip, 0, 2 * clip)"}),
    ],
    "shaw-bias": [
        Mistake("not scaled", change={" / q.shape[-1] ** 0.5": ""}, hint="the products are not divided by the root of d", gravity="idea"),
        Mistake("scaled by d", change={" / q.shape[-1] ** 0.5": " / q.shape[-1]"}, hint="divided by d, not by its root", gravity="idea"),
        Mistake(
            "before and after exchanged",
            change={"(q_positions, k_positions, len(table) // 2)": "(q_positions, k_positions, len(table) // 2).sub(len(table) - 1).neg()"},
            hint="before and after are exchanged",
            gravity="idea",
        ),
        Mistake(
            "clip too small",
            change={"len(table) // 2)": "len(table) // 2 - 1)"},
            hint="a table of 7 rows has clip 3: you clip at 2",
            gravity="idea",
        ),
        Mistake(
            "wrong query",
            change={'"...nd,nmd->...nm", q, vectors': '"...md,nmd->...nm", q, vectors[:, : q.shape[-2]]'},
            hint="multiplied with the wrong query",
            gravity="idea",
        ),
        Mistake(
            "one axis in front",
            change={'"...nd,nmd->...nm"': '"nd,nmd->nm"'},
            hint="there may be any number of axes in front",
            gravity="part",
        ),
        Mistake("table detached", change={"table[relative": "table.detach()[relative"}, hint="do not reach the table", gravity="part"),
        Mistake(
            "divided by a fixed 2",
            change={"q.shape[-1] ** 0.5": "2"},
            hint="the products are divided by 2, a fixed number: take the root of the width of q",
            gravity="idea",
        ),
        Mistake(
            "a fixed clip",
            change={"len(table) // 2": "1"},
            hint="a table of 7 rows has clip 3, and you clip at 1, as if it had three rows",
            gravity="idea",
        ),
        Mistake(
            "positions ignored",
            change={
                "relative_index(q_positions, k_positions": "relative_index(torch.arange(len(q_positions)), torch.arange(len(k_positions))"
            },
            hint="queries at 9, 30 and 2: use the positions that are given. Beyond the clip all keys share the first or the last row",
            gravity="part",
        ),
        Right("multiply and sum", change={'torch.einsum("...nd,nmd->...nm", q, vectors)': "(q[..., None, :] * vectors).sum(-1)"}),
        Right(
            "products first",
            change={
                'torch.einsum("...nd,nmd->...nm", q, vectors)': "torch.stack([(q[..., i, :] @ vectors[i].T) for i in range(len(q_positions))], -2)"
            },
        ),
    ],
    "rope": [
        Mistake(
            "halves along axis 1",
            change={"x.chunk(2, dim=-1)": "x.chunk(2, dim=1)", "torch.cat(turned, dim=-1)": "torch.cat(turned, dim=1)"},
            hint="your code raised",
            gravity="part",
        ),
        Mistake(
            "the other way",
            change={"a * cos - b * sin, a * sin + b * cos": "a * cos + b * sin, b * cos - a * sin"},
            hint="you turn the other way",
            gravity="idea",
        ),
        Mistake("pairing ignored", change={'pairing == "interleaved"': "True"}, hint="the argument `pairing` is not used", gravity="part"),
        Mistake(
            "pairings exchanged",
            change={'pairing == "interleaved"': 'pairing != "interleaved"'},
            hint="interleaved: the columns are paired as in halves",
            gravity="idea",
        ),
        Mistake(
            "positions ignored",
            change={"positions[..., None]": "torch.arange(x.shape[-2])[:, None]"},
            hint="`positions` is not used: it need not be 0, 1, 2, …",
            gravity="idea",
        ),
        Mistake(
            "base ignored",
            change={"frequencies(x.shape[-1], base)": "frequencies(x.shape[-1])"},
            hint="the argument `base` is not used",
            gravity="part",
        ),
        Mistake(
            "both signs plus",
            change={"a * cos - b * sin": "a * cos + b * sin"},
            hint="interleaved: both sines have a plus; a rotation has one minus, in a′ = a cos − b sin",
            gravity="idea",
        ),
        Mistake(
            "positions shifted to start at 0",
            change={"positions[..., None]": "(positions - positions[..., :1])[..., None]"},
            hint="`positions` is moved to start at 0: use the numbers that are given",
            gravity="idea",
        ),
        Mistake(
            "put back as halves",
            change={"torch.stack(turned, dim=-1).flatten(-2)": "torch.cat(turned, dim=-1)"},
            hint="interleaved: the turned columns are put back as in halves; each has its own place",
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
            hint="interleaved: every column must have the angle of its own pair; these are laid out for halves",
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
            hint="interleaved: b′ is made from the new a′, because a has been overwritten: write into a new tensor",
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
            hint="interleaved: b′ is made from the new a′, because a has been overwritten: write into a new tensor",
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
            hint="halves: you turn the other way; a′ = a cos − b sin, b′ = a sin + b cos",
            gravity="part",
        ),
        Mistake(
            "one row of positions for all",
            change={"positions[..., None]": "positions.flatten()[: x.shape[-2], None]"},
            hint="positions of shape (B, 1, T): a sequence is not turned by its own positions",
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
    ],
    "rope-score": [
        Mistake(
            "sign of the sine", change={"(q0 * k1 - q1 * k0)": "(q1 * k0 - q0 * k1)"}, hint="the sign of the sine is wrong", gravity="idea"
        ),
        Mistake("no sine", change={" + (q0 * k1 - q1 * k0) * angles.sin()": ""}, hint="the part with the sine is missing", gravity="idea"),
        Mistake(
            "cross terms added",
            change={"q0 * k1 - q1 * k0": "q0 * k1 + q1 * k0"},
            hint="q_0 k_1 and q_1 k_0 have opposite signs",
            gravity="idea",
        ),
        Mistake(
            "distance without a sign",
            change={"r[..., None]": "r.abs()[..., None]"},
            hint="the sign of the distance is lost",
            gravity="idea",
        ),
        Mistake(
            "base ignored",
            change={"frequencies(len(q), base)": "frequencies(len(q))"},
            hint="the argument `base` is not used",
            gravity="part",
        ),
        Mistake("mean", change={".sum(dim=-1)": ".mean(dim=-1)"}, hint="the pairs are summed, not averaged", gravity="idea"),
        Mistake(
            "scaled", change={".sum(dim=-1)": ".sum(dim=-1) / len(q) ** 0.5"}, hint="not divided by the root of d here", gravity="idea"
        ),
        Mistake(
            "halves pairs",
            change={"q[0::2], q[1::2], k[0::2], k[1::2]": "*q.chunk(2), *k.chunk(2)"},
            hint="columns i and i + d/2 are paired; here the pairs are interleaved",
            gravity="idea",
        ),
        Mistake(
            "first pair only",
            change={".sum(dim=-1)": "[..., 0]"},
            hint="only the first pair is counted: sum over all pairs",
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
    ],
    "pairing-order": [
        Mistake(
            "the way back",
            change={"torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.arange(d).view(2, -1).T.flatten()"},
            hint="this is the way back",
            gravity="idea",
        ),
        Mistake(
            "nothing",
            change={"torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.arange(d)"},
            hint="nothing is reordered",
            gravity="idea",
        ),
        Mistake(
            "odd columns first",
            change={"torch.arange(0, d, 2), torch.arange(1, d, 2)": "torch.arange(1, d, 2), torch.arange(0, d, 2)"},
            hint="the second columns of the pairs come first",
            gravity="idea",
        ),
        Mistake(
            "second half reversed",
            change={"torch.arange(1, d, 2)": "torch.arange(1, d, 2).flip(0)"},
            hint="the second half is reversed",
            gravity="idea",
        ),
        Mistake(
            "half of it",
            change={"torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.arange(0, d, 2)"},
            hint="the shape of the result is wrong",
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
            hint="d = 10: this is not the order that turns interleaved pairs into halves",
            gravity="idea",
        ),
        Right("a list", change={"torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "[*range(0, d, 2), *range(1, d, 2)]"}),
        Right(
            "by transposing",
            change={"torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])": "torch.arange(d).view(-1, 2).T.flatten()"},
        ),
    ],
    "stretched": [
        Mistake(
            "linear: faster",
            change={"frequencies(d, base) / s": "frequencies(d, base) * s"},
            hint="linear: the frequencies are multiplied by s; they must become smaller",
            gravity="idea",
        ),
        Mistake(
            "linear: nothing",
            change={"frequencies(d, base) / s": "frequencies(d, base)"},
            hint="linear: nothing is stretched",
            gravity="idea",
        ),
        Mistake(
            "linear: by the base",
            change={"frequencies(d, base) / s": "frequencies(d, base * s)"},
            hint="linear: the base is multiplied by s",
            gravity="idea",
        ),
        Mistake(
            "linear: base ignored",
            change={"frequencies(d, base) / s": "frequencies(d) / s"},
            hint="linear: the argument `base` is not used",
            gravity="part",
        ),
        Mistake(
            "linear: whole numbers",
            change={"frequencies(d, base) / s": "frequencies(d, base) / int(s)"},
            hint="linear: s need not be a whole number",
            gravity="edge",
        ),
        Mistake(
            "how turned round",
            change={'how == "linear"': 'how == "ntk"'},
            hint="linear: this is the new base; here every frequency is divided",
            gravity="idea",
        ),
        Mistake(
            "ntk: base times s",
            change={"base * s ** (d / (d - 2))": "base * s"},
            hint="ntk: the base is multiplied by s: the slowest pair is then slowed down by less than s",
            gravity="idea",
        ),
        Mistake(
            "ntk: exponent turned round",
            change={"s ** (d / (d - 2))": "s ** ((d - 2) / d)"},
            hint="ntk: the exponent is upside down",
            gravity="idea",
        ),
        Mistake(
            "ntk: smaller base",
            change={"base * s ** (d / (d - 2))": "base / s ** (d / (d - 2))"},
            hint="ntk: the base becomes smaller",
            gravity="idea",
        ),
        Mistake(
            "ntk as linear",
            change={"frequencies(d, base * s ** (d / (d - 2)))": "frequencies(d, base) / s"},
            hint="ntk: all frequencies are divided by s; that is `linear`",
            gravity="idea",
        ),
        Mistake(
            "ntk: both",
            change={"frequencies(d, base * s ** (d / (d - 2)))": "frequencies(d, base * s ** (d / (d - 2))) / s"},
            hint="ntk: the frequencies of the new base are divided by s as well",
            gravity="idea",
        ),
        Mistake(
            "ntk: exponent d/2",
            change={"s ** (d / (d - 2))": "s ** (d / 2)"},
            hint="ntk: the exponent is d/2",
            gravity="idea",
        ),
        Mistake(
            "ntk: slowest pair only",
            change={
                "return frequencies(d, base * s ** (d / (d - 2)))": "speeds = frequencies(d, base)\n    return torch.cat([speeds[:-1], speeds[-1:] / s])"
            },
            hint="ntk: as in 2.1 each frequency falls by the same factor",
            gravity="idea",
        ),
        Mistake(
            "ntk: base ignored",
            change={"base * s ** (d / (d - 2))": "10000.0 * s ** (d / (d - 2))"},
            hint="ntk: the argument `base` is not used",
            gravity="part",
        ),
        Mistake(
            "ntk: whole numbers",
            change={"s ** (d / (d - 2))": "int(s) ** (d / (d - 2))"},
            hint="ntk: s need not be a whole number",
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
    ],
    "alibi-slopes": [
        Mistake(
            "formula for every H",
            change={"N = 2 ** (H.bit_length() - 1)": "N = H"},
            hint="the number of heads is not a power of two: do not put it into the formula; start from the largest power of two below",
            gravity="part",
        ),
        Mistake(
            "sorted",
            change={
                "return torch.cat([slopes, between[: H - N]])": "return torch.cat([slopes, between[: H - N]]).sort(descending=True).values"
            },
            hint="the slopes are sorted",
            gravity="part",
        ),
        Mistake(
            "second, fourth, …",
            change={"[0::2]": "[1::2]"},
            hint="take the first, third, fifth, … slope of 2N heads: the second, fourth, … are there already",
            gravity="part",
        ),
        Mistake("in a row", change={"[0::2]": ""}, hint="not the first ones in a row", gravity="part"),
        Mistake("h from 0", change={"torch.arange(1, N + 1)": "torch.arange(N)"}, hint="h starts at 1", gravity="idea"),
        Mistake(
            "halved each time",
            change={"(-8 * torch.arange(1, N + 1) / N)": "(-1.0 * torch.arange(1, N + 1))"},
            hint="with fewer heads the steps are larger",
            gravity="idea",
        ),
        Mistake("negative", change={"return torch": "return -torch"}, hint="slopes are positive here", gravity="idea"),
        Mistake(
            "first slopes of the next power",
            change={
                "return torch.cat([slopes, between[: H - N]])": "return slopes if H == N else (2.0 ** (-8 * torch.arange(1, 2 * N + 1) / (2 * N)))[:H]"
            },
            hint="these are the first slopes of 2N heads: start from the slopes of N heads",
            gravity="part",
        ),
        Mistake(
            "between first",
            change={"[slopes, between[: H - N]]": "[between[: H - N], slopes]"},
            hint="you put the slopes from 2N heads first; those of N heads come first",
            gravity="part",
        ),
        Mistake(
            "the first slopes again",
            change={"torch.cat([slopes, between[: H - N]])": "torch.cat([slopes, slopes[: H - N]])"},
            hint="take the first, third, fifth, … slope of 2N heads: the second, fourth, … are there already",
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
    ],
    "alibi-bias": [
        Mistake("positive", change={"-slopes": "slopes"}, hint="far keys are preferred", gravity="idea"),
        Mistake(
            "no absolute value",
            change={".abs()": ""},
            hint="one side is rewarded: the distance has a sign here. Take its absolute value",
            gravity="part",
        ),
        Mistake("squared", change={"* distance": "* distance**2"}, hint="ALiBi is linear", gravity="idea"),
        Mistake(
            "axes",
            change={"-slopes[:, None, None] * distance": "-slopes * distance[..., None]"},
            hint="the axes are head, query, key",
            gravity="idea",
        ),
        Mistake(
            "key's position alone",
            change={"-slopes[:, None, None] * distance": "slopes[:, None, None] * k_positions.expand_as(distance)"},
            hint="this uses the key's position alone",
            gravity="idea",
        ),
        Mistake("future set to 0", change={".abs()": ".clamp(min=0)"}, hint="distances in the future are set to 0", gravity="part"),
        Mistake(
            "its own slopes", change={"-slopes[:": "-alibi_slopes(len(slopes))[:"}, hint="the argument `slopes` is not used", gravity="idea"
        ),
        Mistake(
            "one slope for all",
            change={"slopes[:, None, None]": "slopes[0].expand(len(slopes), 1, 1)"},
            hint="every head has the first slope",
            gravity="idea",
        ),
        Mistake(
            "counts for itself",
            change={
                "q_positions[:, None] - k_positions[None, :]": "torch.arange(len(q_positions))[:, None] - torch.arange(len(k_positions))[None, :]"
            },
            hint="the given positions are not used: they need not be 0, 1, 2, …",
            gravity="idea",
        ),
        Right("einsum", change={"-slopes[:, None, None] * distance": 'torch.einsum("h,nm->hnm", slopes, -distance.float())'}),
        Right("stacked", change={"-slopes[:, None, None] * distance": "torch.stack([-s * distance for s in slopes])"}),
    ],
    "t5-bucket": [
        Mistake(
            "halved to a float",
            change={"buckets = buckets // 2\n        side": "buckets = buckets / 2\n        side"},
            hint="in both directions, too, buckets are whole numbers: halve with `//`",
            gravity="edge",
        ),
        Mistake("sign, one direction", change={"(-distance).clamp": "distance.clamp"}, hint="the past is negative", gravity="idea"),
        Mistake("no last bucket", change={"far.clamp(max=buckets - 1)": "far"}, hint="the last bucket is N − 1", gravity="part"),
        Mistake(
            "rounded",
            change={"(share * (buckets - exact)).long()": "(share * (buckets - exact)).round().long()"},
            hint="the logarithm is rounded",
            gravity="idea",
        ),
        Mistake(
            "always halved",
            change={"else:\n        r =": "else:\n        buckets = buckets // 2\n        r ="},
            hint="the halving is for both directions only",
            gravity="idea",
        ),
        Mistake("past and future exchanged", change={"distance > 0": "distance < 0"}, hint="past and future are exchanged", gravity="part"),
        Mistake(
            "zero in the future", change={"distance > 0": "distance >= 0"}, hint="distance 0 belongs to the first half", gravity="part"
        ),
        Mistake("sign lost", change={"return side + torch": "return torch"}, hint="the sign is lost", gravity="part"),
        Mistake(
            "absolute value in one direction",
            change={"(-distance).clamp(min=0)": "distance.abs()"},
            hint="all keys in the future fall into bucket 0",
            gravity="edge",
        ),
        Mistake(
            "not halved",
            change={"buckets = buckets // 2\n        side = (distance > 0) * buckets": "side = (distance > 0) * (buckets // 2)"},
            hint="use N/2 in the formula, too",
            gravity="part",
        ),
        Mistake(
            "max_distance ignored",
            change={"max_distance / exact": "128 / exact"},
            hint="the argument `max_distance` is not used",
            gravity="part",
        ),
        Mistake(
            "rounded up",
            change={"(share * (buckets - exact)).long()": "(share * (buckets - exact)).ceil().long()"},
            hint="the logarithm is rounded up: round it down",
            gravity="idea",
        ),
        Mistake(
            "floats", change={".long()": ".floor()"}, hint="buckets are rows of a table: whole numbers, an integer tensor", gravity="edge"
        ),
        Mistake(
            "buckets ignored",
            change={"    exact = buckets // 2": "    buckets = 16 if bidirectional else 32\n    exact = buckets // 2"},
            hint="the argument `buckets` is not used",
            gravity="part",
        ),
        Mistake(
            "the future negative",
            change={"(-distance).clamp(min=0)": "(-distance)"},
            hint="one direction: all keys in the future fall into bucket 0; the mask hides them anyway",
            gravity="edge",
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
    ],
    "t5-bias": [
        Mistake("axes", change={".permute(2, 0, 1)": ""}, hint="the axes are head, query, key, as in the scores", gravity="idea"),
        Mistake(
            "sign",
            change={"k_positions[None, :] - q_positions[:, None]": "q_positions[:, None] - k_positions[None, :]"},
            hint="the distance is the key's position minus the query's",
            gravity="idea",
        ),
        Mistake(
            "always 32 buckets",
            change={"len(table), max_distance": "32, max_distance"},
            hint="there are as many buckets as the table has rows",
            gravity="idea",
        ),
        Mistake(
            "bidirectional ignored",
            change={"(distance, bidirectional,": "(distance, True,"},
            hint="the argument `bidirectional` is not used",
            gravity="part",
        ),
        Mistake(
            "max_distance ignored", change={"len(table), max_distance": "len(table)"}, hint="is `max_distance` passed on", gravity="part"
        ),
        Mistake("table detached", change={"table[t5": "table.detach()[t5"}, hint="do not reach the table", gravity="part"),
        Mistake(
            "always 8 buckets",
            change={"len(table)": "8"},
            hint="queries at 70 and 3, keys at other places, twelve rows: the bias is wrong. Are the given positions used?",
            gravity="idea",
        ),
        Mistake(
            "first head for all",
            change={".permute(2, 0, 1)": ".permute(2, 0, 1)[:1].expand(table.shape[1], -1, -1)"},
            hint="head 2, first query, both directions, 8 rows and so 8 buckets: buckets 0, 5, 6, 6, 6",
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
    ],
    "bonus-shaw-lean": [
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
        Mistake("not scaled", change={" / q.shape[-1] ** 0.5": ""}, hint="the products are not divided by the root of d", gravity="idea"),
        Mistake("before and after exchanged", change={"table.T": "table.flip(0).T"}, hint="before and after are exchanged", gravity="idea"),
        Mistake(
            "first query for all",
            change={
                "products.gather(-1, relative_index(q_positions, k_positions, len(table) // 2))": "products[0][relative_index(q_positions, k_positions, len(table) // 2)]"
            },
            hint="every query gets the products of the first one",
            gravity="idea",
        ),
        Mistake(
            "divided by a fixed 2",
            change={"q.shape[-1] ** 0.5": "2"},
            hint="the products are divided by 2, a fixed number: take the root of the width of q",
            gravity="idea",
        ),
        Mistake(
            "positions ignored",
            change={
                "relative_index(q_positions, k_positions": "relative_index(torch.arange(len(q_positions)), torch.arange(len(k_positions))"
            },
            hint="queries at 100, 3 and 57: use the positions that are given",
            gravity="part",
        ),
        Mistake(
            "table detached", change={"q @ table.T": "q @ table.detach().T"}, hint="the gradients are wrong, or do not flow", gravity="part"
        ),
        Right("take along", change={"products.gather(-1, relative": "torch.take_along_dim(products, dim=-1, indices=relative"}),
        Right(
            "row by row",
            change={
                "products.gather(-1, relative_index(q_positions, k_positions, len(table) // 2))": "torch.stack([row[relative_index(p[None], k_positions, len(table) // 2)[0]] for row, p in zip(products, q_positions)])"
            },
        ),
    ],
}

# Mutants that `course verify --mutate` makes and that are no mistakes.
NOTHING_LEARNED = "made of positions and sizes alone: nothing that is learned stands in front of it"
EQUIVALENT = {
    "equivariance-gap": {
        "gradient: *": "the gap is a number to look at: no model is trained through it",
        "order: f(x[[]order[]]) - f(x)[[]order[]] → *": "the absolute value does not see which of the two is subtracted",
        "state: *, the first result of these shapes": "the function is part of what is remembered, and every call has another one",
    },
    "frequencies": {"gradient: *": NOTHING_LEARNED},
    "sinusoidal": {"gradient: *": NOTHING_LEARNED},
    "sinusoidal-product": {"gradient: *": NOTHING_LEARNED},
    "shift-matrix": {"gradient: *": NOTHING_LEARNED},
    "stretched": {"gradient: *": NOTHING_LEARNED},
    "alibi-slopes": {"gradient: *": NOTHING_LEARNED}
    | dict.fromkeys(
        ["sign: 2 * N + 1 → 2 * N - 1", "number: 2 → 3 #2", "number: 1 → ? #5", "left out: 2 * N + 1 → 2 * N"],
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
