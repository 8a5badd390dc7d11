"""`Check`: what a test cell judges student code with.

Values and properties are here, cost and source in modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from helpers.checks import student_side
from helpers.checks.bans import Ban
from helpers.checks.cell_lines import discreet, in_hidden_region
from helpers.checks.compare import Difference, as_tensor, describe, difference, same
from helpers.checks.cost_checks import CostChecks
from helpers.checks.failed import NOTHING, Failed
from helpers.checks.plain_data import copied, is_plain, plain
from helpers.checks.quiet import failure_of
from helpers.checks.random_numbers import rand, randn, randperm
from helpers.checks.relations import of_shapes, relation
from helpers.checks.source_checks import SourceChecks

IN_PLACE = (
    "your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an"
    " argument)"
)


class Check(CostChecks, SourceChecks):
    """The judge of one test cell.

    Every method that takes a `hint` is one check. Checks are grouped into named requirements, `with check.idea(…)`,
    `check.part(…)`, `check.edge(…)`: see `helpers/checks/credit.py` for what they are worth. (A cell without any earns
    points × checks passed / checks reached.) A failed check never stops the cell; `score()` ends it and returns the
    points. Call student code through `run` (or hand the function to a check), so that an exception costs only the
    checks that needed its result.
    """

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
        """Call student code on copies of the arguments.

        Gives plain data: arrays as tensors, floats in the inputs' dtype.

        With `shape` the result must be one tensor of that shape, which counts as a check. What cannot be used comes
        back as a `Failed`, which fails every check it is given to. What is in `forbid` is refused during the call: see
        `helpers/checks/bans.py`.
        """
        result = self._run(function, args, kwargs, forbid)
        return result if shape is None else self.shape(result, shape, hint)

    def keep(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call student code and keep the object it makes (a model, a tokenizer); use its methods through `run`."""
        return self._guarded(lambda: student_side.keep(function, *args, **kwargs))

    def measure(self, measurement: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Carry out one of the measurements of `checks` (gradients, inout, cost, optimizer) on student code."""
        return self._guarded(lambda: measurement(*args, **kwargs))

    # ---- single checks ----------------------------------------------------------------------------------------------

    def true(self, condition: Any, hint: str) -> None:
        """The condition holds (a bool, or a tensor of which every entry must be true)."""
        if self._usable(condition, hint):
            good = (
                condition.numel() > 0 and bool(condition.all())
                if isinstance(condition, torch.Tensor)
                else bool(condition)
            )
            self._record(good, hint)

    def equal(self, actual: Any, expected: Any, hint: str, wrong: Mapping[str, Any] | None = None) -> None:
        """Exactly the same plain data; a list and a tuple, or a tensor and a list, of the same values are the same."""
        if not self._usable(actual, hint):
            return
        slips = {} if wrong is None else wrong
        self._audit_names(lambda: {name: not same(expected, value) for name, value in slips.items()})
        if not same(actual, expected):
            mistake = next((name for name, value in slips.items() if same(actual, value)), "")
            seen = f"expected {'None' if expected is None else describe(expected)}, got {describe(actual)}"
            fact = "" if mistake else relation(actual, expected)
            self._record(False, mistake or self._with(fact, hint), seen, matched=bool(mistake), fact=fact)
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
            told = self._with(of_shapes(tuple(tensor.shape), tuple(shape)), hint)
            self._record(False, told, reason, "the result has the wrong shape")
            return Failed(reason, "the result has the wrong shape")
        self._record(True, hint, form=True)
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
        """Numbers that agree within the tolerance of their dtype.

        `wrong` maps the name of a mistake to the value it gives; `checks.Later` works dear values out when they are
        needed.
        """
        if not self._usable((actual, expected), hint):
            return
        slips = {} if wrong is None else wrong
        found = difference(actual, expected, rtol, atol)
        self._audit_names(
            lambda: {name: difference(value, expected, rtol, atol) is not None for name, value in slips.items()}
        )
        if found is None:
            self._record(True, hint)
            return
        mistake = next((name for name, value in slips.items() if difference(actual, value, rtol, atol) is None), "")
        seen = f"{found.summary}: {found.detail}" if found.detail else found.summary
        fact = "" if mistake else relation(actual, expected, numbers=not self._in_secret())
        self._record(False, mistake or self._with(fact, hint), seen, found.summary, matched=bool(mistake), fact=fact)

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
            self._record(
                False, hint, f"a probability is negative: {tensor.min().item():.4g}", "a probability is negative"
            )
        else:
            total = tensor.sum(dim)
            found = difference(total, torch.ones_like(total))
            self._record(
                found is None,
                hint,
                f"sums along axis {dim}: {found.detail}" if found else "",
                "the sums are not one",
                form=True,
            )

    def finite(self, value: Any, hint: str) -> None:
        """No NaN and no infinity."""
        if self._numeric(value, hint):
            tensor = as_tensor(value)
            bad = int((~torch.isfinite(tensor)).sum())
            seen = f"{bad} of {tensor.numel()} values are NaN or infinite" if tensor.numel() else "the result is empty"
            self._record(
                bad == 0 and tensor.numel() > 0, hint, seen, "NaN or infinity" if tensor.numel() else seen, form=True
            )

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
        """A derivative worked out by hand equals autograd's and a finite difference's of the test's own scalar
        function.
        """
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
        want = student_side.gradients(reference, args, cotangent)
        got = self._guarded(lambda: student_side.gradients(function, args, cotangent))
        if not self._usable(got, hint):
            return
        pairs = list(zip(got.inputs, want.inputs, strict=True))
        for number, (a, b) in enumerate(pairs):
            found = (
                Difference("no gradient") if a is None and b is not None else None if b is None else difference(a, b)
            )
            if found is not None:
                which = f"tensor {number + 1} of {len(pairs)} gets no gradient, because it is detached or not used"
                told = self._with(which if a is None and len(pairs) > 1 else "" if a is None else relation(a, b), hint)
                self._record(
                    False, told, f"gradient of argument {number}: {found.summary} {found.detail}", "a gradient differs"
                )
                return
        self._record(True, hint)

    # ---- properties -------------------------------------------------------------------------------------------------

    def unchanged(self, function: Callable[..., Any], *args: Any, hint: str = "", **kwargs: Any) -> None:
        """Student code leaves its inputs as they were."""
        hint = hint or IN_PLACE
        outcome = self._guarded(lambda: student_side.inout(function, *args, **kwargs))
        if (
            not isinstance(outcome, Failed) and outcome[0] is None
        ):  # code that does nothing changes nothing, and earns nothing for that
            outcome = Failed(NOTHING, "nothing came back")
        if self._usable(outcome, ""):
            pairs = enumerate(zip(outcome[1], args, strict=True))
            changed = [i for i, (after, before) in pairs if is_plain(before) and not same(after, plain(before))]
            if changed or self._worth_counting():
                self._record(
                    not changed,
                    hint,
                    f"argument {changed[0] + 1} was modified" if changed else "",
                    form=True,
                    named=True,
                )

    def invariant(self, function: Callable[..., Any], args: Sequence[Any], others: Sequence[Any], hint: str) -> None:
        """The same result for two inputs."""
        first, second = self.run(function, *args), self.run(function, *others)
        if self._numeric(first, hint):
            (
                self.close(second, first, hint)
                if as_tensor(first).numel()
                else self._record(False, hint, "the result is empty", "the result is empty")
            )

    def equivariant(
        self, function: Callable[[Any], Any], x: torch.Tensor, hint: str, dim: int = 0, out_dim: int = 0
    ) -> None:
        """Shuffling the input along `dim` shuffles the output along `out_dim` in the same way."""
        order = randperm(x.shape[dim])
        straight, shuffled = self.run(function, x), self.run(function, x.index_select(dim, order))
        if self._long_enough(straight, out_dim, len(order), hint):
            self.close(shuffled, as_tensor(straight).index_select(out_dim, order), hint)

    def causal(
        self, function: Callable[[Any], Any], x: torch.Tensor, hint: str, dim: int = 0, out_dim: int = 0
    ) -> None:
        """What comes later along `dim` has no influence on earlier outputs along `out_dim`."""
        length = x.shape[dim]
        cut = max(1, length // 2)
        changed = x.clone()
        changed.narrow(dim, cut, length - cut).add_(1 + rand(1).to(x.dtype).item())
        before, after = self.run(function, x), self.run(function, changed)
        if self._long_enough(before, out_dim, cut, hint) and self._long_enough(after, out_dim, cut, hint):
            self.close(as_tensor(after).narrow(out_dim, 0, cut), as_tensor(before).narrow(out_dim, 0, cut), hint)

    def calls(
        self, counted: Any, hint: str, *, at_least: int = 1, at_most: int | None = None, exactly: int | None = None
    ) -> None:
        """How often student code called what the test gave it, by the object's own `calls`.

        Never calling it is no merit.
        """
        good = (
            counted.calls >= at_least
            and (at_most is None or counted.calls <= at_most)
            and (exactly is None or counted.calls == exactly)
        )
        self._record(good, hint, f"{counted.calls} calls", form=True)

    # ---- conditions of several checks --------------------------------------------------------------------------------

    def _with(self, fact: str, hint: str) -> str:
        """What came, before the hint that says what was expected."""
        return f"{fact}; {hint}" if fact and hint else fact or hint

    def _in_secret(self) -> bool:
        return in_hidden_region() or discreet()

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


def reference_gradient(function: Callable[[torch.Tensor], torch.Tensor], at: torch.Tensor) -> torch.Tensor:
    """Gradient of the test's own scalar function in float64: autograd's, after central differences have agreed with
    it.
    """
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
