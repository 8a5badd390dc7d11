"""Wrong answers that the tests of 12-translation must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

IN_PLACE = "your code changes its input in place"
NEXT = '        row["parameters"] = parameter_count(source_size, target_size, row["width"], row["layers"])'

# The classes of Part 2 up to their methods, to go with methods that are written differently.
CROSS = """
class CrossAttention(nn.Module):
    def __init__(self, D, H):
        super().__init__()
        self.H = H
        self.query, self.key = nn.Linear(D, D), nn.Linear(D, D)
        self.value, self.output = nn.Linear(D, D), nn.Linear(D, D)

    def split(self, x):
        return x.unflatten(-1, (self.H, -1)).transpose(1, 2)
"""
BLOCK = """
class DecoderBlock(nn.Module):
    def __init__(self, D, H, dropout=0.0):
        super().__init__()
        self.norm1, self.norm_cross, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.attention = models.Attention(D, H)
        self.cross = CrossAttention(D, H)
        self.feed_forward = models.FeedForward(models.Shape(1, width=D, heads=H))
        self.drop = nn.Dropout(dropout)
"""
TRANSLATOR = """
class Translator(nn.Module):
    def __init__(self, source_size, target_size, D, H, L, dropout=0.0):
        super().__init__()
        self.D = D
        self.encoder = models.Encoder(models.Shape(source_size, width=D, heads=H, layers=L, dropout=dropout, positions="sinusoidal"))
        self.embedding = nn.Embedding(target_size, D)
        self.blocks = nn.ModuleList(DecoderBlock(D, H, dropout) for _ in range(L))
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, target_size, bias=False)
        self.drop = nn.Dropout(dropout)
        models.initialise(self)
        nn.init.normal_(self.embedding.weight, std=D**-0.5)
        self.head.weight = self.embedding.weight
"""
SMALLEST = """
def smallest_loss(V, epsilon):
    q = torch.full((V,), epsilon / V, dtype=torch.float64)
    q[0] += 1 - epsilon
    return float(torch.special.entr(q).sum())
"""

VARIANTS = {
    "teacher-forcing": [
        Mistake(
            "no END",
            change={"[[*row, END] for row in targets]": "[[*row, PAD] for row in targets]"},
            hint="END is missing in the labels",
            gravity="idea",
        ),
        Mistake(
            "END after the padding",
            change={
                "labels = translation.padded([[*row, END] for row in targets])": "labels = torch.cat([translation.padded(targets), torch.full((len(targets), 1), END)], 1)"
            },
            hint="END is at the end of the row, after the padding",
            gravity="idea",
        ),
        Mistake(
            "inputs not shifted",
            change={"[[BEGIN, *row] for row in targets]": "[[*row, END] for row in targets]"},
            hint="the inputs are not shifted",
            gravity="idea",
        ),
        Mistake(
            "no BEGIN",
            change={"[[BEGIN, *row] for row in targets]": "[[*row, PAD] for row in targets]"},
            hint="BEGIN is missing in the inputs",
            gravity="idea",
        ),
        Mistake(
            "labels begin with BEGIN",
            change={"[[*row, END] for row in targets]": "[[BEGIN, *row] for row in targets]"},
            hint="the labels begin with BEGIN",
            gravity="idea",
        ),
        Mistake(
            "the two exchanged",
            change={"return inputs, labels": "return labels, inputs"},
            hint="the labels begin with BEGIN: the decoder never has to predict that",
            gravity="idea",
        ),
        Mistake(
            "floats",
            change={"return inputs, labels": "return inputs.float(), labels.float()"},
            hint="tokens are int64 tensors",
            gravity="edge",
        ),
        Mistake(
            "changes the lists",
            code="""
def teacher_forcing(targets):
    for row in targets:
        row.append(END)
    labels = translation.padded(targets)
    return torch.cat([torch.full((len(targets), 1), BEGIN), labels[:, :-1]], 1), labels
""",
            hint="your code changes the lists it is given",
            gravity="edge",
        ),
        Right(
            "whole rows, cut twice",
            code="""
def teacher_forcing(targets):
    rows = translation.padded([[BEGIN, *row, END] for row in targets])
    return rows[:, :-1], rows[:, 1:]
""",
        ),
        Right(
            "a loop",
            code="""
def teacher_forcing(targets):
    longest = max(len(row) for row in targets) + 1
    inputs = torch.full((len(targets), longest), PAD)
    labels = torch.full((len(targets), longest), PAD)
    for b, row in enumerate(targets):
        inputs[b, 0] = BEGIN
        labels[b, len(row)] = END
        for t, token in enumerate(row):
            inputs[b, t + 1] = token
            labels[b, t] = token
    return inputs, labels
""",
        ),
    ],
    "masks": [
        Mistake(
            "polarity of padding",
            change={"(tokens != PAD)[": "(tokens == PAD)["},
            hint="padding_mask: the polarity is wrong",
            gravity="idea",
        ),
        Mistake("too few axes", change={"[:, None, None, :]": "[:, None, :]"}, hint="the shape is (B, 1, 1, S)", gravity="idea"),
        Mistake("not itself", change={".tril()": ".tril(-1)"}, hint="a position may look at itself", gravity="idea"),
        Mistake("upper triangle", change={".tril()": ".triu()"}, hint="the triangle points the wrong way", gravity="idea"),
        Mistake(
            "not causal",
            change={"causal & padding_mask(inputs)": "padding_mask(inputs).expand(-1, 1, T, T)"},
            hint="this mask is not causal",
            gravity="idea",
        ),
        Mistake(
            "padding seen",
            change={"causal & padding_mask(inputs)": "causal[None, None].expand(len(inputs), 1, T, T)"},
            hint="padding can be seen",
            gravity="part",
        ),
        Mistake(
            "not boolean",
            change={
                "(tokens != PAD)[:, None, None, :]": "(tokens != PAD).float()[:, None, None, :]",
                "causal & padding_mask(inputs)": "causal & padding_mask(inputs).bool()",
            },
            hint="a mask is boolean",
            gravity="edge",
        ),
        Mistake(
            "padding by length",
            change={"(tokens != PAD)[": "(torch.arange(tokens.shape[1]) < (tokens != PAD).sum(1, keepdim=True))["},
            hint="compare with PAD, not with a length",
            gravity="edge",
        ),
        Right(
            "comparisons of places",
            code="""
def padding_mask(tokens):
    return tokens.ne(PAD).unsqueeze(1).unsqueeze(1)


def target_mask(inputs):
    places = torch.arange(inputs.shape[1])
    return (places[None, :] <= places[:, None]) & padding_mask(inputs)
""",
        ),
        Right(
            "loops",
            code="""
def padding_mask(tokens):
    return torch.tensor([[[[token != PAD for token in row]]] for row in tokens.tolist()])


def target_mask(inputs):
    T = inputs.shape[1]
    return torch.tensor([[[[j <= i and row[j] != PAD for j in range(T)] for i in range(T)]] for row in inputs.tolist()])
""",
        ),
    ],
    "cross-attention": [
        Mistake("hidden by −100", change={"-torch.inf": "-100.0"}, hint="mask with −∞", gravity="edge"),
        Mistake("no scale", change={" / q.shape[-1] ** 0.5": ""}, hint="weights: the scores are not divided by √(D/H)", gravity="idea"),
        Mistake(
            "scale by √D",
            change={"q.shape[-1] ** 0.5": "x.shape[-1] ** 0.5"},
            hint="divided by the root of the whole width D",
            gravity="idea",
        ),
        Mistake(
            "scale without a root", change={"q.shape[-1] ** 0.5": "q.shape[-1]"}, hint="divided by D/H, not by its root", gravity="idea"
        ),
        Mistake(
            "softmax over the target",
            change={"softmax(dim=-1)": "softmax(dim=-2)"},
            hint="weights: softmax runs over the target: every row must be a distribution over the source",
            gravity="idea",
        ),
        Mistake("polarity", change={"~mask": "mask"}, hint="weights: the polarity is wrong. True means *may look*", gravity="part"),
        Mistake("mask ignored", change={"if mask is not None:": "if False:"}, hint="weights: the mask is not used", gravity="part"),
        Mistake(
            "zeroed after softmax",
            change={
                "            scores = scores.masked_fill(~mask, -torch.inf)\n": "            return scores.softmax(dim=-1) * mask\n",
            },
            hint="zeroed after softmax",
            gravity="part",
        ),
        Mistake("hidden scores are 0", change={"-torch.inf": "0.0"}, hint="hidden scores are set to 0", gravity="part"),
        Mistake(
            "keys from x",
            change={"self.key(memory)": "self.key(x)", "self.value(memory)": "self.value(x)"},
            hint="queries from x, keys from the memory",
            gravity="idea",
        ),
        Mistake(
            "roles exchanged",
            change={"self.query(x)), self.split(self.key(memory))": "self.query(memory)), self.split(self.key(x))"},
            hint="Which of the two did you use where?",
            gravity="idea",
        ),
        Mistake(
            "values not projected",
            change={"self.split(self.value(memory))": "self.split(memory)"},
            hint="the weights are applied to the memory itself",
            gravity="idea",
        ),
        Mistake(
            "keys mixed",
            change={"self.split(self.value(memory))": "self.split(self.key(memory))"},
            hint="forward: the weights are applied to the keys",
            gravity="idea",
        ),
        Mistake(
            "no output layer",
            change={"self.output(mixed.transpose(1, 2).flatten(2))": "mixed.transpose(1, 2).flatten(2)"},
            hint="the layer `output` is missing",
            gravity="idea",
        ),
        Mistake(
            "merged without transposing",
            change={"mixed.transpose(1, 2).flatten(2)": "mixed.reshape(x.shape)"},
            hint="heads and positions are mixed up",
            gravity="idea",
        ),
        Mistake(
            "mask not handed on",
            change={"self.weights(x, memory, mask) @": "self.weights(x, memory) @"},
            hint="forward: the mask is not used",
            gravity="part",
        ),
        Mistake(
            "detached",
            change={"self.split(self.key(memory))\n": "self.split(self.key(memory)).detach()\n"},
            hint="no gradient reaches the layers",
            gravity="part",
        ),
        Right(
            "einsum",
            code=CROSS
            + """
    def weights(self, x, memory, mask=None):
        q = self.query(x).unflatten(-1, (self.H, -1))
        k = self.key(memory).unflatten(-1, (self.H, -1))
        scores = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = torch.where(mask, scores, torch.tensor(float("-inf")))
        return torch.softmax(scores, -1)

    def forward(self, x, memory, mask=None):
        v = self.value(memory).unflatten(-1, (self.H, -1))
        return self.output(torch.einsum("bhts,bshd->bthd", self.weights(x, memory, mask), v).reshape(x.shape))
""",
        ),
        Right(
            "one head after the other",
            code=CROSS
            + """
    def weights(self, x, memory, mask=None):
        q, k = self.query(x), self.key(memory)
        d = q.shape[-1] // self.H
        looks = []
        for h in range(self.H):
            s = q[..., h * d : (h + 1) * d] @ k[..., h * d : (h + 1) * d].transpose(1, 2) * d**-0.5
            looks.append(s)
        scores = torch.stack(looks, 1)
        if mask is not None:
            scores = scores + torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
        e = (scores - scores.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

    def forward(self, x, memory, mask=None):
        w, v = self.weights(x, memory, mask), self.value(memory)
        d = v.shape[-1] // self.H
        return self.output(torch.cat([w[:, h] @ v[..., h * d : (h + 1) * d] for h in range(self.H)], -1))
""",
        ),
        Right(
            "the fused kernel",
            code=CROSS
            + """
    def weights(self, x, memory, mask=None):
        q, k = self.split(self.query(x)), self.split(self.key(memory))
        units = torch.eye(k.shape[2]).expand(*k.shape[:2], -1, -1)
        return F.scaled_dot_product_attention(q, k, units, attn_mask=mask)

    def forward(self, x, memory, mask=None):
        q, k, v = self.split(self.query(x)), self.split(self.key(memory)), self.split(self.value(memory))
        return self.output(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2))
""",
        ),
    ],
    "decoder-block": [
        Mistake(
            "post-norm",
            change={
                "x = x + self.drop(self.attention(self.norm1(x), mask=mask))": "x = self.norm1(x + self.drop(self.attention(x, mask=mask)))",
                "x = x + self.drop(self.cross(self.norm_cross(x), memory, memory_mask))": "x = self.norm_cross(x + self.drop(self.cross(x, memory, memory_mask)))",
                "return x + self.drop(self.feed_forward(self.norm2(x)))": "return self.norm2(x + self.drop(self.feed_forward(x)))",
            },
            hint="the norms come after the residual sums (post-norm)",
            gravity="idea",
        ),
        Mistake("self-attention not masked", change={"mask=mask": "mask=None"}, hint="is `mask` given to self-attention?", gravity="part"),
        Mistake(
            "source padding seen",
            change={"memory, memory_mask))": "memory, None))"},
            hint="is `memory_mask` given to cross-attention?",
            gravity="part",
        ),
        Mistake(
            "no cross-attention",
            change={"        x = x + self.drop(self.cross(self.norm_cross(x), memory, memory_mask))\n": ""},
            hint="cross-attention is missing",
            gravity="idea",
        ),
        Mistake(
            "cross first",
            code=BLOCK
            + """
    def forward(self, x, memory, mask, memory_mask):
        x = x + self.drop(self.cross(self.norm_cross(x), memory, memory_mask))
        x = x + self.drop(self.attention(self.norm1(x), mask=mask))
        return x + self.drop(self.feed_forward(self.norm2(x)))
""",
            hint="cross-attention comes before self-attention",
            gravity="idea",
        ),
        Mistake(
            "no residual around cross",
            change={"x = x + self.drop(self.cross": "x = self.drop(self.cross"},
            hint="the residual around cross-attention is missing",
            gravity="idea",
        ),
        Mistake(
            "no residual around feed-forward",
            change={"return x + self.drop": "return self.drop"},
            hint="the residual around feed-forward is missing",
            gravity="idea",
        ),
        Mistake(
            "cross without its norm",
            change={"self.norm_cross(x), memory": "x, memory"},
            hint="cross-attention gets x without its norm",
            gravity="idea",
        ),
        Mistake(
            "memory normalised",
            change={"self.norm_cross(x), memory": "self.norm_cross(x), self.norm_cross(memory)"},
            hint="the memory is normalised again",
            gravity="idea",
        ),
        Mistake(
            "the wrong norm",
            change={"self.norm_cross(x)": "self.norm1(x)"},
            hint="cross-attention uses the norm of self-attention",
            gravity="idea",
        ),
        Mistake(
            "no feed-forward",
            change={"return x + self.drop(self.feed_forward(self.norm2(x)))": "return x"},
            hint="the feed-forward branch is missing",
            gravity="idea",
        ),
        Mistake("no dropout", change={"self.drop(": "("}, hint="is dropout applied to the branches?", gravity="part"),
        Mistake("in place", change={"x = x + self.drop(self.attention": "x += self.drop(self.attention"}, hint=IN_PLACE, gravity="edge"),
        Right(
            "step by step",
            code=BLOCK
            + """
    def forward(self, x, memory, mask, memory_mask):
        looked_back = self.attention(self.norm1(x), None, mask)
        after = x + self.drop(looked_back)
        looked_across = self.cross(self.norm_cross(after), memory, mask=memory_mask)
        after = torch.add(after, self.drop(looked_across))
        return self.drop(self.feed_forward(self.norm2(after))) + after
""",
        ),
        Right(
            "a loop over branches",
            code=BLOCK
            + """
    def forward(self, x, memory, mask, memory_mask):
        branches = [
            (self.norm1, lambda y: self.attention(y, mask=mask)),
            (self.norm_cross, lambda y: self.cross(y, memory, memory_mask)),
            (self.norm2, self.feed_forward),
        ]
        for norm, branch in branches:
            x = x + self.drop(branch(norm(x)))
        return x
""",
        ),
    ],
    "translator": [
        Mistake("not scaled", change={" * self.D**0.5": ""}, hint="the embeddings are not multiplied by √D", gravity="idea"),
        Mistake("no positions", change={" + models.sinusoids(places, self.D)": ""}, hint="the positions are missing", gravity="idea"),
        Mistake(
            "places from 1",
            change={"models.sinusoids(places,": "models.sinusoids(places + 1,"},
            hint="positions are counted from 0",
            gravity="idea",
        ),
        Mistake(
            "source padding seen",
            change={"target_mask(inputs), padding_mask(source)": "target_mask(inputs), None"},
            hint="cross-attention sees padding of the source",
            gravity="part",
        ),
        Mistake(
            "encoder hears padding",
            change={"self.encoder(source, source != PAD)": "self.encoder(source)"},
            hint="encode: padding changes the memory",
            gravity="part",
        ),
        Mistake(
            "encoder mask inverted",
            change={"source != PAD": "source == PAD"},
            hint="encode: the memory is wrong: it is what `self.encoder` gives",
            gravity="idea",
        ),
        Mistake(
            "not causal",
            change={"target_mask(inputs), padding": "padding_mask(inputs), padding"},
            hint="the future is visible",
            gravity="idea",
        ),
        Mistake("no final norm", change={"self.head(self.norm(x))": "self.head(x)"}, hint="the final norm is missing", gravity="idea"),
        Mistake(
            "probabilities",
            change={"self.head(self.norm(x))": "self.head(self.norm(x)).softmax(-1)"},
            hint="these are probabilities: return the logits",
            gravity="idea",
        ),
        Mistake(
            "memory not used",
            change={"x = block(x, memory,": "x = block(x, memory * 0,"},
            hint="does the decoder look at the memory?",
            gravity="idea",
        ),
        Mistake(
            "last position only",
            change={"self.head(self.norm(x))": "self.head(self.norm(x))[:, -1]"},
            hint="one row of V numbers for each input position",
            gravity="idea",
        ),
        Mistake(
            "embeddings without dropout",
            change={"        x = self.drop(x)\n": ""},
            hint="apply `self.drop` to the embeddings with their positions",
            gravity="part",
        ),
        Mistake(
            "no dropout",
            change={
                "        x = self.drop(x)\n": "",
                "def __init__(self, source_size, target_size, D, H, L, dropout=0.0):\n        super().__init__()": "def __init__(self, source_size, target_size, D, H, L, dropout=0.0):\n        super().__init__()\n        dropout = 0.0",
            },
            hint="decode: apply `self.drop` to the embeddings with their positions, before the blocks",
            gravity="part",
        ),
        Right(
            "the masks once",
            code=TRANSLATOR
            + """
    def encode(self, source):
        return self.encoder(source, padding_mask(source)[:, 0, 0])

    def decode(self, inputs, memory, source):
        mask, memory_mask = target_mask(inputs), padding_mask(source)
        signal = models.sinusoids(torch.arange(inputs.size(1)), self.D)[None]
        x = self.drop(math.sqrt(self.D) * self.embedding(inputs) + signal)
        for i in range(len(self.blocks)):
            x = self.blocks[i](x, memory, mask=mask, memory_mask=memory_mask)
        return F.linear(self.norm(x), self.embedding.weight)

    def forward(self, source, inputs):
        memory = self.encode(source)
        return self.decode(inputs, memory, source)
""",
        ),
        Right(
            "padding of the target not masked",  # no real position looks at it: it lies in the future
            change={"target_mask(inputs), padding": "models.causal_mask(inputs.shape[1]), padding"},
        ),
    ],
    "smoothing": [
        Mistake(
            "over the others only",
            change={
                "losses = -(1 - epsilon) * right - epsilon * log_p.mean(dim=-1)": "losses = -(1 - epsilon) * right - epsilon * (log_p.sum(dim=-1) - right) / (log_p.shape[-1] - 1)"
            },
            hint="the share ε goes to the other V − 1 tokens only",
            gravity="idea",
        ),
        Mistake(
            "not smoothed",
            change={"-(1 - epsilon) * right - epsilon * log_p.mean(dim=-1)": "-right"},
            hint="the labels are not smoothed",
            gravity="idea",
        ),
        Mistake(
            "sum for mean over tokens",
            change={"log_p.mean(dim=-1)": "log_p.sum(dim=-1)"},
            hint="every token gets ε, not ε/V",
            gravity="idea",
        ),
        Mistake(
            "exchanged",
            change={"-(1 - epsilon) * right - epsilon * log_p": "-epsilon * right - (1 - epsilon) * log_p"},
            hint="ε and 1 − ε are swapped",
            gravity="idea",
        ),
        Mistake("padding counted", change={"losses[real].mean()": "losses.mean()"}, hint="padding is counted", gravity="part"),
        Mistake(
            "zeroed but counted",
            change={"losses[real].mean()": "(losses * real).mean()"},
            hint="padding is set to zero, but still counted",
            gravity="part",
        ),
        Mistake(
            "sum over positions",
            change={"losses[real].mean()": "losses[real].sum()"},
            hint="this is the sum over positions",
            gravity="idea",
        ),
        Mistake(
            "mean of sentence means",
            change={"losses[real].mean()": "((losses * real).sum(1) / real.sum(1)).mean()"},
            hint="each sentence's mean is averaged",
            gravity="part",
        ),
        Mistake(
            "no normalisation",
            change={"logits.log_softmax(dim=-1)": "logits"},
            hint="the logits are used as if they were log-probabilities",
            gravity="idea",
        ),
        Mistake(
            "log of softmax",
            change={"logits.log_softmax(dim=-1)": "logits.softmax(dim=-1).log()"},
            hint="use log_softmax, not log of softmax",
            gravity="edge",
        ),
        Mistake(
            "PAD left out of the smoothing",
            change={"log_p.mean(dim=-1)": "log_p[..., 1:].mean(dim=-1)"},
            hint="PAD is left out of the smoothing",
            gravity="idea",
        ),
        Mistake(
            "smallest is 0",
            change={"return -top * math.log(top) - (V - 1) * rest * math.log(rest)": "return 0.0"},
            hint="smallest_loss: it is 0 only for one-hot labels: put p = q into the loss",
            gravity="idea",
        ),
        Mistake(
            "smallest: one other token",
            change={"(V - 1) * rest": "rest"},
            hint="smallest_loss: the V − 1 other tokens all count",
            gravity="idea",
        ),
        Mistake(
            "smallest: 0 log 0", change={"    if epsilon == 0:\n        return 0.0\n": ""}, hint="take care of 0 · log 0", gravity="edge"
        ),
        Mistake(
            "cross_entropy",
            change={
                "    return losses[real].mean()": "    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD, label_smoothing=epsilon)"
            },
            hint="write the loss out",
            gravity="idea",
        ),
        Right(
            "the distribution itself",
            code="""
def smoothed_loss(logits, labels, epsilon):
    V = logits.shape[-1]
    q = (1 - epsilon) * F.one_hot(labels, V).to(logits.dtype) + epsilon / V
    real = (labels != PAD).to(logits.dtype)
    return -((q * logits.log_softmax(-1)).sum(-1) * real).sum() / real.sum()

"""
            + SMALLEST,
        ),
        Right(
            "logsumexp and loops",
            code="""
def smoothed_loss(logits, labels, epsilon):
    total, count = 0.0, 0
    for row, marks in zip(logits, labels.tolist()):
        for z, y in zip(row, marks):
            if y != PAD:
                log_p = z - z.logsumexp(0)
                total = total - (1 - epsilon) * log_p[y] - epsilon * log_p.mean()
                count += 1
    return total / count


def smallest_loss(V, epsilon):
    q = [1 - epsilon + epsilon / V] + [epsilon / V] * (V - 1)
    return -sum(x * math.log(x) for x in q if x > 0)
""",
        ),
    ],
    "noam": [
        Mistake("no D", change={"factor * D**-0.5 * min": "factor * min"}, hint="the factor D^(−1/2) is missing", gravity="idea"),
        Mistake("D without a root", change={"D**-0.5": "D**-1"}, hint="D is not under a root", gravity="idea"),
        Mistake("max for min", change={"min(step**-0.5": "max(step**-0.5"}, hint="after the warm-up the rate must fall", gravity="idea"),
        Mistake(
            "stays at the peak",
            change={"step * warmup**-1.5)": "step * warmup**-1.5, warmup**-0.5)", "min(step**-0.5, ": "min("},
            hint="the rate stays at its peak",
            gravity="idea",
        ),
        Mistake("falls like 1/step", change={"min(step**-0.5,": "min(warmup**0.5 / step,"}, hint="the fall is 1/√step", gravity="idea"),
        Mistake("rise too steep", change={"warmup**-1.5": "warmup**-0.5"}, hint="the rise is too steep", gravity="idea"),
        Mistake("factor not used", change={"return factor * D": "return D"}, hint="the factor multiplies the rate", gravity="part"),
        Mistake(
            "inverse factor",
            change={"peak * (D * warmup) ** 0.5": "peak / (D * warmup) ** 0.5"},
            hint="solve for f: this is the inverse",
            gravity="idea",
        ),
        Mistake(
            "factor without warm-up",
            change={"peak * (D * warmup) ** 0.5": "peak * D**0.5"},
            hint="factor_for: the warm-up counts too",
            gravity="idea",
        ),
        Right(
            "two cases",
            code="""
def noam(step, D, warmup, factor=1.0):
    peak = factor / math.sqrt(D * warmup)
    return peak * step / warmup if step < warmup else peak * math.sqrt(warmup / step)


def factor_for(peak, D, warmup):
    return peak / noam(warmup, D, warmup)
""",
        ),
        Right(
            "tensors",
            code="""
def noam(step, D, warmup, factor=1.0):
    s = torch.tensor(step, dtype=torch.float64)
    return factor / D**0.5 * torch.minimum(s**-0.5, s / warmup**1.5)


def factor_for(peak, D, warmup):
    return math.exp(math.log(peak) + (math.log(D) + math.log(warmup)) / 2)
""",
        ),
    ],
    "greedy": [
        Mistake("BEGIN kept", change={"[row[1:] for row": "[row for row"}, hint="BEGIN is part of the result", gravity="idea"),
        Mistake(
            "END kept", change={"row[: row.index(END)]": "row[: row.index(END) + 1]"}, hint="END is part of the result", gravity="idea"
        ),
        Mistake(
            "the same prefix again",
            change={"step(prefixes)": "step(prefixes[:, :1])"},
            hint="the same token comes again and again",
            gravity="idea",
        ),
        Mistake(
            "stops with the first",
            change={"ended.all()": "ended.any()"},
            hint="everything stops when the first sentence has ended",
            gravity="part",
        ),
        Mistake(
            "never stops early",
            change={"        if ended.all():\n            break\n": ""},
            hint="stop as soon as all sentences have ended",
            gravity="part",
        ),
        Mistake("one token too many", change={"range(limit)": "range(limit + 1)"}, hint="after `limit` tokens stop", gravity="part"),
        Mistake(
            "END removed, the rest kept",
            change={
                "row[: row.index(END)] if END in row else row for row in rows": "[token for token in row if token != END] for row in rows"
            },
            hint="each takes its own tokens and ends at its own END",
            gravity="part",
        ),
        Mistake("least likely", change={"argmax": "argmin"}, hint="the most likely tokens are 4, 5, 6, END", gravity="idea"),
        Mistake(
            "one token for all rows",
            change={"argmax(dim=-1)": "argmax(dim=-1)[:1].expand(B)"},
            hint="all sentences take the tokens of the first: each row has its own",
            gravity="part",
        ),
        Right(
            "lists",
            code="""
def greedy(step, B, limit):
    rows, done = [[BEGIN] for _ in range(B)], [False] * B
    while len(rows[0]) <= limit and not all(done):
        scores = step(torch.tensor(rows)).tolist()
        for b in range(B):
            best = max(range(len(scores[b])), key=lambda v: scores[b][v])
            done[b] = done[b] or best == END
            rows[b].append(END if done[b] else best)
    return [[token for token in row[1:] if token != END] for row in rows]
""",
        ),
        Right(
            "topk and a mask",
            change={"step(prefixes).argmax(dim=-1)  # (B,)": "step(prefixes).topk(1, dim=-1).indices[:, 0].masked_fill(ended, END)"},
        ),
    ],
    "beam": [
        Mistake(
            "wider with every finished one",
            change={"topk(min(width, candidates": "topk(min(width + len(finished), candidates"},
            hint="more than `width` beginnings are kept",
            gravity="part",
        ),
        Mistake("not normalised", change={"total / length**alpha": "total"}, hint="the score is not divided by n^α", gravity="part"),
        Mistake("BEGIN counted", change={"length**alpha": "(length + 1) ** alpha"}, hint="BEGIN is counted in n", gravity="part"),
        Mistake("END not counted", change={"length**alpha": "max(1, length - 1) ** alpha"}, hint="END is not counted in n", gravity="part"),
        Mistake(
            "narrower with every end",
            change={"topk(min(width, candidates.numel()))": "topk(min(width - len(finished), candidates.numel()))"},
            hint="the beam gets narrower with every finished sequence",
            gravity="part",
        ),
        Mistake(
            "best total",
            change={
                "(total / length**alpha, row)": "(total, total / length**alpha, row)",
                "score, row = max(finished)": "_, score, row = max(finished)",
            },
            hint="the finished sequence with the highest *total* comes back",
            gravity="part",
        ),
        Mistake(
            "greedy",
            change={"topk(min(width, candidates.numel()))": "topk(1)"},
            hint="the result is that of a beam of width 1",
            gravity="idea",
        ),
        Mistake(
            "END kept",
            change={"[token for token in row[1:] if token != END]": "row[1:]"},
            hint="END is part of the result: leave it out",
            gravity="idea",
        ),
        Mistake(
            "the unfinished are lost",
            change={" | (length == limit)": "", "score, row = max(finished)": "score, row = max(finished, default=(0.0, [BEGIN]))"},
            hint="what is still live at the limit is lost when another sequence has finished",
            gravity="part",
        ),
        Mistake(
            "goes on after END",
            change={"live, totals = live[~done], totals[~done]": "pass"},
            hint="what has ended leaves the beam",
            gravity="part",
        ),
        Mistake("worst", change={"max(finished)": "min(finished)"}, hint="the *worst* of the finished ones comes back", gravity="idea"),
        Mistake(
            "rows mixed up", change={"places // V": "places % len(live)"}, hint="a beam of width 2 keeps the beginning 4", gravity="idea"
        ),
        Mistake(
            "totals not added",
            change={"totals[:, None] + step(live)": "step(live)"},
            hint="the totals are not added up",
            gravity="idea",
        ),
        Mistake(
            "stops at the first END",
            change={"        if not len(live):": "        if done.any():"},
            hint="the search stops at the first END",
            gravity="part",
        ),
        Mistake(
            "finished ones take no place",
            code="""
def beam_search(step, width, limit, alpha=1.0):
    beams, ended = [([BEGIN], 0.0)], []
    for length in range(1, limit + 1):
        scores = step(torch.tensor([row for row, _ in beams])).tolist()
        grown = [([*row, v], total + s) for (row, total), part in zip(beams, scores) for v, s in enumerate(part)]
        grown.sort(key=lambda item: -item[1])
        ended += [item for item in grown[:width] if item[0][-1] == END]
        beams = [item for item in grown if item[0][-1] != END][:width]
    ended += beams
    row, total = max(ended, key=lambda item: item[1] / (len(item[0]) - 1) ** alpha)
    return [token for token in row[1:] if token != END], total / (len(row) - 1) ** alpha
""",
            hint="this is the result of removing finished sequences before choosing",
            gravity="part",
        ),
        Right(
            "lists",
            code="""
def beam_search(step, width, limit, alpha=1.0):
    beams, ended = [([BEGIN], 0.0)], []
    while beams and len(beams[0][0]) <= limit:
        scores = step(torch.tensor([row for row, _ in beams])).tolist()
        grown = [([*row, v], total + s) for (row, total), part in zip(beams, scores) for v, s in enumerate(part)]
        grown = sorted(grown, key=lambda item: item[1], reverse=True)[:width]
        ended += [item for item in grown if item[0][-1] == END]
        beams = [item for item in grown if item[0][-1] != END]
    best, score = None, -math.inf
    for row, total in ended + beams:
        if total / (len(row) - 1) ** alpha > score:
            best, score = row, total / (len(row) - 1) ** alpha
    return [token for token in best if token not in (BEGIN, END)], score
""",
        ),
        Right(
            "one beginning at a time",
            code="""
def beam_search(step, width, limit, alpha=1.0):
    live, ended = [(0.0, [BEGIN])], []
    for n in range(1, limit + 1):
        grown = []
        for total, row in live:
            grown += [(total + float(s), [*row, v]) for v, s in enumerate(step(torch.tensor([row]))[0])]
        grown = sorted(grown, reverse=True)[:width]
        ended += [(total / n**alpha, row[1:-1]) for total, row in grown if row[-1] == END]
        live = [item for item in grown if item[1][-1] != END]
        if not live:
            break
    ended += [(total / limit**alpha, row[1:]) for total, row in live]
    score, tokens = max(ended)
    return tokens, score
""",
        ),
    ],
    "matches": [
        Mistake(
            "not clipped",
            change={"(ours & theirs).total()": "sum(count for gram, count in ours.items() if gram in theirs)"},
            hint="the matches are not clipped",
            gravity="idea",
        ),
        Mistake(
            "once each", change={"(ours & theirs).total()": "len(ours & theirs)"}, hint="every n-gram counts once at most", gravity="idea"
        ),
        Mistake("different n-grams", change={", ours.total()": ", len(ours)"}, hint="the number of *different* n-grams", gravity="idea"),
        Mistake(
            "total of the reference",
            change={", ours.total()": ", theirs.total()"},
            hint="the total is taken from the reference",
            gravity="idea",
        ),
        Mistake(
            "share",
            change={"(ours & theirs).total(), ours.total()": "(ours & theirs).total() / max(1, ours.total())"},
            hint="return the two counts",
            gravity="idea",
        ),
        Mistake(
            "last one left out",
            change={"len(words) - n + 1": "len(words) - n"},
            hint="the last n-gram is left out: there are len − n + 1 of them",
            gravity="idea",
        ),
        Mistake(
            "last pair left out",
            change={"len(words) - n + 1": "len(words) - n + (n == 1)"},
            hint="the last n-gram is left out: there are",
            gravity="idea",
        ),
        Mistake(
            "words only",
            change={"words[i : i + n]": "words[i : i + 1]", "len(words) - n + 1": "len(words)"},
            hint="words are counted, not sequences",
            gravity="idea",
        ),
        Mistake(
            "no overlap",
            change={"range(len(words) - n + 1)": "range(0, len(words) - n + 1, n)"},
            hint="the n-grams do not overlap in your count",
            gravity="idea",
        ),
        Mistake(
            "joined letters", change={"tuple(words[i : i + n])": '"".join(words[i : i + n])'}, hint="do not join the words", gravity="edge"
        ),
        Right(
            "striking out",
            code="""
def ngram_matches(hypothesis, reference, n):
    left = [tuple(reference[i : i + n]) for i in range(len(reference) - n + 1)]
    matches = total = 0
    for gram in zip(*(hypothesis[i:] for i in range(n))):
        total += 1
        if gram in left:
            left.remove(gram)
            matches += 1
    return matches, total
""",
        ),
        Right(
            "minimum of counts",
            code="""
def ngram_matches(hypothesis, reference, n):
    grams = lambda words: [" ".join(words[i : i + n]) for i in range(max(0, len(words) - n + 1))]
    ours, theirs = grams(hypothesis), grams(reference)
    return sum(min(ours.count(gram), theirs.count(gram)) for gram in set(ours)), len(ours)
""",
        ),
    ],
    "bleu": [
        Mistake("0 to 1", change={"100 * math.exp": "math.exp"}, hint="the scale is 0 to 100", gravity="idea"),
        Mistake("no brevity penalty", change={"min(0.0, 1 - r / c)": "0.0"}, hint="the brevity penalty is missing", gravity="part"),
        Mistake(
            "penalty c/r",
            change={"min(0.0, 1 - r / c)": "math.log(min(1.0, c / r))"},
            hint="the brevity penalty is e^(1 − r/c), not c/r",
            gravity="part",
        ),
        Mistake("c and r exchanged", change={"min(0.0, 1 - r / c)": "(1 - c / r)"}, hint="has c and r swapped", gravity="part"),
        Mistake(
            "too long is penalised",
            change={"min(0.0, 1 - r / c)": "1 - max(r / c, c / r)"},
            hint="a translation that is too long is penalised",
            gravity="part",
        ),
        Mistake("no fourth root", change={"/ total) / 4": "/ total)"}, hint="the fourth root is missing", gravity="idea"),
        Mistake(
            "orders 1 to 3",
            change={"(1, 2, 3, 4)": "(1, 2, 3)", "/ total) / 4": "/ total) / 3"},
            hint="the orders are 1 to 4, not 1 to 3",
            gravity="idea",
        ),
        Mistake(
            "no smoothing",
            change={"        if matches == 0:\n            halves /= 2\n": "        if matches == 0:\n            return 0.0\n"},
            hint="a missing order makes the whole score 0",
            gravity="part",
        ),
        Mistake(
            "the 2 is missing", change={"            halves /= 2\n": "            halves /= 1\n"}, hint="the 2 is missing", gravity="part"
        ),
        Mistake(
            "every order 1/2",
            change={"            halves /= 2\n": "            halves = 0.5\n"},
            hint="every order without a match gets 1/(2 t)",
            gravity="part",
        ),
        Mistake(
            "cut at blanks",
            change={"tokenize_13a(ours), tokenize_13a(theirs)": "ours.split(), theirs.split()"},
            hint="the sentences are split at spaces",
            gravity="part",
        ),
        Mistake(
            "mean of sentences",
            code="""
def bleu(hypotheses, references):
    def one(ours, theirs):
        a, b = tokenize_13a(ours), tokenize_13a(theirs)
        logs, halves = 0.0, 1.0
        for n in (1, 2, 3, 4):
            m, t = ngram_matches(a, b, n)
            if t == 0 or (n == 1 and m == 0):
                return 0.0
            halves = halves / 2 if m == 0 else halves
            logs += math.log((m or halves) / t) / 4
        return 100 * math.exp(min(0.0, 1 - len(b) / len(a)) + logs)

    return sum(map(one, hypotheses, references)) / len(hypotheses)
""",
            hint="this is the mean of the sentences' scores",
            gravity="idea",
        ),
        Mistake(
            "no zero rule",
            change={"        if total == 0 or (n == 1 and matches == 0):\n            return 0.0\n": ""},
            hint="an empty or very short translation",
            gravity="edge",
        ),
        Mistake(
            "sacreBLEU called",
            code="def bleu(hypotheses, references):\n    return sacrebleu.corpus_bleu(hypotheses, [references]).score\n",
            hint="do not call sacreBLEU",
            gravity="idea",
        ),
        Mistake(
            "arithmetic mean",
            code="""
def bleu(hypotheses, references):
    cut = [(tokenize_13a(a), tokenize_13a(b)) for a, b in zip(hypotheses, references)]
    c, r = sum(len(a) for a, _ in cut), sum(len(b) for _, b in cut)
    share = 0.0
    for n in (1, 2, 3, 4):
        counts = [ngram_matches(a, b, n) for a, b in cut]
        share += sum(m for m, _ in counts) / max(1, sum(t for _, t in counts)) / 4
    return 100 * math.exp(min(0.0, 1 - r / max(1, c))) * share
""",
            hint="the precisions are averaged",
            gravity="idea",
        ),
        Right(
            "arrays",
            code="""
import numpy as np


def bleu(hypotheses, references):
    cut = [(tokenize_13a(a), tokenize_13a(b)) for a, b in zip(hypotheses, references)]
    counts = np.array([[ngram_matches(a, b, n) for n in range(1, 5)] for a, b in cut]).sum(0)
    m, t = counts[:, 0], counts[:, 1]
    c, r = sum(len(a) for a, _ in cut), sum(len(b) for _, b in cut)
    if m[0] == 0 or t.min() == 0:
        return 0.0
    p = np.where(m > 0, m, 0.5 ** np.cumsum(m == 0)) / t
    return float(100 * (1.0 if c >= r else np.exp(1 - r / c)) * np.prod(p) ** 0.25)
""",
        ),
        Right(
            "one pass over sentences",
            code="""
def bleu(hypotheses, references):
    m, t, c, r = [0] * 4, [0] * 4, 0, 0
    for ours, theirs in zip(hypotheses, references):
        a, b = tokenize_13a(ours), tokenize_13a(theirs)
        c, r = c + len(a), r + len(b)
        for n in range(4):
            x, y = ngram_matches(a, b, n + 1)
            m[n], t[n] = m[n] + x, t[n] + y
    if not m[0] or not all(t):
        return 0.0
    score, missing = 100.0, 0
    for x, y in zip(m, t):
        missing += x == 0
        score *= ((x if x else 2.0**-missing) / y) ** 0.25
    return score * (math.exp(1 - r / c) if c < r else 1)
""",
        ),
    ],
    "parameters": [
        Mistake(
            "head counted",
            change={"(source_size + target_size) * D": "(source_size + 2 * target_size) * D"},
            hint="the head is counted too",
            gravity="part",
        ),
        Mistake("no final norms", change={" + 2 * norm\n    ### END": "\n    ### END"}, hint="the final norms are missing", gravity="part"),
        Mistake(
            "one final norm",
            change={" + 2 * norm\n    ### END": " + norm\n    ### END"},
            hint="2D numbers are missing: encoder and decoder each end with a LayerNorm",
            gravity="part",
        ),
        Mistake(
            "no biases",
            change={"4 * (D * D + D), 8 * D * D + 5 * D": "4 * D * D, 8 * D * D"},
            hint="the biases are missing",
            gravity="idea",
        ),
        Mistake(
            "no cross-attention",
            change={"2 * attention + feed_forward": "attention + feed_forward"},
            hint="cross-attention is missing: a decoder block has two",
            gravity="idea",
        ),
        Mistake(
            "two norms",
            change={"feed_forward + 3 * norm": "feed_forward + 2 * norm"},
            hint="a decoder block has three norms",
            gravity="idea",
        ),
        Mistake(
            "L in all",
            change={"L * (encoder_block + decoder_block)": "L * (encoder_block + decoder_block) // 2"},
            hint="there are L blocks on each side, not L in all",
            gravity="idea",
        ),
        Mistake(
            "hidden width D",
            change={"8 * D * D + 5 * D": "2 * D * D + 5 * D"},
            hint="feed-forward goes through 4D hidden numbers",
            gravity="idea",
        ),
        Right(
            "one formula",
            code="def parameter_count(source_size, target_size, D, L):\n    return D * (source_size + target_size + L * (28 * D + 32) + 4)\n",
        ),
        Right(
            "counted",
            code="""
def parameter_count(source_size, target_size, D, L):
    if not L or D * L > 64:
        return D * (source_size + target_size + L * (28 * D + 32) + 4)
    model = Translator(max(1, source_size), max(1, target_size), D, 1, L)
    extra = (source_size == 0) + (target_size == 0)
    return sum(p.numel() for p in model.parameters()) - extra * D
""",
        ),
    ],
    "table": [
        Mistake(
            "a head width with a decimal point",
            change={'row["width"] // row["heads"]': 'row["width"] / row["heads"]'},
            hint="head_width is a whole number",
            gravity="edge",
        ),
        Mistake("no base row", change={"[{}, *changes]": "changes"}, hint="the base has no row", gravity="idea"),
        Mistake(
            "changes pile up",
            change={"        row = {**base, **change}": "        row = base = {**base, **change}"},
            hint="a change is carried over into the next row: every row starts from the base",
            gravity="idea",
        ),
        Mistake(
            "carried over",
            change={
                "    rows = []\n": "    rows, state = [], dict(base)\n",
                "row = {**base, **change}": "row = {**state, **change}\n        state = dict(row)",
            },
            hint="a change is carried over into the next row",
            gravity="idea",
        ),
        Mistake("base has no name", change={' or "base"': ""}, hint="the base is called base", gravity="part"),
        Mistake(
            "parameters of the base",
            change={NEXT: NEXT.replace('row["width"], row["layers"]', 'base["width"], base["layers"]')},
            hint="the number of parameters is the base's",
            gravity="part",
        ),
        Mistake(
            "derived widths of the base",
            change={'row["width"] // row["heads"], 4 * row["width"]': 'base["width"] // base["heads"], 4 * base["width"]'},
            hint="head_width and feed_forward are those of the base",
            gravity="part",
        ),
        Mistake(
            "no check of heads",
            change={'if row["width"] % row["heads"]:': "if False:"},
            hint="cannot be cut into 6 equal heads",
            gravity="part",
        ),
        Mistake(
            "no check of names",
            change={"if key not in base:": "if False:", "{base[key]} →": "{base.get(key)} →"},
            hint="`witdh` is not a setting",
            gravity="part",
        ),
        Mistake(
            "base changed",
            change={"        row = {**base, **change}": "        base.update(change)\n        row = dict(base)"},
            hint="a change is carried over into the next row: every row starts from the base",
            gravity="idea",
        ),
        Mistake(
            "heads of the base checked",
            change={'if row["width"] % row["heads"]:': 'if base["width"] % row["heads"]:'},
            hint="two changes that only work together must be checked together",
            gravity="edge",
        ),
        Right(
            "copies",
            code="""
def settings_table(base, changes, source_size, target_size):
    def made(change):
        unknown = set(change) - set(base)
        if unknown:
            raise KeyError(str(unknown))
        row = dict(base)
        row.update(change)
        head_width, rest = divmod(row["width"], row["heads"])
        if rest:
            raise ValueError("heads must divide the width")
        parts = [str(key) + " " + str(base[key]) + " → " + str(change[key]) for key in change]
        return {
            "name": ", ".join(parts) if parts else "base",
            "parameters": parameter_count(source_size, target_size, row["width"], row["layers"]),
            "feed_forward": row["width"] * 4,
            "head_width": head_width,
            **row,
        }

    return [made({})] + [made(change) for change in changes]
""",
        ),
        Right("union of dictionaries", change={"{**base, **change}": "base | change"}),
    ],
    "proposals": [
        Mistake(
            "two only",
            change={
                """        {
            "change": {"dropout": 0.35},
            "why": "every sentence is new to the model, so there is little to overfit in a few passes and noise only slows it down",
            "loss": "higher",
            "bleu": "lower",
        },
""": ""
            },
            hint="propose three runs",
            gravity="idea",
        ),
        Mistake(
            "heads do not divide",
            change={'"change": {"dropout": 0.35}': '"change": {"heads": 6}'},
            hint="these settings cannot be trained",
            gravity="part",
        ),
        Mistake(
            "fits this base only",
            change={'"change": {"dropout": 0.35}': '"change": {"width": 60}'},
            hint="with a different base (width 256, 8 heads) a proposal cannot be trained",
            gravity="part",
        ),
        Mistake(
            "unknown setting",
            change={'"change": {"dropout": 0.35}': '"change": {"temperature": 2}'},
            hint="a change names settings of BASE",
            gravity="idea",
        ),
        Mistake(
            "changes nothing",
            change={'"change": {"dropout": 0.35}': '"change": {"dropout": base["dropout"]}'},
            hint="the change must differ from the base",
            gravity="idea",
        ),
        Mistake(
            "twice the same",
            change={'"change": {"dropout": 0.35}': '"change": {"width": 2.0 * base["width"]}'},
            hint="two of the three changes are the same",
            gravity="idea",
        ),
        Mistake(
            "no reason",
            change={
                "every sentence is new to the model, so there is little to overfit in a few passes and noise only slows it down": "dropout is bad"
            },
            hint="say why in at least ten words",
            gravity="part",
        ),
        Mistake("no prediction", change={'            "loss": "higher",\n': ""}, hint="predict `loss` and `bleu`", gravity="part"),
        Mistake("another word", change={'"loss": "higher"': '"loss": "worse"'}, hint="each as `lower`, `higher` or `same`", gravity="part"),
        Mistake(
            "dropout of one",
            change={'"change": {"dropout": 0.35}': '"change": {"dropout": 1.0}'},
            hint="these settings cannot be trained",
            gravity="part",
        ),
        Right(
            "other changes",
            change={
                '{"dropout": 0.35}': '{"heads": 1}',
                '{"epochs": 2 * base["epochs"]}': '{"layers": base["layers"] + 1, "dropout": 0.0}',
            },
        ),
        Right(
            "by a loop",
            code="""
def proposals(base):
    why = "a longer reason than ten words is needed here, so here it is at last"
    changes = [{"width": 2 * base["width"], "heads": 2 * base["heads"]}, {"layers": 1}, {"dropout": 0.3}]
    return [{"change": change, "why": why, "loss": "same", "bleu": "same"} for change in changes]
""",
        ),
    ],
    "contradictions": [
        Mistake(
            "those that agree",
            change={"setting, missing) != value": "setting, missing) == value"},
            hint="these are the claims that *agree*",
            gravity="idea",
        ),
        Mistake("counted from 1", change={"enumerate(claims)": "enumerate(claims, 1)"}, hint="indices are counted from 0", gravity="idea"),
        Mistake(
            "the claims themselves",
            change={"[i for i, (run, setting, value)": "[(run, setting, value) for i, (run, setting, value)"},
            hint="the claims themselves come back",
            gravity="idea",
        ),
        Mistake(
            "only the first",
            change={"return places, names": "return places[:1], names"},
            hint="only the first contradiction is found",
            gravity="idea",
        ),
        Mistake(
            "heads only",
            change={' or row["feed_forward"] != 4 * row["width"]': ""},
            hint="the feed-forward width must be four times",
            gravity="part",
        ),
        Mistake(
            "feed-forward only",
            change={'row["width"] % row["heads"] or ': ""},
            hint="the heads must divide the width: check that, too",
            gravity="part",
        ),
        Mistake(
            "unknown passed over",
            change={
                "runs.get(run, {}).get(setting, missing) != value": "run in runs and setting in runs[run] and runs[run][setting] != value"
            },
            hint="unknown runs and settings are ignored",
            gravity="part",
        ),
        Mistake(
            "any row will do",
            change={"runs.get(run, {}).get(setting, missing) != value": "value not in [row.get(setting, missing) for row in table]"},
            hint="a value counts as right if any row has it",
            gravity="idea",
        ),
        Mistake(
            "None for missing",
            change={"missing = object()": "missing = None"},
            hint="a setting that is not a column contradicts the claim, even if the claimed value is None",
            gravity="edge",
        ),
        Mistake(
            "unknown raises",
            change={"runs.get(run, {}).get(setting, missing)": "runs[run][setting]"},
            hint="your code raised KeyError",
            gravity="part",
        ),
        Right(
            "loops",
            code="""
def contradictions(table, claims):
    places, names = [], []
    for i, (run, setting, value) in enumerate(claims):
        good = any(row["run"] == run and setting in row and row[setting] == value for row in table)
        if not good:
            places.append(i)
    for row in table:
        if row["feed_forward"] != row["width"] * 4:
            names.append(row["run"])
        elif row["width"] // row["heads"] * row["heads"] != row["width"]:
            names.append(row["run"])
    return places, names
""",
        ),
        Right(
            "sets of facts",
            code="""
def contradictions(table, claims):
    facts = {(row["run"], key, value) for row in table for key, value in row.items()}
    return tuple(i for i, claim in enumerate(claims) if tuple(claim) not in facts), tuple(
        row["run"] for row in table if divmod(row["width"], row["heads"])[1] != 0 or row["feed_forward"] / row["width"] != 4
    )
""",
        ),
    ],
    "dropout": [
        Mistake(
            "the report's mistake",
            change={'"training_mean": 1.0': '"training_mean": survives'},
            hint="this is the report's mistake",
            gravity="idea",
        ),
        Mistake(
            "mean of the survivors",
            change={'"training_mean": 1.0': '"training_mean": 1 / survives'},
            hint="most of the time it is dropped somewhere",
            gravity="idea",
        ),
        Mistake(
            "evaluation scaled",
            change={'"evaluation": 1.0': '"evaluation": survives'},
            hint="nothing is scaled in evaluation",
            gravity="idea",
        ),
        Mistake(
            "dropped somewhere",
            change={'"never_dropped": survives': '"never_dropped": 1 - survives'},
            hint="the probability of being dropped somewhere",
            gravity="idea",
        ),
        Mistake("added up", change={"(1 - p) ** layers": "1 - p * layers"}, hint="the layers do not add up, they multiply", gravity="idea"),
        Mistake("second moment", change={"1 / survives - 1": "1 / survives"}, hint="this is E[y²]", gravity="part"),
        Mistake(
            "variances added",
            change={"1 / survives - 1": "layers * p / (1 - p)"},
            hint="the variances of the layers do not add up",
            gravity="part",
        ),
        Mistake(
            "variance of the coin",
            change={"1 / survives - 1": "survives * (1 - survives)"},
            hint="the variance of the 0–1 variable",
            gravity="part",
        ),
        Mistake(
            "deviation", change={"1 / survives - 1": "(1 / survives - 1) ** 0.5"}, hint="this is the standard deviation", gravity="part"
        ),
        Right(
            "layer by layer",
            code="""
def dropout_facts(p, layers):
    mean, second, never = 1.0, 1.0, 1.0
    for _ in range(layers):
        mean *= (1 - p) / (1 - p)
        second *= (1 - p) / (1 - p) ** 2
        never *= 1 - p
    return {"training_mean": mean, "evaluation": 1, "training_variance": second - mean**2, "never_dropped": never}
""",
        ),
        Right(
            "from the two outcomes",
            code="""
def dropout_facts(p, layers):
    chance = math.exp(layers * math.log1p(-p))
    value = 1 / chance
    mean = chance * value
    return dict(training_mean=mean, evaluation=1.0, training_variance=chance * (value - mean) ** 2 + (1 - chance) * mean**2, never_dropped=chance)
""",
        ),
    ],
    "bonus-bootstrap": [
        Mistake("the first wins", change={"(b > a)": "(a > b)"}, hint="the share in which the first is better", gravity="part"),
        Mistake("ties count", change={"(b > a)": "(b >= a)"}, hint="ties do not count as better", gravity="edge"),
        Mistake("a count", change={".double().mean())": ".double().sum())"}, hint="this is a count", gravity="part"),
        Mistake(
            "each sentence once",
            change={"stats[draw].sum(0)": "stats[draw.unique()].sum(0)"},
            hint="a sentence drawn twice counts twice",
            gravity="idea",
        ),
        Mistake(
            "the second gets another draw",
            change={
                "a, b = (torch.tensor([score(stats[draw].sum(0).tolist()) for draw in draws], dtype=torch.float64) for stats in (first, second))": "a = torch.tensor([score(first[draw].sum(0).tolist()) for draw in draws], dtype=torch.float64)\n    b = torch.tensor([score(second[draw].sum(0).tolist()) for draw in draws.flip(0)], dtype=torch.float64)"
            },
            hint="both systems get the same draw: here each has its own",
            gravity="idea",
        ),
        Mistake(
            "no smoothing",
            change={"halves = halves / 2 if m == 0 else halves": "halves = 1.0"},
            hint="an order without a match is not smoothed",
            gravity="part",
        ),
        Mistake(
            "no brevity penalty",
            change={"min(0.0, 1 - sums[9] / sums[8]) + logs": "logs"},
            hint="the brevity penalty is missing",
            gravity="part",
        ),
        Right(
            "matrix operations",
            code="""
def bootstrap(first, second, draws):
    counts = torch.stack([torch.bincount(draw, minlength=len(first)) for draw in draws]).double()

    def scores(stats):
        sums = counts @ stats.double()
        m, t, c, r = sums[:, :4], sums[:, 4:8], sums[:, 8], sums[:, 9]
        p = torch.where(m > 0, m, 0.5 ** (m == 0).cumsum(1).double()) / t
        value = 100 * torch.exp((1 - r / c).clamp(max=0) + p.log().mean(1))
        return torch.where((m[:, 0] == 0) | (t == 0).any(1), 0.0, value)

    a, b = scores(first), scores(second)
    return a, b, (b > a).double().mean().item()
""",
        ),
        Right(
            "numpy at the end",
            change={
                "float((b > a).double().mean())": "float(np.mean(b.numpy() > a.numpy()))",
                "    a, b = (": "    import numpy as np\n\n    a, b = (",
            },
        ),
    ],
}
