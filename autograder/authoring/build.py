"""`course build`: from one percent script to the instructor's and the student's notebook, the same bytes every time."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.authoring import folding, headers, package, source, statements, steps
from autograder.authoring.pages import as_text, graded_cells, with_table
from autograder.authoring.problem import Problem
from autograder.authoring.quoting import DISTINCTIVE, quoted_in
from autograder.authoring.rules import problems
from autograder.model.course import Assignment, Course, CourseError, write_whole
from autograder.model.notebook import Cell
from autograder.model.regions import MARKERS
from helpers.student import authorship

ABOUT_SETUP = "The set-up cell installs the course on Colab; where the course is installed it does nothing."


class BuildError(CourseError):
    """The source breaks a rule; one line per problem, with file and line."""

    def __init__(self, found: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in found))
        self.problems = found


def checked_cells(assignment: Assignment) -> tuple[list[Cell], list[Problem]]:
    """The assignment's cells and the warnings about them; raises BuildError if a rule is broken."""
    cells = source.read(assignment.source)
    said = [*problems(assignment.source, cells), *statements.time(assignment.source, cells, assignment.minutes)]
    found = [relative(problem, assignment.root) for problem in said]
    if any(not problem.warning for problem in found):
        raise BuildError([problem for problem in found if not problem.warning])
    return cells, found


def relative(problem: Problem, root: Path) -> Problem:
    return Problem(problem.path.relative_to(root), problem.line, problem.message, problem.warning)


def instructor_notebook(course: Course, assignment: Assignment, cells: list[Cell]) -> str:
    """The instructor's notebook as text: the source's cells, with generated ones below the title and at the end, and
    derived ids.
    """
    nodes = [as_node(cell) for cell in cells]
    below = 1 if cells and cells[0].kind == "markdown" else 0
    nodes[below:below] = generated_cells(course, assignment)
    seen: set[str] = set()
    for node in nodes:
        node["id"] = derived_id(node, seen)
    return as_text([*nodes, hand_in_cell(assignment)])


def as_node(cell: Cell) -> Any:
    make = new_code_cell if cell.kind == "code" else new_markdown_cell
    return make(cell.source, metadata=cell.metadata)


def generated_cells(course: Course, assignment: Assignment) -> list[Any]:
    """The link to Colab (in words: a badge is a broken picture without a network) and the set-up cell: written here
    once, the same in every notebook.
    """
    mark = {"course": {"generated": True}}
    link = f"<small>[Open this notebook in Colab]({course.colab_link(assignment)}). {ABOUT_SETUP}</small>"
    told = ", ".join([*(repr(name) for name in assignment.needs), f'assignment="{assignment.id}"'])
    setup = (
        f"{folding.title('Set-up: run this cell first')}\n# {ABOUT_SETUP}\n"
        'import importlib.util, os, subprocess, sys; found = importlib.util.find_spec("helpers")\n'
        'if found and not os.path.exists(os.path.join(os.path.dirname(found.origin or ""), "kit", "colab.py")): '
        "raise ImportError("
        "f\"{found.origin or list(found.submodule_search_locations)[0]} hides the course's own helpers: "
        'give yours another name, then restart the kernel.")\n'
        'found or subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", '
        f'"{package.address(course)}"], check=True)\n'
        f"from helpers.kit import colab; colab.ready({told})"
    )
    locked = {
        "grade": False,
        "grade_id": "colab",
        "locked": True,
        "schema_version": 3,
        "solution": False,
        "task": False,
    }
    return [
        new_markdown_cell(link, metadata=mark),
        new_code_cell(setup, metadata={**mark, **folding.FOLDED, "nbgrader": locked}),
    ]


def hand_in_cell(assignment: Assignment) -> Any:
    """The last cell of every notebook. nbgrader does not know it, so that a notebook without it is graded just the
    same.
    """
    text = (
        "# Done, for now or for good? Save the notebook and run this cell. It runs everything\n"
        "# from the top, shows your points and what is unanswered, and gives you the file\n"
        "# to hand in.\n"
        f'from helpers.student.hand_in import hand_in\nhand_in("{assignment.id}")'
    )
    return new_code_cell(text, id="hand-in", metadata={"course": {"generated": True}})


def derived_id(node: Any, seen: set[str]) -> str:
    """A cell id that depends on the cell only: its grade id, or a digest of its text."""
    base = (
        node.metadata.get("nbgrader", {}).get("grade_id")
        or hashlib.sha256(f"{node.cell_type}\n{node.source}".encode()).hexdigest()[:12]
    )
    name, count = base, 1
    while name in seen:
        count += 1
        name = f"{base[:58]}-{count}"
    seen.add(name)
    return name


class Stamp(NbGraderPreprocessor):
    """The last step of `nbgrader generate_assignment`: the student's notebook has no headers of the script, its tests
    are folded, and it carries the digest of what was made.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        for_students(nb)
        return nb, resources


def for_students(notebook: Any) -> None:
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(headers.shortened(cell.metadata))
    folding.fold_tests(notebook)
    authorship.stamp(notebook)


def stamped(text: str) -> str:
    """The same where a course's nbgrader configuration does without that step."""
    notebook = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
    for_students(notebook)
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n"


def student_notebook(course: Course, assignment: Assignment, instructor: str) -> str:
    """The student's notebook as text."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        target = place / "solutions" / assignment.id / f"{assignment.id}.ipynb"
        target.parent.mkdir(parents=True)
        target.write_text(instructor, encoding="utf-8")
        return student_notebooks(course, assignment, place)[target.name]


def student_notebooks(course: Course, assignment: Assignment, place: Path) -> dict[str, str]:
    """What nbgrader's own converter, with the course's own configuration, makes of the notebooks in `place`: text by
    name.
    """
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
        raise CourseError(
            f"{assignment.id}: nbgrader could not make the student notebook: {messages.first() or error}"
        ) from None
    made = sorted((place / "notebooks" / assignment.id).glob("*.ipynb"))
    return {path.name: stamped(path.read_text(encoding="utf-8")) for path in made}


def ordinary_notebooks(course: Course, assignment: Assignment) -> dict[str, str]:
    """The student's versions of an assignment's ordinary nbgrader notebooks: text by name."""
    for path in assignment.ordinary_notebooks:
        graded_cells(path)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        private = shutil.ignore_patterns(".*", "__pycache__")
        shutil.copytree(assignment.source.parent, place / "solutions" / assignment.id, ignore=private)
        if (course.root / "autotests.yml").exists():
            shutil.copy(course.root / "autotests.yml", place)
        made = student_notebooks(course, assignment, place)
    for name, text in made.items():
        for marker in MARKERS:
            if marker in text:
                raise CourseError(f"solutions/{assignment.id}/{name}: `{marker}` survives in the student's notebook")
    return made


class ListHandler(logging.Handler):
    """Keeps nbgrader's log messages, so that its last line can be shown instead of a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())

    def first(self) -> str:
        return next((m.strip().splitlines()[-1] for m in self.messages if "Traceback" in m), "")


def leaks(assignment: Assignment, cells: list[Cell], student: str) -> list[Problem]:
    """Solution or hidden-test text that survives anywhere in the student's notebook: sources, metadata, outputs."""
    path = assignment.source.relative_to(assignment.root)
    shipped: set[str] = set()
    for text in strings(json.loads(student)):
        shipped.update(" ".join(line.split()) for line in text.split("\n"))
    prose = [
        (cell.line, " ".join(cell.source.split())) for cell in cells if cell.kind == "markdown" and not cell.is_solution
    ]
    found = []
    for cell in cells:
        for region in cell.regions:
            for number, text in region.body:
                line, words = cell.file_line(number), " ".join(text.split())
                if len(words.replace(" ", "")) < DISTINCTIVE or words.startswith("#"):
                    continue
                if words in shipped:
                    message = (
                        f"this line of the {region.kind.value} is also in the student's notebook: reword one of the two"
                    )
                    found.append(Problem(path, line, message))
                elif (place := quoted_in(prose, text)) is not None:
                    message = f"this line of the {region.kind.value} is also in the text of line {place}: reword one"
                    found.append(Problem(path, line, message))
    found += [
        Problem(path, 1, f"`{word}` survives in the student's notebook")
        for word in MARKERS
        if any(word in line for line in shipped)
    ]
    return found


def strings(value: Any) -> list[str]:
    """Every string in a JSON value; a cell's list of source lines counts as one."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    if isinstance(value, list):
        return (
            ["".join(value)]
            if all(isinstance(item, str) for item in value)
            else [text for item in value for text in strings(item)]
        )
    return []


def build(course: Course, assignment: Assignment) -> tuple[str, str, list[Problem]]:
    """(instructor's notebook, student's notebook, warnings), nothing written yet."""
    cells, warnings = checked_cells(assignment)
    instructor = instructor_notebook(course, assignment, cells)
    student = student_notebook(course, assignment, instructor)
    found = [*leaks(assignment, cells, student), *steps.problems(assignment, cells)]
    if found:
        raise BuildError(found)
    return instructor, student, warnings


def student_texts(course: Course, assignment: Assignment) -> dict[str, str]:
    """Every notebook that students get of this assignment: text by name."""
    if assignment.ordinary_notebooks:
        return ordinary_notebooks(course, assignment)
    return {assignment.student_notebook.name: build(course, assignment)[1]}


def outputs(course: Course, chosen: list[Assignment]) -> tuple[dict[Path, str], list[Problem]]:
    """Every file the build makes for these assignments, and the warnings."""
    package.check_tag(course)
    files: dict[Path, str] = {}
    warnings: list[Problem] = []
    broken: list[Problem] = []
    for assignment in chosen:
        if assignment.ordinary_notebooks:
            made = ordinary_notebooks(course, assignment)
            files |= {assignment.student_notebook.with_name(name): text for name, text in made.items()}
            continue
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
    readme = course.root / "README.md"
    if readme.exists():
        files[readme] = with_table(course, readme.read_bytes().decode())
    return files, warnings


def write(files: dict[Path, str], keep: Path | None = None) -> list[Path]:
    """Write what changed; gives the paths written, copies included.

    A notebook that a person changed stops everything before anything is written, or is copied into the folder `keep`
    first.
    """
    wanted = {path: text_to_write(path, text) for path, text in files.items()}
    theirs = [path for path, text in wanted.items() if text is None]
    if theirs and keep is None:
        unsaid = [line for path in theirs for line in only_in_side_bar(path, files[path])]
        if unsaid:
            raise CourseError("\n".join(unsaid))
        raise CourseError(
            "\n".join(f"{path} was changed by a person, and nothing was built: {ADVICE}" for path in theirs)
        )
    changed = [keep_copy(path, keep) for path in theirs if keep is not None]
    for path, text in wanted.items():
        text = files[path] if text is None else text
        if not path.exists() or path.read_bytes() != text.encode():
            write_whole(path, text)
            changed.append(path)
        as_old_as_its_script(path)
    return changed


ADVICE = "move it away (answers belong into work/), or run `course build --force`, which keeps a copy of it in kept/"


def text_to_write(path: Path, text: str) -> str | None:
    """What may be written here without losing anything: the text, perhaps with the results of cells that were run.

    None: a person's.
    """
    if (
        path.suffix != ".ipynb"
        or not os.path.lexists(path)
        or (not path.is_symlink() and path.read_bytes() == text.encode())
    ):
        return text
    saved, built = authorship.read(path), json.loads(text)
    if saved is None:
        return None
    same = authorship.says(saved) == authorship.says(built)
    if script_of(path) is not None:  # the instructor's: the script has the text, the notebook the results
        return with_results(built, saved) if same or authorship.unedited(saved) else None
    if (same and not authorship.has_results(saved)) or not authorship.is_a_persons(path):
        return text
    return None


def only_in_side_bar(path: Path, text: str) -> list[str]:
    """Points and ids of an instructor's notebook that were changed in the side bar and not in the script."""
    script = script_of(path)
    saved = authorship.read(path)
    if script is None or saved is None:
        return []
    return headers.side_bar_changes(saved, json.loads(text), script, source.read(script))


def with_results(built: Any, saved: Any) -> str:
    """The built notebook with the outputs of those cells that were run with the same text."""
    ran = [cell for cell in saved["cells"] if cell.get("outputs")]
    for cell in built["cells"]:
        known = next(
            (one for one in ran if authorship.source_of(one).rstrip() == authorship.source_of(cell).rstrip()), None
        )
        if cell["cell_type"] == "code" and known is not None:
            cell["outputs"], cell["execution_count"] = known["outputs"], known.get("execution_count")
            ran.remove(known)
    return nbformat.writes(nbformat.from_dict(built), version=4) + "\n"


def keep_copy(path: Path, keep: Path) -> Path:
    """A copy of a person's file in the folder `keep`, by its place in the course. No other copy is overwritten."""
    content = path.read_bytes()
    target = keep / path.relative_to(keep.parent)
    number = 1
    while target.exists() and target.read_bytes() != content:
        number += 1
        target = target.with_name(f"{path.stem}-{number}{path.suffix}")
    write_whole(target, content)
    return target


def script_of(path: Path) -> Path | None:
    """The script that an instructor's notebook is paired with."""
    script = path.with_suffix(".py")
    return script if path.suffix == ".ipynb" and path.parent.parent.name == "solutions" and script.exists() else None


def as_old_as_its_script(path: Path) -> None:
    """jupytext opens a pair only if the script is not the older one.

    A notebook that was made from the script is as old as that.
    """
    script = script_of(path)
    if script is not None:
        state = script.stat()
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def stale(course: Course, files: dict[Path, str]) -> list[str]:
    """What in notebooks/, or in the README's table, is not what solutions/ makes: one line each."""
    found = []
    for path, text in files.items():
        name = path.relative_to(course.root)
        if name.parts[0] not in ("notebooks", "README.md"):
            continue
        if not path.exists():
            found.append(f"{name} is missing")
        elif path.read_bytes() != text.encode():
            found.append(f"{name} is not what solutions/ makes")
    for extra in sorted((course.root / "notebooks").rglob("*.ipynb")):
        if extra not in files and ".ipynb_checkpoints" not in extra.parts:
            found.append(f"{extra.relative_to(course.root)} has no source in solutions/")
    return found
