"""What 15-kernels shows around its exercises: pictures of a launch, a chain of kernels, the message without a GPU."""

from __future__ import annotations

import importlib.util
import json
import re

import numpy as np
import pytest
import torch

from helpers.kernels import gpu, launches, unfused
from helpers.kit.tiles import tl, triton


@triton.jit
def halves(x, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + places, tl.load(x + places, mask=places < n), mask=places < n)


@pytest.fixture
def seen() -> launches.Watched:
    return launches.watch(halves, (2,), torch.zeros(3, 10), torch.zeros(3, 10), 30, BLOCK=16)


def test_every_program_lights_up_its_own_numbers(seen: launches.Watched) -> None:
    assert seen.programs == [(0, 0, 0), (1, 0, 0)]
    first, second = seen.touched
    assert first["x"].shape == (3, 10)
    assert np.array_equal(first["x"].ravel(), [1] * 16 + [0] * 14)
    assert np.array_equal(second["out"].ravel(), [0] * 16 + [2] * 14)


def test_watching_leaves_the_tensors_alone() -> None:
    out = torch.zeros(30)
    launches.watch(halves, (2,), torch.ones(30), out, 30, BLOCK=16)
    assert out.eq(0).all()


def test_large_arrays_are_drawn_coarsely_and_nothing_is_lost() -> None:
    picture = np.zeros((1000, 70), int)
    picture[999, 69] = 2
    small = launches.coarse(picture)
    assert max(small.shape) <= launches.MOST_CELLS
    assert small[-1, -1] == 2
    assert small.sum() == 2


def test_the_page_and_the_figure_show_every_array(seen: launches.Watched) -> None:
    page = launches.step_through(seen).data
    assert not re.findall(r"@[A-Z]+@", page)
    assert json.loads(re.search(r"shapes = (\{.*?\});", page)[1]) == {"x": [3, 10], "out": [3, 10]}  # type: ignore[index]
    figure = launches.still(seen, (0, 1))
    assert [ax.get_title() for ax in figure.axes] == ["x", "out", "x", "out"]


def test_the_unfused_chain_moves_what_the_notebook_says() -> None:
    x = torch.randn(7, 13)
    out, loaded, stored = unfused.softmax(x)
    torch.testing.assert_close(out, x.softmax(1))
    assert (loaded, stored) == (4 * (5 * 7 * 13 + 2 * 7), 4 * (3 * 7 * 13 + 2 * 7))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_nothing_is_timed_and_a_message_says_so() -> None:
    def never(*args: torch.Tensor) -> torch.Tensor:
        raise AssertionError("called without a GPU")

    assert gpu.compare(never) == gpu.NO_GPU


def test_a_kernel_is_compiled_for_an_a100_where_triton_is_installed() -> None:
    made = gpu.compiled_for_a100(halves, {"x": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 128})
    if importlib.util.find_spec("triton") is None:
        assert made is None
    else:
        assert made is not None
        assert made.lines > 10
        assert made.tensor_core_instructions == 0
