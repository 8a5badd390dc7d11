"""Tries other answers to the exercises of a notebook: the cells run once, and at each exercise every variant runs in
a copy of that state.

For `course verify`: a variant meets the same processes, limits and test cells as a submission does.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from functools import partial
from typing import Any

from autograder.examiner import repair
from autograder.examiner.deadline import LoadAwareDeadline, MachineFault
from autograder.examiner.examination import Examination
from autograder.examiner.job import files_beside
from autograder.examiner.limits import Limits
from autograder.examiner.outputs import OutputBudget
from autograder.examiner.pool import Trial
from autograder.examiner.process import Process
from autograder.examiner.result import Result
from autograder.examiner.tester import Prepared, Test
from autograder.inside import shell as shells
from autograder.model import looks, regions, wording

TRIES = 2  # at a variant whose process ended: its own code would do that each time, a kill from outside would not


def tried(
    job: dict[str, Any], prepared: Prepared, shell: shells.Shell, control: socket.socket, lifeline: socket.socket
) -> Iterator[dict[str, Any]]:
    """The outcome of every trial of the job, in the order of the notebook."""
    cells = [(index, name, source, is_test) for index, name, source, is_test in job["cells"]]
    examination = VariantExamination(shell, prepared, Limits(**job["limits"]), files_beside(job), lifeline)
    examination.meter.alive, examination.has_group = job["alive"], job["group"]
    examination.start(control, cells)
    trials = [Trial(**trial) for trial in job["trials"]]
    examination.left_out = left_out(cells, prepared.looks, trials)
    return examination.outcomes(cells, trials)


def left_out(cells: list[tuple[int, str, str, bool]], known: dict[str, str], trials: list[Trial]) -> set[int]:
    """The cells that no grading of these variants would run."""
    texts = [source for _, _, source, _ in cells]
    shown = [place for place, source in enumerate(texts) if repair.normal(source) in known]
    answers = list(dict.fromkeys(trial.answer for trial in trials))
    own = range(len(texts), len(texts) + len(answers))
    return {cells[place][0] for place in looks.left_out([*texts, *answers], shown, own)}


class VariantExamination(Examination):
    """Drives the student's process through the solution's cells, and copies of it through variants of them and their
    tests.
    """

    def outcomes(self, cells: list[tuple[int, str, str, bool]], trials: list[Trial]) -> Iterator[dict[str, Any]]:
        left = {trial.key for trial in trials}
        for place, (index, _, source, is_test) in enumerate(cells):
            for trial in trials:
                if trial.exercise == index:
                    yield self.outcome(cells, place, trial)
                    left.remove(trial.key)
            if not left:
                return
            if not is_test and index not in self.left_out:
                self.start_anew(cells, place)
                self.run_one(index, source)

    def start_anew(self, cells: list[tuple[int, str, str, bool]], place: int) -> None:
        """The whole of the limits for what comes next, and the solution's process as it is before the cell at this
        place.
        """
        self.result = Result()
        self.restores = 0
        self.kept = OutputBudget(self.limits.output_kb << 10)
        self.budget = LoadAwareDeadline(self.meter, self.limits.submission_seconds)
        if self.student is not None and self.student.dead():
            self.student.close()
            self.student = None
        if self.student is None and not self.restore(cells, place):
            raise MachineFault("the process that runs the solution's cells ended, and could not be restored")

    def outcome(self, cells: list[tuple[int, str, str, bool]], place: int, trial: Trial) -> dict[str, Any]:
        """What the test says of a variant, or why it could not say anything."""
        found: dict[str, Any] = {}
        for _ in range(TRIES):
            self.start_anew(cells, place)
            self.lifeline.ask(b"S")  # what there is now; whatever comes with the variant goes with it
            found = self.tried(cells, place, trial)
            self.broken.discard(trial.exercise)
            self.clean_scratch()
            if not self.result.ended:
                break
        return {"key": trial.key, **found}

    def tried(self, cells: list[tuple[int, str, str, bool]], place: int, trial: Trial) -> dict[str, Any]:
        self.calls: list[Any] = []
        variant = self.with_answer(trial)
        answer_outputs = self.result.outputs.pop(trial.exercise, [])
        if variant is None:
            why = "; ".join(map(wording.sentence, self.result.incidents)) or "the answer could not be run"
            return {"answer": answer_outputs, "outputs": [], "lost": why}
        self.clones[trial.test] = variant
        before = [source for _, _, source, is_test in cells[:place] if not is_test]
        source = next(source for index, _, source, _ in cells if index == trial.test)
        earlier = [text for index, _, text, is_test in cells if is_test and index < trial.test]
        test = Test(
            trial.test,
            source,
            self.limits.test_seconds,
            self.limits.cell_seconds,
            variant.sock,
            variant.pid,
            variant.handle,
            discreet=any(regions.has_hidden(text) for text in earlier),
            cells=[*before, trial.answer],
            started=partial(self.started, trial.test),
            secret=trial.secret,
            recording=trial.recording,
        )
        self.run_some([test])
        reason = self.result.ungraded.get(trial.test)
        return {
            "answer": answer_outputs,
            "outputs": self.result.outputs.get(trial.test, []),
            "lost": "" if reason is None else wording.sentence(reason),
            "calls": self.calls,
        }

    def blame_outside(self, process: Process) -> None:
        """Such a variant is tried once more, and no other one is lost."""

    def take(self, message: dict[str, Any]) -> None:
        self.calls = message.get("calls") or []
        super().take(message)

    def with_answer(self, trial: Trial) -> Process | None:
        """A copy of the solution's process in which the variant's cell has run; None where it did not survive that."""
        if not self.clone(trial.test) or trial.test not in self.clones:
            return None
        solution, self.student = self.student, self.clones.pop(trial.test)
        last = self.last
        self.run_one(trial.exercise, trial.answer)
        variant, self.student, self.last = self.student, solution, last
        return variant
