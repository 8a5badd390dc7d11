"""`compare()`, the cell below a written question in a package for learning alone: our answer, after an attempt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from helpers.checks import model_answers
from helpers.kit import assignment
from helpers.kit.scale import graded
from helpers.student.files import CourseError
from helpers.student.hand_in import this_notebook
from helpers.student.summary import WRITTEN_STUB, grading, text_of


def compare(question: str, notebook: str | None = None) -> None:
    """Show our answer to this written question, and how it would be graded, once yours has been written.

    `notebook` is the path of this notebook's file, where that cannot be found.
    """
    if graded():
        return
    ours = model_answers.of_written(question)
    if ours is None:
        print("This package has no model answers: they are in one that was made for learning alone.")
        return
    try:
        content = json.loads(this_notebook(assignment.current(), notebook).content)
    except CourseError:
        print(f'The file of this notebook was not found. Say where it is: compare("{question}", "/path/to/it.ipynb")')
        return
    if not attempted(content, question, ours.given):
        print(
            "Write your own answer into the cell above first: you learn more from the comparison. Then save the"
            " notebook (Ctrl+S, on a Mac ⌘S) and run this cell again."
        )
        return
    from IPython.display import Markdown, display

    display(Markdown(ours.answer))


def attempted(notebook: Mapping[str, Any], question: str, given: str) -> bool:
    """Does the saved notebook have anything in this cell that was not there at the beginning?"""
    texts = [text_of(cell) for cell in notebook["cells"] if grading(cell).get("grade_id") == question]
    return any(own_words(text) and own_words(text) != own_words(given) for text in texts)


def own_words(text: str) -> list[str]:
    return text.replace(WRITTEN_STUB, " ").split()
