"""Wrong answers that the tests of 05-logit-bias must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

VARIANTS = {
    "biased": [
        Mistake(
            "normaliser ignored",
            code="""
def biased(p, v, b):
    q = p.clone()
    q[v] = q[v] * math.exp(b)
    return q
""",
            says="the changed normaliser is ignored: the probabilities no longer sum to one",
            gravity="idea",
        ),
        Mistake(
            "overflow from a huge bias",
            code="""
def biased(p, v, b):
    q = p.clone()
    q[v] = q[v] * torch.tensor(float(b), dtype=p.dtype).exp()
    return q / q.sum()
""",
            hint="add the bias to log p and use softmax",
            gravity="edge",
        ),
        Mistake(
            "bias added to the probability",
            code="""
def biased(p, v, b):
    q = p.clone()
    q[v] += b
    return q / q.sum()
""",
            says="b is added to the logit, which multiplies p(v) by e^b: do not add it to the probability",
            gravity="idea",
        ),
        Mistake(
            "times b, not e^b",
            code="""
def biased(p, v, b):
    q = p.clone()
    q[v] *= b
    return q / q.sum()
""",
            says="p(v) is multiplied by b; a bias on the logit multiplies by e^b",
            gravity="idea",
        ),
        Mistake(
            "changes its input",
            code="""
def biased(p, v, b):
    p.log_()
    p[v] += b
    return p.softmax(0)
""",
            hint="your code changes its input in place",
            gravity="edge",
        ),
        Mistake(
            "p used as logits",
            change={"p.log()": "p.clone()"},
            says="p itself is used as the logits: softmax undoes a logarithm, so take log p first",
            gravity="idea",
        ),
        Mistake(
            "sign of b", change={"+= b": "-= b"}, says="the sign of b is wrong: a positive bias makes the word more likely", gravity="idea"
        ),
        Mistake(
            "every word biased",
            change={"scores[v] += b": "scores += b"},
            says="the bias is added to every word, and then it changes nothing: add it to word v alone",
            gravity="idea",
        ),
        Mistake("bias cut off", change={"+= b": "+= max(-30.0, min(b, 30.0))"}, hint="is the bias cut off", gravity="edge"),
        Mistake(
            "a small number inside the logarithm",
            change={"p.log()": "(p + 1e-12).log()"},
            hint="is the bias cut off, or a small probability lost",
            gravity="edge",
        ),
        Right(
            "NumPy",
            code="""
def biased(p, v, b):
    with np.errstate(divide="ignore"):
        scores = np.log(p.numpy())
    scores[v] += b
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()
""",
        ),
        Right(
            "a list of numbers",
            code="""
def biased(p, v, b):
    weights = [x * math.exp(min(-b, 0.0)) for x in p.tolist()]
    weights[v] = p[v].item() * math.exp(min(b, 0.0))
    return [x / math.fsum(weights) for x in weights]
""",
        ),
        Mistake(
            "logits returned",
            change={".softmax(dim=0)": ""},
            says="those are the logits with the bias; the probabilities were asked for",
            gravity="idea",
        ),
        Mistake(
            "log-probabilities returned",
            change={".softmax(": ".log_softmax("},
            says="those are logarithms of the probabilities: use softmax, not log_softmax",
            gravity="idea",
        ),
        Mistake(
            "the others stay",
            change={"return scores.softmax(dim=0)": "new = p.clone()\n    new[v] = scores.softmax(dim=0)[v]\n    return new"},
            says="only p(v) has changed; the other words must give way: every probability is divided by the new sum",
            gravity="idea",
        ),
        Mistake(
            "the others give way only",
            code="""
def biased(p, v, b):
    q = p * (1 - p[v] * math.exp(min(b, 700))) / (1 - p[v])
    q[v] = p[v] * math.exp(min(b, 700))
    return q
""",
            says="the other words give way, but p(v) is not divided by the new sum",
            gravity="idea",
        ),
        Mistake(
            "normaliser of all words biased",
            code="""
def biased(p, v, b):
    q = p.clone()
    q[v] *= math.exp(b)
    return q / (p * math.exp(b)).sum()
""",
            says="the normaliser counts every word as biased: only word v is multiplied by e^b",
            gravity="idea",
        ),
        Mistake("the logit replaced", change={"+= b": "= b"}, says="the logit of word v is replaced by b: add b to it", gravity="idea"),
        Mistake(
            "the next word",
            change={"scores[v]": "scores[(v + 1) % len(p)]"},
            says="the bias is added to the word after v: words are counted from 0",
            gravity="idea",
        ),
        Mistake(
            "positive biases only",
            change={"+= b": "+= max(b, 0.0)"},
            says="a negative bias has no effect: it makes a word less likely",
            gravity="idea",
        ),
        Mistake(
            "logarithm to base 10",
            change={"p.log()": "p.log10()"},
            says="that is a logarithm to base 10; softmax undoes the natural one",
            gravity="idea",
        ),
        Mistake(
            "the others as before",
            change={
                "    scores = p.log()  # logits, up to a constant that softmax does not see\n    scores[v] += b\n    return scores.softmax(dim=0)": "    q = p.clone()\n    q[v] = q[v] * math.exp(b) / (1 + q[v] * (math.exp(b) - 1))\n    return q"
            },
            says="the other words keep their probabilities: what word v gains is taken from them",
            gravity="idea",
        ),
        Mistake(
            "base 2", change={"p.log()": "p.log2()"}, says="the logarithm has the base 2: logits are natural logarithms", gravity="idea"
        ),
        Mistake(
            "from v on", change={"scores[v] +=": "scores[v:] +="}, says="all words from v on get the bias: only v has it", gravity="idea"
        ),
        Mistake(
            "up to v", change={"scores[v] +=": "scores[: v + 1] +="}, says="all words up to v get the bias: only v has it", gravity="idea"
        ),
        Mistake(
            "logit multiplied",
            change={"scores[v] += b": "scores[v] *= b"},
            says="the logit is multiplied by b: add b to it",
            gravity="idea",
        ),
        Mistake(
            "only positive",
            change={"+= b": "+= abs(b)"},
            says="the sign of b is lost: a negative bias makes the word less likely",
            gravity="idea",
        ),
        Mistake(
            "another temperature",
            change={"scores.softmax(dim=0)": "(scores / 2).softmax(dim=0)"},
            says="the scores are divided before the softmax: the ratios of the other words change",
            gravity="idea",
        ),
        Mistake(
            "always word 1", change={"scores[v]": "scores[1]"}, says="the bias is always put on word 1: put it on word v", gravity="idea"
        ),
        Mistake("half of the bias", change={"+= b": "+= b / 2"}, says="only half of the bias is added", gravity="idea"),
        Mistake(
            "v by e^b, the rest by what is left",
            change={
                "    scores = p.log()  # logits, up to a constant that softmax does not see\n    scores[v] += b\n    return scores.softmax(dim=0)": "    q = p.clone()\n    q[v] *= math.exp(min(b, 700.0))\n    q[torch.arange(len(p)) != v] *= (1 - q[v]) / (1 - p[v])\n    return q"
            },
            says="p(v) is multiplied by e^b and left so: divide all by their new sum",
            gravity="idea",
        ),
        Mistake(
            "one over the sum of the others",
            change={
                "    scores = p.log()  # logits, up to a constant that softmax does not see\n    scores[v] += b\n    return scores.softmax(dim=0)": "    q = p.clone()\n    q[v] *= math.exp(min(b, 700.0))\n    return q / (q.sum() - q[v])"
            },
            says="you divide by the sum of the other words: word v belongs to the sum, too",
            gravity="idea",
        ),
    ],
    "undo": [
        Mistake(
            "normaliser ignored",
            change={"p_star * (pv_b / pstar_b) * math.exp(-b)": "pv_b * math.exp(-b)"},
            says="you ignore the changed normaliser: p(v; b) e^{-b} is p(v) / Z_b. Use p(v*; b) to get rid of Z_b",
            gravity="idea",
        ),
        Mistake(
            "bias not undone",
            change={" * math.exp(-b)": ""},
            says="e^{-b} is missing: the ratio p(v; b) / p(v*; b) still contains the bias",
            gravity="idea",
        ),
        Mistake(
            "ratio upside down",
            change={"pv_b / pstar_b": "pstar_b / pv_b"},
            says="the ratio is upside down: p(v; b) is the numerator",
            gravity="idea",
        ),
        Mistake(
            "sign of b",
            change={"math.exp(-b)": "math.exp(b)"},
            says="the sign of b is wrong: the bias multiplied p(v) by e^b, so divide by it",
            gravity="idea",
        ),
        Mistake(
            "no p(v*)", change={"p_star * (pv_b": "(pv_b"}, says="the factor p(v*) is missing: the ratio gives p(v) / p(v*)", gravity="idea"
        ),
        Mistake("no anchor", change={"(pv_b / pstar_b)": "pv_b"}, says="p(v*; b) is not used: Z_b is still in p(v; b)", gravity="idea"),
        Mistake(
            "a small number in the denominator",
            change={"pv_b / pstar_b": "pv_b / (pstar_b + 1e-12)"},
            hint="digits are lost where p(v) or the anchor is small",
            gravity="edge",
        ),
        Right(
            "logarithms",
            change={"p_star * (pv_b / pstar_b) * math.exp(-b)": "math.exp(math.log(p_star) + math.log(pv_b) - math.log(pstar_b) - b)"},
        ),
        Right("NumPy", change={"math.exp(-b)": "np.exp(-np.float64(b))"}),
        Mistake(
            "p(v*) and the anchor exchanged",
            change={"p_star * (pv_b / pstar_b) * math.exp(-b)": "pstar_b * (pv_b / p_star) * math.exp(-b)"},
            says="p(v*) and p(v*; b) are exchanged: Z_b = p(v*) / p(v*; b)",
            gravity="idea",
        ),
        Mistake("divided by b", change={"math.exp(-b)": "(1 / b if b else 1)"}, says="divide by e^b, not by b", gravity="idea"),
        Mistake("b subtracted", change={" * math.exp(-b)": " - b"}, says="b is subtracted: divide by e^b", gravity="idea"),
        Mistake(
            "through Z_b",
            change={"p_star * (pv_b / pstar_b) * math.exp(-b)": "(p_star / pstar_b - 1) / (math.exp(b) - 1) if b else pv_b"},
            hint="digits are lost where p(v) or the anchor is small",
            gravity="edge",
        ),
        Mistake("root", change={"math.exp(-b)": "math.exp(-b / 2)"}, says="half of the bias is undone: divide by e^b", gravity="idea"),
        Mistake("base 10", change={"math.exp(-b)": "10 ** (-b)"}, says="the base is 10: the bias multiplied by e^b", gravity="idea"),
        Mistake("base 2", change={"math.exp(-b)": "2 ** (-b)"}, says="the base is 2: the bias multiplied by e^b", gravity="idea"),
        Mistake(
            "divided by p(v*)",
            change={"p_star * (pv_b / pstar_b) * math.exp(-b)": "(pv_b / pstar_b) * math.exp(-b) / p_star"},
            says="you divide by p(v*): multiply by it",
            gravity="idea",
        ),
        Mistake(
            "1 - p(v; b) for the anchor",
            change={"p_star * (pv_b / pstar_b) * math.exp(-b)": "p_star * (pv_b / (1 - pv_b)) * math.exp(-b)"},
            says="1 − p(v; b) takes the place of the anchor p(v*; b): there are other words, too",
            gravity="idea",
        ),
        Mistake(
            "Z_b twice",
            change={"p_star * (pv_b / pstar_b) * math.exp(-b)": "pv_b * (p_star / pstar_b) / (1 + pv_b * (math.exp(b) - 1))"},
            says="p(v; b) is put into the formula for Z_b: that holds p(v), without the bias",
            gravity="idea",
        ),
        Mistake(
            "e^b - 1",
            change={"math.exp(-b)": "(1 / (math.exp(b) - 1) if b else 1.0)"},
            says="you divide by e^b − 1: the bias multiplied p(v) by e^b",
            gravity="idea",
        ),
        Mistake(
            "always positive",
            change={"math.exp(-b)": "math.exp(-abs(b))"},
            says="the sign of b is lost: a negative bias made the word less likely",
            gravity="idea",
        ),
        Mistake(
            "difference of the anchor",
            change={"p_star * (pv_b / pstar_b) * math.exp(-b)": "p_star - pstar_b"},
            says="that is what the anchor has lost: the others have lost as well",
            gravity="idea",
        ),
        Mistake(
            "p(v; b) alone",
            change={"p_star * (pv_b / pstar_b) * math.exp(-b)": "pv_b"},
            says="that is the probability with the bias: undo it",
            gravity="idea",
        ),
    ],
    "anchor": [
        Mistake(
            "the limit for large b",
            change={"1 / (V - 1 + math.exp(b))": "math.exp(-b)"},
            says="e^{-b} is the limit for large b; for a moderate b the other |V| − 1 words count, too",
            gravity="idea",
        ),
        Mistake(
            "two worst cases at once",
            change={"1 / (V - 1 + math.exp(b))": "math.exp(-b) / V"},
            says="too low: the worst Z_b = e^b needs p(v) = 1, the worst p(v*) is 1/|V|, and they exclude each other",
            gravity="idea",
        ),
        Mistake(
            "one word too many",
            change={"V - 1": "V"},
            says="count again: |V| − 1 words keep their weight, one is multiplied by e^b",
            gravity="idea",
        ),
        Mistake(
            "one word too few",
            change={"V - 1": "V - 2"},
            says="v* itself is one of the words that keep their weight: |V| − 1 of them, not |V| − 2",
            gravity="idea",
        ),
        Mistake(
            "no bias",
            change={"1 / (V - 1 + math.exp(b))": "1 / V"},
            says="that is the worst p(v*) without a bias: put it into p(v*) / Z_b",
            gravity="idea",
        ),
        Mistake(
            "two words only",
            change={"V - 1": "1"},
            says="that is the worst case of two words: all |V| − 1 others keep their weight",
            gravity="idea",
        ),
        Mistake(
            "all others lifted",
            change={"V - 1 + math.exp(b)": "1 + (V - 1) * math.exp(b)"},
            says="one word is lifted, not all the others: |V| − 1 words keep their weight, one is multiplied by e^b",
            gravity="idea",
        ),
        Mistake(
            "float32",
            change={"1 / (V - 1 + math.exp(b))": "(1 / (V - 1 + torch.tensor(float(b)).exp())).item()"},
            hint="nothing overflows or vanishes yet. Is it computed in float64?",
            gravity="edge",
        ),
        Right("the flat distribution itself", change={"1 / (V - 1 + math.exp(b))": "(1 / V) / (1 + (math.exp(b) - 1) / V)"}),
        Right("divided by e^b", change={"1 / (V - 1 + math.exp(b))": "math.exp(-b) / (1 + (V - 1) * math.exp(-b))"}),
        Mistake(
            "the lifted word",
            change={"1 / (V - 1 + math.exp(b))": "math.exp(b) / (V - 1 + math.exp(b))"},
            says="that is the lifted word's probability; the anchor's was asked for",
            gravity="idea",
        ),
        Mistake(
            "upside down",
            change={"1 / (V - 1 + math.exp(b))": "V - 1 + math.exp(b)"},
            says="that is Z_b times |V|: the anchor is one over it",
            gravity="idea",
        ),
        Mistake("b for e^b", change={"math.exp(b)": "b"}, says="the bias multiplies a weight by e^b, not by b", gravity="idea"),
        Mistake(
            "sign of b",
            change={"math.exp(b)": "math.exp(-b)"},
            says="the sign of b is wrong: a positive bias multiplies a weight by e^b, and pushes the anchor down",
            gravity="idea",
        ),
        Mistake("b for e^b", change={"math.exp(b)": "b + 1"}, says="a bias of b multiplies a weight by e^b, not by b", gravity="idea"),
        Mistake(
            "one minus",
            change={"1 / (V - 1 + math.exp(b))": "1 - 1 / (V - 1 + math.exp(b))"},
            says="that is the share of all other words: the anchor's was asked for",
            gravity="idea",
        ),
        Mistake(
            "product",
            change={"1 / (V - 1 + math.exp(b))": "1 / ((V - 1) * math.exp(b))"},
            says="|V| − 1 and e^b are multiplied: the weights of all words add up",
            gravity="idea",
        ),
        Mistake(
            "logarithm",
            change={"1 / (V - 1 + math.exp(b))": "-math.log(V - 1 + math.exp(b))"},
            says="that is the logarithm of the bound",
            gravity="idea",
        ),
        Mistake(
            "weights squared",
            change={"math.exp(b)": "math.exp(2 * b)"},
            says="the weight of the lifted word is e^b, not e^{2b}",
            gravity="idea",
        ),
        Mistake(
            "all words lifted",
            change={"1 / (V - 1 + math.exp(b))": "1 / V"},
            says="that is the worst p(v*) without a bias: put it into p(v*) / Z_b",
            gravity="idea",
        ),
        Mistake(
            "e^b - 1",
            change={"1 / (V - 1 + math.exp(b))": "1 / (V - 1 + math.exp(b) - 1)"},
            says="v* itself is one of the words that keep their weight: |V| − 1 of them, not |V| − 2",
            gravity="idea",
        ),
    ],
    "recover": [
        Mistake(
            "normaliser ignored",
            change={"probability_from_top2(p_star, shown[v], shown[star], b)": "shown[v] * math.exp(-b)"},
            says="you ignore the changed normaliser: compare p(v; b) with p(v*; b) of the same answer, not with p(v*) of the first",
            gravity="idea",
        ),
        Mistake(
            "compares with all other words",
            change={"probability_from_top2(p_star, shown[v], shown[star], b)": "shown[v] / (shown[v] + (1 - shown[v]) * math.exp(b))"},
            says="1 − p(v; b) has no digits left when b is large: compare v with the anchor v*, not with all other words",
            gravity="part",
        ),
        Mistake(
            "bias not undone",
            change={"shown[star], b)": "shown[star], 0.0)"},
            says="the bias is not undone: e^{-b} is missing",
            gravity="idea",
        ),
        Mistake(
            "v* biased against itself",
            change={"if v in (star, second):": "if v == second:"},
            hint="biasing v* against itself",
            gravity="idea",
        ),
        Mistake(
            "assumes that the lifted word leads",
            change={
                "shown = dict(api.top2({v: b}))": "(_, lifted), (_, anchor) = api.top2({v: b})",
                "if v in shown:": "if True:",
                "shown[v], shown[star]": "lifted, anchor",
            },
            hint="look at which word is which, not at the order",
            gravity="part",
        ),
        Mistake(
            "v not in the top two",
            change={"if v in shown:": "if True:"},
            hint="word 0 does not come into the top two even at the cap",
            gravity="part",
        ),
        Mistake(
            "underflow from a huge bias",
            change={"min(api.bias_cap, 700.0)": "api.bias_cap"},
            hint="makes p(v*; b) underflow",
            gravity="edge",
        ),
        Mistake("bias too small for rare words", change={"700.0": "100.0"}, hint="words of probability e^{-600} are lost", gravity="edge"),
        Mistake(
            "one call too many",
            change={
                "(star, second):": "(-1,):",
                "    for v in range": "    api.top2()\n    for v in range",
                "if v in shown:": "if v != star and v in shown:",
            },
            hint="one without a bias, and at most one for each word, make |V| + 1",
            gravity="part",
        ),
        Mistake(
            "unbiased call in the loop",
            change={"shown = dict(api.top2({v: b}))": "p_star = api.top2()[0][1]\n        shown = dict(api.top2({v: b}))"},
            hint="too many calls",
            gravity="part",
        ),
        Mistake(
            "renormalised",
            change={"return p": "return p / p.sum()"},
            says="you renormalise: that hides the missing 0.4 and makes every word wrong. Leave the sum as it is",
            gravity="part",
        ),
        Mistake(
            "NaN for what is out of reach",
            change={
                "torch.zeros(api.vocabulary_size, dtype=torch.float64)": "torch.full((api.vocabulary_size,), math.nan, dtype=torch.float64)"
            },
            hint="give it 0 (not NaN",
            gravity="part",
        ),
        Mistake(
            "the bound for what is out of reach",
            change={"dtype=torch.float64)\n": "dtype=torch.float64) + p_second * math.exp(-b)\n"},
            says="words out of reach get the bound p(v_2) e^{-b}: give them 0, the bound is for the error",
            gravity="part",
        ),
        Mistake(
            "shares out what is missing",
            change={"return p": "p[p == 0] = (1 - p.sum()) / max(1, int((p == 0).sum()))\n    return p"},
            says="words out of reach get an equal share of what is missing: that is a guess, and it hides the error. Give them 0",
            gravity="part",
        ),
        Mistake("float32", change={"dtype=torch.float64": "dtype=torch.float32"}, hint="float32 ends at 1e-45", gravity="edge"),
        Mistake(
            "only zeros",
            code="def recover(api):\n    return torch.zeros(api.vocabulary_size, dtype=torch.float64)",
            hint="a word within reach comes out as 0",
            gravity="idea",
        ),
        Mistake(
            "the second word left out",
            change={"p[star], p[second] = p_star, p_second": "p[star] = p_star"},
            says="the second word of the first answer gets no probability: it is in that answer",
            gravity="idea",
        ),
        Mistake(
            "a bias of 10 for all",
            change={"min(api.bias_cap, 700.0)": "min(api.bias_cap, 10.0)"},
            hint="words within reach come out as 0: is every word lifted, and with b = min(cap, 700)?",
            gravity="idea",
        ),
        Mistake(
            "only words that lead",
            change={"if v in shown:": "if next(iter(shown)) == v:"},
            hint="word 0 is lifted to the second place",
            gravity="part",
        ),
        Mistake(
            "stops at the first word out of reach",
            change={"if v in shown:": "if v not in shown:\n            break\n        if True:"},
            hint="words within reach keep their own probabilities",
            gravity="part",
        ),
        Right(
            "a plain list, and every word biased",
            code="""
def recover(api):
    b = min(700, api.bias_cap)
    (star, lead), _ = api.top2({})
    found = []
    for v in range(api.vocabulary_size):
        if v == star:
            found.append(lead)
            continue
        first, second = api.top2({v: b})
        if first[0] == v:
            found.append(math.exp(math.log(lead) + math.log(first[1]) - math.log(second[1]) - b))
        elif second[0] == v:
            found.append(math.exp(math.log(lead) + math.log(second[1]) - math.log(first[1]) - b))
        else:
            found.append(0)
    return found
""",
        ),
        Right(
            "NumPy",
            code="""
def recover(api):
    b = np.minimum(api.bias_cap, 650.0)
    (star, lead), (second, next_best) = api.top2()
    p = np.zeros(api.vocabulary_size)
    p[[star, second]] = lead, next_best
    for v in np.flatnonzero(p == 0):
        shown = dict(api.top2({v: b}))
        if v in shown:
            p[v] = lead * shown[v] / shown[star] * np.exp(-b)
    return p
""",
        ),
        Mistake(
            "sorted",
            change={"return p": "return p.sort(descending=True).values"},
            says="the probabilities come out sorted: put each at its word",
            gravity="idea",
        ),
        Mistake(
            "logarithms",
            change={"return p": "return p.log()"},
            says="those are logarithms; the probabilities were asked for",
            gravity="idea",
        ),
        Mistake(
            "no p(v*)",
            change={"probability_from_top2(p_star,": "probability_from_top2(1.0,"},
            says="the factor p(v*) is missing: the ratio gives p(v) / p(v*)",
            gravity="idea",
        ),
        Mistake(
            "the most likely word left out",
            change={"p[star], p[second] = p_star, p_second": "p[second] = p_second"},
            says="the most likely word gets no probability: it is in the first answer",
            gravity="idea",
        ),
        Mistake(
            "word 0 left out",
            change={"range(api.vocabulary_size)": "range(1, api.vocabulary_size)"},
            says="word 0 is left out: words are numbered from 0 to |V| − 1",
            gravity="idea",
        ),
        Mistake(
            "the last word left out",
            change={"range(api.vocabulary_size)": "range(api.vocabulary_size - 1)"},
            says="the last word is left out: words are numbered from 0 to |V| − 1",
            gravity="idea",
        ),
        Mistake(
            "climbs to every word",
            code="""
def recover(api):
    (star, p_star), (second, p_second) = api.top2()
    p = torch.zeros(api.vocabulary_size, dtype=torch.float64)
    p[star], p[second] = p_star, p_second
    for v in range(api.vocabulary_size):
        b = 0.0
        while v not in (star, second) and p[v] == 0 and b < min(api.bias_cap, 700.0):
            b = min(b + 20.0, api.bias_cap, 700.0)
            shown = dict(api.top2({v: b}))
            if v in shown:
                p[v] = probability_from_top2(p_star, shown[v], shown[star], b)
    return p
""",
            hint="more than one call for a rare word",
            gravity="part",
        ),
        Mistake(
            "a floor for rare words",
            change={"return p": "return p.clamp_min(1e-12)"},
            hint="no guess",
            gravity="part",
        ),
    ],
    "interval": [
        Mistake(
            "the box of three roundings",
            code="""
def interval(p_star, pv_b, pstar_b, b, digits):
    delta = 0.0 if digits is None else 0.5 * 10.0**-digits
    low = max(p_star - delta, 0) * max(pv_b - delta, 0) / (pstar_b + delta) * math.exp(-b)
    if pstar_b - delta <= 0:
        return low, 1.0
    return low, min(1.0, (p_star + delta) * (pv_b + delta) / (pstar_b - delta) * math.exp(-b))
""",
            says="that treats the three roundings as independent: sure to contain p(v), but too wide. Intersect what p(v; b) allows with what Z_b allows",
            gravity="idea",
        ),
        Mistake(
            "p(v; b) alone",
            change={
                """    low = max(low, (lead[0] / anchor[1] - 1) / (math.exp(b) - 1))  # what Z_b allows
    if anchor[0] > 0:
        high = min(high, (lead[1] / anchor[0] - 1) / (math.exp(b) - 1))
""": ""
            },
            says="that is what p(v; b) allows; Z_b = p(v*) / p(v*; b) allows less",
            gravity="idea",
        ),
        Mistake(
            "Z_b alone",
            code="""
def interval(p_star, pv_b, pstar_b, b, digits):
    if digits is None:
        return (probability_from_top2(p_star, pv_b, pstar_b, b),) * 2
    delta = 0.5 * 10.0**-digits
    low = ((p_star - delta) / (pstar_b + delta) - 1) / (math.exp(b) - 1)
    high = ((p_star + delta) / (pstar_b - delta) - 1) / (math.exp(b) - 1) if pstar_b > delta else 1.0
    return max(low, 0.0), min(high, 1.0)
""",
            says="that is what Z_b allows; p(v; b) allows less",
            gravity="idea",
        ),
        Mistake(
            "a whole unit", change={"0.5 * 10.0": "10.0"}, says="δ is half a unit of the last decimal; yours is smaller", gravity="idea"
        ),
        Mistake(
            "the anchor's ends exchanged",
            change={"lead[0] / anchor[1]": "lead[0] / max(anchor[0], 1e-9)", "lead[1] / anchor[0]": "lead[1] / anchor[1]"},
            says="Z_b is smallest where p(v*) is small and the anchor large: the anchor's ends go the other way round",
            gravity="idea",
        ),
        Mistake(
            "p(v*) taken as exact",
            change={"low, high = (x": "lead = p_star, p_star\n    low, high = (x"},
            says="p(v*) of the first call was rounded as well",
            gravity="idea",
        ),
        Mistake("high before low", change={"return low, high": "return high, low"}, says="the lower end comes first", gravity="idea"),
        Mistake(
            "the union",
            change={"low = max(low,": "low = min(low,", "high = min(high,": "high = max(high,"},
            says="that is the union of the two intervals: p(v) must fit both",
            gravity="idea",
        ),
        Mistake(
            "no upper end without an anchor",
            change={"    return low, high\n": "    else:\n        high = math.inf\n    return low, high\n"},
            hint="then only p(v; b) sets the upper end",
            gravity="edge",
        ),
        Mistake("lower ends not cut at zero", change={"max(x - delta, 0)": "x - delta"}, hint="it is not negative", gravity="edge"),
        Mistake(
            "upper ends not cut at one",
            change={"min(x + delta, 1)": "x + delta"},
            hint="p(v; b) shown as 1.00 lies between 0.995 and 1, and the anchor may be 0: the upper end is 1",
            gravity="edge",
        ),
        Mistake(
            "first-order estimate",
            code="""
def interval(p_star, pv_b, pstar_b, b, digits):
    delta = 0.0 if digits is None else 0.5 * 10.0**-digits
    if pstar_b <= delta:
        return 0.0, 1.0
    value = p_star * pv_b / pstar_b * math.exp(-b)
    share = delta / p_star + (delta / pv_b if pv_b else math.inf) + delta / pstar_b
    return (value * (1 - share), value * (1 + share)) if share < 1 else (0.0, value * 2)
""",
            says="that is the first-order estimate; the bound must hold exactly",
            gravity="idea",
        ),
        Mistake("digits ignored", change={"-digits": "-2"}, says="the number of decimals is ignored: δ = ½ · 10^(−digits)", gravity="idea"),
        Mistake(
            "digits read off the numbers",
            change={"delta = 0.5 * 10.0**-digits": "delta = 0.5 * 10.0 ** -max(len(repr(x)) - 2 for x in (p_star, pv_b, pstar_b))"},
            hint="δ is 0.0005, whatever the numbers look like",
            gravity="idea",
        ),
        Mistake(
            "exact answers rounded all the same",
            change={
                "if digits is None:\n        value = probability_from_top2(p_star, pv_b, pstar_b, b)\n        return value, value": "digits = 6 if digits is None else digits"
            },
            hint="digits=None: both ends are the value itself",
            gravity="part",
        ),
        Mistake(
            "the anchor taken as exact",
            change={"low, high = (x": "anchor = pstar_b, pstar_b\n    low, high = (x"},
            says="p(v*; b) was rounded as well",
            gravity="idea",
        ),
        Mistake(
            "division by an anchor of 0",
            change={"    if anchor[0] > 0:\n        high =": "    high ="},
            hint="your code raised ZeroDivisionError",
            gravity="edge",
        ),
        Mistake(
            "p(v*) not cut at one",
            change={"min(x + delta, 1))": "min(x + delta, 1 + (x == p_star)))"},
            hint="p(v*) shown as 1.00 is at most 1: cut the ends of all three numbers",
            gravity="edge",
        ),
        Right(
            "bisection over p(v)",
            code="""
def interval(p_star, pv_b, pstar_b, b, digits):
    if digits is None:
        return [p_star * pv_b / pstar_b / math.exp(b)] * 2
    half = 10.0**-digits / 2

    def too_small(p):
        Z = 1 + p * (math.exp(b) - 1)
        return p * math.exp(b) / Z < pv_b - half or min(1.0, pstar_b + half) * Z < p_star - half

    def not_too_large(p):
        Z = 1 + p * (math.exp(b) - 1)
        return p * math.exp(b) / Z <= pv_b + half and max(0.0, pstar_b - half) * Z <= min(1.0, p_star + half)

    ends = []
    for passes in (too_small, not_too_large):
        left, right = 0.0, 1.0
        if passes(1.0):
            left = 1.0
        for _ in range(200):
            middle = (left + right) / 2
            left, right = (middle, right) if passes(middle) else (left, middle)
        ends.append(left)
    return ends
""",
        ),
        Right(
            "odds and all corners",
            code="""
def interval(p_star, pv_b, pstar_b, b, digits):
    if digits is None:
        p = probability_from_top2(p_star, pv_b, pstar_b, b)
        return (p, p)
    d = 0.5 / 10**digits
    grow = math.exp(b)
    by_lifted = []
    for a in (max(0.0, pv_b - d), min(1.0, pv_b + d)):
        by_lifted.append(1.0 if a == 1 else (a / (1 - a) / grow) / (1 + a / (1 - a) / grow))
    by_norm = []
    for s in (max(0.0, p_star - d), min(1.0, p_star + d)):
        for c in (max(0.0, pstar_b - d), min(1.0, pstar_b + d)):
            by_norm.append((s / c - 1) / (grow - 1) if c else math.inf)
    return max(min(by_lifted), min(by_norm)), min(max(by_lifted), max(by_norm))
""",
        ),
        Right("a tensor", change={"return low, high": "return torch.tensor([low, high], dtype=torch.float64)"}),
        Mistake(
            "p(v; b) taken as exact",
            change={"low, high = (x": "lifted = pv_b, pv_b\n    low, high = (x"},
            says="p(v; b) was rounded as well",
            gravity="idea",
        ),
        Mistake(
            "the value twice",
            change={
                "    delta = 0.5": "    if pstar_b > 0:\n        return (probability_from_top2(p_star, pv_b, pstar_b, b),) * 2\n    delta = 0.5"
            },
            says="both ends are the value of the formula: the answers are rounded, so each number lies in an interval",
            gravity="idea",
        ),
        Mistake(
            "lower end from Z_b alone",
            change={"low = max(low, (lead": "low = max(0, (lead"},
            says="the lower end is what Z_b allows; p(v; b) may allow less: take the larger of the two lower ends",
            gravity="idea",
        ),
        Mistake(
            "upper end from Z_b alone",
            change={"high = min(high, (lead": "high = min(1, (lead"},
            says="the upper end is what Z_b allows; p(v; b) may allow less: take the smaller of the two upper ends",
            gravity="idea",
        ),
        Mistake(
            "e^b for e^b - 1",
            change={"(math.exp(b) - 1)": "math.exp(b)"},
            says="Z_b = 1 + p(v) (e^b − 1): divide Z_b − 1 by e^b − 1, not by e^b",
            gravity="idea",
        ),
        Mistake(
            "the bias done again",
            change={"x / (x + (1 - x) * math.exp(b))": "x * math.exp(b) / (x * math.exp(b) + 1 - x)"},
            says="solved for p(v; b), not for p(v): the bias has to be taken away from p(v; b)",
            gravity="idea",
        ),
        Mistake(
            "middle and half width",
            change={"return low, high": "return (low + high) / 2, (high - low) / 2"},
            says="the two ends were asked for, not the middle and half the width",
            gravity="idea",
        ),
        Mistake(
            "ends rounded",
            change={"return low, high": "return round(low, digits), round(high, digits)"},
            says="the ends are rounded: then the interval need not contain p(v)",
            gravity="idea",
        ),
    ],
    "best-bias": [
        Mistake(
            "level with v*",
            change={"0.5 * math.log((1 - pv) * p_star)": "math.log(p_star)"},
            says="that makes v and v* level (t = p(v*)); the best t is a little higher: the rest of the vocabulary counts, too",
            gravity="idea",
        ),
        Mistake(
            "t, not b",
            change={"0.5 * math.log((1 - pv) * p_star) - math.log(pv)": "math.sqrt((1 - pv) * p_star)"},
            says="t is found, but not solved for b: b = log(t / p(v))",
            gravity="idea",
        ),
        Mistake(
            "e^b, not b",
            change={"0.5 * math.log((1 - pv) * p_star) - math.log(pv)": "math.sqrt((1 - pv) * p_star) / pv"},
            says="that gives e^b; take its logarithm",
            gravity="idea",
        ),
        Mistake("no root", change={"0.5 * math.log": "math.log"}, says="t² = (1 − p(v)) p(v*): the root is missing", gravity="idea"),
        Mistake(
            "Z = 1 + t",
            change={"(1 - pv) * p_star": "p_star"},
            says="Z_b is 1 − p(v) + t, not 1 + t: the biased word no longer has its old weight",
            gravity="idea",
        ),
        Mistake(
            "p(v; b) = 1/2",
            change={"0.5 * math.log((1 - pv) * p_star)": "math.log(1 - pv)"},
            says="that makes p(v; b) = 1/2, which forgets the anchor",
            gravity="idea",
        ),
        Mistake("log t", change={" - math.log(pv)": ""}, says="that is log t: b = log(t / p(v))", gravity="idea"),
        Mistake(
            "rounded",
            change={"0.5 * math.log((1 - pv) * p_star) - math.log(pv)": "round(0.5 * math.log((1 - pv) * p_star) - math.log(pv), 5)"},
            hint="digits are lost: use the formula",
            gravity="edge",
        ),
        Right(
            "through t",
            change={"0.5 * math.log((1 - pv) * p_star) - math.log(pv)": "math.log(math.sqrt(p_star - pv * p_star) / pv)"},
        ),
        Right(
            "NumPy", change={"0.5 * math.log((1 - pv) * p_star) - math.log(pv)": "(np.log1p(-pv) + np.log(p_star) - 2 * np.log(pv)) / 2"}
        ),
        Mistake(
            "one root for all",
            change={"0.5 * math.log((1 - pv) * p_star) - math.log(pv)": "0.5 * math.log((1 - pv) * p_star / pv)"},
            says="the root is of (1 − p(v)) p(v*) only: p(v) is outside it",
            gravity="idea",
        ),
        Mistake(
            "sign",
            change={"0.5 * math.log((1 - pv) * p_star) - math.log(pv)": "math.log(pv) - 0.5 * math.log((1 - pv) * p_star)"},
            says="the sign is wrong: a rare word needs a positive bias",
            gravity="idea",
        ),
        Mistake(
            "exchanged",
            change={"0.5 * math.log((1 - pv) * p_star) - math.log(pv)": "0.5 * math.log((1 - p_star) * pv) - math.log(p_star)"},
            says="p(v) and p(v*) are exchanged",
            gravity="idea",
        ),
        Mistake(
            "base 10", change={"math.log(": "math.log10("}, says="that is a logarithm to base 10; take the natural one", gravity="idea"
        ),
        Mistake(
            "log p(v) added",
            change={"- math.log(pv)": "+ math.log(pv)"},
            says="log p(v) is added: e^b = t / p(v), so it is subtracted",
            gravity="idea",
        ),
        Mistake("no p(v*)", change={"(1 - pv) * p_star": "(1 - pv)"}, says="p(v*) is missing: t² = (1 − p(v)) p(v*)", gravity="idea"),
        Mistake(
            "1 - p(v*)",
            change={"(1 - pv) * p_star": "(1 - p_star) * p_star"},
            says="1 − p(v*) stands where 1 − p(v) belongs",
            gravity="idea",
        ),
        Mistake("1 + p(v)", change={"(1 - pv)": "(1 + pv)"}, says="1 + p(v) stands where 1 − p(v) belongs", gravity="idea"),
        Mistake(
            "third root",
            change={"0.5 * math.log((1 - pv) * p_star)": "math.log((1 - pv) * p_star) / 3"},
            says="a third root is taken: t² = (1 − p(v)) p(v*)",
            gravity="idea",
        ),
        Mistake(
            "base 2",
            change={"return ": "return 1 / math.log(2) * (", "math.log(pv)": "math.log(pv))"},
            says="that is a logarithm to base 2; take the natural one",
            gravity="idea",
        ),
        Mistake(
            "sum in place of product",
            change={"(1 - pv) * p_star": "(1 - pv) + p_star"},
            says="1 − p(v) and p(v*) are added: t² is their product",
            gravity="idea",
        ),
    ],
    "undo-top1": [
        Mistake(
            "normaliser ignored",
            change={"weight / (weight + (1 - pv_b))": "weight"},
            says="you ignore the changed normaliser: p' e^{-b} is p(v) / Z_b",
            gravity="idea",
        ),
        Mistake(
            "e^b with the wrong term",
            change={"weight / (weight + (1 - pv_b))": "pv_b / (pv_b * math.exp(min(b, 700)) + 1 - pv_b)"},
            says="e^b multiplies the wrong term: it belongs to 1 − p', the share of all other words",
            gravity="idea",
        ),
        Mistake(
            "sign of b",
            change={"math.exp(-b)": "math.exp(min(b, 700))"},
            says="the sign of b is wrong: the bias has to be taken away",
            gravity="idea",
        ),
        Mistake(
            "odds",
            change={"(weight + (1 - pv_b))": "(1 - pv_b)"},
            says="those are the odds p / (1 − p); the probability was asked for",
            gravity="idea",
        ),
        Mistake(
            "overflow",
            change={"weight / (weight + (1 - pv_b))": "pv_b / (pv_b + (1 - pv_b) * math.exp(b))"},
            hint="e^800 overflows",
            gravity="edge",
        ),
        Mistake(
            "p' missing",
            change={"weight / (weight + (1 - pv_b))": "pv_b / (1 + (1 - pv_b) * math.exp(min(b, 700)))"},
            says="p' is missing in the denominator's first term: it is p' + (1 − p') e^b",
            gravity="idea",
        ),
        Mistake(
            "bias cut off",
            change={"math.exp(-b)": "math.exp(-min(b, 50))"},
            hint="is the bias cut off, or a small number lost",
            gravity="edge",
        ),
        Right("through odds", change={"weight / (weight + (1 - pv_b))": "1 / (1 + math.exp(min(700, b)) * (1 - pv_b) / pv_b)"}),
        Right(
            "sigmoid of shifted log-odds",
            change={
                "weight / (weight + (1 - pv_b))": "torch.sigmoid(torch.tensor(math.log(pv_b / (1 - pv_b)) - b, dtype=torch.float64)).item()"
            },
        ),
        Mistake(
            "p' missing in the numerator",
            change={"weight / (weight + (1 - pv_b))": "math.exp(-b) / (weight + (1 - pv_b))"},
            says="p' is missing in the numerator",
            gravity="idea",
        ),
        Mistake(
            "b for e^b",
            change={"weight / (weight + (1 - pv_b))": "pv_b / (pv_b + (1 - pv_b) * (b or 1))"},
            says="multiply by e^b, not by b",
            gravity="idea",
        ),
        Mistake("1 for 1 - p'", change={"(1 - pv_b)": "1"}, says="the other words have the weight 1 − p', not 1", gravity="idea"),
        Mistake(
            "both terms divided",
            change={"(1 - pv_b)": "(1 - pv_b) * math.exp(-b)"},
            says="both weights are divided by e^b, so nothing is undone: the bias was on v alone",
            gravity="idea",
        ),
        Mistake(
            "a small number in the denominator",
            change={"(1 - pv_b))": "(1 - pv_b) + 1e-12)"},
            hint="digits are lost",
            gravity="edge",
        ),
        Mistake(
            "numerator keeps the bias",
            change={
                "    weight = pv_b * math.exp(-b)\n    return weight / (weight + (1 - pv_b))": "    return pv_b / (pv_b * math.exp(-b) + 1 - pv_b)"
            },
            says="the numerator still has the bias: its weight is p' e^{-b}",
            gravity="idea",
        ),
        Mistake(
            "log-odds",
            change={
                "    weight = pv_b * math.exp(-b)\n    return weight / (weight + (1 - pv_b))": "    return math.log(pv_b / (1 - pv_b)) - b"
            },
            says="those are the log-odds without the bias; the probability was asked for",
            gravity="idea",
        ),
        Mistake(
            "difference of weights",
            change={"weight + (1 - pv_b)": "weight - (1 - pv_b)"},
            says="the weights are subtracted: the sum of all words is p' e^{-b} + (1 − p')",
            gravity="idea",
        ),
        Mistake("base 2", change={"math.exp(-b)": "2.0 ** -b"}, says="the base is 2: the bias multiplied by e^b", gravity="idea"),
        Mistake("base 10", change={"math.exp(-b)": "10.0 ** -b"}, says="the base is 10: the bias multiplied by e^b", gravity="idea"),
        Mistake(
            "always positive",
            change={"math.exp(-b)": "math.exp(-abs(b))"},
            says="the sign of b is lost: a negative bias made the word less likely",
            gravity="idea",
        ),
        Mistake(
            "square of the rest",
            change={"(1 - pv_b)": "(1 - pv_b) ** 2"},
            says="1 − p' is squared: it is the share of all other words as it is",
            gravity="idea",
        ),
        Mistake(
            "half of the bias",
            change={"math.exp(-b)": "math.exp(-b / 2)"},
            says="half of the bias is undone: divide the odds by e^b",
            gravity="idea",
        ),
    ],
    "recover-top1": [
        Mistake(
            "straight to the cap",
            change={"min(b + 20.0, api.bias_cap)": "api.bias_cap"},
            hint="p' is 1 to the last digit, and 1 comes out",
            gravity="idea",
        ),
        Mistake(
            "gives up after one step",
            change={"                break\n": "            break\n"},
            hint="climb in steps of 20, and stop as soon as the word leads",
            gravity="idea",
        ),
        Mistake("steps too small", change={"b + 20.0": "b + 5.0"}, hint="at most ⌈cap / 20⌉ for each word", gravity="part"),
        Mistake("steps too large", change={"b + 20.0": "b + 32.0"}, hint="words far down lose their digits", gravity="part"),
        Mistake(
            "does not look whose probability it is",
            change={"if word == v:": "if True:"},
            hint="whose probability does the answer show?",
            gravity="idea",
        ),
        Mistake(
            "above the cap",
            change={"min(b + 20.0, api.bias_cap)": "b + 20.0"},
            hint="the last step goes to the cap, not above it",
            gravity="part",
        ),
        Mistake(
            "renormalised",
            change={"return p": "return p / p.sum()"},
            says="you renormalise: that hides the missing 0.4. Leave the sum as it is",
            gravity="part",
        ),
        Mistake(
            "asks for two words",
            change={"word, shown = api.top1({v: b})": "word, shown = api.top2({v: b})[0]"},
            # In grading the API's own words are withheld once hidden inputs are known; the line that it refused is shown.
            hint="at line 11 of the cell: `word, shown = api.top2({v: b})[0]`",
            gravity="idea",
        ),
        Mistake(
            "always the first step's bias",
            change={"(shown, b)": "(shown, 20.0)"},
            hint="the bias is not the one that the word was seen with",
            gravity="idea",
        ),
        Mistake(
            "whole steps only",
            change={
                "b < api.bias_cap:\n            b = min(b + 20.0, api.bias_cap)": "b + 20.0 <= api.bias_cap:\n            b = b + 20.0"
            },
            hint="the last step goes to the cap",
            gravity="part",
        ),
        Mistake("steps of ten", change={"b + 20.0": "b + 10.0"}, hint="at most ⌈cap / 20⌉ for each word", gravity="part"),
        Mistake(
            "float32",
            change={"dtype=torch.float64": "dtype=torch.float32"},
            hint="words of probability e^{-97} lose digits",
            gravity="edge",
        ),
        Right(
            "a list of steps",
            code="""
def recover_top1(api):
    star, lead = api.top1({})
    ladder = [20.0 * n for n in range(1, 100) if 20.0 * n < api.bias_cap] + [api.bias_cap]
    found = []
    for v in range(api.vocabulary_size):
        p = lead if v == star else 0.0
        if v != star:
            for b in ladder:
                word, shown = api.top1({v: b})
                if word == v:
                    p = 1 / (1 + (1 - shown) / shown * math.exp(b))
                    break
        found.append(p)
    return found
""",
        ),
        Right(
            "climb with all words at once",
            code="""
def recover_top1(api):
    star, lead = api.top1()
    p = np.zeros(api.vocabulary_size)
    p[star] = lead
    waiting = [v for v in range(len(p)) if v != star]
    n = math.ceil(api.bias_cap / 20)
    for b in [api.bias_cap * (i + 1) / n for i in range(n)]:
        still = []
        for v in waiting:
            word, shown = api.top1({v: b})
            if word == v:
                p[v] = probability_from_top1(shown, b)
            else:
                still.append(v)
        waiting = still
    return p
""",
        ),
        Mistake(
            "shares out what is missing",
            change={"return p": "p[p == 0] = (1 - p.sum()) / max(1, int((p == 0).sum()))\n    return p"},
            says="words that never lead get an equal share of what is missing: that is a guess. Give them 0",
            gravity="part",
        ),
        Mistake(
            "the bound for words that never lead",
            change={"                break\n": "                break\n            p[v] = p_star * math.exp(-api.bias_cap)\n"},
            says="words that never lead get the bound p(v*) e^{-cap}: give them 0",
            gravity="part",
        ),
        Mistake(
            "starts at 40",
            change={"b = 0.0": "b = min(20.0, api.bias_cap - 1)"},
            says="the first step is 40: at a bias of 40 a likely word has pushed 1 − p' below 1e-16. Start with 20",
            gravity="idea",
        ),
        Mistake(
            "the most likely word left out",
            change={"    p[star] = p_star\n": ""},
            says="the most likely word gets no probability: it is in the first answer",
            gravity="idea",
        ),
        Mistake(
            "normaliser ignored",
            change={"probability_from_top1(shown, b)": "shown * math.exp(-b)"},
            says="you ignore the changed normaliser: p' e^{-b} is p(v) / Z_b. Use your formula of 4.1",
            gravity="idea",
        ),
        Mistake(
            "climbs on",
            change={"                break\n": ""},
            says="you climb on after the word leads, and the last p' is 1 to the last digit: stop at the first step at which it leads",
            gravity="idea",
        ),
        Mistake(
            "gives up at 60",
            change={"b < api.bias_cap": "b < min(api.bias_cap, 60.0)"},
            hint="climb in steps of 20",
            gravity="idea",
        ),
        Mistake(
            "unbiased call at every step",
            change={"            word, shown": "            api.top1()\n            word, shown"},
            hint="one call without a bias",
            gravity="part",
        ),
    ],
    "nucleus": [
        Mistake(
            "stops one word too early",
            change={"before < mass": "before + sorted_p <= mass"},
            says="nucleus: the word that reaches the mass belongs to the nucleus; you stop one word too early",
            gravity="idea",
        ),
        Mistake(
            "more than the mass", change={"before < mass": "before <= mass"}, hint="at least the mass, not more than it", gravity="edge"
        ),
        Mistake(
            "not renormalised",
            change={"return kept / kept.sum()": "return kept"},
            says="nucleus: divide by the sum of what is kept, so that it is a distribution",
            gravity="idea",
        ),
        Mistake(
            "order of the vocabulary",
            change={"p.sort(descending=True, stable=True)": "(p, torch.arange(len(p)))"},
            says="nucleus: you add up in the order of the words' numbers; begin with the most likely word",
            gravity="idea",
        ),
        Mistake(
            "left sorted",
            change={"kept[order] =": "kept[:] ="},
            says="nucleus: the probabilities come out sorted; put them back at their words",
            gravity="idea",
        ),
        Mistake(
            "threshold on each word",
            change={"before < mass": "sorted_p >= sorted_p[0] * mass"},
            says="nucleus: words are kept by comparing each with a threshold; it is the sum that counts",
            gravity="idea",
        ),
        Mistake(
            "later words first among ties",
            change={"p.sort(descending=True, stable=True)": "[x.flip(0) for x in p.sort(stable=True)]"},
            hint="the smaller numbers are kept",
            gravity="edge",
        ),
        Mistake(
            "draws what has no probability",
            change={"running > u * running[-1]": "running >= u * running[-1]"},
            hint="a word of probability 0 was drawn",
            gravity="edge",
        ),
        Mistake(
            "falls off the end", change={"running > u * running[-1]": "running > u"}, hint="compare with u times the sum", gravity="part"
        ),
        Mistake(
            "always the most likely word",
            change={"int((running > u * running[-1]).nonzero()[0])": "int(p.argmax())"},
            says="draw: the same word comes for every u",
            gravity="idea",
        ),
        Mistake(
            "draws for itself",
            change={"int((running > u * running[-1]).nonzero()[0])": "int(torch.multinomial(p, 1))"},
            hint="find the first that exceeds u",
            gravity="idea",
        ),
        Mistake(
            "divided by the mass",
            change={"kept / kept.sum()": "kept / mass"},
            says="nucleus: divide by the sum of what is kept, not by the mass",
            gravity="idea",
        ),
        Mistake(
            "a share of the sum",
            change={"before < mass": "before < mass * p.sum()"},
            hint="the mass is compared with the sum of p as it is",
            gravity="edge",
        ),
        Mistake(
            "the last word for want of another",
            change={"int((running > u * running[-1]).nonzero()[0])": "next((i for i, x in enumerate(running) if x > u), len(p) - 1)"},
            hint="compare with u times the sum",
            gravity="part",
        ),
        Mistake(
            "from the most likely word on",
            change={
                "    running = p.cumsum(0)\n": "    p, order = p.sort(descending=True)\n    running = p.cumsum(0)\n",
                "int((running > u * running[-1]).nonzero()[0])": "int(order[(running > u * running[-1]).nonzero()[0]])",
            },
            says="draw: you add up from the most likely word on; the order is that of the words' numbers",
            gravity="idea",
        ),
        Mistake(
            "running sum in place",
            change={"p.cumsum(0)\n    return int": "p.cumsum_(0)\n    return int"},
            hint="your code changes its input in place",
            gravity="edge",
        ),
        Right(
            "loops",
            code="""
def nucleus(p, mass):
    kept, total = [0.0] * len(p), 0.0
    for v in sorted(range(len(p)), key=lambda v: (-p[v].item(), v)):
        if total >= mass:
            break
        kept[v] = p[v].item()
        total += kept[v]
    return torch.tensor([x / total for x in kept], dtype=p.dtype)


def draw(p, u):
    total, target = 0.0, u * p.sum().item()
    for v, x in enumerate(p.tolist()):
        total += x
        if total > target:
            return v
""",
        ),
        Right(
            "NumPy",
            code="""
def nucleus(p, mass):
    p = p.numpy()
    order = np.argsort(-p, kind="stable")
    count = np.searchsorted(np.cumsum(p[order]), mass) + 1
    kept = np.zeros_like(p)
    kept[order[:count]] = p[order[:count]]
    return kept / kept.sum()


def draw(p, u):
    running = np.cumsum(p.numpy())
    return np.searchsorted(running, u * running[-1], side="right")
""",
        ),
        Mistake(
            "one word too late",
            change={".nonzero()[0])": ".nonzero()[0]) + 1"},
            says="draw: that is one word too late: take the first at which the running sum exceeds u",
            gravity="idea",
        ),
        Mistake(
            "kept words equally likely",
            change={"sorted_p, 0.0)": "1.0, 0.0)"},
            says="nucleus: the kept words are equally likely; they keep their proportions",
            gravity="idea",
        ),
        Mistake(
            "softmax of the kept words",
            change={"return kept / kept.sum()": "return kept.masked_fill(kept == 0, -torch.inf).softmax(0)"},
            says="nucleus: softmax changes the proportions; divide by the sum",
            gravity="idea",
        ),
        Mistake(
            "least likely first",
            change={"p.sort(descending=True, stable=True)": "p.sort(stable=True)"},
            says="nucleus: you begin with the least likely word; begin with the most likely one",
            gravity="idea",
        ),
        Mistake(
            "a share of the vocabulary",
            change={"before < mass": "torch.arange(len(p)) < mass * len(p)"},
            says="nucleus: mass is a probability to collect, not a share of the vocabulary",
            gravity="idea",
        ),
        Mistake(
            "the most likely word left out",
            change={"before < mass": "(before < mass) & (before > 0)"},
            says="nucleus: the most likely word is left out: it is always kept",
            gravity="idea",
        ),
        Mistake(
            "1 - u",
            change={"running > u *": "running > (1 - u) *"},
            says="draw: you compare with 1 − u: find the first running sum that exceeds u",
            gravity="idea",
        ),
        Mistake(
            "the nearest running sum",
            change={"int((running > u * running[-1]).nonzero()[0])": "int((running - u * running[-1]).abs().argmin())"},
            says="draw: you take the running sum nearest to u: take the first that exceeds it",
            gravity="idea",
        ),
        Mistake(
            "divided in place",
            change={"    running = p.cumsum(0)\n": "    p /= p.sum()\n    running = p.cumsum(0)\n"},
            hint="your code changes its input in place",
            gravity="edge",
        ),
        Mistake(
            "threshold from the mass",
            change={
                "    return kept / kept.sum()": "    kept = torch.where(p >= 1 - mass, p, 0.0)\n    return kept / kept.sum().clamp(min=1e-12)"
            },
            says="nucleus: words are kept by comparing each with a threshold; it is the sum that counts",
            gravity="idea",
        ),
        Mistake(
            "one word more",
            change={"before < mass": "before - sorted_p < mass"},
            says="nucleus: you go on after the mass is reached: stop at the word that reaches it",
            gravity="idea",
        ),
        Mistake(
            "softmax of all",
            change={"kept / kept.sum()": "kept.softmax(0)"},
            says="nucleus: softmax changes the proportions, and gives words outside a share; divide by the sum",
            gravity="idea",
        ),
        Mistake(
            "half the mass", change={"before < mass": "before < mass / 2"}, says="nucleus: you collect half of the mass", gravity="idea"
        ),
        Mistake(
            "what is outside",
            change={"before < mass": "before >= mass"},
            says="nucleus: these are the words outside the nucleus",
            gravity="idea",
        ),
        Mistake(
            "draw: sorted",
            change={"running = p.cumsum(0)": "running = p.sort(descending=True).values.cumsum(0)"},
            says="draw: you add up from the most likely word on; the order is that of the words' numbers",
            gravity="idea",
        ),
        Mistake(
            "draw: compares single probabilities",
            change={
                "running = p.cumsum(0)": "running = p.clone()",
                "u * running[-1]).nonzero()[0]": "u).nonzero().flatten().tolist()[0] if (running > u).any() else 0",
            },
            says="draw: each probability is compared by itself; it is the running sum that counts",
            gravity="idea",
        ),
        Mistake(
            "draw: a share of the vocabulary",
            change={"int((running > u * running[-1]).nonzero()[0])": "int(u * len(p))"},
            says="draw: all words are drawn equally often: compare the running sum with u",
            gravity="idea",
        ),
        Mistake(
            "draw: the last one below",
            change={"int((running > u * running[-1]).nonzero()[0])": "max(0, int((running <= u * running[-1]).sum()) - 1)"},
            says="draw: that is one word too early: take the first at which the running sum exceeds u",
            gravity="idea",
        ),
        Mistake(
            "draw: from the end",
            change={"running = p.cumsum(0)": "running = p.flip(0).cumsum(0)"},
            says="draw: you add up from the last word on; begin with word 0",
            gravity="idea",
        ),
    ],
    "pairs": [
        Mistake(
            "each as if it were alone",
            change={"a * shrink / total": "a * shrink / (1 - a + a * shrink)", "c * shrink / total": "c * shrink / (1 - c + c * shrink)"},
            says="probabilities_from_pair: each word is treated as if it were biased alone: 1 − a contains the other biased word",
            gravity="idea",
        ),
        Mistake(
            "normaliser ignored",
            change={"return a * shrink / total, c * shrink / total": "return a * shrink, c * shrink"},
            says="probabilities_from_pair: the changed normaliser is ignored",
            gravity="idea",
        ),
        Mistake(
            "odds",
            change={" + (a + c) * shrink": ""},
            says="probabilities_from_pair: those are weights relative to all others; divide by the sum of all, v and w included",
            gravity="idea",
        ),
        Mistake(
            "exchanged",
            change={"return a * shrink / total, c * shrink / total": "return c * shrink / total, a * shrink / total"},
            says="probabilities_from_pair: p(v) comes first, then p(w)",
            gravity="idea",
        ),
        Mistake(
            "the last one without a partner",
            change={"rest.append(second)": "pass"},
            hint="Who could be the last one's partner",
            gravity="part",
        ),
        Mistake(
            "by the order of the answer",
            change={"shown[v], shown[w], ": "*shown.values(), "},
            hint="does every word get a partner, and each the value",
            gravity="idea",
        ),
        Mistake(
            "one by one",
            code="""
def probabilities_from_pair(a, c, b):
    total = (1 - a - c) + (a + c) * math.exp(-b)
    return a * math.exp(-b) / total, c * math.exp(-b) / total


def recover_in_pairs(api):
    return recover(api)
""",
            hint="too many calls, or none: six words, two per call, and one call without a bias",
            gravity="part",
        ),
        Mistake(
            "the second word left out",
            change={"p[star], p[second] = p_star, p_second": "p[star] = p_star"},
            says="recover_in_pairs: the second word of the first answer gets no probability",
            gravity="idea",
        ),
        Mistake(
            "a fixed bias",
            change={"{v: api.bias_cap, w: api.bias_cap}": "{v: 8.0, w: 8.0}", "shown[w], api.bias_cap": "shown[w], 8.0"},
            hint="your code raised KeyError",
            gravity="idea",
        ),
        Mistake(
            "overlapping pairs",
            change={"zip(rest[::2], rest[1::2], strict=True)": "zip(rest, rest[1:])"},
            hint="more than ⌈|V|/2⌉ + 1 calls",
            gravity="part",
        ),
        Mistake("float32", change={"dtype=torch.float64": "dtype=torch.float32"}, hint="keep float64", gravity="edge"),
        Right(
            "without helpers of its own",
            code="""
def probabilities_from_pair(a, c, b):
    others = (1 - a - c) * math.exp(b)
    return [a / (a + c + others), c / (a + c + others)]


def recover_in_pairs(api):
    b, n = api.bias_cap, api.vocabulary_size
    found = dict(api.top2())
    star = next(iter(found))
    second = [w for w in found if w != star][0]
    waiting = [v for v in range(n) if v not in found]
    while waiting:
        v = waiting.pop()
        w = waiting.pop() if waiting else second
        shown = dict(api.top2({v: b, w: b}))
        found[v], found[w] = probabilities_from_pair(shown[v], shown[w], b)
    return [found[v] for v in range(n)]
""",
        ),
        Right(
            "the last one against the anchor",
            code="""
def probabilities_from_pair(a, c, b):
    weights = np.array([a * np.exp(-b), c * np.exp(-b), 1 - a - c])
    return weights[:2] / weights.sum()


def recover_in_pairs(api):
    b = api.bias_cap
    (star, lead), (second, runner_up) = api.top2()
    p = np.zeros(api.vocabulary_size)
    p[star], p[second] = lead, runner_up
    rest = [v for v in range(len(p)) if v not in (star, second)]
    if len(rest) % 2:
        v = rest.pop()
        shown = dict(api.top2({v: b}))
        p[v] = probability_from_top2(lead, shown[v], shown[star], b)
    for i in range(0, len(rest), 2):
        shown = dict(api.top2({rest[i]: b, rest[i + 1]: b}))
        p[rest[i : i + 2]] = probabilities_from_pair(shown[rest[i]], shown[rest[i + 1]], b)
    return p
""",
        ),
        Mistake(
            "sign of b",
            change={"shrink = math.exp(-b)": "shrink = math.exp(b)"},
            says="probabilities_from_pair: the sign of b is wrong: the bias has to be taken away",
            gravity="idea",
        ),
        Mistake(
            "the most likely word left out",
            change={"p[star], p[second] = p_star, p_second": "p[second] = p_second"},
            says="recover_in_pairs: the most likely word gets no probability: it is in the first answer",
            gravity="idea",
        ),
        Mistake(
            "exchanged in the loop",
            change={"p[v], p[w] = prob": "p[w], p[v] = prob"},
            says="recover_in_pairs: the two values are exchanged: the first belongs to v, the second to w",
            gravity="idea",
        ),
        Mistake(
            "undone with half the cap",
            change={"shown[w], api.bias_cap)": "shown[w], api.bias_cap / 2)"},
            says="recover_in_pairs: the bias that is undone is not the one that was set",
            gravity="idea",
        ),
        Mistake(
            "bias doubled",
            change={"math.exp(-b)": "math.exp(-2 * b)"},
            says="probabilities_from_pair: each word has the bias b once: e^{-b}, not e^{-2b}",
            gravity="idea",
        ),
        Mistake(
            "the odd word gets 0",
            change={"rest.append(second)": "rest.pop()"},
            says="recover_in_pairs: with an odd number of words left over the last one gets 0: give it a partner whose probability you know",
            gravity="part",
        ),
        Mistake(
            "a floor under the rest",
            change={"total = (1 - a - c)": "total = max(1 - a - c, 1e-6)"},
            says="probabilities_from_pair: 1 − a − c is cut off from below: a large bias makes it as small as e^{-b}",
            gravity="edge",
        ),
        Mistake(
            "sum of two only",
            change={"total = (1 - a - c) + (a + c) * shrink": "total = (a + c) * shrink"},
            says="probabilities_from_pair: you divide by the two words alone: all others belong to the sum",
            gravity="idea",
        ),
        Mistake(
            "one word in the rest",
            change={"(1 - a - c)": "(1 - a)"},
            says="probabilities_from_pair: 1 − a still contains w: the others have 1 − a − c",
            gravity="idea",
        ),
        Mistake(
            "rest shrunk, too",
            change={"total = (1 - a - c) + (a + c) * shrink": "total = (1 - a - c) * shrink + (a + c)"},
            says="probabilities_from_pair: the others are divided by e^b: the bias was on v and w",
            gravity="idea",
        ),
        Mistake(
            "shown values",
            change={"p[v], p[w] = probabilities_from_pair(shown[v], shown[w], api.bias_cap)": "p[v], p[w] = shown[v], shown[w]"},
            says="recover_in_pairs: these are the probabilities with the bias: undo it",
            gravity="idea",
        ),
    ],
    "bonus-width": [
        Mistake(
            "not centred",
            change={"log_p - log_p.mean(dim=1, keepdim=True)": "log_p"},
            says="one too many: the normaliser adds one to the rank. Subtract from each row its mean over the vocabulary",
            gravity="idea",
        ),
        Mistake(
            "centred over the contexts",
            change={"dim=1": "dim=0"},
            says="you centre each column over the contexts; subtract from each row its mean over the vocabulary",
            gravity="idea",
        ),
        Mistake(
            "probabilities, not logarithms",
            change={"log_p - log_p.mean(dim=1, keepdim=True)": "log_p.exp() - log_p.exp().mean(dim=1, keepdim=True)"},
            says="those are probabilities: the rank is D only for their logarithms",
            gravity="idea",
        ),
        Mistake(
            "threshold at machine precision",
            change={"int((values > 1e-6 * values[0]).sum())": "int(torch.linalg.matrix_rank(centred))"},
            hint="errors of 1e-10 are counted",
            gravity="part",
        ),
        Mistake(
            "fixed threshold",
            change={"1e-6 * values[0]": "1e-2"},
            says="nothing is counted: the threshold must be relative to the largest singular value of the centred rows",
            gravity="part",
        ),
        Mistake(
            "rows and columns centred",
            change={"values = ": "centred = centred - centred.mean(dim=0)\n    values = "},
            says="the columns are centred, too, and that may lower the rank: centre the rows only",
            gravity="idea",
        ),
        Mistake(
            "squared singular values",
            change={"svdvals(centred)": "svdvals(centred) ** 2"},
            says="small singular values are left out, as by a threshold of 1e-3, or of 1e-6 on squares: compare them as they are with 1e-6 times the largest",
            gravity="part",
        ),
        Mistake(
            "threshold of 1e-7",
            change={"1e-6": "1e-7"},
            says="a singular value of 7e-7 times the largest is counted: the threshold is 1e-6",
            gravity="part",
        ),
        Mistake(
            "centred in place",
            change={"centred = log_p - log_p.mean(dim=1, keepdim=True)": "centred = log_p\n    centred -= log_p.mean(dim=1, keepdim=True)"},
            hint="your code changes its input in place",
            gravity="edge",
        ),
        Right(
            "matrix_rank with a tolerance",
            change={"int((values > 1e-6 * values[0]).sum())": "torch.linalg.matrix_rank(centred, rtol=1e-6).item()"},
        ),
        Right(
            "differences to the first word, and NumPy",
            code="""
def hidden_width(log_p):
    x = log_p.numpy() - log_p.numpy().mean(1)[:, None]
    values = np.linalg.svd(x, compute_uv=False)
    return sum(1 for value in values if value > values.max() / 1e6)
""",
        ),
        Mistake(
            "one less",
            change={"return int((values > 1e-6 * values[0]).sum())": "return int((values > 1e-6 * values[0]).sum()) - 1"},
            says="one too few: count every singular value above the threshold",
            gravity="idea",
        ),
        Mistake(
            "every value that is not zero",
            change={"> 1e-6 * values[0]": "> 0"},
            says="the smaller side of the matrix comes out, not its rank: leave out singular values below 1e-6 times the largest",
            gravity="idea",
        ),
        Mistake(
            "share of the sum",
            change={"1e-6 * values[0]": "1e-6 * values.sum()"},
            says="the threshold is 1e-6 times the largest singular value, not times their sum",
            gravity="part",
        ),
        Mistake(
            "threshold of 1e-5", change={"1e-6": "1e-5"}, says="the threshold is 1e-6 times the largest: yours is higher", gravity="part"
        ),
        Mistake(
            "one mean for all",
            change={"log_p.mean(dim=1, keepdim=True)": "log_p.mean()"},
            says="a number of its own is left in every row, which adds one to the rank: subtract from each row its own mean",
            gravity="idea",
        ),
    ],
}

# Mutants that `course verify --mutate` makes and that are no mistakes.
AXIS = "it is the same axis of a tensor with this many"
EQUIVALENT = {
    "biased": {"axis: *": AXIS},
    "nucleus": {
        "number: True → False #2": "of equal numbers torch keeps the order here, whatever it is told",
        "number: 0 → -1*": AXIS,
    },
    "pairs": {"number: True → False": "the list has an even length by then"},
    "bonus-width": {
        "comparison: *": "no singular value is exactly at the threshold",
        "order: *": "a minus does not change the singular values",
    },
}
