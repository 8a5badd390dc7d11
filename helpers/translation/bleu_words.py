"""The words that BLEU counts."""

from __future__ import annotations

import re

ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
RULES = [
    (
        re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"),
        r" \1 ",
    ),  # signs stand alone, but not the apostrophe, comma, hyphen and full stop
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),  # a comma or full stop does too, unless it is inside a number
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),  # and a hyphen after a digit
]


def tokenize_13a(text: str) -> list[str]:
    """The words that BLEU counts, cut as the WMT evaluations do it ("13a"), so that scores can be compared with
    published ones.
    """
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for name, sign in ENTITIES.items():
        text = text.replace(name, sign)
    text = f" {text} "
    for pattern, spaced in RULES:
        text = pattern.sub(spaced, text)
    return text.split()
