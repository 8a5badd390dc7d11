"""Wrong answers that the tests of 07-transformer-blocks must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

IN_PLACE = "your code changes its input in place"

# Functions or classes that share a cell: the right ones, to go with one that is wrong.
RMS_MODULE = """
class RMSNorm(nn.Module):
    def __init__(self, D, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(D))
        self.eps = eps

    def forward(self, x):
        return rms_norm(x, self.weight, self.eps)
"""
ATTENTION = "F.scaled_dot_product_attention(q, k, v, attn_mask=mask)"
SPLIT = "q, k, v = (split_heads(project(x), self.H) for project in (self.q_proj, self.k_proj, self.v_proj))"
OUT = 'out = dropout(f(norm(x) if self.norm == "pre" else x), self.p, self.training)'
FORWARD = """x = self.branch(x, lambda z: self.attn(z, mask), self.norm1)
        return self.branch(x, self.ffn, self.norm2)"""
NORMS = "return [math.sqrt(sum(p.grad.square().sum().item() for p in block.parameters())) for block in stack.blocks]"

VARIANTS = {
    "layer-norm": [
        Mistake(
            "unbiased variance",
            change={"centred.square().mean(dim=-1, keepdim=True)": "x.var(dim=-1, keepdim=True)"},
            hint="the variance is divided by D − 1",
            gravity="idea",
        ),
        Mistake(
            "ε outside the root",
            change={"torch.sqrt(variance + eps)": "(torch.sqrt(variance) + eps)"},
            hint="ε is outside the root: it is √(σ² + ε)",
            gravity="part",
        ),
        Mistake("no ε", change={"variance + eps": "variance"}, hint="ε is missing", gravity="part"),
        Mistake(
            "over the positions",
            change={"dim=-1": "dim=-2"},
            hint="the mean and the variance run down the columns: each position is normalised on its own, over the last axis",
            gravity="idea",
        ),
        Mistake(
            "over the batch",
            change={"dim=-1": "dim=0"},
            hint="the mean and the variance run down the columns: each position is normalised on its own, over the last axis",
            gravity="idea",
        ),
        Mistake(
            "over the whole tensor",
            change={"(dim=-1, keepdim=True)": "()"},
            hint="one mean and one variance for the whole tensor",
            gravity="idea",
        ),
        Mistake("no weight", change={"weight * ": ""}, hint="the weight γ is not used", gravity="idea"),
        Mistake("no bias", change={" + bias": ""}, hint="the bias β is not used", gravity="idea"),
        Mistake(
            "divided by the variance",
            change={"torch.sqrt(variance + eps)": "(variance + eps)"},
            hint="you divide by the variance",
            gravity="idea",
        ),
        Mistake("mean not subtracted", change={"weight * centred": "weight * x"}, hint="the mean is not subtracted", gravity="idea"),
        Mistake(
            "mean of squares minus squared mean",
            change={"centred.square().mean(dim=-1, keepdim=True)": "x.square().mean(-1, keepdim=True) - x.mean(-1, keepdim=True) ** 2"},
            hint="Subtract the mean first",
            gravity="edge",
        ),
        Mistake("no keepdim", change={"mean(dim=-1, keepdim=True)": "mean(dim=-1)"}, hint="is `keepdim=True` missing", gravity="idea"),
        Mistake("ε fixed", change={"variance + eps": "variance + 1e-5"}, hint="the argument `eps` is not used", gravity="part"),
        Mistake(
            "in place",
            change={"centred = x - x.mean(dim=-1, keepdim=True)": "x -= x.mean(dim=-1, keepdim=True)\n    centred = x"},
            hint=IN_PLACE,
            gravity="part",
        ),
        Mistake(
            "torch's own",
            change={
                "return weight * centred / torch.sqrt(variance + eps) + bias": "return F.layer_norm(x, weight.shape, weight, bias, eps)"
            },
            hint="do not call torch's LayerNorm",
            gravity="idea",
        ),
        Mistake(
            "detached statistics",
            change={"variance + eps": "variance.detach() + eps"},
            hint="the gradients through your LayerNorm are wrong",
            gravity="part",
        ),
        Mistake("axis 1", change={"dim=-1": "dim=1"}, hint="x of shape (B, T, D): the mean runs over the positions", gravity="part"),
        Mistake(
            "bias before weight",
            change={"weight * centred / torch.sqrt(variance + eps) + bias": "weight * (centred / torch.sqrt(variance + eps) + bias)"},
            hint="the bias is added before the weight multiplies: y = γ x̂ + β",
            gravity="idea",
        ),
        Mistake(
            "float32 inside",
            change={
                "centred = x -": "dtype = x.dtype\n    x = x.float()\n    centred = x -",
                "return weight * centred / torch.sqrt(variance + eps) + bias": "return (weight * centred / torch.sqrt(variance + eps) + bias).to(dtype)",
            },
            hint="in float64 digits are lost on the way",
            gravity="edge",
        ),
        Right("by var and mean", change={"centred.square().mean(dim=-1, keepdim=True)": "x.var(dim=-1, keepdim=True, unbiased=False)"}),
        Right(
            "rsqrt, addcmul",
            code="""
def layer_norm(x, weight, bias, eps=1e-5):
    D = x.shape[-1]
    c = x - torch.einsum("...d->...", x)[..., None] / D
    return torch.addcmul(bias, weight, c * torch.rsqrt(torch.einsum("...d,...d->...", c, c)[..., None] / D + eps))
""",
        ),
        Right(
            "vector by vector",
            code="""
def layer_norm(x, weight, bias, eps=1e-5):
    rows = [weight * (v - v.mean()) / ((v - v.mean()).pow(2).mean() + eps) ** 0.5 + bias for v in x.reshape(-1, x.shape[-1])]
    return torch.stack(rows).reshape(x.shape)
""",
        ),
    ],
    "layer-norm-backward": [
        Mistake(
            "statistics as constants",
            change={"(g_hat - g_hat.mean(dim=-1, keepdim=True) - x_hat * (g_hat * x_hat).mean(dim=-1, keepdim=True)) / s": "g_hat / s"},
            hint="μ and σ are treated as constants",
            gravity="idea",
        ),
        Mistake(
            "no way through σ²",
            change={" - x_hat * (g_hat * x_hat).mean(dim=-1, keepdim=True)": ""},
            hint="the path through σ² is missing",
            gravity="idea",
        ),
        Mistake(
            "no way through μ", change={" - g_hat.mean(dim=-1, keepdim=True)": ""}, hint="the path through μ is missing", gravity="idea"
        ),
        Mistake("γ forgotten", change={"g * weight\n": "g\n"}, hint="γ is missing", gravity="idea"),
        Mistake(
            "sums for means",
            change={"g_hat.mean(": "g_hat.sum(", "(g_hat * x_hat).mean(": "(g_hat * x_hat).sum("},
            hint="you use sums where means belong",
            gravity="idea",
        ),
        Mistake("not divided", change={"keepdim=True)) / s\n": "keepdim=True))\n"}, hint="the division by s is missing", gravity="idea"),
        Mistake("ε forgotten", change={" + eps)": ")"}, hint="ε is missing in s", gravity="part"),
        Mistake(
            "sign",
            change={" - x_hat * (g_hat": " + x_hat * (g_hat"},
            hint="the sign of the part that comes through σ² is wrong",
            gravity="idea",
        ),
        Mistake("weight's gradient from x", change={"(g * x_hat).reshape": "(g * x).reshape"}, hint="it needs x̂", gravity="part"),
        Mistake("mean over positions", change={".sum(dim=0)": ".mean(dim=0)"}, hint="is a sum over positions, not a mean", gravity="part"),
        Mistake("bias's gradient with γ", change={"g.reshape": "g_hat.reshape"}, hint="its gradient must not contain γ", gravity="part"),
        Mistake(
            "no sum for the weight",
            change={"(g * x_hat).reshape(-1, x.shape[-1]).sum(dim=0)": "g * x_hat"},
            hint="the gradient with respect to the weight has the weight's shape: sum over all positions",
            gravity="part",
        ),
        Mistake(
            "first axis only",
            change={".reshape(-1, x.shape[-1]).sum(dim=0)": ".sum(dim=0)"},
            hint="the gradient with respect to the weight is wrong",
            gravity="part",
        ),
        Mistake(
            "autograd",
            code="""
def layer_norm_backward(g, x, weight, eps=1e-5):
    x, w = x.clone().requires_grad_(), weight.clone().requires_grad_()
    b = torch.zeros_like(weight).requires_grad_()
    with torch.enable_grad():
        return torch.autograd.grad(layer_norm(x, w, b, eps), (x, w, b), g)
""",
            hint="autograd is not allowed here",
            gravity="idea",
        ),
        Mistake(
            "weight and bias exchanged",
            change={
                "return dx, (g * x_hat).reshape(-1, x.shape[-1]).sum(dim=0), g.reshape(-1, x.shape[-1]).sum(dim=0)": "return dx, g.reshape(-1, x.shape[-1]).sum(dim=0), (g * x_hat).reshape(-1, x.shape[-1]).sum(dim=0)"
            },
            hint="the gradient with respect to the weight is (−4, 0, 0, 0), of shape (D,)",
            gravity="part",
        ),
        Mistake("ε fixed", change={"+ eps)": "+ 1e-5)"}, hint="the argument `eps` is not used", gravity="part"),
        Mistake(
            "weight's gradient with γ",
            change={"(g * x_hat).reshape": "(g_hat * x_hat).reshape"},
            hint="the gradient with respect to the weight must not contain the weight",
            gravity="part",
        ),
        Mistake("divided twice", change={") / s\n": ") / s / s\n"}, hint="it is divided by s twice: once is enough", gravity="idea"),
        Right(
            "through μ and σ² one by one",
            code="""
def layer_norm_backward(g, x, weight, eps=1e-5):
    D = x.shape[-1]
    c = x - x.mean(-1, keepdim=True)
    v = c.pow(2).mean(-1, keepdim=True) + eps
    gh = g * weight
    dv = (gh * c * -0.5 * v**-1.5).sum(-1, keepdim=True)
    dm = -(gh / v.sqrt()).sum(-1, keepdim=True)
    axes = tuple(range(x.dim() - 1))
    return gh / v.sqrt() + dv * 2 * c / D + dm / D, (g * c / v.sqrt()).sum(axes), g.sum(axes)
""",
        ),
        Right(
            "by the Jacobian",
            code="""
def layer_norm_backward(g, x, weight, eps=1e-5):
    D = x.shape[-1]
    flat_g, flat_x = g.reshape(-1, D), x.reshape(-1, D)
    rows, dw = [], torch.zeros_like(weight)
    for gi, xi in zip(flat_g, flat_x):
        s = ((xi - xi.mean()).pow(2).mean() + eps).sqrt()
        h = (xi - xi.mean()) / s
        J = (torch.eye(D).to(x) - 1 / D - torch.outer(h, h) / D) / s
        rows.append(J.T @ (gi * weight))
        dw = dw + gi * h
    return [torch.stack(rows).view_as(x), dw, flat_g.sum(0)]
""",
        ),
    ],
    "rms-norm": [
        Mistake(
            "length, not mean",
            change={"square().mean(": "square().sum("},
            hint="the *mean* of the squares belongs under the root",
            gravity="idea",
        ),
        Mistake("no root", change={"torch.sqrt(": "("}, hint="its root is missing", gravity="idea"),
        Mistake(
            "mean subtracted",
            change={
                "wide.square()": "(wide - wide.mean(-1, keepdim=True)).square()",
                "weight * wide": "weight * (wide - wide.mean(-1, keepdim=True))",
            },
            hint="you subtract the mean: RMSNorm does not",
            gravity="idea",
        ),
        Mistake("ε outside the root", change={" + eps)": ") + eps"}, hint="ε is outside the root", gravity="part"),
        Mistake("no ε", change={" + eps)": ")"}, hint="ε is missing", gravity="part"),
        Mistake("no weight", change={"weight * wide": "wide"}, hint="the weight γ is not used", gravity="idea"),
        Mistake(
            "over the positions",
            change={"dim=-1": "dim=-2"},
            hint="the mean runs down the columns: each position is normalised on its own, over the last axis",
            gravity="idea",
        ),
        Mistake(
            "over the whole tensor",
            change={"(dim=-1, keepdim=True)": "()"},
            hint="one root mean square for the whole tensor",
            gravity="idea",
        ),
        Mistake(
            "half precision throughout",
            change={"x.float() if x.dtype in (torch.float16, torch.bfloat16) else x": "x"},
            hint="squares overflow at 65,504 in float16",
            gravity="part",
        ),
        Mistake("not converted back", change={".to(x.dtype)": ""}, hint="the result has the dtype of x", gravity="edge"),
        Mistake("ε fixed", change={"+ eps": "+ 1e-5"}, hint="the argument `eps` is not used", gravity="part"),
        Mistake(
            "standard deviation",
            change={"torch.sqrt(wide.square().mean(dim=-1, keepdim=True) + eps)": "wide.std(-1, keepdim=True, unbiased=False) + 0 * eps"},
            hint="RMSNorm does not use the mean",
            gravity="idea",
        ),
        Mistake(
            "torch's own",
            change={
                "return (weight * wide / rms).to(x.dtype)": "return F.rms_norm(x.float(), weight.shape, weight.float(), eps).to(x.dtype)"
            },
            hint="do not call torch's RMSNorm",
            gravity="idea",
        ),
        Mistake(
            "in place",
            change={"return (weight * wide / rms).to(x.dtype)": "wide /= rms\n    return (weight * wide).to(x.dtype)"},
            hint=IN_PLACE,
            gravity="part",
        ),
        Mistake(
            "bfloat16 throughout",
            change={"(torch.float16, torch.bfloat16)": "(torch.float16,)"},
            hint="in bfloat16 digits are lost on the way: do all of the work in float32",
            gravity="part",
        ),
        Mistake(
            "mean of |x|",
            change={"torch.sqrt(wide.square().mean(dim=-1, keepdim=True) + eps)": "wide.abs().mean(dim=-1, keepdim=True) + eps"},
            hint="you divide by the mean of |x|; the root of the mean square is wanted",
            gravity="idea",
        ),
        Mistake("axis 1", change={"dim=-1": "dim=1"}, hint="x of shape (B, T, D): the output is wrong", gravity="part"),
        Right(
            "float32 always, rsqrt",
            code="""
def rms_norm(x, weight, eps=1e-5):
    y = x.to(torch.float32)
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps)
    return (y * weight.to(torch.float32)).to(x.dtype)
""",
        ),
        Right(
            "in float64, by the norm",
            code="""
def rms_norm(x, weight, eps=1e-5):
    y = x.double()
    return (weight.double() * y / (y.norm(dim=-1, keepdim=True) ** 2 / x.shape[-1] + eps).sqrt()).to(x.dtype)
""",
        ),
    ],
    "norm-modules": [
        Mistake(
            "plain tensors",
            change={"nn.Parameter(torch.ones(D))": "torch.ones(D)", "nn.Parameter(torch.zeros(D))": "torch.zeros(D)"},
            hint="is each an `nn.Parameter` that is assigned to `self`?",
            gravity="idea",
        ),
        Mistake(
            "γ starts at 0",
            change={"nn.Parameter(torch.ones(D))": "nn.Parameter(torch.zeros(D))"},
            hint="a new LayerNorm gives zeros",
            gravity="idea",
        ),
        Mistake(
            "β starts at 1", change={"nn.Parameter(torch.zeros(D))": "nn.Parameter(torch.ones(D))"}, hint="β starts at 0", gravity="idea"
        ),
        Mistake("ε not kept", change={", self.eps)": ")"}, hint="LayerNorm: the argument eps is not used", gravity="part"),
        Mistake(
            "RMSNorm with a mean",
            change={"rms_norm(x, self.weight, self.eps)": "layer_norm(x, self.weight, torch.zeros_like(self.weight), self.eps)"},
            hint="RMSNorm subtracts the mean",
            gravity="idea",
        ),
        Mistake(
            "RMSNorm with a bias",
            change={
                "self.weight = nn.Parameter(torch.ones(D))\n        self.eps = eps\n        ### END SOLUTION": "self.weight, self.bias = nn.Parameter(torch.ones(D)), nn.Parameter(torch.zeros(D))\n        self.eps = eps\n        ### END SOLUTION"
            },
            hint="RMSNorm has one learned part",
            gravity="part",
        ),
        Mistake(
            "weight not used",
            change={"layer_norm(x, self.weight, self.bias": "layer_norm(x, torch.ones_like(self.weight), torch.zeros_like(self.bias)"},
            hint="LayerNorm: weight and bias are not used",
            gravity="idea",
        ),
        Mistake(
            "buffers",
            change={"self.weight = nn.Parameter(torch.ones(D))": 'self.register_buffer("weight", torch.ones(D))'},
            hint="must be parameters, `nn.Parameter`, not buffers or plain tensors",
            gravity="part",
        ),
        Mistake(
            "no super().__init__()",
            change={"super().__init__()\n": "pass\n"},
            hint="your code raised AttributeError",
            gravity="idea",
        ),
        Mistake(
            "ε not kept in RMSNorm",
            change={"rms_norm(x, self.weight, self.eps)": "rms_norm(x, self.weight)"},
            hint="RMSNorm: the argument eps is not used",
            gravity="part",
        ),
        Mistake(
            "parameters detached",
            change={"layer_norm(x, self.weight, self.bias, self.eps)": "layer_norm(x, self.weight.detach(), self.bias.detach(), self.eps)"},
            hint="LayerNorm: the gradient with respect to weight is wrong or missing: are weight and bias parameters?",
            gravity="part",
        ),
        Mistake(
            "other names",
            change={"self.bias": "self.beta"},
            hint="LayerNorm has two learned parts, `weight` and `bias`: is each an `nn.Parameter` that is assigned to `self`?",
            gravity="idea",
        ),
        Right(
            "derived from torch's",
            code="""
class LayerNorm(nn.Module):
    def __init__(self, D, eps=1e-5):
        super().__init__()
        self.register_parameter("weight", nn.Parameter(torch.full((D,), 1.0)))
        self.register_parameter("bias", nn.Parameter(torch.full((D,), 0.0)))
        self.register_buffer("small", torch.tensor(eps), persistent=False)

    def forward(self, x):
        c = x - x.mean(-1, keepdim=True)
        return c / (c.pow(2).mean(-1, keepdim=True) + self.small).sqrt() * self.weight + self.bias
"""
            + RMS_MODULE,
        ),
        Right(
            "one class for both",
            code="""
class LayerNorm(nn.Module):
    rms = False

    def __init__(self, D, eps=1e-5):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(D))
        if not self.rms:
            self.bias = nn.Parameter(torch.zeros(D))

    def forward(self, x):
        return rms_norm(x, self.weight, self.eps) if self.rms else layer_norm(x, self.weight, self.bias, self.eps)

class RMSNorm(LayerNorm):
    rms = True
""",
        ),
    ],
    "influence": [
        Mistake(
            "rows and columns exchanged",
            change={"torch.stack(columns, dim=1)": "torch.stack(columns)"},
            hint="rows and columns are exchanged",
            gravity="idea",
        ),
        Mistake(
            "shifts stay in place",
            change={
                "before, columns = f(x), []": "before, columns = f(x), []\n    shifted = x.clone()",
                "        shifted = x.clone()\n        shifted[j]": "        shifted[j]",
            },
            hint="start again from x for every j",
            gravity="idea",
        ),
        Mistake(
            "input changed",
            change={"shifted = x.clone()": "shifted = x"},
            hint="earlier shifts stay in place: start again from x for every j",
            gravity="idea",
        ),
        Mistake("compared with x", change={"f(shifted) - before": "f(shifted) - x"}, hint="compare them with f(x)", gravity="idea"),
        Mistake("squared", change={".norm(dim=-1)": ".square().sum(-1)"}, hint="this is the squared length", gravity="idea"),
        Mistake("absolute values", change={".norm(dim=-1)": ".abs().sum(-1)"}, hint="use the Euclidean length", gravity="idea"),
        Mistake(
            "whole output's change",
            change={".norm(dim=-1))": ".norm().expand(len(x)))"},
            hint="the length over the last axis only",
            gravity="idea",
        ),
        Mistake(
            "row replaced",
            change={"shifted[j] += delta": "shifted[j] = delta"},
            hint="row j is replaced by δ; δ is added to it",
            gravity="idea",
        ),
        Mistake(
            "largest entry",
            change={".norm(dim=-1)": ".abs().amax(dim=-1)"},
            hint="this is the largest change of an entry: use the Euclidean length",
            gravity="idea",
        ),
        Right(
            "all shifts in a list",
            code="""
def influence(f, x, delta):
    T = len(x)
    table = torch.zeros(T, T)
    for j in range(T):
        e = torch.zeros(T, 1)
        e[j] = 1
        move = f(x + e * delta) - f(x)
        for i in range(T):
            table[i, j] = (move[i] ** 2).sum() ** 0.5
    return table
""",
        ),
        Right(
            "numpy result",
            change={"return torch.stack(columns, dim=1)": "import numpy as np\n    return np.stack([c.numpy() for c in columns]).T"},
        ),
    ],
    "activations": [
        Mistake("ReLU leaks", change={"x.clamp(min=0)": "torch.where(x > 0, x, 0.01 * x)"}, hint="not a small share of it", gravity="idea"),
        Mistake("absolute value", change={"x.clamp(min=0)": "x.abs()"}, hint="ReLU is not the absolute value", gravity="idea"),
        Mistake(
            "GELU is its own approximation",
            change={
                "0.5 * x * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))"
            },
            hint="the exact GELU uses `torch.erf`",
            gravity="idea",
        ),
        Mistake(
            "the approximation is exact",
            change={
                "0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))": "0.5 * x * (1 + torch.erf(x / math.sqrt(2)))"
            },
            hint="the approximation with tanh is asked for",
            gravity="idea",
        ),
        Mistake(
            "σ(1.702 x)",
            change={"0.5 * x * (1 + torch.erf(x / math.sqrt(2)))": "x * torch.sigmoid(1.702 * x)"},
            hint="GELU: this is x σ(1.702 x), an approximation: use erf",
            gravity="idea",
        ),
        Mistake("no √2", change={"x / math.sqrt(2)": "x"}, hint="the division by √2 inside erf is missing", gravity="idea"),
        Mistake("Φ only", change={"0.5 * x * (1 + torch.erf": "0.5 * (1 + torch.erf"}, hint="this is Φ(x)", gravity="idea"),
        Mistake("no ½", change={"0.5 * x * (1 + torch.erf": "x * (1 + torch.erf"}, hint="the factor ½ is missing", gravity="idea"),
        Mistake("no cubic term", change={" + 0.044715 * x**3": ""}, hint="the cubic term is missing", gravity="idea"),
        Mistake("2/π without its root", change={"math.sqrt(2 / math.pi)": "2 / math.pi"}, hint="not 2/π", gravity="idea"),
        Mistake("β ignored", change={"torch.sigmoid(beta * x)": "torch.sigmoid(x)"}, hint="β is not used", gravity="part"),
        Mistake(
            "β outside",
            change={"x * torch.sigmoid(beta * x)": "beta * x * torch.sigmoid(beta * x)"},
            hint="β multiplies x in both places",
            gravity="part",
        ),
        Mistake(
            "β divides",
            change={"torch.sigmoid(beta * x)": "torch.sigmoid(x / beta if beta else 0 * x)"},
            hint="you divide by β inside σ",
            gravity="part",
        ),
        Mistake(
            "gradient NaN",
            change={"torch.sigmoid(beta * x)": "(1 / (1 + torch.exp(-beta * x)))"},
            hint="Use `torch.sigmoid`",
            gravity="edge",
        ),
        Mistake(
            "torch's own",
            change={"0.5 * x * (1 + torch.erf(x / math.sqrt(2)))": "F.gelu(x)"},
            hint="do not call torch's relu, gelu or silu",
            gravity="idea",
        ),
        Mistake("ReLU in place", change={"x.clamp(min=0)": "x.clamp_(min=0)"}, hint="changes its input in place", gravity="edge"),
        Mistake(
            "ReLU cut off at 6",
            change={"x.clamp(min=0)": "x.clamp(0, 6)"},
            hint="ReLU is wrong for large numbers: nothing is cut off above",
            gravity="idea",
        ),
        Mistake(
            "σ only",
            change={"x * torch.sigmoid(beta * x)": "torch.sigmoid(beta * x)"},
            hint="Swish: this is σ(x): x σ(βx) is wanted",
            gravity="idea",
        ),
        Mistake(
            "ReLU cut from the graph",
            change={"x.clamp(min=0)": "x.detach().clamp(min=0)"},
            hint="ReLU: the gradient is wrong or does not flow",
            gravity="edge",
        ),
        Right(
            "where, normal distribution",
            change={
                "x.clamp(min=0)": "torch.where(x > 0, x, torch.zeros_like(x))",
                "0.5 * x * (1 + torch.erf(x / math.sqrt(2)))": "x * torch.special.ndtr(x)",
            },
        ),
        Right(
            "maximum, tanh for σ, erfc",
            change={
                "x.clamp(min=0)": "torch.maximum(x, torch.zeros_like(x))",
                "torch.sigmoid(beta * x)": "(1 + torch.tanh(beta * x / 2)) / 2",
                "(1 + torch.erf(x / math.sqrt(2)))": "torch.erfc(-x / 2**0.5)",
            },
        ),
    ],
    "feed-forward": [
        Mistake(
            "no activation",
            change={"self.down(self.activation(self.up(x)))": "self.down(self.up(x))"},
            hint="FeedForward: the activation is missing",
            gravity="idea",
        ),
        Mistake(
            "given activation ignored",
            change={"self.activation = activation": "self.activation = gelu"},
            hint="the activation that is given is not used",
            gravity="part",
        ),
        Mistake(
            "default is ReLU",
            change={"activation=gelu": "activation=torch.relu"},
            hint="the default activation is the exact GELU",
            gravity="idea",
        ),
        Mistake(
            "activation at the end, too",
            change={"self.down(self.activation(self.up(x)))": "self.activation(self.down(self.activation(self.up(x))))"},
            hint="there is no activation after the second map",
            gravity="idea",
        ),
        Mistake(
            "no biases",
            change={"nn.Linear(D, hidden)": "nn.Linear(D, hidden, bias=False)", "nn.Linear(hidden, D)": "nn.Linear(hidden, D, bias=False)"},
            hint="both `nn.Linear` with bias",
            gravity="idea",
        ),
        Mistake(
            "residual inside", change={"return self.down(": "return x + self.down("}, hint="FeedForward: the input is added", gravity="idea"
        ),
        Mistake(
            "W1 and W3 exchanged",
            change={"swish(self.w1(x)) * self.w3(x)": "swish(self.w3(x)) * self.w1(x)"},
            hint="SwiGLU: W1 and W3 are exchanged",
            gravity="idea",
        ),
        Mistake("GLU", change={"swish(self.w1(x))": "torch.sigmoid(self.w1(x))"}, hint="the gate is a plain σ", gravity="idea"),
        Mistake("no SiLU", change={"swish(self.w1(x))": "self.w1(x)"}, hint="SwiGLU: SiLU is missing", gravity="idea"),
        Mistake("added", change={"swish(self.w1(x)) * ": "swish(self.w1(x)) + "}, hint="the two parts are added", gravity="idea"),
        Mistake(
            "SiLU of the product",
            change={"swish(self.w1(x)) * self.w3(x)": "swish(self.w1(x) * self.w3(x))"},
            hint="SiLU is taken of the product",
            gravity="idea",
        ),
        Mistake("GEGLU", change={"swish(self.w1(x))": "gelu(self.w1(x))"}, hint="this is GEGLU", gravity="idea"),
        Mistake("no gate", change={" * self.w3(x)": ""}, hint="SwiGLU: the gate W3 x is missing", gravity="idea"),
        Mistake(
            "SwiGLU with biases", change={"hidden, bias=False)": "hidden)"}, hint="SwiGLU has three parts without bias", gravity="idea"
        ),
        Mistake(
            "cut from the graph",
            change={"self.down(self.activation(self.up(x)))": "self.down(self.activation(self.up(x)).detach())"},
            hint="FeedForward: the gradient with respect to",
            gravity="part",
        ),
        Mistake(
            "SiLU of both",
            change={"swish(self.w1(x)) * self.w3(x)": "swish(self.w1(x)) * swish(self.w3(x))"},
            hint="SwiGLU: SiLU is taken of both parts",
            gravity="idea",
        ),
        Mistake(
            "activation first",
            change={"self.down(self.activation(self.up(x)))": "self.down(self.up(self.activation(x)))"},
            hint="FeedForward: the activation comes before the first map; it belongs between the two",
            gravity="idea",
        ),
        Mistake(
            "gate cut from the graph",
            change={"* self.w3(x)": "* self.w3(x).detach()"},
            hint="SwiGLU: the gradient with respect to its input is wrong or missing",
            gravity="part",
        ),
        Mistake(
            "hidden ignored",
            change={
                "self.up = nn.Linear(D, hidden)": "self.up = nn.Linear(D, 4 * D)",
                "self.down = nn.Linear(hidden, D)": "self.down = nn.Linear(4 * D, D)",
            },
            hint="FeedForward has two parts, `up` from D to hidden and `down` from hidden to D, both `nn.Linear` with bias",
            gravity="idea",
        ),
        Right(
            "F.linear",
            change={
                "self.down(self.activation(self.up(x)))": "F.linear(self.activation(F.linear(x, self.up.weight, self.up.bias)), self.down.weight, self.down.bias)",
                "swish(self.w1(x)) * self.w3(x)": "F.silu(self.w1(x)) * self.w3(x)",
            },
        ),
        Right(
            "one product for both maps up",
            change={
                "self.w2(swish(self.w1(x)) * self.w3(x))": "(lambda ac: self.w2(ac[0] * ac[0].sigmoid() * ac[1]))((x @ torch.cat([self.w1.weight, self.w3.weight]).T).chunk(2, -1))"
            },
        ),
    ],
    "heads": [
        Mistake(
            "view alone",
            change={"x.view(B, T, H, D // H).transpose(1, 2)": "x.reshape(B, H, T, D // H)"},
            hint="split_heads: `view` straight to (B, H, T, D/H)",
            gravity="idea",
        ),
        Mistake(
            "every H-th column",
            change={"x.view(B, T, H, D // H).transpose(1, 2)": "x.view(B, T, D // H, H).permute(0, 3, 1, 2)"},
            hint="head h takes every H-th column",
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
            hint="merge_heads: `reshape` alone mixes positions and heads",
            gravity="idea",
        ),
        Mistake(
            "view after transpose",
            change={".reshape(B, T, H * width)": ".view(B, T, H * width)"},
            hint="merge_heads: position 0 has (1, 2) in head 0 and (5, 6) in head 1",
            gravity="idea",
        ),
        Mistake(
            "interleaved",
            change={"x.transpose(1, 2).reshape(": "x.permute(0, 2, 3, 1).reshape("},
            hint="merge_heads: the heads are interleaved",
            gravity="idea",
        ),
        Mistake(
            "reverse order",
            change={".transpose(1, 2)\n": ".transpose(1, 2).flip(1)\n"},
            hint="split_heads: the heads are in reverse order",
            gravity="idea",
        ),
        Mistake(
            "always four heads",
            change={"x.view(B, T, H, D // H)": "x.view(B, T, 4, D // 4)"},
            hint="split_heads is wrong for two heads",
            gravity="idea",
        ),
        Mistake(
            "merge reversed",
            change={"x.transpose(1, 2).reshape(B, T, H * width)": "x.flip(1).transpose(1, 2).reshape(B, T, H * width)"},
            hint="merge_heads: the heads are in reverse order",
            gravity="idea",
        ),
        Right(
            "chunks and concatenation",
            change={
                "x.view(B, T, H, D // H).transpose(1, 2)": "torch.stack(x.chunk(H, dim=-1), dim=1)",
                "x.transpose(1, 2).reshape(B, T, H * width)": "torch.cat(x.unbind(1), dim=-1)",
            },
        ),
        Right(
            "unflatten and flatten",
            change={
                "x.view(B, T, H, D // H).transpose(1, 2)": "x.unflatten(-1, (H, -1)).movedim(2, 1)",
                "x.transpose(1, 2).reshape(B, T, H * width)": "x.permute(0, 2, 1, 3).flatten(2)",
            },
        ),
    ],
    "multi-head": [
        Mistake(
            "no output projection",
            change={"self.o_proj(merge_heads(mixed))": "merge_heads(mixed)"},
            hint="the output projection is missing",
            gravity="idea",
        ),
        Mistake(
            "view without transpose",
            change={"split_heads(project(x), self.H)": "project(x).reshape(x.shape[0], self.H, x.shape[1], -1)"},
            hint="positions and heads are mixed in the split",
            gravity="idea",
        ),
        Mistake(
            "merge without transpose",
            change={"merge_heads(mixed)": "mixed.reshape(x.shape)"},
            hint="the merged heads are mixed",
            gravity="idea",
        ),
        Mistake(
            "scale by the whole width",
            change={ATTENTION: "F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=x.shape[-1] ** -0.5)"},
            hint="the root of the whole width D",
            gravity="idea",
        ),
        Mistake(
            "no scale",
            change={ATTENTION: "F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0)"},
            hint="the scores are not scaled",
            gravity="idea",
        ),
        Mistake("mask lost", change={", attn_mask=mask": ""}, hint="the mask is not used", gravity="part"),
        Mistake(
            "mask polarity",
            change={"attn_mask=mask": "attn_mask=None if mask is None else ~mask"},
            hint="the mask is read the wrong way round",
            gravity="part",
        ),
        Mistake("one wide head", change={"self.H = H": "self.H = 1"}, hint="this is one head over the whole width", gravity="idea"),
        Mistake(
            "always causal",
            change={ATTENTION: "F.scaled_dot_product_attention(q, k, v, is_causal=True)"},
            hint="without a mask the output is causal",
            gravity="idea",
        ),
        Mistake(
            "queries and keys exchanged",
            change={"q, k, v = (": "k, q, v = ("},
            hint="the roles of q_proj and k_proj are exchanged",
            gravity="idea",
        ),
        Mistake(
            "attention over the heads",
            change={
                "split_heads(project(x), self.H)": "project(x).unflatten(-1, (self.H, -1))",
                "merge_heads(mixed)": "mixed.flatten(2)",
                "attn_mask=mask": "attn_mask=None",
            },
            hint="attention runs over the heads of one position",
            gravity="idea",
        ),
        Mistake("bias always", change={", bias=bias": ""}, hint="with bias=False no part has a bias", gravity="part"),
        Mistake("no complaint", change={"if D % H:": "if False:"}, hint="six columns cannot be shared by four heads", gravity="edge"),
        Mistake(
            "first sequence's mask for all",
            change={"attn_mask=mask": "attn_mask=mask[:1] if mask is not None and mask.dim() == 4 else mask"},
            hint="one sequence's mask is used",
            gravity="part",
        ),
        Mistake(
            "residual inside",
            change={"return self.o_proj(": "return x + self.o_proj("},
            hint="the input is added: the residual comes later",
            gravity="idea",
        ),
        Mistake(
            "values cut from the graph",
            change={"F.scaled_dot_product_attention(q, k, v,": "F.scaled_dot_product_attention(q, k, v.detach(),"},
            hint="the gradient with respect to v_proj.weight",
            gravity="part",
        ),
        Mistake(
            "keys and values exchanged",
            change={"q, k, v = (": "q, v, k = ("},
            hint="the roles of k_proj and v_proj are exchanged",
            gravity="idea",
        ),
        Mistake(
            "any mask is causal",
            change={"attn_mask=mask": "is_causal=mask is not None"},
            hint="with a mask for each sequence, (B, 1, 1, T), the output is wrong",
            gravity="part",
        ),
        Mistake(
            "another exception",
            change={'raise ValueError(f"the width {D} is not a multiple of the number of heads, {H}")': "raise AssertionError()"},
            hint="six columns cannot be shared by four heads: raise a ValueError in `__init__`",
            gravity="edge",
        ),
        Mistake(
            "input cut from the graph",
            change={"project(x)": "project(x.detach())"},
            hint="the gradient with respect to x differs from that of nn.MultiheadAttention",
            gravity="part",
        ),
        Right(
            "attention by hand",
            change={
                ATTENTION: "(lambda s: (s if mask is None else s.masked_fill(~mask, -torch.inf)).softmax(-1) @ v)(q @ k.mT / q.shape[-1] ** 0.5)"
            },
        ),
        Right(
            "einsum, head by head",
            code="""
class MultiHeadAttention(nn.Module):
    def __init__(self, D, H, bias=True):
        super().__init__()
        if D != D // H * H:
            raise ValueError("D must be a multiple of H")
        for name in "qkvo":
            self.add_module(f"{name}_proj", nn.Linear(D, D, bias=bias))
        self.H, self.width = H, D // H

    def forward(self, x, mask=None):
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        B, T, D = x.shape
        rule = torch.ones(T, T, dtype=torch.bool) if mask is None else mask
        rule = rule.expand(B, self.H, T, T)
        outs = []
        for h in range(self.H):
            at = slice(h * self.width, (h + 1) * self.width)
            s = torch.einsum("btd,bsd->bts", q[..., at], k[..., at]) / math.sqrt(self.width)
            outs.append(torch.where(rule[:, h], s, -math.inf).softmax(-1) @ v[..., at])
        return self.o_proj(torch.cat(outs, -1))
""",
        ),
    ],
    "dropout": [
        Mistake(
            "also in evaluation",
            change={"if not training or p == 0": "if p == 0"},
            hint="in evaluation (training is False) dropout does nothing",
            gravity="part",
        ),
        Mistake("not scaled", change={" / (1 - p)": ""}, hint="what survives is not scaled", gravity="idea"),
        Mistake("p keeps", change={">= p": "< p"}, hint="is p the probability of dropping, or of keeping?", gravity="idea"),
        Mistake("scaled by 1/p", change={" / (1 - p)": " / p"}, hint="what survives is scaled by 1 / p", gravity="idea"),
        Mistake(
            "scaled in evaluation",
            change={"        return x\n": "        return x if training else x * (1 - p)\n", " / (1 - p)": ""},
            hint="what survives is not scaled by 1 / (1 − p)",
            gravity="idea",
        ),
        Mistake("p = 1 is NaN", change={" if p < 1 else x * 0": ""}, hint="with p = 1 everything is dropped", gravity="edge"),
        Mistake(
            "whole rows",
            change={"torch.rand_like(x)": "torch.rand(x.shape[0], *[1] * (x.dim() - 1))"},
            hint="whole rows or columns are dropped",
            gravity="part",
        ),
        Mistake(
            "one mask for all rows",
            change={"torch.rand_like(x)": "torch.rand(x.shape[-1])"},
            hint="whole rows or columns are dropped",
            gravity="part",
        ),
        Mistake(
            "same entries in each call",
            change={"torch.rand_like(x)": "torch.rand(x.shape, generator=torch.Generator().manual_seed(0))"},
            hint="draw anew in every call",
            gravity="part",
        ),
        Mistake("in place", change={"return x * kept / (1 - p)": "return x.mul_(kept).div_(1 - p)"}, hint=IN_PLACE, gravity="part"),
        Mistake(
            "cut from the graph",
            change={"x * kept / (1 - p)": "x.detach() * kept / (1 - p)"},
            hint="the gradient is scaled and zero exactly where the output is",
            gravity="part",
        ),
        Mistake("torch's own", change={"x * kept / (1 - p)": "F.dropout(x, p)"}, hint="do not call torch's dropout", gravity="idea"),
        Mistake(
            "a fixed number of entries",
            change={
                "kept = torch.rand_like(x) >= p": "order = torch.rand(x.numel()).argsort().argsort()\n    kept = (order >= int(p * x.numel())).view_as(x)"
            },
            hint="the same number of entries is dropped in every call",
            gravity="edge",
        ),
        Mistake(
            "a fixed scale",
            change={"x * kept / (1 - p)": "x * kept * 1.25"},
            hint="with p = 0.75 every entry of 3 becomes 0 or 3/0.25 = 12",
            gravity="idea",
        ),
        Mistake(
            "seeded",
            change={"    kept": "    torch.manual_seed(0)\n    kept"},
            hint="two calls drop the same entries: draw anew in every call",
            gravity="part",
        ),
        Mistake(
            "raises at p 1",
            change={" if p < 1 else x * 0": " if p < 1 else 1 / 0"},
            hint="your code raised ZeroDivisionError",
            gravity="edge",
        ),
        Right("bernoulli", change={"torch.rand_like(x) >= p": "torch.bernoulli(torch.full_like(x, 1 - p))"}),
        Right(
            "where, numpy draws",
            code="""
import numpy as np

def dropout(x, p, training):
    if training and p > 0:
        keep = torch.from_numpy(np.random.random(tuple(x.shape)) > p)
        x = torch.where(keep, x / max(1 - p, 1e-9), torch.zeros_like(x))
    return x
""",
        ),
    ],
    "block": [
        Mistake(
            "post-LN for both",
            change={
                OUT: "out = dropout(f(x), self.p, self.training)",
                'return out if self.norm == "pre" else norm(out)': "return norm(out)",
            },
            hint="this is post-LN",
            gravity="idea",
        ),
        Mistake(
            "pre-LN for both",
            change={' if self.norm == "pre" else x)': ")", 'return out if self.norm == "pre" else norm(out)': "return out"},
            hint="this is pre-LN",
            gravity="part",
        ),
        Mistake(
            "residual from the normalised x",
            change={OUT: 'x = norm(x) if self.norm == "pre" else x\n        out = dropout(f(x), self.p, self.training)'},
            hint="the residual adds the normalised x",
            gravity="idea",
        ),
        Mistake(
            "norm1 twice",
            change={"self.ffn, self.norm2": "self.ffn, self.norm1"},
            hint="the feed-forward branch uses norm1",
            gravity="idea",
        ),
        Mistake(
            "norms exchanged",
            change={"self.norm1)\n": "self.norm2)\n", "self.ffn, self.norm2": "self.ffn, self.norm1"},
            hint="norm1 and norm2 are exchanged",
            gravity="idea",
        ),
        Mistake(
            "both branches from the input",
            change={
                FORWARD: "a = self.branch(x, lambda z: self.attn(z, mask), self.norm1)\n        return a + self.branch(x, self.ffn, self.norm2) - x"
            },
            hint="both branches read the block's input",
            gravity="idea",
        ),
        Mistake(
            "feed-forward first",
            change={
                FORWARD: "x = self.branch(x, self.ffn, self.norm2)\n        return self.branch(x, lambda z: self.attn(z, mask), self.norm1)"
            },
            hint="the feed-forward layer comes first",
            gravity="idea",
        ),
        Mistake(
            "second residual from the input",
            change={
                FORWARD: "y = self.branch(x, lambda z: self.attn(z, mask), self.norm1)\n        return self.branch(y, self.ffn, self.norm2) - y + x"
            },
            hint="the second residual adds the block's input",
            gravity="idea",
        ),
        Mistake(
            "norm of the branch",
            change={
                OUT: "out = dropout(norm(f(x)), self.p, self.training)",
                'return out if self.norm == "pre" else norm(out)': "return out",
            },
            hint="the norm is applied to the branch's output",
            gravity="idea",
        ),
        Mistake(
            "no norms",
            change={OUT: "out = dropout(f(x), self.p, self.training)", 'return out if self.norm == "pre" else norm(out)': "return out"},
            hint="the norms are missing",
            gravity="idea",
        ),
        Mistake("mask lost", change={"self.attn(z, mask)": "self.attn(z)"}, hint="the mask does not reach the attention", gravity="part"),
        Mistake(
            "dropout in evaluation",
            change={"self.p, self.training": "self.p, True"},
            hint="pass `self.training` on to dropout",
            gravity="part",
        ),
        Mistake(
            "no dropout",
            change={OUT: 'out = f(norm(x) if self.norm == "pre" else x)'},
            hint="dropout is not applied in training",
            gravity="part",
        ),
        Mistake(
            "dropout on the stream",
            change={
                OUT: 'out = f(norm(x) if self.norm == "pre" else x)',
                "out = x + out if self.residual else out": "out = dropout(x + out if self.residual else out, self.p, self.training)",
            },
            hint="dropout acts on the stream",
            gravity="part",
        ),
        Mistake(
            "dropout twice",
            change={"out = x + out if": "out = x + dropout(out, self.p, self.training) if"},
            hint="is dropout applied once to each branch?",
            gravity="part",
        ),
        Mistake("residual always", change={" if self.residual else out": ""}, hint="residual=False has no effect", gravity="part"),
        Mistake(
            "no residual",
            change={"out = x + out if self.residual else out": "pass"},
            hint="there is no residual connection",
            gravity="idea",
        ),
        Mistake(
            "another activation",
            change={"FeedForward(D, hidden)": "FeedForward(D, hidden, relu)"},
            hint="the feed-forward layer has ReLU; its default, exact GELU, is asked for",
            gravity="idea",
        ),
        Mistake(
            "dropout in attn branch only",
            change={
                'out = dropout(f(norm(x) if self.norm == "pre" else x), self.p, self.training)': 'out = f(norm(x) if self.norm == "pre" else x)\n        out = dropout(out, self.p, self.training) if f is not self.ffn else out'
            },
            hint="pre-LN in training with p = 1: both branches are dropped, only the residual stream is left",
            gravity="part",
        ),
        Mistake(
            "causal always",
            change={"self.attn(z, mask)": "self.attn(z, torch.ones(z.shape[1], z.shape[1], dtype=torch.bool).tril())"},
            hint="the block is causal without a mask: the mask is optional",
            gravity="idea",
        ),
        Mistake(
            "residual cut from the graph",
            change={"out = x + out if": "out = x.detach() + out if"},
            hint="pre-LN: the gradient with respect to x differs from that of nn.TransformerEncoderLayer",
            gravity="part",
        ),
        Right(
            "written out",
            change={
                FORWARD: """a = lambda z: dropout(self.attn(z, mask), self.p, self.training)
        f = lambda z: dropout(self.ffn(z), self.p, self.training)
        r = 1 if self.residual else 0
        if self.norm == "pre":
            x = r * x + a(self.norm1(x))
            return r * x + f(self.norm2(x))
        x = self.norm1(r * x + a(x))
        return self.norm2(r * x + f(x))"""
            },
        ),
        Right(
            "torch's dropout and norms",
            change={"LayerNorm(D), LayerNorm(D)": "nn.LayerNorm(D), nn.LayerNorm(D)", "dropout(f(": "F.dropout(f("},
        ),
    ],
    "count": [
        Mistake(
            "attention without biases",
            change={"4 * (D * D + D)": "4 * D * D"},
            hint="either the biases of the attention, or the two norms",
            gravity="idea",
        ),
        Mistake(
            "feed-forward without biases",
            change={"D * hidden + hidden + hidden * D + D": "2 * D * hidden"},
            hint="the biases of the feed-forward layer are missing",
            gravity="idea",
        ),
        Mistake("norms without biases", change={"2 * (2 * D)": "2 * D"}, hint="a LayerNorm has a weight and a bias", gravity="idea"),
        Mistake(
            "three projections",
            change={"4 * (D * D + D)": "3 * (D * D + D)"},
            hint="the output projection of the attention is missing",
            gravity="idea",
        ),
        Mistake(
            "12 D² + 13 D",
            change={"return attention + feed_forward + 2 * (2 * D)": "return 12 * D * D + 13 * D"},
            hint="you assume that hidden is 4 D",
            gravity="idea",
        ),
        Mistake(
            "output layer counted",
            change={"return V * D + T * D": "return 2 * V * D + T * D"},
            hint="it is not counted twice",
            gravity="idea",
        ),
        Mistake(
            "no last norm",
            change={"block_parameters(D, 4 * D) + 2 * D": "block_parameters(D, 4 * D)"},
            hint="gpt2_parameters: the last LayerNorm is missing",
            gravity="idea",
        ),
        Mistake("no positions", change={" + T * D": ""}, hint="the learned positions are missing", gravity="idea"),
        Mistake(
            "rounded down",
            change={"-(-8 * D // (3 * multiple)) * multiple": "8 * D // (3 * multiple) * multiple"},
            hint="round up, not down",
            gravity="idea",
        ),
        Mistake(
            "always one more",
            change={"-(-8 * D // (3 * multiple)) * multiple": "(8 * D // (3 * multiple) + 1) * multiple"},
            hint="round up only if it is not a multiple already",
            gravity="idea",
        ),
        Mistake(
            "4 D kept",
            change={"-(-8 * D // (3 * multiple)) * multiple": "4 * D"},
            hint="the classical layer has two maps, SwiGLU three",
            gravity="idea",
        ),
        Mistake("tied LLaMA", change={"2 * V * D + L": "V * D + L"}, hint="the output layer has its own weights", gravity="idea"),
        Mistake("two maps", change={"3 * D * hidden": "2 * D * hidden"}, hint="llama_parameters: SwiGLU has three maps", gravity="idea"),
        Mistake("LayerNorms", change={"hidden + 2 * D) + D": "hidden + 4 * D) + 2 * D"}, hint="an RMSNorm has no bias", gravity="idea"),
        Mistake(
            "always twelve blocks",
            change={"L * block_parameters(D, 4 * D)": "12 * block_parameters(D, 4 * D)"},
            hint="gpt2_parameters is wrong for another size",
            gravity="idea",
        ),
        Mistake(
            "multiple ignored",
            change={"-(-8 * D // (3 * multiple)) * multiple": "-(-8 * D // 192) * 64"},
            hint="swiglu_hidden: the argument `multiple` is not used",
            gravity="part",
        ),
        Mistake(
            "llama attention biases",
            change={"4 * D * D + 3": "4 * (D * D + D) + 3"},
            hint="llama_parameters: the attention has no biases",
            gravity="idea",
        ),
        Right(
            "counted by modules",
            change={
                "return attention + feed_forward + 2 * (2 * D)": "return sum(p.numel() for p in Block(D, 1, hidden).parameters()) if D < 100 else 4 * D * D + 2 * D * hidden + 9 * D + hidden"
            },
        ),
        Right(
            "with math.ceil on a fraction, floats",
            code="""
from fractions import Fraction

def block_parameters(D, hidden):
    return 4 * D**2 + 2 * D * hidden + 9 * D + hidden

def gpt2_parameters(V, T, L, D):
    return D * (V + T + 2 + L * (12 * D + 13))

def swiglu_hidden(D, multiple=64):
    return math.ceil(Fraction(8 * D, 3 * multiple)) * multiple

def llama_parameters(V, L, D, hidden):
    return float(D * (2 * V + 1 + L * (4 * D + 3 * hidden + 2)))
""",
        ),
    ],
    "gradient-norms": [
        Mistake(
            "sum of lengths",
            change={
                "math.sqrt(sum(p.grad.square().sum().item() for p in block.parameters()))": "sum(p.grad.norm().item() for p in block.parameters())"
            },
            hint="take all as one vector",
            gravity="idea",
        ),
        Mistake("no root", change={"math.sqrt(sum(": "(sum("}, hint="these are the squared lengths", gravity="idea"),
        Mistake("gradients add up", change={"stack.zero_grad()": "pass"}, hint="gradients add up in `.grad`", gravity="part"),
        Mistake("reversed", change={"in stack.blocks]": "in list(stack.blocks)[::-1]]"}, hint="the order is reversed", gravity="idea"),
        Mistake(
            "weights, not gradients",
            change={"p.grad.square()": "p.detach().square()"},
            hint="the lengths of the weights, not of their gradients",
            gravity="idea",
        ),
        Mistake(
            "cotangent ignored",
            change={"(stack(x) * cotangent)": "stack(x)"},
            hint="the cotangent is not used: the loss is the sum of output times cotangent",
            gravity="idea",
        ),
        Mistake(
            "root mean square",
            change={
                NORMS: "return [torch.cat([p.grad.flatten() for p in block.parameters()]).square().mean().sqrt().item() for block in stack.blocks]"
            },
            hint="these are root mean squares",
            gravity="idea",
        ),
        Mistake(
            "one number",
            change={NORMS: "return math.sqrt(sum(p.grad.square().sum().item() for p in stack.parameters()))"},
            hint="one number for each block",
            gravity="idea",
        ),
        Mistake(
            "largest parameter only",
            change={
                "math.sqrt(sum(p.grad.square().sum().item() for p in block.parameters()))": "max(p.grad.norm().item() for p in block.parameters())"
            },
            hint="the largest of the parameters' gradients",
            gravity="idea",
        ),
        Mistake(
            "mean loss",
            change={".sum().backward()": ".mean().backward()"},
            hint="the loss is a mean: it is the sum of output times cotangent",
            gravity="idea",
        ),
        Mistake(
            "matrices only",
            change={"in block.parameters())": "in block.parameters() if p.dim() > 1)"},
            hint="two blocks w x + b with w = 1, then 4, at x = 0.75: the gradients are (3, 4) in the first, then (0.75, 1)",
            gravity="idea",
        ),
        Right(
            "autograd.grad",
            change={
                "stack.zero_grad()\n    (stack(x) * cotangent).sum().backward()\n    "
                + NORMS: "loss = (stack(x) * cotangent).sum()\n    return torch.stack([torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(b.parameters()), retain_graph=True)]).norm() for b in stack.blocks])"
            },
        ),
        Right(
            "backward with a cotangent",
            change={
                "(stack(x) * cotangent).sum().backward()": "torch.autograd.backward(stack(x), cotangent)",
                "math.sqrt(sum(p.grad.square().sum().item() for p in block.parameters()))": "nn.utils.get_total_norm([p.grad for p in block.parameters()]).item()",
            },
        ),
    ],
    "distinctness": [
        Mistake(
            "squared",
            change={".sum(dim=(-2, -1)).sqrt()": ".sum(dim=(-2, -1))"},
            hint="this is the square: the root is missing",
            gravity="idea",
        ),
        Mistake(
            "mean over the features", change={"x.mean(dim=-2": "x.mean(dim=-1"}, hint="the mean runs over the features", gravity="idea"
        ),
        Mistake(
            "mean over everything but the features",
            change={"x.mean(dim=-2, keepdim=True)": "x.flatten(0, -2).mean(0)"},
            hint="the mean runs over other sequences",
            gravity="part",
        ),
        Mistake(
            "common share",
            change={"x - x.mean(dim=-2, keepdim=True)": "x.mean(dim=-2, keepdim=True).expand_as(x)"},
            hint="this is the common share",
            gravity="idea",
        ),
        Mistake(
            "lengths added",
            change={
                "own_part.square().sum(dim=(-2, -1)).sqrt() / x.square().sum(dim=(-2, -1)).sqrt()": "own_part.norm(dim=-1).sum(-1) / x.norm(dim=-1).sum(-1)"
            },
            hint="lengths are added",
            gravity="idea",
        ),
        Mistake(
            "not divided",
            change={" / x.square().sum(dim=(-2, -1)).sqrt()": ""},
            hint="it is not divided by the length of x",
            gravity="idea",
        ),
        Mistake("one number for all", change={"(dim=(-2, -1))": "()"}, hint="there is one number per sequence", gravity="part"),
        Mistake(
            "shares averaged",
            change={
                "own_part.square().sum(dim=(-2, -1)).sqrt() / x.square().sum(dim=(-2, -1)).sqrt()": "(own_part.norm(dim=-1) / x.norm(dim=-1)).mean(-1)"
            },
            hint="the shares of the positions are averaged",
            gravity="idea",
        ),
        Mistake(
            "in place",
            change={
                "own_part = x - x.mean(dim=-2, keepdim=True)": "total = x.square().sum(dim=(-2, -1)).sqrt()\n    own_part = x.sub_(x.mean(dim=-2, keepdim=True))",
                "/ x.square().sum(dim=(-2, -1)).sqrt()": "/ total",
            },
            hint=IN_PLACE,
            gravity="edge",
        ),
        Mistake(
            "mean over the first axis",
            change={"x.mean(dim=-2, keepdim=True)": "x.mean(dim=0, keepdim=True)"},
            hint="with axes in front the shares are wrong",
            gravity="part",
        ),
        Mistake(
            "divided by T",
            change={"/ x.square().sum(dim=(-2, -1)).sqrt()": "/ x.shape[-2]"},
            hint="(3, 0), (0, 3), (3, 3): the mean is (2, 2), the squared distances add up to 12, the squared lengths to 36",
            gravity="idea",
        ),
        Right(
            "matrix norms",
            change={
                "own_part.square().sum(dim=(-2, -1)).sqrt() / x.square().sum(dim=(-2, -1)).sqrt()": "torch.linalg.matrix_norm(own_part) / torch.linalg.matrix_norm(x)"
            },
        ),
        Right(
            "numpy, float64",
            code="""
import numpy as np

def distinctness(x):
    a = x.double().numpy()
    return np.linalg.norm(a - a.mean(-2, keepdims=True), axis=(-2, -1)) / np.linalg.norm(a, axis=(-2, -1))
""",
        ),
    ],
    "bonus-fold": [
        Mistake(
            "γ forgotten",
            change={"return W * gamma, b + W @ beta": "return W, b + W @ beta"},
            hint="fold_norm: γ is not folded into W",
            gravity="idea",
        ),
        Mistake("β forgotten", change={"b + W @ beta": "b"}, hint="fold_norm: β is not folded into b", gravity="idea"),
        Mistake("γ acts on β", change={"b + W @ beta": "b + W @ (gamma * beta)"}, hint="γ does not act on it", gravity="idea"),
        Mistake("old bias lost", change={"b + W @ beta": "W @ beta"}, hint="fold_norm: the old bias b is lost", gravity="idea"),
        Mistake("b not centred", change={"b - b.mean()": "b"}, hint="centre_writer: b is not centred", gravity="idea"),
        Mistake("W not centred", change={"W - W.mean(dim=0, keepdim=True)": "W"}, hint="centre_writer: W is not centred", gravity="idea"),
        Mistake(
            "rows centred",
            change={"mean(dim=0, keepdim=True)": "mean(dim=1, keepdim=True)"},
            hint="the mean over the inputs",
            gravity="idea",
        ),
        Mistake(
            "one mean for all of W", change={"W.mean(dim=0, keepdim=True)": "W.mean()"}, hint="each column has its own", gravity="idea"
        ),
        Mistake(
            "in place",
            change={"return W - W.mean(dim=0, keepdim=True), b - b.mean()": "W -= W.mean(dim=0, keepdim=True)\n    return W, b - b.mean()"},
            hint=IN_PLACE,
            gravity="edge",
        ),
        Mistake(
            "γ on the rows",
            change={"W * gamma": "(W.T * gamma[: len(W)]).T if len(W) <= len(gamma) else W * gamma"},
            hint="fold_norm: γ multiplies the rows of W; it belongs to the columns, the inputs",
            gravity="idea",
        ),
        Mistake(
            "fold_norm in place",
            change={"return W * gamma, b + W @ beta": "b += W @ beta\n    return W * gamma, b"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Right(
            "matrices",
            change={
                "W * gamma": "W @ torch.diag(gamma)",
                "W - W.mean(dim=0, keepdim=True), b - b.mean()": "(torch.eye(len(b)) - 1 / len(b)) @ W, (torch.eye(len(b)) - 1 / len(b)) @ b",
            },
        ),
        Right(
            "einsum",
            change={"b + W @ beta": 'b + torch.einsum("kd,d->k", W, beta)', "W.mean(dim=0, keepdim=True)": "W.sum(0) / W.shape[0]"},
        ),
    ],
}

# Machine-made mutants that are no mistakes, and why.
EQUIVALENT = {
    "layer-norm-backward": {"gradient: *": "what comes back is a gradient: nothing is trained through it"},
    "rms-norm": {"left out: x.float() if *": "the text allows it: converting always is fine, too"},
    "norm-modules": {
        "in place: *Norm.forward, x is changed afterwards": "the result needs gradients, and then this mutant changes nothing"
    },
    "influence": {
        "gradient: *": "the table is to look at: no model is trained through it",
        "state: influence, *": "the function is part of what is remembered, and every call has another one",
        "sign: -1 → 1": "the outputs have two axes: axis 1 is the last one",
        "order: f(shifted) - before → *": "a vector and its opposite have the same length",
    },
}
