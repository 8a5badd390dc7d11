"""One submission: run the student's cells, test the clones, and write down what happened."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from autograder.examiner import kernel_cost, tester
from autograder.examiner import outputs as kept_outputs
from autograder.examiner.deadline import KernelMeter, LoadAwareDeadline, MachineFault, line_from
from autograder.examiner.kernel_cost import usage
from autograder.examiner.lifeline import Lifeline
from autograder.examiner.limits import Limits
from autograder.examiner.outputs import OutputBudget, encodable, error_output
from autograder.examiner.process import (
    Process,
    ProcessEnded,
    ProcessLost,
    StaleAnswer,
    ask,
    end_strays,
    ended_within,
    head_and_value,
    pair,
    parent_of,
    ready,
    refuse,
)
from autograder.examiner.result import Result
from autograder.examiner.tester import Prepared, Test
from autograder.examiner.worker import die_with
from autograder.inside import shell as shells
from autograder.inside import wire
from autograder.model import regions, wording
from autograder.model.record import EventKind, Reason, ReasonKind, Sign, SignKind
from helpers.checks.meter import processor_seconds

START_SECONDS = 60.0  # for a process of ours to say that it is there
GRACE = 2.0  # after an interrupt, before a kill
MOST_RESTORES = 25
MOST_SIGNS = 60  # of each sort, that are kept for the report
LONGEST_SIGN = 300


class Examination:
    """Drives the student's process through the cells of a notebook, then the tests."""

    def __init__(
        self,
        shell: shells.Shell,
        prepared: Prepared,
        limits: Limits,
        files: list[tuple[str, bytes]],
        lifeline: socket.socket,
        begin: Callable[[int], None] | None = None,
    ) -> None:
        """With `begin`, tests run in this process, and it is told of each before it starts; without, in one that can be
        ended.
        """
        self.shell, self.prepared, self.limits, self.files = shell, prepared, limits, files
        self.lifeline = Lifeline(lifeline)
        self.result = Result()
        self.begin = begin
        self.student: Process | None = None
        self.clones: dict[int, Process] = {}
        self.broken: set[int] = set()
        self.restores = 0
        self.last = -1  # the cell that ran last
        self.kept = OutputBudget(limits.output_kb << 10)
        self.names: dict[int, str] = {}
        self.given: set[int] = set()  # cells that are as the instructor wrote them
        self.first_hidden = math.inf  # index of the first test with a hidden part, be it run or not
        self.left_out: set[int] = set()  # those of them that only show something, and are not run
        self.attempts: list[Sign] = []
        # Where there is a memory cgroup, it says for whose memory a process had to end.
        self.has_group, self.kills_before = False, kernel_cost.kills_for_memory()
        self.meter = KernelMeter(
            (os.getpid(),), min(limits.cell_seconds, limits.test_seconds, limits.submission_seconds)
        )
        self.meter.stopped_inside = self.lifeline.stopped_inside
        self.budget = LoadAwareDeadline(self.meter, limits.submission_seconds)

    def note_hidden(self, cells: list[tuple[int, str, str, bool]]) -> None:
        """What later tests say is kept short from the first hidden part on, even if that test is not run."""
        hidden = (index for index, _, source, is_test in cells if is_test and regions.has_hidden(source))
        self.first_hidden = min(self.first_hidden, *hidden, math.inf)

    def run(self, control: socket.socket, cells: list[tuple[int, str, str, bool]]) -> Result:
        """`cells` are (index, name, source, is it a test), code cells only, in order."""
        self.note_hidden(cells)
        self.start(control, cells)
        self.run_cells(cells)
        self.finish()
        self.run_tests(cells)
        if not self.lifeline.ask(b"R"):  # nobody inside can end init: if it is gone, somebody outside did it
            raise MachineFault("the sandbox of this submission was ended from outside")
        return self.result

    def start(self, control: socket.socket, cells: list[tuple[int, str, str, bool]]) -> None:
        """Wait for the student's process, and give it the files of the assignment."""
        self.names = {index: name or f"cell {index + 1}" for index, name, _, _ in cells}
        try:
            self.student = ready(control, LoadAwareDeadline(self.meter, START_SECONDS))
            self.meter.follow((os.getpid(), parent_of(self.student.pid)))
            self.budget = LoadAwareDeadline(self.meter, self.limits.submission_seconds)
            if self.files:
                left_out = ask(self.student, {"op": "files"}, self.files, self.deadline(self.student, START_SECONDS))
                if type(left_out) is list and left_out:
                    self.result.note(EventKind.FILES_LEFT_OUT, files=left_out)
        except (ProcessLost, wire.DeadlinePassed) as reason:
            # No line of the student's has run: it is the machine's fault, and no reason for a zero.
            raise MachineFault(f"no process for the student could be started here: {reason}") from None

    def deadline(self, process: Process, seconds: float) -> LoadAwareDeadline:
        """So much time for what this process does next."""
        self.meter.main = process.pid
        return LoadAwareDeadline(self.meter, seconds)

    # ---- the student's cells -----------------------------------------------------------------------------------------

    def run_cells(self, cells: list[tuple[int, str, str, bool]]) -> None:
        for place, (index, _, source, is_test) in enumerate(cells):
            if self.budget.remaining() <= 0:
                self.out_of_time(cells[place:])
                return
            if self.student is None and not self.restore(cells, place):
                self.not_restored(cells[place:])
                return
            if is_test:
                if not self.clone(index) and self.restore(cells, place):
                    self.clone(index)
                continue
            if index in self.left_out:
                continue
            started, used = time.monotonic(), self.used()
            if not self.run_one(index, source) and index not in self.broken and self.restore(cells, place):
                self.run_one(index, source)
            self.result.seconds[index] = time.monotonic() - started
            self.result.processor[index] = max(0.0, self.used() - used)

    def run_one(self, index: int, source: str) -> bool:
        """One cell of the student; False where the process had to be ended, for what this cell or the one before
        did.
        """
        try:
            self.result.outputs[index] = self.cell(index, source)
        except ProcessLost as lost:
            self.break_off(self.last if isinstance(lost, StaleAnswer) else index, lost)
            return False
        if self.student is not None and self.student.dead():
            self.break_off(index, ProcessEnded(ReasonKind.ENDED_AFTERWARDS))
            return False
        self.last = index
        return True

    def cell(self, index: int, source: str) -> list[dict[str, Any]]:
        """Run one cell; interrupt it at its limit, and end the process if that does not help."""
        assert self.student is not None
        process, seconds = self.student, min(self.limits.cell_seconds, max(0.1, self.budget.remaining()))
        deadline = self.deadline(process, seconds)
        try:
            return self.outputs(index, ask(process, {"op": "cell"}, source, deadline))
        except wire.DeadlinePassed:
            spent = deadline.spent()
            process.signal(signal.SIGCONT)
            process.signal(signal.SIGINT)
        try:
            head, answer = head_and_value(wire.receive(process.sock, self.deadline(process, GRACE))[0])
            if head.get("op") == "done":
                outputs = self.outputs(index, answer)
                outputs.append(error_output(wording.TIMEOUT, wording.interrupted_cell(seconds)))
                self.result.note(EventKind.INTERRUPTED, **spent)
                return outputs
        except (wire.DeadlinePassed, wire.ConnectionEnded, wire.Violation):
            pass
        raise ProcessLost(ReasonKind.CELL_LATE, **spent)

    def outputs(self, index: int, answer: Any) -> list[dict[str, Any]]:
        """What a cell showed; what it tried is kept for the report."""
        text, *notes = answer if type(answer) is list and answer else [answer]
        try:
            outputs = self.kept.kept(text)
        except kept_outputs.Malformed:
            raise ProcessLost(ReasonKind.NO_ANSWER) from None
        self.note(index, notes)
        return outputs

    def note(self, index: int, notes: list[str]) -> None:
        """Attempts that the student's process reports. What a given cell does itself, the student did not write."""
        for text in notes:
            by, _, what = text.partition(" ")
            sign = Sign.of(SignKind.ATTEMPT, text=encodable(what[:LONGEST_SIGN]))
            if (
                not (by == "cell" and index in self.given)
                and sign not in self.attempts
                and len(self.attempts) < MOST_SIGNS
            ):
                self.attempts.append(sign)

    def break_off(self, index: int, lost: ProcessLost) -> None:
        """This cell ended the student's process: on the record, and never run again."""
        reason = lost.reason
        if self.lifeline.out_of_memory():
            reason = Reason.of(ReasonKind.CELL_MEMORY, mb=self.limits.memory_mb)
        elif isinstance(lost, ProcessEnded):
            self.ended(self.names[index], self.student)
        self.broken.add(index)
        self.result.note(EventKind.STOPPED, cell=self.names[index], why=reason)
        shown = self.result.outputs.get(index, [])
        self.result.outputs[index] = [*shown, error_output(wording.STOPPED, wording.stopped_cell(reason))]
        if self.student is not None:
            self.account(self.student)
            self.lifeline.kill(self.student)
            self.student.close()
            self.student = None

    def ended(self, name: str, process: Process | None) -> None:
        """In this cell the student's process, or a copy, ended: by itself, or something outside ended it.

        Where that cannot be told, the submission is tried again (worker.py): what its code does, it does each time.
        """
        if process is not None and ended_within(process.handle, GRACE):
            self.blame_outside(process)
        if not self.has_group and kernel_cost.kills_for_memory() > self.kills_before:
            raise MachineFault("the machine had no memory left, and the kernel ended processes")
        self.result.ended.append(name)

    def blame_outside(self, process: Process) -> None:
        """Give no verdict where somebody outside the sandbox killed this process, which has ended."""
        if self.lifeline.ended_from_outside(process):
            raise MachineFault("a process of the student's was killed from outside")

    def restore(self, cells: list[tuple[int, str, str, bool]], place: int) -> bool:
        """A new process with the state before the cell at `place`: from the last clone that lives, replaying what came
        after it.
        """
        while self.restores < MOST_RESTORES and self.budget.remaining() > 0:
            self.restores += 1
            start = max(
                (index for index, clone in self.clones.items() if index < cells[place][0] and not clone.dead()),
                default=-1,
            )
            ours, theirs = pair()
            try:
                if start < 0:  # none: the state before the first cell, which init keeps
                    self.lifeline.ask(b"N", theirs.fileno())
                else:
                    order = wire.pack({"op": "spawn"}, None, refuse)
                    clone = self.clones[start]
                    wire.send(clone.sock, order, self.deadline(clone, GRACE), (theirs.fileno(),))
                theirs.close()
                self.student = ready(ours, LoadAwareDeadline(self.meter, self.start_seconds()))
                if start >= 0:
                    wire.receive(self.clones[start].sock, self.deadline(self.clones[start], GRACE))
            except (ProcessLost, wire.ConnectionEnded, wire.DeadlinePassed, wire.Violation):
                theirs.close()
                if start < 0:
                    return False
                self.drop(start)
                continue
            for index, _, source, is_test in cells[:place]:
                if index <= start or is_test or index in self.broken or index in self.left_out:
                    continue
                before = self.result.outputs.get(index)
                if not self.run_one(index, source):
                    break
                if before is not None:
                    self.result.outputs[index] = before  # what it showed the first time
            if self.student is not None:
                return True
        return False

    def drop(self, index: int) -> None:
        clone = self.clones.pop(index)
        self.lifeline.kill(clone)
        clone.close()

    def clone(self, index: int) -> bool:
        """A copy of the student's process as it is at this test cell. It waits until every cell of the student has run.

        False where the process had to be ended, and the copy could be made of a restored one.
        """
        for waiting in self.clones.values():
            if waiting.dead():
                self.blame_outside(waiting)  # before its parent collects it
        problem: Any = ""
        for attempt in (1, 2):
            if self.student is None:
                break
            ours, theirs = pair()
            try:
                deadline = self.deadline(self.student, self.limits.cell_seconds)
                problem = ask(self.student, {"op": "clone"}, None, deadline, (theirs.fileno(),))
                theirs.close()
                if problem is None:
                    self.clones[index] = ready(ours, LoadAwareDeadline(self.meter, self.start_seconds()))
                    self.result.ungraded.pop(index, None)
                    return True
            except StaleAnswer as lost:
                theirs.close()
                ours.close()
                self.break_off(self.last, lost)
                break
            except (ProcessLost, wire.DeadlinePassed) as lost:
                theirs.close()
                if isinstance(lost, ProcessEnded) and not self.lifeline.out_of_memory():
                    self.ended(self.names[index], None if problem is None else self.student)
                why = lost.reason if isinstance(lost, ProcessLost) else Reason.of(ReasonKind.SILENT)
                self.result.note(EventKind.STOPPED_BEFORE, cell=self.names[index], why=why)
                self.lifeline.kill(self.student)
                self.student.close()
                self.student = None
                break
            ours.close()
            if attempt == 1:
                self.sweep()
        self.result.ungraded[index] = Reason.of(ReasonKind.STATE_NOT_KEPT)
        return self.student is not None

    def start_seconds(self) -> float:
        """A clone is a copy of a process that runs: it says so at once, or something in it keeps it from doing so."""
        return min(max(5.0, self.limits.cell_seconds), max(1.0, self.budget.remaining()))

    def sweep(self, dying: int = 0) -> None:
        """End processes that a cell left behind: they keep the student's process from being copied, or would run beside
        the tests.
        """
        keep = {process.pid for process in [*self.clones.values(), *([self.student] if self.student else [])]}
        if ended := end_strays(keep, dying):
            self.result.note(EventKind.PROCESSES_ENDED, count=ended)
            self.lifeline.ask(b"R")

    def out_of_time(self, cells: list[tuple[int, str, str, bool]]) -> None:
        self.result.note(EventKind.OUT_OF_TIME, seconds=self.limits.submission_seconds)
        reason = Reason.of(ReasonKind.NOTEBOOK_TIME, seconds=self.limits.submission_seconds)
        self.result.ungraded.update({index: reason for index, _, _, is_test in cells if is_test})

    def not_restored(self, cells: list[tuple[int, str, str, bool]]) -> None:
        self.result.note(EventKind.NOT_RESTORED)
        reason = Reason.of(ReasonKind.STATE_NOT_RESTORED)
        self.result.ungraded.update({index: reason for index, _, _, is_test in cells if is_test})

    def used(self) -> float:
        """Processor time of the student's process so far."""
        return processor_seconds(self.student.pid) if self.student is not None else 0.0

    def account(self, process: Process) -> None:
        cpu, peak = usage(process.pid)
        self.result.cpu += cpu
        self.result.peak = max(self.result.peak, peak)

    def finish(self) -> None:
        """Ask what the notebook changed around itself, then end its process: nothing of it runs beside the tests."""
        if self.student is None:
            self.result.integrity += self.attempts
            return
        self.account(self.student)
        try:
            changes = ask(self.student, {"op": "end"}, None, self.deadline(self.student, 5.0))
            if type(changes) is list:
                texts = [encodable(text[:LONGEST_SIGN]) for text in changes][:MOST_SIGNS]
                self.result.integrity += [Sign.of(SignKind.CHANGED, text=text) for text in texts]
        except (ProcessLost, wire.DeadlinePassed):
            self.result.note(EventKind.SAID_NOTHING)
        self.result.integrity += self.attempts
        self.lifeline.kill(self.student)
        self.student.close()
        dying, self.student = self.student.pid, None
        self.sweep(dying)

    # ---- the tests ---------------------------------------------------------------------------------------------------

    def run_tests(self, cells: list[tuple[int, str, str, bool]]) -> None:
        tests: list[Test] = []
        for place, (index, _, source, is_test) in enumerate(cells):
            if not is_test:
                continue
            before = [text for _, _, text, other in cells[:place] if not other]
            clone = self.clones.get(index)
            test = Test(
                index,
                source,
                self.limits.test_seconds,
                self.limits.cell_seconds,
                clone.sock if clone else None,
                clone.pid if clone else 0,
                clone.handle if clone else -1,
                index > self.first_hidden,
                self.result.ungraded.get(index),
                before,
                partial(self.started, index),
            )
            tests.append(test)
        self.lifeline.ask(b"S")
        if self.begin is None:
            while tests:
                tests = self.run_some(tests)
        else:
            tester.limit_memory(self.most_memory())
            for test in tests:
                self.begin(test.index)
                self.take(tester.run_test(self.shell, self.prepared, test, self.budget))
                self.clean_scratch()
        for index in list(self.clones):
            self.drop(index)
        if self.budget.remaining() <= 0 and not any(
            event.kind == EventKind.OUT_OF_TIME for event in self.result.incidents
        ):
            self.result.note(EventKind.OUT_OF_TIME, seconds=self.limits.submission_seconds)

    def clean_scratch(self) -> None:
        """What one test left behind, files or processes, is gone before the next: it may have seen hidden inputs."""
        self.lifeline.ask(b"C")

    def started(self, own: int) -> tuple[int, float]:
        """How many processes and threads there have been in the sandbox, and the processor time of all clones but the
        one of this test.
        """
        others = sum(processor_seconds(clone.pid) for index, clone in self.clones.items() if index != own)
        return self.lifeline.processes_started(), others

    def most_memory(self) -> int:
        """For tests: what student code sends back is compared here, and must not be able to use up the machine."""
        return (2 * self.limits.memory_mb + 1024) << 20

    def run_some(self, tests: list[Test]) -> list[Test]:
        """Run tests in one process until it ends or has to be ended; gives those that are still to run."""
        reader, writer = os.pipe()
        examiner, pid = os.getpid(), os.fork()
        if not pid:
            os.close(reader)
            die_with(examiner)
            self.meter.follow((os.getpid(), *self.meter.roots[1:]))
            tester.run_tests(
                self.shell, self.prepared, tests, writer, self.most_memory(), self.clean_scratch, self.budget
            )
        os.close(writer)
        left, current, buffer, silent = list(tests), -1, b"", False
        meter = KernelMeter((pid,), self.limits.test_seconds)
        meter.main, meter.alive = pid, self.meter.alive
        while True:
            try:
                chunk = line_from(reader, LoadAwareDeadline(meter, self.limits.test_seconds + 5 * GRACE))
            except wire.DeadlinePassed:
                silent = True
                break
            if not chunk:
                break
            self.meter.look()
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                message = json.loads(line)
                if "begin" in message:
                    current = message["begin"]
                elif "fault" in message:
                    raise MachineFault(message["fault"])
                elif "index" in message:
                    self.take(message)
                    left = [test for test in left if test.index != message["index"]]
                    current = -1
        if silent:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        os.close(reader)
        if not silent and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            raise MachineFault("the process that ran the tests was killed from outside")
        if current >= 0 or len(left) == len(tests):  # it stopped inside a test: that one is lost, the others go on
            stuck = current if current >= 0 else left[0].index
            self.take(
                {"index": stuck, "outputs": [], "lost": Reason.of(ReasonKind.NOT_COMPLETED).to_json(), "seconds": 0.0}
            )
            left = [test for test in left if test.index != stuck]
        return left

    def take(self, message: dict[str, Any]) -> None:
        index = message["index"]
        self.result.outputs[index] = message["outputs"]
        self.result.seconds[index] = message["seconds"]
        self.result.processor[index] = message.get("processor", 0.0)
        if message["lost"] is not None:
            self.result.ungraded[index] = Reason.from_json(message["lost"])
        if message.get("ended") and not self.lifeline.out_of_memory():
            self.ended(self.names[index], self.clones[index] if message["died"] else None)
        if index in self.clones:
            self.drop(index)
