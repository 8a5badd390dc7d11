"""What the build makes of all assignments together: the start page and the README's table, with points and times."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_markdown_cell, new_notebook

from autograder.authoring import source
from autograder.authoring.statements import sums
from autograder.model.course import Assignment, Course, CourseError
from autograder.model.notebook import Cell, Notebook
from helpers.student import authorship

# `course build` keeps the README's table of assignments between these two.
TABLE = re.compile(r"(<!-- assignments: made by `course build` -->).*?(<!-- end of assignments -->)", re.DOTALL)


def as_text(nodes: list[Any]) -> str:
    """A notebook of these cells, as nbformat writes it: sorted keys, no timestamps, no machine's versions."""
    notebook = new_notebook(cells=nodes)
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel, "language_info": {"name": "python"}})
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


def start_page(course: Course) -> str:
    """The workbook's first page: a notebook with the list of assignments.

    Its links lead to the notebooks beside it, here and in work/.
    """
    lines = [
        f"# {course.title}",
        "",
        (
            "Open an assignment, read, predict, write code, run the test below it. A failing test names the likely"
            " mistake."
        ),
    ]
    part = ""
    for assignment in course.assignments:
        if assignment.part != part:
            part = assignment.part
            lines += ["", f"## Part {part}", "", "| | assignment | points | time |", "| --- | --- | --- | --- |"]
        hours = f"about {assignment.minutes / 60:.2g} h"
        lines.append(f"| {number_of(assignment)} | {links(assignment, '')} | {worth(assignment)} | {hours} |")
    lines += [
        "",
        (
            "**How to work.** Write your code where it says `YOUR CODE HERE` and run the cell, then the test cell below"
            " it. Cells with tests are locked; everything else is yours to change. *Validate* in the toolbar runs the"
            " whole notebook from the top, as grading does."
        ),
        "",
        (
            "**Your copies.** The notebooks behind these links lie in the folder `work` and are yours: nothing that you"
            " save there is ever overwritten. When the course brings a new version of a notebook that you have changed,"
            " it is put beside yours."
        ),
        "",
        (
            "**Scale.** `COURSE_SCALE=smoke`, `laptop` (default) or `gpu` decides how large the experiments are. The"
            " code is the same."
        ),
    ]
    node = new_markdown_cell("\n".join(lines))
    node["id"] = "start"
    return as_text([node])


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
