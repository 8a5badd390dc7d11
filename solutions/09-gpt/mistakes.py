"""Wrong answers that the tests of 09-gpt must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

IN_PLACE = "your code changes its input in place"

# Several functions share a cell in `text` and `batches`: the right ones, to go with one that is wrong or different.
VOCABULARY = """
def vocabulary(text):
    return "".join(sorted(set(text)))
"""
WINDOWS = """
def windows(stream, starts, T):
    rows = stream[starts[:, None] + torch.arange(T + 1)]
    return rows[:, :-1], rows[:, 1:]
"""
ATTENTION_INIT = """
class CausalSelfAttention(nn.Module):
    def __init__(self, D, H, T, fused=True):
        super().__init__()
        self.H, self.fused = H, fused
        self.qkv = nn.Linear(D, 3 * D, bias=False)
        self.proj = nn.Linear(D, D, bias=False)
        self.register_buffer("mask", torch.ones(T, T, dtype=torch.bool).tril(), persistent=False)
"""
TRILS = "scores.masked_fill(~self.mask[:t, :t], -torch.inf).softmax(dim=-1) @ v"

VARIANTS = {
    "text": [
        Mistake(
            "decode: reversed", change={"for token in tokens)": "for token in tokens.flip(0))"}, hint="in reverse order", gravity="idea"
        ),
        Mistake(
            "not sorted",
            change={"sorted(set(text))": "dict.fromkeys(text)"},
            hint="the characters are in the order in which they appear: sort them",
            gravity="idea",
        ),
        Mistake("a list", change={'"".join(sorted(set(text)))': "sorted(set(text))"}, hint="the vocabulary is a list", gravity="idea"),
        Mistake(
            "counted from 1",
            change={"enumerate(alphabet)": "enumerate(alphabet, 1)"},
            hint="indices are counted from 0, not from 1",
            gravity="idea",
        ),
        Mistake(
            "code points",
            change={"place[character] for": "ord(character) for"},
            hint="these are code points: look them up in the alphabet",
            gravity="idea",
        ),
        Mistake(
            "unknown becomes 0",
            change={"place[character] for character in text if character in place": "place.get(character, 0) for character in text"},
            hint="an unknown character becomes token 0",
            gravity="part",
        ),
        Mistake(
            "unknown raises",
            change={" if character in place": ""},
            hint="a character that is not in the alphabet is left out",
            gravity="part",
        ),
        Mistake("floats", change={"dtype=torch.long": "dtype=torch.float"}, hint="tokens are an int64 tensor", gravity="edge"),
        Mistake(
            "decode gives a list",
            change={'"".join(alphabet[int(token)] for token in tokens)': "[alphabet[int(t)] for t in tokens]"},
            hint="decode gives a list of characters",
            gravity="idea",
        ),
        Mistake(
            "lower case",
            change={"set(text)": "set(text.lower())"},
            hint="capitals are folded: `A` and `a` are different characters",
            gravity="idea",
        ),
        Mistake(
            "strips the borders",
            change={"in text if": "in text.strip() if"},
            hint="the ends of the text are stripped: spaces there are tokens too",
            gravity="idea",
        ),
        Mistake(
            "floats for an empty text",
            change={", dtype=torch.long": ""},
            hint="torch.tensor([]) has floats unless you say dtype=torch.long",
            gravity="edge",
        ),
        Right(
            "find and a loop",
            code=VOCABULARY
            + """
def encode(text, alphabet):
    numbers = []
    for character in text:
        if alphabet.find(character) >= 0:
            numbers.append(alphabet.find(character))
    return torch.LongTensor(numbers)


def decode(tokens, alphabet):
    text = ""
    for token in tokens.tolist():
        text += alphabet[token]
    return text
""",
        ),
        Right(
            "numpy",
            code="""
import numpy as np


def vocabulary(text):
    return "".join(np.unique(list(text)).tolist()) if text else ""


def encode(text, alphabet):
    known = np.array([c for c in text if c in alphabet], dtype="<U1")
    return torch.from_numpy(np.searchsorted(np.array(sorted(alphabet)), known).astype(np.int64))


def decode(tokens, alphabet):
    return "".join(np.array(list(alphabet))[np.asarray(tokens)])
""",
        ),
    ],
    "batches": [
        Mistake("targets not shifted", change={"rows[:, 1:]": "rows[:, :-1]"}, hint="the targets are not shifted", gravity="idea"),
        Mistake(
            "shifted by two",
            change={"T + 1)": "T + 2)", "rows[:, :-1], rows[:, 1:]": "rows[:, :-2], rows[:, 2:]"},
            hint="shifted by two",
            gravity="idea",
        ),
        Mistake(
            "the wrong way",
            change={"return rows[:, :-1], rows[:, 1:]": "return rows[:, :-1], stream[starts[:, None] + torch.arange(T) - 1]"},
            hint="shifted the wrong way",
            gravity="idea",
        ),
        Mistake("roll", change={"rows[:, 1:]": "rows[:, :-1].roll(-1, 1)"}, hint="`roll` wraps around", gravity="idea"),
        Mistake("start too large", change={"len(stream) - T,": "len(stream) - T + 1,"}, hint="which is the largest start?", gravity="part"),
        Mistake(
            "last place never used",
            change={"len(stream) - T,": "max(1, len(stream) - T - 1),"},
            hint="the last possible place is never used",
            gravity="part",
        ),
        Mistake(
            "always from the beginning",
            change={"torch.randint(len(stream) - T, (B,))": "torch.zeros(B, dtype=torch.long)"},
            hint="all rows of the batch start at the same place",
            gravity="idea",
        ),
        Mistake(
            "one place for the whole batch",
            change={"torch.randint(len(stream) - T, (B,))": "torch.randint(len(stream) - T, (1,)).expand(B)"},
            hint="all rows of the batch start at the same place",
            gravity="idea",
        ),
        Mistake(
            "not uniform",
            change={"torch.randint(len(stream) - T, (B,))": "(torch.rand(B) ** 2 * (len(stream) - T)).long()"},
            hint="some places are chosen more often",
            gravity="part",
        ),
        Mistake(
            "never from 0",
            change={"torch.randint(len(stream) - T, (B,))": "torch.randint(min(1, len(stream) - T - 1), len(stream) - T, (B,))"},
            hint="the first place of the stream is never used",
            gravity="part",
        ),
        Mistake(
            "seeded inside",
            change={"    return windows(stream, torch": "    torch.manual_seed(0)\n    return windows(stream, torch"},
            hint="two batches in a row are the same",
            gravity="idea",
        ),
        Right(
            "a loop of slices",
            code="""
def windows(stream, starts, T):
    x = torch.stack([stream[int(s) : int(s) + T] for s in starts])
    y = torch.stack([stream[int(s) + 1 : int(s) + 1 + T] for s in starts])
    return x, y


def random_batch(stream, B, T):
    return windows(stream, torch.randint(0, len(stream) - T, (B,)), T)
""",
        ),
        Right(
            "unfold",
            code=WINDOWS
            + """
def random_batch(stream, B, T):
    every = stream.unfold(0, T + 1, 1)
    rows = every[torch.randint(len(every), (B,))]
    return rows[:, :-1], rows[:, 1:]
""",
        ),
        Right(
            "Python's own random numbers",
            code=WINDOWS
            + """
import random


def random_batch(stream, B, T):
    return list(windows(stream, torch.tensor([random.randrange(len(stream) - T) for _ in range(B)]), T))
""",
        ),
    ],
    "attention": [
        Mistake("sees the next token", change={".tril()": ".tril(1)"}, hint="it lets position t see t + 1", gravity="idea"),
        Mistake(
            "does not see itself",
            change={".tril()": ".tril(-1)"},
            hint="the mask is off by one: a position must see itself",
            gravity="idea",
        ),
        Mistake(
            "no mask when written out",
            change={".masked_fill(~self.mask[:t, :t], -torch.inf)": ""},
            hint="there is no mask: every position sees the future",
            gravity="idea",
        ),
        Mistake(
            "fused without causal",
            change={"is_causal=True": "is_causal=False"},
            hint="fused=True: there is no mask: every position sees the future",
            gravity="part",
        ),
        Mistake(
            "polarity",
            change={"torch.ones(T, T, dtype=torch.bool).tril()": "torch.ones(T, T, dtype=torch.bool).triu(1)"},
            hint="True means may look",
            gravity="idea",
        ),
        Mistake("whole mask", change={"self.mask[:t, :t]": "self.mask"}, hint="t < T: use a corner of the mask", gravity="part"),
        Mistake(
            "zeroed after softmax",
            change={TRILS: "(scores.softmax(dim=-1) * self.mask[:t, :t]) @ v"},
            hint="the weights are zeroed after softmax",
            gravity="idea",
        ),
        Mistake(
            "scaled by the root of D",
            change={"(D // self.H) ** 0.5": "D**0.5"},
            hint="scaled by the root of D; each head has width D/H",
            gravity="idea",
        ),
        Mistake("not scaled", change={" / (D // self.H) ** 0.5": ""}, hint="the scores are not scaled", gravity="idea"),
        Mistake("with biases", change={"bias=False": "bias=True"}, hint="`qkv` and `proj` have no bias", gravity="part"),
        Mistake(
            "no projection",
            change={"self.proj(mixed.transpose(1, 2).reshape(B, t, D))": "mixed.transpose(1, 2).reshape(B, t, D)"},
            hint="`proj` is missing",
            gravity="idea",
        ),
        Mistake(
            "merged without transpose",
            change={"mixed.transpose(1, 2).reshape": "mixed.reshape"},
            hint="transpose, then reshape",
            gravity="idea",
        ),
        Mistake(
            "heads by view",
            change={"part.view(B, t, self.H, D // self.H).transpose(1, 2)": "part.reshape(B, self.H, t, D // self.H)"},
            hint="`view` straight to (B, H, t, D/H)",
            gravity="idea",
        ),
        Mistake(
            "keys first", change={"q, k, v = (": "k, q, v = ("}, hint="the order of the thirds is queries, keys, values", gravity="idea"
        ),
        Mistake(
            "always the kernel",
            change={"if self.fused:": "if True:"},
            hint="with fused=False write out scores, mask and softmax yourself: here torch's kernel, `scaled_dot_product_attention`, is called",
            gravity="part",
        ),
        Mistake("never the kernel", change={"if self.fused:": "if False:"}, hint="here the (t, t) weights were built", gravity="part"),
        Mistake(
            "mask as a plain attribute",
            change={
                'self.register_buffer("mask", torch.ones(T, T, dtype=torch.bool).tril(), persistent=False)': "self.mask = torch.ones(T, T, dtype=torch.bool).tril()"
            },
            hint="`mask` is not a buffer",
            gravity="part",
        ),
        Mistake(
            "True means forbidden",
            change={".tril()": ".triu(1)", "~self.mask": "self.mask"},
            hint="the mask's polarity is reversed: True means may look",
            gravity="part",
        ),
        Mistake(
            "one head",
            change={"part.view(B, t, self.H, D // self.H)": "part.view(B, t, 1, D)", "(D // self.H) ** 0.5": "D**0.5"},
            hint="this is one head over the whole width: is H used?",
            gravity="idea",
        ),
        Right(
            "an additive mask",
            change={
                ".masked_fill(~self.mask[:t, :t], -torch.inf)": "",
                "scores = q @ k.mT / (D // self.H) ** 0.5": "scores = q @ k.mT / (D // self.H) ** 0.5 + torch.where(self.mask[:t, :t], 0.0, -torch.inf)",
            },
        ),
        Right(
            "a loop over heads",
            code=ATTENTION_INIT
            + """
    def forward(self, x):
        B, t, D = x.shape
        w = D // self.H
        qkv, outs = self.qkv(x), []
        for h in range(self.H):
            q, k, v = (qkv[:, :, i * D + h * w : i * D + (h + 1) * w] for i in range(3))
            if self.fused:
                outs.append(F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], is_causal=True)[:, 0])
            else:
                e = torch.einsum("bid,bjd->bij", q, k) / w**0.5
                outs.append(torch.where(self.mask[:t, :t], e, torch.full_like(e, -1e30)).softmax(2) @ v)
        return self.proj(torch.cat(outs, 2))
""",
        ),
        Right("persistent buffer", change={", persistent=False": ""}),
    ],
    "block": [
        Mistake(
            "dropout before down",
            change={"self.drop(self.down(F.gelu(self.up(self.norm2(x)))))": "self.down(self.drop(F.gelu(self.up(self.norm2(x)))))"},
            hint="dropout comes after `down`",
            gravity="part",
        ),
        Mistake(
            "switch not handed on",
            change={"CausalSelfAttention(D, H, T, fused)": "CausalSelfAttention(D, H, T, True)"},
            hint="has no effect on attention: pass it on",
            gravity="part",
        ),
        Mistake(
            "post-LN",
            change={
                "x = x + self.drop(self.attention(self.norm1(x)))": "x = self.norm1(x + self.drop(self.attention(x)))",
                "return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))": "return self.norm2(x + self.drop(self.down(F.gelu(self.up(x)))))",
            },
            hint="this is post-LN",
            gravity="idea",
        ),
        Mistake(
            "first residual missing",
            change={"x = x + self.drop(self.attention": "x = self.drop(self.attention"},
            hint="the first residual is missing",
            gravity="idea",
        ),
        Mistake("second residual missing", change={"return x + ": "return "}, hint="the second residual is missing", gravity="idea"),
        Mistake("norm1 twice", change={"self.norm2(x)": "self.norm1(x)"}, hint="norm1 is used twice", gravity="idea"),
        Mistake(
            "parallel branches",
            change={
                "x = x + self.drop(self.attention(self.norm1(x)))\n        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))": "return x + self.drop(self.attention(self.norm1(x))) + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))"
            },
            hint="it comes after attention",
            gravity="idea",
        ),
        Mistake("ReLU", change={"F.gelu": "F.relu"}, hint="the nonlinearity is ReLU", gravity="idea"),
        Mistake(
            "no nonlinearity",
            change={"F.gelu(self.up(self.norm2(x)))": "self.up(self.norm2(x))"},
            hint="the nonlinearity is missing",
            gravity="idea",
        ),
        Mistake(
            "tanh GELU",
            change={"F.gelu(self.up(self.norm2(x)))": 'F.gelu(self.up(self.norm2(x)), approximate="tanh")'},
            hint="this GELU is the tanh approximation",
            gravity="edge",
        ),
        Mistake("second branch not normalised", change={"self.norm2(x)": "x"}, hint="the second branch is not normalised", gravity="idea"),
        Mistake(
            "dropout on the stream",
            change={"x + self.drop(self.attention(self.norm1(x)))": "self.drop(x + self.attention(self.norm1(x)))"},
            hint="dropout damages the stream itself",
            gravity="part",
        ),
        Mistake(
            "no dropout", change={"nn.Dropout(dropout)": "nn.Dropout(0.0)"}, hint="is dropout at the end of both branches", gravity="part"
        ),
        Mistake("biases", change={"4 * D, bias=False)": "4 * D)"}, hint="no biases anywhere", gravity="part"),
        Mistake(
            "feed-forward of width D",
            change={"nn.Linear(D, 4 * D": "nn.Linear(D, D", "nn.Linear(4 * D, D": "nn.Linear(D, D"},
            hint="up (D to 4D) and down (4D to D)",
            gravity="idea",
        ),
        Mistake(
            "norms exchanged",
            change={"self.norm2(x)": "self.norm(x)", "self.norm1(x)": "self.norm2(x)", "self.norm(x)": "self.norm1(x)"},
            hint="norm1 and norm2 are swapped",
            gravity="idea",
        ),
        Mistake(
            "dropout in evaluation mode, too",
            change={"self.drop(self.attention(self.norm1(x)))": "F.dropout(self.attention(self.norm1(x)), self.drop.p)"},
            hint="in evaluation mode dropout does nothing",
            gravity="part",
        ),
        Right(
            "step by step",
            change={
                "return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))": "hidden = nn.functional.gelu(self.up(self.norm2(x)))\n        x = x + self.drop(self.down(hidden))\n        return x"
            },
        ),
        Right(
            "functional dropout, GELU by erf",
            change={
                "self.drop = nn.Dropout(dropout)": "self.p = dropout",
                "self.drop(self.attention(self.norm1(x)))": "F.dropout(self.attention(self.norm1(x)), self.p, self.training)",
                "return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))": "u = self.up(self.norm2(x))\n        return x + F.dropout(self.down(u * (1 + torch.erf(u / 2**0.5)) / 2), self.p, self.training)",
            },
        ),
    ],
    "count": [
        Mistake("four blocks", change={"L * block": "4 * block"}, hint="the number of blocks is fixed at four", gravity="idea"),
        Mistake("output layer counted", change={"return V * D": "return 2 * V * D"}, hint="do not count it twice", gravity="part"),
        Mistake(
            "biases counted",
            change={" + 2 * D  #": " + 2 * D + 9 * D  #"},
            hint="the biases of the linear layers are counted",
            gravity="part",
        ),
        Mistake("no positions", change={" + T * D": ""}, hint="the position embedding is missing", gravity="part"),
        Mistake("no last norm", change={"L * block + D": "L * block"}, hint="the last LayerNorm is missing", gravity="part"),
        Mistake("no norms", change={" + 2 * D  #": "  #", "L * block + D": "L * block"}, hint="no LayerNorm is counted", gravity="part"),
        Mistake("no proj", change={"4 * D**2 +": "3 * D**2 +"}, hint="`proj` is missing", gravity="idea"),
        Mistake(
            "norms with bias",
            change={" + 2 * D  #": " + 4 * D  #", "L * block + D": "L * block + 2 * D"},
            hint="LayerNorm here has no bias",
            gravity="part",
        ),
        Mistake(
            "one size",
            change={"return V * D + T * D + L * block + D": "return 806016"},
            hint="the formula fits one size only",
            gravity="idea",
        ),
        Mistake(
            "no down",
            change={"8 * D**2": "4 * D**2"},
            hint="the feed-forward network has two matrices, up and down: one is missing",
            gravity="idea",
        ),
        Right("factored", change={"return V * D + T * D + L * block + D": "return D * (V + T + 1 + L * (12 * D + 2))"}),
        Right(
            "by building it",
            code="""
def count_parameters(V, T, D, L):
    layers = [(V, D), (T, D), (D,)] + L * [(3 * D, D), (D, D), (4 * D, D), (D, 4 * D), (D,), (D,)]
    return sum(math.prod(shape) for shape in layers)
""",
        ),
    ],
    "gpt": [
        Mistake(
            "switch not handed on",
            change={"Block(D, H, T, dropout, fused)": "Block(D, H, T, dropout, True)"},
            hint="the switch `fused` has no effect on attention: pass it on to the blocks",
            gravity="part",
        ),
        Mistake("no positions", change={" + self.position.weight[:t]": ""}, hint="positions are not added", gravity="idea"),
        Mistake(
            "positions from 1",
            change={"self.position.weight[:t]": "self.position.weight.roll(-1, 0)[:t]"},
            hint="positions are counted from 1",
            gravity="idea",
        ),
        Mistake("no last norm", change={"self.norm(x) @": "x @"}, hint="the last norm is missing", gravity="idea"),
        Mistake(
            "a plain list",
            change={
                "nn.ModuleList(Block(D, H, T, dropout, fused) for _ in range(L))": "[Block(D, H, T, dropout, fused) for _ in range(L)]"
            },
            hint="is `blocks` an nn.ModuleList",
            gravity="idea",
        ),
        Mistake(
            "one block for all",
            change={
                "nn.ModuleList(Block(D, H, T, dropout, fused) for _ in range(L))": "nn.ModuleList([Block(D, H, T, dropout, fused)] * L)"
            },
            hint="one block is used L times",
            gravity="idea",
        ),
        Mistake(
            "blocks reversed",
            change={"in self.blocks:": "in reversed(self.blocks):"},
            hint="the blocks run in reverse order",
            gravity="idea",
        ),
        Mistake(
            "only one block runs", change={"in self.blocks:": "in self.blocks[:1]:"}, hint="only the first block is used", gravity="idea"
        ),
        Mistake(
            "head of its own",
            change={
                "initialise(self)": "self.head = nn.Linear(D, V, bias=False)\n        initialise(self)",
                "self.norm(x) @ self.token.weight.T": "self.head(self.norm(x))",
            },
            hint="the output layer has its own weights: use the token embedding, transposed",
            gravity="part",
        ),
        Mistake(
            "probabilities",
            change={"self.norm(x) @ self.token.weight.T": "(self.norm(x) @ self.token.weight.T).softmax(-1)"},
            hint="these are probabilities: return the logits",
            gravity="idea",
        ),
        Mistake("not initialised", change={"initialise(self)\n": "pass\n"}, hint="Is `initialise(self)` called last?", gravity="part"),
        Mistake(
            "too long is cut",
            change={'raise ValueError(f"{t} tokens do not fit into a context of {self.T}")': "tokens, t = tokens[:, -self.T :], self.T"},
            hint="more tokens than T: raise a ValueError",
            gravity="edge",
        ),
        Mistake(
            "no dropout after the embeddings",
            change={"self.drop(self.token(tokens) + self.position.weight[:t])": "self.token(tokens) + self.position.weight[:t]"},
            hint="is dropout applied to the sum of the two embeddings?",
            gravity="part",
        ),
        Mistake(
            "dropout not handed on",
            change={"Block(D, H, T, dropout, fused)": "Block(D, H, T, 0.0, fused)"},
            hint="the blocks drop nothing: pass the dropout rate on to them",
            gravity="part",
        ),
        Mistake(
            "positions after the blocks",
            change={
                "self.drop(self.token(tokens) + self.position.weight[:t])": "self.drop(self.token(tokens))",
                "self.norm(x) @": "self.norm(x + self.position.weight[:t]) @",
            },
            hint="positions are added after the blocks",
            gravity="idea",
        ),
        Mistake(
            "one head in every block",
            change={"Block(D, H, T": "Block(D, 1, T"},
            hint="the logits differ from the three steps",
            gravity="idea",
        ),
        Mistake(
            "T tokens refused",
            change={"if t > self.T:": "if t >= self.T:"},
            hint="exactly T tokens must work: raise an error only for more than T",
            gravity="edge",
        ),
        Right(
            "tied linear head",
            change={
                "initialise(self)": "self.head = nn.Linear(D, V, bias=False)\n        self.head.weight = self.token.weight\n        initialise(self)",
                "self.norm(x) @ self.token.weight.T": "self.head(self.norm(x))",
            },
        ),
        Right(
            "Sequential and arange",
            change={
                "self.position.weight[:t]": "self.position(torch.arange(t, device=tokens.device))",
                "nn.ModuleList(Block(D, H, T, dropout, fused) for _ in range(L))": "nn.Sequential(*[Block(D, H, T, dropout, fused) for _ in range(L)])",
                "for block in self.blocks:\n            x = block(x)": "x = self.blocks(x)",
            },
        ),
        Right("F.linear", change={"self.norm(x) @ self.token.weight.T": "F.linear(self.norm(x), self.token.weight)"}),
    ],
    "loss": [
        Mistake(
            "divided by all positions",
            change={", ignore_index=-1)": ', ignore_index=-1, reduction="sum") / targets.numel()'},
            hint="but you divide by all positions",
            gravity="part",
        ),
        Mistake("sum", change={", ignore_index=-1)": ', ignore_index=-1, reduction="sum")'}, hint="the loss is a sum", gravity="idea"),
        Mistake(
            "filler as token 0",
            change={"targets.flatten(), ignore_index=-1": "targets.flatten().clamp_min(0)"},
            hint="filler counts as token 0",
            gravity="part",
        ),
        Mistake(
            "filler as the last token",
            change={"targets.flatten(), ignore_index=-1": "targets.flatten() % logits.shape[-1]"},
            hint="−1 is read as the last token",
            gravity="part",
        ),
        Mistake(
            "shifted again",
            change={"logits.flatten(0, 1), targets.flatten()": "logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten()"},
            hint="the targets are shifted again",
            gravity="idea",
        ),
        Mistake(
            "softmax first",
            change={"logits.flatten(0, 1)": "logits.flatten(0, 1).softmax(-1)"},
            hint="do not apply softmax first",
            gravity="idea",
        ),
        Mistake(
            "mean of means",
            change={
                "return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)": "return torch.stack([F.cross_entropy(a, b, ignore_index=-1) for a, b in zip(logits, targets)]).mean()"
            },
            hint="the mean of the sequences' means",
            gravity="part",
        ),
        Mistake("bits", change={", ignore_index=-1)": ", ignore_index=-1) / math.log(2)"}, hint="the loss is in bits", gravity="idea"),
        Mistake(
            "log of softmax",
            code="""
def language_loss(logits, targets):
    p = logits.softmax(-1).gather(-1, targets.clamp_min(0)[..., None])[..., 0]
    return -p.log()[targets >= 0].mean()
""",
            hint="large logits give an infinite or a wrong loss",
            gravity="edge",
        ),
        Mistake(
            "a float",
            change={", ignore_index=-1)": ", ignore_index=-1).item()"},
            hint="the gradient through the loss is wrong, or does not flow",
            gravity="part",
        ),
        Mistake(
            "token 0 as filler",
            change={"targets.flatten(), ignore_index=-1": "targets.flatten().clamp_min(0), ignore_index=0"},
            hint="token 0 is left out: filler is −1",
            gravity="idea",
        ),
        Mistake(
            "divided by the sequences",
            change={", ignore_index=-1)": ', ignore_index=-1, reduction="sum") / len(targets)'},
            hint="divided by the number of sequences",
            gravity="idea",
        ),
        Right(
            "gather",
            code="""
def language_loss(logits, targets):
    real = targets >= 0
    return -logits.log_softmax(-1)[real].gather(1, targets[real][:, None]).mean()
""",
        ),
        Right("class axis second", change={"logits.flatten(0, 1), targets.flatten()": "logits.transpose(1, 2), targets"}),
        Right(
            "logsumexp",
            code="""
def language_loss(logits, targets):
    real = (targets >= 0).to(logits.dtype)
    each = logits.logsumexp(-1) - logits.gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return (each * real).sum() / real.sum()
""",
        ),
    ],
    "evaluate": [
        Mistake("training mode", change={"    model.eval()\n": ""}, hint="the model is in training mode: with dropout on", gravity="idea"),
        Mistake(
            "mean of means",
            change={".item() * real": ".item()", "count += real": "count += 1"},
            hint="this is the mean of the batches' means",
            gravity="part",
        ),
        Mistake(
            "weighed with filler",
            change={"int((y >= 0).sum())": "y.numel()"},
            hint="batches are weighted by their size, filler included: count the real targets",
            gravity="part",
        ),
        Mistake(
            "mode not restored",
            change={"    model.train(was_training)\n": ""},
            hint="a model that was in training mode must be back in it afterwards",
            gravity="part",
        ),
        Mistake(
            "always back to training",
            change={"model.train(was_training)": "model.train()"},
            hint="do not call model.train() unconditionally",
            gravity="part",
        ),
        Mistake("with gradients", change={"torch.no_grad()": "torch.enable_grad()"}, hint="gradients were recorded", gravity="part"),
        Mistake(
            "perplexity",
            change={"return total / count": "return math.exp(total / count)"},
            hint="this is the perplexity: return the loss",
            gravity="idea",
        ),
        Mistake(
            "last batch only", change={"total += ": "total = ", "count += ": "count = "}, hint="only the last batch counts", gravity="idea"
        ),
        Mistake(
            "filler in the count",
            change={"count += real": "count += y.numel()"},
            hint="filler counts in the number of targets",
            gravity="part",
        ),
        Mistake("a tensor", change={".item() * real": " * real"}, hint="return a Python float", gravity="edge"),
        Mistake(
            "goes through the batches twice",
            change={"return total / count": "return total / sum(int((y >= 0).sum()) for _, y in batches)"},
            hint="with an iterator for `batches` it fails",
            gravity="part",
        ),
        Mistake(
            "counts first, from the same iterator",
            change={
                "total, count = 0.0, 0": "total, count = 0.0, sum(int((y >= 0).sum()) for _, y in batches)",
                "        count += real\n": "",
            },
            hint="with an iterator for `batches` it fails",
            gravity="part",
        ),
        Mistake(
            "gradients off for good",
            change={"        with torch.no_grad():  # no graph: the forward pass only\n    ": "        torch.set_grad_enabled(False)\n"},
            hint="gradients stay switched off afterwards",
            gravity="edge",
        ),
        Mistake(
            "weighed by rows",
            change={"int((y >= 0).sum())": "len(y)"},
            hint="batches are weighted by their size, filler included: count the real targets",
            gravity="part",
        ),
        Mistake(
            "return inside the loop",
            change={"        count += real\n": "        count += real\n        break\n"},
            hint="only the first batch counts",
            gravity="idea",
        ),
        Right(
            "all losses in one tensor",
            code="""
@torch.no_grad()
def evaluate(model, batches):
    before = model.training
    model.eval()
    losses = [F.cross_entropy(model(x)[y >= 0], y[y >= 0], reduction="none") for x, y in batches]
    model.train(before)
    return torch.cat(losses).mean().item()
""",
        ),
        Right(
            "inference mode, try and finally",
            code="""
def evaluate(model, batches):
    mode = model.training
    model.train(False)
    try:
        with torch.inference_mode():
            pairs = [(F.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=-1, reduction="sum"), (y != -1).sum()) for x, y in batches]
            return float(sum(a for a, _ in pairs) / sum(b for _, b in pairs))
    finally:
        if mode:
            model.train()
""",
        ),
    ],
    "train": [
        Mistake(
            "watch gets a tensor",
            change={"watch(len(losses), losses[-1])": "watch(len(losses), loss)"},
            hint="`watch` gets a Python float",
            gravity="edge",
        ),
        Mistake(
            "the rate of one group",
            change={"for group in optimizer.param_groups:": "for group in optimizer.param_groups[:1]:"},
            says="the rate is set in one group of the optimiser's parameters only: matrices and gains are two groups, and both need it",
            gravity="idea",
        ),
        Mistake(
            "plain Adam",
            change={"training.make_optimizer(model)": "torch.optim.Adam(model.parameters())"},
            says="this is not the AdamW of training.make_optimizer: the weights do not decay",
            gravity="idea",
        ),
        Mistake(
            "gradients pile up",
            change={"        optimizer.zero_grad()  # or the old ones would be added\n": ""},
            hint="the gradients pile up",
            gravity="idea",
        ),
        Mistake(
            "not clipped",
            change={"        nn.utils.clip_grad_norm_(model.parameters(), clip)\n": ""},
            hint="clip = 0.05 has no effect",
            gravity="part",
        ),
        Mistake(
            "clipped after the step",
            change={
                "        nn.utils.clip_grad_norm_(model.parameters(), clip)\n        optimizer.step()\n": "        optimizer.step()\n        nn.utils.clip_grad_norm_(model.parameters(), clip)\n"
            },
            hint="clip = 0.05 has no effect",
            gravity="part",
        ),
        Mistake(
            "always clipped to 1",
            change={"model.parameters(), clip)": "model.parameters(), 1.0)"},
            hint="clip = 0.05 has no effect",
            gravity="part",
        ),
        Mistake("evaluation mode", change={"    model.train()\n": ""}, hint="call model.train() before the loop", gravity="part"),
        Mistake(
            "rate not set",
            change={'            group["lr"] = rate\n': "            pass\n"},
            hint="the optimiser's own rate of 1e-3 is used",
            gravity="idea",
        ),
        Mistake(
            "first rate for all",
            change={'group["lr"] = rate': 'group["lr"] = rates[0]'},
            hint="the first rate is used for all steps",
            gravity="idea",
        ),
        Mistake(
            "no step", change={"        optimizer.step()\n": ""}, hint="nothing was learned: optimizer.step() is not called", gravity="idea"
        ),
        Mistake(
            "a new optimiser each time",
            change={
                "        loss = language_loss": "        optimizer = training.make_optimizer(model)\n        for group in optimizer.param_groups:\n            group['lr'] = rate\n        loss = language_loss"
            },
            hint="a new optimiser is made in every step",
            gravity="idea",
        ),
        Mistake(
            "zero_grad after backward",
            change={
                "        optimizer.zero_grad()  # or the old ones would be added\n        loss.backward()\n": "        loss.backward()\n        optimizer.zero_grad()\n"
            },
            hint="nothing was learned: optimizer.step() is not called, or the gradients are cleared just before it",
            gravity="idea",
        ),
        Mistake(
            "tensors for losses",
            change={"losses.append(loss.item())": "losses.append(loss)"},
            hint="a tensor would keep its whole graph alive",
            gravity="edge",
        ),
        Mistake(
            "watch from 0",
            change={"watch(len(losses),": "watch(len(losses) - 1,"},
            hint="the steps for watch are counted from 1",
            gravity="part",
        ),
        Mistake(
            "loss after the step",
            change={"losses.append(loss.item())": "losses.append(language_loss(model(x), y).item())"},
            hint="the loss of each batch *before* its step",
            gravity="part",
        ),
        Mistake(
            "asks for the number of batches",
            change={"    losses = []\n": "    losses, number = [], len(batches)\n"},
            hint="go through the batches once, without asking for their length",
            gravity="part",
        ),
        Mistake(
            "watch before the step",
            change={
                "        optimizer.step()\n        losses.append(loss.item())\n        if watch is not None:\n            watch(len(losses), losses[-1])\n": "        losses.append(loss.item())\n        if watch is not None:\n            watch(len(losses), losses[-1])\n        optimizer.step()\n"
            },
            hint="watch is called before the step is finished",
            gravity="part",
        ),
        Mistake(
            "plain cross entropy",
            change={"language_loss(model(x), y)": "F.cross_entropy(model(x).flatten(0, 1), y.flatten().clamp_min(0))"},
            hint="with filler in the targets the weights are wrong",
            gravity="edge",
        ),
        Mistake(
            "an Adam of its own",
            change={"training.make_optimizer(model)": "torch.optim.AdamW(model.parameters(), betas=(0.9, 0.99), weight_decay=0.0)"},
            hint="this AdamW has no weight decay",
            gravity="idea",
        ),
        Right(
            "clear at the end",
            change={
                "        optimizer.zero_grad()  # or the old ones would be added\n": "",
                "        losses.append(": "        model.zero_grad()\n        losses.append(",
            },
        ),
        Right(
            "clip by hand",
            code="""
def train(model, batches, rates, clip=1.0, watch=None):
    model.train()
    optimizer, losses, step = training.make_optimizer(model), [], 0
    for x, y in batches:
        for group in optimizer.param_groups:
            group.update(lr=rates[step])
        for p in model.parameters():
            p.grad = None
        loss = language_loss(model(x), y)
        loss.backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        norm = torch.sqrt(sum((g**2).sum() for g in grads))
        for g in grads:
            g *= (clip / (norm + 1e-6)).clamp(max=1.0)
        optimizer.step()
        step += 1
        losses.append(float(loss))
        if watch:
            watch(step, float(loss))
    return losses
""",
        ),
    ],
    "distribution": [
        Mistake(
            "multiplied by the temperature",
            change={"(logits / temperature)": "(logits * temperature)"},
            hint="the logits are multiplied by the temperature",
            gravity="idea",
        ),
        Mistake(
            "temperature after softmax",
            change={"(logits / temperature).softmax(dim=-1)": "logits.softmax(dim=-1)"},
            hint="the temperature is not used",
            gravity="idea",
        ),
        Mistake(
            "no greedy case",
            change={"if temperature == 0:": "if temperature is None:"},
            hint="temperature 0: everything on the largest logit",
            gravity="part",
        ),
        Mistake("k − 1 kept", change={"max(1, top_k)": "max(1, top_k - 1)"}, hint="one token too few is kept", gravity="part"),
        Mistake(
            "least likely kept",
            change={"ranked[..., max(1, top_k) :] = 0": "ranked[..., : max(0, V - top_k)] = 0"},
            hint="the k least likely tokens are kept",
            gravity="part",
        ),
        Mistake(
            "border token left out",
            change={
                "ranked = ranked.masked_fill(before >= top_p, 0)": "ranked = ranked.masked_fill((before + ranked > top_p) & (before > 0), 0)"
            },
            hint="the token that carries the total over p is left out",
            gravity="part",
        ),
        Mistake(
            "one too many",
            change={"before >= top_p": "before - ranked.roll(1, -1) >= top_p"},
            hint="one token too many is kept: stop as soon as",
            gravity="part",
        ),
        Mistake(
            "p = 0 keeps nothing",
            change={"        before[..., 0] = -1  # the most likely one always stays\n": ""},
            hint="top_p=0",
            gravity="edge",
        ),
        Mistake(
            "sorted order returned",
            change={"p = torch.zeros_like(p).scatter(-1, order, ranked)": "p = ranked"},
            hint="put every probability back at its token",
            gravity="idea",
        ),
        Mistake(
            "not renormalised",
            change={
                "return p / p.sum(dim=-1, keepdim=True)": "return p",
                "        ranked = ranked / ranked.sum(dim=-1, keepdim=True)\n": "",
            },
            hint="is not renormalised",
            gravity="part",
        ),
        Mistake(
            "top-p before renormalising",
            change={"        ranked = ranked / ranked.sum(dim=-1, keepdim=True)\n": ""},
            hint="top-k comes first, and what is left is renormalised",
            gravity="part",
        ),
        Mistake(
            "threshold instead of total",
            change={"before >= top_p": "ranked < top_p"},
            hint="the nucleus is about their total",
            gravity="part",
        ),
        Mistake(
            "in place",
            change={"p = (logits / temperature).softmax(dim=-1)": "logits /= temperature\n    p = logits.softmax(dim=-1)"},
            hint=IN_PLACE,
            gravity="edge",
        ),
        Mistake(
            "exp without softmax",
            change={"p = (logits / temperature).softmax(dim=-1)": "p = (logits / temperature).exp()\n    p = p / p.sum(-1, keepdim=True)"},
            hint="large logits at a low temperature give NaN",
            gravity="edge",
        ),
        Mistake(
            "k = 0 keeps nothing", change={"max(1, top_k)": "top_k"}, hint="top_k=0: the most likely token always stays", gravity="edge"
        ),
        Mistake(
            "k above V raises",
            change={"if top_k is not None:": "if top_k is not None:\n        p.topk(top_k)"},
            hint="top_k larger than V keeps all tokens",
            gravity="edge",
        ),
        Mistake(
            "in float32",
            change={"V = logits.shape[-1]": "V, logits = logits.shape[-1], logits.float()"},
            hint="with float64 input digits are lost",
            gravity="edge",
        ),
        Mistake(
            "no top_k for 0",
            change={"if top_k is not None:": "if top_k:"},
            hint="top_k=0 is treated as no top_k: test with `is not None`",
            gravity="edge",
        ),
        Mistake("top-p ignored", change={"if top_p is not None:": "if False:"}, hint="top_p is not used", gravity="part"),
        Right(
            "minus infinity and a second softmax",
            code="""
def next_distribution(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return (logits == logits.amax(-1, keepdim=True)).to(logits.dtype)
    z = logits / temperature
    if top_k is not None:
        kth = z.topk(min(max(top_k, 1), z.shape[-1])).values[:, -1:]
        z = z.masked_fill(z < kth, -torch.inf)
    if top_p is not None:
        order = z.argsort(descending=True)
        q = z.softmax(-1).gather(-1, order)
        drop = (q.cumsum(-1) - q >= top_p) & (torch.arange(z.shape[-1]) > 0)
        z = z.masked_fill(torch.zeros_like(drop).scatter(-1, order, drop), -torch.inf)
    return z.softmax(-1)
""",
        ),
        Right(
            "row by row, with lists",
            code="""
def next_distribution(logits, temperature=1.0, top_k=None, top_p=None):
    out = torch.zeros_like(logits)
    for b, row in enumerate(logits):
        q = (row / temperature).softmax(0) if temperature else (row == row.max()).to(row.dtype)
        rank = sorted(range(len(q)), key=lambda i: -q[i].item())[: len(q) if top_k is None else max(top_k, 1)]
        if top_p is not None:
            whole, total, kept = sum(q[i].item() for i in rank), 0.0, []
            for i in rank:
                kept.append(i)
                total += q[i].item() / whole
                if total >= top_p:
                    break
            rank = kept
        out[b, rank] = q[rank] / q[rank].sum()
    return out
""",
        ),
    ],
    "generate": [
        Mistake(
            "does not feed back",
            change={
                "tokens = torch.cat([tokens, chosen], dim=1)  # the new token is part of the next input": "added = torch.cat([added, chosen], dim=1) if _ else chosen",
                "return tokens": "return torch.cat([tokens, added], dim=1) if count else tokens",
            },
            hint="the same token comes again and again: append the sampled token",
            gravity="idea",
        ),
        Mistake("no crop", change={"tokens[:, -model.T :]": "tokens"}, hint="give the model the last T tokens", gravity="part"),
        Mistake(
            "crop from the front",
            change={"tokens[:, -model.T :]": "tokens[:, : model.T]"},
            hint="the model must see the *last* T tokens",
            gravity="part",
        ),
        Mistake("training mode", change={"    model.eval()\n": ""}, hint="the samples come from a model in training mode", gravity="part"),
        Mistake(
            "always greedy",
            change={
                "torch.multinomial(next_distribution(logits, temperature, top_k, top_p), 1)": "next_distribution(logits, temperature, top_k, top_p).argmax(-1, keepdim=True)"
            },
            hint="the most likely token is always chosen",
            gravity="idea",
        ),
        Mistake(
            "knobs unused",
            change={"next_distribution(logits, temperature, top_k, top_p)": "next_distribution(logits)"},
            hint="with temperature 0 generation is greedy: pass the temperature to next_distribution",
            gravity="part",
        ),
        Mistake("first position", change={")[:, -1]": ")[:, 0]"}, hint="the logits are those of the first position", gravity="idea"),
        Mistake(
            "only the new ones",
            change={"return tokens": "return tokens[:, tokens.shape[1] - count :]"},
            hint="only the new tokens come back",
            gravity="idea",
        ),
        Mistake(
            "one draw for all rows",
            change={
                "torch.multinomial(next_distribution(logits, temperature, top_k, top_p), 1)": "torch.multinomial(next_distribution(logits, temperature, top_k, top_p)[:1], 1).expand(len(tokens), 1)"
            },
            hint="all rows get the first row's token: draw one for each row",
            gravity="idea",
        ),
        Mistake(
            "mode not restored",
            change={"    model.train(was_training)\n": ""},
            hint="the model was in training mode before, and must be back in it afterwards",
            gravity="part",
        ),
        Mistake("with gradients", change={"torch.no_grad()": "torch.enable_grad()"}, hint="gradients were recorded", gravity="part"),
        Mistake(
            "short context", change={"tokens[:, -model.T :]": "tokens[:, -1:]"}, hint="the model sees only the last token", gravity="idea"
        ),
        Mistake(
            "result cut",
            change={"return tokens": "return tokens[:, -model.T - count :]"},
            hint="the prefix is cut in the result",
            gravity="part",
        ),
        Mistake(
            "seeded inside",
            change={"    was_training = model.training\n": "    torch.manual_seed(0)\n    was_training = model.training\n"},
            hint="two calls in a row give the same tokens",
            gravity="edge",
        ),
        Mistake(
            "gradients off for good",
            change={"        with torch.no_grad():  # no graph: the forward pass only\n    ": "        torch.set_grad_enabled(False)\n"},
            hint="gradients stay switched off afterwards",
            gravity="edge",
        ),
        Mistake(
            "the prefix only",
            change={"model(tokens[:, -model.T :])": "model(tokens[:, -model.T :] if _ == 0 else tokens[:, -1:])"},
            hint="append the sampled token, and give the model all tokens so far",
            gravity="idea",
        ),
        Mistake(
            "writes into the prefix",
            change={
                "    was_training = model.training\n": "    tokens, given = tokens.clone(), tokens\n    given.zero_()\n    was_training = model.training\n"
            },
            hint=IN_PLACE,
            gravity="edge",
        ),
        Mistake(
            "top_p not handed on",
            change={"temperature, top_k, top_p)": "temperature, top_k)"},
            hint="top_p: the frequencies are wrong",
            gravity="part",
        ),
        Right(
            "inverse of the cumulative distribution",
            change={
                "torch.multinomial(next_distribution(logits, temperature, top_k, top_p), 1)": "(next_distribution(logits, temperature, top_k, top_p).double().cumsum(-1) <= torch.rand(len(tokens), 1).double() * (1 - 1e-9)).sum(-1, keepdim=True)"
            },
        ),
        Right(
            "the Gumbel trick",
            change={
                "torch.multinomial(next_distribution(logits, temperature, top_k, top_p), 1)": "(next_distribution(logits, temperature, top_k, top_p).log() - (-torch.rand(logits.shape).clamp_min(1e-12).log()).log()).argmax(-1, keepdim=True)"
            },
        ),
        Right(
            "Categorical, preallocated",
            code="""
@torch.no_grad()
def generate(model, tokens, count, temperature=1.0, top_k=None, top_p=None):
    mode, n = model.training, tokens.shape[1]
    model.eval()
    out = torch.cat([tokens, tokens.new_zeros(len(tokens), count)], 1)
    for i in range(n, n + count):
        p = next_distribution(model(out[:, max(0, i - model.T) : i])[:, -1, :], temperature=temperature, top_k=top_k, top_p=top_p)
        out[:, i] = torch.distributions.Categorical(probs=p).sample()
    model.train(mode)
    return out
""",
        ),
    ],
    "stop": [
        Mistake(
            "the stop token is cut off",
            change={
                "        if finished.all():\n            break\n": "        if finished.all():\n            tokens = tokens[:, :-1]\n            break\n"
            },
            hint="the stop token is cut off",
            gravity="idea",
        ),
        Mistake(
            "never stops",
            change={
                "        if stop is not None:\n            tokens[finished, -1] = stop\n            finished |= tokens[:, -1] == stop\n": "",
            },
            hint="the row does not stop at 4: compare the drawn token with the stop token",
            gravity="idea",
        ),
        Mistake(
            "compares the place, not the token",
            change={"tokens[:, -1] == stop": "torch.tensor(tokens.shape[1] == stop)"},
            says="the number of tokens so far is compared with the stop token: compare the token that was drawn",
            gravity="idea",
        ),
        Mistake(
            "any row ends all",
            change={"if finished.all():": "if finished.any():"},
            hint="the first row that finishes ends all of them",
            gravity="part",
        ),
        Mistake(
            "finished rows go on",
            change={"            tokens[finished, -1] = stop\n": ""},
            hint="a finished row still gets drawn tokens: fill it up with the stop token",
            gravity="part",
        ),
        Mistake(
            "all rows at the same time",
            change={
                "            tokens[finished, -1] = stop\n            finished |= tokens[:, -1] == stop\n": "            finished = tokens[:, -1] == stop\n"
            },
            hint="a finished row still gets drawn tokens: fill it up with the stop token",
            gravity="part",
        ),
        Mistake(
            "filled up with 0",
            change={"tokens[finished, -1] = stop": "tokens[finished, -1] = 0"},
            hint="those that are finished are filled up with 4",
            gravity="part",
        ),
        Mistake(
            "looks into the prefix",
            change={"finished |= tokens[:, -1] == stop": "finished = (tokens == stop).any(1)"},
            hint="a stop token in the prefix ends nothing: only a drawn one does",
            gravity="edge",
        ),
        Mistake(
            "token 0 is none",
            change={"if stop is not None:": "if stop:"},
            hint="stop = 0 is treated as no stop token: test with `is not None`",
            gravity="edge",
        ),
        Mistake(
            "knobs not handed on",
            change={"generate(model, tokens, 1, temperature, top_k, top_p)": "generate(model, tokens, 1)"},
            hint="temperature has no effect",
            gravity="part",
        ),
        Mistake(
            "top_p not handed on",
            change={"temperature, top_k, top_p)\n        if": "temperature, top_k)\n        if"},
            hint="top_p has no effect",
            gravity="part",
        ),
        Mistake(
            "all tokens, then cut",
            code="""
def generate_until(model, tokens, count, stop=None, temperature=1.0, top_k=None, top_p=None):
    n = tokens.shape[1]
    tokens = generate(model, tokens, count, temperature, top_k, top_p)
    if stop is None:
        return tokens
    hit = tokens[:, n:] == stop
    done = hit.cumsum(1) > 0
    tokens[:, n:][done] = stop
    after = done[:, :-1].all(0).sum() if count else 0
    return tokens[:, : n + count - after]
""",
            hint="all rows are finished after one token, but the model still runs: end the loop there",
            gravity="edge",
        ),
        Mistake(
            "writes into the prefix",
            change={
                "    finished = torch.zeros": "    tokens, given = tokens.clone(), tokens\n    given.zero_()\n    finished = torch.zeros"
            },
            hint=IN_PLACE,
            gravity="edge",
        ),
        Right(
            "one loop of its own",
            code="""
def generate_until(model, tokens, count, stop=None, temperature=1.0, top_k=None, top_p=None):
    mode = model.training
    model.eval()
    alive = torch.ones(tokens.shape[0], 1, dtype=torch.bool)
    for _ in range(count):
        with torch.no_grad():
            p = next_distribution(model(tokens[:, -model.T :])[:, -1], temperature, top_k, top_p)
        new = torch.multinomial(p, 1)
        if stop is not None:
            new = torch.where(alive, new, torch.full_like(new, stop))
            alive = alive & (new != stop)
        tokens = torch.cat([tokens, new], 1)
        if not alive.any():
            break
    model.train(mode)
    return tokens
""",
        ),
        Right(
            "the last token tells",
            code="""
def generate_until(model, tokens, count, stop=None, temperature=1.0, top_k=None, top_p=None):
    if stop is None:
        return generate(model, tokens, count, temperature, top_k, top_p)
    for step in range(count):
        last = tokens[:, -1].clone()
        tokens = generate(model, tokens, 1, temperature=temperature, top_k=top_k, top_p=top_p)
        if step:
            tokens[:, -1] = torch.where(last == stop, last, tokens[:, -1])
        if bool((tokens[:, -1] == stop).all()):
            return tokens
    return tokens
""",
        ),
    ],
    "cache": [
        Mistake("past not used", change={"if past is not None:": "if False:"}, hint="the past is not used", gravity="idea"),
        Mistake(
            "no mask",
            change={", attn_mask=layer.mask[n - t : n, :n]": ""},
            hint="a mask is needed when several come at once",
            gravity="part",
        ),
        Mistake(
            "aligned at the top left",
            change={"layer.mask[n - t : n, :n]": "layer.mask[:t, :n]"},
            hint="the mask is aligned at the top left",
            gravity="idea",
        ),
        Mistake(
            "is_causal",
            change={"attn_mask=layer.mask[n - t : n, :n]": "is_causal=True"},
            hint="the mask is aligned at the top left",
            gravity="idea",
        ),
        Mistake(
            "sees one too many",
            change={"layer.mask[n - t : n, :n]": "torch.ones(t, n).tril(n - t + 1).bool()"},
            hint="a new token sees the one after it",
            gravity="part",
        ),
        Mistake(
            "sees one too few",
            change={"layer.mask[n - t : n, :n]": "torch.ones(t, n).tril(max(0, n - t - 1)).bool()"},
            hint="a new token must see itself",
            gravity="idea",
        ),
        Mistake(
            "new ones in front",
            change={
                "torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)": "torch.cat([k, past[0]], dim=2), torch.cat([v, past[1]], dim=2)"
            },
            hint="old keys and values come after the new ones",
            gravity="part",
        ),
        Mistake(
            "only new ones kept",
            change={"(k, v)\n": "(k[:, :, -t:], v[:, :, -t:])\n"},
            hint="only the last token of the past is kept",
            gravity="idea",
        ),
        Mistake(
            "values first", change={"(k, v)\n": "(v, k)\n"}, hint="keys and values are swapped: the pair is (keys, values)", gravity="idea"
        ),
        Right(
            "written out",
            change={
                "mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=layer.mask[n - t : n, :n])": "scores = torch.einsum('bhid,bhjd->bhij', q, k) / q.shape[-1] ** 0.5\n    later = torch.arange(n) > torch.arange(n - t, n)[:, None]\n    mixed = scores.masked_fill(later, -torch.inf).softmax(-1) @ v"
            },
        ),
        Right(
            "token by token",
            code="""
def cached_attention(layer, x, past=None):
    B, t, D = x.shape
    q, k, v = (part.view(B, t, layer.H, -1).transpose(1, 2) for part in layer.qkv(x).split(D, dim=-1))
    s = 0
    if past:
        s = past[0].size(2)
        k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
    outs = [F.scaled_dot_product_attention(q[:, :, i : i + 1], k[:, :, : s + i + 1], v[:, :, : s + i + 1]) for i in range(t)]
    return layer.proj(torch.cat(outs, 2).transpose(1, 2).flatten(2)), [k, v]
""",
        ),
    ],
    "cached-model": [
        Mistake(
            "position 0 always",
            change={"model.position.weight[s : s + t]": "model.position.weight[:t]"},
            hint="every new token gets position 0",
            gravity="idea",
        ),
        Mistake(
            "positions one too large",
            change={"model.position.weight[s : s + t]": "model.position.weight[s + (s > 0) : s + t + (s > 0)]"},
            hint="one too large",
            gravity="idea",
        ),
        Mistake(
            "positions one too small",
            change={"model.position.weight[s : s + t]": "model.position.weight[max(0, s - 1) : max(0, s - 1) + t]"},
            hint="one too small",
            gravity="idea",
        ),
        Mistake(
            "one past for all blocks",
            change={"else past[i]": "else past[0]"},
            hint="token by token the logits must be those of the whole sequence",
            gravity="idea",
        ),
        Mistake(
            "no check of the length",
            change={"if s + t > model.T:": "if False:"},
            hint="old and new tokens together are more than T",
            gravity="edge",
        ),
        Mistake(
            "checks the new tokens only",
            change={"if s + t > model.T:": "if t > model.T:"},
            hint="old and new tokens together are more than T",
            gravity="edge",
        ),
        Mistake("one too strict", change={"if s + t > model.T:": "if s + t >= model.T:"}, hint="T tokens are allowed", gravity="edge"),
        Mistake(
            "past handed through",
            change={"present.append(pair)": "present.append(pair if past is None else past[i])"},
            hint="token by token the logits must be those of the whole sequence",
            gravity="idea",
        ),
        Mistake("no last norm", change={"model.norm(x) @": "x @"}, hint="the last norm is missing", gravity="idea"),
        Mistake(
            "no feed-forward",
            change={"        x = x + block.down(F.gelu(block.up(block.norm2(x))))\n": ""},
            hint="the feed-forward branch is missing",
            gravity="idea",
        ),
        Mistake("no norm before attention", change={"block.norm1(x)": "x"}, hint="norm1 is missing", gravity="idea"),
        Right(
            "one pass over pairs",
            change={
                "for i, block in enumerate(model.blocks):": "for block, old in zip(model.blocks, past or [None] * len(model.blocks), strict=True):",
                "None if past is None else past[i]": "old",
            },
        ),
        Right(
            "position layer",
            change={
                "model.position.weight[s : s + t]": "model.position(torch.arange(s, s + t))",
                "model.norm(x) @ model.token.weight.T": "F.linear(model.norm(x), model.token.weight)",
            },
        ),
    ],
    "grouped-attention": [
        Mistake(
            "float32 result",
            change={"return mixed, (k, v)": "return mixed.float(), (k, v)"},
            hint="with float64 input digits are lost",
            gravity="edge",
        ),
        Mistake(
            "repeat instead of repeat_interleave",
            change={
                "k.repeat_interleave(share, dim=1)": "k.repeat(1, share, 1, 1)",
                "v.repeat_interleave(share, dim=1)": "v.repeat(1, share, 1, 1)",
            },
            hint="query heads 0 and 2 share: neighbours share",
            gravity="idea",
        ),
        Mistake(
            "keys in groups, values interleaved",
            change={"v.repeat_interleave(share, dim=1)": "v.repeat(1, share, 1, 1)"},
            hint="query heads 0 and 2 share: neighbours share",
            gravity="idea",
        ),
        Mistake(
            "keys interleaved, values in groups",
            change={"k.repeat_interleave(share, dim=1)": "k.repeat(1, share, 1, 1)"},
            says="the keys are dealt out head by head, the values to neighbours: both go to neighbours, and together",
            gravity="idea",
        ),
        Mistake(
            "groups of two, always",
            change={"share = H // G": "share = 2"},
            says="the groups always have two heads: how many there are follows from the shapes, H / G",
            gravity="idea",
        ),
        Mistake(
            "two heads of keys, always",
            change={"share = H // G": "share = H // 2"},
            says="the number of key/value heads is fixed at two: it is an axis of the keys",
            gravity="idea",
        ),
        Mistake(
            "heads averaged",
            change={
                "k.repeat_interleave(share, dim=1)": "k.mean(1, keepdim=True)",
                "v.repeat_interleave(share, dim=1)": "v.mean(1, keepdim=True)",
            },
            hint="the heads of keys and values are averaged",
            gravity="idea",
        ),
        Mistake(
            "head 0 for all",
            change={"k.repeat_interleave(share, dim=1)": "k[:, :1]", "v.repeat_interleave(share, dim=1)": "v[:, :1]"},
            hint="all query heads look at key/value head 0",
            gravity="idea",
        ),
        Mistake(
            "queries averaged",
            change={
                "scores = q @ k.repeat_interleave(share, dim=1).mT": "scores = q.unflatten(1, (G, share)).mean(2).repeat_interleave(share, dim=1) @ k.repeat_interleave(share, dim=1).mT"
            },
            says="the queries of a group are averaged: they share keys and values, and stay different themselves",
            gravity="idea",
        ),
        Mistake("no scale", change={" / d**0.5": ""}, hint="the scores are not scaled", gravity="idea"),
        Mistake("scale by the whole width", change={" / d**0.5": " / (H * d) ** 0.5"}, hint="scaled by the root of H · d", gravity="idea"),
        Mistake(
            "scale by the width of the cache",
            change={" / d**0.5": " / (G * d) ** 0.5"},
            says="the scores are scaled by the root of G · d: a key has width d, however many heads there are",
            gravity="idea",
        ),
        Mistake("scale without the root", change={" / d**0.5": " / d"}, hint="scaled by the width itself: take its root", gravity="idea"),
        Mistake("past not used", change={"if past is not None:": "if False:"}, hint="the past is not used", gravity="idea"),
        Mistake(
            "mask lost",
            change={"scores.masked_fill(later, -torch.inf).softmax": "scores.softmax"},
            hint="a mask is needed when several come at once",
            gravity="part",
        ),
        Mistake(
            "mask aligned at the top left",
            change={"triu(n - t + 1)": "triu(1)"},
            hint="the mask is aligned at the top left",
            gravity="idea",
        ),
        Mistake(
            "sees one too many",
            change={"triu(n - t + 1)": "triu(n - t + 2)"},
            hint="a new token sees the one after it",
            gravity="part",
        ),
        Mistake(
            "cache stores repeated heads",
            change={
                "return mixed, (k, v)": "return mixed, (k.repeat_interleave(share, dim=1), v.repeat_interleave(share, dim=1))",
            },
            hint="the repeated heads are kept",
            gravity="part",
        ),
        Mistake(
            "only the new ones kept",
            change={"return mixed, (k, v)": "return mixed, (k[:, :, -t:], v[:, :, -t:])"},
            hint="only the new keys and values come back",
            gravity="part",
        ),
        Mistake(
            "any G",
            change={"    if H % G:\n": "    if G > H:\n", "share = H // G": "share = -(-H // G)", "dim=1)": "dim=1)[:, :H]"},
            hint="raise a ValueError",
            gravity="edge",
        ),
        Mistake(
            "float32 always",
            change={"return mixed, (k, v)": "return mixed.float().to(mixed.dtype), (k, v)"},
            hint="with float64 input digits are lost",
            gravity="edge",
        ),
        Right(
            "an axis for the group, nothing copied",
            code="""
def grouped_attention(q, k, v, past=None):
    if past:
        k, v = (torch.cat(pair, -2) for pair in zip(past, (k, v)))
    B, H, t, d = q.shape
    G, n = k.shape[1], k.shape[2]
    if H % G != 0:
        raise ValueError("G must divide H")
    queries = q.reshape(B, G, H // G, t, d)
    scores = torch.einsum("bgitd,bgnd->bgitn", queries, k) / d**0.5
    place = torch.arange(n - t, n)
    weights = scores.masked_fill(torch.arange(n) > place[:, None], float("-inf")).softmax(-1)
    return torch.einsum("bgitn,bgnd->bgitd", weights, v).reshape(q.shape), (k, v)
""",
        ),
        Right(
            "torch's kernel",
            code="""
def grouped_attention(q, k, v, past=None):
    if q.shape[1] % k.shape[1]:
        raise ValueError("G must divide H")
    if past is not None:
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    t, n = q.shape[2], k.shape[2]
    sees = torch.ones(t, n).tril(n - t).bool()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=sees, enable_gqa=True), [k, v]
""",
        ),
        Right(
            "head by head",
            code="""
def grouped_attention(q, k, v, past=None):
    H, G, t = q.shape[1], k.shape[1], q.shape[2]
    if H % G:
        raise ValueError("no whole groups")
    old = 0 if past is None else past[0].shape[2]
    keys = k if past is None else torch.cat([past[0], k], 2)
    values = v if past is None else torch.cat([past[1], v], 2)
    rows = []
    for h in range(H):
        g = h // (H // G)
        row = [F.scaled_dot_product_attention(q[:, h, i : i + 1], keys[:, g, : old + i + 1], values[:, g, : old + i + 1]) for i in range(t)]
        rows.append(torch.cat(row, 1))
    return torch.stack(rows, 1), (keys, values)
""",
        ),
    ],
    "cache-bytes": [
        Mistake("keys only", change={"return 2 * L": "return L"}, hint="a factor 2 is missing", gravity="idea"),
        Mistake(
            "numbers, not bytes",
            change={" * n * d * each": " * n * d"},
            hint="a factor 2 is missing",
            gravity="idea",
        ),
        Mistake("bits", change={" * d * each": " * d * each * 8"}, hint="these are bits", gravity="idea"),
        Mistake("no blocks", change={"2 * L * B": "2 * B"}, hint="GPT-2 small: 37,748,736 bytes", gravity="idea"),
        Mistake("one sequence", change={"2 * L * B": "2 * L"}, hint="B = 3 and each = 2", gravity="part"),
        Mistake("always two bytes", change={" * d * each": " * d * 2"}, hint="B = 1 and each = 4", gravity="part"),
        Mistake(
            "numbers counted",
            change={"part.numel() * part.element_size()": "part.numel()"},
            hint="this counts the numbers: each takes several bytes",
            gravity="idea",
        ),
        Mistake("keys counted", change={"for part in pair": "for part in pair[:1]"}, hint="one of the two is left out", gravity="idea"),
        Mistake("one block counted", change={"for pair in past for": "for pair in past[:1] for"}, hint="only one block", gravity="idea"),
        Mistake(
            "always four bytes",
            change={"part.element_size()": "4"},
            hint="half precision takes two bytes per number: ask the tensor, `element_size()`",
            gravity="part",
        ),
        Mistake(
            "the first block for all",
            change={
                "return sum(part.numel() * part.element_size() for pair in past for part in pair)": "return len(past) * sum(part.numel() * part.element_size() for part in past[0]) if past else 0"
            },
            hint="count every tensor by itself",
            gravity="part",
        ),
        Mistake(
            "keys twice",
            change={"for part in pair": "for part in (pair[0], pair[0])"},
            hint="count every tensor by itself",
            gravity="part",
        ),
        Right(
            "per token first, nbytes",
            code="""
def cache_bytes(L, G, d, n, B=1, each=2):
    per_token = L * (G * d + G * d) * each
    return B * n * per_token


def counted_bytes(past):
    total = 0
    for keys, values in past:
        total += keys.nbytes + values.nbytes
    return total
""",
        ),
        Right(
            "math.prod",
            change={
                "2 * L * B * G * n * d * each": "math.prod((2, L, B, G, n, d, each))",
                "part.numel() * part.element_size()": "math.prod(part.shape) * part.itemsize",
            },
        ),
    ],
    "plan": [
        Mistake(
            "no scaler", change={'"scaler": autocast == "float16"': '"scaler": False'}, hint="float16 without a scaler", gravity="part"
        ),
        Mistake(
            "scaler for bfloat16",
            change={'autocast == "float16"': "autocast is not None"},
            hint="bfloat16 has the range of float32: it needs no scaler",
            gravity="part",
        ),
        Mistake(
            "float16 always",
            change={'"bfloat16" if bfloat16 else "float16" if': '"float16" if'},
            hint="float16 is chosen although the card has bfloat16, which is the better choice",
            gravity="idea",
        ),
        Mistake(
            "bfloat16 always",
            change={'"bfloat16" if bfloat16 else "float16" if kind == "cuda" else None': '"bfloat16"'},
            hint="bfloat16 is chosen for a card that does not compute in it",
            gravity="idea",
        ),
        Mistake("pinned everywhere", change={'kind == "cuda"}': "True}"}, hint="a CPU needs none", gravity="part"),
        Mistake("pinned for every GPU", change={'kind == "cuda"}': 'kind != "cpu"}'}, hint="MPS shares its memory", gravity="part"),
        Mistake("mixed not used", change={"if mixed and kind": "if kind"}, hint="mixed=False has no effect", gravity="part"),
        Mistake(
            "pinned only when mixed",
            change={'kind == "cuda"}': 'kind == "cuda" and mixed}'},
            hint="pinned memory has nothing to do with mixed precision",
            gravity="part",
        ),
        Mistake(
            "float16 on a CPU",
            change={' if kind == "cuda" else None': ""},
            hint="a CPU without bfloat16 stays with float32",
            gravity="idea",
        ),
        Mistake(
            "autocast on MPS",
            change={'if mixed and kind != "mps":': "if mixed:"},
            hint="on MPS the plan stays with float32",
            gravity="idea",
        ),
        Right(
            "a table",
            code="""
def training_plan(kind, bfloat16, mixed=True):
    types = {("cuda", True): "bfloat16", ("cuda", False): "float16", ("cpu", True): "bfloat16"}
    chosen = types.get((kind, bool(bfloat16))) if mixed else None
    return dict(autocast=chosen, scaler=chosen == "float16", pinned=kind == "cuda")
""",
        ),
        Right(
            "many ifs",
            code="""
def training_plan(kind, bfloat16, mixed=True):
    plan = {"autocast": None, "scaler": False, "pinned": False}
    if kind == "cuda":
        plan["pinned"] = True
        if mixed and bfloat16:
            plan["autocast"] = "bfloat16"
        elif mixed:
            plan["autocast"], plan["scaler"] = "float16", True
    elif kind == "cpu" and mixed and bfloat16:
        plan["autocast"] = "bfloat16"
    return plan
""",
        ),
    ],
    "wall-time": [
        Mistake(
            "minutes for hours",
            change={'f"{minutes // 60:02d}:{minutes % 60:02d}:00"': 'f"{minutes:02d}:00:00"'},
            hint="in Slurm's format 30:00:00 is thirty hours",
            gravity="idea",
        ),
        Mistake(
            "minutes and seconds only",
            change={'f"{minutes // 60:02d}:{minutes % 60:02d}:00"': 'f"{minutes:02d}:00"'},
            hint="write hours, minutes and seconds",
            gravity="idea",
        ),
        Mistake("no margin", change={"1.5 * (": "("}, hint="the extra half is missing: multiply by 1.5", gravity="idea"),
        Mistake(
            "margin for the steps only",
            change={
                "1.5 * (startup_seconds + steps * milliseconds_per_step / 1000)": "startup_seconds + 1.5 * steps * milliseconds_per_step / 1000"
            },
            hint="the extra half applies to the start-up as well: (start-up + steps) × 1.5",
            gravity="idea",
        ),
        Mistake("no start-up", change={"startup_seconds + ": ""}, hint="the start-up is missing", gravity="idea"),
        Mistake("rounded down", change={"math.ceil": "int"}, hint="round up, not down", gravity="part"),
        Mistake("seconds per step", change={" / 1000": ""}, hint="the time per step is in milliseconds", gravity="idea"),
        Mistake(
            "no carry",
            change={"{minutes // 60:02d}:{minutes % 60:02d}": "00:{minutes:02d}"},
            hint="carry them over into hours",
            gravity="part",
        ),
        Mistake(
            "one more minute",
            change={"math.ceil(seconds / 60)": "int(seconds // 60) + 1"},
            hint="a time that is already a whole number of minutes gets one minute more: it stays as it is",
            gravity="edge",
        ),
        Mistake(
            "start-up always 60 s",
            change={"startup_seconds + steps": "60 + steps"},
            hint="start-up is always counted as 60 s: use `startup_seconds`",
            gravity="idea",
        ),
        Mistake(
            "hours modulo a day",
            change={"{minutes // 60:02d}": "{minutes // 60 % 24:02d}"},
            hint="hours are carried over into days, which are lost",
            gravity="edge",
        ),
        Right(
            "divmod",
            change={
                'return f"{minutes // 60:02d}:{minutes % 60:02d}:00"': "h, m = divmod(minutes, 60)\n    return '%02d:%02d:00' % (h, m)"
            },
        ),
        Right("negative floor division", change={"math.ceil(seconds / 60)": "-int(-seconds // 60)"}),
    ],
    "bonus-speculative": [
        Mistake(
            "always accepted",
            change={"torch.rand_like(ratio) < ratio": "torch.ones_like(ratio, dtype=torch.bool)"},
            hint="every draft is accepted: that gives q",
            gravity="idea",
        ),
        Mistake(
            "from p after a rejection",
            change={"residual = (p - q).clamp_min(0)": "residual = p"},
            hint="after a rejection you draw from p",
            gravity="idea",
        ),
        Mistake(
            "from q after a rejection",
            change={"residual = (p - q).clamp_min(0)": "residual = q"},
            hint="after a rejection you draw from q again",
            gravity="idea",
        ),
        Mistake(
            "residual the wrong way round",
            change={"(p - q).clamp_min(0)": "(q - p).clamp_min(0)"},
            hint="the right way round?",
            gravity="idea",
        ),
        Mistake(
            "residual not guarded",
            change={"    residual = torch.where(residual.sum(dim=1, keepdim=True) > 0, residual, p)\n": ""},
            hint="the residual of zeros must not break anything",
            gravity="part",
        ),
        Mistake(
            "one coin for all rows",
            change={"torch.rand_like(ratio) < ratio": "torch.rand(1) < ratio"},
            hint="the tokens do not have the distribution p",
            gravity="idea",
        ),
        Mistake(
            "ignores the draft",
            change={"torch.where(accepted, drafts, torch.multinomial(residual, 1))": "torch.multinomial(p, 1)"},
            hint="where a draft is accepted, it is the token",
            gravity="part",
        ),
        Mistake(
            "columns",
            change={"tokens[:, 0], drafts[:, 0], accepted[:, 0]": "tokens, drafts, accepted"},
            hint="three results, each of shape (B,)",
            gravity="edge",
        ),
        Mistake(
            "one residual for all rows",
            change={"residual = (p - q).clamp_min(0)": "residual = (p - q).clamp_min(0)[:1].expand(len(p), -1)"},
            hint="every row has its own p and q",
            gravity="part",
        ),
        Mistake(
            "accepts where p is larger only",
            change={"torch.rand_like(ratio) < ratio": "ratio >= 1"},
            hint="the tokens do not have the distribution p",
            gravity="idea",
        ),
        Right(
            "row by row",
            code="""
def speculative_sample(p, q):
    drafts = torch.distributions.Categorical(probs=q).sample()
    rows = torch.arange(len(p))
    accepted = torch.rand(len(p)) * q[rows, drafts] < p[rows, drafts]
    tokens = drafts.clone()
    if (~accepted).any():
        left = torch.relu(p - q)[~accepted]
        tokens[~accepted] = torch.multinomial(left / left.sum(1, keepdim=True), 1)[:, 0]
    return tokens, drafts, accepted
""",
        ),
        Right(
            "float64", change={"drafts = torch.multinomial(q, 1)": "p, q = p.double(), q.double()\n    drafts = torch.multinomial(q, 1)"}
        ),
    ],
    "bonus-block": [
        Mistake(
            "guesses behind a rejection stay",
            change={"taken.long().cumprod(dim=1).sum(dim=1)": "taken.long().sum(dim=1)"},
            hint="the tokens do not have the target's distribution",
            gravity="idea",
        ),
        Mistake(
            "always accepted",
            change={"(torch.rand_like(ratio) < ratio)[:, :, 0]": "torch.ones_like(drafts, dtype=torch.bool)"},
            hint="two are accepted",
            gravity="idea",
        ),
        Mistake(
            "from p after a rejection",
            change={"(p[:, :k] - q).clamp_min(0)": "p[:, :k]"},
            hint="the tokens do not have the target's distribution",
            gravity="idea",
        ),
        Mistake(
            "residual the wrong way round",
            change={"(p[:, :k] - q)": "(q - p[:, :k])"},
            hint="the rejected guess stays",
            gravity="idea",
        ),
        Mistake(
            "accepts where p is larger only",
            change={"torch.rand_like(ratio) < ratio": "ratio >= 1"},
            hint="the tokens do not have the target's distribution",
            gravity="idea",
        ),
        Mistake(
            "one coin for a whole row",
            change={"torch.rand_like(ratio) < ratio": "torch.rand(B, 1, 1) < ratio"},
            hint="the tokens do not have the target's distribution",
            gravity="idea",
        ),
        Mistake(
            "no extra token",
            change={
                "return tokens.masked_fill(torch.arange(k + 1) > accepted[:, None], -1)": "tokens[accepted == k, k] = -1\n    return tokens.masked_fill(torch.arange(k + 1) > accepted[:, None], -1)"
            },
            hint="the last distribution of the target gives one more token",
            gravity="part",
        ),
        Mistake(
            "residual not guarded",
            change={
                "    left = torch.where(left.sum(dim=1, keepdim=True) > 0, left, p[rows, accepted])\n": "",
                "p[:, k:]], dim=1)": "(p[:, k:] - q[:, -1:]).clamp_min(0)], dim=1)",
            },
            says="the extra token is drawn from a residual: after the last guess there is nothing to subtract, draw from p",
            gravity="idea",
        ),
        Mistake(
            "one too many counted",
            change={"> accepted[:, None], -1), accepted": "> accepted[:, None], -1), accepted + 1"},
            hint="two are accepted",
            gravity="idea",
        ),
        Mistake(
            "filled up with 0",
            change={"accepted[:, None], -1)": "accepted[:, None], 0)"},
            hint="two are accepted, then 1 is drawn, then −1 fills the row",
            gravity="idea",
        ),
        Right(
            "row by row",
            code="""
def accept_block(p, q, drafts):
    B, k = drafts.shape
    tokens, counts = torch.full((B, k + 1), -1), torch.zeros(B, dtype=torch.long)
    going = torch.ones(B, dtype=torch.bool)
    rows = torch.arange(B)
    for i in range(k):
        x = drafts[:, i]
        yes = going & (torch.rand(B) * q[rows, i, x] < p[rows, i, x])
        tokens[yes, i] = x[yes]
        no = going & ~yes
        if no.any():
            left = torch.relu(p[no, i] - q[no, i])
            tokens[no, i] = torch.multinomial(left / left.sum(1, keepdim=True), 1)[:, 0]
        counts += yes
        going = yes
    if going.any():
        tokens[going, k] = torch.multinomial(p[going, k], 1)[:, 0]
    return tokens, counts
""",
        ),
        Right(
            "the first rejection by argmax",
            change={
                "taken.long().cumprod(dim=1).sum(dim=1)": "torch.cat([~taken, torch.ones(B, 1, dtype=torch.bool)], 1).int().argmax(1)",
                "torch.rand_like(ratio) < ratio": "torch.rand_like(ratio) <= ratio.clamp_max(1)",
            },
        ),
    ],
    "bonus-decode": [
        Mistake(
            "the best guess",
            change={"torch.multinomial(q[-1], 1)": "q[-1].argmax(-1, keepdim=True)"},
            hint="Draw each guess from the draft's softmax",
            gravity="part",
        ),
        Mistake(
            "cache not cut back",
            change={"    past = [(keys[:, :, : n + a], values[:, :, : n + a]) for keys, values in past]\n": ""},
            hint="the cache should hold all tokens but the last: remove the rejected guesses",
            gravity="part",
        ),
        Mistake(
            "cut one too short",
            change={"(keys[:, :, : n + a], values[:, :, : n + a])": "(keys[:, :, : n + a - 1], values[:, :, : n + a - 1])"},
            hint="the cache should hold all tokens but the last: remove the rejected guesses",
            gravity="part",
        ),
        Mistake(
            "distributions one too early",
            change={"logits[:, -k - 1 :].softmax(dim=-1)": "torch.cat([logits[:, :1], logits[:, -k - 1 : -1]], dim=1).softmax(dim=-1)"},
            hint="when the target is sure of every token, the result is the target's own choice, whatever the draft guesses",
            gravity="idea",
        ),
        Mistake(
            "drafts without a judge",
            change={"    a = int(accepted)\n": "    a, block = k, torch.cat([guessed[:, n:], block[:, -1:].clamp_min(0)], dim=1)\n"},
            hint="when the target is sure of every token, the result is the target's own choice, whatever the draft guesses",
            gravity="idea",
        ),
        Mistake(
            "accepted ones only",
            change={"block[:, : a + 1]": "block[:, :a]"},
            says="the token that replaces a rejected guess, or follows the last one, is missing: with a accepted guesses a step adds a + 1 tokens",
            gravity="idea",
        ),
        Mistake(
            "past not used",
            change={"cached_forward(target, guessed[:, seen:], past)": "cached_forward(target, guessed)"},
            hint="the target runs over old tokens again",
            gravity="part",
        ),
        Mistake(
            "the last token only",
            change={"guessed[:, seen:], past)": "guessed[:, n - 1 :], past)"},
            hint="when the target is sure of every token, the result is the target's own choice, whatever the draft guesses",
            gravity="idea",
        ),
        Mistake(
            "with gradients",
            change={"with torch.no_grad():": "with torch.enable_grad():"},
            hint="gradients were recorded",
            gravity="edge",
        ),
        Right(
            "decorated, cut with narrow",
            code="""
@torch.no_grad()
def speculative_step(target, draft, tokens, k, past=None):
    n = tokens.shape[1]
    text, rows = tokens.clone(), []
    while text.shape[1] < n + k:
        rows.append(torch.softmax(draft(text)[:, -1, :], -1))
        text = torch.cat((text, torch.multinomial(rows[-1], 1)), 1)
    new = text if past is None else text[:, n - 1 :]
    logits, pairs = cached_forward(target, new, past)
    out, count = accept_block(logits[:, logits.shape[1] - k - 1 :].softmax(-1), torch.cat([row[:, None] for row in rows], 1), text[:, n:])
    kept = n + int(count[0])
    return torch.cat((tokens, out[:, : int(count[0]) + 1]), 1), [tuple(part.narrow(2, 0, kept) for part in pair) for pair in pairs]
""",
        ),
        Right(
            "the block without its fillers",
            change={
                "block[:, : a + 1]": "block[block >= 0][None]",
                "keys[:, :, : n + a], values[:, :, : n + a]": "keys[..., : n + a, :].clone(), values[..., : n + a, :].clone()",
            },
        ),
    ],
}

EQUIVALENT = {
    "attention": {
        "sign: D // self.H → D / self.H #2": "H divides D: both give the same number",
        "number: False → True #3": "whether the mask is stored with the weights makes no difference to any result",
        "in place: CausalSelfAttention.forward, x is changed afterwards": "the result needs gradients, and then this mutant changes nothing",
    },
    "block": {"in place: Block.forward, x is changed afterwards": "the result needs gradients, and then this mutant changes nothing"},
    "gpt": {"in place: GPT.forward, tokens is changed afterwards": "the result needs gradients, and then this mutant changes nothing"},
    "cache-bytes": {"iterator: counted_bytes, past needs a length": "a cache is a list, as `cached_forward` gives it: it has a length"},
}
