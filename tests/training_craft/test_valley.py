"""The valley of 13 shows the path that SGD takes, in Python and in the browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from helpers.training_craft import valley


def torchs_path(rate: float, momentum: float) -> torch.Tensor:
    point = torch.nn.Parameter(torch.tensor(valley.START, dtype=torch.float64))
    stepper = torch.optim.SGD([point], lr=rate, momentum=momentum)
    points = [point.detach().clone()]
    for _ in range(valley.STEPS):
        stepper.zero_grad()
        (torch.tensor(valley.STEEPNESS, dtype=torch.float64) * point**2).sum().div(2).backward()
        stepper.step()
        points.append(point.detach().clone())
    return torch.stack(points)


@pytest.mark.parametrize(("rate", "momentum"), [(0.018, 0.0), (0.01, 0.9), (0.05, 0.5)])
def test_the_path_is_that_of_torchs_sgd(rate: float, momentum: float) -> None:
    mine = torch.tensor(valley.path(rate, momentum), dtype=torch.float64)
    torch.testing.assert_close(mine, torchs_path(rate, momentum), rtol=1e-9, atol=1e-12)


def test_the_line_below_says_whether_the_loss_grows() -> None:
    assert valley.verdict(valley.path(0.019, 0.0)).endswith("it falls")
    assert valley.verdict(valley.path(0.021, 0.0)).endswith("it grows")
    assert valley.verdict(valley.path(0.021, 0.5)).endswith("it falls")


def test_every_mark_of_the_page_is_filled_and_two_dials_do_not_share_an_id() -> None:
    first, second = valley.valley_dial().data, valley.valley_dial().data
    assert "@" not in first
    assert first != second
    assert valley.verdict(valley.path(0.018, 0.0)) in first


@pytest.mark.skipif(shutil.which("node") is None, reason="no JavaScript engine here")
@pytest.mark.parametrize(("rate", "momentum"), [(0.018, 0.0), (0.01, 0.9), (0.05, 0.5)])
def test_the_page_walks_the_same_path(rate: float, momentum: float, tmp_path: Path) -> None:
    page = valley.valley_dial().data
    walk = re.search(r"  function walk\(.*?\n  }\n", page, re.DOTALL)
    assert walk is not None
    constants = f"const steepness = {list(valley.STEEPNESS)}, start = {list(valley.START)}, steps = {valley.STEPS};\n"
    program = tmp_path / "walk.js"
    program.write_text(
        constants + walk[0] + f"console.log(JSON.stringify(walk({rate}, {momentum})));\n", encoding="utf-8"
    )
    done = subprocess.run(["node", str(program)], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [pytest.approx(point, rel=1e-12) for point in valley.path(rate, momentum)]
