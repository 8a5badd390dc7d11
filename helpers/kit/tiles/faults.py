"""What goes wrong in a kernel: text that Triton would not compile, addresses outside an array, races.

Every fault is an exception that carries plain data; its sentence is made here. `quiet_sentence` has no number in it: in
grading, an address could spell out what a hidden test put into an array.
"""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A line of a kernel: its number in the cell, 0 where only the text is known."""

    number: int
    text: str

    def sentence(self) -> str:
        where = f"line {self.number}: " if self.number else ""
        return f" ({where}`{self.text}`)" if self.text else ""


NOWHERE = Place(0, "")
VERBS = {"load": "loads", "store": "stores to", "add": "adds to"}


class KernelError(Exception):
    """Something is wrong with a kernel. `place` is filled in by whoever knows the line."""

    def __init__(self, what: str, place: Place = NOWHERE) -> None:
        super().__init__(what)
        self.what, self.place = what, place

    def __str__(self) -> str:
        return self.what + self.place.sentence()

    @property
    def quiet_sentence(self) -> str:
        return str(self)


class Refused(KernelError):
    """Triton would not compile this, or the simulator does not know it."""


class OutOfBounds(KernelError):
    """A program uses an address outside of an array."""

    def __init__(
        self,
        verb: str,
        array: str,
        program: tuple[int, ...],
        address: int,
        size: int,
        outside: int,
        lanes: int,
        masked: bool,
    ) -> None:
        self.verb, self.array, self.program, self.masked = verb, array, program, masked
        self.address, self.size, self.outside, self.lanes = address, size, outside, lanes
        super().__init__(
            f"program {program} {VERBS[verb]} number {address} of `{array}`, which has {size} numbers"
            f" ({outside} of {lanes} addresses are outside): {self.cause}"
        )

    @property
    def cause(self) -> str:
        """Whether there is a mask is known; why one does not help is not."""
        without = "here no mask keeps them out"
        return "the mask lets them through, or the addresses begin at the wrong number" if self.masked else without

    @property
    def quiet_sentence(self) -> str:
        what = f"a program {VERBS[self.verb]} numbers outside of `{self.array}`: {self.cause}"
        return what + self.place.sentence()


class Race(KernelError):
    """Two programs, or two lanes of one store, use the same number, and the result depends on who comes first."""

    def __init__(
        self, array: str, address: int, verb: str, program: tuple[int, ...], other_verb: str, other: tuple[int, ...]
    ) -> None:
        self.array, self.address, self.verb, self.program = array, address, verb, program
        self.other_verb, self.other = other_verb, other
        first, second = VERBS[verb], VERBS[other_verb]
        if program == other:
            what = f"program {program} stores two different values to number {address} of `{array}` at once"
        else:
            what = (
                f"a race: program {program} {first} number {address} of `{array}`, and program {other} {second} it,"
                " too. Programs run in any order, and at the same time"
            )
        super().__init__(what)

    @property
    def quiet_sentence(self) -> str:
        first, second = VERBS[self.verb], VERBS[self.other_verb]
        what = f"a race: one program {first} a number of `{self.array}` that another program {second}, too"
        if self.program == self.other:
            what = f"a race: one program stores two different values to one number of `{self.array}` at once"
        return what + self.place.sentence()
