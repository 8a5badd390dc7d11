"""A semi-closed language model: it shows the two most likely words (or only one), takes a logit bias per word, and
counts.

The model behind it is one next-word distribution, given by its logits. Answers are exact to a few units of float64's
last place, also for very peaked distributions: no sum is ever formed by subtracting. A call with k biased words takes
O(k log V).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

WIDEST = 700.0  # e^-700 is about the smallest number that float64 holds with all its digits


class SemiClosedLM:
    """`top2(bias)` and `top1(bias)` answer; `vocabulary_size`, `bias_cap`, `digits` and `calls` say what one may know.

    `bias` maps words (0 … V−1) to numbers in [−bias_cap, bias_cap] that are added to their logits. With `digits` the
    probabilities are rounded to that many decimals. With `shown=1` the API answers `top1` only. Equally likely words
    come in the order of their numbers. A refused request raises TypeError or ValueError and is not counted.
    """

    PUBLIC: ClassVar[tuple[str, ...]] = ("top2", "top1", "vocabulary_size", "bias_cap", "digits", "calls")

    def __init__(self, logits: Any, *, bias_cap: float = 100.0, digits: int | None = None, shown: int = 2) -> None:
        values = np.asarray(logits, dtype=np.float64)
        if values.ndim != 1 or len(values) < 2:
            raise ValueError(f"logits: one number per word, for at least two words; got shape {values.shape}")
        if not np.isfinite(values).all() or np.ptp(values) > WIDEST:
            raise ValueError(f"logits must be finite and lie within {WIDEST:g} of each other")
        if not bias_cap > 0 or (digits is not None and digits < 1) or shown not in (1, 2):
            raise ValueError("bias_cap must be positive, digits at least 1 (or None), shown 1 or 2")
        self._logits: list[float] = values.tolist()
        self._order: list[int] = np.argsort(-values, kind="stable").tolist()
        self._highest = max(self._logits)
        self._sums = tree_of_sums(np.exp(values - self._highest).tolist())
        self._bias_cap, self._digits, self._shown = float(bias_cap), digits, shown
        self._calls = 0

    @property
    def vocabulary_size(self) -> int:
        """|V|: words are the numbers 0 … |V|−1."""
        return len(self._logits)

    @property
    def bias_cap(self) -> float:
        """The largest absolute bias a word may get."""
        return self._bias_cap

    @property
    def digits(self) -> int | None:
        """Decimals that probabilities are rounded to; None for no rounding."""
        return self._digits

    @property
    def calls(self) -> int:
        """Answers given so far."""
        return self._calls

    def top2(self, bias: Mapping[int, float] | None = None) -> list[tuple[int, float]]:
        """The two most likely words under this bias, most likely first: [(word, probability), (word, probability)]."""
        if self._shown < 2:
            raise ValueError("this API shows the most likely word only: call top1")
        return self._answer(bias, 2)

    def top1(self, bias: Mapping[int, float] | None = None) -> tuple[int, float]:
        """The most likely word under this bias and its probability."""
        return self._answer(bias, 1)[0]

    def _answer(self, bias: Mapping[int, float] | None, count: int) -> list[tuple[int, float]]:
        given = self._checked(bias)
        scores = [(-self._logits[word] - value, word) for word, value in given.items()]
        leaders = []
        for word in self._order:
            if word not in given:
                leaders.append((-self._logits[word], word))
                if len(leaders) == count:
                    break
        best = sorted(scores + leaders)[:count]
        top = -best[0][0]
        total = sum([math.exp(-score - top) for score, _ in scores])
        if leaders:
            total += self._sum_without(sorted(given)) * math.exp(self._highest - top)
        answer = [(word, math.exp(-score - top) / total) for score, word in best]
        self._calls += 1
        return answer if self._digits is None else [(word, round(p, self._digits)) for word, p in answer]

    def _checked(self, bias: Mapping[int, float] | None) -> dict[int, float]:
        if bias is None:
            return {}
        if not isinstance(bias, Mapping):
            raise TypeError(f"bias: a dict {{word: bias}} is expected, not {type(bias).__name__}")
        given: dict[int, float] = {}
        for key, amount in bias.items():
            try:
                word, value = operator.index(key), float(amount)
            except TypeError:
                raise TypeError(f"bias {{{key!r}: {amount!r}}}: words are integers, biases are numbers") from None
            if isinstance(key, bool) or not 0 <= word < len(self._logits):
                raise ValueError(f"there is no word {key!r}: words are the integers 0 to {len(self._logits) - 1}")
            if not abs(value) <= self._bias_cap:
                raise ValueError(
                    f"bias {value:g} for word {word}: at most {self._bias_cap:g} in absolute value is allowed"
                )
            given[word] = value
        if len(given) != len(bias):
            raise ValueError("the same word is biased twice")
        return given

    def _sum_without(self, left_out: Sequence[int]) -> float:
        """Sum of e^(logit − highest logit) over all words but these, which are in ascending order."""
        total, start = 0.0, 0
        for word in left_out:
            total += self._sum_between(start, word)
            start = word + 1
        return total + self._sum_between(start, len(self._logits))

    def _sum_between(self, start: int, end: int) -> float:
        sums, total = self._sums, 0.0
        low, high = start + len(self._logits), end + len(self._logits)
        while low < high:
            if low & 1:
                total += sums[low]
                low += 1
            if high & 1:
                high -= 1
                total += sums[high]
            low >>= 1
            high >>= 1
        return total


def tree_of_sums(weights: list[float]) -> list[float]:
    """A binary tree in a list: leaves are the weights, at n … 2n−1; node i is the sum of nodes 2i and 2i+1."""
    n = len(weights)
    tree = [0.0] * n + weights
    for node in range(n - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]
    return tree
