"""Low-rank adapters: linear layers to wrap, and what the tests of 14 measure on a wrapped one.

The functions run where the adapter lives, so that they see its parameters themselves and not copies.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F


def linear(weight: Tensor, bias: Tensor | None = None) -> nn.Linear:
    """A linear layer with this weight (out, in) and bias (out,), in their dtype."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, dtype=weight.dtype)
    layer.load_state_dict({"weight": weight} if bias is None else {"weight": weight, "bias": bias})
    return layer


def stack(
    shapes: Sequence[tuple[int, int]], frozen: Sequence[str] = (), tied: bool = False, shared: bool = False
) -> nn.Sequential:
    """Linear layers of these shapes, (out, in) each, with biases; every weight holds its own number: 0, 1, 2, …

    `frozen` names what does not learn ("0.weight"). `tied`: the first layer stands at the end once more. `shared`: all
    layers have the weight of the first one.
    """
    layers = [nn.Linear(n_in, n_out) for n_out, n_in in shapes]
    for layer in layers[1:] if shared else ():
        layer.weight = layers[0].weight
    model = nn.Sequential(*layers, *layers[:1] if tied else ())
    for number, (name, parameter) in enumerate(model.named_parameters()):
        nn.init.constant_(parameter, number)
        parameter.requires_grad_(name not in frozen)
    return model


def once(items: Sequence[object]) -> Iterator[object]:
    """The items one after the other, and never again: as the batches of a loader that is gone through."""
    yield from items


def trained(module: nn.Module, x: Tensor, target: Tensor, steps: int, rate: float) -> Tensor:
    """The output for x after some steps of gradient descent on the mean squared error; whatever can learn, learns."""
    optimizer = torch.optim.SGD([parameter for parameter in module.parameters() if parameter.requires_grad], lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(module(x), target)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        output: Tensor = module(x)
    return output


def stepped(choose: Callable[[nn.Module], Iterable[Tensor]], model: nn.Module, length: float) -> dict[str, float]:
    """What stands in each parameter of a model after one optimiser step, of this length, for those that `choose` gives.

    Every parameter has a gradient of ones; a copy of a parameter, or its `.data`, has none.
    """
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    torch.optim.SGD(list(choose(model)), lr=length).step()
    return {name: parameter.flatten()[0].item() for name, parameter in model.named_parameters()}


def leaves_generator(function: Callable[..., object], *arguments: object) -> bool:
    """Whether the global generators of Python, NumPy and torch go on after a call as if there had been none."""
    undisturbed = drawn_after()
    return drawn_after(function, *arguments) == undisturbed


def drawn_after(function: Callable[..., object] | None = None, *arguments: object) -> list[float]:
    """What the global generators give after a call, when they start from the same seed."""
    random.seed(14)
    np.random.seed(14)
    torch.manual_seed(14)
    if function is not None:
        function(*arguments)
    return [random.random(), float(np.random.random()), torch.rand(()).item()]
