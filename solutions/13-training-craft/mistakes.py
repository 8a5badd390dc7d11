"""Wrong answers that the tests of 13-training-craft must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

IN_PLACE = "your code changes its input in place"

# Each optimiser's cell also holds a small function for the test: the frame around a step that is written out anew.
FRAME = """
class {name}(torch.optim.Optimizer):
    def __init__(self, params, {signature}):
        super().__init__(params, dict({defaults}))

    def step(self, closure=None):
        loss = None if closure is None else closure()
        with torch.no_grad():
{body}
        return loss


def follow_{lower}(start, gradients, rates, restart=None, **options):
    return craft.follow({name}, start, gradients, rates, restart, **options)
"""
ADAM = "lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay={decay}"


def optimiser(name: str, body: str) -> str:
    signature = "lr, momentum=0.0, weight_decay=0.0" if name == "SGD" else ADAM.format(decay="0.0" if name == "Adam" else "0.01")
    defaults = ", ".join(
        f"{part.split('=')[0]}={part.split('=')[0]}"
        for part in ("lr momentum weight_decay" if name == "SGD" else "lr betas eps weight_decay").split()
    )
    indented = "\n".join(" " * 12 + line if line else line for line in body.strip("\n").split("\n"))
    return FRAME.format(name=name, signature=signature, defaults=defaults, body=indented, lower=name.lower())


OUTSIDE_STATE = """
if not hasattr(self, "memory"):
    self.memory = {}
for group in self.param_groups:
    b1, b2 = group["betas"]
    for p in group["params"]:
        if p.grad is None:
            continue
        m, v, t = self.memory.get(p, (0, 0, 0))
        g = p.grad + group["weight_decay"] * p * COUPLED
        t, m, v = t + 1, b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        self.memory[p] = m, v, t
        p.mul_(1 - group["lr"] * group["weight_decay"] * (1 - COUPLED))
        p.sub_(group["lr"] * m / (1 - b1**t) / ((v / (1 - b2**t)).sqrt() + group["eps"]))
"""
TORCH_STYLE = """
for group in self.param_groups:
    b1, b2 = group["betas"]
    lr = group["lr"]
    for p in (q for q in group["params"] if q.grad is not None):
        state = self.state[p]
        if len(state) == 0:
            state["step"] = torch.zeros(())
            state["exp_avg"] = torch.zeros_like(p)
            state["exp_avg_sq"] = torch.zeros_like(p)
        state["step"] += 1
        step = state["step"].item()
        g = p.grad
        DECAY
        state["exp_avg"].lerp_(g, 1 - b1)
        state["exp_avg_sq"].mul_(b2).addcmul_(g, g, value=1 - b2)
        bottom = state["exp_avg_sq"].sqrt() / math.sqrt(1 - b2**step) + group["eps"]
        p.addcdiv_(state["exp_avg"], bottom, value=-lr / (1 - b1**step))
"""
GLOBAL_COUNT = """
self.t = getattr(self, "t", 0) + 1
for group in self.param_groups:
    b1, b2 = group["betas"]
    for p in group["params"]:
        if p.grad is None:
            continue
        state, t = self.state[p], self.t
        g = p.grad + group["weight_decay"] * p
        m = state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
        v = state["v"] = b2 * state.get("v", 0) + (1 - b2) * g * g
        p.sub_(group["lr"] * m / (1 - b1**t) / ((v / (1 - b2**t)).sqrt() + group["eps"]))
"""

INTERRUPTED = """
def interrupted(before, after, number=0):
    run = craft.SmallRun(number)
    losses = [run.advance() for _ in range(before)]
    checkpoint = craft.to_bytes(snapshot(run))
    other = craft.SmallRun(number + 1)
    other.advance()
    restore(other, craft.from_bytes(checkpoint))
    losses += [other.advance() for _ in range(after)]
    return {"losses": losses, "weights": other.weights(), "step": other.step, "rate": other.optimiser.param_groups[0]["lr"]}
"""
ROLLED = """
def rolled_back(steps, every, poison, number=0, patience=5):
    run = craft.SmallRun(number, poison=poison)
    losses, undone = train_with_rollback(run, steps, every, patience)
    return {"losses": losses, "undone": undone, "weights": run.weights(), "step": run.step}
"""

VARIANTS = {
    "sgd": [
        Mistake(
            "one velocity for equal shapes",
            change={"self.state[p]": "self.state[str(p.shape)]"},
            says="two parameters of the same shape share a velocity: keep it in self.state[p]",
            gravity="idea",
        ),
        Mistake(
            "damped start",
            change={
                'group["momentum"] * self.state[p].get("v", 0) + d': '(group["momentum"] * self.state[p]["v"] + d) if "v" in self.state[p] else (1 - group["momentum"]) * d'
            },
            says="the first velocity is damped by 1 − μ: with v₀ = 0 it is the whole gradient",
            gravity="idea",
        ),
        Mistake(
            "last step's velocity",
            change={
                'p.sub_(group["lr"] * v)': 'p.sub_(group["lr"] * self.state[p].get("o", 0 * v))\n                        self.state[p]["o"] = v'
            },
            says="the parameter moves by the velocity of the step before: update the velocity first, then move",
            gravity="idea",
        ),
        Mistake(
            "momentum ignored",
            change={'group["momentum"]': "0.9"},
            says="the momentum is always 0.9: read group['momentum']",
            gravity="idea",
        ),
        Mistake(
            "stops at a missing gradient",
            change={"if p.grad is not None:": "if p.grad is None:\n                        break\n                    else:"},
            says="after a parameter without a gradient all others of the group are skipped",
            gravity="part",
        ),
        Mistake(
            "the first group only",
            change={"for group in self.param_groups:": "for group in self.param_groups[:1]:"},
            says="only the first group takes a step: go through all of self.param_groups",
            gravity="part",
        ),
        Mistake(
            "decay after the step",
            change={
                'd = p.grad + group["weight_decay"] * p': "d = p.grad",
                'p.sub_(group["lr"] * v)': 'p.sub_(group["lr"] * v)\n                        p.sub_(group["lr"] * group["weight_decay"] * p)',
            },
            says="the weight decay acts on the parameter after the step: λθ is added to the gradient, before the velocity",
            gravity="part",
        ),
        Mistake("in float32", change={"p.grad + ": "p.grad.float() + "}, hint="with float64 parameters digits are lost", gravity="edge"),
        Mistake(
            "uphill",
            change={"p.sub_(": "p.add_("},
            says="the parameter moves along the gradient: it must go down, −η times the velocity",
            gravity="idea",
        ),
        Mistake("a new name", change={'p.sub_(group["lr"] * v)': 'p = p - group["lr"] * v'}, hint="only binds a new name", gravity="idea"),
        Mistake(
            "no momentum",
            change={'self.state[p].get("v", 0)': "0"},
            says="there is no momentum: the velocity has to be remembered in self.state[p]",
            gravity="idea",
        ),
        Mistake(
            "velocity as a mean",
            change={"+ d\n": '+ (1 - group["momentum"]) * d\n'},
            says="the gradient is added with weight 1 − μ: add all of it to the velocity",
            gravity="idea",
        ),
        Mistake(
            "Nesterov",
            change={'group["lr"] * v)': 'group["lr"] * (d + group["momentum"] * v))'},
            says="this is Nesterov's variant, which looks one step ahead: the plain velocity moves the parameter",
            gravity="idea",
        ),
        Mistake(
            "decay with the wrong sign",
            change={"p.grad + ": "p.grad - "},
            says="weight decay pulls towards zero: λθ is added to the gradient, not subtracted",
            gravity="part",
        ),
        Mistake(
            "no decay",
            change={'p.grad + group["weight_decay"] * p': "p.grad"},
            says="the weight decay is missing: λθ is part of the gradient",
            gravity="part",
        ),
        Mistake(
            "the velocity fades without a gradient",
            change={
                "if p.grad is not None:": "if p.grad is None and 'v' in self.state[p]:\n                        self.state[p]['v'] = group['momentum'] * self.state[p]['v']\n                    if p.grad is not None:"
            },
            says="the velocity fades in steps in which the parameter has no gradient: then it stays as it is",
            gravity="part",
        ),
        Mistake(
            "decay past the velocity",
            change={
                'd = p.grad + group["weight_decay"] * p': 'd = p.grad\n                        p.mul_(1 - group["lr"] * group["weight_decay"])'
            },
            says="the weight decay does not enter the velocity: λθ is added to the gradient first, and the velocity keeps it",
            gravity="part",
        ),
        Mistake(
            "rate inside the velocity",
            change={"+ d\n": '+ group["lr"] * d\n', 'group["lr"] * v)': "v)"},
            says="η is inside the velocity, so an old rate lives on in later steps: keep η out of it",
            gravity="part",
        ),
        Mistake(
            "options from the start",
            change={'group["lr"]': 'self.defaults["lr"]'},
            says="the rate of the first step is used throughout: read group['lr'] in every step",
            gravity="part",
        ),
        Mistake(
            "one decay for all",
            change={'group["weight_decay"]': 'self.defaults["weight_decay"]'},
            says="all groups get the same weight decay: read it from the group",
            gravity="part",
        ),
        Mistake(
            "no gradient, no mercy",
            change={"if p.grad is not None:": "if True:"},
            says="a parameter without a gradient (None) raises an error: leave it alone",
            gravity="part",
        ),
        Mistake(
            "missing gradients as zeros",
            change={"if p.grad is not None:": "if True:", "d = p.grad +": "d = (torch.zeros_like(p) if p.grad is None else p.grad) +"},
            says="a missing gradient is taken for zero: a parameter without a gradient (None) stays as it is",
            gravity="part",
        ),
        Mistake(
            "velocity outside the state",
            change={
                'self.state[p].get("v", 0)': "self.__dict__.setdefault('memory', {}).get(p, 0)",
                'self.state[p]["v"] = v': "self.memory[p] = v",
            },
            hint="keep the velocity in self.state[p], and nowhere else",
            gravity="part",
        ),
        Mistake(
            "the gradient changed",
            change={"d = p.grad + ": "d = p.grad.add_(", " * p\n": " * p)\n"},
            hint="the step has changed a gradient",
            gravity="edge",
        ),
        Mistake(
            "velocity squared",
            change={'v = group["momentum"] *': 'v = group["momentum"] ** 2 *'},
            says="the velocity fades with μ²: it fades with μ",
            gravity="idea",
        ),
        Mistake(
            "1 − μ for μ",
            change={'v = group["momentum"] *': 'v = (1 - group["momentum"]) *'},
            says="the velocity fades with 1 − μ: it fades with μ",
            gravity="idea",
        ),
        Mistake(
            "gradient times μ",
            change={'self.state[p].get("v", 0) + d': '(self.state[p].get("v", 0) + d)'},
            says="the new gradient is multiplied by μ, too: v = μ v + d",
            gravity="idea",
        ),
        Mistake(
            "velocity added up",
            change={'v = group["momentum"] * self': "v = self"},
            says="μ is not used: old velocities stay as they are",
            gravity="idea",
        ),
        Mistake(
            "both",
            change={'p.sub_(group["lr"] * v)': 'p.sub_(group["lr"] * (v + d))'},
            says="gradient and velocity both move the parameter: the velocity holds the gradient already",
            gravity="idea",
        ),
        Mistake(
            "normalised",
            change={'p.sub_(group["lr"] * v)': 'p.sub_(group["lr"] * v / (v.norm() + 1e-12))'},
            says="the step is divided by the velocity's norm: it is η v",
            gravity="idea",
        ),
        Mistake(
            "sign of the step only",
            change={'p.sub_(group["lr"] * v)': 'p.sub_(group["lr"] * v.sign())'},
            says="only the velocity's sign moves the parameter: it is η v",
            gravity="idea",
        ),
        Mistake(
            "last parameter only",
            change={'                        p.sub_(group["lr"] * v)': '                p.sub_(group["lr"] * v)'},
            says="only the last parameter of a group moves: the update belongs into the inner loop",
            gravity="idea",
        ),
        Mistake(
            "decay past the rate",
            change={
                'p.sub_(group["lr"] * v)': 'p.sub_(group["lr"] * v)\n                        p.sub_(0 * p)',
                'p.grad + group["weight_decay"] * p': 'p.grad + group["weight_decay"]',
            },
            says="λ itself is added to the gradient: add λθ",
            gravity="part",
        ),
        Mistake(
            "decay of the sign",
            change={'group["weight_decay"] * p\n': 'group["weight_decay"] * p.sign()\n'},
            says="λ times the sign of θ is added: add λθ",
            gravity="part",
        ),
        Mistake(
            "decay squared",
            change={'group["weight_decay"] * p\n': 'group["weight_decay"] ** 2 * p\n'},
            says="λ² θ is added: add λθ",
            gravity="part",
        ),
        Mistake(
            "decay halved",
            change={'group["weight_decay"] * p\n': 'group["weight_decay"] / 2 * p\n'},
            says="λθ/2 is added: add λθ",
            gravity="part",
        ),
        Mistake(
            "decay times the rate",
            change={'group["weight_decay"] * p\n': 'group["lr"] * group["weight_decay"] * p\n'},
            says="ηλθ is added to the gradient: add λθ, and the rate comes later",
            gravity="part",
        ),
        Mistake(
            "velocity kept without decay",
            change={'self.state[p]["v"] = v': 'self.state[p]["v"] = v - group["weight_decay"] * p'},
            says="the weight decay does not enter the velocity: λθ is added to the gradient first, and the velocity keeps it",
            gravity="part",
        ),
        Mistake(
            "velocity kept by place",
            change={
                'self.state[p].get("v", 0)': 'self.__dict__.setdefault("vs", {}).get(id(p), 0)',
                'self.state[p]["v"] = v': "self.vs[id(p)] = v",
            },
            hint="keep the velocity in self.state[p], and nowhere else",
            gravity="part",
        ),
        Mistake(
            "rate of the first group",
            change={'p.sub_(group["lr"] * v)': 'p.sub_(self.defaults["lr"] * v)'},
            says="the rate of the first step is used throughout: read group['lr'] in every step",
            gravity="part",
        ),
        Mistake(
            "warmed up",
            change={
                'p.sub_(group["lr"] * v)': 't = self.state[p]["t"] = self.state[p].get("t", 0) + 1\n                        p.sub_(group["lr"] * v * min(1.0, t / 10))'
            },
            says="the first steps are made smaller: every step is η v",
            gravity="idea",
        ),
        Mistake(
            "corrected",
            change={
                'p.sub_(group["lr"] * v)': 't = self.state[p]["t"] = self.state[p].get("t", 0) + 1\n                        p.sub_(group["lr"] * v / (1 - group["momentum"] ** t))'
            },
            says="the velocity is divided by 1 − μᵗ, as Adam does: the step is η v",
            gravity="idea",
        ),
        Mistake(
            "decay twice",
            change={'group["weight_decay"] * p\n': '2 * group["weight_decay"] * p\n'},
            says="2λθ is added to the gradient: add λθ",
            gravity="part",
        ),
        Mistake(
            "rate squared",
            change={'p.sub_(group["lr"] * v)': 'p.sub_(group["lr"] * group["lr"] * v)'},
            says="the velocity is multiplied by η twice: once is enough",
            gravity="idea",
        ),
        Right(
            "torch's way",
            code=optimiser(
                "SGD",
                """
for group in self.param_groups:
    for p in group["params"]:
        if p.grad is None:
            continue
        d = p.grad.add(p, alpha=group["weight_decay"])
        if "buffer" not in self.state[p]:
            self.state[p]["buffer"] = d.clone()
        else:
            self.state[p]["buffer"].mul_(group["momentum"]).add_(d)
        p.add_(self.state[p]["buffer"], alpha=-group["lr"])
""",
            ),
        ),
        Right("copy_", change={'p.sub_(group["lr"] * v)': 'p.copy_(p - v * group["lr"])'}),
        Right("by .data", change={'p.sub_(group["lr"] * v)': 'p.data = p.data - group["lr"] * v'}),
    ],
    "first-step": [
        Mistake(
            "in float32",
            change={"b1, b2 = betas": "b1, b2 = betas\n    g = g.float()"},
            says="digits are lost: a float64 gradient has a float64 step, so keep the dtype of g",
            gravity="edge",
        ),
        Mistake(
            "betas ignored",
            change={"b1, b2 = betas": "b1, b2 = 0.9, 0.999"},
            says="the argument `betas` is not used: the factors are always those of 0.9 and 0.999",
            gravity="part",
        ),
        Mistake(
            "betas swapped",
            change={"b1, b2 = betas": "b2, b1 = betas"},
            says="the betas are swapped: β₁ belongs to m, β₂ to v",
            gravity="part",
        ),
        Mistake(
            "epsilon inside the factor",
            change={"(1 - b2) ** 0.5 * g.abs() + eps": "(1 - b2) ** 0.5 * (g.abs() + eps)"},
            says="ε is multiplied by the factor of the root: without the correction it is added to √v₁ as it is",
            gravity="edge",
        ),
        Mistake(
            "the norm for the size",
            change={"g.abs()": "g.norm()"},
            says="you divide by the norm of the whole gradient: Adam works element by element, √v̂ = |g| for each entry",
            gravity="idea",
        ),
        Mistake(
            "the flag inverted",
            change={"if corrected": "if not corrected"},
            says="the two cases are exchanged: `corrected=True` is the one with the hats",
            gravity="idea",
        ),
        Mistake(
            "rate ignored",
            change={"lr * g / (g.abs() + eps)": "1e-1 * g / (g.abs() + eps)"},
            says="the argument `lr` is not used in the corrected step",
            gravity="idea",
        ),
        Mistake(
            "sign",
            change={"return lr * g /": "return -lr * g /"},
            says="the sign is wrong: return what is subtracted, which has the gradient's sign",
            gravity="idea",
        ),
        Mistake(
            "m not corrected",
            change={"return lr * g /": "return lr * (1 - b1) * g /"},
            says="the mean's correction is missing: m̂ = g in the first step",
            gravity="idea",
        ),
        Mistake(
            "no division",
            change={"    if corrected:\n        return lr * g / (g.abs() + eps)": "    if corrected:\n        return lr * g"},
            says="the step is proportional to the gradient: v̂ = g², so √v̂ = |g| cancels it",
            gravity="idea",
        ),
        Mistake(
            "always corrected",
            change={"if corrected": "if True"},
            says="the correction is still there: with corrected=False use m₁ and v₁ themselves",
            gravity="part",
        ),
        Mistake(
            "no root", change={"(1 - b2) ** 0.5": "(1 - b2)"}, says="the root of 1 − β₂ is needed: v is a mean of squares", gravity="part"
        ),
        Mistake(
            "betas for their complements",
            change={"(1 - b1)": "b1", "(1 - b2) ** 0.5": "b2**0.5"},
            says="m₁ = (1 − β₁) g, and v₁ = (1 − β₂) g²: you used β₁ and β₂ instead",
            gravity="part",
        ),
        Mistake(
            "no epsilon",
            change={"(g.abs() + eps)": "g.abs().clamp(min=1e-300)"},
            says="ε is missing: it is added to the root",
            gravity="edge",
        ),
        Mistake(
            "epsilon under the root",
            change={"(g.abs() + eps)": "(g * g + eps).sqrt()"},
            says="ε is added under the root: add it outside",
            gravity="edge",
        ),
        Mistake(
            "epsilon before the correction",
            change={"lr * g / (g.abs() + eps)": "lr * g * (1 - b2) ** 0.5 / ((1 - b2) ** 0.5 * g.abs() + eps)"},
            says="ε is added before the correction of v: √v̂ first, then ε",
            gravity="edge",
        ),
        Mistake(
            "half the rate",
            change={"return lr * g / (g.abs()": "return lr / 2 * g / (g.abs()"},
            says="the corrected step is η/2: it has the size η",
            gravity="idea",
        ),
        Mistake(
            "sign alone",
            change={"return lr * g / (g.abs() + eps)": "return lr * torch.ones_like(g)"},
            says="the sign of the gradient is lost: m̂/√v̂ = g/|g|",
            gravity="idea",
        ),
        Mistake(
            "without the rate",
            change={"return lr * g / (g.abs() + eps)": "return g / (g.abs() + eps)"},
            says="the argument `lr` is not used in the corrected step",
            gravity="idea",
        ),
        Mistake(
            "v for its root",
            change={"(g.abs() + eps)": "(g * g + eps)"},
            says="you divide by v̂: divide by its root, |g|",
            gravity="idea",
        ),
        Mistake(
            "numerator β₁",
            change={"lr * (1 - b1) * g /": "lr * b1 * g /"},
            says="without the correction m₁ is (1 − β₁) g, not β₁ g",
            gravity="part",
        ),
        Mistake(
            "denominator β₂",
            change={"(1 - b2) ** 0.5": "b2 ** 0.5"},
            says="without the correction v₁ is (1 − β₂) g², not β₂ g²",
            gravity="part",
        ),
        Mistake(
            "only m",
            change={"((1 - b2) ** 0.5 * g.abs() + eps)": "(g.abs() + eps)"},
            says="without the correction v₁ = (1 − β₂) g²: its factor is missing",
            gravity="part",
        ),
        Mistake(
            "only v",
            change={"lr * (1 - b1) * g /": "lr * g /"},
            says="without the correction m₁ = (1 − β₁) g: its factor is missing",
            gravity="part",
        ),
        Mistake(
            "inverse",
            change={
                "return lr * (1 - b1) * g / ((1 - b2) ** 0.5 * g.abs() + eps)": "return lr * (1 - b2) ** 0.5 * g / ((1 - b1) * g.abs() + eps)"
            },
            says="without the correction the factor is upside down: (1 − β₁)/√(1 − β₂)",
            gravity="part",
        ),
        Mistake(
            "corrected only for m",
            change={
                "return lr * (1 - b1) * g / ((1 - b2) ** 0.5 * g.abs() + eps)": "return -lr * (1 - b1) * g / ((1 - b2) ** 0.5 * g.abs() + eps)"
            },
            says="without the correction the sign is wrong: return what is subtracted",
            gravity="part",
        ),
        Mistake(
            "without the rate, uncorrected",
            change={"return lr * (1 - b1)": "return (1 - b1)"},
            says="the argument `lr` is not used without the correction",
            gravity="part",
        ),
        Mistake(
            "ε fixed",
            change={"eps=1e-8, corrected=True):\n": "eps=1e-8, corrected=True):\n    eps = 1e-8\n"},
            says="the argument `eps` is not used",
            gravity="edge",
        ),
        Mistake(
            "ε subtracted",
            change={"(g.abs() + eps)": "(g.abs() - eps)"},
            says="ε is subtracted: it is added to the root",
            gravity="edge",
        ),
        Right(
            "by running the formulas",
            code="""
def first_adam_step(g, lr, betas=(0.9, 0.999), eps=1e-8, corrected=True):
    m, v = (1 - betas[0]) * g, (1 - betas[1]) * g**2
    if corrected:
        m, v = m / (1 - betas[0]), v / (1 - betas[1])
    return lr * m / (torch.sqrt(v) + eps)
""",
        ),
        Right(
            "torch's own Adam",
            code="""
def first_adam_step(g, lr, betas=(0.9, 0.999), eps=1e-8, corrected=True):
    if not corrected:
        return lr * (1 - betas[0]) * g.numpy() / (np.sqrt(1 - betas[1]) * np.abs(g.numpy()) + eps)
    p = nn.Parameter(torch.zeros_like(g))
    p.grad = g.clone()
    torch.optim.Adam([p], lr=lr, betas=betas, eps=eps).step()
    return -p.detach()
""",
        ),
    ],
    "adam": [
        Mistake(
            "one state for equal shapes",
            change={"state = self.state[p]": "state = self.state[str(p.shape)]"},
            says="two parameters of the same shape share their running means: keep them in self.state[p]",
            gravity="idea",
        ),
        Mistake(
            "one beta for both",
            change={"b2 * state": "b1 * state", "(1 - b2) * g": "(1 - b1) * g", "b2**t": "b1**t"},
            says="v uses β₁ as m does: its running mean has β₂",
            gravity="idea",
        ),
        Mistake(
            "correction kept in the state",
            change={"root = (v / (1 - b2**t)).sqrt()": 'v = state["v"] = v / (1 - b2**t)\n                    root = v.sqrt()'},
            says="the corrected v̂ is kept in the state: keep v itself, and correct it only for this step",
            gravity="idea",
        ),
        Mistake(
            "AMSGrad",
            change={
                "root = (v / (1 - b2**t)).sqrt()": 'x = state["x"] = torch.maximum(state.get("x", torch.zeros_like(v)), v)\n                    root = (x / (1 - b2**t)).sqrt()'
            },
            says="this is AMSGrad, which keeps the largest v so far: use v itself",
            gravity="idea",
        ),
        Mistake(
            "a sum of squares",
            change={"b2 * state.get": "state.get", "(1 - b2) * g * g": "g * g", "(v / (1 - b2**t))": "v"},
            says="v adds up all squares, as Adagrad does: it is a running mean, β₂ v + (1 − β₂) g²",
            gravity="idea",
        ),
        Mistake(
            "squared distance from the mean",
            change={"(1 - b2) * g * g": "(1 - b2) * (g - m) ** 2"},
            says="v is the running mean of g², not of the distance from m",
            gravity="idea",
        ),
        Mistake(
            "Nadam",
            change={'group["lr"] * m / (1 - b1**t)': 'group["lr"] * (b1 * m + (1 - b1) * g) / (1 - b1**t)'},
            says="this looks one step ahead, as Nadam does: the step uses m̂ itself",
            gravity="idea",
        ),
        Mistake(
            "betas ignored",
            change={'b1, b2 = group["betas"]': "b1, b2 = 0.9, 0.999"},
            says="the betas are always 0.9 and 0.999: read group['betas']",
            gravity="idea",
        ),
        Mistake(
            "rate ignored",
            change={'group["lr"] * m': "0.02 * m"},
            says="the rate is a constant of your own: read group['lr']",
            gravity="idea",
        ),
        Mistake(
            "decay in m only",
            change={"(1 - b2) * g * g": "(1 - b2) * p.grad * p.grad"},
            says="the weight decay is in m only: g + λθ takes the place of g in v, too",
            gravity="part",
        ),
        Mistake(
            "decay times the rate",
            change={'group["weight_decay"] * p': 'group["lr"] * group["weight_decay"] * p'},
            says="the decay is multiplied by the rate before it enters the gradient: add λθ, and the rate comes later",
            gravity="part",
        ),
        Mistake(
            "stops at a missing gradient",
            change={"continue": "break"},
            says="after a parameter without a gradient all others are skipped: `continue`, not `break`",
            gravity="part",
        ),
        Mistake(
            "the gradient decayed in place",
            change={'g = p.grad + group["weight_decay"] * p': 'g = p.grad.add_(group["weight_decay"] * p)'},
            hint="the step has changed a gradient",
            gravity="edge",
        ),
        Mistake("uphill", change={"p.sub_(": "p.add_("}, says="the parameter moves along the gradient: it must go down", gravity="idea"),
        Mistake(
            "no correction",
            change={"(v / (1 - b2**t))": "v", "m / (1 - b1**t)": "m"},
            says="the bias correction is missing: divide m by 1 − β₁ᵗ and v by 1 − β₂ᵗ",
            gravity="idea",
        ),
        Mistake(
            "only v corrected",
            change={"m / (1 - b1**t)": "m"},
            says="only v is corrected: m needs its own correction, 1 − β₁ᵗ",
            gravity="idea",
        ),
        Mistake(
            "only m corrected",
            change={"(v / (1 - b2**t))": "v"},
            says="only m is corrected: v needs its own correction, 1 − β₂ᵗ",
            gravity="idea",
        ),
        Mistake(
            "t stays at one",
            change={'state.get("t", 0) + 1': "1"},
            says="the correction is always that of t = 1: it is 1 − βᵗ, with a t that grows in every step",
            gravity="idea",
        ),
        Mistake(
            "betas swapped",
            change={'b1, b2 = group["betas"]': 'b2, b1 = group["betas"]'},
            says="the betas are swapped: β₁ belongs to m, β₂ to v",
            gravity="idea",
        ),
        Mistake(
            "one count for all parameters",
            change={'t = state["t"] = state.get("t", 0) + 1': 't = self.t = getattr(self, "t", 0) + 1'},
            says="one t counts the steps of all parameters together: each parameter has its own t, in self.state[p]",
            gravity="idea",
        ),
        Mistake(
            "t one too large",
            change={'state.get("t", 0) + 1': 'state.get("t", 1) + 1'},
            says="the correction uses t + 1: the first step is t = 1",
            gravity="idea",
        ),
        Mistake(
            "no memory",
            change={'state.get("m", 0)': "0", 'state.get("v", 0)': "0", 'state.get("t", 0)': "0"},
            says="the running means are not remembered: keep them in self.state[p]",
            gravity="idea",
        ),
        Mistake(
            "epsilon under the root",
            change={'.sqrt() + group["eps"]': '.add(group["eps"]).sqrt()'},
            says="ε is added under the root: add it outside",
            gravity="edge",
        ),
        Mistake(
            "epsilon before the correction",
            change={'(v / (1 - b2**t)).sqrt() + group["eps"]': '(v.sqrt() + group["eps"]) / (1 - b2**t) ** 0.5'},
            says="ε is added before v is corrected: √v̂ first, then ε",
            gravity="edge",
        ),
        Mistake("no root", change={"(v / (1 - b2**t)).sqrt()": "(v / (1 - b2**t))"}, says="the root of v is missing", gravity="idea"),
        Mistake(
            "absolute values",
            change={"* g * g": "* g.abs()"},
            says="v is the running mean of squares, not of absolute values",
            gravity="idea",
        ),
        Mistake(
            "AdamW",
            change={
                'p.grad + group["weight_decay"] * p': "p.grad",
                "p.sub_(": 'p.mul_(1 - group["lr"] * group["weight_decay"])\n                    p.sub_(',
            },
            says="the weight decay bypasses the running means: that is AdamW, the next exercise. Here λθ is added to the gradient",
            gravity="part",
        ),
        Mistake(
            "no decay",
            change={'p.grad + group["weight_decay"] * p': "p.grad"},
            says="the weight decay is missing: λθ is part of the gradient",
            gravity="part",
        ),
        Mistake(
            "options from the start",
            change={'group["lr"]': 'self.defaults["lr"]'},
            says="the rate of the first step is used throughout: read group['lr'] in every step",
            gravity="part",
        ),
        Mistake(
            "state elsewhere",
            code=optimiser("Adam", OUTSIDE_STATE.replace("COUPLED", "1")),
            hint="keep m, v and t in self.state[p]",
            gravity="part",
        ),
        Mistake(
            "one count for all",
            code=optimiser("Adam", GLOBAL_COUNT),
            says="all parameters share one count of steps: each counts those that it has taken itself",
            gravity="part",
        ),
        Mistake(
            "missing gradients as zeros",
            change={
                "if p.grad is None:\n                        continue": "if p.grad is None:\n                        p.grad = torch.zeros_like(p)"
            },
            says="a missing gradient is taken for zero: a parameter without a gradient (None) stays as it is",
            gravity="part",
        ),
        Mistake(
            "m adds up",
            change={"(1 - b1) * g\n": "g\n"},
            says="the gradient enters m with weight 1: it enters with 1 − β₁",
            gravity="idea",
        ),
        Mistake(
            "weights exchanged",
            change={'b1 * state.get("m", 0) + (1 - b1) * g': '(1 - b1) * state.get("m", 0) + b1 * g'},
            says="in m the weights are exchanged: β₁ for the old mean, 1 − β₁ for the gradient",
            gravity="idea",
        ),
        Mistake(
            "weights of v exchanged",
            change={'b2 * state.get("v", 0) + (1 - b2) * g * g': '(1 - b2) * state.get("v", 0) + b2 * g * g'},
            says="in v the weights are exchanged: β₂ for the old mean, 1 − β₂ for the square",
            gravity="idea",
        ),
        Mistake(
            "correction of m with β₂",
            change={"(1 - b1**t)": "(1 - b2**t)"},
            says="m is corrected with β₂: it is 1 − β₁ᵗ",
            gravity="idea",
        ),
        Mistake(
            "correction of v with β₁",
            change={"(v / (1 - b2**t))": "(v / (1 - b1**t))"},
            says="v is corrected with β₁: it is 1 − β₂ᵗ",
            gravity="idea",
        ),
        Mistake(
            "correction multiplied",
            change={"(v / (1 - b2**t))": "(v * (1 - b2**t))"},
            says="v is multiplied by 1 − β₂ᵗ: divide",
            gravity="idea",
        ),
        Mistake(
            "correction of m multiplied",
            change={"m / (1 - b1**t)": "m * (1 - b1**t)"},
            says="m is multiplied by 1 − β₁ᵗ: divide",
            gravity="idea",
        ),
        Mistake(
            "power left out",
            change={"b1**t": "b1", "b2**t": "b2"},
            says="the correction is always that of t = 1: it is 1 − βᵗ, with a t that grows in every step",
            gravity="idea",
        ),
        Mistake(
            "product for power",
            change={"b1**t": "b1 * t", "b2**t": "b2 * t"},
            says="this is β · t: the correction is 1 − βᵗ",
            gravity="idea",
        ),
        Mistake(
            "gradient for m",
            change={'group["lr"] * m / (1 - b1**t) / root': 'group["lr"] * g / root'},
            says="the gradient moves the parameter, not its running mean: this is RMSprop",
            gravity="idea",
        ),
        Mistake(
            "squared after the mean",
            change={"(1 - b2) * g * g": "(1 - b2) * m * m"},
            says="v is the running mean of m²: it is that of g²",
            gravity="idea",
        ),
        Mistake(
            "sign",
            change={'group["lr"] * m / (1 - b1**t) / root': 'group["lr"] * m.sign()'},
            says="only the sign of m moves the parameter: divide m̂ by √v̂ + ε",
            gravity="idea",
        ),
        Mistake(
            "t counted twice",
            change={'state.get("t", 0) + 1': 'state.get("t", 0) + 2'},
            says="t grows by 2 in every step: it grows by 1",
            gravity="idea",
        ),
        Mistake(
            "decay after Adam",
            change={
                'g = p.grad + group["weight_decay"] * p': "g = p.grad",
                "/ root)\n": '/ root)\n                    p.sub_(group["lr"] * group["weight_decay"] * p)\n',
            },
            says="the weight decay acts on the parameter after the step: λθ is added to the gradient",
            gravity="part",
        ),
        Mistake(
            "decay in v only",
            change={
                'g = p.grad + group["weight_decay"] * p': "g = p.grad",
                "(1 - b2) * g * g": '(1 - b2) * (g + group["weight_decay"] * p) ** 2',
            },
            says="the weight decay is in v only: g + λθ takes the place of g in m, too",
            gravity="part",
        ),
        Mistake(
            "decay with the wrong sign",
            change={"p.grad + group": "p.grad - group"},
            says="weight decay pulls towards zero: λθ is added to the gradient, not subtracted",
            gravity="part",
        ),
        Mistake(
            "decay of λ alone",
            change={'group["weight_decay"] * p\n': 'group["weight_decay"]\n'},
            says="λ itself is added to the gradient: add λθ",
            gravity="part",
        ),
        Mistake(
            "first group's options",
            change={
                'b1, b2 = group["betas"]\n': 'b1, b2 = group["betas"]\n                group = {**self.param_groups[0], "params": group["params"]}\n'
            },
            says="all groups use the options of the first: read them from each group",
            gravity="part",
        ),
        Mistake(
            "ε fixed",
            change={'group["eps"]': "1e-8"},
            says="ε is always 10⁻⁸: read group['eps']",
            gravity="edge",
        ),
        Mistake(
            "ε missing",
            change={' + group["eps"]\n': "\n"},
            says="ε is missing",
            gravity="edge",
        ),
        Mistake(
            "ε in the numerator",
            change={'root = (v / (1 - b2**t)).sqrt() + group["eps"]': 'root = (v / (1 - b2**t)).sqrt().clamp(min=group["eps"])'},
            says="ε is a lower limit here: it is added to √v̂",
            gravity="edge",
        ),
        Mistake(
            "float32 kept",
            change={"g = p.grad +": "g = p.grad.float() +"},
            hint="digits are lost",
            gravity="edge",
        ),
        Mistake(
            "v halved",
            change={"(1 - b2) * g * g": "(1 - b2) * g * g / 2"},
            says="v holds half of the squares",
            gravity="idea",
        ),
        Mistake(
            "ε after the division",
            change={'.sqrt() + group["eps"]': ".sqrt()", "/ root)": '/ root + group["eps"])'},
            says="ε is added to the step: it is added to √v̂, in the denominator",
            gravity="edge",
        ),
        Mistake(
            "falling rate",
            change={'p.sub_(group["lr"] * m': 'p.sub_(group["lr"] / t**0.5 * m'},
            says="the rate is divided by √t: Adam's rate is η as it is",
            gravity="idea",
        ),
        Right("torch's way", code=optimiser("Adam", TORCH_STYLE.replace("DECAY", 'g = g.add(p, alpha=group["weight_decay"])'))),
        Right("one fraction", change={'p.sub_(group["lr"] * m / (1 - b1**t) / root)': 'p.add_(-group["lr"] / (1 - b1**t) * (m / root))'}),
        Right("powers", change={"* g * g": "* g.pow(2)", ".sqrt() +": ".pow(0.5) +"}),
    ],
    "adamw": [
        Mistake(
            "decay with the first rate",
            change={'p.mul_(1 - group["lr"] * ': 'p.mul_(1 - self.defaults["lr"] * '},
            says="the decay always uses the first rate: multiply by 1 − ηλ with the group's rate of this step",
            gravity="part",
        ),
        Mistake(
            "decay also in m",
            change={"(1 - b1) * p.grad": '(1 - b1) * (p.grad + group["weight_decay"] * p)'},
            says="the decay acts twice: on the parameter, and in m through the gradient. m and v see the pure gradient",
            gravity="idea",
        ),
        Mistake(
            "a constant decay",
            change={'group["weight_decay"]': "0.01"},
            says="the decay is always 0.01: read group['weight_decay']",
            gravity="idea",
        ),
        Mistake(
            "decay that does not scale",
            change={'p.mul_(1 - group["lr"] * group["weight_decay"])': 'p.sub_(group["lr"] * group["weight_decay"])'},
            says="ηλ itself is subtracted: the decay is ηλ times the parameter",
            gravity="idea",
        ),
        Mistake(
            "only matrices decay",
            change={'p.mul_(1 - group["lr"] * group["weight_decay"])': 'p.mul_(1 - group["lr"] * group["weight_decay"] * (p.dim() > 1))'},
            says="only matrices decay: which parameters decay is said by the groups, not by their shape",
            gravity="idea",
        ),
        Mistake(
            "a new name",
            change={"p.sub_(": "p = p - ("},
            says="Adam's own step does not arrive in the parameter: change it in place, as p.sub_(…); `p = p − …` only binds a new name",
            gravity="idea",
        ),
        Mistake(
            "no decay by default",
            change={"weight_decay=0.01)": "weight_decay=0.0)"},
            says="the default of the weight decay is 0: it is 0.01, as in torch",
            gravity="edge",
        ),
        Mistake(
            "decay in the gradient",
            change={
                "p.grad**2": '(p.grad + group["weight_decay"] * p) ** 2',
                "(1 - b1) * p.grad": '(1 - b1) * (p.grad + group["weight_decay"] * p)',
                'p.mul_(1 - group["lr"] * group["weight_decay"])': "pass",
            },
            says="the decay is part of the gradient: that is Adam with L2. Apply it to the parameter itself",
            gravity="idea",
        ),
        Mistake(
            "decay without the rate",
            change={'p.mul_(1 - group["lr"] * group["weight_decay"])': 'p.mul_(1 - group["weight_decay"])'},
            says="the decay is λ, without the learning rate: the factor is 1 − ηλ",
            gravity="idea",
        ),
        Mistake("growth", change={"p.mul_(1 - ": "p.mul_(1 + "}, says="the weights grow: the factor is 1 − ηλ", gravity="idea"),
        Mistake(
            "no decay",
            change={'p.mul_(1 - group["lr"] * group["weight_decay"])': "pass"},
            says="nothing decays: multiply the parameter by 1 − ηλ",
            gravity="idea",
        ),
        Mistake(
            "decay after the step",
            change={
                'p.mul_(1 - group["lr"] * group["weight_decay"])\n': "\n",
                'p.sub_(group["lr"] * m / (1 - b1**t) / root)': 'p.sub_(group["lr"] * m / (1 - b1**t) / root)\n                    p.mul_(1 - group["lr"] * group["weight_decay"])',
            },
            says="the decay comes after Adam's step: it acts on the parameter before it",
            gravity="edge",
        ),
        Mistake(
            "no correction",
            change={"(v / (1 - b2**t))": "v", "m / (1 - b1**t)": "m"},
            says="the bias correction is missing: divide m by 1 − β₁ᵗ and v by 1 − β₂ᵗ",
            gravity="idea",
        ),
        Mistake(
            "epsilon before the correction",
            change={'(v / (1 - b2**t)).sqrt() + group["eps"]': '(v.sqrt() + group["eps"]) / (1 - b2**t) ** 0.5'},
            says="ε is added before v is corrected: √v̂ first, then ε",
            gravity="edge",
        ),
        Mistake(
            "epsilon under the root",
            change={'.sqrt() + group["eps"]': '.add(group["eps"]).sqrt()'},
            says="ε is added under the root: add it outside",
            gravity="edge",
        ),
        Mistake(
            "rate from the start",
            change={'group["lr"]': 'self.defaults["lr"]'},
            says="the rate of the first step is used throughout: read group['lr'] in every step",
            gravity="part",
        ),
        Mistake(
            "one decay for all",
            change={'group["weight_decay"]': 'self.defaults["weight_decay"]'},
            says="all groups get the same weight decay: read it from the group",
            gravity="part",
        ),
        Mistake(
            "state elsewhere",
            code=optimiser("AdamW", OUTSIDE_STATE.replace("COUPLED", "0")),
            hint="keep m, v and t in self.state[p]",
            gravity="part",
        ),
        Mistake(
            "decay of what has no gradient",
            change={
                "if p.grad is None:\n": 'if p.grad is None:\n                        p.mul_(1 - group["lr"] * group["weight_decay"])\n'
            },
            says="a parameter without a gradient is decayed: it stays as it is",
            gravity="part",
        ),
        Mistake(
            "one count for a group",
            change={
                'b1, b2 = group["betas"]\n': 'b1, b2 = group["betas"]\n                t = group["t"] = group.get("t", 0) + 1\n',
                '                    t = state["t"] = state.get("t", 0) + 1\n': "",
            },
            says="the parameters of a group share one count of steps: each counts those that it has taken itself",
            gravity="part",
        ),
        Mistake(
            "t as a float32 tensor",
            change={'state.get("t", 0) + 1': 'state.get("t", torch.tensor(0.0)) + 1'},
            hint="digits are lost",
            gravity="edge",
        ),
        Mistake(
            "decay squared",
            change={'1 - group["lr"] * group["weight_decay"]': '1 - group["lr"] * group["weight_decay"] ** 2'},
            says="the decay is ηλ²: it is ηλ",
            gravity="idea",
        ),
        Mistake(
            "rate squared",
            change={'1 - group["lr"] * group["weight_decay"]': '1 - group["lr"] ** 2 * group["weight_decay"]'},
            says="the decay is η²λ: it is ηλ",
            gravity="idea",
        ),
        Mistake(
            "decay halved",
            change={'1 - group["lr"] * group["weight_decay"]': '1 - group["lr"] * group["weight_decay"] / 2'},
            says="the decay is ηλ/2: it is ηλ",
            gravity="idea",
        ),
        Mistake(
            "exponential",
            change={'1 - group["lr"] * group["weight_decay"]': 'math.exp(-group["lr"] * group["weight_decay"])'},
            says="the factor is e^(−ηλ): it is 1 − ηλ",
            gravity="idea",
        ),
        Mistake(
            "decay of the step",
            change={
                'p.mul_(1 - group["lr"] * group["weight_decay"])': "pass",
                'p.sub_(group["lr"] * m / (1 - b1**t) / root)': 'p.sub_(group["lr"] * m / (1 - b1**t) / root)\n                    p.mul_(1 - group["lr"] * group["weight_decay"])',
            },
            says="the decay comes after Adam's step: it acts on the parameter before it",
            gravity="edge",
        ),
        Mistake(
            "decay replaced by the factor",
            change={'p.mul_(1 - group["lr"] * group["weight_decay"])': 'p.mul_(group["lr"] * group["weight_decay"])'},
            says="the parameter is multiplied by ηλ: the factor is 1 − ηλ",
            gravity="idea",
        ),
        Mistake(
            "decay over the root",
            change={
                'p.mul_(1 - group["lr"] * group["weight_decay"])': "pass",
                'p.sub_(group["lr"] * m / (1 - b1**t) / root)': 'p.sub_(group["lr"] * (m / (1 - b1**t) + group["weight_decay"] * p) / root)',
            },
            says="the decay is divided by √v̂, too: it is ηλθ",
            gravity="idea",
        ),
        Mistake(
            "decay also in v",
            change={"(1 - b2) * p.grad**2": '(1 - b2) * (p.grad + group["weight_decay"] * p) ** 2'},
            says="the decay is in v, too: m and v see the pure gradient",
            gravity="idea",
        ),
        Mistake(
            "only m corrected",
            change={"(v / (1 - b2**t))": "v"},
            says="the correction of v is missing",
            gravity="idea",
        ),
        Mistake(
            "only v corrected",
            change={"m / (1 - b1**t)": "m"},
            says="the correction of m is missing",
            gravity="idea",
        ),
        Mistake(
            "uphill",
            change={"p.sub_(": "p.add_("},
            says="the parameter moves along the gradient: it must go down",
            gravity="idea",
        ),
        Mistake(
            "betas swapped",
            change={'b1, b2 = group["betas"]': 'b2, b1 = group["betas"]'},
            says="the betas are swapped: β₁ belongs to m, β₂ to v",
            gravity="idea",
        ),
        Mistake(
            "betas ignored",
            change={'b1, b2 = group["betas"]': "b1, b2 = 0.9, 0.999"},
            says="the betas are always 0.9 and 0.999: read group['betas']",
            gravity="edge",
        ),
        Mistake(
            "no root",
            change={"(v / (1 - b2**t)).sqrt()": "(v / (1 - b2**t))"},
            says="the root of v is missing",
            gravity="idea",
        ),
        Mistake(
            "absolute values",
            change={"p.grad**2": "p.grad.abs()"},
            says="v is the running mean of squares, not of absolute values",
            gravity="idea",
        ),
        Mistake(
            "t stays at one",
            change={'state.get("t", 0) + 1': "1"},
            says="the correction always uses t = 1: count the steps in the state",
            gravity="idea",
        ),
        Mistake(
            "t one too large",
            change={'state.get("t", 0) + 1': 'state.get("t", 1) + 1'},
            says="the correction uses t + 1: the first step is t = 1",
            gravity="idea",
        ),
        Mistake(
            "no memory",
            change={'state.get("m", 0)': "0", 'state.get("v", 0)': "0"},
            says="the running means are not remembered: keep them in self.state[p]",
            gravity="idea",
        ),
        Mistake(
            "ε missing",
            change={' + group["eps"]\n': "\n"},
            says="ε is missing",
            gravity="idea",
        ),
        Mistake(
            "ε fixed",
            change={'group["eps"]': "1e-8"},
            says="ε is always 10⁻⁸: read group['eps']",
            gravity="edge",
        ),
        Mistake(
            "the gradient changed",
            change={
                "                    state = self.state[p]\n": "                    state = self.state[p]\n                    p.grad.mul_(1.5).div_(1.5).add_(1e-9)\n"
            },
            hint="gradient",
            gravity="idea",
        ),
        Mistake(
            "stops at a missing gradient",
            change={"                        continue\n": "                        break\n"},
            says="after a parameter without a gradient all others are skipped: `continue`, not `break`",
            gravity="part",
        ),
        Mistake(
            "decayed twice",
            change={'p.mul_(1 - group["lr"] * group["weight_decay"])': 'p.mul_((1 - group["lr"] * group["weight_decay"]) ** 2)'},
            says="the parameter is decayed twice in a step",
            gravity="idea",
        ),
        Mistake(
            "divided by 1 + ηλ",
            change={'p.mul_(1 - group["lr"] * group["weight_decay"])': 'p.div_(1 + group["lr"] * group["weight_decay"])'},
            says="the parameter is divided by 1 + ηλ: multiply it by 1 − ηλ",
            gravity="idea",
        ),
        Right("torch's way", code=optimiser("AdamW", TORCH_STYLE.replace("DECAY", 'p.mul_(1 - lr * group["weight_decay"])'))),
        Right(
            "one expression",
            change={
                'p.mul_(1 - group["lr"] * group["weight_decay"])\n': "\n",
                'p.sub_(group["lr"] * m / (1 - b1**t) / root)': 'p.sub_(group["lr"] * (group["weight_decay"] * p + m / (1 - b1**t) / root))',
            },
        ),
    ],
    "cosine": [
        Mistake(
            "no π",
            change={"math.pi * share": "share"},
            says="π is missing in the cosine: half a cosine goes from cos 0 to cos π",
            gravity="idea",
        ),
        Mistake(
            "a whole cosine",
            change={"math.pi * share": "2 * math.pi * share"},
            says="this is a whole cosine, which is back at the peak at T_c: half a one ends at the minimum",
            gravity="idea",
        ),
        Mistake(
            "rises",
            change={"1 + math.cos": "1 - math.cos"},
            says="after the warm-up the rate rises from min_lr: the sign of the cosine is wrong",
            gravity="idea",
        ),
        Mistake(
            "no warm-up",
            change={"it / warmup_iters * max_lr": "max_lr"},
            says="the rate is at the peak from the start: during the warm-up it grows from 0",
            gravity="idea",
        ),
        Mistake(
            "zero after the end",
            change={"        return min_lr\n": "        return 0.0\n"},
            says="after the end the rate is 0: it stays at min_lr",
            gravity="part",
        ),
        Mistake(
            "the end a little late",
            change={"it >= cosine_cycle_iters": "it > cosine_cycle_iters + 2"},
            says="min_lr comes too late after the end: from t = T_c on the rate is min_lr",
            gravity="part",
        ),
        Mistake(
            "whole numbers",
            change={"it / warmup_iters * max_lr": "it // warmup_iters * max_lr"},
            says="`//` cuts the share of the warm-up to 0: divide with `/`",
            gravity="idea",
        ),
        Mistake(
            "warm-up from one",
            change={"it / warmup_iters": "(it + 1) / warmup_iters"},
            says="the warm-up counts from 1: in iteration 0 the rate is 0",
            gravity="idea",
        ),
        Mistake(
            "falls to zero",
            change={
                "return min_lr + 0.5": "return 0.5",
                "* (max_lr - min_lr)": "* max_lr",
                "        return min_lr\n": "        return 0.0\n",
            },
            says="the cosine falls to zero: it ends at min_lr",
            gravity="idea",
        ),
        Mistake(
            "swings up again",
            change={"if it >= cosine_cycle_iters:": "if False:"},
            says="after the end the cosine swings up again: stay at min_lr",
            gravity="part",
        ),
        Mistake(
            "cosine from zero",
            change={"(it - warmup_iters) / (cosine_cycle_iters - warmup_iters)": "it / cosine_cycle_iters"},
            says="the cosine starts at iteration 0: start it at the end of the warm-up",
            gravity="idea",
        ),
        Mistake(
            "warm-up from the minimum",
            change={"return it / warmup_iters * max_lr": "return min_lr + it / warmup_iters * (max_lr - min_lr)"},
            says="the warm-up starts at min_lr: it starts at 0",
            gravity="idea",
        ),
        Mistake(
            "a straight line",
            change={"0.5 * (1 + math.cos(math.pi * share))": "(1 - share)"},
            says="the fall is a straight line: it is half a cosine",
            gravity="idea",
        ),
        Mistake(
            "T_c counted from the warm-up",
            change={"(cosine_cycle_iters - warmup_iters)": "cosine_cycle_iters"},
            says="the cosine lasts T_c iterations after the warm-up: it ends at T_c",
            gravity="idea",
        ),
        Mistake(
            "divides by zero",
            change={
                "if it < warmup_iters:\n        return it / warmup_iters * max_lr": "if it / warmup_iters < 1:\n        return it / warmup_iters * max_lr"
            },
            says="without a warm-up your code divides by zero: then the first rate is the peak",
            gravity="edge",
        ),
        Mistake(
            "divides by zero at the end",
            change={"if it >= cosine_cycle_iters": "if it > cosine_cycle_iters"},
            says="where the warm-up lasts until the end your code divides by zero",
            gravity="edge",
        ),
        Mistake(
            "half missing",
            change={"0.5 * (1 + math": "(1 + math"},
            says="the factor ½ is missing: the cosine starts at twice the range",
            gravity="idea",
        ),
        Mistake(
            "one missing",
            change={"0.5 * (1 + math.cos(math.pi * share))": "0.5 * math.cos(math.pi * share)"},
            says="the 1 in 1 + cos is missing",
            gravity="idea",
        ),
        Mistake(
            "a quarter of a cosine",
            change={"math.pi * share": "math.pi / 2 * share"},
            says="this is a quarter of a cosine, which ends halfway: half a one ends at the minimum",
            gravity="idea",
        ),
        Mistake(
            "sine",
            change={"math.cos(": "math.sin("},
            says="this is a sine: the cosine starts at 1",
            gravity="idea",
        ),
        Mistake(
            "minimum not added",
            change={"return min_lr + 0.5": "return 0.5"},
            says="min_lr is not added: the fall ends at min_lr",
            gravity="idea",
        ),
        Mistake(
            "range of the peak",
            change={"* (max_lr - min_lr)": "* max_lr"},
            says="the range is max_lr − min_lr, not max_lr: the cosine starts above the peak",
            gravity="idea",
        ),
        Mistake(
            "exponential fall",
            change={
                "return min_lr + 0.5 * (1 + math.cos(math.pi * share)) * (max_lr - min_lr)": "return max_lr * (min_lr / max_lr) ** share"
            },
            says="the fall is exponential: it is half a cosine",
            gravity="idea",
        ),
        Mistake(
            "one early",
            change={"share = (it - ": "share = (it + 1 - "},
            says="the cosine is one iteration ahead: at T_w its share is 0",
            gravity="idea",
        ),
        Mistake(
            "one late",
            change={"share = (it - warmup_iters)": "share = (it - 1 - warmup_iters)"},
            says="the cosine is one iteration late: at T_w its share is 0",
            gravity="idea",
        ),
        Mistake(
            "warm-up squared",
            change={"it / warmup_iters * max_lr": "(it / warmup_iters) ** 2 * max_lr"},
            says="the warm-up is a parabola: it is a straight line",
            gravity="idea",
        ),
        Mistake(
            "warm-up to the minimum",
            change={"it / warmup_iters * max_lr": "it / warmup_iters * min_lr"},
            says="the warm-up rises to min_lr: it rises to max_lr",
            gravity="idea",
        ),
        Mistake(
            "maximum after the end",
            change={"        return min_lr\n": "        return max_lr\n"},
            says="after the end the rate is max_lr: it is min_lr",
            gravity="part",
        ),
        Mistake(
            "None after the end",
            change={"        return min_lr\n": "        return None\n"},
            says="after the end nothing comes back: the rate is min_lr",
            gravity="part",
        ),
        Mistake(
            "warm-up through T_w",
            change={"if it < warmup_iters": "if it <= warmup_iters"},
            says="where t is T_w the warm-up formula is used still, which divides by zero without a warm-up: the cosine begins at t = T_w",
            gravity="edge",
        ),
        Mistake(
            "warm-up of one at least",
            change={"    if it < warmup_iters": "    warmup_iters = max(1, warmup_iters)\n    if it < warmup_iters"},
            says="a warm-up of at least one iteration is made: without one the first rate is the peak",
            gravity="edge",
        ),
        Mistake(
            "end before warm-up",
            change={
                "    if it < warmup_iters:\n        return it / warmup_iters * max_lr\n    if it >= cosine_cycle_iters:\n        return min_lr\n": "    if it >= cosine_cycle_iters - 1:\n        return min_lr\n    if it < warmup_iters:\n        return it / warmup_iters * max_lr\n"
            },
            says="min_lr comes one iteration too early: the end is t ≥ T_c",
            gravity="idea",
        ),
        Mistake(
            "cosine of the half",
            change={"0.5 * (1 + math.cos(math.pi * share))": "math.cos(math.pi / 2 * share)"},
            says="this is cos(π/2 · share), which falls too late: it is ½ (1 + cos(π · share))",
            gravity="idea",
        ),
        Mistake(
            "warm-up backwards",
            change={"it / warmup_iters * max_lr": "(1 - it / warmup_iters) * max_lr"},
            says="the warm-up falls from the peak to 0: it rises from 0",
            gravity="idea",
        ),
        Mistake(
            "degrees",
            change={"math.cos(math.pi * share)": "math.cos(180 * share)"},
            says="the cosine gets degrees: it takes radians, π · share",
            gravity="idea",
        ),
        Right("squared cosine", change={"0.5 * (1 + math.cos(math.pi * share))": "math.cos(math.pi * share / 2) ** 2"}),
        Right(
            "numpy",
            code="""
def cosine_rate(it, max_lr, min_lr, warmup_iters, cosine_cycle_iters):
    if it < warmup_iters:
        return max_lr * it / warmup_iters
    length = max(cosine_cycle_iters - warmup_iters, 1)
    share = min((it - warmup_iters) / length, 1.0) if cosine_cycle_iters > warmup_iters else 1.0
    return float(min_lr + (max_lr - min_lr) * (1 + np.cos(np.pi * share)) / 2)
""",
        ),
    ],
    "clip": [
        Mistake(
            "only the first",
            change={"[None if g is None else g * factor for g in gradients]": "[gradients[0] * factor] + list(gradients[1:])"},
            says="only the first gradient is scaled: the factor belongs to all",
            gravity="idea",
        ),
        Mistake(
            "results exchanged",
            change={
                "return [None if g is None else g * factor for g in gradients], norm": "return norm, [None if g is None else g * factor for g in gradients]"
            },
            says="the two results are exchanged: first the gradients, then the norm",
            gravity="idea",
        ),
        Mistake("norm in a list", change={"], norm": "], [norm]"}, hint="the result does not have the required form", gravity="part"),
        Mistake(
            "squared norm returned",
            change={"], norm": "], norm**2"},
            says="the second result is the squared norm: take the root",
            gravity="part",
        ),
        Mistake(
            "in float32", change={"g * factor for": "(g * factor).float() for"}, hint="digits are lost: keep the dtype", gravity="edge"
        ),
        Mistake(
            "10⁻⁶ under the root",
            change={"norm = math.sqrt(sum(": "norm = math.sqrt(1e-6 + sum(", "(norm + 1e-6)": "norm"},
            says="the 10⁻⁶ is added under the root: add it to the norm",
            gravity="edge",
        ),
        Mistake(
            "sum of norms",
            change={
                "math.sqrt(sum(g.double().square().sum().item() for g in gradients if g is not None))": "sum(g.norm().item() for g in gradients if g is not None)"
            },
            says="the factor uses the sum of the norms: square, add up, then take the root",
            gravity="idea",
        ),
        Mistake("squared norm", change={"math.sqrt(sum": "(sum"}, says="the factor uses the squared norm: take the root", gravity="idea"),
        Mistake(
            "largest norm",
            change={
                "math.sqrt(sum(g.double().square().sum().item() for g in gradients if g is not None))": "max(g.norm().item() for g in gradients if g is not None)"
            },
            says="the factor uses the largest of the norms: all tensors count together",
            gravity="idea",
        ),
        Mistake(
            "norm after clipping",
            change={"for g in gradients], norm": "for g in gradients], min(norm, max_norm)"},
            says="the second result is the norm after clipping: return the one before",
            gravity="part",
        ),
        Mistake(
            "each tensor by itself",
            change={"g * factor for": "g * min(1.0, max_norm / (g.norm().item() + 1e-6)) for"},
            says="each tensor is clipped by its own norm: use one norm for all",
            gravity="idea",
        ),
        Mistake(
            "clipped values",
            change={"g * factor for": "g.clamp(-max_norm, max_norm) for"},
            says="the values are clipped one by one: that changes the direction",
            gravity="idea",
        ),
        Mistake(
            "scaled up",
            change={"min(1.0, max_norm / (norm + 1e-6))": "max_norm / (norm + 1e-6)"},
            says="small gradients are scaled up to the limit: the factor is at most 1",
            gravity="part",
        ),
        Mistake("no epsilon", change={"(norm + 1e-6)": "max(norm, 1e-30)"}, hint="the 10⁻⁶ matters", gravity="edge"),
        Mistake(
            "None left out",
            change={"[None if g is None else g * factor for g in gradients]": "[g * factor for g in gradients if g is not None]"},
            says="gradients that are None are dropped: they stay None, at the same index",
            gravity="part",
        ),
        Mistake("in place", change={"g * factor for": "g.mul_(factor) for"}, hint=IN_PLACE, gravity="edge"),
        Mistake(
            "mean of squares",
            change={"norm = math.sqrt(sum(": "norm = math.sqrt(1 / max(1, sum(g.numel() for g in gradients if g is not None)) * sum("},
            says="this is the root of the *mean* square: add the squares up",
            gravity="idea",
        ),
        Mistake(
            "sum of absolute values",
            change={"math.sqrt(sum(g.double().square().sum().item()": "(sum(g.double().abs().sum().item()"},
            says="this is the sum of absolute values: the norm is the root of the sum of squares",
            gravity="idea",
        ),
        Mistake(
            "largest entry",
            change={
                "math.sqrt(sum(g.double().square().sum().item() for g in gradients if g is not None))": "max([g.double().abs().max().item() for g in gradients if g is not None], default=0.0)"
            },
            says="this is the largest entry: the norm is the root of the sum of squares",
            gravity="idea",
        ),
        Mistake(
            "upside down",
            change={"max_norm / (norm + 1e-6)": "(norm + 1e-6) / max_norm"},
            says="the factor is upside down: c over the norm",
            gravity="idea",
        ),
        Mistake(
            "max for min",
            change={"min(1.0, max_norm": "max(1.0, max_norm"},
            says="the factor is at least 1: it is at most 1, min(1, …)",
            gravity="idea",
        ),
        Mistake(
            "normalised only",
            change={"min(1.0, max_norm / (norm + 1e-6))": "1.0 / (norm + 1e-6)"},
            says="the gradients are scaled to norm 1, whatever the limit is",
            gravity="idea",
        ),
        Mistake(
            "root of the factor",
            change={"g * factor for": "g * factor**0.5 for"},
            says="the root of the factor is used",
            gravity="idea",
        ),
        Mistake(
            "factor twice",
            change={"g * factor for": "g * factor * factor for"},
            says="the factor is applied twice",
            gravity="idea",
        ),
        Mistake(
            "limit fixed",
            change={"factor = min(1.0, max_norm": "factor = min(1.0, 1.0"},
            says="the argument `max_norm` is not used: the limit is always 1",
            gravity="idea",
        ),
        Mistake(
            "None as zero",
            change={"None if g is None else": "torch.zeros(1) if g is None else"},
            says="a gradient that is None becomes zero: it stays None",
            gravity="part",
        ),
        Mistake(
            "raises at None",
            change={"for g in gradients if g is not None))": "for g in gradients))", "None if g is None else ": ""},
            says="a gradient that is None raises: it does not count in the norm and stays None",
            gravity="part",
        ),
        Mistake(
            "norm of the first",
            change={", norm\n": ", gradients[0].norm().item()\n"},
            says="the second result is the norm of the first tensor: it is that of all together",
            gravity="part",
        ),
        Mistake(
            "factor returned",
            change={", norm\n": ", factor\n"},
            says="the second result is the factor: return the norm before clipping",
            gravity="part",
        ),
        Mistake(
            "gradients only",
            change={"gradients], norm": "gradients]"},
            says="only the gradients come back: return them and the norm",
            gravity="idea",
        ),
        Mistake(
            "flattened",
            change={"g * factor for": "(g * factor).flatten() for"},
            says="the gradients come back flat: each keeps its own shape",
            gravity="part",
        ),
        Mistake(
            "norm with the small number",
            change={", norm\n": ", norm + 1e-6\n"},
            hint="the norm that comes back is without the 10⁻⁶",
            gravity="edge",
        ),
        Mistake(
            "norm of the last",
            change={"], norm\n": "], [g for g in gradients if g is not None][-1].norm().item()\n"},
            says="the second result is the norm of the last tensor: it is that of all together",
            gravity="part",
        ),
        Mistake(
            "factor of the first",
            change={"max_norm / (norm + 1e-6)": "max_norm / (next(g for g in gradients if g is not None).norm().item() + 1e-6)"},
            says="the factor uses the norm of the first tensor: all tensors count together",
            gravity="idea",
        ),
        Right(
            "torch's own",
            code="""
def clip_gradients(gradients, max_norm):
    holders = [None if g is None else nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for h, g in zip(holders, gradients):
        if h is not None:
            h.grad = g.clone()
    norm = nn.utils.clip_grad_norm_([h for h in holders if h is not None], max_norm)
    return [None if h is None else h.grad for h in holders], norm.item()
""",
        ),
        Right(
            "one long vector",
            change={
                "math.sqrt(sum(g.double().square().sum().item() for g in gradients if g is not None))": "torch.cat([g.flatten() for g in gradients if g is not None]).norm().item()"
            },
        ),
        Right(
            "norm of norms",
            change={
                "math.sqrt(sum(g.double().square().sum().item() for g in gradients if g is not None))": "torch.stack([g.norm() for g in gradients if g is not None]).norm()"
            },
        ),
    ],
    "spikes": [
        Mistake(
            "smallest",
            change={"statistics.median": "min"},
            says="the norm is compared with the smallest of the last `window`: take the median",
            gravity="part",
        ),
        Mistake(
            "largest",
            change={"statistics.median": "max"},
            says="the norm is compared with the largest of the last `window`: take the median",
            gravity="part",
        ),
        Mistake(
            "the first window",
            change={"accepted[-window:]": "accepted[:window]"},
            says="the first `window` accepted norms are the bar for ever: take the last ones",
            gravity="part",
        ),
        Mistake(
            "infinity accepted",
            change={"if not spike:\n            accepted": "if not spike or norm == math.inf:\n            accepted"},
            says="norms that are not finite are accepted: they must not count in the median",
            gravity="part",
        ),
        Mistake(
            "a window of three",
            change={"accepted[-window:]": "accepted[-3:]", ">= window": ">= 3"},
            says="the argument `window` is not used: three norms are looked at always",
            gravity="part",
        ),
        Mistake(
            "judged with itself",
            change={"accepted[-window:]": "(accepted + [norm])[-window:]"},
            says="the norm itself is among those of the median: judge it by the ones before it",
            gravity="part",
        ),
        Mistake(
            "a distance for a ratio",
            change={"norm > factor * statistics.median(accepted[-window:])": "norm > factor + statistics.median(accepted[-window:])"},
            says="the factor is added to the median: multiply",
            gravity="idea",
        ),
        Mistake(
            "places",
            change={"return found": "return [i for i, f in enumerate(found) if f]"},
            says="these are the places of the spikes: return one bool for every norm",
            gravity="idea",
        ),
        Mistake("never", change={"found.append(spike)": "found.append(False)"}, says="nothing is ever called a spike", gravity="idea"),
        Mistake(
            "judged too late",
            change={"len(accepted) >= window": "len(accepted) > window"},
            says="the 10 is missed: with exactly `window` accepted norms the next one is judged already",
            gravity="part",
        ),
        Mistake(
            "judged too early",
            change={"len(accepted) >= window": "accepted"},
            says="norms are judged too early: before `window` norms are accepted none is",
            gravity="part",
        ),
        Mistake(
            "NaN missed",
            change={"not math.isfinite(norm)": "norm == math.inf"},
            says="NaN is missed: every comparison with NaN is false, so use math.isfinite",
            gravity="part",
        ),
        Mistake(
            "spikes accepted",
            change={"        if not spike:\n            accepted": "        if math.isfinite(norm):\n            accepted"},
            says="spikes are accepted, so that one bad step raises the bar for the next",
            gravity="part",
        ),
        Mistake(
            "all of the past",
            change={"accepted[-window:]": "accepted"},
            says="all accepted norms count: only the last `window` do",
            gravity="part",
        ),
        Mistake(
            "mean",
            change={"statistics.median": "statistics.fmean"},
            says="the norm is compared with the mean, which one large norm raises: take the median",
            gravity="part",
        ),
        Mistake(
            "own constants",
            change={"factor * statistics": "3.0 * statistics"},
            says="the factor is 3, whatever the argument says",
            gravity="part",
        ),
        Mistake(
            "at least",
            change={"norm > factor": "norm >= factor"},
            says="exactly `factor` times the median is called a spike: it must be larger",
            gravity="edge",
        ),
        Mistake(
            "bar without the factor",
            change={"norm > factor * statistics": "norm > statistics"},
            says="every norm above the median is called a spike: it must be larger than `factor` times the median",
            gravity="idea",
        ),
        Mistake(
            "below",
            change={"norm > factor * ": "norm < factor * "},
            says="norms *below* the bar are called spikes",
            gravity="idea",
        ),
        Mistake(
            "far below, too",
            change={
                "spike = norm > factor * statistics.median(accepted[-window:])": "m = statistics.median(accepted[-window:])\n            spike = norm > factor * m or norm < m / factor"
            },
            says="a norm far *below* the median is called a spike: only large ones are",
            gravity="part",
        ),
        Mistake(
            "compared with the last",
            change={"statistics.median(accepted[-window:])": "accepted[-1]"},
            says="the norm is compared with the last accepted one: take the median of the last `window`",
            gravity="part",
        ),
        Mistake(
            "sum",
            change={"statistics.median(accepted[-window:])": "sum(accepted[-window:])"},
            says="the norm is compared with a sum: take the median",
            gravity="idea",
        ),
        Mistake(
            "finite ones turned around",
            change={"spike = not math.isfinite(norm)": "spike = math.isfinite(norm)"},
            says="finite norms are called spikes: those that are *not* finite are",
            gravity="idea",
        ),
        Mistake(
            "infinity missed",
            change={"not math.isfinite(norm)": "math.isnan(norm)"},
            says="infinity is missed before enough norms are accepted: use math.isfinite",
            gravity="part",
        ),
        Mistake(
            "finite not looked at",
            change={"spike = not math.isfinite(norm)": "spike = False"},
            says="norms that are not finite are not looked at: use math.isfinite",
            gravity="part",
        ),
        Mistake(
            "window plus one",
            change={"accepted[-window:]": "accepted[-window - 1 :]"},
            says="one norm too many counts: the median is that of the last `window`",
            gravity="part",
        ),
        Mistake(
            "window minus one",
            change={"accepted[-window:]": "accepted[-window + 1 :]"},
            says="one norm too few counts: the median is that of the last `window`",
            gravity="part",
        ),
        Mistake(
            "spikes only accepted",
            change={"        if not spike:\n            accepted.append(norm)": "        if spike:\n            accepted.append(norm)"},
            says="spikes are accepted and the others are not: it is the other way round",
            gravity="idea",
        ),
        Mistake(
            "stops at the first",
            change={
                "        found.append(spike)\n": "        found.append(spike)\n        if spike:\n            return found + [False] * (len(norms) - len(found))\n"
            },
            says="only the first spike is found",
            gravity="idea",
        ),
        Mistake(
            "the norms",
            change={"found.append(spike)": "found.append(norm if spike else 0.0)"},
            says="norms come back: return one bool for every norm",
            gravity="idea",
        ),
        Mistake(
            "counted",
            change={"    return found\n": "    return sum(found)\n"},
            says="the number of spikes comes back: return one bool for every norm",
            gravity="idea",
        ),
        Mistake(
            "spikes clipped and accepted",
            change={
                "        if not spike:\n            accepted.append(norm)": "        accepted.append(min(norm, factor * statistics.median(accepted[-window:])) if spike and accepted and math.isfinite(norm) else norm)"
            },
            says="spikes are cut to the bar and accepted: a spike is not accepted",
            gravity="part",
        ),
        Mistake(
            "sorted median of all window",
            change={"statistics.median(accepted[-window:])": "accepted[-window:][window // 2]"},
            says="the middle of the last norms is taken by place, not by size: the median is the middle *value*",
            gravity="part",
        ),
        Mistake(
            "low median",
            change={"statistics.median(accepted[-window:])": "sorted(accepted[-window:])[(window - 1) // 2 - 1]"},
            says="this is the value below the middle one: the median of 2k + 1 norms has k on either side",
            gravity="part",
        ),
        Mistake(
            "popped",
            change={"    for norm in norms:": "    while norms:\n        norm = norms.pop(0)"},
            hint="your code changes the list",
            gravity="edge",
        ),
        Mistake(
            "two are enough",
            change={"len(accepted) >= window": "len(accepted) >= 2"},
            says="norms are judged as soon as two are accepted: before `window` are none is",
            gravity="part",
        ),
        Mistake(
            "factor squared",
            change={"norm > factor * ": "norm > factor**2 * "},
            says="the factor is squared: more than `factor` times the median is a spike",
            gravity="idea",
        ),
        Right("sorted", change={"statistics.median(accepted[-window:])": "sorted(accepted[-window:])[window // 2]"}),
        Right(
            "torch",
            code="""
def find_spikes(norms, window=11, factor=3.0):
    good, answer = torch.empty(0, dtype=torch.float64), []
    for x in norms:
        bad = math.isnan(x) or math.isinf(x) or (len(good) >= window and x > factor * good[-window:].median().item())
        answer.append(bool(bad))
        if not bad:
            good = torch.cat([good, torch.tensor([x], dtype=torch.float64)])
    return answer
""",
        ),
    ],
    "atomic": [
        Mistake(
            "the folder for the file",
            change={'disk.sync(name + ".tmp")': "disk.sync_folder()"},
            hint="sync it before you rename it",
            gravity="part",
        ),
        Mistake(
            "the folder too early",
            change={
                '    disk.rename(name + ".tmp", name)\n    disk.sync_folder()': '    disk.sync_folder()\n    disk.rename(name + ".tmp", name)'
            },
            hint="after the rename, sync the folder",
            gravity="part",
        ),
        Mistake(
            "renamed the wrong way",
            change={'disk.rename(name + ".tmp", name)': 'disk.rename(name, name + ".tmp")'},
            says="the arguments of `rename` are exchanged: the old name first, then the new one",
            gravity="idea",
        ),
        Mistake(
            "one name for all files",
            change={'name + ".tmp"': '"run.pt.tmp"', ", name)\n": ', "run.pt")\n'},
            hint="the first save",
            gravity="idea",
        ),
        Mistake(
            "a backup, then in place",
            code="""
def save_atomically(disk, name, data):
    if name in disk.names():
        disk.write(name + ".bak", disk.read(name))
        disk.sync(name + ".bak")
        disk.sync_folder()
    disk.write(name, data)
    disk.sync(name)
    disk.sync_folder()
""",
            hint="the file is written in place",
            gravity="idea",
        ),
        Mistake(
            "in place",
            code="def save_atomically(disk, name, data):\n    disk.write(name, data)\n    disk.sync(name)\n    disk.sync_folder()",
            hint="the file is written in place",
            gravity="idea",
        ),
        Mistake(
            "no sync before the rename", change={'    disk.sync(name + ".tmp")\n': ""}, hint="sync it before you rename it", gravity="part"
        ),
        Mistake("folder not synced", change={"    disk.sync_folder()\n": ""}, hint="after the rename, sync the folder", gravity="part"),
        Mistake(
            "sync after the rename",
            code="def save_atomically(disk, name, data):\n    disk.write(name + '.tmp', data)\n    disk.rename(name + '.tmp', name)\n    disk.sync(name)\n    disk.sync_folder()",
            hint="sync it before you rename it",
            gravity="part",
        ),
        Mistake(
            "old one moved away first",
            code="""
def save_atomically(disk, name, data):
    disk.write(name + ".tmp", data)
    disk.sync(name + ".tmp")
    if name in disk.names():
        disk.rename(name, name + ".old")
    disk.rename(name + ".tmp", name)
    disk.sync_folder()
""",
            hint="there is a moment without any file of this name",
            gravity="part",
        ),
        Mistake(
            "never renamed",
            change={'    disk.rename(name + ".tmp", name)\n': ""},
            hint="when the function has returned, the file must hold the new bytes",
            gravity="idea",
        ),
        Mistake(
            "a copy stays",
            change={"    disk.sync_folder()\n": '    disk.sync_folder()\n    disk.write(name + ".backup", data)\n'},
            hint="a file is left over",
            gravity="edge",
        ),
        Mistake("another file's name", change={'name + ".tmp"': '"notes.txt"'}, hint="another file is touched", gravity="edge"),
        Mistake(
            "only written",
            change={'    disk.sync(name + ".tmp")\n    disk.rename(name + ".tmp", name)\n    disk.sync_folder()\n': ""},
            hint="when the function has returned, the file must hold the new bytes",
            gravity="idea",
        ),
        Mistake(
            "synced under the new name",
            change={'    disk.sync(name + ".tmp")\n': "", "    disk.sync_folder()\n": "    disk.sync(name)\n    disk.sync_folder()\n"},
            hint="sync it before you rename it",
            gravity="part",
        ),
        Mistake(
            "nothing synced",
            change={'    disk.sync(name + ".tmp")\n': "", "    disk.sync_folder()\n": ""},
            hint="sync it before you rename it",
            gravity="part",
        ),
        Mistake(
            "the file synced again",
            change={"    disk.sync_folder()\n": "    disk.sync(name)\n"},
            hint="after the rename, sync the folder",
            gravity="part",
        ),
        Mistake(
            "renamed twice",
            change={
                '    disk.rename(name + ".tmp", name)\n': '    if name in disk.names():\n        disk.rename(name, name + ".old")\n    disk.rename(name + ".tmp", name)\n'
            },
            hint="there is a moment without any file of this name",
            gravity="part",
        ),
        Right(
            "folder synced twice",
            change={'    disk.rename(name + ".tmp", name)\n': '    disk.sync_folder()\n    disk.rename(name + ".tmp", name)\n'},
        ),
        Right(
            "read back before the rename",
            change={"    disk.rename(name": '    assert disk.read(name + ".tmp") == data\n    disk.rename(name'},
        ),
        Right("another temporary name", change={'name + ".tmp"': '"." + name + ".part"'}),
        Right("synced once more", change={"    disk.sync_folder()\n": "    disk.sync(name)\n    disk.sync_folder()\n"}),
    ],
    "snapshot": [
        Mistake(
            "no optimiser, no schedule",
            change={
                '    run.optimiser.load_state_dict(state["optimiser"])\n': "",
                '    run.schedule.load_state_dict(state["schedule"])\n': "",
            },
            hint="the optimiser starts from scratch",
            gravity="part",
        ),
        Mistake(
            "no generators",
            change={
                '    torch.set_rng_state(state["torch"])\n': "",
                '    random.setstate(state["python"])\n': "",
                '    run.generator.set_state(state["generator"])\n': "",
            },
            hint="torch's global generator is not restored",
            gravity="part",
        ),
        Mistake(
            "a batch too far",
            change={"    return {\n": "    run.next_batch()\n    return {\n"},
            hint="does `snapshot` or `restore` draw a number",
            gravity="part",
        ),
        Mistake(
            "the rate only",
            change={
                '    run.optimiser.load_state_dict(state["optimiser"])\n': '    run.optimiser.param_groups[0]["lr"] = state["optimiser"]["param_groups"][0]["lr"]\n'
            },
            says="only the rate of the optimiser is restored: its running means start from scratch",
            gravity="part",
        ),
        Mistake(
            "a step too far",
            change={'    random.setstate(state["python"])\n': '    random.setstate(state["python"])\n    run.advance()\n'},
            hint="run.step must say 30",
            gravity="idea",
        ),
        Right(
            "the schedule first",
            change={
                '    run.optimiser.load_state_dict(state["optimiser"])\n    run.schedule.load_state_dict(state["schedule"])\n': '    run.schedule.load_state_dict(state["schedule"])\n    run.optimiser.load_state_dict(state["optimiser"])\n'
            },
        ),
        Mistake(
            "no weights",
            change={'    run.model.load_state_dict(state["model"])\n': ""},
            hint="the weights are not restored",
            gravity="idea",
        ),
        Mistake(
            "no optimiser",
            change={'    run.optimiser.load_state_dict(state["optimiser"])\n': ""},
            hint="the optimiser starts from scratch",
            gravity="part",
        ),
        Mistake(
            "no schedule",
            change={'    run.schedule.load_state_dict(state["schedule"])\n': ""},
            hint="the schedule starts from scratch",
            gravity="part",
        ),
        Mistake(
            "no generator",
            change={'    run.generator.set_state(state["generator"])\n': ""},
            hint="the generator of the data order is not restored",
            gravity="part",
        ),
        Mistake(
            "no order",
            change={'    run.order = state["order"]\n': ""},
            hint="this epoch's order of the examples is not restored",
            gravity="part",
        ),
        Mistake("no place", change={'    run.place = state["place"]\n': ""}, hint="`place` is not restored", gravity="part"),
        Mistake("no step", change={'    run.step = state["step"]\n': ""}, hint="run.step must say 30", gravity="idea"),
        Mistake(
            "no dropout masks",
            change={'    torch.set_rng_state(state["torch"])\n': ""},
            hint="torch's global generator is not restored",
            gravity="part",
        ),
        Mistake(
            "no Python noise",
            change={'    random.setstate(state["python"])\n': ""},
            hint="Python's own generator is not restored",
            gravity="part",
        ),
        Mistake(
            "seeds for states",
            change={
                '    torch.set_rng_state(state["torch"])\n': "    torch.manual_seed(0)\n",
                '    random.setstate(state["python"])\n': "    random.seed(0)\n",
            },
            hint="the run does not continue bit for bit",
            gravity="part",
        ),
        Mistake(
            "the run itself",
            change={'"order": run.order,': '"order": run.order,\n        "run": run,'},
            hint="a checkpoint holds tensors and plain data only",
            gravity="idea",
        ),
        Mistake(
            "a module for its state",
            change={"run.model.state_dict(),": "run.model,", 'state["model"])\n': 'state["model"].state_dict())\n'},
            hint="a checkpoint holds tensors and plain data only",
            gravity="idea",
        ),
        Mistake(
            "the snapshot draws",
            change={"    return {\n": "    torch.rand(1)\n    return {\n"},
            hint="the run does not continue bit for bit",
            gravity="part",
        ),
        Right(
            "copies under other names",
            code="""
def snapshot(run):
    parts = {name: copy.deepcopy(getattr(run, name).state_dict()) for name in ("model", "optimiser", "schedule")}
    return [parts, run.generator.get_state(), run.order.tolist(), (run.place, run.step), torch.random.get_rng_state().tolist(), random.getstate()]


def restore(run, state):
    for name, part in state[0].items():
        getattr(run, name).load_state_dict(part)
    run.generator.set_state(state[1])
    run.order = torch.tensor(state[2])
    run.place, run.step = state[3]
    torch.random.set_rng_state(torch.tensor(state[4], dtype=torch.uint8))
    random.setstate(state[5])
"""
            + INTERRUPTED,
        ),
        Right(
            "a clone of the weights",
            change={
                '"model": run.model.state_dict(),': '"weights": [p.detach().clone() for p in run.model.parameters()],',
                'run.model.load_state_dict(state["model"])': 'for p, w in zip(run.model.parameters(), state["weights"]):\n        p.data.copy_(w)',
            },
        ),
    ],
    "rollback": [
        Mistake(
            "a snapshot in every step",
            change={"if run.step % every == 0:": "if True:"},
            says="you take a snapshot in every step: only where run.step is a multiple of `every`",
            gravity="part",
        ),
        Mistake(
            "another error",
            change={"FloatingPointError": "ValueError"},
            hint="raise a FloatingPointError after more than `patience` rollbacks",
            gravity="part",
        ),
        Mistake(
            "patience ignored",
            change={"len(undone) > patience": "len(undone) > 5"},
            hint="with patience 1 the second rollback is one too many",
            gravity="part",
        ),
        Mistake(
            "all losses dropped",
            change={"del losses[run.step :]": "losses.clear()"},
            says="all losses are dropped in a rollback: only those of the steps that are undone",
            gravity="part",
        ),
        Mistake(
            "one loss too many",
            change={"del losses[run.step :]": "del losses[run.step + 1 :]"},
            hint="drop the losses of the steps that are undone",
            gravity="part",
        ),
        Mistake(
            "one step more",
            change={"while run.step < steps": "while run.step <= steps"},
            says="the loop does one step too many: stop when `run.step` is `steps`",
            gravity="idea",
        ),
        Mistake(
            "only the number of rollbacks",
            change={"return losses, undone": "return losses, len(undone)"},
            says="the second result is the number of rollbacks: return a list, one number of steps for each",
            gravity="idea",
        ),
        Mistake(
            "no reshuffling",
            change={"        run.reshuffle(len(undone))\n": ""},
            hint="every rollback failed again: first restore the snapshot, which you kept as bytes, then call run.reshuffle(k)",
            gravity="idea",
        ),
        Mistake(
            "reshuffled, then restored",
            change={
                "        restore(run, craft.from_bytes(saved))\n        run.reshuffle(len(undone))\n": "        run.reshuffle(len(undone))\n        restore(run, craft.from_bytes(saved))\n"
            },
            hint="every rollback failed again: first restore the snapshot, which you kept as bytes, then call run.reshuffle(k)",
            gravity="idea",
        ),
        Mistake(
            "a snapshot that lives on",
            change={"craft.to_bytes(snapshot(run))": "snapshot(run)", "craft.from_bytes(saved)": "saved"},
            hint="every rollback failed again: first restore the snapshot, which you kept as bytes, then call run.reshuffle(k)",
            gravity="idea",
        ),
        Mistake(
            "patience one too short",
            change={"if len(undone) > patience:": "if len(undone) >= patience:"},
            hint="with patience 2 two rollbacks are allowed",
            gravity="part",
        ),
        Mistake(
            "patience one too long",
            change={"if len(undone) > patience:": "if len(undone) > patience + 1:"},
            hint="with patience 1 the second rollback is one too many",
            gravity="part",
        ),
        Mistake(
            "always the same order",
            change={"run.reshuffle(len(undone))": "run.reshuffle(1)"},
            says="every rollback reshuffles with the same number: use k for the k-th rollback",
            gravity="part",
        ),
        Mistake(
            "orders from zero",
            change={"run.reshuffle(len(undone))": "run.reshuffle(len(undone) - 1)"},
            says="the reshuffling numbers start from 0: k = 1 for the first rollback",
            gravity="part",
        ),
        Mistake(
            "the step for k",
            change={"run.reshuffle(len(undone))": "run.reshuffle(run.step)"},
            says="run.reshuffle gets the step: it gets k for the k-th rollback",
            gravity="part",
        ),
        Mistake(
            "losses kept",
            change={"        del losses[run.step :]\n": ""},
            says="the losses of undone steps are kept: drop them",
            gravity="part",
        ),
        Mistake(
            "the bad step counted",
            change={"undone.append(run.step - 1)": "undone.append(run.step)"},
            says="the bad step is counted: note the number of steps completed before it",
            gravity="part",
        ),
        Mistake(
            "the snapshot's step noted",
            change={"        undone.append(run.step - 1)\n": "        undone.append((run.step - 1) // every * every)\n"},
            says="the undone steps are noted with the step of the snapshot: note the number of steps completed before the bad one",
            gravity="part",
        ),
        Mistake(
            "only one snapshot",
            change={"if run.step % every == 0:": "if run.step == 0:"},
            says="you go back to the very first snapshot: go back to the last one",
            gravity="part",
        ),
        Mistake(
            "nothing restored",
            change={"        restore(run, craft.from_bytes(saved))\n": "        run.step -= 1\n"},
            hint="every rollback failed again: first restore the snapshot, which you kept as bytes, then call run.reshuffle(k)",
            gravity="idea",
        ),
        Mistake(
            "never looks",
            change={"if math.isfinite(loss):": "if True:"},
            says="no rollback happens: the loss is not looked at",
            gravity="idea",
        ),
        Mistake(
            "only NaN",
            change={"if math.isfinite(loss):": "if not math.isnan(loss):"},
            hint="a loss that is not finite is in the list: infinity is as bad as NaN",
            gravity="idea",
        ),
        Mistake(
            "no patience",
            change={"if len(undone) > patience:": "if len(undone) > 40:", "raise FloatingPointError(": "break  # ("},
            hint="raise a FloatingPointError after more than `patience` rollbacks",
            gravity="part",
        ),
        Mistake(
            "restored before it is noted",
            change={
                "        undone.append(run.step - 1)\n": "",
                "        restore(run, craft.from_bytes(saved))\n": "        restore(run, craft.from_bytes(saved))\n        undone.append(run.step)\n",
            },
            says="the undone steps are noted with the step of the snapshot: note the number of steps completed before the bad one",
            gravity="part",
        ),
        Mistake(
            "reshuffled with the step count of data",
            change={"run.reshuffle(len(undone))": "run.reshuffle(len(losses))"},
            says="run.reshuffle gets the number of losses: it gets k for the k-th rollback",
            gravity="part",
        ),
        Mistake(
            "undone reversed",
            change={"return losses, undone": "return losses, undone[::-1]"},
            says="the undone steps come in reverse: the first rollback comes first",
            gravity="part",
        ),
        Mistake(
            "losses as tensors kept apart",
            change={"return losses, undone": "return undone, losses"},
            says="the two results are exchanged: the losses come first",
            gravity="idea",
        ),
        Mistake(
            "losses only",
            change={"return losses, undone": "return losses"},
            says="only the losses come back: return the losses and the steps of the rollbacks",
            gravity="idea",
        ),
        Right(
            "other loop",
            code="""
def train_with_rollback(run, steps, every, patience=5):
    losses, undone, last = {}, [], None
    while run.step != steps:
        now = run.step
        if now % every == 0 and (last is None or last[0] != now):
            last = (now, craft.to_bytes(snapshot(run)))
        value = run.advance()
        if value == value and abs(value) != math.inf:
            losses[now] = value
        else:
            undone.append(now)
            if len(undone) == patience + 1:
                raise FloatingPointError("giving up")
            restore(run, craft.from_bytes(last[1]))
            run.reshuffle(len(undone))
    return [losses[i] for i in range(steps)], undone
"""
            + ROLLED,
        ),
        Right("slices", change={"del losses[run.step :]": "losses = losses[: run.step]"}),
    ],
    "bonus-edge": [
        Mistake(
            "the smaller root",
            change={"abs(half) + math.sqrt(inside)": "abs(abs(half) - math.sqrt(inside))"},
            says="step_factor: this is the smaller root: in the long run the larger one decides",
            gravity="idea",
        ),
        Mistake(
            "a sign",
            change={"abs(half) + math.sqrt(inside)": "half - math.sqrt(inside)"},
            says="step_factor: the root with its sign comes back: a factor is a size, take the absolute value",
            gravity="idea",
        ),
        Mistake(
            "the real part",
            change={"return math.sqrt(momentum)": "return abs(half)"},
            says="step_factor: this is the real part of a complex root: take its absolute value",
            gravity="part",
        ),
        Mistake(
            "the product of both",
            change={"return math.sqrt(momentum)": "return momentum"},
            says="step_factor: the product of the two roots is μ: the absolute value of each is √μ",
            gravity="part",
        ),
        Mistake(
            "no momentum",
            change={"half = (1 + momentum - rate * steepness) / 2\n": "return abs(1 - rate * steepness)\n    half = 0.0\n"},
            says="step_factor: this is without momentum: the equation is quadratic",
            gravity="idea",
        ),
        Mistake(
            "no momentum in the middle term",
            change={"(1 + momentum - rate": "(1 - rate"},
            says="step_factor: the middle term lacks μ: it is 1 + μ − ηh",
            gravity="idea",
        ),
        Mistake(
            "only roots below zero",
            change={"abs(half) + math.sqrt(inside)": "abs(math.sqrt(inside) - half)"},
            says="step_factor: half − √… is the larger root only where half is negative: take |half| + √…",
            gravity="idea",
        ),
        Mistake(
            "capped at one",
            change={"abs(half) + math.sqrt(inside)": "min(1.6, abs(half) + math.sqrt(inside))"},
            says="step_factor: the factor is cut off: beyond the edge it is larger than 1",
            gravity="part",
        ),
        Mistake(
            "the edge without momentum",
            change={"2 * (1 + momentum) / steepness": "2 / steepness"},
            says="largest_rate: this is the edge without momentum: the momentum moves it",
            gravity="idea",
        ),
        Mistake(
            "the edge moves down",
            change={"2 * (1 + momentum)": "2 * (1 - momentum)"},
            says="largest_rate: the edge moves up with the momentum, not down: put z = −1 into the equation",
            gravity="idea",
        ),
        Mistake(
            "the long-run step",
            change={"2 * (1 + momentum) / steepness": "2 / (1 - momentum) / steepness"},
            says="largest_rate: this divides by 1 − μ, as the long-run step does: put z = −1 into the equation",
            gravity="idea",
        ),
        Mistake(
            "half the edge",
            change={"2 * (1 + momentum)": "(1 + momentum)"},
            says="largest_rate: this is half of the largest rate: here no root has reached −1 yet",
            gravity="idea",
        ),
        Mistake(
            "sign of the middle term",
            change={"1 + momentum - rate": "1 - momentum - rate"},
            says="step_factor: the middle term is 1 + μ − ηh: the sign of μ is wrong",
            gravity="idea",
        ),
        Mistake(
            "plus the rate",
            change={"momentum - rate * steepness": "momentum + rate * steepness"},
            says="step_factor: the middle term is 1 + μ − ηh: the sign of ηh is wrong",
            gravity="idea",
        ),
        Mistake(
            "not halved",
            change={"- rate * steepness) / 2": "- rate * steepness)"},
            says="step_factor: the half in the formula of the roots is missing: b/2 ± √(b²/4 − μ)",
            gravity="idea",
        ),
        Mistake(
            "momentum added",
            change={"half**2 - momentum": "half**2 + momentum"},
            says="step_factor: the sign of μ under the root is wrong: z² − bz + μ = 0",
            gravity="idea",
        ),
        Mistake(
            "four missing",
            change={"half**2 - momentum": "half**2 - 4 * momentum"},
            says="step_factor: with b halved it is b²/4 − μ under the root, not b²/4 − 4μ",
            gravity="idea",
        ),
        Mistake(
            "only positive half",
            change={"abs(half) + math.sqrt(inside)": "half + math.sqrt(inside)"},
            says="step_factor: half + √… is the larger root only where half is positive: take |half| + √…",
            gravity="idea",
        ),
        Mistake(
            "complex: 1",
            change={"return math.sqrt(momentum)": "return 1.0"},
            says="step_factor: where the roots are complex the factor is 1 here: the product of the two is μ, so each has the size √μ",
            gravity="part",
        ),
        Mistake(
            "complex: real and root",
            change={"return math.sqrt(momentum)": "return abs(half) + math.sqrt(-inside)"},
            says="step_factor: real and imaginary part are added: the size is the root of the sum of their squares",
            gravity="part",
        ),
        Mistake(
            "complex: imaginary part",
            change={"return math.sqrt(momentum)": "return math.sqrt(-inside)"},
            says="step_factor: this is the imaginary part of a complex root: take its size, √μ",
            gravity="part",
        ),
        Mistake(
            "capped",
            change={"return abs(half) + math.sqrt(inside)": "return min(1.0, abs(half) + math.sqrt(inside))"},
            says="step_factor: the factor is cut at 1: beyond the edge it is larger",
            gravity="idea",
        ),
        Mistake(
            "edge times h",
            change={"2 * (1 + momentum) / steepness": "2 * (1 + momentum) * steepness"},
            says="largest_rate is multiplied by the steepness: divide",
            gravity="idea",
        ),
        Mistake(
            "edge root",
            change={"2 * (1 + momentum) / steepness": "(1 + math.sqrt(momentum)) ** 2 / steepness"},
            says="largest_rate: this is where the roots become real again: the factor reaches 1 where z = −1",
            gravity="idea",
        ),
        Mistake(
            "edge 1 + 2μ",
            change={"2 * (1 + momentum)": "2 * (1 + 2 * momentum)"},
            says="largest_rate: put z = −1 into the equation: ηh = 2 (1 + μ), not 2 (1 + 2μ)",
            gravity="idea",
        ),
        Mistake(
            "edge 2 + μ",
            change={"2 * (1 + momentum)": "(2 + momentum)"},
            says="largest_rate: put z = −1 into the equation: ηh = 2 (1 + μ), not 2 + μ",
            gravity="idea",
        ),
        Mistake(
            "edge squared",
            change={"2 * (1 + momentum) / steepness": "(1 + momentum) ** 2 / steepness"},
            says="largest_rate: (1 + μ)² is not what z = −1 gives: ηh = 2 (1 + μ)",
            gravity="idea",
        ),
        Mistake(
            "sum of the roots",
            change={"return abs(half) + math.sqrt(inside)": "return abs(2 * half)"},
            says="step_factor: this is the sum of the two roots: the larger one decides",
            gravity="idea",
        ),
        Right(
            "eigenvalues",
            code="""
def step_factor(rate, momentum, steepness):
    matrix = torch.tensor([[1 + momentum - rate * steepness, -momentum], [1.0, 0.0]], dtype=torch.float64)
    return torch.linalg.eigvals(matrix).abs().max().item()


def largest_rate(momentum, steepness):
    return (2 + 2 * momentum) / steepness
""",
        ),
        Right(
            "complex numbers",
            code="""
def step_factor(rate, momentum, steepness):
    b = 1 + momentum - rate * steepness
    root = complex(b * b - 4 * momentum) ** 0.5
    return max(abs(b + root), abs(b - root)) / 2


def largest_rate(momentum, steepness):
    low, high = 0.0, 10.0 / steepness
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if step_factor(middle, momentum, steepness) <= 1 else (low, middle)
    return low
""",
        ),
    ],
}

EQUIVALENT = {
    "bonus-edge": {
        "comparison: inside < 0 *": "where the two roots are equal both lines give √μ",
        "order: 1 + momentum - rate * steepness *": "the roots change their sign, and only their sizes count",
    },
    "clip": {"left out: without double of g": "the last digits of a float32 norm are not asked for"},
    "cosine": {"order: *": "the cosine is the same for a negative share"},
    "spikes": {"iterator: find_spikes, norms needs a length": "the text gives a list"},
}
