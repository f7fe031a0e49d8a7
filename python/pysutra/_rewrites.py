"""Traces in, traces out: a part of one, several as one, a broken one made whole."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Tuple, Union

from . import _core
from ._context import Closing, Context, Progress, path_bytes, path_list, shared
from ._table import Table
from ._traces import DeviceTrace, HostTrace, Path, _columns_of, counts_html, opened

SIDES = {"all": 0, "gpu": 1, "cpu": 2, "communication": 3}
CLOCKS = {"collectives": 0, "none": 1}


def _selection(from_us: float, to_us: float, min_us: float, only: str, python: bool) -> Tuple[float, ...]:
    if only not in SIDES:
        raise ValueError(f"only is one of {', '.join(SIDES)}, not {only!r}")
    return (from_us, to_us, min_us, SIDES[only], not python)


class Cut(Closing):
    """A part of a trace. Made by ``cut()``."""

    def __init__(self, device: DeviceTrace, host: Optional[HostTrace], step: Optional[str], selection: Tuple[float, ...],
                 progress: Optional[Progress]) -> None:
        self._context = device._context
        self._thing = self._run("cut", (device._thing, host._thing if host else None), (step,), selection, progress)

    @property
    def report(self) -> Dict[str, int]:
        """What there was, and what is kept of it: n_events, n_events_kept, n_nodes, n_nodes_kept, ..."""
        return _core.report(self._thing)

    def write(self, path: Path, progress: Optional[Progress] = None) -> int:
        """Writes the part of the device trace, perhaps compressed (".gz", ".zst"). Returns its bytes before compression."""
        return self._write("cut_write", (path_bytes(path),), (), progress)

    def write_host(self, path: Path, progress: Optional[Progress] = None) -> int:
        """Writes the part of the host trace, which there must be."""
        return self._write("cut_write_host", (path_bytes(path),), (), progress)

    def _repr_html_(self) -> str:
        return counts_html("part of a trace", self.report)


def cut(device: Union[DeviceTrace, Path], host: Union[HostTrace, Path, None] = None, step: Union[None, int, str] = None,
        from_us: float = 0, to_us: float = 0, min_us: float = 0, only: str = "all", python: bool = True,
        progress: Optional[Progress] = None) -> Cut:
    """A part of a trace, whose events stay as they are.

    Args:
        device: the device trace, or its path.
        host: the host trace of the same run, or its path: of it the nodes are kept that belong to what is kept.
        step: the step of this number, or several: "3-5".
        from_us, to_us: from here on, before there; microseconds from the first start of the trace.
        min_us: without events that have a shorter duration.
        only: "all", "gpu", "cpu" or "communication".
        python: with Python's functions.

    >>> with pysutra.cut("device.json", step=3) as part:
    ...     part.write("step3.json.gz")
    """
    context = device._context if isinstance(device, DeviceTrace) else shared()
    selection = _selection(from_us, to_us, min_us, only, python)
    steps = None if step is None else str(step)
    with opened(device, DeviceTrace, context, progress) as device_trace:
        if host is None:
            return Cut(device_trace, None, steps, selection, progress)
        with opened(host, HostTrace, context, progress) as host_trace:
            return Cut(device_trace, host_trace, steps, selection, progress)


class Merged(Closing):
    """What became of a merged timeline's ranks. Made by ``merge()``."""

    @property
    def report(self) -> Dict[str, int]:
        """Counts: n_ranks, n_events, n_kept, n_processes, n_collectives (which arrows join), n_left_out, n_bytes."""
        return _core.report(self._thing)

    @property
    def ranks(self) -> Table:
        """rank, path, offset_ns (added to its times), residual_ns (how far ends of collectives then still lie apart),
        n_aligned (collectives that tell it), n_events, n_kept."""
        return _columns_of(self, "ranks", None)

    def _repr_html_(self) -> str:
        return counts_html("timeline", self.report) + self.ranks._repr_html_()


def merge(paths: Sequence[Path], output: Path, step: Union[None, int, str] = None, from_us: float = 0, to_us: float = 0,
          min_us: float = 0, only: str = "all", python: bool = True, clocks: str = "collectives", arrows: bool = True,
          context: Optional[Context] = None, progress: Optional[Progress] = None) -> Merged:
    """Writes the device traces of several ranks as one timeline, for viewers.

    Args:
        paths: of the ranks' traces.
        output: of the timeline, perhaps compressed (".gz", ".zst").
        step, from_us, to_us, min_us, only, python: a part of each rank's events; see ``cut()``.
        clocks: "collectives": the ranks' clocks are brought together by the ends of collectives; "none": they stay.
        arrows: join what the ranks of a collective do.
    """
    if clocks not in CLOCKS:
        raise ValueError(f"clocks is one of {', '.join(CLOCKS)}, not {clocks!r}")
    context = context or shared()
    numbers = (*_selection(from_us, to_us, min_us, only, python), CLOCKS[clocks], not arrows)
    texts = (None if step is None else str(step), path_bytes(output), *path_list(paths))
    return Merged(context, context.run("merge", (), texts, numbers, progress))


class Repaired(Closing):
    """A trace that is JSON again. Made by ``repair()``."""

    @property
    def report(self) -> Dict[str, Any]:
        """Counts: n_bytes, n_elements, n_mended, n_left_out_bytes, and by kind of damage: mended."""
        return _core.report(self._thing)

    @property
    def places(self) -> Table:
        """The first places: offset (the byte in the file, after decompression), mended (the kind of damage)."""
        return _columns_of(self, "places", None)

    def write(self, path: Path, progress: Optional[Progress] = None) -> int:
        """Writes the text, perhaps compressed (".gz", ".zst"). Returns its bytes before compression."""
        return self._write("repair_write", (path_bytes(path),), (), progress)

    def _repr_html_(self) -> str:
        return self.places._repr_html_()


def repair(path: Path, context: Optional[Context] = None, progress: Optional[Progress] = None) -> Repaired:
    """Makes a host trace or device trace that is no JSON any more JSON again: one that was cut off, that has quotes or control
    characters in its names, NaN, commas too many.

    >>> with pysutra.repair("broken.json") as repaired:
    ...     repaired.write("whole.json")
    """
    context = context or shared()
    return Repaired(context, context.run("repair", (), (path_bytes(path),), (), progress))
