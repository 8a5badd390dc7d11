# ruff: noqa: E701, F841  kernels that are wrong on purpose, in one line
"""`tiles`, the simulator of a GPU: numbers, costs, bounds, races and refusals."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tile_kernels
import torch

from helpers.kit import tiles
from helpers.kit.tiles import language, launch, tl, triton, types

NAN = float("nan")


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + places, tl.load(x + places, mask=places < n), mask=places < n)


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_kernels_give_what_torch_gives():
    after = tile_kernels.results()
    x, y, out = after["add"]
    assert torch.equal(out, x + y)
    x, out = after["softmax"]
    torch.testing.assert_close(out, x.softmax(1))
    a, b, c = after["matmul"]
    torch.testing.assert_close(c, a @ b)
    x, weight, out = after["rms norm"]
    torch.testing.assert_close(out, x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-5) * weight)
    for causal in (False, True):
        q, k, v, out, lse = after[f"flash, causal {causal}"]
        scores = q @ k.mT * 0.25
        scores = scores.masked_fill(~torch.ones(50, 50, dtype=torch.bool).tril(), -torch.inf) if causal else scores
        torch.testing.assert_close(out, scores.softmax(-1) @ v)
        torch.testing.assert_close(lse, scores.logsumexp(-1))
    x, out = after["atomics"]
    torch.testing.assert_close(out, x.sum(0))


def test_bfloat16_rounds_as_torch_does():
    x = torch.cat(
        [
            torch.randn(5000) * 10.0 ** torch.randint(-30, 30, (5000,)),
            torch.tensor([0.0, -0.0, torch.inf, -torch.inf, NAN]),
        ]
    )
    ours = torch.from_numpy(types.to_bfloat16(x.numpy()))
    assert torch.equal(ours.nan_to_num(7.0), x.bfloat16().float().nan_to_num(7.0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_arithmetic_in_half_precision_rounds_after_every_step(dtype):
    x, y, out = torch.randn(64).to(dtype), torch.randn(64).to(dtype), torch.full((64,), NAN).to(dtype)
    sums[(1,)](x, y, out, BLOCK=64)
    assert torch.equal(out, x * y + x)


@triton.jit
def sums(x, y, out, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    a = tl.load(x + places)
    tl.store(out + places, a * tl.load(y + places) + a)


@triton.jit
def masked(x, numbers, out, whole, n, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    tl.store(out + places, tl.load(x + places, mask=places < n))
    tl.store(whole + places, tl.load(numbers + places, mask=places < n))


def test_masked_lanes_without_other_are_undefined_and_stay_visible():
    out, whole = torch.zeros(16), torch.zeros(16, dtype=torch.int32)
    masked[(1,)](torch.ones(10), torch.ones(10, dtype=torch.int32), out, whole, 10, BLOCK=16)
    assert out[:10].eq(1).all()
    assert out[10:].isnan().all()
    assert whole[:10].eq(1).all()
    assert not ((whole[10:] >= 0) & (whole[10:] < 1000)).any()


def test_programs_run_in_a_shuffled_order_that_is_always_the_same():
    programs = launch.order((4, 3, 2))
    assert sorted(programs) == sorted((i, j, k) for i in range(4) for j in range(3) for k in range(2))
    assert programs != sorted(programs)
    assert programs == launch.order((4, 3, 2))


def test_a_grid_can_be_computed_from_the_arguments():
    out = torch.full((100,), NAN)
    done = copy[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](torch.ones(100), out, 100, BLOCK=32, num_warps=4)
    assert done.programs == 4
    assert out.eq(1).all()


def test_helper_kernels_and_global_constants_are_known():
    out = torch.full((16,), NAN)
    by_helpers[(1,)](torch.ones(16), out, BLOCK=16)
    assert out.eq(5).all()


TWO = tl.constexpr(2.0)
PLAIN = 2.0


@triton.jit
def doubled(x):
    return x * TWO


@triton.jit
def by_helpers(x, out, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    tl.store(out + places, doubled(doubled(tl.load(x + places))) + 1)


# ---- cost ------------------------------------------------------------------------------------------------------------


def test_bytes_operations_and_programs_are_counted():
    x, out = torch.ones(100), torch.full((100,), NAN)
    done = copy[(4,)](x, out, 100, BLOCK=32)
    assert done[:5] == (400, 400, 0, 0, 4)
    a, b, c = torch.ones(32, 64), torch.ones(64, 48), torch.full((32, 48), NAN)
    done = tile_kernels.matmul[(2, 3)](a, b, c, 32, 48, 64, BM=16, BN=16, BK=32)
    assert done.flops == 2 * 32 * 48 * 64
    assert done.loaded == 4 * 32 * 48 * 64 * (1 / 16 + 1 / 16)
    half = tile_kernels.matmul[(2, 3)](a.half(), b.half(), c.half(), 32, 48, 64, BM=16, BN=16, BK=32)
    assert half.loaded == done.loaded / 2
    added = tile_kernels.column_sums[(7,)](torch.ones(7, 20), torch.zeros(20), 7, 20, BLOCK=32)
    assert (added.loaded, added.stored, added.added) == (560, 0, 560)


def test_causal_attention_moves_what_the_formula_says():
    q, k, v, out = torch.ones(4, 2, 256, 32)
    sizes = {"D": 32, "BM": 64, "BN": 64, "CAUSAL": True}
    done = tile_kernels.flash[(4, 2)](q, k, v, out, torch.zeros(2, 256), 256, 1.0, **sizes)
    assert done.loaded == 4 * 2 * (256 * 32 + 2 * (1 + 2 + 3 + 4) * 64 * 32) == 393_216


# ---- bounds ----------------------------------------------------------------------------------------------------------


@triton.jit
def careless(x, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    numbers = tl.load(x + places)
    tl.store(out + places, numbers, mask=places < n)


def test_an_address_outside_names_program_array_and_line():
    with pytest.raises(tiles.OutOfBounds) as caught:
        careless[(4,)](torch.ones(100), torch.zeros(100), 100, BLOCK=32)
    fault = caught.value
    assert (fault.program, fault.array, fault.verb) == ((3, 0, 0), "x", "load")
    assert (fault.address, fault.size, fault.outside, fault.lanes) == (100, 100, 28, 32)
    assert fault.place.text == "numbers = tl.load(x + places)"
    assert fault.place.number == careless.__wrapped__.__code__.co_firstlineno + 3
    assert "100" not in fault.quiet_sentence  # an address could spell out a hidden number


@triton.jit
def backwards(x, out, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    tl.store(out + places - 1, tl.load(x + places))


def test_negative_addresses_are_outside_too():
    with pytest.raises(tiles.OutOfBounds) as caught:
        backwards[(1,)](torch.ones(16), torch.zeros(16), BLOCK=16)
    assert (caught.value.verb, caught.value.address) == ("store", -1)


@triton.jit
def astray(x, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + places, tl.load(x + 8 + places, mask=places < n), mask=places < n)


def test_what_is_said_of_an_address_outside_depends_on_whether_there_is_a_mask():
    with pytest.raises(tiles.OutOfBounds) as caught:
        careless[(4,)](torch.ones(100), torch.zeros(100), 100, BLOCK=32)
    assert "no mask keeps them out" in caught.value.quiet_sentence
    with pytest.raises(tiles.OutOfBounds) as caught:
        astray[(1,)](torch.ones(16), torch.zeros(16), 16, BLOCK=16)
    assert "the mask lets them through" in caught.value.quiet_sentence
    assert "no mask" not in str(caught.value)


# ---- races -----------------------------------------------------------------------------------------------------------


@triton.jit
def everybody_stores(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.load(x + tl.program_id(0)))


@triton.jit
def store_then_load(x, out, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        tl.store(x, 2.0)
    else:
        tl.store(out + tl.program_id(0), tl.load(x))


@triton.jit
def load_add_store(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.load(out) + tl.load(x + tl.program_id(0)))


@triton.jit
def add_and_load(x, out, BLOCK: tl.constexpr):
    tl.atomic_add(out, tl.load(x + tl.program_id(0)))
    tl.store(out + 1 + tl.program_id(0), tl.load(out))


@triton.jit
def lanes_collide(x, out, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    tl.store(out + places // 2, tl.load(x + places))


@pytest.mark.parametrize("kernel", [everybody_stores, store_then_load, load_add_store, add_and_load, lanes_collide])
def test_races_are_reported_whoever_comes_first(kernel, monkeypatch):
    orders = [[(0, 0, 0), (1, 0, 0)], [(1, 0, 0), (0, 0, 0)]]
    for programs in orders:
        monkeypatch.setattr(launch, "order", lambda grid, programs=programs: programs)
        with pytest.raises(tiles.Race) as caught:
            kernel[(2,)](torch.arange(16.0), torch.zeros(17), BLOCK=16)
        assert caught.value.place.text


def test_a_program_may_use_its_own_numbers_again_and_all_may_add():
    @triton.jit
    def again(x, out, BLOCK: tl.constexpr):
        places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + places, tl.load(x + places))
        tl.store(out + places, tl.load(out + places) + 1)

    out = torch.zeros(64)
    again[(4,)](torch.ones(64), out, BLOCK=16)
    assert out.eq(2).all()


# ---- refusals: each kernel is wrong in its last line -----------------------------------------------------------------


@triton.jit
def uses_a_list(x, out, n, BLOCK: tl.constexpr):
    sizes = [1, 2]


@triton.jit
def breaks(x, out, n, BLOCK: tl.constexpr):
    for _ in range(3):
        break


@triton.jit
def unknown_name(x, out, n, BLOCK: tl.constexpr):
    y = tl.load(x) * PLAIN


@triton.jit
def unknown_word(x, out, n, BLOCK: tl.constexpr):
    y = tl.softmax(tl.load(x))


@triton.jit
def unknown_function(x, out, n, BLOCK: tl.constexpr):
    y = len(x)


@triton.jit
def python_method(x, out, n, BLOCK: tl.constexpr):
    y = x.numpy()


@triton.jit
def torch_in_a_kernel(x, out, n, BLOCK: tl.constexpr):
    y = torch.zeros(3)


@triton.jit
def chained(x, out, n, BLOCK: tl.constexpr):
    y = 0 < tl.arange(0, BLOCK) < n


@triton.jit
def in_place(x, out, n, BLOCK: tl.constexpr):
    y = tl.arange(0, BLOCK)
    y[0] = 1


@triton.jit
def picked(x, out, n, BLOCK: tl.constexpr):
    y = tl.arange(0, BLOCK)[0]


@triton.jit
def odd_side(x, out, n, BLOCK: tl.constexpr):
    y = tl.arange(0, 24)


@triton.jit
def computed_side(x, out, n, BLOCK: tl.constexpr):
    y = tl.arange(0, n)


@triton.jit
def small_dot(x, out, n, BLOCK: tl.constexpr):
    y = tl.dot(tl.zeros((8, 16), tl.float32), tl.zeros((16, 16), tl.float32))


@triton.jit
def unequal_dot(x, out, n, BLOCK: tl.constexpr):
    y = tl.dot(tl.zeros((16, 16), tl.float32), tl.zeros((16, 16), tl.float16))


@triton.jit
def truth_of_a_block(x, out, n, BLOCK: tl.constexpr):
    if tl.arange(0, BLOCK) < n: tl.store(out, 1.0)  # fmt: skip


@triton.jit
def shapes_apart(x, out, n, BLOCK: tl.constexpr):
    y = tl.arange(0, 16) + tl.arange(0, 32)


@triton.jit
def half_exp(x, out, n, BLOCK: tl.constexpr):
    y = tl.exp(tl.zeros((16,), tl.float16))


@triton.jit
def no_mask_type(x, out, n, BLOCK: tl.constexpr):
    y = tl.load(x + tl.arange(0, 16), mask=tl.arange(0, 16))


@triton.jit
def matrix_product(x, out, n, BLOCK: tl.constexpr):
    y = tl.zeros((16, 16), tl.float32) @ tl.zeros((16, 16), tl.float32)


@triton.jit
def computes_with_addresses(x, out, n, BLOCK: tl.constexpr):
    y = x * 2


@triton.jit
def fractional_address(x, out, n, BLOCK: tl.constexpr):
    y = tl.load(x + n / 2)


@triton.jit
def loops_over_a_block(x, out, n, BLOCK: tl.constexpr):
    for y in tl.arange(0, BLOCK): tl.store(out, y)  # fmt: skip


WRONG = [uses_a_list, breaks, unknown_name, unknown_word, unknown_function, python_method, torch_in_a_kernel, chained]
WRONG += [in_place, picked, odd_side, computed_side, small_dot, unequal_dot, truth_of_a_block, shapes_apart, half_exp]
WRONG += [no_mask_type, matrix_product, computes_with_addresses, fractional_address, loops_over_a_block]


@pytest.mark.parametrize("kernel", WRONG, ids=lambda kernel: kernel.__name__)
def test_what_triton_would_not_compile_is_refused_with_its_line(kernel):
    with pytest.raises(tiles.Refused) as caught:
        kernel[(1,)](torch.zeros(16), torch.zeros(16), 16, BLOCK=16)
    last = kernel.text.rstrip().splitlines()[-1].strip()
    assert caught.value.place.text == last
    assert caught.value.what


def test_tensors_that_are_not_contiguous_need_their_strides():
    x = torch.arange(12.0).view(3, 4).T
    with pytest.raises(tiles.Refused):
        copy[(1,)](x, torch.zeros(12), 12, BLOCK=16)

    @triton.jit
    def first_column(x, out, step, n, BLOCK: tl.constexpr):
        places = tl.arange(0, BLOCK)
        tl.store(out + places, tl.load(x + places * step, mask=places < n), mask=places < n)

    out = torch.zeros(3)
    first_column[(1,)](x[0], out, x.stride(1), 3, BLOCK=4)
    assert out.tolist() == [0, 4, 8]


def test_a_result_goes_to_its_place_in_a_larger_tensor():
    whole = torch.zeros(10)
    copy[(1,)](torch.ones(4), whole[3:7], 4, BLOCK=16)
    assert whole.tolist() == [0, 0, 0, 1, 1, 1, 1, 0, 0, 0]


def test_arguments_that_are_no_numbers_are_refused():
    for value in ("text", [1], np.zeros(3)):
        with pytest.raises(tiles.Refused):
            copy[(1,)](torch.ones(4), torch.zeros(4), value, BLOCK=16)
    with pytest.raises(TypeError):
        copy[(1,)](torch.ones(4), torch.zeros(4), BLOCK=16)
    with pytest.raises(tiles.Refused):
        copy(torch.ones(4), torch.zeros(4), 4, BLOCK=16)
    with pytest.raises(tiles.Refused):
        copy[(0,)](torch.ones(4), torch.zeros(4), 4, BLOCK=16)


def test_a_stub_is_not_refused_but_not_written():
    @triton.jit
    def later(x, out, BLOCK: tl.constexpr):
        """Copy."""
        raise NotImplementedError()

    with pytest.raises(NotImplementedError):
        later[(1,)](torch.ones(4), torch.zeros(4), BLOCK=16)


def test_after_a_fault_the_next_launch_is_a_new_one():
    with pytest.raises(tiles.OutOfBounds):
        careless[(4,)](torch.ones(100), torch.zeros(100), 100, BLOCK=32)
    assert language.running.memory is None
    assert copy[(4,)](torch.ones(100), torch.zeros(100), 100, BLOCK=32).loaded == 400


def test_in_grading_there_is_the_simulator_only(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(tiles.importlib.util, "find_spec", lambda name: object())
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    assert tiles.has_real_triton()
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert not tiles.has_real_triton()


def test_importing_the_simulator_does_not_import_triton():
    code = "import sys; from helpers.kit.tiles import tl, triton; sys.exit('triton' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "NBGRADER_EXECUTION": "validate"}, check=True)
