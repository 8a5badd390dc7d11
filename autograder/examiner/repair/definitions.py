"""What the text of a cell defines. What is very long is not looked at."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from autograder.examiner.repair.reading import MOST_CELLS
from autograder.model import names

LONGEST_ANSWER = 200_000  # characters; what is longer is run, but not looked at to recognise a cell


def defined(source: str) -> frozenset[str]:
    """What a cell is there to define: functions and classes at top level, or else the names it binds."""
    definitions = top_level(source)
    return definitions.functions or definitions.values


def binds(source: str) -> frozenset[str]:
    definitions = top_level(source)
    return definitions.functions | definitions.values


@lru_cache(maxsize=2 * MOST_CELLS)
def top_level(source: str) -> names.Definitions:
    """Functions and classes of a cell, and other names that it binds."""
    return names.definitions(source) if len(source) <= LONGEST_ANSWER else names.Definitions(frozenset(), frozenset())


def is_prose(source: str) -> bool:
    """Words that were written into a code cell by mistake: no Python, or nothing but comments."""
    if len(source) > LONGEST_ANSWER or "%" in source or "!" in source:  # IPython's own commands
        return False
    try:
        return not ast.parse(source).body
    except names.UNPARSABLE:
        return not re.search(r"[=(\[{]|^\s*(import|from|def|class|return)\b", source, re.MULTILINE)
