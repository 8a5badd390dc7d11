"""Processor time of a submission's cells, and of the instructor's tests, in a warm process: what grading cannot avoid.

Printed are two numbers: the first run in a process that has imported everything (a fork of it each time, so that it is
the first), and the best of several runs in one and the same process, where every cache of every library is full.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time

RUNS = 4


def cells_of(path: str) -> list[tuple[str, str, dict[str, object]]]:
    with open(path, encoding="utf-8") as file:
        return [
            (c["cell_type"], "".join(c["source"]), c["metadata"].get("nbgrader", {})) for c in json.load(file)["cells"]
        ]


def main(submission: str, instructor: str, modules: list[str]) -> None:
    import torch

    from autograder.examiner import worker
    from autograder.inside import nursery
    from autograder.inside import shell as shells

    torch.set_num_threads(1)
    tests = {
        known["grade_id"]: source
        for kind, source, known in cells_of(instructor)
        if kind == "code" and known.get("locked")
    }
    code = [tests.get(known.get("grade_id"), source) for kind, source, known in cells_of(submission) if kind == "code"]
    shells.import_all([*worker.WARM, *worker.STUDENTS, *modules])
    shell = shells.new_shell(1 << 20)
    for source in (nursery.WARM_UP, shells.FIRST_ERROR):
        shells.run_cell(shell, source)
    shells.ready_to_fork()
    os.chdir(tempfile.mkdtemp())
    first = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        pid = os.fork()
        if not pid:
            for source in code:
                shells.run_cell(shell, source)
            os._exit(0)
        os.waitpid(pid, 0)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        first.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    again = []
    for _ in range(RUNS):
        started = time.process_time()
        for source in code:
            shells.run_cell(shell, source)
        again.append(time.process_time() - started)
    print(min(first), min(again))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
