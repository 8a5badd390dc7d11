"""The notebook that is graded: the instructor's cells in their order, with the student's text where the student may
write.

Cells of the student's own stay where they were. The passes over the submission and the passes over each cell are lists:
see `PASSES` and `CELL_PASSES`.
"""

from __future__ import annotations

from autograder.examiner.repair.cells import Cell, Mending, Repaired, normal, released_metadata
from autograder.examiner.repair.definitions import binds, defined, is_prose
from autograder.examiner.repair.matching import match_cells
from autograder.model import names as analyser
from autograder.model.record import RepairKind, SignKind

ABOVE, ELSEWHERE = "# (answered in a cell above)", "# (answered in another cell)"


def repair(submitted: list[Cell], instructor: list[Cell], released: dict[str, str]) -> Repaired:
    """Match, restore, put in order. `released` is what the student was given, by cell name."""
    mending = Mending(
        [],
        submitted=submitted,
        framed=[cell for cell in instructor if cell.name],
        released=released,
        ours={normal(cell.source) for cell in instructor if not cell.name},
    )
    for one_pass in PASSES:
        one_pass(mending)
    return Repaired(mending.cells, mending.repairs, mending.edited)


# ---- over the submission ---------------------------------------------------------------------------------------------


def report_order(mending: Mending) -> None:
    names = mending.names
    if [names[place] for place in sorted(names)] != [
        cell.name for cell in mending.framed if cell.name in mending.places
    ]:
        mending.note(RepairKind.REORDERED)


def collect_own_cells(mending: Mending) -> None:
    """The student's own cells, after the cell of the assignment that they follow.

    A second copy of what was given would undo an answer.
    """
    stubs = {
        normal(mending.released.get(c.name, "")) for c in mending.framed if c.written_by_student and c.kind == "code"
    } - {""}
    names, after = mending.names, ""
    for place, cell in enumerate(mending.submitted):
        if place in names:
            after = names[place]
        elif cell.kind != "code" or normal(cell.source) not in stubs:
            own = Cell(cell.kind, cell.source, {}, "", cell.attachments, outputs=cell.outputs)
            mending.own.setdefault(after, []).append(own)


def put_together(mending: Mending) -> None:
    mending.cells += mending.own.get("", [])
    for cell in mending.framed:
        for cell_pass in CELL_PASSES if cell.name in mending.places else (put_back,):
            cell_pass(mending, cell)
        mending.cells += mending.own.get(cell.name, [])


# ---- over each cell of the assignment: its copy is the last of `mending.cells` ---------------------------------------


def restore(mending: Mending, cell: Cell) -> None:
    """The instructor's cell with the student's text where the student may write."""
    copy = mending.submitted[mending.places[cell.name]]
    if copy.kind != cell.kind:
        mending.note(RepairKind.RETYPED, cell=cell.name, was=copy.kind, now=cell.kind)
    if not copy.name:
        mending.note(RepairKind.UNNAMED, cell=cell.name)
    if cell.written_by_student:
        mending.cells.append(Cell(cell.kind, copy.source, released_metadata(cell), cell.id, copy.attachments))
        return
    if normal(copy.source) not in (normal(cell.source), normal(mending.given(cell))):
        mending.suspect(SignKind.EDITED, cell=cell.name, role="test cell" if cell.is_test else "locked cell")
    mending.cells.append(Cell(cell.kind, cell.source, released_metadata(cell), cell.id))


def put_back(mending: Mending, cell: Cell) -> None:
    """A cell that was deleted, as it was given; unless what it is to define stands elsewhere, which must not be
    overwritten.
    """
    given = mending.given(cell) if cell.written_by_student else cell.source
    if defined_elsewhere(mending, cell):
        mending.cells.append(Cell(cell.kind, ELSEWHERE, released_metadata(cell), cell.id))
        mending.note(RepairKind.ANSWER_ELSEWHERE, cell=cell.name)
        return
    mending.cells.append(Cell(cell.kind, given, released_metadata(cell), cell.id))
    role = "answer" if cell.written_by_student else "test" if cell.is_test else "locked cell"
    mending.note(RepairKind.MISSING, cell=cell.name, role=role)


def defined_elsewhere(mending: Mending, cell: Cell) -> bool:
    wanted = defined(mending.given(cell)) if cell.kind == "code" and cell.written_by_student else set()
    return bool(wanted) and any(other.kind == "code" and wanted <= binds(other.source) for other in mending.submitted)


def take_text_nearby(mending: Mending, frame: Cell) -> None:
    """A text that was written into new cells right below or above an untouched prompt is the answer: a person has to
    see it.
    """
    cell = mending.cells[-1]
    if cell.kind != "markdown" or not mending.untouched(cell):
        return
    above = mending.cells[:-1]
    for where, cells, place in (("below", mending.own.get(frame.name, []), 0), ("above", above, -1)):
        texts: list[str] = []
        while cells and is_text(mending, cells[place]):
            moved = cells.pop(place)
            texts.insert(0 if place else len(texts), moved.source)
            cell.attachments.update(moved.attachments)
        if any(text.strip() for text in texts):
            mending.cells[:-1] = above
            cell.source = "\n\n".join([cell.source, *texts])
            mending.note(RepairKind.ANSWER_NEARBY, cell=cell.name, where=where)
            return


def is_text(mending: Mending, cell: Cell) -> bool:
    """Words of the student's own, in a cell for text or, by mistake, in one for code."""
    return not cell.name and (cell.kind != "code" or is_prose(cell.source)) and normal(cell.source) not in mending.ours


def take_answer_elsewhere(mending: Mending, frame: Cell) -> None:
    """An exercise left as it was given, and what it asks for defined in another cell of the student's: that is the
    answer.

    Above, it would be overwritten by what was given; below or in the cell of a test, it would come too late.

    """
    cell = mending.cells[-1]
    open_exercise = cell.kind == "code" and mending.untouched(cell) and cell.source.strip()
    wanted = defined(mending.released.get(cell.name, "")) if open_exercise else frozenset()
    if not wanted:
        return
    names = mending.names
    for place in reversed(range(len(mending.submitted))):
        other, name = mending.submitted[place], names.get(place, "")
        if (
            name == cell.name
            or other.kind != "code"
            or not wanted <= binds(other.source)
            or normal(other.source) in mending.ours
        ):
            continue
        answer = answer_from(mending, cell, wanted, other, name)
        if answer is not None:
            cell.source = answer
            mending.note(RepairKind.STUB_ANSWERED_ELSEWHERE, cell=cell.name)
            return


def answer_from(mending: Mending, cell: Cell, wanted: frozenset[str], other: Cell, name: str) -> str | None:
    """The text for this exercise, where another cell, which may be a cell of the assignment, answers it; None where it
    is no answer.
    """
    frame = next((one for one in mending.framed if one.name == name), None)
    if frame is None:  # a cell of the student's own
        if any(done.source == other.source and not done.name for done in mending.cells):
            return ABOVE
        for own in mending.own.values():
            own[:] = [one for one in own if one.source != other.source]
        return other.source
    if frame.is_test and name in (f"{cell.name}-test", following_test(mending, cell)):
        return analyser.definitions_only(other.source)
    done_before = frame.written_by_student and frame.name in {done.name for done in mending.cells}
    return ABOVE if done_before and not wanted <= binds(mending.released.get(name, "")) else None


def following_test(mending: Mending, cell: Cell) -> str:
    names = [one.name for one in mending.framed]
    after = mending.framed[names.index(cell.name) + 1 :]
    return after[0].name if after and after[0].is_test else ""


PASSES = (match_cells, report_order, collect_own_cells, put_together)
CELL_PASSES = (restore, take_text_nearby, take_answer_elsewhere)
