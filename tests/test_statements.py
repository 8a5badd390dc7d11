"""What the assignments state and expect is true: numbers of visible tests recomputed in float64, claims tried on
examples.
"""

from __future__ import annotations

import ast
import itertools
import math
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autograder.authoring.source import read
from autograder.model import regions
from autograder.model.notebook import Cell

SOLUTIONS = Path(__file__).parent.parent / "solutions"


@cache
def cells(assignment: str) -> list[Cell]:
    return read(SOLUTIONS / assignment / f"{assignment}.py")


@cache
def reference(assignment: str) -> Any:
    """The names that the set-up cell and the model answers of an assignment define."""
    names: dict[str, Any] = {}
    for cell in cells(assignment):
        if cell.kind == "code" and (cell.grade_id == "setup" or cell.is_solution):
            exec(compile(cell.source, cell.grade_id, "exec"), names)
    return SimpleNamespace(**names)


def visible_test(assignment: str, exercise: str) -> str:
    """The test cell of an exercise as a student sees it."""
    (source,) = [cell.source for cell in cells(assignment) if cell.grade_id == f"{exercise}-test"]
    return regions.without(source, regions.Kind.HIDDEN)


# ---- 05: the smallest interval ---------------------------------------------------------------------------------------


def possible(
    p: float, lead: tuple[float, float], lifted: tuple[float, float], anchor: tuple[float, float], b: float, facts: bool
) -> bool:
    """Is there a p(v*) in `lead` with which this p(v) shows what was shown?

    With `facts`, v* leads and two words sum to at most one.
    """
    Z = 1 + p * math.expm1(b)
    if not lifted[0] <= p * math.exp(b) / Z <= lifted[1]:
        return False
    low, high = max(lead[0], anchor[0] * Z), min(lead[1], anchor[1] * Z)
    if facts:
        low, high = max(low, p), min(high, 1 - p)
    return low <= high


def by_brute_force(
    case: tuple[float, float, float, float, int], facts: bool, points: int = 200_001
) -> tuple[float, float]:
    *shown, b, digits = case
    half = 0.5 * 10.0**-digits
    lead, lifted, anchor = ((max(x - half, 0.0), min(x + half, 1.0)) for x in shown)
    fits = [k / (points - 1) for k in range(points) if possible(k / (points - 1), lead, lifted, anchor, b, facts)]
    return min(fits), max(fits)


def shown_intervals(source: str) -> list[tuple[tuple[float, ...], list[float]]]:
    """Arguments and expected ends of every visible call of `interval` with rounded numbers."""
    calls = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "check.close"
    ]
    runs = {
        ast.unparse(node.targets[0]): node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
    }
    found = []
    for call in calls:
        run = runs.get(ast.unparse(call.args[0]), call.args[0])
        assert isinstance(run, ast.Call)
        arguments = [eval(ast.unparse(a), {"math": math}) for a in run.args[1:]]
        if arguments[-1] is not None:
            found.append((tuple(arguments), eval(ast.unparse(call.args[1]), {"math": math})))
    return found


def test_the_interval_of_the_example_is_the_smallest() -> None:
    low, high = reference("05-logit-bias").interval(0.5, 0.54, 0.33, 1.0, 2)
    assert (round(low, 4), round(high, 4)) == (0.2974, 0.3059)


INTERVALS = shown_intervals(visible_test("05-logit-bias", "interval"))


@pytest.mark.parametrize(("case", "expected"), INTERVALS, ids=[str(case) for case, _ in INTERVALS])
def test_visible_intervals_are_those_of_a_search_over_all_values(case: tuple[Any, ...], expected: list[float]) -> None:
    computed = reference("05-logit-bias").interval(*case)
    assert computed == pytest.approx(expected, rel=1e-5, abs=1e-12)
    assert by_brute_force(case, facts=False) == pytest.approx(computed, abs=1.1e-5)
    if expected[1] < 1:  # then knowing that v* leads, and that probabilities sum to one, would not change the answer
        assert by_brute_force(case, facts=True) == pytest.approx(computed, abs=1.1e-5)


def test_every_visible_interval_belongs_to_a_distribution() -> None:
    assert len(INTERVALS) >= 5
    for (s, a, c, b, digits), _ in INTERVALS:
        half = 0.5 * 10.0**-digits
        for p, lead in itertools.product(
            [k / 1000 for k in range(1, 500)], [s + half * f for f in (-0.9, -0.5, 0.0, 0.5, 0.9)]
        ):
            Z = 1 + p * math.expm1(b)
            if p <= lead <= 1 - p and (
                round(p * math.exp(b) / Z, digits),
                round(lead / Z, digits),
                round(lead, digits),
            ) == (a, c, s):
                break
        else:
            pytest.fail(f"no distribution shows {s}, {a}, {c}")


def test_the_smallest_interval_lies_within_the_box_and_contains_the_truth() -> None:
    interval = reference("05-logit-bias").interval
    generator = torch.Generator().manual_seed(0)
    smaller = 0
    for _ in range(200):
        p = (
            (2 * torch.randn(9, generator=generator, dtype=torch.float64))
            .softmax(0)
            .sort(descending=True)
            .values.tolist()
        )
        b, digits, half = 3.0, 3, 0.0005
        Z = 1 + p[1] * math.expm1(b)
        s, a, c = (round(x, digits) for x in (p[0], p[1] * math.exp(b) / Z, p[0] / Z))
        low, high = interval(s, a, c, b, digits)
        assert low <= p[1] <= high
        if c > half:
            box = [
                (s - half) * max(a - half, 0) / (c + half) * math.exp(-b),
                (s + half) * (a + half) / (c - half) * math.exp(-b),
            ]
            assert box[0] <= low * (1 + 1e-12)
            assert high <= box[1] * (1 + 1e-12)
            smaller += high - low < 0.9 * (box[1] - box[0])
    assert smaller > 100


# ---- 02 and 04 -------------------------------------------------------------------------------------------------------


def test_tanh_can_have_a_larger_jacobian_than_the_linear_network_but_not_for_a_multiple_of_an_orthogonal_matrix() -> (
    None
):
    jacobian = reference("02-rnn-backprop").state_jacobian
    W = torch.tensor([[1.0, 1.0], [-1.0, -1.0]], dtype=torch.float64)
    states = torch.tensor([[0.0, 0.0], [0.0, 0.9], [0.0, 0.0]], dtype=torch.float64)
    assert bool((W @ W == 0).all())
    assert torch.linalg.matrix_norm(jacobian(W, states), 2) > 1
    generator = torch.Generator().manual_seed(1)
    Q = torch.linalg.qr(torch.randn(5, 5, generator=generator, dtype=torch.float64))[0]
    for rho in (0.5, 1.0, 1.5):
        h = torch.rand(4, 5, generator=generator, dtype=torch.float64) * 2 - 1
        assert torch.linalg.matrix_norm(jacobian(rho * Q, h), 2) <= rho**3 * (1 + 1e-12)


@pytest.mark.parametrize("value", [-20.0, -100.0, -1e6, 0.0, 1e6])
def test_kernel_attention_is_finite_wherever_the_inputs_lie(value: float) -> None:
    names = reference("04-linear-attention")
    tokens = torch.full((5, 3), value)
    assert bool((names.features(tokens) > 0).all())
    for attend in (names.kernel_attention, names.causal_linear_attention):
        torch.testing.assert_close(attend(tokens, tokens, torch.ones(5, 2)), torch.ones(5, 2))


def test_one_plus_elu_is_zero_where_the_feature_map_is_not() -> None:
    x = torch.tensor([-20.0])
    assert (torch.nn.functional.elu(x) + 1).item() == 0.0
    assert reference("04-linear-attention").features(x).item() == pytest.approx(math.exp(-20), rel=1e-5)


def test_the_floor_holds_for_the_matrix_and_not_for_one_sequence() -> None:
    floor = reference("04-linear-attention").copying_floor
    generator = torch.Generator().manual_seed(2)
    shift = torch.eye(64, dtype=torch.float64).roll(1, 0)
    V = torch.randn(64, 4, generator=generator, dtype=torch.float64)
    A = shift @ V @ torch.linalg.pinv(V)
    assert torch.linalg.matrix_rank(A) == 4
    assert (A - shift).square().sum() / 64 >= floor(64, 4) - 1e-12
    torch.testing.assert_close(A @ V, shift @ V)


def test_distinct_keys_are_selected_exactly_at_the_corners_of_their_hull_and_twins_never() -> None:
    weights = reference("03-attention").lookup_weights
    angles = torch.arange(0, 2 * math.pi, 0.01, dtype=torch.float64)
    queries = 1e4 * torch.stack([angles.cos(), angles.sin()], dim=1)
    square = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]], dtype=torch.float64)
    inner = torch.tensor([[0.2, 0.1], [1.0, 0.0]], dtype=torch.float64)  # inside, and on an edge
    most = weights(queries, torch.cat([square, inner])).amax(0)
    assert (most > 0.999).tolist() == [True] * 4 + [False] * 2
    twins = weights(queries, torch.cat([square, square[:1]])).amax(0)
    assert (twins > 0.999).tolist() == [False, True, True, True, False]


# ---- 06: encoding ----------------------------------------------------------------------------------------------------


def replayed(word: bytes, ranks: dict[tuple[bytes, bytes], int], merge: Any) -> list[bytes]:
    """The merges replayed on the whole word, one by one: slow and plain."""
    parts = tuple(bytes([b]) for b in word)
    while known := [pair for pair in itertools.pairwise(parts) if pair in ranks]:
        parts = merge(parts, min(known, key=lambda pair: ranks[pair]))
    return list(parts)


def test_the_encoder_with_a_queue_gives_the_tokens_of_the_plain_one() -> None:
    names = reference("06-tokenization")
    generator = torch.Generator().manual_seed(0)
    for case in range(400):
        letters = 2 + case % 3
        tokens, ranks = [bytes([97 + n]) for n in range(letters)], {}
        for _ in range(
            case % 17
        ):  # merges of tokens made so far, in an order of their own: later ones may have lower ranks
            left, right = (tokens[int(torch.randint(len(tokens), (1,), generator=generator))] for _ in range(2))
            ranks[left, right] = 0
            tokens.append(left + right)
        order = torch.randperm(len(ranks), generator=generator).tolist() if case % 2 else range(len(ranks))
        ranks = dict(zip(ranks, order, strict=True))
        word = bytes((97 + torch.randint(letters, (case % 40,), generator=generator)).tolist())
        assert names.encode_word(word, ranks) == replayed(word, ranks, names.merge), (word, ranks)


def test_a_long_word_costs_an_encoder_a_near_linear_number_of_lookups() -> None:
    class Counting(dict[tuple[bytes, bytes], int]):
        count = 0

        def __contains__(self, key: object) -> bool:
            self.count += 1
            return super().__contains__(key)

        def __getitem__(self, key: tuple[bytes, bytes]) -> int:
            self.count += 1
            return super().__getitem__(key)

    names = reference("06-tokenization")
    generator = torch.Generator().manual_seed(1)
    counts = []
    for length in (2_000, 16_000):
        word = bytes((97 + torch.randint(6, (length,), generator=generator)).tolist())
        ranks = Counting({(bytes([97 + a]), bytes([97 + b])): 6 * a + b for a in range(6) for b in range(6)})
        names.encode_word(word, ranks)
        counts.append(ranks.count)
    assert counts[1] < 12 * counts[0]  # eight times the letters


def test_the_worked_example_of_safe_places() -> None:
    names = reference("06-tokenization")
    text = "so.<|endoftext|>Yes.\n\nThey'l<|endof"
    assert len(text) == 35
    assert names.safe_cut(text, [names.END]) == 20
    assert [(found.start(), found.group()) for found in names.PRETOKEN.finditer(text, 16, 23)] == [
        (16, "Yes"),
        (19, "."),
        (20, "\n"),
        (21, "\n"),
        (22, "T"),
    ]


# ---- 08 and 09 -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_an_odd_width_has_one_cosine_less(layout: str) -> None:
    sinusoidal = reference("08-positions").sinusoidal
    positions = torch.tensor([[0, 3, 17], [1, 2, 250]])
    for width in (1, 2, 5, 8, 9):
        angles = positions[..., None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
        sines, cosines = angles.sin(), angles.cos()[..., : width // 2]
        wanted = torch.empty(2, 3, width)
        if layout == "halves":
            wanted[..., : -(-width // 2)], wanted[..., -(-width // 2) :] = sines, cosines
        else:
            wanted[..., 0::2], wanted[..., 1::2] = sines, cosines
        torch.testing.assert_close(sinusoidal(positions, width, layout), wanted)


@pytest.mark.parametrize(
    "knobs", [{"top_p": 0.0}, {"top_k": 0}, {"top_k": 0, "top_p": 0.0}, {"top_k": 1}, {"top_p": 1e-9}]
)
def test_at_least_one_token_stays(knobs: dict[str, Any]) -> None:
    logits = torch.randn(4, 7, generator=torch.Generator().manual_seed(0))
    greedy = torch.nn.functional.one_hot(logits.argmax(-1), 7).float()
    torch.testing.assert_close(reference("09-gpt").next_distribution(logits, **knobs), greedy)


@pytest.mark.parametrize(("layers", "exact"), [(1, True), (2, False)])
def test_a_sliding_cache_with_relative_positions_is_exact_for_one_layer_only(layers: int, exact: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randn(9, 4, generator=generator, dtype=torch.float64)
    W = torch.randn(layers, 3, 4, 4, generator=generator, dtype=torch.float64)
    window = 4

    def states(x: torch.Tensor) -> torch.Tensor:
        """Causal attention that looks `window` tokens back, with a bias that depends on the distance alone."""
        places = torch.arange(len(x))
        distance = places[:, None] - places
        hidden = (distance < 0) | (distance >= window)
        for query, key, value in W:
            scores = (x @ query) @ (x @ key).T - 0.3 * distance
            x = x + scores.masked_fill(hidden, -torch.inf).softmax(-1) @ (x @ value)
        return x

    kept, anew = (
        states(tokens)[-1],
        states(tokens[-window:])[-1],
    )  # with a cache nothing is computed twice; without it the window is
    assert torch.allclose(kept, anew) == exact


# ---- exercises that are recalled later -------------------------------------------------------------------------------


def given(assignment: str, name: str) -> Any:
    """A function that a given cell of an assignment defines, with the names of the set-up cell around it."""
    names: dict[str, Any] = dict(vars(reference(assignment)))
    (source,) = [cell.source for cell in cells(assignment) if not cell.grade_id and f"def {name}(" in cell.source]
    module = ast.parse(source)
    module.body = [
        node for node in module.body if isinstance(node, ast.FunctionDef)
    ]  # what stands below them needs the cells before
    exec(compile(module, f"<given {name}>", "exec"), names)
    return names[name]


def test_13_recalls_the_schedule_that_was_built_in_12() -> None:
    built, rate, peak = (
        reference("12-translation").noam,
        given("13-training-craft", "noam_rate"),
        given("13-training-craft", "noam_peak"),
    )
    for step, width, warmup, factor in itertools.product((1, 3, 40, 41, 5000), (7, 512), (1, 40), (1.0, 2.5)):
        assert rate(step, width, warmup, factor) == pytest.approx(built(step, width, warmup, factor), rel=1e-12)
        assert rate(step, width, warmup, factor) <= peak(width, warmup, factor) * (1 + 1e-12)
    assert rate(0, 64, 10) == 0.0


@pytest.mark.parametrize("heads", [1, 2, 3, 6, 8, 12])
def test_11_recalls_the_bias_that_was_built_in_08(heads: int) -> None:
    from helpers.kit import models

    built, at = reference("08-positions"), torch.arange(5)
    recalled = models.alibi_bias(models.alibi_slopes(heads), 5, 5)
    torch.testing.assert_close(recalled, built.alibi_bias(at, at, built.alibi_slopes(heads)))


def test_14_recalls_the_sign_test_that_was_built_in_11() -> None:
    built, recalled = reference("11-speeches").sign_test, given("14-fine-tuning", "sign_p")
    for n_a, n_b in itertools.product((0, 1, 4, 30), (0, 2, 4, 700)):
        first, second = [True] * n_a + [False] * n_b + [True, False], [False] * n_a + [True] * n_b + [True, False]
        assert recalled(n_a, n_b) == pytest.approx(built(first, second), rel=1e-12)
