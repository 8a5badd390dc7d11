"""From the submitted file to the graded notebook and the record. Runs in the process that examines one submission."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.examiner import repair, result_keys
from autograder.examiner.deadline import MachineFault
from autograder.examiner.examination import Examination
from autograder.examiner.limits import Limits
from autograder.examiner.outputs import encodable, error_output
from autograder.examiner.repair import Cell, Repaired, Unreadable
from autograder.examiner.result import Result
from autograder.examiner.tester import Prepared
from autograder.inside import shell as shells
from autograder.model import looks, wording
from autograder.model.record import EventKind, Reason, ReasonKind, Record, Repair

MODULES = (".py", ".pyc", ".so")
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def grade(
    job: dict[str, Any],
    notebook: dict[str, Any],
    prepared: Prepared,
    shell: shells.Shell,
    control: socket.socket,
    lifeline: socket.socket,
    begin: Callable[[int], None] | None = None,
) -> Record | None:
    """The record of one notebook of one submission. `begin`: see Examination.

    None where the kept results that came with the job do not settle it: it is to be examined without them.
    """
    instructor = [Cell(**cell) for cell in notebook["cells"]]
    released = notebook["released"]
    limits = Limits(**job["limits"])
    repairs = [Repair.from_json(entry) for entry in job["repairs"]]
    given = {repair.normal(cell.source) for cell in instructor if cell.kind == "code" and not cell.written_by_student}
    files: list[tuple[str, bytes]] = []
    keys = None
    try:
        data = b"" if "cells" in job else contents(job["path"])
        files = files_beside(job)
        with repair.within_limits():
            if "cells" in job:  # nbgrader has read and overwritten it already
                mended = Repaired([Cell(**cell) for cell in job["cells"]])
            else:
                read = list(repairs)
                mended = repair.repair(repair.read(data, read), instructor, released)
                mended.repairs[:0] = read
            code = code_of(mended)
            as_given = {index for index, _, source, _ in code if repair.normal(source) in given}
            asked = {name for name in prepared.looks.values() if name and answered(name, mended.cells, released)}
            unasked = {text for text, question in prepared.looks.items() if question not in asked}
            shown = left_out(code, unasked, as_given, job)
            if job.get("tools"):
                keys = result_keys.keys_of(job, notebook, code, files, as_given, shown)
    except Unreadable as refused:
        return unreadable(instructor, released, refused.reason, repairs)
    examination = Examination(shell, prepared, limits, files, lifeline, begin)
    examination.meter.alive, examination.has_group = job["alive"], job["group"]
    examination.given, examination.left_out = as_given, shown
    handed_in = {index: examination.kept.handed_in(mended.cells[index].outputs) for index in shown}
    if keys is None:
        result = examination.run(control, code)
        result.handed_in = handed_in
        return record(mended, result, limits)
    known = result_keys.known_of(job["known"], keys, code)
    if known.run is not None:
        result = known.run
    else:
        examination.note_hidden(code)
        result = examination.run(control, [cell for cell in code if cell[0] not in known.tests])
    result = result_keys.completed(result, known)
    if known.tests and not result_keys.went_well(result, limits):
        return None
    result.handed_in = handed_in
    names = {index: name for index, name, _, _ in code}
    kept = result_keys.to_keep(keys, result, limits, names)
    return replace(record(mended, result, limits), decided_by=kept, reused=len(known.tests))


def code_of(mended: Repaired) -> list[tuple[int, str, str, bool]]:
    """Its code cells: index, name, source, is it a test."""
    return [
        (index, cell.name, cell.source, cell.is_test)
        for index, cell in enumerate(mended.cells)
        if cell.kind == "code" and cell.source.strip()
    ]


def left_out(code: list[tuple[int, str, str, bool]], known: set[str], given: set[int], job: dict[str, Any]) -> set[int]:
    """The cells that need not run. A module of the student's own could reach every name: then all of them run."""
    if not known or any(name.endswith(MODULES) for name, _ in job["files"] if name not in job["given"]):
        return set()
    shown = [place for place, (_, _, source, _) in enumerate(code) if repair.normal(source) in known]
    own = [place for place, (index, _, _, is_test) in enumerate(code) if not is_test and index not in given]
    return {code[place][0] for place in looks.left_out([source for _, _, source, _ in code], shown, own)}


def answered(question: str, cells: list[Cell], released: dict[str, str]) -> bool:
    """Is there something of the student's in the cell of this written question?"""
    texts = [repair.normal(cell.source) for cell in cells if cell.name == question]
    return any(text not in ("", repair.normal(released.get(question, ""))) for text in texts)


def files_beside(job: dict[str, Any]) -> list[tuple[str, bytes]]:
    """Names and contents of the files beside the notebook.

    The instructor's are put where tests run, which is made the current folder.
    """
    try:
        files = [(name, Path(path).read_bytes()) for name, path in job["files"]]
    except OSError as error:
        raise MachineFault(f"a file beside the notebook cannot be read: {error.strerror}") from None
    for name, data in files:  # tests read the instructor's files, never a student's
        if name in job["given"]:
            place = Path(job["place"], name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
    os.chdir(job["place"])
    return files


def contents(path: str | None) -> bytes:
    """The submitted file, if it is a file: a link could lead anywhere, a pipe nowhere."""
    if path is None:
        raise Unreadable(ReasonKind.NO_NOTEBOOK)
    try:
        kind = os.lstat(path)
        if not stat.S_ISREG(kind.st_mode):
            raise Unreadable(ReasonKind.NO_FILE)
        if kind.st_size > repair.MOST_BYTES:
            raise Unreadable(ReasonKind.TOO_LARGE, mb=kind.st_size >> 20)
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            return file.read()
    except OSError as error:  # not what is in it, but the machine that holds it: no verdict on anybody's work
        raise MachineFault(f"the submission cannot be read: {error.strerror}") from None


def unreadable(instructor: list[Cell], released: dict[str, str], reason: Reason, repairs: list[Repair]) -> Record:
    """Zero, with the reason where the student and the instructor will look."""
    cells = [Cell("markdown", wording.refused_submission(reason), {})]
    for cell in instructor:
        source = released.get(cell.name, cell.source) if cell.written_by_student else cell.source
        cells.append(Cell(cell.kind, source, repair.released_metadata(cell) if cell.name else {}, cell.id))
    result = Result(
        ungraded={i: Reason.of(ReasonKind.NOT_READ, why=reason) for i, cell in enumerate(cells) if cell.is_test}
    )
    result.note(EventKind.UNREADABLE, why=reason)
    return replace(record(Repaired(cells, repairs), result, Limits()), unreadable=reason)


def record(mended: Repaired, result: Result, limits: Limits) -> Record:
    """The notebook and what happened. Reading points from it is left to the process that has nbgrader at hand."""
    for index, cell in enumerate(mended.cells):
        if cell.is_test and index not in result.outputs and index not in result.ungraded:
            result.ungraded[index] = Reason.of(ReasonKind.NOT_RUN)
    cells = dict(enumerate(mended.cells))
    return Record(
        notebook=notebook_text(mended, result),
        limits=limits.as_dict(),
        repairs=tuple(mended.repairs),
        integrity=(*mended.edited, *result.integrity),
        incidents=tuple(result.incidents),
        ungraded={cells[index].name or str(index): reason for index, reason in sorted(result.ungraded.items())},
        ended=tuple(result.ended),
        times={cells[i].name or f"cell {i + 1}": round(seconds, 3) for i, seconds in sorted(result.seconds.items())},
        processor={
            cells[i].name or f"cell {i + 1}": round(seconds, 4) for i, seconds in sorted(result.processor.items())
        },
        cpu_seconds=round(result.cpu, 3),
        peak_mb=result.peak >> 20,
    )


def notebook_text(mended: Repaired, result: Result) -> str:
    """The graded notebook as the text of its file."""
    nodes, count = [], 0
    for index, cell in enumerate(mended.cells):
        node: dict[str, Any] = {
            "cell_type": cell.kind,
            "id": cell.id or f"cell-{index}",
            "metadata": cell.metadata,
            "source": cell.source,
        }
        if cell.attachments and cell.kind == "markdown":
            node["attachments"] = cell.attachments
        if cell.kind == "code":
            outputs = result.outputs.get(index, [])
            if index in result.handed_in:
                outputs = result.handed_in[index]
                node["metadata"] = {**cell.metadata, "course": {"outputs": "as handed in"}}
            if index in result.ungraded:
                outputs = [*outputs, error_output(wording.NOT_GRADED, wording.sentence(result.ungraded[index]))]
            count += bool(cell.source.strip())
            node |= {"execution_count": count or None, "outputs": [numbered(output, count) for output in outputs]}
        nodes.append(node)
    made = {
        "cells": unique_ids(nodes),
        "metadata": {"kernelspec": KERNEL, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(made, ensure_ascii=False, indent=1).encode("utf-8", "replace").decode() + "\n"


def unique_ids(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    seen: set[str] = set()
    for index, node in enumerate(nodes):
        if node["id"] in seen or not 1 <= len(node["id"]) <= 64:
            node["id"] = f"cell-{index}-{len(seen)}"
        seen.add(node["id"])
    return nodes


def numbered(output: dict[str, Any], count: int) -> dict[str, Any]:
    """An output as the notebook format wants it."""
    made = {**output}
    if made["output_type"] == "execute_result":
        made["execution_count"] = count
    if made["output_type"] == "stream":
        made["text"] = encodable(made["text"])
    return made
