"""The derivation chain of backpropagation through time, and the computation graph behind it: what tests compare with.

Nothing here is derived by hand. Right values are autograd's, after finite differences have agreed. The value of a known
slip is autograd's too, on a network altered the way the slip implies. So a test can name a slip without giving the
answer away.

Time runs from 1 to T. Row t - 1 of `x` and `y` is step t; `states` has one row more, so that its row t is h_t.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from helpers.checks import Failed, randint, reference_gradient
from helpers.checks.compare import difference
from helpers.checks.later import Later

# Loose on purpose: a float32 accumulator is no mistake of the derivation, and no slip is this small.
TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}
# What float32 keeps of its seven digits after some products of random matrices.
SINGLE = {"rtol": 1e-3, "atol": 1e-4}
STEPS = ("g_o", "g_h", "g_W", "total")


class Instance(NamedTuple):
    """One network with its data, float64: x (T, n_x), y (T, n_y) with rows that sum to one, h0 (n_h,), and three
    weights.
    """

    x: Tensor
    y: Tensor
    h0: Tensor
    W_hh: Tensor
    W_hx: Tensor
    W_yh: Tensor

    @property
    def T(self) -> int:
        return len(self.x)


class Step(NamedTuple):
    """The right value of one step, and what known slips give: {hint: value}."""

    right: Tensor
    slips: Mapping[str, Tensor]


def drawn(seed: int | None) -> int:
    """The seed that is given, or else one from the test's own random numbers."""
    return int(randint(0, 10**6, ())) if seed is None else seed


def instance(
    seed: int | None = None,
    T: int | None = None,
    n_x: int | None = None,
    n_h: int | None = None,
    n_y: int | None = None,
) -> Instance:
    """A random network; sizes that are not given are drawn from 2 … 6, all four different."""
    generator = torch.Generator().manual_seed(drawn(seed))
    sizes = [2 + int(i) for i in torch.randperm(5, generator=generator)[:4]]
    T, n_x, n_h, n_y = (given or size for given, size in zip((T, n_x, n_h, n_y), sizes, strict=True))

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return Instance(
        x=normal(T, n_x),
        y=normal(T, n_y).softmax(1),
        h0=normal(n_h),
        W_hh=1.2 * normal(n_h, n_h) / n_h**0.5,
        W_hx=normal(n_h, n_x) / n_x**0.5,
        W_yh=normal(n_y, n_h) / n_h**0.5,
    )


Net = TypeVar("Net", bound="Instance | General")


def single(net: Net) -> Net:
    """The same network in float32."""
    return type(net)(*(v.float() for v in net))


def states(net: Instance) -> Tensor:
    """h_0 … h_T as rows (T + 1, n_h)."""
    rows = [net.h0]
    for x in net.x:
        rows.append(net.W_hh @ rows[-1] + net.W_hx @ x)
    return torch.stack(rows)


def outputs(net: Instance) -> Tensor:
    """o_1 … o_T as rows (T, n_y)."""
    return states(net)[1:] @ net.W_yh.T


def loss_of_output(o: Tensor, y: Tensor) -> Tensor:
    return -(y * o.log_softmax(-1)).sum()


def loss(net: Instance, t: int | None = None) -> Tensor:
    """J_t, or J, the sum over all t."""
    rows = slice(None) if t is None else slice(t - 1, t)
    return loss_of_output(outputs(net)[rows], net.y[rows])


def autograd(function: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    x = at.detach().clone().requires_grad_()
    (found,) = torch.autograd.grad(function(x), x)
    return found


# ---- the four steps --------------------------------------------------------------------------------------------------


def output_step(net: Instance, t: int) -> Step:
    """∂J_t/∂o_t."""
    o, y = outputs(net)[t - 1], net.y[t - 1]
    p, n = o.softmax(0), len(o)
    right = reference_gradient(lambda v: loss_of_output(v, y), o)
    alone = torch.stack([autograd(lambda v, j=j: -y[j] * v.softmax(0)[j].log(), o)[j] for j in range(n)])  # type: ignore[misc]
    slips = {
        "the sign is flipped: J_t falls when the output of a likely class rises": -right,
        "that is ∂J_t/∂ŷ_t: one more link is missing, the softmax": autograd(lambda v: -(y * v.log()).sum(), p),
        "each o_j changes every ŷ_i, through the sum in the denominator: the terms i ≠ j are missing": alone,
        "there is a mean over the classes: J_t is a sum over them": right / n,
        "the target does not appear: a perfect prediction must have gradient zero": p,
        "the target is treated as one class; here y_t is any distribution that sums to one": autograd(
            lambda v: -v.log_softmax(0)[y.argmax()], o
        ),
    }
    return Step(right, slips)


def pulled_back(cotangent: Tensor, W: Tensor, steps: int) -> Tensor:
    """A gradient at the end of `steps` applications of W, seen at their beginning (by autograd)."""

    def run(h: Tensor) -> Tensor:
        for _ in range(steps):
            h = W @ h
        return (cotangent * h).sum()

    return autograd(run, torch.zeros_like(cotangent))


def state_step(net: Instance, t: int, i: int) -> Step:
    """∂J_t/∂h_i for i ≤ t."""
    h, y, k = states(net), net.y[t - 1], t - i

    def later(v: Tensor) -> Tensor:
        for x in net.x[i:t]:
            v = net.W_hh @ v + net.W_hx @ x
        return loss_of_output(net.W_yh @ v, y)

    right = reference_gradient(later, h[i])
    arrives = autograd(lambda v: loss_of_output(net.W_yh @ v, y), h[t])
    slips = {
        "W_hh is not transposed: going back along z = W h multiplies by Wᵀ": pulled_back(arrives, net.W_hh.T, k),
        "`**` raises each entry to the power; use torch.linalg.matrix_power, or multiply step by step": pulled_back(
            arrives, net.W_hh**k, 1
        ),
        "the gradient stays where it arrived: it still has to travel from h_t back to h_i": arrives,
        "one step back too few: from h_t to h_i there are t − i of them": pulled_back(arrives, net.W_hh, max(k - 1, 0)),
        "one step back too many: from h_t to h_i there are t − i of them": pulled_back(arrives, net.W_hh, k + 1),
        "W_hh is applied once, whatever t − i is": pulled_back(arrives, net.W_hh, 1),
        "W_hh is not transposed, and the number of steps is wrong, too": pulled_back(arrives, net.W_hh.T, k + 1),
        "the sign is flipped": -right,
        "there is a mean over the steps; a chain of factors is a product": right / max(k, 1),
    }
    return Step(right, slips)


def probed(net: Instance, t: int, inputs: Mapping[int, Tensor]) -> Tensor:
    """Gradient of J_t by a matrix A = 0, added as z_i = … + A u_i at the steps i that `inputs` {i: u_i} names."""

    def run(A: Tensor) -> Tensor:
        h = net.h0 + 0 * A.sum()  # so that A takes part where no step is named
        for i in range(1, t + 1):
            h = net.W_hh @ h + net.W_hx @ net.x[i - 1]
            if i in inputs:
                h = h + A @ inputs[i]
        return loss_of_output(net.W_yh @ h, net.y[t - 1])

    return autograd(run, torch.zeros_like(net.W_hh))


def weight_step(net: Instance, t: int) -> Step:
    """∂J_t/∂W_hh."""
    h = states(net)
    right = reference_gradient(lambda W: loss(net._replace(W_hh=W), t), net.W_hh)
    shifted = probed(net, t, {i: h[i] for i in range(1, t + 1)})
    slips = {
        "the outer product is in the wrong order: row a, column b of the gradient belongs to the weight"
        " from entry b of h to entry a of z": (right.T),
        "you pair the gradient at step i with h_i; W_hh multiplied h_{i−1} there": shifted,
        "h_i is used where h_{i−1} belongs, and the outer product is in the wrong order": shifted.T,
        "only the last step, i = t, is there: W_hh was used at every step up to t, so sum over them": probed(
            net, t, {t: h[t - 1]}
        ),
        "only the first step, i = 1, is there: W_hh was used at every step up to t, so sum over them": probed(
            net, t, {1: h[0]}
        ),
        "the first step is left out: h_0 is not zero here": probed(net, t, {i: h[i - 1] for i in range(2, t + 1)}),
        "the last step is left out: the sum runs up to i = t": probed(net, t, {i: h[i - 1] for i in range(1, t)}),
        "there is a mean over the steps: contributions of all uses of W_hh add up": right / t,
        "the sign is flipped": -right,
    }
    return Step(right, slips)


def total_step(net: Instance) -> Step:
    """∂J/∂W_hh."""
    right = reference_gradient(lambda W: loss(net._replace(W_hh=W)), net.W_hh)
    slips = {
        "there is a mean over t: J is the sum of the J_t, so its gradient is the sum of theirs": right / net.T,
        "that is the gradient of J_T alone: J has a term for every t": autograd(
            lambda W: loss(net._replace(W_hh=W), net.T), net.W_hh
        ),
        "that is the gradient of J_1 alone: J has a term for every t": autograd(
            lambda W: loss(net._replace(W_hh=W), 1), net.W_hh
        ),
        "the sign is flipped": -right,
        "the sum is transposed": right.T,
    }
    return Step(right, slips)


def named(value: Any, step: Step, otherwise: str) -> str:
    """Empty where `value` is right, else the slip that gives it, or what to look at."""
    found = difference(value, step.right, **TOLERANCE)
    if found is None:
        return ""
    for hint, slip in step.slips.items():
        if difference(value, slip, **TOLERANCE) is None:
            return hint
    return f"none of the usual slips, {found.summary}: {otherwise}"


def entries(value: Any) -> int:
    """How many entries a list, tuple or tensor has along its first axis; -1 for anything else."""
    sized = isinstance(value, list | tuple) or (isinstance(value, Tensor) and value.dim() > 0)
    return len(value) if sized else -1


def total_of(found: Any) -> Any:
    """∂J/∂W_hh in a student's chain, also where it is not in a dictionary."""
    if isinstance(found, dict):
        return found.get("total")
    return found[-1] if isinstance(found, list | tuple) and len(found) == len(STEPS) else found


def first_wrong(net: Instance, found: Any) -> Any:
    """The first wrong step of a student's chain, with its likely reason; empty where the whole chain is right.

    `found` has the keys g_o (T, n_y), g_h (T tables, the t-th of shape (t, n_h)), g_W (T, n_h, n_h) and total (n_h,
    n_h). Values before the first wrong one are right, so a later step is never blamed for what it was given.
    """
    if isinstance(found, Failed):
        return found
    if not isinstance(found, dict) or set(found) != set(STEPS):
        return f"return a dictionary with the four keys {', '.join(STEPS)}"
    for key in STEPS[:3]:
        if (
            not isinstance(found[key], Tensor | list | tuple)
            or (isinstance(found[key], Tensor) and not found[key].dim())
            or len(found[key]) != net.T
        ):
            return f"`{key}` should hold one entry for each of the T steps"
    for t in range(1, net.T + 1):
        if reason := named(found["g_o"][t - 1], output_step(net, t), "are ŷ_t and y_t of the same step?"):
            return f"step 1 of 4, ∂J_t/∂o_t, is the first wrong one (t = {t}): {reason}"
    for t in range(1, net.T + 1):
        table = found["g_h"][t - 1]
        if entries(table) != t:
            return f"`g_h`: the entry for t = {t} should hold the gradients at h_1 … h_{t}, one row each"
        for i in range(t, 0, -1):
            if reason := named(table[i - 1], state_step(net, t, i), "does it start from the g_o of step t?"):
                if table[t - i] is not table[i - 1] and not named(table[t - i], state_step(net, t, i), ""):
                    reason = "the rows run backwards: row i − 1 of the table belongs to h_i"
                return f"step 2 of 4, ∂J_t/∂h_i, is the first wrong one (t = {t}, i = {i}): {reason}"
    for t in range(1, net.T + 1):
        if reason := named(found["g_W"][t - 1], weight_step(net, t), "is it made of the g_h of step t?"):
            return f"step 3 of 4, ∂J_t/∂W_hh, is the first wrong one (t = {t}): {reason}"
    if reason := named(found["total"], total_step(net), "is it made of all g_W?"):
        return f"step 4 of 4, ∂J/∂W_hh, is the only wrong one: {reason}"
    return ""


# ---- the general network: tanh, a batch, all three weights -----------------------------------------------------------

Weights = tuple[Tensor, Tensor, Tensor]
Slope = Callable[[Tensor, Tensor], Tensor]


class General(NamedTuple):
    """x (B, T, n_x), y (B, T, n_y), h0 (B, n_h) and the three weights, float64."""

    x: Tensor
    y: Tensor
    h0: Tensor
    W_hh: Tensor
    W_hx: Tensor
    W_yh: Tensor


def general(seed: int | None, B: int, T: int, n_x: int, n_h: int, n_y: int) -> General:
    """A random tanh network with a batch of sequences."""
    first = 1000 * drawn(seed)
    many = [instance(first + b, T, n_x, n_h, n_y) for b in range(B)]
    x, y, h0 = (torch.stack([getattr(one, name) for one in many]) for name in ("x", "y", "h0"))
    return General(x, y, h0, many[0].W_hh, many[0].W_hx, many[0].W_yh)


def general_run(net: General) -> tuple[Tensor, Tensor]:
    """States (B, T + 1, n_h) and probabilities (B, T, n_y) of the tanh network."""
    rows = [net.h0]
    for t in range(net.x.shape[1]):
        rows.append(torch.tanh(rows[-1] @ net.W_hh.T + net.x[:, t] @ net.W_hx.T))
    h = torch.stack(rows, 1)
    return h, (h[:, 1:] @ net.W_yh.T).softmax(-1)


def seen(net: General) -> list[Tensor]:
    """What the sweep back in time is given, in float32: x, y, h, p, W_hh and W_yh."""
    return [v.float() for v in (net.x, net.y, *general_run(net), net.W_hh, net.W_yh)]


def on_characters(net: General, inputs: Tensor, targets: Tensor) -> General:
    """The same network, reading and predicting one-hot vectors of these indices (B, T)."""
    x, y = (torch.nn.functional.one_hot(i, len(net.W_yh)).to(net.W_hh.dtype) for i in (inputs, targets))
    return net._replace(x=x, y=y)


def general_loss(net: General) -> Tensor:
    """J, summed over batch and time."""
    h = general_run(net)[0]
    return loss_of_output(h[:, 1:] @ net.W_yh.T, net.y)


def true_slope(z: Tensor, h: Tensor) -> Tensor:
    return 1 - h**2


def general_gradient(
    net: General,
    slope: Slope = true_slope,
    back: Tensor | None = None,
    skip: bool = False,
    late: bool = False,
    early: bool = False,
) -> Weights:
    """∂J/∂W by autograd, J summed over batch and time, with the way back altered on request.

    `slope` replaces tanh's derivative, `back` the matrix that carries gradients from one step to the one before, `skip`
    lets them skip the slope on that way, `late` pairs the gradient at z_t with h_t, and `early` the one at o_t with
    h_{t−1}. The values on the way forward stay right.
    """
    W_hh, W_hx, W_yh = (W.detach().clone().requires_grad_() for W in (net.W_hh, net.W_hx, net.W_yh))
    carry = net.W_hh if back is None else back
    h, J = net.h0, torch.zeros((), dtype=net.x.dtype)
    right = general_run(net)[0]
    for t in range(net.x.shape[1]):
        way = (h - h.detach()) @ carry.T  # zero, but the way on which gradients travel
        used = right[:, t + 1 if late else t]
        z = (right[:, t] - used) @ net.W_hh.T + used @ W_hh.T + net.x[:, t] @ W_hx.T
        value = torch.tanh(z.detach())
        slopes = slope(z.detach(), value)
        h = value + slopes * (z - z.detach()) + (way if skip else slopes * way)
        read = right[:, t] if early else h
        J = J + loss_of_output((h - read) @ net.W_yh.T + read @ W_yh.T, net.y[:, t])
    found = torch.autograd.grad(J, (W_hh, W_hx, W_yh))
    return found[0], found[1], found[2]


def general_step(net: General) -> dict[str, Step]:
    """∂J/∂W of the three weights by name, with the slips that change any of them."""
    right = general_gradient(net)
    slips = Later(lambda: general_slips(net, right))

    def seen_in(k: int) -> Mapping[str, Tensor]:  # a slip that does not show in this weight has no name here
        return {hint: values[k] for hint, values in slips.items() if not same_numbers(values[k], right[k])}

    return {name: Step(right[k], Later(partial(seen_in, k))) for k, name in enumerate(("W_hh", "W_hx", "W_yh"))}


def general_slips(net: General, right: tuple[Tensor, ...]) -> dict[str, tuple[Tensor, ...]]:
    """What known slips give for the three weights."""
    B, T = net.x.shape[:2]
    ones: Slope = lambda z, h: torch.ones_like(z)  # noqa: E731
    return {
        "the slope of tanh is missing: ∂h/∂z = 1 − h²": general_gradient(net, slope=ones),
        "the slope of tanh at z is 1 − tanh(z)² = 1 − h²; you took the tanh of h once more": general_gradient(
            net, slope=lambda z, h: 1 - torch.tanh(h) ** 2
        ),
        "the slope of tanh is 1 − h², not 1 − h": general_gradient(net, slope=lambda z, h: 1 - h),
        "W_hh is not transposed on the way back (with rows as states: g_z @ W_hh, without .T)": general_gradient(
            net, back=net.W_hh.T
        ),
        "nothing travels back in time: h_t also acts through z_{t+1}": general_gradient(
            net, back=torch.zeros_like(net.W_hh)
        ),
        "between two steps the slope of tanh is missing: what travels back through W_hh is the gradient at z,"
        " not the one at h": general_gradient(net, skip=True),
        "the gradient at step t is paired with h_t; W_hh multiplied h_{t−1} there": general_gradient(net, late=True),
        "the gradient at o_t is paired with h_{t−1}; W_yh multiplied h_t there": general_gradient(net, early=True),
        "there is a mean over the batch: J sums over it": tuple(g / B for g in right),
        "there is a mean over time: J sums over it": tuple(g / T for g in right),
        "there is a mean over batch and time: J sums over both": tuple(g / (B * T) for g in right),
        "the sign is flipped": tuple(-g for g in right),
        "the outer product is in the wrong order": tuple(g.T for g in right),
    }


def same_numbers(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and bool(torch.allclose(a, b))


# ---- the computation graph -------------------------------------------------------------------------------------------

WEIGHTS = ("W_hh", "W_hx", "W_yh")
Edge = tuple[str, str]


def nodes(T: int) -> list[str]:
    """Every value of the network over T steps; p1 stands for ŷ_1."""
    return [
        *WEIGHTS,
        "h0",
        *(f"{kind}{t}" for t in range(1, T + 1) for kind in ("x", "z", "h", "o", "p", "y", "J")),
        "J",
    ]


def pairs(edges: Iterable[Any] | None) -> list[Edge]:
    """Edges as a sorted list of pairs, so that lists, sets and tuples of them are the same; what is no pair is left
    out.
    """
    return sorted(
        {(str(edge[0]), str(edge[1])) for edge in edges or () if isinstance(edge, tuple | list) and len(edge) == 2}
    )


def parents(edges: Iterable[Any] | None, node: str) -> list[str]:
    return [start for start, end in pairs(edges) if end == node]


def children(edges: Iterable[Any] | None, node: str) -> list[str]:
    return [end for start, end in pairs(edges) if start == node]


def parents_of_each(edges: Any, nodes: Iterable[str]) -> Any:
    """The parents of each of these nodes."""
    return edges if isinstance(edges, Failed) else [parents(edges, node) for node in nodes]


def arrows_into(edges: Any, *nodes: str) -> Any:
    """How many arrows lead into each of these nodes."""
    return edges if isinstance(edges, Failed) else [len(parents(edges, node)) for node in nodes]


def arrows_out_of(edges: Any, *nodes: str) -> Any:
    """How many arrows lead out of each of these nodes."""
    return edges if isinstance(edges, Failed) else [len(children(edges, node)) for node in nodes]


def count_paths(edges: Iterable[Any], start: str, end: str) -> int:
    """How many different ways lead from one node to another along the arrows of an acyclic graph."""
    next_nodes: dict[str, list[str]] = {}
    for a, b in pairs(edges):
        next_nodes.setdefault(a, []).append(b)
    known: dict[str, int] = {end: 1}

    def ways(node: str) -> int:
        if node not in known:
            known[node] = 0  # so that a cycle ends the count instead of the program
            known[node] = sum(ways(child) for child in next_nodes.get(node, []))
        return known[node]

    return ways(start)


def graph_fault(edges: Any, T: int) -> Any:
    """What makes this no graph of a forward computation over T steps; empty where nothing does.

    It looks at the form only: pairs of known nodes, no cycle. Which arrows are right is the exercise.
    """
    if isinstance(edges, Failed):
        return edges
    if not isinstance(edges, list | tuple | set | frozenset):
        return "return a list of pairs"
    for edge in edges:
        if not isinstance(edge, tuple | list) or len(edge) != 2 or not all(isinstance(node, str) for node in edge):
            return "every edge is a pair of node names: (from, to)"
    known = nodes(T)
    for node in (node for edge in edges for node in edge):
        if node not in known:
            return (
                f"there is no node `{node}`: weights have no time index, and the other names are a letter and a time,"
                " as in `z1`"
            )
    remaining = set(known)
    while remaining:
        free = {node for node in remaining if not any(parent in remaining for parent in parents(edges, node))}
        if not free:
            circling = ", ".join(sorted(in_cycles(edges, remaining))[:4])
            return f"the graph has a cycle, {circling} …: nothing can be computed first. Does an arrow point backwards?"
        remaining -= free
    return ""


def in_cycles(edges: Iterable[Any], blocked: set[str]) -> set[str]:
    """Of nodes that cannot be computed those that lie on a cycle, without what only waits for them."""
    while waiting := {node for node in blocked if not any(child in blocked for child in children(edges, node))}:
        blocked = blocked - waiting
    return blocked


def loose_end(edges: Any, T: int) -> Any:
    """Nodes that do not influence the loss; empty where all of them do."""
    if isinstance(edges, Failed):
        return edges
    lost = [node for node in nodes(T) if node != "J" and not count_paths(edges, node, "J")]
    if lost:
        return f"no arrow leads from {', '.join(lost[:4])} on to J: everything in this network influences the loss"
    return ""
