"""What an exercise forbids is refused where the student's code runs, whatever name it is called by.

An operator of torch is refused in torch's dispatcher: every way to it leads there, from `F.softmax` and `torch.ops` to
a reference that was saved before. Autograd has no operator: its engine is refused where Python enters it, and no graph
is recorded in the first place. A function that is written in Python gets other code, so that saved references are
refused as well.

Nothing here judges: a result that needs what is forbidden does not come, or is wrong.
"""

from __future__ import annotations

import _ctypes
import contextlib
import ctypes
import functools
import gc
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from helpers.checks.banned import DISPATCHER_DOORS, GRAPH_RUNNERS, OPERATORS, PYTHON, READY_MADE
from helpers.checks.failed import fail

# Operators that are the derivative of another one have this in their names. They go with that one, and all of them with
# autograd.
DERIVATIVE = "_backward"
# Everywhere a tensor of this machine can arrive at in the dispatcher: with and without autograd, and inside
# torch.func's transforms.
KEYS: tuple[str, ...] = ("CPU", "AutogradCPU", "CompositeImplicitAutograd", "SparseCPU", "Functionalize")
KEYS += ("FuncTorchBatched", "FuncTorchVmapMode", "FuncTorchGradWrapper")
# Where few operators have something of their own; it can be called there directly.
RARE_KEYS = ("FuncTorchBatchedDecomposition", "CompositeExplicitAutograd")
OTHER_KEYS = ("CPU", "MkldnnCPU", "QuantizedCPU")
# Other collections of operators have the same once more: for numbers of eight bits, or at the end of a matrix product
# (those say which in
# an argument, so all of them are refused).
OTHER_SPACES = ("mkldnn", "mkldnn_prepacked", "onednn", "quantized", "_quantized")
AT_THE_END = "pointwise"
# torch's operators written in Python, and modules that would bring more of them if they were imported during a call.
REFERENCES = ("torch._refs", "torch._decomp", "torch._prims", "torch._inductor.decomposition")
NOT_NOW = ("torch._inductor.decomposition", "torch.nn.attention.flex_attention", "torch._decomp.decompositions_for_jvp")
RECORDED = "<eval_with_key>"  # the file name of what torch.fx has made of a function

CHANGED = "torch was changed by the notebook: its own functions are needed here"
REFUSED = "this exercise does not allow the call of"

Ban = str | Callable[..., Any]
# What bans by name refuse: torch's operators, with their derivatives, and every overload of them in the dispatcher, and
# again those with their rare keys. The examiner works it out once and sends it along: going through 3,600 names takes
# longer than most answers.
Plan = tuple[list[str], list[str], list[tuple[str, str]]]


held = contextlib.ExitStack()


def hold(bans: Sequence[Ban], mark: str, plan: Plan) -> None:
    """From now on these bans are in force, until `lift`.

    The examiner asks for the one before a call, and for the other when it has the result: what student code does while
    its result is made plain and sent is refused as well. The dispatcher keeps `mark` with what refuses.
    """
    held.enter_context(refusing(bans, mark, plan))
    held.enter_context(without_foreign_functions())


def lift(bans: Sequence[Ban], mark: str, plan: Plan) -> None:
    """The end of that. It fails where student code has ended it before."""
    operators = {f"aten::{operator}" for ban in bans if isinstance(ban, str) for operator in OPERATORS.get(ban, ())}
    dump = genuine(torch._C._dispatch_dump, "_dispatch_dump")
    ended = [name for name in operators.intersection(plan[1]) if mark not in dump(name)]
    held.close()
    if ended:
        fail(CHANGED)


@contextlib.contextmanager
def refusing(bans: Sequence[Ban], mark: str = __file__, plan: Plan | None = None) -> Iterator[None]:
    """While this lasts, what is forbidden raises, or does nothing.

    A ban is a name of OPERATORS or PYTHON, or a function of the notebook's.
    """
    operators, overloads, rare = planned(named(bans)) if plan is None else plan
    with contextlib.ExitStack() as stack:
        stack.enter_context(without_operators(overloads, rare, mark))
        if operators:
            stack.enter_context(without_compiled())
            for function in recorded():
                stack.enter_context(without_function(function, "torch.fx"))
            ready = () if "autograd" in bans else READY_MADE
            stack.enter_context(without_modules([name for name in (*NOT_NOW, *ready) if name not in sys.modules]))
            for function in functions_in(ready):
                stack.enter_context(without_function(function, function.__name__))
        for function in references(set(operators)):
            stack.enter_context(without_function(function, function.__name__))
        for path in {path for name in named(bans) for path in PYTHON.get(name, ())}:
            stack.enter_context(without_function(found_at(path), path.rpartition(".")[2]))
        for ban in bans:
            if not isinstance(ban, str):
                stack.enter_context(without_function(ban, getattr(ban, "__name__", "it")))
        if "autograd" in bans:
            stack.enter_context(without_autograd())
        yield


def named(bans: Sequence[Ban]) -> tuple[str, ...]:
    return tuple(ban for ban in bans if isinstance(ban, str))


@functools.cache
def planned(names: tuple[str, ...]) -> Plan:
    """What these bans refuse in the dispatcher."""
    unknown = [name for name in names if name not in OPERATORS and name not in PYTHON]
    if unknown:
        raise ValueError(f"no ban is called {', '.join(unknown)}")
    operators = {operator for name in names for operator in OPERATORS.get(name, ())}
    if not operators:
        return [], [], []
    operators |= derivatives(operators)
    overloads = [overload for overload in operator_names() if is_meant(overload, operators)]
    has = genuine(torch._C._dispatch_has_kernel_for_dispatch_key, "_dispatch_has_kernel_for_dispatch_key")
    # Overloads with `out` ask the other ones.
    own = [name for name in overloads if name.startswith("aten::") and not name.endswith("out")]
    rare = [(name, key) for name in own for key in RARE_KEYS if has(name, key)]
    return sorted(operators), overloads, rare


# ---- operators of torch ---------------------------------------------------------------------------------------------


def operator_names() -> list[str]:
    names: list[str] = genuine(torch._C._dispatch_get_all_op_names, "_dispatch_get_all_op_names")()
    return names


@functools.cache
def all_derivatives() -> list[str]:
    names = [name.removeprefix("aten::") for name in operator_names() if name.startswith("aten::")]
    return [name.partition(".")[0] for name in names if DERIVATIVE in name]


def derivatives(names: set[str]) -> set[str]:
    """The operators that are the derivative of one of these; all of them, for autograd."""
    known = {name.strip("_") for name in names}
    return {name for name in all_derivatives() if DERIVATIVE in names or base_of(name) in known}


def base_of(name: str) -> str:
    return name.partition(DERIVATIVE)[0].strip("_")


@contextlib.contextmanager
def without_operators(overloads: Sequence[str], rare: Sequence[tuple[str, str]], mark: str) -> Iterator[None]:
    if not overloads:
        yield
        return
    make = genuine(torch._C._dispatch_library, "_dispatch_library")
    libraries = {space: make("IMPL", space, "", mark, 0) for space in ("aten", *OTHER_SPACES)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel is overridden is what is wanted
            for operator in overloads:
                space, _, overload = operator.partition("::")
                name = overload.partition(".")[0]
                refusal = refusal_of(name.strip("_"))
                for key in OTHER_KEYS if space != "aten" else ("CPU",) if DERIVATIVE in name else KEYS:
                    libraries[space].impl(overload, key, refusal, False)
            for operator, key in rare:
                overload = operator.partition("::")[2]
                refusal = refusal_of(overload.partition(".")[0].strip("_"))
                libraries["aten"].impl(overload, key, refusal, False)
        with without_methods(methods_of(GRAPH_RUNNERS)):
            yield
    finally:
        for library in libraries.values():
            library.reset()


def is_meant(operator: str, names: set[str]) -> bool:
    """Is this overload one of an operator with one of these names, or another one that does the same?"""
    space, _, overload = operator.partition("::")
    name = overload.partition(".")[0]
    return name in names if space == "aten" else space in OTHER_SPACES and is_another(name, names)


def is_another(name: str, names: set[str]) -> bool:
    """Does an operator of another collection do what one of these does?"""
    return AT_THE_END in name or any(known.strip("_") in name for known in names)


def refusal_of(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{REFUSED} `{name}`")

    return refuse


def methods_of(ways: Sequence[tuple[str, Sequence[str]]]) -> list[Any]:
    """Functions of torch that are written in C, where this torch has them: methods of a class, or the named one."""
    found = []
    for name, methods in ways:
        owner = getattr(torch._C, name, None)
        if methods:
            made = [vars(owner).get(method) for method in methods] if isinstance(owner, type) else []
            found += [getattr(method, "__func__", method) for method in made if method is not None]
        elif owner is not None:
            found.append(genuine(owner, name))
    return found


def genuine(function: Any, name: str) -> Any:
    """torch's own function, and not something that a notebook has put in its place."""
    if type(function) is not types.BuiltinFunctionType or function.__name__ != name:
        fail(CHANGED)
    return function


# ---- functions written in Python ------------------------------------------------------------------------------------


def references(names: set[str]) -> list[Any]:
    """The functions that do in Python what these operators do: torch has them to compile, and they ask no dispatcher
    for the operator.
    """
    known = {name.strip("_") for name in names}
    found = [
        function
        for name, module in list(sys.modules.items())
        if module is not None and name.startswith(REFERENCES)
        for key, function in list(vars(module).items())
        if key.strip("_") in known
    ]
    for table in getattr(sys.modules.get("torch._decomp"), "global_decomposition_table", {}).values():
        found += [function for operator, function in list(table.items()) if getattr(operator, "_opname", "") in names]
    functions: dict[int, Any] = {}
    for function in found:
        while isinstance(function, types.FunctionType) and id(function) not in functions:
            functions[id(function)] = function
            function = getattr(function, "__wrapped__", None)  # whoever has this one could call it instead
    return list(functions.values())


def functions_in(packages: Sequence[str]) -> list[Any]:
    """Every function that was written in one of these packages, methods of classes with them."""
    inside = tuple(f"{name}." for name in packages)
    modules = [made for name, made in list(sys.modules.items()) if name in packages or name.startswith(inside)]
    found: dict[int, Any] = {}
    for owner in modules:
        things = list(vars(owner).values()) if type(owner) is types.ModuleType else []  # not a way to load one
        things += [one for kind in things if issubclass(type(kind), type) for one in list(vars(kind).values())]
        things = [one.__func__ if type(one) in (classmethod, staticmethod) else one for one in things]
        own = [one for one in things if type(one) is types.FunctionType]
        found |= {id(one): one for one in own if one.__module__ in packages or str(one.__module__).startswith(inside)}
    return list(found.values())


def recorded() -> list[Any]:
    """Functions that torch.fx has made by recording other ones, and what runs such a recording node by node."""
    loader = getattr(sys.modules.get("torch.fx.graph_module"), "_loader", None)
    if not getattr(loader, "eval_cache", None):
        return []
    made = [one for one in gc.get_objects() if type(one) is types.FunctionType]
    found = [one for one in made if one.__code__.co_filename.startswith(RECORDED)]
    return [*found, found_at("torch.fx.interpreter.Interpreter.run")]


@contextlib.contextmanager
def without_modules(names: Sequence[str]) -> Iterator[None]:
    """These modules cannot be imported."""
    sys.modules.update(dict.fromkeys(names))  # type: ignore[arg-type]  # None: there is no such module
    try:
        yield
    finally:
        for name in names:
            sys.modules.pop(name, None)


@contextlib.contextmanager
def without_compiled() -> Iterator[None]:
    """What torch.compile has made of a function is not used: it has operators of its own.

    The function itself is called.
    """
    frames = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
    with contextlib.ExitStack() as stack:
        if frames is not None:
            stack.enter_context(without_methods([genuine(frames.set_eval_frame, "set_eval_frame")]))
        if (
            "torch._inductor.output_code" in sys.modules
        ):  # else nothing has been compiled, and to look for it would import it
            compiled = found_at("torch._inductor.output_code.CompiledFxGraph.__call__")
            stack.enter_context(without_function(compiled, "torch.compile"))
        yield


def found_at(path: str) -> Any:
    """The function with this name, if its module has been imported: what has not been cannot be called either."""
    parts = path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        found: Any = sys.modules.get(".".join(parts[:length]))
        if found is not None:
            for part in parts[length:]:
                found = getattr(found, part, None)
            return found
    return None


@contextlib.contextmanager
def without_function(function: Any, name: str) -> Iterator[None]:
    """Other code for this function, wherever it is known: the function stays the same object."""
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        yield
        return
    before = function.__code__
    function.__code__ = refusing_code(name, before.co_freevars)
    try:
        yield
    finally:
        function.__code__ = before


def refused(*args: Any, **kwargs: Any) -> Any:
    """What a function does whose code was replaced; the sentence is put in its place."""
    raise RuntimeError("REFUSED")


def refusing_code(name: str, free: tuple[str, ...]) -> types.CodeType:
    """The code of a function that refuses, with as many free variables as the one whose place it takes.

    Nothing is compiled for it: autograd alone has some hundred functions.
    """
    code = refused.__code__
    constants = tuple(f"{REFUSED} `{name}`" if one == "REFUSED" else one for one in code.co_consts)
    return code.replace(co_consts=constants, co_freevars=free)


# ---- autograd -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def without_autograd() -> Iterator[None]:
    """No graph is recorded, and the doors to the engine (backward, grad, everything in torch.func) lead nowhere."""
    engine = type(torch.autograd.Variable._execution_engine)
    doors = [engine.__dict__["run_backward"], torch._C._enter_dual_level, *methods_of(DISPATCHER_DOORS)]
    graphs = [kind for kind in object.__subclasses__() if "next_functions" in vars(kind)]  # recorded before
    with without_methods(doors), without_calls(graphs), torch._C._AutoDispatchBelowAutograd():
        if (torch.ones(1).requires_grad_() + 1).requires_grad:  # somebody has put something else there
            fail(CHANGED)
        yield


class MethodDefinition(ctypes.Structure):
    """How CPython describes a function written in C."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
def do_nothing(owner: Any, args: Any, kwargs: Any) -> None:  # an exception cannot pass through ctypes
    return None


@contextlib.contextmanager
def without_methods(methods: Sequence[Any]) -> Iterator[None]:
    """Functions written in C that do nothing for a while, through every reference to them."""
    known = [definition for method in methods if (definition := definition_of(method)) is not None]
    before = [definition.function for definition in known]
    try:
        for definition in known:
            definition.function = ctypes.cast(do_nothing, ctypes.c_void_p).value
        yield
    finally:
        for definition, function in zip(known, before, strict=True):
            definition.function = function


# How a class begins in CPython: sixteen words, the fourth its name, and then what a call of one of its objects does.
# A wrapper around such a function has it as its seventh word.
NAME, CALL, WRAPPED = (words * ctypes.sizeof(ctypes.c_void_p) for words in (3, 16, 6))


@contextlib.contextmanager
def without_foreign_functions() -> Iterator[None]:
    """What is called through ctypes or cffi does nothing: torch's own library could be reached in that way.

    For the examiner only: in a person's kernel other threads may need it.
    """
    kinds = subclasses(ctypes._CFuncPtr)  # type: ignore[attr-defined]
    kinds += [kind for name, kind in vars(sys.modules.get("_cffi_backend", types)).items() if "CData" in name]
    with without_methods([_ctypes.call_function, _ctypes.call_cdeclfunction]), without_calls(kinds):
        yield


@contextlib.contextmanager
def without_calls(kinds: Sequence[type]) -> Iterator[None]:
    """A call of an object of these classes, which are written in C, does nothing."""
    if ctypes.c_char_p.from_address(id(ctypes._CFuncPtr) + NAME).value != b"_ctypes.CFuncPtr":  # type: ignore[attr-defined]
        yield  # another Python
        return
    slots = [ctypes.c_void_p.from_address(id(kind) + CALL) for kind in kinds]
    wrappers = [vars(kind).get("__call__") for kind in kinds]  # another way to the same
    slots += [
        ctypes.c_void_p.from_address(id(one) + WRAPPED) for one in wrappers if type(one) is types.WrapperDescriptorType
    ]
    calls = [slot.value for slot in slots]
    nothing = ctypes.cast(do_nothing, ctypes.c_void_p).value
    try:
        for slot, call in zip(slots, calls, strict=True):
            slot.value = nothing if call else None
        yield
    finally:
        for slot, call in zip(slots, calls, strict=True):
            slot.value = call


def subclasses(kind: type) -> list[type]:
    """A class and all below it."""
    below: list[type] = kind.__subclasses__()
    return [kind, *(lower for one in below for lower in subclasses(one))]


def definition_of(method: Any) -> MethodDefinition | None:
    """None where this Python is not CPython, or keeps the definition elsewhere."""
    places = {types.BuiltinFunctionType: 0, types.MethodDescriptorType: 3 * ctypes.sizeof(ctypes.c_void_p)}
    if type(method) not in places:
        fail(CHANGED)
    if sys.implementation.name != "cpython":
        return None
    address = ctypes.c_void_p.from_address(id(method) + object.__basicsize__ + places[type(method)]).value
    return None if address is None else MethodDefinition.from_address(address)
