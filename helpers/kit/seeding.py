"""Where tensors live, and how randomness starts."""

from __future__ import annotations

import os
import random

import numpy as np
import torch

from helpers.kit.scale import graded, scale

ASKED = "COURSE_DEVICE"
if scale() == "smoke":  # tiny sizes, and often several notebooks at a time: a second thread would only be waited for
    torch.set_num_threads(1)


def device() -> torch.device:
    """CUDA where there is a card, else the CPU. $COURSE_DEVICE asks for another one: cpu, cuda or mps.

    Apple's MPS must be asked for: losses there are known to differ from those of the CPU, without any message.
    """
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    asked = "" if graded() else os.environ.get(ASKED, "")
    if not asked:
        return torch.device("cuda" if available["cuda"] else "cpu")
    if not available.get(asked):
        raise ValueError(
            f"{ASKED}={asked!r}: this machine has {', '.join(name for name, there in available.items() if there)}"
        )
    return torch.device(asked)


def seed(n: int) -> None:
    """Start every random generator from the same place, so that a run can be repeated."""
    random.seed(n)
    np.random.seed(n)
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        torch.manual_seed(n)
    else:  # the same numbers; torch.manual_seed also leaves a note, with a traceback, for a device that is not there
        torch.default_generator.manual_seed(n)
