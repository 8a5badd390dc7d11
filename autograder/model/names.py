"""The one analyser of names: what a cell binds, imports, reads and needs from elsewhere."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from IPython.core.inputtransformer2 import TransformerManager

UNPARSABLE = (
    SyntaxError,
    ValueError,
    RecursionError,
    MemoryError,
)  # what `ast.parse` raises for a text that is no Python
MAGIC_LINE = re.compile(r"^[ \t]*+[%!?]|[?][ \t]*+$|=[ \t]*+[%!]", re.MULTILINE)  # what IPython may take for one
MOST_READ = 100_000  # characters, for all magics of a cell together
DEFINITION = re.compile(r"^(?:def|class)\s+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Names:
    """Of a piece of Python: names bound and imported at its top level, and names it reads from its module or the
    built-ins.
    """

    bound: frozenset[str]
    imported: frozenset[str]
    read: frozenset[str]

    @property
    def free(self) -> frozenset[str]:
        """Needed from elsewhere, built-ins included."""
        return self.read - self.bound


@dataclass(frozen=True)
class Definitions:
    """What a cell is there to define: functions and classes at top level, and other names that it assigns."""

    functions: frozenset[str]
    values: frozenset[str]


NOTHING = Names(frozenset(), frozenset(), frozenset())


@lru_cache(maxsize=4096)
def python(source: str) -> str:
    """A cell's text as plain Python: magics and shell lines translated, as IPython does.

    IPython reads the whole cell again for every magic. A text that would take it minutes is given back as it is, which
    is no Python.
    """
    if is_python(source) or len(source) * (1 + len(MAGIC_LINE.findall(source))) > MOST_READ:
        return source
    try:
        return TransformerManager().transform_cell(source)
    except RuntimeError:  # IPython gives up after 500 magics
        return source


def is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except UNPARSABLE:
        return False
    return True


@lru_cache(maxsize=4096)
def of(text: str) -> Names:
    """The names of plain Python; raises SyntaxError."""
    table = symtable.symtable(text, "cell", "exec")
    symbols = table.get_symbols()
    return Names(
        frozenset(s.get_name() for s in symbols if s.is_assigned() or s.is_imported() or s.is_namespace()),
        frozenset(s.get_name() for s in symbols if s.is_imported()),
        frozenset(read_from_module(table)),
    )


def read_from_module(table: symtable.SymbolTable) -> set[str]:
    top = table.get_type() == "module"
    names = {s.get_name() for s in table.get_symbols() if s.is_referenced() and (top or s.is_global())}
    return names.union(*(read_from_module(child) for child in table.get_children()))


def of_cell(source: str) -> Names | None:
    """The names of a cell, which may have magics; None where it is no Python."""
    try:
        return of(python(source))
    except UNPARSABLE:
        return None


def parsed(source: str) -> ast.Module | None:
    """The syntax tree of a cell, which may have magics; None where it is no Python."""
    try:
        return ast.parse(python(source))
    except UNPARSABLE:
        return None


def mentioned(tree: ast.AST) -> set[str]:
    """Every name in a syntax tree, read or bound, at any depth."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def first_line(tree: ast.AST, name: str) -> int:
    """The line where a name is first mentioned; 1 where it is not."""
    return min((node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name), default=1)


def definitions(source: str) -> Definitions:
    """Of plain Python. A text that does not parse still shows what it defines at the beginning of its lines."""
    try:
        tree = ast.parse(source)
    except UNPARSABLE:
        return Definitions(frozenset(DEFINITION.findall(source)), frozenset())
    functions = frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    return Definitions(functions, frozenset(target.id for target in targets if isinstance(target, ast.Name)))


def definitions_only(source: str) -> str:
    """Functions, classes and imports of a piece of Python, without what it does. Empty where it is no Python."""
    try:
        tree = ast.parse(source)
    except UNPARSABLE:
        return ""
    kept = [
        node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)
    ]
    return "\n\n".join(ast.get_source_segment(source, node) or "" for node in kept)


@lru_cache(maxsize=4096)
def bound_in_cell(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """(bound, imported) of a cell; of one that does not parse, what it seems to define."""
    names = of_cell(source)
    return (names.bound, names.imported) if names is not None else (frozenset(DEFINITION.findall(source)), frozenset())


# ---- imports ---------------------------------------------------------------------------------------------------------


def import_statements(source: str) -> list[str]:
    """The import statements at a cell's top level."""
    tree = parsed(source)
    return (
        [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        if tree is not None
        else []
    )


def imported_modules(source: str) -> list[str]:
    """What a cell imports at any depth, as `module` or `module:name`."""
    found: dict[str, None] = {}
    tree = parsed(source)
    for node in ast.walk(tree) if tree is not None else []:
        if isinstance(node, ast.Import):
            found.update({alias.name: None for alias in node.names})
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found[node.module] = None
            found.update({f"{node.module}:{alias.name}": None for alias in node.names})
    return list(found)


def star_imports(tree: ast.Module) -> list[str]:
    """The modules of every `from module import *` at top level: which names these bring, the text does not say."""
    nodes = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return [str(node.module) for node in nodes if node.module and any(alias.name == "*" for alias in node.names)]


# ---- the statements that bind a name ---------------------------------------------------------------------------------


def binding_statements(cells: Iterable[str]) -> dict[str, list[ast.stmt]]:
    """The statements that bind each name of a notebook.

    A later one replaces an earlier one, unless it might not be executed.
    """
    found: dict[str, list[ast.stmt]] = {}
    for cell in cells:
        for name, node, certain in bindings_of_cell(cell):
            found[name] = [node] if certain else [*found.get(name, []), node]
    return found


@lru_cache(maxsize=4096)
def bindings_of_cell(cell: str) -> tuple[tuple[str, ast.stmt, bool], ...]:
    """(name, the statement that binds it, whether it is executed in any case), in order. For reading only."""
    found = []
    tree = parsed(cell)
    left = [(node, True) for node in tree.body] if tree is not None else []
    while left:
        node, certain = left.pop(0)
        inner, names, again = bound_by(node)
        left[:0] = [(child, False) for child in inner]
        found += [(name, node, certain and not inner and not again) for name in names]
    return tuple(found)


def bound_by(node: ast.stmt) -> tuple[list[ast.stmt], set[str], bool]:
    """(the statements inside, the names that this one binds itself, whether it also reads one of them: `f =
    wrapped(f)`).
    """
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return [], {node.name}, False
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [], {(alias.asname or alias.name).partition(".")[0] for alias in node.names}, False
    parts = [
        part for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt) for part in ast.walk(child)
    ]
    used = [part for part in parts if isinstance(part, ast.Name)]
    stored = {part.id for part in used if isinstance(part.ctx, ast.Store)}
    return (
        list(statements_in(node)),
        stored,
        bool(stored & {part.id for part in used if isinstance(part.ctx, ast.Load)}),
    )


def statements_in(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements that an `if`, `for`, `with`, `try` or `match` holds."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.excepthandler | ast.match_case):
            yield from statements_in(child)
