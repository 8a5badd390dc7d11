"""Which submitted cell is which cell of the assignment.

One matcher after the other; each fills in what those before have not found.
"""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher

from autograder.examiner.repair.cells import Cell, Mending, normal
from autograder.examiner.repair.definitions import defined
from autograder.model.record import RepairKind


def match_cells(mending: Mending) -> None:
    """Find the place of each of the assignment's cells in the submission."""
    taken: set[int] = set()
    for matcher in (by_name, by_cell_id, by_text, by_place):
        matcher(mending, taken)


def by_name(mending: Mending, taken: set[int]) -> None:
    """By the name in nbgrader's metadata, whatever its case.

    Of several cells with one name, one is the answer; the others are copies.
    """
    names = {cell.name: cell for cell in mending.framed}
    nearly = {name.strip().lower(): name for name in names}
    claims: dict[str, list[int]] = {}
    for place, cell in enumerate(mending.submitted):
        name = cell.name if cell.name in names else nearly.get(cell.name.strip().lower(), "")
        if name:
            claims.setdefault(name, []).append(place)
            taken.add(place)
        elif cell.name:
            mending.note(RepairKind.UNKNOWN_NAME, cell=cell.name[:60])
    for name, places in claims.items():
        mending.places[name] = last_answer(mending, names[name], places)
        if len(places) > 1:
            mending.note(RepairKind.DUPLICATED, cell=name, count=len(places))


def last_answer(mending: Mending, cell: Cell, places: list[int]) -> int:
    """Of several cells with one name: the last that is not what the student was given."""
    given = normal(mending.given(cell))
    changed = [place for place in places if normal(mending.submitted[place].source) not in ("", given)]
    return changed[-1] if changed and cell.written_by_student else places[-1]


def by_cell_id(mending: Mending, taken: set[int]) -> None:
    for cell in mending.framed:
        if cell.name in mending.places or not cell.id:
            continue
        places = [place for place, other in enumerate(mending.submitted) if other.id == cell.id and place not in taken]
        if places:
            mending.places[cell.name] = places[-1]
            taken.add(places[-1])


def by_text(mending: Mending, taken: set[int]) -> None:
    """A cell that says the same, or that defines what this cell is to define."""
    shared = Counter(normal(mending.given(cell)) for cell in mending.framed)
    for cell in mending.framed:
        if cell.name in mending.places:
            continue
        free = [(place, other) for place, other in enumerate(mending.submitted) if place not in taken]
        place = same_text(mending, cell, free, shared[normal(mending.given(cell))] == 1)
        if place is not None:
            mending.places[cell.name] = place
            taken.add(place)


def same_text(mending: Mending, cell: Cell, free: list[tuple[int, Cell]], unique: bool) -> int | None:
    given = normal(mending.given(cell))
    if cell.written_by_student and cell.kind == "code" and (wanted := defined(mending.given(cell))):
        for place, other in reversed(free):
            if wanted <= defined(other.source) and normal(other.source) not in {given, *mending.ours}:
                return place
    for place, other in free if unique else ():  # "write your answer here" stands in many cells
        if normal(other.source) in (given, normal(cell.source)):
            return place
    return None if cell.written_by_student else similar_text(given, free)


def similar_text(given: str, free: list[tuple[int, Cell]]) -> int | None:
    likely = []
    for place, other in free:
        if (
            len(given) > 40 and 0.8 < len(other.source) / len(given) < 1.25
        ):  # cheap tests first: the file may be made to be slow
            pair = SequenceMatcher(None, other.source, given, autojunk=False)
            if pair.real_quick_ratio() > 0.9 and pair.quick_ratio() > 0.9:
                likely.append((len(set(other.source.splitlines()) & set(given.splitlines())), -place))
    return -max(likely)[1] if likely else None


def by_place(mending: Mending, taken: set[int]) -> None:
    """Between two cells that were found, missing answers and as many nameless cells belong together."""
    framed, places, position = mending.framed, mending.places, 0
    while position < len(framed):
        if framed[position].name in places:
            position += 1
            continue
        end = position
        while end < len(framed) and framed[end].name not in places:
            end += 1
        low = max((places[c.name] for c in framed[:position] if c.name in places), default=-1)
        high = min((places[c.name] for c in framed[end:] if c.name in places), default=len(mending.submitted))
        gap = [
            p
            for p in range(low + 1, high)
            if p not in taken and normal(mending.submitted[p].source) not in {"", *mending.ours}
        ]
        for cell in framed[position:end]:
            if not cell.written_by_student:
                continue
            same = [p for p in gap if mending.submitted[p].kind == cell.kind]
            missing = [
                c for c in framed[position:end] if c.written_by_student and c.kind == cell.kind and c.name not in places
            ]
            if same and len(same) == len(missing):  # as many as are missing: in their order
                places[cell.name] = same[0]
                taken.add(same[0])
                gap.remove(same[0])
        position = end
