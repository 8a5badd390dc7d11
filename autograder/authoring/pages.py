"""What the build makes of all assignments together: the README's table, with points and times."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_notebook

from autograder.authoring import source
from autograder.authoring.statements import sums
from autograder.model.course import Assignment, Course, CourseError
from autograder.model.notebook import Cell, Notebook
from helpers.student import authorship

# `course build` keeps the README's table of assignments between these two.
TABLE = re.compile(r"(<!-- assignments: made by `course build` -->).*?(<!-- end of assignments -->)", re.DOTALL)

# What JupyterLab notes about a kernel's language. All of it has to be there, or a notebook just opened counts as
# changed. The version is that of the kernel, which `course lab` knows: see `helpers/student/work.py`.
LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
    "version": "3",
}


def as_text(nodes: list[Any]) -> str:
    """A notebook of these cells, as nbformat writes it: sorted keys, no timestamps, no machine's versions."""
    notebook = new_notebook(cells=nodes)
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel, "language_info": LANGUAGE})
    authorship.stamp(notebook)
    nbformat.validate(notebook)
    return nbformat.writes(notebook, version=4) + "\n"


def graded_cells(path: Path) -> dict[str, float]:
    """Points by id of the graded cells of an ordinary notebook."""
    notebook = authorship.read(path)
    if notebook is None:
        raise CourseError(f"{path} is not a notebook that can be read: open it in JupyterLab and save it again")
    return Notebook.from_json(notebook).points()


def points(cells: list[Cell]) -> tuple[float, float]:
    """(points that count, bonus points) of these cells."""
    return sums(Notebook(cells).points())


def points_of(assignment: Assignment) -> tuple[float, float]:
    """(points that count, bonus points) of an assignment."""
    if not assignment.ordinary_notebooks:
        return points(source.read(assignment.source))
    found = [sums(graded_cells(path)) for path in assignment.ordinary_notebooks]
    return sum(count for count, _ in found), sum(bonus for _, bonus in found)


def worth(assignment: Assignment) -> str:
    count, bonus = points_of(assignment)
    return f"{count:g}" + (f" + {bonus:g} bonus" if bonus else "")


def number_of(assignment: Assignment) -> str:
    number, _, _ = assignment.id.partition("-")
    return number if number.isdigit() else ""


def links(assignment: Assignment, folder: str) -> str:
    """The assignment's title, leading to its notebook; where there are several, followed by their names."""
    paths = assignment.student_notebooks
    if len(paths) == 1:
        return f"[{assignment.title}]({folder}{assignment.id}/{paths[0].name})"
    return f"{assignment.title}: " + ", ".join(f"[{path.stem}]({folder}{assignment.id}/{path.name})" for path in paths)


def readme_table(course: Course) -> str:
    """The README's table of assignments, with Colab badges."""
    badge = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({})"
    lines = ["| | assignment | points | time | Colab |", "| --- | --- | --- | --- | --- |"]
    part = ""
    for assignment in course.assignments:
        if assignment.part != part:
            part = assignment.part
            lines.append(f"| | **Part {part}** | | | |")
        badges = " ".join(badge.format(course.colab_link(assignment, path)) for path in assignment.student_notebooks)
        hours = f"{assignment.minutes / 60:.2g} h"
        lines.append(
            f"| {number_of(assignment)} | {links(assignment, 'notebooks/')} | {worth(assignment)} | {hours} |"
            f" {badges} |"
        )
    return "\n".join(lines)


def with_table(course: Course, readme: str) -> str:
    """The README with its table of assignments brought up to date."""
    table = readme_table(course)
    return TABLE.sub(lambda marks: f"{marks[1]}\n\n{table}\n\n{marks[2]}", readme)
