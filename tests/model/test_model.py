"""The model's own laws: regions as nbgrader reads them, names as Python binds them, roles as nbgrader's metadata give
them.
"""

from __future__ import annotations

import builtins
import logging
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell
from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions

from autograder.model import names, regions
from autograder.model.notebook import Cell, Notebook, Role
from autograder.model.regions import Kind
from helpers.checks.cell_lines import hidden_lines

LINES = ["### BEGIN SOLUTION", "    ### END SOLUTION", "  ### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"]
LINES += ["# BEGIN SOLUTION END SOLUTION", "x = y", "def f(x):", "    return x + z", "", "  "]
TEXTS = st.lists(st.sampled_from(LINES), max_size=12).map("\n".join)


def cleared(source: str, hidden: bool) -> str | None:
    """What nbgrader makes of a cell; None where it refuses it."""
    cell = new_code_cell(
        source, metadata={"nbgrader": {"grade": hidden, "solution": not hidden, "grade_id": "x", "schema_version": 3}}
    )
    step = ClearHiddenTests() if hidden else ClearSolutions()
    step.log = logging.Logger("silent", logging.CRITICAL)
    try:
        if hidden:
            step._remove_hidden_test_region(cell)
        else:
            step._replace_solution_region(cell, "python")
    except RuntimeError:
        return None
    return str(cell.source)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_what_nbgrader_clears_the_model_clears_alike(source: str) -> None:
    expected = cleared(source, hidden=True)
    if expected is not None:
        assert regions.without(source, Kind.HIDDEN) == expected
    solved = cleared(source, hidden=False)
    both = None if solved is None else cleared(solved, hidden=True)
    if both is not None:
        assert regions.as_given(source) == both


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_no_line_of_a_region_survives_even_where_nbgrader_would_refuse_the_text(source: str) -> None:
    numbered = "\n".join(f"{line} #{number}" for number, line in enumerate(source.split("\n"), 1))
    for kind in Kind:
        kept = {line.rpartition("#")[2] for line in regions.without(numbered, kind).split("\n")}
        for region in regions.regions(numbered, kind):
            assert not kept & {str(number) for number in region.numbers}
    assert regions.has_hidden(source) == bool(regions.regions(source, Kind.HIDDEN))
    assert regions.HIDDEN_COMMENT in regions.hidden_replaced_by_comment(source) or not regions.has_hidden(source)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(["x = 1", "", "    y = 2"]), max_size=3), st.integers(0, 3))
def test_the_check_library_and_the_model_call_the_same_lines_hidden(body: list[str], count: int) -> None:
    """`helpers` may not import the model; its own small scanner has to agree with it."""
    source = "\n".join(["a = 1", "### BEGIN HIDDEN TESTS", *body, "### END HIDDEN TESTS"] * count)
    inside = {number for region in regions.regions(source, Kind.HIDDEN) for number, _ in region.body}
    assert hidden_lines(tuple(source.split("\n"))) - {region.first for region in regions.regions(source)} == inside


STATEMENTS = [
    "x = y",
    "import a.b as c",
    "from d import e, f as g",
    "def h(p):\n    return p + q",
    "class C(D):\n    k = 1",
]
STATEMENTS += [
    "for i in range(3):\n    t = i",
    "u, (v, *w) = m",
    "if q:\n    r = 1\nelse:\n    import s",
    "with o as n:\n    pass",
]
STATEMENTS += [
    "[z for z in l]",
    "(j := 2)",
    "x += 1",
    "del x",
    "lambda aa: bb",
    "try:\n    cc = 1\nexcept E as dd:\n    pass",
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(STATEMENTS), max_size=6).map("\n".join))
def test_names_bound_are_those_that_the_statements_bind_and_free_names_are_read(source: str) -> None:
    found = names.of(source)
    binding = names.binding_statements([source])
    assert set(binding) <= found.bound | {
        "z"
    }  # the variable of a comprehension counts as bound: one statement too many is read
    assert found.imported <= found.bound
    assert found.free == found.read - found.bound
    tree = names.parsed(source)
    assert tree is not None
    assert found.read <= names.mentioned(tree)
    assert names.definitions(source).functions <= found.bound
    assert names.definitions(source).values <= found.bound


def test_names_of_a_cell_with_magics_and_of_one_that_is_no_python() -> None:
    found = names.of_cell("%matplotlib inline\nfrom helpers.kit.scale import *\nimport torch as t\nt.ones(n)")
    assert found is not None
    assert found.imported == {"t"}
    assert found.free - set(dir(builtins)) == {"n", "get_ipython"}
    assert names.of_cell("def f(:\n    pass") is None
    assert names.bound_in_cell("def f(x):\n    return (") == ({"f"}, set())
    tree = names.parsed("from helpers.kit.scale import *")
    assert tree is not None
    assert names.star_imports(tree) == ["helpers.kit.scale"]


@pytest.mark.parametrize(
    "text", [") a" + ".a" * 400_000, "!a\n" * 8000, "%time (\n" * 3000, "?" * 80_000, "a b = !c\n" * 600]
)
def test_a_text_that_ipython_would_read_for_minutes_is_no_python(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    whole = names.TransformerManager.do_token_transforms

    def counted(self: object, lines: list[str]) -> list[str]:
        read.append(sum(map(len, lines)) * (1 + len(lines)))
        return list(whole(self, lines))

    monkeypatch.setattr(names.TransformerManager, "do_token_transforms", counted)
    assert names.of_cell(text) is None
    assert sum(read) <= names.MOST_READ


def test_a_later_statement_replaces_an_earlier_one_unless_it_may_not_be_executed() -> None:
    found = names.binding_statements(["f = 1", "f = 2", "if q:\n    f = 3", "g = 1\ng = wrapped(g)"])
    assert [node.lineno for node in found["f"]] == [1, 2]
    assert len(found["g"]) == 2


ROLES = {  # cell type, grade, solution, task, locked
    ("code", True, False, False, True): Role.TEST,
    ("code", False, True, False, False): Role.ANSWER,
    ("markdown", True, True, False, False): Role.WRITTEN,
    ("code", True, True, False, False): Role.READ_BY_HAND,
    ("markdown", False, False, True, True): Role.TASK,
    ("code", False, False, False, True): Role.LOCKED,
    ("markdown", False, False, False, True): Role.LOCKED,
    ("code", False, False, False, False): Role.GIVEN,
    ("markdown", False, False, False, False): Role.TEXT,
}


@pytest.mark.parametrize("about", ROLES)
def test_the_role_follows_from_what_nbgrader_says(about: tuple[str, bool, bool, bool, bool]) -> None:
    kind, grade, solution, task, locked = about
    data = {"grade": grade, "solution": solution, "task": task, "locked": locked, "grade_id": "x", "points": 2}
    cell = Cell(kind, "", {"nbgrader": data})
    assert cell.role is ROLES[about]
    assert Notebook([cell]).points() == ({"x": 2.0} if grade or task else {})
    assert Cell(kind, "", {"nbgrader": {**data, "grade_id": "setup"}}).role is (
        Role.SETUP if cell.role is Role.LOCKED and kind == "code" else cell.role
    )


def test_metadata_that_are_not_what_nbgrader_writes_are_no_role() -> None:
    for nonsense in (None, 3, "test", [], {"grade_id": 7}):
        cell = Cell("code", "", {"nbgrader": nonsense, "course": nonsense})
        assert cell.role is Role.GIVEN
        assert cell.name == ""
        assert not cell.is_generated


@pytest.mark.parametrize(("first", "second"), product([["a = 1\n", "b = 2"], "a = 1\nb = 2"], repeat=2))
def test_a_cell_read_from_a_file_is_the_same_however_its_lines_are_kept(
    first: str | list[str], second: str | list[str]
) -> None:
    entries = [{"cell_type": "code", "id": "i", "metadata": {}, "source": source} for source in (first, second)]
    one, other = Notebook.from_json({"cells": entries})
    assert one == other
    assert Cell(**one.as_dict()) == one
