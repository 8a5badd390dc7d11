"""The length experiment: a one-layer model into which a position scheme is plugged, trained at one length and tested at
others.

The task is recall. Every token is a pair of a key and a value. At every step the model has to give the value that the
same key had the last time. Content says which tokens match; only position says which of the matching ones came last.
Everything runs on the CPU: the model is too small to gain from a GPU, and a scheme may make its tensors where it likes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import tqdm

from helpers.kit.interrupts import Loop
from helpers.kit.scale import scale

KEYS, VALUES = 8, 8
NO_ANSWER = -100  # what `cross_entropy` leaves out
ASKED = 8  # a test looks at the last few positions only: those are the ones that are new at a new length

Attend = Callable[..., Tensor]


@dataclass(frozen=True)
class Scheme:
    """Where positions enter. Whatever is left out changes nothing.

    embed(x, table): the embeddings x (B, T, D), with positions in them. turn(x): queries or keys x (B, H, T, d),
    turned. bias(q, k, table): numbers to add to the scores, broadcastable to (B, H, T, T). table: the shape of a
    learned table, which starts as normal numbers of standard deviation 0.02; None if nothing is learned. longest: the
    largest length the scheme is defined for; None if there is none.
    """

    embed: Callable[[Tensor, Tensor | None], Tensor] | None = None
    turn: Callable[[Tensor], Tensor] | None = None
    bias: Callable[[Tensor, Tensor, Tensor | None], Tensor] | None = None
    table: tuple[int, ...] | None = None
    longest: int | None = None


def recall_batch(B: int, T: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Tokens (B, T), each key · VALUES + value, and targets (B, T): the value the same key had last, or NO_ANSWER if it
    is new.
    """
    tokens = torch.randint(0, KEYS * VALUES, (B, T), generator=generator)
    keys, values = tokens // VALUES, tokens % VALUES
    earlier = torch.ones(T, T, dtype=torch.bool).tril(-1)
    match = (keys[:, :, None] == keys[:, None]) & earlier  # (B, T, T)
    last = torch.where(match, torch.arange(T), -1).amax(-1)  # (B, T)
    return tokens, torch.where(last >= 0, values.gather(1, last.clamp(min=0)), NO_ANSWER)


class RecallModel(nn.Module):
    """Embedding, one layer of causal attention, one feed-forward layer.

    The scheme is all that differs between two models.
    """

    def __init__(self, scheme: Scheme, attend: Attend, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.scheme, self.attend, self.heads = scheme, attend, heads
        self.embedding = nn.Embedding(KEYS * VALUES, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.before, self.between, self.after = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.head = nn.Linear(width, VALUES)
        self.table = None if scheme.table is None else nn.Parameter(0.02 * torch.randn(scheme.table))

    def forward(self, tokens: Tensor) -> Tensor:
        B, T = tokens.shape
        x = self.embedding(tokens)  # (B, T, D)
        if self.scheme.embed is not None:
            x = self.scheme.embed(x, self.table)
        q, k, v = (
            part.view(B, T, self.heads, -1).transpose(1, 2) for part in self.qkv(self.before(x)).chunk(3, dim=-1)
        )  # (B, H, T, d)
        if self.scheme.turn is not None:
            q, k = self.scheme.turn(q), self.scheme.turn(k)
        bias = None if self.scheme.bias is None else self.scheme.bias(q, k, self.table)
        mask = torch.ones(T, T, dtype=torch.bool).tril()
        x = x + self.out(self.attend(q, k, v, bias, mask).transpose(1, 2).reshape(B, T, -1))
        x = x + self.feed_forward(self.between(x))
        return self.head(self.after(x))  # (B, T, VALUES)


def train(
    scheme: Scheme,
    attend: Attend,
    seed: int,
    length: int,
    steps: int,
    batch: int = 32,
    rate: float = 3e-3,
    label: str = "training",
    watch: Callable[[int, float], None] | None = None,
) -> RecallModel:
    """A model trained on `steps` batches of sequences of one length. The random state outside is left as it was.

    `watch(step, loss)` is called after every step, counted from 1. An interrupt ends the training early; the same call
    goes on.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = RecallModel(scheme, attend)
    data = torch.Generator().manual_seed(1000 + seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=max(steps, 2), pct_start=0.1)
    for step in Loop(range(steps), label, keep=[model, data, optimizer, schedule], bar=False):
        tokens, targets = recall_batch(batch, length, data)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), ignore_index=NO_ANSWER)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if watch is not None:
            watch(step + 1, loss.item())
    return model


@torch.no_grad()
def accuracy(model: RecallModel, length: int, sequences: int, batch: int = 16) -> float:
    """Share of right answers at the last positions of new sequences, the same for every model."""
    data = torch.Generator().manual_seed(length)
    right = asked = 0
    for start in range(0, sequences, batch):
        tokens, targets = recall_batch(min(batch, sequences - start), length, data)
        guesses = model(tokens).argmax(-1)[:, -ASKED:]
        targets = targets[:, -ASKED:]
        right += int((guesses == targets).sum())
        asked += int((targets != NO_ANSWER).sum())
    return right / max(asked, 1)


@contextmanager
def one_thread() -> Iterator[None]:
    """Matrices this small gain nothing from a second thread, and lose much where cores are shared."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def progress_bar(total: int) -> Iterator[tqdm[Any]]:
    """One bar for all steps of all runs, with the time left and the loss so far; none at smoke scale."""
    bar = tqdm(total=total, file=sys.stdout, disable=scale() == "smoke", mininterval=0.5, leave=False)
    try:
        yield bar
    finally:
        bar.close()


def summary(name: str, lengths: Sequence[int], rows: Sequence[Sequence[float]]) -> str:
    """The accuracies of one scheme: the worst and the best seed at each length."""
    table = torch.tensor(rows)
    low, high = table.min(0).values, table.max(0).values
    return f"{name:>12}: " + "  ".join(f"T={T}: {a:.2f}–{b:.2f}" for T, a, b in zip(lengths, low, high, strict=True))


def experiment(
    schemes: Mapping[str, Scheme],
    attend: Attend,
    *,
    length: int,
    tests: Sequence[int],
    seeds: Sequence[int],
    steps: int,
    sequences: int,
) -> dict[str, tuple[list[int], Tensor]]:
    """For each scheme, the lengths it could be tested at and the accuracies (seeds, lengths). Says how each one did.

    Interrupted, it gives what there is so far: whole schemes, and the one at which it was stopped, trained less. The
    same call goes on.
    """
    lengths = {
        name: [T for T in tests if scheme.longest is None or scheme.longest >= T] for name, scheme in schemes.items()
    }
    rows: dict[str, list[list[float]]] = {}
    unwritten: list[str] = []
    runs = [(name, seed) for name in schemes for seed in seeds]
    with one_thread(), progress_bar(len(runs) * steps) as bar:
        for name, seed in Loop(runs, f"{', '.join(schemes)} at length {length}", keep=[rows, unwritten], bar=False):
            if name in unwritten:
                continue
            label = f"{name}, seed {seed}"
            bar.set_description(label, refresh=False)

            def watch(step: int, loss: float, before: int = runs.index((name, seed)) * steps) -> None:
                bar.update(before + step - bar.n)
                bar.set_postfix(loss=f"{loss:.3f}", refresh=False)

            try:
                model = train(schemes[name], attend, seed, length, steps, label=label, watch=watch)
            except NotImplementedError:
                bar.write(f"{name:>12}: not written yet, left out", file=sys.stdout)
                unwritten.append(name)
                continue
            rows[name] = [*rows.get(name, []), [accuracy(model, T, sequences) for T in lengths[name]]]
            if len(rows[name]) == len(seeds):
                bar.write(summary(name, lengths[name], rows[name]), file=sys.stdout)
    return {name: (lengths[name], torch.tensor(found)) for name, found in rows.items()}
