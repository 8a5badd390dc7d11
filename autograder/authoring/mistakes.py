"""Named wrong answers, and right answers that look different: what an assignment's tests are tested against."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.model.course import CourseError
from autograder.model.notebook import Cell

GRAVITIES = ("idea", "part", "edge")


@dataclass(frozen=True)
class Variant:
    """Another answer to an exercise: whole `code`, or the reference solution with some text changed."""

    name: str
    code: str = ""
    change: Mapping[str, str] = field(default_factory=dict)

    def source(self, cell: Cell) -> str:
        """The student's cell with this answer in it."""
        if self.code:
            return self.code.strip("\n")
        text = cell.source
        for old, new in self.change.items():
            if old not in text:
                raise CourseError(f"variant {self.name!r} of {cell.grade_id!r}: the solution has no {old!r} to change")
            text = text.replace(old, new)
        if text == cell.source:
            raise CourseError(f"variant {self.name!r} of {cell.grade_id!r} changes nothing: give it `code` or `change`")
        return text


@dataclass(frozen=True)
class Mistake(Variant):
    """A wrong answer. It must lose points, and the message must contain `hint`.

    `gravity` is what it is wrong about: the idea, a part that the text asks for beyond it, or an edge case. `says` is
    what grading tells an answer that gives the same results in every call of the test: a whole sentence, in place of
    `hint`.
    """

    hint: str = ""
    gravity: str = ""
    says: str = ""

    def __post_init__(self) -> None:
        if self.gravity not in ("", *GRAVITIES):
            raise CourseError(
                f"mistake {self.name!r} has the gravity {self.gravity!r}: there are {', '.join(GRAVITIES)}"
            )


@dataclass(frozen=True)
class Right(Variant):
    """A right answer that looks different. It must keep every point."""


@dataclass(frozen=True)
class Variants:
    """What one `mistakes.py` says: variants by exercise, exercises exempt from the minimum, with the reason, and
    machine-made mutants that are no mistakes, by exercise, with the reason.
    """

    by_exercise: dict[str, list[Variant]]
    exempt: dict[str, str]
    equivalent: dict[str, dict[str, str]] = field(default_factory=dict)


def load(path: Path) -> Variants:
    """Read an assignment's `mistakes.py`: `VARIANTS = {exercise: [Mistake(…), Right(…)]}`, `EXEMPT = {exercise:
    reason}`, `EQUIVALENT = {exercise: {mutant: reason}}`.
    """
    if not path.exists():
        raise CourseError(f"{path} is missing: name the wrong answers that the tests must catch")
    spec = importlib.util.spec_from_file_location("mistakes", path)
    if spec is None or spec.loader is None:
        raise CourseError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except CourseError as error:
        raise CourseError(f"{path}: {error}") from None
    except Exception as error:  # noqa: BLE001  an author's file can fail in any way
        raise CourseError(f"{path} cannot be read: {type(error).__name__}: {error}") from None
    equivalent = dict(getattr(module, "EQUIVALENT", {}))
    for exercise, reasons in equivalent.items():
        if not isinstance(reasons, dict) or not all(isinstance(why, str) and why.strip() for why in reasons.values()):
            raise CourseError(f"{path}: EQUIVALENT of {exercise!r} must give every mutant a reason: {{name: reason}}")
    return Variants(dict(getattr(module, "VARIANTS", {})), dict(getattr(module, "EXEMPT", {})), equivalent)
