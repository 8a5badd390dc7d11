"""`course build`: from one percent script to the instructor's and the student's notebook, the same bytes every time."""

from __future__ import annotations

import hashlib
import json
import logging
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder import source
from autograder.course import Assignment, Course, CourseError, write_whole
from autograder.rules import problems
from autograder.source import Problem, SourceCell

# A solution line this short (without spaces) may well stand in given code too: `return x` gives nothing away.
DISTINCTIVE = 20


class BuildError(CourseError):
    """The source breaks a rule; one line per problem, with file and line."""

    def __init__(self, found: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in found))
        self.problems = found


def checked_cells(assignment: Assignment) -> tuple[list[SourceCell], list[Problem]]:
    """The assignment's cells and the warnings about them; raises BuildError if a rule is broken."""
    cells = source.read(assignment.source)
    found = [relative(problem, assignment.root) for problem in problems(assignment.source, cells)]
    if any(not problem.warning for problem in found):
        raise BuildError([problem for problem in found if not problem.warning])
    return cells, found


def relative(problem: Problem, root: Path) -> Problem:
    return Problem(problem.path.relative_to(root), problem.line, problem.message, problem.warning)


def instructor_notebook(course: Course, assignment: Assignment, cells: list[SourceCell]) -> str:
    """The instructor's notebook as text: generated cells first, then the source's cells, with derived ids."""
    nodes = [*generated_cells(course, assignment), *(as_node(cell) for cell in cells)]
    seen: set[str] = set()
    for node in nodes:
        node["id"] = derived_id(node, seen)
    return as_text(nodes)


def as_text(nodes: list[Any]) -> str:
    """A notebook of these cells, as nbformat writes it: sorted keys, no timestamps, no machine's versions."""
    notebook = new_notebook(cells=nodes)
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel, "language_info": {"name": "python"}})
    nbformat.validate(notebook)
    return nbformat.writes(notebook, version=4) + "\n"


def as_node(cell: SourceCell) -> Any:
    make = new_code_cell if cell.kind == "code" else new_markdown_cell
    return make(cell.source, metadata=cell.metadata)


def generated_cells(course: Course, assignment: Assignment) -> list[Any]:
    """The Colab badge and the two-line set-up cell: written here once, the same in every notebook."""
    mark = {"course": {"generated": True}}
    badge = f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({course.colab_link(assignment)})"
    needs = ", ".join(repr(name) for name in assignment.needs)
    setup = (
        'import importlib.util, subprocess, sys; importlib.util.find_spec("helpers") or subprocess.run([sys.executable, "-m", "pip", '
        f'"install", "-q", "--no-deps", "git+{course.repository}@{course.branch}"], check=True)\n'
        f"from helpers import colab; colab.ready({needs})"
    )
    locked = {"grade": False, "grade_id": "colab", "locked": True, "schema_version": 3, "solution": False, "task": False}
    return [new_markdown_cell(badge, metadata=mark), new_code_cell(setup, metadata={**mark, "nbgrader": locked})]


def derived_id(node: Any, seen: set[str]) -> str:
    """A cell id that depends on the cell only: its grade id, or a digest of its text."""
    base = node.metadata.get("nbgrader", {}).get("grade_id") or hashlib.sha256(f"{node.cell_type}\n{node.source}".encode()).hexdigest()[:12]
    name, count = base, 1
    while name in seen:
        count += 1
        name = f"{base[:58]}-{count}"
    seen.add(name)
    return name


def student_notebook(course: Course, assignment: Assignment, instructor: str) -> str:
    """The student's notebook as text, made by nbgrader's own converter with the course's own configuration."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        target = place / "solutions" / assignment.id / f"{assignment.id}.ipynb"
        target.parent.mkdir(parents=True)
        target.write_text(instructor, encoding="utf-8")
        config = Config()
        if (course.root / "nbgrader_config.py").exists():
            config.merge(PyFileConfigLoader("nbgrader_config.py", path=str(course.root)).load_config())
        config.CourseDirectory.root = str(place)
        config.CourseDirectory.source_directory = "solutions"
        config.CourseDirectory.release_directory = "notebooks"
        config.CourseDirectory.assignment_id = assignment.id
        config.SaveCells.enabled = False
        messages = ListHandler()
        converter = GenerateAssignment(coursedir=CourseDirectory(config=config), config=config, no_database=True)
        converter.log = logging.Logger("course build", logging.ERROR)
        converter.log.addHandler(messages)
        try:
            converter.start()
        except Exception as error:  # noqa: BLE001  nbgrader raises bare exceptions of many kinds
            raise CourseError(f"{assignment.id}: nbgrader could not make the student notebook: {messages.first() or error}") from None
        made = place / "notebooks" / assignment.id / f"{assignment.id}.ipynb"
        return made.read_text(encoding="utf-8")


class ListHandler(logging.Handler):
    """Keeps nbgrader's log messages, so that its last line can be shown instead of a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())

    def first(self) -> str:
        return next((m.strip().splitlines()[-1] for m in self.messages if "Traceback" in m), "")


def leaks(assignment: Assignment, cells: list[SourceCell], student: str) -> list[Problem]:
    """Solution or hidden-test text that survives anywhere in the student's notebook: sources, metadata, outputs."""
    path = assignment.source.relative_to(assignment.root)
    shipped: set[str] = set()
    for text in strings(json.loads(student)):
        shipped.update(" ".join(line.split()) for line in text.split("\n"))
    found = []
    for cell in cells:
        for region in cell.regions:
            for line, text in region.lines:
                words = " ".join(text.split())
                if len(words.replace(" ", "")) >= DISTINCTIVE and not words.startswith("#") and words in shipped:
                    found.append(
                        Problem(path, line, f"this line of the {region.kind} also stands in the student's notebook: reword one of the two")
                    )
    found += [
        Problem(path, 1, f"`{word}` survives in the student's notebook")
        for word in source_markers()
        if any(word in line for line in shipped)
    ]
    return found


def source_markers() -> tuple[str, ...]:
    return source.BEGIN_SOLUTION, source.END_SOLUTION, source.BEGIN_HIDDEN, source.END_HIDDEN


def strings(value: Any) -> list[str]:
    """Every string in a JSON value; a cell's list of source lines counts as one."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    if isinstance(value, list):
        return ["".join(value)] if all(isinstance(item, str) for item in value) else [text for item in value for text in strings(item)]
    return []


def build(course: Course, assignment: Assignment) -> tuple[str, str, list[Problem]]:
    """(instructor's notebook, student's notebook, warnings), nothing written yet."""
    cells, warnings = checked_cells(assignment)
    instructor = instructor_notebook(course, assignment, cells)
    student = student_notebook(course, assignment, instructor)
    found = leaks(assignment, cells, student)
    if found:
        raise BuildError(found)
    return instructor, student, warnings


def points(cells: list[SourceCell]) -> tuple[float, float]:
    """(points that count, bonus points) of an assignment."""
    graded = [(cell.grade_id, float(cell.nbgrader["points"])) for cell in cells if cell.is_grade or cell.is_task]
    bonus = sum(value for name, value in graded if name.startswith("bonus-"))
    return sum(value for _, value in graded) - bonus, bonus


def start_page(course: Course) -> str:
    """The workbook's first page: a notebook with the list of assignments."""
    lines = [
        f"# {course.title}",
        "",
        "Open an assignment, read, predict, write code, run the test below it. A failing test names the likely mistake.",
    ]
    part = ""
    for assignment in course.assignments:
        if assignment.part != part:
            part = assignment.part
            lines += ["", f"## Part {part}", "", "| | assignment | points | time |", "| --- | --- | --- | --- |"]
        count, bonus = points(source.read(assignment.source))
        worth = f"{count:g}" + (f" + {bonus:g} bonus" if bonus else "")
        hours = f"about {assignment.minutes / 60:.2g} h"
        number, _, _ = assignment.id.partition("-")
        lines.append(f"| {number} | [{assignment.title}]({assignment.id}/{assignment.id}.ipynb) | {worth} | {hours} |")
    lines += [
        "",
        "**How to work.** Write your code where it says `YOUR CODE HERE` and run the cell, then the test cell below it. "
        "Cells with tests are locked; everything else is yours to change. *Validate* in the toolbar runs the whole notebook from the top, as grading does.",
        "",
        "**Scale.** `COURSE_SCALE=smoke`, `laptop` (default) or `gpu` decides how large the experiments are. The code is the same.",
    ]
    node = new_markdown_cell("\n".join(lines))
    node["id"] = "start"
    return as_text([node])


def outputs(course: Course, chosen: list[Assignment]) -> tuple[dict[Path, str], list[Problem]]:
    """Every file the build makes for these assignments, and the warnings."""
    files: dict[Path, str] = {}
    warnings: list[Problem] = []
    broken: list[Problem] = []
    for assignment in chosen:
        try:
            instructor, student, found = build(course, assignment)
        except BuildError as error:
            broken += error.problems
            continue
        files[assignment.instructor_notebook] = instructor
        files[assignment.student_notebook] = student
        warnings += found
    if broken:
        raise BuildError(broken)
    files[course.root / "notebooks" / "start.ipynb"] = start_page(course)
    return files, warnings


def write(files: dict[Path, str]) -> list[Path]:
    """Write what changed; gives the paths written."""
    changed = [path for path, text in files.items() if not path.exists() or path.read_bytes() != text.encode()]
    for path in changed:
        write_whole(path, files[path])
    return changed


def stale(course: Course, files: dict[Path, str]) -> list[str]:
    """What in notebooks/ is not what solutions/ makes: one line each."""
    found = []
    for path, text in files.items():
        name = path.relative_to(course.root)
        if name.parts[0] != "notebooks":
            continue
        if not path.exists():
            found.append(f"{name} is missing")
        elif path.read_bytes() != text.encode():
            found.append(f"{name} is not what solutions/ makes")
    for extra in sorted((course.root / "notebooks").rglob("*.ipynb")):
        if extra not in files and ".ipynb_checkpoints" not in extra.parts:
            found.append(f"{extra.relative_to(course.root)} has no source in solutions/")
    return found
