"""Wrong answers that the tests of 02-rnn-backprop must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

# Wrong links for the end-to-end exercise: each is put in front of the reference chain, which then composes it.
CHAIN = """
def chain(x, y, h0, W_hh, W_hx, W_yh):
    T = len(x)
    h, p = forward(x, h0, W_hh, W_hx, W_yh)
    g_o = torch.stack([grad_o(p[t], y[t]) for t in range(T)])
    g_h = [torch.stack([grad_h(g_o[t - 1], W_hh, W_yh, t - i) for i in range(1, t + 1)]) for t in range(1, T + 1)]
    g_W = torch.stack([grad_W_one(h[: t + 1], g_h[t - 1]) for t in range(1, T + 1)])
    return {"g_o": g_o, "g_h": g_h, "g_W": g_W, "total": grad_W_total(g_W)}
"""


def with_link(link: str) -> str:
    return link + CHAIN


VARIANTS = {
    "graph": [
        Mistake(
            "weights feed the first step only",
            change={'edges += [("W_hh", f"z{t}"), (f"h{t - 1}"': 'edges += [("W_hh", "z1")][: 2 - t if t < 2 else 0] + [(f"h{t - 1}"'},
            hint="W_hh and W_hx are used at every step: one arrow from each of them to each of the three steps",
            gravity="idea",
        ),
        Mistake(
            "one copy of the weights per step",
            change={'("W_hh", f"z{t}")': '(f"W_hh{t}", f"z{t}")'},
            hint="there is no node `W_hh1`: weights have no time index, and the other names are a letter and a time, as in `z1`",
            gravity="idea",
        ),
        Mistake(
            "arrows against the direction of computing",
            change={'(f"h{t - 1}", f"z{t}")': '(f"z{t}", f"h{t}"), (f"h{t}", f"z{t}")'},
            hint="the graph has a cycle, h1, h2, h3, z1 …: nothing can be computed first. Does an arrow point backwards?",
            gravity="idea",
        ),
        Mistake(
            "the state feeds itself",
            change={'(f"h{t - 1}", f"z{t}")': '(f"h{t}", f"z{t}")'},
            hint="the graph has a cycle, h1, h2, h3, z1 …: nothing can be computed first. Does an arrow point backwards?",
            gravity="idea",
        ),
        Mistake(
            "the target is forgotten",
            change={'(f"y{t}", f"J{t}"), ': ""},
            hint="no arrow leads from y1, y2, y3 on to J: everything in this network influences the loss",
            gravity="part",
        ),
        Mistake(
            "z instead of h is carried on",
            change={'(f"h{t - 1}", f"z{t}")': '(f"z{t - 1}" if t > 1 else "h0", f"z{t}")'},
            hint="z_t contains the state before, h_{t−1}, not z_{t−1}",
            gravity="idea",
        ),
        Mistake(
            "the prediction is fed back",
            change={'(f"h{t - 1}", f"z{t}")': '(f"p{t - 1}" if t > 1 else "h0", f"z{t}")'},
            hint="z_t contains the state before, h_{t−1}, not the prediction ŷ_{t−1}",
            gravity="idea",
        ),
        Mistake(
            "three steps only",
            change={"range(1, T + 1)": "range(1, 4)"},
            says="the number of steps is fixed in your code: use T",
            gravity="idea",
        ),
        Mistake(
            "the loss is not summed",
            change={', (f"J{t}", "J")]': ', (f"J{t}", "J") if t == T else (f"J{t}", f"J{t + 1}")]'},
            hint="count the arrows into o2, p2, J2 and J",
            gravity="part",
        ),
        Mistake(
            "h_{t-1} to h_t directly",
            change={'(f"h{t - 1}", f"z{t}")': '(f"h{t - 1}", f"h{t}")'},
            says="an arrow leads from h_{t−1} to h_t: the past acts through z_t",
            gravity="idea",
        ),
        Mistake(
            "h0 left out",
            change={"return edges": 'return [e for e in edges if e[0] != "h0"]'},
            says="h_0 is left out: it leads to z_1",
            gravity="idea",
        ),
        Mistake("duplicate arrows", change={"return edges": "return edges + edges[:1]"}, hint="an arrow is listed twice", gravity="edge"),
        Right("a set", change={"return edges": "return set(edges)"}),
        Right(
            "by formula",
            code="""
def graph_edges(T):
    uses = {"z{t}": ["W_hh", "h{s}", "W_hx", "x{t}"], "h{t}": ["z{t}"], "o{t}": ["W_yh", "h{t}"], "p{t}": ["o{t}"], "J{t}": ["p{t}", "y{t}"]}
    inner = [(a.format(t=t, s=t - 1), b.format(t=t)) for t in range(1, T + 1) for b, sources in uses.items() for a in sources]
    return inner + [[f"J{t}", "J"] for t in range(1, T + 1)]
""",
        ),
        Mistake(
            "x goes into h",
            change={'(f"x{t}", f"z{t}")': '(f"x{t}", f"h{t}")'},
            says="x_t goes into z_t; h_t is computed from z_t alone",
            gravity="idea",
        ),
        Mistake(
            "W_yh goes into the prediction",
            change={'("W_yh", f"o{t}")': '("W_yh", f"p{t}")'},
            says="W_yh is used for o_t; ŷ_t is the softmax of o_t alone",
            gravity="part",
        ),
        Mistake(
            "the target goes into the prediction",
            change={'(f"y{t}", f"J{t}")': '(f"y{t}", f"p{t}")'},
            says="the target goes into J_t: a prediction is made without it",
            gravity="part",
        ),
        Mistake(
            "all arrows reversed",
            change={"return edges": "return [(b, a) for a, b in edges]"},
            says="all arrows point backwards: (from, to) leads from what is given to what is computed with it",
            gravity="idea",
        ),
        Mistake(
            "one step short", change={"range(1, T + 1)": "range(1, T)"}, says="the last step is missing: t runs from 1 to T", gravity="idea"
        ),
        Mistake(
            "x goes into h as well",
            change={'(f"z{t}", f"h{t}")': '(f"z{t}", f"h{t}"), (f"x{t}", f"h{t}")'},
            says="x_t goes into h_t as well: it goes into z_t only",
            gravity="idea",
        ),
        Mistake(
            "weights go into h",
            change={'(f"z{t}", f"h{t}")': '(f"z{t}", f"h{t}"), ("W_hh", f"h{t}")'},
            says="W_hh goes into h_t as well: it goes into z_t only",
            gravity="idea",
        ),
        Mistake(
            "always h_0",
            change={'(f"h{t - 1}", f"z{t}")': '("h0", f"z{t}")'},
            says="every step starts from h_0: z_t contains the state just before, h_{t−1}",
            gravity="idea",
        ),
        Mistake("no arrow from z to h", change={'(f"z{t}", f"h{t}"), ': ""}, says="no arrow leads from z_t to h_t", gravity="idea"),
        Mistake(
            "J in a chain",
            change={'(f"J{t}", "J")]': '(f"J{t}", f"J{t + 1}" if t < T else "J")]'},
            says="the losses form a chain: every J_t leads to J directly",
            gravity="part",
        ),
        Mistake(
            "only the last loss",
            change={'(f"J{t}", "J")]': "]", "return edges": 'return [*edges, (f"J{T}", "J")]'},
            says="only the last loss leads to J: J is the sum of all J_t",
            gravity="part",
        ),
        Mistake("no sum", change={', (f"J{t}", "J")]': "]"}, says="no arrow leads into J: it is the sum of all J_t", gravity="part"),
        Mistake(
            "state and input into o",
            change={'(f"h{t}", f"o{t}")': '(f"h{t}", f"o{t}"), (f"x{t}", f"o{t}")'},
            says="x_t goes into o_t: the output is computed from the state and W_yh alone",
            gravity="part",
        ),
        Mistake(
            "the state before goes into o",
            change={'(f"h{t}", f"o{t}")': '(f"h{t - 1}", f"o{t}")'},
            says="o_t is computed from the state of the same step, h_t, not from h_{t−1}",
            gravity="part",
        ),
        Mistake(
            "starts at step 2",
            change={"range(1, T + 1)": "range(2, T + 1)"},
            says="the first step is missing: t runs from 1 to T",
            gravity="idea",
        ),
        Mistake(
            "from 0",
            change={"range(1, T + 1)": "range(0, T)", 'f"h{t - 1}"': 'f"h{max(t - 1, 0)}"'},
            says="time is counted from 0: t runs from 1 to T",
            gravity="idea",
        ),
    ],
    "paths": [
        Mistake(
            "paths to the last loss only",
            change={"T * (T + 1) // 2": "T"},
            says="that counts the paths to J_T only; J is the sum of all J_t",
            gravity="idea",
        ),
        Mistake(
            "every step reaches every loss",
            change={"T * (T + 1) // 2": "T * T"},
            says="that lets a path reach J_1 from a later step: W_hh at step i only reaches J_t with t ≥ i",
            gravity="idea",
        ),
        Mistake(
            "doubling",
            change={"T * (T + 1) // 2": "2**T - 1"},
            says="paths do not double with every step: each path enters at one step and then goes straight on",
            gravity="idea",
        ),
        Mistake("sum one short", change={"T * (T + 1) // 2": "T * (T - 1) // 2"}, says="that is the sum up to T − 1", gravity="idea"),
        Mistake(
            "half of the square",
            change={"T * (T + 1) // 2": "max(T * T // 2, 1)"},
            says="half of T² leaves out the paths i = t: 1 + 2 + … + T is T (T + 1) / 2",
            gravity="idea",
        ),
        Mistake("six", change={"T * (T + 1) // 2": "6"}, says="the number is fixed in your code: it depends on T", gravity="idea"),
        Mistake(
            "zero at one",
            change={"T * (T + 1) // 2": "T * (T + 1) // 2 if T > 1 else 0"},
            hint="with one step there is a single path: W_hh → z1 → h1 → o1 → p1 → J1 → J",
            gravity="edge",
        ),
        Right("a sum", change={"T * (T + 1) // 2": "sum(range(T + 1))"}),
        Right("counted", change={"T * (T + 1) // 2": 'derivation.count_paths(graph_edges(T), "W_hh", "J")'}),
        Mistake(
            "twice as many",
            change={"T * (T + 1) // 2": "T * (T + 1)"},
            says="twice as many as there are: 1 + 2 + … + T is T (T + 1) / 2",
            gravity="idea",
        ),
        Mistake(
            "factorial",
            change={"T * (T + 1) // 2": "math.factorial(T)"},
            says="that is T!: the paths to J_1, J_2, … add up, they do not multiply",
            gravity="idea",
        ),
        Mistake(
            "a line",
            change={"T * (T + 1) // 2": "3 * T - 3"},
            says="this is a straight line that fits T = 3: every further loss brings more paths than the one before",
            gravity="idea",
        ),
        Mistake(
            "twice T",
            change={"T * (T + 1) // 2": "2 * T"},
            says="this is a straight line that fits T = 3: every further loss brings more paths than the one before",
            gravity="idea",
        ),
        Mistake(
            "powers of two",
            change={"T * (T + 1) // 2": "2**T"},
            says="paths do not double with every step: each path enters at one step and then goes straight on",
            gravity="idea",
        ),
        Mistake(
            "plus one",
            change={"T * (T + 1) // 2": "T * (T + 1) // 2 + 1"},
            says="one too many: 1 + 2 + … + T is T (T + 1) / 2",
            gravity="idea",
        ),
        Mistake(
            "cubes",
            change={"T * (T + 1) // 2": "T * (T + 1) * (T + 2) // 6"},
            says="that adds up 1, 3, 6, …: only t paths lead to J_t",
            gravity="idea",
        ),
    ],
    "forward": [
        Mistake(
            "starts from zero",
            change={"h = [h0]": "h = [torch.zeros_like(h0)]"},
            says="the first row of h is h_0 as given, and it is not zero",
            gravity="idea",
        ),
        Mistake(
            "tanh too early",
            change={"h.append(W_hh @ h[-1] + W_hx @ x_t)": "h.append(torch.tanh(W_hh @ h[-1] + W_hx @ x_t))"},
            says="ψ is the identity here, not tanh",
            gravity="idea",
        ),
        Mistake(
            "W_hh transposed",
            change={"W_hh @ h[-1]": "h[-1] @ W_hh"},
            says="W_hh is transposed: z = W h with h as a column (for h as a row that is h @ W.T)",
            gravity="idea",
        ),
        Mistake(
            "always from h_0",
            change={"W_hh @ h[-1]": "W_hh @ h0"},
            says="every step starts from h_0 again: h_t is computed from h_{t−1}",
            gravity="idea",
        ),
        Mistake(
            "h_0 missing",
            change={"W_hh @ h[-1] + W_hx @ x_t": "W_hx @ x_t + (W_hh @ h[-1] if len(h) > 1 else 0)"},
            says="h_1 lacks W_hh h_0: the given h_0 is not zero",
            gravity="idea",
        ),
        Mistake(
            "predictions one step early",
            change={"(h[1:] @": "(h[:-1] @"},
            says="the predictions come one step too early: ŷ_t belongs to h_t, and h_0 has no prediction",
            gravity="idea",
        ),
        Mistake(
            "softmax over time",
            change={"softmax(dim=-1)": "softmax(dim=0)"},
            says="softmax runs over time; it must run over the classes",
            gravity="idea",
        ),
        Mistake("no softmax", change={".softmax(dim=-1)": ""}, says="those are the o_t: the softmax is missing", gravity="idea"),
        Mistake(
            "h_0 not returned",
            change={"    return h, (h[1:]": "    return h[1:], (h[1:]"},
            hint="the first thing returned is h, with T + 1 rows: h_0 comes first",
            gravity="idea",
        ),
        Mistake(
            "swapped results",
            change={"return h, (h[1:] @ W_yh.T).softmax(dim=-1)": "return (h[1:] @ W_yh.T).softmax(dim=-1), h"},
            hint="the first thing returned is h, with T + 1 rows: h_0 comes first",
            gravity="idea",
        ),
        Mistake(
            "float32 strict",
            code="""
def forward(x, h0, W_hh, W_hx, W_yh):
    h = torch.zeros(len(x) + 1, len(h0))
    h[0] = h0
    for t in range(len(x)):
        h[t + 1] = W_hh @ h[t] + W_hx @ x[t]
    return h, (h[1:] @ W_yh.T).softmax(-1)
""",
            hint="your code raised RuntimeError",
            gravity="edge",
        ),
        Mistake(
            "in place on h0",
            code="""
def forward(x, h0, W_hh, W_hx, W_yh):
    h = [h0.clone()]
    for x_t in x:
        h0.copy_(W_hh @ h0 + W_hx @ x_t)
        h.append(h0.clone())
    h = torch.stack(h)
    return h, (h[1:] @ W_yh.T).softmax(-1)
""",
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Mistake(
            "squeeze",
            change={"return h, (h[1:] @ W_yh.T).softmax(dim=-1)": "return h.squeeze(), (h[1:] @ W_yh.T).softmax(dim=-1).squeeze()"},
            hint="with T = 1 there is one prediction, a row",
            gravity="edge",
        ),
        Right(
            "filled in",
            code="""
def forward(x, h0, W_hh, W_hx, W_yh):
    T = x.shape[0]
    h = x.new_zeros(T + 1, len(h0))
    p = x.new_zeros(T, len(W_yh))
    h[0] = h0
    for t in range(1, T + 1):
        h[t] = h[t - 1] @ W_hh.T + torch.einsum("ab,b->a", W_hx, x[t - 1])
        e = torch.exp(W_yh @ h[t] - (W_yh @ h[t]).max())
        p[t - 1] = e / e.sum()
    return [h, p]
""",
        ),
        Right(
            "numpy",
            code="""
def forward(x, h0, W_hh, W_hx, W_yh):
    import numpy as np
    x, W_hh, W_hx, W_yh = (v.numpy() for v in (x, W_hh, W_hx, W_yh))
    h = [h0.numpy()]
    for row in x:
        h.append(W_hh.dot(h[-1]) + W_hx.dot(row))
    o = np.array(h)[1:] @ W_yh.T
    e = np.exp(o - o.max(1, keepdims=True))
    return torch.from_numpy(np.array(h)), torch.from_numpy(e / e.sum(1, keepdims=True))
""",
        ),
        Mistake(
            "states before missing",
            change={"W_hh @ h[-1] + ": ""},
            says="the states before are missing: h_t = W_hh h_{t−1} + W_hx x_t",
            gravity="idea",
        ),
        Mistake("the first input always", change={"W_hx @ x_t": "W_hx @ x[0]"}, says="every step reads the first input", gravity="idea"),
        Mistake(
            "inputs from the end",
            change={"for x_t in x:": "for x_t in x.flip(0):"},
            says="the inputs are read from the end",
            gravity="idea",
        ),
        Mistake("no inputs", change={" + W_hx @ x_t": ""}, says="the inputs are missing", gravity="idea"),
        Mistake(
            "log-probabilities",
            change={"softmax(dim=-1)": "log_softmax(dim=-1)"},
            says="those are the logarithms of the predictions",
            gravity="idea",
        ),
        Mistake(
            "one softmax for all steps",
            change={"(h[1:] @ W_yh.T).softmax(dim=-1)": "(h[1:] @ W_yh.T).flatten().softmax(0).view(len(x), -1)"},
            says="one softmax runs over all steps at once",
            gravity="idea",
        ),
        Mistake(
            "sigmoid",
            change={".softmax(dim=-1)": ".sigmoid()"},
            says="the outputs go through a sigmoid: a prediction is the softmax, and sums to one over the classes",
            gravity="idea",
        ),
        Mistake(
            "sum of all states",
            change={"W_hh @ h[-1]": "W_hh @ sum(h)"},
            says="all earlier states are added up: h_t is computed from h_{t−1} alone",
            gravity="idea",
        ),
        Mistake(
            "outputs of the sum",
            change={"h[1:] @ W_yh.T": "h[1:].cumsum(0) @ W_yh.T"},
            says="the outputs are made of the sum of all states up to t: o_t = W_yh h_t",
            gravity="idea",
        ),
        Mistake(
            "tanh before the outputs",
            change={"h[1:] @ W_yh.T": "torch.tanh(h[1:]) @ W_yh.T"},
            says="the outputs are made of tanh(h_t): ψ is the identity here, and o_t = W_yh h_t",
            gravity="idea",
        ),
        Mistake(
            "outputs divided by their sum",
            change={"(h[1:] @ W_yh.T).softmax(dim=-1)": "(h[1:] @ W_yh.T) / (h[1:] @ W_yh.T).sum(-1, keepdim=True)"},
            says="the outputs are divided by their sum: softmax takes exp first",
            gravity="idea",
        ),
        Mistake(
            "the last state for all",
            change={"h[1:] @ W_yh.T": "h[-1:].expand(len(x), -1) @ W_yh.T"},
            says="every prediction is made from the last state: ŷ_t belongs to h_t",
            gravity="idea",
        ),
        Mistake(
            "state twice",
            change={"W_hh @ h[-1]": "h[-1] + W_hh @ h[-1]"},
            says="the state before is added once more: h_t = W_hh h_{t−1} + W_hx x_t",
            gravity="idea",
        ),
        Mistake(
            "state not multiplied", change={"W_hh @ h[-1]": "h[-1]"}, says="W_hh is not used: h_t = W_hh h_{t−1} + W_hx x_t", gravity="idea"
        ),
        Mistake(
            "the input of the next step",
            change={"for x_t in x:": "for x_t in x.roll(-1, 0):"},
            says="every step reads the next input: h_t takes x_t, which is `x[t - 1]`",
            gravity="idea",
        ),
        Mistake(
            "the input of the step before",
            change={"for x_t in x:": "for x_t in x.roll(1, 0):"},
            says="every step reads the input before: h_t takes x_t, which is `x[t - 1]`",
            gravity="idea",
        ),
    ],
    "grad-o": [
        Mistake(
            "sign flip",
            change={"p - y": "y - p"},
            hint="the sign is flipped: J_t falls when the output of a likely class rises",
            gravity="idea",
        ),
        Mistake(
            "derivative by ŷ", change={"p - y": "-y / p"}, hint="that is ∂J_t/∂ŷ_t: one more link is missing, the softmax", gravity="idea"
        ),
        Mistake(
            "diagonal only",
            change={"p - y": "-y * (1 - p)"},
            hint="each o_j changes every ŷ_i, through the sum in the denominator: the terms i ≠ j are missing",
            gravity="idea",
        ),
        Mistake(
            "mean over classes",
            change={"p - y": "(p - y) / len(p)"},
            hint="there is a mean over the classes: J_t is a sum over them",
            gravity="idea",
        ),
        Mistake(
            "no target",
            change={"p - y": "p * 1.0"},
            hint="the target does not appear: a perfect prediction must have gradient zero",
            gravity="idea",
        ),
        Mistake(
            "one class",
            change={"return p - y": "return p - F.one_hot(y.argmax(), len(y))"},
            hint="the target is treated as one class; here y_t is any distribution that sums to one",
            gravity="idea",
        ),
        Mistake(
            "unsimplified",
            change={"return p - y": "return (torch.diag(p) - torch.outer(p, p)) @ (-y / p)"},
            hint="a prediction of exactly zero must not give NaN or infinity: simplify until no ŷ is left in a denominator",
            gravity="edge",
        ),
        Mistake(
            "softmax again",
            change={"p - y": "p.softmax(0) - y"},
            says="softmax is applied to p: it is the prediction already",
            gravity="idea",
        ),
        Mistake(
            "in place",
            change={"return p - y": "p -= y\n    return p"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Right("Jacobian, without division", change={"return p - y": "return p * y.sum() - y"}),
        Right("numpy", change={"return p - y": "return p.numpy() - y.numpy()"}),
        Right("a list", change={"return p - y": "return [float(a - b) for a, b in zip(p, y)]"}),
        Mistake(
            "twice",
            change={"p - y": "2 * (p - y)"},
            says="a factor of two: that is the gradient of a squared error; J_t is a cross-entropy",
            gravity="idea",
        ),
        Mistake(
            "slope of the softmax again",
            change={"p - y": "p * (p - y)"},
            says="multiplied by ŷ once more: ŷ − y already contains the softmax's derivative",
            gravity="idea",
        ),
        Mistake(
            "absolute value",
            change={"p - y": "(p - y).abs()"},
            says="the sign is lost: the gradient is negative for a class that is too unlikely",
            gravity="idea",
        ),
        Mistake(
            "squared",
            change={"p - y": "(p - y) ** 2"},
            says="the difference is squared: that is a squared error, not the gradient of the cross-entropy",
            gravity="idea",
        ),
        Mistake(
            "logarithms",
            change={"p - y": "p.log() - y.log()"},
            says="that is the difference of the logarithms: differentiate −Σ y_j o_j + log Σ e^{o_k}",
            gravity="idea",
        ),
        Mistake("quotient", change={"p - y": "p / y - 1"}, says="the difference is divided by y", gravity="idea"),
        Mistake(
            "times y",
            change={"p - y": "y * (p - 1)"},
            says="each entry is multiplied by y: the log of the sum acts on all classes, whatever their target is",
            gravity="idea",
        ),
        Mistake(
            "cross-entropy",
            change={"p - y": "-y * p.log()"},
            says="those are the terms of J_t itself: its derivative was asked for",
            gravity="idea",
        ),
        Mistake(
            "one more",
            change={"p - y": "p - y + 1"},
            says="every entry is too large by one: y sums to one, so a constant does not drop out of a gradient",
            gravity="idea",
        ),
    ],
    "grad-h": [
        Mistake(
            "transposed W_hh",
            change={"W_hh.T @ g": "W_hh @ g"},
            hint="W_hh is not transposed: going back along z = W h multiplies by Wᵀ",
            gravity="idea",
        ),
        Mistake(
            "element-wise power",
            change={"    for _ in range(steps):\n        g = W_hh.T @ g\n    return g": "    return (W_hh.T**steps) @ g"},
            hint="`**` raises each entry to the power; use torch.linalg.matrix_power, or multiply step by step",
            gravity="idea",
        ),
        Mistake(
            "one step too few",
            change={"range(steps)": "range(steps - 1)"},
            hint="one step back too few: from h_t to h_i there are t − i of them",
            gravity="idea",
        ),
        Mistake(
            "one step too many",
            change={"range(steps)": "range(steps + 1)"},
            hint="one step back too many: from h_t to h_i there are t − i of them",
            gravity="idea",
        ),
        Mistake(
            "once at most", change={"range(steps)": "range(min(steps, 1))"}, hint="W_hh is applied once, whatever t − i is", gravity="idea"
        ),
        Mistake("sign flip", change={"return g": "return -g"}, hint="the sign is flipped", gravity="idea"),
        Mistake(
            "W_yh not transposed",
            change={"W_yh.T @ g_o": "W_yh @ g_o"},
            hint="your code raised RuntimeError",
            gravity="idea",
        ),
        Mistake(
            "stays where it arrived",
            change={"g = W_hh.T @ g": "g = g"},
            hint="the gradient stays where it arrived: it still has to travel from h_t back to h_i",
            gravity="idea",
        ),
        Mistake(
            "mean",
            change={"return g": "return g / max(steps, 1)"},
            hint="there is a mean over the steps; a chain of factors is a product",
            gravity="idea",
        ),
        Mistake(
            "sum over steps",
            code="""
def grad_h(g_o, W_hh, W_yh, steps):
    g = W_yh.T @ g_o
    total = g
    for _ in range(steps):
        g = W_hh.T @ g
        total = total + g
    return total
""",
            hint="t − i = 1: W_hh maps (a, b) to (b, 3a), so (1, 2) at h_t becomes (6, 1) one step back",
            gravity="idea",
        ),
        Mistake("squeeze", change={"return g": "return g.squeeze()"}, hint="one entry, in a vector", gravity="edge"),
        Mistake(
            "W_hh in place",
            change={"    return g": "    W_hh *= 1.5\n    return g"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Right(
            "matrix power",
            change={
                "    for _ in range(steps):\n        g = W_hh.T @ g\n    return g": "    return torch.linalg.matrix_power(W_hh.T, steps) @ g"
            },
        ),
        Right("rows", change={"W_yh.T @ g_o": "g_o @ W_yh", "W_hh.T @ g": "g @ W_hh"}),
        Right(
            "recursion",
            change={
                "    g = W_yh.T @ g_o\n    for _ in range(steps):\n        g = W_hh.T @ g\n    return g": "    return W_yh.T @ g_o if steps == 0 else W_hh.T @ grad_h(g_o, W_hh, W_yh, steps - 1)"
            },
        ),
        Mistake(
            "adds the steps",
            change={"g = W_hh.T @ g": "g = g + W_hh.T @ g"},
            says="the gradient of each step is added to the one before: going back one step replaces it",
            gravity="idea",
        ),
        Mistake(
            "two factors for a step",
            change={"g = W_hh.T @ g": "g = W_hh.T @ W_hh.T @ g"},
            says="W_hh is applied twice for every step back",
            gravity="idea",
        ),
        Mistake(
            "diagonal of W_hh",
            change={"W_hh.T @ g": "W_hh.diagonal() * g"},
            says="only the diagonal of W_hh is used: every entry of h_i acts on every entry of h_{i+1}",
            gravity="idea",
        ),
        Mistake(
            "a slope of tanh",
            change={"g = W_hh.T @ g": "g = (1 - g**2) * (W_hh.T @ g)"},
            says="there is no slope here: in this part ψ is the identity",
            gravity="idea",
        ),
        Mistake(
            "inverse",
            change={"W_hh.T @ g": "torch.linalg.solve(W_hh, g)"},
            says="the inverse of W_hh takes the place of its transpose",
            gravity="idea",
        ),
        Mistake(
            "times the number of steps",
            change={
                "    g = W_yh.T @ g_o\n    for _ in range(steps):\n        g = W_hh.T @ g\n    return g": "    g = W_yh.T @ g_o\n    if steps:\n        g = steps * (W_hh.T @ g)\n    return g"
            },
            says="one factor is multiplied by the number of steps: each step back is a factor of its own",
            gravity="idea",
        ),
        Mistake(
            "W_yh at every step",
            change={"g = W_hh.T @ g\n": "g = W_hh.T @ g + W_yh.T @ g_o\n"},
            says="g_o arrives again at every step: this is the gradient of J_t alone, which sees the past through h_t only",
            gravity="idea",
        ),
        Mistake(
            "norm of W_hh",
            change={"W_hh.T @ g": "torch.linalg.matrix_norm(W_hh, 2) * g"},
            says="W_hh is replaced by its norm: a gradient goes back through the whole matrix",
            gravity="idea",
        ),
        Mistake(
            "column sums",
            change={"W_hh.T @ g": "W_hh.sum(0) * g"},
            says="the columns of W_hh are added up before: every entry of the gradient has its own factor in every row",
            gravity="idea",
        ),
    ],
    "grad-w": [
        Mistake(
            "wrong order",
            change={"torch.outer(g_h[i - 1], h[i - 1])": "torch.outer(h[i - 1], g_h[i - 1])"},
            hint="the outer product is in the wrong order: row a, column b of the gradient belongs to the weight from entry b of h to entry a of z",
            gravity="idea",
        ),
        Mistake(
            "h_i for h_{i-1}",
            change={"torch.outer(g_h[i - 1], h[i - 1])": "torch.outer(g_h[i - 1], h[i])"},
            hint="you pair the gradient at step i with h_i; W_hh multiplied h_{i−1} there",
            gravity="idea",
        ),
        Mistake(
            "only i = t",
            change={"range(1, len(h))": "range(len(h) - 1, len(h))"},
            hint="only the last step, i = t, is there: W_hh was used at every step up to t, so sum over them",
            gravity="idea",
        ),
        Mistake(
            "only i = 1",
            change={"range(1, len(h))": "range(1, 2)"},
            hint="only the first step, i = 1, is there: W_hh was used at every step up to t, so sum over them",
            gravity="idea",
        ),
        Mistake(
            "from i = 2",
            change={"range(1, len(h))": "range(2, len(h))"},
            hint="the first step is left out: h_0 is not zero here",
            gravity="idea",
        ),
        Mistake("sign flip", change={"return total": "return -total"}, hint="the sign is flipped", gravity="idea"),
        Mistake(
            "mean for sum",
            change={"return total": "return total / len(g_h)"},
            hint="there is a mean over the steps: contributions of all uses of W_hh add up",
            gravity="idea",
        ),
        Mistake(
            "up to t - 1",
            change={"range(1, len(h))": "range(1, len(h) - 1)"},
            hint="the last step is left out: the sum runs up to i = t",
            gravity="idea",
        ),
        Mistake(
            "both at once",
            change={"torch.outer(g_h[i - 1], h[i - 1])": "torch.outer(h[i], g_h[i - 1])"},
            hint="h_i is used where h_{i−1} belongs, and the outer product is in the wrong order",
            gravity="idea",
        ),
        Mistake(
            "zip wrong",
            code="""
def grad_W_one(h, g_h):
    return sum(torch.outer(g, s) for g, s in zip(g_h.flip(0), h))
""",
            hint="t = 2: W_hh also multiplied h_1 = (3, 4), which adds to the first row",
            gravity="idea",
        ),
        Mistake(
            "elementwise",
            change={"torch.outer(g_h[i - 1], h[i - 1])": "g_h[i - 1] * h[i - 1]"},
            says="the two vectors are multiplied entry by entry: every entry of one meets every entry of the other",
            gravity="idea",
        ),
        Right("matrix product", change={"return total": "return g_h.T @ h[:-1]"}),
        Right("einsum", change={"return total": 'return torch.einsum("ia,ib->ab", g_h, h[: len(g_h)])'}),
        Right(
            "float32 accumulator",
            change={"torch.zeros_like(torch.outer(h[0], h[0]))": "torch.zeros(len(h[0]), len(h[0]))", "total = total + ": "total += "},
        ),
        Mistake(
            "rows of g_h backwards",
            change={"g_h[i - 1]": "g_h[-i]"},
            says="the gradients are read from the end: row i − 1 of g_h meets h_{i−1}",
            gravity="idea",
        ),
        Mistake(
            "one gradient for all",
            change={"g_h[i - 1]": "g_h[-1]"},
            says="the last gradient is used at every step: each step has its own row of g_h",
            gravity="idea",
        ),
        Mistake(
            "h_0 for all",
            change={", h[i - 1])": ", h[0])"},
            says="h_0 is used at every step: at step i W_hh multiplied h_{i−1}",
            gravity="idea",
        ),
        Mistake(
            "one product of two sums",
            code="""
def grad_W_one(h, g_h):
    return torch.outer(g_h.sum(0), h[:-1].sum(0))
""",
            says="that is one product of two sums: the products of each step are added up",
            gravity="idea",
        ),
        Mistake(
            "gradients added up",
            change={"torch.outer(g_h[i - 1], h[i - 1])": "torch.outer(g_h[:i].sum(0), h[i - 1])"},
            says="the gradients of all steps so far are added up before the product: each step has its own row of g_h",
            gravity="idea",
        ),
        Mistake(
            "later gradients added up",
            change={"torch.outer(g_h[i - 1], h[i - 1])": "torch.outer(g_h[i - 1 :].sum(0), h[i - 1])"},
            says="the gradients of all later steps are added up before the product: each step has its own row of g_h",
            gravity="idea",
        ),
        Mistake(
            "product of all",
            change={
                "total + torch.outer(g_h[i - 1], h[i - 1])": "total @ torch.outer(g_h[i - 1], h[i - 1]) if i > 1 else torch.outer(g_h[i - 1], h[i - 1])"
            },
            says="the steps are multiplied: contributions of all uses of W_hh add up",
            gravity="idea",
        ),
        Mistake(
            "diagonal",
            change={"torch.outer(g_h[i - 1], h[i - 1])": "torch.diag(g_h[i - 1] * h[i - 1])"},
            says="the two vectors are multiplied entry by entry: every entry of one meets every entry of the other",
            gravity="idea",
        ),
        Mistake(
            "inner product",
            change={"torch.outer(g_h[i - 1], h[i - 1])": "(g_h[i - 1] @ h[i - 1]) * torch.eye(len(h[0]), dtype=h.dtype)"},
            says="that is the inner product of the two vectors: the gradient holds all products of their entries",
            gravity="idea",
        ),
    ],
    "grad-total": [
        Mistake(
            "mean for sum",
            change={"g_W.sum(0)": "g_W.mean(0)"},
            hint="there is a mean over t: J is the sum of the J_t, so its gradient is the sum of theirs",
            gravity="idea",
        ),
        Mistake(
            "last loss only",
            change={"g_W.sum(0)": "g_W[-1]"},
            hint="that is the gradient of J_T alone: J has a term for every t",
            gravity="idea",
        ),
        Mistake(
            "first loss only",
            change={"g_W.sum(0)": "g_W[0]"},
            hint="that is the gradient of J_1 alone: J has a term for every t",
            gravity="idea",
        ),
        Mistake("sign flip", change={"g_W.sum(0)": "-g_W.sum(0)"}, hint="the sign is flipped", gravity="idea"),
        Mistake(
            "wrong axis",
            change={"g_W.sum(0)": "g_W.sum(1)"},
            says="the sum runs over an axis of the matrices: add up the T matrices, along axis 0",
            gravity="idea",
        ),
        Mistake("transposed", change={"g_W.sum(0)": "g_W.sum(0).T"}, hint="the sum is transposed", gravity="idea"),
        Mistake(
            "in place",
            code="""
def grad_W_total(g_W):
    for g in g_W[1:]:
        g_W[0] += g
    return g_W[0]
""",
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Mistake(
            "squeeze",
            change={"g_W.sum(0)": "(g_W.sum(0) if len(g_W) > 1 else g_W)"},
            hint="with one loss the result is its gradient, still a matrix",
            gravity="edge",
        ),
        Right("loop", change={"g_W.sum(0)": "sum(g for g in g_W)"}),
        Right("einsum", change={"g_W.sum(0)": 'torch.einsum("tab->ab", g_W)'}),
        Mistake("the largest", change={".sum(0)": ".amax(0)"}, says="the largest of the gradients is taken: they add up", gravity="idea"),
        Mistake(
            "the first three",
            change={"g_W.sum(0)": "g_W[:3].sum(0)"},
            says="only the first three are added up: there are T of them",
            gravity="idea",
        ),
        Mistake(
            "sum of all entries",
            change={"g_W.sum(0)": "g_W.sum()"},
            says="everything is added up to one number: the T matrices add up, entry by entry",
            gravity="idea",
        ),
        Mistake(
            "entries multiplied", change={"g_W.sum(0)": "g_W.prod(0)"}, says="the gradients are multiplied: they add up", gravity="idea"
        ),
        Mistake(
            "matrices multiplied",
            change={"g_W.sum(0)": "torch.linalg.multi_dot(list(g_W)) if len(g_W) > 1 else g_W[0]"},
            says="the gradients are multiplied: they add up",
            gravity="idea",
        ),
        Mistake("sizes added", change={"g_W.sum(0)": "g_W.abs().sum(0)"}, says="the signs are lost before the sum", gravity="idea"),
        Mistake(
            "all but the last",
            change={"g_W.sum(0)": "g_W[:-1].sum(0)"},
            says="the last loss is left out: J adds up J_1 … J_T",
            gravity="idea",
        ),
        Mistake(
            "all but the first",
            change={"g_W.sum(0)": "g_W[1:].sum(0)"},
            says="the first loss is left out: J adds up J_1 … J_T",
            gravity="idea",
        ),
        Mistake(
            "sums of sums",
            change={"g_W.sum(0)": "g_W.cumsum(0).sum(0)"},
            says="earlier losses are counted several times: each J_t counts once in J",
            gravity="idea",
        ),
        Mistake(
            "root of T",
            change={"g_W.sum(0)": "g_W.sum(0) / len(g_W) ** 0.5"},
            says="the sum is divided by the root of T: J is the plain sum",
            gravity="idea",
        ),
    ],
    "chain": [
        Mistake(
            "link 1: sign",
            code=with_link("def grad_o(p, y):\n    return y - p\n"),
            hint="step 1 of 4, ∂J_t/∂o_t, is the first wrong one (t = 1): the sign is flipped: J_t falls when the output of a likely class rises",
            gravity="idea",
        ),
        Mistake(
            "link 2: transposed",
            code=with_link("def grad_h(g_o, W_hh, W_yh, steps):\n    return torch.linalg.matrix_power(W_hh, steps) @ W_yh.T @ g_o\n"),
            hint="step 2 of 4, ∂J_t/∂h_i, is the first wrong one (t = 2, i = 1): W_hh is not transposed: going back along z = W h multiplies by Wᵀ",
            gravity="idea",
        ),
        Mistake(
            "link 3: order",
            code=with_link("def grad_W_one(h, g_h):\n    return h[:-1].T @ g_h\n"),
            hint="step 3 of 4, ∂J_t/∂W_hh, is the first wrong one (t = 1): the outer product is in the wrong order: row a, column b of the gradient",
            gravity="idea",
        ),
        Mistake(
            "link 3: h_i",
            code=with_link("def grad_W_one(h, g_h):\n    return g_h.T @ h[1:]\n"),
            hint="step 3 of 4, ∂J_t/∂W_hh, is the first wrong one (t = 1): you pair the gradient at step i with h_i; W_hh multiplied h_{i−1} there",
            gravity="idea",
        ),
        Mistake(
            "link 3: no sum",
            code=with_link("def grad_W_one(h, g_h):\n    return torch.outer(g_h[-1], h[-2])\n"),
            hint="step 3 of 4, ∂J_t/∂W_hh, is the first wrong one (t = 2): only the last step, i = t, is there: W_hh was used at every step up to",
            gravity="idea",
        ),
        Mistake(
            "link 4: mean",
            code=with_link("def grad_W_total(g_W):\n    return g_W.mean(0)\n"),
            hint="step 4 of 4, ∂J/∂W_hh, is the only wrong one: there is a mean over t: J is the sum of the J_t, so its gradient is the sum of",
            gravity="idea",
        ),
        Mistake(
            "links 2 and 4 wrong",
            code=with_link(
                "def grad_h(g_o, W_hh, W_yh, steps):\n    return -W_yh.T @ g_o\ndef grad_W_total(g_W):\n    return g_W.mean(0)\n"
            ),
            hint="step 2 of 4, ∂J_t/∂h_i, is the first wrong one (t = 1, i = 1): the sign is flipped",
            gravity="idea",
        ),
        Mistake(
            "rows backwards",
            change={"for i in range(1, t + 1)])": "for i in range(t, 0, -1)])"},
            hint="step 2 of 4, ∂J_t/∂h_i, is the first wrong one (t = 2, i = 2): the rows run backwards: row i − 1 of the table belongs to h_i",
            gravity="idea",
        ),
        Mistake(
            "a tuple",
            change={'return {"g_o": g_o, "g_h": g_h, "g_W": g_W, "total": grad_W_total(g_W)}': "return g_o, g_h, g_W, grad_W_total(g_W)"},
            hint="return a dictionary with the four keys g_o, g_h, g_W, total",
            gravity="part",
        ),
        Mistake(
            "one row per table",
            change={'"g_h": g_h,': '"g_h": [g[:1] for g in g_h],'},
            hint="`g_h`: the entry for t = 2 should hold the gradients at h_1 … h_2, one row each",
            gravity="part",
        ),
        Mistake(
            "total is last",
            change={'"total": grad_W_total(g_W)': '"total": g_W[-1]'},
            hint="step 4 of 4, ∂J/∂W_hh, is the only wrong one: that is the gradient of J_T alone: J has a term for every t",
            gravity="idea",
        ),
        Mistake(
            "h_0 ignored",
            change={"forward(x, h0,": "forward(x, 0 * h0,"},
            hint="step 1 of 4, ∂J_t/∂o_t, is the first wrong one (t = 1): none of the usual slips, the values differ: are ŷ_t and y_t of the same",
            gravity="idea",
        ),
        Mistake(
            "g_W summed twice",
            change={'"g_W": g_W': '"g_W": g_W.cumsum(0)'},
            hint="step 3 of 4, ∂J_t/∂W_hh, is the first wrong one (t = 2): none of the usual slips, the values differ: is it made of the g_h of",
            gravity="part",
        ),
        Mistake(
            "float64 conversion",
            change={"    T = len(x)\n": "    T = len(x)\n    h0 = torch.zeros(len(h0), dtype=torch.float64) + h0\n"},
            hint="your code raised RuntimeError",
            gravity="edge",
        ),
        Right(
            "loops",
            code="""
def chain(x, y, h0, W_hh, W_hx, W_yh):
    h, p = forward(x, h0, W_hh, W_hx, W_yh)
    found = {"g_o": [], "g_h": [], "g_W": []}
    for t in range(1, len(x) + 1):
        found["g_o"].append(grad_o(p[t - 1], y[t - 1]))
        rows = []
        for i in range(1, t + 1):
            rows.append(grad_h(found["g_o"][-1], W_hh, W_yh, t - i))
        found["g_h"].append(rows)
        found["g_W"].append(grad_W_one(h[: t + 1], torch.stack(rows)))
    found["total"] = grad_W_total(torch.stack(found["g_W"]))
    return found
""",
        ),
        Right("all outputs at once", change={"torch.stack([grad_o(p[t], y[t]) for t in range(T)])": "grad_o(p, y)"}),
    ],
    "numerical": [
        Mistake(
            "one-sided",
            change={"(f(W + shift) - f(W - shift)) / (2 * eps)": "(f(W + shift) - f(W)) / eps"},
            says="that is the one-sided difference: its error shrinks like ε only. Use f(W + ε) and f(W − ε)",
            gravity="idea",
        ),
        Mistake("factor of two", change={"/ (2 * eps)": "/ eps"}, says="a factor of two: the two points are 2ε apart", gravity="idea"),
        Mistake(
            "sign",
            change={"f(W + shift) - f(W - shift)": "f(W - shift) - f(W + shift)"},
            says="the sign is flipped: f(W + ε) comes first",
            gravity="idea",
        ),
        Mistake(
            "all entries at once",
            change={"shift.view(-1)[index] = eps": "shift[:] = eps"},
            says="all entries are shifted at once; the derivative by one entry shifts that entry alone",
            gravity="idea",
        ),
        Mistake(
            "eps ignored",
            change={"shift = torch.zeros_like(W)": "shift = torch.zeros_like(W); eps = 1e-5"},
            says="ε is fixed in your code: use the argument `eps`",
            gravity="part",
        ),
        Mistake(
            "shifts the input itself",
            code="""
def numerical_gradient(f, W, eps=1e-5):
    gradient = torch.zeros_like(W)
    flat = W.view(-1)
    for k in range(W.numel()):
        flat[k] += eps
        up = f(W)
        flat[k] -= 2 * eps
        gradient.view(-1)[k] = (up - f(W)) / (2 * eps)
    return gradient
""",
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Mistake(
            "matrices only",
            code="""
def numerical_gradient(f, W, eps=1e-5):
    gradient = torch.zeros_like(W)
    for a in range(W.shape[0]):
        for b in range(W.shape[1]):
            shift = torch.zeros_like(W)
            shift[a, b] = eps
            gradient[a, b] = (f(W + shift) - f(W - shift)) / (2 * eps)
    return gradient
""",
            hint="your code raised IndexError",
            gravity="part",
        ),
        Mistake("eps only divides", change={"= eps\n": "= 1e-5\n"}, hint="V³ at 0 with ε = 0.5: (0.125 + 0.125) / 1", gravity="part"),
        Mistake(
            "item on f",
            change={"f(W + shift) - f(W - shift)": "f(W + shift).item() - f(W - shift).item()"},
            hint="your code raised AttributeError",
            gravity="edge",
        ),
        Mistake(
            "restored in place",
            code="""
def numerical_gradient(f, W, eps=1e-5):
    gradient = torch.zeros_like(W)
    for k in range(W.numel()):
        old = W.view(-1)[k].item()
        W.view(-1)[k] = old + eps
        up = f(W)
        W.view(-1)[k] = old - eps
        gradient.view(-1)[k] = (up - f(W)) / (2 * eps)
    return gradient
""",
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Right("float32 result", change={"torch.zeros_like(W)\n    for": "torch.zeros(W.shape)\n    for"}),
        Right(
            "clones",
            code="""
def numerical_gradient(f, W, eps=1e-5):
    values = []
    for k in range(W.numel()):
        up, down = W.clone(), W.clone()
        up.view(-1)[k] += eps
        down.view(-1)[k] -= eps
        values.append((float(f(up)) - float(f(down))) / (2 * eps))
    return torch.tensor(values, dtype=W.dtype).reshape(W.shape)
""",
        ),
        Right(
            "identity rows",
            change={
                "        shift = torch.zeros_like(W)\n        shift.view(-1)[index] = eps\n": "        shift = eps * torch.eye(W.numel(), dtype=W.dtype)[index].view(W.shape)\n"
            },
        ),
        Mistake(
            "backward difference",
            change={"(f(W + shift) - f(W - shift)) / (2 * eps)": "(f(W) - f(W - shift)) / eps"},
            says="that is the one-sided difference, backwards: use f(W + ε) and f(W − ε)",
            gravity="idea",
        ),
        Mistake(
            "quarter step",
            change={"/ (2 * eps)": "/ (4 * eps)"},
            says="the points W + ε and W − ε are 2ε apart: the result is half of the derivative",
            gravity="idea",
        ),
        Mistake(
            "multiplied instead of divided",
            change={"/ (2 * eps)": "/ 2 * eps"},
            says="`/ 2 * eps` multiplies by ε: put brackets around 2ε",
            gravity="idea",
        ),
        Mistake(
            "the first row only",
            change={"range(W.numel())": "range(W.shape[-1])"},
            says="only the first row is shifted: every entry has its derivative",
            gravity="idea",
        ),
        Mistake(
            "a factor for one ε only",
            change={"(2 * eps)": "2e-5"},
            says="ε shifts the entries, but the result is divided by a fixed number: use `eps` for both",
            gravity="part",
        ),
        Mistake(
            "shifts pile up",
            change={
                "    for index in range(W.numel()):\n        shift = torch.zeros_like(W)\n": "    shift = torch.zeros_like(W)\n    for index in range(W.numel()):\n"
            },
            says="the shifts pile up: earlier entries stay shifted while the next one is",
            gravity="idea",
        ),
        Mistake(
            "uneven shifts",
            change={"f(W - shift)) / (2 * eps)": "f(W - 2 * shift)) / (3 * eps)"},
            says="the two shifts have different sizes: W + ε and W − ε lie at the same distance",
            gravity="idea",
        ),
        Mistake(
            "only a double step",
            change={"f(W + shift) - f(W - shift)": "f(W + 2 * shift) - f(W)"},
            says="that is a one-sided difference with a double step: use f(W + ε) and f(W − ε)",
            gravity="idea",
        ),
        Mistake(
            "ε grows with W",
            change={"shift.view(-1)[index] = eps": "shift.view(-1)[index] = eps * (1 + W.view(-1)[index].abs())"},
            says="the shift depends on the entry, and the result is divided by 2ε all the same",
            gravity="idea",
        ),
        Mistake(
            "W in place of f",
            change={"(f(W + shift) - f(W - shift)) / (2 * eps)": "f(W) / eps"},
            says="only f(W) is used: a derivative is a difference of two values",
            gravity="idea",
        ),
        Mistake(
            "sum of both",
            change={"f(W + shift) - f(W - shift)": "f(W + shift) + f(W - shift)"},
            says="the two values are added: a derivative is made of their difference",
            gravity="idea",
        ),
        Mistake(
            "transposed",
            change={"return gradient": "return gradient.mT if W.dim() > 1 else gradient"},
            says="the result is transposed: it is shaped like W",
            gravity="idea",
        ),
        Mistake(
            "second difference",
            change={"(f(W + shift) - f(W - shift)) / (2 * eps)": "(f(W + shift) - 2 * f(W) + f(W - shift)) / eps**2"},
            says="that is the second derivative",
            gravity="idea",
        ),
    ],
    "rnn-forward": [
        Mistake(
            "no tanh",
            change={"torch.tanh(h[-1] @ W_hh.T + from_input[:, t])": "h[-1] @ W_hh.T + from_input[:, t]"},
            says="tanh is missing",
            gravity="idea",
        ),
        Mistake(
            "W_hh transposed",
            change={"h[-1] @ W_hh.T": "h[-1] @ W_hh"},
            says="W_hh is transposed: with states as rows, W h is h @ W.T",
            gravity="idea",
        ),
        Mistake(
            "tanh of one part",
            change={"torch.tanh(h[-1] @ W_hh.T + from_input[:, t])": "torch.tanh(h[-1] @ W_hh.T) + from_input[:, t]"},
            says="tanh belongs around the whole sum",
            gravity="idea",
        ),
        Mistake(
            "no memory", change={"h[-1] @ W_hh.T + ": ""}, says="the state before is missing: tanh(W_hh h_{t−1} + W_hx x_t)", gravity="idea"
        ),
        Mistake(
            "predictions one step early",
            change={"(h[:, 1:] @": "(h[:, :-1] @"},
            says="the predictions come one step too early: ŷ_t belongs to h_t",
            gravity="idea",
        ),
        Mistake(
            "time first",
            change={"torch.stack(h, dim=1)": "torch.stack(h, dim=0)"},
            hint="h is (B, T + 1, n_h), and h_0 comes first",
            gravity="idea",
        ),
        Mistake(
            "softmax over time",
            change={"softmax(dim=-1)": "softmax(dim=1)"},
            says="softmax runs over time; it must run over the classes",
            gravity="idea",
        ),
        Mistake(
            "inputs of the first step only",
            change={"from_input[:, t]": "from_input[:, 0]"},
            says="every step reads the first input",
            gravity="idea",
        ),
        Mistake(
            "tanh of h0",
            change={"h = [h0]": "h = [torch.tanh(h0)]"},
            says="tanh is applied to h_0: it is given as it is",
            gravity="idea",
        ),
        Mistake(
            "first sequence only",
            change={"h = [h0]": "h = [h0[:1].expand_as(h0)]"},
            says="the first sequence's h_0 is used for all: each sequence has its own",
            gravity="part",
        ),
        Mistake(
            "float32 states",
            code="""
def rnn_forward(x, h0, W_hh, W_hx, W_yh):
    B, T, _ = x.shape
    h = torch.zeros(B, T + 1, len(W_hh))
    h[:, 0] = h0
    for t in range(T):
        h[:, t + 1] = torch.tanh(h[:, t] @ W_hh.T + x[:, t] @ W_hx.T)
    return h, (h[:, 1:] @ W_yh.T).softmax(-1)
""",
            hint="your code raised RuntimeError",
            gravity="edge",
        ),
        Right(
            "filled in",
            code="""
def rnn_forward(x, h0, W_hh, W_hx, W_yh):
    B, T, _ = x.shape
    h = x.new_zeros(B, T + 1, len(W_hh))
    h[:, 0] = h0
    for b in range(B):
        for t in range(T):
            h[b, t + 1] = torch.tanh(W_hh @ h[b, t] + W_hx @ x[b, t])
    return h, torch.softmax(torch.einsum("yh,bth->bty", W_yh, h[:, 1:]), -1)
""",
        ),
        Right("linear", change={"x @ W_hx.T": "F.linear(x, W_hx)", "h[-1] @ W_hh.T": "F.linear(h[-1], W_hh)"}),
        Mistake("no input", change={" + from_input[:, t]": ""}, says="the input is missing: tanh(W_hh h_{t−1} + W_hx x_t)", gravity="idea"),
        Mistake("always from h_0", change={"h[-1] @ W_hh.T": "h0 @ W_hh.T"}, says="every step starts from h_0 again", gravity="idea"),
        Mistake(
            "h_0 is zero",
            change={"h = [h0]": "h = [torch.zeros_like(h0)]"},
            says="the first row of h is h_0 as given: it is not zero",
            gravity="idea",
        ),
        Mistake("sigmoid", change={"torch.tanh": "torch.sigmoid"}, says="ψ is tanh, not the logistic function", gravity="idea"),
        Mistake("relu", change={"torch.tanh": "torch.relu"}, says="ψ is tanh, not relu", gravity="idea"),
        Mistake("no softmax", change={".softmax(dim=-1)": ""}, says="those are the o_t: the softmax is missing", gravity="idea"),
        Mistake(
            "inputs from the end",
            change={"from_input[:, t]": "from_input[:, -1 - t]"},
            says="the inputs are read from the end",
            gravity="idea",
        ),
        Mistake(
            "tanh of the states again",
            change={"(h[:, 1:] @": "(h[:, 1:].tanh() @"},
            says="a second tanh acts on the states: o_t = W_yh h_t",
            gravity="idea",
        ),
        Mistake(
            "softmax over the batch",
            change={".softmax(dim=-1)": ".softmax(dim=0)"},
            says="softmax runs over the sequences of the batch; it must run over the classes",
            gravity="idea",
        ),
        Mistake(
            "tanh of both parts",
            change={"torch.tanh(h[-1] @ W_hh.T + from_input[:, t])": "torch.tanh(h[-1] @ W_hh.T) + torch.tanh(from_input[:, t])"},
            says="tanh is taken of each part; it must be taken of their sum",
            gravity="idea",
        ),
        Mistake(
            "residual",
            change={"torch.tanh(h[-1] @ W_hh.T + from_input[:, t])": "h[-1] + torch.tanh(h[-1] @ W_hh.T + from_input[:, t])"},
            says="the state before is added to tanh: h_t = tanh(z_t)",
            gravity="idea",
        ),
        Mistake(
            "inputs averaged over the batch",
            change={"from_input[:, t]": "from_input[:, t].mean(0)"},
            says="the inputs are averaged over the batch: each sequence has its own",
            gravity="part",
        ),
        Mistake(
            "the first sequence's inputs",
            change={"from_input[:, t]": "from_input[:1, t]"},
            says="the first sequence's inputs are used for all: each sequence has its own",
            gravity="part",
        ),
        Mistake(
            "the first sequence's h_0",
            change={"h = [h0]": "h = [h0[:1].expand_as(h0)]"},
            says="the first sequence's h_0 is used for all: each sequence has its own",
            gravity="part",
        ),
        Mistake(
            "W_hx transposed where it fits",
            change={"x @ W_hx.T": "x @ (W_hx if W_hx.shape[0] == W_hx.shape[1] else W_hx.T)"},
            says="W_hx is not transposed where it is square: with rows as states, W x is x @ W.T",
            gravity="part",
        ),
        Mistake(
            "identity and tanh at the end",
            change={
                "h.append(torch.tanh(h[-1] @ W_hh.T + from_input[:, t]))": "h.append(h[-1] @ W_hh.T + from_input[:, t])",
                "h = torch.stack(h, dim=1)": "h = torch.tanh(torch.stack(h, dim=1))",
            },
            says="tanh is taken once, of all states at the end: each state goes through it before the next step",
            gravity="idea",
        ),
        Mistake(
            "log-probabilities",
            change={".softmax(dim=-1)": ".log_softmax(dim=-1)"},
            says="those are the logarithms of the predictions",
            gravity="idea",
        ),
        Mistake(
            "sigmoid outputs",
            change={".softmax(dim=-1)": ".sigmoid()"},
            says="the outputs go through a sigmoid: a prediction is the softmax, and sums to one over the classes",
            gravity="idea",
        ),
        Mistake(
            "outputs of the last state",
            change={"h[:, 1:] @ W_yh.T": "h[:, -1:].expand(-1, x.shape[1], -1) @ W_yh.T"},
            says="every prediction is made from the last state: ŷ_t belongs to h_t",
            gravity="idea",
        ),
    ],
    "bptt": [
        Mistake("no slope", change={" * (1 - h[:, t + 1] ** 2)": ""}, hint="the slope of tanh is missing: ∂h/∂z = 1 − h²", gravity="idea"),
        Mistake(
            "tanh twice",
            change={"(1 - h[:, t + 1] ** 2)": "(1 - torch.tanh(h[:, t + 1]) ** 2)"},
            hint="the slope of tanh at z is 1 − tanh(z)² = 1 − h²; you took the tanh of h once more",
            gravity="idea",
        ),
        Mistake(
            "transposed W_hh",
            change={"g_z[:, t] @ W_hh\n": "g_z[:, t] @ W_hh.T\n"},
            hint="W_hh is not transposed on the way back (with rows as states: g_z @ W_hh, without .T)",
            gravity="idea",
        ),
        Mistake(
            "nothing comes back",
            change={"later = g_z[:, t] @ W_hh": "later = 0 * later"},
            hint="nothing travels back in time: h_t also acts through z_{t+1}",
            gravity="idea",
        ),
        Mistake(
            "h instead of z travels",
            change={"later = g_z[:, t] @ W_hh": "later = (from_output[:, t] + later) @ W_hh"},
            hint="between two steps the slope of tanh is missing: what travels back through W_hh is the gradient at z, not the one at h",
            gravity="idea",
        ),
        Mistake(
            "h_t for h_{t-1}",
            change={"g_z, h[:, :-1])": "g_z, h[:, 1:])"},
            hint="the gradient at step t is paired with h_t; W_hh multiplied h_{t−1} there",
            gravity="idea",
        ),
        Mistake(
            "wrong order",
            change={'"bta,btc->ac", g_z, h[:, :-1]': '"bta,btc->ca", g_z, h[:, :-1]'},
            hint="the outer product is in the wrong order",
            gravity="idea",
        ),
        Mistake(
            "mean over the batch",
            change={"g_o = p - y ": "g_o = (p - y) / len(x) "},
            hint="there is a mean over the batch: J sums over it",
            gravity="part",
        ),
        Mistake(
            "mean over time",
            change={"g_o = p - y ": "g_o = (p - y) / x.shape[1] "},
            hint="there is a mean over time: J sums over it",
            gravity="idea",
        ),
        Mistake(
            "mean over both",
            change={"g_o = p - y ": "g_o = (p - y) / x[..., 0].numel() "},
            hint="there is a mean over time: J sums over it",
            gravity="idea",
        ),
        Mistake("sign flip", change={"g_o = p - y ": "g_o = y - p "}, hint="the sign is flipped", gravity="idea"),
        Mistake(
            "square missing", change={"h[:, t + 1] ** 2": "h[:, t + 1]"}, hint="the slope of tanh is 1 − h², not 1 − h", gravity="idea"
        ),
        Mistake(
            "the double sum",
            code="""
def rnn_bptt(x, y, h, p, W_hh, W_yh):
    T = x.shape[1]
    g_o = p - y
    g_hh, g_hx = W_hh * 0, torch.einsum("ba,bc->ac", h[:, 0] * 0, x[:, 0])
    for t in range(T):
        g = g_o[:, t] @ W_yh
        for i in range(t, -1, -1):
            g_z = g * (1 - h[:, i + 1] ** 2)
            g_hh = g_hh + g_z.T @ h[:, i]
            g_hx = g_hx + g_z.T @ x[:, i]
            g = g_z @ W_hh
    return g_hh, g_hx, torch.einsum("bta,btc->ac", g_o, h[:, 1:])
""",
            hint="the work grows faster than T: walk back once, and collect what all later losses send back",
            gravity="part",
        ),
        Mistake(
            "autograd",
            code="""
def rnn_bptt(x, y, h, p, W_hh, W_yh):
    with torch.enable_grad():
        z = torch.atanh(h[:, 1:]) - h[:, :-1] @ W_hh.T
        W_hx = torch.linalg.lstsq(x.flatten(0, 1), z.flatten(0, 1)).solution.T
        W = [w.clone().requires_grad_() for w in (W_hh, W_hx, W_yh)]
        state, J = h[:, 0], 0
        for t in range(x.shape[1]):
            state = torch.tanh(state @ W[0].T + x[:, t] @ W[1].T)
            J = J - (y[:, t] * (state @ W[2].T).log_softmax(-1)).sum()
        return torch.autograd.grad(J, W)
""",
            hint="derive it, without autograd",
            gravity="idea",
        ),
        Mistake(
            "Parameter and backward",
            code="""
def rnn_bptt(x, y, h, p, W_hh, W_yh):
    from torch import nn
    with torch.enable_grad():
        z = torch.atanh(h[:, 1:]) - h[:, :-1] @ W_hh.T
        W_hx = torch.linalg.lstsq(x.flatten(0, 1), z.flatten(0, 1)).solution.T
        W = [nn.Parameter(w.clone()) for w in (W_hh, W_hx, W_yh)]
        state, J = h[:, 0], 0
        for t in range(x.shape[1]):
            state = torch.tanh(state @ W[0].T + x[:, t] @ W[1].T)
            J = J - (y[:, t] * (state @ W[2].T).log_softmax(-1)).sum()
        J.backward()
        return [w.grad for w in W]
""",
            hint="derive it, without autograd",
            gravity="idea",
        ),
        Mistake(
            "Linear layers and backward",
            code="""
def rnn_bptt(x, y, h, p, W_hh, W_yh):
    import torch.nn as nn
    with torch.enable_grad():
        inner, outer, read = nn.Linear(len(W_hh), len(W_hh), bias=False), nn.Linear(x.shape[2], len(W_hh), bias=False), nn.Linear(len(W_hh), len(W_yh), bias=False)
        inner, outer, read = inner.to(x.dtype), outer.to(x.dtype), read.to(x.dtype)
        z = torch.atanh(h[:, 1:]) - h[:, :-1] @ W_hh.T
        W_hx = torch.linalg.lstsq(x.flatten(0, 1), z.flatten(0, 1)).solution.T
        for layer, w in ((inner, W_hh), (outer, W_hx), (read, W_yh)):
            layer.weight.data = w.clone()
        state, J = h[:, 0], 0
        for t in range(x.shape[1]):
            state = torch.tanh(inner(state) + outer(x[:, t]))
            J = J - (y[:, t] * read(state).log_softmax(-1)).sum()
        getattr(J, "back" + "ward")()
        return [layer.weight.grad for layer in (inner, outer, read)]
""",
            hint="derive it, without autograd",
            gravity="idea",
        ),
        Mistake(
            "W_yh with the state before",
            change={"g_o, h[:, 1:])": "g_o, h[:, :-1])"},
            hint="the gradient at o_t is paired with h_{t−1}; W_yh multiplied h_t there",
            gravity="idea",
        ),
        Mistake(
            "only the first sequence",
            change={"g_o = p - y ": "g_o = (p - y) * (torch.arange(len(p)) == 0)[:, None, None] "},
            says="only the first sequence counts: J sums over the batch",
            gravity="part",
        ),
        Mistake(
            "in place on p",
            change={"g_o = p - y  #": "g_o = p.sub_(y)  #"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Right("recomputes p", change={"g_o = p - y ": "g_o = (h[:, 1:] @ W_yh.T).softmax(-1) - y "}),
        Right(
            "sums on the way",
            code="""
def rnn_bptt(x, y, h, p, W_hh, W_yh):
    g_hh, g_yh = torch.zeros_like(W_hh), torch.zeros_like(W_yh)
    g_hx = x.new_zeros(len(W_hh), x.shape[2])
    g_z = h[:, 0] * 0
    for t in range(x.shape[1] - 1, -1, -1):
        error = p[:, t] - y[:, t]
        g_h = error @ W_yh + g_z @ W_hh
        g_z = g_h * (1 - h[:, t + 1] * h[:, t + 1])
        g_hh += g_z.T @ h[:, t]
        g_hx += g_z.T @ x[:, t]
        g_yh += error.T @ h[:, t + 1]
    return [g_hh, g_hx, g_yh]
""",
        ),
        Right(
            "numpy, one sequence at a time",
            code="""
def rnn_bptt(x, y, h, p, W_hh, W_yh):
    import numpy as np
    x, y, h, p, W_hh, W_yh = (v.numpy() for v in (x, y, h, p, W_hh, W_yh))
    totals = [np.zeros_like(W_hh), np.zeros((len(W_hh), x.shape[2])), np.zeros_like(W_yh)]
    for b in range(len(x)):
        g = np.zeros(len(W_hh))
        for t in reversed(range(x.shape[1])):
            e = p[b, t] - y[b, t]
            g = (W_yh.T @ e + W_hh.T @ g) * (1 - h[b, t + 1] ** 2)
            totals[0] += np.outer(g, h[b, t])
            totals[1] += np.outer(g, x[b, t])
            totals[2] += np.outer(e, h[b, t + 1])
    return tuple(torch.from_numpy(v) for v in totals)
""",
        ),
        Mistake(
            "slope of the state before",
            change={"(1 - h[:, t + 1] ** 2)": "(1 - h[:, t] ** 2)"},
            says="the slope is taken at the state before: z_t has the slope 1 − h_t², and h_t is `h[:, t + 1]` here",
            gravity="idea",
        ),
        Mistake(
            "the loop runs forwards",
            change={"reversed(range(x.shape[1]))": "range(x.shape[1])"},
            says="the loop runs forwards: what comes back from step t + 1 must be known before step t",
            gravity="idea",
        ),
        Mistake(
            "what comes back piles up",
            change={"later = g_z": "later = later + g_z"},
            says="what comes back is added up over the steps: g_z of step t + 1 already contains all later steps",
            gravity="idea",
        ),
        Mistake(
            "back by one step only",
            change={"later = g_z[:, t] @ W_hh": "later = (from_output[:, t] * (1 - h[:, t + 1] ** 2)) @ W_hh"},
            says="gradients travel back one step only: pass on g_z, with what came from later",
            gravity="idea",
        ),
        Mistake(
            "the first step left out",
            change={'"bta,btc->ac", g_z, h[:, :-1])': '"bta,btc->ac", g_z[:, 1:], h[:, 1:-1])'},
            says="the gradient of W_hh lacks the first step: there W_hh multiplied h_0, which is not zero",
            gravity="idea",
        ),
        Mistake(
            "the input of the step before",
            change={"g_z, x)": "g_z, x.roll(1, 1))"},
            says="the gradient at z_t is paired with x_{t−1}; W_hx multiplied x_t",
            gravity="idea",
        ),
        Mistake(
            "no target in g_yh",
            change={"g_o, h[:, 1:])": "p, h[:, 1:])"},
            says="the gradient of W_yh is made of ŷ, without the target: use ŷ − y",
            gravity="idea",
        ),
        Mistake(
            "order of the results",
            change={"return g_hh, g_hx, g_yh": "return g_hx, g_hh, g_yh"},
            says="the results are in another order: W_hh, then W_hx, then W_yh",
            gravity="idea",
        ),
        Mistake(
            "slope of the sigmoid",
            change={"(1 - h[:, t + 1] ** 2)": "h[:, t + 1] * (1 - h[:, t + 1])"},
            says="that is the slope of the sigmoid, h (1 − h); the slope of tanh is 1 − h²",
            gravity="idea",
        ),
        Mistake(
            "slope for the output only",
            change={"(from_output[:, t] + later) * (1 - h[:, t + 1] ** 2)": "from_output[:, t] * (1 - h[:, t + 1] ** 2) + later"},
            says="the slope is missing where something comes back from step t + 1: both terms go through tanh",
            gravity="idea",
        ),
        Mistake(
            "slope for what comes back only",
            change={"(from_output[:, t] + later) * (1 - h[:, t + 1] ** 2)": "from_output[:, t] + later * (1 - h[:, t + 1] ** 2)"},
            says="the slope is missing where the gradient comes from the output: both terms go through tanh",
            gravity="idea",
        ),
        Mistake(
            "slope twice at the output",
            change={"from_output = g_o @ W_yh": "from_output = g_o @ W_yh * (1 - h[:, 1:] ** 2)"},
            says="the slope acts twice on what comes from the output",
            gravity="idea",
        ),
        Mistake(
            "slope twice", change={"(1 - h[:, t + 1] ** 2)": "(1 - h[:, t + 1] ** 2) ** 2"}, says="the slope is squared", gravity="idea"
        ),
        Mistake(
            "slope upside down", change={"(1 - h[:, t + 1] ** 2)": "h[:, t + 1] ** 2"}, says="the slope is 1 − h², not h²", gravity="idea"
        ),
        Mistake(
            "ŷ (ŷ − y)",
            change={"g_o = p - y": "g_o = p * (p - y)"},
            says="the gradient at o_t is multiplied by ŷ once more: it is ŷ − y",
            gravity="idea",
        ),
        Mistake(
            "−y/ŷ",
            change={"g_o = p - y": "g_o = -y / p"},
            says="the gradient at ŷ_t is used where that at o_t belongs: the softmax is missing",
            gravity="idea",
        ),
        Mistake(
            "only the last loss",
            change={"(from_output[:, t] + later)": "((from_output[:, t] if t == x.shape[1] - 1 else 0) + later)"},
            says="only the last loss is sent back: every J_t is",
            gravity="idea",
        ),
        Mistake(
            "the last loss at all steps",
            change={"(from_output[:, t] + later)": "(from_output[:, -1] + later)"},
            says="the last step's gradient arrives at every step: each has its own",
            gravity="idea",
        ),
        Mistake(
            "factor two",
            change={"g_o = p - y": "g_o = 2 * (p - y)"},
            says="a factor of two: that is the gradient of a squared error; J_t is a cross-entropy",
            gravity="idea",
        ),
        Mistake(
            "g_yh with the slope",
            change={
                'g_yh = torch.einsum("bta,btc->ac", g_o, h[:, 1:])': 'g_yh = torch.einsum("bta,btc->ac", g_o, h[:, 1:] * (1 - h[:, 1:] ** 2))'
            },
            says="the slope of tanh acts on the gradient of W_yh: o_t = W_yh h_t needs none",
            gravity="idea",
        ),
        Mistake(
            "g_hh with tanh of h",
            change={"g_z, h[:, :-1])": "g_z, torch.tanh(h[:, :-1]))"},
            says="the gradient of W_hh is paired with tanh(h_{t−1}): W_hh multiplied h_{t−1} itself",
            gravity="idea",
        ),
        Mistake(
            "the first sequence for the inputs",
            change={'"bta,btc->ac", g_z, x)': '"bta,btc->ac", g_z[:1], x[:1])'},
            says="only the first sequence counts in the gradient of W_hx: J sums over the batch",
            gravity="part",
        ),
        Mistake(
            "what comes back is not multiplied",
            change={"later = g_z[:, t] @ W_hh": "later = g_z[:, t]"},
            says="W_hh is missing on the way back: h_t acts on z_{t+1} through it",
            gravity="idea",
        ),
    ],
    "jacobian": [
        Mistake(
            "reversed order",
            change={"(1 - state**2)[:, None] * W_hh @ jacobian": "jacobian @ ((1 - state**2)[:, None] * W_hh)"},
            says="the factors are in the wrong order: the first step is applied first, so its factor is the rightmost",
            gravity="idea",
        ),
        Mistake(
            "slope on the columns",
            change={"(1 - state**2)[:, None] * W_hh @": "W_hh * (1 - state**2) @"},
            says="the slope scales the columns of W_hh; entry a of h_j has the slope 1 − h_{j,a}², which belongs to row a",
            gravity="idea",
        ),
        Mistake("no slope", change={"(1 - state**2)[:, None] * W_hh": "W_hh"}, says="the slope of tanh is missing", gravity="idea"),
        Mistake(
            "slopes before the step",
            change={"h[1:]": "h[:-1]"},
            says="the slopes belong to the states after each step, not before it",
            gravity="idea",
        ),
        Mistake("one factor too many", change={"h[1:]": "h"}, says="there is one step too many: n + 1 states make n steps", gravity="idea"),
        Mistake("last step only", change={" @ jacobian": ""}, says="only the last step is there: multiply all of them", gravity="idea"),
        Mistake(
            "transposed",
            change={"return jacobian": "return jacobian.T"},
            says="the Jacobian is transposed: row a belongs to entry a of h_t",
            gravity="idea",
        ),
        Mistake(
            "slope with tanh",
            change={"1 - state**2": "1 - torch.tanh(state) ** 2"},
            says="you took the tanh of h once more: h is tanh(z) already",
            gravity="idea",
        ),
        Mistake(
            "both W transposed",
            change={"* W_hh @ jacobian": "* W_hh.T @ jacobian"},
            says="W_hh is transposed in every step",
            gravity="idea",
        ),
        Mistake(
            "plain eye",
            change={"torch.eye(len(W_hh), dtype=W_hh.dtype)": "torch.eye(len(W_hh))"},
            hint="your code raised RuntimeError",
            gravity="edge",
        ),
        Mistake(
            "no step gives W",
            change={"return jacobian": "return jacobian if len(h) > 1 else W_hh"},
            hint="no step between i and t: the Jacobian is the identity",
            gravity="edge",
        ),
        Right("diag", change={"(1 - state**2)[:, None] * W_hh @ jacobian": "torch.diag(1 - state**2) @ W_hh @ jacobian"}),
        Right(
            "from the end",
            code="""
def state_jacobian(W_hh, h):
    result = torch.eye(h.shape[1], dtype=h.dtype)
    for j in range(len(h) - 1, 0, -1):
        result = result @ torch.einsum("a,ab->ab", 1 - h[j] ** 2, W_hh)
    return result
""",
        ),
        Mistake("slope 1 - h", change={"1 - state**2": "1 - state"}, says="the slope is 1 − h², not 1 − h", gravity="idea"),
        Mistake(
            "factors added",
            change={"jacobian = (1 - state**2)[:, None] * W_hh @ jacobian": "jacobian = jacobian + (1 - state**2)[:, None] * W_hh"},
            says="the factors are added: the chain rule multiplies them",
            gravity="idea",
        ),
        Mistake(
            "entries multiplied",
            change={"W_hh @ jacobian": "W_hh * jacobian"},
            says="the matrices are multiplied entry by entry: use the matrix product",
            gravity="idea",
        ),
        Mistake(
            "mean slope",
            change={"(1 - state**2)[:, None]": "(1 - state**2).mean()"},
            says="the slopes are averaged: slope a belongs to row a of W_hh",
            gravity="idea",
        ),
        Mistake(
            "slope of the last state",
            change={"(1 - state**2)": "(1 - h[-1] ** 2)"},
            says="the last state's slopes are used at every step: each step has its own",
            gravity="idea",
        ),
        Mistake(
            "slope of the first state",
            change={"(1 - state**2)": "(1 - h[1] ** 2)"},
            says="the first step's slopes are used at every step: each step has its own",
            gravity="idea",
        ),
        Mistake("slope h squared", change={"(1 - state**2)": "state**2"}, says="the slope is 1 − h², not h²", gravity="idea"),
        Mistake(
            "starts with zeros",
            change={"torch.eye(len(W_hh), dtype=W_hh.dtype)": "torch.zeros_like(W_hh)"},
            says="the product starts with zeros, and stays zero: start with the identity",
            gravity="idea",
        ),
        Mistake(
            "starts with W",
            change={"torch.eye(len(W_hh), dtype=W_hh.dtype)": "W_hh"},
            says="there is one factor W_hh too many: start with the identity",
            gravity="idea",
        ),
        Mistake(
            "a vector of slopes only",
            change={"(1 - state**2)[:, None] * W_hh @ jacobian": "(1 - state**2)[:, None] * jacobian"},
            says="W_hh is missing: the step from h_{j−1} to h_j goes through it",
            gravity="idea",
        ),
        Mistake(
            "slope of the sigmoid",
            change={"(1 - state**2)": "(state * (1 - state))"},
            says="that is the slope of the sigmoid, h (1 − h); the slope of tanh is 1 − h²",
            gravity="idea",
        ),
        Mistake(
            "slope on both sides",
            change={"(1 - state**2)[:, None] * W_hh @ jacobian": "(1 - state**2)[:, None] * W_hh * (1 - state**2) @ jacobian"},
            says="the slopes act on rows and on columns: they belong to the rows",
            gravity="idea",
        ),
        Mistake(
            "first step only",
            change={"for state in h[1:]": "for state in h[1:2]"},
            says="only the first step is there: multiply all of them",
            gravity="idea",
        ),
    ],
    "overflow": [
        Mistake(
            "the largest that fits",
            change={") + 1": ")"},
            says="the smallest k that no longer fits was asked for, not the largest that fits",
            gravity="idea",
        ),
        Mistake(
            "float64", change={"torch.float32": "torch.float64"}, says="that is the limit of float64; here it is float32", gravity="idea"
        ),
        Mistake(
            "log of rho missing",
            change={" / math.log(rho)": ""},
            says="log ρ is missing, or of another base than the other logarithm",
            gravity="idea",
        ),
        Mistake(
            "no end",
            change={"    if rho <= 1:\n        return math.inf\n": ""},
            says="ρ = 1 or ρ < 1 divides by zero, or never ends: such a gradient never overflows, so return math.inf",
            gravity="part",
        ),
        Mistake(
            "zero for small rho",
            change={"if rho <= 1:": "if rho == 1:"},
            hint="ρ < 1 shrinks: it never overflows, so return math.inf",
            gravity="part",
        ),
        Mistake(
            "128",
            change={"math.floor(math.log(torch.finfo(torch.float32).max) / math.log(rho)) + 1": "128"},
            says="the number is fixed in your code: it depends on ρ",
            gravity="idea",
        ),
        Mistake(
            "round",
            change={
                "math.floor(math.log(torch.finfo(torch.float32).max) / math.log(rho)) + 1": "round(math.log(torch.finfo(torch.float32).max) / math.log(rho))"
            },
            says="the smallest k that no longer fits was asked for, not the largest that fits",
            gravity="idea",
        ),
        Mistake(
            "minus one for small", change={"return math.inf": "return -1"}, hint="ρ = 1 never overflows: return math.inf", gravity="part"
        ),
        Mistake(
            "at least two",
            change={"    return math.floor": "    return max(2, 0) if rho > 1e38 else math.floor"},
            hint="ρ = 1e39 is too large by itself",
            gravity="edge",
        ),
        Right(
            "loop",
            code="""
def steps_to_overflow(rho):
    if rho <= 1:
        return float("inf")
    k, size = 0, 1.0
    while size <= torch.finfo(torch.float32).max:
        size *= rho
        k += 1
    return k
""",
        ),
        Right(
            "ceil",
            change={"math.floor(math.log(torch.finfo(torch.float32).max) / math.log(rho)) + 1": "math.ceil(math.log(3.4028235e38, rho))"},
        ),
        Mistake(
            "one more",
            change={"math.log(rho)) + 1": "math.log(rho)) + 2"},
            says="one more than the smallest k that no longer fits",
            gravity="idea",
        ),
        Mistake(
            "not a whole number",
            change={
                "math.floor(math.log(torch.finfo(torch.float32).max) / math.log(rho)) + 1": "math.log(torch.finfo(torch.float32).max) / math.log(rho)"
            },
            says="the result is not a whole number: the smallest whole k above it was asked for",
            gravity="idea",
        ),
        Mistake(
            "log to base 10 of the limit",
            change={"math.log(torch.finfo(torch.float32).max)": "math.log10(torch.finfo(torch.float32).max)"},
            says="the two logarithms have different bases",
            gravity="idea",
        ),
        Mistake(
            "log to base 2 of rho",
            change={"math.log(rho)": "math.log2(rho)"},
            says="log ρ is missing, or of another base than the other logarithm",
            gravity="idea",
        ),
        Mistake(
            "half precision",
            change={"torch.float32": "torch.float16"},
            says="that is the limit of float16; here it is float32",
            gravity="idea",
        ),
        Mistake(
            "rough limit",
            change={"torch.finfo(torch.float32).max": "1e38"},
            says="the limit is taken as 10^38: float32 goes up to 3.4 · 10^38",
            gravity="idea",
        ),
        Mistake(
            "2^127",
            change={"torch.finfo(torch.float32).max": "2.0**127"},
            says="the limit is taken as 2^127, which still fits: float32 ends just below 2^128",
            gravity="idea",
        ),
        Mistake(
            "quotient",
            change={
                "math.floor(math.log(torch.finfo(torch.float32).max) / math.log(rho)) + 1": "math.floor(torch.finfo(torch.float32).max / rho) + 1"
            },
            says="the limit is divided by ρ: k is an exponent, so divide logarithms",
            gravity="idea",
        ),
        Mistake(
            "smallest number",
            change={"torch.finfo(torch.float32).max": "(1 / torch.finfo(torch.float32).tiny)"},
            says="that is where numbers become too small for float32; here they become too large",
            gravity="idea",
        ),
        Mistake(
            "None for small rho",
            change={"return math.inf": "return None"},
            says="for ρ ≤ 1 the result is None: return math.inf",
            gravity="part",
        ),
        Mistake(
            "zero for all small rho",
            change={"return math.inf": "return 0"},
            says="for ρ ≤ 1 the result is 0, which says that it overflows at once: return math.inf",
            gravity="part",
        ),
    ],
    "clip": [
        Mistake(
            "each by itself",
            change={
                "    return [g * factor for g in grads]": "    return [g * min(1.0, limit / max(g.norm().item(), 1e-30)) for g in grads]"
            },
            says="every tensor is clipped by itself, which changes the direction: use the joint norm of all of them",
            gravity="idea",
        ),
        Mistake(
            "clamp",
            change={"    return [g * factor for g in grads]": "    return [g.clamp(-limit, limit) for g in grads]"},
            says="every entry is cut by itself (clamp); that changes the direction",
            gravity="idea",
        ),
        Mistake(
            "always normalised",
            change={"min(1.0, limit / norm.item())": "limit / norm.item()"},
            says="a short gradient was made longer: clip, do not normalise",
            gravity="idea",
        ),
        Mistake(
            "no root",
            change={"torch.sqrt(sum((g**2).sum() for g in grads))": "sum((g**2).sum() for g in grads)"},
            says="the root is missing: the norm is the root of the sum of squares",
            gravity="idea",
        ),
        Mistake(
            "norms added",
            change={"torch.sqrt(sum((g**2).sum() for g in grads))": "sum(g.norm() for g in grads)"},
            says="norms do not add: add the squares, then take the root",
            gravity="idea",
        ),
        Mistake(
            "NaN stays",
            change={"if not torch.isfinite(norm):": "if False:"},
            hint="with inf or NaN anywhere all gradients become zero, also those of the other tensors",
            gravity="part",
        ),
        Mistake(
            "only inf is caught",
            change={"not torch.isfinite(norm)": "norm == torch.inf"},
            hint="with a NaN in one tensor all become zero: NaN compares as False with everything",
            gravity="part",
        ),
        Mistake(
            "in place",
            change={"[g * factor for g in grads]": "[g.mul_(factor) for g in grads]"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Mistake(
            "zero divided",
            change={
                "    factor = min(1.0, limit / norm.item()) if norm > 0 else 1.0\n    return [g * factor for g in grads]": "    return [g / norm * min(norm.item(), limit) for g in grads]"
            },
            hint="a zero gradient must stay zero: do not divide by its norm",
            gravity="edge",
        ),
        Mistake("norm one", change={"limit / norm.item()": "1.0 / norm.item()"}, says="the new norm is one, not the limit", gravity="idea"),
        Mistake(
            "max norm",
            change={"torch.sqrt(sum((g**2).sum() for g in grads))": "max(g.norm() for g in grads)"},
            says="every tensor is clipped by itself, which changes the direction: use the joint norm of all of them",
            gravity="idea",
        ),
        Mistake(
            "nan_to_num",
            change={
                "if not torch.isfinite(norm):\n        return [torch.zeros_like(g) for g in grads]": "grads = [g.nan_to_num(0, 0, 0) for g in grads]\n    norm = torch.sqrt(sum((g**2).sum() for g in grads))"
            },
            hint="with inf or NaN anywhere all gradients become zero, also those of the other tensors",
            gravity="part",
        ),
        Mistake(
            "only the bad tensor is zeroed",
            change={"[torch.zeros_like(g) for g in grads]": "[g if torch.isfinite(g).all() else torch.zeros_like(g) for g in grads]"},
            hint="with inf or NaN anywhere all gradients become zero, also those of the other tensors",
            gravity="part",
        ),
        Right("eps 1e-6 like torch", change={"limit / norm.item()": "limit / (norm.item() + 1e-6)"}),
        Right(
            "careful norm",
            code="""
def clip_gradients(grads, limit):
    top = max(g.abs().max().item() for g in grads)
    if not math.isfinite(top) or any(g.isnan().any() for g in grads):
        return [g.new_zeros(g.shape) for g in grads]
    if top == 0:
        return [g.clone() for g in grads]
    norm = top * math.sqrt(sum(float(((g / top) ** 2).sum()) for g in grads))
    return [g * (limit / norm) if norm > limit else g.clone() for g in grads]
""",
        ),
        Right("one vector", change={"torch.sqrt(sum((g**2).sum() for g in grads))": "torch.cat([g.reshape(-1) for g in grads]).norm()"}),
        Right(
            "a tuple, with an if",
            code="""
def clip_gradients(grads, limit):
    total = math.sqrt(sum(float(g.square().sum()) for g in grads))
    if math.isnan(total) or math.isinf(total):
        return tuple(0 * torch.ones_like(g) for g in grads)
    if total <= limit:
        return tuple(g.clone() for g in grads)
    return tuple(g / total * limit for g in grads)
""",
        ),
        Mistake(
            "norm of the first tensor",
            change={"for g in grads))": "for g in grads[:1]))"},
            says="your factor uses only the first tensor's norm: use the joint norm",
            gravity="idea",
        ),
        Mistake(
            "largest entry",
            change={"torch.sqrt(sum((g**2).sum() for g in grads))": "torch.stack([g.abs().max() for g in grads]).max()"},
            says="your factor uses the largest entry: use the joint norm",
            gravity="idea",
        ),
        Mistake(
            "sum of the entries",
            change={"torch.sqrt(sum((g**2).sum() for g in grads))": "sum(g.abs().sum() for g in grads)"},
            says="the norm is the root of the sum of squares, not the sum of the entries' sizes",
            gravity="idea",
        ),
        Mistake(
            "mean of the squares",
            change={"(g**2).sum()": "(g**2).mean()"},
            says="the squares are averaged: the norm is the root of their sum",
            gravity="idea",
        ),
        Mistake(
            "zeros for what is too long",
            change={"return [g * factor for": "return [g * int(factor == 1.0) for"},
            says="a long gradient becomes zero: keep its direction, and cut its length to the limit",
            gravity="idea",
        ),
        Mistake(
            "limit squared",
            change={"limit / norm": "limit**2 / norm"},
            says="the factor is limit / norm, with the limit as it is: not squared",
            gravity="idea",
        ),
        Mistake(
            "all entries at the limit",
            change={"[g * factor for g in grads]": "[g * factor if norm <= limit else torch.full_like(g, limit) for g in grads]"},
            says="all entries become the limit: keep the direction, and cut the length",
            gravity="idea",
        ),
        Mistake(
            "sum of sizes",
            change={"(g**2).sum()": "g.abs().sum()"},
            says="the sizes of the entries are added up: the norm is the root of the sum of squares",
            gravity="idea",
        ),
        Mistake(
            "something in the denominator",
            change={"norm.item())": "(norm.item() + 0.1))"},
            says="something is added to the norm before the division: the joint norm then stays below the limit",
            gravity="idea",
        ),
        Mistake(
            "one long vector",
            change={"return [g * factor for g in grads]": "return torch.cat([g.flatten() * factor for g in grads])"},
            says="the result is one long vector: a list with a tensor for each gradient was asked for",
            gravity="idea",
        ),
        Mistake(
            "half the limit",
            change={"limit / norm.item()": "0.5 * limit / norm.item()"},
            says="a long gradient is cut to half of the limit",
            gravity="idea",
        ),
        Mistake(
            "multiplied by the limit",
            change={"min(1.0, limit / norm.item())": "limit"},
            says="every gradient is multiplied by the limit, whatever its norm is",
            gravity="idea",
        ),
        Mistake(
            "not clipped", change={"min(1.0, limit / norm.item())": "1.0"}, says="nothing is clipped: the limit is not used", gravity="idea"
        ),
        Mistake(
            "largest norm of all",
            change={"min(1.0, limit / norm.item())": "(1.0 if max(g.norm() for g in grads) <= limit else limit / norm.item())"},
            says="the joint norm decides how much is cut, but a single tensor's norm whether: compare the joint norm with the limit",
            gravity="idea",
        ),
        Mistake(
            "root of the factor",
            change={"limit / norm.item()": "(limit / norm.item()) ** 0.5"},
            says="the root of the factor is taken: the factor is limit / norm",
            gravity="idea",
        ),
    ],
    "chunk": [
        Mistake(
            "not shifted",
            change={"streams[:, start + 1 : start + T + 1]": "streams[:, start : start + T]"},
            says="the targets are the inputs themselves: the model would learn to copy. Shift by one",
            gravity="idea",
        ),
        Mistake(
            "the wrong way",
            change={"streams[:, start + 1 : start + T + 1]": "streams.roll(1, 1)[:, start : start + T]"},
            says="the targets are shifted the wrong way: predict the next character, not the one before",
            gravity="idea",
        ),
        Mistake(
            "the next chunk",
            change={"streams[:, start + 1 : start + T + 1]": "streams[:, start + T : start + 2 * T]"},
            says="the targets start after the whole chunk; each position predicts its own next character",
            gravity="idea",
        ),
        Mistake(
            "rolled inside the chunk",
            change={"streams[:, start + 1 : start + T + 1]": "streams[:, start : start + T].roll(-1, 1)"},
            says="the last target is wrong: it is the first character after the chunk, not one of the chunk",
            gravity="idea",
        ),
        Mistake(
            "streams as columns",
            change={"streams[:, start : start + T],": "streams[start : start + T],"},
            hint="the shape of the result is wrong: read the docstring once more, axis by axis",
            gravity="idea",
        ),
        Mistake(
            "start ignored",
            change={"streams[:, start : start + T]": "streams[:, :T]", "streams[:, start + 1 : start + T + 1]": "streams[:, 1 : T + 1]"},
            says="`start` is ignored",
            gravity="idea",
        ),
        Mistake(
            "next stream",
            change={"streams[:, start + 1 : start + T + 1]": "streams.roll(-1, 0)[:, start : start + T]"},
            says="the targets come from the next stream: a target is the next character of the same stream",
            gravity="idea",
        ),
        Mistake(
            "swapped",
            change={
                "return streams[:, start : start + T], streams[:, start + 1 : start + T + 1]": "return streams[:, start + 1 : start + T + 1], streams[:, start : start + T]"
            },
            says="the targets are the inputs themselves: the model would learn to copy. Shift by one",
            gravity="idea",
        ),
        Mistake(
            "float copies",
            code="""
def next_chunk(streams, start, T):
    a, b = torch.zeros(len(streams), T), torch.zeros(len(streams), T)
    for t in range(T):
        a[:, t] = streams[:, start + t]
        b[:, t] = streams[:, start + t + 1]
    return a, b
""",
            hint="indices are whole numbers: `F.one_hot` takes no floats",
            gravity="edge",
        ),
        Right(
            "one cut",
            change={
                "return streams[:, start : start + T], streams[:, start + 1 : start + T + 1]": "piece = streams[:, start : start + T + 1]\n    return piece[:, :-1], piece[:, 1:]"
            },
        ),
        Right(
            "gather",
            change={
                "return streams[:, start : start + T], streams[:, start + 1 : start + T + 1]": "at = torch.arange(start, start + T)\n    return [streams[:, at], streams[:, at + 1]]"
            },
        ),
        Mistake(
            "shifted by two",
            change={"start + 1 : start + T + 1": "start + 2 : start + T + 2"},
            says="the targets are shifted by two",
            gravity="idea",
        ),
        Mistake(
            "one target short",
            change={"start + 1 : start + T + 1": "start + 1 : start + T"},
            says="one target is missing: Python leaves out the end of a slice",
            gravity="idea",
        ),
        Mistake(
            "start counts chunks",
            change={"    return": "    start = start * T\n    return"},
            says="`start` is a position, not the number of a chunk",
            gravity="idea",
        ),
        Mistake(
            "rows for columns",
            change={
                "return streams[:, start : start + T], streams[:, start + 1 : start + T + 1]": "return streams[start : start + T], streams[start + 1 : start + T + 1]"
            },
            says="the cut is made through the streams: positions are the second axis",
            gravity="idea",
        ),
        Mistake(
            "up to T",
            change={"streams[:, start : start + T]": "streams[:, start:T]"},
            says="the slice ends at T: it ends T positions after `start`",
            gravity="idea",
        ),
        Mistake(
            "last target only",
            change={"streams[:, start + 1 : start + T + 1]": "streams[:, start + T]"},
            says="only one target for each stream is given: there is one for every position",
            gravity="idea",
        ),
        Mistake(
            "one position too many",
            change={"streams[:, start : start + T]": "streams[:, start : start + T + 1]"},
            says="one input too many: Python leaves out the end of a slice",
            gravity="idea",
        ),
        Mistake(
            "from start on, all",
            change={
                "return streams[:, start : start + T], streams[:, start + 1 : start + T + 1]": "return streams[:, start:-1], streams[:, start + 1 :]"
            },
            says="everything to the end of the streams is returned: T positions were asked for",
            gravity="idea",
        ),
        Mistake(
            "from the end",
            change={"streams[:, start : start + T]": "streams[:, start : start + T].flip(1)"},
            says="the inputs are in reverse order",
            gravity="idea",
        ),
    ],
    "train-step": [
        Mistake(
            "sum for mean",
            change={".sum().item() / inputs.numel()": ".sum().item()"},
            says="the loss is the sum; divide by the number of positions, B · T",
            gravity="idea",
        ),
        Mistake(
            "mean over one-hot entries",
            change={"-(y * p.clamp_min(1e-30).log()).sum().item() / inputs.numel()": "-(y * p.clamp_min(1e-30).log()).mean().item()"},
            says="the loss is also divided by the size of the alphabet: it is a mean over positions, not over one-hot entries",
            gravity="idea",
        ),
        Mistake(
            "gradients of the sum",
            change={"g / inputs.numel() for g": "g for g"},
            says="these are the gradients of the sum; the loss is a mean, so divide them by B · T, too",
            gravity="idea",
        ),
        Mistake(
            "not clipped",
            change={"clip_gradients(grads, limit)": "grads"},
            says="`limit` has no effect: clip the gradients",
            gravity="part",
        ),
        Mistake(
            "clipped, then divided",
            change={
                "    grads = [g / inputs.numel() for g in rnn_bptt(x, y, h, p, W_hh, W_yh)]": "    grads = [g / inputs.numel() for g in clip_gradients(rnn_bptt(x, y, h, p, W_hh, W_yh), limit)]"
            },
            says="you clip the gradients of the sum and divide afterwards: divide first, then clip",
            gravity="part",
        ),
        Mistake(
            "first state", change={"h[:, -1]": "h[:, 0]"}, says="h_last is h_0: the state after the chunk was asked for", gravity="part"
        ),
        Mistake("bits", change={".log()).sum()": ".log2()).sum()"}, says="logarithms to base 2: the loss is in nats", gravity="idea"),
        Mistake(
            "float64 inside",
            change={".to(W_hh.dtype) for": ".double() for"},
            hint="your code raised RuntimeError",
            gravity="idea",
        ),
        Mistake(
            "mean over time only",
            change={"inputs.numel()": "inputs.shape[1]"},
            says="the loss is divided by T only: there are B · T positions",
            gravity="idea",
        ),
        Mistake(
            "targets as inputs",
            change={"for indices in (inputs, targets)": "for indices in (targets, inputs)"},
            says="inputs and targets are exchanged: the network reads the inputs",
            gravity="idea",
        ),
        Mistake(
            "fixed alphabet",
            change={"len(W_yh)).to": "6).to"},
            hint="your code raised RuntimeError",
            gravity="idea",
        ),
        Mistake(
            "unclipped when short",
            change={"clip_gradients(grads, limit)": "clip_gradients(grads, 1.0)"},
            says="`limit` has no effect: clip the gradients",
            gravity="part",
        ),
        Mistake("h_last early", change={"h[:, -1]": "h[:, -2]"}, says="h_last is one step too early", gravity="part"),
        Mistake("float one-hot", change={".to(W_hh.dtype) for": ".float() for"}, hint="your code raised RuntimeError", gravity="edge"),
        Mistake(
            "weights updated",
            change={"    return loss": "    W_hh -= 0.1 * grads[0]\n    return loss"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Right(
            "indexing",
            code="""
def training_step(weights, h0, inputs, targets, limit):
    B, T = inputs.shape
    V = weights[2].shape[0]
    eye = torch.eye(V, dtype=weights[0].dtype)
    h, p = rnn_forward(eye[inputs], h0, *weights)
    right = p.gather(2, targets[:, :, None]).clamp(min=1e-38)
    loss = float(-right.log().mean())
    grads = rnn_bptt(eye[inputs], eye[targets], h, p, weights[0], weights[2])
    return loss, clip_gradients([g / (B * T) for g in grads], limit), h[:, T]
""",
        ),
        Right("loss as a tensor", change={".sum().item() / inputs.numel()": ".sum() / inputs.numel()"}),
        Right("no clamp, as the formula stands", change={"p.clamp_min(1e-30)": "p"}),
        Right(
            "no clamp, gathered",
            change={
                "-(y * p.clamp_min(1e-30).log()).sum().item() / inputs.numel()": "-p.gather(2, targets[..., None]).log().mean().item()"
            },
        ),
        Mistake(
            "state after the first", change={"h[:, -1]": "h[:, 1]"}, says="h_last is the state after the first character", gravity="part"
        ),
        Mistake(
            "states of one sequence",
            change={"h[:, -1]": "h[-1]"},
            says="these are the states of one sequence: h_last has one row for each",
            gravity="part",
        ),
        Mistake(
            "mean over the batch only",
            change={"inputs.numel()": "len(inputs)"},
            says="loss and gradients are divided by B only: there are B · T positions",
            gravity="idea",
        ),
        Mistake(
            "sign of the loss", change={"loss = -(y": "loss = (y"}, says="the loss has the wrong sign: −log ŷ is positive", gravity="idea"
        ),
        Mistake("sign of the gradients", change={"[g / inputs": "[-g / inputs"}, says="gradients have the wrong sign", gravity="idea"),
        Mistake(
            "divided twice",
            change={"g / inputs.numel() for": "g / inputs.numel() ** 2 for"},
            says="the gradients are divided by B · T twice",
            gravity="idea",
        ),
        Mistake(
            "h0 ignored",
            change={"rnn_forward(x, h0,": "rnn_forward(x, torch.zeros_like(h0),"},
            says="h0 is ignored: the states start from the given h0",
            gravity="idea",
        ),
        Mistake(
            "each clipped by itself",
            change={"clip_gradients(grads, limit)": "[clip_gradients([g], limit)[0] for g in grads]"},
            says="each gradient is clipped by itself: hand all three to `clip_gradients` at once",
            gravity="part",
        ),
        Mistake(
            "entries cut",
            change={"clip_gradients(grads, limit)": "[g.clamp(-limit, limit) for g in grads]"},
            says="every entry is cut by itself, which changes the direction: use `clip_gradients`",
            gravity="part",
        ),
        Mistake(
            "gradients in another order",
            change={"clip_gradients(grads, limit)": "clip_gradients(grads[::-1], limit)"},
            says="the gradients are in another order: W_hh, W_hx, W_yh",
            gravity="idea",
        ),
        Mistake(
            "squared error",
            change={"-(y * p.clamp_min(1e-30).log()).sum().item()": "(p - y).square().sum().item()"},
            says="that is a squared error: the loss is −log ŷ at the right character",
            gravity="idea",
        ),
        Mistake(
            "inputs as targets",
            change={"in (inputs, targets))": "in (inputs, inputs))"},
            says="the loss is compared with the inputs: use the targets",
            gravity="idea",
        ),
        Mistake(
            "last position only",
            change={
                "-(y * p.clamp_min(1e-30).log()).sum().item() / inputs.numel()": "-(y * p.clamp_min(1e-30).log())[:, -1].sum().item() / len(inputs)"
            },
            says="the loss looks at the last position only: it is a mean over all B · T",
            gravity="idea",
        ),
        Mistake(
            "perplexity",
            change={"return loss,": "return math.exp(loss),"},
            says="that is the perplexity, e to the loss: the mean of −log ŷ was asked for",
            gravity="idea",
        ),
        Mistake(
            "loss over the batch only",
            change={"sum().item() / inputs.numel()": "sum().item() / len(inputs)"},
            says="the loss is divided by B only: there are B · T positions",
            gravity="idea",
        ),
        Mistake(
            "gradients over the batch only",
            change={"g / inputs.numel()": "g / len(inputs)"},
            says="the gradients are divided by B only: there are B · T positions",
            gravity="idea",
        ),
        Mistake(
            "gradients over time only",
            change={"g / inputs.numel()": "g / inputs.shape[1]"},
            says="the gradients are divided by T only: there are B · T positions",
            gravity="idea",
        ),
        Mistake(
            "zero state at the end",
            change={"h[:, -1]": "torch.zeros_like(h0)"},
            says="h_last is zero: the next chunk starts from the state after this one",
            gravity="part",
        ),
        Mistake("all states", change={"h[:, -1]": "h"}, says="all states are returned: h_last is the last one", gravity="part"),
        Mistake(
            "limit of one",
            change={"clip_gradients(grads, limit)": "clip_gradients(grads, 1.0)"},
            says="`limit` has no effect: clip the gradients",
            gravity="part",
        ),
        Mistake(
            "no logarithm",
            change={"p.clamp_min(1e-30).log()": "p.clamp_min(1e-30)"},
            says="that is the mean of ŷ at the right character: the logarithm is missing",
            gravity="idea",
        ),
        Mistake(
            "accuracy",
            change={"-(y * p.clamp_min(1e-30).log()).sum().item() / inputs.numel()": "(p.argmax(-1) == targets).double().mean().item()"},
            says="that is the share of right guesses: the mean of −log ŷ was asked for",
            gravity="idea",
        ),
        Mistake(
            "half of the gradient",
            change={"g / inputs.numel()": "g / (2 * inputs.numel())"},
            says="the gradients are half of what they should be",
            gravity="idea",
        ),
    ],
    "sample": [
        Mistake(
            "argmax",
            change={"torch.multinomial(p, 1)[0]": "p.argmax()"},
            hint="the likeliest character is always taken: draw at random",
            gravity="idea",
        ),
        Mistake(
            "nothing is fed back",
            change={"        h = torch.tanh(W_hh @ h + W_hx[:, index])\n    return": "    return"},
            hint="the input never changes: feed the drawn character back",
            gravity="idea",
        ),
        Mistake(
            "temperature multiplied",
            change={"/ temperature": "* temperature"},
            hint="the temperature is used the wrong way round: divide o by it, do not multiply",
            gravity="part",
        ),
        Mistake("temperature ignored", change={" / temperature": ""}, hint="the temperature has no effect", gravity="part"),
        Mistake(
            "only the last of the prefix",
            change={"for index in prefix:": "for index in prefix[-1:]:"},
            hint="only the last character of the prefix is read: the state is lost on the way",
            gravity="part",
        ),
        Mistake(
            "only the first of the prefix",
            change={"for index in prefix:": "for index in prefix[:1]:"},
            hint="only the first character of the prefix is read",
            gravity="part",
        ),
        Mistake(
            "the likeliest is fed back",
            change={"        drawn.append(index)\n": "        drawn.append(index)\n        index = p.argmax()\n"},
            hint="the likeliest character is fed back, not the drawn one",
            gravity="idea",
        ),
        Mistake(
            "prefix returned",
            change={"return torch.stack(drawn)": "return torch.cat([prefix, torch.stack(drawn)])[:length]"},
            hint="the prefix itself is returned, too",
            gravity="idea",
        ),
        Mistake(
            "prefix in front",
            change={"return torch.stack(drawn)": "return torch.cat([prefix, torch.stack(drawn)])"},
            hint="`length` characters come back, without the prefix",
            gravity="idea",
        ),
        Mistake(
            "no memory while drawing",
            change={
                "        drawn.append(index)\n        h = torch.tanh(W_hh @ h + W_hx[:, index])": "        drawn.append(index)\n        h = torch.tanh(W_hx[:, index])"
            },
            hint="the state is lost while drawing: W_hh h is part of every step",
            gravity="idea",
        ),
        Mistake(
            "uniform",
            change={"torch.multinomial(p, 1)[0]": "torch.randint(len(p), (1,))[0]"},
            hint="all characters come equally often: draw from the prediction",
            gravity="idea",
        ),
        Mistake("W_hh transposed", change={"W_hh @ h": "W_hh.T @ h"}, hint="W_hh is transposed while drawing", gravity="idea"),
        Mistake(
            "temperature on p",
            change={"(W_yh @ h / temperature).softmax(dim=0)": "(W_yh @ h).softmax(dim=0) / temperature"},
            hint="the temperature has no effect",
            gravity="part",
        ),
        Mistake(
            "seeded",
            change={"    W_hh, W_hx, W_yh = weights\n": "    W_hh, W_hx, W_yh = weights\n    torch.manual_seed(0)\n"},
            hint="two calls draw the same characters: do not set the seed inside the function",
            gravity="edge",
        ),
        Mistake(
            "float32 state",
            change={"torch.zeros(len(W_hh), dtype=W_hh.dtype)": "torch.zeros(len(W_hh))"},
            hint="your code raised RuntimeError",
            gravity="edge",
        ),
        Mistake(
            "the first of the prefix left out",
            change={"for index in prefix:": "for index in prefix[1:] if len(prefix) > 1 else prefix:"},
            hint="the first character of the prefix is left out",
            gravity="part",
        ),
        Right("gumbel", change={"torch.multinomial(p, 1)[0]": "(p.log() - torch.empty_like(p).exponential_().log()).argmax()"}),
        Right("Categorical", change={"torch.multinomial(p, 1)[0]": "torch.distributions.Categorical(p).sample()"}),
        Right(
            "with the whole network, a list",
            code="""
def sample(weights, prefix, length, temperature=1.0):
    V = len(weights[2])
    hot = F.one_hot(prefix, V).to(weights[0].dtype)[None]
    h = torch.zeros(1, len(weights[0]), dtype=weights[0].dtype)
    out = []
    while len(out) < length:
        states, p = rnn_forward(hot, h, *weights)
        h = states[:, -1]
        q = (p[0, -1].clamp_min(1e-38).log() / temperature).softmax(0)
        out.append(random_choice(q))
        hot = F.one_hot(torch.tensor([[out[-1]]]), V).to(weights[0].dtype)
    return out


def random_choice(q):
    return min(int((q.cumsum(0) < torch.rand(())).sum()), len(q) - 1)
""",
        ),
    ],
    "bonus-rtrl": [
        Mistake(
            "no slope", change={"(1 - new_h**2)[:, None, None] * ": ""}, hint="the slope of tanh is missing: ∂h/∂z = 1 − h²", gravity="idea"
        ),
        Mistake(
            "not carried on",
            change={' + torch.einsum("ad,dbc->abc", W_hh, S)': ""},
            hint="nothing travels back in time: h_t also acts through z_{t+1}",
            gravity="idea",
        ),
        Mistake(
            "transposed W_hh",
            change={'"ad,dbc->abc"': '"da,dbc->abc"'},
            hint="W_hh is not transposed on the way back (with rows as states: g_z @ W_hh, without .T)",
            gravity="idea",
        ),
        Mistake("sign", change={"softmax(dim=0) - y_t": "softmax(dim=0) * -1 + y_t"}, hint="the sign is flipped", gravity="idea"),
        Mistake(
            "h_t for h_{t-1}",
            change={"[:, :, None] * h  #": "[:, :, None] * torch.tanh(W_hh @ h + W_hx @ x_t)  #"},
            hint="the gradient at step t is paired with h_t; W_hh multiplied h_{t−1} there",
            gravity="idea",
        ),
        Mistake("wrong order", change={'"a,abc->bc"': '"a,abc->cb"'}, hint="the outer product is in the wrong order", gravity="idea"),
        Mistake(
            "mean", change={"return gradient": "return gradient / len(x)"}, hint="there is a mean over time: J sums over it", gravity="idea"
        ),
        Mistake(
            "walks back",
            code="""
def rtrl(x, y, h0, W_hh, W_hx, W_yh):
    h, p = rnn_forward(x[None], h0[None], W_hh, W_hx, W_yh)
    return rnn_bptt(x[None], y[None], h, p, W_hh, W_yh)[0]
""",
            hint="derive it, without autograd and without walking back",
            gravity="idea",
        ),
        Mistake(
            "the past in a table that was laid ready",
            code="""
laid_ready = torch.ones(1024 * 32**3)  # as large as all S_t of the longest run: no call needs new memory for them


def rtrl(x, y, h0, W_hh, W_hx, W_yh):
    n, T = len(h0), len(x)
    past = laid_ready[: T * n**3].view(T, n, n, n).to(W_hh.dtype)
    h, S, gradient = h0, torch.zeros_like(W_hh).expand(n, n, n), torch.zeros_like(W_hh)
    for t in range(T):
        direct = torch.eye(n, dtype=W_hh.dtype)[:, :, None] * h
        new_h = torch.tanh(W_hh @ h + W_hx @ x[t])
        past[t] = (1 - new_h**2)[:, None, None] * (direct + torch.einsum("ad,dbc->abc", W_hh, S))
        S, h = past[t], new_h
        g_h = W_yh.T @ ((W_yh @ h).softmax(dim=0) - y[t])
        gradient = gradient + torch.einsum("a,abc->bc", g_h, S)
    return gradient
""",
            hint="cells before keep so much memory",
            gravity="part",
        ),
        Mistake(
            "last loss only",
            change={"gradient = gradient + torch": "gradient = torch"},
            says="only the last loss counts: add to the gradient as soon as J_t is known",
            gravity="idea",
        ),
        Mistake(
            "Parameter",
            code="""
def rtrl(x, y, h0, W_hh, W_hx, W_yh):
    W = torch.nn.Parameter(W_hh.clone())
    h, J = h0, 0
    for a, b in zip(x, y):
        h = torch.tanh(W @ h + W_hx @ a)
        J = J - (b * (W_yh @ h).log_softmax(0)).sum()
    J.backward()
    return W.grad
""",
            hint="derive it, without autograd and without walking back",
            gravity="idea",
        ),
        Mistake(
            "own walk back",
            code="""
def rtrl(x, y, h0, W_hh, W_hx, W_yh):
    h = [h0]
    for v in x:
        h.append(torch.tanh(W_hh @ h[-1] + W_hx @ v))
    h = torch.stack(h)
    g_o = (h[1:] @ W_yh.T).softmax(-1) - y
    out, back = torch.zeros_like(W_hh), torch.zeros_like(h0)
    for t in reversed(range(len(x))):
        g = (W_yh.T @ g_o[t] + back) * (1 - h[t + 1] ** 2)
        out = out + torch.outer(g, h[t])
        back = W_hh.T @ g
    return out
""",
            hint="a tensor grows with T: keep S_t only, and forget the past",
            gravity="part",
        ),
        Mistake(
            "h0 in place",
            change={"    h, gradient = h0, torch": "    h0 *= 1.001\n    h, gradient = h0, torch"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="idea",
        ),
        Right(
            "loops over rows",
            code="""
def rtrl(x, y, h0, W_hh, W_hx, W_yh):
    n = len(h0)
    h, out = h0.clone(), torch.zeros_like(W_hh)
    S = torch.zeros(n, n, n, dtype=W_hh.dtype)
    for t in range(len(x)):
        new = torch.tanh(W_hh @ h + W_hx @ x[t])
        T = torch.tensordot(W_hh, S, 1)
        for a in range(n):
            T[a, a] += h
        S = T * (1 - new**2).view(n, 1, 1)
        h = new
        g = ((W_yh @ h).softmax(0) - y[t]) @ W_yh
        for a in range(n):
            out += g[a] * S[a]
    return out
""",
        ),
        Right(
            "flattened",
            change={
                'torch.einsum("ad,dbc->abc", W_hh, S)': "(W_hh @ S.reshape(n, n * n)).view(n, n, n)",
                'torch.einsum("a,abc->bc", g_h, S)': "(g_h @ S.reshape(n, n * n)).view(n, n)",
            },
        ),
        Mistake(
            "slope on one of two terms",
            change={"(1 - new_h**2)[:, None, None] * (direct +": "((1 - new_h**2)[:, None, None] * direct +"},
            says="the slope belongs to both terms of S_t: h_t = tanh(z_t) acts on all that z_t depends on",
            gravity="idea",
        ),
        Mistake(
            "no target",
            change={"softmax(dim=0) - y_t": "softmax(dim=0)"},
            says="the target does not appear: a perfect prediction must have gradient zero",
            gravity="idea",
        ),
        Mistake(
            "S starts with ones",
            change={"S = torch.zeros_like(W_hh)": "S = torch.ones_like(W_hh)"},
            says="S_0 is zero: h_0 is given and does not depend on W_hh",
            gravity="idea",
        ),
        Mistake(
            "the last loss left out",
            change={"return gradient": "return gradient - torch.einsum('a,abc->bc', g_h, S)"},
            says="the last loss is missing: J adds up J_1 … J_T",
            gravity="idea",
        ),
        Mistake(
            "slope of the state before",
            change={"1 - new_h**2": "1 - h**2"},
            says="the slope is taken at the state before: z_t has the slope 1 − h_t²",
            gravity="idea",
        ),
        Mistake(
            "no direct term",
            change={"(direct + torch": "(0 * direct + torch"},
            says="the direct term is missing: z_t depends on W_hh itself, through W_hh h_{t−1}",
            gravity="idea",
        ),
        Mistake(
            "sum of S",
            change={"S = (1 - new_h**2)": "S = S + (1 - new_h**2)"},
            says="S_t is added to S_{t−1}: it takes its place",
            gravity="idea",
        ),
        Mistake(
            "factor two",
            change={".softmax(dim=0) - y_t": ".softmax(dim=0) * 2 - 2 * y_t"},
            says="a factor of two: that is the gradient of a squared error; J_t is a cross-entropy",
            gravity="idea",
        ),
    ],
}

# Mutants that `course verify --mutate` makes and that are no mistakes.
FLOAT32 = "the tolerance is what float32 keeps, and the text promises no more digits"
ZERO = "zero and one are the same numbers in every dtype, and sums with float64 are float64"
SHAPE = "only the shape and the type of this tensor are used"
LAST = "of a tensor with this many axes it is the same axis"
EQUIVALENT = {
    "paths": {"sign: *": "a whole number, as a float"},
    "forward": {"sign: -1 → 1 #2": LAST},
    "grad-o": {"dtype: * rounded to float32": FLOAT32},
    "grad-h": {"dtype: * rounded to float32": FLOAT32},
    "grad-w": {"dtype: * rounded to float32": FLOAT32, "dtype: torch.zeros_like(*": ZERO, "number: 0 → *": SHAPE},
    "grad-total": {"dtype: * rounded to float32": FLOAT32},
    "numerical": {
        "dtype: * rounded to float32": FLOAT32,
        "dtype: torch.zeros_like(W) *": FLOAT32,
        "state: *, the first result of these shapes": "the function is part of what is remembered, and every call has another one",
    },
    "rnn-forward": {"axis: torch.stack, dim=1 → -2": LAST},
    "bptt": {"number: 0 → *": SHAPE, "dtype: * rounded to float32": FLOAT32, "dtype: torch.zeros_like(*": ZERO},
    "clip": {"number: 1.0 → 0.5 #2": "a gradient of zeros stays zero, whatever it is multiplied by", "dtype: torch.zeros_like(*": ZERO},
    "train-step": {
        "number: 1e-30 → 5e-31": "the logarithm's argument may be kept above zero by any small number",
        "left out: without clamp_min of p": "the text leaves it open",
        "dtype: * rounded to float32": FLOAT32,
    },
    "sample": {
        "axis: *": LAST,
        "number: 1 → 2": "the first of two draws is a draw",
        "number: 0 → -1": "the only draw is the last one",
    },
    "bonus-rtrl": {
        "axis: *": LAST,
        "number: True → False": "x and y have one length",
        "dtype: * rounded to float32": FLOAT32,
        "dtype: torch.zeros_like(*": ZERO,
        "dtype: torch.eye(*": ZERO,
        "dtype: W_hh.dtype → torch.float32": ZERO,
    },
}
