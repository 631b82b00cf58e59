"""Very many equal things in a row, of which only one is kept: alphabets of records, and laws."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class Runs(Sequence[T], Generic[T]):
    """What a tuple of all these would be: each thing as often as is said, one kind after the other."""

    def __init__(self, *parts: tuple[T, int]) -> None:
        """Take things with how often they stand in a row."""
        self.parts = tuple((thing, many) for thing, many in parts if many > 0)
        self.size = sum(many for _, many in self.parts)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(repeat(thing, many) for thing, many in self.parts)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> "Runs[T]": ...

    def __getitem__(self, index: int | slice) -> "T | Runs[T]":
        if isinstance(index, slice):
            return self._cut(range(self.size)[index])
        left = range(self.size)[index]
        for thing, many in self.parts:
            if left < many:
                return thing
            left -= many
        raise IndexError(index)

    def _cut(self, kept: range) -> "Runs[T]":
        if kept.step != 1:
            return Runs(*((self[i], 1) for i in kept))
        parts, start = [], 0
        for thing, many in self.parts:
            parts.append((thing, min(kept.stop, start + many) - max(kept.start, start)))
            start += many
        return Runs(*parts)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Runs):
            return self.parts == other.parts
        return (
            isinstance(other, tuple)
            and len(other) == self.size
            and all(a == b for a, b in zip(self, other, strict=True))
        )

    def __hash__(self) -> int:
        return hash(self.parts)


def tally(things: Sequence[T]) -> Mapping[T, int]:
    """How often each thing is there."""
    if not isinstance(things, Runs):
        return Counter(things)
    found: Counter[T] = Counter()
    for thing, many in things.parts:
        found[thing] += many
    return found
