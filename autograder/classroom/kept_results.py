"""Results of the last run of a submission, for the examiner to use where nothing that decides them has changed.

They lie where they are published: outputs in the graded notebook, keys in `grading.json`, which is written last and
whole. A notebook that is not the one the keys were written with gives nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from autograder.model.published import file_digest


def kept_results(record: Path, notebook: str) -> dict[str, Any] | None:
    """What result_keys.py compares: {"run", "tests", "cells", "cpu_seconds", "peak_mb"}. None where there is nothing.

    `record` is the `grading.json` of the submission.
    """
    try:
        published = json.loads(record.read_text(encoding="utf-8"))["notebooks"][notebook]
        decided_by = published["decided_by"]
        text = record.with_name(f"{notebook}.ipynb").read_text(encoding="utf-8")
        if not decided_by or file_digest(text) != decided_by["notebook"]:
            return None
        cells = json.loads(text)["cells"]
        return {"run": decided_by["run"], **read(cells, decided_by["tests"], published)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # none yet, an older one, or a damaged one
        return None


def read(cells: list[dict[str, Any]], keys: dict[str, str], published: dict[str, Any]) -> dict[str, Any]:
    tests: dict[str, dict[str, Any]] = {}
    others: list[dict[str, Any]] = []
    for index, cell in enumerate(cells):
        if cell["cell_type"] != "code" or not cell["source"].strip():
            continue
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        result = {
            "outputs": [without_count(output) for output in cell["outputs"]],
            "seconds": published["times"].get(name or f"cell {index + 1}", 0.0),
        }
        if name in keys:
            tests[name] = {"key": keys[name], **result}
        else:
            others.append(result)
    about = {"cpu_seconds": published["cpu_seconds"], "peak_mb": published["peak_mb"]}
    return {"tests": tests, "cells": others, **about}


def without_count(output: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in output.items() if key != "execution_count"}
