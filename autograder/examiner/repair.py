"""Damaged notebooks become gradable ones, and every repair is on the record.

The instructor's cells are the frame: each is looked for in the submission by its id, then by its text, then by its place. What is found
gives the student's text for cells the student may write; everything else is the instructor's. Cells of the student's own stay where they
were. What cannot be read at all is refused with the reason.
"""

from __future__ import annotations

import ast
import json
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice
from types import FrameType
from typing import Any

MOST_BYTES = 100 << 20
MOST_VALUES = 1_000_000  # objects, lists and their members: each takes a hundred times the bytes it is written with
REPAIR_SECONDS = 60.0  # of processor time, to read and mend one notebook
MEMORY_TO_READ = 1 << 30  # bytes beyond what the process has already
MOST_CELLS = 5000
LONGEST_SOURCE = 2 << 20
MOST_MENDED = 20 << 20  # characters of a file that is not JSON
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
    if more_values_than(MOST_VALUES, text):
        raise Unreadable(f"the file holds more than {MOST_VALUES:,} values, more than a notebook has")
    try:
        notebook = json.loads(text, strict=False)
    except RecursionError:
        raise Unreadable("the file is nested too deeply to be a notebook") from None
    except ValueError as error:
        notebook, how = mended(text)
        if how is None:
            place = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
            cut = "it seems to be cut off" if text.lstrip().startswith("{") and not text.rstrip().endswith("}") else "it is not JSON"
            what = next((name for mark, name in OTHERS.items() if data.lstrip().startswith(mark)), f"{cut}{place}")
            what = "it holds the marks of a merge conflict" if without_conflict(text, True) is not None else what
            raise Unreadable(f"the file is not a notebook: {what}") from None
        if repairs is not None:
            repairs.append(how)
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


VALUE = re.compile(r'"(?:[^"\\]|\\.)*+"?|([{\[,])', re.DOTALL)  # a text, or a sign that a value follows


def more_values_than(most: int, text: str) -> bool:
    """Would this text, read as JSON, be more objects, lists and members? Stops counting there."""
    if text.count("{") + text.count("[") + text.count(",") <= most:
        return False
    signs = (found for found in VALUE.finditer(text) if found[1])
    return next(islice(signs, most, None), None) is not None


class TooLong(BaseException):
    """Reading took more processor time than a notebook needs. (No `except Exception` on the way stops it.)"""


@contextmanager
def within_limits() -> Iterator[None]:
    """Read and mend within a time and an amount of memory, or refuse. Only where this is a process of its own, with one thread."""

    def late(signum: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, REPAIR_SECONDS)
    try:
        with memory_limit():
            yield
    except TooLong:
        raise Unreadable(f"it takes more than {REPAIR_SECONDS:g} s to read, which no notebook does") from None
    except MemoryError:
        raise Unreadable(f"it takes more than {MEMORY_TO_READ >> 20} MB of memory to read, which no notebook does") from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def memory_limit() -> Iterator[None]:
    """At most so much more than the process has already; on Linux, where it can be known."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource  # Windows has none

    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = used + MEMORY_TO_READ
    resource.setrlimit(resource.RLIMIT_AS, (wanted if soft == resource.RLIM_INFINITY else min(soft, wanted), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


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


def mended(text: str) -> tuple[Any, str | None]:
    """A notebook out of a text that is not quite JSON, and what had to be done; None where nothing helps."""
    if len(text) > MOST_MENDED:
        return None, None
    ways = [("", text)]
    for which, ours in (("first", True), ("second", False)):
        if (version := without_conflict(text, ours)) is not None:
            ways.append((f"there were marks of a merge conflict; of two versions, the {which} was taken", version))
    ways += [(f"{how}; " * bool(how) + "commas too many were left out", COMMA.sub(r"\1\2", version)) for how, version in ways]
    for how, version in ways:
        with suppress(ValueError, RecursionError):
            found, end = json.JSONDecoder(strict=False).raw_decode(version.lstrip())
            behind = len(version.strip()) - end
            return found, how + "; " * bool(how and behind) + f"{behind} characters behind the end of the notebook were left out" * bool(
                behind
            )
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
    blocks = cells_between(
        submitted, by_submitted, {normal(released.get(c.name, "")) for c in framed if c.written_by_student and c.kind == "code"}
    )
    done.cells += blocks.get("", [])
    for cell in framed:
        if cell.name in found:
            done.cells.append(restored(cell, submitted[found[cell.name]], released, done))
            written_nearby(done, blocks.get(cell.name, []), released, plain)
            answered_elsewhere(done, framed, submitted, by_submitted, blocks, released, plain)
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


def untouched(cell: Cell, released: dict[str, str]) -> bool:
    return cell.written_by_student and normal(cell.source) in ("", normal(released.get(cell.name, cell.source)))


def written_nearby(done: Repaired, below: list[Cell], released: dict[str, str], plain: set[str]) -> None:
    """A text that was written into new cells right below or above an untouched prompt is the answer: a person has to see it."""
    cell = done.cells[-1]
    if cell.kind != "markdown" or not untouched(cell, released):
        return
    above = done.cells[:-1]
    for where, cells, place in (("below", below, 0), ("above", above, -1)):
        texts: list[str] = []
        while cells and not cells[place].name and is_text(cells[place]) and normal(cells[place].source) not in plain:
            moved = cells.pop(place)
            texts.insert(0 if place else len(texts), moved.source)
            cell.attachments.update(moved.attachments)
        if any(text.strip() for text in texts):
            done.cells[:-1] = above
            cell.source = "\n\n".join([cell.source, *texts])
            done.repairs.append(f"the answer {cell.name!r} was written in a new cell {where}; it was moved to its place")
            return


def is_text(cell: Cell) -> bool:
    """Words, in a cell for text or, by mistake, in one for code: then it is no Python, or nothing but comments."""
    if cell.kind != "code":
        return True
    if len(cell.source) > LONGEST_ANSWER or "%" in cell.source or "!" in cell.source:  # IPython's own commands
        return False
    try:
        return not ast.parse(cell.source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return not re.search(r"[=(\[{]|^\s*(import|from|def|class|return)\b", cell.source, re.MULTILINE)


def answered_elsewhere(
    done: Repaired,
    framed: list[Cell],
    submitted: list[Cell],
    by_place: dict[int, str],
    blocks: dict[str, list[Cell]],
    released: dict[str, str],
    plain: set[str],
) -> None:
    """An exercise left as it was given, and what it asks for defined in another cell of the student's: that is the answer.

    Above, it would be overwritten by what was given; below or in the cell of a test, it would come too late.
    """
    cell = done.cells[-1]
    wanted = defined(released.get(cell.name, "")) if cell.kind == "code" and untouched(cell, released) and cell.source.strip() else set()
    if not wanted:
        return
    kinds = {other.name: other for other in framed}
    for place in reversed(range(len(submitted))):
        other, name = submitted[place], by_place.get(place, "")
        if name == cell.name or other.kind != "code" or not wanted <= binds(other.source) or normal(other.source) in plain:
            continue
        frame = kinds.get(name)
        if frame is None:  # a cell of the student's own
            if any(done_cell.source == other.source and not done_cell.name for done_cell in done.cells):
                cell.source = "# (answered in a cell above)"
            else:
                for block in blocks.values():
                    block[:] = [one for one in block if one.source != other.source]
                cell.source = other.source
        elif frame.is_test and name in (f"{cell.name}-test", following_test(framed, cell)):
            cell.source = definitions(other.source)
        elif frame.written_by_student and frame.name in {c.name for c in done.cells} and not wanted <= binds(released.get(name, "")):
            cell.source = "# (answered in a cell above)"
        else:
            continue
        done.repairs.append(f"{cell.name!r} was left as it was given; the answer was found in another cell")
        return


def following_test(framed: list[Cell], cell: Cell) -> str:
    after = framed[framed.index(next(c for c in framed if c.name == cell.name)) + 1 :]
    return after[0].name if after and after[0].is_test else ""


def definitions(source: str) -> str:
    """Functions, classes and imports of a cell, without what it does."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    kept = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)]
    return "\n\n".join(ast.get_source_segment(source, node) or "" for node in kept)


def elsewhere(cell: Cell, submitted: list[Cell], released: dict[str, str]) -> bool:
    """Does another cell define what this one is to define? Then what was given must not be put back over it."""
    wanted = defined(released.get(cell.name, cell.source)) if cell.kind == "code" and cell.written_by_student else set()
    return bool(wanted) and any(other.kind == "code" and wanted <= binds(other.source) for other in submitted)


def clean(cell: Cell) -> dict[str, Any]:
    return {"nbgrader": dict(cell.nbgrader)}


def cells_between(submitted: list[Cell], by_place: dict[int, str], stubs: set[str]) -> dict[str, list[Cell]]:
    """The student's own cells, after the cell of the assignment that they follow. A second copy of what was given would undo an answer."""
    blocks: dict[str, list[Cell]] = {}
    after = ""
    for place, cell in enumerate(submitted):
        if place in by_place:
            after = by_place[place]
            continue
        if cell.kind == "code" and normal(cell.source) in stubs - {""}:
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
        same = by_text(cell, submitted, taken, released, shared, plain)
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


def by_text(
    cell: Cell, submitted: list[Cell], taken: set[int], released: dict[str, str], shared: Mapping[str, int], plain: set[str]
) -> int | None:
    """A cell without a name that says the same, or that defines what this cell is to define."""
    free = [(place, other) for place, other in enumerate(submitted) if place not in taken]
    given = normal(released.get(cell.name, cell.source))
    if cell.written_by_student:
        wanted = defined(released.get(cell.name, cell.source))
        for place, other in reversed(free):
            if cell.kind == "code" and wanted and wanted <= defined(other.source) and normal(other.source) not in {given, *plain}:
                return place
    for place, other in free if shared[given] == 1 else ():  # "write your answer here" stands in many cells
        if normal(other.source) in (given, normal(cell.source)):
            return place
    if cell.written_by_student:
        return None
    likely = []
    for place, other in free:
        if len(given) > 40 and 0.8 < len(other.source) / len(given) < 1.25:  # cheap tests first: the file may be made to be slow
            pair = SequenceMatcher(None, other.source, given, autojunk=False)
            if pair.real_quick_ratio() > 0.9 and pair.quick_ratio() > 0.9:
                likely.append((len(set(other.source.splitlines()) & set(given.splitlines())), -place))
    return -max(likely)[1] if likely else None


def defined(source: str) -> set[str]:
    """What a cell is there to define: functions and classes at top level, or else the names it binds."""
    functions, values = top_level(source)
    return functions or values


def binds(source: str) -> set[str]:
    functions, values = top_level(source)
    return functions | values


@lru_cache(maxsize=2 * MOST_CELLS)
def top_level(source: str) -> tuple[set[str], set[str]]:
    """Functions and classes of a cell, and other names that it binds."""
    if len(source) > LONGEST_ANSWER:
        return set(), set()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r"^(?:def|class)\s+(\w+)", source, re.MULTILINE)), set()
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return functions, {t.id for node in tree.body if isinstance(node, ast.Assign) for t in node.targets if isinstance(t, ast.Name)}


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
