"""What grading one perfect submission costs in processor time, for every assignment of the course, by what it went
into.

Counted is everything that grading starts: the pool, its worker and nursery, the student's processes, the tests. The
columns: *given* cells, *answers*, *tests* (both sides of the wire), and *overhead*, which is all the rest (forks,
reading and repairing the notebook, writing the record). Start-up is not in it: `grading` measures that. One pool
grades all of them, so its processes hold the libraries of every assignment; a pool for one of them is smaller.

    python -m benchmarks cost                              every assignment
    COST_ASSIGNMENTS=03-attention python -m benchmarks cost
    COST_RUNS=5 COST_CELLS=10 python -m benchmarks cost    five submissions each; the ten dearest cells of each
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.authoring import build
from autograder.authoring.answers import model_answers, submission
from autograder.authoring.engines import Sheet
from autograder.examiner.limits import Limits, limits_of
from autograder.examiner.pool import Pool, Submission, modules_of
from autograder.model import course
from autograder.model.notebook import Cell, Role
from autograder.model.record import Record
from benchmarks.grading import cpu_of_tree

RUNS = int(os.environ.get("COST_RUNS", "3"))
DEAREST = int(os.environ.get("COST_CELLS", "0"))
CHOSEN = [name for name in os.environ.get("COST_ASSIGNMENTS", "").split(",") if name]
WARM_UPS = 1  # a worker imports what its first submission needed
MOST_EACH, MOST_ON_AVERAGE = 2.0, 1.0
COLUMNS = ("given", "answers", "tests")


@dataclass
class Cost:
    """Processor seconds of grading one submission: in all, by column, and by cell."""

    total: float
    columns: dict[str, float]
    cells: dict[str, float]

    @property
    def overhead(self) -> float:
        return self.total - sum(self.columns.values())


def column(cell: Cell) -> str:
    if cell.is_test:
        return "tests"
    return "answers" if cell.role in (Role.ANSWER, Role.READ_BY_HAND) else "given"


def cost_of(record: Record, total: float) -> Cost:
    columns = dict.fromkeys(COLUMNS, 0.0)
    by_cell = {}
    for index, node in enumerate(json.loads(record.notebook)["cells"]):
        cell = Cell.from_json(node)
        seconds = record.processor.get(cell.name or f"cell {index + 1}", 0.0)
        columns[column(cell)] += seconds
        first = next((line for line in cell.source.splitlines() if line.strip()), "")
        by_cell[f"{column(cell):<8} {cell.name or f'cell {index + 1}: {first[:60]}'}"] = seconds
    return Cost(total, columns, by_cell)


def prepared(this: course.Course, own: course.Assignment, folder: Path) -> tuple[dict[str, Any], Submission]:
    """What a pool needs to know of the assignment, and a perfect submission of it."""
    cells, _ = build.checked_cells(own)
    student = own.student_notebook.read_text(encoding="utf-8")
    sheet = Sheet(own.id, build.instructor_notebook(this, own, cells), student)
    path = folder / f"{own.id}.ipynb"
    path.write_text(submission(student, model_answers(cells)), encoding="utf-8")
    files = own.data_files()
    beside = [(name, str(file)) for name, file in files.items()]
    job = Submission(own.id, own.id, limits_of(this, own), str(path), files=beside, given=list(files))
    return {**sheet.prepared(), "audit": False}, job


def measured(pool: Pool, job: Submission) -> Cost:
    """The median of several runs of one submission."""
    found = []
    assert pool.process is not None, "a shared process would be paid for by others, too"
    for number in range(WARM_UPS + RUNS):
        before = cpu_of_tree(pool.process.pid)
        answer = pool.examine(job)
        if "error" in answer:
            sys.exit(f"{job.assignment}: the submission could not be graded: {answer['error']}")
        if number >= WARM_UPS:
            found.append(cost_of(Record.from_json(answer), cpu_of_tree(pool.process.pid) - before))
    middle = statistics.median_low([cost.total for cost in found])
    return next(cost for cost in found if cost.total == middle)


def main() -> None:
    this = course.load()
    chosen = this.select(CHOSEN)
    costs = {}
    with tempfile.TemporaryDirectory() as folder:
        ready = {own.id: prepared(this, own, Path(folder)) for own in chosen}
        data = {name: about for name, (about, _) in ready.items()}
        print("processor seconds of grading one perfect submission\n")
        print("| assignment | given | answers | tests | overhead | all | all ÷ cells |")
        print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
        with Pool(1, modules_of(data), Limits().output_kb << 10) as pool:
            for own in chosen:
                pool.prepare(own.id, {own.id: data[own.id]}, own.source.parent)
                cost = costs[own.id] = measured(pool, ready[own.id][1])
                cells = sum(cost.columns.values())
                parts = [*cost.columns.values(), cost.overhead, cost.total, cost.total / cells]
                print(f"| {own.id} | {' | '.join(f'{part:.2f}' for part in parts)} |", flush=True)
                for cell, seconds in sorted(cost.cells.items(), key=lambda item: -item[1])[:DEAREST]:
                    print(f"    {seconds:6.3f}  {cell}", flush=True)
    totals = [cost.total for cost in costs.values()]
    above = [name for name, cost in costs.items() if cost.total > MOST_EACH]
    mean = statistics.mean(totals)
    print(f"\nall together {sum(totals):.1f} s, on average {mean:.2f} s (aim: {MOST_ON_AVERAGE:g})")
    print(f"above {MOST_EACH:g} s: {', '.join(above) or 'none'}")


if __name__ == "__main__":
    main()
