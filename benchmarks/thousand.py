"""A thousand submissions, no two alike, in one go: perfect, partial, damaged and hostile, over six assignments.

Every one must get a record, the memory of the process that grades must stay flat, and the time left that `course grade`
shows after a quarter, a half and three quarters of an assignment must come true. Then the same again, which runs
nothing, and once more after one hidden test of each assignment has changed, which runs that test and no other.
GRADING_THOUSAND changes their number (60; a thousand take hours), GRADING_ASSIGNMENTS the assignments.
"""

from __future__ import annotations

import json
import os
import random
import re
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.authoring import build
from autograder.authoring.answers import submission
from autograder.authoring.mistakes import Variant
from autograder.authoring.mistakes import load as load_mistakes
from autograder.classroom.grade import Summary, grade
from autograder.model import course as courses
from autograder.model.course import Assignment, Course, CourseError
from autograder.model.notebook import Cell
from autograder.model.regions import without_markers

SUBMISSIONS = int(os.environ.get("GRADING_THOUSAND", "60"))
CHOSEN = os.environ.get(
    "GRADING_ASSIGNMENTS", "01-big-picture 03-attention 04-linear-attention 06-tokenization 08-positions 16-precision"
).split()
HIDDEN = "### BEGIN HIDDEN TESTS\n"
KINDS = ("perfect", "partial", "perfect", "damaged", "partial", "hostile", "partial", "perfect", "damaged", "partial")
ATTACKS = (
    "import os\nos._exit(3)",
    "import builtins\nbuiltins.isinstance = lambda *unused: True",
    "raise SystemExit",
    "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
    "print('x' * 10_000_000)",
    "get_ipython().input_transformers_post.append(lambda lines: ['pass'])",
)


@dataclass
class Run:
    """One run over all assignments."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    skipped: int = 0
    failed: list[str] = field(default_factory=list)
    times: dict[str, list[float]] = field(default_factory=dict)  # by assignment: when each result came
    memory: list[float] = field(default_factory=list)  # MB of this process, at each result
    seconds: float = 0.0

    def estimates(self) -> list[str]:
        """Time left as `course grade` shows it at a point of each assignment, over the time it then took."""
        found = []
        for name, times in self.times.items():
            ratios = []
            for share in (0.25, 0.5, 0.75):
                done = round(share * len(times))
                if 2 <= done < len(times):
                    pace = (times[done - 1] - times[0]) / (done - 1)
                    ratios.append(f"{pace * (len(times) - done) / max(times[-1] - times[done - 1], 1e-9):.2f}")
            found.append(f"{name} {', '.join(ratios)}")
        return found

    def growth(self) -> float:
        """MB that the process that grades has grown by since the first fifth of the results."""
        return max(self.memory) - max(self.memory[: max(1, len(self.memory) // 5)])


def make_submissions(made: Course, count: int) -> dict[str, dict[str, str]]:
    """Hand in so many, in turns for each assignment. Gives their kinds by assignment and student."""
    kinds: dict[str, dict[str, str]] = {assignment.id: {} for assignment in made.assignments}
    material = {assignment.id: answers_for(assignment) for assignment in made.assignments}
    for number in range(count):
        assignment = made.assignments[number % len(made.assignments)]
        kind = KINDS[number // len(made.assignments) % len(KINDS)]
        student = f"s{number:05d}"
        folder = made.root / "submitted" / student / assignment.id
        folder.mkdir(parents=True)
        text = notebook_of(assignment, *material[assignment.id], kind, random.Random(number))
        (folder / f"{assignment.id}.ipynb").write_text(text, encoding="utf-8")
        kinds[assignment.id][student] = kind
    return kinds


def answers_for(assignment: Assignment) -> tuple[list[Cell], dict[str, list[Variant]]]:
    cells, _ = build.checked_cells(assignment)
    variants = load_mistakes(assignment.mistakes).by_exercise if assignment.mistakes.exists() else {}
    return [cell for cell in cells if cell.is_exercise], variants


def notebook_of(
    assignment: Assignment, exercises: list[Cell], variants: dict[str, list[Variant]], kind: str, chance: random.Random
) -> str:
    """The text of a submission; the number in a comment makes it unlike all others."""
    mark = f"\n# {chance.randrange(10**12)}"
    answers = {cell.grade_id: without_markers(cell.source) + mark for cell in exercises}
    if kind == "partial":
        for cell in chance.sample(exercises, max(1, len(exercises) // 3)):
            answers[cell.grade_id] = wrong_answer(cell, variants.get(cell.grade_id, []), chance) + mark
    text = submission(assignment.student_notebook.read_text(encoding="utf-8"), answers)
    if kind == "damaged":
        return damaged(text, chance)
    if kind == "hostile":
        notebook = json.loads(text)
        added: dict[str, Any] = {
            "cell_type": "code",
            "id": "own",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        notebook["cells"].insert(
            chance.randrange(3, len(notebook["cells"])), {**added, "source": chance.choice(ATTACKS)}
        )
        return json.dumps(notebook)
    return text


def wrong_answer(cell: Cell, variants: list[Variant], chance: random.Random) -> str:
    texts = []
    for variant in variants:
        try:
            texts.append(without_markers(variant.source(cell)))
        except CourseError:  # it does not apply: `course verify` says so
            continue
    return chance.choice(texts) if texts else "raise NotImplementedError"


def damaged(text: str, chance: random.Random) -> str:
    notebook = json.loads(text)
    match chance.randrange(4):
        case 0:
            return text[: len(text) // 2]
        case 1:  # as an editor leaves it that knows no metadata
            for cell in notebook["cells"]:
                cell["metadata"] = {}
        case 2:
            notebook["cells"] += notebook["cells"][5:9]
        case _:
            chance.shuffle(notebook["cells"])
    return json.dumps(notebook)


def graded(made: Course, workers: int) -> Run:
    """Every assignment, one after the other."""
    run, begun = Run(), time.monotonic()

    def take(row: dict[str, Any], done: int, total: int) -> None:
        times.append(time.monotonic() - begun)
        run.memory.append(resident_mb())

    for assignment in made.assignments:
        times = run.times[assignment.id] = []
        summary: Summary = grade(made, assignment, workers=workers, on_result=take)
        run.rows += [{**row, "assignment": assignment.id} for row in summary.rows]
        run.skipped += summary.skipped
        run.failed += summary.failed
    run.seconds = time.monotonic() - begun
    return run


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def change_a_test(assignment: Assignment) -> None:
    """Another line in the first hidden part: the test says the same, and is another."""
    text = assignment.source.read_text(encoding="utf-8")
    indent = re.search(rf"^( *){HIDDEN}", text, re.MULTILINE)
    assert indent is not None
    changed = text.replace(f"{indent[0]}", f"{indent[0]}{indent[1]}changed_since = {time.time_ns()}\n", 1)
    assignment.source.write_text(changed, encoding="utf-8")


def used_again(made: Course, kinds: dict[str, dict[str, str]], run: Run) -> list[str]:
    """By assignment and kind: how many results were used again, of how many tests, in how many submissions."""
    found = []
    for assignment in made.assignments:
        cells, _ = build.checked_cells(assignment)
        tests = sum(cell.is_test for cell in cells)
        by_kind: dict[str, Counter[int]] = {}
        for row in run.rows:
            if row["assignment"] == assignment.id:
                by_kind.setdefault(kinds[assignment.id][row["student"]], Counter())[row["reused"]] += 1
        parts = (
            f"{kind} {', '.join(f'{reused} (× {count})' for reused, count in counts.most_common())}"
            for kind, counts in sorted(by_kind.items())
        )
        found.append(f"{assignment.id}, {tests} tests, used again: {'; '.join(parts)}")
    return found


def records_missing(made: Course, kinds: dict[str, dict[str, str]]) -> list[str]:
    wanted = [(student, name) for name, students in kinds.items() for student in students]
    return [
        student for student, name in wanted if not (made.root / "autograded" / student / name / "grading.json").exists()
    ]


def class_of(root: Path, names: list[str]) -> Course:
    """The chosen assignments in a course of their own."""
    this = courses.load()
    chosen = this.select(names)
    (root / "solutions").mkdir()
    for assignment in chosen:
        copy_sources(assignment, root / "solutions" / assignment.id)
    head = f'title = "Bench"\ncourse_id = "bench"\nrepository = "{this.repository}"\ntag = "{this.tag}"\n\n'
    entries = [
        f'[[assignment]]\nid = "{one.id}"\ntitle = "{one.id}"\npart = "I"\nminutes = {one.minutes}\n' for one in chosen
    ]
    (root / "course.toml").write_text(head + "\n".join(entries), encoding="utf-8")
    (root / "nbgrader_config.py").write_bytes((this.root / "nbgrader_config.py").read_bytes())
    made = courses.load(root)
    files, _ = build.outputs(made, list(made.assignments))
    build.write(files)
    return made


def copy_sources(assignment: Assignment, target: Path) -> None:
    target.mkdir(parents=True)
    for path in assignment.source.parent.iterdir():
        if path.is_file() and path.suffix != ".ipynb":
            (target / path.name).write_bytes(path.read_bytes())


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="thousand-") as folder:
        made = class_of(Path(folder), CHOSEN)
        kinds = make_submissions(made, SUBMISSIONS)
        workers = os.cpu_count() or 1
        first = graded(made, workers)
        print(
            f"{SUBMISSIONS} submissions, {len(made.assignments)} assignments, {workers} workers: {first.seconds:.0f} s",
            flush=True,
        )
        print(f"  without a record: {len(records_missing(made, kinds))}; grown by {first.growth():.0f} MB")
        print(f"  time left as it seems, over the time it took: {'; '.join(first.estimates())}")
        again = graded(made, workers)
        print(f"again: {len(again.rows)} run, {again.skipped} skipped, {again.seconds:.0f} s", flush=True)
        for assignment in made.assignments:
            change_a_test(assignment)
        changed = graded(made, workers)
        print(f"one test of each changed: {changed.seconds:.0f} s of {first.seconds:.0f} s, {changed.skipped} skipped")
        for line in used_again(made, kinds, changed):
            print(f"  {line}")
        scores = {(row["assignment"], row["student"]): row["score"] for row in first.rows}
        others = [row["student"] for row in changed.rows if row["score"] != scores[row["assignment"], row["student"]]]
        print(f"  other scores than before: {', '.join(others) or 'none'}; failed: {first.failed + changed.failed}")


if __name__ == "__main__":
    main()
