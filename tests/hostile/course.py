"""A tiny course for hostile submissions: one assignment, small limits, hidden tests with a recognisable secret."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from conftest import ROOT

from autograder.authoring import build
from autograder.model.course import Assignment, Course, load

NAME = "90-hostile"

# What no student may ever read: the words and the numbers of the hidden regions.
WORD = "SECRET-7f3a"
COMMENT = "nobody's business"
NUMBER = 731946285
SECRETS = (
    WORD,
    COMMENT,
    "secret_7f3a",
    str(NUMBER),
    str(2 * NUMBER),
    f"{NUMBER:,}",
    f"{2 * NUMBER:,}",
    hex(NUMBER)[2:],
)

LIMITS = {
    "cell_seconds": 3,
    "test_seconds": 4,
    "submission_seconds": 60,
    "memory_mb": 512,
    "processes": 32,
    "file_mb": 8,
    "scratch_mb": 32,
    "output_kb": 64,
}

POINTS = {"double": 2.0, "softmax": 3.0, "top_words": 2.0, "tally": 2.0, "running": 2.0, "shout": 1.0}
CHECKS = {"double": 5, "softmax": 6, "top_words": 4, "tally": 3, "running": 4}  # visible and hidden checks of each test
FULL = sum(POINTS.values())
WRITTEN = 2.0  # points of the written answer, which waits for a person

SETUP = """
import numpy as np
import torch
from helpers import checks
from helpers.checks import Check, randn
from helpers.logit_bias.semi_closed import SemiClosedLM
""".strip()

ANSWERS = {
    "double": (
        '''
def double(x):
    """Twice a number or a text, or twice every entry of a list."""
    if isinstance(x, list):
        return [double(entry) for entry in x]
    return x + x
'''
    ),
    "softmax": (
        '''
def softmax(x):
    """Rows of x (n, m) as distributions."""
    e = torch.exp(x - x.max(dim=-1, keepdim=True).values)
    return e / e.sum(dim=-1, keepdim=True)
'''
    ),
    "top_words": (
        '''
def top_words(api):
    """The two most likely words of an API, most likely first."""
    return [word for word, probability in api.top2()]
'''
    ),
    "tally": (
        '''
class Tally:
    """A running total."""

    def __init__(self):
        self.amount = 0

    def add(self, number):
        self.amount += number

    def total(self):
        return self.amount
'''
    ),
    "running": (
        '''
def running(x):
    """Sums of the first 1, 2, ... entries of x (n)."""
    return x.cumsum(0)
'''
    ),
    "shout": (
        '''
def shout(text):
    """The text in capitals, with an exclamation mark."""
    return text.upper() + "!"
'''
    ),
}
ANSWERS = {name: text.strip() for name, text in ANSWERS.items()}

# Nothing is right here: no check of any test passes.
WRONG = {
    "double": "def double(x):\n    return None",
    "softmax": "def softmax(x):\n    return None",
    "top_words": "def top_words(api):\n    return None",
    "tally": "class Tally:\n    def add(self, number):\n        return None\n    def total(self):\n        return None",
    "running": "def running(x):\n    return None",
    "shout": "def shout(text):\n    return None",
}
WRITTEN_ANSWER = "Because the tests and the code under test must not share a process."

TESTS = {
    "double": (
        f"""
check = Check("double", points=2)
check.equal(check.run(double, 3), 6, "twice three is six")
check.equal(check.run(double, [1, 2]), [2, 4], "double every entry of a list")
### BEGIN HIDDEN TESTS
# {WORD}: these inputs are {COMMENT}
secret_7f3a = {NUMBER}
check.equal(check.run(double, secret_7f3a), 2 * secret_7f3a, "other numbers must be doubled, too")
check.equal(check.run(double, [secret_7f3a, 5, 6]), [{2 * NUMBER}, 10, 12], "longer lists must be doubled, too")
check.equal(check.run(double, "{WORD}"), "{WORD}{WORD}", "")
### END HIDDEN TESTS
check.score()
"""
    ),
    "softmax": (
        f"""
check = Check("softmax", points=3)
p = check.run(softmax, torch.tensor([[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]]), shape=(2, 3))
check.distribution(p, "every row must be a distribution")
check.close(check.run(softmax, torch.zeros(2, 4)).sum(-1), [1.0, 1.0], "every row must sum to one")
### BEGIN HIDDEN TESTS
# {WORD}: these inputs are {COMMENT}
w = check.run(softmax, randn(4, 5) * {NUMBER / 1e9})
logits_7f3a = randn(3, 6)
check.close(check.run(softmax, logits_7f3a), torch.softmax(logits_7f3a, -1), "other rows must be right, too")
check.gradients(softmax, lambda t: torch.softmax(t, -1), (logits_7f3a,), "gradients must flow")
surprise = -np.log(w.numpy()) * {NUMBER}  # {WORD}
check.true(surprise.min() > 0, "probabilities lie between zero and one")
### END HIDDEN TESTS
check.score()
"""
    ),
    "top_words": (
        f"""
check = Check("top_words", points=2)
api = SemiClosedLM([0.1, 2.0, 1.0, -1.0])
check.equal(check.run(top_words, api), [1, 2], "the two most likely words, most likely first")
check.calls(api, "one call says it all", at_most=1)
### BEGIN HIDDEN TESTS
# {WORD}: these inputs are {COMMENT}
api_7f3a = SemiClosedLM([0.5, 0.25, {NUMBER / 1e9}, 0.125, -3.0, 0.6])
check.equal(check.run(top_words, api_7f3a), [2, 5], "other models must be asked, too")
check.calls(api_7f3a, "one call says it all", at_most=1)
### END HIDDEN TESTS
check.score()
"""
    ),
    "tally": (
        f"""
check = Check("tally", points=2)
first = check.keep(Tally)
check.run(lambda: first.add(3))
check.run(lambda: first.add(4))
check.close(check.run(lambda: first.total()), 7, "three and four are seven")
### BEGIN HIDDEN TESTS
# {WORD}: these inputs are {COMMENT}
second = check.keep(Tally)
check.run(lambda: second.add({NUMBER}))
check.close(check.run(lambda: second.total()), {NUMBER}, "totals must not be shared")
check.run(lambda: second.add({NUMBER}))
check.close(check.run(lambda: second.total()), {2 * NUMBER}, "large numbers must be added, too")
### END HIDDEN TESTS
check.score()
"""
    ),
    "running": (
        f"""
check = Check("running", points=2)
check.close(check.run(running, torch.tensor([1.0, 2.0, 3.0])), [1.0, 3.0, 6.0], "one, one and two, one and two and three")
check.growth(running, lambda n: (torch.ones(n),), [64, 128, 256], 1, "the work must not grow faster than the length")
check.largest(running, torch.ones(8192), elements=8192, hint="no table of all pairs")
### BEGIN HIDDEN TESTS
# {WORD}: these inputs are {COMMENT}
steps_7f3a = randn(50) * {NUMBER / 1e9}
check.close(check.run(lambda: running(steps_7f3a)), torch.cumsum(steps_7f3a, 0), "other numbers must be summed, too")
### END HIDDEN TESTS
check.score()
"""
    ),
    "shout": (
        f"""
assert shout("hello") == "HELLO!", "hello becomes HELLO!"
### BEGIN HIDDEN TESTS
assert shout("{WORD} is {COMMENT}") == "{WORD.upper()} IS {COMMENT.upper()}!", "{WORD} was not shouted"
### END HIDDEN TESTS
"""
    ),
}


def marked(answer: str) -> str:
    """The answer with the solution markers around what is not given to students: everything below signature and
    docstring.
    """
    lines = answer.split("\n")
    return "\n".join([*lines[:2], "    ### BEGIN SOLUTION", *lines[2:], "    ### END SOLUTION"])


def header(**changes: Any) -> str:
    known = {
        "grade": False,
        "grade_id": "",
        "locked": False,
        "schema_version": 3,
        "solution": False,
        "task": False,
        **changes,
    }
    return f"# %% nbgrader={json.dumps(known)}"


def source() -> str:
    """The assignment as a percent script."""
    parts = [f"{header(grade_id='setup', locked=True)}\n{SETUP}"]
    for name, answer in ANSWERS.items():
        parts.append(f"# %% [markdown]\n# Write `{name}`.")
        parts.append(f"{header(grade_id=name, solution=True)}\n{marked(answer)}")
        points = int(POINTS[name])
        parts.append(
            f"{header(grade=True, grade_id=f'{name}-test', locked=True, points=points)}\n{TESTS[name].strip()}"
        )
    written = header(grade=True, grade_id="why", solution=True, points=int(WRITTEN)).replace(
        "# %% ", "# %% [markdown] "
    )
    parts.append(
        f"{written}\n# Why are there two processes?\n#\n# <!-- BEGIN SOLUTION -->\n# Trust.\n# <!-- END SOLUTION -->"
    )
    return "\n\n".join(parts) + "\n"


def make(root: Path) -> tuple[Course, Assignment]:
    """The course in a folder of its own, built."""
    limits = "\n".join(f"{name} = {value}" for name, value in LIMITS.items())
    (root / "course.toml").write_text(
        'title = "Hostile"\ncourse_id = "hostile"\nrepository ='
        f' "https://github.com/example/hostile"\n\n[limits]\n{limits}\n\n[[assignment]]\nid = "{NAME}"\ntitle ='
        ' "Attacks"\npart = "I. Attacks"\nminutes = 5\n',
        encoding="utf-8",
    )
    folder = root / "solutions" / NAME
    folder.mkdir(parents=True)
    (folder / f"{NAME}.py").write_text(source(), encoding="utf-8")
    shutil.copy(ROOT / "nbgrader_config.py", root)
    course = load(root)
    files, _ = build.outputs(course, list(course.assignments))
    build.write(files)
    return course, course.assignments[0]


def honest(assignment: Assignment, answers: dict[str, str] | None = None) -> dict[str, Any]:
    """A student's notebook with right answers, some of them replaced."""
    notebook: dict[str, Any] = json.loads(assignment.student_notebook.read_text(encoding="utf-8"))
    given = {**ANSWERS, "why": WRITTEN_ANSWER, **(answers or {})}
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if name in given:
            cell["source"] = given[name]
    return notebook


def find(notebook: dict[str, Any], name: str) -> dict[str, Any]:
    """The cell of this name."""
    found: dict[str, Any] = next(
        c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == name
    )
    return found


def insert(notebook: dict[str, Any], after: str, text: str, kind: str = "code") -> None:
    """A cell of the student's own after the cell of this name; an empty name puts it first."""
    cells = notebook["cells"]
    cell: dict[str, Any] = {"cell_type": kind, "id": f"own-{len(cells)}", "metadata": {}, "source": text}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    place = cells.index(find(notebook, after)) + 1 if after else 0
    while place < len(cells) and cells[place]["id"].startswith("own-"):
        place += 1  # behind the student's other cells
    cells.insert(place, cell)
