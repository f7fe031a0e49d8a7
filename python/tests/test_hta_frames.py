"""Frames of pysutra.hta.TraceAnalysis for a job of three ranks, compared with those that HTA gave (tests/data/hta/VERSION.json.gz).

    python python/tests/test_hta_frames.py       writes the file of the installed version of HTA; needs it instead of pytest
"""

import gzip
import json
import os
import sys
import tempfile

import pandas

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "data", "hta")


# ---- Traces ----


class Trace:
    """Events of one rank: steps with annotations, kernels, copies, collectives and counters."""

    def __init__(self, rank):
        self.rank, self.events, self.correlation = rank, [], 0

    def add(self, category, name, thread, ts, dur, **args):
        pid, tid = thread
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args})

    def launch(self, call, category, name, stream, ts, start, dur, **args):
        self.correlation += 1
        self.add("cuda_runtime", call, (100, 100), ts, 4, correlation=self.correlation)
        self.add(category, name, (0, stream), start, dur, stream=stream, correlation=self.correlation, device=0, **args)

    def step(self, number, ts):
        late = 7 * self.rank * number
        self.add("user_annotation", f"ProfilerStep#{number}", (100, 100), ts, 900)
        for place, name in enumerate(("Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad", "forward<a>(b)", "loss")):
            self.add("user_annotation", name, (100, 100), ts + 100 * place + 10, 80 - 15 * place)
            self.add("gpu_user_annotation", name, (0, 7), ts + 100 * place + 30, 70 - place)
            self.add("cpu_op", "aten::linear", (100, 100), ts + 100 * place + 12, 40, **{"External id": 10 * number + place})
            self.add("cpu_op", "aten::addmm", (100, 100), ts + 100 * place + 14, 30, **{"Input Dims": [[2, 3], []]})
            self.launch("cudaLaunchKernel", "kernel", f"void at::native::gemm<float, {place}>(int, float)", 7,
                        ts + 100 * place + 20, ts + 100 * place + 40, 25 + place)
            self.launch("cudaMemcpyAsync", "gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 20, ts + 100 * place + 26,
                        ts + 100 * place + 60, 12, bytes=64, **{"memory bandwidth (GB/s)": 1.5 + place})
            self.launch("cudaMemsetAsync", "gpu_memset", "Memset (Device)", 7, ts + 100 * place + 32, ts + 100 * place + 90, 2)
        self.add("cpu_op", "c10d::allreduce_", (100, 100), ts + 495, 20)
        self.launch("cudaLaunchKernelExC", "kernel", "ncclKernel_AllReduce_RING", 24, ts + 500, ts + 520 + late, 300 - late)

    def ranges(self):
        """Each cudaLaunchKernel has a range of CUPTI's profiler."""
        launches = [event for event in self.events if event["name"].startswith("cudaLaunchKernel")]
        for number, launch in enumerate(launches):
            counters = {"smsp__a.sum": 10 * number, **({"smsp__b.sum": number} if number % 2 else {})}
            self.add("cuda_profiler_range", f"range<{number}>", (9, 9), launch["ts"] + 1, 2, **counters)

    def write(self, folder):
        path = os.path.join(folder, f"trace{self.rank}.json.gz")
        with gzip.open(path, "wt", encoding="utf-8") as file:
            json.dump({"distributedInfo": {"rank": self.rank}, "traceEvents": self.events}, file)
        return path


def make_traces(folder):
    """Writes the traces of the job; returns their paths by rank."""
    paths = {}
    for rank in range(3):
        trace = Trace(rank)
        for number in range(1, 5):
            trace.step(number, 5000 + 13 * rank + 1000 * number)
        if rank == 1:
            trace.ranges()
        paths[rank] = trace.write(folder)
    return paths


# ---- Methods ----


def events_of(analysis, frame):
    """A table of events with texts for numbers of symbols, without columns that other methods of HTA add."""
    if frame is None:
        return None
    names = dict(enumerate(analysis.t.symbol_table.get_sym_table()))
    frame = frame.drop(columns=["end", "depth", "height", "parent", "num_kernels", "kernel_dur_sum", "kernel_span",
                                "first_kernel_start", "last_kernel_end"], errors="ignore")
    for column in {"cat", "name", "user_annotation"} & set(frame.columns):
        if frame[column].dtype.kind == "i":
            frame[column] = frame[column].map(names).fillna("")
    return frame[sorted(frame.columns)]


def counters_of(analysis, rank, **options):
    """The counters that generate_trace_with_counters() appends, and the name of the file."""
    path = analysis.t.trace_files[rank]
    before = set(os.listdir(os.path.dirname(path)))
    analysis.generate_trace_with_counters(ranks=[rank], **options)
    (name,) = set(os.listdir(os.path.dirname(path))) - before
    written = os.path.join(os.path.dirname(path), name)
    with gzip.open(written, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    os.remove(written)
    return [name, [event for event in events if event["ph"] == "C"]]


def failure_of(method, *arguments, **options):
    try:
        return method(*arguments, **options)
    except (ValueError, IndexError) as error:
        return type(error).__name__


def calls(kind):
    """What is compared, by name; ``kind`` has the values of TimeSeriesTypes."""
    annotations = {"visualize": False, "use_gpu_annotation": False}
    return {
        "events of rank 1": lambda a: events_of(a, a.t.get_trace(1)),
        "ranks": lambda a: a.t.get_ranks(),
        "iterations": lambda a: a.t.get_iterations(),
        "trace duration": lambda a: int(a.t.get_trace_duration(2)),
        "events of an unknown rank": lambda a: failure_of(a.t.get_trace, 7),
        "annotations": lambda a: a.get_gpu_user_annotation_breakdown(visualize=False),
        "annotations, 2 names": lambda a: a.get_gpu_user_annotation_breakdown(**annotations, num_kernels=2),
        "annotations, quantile": lambda a: a.get_gpu_user_annotation_breakdown(**annotations, num_kernels=2, duration_ratio=0.3),
        "annotations, allowed": lambda a: a.get_gpu_user_annotation_breakdown(**annotations, num_kernels=1,
                                                                             allowlist_patterns=["Optimizer", "ard<"]),
        "annotations, all allowed": lambda a: a.get_gpu_user_annotation_breakdown(**annotations, num_kernels=1,
                                                                                 allowlist_patterns=[]),
        "kernels, quantile": lambda a: a.get_gpu_kernel_breakdown(visualize=False, num_kernels=2, duration_ratio=0.4),
        "kernels, quantile 0": lambda a: a.get_gpu_kernel_breakdown(False, 0.0, 1, False, "svg"),
        "idle, order of ranks": lambda a: a.get_idle_time_breakdown(ranks=[2, 0], visualize=False, visualize_pctg=False,
                                                                    show_idle_interval_stats=True),
        "launches without memory": lambda a: a.get_cuda_kernel_launch_stats(ranks=[0, 2], include_memory_events=False,
                                                                           visualize=False),
        "launches of no rank": lambda a: a.get_cuda_kernel_launch_stats(ranks=[], visualize=False),
        "launches of an unknown rank": lambda a: failure_of(a.get_cuda_kernel_launch_stats, ranks=[9], visualize=False),
        "queue of ranks": lambda a: a.get_queue_length_summary(ranks=[1, 0]),
        "queue of series": lambda a: a.get_queue_length_summary_from_time_series(a.get_queue_length_time_series([0, 2])),
        "queue of no series": lambda a: a.get_queue_length_summary_from_time_series({}),
        "full queue": lambda a: a.get_time_spent_blocked_on_full_queue(a.get_queue_length_time_series([0, 2]), 1),
        "full queue of half a series": lambda a: a.get_time_spent_blocked_on_full_queue(
            {rank: series[: len(series) // 2] for rank, series in a.get_queue_length_time_series([1]).items()}, 1),
        "never full queue": lambda a: a.get_time_spent_blocked_on_full_queue(a.get_queue_length_time_series(), 99),
        "annotated kernels": lambda a: events_of(a, a.get_gpu_kernels_with_user_annotations(1)),
        "annotated kernels, full names": lambda a: events_of(a, a.get_gpu_kernels_with_user_annotations(1, True, False)),
        "annotated kernels, numbers": lambda a: events_of(a, a.get_gpu_kernels_with_user_annotations(1, False)),
        "stragglers": lambda a: a.get_potential_stragglers(),
        "stragglers of a step": lambda a: a.get_potential_stragglers([2], 1),
        "stragglers, 0 candidates": lambda a: a.get_potential_stragglers(num_candidates=0),
        "stragglers, 5 candidates": lambda a: failure_of(a.get_potential_stragglers, [2, 3], 5),
        "stragglers of an unknown step": lambda a: failure_of(a.get_potential_stragglers, [77]),
        "stragglers by function": lambda a: a.get_potential_stragglers(
            [1, 2], 2, False, lambda frame, symbols, n, visualize: frame.groupby("rank")["dur"].max() + n),
        "counters of CUPTI": lambda a: [
            events_of(a, frame).drop(columns=["user_annotation", "s_user_annotation"], errors="ignore")
            for frame in a.get_cupti_counter_data_with_operators([1, 0])],
        "counters, default": lambda a: counters_of(a, 2),
        "counters, queue": lambda a: counters_of(a, 0, time_series=kind.QUEUE_LENGTH, output_suffix="_queue"),
        "counters, bandwidth": lambda a: counters_of(a, 0, time_series=kind.MEMCPY_BANDWIDTH, output_suffix=""),
        "sequences without a name": lambda a: a.get_frequent_cuda_kernel_sequences("", a.t.trace_files[0]),
        "sequences without a folder": lambda a: a.get_frequent_cuda_kernel_sequences("aten::", "/nowhere/at/all"),
    }


# ---- Comparison ----


def plain(value):
    """Frames, dicts and numpy's numbers as JSON has them."""
    if isinstance(value, pandas.DataFrame):
        levels = [list(column) if isinstance(column, tuple) else column for column in value.columns]
        return {"columns": levels, "index": plain(list(value.index)), "index names": list(value.index.names),
                "rows": [plain(list(row)) for row in value.itertuples(index=False, name=None)]}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    value = value.item() if hasattr(value, "item") else value
    return "NaN" if isinstance(value, float) and value != value else value


def is_near(ours, theirs):
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and list(ours) == list(theirs) and all(is_near(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(is_near, ours, theirs))
    if isinstance(theirs, (int, float)) and isinstance(ours, (int, float)):
        return abs(ours - theirs) <= 1e-12 * max(abs(theirs), 1e-3)
    return ours == theirs


def golden_path(version):
    return os.path.join(DATA, f"{version}.json.gz")


def write_golden():
    """Writes what the installed version of HTA gives; sorts are made stable, as the order of equal times is arbitrary."""
    from hta.trace_analysis import TimeSeriesTypes, TraceAnalysis
    from hta.version import __version_tuple__

    sort = pandas.DataFrame.sort_values
    pandas.DataFrame.sort_values = lambda self, *args, **options: sort(self, *args, **{"kind": "stable", **options})
    with tempfile.TemporaryDirectory() as folder:
        analysis = TraceAnalysis(trace_files=make_traces(folder), trace_dir=folder)
        found = {name: plain(call(analysis)) for name, call in calls(TimeSeriesTypes).items()}
    os.makedirs(DATA, exist_ok=True)
    with gzip.GzipFile(golden_path("%d.%d" % __version_tuple__[:2]), "wb", mtime=0) as file:
        file.write(json.dumps(found).encode())


if __name__ == "__main__":
    sys.exit(write_golden())

import pytest  # noqa: E402

import pysutra.hta  # noqa: E402


@pytest.fixture(scope="module", params=["0.5", "0.6"])
def job(request, tmp_path_factory):
    with gzip.open(golden_path(request.param), "rt", encoding="utf-8") as file:
        golden = json.load(file)
    folder = tmp_path_factory.mktemp("job")
    make_traces(folder)
    return golden, pysutra.hta.TraceAnalysis(trace_dir=str(folder), hta_version=request.param)


@pytest.mark.parametrize("name", calls(pysutra.hta.TimeSeriesTypes))
def test_frames_equal_hta(name, job):
    golden, analysis = job
    ours = plain(calls(pysutra.hta.TimeSeriesTypes)[name](analysis))
    assert is_near(ours, golden[name]), (ours, golden[name])
