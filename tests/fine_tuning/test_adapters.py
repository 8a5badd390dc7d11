"""Helpers of LoRA's tests: layers with given weights, what of a model learns, and a short training."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from helpers.fine_tuning import adapters
from helpers.kit import models


def test_a_layer_has_the_given_weights_and_their_dtype() -> None:
    weight, bias = torch.randn(4, 3, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    layer = adapters.linear(weight, bias)
    assert torch.equal(layer.weight, weight)
    assert torch.equal(layer.bias, bias)
    assert adapters.linear(weight).bias is None


def test_every_parameter_of_a_stack_can_be_told_by_its_number() -> None:
    model = adapters.stack([(2, 3), (5, 2)], frozen=["1.weight"])
    numbers = {name: set(parameter.flatten().tolist()) for name, parameter in model.named_parameters()}
    assert numbers == {"0.weight": {0.0}, "0.bias": {1.0}, "1.weight": {2.0}, "1.bias": {3.0}}
    assert [name for name, parameter in model.named_parameters() if not parameter.requires_grad] == ["1.weight"]
    assert models.parameters(model) == 6 + 2 + 5


def test_a_tied_layer_counts_once() -> None:
    model = adapters.stack([(3, 3), (3, 3)], tied=True)
    assert model[0] is model[2]
    assert models.parameters(model) == 24


def test_training_moves_what_can_learn_and_nothing_else() -> None:
    layer = adapters.linear(torch.ones(1, 2), torch.zeros(1))
    layer.weight.requires_grad_(False)
    x, target = torch.tensor([[1.0, 1.0]]), torch.tensor([[4.0]])
    # The error is (2 + b − 4)²; its slope at b = 0 is −4.
    assert adapters.trained(layer, x, target, steps=1, rate=0.25).item() == 3.0
    assert torch.equal(layer.weight, torch.ones(1, 2))


def test_a_step_shows_whether_the_models_own_parameters_were_given() -> None:
    def own(model: nn.Module) -> list[torch.Tensor]:
        return list(model.parameters())

    def copies(model: nn.Module) -> list[torch.Tensor]:
        return [parameter.detach().clone() for parameter in model.parameters()]

    def data(model: nn.Module) -> list[torch.Tensor]:
        return [parameter.data for parameter in model.parameters()]

    assert adapters.stepped(own, adapters.stack([(2, 3)]), 7.0) == {"0.weight": -7.0, "0.bias": -6.0}
    assert adapters.stepped(copies, adapters.stack([(2, 3)]), 7.0) == {"0.weight": 0.0, "0.bias": 1.0}
    assert adapters.stepped(data, adapters.stack([(2, 3)]), 7.0) == {"0.weight": 0.0, "0.bias": 1.0}


@pytest.mark.parametrize("seeded", [random.seed, np.random.seed, torch.manual_seed])
def test_a_function_that_seeds_any_global_generator_does_not_leave_them_alone(seeded: Callable[[int], object]) -> None:
    assert not adapters.leaves_generator(seeded, 3)
    assert adapters.leaves_generator(lambda number: random.Random(number).random(), 3)
