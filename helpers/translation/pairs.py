"""Sentence pairs and their tokens: line-aligned files as they come, the grammar of `data/`, and two vocabularies.

Real corpora: set COURSE_PAIRS to a folder with `train.en` and `train.fr`, and `dev` (or `val`, `valid`) and `test` if
there are any.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

try:
    import english_french
except ModuleNotFoundError:  # a checkout on the path, not installed
    sys.path.append(str(Path(__file__).resolve().parents[2] / "data"))
    import english_french

PAD, BEGIN, END, UNKNOWN = 0, 1, 2, 3
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
NAMES = {"train": ("train",), "dev": ("dev", "val", "valid", "validation"), "test": ("test",)}
PARTS = english_french.PARTS
BLANKS = re.compile(r"[\s\u00a0\u202f\u2007\u200b\ufeff]+")


class Corpus(NamedTuple):
    """Three lists of (source, target) sentences: what to train on, what to choose with, what to report once."""

    train: list[tuple[str, str]]
    dev: list[tuple[str, str]]
    test: list[tuple[str, str]]


# ---- where sentences come from --------------------------------------------------------------------------------------


def grammar_corpus(train: int, held_out: int, seed: int = 0) -> Corpus:
    """Pairs from the grammar. The structures of dev and test do not occur in training; their parts do."""
    sizes = {"train": train, "dev": held_out, "test": held_out}
    return Corpus(
        *([(pair.english, pair.french) for pair in english_french.pairs(split, n, seed)] for split, n in sizes.items())
    )


def known_structures(count: int, after: int, seed: int = 0) -> list[tuple[str, str]]:
    """New sentences whose structures are those of training: the `count` pairs that follow the first `after` training
    pairs.
    """
    return [(pair.english, pair.french) for pair in english_french.pairs("train", after + count, seed)[after:]]


def split_of_core(mood: str, tense: str, polarity: str) -> str:
    """The split of all structures with this mood, tense and polarity."""
    return english_french.split_of(english_french.Structure(mood, tense, polarity, "bare", "bare", "none"))


def read_lines(path: Path) -> list[str]:
    """Lines of a UTF-8 file, with any system's line ends and without a byte-order mark; blanks of every kind become one
    space.

    Only a line feed ends a line (a carriage return where there is none): signs that Python also takes for line ends,
    such as U+2028 or a lone carriage return, occur inside sentences of real corpora and would shift one side against
    the other.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise ValueError(f"{path.name} is not UTF-8 (line {line:,}): save it as UTF-8") from None
    text = text if "\n" in text else text.replace("\r", "\n")
    return [BLANKS.sub(" ", line).strip() for line in text.removesuffix("\n").split("\n")] if text else []


def read_pairs(
    folder: str | Path, split: str = "train", source: str = "en", target: str = "fr"
) -> list[tuple[str, str]]:
    """Pairs of `split.source` and `split.target`, line by line.

    A pair with a blank side is left out; unequal line counts are an error.
    """
    place = Path(folder).expanduser()
    if not place.is_dir():
        raise FileNotFoundError(
            f"{place} is not a folder: COURSE_PAIRS must name one that holds {split}.{source} and {split}.{target}"
        )
    both = [place / f"{split}.{language}" for language in (source, target)]
    for path in both:
        if not path.is_file():
            there = ", ".join(sorted(p.name for p in place.iterdir())[:8]) or "nothing"
            raise FileNotFoundError(f"{path.name} is not in {place}; there is {there}")
    left, right = (read_lines(path) for path in both)
    if len(left) != len(right):
        raise ValueError(
            f"{both[0].name} has {len(left):,} lines, {both[1].name} has {len(right):,}: the files are not line-aligned"
        )
    found = [(a, b) for a, b in zip(left, right, strict=True) if a and b]
    if not found:
        raise ValueError(f"{both[0].name} and {both[1].name} hold no pair of sentences")
    return found


def has_split(folder: str | Path, names: Iterable[str], source: str = "en", target: str = "fr") -> str:
    """The first of these names for which the folder has both files, or nothing."""
    place = Path(folder).expanduser()
    return next((n for n in names if (place / f"{n}.{source}").is_file() and (place / f"{n}.{target}").is_file()), "")


def only_pair(folder: str | Path, source: str = "en", target: str = "fr") -> str:
    """The name of the only pair of files beside dev and test, whatever it is called; otherwise `train`, which then is
    missed by name.
    """
    place = Path(folder).expanduser()
    stems = {
        path.name.removesuffix(f".{source}")
        for path in place.glob(f"*.{source}")
        if path.with_suffix(f".{target}").is_file()
    }
    stems -= {*NAMES["dev"], *NAMES["test"]}
    return stems.pop() if len(stems) == 1 else "train"


def real_corpus(folder: str | Path, source: str = "en", target: str = "fr", held_out: int = 1000) -> Corpus:
    """A corpus from a folder of line-aligned files.

    A missing dev or test set is cut from the end of the training pairs.

    The training files are `train.en` and `train.fr`; where the folder holds one pair of files under another name, such
    as `TED.en-fr.en` and `TED.en-fr.fr`, these are taken.
    """
    name = has_split(folder, NAMES["train"], source, target) or only_pair(folder, source, target)
    parts = {"train": read_pairs(folder, name, source, target)}
    for split in ("test", "dev"):
        name = has_split(folder, NAMES[split], source, target)
        if name:
            parts[split] = read_pairs(folder, name, source, target)
        else:
            cut = min(held_out, -(-len(parts["train"]) // 10))
            parts[split] = parts["train"][len(parts["train"]) - cut :]
            parts["train"] = parts["train"][: len(parts["train"]) - cut]
    if not parts["train"]:
        raise ValueError(f"{folder} holds too few pairs to cut a dev and a test set from them")
    return Corpus(parts["train"], parts["dev"], parts["test"])


def real_folder() -> str:
    """The folder that COURSE_PAIRS names, or nothing. Quotation marks around it, which `%env` keeps, do not count."""
    return os.environ.get("COURSE_PAIRS", "").strip().strip("\"'")


# ---- tokens ---------------------------------------------------------------------------------------------------------

WORD = re.compile(r"'s\b|\w+'|\w+|[^\w\s]")


def words_of(text: str) -> list[str]:
    """Words and signs, the first one without its capital: `L'ami rit.` gives l' ami rit . (`I` stays.)"""
    found = WORD.findall(text)
    if found and found[0] != "I":
        found[0] = found[0][0].lower() + found[0][1:]
    return found


def text_of(words: Sequence[str]) -> str:
    """The sentence of some words: no blank after an elision, around a hyphen, or before a sign that ends something."""
    text = " ".join(words)
    text = re.sub(r"(?<=\w') (?=\w)| (?='s\b)| (?=[.,])|(?<=[€$]) (?=\d)", "", text)
    text = re.sub(r"(?<=\w) - (?=\w)", "-", text)
    text = re.sub(r"(?<=\d)([.,]) (?=\d{2,3}\b(?!\d| ?\w))", r"\1", text)
    return text[:1].upper() + text[1:]


class Vocabulary:
    """Whole words and signs, most frequent first, behind four special tokens. For the grammar, whose words are few."""

    def __init__(self, texts: Iterable[str], least: int = 1) -> None:
        counts = Counter(word for text in texts for word in words_of(text))
        ranked = sorted((word for word in counts if counts[word] >= least), key=lambda word: (-counts[word], word))
        self.tokens = SPECIAL + ranked
        self.places = {token: i for i, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        return [self.places.get(word, UNKNOWN) for word in words_of(text)]

    def decode(self, numbers: Iterable[int]) -> str:
        return text_of([self.tokens[n] for n in numbers if n not in (PAD, BEGIN, END)])

    def pieces(self, numbers: Iterable[int]) -> list[str]:
        return [self.tokens[n] for n in numbers]


class Subwords:
    """Byte-pair encoding (Sennrich, Haddow and Birch, 2016) by the package `tokenizers`: for real text, whose words are
    many.
    """

    def __init__(self, texts: Iterable[str], size: int = 8000) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

        self.model: Any = Tokenizer(models.BPE(unk_token=SPECIAL[UNKNOWN]))
        self.model.pre_tokenizer = pre_tokenizers.Metaspace()
        self.model.decoder = decoders.Metaspace()
        self.model.train_from_iterator(
            texts, trainers.BpeTrainer(vocab_size=size, special_tokens=SPECIAL, show_progress=False)
        )

    def __len__(self) -> int:
        return int(self.model.get_vocab_size())

    def encode(self, text: str) -> list[int]:
        return list(self.model.encode(text).ids)

    def decode(self, numbers: Iterable[int]) -> str:
        return str(self.model.decode([n for n in numbers if n not in (PAD, BEGIN, END)]))

    def pieces(self, numbers: Iterable[int]) -> list[str]:
        return [self.model.id_to_token(n) for n in numbers]
