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
            "vocabulary: by frequency",
            change={"sorted(set(text))": "sorted(set(text), key=lambda c: (-text.count(c), c))"},
            says="the characters are sorted by how often they occur: sort them by code",
            gravity="idea",
        ),
        Mistake(
            "vocabulary: upper case",
            change={"sorted(set(text))": "sorted(set(text.upper()))"},
            says="small letters become capitals: `A` and `a` are different characters",
            gravity="idea",
        ),
        Mistake(
            "vocabulary: letters only",
            change={"sorted(set(text))": "sorted(c for c in set(text) if c.isalpha())"},
            says="only letters are kept: spaces, commas and line ends are characters too",
            gravity="idea",
        ),
        Mistake(
            "encode: lower case",
            change={"for character in text if": "for character in text.lower() if"},
            says="the text is turned into small letters first: `A` and `a` are different characters",
            gravity="idea",
        ),
        Mistake(
            "encode: counted from the end",
            change={"enumerate(alphabet)": "enumerate(reversed(alphabet))"},
            says="the alphabet is counted from its end: the first character is token 0",
            gravity="idea",
        ),
        Mistake(
            "decode: sorted",
            change={"for token in tokens)": "for token in tokens.sort().values)"},
            says="decode sorts the tokens: the characters keep their order",
            gravity="idea",
        ),
        Mistake(
            "decode: upper case",
            change={"for token in tokens)": "for token in tokens).upper()"},
            says="decode turns the text into capitals: every token is one character of the alphabet, as it is",
            gravity="idea",
        ),
        Mistake(
            "vocabulary: capitals beside small letters",
            change={"sorted(set(text))": "sorted(set(text), key=str.lower)"},
            says="capitals and small letters are sorted together: sort by code, capitals come first",
            gravity="idea",
        ),
        Mistake(
            "vocabulary: repeated characters",
            change={"sorted(set(text))": "sorted(text)"},
            says="repeated characters are kept: the vocabulary has every character once",
            gravity="idea",
        ),
        Mistake(
            "vocabulary: what can be printed",
            change={"sorted(set(text))": "(c for c in sorted(set(text)) if c.isprintable())"},
            says="line ends are left out: they are characters too",
            gravity="part",
        ),
        Mistake(
            "encode: numbered by this text",
            change={"enumerate(alphabet)": "enumerate(vocabulary(text))"},
            says="the characters of this text are numbered anew: a token is the index in the alphabet that is given",
            gravity="idea",
        ),
        Mistake(
            "encode: a batch of one",
            change={
                "return torch.tensor([place[character] for character in text if character in place], dtype=torch.long)": "return torch.tensor([[place[character] for character in text if character in place]], dtype=torch.long)"
            },
            says="the tokens are a matrix of one row: they are a vector, of shape (n,)",
            gravity="idea",
        ),
        Mistake(
            "decode: code points",
            change={"alphabet[int(token)] for": "chr(int(token)) for"},
            says="the tokens are taken as code points: look them up in the alphabet",
            gravity="idea",
        ),
        Mistake(
            "decode: counted from 1",
            change={"alphabet[int(token)] for": "alphabet[int(token) - 1] for"},
            says="decode counts the alphabet from 1: token 0 is its first character",
            gravity="idea",
        ),
        Mistake(
            "decode: stripped",
            change={"for token in tokens)": "for token in tokens).strip()"},
            says="decode strips spaces and line ends at the ends of the text: they are characters too",
            gravity="part",
        ),
        Mistake(
            "encode: a list",
            change={
                "torch.tensor([place[character] for character in text if character in place], dtype=torch.long)": "[place[character] for character in text if character in place]"
            },
            hint="encode gives a list: make an int64 tensor of it",
            gravity="edge",
        ),
        Mistake(
            "decode: reversed", change={"for token in tokens)": "for token in tokens.flip(0))"}, hint="in reverse order", gravity="idea"
        ),
        Mistake(
            "not sorted",
            change={"sorted(set(text))": "dict.fromkeys(text)"},
            says="the characters are in the order in which they appear: sort them",
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
            says="an unknown character becomes token 0: leave it out instead",
            gravity="part",
        ),
        Mistake(
            "unknown raises",
            change={" if character in place": ""},
            says="an unknown character raises an error: leave it out instead",
            gravity="part",
        ),
        Mistake(
            "floats", change={"dtype=torch.long": "dtype=torch.float"}, hint="the tokens are floats: say dtype=torch.long", gravity="edge"
        ),
        Mistake(
            "decode gives a list",
            change={'"".join(alphabet[int(token)] for token in tokens)': "[alphabet[int(t)] for t in tokens]"},
            hint="decode gives a list of characters",
            gravity="idea",
        ),
        Mistake(
            "lower case",
            change={"set(text)": "set(text.lower())"},
            says="capitals are folded: `A` and `a` are different characters",
            gravity="idea",
        ),
        Mistake(
            "strips the borders",
            change={"in text if": "in text.strip() if"},
            says="the ends of the text are stripped: spaces there are tokens too",
            gravity="part",
        ),
        Mistake(
            "floats for an empty text",
            change={", dtype=torch.long": ""},
            says="an empty text gives floats: torch.tensor([]) has floats unless you say dtype=torch.long",
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
        Mistake(
            "vocabulary: stripped",
            change={"set(text)": "set(text.strip())"},
            says="line ends and spaces at the ends of the text are stripped: they are characters too",
            gravity="part",
        ),
        Mistake(
            "vocabulary: no white space",
            change={"set(text)": "set(text) - set(' \\n')"},
            says="spaces and line ends are left out: they are characters too",
            gravity="idea",
        ),
        Mistake(
            "vocabulary: reversed",
            change={"sorted(set(text))": "sorted(set(text), reverse=True)"},
            says="the characters are sorted the wrong way round: the smallest code comes first",
            gravity="idea",
        ),
        Mistake(
            "encode: repeated characters left out",
            change={"for character in text if": "for character in dict.fromkeys(text) if"},
            says="repeated characters are left out: the text has one token for each of its characters",
            gravity="idea",
        ),
        Mistake(
            "encode: unknown becomes -1",
            change={"[place[character] for character in text if character in place]": "[place.get(character, -1) for character in text]"},
            says="an unknown character becomes −1: leave it out instead",
            gravity="part",
        ),
        Mistake(
            "encode: unknown becomes an extra token",
            change={
                "[place[character] for character in text if character in place]": "[place.get(character, len(alphabet)) for character in text]"
            },
            says="an unknown character becomes an extra token: leave it out instead",
            gravity="part",
        ),
        Mistake(
            "encode: ends at an unknown character",
            change={
                "[place[character] for character in text if character in place]": "[place[c] for c in text[: next((i for i, c in enumerate(text) if c not in place), len(text))]]"
            },
            says="the text ends at the first unknown character: leave that one out, and go on",
            gravity="part",
        ),
        Mistake(
            "encode: an alphabet of its own",
            change={"enumerate(alphabet)": "enumerate(sorted(set(text) & set(alphabet)))"},
            says="the characters of this text are numbered anew: a token is the index in the alphabet that is given",
            gravity="idea",
        ),
        Mistake("encode: int32", change={"dtype=torch.long": "dtype=torch.int32"}, hint="the tokens are int32, not int64", gravity="edge"),
        Mistake(
            "decode: repeated characters left out",
            change={
                '"".join(alphabet[int(token)] for token in tokens)': '"".join(dict.fromkeys(alphabet[int(token)] for token in tokens))'
            },
            says="decode leaves repeated characters out: every token gives one character",
            gravity="idea",
        ),
        Mistake(
            "decode: joined by spaces",
            change={'return "".join(alphabet': 'return " ".join(alphabet'},
            says="decode puts spaces between the characters: join them with nothing between",
            gravity="idea",
        ),
    ],
    "batches": [
        Mistake(
            "starts taken for ends",
            change={"starts[:, None] + torch.arange(T + 1)": "starts[:, None] - T + torch.arange(T + 1)"},
            says="the windows end at the given places: they begin there",
            gravity="idea",
        ),
        Mistake(
            "x one token longer",
            change={"return rows[:, :-1], rows[:, 1:]": "return rows, rows[:, 1:]"},
            says="x has T + 1 tokens: the last one is a target only",
            gravity="idea",
        ),
        Mistake(
            "one target for each row",
            change={"return rows[:, :-1], rows[:, 1:]": "return rows[:, :-1], rows[:, -1]"},
            says="each row has one target only: every position has one, the token after it",
            gravity="idea",
        ),
        Mistake(
            "x and y exchanged",
            change={"return rows[:, :-1], rows[:, 1:]": "return rows[:, 1:], rows[:, :-1]"},
            says="x and y are exchanged: x begins at starts[b], y one later",
            gravity="idea",
        ),
        Mistake(
            "targets of the next window",
            change={
                "rows = stream[starts[:, None] + torch.arange(T + 1)]": "rows = stream[starts[:, None] + torch.arange(2 * T)]",
                "return rows[:, :-1], rows[:, 1:]": "return rows[:, :T], rows[:, T:]",
            },
            says="the targets are the window after this one: y begins one token later than x, not T",
            gravity="idea",
        ),
        Mistake(
            "last place never used, none left",
            change={"len(stream) - T,": "len(stream) - T - 1,"},
            says="the last possible place is never used: torch.randint already excludes its upper end",
            gravity="part",
        ),
        Mistake(
            "first place never used",
            change={"torch.randint(len(stream) - T,": "torch.randint(1, len(stream) - T,"},
            says="the first place is never used: the draws begin with 0",
            gravity="part",
        ),
        Mistake(
            "targets not shifted",
            change={"rows[:, 1:]": "rows[:, :-1]"},
            says="the targets are not shifted: the model would learn to copy its input",
            gravity="idea",
        ),
        Mistake(
            "shifted by two",
            change={"T + 1)": "T + 2)", "rows[:, :-1], rows[:, 1:]": "rows[:, :-2], rows[:, 2:]"},
            says="the targets are shifted by two",
            gravity="idea",
        ),
        Mistake(
            "the wrong way",
            change={"return rows[:, :-1], rows[:, 1:]": "return rows[:, :-1], stream[starts[:, None] + torch.arange(T) - 1]"},
            says="the targets are shifted the wrong way: the model would learn to repeat the past",
            gravity="idea",
        ),
        Mistake(
            "roll",
            change={"rows[:, 1:]": "rows[:, :-1].roll(-1, 1)"},
            says="the last target is the window's first token: `roll` wraps around. Cut T + 1 tokens instead",
            gravity="idea",
        ),
        Mistake(
            "start too large",
            change={"len(stream) - T,": "len(stream) - T + 1,"},
            says="the largest start is too large: inputs and targets take T + 1 tokens, so it is n − T − 1",
            gravity="part",
        ),
        Mistake(
            "last place never used",
            change={"len(stream) - T,": "max(1, len(stream) - T - 1),"},
            says="the last possible place is never used: torch.randint already excludes its upper end",
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
            says="the first place of the stream is never used: a window may start at 0",
            gravity="part",
        ),
        Mistake(
            "seeded inside",
            change={"    return windows(stream, torch": "    torch.manual_seed(0)\n    return windows(stream, torch"},
            says="two batches in a row are the same: draw new places every time, and do not seed the generator",
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
        Mistake(
            "targets of another row",
            change={"return rows[:, :-1], rows[:, 1:]": "return rows[:, :-1], rows[:, 1:].flip(0)"},
            says="the rows of y stand in another order than those of x",
            gravity="idea",
        ),
        Mistake(
            "one token too few",
            change={"rows[:, :-1], rows[:, 1:]": "rows[:, :-2], rows[:, 1:-1]"},
            says="x and y have T − 1 tokens: cut T + 1 tokens out of the stream",
            gravity="idea",
        ),
        Mistake(
            "last two places never used",
            change={"len(stream) - T,": "max(1, len(stream) - T - 2),"},
            says="the last two possible places are never used",
            gravity="part",
        ),
        Mistake(
            "places side by side",
            change={"torch.randint(len(stream) - T, (B,))": "torch.randint(max(1, (len(stream) - 1) // T), (B,)) * T"},
            says="windows begin at multiples of T only: every place where a window fits is possible",
            gravity="part",
        ),
        Mistake(
            "no place twice",
            change={"torch.randint(len(stream) - T, (B,))": "torch.randperm(len(stream) - T)[:B]"},
            says="no place is drawn twice, so a short stream gives too few rows: draw every row's place by itself",
            gravity="part",
        ),
        Mistake(
            "rows one after the other",
            change={"torch.randint(len(stream) - T, (B,))": "(torch.randint(len(stream) - T, (1,)) + torch.arange(B)) % (len(stream) - T)"},
            says="the rows begin side by side: draw every row's place by itself",
            gravity="part",
        ),
    ],
    "attention": [
        Mistake(
            "no scale in both",
            change={" / (D // self.H) ** 0.5": "", "is_causal=True)": "is_causal=True, scale=1.0)"},
            says="the scores are not scaled",
            gravity="idea",
        ),
        Mistake(
            "no mask in both",
            change={"is_causal=True": "is_causal=False", "masked_fill(~self.mask[:t, :t], -torch.inf).": ""},
            says="there is no mask: every position sees the future",
            gravity="idea",
        ),
        Mistake(
            "mask turned round",
            change={"~self.mask[:t, :t]": "self.mask[:t, :t]"},
            says="the mask forbids what it allows: put −∞ where it is False",
            gravity="idea",
        ),
        Mistake(
            "thirds inside each head",
            change={
                "(part.view(B, t, self.H, D // self.H).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))": "self.qkv(x).view(B, t, self.H, 3, D // self.H).permute(3, 0, 2, 1, 4)"
            },
            says="queries, keys and values are cut inside each head: cut into thirds first, then each third into heads",
            gravity="idea",
        ),
        Mistake(
            "the stream added",
            change={"return self.proj(mixed": "return x + self.proj(mixed"},
            says="x is added to the result: the layer gives attention alone, the block adds",
            gravity="idea",
        ),
        Mistake(
            "corner of the last rows",
            change={"~self.mask[:t, :t]": "~self.mask[-t:, :t]"},
            says="the mask's last rows are used: for t tokens take its first t rows and columns",
            gravity="part",
        ),
        Mistake(
            "sees the next token",
            change={".tril()": ".tril(1)"},
            says="the mask is off by one: it lets position t see t + 1, which is the answer",
            gravity="idea",
        ),
        Mistake(
            "does not see itself",
            change={".tril()": ".tril(-1)"},
            says="the mask is off by one: a position must see itself",
            gravity="idea",
        ),
        Mistake(
            "no mask when written out",
            change={".masked_fill(~self.mask[:t, :t], -torch.inf)": ""},
            says="there is no mask: every position sees the future",
            gravity="idea",
        ),
        Mistake(
            "fused without causal",
            change={"is_causal=True": "is_causal=False"},
            says="fused=True: there is no mask: every position sees the future. Pass is_causal=True",
            gravity="part",
        ),
        Mistake(
            "polarity",
            change={"torch.ones(T, T, dtype=torch.bool).tril()": "torch.ones(T, T, dtype=torch.bool).triu(1)"},
            hint="True means may look",
            gravity="idea",
        ),
        Mistake(
            "whole mask",
            change={"self.mask[:t, :t]": "self.mask"},
            says="the whole (T, T) mask is used: for t < T tokens take its corner, (t, t)",
            gravity="part",
        ),
        Mistake(
            "zeroed after softmax",
            change={TRILS: "(scores.softmax(dim=-1) * self.mask[:t, :t]) @ v"},
            says="the weights are zeroed after softmax: the normaliser still sees the future. Put −∞ before it",
            gravity="idea",
        ),
        Mistake(
            "scaled by the root of D",
            change={"(D // self.H) ** 0.5": "D**0.5"},
            says="the scores are scaled by the root of D; each head has width D/H",
            gravity="idea",
        ),
        Mistake("not scaled", change={" / (D // self.H) ** 0.5": ""}, says="the scores are not scaled", gravity="idea"),
        Mistake("with biases", change={"bias=False": "bias=True"}, hint="`qkv` and `proj` have no bias", gravity="part"),
        Mistake(
            "no projection",
            change={"self.proj(mixed.transpose(1, 2).reshape(B, t, D))": "mixed.transpose(1, 2).reshape(B, t, D)"},
            says="`proj` is missing: the merged heads go through it",
            gravity="idea",
        ),
        Mistake(
            "merged without transpose",
            change={"mixed.transpose(1, 2).reshape": "mixed.reshape"},
            says="the heads are merged without moving the position axis back: transpose, then reshape",
            gravity="idea",
        ),
        Mistake(
            "heads by view",
            change={"part.view(B, t, self.H, D // self.H).transpose(1, 2)": "part.reshape(B, self.H, t, D // self.H)"},
            says="`view` straight to (B, H, t, D/H) mixes positions and heads: view to (B, t, H, D/H), then transpose",
            gravity="idea",
        ),
        Mistake(
            "keys first", change={"q, k, v = (": "k, q, v = ("}, says="the order of the thirds is queries, keys, values", gravity="idea"
        ),
        Mistake(
            "always the kernel",
            change={"if self.fused:": "if True:"},
            says="with fused=False write out scores, mask and softmax yourself: here torch's kernel, `scaled_dot_product_attention`, is called",
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
            says="this is one head over the whole width: is H used?",
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
        Mistake(
            "scaled by the width of a head",
            change={"(D // self.H) ** 0.5": "(D // self.H)"},
            says="the scores are scaled by the width of a head: take its root",
            gravity="idea",
        ),
        Mistake(
            "scaled by the root of H",
            change={"(D // self.H) ** 0.5": "self.H**0.5"},
            says="the scores are scaled by the root of H; each head has width D/H",
            gravity="idea",
        ),
        Mistake(
            "every third column",
            change={"part.view(B, t, self.H, D // self.H).transpose(1, 2)": "part.view(B, t, D // self.H, self.H).permute(0, 3, 1, 2)"},
            says="head 0 takes every H-th column: it takes the first D/H columns",
            gravity="idea",
        ),
        Mistake(
            "thirds in reverse order",
            change={"q, k, v = (": "v, k, q = ("},
            says="the thirds are taken in reverse order: queries, keys, values",
            gravity="idea",
        ),
        Mistake(
            "values first",
            change={"q, k, v = (": "v, q, k = ("},
            says="the values are taken from the first third: the order is queries, keys, values",
            gravity="idea",
        ),
        Mistake(
            "softmax over the queries",
            change={".softmax(dim=-1) @ v": ".softmax(dim=-2) @ v"},
            says="softmax runs over the queries: it must run over the keys, the last axis",
            gravity="idea",
        ),
        Mistake(
            "masked with 0",
            change={"-torch.inf": "0.0"},
            says="forbidden scores become 0, and e⁰ is 1: they must become −∞",
            gravity="idea",
        ),
        Mistake(
            "projected twice",
            change={"self.proj(mixed.transpose(1, 2).reshape(B, t, D))": "self.proj(self.proj(mixed.transpose(1, 2).reshape(B, t, D)))"},
            says="the result goes through `proj` twice",
            gravity="idea",
        ),
        Mistake(
            "a mask of numbers",
            change={"torch.ones(T, T, dtype=torch.bool).tril()": "torch.ones(T, T).tril()", "~self.mask[:t, :t]": "self.mask[:t, :t] == 0"},
            says="the mask is made of numbers: it is boolean, True and False",
            gravity="part",
        ),
        Mistake(
            "causal only at full length",
            change={"is_causal=True": "is_causal=t == len(self.mask)"},
            says="fused=True: with fewer than T tokens the future is seen: is_causal=True whatever the length",
            gravity="part",
        ),
    ],
    "block": [
        Mistake("SiLU", change={"F.gelu(": "F.silu("}, says="the nonlinearity is SiLU; here it is GELU", gravity="idea"),
        Mistake(
            "RMSNorm",
            change={"nn.LayerNorm(D, bias=False), nn.LayerNorm(D, bias=False)": "nn.RMSNorm(D), nn.RMSNorm(D)"},
            says="the norm is RMSNorm: LayerNorm subtracts the mean first",
            gravity="idea",
        ),
        Mistake(
            "feed-forward first",
            change={
                "        x = x + self.drop(self.attention(self.norm1(x)))\n        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))": "        x = x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))\n        return x + self.drop(self.attention(self.norm1(x)))"
            },
            says="the feed-forward branch comes first: attention does",
            gravity="idea",
        ),
        Mistake(
            "one norm under two names",
            change={
                "self.norm1, self.norm2 = nn.LayerNorm(D, bias=False), nn.LayerNorm(D, bias=False)": "self.norm1 = self.norm2 = nn.LayerNorm(D, bias=False)"
            },
            says="norm1 and norm2 are the same layer: make two, each with its own gain",
            gravity="idea",
        ),
        Mistake(
            "dropout of one half always",
            change={"nn.Dropout(dropout)": "nn.Dropout()"},
            says="the rate is not passed to dropout: torch's own is one half",
            gravity="idea",
        ),
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
            says="this is post-LN: normalise what goes into a branch, not the stream after it",
            gravity="idea",
        ),
        Mistake(
            "first residual missing",
            change={"x = x + self.drop(self.attention": "x = self.drop(self.attention"},
            says="the first residual is missing: add attention to x",
            gravity="idea",
        ),
        Mistake(
            "second residual missing",
            change={"return x + ": "return "},
            says="the second residual is missing: add the feed-forward branch to the stream",
            gravity="idea",
        ),
        Mistake(
            "norm1 twice",
            change={"self.norm2(x)": "self.norm1(x)"},
            says="norm1 is used twice: the second branch has its own",
            gravity="idea",
        ),
        Mistake(
            "parallel branches",
            change={
                "x = x + self.drop(self.attention(self.norm1(x)))\n        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))": "return x + self.drop(self.attention(self.norm1(x))) + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))"
            },
            says="the feed-forward branch looks at the block's input: it comes after attention",
            gravity="idea",
        ),
        Mistake("ReLU", change={"F.gelu": "F.relu"}, says="the nonlinearity is ReLU; here it is GELU", gravity="idea"),
        Mistake(
            "no nonlinearity",
            change={"F.gelu(self.up(self.norm2(x)))": "self.up(self.norm2(x))"},
            says="the nonlinearity is missing: two linear layers in a row are one",
            gravity="idea",
        ),
        Mistake(
            "tanh GELU",
            change={"F.gelu(self.up(self.norm2(x)))": 'F.gelu(self.up(self.norm2(x)), approximate="tanh")'},
            says="this GELU is the tanh approximation: use torch's default",
            gravity="edge",
        ),
        Mistake("second branch not normalised", change={"self.norm2(x)": "x"}, says="the second branch is not normalised", gravity="idea"),
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
            says="norm1 and norm2 are swapped",
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
        Mistake(
            "feed-forward first",
            change={
                "x = x + self.drop(self.attention(self.norm1(x)))\n        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))": "x = x + self.drop(self.down(F.gelu(self.up(self.norm1(x)))))\n        return x + self.drop(self.attention(self.norm2(x)))"
            },
            says="feed-forward comes first and attention second: it is the other way round",
            gravity="idea",
        ),
        Mistake(
            "attention lost",
            change={
                "x = x + self.drop(self.attention(self.norm1(x)))\n        return x": "y = x + self.drop(self.attention(self.norm1(x)))\n        return x",
                "self.norm2(x)": "self.norm2(y)",
            },
            says="the feed-forward branch is added to the block's input: attention is lost from the stream",
            gravity="idea",
        ),
        Mistake(
            "branches not normalised",
            change={"self.norm1(x)": "x", "self.norm2(x)": "x"},
            says="the branches are not normalised",
            gravity="idea",
        ),
        Mistake("first branch not normalised", change={"self.norm1(x)": "x"}, says="the first branch is not normalised", gravity="idea"),
        Mistake(
            "normalised copy added",
            change={"x = x + self.drop(self.attention(self.norm1(x)))": "x = self.norm1(x)\n        x = x + self.drop(self.attention(x))"},
            says="the normalised copy is added, not the stream: x + attention(norm(x)), not norm(x) + attention(norm(x))",
            gravity="idea",
        ),
        Mistake(
            "GELU after down",
            change={"self.down(F.gelu(self.up(self.norm2(x))))": "F.gelu(self.down(self.up(self.norm2(x))))"},
            says="the GELU stands behind `down`: it belongs between `up` and `down`",
            gravity="idea",
        ),
        Mistake(
            "normalised twice",
            change={"self.norm2(x)": "self.norm1(self.norm2(x))"},
            says="the second branch is normalised twice, by norm2 and norm1: norm2 alone",
            gravity="idea",
        ),
        Mistake(
            "half a branch",
            change={"return x + self.drop": "return x + 0.5 * self.drop"},
            says="the second branch is added by half: it is added as it is",
            gravity="idea",
        ),
        Mistake(
            "a fixed T",
            change={"CausalSelfAttention(D, H, T, fused)": "CausalSelfAttention(D, H, 64, fused)"},
            says="the context is 64 whatever T is: pass T on",
            gravity="part",
        ),
        Mistake(
            "dropout on the stream at the end",
            change={
                "return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))": "return self.drop(x + self.down(F.gelu(self.up(self.norm2(x)))))"
            },
            hint="dropout damages the stream itself",
            gravity="part",
        ),
    ],
    "count": [
        Mistake(
            "three matrices in the feed-forward network",
            change={"8 * D**2": "12 * D**2"},
            says="the feed-forward network has two matrices, up and down: three are counted",
            gravity="idea",
        ),
        Mistake(
            "mask counted",
            change={"T * D": "T * T"},
            says="the position embedding has a vector of width D for each of T positions: T · D",
            gravity="idea",
        ),
        Mistake(
            "biases of the feed-forward network",
            change={" + 2 * D  #": " + 7 * D  #"},
            says="the biases of the feed-forward network are counted: there are none",
            gravity="idea",
        ),
        Mistake(
            "four blocks",
            change={"L * block": "4 * block"},
            says="the number of blocks is fixed at four: it is an argument",
            gravity="idea",
        ),
        Mistake(
            "output layer counted",
            change={"return V * D": "return 2 * V * D"},
            says="the output layer is tied to the token embedding: do not count it twice",
            gravity="idea",
        ),
        Mistake(
            "biases counted",
            change={" + 2 * D  #": " + 2 * D + 9 * D  #"},
            says="the biases of the linear layers are counted; there are none",
            gravity="idea",
        ),
        Mistake("no positions", change={" + T * D": ""}, says="the position embedding is missing", gravity="idea"),
        Mistake("no last norm", change={"L * block + D": "L * block"}, says="the last LayerNorm is missing", gravity="idea"),
        Mistake(
            "no norms",
            change={" + 2 * D  #": "  #", "L * block + D": "L * block"},
            says="no LayerNorm is counted: each has D gains",
            gravity="idea",
        ),
        Mistake(
            "no proj",
            change={"4 * D**2 +": "3 * D**2 +"},
            says="`proj` is missing: attention has one more matrix besides `qkv`",
            gravity="idea",
        ),
        Mistake(
            "norms with bias",
            change={" + 2 * D  #": " + 4 * D  #", "L * block + D": "L * block + 2 * D"},
            says="LayerNorm here has no bias: D parameters, not 2D",
            gravity="idea",
        ),
        Mistake(
            "one size",
            change={"return V * D + T * D + L * block + D": "return 806016"},
            says="the formula fits one size only: do not write numbers for D or L",
            gravity="idea",
        ),
        Mistake(
            "no down",
            change={"8 * D**2": "4 * D**2"},
            says="the feed-forward network has two matrices, up and down: one is missing",
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
        Mistake("no tokens", change={"return V * D + ": "return "}, says="the token embedding is missing", gravity="idea"),
        Mistake("number of blocks not used", change={"L * block": "block"}, says="the number of blocks is not used", gravity="idea"),
        Mistake(
            "no norms in the blocks",
            change={" + 2 * D  #": "  #"},
            says="the LayerNorms of the blocks are missing: there are two in each",
            gravity="idea",
        ),
        Mistake(
            "one norm per block",
            change={" + 2 * D  #": " + D  #"},
            says="one LayerNorm is counted for each block: it has two",
            gravity="idea",
        ),
        Mistake(
            "feed-forward three times as wide",
            change={"8 * D**2": "6 * D**2"},
            says="the feed-forward network is counted with the width 3D: it has 4D",
            gravity="idea",
        ),
        Mistake(
            "mask counted",
            change={"+ L * block": "+ L * (block + T * T)"},
            says="the masks are counted: a buffer is no parameter",
            gravity="idea",
        ),
        Mistake(
            "vectors for qkv",
            change={"4 * D**2 +": "3 * D + D**2 +"},
            says="`qkv` is counted as 3D numbers: it is a matrix of 3D rows and D columns",
            gravity="idea",
        ),
    ],
    "gpt": [
        Mistake(
            "dropout behind the blocks",
            change={
                "self.drop(self.token(tokens) + self.position.weight[:t])": "self.token(tokens) + self.position.weight[:t]",
                "self.norm(x) @": "self.norm(self.drop(x)) @",
            },
            hint="dropout belongs to the sum of the embeddings",
            gravity="part",
        ),
        Mistake(
            "positions are frozen",
            change={"initialise(self)": "initialise(self)\n        self.position.weight.requires_grad_(False)"},
            hint="a weight gets no gradient",
            gravity="part",
        ),
        Mistake(
            "embeddings multiplied",
            change={"self.token(tokens) + self.position": "self.token(tokens) * self.position"},
            says="the two embeddings are multiplied: add them",
            gravity="idea",
        ),
        Mistake(
            "last block left out",
            change={"for block in self.blocks:": "for block in self.blocks[:-1]:"},
            says="the last block is not used",
            gravity="idea",
        ),
        Mistake(
            "norm after each block",
            change={"            x = block(x)\n": "            x = self.norm(block(x))\n"},
            says="the last norm is used after every block: it comes once, after all of them",
            gravity="idea",
        ),
        Mistake(
            "stream added twice",
            change={"            x = block(x)\n": "            x = x + block(x)\n"},
            says="x is added to what a block gives: the block adds its branches to the stream already",
            gravity="idea",
        ),
        Mistake(
            "the last positions",
            change={"self.position.weight[:t]": "self.position.weight[-t:]"},
            says="the last t positions are used: the tokens have positions 0 to t − 1",
            gravity="idea",
        ),
        Mistake(
            "positions from 1",
            change={"self.position.weight[:t]": "self.position.weight[(torch.arange(t) + 1) % self.T]"},
            says="the positions begin with 1: the first token has position 0",
            gravity="idea",
        ),
        Mistake(
            "blocks made after initialise",
            change={
                "        initialise(self)\n": "",
                "self.norm = nn": "initialise(self)\n        self.blocks = nn.ModuleList(Block(D, H, T, dropout, fused) for _ in range(L))\n        self.norm = nn",
            },
            hint="call `initialise(self)` after the blocks exist",
            gravity="part",
        ),
        Mistake(
            "switch not handed on",
            change={"Block(D, H, T, dropout, fused)": "Block(D, H, T, dropout, True)"},
            hint="the switch `fused` has no effect on attention: pass it on to the blocks",
            gravity="part",
        ),
        Mistake(
            "no positions",
            change={" + self.position.weight[:t]": ""},
            says="positions are not added: the model cannot tell what comes first",
            gravity="idea",
        ),
        Mistake(
            "positions from 1",
            change={"self.position.weight[:t]": "self.position.weight.roll(-1, 0)[:t]"},
            says="positions are counted from 1",
            gravity="idea",
        ),
        Mistake("no last norm", change={"self.norm(x) @": "x @"}, says="the last norm is missing", gravity="idea"),
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
            says="one block is used L times: make L blocks, each with its own weights",
            gravity="idea",
        ),
        Mistake(
            "blocks reversed",
            change={"in self.blocks:": "in reversed(self.blocks):"},
            says="the blocks run in reverse order",
            gravity="idea",
        ),
        Mistake(
            "only one block runs", change={"in self.blocks:": "in self.blocks[:1]:"}, says="only the first block is used", gravity="idea"
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
            says="these are probabilities: return the logits",
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
            says="positions are added after the blocks; they belong before",
            gravity="idea",
        ),
        Mistake(
            "one head in every block",
            change={"Block(D, H, T": "Block(D, 1, T"},
            says="every block has one head: pass H on",
            gravity="idea",
        ),
        Mistake(
            "T tokens refused",
            change={"if t > self.T:": "if t >= self.T:"},
            says="exactly T tokens are refused: raise an error only for more than T",
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
        Mistake(
            "only the last block", change={"in self.blocks:": "in self.blocks[-1:]:"}, says="only the last block is used", gravity="idea"
        ),
        Mistake("no block", change={"in self.blocks:": "in self.blocks[:0]:"}, says="no block is used", gravity="idea"),
        Mistake(
            "log-probabilities",
            change={"self.norm(x) @ self.token.weight.T": "(self.norm(x) @ self.token.weight.T).log_softmax(-1)"},
            says="these are log-probabilities: return the logits",
            gravity="idea",
        ),
        Mistake(
            "last position's logits only",
            change={"self.norm(x) @ self.token.weight.T": "self.norm(x)[:, -1:] @ self.token.weight.T"},
            says="only the last position's logits come back: every position predicts its next token",
            gravity="idea",
        ),
        Mistake(
            "norm before the blocks",
            change={
                "self.norm(x) @": "x @",
                "        for block in self.blocks:": "        x = self.norm(x)\n        for block in self.blocks:",
            },
            says="the last norm stands before the blocks: it comes after them",
            gravity="idea",
        ),
        Mistake(
            "token vectors scaled",
            change={"self.token(tokens) + self": "self.token(tokens) * self.token.embedding_dim**0.5 + self"},
            says="the token vectors are multiplied by √D: they are added to the positions as they are",
            gravity="idea",
        ),
        Mistake(
            "logits scaled",
            change={"self.token.weight.T": "self.token.weight.T / self.token.embedding_dim**0.5"},
            says="the logits are divided by √D: they are the plain products",
            gravity="idea",
        ),
        Mistake(
            "another exception",
            change={"raise ValueError": "raise IndexError"},
            says="more tokens than T raise an IndexError here: a ValueError is asked for",
            gravity="edge",
        ),
    ],
    "loss": [
        Mistake(
            "ignores token 0",
            change={"ignore_index=-1": "ignore_index=0"},
            says="targets of token 0 are left out: filler is −1, and 0 is a token like any other",
            gravity="idea",
        ),
        Mistake(
            "minus the probabilities",
            change={"F.cross_entropy(logits.flatten(0, 1)": "F.nll_loss(logits.softmax(-1).flatten(0, 1)"},
            says="this is minus the mean probability of the targets: the logarithm is missing",
            gravity="idea",
        ),
        Mistake(
            "divided by all positions",
            change={", ignore_index=-1)": ', ignore_index=-1, reduction="sum") / targets.numel()'},
            says="the sum leaves the filler out, but you divide by all positions: the loss looks too good",
            gravity="part",
        ),
        Mistake(
            "sum",
            change={", ignore_index=-1)": ', ignore_index=-1, reduction="sum")'},
            says="the loss is a sum: take the mean over the positions",
            gravity="idea",
        ),
        Mistake(
            "filler as token 0",
            change={"targets.flatten(), ignore_index=-1": "targets.flatten().clamp_min(0)"},
            says="filler counts as token 0",
            gravity="part",
        ),
        Mistake(
            "filler as the last token",
            change={"targets.flatten(), ignore_index=-1": "targets.flatten() % logits.shape[-1]"},
            says="filler counts as a target: −1 is read as the last token",
            gravity="part",
        ),
        Mistake(
            "shifted again",
            change={"logits.flatten(0, 1), targets.flatten()": "logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten()"},
            says="the targets are shifted again: `windows` has done it already",
            gravity="idea",
        ),
        Mistake(
            "softmax first",
            change={"logits.flatten(0, 1)": "logits.flatten(0, 1).softmax(-1)"},
            says="cross_entropy takes logits: do not apply softmax first",
            gravity="idea",
        ),
        Mistake(
            "mean of means",
            change={
                "return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)": "return torch.stack([F.cross_entropy(a, b, ignore_index=-1) for a, b in zip(logits, targets)]).mean()"
            },
            says="the mean of the sequences' means gives a short sequence as much weight as a long one",
            gravity="part",
        ),
        Mistake(
            "bits",
            change={", ignore_index=-1)": ", ignore_index=-1) / math.log(2)"},
            says="the loss is in bits: use the natural logarithm",
            gravity="idea",
        ),
        Mistake(
            "log of softmax",
            code="""
def language_loss(logits, targets):
    p = logits.softmax(-1).gather(-1, targets.clamp_min(0)[..., None])[..., 0]
    return -p.log()[targets >= 0].mean()
""",
            says="large logits give an infinite or a wrong loss: the log of softmax overflows, log_softmax does not",
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
            says="token 0 is left out: filler is −1, and 0 is a token like any other",
            gravity="idea",
        ),
        Mistake(
            "divided by the sequences",
            change={", ignore_index=-1)": ', ignore_index=-1, reduction="sum") / len(targets)'},
            says="the loss is divided by the number of sequences, not of positions",
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
        Mistake("positive logarithm", change={"return F": "return -F"}, says="the sign is wrong: a loss is positive", gravity="idea"),
        Mistake(
            "divided by the length",
            change={", ignore_index=-1)": ', ignore_index=-1, reduction="sum") / targets.shape[1]'},
            says="the loss is divided by the length of the sequences: there are B · t positions",
            gravity="idea",
        ),
        Mistake(
            "softmax over the positions",
            change={
                "return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)": "p = logits.log_softmax(1).gather(-1, targets.clamp_min(0)[..., None])[..., 0]\n    return -p[targets >= 0].mean()"
            },
            says="softmax runs over the positions; it must run over the vocabulary",
            gravity="idea",
        ),
        Mistake(
            "mean probability",
            change={
                "return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)": "p = logits.log_softmax(-1).gather(-1, targets.clamp_min(0)[..., None])[..., 0]\n    return p[targets >= 0].exp().mean()"
            },
            says="this is the mean probability of the targets: take −log first, then the mean",
            gravity="idea",
        ),
        Mistake(
            "logarithm of the mean",
            change={
                "return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)": "p = logits.log_softmax(-1).gather(-1, targets.clamp_min(0)[..., None])[..., 0]\n    return -p[targets >= 0].exp().mean().log()"
            },
            says="−log of the mean probability is not the mean of −log P",
            gravity="idea",
        ),
        Mistake(
            "last position only",
            change={"logits.flatten(0, 1), targets.flatten()": "logits[:, -1], targets[:, -1]"},
            says="only the last position of each sequence counts: every position predicts its next token",
            gravity="idea",
        ),
        Mistake(
            "targets transposed",
            change={"targets.flatten()": "targets.T.flatten()"},
            says="the targets are flattened column by column, the logits row by row",
            gravity="idea",
        ),
        Mistake(
            "smoothed labels",
            change={", ignore_index=-1)": ", ignore_index=-1, label_smoothing=0.1)"},
            says="the labels are smoothed: the loss is −log P of the target alone",
            gravity="idea",
        ),
        Mistake(
            "filler with torch's own number",
            change={"ignore_index=-1": "ignore_index=-100"},
            says="filler is −1 here, not −100, torch's own number: say `ignore_index=-1`",
            gravity="part",
        ),
    ],
    "evaluate": [
        Mistake(
            "counts the batches first",
            change={"    total, count = 0.0, 0\n": "    total, count = 0.0, 0\n    n = sum(1 for _ in batches)\n"},
            says="with an iterator for `batches` it fails: the batches are gone after the first time through",
            gravity="part",
        ),
        Mistake(
            "divided by the number of batches",
            change={"return total / count": "return total / len(batches)", ".item() * real": ".item()"},
            says="this is the mean of the batches' means: weight each batch by its number of real targets",
            gravity="part",
        ),
        Mistake(
            "training mode",
            change={"    model.eval()\n": ""},
            says="the model is in training mode: with dropout on, you measure a different model. Call model.eval() first",
            gravity="idea",
        ),
        Mistake(
            "mean of means",
            change={".item() * real": ".item()", "count += real": "count += 1"},
            says="this is the mean of the batches' means: weight each batch by its number of real targets",
            gravity="part",
        ),
        Mistake(
            "weighed with filler",
            change={"int((y >= 0).sum())": "y.numel()"},
            says="batches are weighted by their size, filler included: count the real targets",
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
            says="this is the perplexity: return the loss",
            gravity="idea",
        ),
        Mistake(
            "last batch only",
            change={"total += ": "total = ", "count += ": "count = "},
            says="only the last batch counts: add up all of them",
            gravity="idea",
        ),
        Mistake(
            "filler in the count",
            change={"count += real": "count += y.numel()"},
            says="filler counts in the number of targets",
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
            says="batches are weighted by their size, filler included: count the real targets",
            gravity="part",
        ),
        Mistake(
            "return inside the loop",
            change={"        count += real\n": "        count += real\n        break\n"},
            says="only the first batch counts: is `return` inside the loop?",
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
        Mistake(
            "training mode from the second batch on",
            change={"count += real": "count += real\n        model.train(was_training)"},
            says="the model is in training mode from the second batch on: call model.eval() once, before the loop, and restore the mode after it",
            gravity="idea",
        ),
        Mistake(
            "sum", change={"return total / count": "return total"}, says="this is a sum: divide by the number of targets", gravity="idea"
        ),
        Mistake(
            "sum of the means",
            change={".item() * real": ".item()", "return total / count": "return total"},
            says="this is the sum of the batches' means: divide by the number of targets",
            gravity="idea",
        ),
        Mistake(
            "last batch left out",
            change={"    for x, y in batches:": "    batches = list(batches)\n    for x, y in batches[: max(1, len(batches) - 1)]:"},
            says="the last batch is left out",
            gravity="idea",
        ),
        Mistake(
            "token 0 as filler",
            change={"(y >= 0)": "(y > 0)"},
            says="targets of token 0 are not counted: filler is −1, and 0 is a token like any other",
            gravity="idea",
        ),
        Mistake(
            "rounded",
            change={"return total / count": "return round(total / count, 2)"},
            says="the loss is rounded: return all digits",
            gravity="idea",
        ),
    ],
    "train": [
        Mistake(
            "takes the rates out",
            change={
                "    losses = []\n    model.train()\n": "    losses = []\n    model.train()\n    given, rates = rates, list(rates)\n    given.clear()\n"
            },
            hint="your code changes its input in place",
            gravity="edge",
        ),
        Mistake(
            "rate set after the step",
            change={
                '        for group in optimizer.param_groups:  # one rate for all of them\n            group["lr"] = rate\n': "",
                "        losses.append(loss.item())\n": '        losses.append(loss.item())\n        for group in optimizer.param_groups:\n            group["lr"] = rate\n',
            },
            says="the rate is set after the step: set it before",
            gravity="idea",
        ),
        Mistake(
            "evaluation mode again in each step",
            change={"        loss = language_loss": "        model.eval()\n        loss = language_loss"},
            says="the model is put into evaluation mode before each loss: it trains in training mode",
            gravity="idea",
        ),
        Mistake(
            "step before backward",
            change={
                "        loss.backward()\n        nn.utils.clip_grad_norm_(model.parameters(), clip)\n        optimizer.step()\n": "        optimizer.step()\n        loss.backward()\n        nn.utils.clip_grad_norm_(model.parameters(), clip)\n"
            },
            says="the weights never change: no step is taken while there are gradients. Clear them, then backward, then the step",
            gravity="idea",
        ),
        Mistake(
            "torch's AdamW",
            change={"training.make_optimizer(model)": "torch.optim.AdamW(model.parameters())"},
            says="this is another AdamW than that of `training.make_optimizer`: its decay and its other settings differ",
            gravity="idea",
        ),
        Mistake(
            "SGD",
            change={"training.make_optimizer(model)": "torch.optim.SGD(model.parameters())"},
            says="the steps are those of plain gradient descent: use `training.make_optimizer(model)`",
            gravity="idea",
        ),
        Mistake(
            "clipped one by one",
            change={
                "nn.utils.clip_grad_norm_(model.parameters(), clip)": "[nn.utils.clip_grad_norm_([p], clip) for p in model.parameters()]"
            },
            says="every tensor's gradient is clipped by itself: clip the norm of all of them together",
            gravity="part",
        ),
        Mistake(
            "watch at the end only",
            change={
                "        if watch is not None:\n            watch(len(losses), losses[-1])\n    return": "    if watch is not None:\n        watch(len(losses), losses[-1])\n    return"
            },
            says="watch is called once, at the end: call it after every step",
            gravity="part",
        ),
        Mistake(
            "running mean for watch",
            change={"watch(len(losses), losses[-1])": "watch(len(losses), sum(losses) / len(losses))"},
            hint="watch gets the loss of its step",
            gravity="part",
        ),
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
            says="the gradients pile up: clear them with optimizer.zero_grad() before each backward",
            gravity="idea",
        ),
        Mistake(
            "not clipped",
            change={"        nn.utils.clip_grad_norm_(model.parameters(), clip)\n": ""},
            says="clip = 0.05 has no effect: clip the gradients to `clip`, after backward and before the step",
            gravity="part",
        ),
        Mistake(
            "clipped after the step",
            change={
                "        nn.utils.clip_grad_norm_(model.parameters(), clip)\n        optimizer.step()\n": "        optimizer.step()\n        nn.utils.clip_grad_norm_(model.parameters(), clip)\n"
            },
            says="clip = 0.05 has no effect: clip the gradients to `clip`, after backward and before the step",
            gravity="part",
        ),
        Mistake(
            "always clipped to 1",
            change={"model.parameters(), clip)": "model.parameters(), 1.0)"},
            says="clip = 0.05 has no effect: clip the gradients to `clip`, after backward and before the step",
            gravity="part",
        ),
        Mistake("evaluation mode", change={"    model.train()\n": ""}, hint="call model.train() before the loop", gravity="part"),
        Mistake(
            "rate not set",
            change={'            group["lr"] = rate\n': "            pass\n"},
            says="the optimiser's own rate of 1e-3 is used: write `rate` into its groups",
            gravity="idea",
        ),
        Mistake(
            "first rate for all",
            change={'group["lr"] = rate': 'group["lr"] = rates[0]'},
            says="the first rate is used for all steps: set it anew before every step",
            gravity="idea",
        ),
        Mistake(
            "no step",
            change={"        optimizer.step()\n": ""},
            says="the weights never change: no step is taken while there are gradients. Clear them, then backward, then the step",
            gravity="idea",
        ),
        Mistake(
            "a new optimiser each time",
            change={
                "        loss = language_loss": "        optimizer = training.make_optimizer(model)\n        for group in optimizer.param_groups:\n            group['lr'] = rate\n        loss = language_loss"
            },
            says="a new optimiser is made in every step: its running means are lost",
            gravity="idea",
        ),
        Mistake(
            "zero_grad after backward",
            change={
                "        optimizer.zero_grad()  # or the old ones would be added\n        loss.backward()\n": "        loss.backward()\n        optimizer.zero_grad()\n"
            },
            says="the weights never change: no step is taken while there are gradients. Clear them, then backward, then the step",
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
            says="this AdamW has no weight decay: use training.make_optimizer",
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
        Mistake(
            "last rate for all",
            change={'group["lr"] = rate': 'group["lr"] = rates[-1]'},
            says="the last rate is used for all steps: set it anew before every step",
            gravity="idea",
        ),
        Mistake(
            "last batch left out",
            change={"in zip(batches, rates, strict=True)": "in list(zip(batches, rates, strict=True))[: max(1, len(rates) - 1)]"},
            says="the last batch is left out",
            gravity="idea",
        ),
        Mistake(
            "first batch left out",
            change={"in zip(batches, rates, strict=True)": "in list(zip(batches, rates, strict=True))[min(1, len(rates) - 1) :]"},
            says="the first batch is left out",
            gravity="idea",
        ),
        Mistake(
            "two steps",
            change={"        optimizer.step()\n": "        optimizer.step()\n        optimizer.step()\n"},
            says="two steps are taken for each batch",
            gravity="idea",
        ),
        Mistake(
            "rates added up",
            change={'group["lr"] = rate': 'group["lr"] = group["lr"] + rate'},
            says="the rates are added up: step i uses rates[i] alone",
            gravity="idea",
        ),
        Mistake(
            "every value clipped",
            change={"clip_grad_norm_": "clip_grad_value_"},
            says="every gradient is clipped by itself: clip their common norm",
            gravity="part",
        ),
        Mistake(
            "mean loss for watch",
            change={"watch(len(losses), losses[-1])": "watch(len(losses), sum(losses) / len(losses))"},
            hint="watch gets the loss of its step, the same number that `train` returns",
            gravity="part",
        ),
        Mistake(
            "last loss only",
            change={"return losses": "return losses[-1]"},
            says="only the last loss comes back: return the list of all of them",
            gravity="part",
        ),
    ],
    "distribution": [
        Mistake(
            "temperature squared",
            change={"logits / temperature": "logits / temperature**2"},
            says="the logits are divided by the square of the temperature: divide by the temperature itself",
            gravity="idea",
        ),
        Mistake(
            "what the nucleus leaves out",
            change={"before >= top_p": "before >= 1 - top_p"},
            says="top-p: the total is compared with 1 − p: it must reach p",
            gravity="part",
        ),
        Mistake(
            "least likely for greedy",
            change={"logits.argmax": "logits.argmin"},
            says="temperature 0: everything on the smallest logit: it belongs on the largest",
            gravity="part",
        ),
        Mistake(
            "one sum for the batch",
            change={"return p / p.sum(dim=-1, keepdim=True)": "return p / p.sum()"},
            says="one sum for all rows: every row is a distribution of its own",
            gravity="idea",
        ),
        Mistake(
            "temperature after the cuts",
            change={
                "(logits / temperature).softmax(dim=-1)": "logits.softmax(dim=-1)",
                "return p / p.sum(dim=-1, keepdim=True)": "p = p ** (1 / temperature)\n    return p / p.sum(dim=-1, keepdim=True)",
            },
            says="the nucleus is chosen before the temperature is applied: the temperature comes first",
            gravity="part",
        ),
        Mistake(
            "never renormalised at the end",
            change={"return p / p.sum(dim=-1, keepdim=True)": "return p"},
            says="what is left after top-p is not renormalised",
            gravity="part",
        ),
        Mistake(
            "ranked from below",
            change={"descending=True": "descending=False"},
            says="the least likely tokens are kept: rank from the most likely down",
            gravity="part",
        ),
        Mistake(
            "logits with zeros",
            change={
                "    p = torch.zeros_like(p).scatter(-1, order, ranked)\n    return p / p.sum(dim=-1, keepdim=True)": "    kept = torch.zeros_like(p).scatter(-1, order, ranked) > 0\n    return torch.where(kept, logits / temperature, 0.0).softmax(dim=-1)"
            },
            says="a logit of 0 is not a probability of 0: use −∞ for the others",
            gravity="part",
        ),
        Mistake(
            "log-probabilities",
            change={"return p / p.sum(dim=-1, keepdim=True)": "return (p / p.sum(dim=-1, keepdim=True)).log()"},
            says="these are the logarithms of the probabilities: return the probabilities",
            gravity="idea",
        ),
        Mistake(
            "top-k left out beside top-p",
            change={"if top_k is not None:": "if top_k is not None and top_p is None:"},
            says="with both knobs top-k is not used",
            gravity="part",
        ),
        Mistake(
            "top-p left out beside top-k",
            change={"if top_p is not None:": "if top_p is not None and top_k is None:"},
            says="with both knobs top-p is not used",
            gravity="part",
        ),
        Mistake(
            "temperature divides the probabilities",
            change={"(logits / temperature).softmax(dim=-1)": "logits.softmax(dim=-1) / temperature"},
            says="the temperature has no effect: it divides the logits, before softmax",
            gravity="idea",
        ),
        Mistake(
            "softmax over the rows",
            change={"softmax(dim=-1)": "softmax(dim=0)"},
            says="softmax runs over the rows of the batch: each row is a distribution over its V tokens",
            gravity="idea",
        ),
        Mistake(
            "gather for scatter",
            change={"torch.zeros_like(p).scatter(-1, order, ranked)": "ranked.gather(-1, order)"},
            says="the ranks are not undone: `order` says where each ranked probability belongs (scatter, or gather with order.argsort)",
            gravity="idea",
        ),
        Mistake(
            "first row's order for all",
            change={"scatter(-1, order, ranked)": "scatter(-1, order[:1].expand_as(order), ranked)"},
            says="the first row's order is used for all rows: every row has its own",
            gravity="idea",
        ),
        Mistake(
            "greedy gives the token",
            change={"F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype)": "logits.argmax(dim=-1)"},
            says="temperature 0 gives the token: return a distribution, 1 at that token and 0 elsewhere",
            gravity="part",
        ),
        Mistake("greedy in integers", change={".to(logits.dtype)": ""}, hint="temperature 0 gives integers", gravity="edge"),
        Mistake(
            "a small temperature for 0",
            change={
                "if temperature == 0:\n        return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype)": "if temperature == 0:\n        temperature = 0.1"
            },
            says="temperature 0 is replaced by a small one, which leaves something to the others: give the largest logit everything",
            gravity="part",
        ),
        Mistake(
            "multiplied by the temperature",
            change={"(logits / temperature)": "(logits * temperature)"},
            says="the logits are multiplied by the temperature: divide",
            gravity="idea",
        ),
        Mistake(
            "temperature after softmax",
            change={"(logits / temperature).softmax(dim=-1)": "logits.softmax(dim=-1)"},
            says="the temperature is not used",
            gravity="idea",
        ),
        Mistake(
            "no greedy case",
            change={"if temperature == 0:": "if temperature is None:"},
            hint="temperature 0: everything on the largest logit",
            gravity="part",
        ),
        Mistake("k − 1 kept", change={"max(1, top_k)": "max(1, top_k - 1)"}, says="one token too few is kept", gravity="part"),
        Mistake(
            "least likely kept",
            change={"ranked[..., max(1, top_k) :] = 0": "ranked[..., : max(0, V - top_k)] = 0"},
            says="the k least likely tokens are kept",
            gravity="part",
        ),
        Mistake(
            "border token left out",
            change={
                "ranked = ranked.masked_fill(before >= top_p, 0)": "ranked = ranked.masked_fill((before + ranked > top_p) & (before > 0), 0)"
            },
            says="the token that carries the total over p is left out: the set must reach p",
            gravity="part",
        ),
        Mistake(
            "one too many",
            change={"before >= top_p": "before - ranked.roll(1, -1) >= top_p"},
            says="one token too many is kept: stop as soon as the total is at least p",
            gravity="part",
        ),
        Mistake(
            "p = 0 keeps nothing",
            change={"        before[..., 0] = -1  # the most likely one always stays\n": ""},
            says="top_p=0 is treated as no top_p: test with `is not None`",
            gravity="edge",
        ),
        Mistake(
            "sorted order returned",
            change={"p = torch.zeros_like(p).scatter(-1, order, ranked)": "p = ranked"},
            says="the result is in sorted order: put every probability back at its token",
            gravity="idea",
        ),
        Mistake(
            "not renormalised",
            change={
                "return p / p.sum(dim=-1, keepdim=True)": "return p",
                "        ranked = ranked / ranked.sum(dim=-1, keepdim=True)\n": "",
            },
            says="what is left after top-k is not renormalised",
            gravity="part",
        ),
        Mistake(
            "top-p before renormalising",
            change={"        ranked = ranked / ranked.sum(dim=-1, keepdim=True)\n": ""},
            says="top-p works on the probabilities from before top-k: top-k comes first, and what is left is renormalised",
            gravity="part",
        ),
        Mistake(
            "threshold instead of total",
            change={"before >= top_p": "ranked < top_p"},
            says="only tokens that have a probability of p by themselves are kept: the nucleus is about their total",
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
            says="top_k=0 is treated as no top_k: test with `is not None`",
            gravity="edge",
        ),
        Mistake("top-p ignored", change={"if top_p is not None:": "if False:"}, says="top_p is not used", gravity="part"),
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
        Mistake(
            "temperature forgotten with both knobs",
            change={"(logits / temperature)": "(logits / (temperature if top_k is None or top_p is None else 1.0))"},
            says="with top-k and top-p the temperature is not used",
            gravity="part",
        ),
        Mistake(
            "divided after softmax",
            change={
                "p = (logits / temperature).softmax(dim=-1)": "p = logits.softmax(dim=-1) / temperature",
                "return p / p.sum(dim=-1, keepdim=True)": "return p",
            },
            says="the probabilities are divided by the temperature: divide the logits instead, before softmax",
            gravity="idea",
        ),
        Mistake(
            "softmax over the batch",
            change={".softmax(dim=-1)": ".softmax(dim=0)", "return p / p.sum(dim=-1, keepdim=True)": "return p"},
            says="softmax runs over the rows of the batch: it must run over the vocabulary",
            gravity="idea",
        ),
        Mistake("k + 1 kept", change={"max(1, top_k) :": "max(1, top_k + 1) :"}, says="top-k keeps one token too many", gravity="part"),
        Mistake("top_k not used", change={"if top_k is not None:": "if False:"}, says="top_k is not used", gravity="part"),
        Mistake(
            "temperature twice",
            change={"(logits / temperature)": "(logits / temperature / temperature)"},
            says="the temperature is applied twice",
            gravity="idea",
        ),
        Mistake(
            "greedy at low temperatures",
            change={"if temperature == 0:": "if temperature < 0.4:"},
            says="a low temperature is treated as 0: greedy is for τ = 0 only",
            gravity="idea",
        ),
        Mistake(
            "greedy like the first row",
            change={"logits.argmax(dim=-1)": "logits.argmax(dim=-1)[:1].expand(len(logits))"},
            says="greedy: every row gets the first row's token: each has its own largest logit",
            gravity="part",
        ),
        Mistake(
            "totals of the whole batch",
            change={"before[..., 0] = -1": "before = before.mean(0, keepdim=True).expand_as(before).clone()\n        before[..., 0] = -1"},
            says="top-p: the totals are averaged over the batch: every row has its own nucleus",
            gravity="part",
        ),
    ],
    "generate": [
        Mistake(
            "put before the last token",
            change={"torch.cat([tokens, chosen], dim=1)": "torch.cat([tokens[:, :-1], chosen, tokens[:, -1:]], dim=1)"},
            says="the new token is put in front of the last one: append it at the end",
            gravity="idea",
        ),
        Mistake(
            "first token dropped",
            change={"torch.cat([tokens, chosen], dim=1)": "torch.cat([tokens[:, 1:], chosen], dim=1)"},
            says="with each new token the first one is lost: keep the whole text, and give the model its last T tokens",
            gravity="idea",
        ),
        Mistake(
            "one token too few",
            change={"range(count)": "range(count - 1)"},
            says="one token too few is drawn: `count` new ones are asked for",
            gravity="idea",
        ),
        Mistake(
            "count with the prefix",
            change={"range(count)": "range(count - tokens.shape[1])"},
            says="`count` is taken for the whole length: it is the number of new tokens",
            gravity="idea",
        ),
        Mistake(
            "knobs exchanged",
            change={"temperature, top_k, top_p)": "temperature, top_p, top_k)"},
            says="top_k and top_p are exchanged: hand each on under its own name",
            gravity="part",
        ),
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
        Mistake(
            "put in front",
            change={"torch.cat([tokens, chosen], dim=1)": "torch.cat([chosen, tokens], dim=1)"},
            says="the new token is put in front: append it at the end",
            gravity="idea",
        ),
        Mistake(
            "one too many",
            change={"range(count)": "range(count + 1)"},
            says="one token too many is written: `count` of them",
            gravity="idea",
        ),
        Mistake(
            "mean of the logits",
            change={"[:, -1]  #": ".mean(dim=1)  #"},
            says="the logits are averaged over the positions: take the last one's",
            gravity="idea",
        ),
        Mistake(
            "context one too short",
            change={"-model.T :": "-(model.T - 1) :"},
            says="the model sees T − 1 tokens: give it the last T",
            gravity="part",
        ),
        Mistake(
            "evaluation mode for good",
            change={"model.train(was_training)": "model.eval()"},
            says="the model stays in evaluation mode: afterwards it is in the mode in which you found it",
            gravity="part",
        ),
        Mistake(
            "top_k not handed on",
            change={"temperature, top_k, top_p": "temperature, None, top_p"},
            says="top_k has no effect: pass all three knobs to next_distribution",
            gravity="part",
        ),
    ],
    "stop": [
        Mistake(
            "None is compared",
            change={"if stop is not None:": "if True:"},
            says="with stop=None it fails: without a stop token nothing ends early",
            gravity="idea",
        ),
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
            says="rows may only end together here: remember which rows are finished, and fill those up",
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
            says="stop = 0 is treated as no stop token: test with `is not None`",
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
        Mistake(
            "one column too many",
            change={
                "        if finished.all():\n            break\n": "",
                "        tokens = generate(": "        if (tokens[:, -2:] == stop).all():\n            break\n        tokens = generate(",
            },
            says="a column too many is written after all rows are finished: end there",
            gravity="idea",
        ),
        Mistake(
            "count with the prefix",
            change={"range(count)": "range(count - tokens.shape[1] + 1)"},
            says="the prefix is counted: `count` new tokens are written at most",
            gravity="idea",
        ),
    ],
    "cache": [
        Mistake(
            "keys for values",
            change={
                "torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)": "torch.cat([past[1], k], dim=2), torch.cat([past[0], v], dim=2)"
            },
            says="old keys and values are exchanged: past[0] has the keys",
            gravity="idea",
        ),
        Mistake(
            "mask without a past only",
            change={"attn_mask=layer.mask[n - t : n, :n]": "is_causal=past is None"},
            says="with a past there is no mask, so new tokens see later new ones: a mask is needed when several come at once",
            gravity="part",
        ),
        Mistake(
            "heads merged without moving back",
            change={"layer.proj(mixed.transpose(1, 2).reshape(B, t, D))": "layer.proj(mixed.reshape(B, t, D))"},
            says="the heads are merged without moving the position axis back: transpose, then reshape",
            gravity="part",
        ),
        Mistake(
            "no pair at the beginning",
            change={", (k, v)": ", (k, v) if past is not None else None"},
            says="without a past no pair comes back, so nothing is ever kept: return keys and values from the first call on",
            gravity="idea",
        ),
        Mistake(
            "scale of the whole width",
            change={"attn_mask=layer.mask[n - t : n, :n])": "attn_mask=layer.mask[n - t : n, :n], scale=D ** -0.5)"},
            says="the scores are scaled by the root of D; each head has width D/H",
            gravity="idea",
        ),
        Mistake("past not used", change={"if past is not None:": "if False:"}, says="the past is not used", gravity="idea"),
        Mistake(
            "no mask",
            change={", attn_mask=layer.mask[n - t : n, :n]": ""},
            says="new tokens see later new ones: a mask is needed when several come at once",
            gravity="part",
        ),
        Mistake(
            "aligned at the top left",
            change={"layer.mask[n - t : n, :n]": "layer.mask[:t, :n]"},
            says="the mask is aligned at the top left: a new token sees the first key only. Its row is s",
            gravity="idea",
        ),
        Mistake(
            "is_causal",
            change={"attn_mask=layer.mask[n - t : n, :n]": "is_causal=True"},
            says="the mask is aligned at the top left: a new token sees the first key only. Its row is s",
            gravity="idea",
        ),
        Mistake(
            "sees one too many",
            change={"layer.mask[n - t : n, :n]": "torch.ones(t, n).tril(n - t + 1).bool()"},
            says="the mask is off by one: a new token sees the one after it",
            gravity="part",
        ),
        Mistake(
            "sees one too few",
            change={"layer.mask[n - t : n, :n]": "torch.ones(t, n).tril(max(0, n - t - 1)).bool()"},
            says="the mask is off by one: a new token must see itself",
            gravity="idea",
        ),
        Mistake(
            "new ones in front",
            change={
                "torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)": "torch.cat([k, past[0]], dim=2), torch.cat([v, past[1]], dim=2)"
            },
            says="old keys and values come after the new ones: put them in front",
            gravity="part",
        ),
        Mistake(
            "only new ones kept",
            change={"(k, v)\n": "(k[:, :, -t:], v[:, :, -t:])\n"},
            says="only the last token of the past is kept: return all keys and values so far",
            gravity="idea",
        ),
        Mistake(
            "values first", change={"(k, v)\n": "(v, k)\n"}, says="keys and values are swapped: the pair is (keys, values)", gravity="idea"
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
        Mistake(
            "output alone",
            change={"reshape(B, t, D)), (k, v)": "reshape(B, t, D))"},
            says="only the output comes back: return two things, the output and the pair of all keys and values",
            gravity="idea",
        ),
        Mistake(
            "no projection",
            change={"layer.proj(mixed.transpose(1, 2).reshape(B, t, D))": "mixed.transpose(1, 2).reshape(B, t, D)"},
            says="`proj` is missing: the merged heads go through it",
            gravity="idea",
        ),
        Mistake(
            "old keys as values",
            change={"torch.cat([past[1], v]": "torch.cat([past[0], v]"},
            says="old keys stand where old values belong: past[1] are the values",
            gravity="idea",
        ),
        Mistake(
            "old values as keys",
            change={"torch.cat([past[0], k]": "torch.cat([past[1], k]"},
            says="old values stand where old keys belong: past[0] are the keys",
            gravity="idea",
        ),
        Mistake(
            "one head",
            change={"layer.H, D // layer.H": "1, D"},
            says="this is one head over the whole width: `layer.H` says how many there are",
            gravity="idea",
        ),
    ],
    "cached-model": [
        Mistake(
            "only the last block's pair",
            change={"        present.append(pair)\n": "        present = [pair]\n"},
            says="only the last block's pair comes back: the past is a list with one pair for each block",
            gravity="idea",
        ),
        Mistake(
            "residual from the norm",
            change={"x = x + mixed": "x = block.norm1(x) + mixed"},
            says="the stream is replaced by its normalised copy: add attention to x itself",
            gravity="idea",
        ),
        Mistake(
            "no residual", change={"x = x + mixed": "x = mixed"}, says="the first residual is missing: add attention to x", gravity="idea"
        ),
        Mistake(
            "pairs in reverse order",
            change={", present\n": ", present[::-1]\n"},
            says="the pairs come back in reverse order: the first is the first block's",
            gravity="idea",
        ),
        Mistake(
            "writes into the past",
            change={
                "    present = []\n": "    present = [] if past is None else past\n",
                "        present.append(pair)\n": "        present[i : i + 1] = [pair]\n",
            },
            hint="your code changes its input in place",
            gravity="edge",
        ),
        Mistake(
            "position 0 always",
            change={"model.position.weight[s : s + t]": "model.position.weight[:t]"},
            says="every new token gets position 0: its position is the number of tokens before it",
            gravity="idea",
        ),
        Mistake(
            "positions one too large",
            change={"model.position.weight[s : s + t]": "model.position.weight[s + (s > 0) : s + t + (s > 0)]"},
            says="the positions of the new tokens are one too large: the first new one is at s",
            gravity="idea",
        ),
        Mistake(
            "positions one too small",
            change={"model.position.weight[s : s + t]": "model.position.weight[max(0, s - 1) : max(0, s - 1) + t]"},
            says="the positions of the new tokens are one too small: the first new one is at s",
            gravity="idea",
        ),
        Mistake(
            "one past for all blocks",
            change={"else past[i]": "else past[0]"},
            says="all blocks get the first block's keys and values: each has its own pair",
            gravity="idea",
        ),
        Mistake(
            "no check of the length",
            change={"if s + t > model.T:": "if False:"},
            says="too many tokens are not refused: raise a ValueError when old and new ones together are more than T",
            gravity="edge",
        ),
        Mistake(
            "checks the new tokens only",
            change={"if s + t > model.T:": "if t > model.T:"},
            says="only the new tokens are compared with T: old and new ones together may be T",
            gravity="edge",
        ),
        Mistake(
            "one too strict",
            change={"if s + t > model.T:": "if s + t >= model.T:"},
            says="exactly T tokens are refused: raise an error only for more than T",
            gravity="edge",
        ),
        Mistake(
            "past handed through",
            change={"present.append(pair)": "present.append(pair if past is None else past[i])"},
            says="the old past is handed through: return the pairs that `cached_attention` gives, with the new tokens",
            gravity="idea",
        ),
        Mistake("no last norm", change={"model.norm(x) @": "x @"}, says="the last norm is missing", gravity="idea"),
        Mistake(
            "no feed-forward",
            change={"        x = x + block.down(F.gelu(block.up(block.norm2(x))))\n": ""},
            says="the feed-forward branch is missing",
            gravity="idea",
        ),
        Mistake(
            "no norm before attention",
            change={"block.norm1(x)": "x"},
            says="norm1 is missing: attention works on a normalised copy",
            gravity="idea",
        ),
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
        Mistake(
            "logits alone",
            change={"model.token.weight.T, present": "model.token.weight.T"},
            says="only the logits come back: return two things, the logits and the past for the next call",
            gravity="idea",
        ),
        Mistake(
            "last position's logits only",
            change={"return model.norm(x) @": "return model.norm(x)[:, -1:] @"},
            says="only the last position's logits come back: there are logits for every new token",
            gravity="part",
        ),
        Mistake(
            "heads counted as tokens",
            change={"past[0][0].shape[2]": "past[0][0].shape[1]"},
            says="the number of heads is taken for the number of old tokens: the keys are (B, H, s, D/H)",
            gravity="idea",
        ),
        Mistake("ReLU", change={"F.gelu": "F.relu"}, says="the nonlinearity is ReLU; here it is GELU", gravity="idea"),
        Mistake(
            "one pair for all blocks",
            change={"present.append(pair)": "present = [pair] * len(model.blocks)"},
            says="all blocks get the last block's keys and values: keep a pair for each",
            gravity="idea",
        ),
        Mistake(
            "another exception",
            change={"raise ValueError": "raise IndexError"},
            says="too many tokens raise an IndexError here: a ValueError is asked for",
            gravity="edge",
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
            says="all query heads look at key/value head 0: each group has its own",
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
        Mistake("no scale", change={" / d**0.5": ""}, says="the scores are not scaled", gravity="idea"),
        Mistake(
            "scale by the whole width",
            change={" / d**0.5": " / (H * d) ** 0.5"},
            says="the scores are scaled by the root of H · d: each head has width d",
            gravity="idea",
        ),
        Mistake(
            "scale by the width of the cache",
            change={" / d**0.5": " / (G * d) ** 0.5"},
            says="the scores are scaled by the root of G · d: a key has width d, however many heads there are",
            gravity="idea",
        ),
        Mistake(
            "scale without the root",
            change={" / d**0.5": " / d"},
            says="the scores are scaled by the width itself: take its root",
            gravity="idea",
        ),
        Mistake(
            "past not used",
            change={"if past is not None:": "if False:"},
            says="the past is not used: a new token sees all that came before it",
            gravity="idea",
        ),
        Mistake(
            "mask lost",
            change={"scores.masked_fill(later, -torch.inf).softmax": "scores.softmax"},
            says="new tokens see later new ones: a mask is needed when several come at once",
            gravity="part",
        ),
        Mistake(
            "mask aligned at the top left",
            change={"triu(n - t + 1)": "triu(1)"},
            says="the mask is aligned at the top left: new token i is at position s + i",
            gravity="idea",
        ),
        Mistake(
            "sees one too many",
            change={"triu(n - t + 1)": "triu(n - t + 2)"},
            says="the mask is off by one: a new token sees the one after it",
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
        Mistake(
            "results alone",
            change={"return mixed, (k, v)": "return mixed"},
            says="only the results come back: return two things, the results and the pair of all keys and values",
            gravity="idea",
        ),
        Mistake(
            "softmax over the queries",
            change={".softmax(dim=-1) @": ".softmax(dim=-2) @"},
            says="softmax runs over the queries: it must run over the keys, the last axis",
            gravity="idea",
        ),
        Mistake(
            "old ones behind",
            change={
                "torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)": "torch.cat([k, past[0]], dim=2), torch.cat([v, past[1]], dim=2)"
            },
            says="old keys and values come after the new ones: put them in front",
            gravity="part",
        ),
        Mistake(
            "first sequence for all",
            change={"k.repeat_interleave(share, dim=1)": "k[:1].repeat_interleave(share, dim=1)"},
            says="the keys of the first sequence are used for all: each has its own",
            gravity="part",
        ),
        Mistake(
            "another exception",
            change={"raise ValueError": "raise IndexError"},
            says="a G that does not divide H raises an IndexError here: a ValueError is asked for",
            gravity="edge",
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
        Mistake("no blocks", change={"2 * L * B": "2 * B"}, says="the number of blocks is not used", gravity="idea"),
        Mistake("one sequence", change={"2 * L * B": "2 * L"}, says="the number of sequences, B, is not used", gravity="part"),
        Mistake("always two bytes", change={" * d * each": " * d * 2"}, says="the argument `each` is not used", gravity="part"),
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
            says="one tensor is counted for another: keys and values, and the blocks, need not agree. Count every tensor by itself",
            gravity="part",
        ),
        Mistake(
            "keys twice",
            change={"for part in pair": "for part in (pair[0], pair[0])"},
            says="one tensor is counted for another: keys and values, and the blocks, need not agree. Count every tensor by itself",
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
        Mistake(
            "four bytes by default",
            change={"B=1, each=2": "B=1, each=4"},
            says="without `each` a number has two bytes: leave the default as it is",
            gravity="idea",
        ),
        Mistake(
            "tokens squared",
            change={"* n * d": "* n * n * d"},
            says="the number of tokens counts twice: a cache grows in proportion to it",
            gravity="idea",
        ),
        Mistake(
            "first sequence counted",
            change={"part.numel()": "part[0].numel()"},
            says="only the first sequence is counted: all B of them are kept",
            gravity="idea",
        ),
    ],
    "plan": [
        Mistake(
            "a string for float32",
            change={"autocast = None": 'autocast = "float32"'},
            says='"float32" stands where nothing is cast: that is None',
            gravity="idea",
        ),
        Mistake(
            "torch's dtypes",
            change={'"autocast": autocast,': '"autocast": getattr(torch, autocast) if autocast else None,'},
            says='the type is an object of torch: give its name, a string such as "float16"',
            gravity="idea",
        ),
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
        Mistake(
            "pinned for every GPU",
            change={'kind == "cuda"}': 'kind != "cpu"}'},
            says="memory is pinned for Apple's GPU, too: it shares the CPU's memory, so there is nothing to pin",
            gravity="part",
        ),
        Mistake("mixed not used", change={"if mixed and kind": "if kind"}, says="mixed=False has no effect", gravity="part"),
        Mistake(
            "pinned only when mixed",
            change={'kind == "cuda"}': 'kind == "cuda" and mixed}'},
            says="pinned memory has nothing to do with mixed precision: it stays as it was",
            gravity="part",
        ),
        Mistake(
            "float16 on a CPU",
            change={' if kind == "cuda" else None': ""},
            says="float16 is for CUDA: a CPU without bfloat16 stays with float32",
            gravity="idea",
        ),
        Mistake(
            "autocast on MPS",
            change={'if mixed and kind != "mps":': "if mixed:"},
            says="MPS gets a 16-bit type: in this notebook it stays with float32, None",
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
        Mistake(
            "bfloat16 on any CPU",
            change={
                '"bfloat16" if bfloat16 else "float16" if kind == "cuda" else None': '"float16" if kind == "cuda" and not bfloat16 else "bfloat16"'
            },
            says="this CPU does not compute in bfloat16: it stays with float32, None",
            gravity="idea",
        ),
        Mistake(
            "the text None",
            change={'if kind == "cuda" else None': 'if kind == "cuda" else "None"'},
            says='this is the text "None": return None itself',
            gravity="idea",
        ),
        Mistake(
            "CPU always in float32",
            change={'kind != "mps"': 'kind == "cuda"'},
            says="a CPU with bfloat16 uses it: only one without stays with float32",
            gravity="idea",
        ),
        Mistake(
            "torch's dtypes",
            change={'"bfloat16" if bfloat16 else "float16" if': "torch.bfloat16 if bfloat16 else torch.float16 if"},
            says='these are torch\'s dtypes: return their names, "bfloat16" or "float16"',
            gravity="idea",
        ),
        Mistake(
            "pinned with bfloat16 only",
            change={'"pinned": kind == "cuda"': '"pinned": kind == "cuda" and bfloat16'},
            says="an older CUDA card gets no pinned memory: the type of the numbers has nothing to do with it",
            gravity="part",
        ),
    ],
    "wall-time": [
        Mistake(
            "seconds kept",
            change={"minutes = math.ceil(seconds / 60)": "minutes = int(seconds // 60)", ':00"': ':{math.ceil(seconds) % 60:02d}"'},
            says="seconds are left: round up to whole minutes",
            gravity="idea",
        ),
        Mistake(
            "whole hours",
            change={"minutes = math.ceil(seconds / 60)": "minutes = 60 * math.ceil(seconds / 3600)"},
            says="the time is rounded up to whole hours: round up to whole minutes",
            gravity="idea",
        ),
        Mistake(
            "rounded before the half is added",
            change={
                "1.5 * (startup_seconds + steps * milliseconds_per_step / 1000)": "1.5 * 60 * math.ceil((startup_seconds + steps * milliseconds_per_step / 1000) / 60)"
            },
            says="the minutes are rounded up before the half is added: round once, at the end",
            gravity="part",
        ),
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
        Mistake("rounded down", change={"math.ceil": "int"}, says="round up, not down or to the nearest", gravity="part"),
        Mistake("seconds per step", change={" / 1000": ""}, hint="the time per step is in milliseconds", gravity="idea"),
        Mistake(
            "no carry",
            change={"{minutes // 60:02d}:{minutes % 60:02d}": "00:{minutes:02d}"},
            says="minutes must stay below 60: carry them over into hours",
            gravity="part",
        ),
        Mistake(
            "one more minute",
            change={"math.ceil(seconds / 60)": "int(seconds // 60) + 1"},
            says="a time that is already a whole number of minutes gets one minute more: it stays as it is",
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
            says="hours are carried over into days, which are lost",
            gravity="edge",
        ),
        Right(
            "divmod",
            change={
                'return f"{minutes // 60:02d}:{minutes % 60:02d}:00"': "h, m = divmod(minutes, 60)\n    return '%02d:%02d:00' % (h, m)"
            },
        ),
        Right("negative floor division", change={"math.ceil(seconds / 60)": "-int(-seconds // 60)"}),
        Mistake(
            "start-up left out by default",
            change={"startup_seconds=60": "startup_seconds=0"},
            says="start-up takes 60 s unless another time is given: here it is left out",
            gravity="idea",
        ),
        Mistake(
            "one digit for hours",
            change={"{minutes // 60:02d}": "{minutes // 60}"},
            says="write two digits each, the hours as well",
            gravity="idea",
        ),
        Mistake(
            "one digit for minutes",
            change={"{minutes % 60:02d}": "{minutes % 60}"},
            says="write two digits each, the minutes as well",
            gravity="idea",
        ),
        Mistake(
            "minutes of the whole run",
            change={"{minutes % 60:02d}": "{minutes:02d}"},
            says="the minutes are those of the whole run: take what is left after the whole hours",
            gravity="part",
        ),
        Mistake(
            "two digits of the hours",
            change={"{minutes // 60:02d}": "{minutes // 60 % 100:02d}"},
            says="the first digit of the hours is lost: hours may have more than two",
            gravity="edge",
        ),
        Mistake("factor 2", change={"1.5 *": "2 *"}, says="the time is doubled: half of it is added, so multiply by 1.5", gravity="idea"),
        Mistake(
            "no seconds", change={':00"': '"'}, says="the seconds are missing: write hours, minutes and seconds, HH:MM:00", gravity="idea"
        ),
        Mistake(
            "seconds kept",
            change={':00"': ':{math.ceil(seconds) % 60:02d}"'},
            says="the seconds are not 00: round up to whole minutes",
            gravity="idea",
        ),
        Mistake(
            "days",
            change={'return f"{minutes // 60:02d}:': 'return f"{minutes // 1440}-{minutes // 60 % 24:02d}:'},
            says="days stand in front: write hours, minutes and seconds, however many hours there are",
            gravity="idea",
        ),
    ],
    "bonus-speculative": [
        Mistake(
            "accepted with probability p",
            change={"ratio = p.gather(1, drafts) / q.gather(1, drafts)": "ratio = p.gather(1, drafts)"},
            says="a draft is accepted with probability p: the probability is min(1, p/q)",
            gravity="idea",
        ),
        Mistake(
            "uniform residual",
            change={"torch.multinomial(residual, 1)": "torch.multinomial((residual > 0).float(), 1)"},
            says="after a rejection all tokens of the residual are equally likely: draw them in proportion to max(0, p − q)",
            gravity="idea",
        ),
        Mistake(
            "residual in any case",
            change={"torch.where(accepted, drafts, ": "torch.where(accepted & False, drafts, "},
            says="an accepted draft is not used: it is the token",
            gravity="idea",
        ),
        Mistake(
            "seeded inside",
            change={"    drafts = torch.multinomial(q, 1)": "    torch.manual_seed(0)\n    drafts = torch.multinomial(q, 1)"},
            hint="two calls in a row draw the same tokens",
            gravity="edge",
        ),
        Mistake(
            "never accepted",
            change={"torch.rand_like(ratio) < ratio": "ratio < 0"},
            says="no draft is ever accepted: accept with probability min(1, p/q)",
            gravity="idea",
        ),
        Mistake(
            "drafts from p",
            change={"torch.multinomial(q, 1)": "torch.multinomial(p, 1)"},
            says="the drafts are drawn from p: the draft model has q",
            gravity="idea",
        ),
        Mistake(
            "most likely draft",
            change={"torch.multinomial(q, 1)": "q.argmax(1, keepdim=True)"},
            says="the draft is always the most likely token of q: draw it from q",
            gravity="idea",
        ),
        Mistake(
            "threshold of one half",
            change={"torch.rand_like(ratio) < ratio": "0.5 < ratio"},
            says="a draft is accepted where p/q is above one half: compare p/q with a random number between 0 and 1",
            gravity="idea",
        ),
        Mistake(
            "residual kept if any row has one",
            change={"residual.sum(dim=1, keepdim=True) > 0": "residual.sum() > 0"},
            says="a row with p = q has a residual of zeros, from which nothing can be drawn: decide row by row",
            gravity="part",
        ),
        Mistake(
            "accepted in numbers", change={"accepted[:, 0]": "accepted[:, 0].long()"}, hint="the third result is boolean", gravity="edge"
        ),
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
            says="with p = q the residual is all zeros, and nothing can be drawn from it: use p there",
            gravity="part",
        ),
        Mistake(
            "one coin for all rows",
            change={"torch.rand_like(ratio) < ratio": "torch.rand(1) < ratio"},
            says="one random number decides on all rows: each row has its own",
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
            says="one residual is used for all rows: each row has its own p and q",
            gravity="part",
        ),
        Mistake(
            "accepts where p is larger only",
            change={"torch.rand_like(ratio) < ratio": "ratio >= 1"},
            says="a draft is accepted only where p ≥ q: otherwise it is accepted with probability p/q",
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
        Mistake(
            "absolute residual",
            change={"(p - q).clamp_min(0)": "(p - q).abs()"},
            says="the residual is |p − q|: it is max(0, p − q)",
            gravity="idea",
        ),
        Mistake(
            "best of the residual",
            change={"torch.multinomial(residual, 1))": "residual.argmax(dim=1, keepdim=True))"},
            says="after a rejection the largest entry of the residual is always taken: draw from it",
            gravity="idea",
        ),
        Mistake(
            "drafts from everywhere",
            change={"torch.multinomial(q, 1)": "torch.randint(q.shape[1], (len(q), 1))"},
            says="the drafts are drawn evenly: draw them from q",
            gravity="idea",
        ),
        Mistake(
            "ratio turned round",
            change={"p.gather(1, drafts) / q.gather(1, drafts)": "q.gather(1, drafts) / p.gather(1, drafts)"},
            says="the ratio is upside down: accept with probability min(1, p/q)",
            gravity="idea",
        ),
    ],
    "bonus-block": [
        Mistake(
            "seeded inside",
            change={"    B, k = drafts.shape": "    torch.manual_seed(0)\n    B, k = drafts.shape"},
            hint="two calls in a row draw the same tokens",
            gravity="edge",
        ),
        Mistake(
            "most likely residual",
            change={"torch.multinomial(left, 1)[:, 0]": "left.argmax(1)"},
            says="the most likely token of the residual is always taken: draw from it",
            gravity="idea",
        ),
        Mistake(
            "residual at the end, too",
            change={
                "torch.cat([(p[:, :k] - q).clamp_min(0), p[:, k:]], dim=1)": "torch.cat([(p[:, :k] - q).clamp_min(0), (p[:, k:] - q[:, -1:]).clamp_min(0)], dim=1)"
            },
            says="after all guesses the extra token comes from a residual: no draft was made there, so draw it from p itself",
            gravity="idea",
        ),
        Mistake(
            "ratio upside down",
            change={"p[:, :k].gather(2, places) / q.gather(2, places)": "q.gather(2, places) / p[:, :k].gather(2, places)"},
            says="the ratio is upside down: accept with probability min(1, p/q)",
            gravity="idea",
        ),
        Mistake(
            "guesses behind a rejection stay",
            change={"taken.long().cumprod(dim=1).sum(dim=1)": "taken.long().sum(dim=1)"},
            says="guesses behind a rejected one stay: throw away everything after it",
            gravity="idea",
        ),
        Mistake(
            "always accepted",
            change={"(torch.rand_like(ratio) < ratio)[:, :, 0]": "torch.ones_like(drafts, dtype=torch.bool)"},
            says="every guess is accepted: accept it with probability min(1, p/q)",
            gravity="idea",
        ),
        Mistake(
            "from p after a rejection",
            change={"(p[:, :k] - q).clamp_min(0)": "p[:, :k]"},
            says="after a rejection you draw from p: draw from the residual, max(0, p − q)",
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
            says="a guess is accepted only where p ≥ q: otherwise it is accepted with probability p/q",
            gravity="idea",
        ),
        Mistake(
            "one coin for a whole row",
            change={"torch.rand_like(ratio) < ratio": "torch.rand(B, 1, 1) < ratio"},
            says="one random number decides on all guesses of a row: each guess has its own",
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
            says="the second result is one too large: it is the number of guesses before the first rejection, without the token that is drawn",
            gravity="idea",
        ),
        Mistake(
            "filled up with 0",
            change={"accepted[:, None], -1)": "accepted[:, None], 0)"},
            says="the rest of a row is filled up with 0: with −1",
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
        Mistake(
            "tokens alone",
            change={"> accepted[:, None], -1), accepted": "> accepted[:, None], -1)"},
            says="only the tokens come back: return two things, the tokens and the number of accepted guesses",
            gravity="idea",
        ),
        Mistake(
            "distributions one later",
            change={"p[:, :k].gather": "p[:, 1:].gather"},
            says="guess i is judged by the distribution after it: p_i is the target's at the guess's own place",
            gravity="idea",
        ),
        Mistake(
            "product of the ratios",
            change={"< ratio)": "< ratio.cumprod(dim=1))"},
            says="the ratios are multiplied along the row: every guess is accepted by its own",
            gravity="idea",
        ),
        Mistake(
            "all accepted counted",
            change={"taken.long().cumprod(dim=1)": "taken.long()"},
            says="guesses behind a rejected one stay: throw away everything after it",
            gravity="idea",
        ),
        Mistake(
            "number of tokens",
            change={"-1), accepted": "-1), accepted + 1"},
            says="the second result is one too large: it is the number of guesses before the first rejection, without the token that is drawn",
            gravity="idea",
        ),
    ],
    "bonus-decode": [
        Mistake(
            "all guesses from the first distribution",
            change={"torch.multinomial(q[-1], 1)": "torch.multinomial(q[0], 1)"},
            hint="each guess is drawn from its own distribution",
            gravity="part",
        ),
        Mistake(
            "one place too early",
            change={"logits[:, -k - 1 :]": "logits[:, -k - 2 : -1]"},
            says="the target's distributions are taken one place too early: they are at the last k + 1 places",
            gravity="idea",
        ),
        Mistake(
            "the best guess",
            change={"torch.multinomial(q[-1], 1)": "q[-1].argmax(-1, keepdim=True)"},
            says="the draft's most likely token is always guessed: draw each guess from its softmax",
            gravity="part",
        ),
        Mistake(
            "cache not cut back",
            change={"    past = [(keys[:, :, : n + a], values[:, :, : n + a]) for keys, values in past]\n": ""},
            says="rejected guesses stay in the cache: cut it back to all tokens but the last",
            gravity="part",
        ),
        Mistake(
            "cut one too short",
            change={"(keys[:, :, : n + a], values[:, :, : n + a])": "(keys[:, :, : n + a - 1], values[:, :, : n + a - 1])"},
            says="the cache is cut one token too short: it holds all tokens but the last",
            gravity="part",
        ),
        Mistake(
            "distributions one too early",
            change={"logits[:, -k - 1 :].softmax(dim=-1)": "torch.cat([logits[:, :1], logits[:, -k - 1 : -1]], dim=1).softmax(dim=-1)"},
            says="the target's distributions are taken one place too early: those at the last k + 1 places judge the guesses",
            gravity="idea",
        ),
        Mistake(
            "drafts without a judge",
            change={"    a = int(accepted)\n": "    a, block = k, torch.cat([guessed[:, n:], block[:, -1:].clamp_min(0)], dim=1)\n"},
            says="the guesses are taken without being judged: `accept_block` decides",
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
            says="the target is given the last token only: it runs over all tokens that are not in its cache",
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
        Mistake(
            "text alone",
            change={"dim=1), past": "dim=1)"},
            says="only the text comes back: return two things, the text and the cache for the next step",
            gravity="idea",
        ),
        Mistake(
            "no cache comes back",
            change={"dim=1), past": "dim=1), None"},
            says="no cache comes back: return the target's past for the next step",
            gravity="idea",
        ),
        Mistake(
            "single passes",
            change={
                "logits, past = cached_forward(target, guessed[:, seen:], past)": "pieces = []\n        for i in range(seen, guessed.shape[1]):\n            piece, past = cached_forward(target, guessed[:, i : i + 1], past)\n            pieces.append(piece)\n        logits = torch.cat(pieces, dim=1)"
            },
            hint="the target runs once, over all new tokens together",
            gravity="part",
        ),
        Mistake(
            "fillers kept",
            change={"block[:, : a + 1]": "block"},
            says="the fillers of −1 are kept: the text ends after the last token",
            gravity="idea",
        ),
        Mistake(
            "the draft sees one token",
            change={"draft(guessed)": "draft(guessed[:, -1:])"},
            says="the draft sees its last token only: give it all tokens so far",
            gravity="idea",
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
    "train": {
        "iterator: train, rates *": "the text says that the rates are a list",
        "number: True → False": "there is one rate for each batch: nothing is left over, and `strict` has nothing to say",
    },
    "distribution": {
        "dtype: logits.dtype → torch.float32": "noughts and ones have no digits to lose",
        "sign: -1 → 1*": "the logits have two axes: the last one is axis 1",
        "comparison: before >= top_p → before > top_p": "they differ where a total is exactly p, and rounding decides whether it is",
        "number: 1 → 2 #3": "any number below 0 keeps the most likely token",
    },
    "cached-model": {"number: 0 → * #*": "keys and values of all blocks have the same length"},
    "cache-bytes": {"iterator: counted_bytes, past needs a length": "a cache is a list, as `cached_forward` gives it: it has a length"},
    "bonus-speculative": {
        "comparison: torch.rand_like(ratio) < ratio → *": "a random number is equal to the ratio with a probability of nearly 0",
        "number: 1 → 2*": "of two tokens drawn one after the other the first has the distribution asked for",
        "number: 0 → -1 #*": "an axis of length 1: its first entry is its last one",
        "extreme: residual.sum → residual.mean": "sum and mean are positive for the same rows",
    },
    "bonus-block": {
        "comparison: torch.rand_like(ratio) < ratio → *": "a random number is equal to the ratio with a probability of nearly 0",
        "axis: torch.cat, dim=1 → -2": "of three axes the one before the last is axis 1",
        "axis: left.sum, *": "a residual of zeros is never drawn from: with p = q every guess is accepted",
        "comparison: left.sum(dim=1, keepdim=True) > 0 → *": "a residual of zeros is never drawn from: with p = q every guess is accepted",
        "number: 0 → -1 #3": "a residual of zeros is never drawn from: with p = q every guess is accepted",
        "left out: without left = *": "a residual of zeros is never drawn from: with p = q every guess is accepted",
        "left out: without where of left": "a residual of zeros is never drawn from: with p = q every guess is accepted",
        "extreme: left.sum → left.mean": "sum and mean are positive for the same rows",
        "number: 0 → -1": "an axis of length 1: its first entry is its last one",
        "number: 0 → -1 #4": "an axis of length 1: its first entry is its last one",
        "number: 1 → 2 #7": "of two tokens drawn one after the other the first has the distribution asked for",
        "left out: without long of taken": "a product of bools is made in whole numbers",
    },
    "bonus-decode": {
        "one row: *": "there is one sequence",
        "axis: torch.stack, dim=1 → -2": "of three axes the one before the last is axis 1",
        "sign: -1 → 1 #2": "the logits of one position have two axes: the last one is axis 1",
        "number: 0 → * #*": "keys and values of all blocks have the same length",
    },
}
