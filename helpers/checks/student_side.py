"""What has to happen where the student's code lives.

In the student's kernel and under plain nbgrader these are plain calls. The examiner runs tests and student code in two
processes: it sets `remote`, and a call that is about a student's object is sent to the student's process. None of these
functions judges anything: they return plain data.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import inspect
import linecache
import os
import random
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from helpers.checks import bans
from helpers.checks.failed import NOTHING, StudentError, Unwritten, fail, first_paragraph, not_written
from helpers.checks.meter import Meter, Spent, keep_freed_memory
from helpers.checks.plain_data import copied, is_plain, plain
from helpers.kit.seeding import seed as seed_here

# The bridge to the student's process, where that is another one; None where tests and student code share a kernel.
remote: Any = None

UNREADABLE = (
    "the source of your function cannot be read: define it with `def` in its own cell, without `exec`, `eval` or"
    " `globals`"
)
NO_TENSOR = "a tensor should come back: gradients can only flow through torch operations"
NO_GRADIENT = (
    "no gradient flows from the output back to the input: is there a `.detach()`, `.item()`, NumPy call or new tensor"
    " in between?"
)
CHANGED_GRADIENT = "the step has changed a gradient: work on a new tensor"
COMPUTED = "(computed)"  # where a name is made while the code runs, so that the source does not contain it
REASONS = (NOTHING, UNREADABLE, bans.CHANGED, NO_TENSOR, NO_GRADIENT, CHANGED_GRADIENT)

Measurement = TypeVar("Measurement", bound=Callable[..., Any])


def measurement(function: Measurement) -> Measurement:
    """A measurement that is carried out where the student's object lives, if it is about one."""

    @wraps(function)
    def on_the_right_side(*args: Any, **kwargs: Any) -> Any:
        if remote is not None and remote.owns((args, kwargs)):
            return remote.run_remotely(function, args, kwargs)
        return function(*args, **kwargs)

    return on_the_right_side  # type: ignore[return-value]


def seed(number: int) -> None:
    """Seed Python's, NumPy's and torch's generators, on both sides."""
    seed_here(number)
    if remote is not None:
        remote.seed(number)


@contextlib.contextmanager
def refusing(names: Sequence[bans.Ban]) -> Iterator[None]:
    """What is forbidden is refused to student code while this lasts, whichever side it is on."""
    if remote is None:
        with bans.refusing(names):
            yield
        return
    remote.refused = list(names)
    try:
        yield
    finally:
        remote.refused = []


# ---- random state ---------------------------------------------------------------------------------------------------


def random_state() -> tuple[Any, ...]:
    return random.getstate(), np.random.get_state(), torch.get_rng_state()


def restore_random_state(state: tuple[Any, ...]) -> None:
    random.setstate(state[0])
    np.random.set_state(state[1])
    torch.set_rng_state(state[2])


# ---- torch's settings ------------------------------------------------------------------------------------------------


def settings() -> list[Any]:
    """What outlives a call of student code: torch's default dtype, and whether gradients are recorded."""
    return [str(torch.get_default_dtype()), torch.is_grad_enabled()] if remote is None else remote.settings()


def restore_settings(known: Sequence[Any]) -> None:
    """In a kernel of its own the next test would meet them; the examiner's copy of the student's process ends."""
    if remote is None:
        torch.set_default_dtype(getattr(torch, known[0].removeprefix("torch.")))
        torch.set_grad_enabled(known[1])


# ---- objects that stay where they are -------------------------------------------------------------------------------


def put(value: Any) -> Any:
    """Give a value to the student's side and keep a handle on it."""
    return copied(value) if remote is None else remote.put(value)


def keep(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call, and keep the result where it is: a handle whose methods can be called, not plain data."""
    if remote is not None and remote.lives_there(function):
        return remote.keep(function, args, kwargs)
    return function(*copied(args), **copied(kwargs))


def value(handle: Any) -> Any:
    """The plain data behind a handle."""
    if remote is not None and remote.owns(handle):
        return plain(remote.value(handle))
    return plain(copied(handle))


@measurement
def isinstance(obj: Any, kind: Any) -> bool:
    """Is the student's object of this kind? `kind` is a class, or a dotted name such as "torch.nn.Module"."""
    if builtins.isinstance(kind, str):
        module, _, name = kind.rpartition(".")
        kind = getattr(importlib.import_module(module or "builtins"), name)
    return builtins.isinstance(obj, kind)


# ---- measurements ---------------------------------------------------------------------------------------------------


class Gradients(NamedTuple):
    """`output` of the call, gradients of its floating `inputs` (None where there is none), and of named `params`."""

    output: Any
    inputs: tuple[torch.Tensor | None, ...]
    params: dict[str, torch.Tensor | None]


@measurement
def gradients(
    function: Callable[..., Any], args: Sequence[Any], cotangent: Any = None, params: Iterable[str] | None = None
) -> Gradients:
    """Vector-Jacobian product through student code: of every floating tensor in `args`, and of a module's parameters.

    `cotangent` is what the output's gradient is taken to be (default: all ones). `params` names parameters of
    `function` where that is a module ("weight", "proj.bias"); None means none, an empty iterable means all of them.
    """
    given = [copied(a) for a in args]
    leaves = [a.requires_grad_() for a in given if builtins.isinstance(a, torch.Tensor) and a.is_floating_point()]
    named: dict[str, torch.Tensor] = {}
    if params is not None:
        owner: Any = getattr(function, "__self__", function)
        every = dict(owner.named_parameters())
        named = {name: every[name] for name in params} or every
    with torch.enable_grad():
        output = function(*given)
        if not builtins.isinstance(output, torch.Tensor):
            fail(NO_TENSOR)
        if not output.requires_grad:
            fail(NO_GRADIENT)
        weight = torch.ones_like(output) if cotangent is None else plain(cotangent).to(output.dtype)
        if weight.shape != output.shape:
            raise ValueError(f"the output has shape {tuple(output.shape)}, expected {tuple(weight.shape)}")
        # A parameter that is frozen has no gradient, and asking for one would be an error.
        wanted = [tensor for tensor in (*leaves, *named.values()) if tensor.requires_grad]
        if output.is_complex():
            found = torch.autograd.grad(output, wanted, weight, allow_unused=True)
        else:  # the same, but with grad_outputs torch imports sympy, half a second
            found = torch.autograd.grad((output * weight).sum(), wanted, allow_unused=True)
    inputs = tuple(None if g is None else g.detach() for g in found[: len(leaves)])
    rest = iter(found[len(leaves) :])
    by_name = {name: plain(next(rest)) if tensor.requires_grad else None for name, tensor in named.items()}
    return Gradients(output.detach(), inputs, by_name)


@measurement
def inout(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, tuple[Any, ...]]:
    """The result and the arguments as they are after the call: the one way to see whether inputs were modified.

    An argument that is no plain data, a model for example, stays where it is: None stands in its place. A function of
    the test may hand the arguments on to the student's: what that one changes is changed in the copies here.
    """
    given = copied(args)
    with remote.mirroring() if remote is not None else contextlib.nullcontext():
        result = function(*given, **copied(kwargs))
    return plain(copied(result)), tuple(plain(part) if is_plain(part) else None for part in given)


@measurement
def optimizer(
    cls: Callable[..., Any],
    params: Sequence[torch.Tensor],
    grads_per_step: Sequence[Sequence[torch.Tensor]],
    **options: Any,
) -> list[list[torch.Tensor]]:
    """The trajectory of an optimiser: parameters after every step, when it is fed these gradients."""
    parameters = [torch.nn.Parameter(p.detach().clone()) for p in params]
    stepper = cls(parameters, **options)
    trajectory = []
    for grads in grads_per_step:
        for parameter, grad in zip(parameters, grads, strict=True):
            parameter.grad = None if grad is None else grad.detach().clone()
        stepper.step()
        trajectory.append([p.detach().clone() for p in parameters])
    return trajectory


class Cost(NamedTuple):
    """Work of one call: floating-point operations, and elements of the largest tensor that was created."""

    flops: int
    largest: int


class CostCounter(TorchDispatchMode):
    """Counts what torch does: matrix products by torch's own formulas, everything else one operation per element.

    A dense factorisation of an m × n matrix, m ≥ n, counts 4mn². Views and copies are free. Unlike a time, the count is
    the same on every machine.
    """

    free: ClassVar[set[str]] = {
        "view",
        "reshape",
        "transpose",
        "t",
        "expand",
        "permute",
        "slice",
        "select",
        "unsqueeze",
        "squeeze",
        "alias",
        "detach",
    }
    free |= {
        "clone",
        "copy_",
        "_to_copy",
        "empty",
        "zeros",
        "ones",
        "full",
        "empty_like",
        "zeros_like",
        "_unsafe_view",
        "split",
        "unbind",
    }

    dense: ClassVar[set[str]] = {
        "_linalg_svd",
        "linalg_qr",
        "linalg_pinv",
        "_linalg_eigh",
        "linalg_lstsq",
        "_linalg_solve_ex",
    }
    dense |= {"linalg_inv_ex", "linalg_lu_factor_ex", "linalg_cholesky_ex"}

    running: ClassVar[list[CostCounter]] = []

    def __init__(self) -> None:
        super().__init__()
        self.flops = 0
        self.largest = 0
        self.operations = 0

    def __enter__(self) -> CostCounter:
        self.running.append(self)
        super().__enter__()
        return self

    def __exit__(self, *problem: Any) -> None:
        self.running.remove(self)
        super().__exit__(*problem)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        self.operations += 1
        tensors = [leaf for leaf in tree_leaves(out) if builtins.isinstance(leaf, torch.Tensor)]
        given = [leaf for leaf in tree_leaves((args, kwargs)) if builtins.isinstance(leaf, torch.Tensor)]
        packet = func._overloadpacket
        name = packet.__name__
        if packet in flop_registry:
            self.flops += flop_registry[packet](*args, **kwargs, out_val=out)
        elif name == "_scaled_dot_product_flash_attention_for_cpu":
            self.flops += flop_registry[torch.ops.aten._scaled_dot_product_flash_attention](*args[:3], out_val=out)
        elif name in self.dense:
            rows, columns = sorted(given[0].shape[-2:], reverse=True)
            self.flops += 4 * given[0].shape[:-2].numel() * rows * columns * columns
        elif name not in self.free:
            self.flops += max((t.numel() for t in tensors + given), default=0)
        if not (func.is_view or name.endswith("_")):
            self.largest = max([self.largest, *(t.numel() for t in tensors)])
        return out


def cost(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Cost:
    """FLOPs and the largest tensor of one call."""
    if remote is not None and remote.owns((function, args, kwargs)):
        result, *spent = remote.costed(function, args, kwargs)
    else:
        result, *spent = costed(function, copied(args), copied(kwargs))
    if result is None:  # code that does nothing costs nothing, and must not pass for that
        fail(NOTHING)
    return Cost(*spent[:2])


def costed(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, int, int, int]:
    """Result and cost of a call, and how many operations of torch it took."""
    with CostCounter() as counter:
        result = function(*args, **kwargs)
    return result, counter.flops, counter.largest, counter.operations


def spent(function: Callable[..., Any], *args: Any) -> Spent:
    """Processor seconds and bytes of one call, as the kernel counts them; nothing where it does not tell."""
    return result_and_spent(function, *args)[1]


def result_and_spent(function: Callable[..., Any], *args: Any) -> tuple[Any, Spent]:
    if remote is not None:
        return measured(function, args, remote.meter())
    keep_freed_memory()
    try:
        return measured(function, args, Meter(os.getpid()))
    finally:
        keep_freed_memory(False)


def measured(function: Callable[..., Any], args: Sequence[Any], meter: Meter) -> tuple[Any, Spent]:
    result = function(*copied(args))
    if result is None:  # code that does nothing takes no time, and must not pass for that
        fail(NOTHING)
    return result, meter.read() or Spent(0.0, 0)


def flops(function: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """Floating-point operations of one call, counted, not timed."""
    return cost(function, *args, **kwargs).flops


# ---- the submitted source -------------------------------------------------------------------------------------------


def source(function: Any) -> str:
    """The text of the student's function or class."""
    if remote is not None and remote.owns(function):
        text = remote.source(function)
        return textwrap.dedent(text) if text else fail(UNREADABLE)
    try:
        return textwrap.dedent(inspect.getsource(getattr(function, "__wrapped__", function)))
    except (OSError, TypeError):
        return class_source(function) or fail(UNREADABLE)


def class_source(cls: Any) -> str:
    """The text of a class of a notebook, which `inspect` does not find: that of the cell its methods come from."""
    for part in vars(cls).values() if builtins.isinstance(cls, type) else ():
        code = getattr(part, "__code__", None)
        text = "".join(linecache.getlines(code.co_filename)) if code is not None else ""
        for node in ast.walk(ast.parse(text)):
            if builtins.isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                return ast.unparse(node)
    return ""


def written(function: Any) -> str:
    """The student's source. A stub fails: it breaks no rule only because nothing is there."""
    text = source(function)
    if "raise NotImplementedError()" in text:
        raise StudentError(not_written(stub_in(text)))
    return text


def stub_in(text: str) -> Unwritten:
    """The first function or class in a source text, which is still a stub."""
    kinds = ast.FunctionDef | ast.ClassDef
    found = next((node for node in ast.walk(ast.parse(text)) if builtins.isinstance(node, kinds)), None)
    return Unwritten("", "") if found is None else Unwritten(found.name, first_paragraph(ast.get_docstring(found)))


def names_in(text: str | ast.AST, own: bool = True) -> set[str]:
    """Every name, attribute and statement keyword ("for", "while", "if", "lambda", "@", comprehensions as "for") in a
    source text.

    `getattr(F, "softmax")` uses `softmax`; where the name is computed, it is COMPUTED. Without its `own` variables:
    `grad = p * q` then uses no `grad`, while `grad = torch.autograd.grad` does.
    """
    found: set[str] = set()
    words: dict[type, str] = {
        ast.For: "for",
        ast.comprehension: "for",
        ast.While: "while",
        ast.If: "if",
        ast.IfExp: "if",
        ast.Lambda: "lambda",
        ast.MatMult: "@",
        ast.Try: "try",
    }
    nodes = list(ast.walk(ast.parse(text) if builtins.isinstance(text, str) else text))
    stored = {
        node.id for node in nodes if builtins.isinstance(node, ast.Name) and builtins.isinstance(node.ctx, ast.Store)
    }
    stored |= {node.arg for node in nodes if builtins.isinstance(node, ast.arg)}
    for node in nodes:
        if builtins.isinstance(node, ast.Name):
            found |= {node.id} if own else {node.id} - stored
        elif builtins.isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif builtins.isinstance(node, ast.alias):
            found.add(node.name.rsplit(".", 1)[-1])
        elif type(node) in words:
            found.add(words[type(node)])
        elif (
            builtins.isinstance(node, ast.Call)
            and builtins.isinstance(node.func, ast.Name)
            and node.func.id == "getattr"
        ):
            found |= {str(getattr(part, "value", COMPUTED)) for part in node.args[1:2]}
    return found


def parameters_of(text: str) -> list[str]:
    """Parameter names of the first function in a source text."""
    function = next(node for node in ast.walk(ast.parse(text)) if builtins.isinstance(node, ast.FunctionDef))
    return [a.arg for a in function.args.posonlyargs + function.args.args + function.args.kwonlyargs]


class Counted:
    """A function that counts its calls: give it to student code, then look at `calls` from outside."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self._function(*args, **kwargs)
