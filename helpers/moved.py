"""Names that modules had before they were sorted into rooms.

Notebooks handed out then still run: for one version, old names lead to new ones.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

NEW_NAMES = {
    "characters": "kit.characters",
    "craft": "training_craft.checkpoints",
    "crash_disk": "training_craft.crash_disk",
    "depth": "transformer_blocks.depth",
    "derivation": "rnn_backprop.derivation",
    "device": "kit.seeding",
    "devices": "gpt.devices",
    "extrapolation": "positions.extrapolation",
    "four_keys": "attention.four_keys",
    "gpt_figures": "gpt.figures",
    "hub": "fine_tuning.hub",
    "interrupts": "kit.interrupts",
    "intervals": "attention_experiments.intervals",
    "leaks": "attention_experiments.leaks",
    "low_rank": "linear_attention.low_rank",
    "models": "kit.models",
    "number_formats": "precision.number_formats",
    "pairs": "translation.pairs",
    "plots": "kit.plots",
    "pretrained": "fine_tuning.pretrained",
    "quiz": "kit.quiz",
    "rnn_figures": "rnn_backprop.figures",
    "rotary_dial": "positions.rotary_dial",
    "scale": "kit.scale",
    "semi_closed": "logit_bias.semi_closed",
    "sentences": "attention_experiments.sentences",
    "sentiment": "fine_tuning.sentiment",
    "slurm": "gpt.slurm",
    "speech_figures": "speeches.figures",
    "tokens": "tokenization.tokens",
    "training": "kit.training",
    "tuning_figures": "fine_tuning.figures",
    "two_designs": "precision.two_designs",
    "widgets": "attention.widgets",
    "word_model": "logit_bias.word_model",
    "workers": "precision.workers",
}


class OldNames(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """`import helpers.plots` gives the module `helpers.kit.plots`, the same object."""

    def __init__(self) -> None:
        self.real_specs: dict[str, importlib.machinery.ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, name = fullname.rpartition(".")
        known = package == "helpers" and name in NEW_NAMES
        return importlib.machinery.ModuleSpec(fullname, self) if known else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(f"helpers.{NEW_NAMES[spec.name.rpartition('.')[2]]}")
        self.real_specs[module.__name__] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It was executed under its new name, which is the one it keeps."""
        module.__spec__ = self.real_specs[module.__name__]


def forward_old_names() -> None:
    if not any(isinstance(finder, OldNames) for finder in sys.meta_path):
        sys.meta_path.append(OldNames())
