"""Trace rewriting: cut a part, merge ranks, repair malformed traces."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Tuple, Union

from . import _core
from ._context import Closing, Context, Progress, path_bytes, path_list, shared
from ._table import Table
from ._traces import DeviceTrace, HostTrace, Path, _columns_of, counts_html, as_trace

SIDES = {"all": 0, "gpu": 1, "cpu": 2, "communication": 3}
CLOCKS = {"collectives": 0, "none": 1}


def _selection(from_us: float, to_us: float, min_us: float, side: str, python: bool) -> Tuple[float, ...]:
    if side not in SIDES:
        raise ValueError(f"only must be one of {', '.join(SIDES)}, not {side!r}")
    return (from_us, to_us, min_us, SIDES[side], not python)


class Cut(Closing):
    """Part of a trace. Returned by ``cut()``."""

    def __init__(self, device: DeviceTrace, host: Optional[HostTrace], step: Optional[str], selection: Tuple[float, ...],
                 progress: Optional[Progress]) -> None:
        self._context = device._context
        self._thing = self._run("cut", (device._thing, host._thing if host else None), (step,), selection, progress)

    @property
    def report(self) -> Dict[str, int]:
        """Input and kept counts: n_events, n_events_kept, n_nodes, n_nodes_kept, ..."""
        return _core.report(self._thing)

    def write(self, path: Path, progress: Optional[Progress] = None) -> int:
        """Writes the cut device trace, compressed if the path ends in ".gz" or ".zst". Returns the uncompressed bytes."""
        return self._write("cut_write", (path_bytes(path),), (), progress)

    def write_host(self, path: Path, progress: Optional[Progress] = None) -> int:
        """Writes the cut host trace; ``cut()`` must have received a host trace."""
        return self._write("cut_write_host", (path_bytes(path),), (), progress)

    def _repr_html_(self) -> str:
        return counts_html("part of a trace", self.report)


def cut(device: Union[DeviceTrace, Path], host: Union[HostTrace, Path, None] = None, step: Union[None, int, str] = None,
        from_us: float = 0, to_us: float = 0, min_us: float = 0, side: str = "all", python: bool = True,
        overlap: bool = False, progress: Optional[Progress] = None) -> Cut:
    """Cuts a part of a trace; kept events are unchanged.

    Args:
        device: the device trace, or its path.
        host: the host trace of the same run, or its path; nodes of kept events are kept.
        step: step number, or a range of steps: "3-5".
        from_us, to_us: time range [from_us, to_us), in microseconds after the first event of the trace.
        min_us: drop events shorter than this duration, in microseconds.
        side: "all", "gpu", "cpu" or "communication".
        python: keep Python function events.
        overlap: keep each event that overlaps the range, and the launches of kept GPU activity.

    >>> with pysutra.cut("device.json", step=3) as part:
    ...     part.write("step3.json.gz")
    """
    context = device._context if isinstance(device, DeviceTrace) else shared()
    selection = (*_selection(from_us, to_us, min_us, side, python), overlap)
    steps = None if step is None else str(step)
    with as_trace(device, DeviceTrace, context, progress) as device_trace:
        if host is None:
            return Cut(device_trace, None, steps, selection, progress)
        with as_trace(host, HostTrace, context, progress) as host_trace:
            return Cut(device_trace, host_trace, steps, selection, progress)


class Merged(Closing):
    """Counts and ranks of a merged timeline. Returned by ``merge()``."""

    @property
    def report(self) -> Dict[str, int]:
        """Counts: n_ranks, n_events, n_kept, n_processes, n_collectives (connected by arrows), n_skipped, n_bytes."""
        return _core.report(self._thing)

    @property
    def ranks(self) -> Table:
        """rank, path, offset_ns (added to its times), residual_ns (remaining distance between the ends of a collective),
        n_aligned (collectives used for the offset), n_events, n_kept."""
        return _columns_of(self, "ranks", None)

    def _repr_html_(self) -> str:
        return counts_html("timeline", self.report) + self.ranks._repr_html_()


def merge(paths: Sequence[Path], output: Path, step: Union[None, int, str] = None, from_us: float = 0, to_us: float = 0,
          min_us: float = 0, side: str = "all", python: bool = True, clocks: str = "collectives", arrows: bool = True,
          context: Optional[Context] = None, progress: Optional[Progress] = None) -> Merged:
    """Merges the device traces of several ranks into one timeline for trace viewers.

    Args:
        paths: device traces of the ranks.
        output: path of the timeline, compressed if it ends in ".gz" or ".zst".
        step, from_us, to_us, min_us, side, python: selection of events of each rank; see ``cut()``.
        clocks: "collectives" aligns the ranks' clocks by the ends of collectives; "none" leaves them unchanged.
        arrows: connect the kernels of a collective on all ranks by flow arrows.
    """
    if clocks not in CLOCKS:
        raise ValueError(f"clocks must be one of {', '.join(CLOCKS)}, not {clocks!r}")
    context = context or shared()
    numbers = (*_selection(from_us, to_us, min_us, side, python), CLOCKS[clocks], not arrows)
    texts = (None if step is None else str(step), path_bytes(output), *path_list(paths))
    return Merged(context, context.run("merge", (), texts, numbers, progress))


class Repaired(Closing):
    """Repaired trace. Returned by ``repair()``."""

    @property
    def report(self) -> Dict[str, Any]:
        """Counts: n_bytes, n_elements, n_repaired, n_skipped_bytes, and repaired (counts by kind)."""
        return _core.report(self._thing)

    @property
    def repairs(self) -> Table:
        """The first repairs: offset (byte in the decompressed file), kind (of repair)."""
        return _columns_of(self, "repairs", None)

    def write(self, path: Path, progress: Optional[Progress] = None) -> int:
        """Writes the repaired text, compressed if the path ends in ".gz" or ".zst". Returns the uncompressed bytes."""
        return self._write("repair_write", (path_bytes(path),), (), progress)

    def _repr_html_(self) -> str:
        return self.repairs._repr_html_()


def repair(path: Path, context: Optional[Context] = None, progress: Optional[Progress] = None) -> Repaired:
    """Repairs a host trace or device trace that is not valid JSON: truncated files, quotes or control characters in names,
    NaN, extra commas.

    >>> with pysutra.repair("broken.json") as repaired:
    ...     repaired.write("whole.json")
    """
    context = context or shared()
    return Repaired(context, context.run("repair", (), (path_bytes(path),), (), progress))
