"""HTA without the wait: ``TraceAnalysis`` with the methods, parameters and DataFrames of Holistic Trace Analysis 0.5 and 0.6.

>>> from pysutra.hta import TraceAnalysis                  # instead of: from hta.trace_analysis import TraceAnalysis
>>> analysis = TraceAnalysis(trace_files={0: "rank0.json", 1: "rank1.json"})
>>> analysis.get_temporal_breakdown(visualize=False)

The numbers equal HTA's, including its bugs, with these differences: integers are always int64; events with equal times are in
the order of a stable sort; the index of bandwidth series starts at 0. ``visualize`` and ``image_renderer`` are accepted and
ignored; ``pysutra.analyze.hta()`` has the charts. Methods that sutra does not implement raise ``NotImplementedError`` with the
replacement. Requires pandas and pyarrow.
"""

from __future__ import annotations

import os
from enum import Flag, auto
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple, Union

from . import analyze
from ._context import Context, path_bytes, shared
from ._hta_trace import ARGUMENTS, ARGUMENTS_0_6, Argument, Trace, argument_columns, files_by_rank, files_of_folder, logger
from ._traces import DeviceTrace


class TimeSeriesTypes(Flag):
    """The counters of ``generate_trace_with_counters()``; GPU_BUSY is not in HTA."""

    QUEUE_LENGTH = auto()
    MEMCPY_BANDWIDTH = auto()
    GPU_BUSY = auto()


def _missing(method: str, instead: str) -> NoReturn:
    raise NotImplementedError(f"{method} is not implemented: use {instead}")


class TraceAnalysis:
    """The analyses of Holistic Trace Analysis for the device traces of one or many ranks.

    Args:
        trace_files: paths by rank, or a list of paths to files that record their rank (None: the traces in ``trace_dir``).
        trace_dir: directory of traces, and base of relative paths in ``trace_files`` that do not begin with it.
        include_last_profiler_step: keep the last profiler step instead of skipping it.
        context: see ``pysutra.Context``.
        hta_version: the HTA version whose rules apply, "0.5" or "0.6".
    """

    def __init__(self, trace_files: Union[Dict[int, str], Sequence[str], None] = None, trace_dir: str = "./",
                 include_last_profiler_step: Optional[bool] = False, context: Optional[Context] = None,
                 hta_version: str = "0.5") -> None:
        folder = os.path.expanduser(trace_dir)
        if trace_files is None:
            found = files_of_folder(folder)
        elif isinstance(trace_files, dict):
            found = {rank: _path_below(folder, path) for rank, path in trace_files.items()}
        else:
            found = {rank: _path_below(folder, path) for rank, path in files_by_rank(trace_files).items()}
        self.trace_files: Dict[int, str] = dict(sorted(found.items()))
        self._context = context or shared()
        self._hta_version = hta_version
        self._options: Dict[str, Any] = {"compat": True, "hta_version": hta_version, "last_step": bool(include_last_profiler_step)}
        self._results: Dict[Any, analyze.HtaResult] = {}
        #: The events of each rank, read when they are requested.
        self.t = Trace(self.trace_files, self._read_events)

    # ---- Tables ----

    def _all(self, **options: Any) -> analyze.HtaResult:
        """Computes and caches the tables of all ranks for these options."""
        if not self.trace_files:
            raise ValueError("no traces in trace_files or the directory trace_dir")
        key = tuple(sorted(options.items()))
        if key not in self._results:
            self._results[key] = analyze.hta(list(self.trace_files.values()), context=self._context, **self._options,
                                             **options)
        return self._results[key]

    def _rank(self, rank: int, name: str, **options: Any) -> Any:
        """Returns a table of one rank, or None if the table has no data."""
        self._wanted([rank])
        with DeviceTrace(self.trace_files[rank], self._context) as trace:
            with analyze.hta_rank(trace, rank, **self._options, **options) as result:
                return self._frame(result, name)

    def _frame(self, result: analyze.Result, name: str) -> Any:
        """Converts a table to HTA's DataFrame; its ranks become the keys of ``trace_files``."""
        if name not in result.tables:
            return None
        frame = result.tables[name].to_arrow().to_pandas()
        told = self._keys_by_recorded_rank(result) if "rank" in frame else {}
        if any(key != rank for rank, key in told.items()):
            frame["rank"] = frame["rank"].map(told)
        return frame

    def _keys_by_recorded_rank(self, result: analyze.Result) -> Dict[int, int]:
        """Maps the ranks recorded in the traces to the keys of ``trace_files``."""
        keys = {path: key for key, path in self.trace_files.items()}
        many = isinstance(result, analyze.HtaResult)
        return {rank.rank: keys[rank.path] for rank in result.ranks if rank.skipped_reason is None} if many else {}

    def _wanted(self, ranks: Optional[Sequence[int]]) -> List[int]:
        """Returns the requested ranks, or rank 0."""
        wanted = list(ranks or [0])
        for rank in wanted:
            if rank not in self.trace_files:
                raise ValueError(f"no trace of rank {rank}; available ranks: {list(self.trace_files)}")
        return wanted

    def _ranks_of(self, frame: Any, ranks: Optional[Sequence[int]]) -> Any:
        """Returns the rows of the requested ranks in the order of the request, with an index from 0 per rank."""
        import pandas

        wanted = self._wanted(ranks)
        return None if frame is None else pandas.concat(
            [frame[frame["rank"] == rank].reset_index(drop=True) for rank in wanted])

    def _read_events(self, rank: int) -> Any:
        """Reads the events of a rank as HTA's table, with names and categories as text."""
        with DeviceTrace(self.trace_files[rank], self._context) as trace:
            with analyze.hta_rank(trace, rank, rows=True, **self._options) as result:
                frame = self._shifted(self._frame(result, "rows"), rank)
                counters = self._frame(result, "cuda_profiler_counters")
            arguments = [*(ARGUMENTS_0_6 if self._hta_version == "0.6" else ARGUMENTS),
                         *(Argument(name, name, -1) for name in ([] if counters is None else counters["counter"]))]
            columns = argument_columns(trace, arguments, frame["index"])
        frame = frame.rename(columns={"s_cat": "cat", "s_name": "name"})
        order = ["index", "cat", "name", "pid", "tid", "ts", "dur", "end", "stream", "correlation", *columns,
                 "index_correlation", "iteration"]
        frame["end"] += self._first_us(rank)
        frame = frame.assign(**columns)[order].set_index("index", drop=False)
        frame.index.name = None
        return frame

    def _described(self, frame: Any, group: str, index: List[str]) -> Any:
        """Sets the index, and adds ``group`` as the upper level of the columns of describe()."""
        import pandas

        if frame is None:
            return None
        frame = frame.set_index(index) if len(frame) else frame.drop(columns=index)
        frame.columns = pandas.MultiIndex.from_tuples([(group, column) for column in frame.columns])
        return frame

    # ---- HTA's methods ----

    def get_temporal_breakdown(self, visualize: bool = True) -> Any:
        """Returns idle, compute and other time of each rank."""
        return self._frame(self._all(), "temporal_breakdown")

    def get_comm_comp_overlap(self, visualize: bool = True) -> Any:
        """Returns the share of the communication that overlaps with compute, in percent per rank."""
        return self._frame(self._all(), "comm_comp_overlap")

    def get_profiler_steps(self) -> List[int]:
        """Returns the numbers of the profiler steps."""
        return self._all().steps

    def get_potential_stragglers(self, profiler_steps: Optional[List[int]] = None, num_candidates: int = 2,
                                 visualize: bool = False,
                                 straggler_identification_impl: Optional[Callable[..., Any]] = None) -> List[int]:
        """Returns the ranks that arrive late at collectives.

        ``straggler_identification_impl`` is called as in HTA, with the events of all ranks in these steps, the symbol table,
        ``num_candidates`` and ``visualize``. It returns a series of scores by rank.
        """
        result = self._all()
        available, candidates = result.steps, max(num_candidates, 1)
        steps = available if profiler_steps is None else [step for step in profiler_steps if step in available]
        if not steps:
            raise ValueError(f"invalid value for argument: profiler_steps={profiler_steps}; "
                             f"available profiler steps={available}")
        if straggler_identification_impl:
            marks = straggler_identification_impl(self._events_of_steps(steps), self.t.symbol_table, candidates, visualize)
            return list(marks.sort_values(ascending=False)[:candidates].index)
        found = result.find_stragglers(candidates, steps)
        if found is None and "potential_stragglers.metric" in result.tables:
            raise IndexError(f"fewer than {candidates} ranks have the collective in a step")
        if found is None:
            raise ValueError("attempt to get argmax of an empty sequence")
        told = self._keys_by_recorded_rank(result)
        return [told[rank] for rank in found]

    def _events_of_steps(self, steps: List[int]) -> Any:
        import pandas

        traces = self.t.get_all_traces()
        frame = pandas.concat(list(traces.values()), keys=list(traces), names=["rank", "idx"]).reset_index()
        return frame[frame["iteration"].isin(steps)]

    @staticmethod
    def _names_kept(duration_ratio: float, num_kernels: int, names: str) -> Dict[str, Any]:
        """Returns the options for the number of names before "others"."""
        if not 0 <= duration_ratio <= 1:
            raise ValueError("percentiles should all be in the interval [0, 1]. Try dividing by 100.")
        if num_kernels < 1:
            raise ValueError(f"num_kernels must be at least 1, not {num_kernels}")
        return {"kept_ratio": duration_ratio or 1e-300, names: num_kernels}

    def get_gpu_kernel_breakdown(self, visualize: bool = True, duration_ratio: float = 0.8, num_kernels: int = 10,
                                 include_memory_kernels: bool = True, image_renderer: str = "") -> Tuple[Any, Any]:
        """Returns the time by kernel type, and the longest kernels of each rank and type."""
        result = self._all(**self._names_kept(duration_ratio, num_kernels, "kernels"))
        name = "gpu_kernel_breakdown_mem" if include_memory_kernels else "gpu_kernel_breakdown"
        return self._frame(result, f"{name}.types"), self._frame(result, f"{name}.kernels")

    def get_gpu_user_annotation_breakdown(self, use_gpu_annotation: bool = True, visualize: bool = True,
                                          duration_ratio: float = 0.8, num_kernels: int = 1000,
                                          allowlist_patterns: Optional[List[str]] = None,
                                          image_renderer: Optional[str] = None) -> Any:
        """Returns the durations of annotations on the GPU or CPU. A pattern matches names that contain it, as in HTA."""
        kept = () if allowlist_patterns is None else tuple(allowlist_patterns) or ("",)
        result = self._all(kept_annotations=kept, **self._names_kept(duration_ratio, num_kernels, "annotations"))
        return self._frame(result, "gpu_user_annotation_breakdown" if use_gpu_annotation else "user_annotation_breakdown")

    def get_idle_time_breakdown(self, ranks: Optional[List[int]] = None, streams: Optional[List[int]] = None,
                                visualize: bool = True, visualize_pctg: bool = True,
                                show_idle_interval_stats: bool = False,
                                consecutive_kernel_delay: int = 30) -> Tuple[Any, Any]:
        """Returns the idle time of streams by category, and the distribution of the idle intervals."""
        result = self._all(kernel_gap_us=consecutive_kernel_delay)
        rows = self._ranks_of(self._frame(result, "idle_time_breakdown.rows"), ranks)
        stats = self._ranks_of(self._frame(result, "idle_time_breakdown.stats"), ranks)
        if streams:
            rows = rows[rows["stream"].isin(streams)].reset_index(drop=True)
            stats = stats[stats["stream"].isin(streams)]
        return rows, stats.set_index("idle_category") if show_idle_interval_stats else None

    def get_cuda_kernel_launch_stats(self, ranks: Optional[List[int]] = None, runtime_cutoff: int = 50,
                                     launch_delay_cutoff: int = 100, include_memory_events: bool = True,
                                     visualize: bool = True) -> Dict[int, Any]:
        """Returns each launch with its kernel, by rank. The cutoffs only change HTA's charts."""
        return {rank: self._rank(rank, "cuda_kernel_launch_stats", memory_launches=include_memory_events)
                for rank in ranks or [0]}

    def get_queue_length_time_series(self, ranks: Optional[List[int]] = None) -> Dict[int, Any]:
        """Returns each change of the queue length of a stream, by rank."""
        series = {rank: self._rank(rank, "queue_length_time_series") for rank in ranks or [0]}
        return {rank: self._shifted(frame, rank).set_index("index") for rank, frame in series.items()
                if frame is not None and len(frame)}

    def get_queue_length_summary(self, ranks: Optional[List[int]] = None) -> Any:
        """Returns the distribution of queue lengths."""
        frame = self._ranks_of(self._frame(self._all(), "queue_length_summary"), ranks)
        return None if frame is None or frame.empty else self._described(frame, "queue_length", ["rank", "stream"])

    def get_queue_length_summary_from_time_series(self, queue_length_dict: Dict[int, Any]) -> Any:
        """Returns the distribution of the queue lengths in the given series."""
        import pandas

        described = [series[["stream", "queue_length"]].assign(rank=rank).groupby(["rank", "stream"]).describe()
                     for rank, series in queue_length_dict.items()]
        return pandas.concat(described) if described else None

    def get_time_spent_blocked_on_full_queue(self, queue_length_dict: Dict[int, Any],
                                             max_queue_length: int = 1024) -> Any:
        """Returns the time with a full queue in the given series, for the last such stream of each rank, as HTA does."""
        import pandas

        rows = []
        for rank, series in queue_length_dict.items():
            duration_us = (series.groupby("stream")["ts"].shift(-1) - series["ts"])[series["queue_length"] >= max_queue_length]
            if duration_us.empty:
                continue
            stream = series["stream"][series["queue_length"] >= max_queue_length]
            last = [number for number in series["stream"].unique() if (stream == number).any()][-1]
            blocked = duration_us[stream == last].sum()
            rows.append((rank, last, blocked, blocked / self.t.get_trace_duration(rank)))
        return pandas.DataFrame(rows, columns=["rank", "stream", "duration_at_max_queue_length",
                                               "relative_duration_at_max_queue_length"])

    def get_memory_bw_time_series(self, ranks: Optional[List[int]] = None) -> Dict[int, Any]:
        """Returns each change of the memory bandwidth of memcpy and memset, by rank."""
        series = {rank: self._rank(rank, "memory_bw_time_series") for rank in ranks or [0]}
        return {rank: self._shifted(frame, rank) for rank, frame in series.items() if frame is not None and len(frame)}

    def get_memory_bw_summary(self, ranks: Optional[List[int]] = None) -> Any:
        """Returns the distribution of the memory bandwidth."""
        frame = self._ranks_of(self._frame(self._all(), "memory_bw_summary"), ranks)
        return self._described(frame, "memory_bw_gbps", ["rank", "name"])

    def get_gpu_kernels_with_user_annotations(self, rank: int, expand_names: bool = True, shorten_names: bool = True,
                                              shortern_names: Optional[bool] = None) -> Any:
        """Returns each kernel with the shortest annotation that overlaps with it; ``shortern_names`` is HTA 0.5's spelling."""
        shorten = shorten_names if shortern_names is None else shortern_names
        full = self._rank(rank, "gpu_kernels_with_user_annotations")
        if full is None:
            return None
        events = self.t.get_trace(rank)
        frame = events[~events.index.duplicated()].loc[full["index"]].reset_index(drop=True)
        frame["end"] = frame["ts"] + frame["dur"]
        frame["user_annotation"] = full["s_user_annotation"].map(self.t._symbols.sym_index).fillna(-1).astype("int64")
        if expand_names:
            names = self._rank(rank, "gpu_kernels_with_user_annotations", short_names=True) if shorten else full
            frame = frame.assign(**{name: names[name] for name in ("s_name", "s_cat", "s_user_annotation")})
        return frame

    def get_aten_op_kernels_and_delay(self, ranks: Optional[List[int]] = None,
                                      sort_by: Optional[List[str]] = None) -> Dict[int, Any]:
        """Returns operators with their kernels, counts and launch delays."""
        frames = {rank: self._rank(rank, "aten_op_kernels_and_delay") for rank in ranks or [0]}
        groups = {rank: frame.sort_values(["aten_op_name", "kernel_sequence"], kind="stable", ignore_index=True)
                  for rank, frame in frames.items()}
        return {rank: frame.sort_values(sort_by or ["occurrence_count"], ascending=False, kind="stable")
                for rank, frame in groups.items()}

    def get_frequent_cuda_kernel_sequences(self, operator_name: str, output_dir: str, min_pattern_len: int = 3,
                                           rank: int = 0, top_k: int = 5, visualize: bool = False,
                                           compress_other_kernels: bool = True) -> Any:
        """Returns the kernel sequences that calls of an operator launch. Does not write the overlaid trace."""
        import pandas

        folder = os.path.expanduser(output_dir)
        if not operator_name or not os.path.isdir(folder) or not os.access(folder, os.W_OK):
            logger.error("operator_name is empty or output_dir %r is not a writable directory: no sequences", output_dir)
            return pandas.DataFrame()
        frame = self._rank(rank, "frequent_cuda_kernel_sequences", sequences_of=operator_name,
                           sequence_kernels=min_pattern_len)
        return pandas.DataFrame() if frame is None else frame

    def generate_trace_with_counters(self, time_series: Any = None, ranks: Optional[List[int]] = None,
                                     output_suffix: str = "_with_counters") -> None:
        """Writes copies of the traces with counters of queue length and bandwidth, or with the given ``TimeSeriesTypes`` of
        sutra or HTA. Writes no file for a rank without such a series."""
        names = {member.name for member in type(time_series) if member in time_series} if time_series is not None else set()
        series = {TimeSeriesTypes.QUEUE_LENGTH: "queue_length_time_series",
                  TimeSeriesTypes.MEMCPY_BANDWIDTH: "memory_bw_time_series", TimeSeriesTypes.GPU_BUSY: "gpu_busy_time_series"}
        kinds = [kind for kind in series if (kind.name in names if names else kind is not TimeSeriesTypes.GPU_BUSY)]
        for rank in self._wanted(ranks):
            path = self.trace_files[rank]
            with DeviceTrace(path, self._context) as trace, analyze.hta_rank(trace, rank, **self._options) as result:
                output = path.replace(".json", f"{output_suffix or '_with_counters'}.json")
                if output == path:
                    raise ValueError(f"{path} has no .json in its name, so the output would overwrite it")
                if any(series[kind] in result.tables for kind in kinds):
                    trace._run("hta_counters", (trace._thing, result._thing), (path_bytes(output),),
                               (sum(kind.value for kind in kinds),))

    def get_cupti_counter_data_with_operators(self, ranks: Optional[List[int]] = None) -> List[Any]:
        """Returns performance counters of CUPTI's range profiler, with the operators that enclose the launch of each kernel: one
        frame per rank that has as many ranges as kernel launches."""
        frames = [self._counters_of(rank) for rank in self._wanted(ranks)] if self.trace_files else []
        return [frame for frame in frames if frame is not None]

    def _counters_of(self, rank: int) -> Any:
        with DeviceTrace(self.trace_files[rank], self._context) as trace:
            with analyze.hta_rank(trace, rank, **self._options) as result:
                found = self._frame(result, "cuda_profiler_ranges")
        if found is None:
            return None
        groups = found.groupby("index", sort=False)
        ranges = groups.first().reset_index()
        events = self.t.get_trace(rank)
        frame = events[~events.index.duplicated()].loc[ranges["index"]].reset_index(drop=True)
        for column in ("name", "cat"):
            frame[column] = self.t._symbols.names(frame[column])
        frame["index_runtime"] = ranges["index_runtime"]
        frame["op_stack"] = [[name for name in stack if name] for stack in groups["operator_name"].agg(list)]
        frame["top_level_op"] = [stack[0] if stack else "" for stack in frame["op_stack"]]
        frame["bottom_level_op"] = [stack[-1] if stack else "" for stack in frame["op_stack"]]
        return frame

    def _first_us(self, rank: int) -> float:
        """Returns the first start time of a rank, on the clock of the file."""
        return float(self._frame(self._all(), "rank_summary").set_index("rank")["first_us"][rank])

    def _shifted(self, frame: Any, rank: int) -> Any:
        """Shifts times from the first event of the rank to the first event of all ranks."""
        if len(self.trace_files) > 1:
            firsts = self._frame(self._all(), "rank_summary").set_index("rank")["first_us"]
            frame["ts"] += type(frame["ts"].iloc[0])(firsts[rank] - firsts.min())
        return frame

    # ---- Not implemented ----

    def critical_path_analysis(self, rank: int, annotation: str, instance_id: Any,
                               data_load_events: Optional[List[str]] = None) -> NoReturn:
        """Raises NotImplementedError with the replacement."""
        _missing("critical_path_analysis()", "pysutra.DeviceTrace(path).critical_path(annotation, instance)")

    def overlay_critical_path_analysis(self, rank: int, critical_path_graph: Any, output_dir: str,
                                       only_show_critical_events: bool = True,
                                       show_all_edges: bool = False) -> NoReturn:
        """Raises NotImplementedError with the replacement."""
        _missing("overlay_critical_path_analysis()", "pysutra.DeviceTrace(path).critical_path().write(path, 'chrome')")


def _path_below(folder: str, path: str) -> str:
    """Resolves a path as HTA does: below the folder, unless it begins with the folder or is absolute."""
    path = os.fspath(path)
    return path if path.startswith(folder) or os.path.isabs(path) or folder == "./" else os.path.join(folder, path)
