"""The same submissions graded by stock nbgrader and by `course grade`, on the same cores: scores must be equal, and the
ratio is what counts.

Also: what a further submission costs in processor time against its own cells in a warm process, and whether a worker's
memory stays flat. ARGS: `make bench ARGS="grading"`. GRADING_SUBMISSIONS changes their number (64), GRADING_LONG that
of the memory run (300).
"""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from autograder import demo
from autograder.authoring import build
from autograder.authoring.answers import empty_functions, model_answers, submission
from autograder.classroom.gradebook import register
from autograder.classroom.inbox import jobs_of
from autograder.classroom.nbgrader_command import nbgrader
from autograder.examiner.limits import limits_of
from autograder.examiner.pool import Pool
from autograder.model import course

ASSIGNMENT = "01-lesson"
WORKERS = 2
SUBMISSIONS = int(os.environ.get("GRADING_SUBMISSIONS", "64"))
LONG = int(os.environ.get("GRADING_LONG", "300"))
STOCK = """
c.Autograde.autograde_preprocessors = [
    "nbgrader.preprocessors.Execute", IgnorePattern, ClearMetadataPreprocessor, LimitOutput,
    SaveAutoGrades, AssignLatePenalties, CheckCellMetadata,
]
"""


def make_class(root: Path, count: int) -> course.Course:
    """A course of one short lesson with this many honest submissions: perfect, half done and hopeless in turn."""
    this = course.load()
    folder = root / "solutions" / ASSIGNMENT
    folder.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("_lesson.py"), folder / f"{ASSIGNMENT}.py")
    shutil.copy(this.root / "nbgrader_config.py", root)
    head = f'title = "Bench"\ncourse_id = "bench"\nrepository = "{this.repository}"\n\n'
    entry = f'[[assignment]]\nid = "{ASSIGNMENT}"\ntitle = "A short lesson"\npart = "I"\nminutes = 30\n'
    (root / "course.toml").write_text(head + entry, encoding="utf-8")
    made = course.load(root)
    (own,) = made.assignments
    files, _ = build.outputs(made, [own])
    build.write(files)
    cells, _ = build.checked_cells(own)
    student = own.student_notebook.read_text(encoding="utf-8")
    perfect = model_answers(cells)
    half = {**perfect, "attention": "def attention(q, k, v):\n    return softmax(q @ k.mT) @ v"}
    hopeless = {name: empty_functions(text) for name, text in perfect.items()}
    for number in range(count):
        place = root / "submitted" / f"student{number:03d}" / own.id
        place.mkdir(parents=True)
        (place / f"{own.id}.ipynb").write_text(
            submission(student, [perfect, half, hopeless][number % 3]), encoding="utf-8"
        )
    nbgrader(made, "generate_assignment", own.id, "--force")
    return made


def scores(root: Path) -> dict[tuple[str, str], float | None]:
    with sqlite3.connect(root / "gradebook.db") as book:
        rows = book.execute(
            "select s.student_id, c.name, g.auto_score from grade g join submitted_notebook n on g.notebook_id = n.id"
            " join submitted_assignment s on n.assignment_id = s.id join base_cell c on g.cell_id = c.id"
        )
        return {(student, name): score for student, name, score in rows}


def timed(root: Path, *command: str) -> float:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", *command], cwd=root, env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


def against_nbgrader(folder: Path) -> None:
    ours, stock = folder / "ours", folder / "stock"
    make_class(ours, SUBMISSIONS)
    shutil.copytree(ours, stock)
    with open(stock / "nbgrader_config.py", "a", encoding="utf-8") as config:
        config.write(STOCK)
    quick = timed(ours, "autograder", "grade", ASSIGNMENT, "--workers", str(WORKERS))
    slow = timed(stock, "nbgrader", "autograde", ASSIGNMENT)
    left, right = scores(ours), scores(stock)
    same = left == right
    print(f"{SUBMISSIONS} submissions of {ASSIGNMENT}, start-up included")
    print(f"  nbgrader autograde          {slow:8.1f} s   {slow / SUBMISSIONS:6.2f} s each")
    print(f"  course grade --workers {WORKERS}    {quick:8.1f} s   {quick / SUBMISSIONS:6.2f} s each")
    print(f"  ratio                       {slow / quick:8.1f}     (25 or more is the aim; sandbox on)")
    print(f"  {len(left)} scores, {'all equal' if same else 'NOT EQUAL'}")
    if not same:
        sys.exit(
            "the scores differ: "
            + ", ".join(f"{key}: {left.get(key)} / {right.get(key)}" for key in left if left[key] != right.get(key))
        )


def cost_and_memory(folder: Path) -> None:
    """Processor time of a further submission against its own cells, for real assignments, and a worker's memory over
    many submissions.
    """
    for name, count in (("03-attention", 14), (ASSIGNMENT, LONG)):
        root = folder / f"cost-{name}"
        made = make_class(root, 1) if name == ASSIGNMENT else real_class(root, name)
        (own,) = made.assignments
        data = register(made, own)
        (student,) = (root / "submitted").iterdir()
        (job,) = jobs_of(made, own, student.name, student / own.id, list(data), "")
        alone, again = cells_alone(made, job.path or "", data[own.id]["modules"])
        limits = limits_of(made, own)
        sizes, spent = [], []
        with Pool(1, data[own.id]["modules"], limits.output_kb << 10, stays=False) as pool:
            assert pool.process is not None
            pool.prepare(own.id, data)
            for number in range(count):
                before = cpu_of_tree(pool.process.pid)
                answer = pool.examine(job.submission(own.id, limits))
                if "error" in answer:
                    sys.exit(f"a submission could not be graded: {answer}")
                if number >= 4:
                    spent.append(cpu_of_tree(pool.process.pid) - before)
                if number in (10, count - 1):
                    sizes.append(resident_of_tree(pool.process.pid))
        each = sum(spent) / len(spent)
        print(
            f"{name}: a further submission takes {each:.2f} s of processor time, its cells alone in a warm process"
            f" {alone:.2f} s: {each / alone:.2f} times"
        )
        print(f"  (run again and again in one process, with every cache full, {again:.2f} s: {each / again:.2f} times)")
        print(
            f"  memory of pool, worker and nursery after 10 submissions {sizes[0]:.0f} MB, after {count}:"
            f" {sizes[1]:.0f} MB"
        )


def real_class(root: Path, name: str) -> course.Course:
    """One perfect submission of an assignment of the course."""
    this = course.load()
    (assignment,) = this.select([name])
    made = demo.demo_course(this, assignment, root)
    (own,) = made.assignments
    cells, _ = build.checked_cells(own)
    place = root / "submitted" / "perfect" / own.id
    place.mkdir(parents=True)
    (place / f"{own.id}.ipynb").write_text(
        submission(own.student_notebook.read_text(encoding="utf-8"), model_answers(cells)), encoding="utf-8"
    )
    return made


def cells_alone(made: course.Course, path: str, modules: list[str]) -> tuple[float, float]:
    """Processor time of the submission's own cells and tests, one after the other in a warm process: for the first
    time, and once more.
    """
    script = Path(__file__).with_name("_warm_cells.py")
    environment = {
        **os.environ,
        "NBGRADER_EXECUTION": "autograde",
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
    (own,) = made.assignments
    done = subprocess.run(
        [sys.executable, str(script), path, str(own.instructor_notebook), *modules],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    first, again = done.stdout.split()[-2:]
    return float(first), float(again)


def tree(pid: int) -> list[int]:
    found = [pid]
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found += tree(int(child))
    return found


def cpu_of_tree(pid: int) -> float:
    """Processor time of a process and its descendants, those that have ended included."""
    ticks = 0
    for one in tree(pid):
        parts = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(int(part) for part in parts[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def resident_of_tree(pid: int) -> float:
    """Megabytes, shared pages divided among those who share them."""
    total = 0
    for one in tree(pid):
        with open(f"/proc/{one}/smaps_rollup") as file:
            total += next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    return total / 1024


def main() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with tempfile.TemporaryDirectory() as folder:
        against_nbgrader(Path(folder))
        cost_and_memory(Path(folder))
