"""`Failed`: what stands for a result that did not come, and the exceptions and sentences around it.

A `Failed` absorbs whatever the test does with it next, so every check that needs the result is reached and fails with
the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

NOTHING = "nothing came back (None): is a `return` missing?"
TWO_SIDED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
ONE_SIDED = ("neg", "pos", "abs", "invert", "lt", "le", "gt", "ge", "eq", "ne")


class Unwritten(NamedTuple):
    """A function or class that is still the stub students are given, and what its docstring asks for."""

    name: str
    asked: str

    def sentence(self) -> str:
        what = f"`{self.name}`" if self.name else "your answer"
        return (
            "not written yet: in place of `raise NotImplementedError()`, write"
            f" {what}{': ' + self.asked if self.asked else ''}"
        )


class Failed:
    """What student code returned when it returned nothing usable.

    It absorbs whatever the test does with it next, so that the checks that depend on it are reached and fail with the
    reason, while the checks that do not depend on it still count.
    """

    def __init__(self, reason: str, safe_reason: str, unwritten: Unwritten | None = None) -> None:
        self.__dict__.update(reason=reason, safe_reason=safe_reason, unwritten=unwritten)

    def __getattr__(self, name: str) -> Failed:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Failed:
        return self

    def __getitem__(self, index: Any) -> Failed:
        return self

    def __iter__(self) -> Iterator[Any]:
        consumed.append(self)
        return iter(())

    def __len__(self) -> int:
        consumed.append(self)
        return 0

    def __bool__(self) -> bool:
        consumed.append(self)
        return False

    def __float__(self) -> float:
        consumed.append(self)
        return float("nan")

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<failed: {self.__dict__['reason']}>"

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Failed:
        found = first_failure((args, kwargs or {}))
        return cls("unknown", "unknown") if found is None else found

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Failed:
        return self

    def __array_function__(self, *args: Any, **kwargs: Any) -> Failed:
        return self


# Python insists on a real list, truth value or number in some places. A `Failed` that was used there is noted, and a
# result that was
# computed from it counts as failed, too (see `quiet.guarded`).
consumed: list[Failed] = []


def _absorb(self: Failed, *args: Any) -> Failed:
    return self


for _name in (*TWO_SIDED, *(f"r{name}" for name in TWO_SIDED), *ONE_SIDED):
    setattr(Failed, f"__{_name}__", _absorb)


class StudentError(Exception):
    """Carries a `Failed` out of nested course code, for example out of a call-back."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(repr(failed))
        self.failed = failed


def first_failure(value: Any) -> Failed | None:
    """The first `Failed` inside nested tuples, lists and dicts, or None."""
    if isinstance(value, Failed):
        return value
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        return next((found for item in value if (found := first_failure(item)) is not None), None)
    return None


def fail(reason: str) -> NoReturn:
    """Raise a student-facing failure from course code that runs inside `guarded`."""
    raise StudentError(Failed(reason, reason))


def not_written(stub: Unwritten) -> Failed:
    return Failed(stub.sentence(), stub.sentence(), stub)


def first_paragraph(docstring: str | None) -> str:
    return " ".join((docstring or "").strip().split("\n\n")[0].split())[:300]


def run_first(name: str) -> str:
    return f"run the cell above first: `{name}` is not defined yet"
