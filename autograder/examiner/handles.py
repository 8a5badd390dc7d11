"""Handles on objects that live in the student's process, and names of library functions that both processes know."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from helpers.checks import student_side

if TYPE_CHECKING:
    from autograder.examiner.bridge import Bridge

# Where functions are looked for whose own module cannot be imported.
HOME_MODULES = ["torch", "torch.nn.functional", "torch.nn", "torch.linalg", "torch.special"]
HOME_MODULES += ["math", "numpy", "operator", "builtins"]
LIBRARIES = ["torch", "numpy", "math", "operator", "builtins", "helpers"]
LIBRARIES += ["collections", "itertools", "functools", "random"]
# Attributes with two underscores that are read in the student's process; Python looks for others on its own.
SPECIAL_NAMES = ("__name__", "__doc__", "__qualname__", "__len__", "__getitem__")


class Handle:
    """Something that lives in the student's process.

    It can be used, but not compared: the student's code would give the answer.
    """

    __slots__ = ("_bridge", "_kind", "_name", "_number", "_type")
    __hash__ = object.__hash__

    def __init__(self, bridge: Bridge, number: int, kind: str, type_name: str) -> None:
        fields = {"bridge": bridge, "number": number, "kind": kind, "type": type_name, "name": ""}
        for key, value in fields.items():
            object.__setattr__(self, f"_{key}", value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._bridge.call(self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in SPECIAL_NAMES:
            raise AttributeError(name)
        return self._bridge.ask("attr", (self, name))

    def __setattr__(self, name: str, value: Any) -> None:
        self._bridge.ask("setattr", (self, name, value))

    def __getitem__(self, index: Any) -> Any:
        return self._bridge.ask("item", (self, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._bridge.ask("setitem", (self, index, value))

    def __len__(self) -> int:
        length = self._bridge.ask("len", self)
        if type(length) is not int or length < 0:
            raise TypeError("a length must be a number")
        return length

    def __iter__(self) -> Iterator[Any]:
        iterator = self._bridge.ask("iter", self)
        while True:
            items = self._bridge.ask("next", iterator)
            if type(items) is not list or len(items) > 1:
                raise TypeError("this object cannot be iterated over")
            if not items:
                return
            yield items[0]

    def __next__(self) -> Any:
        items = self._bridge.ask("next", self)
        if type(items) is not list or len(items) > 1:
            raise TypeError("this object is no iterator")
        if not items:
            raise StopIteration
        return items[0]

    def __instancecheck__(self, value: Any) -> bool:
        return student_side.isinstance(value, self) is True

    def __contains__(self, item: Any) -> bool:
        return self._bridge.ask("contains", (self, item)) is True

    def __deepcopy__(self, memo: Any) -> Any:
        return self._bridge.ask("deepcopy", self)

    def __repr__(self) -> str:
        return f"<the student's {self._name or self._type}>"

    def _refuse(self, *others: Any) -> Any:
        advice = "Return numbers, text, lists or tensors."
        raise TypeError(f"{self!r} is not plain data: it cannot be compared, added or tested for truth here. {advice}")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = __index__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __mod__ = __floordiv__ = _refuse
    __neg__ = __abs__ = __and__ = __or__ = __invert__ = _refuse
    __hash__ = object.__hash__  # again: a class that defines __eq__ loses its hash


def handles_in(value: Any) -> Iterator[Handle]:
    """Handles in nested lists, tuples and dictionaries, in order."""
    if isinstance(value, Handle):
        yield value
    elif type(value) in (list, tuple):
        for item in value:
            yield from handles_in(item)
    elif type(value) is dict:
        for item in value.values():
            yield from handles_in(item)


FUNCTIONS = types.FunctionType | types.BuiltinFunctionType | types.MethodDescriptorType
NAMED_KINDS = FUNCTIONS | type | np.ufunc | torch.jit.ScriptFunction


def public_name(value: Any) -> list[str] | None:
    """Module and name of a library's function or class; None for anything else."""
    if not isinstance(value, NAMED_KINDS):
        return None
    names = dict.fromkeys(str(name) for key in ("__qualname__", "__name__") if (name := getattr(value, key, None)))
    own = getattr(value, "__module__", None) or ""
    for module in (own, *HOME_MODULES):
        if module.partition(".")[0] not in LIBRARIES:
            continue
        for name in names:
            known: Any = sys.modules.get(module)
            for part in name.split("."):
                known = getattr(known, part, None)
            if known is value:
                return [module, name]
    return None
