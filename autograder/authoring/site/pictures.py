"""The pictures of an assignment: what its given cells draw, with the model answers in place.

The instructor's notebook runs once in an ordinary kernel, without its tests, and of the given cells' results only
figures and pictures to play with are kept. Printed numbers and tables are not: they might be what an exercise asks for.
A run takes from seconds to minutes, so that its pictures are kept under a digest of all that decides them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell

from autograder.authoring import build
from autograder.examiner.pool import PACKAGES
from autograder.model.course import Assignment, Course, CourseError, write_whole
from autograder.model.notebook import Cell, Role
from helpers.kit import validate

KEPT = Path(".course") / "site"
# Twice the dots, for the screens of today.
SHARP = "%config InlineBackend.figure_formats = ['retina']"
CELL_SECONDS = 3600
DRAWS = (Role.GIVEN, Role.SETUP, Role.LOCKED)
UNSEEN = ("checks", "student")  # rooms of helpers/ that draw nothing
VERSIONS = ("matplotlib", "seaborn", "torch")


@dataclass(frozen=True)
class Picture:
    """A figure as a PNG file's content in base64, or a small page to play with as HTML."""

    png: str = ""
    html: str = ""
    width: int = 0  # of a figure, in the page's units
    height: int = 0

    @property
    def file_name(self) -> str:
        """Of a figure: the same picture has the same name."""
        return f"{hashlib.sha256(self.png.encode()).hexdigest()[:16]}.png"

    @property
    def content(self) -> bytes:
        return base64.b64decode(self.png)


Pictures = Mapping[str, Sequence[Picture]]  # by the id of the cell


def of(course: Course, assignment: Assignment, scale: str) -> Pictures:
    """Pictures by the ids of the cells that drew them; from the last run where nothing has changed since."""
    if assignment.ordinary_notebooks:  # nobody has said which of their cells are given
        return {}
    notebook = nbformat.reads(build.build(course, assignment)[0], as_version=4)
    notebook.cells = [node for node in notebook.cells if runs(Cell.from_json(node))]
    prefix = f"{assignment.id}-{scale}-"
    path = course.root / KEPT / f"{prefix}{digest(notebook, assignment)[:16]}.json"
    if not path.exists():
        drawn = draw(notebook, assignment, scale)
        write_whole(path, json.dumps({name: [asdict(one) for one in some] for name, some in drawn.items()}, indent=1))
        for older in path.parent.glob(f"{prefix}*.json"):
            if older != path:
                older.unlink()
    kept = json.loads(path.read_text(encoding="utf-8"))
    return {name: [Picture(**one) for one in some] for name, some in kept.items()}


def runs(cell: Cell) -> bool:
    """Tests are leaves: no other cell needs them. What the build adds is for Colab and for handing in."""
    return cell.kind == "code" and not cell.is_test and not cell.is_generated


def digest(notebook: Any, assignment: Assignment) -> str:
    """Of all that decides the pictures: cells, data, what notebooks import, versions."""
    found = hashlib.sha256(json.dumps([SHARP, *(cell.source for cell in notebook.cells)]).encode())
    for path in assignment.data_files().values():
        found.update(path.read_bytes())
    for folder in PACKAGES:
        for path in sorted(folder.rglob("*")):
            place = path.relative_to(folder).parts
            if path.is_file() and place[0] not in UNSEEN and "__pycache__" not in place:
                found.update(path.read_bytes())
    found.update(json.dumps([metadata.version(name) for name in VERSIONS]).encode())
    return found.hexdigest()


def draw(notebook: Any, assignment: Assignment, scale: str) -> dict[str, list[Picture]]:
    """Run the cells and keep what the given ones drew."""
    notebook.cells = [new_code_cell(SHARP), *notebook.cells]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, path in assignment.data_files().items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place / name)
        environment = {"COURSE_SCALE": scale, "NBGRADER_EXECUTION": ""}
        try:
            validate.run(notebook, place / f"{assignment.id}.ipynb", environment, CELL_SECONDS)
        except validate.NotCheckedError as reason:
            raise CourseError(f"{assignment.id}: its pictures could not be made: {reason}") from None
    found: dict[str, list[Picture]] = {}
    for node in notebook.cells[1:]:
        cell = Cell.from_json(node)
        for output in node.outputs:
            if output.output_type == "error":
                first = cell.source.lstrip().splitlines()[0]
                error = f"{output.ename}: {output.evalue}, in the cell that begins with `{first}`"
                raise CourseError(f"{assignment.id}: its pictures could not be made: {error}")
            if cell.role in DRAWS and (picture := picture_in(output)) is not None:
                found.setdefault(cell.id, []).append(picture)
    return found


def picture_in(output: Any) -> Picture | None:
    """The figure or the small page in one output of a cell."""
    data = output.get("data", {})
    if "image/png" in data:
        size = output.get("metadata", {}).get("image/png", {})
        png = "".join(data["image/png"].split())
        return Picture(png=png, width=int(size.get("width", 0)), height=int(size.get("height", 0)))
    page = data.get("text/html", "")
    return Picture(html=page) if "<script" in page else None
