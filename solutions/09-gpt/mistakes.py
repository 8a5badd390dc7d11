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
        Mistake("not sorted", change={"sorted(set(text))": "dict.fromkeys(text)"}, hint="order of their appearance: sort them"),
        Mistake("a list", change={'"".join(sorted(set(text)))': "sorted(set(text))"}, hint="the vocabulary is a list"),
        Mistake("counted from 1", change={"enumerate(alphabet)": "enumerate(alphabet, 1)"}, hint="places are counted from 0, not from 1"),
        Mistake("code points", change={"place[character] for": "ord(character) for"}, hint="these are code points: look the characters up"),
        Mistake(
            "unknown becomes 0",
            change={"place[character] for character in text if character in place": "place.get(character, 0) for character in text"},
            hint="an unknown character becomes token 0",
        ),
        Mistake("unknown raises", change={" if character in place": ""}, hint="a character that is not in the alphabet is left out"),
        Mistake("floats", change={"dtype=torch.long": "dtype=torch.float"}, hint="tokens are int64"),
        Mistake(
            "decode gives a list",
            change={'"".join(alphabet[int(token)] for token in tokens)': "[alphabet[int(t)] for t in tokens]"},
            hint="decode gives a list of characters",
        ),
        Mistake("lower case", change={"set(text)": "set(text.lower())"}, hint="nothing is stripped or folded"),
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
        Mistake("targets not shifted", change={"rows[:, 1:]": "rows[:, :-1]"}, hint="the targets are not shifted"),
        Mistake(
            "shifted by two", change={"T + 1)": "T + 2)", "rows[:, :-1], rows[:, 1:]": "rows[:, :-2], rows[:, 2:]"}, hint="shifted by two"
        ),
        Mistake(
            "the wrong way",
            change={"return rows[:, :-1], rows[:, 1:]": "return rows[:, :-1], stream[starts[:, None] + torch.arange(T) - 1]"},
            hint="shifted the wrong way",
        ),
        Mistake("roll", change={"rows[:, 1:]": "rows[:, :-1].roll(-1, 1)"}, hint="`roll` wraps around"),
        Mistake("start too large", change={"len(stream) - T,": "len(stream) - T + 1,"}, hint="which is the largest start?"),
        Mistake(
            "last place never used",
            change={"len(stream) - T,": "max(1, len(stream) - T - 1),"},
            hint="the last possible place is never used",
        ),
        Mistake(
            "always from the beginning",
            change={"torch.randint(len(stream) - T, (B,))": "torch.zeros(B, dtype=torch.long)"},
            hint="all windows start at the same place",
        ),
        Mistake(
            "one place for the whole batch",
            change={"torch.randint(len(stream) - T, (B,))": "torch.randint(len(stream) - T, (1,)).expand(B)"},
            hint="of a stream of 9 tokens",
        ),
        Mistake(
            "not uniform",
            change={"torch.randint(len(stream) - T, (B,))": "(torch.rand(B) ** 2 * (len(stream) - T)).long()"},
            hint="some places are chosen more often",
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
        Mistake("sees the next token", change={".tril()": ".tril(1)"}, hint="it lets position t see t + 1"),
        Mistake("does not see itself", change={".tril()": ".tril(-1)"}, hint="position 0 must see itself"),
        Mistake(
            "no mask when written out",
            change={".masked_fill(~self.mask[:t, :t], -torch.inf)": ""},
            hint="there is no mask: every position sees the future",
        ),
        Mistake(
            "fused without causal", change={"is_causal=True": "is_causal=False"}, hint="fused=True: a later token changes an earlier output"
        ),
        Mistake(
            "polarity",
            change={"torch.ones(T, T, dtype=torch.bool).tril()": "torch.ones(T, T, dtype=torch.bool).triu(1)"},
            hint="True means may look",
        ),
        Mistake("whole mask", change={"self.mask[:t, :t]": "self.mask"}, hint="also for t < T: use a corner of the mask"),
        Mistake(
            "zeroed after softmax",
            change={TRILS: "(scores.softmax(dim=-1) * self.mask[:t, :t]) @ v"},
            hint="the weights are zeroed after softmax",
        ),
        Mistake(
            "scaled by the root of D", change={"(D // self.H) ** 0.5": "D**0.5"}, hint="scaled by the root of D; each head has width D/H"
        ),
        Mistake("not scaled", change={" / (D // self.H) ** 0.5": ""}, hint="the scores are not scaled"),
        Mistake("with biases", change={"bias=False": "bias=True"}, hint="`qkv` and `proj` have no bias"),
        Mistake(
            "no projection",
            change={"self.proj(mixed.transpose(1, 2).reshape(B, t, D))": "mixed.transpose(1, 2).reshape(B, t, D)"},
            hint="`proj` is missing",
        ),
        Mistake("merged without transpose", change={"mixed.transpose(1, 2).reshape": "mixed.reshape"}, hint="transpose, then reshape"),
        Mistake(
            "heads by view",
            change={"part.view(B, t, self.H, D // self.H).transpose(1, 2)": "part.reshape(B, self.H, t, D // self.H)"},
            hint="`view` straight to (B, H, t, D/H)",
        ),
        Mistake("keys first", change={"q, k, v = (": "k, q, v = ("}, hint="the order of the thirds is queries, keys, values"),
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
            "switch not handed on",
            change={"CausalSelfAttention(D, H, T, fused)": "CausalSelfAttention(D, H, T, True)"},
            hint="has no effect on attention: hand it on",
        ),
        Mistake(
            "post-LN",
            change={
                "x = x + self.drop(self.attention(self.norm1(x)))": "x = self.norm1(x + self.drop(self.attention(x)))",
                "return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))": "return self.norm2(x + self.drop(self.down(F.gelu(self.up(x)))))",
            },
            hint="this is post-LN",
        ),
        Mistake(
            "first residual missing",
            change={"x = x + self.drop(self.attention": "x = self.drop(self.attention"},
            hint="the first residual is missing",
        ),
        Mistake("second residual missing", change={"return x + ": "return "}, hint="the second residual is missing"),
        Mistake("norm1 twice", change={"self.norm2(x)": "self.norm1(x)"}, hint="norm1 is used twice"),
        Mistake(
            "parallel branches",
            change={
                "x = x + self.drop(self.attention(self.norm1(x)))\n        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))": "return x + self.drop(self.attention(self.norm1(x))) + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))"
            },
            hint="it comes after attention",
        ),
        Mistake("ReLU", change={"F.gelu": "F.relu"}, hint="the nonlinearity is ReLU"),
        Mistake("no nonlinearity", change={"F.gelu(self.up(self.norm2(x)))": "self.up(self.norm2(x))"}, hint="the nonlinearity is missing"),
        Mistake(
            "tanh GELU",
            change={"F.gelu(self.up(self.norm2(x)))": 'F.gelu(self.up(self.norm2(x)), approximate="tanh")'},
            hint="this GELU is the tanh approximation",
        ),
        Mistake("second branch not normalised", change={"self.norm2(x)": "x"}, hint="the second branch is not normalised"),
        Mistake(
            "dropout on the stream",
            change={"x + self.drop(self.attention(self.norm1(x)))": "self.drop(x + self.attention(self.norm1(x)))"},
            hint="and not on the stream?",
        ),
        Mistake("no dropout", change={"nn.Dropout(dropout)": "nn.Dropout(0.0)"}, hint="is dropout at the end of both branches"),
        Mistake("biases", change={"4 * D, bias=False)": "4 * D)"}, hint="norm1, norm2, attention, up and down, without biases"),
        Mistake(
            "feed-forward of width D",
            change={"nn.Linear(D, 4 * D": "nn.Linear(D, D", "nn.Linear(4 * D, D": "nn.Linear(D, D"},
            hint="norm1, norm2, attention, up and down, without biases",
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
        Mistake("output layer counted", change={"return V * D": "return 2 * V * D"}, hint="do not count it twice"),
        Mistake("biases counted", change={" + 2 * D  #": " + 2 * D + 9 * D  #"}, hint="the biases of the linear layers are counted"),
        Mistake("no positions", change={" + T * D": ""}, hint="the position embedding is missing"),
        Mistake("no last norm", change={"L * block + D": "L * block"}, hint="the last LayerNorm is missing"),
        Mistake("no norms", change={" + 2 * D  #": "  #", "L * block + D": "L * block"}, hint="no LayerNorm is counted"),
        Mistake("no proj", change={"4 * D**2 +": "3 * D**2 +"}, hint="`proj` is missing"),
        Mistake(
            "norms with bias",
            change={" + 2 * D  #": " + 4 * D  #", "L * block + D": "L * block + 2 * D"},
            hint="LayerNorm here has no bias",
        ),
        Mistake("one size", change={"return V * D + T * D + L * block + D": "return 806016"}, hint="the formula fits one size only"),
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
            hint="has no effect on attention: hand it on to the blocks",
        ),
        Mistake("no positions", change={" + self.position.weight[:t]": ""}, hint="positions are not added"),
        Mistake(
            "positions from 1",
            change={"self.position.weight[:t]": "self.position.weight.roll(-1, 0)[:t]"},
            hint="positions are counted from 1",
        ),
        Mistake("no last norm", change={"self.norm(x) @": "x @"}, hint="the last norm is missing"),
        Mistake(
            "a plain list",
            change={
                "nn.ModuleList(Block(D, H, T, dropout, fused) for _ in range(L))": "[Block(D, H, T, dropout, fused) for _ in range(L)]"
            },
            hint="is `blocks` an nn.ModuleList",
        ),
        Mistake(
            "one block for all",
            change={
                "nn.ModuleList(Block(D, H, T, dropout, fused) for _ in range(L))": "nn.ModuleList([Block(D, H, T, dropout, fused)] * L)"
            },
            hint="the number of trained parameters is not that of 2.3",
        ),
        Mistake("blocks reversed", change={"in self.blocks:": "in reversed(self.blocks):"}, hint="the blocks run in reverse order"),
        Mistake("only one block runs", change={"in self.blocks:": "in self.blocks[:1]:"}, hint="only the first block is used"),
        Mistake(
            "head of its own",
            change={
                "initialise(self)": "self.head = nn.Linear(D, V, bias=False)\n        initialise(self)",
                "self.norm(x) @ self.token.weight.T": "self.head(self.norm(x))",
            },
            hint="the output layer has weights of its own",
        ),
        Mistake(
            "probabilities",
            change={"self.norm(x) @ self.token.weight.T": "(self.norm(x) @ self.token.weight.T).softmax(-1)"},
            hint="these are probabilities: return the logits",
        ),
        Mistake("not initialised", change={"initialise(self)\n": "pass\n"}, hint="call `initialise(self)` at the end"),
        Mistake(
            "too long is cut",
            change={'raise ValueError(f"{t} tokens do not fit into a context of {self.T}")': "tokens, t = tokens[:, -self.T :], self.T"},
            hint="more tokens than T: raise a ValueError",
        ),
        Mistake(
            "no dropout after the embeddings",
            change={"self.drop(self.token(tokens) + self.position.weight[:t])": "self.token(tokens) + self.position.weight[:t]"},
            hint="is dropout applied after the embeddings",
        ),
        Mistake(
            "dropout not handed on",
            change={"Block(D, H, T, dropout, fused)": "Block(D, H, T, 0.0, fused)", "nn.Dropout(dropout)": "nn.Dropout(0.0)"},
            hint="and handed to the blocks",
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
        ),
        Mistake("sum", change={", ignore_index=-1)": ', ignore_index=-1, reduction="sum")'}, hint="the loss is a sum"),
        Mistake(
            "filler as token 0",
            change={"targets.flatten(), ignore_index=-1": "targets.flatten().clamp_min(0)"},
            hint="filler counts as token 0",
        ),
        Mistake(
            "filler as the last token",
            change={"targets.flatten(), ignore_index=-1": "targets.flatten() % logits.shape[-1]"},
            hint="−1 is read as the last token",
        ),
        Mistake(
            "shifted again",
            change={"logits.flatten(0, 1), targets.flatten()": "logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten()"},
            hint="the targets are shifted again",
        ),
        Mistake("softmax first", change={"logits.flatten(0, 1)": "logits.flatten(0, 1).softmax(-1)"}, hint="do not apply softmax first"),
        Mistake(
            "mean of means",
            change={
                "return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)": "return torch.stack([F.cross_entropy(a, b, ignore_index=-1) for a, b in zip(logits, targets)]).mean()"
            },
            hint="the mean of the sequences' means",
        ),
        Mistake("bits", change={", ignore_index=-1)": ", ignore_index=-1) / math.log(2)"}, hint="the loss is in bits"),
        Mistake(
            "log of softmax",
            code="""
def language_loss(logits, targets):
    p = logits.softmax(-1).gather(-1, targets.clamp_min(0)[..., None])[..., 0]
    return -p.log()[targets >= 0].mean()
""",
            hint="large logits give an infinite loss",
        ),
        Mistake(
            "a float",
            change={", ignore_index=-1)": ", ignore_index=-1).item()"},
            hint="the gradient through the loss is wrong, or does not flow",
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
        Mistake("training mode", change={"    model.eval()\n": ""}, hint="the model is in training mode: with dropout on"),
        Mistake(
            "mean of means",
            change={".item() * real": ".item()", "count += real": "count += 1"},
            hint="this is the mean of the batches' means",
        ),
        Mistake("weighed with filler", change={"int((y >= 0).sum())": "y.numel()"}, hint="batches are weighed by all their positions"),
        Mistake("mode not restored", change={"    model.train(was_training)\n": ""}, hint="must be in training mode again afterwards"),
        Mistake(
            "always back to training",
            change={"model.train(was_training)": "model.train()"},
            hint="do not call model.train() unconditionally",
        ),
        Mistake("with gradients", change={"torch.no_grad()": "torch.enable_grad()"}, hint="gradients were recorded"),
        Mistake(
            "perplexity", change={"return total / count": "return math.exp(total / count)"}, hint="this is the perplexity: return the loss"
        ),
        Mistake("last batch only", change={"total += ": "total = ", "count += ": "count = "}, hint="only the last batch counts"),
        Mistake("filler in the count", change={"count += real": "count += y.numel()"}, hint="filler counts in the number of targets"),
        Mistake("a tensor", change={".item() * real": " * real"}, hint="return a Python float"),
        Mistake(
            "goes through the batches twice",
            change={"return total / count": "return total / sum(int((y >= 0).sum()) for _, y in batches)"},
            hint="with an iterator for `batches` it fails",
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
            "gradients pile up",
            change={"        optimizer.zero_grad()  # or the old ones would be added\n": ""},
            hint="the gradients pile up",
        ),
        Mistake(
            "not clipped",
            change={"        nn.utils.clip_grad_norm_(model.parameters(), clip)\n": ""},
            hint="the gradients are not clipped before the step",
        ),
        Mistake(
            "clipped after the step",
            change={
                "        nn.utils.clip_grad_norm_(model.parameters(), clip)\n        optimizer.step()\n": "        optimizer.step()\n        nn.utils.clip_grad_norm_(model.parameters(), clip)\n"
            },
            hint="the gradients are not clipped before the step",
        ),
        Mistake("always clipped to 1", change={"model.parameters(), clip)": "model.parameters(), 1.0)"}, hint="or not to `clip`"),
        Mistake("evaluation mode", change={"    model.train()\n": ""}, hint="call model.train() before the loop"),
        Mistake(
            "rate not set",
            change={'            group["lr"] = rate\n': "            pass\n"},
            hint="the optimiser's own rate of 1e-3 is used",
        ),
        Mistake("first rate for all", change={'group["lr"] = rate': 'group["lr"] = rates[0]'}, hint="the first rate is used for all steps"),
        Mistake("no step", change={"        optimizer.step()\n": ""}, hint="is optimizer.step() called"),
        Mistake(
            "a new optimiser each time",
            change={
                "        loss = language_loss": "        optimizer = training.make_optimizer(model)\n        for group in optimizer.param_groups:\n            group['lr'] = rate\n        loss = language_loss"
            },
            hint="a new optimiser is made in every step",
        ),
        Mistake(
            "zero_grad after backward",
            change={
                "        optimizer.zero_grad()  # or the old ones would be added\n        loss.backward()\n": "        loss.backward()\n        optimizer.zero_grad()\n"
            },
            hint="is optimizer.step() called, after backward?",
        ),
        Mistake(
            "tensors for losses",
            change={"losses.append(loss.item())": "losses.append(loss)"},
            hint="a tensor would keep its whole graph alive",
        ),
        Mistake("watch from 0", change={"watch(len(losses),": "watch(len(losses) - 1,"}, hint="the steps for watch are counted from 1"),
        Mistake(
            "loss after the step",
            change={"losses.append(loss.item())": "losses.append(language_loss(model(x), y).item())"},
            hint="the first loss is that of the untrained model, before any step",
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
        ),
        Mistake(
            "temperature after softmax",
            change={"(logits / temperature).softmax(dim=-1)": "logits.softmax(dim=-1)"},
            hint="the temperature is not used",
        ),
        Mistake("no greedy case", change={"if temperature == 0:": "if temperature is None:"}, hint="temperature 0 is greedy"),
        Mistake("k − 1 kept", change={"max(1, top_k)": "max(1, top_k - 1)"}, hint="one token too few is kept"),
        Mistake(
            "least likely kept",
            change={"ranked[..., max(1, top_k) :] = 0": "ranked[..., : max(0, V - top_k)] = 0"},
            hint="the k least likely tokens are kept",
        ),
        Mistake(
            "border token left out",
            change={
                "ranked = ranked.masked_fill(before >= top_p, 0)": "ranked = ranked.masked_fill((before + ranked > top_p) & (before > 0), 0)"
            },
            hint="the token that carries the total over p is left out",
        ),
        Mistake(
            "one too many",
            change={"before >= top_p": "before - ranked.roll(1, -1) >= top_p"},
            hint="one token too many is kept: stop as soon as",
        ),
        Mistake("p = 0 keeps nothing", change={"        before[..., 0] = -1  # the most likely one always stays\n": ""}, hint="top_p=0"),
        Mistake(
            "sorted order returned",
            change={"p = torch.zeros_like(p).scatter(-1, order, ranked)": "p = ranked"},
            hint="the result is in sorted order",
        ),
        Mistake(
            "not renormalised",
            change={
                "return p / p.sum(dim=-1, keepdim=True)": "return p",
                "        ranked = ranked / ranked.sum(dim=-1, keepdim=True)\n": "",
            },
            hint="is not renormalised",
        ),
        Mistake(
            "top-p before renormalising",
            change={"        ranked = ranked / ranked.sum(dim=-1, keepdim=True)\n": ""},
            hint="top-k comes first, and what is left is renormalised",
        ),
        Mistake("threshold instead of total", change={"before >= top_p": "ranked < top_p"}, hint="The nucleus is about their total"),
        Mistake(
            "in place",
            change={"p = (logits / temperature).softmax(dim=-1)": "logits /= temperature\n    p = logits.softmax(dim=-1)"},
            hint=IN_PLACE,
        ),
        Mistake(
            "exp without softmax",
            change={"p = (logits / temperature).softmax(dim=-1)": "p = (logits / temperature).exp()\n    p = p / p.sum(-1, keepdim=True)"},
            hint="large logits at a low temperature give NaN",
        ),
        Right(
            "minus infinity and a second softmax",
            code="""
def next_distribution(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        return (logits == logits.amax(-1, keepdim=True)).to(logits.dtype)
    z = logits / temperature
    if top_k is not None:
        kth = z.topk(min(top_k, z.shape[-1])).values[:, -1:]
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
            hint="append the sampled token and go on with it",
        ),
        Mistake("no crop", change={"tokens[:, -model.T :]": "tokens"}, hint="a prefix longer than the context"),
        Mistake(
            "crop from the front", change={"tokens[:, -model.T :]": "tokens[:, : model.T]"}, hint="the model must see the *last* T tokens"
        ),
        Mistake("training mode", change={"    model.eval()\n": ""}, hint="the samples come from a model in training mode"),
        Mistake(
            "always greedy",
            change={
                "torch.multinomial(next_distribution(logits, temperature, top_k, top_p), 1)": "next_distribution(logits, temperature, top_k, top_p).argmax(-1, keepdim=True)"
            },
            hint="the most likely token is always chosen",
        ),
        Mistake(
            "knobs unused",
            change={"next_distribution(logits, temperature, top_k, top_p)": "next_distribution(logits)"},
            hint="hand all three to next_distribution",
        ),
        Mistake("first position", change={")[:, -1]": ")[:, 0]"}, hint="each token follows from the one before"),
        Mistake(
            "only the new ones",
            change={"return tokens": "return tokens[:, tokens.shape[1] - count :]"},
            hint="only the new tokens come back",
        ),
        Mistake(
            "one draw for all rows",
            change={
                "torch.multinomial(next_distribution(logits, temperature, top_k, top_p), 1)": "torch.multinomial(next_distribution(logits, temperature, top_k, top_p)[:1], 1).expand(len(tokens), 1)"
            },
            hint="each token follows from the one before",
        ),
        Mistake("mode not restored", change={"    model.train(was_training)\n": ""}, hint="must be again afterwards"),
        Mistake("with gradients", change={"torch.no_grad()": "torch.enable_grad()"}, hint="gradients were recorded"),
        Mistake("short context", change={"tokens[:, -model.T :]": "tokens[:, -1:]"}, hint="up to T tokens, not fewer"),
        Mistake("result cut", change={"return tokens": "return tokens[:, -model.T - count :]"}, hint="the prefix is cut in the result"),
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
    "cache": [
        Mistake("past not used", change={"if past is not None:": "if False:"}, hint="the past is not used"),
        Mistake("no mask", change={", attn_mask=layer.mask[n - t : n, :n]": ""}, hint="a mask is needed when several come at once"),
        Mistake(
            "aligned at the top left",
            change={"layer.mask[n - t : n, :n]": "layer.mask[:t, :n]"},
            hint="the mask is aligned at the top left",
        ),
        Mistake("is_causal", change={"attn_mask=layer.mask[n - t : n, :n]": "is_causal=True"}, hint="the mask is aligned at the top left"),
        Mistake(
            "sees one too many",
            change={"layer.mask[n - t : n, :n]": "torch.ones(t, n).tril(n - t + 1).bool()"},
            hint="a new token sees the one after it",
        ),
        Mistake(
            "sees one too few",
            change={"layer.mask[n - t : n, :n]": "torch.ones(t, n).tril(max(0, n - t - 1)).bool()"},
            hint="a new token must see itself",
        ),
        Mistake(
            "new ones in front",
            change={
                "torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)": "torch.cat([k, past[0]], dim=2), torch.cat([v, past[1]], dim=2)"
            },
            hint="old keys and values stand after the new ones",
        ),
        Mistake("only new ones kept", change={"(k, v)\n": "(k[:, :, -t:], v[:, :, -t:])\n"}, hint="only the new keys come back"),
        Mistake("values first", change={"(k, v)\n": "(v, k)\n"}, hint="keys and values are exchanged"),
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
        ),
        Mistake(
            "positions one too large",
            change={"model.position.weight[s : s + t]": "model.position.weight[s + (s > 0) : s + t + (s > 0)]"},
            hint="one too large",
        ),
        Mistake(
            "positions one too small",
            change={"model.position.weight[s : s + t]": "model.position.weight[max(0, s - 1) : max(0, s - 1) + t]"},
            hint="one too small",
        ),
        Mistake(
            "one past for all blocks",
            change={"else past[i]": "else past[0]"},
            hint="token by token the logits must be those of the whole sequence",
        ),
        Mistake("no check of the length", change={"if s + t > model.T:": "if False:"}, hint="old and new tokens together are more than T"),
        Mistake(
            "checks the new tokens only",
            change={"if s + t > model.T:": "if t > model.T:"},
            hint="old and new tokens together are more than T",
        ),
        Mistake("one too strict", change={"if s + t > model.T:": "if s + t >= model.T:"}, hint="T tokens are allowed"),
        Mistake(
            "past handed through",
            change={"present.append(pair)": "present.append(pair if past is None else past[i])"},
            hint="token by token the logits must be those of the whole sequence",
        ),
        Mistake("no last norm", change={"model.norm(x) @": "x @"}, hint="without a past it is the model's own forward pass"),
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
    "plan": [
        Mistake("no scaler", change={'"scaler": autocast == "float16"': '"scaler": False'}, hint="float16 without a scaler"),
        Mistake(
            "scaler for bfloat16",
            change={'autocast == "float16"': "autocast is not None"},
            hint="bfloat16 has the range of float32: it needs no scaler",
        ),
        Mistake(
            "float16 always",
            change={'"bfloat16" if bfloat16 else "float16" if': '"float16" if'},
            hint="where there is bfloat16, it is the better choice",
        ),
        Mistake(
            "bfloat16 always",
            change={'"bfloat16" if bfloat16 else "float16" if kind == "cuda" else None': '"bfloat16"'},
            hint="this card does not compute in bfloat16",
        ),
        Mistake("pinned everywhere", change={'kind == "cuda"}': "True}"}, hint="a CPU needs none"),
        Mistake("pinned for every GPU", change={'kind == "cuda"}': 'kind != "cpu"}'}, hint="MPS shares its memory"),
        Mistake("mixed not used", change={"if mixed and kind": "if kind"}, hint="mixed=False is not used"),
        Mistake(
            "pinned only when mixed",
            change={'kind == "cuda"}': 'kind == "cuda" and mixed}'},
            hint="pinned memory has nothing to do with mixed precision",
        ),
        Mistake("float16 on a CPU", change={' if kind == "cuda" else None': ""}, hint="a CPU without bfloat16 stays with float32"),
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
            hint="30:00:00 is thirty hours",
        ),
        Mistake(
            "minutes and seconds only",
            change={'f"{minutes // 60:02d}:{minutes % 60:02d}:00"': 'f"{minutes:02d}:00"'},
            hint="write hours, minutes and seconds",
        ),
        Mistake("no margin", change={"1.5 * (": "("}, hint="the half on top is missing"),
        Mistake(
            "margin for the steps only",
            change={
                "1.5 * (startup_seconds + steps * milliseconds_per_step / 1000)": "startup_seconds + 1.5 * steps * milliseconds_per_step / 1000"
            },
            hint="the half on top is for the start-up as well",
        ),
        Mistake("no start-up", change={"startup_seconds + ": ""}, hint="the start-up is missing"),
        Mistake("rounded down", change={"math.ceil": "int"}, hint="round up, not down"),
        Mistake("seconds per step", change={" / 1000": ""}, hint="the time per step is in milliseconds"),
        Mistake("no carry", change={"{minutes // 60:02d}:{minutes % 60:02d}": "00:{minutes:02d}"}, hint="carry them over into hours"),
        Mistake(
            "one more minute",
            change={"math.ceil(seconds / 60)": "int(seconds // 60) + 1"},
            hint="a time that is a full number of minutes already",
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
        ),
        Mistake(
            "from p after a rejection", change={"residual = (p - q).clamp_min(0)": "residual = p"}, hint="after a rejection you draw from p"
        ),
        Mistake(
            "from q after a rejection",
            change={"residual = (p - q).clamp_min(0)": "residual = q"},
            hint="after a rejection you draw from q again",
        ),
        Mistake(
            "residual the wrong way round",
            change={"(p - q).clamp_min(0)": "(q - p).clamp_min(0)"},
            hint="the right way round?",
        ),
        Mistake(
            "residual not guarded",
            change={"    residual = torch.where(residual.sum(dim=1, keepdim=True) > 0, residual, p)\n": ""},
            hint="the residual of zeros must not break anything",
        ),
        Mistake(
            "one coin for all rows",
            change={"torch.rand_like(ratio) < ratio": "torch.rand(1) < ratio"},
            hint="the tokens do not have the distribution p",
        ),
        Mistake(
            "ignores the draft",
            change={"torch.where(accepted, drafts, torch.multinomial(residual, 1))": "torch.multinomial(p, 1)"},
            hint="where a draft is accepted, it is the token",
        ),
        Mistake(
            "columns",
            change={"tokens[:, 0], drafts[:, 0], accepted[:, 0]": "tokens, drafts, accepted"},
            hint="three results, each of shape (B,)",
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
}
