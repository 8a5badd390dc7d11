"""Wrong answers that the tests of 16-precision must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

IN_PLACE = "your code changes its input in place"

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
WORKERS = """
def all_workers(gradients, counts):
    return workers.in_step(lambda rank, all_sum: average_gradients(gradients[rank], counts[rank], all_sum), len(counts))[0]
"""
AT_ONCE = """
def all_workers_at_once(gradients, counts):
    return workers.in_step(lambda rank, all_sum: average_in_one_call(gradients[rank], counts[rank], all_sum), len(counts))[0]
"""

VARIANTS = {
    "limits": [
        Mistake(
            "always fp16",
            change={"    bias = ": "    exponent_bits, mantissa_bits = (5, 10) if not finite else (4, 3)\n    bias = "},
            says="these are always the limits of fp16: use the arguments",
            gravity="idea",
        ),
        Mistake(
            "no hidden one",
            change={"(1 + mantissa / 2**mantissa_bits)": "(mantissa / 2**mantissa_bits)"},
            says="the hidden one is missing: a normal number is (1 + m / 2^M) · 2^(e − b)",
            gravity="idea",
        ),
        Mistake(
            "smallest ones exchanged",
            change={"2.0 ** (1 - bias), 2.0 ** (1 - bias - mantissa_bits)": "2.0 ** (1 - bias - mantissa_bits), 2.0 ** (1 - bias)"},
            says="the smallest normal and the smallest subnormal number are exchanged",
            gravity="part",
        ),
        Mistake(
            "no subnormal numbers",
            change={"2.0 ** (1 - bias - mantissa_bits),": "2.0 ** (1 - bias),"},
            says="the smallest subnormal number is given as the smallest normal one: with e = 0 and m = 1 it is 2^−M times as large",
            gravity="part",
        ),
        Mistake(
            "the reserved exponent",
            change={"(2**exponent_bits - 2, 2**mantissa_bits - 1)": "(2**exponent_bits - 1, 2**mantissa_bits - 1)"},
            hint="this is twice too large: the highest exponent is for infinity and NaN (and the bias is 2^(E−1) − 1)",
            gravity="idea",
        ),
        Mistake(
            "mantissa of zeros",
            change={"(1 + mantissa / 2**mantissa_bits)": "(1.0 if not finite else 1 + mantissa / 2**mantissa_bits)"},
            hint="the mantissa is all ones there",
            gravity="idea",
        ),
        Mistake(
            "a whole two",
            change={"(1 + mantissa / 2**mantissa_bits)": "(2.0 if not finite else 1 + mantissa / 2**mantissa_bits)"},
            hint="65536 is the first number that is too large",
            gravity="idea",
        ),
        Mistake(
            "subnormal exponent",
            change={"2.0 ** (1 - bias - mantissa_bits)": "2.0 ** (-bias - mantissa_bits)"},
            hint="subnormal numbers have the exponent 1 − b",
            gravity="part",
        ),
        Mistake(
            "normal from zero",
            change={"2.0 ** (1 - bias)": "2.0 ** (-bias)", "2.0 ** (1 - bias - mantissa_bits)": "2.0 ** (-bias - mantissa_bits)"},
            hint="both are half of what they should be: the smallest normal number has e = 1, because e = 0 is for subnormal ones",
            gravity="part",
        ),
        Mistake(
            "bias one too large",
            change={"** (exponent_bits - 1) - 1": "** (exponent_bits - 1)"},
            hint="is the bias 2^(E−1) − 1?",
            gravity="idea",
        ),
        Mistake(
            "half of epsilon",
            change={"2.0**-mantissa_bits\n": "2.0 ** (-mantissa_bits - 1)\n"},
            hint="this is half the distance",
            gravity="part",
        ),
        Mistake(
            "all ones is a number",
            change={"2**mantissa_bits - 2)": "2**mantissa_bits - 1)"},
            hint="the largest mantissa is 2^M − 2",
            gravity="part",
        ),
        Mistake(
            "finite ignored",
            change={"if finite else": "if False else"},
            hint="a finite format uses its highest exponent for numbers",
            gravity="part",
        ),
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
        Mistake(
            "NaN for infinity",
            change={"torch.where(m[top] == 0, torch.inf, torch.nan).double()": "torch.nan"},
            says="infinity is missing: with the highest exponent m = 0 stands for infinity",
            gravity="part",
        ),
        Mistake(
            "infinity for NaN",
            change={"torch.where(m[top] == 0, torch.inf, torch.nan).double()": "torch.inf"},
            says="NaN is missing: with the highest exponent every m but 0 stands for NaN",
            gravity="part",
        ),
        Mistake(
            "ten mantissa bits",
            change={"m.double() / 2**mantissa_bits": "m.double() / 1024"},
            says="the mantissa is always divided by 2¹⁰: use `mantissa_bits`",
            gravity="idea",
        ),
        Mistake("always a hidden one", change={"+ (e > 0)": "+ 1"}, hint="e = 0 has no hidden one", gravity="part"),
        Mistake("subnormal exponent", change={"e.clamp(min=1)": "e"}, hint="for e = 0 the exponent is 1 − b", gravity="part"),
        Mistake("no sign", change={"return sign * value": "return value"}, hint="the sign is not used: the highest bit", gravity="idea"),
        Mistake(
            "bias one too large",
            change={"** (exponent_bits - 1) - 1": "** (exponent_bits - 1)"},
            hint="this is half of what it should be: is the bias 2^(E−1) − 1?",
            gravity="idea",
        ),
        Mistake(
            "no infinities",
            change={"value[top] = torch.where(m[top] == 0, torch.inf, torch.nan).double()": "pass"},
            hint="the highest exponent stands for ±infinity",
            gravity="part",
        ),
        Mistake(
            "only NaN",
            change={"torch.where(m[top] == 0, torch.inf, torch.nan).double()": "torch.nan"},
            hint="the highest exponent stands for ±infinity",
            gravity="part",
        ),
        Mistake("finite ignored", change={"if finite:": "if False:"}, hint="a finite format has no infinity", gravity="part"),
        Mistake(
            "finite without NaN",
            change={"value[top & (m == 2**mantissa_bits - 1)] = torch.nan": "pass"},
            hint="its only NaN is all ones",
            gravity="part",
        ),
        Mistake(
            "in float32",
            change={"    return sign * value": "    return (sign * value).float()"},
            hint="the result is a float64 tensor",
            gravity="edge",
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
        Mistake(
            "floor",
            change={"torch.round(x / gap)": "torch.floor(x / gap)"},
            says="numbers are rounded down, negative ones away from 0: round to the nearest",
            gravity="idea",
        ),
        Mistake(
            "infinity stays",
            change={"x.sign() * over, y)": "torch.where(x.isinf(), x, x.sign() * over), y)"},
            says="infinity stays infinite where it may not: with `saturate` it becomes the largest number, in a finite format NaN",
            gravity="part",
        ),
        Mistake(
            "sign lost", change={"x.sign() * over": "torch.full_like(x, over)"}, says="an overflow loses the sign of x", gravity="part"
        ),
        Mistake(
            "cut off",
            change={"torch.round(x / gap)": "torch.trunc(x / gap)"},
            hint="the remainder is cut off: round to the nearest",
            gravity="idea",
        ),
        Mistake("ties up", change={"torch.round(x / gap)": "torch.floor(x / gap + 0.5)"}, hint="ties are rounded up", gravity="part"),
        Mistake("frexp's exponent as it is", change={".exponent - 1)": ".exponent)"}, hint="the steps are too wide", gravity="idea"),
        Mistake(
            "steps too narrow", change={"(k - mantissa_bits)": "(k - mantissa_bits - 1)"}, hint="the steps are too narrow", gravity="idea"
        ),
        Mistake("no subnormal limit", change={".clamp(min=1 - bias)": ""}, hint="the exponent must not fall below 1 − b", gravity="part"),
        Mistake(
            "subnormal flushed",
            change={"y = torch.round(x / gap) * gap": "y = torch.where(x.abs() < 2.0 ** (1 - bias), 0.0, torch.round(x / gap) * gap)"},
            hint="everything below the smallest normal number becomes 0",
            gravity="part",
        ),
        Mistake(
            "overflow before rounding",
            change={"(y.abs() > largest)": "(x.abs() > largest)"},
            hint="a number overflows only if it is too large after rounding",
            gravity="part",
        ),
        Mistake(
            "no overflow",
            change={"(y.abs() > largest) | x.isinf()": "x.isinf()"},
            hint="fp16: what rounds to at most 65504 stays, what rounds above it becomes infinite, with the sign of x",
            gravity="part",
        ),
        Mistake(
            "always saturates",
            change={"largest if saturate": "largest if True"},
            hint="without `saturate` an overflow is infinite",
            gravity="part",
        ),
        Mistake(
            "infinity in a finite format",
            change={"math.nan if finite else math.inf": "math.inf"},
            hint="a finite format has no infinity: use NaN instead",
            gravity="part",
        ),
        Mistake("saturate ignored", change={"largest if saturate else ": ""}, hint="with saturate=True an overflow", gravity="part"),
        Mistake(
            "bias one too large",
            change={"** (exponent_bits - 1) - 1": "** (exponent_bits - 1)"},
            hint="below 2^−14 the numbers of fp16 are evenly spaced",
            gravity="part",
        ),
        Mistake(
            "in float32",
            change={"x.sign() * over, y)": "x.sign() * over, y).float()"},
            hint="the result is a float64 tensor",
            gravity="edge",
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
        Mistake(
            "always bfloat16",
            change={"    bits = x.view": "    return x.bfloat16().float()\n    bits = x.view"},
            says="this is always bfloat16, with 7 bits: use `mantissa_bits`",
            gravity="idea",
        ),
        Mistake(
            "sign lost",
            change={"x.view(torch.int32)": "x.abs().view(torch.int32)"},
            says="the sign is lost: work on the bits of x itself",
            gravity="idea",
        ),
        Mistake("cut off", change={"(bits + 2 ** (drop - 1) - 1 + stays) &": "bits &"}, hint="the bits are cut off", gravity="idea"),
        Mistake("ties up", change={"2 ** (drop - 1) - 1 + stays": "2 ** (drop - 1)"}, hint="ties are rounded up", gravity="part"),
        Mistake("ties down", change={" - 1 + stays": " - 1"}, hint="the lowest bit that stays is missing", gravity="part"),
        Mistake("values for bits", change={"x.view(torch.int32)": "(x * 2**23).int()"}, hint="tf32 keeps 10 mantissa bits", gravity="idea"),
        Mistake(
            "whole numbers",
            change={"rounded.view(torch.float32), x)": "x.int().float(), x)"},
            hint="these are integers",
            gravity="idea",
        ),
        Mistake(
            "converted, not viewed",
            change={"x.view(torch.int32)": "x.to(torch.int32)", "rounded.view(torch.float32)": "rounded.to(torch.float32)"},
            hint="everything became 0",
            gravity="idea",
        ),
        Mistake(
            "NaN rounded",
            change={"torch.where(x.isfinite(), rounded.view(torch.float32), x)": "rounded.view(torch.float32)"},
            hint="infinity and NaN must stay as they are",
            gravity="edge",
        ),
        Mistake("always tf32", change={"drop = 23 - mantissa_bits": "drop = 13"}, hint="ten bits are always kept", gravity="part"),
        Mistake(
            "full mantissa fails",
            change={"if drop == 0:": "if False:"},
            hint="your code raised NotImplementedError at line",
            gravity="edge",
        ),
        Mistake(
            "in float64",
            change={"rounded.view(torch.float32), x)": "rounded.view(torch.float32), x).double()"},
            hint="the result is a float32 tensor",
            gravity="edge",
        ),
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
        Mistake(
            "only the first tensor",
            change={"for g in gradients)\n": "for g in gradients[:1])\n"},
            says="only the first tensor is looked at: an overflow may be in any of them",
            gravity="part",
        ),
        Mistake(
            "all tensors",
            change={"any(not bool(g.isfinite().all())": "all(not bool(g.isfinite().all())"},
            says="an overflow counts only if every tensor has one: one is enough",
            gravity="part",
        ),
        Mistake(
            "results exchanged",
            change={"return overflow, [g.float() / scale for g in gradients]": "return [g.float() / scale for g in gradients], overflow"},
            says="the two results of `unscale` are exchanged: first the overflow, then the gradients",
            gravity="idea",
        ),
        Mistake(
            "no gradients",
            change={"return overflow, [g": "return overflow, [] if overflow else [g"},
            hint="after an overflow the gradients come back, too",
            gravity="edge",
        ),
        Mistake(
            "divided in fp16",
            change={"g.float() / scale": "(g / scale).float()"},
            hint="you divide in fp16, where the result is 0",
            gravity="idea",
        ),
        Mistake(
            "multiplied",
            change={"g.float() / scale": "g.float() * scale"},
            hint="the gradients are multiplied by the scale: divide by it",
            gravity="idea",
        ),
        Mistake("not divided", change={"g.float() / scale": "g.float()"}, hint="the gradients are still scaled", gravity="idea"),
        Mistake(
            "NaN missed", change={"not bool(g.isfinite().all())": "bool(g.isinf().any())"}, hint="NaN is an overflow, too", gravity="part"
        ),
        Mistake(
            "the first tensor only",
            change={"for g in gradients)": "for g in gradients[:1])"},
            hint="an overflow in the last tensor is missed",
            gravity="part",
        ),
        Mistake(
            "one sign only",
            change={"not bool(g.isfinite().all())": "bool(((g == math.inf) | g.isnan()).any())"},
            hint="minus infinity is an overflow, too",
            gravity="part",
        ),
        Mistake(
            "count goes on",
            change={"return scale * backoff, 0": "return scale * backoff, good"},
            hint="the count of good steps continues",
            gravity="idea",
        ),
        Mistake(
            "grows on overflow",
            change={"scale * backoff, 0": "scale * growth, 0"},
            hint="the scale grows after an overflow",
            gravity="idea",
        ),
        Mistake(
            "one step too late",
            change={"if good == interval": "if good > interval"},
            hint="the scale grows one step too late",
            gravity="part",
        ),
        Mistake(
            "count not reset",
            change={"(scale * growth, 0) if": "(scale * growth, good) if"},
            hint="the count must start from 0 again",
            gravity="part",
        ),
        Mistake(
            "own constants",
            change={"scale * backoff": "scale * 0.5", "scale * growth": "scale * 2.0"},
            hint="the argument `growth` is not used: with 3, 64 becomes 192",
            gravity="part",
        ),
        Right("loops", code=UNSCALE + NEXT_SCALE),
        Right("in float64 on the way", change={"g.float() / scale": "(g.double() / scale).float()"}),
    ],
    "average": [
        Mistake(
            "the sum weighted",
            change={"all_sum(g * count)": "all_sum(g) * count"},
            says="the sum over the workers is multiplied by this worker's count: multiply before all_sum",
            gravity="idea",
        ),
        Mistake(
            "the first layer only",
            change={"for g in gradients]": "for g in gradients[:1]]"},
            says="only the first gradient comes back: average all of them",
            gravity="part",
        ),
        Mistake(
            "flattened",
            change={"all_sum(g * count)": "all_sum((g * count).flatten())"},
            says="the gradients come back flat: they must keep their shapes",
            gravity="part",
        ),
        Mistake(
            "in float32",
            change={"all_sum(g * count)": "all_sum(g.float() * count)"},
            hint="gradients in float64 must come back in float64",
            gravity="edge",
        ),
        Mistake(
            "sum",
            code="def average_gradients(gradients, count, all_sum):\n    return [all_sum(g) for g in gradients]\n" + WORKERS,
            hint="this is the sum of the gradients",
            gravity="idea",
        ),
        Mistake(
            "own gradient",
            code="def average_gradients(gradients, count, all_sum):\n    return [g.clone() for g in gradients]\n" + WORKERS,
            hint="each worker keeps its own gradient",
            gravity="idea",
        ),
        Mistake(
            "plain mean",
            code="def average_gradients(gradients, count, all_sum):\n    n = all_sum(torch.ones(()))\n    return [all_sum(g) / n for g in gradients]\n"
            + WORKERS,
            hint="this is the plain mean over the workers",
            gravity="idea",
        ),
        Mistake("no division", change={" / total.to(g.dtype)": ""}, hint="this is the sum over examples", gravity="idea"),
        Mistake(
            "own count",
            change={"total = all_sum(torch.tensor(float(count), dtype=torch.float64))": "total = torch.tensor(2.0 * count)"},
            hint="one worker has 2 examples, the other 6: (2 · 4 + 6 · 8) / 8 = 7. Each worker's mean counts as often as it has examples",
            gravity="idea",
        ),
        Mistake(
            "its own count",
            change={"total = all_sum(torch.tensor(float(count), dtype=torch.float64))": "total = torch.tensor(float(count))"},
            hint="this is divided by this worker's own count",
            gravity="idea",
        ),
        Mistake(
            "divided by the count",
            change={"g * count": "g / max(count, 1)"},
            hint="the weights are inverted: more examples, more weight",
            gravity="idea",
        ),
        Mistake(
            "out of step",
            change={
                "return [all_sum(g * count)": "if count == 0:\n        return [torch.zeros_like(g) for g in gradients]\n    return [all_sum(g * count)"
            },
            hint="takes part: all must call `all_sum` equally often",
            gravity="edge",
        ),
        Mistake("in place", change={"all_sum(g * count)": "all_sum(g.mul_(count))"}, hint=IN_PLACE, gravity="edge"),
        Mistake(
            "flattened",
            change={
                "/ total.to(g.dtype) for": "/ total.to(g.dtype).reshape(1) for",
                "all_sum(g * count)": "all_sum((g * count).flatten())",
            },
            hint="the gradients must keep their shapes",
            gravity="part",
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
    "bonus-int8": [
        Mistake(
            "largest without its sign",
            change={"W.abs().amax(dim=1)": "W.amax(dim=1)"},
            says="the largest weight decides here, not the largest absolute value: negative weights do not fit",
            gravity="idea",
        ),
        Mistake(
            "columns",
            change={"W.abs().amax(dim=1)": "W.abs().amax(dim=0)"},
            says="the largest value of each column is taken: each row has its own step",
            gravity="idea",
        ),
        Mistake(
            "steps as a column",
            change={", step\n": ", step[:, None]\n"},
            says="the steps have the shape (n_out, 1): they must have the shape (n_out,)",
            gravity="idea",
        ),
        Mistake(
            "a tiny step",
            change={"torch.where(step > 0, step, torch.ones_like(step))": "step.clamp(min=1e-8)"},
            says="a row of zeros gets a tiny step: the text gives it the step 1",
            gravity="edge",
        ),
        Mistake(
            "steps in float32",
            change={"step = W.abs()": "step = W.float().abs()"},
            hint="a float64 weight has float64 steps",
            gravity="edge",
        ),
        Mistake(
            "one step for all",
            change={"W.abs().amax(dim=1) / 127": "W.abs().amax().expand(len(W)) / 127"},
            hint="there is one step for the whole matrix: each row has its own",
            gravity="idea",
        ),
        Mistake(
            "a step for each column",
            change={"    return torch.round(W / step[:, None])": "    step = W.abs().amax(dim=0) / 127\n    return torch.round(W / step)"},
            hint="the largest weight of a row becomes 127 or −127",
            gravity="idea",
        ),
        Mistake("to 128", change={"/ 127": "/ 128"}, hint="these are the steps to 128, which int8 does not have", gravity="idea"),
        Mistake(
            "to 255 steps in all", change={"/ 127": "/ 63.5"}, hint="the steps are twice too wide: q goes from −127 to 127", gravity="idea"
        ),
        Mistake(
            "the largest, not the largest in absolute value",
            change={"W.abs().amax(dim=1)": "W.amax(dim=1)"},
            hint="the largest weight of a row becomes 127 or −127",
            gravity="idea",
        ),
        Mistake(
            "cut off",
            change={"torch.round(W / step[:, None])": "(W / step[:, None])"},
            hint="the remainder is cut off: round to the nearest",
            gravity="idea",
        ),
        Mistake(
            "steps forgotten",
            change={"(x @ q.to(x.dtype).T) * step": "x @ q.to(x.dtype).T"},
            hint="the steps are missing: each output has the step of its row",
            gravity="idea",
        ),
        Mistake(
            "x in whole numbers",
            change={"(x @ q.to(x.dtype).T)": "(x.trunc() @ q.to(x.dtype).T)"},
            hint="x is cut to integers: convert q to the dtype of x, not x to that of q",
            gravity="idea",
        ),
        Mistake(
            "not stored in int8",
            change={".to(torch.int8), step": ", step"},
            hint="store q in eight bits: dtype torch.int8",
            gravity="part",
        ),
        Mistake("bias lost", change={"return y if bias is None else y + bias": "return y"}, hint="the bias is lost", gravity="part"),
        Mistake(
            "bias scaled",
            change={"return y if bias is None else y + bias": "return y if bias is None else y + bias * step"},
            hint="the bias is not scaled by the step",
            gravity="part",
        ),
        Mistake(
            "divided by zero",
            change={"    step = torch.where(step > 0, step, torch.ones_like(step))\n": ""},
            hint="a row of zeros has q = 0 and the step 1",
            gravity="edge",
        ),
        Mistake("in place", change={"torch.round(W / step[:, None])": "torch.round(W.div_(step[:, None]))"}, hint=IN_PLACE, gravity="edge"),
        Mistake(
            "two axes only", change={"(x @ q.to(x.dtype).T)": "torch.einsum('bi,oi->bo', x, q.to(x.dtype))"}, hint="einsum", gravity="edge"
        ),
        Mistake(
            "steps in float32",
            change={", step\n    ### END": ", step.float()\n    ### END"},
            hint="a float64 weight has float64 steps: digits are lost",
            gravity="edge",
        ),
        Right(
            "a loop over rows",
            code="""
def quantize_rows(W):
    rows, steps = [], []
    for row in W:
        largest = float(row.abs().max())
        step = largest / 127 if largest else 1.0
        rows.append((row / step).round().to(torch.int8))
        steps.append(step)
    return torch.stack(rows), torch.tensor(steps, dtype=W.dtype)


def int8_linear(x, q, step, bias=None):
    return F.linear(x, q.to(x.dtype) * step[:, None], bias)
""",
        ),
        Right(
            "multiplied instead of divided", change={"torch.round(W / step[:, None])": "(W * (1 / step)[:, None]).round().clamp(-127, 127)"}
        ),
        Right("the step on x's side", change={"(x @ q.to(x.dtype).T) * step": "torch.einsum('...i,oi,o->...o', x, q.to(x.dtype), step)"}),
    ],
    "bonus-bucket": [
        Mistake(
            "left in float32",
            change={"packed = all_sum(packed)": "packed = all_sum(packed.float())"},
            hint="digits are lost in float32",
            gravity="edge",
        ),
        Mistake(
            "without weights",
            change={"g.flatten() * count": "g.flatten()"},
            says="the gradients are packed without their weights: multiply by `count` first",
            gravity="idea",
        ),
        Mistake(
            "own count",
            change={"packed[:-1] / packed[-1]": "packed[:-1] / count"},
            says="the sum is divided by this worker's own count: the total is the last entry of the packet",
            gravity="idea",
        ),
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
            gravity="idea",
        ),
        Mistake(
            "not divided",
            change={"(packed[:-1] / packed[-1])": "packed[:-1]"},
            hint="this is the sum: divide by the total count",
            gravity="idea",
        ),
        Mistake(
            "two calls",
            change={"    packed = all_sum(packed)\n": "    packed = torch.cat([all_sum(packed[:-1]), all_sum(packed[-1:])])\n"},
            hint="exactly one call of all_sum",
            gravity="idea",
        ),
        Mistake("flat", change={"part.view(g.shape)": "part"}, hint="the gradients must come back in their own shapes", gravity="part"),
        Mistake(
            "in float32",
            change={"packed = all_sum(packed)": "packed = all_sum(packed.float()).to(packed.dtype)"},
            hint="digits are lost in float32",
            gravity="edge",
        ),
        Mistake("in place", change={"g.flatten() * count for": "g.mul_(count).flatten() for"}, hint=IN_PLACE, gravity="edge"),
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
        Mistake(
            "always the nearest integer",
            change={"multiple * max(1, round(hidden * 2 / 3 / multiple))": "max(1, round(hidden * 2 / 3))"},
            hint="the result is a multiple of `multiple`",
            gravity="part",
        ),
        Mistake("unchanged", change={"hidden * 2 / 3 / multiple": "hidden / multiple"}, hint="it does not stay", gravity="idea"),
        Mistake("upside down", change={"* 2 / 3": "* 3 / 2"}, hint="the factor is inverted", gravity="idea"),
        Mistake("half", change={"* 2 / 3": "/ 2"}, hint="the factor is 2/3, not 1/2", gravity="idea"),
        Mistake("rounded down", change={"round(": "int("}, hint="round to the nearest multiple, not down", gravity="part"),
        Mistake("rounded up", change={"round(": "math.ceil("}, hint="it is rounded up", gravity="part"),
        Mistake(
            "no multiple",
            change={"return multiple * max(1, round(hidden * 2 / 3 / multiple))": "return max(multiple, round(hidden * 2 / 3))"},
            hint="the result is a multiple of `multiple`",
            gravity="part",
        ),
        Mistake(
            "width zero",
            change={"max(1, round(hidden * 2 / 3 / multiple))": "round(hidden * 2 / 3 / multiple)"},
            hint="not below one `multiple`",
            gravity="edge",
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
        Mistake(
            "half of the keys",
            change={"12 * layers": "6 * layers"},
            says="only half of attention is counted: all T keys count, the masked ones too, for the scores and for the weighted sum",
            gravity="part",
        ),
        Mistake(
            "forward only", change={"6 * weights + 12 *": "2 * weights + 4 *"}, hint="only the forward pass is counted", gravity="idea"
        ),
        Mistake("one operation", change={"6 * weights": "3 * weights"}, hint="a multiply and an add are two operations", gravity="idea"),
        Mistake(
            "backward as dear as forward",
            change={"6 * weights": "4 * weights"},
            hint="backward is counted like the forward pass: it costs twice as much",
            gravity="idea",
        ),
        Mistake(
            "scores only",
            change={"12 * layers": "6 * layers"},
            hint="only the scores, or only the weighted sum, are counted",
            gravity="part",
        ),
        Mistake("square of the context", change={"width * context)": "width * context**2)"}, hint="this grows with T²", gravity="part"),
        Mistake(
            "tokens for weights only",
            change={"tokens * (6 * weights + 12 * layers * width * context)": "tokens * 6 * weights + 12 * layers * width * context"},
            hint="attention: multiply this term by the number of tokens, too",
            gravity="part",
        ),
        Mistake("one layer", change={"12 * layers * width": "12 * width"}, hint="counted for one layer only", gravity="part"),
        Mistake("a float", change={"return tokens": "return 1.0 * tokens"}, hint="a count of operations is an int", gravity="edge"),
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
            "strictly below",
            change={"if loss <= goal": "if loss < goal"},
            says="a point whose loss equals the goal has reached it: at most, not below",
            gravity="idea",
        ),
        Mistake(
            "powers of ten",
            change={"math.exp(log_flops)": "10**log_flops"},
            says="the logarithm is natural, and you raise 10 to it: use `math.exp`",
            gravity="idea",
        ),
        Mistake("zero for never", change={"return None": "return 0.0"}, hint="B never reaches A's last loss: return None", gravity="part"),
        Mistake(
            "upside down",
            change={"return flops_a[-1] / math.exp(log_flops)": "return math.exp(log_flops) / flops_a[-1]"},
            hint="this is the inverse",
            gravity="idea",
        ),
        Mistake(
            "losses compared",
            change={
                "    goal = losses_a[-1]\n": "    goal = losses_a[-1]\n    if min(losses_b) < goal:\n        return goal / min(losses_b)\n"
            },
            hint="this compares the losses",
            gravity="idea",
        ),
        Mistake(
            "linear in FLOPs",
            change={
                "(1 - share) * math.log(flops_b[i - 1]) + share * math.log(flops_b[i])": "math.log((1 - share) * flops_b[i - 1] + share * flops_b[i])"
            },
            hint="the FLOPs themselves are interpolated",
            gravity="part",
        ),
        Mistake(
            "no interpolation",
            change={"            share = ": "            return flops_a[-1] / flops_b[i]\n            share = "},
            hint="you use the point at which B is better",
            gravity="part",
        ),
        Mistake(
            "the point before",
            change={"            share = ": "            return flops_a[-1] / flops_b[i - 1]\n            share = "},
            hint="you use the point before",
            gravity="idea",
        ),
        Mistake(
            "never is infinity",
            change={"    return None\n": "    return math.inf\n"},
            hint="B never reaches A's last loss: return None",
            gravity="part",
        ),
        Mistake(
            "last crossing",
            change={
                "for i, loss in enumerate(losses_b):\n        if loss <= goal:": "for i, loss in reversed(list(enumerate(losses_b))):\n        if loss <= goal and (i == 0 or losses_b[i - 1] > goal):"
            },
            hint="you use the last crossing",
            gravity="part",
        ),
        Mistake(
            "A's best loss",
            change={"goal = losses_a[-1]": "goal = min(losses_a)"},
            hint="you use A's lowest loss: use its last one",
            gravity="part",
        ),
        Mistake(
            "first point ignored",
            change={
                "            if i == 0:\n                return flops_a[-1] / flops_b[0]\n": "            if i == 0:\n                continue\n"
            },
            hint="use that point's FLOPs",
            gravity="edge",
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

EQUIVALENT = {
    "average": {
        "dtype: *": "float32 holds the counts exactly, and a number without axes changes no dtype",
        "iterator: *": "the text gives a list",
    },
    "bonus-int8": {"dtype: torch.ones_like(step) without its dtype": "`torch.where` takes the wider of the two dtypes"},
    "bonus-bucket": {"number: 0 → -1": "all gradients have the same dtype"},
    "mask": {"copy: *": "with nothing to drop the text does not ask for a new tensor"},
    "round": {
        "left out: without x = x.double()": "the distance between neighbours is float64, and so is the quotient",
        "left out: without double of x": "the distance between neighbours is float64, and so is the quotient",
        "left out: (y.abs() > largest) | x.isinf() *": "infinity rounds to infinity, which is larger than the largest number",
    },
}
