"""Values of known mistakes are worked out for answers that fail, and never for those that are right."""

from __future__ import annotations

import torch

from helpers.checks import Check, Later


def looked_into(actual: float) -> tuple[list[str], str]:
    """How often the values were worked out, and the hint that comes."""
    made: list[str] = []

    def slips() -> dict[str, float]:
        made.append("once")
        return {"the sign is wrong": -2.0}

    check = Check("two", points=1)
    check.close(torch.tensor(actual), 2.0, "another number", wrong=Later(slips))
    check.equal(actual, 2.0, "not two", wrong=Later(slips))
    return made, " ".join(finding.hint for finding in check.outcome.findings)


def test_a_right_answer_needs_no_value_of_a_mistake() -> None:
    assert looked_into(2.0) == ([], "")


def test_a_wrong_answer_is_compared_with_them() -> None:
    made, hints = looked_into(-2.0)
    assert made == ["once", "once"]
    assert "the sign is wrong" in hints
