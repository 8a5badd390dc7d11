"""Cells that only show something (`look=true` in the script): when grading may leave them out.

Such a cell draws a figure or trains a model to be looked at; no test and no answer needs what it makes. Grading runs it
all the same where any other cell of the submission could notice the difference: where one that runs reads a name that
it binds, or where one that the student wrote may reach names in ways that cannot be read from its text.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from functools import lru_cache

from autograder.model import names

parsed = lru_cache(maxsize=4096)(names.parsed)


def listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


# What lets code reach the names of a notebook without naming them: functions; and these with modules and attributes.
FUNCTIONS_THAT_REACH = listed("dir eval exec get_ipython getattr globals In locals Out vars")
REACH = FUNCTIONS_THAT_REACH | listed(
    "__builtins__ __dict__ __getattribute__ __globals__ __import__ __main__ __subclasses__ _getframe builtins ctypes"
    " currentframe f_globals f_locals gc importlib inspect pickle runpy sys user_ns"
)
# What a cell that may be left out must not do: others could notice it without reading a name.
LEAVES_TRACES = listed(
    "chdir environ makedirs mkdir open rcParams register_forward_hook register_forward_pre_hook"
    " register_full_backward_hook register_hook save savefig savetxt savez set_default_device set_default_dtype to_csv"
    " write_bytes write_text"
)


def words(tree: ast.AST) -> set[str]:
    """Every name, attribute and imported module in a syntax tree, at any depth; of functions that reach any name, only
    where they do: `model.eval()` and `getattr(x, "width")` do not, and `os.environ.get` changes nothing.
    """
    found: set[str] = set()
    nodes = list(ast.walk(tree))
    harmless = {id(node.func) for node in nodes if isinstance(node, ast.Call) and gets_named_attribute(node)}
    harmless |= {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and node.attr == "get"}
    for node in nodes:
        if isinstance(node, ast.Name) and id(node) not in harmless:
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and node.attr not in FUNCTIONS_THAT_REACH and id(node) not in harmless:
            found.add(node.attr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {part for alias in node.names for part in alias.name.split(".")}
            found |= set((getattr(node, "module", None) or "").split("."))
        elif isinstance(node, ast.Global):
            found.add("globals")
    return found


def gets_named_attribute(call: ast.Call) -> bool:
    """Is this `getattr(x, "name")`?"""
    name = call.args[1].value if len(call.args) > 1 and isinstance(call.args[1], ast.Constant) else None
    function = call.func.id if isinstance(call.func, ast.Name) else ""
    return function == "getattr" and isinstance(name, str) and not name.startswith("_")


@lru_cache(maxsize=4096)
def reaches_anything(source: str) -> bool:
    """Might this cell use names that its text does not show? Also where it cannot be read."""
    tree = parsed(source)
    return tree is None or bool(words(tree) & REACH) or bool(names.star_imports(tree))


def traces(source: str) -> set[str]:
    """What a cell does that others could notice without a name of it."""
    tree = names.parsed(source)
    return words(tree) & (REACH | LEAVES_TRACES) if tree is not None else {"?"}


@lru_cache(maxsize=4096)
def used(source: str) -> frozenset[str]:
    """Names of the notebook whose value, as other cells left it, a cell may read: at once, or when a function of it is
    called.
    """
    tree, found = parsed(source), names.of_cell(source)
    if tree is None or found is None:
        return frozenset()
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
    later = set().union(*(loaded(part) for node in functions for part in ast.iter_child_nodes(node)))
    return (found.read & later) | ((found.read | found.bound) & read_first(tree.body, set()))


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def loaded(node: ast.AST) -> set[str]:
    """Names that a piece of code reads or changes."""
    parts = list(ast.walk(node))
    found = {part.id for part in parts if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Store)}
    changed = [part.target for part in parts if isinstance(part, ast.AugAssign)]
    return found | {target.id for target in changed if isinstance(target, ast.Name)}


def read_first(body: list[ast.stmt], certain: set[str]) -> set[str]:
    """Names that statements read before they bind them. `certain` are those bound already; what is bound on the way
    whatever happens is added to it.
    """
    found: set[str] = set()
    for node in body:
        inside = list(names.statements_in(node))
        _, bound, _ = names.bound_by(node)
        if isinstance(node, ast.FunctionDef | ast.ClassDef) or not inside:
            found |= loaded(node) - certain
            certain |= bound
            continue
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr | ast.withitem)]
        found |= set().union(*map(loaded, parts)) - certain
        if isinstance(node, ast.With):
            certain |= bound
            found |= read_first(node.body, certain)
        elif isinstance(node, ast.For):
            found |= read_first(node.body, certain | bound) | read_first(node.orelse, set(certain))
        else:
            found |= set().union(*(read_first([part], set(certain)) for part in inside))
    return found


def left_out(cells: Sequence[str], looks: Collection[int], students: Collection[int]) -> set[int]:
    """Which of the cells need not run. `looks` are those of them that only show something and are as they were given,
    `students` those that somebody else than the instructor wrote. A cell for looking at that others need does run,
    and then so does what it needs itself.
    """
    if any(reaches_anything(cells[index]) for index in students):
        return set()
    left = set(looks)
    needed = frozenset().union(*(used(source) for index, source in enumerate(cells) if index not in left))
    while found := {index for index in left if names.bound_in_cell(cells[index])[0] & needed}:
        left -= found
        needed = needed.union(*(used(cells[index]) for index in found))
    return left
