"""The course's GPT against a plain minimal one of the same size: time per step, and held-out loss after equal steps;
then, at two sizes, the time per step beside `nn.TransformerEncoder` and the GPT-2 of `transformers`, too.

Layers 4, heads 4, width 128, context 64, batch 12. The classes measured are the reference solutions of 09-gpt, read
from their source. The plain model is written here in the manner of the common minimal implementations: LayerNorm and
linear layers with biases, exact GELU, fused attention, weights from N(0, 0.02²), AdamW in two groups without the fused
kernel, rate 1e-3. Both take turns, one step each, so that a busy machine slows both; the ratio is that of the median
times.

    python -m benchmarks gpt                    500 timed steps, and the losses of a short training run
    COURSE_BENCH_STEPS=2000 python -m benchmarks gpt
    COURSE_BENCH_STEPS=0 python -m benchmarks gpt    only the second part
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from autograder.authoring.source import read
from helpers.kit import training
from helpers.kit.characters import Characters, speeches

ROOT = Path(__file__).parent.parent
SIZE = {"T": 64, "D": 128, "H": 4, "L": 4}
BATCH = 12
LARGER = {"T": 128, "D": 256, "H": 8, "L": 4}
BESIDE = 60  # timed steps of each model in the second part
TARGET = 0.95


class PlainBlock(nn.Module):
    def __init__(self, D: int, H: int) -> None:
        super().__init__()
        self.H = H
        self.before_attention, self.before_feed_forward = nn.LayerNorm(D), nn.LayerNorm(D)
        self.into_heads, self.out_of_heads = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.widen, self.narrow = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

    def forward(self, x: Tensor) -> Tensor:
        B, T, D = x.shape
        thirds = self.into_heads(self.before_attention(x)).split(D, dim=2)
        q, k, v = (third.view(B, T, self.H, D // self.H).transpose(1, 2) for third in thirds)
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out_of_heads(heads.transpose(1, 2).contiguous().view(B, T, D))
        return x + self.narrow(F.gelu(self.widen(self.before_feed_forward(x))))


class PlainGPT(nn.Module):
    """The baseline: GPT-2's architecture, biases everywhere, tied output weights."""

    def __init__(self, V: int, T: int, D: int, H: int, L: int) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(V, D), nn.Embedding(T, D)
        self.blocks = nn.ModuleList(PlainBlock(D, H) for _ in range(L))
        self.norm = nn.LayerNorm(D)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                ends_branch = "out_of_heads" in name or "narrow" in name
                nn.init.normal_(weight, std=0.02 / math.sqrt(2 * L) if ends_branch else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.token.weight.T


class EncoderGPT(nn.Module):
    """The same from PyTorch's own layers: its encoder, normalised first and with a causal mask."""

    def __init__(self, V: int, T: int, D: int, H: int, L: int) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(V, D), nn.Embedding(T, D)
        layer = nn.TransformerEncoderLayer(D, H, 4 * D, 0.0, F.gelu, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, L, nn.LayerNorm(D), enable_nested_tensor=False)
        self.mask = nn.Transformer.generate_square_subsequent_mask(T)

    def forward(self, tokens: Tensor) -> Tensor:
        T = tokens.shape[1]
        x = self.token(tokens) + self.position(torch.arange(T))
        return self.layers(x, mask=self.mask[:T, :T], is_causal=True) @ self.token.weight.T


class LibraryGPT(nn.Module):
    """GPT-2 of `transformers`, without dropout."""

    def __init__(self, V: int, T: int, D: int, H: int, L: int) -> None:
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel

        shape = {"vocab_size": V, "n_positions": T, "n_embd": D, "n_head": H, "n_layer": L}
        off = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "bos_token_id": 0, "eos_token_id": 0}
        self.inner: nn.Module = GPT2LMHeadModel(GPT2Config.from_dict({**shape, **off}))

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.inner(tokens, use_cache=False).logits
        return logits


OTHERS = {"plain": PlainGPT, "nn.TransformerEncoder": EncoderGPT, "transformers GPT-2": LibraryGPT}


def plain_steps(model: nn.Module, batches: Iterator[tuple[Tensor, Tensor]], rates: list[float]) -> Iterator[float]:
    """One training step of the baseline for each value asked for; gives its loss."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))
    model.train()
    for (x, y), rate in zip(batches, rates, strict=True):
        for group in optimizer.param_groups:
            group["lr"] = rate
        logits = model(x)
        loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), y.reshape(-1), ignore_index=-1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        yield loss.item()


def course_code() -> dict[str, Any]:
    """The reference solutions of 09-gpt that training needs, run from their source."""
    cells = read(ROOT / "solutions" / "09-gpt" / "09-gpt.py")
    wanted = ("setup", "batches", "attention", "block", "gpt", "loss", "evaluate", "train")
    space: dict[str, Any] = {"__name__": "course_gpt"}
    for cell in cells:
        if cell.grade_id in wanted or (cell.kind == "code" and not cell.grade_id and "def initialise" in cell.source):
            exec(compile(cell.python, f"09-gpt:{cell.grade_id or 'given'}", "exec"), space)
    return space


def turns(
    course: dict[str, Any],
    data: Characters,
    steps: int,
    rate: float,
    size: dict[str, int] = SIZE,
    others: tuple[str, ...] = ("plain",),
) -> dict[str, dict[str, Any]]:
    """Train all for `steps` steps on the same batches, one step each in turn; times, losses and models by name."""
    V = len(data.alphabet)
    torch.manual_seed(0)
    models = {**{name: OTHERS[name](V, **size) for name in others}, "course": course["GPT"](V, **size)}
    batches = [course["random_batch"](data.train, BATCH, size["T"]) for _ in range(steps)]
    clock: dict[str, list[float]] = {name: [] for name in models}
    running = {name: plain_steps(models[name], iter(batches), training.warmup_cosine(steps, 1e-3)) for name in others}
    started = [time.perf_counter()]

    def after(step: int, loss: float) -> None:
        """The course's own loop calls this after each of its steps: now it is the others' turn."""
        clock["course"].append(time.perf_counter() - started[0])
        for name, other in running.items():
            began = time.perf_counter()
            next(other, None)
            clock[name].append(time.perf_counter() - began)
        started[0] = time.perf_counter()

    course["train"](models["course"], batches, training.warmup_cosine(steps, rate), watch=after)
    return {name: {"times": clock[name], "model": models[name]} for name in models}


def medians_of(results: dict[str, dict[str, Any]], warm: int) -> dict[str, float]:
    return {name: statistics.median(entry["times"][warm:]) for name, entry in results.items()}


def main() -> None:
    steps = int(os.environ.get("COURSE_BENCH_STEPS", "500"))
    course, data = course_code(), speeches()
    if steps:
        against_the_plain_one(course, data, steps)
    beside_the_libraries(course, data)


def against_the_plain_one(course: dict[str, Any], data: Characters, steps: int) -> None:
    warm = min(20, steps // 5)
    held_out = list(training.cover(data.validation[:40_000], 32, SIZE["T"]))
    print(
        f"{steps} steps each, taken in turns, {torch.get_num_threads()} threads; V = {len(data.alphabet)}, {SIZE},"
        f" batch {BATCH}"
    )
    results = turns(course, data, steps, rate=3e-3)
    medians = medians_of(results, warm)
    losses = {name: course["evaluate"](entry["model"], held_out) for name, entry in results.items()}
    for name in results:
        parameters = sum(p.numel() for p in results[name]["model"].parameters())
        print(
            f"{name:<8} {1000 * medians[name]:7.2f} ms per step   held-out loss {losses[name]:.4f}   {parameters:,}"
            " parameters"
        )
    ratio = medians["course"] / medians["plain"]
    verdict = "reached" if ratio <= TARGET and losses["course"] <= losses["plain"] else "NOT reached"
    print(f"ratio course / plain: {ratio:.3f} (target: at most {TARGET}, and no larger loss): {verdict}")


def beside_the_libraries(course: dict[str, Any], data: Characters) -> None:
    """Time per step of all four, in turns, one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    print(f"\n{BESIDE} steps each, taken in turns, one thread, batch {BATCH}; milliseconds, and times the plain one's")
    print(f"| T, width, heads, layers | course | {' | '.join(OTHERS)} |")
    print(f"| --- | --- |{' --- |' * len(OTHERS)}", flush=True)
    for size in (SIZE, LARGER):
        found = turns(course, data, BESIDE + 5, 3e-3, size, tuple(OTHERS))
        medians = medians_of(found, 5)
        row = [f"{1000 * medians[name]:.1f} ({medians[name] / medians['plain']:.2f})" for name in ("course", *OTHERS)]
        print(f"| {', '.join(map(str, size.values()))} | {' | '.join(row)} |", flush=True)
    torch.set_num_threads(threads)


if __name__ == "__main__":
    main()
