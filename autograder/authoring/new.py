"""`course new NN-name`: an assignment to start from, which builds and verifies as it is."""

from __future__ import annotations

import re

from autograder.model.course import Assignment, Course, CourseError, load, write_whole

NAME = re.compile(r"\d\d-[a-z][a-z0-9]*(-[a-z0-9]+)*")
MINUTES = 15

SCRIPT = '''# %% [markdown]
# # {number} · {title}
#
# | | |
# | --- | --- |
# | **You will be able to** | turn scores into weights |
# | **You need** | a little PyTorch |
# | **Time** | about 15 minutes; each exercise says its own |
# | **Points** | 5, and 0 bonus |

# %% locked="setup"
import torch

from helpers.checks import Check, randn

# %% [markdown]
# ### 1.1 Shares <small>★☆☆ · 5 min · 3 points</small>
# Divide positive numbers by their sum, row by row.
#
# *Before you run it:* what happens to the shares when every number is multiplied by ten?


# %% exercise="shares"
def shares(x):
    """Shares of the positive numbers x (n, m) in the sum of their row: an (n, m) tensor whose rows sum to one."""
    ### BEGIN SOLUTION
    total = x.sum(dim=-1, keepdim=True)  # (n, 1)
    return x / total
    ### END SOLUTION


# %% test="shares" points=3
check = Check("shares", points=3)
given = torch.tensor([[1.0, 3.0], [2.0, 2.0]])
check.close(
    check.run(shares, given, shape=(2, 2)),
    [[0.25, 0.75], [0.5, 0.5]],
    "each row is divided by its own sum: along which axis do you sum?",
)
check.unchanged(shares, given)
### BEGIN HIDDEN TESTS
numbers = randn(3, 5).abs() + 0.1  # all sizes differ: a swapped axis cannot hide
check.close(check.run(shares, numbers), numbers / numbers.sum(1, keepdim=True), "every row of the result sums to one")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 1.2 Why shares? <small>★☆☆ · 5 min · 2 points, graded by hand</small>

# %% [markdown] written="why-shares" points=2
# What do shares lose that the numbers had?
#
# <!-- BEGIN SOLUTION -->
# The size of the sum: a row and ten times that row have the same shares. (2 points; 1 for an example alone.)
# <!-- END SOLUTION -->
'''

MISTAKES = '''"""Named wrong answers that the tests must catch, and right answers that look different."""

from autograder.authoring.mistakes import Mistake, Right

ROW = "each row is divided by its own sum: along which axis do you sum?"

VARIANTS = {
    "shares": [
        Mistake("columns", change={"dim=-1": "dim=0"}, hint=ROW),
        Mistake("one sum for everything", change={"x.sum(dim=-1, keepdim=True)": "x.sum()"}, hint=ROW),
        Mistake("by the largest", change={"x.sum(dim=-1, keepdim=True)": "x.amax(dim=-1, keepdim=True)"}, hint=ROW),
        Mistake("softmax", change={"x / total": "x.softmax(dim=-1)"}, hint=ROW),
        Right("matrix product", change={"x.sum(dim=-1, keepdim=True)": "x @ torch.ones(x.shape[-1], 1)"}),
        Right("row by row", change={"return x / total": "return torch.stack([row / row.sum() for row in x])"}),
    ],
}
'''

ENTRY = '\n[[assignment]]\nid = "{id}"\ntitle = "{title}"\npart = "{part}"\nminutes = {minutes}\n'


def new(course: Course, name: str) -> Assignment:
    """Write the script and its mistakes, and add the assignment to the end of `course.toml`."""
    if not NAME.fullmatch(name):
        raise CourseError(
            f"{name!r} is no name of an assignment: two digits and words in small letters, such as 17-state-spaces"
        )
    number, _, words = name.partition("-")
    folder = course.root / "solutions" / name
    if folder.exists() or any(assignment.id == name for assignment in course.assignments):
        raise CourseError(f"{name} exists already: choose another name")
    taken = next((assignment.id for assignment in course.assignments if assignment.id.startswith(f"{number}-")), None)
    if taken is not None:
        raise CourseError(f"{taken} has the number {number} already: choose another one")
    title = words.replace("-", " ").capitalize()
    part = course.assignments[-1].part if course.assignments else "I. Beginning"
    write_whole(folder / f"{name}.py", SCRIPT.format(number=number, title=title))
    write_whole(folder / "mistakes.py", MISTAKES)
    path = course.root / "course.toml"
    entry = ENTRY.format(id=name, title=title, part=part.replace('"', '\\"'), minutes=MINUTES)
    write_whole(path, path.read_text(encoding="utf-8").rstrip("\n") + "\n" + entry)
    return next(assignment for assignment in load(course.root).assignments if assignment.id == name)
