"""Analyses of one or many ranks: time, GPU memory and hangs.

>>> result = pysutra.analyze.hta(["rank0.json", "rank1.json"])
>>> result.tables["temporal_breakdown"].to_pandas()
>>> result                                             # in a notebook: the page with its charts
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from html import escape
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _core
from ._context import Closing, Context, Progress, path_bytes, path_list, shared
from ._part import Part, Ranks, Step, Stream, rank_bounds
from ._table import Table
from ._traces import Defect, DeviceTrace, Path, _columns_of

DLRM_TABLES = ("streams", "rows", "overheads", "overheads_by_shape")


class Rank(NamedTuple):
    """One input trace: path, rank, and why it was skipped (None if it was not)."""

    path: str
    rank: int
    skipped_reason: Optional[str]


class Tables(Mapping[str, Table]):
    """The tables of a result, by name."""

    def __init__(self, tables: Dict[str, Table]) -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> Table:
        if name not in self._tables:
            raise KeyError(f"no table {name!r}; available: {', '.join(self._tables)}")
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return f"<pysutra tables: {', '.join(self._tables)}>"


class Result(Closing):
    """Result of an analysis: tables, and an HTML page with charts."""

    def _table(self, number: int, name: str) -> Table:
        thing, context = self._thing, self._context
        return Table(name, lambda: context.run("table", (thing,), (), (number,)))

    @property
    def tables(self) -> Tables:
        """Tables by name, the same as ``sutra analyze`` writes as files. Tables without data are absent."""
        return Tables({name: self._table(number, name) for number, name in _core.tables(self._thing)})

    @property
    def defects(self) -> List[Defect]:
        """Defects of the analyzed traces, summed over the ranks; each was a ``SutraWarning``."""
        return Defect._list(_core.defects(self._thing))

    @property
    def ranks(self) -> List[Rank]:
        """Ranks in ascending order, followed by the skipped traces."""
        return [Rank(*rank) for rank in _core.ranks(self._thing)]

    def _read_json(self, operation: str, numbers: Sequence[float] = ()) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "list.json")
            self._run(operation, (self._thing,), (path_bytes(path),), numbers)
            with open(path, encoding="utf-8") as file:
                return json.load(file)

    _module = "pysutra.analyze"
    _page = "report"

    def _write_page(self, folder: bytes) -> None:
        raise NotImplementedError("this result has no HTML page")

    def write_report(self, folder: Path) -> str:
        """Writes the page and its charts to a directory and returns the path of the page. Each kind of result has its own page
        name; pages in one directory link to each other."""
        os.makedirs(folder, exist_ok=True)
        self._write_page(path_bytes(folder))
        return os.path.join(os.fspath(folder), self._page + ".html")

    def _repr_html_(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            with open(self.write_report(folder), encoding="utf-8") as file:
                page = file.read()
        return f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" style="width:100%;height:40em;border:0"></iframe>'

    def _brief(self) -> str:
        return f"{len(self.tables)} tables"


class HtaResult(Result):
    """Tables of Holistic Trace Analysis. Returned by ``hta()``."""

    _page = "hta"

    def _write_page(self, folder: bytes) -> None:
        self._run("hta_page", (self._thing,), (folder,))

    def _list(self, number: int) -> Any:
        return self._read_json("hta_list", (number,))

    @property
    def steps(self) -> List[int]:
        """The numbers of the profiler's steps."""
        return list(self._list(0))

    @property
    def stragglers(self) -> Dict[str, Optional[List[int]]]:
        """Ranks that may be stragglers, for one to three candidates."""
        return dict(self._list(1))

    def find_stragglers(self, candidates: int, steps: Optional[Sequence[int]] = None) -> Optional[List[int]]:
        """The same list for any number of candidates, from these profiler steps only (None: all)."""
        found = self._read_json("hta_stragglers", (candidates, steps is None, *(steps or ())))
        return None if found is None else list(found)


class HtaRankResult(Result):
    """Tables of one rank, including tables that exist only per rank. Returned by ``hta_rank()``."""


def _hta_numbers(rank: int, kernels: int, delay: int, last_step: bool, all_launches: bool, nanoseconds: bool,
                 compat: bool, hta_version: str, full_queue: int, sequence_kernels: int, kept_ratio: float, annotations: int,
                 kept_annotations: Sequence[str], rows: bool = False, short_names: bool = False,
                 memory_launches: bool = True) -> Sequence[float]:
    if hta_version not in ("0.5", "0.6"):
        raise ValueError(f"hta_version must be 0.5 or 0.6, not {hta_version!r}")
    return (rank, kernels, delay, last_step, all_launches, nanoseconds, compat, int(hta_version == "0.6"), full_queue,
            sequence_kernels, kept_ratio, annotations, rows, short_names, not memory_launches, len(kept_annotations))


def hta(paths: Union[Path, Sequence[Path]], compat: bool = False, hta_version: str = "0.5", kernels: int = 0,
        kernel_gap_us: int = 0, last_step: bool = False, all_launches: bool = False, nanoseconds: bool = False,
        full_queue: int = 0, sequences_of: Optional[str] = None, sequence_kernels: int = 0, kept_ratio: float = 0,
        annotations: int = 0, kept_annotations: Sequence[str] = (), step: Step = None, from_us: float = 0, to_us: float = 0,
        name: Optional[str] = None, stream: Stream = None, category: Optional[str] = None,
        rank: Ranks = None, context: Optional[Context] = None, progress: Optional[Progress] = None) -> HtaResult:
    """Computes the tables of Holistic Trace Analysis for the device traces of one or many ranks.

    Traces are read in parallel and freed after use. Malformed traces are skipped with a warning.

    Args:
        paths: one trace or several.
        compat: reproduce HTA exactly, including its faults.
        hta_version: HTA version, "0.5" or "0.6".
        kernels: number of kernel names per type; the rest is "others" (0: 10).
        kernel_gap_us: gaps up to this length, in microseconds, are kernel waits (0: 30).
        last_step: keep the last profiler step.
        all_launches: include launch calls unknown to HTA.
        nanoseconds: keep fractions of microseconds.
        full_queue: capacity of a launch queue, in kernels (0: 1024).
        sequences_of: count kernel sequences of operators whose name contains this text (None: "aten::").
        sequence_kernels: minimum number of kernels in a sequence (0: 3).
        kept_ratio: names whose running sum exceeds this quantile of running sums become "others" (0: 0.8).
        annotations: maximum number of names of annotations before "others" (0: 1000).
        kept_annotations: names of annotations that contain one of these texts never become "others".
        step, from_us, to_us, name, stream, category, rank: selection of the traces, see ``operators()``.
    """
    context = context or shared()
    part = Part(step, from_us, to_us, name, stream, category, rank)
    numbers = _hta_numbers(0, kernels, kernel_gap_us, last_step, all_launches, nanoseconds, compat, hta_version, full_queue,
                           sequence_kernels, kept_ratio, annotations, kept_annotations)
    texts = (*part.texts, sequences_of, *kept_annotations, *path_list(paths))
    return HtaResult(context, context.run("hta_ranks", (), texts, (*numbers, *part.numbers), progress))


def hta_rank(trace: DeviceTrace, rank: int = 0, compat: bool = False, hta_version: str = "0.5", kernels: int = 0,
             kernel_gap_us: int = 0, last_step: bool = False, all_launches: bool = False, nanoseconds: bool = False,
             full_queue: int = 0, sequences_of: Optional[str] = None, sequence_kernels: int = 0, kept_ratio: float = 0,
             annotations: int = 0, kept_annotations: Sequence[str] = (), rows: bool = False, short_names: bool = False,
             memory_launches: bool = True, progress: Optional[Progress] = None) -> HtaRankResult:
    """Computes the tables of one rank from its open trace, including launches and queue lengths over time.

    Args:
        rows: also make the table ``rows``, the events that the other tables are made of.
        short_names: shorten names of kernels with annotations: no template or function arguments.
        memory_launches: include memcpys and memsets in the table of launches.

    For the other arguments see ``hta()``."""
    numbers = _hta_numbers(rank, kernels, kernel_gap_us, last_step, all_launches, nanoseconds, compat, hta_version, full_queue,
                           sequence_kernels, kept_ratio, annotations, kept_annotations, rows, short_names, memory_launches)
    thing = trace._run("hta", (trace._thing,), (sequences_of, *kept_annotations), numbers, progress)
    return HtaRankResult(trace._context, thing)


class OperatorsResult(Result):
    """Device time by operator, category, module, ...; or by kernel. Returned by ``operators()`` and ``kernels()``."""

    def _write_page(self, folder: bytes) -> None:
        self._run("operators_page", (self._thing,), (folder,))


def _operators(paths: Union[Path, Sequence[Path]], is_kernels: bool, peaks: Optional[Path],
               capture: Union[Path, Sequence[Path]], part: Part, context: Optional[Context],
               progress: Optional[Progress]) -> OperatorsResult:
    context = context or shared()
    captures = path_list(capture)
    texts = (*part.texts, None if peaks is None else path_bytes(peaks), *captures, *path_list(paths))
    numbers = (is_kernels, len(captures), *part.numbers)
    result = OperatorsResult(context, context.run("operators_ranks", (), texts, numbers, progress))
    result._page = "kernels" if is_kernels else "operators"
    return result


def operators(paths: Union[Path, Sequence[Path]], peaks: Optional[Path] = None, step: Step = None, from_us: float = 0,
              to_us: float = 0, name: Optional[str] = None, stream: Stream = None, category: Optional[str] = None,
              rank: Ranks = None, capture: Union[Path, Sequence[Path]] = (), context: Optional[Context] = None,
              progress: Optional[Progress] = None) -> OperatorsResult:
    """Computes device time by operator, arguments, category, module, annotation and call path, with rates.

    Args:
        paths: device traces of one or many ranks.
        peaks: file with the peak rates of the device.
        step: only GPU activity launched in this step, or in a range of steps: "3-5".
        from_us, to_us: only GPU activity launched in this time range, in microseconds after the first event (0: no limit).
        name: only GPU activity whose name or operator name contains this text.
        stream: only GPU activity on this stream.
        category: only GPU activity of operators in this category, such as "GEMM".
        rank: only the traces of this rank or these ranks: ``range(4)``; other traces are not read.
        capture: traces that recorded the capture of CUDA or HIP graphs, or an eager run of the same model: kernels of
            graphs are attributed to operators of the capture (tables ``graph_kernels`` and ``graph_operators``).
    """
    part = Part(step, from_us, to_us, name, stream, category, rank)
    return _operators(paths, False, peaks, capture, part, context, progress)


def kernels(paths: Union[Path, Sequence[Path]], step: Step = None, from_us: float = 0,
            to_us: float = 0, name: Optional[str] = None, stream: Stream = None, category: Optional[str] = None,
            rank: Ranks = None, capture: Union[Path, Sequence[Path]] = (), context: Optional[Context] = None,
            progress: Optional[Progress] = None) -> OperatorsResult:
    """Computes kernel time by name and by launch; for the arguments see ``operators()``."""
    part = Part(step, from_us, to_us, name, stream, category, rank)
    return _operators(paths, True, None, capture, part, context, progress)


class TracelensResult(Result):
    """TraceLens' tables of one trace. Returned by ``tracelens()``."""


def tracelens(trace: DeviceTrace, progress: Optional[Progress] = None) -> TracelensResult:
    """Computes TraceLens' tables, with its columns and arithmetic."""
    thing = trace._run("tracelens", (trace._thing,), (), (), progress)
    return TracelensResult(trace._context, thing)


class DlrmResult(Closing):
    """Results of the DLRM notebook for one trace. Returned by ``dlrm()``."""

    def __init__(self, path: str, context: Context, thing: Any) -> None:
        self.path, self._context, self._thing = path, context, thing

    @property
    def report(self) -> Dict[str, float]:
        """Queries per second (qps), host and device times, counts."""
        return _core.report(self._thing)

    @property
    def tables(self) -> Tables:
        """streams, rows, overheads, overheads_by_shape."""
        return Tables({name: _columns_of(self, name, None, (), number) for number, name in enumerate(DLRM_TABLES)})

    def write_report(self, folder: Path) -> str:
        """Writes dlrm.html and its charts to a directory and returns the path of the page."""
        os.makedirs(folder, exist_ok=True)
        self._run("dlrm_page", (self._thing,), (path_bytes(self.path), path_bytes(folder)))
        return os.path.join(os.fspath(folder), "dlrm.html")

    _repr_html_ = Result._repr_html_

    def _brief(self) -> str:
        return self.path


def dlrm(path: Path, compat: bool = False, iters: int = 0, skip_iters: int = 0, batch: int = 0,
         module_marker: Optional[str] = None, step: Step = None, from_us: float = 0, to_us: float = 0,
         name: Optional[str] = None, stream: Stream = None, category: Optional[str] = None,
         context: Optional[Context] = None, progress: Optional[Progress] = None) -> DlrmResult:
    """Computes queries per second, device time by operator and host overheads as ml_perf_model's DLRM notebook does.

    Args:
        path: a device trace; for many ranks see ``map_ranks``.
        compat: reproduce the notebook exactly, including its bugs.
        iters, skip_iters: number of iterations, and of skipped iterations before them (0: see ``sutra help analyze dlrm``).
        batch: queries per iteration (0: 2048).
        module_marker: prefix of label names (None: "## ", or the prefix found in the trace).
        step, from_us, to_us, name, stream, category: selection of the trace, see ``operators()``.
    """
    with DeviceTrace(path, context, progress, step, from_us, to_us, name, stream, category) as trace:
        thing = trace._run("dlrm", (trace._thing,), (module_marker,), (compat, iters, skip_iters, batch), progress)
        return DlrmResult(trace.path, trace._context, thing)


class MemoryFinding(NamedTuple):
    """One finding: the rule, the device, the bytes (None if the rule counts none) and the text."""

    rule: str
    device: str
    bytes: Optional[int]
    text: str


class MemoryResult(Result):
    """Use of GPU memory. Returned by ``memory()``."""

    _page = "memory"

    def _write_page(self, folder: bytes) -> None:
        self._run("memory_page", (self._thing,), (folder,))

    @property
    def findings(self) -> List[MemoryFinding]:
        """Causes of high memory use with advice, of each input in the order of the rules."""
        return [MemoryFinding(*finding) for finding in _core.report(self._thing)["findings"]]

    @property
    def report(self) -> Dict[str, Any]:
        """All numbers, as ``sutra analyze memory --format json`` writes them."""
        return dict(self._read_json("memory_json"))

    def __repr__(self) -> str:
        return super().__repr__() if self.closed else "\n".join(finding.text for finding in self.findings) or "no findings"


def memory(paths: Union[Path, Sequence[Path]], against: Union[Path, Sequence[Path], None] = None, top: int = 0,
           context: Optional[Context] = None, progress: Optional[Progress] = None) -> MemoryResult:
    """Finds which allocations make up the peak of GPU memory, whether memory grows, and why an allocation failed.

    Args:
        paths: memory snapshots (pickle or JSON), or device traces with memory events: one or several.
        against: an input to compare with, or several, which are compared rank by rank; the table
            ``memory_comparison`` has the differences.
        top: rows of each list in ``report`` (0: 10).
    """
    context = context or shared()
    others = () if against is None else path_list(against)
    return MemoryResult(context, context.run("memory", (), (*others, *path_list(paths)), (top, len(others)), progress))


class HangFinding(NamedTuple):
    """One cause of a hang: its name, the confidence ("high", "medium", "low"), the title and the ranks, and sentences: which operation
    waits, the calls of the ranks, what to do, and the result that proves the fix."""

    cause: str
    confidence: str
    title: str
    ranks: List[int]
    seen: str
    where: str
    remedy: str
    check: str


class HangResult(Result):
    """Why a job hangs. Returned by ``hang()``."""

    _page = "hang"

    def _write_page(self, folder: bytes) -> None:
        self._run("hang_page", (self._thing,), (folder,))

    @property
    def findings(self) -> List[HangFinding]:
        """The causes, the most probable one first; none if no operation waits."""
        return [HangFinding(*finding) for finding in _core.report(self._thing)["findings"]]

    @property
    def report(self) -> Dict[str, Any]:
        """The object of ``sutra analyze hang --format json``: hang, roots, groups, waits, mismatches, ranks."""
        return dict(self._read_json("hang_json"))

    @property
    def summary(self) -> Dict[str, Any]:
        """The cause, its ranks and the confidence, the sentence ``why``, and counts: ``report["hang"]``."""
        return dict(self.report["hang"])

    def __repr__(self) -> str:
        return super().__repr__() if self.closed else str(self.summary["why"])


def hang(paths: Union[Path, Sequence[Path]], operations: bool = False, context: Optional[Context] = None,
         progress: Optional[Progress] = None) -> HangResult:
    """Finds which collective a hung job waits in, the ranks that do not arrive, and the last call of these ranks.

    Args:
        paths: dumps of PyTorch's flight recorder (pickle or JSON), one per rank, or directories of dumps. The rank is the
            last number of the file name.
        operations: make the table ``hang_operations`` too, a row for each recorded operation.
    """
    context = context or shared()
    return HangResult(context, context.run("hang", (), path_list(paths), (operations,), progress))


class Finding(NamedTuple):
    """One finding: the rule, the estimated saving (percent of the window; None if the rule estimates none), the text, its numbers
    with units in their names, and all of it as ``sutra analyze --format json`` writes it: seen, where, do, check, evidence, ..."""

    rule: str
    saving_percent: Optional[float]
    text: str
    numbers: Dict[str, float]
    details: Dict[str, Any]


class OverviewResult(Result):
    """The verdict, its findings and the time breakdown. Returned by ``overview()``."""

    def _write_page(self, folder: bytes) -> None:
        self._run("overview_page", (self._thing,), (folder,))

    @property
    def findings(self) -> List[Finding]:
        """At most five findings, the largest estimated saving first."""
        report = _core.report(self._thing)
        details = json.loads(report["json"])["findings"]
        return [Finding(rule, None if math.isnan(win) else win, text, numbers, detail)
                for (rule, win, text, numbers), detail in zip(report["findings"], details)]

    @property
    def report(self) -> Dict[str, Any]:
        """The object of ``sutra analyze --format json``: verdict, findings, not_the_cause, next, ranks."""
        return dict(json.loads(_core.report(self._thing)["json"]))

    @property
    def verdict(self) -> Dict[str, Any]:
        """Why a step is slow and what it could be: kind, why, step_us, shares, achievable, unexplained, ..."""
        return dict(self.report["verdict"])

    @property
    def markdown(self) -> str:
        """The document of ``sutra analyze --format markdown``, for an issue: at most 8 kB, without absolute paths."""
        return str(_core.report(self._thing)["markdown"])

    @property
    def steps(self) -> Table:
        """Steps of each rank with their time breakdown."""
        return self.tables["steps"]

    def __repr__(self) -> str:
        if self.closed:
            return super().__repr__()
        return "\n".join([self.verdict["why"], *(finding.text for finding in self.findings)])


def overview(paths: Union[Path, Sequence[Path]], annotation: Optional[str] = None, peaks: Optional[Path] = None,
             page: bool = True, step: Step = None, from_us: float = 0,
             to_us: float = 0, name: Optional[str] = None, stream: Stream = None, category: Optional[str] = None,
             rank: Ranks = None, capture: Union[Path, Sequence[Path]] = (), context: Optional[Context] = None,
             progress: Optional[Progress] = None) -> OverviewResult:
    """Finds why training is slow: time breakdown and GPU idle causes per step, and findings.

    Args:
        paths: device traces of one or many ranks.
        annotation: name of the annotations that mark steps (None: ProfilerStep, else the annotation that repeats).
        peaks: file with the peak rates of the device.
        page: compute the tables of ``operators()`` and ``hta()`` too, which the page shows.
        step, from_us, to_us, name, stream, category, rank: selection of the traces, see ``operators()``.
        capture: traces of the capture of CUDA or HIP graphs, see ``operators()``.
    """
    context = context or shared()
    part = Part(step, from_us, to_us, name, stream, category, rank)
    captures = path_list(capture)
    texts = (*part.texts, annotation, None if peaks is None else path_bytes(peaks), *captures, *path_list(paths))
    return OverviewResult(context, context.run("overview", (), texts, (page, len(captures), *part.numbers), progress))


class CollectivesResult(Result):
    """Collectives of a job. Returned by ``collectives()``."""

    _page = "collectives"

    def _write_page(self, folder: bytes) -> None:
        self._run("collectives_page", (self._thing,), (folder,))

    @property
    def report(self) -> Dict[str, Any]:
        """Totals of the job: n_collectives, wait_us, clocks_apart_us, n_faults, ..."""
        report = _core.report(self._thing)
        del report["straggler"]
        return report

    @property
    def straggler(self) -> Optional[Dict[str, Any]]:
        """The straggler: rank, cause and text; None if no rank is a straggler."""
        straggler: Optional[Dict[str, Any]] = _core.report(self._thing)["straggler"]
        return straggler

    def _brief(self) -> str:
        straggler = self.straggler
        return straggler["sentence"] if straggler else f"{self.report['n_collectives']:,} collectives, no straggler"


def collectives(paths: Union[Path, Sequence[Path]], compat: bool = False, arrivals: bool = False, ranks_per_host: int = 0,
                link_gb_per_s: float = 0, step: Step = None, from_us: float = 0,
                to_us: float = 0, name: Optional[str] = None, stream: Stream = None, category: Optional[str] = None,
                rank: Ranks = None, context: Optional[Context] = None, progress: Optional[Progress] = None) -> CollectivesResult:
    """Analyzes the collectives of a job: wait times between ranks, bandwidth, clock offsets and errors.

    Args:
        paths: device traces of the ranks; or NCCL Inspector logs, which record no start times: columns of times,
            operators and data types are empty, and shares are of the time in collectives of the median rank.
        compat: return TraceLens' tables instead.
        arrivals: add a table with one row per rank and collective.
        ranks_per_host: number of ranks per host (0: the number of GPUs recorded in the traces).
        link_gb_per_s: peak bandwidth of a GPU's links in one direction (0: data sheet value within a host).
        step, from_us, to_us, name, stream, category, rank: selection of the traces, see ``operators()``; of logs, only
            rank.
    """
    context = context or shared()
    part = Part(step, from_us, to_us, name, stream, category, rank)
    numbers = (arrivals, ranks_per_host, link_gb_per_s, *part.numbers)
    texts = (*part.texts, *path_list(paths))
    operation = "tracelens_collectives" if compat else "collectives"
    return CollectivesResult(context, context.run(operation, (), texts, numbers, progress))


class DiffResult(Result):
    """Comparison of two traces or jobs. Returned by ``diff()``."""

    def __init__(self, context: Context, thing: Any, names: Tuple[str, str]) -> None:
        super().__init__(context, thing)
        self.names = names

    def _write_page(self, folder: bytes) -> None:
        self._run("diff_page", (self._thing,), (*self.names, folder))

    @property
    def report(self) -> Dict[str, Any]:
        """Values of A and B: step_us, device_us, n_steps, ...; the standard errors of the differences: step_error_us,
        device_error_us (NaN: unknown); and the answer as a sentence."""
        return _core.report(self._thing)

    def _brief(self) -> str:
        return self.report["sentence"] or super()._brief()


Side = Union[DeviceTrace, Path, Sequence[Path]]


def _name_of(side: Side) -> str:
    first = side.path if isinstance(side, DeviceTrace) else path_list(side)[0]
    return os.path.basename(os.fsdecode(first))


def _sides(a: Side, b: Side, context: Optional[Context]) -> Tuple[Context, Tuple[Any, Any], Tuple[bytes, ...], int]:
    """The context of both sides; two traces, or the paths of both and the number of paths of A."""
    if isinstance(a, DeviceTrace) and isinstance(b, DeviceTrace):
        if a._context is not b._context:
            raise ValueError("the traces have different contexts: read both with the same context")
        return a._context, (a._thing, b._thing), (), 0
    if isinstance(a, DeviceTrace) or isinstance(b, DeviceTrace):
        raise TypeError("a and b must both be traces or both be paths")
    paths = path_list(a)
    return context or shared(), (None, None), (*paths, *path_list(b)), len(paths)


def diff(a: Side, b: Side, renames: Optional[Mapping[str, str]] = None,
         step: Union[Step, Tuple[Step, Step]] = None, from_us: float = 0, to_us: float = 0,
         name: Optional[str] = None, stream: Stream = None, category: Optional[str] = None, rank: Ranks = None,
         context: Optional[Context] = None, progress: Optional[Progress] = None) -> DiffResult:
    """Finds which operators and kernels became slower or faster from A to B, and by how much.

    Args:
        a, b: one or several paths of device traces each; or two ``DeviceTrace`` objects of one context.
        renames: operator names of A mapped to names of B: {"aten::mm": "aten::matmul"}.
        step: step of both traces, or a pair of steps, one of A and one of B.
        from_us, to_us, name, stream, category, rank: selection of the traces, see ``operators()``.
    """
    pairs = tuple(text for pair in (renames or {}).items() for text in pair)
    of_a, of_b = (Part(each, from_us, to_us, name, stream, category, rank)
                  for each in (step if isinstance(step, tuple) else (step, step)))
    context, things, paths, n_a = _sides(a, b, context)
    thing = context.run("diff", things, (of_a.texts[0], *of_b.texts, *pairs, *paths),
                        (from_us, to_us, len(pairs) // 2, n_a, *rank_bounds(rank)), progress)
    return DiffResult(context, thing, (_name_of(a), _name_of(b)))


class HtaCompareResult(Result):
    """Tables of Holistic Trace Analysis' TraceDiff. Returned by ``hta_compare()``."""


def hta_compare(a: Side, b: Side, step: Union[Step, Tuple[Step, Step]] = None, rank: Ranks = None,
                context: Optional[Context] = None, progress: Optional[Progress] = None) -> HtaCompareResult:
    """Compares one step of the lowest rank of A and of B by names of events, as TraceDiff of Holistic Trace Analysis.

    Args:
        a, b: see ``diff()``.
        step: step of both traces, or a pair of steps (None: the lowest).
        rank: selection of ranks.
    """
    texts = (Part(each).texts[0] for each in (step if isinstance(step, tuple) else (step, step)))
    context, things, paths, n_a = _sides(a, b, context)
    thing = context.run("hta_compare", things, (*texts, *paths), (n_a, *rank_bounds(rank)), progress)
    return HtaCompareResult(context, thing)
