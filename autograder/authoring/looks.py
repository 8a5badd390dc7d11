"""Cells marked `look=true`: what the build refuses, and what `course verify --looks` compares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from autograder.authoring.problem import Problem
from autograder.authoring.source import bound_names, line_of_name
from autograder.model import looks
from autograder.model.notebook import Cell

HARMLESS = {"getattr"}  # in a given cell: its author knows what it reads


def not_needed(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    """What a marked cell makes is used by other marked cells only, and it does nothing that others could notice."""
    code = [cell for cell in cells if cell.kind == "code"]
    marked = [cell for cell in code if cell.is_look]
    if not marked:
        return
    written = {cell.name for cell in cells if cell.is_manual}
    others = [(cell, looks.used(cell.source)) for cell in code if not cell.is_look]
    for cell in marked:
        if cell.look_for and cell.look_for not in written:
            yield Problem(path, cell.line - 1, f"look={cell.look_for!r}: there is no such written question")
        for word in sorted(looks.traces(cell.source) - HARMLESS):
            yield Problem(path, cell.line - 1, f"`look=true`, but the cell uses `{word}`: what it does may be noticed")
        for other, used in others:
            for name in sorted(bound_names(cell) & used):
                where = f"the cell at line {other.line} uses `{name}`, which this one binds"
                yield Problem(path, line_of_name(cell, name), f"`look=true`, but {where}: rename it, or drop the mark")
    for cell, _ in others:
        if cell.is_test or cell.is_solution or cell.is_generated:
            continue
        for word in sorted((looks.traces(cell.source) & looks.REACH) - HARMLESS):
            advice = "no cell of the notebook can have `look=true`"
            yield Problem(path, line_of_name(cell, word), f"with `{word}` this cell may use any name: {advice}")


def differences(without: Iterable[dict[str, Any]], with_looks: Iterable[dict[str, Any]]) -> list[str]:
    """Variants whose score or hints are others when the marked cells run; both as `Outcome.as_dict`."""
    found = []
    run = {(one["exercise"], one["kind"], one["name"]): one for one in with_looks}
    for one in without:
        other = run[one["exercise"], one["kind"], one["name"]]
        for key in ("earned", "hints", "verdict"):
            if one[key] != other[key]:
                found.append(
                    f"{one['exercise']}: {one['name']!r} depends on cells with `look=true`: {key} {one[key]!r} without"
                    f" them, {other[key]!r} with them"
                )
    return found
