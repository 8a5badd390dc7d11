"""The derivation chain's right values are right, its slips are wrong, and the first wrong link is named."""

from __future__ import annotations

import pytest
import torch

from helpers.checks import Failed, random_numbers
from helpers.rnn_backprop import derivation


def chain(net: derivation.Instance) -> dict[str, object]:
    """The chain by the closed formulas, independent of the helper's autograd."""
    h, p, T = derivation.states(net), derivation.outputs(net).softmax(1), net.T
    g_o = p - net.y
    g_h = [
        torch.stack([torch.linalg.matrix_power(net.W_hh.T, t - i) @ net.W_yh.T @ g_o[t - 1] for i in range(1, t + 1)])
        for t in range(1, T + 1)
    ]
    g_W = torch.stack([g_h[t - 1].T @ h[:t] for t in range(1, T + 1)])
    return {"g_o": g_o, "g_h": g_h, "g_W": g_W, "total": g_W.sum(0)}


@pytest.mark.parametrize("seed", range(6))
def test_the_closed_formulas_pass_on_networks_of_random_size(seed):
    net = derivation.instance(seed)
    assert derivation.first_wrong(net, chain(net)) == ""


def test_random_sizes_are_all_different():
    for seed in range(20):
        net = derivation.instance(seed)
        sizes = [net.T, net.x.shape[1], len(net.h0), net.y.shape[1]]
        assert len(set(sizes)) == 4
        assert torch.allclose(net.y.sum(1), torch.ones(net.T, dtype=torch.float64))
        assert net.h0.abs().min() > 0


@pytest.mark.parametrize("key", derivation.STEPS)
def test_the_first_wrong_link_is_named_although_later_ones_are_wrong_too(key):
    net = derivation.instance(1, T=3)
    found = chain(net)
    for later in derivation.STEPS[derivation.STEPS.index(key) :]:
        value = found[later]
        found[later] = [-g for g in value] if isinstance(value, list) else -value
    fault = derivation.first_wrong(net, found)
    assert fault.startswith(f"step {derivation.STEPS.index(key) + 1} of 4")
    assert "the sign is flipped" in fault


def test_tables_that_run_backwards_are_recognised():
    net = derivation.instance(2, T=3)
    found = chain(net)
    found["g_h"] = [g.flip(0) for g in found["g_h"]]
    assert "the rows run backwards" in derivation.first_wrong(net, found)


@pytest.mark.parametrize(
    "found",
    [None, 3, [], {"g_o": 1}, dict.fromkeys(derivation.STEPS), dict.fromkeys(derivation.STEPS, torch.zeros(()))],
)
def test_what_is_no_chain_gets_a_message_and_no_exception(found):
    assert derivation.first_wrong(derivation.instance(3), found)


def test_ragged_and_text_entries_get_a_message_and_no_exception():
    net = derivation.instance(4, T=2)
    for entry in (["a", "b"], [None, None], [[1.0], [2.0, 3.0]], [torch.zeros(()), torch.zeros(())]):
        for key in ("g_o", "g_h", "g_W"):
            assert derivation.first_wrong(net, {**chain(net), key: entry})


def test_a_failed_result_is_handed_on():
    failed = Failed("not written yet", "not written yet")
    assert derivation.first_wrong(derivation.instance(0), failed) is failed
    assert derivation.graph_fault(failed, 3) is failed
    assert derivation.loose_end(failed, 3) is failed
    assert derivation.arrows_into(failed, "z1") is failed
    assert derivation.arrows_out_of(failed, "z1") is failed


def test_slips_differ_from_the_right_value_and_from_each_other():
    net = derivation.instance(5, T=5, n_x=2, n_h=4, n_y=3)
    steps = [
        derivation.output_step(net, 5),
        derivation.state_step(net, 5, 2),
        derivation.weight_step(net, 5),
        derivation.total_step(net),
    ]
    for step in steps:
        values = [step.right, *step.slips.values()]
        for i, a in enumerate(values):
            for b in values[i + 1 :]:
                assert not torch.allclose(a, b, rtol=1e-4, atol=1e-5)


def test_known_slips_are_what_their_names_say():
    net = derivation.instance(6, T=4, n_x=2, n_h=5, n_y=3)
    h, good = derivation.states(net), chain(net)
    g = good["g_h"][3]
    slips = {hint.split(":")[0]: value for hint, value in derivation.weight_step(net, 4).slips.items()}
    torch.testing.assert_close(slips["only the last step, i = t, is there"], torch.outer(g[3], h[3]))
    torch.testing.assert_close(
        slips["you pair the gradient at step i with h_i; W_hh multiplied h_{i−1} there"], g.T @ h[1:]
    )
    torch.testing.assert_close(slips["the outer product is in the wrong order"], h[:-1].T @ g)
    back = derivation.state_step(net, 4, 1).slips
    arrives = net.W_yh.T @ good["g_o"][3]
    torch.testing.assert_close(next(iter(back.values())), torch.linalg.matrix_power(net.W_hh, 3) @ arrives)


def test_the_general_gradient_is_autograds():
    net = derivation.general(7, 4, 5, 2, 6, 3)

    def J(W_hh, W_hx, W_yh):
        p = derivation.general_run(net._replace(W_hh=W_hh, W_hx=W_hx, W_yh=W_yh))[1]
        return -(net.y * p.log()).sum()

    exact = torch.func.grad(J, argnums=(0, 1, 2))(net.W_hh, net.W_hx, net.W_yh)
    for step, value in zip(derivation.general_step(net).values(), exact, strict=True):
        torch.testing.assert_close(step.right, value)


def test_a_network_without_a_seed_follows_the_tests_random_numbers():
    random_numbers.visible.manual_seed(3)
    first, second = derivation.instance(T=3), derivation.instance(T=3)
    random_numbers.visible.manual_seed(3)
    assert torch.equal(derivation.instance(T=3).h0, first.h0)
    assert not torch.equal(second.y[0, :2], first.y[0, :2])


def test_a_network_on_characters_predicts_them():
    net = derivation.general(8, 2, 3, 5, 4, 5)
    text = torch.tensor([[0, 4, 2], [3, 3, 1]])
    net = derivation.on_characters(net, text, text.roll(-1, 1))
    p = derivation.general_run(net)[1]
    expected = -p.gather(2, text.roll(-1, 1)[:, :, None]).log().sum()
    torch.testing.assert_close(derivation.general_loss(net), expected)


def test_the_total_is_found_in_a_tuple_too():
    found = chain(derivation.instance(2, T=3))
    assert derivation.total_of(found) is found["total"]
    assert derivation.total_of(tuple(found.values())) is found["total"]
    assert derivation.total_of({}) is None


# ---- the graph -------------------------------------------------------------------------------------------------------


def edges(T: int) -> list[tuple[str, str]]:
    found = []
    for t in range(1, T + 1):
        found += [(a, f"z{t}") for a in ("W_hh", "W_hx", f"x{t}", f"h{t - 1}")]
        found += [
            (f"z{t}", f"h{t}"),
            (f"h{t}", f"o{t}"),
            ("W_yh", f"o{t}"),
            (f"o{t}", f"p{t}"),
            (f"p{t}", f"J{t}"),
            (f"y{t}", f"J{t}"),
            (f"J{t}", "J"),
        ]
    return found


@pytest.mark.parametrize("T", [1, 2, 3, 7])
def test_paths_from_the_shared_weight_are_the_terms_of_the_double_sum(T):
    assert derivation.graph_fault(edges(T), T) == ""
    assert derivation.count_paths(edges(T), "W_hh", "J") == T * (T + 1) // 2


def test_faults_of_form_are_named():
    good = edges(3)
    assert "cycle" in derivation.graph_fault([*good, ("h3", "z1")], 3)
    assert "cycle, h2, z2 …" in derivation.graph_fault([*good, ("h2", "z2")], 3)
    assert "no node" in derivation.graph_fault([*good, ("W_hh1", "z1")], 3)
    assert derivation.graph_fault([*good, good[0]], 3) == ""  # an arrow listed twice is a slip, not another graph
    assert "pair" in derivation.graph_fault([*good, ("a", "b", "c")], 3)
    assert "list of pairs" in derivation.graph_fault("W_hh", 3)
    assert "pair" in derivation.graph_fault([1, 2], 3)


def test_a_node_without_influence_on_the_loss_is_named():
    good = edges(3)
    assert derivation.loose_end(good, 3) == ""
    assert "y2" in derivation.loose_end([e for e in good if e[0] != "y2"], 3)


def test_arrows_are_counted_once_each():
    good = edges(3)
    assert derivation.arrows_into([*good, good[0]], "z2", "h2", "J", "x1") == [4, 1, 3, 0]
    assert derivation.arrows_out_of(good, "W_hh", "h1", "J") == [3, 2, 0]


def test_a_cycle_does_not_hang_the_path_count():
    assert derivation.count_paths([("a", "b"), ("b", "a"), ("b", "c")], "a", "c") == 1
