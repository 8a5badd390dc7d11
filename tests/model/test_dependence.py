"""Which cells decide what a test says: never too few."""

from __future__ import annotations

import pytest

from autograder.model.dependence import decisive, read

F = "def f(x):\n    return x + 1"
G = "def g(x):\n    return f(x)"
OTHER = "class Other(Base):\n    size: int = 3\n\n    def forward(self, x=None):\n        return print(x)"


def test_only_definitions_that_nothing_reaches_are_left_out() -> None:
    assert decisive([F, G, OTHER], "check.run(f, 1)") == [0]
    assert decisive([F, G, OTHER], "check.run(g, 1)") == [0, 1]
    assert decisive([F, G, OTHER], 'checks.source("Other")') == [2]
    assert decisive([F, G, OTHER, "print(2)"], "f(1)") == [0, 3]
    assert decisive([F, G, OTHER, "print(g(2))"], "1") == [0, 1, 3]


@pytest.mark.parametrize(
    "cell",
    [
        "import random",
        "from helpers import *",
        "f = make()",
        "f = [make()]",
        "x[0] = 1",
        "x.y = 1",
        "a, b = 1, 2",
        "x += 1",
        "del f",
        "def f(x=make()): pass",
        "def f(x: make()): pass",
        "@wrapped\ndef f(x): pass",
        "class A(make()): pass",
        "class A(B, flag=True): pass",
        "class A:\n    x = make()",
        "class A:\n    print()",
        "async def f(): pass",
        "if True:\n    f = 1",
        "for f in []: pass",
        "with x: pass",
        "'text'",
        "1",
        "x = y = z[0]()",
        "def f(x): pass\nf(1)",
        "def f(:",
        "",
    ],
)
def test_a_cell_that_may_do_something_counts_for_every_test(cell: str) -> None:
    assert read(cell).bound is None
    assert 2 in decisive([F, G, cell], "nothing()")


@pytest.mark.parametrize(
    "cell",
    [
        "def h(): return globals()['f']",
        "def h(): return eval('f' + '()')",
        "from sys import modules",
        "import os; os.sys.modules",
        "def h(): return h.__globals__",
        "class A:\n    def __init_subclass__(cls): print()",
        "class A:\n    def __set_name__(self, owner, name): print()",
        "class A:\n    def __del__(self): print()",
        "class M(type): pass\nclass A(metaclass=M): pass",
        "In[0]",
        "%run other.py",
        "!ls",
        "import __main__",
        "torch.load('m.pt')",
        "ｇlobals()['f']",  # Python reads this letter as an ordinary g
    ],
)
def test_where_names_are_looked_up_every_cell_counts(cell: str) -> None:
    assert decisive([F, G, cell], "nothing()") == [0, 1, 2]
    assert decisive([F, G, cell], "nothing()", trusted=[2]) != [0, 1, 2]


@pytest.mark.parametrize(
    "cell", ["model.eval()", "torch.compile", "# In general, dir and vars are fine\nx = 1", F, G, OTHER]
)
def test_ordinary_words_look_nothing_up(cell: str) -> None:
    assert not read(cell).looks_up


def test_a_name_in_another_spelling_is_the_same_name() -> None:
    assert decisive(["def ﬁrst(): pass"], "first()") == [0]
