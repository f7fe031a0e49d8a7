"""A part of the traces of a job: which ranks, steps, stretch of time and work an analysis is of."""

from __future__ import annotations

from typing import Iterable, List, NamedTuple, Optional, Tuple, Union

Ranks = Union[None, int, Iterable[int]]
Step = Union[None, int, str]
Stream = Union[None, int, str]


def _text(value: Union[None, int, str]) -> Optional[str]:
    return None if value is None else str(value)


def rank_bounds(rank: Ranks) -> Tuple[int, ...]:
    """First and last rank of each run of them, one after the other; none: all ranks."""
    if rank is None:
        return ()
    bounds: List[int] = []
    for number in sorted({rank} if isinstance(rank, int) else set(rank)):
        if bounds and bounds[-1] == number - 1:
            bounds[-1] = number
        else:
            bounds += (number, number)
    if not bounds:
        raise ValueError("there is no rank in the list of those that are wanted; None takes all")
    return tuple(bounds)


class Part(NamedTuple):
    """The keywords of an analysis that restrict it, as the extension takes them."""

    step: Step = None
    from_us: float = 0
    to_us: float = 0
    name: Optional[str] = None
    stream: Stream = None
    category: Optional[str] = None
    rank: Ranks = None

    @property
    def texts(self) -> Tuple[Optional[str], ...]:
        """Step, name, stream and category; None: any."""
        return (_text(self.step), self.name, _text(self.stream), self.category)

    @property
    def numbers(self) -> Tuple[float, ...]:
        """From and to, then the bounds of the ranks."""
        return (self.from_us, self.to_us, *rank_bounds(self.rank))
