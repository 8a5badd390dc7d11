"""Checks of what a call costs: operations and sizes that a counter sees, time and memory that the kernel sees."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from helpers.checks import student_side
from helpers.checks.compare import same
from helpers.checks.failed import Failed
from helpers.checks.meter import USUALLY_KEPT
from helpers.checks.plain_data import copied, plain
from helpers.checks.recording import Recorder
from helpers.kit.tiles.launch import Traffic

UNCOUNTED = "the counter saw almost nothing of your work: use torch, not NumPy or Python numbers"
TRIES, FASTER_THAN_LINEAR, SHORT_SECONDS = 4, 6.0, 0.04


class CostChecks(Recorder):
    """The part of `Check` that judges cost."""

    def __init__(self, name: str, points: float) -> None:
        super().__init__(name, points)
        self._counted = 0  # checks that passed by what the counter saw
        self._overcounted = False  # the counter has seen too much
        self._unaffordable = False  # the kernel has seen too much

    def flops(self, function: Callable[..., Any], *args: Any, at_most: float, hint: str, at_least: float = 1) -> None:
        """Counted floating-point operations of one call; fewer than an answer needs were not counted."""
        spent = self._guarded(lambda: student_side.flops(function, *args))
        if self._usable(spent, hint) and self._worth_counting():
            seen = f"{spent:,} operations, at most {int(at_most):,} allowed"
            self._count(at_most >= spent, spent, at_least, hint, seen, "too many operations")

    def ranked(self, name: str, counted: Any) -> None:
        """For a leaderboard: what the test itself has counted, of an answer that earns every point.

        That is a launch (`checks.traffic`: its bytes), or an object of `helpers` that the test handed out (its
        `calls`). A number is refused, for it may be the answer's own.
        """
        if isinstance(counted, Failed):
            return
        if isinstance(counted, Traffic):
            self.outcome.counts[name] = counted.loaded + counted.stored + counted.added
        elif type(counted).__module__.startswith("helpers."):
            self.outcome.counts[name] = int(counted.calls)
        else:
            raise TypeError(f"{name}: give the launch or the object that counts, not {type(counted).__name__}")

    def growth(
        self,
        function: Callable[..., Any],
        make_args: Callable[[int], Sequence[Any]],
        sizes: Sequence[int],
        order: float,
        hint: str,
        at_least: float = 1,
    ) -> None:
        """Counted operations grow no faster than size ** order (between the two largest sizes, with a margin of 0.2).

        `at_least` is what any answer takes at the largest size.
        """
        counts = self._guarded(lambda: [student_side.flops(function, *make_args(n)) for n in sizes])
        if self._usable(counts, hint) and self._worth_counting():
            slope = math.log(max(counts[-1], 1) / max(counts[-2], 1)) / math.log(sizes[-1] / sizes[-2])
            seen = f"operations grow like n^{slope:.2f}, expected n^{order:g}"
            self._count(
                slope <= order + 0.2 and all(counts), counts[-1], at_least, hint, seen, "the work grows too fast"
            )

    def largest(self, function: Callable[..., Any], *args: Any, elements: int, hint: str, at_least: float = 1) -> None:
        """No tensor created on the way has more than this many elements.

        `at_least`: operations that any answer takes.
        """
        cost = self._guarded(lambda: student_side.cost(function, *args))
        if self._usable(cost, hint) and self._worth_counting():
            seen = f"a tensor of {cost.largest:,} elements was created"
            enough = cost.flops if cost.largest else 0
            self._count(cost.largest <= elements, enough, at_least, hint, seen, "too large a tensor was created")

    def counted(self, condition: Any, hint: str) -> None:
        """A condition on what was counted holds: as `true`, but taken back where the kernel has seen more
        (`affordable`).
        """
        if self._usable(condition, hint):
            self._count(bool(condition), 1, 1, hint, "", "")

    def _count(self, good: bool, operations: float, at_least: float, hint: str, seen: str, safe_seen: str) -> None:
        """Record a check of what was counted."""
        if operations < at_least:
            good, seen, safe_seen = False, UNCOUNTED, UNCOUNTED
        good_too = good and not self._unaffordable
        self._record(good_too, hint, seen, safe_seen, form=True)
        self._counted += int(good_too)
        if self._requirement is not None:
            self._requirement.counted += int(good_too)
        self._overcounted = self._overcounted or not good

    def quicker(
        self,
        function: Callable[..., Any],
        plain_way: Callable[..., Any],
        make_args: Callable[[], Sequence[Any]],
        *,
        share: float,
        hint: str,
    ) -> bool:
        """What the kernel sees: the call takes at most this share of the processor time of the test's own plain way,
        and gives the same.

        For work that no counter of torch's sees. It must be too slow four times in a row, each with new inputs.
        """
        seen = self._guarded(lambda: slower(function, plain_way, make_args, share))
        good = self._usable(seen, hint) and not seen
        if seen == OTHER_RESULT:  # quick, perhaps, but not for this work
            self._record(False, OTHER_RESULT, form=True)
        elif isinstance(seen, str):
            self._record(good, hint, seen, seen, form=True, named=True)
        return good

    def affordable(
        self,
        function: Callable[..., Any],
        make_args: Callable[[int], Sequence[Any]],
        size: int,
        *,
        megabytes: float,
        wasteful: float,
        hint: str,
        right: Callable[..., Any] | None = None,
        or_nothing: bool = False,
    ) -> bool:
        """What the kernel sees of the call at one size: memory below a limit, and processor time that grows no faster
        than the size.

        `wasteful` is what the answer that is not meant needs there, in megabytes. An earlier cell can have laid that
        much ready, among what cells usually leave in a process, so it has to be more than the limit and that together.

        The counter runs in the student's process, where work can be hidden from it; the kernel's figures are read from
        outside. So they decide: if they are too high, what was counted in this cell earns nothing either (`or_nothing`:
        the whole cell earns nothing). Time is compared with that of a quarter of the size, and must be too long four
        times in a row: a busy machine makes an answer slow, but not slower for larger inputs. What takes little time in
        all is never too slow.

        `right(result, *args)` says whether the result at that size is right: an answer could do nothing there. (Where a
        check before has failed, it is not asked.)
        """
        if wasteful * 2**20 < megabytes * 2**20 + USUALLY_KEPT:
            raise RuntimeError(
                f"{wasteful:g} MB could hide in what earlier cells leave: take a size at which waste needs at least"
                f" {megabytes + USUALLY_KEPT / 2**20:g} MB"
            )
        if self._overcounted:  # a check above has said so already, at a size that does no harm
            return False
        if not self._worth_counting():
            return True
        asked = None if self.outcome.findings else right
        seen = self._guarded(lambda: overspent(function, make_args, size, megabytes, asked))
        good = self._usable(seen, hint) and not seen
        if isinstance(seen, str):
            wrong = seen == OTHER_RESULT  # says less than what names the mistake
            said, detail = (OTHER_RESULT, "") if wrong else (hint, seen)
            self._record(good, said, detail, detail, form=True, named=not wrong)
        if not good:
            self._unaffordable = True
            self.outcome.void = or_nothing
            self.outcome.passed -= self.outcome.passed if or_nothing else self._counted
            self._counted = 0
            for requirement in self.outcome.requirements:
                requirement.passed -= requirement.counted
                requirement.counted = 0
        return good


OTHER_RESULT = "on a larger input, where time and memory were measured, the result is wrong"


def slower(
    function: Callable[..., Any],
    plain_way: Callable[..., Any],
    make_args: Callable[[], Sequence[Any]],
    share: float,
) -> str:
    """How the call falls behind the plain way, on inputs that no call has seen before; nothing where it does not."""
    for _ in range(TRIES):
        given = make_args()
        result, spent = student_side.result_and_spent(function, *given)
        began = time.process_time()
        expected = plain_way(*copied(given))
        if not same(plain(result), expected):
            return OTHER_RESULT
        if spent.seconds <= share * (time.process_time() - began):
            return ""
    return "it worked about as long as the plain way, by the kernel's figures"


KEPT = "cells before keep so much memory that nobody can tell what this call needs: `del` large tensors after their use"


def overspent(
    function: Callable[..., Any],
    make_args: Callable[[int], Sequence[Any]],
    size: int,
    megabytes: float,
    right: Callable[..., Any] | None,
) -> str:
    """What the kernel saw that was too much, or nothing."""
    for _ in range(TRIES):
        little, given = student_side.spent(function, *make_args(size // 4)), make_args(size)
        result, much = student_side.result_and_spent(function, *given)
        if right is not None and not right(plain(result), *given):
            return OTHER_RESULT
        if much.bytes > megabytes * 2**20:
            return "it took far more memory than it may, by the kernel's figures"
        if much.bytes + much.kept > megabytes * 2**20:
            return KEPT
        if much.seconds <= FASTER_THAN_LINEAR * little.seconds + SHORT_SECONDS:
            return ""
    return "for an input four times as large it worked far more than four times as long, by the kernel's figures"
