"""Reads a kernel's syntax tree and refuses what Triton would not compile, with a sentence and the line."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Collection

from helpers.kit.tiles.faults import Place, Refused

# By its name: in grading the examiner sends fresh modules, and `from … import language` could give an older one.
language = importlib.import_module("helpers.kit.tiles.language")

BUILTINS = {"range", "min", "max", "abs", "float", "int"}
RANGES = {"range", "static_range"}
STATEMENTS: dict[type[ast.AST], str] = {
    ast.Break: "`break` is not known in a kernel: give `range` the bounds that you need",
    ast.Continue: "`continue` is not known in a kernel: use a mask, or an `if`",
    ast.Try: "a kernel knows no `try`",
    ast.With: "a kernel knows no `with`",
    ast.Raise: "a kernel cannot raise",
    ast.Import: "a kernel cannot import",
    ast.ImportFrom: "a kernel cannot import",
    ast.Global: "a kernel has no globals: hand over what it needs",
    ast.Nonlocal: "a kernel has no globals: hand over what it needs",
    ast.Delete: "a kernel cannot delete",
    ast.AsyncFunctionDef: "a kernel cannot contain a function",
    ast.ClassDef: "a kernel knows no classes",
    ast.Lambda: "a kernel knows no `lambda`",
    ast.List: "lists are Python's: a kernel has numbers and blocks only",
    ast.Dict: "dictionaries are Python's: a kernel has numbers and blocks only",
    ast.Set: "sets are Python's: a kernel has numbers and blocks only",
    ast.ListComp: "a kernel knows no lists: write a `for` loop over `range`",
    ast.SetComp: "a kernel knows no sets: write a `for` loop over `range`",
    ast.DictComp: "a kernel knows no dictionaries: write a `for` loop over `range`",
    ast.GeneratorExp: "a kernel knows no generators: write a `for` loop over `range`",
    ast.JoinedStr: "text is Python's: a kernel has numbers and blocks only",
    ast.Yield: "a kernel cannot yield",
    ast.YieldFrom: "a kernel cannot yield",
    ast.Await: "a kernel cannot wait",
    ast.Starred: "a kernel knows no `*` before an argument",
    ast.NamedExpr: "a kernel knows no `:=`",
    ast.Match: "a kernel knows no `match`",
}
OPERATORS: dict[type[ast.AST], str] = {
    ast.MatMult: "`@` is not known in a kernel: use `tl.dot`",
    ast.Pow: "`**` is not known in a kernel: use a product, or `tl.exp`",
}


def check(function: ast.FunctionDef, known: Collection[str], place: Callable[[int], Place]) -> None:
    """Raise `Refused` for the first thing that a kernel may not contain. `known` are names from outside."""
    reader = Reader(function, known)
    for node in ast.walk(function):
        if (reason := reader.reason_against(node)) is not None:
            raise Refused(reason, place(getattr(node, "lineno", function.lineno)))


class Reader:
    """What one kernel knows, and what stands where."""

    def __init__(self, function: ast.FunctionDef, known: Collection[str]) -> None:
        self.function = function
        arguments = function.args
        self.parameters = {a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs}
        stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.local = self.parameters | stored
        self.known = {*known, "tl", *BUILTINS}
        self.outside = {id(part) for d in function.decorator_list for part in ast.walk(d)}
        for argument in arguments.posonlyargs + arguments.args + arguments.kwonlyargs:
            self.outside |= {id(part) for part in ast.walk(argument)}
        if function.returns is not None:
            self.outside |= {id(part) for part in ast.walk(function.returns)}
        self.docstring = id(function.body[0].value) if is_text(function.body[0]) else 0  # type: ignore[attr-defined]
        self.keywords = {id(k.value) for n in ast.walk(function) if isinstance(n, ast.Call) for k in n.keywords}
        self.called_with = {id(a) for n in ast.walk(function) if isinstance(n, ast.Call) for a in n.args}
        self.in_loops = {
            id(inner)
            for loop in ast.walk(function)
            if isinstance(loop, ast.For | ast.While)
            for inner in ast.walk(loop)
        }

    def reason_against(self, node: ast.AST) -> str | None:
        if id(node) in self.outside or node is self.function:
            return None
        if type(node) in STATEMENTS:
            return STATEMENTS[type(node)]
        reader = getattr(self, f"read_{type(node).__name__}", None)
        reason: str | None = None if reader is None else reader(node)
        return reason

    def read_FunctionDef(self, node: ast.FunctionDef) -> str:
        return "a kernel cannot contain a function: write it outside, with `@triton.jit`"

    def read_arguments(self, node: ast.arguments) -> str | None:
        return "a kernel takes named parameters only, no `*args`" if node.vararg or node.kwarg else None

    def read_Return(self, node: ast.Return) -> str | None:
        return "a `return` inside of a loop is not known in a kernel" if id(node) in self.in_loops else None

    def read_Name(self, node: ast.Name) -> str | None:
        if node.id in self.local or node.id in self.known:
            return None
        if node.id == "triton":
            return "inside of a kernel write `tl.`: `triton` is for the launch"
        return (
            f"`{node.id}` is not known in a kernel: hand it over as an argument (constants as `tl.constexpr`),"
            " or use a word of `tl`"
        )

    def read_Attribute(self, node: ast.Attribute) -> str | None:
        if isinstance(node.value, ast.Name) and node.value.id == "tl" and "tl" not in self.local:
            if node.attr.startswith("_") or not is_word(node.attr):
                return f"`tl.{node.attr}` is not known here"
        elif node.attr not in ("to", "T", "dtype", "shape", "element_ty"):
            return f"`.{node.attr}` is not known in a kernel"
        return None

    def read_For(self, node: ast.For) -> str | None:
        called = node.iter.func if isinstance(node.iter, ast.Call) else None
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if name not in RANGES:
            return "a `for` in a kernel goes over `range(…)`"
        return "a kernel knows no `else` after a loop" if node.orelse else None

    def read_Compare(self, node: ast.Compare) -> str | None:
        if len(node.ops) > 1:
            return "`a < b < c` is not known in a kernel: write `(a < b) & (b < c)`"
        if any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            return "`in` is not known in a kernel"
        return None

    def read_Constant(self, node: ast.Constant) -> str | None:
        if isinstance(node.value, str):
            allowed = id(node) == self.docstring or id(node) in self.keywords or id(node) in self.called_with
            return None if allowed else "text is Python's: a kernel has numbers and blocks only"
        if isinstance(node.value, bytes | complex) or node.value is Ellipsis:
            return "a kernel has numbers and blocks only"
        return None

    def read_Assign(self, node: ast.Assign) -> str | None:
        if any(isinstance(part, ast.Subscript | ast.Attribute) for t in node.targets for part in ast.walk(t)):
            return "a block cannot be changed in place: make a new one with `tl.where`"
        return None

    def read_AugAssign(self, node: ast.AugAssign) -> str | None:
        if not isinstance(node.target, ast.Name):
            return "a block cannot be changed in place: make a new one with `tl.where`"
        return OPERATORS.get(type(node.op))

    def read_BinOp(self, node: ast.BinOp) -> str | None:
        return OPERATORS.get(type(node.op))

    def read_Call(self, node: ast.Call) -> str | None:
        if any(k.arg is None for k in node.keywords):
            return "a kernel knows no `**` before an argument"
        return None


def is_word(name: str) -> bool:
    """Is this a word of `tl`, not a name that its module only uses?"""
    value = getattr(language, name, None)
    ours = getattr(value, "__module__", "").startswith("helpers.kit.tiles.language")
    return name in language.__all__ or (callable(value) and ours and name not in HIDDEN)


HIDDEN = {"Running", "line", "constant", "side", "shape_of", "grid_axis", "prepared", "sent", "function_of_floats"}
HIDDEN |= {"reduced", "block_range"}


def is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(getattr(statement.value, "value", None), str)
