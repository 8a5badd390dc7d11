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
            says="END is missing in the labels: the decoder would never learn to stop",
            gravity="idea",
        ),
        Mistake(
            "END after the padding",
            change={
                "labels = translation.padded([[*row, END] for row in targets])": "labels = torch.cat([translation.padded(targets), torch.full((len(targets), 1), END)], 1)"
            },
            says="END is at the end of the row, after the padding: put it right after the last token",
            gravity="idea",
        ),
        Mistake(
            "inputs not shifted",
            change={"[[BEGIN, *row] for row in targets]": "[[*row, END] for row in targets]"},
            says="the inputs are not shifted: the decoder sees the word it must name",
            gravity="idea",
        ),
        Mistake(
            "no BEGIN",
            change={"[[BEGIN, *row] for row in targets]": "[[*row, PAD] for row in targets]"},
            says="BEGIN is missing in the inputs",
            gravity="idea",
        ),
        Mistake(
            "labels begin with BEGIN",
            change={"[[*row, END] for row in targets]": "[[BEGIN, *row] for row in targets]"},
            says="the labels begin with BEGIN: the decoder never has to predict that",
            gravity="idea",
        ),
        Mistake(
            "the two exchanged",
            change={"return inputs, labels": "return labels, inputs"},
            says="inputs and labels are exchanged: the first result is what the decoder is given, and it begins with BEGIN",
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
        Mistake(
            "labels filled up with END",
            change={
                "labels = translation.padded([[*row, END] for row in targets])": "longest = max(map(len, targets)) + 1\n    labels = torch.tensor([[*row, *[END] * (longest - len(row))] for row in targets])"
            },
            says="the labels are filled up with END: after the one END comes PAD, so that nothing is learned there",
            gravity="idea",
        ),
        Mistake(
            "inputs with END",
            change={
                "inputs = translation.padded([[BEGIN, *row] for row in targets])": "inputs = translation.padded([[BEGIN, *row, END] for row in targets])"
            },
            says="the inputs have END, too, and one column too many: the decoder is never given END",
            gravity="idea",
        ),
        Mistake(
            "both whole",
            change={
                "inputs = translation.padded([[BEGIN, *row] for row in targets])": "inputs = translation.padded([[BEGIN, *row, END] for row in targets])",
                "labels = translation.padded([[*row, END] for row in targets])": "labels = translation.padded([[BEGIN, *row, END] for row in targets])",
            },
            says="inputs and labels both are BEGIN, the tokens and END: inputs have no END, labels no BEGIN",
            gravity="idea",
        ),
        Mistake(
            "nothing ends",
            code="""
def teacher_forcing(targets):
    rows = translation.padded([[BEGIN, *row] for row in targets])
    return rows[:, :-1], rows[:, 1:]
""",
            says="the last token is never an input, and END is never a label: the rows to cut are BEGIN, the tokens *and END*",
            gravity="idea",
        ),
        Mistake(
            "cut without BEGIN",
            code="""
def teacher_forcing(targets):
    rows = translation.padded([[*row, END] for row in targets])
    return rows[:, :-1], rows[:, 1:]
""",
            says="BEGIN is missing: the first input must be BEGIN, and the first token is its label",
            gravity="idea",
        ),
        Mistake(
            "BEGIN at the end",
            change={"[[BEGIN, *row] for row in targets]": "[[*row, BEGIN] for row in targets]"},
            says="BEGIN stands behind the tokens in the inputs: it comes first",
            gravity="idea",
        ),
        Mistake(
            "filled up with −100",
            change={"return inputs, labels": "return inputs, labels.masked_fill(labels == PAD, -100)"},
            says="the labels are filled up with −100: fill up with PAD",
            gravity="idea",
        ),
        Mistake(
            "longest first",
            change={"inputs = translation": "targets = sorted(targets, key=len, reverse=True)\n    inputs = translation"},
            says="the targets come back in another order: row b belongs to target b",
            gravity="idea",
        ),
        Mistake(
            "rolled",
            change={"return inputs, labels": "return labels.roll(1, dims=1), labels"},
            says="the labels are rolled around, so the inputs begin with the labels' last column: they begin with BEGIN",
            gravity="idea",
        ),
        Mistake(
            "stacked",
            change={"return inputs, labels": "return torch.stack([inputs, labels], 1)"},
            says="one tensor comes back: return two, inputs and labels",
            gravity="idea",
        ),
        Mistake(
            "labels only",
            change={"return inputs, labels": "return labels"},
            says="one tensor comes back: return two, inputs and labels",
            gravity="idea",
        ),
        Mistake(
            "lists of lists",
            change={"return inputs, labels": "return inputs.tolist(), labels.tolist()"},
            says="lists come back: make int64 tensors of them",
            gravity="edge",
        ),
        Mistake(
            "int32",
            change={"return inputs, labels": "return inputs.int(), labels.int()"},
            hint="tokens are int64 tensors",
            gravity="edge",
        ),
        Mistake(
            "padded on the left",
            code="""
def teacher_forcing(targets):
    longest = max(map(len, targets)) + 1
    make = lambda rows: torch.tensor([[PAD] * (longest - len(row)) + row for row in rows])
    return make([[BEGIN, *row] for row in targets]), make([[*row, END] for row in targets])
""",
            says="the rows are filled up in front: PAD comes after END",
            gravity="idea",
        ),
        Mistake(
            "PAD is 1",
            change={
                "labels = translation": "labels = 1 * translation",
                "return inputs, labels": "return inputs, labels + (labels == PAD).long()",
            },
            says="the labels are filled up with BEGIN: fill up with PAD",
            gravity="idea",
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
        Right(
            "rolled, then BEGIN",
            change={"return inputs, labels": "inputs = labels.roll(1, dims=1)\n    inputs[:, 0] = BEGIN\n    return inputs, labels"},
        ),
    ],
    "masks": [
        Mistake(
            "polarity of padding",
            change={"(tokens != PAD)[": "(tokens == PAD)["},
            says="padding_mask: the polarity is wrong. True means *may look*",
            gravity="idea",
        ),
        Mistake(
            "too few axes",
            change={"[:, None, None, :]": "[:, None, :]"},
            says="padding_mask has three axes: it needs one for heads and one for queries, (B, 1, 1, S)",
            gravity="idea",
        ),
        Mistake(
            "not itself",
            change={".tril()": ".tril(-1)"},
            says="target_mask: a position may look at itself: it holds the word *before* the one it must name",
            gravity="idea",
        ),
        Mistake(
            "upper triangle",
            change={".tril()": ".triu()"},
            says="target_mask: the triangle points the wrong way: position 0 sees everything",
            gravity="idea",
        ),
        Mistake(
            "not causal",
            change={"causal & padding_mask(inputs)": "padding_mask(inputs).expand(-1, 1, T, T)"},
            says="target_mask: the future is not hidden: this mask is not causal",
            gravity="idea",
        ),
        Mistake(
            "padding seen",
            change={"causal & padding_mask(inputs)": "causal[None, None].expand(len(inputs), 1, T, T)"},
            says="target_mask: padding can be seen: combine both masks",
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
            says="padding_mask counts the tokens and hides what comes after so many: compare each token with PAD",
            gravity="edge",
        ),
        Mistake(
            "END hidden",
            change={"(tokens != PAD)[": "((tokens != PAD) & (tokens != END))["},
            says="padding_mask hides END, too: only PAD is hidden",
            gravity="idea",
        ),
        Mistake(
            "special tokens hidden",
            change={"(tokens != PAD)[": "(tokens > END)["},
            says="padding_mask hides BEGIN and END, too: only PAD is hidden",
            gravity="idea",
        ),
        Mistake(
            "BEGIN hidden",
            change={"(tokens != PAD)[": "(tokens > BEGIN)["},
            says="padding_mask hides BEGIN, too: only PAD is hidden",
            gravity="idea",
        ),
        Mistake(
            "padding hidden as queries",
            change={"[:, None, None, :]\n": "[:, None, :, None]\n"},
            says="padding_mask has the shape (B, 1, S, 1), which hides queries: keys are the last axis, (B, 1, 1, S)",
            gravity="idea",
        ),
        Mistake(
            "four axes in another order",
            change={"[:, None, None, :]\n": "[None, None]\n"},
            says="padding_mask has the batch on the third axis: the shape is (B, 1, 1, S)",
            gravity="idea",
        ),
        Mistake(
            "one step ahead",
            change={".tril()": ".tril(1)"},
            says="target_mask: position i may look at i + 1, which holds the word that it must name",
            gravity="idea",
        ),
        Mistake(
            "either of the two",
            change={"causal & padding_mask": "causal | padding_mask"},
            says="target_mask: the two masks are joined with `|`: a position is seen where both allow it, `&`",
            gravity="idea",
        ),
        Mistake(
            "inverted",
            change={"return causal & padding_mask(inputs)": "return ~(causal & padding_mask(inputs))"},
            says="target_mask: the polarity is wrong. True means *may look*",
            gravity="idea",
        ),
        Mistake(
            "causal inverted",
            change={"causal & padding": "~causal & padding"},
            says="target_mask: the polarity of the triangle is wrong. True means *may look*",
            gravity="idea",
        ),
        Mistake(
            "target mask of numbers",
            change={
                "dtype=torch.bool, device=inputs.device).tril()": "device=inputs.device).tril()",
                "causal & padding_mask(inputs)": "(causal * padding_mask(inputs)).long()",
            },
            hint="a mask is boolean",
            gravity="edge",
        ),
        Mistake(
            "rows of padding are empty",
            change={"causal & padding_mask(inputs)": "causal & padding_mask(inputs) & padding_mask(inputs).mT"},
            says="target_mask: rows of padding are empty, and softmax would be NaN there: hide padding as keys, not as queries",
            gravity="part",
        ),
        Mistake(
            "no batch",
            change={"causal & padding_mask(inputs)": "(causal & padding_mask(inputs))[0]"},
            says="target_mask: only the first sentence's mask comes back: the shape is (B, 1, T, T)",
            gravity="idea",
        ),
        Mistake(
            "no axis for heads",
            change={"causal & padding_mask(inputs)": "(causal & padding_mask(inputs))[:, 0]"},
            says="target_mask: the axis for heads is missing: the shape is (B, 1, T, T)",
            gravity="idea",
        ),
        Mistake(
            "to be added",
            change={
                "causal & padding_mask(inputs)": "torch.zeros(len(inputs), 1, T, T).masked_fill(~(causal & padding_mask(inputs)), -torch.inf)"
            },
            says="target_mask: this is a mask to be added, 0 and −∞: return booleans",
            gravity="idea",
        ),
        Mistake(
            "padding of the first sentence",
            change={"causal & padding_mask(inputs)": "(causal & padding_mask(inputs)[:1]).expand(len(inputs), 1, T, T)"},
            says="target_mask: the first sentence's padding is hidden in all sentences: each has its own",
            gravity="part",
        ),
        Mistake(
            "BEGIN not seen",
            change={"causal & padding_mask(inputs)": "causal & padding_mask(inputs) & (inputs != BEGIN)[:, None, None]"},
            says="target_mask: BEGIN is hidden, too: only PAD and what comes later are hidden",
            gravity="idea",
        ),
        Mistake(
            "BEGIN is not seen and PAD is",
            change={"causal & padding_mask(inputs)": "causal & (inputs != BEGIN)[:, None, None]"},
            says="target_mask: BEGIN is hidden in place of PAD",
            gravity="idea",
        ),
        Mistake(
            "two tokens back",
            change={".tril()": ".tril().triu(-1)"},
            says="target_mask: only the position itself and the one before are seen: position i may look at every j ≤ i",
            gravity="idea",
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
        Mistake(
            "hidden by −100",
            change={"-torch.inf": "-100.0"},
            says="hidden scores become a number that is not low enough where visible scores are lower: use −∞",
            gravity="edge",
        ),
        Mistake("no scale", change={" / q.shape[-1] ** 0.5": ""}, says="weights: the scores are not divided by √(D/H)", gravity="idea"),
        Mistake(
            "scale by √D",
            change={"q.shape[-1] ** 0.5": "x.shape[-1] ** 0.5"},
            says="weights: the scores are divided by the root of the whole width D; each head has width D/H",
            gravity="idea",
        ),
        Mistake(
            "scale without a root",
            change={"q.shape[-1] ** 0.5": "q.shape[-1]"},
            says="weights: the scores are divided by D/H, not by its root",
            gravity="idea",
        ),
        Mistake(
            "softmax over the target",
            change={"softmax(dim=-1)": "softmax(dim=-2)"},
            says="weights: softmax runs over the target: every row must be a distribution over the source",
            gravity="idea",
        ),
        Mistake("polarity", change={"~mask": "mask"}, says="weights: the polarity is wrong. True means *may look*", gravity="part"),
        Mistake("mask ignored", change={"if mask is not None:": "if False:"}, says="weights: the mask is not used", gravity="part"),
        Mistake(
            "zeroed after softmax",
            change={
                "            scores = scores.masked_fill(~mask, -torch.inf)\n": "            return scores.softmax(dim=-1) * mask\n",
            },
            says="weights: the hidden weights are zeroed after softmax: the others no longer sum to one",
            gravity="part",
        ),
        Mistake(
            "hidden scores are 0",
            change={"-torch.inf": "0.0"},
            says="weights: hidden scores are set to 0: that is a score like any other. Use −∞",
            gravity="part",
        ),
        Mistake(
            "keys from x",
            change={"self.key(memory)": "self.key(x)", "self.value(memory)": "self.value(x)"},
            says="keys and values are made from x: cross-attention takes them from the memory",
            gravity="idea",
        ),
        Mistake(
            "roles exchanged",
            change={"self.query(x)), self.split(self.key(memory))": "self.query(memory)), self.split(self.key(x))"},
            says="the queries come from the memory and the keys from x: it is the other way round",
            gravity="idea",
        ),
        Mistake(
            "values not projected",
            change={"self.split(self.value(memory))": "self.split(memory)"},
            says="forward: the weights are applied to the memory itself: values go through the layer `value`",
            gravity="idea",
        ),
        Mistake(
            "keys mixed",
            change={"self.split(self.value(memory))": "self.split(self.key(memory))"},
            says="forward: the weights are applied to the keys: apply them to the values",
            gravity="idea",
        ),
        Mistake(
            "no output layer",
            change={"self.output(mixed.transpose(1, 2).flatten(2))": "mixed.transpose(1, 2).flatten(2)"},
            says="forward: the layer `output` is missing",
            gravity="idea",
        ),
        Mistake(
            "merged without transposing",
            change={"mixed.transpose(1, 2).flatten(2)": "mixed.reshape(x.shape)"},
            says="forward: heads and positions are mixed up: transpose back before you merge",
            gravity="idea",
        ),
        Mistake(
            "mask not handed on",
            change={"self.weights(x, memory, mask) @": "self.weights(x, memory) @"},
            says="forward: the mask is not used",
            gravity="part",
        ),
        Mistake(
            "detached",
            change={"self.split(self.key(memory))\n": "self.split(self.key(memory)).detach()\n"},
            hint="no gradient reaches the layers",
            gravity="part",
        ),
        Mistake(
            "scale by √H",
            change={"q.shape[-1] ** 0.5": "self.H ** 0.5"},
            says="weights: the scores are divided by the root of the number of heads; each head has width D/H",
            gravity="idea",
        ),
        Mistake(
            "scale by √S",
            change={"q.shape[-1] ** 0.5": "k.shape[-2] ** 0.5"},
            says="weights: the scores are divided by the root of the number of source words: divide by √(D/H)",
            gravity="idea",
        ),
        Mistake(
            "scale multiplied",
            change={" / q.shape[-1] ** 0.5": " * q.shape[-1] ** 0.5"},
            says="weights: the scores are multiplied by √(D/H): divide",
            gravity="idea",
        ),
        Mistake(
            "mask added",
            change={"scores.masked_fill(~mask, -torch.inf)": "scores + mask"},
            says="weights: the mask is added as 0 and 1: hidden scores must become −∞",
            gravity="part",
        ),
        Mistake(
            "mask multiplies weights of value",
            change={
                "self.weights(x, memory, mask) @ self.split(self.value(memory))": "self.weights(x, memory, mask) @ self.split(self.value(x))"
            },
            says="forward: the values are made from x: they come from the memory",
            gravity="idea",
        ),
        Mistake(
            "renormalised",
            change={
                "            scores = scores.masked_fill(~mask, -torch.inf)\n": "            w = scores.softmax(dim=-1) * mask\n            return w / w.sum(-1, keepdim=True)\n"
            },
            says="weights: masked after softmax and divided by the new sum, which is 0 / 0 where all visible scores are low: mask the scores with −∞",
            gravity="edge",
        ),
        Mistake(
            "hidden by −10000",
            change={"-torch.inf": "-1e4"},
            says="hidden scores become a number that is not low enough where visible scores are lower: use −∞",
            gravity="edge",
        ),
        Mistake(
            "layers exchanged",
            change={"self.query(x)), self.split(self.key(memory))": "self.key(x)), self.split(self.query(memory))"},
            says="weights: the layers `query` and `key` are exchanged: queries are query(x), keys are key(memory)",
            gravity="idea",
        ),
        Mistake(
            "merged in the wrong order",
            change={"mixed.transpose(1, 2).flatten(2)": "mixed.transpose(2, 3).reshape(x.shape)"},
            says="forward: heads and positions are mixed up: (B, H, T, D/H) becomes (B, T, H, D/H), then (B, T, D)",
            gravity="idea",
        ),
        Mistake(
            "heads averaged",
            change={"return scores.softmax(dim=-1)\n": "return scores.softmax(dim=-1).mean(1, keepdim=True)\n"},
            says="weights: the heads are averaged: each head has its own weights, (B, H, T, S)",
            gravity="idea",
        ),
        Mistake(
            "heads added up",
            change={"mixed.transpose(1, 2).flatten(2)": "mixed.sum(1).repeat(1, 1, self.H)"},
            says="forward: the heads are added up: put them side by side",
            gravity="idea",
        ),
        Mistake(
            "sigmoid",
            change={"scores.softmax(dim=-1)": "scores.sigmoid()"},
            says="weights: this is a sigmoid of each score: softmax makes a distribution over the source",
            gravity="idea",
        ),
        Mistake(
            "log of the weights",
            change={"softmax(dim=-1)": "log_softmax(dim=-1)"},
            says="weights: these are logarithms: return softmax, not log_softmax",
            gravity="idea",
        ),
        Mistake(
            "no softmax",
            change={"return scores.softmax(dim=-1)": "return scores"},
            says="weights: these are the scores: softmax over the source is missing",
            gravity="idea",
        ),
        Mistake(
            "mask of the first sentence",
            change={"~mask, -torch": "~mask[:1], -torch"},
            says="weights: the first sentence's mask is used for all sentences",
            gravity="part",
        ),
        Mistake(
            "residual",
            change={"return self.output(mixed": "return x + self.output(mixed"},
            says="forward: x is added to the result: the residual belongs to the decoder block",
            gravity="idea",
        ),
        Mistake(
            "detached weights",
            change={"        return scores.softmax(dim=-1)\n": "        return scores.softmax(dim=-1).detach()\n"},
            says="no gradient flows through the weights: queries and keys would not learn",
            gravity="part",
        ),
        Mistake(
            "detached memory",
            change={"self.split(self.value(memory))": "self.split(self.value(memory.detach()))"},
            says="no gradient flows from the values back to the memory: the encoder would not learn from them",
            gravity="part",
        ),
        Mistake(
            "forward without scale",
            change={
                "self.weights(x, memory, mask) @": "(lambda s: s.softmax(-1))(self.split(self.query(x)) @ self.split(self.key(memory)).mT if mask is None else (self.split(self.query(x)) @ self.split(self.key(memory)).mT).masked_fill(~mask, -torch.inf)) @"
            },
            says="forward: the scores are not divided by √(D/H): use `self.weights`",
            gravity="idea",
        ),
        Mistake(
            "heads not split",
            change={
                "q, k = self.split(self.query(x)), self.split(self.key(memory))": "q, k = self.query(x)[:, None].expand(-1, self.H, -1, -1), self.key(memory)[:, None].expand(-1, self.H, -1, -1)"
            },
            says="weights: queries and keys are not cut into heads: `self.split` does that",
            gravity="idea",
        ),
        Mistake(
            "output twice",
            change={
                "return self.output(mixed.transpose(1, 2).flatten(2))": "return self.output(self.output(mixed.transpose(1, 2).flatten(2)))"
            },
            says="forward: the layer `output` is applied twice",
            gravity="idea",
        ),
        Mistake(
            "the layer key for both",
            change={"self.query(x)), self.split(self.key(memory))": "self.key(x)), self.split(self.key(memory))"},
            says="weights: the queries go through the layer `key`: they have their own, `query`",
            gravity="idea",
        ),
        Mistake(
            "the layer query for both",
            change={"self.query(x)), self.split(self.key(memory))": "self.query(x)), self.split(self.query(memory))"},
            says="weights: the keys go through the layer `query`: they have their own, `key`",
            gravity="idea",
        ),
        Mistake(
            "output on the values",
            change={
                "self.split(self.value(memory))": "self.split(self.output(self.value(memory)))",
                "self.output(mixed.transpose(1, 2).flatten(2))": "mixed.transpose(1, 2).flatten(2)",
            },
            says="forward: the layer `output` is applied to the values: it comes last, after the heads are side by side",
            gravity="idea",
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
            says="the norms come after the residual sums (post-norm): here they come before the branches",
            gravity="idea",
        ),
        Mistake("self-attention not masked", change={"mask=mask": "mask=None"}, says="self-attention does not get `mask`", gravity="part"),
        Mistake(
            "source padding seen",
            change={"memory, memory_mask))": "memory, None))"},
            says="cross-attention does not get `memory_mask`",
            gravity="part",
        ),
        Mistake(
            "no cross-attention",
            change={"        x = x + self.drop(self.cross(self.norm_cross(x), memory, memory_mask))\n": ""},
            says="cross-attention is missing",
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
            says="cross-attention comes before self-attention",
            gravity="idea",
        ),
        Mistake(
            "no residual around cross",
            change={"x = x + self.drop(self.cross": "x = self.drop(self.cross"},
            says="the residual around cross-attention is missing",
            gravity="idea",
        ),
        Mistake(
            "no residual around feed-forward",
            change={"return x + self.drop": "return self.drop"},
            says="the residual around feed-forward is missing",
            gravity="idea",
        ),
        Mistake(
            "cross without its norm",
            change={"self.norm_cross(x), memory": "x, memory"},
            says="cross-attention gets x without its norm",
            gravity="idea",
        ),
        Mistake(
            "memory normalised",
            change={"self.norm_cross(x), memory": "self.norm_cross(x), self.norm_cross(memory)"},
            says="the memory is normalised again: the encoder has done that already",
            gravity="idea",
        ),
        Mistake(
            "the wrong norm",
            change={"self.norm_cross(x)": "self.norm1(x)"},
            says="cross-attention uses the norm of self-attention: it has its own, `norm_cross`",
            gravity="idea",
        ),
        Mistake(
            "no feed-forward",
            change={"return x + self.drop(self.feed_forward(self.norm2(x)))": "return x"},
            says="the feed-forward branch is missing",
            gravity="idea",
        ),
        Mistake(
            "no dropout",
            change={"self.drop(": "("},
            says="dropout does not act on what the branches give: `self.drop` is applied to each branch's result, before it is added to x",
            gravity="part",
        ),
        Mistake("in place", change={"x = x + self.drop(self.attention": "x += self.drop(self.attention"}, hint=IN_PLACE, gravity="edge"),
        Mistake(
            "feed-forward second",
            code="""
class DecoderBlock(nn.Module):
    def __init__(self, D, H, dropout=0.0):
        super().__init__()
        self.norm1, self.norm_cross, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.attention = models.Attention(D, H)
        self.cross = CrossAttention(D, H)
        self.feed_forward = models.FeedForward(models.Shape(1, width=D, heads=H))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, mask, memory_mask):
        x = x + self.drop(self.attention(self.norm1(x), mask=mask))
        x = x + self.drop(self.feed_forward(self.norm2(x)))
        return x + self.drop(self.cross(self.norm_cross(x), memory, memory_mask))
""",
            says="feed-forward comes before cross-attention: it is the last branch",
            gravity="idea",
        ),
        Mistake(
            "no self-attention",
            change={"        x = x + self.drop(self.attention(self.norm1(x), mask=mask))\n": ""},
            says="self-attention is missing",
            gravity="idea",
        ),
        Mistake(
            "no residual around self-attention",
            change={"x = x + self.drop(self.attention": "x = self.drop(self.attention"},
            says="the residual around self-attention is missing",
            gravity="idea",
        ),
        Mistake(
            "no residuals",
            change={
                "x = x + self.drop(self.attention": "x = self.drop(self.attention",
                "x = x + self.drop(self.cross": "x = self.drop(self.cross",
                "return x + self.drop": "return self.drop",
            },
            says="there are no residuals at all: each branch's result is added to x",
            gravity="idea",
        ),
        Mistake(
            "self-attention without its norm",
            change={"self.norm1(x)": "x"},
            says="self-attention gets x without its norm",
            gravity="idea",
        ),
        Mistake(
            "feed-forward without its norm",
            change={"self.norm2(x)": "x"},
            says="feed-forward gets x without its norm",
            gravity="idea",
        ),
        Mistake(
            "no norms",
            change={"self.norm1(x)": "x", "self.norm_cross(x)": "x", "self.norm2(x)": "x"},
            says="no branch has its norm",
            gravity="idea",
        ),
        Mistake(
            "norm 1 for feed-forward",
            change={"self.norm2(x)": "self.norm1(x)"},
            says="feed-forward uses the norm of self-attention: it has its own, `norm2`",
            gravity="idea",
        ),
        Mistake(
            "one norm for all",
            change={"self.norm2(x)": "self.norm1(x)", "self.norm_cross(x)": "self.norm1(x)"},
            says="all branches use one norm: each has its own",
            gravity="idea",
        ),
        Mistake(
            "norm 2 for cross",
            change={"self.norm_cross(x)": "self.norm2(x)"},
            says="cross-attention uses the norm of feed-forward: it has its own, `norm_cross`",
            gravity="idea",
        ),
        Mistake(
            "norm_cross for feed-forward",
            change={"self.norm2(x)": "self.norm_cross(x)"},
            says="feed-forward uses the norm of cross-attention: it has its own, `norm2`",
            gravity="idea",
        ),
        Mistake(
            "two norms exchanged",
            change={"self.norm_cross(x)": "self.norm_X(x)", "self.norm2(x)": "self.norm_cross(x)", "self.norm_X": "self.norm2"},
            says="`norm_cross` and `norm2` are exchanged",
            gravity="idea",
        ),
        Mistake(
            "norm twice",
            change={"self.norm2(x)": "self.norm2(self.norm2(x))"},
            says="norm2 is applied twice",
            gravity="idea",
        ),
        Mistake(
            "masks exchanged",
            change={"mask=mask": "mask=memory_mask", "memory, memory_mask": "memory, mask"},
            says="the masks are exchanged: `mask` is for self-attention, `memory_mask` for cross-attention",
            gravity="part",
        ),
        Mistake(
            "residual of the norm",
            code="""
class DecoderBlock(nn.Module):
    def __init__(self, D, H, dropout=0.0):
        super().__init__()
        self.norm1, self.norm_cross, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.attention = models.Attention(D, H)
        self.cross = CrossAttention(D, H)
        self.feed_forward = models.FeedForward(models.Shape(1, width=D, heads=H))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, mask, memory_mask):
        y = self.norm1(x)
        y = y + self.drop(self.attention(y, mask=mask))
        z = self.norm_cross(y)
        z = z + self.drop(self.cross(z, memory, memory_mask))
        u = self.norm2(z)
        return u + self.drop(self.feed_forward(u))
""",
            says="the branches are added to norm(x): add them to x itself",
            gravity="idea",
        ),
        Mistake(
            "parallel",
            code="""
class DecoderBlock(nn.Module):
    def __init__(self, D, H, dropout=0.0):
        super().__init__()
        self.norm1, self.norm_cross, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.attention = models.Attention(D, H)
        self.cross = CrossAttention(D, H)
        self.feed_forward = models.FeedForward(models.Shape(1, width=D, heads=H))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, mask, memory_mask):
        first = self.attention(self.norm1(x), mask=mask)
        second = self.cross(self.norm_cross(x), memory, memory_mask)
        return x + self.drop(first) + self.drop(second) + self.drop(self.feed_forward(self.norm2(x)))
""",
            says="the branches all start from the first x: each starts from the sum that the branch before it left",
            gravity="idea",
        ),
        Mistake(
            "cross from the first x",
            code="""
class DecoderBlock(nn.Module):
    def __init__(self, D, H, dropout=0.0):
        super().__init__()
        self.norm1, self.norm_cross, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.attention = models.Attention(D, H)
        self.cross = CrossAttention(D, H)
        self.feed_forward = models.FeedForward(models.Shape(1, width=D, heads=H))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, mask, memory_mask):
        y = x + self.drop(self.attention(self.norm1(x), mask=mask))
        y = y + self.drop(self.cross(self.norm_cross(x), memory, memory_mask))
        return y + self.drop(self.feed_forward(self.norm2(y)))
""",
            says="cross-attention gets the first x: it starts from the sum after self-attention",
            gravity="idea",
        ),
        Mistake(
            "feed-forward from the first x",
            code="""
class DecoderBlock(nn.Module):
    def __init__(self, D, H, dropout=0.0):
        super().__init__()
        self.norm1, self.norm_cross, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.attention = models.Attention(D, H)
        self.cross = CrossAttention(D, H)
        self.feed_forward = models.FeedForward(models.Shape(1, width=D, heads=H))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, mask, memory_mask):
        y = x + self.drop(self.attention(self.norm1(x), mask=mask))
        y = y + self.drop(self.cross(self.norm_cross(y), memory, memory_mask))
        return y + self.drop(self.feed_forward(self.norm2(x)))
""",
            says="feed-forward gets the first x: it starts from the sum after cross-attention",
            gravity="idea",
        ),
        Mistake(
            "first residual again",
            code="""
class DecoderBlock(nn.Module):
    def __init__(self, D, H, dropout=0.0):
        super().__init__()
        self.norm1, self.norm_cross, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.attention = models.Attention(D, H)
        self.cross = CrossAttention(D, H)
        self.feed_forward = models.FeedForward(models.Shape(1, width=D, heads=H))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, mask, memory_mask):
        y = x + self.drop(self.attention(self.norm1(x), mask=mask))
        z = x + self.drop(self.cross(self.norm_cross(y), memory, memory_mask))
        return z + self.drop(self.feed_forward(self.norm2(z)))
""",
            says="the residual around cross-attention is the first x, so that self-attention's sum is lost: add to what the branch before left",
            gravity="idea",
        ),
        Mistake(
            "memory asks",
            change={"self.cross(self.norm_cross(x), memory, memory_mask)": "self.cross(memory, self.norm_cross(x), memory_mask)"},
            says="cross-attention gets x and the memory in the wrong order: the queries, x, come first",
            gravity="idea",
        ),
        Mistake(
            "dropout on the sum",
            change={
                "x = x + self.drop(self.attention(self.norm1(x), mask=mask))": "x = self.drop(x + self.attention(self.norm1(x), mask=mask))"
            },
            says="dropout is applied to the sum: it acts on the branch alone, before x is added",
            gravity="part",
        ),
        Mistake(
            "dropout on every sum",
            change={
                "x = x + self.drop(self.attention(self.norm1(x), mask=mask))": "x = self.drop(x + self.attention(self.norm1(x), mask=mask))",
                "x = x + self.drop(self.cross(self.norm_cross(x), memory, memory_mask))": "x = self.drop(x + self.cross(self.norm_cross(x), memory, memory_mask))",
                "return x + self.drop(self.feed_forward(self.norm2(x)))": "return self.drop(x + self.feed_forward(self.norm2(x)))",
            },
            says="dropout is applied to the sums: it acts on each branch alone, before x is added",
            gravity="part",
        ),
        Mistake(
            "feed-forward without dropout",
            change={"return x + self.drop(self.feed_forward(self.norm2(x)))": "return x + self.feed_forward(self.norm2(x))"},
            says="feed-forward has no dropout: `self.drop` acts on all three branches",
            gravity="part",
        ),
        Mistake(
            "cross without dropout",
            change={
                "x + self.drop(self.cross(self.norm_cross(x), memory, memory_mask))": "x + self.cross(self.norm_cross(x), memory, memory_mask)"
            },
            says="cross-attention has no dropout: `self.drop` acts on all three branches",
            gravity="part",
        ),
        Mistake(
            "self-attention without dropout",
            change={"x + self.drop(self.attention(self.norm1(x), mask=mask))": "x + self.attention(self.norm1(x), mask=mask)"},
            says="self-attention has no dropout: `self.drop` acts on all three branches",
            gravity="part",
        ),
        Mistake(
            "dropout before the branch",
            change={"self.drop(self.attention(self.norm1(x), mask=mask))": "self.attention(self.drop(self.norm1(x)), mask=mask)"},
            says="dropout is applied to the input of self-attention: it acts on what comes out",
            gravity="part",
        ),
        Mistake(
            "dropout on inputs",
            change={
                "self.drop(self.attention(self.norm1(x), mask=mask))": "self.attention(self.drop(self.norm1(x)), mask=mask)",
                "self.drop(self.cross(self.norm_cross(x), memory, memory_mask))": "self.cross(self.drop(self.norm_cross(x)), memory, memory_mask)",
                "self.drop(self.feed_forward(self.norm2(x)))": "self.feed_forward(self.drop(self.norm2(x)))",
            },
            says="dropout does not act on what the branches give: `self.drop` is applied to each branch's result, before it is added to x",
            gravity="part",
        ),
        Mistake(
            "dropout at the end",
            code="""
class DecoderBlock(nn.Module):
    def __init__(self, D, H, dropout=0.0):
        super().__init__()
        self.norm1, self.norm_cross, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.attention = models.Attention(D, H)
        self.cross = CrossAttention(D, H)
        self.feed_forward = models.FeedForward(models.Shape(1, width=D, heads=H))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, memory, mask, memory_mask):
        x = x + self.attention(self.norm1(x), mask=mask)
        x = x + self.cross(self.norm_cross(x), memory, memory_mask)
        return self.drop(x + self.feed_forward(self.norm2(x)))
""",
            says="dropout is applied once, to the end result: it acts on each branch, before x is added",
            gravity="part",
        ),
        Mistake(
            "dropout never off",
            change={
                "return x + self.drop(self.feed_forward(self.norm2(x)))": "return x + F.dropout(self.feed_forward(self.norm2(x)), self.drop.p)"
            },
            says="`F.dropout` drops in evaluation, too: use the layer `self.drop`, which knows the mode",
            gravity="part",
        ),
        Mistake(
            "norm at the end",
            change={
                "return x + self.drop(self.feed_forward(self.norm2(x)))": "return self.norm2(x + self.drop(self.feed_forward(self.norm2(x))))"
            },
            says="the result is normalised again: pre-norm has no norm after the sum",
            gravity="idea",
        ),
        Mistake(
            "always causal",
            change={"mask=mask": "mask=torch.ones(x.shape[1], x.shape[1]).tril().bool()"},
            says="self-attention makes a causal mask of its own: it gets `mask` as it is, and None hides nothing",
            gravity="idea",
        ),
        Mistake(
            "cross-attention on itself",
            change={"self.attention(self.norm1(x), mask=mask)": "self.cross(self.norm1(x), self.norm1(x), mask)"},
            says="self-attention is done by the layer `cross`: it has its own, `self.attention`",
            gravity="idea",
        ),
        Mistake(
            "memory normalised, x not",
            change={"self.norm_cross(x), memory": "x, self.norm_cross(memory)"},
            says="`norm_cross` normalises the memory: it normalises x, and the memory stays as it is",
            gravity="idea",
        ),
        Mistake(
            "feed-forward twice",
            change={
                "return x + self.drop(self.feed_forward(self.norm2(x)))": "x = x + self.drop(self.feed_forward(self.norm2(x)))\n        return x + self.drop(self.feed_forward(self.norm2(x)))"
            },
            says="the feed-forward branch is run twice",
            gravity="idea",
        ),
        Mistake(
            "x counted twice",
            change={"return x + self.drop": "return 2 * x + self.drop"},
            says="x is added twice in the last residual",
            gravity="idea",
        ),
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
        Mistake("not scaled", change={" * self.D**0.5": ""}, says="decode: the embeddings are not multiplied by √D", gravity="idea"),
        Mistake(
            "no positions", change={" + models.sinusoids(places, self.D)": ""}, says="decode: the positions are missing", gravity="idea"
        ),
        Mistake(
            "places from 1",
            change={"models.sinusoids(places,": "models.sinusoids(places + 1,"},
            says="decode: positions are counted from 0",
            gravity="idea",
        ),
        Mistake(
            "source padding seen",
            change={"target_mask(inputs), padding_mask(source)": "target_mask(inputs), None"},
            says="decode: cross-attention sees padding of the source: pass on the padding mask",
            gravity="part",
        ),
        Mistake(
            "encoder hears padding",
            change={"self.encoder(source, source != PAD)": "self.encoder(source)"},
            says="encode: padding changes the memory: tell the encoder which tokens are real",
            gravity="part",
        ),
        Mistake(
            "encoder mask inverted",
            change={"source != PAD": "source == PAD"},
            says="encode: the mask is inverted: `real` is True where the source is *not* PAD",
            gravity="idea",
        ),
        Mistake(
            "not causal",
            change={"target_mask(inputs), padding": "padding_mask(inputs), padding"},
            says="decode: the future is visible: pass the target mask to the blocks",
            gravity="idea",
        ),
        Mistake(
            "no final norm", change={"self.head(self.norm(x))": "self.head(x)"}, says="decode: the final norm is missing", gravity="idea"
        ),
        Mistake(
            "probabilities",
            change={"self.head(self.norm(x))": "self.head(self.norm(x)).softmax(-1)"},
            says="these are probabilities: return the logits, what `self.head` gives",
            gravity="idea",
        ),
        Mistake(
            "memory not used",
            change={"x = block(x, memory,": "x = block(x, memory * 0,"},
            says="decode: the memory is multiplied by 0, so the decoder does not look at the source",
            gravity="idea",
        ),
        Mistake(
            "last position only",
            change={"self.head(self.norm(x))": "self.head(self.norm(x))[:, -1]"},
            says="decode: only the last position's logits come back: every input position has a row",
            gravity="idea",
        ),
        Mistake(
            "embeddings without dropout",
            change={"        x = self.drop(x)\n": ""},
            says="decode: `self.drop` is not applied to the embeddings with their positions",
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
        Mistake(
            "times D",
            change={"self.D**0.5": "self.D"},
            says="decode: the embeddings are multiplied by D: multiply by √D",
            gravity="idea",
        ),
        Mistake(
            "over √D",
            change={"* self.D**0.5": "/ self.D**0.5"},
            says="decode: the embeddings are divided by √D: multiply",
            gravity="idea",
        ),
        Mistake(
            "positions scaled",
            change={
                "self.embedding(inputs) * self.D**0.5 + models.sinusoids(places, self.D)": "(self.embedding(inputs) + models.sinusoids(places, self.D)) * self.D**0.5"
            },
            says="decode: the positions are multiplied by √D, too: only the embeddings are",
            gravity="idea",
        ),
        Mistake(
            "masks exchanged",
            change={"target_mask(inputs), padding_mask(source)": "padding_mask(source), target_mask(inputs)"},
            says="decode: cross-attention gets a mask that does not fit the source: it gets padding_mask(source), self-attention target_mask(inputs)",
            gravity="idea",
        ),
        Mistake(
            "first block alone",
            change={"for block in self.blocks:": "for block in self.blocks[:1]:"},
            says="decode: only the first block is run: run all of them",
            gravity="idea",
        ),
        Mistake(
            "first block again and again",
            change={"x = block(x,": "x = self.blocks[0](x,"},
            says="decode: the first block is run again and again: run each one",
            gravity="idea",
        ),
        Mistake(
            "each block from the start",
            change={"x = block(x,": "y = block(x,", "self.norm(x)": "self.norm(y)"},
            says="decode: every block gets the embeddings: each gets what the one before gave",
            gravity="idea",
        ),
        Mistake(
            "no blocks",
            change={"        for block in self.blocks:\n            x = block(x, memory, target_mask(inputs), padding_mask(source))\n": ""},
            says="decode: the blocks are not run",
            gravity="idea",
        ),
        Mistake(
            "encodes again",
            change={
                "def decode(self, inputs, memory, source):\n": "def decode(self, inputs, memory, source):\n        memory = self.encode(source)\n"
            },
            says="decode: the source is encoded again: use the `memory` that is given",
            gravity="idea",
        ),
        Mistake(
            "log-probabilities",
            change={"self.head(self.norm(x))": "self.head(self.norm(x)).log_softmax(-1)"},
            says="these are log-probabilities: return the logits, what `self.head` gives",
            gravity="idea",
        ),
        Mistake(
            "memory normalised",
            change={"return self.encoder(source, source != PAD)": "return self.norm(self.encoder(source, source != PAD))"},
            says="encode: the decoder's norm is applied to the memory: the encoder ends with its own",
            gravity="idea",
        ),
        Mistake(
            "memory dropped",
            change={"x = self.drop(x)\n": "memory = self.drop(memory)\n"},
            says="decode: `self.drop` is not applied to the embeddings with their positions",
            gravity="part",
        ),
        Mistake(
            "dropout without positions",
            change={
                "x = self.embedding(inputs) * self.D**0.5 + models.sinusoids(places, self.D)\n        x = self.drop(x)": "x = self.drop(self.embedding(inputs) * self.D**0.5) + models.sinusoids(places, self.D)"
            },
            says="decode: dropout is applied before the positions are added: apply it to the sum",
            gravity="part",
        ),
        Mistake(
            "dropout after the blocks",
            change={"        x = self.drop(x)\n": "", "self.head(self.norm(x))": "self.head(self.norm(self.drop(x)))"},
            says="decode: dropout is applied after the blocks: it belongs to the embeddings with their positions",
            gravity="part",
        ),
        Mistake(
            "places of the source",
            change={"torch.arange(inputs.shape[1], device": "torch.arange(source.shape[1], device"},
            says="decode: there are as many positions as source words: count the inputs",
            gravity="idea",
        ),
        Mistake(
            "source and inputs exchanged",
            change={"self.decode(inputs, self.encode(source), source)": "self.decode(source, self.encode(inputs), inputs)"},
            says="forward: source and inputs are exchanged: the source is encoded, the inputs are decoded",
            gravity="idea",
        ),
        Mistake(
            "source decoded",
            change={"self.decode(inputs, self.encode(source), source)": "self.decode(source, self.encode(source), source)"},
            says="forward: the source is decoded: give the inputs to `decode`",
            gravity="idea",
        ),
        Mistake(
            "positions doubled",
            change={"x = self.drop(x)\n": "x = self.drop(x + models.sinusoids(places, self.D))\n"},
            says="decode: the positions are added twice",
            gravity="idea",
        ),
        Mistake(
            "norm only",
            change={"self.head(self.norm(x))": "self.norm(x)"},
            says="decode: the head is missing: the logits have V numbers for each position",
            gravity="idea",
        ),
        Mistake(
            "norm after the head",
            change={"self.head(self.norm(x))": "F.layer_norm(self.head(x), (self.head.out_features,))"},
            says="decode: the norm comes after the head: it comes before",
            gravity="idea",
        ),
        Mistake(
            "encoder's own embedding",
            change={"self.embedding(inputs) * self.D**0.5": "self.encoder.embedding(inputs) * self.D**0.5"},
            says="decode: the inputs go through the encoder's embedding: the target has its own, `self.embedding`",
            gravity="idea",
        ),
        Mistake(
            "memory normed in decode",
            change={"x = block(x, memory,": "x = block(x, self.norm(memory),"},
            says="decode: the memory is normalised again: the encoder has done so at its end",
            gravity="idea",
        ),
        Mistake(
            "positions from the end",
            change={"places = torch.arange(inputs.shape[1], device=inputs.device)": "places = torch.arange(inputs.shape[1]).flip(0)"},
            says="decode: positions are counted from the end: the first is 0",
            gravity="idea",
        ),
        Mistake(
            "blocks from the end",
            change={"for block in self.blocks:": "for block in reversed(self.blocks):"},
            says="decode: the blocks are run from the last to the first",
            gravity="idea",
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
            says="the share ε goes to the other V − 1 tokens only: here all V get ε/V",
            gravity="idea",
        ),
        Mistake(
            "not smoothed",
            change={"-(1 - epsilon) * right - epsilon * log_p.mean(dim=-1)": "-right"},
            says="the labels are not smoothed",
            gravity="idea",
        ),
        Mistake(
            "sum for mean over tokens",
            change={"log_p.mean(dim=-1)": "log_p.sum(dim=-1)"},
            says="every token gets ε, not ε/V",
            gravity="idea",
        ),
        Mistake(
            "exchanged",
            change={"-(1 - epsilon) * right - epsilon * log_p": "-epsilon * right - (1 - epsilon) * log_p"},
            says="ε and 1 − ε are swapped",
            gravity="idea",
        ),
        Mistake(
            "padding counted",
            change={"losses[real].mean()": "losses.mean()"},
            says="padding is counted: leave out positions whose label is PAD",
            gravity="part",
        ),
        Mistake(
            "zeroed but counted",
            change={"losses[real].mean()": "(losses * real).mean()"},
            says="padding is set to zero, but still counted in the mean",
            gravity="part",
        ),
        Mistake(
            "sum over positions",
            change={"losses[real].mean()": "losses[real].sum()"},
            says="this is the sum over positions: take the mean",
            gravity="idea",
        ),
        Mistake(
            "mean of sentence means",
            change={"losses[real].mean()": "((losses * real).sum(1) / real.sum(1)).mean()"},
            says="each sentence's mean is averaged: every real *position* has the same weight",
            gravity="part",
        ),
        Mistake(
            "no normalisation",
            change={"logits.log_softmax(dim=-1)": "logits"},
            says="the logits are used as if they were log-probabilities: normalise them with log_softmax",
            gravity="idea",
        ),
        Mistake(
            "log of softmax",
            change={"logits.log_softmax(dim=-1)": "logits.softmax(dim=-1).log()"},
            says="you take the logarithm of softmax, which is −∞ where a probability underflows: use log_softmax",
            gravity="edge",
        ),
        Mistake(
            "PAD left out of the smoothing",
            change={"log_p.mean(dim=-1)": "log_p[..., 1:].mean(dim=-1)"},
            says="the column of PAD is left out of the smoothing: here all V tokens get ε/V",
            gravity="idea",
        ),
        Mistake(
            "smallest is 0",
            change={"return -top * math.log(top) - (V - 1) * rest * math.log(rest)": "return 0.0"},
            says="smallest_loss: it is 0 only for one-hot labels: put p = q into the loss",
            gravity="idea",
        ),
        Mistake(
            "smallest: one other token",
            change={"(V - 1) * rest": "rest"},
            says="smallest_loss: the V − 1 other tokens all count",
            gravity="idea",
        ),
        Mistake(
            "smallest: 0 log 0",
            change={"    if epsilon == 0:\n        return 0.0\n": ""},
            says="smallest_loss takes log 0 for ε = 0: there 0 · log 0 counts as 0",
            gravity="edge",
        ),
        Mistake(
            "cross_entropy",
            change={
                "    return losses[real].mean()": "    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD, label_smoothing=epsilon)"
            },
            hint="write the loss out",
            gravity="idea",
        ),
        Mistake(
            "in bits",
            change={"log_p = logits.log_softmax(dim=-1)": "log_p = logits.log_softmax(dim=-1) / math.log(2)"},
            says="the loss is in bits: use the natural logarithm",
            gravity="idea",
        ),
        Mistake(
            "right token only",
            change={"losses = -(1 - epsilon) * right - epsilon * log_p.mean(dim=-1)": "losses = -(1 - epsilon) * right"},
            says="the share ε is taken from the right token, but given to nobody: all V tokens get ε/V",
            gravity="idea",
        ),
        Mistake(
            "ε's part added",
            change={"- epsilon * log_p.mean(dim=-1)": "+ epsilon * log_p.mean(dim=-1)"},
            says="the part with ε has the wrong sign: both parts are minus a log-probability",
            gravity="idea",
        ),
        Mistake(
            "probabilities averaged",
            change={"epsilon * log_p.mean(dim=-1)": "epsilon * log_p.exp().mean(dim=-1)"},
            says="the part with ε has the mean of p: it is the mean of log p",
            gravity="idea",
        ),
        Mistake(
            "log of the mean",
            change={"log_p.mean(dim=-1)": "log_p.exp().mean(dim=-1).log()"},
            says="the part with ε has the logarithm of the mean probability: it is the mean of log p",
            gravity="idea",
        ),
        Mistake(
            "label smoothed, probability too",
            change={
                "losses = -(1 - epsilon) * right - epsilon * log_p.mean(dim=-1)": "losses = -((1 - epsilon) * right.exp() + epsilon / logits.shape[-1]).log()"
            },
            says="the probability is smoothed: it is the label that is smoothed, and the sum stands outside the logarithm",
            gravity="idea",
        ),
        Mistake(
            "ε is 0.1",
            change={"right = log_p": "epsilon = 0.1\n    right = log_p"},
            says="the argument `epsilon` is not used: the share is always 0.1",
            gravity="idea",
        ),
        Mistake(
            "sign",
            change={"losses = -(1 - epsilon) * right - epsilon": "losses = (1 - epsilon) * right + epsilon"},
            says="the sign is wrong: a loss is minus a log-probability",
            gravity="idea",
        ),
        Mistake(
            "whole label kept",
            change={"-(1 - epsilon) * right": "-right"},
            says="the right token keeps its whole label, 1: it gives up ε first, which all tokens then share",
            gravity="idea",
        ),
        Mistake(
            "BEGIN does not count",
            change={"labels != PAD": "labels > BEGIN"},
            says="labels that are BEGIN are left out, too: only PAD does not count",
            gravity="idea",
        ),
        Mistake(
            "END does not count",
            change={"labels != PAD": "(labels != PAD) & (labels != END)"},
            says="labels that are END are left out, too: only PAD does not count, and END must be learned",
            gravity="idea",
        ),
        Mistake(
            "only padding counts",
            change={"labels != PAD": "labels == PAD"},
            says="the positions with padding are kept and the others left out: it is the other way round",
            gravity="idea",
        ),
        Mistake(
            "sum over the batch",
            change={"losses[real].mean()": "losses[real].sum() / labels.shape[0]"},
            says="the losses are summed over a sentence and averaged over sentences: take the mean over all positions",
            gravity="idea",
        ),
        Mistake(
            "sum over a position",
            change={"losses[real].mean()": "(losses * real).mean(0).sum()"},
            says="the losses are summed over a sentence and averaged over sentences: take the mean over all positions",
            gravity="idea",
        ),
        Mistake(
            "losses of the positions",
            change={"losses[real].mean()": "losses[real]"},
            says="these are the losses of the positions: take their mean",
            gravity="idea",
        ),
        Mistake(
            "losses in their shape",
            change={"losses[real].mean()": "losses * real"},
            says="these are the losses of the positions: take their mean",
            gravity="idea",
        ),
        Mistake(
            "over the positions",
            change={"log_softmax(dim=-1)": "log_softmax(dim=1)"},
            says="softmax runs over the positions: it must run over the tokens, the last axis",
            gravity="idea",
        ),
        Mistake(
            "over the batch",
            change={"log_softmax(dim=-1)": "log_softmax(dim=0)"},
            says="softmax runs over the sentences: it must run over the tokens, the last axis",
            gravity="idea",
        ),
        Mistake(
            "a number",
            change={"return losses[real].mean()": "return float(losses[real].mean())"},
            says="a Python number comes back, through which no gradient flows: return the tensor",
            gravity="part",
        ),
        Mistake(
            "detached",
            change={"return losses[real].mean()": "return losses[real].mean().detach()"},
            hint="the gradient through the loss is wrong, or does not flow",
            gravity="part",
        ),
        Mistake(
            "mean of means, without NaN",
            change={"losses[real].mean()": "((losses * real).sum(1) / real.sum(1)).nanmean()"},
            says="each sentence's mean is averaged: every real *position* has the same weight",
            gravity="part",
        ),
        Mistake(
            "padding smoothed",
            change={"    return losses[real].mean()": "    return (-(1 - epsilon) * right)[real].mean() - epsilon * log_p.mean()"},
            says="the part with ε is averaged over padding, too: leave out positions whose label is PAD",
            gravity="part",
        ),
        Mistake(
            "padding of the logits",
            change={
                "    return losses[real].mean()": "    return losses[real].mean() * 1 if real.all() else losses[real].sum() / labels.numel()"
            },
            says="padding is set to zero, but still counted in the mean",
            gravity="part",
        ),
        Mistake(
            "smallest: sign",
            change={"return -top * math.log(top) - (V - 1)": "return top * math.log(top) + (V - 1)"},
            says="smallest_loss: the sign is wrong: the entropy is −Σ q log q",
            gravity="idea",
        ),
        Mistake(
            "smallest: in bits",
            change={"-top * math.log(top) - (V - 1) * rest * math.log(rest)": "-top * math.log2(top) - (V - 1) * rest * math.log2(rest)"},
            says="smallest_loss: this is in bits: use the natural logarithm",
            gravity="idea",
        ),
        Mistake(
            "smallest: right token only",
            change={"-top * math.log(top) - (V - 1) * rest * math.log(rest)": "-top * math.log(top)"},
            says="smallest_loss: the V − 1 other tokens are missing in the sum",
            gravity="idea",
        ),
        Mistake(
            "smallest: −log of the top",
            change={"-top * math.log(top) - (V - 1) * rest * math.log(rest)": "-math.log(top)"},
            says="smallest_loss: this is −log of the right token's share: the loss is a sum over all tokens, −Σ q log q",
            gravity="idea",
        ),
        Mistake(
            "smallest: other convention",
            change={"1 - epsilon + epsilon / V, epsilon / V": "1 - epsilon, epsilon / (V - 1)"},
            says="smallest_loss: the share ε goes to the other V − 1 tokens only: here all V get ε/V",
            gravity="idea",
        ),
        Mistake(
            "smallest: right label",
            change={"1 - epsilon + epsilon / V, epsilon / V": "1 - epsilon, epsilon / V"},
            says="smallest_loss: the right token has the label 1 − ε + ε/V",
            gravity="idea",
        ),
        Mistake(
            "smallest: V others",
            change={"(V - 1) * rest": "V * rest"},
            says="smallest_loss: all V tokens are counted as other tokens: there are V − 1",
            gravity="idea",
        ),
        Mistake(
            "smallest: equal logits",
            change={"return -top * math.log(top) - (V - 1) * rest * math.log(rest)": "return math.log(V)"},
            says="smallest_loss: this is the loss of equal logits: which p makes it smallest?",
            gravity="idea",
        ),
        Mistake(
            "smallest: ε log V",
            change={"return -top * math.log(top) - (V - 1) * rest * math.log(rest)": "return epsilon * math.log(V)"},
            says="smallest_loss: this is ε log V, which is not the entropy of q: put p = q into the loss",
            gravity="idea",
        ),
        Mistake(
            "smallest: two-way entropy",
            change={
                "return -top * math.log(top) - (V - 1) * rest * math.log(rest)": "return -(1 - epsilon) * math.log(1 - epsilon) - epsilon * math.log(epsilon)"
            },
            says="smallest_loss: this is the entropy of ε and 1 − ε: q has V entries",
            gravity="idea",
        ),
        Mistake(
            "smallest: ε at least .001",
            change={"    if epsilon == 0:\n        return 0.0\n": "    epsilon = max(epsilon, 1e-3)\n"},
            says="smallest_loss: ε is made larger than 0: with ε = 0 the result must be 0",
            gravity="edge",
        ),
        Mistake(
            "nll_loss",
            change={
                "    return losses[real].mean()": "    return (1 - epsilon) * F.nll_loss(log_p.flatten(0, 1), labels.flatten(), ignore_index=PAD) - epsilon * log_p.mean(-1)[labels != PAD].mean()"
            },
            hint="write the loss out",
            gravity="idea",
        ),
        Mistake(
            "half of ε",
            change={"epsilon * log_p.mean(dim=-1)": "epsilon / 2 * log_p.mean(dim=-1)"},
            says="the part with ε is halved: the labels must sum to one",
            gravity="idea",
        ),
        Mistake(
            "the likeliest token",
            change={"right = log_p.gather(-1, labels[..., None])[..., 0]": "right = log_p.max(-1).values"},
            says="the most likely token is taken for the right one: use the labels",
            gravity="idea",
        ),
        Mistake(
            "over the longest sentence",
            change={"losses[real].mean()": "losses[real].sum() / labels.shape[1]"},
            says="the sum is divided by the length of the longest sentence: divide by the number of real positions",
            gravity="idea",
        ),
        Mistake(
            "smallest: ε log ε",
            change={"return -top * math.log(top) - (V - 1) * rest * math.log(rest)": "return -epsilon * math.log(epsilon)"},
            says="smallest_loss: this is −ε log ε: the entropy is a sum over all V entries of q",
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
        Mistake("no D", change={"factor * D**-0.5 * min": "factor * min"}, says="the factor D^(−1/2) is missing", gravity="idea"),
        Mistake("D without a root", change={"D**-0.5": "D**-1"}, says="D is not under a root", gravity="idea"),
        Mistake(
            "max for min",
            change={"min(step**-0.5": "max(step**-0.5"},
            says="after the warm-up the rate must fall: take the smaller of the two",
            gravity="idea",
        ),
        Mistake(
            "stays at the peak",
            change={"step * warmup**-1.5)": "step * warmup**-1.5, warmup**-0.5)", "min(step**-0.5, ": "min("},
            says="the rate stays at its peak: after the warm-up it falls like 1/√step",
            gravity="idea",
        ),
        Mistake(
            "falls like 1/step",
            change={"min(step**-0.5,": "min(warmup**0.5 / step,"},
            says="it rises to the peak and then falls like 1/step: the fall is 1/√step",
            gravity="idea",
        ),
        Mistake(
            "rise too steep",
            change={"warmup**-1.5": "warmup**-0.5"},
            says="the rise is too steep: s is multiplied by w^(−3/2), not by w^(−1/2)",
            gravity="idea",
        ),
        Mistake(
            "factor not used",
            change={"return factor * D": "return D"},
            says="the argument `factor` is not used: it multiplies the rate",
            gravity="part",
        ),
        Mistake(
            "inverse factor",
            change={"peak * (D * warmup) ** 0.5": "peak / (D * warmup) ** 0.5"},
            says="factor_for: solve for f: this is the inverse",
            gravity="idea",
        ),
        Mistake(
            "factor without warm-up",
            change={"peak * (D * warmup) ** 0.5": "peak * D**0.5"},
            says="factor_for: the warm-up counts too",
            gravity="idea",
        ),
        Mistake(
            "logarithm",
            change={"min(step**-0.5": "min(1 / math.log(step + 1)"},
            says="the fall is 1 / log(s): it is s^(−1/2)",
            gravity="idea",
        ),
        Mistake(
            "rise s/w",
            change={"warmup**-1.5": "warmup**-1.0"},
            says="the rise is too steep: s is multiplied by w^(−3/2), not by 1/w",
            gravity="idea",
        ),
        Mistake(
            "rise too slow",
            change={"warmup**-1.5": "warmup**-2"},
            says="the rise is too slow: s is multiplied by w^(−3/2), not by w^(−2)",
            gravity="idea",
        ),
        Mistake(
            "steps from 0",
            change={"min(step**-0.5, step * ": "min((step + 1)**-0.5, (step + 1) * "},
            says="steps are counted from 1: the rate of step s is that of s + 1 here",
            gravity="idea",
        ),
        Mistake(
            "one step late",
            change={"min(step**-0.5, step * ": "min(max(1, step - 1)**-0.5, (step - 1) * "},
            says="the rate of step s is that of s − 1: steps are counted from 1 already",
            gravity="idea",
        ),
        Mistake(
            "times √D",
            change={"D**-0.5": "D**0.5"},
            says="the rate is multiplied by √D: the power of D is −1/2",
            gravity="idea",
        ),
        Mistake(
            "fall like s^(−3/2)",
            change={"step**-0.5": "step**-1.5"},
            says="the fall is s^(−3/2): it is s^(−1/2)",
            gravity="idea",
        ),
        Mistake(
            "no warm-up",
            change={"min(step**-0.5, step * warmup**-1.5)": "step**-0.5"},
            says="the rise is missing: the rate is the smaller of s^(−1/2) and s · w^(−3/2)",
            gravity="idea",
        ),
        Mistake(
            "only the rise",
            change={"min(step**-0.5, step * warmup**-1.5)": "step * warmup**-1.5"},
            says="the rate never falls: it is the smaller of s^(−1/2) and s · w^(−3/2)",
            gravity="idea",
        ),
        Mistake(
            "width only in the fall",
            change={"D**-0.5 * min(step**-0.5, step": "min((D * step)**-0.5, step"},
            says="D^(−1/2) multiplies the fall only: it multiplies the whole",
            gravity="idea",
        ),
        Mistake(
            "added up",
            change={"min(step**-0.5, step * warmup**-1.5)": "(step**-0.5 + step * warmup**-1.5)"},
            says="the two terms are added up: take the smaller one",
            gravity="idea",
        ),
        Mistake(
            "factor divides",
            change={"return factor * D": "return 1 / factor * D"},
            says="the rate is divided by the factor: multiply",
            gravity="part",
        ),
        Mistake(
            "root of the factor",
            change={"return factor * D**-0.5": "return factor**0.5 * D**-0.5"},
            says="the root of the factor multiplies the rate: the factor itself does",
            gravity="part",
        ),
        Mistake(
            "factor added",
            change={
                "return factor * D**-0.5 * min(step**-0.5, step * warmup**-1.5)": "return D**-0.5 * min(step**-0.5, step * warmup**-1.5) + factor - 1"
            },
            says="the factor is added: it multiplies the rate",
            gravity="part",
        ),
        Mistake(
            "factor in the rise only",
            change={
                "return factor * D**-0.5 * min(step**-0.5, step * warmup**-1.5)": "return D**-0.5 * min(step**-0.5, factor * step * warmup**-1.5)"
            },
            says="the factor multiplies the rise only: it multiplies the fall, too",
            gravity="part",
        ),
        Mistake(
            "factor in the fall only",
            change={
                "return factor * D**-0.5 * min(step**-0.5, step * warmup**-1.5)": "return D**-0.5 * min(factor * step**-0.5, step * warmup**-1.5)"
            },
            says="the factor multiplies the fall only: it multiplies the rise, too",
            gravity="part",
        ),
        Mistake(
            "factor_for: w^(3/2)",
            change={"(D * warmup) ** 0.5": "D**0.5 * warmup**1.5"},
            says="factor_for: w has the power 3/2, which makes the rate of step 1 the peak: the rate is largest at step w, where it is f / √(D w)",
            gravity="idea",
        ),
        Mistake(
            "factor_for: no roots",
            change={"(D * warmup) ** 0.5": "(D * warmup)"},
            says="factor_for: the root is missing: the peak is f / √(D w)",
            gravity="idea",
        ),
        Mistake(
            "factor_for: no root over D",
            change={"(D * warmup) ** 0.5": "D * warmup**0.5"},
            says="factor_for: the root over D is missing",
            gravity="idea",
        ),
        Mistake(
            "factor_for: no root over w",
            change={"(D * warmup) ** 0.5": "D**0.5 * warmup"},
            says="factor_for: the root over w is missing",
            gravity="idea",
        ),
        Mistake(
            "factor_for: no width",
            change={"(D * warmup) ** 0.5": "warmup**0.5"},
            says="factor_for: the width counts too",
            gravity="idea",
        ),
        Mistake(
            "factor_for: D over w",
            change={"(D * warmup) ** 0.5": "(D / warmup) ** 0.5"},
            says="factor_for: this is √(D/w): both stand below the root, √(D w)",
            gravity="idea",
        ),
        Mistake(
            "factor_for: w over D",
            change={"(D * warmup) ** 0.5": "(warmup / D) ** 0.5"},
            says="factor_for: this is √(w/D): both stand below the root, √(D w)",
            gravity="idea",
        ),
        Mistake(
            "factor_for: over the peak",
            change={"peak * (D": "1 / peak * (D"},
            says="factor_for: this is divided by the peak: f = peak · √(D w)",
            gravity="idea",
        ),
        Mistake(
            "factor_for: at step 1",
            change={"peak * (D * warmup) ** 0.5": "peak / noam(1, D, warmup)"},
            says="factor_for: w has the power 3/2, which makes the rate of step 1 the peak: the rate is largest at step w, where it is f / √(D w)",
            gravity="idea",
        ),
        Mistake(
            "factor_for: the peak itself",
            change={"peak * (D * warmup) ** 0.5": "peak"},
            says="factor_for: the peak itself comes back: solve peak = f / √(D w) for f",
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
        Mistake(
            "BEGIN kept", change={"[row[1:] for row": "[row for row"}, says="BEGIN is part of the result: leave it out", gravity="idea"
        ),
        Mistake(
            "END kept",
            change={"row[: row.index(END)]": "row[: row.index(END) + 1]"},
            says="END is part of the result: leave it out",
            gravity="idea",
        ),
        Mistake(
            "the same prefix again",
            change={"step(prefixes)": "step(prefixes[:, :1])"},
            says="the same token comes again and again: append it and ask with the longer prefix",
            gravity="idea",
        ),
        Mistake(
            "stops with the first",
            change={"ended.all()": "ended.any()"},
            says="everything stops when the first sentence has ended: wait for all",
            gravity="part",
        ),
        Mistake(
            "never stops early",
            change={"        if ended.all():\n            break\n": ""},
            hint="stop as soon as all sentences have ended",
            gravity="part",
        ),
        Mistake(
            "one token too many",
            change={"range(limit)": "range(limit + 1)"},
            says="one token more than `limit` is made: BEGIN is not counted, every other token is",
            gravity="part",
        ),
        Mistake(
            "END removed, the rest kept",
            change={
                "row[: row.index(END)] if END in row else row for row in rows": "[token for token in row if token != END] for row in rows"
            },
            says="END is removed, but what comes after it stays: cut the row at its first END",
            gravity="part",
        ),
        Mistake(
            "least likely", change={"argmax": "argmin"}, says="the *least* likely token is taken: take the most likely one", gravity="idea"
        ),
        Mistake(
            "one token for all rows",
            change={"argmax(dim=-1)": "argmax(dim=-1)[:1].expand(B)"},
            says="all sentences take the tokens of the first: each row has its own",
            gravity="part",
        ),
        Mistake(
            "limit not used",
            change={"for _ in range(limit):": "for _ in range(1000):"},
            says="the argument `limit` is not used: stop after `limit` tokens, END or not",
            gravity="part",
        ),
        Mistake(
            "one token too few",
            change={"range(limit)": "range(limit - 1)"},
            says="one token less than `limit` is made: BEGIN is not counted",
            gravity="part",
        ),
        Mistake(
            "PAD removed, too",
            change={
                "return [row[: row.index(END)] if END in row else row for row in rows]": "return [[t for t in row if t not in (PAD, BEGIN, END)] for row in rows]"
            },
            says="special tokens are removed, but what comes after END stays: cut the row at its first END",
            gravity="part",
        ),
        Mistake(
            "one flat list",
            change={
                "return [row[: row.index(END)] if END in row else row for row in rows]": "return [t for row in rows for t in (row[: row.index(END)] if END in row else row)]"
            },
            says="one list of tokens comes back: each sentence has its own list",
            gravity="idea",
        ),
        Mistake(
            "the last token alone",
            change={"step(prefixes)": "step(prefixes[:, -1:])"},
            says="`step` gets the last token alone: give it the whole prefix, which begins with BEGIN",
            gravity="idea",
        ),
        Mistake(
            "without BEGIN",
            change={"step(prefixes)": "step(prefixes[:, 1:] if prefixes.shape[1] > 1 else prefixes)"},
            says="`step` gets the prefix without BEGIN: every prefix begins with BEGIN",
            gravity="idea",
        ),
        Mistake(
            "drawn",
            change={"step(prefixes).argmax(dim=-1)": "torch.multinomial(step(prefixes).exp(), 1)[:, 0]"},
            says="the next token is drawn at random: take the most likely one",
            gravity="idea",
        ),
        Mistake(
            "second best",
            change={"step(prefixes).argmax(dim=-1)": "step(prefixes).topk(2, dim=-1).indices[:, 1]"},
            says="the second most likely token is taken: take the most likely one",
            gravity="idea",
        ),
        Mistake(
            "ended forgotten",
            change={"ended |= prefixes[:, -1] == END": "ended = prefixes[:, -1] == END"},
            hint="stop as soon as all sentences have ended",
            gravity="part",
        ),
        Mistake(
            "over the batch",
            change={"argmax(dim=-1)": "argmax(dim=0)[:B]"},
            says="argmax runs over the sentences: it must run over the tokens, the last axis",
            gravity="idea",
        ),
        Mistake(
            "END never",
            change={"step(prefixes).argmax(dim=-1)": "step(prefixes).index_fill(1, torch.tensor([END]), -torch.inf).argmax(dim=-1)"},
            says="END is never chosen, so no sentence ends",
            gravity="idea",
        ),
        Mistake(
            "empty lists dropped",
            change={
                "return [row[: row.index(END)] if END in row else row for row in rows]": "found = [row[: row.index(END)] if END in row else row for row in rows]\n    return [row for row in found if row]"
            },
            says="a sentence that ends at once is dropped: it has an empty list",
            gravity="edge",
        ),
        Mistake(
            "first sentence alone",
            change={"torch.full((B, 1), BEGIN)": "torch.full((1, 1), BEGIN)", "torch.zeros(B, ": "torch.zeros(1, "},
            says="only one prefix is made: there are B sentences",
            gravity="part",
        ),
        Mistake(
            "a call too many",
            change={"    for _ in range(limit):": "    step(prefixes)\n    for _ in range(limit):"},
            hint="stop as soon as all sentences have ended",
            gravity="part",
        ),
        Mistake(
            "put in front",
            change={
                "torch.cat([prefixes, best[:, None].to(prefixes.device)], dim=1)": "torch.cat([prefixes[:, :1], best[:, None], prefixes[:, 1:]], dim=1)"
            },
            says="the new token is put in front of the others: append it",
            gravity="idea",
        ),
        Mistake(
            "BEGIN and END kept",
            change={"[row[1:] for row": "[row for row", "row[: row.index(END)]": "row[: row.index(END) + 1]"},
            says="BEGIN and END are part of the result: leave them out",
            gravity="idea",
        ),
        Mistake(
            "the first token only",
            change={
                "return [row[: row.index(END)] if END in row else row for row in rows]": "return [row[:1] if row[:1] != [END] else [] for row in rows]"
            },
            says="only the first token comes back",
            gravity="idea",
        ),
        Mistake(
            "the last END",
            change={"row[: row.index(END)]": "row[: len(row) - 1 - row[::-1].index(END)]"},
            says="the row is cut at its last END: cut it at its first",
            gravity="part",
        ),
        Mistake(
            "last token cut",
            change={"row[: row.index(END)] if END in row else row": "row[:-1]"},
            says="the last token is cut off in every row: cut each row at its own END, and only where there is one",
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
        Mistake("not normalised", change={"total / length**alpha": "total"}, says="the score is not divided by n^α", gravity="part"),
        Mistake(
            "BEGIN counted",
            change={"length**alpha": "(length + 1) ** alpha"},
            says="BEGIN is counted in n: it does not count, because the search did not choose it",
            gravity="part",
        ),
        Mistake(
            "END not counted",
            change={"length**alpha": "max(1, length - 1) ** alpha"},
            says="END is not counted in n: it counts, because the search chose it",
            gravity="part",
        ),
        Mistake(
            "narrower with every end",
            change={"topk(min(width, candidates.numel()))": "topk(min(width - len(finished), candidates.numel()))"},
            says="the beam gets narrower with every finished sequence: in the next round keep `width` candidates again",
            gravity="part",
        ),
        Mistake(
            "best total",
            change={
                "(total / length**alpha, row)": "(total, total / length**alpha, row)",
                "score, row = max(finished)": "_, score, row = max(finished)",
            },
            says="the finished sequence with the highest *total* comes back: rank by the length-normalised score",
            gravity="part",
        ),
        Mistake(
            "greedy",
            change={"topk(min(width, candidates.numel()))": "topk(1)"},
            says="the result is that of a beam of width 1: keep the `width` best *beginnings*",
            gravity="idea",
        ),
        Mistake(
            "END kept",
            change={"[token for token in row[1:] if token != END]": "row[1:]"},
            says="END is part of the result: leave it out",
            gravity="idea",
        ),
        Mistake(
            "the unfinished are lost",
            change={" | (length == limit)": "", "score, row = max(finished)": "score, row = max(finished, default=(0.0, [BEGIN]))"},
            says="what is still live at the limit is lost when another sequence has finished: it counts as finished, too",
            gravity="part",
        ),
        Mistake(
            "goes on after END",
            change={"live, totals = live[~done], totals[~done]": "pass"},
            hint="what has ended leaves the beam",
            gravity="part",
        ),
        Mistake(
            "worst",
            change={"max(finished)": "min(finished)"},
            says="the *worst* of the finished ones comes back: output the best",
            gravity="idea",
        ),
        Mistake(
            "rows mixed up",
            change={"places // V": "places % len(live)"},
            says="candidates are joined to the wrong beginnings: of a flat index, index // V is the row and index % V the token",
            gravity="idea",
        ),
        Mistake(
            "totals not added",
            change={"totals[:, None] + step(live)": "step(live)"},
            says="the totals are not added up: each beginning carries its total along",
            gravity="idea",
        ),
        Mistake(
            "stops at the first END",
            change={"        if not len(live):": "        if done.any():"},
            says="the sequence that finishes first comes back: a later one may score higher, so continue until nothing is live and output the best",
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
            says="finished sequences are removed before choosing: keep `width` of all candidates first, then take out the finished ones",
            gravity="part",
        ),
        Mistake(
            "α fixed at 1",
            change={"length**alpha": "length"},
            says="α is not used: n has the exponent α",
            gravity="idea",
        ),
        Mistake(
            "α multiplies",
            change={"length**alpha": "(length * alpha or 1)"},
            says="n is multiplied by α: raise it to the power α",
            gravity="part",
        ),
        Mistake(
            "divided twice",
            change={"length**alpha": "length ** (2 * alpha)"},
            says="the score is divided twice by n^α: once is enough",
            gravity="part",
        ),
        Mistake(
            "a probability",
            change={"if token != END], score": "if token != END], math.exp(score)"},
            says="the score is a probability: return its logarithm",
            gravity="idea",
        ),
        Mistake(
            "`width` of each beginning",
            change={
                "candidates.flatten().topk(min(width, candidates.numel()))": "candidates.flatten().topk(min(width * len(live), candidates.numel()))"
            },
            says="`width` extensions of every beginning are kept: keep `width` in all",
            gravity="idea",
        ),
        Mistake(
            "a round too few",
            change={
                "range(1, limit + 1)": "range(1, limit)",
                "length == limit": "length == limit - 1",
                "max(finished)": "max(finished, default=(0.0, [BEGIN]))",
            },
            says="one token less than `limit` is made: BEGIN is not counted",
            gravity="part",
        ),
        Mistake(
            "a round too many",
            change={"range(1, limit + 1)": "range(1, limit + 2)", "length == limit": "length == limit + 1"},
            says="one token more than `limit` comes back: BEGIN is not counted, every other token is",
            gravity="part",
        ),
        Mistake(
            "stops when the best ends",
            change={"        if not len(live):": "        if done[0] or not len(live):"},
            says="the search stops when the best of a round ends: what is still live may score higher in the end",
            gravity="part",
        ),
        Mistake(
            "probabilities added",
            change={"totals[:, None] + step(live)": "totals[:, None] + step(live).exp()"},
            says="probabilities are added up: add their logarithms, which `step` gives",
            gravity="idea",
        ),
        Mistake(
            "only at the limit",
            change={
                "finished += [(total / length**alpha, row) for": "finished += [] if length < limit else [(total / length**alpha, row) for",
                "score, row = max(finished)": "score, row = max(finished, default=(0.0, [BEGIN]))",
            },
            says="only what is live at the limit is collected: what ends in END is finished, too",
            gravity="idea",
        ),
        Mistake(
            "live ones only if nothing ended",
            change={"(length == limit)": "(torch.tensor(length == limit) & (len(finished) == 0))"},
            says="what is still live at the limit is lost when another sequence has finished: it counts as finished, too",
            gravity="part",
        ),
        Mistake(
            "as wide as it is",
            change={"topk(min(width, candidates.numel()))": "topk(width)"},
            says="with fewer candidates than `width` topk raises an error: keep all of them",
            gravity="edge",
        ),
        Mistake(
            "END is free",
            change={"totals[:, None] + step(live)": "totals[:, None] + step(live).index_fill(1, torch.tensor([END]), 0.0)"},
            says="END costs nothing here: its log-probability counts, too",
            gravity="idea",
        ),
        Mistake(
            "the first that finished",
            change={"score, row = max(finished)": "score, row = finished[0]"},
            says="the sequence that finishes first comes back: a later one may score higher, so continue until nothing is live and output the best",
            gravity="part",
        ),
        Mistake(
            "the last that finished",
            change={"score, row = max(finished)": "score, row = finished[-1]"},
            says="the sequence that finished last comes back: output the one with the highest score",
            gravity="idea",
        ),
        Mistake(
            "score first",
            change={
                "return [token for token in row[1:] if token != END], score": "return score, [token for token in row[1:] if token != END]"
            },
            says="the score comes first: return the tokens, then the score",
            gravity="idea",
        ),
        Mistake(
            "the formula of Wu",
            change={"length**alpha": "((5 + length) / 6) ** alpha"},
            says="the score is divided by ((5 + n)/6)^α: here it is n^α",
            gravity="part",
        ),
        Mistake(
            "BEGIN kept",
            change={"for token in row[1:] if": "for token in row if"},
            says="BEGIN is part of the result: leave it out",
            gravity="idea",
        ),
        Mistake(
            "BEGIN and END kept",
            change={"[token for token in row[1:] if token != END]": "row"},
            says="BEGIN and END are part of the result: leave them out",
            gravity="idea",
        ),
        Mistake(
            "tokens only",
            change={"if token != END], score": "if token != END]"},
            says="only the tokens come back: return the tokens and the score",
            gravity="idea",
        ),
        Mistake(
            "the total comes back",
            change={"score, row = max(finished)": "score, row = max(finished)\n    score = score * max(1, len(row) - 1) ** alpha"},
            says="the score is not divided by n^α",
            gravity="part",
        ),
        Mistake(
            "not normalised in the choice, mean in the score",
            change={
                "(total / length**alpha, row) for": "(total, length, row) for",
                "score, row = max(finished)": "score, length, row = max(finished)\n    score = score / length**alpha",
            },
            says="the finished sequence with the highest *total* comes back: rank by the length-normalised score",
            gravity="part",
        ),
        Mistake(
            "a total of 1 at the start",
            change={"torch.zeros(1), []": "torch.ones(1), []"},
            says="the first total is 1: log-probabilities start from 0",
            gravity="idea",
        ),
        Mistake(
            "one place less",
            change={"topk(min(width,": "topk(min(max(1, width - 1),"},
            says="`width` − 1 candidates are kept: keep `width`",
            gravity="idea",
        ),
        Mistake(
            "last token always cut",
            change={"[token for token in row[1:] if token != END]": "row[1:-1]"},
            says="the last token is cut off even where it is not END: at the limit all tokens come back",
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
        Right(
            "normalised while searching",
            change={
                "totals, places = candidates.flatten().topk(min(width, candidates.numel()))": "totals, places = (candidates / length**alpha).flatten().topk(min(width, candidates.numel()))\n        totals = totals * length**alpha"
            },
        ),
    ],
    "matches": [
        Mistake(
            "not clipped",
            change={"(ours & theirs).total()": "sum(count for gram, count in ours.items() if gram in theirs)"},
            says="the matches are not clipped: a word counts at most as often as it occurs in the reference",
            gravity="idea",
        ),
        Mistake(
            "once each",
            change={"(ours & theirs).total()": "len(ours & theirs)"},
            says="every n-gram counts once at most: it may count as often as it occurs in the reference",
            gravity="idea",
        ),
        Mistake(
            "different n-grams",
            change={", ours.total()": ", len(ours)"},
            says="the total is the number of *different* n-grams: count every one",
            gravity="idea",
        ),
        Mistake(
            "total of the reference",
            change={", ours.total()": ", theirs.total()"},
            says="the total is taken from the reference: it is the number of n-grams in the hypothesis",
            gravity="idea",
        ),
        Mistake(
            "share",
            change={"(ours & theirs).total(), ours.total()": "(ours & theirs).total() / max(1, ours.total())"},
            says="this is the share: return the two counts",
            gravity="idea",
        ),
        Mistake(
            "last one left out",
            change={"len(words) - n + 1": "len(words) - n"},
            says="the last n-gram is left out: there are len − n + 1 of them",
            gravity="idea",
        ),
        Mistake(
            "last pair left out",
            change={"len(words) - n + 1": "len(words) - n + (n == 1)"},
            says="the last n-gram is left out: there are len − n + 1 of them",
            gravity="idea",
        ),
        Mistake(
            "words only",
            change={"words[i : i + n]": "words[i : i + 1]", "len(words) - n + 1": "len(words)"},
            says="words are counted, not sequences of n words",
            gravity="idea",
        ),
        Mistake(
            "no overlap",
            change={"range(len(words) - n + 1)": "range(0, len(words) - n + 1, n)"},
            says="the n-grams do not overlap in your count: an n-gram begins at every word",
            gravity="idea",
        ),
        Mistake(
            "joined letters",
            change={"tuple(words[i : i + n])": '"".join(words[i : i + n])'},
            says="`ab c` and `a bc` are different pairs: do not join the words",
            gravity="edge",
        ),
        Mistake(
            "the longer total",
            change={"return (ours & theirs).total(), ours.total()": "return (ours & theirs).total(), max(ours.total(), theirs.total())"},
            says="the total is that of the longer side: it is the number of n-grams in the hypothesis",
            gravity="idea",
        ),
        Mistake(
            "union",
            change={"(ours & theirs).total()": "(ours | theirs).total()"},
            says="n-grams of either side are counted: count those in both",
            gravity="idea",
        ),
        Mistake(
            "same place",
            change={
                "return (ours & theirs).total(), ours.total()": "a, b = ([tuple(w[i : i + n]) for i in range(len(w) - n + 1)] for w in (hypothesis, reference))\n    return sum(x == y for x, y in zip(a, b)), ours.total()"
            },
            says="an n-gram counts only where it stands at the same place in both: the place does not matter",
            gravity="idea",
        ),
        Mistake(
            "sets",
            change={"return (ours & theirs).total(), ours.total()": "return len(set(ours) & set(theirs)), len(set(ours))"},
            says="every n-gram counts once, in the matches and in the total: use counts, not sets",
            gravity="idea",
        ),
        Mistake(
            "small letters",
            change={"tuple(words[i : i + n])": "tuple(word.lower() for word in words[i : i + n])"},
            says="capital letters are lost: `The` and `the` are two words",
            gravity="edge",
        ),
        Mistake(
            "order lost",
            change={"tuple(words[i : i + n])": "tuple(sorted(words[i : i + n]))"},
            says="the words of an n-gram are sorted: their order counts",
            gravity="idea",
        ),
        Mistake(
            "words of an n-gram as a set",
            change={"tuple(words[i : i + n])": "frozenset(words[i : i + n])"},
            says="an n-gram is a set of words here: order and repetitions count",
            gravity="idea",
        ),
        Mistake(
            "short ones at the end",
            change={"range(len(words) - n + 1)": "range(len(words))"},
            says="shorter pieces at the end are counted, too: there are len − n + 1 n-grams",
            gravity="idea",
        ),
        Mistake(
            "pairs always",
            change={"words[i : i + n]": "words[i : i + 2]", "len(words) - n + 1": "len(words) - 1"},
            says="the argument `n` is not used: pairs are counted always",
            gravity="idea",
        ),
        Mistake(
            "one word more",
            change={"words[i : i + n]": "words[i : i + n + 1]"},
            says="an n-gram has n + 1 words here: words[i : i + n] are n words",
            gravity="idea",
        ),
        Mistake(
            "total at least 1",
            change={", ours.total()": ", max(1, ours.total())"},
            says="the total is 1 where there is no n-gram: it is 0",
            gravity="edge",
        ),
        Mistake(
            "counts of the reference",
            change={
                "return (ours & theirs).total(), ours.total()": "return sum(count for gram, count in theirs.items() if gram in ours), ours.total()"
            },
            says="the reference's n-grams are counted: count those of the hypothesis, at most as often as in the reference",
            gravity="idea",
        ),
        Mistake(
            "order exchanged",
            change={"return (ours & theirs).total(), ours.total()": "return ours.total(), (ours & theirs).total()"},
            says="the order is (matches, total)",
            gravity="idea",
        ),
        Mistake(
            "all orders",
            change={
                "return (ours & theirs).total(), ours.total()": "pairs = [(Counter(tuple(hypothesis[i : i + k]) for i in range(len(hypothesis) - k + 1)), Counter(tuple(reference[i : i + k]) for i in range(len(reference) - k + 1))) for k in range(1, n + 1)]\n    return sum((a & b).total() for a, b in pairs), sum(a.total() for a, _ in pairs)"
            },
            says="all orders up to n are counted: count sequences of exactly n words",
            gravity="idea",
        ),
        Mistake(
            "reference emptied",
            change={
                "return (ours & theirs).total(), ours.total()": "result = (ours & theirs).total(), ours.total()\n    reference.clear()\n    return result"
            },
            hint="your code changes its input in place",
            gravity="edge",
        ),
        Mistake(
            "matches alone",
            change={"return (ours & theirs).total(), ours.total()": "return (ours & theirs).total()"},
            says="only the matches come back: return (matches, total)",
            gravity="idea",
        ),
        Mistake(
            "misses",
            change={"(ours & theirs).total()": "(ours - theirs).total()"},
            says="the n-grams that do *not* match are counted",
            gravity="idea",
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
        Mistake("0 to 1", change={"100 * math.exp": "math.exp"}, says="the scale is 0 to 100, not 0 to 1", gravity="idea"),
        Mistake(
            "no brevity penalty",
            change={"min(0.0, 1 - r / c)": "0.0"},
            says="the brevity penalty has no effect: translations that are too short are not punished",
            gravity="part",
        ),
        Mistake(
            "penalty c/r",
            change={"min(0.0, 1 - r / c)": "math.log(min(1.0, c / r))"},
            says="the brevity penalty is e^(1 − r/c), not c/r",
            gravity="part",
        ),
        Mistake(
            "c and r exchanged",
            change={"min(0.0, 1 - r / c)": "(1 - c / r)"},
            says="the brevity penalty has c and r swapped",
            gravity="part",
        ),
        Mistake(
            "too long is penalised",
            change={"min(0.0, 1 - r / c)": "1 - max(r / c, c / r)"},
            says="a translation that is too long is penalised, too: the penalty is 1 for c ≥ r",
            gravity="part",
        ),
        Mistake("no fourth root", change={"/ total) / 4": "/ total)"}, says="the fourth root is missing", gravity="idea"),
        Mistake(
            "orders 1 to 3",
            change={"(1, 2, 3, 4)": "(1, 2, 3)", "/ total) / 4": "/ total) / 3"},
            says="the orders are 1 to 4, not 1 to 3",
            gravity="idea",
        ),
        Mistake(
            "no smoothing",
            change={"        if matches == 0:\n            halves /= 2\n": "        if matches == 0:\n            return 0.0\n"},
            says="a missing order makes the whole score 0: smooth it",
            gravity="part",
        ),
        Mistake(
            "the 2 is missing",
            change={"            halves /= 2\n": "            halves /= 1\n"},
            says="the smoothed precision is 1/(2 t_n): the 2 is missing",
            gravity="part",
        ),
        Mistake(
            "every order 1/2",
            change={"            halves /= 2\n": "            halves = 0.5\n"},
            says="every order without a match gets 1/(2 t): the second gets 1/(4 t), the third 1/(8 t)",
            gravity="part",
        ),
        Mistake(
            "cut at blanks",
            change={"tokenize_13a(ours), tokenize_13a(theirs)": "ours.split(), theirs.split()"},
            says="the sentences are split at spaces: use tokenize_13a",
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
            says="this is the mean of the sentences' scores: sum the counts over the corpus first",
            gravity="idea",
        ),
        Mistake(
            "no zero rule",
            change={"        if total == 0 or (n == 1 and matches == 0):\n            return 0.0\n": ""},
            says="the rule for zero counts is missing: where no word matches, or a total is 0, BLEU is 0",
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
            says="the precisions are averaged: take the fourth root of their product",
            gravity="idea",
        ),
        Mistake(
            "decimal logarithm",
            change={"math.log((matches or halves) / total)": "math.log10((matches or halves) / total)"},
            says="the logarithm is to base 10, and exp does not undo it: use math.log",
            gravity="idea",
        ),
        Mistake(
            "third root",
            change={"/ total) / 4": "/ total) / 3"},
            says="the third root is taken: there are four precisions",
            gravity="idea",
        ),
        Mistake(
            "orders 2 to 4",
            change={"in (1, 2, 3, 4)": "in (2, 3, 4)"},
            says="single words are left out: the orders are 1 to 4",
            gravity="idea",
        ),
        Mistake(
            "orders 1 to 5",
            change={"in (1, 2, 3, 4)": "in (1, 2, 3, 4, 5)", "/ total) / 4": "/ total) / 5"},
            says="five orders are used: they are 1 to 4",
            gravity="idea",
        ),
        Mistake(
            "order 4 alone",
            change={"in (1, 2, 3, 4)": "in (4,)", "/ total) / 4": "/ total)"},
            says="only order 4 counts: use orders 1 to 4",
            gravity="idea",
        ),
        Mistake(
            "one word alone",
            change={"in (1, 2, 3, 4)": "in (1,)", "/ total) / 4": "/ total)"},
            says="only single words count: use orders 1 to 4",
            gravity="idea",
        ),
        Mistake(
            "penalty twice",
            change={"min(0.0, 1 - r / c)": "2 * min(0.0, 1 - r / c)"},
            says="the brevity penalty is applied twice",
            gravity="part",
        ),
        Mistake(
            "letters counted",
            change={
                "sum(len(ours) for ours, _ in cut), sum(len(theirs) for _, theirs in cut)": "sum(map(len, hypotheses)), sum(map(len, references))"
            },
            says="c and r are numbers of letters: count the words of tokenize_13a",
            gravity="idea",
        ),
        Mistake(
            "penalty inverted, cut off",
            change={"min(0.0, 1 - r / c)": "min(0.0, 1 - c / r)"},
            says="the brevity penalty has c and r swapped: it punishes long translations and lets short ones go",
            gravity="part",
        ),
        Mistake(
            "penalty without its limit",
            change={"min(0.0, 1 - r / c)": "(1 - r / c)"},
            says="a translation that is too long gets a bonus: the penalty is 1 for c ≥ r",
            gravity="part",
        ),
        Mistake(
            "penalty the wrong way",
            change={"min(0.0, 1 - r / c)": "max(0.0, 1 - r / c)"},
            says="short translations are not punished, and long ones get a bonus: the penalty is min(1, e^(1 − r/c))",
            gravity="part",
        ),
        Mistake(
            "penalty by sentences",
            change={
                "min(0.0, 1 - r / c)": "sum(min(0.0, 1 - len(theirs) / len(ours)) if ours else 0.0 for ours, theirs in cut) / len(cut)"
            },
            says="the brevity penalty is averaged over sentences: c and r are sums over the corpus",
            gravity="part",
        ),
        Mistake(
            "plus one",
            change={"math.log((matches or halves) / total)": "math.log((matches + 1) / (total + 1))"},
            says="one is added to matches and totals: only an order without a match is smoothed",
            gravity="idea",
        ),
        Mistake(
            "plus one above words",
            change={"math.log((matches or halves) / total)": "math.log((matches + (n > 1)) / (total + (n > 1)))"},
            says="one is added to matches and totals of the orders 2 to 4: only an order without a match is smoothed",
            gravity="idea",
        ),
        Mistake(
            "smoothed by almost 0",
            change={"(matches or halves) / total": "(matches or 1e-9) / total"},
            says="an order without a match gets a tiny precision: it gets 1/(2 t_n), the next one 1/(4 t_n)",
            gravity="part",
        ),
        Mistake(
            "smoothed by its order",
            change={"halves /= 2": "halves = 0.5**n"},
            says="the smoothing goes by the order n: the *first* order without a match gets 1/(2 t), whatever n is",
            gravity="part",
        ),
        Mistake(
            "missing orders left out",
            change={
                "        log_precision += math.log((matches or halves) / total) / 4": "        if matches:\n            log_precision += math.log(matches / total) / 4"
            },
            says="an order without matches is left out of the product: smooth it instead",
            gravity="part",
        ),
        Mistake(
            "small letters",
            change={"tokenize_13a(ours), tokenize_13a(theirs)": "tokenize_13a(ours.lower()), tokenize_13a(theirs.lower())"},
            says="capital letters are lost: `Le` and `le` are two words",
            gravity="part",
        ),
        Mistake(
            "one side cut",
            change={"tokenize_13a(theirs)": "theirs.split()"},
            says="tokenize_13a is used on one side only",
            gravity="part",
        ),
        Mistake(
            "the other side cut",
            change={"tokenize_13a(ours), tokenize": "ours.split(), tokenize"},
            says="tokenize_13a is used on one side only",
            gravity="part",
        ),
        Mistake(
            "letters",
            change={"tokenize_13a(ours), tokenize_13a(theirs)": "list(ours), list(theirs)"},
            says="letters are compared: cut the sentences into words with tokenize_13a",
            gravity="idea",
        ),
        Mistake(
            "sides exchanged",
            change={"ngram_matches(ours, theirs, n)": "ngram_matches(theirs, ours, n)"},
            says="the totals are those of the references: hypothesis first, then reference",
            gravity="part",
        ),
        Mistake(
            "two decimals",
            change={
                "return 100 * math.exp(min(0.0, 1 - r / c) + log_precision)": "return round(100 * math.exp(min(0.0, 1 - r / c) + log_precision), 2)"
            },
            hint="the values are rounded to 2 decimals",
            gravity="edge",
        ),
        Mistake(
            "each pair once",
            change={"zip(hypotheses, references, strict=True)": "dict(zip(hypotheses, references)).items()"},
            says="a hypothesis that occurs twice is counted once: count every pair",
            gravity="idea",
        ),
        Mistake(
            "one long sentence",
            change={"cut = [": 'hypotheses, references = [" ".join(hypotheses)], [" ".join(references)]\n    cut = ['},
            says="the corpus is joined to one long sentence, so n-grams run across its sentences: count sentence by sentence",
            gravity="idea",
        ),
        Mistake(
            "not clipped",
            change={
                "counts = [ngram_matches(ours, theirs, n) for ours, theirs in cut]": "grams = [[[tuple(z[i : i + n]) for i in range(len(z) - n + 1)] for z in pair] for pair in cut]\n        counts = [(sum(gram in b for gram in a), len(a)) for a, b in grams]"
            },
            says="the matches are not clipped: use `ngram_matches`",
            gravity="idea",
        ),
        Mistake(
            "totals of words",
            change={"sum(t for _, t in counts)": "c"},
            says="the precisions use the wrong totals: t_n is the number of n-grams, which falls with n",
            gravity="idea",
        ),
        Mistake(
            "precisions averaged over sentences",
            change={
                "matches, total = sum(m for m, _ in counts), sum(t for _, t in counts)": "matches, total = sum(m / t for m, t in counts if t), sum(t > 0 for _, t in counts)"
            },
            says="the precisions are averaged over sentences: sum matches and totals over the corpus first",
            gravity="idea",
        ),
        Mistake(
            "no rule for words",
            change={"if total == 0 or (n == 1 and matches == 0):\n            return 0.0": "if total == 0:\n            return 0.0"},
            says="where no word matches the score is smoothed: with m₁ = 0 BLEU is 0",
            gravity="edge",
        ),
        Mistake(
            "no rule for totals",
            change={
                "if total == 0 or (n == 1 and matches == 0):\n            return 0.0": "if n == 1 and matches == 0:\n            return 0.0\n        if total == 0:\n            continue"
            },
            says="an order without any n-gram is left out: where a total is 0 BLEU is 0",
            gravity="edge",
        ),
        Mistake(
            "empty ones left out",
            change={"strict=True)]": "strict=True) if ours]"},
            says="pairs with an empty translation are left out: their references count in r",
            gravity="edge",
        ),
        Mistake(
            "exact sentences",
            code="""
def bleu(hypotheses, references):
    return 100.0 * sum(a == b for a, b in zip(hypotheses, references)) / len(hypotheses)
""",
            says="this is the share of sentences that are exactly right: count n-grams",
            gravity="idea",
        ),
        Mistake(
            "falling weights",
            change={"/ total) / 4": "/ total) * (0.4, 0.3, 0.2, 0.1)[n - 1]"},
            says="the orders have different weights: each has ¼",
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
            says="the head is counted too: it shares the target embedding's weights",
            gravity="part",
        ),
        Mistake(
            "no final norms",
            change={" + 2 * norm\n    ### END": "\n    ### END"},
            says="the final norms are missing: encoder and decoder each end with one",
            gravity="part",
        ),
        Mistake(
            "one final norm",
            change={" + 2 * norm\n    ### END": " + norm\n    ### END"},
            says="2D numbers are missing: encoder and decoder each end with a LayerNorm, which has a gain and a shift",
            gravity="part",
        ),
        Mistake(
            "no biases",
            change={"4 * (D * D + D), 8 * D * D + 5 * D": "4 * D * D, 8 * D * D"},
            says="the biases are missing",
            gravity="idea",
        ),
        Mistake(
            "no cross-attention",
            change={"2 * attention + feed_forward": "attention + feed_forward"},
            says="cross-attention is missing: a decoder block has two attention layers",
            gravity="idea",
        ),
        Mistake(
            "two norms",
            change={"feed_forward + 3 * norm": "feed_forward + 2 * norm"},
            says="2 D L numbers are missing: a decoder block has three norms, and feed-forward has 4D + D biases",
            gravity="idea",
        ),
        Mistake(
            "L in all",
            change={"L * (encoder_block + decoder_block)": "L * (encoder_block + decoder_block) // 2"},
            says="there are L blocks on each side, not L in all",
            gravity="idea",
        ),
        Mistake(
            "hidden width D",
            change={"8 * D * D + 5 * D": "2 * D * D + 5 * D"},
            says="feed-forward goes through 4D hidden numbers: two matrices of D × 4D",
            gravity="idea",
        ),
        Mistake(
            "two biases of width D",
            change={"8 * D * D + 5 * D": "8 * D * D + 2 * D"},
            says="feed-forward has 4D + D biases: the hidden layer has 4D",
            gravity="idea",
        ),
        Mistake(
            "biases of width 4D",
            change={"8 * D * D + 5 * D": "8 * D * D + 8 * D"},
            says="feed-forward has 4D + D biases, not twice 4D",
            gravity="idea",
        ),
        Mistake(
            "one matrix of feed-forward",
            change={"8 * D * D + 5 * D": "4 * D * D + 5 * D"},
            says="feed-forward has two matrices, D × 4D and 4D × D",
            gravity="idea",
        ),
        Mistake(
            "three matrices of attention",
            change={"4 * (D * D + D)": "3 * (D * D + D)"},
            says="an attention layer has four matrices: queries, keys, values and output",
            gravity="idea",
        ),
        Mistake(
            "no biases in attention",
            change={"4 * (D * D + D)": "4 * D * D"},
            says="the biases of attention are missing",
            gravity="idea",
        ),
        Mistake(
            "no biases in feed-forward",
            change={"8 * D * D + 5 * D": "8 * D * D"},
            says="10 D L numbers are missing: the norms of the blocks, or the biases of feed-forward, have just as many",
            gravity="idea",
        ),
        Mistake(
            "no norms in the blocks",
            change={" + 2 * norm\n    dec": "\n    dec", " + 3 * norm\n": "\n"},
            says="10 D L numbers are missing: the norms of the blocks, or the biases of feed-forward, have just as many",
            gravity="idea",
        ),
        Mistake(
            "gain alone",
            change={", 2 * D\n": ", D\n"},
            says="a LayerNorm has 2D numbers, a gain and a shift",
            gravity="idea",
        ),
        Mistake(
            "cross-attention on both sides",
            change={"encoder_block = attention": "encoder_block = 2 * attention"},
            says="an encoder block has one attention layer: only decoder blocks look across",
            gravity="idea",
        ),
        Mistake(
            "three norms in an encoder block",
            change={"feed_forward + 2 * norm\n    dec": "feed_forward + 3 * norm\n    dec"},
            says="an encoder block has two norms",
            gravity="idea",
        ),
        Mistake(
            "source twice",
            change={"(source_size + target_size) * D": "2 * source_size * D"},
            says="the source embedding is counted twice: the target's has `target_size` rows",
            gravity="part",
        ),
        Mistake(
            "one vocabulary",
            change={"(source_size + target_size) * D": "max(source_size, target_size) * D"},
            says="one embedding is counted: the source and the target have one each",
            gravity="part",
        ),
        Mistake(
            "source embedding only",
            change={"(source_size + target_size) * D": "source_size * D"},
            says="only the source embedding is counted: the target has one, too",
            gravity="part",
        ),
        Mistake(
            "target embedding only",
            change={"(source_size + target_size) * D": "target_size * D"},
            says="only the target embedding is counted: the source has one, too",
            gravity="part",
        ),
        Mistake(
            "head and its bias",
            change={"(source_size + target_size) * D": "(source_size + 2 * target_size) * D + target_size"},
            says="the head is counted too, with a bias: it shares the target embedding's weights and has no bias",
            gravity="part",
        ),
        Mistake(
            "a bias of the head",
            change={"(source_size + target_size) * D": "(source_size + target_size) * D + target_size"},
            says="a bias of the head is counted: it has none",
            gravity="part",
        ),
        Mistake(
            "decoder only",
            change={"L * (encoder_block + decoder_block)": "L * decoder_block"},
            says="the encoder's blocks are missing",
            gravity="idea",
        ),
        Mistake(
            "encoder only",
            change={"L * (encoder_block + decoder_block)": "L * encoder_block"},
            says="the decoder's blocks are missing",
            gravity="idea",
        ),
        Mistake(
            "one block each",
            change={"L * (encoder_block + decoder_block)": "(encoder_block + decoder_block)"},
            says="L is not used: there are L blocks on each side",
            gravity="idea",
        ),
        Mistake(
            "final norms in every block",
            change={"L * (encoder_block + decoder_block) + 2 * norm": "L * (encoder_block + decoder_block + 2 * norm)"},
            says="the final norms are counted in every block: encoder and decoder end with one each",
            gravity="idea",
        ),
        Mistake(
            "three final norms",
            change={"(encoder_block + decoder_block) + 2 * norm": "(encoder_block + decoder_block) + 3 * norm"},
            says="three final norms are counted: encoder and decoder end with one each",
            gravity="part",
        ),
        Mistake(
            "a float",
            change={"return (source_size": "return 1.0 * (source_size"},
            hint="a number of parameters is an int",
            gravity="edge",
        ),
        Mistake(
            "twice the decoder",
            change={"L * (encoder_block + decoder_block)": "2 * L * decoder_block"},
            says="encoder blocks are counted like decoder blocks: they have no cross-attention and two norms",
            gravity="idea",
        ),
        Mistake(
            "twice the encoder",
            change={"L * (encoder_block + decoder_block)": "2 * L * encoder_block"},
            says="decoder blocks are counted like encoder blocks: they have cross-attention and a third norm",
            gravity="idea",
        ),
        Mistake(
            "hidden width of the block",
            change={"8 * D * D + 5 * D": "16 * D * D + 5 * D"},
            says="feed-forward has two matrices of 4D² numbers each",
            gravity="idea",
        ),
        Mistake(
            "one bias for attention",
            change={"4 * (D * D + D)": "4 * D * D + D"},
            says="an attention layer has four biases, one for each matrix",
            gravity="idea",
        ),
        Mistake(
            "hidden width 2D",
            change={"8 * D * D + 5 * D": "4 * D * D + 3 * D"},
            says="feed-forward goes through 4D hidden numbers, not 2D",
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
        Mistake(
            "no base row",
            change={"[{}, *changes]": "changes"},
            says="the base has no row: it comes first, then one row for each change",
            gravity="idea",
        ),
        Mistake(
            "changes pile up",
            change={"        row = {**base, **change}": "        row = base = {**base, **change}"},
            says="a change is carried over into the next row: every row starts from the base",
            gravity="idea",
        ),
        Mistake(
            "carried over",
            change={
                "    rows = []\n": "    rows, state = [], dict(base)\n",
                "row = {**base, **change}": "row = {**state, **change}\n        state = dict(row)",
            },
            says="a change is carried over into the next row: every row starts from the base",
            gravity="idea",
        ),
        Mistake("base has no name", change={' or "base"': ""}, says="the base is called base", gravity="part"),
        Mistake(
            "parameters of the base",
            change={NEXT: NEXT.replace('row["width"], row["layers"]', 'base["width"], base["layers"]')},
            says="the number of parameters is the base's: use the row's own settings",
            gravity="part",
        ),
        Mistake(
            "derived widths of the base",
            change={'row["width"] // row["heads"], 4 * row["width"]': 'base["width"] // base["heads"], 4 * base["width"]'},
            says="head_width and feed_forward are those of the base: use the row's own settings",
            gravity="part",
        ),
        Mistake(
            "no check of heads",
            change={'if row["width"] % row["heads"]:': "if False:"},
            says="a width that the heads do not divide is let through: raise a ValueError",
            gravity="part",
        ),
        Mistake(
            "no check of names",
            change={"if key not in base:": "if False:", "{base[key]} →": "{base.get(key)} →"},
            says="a setting that `base` does not have is let through: raise a KeyError, or a typo would pass as a run",
            gravity="part",
        ),
        Mistake(
            "base changed",
            change={"        row = {**base, **change}": "        base.update(change)\n        row = dict(base)"},
            says="a change is carried over into the next row: every row starts from the base",
            gravity="idea",
        ),
        Mistake(
            "heads of the base checked",
            change={'if row["width"] % row["heads"]:': 'if base["width"] % row["heads"]:'},
            says="the heads are checked against the width of the base: use the row's own width",
            gravity="edge",
        ),
        Mistake(
            "head width of the base",
            change={'row["width"] // row["heads"], 4': 'base["width"] // base["heads"], 4'},
            says="head_width is that of the base: use the row's own width and heads",
            gravity="part",
        ),
        Mistake(
            "heads of the base",
            change={'row["width"] // row["heads"], 4': 'row["width"] // base["heads"], 4'},
            says="head_width uses the heads of the base: use the row's own",
            gravity="part",
        ),
        Mistake(
            "feed-forward of the base",
            change={'4 * row["width"]': '4 * base["width"]'},
            says="feed_forward is that of the base: use the row's own width",
            gravity="part",
        ),
        Mistake(
            "feed-forward of twice the width",
            change={'4 * row["width"]': '2 * row["width"]'},
            says="feed_forward is twice the width: it is four times the width",
            gravity="part",
        ),
        Mistake(
            "layers of the base",
            change={'row["width"], row["layers"])': 'row["width"], base["layers"])'},
            says="the number of parameters uses the layers of the base: use the row's own",
            gravity="part",
        ),
        Mistake(
            "width of the base",
            change={'target_size, row["width"], row["layers"])': 'target_size, base["width"], row["layers"])'},
            says="the number of parameters uses the width of the base: use the row's own",
            gravity="part",
        ),
        Mistake(
            "target vocabulary twice",
            change={"parameter_count(source_size, target_size": "parameter_count(target_size, target_size"},
            says="the number of parameters uses the target vocabulary for both sides",
            gravity="part",
        ),
        Mistake(
            "an arrow of two signs",
            change={"→": "->"},
            says="the arrow in the names is `->`: it is `→`",
            gravity="part",
        ),
        Mistake(
            "names without blanks",
            change={" → ": "→"},
            says="the blanks around the arrow are missing in the names: `width 128 → 64`",
            gravity="part",
        ),
        Mistake(
            "an equals sign",
            change={"{key} {base[key]} → {value}": "{key}={base[key]} → {value}"},
            says="the names have `=` after the setting: it is a blank, `width 128 → 64`",
            gravity="part",
        ),
        Mistake(
            "semicolons",
            change={'", ".join': '"; ".join'},
            says="the parts of a name are joined by `; `: join them by `, `",
            gravity="part",
        ),
        Mistake(
            "commas without blanks",
            change={'", ".join': '",".join'},
            says="the parts of a name are joined by a comma without a blank: join them by `, `",
            gravity="part",
        ),
        Mistake(
            "last change named",
            change={
                '", ".join(f"{key} {base[key]} → {value}" for key, value in change.items())': '"".join([f"{key} {base[key]} → {value}" for key, value in change.items()][-1:])'
            },
            says="a name has the last change only: name every setting that was changed",
            gravity="part",
        ),
        Mistake(
            "first change named",
            change={
                '", ".join(f"{key} {base[key]} → {value}" for key, value in change.items())': '"".join([f"{key} {base[key]} → {value}" for key, value in change.items()][:1])'
            },
            says="a name has the first change only: name every setting that was changed",
            gravity="part",
        ),
        Mistake(
            "new values alone",
            change={"{key} {base[key]} → {value}": "{key} → {value}"},
            says="the old value is missing in the names: `width 128 → 64`",
            gravity="part",
        ),
        Mistake(
            "exchanged in names",
            change={"{base[key]} → {value}": "{value} → {base[key]}"},
            says="old and new value are swapped: the base's comes first",
            gravity="part",
        ),
        Mistake(
            "sorted names",
            change={"for key, value in change.items())": "for key, value in sorted(change.items()))"},
            says="the settings in a name are sorted: keep the order of the change's keys",
            gravity="part",
        ),
        Mistake(
            "in the base's order",
            change={"for key, value in change.items()) or": "for key, value in row.items() if key in change) or"},
            says="the settings in a name are in the base's order: keep the order of the change's keys",
            gravity="part",
        ),
        Mistake(
            "old value of the row above",
            change={
                "    rows = []\n": "    rows, above = [], dict(base)\n",
                "{base[key]} → {value}": "{above[key]} → {value}",
                "        rows.append(row)": "        above = {**base, **change}\n        rows.append(row)",
            },
            says="the old value is the row above's: it is the base's",
            gravity="part",
        ),
        Mistake(
            "base last",
            change={"[{}, *changes]": "[*changes, {}]"},
            says="the base comes last: it is the first row",
            gravity="idea",
        ),
        Mistake(
            "changes not applied",
            change={"row = {**base, **change}": "row = dict(base)"},
            says="the changes are not applied: a row has the changed settings",
            gravity="idea",
        ),
        Mistake(
            "base wins",
            change={"row = {**base, **change}": "row = {**change, **base}"},
            says="the changes are not applied: a row has the changed settings",
            gravity="idea",
        ),
        Mistake(
            "one dictionary for all",
            change={
                "    rows = []\n": "    rows, row = [], {}\n",
                "row = {**base, **change}": "row.clear()\n        row.update({**base, **change})",
            },
            says="all rows are the same dictionary: make a new one for each run",
            gravity="idea",
        ),
        Mistake(
            "changed settings alone",
            change={
                "rows.append(row)": "rows.append(row if not change else {key: row[key] for key in row if key in change or key not in base})"
            },
            says="a row has only what was changed: it has all settings of the run",
            gravity="idea",
        ),
        Mistake(
            "without the settings",
            change={"rows.append(row)": "rows.append({key: row[key] for key in row if key not in base})"},
            says="the settings themselves are missing in the rows: a row has all of them",
            gravity="idea",
        ),
        Mistake(
            "a ValueError for names",
            change={"raise KeyError": "raise ValueError"},
            says="an unknown setting raises a ValueError: it is a KeyError",
            gravity="part",
        ),
        Mistake(
            "a KeyError for widths",
            change={"raise ValueError": "raise KeyError"},
            says="a width that cannot be cut raises a KeyError: it is a ValueError",
            gravity="part",
        ),
        Mistake(
            "an assert",
            change={'        if row["width"] % row["heads"]:\n': '        assert row["width"] % row["heads"] == 0\n        if False:\n'},
            says="a width that cannot be cut raises an AssertionError: it is a ValueError",
            gravity="part",
        ),
        Mistake(
            "bad ones left out",
            change={
                "            raise ValueError(f\"a width of {row['width']} cannot be cut into {row['heads']} equal heads\")": "            continue"
            },
            says="a width that cannot be cut is left out silently: raise a ValueError",
            gravity="part",
        ),
        Mistake(
            "base not checked",
            change={'        if row["width"] % row["heads"]:': '        if change and row["width"] % row["heads"]:'},
            says="the base's own heads are not checked: a ValueError is due there, too",
            gravity="edge",
        ),
        Mistake(
            "first setting checked",
            change={"for key in change:": "for key in list(change)[:1]:", "{base[key]} →": "{base.get(key)} →"},
            says="only the first setting of a change is looked up in `base`: check every one",
            gravity="edge",
        ),
        Mistake(
            "changes inserted",
            change={"    rows = []\n": "    rows = []\n    changes.insert(0, {})\n", "[{}, *changes]": "changes"},
            hint="your code changes `base` or `changes`",
            gravity="edge",
        ),
        Mistake(
            "every change twice",
            change={"[{}, *changes]": "[{}, *changes, *changes]"},
            says="every change has two rows: one is enough",
            gravity="idea",
        ),
        Mistake(
            "one row per setting",
            change={"[{}, *changes]": "[{}, *({key: value} for change in changes for key, value in change.items())]"},
            says="a change of two settings is cut into two rows: it is one run",
            gravity="idea",
        ),
        Mistake(
            "Base with a capital",
            change={'or "base"\n': 'or "Base"\n'},
            says="the base is called base, with a small letter",
            gravity="part",
        ),
        Mistake(
            "unknown settings dropped",
            change={
                '                raise KeyError(f"{key} is not a setting")': "                change = {name: value for name, value in change.items() if name in base}"
            },
            says="a setting that `base` does not have is dropped silently: raise a KeyError",
            gravity="part",
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
        Mistake(
            "four runs",
            change={
                "    return [\n": '    return [\n        {"change": {"layers": 1}, "why": "a b c d e f g h i j k", "loss": "same", "bleu": "same"},\n'
            },
            hint="propose three runs",
            gravity="idea",
        ),
        Mistake(
            "nine words",
            change={
                "every sentence is new to the model, so there is little to overfit in a few passes and noise only slows it down": "every sentence is new so there is little overfitting"
            },
            hint="say why in at least ten words",
            gravity="part",
        ),
        Mistake(
            "a word for a change",
            change={'"change": {"dropout": 0.35}': '"change": "dropout"'},
            hint="a change names settings of BASE",
            gravity="idea",
        ),
        Mistake(
            "no layers left",
            change={'"change": {"dropout": 0.35}': '"change": {"layers": base["layers"] - 2}'},
            hint="these settings cannot be trained",
            gravity="part",
        ),
        Mistake(
            "the other base's width",
            change={'"change": {"dropout": 0.35}': '"change": {"width": 256}'},
            hint="with a different base a proposal changes nothing",
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
            says="these are the claims that *agree* with the table",
            gravity="idea",
        ),
        Mistake("counted from 1", change={"enumerate(claims)": "enumerate(claims, 1)"}, says="indices are counted from 0", gravity="idea"),
        Mistake(
            "the claims themselves",
            change={"[i for i, (run, setting, value)": "[(run, setting, value) for i, (run, setting, value)"},
            says="the claims themselves come back: return their indices",
            gravity="idea",
        ),
        Mistake(
            "only the first",
            change={"return places, names": "return places[:1], names"},
            says="only the first contradiction is found",
            gravity="idea",
        ),
        Mistake(
            "heads only",
            change={' or row["feed_forward"] != 4 * row["width"]': ""},
            says="the feed-forward width must be four times the width: check that, too",
            gravity="part",
        ),
        Mistake(
            "feed-forward only",
            change={'row["width"] % row["heads"] or ': ""},
            says="the heads must divide the width: check that, too",
            gravity="part",
        ),
        Mistake(
            "unknown passed over",
            change={
                "runs.get(run, {}).get(setting, missing) != value": "run in runs and setting in runs[run] and runs[run][setting] != value"
            },
            says="unknown runs and settings are ignored: a claim about them contradicts the table",
            gravity="part",
        ),
        Mistake(
            "any row will do",
            change={"runs.get(run, {}).get(setting, missing) != value": "value not in [row.get(setting, missing) for row in table]"},
            says="a value counts as right if any row has it: look at the claim's own run",
            gravity="idea",
        ),
        Mistake(
            "None for missing",
            change={"missing = object()": "missing = None"},
            says="a missing setting counts as None, so a claimed None agrees with it: a setting that is not a column contradicts every claim",
            gravity="edge",
        ),
        Mistake(
            "unknown raises",
            change={"runs.get(run, {}).get(setting, missing)": "runs[run][setting]"},
            says="a run or a setting that the table does not have raises a KeyError: it contradicts the table, like a wrong value",
            gravity="part",
        ),
        Mistake(
            "named twice",
            change={
                'names = [row["run"] for row in table if row["width"] % row["heads"] or row["feed_forward"] != 4 * row["width"]]': 'names = [row["run"] for row in table if row["width"] % row["heads"]] + [row["run"] for row in table if row["feed_forward"] != 4 * row["width"]]'
            },
            says="first come the rows whose heads do not fit, then those whose feed-forward does not: keep the table's order, and name a row once",
            gravity="part",
        ),
        Mistake(
            "sorted names",
            change={"return places, names": "return places, sorted(names)"},
            says="the names are sorted: keep the table's order",
            gravity="part",
        ),
        Mistake(
            "both faults",
            change={'row["heads"] or row': 'row["heads"] and row'},
            says="only rows with both faults are named: one is enough",
            gravity="part",
        ),
        Mistake(
            "indices of rows",
            change={'names = [row["run"] for row in table': "names = [i for i, row in enumerate(table)"},
            says="the indices of the rows come back: return the names of the runs",
            gravity="part",
        ),
        Mistake(
            "whole rows",
            change={'names = [row["run"] for row in table': "names = [row for row in table"},
            says="the whole rows come back: return the names of the runs",
            gravity="part",
        ),
        Mistake(
            "good rows",
            change={
                'if row["width"] % row["heads"] or row["feed_forward"] != 4 * row["width"]]': 'if not (row["width"] % row["heads"] or row["feed_forward"] != 4 * row["width"])]'
            },
            says="the names of the good rows come back",
            gravity="part",
        ),
        Mistake(
            "all rows",
            change={' if row["width"] % row["heads"] or row["feed_forward"] != 4 * row["width"]]': "]"},
            says="every row's name comes back: only those that contradict themselves",
            gravity="part",
        ),
        Mistake(
            "feed-forward by heads",
            change={'!= 4 * row["width"]': '!= 4 * row["width"] // row["heads"] * 8'},
            says="feed-forward is compared with something that depends on the heads: it is 4 × width",
            gravity="part",
        ),
        Mistake(
            "no rows",
            change={"return places, names": "return places, []"},
            says="the rows are not checked against themselves",
            gravity="part",
        ),
        Mistake(
            "results exchanged",
            change={"return places, names": "return names, places"},
            says="names and indices are exchanged: the indices come first",
            gravity="idea",
        ),
        Mistake(
            "indices alone",
            change={"return places, names": "return places"},
            says="only the indices come back: return them and the names",
            gravity="idea",
        ),
        Mistake(
            "first row for all",
            change={'runs = {row["run"]: row for row in table}': 'runs = {row["run"]: table[0] for row in table}'},
            says="every claim is compared with the first row: look up the claim's own run",
            gravity="idea",
        ),
        Mistake(
            "any setting of the run",
            change={"runs.get(run, {}).get(setting, missing) != value": "value not in runs.get(run, {}).values()"},
            says="a value counts as right if the run has it for any setting: look at the claim's own setting",
            gravity="idea",
        ),
        Mistake(
            "whole numbers",
            change={
                "runs.get(run, {}).get(setting, missing) != value": "run not in runs or setting not in runs[run] or (setting != 'run' and int(runs[run][setting]) != int(value or 0))"
            },
            says="values are cut to whole numbers, so that dropout .1 and .35 are equal: compare them as they are",
            gravity="idea",
        ),
        Mistake(
            "larger only",
            change={
                "runs.get(run, {}).get(setting, missing) != value": "run not in runs or setting not in runs[run] or (setting != 'run' and value is not None and runs[run][setting] > value)"
            },
            says="only claims that are too small are found: a value that is too large contradicts the table, too",
            gravity="idea",
        ),
        Mistake(
            "smaller only",
            change={
                "runs.get(run, {}).get(setting, missing) != value": "run not in runs or setting not in runs[run] or (setting != 'run' and value is not None and runs[run][setting] < value)"
            },
            says="only claims that are too large are found: a value that is too small contradicts the table, too",
            gravity="idea",
        ),
        Mistake(
            "unknown runs passed over",
            change={"if runs.get(run, {}).get(setting, missing) != value": "if run in runs and runs[run].get(setting, missing) != value"},
            says="a run that the table does not have is ignored: a claim about it contradicts the table",
            gravity="part",
        ),
        Mistake(
            "unknown settings passed over",
            change={
                "if runs.get(run, {}).get(setting, missing) != value": "if runs.get(run, {}).get(setting, value if run in runs else missing) != value"
            },
            says="a setting that the table does not have is ignored: a claim about it contradicts the table",
            gravity="part",
        ),
        Mistake(
            "answers for every claim",
            change={
                "places = [i for i, (run, setting, value) in enumerate(claims) if runs": "places = [runs",
                "!= value]": "!= value for run, setting, value in claims]",
            },
            says="there is a True or False for every claim: return the indices of those that the table contradicts",
            gravity="idea",
        ),
        Mistake(
            "how many",
            change={"return places, names": "return len(places), names"},
            says="the number of contradictions comes back: return their indices",
            gravity="idea",
        ),
        Mistake(
            "names of runs for claims",
            change={"places = [i for i, (run": "places = [run for i, (run"},
            says="the runs of the claims come back: return the claims' indices",
            gravity="idea",
        ),
        Mistake(
            "names from the end",
            change={"return places, names": "return places, names[::-1]"},
            says="the names come in reverse: keep the table's order",
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
        Right("in another order", change={"return places, names": "return sorted(places, key=lambda i: claims[i][0]), names"}),
    ],
    "dropout": [
        Mistake(
            "the report's mistake",
            change={'"training_mean": 1.0': '"training_mean": survives'},
            says="training_mean: this is the report's mistake. What survives is divided by 1 − p",
            gravity="idea",
        ),
        Mistake(
            "mean of the survivors",
            change={'"training_mean": 1.0': '"training_mean": 1 / survives'},
            says="training_mean: most of the time it is dropped somewhere, and then 0 comes out",
            gravity="idea",
        ),
        Mistake(
            "evaluation scaled",
            change={'"evaluation": 1.0': '"evaluation": survives'},
            says="evaluation: nothing is scaled in evaluation, because training has done it",
            gravity="idea",
        ),
        Mistake(
            "dropped somewhere",
            change={'"never_dropped": survives': '"never_dropped": 1 - survives'},
            says="never_dropped: this is the probability of being dropped somewhere",
            gravity="idea",
        ),
        Mistake(
            "added up",
            change={"(1 - p) ** layers": "1 - p * layers"},
            says="never_dropped: the layers do not add up, they multiply",
            gravity="idea",
        ),
        Mistake(
            "second moment",
            change={"1 / survives - 1": "1 / survives"},
            says="training_variance: this is E[y²]: subtract the square of the mean",
            gravity="part",
        ),
        Mistake(
            "variances added",
            change={"1 / survives - 1": "layers * p / (1 - p)"},
            says="training_variance: the variances of the layers do not add up: compute E[y²] of the whole chain",
            gravity="part",
        ),
        Mistake(
            "variance of the coin",
            change={"1 / survives - 1": "survives * (1 - survives)"},
            says="training_variance: this is the variance of the 0–1 variable: what survives is larger than 1",
            gravity="part",
        ),
        Mistake(
            "deviation",
            change={"1 / survives - 1": "(1 / survives - 1) ** 0.5"},
            says="training_variance: this is the standard deviation",
            gravity="part",
        ),
        Mistake(
            "dropped everywhere",
            change={'"never_dropped": survives': '"never_dropped": p**layers'},
            says="never_dropped: this is the probability of being dropped everywhere",
            gravity="idea",
        ),
        Mistake(
            "dropped everywhere, from there on",
            change={"(1 - p) ** layers": "p**layers"},
            says="(1 − p) is the chance to survive a layer: p^L is the chance to be dropped in every layer",
            gravity="idea",
        ),
        Mistake(
            "one layer",
            change={'"never_dropped": survives': '"never_dropped": 1 - p'},
            says="never_dropped: this is one layer only: it must pass all of them",
            gravity="idea",
        ),
        Mistake(
            "one layer for all",
            change={"survives = (1 - p) ** layers": "survives = 1 - p"},
            says="the number of layers is not used: a number must pass all of them",
            gravity="idea",
        ),
        Mistake(
            "not dropped everywhere",
            change={'"never_dropped": survives': '"never_dropped": 1 - p**layers'},
            says="never_dropped: this is the probability of surviving at least one layer: all must let it pass",
            gravity="idea",
        ),
        Mistake(
            "evaluation divided",
            change={'"evaluation": 1.0': '"evaluation": 1 / survives'},
            says="evaluation: nothing is divided in evaluation: dropout does nothing there",
            gravity="idea",
        ),
        Mistake(
            "evaluation of one layer",
            change={'"evaluation": 1.0': '"evaluation": 1 - p'},
            says="evaluation: 1 − p comes out: dropout does nothing there",
            gravity="idea",
        ),
        Mistake(
            "evaluation of 0",
            change={'"evaluation": 1.0': '"evaluation": 0.0'},
            says="evaluation: 0 comes out: dropout does nothing there, so 1 stays 1",
            gravity="idea",
        ),
        Mistake(
            "mean of one layer",
            change={'"training_mean": 1.0': '"training_mean": 1 - p'},
            says="training_mean: this is the mean after one layer without the division by 1 − p",
            gravity="idea",
        ),
        Mistake(
            "mean of 0",
            change={'"training_mean": 1.0': '"training_mean": 0.0'},
            says="training_mean: 0 comes out: what survives is larger than 1, and makes up for what is dropped",
            gravity="idea",
        ),
        Mistake(
            "mean added up",
            change={'"training_mean": 1.0': '"training_mean": 1 - p * layers'},
            says="training_mean: this is 1 − pL: what survives is divided by 1 − p, so the mean stays 1",
            gravity="idea",
        ),
        Mistake(
            "variance of one layer",
            change={"1 / survives - 1": "p / (1 - p)"},
            says="training_variance: this is the variance after one layer: compute E[y²] of the whole chain",
            gravity="part",
        ),
        Mistake(
            "variances multiplied",
            change={"1 / survives - 1": "(p / (1 - p)) ** layers"},
            says="training_variance: the variances of the layers do not multiply: compute E[y²] of the whole chain",
            gravity="part",
        ),
        Mistake(
            "variance of one coin",
            change={"1 / survives - 1": "p * (1 - p)"},
            says="training_variance: this is the variance of one 0–1 variable: there are L layers, and what survives is larger than 1",
            gravity="part",
        ),
        Mistake(
            "variance: coins added",
            change={"1 / survives - 1": "layers * p * (1 - p)"},
            says="training_variance: variances of 0–1 variables are added up: what survives is larger than 1, and the layers multiply",
            gravity="part",
        ),
        Mistake(
            "variance: chance to be dropped",
            change={"1 / survives - 1": "1 - survives"},
            says="training_variance: this is the probability of being dropped somewhere",
            gravity="part",
        ),
        Mistake(
            "variance: value squared",
            change={"1 / survives - 1": "1 / survives**2 - 1"},
            says="training_variance: the square is not weighted with its probability (1 − p)^L: E[y²] = 1/(1 − p)^L",
            gravity="part",
        ),
        Mistake(
            "variance of 0",
            change={"1 / survives - 1": "0.0"},
            says="training_variance: 0 comes out: some numbers become 0 and others larger than 1",
            gravity="part",
        ),
        Mistake(
            "variance: sign",
            change={"1 / survives - 1": "1 - 1 / survives"},
            says="training_variance: the sign is wrong: E[y²] − E[y]² is never negative",
            gravity="part",
        ),
        Mistake(
            "a key missing",
            change={', "never_dropped": survives': ""},
            says="the key `never_dropped` is missing in the dictionary",
            gravity="idea",
        ),
        Mistake(
            "a tuple",
            change={
                'return {"training_mean": 1.0, "evaluation": 1.0, "training_variance": 1 / survives - 1, "never_dropped": survives}': "return 1.0, 1.0, 1 / survives - 1, survives"
            },
            says="a tuple comes back: return a dictionary with the four names",
            gravity="idea",
        ),
        Mistake(
            "two decimals",
            change={'"never_dropped": survives': '"never_dropped": round(survives, 2)'},
            hint="digits are lost: do not round",
            gravity="edge",
        ),
        Mistake(
            "variance: the chance squared",
            change={"1 / survives - 1": "(1 - survives) / survives**2"},
            says="training_variance: the variance of the 0–1 variable, (1 − p)^L (1 − (1 − p)^L), is multiplied by the square of the value: one factor (1 − p)^L is missing",
            gravity="part",
        ),
        Mistake(
            "evaluation p",
            change={'"evaluation": 1.0': '"evaluation": p'},
            says="evaluation: p comes out: dropout does nothing there, so 1 stays 1",
            gravity="idea",
        ),
        Mistake(
            "mean 1/(1 − p)",
            change={'"training_mean": 1.0': '"training_mean": 1 / (1 - p)'},
            says="training_mean: this is what survives one layer, 1/(1 − p): most numbers become 0, and the mean stays 1",
            gravity="idea",
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
        Mistake("the first wins", change={"(b > a)": "(a > b)"}, says="this is the share in which the first is better", gravity="part"),
        Mistake("ties count", change={"(b > a)": "(b >= a)"}, says="ties do not count as better", gravity="edge"),
        Mistake(
            "a count",
            change={".double().mean())": ".double().sum())"},
            says="this is a count: divide by the number of draws",
            gravity="part",
        ),
        Mistake(
            "each sentence once",
            change={"stats[draw].sum(0)": "stats[draw.unique()].sum(0)"},
            says="a sentence drawn twice counts twice: here every sentence counts once",
            gravity="idea",
        ),
        Mistake(
            "the second gets another draw",
            change={
                "a, b = (torch.tensor([score(stats[draw].sum(0).tolist()) for draw in draws], dtype=torch.float64) for stats in (first, second))": "a = torch.tensor([score(first[draw].sum(0).tolist()) for draw in draws], dtype=torch.float64)\n    b = torch.tensor([score(second[draw].sum(0).tolist()) for draw in draws.flip(0)], dtype=torch.float64)"
            },
            says="both systems get the same draw: here each has its own",
            gravity="idea",
        ),
        Mistake(
            "no smoothing",
            change={"halves = halves / 2 if m == 0 else halves": "halves = 1.0"},
            says="an order without a match is not smoothed: the first gets 1/(2 t), the second 1/(4 t)",
            gravity="part",
        ),
        Mistake(
            "no brevity penalty",
            change={"min(0.0, 1 - sums[9] / sums[8]) + logs": "logs"},
            says="the brevity penalty is missing",
            gravity="part",
        ),
        Mistake(
            "mean of the sentences",
            change={
                "score(stats[draw].sum(0).tolist()) for draw in draws": "sum(score(row) for row in stats[draw].tolist()) / len(draw) for draw in draws"
            },
            says="this is the mean of the sentences' scores: sum the ten numbers first",
            gravity="idea",
        ),
        Mistake(
            "means for sums",
            change={"stats[draw].sum(0)": "stats[draw].double().mean(0)"},
            says="the ten numbers are averaged: with means an order without a match is smoothed too much. Sum them",
            gravity="part",
        ),
        Mistake(
            "draws not used",
            change={"stats[draw].sum(0)": "stats.sum(0)"},
            says="the draws are not used: every score is that of the whole test set",
            gravity="idea",
        ),
        Mistake(
            "0 to 1",
            change={"return 100 * math.exp": "return math.exp"},
            says="the score is from 0 to 1: BLEU is from 0 to 100",
            gravity="idea",
        ),
        Mistake(
            "c and r exchanged",
            change={"1 - sums[9] / sums[8]": "1 - sums[8] / sums[9]"},
            says="the brevity penalty has c and r swapped: c is the ninth number, r the tenth",
            gravity="part",
        ),
        Mistake(
            "long ones punished",
            change={"min(0.0, 1 - sums[9] / sums[8])": "-abs(1 - sums[9] / sums[8])"},
            says="translations that are too long are punished, too: the penalty is 1 for c ≥ r",
            gravity="part",
        ),
        Mistake(
            "long ones rewarded",
            change={"min(0.0, 1 - sums[9] / sums[8])": "(1 - sums[9] / sums[8])"},
            says="translations that are too long get a bonus: the penalty is 1 for c ≥ r",
            gravity="part",
        ),
        Mistake(
            "in percent",
            change={"float((b > a).double().mean())": "100 * float((b > a).double().mean())"},
            says="this is in percent: return a share",
            gravity="part",
        ),
        Mistake(
            "draws of its own",
            change={"for draw in draws], dtype": "for draw in torch.randint(0, len(stats), draws.shape)], dtype"},
            says="other sentences are drawn than those in `draws`",
            gravity="idea",
        ),
        Mistake(
            "float32",
            change={"dtype=torch.float64)": "dtype=torch.float32)"},
            hint="the values have the digits of float32 only",
            gravity="edge",
        ),
        Mistake(
            "ties half",
            change={"float((b > a).double().mean())": "float((b > a).double().mean() + (b == a).double().mean() / 2)"},
            says="ties count half here: only strictly better counts",
            gravity="edge",
        ),
        Mistake(
            "better on average",
            change={"float((b > a).double().mean())": "float(b.mean() > a.mean())"},
            says="the means of the scores are compared: compare draw by draw, and return the share",
            gravity="part",
        ),
        Mistake(
            "lists",
            change={"return a, b, float": "return a.tolist(), b.tolist(), float"},
            says="lists come back: return the scores as two tensors",
            gravity="edge",
        ),
        Mistake(
            "the first twice",
            change={"for stats in (first, second)": "for stats in (first, first)"},
            says="the first system is scored twice: the second has its own numbers",
            gravity="idea",
        ),
        Mistake(
            "systems exchanged",
            change={"for stats in (first, second)": "for stats in (second, first)"},
            says="the two systems are swapped",
            gravity="idea",
        ),
        Mistake(
            "no fourth root",
            change={"math.log((m or halves) / t) / 4": "math.log((m or halves) / t)"},
            says="the fourth root is missing",
            gravity="idea",
        ),
        Mistake(
            "draws by columns",
            change={"for draw in draws]": "for draw in draws.T]"},
            says="the columns of `draws` are used: a draw is a row",
            gravity="idea",
        ),
        Mistake(
            "smoothed alike",
            change={"halves = halves / 2 if m == 0 else halves": "halves = 0.5"},
            says="every order without a match gets 1/(2 t): the second gets 1/(4 t), the third 1/(8 t)",
            gravity="part",
        ),
        Mistake(
            "no rule for zero",
            change={"        if sums[0] == 0 or 0 in sums[4:8]:\n            return 0.0\n": ""},
            says="the rule for zero counts is missing: where no word matches the score is 0",
            gravity="part",
        ),
        Mistake(
            "a missing order is 0",
            change={"if sums[0] == 0 or 0 in sums[4:8]:": "if 0 in sums[:8]:"},
            says="an order without a match makes the whole score 0: smooth it",
            gravity="part",
        ),
        Mistake(
            "scores of the sentences",
            change={
                "score(stats[draw].sum(0).tolist()) for draw in draws": "[score(row) for row in stats[draw].tolist()] for draw in draws"
            },
            says="there is a score for every sentence: a draw has one score, from the sums of its sentences",
            gravity="idea",
        ),
        Mistake(
            "share alone",
            change={"return a, b, float": "return float"},
            says="only the share comes back: return both tensors of scores and the share",
            gravity="idea",
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
