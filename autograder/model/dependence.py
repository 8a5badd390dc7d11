"""Which cells of a notebook can decide what a test says: all of them, but for definitions that nothing reaches.

A result may be used again only where a full run would give the same. A cell that *does* something can draw random
numbers, change an object in place, write a file or replace a function of torch: whatever it does counts for every test.
A cell that only defines functions, classes and constants does nothing by itself. It counts for a test if the test
mentions a name that it binds, or if a cell that counts does. Mentioned is every word of a text, also in strings and
comments. Where code looks names up while it runs (`globals`, `eval`, …), every cell counts.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from autograder.model import names

WORD = re.compile(r"[^\W\d]\w*")
DUNDER = re.compile(r"__\w+__")
# Special methods that run only when somebody uses the object. Others can make a definition do something:
# `__init_subclass__`, `__set_name__`, `__getattr__`, `__del__`.
QUIET_DUNDERS = {"__init__", "__call__", "__len__", "__getitem__", "__setitem__", "__iter__", "__next__", "__repr__"}
QUIET_DUNDERS |= {"__contains__", "__eq__", "__add__", "__mul__", "__matmul__", "__enter__", "__exit__", "__name__"}
# Code that finds objects without naming them, or is told when one is made or goes: as any word, …
LOOKS_UP = {"sys", "gc", "inspect", "ctypes", "builtins", "importlib", "runpy", "get_ipython", "user_ns"}
LOOKS_UP |= {"pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "metaclass", "weakref"}
# … as a name only, since a model may have a method `eval` and a comment may begin with "In", …
LOOKS_UP_NAMES = {"globals", "locals", "vars", "dir", "exec", "eval", "compile"}
LOOKS_UP_NAMES |= {"In", "Out", "_ih", "_oh", "_i", "_ii", "_iii"}
UNPICKLES = {"torch", "np", "numpy", "pd"}  # … and as `torch.load`


@dataclass(frozen=True)
class Text:
    """What the text of a cell says about it."""

    words: frozenset[str]
    bound: frozenset[str] | None  # names that it defines where that is all it does, else None
    looks_up: bool


@lru_cache(maxsize=4096)
def read(source: str) -> Text:
    words = frozenset(WORD.findall(unicodedata.normalize("NFKC", source)))  # as Python reads identifiers
    if not names.is_python(source):  # a magic can do anything
        return Text(words, None, True)
    tree = ast.parse(source)
    if looks_up(tree, words):
        return Text(words, None, True)
    return Text(words, names.of(source).bound if only_defines(tree) else None, False)


def looks_up(tree: ast.Module, words: Collection[str]) -> bool:
    """Might this code use a name that its text does not mention?"""
    strange = {word for word in words if DUNDER.fullmatch(word)} - QUIET_DUNDERS
    if strange or not LOOKS_UP.isdisjoint(words) or not LOOKS_UP_NAMES.isdisjoint(names.mentioned(tree)):
        return True
    loads = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "load"]
    return any(isinstance(node.value, ast.Name) and node.value.id in UNPICKLES for node in loads)


def decisive(cells: Sequence[str], test: str, trusted: Collection[int] = ()) -> list[int]:
    """Places of the cells that can decide what a test says, wherever they stand: tests run after the last cell.

    `trusted` are places of cells that look nothing up, whatever their words.
    """
    texts = [read(source) for source in cells]
    if any(text.looks_up for place, text in enumerate(texts) if place not in trusted):
        return list(range(len(cells)))
    counts = {place for place, text in enumerate(texts) if text.bound is None}
    reached = set(read(test).words).union(*(texts[place].words for place in counts))
    while fresh := {
        place for place, text in enumerate(texts) if place not in counts and text.bound and text.bound & reached
    }:
        counts |= fresh
        reached.update(*(texts[place].words for place in fresh))
    return sorted(counts)


# ---- definitions -----------------------------------------------------------------------------------------------------


def only_defines(tree: ast.Module) -> bool:
    """Does running this bind names, and nothing else? (A last line that is a value would also set `_`.)"""
    return bool(tree.body) and not isinstance(tree.body[-1], ast.Expr) and all(map(defines, tree.body))


def defines(node: ast.stmt) -> bool:
    if isinstance(node, ast.Pass):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.FunctionDef):
        return not node.decorator_list and is_quiet_signature(node.args) and is_quiet(node.returns)
    if isinstance(node, ast.ClassDef):
        return (
            not node.decorator_list
            and not node.keywords
            and all(map(is_quiet, node.bases))
            and all(map(defines, node.body))
        )
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name) for target in node.targets) and is_quiet(node.value)
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and is_quiet(node.annotation) and is_quiet(node.value)
    return False


def is_quiet_signature(arguments: ast.arguments) -> bool:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    values = [*arguments.defaults, *arguments.kw_defaults, *(one.annotation for one in every if one is not None)]
    return all(map(is_quiet, values))


def is_quiet(node: ast.expr | None) -> bool:
    """Does this value come about without a call? (`Tensor | None` and `list[int]` are operations of types.)"""
    if node is None or isinstance(node, ast.Constant | ast.Name):
        return True
    if isinstance(node, ast.Attribute):
        return is_quiet(node.value)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, ast.Constant)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitOr) and is_type(node.left) and is_type(node.right)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Name) and is_quiet(node.slice)
    if isinstance(node, ast.Tuple | ast.List):
        return all(map(is_quiet, node.elts))
    return isinstance(node, ast.Lambda) and is_quiet_signature(node.args)


def is_type(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.BinOp | ast.Constant) and is_quiet(node)
