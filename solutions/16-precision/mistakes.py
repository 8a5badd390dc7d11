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
            "finite and one more",
            change={"2.0 ** (highest - bias)": "2.0 ** (highest - bias + finite)"},
            says="with `finite` the exponent is one too high: the highest exponent is 2^E − 1, and the bias stays",
            gravity="part",
        ),
        Mistake(
            "step of the smallest number",
            change={"2.0**-mantissa_bits\n": "2.0**-mantissa_bits * 2.0 ** (1 - bias)\n"},
            says="epsilon is the step next to the smallest normal number: it is the step next to 1, 2^−M",
            gravity="part",
        ),
        Mistake(
            "mantissa of e4m3fn",
            change={"2**mantissa_bits - 2)": "6)"},
            says="the largest mantissa is always 6: it is 2^M − 2, whatever M is",
            gravity="part",
        ),
        Mistake(
            "subnormal twice too large",
            change={"2.0 ** (1 - bias - mantissa_bits)": "2.0 ** (2 - bias - mantissa_bits)"},
            says="the smallest subnormal number is twice too large: it is 2^(1 − b) · 2^−M",
            gravity="part",
        ),
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
        Mistake(
            "fp16 whatever is asked",
            code="def limits(exponent_bits, mantissa_bits, finite=False):\n    return 65504.0, 2.0**-14, 2.0**-24, 2.0**-10\n",
            says="these are always the limits of fp16: use the arguments",
            gravity="idea",
        ),
        Mistake(
            "finite with the lower exponent",
            change={"2**exponent_bits - 1, 2**mantissa_bits - 2)": "2**exponent_bits - 2, 2**mantissa_bits - 2)"},
            says="with `finite` the exponent is one too low: the highest exponent, 2^E − 1, is for numbers, too",
            gravity="part",
        ),
        Mistake(
            "epsilon doubled",
            change={"2.0**-mantissa_bits\n": "2.0 ** (1 - mantissa_bits)\n"},
            says="epsilon is twice too large: the mantissa has M bits, so the step next to 1 is 2^−M",
            gravity="part",
        ),
        Mistake(
            "epsilon of the exponent",
            change={"2.0**-mantissa_bits\n": "2.0**-exponent_bits\n"},
            says="epsilon is made with E: the number of mantissa bits decides, 2^−M",
            gravity="part",
        ),
        Mistake(
            "bias of all bits",
            change={"2 ** (exponent_bits - 1) - 1": "2**exponent_bits - 1"},
            says="the bias is 2^E − 1 here: it is 2^(E−1) − 1",
            gravity="idea",
        ),
        Mistake(
            "no bias",
            change={"bias = 2 ** (exponent_bits - 1) - 1": "bias = 0"},
            says="the bias is missing: the exponent of a number is e − b",
            gravity="idea",
        ),
        Mistake(
            "largest last",
            change={
                "return largest, 2.0 ** (1 - bias), 2.0 ** (1 - bias - mantissa_bits), 2.0**-mantissa_bits": "return 2.0 ** (1 - bias), 2.0 ** (1 - bias - mantissa_bits), largest, 2.0**-mantissa_bits"
            },
            says="the numbers come in another order: the largest one first, then the smallest normal, the smallest subnormal, epsilon",
            gravity="idea",
        ),
        Mistake(
            "half a step below two",
            change={"largest = (1 + mantissa / 2**mantissa_bits)": "largest = (2 - 2.0 ** -(mantissa_bits + 1))"},
            says="the largest mantissa is half a step too large: it is 1 − 2^(−M), or 1 − 2 · 2^(−M) with `finite`",
            gravity="idea",
        ),
        Mistake(
            "exponent of finite for all",
            change={"if finite else (2**exponent_bits - 2, 2**mantissa_bits - 1)": "if True else (0, 0)"},
            says="every format is taken for a finite one: without `finite` the highest exponent is for infinity and NaN",
            gravity="idea",
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
            "exponent turned round",
            change={"(e.clamp(min=1) - bias)": "(bias - e.clamp(min=1))"},
            says="the exponent is turned round: it is e − b",
            gravity="idea",
        ),
        Mistake(
            "mantissa over 2^M \u2212 1",
            change={"m.double() / 2**mantissa_bits": "m.double() / (2**mantissa_bits - 1)"},
            says="the mantissa is divided by 2^M − 1: by 2^M",
            gravity="idea",
        ),
        Mistake(
            "finite, all NaN",
            change={"value[top & (m == 2**mantissa_bits - 1)] = torch.nan": "value[top] = torch.nan"},
            says="in a finite format all patterns with the highest exponent become NaN: only the one with all bits set is",
            gravity="part",
        ),
        Mistake(
            "finite, infinity",
            change={"value[top & (m == 2**mantissa_bits - 1)] = torch.nan": "value[top & (m == 2**mantissa_bits - 1)] = torch.inf"},
            says="a finite format has no infinity: the pattern with all bits set is NaN",
            gravity="part",
        ),
        Mistake(
            "subnormal flushed",
            change={"    return sign * value": "    value[e == 0] = 0.0\n    return sign * value"},
            says="everything with e = 0 becomes 0: there are subnormal numbers, m / 2^M · 2^(1 − b)",
            gravity="part",
        ),
        Mistake(
            "infinity without sign",
            change={"    return sign * value": "    return torch.where(value.isinf(), value, sign * value)"},
            says="infinity loses its sign: the highest bit counts there, too",
            gravity="part",
        ),
        Mistake(
            "flattened",
            change={"    return sign * value": "    return (sign * value).flatten()"},
            says="the result is flat: it has the shape of the patterns",
            gravity="edge",
        ),
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
        Mistake(
            "finite ignored",
            change={"if finite:": "if False:"},
            says="`finite` is ignored: a finite format has no infinity, and only the pattern with all bits set is NaN",
            gravity="part",
        ),
        Mistake(
            "finite without NaN",
            change={"value[top & (m == 2**mantissa_bits - 1)] = torch.nan": "pass"},
            says="a finite format has a NaN, too: the pattern with all bits set",
            gravity="part",
        ),
        Mistake(
            "in float32",
            change={"    return sign * value": "    return (sign * value).float()"},
            hint="the result is a float64 tensor",
            gravity="edge",
        ),
        Mistake(
            "widths exchanged",
            change={"    m = bits": "    exponent_bits, mantissa_bits = mantissa_bits, exponent_bits\n    m = bits"},
            says="the lowest M bits are the mantissa, the next E bits the exponent: yours are exchanged",
            gravity="idea",
        ),
        Mistake(
            "mantissa over 2^E",
            change={"m.double() / 2**mantissa_bits": "m.double() / 2**exponent_bits"},
            says="the mantissa is divided by 2^E: by 2^M",
            gravity="idea",
        ),
        Mistake(
            "sign turned", change={"1.0 - 2.0 *": "-1.0 + 2.0 *"}, says="the sign is turned round: the bit 1 means negative", gravity="idea"
        ),
        Mistake(
            "no bias",
            change={"(e.clamp(min=1) - bias)": "e.clamp(min=1)"},
            says="the bias is missing: the exponent is e − b",
            gravity="idea",
        ),
        Mistake(
            "mantissa not masked",
            change={"m = bits & (2**mantissa_bits - 1)": "m = bits"},
            says="the mantissa still has the bits of exponent and sign in it: keep the lowest M bits only",
            gravity="idea",
        ),
        Mistake(
            "exponent not masked",
            change={" & (2**exponent_bits - 1)\n    sign": "\n    sign"},
            says="the exponent still has the sign bit in it: keep E bits only",
            gravity="idea",
        ),
        Mistake(
            "sign bit one place off",
            change={"(bits >> (exponent_bits + mantissa_bits))": "((bits >> (exponent_bits + mantissa_bits - 1)) & 1)"},
            says="the sign is read one bit too low: it stands above the E + M other bits",
            gravity="idea",
        ),
        Mistake(
            "no infinity, no NaN",
            change={
                "    if finite:\n        value[top & (m == 2**mantissa_bits - 1)] = torch.nan\n    else:\n        value[top] = torch.where(m[top] == 0, torch.inf, torch.nan).double()\n": ""
            },
            says="the highest exponent is taken for ordinary numbers everywhere: it stands for infinity and NaN, and in a finite format the pattern with all bits set is NaN",
            gravity="part",
        ),
        Mistake(
            "hidden one and e for all",
            change={"+ (e > 0)": "+ 1", "e.clamp(min=1)": "e"},
            says="e = 0 is treated like all others: there is no hidden one there, and the exponent is 1 − b",
            gravity="part",
        ),
        Mistake(
            "all of the top are infinite",
            change={
                "torch.where(m[top] == 0, torch.inf, torch.nan).double()": "torch.inf",
                "value[top & (m == 2**mantissa_bits - 1)] = torch.nan": "value[top] = torch.inf",
            },
            says="everything with the highest exponent becomes infinite: with m > 0 it is NaN, and a finite format has ordinary numbers there",
            gravity="part",
        ),
        Mistake(
            "NaN with the sign of zero only",
            change={"m == 2**mantissa_bits - 1)] = torch.nan": "m == 0)] = torch.nan"},
            says="in a finite format the wrong pattern is NaN: it is the one with all exponent and mantissa bits set",
            gravity="part",
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
            "rounded up",
            change={"torch.round(x / gap)": "torch.ceil(x / gap)"},
            says="numbers are rounded up: round to the nearest",
            gravity="idea",
        ),
        Mistake(
            "infinity in a format with infinity",
            change={"x.sign() * over, y)": "torch.where(x.isinf() & (not finite), x, x.sign() * over), y)"},
            says="infinity stays infinite where it may not: with `saturate` it becomes the largest number, in a finite format NaN",
            gravity="part",
        ),
        Mistake(
            "one step for all",
            change={"torch.exp2((k - mantissa_bits).double())": "torch.exp2((k.max() - mantissa_bits).double())"},
            says="all numbers get the steps of the largest one: each has its own exponent",
            gravity="idea",
        ),
        Mistake(
            "NaN becomes zero",
            change={"return torch.where(": "y = y.nan_to_num(nan=0.0, posinf=math.inf, neginf=-math.inf)\n    return torch.where("},
            says="NaN becomes 0: NaN stays NaN",
            gravity="edge",
        ),
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
            says="the remainder is cut off: round to the nearest",
            gravity="idea",
        ),
        Mistake(
            "ties up",
            change={"torch.round(x / gap)": "torch.floor(x / gap + 0.5)"},
            says="ties are rounded up: they go to the neighbour whose last bit is 0",
            gravity="part",
        ),
        Mistake("frexp's exponent as it is", change={".exponent - 1)": ".exponent)"}, hint="the steps are too wide", gravity="idea"),
        Mistake(
            "steps too narrow", change={"(k - mantissa_bits)": "(k - mantissa_bits - 1)"}, hint="the steps are too narrow", gravity="idea"
        ),
        Mistake(
            "no subnormal limit",
            change={".clamp(min=1 - bias)": ""},
            says="the exponent must not fall below 1 − b: subnormal numbers are evenly spaced",
            gravity="part",
        ),
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
            says="finite numbers never overflow: what is above the largest number after rounding becomes infinite (or NaN, or the largest)",
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
            says="a finite format has no infinity: use NaN instead",
            gravity="part",
        ),
        Mistake(
            "saturate ignored",
            change={"largest if saturate else ": ""},
            says="`saturate` is ignored: with it an overflow, and infinity itself, becomes the largest number with the sign of x",
            gravity="part",
        ),
        Mistake(
            "bias one too large",
            change={"** (exponent_bits - 1) - 1": "** (exponent_bits - 1)"},
            says="the smallest exponent is one too low: it is 1 − b, with the bias b = 2^(E−1) − 1",
            gravity="part",
        ),
        Mistake(
            "in float32",
            change={"x.sign() * over, y)": "x.sign() * over, y).float()"},
            hint="the result is a float64 tensor",
            gravity="edge",
        ),
        Mistake(
            "limits of another format",
            change={"mantissa_bits, finite)[0]": "mantissa_bits)[0]"},
            says="the largest number is that of the format with infinity: give `finite` to `limits`",
            gravity="part",
        ),
        Mistake(
            "smallest exponent -b",
            change={"min=1 - bias": "min=-bias"},
            says="the smallest exponent is one too low: it is 1 − b, with the bias b = 2^(E−1) − 1",
            gravity="part",
        ),
        Mistake(
            "smallest exponent 2 - b",
            change={"min=1 - bias": "min=2 - bias"},
            says="the smallest exponent is one too high: it is 1 − b",
            gravity="part",
        ),
        Mistake(
            "NaN saturates",
            change={"x.sign() * over, y)": "x.sign() * over, torch.where(x.isnan() & saturate, largest, y))"},
            says="with `saturate` NaN becomes the largest number: NaN stays NaN",
            gravity="edge",
        ),
        Mistake(
            "no sign when it saturates",
            change={"x.sign() * over": "(over if saturate else x.sign() * over)"},
            says="with `saturate` an overflow loses the sign of x",
            gravity="part",
        ),
        Mistake(
            "steps by E",
            change={"(k - mantissa_bits)": "(k - exponent_bits)"},
            says="the distance between neighbours is made with E: it is 2^(k − M)",
            gravity="idea",
        ),
        Mistake(
            "steps of 1",
            change={"(k - mantissa_bits)": "(0 * k - mantissa_bits)"},
            says="all numbers get the steps 2^−M, those between 1 and 2: the distance is 2^(k − M)",
            gravity="idea",
        ),
        Mistake(
            "not multiplied back",
            change={"torch.round(x / gap) * gap": "torch.round(x / gap)"},
            says="the result counts the steps: multiply by their distance again",
            gravity="idea",
        ),
        Mistake(
            "two steps",
            change={"torch.round(x / gap) * gap": "torch.round(x / gap / 2) * gap * 2"},
            says="the steps are too wide: between 2^k and 2^(k+1) they are 2^(k−M). frexp's mantissa lies in [½, 1)",
            gravity="idea",
        ),
        Mistake(
            "decimals",
            change={"torch.round(x / gap) * gap": "torch.round(x, decimals=mantissa_bits)"},
            says="x is rounded to M decimals: round to multiples of 2^(k − M)",
            gravity="idea",
        ),
        Mistake(
            "ties away",
            change={"torch.round(x / gap)": "x.sign() * torch.floor(x.abs() / gap + 0.5)"},
            says="ties are rounded away from 0: they go to the neighbour whose last bit is 0",
            gravity="part",
        ),
        Mistake(
            "ties down",
            change={"torch.round(x / gap)": "torch.ceil(x / gap - 0.5)"},
            says="ties are rounded down: they go to the neighbour whose last bit is 0",
            gravity="part",
        ),
        Mistake(
            "the largest number overflows",
            change={"(y.abs() > largest)": "(y.abs() >= largest)"},
            says="the largest number itself is taken for an overflow: only what is larger is one",
            gravity="part",
        ),
        Mistake(
            "saturates at infinity only",
            change={
                "x.sign() * over, y)": "torch.where(x.isinf() | (not saturate), x.sign() * (largest if saturate else over), x.sign() * (math.nan if finite else math.inf)), y)"
            },
            says="with `saturate` only infinity becomes the largest number: every overflow does",
            gravity="part",
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
            "the bit below",
            change={"(bits >> drop) & 1": "(bits >> (drop - 1)) & 1"},
            hint="ties are rounded up: add 2^(r−1) − 1 and the lowest bit that stays",
            gravity="part",
        ),
        Mistake(
            "mask one bit short",
            change={"& -(2**drop)": "& -(2 ** (drop - 1))"},
            says="one bit too few is set to 0: the mask clears the lowest r bits",
            gravity="idea",
        ),
        Mistake(
            "NaN to zero",
            change={
                "rounded.view(torch.float32), x)": "rounded.view(torch.float32), x.nan_to_num(nan=0.0, posinf=math.inf, neginf=-math.inf))"
            },
            says="NaN becomes 0: NaN stays NaN",
            gravity="edge",
        ),
        Mistake(
            "one bit more",
            change={"23 - mantissa_bits": "24 - mantissa_bits"},
            says="one bit too many is dropped: r = 23 − M",
            gravity="idea",
        ),
        Mistake(
            "no carry to infinity",
            change={
                "    return torch.where(x": "    rounded = torch.where(rounded.view(torch.float32).isinf(), bits, rounded)\n    return torch.where(x"
            },
            says="a carry into infinity is undone: let it happen, above the largest number that is right",
            gravity="edge",
        ),
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
        Mistake(
            "cut off",
            change={"(bits + 2 ** (drop - 1) - 1 + stays) &": "bits &"},
            says="the bits are cut off: add before you mask",
            gravity="idea",
        ),
        Mistake("ties up", change={"2 ** (drop - 1) - 1 + stays": "2 ** (drop - 1)"}, hint="ties are rounded up", gravity="part"),
        Mistake("ties down", change={" - 1 + stays": " - 1"}, hint="the lowest bit that stays is missing", gravity="part"),
        Mistake(
            "values for bits",
            change={"x.view(torch.int32)": "(x * 2**23).int()"},
            says="x is multiplied by 2²³ and made an integer: `x.view(torch.int32)` reads the bits of x as they are",
            gravity="idea",
        ),
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
        Mistake(
            "always tf32",
            change={"drop = 23 - mantissa_bits": "drop = 13"},
            says="ten bits are always kept: use `mantissa_bits`",
            gravity="part",
        ),
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
        Mistake(
            "converted back as values",
            change={"rounded.view(torch.float32)": "rounded.to(torch.float32)"},
            says="the rounded bits are converted as whole numbers: read them as float32 again with `view(torch.float32)`",
            gravity="idea",
        ),
        Mistake(
            "the mask turned round",
            change={"& -(2**drop)": "& (2**drop - 1)"},
            says="the mask keeps the bits that are to go, and clears the others",
            gravity="idea",
        ),
        Mistake(
            "the very lowest bit",
            change={"(bits >> drop) & 1": "bits & 1"},
            says="ties are rounded down: the lowest bit that stays is missing from the sum",
            gravity="part",
        ),
        Mistake(
            "masked, then added",
            change={"(bits + 2 ** (drop - 1) - 1 + stays) & -(2**drop)": "(bits & -(2**drop)) + 2 ** (drop - 1) - 1 + stays"},
            says="the mask comes first, so that the lowest bits are not 0: add, then mask",
            gravity="idea",
        ),
        Mistake(
            "a whole step added",
            change={"2 ** (drop - 1) - 1 + stays": "2**drop - 1"},
            says="too much is added, so that every number goes up: add 2^(r−1) − 1 and the lowest bit that stays",
            gravity="idea",
        ),
        Mistake(
            "one too much",
            change={"2 ** (drop - 1) - 1 + stays": "2 ** (drop - 1) + stays"},
            says="ties are rounded up: add 2^(r−1) − 1 and the lowest bit that stays",
            gravity="part",
        ),
        Mistake(
            "the bit turned",
            change={"(bits >> drop) & 1": "1 - ((bits >> drop) & 1)"},
            says="ties go to the neighbour whose last bit is 1: add the lowest bit that stays, not its opposite",
            gravity="part",
        ),
        Mistake(
            "M bits dropped",
            change={"drop = 23 - mantissa_bits": "drop = mantissa_bits"},
            says="M bits are dropped: M bits stay, and r = 23 − M go",
            gravity="idea",
        ),
        Mistake(
            "sixteen dropped",
            change={"drop = 23 - mantissa_bits": "drop = 16"},
            says="this is always bfloat16, with 7 bits: use `mantissa_bits`",
            gravity="idea",
        ),
        Mistake(
            "infinity for NaN",
            change={
                "x.isfinite(), rounded.view(torch.float32), x)": "x.isfinite(), rounded.view(torch.float32), torch.where(x.isnan(), torch.inf, x))"
            },
            says="NaN becomes infinite: NaN stays NaN",
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
            "65504 an overflow",
            change={"not bool(g.isfinite().all())": "bool((g.abs() >= 65504).any() | g.isnan().any())"},
            says="65504 is taken for an overflow: it is fp16's largest number",
            gravity="part",
        ),
        Mistake(
            "zero an overflow",
            change={"not bool(g.isfinite().all())": "bool((g == 0).all()) or not bool(g.isfinite().all())"},
            says="gradients of zero are taken for an overflow: only infinity and NaN are",
            gravity="part",
        ),
        Mistake(
            "gradients in float64",
            change={"g.float() / scale": "g.double() / scale"},
            says="the gradients come back in float64: in float32",
            gravity="edge",
        ),
        Mistake(
            "NaN cleaned",
            change={"g.float() / scale": "g.float().nan_to_num() / scale"},
            says="infinity and NaN are replaced: the gradients come back as they are, divided by the scale",
            gravity="edge",
        ),
        Mistake(
            "a lower limit",
            change={"return scale * backoff, 0": "return max(1.0, scale * backoff), 0"},
            says="the scale is kept above 1: the text has no lower limit",
            gravity="edge",
        ),
        Mistake(
            "steps not counted",
            change={"(scale, good)": "(scale, good - 1)"},
            says="good steps are not counted: the count grows by one",
            gravity="idea",
        ),
        Mistake(
            "count goes on after growth",
            change={
                "(scale * growth, 0) if good == interval else (scale, good)": "(scale * growth, good) if good % interval == 0 else (scale, good)"
            },
            says="the count does not start again when the scale grows",
            gravity="part",
        ),
        Mistake(
            "growth added",
            change={"scale * growth": "scale + growth"},
            says="`growth` is added: the scale is multiplied by it",
            gravity="part",
        ),
        Mistake(
            "always halved",
            change={"scale * backoff": "scale / 2"},
            says="the scale is always halved: multiply by `backoff`",
            gravity="part",
        ),
        Mistake(
            "reciprocal in fp16",
            change={"g.float() / scale": "g.float() * float(torch.tensor(1 / scale, dtype=torch.float16))"},
            hint="with a scale of 3000 digits are lost: divide in float32",
            gravity="edge",
        ),
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
            says="after an overflow no gradients come back: return them, too, divided by the scale",
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
            says="only the first tensor is looked at: an overflow may be in any of them",
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
            says="the scale grows one step too late: count the good step before you compare",
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
            says="the factors are always 2 and ½: use `growth` and `backoff`",
            gravity="part",
        ),
        Mistake(
            "None for the gradients",
            change={"return overflow, [g": "return overflow, None if overflow else [g"},
            says="after an overflow no gradients come back: return them, too, divided by the scale",
            gravity="edge",
        ),
        Mistake(
            "only NaN",
            change={"not bool(g.isfinite().all())": "bool(g.isnan().any())"},
            says="only NaN is taken for an overflow: infinity is one, too",
            gravity="part",
        ),
        Mistake(
            "all is well",
            change={"any(not bool(g.isfinite().all()) for g in gradients)": "all(bool(g.isfinite().all()) for g in gradients)"},
            says="the flag is turned round: it is True where something is infinite or NaN",
            gravity="part",
        ),
        Mistake(
            "every entry",
            change={"g.isfinite().all()": "g.isfinite().any()"},
            says="an overflow counts only if every entry of a tensor is infinite or NaN: one is enough",
            gravity="part",
        ),
        Mistake(
            "never an overflow",
            change={"any(not bool(g.isfinite().all()) for g in gradients)": "False"},
            says="an overflow is never found: look for entries that are not finite",
            gravity="part",
        ),
        Mistake(
            "after the division in fp16",
            change={"not bool(g.isfinite().all())": "not bool((g * scale).isfinite().all())"},
            says="what would overflow if it were scaled again is taken for an overflow: look at the gradients as they are",
            gravity="part",
        ),
        Mistake(
            "always 1024",
            change={"g.float() / scale": "g.float() / 1024"},
            says="the scale is always 1024: use the argument",
            gravity="idea",
        ),
        Mistake(
            "clean gradients",
            change={"g.float() / scale": "g.float().nan_to_num(0.0, 0.0, 0.0) / scale"},
            says="infinity and NaN become 0: the gradients come back as they are, divided by the scale",
            gravity="edge",
        ),
        Mistake(
            "count never grows", change={"    good += 1\n": ""}, says="good steps are not counted: the count grows by one", gravity="idea"
        ),
        Mistake(
            "own interval",
            change={"good == interval": "good == 2000"},
            says="the interval is always 2000: use the argument",
            gravity="part",
        ),
        Mistake(
            "growth and backoff exchanged",
            change={"scale * backoff": "scale * growth", "scale * growth, 0)": "scale * backoff, 0)"},
            says="`growth` and `backoff` are exchanged: after an overflow the scale is multiplied by `backoff`",
            gravity="idea",
        ),
        Mistake(
            "grows at every good step",
            change={"(scale * growth, 0) if good == interval else (scale, good)": "(scale * growth, good)"},
            says="the scale grows at every good step: only when the count reaches `interval`",
            gravity="idea",
        ),
        Mistake(
            "grows at every good step, from 0",
            change={"(scale * growth, 0) if good == interval else (scale, good)": "(scale * growth, 0)"},
            says="the scale grows at every good step: only when the count reaches `interval`",
            gravity="idea",
        ),
        Mistake(
            "never grows",
            change={"(scale * growth, 0) if good == interval else (scale, good)": "(scale, good)"},
            says="the scale never grows: when the count reaches `interval`, multiply by `growth`",
            gravity="part",
        ),
        Mistake(
            "shrinks when it should grow",
            change={"scale * growth": "scale * backoff"},
            says="when the count reaches `interval` the scale is multiplied by `backoff`: by `growth`",
            gravity="part",
        ),
        Mistake(
            "always doubled",
            change={"scale * growth": "scale * 2"},
            says="the scale is always doubled: multiply by `growth`",
            gravity="part",
        ),
        Mistake(
            "divided by backoff",
            change={"scale * backoff": "scale / backoff"},
            says="after an overflow the scale is divided by `backoff`: multiply by it",
            gravity="idea",
        ),
        Mistake(
            "one step too late, counted before",
            change={
                "    good += 1\n    return (scale * growth, 0) if good == interval else (scale, good)": "    return (scale * growth, 0) if good == interval else (scale, good + 1)"
            },
            says="the scale grows one step too late: count the good step before you compare",
            gravity="part",
        ),
        Mistake(
            "one step too early",
            change={"good == interval": "good == interval - 1"},
            says="the scale grows one step too early: when the count reaches `interval`",
            gravity="part",
        ),
        Mistake(
            "count from 1",
            change={"scale * backoff, 0": "scale * backoff, 1"},
            says="after an overflow the count starts from 1: from 0",
            gravity="idea",
        ),
        Mistake(
            "an overflow counts",
            change={
                "    if overflow:\n        return scale * backoff, 0\n    good += 1": "    good += 1\n    if overflow:\n        return scale * backoff, good"
            },
            says="an overflow is counted as a good step: the count restarts from 0",
            gravity="idea",
        ),
        Mistake(
            "an overflow changes nothing",
            change={"return scale * backoff, 0": "return scale, 0"},
            says="after an overflow the scale stays: multiply it by `backoff`",
            gravity="idea",
        ),
        Mistake(
            "order of the results",
            change={
                "return scale * backoff, 0": "return 0, scale * backoff",
                "(scale * growth, 0) if good == interval else (scale, good)": "(0, scale * growth) if good == interval else (good, scale)",
            },
            says="the two results of `next_scale` are exchanged: first the scale, then the count",
            gravity="idea",
        ),
        Right("loops", code=UNSCALE + NEXT_SCALE),
        Right("in float64 on the way", change={"g.float() / scale": "(g.double() / scale).float()"}),
    ],
    "average": [
        Mistake(
            "whole division",
            change={"all_sum(g * count) / total.to(g.dtype)": "all_sum(g * count) // total.to(g.dtype)"},
            says="`//` cuts the average to whole numbers: divide with `/`",
            gravity="idea",
        ),
        Mistake(
            "weighted by elements",
            change={"g * count": "g * g.numel()"},
            says="the gradients are weighted by their numbers of elements: weight them by `count`",
            gravity="idea",
        ),
        Mistake(
            "own share only",
            change={"all_sum(g * count) / total": "g * count / total"},
            says="only this worker's share is there: the weighted gradients go through all_sum, too",
            gravity="idea",
        ),
        Mistake(
            "weighted after the sum",
            change={"all_sum(g * count) / total.to(g.dtype)": "all_sum(g) * count / total.to(g.dtype)"},
            says="the sum over the workers is multiplied by this worker's count: multiply before all_sum",
            gravity="idea",
        ),
        Mistake(
            "one flat tensor",
            change={
                "return [all_sum(g * count) / total.to(g.dtype) for g in gradients]": "return torch.cat([(all_sum(g * count) / total.to(g.dtype)).flatten() for g in gradients])"
            },
            says="the gradients come back as one flat tensor: return a list, each with its shape",
            gravity="idea",
        ),
        Mistake(
            "exchanged in float16",
            change={"all_sum(g * count)": "all_sum((g * count).half()).to(g.dtype)"},
            says="the gradients are rounded to float16 on the way: keep their dtype",
            gravity="edge",
        ),
        Mistake(
            "no examples count as one",
            change={"    total =": "    if count == 0:\n        count = 1\n    total ="},
            says="a worker without examples counts as one with one: its count is 0",
            gravity="edge",
        ),
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
            says="this is the sum of the gradients, without any weight or division",
            gravity="idea",
        ),
        Mistake(
            "own gradient",
            code="def average_gradients(gradients, count, all_sum):\n    return [g.clone() for g in gradients]\n" + WORKERS,
            says="each worker keeps its own gradient: all_sum brings them together",
            gravity="idea",
        ),
        Mistake(
            "plain mean",
            code="def average_gradients(gradients, count, all_sum):\n    n = all_sum(torch.ones(()))\n    return [all_sum(g) / n for g in gradients]\n"
            + WORKERS,
            says="this is the plain mean over the workers: weight each by its number of examples",
            gravity="idea",
        ),
        Mistake(
            "no division", change={" / total.to(g.dtype)": ""}, says="this is the sum over examples: divide by their number", gravity="idea"
        ),
        Mistake(
            "own count",
            change={"total = all_sum(torch.tensor(float(count), dtype=torch.float64))": "total = torch.tensor(2.0 * count)"},
            says="you divide by twice this worker's own count: the total of all counts comes from all_sum",
            gravity="idea",
        ),
        Mistake(
            "its own count",
            change={"total = all_sum(torch.tensor(float(count), dtype=torch.float64))": "total = torch.tensor(float(count))"},
            says="this is divided by this worker's own count: the total goes through all_sum, too",
            gravity="idea",
        ),
        Mistake(
            "divided by the count",
            change={"g * count": "g / max(count, 1)"},
            says="the weights are inverted: more examples, more weight",
            gravity="idea",
        ),
        Mistake(
            "out of step",
            change={
                "return [all_sum(g * count)": "if count == 0:\n        return [torch.zeros_like(g) for g in gradients]\n    return [all_sum(g * count)"
            },
            says="a worker without examples does not call `all_sum`: the others wait for it",
            gravity="edge",
        ),
        Mistake("in place", change={"all_sum(g * count)": "all_sum(g.mul_(count))"}, hint=IN_PLACE, gravity="edge"),
        Mistake(
            "flattened",
            change={
                "/ total.to(g.dtype) for": "/ total.to(g.dtype).reshape(1) for",
                "all_sum(g * count)": "all_sum((g * count).flatten())",
            },
            says="the gradients come back flat: they must keep their shapes",
            gravity="part",
        ),
        Mistake(
            "total without weights",
            change={"all_sum(g * count)": "all_sum(g)"},
            says="the gradients are not weighted: multiply each by `count` before all_sum",
            gravity="idea",
        ),
        Mistake(
            "by the tensors",
            change={"all_sum(g * count)": "all_sum(g * count / len(gradients))"},
            says="the averages are divided by the number of tensors as well: only by the number of examples",
            gravity="part",
        ),
        Mistake(
            "two workers",
            change={
                "total = all_sum(torch.tensor(float(count), dtype=torch.float64))": "total = torch.tensor(2.0)",
                "all_sum(g * count)": "all_sum(g)",
            },
            says="two workers are assumed, and no weights: weight by `count`, and divide by the sum of all counts",
            gravity="idea",
        ),
        Mistake(
            "weighted, by the workers",
            change={"torch.tensor(float(count), dtype=torch.float64)": "torch.tensor(1.0)"},
            says="the gradients are weighted, but the sum is divided by the number of workers: divide by the number of examples",
            gravity="idea",
        ),
        Mistake(
            "own count times the workers",
            change={"total = all_sum(torch.tensor(float(count), dtype=torch.float64))": "total = all_sum(torch.tensor(1.0)) * count"},
            says="this is divided by this worker's own count times the number of workers: the sum of all counts goes through all_sum",
            gravity="idea",
        ),
        Mistake(
            "only for one worker",
            change={"all_sum(g * count) / total.to(g.dtype)": "(all_sum(g) * 0 + g * count / total.to(g.dtype))"},
            says="only this worker's share is there: the weighted gradients go through all_sum, too",
            gravity="idea",
        ),
        Mistake(
            "by the count twice",
            change={"all_sum(g * count) / total.to(g.dtype)": "all_sum(g * count) / total.to(g.dtype) / max(count, 1)"},
            says="this is divided by this worker's own count as well: only by the number of all examples",
            gravity="idea",
        ),
        Mistake(
            "the total to each tensor's mean",
            change={"all_sum(g * count)": "all_sum(g * count).mean()"},
            says="each gradient becomes its own mean, one number: the average runs over workers, not over the entries",
            gravity="idea",
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
            "rounded down",
            change={"torch.round(W / step[:, None])": "torch.floor(W / step[:, None])"},
            says="quotients are rounded down: round to the nearest",
            gravity="idea",
        ),
        Mistake(
            "unsigned",
            change={"torch.round(W / step[:, None]).to(torch.int8)": "(torch.round(W / step[:, None]) + 128).to(torch.uint8)"},
            says="q is shifted by 128 and unsigned: q goes from −127 to 127, in int8",
            gravity="idea",
        ),
        Mistake(
            "x rounded",
            change={"(x @ q.to(x.dtype).T)": "(x.round() @ q.to(x.dtype).T)"},
            says="x is rounded to whole numbers: convert q to the dtype of x",
            gravity="idea",
        ),
        Mistake(
            "mean of the steps",
            change={"(x @ q.to(x.dtype).T) * step": "(x @ (q.to(x.dtype) * step.mean()).T)"},
            says="one mean step is used for all rows: each row has its own",
            gravity="idea",
        ),
        Mistake(
            "bias before the step",
            change={
                "y = (x @ q.to(x.dtype).T) * step\n    return y if bias is None else y + bias": "y = x @ q.to(x.dtype).T\n    return (y if bias is None else y + bias) * step"
            },
            says="the bias is multiplied by the step: add it afterwards",
            gravity="part",
        ),
        Mistake(
            "half the range",
            change={"W.abs().amax(dim=1) / 127": "(W.amax(dim=1) - W.amin(dim=1)) / 254"},
            says="half the range of a row decides: take its largest absolute value, so that W and −W have the same steps",
            gravity="idea",
        ),
        Mistake(
            "product in float32",
            change={"(x @ q.to(x.dtype).T)": "(x.float() @ q.float().T).to(x.dtype)"},
            hint="the output for a float64 x loses digits",
            gravity="edge",
        ),
        Mistake(
            "standard deviation",
            change={"W.abs().amax(dim=1) / 127": "W.std(dim=1) * 3 / 127"},
            says="the standard deviation decides: take the largest absolute value of the row",
            gravity="idea",
        ),
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
            says="each column gets its own step, and q is made with it: each row has its own",
            gravity="idea",
        ),
        Mistake("to 128", change={"/ 127": "/ 128"}, hint="these are the steps to 128, which int8 does not have", gravity="idea"),
        Mistake(
            "to 255 steps in all", change={"/ 127": "/ 63.5"}, hint="the steps are twice too wide: q goes from −127 to 127", gravity="idea"
        ),
        Mistake(
            "the largest, not the largest in absolute value",
            change={"W.abs().amax(dim=1)": "W.amax(dim=1)"},
            says="the largest weight decides here, not the largest absolute value: negative weights do not fit",
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
            says="the steps are missing: each output has the step of its row",
            gravity="idea",
        ),
        Mistake(
            "x in whole numbers",
            change={"(x @ q.to(x.dtype).T)": "(x.trunc() @ q.to(x.dtype).T)"},
            says="x is cut to integers: convert q to the dtype of x, not x to that of q",
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
        Mistake(
            "mean of the row",
            change={"W.abs().amax(dim=1)": "W.abs().mean(dim=1)"},
            says="the mean of the absolute values decides: take the largest",
            gravity="idea",
        ),
        Mistake(
            "smallest of the row",
            change={"W.abs().amax(dim=1)": "W.abs().amin(dim=1)"},
            says="the smallest absolute value decides: take the largest",
            gravity="idea",
        ),
        Mistake(
            "steps on x",
            change={"(x @ q.to(x.dtype).T) * step": "(x * step) @ q.to(x.dtype).T"},
            says="the steps multiply x: each belongs to a row of q, so it multiplies an output",
            gravity="idea",
        ),
        Mistake(
            "divided by the steps",
            change={"(x @ q.to(x.dtype).T) * step": "(x @ q.to(x.dtype).T) / step"},
            says="the output is divided by the steps: multiply",
            gravity="idea",
        ),
        Mistake(
            "x in int8",
            change={"(x @ q.to(x.dtype).T)": "(x.round().to(torch.int8) @ q.T).to(x.dtype)"},
            says="x is rounded and summed in eight bits: convert q to the dtype of x, not x to that of q",
            gravity="idea",
        ),
        Mistake(
            "not transposed",
            change={"q.to(x.dtype).T": "q.to(x.dtype)"},
            says="q is not transposed: its rows belong to the outputs",
            gravity="idea",
        ),
        Mistake(
            "multiplied by the steps",
            change={"torch.round(W / step[:, None])": "torch.round(W * step[:, None])"},
            says="q is W times the step: divide W by it",
            gravity="idea",
        ),
        Mistake("bias subtracted", change={"y + bias": "y - bias"}, says="the bias is subtracted: add it", gravity="part"),
        Mistake(
            "a step of 0 becomes 1e-8",
            change={"step = torch.where(step > 0, step, torch.ones_like(step))": "step = step + 1e-8"},
            says="a row of zeros gets a tiny step: the text gives it the step 1",
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
            "number of tensors",
            change={"new_tensor([float(count)])": "new_tensor([float(len(gradients))])"},
            says="the number of tensors is packed: pack the number of examples",
            gravity="idea",
        ),
        Mistake(
            "parts reversed",
            change={"zip(parts, gradients)": "zip(parts[::-1], gradients)"},
            says="the parts are handed out in reverse order",
            gravity="idea",
        ),
        Mistake(
            "divided by the workers",
            change={"new_tensor([float(count)])": "new_tensor([1.0])"},
            says="the weighted sum is divided by the number of workers: pack `count`, so that you can divide by the number of examples",
            gravity="idea",
        ),
        Mistake(
            "columns",
            change={"part.view(g.shape)": "part.view(-1, 1)"},
            says="the gradients come back as columns: each keeps its own shape",
            gravity="part",
        ),
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
        Mistake(
            "mean of two",
            change={"packed[:-1] / packed[-1]": "packed[:-1] / 2"},
            says="the sum is divided by 2: the total is the last entry of the packet",
            gravity="idea",
        ),
        Mistake(
            "one entry late",
            change={"packed[:-1] / packed[-1]": "packed[1:] / packed[-1]"},
            says="the packet is cut at the wrong end: the count is its last entry here, so the gradients end before it",
            gravity="idea",
        ),
        Mistake(
            "no talk",
            change={"packed = all_sum(packed)": "pass"},
            says="all_sum is never called: the workers do not talk to each other",
            gravity="idea",
        ),
        Mistake(
            "weighted by the packet",
            change={"g.flatten() * count for": "g.flatten() / max(count, 1) for"},
            says="the weights are inverted: more examples, more weight",
            gravity="idea",
        ),
        Mistake(
            "by the tensors",
            change={"packed[:-1] / packed[-1]": "packed[:-1] / packed[-1] / len(gradients)"},
            says="the averages are divided by the number of tensors as well: only by the number of examples",
            gravity="idea",
        ),
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
            "rounded first",
            change={"round(hidden * 2 / 3 / multiple)": "round(round(hidden / multiple) * 2 / 3)"},
            says="`hidden` is rounded to multiples before the two thirds are taken: round once, at the end",
            gravity="part",
        ),
        Mistake(
            "cut off first",
            change={"round(hidden * 2 / 3 / multiple)": "round(hidden // 3 * 2 / multiple)"},
            says="`//` cuts off a third before the product: multiply first, round once, at the end",
            gravity="part",
        ),
        Mistake("a float", change={"return multiple": "return 1.0 * multiple"}, says="a width is an int", gravity="edge"),
        Mistake(
            "power of two",
            change={
                "return multiple * max(1, round(hidden * 2 / 3 / multiple))": "return max(multiple, 2 ** round(math.log2(hidden * 2 / 3)))"
            },
            says="this is the nearest power of two: take the nearest multiple of `multiple`",
            gravity="idea",
        ),
        Mistake(
            "one multiple more",
            change={"round(hidden * 2 / 3 / multiple)": "int(hidden * 2 / 3 / multiple) + 1"},
            says="always one multiple more: round to the nearest",
            gravity="idea",
        ),
        Mistake(
            "always the nearest integer",
            change={"multiple * max(1, round(hidden * 2 / 3 / multiple))": "max(1, round(hidden * 2 / 3))"},
            says="`multiple` is ignored: the width is the nearest multiple of it",
            gravity="part",
        ),
        Mistake("unchanged", change={"hidden * 2 / 3 / multiple": "hidden / multiple"}, hint="it does not stay", gravity="idea"),
        Mistake("upside down", change={"* 2 / 3": "* 3 / 2"}, hint="the factor is inverted", gravity="idea"),
        Mistake("half", change={"* 2 / 3": "/ 2"}, hint="the factor is 2/3, not 1/2", gravity="idea"),
        Mistake("rounded down", change={"round(": "int("}, hint="round to the nearest multiple, not down", gravity="part"),
        Mistake("rounded up", change={"round(": "math.ceil("}, says="it is rounded up: to the nearest multiple", gravity="part"),
        Mistake(
            "no multiple",
            change={"return multiple * max(1, round(hidden * 2 / 3 / multiple))": "return max(multiple, round(hidden * 2 / 3))"},
            says="the width is at least `multiple`, but no multiple of it: round to the nearest one",
            gravity="part",
        ),
        Mistake(
            "width zero",
            change={"max(1, round(hidden * 2 / 3 / multiple))": "round(hidden * 2 / 3 / multiple)"},
            says="the width may become 0: it is at least one `multiple`",
            gravity="edge",
        ),
        Mistake(
            "a third",
            change={"hidden * 2 / 3": "hidden / 3"},
            says="the factor is 1/3: two matrices and three of them, so it is 2/3",
            gravity="idea",
        ),
        Mistake(
            "three quarters",
            change={"hidden * 2 / 3": "hidden * 3 / 4"},
            says="the factor is 3/4: two matrices and three of them, so it is 2/3",
            gravity="idea",
        ),
        Mistake(
            "at least one",
            change={"multiple * max(1, round(hidden * 2 / 3 / multiple))": "max(1, multiple * round(hidden * 2 / 3 / multiple))"},
            says="the smallest width is 1: it is one `multiple`",
            gravity="edge",
        ),
        Mistake(
            "whole two thirds first",
            change={"round(hidden * 2 / 3 / multiple)": "round(hidden * 2 // 3 / multiple)"},
            says="the two thirds are cut to a whole number before you round to multiples: round once, at the end",
            gravity="part",
        ),
        Mistake(
            "the count of multiples",
            change={"return multiple * max": "return max"},
            says="this counts the multiples: multiply by `multiple` again",
            gravity="part",
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
            "a term too many",
            change={"12 * layers * width * context": "12 * layers * width * context // 2 * 2 + 0 * layers + width"},
            says="a term without `layers` is added",
            gravity="part",
        ),
        Mistake(
            "attention forward only",
            change={"12 * layers": "4 * layers"},
            says="attention: the backward pass is missing, which costs twice as much",
            gravity="part",
        ),
        Mistake(
            "tokens squared",
            change={"return tokens *": "return tokens * tokens *"},
            says="the count grows with the square of the tokens: each token costs the same",
            gravity="idea",
        ),
        Mistake(
            "contexts for tokens",
            change={"return tokens * (": "return tokens // max(context, 1) * ("},
            says="the tokens are divided by the context: every token counts",
            gravity="part",
        ),
        Mistake(
            "eight per weight",
            change={"6 * weights": "8 * weights"},
            says="8 FLOP a weight: it is 2 forward and 4 backward",
            gravity="idea",
        ),
        Mistake(
            "width for the context",
            change={"width * context)": "width * width)"},
            says="attention: the context is missing: a query meets T keys of width D",
            gravity="part",
        ),
        Mistake(
            "weights per layer",
            change={"6 * weights": "6 * weights * max(layers, 1)"},
            says="the weights are counted once for every layer: `weights` is the number of all of them",
            gravity="part",
        ),
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
            says="attention: multiply this term by the number of tokens, too",
            gravity="part",
        ),
        Mistake("one layer", change={"12 * layers * width": "12 * width"}, says="attention is counted for one layer only", gravity="part"),
        Mistake("a float", change={"return tokens": "return 1.0 * tokens"}, hint="a count of operations is an int", gravity="edge"),
        Mistake(
            "tokens not counted",
            change={"return tokens * (6": "return (6"},
            says="the tokens are not counted: each costs the same",
            gravity="idea",
        ),
        Mistake(
            "no attention",
            change={" + 12 * layers * width * context": ""},
            says="attention is missing: scores and weighted sum, in each layer",
            gravity="part",
        ),
        Mistake(
            "what lies before",
            change={"12 * layers * width * context": "6 * layers * width * (context + 1)"},
            says="only the keys that a token may see are counted: count all T keys, the masked ones, too",
            gravity="part",
        ),
        Mistake(
            "layers for weights only",
            change={"12 * layers * width * context": "12 * width * context"},
            says="attention is counted for one layer only",
            gravity="part",
        ),
        Mistake(
            "tokens twice",
            change={"12 * layers * width * context": "12 * layers * width * tokens"},
            says="attention: every query meets T keys, the context, not all tokens",
            gravity="part",
        ),
        Mistake(
            "a multiply only",
            change={"6 * weights + 12 *": "3 * weights + 6 *"},
            says="a multiply and an add are two operations",
            gravity="idea",
        ),
        Mistake(
            "no width",
            change={"12 * layers * width * context": "12 * layers * context"},
            says="attention: the width is missing: each score is a product over D entries",
            gravity="part",
        ),
        Mistake(
            "square of the context",
            change={"width * context)": "width * context * context)"},
            says="attention grows with T² for one token: a token has only T keys",
            gravity="part",
        ),
        Mistake(
            "twice as much",
            change={"12 * layers": "24 * layers"},
            says="attention is counted twice: scores and weighted sum together are 4 · T · D forward, 12 · T · D with the backward pass",
            gravity="part",
        ),
        Mistake(
            "attention: backward as forward",
            change={"12 * layers": "8 * layers"},
            says="attention: backward is counted like the forward pass: it costs twice as much",
            gravity="part",
        ),
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
            "A's first FLOPs",
            change={"return flops_a[-1] / math.exp(log_flops)": "return flops_a[0] / math.exp(log_flops)"},
            says="A's first FLOPs are used: its last loss took its last FLOPs",
            gravity="idea",
        ),
        Mistake(
            "logarithms of the losses",
            change={
                "share = (losses_b[i - 1] - goal) / (losses_b[i - 1] - loss)": "share = (math.log(losses_b[i - 1]) - math.log(goal)) / (math.log(losses_b[i - 1]) - math.log(loss))"
            },
            says="the logarithms of the losses are used: the logarithm of the FLOPs is linear in the loss itself",
            gravity="part",
        ),
        Mistake(
            "the nearest point",
            code="""
def times_cheaper(flops_a, losses_a, flops_b, losses_b):
    goal = losses_a[-1]
    if min(losses_b) > goal:
        return None
    i = min(range(len(losses_b)), key=lambda j: abs(losses_b[j] - goal))
    return flops_a[-1] / flops_b[i]
""",
            says="the point with the nearest loss is taken: interpolate between the two around A's last loss",
            gravity="part",
        ),
        Mistake(
            "rounded",
            change={"return flops_a[-1] / math.exp(log_flops)": "return round(flops_a[-1] / math.exp(log_flops), 2)"},
            hint="the factor is rounded: return all its digits",
            gravity="edge",
        ),
        Mistake(
            "extrapolated",
            change={
                "    return None\n": "    share = (losses_b[-2] - goal) / (losses_b[-2] - losses_b[-1])\n    return flops_a[-1] / math.exp((1 - share) * math.log(flops_b[-2]) + share * math.log(flops_b[-1]))\n"
            },
            says="where B never reaches the loss, you extrapolate: return None",
            gravity="part",
        ),
        Mistake(
            "an error for never",
            change={"    return None\n": "    raise ValueError('never')\n"},
            says="where B never reaches the loss, an error is raised: return None",
            gravity="part",
        ),
        Mistake(
            "None below one",
            change={
                "            return flops_a[-1] / math.exp(log_flops)": "            ratio = flops_a[-1] / math.exp(log_flops)\n            return ratio if ratio >= 1 else None"
            },
            says="a factor below 1 becomes None: below 1 means that B is worse",
            gravity="idea",
        ),
        Mistake(
            "strictly below",
            change={"if loss <= goal": "if loss < goal"},
            says="a point whose loss equals the goal has reached it: at most, not below",
            gravity="edge",
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
            says="you use the last crossing: B was there before",
            gravity="part",
        ),
        Mistake(
            "A's best loss",
            change={"goal = losses_a[-1]": "goal = min(losses_a)"},
            says="you use A's lowest loss: use its last one",
            gravity="part",
        ),
        Mistake(
            "first point ignored",
            change={
                "            if i == 0:\n                return flops_a[-1] / flops_b[0]\n": "            if i == 0:\n                continue\n"
            },
            says="where B is better at its very first point, you look further on: use that point's FLOPs",
            gravity="edge",
        ),
        Mistake(
            "B's last FLOPs",
            change={"flops_a[-1] / math.exp(log_flops)": "flops_a[-1] / flops_b[-1]"},
            says="B's last FLOPs are used: use those at which it reaches A's last loss",
            gravity="idea",
        ),
        Mistake(
            "two logarithms",
            change={"math.log(flops_b[i - 1])": "math.log10(flops_b[i - 1])", "math.log(flops_b[i])": "math.log10(flops_b[i])"},
            says="the logarithm has the base 10, and you use `exp`: take the natural logarithm",
            gravity="idea",
        ),
        Mistake(
            "base two",
            change={"math.log(flops_b[i - 1])": "math.log2(flops_b[i - 1])", "math.log(flops_b[i])": "math.log2(flops_b[i])"},
            says="the logarithm has the base 2, and you use `exp`: take the natural logarithm",
            gravity="idea",
        ),
        Mistake(
            "backwards",
            change={"share = (losses_b[i - 1] - goal) /": "share = (goal - loss) /"},
            says="the interpolation runs backwards: close to the later loss means close to the later FLOPs",
            gravity="idea",
        ),
        Mistake(
            "the logarithm itself",
            change={"math.exp(log_flops)": "log_flops"},
            says="you divide by the logarithm of B's FLOPs: take `exp` of it",
            gravity="idea",
        ),
        Mistake(
            "A's first loss",
            change={"goal = losses_a[-1]": "goal = losses_a[0]"},
            says="A's first loss is the goal: its last one is",
            gravity="idea",
        ),
        Mistake(
            "B's last loss",
            change={"goal = losses_a[-1]": "goal = losses_b[-1]"},
            says="B's last loss is the goal: A's last one is",
            gravity="idea",
        ),
        Mistake(
            "difference",
            change={"return flops_a[-1] / math.exp(log_flops)": "return flops_a[-1] - math.exp(log_flops)"},
            says="this is a difference: how many times fewer is a quotient",
            gravity="idea",
        ),
        Mistake(
            "in the middle",
            change={"share = (losses_b[i - 1] - goal) / (losses_b[i - 1] - loss)": "share = 0.5"},
            says="the middle between the two points is taken, wherever A's last loss lies between them",
            gravity="idea",
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
