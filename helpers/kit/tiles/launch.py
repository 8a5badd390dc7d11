"""`@triton.jit` and `kernel[grid](…)`: a kernel's text becomes a function, and runs once for every program.

Programs run one after the other, in an order that is shuffled in the same way every time: a kernel that needs another
order is wrong on a GPU.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import importlib
import inspect
import linecache
import random
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from helpers.kit.tiles.blocks import Block, Pointer, block_of, constexpr
from helpers.kit.tiles.faults import NOWHERE, KernelError, Place, Refused
from helpers.kit.tiles.memory import Array, Memory
from helpers.kit.tiles.refusals import check
from helpers.kit.tiles.types import TORCH

# By its name: in grading the examiner sends fresh modules, and `from … import language` could give an older one.
language = importlib.import_module("helpers.kit.tiles.language")

OPTIONS = {"num_warps", "num_stages", "num_ctas", "maxnreg"}  # for the compiler; they change nothing here
MOST_PROGRAMS = 1 << 16


class Traffic(NamedTuple):
    """What one launch moved and computed: bytes, floating-point operations in dots, programs; and its arrays."""

    loaded: int
    stored: int
    added: int
    flops: int
    programs: int
    arrays: dict[str, torch.Tensor]


class Argument(NamedTuple):
    """What a program gets for one parameter: an array's place, a constant, or a number."""

    kind: str  # "array", "constant", "number"
    value: Any


class Kernel:
    """A function in Triton's language, as text: it is read, refused or compiled from there, and never run as Python.

    `text` may define other kernels and constants that this one names; what it does not define is looked for in `scope`.
    """

    def __init__(
        self, name: str, text: str, scope: Mapping[str, Any], first_line: int = 0, doc: str | None = None
    ) -> None:
        self.__name__, self.__doc__ = name, doc
        self.text, self.scope, self.first_line = text, scope, first_line  # 0: lines are told by their text only
        self.lines = text.splitlines()
        self._tree: ast.FunctionDef | None = None
        self._compiled: Callable[..., Any] | None = None

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if language.running.memory is None:
            raise Refused(f"a kernel is launched with a grid: `{self.__name__}[grid](…)`")
        return self.compiled()(*args, **kwargs)

    def __getitem__(self, grid: Any) -> Callable[..., Traffic]:
        return lambda *args, **kwargs: launch(self, grid, args, kwargs)

    def tree(self) -> ast.FunctionDef:
        if self._tree is None:
            found = [n for n in ast.parse(self.text).body if isinstance(n, ast.FunctionDef) and n.name == self.__name__]
            if not found:
                raise Refused(
                    f"the text of `{self.__name__}` cannot be read: define it with `def`, in a cell or a file"
                )
            self._tree = found[-1]
        return self._tree

    def checked(self) -> dict[str, Any]:
        """Refuse what no kernel may contain. Gives the other kernels and constants that this one names."""
        if stub(self.tree()):
            raise NotImplementedError
        names = dict(self.names_from_outside())
        check(self.tree(), names, self.place)
        return names

    def compiled(self) -> Callable[..., Any]:
        """The kernel as a function of blocks and pointers, once its text has been read."""
        if self._compiled is not None:
            return self._compiled
        names = self.checked()
        function = copy.deepcopy(self.tree())
        function.decorator_list, function.returns = [], None
        for argument in parameters(function):
            argument.annotation = None
        filename = f"<kernel {self.__name__}>"
        linecache.cache[filename] = (len(self.text), None, [f"{line}\n" for line in self.lines], filename)
        namespace: dict[str, Any] = {**WORDS, **names, language.KERNEL_MARK: self}
        exec(compile(ast.Module([function], []), filename, "exec"), namespace)
        self._compiled = namespace[self.__name__]
        return self._compiled

    def names_from_outside(self) -> Iterator[tuple[str, Any]]:
        """Other kernels and global constants that this one may name."""
        mentioned = {node.id for node in ast.walk(self.tree()) if isinstance(node, ast.Name)} - {self.__name__}
        defined = dict(definitions(self.text))
        for name in sorted(mentioned):
            value: Any = defined.get(name, self.scope.get(name))
            if isinstance(value, ast.FunctionDef):
                yield name, Kernel(name, self.text, self.scope, self.first_line)
            elif isinstance(value, Kernel):
                yield name, value
            elif type(value).__name__ == "constexpr":
                yield name, value.value
            elif any(kind.__name__ == "JITFunction" for kind in type(value).__mro__):  # real Triton's
                yield name, jit(value.fn)

    def signature(self) -> inspect.Signature:
        """The parameters, read from the text."""
        arguments = self.tree().args
        defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + [*arguments.defaults]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        made = []
        for argument, default in zip(arguments.args, defaults, strict=True):
            value = inspect.Parameter.empty if default is None else ast.literal_eval(default)
            made.append(inspect.Parameter(argument.arg, kind, default=value))
        return inspect.Signature(made)

    def constants(self) -> set[str]:
        """Parameters that are known when the kernel is compiled."""
        marked = ((a.arg, a.annotation) for a in parameters(self.tree()))
        return {name for name, note in marked if note is not None and ast.unparse(note).endswith("constexpr")}

    def place(self, number: int) -> Place:
        """A line of the kernel, by its number in the kernel's text; told by its number in the cell."""
        if not 0 < number <= len(self.lines):
            return NOWHERE
        told = self.first_line - 1 + number if self.first_line else 0
        return Place(told, self.lines[number - 1].strip())


def parameters(function: ast.FunctionDef) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def definitions(text: str) -> Iterator[tuple[str, Any]]:
    """Functions of a text, and its constants, `NAME = tl.constexpr(…)`."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.Assign) and ast.unparse(node.value).partition("(")[0].endswith("constexpr"):
            target, value = node.targets[0], node.value
            if isinstance(target, ast.Name) and isinstance(value, ast.Call) and len(value.args) == 1:
                with contextlib.suppress(ValueError):  # not a literal: then the name is not known
                    yield target.id, constexpr(ast.literal_eval(value.args[0]))


def stub(function: ast.FunctionDef) -> bool:
    """Is this still what students are given?"""
    return any(isinstance(node, ast.Raise) and "NotImplementedError" in ast.unparse(node) for node in function.body)


def minimum_of(*values: Any) -> Any:
    return extreme(language.minimum, builtins.min, values)


def maximum_of(*values: Any) -> Any:
    return extreme(language.maximum, builtins.max, values)


def extreme(of_blocks: Callable[..., Any], of_numbers: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    if not any(isinstance(value, Block) for value in values):
        return of_numbers(*values)
    first, *others = values
    for value in others:
        first = of_blocks(first, value)
    return first


def absolute(x: Any) -> Any:
    return language.abs(x) if isinstance(x, Block) else builtins.abs(x)


WORDS: dict[str, Any] = {
    "__builtins__": {},
    "tl": language,
    "range": language.block_range,
    "min": minimum_of,
    "max": maximum_of,
    "abs": absolute,
    "float": float,
    "int": int,
}


# ---- launching -------------------------------------------------------------------------------------------------------


def bound(kernel: Kernel, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a launch by name, options for the compiler left out."""
    given = {name: value for name, value in kwargs.items() if name not in OPTIONS}
    try:
        binding = kernel.signature().bind(*args, **given)
    except TypeError as error:
        raise TypeError(f"{kernel.__name__}: {error}") from None
    binding.apply_defaults()
    return dict(binding.arguments)


def sides(grid: Any, arguments: Mapping[str, Any]) -> tuple[int, int, int]:
    """The grid as three numbers."""
    grid = grid(dict(arguments)) if callable(grid) else grid
    numbers = tuple(int(n) for n in (grid if isinstance(grid, tuple | list) else (grid,)))
    if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
        raise Refused(f"a grid has one to three sides of at least 1, not {numbers}")
    across, down, deep = (*numbers, 1, 1)[:3]
    if across * down * deep > MOST_PROGRAMS:
        raise Refused(f"{across * down * deep} programs are too many for the simulator")
    return across, down, deep


def prepared(
    kernel: Kernel, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Memory, dict[str, Array], dict[str, Argument]]:
    """The memory of a launch, its arrays by name, and what every program gets."""
    given = bound(kernel, args, kwargs)
    constants = kernel.constants()
    whole = [value for value in given.values() if type(value) is int]
    arrays: dict[str, Array] = {}
    arguments: dict[str, Argument] = {}
    for name, value in given.items():
        value = value.value if type(value).__name__ == "constexpr" else value
        if isinstance(value, torch.Tensor) and name not in constants:
            arguments[name] = Argument("array", (len(arrays), str(value.dtype)))
            arrays[name] = Array(name, value, whole)
        elif name in constants:
            arguments[name] = Argument("constant", value)
        elif isinstance(value, bool | int | float):
            arguments[name] = Argument("number", value)
        else:
            kind = type(value).__name__
            raise Refused(f"`{name}` is a {kind}: a kernel takes tensors and numbers (constants as `tl.constexpr`)")
    memory = Memory(arrays, sides(grid, given))
    memory.place = kernel.place
    return memory, arrays, arguments


def order(grid: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """All programs, shuffled."""
    across, down, deep = grid
    programs = [(i, j, k) for k in range(deep) for j in range(down) for i in range(across)]
    random.Random(len(programs)).shuffle(programs)
    return programs


def run_program(
    kernel: Kernel,
    memory: Any,
    program: tuple[int, int, int],
    grid: tuple[int, int, int],
    arguments: Mapping[str, Argument],
) -> None:
    """Run one program. `memory` is a `Memory`, or, in grading, stands for one in the examiner's process."""
    function = kernel.compiled()
    values: dict[str, Any] = {}
    for name, (kind, value) in arguments.items():
        if kind == "array":
            element = TORCH[getattr(torch, value[1].removeprefix("torch."))]
            values[name] = Pointer(value[0], np.asarray(0), element, name)
        else:
            values[name] = value if kind == "constant" else block_of(value)
    running = language.running
    before = running.memory, running.program, running.grid
    running.memory, running.program, running.grid = memory, program, grid
    try:
        with np.errstate(all="ignore"):
            function(**values)
    except KernelError as error:
        if error.place == NOWHERE:
            error.place = kernel.place(line_of(error))
        raise
    except (TypeError, AttributeError, NameError, ZeroDivisionError) as error:
        raise Refused(f"this does not work in a kernel: {error}", kernel.place(line_of(error))) from None
    finally:
        running.memory, running.program, running.grid = before


def line_of(error: BaseException) -> int:
    """The innermost line of a kernel that an exception came through."""
    found, trace = 0, error.__traceback__
    while trace is not None:
        if language.KERNEL_MARK in trace.tb_frame.f_globals:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def launch(
    kernel: Kernel,
    grid: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    watcher: Callable[[Any], None] | None = None,
) -> Traffic:
    """Run all programs of a launch here. The tensors are changed, and what was moved is counted."""
    kernel.compiled()
    memory, arrays, arguments = prepared(kernel, grid, args, kwargs)
    memory.watcher = watcher
    for program in order(memory.grid):
        memory.begin(program)
        run_program(kernel, memory, program, memory.grid, arguments)
    return counted(memory, arrays)


def counted(memory: Memory, arrays: Mapping[str, Array]) -> Traffic:
    changed = {name: array.written_back() for name, array in arrays.items()}
    return Traffic(memory.loaded, memory.stored, memory.added, memory.flops, memory.programs, changed)


def jit(function: Callable[..., Any]) -> Kernel:
    """A function in Triton's language; it is read when it is launched for the first time."""
    try:
        lines, first_line = inspect.getsourcelines(function)
    except (OSError, TypeError):
        lines, first_line = [], 0
    text = textwrap.dedent("".join(lines))
    made = Kernel(function.__name__, text, function.__globals__, first_line, function.__doc__)
    made.__wrapped__ = function  # type: ignore[attr-defined]
    return made


def cdiv(x: int, y: int) -> int:
    """How many blocks of y cover x."""
    return -(-x // y)


def next_power_of_2(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


__all__ = ["Kernel", "Traffic", "cdiv", "constexpr", "jit", "launch", "next_power_of_2"]
