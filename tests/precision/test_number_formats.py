"""Number formats: the table and the reference solutions of 16-precision agree with torch, and the pictures can be
drawn.
"""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import pytest
import torch

from autograder.authoring.source import read
from helpers.precision import number_formats
from helpers.precision.number_formats import DTYPES, FORMATS, patterns

SOURCE = Path(__file__).parents[2] / "solutions" / "16-precision" / "16-precision.py"


@pytest.fixture(scope="module")
def reference() -> Any:
    """The names of the set-up cell and of all solution cells."""
    names: dict[str, Any] = {"__name__": "reference"}
    for cell in read(SOURCE):
        if cell.kind == "code" and (cell.grade_id == "setup" or cell.is_solution):
            exec(compile(cell.source, f"<cell {cell.grade_id}>", "exec"), names)
    return SimpleNamespace(**names)


def test_bits_add_up_to_the_size_of_the_dtype() -> None:
    for name, dtype in DTYPES.items():
        shape = FORMATS[name]
        assert 1 + shape.exponent_bits + shape.mantissa_bits == torch.finfo(dtype).bits
        assert torch.finfo(dtype).eps == 2.0**-shape.mantissa_bits


def test_patterns_are_read_as_torch_stores_them() -> None:
    numbers = torch.tensor([0.0, 1.0, -1.5, 448.0, -0.0625])
    for name in ("fp8 e4m3fn", "fp8 e5m2", "fp16", "bf16"):
        stored = numbers.to(DTYPES[name])
        carrier = torch.uint8 if torch.finfo(DTYPES[name]).bits == 8 else torch.int16
        bits = stored.view(carrier).long() % (1 << torch.finfo(DTYPES[name]).bits)
        assert torch.equal(number_formats.patterns(DTYPES[name], bits), stored.double())


def test_the_dial_offers_every_format_and_two_dials_do_not_collide() -> None:
    first, second = number_formats.bit_dial().data, number_formats.bit_dial().data
    for name in FORMATS:
        assert name in first
    assert "@" not in first.replace("@media", "")
    assert first.split('"')[1] != second.split('"')[1]


def test_a_curve_of_errors_ends_before_the_first_overflow() -> None:
    def round_to(x: torch.Tensor, exponent_bits: int, mantissa_bits: int, finite: bool) -> torch.Tensor:
        largest = torch.finfo(
            DTYPES[next(n for n, f in FORMATS.items() if f == (exponent_bits, mantissa_bits, finite))]
        ).max
        return torch.where(x > largest, torch.inf, x * 1.01)

    figure, ax = plt.subplots()
    number_formats.relative_errors(round_to, ax=ax)
    ends = {
        line.get_label(): int(line.get_xdata()[-1])
        for line in ax.get_lines()
        if not str(line.get_label()).startswith("_")
    }
    plt.close(figure)
    assert ends == {"bf16": 43, "fp16": 14, "fp8 e4m3fn": 7, "fp8 e5m2": 14}


def test_figures_can_be_drawn_without_a_warning(recwarn) -> None:
    def round_to(x: torch.Tensor, exponent_bits: int, mantissa_bits: int, finite: bool) -> torch.Tensor:
        name = next(n for n, f in FORMATS.items() if f == (exponent_bits, mantissa_bits, finite))
        return x.float().to(DTYPES[name]).double()

    figure, axes = plt.subplots(1, 2)
    number_formats.relative_errors(round_to, ax=axes[0])
    number_formats.gradient_histogram(
        [torch.randn(50) * 1e-6, torch.zeros(3)],
        {"as they are": 1.0, "scaled": 4096.0},
        (65504.0, 2.0**-14, 2.0**-24),
        ax=axes[1],
    )
    figure.canvas.draw()
    plt.close(figure)
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_every_bit_pattern_is_read_as_torch_reads_it(reference: Any) -> None:
    for name in ("fp8 e4m3fn", "fp8 e5m2", "fp16", "bf16"):
        bits = torch.arange(1 << torch.finfo(DTYPES[name]).bits)
        mine, theirs = reference.decode_bits(bits, *FORMATS[name]), patterns(DTYPES[name], bits)
        assert bool(((mine == theirs) | (mine.isnan() & theirs.isnan())).all()), name


def test_rounding_equals_torchs_for_every_representable_number_and_every_tie(reference: Any) -> None:
    for name in ("fp8 e4m3fn", "fp8 e5m2", "fp16", "bf16"):
        bits = torch.arange(1 << torch.finfo(DTYPES[name]).bits)
        numbers = patterns(DTYPES[name], bits)
        numbers = numbers[numbers.isfinite()].sort().values
        ties = (numbers[1:] + numbers[:-1]) / 2
        beside = torch.cat([ties * (1 + 1e-6), ties * (1 - 1e-6)])
        x = torch.cat(
            [numbers, ties, beside]
        ).float()  # float32 holds all of them well enough to stay on their side of a tie
        mine, theirs = reference.round_to(x, *FORMATS[name]), x.to(DTYPES[name]).double()
        assert bool((mine == theirs).all()), name


def test_masking_equals_bfloat16_and_tf32_keeps_ten_bits(reference: Any) -> None:
    generator = torch.Generator().manual_seed(0)
    bits = torch.randint(-(2**31), 2**31 - 1, (200_000,), generator=generator).to(torch.int32)
    x = bits.view(torch.float32)
    mine, theirs = reference.round_by_mask(x, 7), x.bfloat16().float()
    assert bool(((mine == theirs) | (mine.isnan() & theirs.isnan())).all())
    tf32 = reference.round_by_mask(x, 10)
    assert bool((tf32[tf32.isfinite()].view(torch.int32) & 0x1FFF == 0).all())
    expected = reference.round_to(x, 8, 10)
    assert bool(((tf32.double() == expected) | (tf32.isnan() & expected.isnan())).all())


def test_loss_scale_follows_torchs_grad_scaler(reference: Any) -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0, growth_interval=3)
    parameter = torch.nn.Parameter(torch.zeros(2))
    optimiser = torch.optim.SGD([parameter], lr=0.1)
    state = (256.0, 0)
    for overflow in [False, False, False, False, True, False, True, True, False, False, False, False]:
        scaler.scale(parameter.sum() * (math.inf if overflow else 1.0)).backward()
        scaler.step(optimiser)
        scaler.update()
        optimiser.zero_grad()
        state = reference.next_scale(*state, overflow, interval=3)
        assert scaler.get_scale() == state[0]
