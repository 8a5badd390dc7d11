"""Values of known mistakes that are worked out when a check needs them: a right answer never does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any


class Later(Mapping[str, Any]):
    """The mapping that a function gives, called when somebody first looks into it. It must draw no random numbers."""

    def __init__(self, make: Callable[[], Mapping[str, Any]]) -> None:
        self.make = make

    @cached_property
    def made(self) -> Mapping[str, Any]:
        return self.make()

    def __getitem__(self, key: str) -> Any:
        return self.made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.made)

    def __len__(self) -> int:
        return len(self.made)
