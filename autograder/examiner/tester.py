"""Runs test cells.

Each one talks to its own clone of the student's process; a verdict is only what is computed here.
"""

from __future__ import annotations

import builtins
import contextlib
import json
import os
import resource
import signal
import socket
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from autograder.examiner import bridge
from autograder.examiner.deadline import LoadAwareDeadline, MachineFault
from autograder.examiner.outputs import output_of_test
from autograder.examiner.process import ended_within
from autograder.examiner.recognition import Known
from autograder.examiner.repair import normal
from autograder.inside import shell as shells
from autograder.inside import wire
from autograder.model import looks, regions
from autograder.model import names as analyser
from autograder.model.notebook import Cell
from autograder.model.record import Reason, ReasonKind
from helpers.checks import random_numbers, student_side
from helpers.checks.meter import processor_seconds
from helpers.kit.seeding import seed

SECONDS_TO_DIE = 2.0  # for a process that has broken its connection: else it only closed it
STUDENT_SEED = 20_113  # another than the examiner's own, or both sides would draw the same numbers


@dataclass(frozen=True)
class Names:
    """Of one test cell: what it takes from the student, what it binds itself that student code might look at, and what
    its hidden part binds.
    """

    wanted: list[str]
    bound: list[str]
    secret: set[str]


@dataclass
class Prepared:
    """What the tests of one notebook need: the namespace that its locked set-up cell makes, and the names students
    define.
    """

    namespace: dict[str, Any]
    exports: set[str]
    imported: set[str] = field(default_factory=set)
    known: dict[str, Names] = field(default_factory=dict)  # of test cells, by their source
    carried: dict[str, Any] = field(
        default_factory=dict
    )  # what earlier tests of a foreign notebook made, for later ones
    secret: str = random_numbers.PUBLIC  # of the class: hidden inputs are drawn from it
    audit: bool = False  # the tests themselves are tested
    # Texts of the cells that only show something, with the written question that is about it.
    looks: dict[str, str] = field(default_factory=dict)
    recorded: dict[str, list[Known]] = field(default_factory=dict)  # named mistakes by the text of the test they fail


@dataclass
class Test:
    """One test cell, and the way to the student's process as it was at that place."""

    index: int
    source: str
    seconds: float
    call_seconds: float
    sock: socket.socket | None
    pid: int = 0
    handle: int = -1
    discreet: bool = False
    reason: Reason | None = None  # why there is no way to it
    cells: list[str] = field(default_factory=list)
    started: Callable[[], tuple[int, float]] = lambda: (0, 0.0)
    secret: str = ""  # in place of the class's: `course verify` tries several
    recording: bool = False  # what was asked and answered is part of the result


def prepare(shell: shells.Shell, notebook: dict[str, Any]) -> Prepared:
    """Run the locked set-up cell, or the import statements, of the instructor's notebook, and its other locked
    cells.
    """
    setup = notebook["setup"]
    shell.reset(new_session=False)
    base = set(shell.user_ns)
    if setup is not None:
        _, _, error = shells.run_cell(shell, setup, grab=False)
        if error is not None:
            raise RuntimeError(f"the set-up cell fails in the examiner: {type(error).__name__}: {error}")
    for line in notebook["imports"]:
        shells.run_cell(shell, line, grab=False)  # what cannot be imported here is not there for the tests either
    before = set(shell.user_ns)
    for source in notebook["helpers"]:
        shells.run_cell(
            shell, source, grab=False
        )  # one that needs a student's work fails here, and is the student's process's
    found = {k: v for k, v in shell.user_ns.items() if k not in base and not k.startswith("_")}
    imported = set(notebook["imported"])
    if setup is None:  # all imports were tried: what is not here can only be a module that students hand in
        imported &= set(found)
    made = Prepared(found, set(notebook["exports"]) - (set(found) - before), imported)
    made.secret = notebook.get("secret", random_numbers.PUBLIC)
    made.audit = bool(notebook.get("audit"))
    made.looks = {normal(source): question for source, question in notebook.get("looks", {}).items()}
    for cell in (Cell(**entry) for entry in notebook["cells"]):
        if cell.kind == "code":  # remembered: examiners are forked from here
            analyser.bindings_of_cell(cell.source)
            if made.looks:
                looks.used(cell.source)
                analyser.bound_in_cell(cell.source)
        if cell.is_test:
            names_of(cell.source, made)
            made.recorded[cell.source] = notebook.get("recorded", {}).get(cell.name, [])
    return made


def names_of(source: str, prepared: Prepared) -> Names:
    """Found out once for every test of the assignment, before examiners are forked."""
    if source not in prepared.known:
        wanted, bound = needed(source, prepared)
        prepared.known[source] = Names(wanted, bound, bound_in_hidden(source))
    return prepared.known[source]


def needed(source: str, prepared: Prepared) -> tuple[list[str], list[str]]:
    """Names a test cell takes from the student, and names it binds itself that student code might look at."""
    names = analyser.of_cell(source) or analyser.NOTHING
    own = names.bound if not is_foreign(source) else frozenset()  # a test of ours never asks for a name that it sets
    wanted = []
    for name in sorted(names.read - own):
        known = (
            name in names.bound or name in prepared.namespace or name in prepared.imported or hasattr(builtins, name)
        )
        if name in prepared.exports or not known:
            wanted.append(name)
    return wanted, sorted(names.bound)


def is_foreign(source: str) -> bool:
    """Is this a test of an ordinary nbgrader notebook? Those build on each other, and on names they share with
    students.
    """
    return "Check(" not in source


def bound_in_hidden(source: str) -> set[str]:
    """Names that the hidden part of a test binds: what it expects is nobody's business."""
    names = analyser.of_cell(regions.hidden_text(source))
    if names is None:  # a region that is no whole piece of code: nothing of this cell is shown
        names = analyser.of_cell(source) or analyser.NOTHING
    return set(names.bound)


def names_used(cells: list[str]) -> set[str]:
    """Every name that the submitted code mentions."""
    trees = [tree for cell in cells if (tree := analyser.parsed(cell)) is not None]
    return set().union(*(analyser.mentioned(tree) for tree in trees))


class Watchdog:
    """Ends a test that takes longer than it may, whoever keeps it: the test, the student's code, or the machine."""

    def __init__(self, link: bridge.Bridge, budget: LoadAwareDeadline, deadline: LoadAwareDeadline) -> None:
        self.link, self.budget, self.deadline = link, budget, deadline

    def look(self, signum: int, frame: FrameType | None) -> None:
        """What the timer calls."""
        try:
            self.budget.left()
            self.deadline.left()
        except wire.DeadlinePassed:
            if self.budget.remaining() <= 0:
                self.give_up(ReasonKind.SUBMISSION_LATE, **self.budget.spent())
            else:
                self.give_up(
                    ReasonKind.ANSWER_LATE if self.link.asking else ReasonKind.TEST_LATE, **self.deadline.spent()
                )
        except MachineFault as fault:
            self.link.fault = fault
            self.give_up(ReasonKind.MACHINE, text=str(fault))
        else:
            return
        signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)  # again, should something swallow it
        if self.link.lost is not None:
            raise bridge.TestAborted(self.link.lost)

    def give_up(self, kind: ReasonKind, **about: Any) -> None:
        """This is why, unless there is a reason already."""
        self.link.lost = self.link.lost or Reason.of(kind, **about)


def run_test(shell: shells.Shell, prepared: Prepared, test: Test, budget: LoadAwareDeadline) -> dict[str, Any]:
    """One test cell as plain data: outputs, and as "lost" the `Reason` why it could not be completed, or None.

    `budget` is what is left to the whole submission.
    """
    nothing = {"index": test.index, "outputs": [], "seconds": 0.0}
    if test.sock is None:
        return {**nothing, "lost": (test.reason or Reason.of(ReasonKind.NO_STATE)).to_json()}
    if budget.remaining() <= 0:
        return {**nothing, "lost": Reason.of(ReasonKind.SUBMISSION_TIME, seconds=budget.seconds).to_json()}
    started, used = time.monotonic(), time.process_time() + processor_seconds(test.pid)
    meter = budget.meter
    meter.main = test.pid
    link = bridge.Bridge(test.sock, test.call_seconds, lambda: test.cells, test.pid, test.started, meter)
    watchdog = Watchdog(link, budget, LoadAwareDeadline(meter, test.seconds))
    outputs: list[dict[str, Any]] = []
    died = False
    signal.signal(signal.SIGALRM, watchdog.look)
    try:
        signal.setitimer(signal.ITIMER_REAL, meter.tick, meter.tick)
        outputs = outputs_of(shell, prepared, test, link)
        if link.lost is not None:  # the reason is all there is to say
            outputs = []
    except bridge.TestAborted as lost:
        link.lost = link.lost or lost.reason
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        used = time.process_time() + processor_seconds(test.pid) - used
        student_side.remote = None
        test.sock.close()
        if test.handle >= 0:
            died = link.ended and ended_within(test.handle, SECONDS_TO_DIE)
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(test.handle, signal.SIGKILL)
        close_figures()
    if link.fault is not None:
        raise link.fault
    return {
        "index": test.index,
        "outputs": outputs,
        "lost": link.lost.to_json() if link.lost is not None else None,
        "seconds": time.monotonic() - started,
        "processor": max(0.0, used),
        "ended": link.ended,
        "died": died,
        **({"calls": link.calls_made} if test.recording else {}),
    }


def outputs_of(shell: shells.Shell, prepared: Prepared, test: Test, link: bridge.Bridge) -> list[dict[str, Any]]:
    """Run the cell of a test against the student's process."""
    foreign = is_foreign(test.source)
    names = names_of(test.source, prepared)
    start_namespace(shell, prepared, foreign)
    wanted = [
        name for name in names.wanted if not (foreign and name in prepared.carried and name not in prepared.exports)
    ]
    for name in wanted:
        try:
            shell.user_ns[name] = link.get(name)
        except NameError:
            shell.user_ns.pop(name, None)
        except bridge.RemoteError:  # its own words could quote what an earlier test had asked
            raise bridge.TestAborted(Reason.of(ReasonKind.UNUSABLE, name=name)) from None
    link.namespace = shell.user_ns
    link.bound = {name: shell.user_ns[name] for name in wanted if name in shell.user_ns}
    link.mirrors = foreign
    # what the tests of a foreign notebook bind, student code may look at
    link.waiting = tuple(set(wanted) | (set(names.bound) & names_used(test.cells) - names.secret if foreign else set()))
    link.discreet = test.discreet
    link.given = prepared.exports | prepared.imported | set(prepared.namespace)
    student_side.remote = link
    if not foreign:  # so that no draw in a cell, which may have been left out, decides a verdict
        link.seed(STUDENT_SEED)
    random_numbers.secret = test.secret or prepared.secret
    link.auditing = prepared.audit
    link.known = prepared.recorded.get(test.source, [])
    link.calls_made = [] if link.known or test.recording else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs, value, error = shells.run_cell(shell, test.source, grab=False)
    if foreign:
        made = {name: shell.user_ns[name] for name in names.bound if name in shell.user_ns}
        prepared.carried.update({name: thing for name, thing in made.items() if not link.owns(thing)})
    hidden = test.discreet or regions.has_hidden(test.source)
    raised = "" if test.discreet else visible_line(error, test.source, shell.user_ns)
    return completed(outputs, value, error, hidden, raised)


def start_namespace(shell: shells.Shell, prepared: Prepared, foreign: bool) -> None:
    """What the set-up made; for a foreign notebook also what earlier tests made."""
    shell.user_ns.clear()
    shell.user_ns.update(shell.user_ns_hidden)
    shell.user_ns.update(
        {"__name__": "__main__", "__builtins__": builtins, "get_ipython": lambda: shell, **prepared.namespace}
    )
    seed(0)
    if foreign:
        shell.user_ns.update({name: value for name, value in prepared.carried.items() if name not in prepared.exports})


def visible_line(error: BaseException | None, source: str, namespace: dict[str, Any]) -> str:
    """The line of the cell that raised, if no hidden test had run before it."""
    for frame, number in traceback.walk_tb(None if error is None else error.__traceback__):
        if frame.f_globals is namespace and frame.f_code.co_name == "<module>":
            return source.split("\n")[number - 1] if regions.before_hidden(source, number) else ""
    return ""


def completed(
    outputs: list[dict[str, Any]], value: Any, error: BaseException | None, hidden: bool, raised: str = ""
) -> list[dict[str, Any]]:
    """The outputs, with the verdict in them whatever else was cut, and without standard error: that is not a failure.

    The traceback of a cell with hidden tests would show their lines: only its last line is kept, below the
    visible line that raised.
    """
    kept = []
    for output in outputs:
        if output["output_type"] == "stream" and output["name"] == "stderr":
            if hidden:  # a warning quotes the line it comes from
                continue
            output = {**output, "name": "stdout"}
        if output["output_type"] == "error" and (hidden or isinstance(error, bridge.TestAborted)):
            place = [raised] if raised.strip() else []
            output = {**output, "traceback": [*place, f"{output['ename']}: {output['evalue']}"]}
        kept.append(output_of_test(output))
    kinds = {output["output_type"] for output in kept}
    if error is not None and "error" not in kinds:
        kept.append(
            {"output_type": "error", "ename": type(error).__name__, "evalue": str(error)[:2000], "traceback": []}
        )
    if error is None and value is not None and "execute_result" not in kinds:
        kept.append({"output_type": "execute_result", "data": {"text/plain": repr(value)[:2000]}, "metadata": {}})
    return kept


def close_figures() -> None:
    import sys

    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


def limit_memory(most: int) -> None:
    """This process may use so many bytes more than now."""
    try:
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:  # not Linux, and so without a sandbox
        return
    resource.setrlimit(resource.RLIMIT_AS, (now + most, now + most))


def run_tests(
    shell: shells.Shell,
    prepared: Prepared,
    tests: list[Test],
    pipe: int,
    memory_bytes: int,
    clean: Callable[[], None],
    budget: LoadAwareDeadline,
) -> None:
    """All of them, one after the other; a line of JSON per finished test. Runs in a process of its own and ends it."""
    status = 1
    limit_memory(memory_bytes)

    def tell(message: dict[str, Any]) -> None:
        data = json.dumps(message, default=str).encode("utf-8", "replace") + b"\n"
        while data:
            data = data[os.write(pipe, data) :]

    budget.meter.alive = lambda: tell({"alive": True})
    try:
        for test in tests:
            tell({"begin": test.index})
            found = run_test(shell, prepared, test, budget)
            clean()
            tell(found)
        status = 0
    except MachineFault as fault:
        tell({"fault": str(fault)})
    finally:
        os._exit(status)
