"""The operators that mutation testing has always had, and their relatives for tensors: a sign, an axis, an order, a
statement that is missing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from autograder.authoring.mutants import Answer, Change, Operator

SIGNS: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
}
COMPARISONS: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
AXES = {-1: (0, -2), 0: (-1, 1), 1: (-2, 0), -2: (-1,), 2: (1,)}
EXTREMES = {"min": "max", "amin": "amax", "argmin": "argmax", "minimum": "maximum", "clamp_min": "clamp_max"}
EXTREMES |= {other: one for one, other in EXTREMES.items()} | {"tril": "triu", "triu": "tril", "sin": "cos"}
EXTREMES |= {"cos": "sin", "sum": "mean", "mean": "sum", "floor": "ceil", "ceil": "floor", "all": "any", "any": "all"}
DROPPED = {"transpose", "permute", "masked_fill", "where", "softmax", "exp", "log", "sqrt", "clamp", "clamp_min", "abs"}
DROPPED |= {"tril", "triu", "tanh", "relu", "gelu", "flip", "sort", "to", "float", "double", "long", "contiguous"}


def axis(answer: Answer) -> Iterator[Change]:
    """Along another axis."""
    for node in answer.expressions(ast.Call):
        for word in node.keywords:
            number = whole(word.value)
            if word.arg in ("dim", "axis") and number is not None:
                for other in AXES.get(number, ()):
                    words = [ast.keyword(w.arg, number_node(other)) if w is word else w for w in node.keywords]
                    new = ast.Call(node.func, node.args, words)
                    yield answer.replaced(f"{short(node.func)}, {word.arg}={number} → {other}", node, new)


def sign(answer: Answer) -> Iterator[Change]:
    """Plus and minus, times and divided by, a unary minus."""
    for node in answer.expressions(ast.BinOp, ast.UnaryOp):
        if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
            new = ast.BinOp(node.left, SIGNS[type(node.op)](), node.right)
            yield answer.replaced(f"{short(node)} → {short(new)}", node, new)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not | ast.Invert):
            yield answer.replaced(f"{short(node)} → {short(node.operand)}", node, node.operand)


def comparison(answer: Answer) -> Iterator[Change]:
    """With or without equality, equal or not, and or or."""
    for node in answer.expressions(ast.Compare, ast.BoolOp):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
            new: ast.expr = ast.Compare(node.left, [COMPARISONS[type(node.ops[0])](), *node.ops[1:]], node.comparators)
            yield answer.replaced(f"{short(node)} → {short(new)}", node, new)
        elif isinstance(node, ast.BoolOp):
            new = ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            yield answer.replaced(f"{short(node)} → {short(new)}", node, new)


def number(answer: Answer) -> Iterator[Change]:
    """A constant, one more or one less; of one that is not whole, half of it."""
    for node in answer.expressions(ast.Constant):
        if type(node.value) is int:
            for other in (node.value + 1, node.value - 1):
                yield answer.replaced(f"{node.value} → {other}", node, number_node(other))
        elif type(node.value) is float:
            yield answer.replaced(f"{node.value} → {node.value / 2}", node, number_node(node.value / 2))
        elif type(node.value) is bool:
            yield answer.replaced(f"{node.value} → {not node.value}", node, ast.Constant(not node.value))


def order(answer: Answer) -> Iterator[Change]:
    """The sides of a product, a quotient, a difference or a power exchanged; a transposition left out."""
    for node in answer.expressions(ast.BinOp, ast.Attribute):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult | ast.Sub | ast.Div | ast.Pow):
            new = ast.BinOp(node.right, node.op, node.left)
            yield answer.replaced(f"{short(node)} → {short(new)}", node, new)
        elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
            yield answer.replaced(f"{short(node)} → {short(node.value)}", node, node.value)


def left_out(answer: Answer) -> Iterator[Change]:
    """A statement, a factor, a summand, a step of a chain of methods, or a branch is missing."""
    for statement in answer.statements:
        if isinstance(statement, ast.Return | ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            continue
        if isinstance(statement, ast.If):
            yield answer.rewritten(f"always {short(statement.test)}", statement, statement.body)
            yield answer.rewritten(f"never {short(statement.test)}", statement, statement.orelse)
        else:
            yield answer.rewritten(f"without {short(statement)}", statement, [])
    for node in answer.expressions(ast.BinOp, ast.Call, ast.IfExp):
        if isinstance(node, ast.BinOp):
            for kept in (node.left, node.right):
                yield answer.replaced(f"{short(node)} → {short(kept)}", node, kept)
        elif isinstance(node, ast.IfExp):
            for kept in (node.body, node.orelse):
                yield answer.replaced(f"{short(node)} → {short(kept)}", node, kept)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in DROPPED:
            kept = node.func.value
            if isinstance(kept, ast.Name) and kept.id in ("torch", "F", "math", "np"):
                if not node.args:
                    continue
                kept = node.args[1 if node.func.attr == "where" and len(node.args) > 1 else 0]
            yield answer.replaced(f"without {node.func.attr} of {short(kept)}", node, kept)


def extreme(answer: Answer) -> Iterator[Change]:
    """min and max, tril and triu, sum and mean, sin and cos."""
    for node in answer.expressions(ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in EXTREMES:
            func: ast.expr = ast.Attribute(node.func.value, EXTREMES[node.func.attr], ast.Load())
        elif isinstance(node.func, ast.Name) and node.func.id in EXTREMES:
            func = ast.Name(EXTREMES[node.func.id], ast.Load())
        else:
            continue
        yield answer.replaced(f"{short(node.func)} → {short(func)}", node, ast.Call(func, node.args, node.keywords))


def whole(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is int else None


def number_node(value: float) -> ast.expr:
    """A negative number is a unary minus: as Python itself would read it."""
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)


def short(node: ast.AST) -> str:
    text = ast.unparse(node).split("\n")[0]
    return text if len(text) <= 40 else f"{text[:39]}…"


OPERATORS: dict[str, Operator] = {
    "axis": axis,
    "sign": sign,
    "comparison": comparison,
    "number": number,
    "order": order,
    "left out": left_out,
    "extreme": extreme,
}
