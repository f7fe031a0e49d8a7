"""Host and device traces, and results of one or two traces."""

from __future__ import annotations

import math
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Type, TypeVar, Union

from . import _core
from ._context import Closing, Context, Progress, path_bytes, shared
from ._device import DeviceTable
from ._part import Part, Step, Stream
from ._table import Table

Path = Union[str, "os.PathLike[str]"]
T = TypeVar("T", "HostTrace", "DeviceTrace")
MATCHES = {"auto": 0, "ids": 1, "names": 2}


def _columns_of(result: Closing, name: str, columns: Optional[Sequence[str]], args: Sequence[str] = (),
                which: int = 0) -> Table:
    count = -1 if columns is None else len(columns)
    texts = (*(columns or ()), *args)
    thing, context = result._thing, result._context
    table = Table(name, lambda: context.run("columns", (thing,), texts, (count, which)))
    if columns is not None or args:
        table.columns  # so that names which are not there are told here
    return table


@dataclass(frozen=True)
class Defect:
    """A defect of a trace: events or nodes that cannot be true, such as "no_time" or "not_below_root"."""

    name: str
    count: int  # affected events or nodes
    of: int  # inspected ones
    largest_us: Optional[float]  # of one event; None if the defect is not an amount of time
    example: str
    cause: Optional[str]
    effect: str
    message: str  # all of this, as in the warning

    @classmethod
    def _list(cls, tuples: Iterable[Any]) -> List[Defect]:
        return [cls(name, count, of, None if math.isnan(largest_us) else largest_us, *texts)
                for name, count, of, largest_us, *texts in tuples]


class Tabular(Closing):
    """A result that is a table by itself, exported by Arrow's PyCapsule interface."""

    def _table(self) -> Table:
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Exports the table with its default columns."""
        return self._table().__arrow_c_stream__(requested_schema)

    def to_pandas(self, exact: bool = False, **options: Any) -> Any:
        """Converts the table to a ``pandas.DataFrame``; see ``Table.to_pandas``."""
        return self._table().to_pandas(exact, **options)

    def to_device(self, device: int = 0) -> DeviceTable:
        """Copies the table to the memory of a CUDA device; see ``Table.to_device``."""
        return self._table().to_device(device)

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


class Trace(Tabular):
    """A host trace or a device trace."""

    @property
    def defects(self) -> List[Defect]:
        """Defects of the trace, found when it was read; each was a ``SutraWarning``."""
        return Defect._list(_core.report(self._thing)["defects"])


class DeviceTrace(Trace):
    """A device trace as Kineto writes it: a timeline of operators, launches and kernels.

    Args:
        path: plain, gzip or zstd; "-" is standard input.
        context: a ``Context``; None uses the default context.
        progress: called as ``progress(stage, done, total)`` during reading, or a ``tqdm``.
        step, from_us, to_us, name, stream, category: read only a selection of the trace; see
            ``pysutra.analyze.operators``.

    The trace exports its events as a table:

    >>> with pysutra.DeviceTrace("device.json") as trace:
    ...     events = trace.to_pandas()
    """

    def __init__(self, path: Path, context: Optional[Context] = None, progress: Optional[Progress] = None,
                 step: Step = None, from_us: float = 0, to_us: float = 0, name: Optional[str] = None,
                 stream: Stream = None, category: Optional[str] = None) -> None:
        self.path = os.fspath(path)
        self._context = context or shared()
        part = Part(step, from_us, to_us, name, stream, category)
        self._thing = self._run("device_trace", (), (*part.texts, path_bytes(path)), part.numbers, progress)

    def events(self, columns: Optional[Sequence[str]] = None, args: Sequence[str] = ()) -> Table:
        """The events, in the order of the file.

        Columns are ts and dur (us), name, category, phase (B events are "X" with a duration, E events None), kind
        ("cpu_operator", "launch", "gpu_operator", "launch_flow", "memory_set", "other"), pid, tid, stream, device,
        correlation, external_id and rf_id. On request there are also pid_text, tid_text and so on, for ids that are not
        integers.

        Args:
            columns: names of columns; None: all except the columns on request.
            args: members of the events' "args" that become columns, such as "grid" or "Input Dims". Lists and objects are
                JSON text.
        """
        return _columns_of(self, "events", columns, args)

    def _table(self) -> Table:
        return self.events()

    def critical_path(self, annotation: Optional[str] = None, instance: int = 0, hta_version: str = "0.5",
                      step: Step = None, progress: Optional[Progress] = None) -> "CriticalPath":
        """Finds the critical path.

        Args:
            annotation: part of the name of the event that bounds the analysis; None: "ProfilerStep" if the trace has one;
                "": the full trace.
            instance: index of the event among the events of this name, from 0.
            hta_version: rules of Holistic Trace Analysis "0.5" or "0.6".
            step: number of a profiler step, or a range such as "3-5", instead of an annotation.
        """
        return CriticalPath(self, annotation, instance, hta_version, step, progress)

    def tree(self, host: Optional["HostTrace"] = None, progress: Optional[Progress] = None) -> "Tree":
        """Builds the call tree, with kernels, self and total times. A host trace adds tensor ids."""
        return Tree(self, host, progress)

    def correlate(self, kind: str = "all", host: Optional["HostTrace"] = None,
                  progress: Optional[Progress] = None) -> "Correlation":
        """Pairs backward with forward operators ("fwdbwd"), kernels with launches ("ac2g"), or both ("all")."""
        return Correlation(self, kind, host, progress)

    def __repr__(self) -> str:
        return f"<pysutra.DeviceTrace {self.path}{', closed' if self.closed else ''}>"


class HostTrace(Trace):
    """A host trace as PyTorch's execution trace observer writes it: operators as nodes, with tensors and dependencies."""

    def __init__(self, path: Path, context: Optional[Context] = None, progress: Optional[Progress] = None) -> None:
        self.path = os.fspath(path)
        self._context = context or shared()
        self._thing = self._run("host_trace", (), (path_bytes(path),), (), progress)

    def nodes(self, columns: Optional[Sequence[str]] = None, args: Sequence[str] = ()) -> Table:
        """The nodes, in the order of the file: id, name, parent, rf_id, and attributes by name (``args``)."""
        return _columns_of(self, "nodes", columns, args)

    def _table(self) -> Table:
        return self.nodes()

    def __repr__(self) -> str:
        return f"<pysutra.HostTrace {self.path}{', closed' if self.closed else ''}>"


@dataclass(frozen=True)
class Unmatched:
    """Operators of one trace without a match by name, by reason."""

    before: int  # before the part that the other trace covers
    after: int  # after this part
    of_threads: int  # of threads that the other trace lacks
    between: int  # between matched operators
    names: Dict[str, int]  # at most three names of the most frequent reason, descending by count
    threads: str  # ids of the threads that the other trace lacks: "5, 6, ..."

    @property
    def count(self) -> int:
        """Number of unmatched operators."""
        return self.before + self.after + self.of_threads + self.between

    @classmethod
    def _of(cls, report: Dict[str, Any]) -> Unmatched:
        return cls(report["n_before"], report["n_after"], report["n_of_threads"], report["n_between"],
                   dict(report["names"]), report["threads"])


@dataclass(frozen=True, repr=False)
class Match:
    """Method that matched host operators to operators of the device trace: ``Linked.match``.

    A match by ids has only common_ids, covered_us and steps_us; the other numbers are 0, or None where unknown. Operators
    of the host trace exclude the nodes of processes, threads and profiler steps.
    """

    by: str  # "ids" or "names"
    confidence: Optional[float]  # matched / operators of the larger trace from the first to the last match; None by ids
    host_ops: int
    device_ops: int
    matched: int
    common_ids: int  # host operators whose id an operator of their name has in the device trace; counted for match="auto"
    ids_fault: Optional[str]  # why ids fail; None if they do not, or for match="names"
    positions: int  # parts of one trace that the other one fits equally well: the first is used; 0: traces of equal length
    step: Optional[str]  # profiler step of the first matched operator
    number_shift: Optional[int]  # sequence numbers agree after adding it to those of the host trace; None: no numbers
    host: Unmatched
    device: Unmatched
    covered_us: float  # from the first start to the last end of linked operators and their GPU activity
    steps_us: float  # from the start of the first profiler step to the end of the last; without steps: of all CPU operators

    @classmethod
    def _of(cls, report: Dict[str, Any], match: str) -> Match:
        by_names = report["by"] == "names"
        return cls(report["by"], report["confidence"] if by_names else None, report["n_host_ops"], report["n_device_ops"],
                   report["n_matched"], report["n_common_ids"], report["ids_fault"] if match == "auto" else None,
                   report["n_positions"], report["step"] or None, report["number_shift"], Unmatched._of(report["host"]),
                   Unmatched._of(report["device"]), report["covered_us"], report["steps_us"])

    def __repr__(self) -> str:
        if self.confidence is None:
            common = f"{self.common_ids:,} host operators with an operator of their name and id"
            return f"<pysutra.Match: by ids{', ' + common if self.common_ids else ''}>"
        parts = [f"by names, confidence {100 * self.confidence:.1f} %",
                 f"{self.matched:,} of {self.host_ops:,} host operators and {self.device_ops:,} device operators"]
        parts += [f"first of {self.positions} positions"] if self.positions > 1 else []
        parts += [f"sequence numbers differ by {self.number_shift}"] if self.number_shift else []
        parts += [self.ids_fault] if self.ids_fault else []
        return f"<pysutra.Match: {'; '.join(parts)}>"


class Linked(Tabular):
    """ET+: a host trace with GPU operators, times and dependencies. Returned by ``link()``."""

    def __init__(self, host: HostTrace, device: DeviceTrace, sync: bool, any_launch: bool, match: str, match_step: Step,
                 progress: Optional[Progress]) -> None:
        self._context = host._context
        self._match = match
        self._thing = self._run("link", (host._thing, device._thing), (None if match_step is None else str(match_step),),
                                (not sync, any_launch, MATCHES[match]), progress)

    @property
    def report(self) -> Dict[str, int]:
        """Counts of linked and unmatched events: n_nodes, n_host_linked, n_gpu_without_launch, ..."""
        return {name: count for name, count in _core.report(self._thing).items() if isinstance(count, int)}

    @property
    def match(self) -> Match:
        """Method that matched operators, by ids or by names, with its confidence and the unmatched operators."""
        return Match._of(_core.report(self._thing)["match"], self._match)

    @property
    def unknown_calls(self) -> Dict[str, int]:
        """Calls that ``chakra_trace_link`` does not know, with the number of GPU activities that they launched and that ET+
        therefore lacks, descending by number."""
        return dict(_core.report(self._thing)["unknown_calls"])

    def nodes(self, columns: Optional[Sequence[str]] = None) -> Table:
        """The nodes, in the order of the file: id, name, gpu, host_id, host_row, event (rows of the two traces), ctrl_deps,
        inter_thread_dep, sync_dep, ts, inclusive_dur and exclusive_dur (us), category, stream."""
        return _columns_of(self, "nodes of ET+", columns)

    def _table(self) -> Table:
        return self.nodes()

    def write(self, path: Path, progress: Optional[Progress] = None) -> int:
        """Writes ET+ ("x.json"), or an ASTRA-sim file whose simulated time equals the measured time ("x.et", preferably of
        traces linked with ``any_launch``); compressed with a further ".gz" or ".zst". The file is written atomically.
        Returns the uncompressed bytes."""
        name = os.fspath(path)
        for ending in (".gz", ".zst"):
            name = name[:-len(ending)] if name.endswith(ending) else name
        operation = "link_convert" if name.endswith(".et") else "link_write"
        return self._write(operation, (path_bytes(path),), (), progress)

    def _brief(self) -> str:
        report, confidence = self.report, self.match.confidence
        nodes = f"{report['n_nodes']:,} nodes, {report['n_gpu_nodes']:,} of them on the GPU"
        return nodes if confidence is None else f"{nodes}, matched by names with confidence {100 * confidence:.1f} %"

    def _repr_html_(self) -> str:
        return counts_html("ET+", self.report) + super()._repr_html_()


@contextmanager
def as_trace(given: Union[T, Path], kind: Type[T], context: Context, progress: Optional[Progress]) -> Iterator[T]:
    """Yields the given trace, or opens the given path and closes the trace at the end of the block."""
    if isinstance(given, (str, os.PathLike)):
        trace = kind(given, context, progress)
        try:
            yield trace
        finally:
            trace.close()
    else:
        yield given


def link(host: Union[HostTrace, Path], device: Union[DeviceTrace, Path], sync: bool = True, any_launch: bool = False,
         match: str = "auto", match_step: Step = None, progress: Optional[Progress] = None) -> Linked:
    """Links a host trace and a device trace by the rules of MLCommons Chakra's ``chakra_trace_link``.

    Args:
        host: the host trace, or its path.
        device: the device trace, or its path; both traces must have the same context.
        sync: add synchronization dependencies.
        any_launch: also link GPU activities that calls launch which ``chakra_trace_link`` does not know, such as
            cudaGraphLaunch, as ``sutra link -o X.et`` does; ET+ then differs from the output of ``chakra_trace_link``.
        match: "ids" matches operators by record-function ids, as ``chakra_trace_link``; "names" by names, numbers and
            order per thread, and raises ``SutraError`` if names do not match; "auto" by names only if ids fail, with a
            warning. ``Linked.match`` is the result.
        match_step: match by names with the operators of this profiler step only: its name or its number.
        progress: called as ``progress(stage, done, total)``, or a ``tqdm``.

    >>> with pysutra.link("host.json", "device.json") as linked:
    ...     linked.write("linked.json")
    """
    if match not in MATCHES:
        raise ValueError(f"match must be one of {', '.join(MATCHES)}, not {match!r}")
    if match_step is not None and match == "ids":
        raise ValueError("match_step needs match=\"auto\" or match=\"names\"")
    given = [trace._context for trace in (host, device) if isinstance(trace, (HostTrace, DeviceTrace))]
    context = given[0] if given else shared()
    with as_trace(host, HostTrace, context, progress) as host_trace:
        with as_trace(device, DeviceTrace, context, progress) as device_trace:
            if host_trace._context is not device_trace._context:
                raise ValueError("the traces have different contexts: read both with the same context")
            return Linked(host_trace, device_trace, sync, any_launch, match, match_step, progress)


class Tree(Tabular):
    """A call tree. Returned by ``DeviceTrace.tree()``."""

    FORMATS = {"json": 0, "text": 1, "chrome": 2, "events": 3}

    def __init__(self, device: DeviceTrace, host: Optional[HostTrace], progress: Optional[Progress]) -> None:
        self._context = device._context
        self._thing = self._run("tree", (device._thing, host._thing if host else None), (), (), progress)

    @property
    def report(self) -> Dict[str, int]:
        """Counts: n_events, n_roots, max_depth, ..."""
        return _core.report(self._thing)

    def nodes(self, columns: Optional[Sequence[str]] = None) -> Table:
        """Events in ascending order of start time: event (row in the file), name, kind, parent (row of this table), depth,
        start_ns, end_ns, host_ns, host_self_ns, device_ns, device_self_ns, thread."""
        return _columns_of(self, "call tree", columns)

    def _table(self) -> Table:
        return self.nodes()

    def write(self, path: Path, format: str = "json", progress: Optional[Progress] = None) -> int:
        """Writes the tree as "json", "text", "chrome" (the trace with flows) or "events"."""
        return self._write("tree_write", (path_bytes(path),), (self.FORMATS[format],), progress)

    def _repr_html_(self) -> str:
        return counts_html("call tree", self.report) + super()._repr_html_()


class Correlation(Tabular):
    """Pairs of events. Returned by ``DeviceTrace.correlate()``."""

    KINDS = {"fwdbwd": 0, "ac2g": 1, "all": 2}
    FORMATS = {"json": 0, "csv": 1, "chrome": 2}

    def __init__(self, device: DeviceTrace, kind: str, host: Optional[HostTrace], progress: Optional[Progress]) -> None:
        self._context = device._context
        self._thing = self._run("correlation", (device._thing, host._thing if host else None), (),
                                (self.KINDS[kind],), progress)

    def pairs(self, columns: Optional[Sequence[str]] = None) -> Table:
        """kind ("fwdbwd", "launch", "operator"), from_event and to_event (rows of the file), flow_id."""
        return _columns_of(self, "pairs", columns)

    def _table(self) -> Table:
        return self.pairs()

    def write(self, path: Path, format: str = "json", progress: Optional[Progress] = None) -> int:
        """Writes the pairs as "json", "csv" or "chrome" (the trace with flows)."""
        return self._write("correlation_write", (path_bytes(path),), (self.FORMATS[format],), progress)


class CriticalPath(Tabular):
    """A critical path. Returned by ``DeviceTrace.critical_path()``."""

    HTA_VERSIONS = {"0.5": 0, "0.6": 1}
    FORMATS = {"text": 0, "json": 1, "chrome": 2}

    def __init__(self, device: DeviceTrace, annotation: Optional[str], instance: int, hta_version: str,
                 step: Step, progress: Optional[Progress]) -> None:
        self._context = device._context
        self._thing = self._run("critical_path", (device._thing,), (annotation, Part(step).texts[0]),
                                (instance, self.HTA_VERSIONS[hta_version]), progress)

    @property
    def report(self) -> Dict[str, float]:
        """Size of the graph, and time on the path by kind: us, operator_us, kernel_us, ..."""
        return _core.report(self._thing)

    def edges(self, columns: Optional[Sequence[str]] = None) -> Table:
        """Edges of the graph: from_event, from_end, to_event, to_end, weight (us), kind, and critical (whether the edge is
        on the path)."""
        return _columns_of(self, "edges", columns)

    def _table(self) -> Table:
        return self.edges()

    def write(self, path: Path, format: str = "json", progress: Optional[Progress] = None) -> None:
        """Writes the path as "text", "json" or "chrome" (the trace with the path marked)."""
        self._run("critical_path_write", (self._thing,), (path_bytes(path),), (self.FORMATS[format],), progress)

    def _repr_html_(self) -> str:
        return counts_html("critical path", self.report) + super()._repr_html_()


def counts_html(title: str, report: Dict[str, Any]) -> str:
    """Formats a report as an HTML table."""
    rows = "".join(f"<tr><th>{name}</th><td>{value:,.6g}</td></tr>" if isinstance(value, float) else
                   f"<tr><th>{name}</th><td>{value:,}</td></tr>" for name, value in report.items())
    return f"<details><summary>{title}</summary><table>{rows}</table></details>"


def trace_kind(path: Path, context: Optional[Context] = None) -> str:
    """Returns the kind of a trace file: "host" or "device"."""
    return ("host", "device")[(context or shared()).run("trace_kind", (), (path_bytes(path),))]
