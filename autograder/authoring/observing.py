"""What a solution sees while its test runs: sizes, arguments, results.

The solution is written anew with a note-taker in it and run once with its test. A size that was the same in every call
is a hole: an answer with that number in its text cannot be told from the right one.
"""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

ASK = "sightings_so_far"  # what the test calls at its end to learn of the notes
MARK = "observed by the machine: "
MOST_VALUES = 2  # of each size: the most frequent ones
NOTES = f"""
import json as sightings_json

sightings = {{}}


def sighted(place, value):
    seen = sightings.setdefault(place, {{}})
    what = sightings_json.dumps(sighted_kind(value))
    if what in seen or len(seen) < 40:
        seen[what] = seen.get(what, 0) + 1
    return value


def sighted_kind(value):
    if value is None or type(value) in (bool, int, float) or (type(value) is str and len(value) < 40):
        return ["value", repr(value)]
    if hasattr(value, "dtype") and hasattr(value, "shape") and hasattr(value, "dim"):
        return ["tensor", str(value.dtype).removeprefix("torch."), value.dim()]
    if type(value) in (tuple, list):
        return [type(value).__name__, [sighted_kind(part) for part in value[:8]]]
    return ["iterator" if hasattr(value, "__next__") else "object", type(value).__name__]


def {ASK}():
    return {MARK!r} + sightings_json.dumps(sightings)
"""

Kind = list[Any]  # ["value", text] · ["tensor", dtype, dimensions] · ["tuple", kinds] · ["object", name of the class]


@dataclass(frozen=True)
class Function:
    """A function or method of an answer."""

    name: str
    node: ast.FunctionDef
    is_method: bool = False

    @property
    def arguments(self) -> list[ast.arg]:
        """Those a caller gives by name or place; not `self`."""
        given = self.node.args
        return [*given.posonlyargs, *given.args, *given.kwonlyargs][1 if self.is_method else 0 :]

    @property
    def defaults(self) -> dict[str, ast.expr]:
        given = self.node.args
        placed = [*given.posonlyargs, *given.args]
        found = dict(zip([one.arg for one in placed[len(placed) - len(given.defaults) :]], given.defaults, strict=True))
        pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        return found | {one.arg: value for one, value in pairs if value is not None}

    @property
    def gives_values(self) -> bool:
        """Has a `return` with something behind it, and is no generator."""
        own = list(own_nodes(self.node))
        yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own)
        return not yields and any(isinstance(node, ast.Return) and node.value is not None for node in own)


@dataclass(frozen=True)
class Observed:
    """Kinds of values by place, with how often each was seen."""

    places: dict[str, dict[str, int]] = field(default_factory=dict)

    def kinds(self, place: str) -> list[Kind]:
        """Most frequent first."""
        seen = self.places.get(place, {})
        return [json.loads(text) for text in sorted(seen, key=lambda text: -seen[text])]

    def values(self, place: str) -> list[str]:
        """The plain values seen there, as text, most frequent first."""
        texts = [str(kind[1]) for kind in self.kinds(place) if kind[0] == "value"]
        return [text for text in texts if text not in ("inf", "-inf", "nan")][:MOST_VALUES]

    def tensor(self, place: str) -> Kind | None:
        """What it is where it was a tensor whenever it was not None."""
        kinds = [kind for kind in self.kinds(place) if kind != ["value", "None"]]
        return kinds[0] if kinds and all(kind[0] == "tensor" for kind in kinds) else None


def place_of(node: ast.expr | ast.arg) -> str:
    return f"{node.lineno}:{node.col_offset}:{node.end_lineno}:{node.end_col_offset}"


def argument_place(function: Function, name: str) -> str:
    return f"{function.name}({name})"


def result_place(function: Function) -> str:
    return f"{function.name} →"


def inside(node: ast.AST, lines: frozenset[int]) -> bool:
    return getattr(node, "lineno", -1) in lines and getattr(node, "end_lineno", -1) in lines


def functions_in(tree: ast.Module) -> Iterator[Function]:
    """Functions at top level, and methods of classes there."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield Function(node.name, node)
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in part.decorator_list)
                    yield Function(f"{node.name}.{part.name}", part, not static)


def own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What is in a function, without the functions inside."""
    left: list[ast.AST] = list(function.body)
    while left:
        node = left.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            left += ast.iter_child_nodes(node)


def is_size(node: ast.AST, arguments: set[str]) -> bool:
    """`x.shape[-1]`, `len(x)`, `x.size(0)`, `x.numel()`, and attributes of what the function was given."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            return node.func.id == "len"
        return isinstance(node.func, ast.Attribute) and node.func.attr in ("size", "numel", "dim")
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and node.value.id in arguments
    )


def unpacked_shape(node: ast.AST) -> list[ast.Name]:
    """The names in `B, T, D = x.shape`."""
    if not (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple)):
        return []
    value = node.value
    if isinstance(value, ast.Call):
        value = value.func
    if not (isinstance(value, ast.Attribute) and value.attr in ("shape", "size")):
        return []
    return [name for name in node.targets[0].elts if isinstance(name, ast.Name)]


def argument_names(tree: ast.Module) -> set[str]:
    return {one.arg for function in functions_in(tree) for one in function.node.args.args}


# ---- the note-taker ------------------------------------------------------------------------------------------------


class Instrumented(ast.NodeTransformer):
    """Every size, argument and result is noted on its way."""

    def __init__(self, tree: ast.Module) -> None:
        self.arguments = argument_names(tree)
        self.functions = {id(one.node): one for one in functions_in(tree)}
        self.current: list[Function | None] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        function = self.functions.get(id(node))
        self.current.append(function)
        node.body = [part for statement in node.body for part in self.visited(statement)]
        self.current.pop()
        if function is not None:
            notes = [
                ast.Expr(noted(argument_place(function, one.arg), ast.Name(one.arg, ast.Load())))
                for one in function.arguments
            ]
            start = 1 if ast.get_docstring(node) is not None else 0
            node.body[start:start] = notes
        return node

    def visited(self, statement: ast.stmt) -> list[ast.stmt]:
        found = self.visit(statement)
        return found if isinstance(found, list) else [found]

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        function = self.current[-1] if self.current else None
        if function is not None and node.value is not None:
            node.value = noted(result_place(function), node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        names = unpacked_shape(node)
        self.generic_visit(node)
        return [node, *(ast.Expr(noted(place_of(name), ast.Name(name.id, ast.Load()))) for name in names)]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        place = place_of(node) if isinstance(node, ast.expr) and is_size(node, self.arguments) else ""
        super().generic_visit(node)
        return noted(place, node) if place and isinstance(node, ast.expr) else node


def noted(place: str, value: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("sighted", ast.Load()), [ast.Constant(place), value], [])


def instrumented(tree: ast.Module) -> str:
    """The answer's text with the note-taker."""
    tree = copy.deepcopy(tree)
    return NOTES + "\n\n" + ast.unparse(ast.fix_missing_locations(Instrumented(tree).visit(tree)))


def asking(test: str) -> str:
    """The test's text, with the question for the notes at its end."""
    return f"{test}\nprint({ASK}())"


def observed_in(outputs: list[dict[str, Any]]) -> Observed | None:
    """What the test printed of the notes; None where it was kept from that."""
    for output in outputs:
        text = output.get("text", "")
        for line in ("".join(text) if isinstance(text, list) else str(text)).split("\n"):
            if line.startswith(MARK):
                return Observed(json.loads(line.removeprefix(MARK)))
    return None
