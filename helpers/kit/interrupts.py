"""Loops that can be stopped and gone on with: an interrupt keeps what was learned, and running the cell again
continues.

A `Loop` goes through steps or batches. Outside grading, an interrupt lets the step end; then the loop ends early, and
what it was told to `keep` (models, optimisers, schedules, tensors, lists) is remembered with the random state. Every
other loop of the cell takes one more step, so that the code after it has something to work with. When the same loop
starts again (same label, same length, same weights at the start), it restores all that and goes on; loops of the cell
that were finished are not repeated. In grading nothing of this happens: a stop is a stop.
"""

from __future__ import annotations

import copy
import random
import signal
import sys
import threading
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field
from itertools import islice
from types import FrameType, TracebackType
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from helpers.kit import live
from helpers.kit.scale import graded, scale

Item = TypeVar("Item")
Key = tuple[Any, ...]
MOST = 60  # snapshots that are remembered; the oldest go first


@dataclass
class Snapshot:
    """What a loop was told to keep, after `done` steps: the state of each thing (None: not taken), its optimisers', the
    random state.
    """

    done: int
    finished: bool
    states: list[Any]
    optimizers: list[Any]
    randomness: tuple[Any, ...]


@dataclass
class Cell:
    """The cell that is running: was a stop asked for, was a loop cut short, and which snapshots belong to it."""

    number: int | None = None
    asked: bool = False
    cuts: int = 0
    depth: int = 0
    used: set[Key] = field(default_factory=set)
    active: list[Key] = field(default_factory=list)  # loops that are running, the outermost first
    alike: Counter[Key] = field(default_factory=Counter)  # loops of this cell that start in the same way
    before: Any = None  # the signal handler that was there before


_cell = Cell()
_kept: dict[Key, Snapshot] = {}
_optimizers: WeakKeyDictionary[nn.Module, torch.optim.Optimizer] = WeakKeyDictionary()


def remember_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """A loop that keeps this model keeps its optimiser, too, even if that was made out of sight."""
    _optimizers[model] = optimizer


def forget() -> None:
    """Forget every stopped loop: the next run of a cell starts from the beginning."""
    _kept.clear()
    _cell.used.clear()


def _number_of_cell() -> int | None:
    """The number in the brackets of the running cell; None outside a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return None if shell is None else int(shell.execution_count)


def _enter_cell() -> None:
    """In a new cell clear up after the one before: if nothing was cut short there, nothing has to be gone on with."""
    global _cell
    number = _number_of_cell()
    if number != _cell.number or (number is None and _cell.depth == 0):
        if not _cell.cuts:
            for key in _cell.used:
                _kept.pop(key, None)
        _cell = Cell(number)


def _begin_loop() -> None:
    """Start listening for an interrupt."""
    _enter_cell()
    if _cell.depth == 0 and threading.current_thread() is threading.main_thread():
        _cell.before = signal.signal(signal.SIGINT, _on_interrupt)
    _cell.depth += 1


def _end_loop(cell: Cell) -> None:
    cell.depth -= 1
    if (
        cell is _cell
        and cell.depth == 0
        and cell.before is not None
        and signal.getsignal(signal.SIGINT) is _on_interrupt
    ):
        signal.signal(signal.SIGINT, cell.before)


def _on_interrupt(number: int, frame: FrameType | None) -> None:
    """The first interrupt waits for the end of the step; a second one does not wait."""
    if _cell.asked:
        raise KeyboardInterrupt
    _cell.asked = True


def _randomness() -> tuple[Any, ...]:
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
    return random.getstate(), np.random.get_state(), torch.get_rng_state(), cuda


def _set_randomness(state: tuple[Any, ...]) -> None:
    random.setstate(state[0])
    np.random.set_state(state[1])
    torch.set_rng_state(state[2])
    if state[3] is not None:
        torch.cuda.set_rng_state_all(state[3])


def _state_of(thing: Any) -> Any:
    """A copy of what a thing knows: lists and dicts are copied flat, what they hold is not changed any more."""
    if isinstance(thing, Tensor):
        return thing.detach().clone()
    if isinstance(thing, list | dict):
        return thing.copy()
    if isinstance(thing, torch.Generator):
        return thing.get_state()
    return copy.deepcopy(thing.state_dict())


def _restore(thing: Any, state: Any) -> None:
    if isinstance(thing, Tensor):
        with torch.no_grad():
            thing.copy_(state)
    elif isinstance(thing, list):
        thing[:] = state
    elif isinstance(thing, dict):
        thing.clear()
        thing.update(state)
    elif isinstance(thing, torch.Generator):
        thing.set_state(state)
    else:
        thing.load_state_dict(copy.deepcopy(state))


def _signature(thing: Any) -> Any:
    """What tells two starts apart: the kind of a thing, and the weights of a model."""
    tensors = (
        [thing]
        if isinstance(thing, Tensor)
        else list(thing.state_dict().values())
        if isinstance(thing, nn.Module)
        else []
    )
    sums = [
        (tuple(t.shape), zlib.crc32(t.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes()))
        for t in tensors
        if t.numel()
    ]
    return type(thing).__name__, tuple(sums)


class Loop(Generic[Item]):
    """Items with a progress bar on standard output (none at smoke scale), which an interrupt ends early: see the top of
    this file.

    `watch` is a list to which each step adds its loss: a notebook shows it as a growing curve in place of the bar.
    `done` is the number of items that are left out because they were gone through before. As a context manager it stops
    the block by an exception that ends there: for code that must see all of its items or none, such as `zip(…,
    strict=True)`.
    """

    def __init__(
        self,
        items: Iterable[Item],
        label: str,
        total: int | None = None,
        keep: Sequence[Any] = (),
        bar: bool = True,
        watch: Sequence[float] | None = None,
    ) -> None:
        self.items, self.label, self.keep, self.watch = items, label, list(keep), watch
        self.total = len(items) if total is None and isinstance(items, Sized) else total
        self.shows_bar = bar and scale() != "smoke"
        self.raises = False
        self.key: Key = ()
        if not graded():
            _enter_cell()
        if keep and not graded():
            inside = _cell.active[-1] if _cell.active else None  # what is inside starts where the loop around it is
            alike = (label, self.total, inside, *(type(t).__name__ if inside else _signature(t) for t in self.keep))
            self.key = (*alike, _cell.alike[alike])
            _cell.alike[alike] += 1
        self.snapshot = _kept.get(self.key) if self.key else None
        self.done = self.snapshot.done if self.snapshot else 0
        self.bar: Any = None

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError("the number of items is not known")
        return self.total - self.done

    def __enter__(self) -> Loop[Item]:
        self.raises = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        return kind is not None and issubclass(kind, Stopped)

    def note(self, **numbers: float) -> None:
        """Numbers to show behind the bar, such as the loss so far."""
        if self.bar is not None:
            self.bar.set_postfix({name: f"{value:.3g}" for name, value in numbers.items()}, refresh=False)

    def __iter__(self) -> Iterator[Item]:
        if graded():
            yield from self.items
            return
        _begin_loop()
        cell = _cell
        cell.used.add(self.key)
        cell.active.append(self.key)
        try:
            yield from self._listening(cell)
        finally:
            cell.active.remove(self.key)
            if self.bar is not None:
                self.bar.close()
            _end_loop(cell)

    def _listening(self, cell: Cell) -> Iterator[Item]:
        if self.snapshot is not None and self.snapshot.finished:
            self._go_on(self.snapshot)
            return
        todo = iter(self.items)
        if self.snapshot is not None:
            next(islice(todo, self.done, self.done), None)  # gone through before
            self._go_on(self.snapshot)
            if self.done:
                afresh = "`from helpers.kit import training; training.forget()` starts afresh"
                tqdm.write(f"{self.label}: going on after {self._place(self.done)} ({afresh})", file=sys.stdout)
        if self.shows_bar:
            watched = None if self.watch is None else live.panel(self.label, self.total, self.done, self.watch)
            self.bar = watched or tqdm(
                desc=self.label, total=self.total, initial=self.done, file=sys.stdout, mininterval=0.5, leave=False
            )
        count = self.done
        for item in todo:
            lists = [_state_of(thing) if isinstance(thing, list | dict) else None for thing in self.keep]
            cuts = cell.cuts
            yield item
            count += 1
            if self.bar is not None:
                if self.watch and isinstance(self.watch[-1], float):  # to ask for a tensor's would wait for the GPU
                    self.note(loss=self.watch[-1])
                self.bar.update()
            if cell.asked and not (count == self.total and cell.cuts == cuts):
                if cell.cuts == cuts:
                    self._save(count, finished=False)
                else:  # a loop inside was cut short, so this item is not done
                    self._save(count - 1, finished=False, states=lists)
                self._stop(cell, count)
                return
        self._save(count, finished=True)

    def _stop(self, cell: Cell, count: int) -> None:
        cell.cuts += 1
        if self.bar is not None:
            self.bar.close()
        if cell.cuts == 1:
            again = "run the cell again to go on" if self.keep else "run the cell again to start afresh"
            tqdm.write(f"{self.label}: stopped at {self._place(count)}; {again}", file=sys.stdout)
        if self.raises:
            raise Stopped

    def _place(self, count: int) -> str:
        return f"step {count}" + (f" of {self.total}" if self.total is not None else "")

    def _made(self) -> list[torch.optim.Optimizer]:
        """Optimisers that `make_optimizer` made for the models of this loop."""
        return [_optimizers[thing] for thing in self.keep if isinstance(thing, nn.Module) and thing in _optimizers]

    def _save(self, done: int, finished: bool, states: list[Any] | None = None) -> None:
        if not self.key:
            return
        _kept.pop(self.key, None)
        taken = [_state_of(thing) for thing in self.keep] if states is None else states
        optimizers = [_state_of(optimizer) for optimizer in self._made()] if states is None else []
        _kept[self.key] = Snapshot(done, finished, taken, optimizers, _randomness())
        for oldest in list(_kept)[:-MOST]:
            del _kept[oldest]

    def _go_on(self, snapshot: Snapshot) -> None:
        for thing, state in zip(self.keep, snapshot.states, strict=True):
            if state is not None:
                _restore(thing, state)
        for optimizer, state in zip(self._made(), snapshot.optimizers, strict=False):
            _restore(optimizer, state)
        _set_randomness(snapshot.randomness)


class Stopped(KeyboardInterrupt):
    """Ends a `with` block whose loop was interrupted."""
