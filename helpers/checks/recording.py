"""`Recorder`: counts what passed, keeps what failed with a hint that names the likely mistake, and ends with the
points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from helpers.checks import credit, missing, random_numbers, report, student_side
from helpers.checks.bans import Ban
from helpers.checks.cell_lines import calling_frame, discreet, in_hidden_region
from helpers.checks.failed import NOTHING, Failed, StudentError, first_failure
from helpers.checks.plain_data import copied, plain, usable
from helpers.checks.quiet import RAISED, failure_of, guarded

# What went wrong comes first; the hints of checks that had nothing to look at follow, marked as such.
NO_RESULT = "this check had no result to look at: "
ONLY_RIGHT = "not checked yet: first make a result above right, then this counts"
ANOTHER = "your code raised another exception"
OTHER_DTYPE = (
    "torch's default dtype is another one afterwards, for everybody: give a dtype to the tensors that you make, and do"
    " not call `torch.set_default_dtype`"
)
NO_GRADIENTS = "gradients stay switched off afterwards, for everybody: use `with torch.no_grad():`, not a global switch"


class Requiring:
    """`with check.idea(…)`: the checks inside belong to the requirement.

    An exception inside fails it, and the cell goes on.
    """

    def __init__(self, recorder: Recorder, requirement: credit.Requirement) -> None:
        self._recorder, self._requirement = recorder, requirement

    def __enter__(self) -> None:
        self._recorder._begin(self._requirement)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        return self._recorder._end(error)


class Recorder:
    """What every check needs: student code is run quietly, and each check is counted once."""

    def __init__(self, name: str, points: float) -> None:
        self.outcome = report.Outcome(name, points, 0, 0)
        self._raised = ""  # the first exception that was shown where hidden inputs are known
        self._shapes = 0  # checks that passed for a shape alone
        self._requirement: credit.Requirement | None = None  # the one whose checks are running
        self._outside = 0  # checks that belong to no requirement
        self._broken = False  # a requirement's own lines raised an exception
        self._can_speak: dict[str, bool] = {}  # names in `wrong=`, while the test itself is tested
        self._random_state = student_side.random_state()
        self._settings = student_side.settings()
        random_numbers.begin(name)
        missing.explain_in(calling_frame().f_code.co_filename)

    # ---- requirements -----------------------------------------------------------------------------------------------

    def idea(self, name: str, share: float = 1.0) -> Requiring:
        """What the exercise is about, on ordinary inputs.

        Begins the requirements of one function; functions share the points.
        """
        return self._requiring(credit.Requirement(name, "idea", share))

    def part(self, name: str) -> Requiring:
        """A thing that the text asks for beyond the idea above: the mask, the gradient, the batch axis."""
        return self._requiring(credit.Requirement(name, "part"))

    def edge(self, name: str) -> Requiring:
        """A corner of the idea above: extreme values, a dtype, an error to raise, an input left as it was."""
        return self._requiring(credit.Requirement(name, "edge"))

    def _requiring(self, requirement: credit.Requirement) -> Requiring:
        if requirement.gravity != "idea" and not self.outcome.requirements:
            raise RuntimeError(
                f"the requirement {requirement.name!r} belongs to an idea: begin with `with check.idea(…)`"
            )
        if any(known.name == requirement.name for known in self.outcome.requirements):
            raise RuntimeError(f"two requirements are called {requirement.name!r}")
        return Requiring(self, requirement)

    def _begin(self, requirement: credit.Requirement) -> None:
        if self._requirement is not None:
            raise RuntimeError(f"the requirement {requirement.name!r} begins inside {self._requirement.name!r}")
        self.outcome.requirements.append(requirement)
        self._requirement = requirement

    def _end(self, error: BaseException | None) -> bool:
        """True where an exception is dealt with: a line of the test could not go on with what student code gave."""
        dealt_with = isinstance(error, Exception)
        if isinstance(error, Exception):
            self._broke(error)
            self._broken = True
        self._requirement = None
        return dealt_with

    def _broke(self, error: Exception) -> None:
        """A line of the test raised: the requirement has failed."""
        if isinstance(error, NameError) and self._broken:  # a line above was to set that name, and has failed already
            self._count_check(False)
        elif isinstance(error, NameError | StudentError):
            self._usable(
                error.failed
                if isinstance(error, StudentError)
                else failure_of(error, calling_frame().f_code.co_filename),
                "",
                error,
            )
        else:
            self._count_check(False)
            hidden, kind = in_hidden_region(error), f"your result could not be used here: {type(error).__name__}"
            told = kind if hidden or discreet(error) else f"{kind}: {' '.join(str(error).split())[:200]}"
            self._find(told, "", hidden)

    # ---- the end ----------------------------------------------------------------------------------------------------

    def score(self) -> float:
        """Show the outcome, restore the random state, and give the points earned as a plain float."""
        student_side.restore_random_state(self._random_state)
        if not self.outcome.reached:
            raise RuntimeError(f"the test cell of {self.outcome.name} reached no check")
        self._look_at_settings()
        self._name_the_mistake()
        if self.outcome.requirements:
            self._audit()
            self.outcome.findings = first_causes(self.outcome)
        if self.outcome.unwritten and not self.outcome.passed:  # what to write is all there is to say
            self.outcome.findings = []
        return report.show(self.outcome)

    def _look_at_settings(self) -> None:
        """Student code that leaves torch's settings changed fails an edge that no other answer has."""
        now = student_side.settings()
        if now == self._settings:
            return
        student_side.restore_settings(self._settings)
        if self.outcome.requirements:
            self._begin(credit.Requirement("torch's settings left alone", "edge"))
        self._record(False, OTHER_DTYPE if now[:1] != self._settings[:1] else NO_GRADIENTS, named=True)
        self._requirement = None

    def _name_the_mistake(self) -> None:
        """In the examiner: an answer that gives in every call what a named mistake gives is told which one it is.

        All that the results showed follows from that mistake. What the text or the arguments showed does not.
        """
        says = "" if student_side.remote is None or self.outcome.unwritten else student_side.remote.recognised()
        if says and self.outcome.findings:
            failed = [one for gravity in credit.LEFT for one in self.outcome.requirements if one.gravity == gravity]
            name = next((requirement.name for requirement in failed if not requirement.met), "")
            others = [finding for finding in self.outcome.findings if finding.named and not finding.matched]
            self.outcome.findings = [report.Finding(says, "", True, name, named=True), *others]

    def _audit(self) -> None:
        """The mistakes an author can make with requirements."""
        if self._outside:
            raise RuntimeError(f"{self.outcome.name}: {self._outside} checks are outside of every requirement")
        empty = [requirement.name for requirement in self.outcome.requirements if not requirement.reached]
        if empty:
            raise RuntimeError(f"{self.outcome.name}: no check in the requirement {', '.join(empty)}")

    # ---- running and recording --------------------------------------------------------------------------------------

    def _run(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], forbid: Sequence[Ban] = ()
    ) -> Any:
        """The result of a call with copies of the arguments, as plain data in the inputs' dtype, or a `Failed`."""
        given = [*args, *kwargs.values()]
        dtype = next((a.dtype for a in given if isinstance(a, torch.Tensor) and a.is_floating_point()), None)
        with student_side.refusing(forbid):
            result = self._guarded(lambda: usable(plain(function(*copied(args), **copied(kwargs)), dtype), dtype))
        return Failed(NOTHING, NOTHING) if forbid and result is None else result

    def _guarded(self, function: Callable[[], Any]) -> Any:
        hidden = in_hidden_region()
        result, kept = guarded(function, hidden, calling_frame().f_code.co_filename)
        if not hidden:
            for message in dict.fromkeys(kept.warnings):
                self._note(f"your code warned: {' '.join(message.split())[:200]}")
            if kept.stderr.strip():
                self._note(f"your code wrote to standard error: {kept.stderr.strip().splitlines()[-1][:200]}")
        return result

    def _note(self, note: str) -> None:
        if note not in self.outcome.notes and len(self.outcome.notes) < 5:
            self.outcome.notes.append(note)

    def _usable(self, value: Any, hint: str, error: BaseException | None = None) -> bool:
        """False, with a failed check on the record, where student code gave nothing to judge."""
        failed = first_failure(value)
        if failed is None:
            return True
        self._count_check(False)
        if failed.__dict__["unwritten"] is not None:
            self.outcome.unwritten.setdefault(failed.__dict__["unwritten"].name, failed.__dict__["reason"])
            return False
        hidden = in_hidden_region(error)
        reason = self._safe_reason(failed) if hidden or discreet(error) else failed.__dict__["reason"]
        self._find(reason, f"{NO_RESULT}{hint}" if hint else "", hidden)
        return False

    def _safe_reason(self, failed: Failed) -> str:
        """What may be said where hidden inputs are known: of several exceptions the first only, or they would spell out
        an input.
        """
        reason: str = failed.__dict__["safe_reason"]
        if not reason.startswith(RAISED):
            return reason
        self._raised = self._raised or reason
        return reason if reason == self._raised else ANOTHER

    def _worth_counting(self) -> bool:
        """False, with a failed check, where nothing but shapes was right so far: wrong answers pass the check that asks
        this, too.

        In a requirement such checks are made all the same: they earn nothing where the idea fails.

        """
        if self._requirement is None and self.outcome.reached > self.outcome.passed == self._shapes:
            self._record(False, ONLY_RIGHT)
            return False
        return True

    def _record(
        self,
        good: bool,
        hint: str,
        seen: str = "",
        safe_seen: str = "",
        *,
        form: bool = False,
        named: bool = False,
        matched: bool = False,
        fact: str | None = None,
    ) -> None:
        """Count one check; `form`: one that wrong answers pass, too.

        Of a hidden check only `safe_seen` is shown: never an input or value.
        """
        self._count_check(good, form)
        if not good:
            hidden = in_hidden_region()
            self._find(hint, safe_seen if hidden or discreet() else seen, hidden, named or matched, matched, fact)

    def _audit_names(self, can_speak: Callable[[], Mapping[str, bool]]) -> None:
        """For `course verify`: mistakes whose value is the right one in every check that names them can never speak."""
        if student_side.remote is not None and student_side.remote.auditing:
            for name, can in can_speak().items():
                self._can_speak[name] = can or self._can_speak.get(name, False)
            self.outcome.never_speak = [name for name, can in self._can_speak.items() if not can]

    def _count_check(self, good: bool, form: bool = False) -> None:
        self.outcome.reached += 1
        self.outcome.passed += int(good)
        if self._requirement is not None:
            self._requirement.add(good, form)
        else:
            self._outside += 1

    def _find(
        self,
        hint: str,
        seen: str,
        hidden: bool,
        named: bool = False,
        matched: bool = False,
        fact: str | None = None,
    ) -> None:
        name = "" if self._requirement is None else self._requirement.name
        self.outcome.findings.append(report.Finding(hint, seen, hidden, name, named, matched, fact))


def first_causes(outcome: report.Outcome) -> list[report.Finding]:
    """Every requirement that fails speaks once; where an idea fails, only one finding of its function does, and the
    rest follows from it.

    A finding that names the mistake speaks before one that says what was expected. A value that a part knows from a
    mistake may have another cause where the idea fails, so the idea's own finding then speaks as well, and first.
    """
    causes = []
    for group in credit.by_idea(outcome.requirements):
        names = [requirement.name for requirement in group]
        found = [finding for finding in outcome.findings if finding.requirement in names]
        if not group[0].met:
            of_idea = [finding for finding in found if finding.requirement == group[0].name]
            named = [finding for finding in of_idea if finding.named] or [finding for finding in found if finding.named]
            elsewhere = bool(named) and named[0].matched and named[0].requirement != group[0].name
            causes += [*of_idea[: int(elsewhere)], *(named or told_more(of_idea))[:1]]
            continue
        for name in names:
            of_this = [finding for finding in found if finding.requirement == name]
            causes += ([finding for finding in of_this if finding.named] or told_more(of_this))[:1]
    return causes


def told_more(found: Sequence[report.Finding]) -> list[report.Finding]:
    """The first finding also says how results are related to the right ones, where only a later one could see that: a
    small case has too few values.
    """
    facts = [finding.fact for finding in found if finding.fact]
    if not facts or found[0].fact != "":
        return list(found)
    return [replace(found[0], hint=f"on other inputs {facts[0]}; {found[0].hint}"), *found[1:]]
