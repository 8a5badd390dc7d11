"""The rubric of a written question, read from the instructor's cell."""

from __future__ import annotations

import pytest
from conftest import ROOT

from autograder.authoring import source
from autograder.model import course as courses
from autograder.model.notebook import Role
from autograder.model.rubric import RubricItem, rubric_of

CELL = """<!-- BEGIN SOLUTION -->
**Model answer.** It $a|b$ depends.

| points | rubric |
| --- | --- |
| 1.5 | the *reason*, with a | sign |
| −0.5 | a false claim |

Half a point for half a reason.
<!-- END SOLUTION -->"""


def test_model_answer_items_and_remarks_are_told_apart():
    rubric = rubric_of(CELL)
    assert rubric.model_answer == "**Model answer.** It $a|b$ depends."
    assert rubric.items == (RubricItem(1.5, "the *reason*, with a | sign"), RubricItem(-0.5, "a false claim"))
    assert rubric.remarks == "Half a point for half a reason."
    assert rubric.points == 1.5


def test_a_cell_without_a_table_is_a_model_answer_and_one_without_a_solution_is_nothing():
    assert rubric_of("<!-- BEGIN SOLUTION -->\nJust so.\n<!-- END SOLUTION -->").model_answer == "Just so."
    assert rubric_of("| points | rubric |\n| 1 | given to students |").items == ()


@pytest.mark.parametrize("assignment", courses.load(ROOT).assignments, ids=lambda one: one.id)
def test_the_rubric_of_every_written_question_gives_its_points(assignment):
    for cell in source.read(assignment.source):
        if cell.role is Role.WRITTEN:
            rubric = rubric_of(cell.source)
            assert rubric.points == cell.points, cell.name
            assert rubric.model_answer, cell.name
