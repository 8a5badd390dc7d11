"""`grading.json` of a part of the hostile class, without times and memory: what a change of the code must leave as it
is.

`python tests/hostile/golden.py` (from the root of the repository) writes the file again, after a change that is meant.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("golden.json")
sys.path[:0] = [str(FILE.parent), str(FILE.parents[1]), str(FILE.parents[2])]

from attacks import ATTACKS  # noqa: E402
from classroom import Graded, hand_in  # noqa: E402
from conftest import run_course  # noqa: E402
from course import NAME, make  # noqa: E402

# Of every kind that is reported: repairs, questions without a verdict, signs of tampering, refused files, limits. Only
# attacks whose
# report is the same in every run, on a busy machine too, and does not depend on the texts that `course build` puts into
# a notebook.
CHOSEN = (
    "input transformer",
    "ast transformer",
    "the name is gone",
    "ten gigabytes announced",
    "exception with the examiner's name",
    "system exit",
    "network",
    "os._exit in a cell",
    "kills itself",
    "endless loop",
    "deaf by handler",
    "changed signal handlers",
    "endless loop in a test",
    "os._exit in a test",
    "registered exits",
    "fork bomb",
    "thread that outlives its cell",
    "many files",
    "garbage on the wire",
    "pickle on the wire",
    "memory flood",
    "memory flood in a test",
    "syntax error in an answer",
    "a stub that is left",
    "output that imitates the grader",
    "deleted tests",
    "deleted set-up",
    "deleted answer",
    "duplicated answer",
    "edited tests",
    "edited set-up",
    "reordered",
    "tests before answers",
    "retyped cells",
    "no nbgrader metadata",
    "no metadata, no ids",
    "answers without metadata, in other places",
    "fake grade cells",
    "empty file",
    "not JSON",
    "a list",
    "deep JSON",
    "Latin-1",
    "format 3",
    "larger than any notebook",
    "too many cells",
    "no notebook",
    "renamed",
    "in a folder of its own",
    "link to another student",
    "a pipe",
    "forged record",
    "odd file names",
    "picture in the written answer",
)
MEASURED = ("times", "cpu_seconds", "peak_mb", "seconds")
PROCESSES = re.compile(r"\d+(?= processes that a cell left behind)")


def grade_class(root: Path) -> Graded:
    """The chosen submissions through one `course grade`."""
    _, assignment = make(root)
    for number, attack in enumerate(attack for attack in ATTACKS if attack.name in CHOSEN):
        hand_in(root, assignment, f"g{number:02d}", attack)
    done = run_course("grade", NAME, "--workers", "2", "--json", cwd=root)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]
    return Graded(root, json.loads(done.stdout), done.stderr)


def normalised(graded: Graded) -> dict[str, Any]:
    """By attack: the record, the row of the summary, and a digest of the notebook that was graded."""
    names = [attack.name for attack in ATTACKS if attack.name in CHOSEN]
    assert sorted(names) == sorted(CHOSEN)
    rows = {row["student"]: row for row in graded.summary["rows"]}
    found: dict[str, Any] = {}
    for number, name in enumerate(names):
        student = f"g{number:02d}"
        record = graded.record(student)
        del record["digest"], record["student"]
        for notebook in record["notebooks"].values():
            assert notebook.pop("job") == student
            del notebook["decided_by"], notebook["reused"]  # digests of tools and versions; nothing was graded before
            notebook.update(dict.fromkeys((key for key in MEASURED if key in notebook), 0))
            notebook["limits"] = len(notebook["limits"])
            notebook["grades"] = {test: [mark["auto"], mark["max"]] for test, mark in notebook["grades"].items()}
        row = {
            key: value for key, value in rows[student].items() if key in ("score", "out_of", "waiting", "unreadable")
        }
        found[name] = {"record": record, "row": row, "notebook": digest_of(graded.notebook(student))}
    text = PROCESSES.sub("N", json.dumps(found))
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def digest_of(notebook: dict[str, Any]) -> str:
    """Of the order, kind, id and name of all cells, and of the text of those that the course's author does not write."""
    cells = []
    for cell in notebook["cells"]:
        known = cell["metadata"].get("nbgrader", {})
        text = "" if known.get("locked") else cell["source"]
        cells.append([cell["cell_type"], cell["id"], known.get("grade_id", ""), text, cell.get("attachments", {})])
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16]


def text_of(found: dict[str, Any]) -> str:
    """One line for each submission, so that a difference is a line."""
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in found.items()) + "\n}\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FILE.write_text(text_of(normalised(grade_class(Path(folder)))), encoding="utf-8")
