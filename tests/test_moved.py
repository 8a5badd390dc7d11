"""Notebooks handed out before modules were sorted into rooms still run."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from helpers import moved


@pytest.mark.parametrize(("old", "new"), moved.NEW_NAMES.items())
def test_an_old_name_is_the_same_module(old: str, new: str) -> None:
    module = importlib.import_module(f"helpers.{new}")
    assert importlib.import_module(f"helpers.{old}") is module
    assert module.__spec__ is not None
    assert module.__spec__.name == f"helpers.{new}"


def test_the_set_up_cell_of_an_old_notebook_runs_in_a_fresh_process() -> None:
    cell = (
        "from helpers import checks, craft, plots, speeches, training, translation\nfrom helpers.big_picture import"
        " QUESTIONS\nfrom helpers.device import device, seed\nfrom helpers.scale import pick\nfrom helpers.translation"
        " import RowChains\nspeeches.corpus, translation.Batches, craft.SmallRun"
    )
    subprocess.run([sys.executable, "-c", cell], check=True)
