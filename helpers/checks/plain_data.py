"""Plain data: what goes to student code (copies) and what is judged of what comes back (None, numbers, text,
containers, tensors).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from helpers.checks.failed import Failed, StudentError

NOT_PLAIN = "the result should be plain data: numbers, text, lists, dictionaries or tensors"
PLAIN = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    set,
    frozenset,
    range,
    slice,
    torch.dtype,
    torch.device,
    torch.Tensor,
)


def is_plain(value: Any) -> bool:
    """Plain data all the way down: nothing that has to stay where it lives, such as a model or a function."""
    if type(value) in (list, tuple):
        return all(is_plain(item) for item in value)
    if type(value) is dict:
        return all(is_plain(item) for item in value.values())
    return isinstance(value, (*PLAIN, np.ndarray, np.generic))


def copied(value: Any) -> Any:
    """A copy of plain data: what the student's code changes in place must not change the test's own data."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in (list, tuple, set):
        return type(value)(copied(item) for item in value)
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    return value


def plain(value: Any, dtype: torch.dtype | None = None) -> Any:
    """Plain data as the checks want it: arrays become tensors, graphs are cut, floats are cast to `dtype` if given."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        value = torch.from_numpy(np.array(value))
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if dtype is not None and value.is_floating_point():
            value = value.to(dtype)
        return value
    if type(value) in (list, tuple):
        return type(value)(plain(item, dtype) for item in value)
    if type(value) is dict:
        return {key: plain(item, dtype) for key, item in value.items()}
    return value


def usable(value: Any, dtype: torch.dtype | None) -> Any:
    """What `Check.run` gives: plain data only, because an object with methods of its own could answer the checks for
    itself.

    Where no input has a dtype that says how precise the result should be, a result in half precision is compared as
    float32.
    """
    if isinstance(value, list | tuple):
        items = [usable(item, dtype) for item in value]
        if all(a is b for a, b in zip(items, value, strict=True)):
            return value
        return type(value)(items) if type(value) in (list, tuple) else items
    if isinstance(value, dict):
        return {key: usable(item, dtype) for key, item in value.items()}
    if isinstance(value, torch.Tensor) and dtype is None and value.dtype in (torch.float16, torch.bfloat16):
        return value.float()
    if not isinstance(value, (*PLAIN, Failed)):
        raise StudentError(Failed(f"{NOT_PLAIN}, got {type(value).__name__}", NOT_PLAIN))
    return value
