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
        Mistake("uphill", change={"p.sub_(": "p.add_("}, hint="the parameter moved along the gradient", gravity="idea"),
        Mistake("a new name", change={'p.sub_(group["lr"] * v)': 'p = p - group["lr"] * v'}, hint="only binds a new name", gravity="idea"),
        Mistake("no momentum", change={'self.state[p].get("v", 0)': "0"}, hint="there is no momentum", gravity="idea"),
        Mistake(
            "velocity as a mean",
            change={"+ d\n": '+ (1 - group["momentum"]) * d\n'},
            hint="the gradient is added with weight 1 − μ: add all of it to the velocity",
            gravity="idea",
        ),
        Mistake(
            "Nesterov",
            change={'group["lr"] * v)': 'group["lr"] * (d + group["momentum"] * v))'},
            hint="this is Nesterov's variant",
            gravity="idea",
        ),
        Mistake("decay with the wrong sign", change={"p.grad + ": "p.grad - "}, hint="weight decay pulls towards zero", gravity="part"),
        Mistake("no decay", change={'p.grad + group["weight_decay"] * p': "p.grad"}, hint="the weight decay is missing", gravity="part"),
        Mistake(
            "the velocity fades without a gradient",
            change={
                "if p.grad is not None:": "if p.grad is None and 'v' in self.state[p]:\n                        self.state[p]['v'] = group['momentum'] * self.state[p]['v']\n                    if p.grad is not None:"
            },
            hint="keeps its velocity, and does not move",
            gravity="part",
        ),
        Mistake(
            "decay past the velocity",
            change={
                'd = p.grad + group["weight_decay"] * p': 'd = p.grad\n                        p.mul_(1 - group["lr"] * group["weight_decay"])'
            },
            hint="the weight decay bypasses the velocity",
            gravity="part",
        ),
        Mistake(
            "rate inside the velocity",
            change={"+ d\n": '+ group["lr"] * d\n', 'group["lr"] * v)': "v)"},
            hint="keep η out of the velocity",
            gravity="part",
        ),
        Mistake(
            "options from the start",
            change={'group["lr"]': 'self.defaults["lr"]'},
            hint="the rate of the first step is used throughout",
            gravity="part",
        ),
        Mistake(
            "one decay for all",
            change={'group["weight_decay"]': 'self.defaults["weight_decay"]'},
            hint="all groups get the same weight decay",
            gravity="part",
        ),
        Mistake("no gradient, no mercy", change={"if p.grad is not None:": "if True:"}, hint="your code raised TypeError", gravity="part"),
        Mistake(
            "missing gradients as zeros",
            change={"if p.grad is not None:": "if True:", "d = p.grad +": "d = (torch.zeros_like(p) if p.grad is None else p.grad) +"},
            hint="a parameter without a gradient (None) stays as it is",
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
        Mistake("sign", change={"return lr * g /": "return -lr * g /"}, hint="it has the same sign as the gradient", gravity="idea"),
        Mistake(
            "m not corrected",
            change={"return lr * g /": "return lr * (1 - b1) * g /"},
            hint="the mean's correction is missing",
            gravity="idea",
        ),
        Mistake(
            "no division",
            change={"    if corrected:\n        return lr * g / (g.abs() + eps)": "    if corrected:\n        return lr * g"},
            hint="this step is proportional to the gradient",
            gravity="idea",
        ),
        Mistake("always corrected", change={"if corrected": "if True"}, hint="the correction is still there", gravity="part"),
        Mistake("no root", change={"(1 - b2) ** 0.5": "(1 - b2)"}, hint="the root of 1 − β₂ is needed", gravity="part"),
        Mistake(
            "betas for their complements",
            change={"(1 - b1)": "b1", "(1 - b2) ** 0.5": "b2**0.5"},
            hint="you used β₁ and β₂ instead",
            gravity="part",
        ),
        Mistake("no epsilon", change={"(g.abs() + eps)": "g.abs().clamp(min=1e-300)"}, hint="ε is missing", gravity="edge"),
        Mistake(
            "epsilon under the root", change={"(g.abs() + eps)": "(g * g + eps).sqrt()"}, hint="ε is added under the root", gravity="edge"
        ),
        Mistake(
            "epsilon before the correction",
            change={"lr * g / (g.abs() + eps)": "lr * g * (1 - b2) ** 0.5 / ((1 - b2) ** 0.5 * g.abs() + eps)"},
            hint="ε is added before the correction of v",
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
        Mistake("uphill", change={"p.sub_(": "p.add_("}, hint="the parameter moved along the gradient", gravity="idea"),
        Mistake(
            "no correction",
            change={"(v / (1 - b2**t))": "v", "m / (1 - b1**t)": "m"},
            hint="the first step lacks both corrections",
            gravity="idea",
        ),
        Mistake("only v corrected", change={"m / (1 - b1**t)": "m"}, hint="the correction of m is missing", gravity="idea"),
        Mistake("only m corrected", change={"(v / (1 - b2**t))": "v"}, hint="the correction of v is missing", gravity="idea"),
        Mistake("t stays at one", change={'state.get("t", 0) + 1': "1"}, hint="the step count stays at 1", gravity="idea"),
        Mistake(
            "betas swapped", change={'b1, b2 = group["betas"]': 'b2, b1 = group["betas"]'}, hint="the betas are swapped", gravity="idea"
        ),
        Mistake(
            "one count for all parameters",
            change={'t = state["t"] = state.get("t", 0) + 1': 't = self.t = getattr(self, "t", 0) + 1'},
            hint="one t counts the steps of all parameters together",
            gravity="idea",
        ),
        Mistake(
            "t one too large", change={'state.get("t", 0) + 1': 'state.get("t", 1) + 1'}, hint="the correction uses t + 1", gravity="idea"
        ),
        Mistake(
            "no memory",
            change={'state.get("m", 0)': "0", 'state.get("v", 0)': "0", 'state.get("t", 0)': "0"},
            hint="the running means are not remembered",
            gravity="idea",
        ),
        Mistake(
            "epsilon under the root",
            change={'.sqrt() + group["eps"]': '.add(group["eps"]).sqrt()'},
            hint="ε is added under the root",
            gravity="edge",
        ),
        Mistake(
            "epsilon before the correction",
            change={'(v / (1 - b2**t)).sqrt() + group["eps"]': '(v.sqrt() + group["eps"]) / (1 - b2**t) ** 0.5'},
            hint="ε is added before v is corrected",
            gravity="edge",
        ),
        Mistake("no root", change={"(v / (1 - b2**t)).sqrt()": "(v / (1 - b2**t))"}, hint="the root of v is missing", gravity="idea"),
        Mistake("absolute values", change={"* g * g": "* g.abs()"}, hint="v is the running mean of squares", gravity="idea"),
        Mistake(
            "AdamW",
            change={
                'p.grad + group["weight_decay"] * p': "p.grad",
                "p.sub_(": 'p.mul_(1 - group["lr"] * group["weight_decay"])\n                    p.sub_(',
            },
            hint="that is AdamW, the next exercise",
            gravity="part",
        ),
        Mistake("no decay", change={'p.grad + group["weight_decay"] * p': "p.grad"}, hint="the weight decay is missing", gravity="part"),
        Mistake(
            "options from the start",
            change={'group["lr"]': 'self.defaults["lr"]'},
            hint="the rate of the first step is used throughout",
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
            hint="every parameter counts the steps it has taken itself",
            gravity="part",
        ),
        Mistake(
            "missing gradients as zeros",
            change={
                "if p.grad is None:\n                        continue": "if p.grad is None:\n                        p.grad = torch.zeros_like(p)"
            },
            hint="a parameter without a gradient (None) stays as it is",
            gravity="part",
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
            says="Adam's own step does not arrive: change the parameter in place, as p.sub_(…); `p = p − …` only binds a new name",
            gravity="idea",
        ),
        Mistake(
            "no decay by default",
            change={"weight_decay=0.01)": "weight_decay=0.0)"},
            hint="the default weight decay is 0.01",
            gravity="edge",
        ),
        Mistake(
            "decay in the gradient",
            change={
                "p.grad**2": '(p.grad + group["weight_decay"] * p) ** 2',
                "(1 - b1) * p.grad": '(1 - b1) * (p.grad + group["weight_decay"] * p)',
                'p.mul_(1 - group["lr"] * group["weight_decay"])': "pass",
            },
            hint="the decay goes through Adam's running means",
            gravity="idea",
        ),
        Mistake(
            "decay without the rate",
            change={'p.mul_(1 - group["lr"] * group["weight_decay"])': 'p.mul_(1 - group["weight_decay"])'},
            hint="the decay is λ, without the learning rate",
            gravity="idea",
        ),
        Mistake("growth", change={"p.mul_(1 - ": "p.mul_(1 + "}, hint="the weights grow", gravity="idea"),
        Mistake("no decay", change={'p.mul_(1 - group["lr"] * group["weight_decay"])': "pass"}, hint="nothing decays", gravity="idea"),
        Mistake(
            "decay after the step",
            change={
                'p.mul_(1 - group["lr"] * group["weight_decay"])\n': "\n",
                'p.sub_(group["lr"] * m / (1 - b1**t) / root)': 'p.sub_(group["lr"] * m / (1 - b1**t) / root)\n                    p.mul_(1 - group["lr"] * group["weight_decay"])',
            },
            hint="the decay comes after Adam's step",
            gravity="edge",
        ),
        Mistake(
            "no correction",
            change={"(v / (1 - b2**t))": "v", "m / (1 - b1**t)": "m"},
            hint="the bias correction is missing",
            gravity="idea",
        ),
        Mistake(
            "epsilon before the correction",
            change={'(v / (1 - b2**t)).sqrt() + group["eps"]': '(v.sqrt() + group["eps"]) / (1 - b2**t) ** 0.5'},
            hint="ε is added before v is corrected",
            gravity="edge",
        ),
        Mistake(
            "epsilon under the root",
            change={'.sqrt() + group["eps"]': '.add(group["eps"]).sqrt()'},
            hint="ε is added under the root",
            gravity="edge",
        ),
        Mistake(
            "rate from the start",
            change={'group["lr"]': 'self.defaults["lr"]'},
            hint="the rate of the first step is used throughout",
            gravity="part",
        ),
        Mistake(
            "one decay for all",
            change={'group["weight_decay"]': 'self.defaults["weight_decay"]'},
            hint="all groups get the same weight decay",
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
            hint="it is not decayed either",
            gravity="part",
        ),
        Mistake(
            "one count for a group",
            change={
                'b1, b2 = group["betas"]\n': 'b1, b2 = group["betas"]\n                t = group["t"] = group.get("t", 0) + 1\n',
                '                    t = state["t"] = state.get("t", 0) + 1\n': "",
            },
            hint="every parameter counts the steps it has taken itself",
            gravity="part",
        ),
        Mistake(
            "t as a float32 tensor",
            change={'state.get("t", 0) + 1': 'state.get("t", torch.tensor(0.0)) + 1'},
            hint="digits are lost",
            gravity="edge",
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
            hint="right after the end",
            gravity="part",
        ),
        Mistake(
            "whole numbers",
            change={"it / warmup_iters * max_lr": "it // warmup_iters * max_lr"},
            says="`//` cuts the share of the warm-up to 0: divide with `/`",
            gravity="idea",
        ),
        Mistake(
            "warm-up from one", change={"it / warmup_iters": "(it + 1) / warmup_iters"}, hint="the warm-up counts from 1", gravity="idea"
        ),
        Mistake(
            "falls to zero",
            change={
                "return min_lr + 0.5": "return 0.5",
                "* (max_lr - min_lr)": "* max_lr",
                "        return min_lr\n": "        return 0.0\n",
            },
            hint="the cosine falls to zero",
            gravity="idea",
        ),
        Mistake("swings up again", change={"if it >= cosine_cycle_iters:": "if False:"}, hint="the cosine swings up again", gravity="part"),
        Mistake(
            "cosine from zero",
            change={"(it - warmup_iters) / (cosine_cycle_iters - warmup_iters)": "it / cosine_cycle_iters"},
            hint="the cosine starts at iteration 0",
            gravity="idea",
        ),
        Mistake(
            "warm-up from the minimum",
            change={"return it / warmup_iters * max_lr": "return min_lr + it / warmup_iters * (max_lr - min_lr)"},
            hint="the warm-up starts at min_lr",
            gravity="idea",
        ),
        Mistake(
            "a straight line",
            change={"0.5 * (1 + math.cos(math.pi * share))": "(1 - share)"},
            hint="the fall is a straight line",
            gravity="idea",
        ),
        Mistake(
            "T_c counted from the warm-up",
            change={"(cosine_cycle_iters - warmup_iters)": "cosine_cycle_iters"},
            hint="it ends at T_c",
            gravity="idea",
        ),
        Mistake(
            "divides by zero",
            change={
                "if it < warmup_iters:\n        return it / warmup_iters * max_lr": "if it / warmup_iters < 1:\n        return it / warmup_iters * max_lr"
            },
            hint="without a warm-up the first rate is the peak",
            gravity="edge",
        ),
        Mistake(
            "divides by zero at the end",
            change={"if it >= cosine_cycle_iters": "if it > cosine_cycle_iters"},
            hint="a warm-up that lasts until the end",
            gravity="edge",
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
            "sum of absolute values",
            change={"g.double().square().sum().item()": "g.double().abs().sum().item()", "math.sqrt(sum": "(sum"},
            says="this norm adds absolute values: square, add up, then take the root",
            gravity="idea",
        ),
        Mistake(
            "mean of squares",
            change={
                "norm = math.sqrt(sum(g.double().square().sum().item() for g in gradients if g is not None))": "norm = torch.cat([g.flatten() for g in gradients if g is not None]).double().square().mean().sqrt().item()"
            },
            says="this is the root of the mean of the squares: the norm is the root of their sum",
            gravity="idea",
        ),
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
        Mistake(
            "flattened", change={"g * factor for": "(g * factor).flatten() for"}, hint="each gradient keeps its own shape", gravity="part"
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
            hint="the factor uses the sum of the norms",
            gravity="idea",
        ),
        Mistake("squared norm", change={"math.sqrt(sum": "(sum"}, hint="the factor uses the squared norm", gravity="idea"),
        Mistake(
            "largest norm",
            change={
                "math.sqrt(sum(g.double().square().sum().item() for g in gradients if g is not None))": "max(g.norm().item() for g in gradients if g is not None)"
            },
            hint="the factor uses the largest of the norms",
            gravity="idea",
        ),
        Mistake(
            "norm after clipping",
            change={"for g in gradients], norm": "for g in gradients], min(norm, max_norm)"},
            hint="this is the norm after clipping",
            gravity="part",
        ),
        Mistake(
            "each tensor by itself",
            change={"g * factor for": "g * min(1.0, max_norm / (g.norm().item() + 1e-6)) for"},
            hint="each tensor is clipped by its own norm",
            gravity="idea",
        ),
        Mistake(
            "clipped values",
            change={"g * factor for": "g.clamp(-max_norm, max_norm) for"},
            hint="the values are clipped one by one",
            gravity="idea",
        ),
        Mistake(
            "scaled up",
            change={"min(1.0, max_norm / (norm + 1e-6))": "max_norm / (norm + 1e-6)"},
            hint="small gradients are scaled up",
            gravity="part",
        ),
        Mistake("no epsilon", change={"(norm + 1e-6)": "max(norm, 1e-30)"}, hint="the 10⁻⁶ is missing", gravity="edge"),
        Mistake(
            "None left out",
            change={"[None if g is None else g * factor for g in gradients]": "[g * factor for g in gradients if g is not None]"},
            hint="a gradient that is None stays None, at the same index",
            gravity="part",
        ),
        Mistake("in place", change={"g * factor for": "g.mul_(factor) for"}, hint=IN_PLACE, gravity="edge"),
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
        Mistake("smallest", change={"statistics.median": "min"}, hint="this compares with the smallest norm", gravity="part"),
        Mistake("largest", change={"statistics.median": "max"}, hint="this compares with the largest norm", gravity="part"),
        Mistake(
            "the first window",
            change={"accepted[-window:]": "accepted[:window]"},
            says="the first `window` accepted norms are the bar for ever: take the last ones",
            gravity="part",
        ),
        Mistake(
            "infinity accepted",
            change={"if not spike:\n            accepted": "if not spike or norm == math.inf:\n            accepted"},
            hint="infinity and NaN must not count among the accepted norms",
            gravity="part",
        ),
        Mistake(
            "a window of three",
            change={"accepted[-window:]": "accepted[-3:]", ">= window": ">= 3"},
            hint="the argument `window` is not used",
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
        Mistake("never", change={"found.append(spike)": "found.append(False)"}, hint="the 10 is missed", gravity="idea"),
        Mistake(
            "judged too late",
            change={"len(accepted) >= window": "len(accepted) > window"},
            hint="with exactly `window` accepted norms the next one is judged already",
            gravity="part",
        ),
        Mistake(
            "judged too early", change={"len(accepted) >= window": "accepted"}, hint="the 50 comes too early to be judged", gravity="part"
        ),
        Mistake("NaN missed", change={"not math.isfinite(norm)": "norm == math.inf"}, hint="NaN is missed", gravity="part"),
        Mistake(
            "spikes accepted",
            change={"        if not spike:\n            accepted": "        if math.isfinite(norm):\n            accepted"},
            hint="spikes are accepted",
            gravity="part",
        ),
        Mistake("all of the past", change={"accepted[-window:]": "accepted"}, hint="only the last `window` do", gravity="part"),
        Mistake("mean", change={"statistics.median": "statistics.fmean"}, hint="this compares with the mean", gravity="part"),
        Mistake(
            "own constants",
            change={"factor * statistics": "3.0 * statistics"},
            hint="the factor is 3, whatever the argument says",
            gravity="part",
        ),
        Mistake(
            "at least",
            change={"norm > factor": "norm >= factor"},
            hint="exactly `factor` times the median is not yet a spike",
            gravity="edge",
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
            hint="you take a snapshot in every step",
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
            hint="use k for the k-th rollback",
            gravity="part",
        ),
        Mistake(
            "orders from zero",
            change={"run.reshuffle(len(undone))": "run.reshuffle(len(undone) - 1)"},
            hint="the reshuffling numbers start from 0",
            gravity="part",
        ),
        Mistake(
            "the step for k",
            change={"run.reshuffle(len(undone))": "run.reshuffle(run.step)"},
            hint="run.reshuffle gets the number of the rollback, not the step",
            gravity="part",
        ),
        Mistake(
            "losses kept",
            change={"        del losses[run.step :]\n": ""},
            hint="drop the losses of the steps that are undone",
            gravity="part",
        ),
        Mistake(
            "the bad step counted",
            change={"undone.append(run.step - 1)": "undone.append(run.step)"},
            hint="the bad step is counted",
            gravity="part",
        ),
        Mistake(
            "the snapshot's step noted",
            change={"        undone.append(run.step - 1)\n": "        undone.append((run.step - 1) // every * every)\n"},
            hint="this is the step of the snapshot",
            gravity="part",
        ),
        Mistake(
            "only one snapshot", change={"if run.step % every == 0:": "if run.step == 0:"}, hint="go back to the last one", gravity="part"
        ),
        Mistake(
            "nothing restored",
            change={"        restore(run, craft.from_bytes(saved))\n": "        run.step -= 1\n"},
            hint="every rollback failed again: first restore the snapshot, which you kept as bytes, then call run.reshuffle(k)",
            gravity="idea",
        ),
        Mistake("never looks", change={"if math.isfinite(loss):": "if True:"}, hint="no rollback happened", gravity="idea"),
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
            hint="this is the step of the snapshot",
            gravity="part",
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
            hint="this is the smaller root: in the long run the larger one decides",
            gravity="idea",
        ),
        Mistake(
            "a sign", change={"abs(half) + math.sqrt(inside)": "half - math.sqrt(inside)"}, hint="take the absolute value", gravity="idea"
        ),
        Mistake("the real part", change={"return math.sqrt(momentum)": "return abs(half)"}, hint="this is the real part", gravity="part"),
        Mistake(
            "the product of both",
            change={"return math.sqrt(momentum)": "return momentum"},
            hint="the absolute value of each is √μ",
            gravity="part",
        ),
        Mistake(
            "no momentum",
            change={"half = (1 + momentum - rate * steepness) / 2\n": "return abs(1 - rate * steepness)\n    half = 0.0\n"},
            hint="the equation is quadratic",
            gravity="idea",
        ),
        Mistake(
            "no momentum in the middle term",
            change={"(1 + momentum - rate": "(1 - rate"},
            hint="Is the middle term 1 + μ − ηh?",
            gravity="idea",
        ),
        Mistake(
            "only roots below zero",
            change={"abs(half) + math.sqrt(inside)": "abs(math.sqrt(inside) - half)"},
            hint="this is the smaller root: in the long run the larger one decides",
            gravity="idea",
        ),
        Mistake(
            "capped at one",
            change={"abs(half) + math.sqrt(inside)": "min(1.6, abs(half) + math.sqrt(inside))"},
            hint="far beyond the edge the factor is wrong",
            gravity="part",
        ),
        Mistake(
            "the edge without momentum",
            change={"2 * (1 + momentum) / steepness": "2 / steepness"},
            hint="the momentum moves it",
            gravity="idea",
        ),
        Mistake(
            "the edge moves down",
            change={"2 * (1 + momentum)": "2 * (1 - momentum)"},
            hint="moves up with the momentum, not down",
            gravity="idea",
        ),
        Mistake(
            "the long-run step",
            change={"2 * (1 + momentum) / steepness": "2 / (1 - momentum) / steepness"},
            hint="this divides by 1 − μ",
            gravity="idea",
        ),
        Mistake("half the edge", change={"2 * (1 + momentum)": "(1 + momentum)"}, hint="here no root has reached −1 yet", gravity="idea"),
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
