"""Where tensors live, and how randomness starts."""

from __future__ import annotations

import random

import numpy as np
import torch


def device() -> torch.device:
    """The fastest device there is: CUDA, then Apple's MPS, then the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def seed(n: int) -> None:
    """Start every random generator from the same place, so that a run can be repeated."""
    random.seed(n)
    np.random.seed(n)
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        torch.manual_seed(n)
    else:  # the same numbers; torch.manual_seed also leaves a note, with a traceback, for a device that is not there
        torch.default_generator.manual_seed(n)
