"""Damaged notebooks become gradable ones, and every repair is on the record.

The instructor's cells are the frame: each is looked for in the submission by its id, then by its text, then by its place. What is found
gives the student's text for cells the student may write; everything else is the instructor's. Cells of the student's own stay where they
were. What cannot be read at all is refused with the reason.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

MOST_BYTES = 100 << 20
MOST_CELLS = 5000
LONGEST_SOURCE = 2 << 20
LONGEST_ANSWER = 200_000  # characters; what is longer is run, but not looked at to recognise a cell


PICTURES = ("image/png", "image/jpeg", "image/gif")
OTHERS = {
    b"%PDF": "it is a PDF",
    b"PK\x03\x04": "it is a zip archive",
    b"\x1f\x8b": "it is a gzip archive",
    b"<": "it is a web page (HTML)",
}


class Unreadable(Exception):
    """Nothing in this file can be graded; the text says why."""


@dataclass
class Cell:
    """One cell, of the instructor's notebook or of a submission."""

    kind: str
    source: str
    metadata: dict[str, Any]
    id: str = ""
    attachments: dict[str, Any] = field(default_factory=dict)

    @property
    def nbgrader(self) -> dict[str, Any]:
        found = self.metadata.get("nbgrader")
        return found if isinstance(found, dict) else {}

    @property
    def name(self) -> str:
        name = self.nbgrader.get("grade_id", "")
        return name if isinstance(name, str) else ""

    @property
    def written_by_student(self) -> bool:
        return bool(self.nbgrader.get("solution")) and not self.nbgrader.get("locked", False)

    @property
    def is_test(self) -> bool:
        return self.kind == "code" and bool(self.nbgrader.get("grade")) and not self.nbgrader.get("solution")


@dataclass
class Repaired:
    """The notebook to grade, what had to be mended, and what looks like more than an accident."""

    cells: list[Cell]
    repairs: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)


def read(data: bytes, repairs: list[str] | None = None) -> list[Cell]:
    """Cells of a submitted file, whatever version or editor it comes from."""
    if len(data) > MOST_BYTES:
        raise Unreadable(f"the file has {len(data) >> 20} MB, more than a notebook can have")
    if not data.strip(b"\0 \t\r\n"):
        raise Unreadable("the file is empty")
    text = decoded(data)
    try:
        notebook = json.loads(text)
    except RecursionError:
        raise Unreadable("the file is nested too deeply to be a notebook") from None
    except ValueError as error:
        try:  # a whole notebook with something behind it
            notebook, end = json.JSONDecoder().raw_decode(text.lstrip())
        except (ValueError, RecursionError):
            place = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
            cut = "it seems to be cut off" if text.lstrip().startswith("{") and not text.rstrip().endswith("}") else "it is not JSON"
            what = next((name for mark, name in OTHERS.items() if data.lstrip().startswith(mark)), f"{cut}{place}")
            what = "it holds the marks of a merge conflict" if "\n<<<<<<< " in text else what
            raise Unreadable(f"the file is not a notebook: {what}") from None
        if repairs is not None:
            repairs.append(f"{len(text.lstrip()) - end} characters behind the end of the notebook were left out")
    if not isinstance(notebook, dict):
        raise Unreadable("the file is not a notebook: it holds no cells")
    raw = notebook.get("cells")
    if raw is None and isinstance(notebook.get("worksheets"), list):  # nbformat 3
        raw = [cell for sheet in notebook["worksheets"] if isinstance(sheet, dict) for cell in (sheet.get("cells") or [])]
    if not isinstance(raw, list):
        raise Unreadable("the file is not a notebook: it holds no cells")
    if len(raw) > MOST_CELLS:
        raise Unreadable(f"the notebook has {len(raw)} cells, more than {MOST_CELLS}")
    return [cell for entry in raw if (cell := read_cell(entry)) is not None]


def decoded(data: bytes) -> str:
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"", "utf-8-sig")):
        if data.startswith(mark):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                return data.decode("latin-1" if encoding == "utf-8-sig" else encoding, "replace")
    return data.decode("utf-8", "replace")


def read_cell(entry: Any) -> Cell | None:
    if not isinstance(entry, dict):
        return None
    kind = entry.get("cell_type")
    kind = kind if kind in ("code", "markdown", "raw") else "markdown"
    source = entry.get("source", entry.get("input", ""))
    if isinstance(source, list):
        parts = [part for part in source if isinstance(part, str)]
        source = "".join(parts)
    if not isinstance(source, str):
        source = ""
    metadata = entry.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    own = entry.get("id") or metadata.get("id") or ""  # Colab keeps ids in the metadata
    source = source[:LONGEST_SOURCE].encode("utf-8", "replace").decode()
    return Cell(kind, source, metadata, own if isinstance(own, str) else "", pictures(entry.get("attachments")))


def pictures(attachments: Any) -> dict[str, Any]:
    """Pictures pasted into a text cell, as far as they are what the format says: name, type, data."""
    found = {}
    for name, bundle in attachments.items() if isinstance(attachments, dict) else ():
        kept = (
            {kind: data for kind, data in bundle.items() if kind in PICTURES and isinstance(data, str)} if isinstance(bundle, dict) else {}
        )
        if kept:
            found[name] = kept
    return found


def repair(submitted: list[Cell], instructor: list[Cell], released: dict[str, str]) -> Repaired:
    """Match, restore, put in order. `released` is what the student was given, by cell name."""
    done = Repaired([])
    framed = [cell for cell in instructor if cell.name]
    plain = {normal(cell.source) for cell in instructor if not cell.name}
    found = match(submitted, framed, released, plain, done)
    by_submitted = {place: name for name, place in found.items()}
    order = [by_submitted[place] for place in sorted(by_submitted)]
    wanted = [cell.name for cell in framed if cell.name in found]
    if order != wanted:
        done.repairs.append("cells were in another order; they are back in the assignment's order")
    blocks = cells_between(submitted, by_submitted)
    done.cells += blocks.get("", [])
    for cell in framed:
        if cell.name in found:
            done.cells.append(restored(cell, submitted[found[cell.name]], released, done))
            written_below(done, blocks.get(cell.name, []), released, plain)
        elif elsewhere(cell, submitted, released):
            done.cells.append(Cell(cell.kind, "# (answered in another cell)", clean(cell), cell.id))
            done.repairs.append(f"the answer {cell.name!r} was found in another cell")
        else:
            done.cells.append(
                Cell(cell.kind, released.get(cell.name, cell.source) if cell.written_by_student else cell.source, clean(cell), cell.id)
            )
            what = "answer" if cell.written_by_student else "test" if cell.is_test else "locked cell"
            done.repairs.append(f"the {what} {cell.name!r} was missing; it was put back as it was given")
        done.cells += blocks.get(cell.name, [])
    return done


def written_below(done: Repaired, below: list[Cell], released: dict[str, str], plain: set[str]) -> None:
    """A text that was written into new cells right below an untouched prompt is the answer: a person has to see it."""
    cell = done.cells[-1]
    untouched = normal(cell.source) in ("", normal(released.get(cell.name, cell.source)))
    if cell.kind != "markdown" or not cell.written_by_student or not untouched:
        return
    texts = []
    while below and below[0].kind == "markdown" and normal(below[0].source) not in plain:
        moved = below.pop(0)
        texts.append(moved.source)
        cell.attachments.update(moved.attachments)
    if any(text.strip() for text in texts):
        cell.source = "\n\n".join([cell.source, *texts])
        done.repairs.append(f"the answer {cell.name!r} was written in a new cell below; it was moved to its place")


def elsewhere(cell: Cell, submitted: list[Cell], released: dict[str, str]) -> bool:
    """Does another cell define what this one is to define? Then what was given must not be put back over it."""
    wanted = defined(released.get(cell.name, cell.source)) if cell.kind == "code" and cell.written_by_student else set()
    return bool(wanted) and any(other.kind == "code" and wanted <= defined(other.source) for other in submitted)


def clean(cell: Cell) -> dict[str, Any]:
    return {"nbgrader": dict(cell.nbgrader)}


def cells_between(submitted: list[Cell], by_place: dict[int, str]) -> dict[str, list[Cell]]:
    """The student's own cells, after the cell of the assignment that they follow."""
    blocks: dict[str, list[Cell]] = {}
    after = ""
    for place, cell in enumerate(submitted):
        if place in by_place:
            after = by_place[place]
            continue
        blocks.setdefault(after, []).append(Cell(cell.kind, cell.source, {}, "", cell.attachments))
    return blocks


def restored(cell: Cell, given: Cell, released: dict[str, str], done: Repaired) -> Cell:
    """The instructor's cell with the student's text where the student may write."""
    if given.kind != cell.kind:
        done.repairs.append(f"{cell.name!r} had become a {given.kind} cell; it is a {cell.kind} cell again")
    if not given.name:
        done.repairs.append(f"{cell.name!r} had lost its metadata; it was recognised by its text or place")
    if cell.written_by_student:
        return Cell(cell.kind, given.source, clean(cell), cell.id, given.attachments)
    if normal(given.source) not in (normal(cell.source), normal(released.get(cell.name, cell.source))):
        kind = "test cell" if cell.is_test else "locked cell"
        done.edited.append(f"{kind} {cell.name!r} was edited; the instructor's version was used")
    return Cell(cell.kind, cell.source, clean(cell), cell.id)


def normal(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


# ---- matching ------------------------------------------------------------------------------------------------------------


def match(submitted: list[Cell], framed: list[Cell], released: dict[str, str], plain: set[str], done: Repaired) -> dict[str, int]:
    """Name of each of the assignment's cells to the place of its copy in the submission."""
    found: dict[str, int] = {}
    taken: set[int] = set()
    names = {cell.name: cell for cell in framed}
    nearly = {name.strip().lower(): name for name in names}
    claims: dict[str, list[int]] = {}
    for place, cell in enumerate(submitted):
        name = cell.name if cell.name in names else nearly.get(cell.name.strip().lower(), "")
        if name:
            claims.setdefault(name, []).append(place)
            taken.add(place)
        elif cell.name:
            done.repairs.append(f"a cell claimed to be {cell.name[:60]!r}, which this assignment does not have")
    for name, places in claims.items():
        found[name] = best(names[name], [(place, submitted[place]) for place in places], released)
        if len(places) > 1:
            done.repairs.append(f"there were {len(places)} cells named {name!r}; the one with the last answer counts")
    for cell in framed:  # by cell id
        if cell.name in found or not cell.id:
            continue
        places = [p for p, other in enumerate(submitted) if other.id == cell.id and p not in taken]
        if places:
            found[cell.name] = places[-1]
            taken.add(places[-1])
    shared = Counter(normal(released.get(cell.name, cell.source)) for cell in framed)
    for cell in framed:  # by text
        if cell.name in found:
            continue
        same = by_text(cell, submitted, taken, released, shared)
        if same is not None:
            found[cell.name] = same
            taken.add(same)
    by_place(submitted, framed, found, taken, plain)
    return found


def best(cell: Cell, copies: list[tuple[int, Cell]], released: dict[str, str]) -> int:
    """Of several cells with one name: the last that is not what the student was given."""
    given = normal(released.get(cell.name, cell.source))
    changed = [place for place, copy in copies if normal(copy.source) not in ("", given)]
    return changed[-1] if changed and cell.written_by_student else copies[-1][0]


def by_text(cell: Cell, submitted: list[Cell], taken: set[int], released: dict[str, str], shared: Mapping[str, int]) -> int | None:
    """A cell without a name that says the same, or that defines what this cell is to define."""
    free = [(place, other) for place, other in enumerate(submitted) if place not in taken]
    given = normal(released.get(cell.name, cell.source))
    for place, other in free if shared[given] == 1 else ():  # "write your answer here" stands in many cells
        if normal(other.source) in (given, normal(cell.source)):
            return place
    if cell.written_by_student:
        wanted = defined(released.get(cell.name, cell.source))
        for place, other in reversed(free):
            if cell.kind == "code" and wanted and wanted <= defined(other.source):
                return place
        return None
    likely = []
    for place, other in free:
        if len(given) > 40 and 0.8 < len(other.source) / len(given) < 1.25:  # cheap tests first: the file may be made to be slow
            pair = SequenceMatcher(None, other.source, given, autojunk=False)
            if pair.real_quick_ratio() > 0.9 and pair.quick_ratio() > 0.9:
                likely.append((len(set(other.source.splitlines()) & set(given.splitlines())), -place))
    return -max(likely)[1] if likely else None


@lru_cache(maxsize=2 * MOST_CELLS)
def defined(source: str) -> set[str]:
    """Functions and classes that a cell defines at top level, and names it binds."""
    if len(source) > LONGEST_ANSWER:
        return set()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r"^(?:def|class)\s+(\w+)", source, re.MULTILINE))
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    if not found:
        found = {t.id for node in tree.body if isinstance(node, ast.Assign) for t in node.targets if isinstance(t, ast.Name)}
    return found


def by_place(submitted: list[Cell], framed: list[Cell], found: dict[str, int], taken: set[int], plain: set[str]) -> None:
    """Between two cells that were found, missing answers and as many nameless cells belong together."""
    position = 0
    while position < len(framed):
        if framed[position].name in found:
            position += 1
            continue
        end = position
        while end < len(framed) and framed[end].name not in found:
            end += 1
        low = max((found[c.name] for c in framed[:position] if c.name in found), default=-1)
        high = min((found[c.name] for c in framed[end:] if c.name in found), default=len(submitted))
        gap = [p for p in range(low + 1, high) if p not in taken and normal(submitted[p].source) not in {"", *plain}]
        for cell in framed[position:end]:
            if not cell.written_by_student:
                continue
            same = [p for p in gap if submitted[p].kind == cell.kind]
            missing = [c for c in framed[position:end] if c.written_by_student and c.kind == cell.kind and c.name not in found]
            if same and len(same) == len(missing):  # as many as are missing: in their order
                found[cell.name] = same[0]
                taken.add(same[0])
                gap.remove(same[0])
        position = end
