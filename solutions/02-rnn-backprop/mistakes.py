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
            hint="every matrix is used at every step",
        ),
        Mistake(
            "one copy of the weights per step", change={'("W_hh", f"z{t}")': '(f"W_hh{t}", f"z{t}")'}, hint="weights have no time index"
        ),
        Mistake(
            "arrows against the direction of computing",
            change={'(f"h{t - 1}", f"z{t}")': '(f"z{t}", f"h{t}"), (f"h{t}", f"z{t}")'},
            hint="listed twice",
        ),
        Mistake("the state feeds itself", change={'(f"h{t - 1}", f"z{t}")': '(f"h{t}", f"z{t}")'}, hint="the graph has a cycle"),
        Mistake("the target is forgotten", change={'(f"y{t}", f"J{t}"), ': ""}, hint="no arrow leads from y1"),
        Mistake(
            "z instead of h is carried on",
            change={'(f"h{t - 1}", f"z{t}")': '(f"z{t - 1}" if t > 1 else "h0", f"z{t}")'},
            hint="not h_t and not z_{t−1}",
        ),
        Mistake(
            "the prediction is fed back",
            change={'(f"h{t - 1}", f"z{t}")': '(f"p{t - 1}" if t > 1 else "h0", f"z{t}")'},
            hint="the prediction is not fed back",
        ),
        Mistake("three steps only", change={"range(1, T + 1)": "range(1, 4)"}, hint="there is no node"),
        Mistake(
            "the loss is not summed",
            change={', (f"J{t}", "J")]': ', (f"J{t}", "J") if t == T else (f"J{t}", f"J{t + 1}")]'},
            hint="count the arrows into z2, h2, o2, p2, J2, J",
        ),
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
    ],
    "paths": [
        Mistake("paths to the last loss only", change={"T * (T + 1) // 2": "T"}, hint="paths to J_3 only"),
        Mistake("every step reaches every loss", change={"T * (T + 1) // 2": "T * T"}, hint="reach J_1 from a later step"),
        Mistake("doubling", change={"T * (T + 1) // 2": "2**T - 1"}, hint="paths do not double"),
        Mistake("sum one short", change={"T * (T + 1) // 2": "T * (T - 1) // 2"}, hint="sum up to T − 1"),
        Mistake("half of the square", change={"T * (T + 1) // 2": "max(T * T // 2, 1)"}, hint="leaves out the paths i = t"),
        Right("a sum", change={"T * (T + 1) // 2": "sum(range(T + 1))"}),
        Right("counted", change={"T * (T + 1) // 2": 'derivation.count_paths(graph_edges(T), "W_hh", "J")'}),
    ],
    "forward": [
        Mistake("starts from zero", change={"h = [h0]": "h = [torch.zeros_like(h0)]"}, hint="the first row of h is h_0, as given"),
        Mistake(
            "tanh too early",
            change={"h.append(W_hh @ h[-1] + W_hx @ x_t)": "h.append(torch.tanh(W_hh @ h[-1] + W_hx @ x_t))"},
            hint="ψ is the identity here",
        ),
        Mistake("W_hh transposed", change={"W_hh @ h[-1]": "h[-1] @ W_hh"}, hint="W_hh is transposed"),
        Mistake("always from h_0", change={"W_hh @ h[-1]": "W_hh @ h0"}, hint="every step starts from h_0 again"),
        Mistake(
            "h_0 missing",
            change={"W_hh @ h[-1] + W_hx @ x_t": "W_hx @ x_t + (W_hh @ h[-1] if len(h) > 1 else 0)"},
            hint="h_1 lacks W_hh h_0",
        ),
        Mistake("predictions one step early", change={"(h[1:] @": "(h[:-1] @"}, hint="one step too early"),
        Mistake("softmax over time", change={"softmax(dim=-1)": "softmax(dim=0)"}, hint="along which axis does softmax run"),
        Mistake("no softmax", change={".softmax(dim=-1)": ""}, hint="the softmax is missing"),
        Mistake("h_0 not returned", change={"    return h, (h[1:]": "    return h[1:], (h[1:]"}, hint="T + 1 rows"),
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
    ],
    "grad-o": [
        Mistake("sign flip", change={"p - y": "y - p"}, hint="the sign is flipped"),
        Mistake("derivative by ŷ", change={"p - y": "-y / p"}, hint="one more link is missing"),
        Mistake("diagonal only", change={"p - y": "-y * (1 - p)"}, hint="the terms i ≠ j are missing"),
        Mistake("mean over classes", change={"p - y": "(p - y) / len(p)"}, hint="a mean over the classes"),
        Mistake("no target", change={"p - y": "p * 1.0"}, hint="the target does not appear"),
        Mistake("one class", change={"return p - y": "return p - F.one_hot(y.argmax(), len(y))"}, hint="treated as one class"),
        Mistake("unsimplified", change={"return p - y": "return (torch.diag(p) - torch.outer(p, p)) @ (-y / p)"}, hint="must not give NaN"),
        Right("Jacobian, without division", change={"return p - y": "return p * y.sum() - y"}),
        Right("numpy", change={"return p - y": "return p.numpy() - y.numpy()"}),
        Right("a list", change={"return p - y": "return [float(a - b) for a, b in zip(p, y)]"}),
    ],
    "grad-h": [
        Mistake("transposed W_hh", change={"W_hh.T @ g": "W_hh @ g"}, hint="W_hh is not transposed"),
        Mistake(
            "element-wise power",
            change={"    for _ in range(steps):\n        g = W_hh.T @ g\n    return g": "    return (W_hh.T**steps) @ g"},
            hint="`**` raises every entry",
        ),
        Mistake("one step too few", change={"range(steps)": "range(steps - 1)"}, hint="one step back too few"),
        Mistake("one step too many", change={"range(steps)": "range(steps + 1)"}, hint="one step back too many"),
        Mistake("once at most", change={"range(steps)": "range(min(steps, 1))"}, hint="applied once, whatever t − i is"),
        Mistake("sign flip", change={"return g": "return -g"}, hint="the sign is flipped"),
        Mistake("W_yh not transposed", change={"W_yh.T @ g_o": "W_yh @ g_o"}, hint="the gradient at a state has the shape of a state"),
        Mistake("stays where it arrived", change={"g = W_hh.T @ g": "g = g"}, hint="it still has to travel"),
        Mistake("mean", change={"return g": "return g / max(steps, 1)"}, hint="a mean over the steps"),
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
    ],
    "grad-w": [
        Mistake(
            "wrong order",
            change={"torch.outer(g_h[i - 1], h[i - 1])": "torch.outer(h[i - 1], g_h[i - 1])"},
            hint="the outer product is in the wrong order",
        ),
        Mistake(
            "h_i for h_{i-1}",
            change={"torch.outer(g_h[i - 1], h[i - 1])": "torch.outer(g_h[i - 1], h[i])"},
            hint="W_hh multiplied h_{i−1} there",
        ),
        Mistake("only i = t", change={"range(1, len(h))": "range(len(h) - 1, len(h))"}, hint="only the last step, i = t"),
        Mistake("only i = 1", change={"range(1, len(h))": "range(1, 2)"}, hint="only the first step, i = 1"),
        Mistake("from i = 2", change={"range(1, len(h))": "range(2, len(h))"}, hint="the first step is left out"),
        Mistake("sign flip", change={"return total": "return -total"}, hint="the sign is flipped"),
        Mistake("mean for sum", change={"return total": "return total / len(g_h)"}, hint="a mean over the steps"),
        Mistake("up to t - 1", change={"range(1, len(h))": "range(1, len(h) - 1)"}, hint="the last step is left out"),
        Mistake(
            "both at once",
            change={"torch.outer(g_h[i - 1], h[i - 1])": "torch.outer(h[i], g_h[i - 1])"},
            hint="and the outer product is in the wrong order",
        ),
        Right("matrix product", change={"return total": "return g_h.T @ h[:-1]"}),
        Right("einsum", change={"return total": 'return torch.einsum("ia,ib->ab", g_h, h[: len(g_h)])'}),
        Right(
            "float32 accumulator",
            change={"torch.zeros_like(torch.outer(h[0], h[0]))": "torch.zeros(len(h[0]), len(h[0]))", "total = total + ": "total += "},
        ),
    ],
    "grad-total": [
        Mistake("mean for sum", change={"g_W.sum(0)": "g_W.mean(0)"}, hint="a mean over t"),
        Mistake("last loss only", change={"g_W.sum(0)": "g_W[-1]"}, hint="gradient of J_T alone"),
        Mistake("first loss only", change={"g_W.sum(0)": "g_W[0]"}, hint="gradient of J_1 alone"),
        Mistake("sign flip", change={"g_W.sum(0)": "-g_W.sum(0)"}, hint="the sign is flipped"),
        Mistake("wrong axis", change={"g_W.sum(0)": "g_W.sum(1)"}, hint="one matrix of the shape of W_hh"),
        Mistake("transposed", change={"g_W.sum(0)": "g_W.sum(0).T"}, hint="the sum is transposed"),
        Right("loop", change={"g_W.sum(0)": "sum(g for g in g_W)"}),
        Right("einsum", change={"g_W.sum(0)": 'torch.einsum("tab->ab", g_W)'}),
    ],
    "chain": [
        Mistake(
            "link 1: sign",
            code=with_link("def grad_o(p, y):\n    return y - p\n"),
            hint="step 1 of 4, ∂J_t/∂o_t, is the first wrong one (t = 1): the sign is flipped",
        ),
        Mistake(
            "link 2: transposed",
            code=with_link("def grad_h(g_o, W_hh, W_yh, steps):\n    return torch.linalg.matrix_power(W_hh, steps) @ W_yh.T @ g_o\n"),
            hint="i = 1): W_hh is not transposed",
        ),
        Mistake(
            "link 3: order",
            code=with_link("def grad_W_one(h, g_h):\n    return h[:-1].T @ g_h\n"),
            hint="step 3 of 4, ∂J_t/∂W_hh, is the first wrong one (t = 1): the outer product is in the wrong order",
        ),
        Mistake(
            "link 3: h_i",
            code=with_link("def grad_W_one(h, g_h):\n    return g_h.T @ h[1:]\n"),
            hint="(t = 1): you pair the gradient at step i with h_i",
        ),
        Mistake(
            "link 3: no sum",
            code=with_link("def grad_W_one(h, g_h):\n    return torch.outer(g_h[-1], h[-2])\n"),
            hint="(t = 2): only the last step, i = t",
        ),
        Mistake(
            "link 4: mean",
            code=with_link("def grad_W_total(g_W):\n    return g_W.mean(0)\n"),
            hint="step 4 of 4, ∂J/∂W_hh, is the only wrong one: there is a mean over t",
        ),
        Mistake(
            "links 2 and 4 wrong",
            code=with_link(
                "def grad_h(g_o, W_hh, W_yh, steps):\n    return -W_yh.T @ g_o\ndef grad_W_total(g_W):\n    return g_W.mean(0)\n"
            ),
            hint="step 2 of 4, ∂J_t/∂h_i, is the first wrong one (t = 1, i = 1): the sign is flipped",
        ),
        Mistake("rows backwards", change={"for i in range(1, t + 1)])": "for i in range(t, 0, -1)])"}, hint="the rows run backwards"),
        Mistake(
            "a tuple",
            change={'return {"g_o": g_o, "g_h": g_h, "g_W": g_W, "total": grad_W_total(g_W)}': "return g_o, g_h, g_W, grad_W_total(g_W)"},
            hint="return a dictionary with the four keys",
        ),
        Mistake("one row per table", change={'"g_h": g_h,': '"g_h": [g[:1] for g in g_h],'}, hint="should hold the gradients at h_1 … h_2"),
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
            hint="that is the one-sided difference",
        ),
        Mistake("factor of two", change={"/ (2 * eps)": "/ eps"}, hint="the two points are 2ε apart"),
        Mistake("sign", change={"f(W + shift) - f(W - shift)": "f(W - shift) - f(W + shift)"}, hint="f(W + ε) comes first"),
        Mistake("all entries at once", change={"shift.view(-1)[index] = eps": "shift[:] = eps"}, hint="all entries are shifted at once"),
        Mistake(
            "eps ignored", change={"shift = torch.zeros_like(W)": "shift = torch.zeros_like(W); eps = 1e-5"}, hint="ε is fixed in your code"
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
            hint="changes its input in place",
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
            hint="may f return a plain number",
        ),
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
    ],
    "rnn-forward": [
        Mistake(
            "no tanh", change={"torch.tanh(h[-1] @ W_hh.T + from_input[:, t])": "h[-1] @ W_hh.T + from_input[:, t]"}, hint="tanh is missing"
        ),
        Mistake("W_hh transposed", change={"h[-1] @ W_hh.T": "h[-1] @ W_hh"}, hint="W_hh is transposed"),
        Mistake(
            "tanh of one part",
            change={"torch.tanh(h[-1] @ W_hh.T + from_input[:, t])": "torch.tanh(h[-1] @ W_hh.T) + from_input[:, t]"},
            hint="around the whole sum",
        ),
        Mistake("no memory", change={"h[-1] @ W_hh.T + ": ""}, hint="the state before is missing"),
        Mistake("predictions one step early", change={"(h[:, 1:] @": "(h[:, :-1] @"}, hint="one step too early"),
        Mistake("time first", change={"torch.stack(h, dim=1)": "torch.stack(h, dim=0)"}, hint="h is (B, T + 1, n_h)"),
        Mistake("softmax over time", change={"softmax(dim=-1)": "softmax(dim=1)"}, hint="distribution over the classes, the last axis"),
        Mistake("inputs of the first step only", change={"from_input[:, t]": "from_input[:, 0]"}, hint="for every sequence of the batch"),
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
    ],
    "bptt": [
        Mistake("no slope", change={" * (1 - h[:, t + 1] ** 2)": ""}, hint="the slope of tanh is missing: ∂h/∂z"),
        Mistake("tanh twice", change={"(1 - h[:, t + 1] ** 2)": "(1 - torch.tanh(h[:, t + 1]) ** 2)"}, hint="took the tanh of h once more"),
        Mistake("transposed W_hh", change={"g_z[:, t] @ W_hh\n": "g_z[:, t] @ W_hh.T\n"}, hint="W_hh is not transposed on the way back"),
        Mistake("nothing comes back", change={"later = g_z[:, t] @ W_hh": "later = 0 * later"}, hint="nothing travels back in time"),
        Mistake(
            "h instead of z travels",
            change={"later = g_z[:, t] @ W_hh": "later = (from_output[:, t] + later) @ W_hh"},
            hint="what travels back through W_hh is the gradient at z",
        ),
        Mistake("h_t for h_{t-1}", change={"g_z, h[:, :-1])": "g_z, h[:, 1:])"}, hint="W_hh multiplied h_{t−1} there"),
        Mistake(
            "wrong order",
            change={'"bta,btc->ac", g_z, h[:, :-1]': '"bta,btc->ca", g_z, h[:, :-1]'},
            hint="the outer product is in the wrong order",
        ),
        Mistake("mean over the batch", change={"g_o = p - y ": "g_o = (p - y) / len(x) "}, hint="a mean over the batch"),
        Mistake("mean over time", change={"g_o = p - y ": "g_o = (p - y) / x.shape[1] "}, hint="a mean over time"),
        Mistake("mean over both", change={"g_o = p - y ": "g_o = (p - y) / x[..., 0].numel() "}, hint="a mean over batch and time"),
        Mistake("sign flip", change={"g_o = p - y ": "g_o = y - p "}, hint="the sign is flipped"),
        Mistake("square missing", change={"h[:, t + 1] ** 2": "h[:, t + 1]"}, hint="not 1 − h"),
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
            hint="the work grows faster than T",
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
        ),
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
    ],
    "jacobian": [
        Mistake(
            "reversed order",
            change={"(1 - state**2)[:, None] * W_hh @ jacobian": "jacobian @ ((1 - state**2)[:, None] * W_hh)"},
            hint="the factors are in the wrong order",
        ),
        Mistake(
            "slope on the columns",
            change={"(1 - state**2)[:, None] * W_hh @": "W_hh * (1 - state**2) @"},
            hint="the slope scales the wrong side",
        ),
        Mistake("no slope", change={"(1 - state**2)[:, None] * W_hh": "W_hh"}, hint="the slope of tanh is missing"),
        Mistake("slopes before the step", change={"h[1:]": "h[:-1]"}, hint="it belongs to the state after it"),
        Mistake("one factor too many", change={"h[1:]": "h"}, hint="no step between i and t"),
        Mistake("last step only", change={" @ jacobian": ""}, hint="How many steps do three states make?"),
        Mistake("transposed", change={"return jacobian": "return jacobian.T"}, hint="the Jacobian is transposed"),
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
    ],
    "overflow": [
        Mistake("the largest that fits", change={") + 1": ")"}, hint="not the largest that fits"),
        Mistake("float64", change={"torch.float32": "torch.float64"}, hint="limit of float64"),
        Mistake("log of rho missing", change={" / math.log(rho)": ""}, hint="log ρ is missing"),
        Mistake("no end", change={"    if rho <= 1:\n        return math.inf\n": ""}, hint="ρ = 1 never overflows"),
        Mistake("zero for small rho", change={"if rho <= 1:": "if rho == 1:"}, hint="ρ < 1 shrinks"),
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
    ],
    "clip": [
        Mistake(
            "each by itself",
            change={
                "    return [g * factor for g in grads]": "    return [g * min(1.0, limit / max(g.norm().item(), 1e-30)) for g in grads]"
            },
            hint="every tensor is clipped by itself, which changes the direction",
        ),
        Mistake(
            "clamp",
            change={"    return [g * factor for g in grads]": "    return [g.clamp(-limit, limit) for g in grads]"},
            hint="every entry is cut by itself (clamp)",
        ),
        Mistake("always normalised", change={"min(1.0, limit / norm.item())": "limit / norm.item()"}, hint="clip, do not normalise"),
        Mistake(
            "no root",
            change={"torch.sqrt(sum((g**2).sum() for g in grads))": "sum((g**2).sum() for g in grads)"},
            hint="the root is missing",
        ),
        Mistake(
            "norms added", change={"torch.sqrt(sum((g**2).sum() for g in grads))": "sum(g.norm() for g in grads)"}, hint="norms do not add"
        ),
        Mistake(
            "NaN stays", change={"if not torch.isfinite(norm):": "if False:"}, hint="with inf or NaN anywhere all gradients become zero"
        ),
        Mistake(
            "only inf is caught", change={"not torch.isfinite(norm)": "norm == torch.inf"}, hint="NaN compares as False with everything"
        ),
        Mistake("in place", change={"[g * factor for g in grads]": "[g.mul_(factor) for g in grads]"}, hint="changes its input in place"),
        Mistake(
            "zero divided",
            change={
                "    factor = min(1.0, limit / norm.item()) if norm > 0 else 1.0\n    return [g * factor for g in grads]": "    return [g / norm * min(norm.item(), limit) for g in grads]"
            },
            hint="a zero gradient must stay zero",
        ),
        Mistake("norm one", change={"limit / norm.item()": "1.0 / norm.item()"}, hint="the new norm is one, not the limit"),
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
    ],
    "chunk": [
        Mistake(
            "not shifted",
            change={"streams[:, start + 1 : start + T + 1]": "streams[:, start : start + T]"},
            hint="the targets are the inputs themselves",
        ),
        Mistake(
            "the wrong way",
            change={"streams[:, start + 1 : start + T + 1]": "streams.roll(1, 1)[:, start : start + T]"},
            hint="shifted the wrong way",
        ),
        Mistake(
            "the next chunk",
            change={"streams[:, start + 1 : start + T + 1]": "streams[:, start + T : start + 2 * T]"},
            hint="start after the whole chunk",
        ),
        Mistake(
            "rolled inside the chunk",
            change={"streams[:, start + 1 : start + T + 1]": "streams[:, start : start + T].roll(-1, 1)"},
            hint="it is the first character after the chunk",
        ),
        Mistake(
            "streams as columns",
            change={"streams[:, start : start + T],": "streams[start : start + T],"},
            hint="the shape of the result is wrong",
        ),
        Mistake(
            "start ignored",
            change={"streams[:, start : start + T]": "streams[:, :T]", "streams[:, start + 1 : start + T + 1]": "streams[:, 1 : T + 1]"},
            hint="the inputs start at the wrong place",
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
    ],
    "train-step": [
        Mistake("sum for mean", change={".sum().item() / inputs.numel()": ".sum().item()"}, hint="the loss is the sum"),
        Mistake(
            "mean over one-hot entries",
            change={"-(y * p.clamp_min(1e-30).log()).sum().item() / inputs.numel()": "-(y * p.clamp_min(1e-30).log()).mean().item()"},
            hint="not over one-hot entries",
        ),
        Mistake("gradients of the sum", change={"g / inputs.numel() for g": "g for g"}, hint="these are the gradients of the sum"),
        Mistake("not clipped", change={"clip_gradients(grads, limit)": "grads"}, hint="`limit` has no effect"),
        Mistake(
            "clipped, then divided",
            change={
                "    grads = [g / inputs.numel() for g in rnn_bptt(x, y, h, p, W_hh, W_yh)]": "    grads = [g / inputs.numel() for g in clip_gradients(rnn_bptt(x, y, h, p, W_hh, W_yh), limit)]"
            },
            hint="divide first, then clip",
        ),
        Mistake("first state", change={"h[:, -1]": "h[:, 0]"}, hint="h_last is h_0"),
        Mistake("bits", change={".log()).sum()": ".log2()).sum()"}, hint="logarithms to base 2"),
        Mistake("float64 inside", change={".to(W_hh.dtype) for": ".double() for"}, hint="convert the one-hot vectors to the weights' type"),
        Mistake("mean over time only", change={"inputs.numel()": "inputs.shape[1]"}, hint="divided by T only"),
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
    ],
    "sample": [
        Mistake("argmax", change={"torch.multinomial(p, 1)[0]": "p.argmax()"}, hint="the likeliest character is always taken"),
        Mistake(
            "nothing is fed back",
            change={"        h = torch.tanh(W_hh @ h + W_hx[:, index])\n    return": "    return"},
            hint="the input never changes",
        ),
        Mistake("temperature multiplied", change={"/ temperature": "* temperature"}, hint="the temperature is turned round"),
        Mistake("temperature ignored", change={" / temperature": ""}, hint="the temperature has no effect"),
        Mistake(
            "only the last of the prefix", change={"for index in prefix:": "for index in prefix[-1:]:"}, hint="the state is lost on the way"
        ),
        Mistake(
            "only the first of the prefix",
            change={"for index in prefix:": "for index in prefix[:1]:"},
            hint="is the whole prefix read, in order",
        ),
        Mistake(
            "the likeliest is fed back",
            change={"        drawn.append(index)\n": "        drawn.append(index)\n        index = p.argmax()\n"},
            hint="do not come with the predicted probabilities",
        ),
        Mistake(
            "prefix returned",
            change={"return torch.stack(drawn)": "return torch.cat([prefix, torch.stack(drawn)])[:length]"},
            hint="the prefix itself is returned",
        ),
        Mistake(
            "prefix in front",
            change={"return torch.stack(drawn)": "return torch.cat([prefix, torch.stack(drawn)])"},
            hint="without the prefix",
        ),
        Mistake(
            "no memory while drawing",
            change={
                "        drawn.append(index)\n        h = torch.tanh(W_hh @ h + W_hx[:, index])": "        drawn.append(index)\n        h = torch.tanh(W_hx[:, index])"
            },
            hint="Is W_hh h part of every step",
        ),
        Mistake("uniform", change={"torch.multinomial(p, 1)[0]": "torch.randint(len(p), (1,))[0]"}, hint="draw from the prediction"),
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
        Mistake("no slope", change={"(1 - new_h**2)[:, None, None] * ": ""}, hint="the slope of tanh is missing"),
        Mistake("not carried on", change={' + torch.einsum("ad,dbc->abc", W_hh, S)': ""}, hint="nothing travels back in time"),
        Mistake("transposed W_hh", change={'"ad,dbc->abc"': '"da,dbc->abc"'}, hint="W_hh is not transposed on the way back"),
        Mistake("sign", change={"softmax(dim=0) - y_t": "softmax(dim=0) * -1 + y_t"}, hint="the sign is flipped"),
        Mistake(
            "h_t for h_{t-1}",
            change={"[:, :, None] * h  #": "[:, :, None] * torch.tanh(W_hh @ h + W_hx @ x_t)  #"},
            hint="W_hh multiplied h_{t−1} there",
        ),
        Mistake("wrong order", change={'"a,abc->bc"': '"a,abc->cb"'}, hint="the outer product is in the wrong order"),
        Mistake("mean", change={"return gradient": "return gradient / len(x)"}, hint="a mean over time"),
        Mistake(
            "walks back",
            code="""
def rtrl(x, y, h0, W_hh, W_hx, W_yh):
    h, p = rnn_forward(x[None], h0[None], W_hh, W_hx, W_yh)
    return rnn_bptt(x[None], y[None], h, p, W_hh, W_yh)[0]
""",
            hint="a tensor grows with T",
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
    ],
}
