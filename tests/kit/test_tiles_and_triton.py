"""The simulator agrees with real Triton's interpreter, where that is installed (the extra `kernels`)."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tile_kernels
import torch

HERE = Path(__file__).parent


@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed: pip install -e .[kernels]"
)
def test_every_kernel_gives_the_same_numbers_in_tritons_interpreter(tmp_path):
    saved = tmp_path / "arrays.pt"
    # The interpreter is chosen when Triton is imported: a process of its own.
    environment = {**os.environ, "TRITON_INTERPRET": "1", "COURSE_TILES": "triton"}
    subprocess.run([sys.executable, str(HERE / "tile_kernels.py"), str(saved)], env=environment, check=True)
    theirs = torch.load(saved, weights_only=True)
    ours = tile_kernels.results()
    assert ours.keys() == theirs.keys()
    for name, arrays in ours.items():
        for mine, other in zip(arrays, theirs[name], strict=True):
            assert mine.dtype == other.dtype
            torch.testing.assert_close(mine, other, msg=lambda text, name=name: f"{name}: {text}")
