"""The check library: what a test cell uses to judge student code.

    check = Check("weights", points=3)
    w = check.run(weights, q, k, shape=(5, 4))
    check.close(w.sum(-1), 1, "every row is a distribution over the keys: which axis does softmax run along?")
    check.score()

Checks are methods of `Check`. What has to happen where the student's code lives (gradients through it, its cost, its
source, what it does to its inputs) is a function of this module: see `helpers/checks/student_side.py`.
"""

from helpers.checks.check import Check, reference_gradient
from helpers.checks.compare import near
from helpers.checks.failed import Failed
from helpers.checks.later import Later
from helpers.checks.random_numbers import rand, randint, randn, randperm, seed
from helpers.checks.student_side import (
    Cost,
    Counted,
    Gradients,
    cost,
    flops,
    gradients,
    inout,
    isinstance,
    keep,
    names_in,
    optimizer,
    put,
    source,
    spent,
    value,
)
from helpers.checks.traffic import traffic

__all__ = [
    "Check",
    "Cost",
    "Counted",
    "Failed",
    "Gradients",
    "Later",
    "cost",
    "flops",
    "gradients",
    "inout",
    "isinstance",
    "keep",
    "names_in",
    "near",
    "optimizer",
    "put",
    "rand",
    "randint",
    "randn",
    "randperm",
    "reference_gradient",
    "seed",
    "source",
    "spent",
    "traffic",
    "value",
]
