"""What `course build` refuses, each rule one function that yields problems with file and line."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from autograder.authoring import headers, looks, statements
from autograder.authoring.problem import Problem
from autograder.authoring.source import bound_names, free_names, imported_names, line_of_name
from autograder.model import regions
from autograder.model.notebook import Cell
from autograder.model.regions import Kind

Rule = Callable[[Path, list[Cell]], Iterator[Problem]]

# What silently means something else when tests and student code live in two processes, and what to use instead.
FORBIDDEN_IN_TESTS = {
    "inspect": "use `check.uses`, `check.avoids` or `check.signature`",
    "mock": "hand student code a helper object and look at that",
    "unittest": "hand student code a helper object and look at that",
    "isinstance": "use `checks.isinstance`",
    "manual_seed": "use `checks.seed`, which seeds both sides",
    "requires_grad": "use `checks.gradients`",
}
MOST_TEST_LINES = 15  # that students see, or three times those of the answer
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
CONFLICT = re.compile(r"(# )?(<{7}|={7}|>{7})( |$)")


def conflicts(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    """No marks of a merge that nobody finished: in a text they would be built, and students would read them."""
    for cell in cells:
        for number, line in enumerate(cell.source.split("\n"), 1):
            if CONFLICT.match(line):
                yield Problem(path, cell.file_line(number), "the mark of a merge conflict: decide for one side")


def metadata(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    """A graded or solution cell has an id that is usable as a cell id, and a graded one has points."""
    for cell in cells:
        if not (cell.is_grade or cell.is_solution or cell.is_task or cell.is_locked):
            continue
        header = cell.line - 1
        if not cell.grade_id:
            yield Problem(
                path, header, 'graded, solution or locked cell without an id: give it one, as in `exercise="name"`'
            )
        elif not ID.fullmatch(cell.grade_id):
            yield Problem(path, header, f"id {cell.grade_id!r}: use letters, digits, - and _ only, 64 at most")
        if cell.is_grade or cell.is_task:
            points = cell.nbgrader.get("points")
            if points is None:
                yield Problem(path, header, f"graded cell {cell.grade_id!r} without points: add `points=N`")
            elif not isinstance(points, int | float) or isinstance(points, bool) or points < 0:
                yield Problem(
                    path,
                    header,
                    f"graded cell {cell.grade_id!r}: points must be a number of at least 0, not {points!r}",
                )


def duplicate_ids(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for cell in cells:
        if cell.grade_id in first:
            yield Problem(
                path, cell.line - 1, f"duplicate id {cell.grade_id!r}: first used at line {first[cell.grade_id]}"
            )
        elif cell.grade_id:
            first[cell.grade_id] = cell.line - 1


def markers(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    """Solution and hidden-test markers are balanced, not nested, and stand in the right kind of cell."""
    for cell in cells:
        opened: regions.Marker | None = None
        for marker in regions.markers(cell.source):
            line = cell.file_line(marker.line)
            if marker.opens:
                if opened is not None:
                    before = f"the region opened at line {cell.file_line(opened.line)}"
                    yield Problem(
                        path, line, f"`{marker.text}` inside {before}: close that with `{opened.kind.end}` first"
                    )
                opened = marker
                yield from misplaced(path, cell, marker)
            else:
                if opened is None or opened.kind is not marker.kind:
                    yield Problem(path, line, f"`{marker.text}` without `{marker.kind.begin}` before it")
                opened = None
        if opened is not None:
            yield Problem(path, cell.file_line(opened.line), f"unbalanced: no `{opened.kind.end}` before the cell ends")


def misplaced(path: Path, cell: Cell, marker: regions.Marker) -> Iterator[Problem]:
    line = cell.file_line(marker.line)
    if marker.kind is Kind.SOLUTION and not cell.is_solution:
        advice = 'give it `exercise="name"`, or nbgrader would ship it'
        yield Problem(path, line, f"`{marker.text}` in a cell that is not a solution cell: {advice}")
    if marker.kind is Kind.HIDDEN and not cell.is_test:
        yield Problem(path, line, f'`{marker.text}` in a cell that is not a test cell: give it `test="name" points=N`')


def syntax(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    """Every code cell parses, with its solution and with the stub in its place."""
    for cell in cells:
        if cell.kind != "code":
            continue
        try:
            ast.parse(cell.python)
        except SyntaxError as error:
            yield Problem(path, cell.file_line(error.lineno or 1), f"not valid Python: {error.msg}")
            continue
        if cell.is_solution and cell.regions:
            try:
                ast.parse(cell.given)
            except SyntaxError as error:
                yield Problem(
                    path, cell.line, f"not valid Python for the student once the solution is removed: {error.msg}"
                )


def tests_present(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    """An autograded solution cell `X` has its test cell `X-test` after it."""
    tests = {cell.grade_id: cell for cell in cells if cell.is_test}
    for cell in cells:
        if cell.is_exercise and cell.grade_id:
            test = tests.get(f"{cell.grade_id}-test")
            if test is None:
                yield Problem(
                    path, cell.line - 1, f"solution cell {cell.grade_id!r} has no test cell `{cell.grade_id}-test`"
                )
            elif test.line < cell.line:
                yield Problem(path, test.line - 1, f"test cell `{test.grade_id}` stands before its solution cell")


def leaves(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    """A test cell is a leaf: it needs only exports and set-up imports, and nothing needs what it sets."""
    imports = {name for cell in cells if cell.kind == "code" and cell.is_locked for name in imported_names(cell)}
    elsewhere: dict[str, int] = {}
    for cell in cells:
        if cell.kind == "code" and not cell.is_test:
            for name in bound_names(cell):
                elsewhere.setdefault(name, cell.line)
    exports: set[str] = set()
    set_by_tests: dict[str, str] = {}
    for cell in cells:
        if cell.kind != "code":
            continue
        if not cell.is_test:
            for name in sorted(free_names(cell) & set_by_tests.keys() - elsewhere.keys()):
                line = line_of_name(cell, name)
                yield Problem(
                    path,
                    line,
                    f"`{name}` is set by the test cell `{set_by_tests[name]}`: no later cell may use what a test cell"
                    " sets",
                )
            if cell.is_solution:
                exports |= bound_names(cell)
            continue
        for name in sorted(free_names(cell) - exports - imports - set(dir(builtins))):
            line = line_of_name(cell, name)
            yield Problem(
                path,
                line,
                f"test cell `{cell.grade_id}` uses `{name}`: import it in the locked set-up cell, export it from an"
                " exercise, or define it in the test",
            )
        for name in sorted(bound_names(cell) & elsewhere.keys()):
            line = line_of_name(cell, name)
            yield Problem(
                path,
                line,
                f"test cell `{cell.grade_id}` rebinds `{name}`, which is assigned outside test cells (line"
                f" {elsewhere[name]}): use another name",
            )
        set_by_tests.update(dict.fromkeys(bound_names(cell), cell.grade_id))


def contract(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    """What else of the test-cell contract can be seen in the source."""
    exports: set[str] = set()
    for cell in cells:
        if cell.kind == "code" and cell.is_solution:
            exports |= bound_names(cell)
        if not cell.is_test:
            continue
        for node in ast.walk(cell.tree):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if name in FORBIDDEN_IN_TESTS and not is_checks_attribute(node):
                line = cell.file_line(getattr(node, "lineno", 1))
                yield Problem(
                    path,
                    line,
                    f"test cell `{cell.grade_id}` uses `{name}`, which means something else across processes:"
                    f" {FORBIDDEN_IN_TESTS[name]}",
                )
        for node in unguarded_calls(cell.tree):
            if node.func.id in exports:
                line = cell.file_line(node.lineno)
                yield Problem(
                    path,
                    line,
                    f"`{node.func.id}` is called directly: an exception there ends the cell; use"
                    f" `check.run({node.func.id}, …)`",
                    True,
                )
        yield from check_object(path, cell)


def unguarded_calls(tree: ast.AST) -> Iterator[Any]:
    """Calls of plain names that run as the cell runs; what stands in a lambda or a function runs when a check calls
    it.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Lambda | ast.FunctionDef):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node
        yield from unguarded_calls(node)


def is_checks_attribute(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "checks"


def check_object(path: Path, cell: Cell) -> Iterator[Problem]:
    """The cell makes a `Check` (or a quiz `Question`) with the exercise's name and the cell's points, and ends with its
    score.
    """
    calls = [
        n
        for n in ast.walk(cell.tree)
        if isinstance(n, ast.Call) and ast.unparse(n.func) in ("Check", "checks.Check", "quiz.Question")
    ]
    for call in calls:
        line = cell.file_line(call.lineno)
        name = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
        points = next(
            (k.value.value for k in call.keywords if k.arg == "points" and isinstance(k.value, ast.Constant)), None
        )
        if name != cell.grade_id.removesuffix("-test"):
            yield Problem(
                path,
                line,
                f"`{ast.unparse(call.func)}({name!r}, …)` in the test cell `{cell.grade_id}`: name it"
                f" {cell.grade_id.removesuffix('-test')!r}",
            )
        if points != cell.nbgrader.get("points"):
            yield Problem(
                path,
                line,
                f"`points={points!r}` here, {cell.nbgrader.get('points')} in the cell's header: make them the same",
            )
    last = cell.tree.body[-1] if cell.tree.body else None
    ends = (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and isinstance(last.value.func, ast.Attribute)
        and last.value.func.attr == "score"
    )
    if not ends:
        yield Problem(
            path,
            cell.line,
            f"test cell `{cell.grade_id}` does not end with `check.score()`: no partial credit, and any other value is"
            " full marks",
            True,
        )


def short_tests(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    """What a student sees of a test is short enough to be read."""
    answers = {cell.grade_id: len(cell.source.split("\n")) for cell in cells if cell.is_exercise}
    for cell in cells:
        if not cell.is_test:
            continue
        lines = len(regions.without(cell.source, regions.Kind.HIDDEN).strip().split("\n"))
        most = max(MOST_TEST_LINES, 3 * answers.get(cell.grade_id.removesuffix("-test"), 0))
        if lines > most:
            yield Problem(
                path,
                cell.line,
                f"students see {lines} lines of the test cell `{cell.grade_id}`: make it {most} at most",
                True,
            )


STRUCTURE: list[Rule] = [conflicts, headers.problems, headers.long_headers, metadata, duplicate_ids, markers, syntax]
MEANING: list[Rule] = [statements.points, tests_present, leaves, contract, short_tests, looks.not_needed]


def problems(path: Path, cells: list[Cell]) -> list[Problem]:
    """All that is wrong with a source, in file order. Rules about meaning need a source whose structure is sound."""
    found = [problem for rule in STRUCTURE for problem in rule(path, cells)]
    if not found:
        found = [problem for rule in MEANING for problem in rule(path, cells)]
    return sorted(found, key=lambda problem: problem.line)
