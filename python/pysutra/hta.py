"""HTA without the wait: ``TraceAnalysis`` with the methods, parameters and DataFrames of Holistic Trace Analysis 0.5.

>>> from pysutra.hta import TraceAnalysis                  # instead of: from hta.trace_analysis import TraceAnalysis
>>> analysis = TraceAnalysis(trace_files={0: "rank0.json", 1: "rank1.json"})
>>> analysis.get_temporal_breakdown(visualize=False)

Numbers are HTA's, its faults included; integers are int64, where HTA takes less for small ones. Events of one time stand in the
order of a stable sort, where HTA's is any; series of bandwidth are numbered from 0; kernels with annotations have the columns of
times and names only. Nothing is drawn: ``visualize`` is taken and ignored, and ``pysutra.analyze.hta()``
has the charts. What sutra does not compute raises ``NotImplementedError``, which names what to use. Needs pandas and pyarrow.
"""

from __future__ import annotations

import glob
import gzip
import os
import re
from typing import Any, Dict, List, NoReturn, Optional, Sequence, Tuple, Union

from . import analyze
from ._context import Context, path_bytes, shared
from ._traces import DeviceTrace


def _missing(method: str, instead: str) -> NoReturn:
    raise NotImplementedError(f"{method} is not here: use {instead}")


def _find_files(folder: str) -> Dict[int, str]:
    """The traces of a folder, as HTA finds them: by the rank that each file tells."""
    found: Dict[int, str] = {}
    for path in sorted(glob.glob(os.path.join(os.path.expanduser(folder), "*.json*"))):
        opened = gzip.open if path.endswith(".gz") else open
        with opened(path, "rt", encoding="utf-8", errors="replace") as file:
            told = re.search(r'"rank"\s*:\s*(\d+)', file.read(1 << 20))
        if told:
            found.setdefault(int(told.group(1)), path)
    if not found:
        raise ValueError(f"no trace in {folder} tells its rank")
    return found


class TraceAnalysis:
    """The analyses of Holistic Trace Analysis for the device traces of one or many ranks.

    Args:
        trace_files: paths by rank, or a list of them; None: those of ``trace_dir``.
        trace_dir: a folder with traces that tell their rank.
        include_last_profiler_step: keep the last profiler step, which is left out otherwise.
        context: see ``pysutra.Context``.
    """

    def __init__(self, trace_files: Union[Dict[int, str], Sequence[str], None] = None, trace_dir: str = "./",
                 include_last_profiler_step: Optional[bool] = False, context: Optional[Context] = None) -> None:
        if trace_files is None:
            trace_files = _find_files(trace_dir)
        self.trace_files: Dict[int, str] = (dict(trace_files) if isinstance(trace_files, dict) else
                                            dict(enumerate(trace_files)))
        self._context = context or shared()
        self._options: Dict[str, Any] = {"compat": True, "last_step": bool(include_last_profiler_step)}
        self._results: Dict[Any, analyze.HtaResult] = {}

    # ---- Tables ----

    def _all(self, **options: Any) -> analyze.HtaResult:
        """The tables of all ranks by these options; made once."""
        key = tuple(sorted(options.items()))
        if key not in self._results:
            self._results[key] = analyze.hta(list(self.trace_files.values()), context=self._context, **self._options,
                                             **options)
        return self._results[key]

    def _rank(self, rank: int, name: str, **options: Any) -> Any:
        """A table of one rank, or None where it cannot be made."""
        if rank not in self.trace_files:
            raise KeyError(rank)
        with DeviceTrace(self.trace_files[rank], self._context) as trace:
            with analyze.hta_rank(trace, rank, **self._options, **options) as result:
                return self._frame(result, name)

    def _frame(self, result: analyze.Result, name: str) -> Any:
        """A table as HTA has it: texts are str, and columns of describe() have two levels."""
        if name not in result.tables:
            return None
        frame = result.tables[name].to_arrow().to_pandas()
        told = self._keys_by_told_rank(result) if "rank" in frame else {}
        if any(key != rank for rank, key in told.items()):
            frame["rank"] = frame["rank"].map(told)
        return frame

    def _keys_by_told_rank(self, result: analyze.Result) -> Dict[int, int]:
        """Ranks are the keys of ``trace_files``, whatever the traces tell."""
        keys = {path: key for key, path in self.trace_files.items()}
        many = isinstance(result, analyze.HtaResult)
        return {rank.rank: keys[rank.path] for rank in result.ranks if rank.reason is None} if many else {}

    def _ranks_of(self, frame: Any, ranks: Optional[Sequence[int]]) -> Any:
        wanted = [0] if not ranks else list(ranks)
        return None if frame is None else frame[frame["rank"].isin(wanted)].reset_index(drop=True)

    def _described(self, frame: Any, group: str, index: List[str]) -> Any:
        """Two levels of columns above those of describe(), and the rest as the index."""
        import pandas

        if frame is None:
            return None
        frame = frame.set_index(index) if len(frame) else frame.drop(columns=index)
        frame.columns = pandas.MultiIndex.from_tuples([(group, column) for column in frame.columns])
        return frame

    # ---- HTA's methods ----

    def get_temporal_breakdown(self, visualize: bool = True) -> Any:
        """Idle, compute and other time of each rank."""
        return self._frame(self._all(), "temporal_breakdown")

    def get_comm_comp_overlap(self, visualize: bool = True) -> Any:
        """How much of the communication is hidden by computation, in percent of each rank."""
        return self._frame(self._all(), "comm_comp_overlap")

    def get_profiler_steps(self) -> List[int]:
        """The numbers of the profiler's steps."""
        return self._all().steps

    def get_potential_stragglers(self, profiler_steps: Optional[List[int]] = None, num_candidates: int = 2,
                                 visualize: bool = False) -> List[int]:
        """The ranks that come late to collectives."""
        if profiler_steps is not None or not 1 <= num_candidates <= 3:
            _missing("get_potential_stragglers() of some steps or of more than 3 candidates",
                     "pysutra.analyze.hta(paths).tables['potential_stragglers.metric']")
        found = self._all().stragglers[f"num_candidates={num_candidates}"]
        if found is None:
            raise ValueError("attempt to get argmax of an empty sequence")
        told = self._keys_by_told_rank(self._all())
        return [told[rank] for rank in found]

    def get_gpu_kernel_breakdown(self, visualize: bool = True, duration_ratio: float = 0.8, num_kernels: int = 10,
                                 include_memory_kernels: bool = True, image_renderer: str = "") -> Tuple[Any, Any]:
        """Time by type of kernel, and the longest kernels of each rank and type."""
        if duration_ratio != 0.8:
            _missing("duration_ratio other than 0.8", "num_kernels")
        result = self._all(kernels=num_kernels)
        name = "gpu_kernel_breakdown_mem" if include_memory_kernels else "gpu_kernel_breakdown"
        return self._frame(result, f"{name}.types"), self._frame(result, f"{name}.kernels")

    def get_gpu_user_annotation_breakdown(self, use_gpu_annotation: bool = True, visualize: bool = True,
                                          duration_ratio: float = 0.8, num_kernels: int = 1000,
                                          allowlist_patterns: Optional[List[str]] = None,
                                          image_renderer: Optional[str] = None) -> Any:
        """Durations of annotations, on streams or on the host."""
        if duration_ratio != 0.8 or num_kernels != 1000 or allowlist_patterns:
            _missing("get_gpu_user_annotation_breakdown() with a ratio, a number or an allow list", "the defaults")
        return self._frame(self._all(),
                           "gpu_user_annotation_breakdown" if use_gpu_annotation else "user_annotation_breakdown")

    def get_idle_time_breakdown(self, ranks: Optional[List[int]] = None, streams: Optional[List[int]] = None,
                                visualize: bool = True, visualize_pctg: bool = True,
                                show_idle_interval_stats: bool = False,
                                consecutive_kernel_delay: int = 30) -> Tuple[Any, Any]:
        """What streams waited for, and the distribution of the gaps."""
        result = self._all(kernel_delay=consecutive_kernel_delay)
        rows = self._ranks_of(self._frame(result, "idle_time_breakdown.rows"), ranks)
        stats = self._ranks_of(self._frame(result, "idle_time_breakdown.stats"), ranks)
        if streams:
            rows = rows[rows["stream"].isin(streams)].reset_index(drop=True)
            stats = stats[stats["stream"].isin(streams)]
        return rows, stats.set_index("idle_category") if show_idle_interval_stats else None

    def get_cuda_kernel_launch_stats(self, ranks: Optional[List[int]] = None, runtime_cutoff: int = 50,
                                     launch_delay_cutoff: int = 100, include_memory_events: bool = True,
                                     visualize: bool = True) -> Dict[int, Any]:
        """Each launch with its kernel, by rank."""
        if not include_memory_events:
            _missing("include_memory_events=False", "pysutra.DeviceTrace(path).correlate()")
        return {rank: self._rank(rank, "cuda_kernel_launch_stats") for rank in ranks or [0]}

    def get_queue_length_time_series(self, ranks: Optional[List[int]] = None) -> Dict[int, Any]:
        """Each change of the length of a stream's queue, by rank."""
        series = {rank: self._rank(rank, "queue_length_time_series") for rank in ranks or [0]}
        return {rank: self._shifted(frame, rank).set_index("index") for rank, frame in series.items()
                if frame is not None and len(frame)}

    def get_queue_length_summary(self, ranks: Optional[List[int]] = None) -> Any:
        """The distribution of the lengths of queues."""
        frame = self._ranks_of(self._frame(self._all(), "queue_length_summary"), ranks)
        return None if frame is None or frame.empty else self._described(frame, "queue_length", ["rank", "stream"])

    def get_memory_bw_time_series(self, ranks: Optional[List[int]] = None) -> Dict[int, Any]:
        """Each change of the bandwidth of copies, by rank."""
        series = {rank: self._rank(rank, "memory_bw_time_series") for rank in ranks or [0]}
        return {rank: self._shifted(frame, rank) for rank, frame in series.items() if frame is not None and len(frame)}

    def get_memory_bw_summary(self, ranks: Optional[List[int]] = None) -> Any:
        """The distribution of the bandwidth of copies."""
        frame = self._ranks_of(self._frame(self._all(), "memory_bw_summary"), ranks)
        return self._described(frame, "memory_bw_gbps", ["rank", "name"])

    def get_gpu_kernels_with_user_annotations(self, rank: int, expand_names: bool = True,
                                              shortern_names: bool = True) -> Any:
        """Each kernel with the shortest annotation around it; names as they are."""
        if shortern_names or not expand_names:
            _missing("get_gpu_kernels_with_user_annotations() with short names", "shortern_names=False")
        return self._rank(rank, "gpu_kernels_with_user_annotations")

    def get_aten_op_kernels_and_delay(self, ranks: Optional[List[int]] = None,
                                      sort_by: Optional[List[str]] = None) -> Dict[int, Any]:
        """Operators with the kernels that they launch, how often and how late."""
        frames = {rank: self._rank(rank, "aten_op_kernels_and_delay") for rank in ranks or [0]}
        groups = {rank: frame.sort_values(["aten_op_name", "kernel_sequence"], kind="stable", ignore_index=True)
                  for rank, frame in frames.items()}
        return {rank: frame.sort_values(sort_by or ["occurrence_count"], ascending=False, kind="stable")
                for rank, frame in groups.items()}

    def get_frequent_cuda_kernel_sequences(self, operator_name: str, output_dir: str, min_pattern_len: int = 3,
                                           rank: int = 0, top_k: int = 5, visualize: bool = False,
                                           compress_other_kernels: bool = True) -> Any:
        """Sequences of kernels that calls of an operator launch. The overlaid trace is not written."""
        import pandas

        frame = self._rank(rank, "frequent_cuda_kernel_sequences", sequences_of=operator_name,
                           sequence_kernels=min_pattern_len)
        return pandas.DataFrame() if frame is None else frame

    def generate_trace_with_counters(self, time_series: Any = None, ranks: Optional[List[int]] = None,
                                     output_suffix: str = "_with_counters") -> None:
        """Writes the traces once more, with counters of queues, bandwidth and busy devices."""
        if time_series is not None:
            _missing("generate_trace_with_counters() of one time series", "time_series=None, which gives all")
        for rank in ranks or [0]:
            path = self.trace_files[rank]
            with DeviceTrace(path, self._context) as trace, analyze.hta_rank(trace, rank, **self._options) as result:
                output = path.replace(".json", f"{output_suffix or '_with_counters'}.json")
                if output == path:
                    raise ValueError(f"the name of {path} has no .json, so that it would be written over")
                trace._run("hta_counters", (trace._thing, result._thing), (path_bytes(output),))

    def _shifted(self, frame: Any, rank: int) -> Any:
        """Times since the first event of all ranks, where each rank's own count from its first."""
        if len(self.trace_files) > 1:
            firsts = self._frame(self._all(), "rank_summary").set_index("rank")["first_us"]
            frame["ts"] += type(frame["ts"].iloc[0])(firsts[rank] - firsts.min())
        return frame

    # ---- What is not here ----

    def get_queue_length_summary_from_time_series(self, queue_length_dict: Dict[int, Any]) -> NoReturn:
        """Not here: the error names what to use."""
        _missing("get_queue_length_summary_from_time_series()", "get_queue_length_summary()")

    def get_time_spent_blocked_on_full_queue(self, queue_length_dict: Dict[int, Any],
                                             max_queue_length: int = 1024) -> Any:
        """Time with a full queue; it is found anew, not in the series that is given."""
        frame = self._frame(self._all(full_queue=max_queue_length), "time_spent_blocked_on_full_queue")
        return self._ranks_of(frame, list(queue_length_dict))

    def get_cupti_counter_data_with_operators(self, ranks: Optional[List[int]] = None) -> NoReturn:
        """Not here: the error names what to use."""
        _missing("get_cupti_counter_data_with_operators()", "pysutra.DeviceTrace(path).events(args=[...]) and .tree()")

    def critical_path_analysis(self, rank: int, annotation: str, instance_id: Any) -> NoReturn:
        """Not here: the error names what to use."""
        _missing("critical_path_analysis()", "pysutra.DeviceTrace(path).critical_path(annotation, instance)")

    def overlay_critical_path_analysis(self, rank: int, critical_path_graph: Any, output_dir: str,
                                       only_show_critical_events: bool = True,
                                       show_all_edges: bool = False) -> NoReturn:
        """Not here: the error names what to use."""
        _missing("overlay_critical_path_analysis()", "pysutra.DeviceTrace(path).critical_path().write(path, 'chrome')")
