"""From the bytes of a submitted file to cells, whatever version or editor it comes from.

What cannot be read is refused with the reason.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from itertools import islice
from typing import Any

from autograder.examiner.repair.cells import Cell
from autograder.model import wording
from autograder.model.record import Reason, ReasonKind, Repair, RepairKind

MOST_BYTES = 100 << 20
MOST_VALUES = 1_000_000  # objects, lists and their members: each takes a hundred times the bytes it is written with
MOST_CELLS = 5000
LONGEST_SOURCE = 2 << 20
MOST_MENDED = 20 << 20  # characters of a file that is not JSON

PICTURES = ("image/png", "image/jpeg", "image/gif")
OTHER_FORMATS = {
    b"%PDF": ReasonKind.PDF,
    b"PK\x03\x04": ReasonKind.ZIP,
    b"\x1f\x8b": ReasonKind.GZIP,
    b"<": ReasonKind.HTML,
}


class Unreadable(Exception):
    """Nothing in this file can be graded; `reason` says why."""

    def __init__(self, kind: ReasonKind, **about: Any) -> None:
        self.reason = Reason.of(kind, **about)
        super().__init__(wording.sentence(self.reason))


def read(data: bytes, repairs: list[Repair] | None = None) -> list[Cell]:
    """Cells of a submitted file. What had to be mended to read it is added to `repairs`."""
    if len(data) > MOST_BYTES:
        raise Unreadable(ReasonKind.TOO_LARGE, mb=len(data) >> 20)
    if not data.strip(b"\0 \t\r\n"):
        raise Unreadable(ReasonKind.EMPTY)
    text = decoded(data)
    if more_values_than(MOST_VALUES, text):
        raise Unreadable(ReasonKind.TOO_MANY_VALUES, most=MOST_VALUES)
    try:
        notebook = json.loads(text, strict=False)
    except RecursionError:
        raise Unreadable(ReasonKind.TOO_DEEP) from None
    except ValueError as error:
        notebook, how = mended_json(text)
        if how is None:
            raise refusal(data, text, error) from None
        if repairs is not None:
            repairs.append(how)
    return [cell for entry in raw_cells(notebook) if (cell := read_cell(entry)) is not None]


def raw_cells(notebook: Any) -> list[Any]:
    """The cells as the file has them; older formats keep them in worksheets."""
    if not isinstance(notebook, dict):
        raise Unreadable(ReasonKind.NO_CELLS)
    raw = notebook.get("cells")
    if raw is None and isinstance(notebook.get("worksheets"), list):  # nbformat 3
        raw = [
            cell for sheet in notebook["worksheets"] if isinstance(sheet, dict) for cell in (sheet.get("cells") or [])
        ]
    if not isinstance(raw, list):
        raise Unreadable(ReasonKind.NO_CELLS)
    if len(raw) > MOST_CELLS:
        raise Unreadable(ReasonKind.TOO_MANY_CELLS, count=len(raw), most=MOST_CELLS)
    return raw


def refusal(data: bytes, text: str, error: ValueError) -> Unreadable:
    """What a file is that is not JSON."""
    if without_conflict(text, True) is not None:
        return Unreadable(ReasonKind.CONFLICT)
    for mark, kind in OTHER_FORMATS.items():
        if data.lstrip().startswith(mark):
            return Unreadable(kind)
    cut = text.lstrip().startswith("{") and not text.rstrip().endswith("}")
    line = error.lineno if isinstance(error, json.JSONDecodeError) else 0
    return Unreadable(ReasonKind.CUT_OFF if cut else ReasonKind.NOT_JSON, line=line)


VALUE = re.compile(r'"(?:[^"\\]|\\.)*+"?|([{\[,])', re.DOTALL)  # a text, or a sign that a value follows


def more_values_than(most: int, text: str) -> bool:
    """Would this text, read as JSON, be more objects, lists and members? Stops counting there."""
    if text.count("{") + text.count("[") + text.count(",") <= most:
        return False
    signs = (found for found in VALUE.finditer(text) if found[1])
    return next(islice(signs, most, None), None) is not None


COMMA = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(\s*[\]}])')  # a text, which stays as it is, or a comma before a bracket


def without_conflict(text: str, ours: bool) -> str | None:
    """One version of a text with the marks of a merge conflict; None where there are none."""
    kept, side, marks = [], "", 0
    for line in text.splitlines(keepends=True):
        mark = line[:7]
        if mark in ("<<<<<<<", "|||||||", "=======", ">>>>>>>") and (side or mark == "<<<<<<<"):
            side, marks = mark.replace(">>>>>>>", ""), marks + 1
        elif side in ("", "<<<<<<<" if ours else "======="):
            kept.append(line)
    return "".join(kept) if marks else None


def mended_json(text: str) -> tuple[Any, Repair | None]:
    """A notebook out of a text that is not quite JSON, and what had to be done; None where nothing helps."""
    if len(text) > MOST_MENDED:
        return None, None
    versions = [("", text)]
    for which, ours in (("first", True), ("second", False)):
        if (version := without_conflict(text, ours)) is not None:
            versions.append((which, version))
    ways = [(which, False, version) for which, version in versions]
    ways += [(which, True, COMMA.sub(r"\1\2", version)) for which, version in versions]
    for which, commas, version in ways:
        with suppress(ValueError, RecursionError):
            notebook, end = json.JSONDecoder(strict=False).raw_decode(version.lstrip())
            behind = len(version.strip()) - end
            return notebook, Repair.of(RepairKind.NOT_QUITE_JSON, version=which, commas=commas, behind=behind)
    return None, None


def decoded(data: bytes) -> str:
    encoding = json.detect_encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return data.decode("latin-1" if encoding.startswith("utf-8") else encoding, "replace")


def read_cell(entry: Any) -> Cell | None:
    if not isinstance(entry, dict):
        return None
    kind = entry.get("cell_type")
    kind = kind if kind in ("code", "markdown", "raw") else "markdown"
    source = entry.get("source", entry.get("input", ""))
    if isinstance(source, list):
        parts = [part for part in source if isinstance(part, str)]
        source = ("" if "\n" in "".join(parts) else "\n").join(parts)  # some programs leave out the ends of the lines
    if not isinstance(source, str):
        source = ""
    metadata = entry.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    own = entry.get("id") or metadata.get("id") or ""  # Colab keeps ids in the metadata
    source = source[:LONGEST_SOURCE].encode("utf-8", "replace").decode()
    made = Cell(kind, source, metadata, own if isinstance(own, str) else "", pictures(entry.get("attachments")))
    if kind == "code" and isinstance(entry.get("outputs"), list):
        made.outputs = entry["outputs"]
    return made


def pictures(attachments: Any) -> dict[str, Any]:
    """Pictures pasted into a text cell, as far as they are what the format says: name, type, data."""
    kept = {}
    for name, bundle in attachments.items() if isinstance(attachments, dict) else ():
        if not isinstance(bundle, dict):
            continue
        if data := {kind: data for kind, data in bundle.items() if kind in PICTURES and isinstance(data, str)}:
            kept[name] = data
    return kept
