"""Real assignments, graded by stock nbgrader, by otter-grader and by `course grade`: perfect submissions, in one run.

Start-up included. Printed is processor time of everything that a grader starts, which a busy machine changes less
than the clock, and the clock. `course grade` first grades one submission, and records there what the named mistakes
answer, which is paid once per assignment and class; then it grades all of them, with --force. Otter's tests are the
test cells as they are, one test file each, and the notebooks it gets have none, so that it runs each test once, too.
It is measured where GRADERS_OTTER names a Python that has otter-grader; what the notebooks import it takes from here:

    python -m venv otter && otter/bin/pip install otter-grader
    GRADERS_OTTER=otter/bin/python python -m benchmarks graders

GRADERS_ASSIGNMENTS chooses the assignments, GRADERS_SIZES the numbers of submissions ("3 10", for two sizes).
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from autograder import demo
from autograder.authoring import build
from autograder.authoring.answers import model_answers, submission
from autograder.classroom.nbgrader_command import nbgrader
from autograder.model import course
from autograder.model.notebook import Cell
from benchmarks.grading import STOCK, WORKERS, scores

CHOSEN = os.environ.get("GRADERS_ASSIGNMENTS", "02-rnn-backprop 03-attention").split()
SIZES = [int(size) for size in os.environ.get("GRADERS_SIZES", "3").split()]
OTTER = os.path.abspath(os.environ["GRADERS_OTTER"]) if "GRADERS_OTTER" in os.environ else ""
TEST_FILE = """OK_FORMAT = False
from otter.test_files import test_case
name, points = {name!r}, {points}
TEXT = {text!r}
@test_case(points={points}, hidden=True)
def test(env):
    exec(TEXT, env)
    assert env["_earned"] == {points}
"""


@dataclass
class Taken:
    processor: float
    clock: float

    def __str__(self) -> str:
        return f"{self.processor:.1f} s ({self.clock:.1f} s)"


def timed(root: Path, *command: str, **more: str) -> Taken:
    """What a command and all that it starts takes, with these variables in its environment."""
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": tools, "NBGRADER_EXECUTION": "autograde", "OMP_NUM_THREADS": "1", **more}
    before, started = processor(), time.perf_counter()
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return Taken(processor() - before, time.perf_counter() - started)


def processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def class_of(name: str, size: int, root: Path) -> tuple[course.Course, list[Cell]]:
    """So many perfect submissions of an assignment of the course."""
    this = course.load()
    (assignment,) = this.select([name])
    made = demo.demo_course(this, assignment, root)
    (own,) = made.assignments
    cells, _ = build.checked_cells(own)
    text = submission(own.student_notebook.read_text(encoding="utf-8"), model_answers(cells))
    for number in range(size):
        place = root / "submitted" / f"student{number:02d}" / own.id
        place.mkdir(parents=True)
        (place / f"{own.id}.ipynb").write_text(text, encoding="utf-8")
    nbgrader(made, "generate_assignment", own.id, "--force")
    return made, cells


def for_otter(root: Path, cells: list[Cell]) -> Path:
    """A folder with the tests, and each submission without its test cells."""
    folder = root / "otter"
    (folder / "tests").mkdir(parents=True)
    for cell in cells:
        if cell.is_test:
            lines = cell.python.rstrip().splitlines()
            text = "\n".join([*lines[:-1], f"_earned = {lines[-1]}"])
            file = TEST_FILE.format(name=cell.grade_id, points=float(cell.points or 0), text=text)
            (folder / "tests" / f"{cell.grade_id.replace('-', '_')}.py").write_text(file, encoding="utf-8")
    for path in sorted((root / "submitted").glob("*/*/*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        tests = {cell.grade_id for cell in cells if cell.is_test}
        known = [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in notebook["cells"]]
        notebook["cells"] = [cell for cell, name in zip(notebook["cells"], known, strict=True) if name not in tests]
        (folder / f"{path.parts[-3]}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return folder


def compared(name: str, size: int, folder: Path) -> str:
    """A row of the table."""
    ours, stock = folder / "ours", folder / "stock"
    _, cells = class_of(name, size, ours)
    otter = for_otter(ours, cells) if OTTER else None
    shutil.copytree(ours, stock)
    with open(stock / "nbgrader_config.py", "a", encoding="utf-8") as config:
        config.write(STOCK)
    grade = (sys.executable, "-m", "autograder", "grade", name, "--force", "--workers")
    first = timed(ours, *grade, "1", "--student", "student00")
    course_grade = timed(ours, *grade, str(WORKERS))
    autograde = timed(stock, sys.executable, "-m", "nbgrader", "autograde", name)
    if scores(ours) != scores(stock):
        sys.exit(f"{name}: the scores of nbgrader and of course grade differ")
    row = [name, str(size), str(first), str(course_grade), str(autograde)]
    ratios = [autograde.processor / course_grade.processor]
    if otter is None:
        return f"| {' | '.join(row)} | not installed | {ratios[0]:.1f} | |"
    script = str(Path(__file__).with_name("_otter.py").resolve())
    packages = f"{Path(__file__).parents[1]}{os.pathsep}{sysconfig.get_paths()['purelib']}"
    others = timed(otter, OTTER, script, PYTHONPATH=packages)
    ratios.append(others.processor / course_grade.processor)
    return f"| {' | '.join(row)} | {others} | {' | '.join(f'{ratio:.1f}' for ratio in ratios)} |"


def main() -> None:
    print("processor time (and by the clock) of grading perfect submissions, start-up included\n")
    print("| assignment | submissions | recordings and one of them | all, course grade | nbgrader | otter |", end="")
    print(" nbgrader ÷ ours | otter ÷ ours |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for name in CHOSEN:
        for size in SIZES:
            with tempfile.TemporaryDirectory() as folder:
                print(compared(name, size, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
