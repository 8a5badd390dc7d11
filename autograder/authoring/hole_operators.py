"""Operators for slips that a test sees only if it has the right case: another size, another dtype, a second call, a
generator, a gradient, the argument afterwards.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from autograder.authoring.mutants import Answer, Change, Operator, call
from autograder.authoring.observing import (
    Function,
    Kind,
    argument_names,
    argument_place,
    is_size,
    own_nodes,
    place_of,
    result_place,
    unpacked_shape,
)

FLOATS = ("float32", "float64", "float16", "bfloat16")
IN_PLACE_METHODS = {"masked_fill", "add", "sub", "mul", "div", "clamp", "exp", "log", "abs", "neg", "tril", "triu"}
IN_PLACE_METHODS |= {"scatter", "index_fill", "index_add", "relu", "sqrt"}
VIEWS = {"T", "mT", "data", "view", "transpose", "flatten", "squeeze", "unsqueeze", "expand", "chunk", "split"}
COPIES = {"clone", "copy", "detach", "contiguous"}
DRAWS = {"rand", "randn", "randint", "randperm", "multinomial", "bernoulli", "normal", "rand_like", "randn_like"}
DRAWS |= {"uniform_", "normal_", "sample", "choice", "shuffle", "Dropout", "dropout"}


# ---- sizes and arguments -------------------------------------------------------------------------------------------


def constant(answer: Answer) -> Iterator[Change]:
    """A size, or an argument, is the number that the test happens to use."""
    arguments = argument_names(answer.tree)
    for node in answer.nodes:
        if isinstance(node, ast.expr) and is_size(node, arguments):
            for value in answer.observed.values(place_of(node)):
                if usable(value):
                    yield answer.replaced(f"{ast.unparse(node)} → {value}", node, value)
        for name in unpacked_shape(node):
            for value in answer.observed.values(place_of(name)):
                new = ast.parse(f"{name.id} = {value}").body[0]
                assert isinstance(node, ast.stmt)
                yield answer.rewritten(f"{name.id} → {value}", node, [node, new])
    for function in answer.functions:
        for one in function.arguments:
            if is_read(function, one.arg):
                for value in answer.observed.values(argument_place(function, one.arg)):
                    if value != "None":
                        yield answer.before(f"{within(function)}{one.arg} → {value}", function, f"{one.arg} = {value}")


def ignored(answer: Answer) -> Iterator[Change]:
    """An argument has no influence: it is always its default, or all its entries are alike."""
    for function in answer.functions:
        label = within(function)
        for one in function.arguments:
            name = one.arg
            if not is_read(function, name):
                continue
            if name in function.defaults:
                value = ast.unparse(function.defaults[name])
                yield answer.before(f"{label}{name} is always {value}", function, f"{name} = {value}")
            tensor = answer.observed.tensor(argument_place(function, name))
            optional = f" if {name} is not None else None" if name in function.defaults else ""
            for like in ("zeros_like", "ones_like") if tensor is not None else ():
                line = f"{name} = torch.{like}({name}){optional}"
                yield answer.before(f"{label}{name} is {like.partition('_')[0]}", function, line)


def one_row(answer: Answer) -> Iterator[Change]:
    """The first item of a loop, or the first row of the result, is taken for all."""
    for node in answer.nodes:
        if isinstance(node, ast.For) and not any(isinstance(part, ast.Break) for part in ast.walk(node)):
            body = [*node.body, ast.Break()]
            shown = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}: …; break"
            yield Change(f"for {ast.unparse(node.target)}, first only", node, {id(node.body): body}, shown)
    for function, expression, kind, where in tensor_results(answer):
        if kind[2] >= 2:
            line = f"{expression}[:1].expand_as({expression}).clone()"
            yield after(answer, f"{within(function)}result{where}, row 0 for all", function, expression, line)


# ---- what happens to the arguments ---------------------------------------------------------------------------------


def in_place(answer: Answer) -> Iterator[Change]:
    """An argument is changed."""
    for function in answer.functions:
        names = {one.arg for one in function.arguments}
        names = {name for name in names if can_change(answer, function, name)}
        for node in own_nodes(function.node):
            if node in answer.nodes:
                yield from in_place_statement(answer, node, names)
        for one in function.arguments if function.gives_values else ():
            yield from spoiled(answer, function, one.arg)


def can_change(answer: Answer, function: Function, name: str) -> bool:
    """A number cannot: `n += 1` is a new one."""
    return any(kind[0] in ("tensor", "list") for kind in answer.observed.kinds(argument_place(function, name)))


def in_place_statement(answer: Answer, node: ast.AST, arguments: set[str]) -> Iterator[Change]:
    """`x = x + y` as `x += y`, `x.clamp(…)` as `x.clamp_(…)`, where x is an argument."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.BinOp):
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name) and target.id in arguments and ast.unparse(value.left) == target.id:
            new = ast.AugAssign(target, value.op, value.right)
            yield answer.rewritten(f"{ast.unparse(node)} as {ast.unparse(new)}", node, [new])
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return
    if node.func.attr in IN_PLACE_METHODS and root_of(node.func.value) in arguments:
        func = ast.Attribute(node.func.value, f"{node.func.attr}_", ast.Load())
        new_call = ast.Call(func, node.args, node.keywords)
        yield answer.replaced(f"{ast.unparse(node.func)} as {node.func.attr}_", node, new_call)


def spoiled(answer: Answer, function: Function, name: str) -> Iterator[Change]:
    """The right result, and another number in the argument afterwards. Not where a gradient is asked for: there torch
    itself would refuse.
    """
    place = argument_place(function, name)
    tensor = answer.observed.tensor(place)
    lists = [kind for kind in answer.observed.kinds(place) if kind[0] == "list" and kind[1]]
    if tensor is not None:
        change = f"{name}.logical_not_()" if tensor[1] == "bool" else f"{name}.add_(1)"
    elif lists and lists[0][1][0][0] == "tensor":
        change = f"{name}[0].add_(1)"
    elif lists:
        change = f"{name}.append({name}[0])"
    else:
        return
    result = f"result = {call(function)}"
    conditions = [f"{name} is not None"] if name in function.defaults else []
    if any(one is function and expression == "result" for one, expression, _, _ in tensor_results(answer)):
        result += ".clone()"  # it may be a view of the argument
        conditions.append("not result.requires_grad")
    lines = [f"if {' and '.join(conditions) or True}:", f"    {change}"]
    what = f"{within(function)}{name} is changed afterwards"
    yield answer.around(what, function, result, *lines, "return result", shown=change)


def copy_left_out(answer: Answer) -> Iterator[Change]:
    """`x.clone()` is `x`, `list(x)` is `x`."""
    for node in answer.expressions(ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(value=kept, attr=name), args=[]) if name in COPIES:
                yield answer.replaced(f"{ast.unparse(node)} without {name}", node, kept)
            case ast.Call(func=ast.Name(id="list" | "dict" as name), args=[ast.Name() as kept], keywords=[]):
                yield answer.replaced(f"{ast.unparse(node)} without {name}", node, kept)


# ---- dtypes and gradients ------------------------------------------------------------------------------------------


def dtype(answer: Answer) -> Iterator[Change]:
    """A dtype is written down, left out, or the result's digits are lost."""
    for node in answer.nodes:
        if isinstance(node, ast.Attribute) and node.attr == "dtype" and ast.unparse(node.value) != "torch":
            yield answer.replaced(f"{ast.unparse(node)} → torch.float32", node, "torch.float32")
        if isinstance(node, ast.Call):
            text = ast.unparse(node.func)
            if text in ("torch.zeros_like", "torch.ones_like") and len(node.args) == 1:
                plain = f"{text.removesuffix('_like')}({ast.unparse(node.args[0])}.shape)"
                yield answer.replaced(f"{ast.unparse(node)} without its dtype", node, plain)
            kept = [word for word in node.keywords if word.arg != "dtype"]
            if len(kept) < len(node.keywords):
                yield answer.replaced(f"{ast.unparse(node)} without dtype", node, ast.Call(node.func, node.args, kept))
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("new_zeros", "new_ones", "new_full"):
                plain = f"torch.{node.func.attr.removeprefix('new_')}"
                made = ast.Call(ast.parse(plain, mode="eval").body, node.args, node.keywords)
                yield answer.replaced(f"{ast.unparse(node.func)} as {plain}", node, made)
    for function, expression, kind, where in tensor_results(answer):
        if kind[1] in FLOATS:
            for short in ("float16", "float32"):
                new = f"{expression}.to(torch.{short}).to({expression}.dtype)"
                yield after(answer, f"{within(function)}result{where} rounded to {short}", function, expression, new)
            new = f"{expression}.double()"
            yield after(answer, f"{within(function)}result{where} in float64", function, expression, new)


def gradient(answer: Answer) -> Iterator[Change]:
    """An argument, or the result, is detached."""
    for function in answer.functions:
        for one in function.arguments:
            tensor = answer.observed.tensor(argument_place(function, one.arg))
            if tensor is not None and tensor[1] in FLOATS and is_read(function, one.arg):
                optional = f" if {one.arg} is not None else None" if one.arg in function.defaults else ""
                line = f"{one.arg} = {one.arg}.detach(){optional}"
                yield answer.before(f"{within(function)}{one.arg} is detached", function, line)
    for function, expression, kind, where in tensor_results(answer):
        if kind[1] in FLOATS:
            what = f"{within(function)}result{where} is detached"
            yield after(answer, what, function, expression, f"{expression}.detach()")


# ---- global state --------------------------------------------------------------------------------------------------


def global_state(answer: Answer) -> Iterator[Change]:
    """Something that outlives the call is changed, or not put back."""
    for function in answer.functions:
        names = {
            node.attr if isinstance(node, ast.Attribute) else node.id
            for node in ast.walk(function.node)
            if isinstance(node, ast.Attribute | ast.Name)
        }
        if names & DRAWS:
            yield answer.before(f"{within(function)}seeds at every call", function, "torch.manual_seed(0)")
        if names & {"no_grad", "inference_mode"}:
            line = "torch.set_grad_enabled(False)"
            yield answer.before(f"{within(function)}gradients stay switched off", function, line)
        if names & {"float64", "double"}:
            line = "torch.set_default_dtype(torch.float64)"
            yield answer.before(f"{within(function)}default dtype stays changed", function, line)
    for node in answer.statements:
        if isinstance(node, ast.With):
            without = ", ".join(ast.unparse(item.context_expr) for item in node.items)
            yield answer.rewritten(f"without {without}", node, node.body)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            func = node.value.func
            if isinstance(func, ast.Attribute) and func.attr in ("eval", "train", "requires_grad_", "zero_grad"):
                yield answer.rewritten(f"without {ast.unparse(node)}", node, [])


# ---- several calls, and iterators ----------------------------------------------------------------------------------


def state(answer: Answer) -> Iterator[Change]:
    """A result is kept from one call to the next."""
    for function in answer.functions:
        words = [one.arg for one in function.arguments]
        if not words or not function.gives_values:
            continue
        keys = {"the first result, always": "'first'"}
        if any(answer.observed.tensor(argument_place(function, word)) for word in words):
            keys["the first result of these shapes"] = (
                f"str([getattr(one, 'shape', one) for one in ({', '.join(words)},)])"
            )
        for what, key in keys.items():
            own = f"(id(self), {key})" if function.is_method else key
            lines = [f"if {own} not in kept:", f"    kept[{own}] = {call(function)}", f"return kept[{own}]"]
            shown = f"return kept[{key}]"
            yield answer.around(f"{within(function)}{what}", function, *lines, shown=shown, top="kept = {}")


def iterator(answer: Answer) -> Iterator[Change]:
    """An argument that is only iterated over, once, may be a generator: it has no length, and no second start."""
    for function in answer.functions:
        for one in function.arguments:
            uses = [n for n in own_nodes(function.node) if isinstance(n, ast.Name) and n.id == one.arg]
            kinds = answer.observed.kinds(argument_place(function, one.arg))
            plain = {kind[0] for kind in kinds} <= {"tensor", "value"}
            if len(uses) != 1 or plain or not is_iterated(function, uses[0]):
                continue
            label = f"{within(function)}{one.arg}"
            yield answer.before(f"{label} needs a length", function, f"len({one.arg})")
            yield answer.before(
                f"{label} loses its first item if it is a generator", function, f"next(iter({one.arg}))"
            )


# ---- what these share ----------------------------------------------------------------------------------------------


def within(function: Function) -> str:
    return f"{function.name}, "


def usable(value: str) -> bool:
    """A number or a truth value that can be written as text."""
    try:
        number = ast.literal_eval(value)
    except ValueError:
        return False
    return isinstance(number, bool | int) or (isinstance(number, float) and math.isfinite(number))


def is_read(function: Function, name: str) -> bool:
    """An argument that the body does not use cannot be mistaken."""
    return any(isinstance(n, ast.Name) and n.id == name for part in function.node.body for n in ast.walk(part))


def root_of(node: ast.expr) -> str:
    """The name behind views of it: `x` of `x[0].T`."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call):
            node = node.func
        if not (isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in VIEWS)):
            return ""
        node = node.value
    return node.id


def is_iterated(function: Function, name: ast.Name) -> bool:
    for node in own_nodes(function.node):
        if isinstance(node, ast.For | ast.comprehension):
            inner = node.iter.args if isinstance(node.iter, ast.Call) else [node.iter]
            if any(part is name for part in inner):
                return True
    return False


def tensor_results(answer: Answer) -> Iterator[tuple[Function, str, Kind, str]]:
    """Of each function that gives tensors: an expression for each of them, what it is, and which one."""
    for function in answer.functions:
        if not function.gives_values:
            continue
        kinds = answer.observed.kinds(result_place(function))
        if kinds and all(kind[0] == "tensor" for kind in kinds):
            yield function, "result", kinds[0], ""
        elif kinds and all(kind[0] == "tuple" for kind in kinds):
            for number, part in enumerate(kinds[0][1]):
                if part[0] == "tensor" and all(len(kind[1]) == len(kinds[0][1]) for kind in kinds):
                    yield function, f"result[{number}]", part, f"[{number}]"


def after(answer: Answer, what: str, function: Function, expression: str, new: str) -> Change:
    """The result, or one part of it, is something else."""
    lines = [f"result = {call(function)}"]
    if expression == "result":
        lines.append(f"return {new}")
    else:
        lines += ["result = list(result)", f"{expression} = {new}", "return tuple(result)"]
    shown = f"return {new}" if expression == "result" else f"{expression} = {new}"
    return answer.around(what, function, *lines, shown=shown)


OPERATORS: dict[str, Operator] = {
    "ignored": ignored,  # before `constant`: of two names for one mutant it is the clearer one
    "constant": constant,
    "one row": one_row,
    "in place": in_place,
    "copy": copy_left_out,
    "dtype": dtype,
    "gradient": gradient,
    "global": global_state,
    "state": state,
    "iterator": iterator,
}
