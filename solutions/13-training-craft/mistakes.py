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
        Right("another temporary name", change={'name + ".tmp"': '"." + name + ".part"'}),
        Right("synced once more", change={"    disk.sync_folder()\n": "    disk.sync(name)\n    disk.sync_folder()\n"}),
    ],
    "snapshot": [
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
