"""What the deviation of the starting weights does to the models of 10 to 13: fixed, or following the width.

"before" is GPT-2's deviation of 0.02 for every linear layer, made for a width of 768; "after" is what the kit does now
(`initialise` in `helpers/kit/models.py`). Everything else is equal, seed by seed: the classes, the training functions,
the settings and the data are those of the reference solutions at laptop scale, read from their source.

    python -m benchmarks initialisation
    COURSE_BENCH_ONLY="11 classifier,13" python -m benchmarks initialisation
    COURSE_BENCH_SEEDS=0 python -m benchmarks initialisation
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from autograder.authoring.source import read
from autograder.model import names
from helpers.kit import models

ROOT = Path(__file__).parent.parent
GPT2_DEVIATION = 0.02
STARTS = {"before": functools.partial(models.initialise, std=GPT2_DEVIATION), "after": models.initialise}
Numbers = dict[str, float]


# ---- a part of a notebook -------------------------------------------------------------------------------------------


def needed(assignment: str, goals: set[str]) -> dict[str, Any]:
    """Run only the statements of a reference solution that the names in `goals` need; give all names they set.

    A notebook also trains models for its own figures, which would take minutes. Test cells are left out.
    """
    statements = []
    for cell in read(ROOT / "solutions" / assignment / f"{assignment}.py"):
        if cell.kind == "code" and not cell.grade_id.endswith("-test"):
            for statement in ast.parse(cell.python).body:
                statements.append(ast.unparse(statement))
    wanted, chosen = set(goals), []
    for text in reversed(statements):
        found = names.of(text)
        if found.bound & wanted:
            chosen.append(text)
            wanted |= found.read
    space: dict[str, Any] = {"__name__": assignment}
    for text in reversed(chosen):
        exec(compile(text, assignment, "exec"), space)
    missing = goals - space.keys()
    if missing:
        raise LookupError(f"{assignment} does not set {', '.join(sorted(missing))}: has it been renamed?")
    return space


# ---- one training run each ------------------------------------------------------------------------------------------


def language_model_10() -> Callable[[int], Numbers]:
    study = needed("10-attention-experiments", {"run"})

    def trained(seed: int) -> Numbers:
        numbers, (losses, _), _ = study["run"]("baseline", seed)
        return {"steps": len(losses), "dev perplexity": numbers["dev perplexity"]}

    return trained


def classifier_11() -> Callable[[int], Numbers]:
    lesson = needed("11-speeches", {"fit_classifier"})

    def trained(seed: int) -> Numbers:
        _, curve = lesson["fit_classifier"](seed)
        steps = lesson["EPOCHS"] * -(-len(lesson["train_x"]) // lesson["BATCH"])
        return {"steps": steps, "test accuracy in %": 100 * curve[-1]}

    return trained


def decoder_11() -> Callable[[int], Numbers]:
    """The first 200 of its 500 steps, at the same rate: five hundred take a minute for each seed."""
    lesson = needed("11-speeches", {"fit_decoder"})
    lesson["STEPS"] = lesson["EVERY"] = 200

    def trained(seed: int) -> Numbers:
        _, report = lesson["fit_decoder"](seed)
        step, last = report[-1]
        return {"steps": step} | {f"perplexity, {name}": numbers["all"] for name, numbers in last.items()}

    return trained


def translator_12() -> Callable[[int], Numbers]:
    """The base of its hyper-parameter runs: the large run of its Part 3 takes several minutes for each seed."""
    lesson = needed("12-translation", {"train_translator", "judged", "short_tokens", "short_dev_tokens", "BASE"})
    words = lesson["vocabularies"]

    def trained(seed: int) -> Numbers:
        model, losses, curve = lesson["train_translator"](
            lesson["BASE"], lesson["short_tokens"], lesson["short_dev_tokens"], words, seed
        )
        scores = lesson["judged"](model, lesson["short_dev"], words)
        return {"steps": len(losses), "dev loss": curve[-1][1], "dev BLEU": scores["BLEU"]}

    return trained


def watched_13() -> Callable[[int], Numbers]:
    """At its good rate. The cell always takes the same seed, so its seeding function is replaced."""
    lesson = needed("13-training-craft", {"watched_run"})
    set_seed = lesson["seed"]

    def trained(seed: int) -> Numbers:
        lesson["seed"] = lambda _: set_seed(seed)
        losses, _ = lesson["watched_run"](3e-3, 1.0)
        return {"steps": len(losses), "mean of the last ten losses": statistics.fmean(losses[-10:])}

    return trained


RUNS: dict[str, Callable[[], Callable[[int], Numbers]]] = {
    "10 language model": language_model_10,
    "11 classifier": classifier_11,
    "11 decoder": decoder_11,
    "12 translator, short run": translator_12,
    "13 watched run": watched_13,
}


# ---- the table ------------------------------------------------------------------------------------------------------


def summary(values: list[float]) -> str:
    return f"{statistics.fmean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main() -> None:
    os.environ.setdefault("COURSE_SCALE", "laptop")
    torch.set_num_threads(1)
    seeds = [int(number) for number in os.environ.get("COURSE_BENCH_SEEDS", "0,1,2").split(",")]
    only = [name for name in os.environ.get("COURSE_BENCH_ONLY", "").split(",") if name]
    print(
        f"scale {os.environ['COURSE_SCALE']}, seeds {seeds}: mean (lowest to highest), and the single runs", flush=True
    )
    print("| run | steps | measure | before | after |\n| --- | --- | --- | --- | --- |", flush=True)
    for name, make in RUNS.items():
        if only and not any(name.startswith(prefix) for prefix in only):
            continue
        trained, began = make(), time.process_time()
        results: dict[str, list[Numbers]] = {}
        for start, initialise in STARTS.items():
            models.initialise = initialise  # type: ignore[assignment]  # the models call it when they are made
            with contextlib.redirect_stdout(io.StringIO()):  # progress bars
                results[start] = [trained(seed) for seed in seeds]
        models.initialise = STARTS["after"]  # type: ignore[assignment]
        each = (time.process_time() - began) / (2 * len(seeds))
        steps = round(results["after"][0]["steps"])
        for measure in list(results["after"][0])[1:]:
            columns = {start: [numbers[measure] for numbers in of_seeds] for start, of_seeds in results.items()}
            print(
                f"| {name} | {steps} | {measure} | {summary(columns['before'])} | {summary(columns['after'])} |",
                flush=True,
            )
            for start, values in columns.items():
                print(f"    {start}: " + ", ".join(f"{value:.3f}" for value in values), flush=True)
        print(f"    {each:.0f} s of processor time for one run", flush=True)


if __name__ == "__main__":
    main()
