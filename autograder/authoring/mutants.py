"""Wrong answers made by machine: the reference solution with one small thing changed.

An operator is a function that looks at an `Answer` and yields `Change`s. Two groups: `holes` are slips that a test
with too few cases does not see (a constant that happens to fit, an argument that is ignored or changed, a gradient
that is lost), `classical` ones are a sign, an axis, an order.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from autograder.authoring.observing import Function, Observed, functions_in, inside
from autograder.model import regions
from autograder.model.notebook import Cell

ANSWER = "answer"  # the solution's own body, in a mutant that does something before or after it
LONGEST_LINE = 100


@dataclass(frozen=True)
class Change:
    """One thing to change: what, where, and what replaces which part of the tree, by the part's `id`."""

    what: str
    at: ast.stmt | ast.expr
    parts: Mapping[int, Any]
    line: str = ""  # how the changed line reads, where it is not simply the statement with the change
    top: str = ""  # a line before everything else


@dataclass(frozen=True)
class Mutant:
    """An answer with one change. The name has the operator, a colon, and what was changed."""

    name: str
    code: str
    line: int  # of the script
    text: str  # that line, changed

    @property
    def operator(self) -> str:
        return self.name.partition(":")[0]


@dataclass
class Answer:
    """The solution's cell as operators see it: its tree, the lines that are the student's, what was observed."""

    tree: ast.Module
    lines: frozenset[int]
    observed: Observed = field(default_factory=Observed)

    @classmethod
    def of(cls, cell: Cell, observed: Observed | None = None) -> Answer:
        marked = {number for region in regions.regions(cell.source, regions.Kind.SOLUTION) for number in region.numbers}
        return cls(cell.tree, frozenset(marked or range(1, len(cell.source.split("\n")) + 1)), observed or Observed())

    @cached_property
    def functions(self) -> list[Function]:
        return [one for one in functions_in(self.tree) if any(inside(part, self.lines) for part in one.node.body)]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every part of the student's lines, in the order of the text. How an error is worded is no mistake."""
        words = {id(part) for node in ast.walk(self.tree) if isinstance(node, ast.Raise) for part in words_of(node)}
        found = [node for node in ast.walk(self.tree) if inside(node, self.lines) and id(node) not in words]
        return sorted(found, key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)))

    @cached_property
    def statements(self) -> list[ast.stmt]:
        return [node for node in self.nodes if isinstance(node, ast.stmt)]

    @cached_property
    def blocks(self) -> dict[int, list[ast.stmt]]:
        """The list of statements that each statement is in, by the statement's `id`."""
        found: dict[int, list[ast.stmt]] = {}
        for node in ast.walk(self.tree):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list):
                    found |= {id(statement): block for statement in block}
        return found

    @cached_property
    def statement_of(self) -> dict[int, ast.stmt]:
        """The innermost statement around each expression."""
        found: dict[int, ast.stmt] = {}
        for statement in ast.walk(self.tree):  # from the outside in: the innermost one comes last
            if isinstance(statement, ast.stmt):
                found |= {id(part): statement for part in ast.walk(statement)}
        return found

    def expressions(self, *kinds: type[ast.expr]) -> Iterator[Any]:
        return (node for node in self.nodes if isinstance(node, kinds or ast.expr))

    # ---- changes

    def replaced(self, what: str, old: ast.expr | ast.stmt, new: str | ast.AST) -> Change:
        """Something else in the place of an expression or a statement."""
        node = parsed(new) if isinstance(new, str) else new
        if isinstance(old, ast.stmt) and isinstance(node, ast.expr):
            node = ast.Expr(node)
        return Change(what, old, {id(old): node})

    def rewritten(self, what: str, statement: ast.stmt, new: Sequence[ast.stmt]) -> Change:
        """Other statements in the place of one; none is `pass`."""
        block = self.blocks[id(statement)]
        place = next(number for number, one in enumerate(block) if one is statement)
        made = [*block[:place], *new, *block[place + 1 :]] or [ast.Pass()]
        return Change(what, statement, {id(block): made}, first_line(new[-1]) if new else "(left out)")

    def before(self, what: str, function: Function, *lines: str) -> Change:
        """These lines at the beginning of a function."""
        new = statements(lines)
        start = 1 if ast.get_docstring(function.node) is not None else 0
        body = [*function.node.body[:start], *new, *function.node.body[start:]]
        return Change(what, function.node, {id(function.node.body): body}, first_line(new[0]))

    def around(self, what: str, function: Function, *lines: str, shown: str = "", top: str = "") -> Change:
        """These lines in place of a function's body, which they can call as `answer(…)`."""
        node = function.node
        start = 1 if ast.get_docstring(node) is not None else 0
        inner = ast.FunctionDef(name=ANSWER, args=bare(node.args), body=node.body[start:], decorator_list=[])
        new = statements(lines)
        body = [*node.body[:start], inner, *new]
        return Change(what, node, {id(node.body): body}, shown or first_line(new[-1]), top)

    def made(self, change: Change) -> ast.Module:
        tree = copy.deepcopy(self.tree, dict(change.parts))
        tree.body = [*statements([change.top]), *tree.body]
        return ast.fix_missing_locations(tree)

    def text(self, change: Change) -> str:
        """How the changed line reads."""
        if change.line:
            return change.line[:LONGEST_LINE]
        statement = self.statement_of.get(id(change.at), change.at)
        return first_line(copy.deepcopy(statement, dict(change.parts)))[:LONGEST_LINE]


Operator = Callable[[Answer], Iterable[Change]]


def call(function: Function) -> str:
    """The call of the inner `answer` with what the function was given."""
    given = function.node.args
    words = [one.arg for one in (*given.posonlyargs, *given.args)]
    words += [f"*{given.vararg.arg}"] if given.vararg else []
    words += [f"{one.arg}={one.arg}" for one in given.kwonlyargs]
    words += [f"**{given.kwarg.arg}"] if given.kwarg else []
    return f"{ANSWER}({', '.join(words)})"


def bare(given: ast.arguments) -> ast.arguments:
    """The same arguments without defaults and annotations, which only the outer function has."""
    made = copy.deepcopy(given)
    made.defaults, made.kw_defaults = [], [None] * len(made.kwonlyargs)
    for one in (*made.posonlyargs, *made.args, *made.kwonlyargs):
        one.annotation = None
    return made


def words_of(node: ast.Raise) -> Iterator[ast.AST]:
    """The arguments of the exception that is raised."""
    if isinstance(node.exc, ast.Call):
        for argument in node.exc.args:
            yield from ast.walk(argument)


def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def statements(lines: Iterable[str]) -> list[ast.stmt]:
    return ast.parse("\n".join(lines)).body


def first_line(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node)).split("\n")[0]


def written(cell: Cell) -> str:
    """The solution as mutants are written: from its tree, without comments."""
    return ast.unparse(cell.tree)


def mutants_of(cell: Cell, observed: Observed, operators: Mapping[str, Operator]) -> list[Mutant]:
    """All of them, each once, none the solution itself."""
    answer = Answer.of(cell, observed)
    seen = {ast.dump(answer.tree)}
    names: dict[str, int] = {}
    made = []
    for operator, changes in operators.items():
        for change in changes(answer):
            tree = answer.made(change)
            code = ast.unparse(tree)
            try:
                dumped = ast.dump(ast.parse(code))
            except SyntaxError:  # a change that is no Python here, such as a `return` outside of a function
                continue
            if dumped in seen:
                continue
            seen.add(dumped)
            name = f"{operator}: {change.what}"
            names[name] = names.get(name, 0) + 1
            name += f" #{names[name]}" if names[name] > 1 else ""
            made.append(Mutant(name, code, cell.file_line(change.at.lineno), answer.text(change)))
    return made
