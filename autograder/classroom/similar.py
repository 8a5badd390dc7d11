"""Answers that resemble each other more than chance and the course explain, as pairs for a person to read.

An answer becomes a sequence of tokens without comments, docstrings and layout; names that only students use become one
and the same. Every run of a few tokens is a fingerprint, of which some are kept (winnowing: Schleimer, Wilkerson and
Aiken, 2003). Fingerprints of the given text, the model solution and the named variants are taken out: whoever writes
these has copied from nobody. A fingerprint weighs more the fewer students have it.
"""

from __future__ import annotations

import builtins
import hashlib
import io
import keyword
import math
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

RUN = 6  # tokens in a fingerprint
WINDOW = 4  # of as many fingerprints in a row one is kept
COMMON = 0.1  # a fingerprint that a larger share of the class has is an idiom, and says nothing
FEWEST = 3  # fingerprints that a pair must share
ALIKE = 0.5  # of the shorter answer, in at least one exercise
MOST_PAIRS, EXCERPT = 30, 1200
LAYOUT = {  # and comments
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}
KEPT_NAMES = {*keyword.kwlist, *dir(builtins)}
WORD = re.compile(r"\w+")
ANY_NAME, ANY_TEXT = "name", "text"


@dataclass(frozen=True)
class Known:
    """What everybody may have: the texts of one exercise that the course itself gives or names."""

    is_code: bool
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Match:
    """One exercise in which two answers resemble each other. `of`: fingerprints of the shorter answer."""

    exercise: str
    shared: int
    of: int
    students: int  # that have the rarest of the shared fingerprints
    word_for_word: bool
    texts: tuple[str, str]


@dataclass(frozen=True)
class Pair:
    students: tuple[str, str]
    evidence: float
    matches: tuple[Match, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "students": list(self.students),
            "evidence": round(self.evidence, 2),
            "exercises": [{**vars(match), "texts": list(match.texts)} for match in self.matches],
        }


def similar(answers: Mapping[str, Mapping[str, str]], known: Mapping[str, Known]) -> list[Pair]:
    """Pairs of students, the strongest evidence first. `answers`: by exercise and student."""
    evidence: dict[tuple[str, str], float] = defaultdict(float)
    matches: dict[tuple[str, str], list[Match]] = defaultdict(list)
    for exercise, texts in answers.items():
        for pair, weight, match in similar_in(exercise, texts, known.get(exercise, Known(True))):
            evidence[pair] += weight
            matches[pair].append(match)
    found = [
        Pair(pair, weight, tuple(sorted(matches[pair], key=lambda one: -one.shared)))
        for pair, weight in evidence.items()
        if sum(one.shared for one in matches[pair]) >= FEWEST
        and any(one.shared >= ALIKE * one.of for one in matches[pair])
    ]
    return sorted(found, key=lambda pair: (-pair.evidence, pair.students))[:MOST_PAIRS]


def similar_in(exercise: str, texts: Mapping[str, str], known: Known) -> Iterable[tuple[tuple[str, str], float, Match]]:
    vocabulary = KEPT_NAMES.union(*(names_in(text) for text in known.texts if known.is_code))

    def runs(text: str) -> list[int]:
        return hashes(code_tokens(text, vocabulary) if known.is_code else words(text))

    common = {number for text in known.texts for number in runs(text)}
    prints = {student: winnowed([one for one in runs(text) if one not in common]) for student, text in texts.items()}
    owners: dict[int, list[str]] = defaultdict(list)
    for student in sorted(prints):
        for number in prints[student]:
            owners[number].append(student)
    most = max(2, math.floor(COMMON * len(texts)))
    shared: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, students in owners.items():
        if len(students) <= most:
            for one, other in combinations(students, 2):
                shared[one, other].append(number)
    for (one, other), numbers in shared.items():
        weight = sum(math.log(1 + len(texts) / len(owners[number])) for number in numbers)
        match = Match(
            exercise,
            len(numbers),
            min(len(prints[one]), len(prints[other])),
            min(len(owners[number]) for number in numbers),
            layout_free(texts[one]) == layout_free(texts[other]),
            (texts[one][:EXCERPT], texts[other][:EXCERPT]),
        )
        yield (one, other), weight, match


def layout_free(text: str) -> str:
    return " ".join(text.split())


def words(text: str) -> list[str]:
    return [word.casefold() for word in WORD.findall(text)]


def code_tokens(source: str, vocabulary: Set[str]) -> list[str]:
    """Without comments, docstrings and layout. Names outside the vocabulary are one; so are strings."""
    found: list[str] = []
    starts_statement = True
    for token in python_tokens(source):
        is_docstring = token.type == tokenize.STRING and starts_statement
        starts_statement = token.type in LAYOUT
        if token.type in LAYOUT or is_docstring:
            continue
        if token.type == tokenize.STRING:
            found.append(ANY_TEXT)
        elif token.type == tokenize.NAME and token.string not in vocabulary and found[-1:] != ["."]:
            found.append(ANY_NAME)
        else:
            found.append(token.string)
    return found


def names_in(source: str) -> set[str]:
    return {token.string for token in python_tokens(source) if token.type == tokenize.NAME}


def python_tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    """Up to where the text is no Python."""
    with suppress(tokenize.TokenError, SyntaxError):
        yield from tokenize.generate_tokens(io.StringIO(source).readline)


def hashes(tokens: Sequence[str]) -> list[int]:
    """The same in every process, which Python's own hash is not."""
    runs = ("\0".join(tokens[place : place + RUN]) for place in range(len(tokens) - RUN + 1))
    return [int.from_bytes(hashlib.blake2b(run.encode(), digest_size=8).digest()) for run in runs]


def winnowed(numbers: Sequence[int]) -> set[int]:
    """Of every window the smallest: who shares a longer run with another shares a fingerprint with them."""
    if not numbers:
        return set()
    return {min(numbers[place : place + WINDOW]) for place in range(max(1, len(numbers) - WINDOW + 1))}
