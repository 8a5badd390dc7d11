"""Two designs at equal cost: matched compute, the same batches, curves that say what they claim."""

import torch

from helpers.kit.models import LanguageModel, parameters
from helpers.precision import two_designs

SIZES = {"vocabulary": 11, "width": 24, "heads": 2, "layers": 2, "context": 8, "hidden": 96}


def test_the_designs_cost_the_same_and_have_almost_the_same_parameters() -> None:
    first, second = two_designs.original(**SIZES), two_designs.llama(64, **SIZES)
    assert two_designs.counted_flops(first, 3) == two_designs.counted_flops(second, 3)
    a, b = LanguageModel(first), LanguageModel(second)
    assert two_designs.multiplying_weights(a) == two_designs.multiplying_weights(b)
    assert abs(parameters(a) - parameters(b)) < 0.05 * parameters(a)


def test_counted_flops_follow_the_formula() -> None:
    shape = two_designs.llama(64, **SIZES)
    weights = two_designs.multiplying_weights(LanguageModel(shape))
    assert two_designs.counted_flops(shape, 3) == 3 * 8 * (6 * weights + 12 * 2 * 24 * 8)


def test_one_change_at_a_time_ends_at_the_second_design() -> None:
    shape = two_designs.original(**SIZES)
    for name in two_designs.CHANGES:
        shape = two_designs.changed(shape, [name], 64) if name == "SwiGLU" else two_designs.changed(shape, [name], 0)
    assert shape == two_designs.llama(64, **SIZES)


def test_a_curve_repeats_falls_and_leaves_the_random_state_alone() -> None:
    stream = torch.arange(400) % 11
    before = torch.get_rng_state()
    runs = [
        two_designs.learning_curve(two_designs.llama(64, **SIZES), stream, stream[:60], 30, 4, 3e-3, seed=1, points=6)
        for _ in range(2)
    ]
    assert torch.equal(torch.get_rng_state(), before)
    assert runs[0] == runs[1]
    assert runs[0].losses[-1] < runs[0].losses[0]
    assert runs[0].flops == sorted(set(runs[0].flops))
    assert len(runs[0].flops) == len(runs[0].losses)


def test_a_spread_has_one_row_a_seed_over_gigaflops() -> None:
    curves = [two_designs.Curve([1e9, 4e9], [3.0, 2.0]), two_designs.Curve([1e9, 4e9], [3.5, 1.5])]
    flops, losses = two_designs.spread(curves)
    assert flops == [1.0, 4.0]
    assert losses.tolist() == [[3.0, 2.0], [3.5, 1.5]]


def test_looks_end_with_the_last_step() -> None:
    assert two_designs.looks_at(500, 14)[-1] == 500
    assert two_designs.looks_at(1, 14) == [1]
