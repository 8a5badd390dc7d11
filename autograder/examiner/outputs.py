"""What cells showed, as it is kept in the graded notebook: checked, cleaned, and limited in size."""

from __future__ import annotations

import json
from typing import Any

from autograder.examiner.sanitize import harmless
from autograder.model import outcome, wording

MOST_OUTPUTS = 200
NOTEBOOK_OUTPUTS = 20  # times what one cell may put out
NOTEBOOK_TAGS = 100_000  # whoever shows the page builds a tree of them
RICH = ("text/html", "text/markdown")
KEPT = ("text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/jpeg")  # of a student's cell


class Malformed(Exception):
    """The student's process reports something that is no list of outputs."""


class OutputBudget:
    """How much of one notebook's outputs is kept."""

    def __init__(self, cell_bytes: int) -> None:
        self.cell_bytes = cell_bytes
        self.written = self.tags = 0

    def kept(self, text: Any) -> list[dict[str, Any]]:
        """Outputs of one cell of the student's, as its process reports them."""
        outputs = student_outputs(text, self.cell_bytes)
        self.written += len(text)
        if self.written > NOTEBOOK_OUTPUTS * self.cell_bytes and outputs:
            return [standard_error(wording.MORE_OUTPUT_OF_NOTEBOOK)]
        for data in (output["data"] for output in outputs if "data" in output):
            self.tags += sum(text.count("<") for kind, text in data.items() if kind in RICH)
            if self.tags > NOTEBOOK_TAGS and "text/plain" in data:
                for kind in RICH:
                    data.pop(kind, None)
        return outputs

    def handed_in(self, outputs: list[Any]) -> list[dict[str, Any]]:
        """Outputs of a cell that grading left out, as the submitted file has them: no more trusted than others."""
        try:
            return self.kept(json.dumps([joined(output) for output in outputs[:MOST_OUTPUTS]]))
        except (Malformed, ValueError, RecursionError):
            return []


def joined(output: Any) -> Any:
    """An output of a notebook's file with every text in one piece: there, it may be a list of lines."""
    if type(output) is list and all(type(line) is str for line in output):
        return "".join(output)
    if type(output) is not dict:
        return output
    return {key: value if key == "traceback" else joined(value) for key, value in output.items()}


def student_outputs(text: Any, most: int) -> list[dict[str, Any]]:
    """Outputs that the student's process reports, rebuilt from plain data: it could claim anything."""
    if type(text) is not str:
        raise Malformed
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed from None
    used = 0
    kept: list[dict[str, Any]] = []
    for output in given[:MOST_OUTPUTS] if type(given) is list else []:
        if type(output) is not dict:
            continue
        data = output.get("data")
        if type(data) is dict:
            data = {key: value for key, value in data.items() if key in KEPT and type(value) is str}
            if used + sum(map(len, data.values())) > 4 * most:
                return [*kept, standard_error(wording.MORE_OUTPUT)]
        made = student_output(output, data)
        kept += [made] if made is not None else []
        used += len(json.dumps(made)) if made is not None else 0
        if used > 4 * most:  # figures and escapes take more than the characters that were counted
            return [*kept[:-1], standard_error(wording.MORE_OUTPUT)]
    return kept


def student_output(output: dict[str, Any], data: Any) -> dict[str, Any] | None:
    """One of them; None where it is of no kind that a notebook has. `data` is what is kept of its data."""
    kind = output.get("output_type")
    if kind == "stream" and output.get("name") in ("stdout", "stderr"):
        return {"output_type": "stream", "name": output["name"], "text": encodable(output.get("text", ""))}
    if kind == "error":
        lines = output.get("traceback")
        lines = [encodable(line) for line in lines if type(line) is str][-40:] if type(lines) is list else []
        return {
            "output_type": "error",
            "ename": encodable(output.get("ename")),
            "evalue": encodable(output.get("evalue")),
            "traceback": lines,
        }
    if kind in ("display_data", "execute_result") and type(data) is dict:
        data = {key: harmless(key, encodable(value)) for key, value in data.items()}
        entry = {"output_type": kind, "data": data, "metadata": {}}
        return {**entry, "execution_count": None} if kind == "execute_result" else entry
    return None


def output_of_test(output: dict[str, Any]) -> dict[str, Any]:
    """One output of a test cell, which ran in a process of ours: what the check library says about it is data of a
    known form, or nothing.
    """
    return {**output, "data": outcome.checked(output["data"])} if "data" in output else output


def error_output(name: str, value: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": name, "evalue": value, "traceback": [f"{name}: {value}"]}


def standard_error(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stderr", "text": text}


def encodable(text: Any) -> str:
    """Text that can be written to a file; nothing where it is no text."""
    return text.encode("utf-8", "replace").decode() if type(text) is str else ""
