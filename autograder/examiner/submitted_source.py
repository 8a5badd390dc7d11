"""The submitted text of a name: for checks such as "uses a loop" or "does not call `F.softmax`"."""

from __future__ import annotations

import ast
from collections.abc import Set

from autograder.model import names as analyser
from helpers.checks import student_side

# Where code uses these, its text does not say what it calls. As names only: a model may have a method `eval`.
HIDING_NAMES = {"exec", "eval", "globals", "vars", "__import__", "__builtins__", "builtins", "importlib"}
HIDING_ATTRIBUTES = {"__dict__", "__builtins__", "__globals__", student_side.COMPUTED}


def source_of(name: str, cells: list[str], given: Set[str]) -> str | None:
    """The last definition of a name in these cells, and definitions of the student's own names that it mentions.

    `given` are names of the assignment, which are not followed. None where the text makes code of strings or looks
    names up by strings: then it does not say what is called.
    """
    known = analyser.binding_statements(cells)
    names, seen, texts = [name], {name, *given}, []
    while names:
        for node in known.get(names.pop(0), []):
            text = ast.unparse(node)
            mentioned = analyser.of(text).read
            if mentioned & HIDING_NAMES or student_side.names_in(node) & HIDING_ATTRIBUTES:
                return None
            texts.append(text)
            names += sorted(mentioned - seen)
            seen |= mentioned
    return "\n\n".join(texts) or None


def docstring_of(name: str, cells: list[str]) -> str | None:
    """The docstring of the function or class that a name stands for."""
    nodes = [
        node
        for node in analyser.binding_statements(cells).get(name, [])
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    return ast.get_docstring(nodes[-1]) if nodes else None
