"""Calls to the student's process mean what they would in one process: gradients flow, arguments change in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from autograder.model.record import ReasonKind


class RemoteBackward(torch.autograd.Function):
    """A call to the student's process as one step of a graph: its backward pass is computed there."""

    @staticmethod
    def forward(ctx: Any, bridge: Any, trace: int, count: int, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """`tensors` are `count` inputs that need gradients, then the outputs.

        `trace` is the number of the graph there.
        """
        ctx.bridge, ctx.trace, ctx.count, ctx.outputs = bridge, trace, count, len(tensors) - count
        outputs = tuple(t.clone() for t in tensors[count:])
        ctx.mark_non_differentiable(*(t for t in outputs if not (t.is_floating_point() or t.is_complex())))
        return outputs

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> tuple[Any, ...]:
        gradients = ctx.bridge.ask("backward", (ctx.trace, list(cotangents)))
        if type(gradients) is not list or len(gradients) != ctx.count:
            ctx.bridge.end(ReasonKind.MALFORMED_GRADIENTS)
        if not all(g is None or isinstance(g, torch.Tensor) for g in gradients):
            ctx.bridge.end(ReasonKind.MALFORMED_GRADIENTS)
        return (None, None, None, *gradients, *([None] * ctx.outputs))


def connected(result: Any, bridge: Any, trace: int, leaves: list[torch.Tensor]) -> Any:
    """The result of a call, with its tensors connected to the leaves of the graph."""
    outputs = tensors_in(result)
    if not outputs:
        return result
    return with_tensors(result, iter(RemoteBackward.apply(bridge, trace, len(leaves), *leaves, *outputs)))


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Tensors in nested lists, tuples and dictionaries, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [t for item in value for t in tensors_in(item)]
    return [t for item in value.values() for t in tensors_in(item)] if isinstance(value, dict) else []


def with_tensors(value: Any, new: Iterator[torch.Tensor]) -> Any:
    """The same structure with other tensors."""
    if isinstance(value, torch.Tensor):
        return next(new)
    if type(value) in (list, tuple):
        return type(value)(with_tensors(item, new) for item in value)
    if isinstance(value, tuple):
        return type(value)(*(with_tensors(item, new) for item in value))
    return {key: with_tensors(item, new) for key, item in value.items()} if isinstance(value, dict) else value


def change_in_place(old: Any, new: Any) -> None:
    """Change an argument into what student code made of its copy."""
    if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor) and old.dtype == new.dtype:
        with torch.no_grad():
            if old.shape == new.shape:
                old.copy_(new)
            else:
                old.resize_(new.shape).copy_(new)
    elif isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        if old.shape == new.shape and old.dtype == new.dtype:
            old[...] = new
    elif type(old) is list and type(new) is list:
        old[:] = new
    elif type(old) in (dict, set) and type(new) is type(old):
        old.clear()
        old.update(new)
