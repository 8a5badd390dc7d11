"""`course build`: what it makes, and what it refuses with file and line."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import ROOT, SMALL, TOOLS, run_course
from nbgrader.utils import compute_checksum

from autograder.authoring import build, headers, pages, source
from autograder.authoring.build import BuildError, checked_cells
from autograder.model import course
from helpers.student import authorship

SOURCE = "solutions/01-small/01-small.py"


def change(root: Path, old: str, new: str) -> int:
    """Replace text in the small course's source; gives the line of the first change."""
    path = root / SOURCE
    text = path.read_text()
    assert old in text, f"{old!r} is not in the small course"
    path.write_text(text.replace(old, new))
    return text[: text.index(old)].count("\n") + 1


def problems_of(root: Path) -> list[str]:
    """What the build says of the small course: errors, or warnings if there are no errors."""
    this = course.load(root)
    try:
        _, warnings = checked_cells(this.assignments[0])
        build.build(this, this.assignments[0])
    except BuildError as error:
        return [str(problem) for problem in error.problems]
    return [str(warning) for warning in warnings]


def test_small_course_builds_without_a_word(small_course: Path) -> None:
    assert problems_of(small_course) == []


TEST_HEADER = '"grade_id": "double-test", "locked": true, "points": 2'
BROKEN = {
    "graded cell without an id": ('"grade_id": "double-test", ', "", "without an id"),
    "solution cell without an id": ('"grade_id": "double", ', "", "without an id"),
    "graded cell without points": ('"points": 2, ', "", "without points"),
    "negative points": ('"points": 2, ', '"points": -1, ', "points must be a number"),
    "points that are a word": ('"points": 2, ', '"points": "two", ', "points must be a number"),
    "an id that is no cell id": ('"grade_id": "double-test"', '"grade_id": "double test"', "letters, digits"),
    "duplicate id": ('"grade_id": "double-test"', '"grade_id": "double"', "duplicate id 'double'"),
    "an unfinished merge": (
        "# Twice as much.",
        "<<<<<<< ours\n# Twice as much.\n=======\n# Double.\n>>>>>>> theirs",
        "merge conflict",
    ),
    "solution region not closed": ("    ### END SOLUTION\n", "", "no `END SOLUTION`"),
    "solution region not opened": ("    ### BEGIN SOLUTION\n", "", "`END SOLUTION` without"),
    "hidden region not closed": ("### END HIDDEN TESTS\n", "", "no `END HIDDEN TESTS`"),
    "hidden region not opened": ("### BEGIN HIDDEN TESTS\n", "", "`END HIDDEN TESTS` without"),
    "nested regions": (
        "    return x + x",
        "    ### BEGIN SOLUTION\n    return x + x",
        "inside the region opened at line",
    ),
    "solution in a cell that is none": (
        "# Twice as much.",
        "# BEGIN SOLUTION\n# Twice as much.\n# END SOLUTION",
        "not a solution cell",
    ),
    "hidden tests in a solution cell": (
        "    return x + x",
        (
            "    ### END SOLUTION\n    ### BEGIN HIDDEN TESTS\n    ### END HIDDEN TESTS\n    ### BEGIN SOLUTION\n   "
            " return x + x"
        ),
        "not a test cell",
    ),
    "not valid Python": ("return x + x", "return x +", "not valid Python"),
    "not valid Python for the student": (
        "    ### BEGIN SOLUTION\n",
        "    y = (\n    ### BEGIN SOLUTION\n    x)\n",
        "once the solution is removed",
    ),
    "no test cell": (
        TEST_HEADER,
        '"grade_id": "other-test", "locked": true, "points": 2',
        "has no test cell `double-test`",
    ),
    "a name that is neither export nor import": ("2 * hidden_input,", "math.pi * hidden_input,", "uses `math`"),
    "rebinds an import of the set-up cell": (
        "hidden_input = randn(4, 5)",
        "hidden_input = torch = randn(4, 5)",
        "rebinds `torch`",
    ),
    "rebinds an export": ("hidden_input = randn(4, 5)", "hidden_input = double = randn(4, 5)", "rebinds `double`"),
    "inspect": (
        "hidden_input = randn(4, 5)",
        "import inspect\nhidden_input = randn(4, 5)\ninspect.getsource(double)",
        "uses `inspect`",
    ),
    "isinstance on a student's object": (
        "hidden_input = randn(4, 5)",
        "hidden_input = randn(4, 5)\nisinstance(double, object)",
        "use `checks.isinstance`",
    ),
    "manual_seed": ("hidden_input = randn(4, 5)", "hidden_input = torch.manual_seed(1)", "use `checks.seed`"),
    "points differ": ('Check("double", points=2)', 'Check("double", points=3)', "make them the same"),
    "name differs": ('Check("double", points=2)', 'Check("triple", points=2)', "name it 'double'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_source_is_refused_with_file_and_line(name: str, small_course: Path) -> None:
    old, new, message = BROKEN[name]
    change(small_course, old, new)
    found = problems_of(small_course)
    assert any(message in line for line in found), found
    assert all(re.match(rf"{re.escape(str(Path(SOURCE)))}:\d+: ", line) for line in found)


def test_line_number_is_that_of_the_mistake(small_course: Path) -> None:
    line = change(small_course, "2 * hidden_input,", "math.pi * hidden_input,")
    assert problems_of(small_course)[0].startswith(f"{Path(SOURCE)}:{line}: ")


def test_a_test_before_its_solution_is_refused(small_course: Path) -> None:
    path = small_course / SOURCE
    cells = re.split(r"(?m)^(?=# %%)", path.read_text())
    cells[-1], cells[-2] = cells[-2], cells[-1].rstrip() + "\n\n"
    path.write_text("".join(cells))
    assert any("stands before its solution cell" in line for line in problems_of(small_course))


def test_a_later_cell_may_not_use_what_a_test_cell_sets(small_course: Path) -> None:
    path = small_course / SOURCE
    path.write_text(path.read_text() + "\n# %%\nprint(hidden_input)\n")
    found = problems_of(small_course)
    assert any("`hidden_input` is set by the test cell `double-test`" in line for line in found)


WARNED = {
    "a direct call": ("check.run(double, torch.ones(3))", "double(torch.ones(3))", "called directly"),
    "a test too long to read": ("### BEGIN HIDDEN", "one = 1\n" * 20 + "### BEGIN HIDDEN", "lines of the test cell"),
    "no score at the end": ("check.score()", "check.score() == 2", "does not end with `check.score()`"),
}


@pytest.mark.parametrize("name", WARNED)
def test_what_is_allowed_but_unwise_is_warned_about(name: str, small_course: Path) -> None:
    old, new, message = WARNED[name]
    change(small_course, old, new)
    found = problems_of(small_course)
    assert any(message in line and "warning" in line for line in found), found


@pytest.mark.parametrize(
    ("where", "new"),
    [
        ("markdown", "# Twice as much: `hidden_input = randn(4, 5)` is tried."),
        ("markdown line", "# Twice as much.\n# return x + x  # the secret of doubling"),
        ("code", "# Twice as much.\n\n# %%\nif False:\n    return_ = 0\n    hidden_input = randn(4, 5)\n"),
    ],
)
def test_surviving_solution_text_is_refused(where: str, new: str, small_course: Path) -> None:
    change(small_course, "# Twice as much.", new)
    found = problems_of(small_course)
    assert any("is also in the" in line or "rebinds" in line for line in found), (where, found)


SHORT = {
    "setup": 'locked="setup"',
    "double": 'exercise="double"',
    "double-test": 'test="double" points=2',
}


def with_short_headers(root: Path) -> None:
    """The small course's script as it is written now.

    (The long headers above are someone else's, and go on working.)
    """
    path = root / SOURCE
    path.write_text(
        re.sub(
            r'# %% nbgrader=\{.*"grade_id": "([a-z-]+)".*\}', lambda found: f"# %% {SHORT[found[1]]}", path.read_text()
        )
    )
    assert "nbgrader" not in path.read_text()
    (root / "solutions" / "jupytext.toml").write_bytes((ROOT / "solutions" / "jupytext.toml").read_bytes())


def test_short_headers_make_the_same_student_notebook_as_long_ones(small_course: Path) -> None:
    this = course.load(small_course)
    before = build.build(this, this.assignments[0])
    with_short_headers(small_course)
    after = build.build(this, this.assignments[0])
    assert after[1] == before[1]
    written = [headers.header_of(cell) for cell in source.read(small_course / SOURCE)]
    assert [line for line in (small_course / SOURCE).read_text().splitlines() if line.startswith("# %%")] == written


HEADERS = {
    "a typo in a key": (
        'exercise="double"',
        'excercise="double"',
        "unknown key `excercise` in the cell's header: did you mean `exercise`?",
    ),
    "a key that nothing is like": ('exercise="double"', 'exercise="double" wrong=1', "unknown key `wrong`"),
    "points without a test": ('exercise="double"', 'exercise="double" points=2', "`points` in a header without"),
    "two roles": ('exercise="double"', 'exercise="double" locked="x"', "not several"),
    "no quotes": ('exercise="double"', "exercise=double", "header"),
    "no id": ('exercise="double"', "exercise=3", "needs an id"),
    "a test without points": ('test="double" points=2', 'test="double"', "without points: add `points=N`"),
    "a text that is an exercise": ("# %% [markdown]", '# %% [markdown] exercise="why"', "belongs to a code cell"),
    "code that is written": ('exercise="double"', 'written="double" points=1', "belongs to a markdown cell"),
    "short and long differ": (
        'exercise="double"',
        (
            'exercise="double" nbgrader={"grade": false, "grade_id": "twice", "locked": false, "schema_version": 3,'
            ' "solution": true, "task": false}'
        ),
        "something else",
    ),
    "an exercise to look at": ('exercise="double"', 'exercise="double" look=true', "marks a given code cell"),
    "points of a heading": (
        "# Twice as much.",
        "# ### Twice <small>★☆☆ · 5 min · 3 points</small>",
        "the heading says 3 points",
    ),
    "bonus in a heading": (
        "# Twice as much.",
        "# ### Twice <small>★☆☆ · 5 min · 2 bonus points</small>",
        "`bonus points`",
    ),
    "points of the introduction": (
        "# Twice as much.",
        "# | **Points** | 7, and 1 bonus |",
        "the introduction says 7 points and 1 bonus",
    ),
    "time of the introduction": (
        "# Twice as much.",
        "# | **Time** | about two and a half hours |",
        "course.toml 5 minutes",
    ),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_mistake_in_a_header_or_heading_is_named_at_its_line(name: str, small_course: Path) -> None:
    with_short_headers(small_course)
    old, new, message = HEADERS[name]
    line = change(small_course, old, new)
    found = problems_of(small_course)
    assert any(message in text and text.startswith(f"{Path(SOURCE)}:{line}: ") for text in found), found


LOOKS = {
    "nothing wrong": ("figure = double(torch.ones(2))\nprint(figure)", "", ""),
    "an answer that needs it": ("factor = 2", "return factor * x", "uses `factor`, which this one binds"),
    "a file": ("open('x', 'w')", "", "uses `open`"),
    "the namespace": ("globals()['double'] = 3", "", "uses `globals`"),
    "no such question": ('look="why"', "", "there is no such written question"),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_cell_that_others_need_is_not_marked_as_one_to_look_at(name: str, small_course: Path) -> None:
    with_short_headers(small_course)
    cell, answer, message = LOOKS[name]
    mark, body = (cell, "1 + 1") if cell.startswith("look=") else ("look=true", cell)
    line = change(small_course, "# %% [markdown]", f"# %% {mark}\n{body}\n\n# %% [markdown]")
    if answer:
        change(small_course, "return x + x", answer)
    found = problems_of(small_course)
    assert [text for text in found if message in text and text.startswith(f"{Path(SOURCE)}:")] == found
    assert [text.split(":")[1] in (str(line), str(line + 1)) for text in found] == [True] * bool(message)


def test_an_unmarked_cell_that_may_read_any_name_forbids_the_mark(small_course: Path) -> None:
    with_short_headers(small_course)
    change(small_course, "# %% [markdown]", "# %% look=true\n1 + 1\n\n# %%\nprint(vars())\n\n# %% [markdown]")
    assert any("with `vars` this cell may use any name" in text for text in problems_of(small_course))


def test_the_mark_reaches_the_student_s_notebook_where_grading_reads_it(small_course: Path) -> None:
    change(small_course, "# %% [markdown]", "# %% look=true\n1 + 1\n\n# %% [markdown]")
    this = course.load(small_course)
    _, student, _ = build.build(this, this.assignments[0])
    marked = [cell for cell in json.loads(student)["cells"] if cell["metadata"].get("look")]
    assert ["".join(cell["source"]) for cell in marked] == ["1 + 1"]


def test_a_right_heading_and_introduction_build_without_a_word(small_course: Path) -> None:
    with_short_headers(small_course)
    text = (
        "# | **Time** | about 5 minutes |\n# | **Points** | 2, and 0 bonus |\n#\n# ### Twice <small>★☆☆ · 5 min · 2"
        " points</small>"
    )
    change(small_course, "# Twice as much.", text)
    assert problems_of(small_course) == []


def test_what_the_side_bar_changes_is_refused_until_the_script_says_it_too(small_course: Path) -> None:
    with_short_headers(small_course)
    this, files = built_files(small_course)
    os.utime(small_course / SOURCE, (1_700_000_000, 1_700_000_000))
    build.write(files)

    def edit(notebook: Any) -> None:
        cell = next(cell for cell in notebook["cells"] if "Check(" in cell["source"])
        cell["metadata"]["nbgrader"]["points"] = 3

    before = (small_course / SOURCE).read_text()
    opened_and_saved(small_course, f"solutions/01-small/{this.assignments[0].instructor_notebook.name}", edit)
    assert (small_course / SOURCE).read_text() == before, "nbgrader's metadata stay out of the script"
    with pytest.raises(course.CourseError) as refused:
        build.write(built_files(small_course)[1])
    line = change(small_course, 'test="double" points=2', 'test="double" points=3')
    assert f"01-small.py:{line}: " in str(refused.value)
    assert '`# %% test="double" points=3`' in str(refused.value)
    change(small_course, 'Check("double", points=2)', 'Check("double", points=3)')
    build.write(built_files(small_course)[1], keep=small_course / "kept")
    assert '"points": 3' in this.assignments[0].student_notebook.read_text()


def test_student_notebook_holds_nothing_of_the_solution(small_course: Path) -> None:
    this = course.load(small_course)
    _, student, _ = build.build(this, this.assignments[0])
    for secret in ("secret of doubling", "hidden_input", "other numbers", "BEGIN SOLUTION", "HIDDEN TESTS"):
        assert secret not in student
    assert "raise NotImplementedError()" in student
    assert "twice one is two" in student


def test_same_source_same_bytes_with_valid_derived_ids(small_course: Path) -> None:
    this = course.load(small_course)
    first, second = build.build(this, this.assignments[0]), build.build(this, this.assignments[0])
    assert first == second
    for text in first[:2]:
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
        ids = [cell.id for cell in notebook.cells]
        assert len(set(ids)) == len(ids)
        assert {"setup", "double", "double-test"} <= set(ids)


def test_changing_one_cell_changes_no_other_id(small_course: Path) -> None:
    this = course.load(small_course)
    before = [cell.id for cell in nbformat.reads(build.build(this, this.assignments[0])[1], as_version=4).cells]
    change(small_course, "# Twice as much.", "# Twice as much, please.")
    after = [cell.id for cell in nbformat.reads(build.build(this, this.assignments[0])[1], as_version=4).cells]
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1


def test_our_own_stub_and_nbgraders_agree(small_course: Path) -> None:
    this = course.load(small_course)
    cells, _ = checked_cells(this.assignments[0])
    student = nbformat.reads(build.build(this, this.assignments[0])[1], as_version=4)
    by_id = {cell.id: cell.source for cell in student.cells}
    for cell in cells:
        if cell.grade_id:
            lines = by_id[cell.grade_id].split("\n")
            assert cell.given == "\n".join(lines[1:] if cell.is_test else lines)  # a test's first line is its title


def test_tests_are_folded_with_a_title_and_say_so_to_nbgrader(small_course: Path) -> None:
    change(small_course, "# Twice as much.", "# ### 1.1 Twice as much <small>2 points</small>")
    this = course.load(small_course)
    instructor, text, _ = build.build(this, this.assignments[0])
    student = nbformat.reads(text, as_version=4)
    test = next(cell for cell in student.cells if cell.id == "double-test")
    assert test.source.startswith("# @title Test of 1.1 Twice as much: run this cell\ncheck = Check(")
    assert test.metadata["jupyter"] == {"source_hidden": True}
    assert test.metadata["cellView"] == "form"
    assert test.metadata.nbgrader["checksum"] == compute_checksum(test)
    assert "Test of" not in instructor
    unfolded = json.loads(text)
    for cell in unfolded["cells"]:
        cell["metadata"].pop("jupyter", None)
    assert authorship.untouched(unfolded), "to open a folded cell is no change"


def test_an_exercise_whose_heading_is_that_of_its_part_has_a_test_of_that_name(small_course: Path) -> None:
    """A bonus with a part of its own was once folded under the heading of the exercise before it."""
    more = SMALL[SMALL.index('"grade_id": "double"') :].replace("double(", "again(").replace("double,", "again,")
    more = '# %% nbgrader={"grade": false, ' + more.replace('"double', '"bonus-double').replace(
        "hidden_input", "hidden_too"
    )
    change(small_course, "# Twice as much.", "# ### 1.1 Twice as much <small>2 points</small>")
    script = small_course / "solutions" / "01-small" / "01-small.py"
    script.write_text(
        f"{script.read_text()}\n# %% [markdown]\n# ## 2 Bonus: again <small>2 bonus points</small>\n\n{more}"
    )
    this = course.load(small_course)
    student = nbformat.reads(build.build(this, this.assignments[0])[1], as_version=4)
    titles = [cell.source.split("\n")[0] for cell in student.cells if cell.id.endswith("-test")]
    assert titles == [
        "# @title Test of 1.1 Twice as much: run this cell",
        "# @title Test of 2 Bonus: again: run this cell",
    ]


def test_a_notebook_opens_with_its_title_and_the_set_up_says_what_it_does(small_course: Path) -> None:
    script = small_course / "solutions" / "01-small" / "01-small.py"
    script.write_text("# %% [markdown]\n# # Doubling\n\n" + script.read_text())
    this = course.load(small_course)
    first, link, setup = nbformat.reads(build.build(this, this.assignments[0])[1], as_version=4).cells[:3]
    assert first.source == "# Doubling"
    assert "![" not in link.source, "a picture from the network is broken without one"
    assert setup.source.startswith(f"# @title Set-up: run this cell first\n# {build.ABOUT_SETUP}\n")


@pytest.mark.slow
def test_command_builds_checks_and_notices_an_edited_notebook(small_course: Path) -> None:
    assert run_course("build", "--check", cwd=small_course).returncode == 1
    built = run_course("build", "--json", cwd=small_course)
    assert built.returncode == 0, built.stderr
    assert set(json.loads(built.stdout)["written"]) == {
        os.path.join("solutions", "01-small", "01-small.ipynb"),
        os.path.join("notebooks", "01-small", "01-small.ipynb"),
    }
    assert run_course("build", "--check", cwd=small_course).returncode == 0
    notebook = small_course / "notebooks" / "01-small" / "01-small.ipynb"
    notebook.write_text(notebook.read_text().replace("twice one", "twice two"))
    checked = run_course("build", "--check", cwd=small_course)
    assert checked.returncode == 1
    assert "is not what solutions/ makes" in checked.stderr
    refused = run_course("build", cwd=small_course)
    assert refused.returncode == 2
    assert "was changed by a person" in refused.stderr
    assert "twice two" in notebook.read_text()
    forced = run_course("build", "--force", cwd=small_course)
    assert forced.returncode == 0
    assert f"wrote {os.path.join('kept', 'notebooks', '01-small', '01-small.ipynb')}" in forced.stdout
    assert "twice two" not in notebook.read_text()
    (small_course / "notebooks" / "old").mkdir()
    (small_course / "notebooks" / "old" / "old.ipynb").write_text("{}")
    assert "has no source" in run_course("build", "--check", cwd=small_course).stderr


@pytest.mark.slow
def test_a_broken_source_writes_nothing_and_shows_no_traceback(small_course: Path) -> None:
    change(small_course, "    ### END SOLUTION\n", "")
    done = run_course("build", cwd=small_course)
    assert done.returncode == 2
    assert done.stderr.startswith(f"course: {Path(SOURCE)}:")
    assert "Traceback" not in done.stderr
    assert not (small_course / "notebooks").exists()


@pytest.mark.slow
def test_nbgrader_itself_makes_the_same_bytes(small_course: Path) -> None:
    assert run_course("build", cwd=small_course).returncode == 0
    ours = (small_course / "notebooks" / "01-small" / "01-small.ipynb").read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "generate_assignment", "01-small", "--force", "--no-db"],
        cwd=small_course,
        env={**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (small_course / "notebooks" / "01-small" / "01-small.ipynb").read_bytes() == ours
    assert sorted(p.name for p in (small_course / "notebooks" / "01-small").iterdir()) == ["01-small.ipynb"]


@pytest.mark.slow
def test_an_edited_instructor_notebook_syncs_back_without_the_generated_cells(small_course: Path) -> None:
    with_short_headers(small_course)
    assert run_course("build", cwd=small_course).returncode == 0
    this = course.load(small_course)
    before = build.build(this, this.assignments[0])
    path = this.assignments[0].instructor_notebook
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[3].source = "Three times as much."
    nbformat.write(notebook, path)
    os.utime(path, (path.stat().st_atime + 10, path.stat().st_mtime + 10))
    subprocess.run(
        [sys.executable, "-m", "jupytext", "--sync", path.name], cwd=path.parent, check=True, capture_output=True
    )
    assert "# Three times as much." in this.assignments[0].source.read_text()
    after = build.build(this, this.assignments[0])
    expected = (
        before[1]
        .replace("Twice as much.", "Three times as much.")
        .replace(id_of(before[1], "Twice as much."), id_of(after[1], "Three times as much."))
    )
    assert json.loads(after[1])["cells"] == json.loads(expected)["cells"]
    assert run_course("build", cwd=small_course).returncode == 0, "what was synchronised can be built"
    assert path.read_text() == after[0]


def opened_and_saved(root: Path, name: str, edit: Callable[[Any], None] = lambda notebook: None) -> None:
    """What JupyterLab does through the contents manager that jupytext puts into its server."""
    from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
    from jupytext.async_contentsmanager import build_async_jupytext_contents_manager_class

    manager = build_async_jupytext_contents_manager_class(AsyncLargeFileManager)(root_dir=str(root))

    async def there_and_back() -> None:
        model = await manager.get(name, type="notebook")
        edit(model["content"])
        await manager.save({"type": "notebook", "format": "json", "content": model["content"]}, name)

    asyncio.run(there_and_back())


@pytest.mark.slow
def test_every_instructors_notebook_opens_in_jupyterlab_and_saving_it_changes_nothing(tmp_path: Path) -> None:
    this = course.load(ROOT)
    for assignment in this.assignments:
        folder = tmp_path / "solutions" / assignment.id
        folder.mkdir(parents=True)
        script = folder / assignment.source.name
        script.write_bytes(assignment.source.read_bytes())
        os.utime(script, (1_700_000_000, 1_700_000_000))  # written long before the build
        cells, _ = checked_cells(assignment)
        text = build.instructor_notebook(this, assignment, cells)
        build.write({script.with_suffix(".ipynb"): text})
        (tmp_path / "solutions" / "jupytext.toml").write_bytes((ROOT / "solutions" / "jupytext.toml").read_bytes())
        opened_and_saved(tmp_path, f"solutions/{assignment.id}/{assignment.id}.ipynb")
        assert script.read_bytes() == assignment.source.read_bytes(), assignment.id
        build.write({script.with_suffix(".ipynb"): text})  # not a person's: the script says the same
        assert script.with_suffix(".ipynb").read_text() == text


def test_an_instructors_edit_in_jupyterlab_reaches_the_script_the_student_and_the_next_opening(
    small_course: Path,
) -> None:
    with_short_headers(small_course)
    this, files = built_files(small_course)
    os.utime(small_course / SOURCE, (1_700_000_000, 1_700_000_000))
    build.write(files)

    def edit(notebook: Any) -> None:
        cell = next(cell for cell in notebook["cells"] if cell["source"] == "Twice as much.")
        cell["source"] = "Three times as much."
        notebook["cells"].append(nbformat.v4.new_markdown_cell("One cell more."))

    name = f"solutions/01-small/{this.assignments[0].instructor_notebook.name}"
    before = (small_course / SOURCE).read_text()
    opened_and_saved(small_course, name, edit)
    after = (small_course / SOURCE).read_text()
    assert after == before.replace("Twice as much.", "Three times as much.") + "\n# %% [markdown]\n# One cell more.\n"
    _, newer = built_files(small_course)
    build.write(newer)
    assert "One cell more." in this.assignments[0].student_notebook.read_text()
    opened_and_saved(small_course, name)
    assert (small_course / SOURCE).read_text() == after


def built_files(root: Path) -> tuple[course.Course, dict[Path, str]]:
    this = course.load(root)
    files, _ = build.outputs(this, list(this.assignments))
    return this, files


def test_a_built_notebook_carries_the_digest_of_what_was_built(small_course: Path) -> None:
    _, files = built_files(small_course)
    build.write(files)
    for path in files:
        assert authorship.untouched(authorship.read(path)), path


def test_a_notebook_that_a_person_changed_is_not_built_over_unless_told_and_then_kept(small_course: Path) -> None:
    this, files = built_files(small_course)
    build.write(files)
    student = this.assignments[0].student_notebook
    change(small_course, "# Twice as much.", "# Twice as much, please.")
    for answer in ("return 2 * x", "return x + x  # better"):
        student.write_text(files[student].replace("# YOUR CODE HERE", answer))
        before = {path: path.read_bytes() for path in files}
        _, newer = built_files(small_course)
        with pytest.raises(course.CourseError, match="was changed by a person"):
            build.write(newer)
        assert {path: path.read_bytes() for path in files} == before, "nothing is written if anything is refused"
        changed = build.write(newer, keep=small_course / "kept")
        assert any(path.is_relative_to(small_course / "kept") for path in changed), "the copy is named"
        assert student.read_text() == newer[student]
    kept = sorted((small_course / "kept" / "notebooks" / "01-small").iterdir())
    assert [path.name for path in kept] == ["01-small-2.ipynb", "01-small.ipynb"]
    assert "return 2 * x" in kept[1].read_text()
    assert "return x + x" in kept[0].read_text()
    change(small_course, "please.", "thank you.")
    build.write(built_files(small_course)[1])  # its own text it knows


def test_a_notebook_of_an_older_build_is_the_builds_own_if_it_says_the_same_or_git_has_it(small_course: Path) -> None:
    this, files = built_files(small_course)
    student = this.assignments[0].student_notebook
    old = json.loads(files[student])
    del old["metadata"]["course"]
    text = json.dumps(old)
    course.write_whole(student, text)
    build.write(files)
    assert student.read_text() == files[student]
    course.write_whole(student, text)
    change(small_course, "# Twice as much.", "# Twice as much, please.")
    _, newer = built_files(small_course)
    with pytest.raises(course.CourseError, match="was changed by a person"):
        build.write(newer)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "notebooks"], ["commit", "-qm", "built"]):
        subprocess.run([*git, *command], cwd=small_course, check=True)
    build.write(newer)
    assert student.read_text() == newer[student]


def test_results_in_the_instructors_notebook_survive_a_build_and_edits_that_the_script_lacks_stop_it(
    small_course: Path,
) -> None:
    this, files = built_files(small_course)
    build.write(files)
    instructor = this.assignments[0].instructor_notebook
    ran = json.loads(files[instructor])
    cell = next(cell for cell in ran["cells"] if cell["id"] == "double-test")
    cell["outputs"], cell["execution_count"] = [{"output_type": "stream", "name": "stdout", "text": ["seen"]}], 7
    instructor.write_text(json.dumps(ran))
    change(small_course, "# Twice as much.", "# Twice as much, please.")
    build.write(built_files(small_course)[1])
    text = instructor.read_text()
    assert "please" in text
    assert "seen" in text
    assert "seen" not in this.assignments[0].student_notebook.read_text()
    assert instructor.stat().st_mtime_ns == this.assignments[0].source.stat().st_mtime_ns, (
        "jupytext opens no notebook newer than its script"
    )
    instructor.write_text(text.replace("please", "only here"))
    with pytest.raises(course.CourseError, match="was changed by a person"):
        build.write(built_files(small_course)[1])


def id_of(notebook: str, source: str) -> str:
    return next(cell.id for cell in nbformat.reads(notebook, as_version=4).cells if cell.source == source)


def test_the_committed_notebooks_are_what_the_sources_make_without_a_warning() -> None:
    this = course.load(ROOT)
    files, warnings = build.outputs(this, list(this.assignments))
    assert [str(warning) for warning in warnings] == []
    assert build.stale(this, files) == []


def test_every_assignment_has_enough_points_tests_and_a_written_question() -> None:
    this = course.load(ROOT)
    for assignment in this.assignments:
        cells, _ = checked_cells(assignment)
        count, bonus = pages.points(cells)
        stated = next(cell.source for cell in cells if "**Points**" in cell.source)
        assert f"{count:g}" in stated, f"{assignment.id}: the text states other points than {count:g}"
        assert f"{bonus:g} bonus" in stated, f"{assignment.id}: the text states other bonus points than {bonus:g}"
        assert any(cell.is_manual for cell in cells), f"{assignment.id} has no written question"
        assert sum(cell.is_test for cell in cells) >= 12 or assignment.id != "03-attention"
