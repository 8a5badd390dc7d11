"""A cell that only shows something is left out where nobody can notice, and nowhere else."""

from __future__ import annotations

import pytest

from autograder.model import looks

ANSWER = "def area(r):\n    return 3 * r * r"
LOOK = "figure = area(2)\nfor step in range(3):\n    print(step, figure)"
SHOWN = "print(figure)"

USED = {
    "read": ("x + 1", {"x"}),
    "read after it is set": ("x = 1\nx + 1", set()),
    "set from itself": ("x = x + 1", {"x"}),
    "changed in place": ("x += 1", {"x"}),
    "set in a branch only": ("if True:\n    x = 1\nx", {"x"}),
    "the variable of a loop": ("for x in range(3):\n    print(x)", set()),
    "after a loop that may be empty": ("for x in range(n):\n    pass\nx", {"x", "n"}),
    "set by with": ("with open_it() as x:\n    y = x\ny", {"open_it"}),
    "in a function, where it was set before": ("x = 1\ndef f():\n    return x", {"x"}),
    "a function's own": ("def f(x):\n    y = x\n    return y", set()),
    "a default": ("def f(a=x):\n    return a", {"x"}),
    "in a lambda": ("f = lambda a: a + x", {"x"}),
    "a method": ("class A:\n    def f(self):\n        return x", {"x"}),
    "deleted": ("del x", {"x"}),
    "an import": ("import x\nx.y()", set()),
}


@pytest.mark.parametrize("name", USED)
def test_names_whose_value_other_cells_decide(name: str) -> None:
    source, expected = USED[name]
    assert looks.used(source) & {"x", "n", "y", "a", "open_it"} == expected


NOTICED = {
    "nobody": ("1 + 1", {1, 2}),
    "a cell of the student's that reads what it binds": ("figure", {2}),
    "one that reads the variable of its loop": ("step", {2}),
    "one that sets the same name first": ("figure = 1\nfigure", {1, 2}),
    "a function that might read it later": ("def late():\n    return figure", {2}),
    "globals": ("globals()", set()),
    "an alias of exec": ("run = exec", set()),
    "builtins": ("import builtins", set()),
    "a magic": ("%who", set()),
    "a cell magic": ("%%time\n1", set()),
    "a computed attribute": ("getattr(area, 'x' + 'y')", set()),
    "a plain attribute": ("getattr(area, 'width', 1)", {1, 2}),
    "a model's eval": ("def g(model):\n    return model.eval()", {1, 2}),
    "a global statement": ("def g():\n    global figure\n    figure = 1", set()),
    "a star import": ("from os import *", set()),
    "no Python": ("def (", set()),
    "the frame above": ("import sys\nsys._getframe", set()),
}


@pytest.mark.parametrize("name", NOTICED)
def test_left_out_is_what_no_cell_of_the_student_s_can_notice(name: str) -> None:
    source, expected = NOTICED[name]
    found = looks.left_out([ANSWER, LOOK, SHOWN, source], looks=[1, 2], students=[0, 3])
    assert found == expected


def test_a_cell_that_must_run_gets_what_it_needs_of_the_others() -> None:
    cells = ["data = 1", "model = data + 1", "curve = model + 1", "other = 2", "curve"]
    assert looks.left_out(cells, looks=[0, 1, 2, 3], students=[4]) == {3}
    assert looks.left_out(cells[:4], looks=[0, 1, 2, 3], students=[]) == {0, 1, 2, 3}


def test_what_others_could_notice_without_a_name_is_seen() -> None:
    assert looks.traces("open('x', 'w')") == {"open"}
    assert looks.traces("torch.save(model, 'x')") == {"save"}
    assert looks.traces("plt.plot(x)\nmodel.eval()") == set()
