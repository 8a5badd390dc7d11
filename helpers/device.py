"""Where tensors live, and how randomness starts."""

from __future__ import annotations

import random

import numpy as np
import torch

from helpers.scale import scale

if scale() == "smoke":  # tiny sizes, and often several notebooks at a time: a second thread would only be waited for
    torch.set_num_threads(1)


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
