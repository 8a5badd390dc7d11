"""The last look at what is published, a release or the site: does anything in it, the wheel's modules and the text of
its pages included, give an answer or a hidden test away?

A notebook is compared with its own assignment by the build (`build.leaks`): an answer of one part of the course may be
given code in another. Everything else is compared with every answer of the course, line by line.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

from autograder.authoring import html_pages, mistakes, source
from autograder.authoring.build import strings
from autograder.authoring.quoting import DISTINCTIVE
from autograder.model.course import Assignment, Course, CourseError
from autograder.model.notebook import Cell, Notebook
from autograder.model.regions import MARKERS
from helpers.checks.model_answers import FOLDER

PRIVATE = ("solutions", "autograder", "mistakes.py", "gradebook.db", ".course")  # never a part of a released path
ANSWERS = f"helpers/{FOLDER}/"  # only a package for learning alone has this folder, in its wheel
# Lines of answers that others write too, looked at one by one: they give nothing away.
ORDINARY = frozenset(
    {
        "was_training = model.training",
        "model.train(was_training)",
        "nn.utils.clip_grad_norm_(model.parameters(), clip)",
        "losses.append(loss.item())",
        "return torch.stack(rows)",
        "rows = torch.as_tensor(prefixes)",
        "optimizer.zero_grad()",
        "generator = torch.Generator().manual_seed(seed)",
        "draw = random.Random(seed)",
        "return self.output(mixed.transpose(1, 2).flatten(2))",
        "disk.write(name, data)",  # the text of 13 explains what it does
    }
)


def check(course: Course, folder: Path, done: str = "released") -> None:
    """Raise with a line for each place where what is to be `done` with this folder gives something away."""
    secret = secrets(course)
    found = []
    for name, text in texts(folder):
        found += [f"{name}: a file of the staff's" for part in Path(name).parts if part in PRIVATE]
        if f".whl/{ANSWERS}" in name and course.self_study:
            continue
        if ANSWERS in name:
            found.append(f"{name}: a model answer")
        if name.endswith(".ipynb"):
            found += [f"{name}: `{marker}`" for marker in MARKERS if marker in text]
            continue
        for number, line in enumerate(lines_of(name, text), 1):
            if line.lstrip().startswith("#"):  # a string may name a marker, to look for it
                found += [f"{name}:{number}: `{marker}`" for marker in MARKERS if marker in line]
            if (words := plain(line)) in secret:
                found.append(f"{name}:{number}: this line is also in {secret[words]}: reword one of the two")
    if found:
        raise CourseError("\n".join([*found, f"nothing was {done}: students would see answers"]))


def lines_of(name: str, text: str) -> list[str]:
    """The lines of a file. Those that are strings inside it count as well: one line of JSON may hold a whole answer."""
    if name.endswith(".json"):
        try:
            return [line for string in strings(json.loads(text)) for line in string.split("\n")]
        except ValueError:
            pass
    return text.replace("\\n", "\n").split("\n") if name.endswith((".json", ".toml")) else text.split("\n")


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file of the release by its name, archives opened. Pictures and other bytes are read as far as they are
    text. A page is read twice: as its bytes, and as the text that a browser shows, where colours do not cut a line of
    code into pieces.
    """
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(path) as archive:
                for inner in archive.namelist():
                    yield f"{name}/{inner}", archive.read(inner).decode(errors="ignore")
        elif path.is_file():
            text = path.read_bytes().decode(errors="ignore")
            yield name, text
            if path.suffix == ".html":
                yield f"{name} as it is read", "\n".join(html_pages.read(text).lines)


def secrets(course: Course) -> dict[str, str]:
    """Lines that no student may get, with the place that they are from: answers, hidden tests, wrong answers."""
    found: dict[str, str] = {}
    given: set[str] = set()
    for assignment in course.assignments:
        place = f"solutions/{assignment.id}"
        for cell in cells_of(assignment):
            given |= {plain(line) for line in cell.given.split("\n")}
            for region in cell.regions:
                lines = {plain(line): f"the {region.kind.value} of {place}" for _, line in region.body}
                found |= lines
        if assignment.mistakes.exists():
            named = mistakes.load(assignment.mistakes).by_exercise
            codes = [variant.code for variants in named.values() for variant in variants]
            found |= {plain(line): f"{place}/mistakes.py" for code in codes for line in code.split("\n")}
    return {line: place for line, place in found.items() if tells(line) and line not in given | ORDINARY}


def cells_of(assignment: Assignment) -> list[Cell]:
    if not assignment.ordinary_notebooks:
        return source.read(assignment.source)
    return [cell for path in assignment.ordinary_notebooks for cell in Notebook.from_json(path.read_bytes()).cells]


def plain(line: str) -> str:
    return " ".join(line.split())


def tells(line: str) -> bool:
    """Short lines, comments and the heads of loops and conditions stand in many programs."""
    return len(line.replace(" ", "")) >= DISTINCTIVE and not line.startswith("#") and not line.endswith(":")
