"""Selection of ranks, steps, a time range and GPU activity for an analysis."""

from __future__ import annotations

from typing import Iterable, List, NamedTuple, Optional, Tuple, Union

Ranks = Union[None, int, Iterable[int]]
Step = Union[None, int, str]
Stream = Union[None, int, str]


def _text(value: Union[None, int, str]) -> Optional[str]:
    return None if value is None else str(value)


def rank_bounds(rank: Ranks) -> Tuple[int, ...]:
    """Returns first and last rank of each run of consecutive ranks; an empty tuple selects all ranks."""
    if rank is None:
        return ()
    bounds: List[int] = []
    for number in sorted({rank} if isinstance(rank, int) else set(rank)):
        if bounds and bounds[-1] == number - 1:
            bounds[-1] = number
        else:
            bounds += (number, number)
    if not bounds:
        raise ValueError("the list of ranks is empty; pass None for all ranks")
    return tuple(bounds)


class Part(NamedTuple):
    """Selection keywords of an analysis, in the order of the extension module."""

    step: Step = None
    from_us: float = 0
    to_us: float = 0
    name: Optional[str] = None
    stream: Stream = None
    category: Optional[str] = None
    rank: Ranks = None

    @property
    def texts(self) -> Tuple[Optional[str], ...]:
        """Step, name, stream and category; None selects all."""
        return (_text(self.step), self.name, _text(self.stream), self.category)

    @property
    def numbers(self) -> Tuple[float, ...]:
        """Start and end of the time range, followed by the bounds of the ranks."""
        return (self.from_us, self.to_us, *rank_bounds(self.rank))
