"""Wrong answers that the tests of 13-training-craft must catch, and right ones that they must accept."""

from autograder.mistakes import Mistake, Right

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

UNSCALE = """
def unscale(gradients, scale):
    bad = False
    out = []
    for g in gradients:
        wide = g.to(torch.float32) * (1.0 / scale)
        bad = bad or bool(torch.isnan(wide).any() or torch.isinf(wide).any())
        out.append(wide)
    return bad, out
"""
NEXT_SCALE = """
def next_scale(scale, good, overflow, interval=2000, growth=2.0, backoff=0.5):
    if overflow:
        scale, good = scale * backoff, 0
    else:
        good = good + 1
        if good >= interval:
            scale, good = scale * growth, 0
    return scale, good
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
WORKERS = """
def all_workers(gradients, counts):
    return workers.in_step(lambda rank, all_sum: average_gradients(gradients[rank], counts[rank], all_sum), len(counts))[0]
"""
AT_ONCE = """
def all_workers_at_once(gradients, counts):
    return workers.in_step(lambda rank, all_sum: average_in_one_call(gradients[rank], counts[rank], all_sum), len(counts))[0]
"""
ROLLED = """
def rolled_back(steps, every, poison, number=0, patience=5):
    run = craft.SmallRun(number, poison=poison)
    losses, undone = train_with_rollback(run, steps, every, patience)
    return {"losses": losses, "undone": undone, "weights": run.weights(), "step": run.step}
"""

VARIANTS = {
    "sgd": [
        Mistake("uphill", change={"p.sub_(": "p.add_("}, hint="the parameter moved along the gradient"),
        Mistake("a new name", change={'p.sub_(group["lr"] * v)': 'p = p - group["lr"] * v'}, hint="only binds a new name"),
        Mistake("no momentum", change={'self.state[p].get("v", 0)': "0"}, hint="there is no momentum"),
        Mistake(
            "velocity as a mean",
            change={"+ d\n": '+ (1 - group["momentum"]) * d\n'},
            hint="the gradient enters the velocity with its full weight",
        ),
        Mistake("Nesterov", change={'group["lr"] * v)': 'group["lr"] * (d + group["momentum"] * v))'}, hint="this is Nesterov's variant"),
        Mistake("decay with the wrong sign", change={"p.grad + ": "p.grad - "}, hint="weight decay pulls towards zero"),
        Mistake("no decay", change={'p.grad + group["weight_decay"] * p': "p.grad"}, hint="the weight decay is missing"),
        Mistake(
            "the velocity fades without a gradient",
            change={
                "if p.grad is not None:": "if p.grad is None and 'v' in self.state[p]:\n                        self.state[p]['v'] = group['momentum'] * self.state[p]['v']\n                    if p.grad is not None:"
            },
            hint="keeps its velocity, and does not move",
        ),
        Mistake(
            "decay past the velocity",
            change={
                'd = p.grad + group["weight_decay"] * p': 'd = p.grad\n                        p.mul_(1 - group["lr"] * group["weight_decay"])'
            },
            hint="the weight decay bypasses the velocity",
        ),
        Mistake(
            "rate inside the velocity", change={"+ d\n": '+ group["lr"] * d\n', 'group["lr"] * v)': "v)"}, hint="keep η out of the velocity"
        ),
        Mistake(
            "options from the start", change={'group["lr"]': 'self.defaults["lr"]'}, hint="the rate of the first step is used throughout"
        ),
        Mistake(
            "one decay for all",
            change={'group["weight_decay"]': 'self.defaults["weight_decay"]'},
            hint="all groups get the same weight decay",
        ),
        Mistake("no gradient, no mercy", change={"if p.grad is not None:": "if True:"}, hint="your code raised TypeError"),
        Mistake(
            "missing gradients as zeros",
            change={"if p.grad is not None:": "if True:", "d = p.grad +": "d = (torch.zeros_like(p) if p.grad is None else p.grad) +"},
            hint="a parameter without a gradient (None) stays as it is",
        ),
        Mistake(
            "velocity outside the state",
            change={
                'self.state[p].get("v", 0)': "self.__dict__.setdefault('memory', {}).get(p, 0)",
                'self.state[p]["v"] = v': "self.memory[p] = v",
            },
            hint="the velocity must live in self.state[p]",
        ),
        Mistake(
            "the gradient changed",
            change={"d = p.grad + ": "d = p.grad.add_(", " * p\n": " * p)\n"},
            hint="the step has changed a gradient",
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
        Mistake("sign", change={"return lr * g /": "return -lr * g /"}, hint="it has the gradient's own sign"),
        Mistake("m not corrected", change={"return lr * g /": "return lr * (1 - b1) * g /"}, hint="the mean's correction is missing"),
        Mistake(
            "no division",
            change={"    if corrected:\n        return lr * g / (g.abs() + eps)": "    if corrected:\n        return lr * g"},
            hint="this step is proportional to the gradient",
        ),
        Mistake("always corrected", change={"if corrected": "if True"}, hint="the correction is still there"),
        Mistake("no root", change={"(1 - b2) ** 0.5": "(1 - b2)"}, hint="the root of 1 − β₂ is needed"),
        Mistake("betas for their complements", change={"(1 - b1)": "b1", "(1 - b2) ** 0.5": "b2**0.5"}, hint="you used β₁ and β₂ instead"),
        Mistake("no epsilon", change={"(g.abs() + eps)": "g.abs().clamp(min=1e-300)"}, hint="ε is missing"),
        Mistake("epsilon under the root", change={"(g.abs() + eps)": "(g * g + eps).sqrt()"}, hint="ε is added under the root"),
        Mistake(
            "epsilon before the correction",
            change={"lr * g / (g.abs() + eps)": "lr * g * (1 - b2) ** 0.5 / ((1 - b2) ** 0.5 * g.abs() + eps)"},
            hint="ε is added before the correction of v",
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
        Mistake("uphill", change={"p.sub_(": "p.add_("}, hint="the parameter moved along the gradient"),
        Mistake("no correction", change={"(v / (1 - b2**t))": "v", "m / (1 - b1**t)": "m"}, hint="the first step lacks both corrections"),
        Mistake("only v corrected", change={"m / (1 - b1**t)": "m"}, hint="only v is corrected"),
        Mistake("only m corrected", change={"(v / (1 - b2**t))": "v"}, hint="only m is corrected"),
        Mistake("t stays at one", change={'state.get("t", 0) + 1': "1"}, hint="the step count stays at 1"),
        Mistake("betas swapped", change={'b1, b2 = group["betas"]': 'b2, b1 = group["betas"]'}, hint="the betas are swapped"),
        Mistake(
            "one count for all parameters",
            change={'t = state["t"] = state.get("t", 0) + 1': 't = self.t = getattr(self, "t", 0) + 1'},
            hint="one t counts the steps of all parameters together",
        ),
        Mistake("t one too large", change={'state.get("t", 0) + 1': 'state.get("t", 1) + 1'}, hint="the correction uses t + 1"),
        Mistake(
            "no memory",
            change={'state.get("m", 0)': "0", 'state.get("v", 0)': "0", 'state.get("t", 0)': "0"},
            hint="the running means are not remembered",
        ),
        Mistake("epsilon under the root", change={'.sqrt() + group["eps"]': '.add(group["eps"]).sqrt()'}, hint="ε is added under the root"),
        Mistake(
            "epsilon before the correction",
            change={'(v / (1 - b2**t)).sqrt() + group["eps"]': '(v.sqrt() + group["eps"]) / (1 - b2**t) ** 0.5'},
            hint="ε is added before v is corrected",
        ),
        Mistake("no root", change={"(v / (1 - b2**t)).sqrt()": "(v / (1 - b2**t))"}, hint="the root of v is missing"),
        Mistake("absolute values", change={"* g * g": "* g.abs()"}, hint="v is the running mean of squares"),
        Mistake(
            "AdamW",
            change={
                'p.grad + group["weight_decay"] * p': "p.grad",
                "p.sub_(": 'p.mul_(1 - group["lr"] * group["weight_decay"])\n                    p.sub_(',
            },
            hint="that is AdamW, the next exercise",
        ),
        Mistake("no decay", change={'p.grad + group["weight_decay"] * p': "p.grad"}, hint="the weight decay is missing"),
        Mistake("options from the start", change={'group["lr"]': 'self.defaults["lr"]'}, hint="read every option from `group` inside step"),
        Mistake(
            "state elsewhere", code=optimiser("Adam", OUTSIDE_STATE.replace("COUPLED", "1")), hint="m, v and t must live in self.state[p]"
        ),
        Mistake("one count for all", code=optimiser("Adam", GLOBAL_COUNT), hint="every parameter counts the steps it has taken itself"),
        Mistake(
            "missing gradients as zeros",
            change={
                "if p.grad is None:\n                        continue": "if p.grad is None:\n                        p.grad = torch.zeros_like(p)"
            },
            hint="a parameter without a gradient (None) stays as it is",
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
            hint="the decay went through Adam's running means",
        ),
        Mistake(
            "decay without the rate",
            change={'p.mul_(1 - group["lr"] * group["weight_decay"])': 'p.mul_(1 - group["weight_decay"])'},
            hint="the decay is λ, without the learning rate",
        ),
        Mistake("growth", change={"p.mul_(1 - ": "p.mul_(1 + "}, hint="the weights grow"),
        Mistake("no decay", change={'p.mul_(1 - group["lr"] * group["weight_decay"])': "pass"}, hint="nothing decays"),
        Mistake(
            "decay after the step",
            change={
                'p.mul_(1 - group["lr"] * group["weight_decay"])\n': "\n",
                'p.sub_(group["lr"] * m / (1 - b1**t) / root)': 'p.sub_(group["lr"] * m / (1 - b1**t) / root)\n                    p.mul_(1 - group["lr"] * group["weight_decay"])',
            },
            hint="the decay comes after Adam's step",
        ),
        Mistake("no correction", change={"(v / (1 - b2**t))": "v", "m / (1 - b1**t)": "m"}, hint="the bias correction is missing"),
        Mistake(
            "epsilon before the correction",
            change={'(v / (1 - b2**t)).sqrt() + group["eps"]': '(v.sqrt() + group["eps"]) / (1 - b2**t) ** 0.5'},
            hint="ε is added before v is corrected",
        ),
        Mistake("epsilon under the root", change={'.sqrt() + group["eps"]': '.add(group["eps"]).sqrt()'}, hint="ε is added under the root"),
        Mistake("rate from the start", change={'group["lr"]': 'self.defaults["lr"]'}, hint="the rate of the first step is used throughout"),
        Mistake(
            "one decay for all",
            change={'group["weight_decay"]': 'self.defaults["weight_decay"]'},
            hint="all groups get the same weight decay",
        ),
        Mistake(
            "state elsewhere", code=optimiser("AdamW", OUTSIDE_STATE.replace("COUPLED", "0")), hint="m, v and t must live in self.state[p]"
        ),
        Mistake(
            "decay of what has no gradient",
            change={
                "if p.grad is None:\n": 'if p.grad is None:\n                        p.mul_(1 - group["lr"] * group["weight_decay"])\n'
            },
            hint="it is not decayed either",
        ),
        Mistake(
            "one count for a group",
            change={
                'b1, b2 = group["betas"]\n': 'b1, b2 = group["betas"]\n                t = group["t"] = group.get("t", 0) + 1\n',
                '                    t = state["t"] = state.get("t", 0) + 1\n': "",
            },
            hint="every parameter counts the steps it has taken itself",
        ),
        Mistake("t as a float32 tensor", change={'state.get("t", 0) + 1': 'state.get("t", torch.tensor(0.0)) + 1'}, hint="digits are lost"),
        Right("torch's way", code=optimiser("AdamW", TORCH_STYLE.replace("DECAY", 'p.mul_(1 - lr * group["weight_decay"])'))),
        Right(
            "one expression",
            change={
                'p.mul_(1 - group["lr"] * group["weight_decay"])\n': "\n",
                'p.sub_(group["lr"] * m / (1 - b1**t) / root)': 'p.sub_(group["lr"] * (group["weight_decay"] * p + m / (1 - b1**t) / root))',
            },
        ),
    ],
    "noam": [
        Mistake("no width", change={"factor * width**-0.5 * min": "factor * min"}, hint="the width is missing: multiply by D^(−1/2)"),
        Mistake("the larger term", change={"min(step**-0.5": "max(step**-0.5"}, hint="it must be the smaller one"),
        Mistake("width to the other power", change={"width**-0.5": "width**0.5"}, hint="not by its +1/2 power"),
        Mistake("constant after the warm-up", change={"step**-0.5,": "warmup**-0.5,"}, hint="the rate stays at its peak"),
        Mistake(
            "falls like one over step",
            change={"min(step**-0.5, step * warmup**-1.5)": "min(1 / step, step * warmup**-2)"},
            hint="the rate falls like 1/step",
        ),
        Mistake(
            "step zero",
            change={"if step == 0:\n        return 0.0\n": "if False:\n        return 0.0\n"},
            hint="step 0 gives 0.0, not an error",
        ),
        Mistake("no factor", change={"return factor * width**-0.5": "return width**-0.5"}, hint="the factor multiplies every rate"),
        Mistake(
            "peak at the first step",
            change={"(width * warmup) ** -0.5": "width**-0.5 * warmup**-1.5"},
            hint="this is the rate of the first step",
        ),
        Right(
            "two cases", change={"min(step**-0.5, step * warmup**-1.5)": "(step * warmup**-1.5 if step < warmup else 1 / math.sqrt(step))"}
        ),
        Right(
            "by its own schedule",
            change={"factor * (width * warmup) ** -0.5": "noam_rate(warmup, width, warmup, factor)"},
        ),
    ],
    "cosine": [
        Mistake("warm-up from one", change={"it / warmup_iters": "(it + 1) / warmup_iters"}, hint="the warm-up counts from 1"),
        Mistake(
            "falls to zero",
            change={
                "return min_lr + 0.5": "return 0.5",
                "* (max_lr - min_lr)": "* max_lr",
                "        return min_lr\n": "        return 0.0\n",
            },
            hint="the cosine falls to zero",
        ),
        Mistake("swings up again", change={"if it >= cosine_cycle_iters:": "if False:"}, hint="the cosine swings up again"),
        Mistake(
            "cosine from zero",
            change={"(it - warmup_iters) / (cosine_cycle_iters - warmup_iters)": "it / cosine_cycle_iters"},
            hint="the cosine starts at iteration 0",
        ),
        Mistake(
            "warm-up from the minimum",
            change={"return it / warmup_iters * max_lr": "return min_lr + it / warmup_iters * (max_lr - min_lr)"},
            hint="the warm-up starts at min_lr",
        ),
        Mistake("a straight line", change={"0.5 * (1 + math.cos(math.pi * share))": "(1 - share)"}, hint="the fall is a straight line"),
        Mistake(
            "T_c counted from the warm-up", change={"(cosine_cycle_iters - warmup_iters)": "cosine_cycle_iters"}, hint="it ends at T_c"
        ),
        Mistake(
            "divides by zero",
            change={
                "if it < warmup_iters:\n        return it / warmup_iters * max_lr": "if it / warmup_iters < 1:\n        return it / warmup_iters * max_lr"
            },
            hint="without a warm-up the first rate is the peak",
        ),
        Mistake(
            "divides by zero at the end",
            change={"if it >= cosine_cycle_iters": "if it > cosine_cycle_iters"},
            hint="a warm-up that lasts until the end",
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
            hint="this is the sum of the two norms",
        ),
        Mistake("squared norm", change={"math.sqrt(sum": "(sum"}, hint="this is the squared norm"),
        Mistake(
            "largest norm",
            change={
                "math.sqrt(sum(g.double().square().sum().item() for g in gradients if g is not None))": "max(g.norm().item() for g in gradients if g is not None)"
            },
            hint="this is the largest of the norms",
        ),
        Mistake(
            "norm after clipping",
            change={"for g in gradients], norm": "for g in gradients], min(norm, max_norm)"},
            hint="this is the norm after clipping",
        ),
        Mistake(
            "each tensor by itself",
            change={"g * factor for": "g * min(1.0, max_norm / (g.norm().item() + 1e-6)) for"},
            hint="each tensor is clipped by its own norm",
        ),
        Mistake(
            "clipped values",
            change={"g * factor for": "g.clamp(-max_norm, max_norm) for"},
            hint="the values are clipped one by one",
        ),
        Mistake(
            "scaled up", change={"min(1.0, max_norm / (norm + 1e-6))": "max_norm / (norm + 1e-6)"}, hint="small gradients are scaled up"
        ),
        Mistake("no epsilon", change={"(norm + 1e-6)": "max(norm, 1e-30)"}, hint="the 10⁻⁶ is missing"),
        Mistake(
            "None left out",
            change={"[None if g is None else g * factor for g in gradients]": "[g * factor for g in gradients if g is not None]"},
            hint="a gradient that is None stays None, in its place",
        ),
        Mistake("in place", change={"g * factor for": "g.mul_(factor) for"}, hint=IN_PLACE),
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
        Mistake("never", change={"found.append(spike)": "found.append(False)"}, hint="the 10 is missed"),
        Mistake(
            "judged too late",
            change={"len(accepted) >= window": "len(accepted) > window"},
            hint="with exactly `window` accepted norms the next one is judged already",
        ),
        Mistake("judged too early", change={"len(accepted) >= window": "accepted"}, hint="the 50 comes too early to be judged"),
        Mistake("NaN missed", change={"not math.isfinite(norm)": "norm == math.inf"}, hint="NaN is missed"),
        Mistake(
            "spikes accepted",
            change={"        if not spike:\n            accepted": "        if math.isfinite(norm):\n            accepted"},
            hint="spikes are accepted",
        ),
        Mistake("all of the past", change={"accepted[-window:]": "accepted"}, hint="only the last `window` do"),
        Mistake("mean", change={"statistics.median": "statistics.fmean"}, hint="this compares with the mean"),
        Mistake("own constants", change={"factor * statistics": "3.0 * statistics"}, hint="use the arguments"),
        Mistake("at least", change={"norm > factor": "norm >= factor"}, hint="exactly `factor` times the median is not yet a spike"),
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
        ),
        Mistake("no sync before the rename", change={'    disk.sync(name + ".tmp")\n': ""}, hint="sync it before you rename it"),
        Mistake("folder not synced", change={"    disk.sync_folder()\n": ""}, hint="after the rename, sync the folder"),
        Mistake(
            "sync after the rename",
            code="def save_atomically(disk, name, data):\n    disk.write(name + '.tmp', data)\n    disk.rename(name + '.tmp', name)\n    disk.sync(name)\n    disk.sync_folder()",
            hint="sync it before you rename it",
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
        ),
        Mistake(
            "never renamed",
            change={'    disk.rename(name + ".tmp", name)\n': ""},
            hint="when the function has come back, the file holds the new bytes",
        ),
        Mistake(
            "a copy stays",
            change={"    disk.sync_folder()\n": '    disk.sync_folder()\n    disk.write(name + ".backup", data)\n'},
            hint="a file is left over",
        ),
        Mistake("another file's name", change={'name + ".tmp"': '"notes.txt"'}, hint="another file is touched"),
        Right(
            "folder synced twice",
            change={'    disk.rename(name + ".tmp", name)\n': '    disk.sync_folder()\n    disk.rename(name + ".tmp", name)\n'},
        ),
        Right("another temporary name", change={'name + ".tmp"': '"." + name + ".part"'}),
        Right("synced once more", change={"    disk.sync_folder()\n": "    disk.sync(name)\n    disk.sync_folder()\n"}),
    ],
    "snapshot": [
        Mistake("no weights", change={'    run.model.load_state_dict(state["model"])\n': ""}, hint="the weights are not restored"),
        Mistake("no optimiser", change={'    run.optimiser.load_state_dict(state["optimiser"])\n': ""}, hint="the optimiser starts anew"),
        Mistake("no schedule", change={'    run.schedule.load_state_dict(state["schedule"])\n': ""}, hint="the schedule starts anew"),
        Mistake(
            "no generator",
            change={'    run.generator.set_state(state["generator"])\n': ""},
            hint="the generator of the data order is not restored",
        ),
        Mistake("no order", change={'    run.order = state["order"]\n': ""}, hint="this epoch's order of the examples is not restored"),
        Mistake("no place", change={'    run.place = state["place"]\n': ""}, hint="the place in the epoch is not restored"),
        Mistake("no step", change={'    run.step = state["step"]\n': ""}, hint="run.step must say 30"),
        Mistake(
            "no dropout masks", change={'    torch.set_rng_state(state["torch"])\n': ""}, hint="torch's global generator is not restored"
        ),
        Mistake("no Python noise", change={'    random.setstate(state["python"])\n': ""}, hint="Python's own generator is not restored"),
        Mistake(
            "seeds for states",
            change={
                '    torch.set_rng_state(state["torch"])\n': "    torch.manual_seed(0)\n",
                '    random.setstate(state["python"])\n': "    random.seed(0)\n",
            },
            hint="the run does not go on bit for bit",
        ),
        Mistake(
            "the run itself",
            change={'"order": run.order,': '"order": run.order,\n        "run": run,'},
            hint="this one holds a SmallRun (under ['run'])",
        ),
        Mistake(
            "a module for its state",
            change={"run.model.state_dict(),": "run.model,", 'state["model"])\n': 'state["model"].state_dict())\n'},
            hint="take its state_dict()",
        ),
        Mistake(
            "the snapshot draws", change={"    return {\n": "    torch.rand(1)\n    return {\n"}, hint="the run does not go on bit for bit"
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
        Mistake("no reshuffling", change={"        run.reshuffle(len(undone))\n": ""}, hint="the run gave up: every rollback failed again"),
        Mistake(
            "reshuffled, then restored",
            change={
                "        restore(run, craft.from_bytes(saved))\n        run.reshuffle(len(undone))\n": "        run.reshuffle(len(undone))\n        restore(run, craft.from_bytes(saved))\n"
            },
            hint="the run gave up: every rollback failed again",
        ),
        Mistake(
            "a snapshot that lives on",
            change={"craft.to_bytes(snapshot(run))": "snapshot(run)", "craft.from_bytes(saved)": "saved"},
            hint="anything else changes with the run",
        ),
        Mistake(
            "patience one too short",
            change={"if len(undone) > patience:": "if len(undone) >= patience:"},
            hint="with patience 2 two rollbacks are allowed",
        ),
        Mistake(
            "patience one too long",
            change={"if len(undone) > patience:": "if len(undone) > patience + 1:"},
            hint="with patience 1 the second rollback is one too many",
        ),
        Mistake("always the same order", change={"run.reshuffle(len(undone))": "run.reshuffle(1)"}, hint="use k for the k-th rollback"),
        Mistake(
            "orders from zero",
            change={"run.reshuffle(len(undone))": "run.reshuffle(len(undone) - 1)"},
            hint="the reshuffling numbers start from 0",
        ),
        Mistake(
            "the step for k",
            change={"run.reshuffle(len(undone))": "run.reshuffle(run.step)"},
            hint="run.reshuffle gets the number of the rollback, not the step",
        ),
        Mistake("losses kept", change={"        del losses[run.step :]\n": ""}, hint="drop the losses of the steps that are undone"),
        Mistake("the bad step counted", change={"undone.append(run.step - 1)": "undone.append(run.step)"}, hint="the bad step is counted"),
        Mistake(
            "the snapshot's step noted",
            change={"        undone.append(run.step - 1)\n": "        undone.append((run.step - 1) // every * every)\n"},
            hint="the step of the snapshot was noted",
        ),
        Mistake("only one snapshot", change={"if run.step % every == 0:": "if run.step == 0:"}, hint="go back to the last one"),
        Mistake(
            "nothing restored",
            change={"        restore(run, craft.from_bytes(saved))\n": "        run.step -= 1\n"},
            hint="the run gave up: every rollback failed again",
        ),
        Mistake("never looks", change={"if math.isfinite(loss):": "if True:"}, hint="no rollback happened"),
        Mistake(
            "only NaN", change={"if math.isfinite(loss):": "if not math.isnan(loss):"}, hint="the rollbacks do not happen where they should"
        ),
        Mistake(
            "no patience",
            change={"if len(undone) > patience:": "if len(undone) > 40:", "raise FloatingPointError(": "break  # ("},
            hint="raise a FloatingPointError after more than `patience` rollbacks",
        ),
        Mistake(
            "restored before it is noted",
            change={
                "        undone.append(run.step - 1)\n": "",
                "        restore(run, craft.from_bytes(saved))\n": "        restore(run, craft.from_bytes(saved))\n        undone.append(run.step)\n",
            },
            hint="the step of the snapshot was noted",
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
    "limits": [
        Mistake(
            "the reserved exponent",
            change={"(2**exponent_bits - 2, 2**mantissa_bits - 1)": "(2**exponent_bits - 1, 2**mantissa_bits - 1)"},
            hint="twice too large: the highest exponent belongs to infinity and NaN",
        ),
        Mistake(
            "mantissa of zeros",
            change={"(1 + mantissa / 2**mantissa_bits)": "(1.0 if not finite else 1 + mantissa / 2**mantissa_bits)"},
            hint="the mantissa is all ones there",
        ),
        Mistake(
            "a whole two",
            change={"(1 + mantissa / 2**mantissa_bits)": "(2.0 if not finite else 1 + mantissa / 2**mantissa_bits)"},
            hint="65536 is the first number that is too large",
        ),
        Mistake(
            "subnormal exponent",
            change={"2.0 ** (1 - bias - mantissa_bits)": "2.0 ** (-bias - mantissa_bits)"},
            hint="subnormal numbers have the exponent 1 − b",
        ),
        Mistake(
            "normal from zero",
            change={"2.0 ** (1 - bias)": "2.0 ** (-bias)", "2.0 ** (1 - bias - mantissa_bits)": "2.0 ** (-bias - mantissa_bits)"},
            hint="The smallest normal number has e = 1",
        ),
        Mistake("bias one too large", change={"** (exponent_bits - 1) - 1": "** (exponent_bits - 1)"}, hint="is the bias 2^(E−1) − 1?"),
        Mistake("half of epsilon", change={"2.0**-mantissa_bits\n": "2.0 ** (-mantissa_bits - 1)\n"}, hint="this is half the distance"),
        Mistake("all ones is a number", change={"2**mantissa_bits - 2)": "2**mantissa_bits - 1)"}, hint="the largest mantissa is 2^M − 2"),
        Mistake("finite ignored", change={"if finite else": "if False else"}, hint="a finite format uses its highest exponent for numbers"),
        Right(
            "by powers of two",
            code="""
def limits(exponent_bits, mantissa_bits, finite=False):
    b = (1 << (exponent_bits - 1)) - 1
    step = math.ldexp(1.0, -mantissa_bits)
    largest = math.ldexp(2 - 2 * step, b + 1) if finite else math.ldexp(2 - step, b)
    return [largest, math.ldexp(1.0, 1 - b), math.ldexp(step, 1 - b), step]
""",
        ),
        Right(
            "a tensor",
            change={
                "return largest, 2.0 ** (1 - bias), 2.0 ** (1 - bias - mantissa_bits), 2.0**-mantissa_bits": "return torch.tensor([largest, 2.0 ** (1 - bias), 2.0 ** (1 - bias - mantissa_bits), 2.0**-mantissa_bits], dtype=torch.float64)"
            },
        ),
    ],
    "decode": [
        Mistake("always a hidden one", change={"+ (e > 0)": "+ 1"}, hint="e = 0 has no hidden one"),
        Mistake("subnormal exponent", change={"e.clamp(min=1)": "e"}, hint="for e = 0 the exponent is 1 − b"),
        Mistake("no sign", change={"return sign * value": "return value"}, hint="where are the sign, the exponent, the bias?"),
        Mistake(
            "bias one too large",
            change={"** (exponent_bits - 1) - 1": "** (exponent_bits - 1)"},
            hint="where are the sign, the exponent, the bias?",
        ),
        Mistake(
            "no infinities",
            change={"value[top] = torch.where(m[top] == 0, torch.inf, torch.nan).double()": "pass"},
            hint="the highest exponent stands for ±infinity",
        ),
        Mistake(
            "only NaN",
            change={"torch.where(m[top] == 0, torch.inf, torch.nan).double()": "torch.nan"},
            hint="the highest exponent stands for ±infinity",
        ),
        Mistake("finite ignored", change={"if finite:": "if False:"}, hint="a finite format has no infinity"),
        Mistake(
            "finite without NaN", change={"value[top & (m == 2**mantissa_bits - 1)] = torch.nan": "pass"}, hint="its only NaN is all ones"
        ),
        Right(
            "one at a time",
            code="""
def decode_bits(bits, exponent_bits, mantissa_bits, finite=False):
    def one(n):
        m, rest = n % 2**mantissa_bits, n // 2**mantissa_bits
        e, s = rest % 2**exponent_bits, rest // 2**exponent_bits
        b, sign = 2 ** (exponent_bits - 1) - 1, -1.0 if s else 1.0
        if e == 2**exponent_bits - 1 and not finite:
            return sign * math.inf if m == 0 else math.nan
        if e == 2**exponent_bits - 1 and m == 2**mantissa_bits - 1:
            return math.nan
        return sign * (m * 2.0 ** (1 - b - mantissa_bits) if e == 0 else (2**mantissa_bits + m) * 2.0 ** (e - b - mantissa_bits))

    return torch.tensor([one(n) for n in bits.flatten().tolist()], dtype=torch.float64).view(bits.shape)
""",
        ),
        Right("division for shifts", change={"(bits >> mantissa_bits) &": "torch.div(bits, 2**mantissa_bits, rounding_mode='floor') &"}),
    ],
    "round": [
        Mistake("cut off", change={"torch.round(x / gap)": "torch.trunc(x / gap)"}, hint="the rest is cut off"),
        Mistake("ties up", change={"torch.round(x / gap)": "torch.floor(x / gap + 0.5)"}, hint="ties are rounded up"),
        Mistake("frexp's exponent as it is", change={".exponent - 1)": ".exponent)"}, hint="the steps are too wide"),
        Mistake("steps too narrow", change={"(k - mantissa_bits)": "(k - mantissa_bits - 1)"}, hint="the steps are too narrow"),
        Mistake("no subnormal limit", change={".clamp(min=1 - bias)": ""}, hint="the exponent must not fall below 1 − b"),
        Mistake(
            "subnormal flushed",
            change={"y = torch.round(x / gap) * gap": "y = torch.where(x.abs() < 2.0 ** (1 - bias), 0.0, torch.round(x / gap) * gap)"},
            hint="everything below the smallest normal number becomes 0",
        ),
        Mistake(
            "overflow before rounding",
            change={"(y.abs() > largest)": "(x.abs() > largest)"},
            hint="a number overflows only if it is too large after rounding",
        ),
        Mistake("no overflow", change={"(y.abs() > largest) | x.isinf()": "x.isinf()"}, hint="nothing overflows here"),
        Mistake("always saturates", change={"largest if saturate": "largest if True"}, hint="without `saturate` an overflow is infinite"),
        Mistake(
            "infinity in a finite format",
            change={"math.nan if finite else math.inf": "math.inf"},
            hint="a finite format has no infinity: NaN takes its place",
        ),
        Mistake("saturate ignored", change={"largest if saturate else ": ""}, hint="with saturate=True an overflow"),
        Mistake(
            "bias one too large",
            change={"** (exponent_bits - 1) - 1": "** (exponent_bits - 1)"},
            hint="below 2^−14 the numbers of fp16 are evenly spaced",
        ),
        Right(
            "search in the table of all numbers",
            code="""
def round_to(x, exponent_bits, mantissa_bits, finite=False, saturate=False):
    x, flat = x.double(), []
    top = limits(exponent_bits, mantissa_bits, finite)[0]
    for v in x.flatten().tolist():
        if math.isnan(v):
            flat.append(v)
            continue
        a = abs(v)
        e = max(math.frexp(a)[1] - 1, 2 - 2 ** (exponent_bits - 1)) if math.isfinite(a) else 0
        gap = math.ldexp(1.0, e - mantissa_bits)
        r = round(a / gap) * gap if math.isfinite(a) else a
        r = r if r <= top else top if saturate else math.nan if finite else math.inf
        flat.append(math.copysign(r, v))
    return torch.tensor(flat, dtype=torch.float64).view(x.shape)
""",
        ),
        Right(
            "exponent by log2",
            change={"(torch.frexp(x).exponent - 1).clamp(min=1 - bias)": "x.abs().clamp(min=2.0 ** (1 - bias), max=1e300).log2().floor()"},
        ),
    ],
    "mask": [
        Mistake("cut off", change={"(bits + 2 ** (drop - 1) - 1 + stays) &": "bits &"}, hint="the bits are cut off"),
        Mistake("ties up", change={"2 ** (drop - 1) - 1 + stays": "2 ** (drop - 1)"}, hint="ties are rounded up"),
        Mistake("ties down", change={" - 1 + stays": " - 1"}, hint="the lowest bit that stays is missing"),
        Mistake("values for bits", change={"x.view(torch.int32)": "(x * 2**23).int()"}, hint="tf32 keeps 10 mantissa bits"),
        Mistake("whole numbers", change={"rounded.view(torch.float32), x)": "x.int().float(), x)"}, hint="these are whole numbers"),
        Mistake(
            "converted, not viewed",
            change={"x.view(torch.int32)": "x.to(torch.int32)", "rounded.view(torch.float32)": "rounded.to(torch.float32)"},
            hint="everything became 0",
        ),
        Mistake(
            "NaN rounded",
            change={"torch.where(x.isfinite(), rounded.view(torch.float32), x)": "rounded.view(torch.float32)"},
            hint="infinity and NaN must stay what they are",
        ),
        Mistake("always tf32", change={"drop = 23 - mantissa_bits": "drop = 13"}, hint="always ten bits are kept"),
        Mistake("full mantissa fails", change={"if drop == 0:": "if False:"}, hint="your code raised NotImplementedError at line"),
        Right(
            "numpy",
            code="""
def round_by_mask(x, mantissa_bits):
    r = 23 - mantissa_bits
    bits = x.numpy().copy().view(np.uint32).astype(np.uint64)
    if r > 0:
        bits = bits + (2 ** (r - 1) - 1) + ((bits >> np.uint64(r)) & np.uint64(1))
        bits = bits // 2**r * 2**r
    out = torch.from_numpy((bits & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32))
    return torch.where(torch.isfinite(x), out, x)
""",
        ),
        Right("shifts", change={"& -(2**drop)": ">> drop << drop"}),
    ],
    "loss-scale": [
        Mistake("divided in fp16", change={"g.float() / scale": "(g / scale).float()"}, hint="the division happens in fp16"),
        Mistake("multiplied", change={"g.float() / scale": "g.float() * scale"}, hint="The scale has to be divided out"),
        Mistake("not divided", change={"g.float() / scale": "g.float()"}, hint="nothing is divided"),
        Mistake("NaN missed", change={"not bool(g.isfinite().all())": "bool(g.isinf().any())"}, hint="NaN is an overflow, too"),
        Mistake(
            "the first tensor only",
            change={"for g in gradients)": "for g in gradients[:1])"},
            hint="an overflow in the last tensor is missed",
        ),
        Mistake(
            "one sign only",
            change={"not bool(g.isfinite().all())": "bool(((g == math.inf) | g.isnan()).any())"},
            hint="minus infinity is an overflow, too",
        ),
        Mistake(
            "count goes on", change={"return scale * backoff, 0": "return scale * backoff, good"}, hint="the count of good steps goes on"
        ),
        Mistake("grows on overflow", change={"scale * backoff, 0": "scale * growth, 0"}, hint="the scale grows after an overflow"),
        Mistake("one step too late", change={"if good == interval": "if good > interval"}, hint="the scale grows one step too late"),
        Mistake(
            "count not reset", change={"(scale * growth, 0) if": "(scale * growth, good) if"}, hint="the count must start from 0 again"
        ),
        Mistake(
            "own constants",
            change={"scale * backoff": "scale * 0.5", "scale * growth": "scale * 2.0"},
            hint="are interval, growth and backoff used?",
        ),
        Right("loops", code=UNSCALE + NEXT_SCALE),
        Right("in float64 on the way", change={"g.float() / scale": "(g.double() / scale).float()"}),
    ],
    "average": [
        Mistake(
            "sum",
            code="def average_gradients(gradients, count, all_sum):\n    return [all_sum(g) for g in gradients]\n" + WORKERS,
            hint="this is the sum of the gradients",
        ),
        Mistake(
            "own gradient",
            code="def average_gradients(gradients, count, all_sum):\n    return [g.clone() for g in gradients]\n" + WORKERS,
            hint="each worker keeps its own gradient",
        ),
        Mistake(
            "plain mean",
            code="def average_gradients(gradients, count, all_sum):\n    n = all_sum(torch.ones(()))\n    return [all_sum(g) / n for g in gradients]\n"
            + WORKERS,
            hint="this is the plain mean over the workers",
        ),
        Mistake("no division", change={" / total.to(g.dtype)": ""}, hint="this is the sum over examples"),
        Mistake(
            "own count",
            change={"total = all_sum(torch.tensor(float(count), dtype=torch.float64))": "total = torch.tensor(2.0 * count)"},
            hint="the second worker gets something else",
        ),
        Mistake(
            "its own count",
            change={"total = all_sum(torch.tensor(float(count), dtype=torch.float64))": "total = torch.tensor(float(count))"},
            hint="this is divided by this worker's own count",
        ),
        Mistake("divided by the count", change={"g * count": "g / max(count, 1)"}, hint="two workers with equal shares"),
        Mistake(
            "out of step",
            change={
                "return [all_sum(g * count)": "if count == 0:\n        return [torch.zeros_like(g) for g in gradients]\n    return [all_sum(g * count)"
            },
            hint="with several layers and workers, one of them perhaps without examples",
        ),
        Mistake("in place", change={"all_sum(g * count)": "all_sum(g.mul_(count))"}, hint=IN_PLACE),
        Mistake(
            "flattened",
            change={
                "/ total.to(g.dtype) for": "/ total.to(g.dtype).reshape(1) for",
                "all_sum(g * count)": "all_sum((g * count).flatten())",
            },
            hint="the gradients must keep their shapes",
        ),
        Right(
            "weights first",
            code="def average_gradients(gradients, count, all_sum):\n    share = count / all_sum(torch.tensor([count])).item()\n    return [all_sum(share * g) for g in gradients]\n"
            + WORKERS,
        ),
        Right(
            "loop",
            code="""
def average_gradients(gradients, count, all_sum):
    out = []
    for g in gradients:
        n = all_sum(torch.full_like(g, float(count)))
        out.append(all_sum(g * count) / n)
    return out
"""
            + WORKERS,
        ),
    ],
    "bonus-bucket": [
        Mistake(
            "plain mean",
            code="""
def average_in_one_call(gradients, count, all_sum):
    packed = all_sum(torch.cat([g.flatten() for g in gradients] + [gradients[0].new_ones(1)]))
    parts = (packed[:-1] / packed[-1]).split([g.numel() for g in gradients])
    return [part.view(g.shape) for part, g in zip(parts, gradients)]
"""
            + AT_ONCE,
            hint="this is the plain mean over the workers",
        ),
        Mistake("not divided", change={"(packed[:-1] / packed[-1])": "packed[:-1]"}, hint="this is the sum: divide by the total count"),
        Mistake(
            "two calls",
            change={"    packed = all_sum(packed)\n": "    packed = torch.cat([all_sum(packed[:-1]), all_sum(packed[-1:])])\n"},
            hint="exactly one call of all_sum",
        ),
        Mistake("flat", change={"part.view(g.shape)": "part"}, hint="the gradients must come back in their own shapes"),
        Mistake(
            "in float32",
            change={"packed = all_sum(packed)": "packed = all_sum(packed.float()).to(packed.dtype)"},
            hint="digits are lost in float32",
        ),
        Mistake("in place", change={"g.flatten() * count for": "g.mul_(count).flatten() for"}, hint=IN_PLACE),
        Right(
            "slices",
            code="""
def average_in_one_call(gradients, count, all_sum):
    vector = torch.cat([torch.tensor([float(count)], dtype=gradients[0].dtype), *[(count * g).reshape(-1) for g in gradients]])
    vector = all_sum(vector)
    total, start, out = vector[0], 1, []
    for g in gradients:
        out.append((vector[start : start + g.numel()] / total).reshape(g.shape))
        start += g.numel()
    return out
"""
            + AT_ONCE,
        ),
        Right(
            "torch's helpers",
            change={
                "torch.cat([g.flatten() * count for g in gradients] + [gradients[0].new_tensor([float(count)])])": "nn.utils.parameters_to_vector([g * count for g in gradients] + [gradients[0].new_tensor(float(count))])"
            },
        ),
    ],
    "match": [
        Mistake("unchanged", change={"hidden * 2 / 3 / multiple": "hidden / multiple"}, hint="it does not stay"),
        Mistake("upside down", change={"* 2 / 3": "* 3 / 2"}, hint="the factor is upside down"),
        Mistake("half", change={"* 2 / 3": "/ 2"}, hint="the factor is 2/3, not 1/2"),
        Mistake("rounded down", change={"round(": "int("}, hint="round to the nearest multiple, not down"),
        Mistake("rounded up", change={"round(": "math.ceil("}, hint="it is rounded up"),
        Mistake(
            "no multiple",
            change={"return multiple * max(1, round(hidden * 2 / 3 / multiple))": "return max(multiple, round(hidden * 2 / 3))"},
            hint="the result is a multiple of `multiple`",
        ),
        Mistake(
            "width zero",
            change={"max(1, round(hidden * 2 / 3 / multiple))": "round(hidden * 2 / 3 / multiple)"},
            hint="not below one `multiple`",
        ),
        Right("whole numbers", change={"round(hidden * 2 / 3 / multiple)": "(4 * hidden + 3 * multiple) // (6 * multiple)"}),
        Right(
            "by the smallest difference",
            change={
                "return multiple * max(1, round(hidden * 2 / 3 / multiple))": "return min(range(multiple, hidden + 2 * multiple, multiple), key=lambda h: abs(3 * h - 2 * hidden))"
            },
        ),
    ],
    "compute": [
        Mistake("forward only", change={"6 * weights + 12 *": "2 * weights + 4 *"}, hint="only the forward pass is counted"),
        Mistake("one operation", change={"6 * weights": "3 * weights"}, hint="a multiply and an add are two operations"),
        Mistake("backward as dear as forward", change={"6 * weights": "4 * weights"}, hint="backward costs twice the forward pass"),
        Mistake("scores only", change={"12 * layers": "6 * layers"}, hint="only the scores, or only the mixture"),
        Mistake("square of the context", change={"width * context)": "width * context**2)"}, hint="this grows with T²"),
        Mistake(
            "tokens for weights only",
            change={"tokens * (6 * weights + 12 * layers * width * context)": "tokens * 6 * weights + 12 * layers * width * context"},
            hint="the tokens multiply both terms",
        ),
        Mistake("one layer", change={"12 * layers * width": "12 * width"}, hint="counted for one layer only"),
        Right(
            "forward, then three times",
            change={
                "tokens * (6 * weights + 12 * layers * width * context)": "3 * tokens * (2 * weights + layers * 2 * (2 * context * width))"
            },
        ),
        Right(
            "step by step",
            code="""
def training_flops(weights, layers, width, context, tokens):
    forward = 2 * weights
    for _ in range(layers):
        forward += 2 * context * width
        forward += 2 * context * width
    return int(tokens * (forward + 2 * forward))
""",
        ),
    ],
    "efficiency": [
        Mistake(
            "upside down",
            change={"return flops_a[-1] / math.exp(log_flops)": "return math.exp(log_flops) / flops_a[-1]"},
            hint="upside down",
        ),
        Mistake(
            "losses compared",
            change={
                "    goal = losses_a[-1]\n": "    goal = losses_a[-1]\n    if min(losses_b) < goal:\n        return goal / min(losses_b)\n"
            },
            hint="this compares the losses",
        ),
        Mistake(
            "linear in FLOPs",
            change={
                "(1 - share) * math.log(flops_b[i - 1]) + share * math.log(flops_b[i])": "math.log((1 - share) * flops_b[i - 1] + share * flops_b[i])"
            },
            hint="the FLOPs are interpolated as they are",
        ),
        Mistake(
            "no interpolation",
            change={"            share = ": "            return flops_a[-1] / flops_b[i]\n            share = "},
            hint="the point at which B is better is taken as it is",
        ),
        Mistake(
            "the point before",
            change={"            share = ": "            return flops_a[-1] / flops_b[i - 1]\n            share = "},
            hint="the point before is taken as it is",
        ),
        Mistake(
            "never is infinity", change={"    return None\n": "    return math.inf\n"}, hint="B never reaches A's last loss: give None"
        ),
        Mistake(
            "last crossing",
            change={
                "for i, loss in enumerate(losses_b):\n        if loss <= goal:": "for i, loss in reversed(list(enumerate(losses_b))):\n        if loss <= goal and (i == 0 or losses_b[i - 1] > goal):"
            },
            hint="the last crossing is taken",
        ),
        Mistake("A's best loss", change={"goal = losses_a[-1]": "goal = min(losses_a)"}, hint="A's last loss counts"),
        Mistake(
            "first point ignored",
            change={
                "            if i == 0:\n                return flops_a[-1] / flops_b[0]\n": "            if i == 0:\n                continue\n"
            },
            hint="take that point's FLOPs",
        ),
        Right(
            "numpy",
            code="""
def times_cheaper(flops_a, losses_a, flops_b, losses_b):
    below = np.flatnonzero(np.array(losses_b) <= losses_a[-1])
    if len(below) == 0:
        return None
    i = int(below[0])
    if i == 0:
        return flops_a[-1] / flops_b[0]
    x = np.interp(losses_a[-1], [losses_b[i], losses_b[i - 1]], np.log([flops_b[i], flops_b[i - 1]]))
    return float(flops_a[-1] / np.exp(x))
""",
        ),
        Right(
            "powers",
            change={"flops_a[-1] / math.exp(log_flops)": "flops_a[-1] / (flops_b[i - 1] * (flops_b[i] / flops_b[i - 1]) ** share)"},
        ),
    ],
}
