"""The same kernels on a real machine: compiled for an A100 without having one, and timed where there is a GPU."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from helpers.kit import tiles

NO_TRITON = (
    "Triton is not installed here, so nothing was compiled. On Linux: pip install triton (286 MB), or open this"
    " notebook on Colab, which has it."
)
NO_GPU = (
    "There is no CUDA GPU here, so nothing was timed. Your kernels ran in the simulator, which counts bytes and"
    " operations but says nothing about seconds. On Colab: Runtime → Change runtime type → T4 GPU, then run all cells."
)
T4 = "A T4 runs float32 without tensor cores: compare the three with each other, not with an A100's data sheet."


class Compiled(NamedTuple):
    """What the compiler made of a kernel."""

    shared_bytes: int
    tensor_core_instructions: int
    lines: int


def compiled_for_a100(kernel: Any, types: Mapping[str, str], constants: Mapping[str, Any]) -> Compiled | None:
    """Compile a kernel for sm_80, without a GPU; None where Triton is not installed.

    `types` gives each parameter that is no constant its Triton type, such as "*fp16" or "i32".
    """
    if importlib.util.find_spec("triton") is None:
        return None
    text = tiles.simulated(kernel).text
    with tempfile.TemporaryDirectory() as folder:
        # Triton reads a kernel's source from its file, and its words from the file's imports.
        path = Path(folder) / "kernel_to_compile.py"
        path.write_text(f"import triton\nimport triton.language as tl\n\n\n{text}", encoding="utf-8")
        spec = importlib.util.spec_from_file_location("kernel_to_compile", path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules["kernel_to_compile"] = module
        try:
            spec.loader.exec_module(module)
            real = getattr(module, tiles.simulated(kernel).__name__)
            compiler, backend = (
                importlib.import_module(f"triton.{name}") for name in ("compiler", "backends.compiler")
            )
            signature = {**types, **dict.fromkeys(constants, "constexpr")}
            source = compiler.ASTSource(fn=real, signature=signature, constexprs=dict(constants))
            made = compiler.compile(source, target=backend.GPUTarget("cuda", 80, 32))
        finally:
            del sys.modules["kernel_to_compile"]
    code = made.asm["ptx"]
    return Compiled(int(made.metadata.shared), code.count("mma.sync"), len(code.splitlines()))


def milliseconds(function: Callable[[], Any], repeats: int = 20) -> float:
    """Mean time of a call on the GPU, after one call that compiles."""
    function()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(repeats):
        function()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / repeats


def with_the_matrix(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v


def compare(
    flash: Callable[..., torch.Tensor], sizes: tuple[int, ...] = (1024, 2048, 4096), H: int = 8, D: int = 64
) -> str:
    """Times of your kernel, of torch's fused attention and of the form with the matrix, as text."""
    if not tiles.real:
        return NO_GPU
    lines = [f"{torch.cuda.get_device_name()}: milliseconds, {H} heads of width {D}, float32"]
    lines.append(f"{'T':>6} {'yours':>9} {'SDPA':>9} {'with the matrix':>16}")
    for T in sizes:
        q, k, v = torch.randn(3, H, T, D, device="cuda")
        naive = milliseconds(partial(with_the_matrix, q, k, v))
        fused = milliseconds(partial(torch.nn.functional.scaled_dot_product_attention, q, k, v))
        yours = milliseconds(partial(flash, q, k, v))
        lines.append(f"{T:>6} {yours:>9.3f} {fused:>9.3f} {naive:>16.3f}")
    return "\n".join([*lines, T4] if "T4" in torch.cuda.get_device_name() else lines)
