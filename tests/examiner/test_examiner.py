"""The examiner gives honest submissions the score that one kernel would give them, cell for cell, and keeps its own
rules.
"""

from __future__ import annotations

import ast
import errno
import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import ROOT
from plain_shell import Shell

from autograder.authoring import build
from autograder.authoring.answers import submission
from autograder.authoring.mistakes import Mistake, Right, Variant
from autograder.authoring.mistakes import load as load_mistakes
from autograder.classroom import grade, gradebook
from autograder.examiner import bridge, deadline, process, repair, sandbox, tester, worker
from autograder.examiner import examination as examinations
from autograder.examiner import job as jobs
from autograder.examiner import notebook as notebooks
from autograder.examiner.limits import Limits
from autograder.inside import audit
from autograder.inside.server import Server
from autograder.model import course, names, regions
from autograder.model.notebook import Cell
from autograder.model.record import Record, Sign, SignKind
from helpers.checks import student_side

COURSE = course.load(ROOT)
MIXED = (
    "02-rnn-backprop",
    "05-logit-bias",
    "06-tokenization",
    "09-gpt",
)  # call-backs, iterators, kept models, cost: all that crosses
QUICK = (*MIXED, "13-training-craft", "15-kernels")  # also: files and processes, kernels. The others: `make test-all`
# Right by themselves, but not for what builds on them: the model answer to `train` goes on with the dictionary of
# `count-pairs` as with a
# Counter, and the first other answer to `encode-word` needs more than a cell's time for the text that a given cell
# encodes with it.
NOT_FOR_THE_OTHERS = {("06-tokenization", "count-pairs"), ("06-tokenization", "encode-word")}
needs_sandbox = pytest.mark.skipif(sandbox.why_not() is not None, reason=f"no sandbox here: {sandbox.why_not()}")


def instructor_cells(assignment: course.Assignment) -> list[dict[str, Any]]:
    cells, _ = build.checked_cells(assignment)
    found = json.loads(build.instructor_notebook(COURSE, assignment, cells))
    return [
        {"kind": c["cell_type"], "source": "".join(c["source"]), "metadata": c["metadata"], "id": c["id"]}
        for c in found["cells"]
    ]


def examined(
    assignment: course.Assignment, submissions: dict[str, str], folder: Path, **limits: float
) -> dict[str, Record]:
    """Records of these submissions (name to notebook text), from real workers in the real sandbox."""
    data = {assignment.id: notebooks.from_cells(instructor_cells(assignment))}
    jobs = []
    for name, text in submissions.items():
        path = folder / f"{name}.ipynb"
        path.write_text(text, encoding="utf-8")
        jobs.append(grade.Job(name, folder, assignment.id, str(path), [], [], ""))
    bounds = Limits().with_changes(limits, "test")
    return {
        job.student: gradebook.with_marks(result)
        for job, result in grade.on_this_machine(2, assignment, jobs, data, bounds, sandbox.Level.NAMESPACES)
    }


def scores(record: Record) -> dict[str, float]:
    return {
        name: verdict.score
        for name, verdict in record.verdicts.items()
        if verdict.score is not None and name.endswith("-test")
    }


def run_in_one_process(cells: list[dict[str, Any]], answers: dict[str, str]) -> dict[str, float]:
    """What the tests give in an ordinary shell: run in a process of its own, by `in_one_process`."""
    here = Shell()
    found = {}
    for cell in cells:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if cell["kind"] == "code":
            result = here.run(answers.get(name, cell["source"]))
            if name.endswith("-test"):
                found[name] = result.score
    return found


def in_one_process(
    cells: list[dict[str, Any]], answers: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, float]:
    """A fresh process, not a fork: this one may have used several threads, and a copy of it would wait for them for
    ever.
    """
    for name, value in {"NBGRADER_EXECUTION": "autograde", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)  # for the files that notebooks write
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        return fresh.submit(run_in_one_process, cells, answers).result()


BORROWED = {
    "itself": ("def f(x): return F.softmax(x)",),
    "a helper": ("def g(x): return F.softmax(x)", "def f(x): return g(x)"),
    "a helper's helper": ("def h(x): return F.softmax(x)\ndef g(x): return h(x)", "def f(x): return g(x)"),
    "another name": ("g = F.softmax", "def f(x): return g(x)"),
    "an import": ("from torch.nn.functional import softmax as g", "def f(x): return g(x)"),
    "a decorator": ("def use(g): return lambda f: g\n@use(F.softmax)\ndef f(x): return x",),
    "a wrapper": ("def f(x): return F.softmax(x)\nf = torch.no_grad()(f)",),
    "a condition": ("def f(x): return F.softmax(x)", "if False:\n    def f(x): return x"),
    "a loop": ("def f(x): return x", "for f in [F.softmax]: pass"),
    "an attempt": ("def f(x): return x", "try:\n    f = F.softmax\nexcept NameError: pass"),
    "a class": ("class Mine:\n    g = F.softmax", "def f(x): return Mine.g(x)"),
    "getattr": ("def f(x): return getattr(F, 'softmax')(x)",),
}


def source_of(*cells: str) -> str | None:
    link = bridge.Bridge(socket.socket(), 1.0, lambda: list(cells))
    link.given = {"F", "torch", "other"}
    function = bridge.Handle(link, 1, "function", "function")
    object.__setattr__(function, "_name", "f")
    return link.source(function)


def test_a_machine_that_cannot_start_a_student_s_process_gives_nobody_a_zero() -> None:
    ours, theirs = process.pair()
    theirs.close()
    examination = examinations.Examination(None, tester.Prepared({}, set()), Limits(), [], ours)  # type: ignore[arg-type]
    with pytest.raises(deadline.MachineFault, match="no process for the student could be started"):
        examination.run(ours, [(0, "a-test", "1.0", True)])


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ESTALE, errno.ENOENT])
def test_a_file_that_the_machine_cannot_read_is_no_unreadable_notebook(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "right.ipynb"
    path.write_text("{}")

    def broken(*unused: Any) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(jobs.os, "open", broken)
    with pytest.raises(deadline.MachineFault, match=os.strerror(number)):
        jobs.contents(str(path))
    (tmp_path / "link.ipynb").symlink_to(path)
    for other in (None, str(tmp_path), str(tmp_path / "link.ipynb")):  # what a student hands in can be at fault, too
        with pytest.raises(repair.Unreadable):
            jobs.contents(other)


def test_what_the_machine_kept_from_being_done_is_tried_three_times_and_what_cannot_help_only_once() -> None:
    job = grade.Job("ada", Path(), "one", None, [], [], "")
    assert [grade.settled(job, {"error": "a fault"}) for _ in range(3)] == [None, None, grade.failed("a fault")]
    again = grade.Job("ada", Path(), "one", None, [], [], "")
    assert grade.settled(again, {"error": "silent", "late": True}) == grade.failed("silent")
    assert grade.settled(again, {"notebook": "{}"}) == {"notebook": "{}"}


class Attempts(worker.Worker):
    """A worker whose attempts are given: what ended in each."""

    def __init__(self, *attempts: list[str]) -> None:
        self.attempts, self.orphaned = list(attempts), False

    def examined(self, job: dict[str, Any]) -> dict[str, Any]:
        return {"ended": self.attempts.pop(0), "notebook": f"{len(self.attempts)} left"}


def test_a_process_that_ended_is_the_student_s_doing_if_it_ends_again() -> None:
    """Nobody can tell a kill from outside from one of the student's own; but that one comes back."""
    found = [
        Attempts(*tries).submission({"job": "ada"}).get("notebook")
        for tries in ([[]], [["a"], ["a"]], [["a"], []], [["a"], ["a", "b"], ["b"]], [["a"], ["b"], ["c"]])
    ]
    assert found == ["0 left", "0 left", "0 left", "0 left", None]


def noted(event: str, args: tuple[Any, ...], *stack: str) -> list[str]:
    """What is noted of an event in code of files of these names (the innermost last), while the third cell runs."""
    watch = audit.Watch("/student")
    watch.cell, watch.busy = "<ipython-input-3-", False
    names: dict[str, Any] = {"step0": partial(watch, event, args)}
    for number, name in enumerate(reversed(stack)):
        exec(compile(f"def step{number + 1}():\n    step{number}()", name, "exec"), names)
    thread = threading.Thread(target=names[f"step{len(stack)}"])  # below it there is only Python's own code
    thread.start()
    thread.join()
    return watch.news()


CELL, EARLIER = "<ipython-input-3-x>", "<ipython-input-2-y>"
PACKAGES = next(place for place in sys.path if place.endswith("site-packages"))
REPORTED = [Sign.of(SignKind.ATTEMPT, text="os.kill(1, 9)")]


@pytest.mark.parametrize(
    ("stack", "given", "expected"),
    [
        ((CELL, "/course/helpers/training_craft/checkpoints.py", f"{PACKAGES}/library.py"), True, []),
        ((CELL, "/course/helpers/training_craft/checkpoints.py", f"{PACKAGES}/library.py"), False, REPORTED),
        ((CELL, f"{PACKAGES}/library.py", EARLIER), True, REPORTED),  # through a function that the student wrote
        ((f"{PACKAGES}/library.py",), True, REPORTED),  # beside it, in a thread that was started earlier
        ((CELL, "<string>"), True, REPORTED),
    ],
)
def test_what_a_given_cell_does_itself_is_excused_and_nothing_else(
    stack: tuple[str, ...], given: bool, expected: list[Sign]
) -> None:
    ours, _ = process.pair()
    examination = examinations.Examination(None, tester.Prepared({}, set()), Limits(), [], ours)  # type: ignore[arg-type]
    examination.given = {3} if given else set()
    examination.note(3, noted("os.kill", (1, 9), *stack))
    assert examination.attempts == expected


def test_a_library_s_own_read_is_excused_and_the_same_read_from_a_cell_is_not() -> None:
    read = ("/proc/mounts", "r", 0)
    library, standard = f"{PACKAGES}/transformers/models.py", str(Path(os.__file__).with_name("pathlib.py"))
    assert noted("open", read, CELL, library, standard) == []
    for stack in ((CELL, standard), (library, CELL), (f"{PACKAGES}/another/models.py",)):
        assert len(noted("open", read, *stack)) == 1
    assert len(noted("open", ("/proc/1/environ", "r", 0), library)) == 1


@pytest.mark.parametrize("way", BORROWED)
def test_source_checks_find_what_an_answer_borrows(way: str) -> None:
    assert "softmax" in student_side.names_in(source_of(*BORROWED[way]) or "")


def test_source_checks_leave_other_exercises_alone_and_refuse_what_cannot_be_read() -> None:
    assert student_side.names_in(source_of("def other(x): return F.softmax(x)", "def f(x): return other(x)") or "") == {
        "other",
        "x",
    }
    # in a cell of its own: what a function calls its variables is its own affair
    tried = "weights = F.softmax(x)\nview = F.softmax"
    assert "softmax" not in (
        source_of(tried, "%matplotlib inline\ndef f(x):\n    weights = x.view(2)\n    return weights") or "softmax"
    )
    assert source_of("def f(model):\n    model.eval()\n    return model.vars") is not None
    assert "softmax" not in (source_of("def f(x): return F.softmax(x)", "def f(x): return x") or "")
    for text in (
        "return eval('F.soft' + 'max(x)')",
        "return getattr(F, 'soft' + 'max')(x)",
        "return globals()['g'](x)",
        "return F.__dict__['soft' + 'max'](x)",
    ):
        assert source_of(f"def f(x): {text}") is None


def other_right_answers(
    assignment: course.Assignment, exercises: list[Cell], known: dict[str, list[Variant]]
) -> dict[str, str]:
    """The first other right answer of every exercise that builds on no more of the other exercises than the model
    answer does.

    (What such a one makes of another's result holds for the model answer there: a list is as right as a tensor, but
    cannot be added up.)
    """
    defined = {cell.grade_id: names.bound_in_cell(cell.source)[0] for cell in exercises}
    found = {}
    for cell in exercises:
        if (assignment.id, cell.grade_id) in NOT_FOR_THE_OTHERS:
            continue
        others = {name for other, names in defined.items() if other != cell.grade_id for name in names}
        texts = [regions.without_markers(v.source(cell)) for v in known.get(cell.grade_id, []) if isinstance(v, Right)]
        used = others & student_side.names_in(cell.source)
        if text := next((text for text in texts if others & student_side.names_in(text) <= used), ""):
            found[cell.grade_id] = text
    return found


def keeps_state(answer: str) -> bool:
    """Does this answer remember earlier calls? In one process those of earlier tests are among them."""
    return any(
        isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict | ast.List | ast.Call)
        for node in ast.parse(answer).body
    )


@pytest.mark.slow
@needs_sandbox
@pytest.mark.parametrize(
    "assignment",
    [pytest.param(a, marks=() if a.id in QUICK else pytest.mark.thorough) for a in COURSE.assignments],
    ids=lambda a: a.id,
)
def test_scores_are_those_of_one_process_and_right_answers_earn_all_and_raise_no_suspicion(
    assignment: course.Assignment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, _ = build.checked_cells(assignment)
    known = load_mistakes(assignment.mistakes).by_exercise
    exercises = [cell for cell in cells if cell.kind == "code" and cell.is_solution]
    perfect = {cell.grade_id: regions.without_markers(cell.source) for cell in exercises}
    classes = {"perfect": perfect, "right": {**perfect, **other_right_answers(assignment, exercises, known)}}
    for number in range(2) if assignment.id in MIXED else ():  # every second exercise is answered with a named mistake
        answers = dict(perfect)
        for cell in exercises[number::2]:
            mistakes = [variant for variant in known.get(cell.grade_id, []) if isinstance(variant, Mistake)]
            wrong = [text for one in mistakes if not keeps_state(text := regions.without_markers(one.source(cell)))]
            if wrong:
                answers[cell.grade_id] = wrong[-1 - number]
        classes[f"mistakes-{number}"] = answers
    student = assignment.student_notebook.read_text(encoding="utf-8")
    records = examined(assignment, {name: submission(student, answers) for name, answers in classes.items()}, tmp_path)
    whole = instructor_cells(assignment)
    for name, answers in classes.items():
        found = scores(records[name])
        record = records[name]
        reported = (record.ungraded, record.repairs, record.integrity, record.incidents)
        assert reported == ({}, (), (), ()), name  # what `course report --integrity` would list
        most = {test: verdict.points for test, verdict in record.verdicts.items() if test in found}
        expected = most if name in ("perfect", "right") else in_one_process(whole, answers, tmp_path, monkeypatch)
        assert found == pytest.approx(expected, abs=1e-6), name
        assert name in ("perfect", "right") or sum(found.values()) < sum(most.values())


def test_a_name_that_a_test_sets_itself_is_never_the_student_s() -> None:
    """Also where a given cell sets the same name: a failed result in it was sent to the student's process, and from
    then on every call failed. Tests of ordinary notebooks share names with students, and go on doing so.
    """
    prepared = tester.Prepared({}, {"found", "twice"}, set())
    ours = 'check = Check("twice", points=1)\nfound = check.run(twice, 2)\ncheck.equal(found, 4, "")\ncheck.score()'
    assert tester.needed(ours, prepared)[0] == ["Check", "twice"]
    assert tester.needed("found = twice(2)\nassert found == 4", prepared)[0] == ["found", "twice"]


def doubled_in_place(values: list[torch.Tensor]) -> None:
    for value in values:
        value *= 2


def replaced(values: list[torch.Tensor]) -> None:
    values[:] = [2 * value for value in values]


@pytest.mark.parametrize(("function", "expected"), [(doubled_in_place, [2.0, 2.0]), (replaced, [1.0, 1.0])])
def test_a_tensor_that_is_changed_inside_a_list_is_told_from_one_that_is_replaced(
    function: Callable[[list[torch.Tensor]], None], expected: list[float]
) -> None:
    """`check.unchanged(lambda *a: step(list(a)), …)`: the list is the test's own, the tensors are what must not change."""
    kept = [torch.ones(()), torch.ones(())]
    ours, theirs = list(kept), [value.clone() for value in kept]
    _, changes, _ = Server.do_use(None, (function, [theirs], {}, False, True))  # type: ignore[arg-type]
    link = bridge.Bridge(socket.socket(), 1.0)
    for change in changes:
        link.change((ours,), {}, *change)
    assert [value.item() for value in kept] == expected
    assert [value.item() for value in ours] == [2.0, 2.0]
