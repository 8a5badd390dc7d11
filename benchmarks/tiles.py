"""The GPU simulator of 15-kernels against Triton's own interpreter, where Triton is installed (the extra `kernels`).

The same kernels, those of tests/kit/tile_kernels.py, on the same arrays, at two sizes; processor seconds of one launch,
the best of three. The simulator also checks bounds and races and counts bytes, which the interpreter does not.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RUNS = 3


def launches(kernels: Any) -> Iterator[tuple[str, Any, tuple[int, ...], tuple[Any, ...], dict[str, int]]]:
    """Name, kernel, grid, arguments, constants."""
    import torch

    for n in (64, 256):
        arrays = (kernels.randn(1, n, n), kernels.randn(2, n, n), torch.zeros(n, n))
        sizes = {"BM": 32, "BN": 32, "BK": 32}
        yield f"matmul, {n} × {n}", kernels.matmul, (n // 32, n // 32), (*arrays, n, n, n), sizes
    for T in (64, 256):
        out = [torch.zeros(2, T, 16), torch.zeros(2, T)]
        sizes = {"D": 16, "BM": 32, "BN": 32, "CAUSAL": 1}
        heads = (*kernels.randn(3, 3, 2, T, 16), *out)
        yield f"flash attention, T = {T}", kernels.flash, (T // 32, 2), (*heads, T, 0.25), sizes
    for rows in (32, 128):
        both = (kernels.randn(4, rows, 100), torch.zeros(rows, 100))
        yield f"softmax, {rows} rows", kernels.softmax, (rows,), (*both, rows, 100), {"BLOCK": 128}


def measure() -> dict[str, float]:
    sys.path.insert(0, str(ROOT / "tests" / "kit"))
    import tile_kernels

    found = {}
    for name, kernel, grid, args, constants in launches(tile_kernels):
        taken = []
        for _ in range(RUNS):
            before = time.process_time()
            kernel[grid](*args, **constants)
            taken.append(time.process_time() - before)
        found[name] = min(taken)
    return found


def measured(**environment: str) -> dict[str, float]:
    """In a process of its own: the interpreter is chosen when Triton is imported."""
    line = [sys.executable, "-m", "benchmarks.tiles", "measure"]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    done = subprocess.run(line, cwd=ROOT, env=variables, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    ours = measured(NBGRADER_EXECUTION="autograde")  # in grading it is the simulator, whatever is installed
    if importlib.util.find_spec("triton") is None:
        theirs: dict[str, float] = {}
        print("Triton is not installed: pip install -e .[kernels]")
    else:
        theirs = measured(TRITON_INTERPRET="1", COURSE_TILES="triton")
    print("| launch | simulator | Triton's interpreter | ratio |")
    print("| --- | --- | --- | --- |")
    for name, mine in ours.items():
        other = theirs.get(name)
        rest = f"{1000 * other:.1f} ms | {mine / other:.2f}" if other else "|"
        print(f"| {name} | {1000 * mine:.1f} ms | {rest} |")


if __name__ == "__main__":
    print(json.dumps(measure())) if sys.argv[1:] == ["measure"] else main()
