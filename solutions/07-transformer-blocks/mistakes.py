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
        Mistake("mean kept", change={"x - x.mean(dim=-1, keepdim=True)": "x"}, says="the mean is not subtracted", gravity="idea"),
        Mistake(
            "mean over the first axis",
            change={"x.mean(dim=-1": "x.mean(dim=0"},
            says="the mean runs over the first axis: each position has its own, over its D entries",
            gravity="idea",
        ),
        Mistake(
            "squares of x itself",
            change={"centred.square()": "x.square()"},
            says="the squares are those of x itself: a variance is the mean square of what is left without the mean",
            gravity="idea",
        ),
        Mistake(
            "unbiased variance",
            change={"centred.square().mean(dim=-1, keepdim=True)": "x.var(dim=-1, keepdim=True)"},
            says="the variance is divided by D − 1; it must be divided by D",
            gravity="idea",
        ),
        Mistake(
            "ε outside the root",
            change={"torch.sqrt(variance + eps)": "(torch.sqrt(variance) + eps)"},
            says="ε is outside the root: it is √(σ² + ε), not √σ² + ε",
            gravity="part",
        ),
        Mistake("no ε", change={"variance + eps": "variance"}, says="ε is missing", gravity="part"),
        Mistake(
            "over the positions",
            change={"dim=-1": "dim=-2"},
            says="the mean and the variance run down the columns: each position is normalised on its own, over the last axis",
            gravity="idea",
        ),
        Mistake(
            "over the batch",
            change={"dim=-1": "dim=0"},
            says="the mean and the variance run down the columns: each position is normalised on its own, over the last axis",
            gravity="idea",
        ),
        Mistake(
            "over the whole tensor",
            change={"(dim=-1, keepdim=True)": "()"},
            says="one mean and one variance for the whole tensor: each position is normalised on its own",
            gravity="idea",
        ),
        Mistake("no weight", change={"weight * ": ""}, says="the weight γ is not used", gravity="idea"),
        Mistake("no bias", change={" + bias": ""}, says="the bias β is not used", gravity="idea"),
        Mistake(
            "divided by the variance",
            change={"torch.sqrt(variance + eps)": "(variance + eps)"},
            says="you divide by the variance: divide by its root",
            gravity="idea",
        ),
        Mistake("mean not subtracted", change={"weight * centred": "weight * x"}, says="the mean is not subtracted", gravity="idea"),
        Mistake(
            "mean of squares minus squared mean",
            change={"centred.square().mean(dim=-1, keepdim=True)": "x.square().mean(-1, keepdim=True) - x.mean(-1, keepdim=True) ** 2"},
            says="the variance is the mean of squares minus the square of the mean, which cancels for numbers near 10,000: subtract the mean first",
            gravity="edge",
        ),
        Mistake("no keepdim", change={"mean(dim=-1, keepdim=True)": "mean(dim=-1)"}, hint="is `keepdim=True` missing", gravity="idea"),
        Mistake("ε fixed", change={"variance + eps": "variance + 1e-5"}, says="the argument `eps` is not used", gravity="part"),
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
            says="no gradient flows through the mean and the variance: they depend on x, too",
            gravity="part",
        ),
        Mistake("axis 1", change={"dim=-1": "dim=1"}, says="x of shape (B, T, D): the mean runs over the positions", gravity="part"),
        Mistake(
            "bias before weight",
            change={"weight * centred / torch.sqrt(variance + eps) + bias": "weight * (centred / torch.sqrt(variance + eps) + bias)"},
            says="the bias is added before the weight multiplies: y = γ x̂ + β",
            gravity="idea",
        ),
        Mistake(
            "float32 inside",
            change={
                "centred = x -": "dtype = x.dtype\n    x = x.float()\n    centred = x -",
                "return weight * centred / torch.sqrt(variance + eps) + bias": "return (weight * centred / torch.sqrt(variance + eps) + bias).to(dtype)",
            },
            hint="the values have the digits of float32 only",
            gravity="edge",
        ),
        Mistake(
            "standard deviation of torch",
            change={"torch.sqrt(variance + eps)": "(centred.std(dim=-1, keepdim=True) + eps)"},
            says="`std` divides by D − 1, and ε is outside the root: write √(σ² + ε) with the mean of the squares",
            gravity="idea",
        ),
        Mistake(
            "ε squared", change={"variance + eps": "variance + eps**2"}, says="ε enters as its square: it is √(σ² + ε)", gravity="part"
        ),
        Mistake(
            "mean of the whole, variance of each",
            change={"x.mean(dim=-1, keepdim=True)\n": "x.mean()\n"},
            says="the mean is taken over the whole tensor: each position has its own mean",
            gravity="idea",
        ),
        Mistake(
            "1 + weight",
            change={"weight * centred": "(1 + weight) * centred"},
            says="the weight is used as 1 + γ: multiply by γ itself",
            gravity="idea",
        ),
        Mistake("bias subtracted", change={"+ bias": "- bias"}, says="the bias is subtracted: y = γ x̂ + β", gravity="idea"),
        Mistake(
            "divided by the mean absolute deviation",
            change={"torch.sqrt(variance + eps)": "(centred.abs().mean(dim=-1, keepdim=True) + eps)"},
            says="you divide by the mean of |x − μ|: the root of the mean square is wanted",
            gravity="idea",
        ),
        Mistake(
            "float32 weight wins",
            change={"return weight": "x = x.float()\n    centred = centred.float()\n    variance = variance.float()\n    return weight"},
            hint="only the first digits are right",
            gravity="edge",
        ),
        Mistake(
            "rounded",
            change={
                "return weight * centred / torch.sqrt(variance + eps)": "return weight * centred / torch.sqrt(variance.clamp(min=1e-3) + eps)"
            },
            says="a small variance is raised to a least value: only ε is added",
            gravity="part",
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
            "sum for the mean",
            change={"(g_hat * x_hat).mean": "(g_hat * x_hat).sum"},
            says="the path through σ² has a sum where a mean belongs: divide by D",
            gravity="idea",
        ),
        Mistake(
            "variance over D − 1",
            change={"centred.square().mean(dim=-1, keepdim=True)": "x.var(dim=-1, keepdim=True)"},
            says="the variance is divided by D − 1; it must be divided by D",
            gravity="idea",
        ),
        Mistake(
            "statistics as constants",
            change={"(g_hat - g_hat.mean(dim=-1, keepdim=True) - x_hat * (g_hat * x_hat).mean(dim=-1, keepdim=True)) / s": "g_hat / s"},
            says="μ and σ are treated as constants: x acts through them, too",
            gravity="idea",
        ),
        Mistake(
            "no way through σ²",
            change={" - x_hat * (g_hat * x_hat).mean(dim=-1, keepdim=True)": ""},
            says="the path through σ² is missing",
            gravity="idea",
        ),
        Mistake(
            "no way through μ", change={" - g_hat.mean(dim=-1, keepdim=True)": ""}, says="the path through μ is missing", gravity="idea"
        ),
        Mistake(
            "γ forgotten", change={"g * weight\n": "g\n"}, says="γ is missing: the gradient with respect to x̂ is g ⊙ γ", gravity="idea"
        ),
        Mistake(
            "sums for means",
            change={"g_hat.mean(": "g_hat.sum(", "(g_hat * x_hat).mean(": "(g_hat * x_hat).sum("},
            says="you use sums where means belong: μ and σ² divide by D",
            gravity="idea",
        ),
        Mistake("not divided", change={"keepdim=True)) / s\n": "keepdim=True))\n"}, says="the division by s is missing", gravity="idea"),
        Mistake("ε forgotten", change={" + eps)": ")"}, says="ε is missing in s", gravity="part"),
        Mistake(
            "sign",
            change={" - x_hat * (g_hat": " + x_hat * (g_hat"},
            says="the sign of the part that comes through σ² is wrong",
            gravity="idea",
        ),
        Mistake(
            "weight's gradient from x",
            change={"(g * x_hat).reshape": "(g * x).reshape"},
            says="the gradient with respect to the weight uses x; it needs x̂",
            gravity="part",
        ),
        Mistake(
            "mean over positions",
            change={".sum(dim=0)": ".mean(dim=0)"},
            says="the gradients with respect to the weight and the bias are sums over positions, not means",
            gravity="part",
        ),
        Mistake(
            "bias's gradient with γ",
            change={"g.reshape": "g_hat.reshape"},
            says="the bias comes after γ: its gradient must not contain γ",
            gravity="part",
        ),
        Mistake(
            "no sum for the weight",
            change={"(g * x_hat).reshape(-1, x.shape[-1]).sum(dim=0)": "g * x_hat"},
            says="the gradient with respect to the weight has the weight's shape: sum over all positions",
            gravity="part",
        ),
        Mistake(
            "first axis only",
            change={".reshape(-1, x.shape[-1]).sum(dim=0)": ".sum(dim=0)"},
            says="the sum for the weight and the bias runs over the first axis only: it runs over all axes in front",
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
            says="the gradients of the weight and the bias are exchanged: x, weight, bias",
            gravity="part",
        ),
        Mistake("ε fixed", change={"+ eps)": "+ 1e-5)"}, says="the argument `eps` is not used", gravity="part"),
        Mistake(
            "weight's gradient with γ",
            change={"(g * x_hat).reshape": "(g_hat * x_hat).reshape"},
            says="the gradient with respect to the weight must not contain the weight",
            gravity="part",
        ),
        Mistake("divided twice", change={") / s\n": ") / s / s\n"}, says="it is divided by s twice: once is enough", gravity="idea"),
        Mistake(
            "g_hat divided by weight",
            change={"g * weight\n": "g / weight\n"},
            says="g is divided by γ: the gradient with respect to x̂ is g ⊙ γ",
            gravity="idea",
        ),
        Mistake(
            "mean of x for mean of ĝ",
            change={"(g_hat * x_hat).mean": "(g_hat * x).mean"},
            says="the second mean is taken of ĝ x: it is the mean of ĝ x̂",
            gravity="idea",
        ),
        Mistake(
            "means over the positions",
            change={
                "g_hat.mean(dim=-1, keepdim=True)": "g_hat.mean(dim=0, keepdim=True)",
                "(g_hat * x_hat).mean(dim=-1, keepdim=True)": "(g_hat * x_hat).mean(dim=0, keepdim=True)",
            },
            says="the two means run over the positions: they run over the last axis",
            gravity="idea",
        ),
        Mistake(
            "multiplied by s",
            change={"keepdim=True)) / s\n": "keepdim=True)) * s\n"},
            says="it is multiplied by s: divide by it",
            gravity="idea",
        ),
        Mistake(
            "x̂ missing in the last term",
            change={"- x_hat * (g_hat": "- (g_hat"},
            says="the last mean is not multiplied by x̂",
            gravity="idea",
        ),
        Mistake(
            "order of results",
            change={
                "return dx, (g * x_hat).reshape(-1, x.shape[-1]).sum(dim=0), g.reshape(-1, x.shape[-1]).sum(dim=0)": "return (g * x_hat).reshape(-1, x.shape[-1]).sum(dim=0), g.reshape(-1, x.shape[-1]).sum(dim=0), dx"
            },
            says="the order of the three gradients is x, weight, bias",
            gravity="idea",
        ),
        Mistake(
            "bias gradient of ones",
            change={"g.reshape(-1, x.shape[-1]).sum(dim=0)\n": "torch.full((x.shape[-1],), float(g.sum()) / x.shape[-1], dtype=g.dtype)\n"},
            says="the bias's gradient is the same for every entry: sum over the positions, not over the width",
            gravity="part",
        ),
        Mistake(
            "D - 1",
            change={"centred.square().mean(dim=-1, keepdim=True)": "centred.square().sum(dim=-1, keepdim=True) / max(x.shape[-1] - 1, 1)"},
            says="the variance is divided by D − 1; it must be divided by D",
            gravity="idea",
        ),
        Mistake(
            "overwrites g",
            change={"x_hat, g_hat = centred / s, g * weight": "x_hat, g_hat = centred / s, g.mul_(weight)"},
            says="g is multiplied by γ in place: the caller's tensor changes, and so do the other two gradients",
            gravity="part",
        ),
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
            "over the first axis",
            change={"mean(dim=-1": "mean(dim=0"},
            says="the mean of the squares runs over the first axis: each position has its own",
            gravity="idea",
        ),
        Mistake(
            "length, not mean",
            change={"square().mean(": "square().sum("},
            says="you divide by the length: the *mean* of the squares belongs under the root",
            gravity="idea",
        ),
        Mistake("no root", change={"torch.sqrt(": "("}, says="you divide by the mean square: its root is missing", gravity="idea"),
        Mistake(
            "mean subtracted",
            change={
                "wide.square()": "(wide - wide.mean(-1, keepdim=True)).square()",
                "weight * wide": "weight * (wide - wide.mean(-1, keepdim=True))",
            },
            says="you subtract the mean: RMSNorm does not",
            gravity="idea",
        ),
        Mistake(
            "ε outside the root",
            change={" + eps)": ") + eps"},
            says="ε is outside the root: it is added to the mean of the squares",
            gravity="part",
        ),
        Mistake("no ε", change={" + eps)": ")"}, says="ε is missing", gravity="part"),
        Mistake("no weight", change={"weight * wide": "wide"}, says="the weight γ is not used", gravity="idea"),
        Mistake(
            "over the positions",
            change={"dim=-1": "dim=-2"},
            says="the mean runs down the columns: each position is normalised on its own, over the last axis",
            gravity="idea",
        ),
        Mistake(
            "over the whole tensor",
            change={"(dim=-1, keepdim=True)": "()"},
            says="one root mean square for the whole tensor: each position is normalised on its own",
            gravity="idea",
        ),
        Mistake(
            "half precision throughout",
            change={"x.float() if x.dtype in (torch.float16, torch.bfloat16) else x": "x"},
            says="the squares are taken in half precision, and those of float16 overflow at 65,504: convert to float32 first",
            gravity="part",
        ),
        Mistake(
            "not converted back",
            change={".to(x.dtype)": ""},
            says="the result is not converted back to the dtype of x: do that at the very end",
            gravity="edge",
        ),
        Mistake("ε fixed", change={"+ eps": "+ 1e-5"}, says="the argument `eps` is not used", gravity="part"),
        Mistake(
            "standard deviation",
            change={"torch.sqrt(wide.square().mean(dim=-1, keepdim=True) + eps)": "wide.std(-1, keepdim=True, unbiased=False) + 0 * eps"},
            says="you divide by the standard deviation: RMSNorm does not use the mean",
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
            says="bfloat16 is not converted: do its work in float32, too",
            gravity="part",
        ),
        Mistake(
            "mean of |x|",
            change={"torch.sqrt(wide.square().mean(dim=-1, keepdim=True) + eps)": "wide.abs().mean(dim=-1, keepdim=True) + eps"},
            says="you divide by the mean of |x|; the root of the mean square is wanted",
            gravity="idea",
        ),
        Mistake(
            "axis 1",
            change={"dim=-1": "dim=1"},
            says="the mean of the squares runs over axis 1: for x of shape (B, T, D) it must run over the last axis",
            gravity="part",
        ),
        Mistake(
            "weight added", change={"weight * wide / rms": "weight + wide / rms"}, says="the weight is added: it multiplies", gravity="idea"
        ),
        Mistake(
            "divides by the largest",
            change={"torch.sqrt(wide.square().mean(dim=-1, keepdim=True) + eps)": "wide.abs().amax(dim=-1, keepdim=True) + eps"},
            says="you divide by the largest entry: the root of the mean square is wanted",
            gravity="idea",
        ),
        Mistake(
            "divided by D - 1",
            change={"wide.square().mean(dim=-1, keepdim=True)": "wide.square().sum(dim=-1, keepdim=True) / max(x.shape[-1] - 1, 1)"},
            says="the sum of the squares is divided by D − 1: divide by D",
            gravity="idea",
        ),
        Mistake(
            "mean before the square",
            change={"wide.square().mean(dim=-1, keepdim=True)": "wide.mean(dim=-1, keepdim=True).square()"},
            says="the mean is squared: take the mean of the squares",
            gravity="idea",
        ),
        Mistake(
            "float16 only",
            change={"(torch.float16, torch.bfloat16)": "(torch.float16,)"},
            says="bfloat16 is not converted: do its work in float32, too",
            gravity="part",
        ),
        Mistake(
            "converted before the weight",
            change={"(weight * wide / rms).to(x.dtype)": "weight * (wide / rms).to(x.dtype)"},
            says="the result is converted before it is multiplied by the weight: convert back at the very end",
            gravity="edge",
        ),
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
            "LayerNorm: eps not handed on",
            change={"layer_norm(x, self.weight, self.bias, self.eps)": "layer_norm(x, self.weight, self.bias)"},
            says="LayerNorm: the argument eps is not used",
            gravity="part",
        ),
        Mistake(
            "plain tensors",
            change={"nn.Parameter(torch.ones(D))": "torch.ones(D)", "nn.Parameter(torch.zeros(D))": "torch.zeros(D)"},
            says="weight and bias are plain tensors: a learned part is an `nn.Parameter` that is assigned to `self`",
            gravity="idea",
        ),
        Mistake(
            "γ starts at 0",
            change={"nn.Parameter(torch.ones(D))": "nn.Parameter(torch.zeros(D))"},
            says="a new LayerNorm gives zeros: γ starts at 1, not at 0",
            gravity="idea",
        ),
        Mistake(
            "β starts at 1",
            change={"nn.Parameter(torch.zeros(D))": "nn.Parameter(torch.ones(D))"},
            says="β starts at 0, not at 1",
            gravity="idea",
        ),
        Mistake("ε not kept", change={", self.eps)": ")"}, says="LayerNorm: the argument eps is not used", gravity="part"),
        Mistake(
            "RMSNorm with a mean",
            change={"rms_norm(x, self.weight, self.eps)": "layer_norm(x, self.weight, torch.zeros_like(self.weight), self.eps)"},
            says="RMSNorm subtracts the mean: call `rms_norm`",
            gravity="idea",
        ),
        Mistake(
            "RMSNorm with a bias",
            change={
                "self.weight = nn.Parameter(torch.ones(D))\n        self.eps = eps\n        ### END SOLUTION": "self.weight, self.bias = nn.Parameter(torch.ones(D)), nn.Parameter(torch.zeros(D))\n        self.eps = eps\n        ### END SOLUTION"
            },
            says="RMSNorm has a bias here: its one learned part is `weight`",
            gravity="part",
        ),
        Mistake(
            "weight not used",
            change={"layer_norm(x, self.weight, self.bias": "layer_norm(x, torch.ones_like(self.weight), torch.zeros_like(self.bias)"},
            says="LayerNorm: weight and bias are not used",
            gravity="idea",
        ),
        Mistake(
            "buffers",
            change={"self.weight = nn.Parameter(torch.ones(D))": 'self.register_buffer("weight", torch.ones(D))'},
            says="weight and bias are buffers, which are not learned: they must be parameters, `nn.Parameter`",
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
            says="RMSNorm: the argument eps is not used",
            gravity="part",
        ),
        Mistake(
            "parameters detached",
            change={"layer_norm(x, self.weight, self.bias, self.eps)": "layer_norm(x, self.weight.detach(), self.bias.detach(), self.eps)"},
            says="the weight is detached before it is used, so it gets no gradient",
            gravity="part",
        ),
        Mistake(
            "other names",
            change={"self.bias": "self.beta"},
            says="the parameters have other names: they are called `weight` and `bias`",
            gravity="idea",
        ),
        Mistake(
            "weight of shape (1,)",
            change={
                "self.weight = nn.Parameter(torch.ones(D))\n        self.bias": "self.weight = nn.Parameter(torch.ones(1))\n        self.bias"
            },
            says="LayerNorm's weight is one number for all entries: it has the shape (D,)",
            gravity="idea",
        ),
        Mistake(
            "random weight",
            change={
                "self.weight = nn.Parameter(torch.ones(D))\n        self.eps": "self.weight = nn.Parameter(torch.randn(D))\n        self.eps"
            },
            says="RMSNorm starts with random numbers: γ is 1 at first",
            gravity="idea",
        ),
        Mistake(
            "frozen",
            change={"self.bias = nn.Parameter(torch.zeros(D))": "self.bias = nn.Parameter(torch.zeros(D), requires_grad=False)"},
            says="LayerNorm's bias is frozen: it must get a gradient",
            gravity="part",
        ),
        Mistake(
            "nn.LayerNorm inside",
            change={
                "self.weight = nn.Parameter(torch.ones(D))\n        self.bias = nn.Parameter(torch.zeros(D))": "self.inner = nn.LayerNorm(D, eps)",
                "layer_norm(x, self.weight, self.bias, self.eps)": "self.inner(x)",
            },
            says="the parameters are called `inner.weight` and `inner.bias`: assign `weight` and `bias` to `self`",
            gravity="idea",
        ),
        Mistake(
            "weights cloned at the start",
            change={"return rms_norm(x, self.weight, self.eps)": "return rms_norm(x, torch.ones(x.shape[-1]), self.eps)"},
            says="RMSNorm: the weight is not used",
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
            says="rows and columns are exchanged: M[i, j] is the effect of input j on output i",
            gravity="idea",
        ),
        Mistake(
            "shifts stay in place",
            change={
                "before, columns = f(x), []": "before, columns = f(x), []\n    shifted = x.clone()",
                "        shifted = x.clone()\n        shifted[j]": "        shifted[j]",
            },
            says="earlier shifts stay in place: start again from x for every j",
            gravity="idea",
        ),
        Mistake(
            "input changed",
            change={"shifted = x.clone()": "shifted = x"},
            says="x itself is shifted, and earlier shifts stay in place: start again from a copy of x for every j",
            gravity="idea",
        ),
        Mistake(
            "compared with x",
            change={"f(shifted) - before": "f(shifted) - x"},
            says="the outputs are compared with the input x; compare them with f(x)",
            gravity="idea",
        ),
        Mistake(
            "squared", change={".norm(dim=-1)": ".square().sum(-1)"}, says="this is the squared length: the root is missing", gravity="idea"
        ),
        Mistake(
            "absolute values",
            change={".norm(dim=-1)": ".abs().sum(-1)"},
            says="the absolute changes of the entries are added: use the Euclidean length",
            gravity="idea",
        ),
        Mistake(
            "whole output's change",
            change={".norm(dim=-1))": ".norm().expand(len(x)))"},
            says="the whole output's change is used for every row: take the length over the last axis only",
            gravity="idea",
        ),
        Mistake(
            "row replaced",
            change={"shifted[j] += delta": "shifted[j] = delta"},
            says="row j is replaced by δ; δ is added to it",
            gravity="idea",
        ),
        Mistake(
            "largest entry",
            change={".norm(dim=-1)": ".abs().amax(dim=-1)"},
            says="this is the largest change of an entry: use the Euclidean length",
            gravity="idea",
        ),
        Mistake("subtracts delta", change={"shifted[j] += delta": "shifted[j] -= delta"}, says="δ is subtracted: add it", gravity="idea"),
        Mistake(
            "relative",
            change={"(f(shifted) - before).norm(dim=-1)": "(f(shifted) - before).norm(dim=-1) / delta.norm()"},
            says="the change is divided by the length of δ: the length of the change itself is asked for",
            gravity="idea",
        ),
        Mistake(
            "lengths subtracted",
            change={"(f(shifted) - before).norm(dim=-1)": "(f(shifted).norm(dim=-1) - before.norm(dim=-1)).abs()"},
            says="the lengths of the outputs are compared: take the length of their difference",
            gravity="idea",
        ),
        Mistake(
            "shifts the first feature only",
            change={"shifted[j] += delta": "shifted[j, 0] += delta[0]"},
            says="only the first entry of δ is added: add all of it",
            gravity="idea",
        ),
        Mistake(
            "mean change",
            change={".norm(dim=-1)": ".square().mean(dim=-1).sqrt()"},
            says="this is the root mean square: the length is the root of the sum of squares",
            gravity="idea",
        ),
        Mistake(
            "first position only",
            change={"range(len(x))": "range(1)"},
            says="only the first position is shifted: shift each of them in turn",
            gravity="idea",
        ),
        Mistake(
            "causal assumed",
            change={"torch.stack(columns, dim=1)": "torch.stack(columns, dim=1).tril()"},
            says="the part above the diagonal is set to zero: measure it",
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
        Mistake(
            "tanh: the factor on one term only",
            change={"(x + 0.044715 * x**3)": "x + 0.044715 * x**3"},
            says="GELU (tanh): √(2/π) multiplies x only: it multiplies the whole bracket",
            gravity="idea",
        ),
        Mistake(
            "β outside of σ",
            change={"x * torch.sigmoid(beta * x)": "beta * x * torch.sigmoid(x)"},
            says="Swish: β multiplies the result: it stands inside of σ only",
            gravity="part",
        ),
        Mistake(
            "e to the power, divided",
            change={"torch.sigmoid(beta * x)": "torch.exp(beta * x) / (1 + torch.exp(beta * x))"},
            hint="far from zero SiLU is 0 on the left and x on the right",
            gravity="edge",
        ),
        Mistake(
            "ReLU leaks",
            change={"x.clamp(min=0)": "torch.where(x > 0, x, 0.01 * x)"},
            says="ReLU of a negative number is 0, not a small share of it",
            gravity="idea",
        ),
        Mistake("absolute value", change={"x.clamp(min=0)": "x.abs()"}, says="ReLU is not the absolute value", gravity="idea"),
        Mistake(
            "GELU is its own approximation",
            change={
                "0.5 * x * (1 + torch.erf(x / math.sqrt(2)))": "0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))"
            },
            says="GELU: this is the tanh approximation: the exact GELU uses `torch.erf`",
            gravity="idea",
        ),
        Mistake(
            "the approximation is exact",
            change={
                "0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))": "0.5 * x * (1 + torch.erf(x / math.sqrt(2)))"
            },
            says="GELU (tanh): this is the exact GELU: the approximation with tanh is asked for",
            gravity="idea",
        ),
        Mistake(
            "σ(1.702 x)",
            change={"0.5 * x * (1 + torch.erf(x / math.sqrt(2)))": "x * torch.sigmoid(1.702 * x)"},
            says="GELU: this is x σ(1.702 x), an approximation: use erf",
            gravity="idea",
        ),
        Mistake("no √2", change={"x / math.sqrt(2)": "x"}, says="GELU: the division by √2 inside erf is missing", gravity="idea"),
        Mistake(
            "Φ only",
            change={"0.5 * x * (1 + torch.erf": "0.5 * (1 + torch.erf"},
            says="GELU: this is Φ(x): x Φ(x) is wanted",
            gravity="idea",
        ),
        Mistake("no ½", change={"0.5 * x * (1 + torch.erf": "x * (1 + torch.erf"}, says="GELU: the factor ½ is missing", gravity="idea"),
        Mistake("no cubic term", change={" + 0.044715 * x**3": ""}, says="GELU (tanh): the cubic term is missing", gravity="idea"),
        Mistake(
            "2/π without its root",
            change={"math.sqrt(2 / math.pi)": "2 / math.pi"},
            says="GELU (tanh): the factor is √(2/π), not 2/π",
            gravity="idea",
        ),
        Mistake("β ignored", change={"torch.sigmoid(beta * x)": "torch.sigmoid(x)"}, says="Swish: β is not used", gravity="part"),
        Mistake(
            "β outside",
            change={"x * torch.sigmoid(beta * x)": "beta * x * torch.sigmoid(beta * x)"},
            says="Swish: β multiplies x in both places; it belongs inside σ only",
            gravity="part",
        ),
        Mistake(
            "β divides",
            change={"torch.sigmoid(beta * x)": "torch.sigmoid(x / beta if beta else 0 * x)"},
            says="Swish: you divide by β inside σ",
            gravity="part",
        ),
        Right("σ by its formula", change={"torch.sigmoid(beta * x)": "(1 / (1 + torch.exp(-beta * x)))"}),
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
            says="ReLU is cut off above: large numbers stay as they are",
            gravity="idea",
        ),
        Mistake(
            "σ only",
            change={"x * torch.sigmoid(beta * x)": "torch.sigmoid(beta * x)"},
            says="Swish: this is σ(x): x σ(βx) is wanted",
            gravity="idea",
        ),
        Mistake(
            "ReLU cut from the graph",
            change={"x.clamp(min=0)": "x.detach().clamp(min=0)"},
            says="ReLU is cut from the graph: no gradient flows",
            gravity="edge",
        ),
        Mistake(
            "relu min",
            change={"x.clamp(min=0)": "x.clamp(max=0)"},
            says="ReLU keeps what is negative here: keep what is positive",
            gravity="idea",
        ),
        Mistake(
            "relu step",
            change={"x.clamp(min=0)": "(x > 0).to(x.dtype)"},
            says="ReLU gives 0 or 1: it keeps x where x is positive",
            gravity="idea",
        ),
        Mistake(
            "gelu: minus", change={"(1 + torch.erf(x": "(1 - torch.erf(x"}, says="GELU: 1 − erf is used: it is 1 + erf", gravity="idea"
        ),
        Mistake("tanh: squared", change={"x**3": "x**2"}, says="GELU (tanh): the last term is a square: it is x³", gravity="idea"),
        Mistake(
            "tanh: constant 0.44715",
            change={"0.044715": "0.44715"},
            says="GELU (tanh): the constant is 0.044715, not 0.44715",
            gravity="idea",
        ),
        Mistake(
            "swish: sigmoid of x times beta times",
            change={"x * torch.sigmoid(beta * x)": "x * torch.sigmoid(x) ** beta"},
            says="Swish: β is an exponent here: it multiplies x inside σ",
            gravity="part",
        ),
        Mistake("swish: β added", change={"beta * x)": "beta + x)"}, says="Swish: β is added inside σ: it multiplies x", gravity="idea"),
        Mistake(
            "swish: |beta|",
            change={"torch.sigmoid(beta * x)": "torch.sigmoid(abs(beta) * x)"},
            says="Swish: the sign of β is lost",
            gravity="part",
        ),
        Mistake(
            "gelu without the tail",
            change={
                "return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))": "return torch.where(x.abs() > 3, x.clamp(min=0), 0.5 * x * (1 + torch.erf(x / math.sqrt(2))))"
            },
            says="GELU: far from zero ReLU is used: the formula holds everywhere",
            gravity="idea",
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
            "activation last",
            change={"self.down(self.activation(self.up(x)))": "self.activation(self.down(self.up(x)))"},
            says="FeedForward: the activation comes last: it stands between the two maps",
            gravity="idea",
        ),
        Mistake(
            "W1 twice",
            change={"self.w3 = nn.Linear(D, hidden, bias=False)": "self.w3 = self.w1"},
            says="SwiGLU: w1 and w3 are the same map: each has its own weights",
            gravity="idea",
        ),
        Mistake(
            "no activation",
            change={"self.down(self.activation(self.up(x)))": "self.down(self.up(x))"},
            says="FeedForward: the activation is missing",
            gravity="idea",
        ),
        Mistake(
            "given activation ignored",
            change={"self.activation = activation": "self.activation = gelu"},
            says="FeedForward: the activation that is given is not used",
            gravity="part",
        ),
        Mistake(
            "default is ReLU",
            change={"activation=gelu": "activation=torch.relu"},
            says="FeedForward: the default activation is the exact GELU",
            gravity="idea",
        ),
        Mistake(
            "activation at the end, too",
            change={"self.down(self.activation(self.up(x)))": "self.activation(self.down(self.activation(self.up(x))))"},
            says="FeedForward: there is no activation after the second map",
            gravity="idea",
        ),
        Mistake(
            "no biases",
            change={"nn.Linear(D, hidden)": "nn.Linear(D, hidden, bias=False)", "nn.Linear(hidden, D)": "nn.Linear(hidden, D, bias=False)"},
            says="FeedForward's linear maps have no bias: both parts have one",
            gravity="idea",
        ),
        Mistake(
            "residual inside",
            change={"return self.down(": "return x + self.down("},
            says="FeedForward: the input is added: the residual comes later, in the block",
            gravity="idea",
        ),
        Mistake(
            "W1 and W3 exchanged",
            change={"swish(self.w1(x)) * self.w3(x)": "swish(self.w3(x)) * self.w1(x)"},
            says="SwiGLU: W1 and W3 are exchanged: SiLU is taken of W1 x",
            gravity="idea",
        ),
        Mistake(
            "GLU",
            change={"swish(self.w1(x))": "torch.sigmoid(self.w1(x))"},
            says="SwiGLU: the gate is a plain σ (that is GLU): SiLU(z) = z σ(z)",
            gravity="idea",
        ),
        Mistake("no SiLU", change={"swish(self.w1(x))": "self.w1(x)"}, says="SwiGLU: SiLU is missing", gravity="idea"),
        Mistake(
            "added",
            change={"swish(self.w1(x)) * ": "swish(self.w1(x)) + "},
            says="SwiGLU: the two parts are added; the gate multiplies",
            gravity="idea",
        ),
        Mistake(
            "SiLU of the product",
            change={"swish(self.w1(x)) * self.w3(x)": "swish(self.w1(x) * self.w3(x))"},
            says="SwiGLU: SiLU is taken of the product; it belongs to W1 x alone",
            gravity="idea",
        ),
        Mistake(
            "GEGLU",
            change={"swish(self.w1(x))": "gelu(self.w1(x))"},
            says="SwiGLU: this is GEGLU: the gate's activation is SiLU, not GELU",
            gravity="idea",
        ),
        Mistake("no gate", change={" * self.w3(x)": ""}, says="SwiGLU: the gate W3 x is missing", gravity="idea"),
        Mistake(
            "SwiGLU with biases",
            change={"hidden, bias=False)": "hidden)"},
            says="SwiGLU's linear maps have biases: its three parts have none",
            gravity="idea",
        ),
        Mistake(
            "cut from the graph",
            change={"self.down(self.activation(self.up(x)))": "self.down(self.activation(self.up(x)).detach())"},
            says="FeedForward is cut from the graph: no gradient reaches what is in front of the cut",
            gravity="part",
        ),
        Mistake(
            "SiLU of both",
            change={"swish(self.w1(x)) * self.w3(x)": "swish(self.w1(x)) * swish(self.w3(x))"},
            says="SwiGLU: SiLU is taken of both parts",
            gravity="idea",
        ),
        Mistake(
            "activation first",
            change={"self.down(self.activation(self.up(x)))": "self.down(self.up(self.activation(x)))"},
            says="FeedForward: the activation comes before the first map; it belongs between the two",
            gravity="idea",
        ),
        Mistake(
            "gate cut from the graph",
            change={"* self.w3(x)": "* self.w3(x).detach()"},
            says="SwiGLU: the gate is cut from the graph: the gradient flows through both factors",
            gravity="part",
        ),
        Mistake(
            "hidden ignored",
            change={
                "self.up = nn.Linear(D, hidden)": "self.up = nn.Linear(D, 4 * D)",
                "self.down = nn.Linear(hidden, D)": "self.down = nn.Linear(4 * D, D)",
            },
            says="FeedForward: the argument `hidden` is not used: it is the inner width",
            gravity="idea",
        ),
        Mistake(
            "activation class per call",
            change={"self.activation(self.up(x))": "self.activation(self.up(x)) + self.up(x) * 0.01"},
            says="FeedForward: a share of the inner values passes the activation by",
            gravity="idea",
        ),
        Mistake(
            "down only hidden first",
            change={"self.down(self.activation(self.up(x)))": "self.down(self.activation(self.up(x)) / self.up.out_features**0.5)"},
            says="FeedForward: the inner values are divided by the root of the width: nothing is scaled",
            gravity="idea",
        ),
        Mistake(
            "mean over positions",
            change={
                "return self.down(self.activation(self.up(x)))": "x = x - x.mean(-2, keepdim=True) if x.dim() > 1 and x.shape[-2] > 1 else x\n        return self.down(self.activation(self.up(x)))"
            },
            says="FeedForward: positions are mixed: it works on each position alone",
            gravity="idea",
        ),
        Mistake(
            "dropout inside",
            change={"self.down(self.activation(self.up(x)))": "self.down(F.dropout(self.activation(self.up(x)), 0.1, self.training))"},
            says="FeedForward: there is dropout inside: it comes later, in the block",
            gravity="idea",
        ),
        Mistake(
            "swiglu: w2 twice",
            change={"swish(self.w1(x)) * self.w3(x)": "swish(self.w1(x)) * self.w1(x)"},
            says="SwiGLU: both factors come from W1: the gate is W3 x",
            gravity="idea",
        ),
        Mistake(
            "swiglu: β",
            change={"swish(self.w1(x))": "swish(self.w1(x), 1.702)"},
            says="SwiGLU: β is not 1: SiLU is Swish with β = 1",
            gravity="idea",
        ),
        Mistake(
            "swiglu: relu",
            change={"swish(self.w1(x))": "relu(self.w1(x))"},
            says="SwiGLU: this is ReGLU: the activation is SiLU, not ReLU",
            gravity="idea",
        ),
        Mistake(
            "swiglu: hidden 4D",
            change={
                "nn.Linear(D, hidden, bias=False)\n        self.w2 = nn.Linear(hidden, D, bias=False)\n        self.w3 = nn.Linear(D, hidden, bias=False)": "nn.Linear(D, 4 * D, bias=False)\n        self.w2 = nn.Linear(4 * D, D, bias=False)\n        self.w3 = nn.Linear(D, 4 * D, bias=False)"
            },
            says="SwiGLU: the argument `hidden` is not used",
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
            "merge: heads added",
            change={"x.transpose(1, 2).reshape(B, T, H * width)": "x.sum(1)"},
            says="merge_heads: the heads are added: put them side by side",
            gravity="idea",
        ),
        Mistake(
            "view alone",
            change={"x.view(B, T, H, D // H).transpose(1, 2)": "x.reshape(B, H, T, D // H)"},
            says="split_heads: `view` straight to (B, H, T, D/H) cuts the sequence, not the width: view to (B, T, H, D/H), then transpose",
            gravity="idea",
        ),
        Mistake(
            "every H-th column",
            change={"x.view(B, T, H, D // H).transpose(1, 2)": "x.view(B, T, D // H, H).permute(0, 3, 1, 2)"},
            says="split_heads: head h takes every H-th column; it should take D/H adjacent columns",
            gravity="idea",
        ),
        Mistake(
            "head axis stays behind",
            change={"x.view(B, T, H, D // H).transpose(1, 2)": "x.view(B, T, H, D // H)"},
            says="split_heads: the head axis stays behind the positions: the order is batch, head, position, width of a head",
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
            hint="merge_heads: position 0 has (1, 2) in head 0 and (5, 6) in head 1",
            gravity="idea",
        ),
        Mistake(
            "interleaved",
            change={"x.transpose(1, 2).reshape(": "x.permute(0, 2, 3, 1).reshape("},
            says="merge_heads: the heads are interleaved; each head keeps its columns together",
            gravity="idea",
        ),
        Mistake(
            "reverse order",
            change={".transpose(1, 2)\n": ".transpose(1, 2).flip(1)\n"},
            says="split_heads: the heads are in reverse order",
            gravity="idea",
        ),
        Mistake(
            "always four heads",
            change={"x.view(B, T, H, D // H)": "x.view(B, T, 4, D // 4)"},
            says="split_heads: the number of heads is fixed: use H",
            gravity="idea",
        ),
        Mistake(
            "merge reversed",
            change={"x.transpose(1, 2).reshape(B, T, H * width)": "x.flip(1).transpose(1, 2).reshape(B, T, H * width)"},
            says="merge_heads: the heads are in reverse order",
            gravity="idea",
        ),
        Mistake(
            "heads before batch",
            change={
                "return x.view(B, T, H, D // H).transpose(1, 2)": "return x.view(B, T, H, D // H).permute(2, 0, 1, 3).reshape(B, H, T, D // H)"
            },
            says="split_heads: batch and heads are mixed: the batch axis stays in front",
            gravity="idea",
        ),
        Mistake(
            "last head first column",
            change={"return x.view(B, T, H, D // H).transpose(1, 2)": "return x.flip(-1).view(B, T, H, D // H).transpose(1, 2)"},
            says="split_heads: the columns are in reverse order",
            gravity="idea",
        ),
        Mistake(
            "positions reversed",
            change={"return x.view(B, T, H, D // H).transpose(1, 2)": "return x.flip(1).view(B, T, H, D // H).transpose(1, 2)"},
            says="split_heads: the positions are in reverse order",
            gravity="idea",
        ),
        Mistake(
            "merge: mean",
            change={"return x.transpose(1, 2).reshape(B, T, H * width)": "return x.mean(1).repeat(1, 1, H)"},
            says="merge_heads: the heads are averaged: put them side by side",
            gravity="idea",
        ),
        Mistake(
            "merge: batch of one",
            change={"return x.transpose(1, 2).reshape(B, T, H * width)": "return torch.cat(list(x[0]), dim=-1)[None].expand(B, -1, -1)"},
            says="merge_heads: only the first sequence of the batch is used",
            gravity="idea",
        ),
        Mistake(
            "split first sequence",
            change={
                "return x.view(B, T, H, D // H).transpose(1, 2)": "return x[:1].reshape(1, T, H, D // H).transpose(1, 2).expand(B, -1, -1, -1)"
            },
            says="split_heads: only the first sequence of the batch is used",
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
            "queries for keys",
            change={"(self.q_proj, self.k_proj, self.v_proj)": "(self.q_proj, self.q_proj, self.v_proj)"},
            says="the keys are made by q_proj: k_proj makes them",
            gravity="idea",
        ),
        Mistake(
            "values not projected",
            change={"mixed = F": "v = split_heads(x, self.H)\n        mixed = F"},
            says="the values are not projected: v_proj makes them",
            gravity="idea",
        ),
        Mistake(
            "no output projection",
            change={"self.o_proj(merge_heads(mixed))": "merge_heads(mixed)"},
            says="the output projection is missing",
            gravity="idea",
        ),
        Mistake(
            "view without transpose",
            change={"split_heads(project(x), self.H)": "project(x).reshape(x.shape[0], self.H, x.shape[1], -1)"},
            says="positions and heads are mixed in the split: `view` without `transpose`",
            gravity="idea",
        ),
        Mistake(
            "merge without transpose",
            change={"merge_heads(mixed)": "mixed.reshape(x.shape)"},
            says="the merged heads are mixed: is the transpose undone before the axes are joined?",
            gravity="idea",
        ),
        Mistake(
            "scale by the whole width",
            change={ATTENTION: "F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=x.shape[-1] ** -0.5)"},
            says="the scores are scaled by the root of the whole width D; each head has the width D/H",
            gravity="idea",
        ),
        Mistake(
            "no scale",
            change={ATTENTION: "F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0)"},
            says="the scores are not scaled",
            gravity="idea",
        ),
        Mistake("mask lost", change={", attn_mask=mask": ""}, says="the mask is not used", gravity="part"),
        Mistake(
            "mask polarity",
            change={"attn_mask=mask": "attn_mask=None if mask is None else ~mask"},
            says="the mask is read the wrong way round: True means may look",
            gravity="part",
        ),
        Mistake(
            "one wide head",
            change={"self.H = H": "self.H = 1"},
            says="this is one head over the whole width: is the split used?",
            gravity="idea",
        ),
        Mistake(
            "always causal",
            change={ATTENTION: "F.scaled_dot_product_attention(q, k, v, is_causal=True)"},
            says="without a mask the output is causal: the mask is optional",
            gravity="idea",
        ),
        Mistake(
            "queries and keys exchanged",
            change={"q, k, v = (": "k, q, v = ("},
            says="the roles of q_proj and k_proj are exchanged",
            gravity="idea",
        ),
        Mistake(
            "attention over the heads",
            change={
                "split_heads(project(x), self.H)": "project(x).unflatten(-1, (self.H, -1))",
                "merge_heads(mixed)": "mixed.flatten(2)",
                "attn_mask=mask": "attn_mask=None",
            },
            says="attention runs over the heads of one position: move the head axis in front of the positions",
            gravity="idea",
        ),
        Mistake(
            "bias always",
            change={", bias=bias": ""},
            says="the argument `bias` is not used: with bias=False no part has one",
            gravity="part",
        ),
        Mistake(
            "no complaint",
            change={"if D % H:": "if False:"},
            says="nothing is raised where D is no multiple of H: raise a ValueError in `__init__`",
            gravity="edge",
        ),
        Mistake(
            "first sequence's mask for all",
            change={"attn_mask=mask": "attn_mask=mask[:1] if mask is not None and mask.dim() == 4 else mask"},
            says="one sequence's mask is used for the whole batch",
            gravity="part",
        ),
        Mistake(
            "residual inside",
            change={"return self.o_proj(": "return x + self.o_proj("},
            says="the input is added: the residual comes later, in the block",
            gravity="idea",
        ),
        Mistake(
            "values cut from the graph",
            change={"F.scaled_dot_product_attention(q, k, v,": "F.scaled_dot_product_attention(q, k, v.detach(),"},
            says="the values are cut from the graph: no gradient reaches v_proj",
            gravity="part",
        ),
        Mistake(
            "keys and values exchanged",
            change={"q, k, v = (": "q, v, k = ("},
            says="the roles of k_proj and v_proj are exchanged",
            gravity="idea",
        ),
        Mistake(
            "any mask is causal",
            change={"attn_mask=mask": "is_causal=mask is not None"},
            says="every mask is taken for a causal one: use the mask that is given",
            gravity="part",
        ),
        Mistake(
            "another exception",
            change={'raise ValueError(f"the width {D} is not a multiple of the number of heads, {H}")': "raise AssertionError()"},
            says="another exception is raised where D is no multiple of H: it must be a ValueError",
            gravity="edge",
        ),
        Mistake(
            "input cut from the graph",
            change={"project(x)": "project(x.detach())"},
            says="x is cut from the graph: no gradient reaches the input",
            gravity="part",
        ),
        Mistake(
            "scaled twice",
            change={
                "F.scaled_dot_product_attention(q, k, v, attn_mask=mask)": "F.scaled_dot_product_attention(q / q.shape[-1] ** 0.5, k, v, attn_mask=mask)"
            },
            says="the scores are scaled twice: `F.scaled_dot_product_attention` scales them already",
            gravity="idea",
        ),
        Mistake(
            "v also mixed twice: relu",
            change={"return self.o_proj(merge_heads(mixed))": "return self.o_proj(torch.relu(merge_heads(mixed)))"},
            says="there is a ReLU before the output projection: nothing stands between",
            gravity="idea",
        ),
        Mistake(
            "o_proj per head",
            change={"return self.o_proj(merge_heads(mixed))": "return self.o_proj(merge_heads(mixed)) / self.H"},
            says="the output is divided by the number of heads: it is not",
            gravity="idea",
        ),
        Mistake(
            "q for v",
            change={"for project in (self.q_proj, self.k_proj, self.v_proj))": "for project in (self.q_proj, self.k_proj, self.q_proj))"},
            says="the values are made by q_proj: v_proj is not used",
            gravity="idea",
        ),
        Mistake(
            "softmax over the queries",
            change={
                "mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)": "s = q @ k.mT / q.shape[-1] ** 0.5\n        s = s if mask is None else s.masked_fill(~mask, -torch.inf)\n        mixed = s.softmax(-2).nan_to_num() @ v"
            },
            says="softmax runs over the queries: it runs over the keys, the last axis",
            gravity="idea",
        ),
        Mistake(
            "mask of each head ignored",
            change={"attn_mask=mask)": "attn_mask=mask if mask is None or mask.dim() < 3 else mask[:, :1])"},
            says="the first head's mask is used for all heads",
            gravity="part",
        ),
        Mistake(
            "mask added as numbers",
            change={"attn_mask=mask)": "attn_mask=None if mask is None else mask.to(q.dtype))"},
            says="the mask is added to the scores as 0 and 1: what must not be seen needs −∞",
            gravity="part",
        ),
        Mistake(
            "bias only for o_proj",
            change={"self.o_proj = nn.Linear(D, D, bias=bias)": "self.o_proj = nn.Linear(D, D)"},
            says="o_proj always has a bias: with bias=False none has",
            gravity="part",
        ),
        Mistake(
            "masked with -1e9 after softmax",
            change={
                "mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)": "w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)\n        mixed = (w if mask is None else w * mask) @ v"
            },
            says="the weights are masked after softmax, so they do not sum to one: mask the scores",
            gravity="part",
        ),
        Mistake(
            "module in eval of projections: detached weights",
            change={
                "return self.o_proj(merge_heads(mixed))": "return F.linear(merge_heads(mixed), self.o_proj.weight.detach(), self.o_proj.bias)"
            },
            says="o_proj's weight is cut from the graph: no gradient reaches it",
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
        Mistake("not scaled", change={" / (1 - p)": ""}, says="what survives is not scaled by 1 / (1 − p)", gravity="idea"),
        Mistake(
            "p keeps",
            change={">= p": "< p"},
            says="with p = 0.2 one fifth of the entries is dropped: is p the probability of dropping, or of keeping?",
            gravity="idea",
        ),
        Mistake("scaled by 1/p", change={" / (1 - p)": " / p"}, says="what survives is scaled by 1 / p", gravity="idea"),
        Mistake(
            "scaled in evaluation",
            change={"        return x\n": "        return x if training else x * (1 - p)\n", " / (1 - p)": ""},
            says="what survives is not scaled by 1 / (1 − p)",
            gravity="idea",
        ),
        Mistake(
            "p = 1 is NaN",
            change={" if p < 1 else x * 0": ""},
            says="with p = 1 everything is dropped, and nothing is NaN or raises",
            gravity="edge",
        ),
        Mistake(
            "whole rows",
            change={"torch.rand_like(x)": "torch.rand(x.shape[0], *[1] * (x.dim() - 1))"},
            says="whole rows or columns are dropped together: every entry is dropped independently",
            gravity="part",
        ),
        Mistake(
            "one mask for all rows",
            change={"torch.rand_like(x)": "torch.rand(x.shape[-1])"},
            says="whole rows or columns are dropped together: every entry is dropped independently",
            gravity="part",
        ),
        Mistake(
            "same entries in each call",
            change={"torch.rand_like(x)": "torch.rand(x.shape, generator=torch.Generator().manual_seed(0))"},
            says="two calls drop the same entries: draw anew in every call",
            gravity="part",
        ),
        Mistake("in place", change={"return x * kept / (1 - p)": "return x.mul_(kept).div_(1 - p)"}, hint=IN_PLACE, gravity="part"),
        Mistake(
            "cut from the graph",
            change={"x * kept / (1 - p)": "x.detach() * kept / (1 - p)"},
            says="the gradient is scaled and zero exactly where the output is",
            gravity="part",
        ),
        Mistake("torch's own", change={"x * kept / (1 - p)": "F.dropout(x, p)"}, hint="do not call torch's dropout", gravity="idea"),
        Mistake(
            "a fixed number of entries",
            change={
                "kept = torch.rand_like(x) >= p": "order = torch.rand(x.numel()).argsort().argsort()\n    kept = (order >= int(p * x.numel())).view_as(x)"
            },
            says="the same number of entries is dropped in every call: every entry is dropped independently",
            gravity="edge",
        ),
        Mistake(
            "a fixed scale",
            change={"x * kept / (1 - p)": "x * kept * 1.25"},
            says="with p = 0.75 every entry of 3 becomes 0 or 3/0.25 = 12",
            gravity="idea",
        ),
        Mistake(
            "seeded",
            change={"    kept": "    torch.manual_seed(0)\n    kept"},
            says="two calls drop the same entries: draw anew in every call",
            gravity="part",
        ),
        Mistake(
            "raises at p 1",
            change={" if p < 1 else x * 0": " if p < 1 else 1 / 0"},
            hint="your code raised ZeroDivisionError",
            gravity="edge",
        ),
        Mistake(
            "noise added",
            change={"x * kept / (1 - p)": "x + (~kept) * p"},
            says="dropped entries get a number added: they become zero",
            gravity="idea",
        ),
        Mistake(
            "normal noise",
            change={"torch.rand_like(x) >= p": "torch.randn_like(x) >= p"},
            says="the random numbers are normal: use uniform ones, `torch.rand`",
            gravity="idea",
        ),
        Mistake(
            "scaled by 1 - p",
            change={"/ (1 - p) if": "* (1 - p) if"},
            says="what survives is multiplied by 1 − p: divide by it",
            gravity="idea",
        ),
        Mistake(
            "scaled by 1 + p",
            change={"/ (1 - p) if": "* (1 + p) if"},
            says="what survives is multiplied by 1 + p: multiply by 1 / (1 − p)",
            gravity="idea",
        ),
        Mistake(
            "p half fixed",
            change={"torch.rand_like(x) >= p": "torch.rand_like(x) >= 0.2"},
            says="the probability is fixed: use p",
            gravity="idea",
        ),
        Mistake(
            "training ignored when p small",
            change={"if not training or p == 0": "if p == 0"},
            says="`training` is not used: in evaluation nothing is dropped",
            gravity="part",
        ),
        Mistake(
            "zeros random stays: sign",
            change={"x * kept / (1 - p) if p < 1": "x.abs() * kept / (1 - p) if p < 1"},
            says="the signs of what survives are lost",
            gravity="idea",
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
            "post-LN: norm on the branch",
            change={
                'return out if self.norm == "pre" else norm(out)': "return out",
                "        out = x + out if self.residual else out\n": '        out = norm(out) if self.norm == "post" else out\n        out = x + out if self.residual else out\n',
            },
            says="in post-LN the branch is normalised before the sum: the norm comes after x is added",
            gravity="part",
        ),
        Mistake(
            "GELU's approximation",
            change={"FeedForward(D, hidden)": "FeedForward(D, hidden, gelu_tanh)"},
            says="the feed-forward layer has GELU's tanh approximation; its default, exact GELU, is asked for",
            gravity="idea",
        ),
        Mistake(
            "RMSNorm",
            change={"LayerNorm(D), LayerNorm(D)": "RMSNorm(D), RMSNorm(D)"},
            says="the norms are RMSNorms: LayerNorm is asked for",
            gravity="idea",
        ),
        Mistake(
            "attention without biases",
            change={"MultiHeadAttention(D, H)": "MultiHeadAttention(D, H, bias=False)"},
            says="the attention has no biases: a block's has",
            gravity="idea",
        ),
        Mistake(
            "post-LN for both",
            change={
                OUT: "out = dropout(f(x), self.p, self.training)",
                'return out if self.norm == "pre" else norm(out)': "return norm(out)",
            },
            says="this is post-LN in both cases: in pre-LN the branch reads the normalised x, and nothing is normalised after the sum",
            gravity="idea",
        ),
        Mistake(
            "pre-LN for both",
            change={' if self.norm == "pre" else x)': ")", 'return out if self.norm == "pre" else norm(out)': "return out"},
            says="`norm` is not used: this is pre-LN in both cases; in post-LN the norm comes after the sum",
            gravity="part",
        ),
        Mistake(
            "residual from the normalised x",
            change={OUT: 'x = norm(x) if self.norm == "pre" else x\n        out = dropout(f(x), self.p, self.training)'},
            says="the residual adds the normalised x: the stream itself must stay as it is",
            gravity="idea",
        ),
        Mistake(
            "norm1 twice",
            change={"self.ffn, self.norm2": "self.ffn, self.norm1"},
            says="the feed-forward branch uses norm1: it has its own norm, norm2",
            gravity="idea",
        ),
        Mistake(
            "norms exchanged",
            change={"self.norm1)\n": "self.norm2)\n", "self.ffn, self.norm2": "self.ffn, self.norm1"},
            says="norm1 and norm2 are exchanged",
            gravity="idea",
        ),
        Mistake(
            "both branches from the input",
            change={
                FORWARD: "a = self.branch(x, lambda z: self.attn(z, mask), self.norm1)\n        return a + self.branch(x, self.ffn, self.norm2) - x"
            },
            says="both branches read the block's input: the feed-forward layer comes after the attention",
            gravity="idea",
        ),
        Mistake(
            "feed-forward first",
            change={
                FORWARD: "x = self.branch(x, self.ffn, self.norm2)\n        return self.branch(x, lambda z: self.attn(z, mask), self.norm1)"
            },
            says="the feed-forward layer comes first: attention is the first branch",
            gravity="idea",
        ),
        Mistake(
            "second residual from the input",
            change={
                FORWARD: "y = self.branch(x, lambda z: self.attn(z, mask), self.norm1)\n        return self.branch(y, self.ffn, self.norm2) - y + x"
            },
            says="the second residual adds the block's input: it must add the stream after the attention",
            gravity="idea",
        ),
        Mistake(
            "norm of the branch",
            change={
                OUT: "out = dropout(norm(f(x)), self.p, self.training)",
                'return out if self.norm == "pre" else norm(out)': "return out",
            },
            says="the norm is applied to the branch's output: in pre-LN it is applied to its input",
            gravity="idea",
        ),
        Mistake(
            "no norms",
            change={OUT: "out = dropout(f(x), self.p, self.training)", 'return out if self.norm == "pre" else norm(out)': "return out"},
            says="the norms are missing",
            gravity="idea",
        ),
        Mistake("mask lost", change={"self.attn(z, mask)": "self.attn(z)"}, says="the mask does not reach the attention", gravity="part"),
        Mistake(
            "dropout in evaluation",
            change={"self.p, self.training": "self.p, True"},
            says="dropout also acts in evaluation: pass `self.training` on to it",
            gravity="part",
        ),
        Mistake(
            "no dropout",
            change={OUT: 'out = f(norm(x) if self.norm == "pre" else x)'},
            says="dropout is not applied in training",
            gravity="part",
        ),
        Mistake(
            "dropout on the stream",
            change={
                OUT: 'out = f(norm(x) if self.norm == "pre" else x)',
                "out = x + out if self.residual else out": "out = dropout(x + out if self.residual else out, self.p, self.training)",
            },
            says="dropout acts on the stream: it must act on the branch, before x is added",
            gravity="part",
        ),
        Mistake(
            "dropout twice",
            change={"out = x + out if": "out = x + dropout(out, self.p, self.training) if"},
            says="dropout is applied twice to each branch: once is enough",
            gravity="part",
        ),
        Mistake(
            "residual always",
            change={" if self.residual else out": ""},
            says="`residual` is not used: with residual=False, x is left out of the sum",
            gravity="part",
        ),
        Mistake(
            "no residual",
            change={"out = x + out if self.residual else out": "pass"},
            says="there is no residual connection",
            gravity="idea",
        ),
        Mistake(
            "another activation",
            change={"FeedForward(D, hidden)": "FeedForward(D, hidden, relu)"},
            says="the feed-forward layer has ReLU; its default, exact GELU, is asked for",
            gravity="idea",
        ),
        Mistake(
            "dropout in attn branch only",
            change={
                'out = dropout(f(norm(x) if self.norm == "pre" else x), self.p, self.training)': 'out = f(norm(x) if self.norm == "pre" else x)\n        out = dropout(out, self.p, self.training) if f is not self.ffn else out'
            },
            says="dropout acts on the attention branch only: it acts on both branches",
            gravity="part",
        ),
        Mistake(
            "causal always",
            change={"self.attn(z, mask)": "self.attn(z, torch.ones(z.shape[1], z.shape[1], dtype=torch.bool).tril())"},
            says="the block is causal without a mask: the mask is optional",
            gravity="idea",
        ),
        Mistake(
            "residual cut from the graph",
            change={"out = x + out if": "out = x.detach() + out if"},
            says="the residual stream is cut from the graph: gradients must flow along it",
            gravity="part",
        ),
        Mistake(
            "norm shared",
            change={"self.norm1, self.norm2 = LayerNorm(D), LayerNorm(D)": "self.norm1 = self.norm2 = LayerNorm(D)"},
            says="both branches share one norm: norm1 and norm2 are two modules",
            gravity="idea",
        ),
        Mistake("residual doubled", change={"out = x + out if": "out = 2 * x + out if"}, says="x is added twice", gravity="idea"),
        Mistake(
            "averaged residual",
            change={"out = x + out if": "out = (x + out) / 2 if"},
            says="the sum is halved: x + f(·) stays as it is",
            gravity="idea",
        ),
        Mistake(
            "only attention branch",
            change={"return self.branch(x, self.ffn, self.norm2)": "return x"},
            says="the feed-forward branch is missing",
            gravity="idea",
        ),
        Mistake(
            "only the feed-forward branch",
            change={"        x = self.branch(x, lambda z: self.attn(z, mask), self.norm1)\n": ""},
            says="the attention branch is missing",
            gravity="idea",
        ),
        Mistake(
            "final norm in pre",
            change={'return out if self.norm == "pre" else norm(out)': "return norm(out)"},
            says="in pre-LN the sum is normalised, too: the stream stays as it is",
            gravity="idea",
        ),
        Mistake(
            "pre norm in both",
            change={'f(norm(x) if self.norm == "pre" else x)': "f(norm(x))"},
            says="post-LN: the branch's input is normalised, too: only the sum is",
            gravity="part",
        ),
        Mistake(
            "dropout on the normed input",
            change={
                'dropout(f(norm(x) if self.norm == "pre" else x), self.p, self.training)': 'f(dropout(norm(x) if self.norm == "pre" else x, self.p, self.training))'
            },
            says="dropout acts on the branch's input: it acts on what the branch gives",
            gravity="part",
        ),
        Mistake(
            "no norms when residual false",
            change={"out = x + out if self.residual else out": "out = x + out if self.residual else x + 0 * out"},
            says="with residual=False the branch is left out: x is left out, and the branch stays",
            gravity="part",
        ),
        Mistake(
            "p fixed 0.1",
            change={"self.p, self.training)": "0.1 if self.p else 0.0, self.training)"},
            says="the probability of dropout is fixed: use p",
            gravity="part",
        ),
        Mistake(
            "H fixed",
            change={"MultiHeadAttention(D, H)": "MultiHeadAttention(D, 1)"},
            says="the attention has one head: pass H on",
            gravity="idea",
        ),
        Mistake(
            "mask in second call only when pre",
            change={"self.attn(z, mask)": 'self.attn(z, mask if self.norm == "post" else None)'},
            says="in pre-LN the mask does not reach the attention",
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
            "llama: no last norm",
            change={" + 2 * D) + D": " + 2 * D)"},
            says="llama_parameters: the last RMSNorm is missing",
            gravity="idea",
        ),
        Mistake(
            "attention without biases",
            change={"4 * (D * D + D)": "4 * D * D"},
            says="block_parameters: the biases of the attention are missing: four maps with D each",
            gravity="idea",
        ),
        Mistake(
            "feed-forward without biases",
            change={"D * hidden + hidden + hidden * D + D": "2 * D * hidden"},
            says="block_parameters: the biases of the feed-forward layer are missing",
            gravity="idea",
        ),
        Mistake(
            "norms without biases",
            change={"2 * (2 * D)": "2 * D"},
            says="block_parameters: a LayerNorm has a weight and a bias",
            gravity="idea",
        ),
        Mistake(
            "three projections",
            change={"4 * (D * D + D)": "3 * (D * D + D)"},
            says="block_parameters: the output projection of the attention is missing",
            gravity="idea",
        ),
        Mistake(
            "12 D² + 13 D",
            change={"return attention + feed_forward + 2 * (2 * D)": "return 12 * D * D + 13 * D"},
            says="block_parameters: you assume that hidden is 4 D",
            gravity="idea",
        ),
        Mistake(
            "output layer counted",
            change={"return V * D + T * D": "return 2 * V * D + T * D"},
            says="gpt2_parameters: the output layer is the token embedding: it is not counted twice",
            gravity="idea",
        ),
        Mistake(
            "no last norm",
            change={"block_parameters(D, 4 * D) + 2 * D": "block_parameters(D, 4 * D)"},
            says="gpt2_parameters: the last LayerNorm is missing",
            gravity="idea",
        ),
        Mistake("no positions", change={" + T * D": ""}, says="gpt2_parameters: the learned positions are missing", gravity="idea"),
        Mistake(
            "rounded down",
            change={"-(-8 * D // (3 * multiple)) * multiple": "8 * D // (3 * multiple) * multiple"},
            says="swiglu_hidden: round up, not down",
            gravity="idea",
        ),
        Mistake(
            "always one more",
            change={"-(-8 * D // (3 * multiple)) * multiple": "(8 * D // (3 * multiple) + 1) * multiple"},
            says="swiglu_hidden: round up only if it is not a multiple already",
            gravity="part",
        ),
        Mistake(
            "4 D kept",
            change={"-(-8 * D // (3 * multiple)) * multiple": "4 * D"},
            says="swiglu_hidden: the classical layer has two maps, SwiGLU three: 4D · 2/3",
            gravity="idea",
        ),
        Mistake(
            "tied LLaMA",
            change={"2 * V * D + L": "V * D + L"},
            says="llama_parameters: the output layer has its own weights",
            gravity="idea",
        ),
        Mistake("two maps", change={"3 * D * hidden": "2 * D * hidden"}, says="llama_parameters: SwiGLU has three maps", gravity="idea"),
        Mistake(
            "LayerNorms",
            change={"hidden + 2 * D) + D": "hidden + 4 * D) + 2 * D"},
            says="llama_parameters: an RMSNorm has no bias",
            gravity="idea",
        ),
        Mistake(
            "always twelve blocks",
            change={"L * block_parameters(D, 4 * D)": "12 * block_parameters(D, 4 * D)"},
            says="gpt2_parameters: the number of blocks is fixed: use L",
            gravity="idea",
        ),
        Mistake(
            "multiple ignored",
            change={"-(-8 * D // (3 * multiple)) * multiple": "-(-8 * D // 192) * 64"},
            says="swiglu_hidden: the argument `multiple` is not used",
            gravity="part",
        ),
        Mistake(
            "llama attention biases",
            change={"4 * D * D + 3": "4 * (D * D + D) + 3"},
            says="llama_parameters: the attention has no biases",
            gravity="idea",
        ),
        Mistake(
            "block: no output bias",
            change={"4 * (D * D + D)": "4 * D * D + 3 * D"},
            says="block_parameters: the output projection has a bias, too",
            gravity="idea",
        ),
        Mistake(
            "block: hidden both biases",
            change={"D * hidden + hidden + hidden * D + D": "D * hidden + hidden + hidden * D + hidden"},
            says="block_parameters: the second map's bias has D numbers, not `hidden`",
            gravity="idea",
        ),
        Mistake(
            "gpt2: hidden D",
            change={"block_parameters(D, 4 * D)": "block_parameters(D, D)"},
            says="gpt2_parameters: the inner width is 4 D",
            gravity="idea",
        ),
        Mistake(
            "gpt2: no last norm bias",
            change={"4 * D) + 2 * D": "4 * D) + D"},
            says="gpt2_parameters: the last LayerNorm has a weight and a bias",
            gravity="idea",
        ),
        Mistake(
            "swiglu: nearest",
            change={"-(-8 * D // (3 * multiple)) * multiple": "round(8 * D / 3 / multiple) * multiple"},
            says="swiglu_hidden: round up, not to the nearest multiple",
            gravity="idea",
        ),
        Mistake(
            "swiglu: int first",
            change={"-(-8 * D // (3 * multiple)) * multiple": "-(-(8 * D // 3) // multiple) * multiple"},
            says="swiglu_hidden: 8 D / 3 is rounded down before it is rounded up: keep the fraction",
            gravity="part",
        ),
        Mistake(
            "llama: one norm",
            change={"+ 2 * D) + D": "+ D) + D"},
            says="llama_parameters: there are two RMSNorms in each block",
            gravity="idea",
        ),
        Mistake(
            "llama: three projections",
            change={"L * (4 * D * D": "L * (3 * D * D"},
            says="llama_parameters: the attention has four maps",
            gravity="idea",
        ),
        Mistake(
            "llama: T positions",
            change={"2 * V * D + L": "2 * V * D + 2048 * D + L"},
            says="llama_parameters: no parameters belong to positions",
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
            "first parameter only",
            change={"block.parameters())) for": "list(block.parameters())[:1])) for"},
            says="only the first parameter of each block is counted: all of them belong to the length",
            gravity="idea",
        ),
        Mistake(
            "the last norm as a block",
            change={"for block in stack.blocks]": "for block in [*stack.blocks, stack.final]]"},
            says="the last norm is counted as a block: there is one number for each of `stack.blocks`",
            gravity="idea",
        ),
        Mistake(
            "sum of lengths",
            change={
                "math.sqrt(sum(p.grad.square().sum().item() for p in block.parameters()))": "sum(p.grad.norm().item() for p in block.parameters())"
            },
            says="the lengths of the parameters' gradients are added: take all as one vector, the root of the sum of squares",
            gravity="idea",
        ),
        Mistake("no root", change={"math.sqrt(sum(": "(sum("}, says="these are the squared lengths: the root is missing", gravity="idea"),
        Mistake(
            "gradients add up",
            change={"stack.zero_grad()": "pass"},
            says="gradients add up in `.grad` from call to call: use `zero_grad` first",
            gravity="part",
        ),
        Mistake(
            "reversed",
            change={"in stack.blocks]": "in list(stack.blocks)[::-1]]"},
            says="the order is reversed: first block first",
            gravity="idea",
        ),
        Mistake(
            "weights, not gradients",
            change={"p.grad.square()": "p.detach().square()"},
            says="these are the lengths of the weights, not of their gradients",
            gravity="idea",
        ),
        Mistake(
            "cotangent ignored",
            change={"(stack(x) * cotangent)": "stack(x)"},
            says="the cotangent is not used: the loss is the sum of output times cotangent",
            gravity="idea",
        ),
        Mistake(
            "root mean square",
            change={
                NORMS: "return [torch.cat([p.grad.flatten() for p in block.parameters()]).square().mean().sqrt().item() for block in stack.blocks]"
            },
            says="these are root mean squares: the length is the root of the sum",
            gravity="idea",
        ),
        Mistake(
            "one number",
            change={NORMS: "return math.sqrt(sum(p.grad.square().sum().item() for p in stack.parameters()))"},
            says="one number comes back: one for each block is asked for, as a list",
            gravity="idea",
        ),
        Mistake(
            "largest parameter only",
            change={
                "math.sqrt(sum(p.grad.square().sum().item() for p in block.parameters()))": "max(p.grad.norm().item() for p in block.parameters())"
            },
            says="this is the largest of the parameters' gradients: all of them belong to the length",
            gravity="idea",
        ),
        Mistake(
            "mean loss",
            change={".sum().backward()": ".mean().backward()"},
            says="the loss is a mean: it is the sum of output times cotangent",
            gravity="idea",
        ),
        Mistake(
            "matrices only",
            change={"in block.parameters())": "in block.parameters() if p.dim() > 1)"},
            says="only the matrices are counted: biases and norms are parameters, too",
            gravity="idea",
        ),
        Mistake(
            "tensors' mean norm",
            change={
                "math.sqrt(sum(p.grad.square().sum().item() for p in block.parameters()))": "sum(p.grad.norm().item() for p in block.parameters()) / len(list(block.parameters()))"
            },
            says="the lengths of the parameters' gradients are averaged: take all as one vector",
            gravity="idea",
        ),
        Mistake(
            "all blocks together",
            change={
                "return [math.sqrt(sum(p.grad.square().sum().item() for p in block.parameters())) for block in stack.blocks]": "total = math.sqrt(sum(p.grad.square().sum().item() for p in stack.blocks.parameters()))\n    return [total] * len(stack.blocks)"
            },
            says="the length of all blocks' gradients together is given for each: one length for each block",
            gravity="idea",
        ),
        Mistake(
            "cumulative",
            change={"for block in stack.blocks]": "for block in stack.blocks][:1] * len(stack.blocks)"},
            says="the first block's length is given for every block",
            gravity="idea",
        ),
        Mistake(
            "loss of squares",
            change={"(stack(x) * cotangent).sum()": "(stack(x) * cotangent).square().sum()"},
            says="the loss is a sum of squares: it is the sum of output times cotangent",
            gravity="idea",
        ),
        Mistake(
            "loss of the difference",
            change={"(stack(x) * cotangent).sum()": "((stack(x) - cotangent).square().sum() / 2)"},
            says="the loss is a squared difference: it is the sum of output times cotangent",
            gravity="idea",
        ),
        Mistake(
            "abs of cotangent",
            change={"(stack(x) * cotangent)": "(stack(x) * cotangent.abs())"},
            says="the sign of the cotangent is lost",
            gravity="idea",
        ),
        Mistake(
            "final block too",
            change={"for block in stack.blocks]": "for block in stack.children()]"},
            says="one number is given for each child of the stack: one for each of `stack.blocks` is asked for",
            gravity="idea",
        ),
        Mistake(
            "only weight, 1-d skipped",
            change={"for p in block.parameters()": "for p in block.parameters() if p.dim() > 1 or p.numel() == 1"},
            says="only the matrices are counted: biases and norms are parameters, too",
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
            "upside down",
            change={
                "own_part.square().sum(dim=(-2, -1)).sqrt() / x.square().sum(dim=(-2, -1)).sqrt()": "x.square().sum(dim=(-2, -1)).sqrt() / own_part.square().sum(dim=(-2, -1)).sqrt()"
            },
            says="the share is upside down: what is not common is divided by the whole",
            gravity="idea",
        ),
        Mistake(
            "largest singular value",
            change={
                "own_part.square().sum(dim=(-2, -1)).sqrt() / x.square().sum(dim=(-2, -1)).sqrt()": "torch.linalg.matrix_norm(own_part, 2) / torch.linalg.matrix_norm(x, 2)"
            },
            says="these are spectral norms: the root of the sum of all squares is asked for",
            gravity="idea",
        ),
        Mistake(
            "divided by what is common",
            change={"x.square().sum(dim=(-2, -1)).sqrt()": "(x - own_part).square().sum(dim=(-2, -1)).sqrt()"},
            says="it is divided by the common part: divide by the whole",
            gravity="idea",
        ),
        Mistake(
            "standard deviation",
            change={
                "own_part.square().sum(dim=(-2, -1)).sqrt() / x.square().sum(dim=(-2, -1)).sqrt()": "x.std(dim=-2).norm(dim=-1) / x.square().mean(-2).sum(-1).sqrt()"
            },
            says="the squared distances are divided by T − 1 and the squared lengths by T: both are sums",
            gravity="idea",
        ),
        Mistake(
            "squared",
            change={".sum(dim=(-2, -1)).sqrt()": ".sum(dim=(-2, -1))"},
            says="this is the square: the root is missing",
            gravity="idea",
        ),
        Mistake(
            "mean over the features",
            change={"x.mean(dim=-2": "x.mean(dim=-1"},
            says="the mean runs over the features: it runs over the positions",
            gravity="idea",
        ),
        Mistake(
            "mean over everything but the features",
            change={"x.mean(dim=-2, keepdim=True)": "x.flatten(0, -2).mean(0)"},
            says="the mean runs over other sequences, too: each sequence has its own",
            gravity="part",
        ),
        Mistake(
            "common share",
            change={"x - x.mean(dim=-2, keepdim=True)": "x.mean(dim=-2, keepdim=True).expand_as(x)"},
            says="this is the common share: use the part that is not common",
            gravity="idea",
        ),
        Mistake(
            "lengths added",
            change={
                "own_part.square().sum(dim=(-2, -1)).sqrt() / x.square().sum(dim=(-2, -1)).sqrt()": "own_part.norm(dim=-1).sum(-1) / x.norm(dim=-1).sum(-1)"
            },
            says="lengths are added; squares of lengths belong under one root",
            gravity="idea",
        ),
        Mistake(
            "not divided",
            change={" / x.square().sum(dim=(-2, -1)).sqrt()": ""},
            says="it is not divided by the length of x",
            gravity="idea",
        ),
        Mistake(
            "one number for all",
            change={"(dim=(-2, -1))": "()"},
            says="one number comes back for all sequences: with axes in front there is one for each",
            gravity="part",
        ),
        Mistake(
            "shares averaged",
            change={
                "own_part.square().sum(dim=(-2, -1)).sqrt() / x.square().sum(dim=(-2, -1)).sqrt()": "(own_part.norm(dim=-1) / x.norm(dim=-1)).mean(-1)"
            },
            says="the shares of the positions are averaged: add up squares over all positions first",
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
            says="the mean runs over the first axis: it runs over the positions, the last axis but one",
            gravity="part",
        ),
        Mistake(
            "divided by T",
            change={"/ x.square().sum(dim=(-2, -1)).sqrt()": "/ x.shape[-2]"},
            says="the length is divided by T: divide it by the length of x",
            gravity="idea",
        ),
        Mistake(
            "std",
            change={
                "own_part.square().sum(dim=(-2, -1)).sqrt() / x.square().sum(dim=(-2, -1)).sqrt()": "x.std(dim=(-2, -1)) / x.square().mean(dim=(-2, -1)).sqrt()"
            },
            says="one mean is taken over all entries: each feature has its own mean over the positions",
            gravity="idea",
        ),
        Mistake(
            "first vector subtracted",
            change={"x - x.mean(dim=-2, keepdim=True)": "x - x[..., :1, :]"},
            says="the first position is subtracted: subtract the mean of all positions",
            gravity="idea",
        ),
        Mistake(
            "neighbours",
            change={"x - x.mean(dim=-2, keepdim=True)": "x - x.roll(1, -2)"},
            says="neighbours are subtracted: subtract the mean of all positions",
            gravity="idea",
        ),
        Mistake("one minus", change={"return own_part": "return 1 - own_part"}, says="this is one minus the share", gravity="idea"),
        Mistake(
            "max",
            change={".square().sum(dim=(-2, -1)).sqrt() / x": ".abs().amax(dim=(-2, -1)) / x"},
            says="the largest entry is taken: add up the squares of all",
            gravity="idea",
        ),
        Mistake(
            "absolute values",
            change={
                "own_part.square().sum(dim=(-2, -1)).sqrt() / x.square().sum(dim=(-2, -1)).sqrt()": "own_part.abs().sum(dim=(-2, -1)) / x.abs().sum(dim=(-2, -1))"
            },
            says="absolute values are added: squares belong under one root",
            gravity="idea",
        ),
        Mistake(
            "clamped at ε",
            change={"x.square().sum(dim=(-2, -1)).sqrt()\n": "(x.square().sum(dim=(-2, -1)).sqrt() + 1e-1)\n"},
            says="a number is added to the divisor: divide by the length of x alone",
            gravity="idea",
        ),
        Mistake(
            "batch-averaged",
            change={
                "return own_part": "return torch.ones_like(x[..., 0, 0]) * (own_part",
                "x.square().sum(dim=(-2, -1)).sqrt()\n": "x.square().sum(dim=(-2, -1)).sqrt()).mean()\n",
            },
            says="the shares of all sequences are averaged: each sequence has its own",
            gravity="part",
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
            "γ and one more",
            change={"W * gamma": "W * (1 + gamma)"},
            says="fold_norm: W is multiplied by 1 + γ: multiply by γ itself",
            gravity="idea",
        ),
        Mistake(
            "γ forgotten",
            change={"return W * gamma, b + W @ beta": "return W, b + W @ beta"},
            says="fold_norm: γ is not folded into W",
            gravity="idea",
        ),
        Mistake("β forgotten", change={"b + W @ beta": "b"}, says="fold_norm: β is not folded into b", gravity="idea"),
        Mistake(
            "γ acts on β",
            change={"b + W @ beta": "b + W @ (gamma * beta)"},
            says="fold_norm: β goes through W before it is added to b; γ does not act on it",
            gravity="idea",
        ),
        Mistake("old bias lost", change={"b + W @ beta": "W @ beta"}, says="fold_norm: the old bias b is lost", gravity="idea"),
        Mistake("b not centred", change={"b - b.mean()": "b"}, says="centre_writer: b is not centred", gravity="idea"),
        Mistake("W not centred", change={"W - W.mean(dim=0, keepdim=True)": "W"}, says="centre_writer: W is not centred", gravity="idea"),
        Mistake(
            "rows centred",
            change={"mean(dim=0, keepdim=True)": "mean(dim=1, keepdim=True)"},
            says="centre_writer: the mean over the inputs (the rows of W) is removed: it must be the mean over the D outputs",
            gravity="idea",
        ),
        Mistake(
            "one mean for all of W",
            change={"W.mean(dim=0, keepdim=True)": "W.mean()"},
            says="centre_writer: one mean over all of W is removed: each column has its own",
            gravity="idea",
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
            says="fold_norm: γ multiplies the rows of W; it belongs to the columns, the inputs",
            gravity="idea",
        ),
        Mistake(
            "fold_norm in place",
            change={"return W * gamma, b + W @ beta": "b += W @ beta\n    return W * gamma, b"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Mistake(
            "γ divides", change={"W * gamma": "W / gamma"}, says="fold_norm: γ divides the columns of W: it multiplies them", gravity="idea"
        ),
        Mistake("β times gamma sum", change={"b + W @ beta": "b + beta.sum()"}, says="fold_norm: β does not go through W", gravity="idea"),
        Mistake("β subtracted", change={"b + W @ beta": "b - W @ beta"}, says="fold_norm: β's part is subtracted: add it", gravity="idea"),
        Mistake(
            "centre: normalised too",
            change={"W - W.mean(dim=0, keepdim=True)": "(W - W.mean(dim=0, keepdim=True)) / W.std(dim=0, keepdim=True)"},
            says="centre_writer: the columns are scaled, too: only the mean may go",
            gravity="idea",
        ),
        Mistake(
            "centre: sum for mean",
            change={"W.mean(dim=0, keepdim=True), b - b.mean()": "W.sum(dim=0, keepdim=True), b - b.sum()"},
            says="centre_writer: sums are subtracted: subtract means",
            gravity="idea",
        ),
        Mistake(
            "centre: median",
            change={"b - b.mean()": "b - b.median()"},
            says="centre_writer: the median of b is subtracted: subtract its mean",
            gravity="idea",
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
