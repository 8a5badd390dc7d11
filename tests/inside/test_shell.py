"""The shell takes short cuts; a cell means what it means in IPython."""

from __future__ import annotations

import pytest
from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell

from autograder.inside import shell as shells

CELLS = {
    "plain": "x = 1\nx",
    "a percent sign": "7 % 3",
    "a magic in a string": 'text = """\n%time\n!ls\nwhat?\n"""\ntext',
    "a magic": "%time 1 + 1",
    "a magic after code": "x = 1\n%time x",
    "a cell magic": "%%time\n1",
    "a shell line": "!ls",
    "help": "len?",
    "an indented cell": "    x = 1\n    x",
    "empty lines first": "\n\nx = 1",
    "a prompt": ">>> 1 + 1",
    "await": "await f()",
    "no Python": "def (",
    "a bad escape": "'\\d'",
    "nothing": "",
}


@pytest.fixture(scope="module")
def shell() -> shells.Shell:
    return shells.new_shell(1 << 20)


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_transformed_as_ipython_does_it(name: str, shell: shells.Shell) -> None:
    assert shell.transform_cell(CELLS[name]) == InteractiveShell.transform_cell(shell, CELLS[name])


@pytest.mark.parametrize(
    "cell", ["1", "1;", "1;\n# said", "1; # said", "'a;'", "x = 1;\nx", "'''\n#;'''", "f(1,\n 2);\n\n", "", "# ;"]
)
def test_a_semicolon_hides_a_value_where_it_does_in_ipython(cell: str) -> None:
    short, whole = shells.Hook.semicolon_at_end_of_expression, DisplayHook.semicolon_at_end_of_expression
    assert short(cell) == bool(whole(cell))
