"""From the submitted file to the graded notebook and the record. Runs in the process that examines one submission."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograder.examiner import recorder, repair
from autograder.examiner.deadline import MachineFault
from autograder.examiner.examine import Examination, Result, clean, error_output
from autograder.examiner.repair import Cell, Repaired, Unreadable
from autograder.examiner.sandbox import Limits
from autograder.examiner.tester import Prepared

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def grade(
    job: dict[str, Any],
    notebook: dict[str, Any],
    prepared: Prepared,
    shell: recorder.Shell,
    control: socket.socket,
    lifeline: socket.socket,
    begin: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """The record of one notebook of one submission, with the notebook itself as text. `begin`: see Examination."""
    instructor = [Cell(**cell) for cell in notebook["cells"]]
    released = notebook["released"]
    limits = Limits(**job["limits"])
    try:
        if "cells" in job:  # nbgrader has read and overwritten it already
            mended = Repaired([Cell(**cell) for cell in job["cells"]])
        else:
            repairs = list(job["repairs"])
            data = contents(job["path"])
            with repair.within_limits():
                mended = repair.repair(repair.read(data, repairs), instructor, released)
            mended.repairs[:0] = repairs
    except Unreadable as reason:
        return unreadable(instructor, released, str(reason), job["repairs"])
    code = [
        (index, cell.name, cell.source, cell.is_test)
        for index, cell in enumerate(mended.cells)
        if cell.kind == "code" and cell.source.strip()
    ]
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
    examination = Examination(shell, prepared, limits, files, lifeline, begin)
    examination.meter.alive = job["alive"]
    given = {repair.normal(cell.source) for cell in instructor if cell.kind == "code" and not cell.written_by_student}
    examination.given = {index for index, _, source, _ in code if repair.normal(source) in given}
    result = examination.run(control, code)
    return record(mended, result, limits)


def contents(path: str | None) -> bytes:
    """The submitted file, if it is a file: a link could lead anywhere, a pipe nowhere."""
    if path is None:
        raise Unreadable("there is no notebook in the submission")
    try:
        kind = os.lstat(path)
        if not stat.S_ISREG(kind.st_mode):
            raise Unreadable("the notebook is a link or a special file, not a file")
        if kind.st_size > repair.MOST_BYTES:
            raise Unreadable(f"the file has {kind.st_size >> 20} MB, more than a notebook can have")
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            return file.read()
    except OSError as error:  # not what is in it, but the machine that holds it: no verdict on anybody's work
        raise MachineFault(f"the submission cannot be read: {error.strerror}") from None


def unreadable(instructor: list[Cell], released: dict[str, str], reason: str, repairs: list[str]) -> dict[str, Any]:
    """Zero, with the reason where the student and the instructor will look."""
    text = f"**This submission could not be graded:** {reason}. Hand it in again: in JupyterLab, save the notebook, then upload the `.ipynb` file."
    cells = [Cell("markdown", text, {})]
    for cell in instructor:
        source = released.get(cell.name, cell.source) if cell.written_by_student else cell.source
        cells.append(Cell(cell.kind, source, repair.clean(cell) if cell.name else {}, cell.id))
    result = Result(lost={index: f"the submission could not be read: {reason}" for index, cell in enumerate(cells) if cell.is_test})
    result.events.append(f"unreadable: {reason}")
    return {**record(Repaired(cells, repairs), result, Limits()), "unreadable": reason}


def record(mended: Repaired, result: Result, limits: Limits) -> dict[str, Any]:
    """The notebook and what happened, as plain data. Reading points from it is left to the process that has nbgrader at hand."""
    nodes, lost, times = [], {}, {}
    count = 0
    for index, cell in enumerate(mended.cells):
        node: dict[str, Any] = {"cell_type": cell.kind, "id": cell.id or f"cell-{index}", "metadata": cell.metadata, "source": cell.source}
        if cell.attachments and cell.kind == "markdown":
            node["attachments"] = cell.attachments
        if cell.kind == "code":
            outputs = result.outputs.get(index, [])
            if cell.is_test and index not in result.outputs and index not in result.lost:
                result.lost[index] = "the test did not run"
            if index in result.lost:
                outputs = [*outputs, error_output("NotGraded", result.lost[index])]
                lost[cell.name or str(index)] = result.lost[index]
            count += bool(cell.source.strip())
            node |= {"execution_count": count or None, "outputs": [numbered(output, count) for output in outputs]}
        nodes.append(node)
        if index in result.seconds:
            times[cell.name or f"cell {index + 1}"] = round(result.seconds[index], 3)
    made = {
        "cells": unique_ids(nodes),
        "metadata": {"kernelspec": KERNEL, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return {
        "notebook": json.dumps(made, ensure_ascii=False, indent=1).encode("utf-8", "replace").decode() + "\n",
        "lost": {name: printable(reason) for name, reason in lost.items()},
        "times": times,
        "repairs": [printable(text) for text in mended.repairs],
        "tamper": [printable(text) for text in [*mended.edited, *result.tamper]],
        "events": [printable(text) for text in result.events],
        "ended": result.ended,
        "cpu_seconds": round(result.cpu, 3),
        "peak_mb": result.peak >> 20,
        "limits": limits.as_dict(),
    }


def printable(text: str) -> str:
    """Without signs that a terminal would act on."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


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
        made["text"] = clean(made["text"])
    return made
