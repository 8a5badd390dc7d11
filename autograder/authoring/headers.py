"""Short cell headers: `# %% exercise="weights"`, `# %% test="weights" points=3`.

The build expands them to nbgrader's metadata.

| header                            | the cell                                                                    |
| --------------------------------- | --------------------------------------------------------------------------- |
| `exercise="x"`                    | the student's code, graded by the test `x-test`                             |
| `test="x" points=3`               | the test of the exercise `x`; its id is `x-test`                            |
| `[markdown] written="x" points=4` | a written answer, graded by a person                                        |
| `by_hand="x" points=4`            | the student's code, graded by a person                                      |
| `[markdown] task="x" points=4`    | asks for something anywhere in the notebook, graded by a person             |
| `locked="x"`                      | read-only; `locked="setup"` is the cell whose imports the tests may use     |
| `look=true`                       | given code that only shows something: grading leaves it out (looks.py)      |
| `look="x"`                        | the same, but it runs where the written question `x` was answered           |

jupytext keeps these keys in the script and leaves nbgrader's own out (solutions/jupytext.toml); the instructor's
notebook has both. What is changed in the side bar of JupyterLab is in the notebook only: the build refuses to go on
until the script says the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from autograder.authoring.problem import Problem
from autograder.model.notebook import Cell, Notebook, Role

ROLES: dict[str, tuple[Role, str]] = {  # header key: (role, type of cell; "" for any)
    "exercise": (Role.ANSWER, "code"),
    "test": (Role.TEST, "code"),
    "written": (Role.WRITTEN, "markdown"),
    "by_hand": (Role.READ_BY_HAND, "code"),
    "task": (Role.TASK, "markdown"),
    "locked": (Role.LOCKED, ""),
}
GRADED = ("test", "written", "by_hand", "task")
KEYS = (*ROLES, "points")  # students get nbgrader's metadata in place of these
LOOK = "look"  # stays in the student's notebook: the examiner reads it there
WORDS = (*KEYS, LOOK)
# Other keys that a header may have: nbgrader's long form, the build's own, and what Jupyter and its editors write.
FOREIGN = {
    "nbgrader",
    "course",
    "tags",
    "name",
    "id",
    "collapsed",
    "scrolled",
    "deletable",
    "editable",
    "format",
    "jupyter",
    "slideshow",
}
FOREIGN |= {
    "cell_marker",
    "lines_to_next_cell",
    "lines_to_end_of_cell_marker",
    "trusted",
    "title",
    "cell_depth",
    "colab",
    "vscode",
}
COMPARED = ("grade", "grade_id", "locked", "points", "solution", "task")


def role_keys(metadata: dict[str, Any]) -> list[str]:
    return [key for key in ROLES if key in metadata]


def expanded(metadata: dict[str, Any]) -> dict[str, Any]:
    """A cell's metadata with nbgrader's, worked out from a short header. A cell without one stays as it is."""
    keys = role_keys(metadata)
    if len(keys) != 1 or "nbgrader" in metadata:
        return metadata
    role, name = keys[0], str(metadata[keys[0]])
    about: dict[str, Any] = {
        "grade": role in ("test", "written", "by_hand"),
        "grade_id": f"{name}-test" if role == "test" else name,
        "locked": role in ("test", "task", "locked"),
        "schema_version": 3,
        "solution": role in ("exercise", "written", "by_hand"),
        "task": role == "task",
    }
    if "points" in metadata:
        about["points"] = metadata["points"]
    return {**metadata, "nbgrader": about}


def shortened(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata without what only the script needs: students get nbgrader's."""
    return {key: value for key, value in metadata.items() if key not in KEYS}


def short_keys(cell: Cell) -> dict[str, Any]:
    """The keys of a short header that say what nbgrader's metadata of this cell say."""
    by_role = {role: key for key, (role, _) in ROLES.items()} | {Role.SETUP: "locked"}
    key = by_role.get(cell.role)
    if key is None:
        return {}
    name = cell.name.removesuffix("-test") if key == "test" else cell.name
    return {key: name, **({"points": cell.nbgrader.get("points", 0)} if key in GRADED else {})}


def header_of(cell: Cell) -> str:
    """The short header that says what nbgrader's metadata of this cell say."""
    start = "# %% [markdown]" if cell.kind == "markdown" else "# %%"
    values = short_keys(cell).items()
    return " ".join([start, *(f"{key}={value:g}" if key == "points" else f'{key}="{value}"' for key, value in values)])


def problems(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    """A header says one thing about its cell, in words that the build knows."""
    for cell in cells:
        for message in faults(cell):
            yield Problem(path, cell.line - 1, message)


def long_headers(path: Path, cells: list[Cell]) -> Iterator[Problem]:
    """Where jupytext keeps short headers only, saving the notebook would drop a long one: it is refused before that."""
    settings = path.parent.parent / "jupytext.toml"
    if not settings.exists() or "exercise," not in settings.read_text(encoding="utf-8"):
        return
    for cell in cells:
        if cell.nbgrader and not role_keys(cell.metadata):
            yield Problem(path, cell.line - 1, f"jupytext.toml keeps short headers only: write `{header_of(cell)}`")


def faults(cell: Cell) -> Iterator[str]:
    keys = role_keys(cell.metadata)
    for key in cell.metadata:
        if key not in WORDS and key not in FOREIGN:
            near = get_close_matches(key, WORDS, n=1)
            advice = f"did you mean `{near[0]}`?" if near else f"a header knows {', '.join(WORDS)}"
            yield f"unknown key `{key}` in the cell's header: {advice}"
    title = cell.metadata.get("title", "")
    if isinstance(title, str) and any(word.partition("=")[0] in WORDS for word in title.split()):
        yield f'`{title}` in the cell\'s header is read as a title: write key="value", points=3'
    if len(keys) > 1:
        yield f"a cell is one of {', '.join(f'`{key}`' for key in keys)}, not several"
    if "points" in cell.metadata and not any(key in GRADED for key in keys):
        yield f"`points` in a header without {', '.join(f'`{key}`' for key in GRADED)}: nobody could earn them"
    if LOOK in cell.metadata and not cell.is_look:
        yield '`look=true`, or look="question" with the id of a written one, marks a given code cell and nothing else'
    for key in keys:
        kind = ROLES[key][1]
        if kind and cell.kind != kind:
            yield f"`{key}` in a {cell.kind} cell: it belongs to a {kind} cell"
        if not isinstance(cell.metadata[key], str) or not cell.metadata[key]:
            yield f'`{key}` needs an id: {key}="name"'
    both = {**cell.metadata, "nbgrader": {}}
    del both["nbgrader"]
    if len(keys) == 1 and differs(expanded(both)["nbgrader"], cell.nbgrader):
        yield f"the header says `{keys[0]}`, and its nbgrader={{…}} something else: leave out one of the two"


def differs(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return any((one.get(key) or None) != (other.get(key) or None) for key in COMPARED)


def side_bar_changes(saved: Any, built: Any, script: Path, cells: list[Cell]) -> list[str]:
    """What the notebook says about its cells, and the script does not: one sentence each, with the header to write."""
    left = [cell for cell in Notebook.from_json(built) if not cell.is_generated]
    lines = {cell.source.rstrip(): cell.line - 1 for cell in cells}
    found = []
    for cell in Notebook.from_json(saved):
        same = next((other for other in left if other.source.rstrip() == cell.source.rstrip()), None)
        if cell.is_generated or same is None:
            continue
        left.remove(same)
        if differs(cell.nbgrader, same.nbgrader):
            place = f"{script}:{lines.get(cell.source.rstrip(), 1)}"
            found.append(
                f"{place}: the side bar of the notebook makes this cell `{header_of(cell)}`, the script"
                f" `{header_of(same)}`: write the first into the script, or drop it with `course build --force`"
            )
    return found
