"""Number formats: the table agrees with torch, and the pictures can be drawn."""

import matplotlib.pyplot as plt
import torch

from helpers import number_formats
from helpers.number_formats import DTYPES, FORMATS


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
        largest = torch.finfo(DTYPES[next(n for n, f in FORMATS.items() if f == (exponent_bits, mantissa_bits, finite))]).max
        return torch.where(x > largest, torch.inf, x * 1.01)

    figure, ax = plt.subplots()
    number_formats.relative_errors(round_to, ax=ax)
    ends = {line.get_label(): int(line.get_xdata()[-1]) for line in ax.get_lines() if not str(line.get_label()).startswith("_")}
    plt.close(figure)
    assert ends == {"bf16": 43, "fp16": 14, "fp8 e4m3fn": 7, "fp8 e5m2": 14}


def test_figures_can_be_drawn_without_a_warning(recwarn) -> None:
    def round_to(x: torch.Tensor, exponent_bits: int, mantissa_bits: int, finite: bool) -> torch.Tensor:
        name = next(n for n, f in FORMATS.items() if f == (exponent_bits, mantissa_bits, finite))
        return x.float().to(DTYPES[name]).double()

    figure, axes = plt.subplots(1, 2)
    number_formats.relative_errors(round_to, ax=axes[0])
    number_formats.gradient_histogram(
        [torch.randn(50) * 1e-6, torch.zeros(3)], {"as they are": 1.0, "scaled": 4096.0}, (65504.0, 2.0**-14, 2.0**-24), ax=axes[1]
    )
    figure.canvas.draw()
    plt.close(figure)
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]
