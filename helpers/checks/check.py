"""`Check`: counts what passed, keeps what failed with a hint that names the likely mistake, and gives partial credit."""

from __future__ import annotations

import linecache
import math
import os
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import torch

from helpers.checks import beside, missing, report
from helpers.checks.bans import Ban
from helpers.checks.compare import Difference, as_tensor, describe, difference
from helpers.checks.guard import NOTHING, RAISED, Failed, StudentError, copied, failure_of, first_failure, guarded, plain

HERE = os.path.dirname(__file__) + os.sep

# What went wrong comes first; the hints of checks that had nothing to look at follow, marked as such.
NO_RESULT = "this check had no result to look at: "
NOT_PLAIN = "the result should be plain data: numbers, text, lists, dictionaries or tensors"
ONLY_RIGHT = "not checked yet: first make a result above right, then this counts"
ANOTHER = "your code raised another exception"
TRIES, FASTER_THAN_LINEAR, SHORT_SECONDS = 4, 6.0, 0.04
BEHIND = ("_refs", "_prims", "_decomp", "get_kernel", "_dispatch_library")  # ways of torch around the operators it offers
UNCOUNTED = "the counter saw almost nothing of your work: use torch, not NumPy or Python numbers"

# The tests' own random numbers: student code that draws numbers must not change the test's inputs.
_generator = torch.Generator()


def randn(*shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Standard normal numbers, the same in every run of the test cell."""
    return torch.randn(shape, generator=_generator, dtype=dtype)


def rand(*shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Uniform numbers in [0, 1), the same in every run of the test cell."""
    return torch.rand(shape, generator=_generator, dtype=dtype)


def randint(low: int, high: int, shape: Sequence[int]) -> torch.Tensor:
    """Integers in [low, high), the same in every run of the test cell."""
    return torch.randint(low, high, tuple(shape), generator=_generator)


def randperm(n: int) -> torch.Tensor:
    """A permutation of 0 … n−1, the same in every run of the test cell."""
    return torch.randperm(n, generator=_generator)


def calling_frame() -> FrameType:
    """The frame of the test cell that called a check: the first one outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    return frame


def running_lines() -> tuple[list[str], set[int]]:
    """The text of the test cell that called a check, and the numbers of its lines that are being carried out."""
    frame: FrameType | None = calling_frame()
    file = calling_frame().f_code.co_filename
    numbers = set()
    while frame is not None:
        if frame.f_code.co_filename == file:
            numbers.add(frame.f_lineno)
        frame = frame.f_back
    return linecache.getlines(file), numbers


def hidden_lines(lines: list[str]) -> set[int]:
    """Numbers of the lines between the hidden-test markers."""
    found, hidden = set(), False
    for number, line in enumerate(lines, 1):
        hidden = (hidden or "BEGIN HIDDEN TESTS" in line) and "END HIDDEN TESTS" not in line
        if hidden:
            found.add(number)
    return found


def in_hidden_region() -> bool:
    """Does the line that checks lie between the hidden-test markers, or one that led to it? A visible function may be called from there."""
    lines, numbers = running_lines()
    return bool(numbers & hidden_lines(lines))


def discreet() -> bool:
    """In the examiner a student's values are not quoted once hidden inputs were handed out: they could be those inputs."""
    if beside.far is None:
        return False
    lines, numbers = running_lines()
    return bool(getattr(beside.far, "discreet", False)) or any(number < max(numbers) for number in hidden_lines(lines))


class Check:
    """The judge of one test cell.

    Every method that takes a `hint` is one check. A failed check never stops the cell; `score()` ends it and returns
    points × checks passed / checks reached. Call student code through `run` (or hand the function to a check), so that an
    exception costs only the checks that needed its result.
    """

    def __init__(self, name: str, points: float) -> None:
        self.outcome = report.Outcome(name, points, 0, 0)
        self._raised = ""  # the first exception that was told where hidden inputs are known
        self._shapes = 0  # checks that passed for a shape alone
        self._counted = 0  # checks that passed by what the counter saw
        self._overcounted = False  # the counter has seen too much
        self._unaffordable = False  # the kernel has
        self._random_state = beside.random_state()
        _generator.manual_seed(zlib.crc32(name.encode()))
        beside.seed(zlib.crc32(name.encode()))
        missing.explain_in(calling_frame().f_code.co_filename)

    # ---- running student code ---------------------------------------------------------------------------------------

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        shape: Sequence[int] | None = None,
        hint: str = "",
        forbid: Sequence[Ban] = (),
        **kwargs: Any,
    ) -> Any:
        """Call student code on copies of the arguments. Gives plain data: arrays as tensors, floats in the inputs' dtype.

        With `shape` the result must be one tensor of that shape, which counts as a check. What cannot be used comes
        back as a `Failed`, which fails every check it is given to. What is in `forbid` is refused during the call: see `helpers/checks/bans.py`.
        """
        dtype = next((a.dtype for a in [*args, *kwargs.values()] if isinstance(a, torch.Tensor) and a.is_floating_point()), None)
        with beside.refusing(forbid):
            result = self._guarded(lambda: usable(plain(function(*copied(args), **copied(kwargs)), dtype), dtype))
        if forbid and result is None:
            result = Failed(NOTHING, NOTHING)
        return result if shape is None else self.shape(result, shape, hint)

    def keep(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call student code and keep the object it makes (a model, a tokenizer); use its methods through `run`."""
        return self._guarded(lambda: beside.keep(function, *args, **kwargs))

    def measure(self, measurement: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Carry out one of the measurements of `checks` (gradients, inout, cost, optimizer) on student code."""
        return self._guarded(lambda: measurement(*args, **kwargs))

    # ---- single checks ----------------------------------------------------------------------------------------------

    def true(self, condition: Any, hint: str) -> None:
        """The condition holds (a bool, or a tensor of which every entry must be true)."""
        if self._usable(condition, hint):
            good = condition.numel() > 0 and bool(condition.all()) if isinstance(condition, torch.Tensor) else bool(condition)
            self._record(good, hint)

    def equal(self, actual: Any, expected: Any, hint: str, wrong: Mapping[str, Any] | None = None) -> None:
        """Exactly the same plain data; a list and a tuple, or a tensor and a list, of the same values are the same."""
        if not self._usable(actual, hint):
            return
        if not same(actual, expected):
            hint = next((named for named, value in (wrong or {}).items() if same(actual, value)), hint)
            self._record(False, hint, f"expected {'None' if expected is None else describe(expected)}, got {describe(actual)}")
        else:
            self._record(True, hint)

    def shape(self, value: Any, shape: Sequence[int], hint: str = "") -> Any:
        """One tensor of exactly this shape. Gives it back, or a `Failed`."""
        hint = hint or "the shape of the result is wrong: read the docstring once more, axis by axis"
        if not self._usable(value, hint):
            return value
        try:
            tensor = as_tensor(value)
        except (TypeError, ValueError, RuntimeError):
            reason = f"expected a tensor of shape {tuple(shape)}, got {describe(value)}"
            self._record(False, hint, reason, "the result is not a tensor")
            return Failed(reason, "the result is not a tensor")
        if tuple(tensor.shape) != tuple(shape):
            reason = f"expected shape {tuple(shape)}, got {tuple(tensor.shape)}"
            self._record(False, hint, reason, "the result has the wrong shape")
            return Failed(reason, "the result has the wrong shape")
        self._record(True, hint)
        self._shapes += 1
        return tensor

    def close(
        self,
        actual: Any,
        expected: Any,
        hint: str,
        *,
        rtol: float | None = None,
        atol: float | None = None,
        wrong: Mapping[str, Any] | None = None,
    ) -> None:
        """Numbers that agree within the tolerance of their dtype. `wrong` maps the name of a mistake to the value it gives."""
        if not self._usable((actual, expected), hint):
            return
        found = difference(actual, expected, rtol, atol)
        if found is None:
            self._record(True, hint)
            return
        for named, value in (wrong or {}).items():
            if difference(actual, value, rtol, atol) is None:
                hint = named
                break
        self._record(False, hint, f"{found.summary}: {found.detail}" if found.detail else found.summary, found.summary)

    def distribution(self, p: Any, hint: str, dim: int = -1) -> None:
        """Non-negative, and summing to one along `dim`."""
        if not self._numeric(p, hint):
            return
        tensor = as_tensor(p)
        if not tensor.numel():
            self._record(False, hint, "the result is empty", "the result is empty")
        elif tensor.is_complex():
            self._record(False, hint, "the numbers are complex", "the numbers are complex")
        elif bool(tensor.isnan().any()):
            self._record(False, hint, "there is a NaN")
        elif bool((tensor < 0).any()):
            self._record(False, hint, f"a probability is negative: {tensor.min().item():.4g}", "a probability is negative")
        else:
            total = tensor.sum(dim)
            found = difference(total, torch.ones_like(total))
            self._record(found is None, hint, f"sums along axis {dim}: {found.detail}" if found else "", "the sums are not one")

    def finite(self, value: Any, hint: str) -> None:
        """No NaN and no infinity."""
        if self._numeric(value, hint):
            tensor = as_tensor(value)
            bad = int((~torch.isfinite(tensor)).sum())
            seen = f"{bad} of {tensor.numel()} values are NaN or infinite" if tensor.numel() else "the result is empty"
            self._record(bad == 0 and tensor.numel() > 0, hint, seen, "NaN or infinity" if tensor.numel() else seen)

    def raises(self, function: Callable[..., Any], *args: Any, error: str, hint: str, **kwargs: Any) -> None:
        """Student code refuses this input with an exception of the class named `error`."""
        names: list[str] = []

        def attempt() -> str:
            try:
                function(*copied(args), **copied(kwargs))
            except Exception as raised:  # every exception class is a possible answer
                if failure_of(raised).__dict__["unwritten"] is not None:  # a stub refuses everything
                    raise
                names.extend(cls.__name__ for cls in type(raised).__mro__)
                return type(raised).__name__
            return "no exception"

        got = self._guarded(attempt)
        if self._usable(got, hint):
            self._record(error in names, hint, f"expected {error}, got {got}", f"expected {error}")

    # ---- gradients --------------------------------------------------------------------------------------------------

    def derivative(
        self,
        actual: Any,
        function: Callable[[torch.Tensor], torch.Tensor],
        at: torch.Tensor,
        hint: str,
        wrong: Mapping[str, Any] | None = None,
    ) -> None:
        """A derivative worked out by hand equals autograd's and a finite difference's of the test's own scalar function."""
        self.close(actual, reference_gradient(function, at), hint, rtol=1e-6, atol=1e-8, wrong=wrong)

    def gradients(
        self,
        function: Callable[..., Any],
        reference: Callable[..., Any],
        args: Sequence[Any],
        hint: str,
    ) -> None:
        """Gradients through the student's function equal those through a reference, for a random cotangent."""
        expected = plain(reference(*copied(args)))
        cotangent = randn(*expected.shape, dtype=expected.dtype)
        want = beside.gradients(reference, args, cotangent)
        got = self._guarded(lambda: beside.gradients(function, args, cotangent))
        if not self._usable(got, hint):
            return
        for number, (a, b) in enumerate(zip(got.inputs, want.inputs, strict=True)):
            found = Difference("no gradient") if a is None and b is not None else None if b is None else difference(a, b)
            if found is not None:
                self._record(False, hint, f"gradient of argument {number}: {found.summary} {found.detail}", "a gradient differs")
                return
        self._record(True, hint)

    # ---- properties -------------------------------------------------------------------------------------------------

    def unchanged(self, function: Callable[..., Any], *args: Any, hint: str = "", **kwargs: Any) -> None:
        """Student code leaves its inputs as they were."""
        hint = (
            hint or "your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)"
        )
        outcome = self._guarded(lambda: beside.inout(function, *args, **kwargs))
        if not isinstance(outcome, Failed) and outcome[0] is None:  # code that does nothing changes nothing: that is no merit
            outcome = Failed(NOTHING, "nothing came back")
        if self._usable(outcome, ""):  # without a result there is nothing to accuse it of
            changed = [i for i, (a, b) in enumerate(zip(outcome[1], args, strict=True)) if a is not b and not same(a, plain(b))]
            if changed or self._worth_counting():
                self._record(not changed, hint, f"argument {changed[0] + 1} was modified" if changed else "")

    def invariant(self, function: Callable[..., Any], args: Sequence[Any], others: Sequence[Any], hint: str) -> None:
        """The same result for two inputs."""
        first, second = self.run(function, *args), self.run(function, *others)
        if self._numeric(first, hint):
            self.close(second, first, hint) if as_tensor(first).numel() else self._record(
                False, hint, "the result is empty", "the result is empty"
            )

    def equivariant(self, function: Callable[[Any], Any], x: torch.Tensor, hint: str, dim: int = 0, out_dim: int = 0) -> None:
        """Shuffling the input along `dim` shuffles the output along `out_dim` in the same way."""
        order = randperm(x.shape[dim])
        straight, shuffled = self.run(function, x), self.run(function, x.index_select(dim, order))
        if self._long_enough(straight, out_dim, len(order), hint):
            self.close(shuffled, as_tensor(straight).index_select(out_dim, order), hint)

    def causal(self, function: Callable[[Any], Any], x: torch.Tensor, hint: str, dim: int = 0, out_dim: int = 0) -> None:
        """What comes later along `dim` has no influence on earlier outputs along `out_dim`."""
        length = x.shape[dim]
        cut = max(1, length // 2)
        changed = x.clone()
        changed.narrow(dim, cut, length - cut).add_(1 + rand(1).to(x.dtype).item())
        before, after = self.run(function, x), self.run(function, changed)
        if self._long_enough(before, out_dim, cut, hint) and self._long_enough(after, out_dim, cut, hint):
            self.close(as_tensor(after).narrow(out_dim, 0, cut), as_tensor(before).narrow(out_dim, 0, cut), hint)

    # ---- cost, calls, source ----------------------------------------------------------------------------------------

    def flops(self, function: Callable[..., Any], *args: Any, at_most: float, hint: str, at_least: float = 1) -> None:
        """Counted floating-point operations of one call; fewer than an answer needs were not counted."""
        spent = self._guarded(lambda: beside.flops(function, *args))
        if self._usable(spent, hint) and self._worth_counting():
            seen = f"{spent:,} operations, at most {int(at_most):,} allowed"
            self._count(at_most >= spent, spent, at_least, hint, seen, "too many operations")

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
        counts = self._guarded(lambda: [beside.flops(function, *make_args(n)) for n in sizes])
        if self._usable(counts, hint) and self._worth_counting():
            slope = math.log(max(counts[-1], 1) / max(counts[-2], 1)) / math.log(sizes[-1] / sizes[-2])
            seen = f"operations grow like n^{slope:.2f}, expected n^{order:g}"
            self._count(slope <= order + 0.2 and all(counts), counts[-1], at_least, hint, seen, "the work grows too fast")

    def largest(self, function: Callable[..., Any], *args: Any, elements: int, hint: str, at_least: float = 1) -> None:
        """No tensor created on the way has more than this many elements. `at_least`: operations that any answer takes."""
        cost = self._guarded(lambda: beside.cost(function, *args))
        if self._usable(cost, hint) and self._worth_counting():
            seen = f"a tensor of {cost.largest:,} elements was created"
            enough = cost.flops if cost.largest else 0
            self._count(cost.largest <= elements, enough, at_least, hint, seen, "too large a tensor was created")

    def counted(self, condition: Any, hint: str) -> None:
        """A condition on what was counted holds: as `true`, but taken back where the kernel has seen more (`affordable`)."""
        if self._usable(condition, hint):
            self._count(bool(condition), 1, 1, hint, "", "")

    def _count(self, good: bool, operations: float, at_least: float, hint: str, seen: str, safe_seen: str) -> None:
        """Record a check of what was counted."""
        if operations < at_least:
            good, seen, safe_seen = False, UNCOUNTED, UNCOUNTED
        self._record(good and not self._unaffordable, hint, seen, safe_seen)
        self._counted += int(good and not self._unaffordable)
        self._overcounted = self._overcounted or not good

    def affordable(
        self,
        function: Callable[..., Any],
        make_args: Callable[[int], Sequence[Any]],
        size: int,
        *,
        megabytes: float,
        hint: str,
        or_nothing: bool = False,
    ) -> bool:
        """What the kernel sees of the call at one size: memory below a limit, and processor time that grows no faster than the size.

        The counter runs beside the student's code, which can hide its work from it; the kernel's figures are read from outside. They
        decide: where they say no, what was counted in this cell earns nothing either (`or_nothing`: nothing in this cell earns anything).
        Time is held against a quarter of the size, four times over before it counts: a machine that is busy makes an answer slow, but
        not slower for larger inputs. What takes little time in all is never too slow.
        """
        if self._overcounted:  # that has been said, at a size that does no harm
            return False
        if not self._worth_counting():
            return True
        seen = self._guarded(lambda: overspent(function, make_args, size, megabytes))
        good = self._usable(seen, hint) and not seen
        if isinstance(seen, str):
            self._record(good, hint, seen, seen)
        if not good:
            self._unaffordable = True
            self.outcome.passed -= self.outcome.passed if or_nothing else self._counted
            self._counted = 0
        return good

    def calls(self, counted: Any, hint: str, *, at_least: int = 1, at_most: int | None = None, exactly: int | None = None) -> None:
        """How often student code called what the test gave it, by the object's own `calls`. Never calling it is no merit."""
        good = counted.calls >= at_least and (at_most is None or counted.calls <= at_most) and (exactly is None or counted.calls == exactly)
        self._record(good, hint, f"{counted.calls} calls")

    def uses(self, function: Any, *names: str, hint: str) -> None:
        """The submitted source mentions every one of these names (or statements: "for", "while", "@")."""
        found = self._guarded(lambda: beside.names_in(beside.written(function)))
        if self._usable(found, hint):
            missing = [name for name in names if name not in found]
            self._record(not missing, hint, f"not used: {', '.join(missing)}")

    def avoids(
        self, function: Any, *names: str, hint: str, forbid: Sequence[Ban] = (), runs: Callable[[], Any] | None = None, own: bool = False
    ) -> None:
        """The submitted source of a function, or of several, mentions none of these names, and does without what is forbidden.

        A source can be written so that nothing can be read from it, so `runs` (which calls the function) must give the same result while
        `forbid` is refused. Without a result that is no merit.
        """
        functions = function if isinstance(function, tuple) else (function,)
        found = self._guarded(lambda: set().union(*(beside.names_in(beside.written(f), own=own) for f in functions)))
        if not self._usable(found, hint):
            return
        used = [name for name in (*names, *(BEHIND if forbid else ())) if name in found]
        if used or runs is None:
            self._record(not used, hint, f"used: {', '.join(used)}")
            return
        beside.seed(0)
        result = self.run(runs, forbid=forbid)
        beside.seed(0)
        again = self.run(runs)
        if self._usable(again, hint):
            failed = first_failure(result)
            seen = "the result is another one where that is refused" if failed is None else failed.__dict__["reason"]
            self._record(failed is None and same(result, again), hint, seen, "the result is another one where that is refused")

    def signature(self, function: Any, names: Sequence[str], hint: str = "") -> None:
        """The submitted function takes these parameters, in this order."""
        hint = hint or "keep the function's parameters as they were given"
        found = self._guarded(lambda: beside.parameters_of(beside.written(function)))
        if self._usable(found, hint):
            self._record(list(found) == list(names), hint, f"expected ({', '.join(names)}), got ({', '.join(found)})")

    def _worth_counting(self) -> bool:
        """Where everything before failed, shapes aside, a check that a wrong answer passes as well fails, too."""
        if self.outcome.reached > self.outcome.passed == self._shapes:
            self._record(False, ONLY_RIGHT)
            return False
        return True

    # ---- the end ----------------------------------------------------------------------------------------------------

    def score(self) -> float:
        """Show the outcome, restore the random state, and give the points earned as a plain float."""
        beside.restore_random_state(self._random_state)
        if not self.outcome.reached:
            raise RuntimeError(f"the test cell of {self.outcome.name} reached no check")
        if self.outcome.unwritten and not self.outcome.passed:  # what to write is all there is to say
            self.outcome.findings = []
        report.show(self.outcome)
        return self.outcome.score

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

    def _usable(self, value: Any, hint: str) -> bool:
        """False, with a failed check on the record, where student code gave nothing to judge."""
        failed = first_failure(value)
        if failed is not None and failed.__dict__["unwritten"] is not None:
            self.outcome.reached += 1
            self.outcome.unwritten.setdefault(failed.__dict__["unwritten"].name, failed.__dict__["reason"])
        elif failed is not None:
            hidden = in_hidden_region()
            reason = self._safe_reason(failed) if hidden or discreet() else failed.__dict__["reason"]
            self.outcome.reached += 1
            self.outcome.findings.append(report.Finding(reason, f"{NO_RESULT}{hint}" if hint else "", hidden))
        return failed is None

    def _safe_reason(self, failed: Failed) -> str:
        """What may be said where hidden inputs are known: of several exceptions the first only, or they would spell out an input."""
        reason: str = failed.__dict__["safe_reason"]
        if not reason.startswith(RAISED):
            return reason
        self._raised = self._raised or reason
        return reason if reason == self._raised else ANOTHER

    def _numeric(self, value: Any, hint: str) -> bool:
        if not self._usable(value, hint):
            return False
        try:
            as_tensor(value)
        except (TypeError, ValueError, RuntimeError):
            self._record(False, hint, f"expected a tensor, got {describe(value)}", "the result is not a tensor")
            return False
        return True

    def _long_enough(self, value: Any, dim: int, length: int, hint: str) -> bool:
        """A tensor with at least `length` entries along `dim`; else a failed check is on the record."""
        if not self._numeric(value, hint):
            return False
        tensor = as_tensor(value)
        if tensor.dim() <= dim or tensor.shape[dim] < length:
            self._record(
                False,
                hint,
                f"axis {dim} of the output should be as long as the input's, got {describe(value)}",
                "the output has the wrong shape",
            )
            return False
        return True

    def _record(self, good: bool, hint: str, seen: str = "", safe_seen: str = "") -> None:
        """Count one check. For a hidden check only `safe_seen` is shown: never an input, a value or a student's own text."""
        self.outcome.reached += 1
        if good:
            self.outcome.passed += 1
            return
        hidden = in_hidden_region()
        self.outcome.findings.append(report.Finding(hint, safe_seen if hidden or discreet() else seen, hidden))


def overspent(function: Callable[..., Any], make_args: Callable[[int], Sequence[Any]], size: int, megabytes: float) -> str:
    """What the kernel saw that was too much, or nothing."""
    for _ in range(TRIES):
        little, much = beside.spent(function, *make_args(size // 4)), beside.spent(function, *make_args(size))
        if much.bytes > megabytes * 2**20:
            return "it took far more memory than it may, by the kernel's figures"
        if much.seconds <= FASTER_THAN_LINEAR * little.seconds + SHORT_SECONDS:
            return ""
    return "for an input four times as large it worked far more than four times as long, by the kernel's figures"


PLAIN = (bool, int, float, complex, str, bytes, type(None), set, frozenset, range, slice, torch.dtype, torch.device, torch.Tensor)


def usable(value: Any, dtype: torch.dtype | None) -> Any:
    """What `run` gives: plain data. An object with methods of its own would take part in its own judgement.

    Where no input says how precise the result should be, half precision buys no tolerance.
    """
    if isinstance(value, list | tuple):
        items = [usable(item, dtype) for item in value]
        return (
            value
            if all(a is b for a, b in zip(items, value, strict=True))
            else type(value)(items)
            if type(value) in (list, tuple)
            else items
        )
    if isinstance(value, dict):
        return {key: usable(item, dtype) for key, item in value.items()}
    if isinstance(value, torch.Tensor) and dtype is None and value.dtype in (torch.float16, torch.bfloat16):
        return value.float()
    if not isinstance(value, (*PLAIN, Failed)):
        raise StudentError(Failed(f"{NOT_PLAIN}, got {type(value).__name__}", NOT_PLAIN))
    return value


def same(a: Any, b: Any) -> bool:
    """Equality of plain data, entry by entry; never by an object's own idea of equality."""
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        try:
            left, right = as_tensor(a), as_tensor(b)
        except (TypeError, ValueError, RuntimeError):
            return False
        if left.shape != right.shape or left.is_complex() != right.is_complex():
            return False
        if not (left.is_floating_point() or right.is_floating_point() or left.is_complex()):
            return bool((left == right).all())
        kind = torch.complex128 if left.is_complex() else torch.float64
        return bool(torch.isclose(left.to(kind), right.to(kind), rtol=0, atol=0, equal_nan=True).all())
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    exact = (int, float, str, bytes, bool, set, frozenset, type(None))  # a subclass could bring its own idea of equality
    return type(a) in exact and type(b) in exact and bool(a == b)


def reference_gradient(function: Callable[[torch.Tensor], torch.Tensor], at: torch.Tensor) -> torch.Tensor:
    """Gradient of the test's own scalar function in float64: autograd's, after central differences have agreed with it."""
    x = at.detach().double().clone().requires_grad_()
    (exact,) = torch.autograd.grad(function(x), x)
    step = 1e-6
    estimate = torch.zeros_like(exact)
    with torch.no_grad():
        for index in range(x.numel()):
            shift = torch.zeros(x.numel(), dtype=torch.float64)
            shift[index] = step
            shift = shift.view_as(x)
            estimate.view(-1)[index] = (function(x + shift) - function(x - shift)) / (2 * step)
    if difference(estimate, exact, rtol=1e-5, atol=1e-6) is not None:
        raise RuntimeError("the test's reference is not differentiable here: autograd and finite differences disagree")
    return exact
