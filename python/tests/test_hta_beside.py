"""pysutra.hta compared with Holistic Trace Analysis, method by method, on every device trace; skipped if HTA is not installed.

    pip install HolisticTraceAnalysis==0.5.0; PYSUTRA_CASES=FOLDER:FOLDER pytest python/tests/test_hta_beside.py

Its sorts are made stable first: the order of equal times is arbitrary with pandas' own. Not compared are the widths of integers, the
index of series of bandwidth, numbers of symbols, and the columns that HTA's call graph adds to tables of events.
"""

import gzip
import json
import logging
import os
import shutil

import pandas
import pytest
from conftest import KINDS

pytest.importorskip("hta", reason="HolisticTraceAnalysis is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")

_sort_values = pandas.DataFrame.sort_values


def _stable(sort):
    def sorted_stably(self, *args, **options):
        options.setdefault("kind", "stable")
        return sort(self, *args, **options)

    return sorted_stably


pandas.DataFrame.sort_values = _stable(_sort_values)

from hta.trace_analysis import TimeSeriesTypes  # noqa: E402
from hta.trace_analysis import TraceAnalysis as Theirs  # noqa: E402
from hta.version import __version_tuple__  # noqa: E402

from pysutra.hta import TraceAnalysis as Ours  # noqa: E402



def with_names(analysis, frame):
    """A table of events without numbers of symbols and without columns of the call graph."""
    if frame is None:
        return None
    if "cuda_profiler_range" in set(frame["cat"]):
        frame = frame.drop(columns=["s_user_annotation"], errors="ignore")  # added by earlier calls of HTA
    frame = frame.drop(columns=["depth", "height", "parent", "num_kernels", "kernel_dur_sum", "kernel_span", "first_kernel_start",
                                "last_kernel_end", "user_annotation", "end"], errors="ignore")
    for column in ("cat", "name"):
        if frame[column].dtype.kind == "i":
            frame[column] = frame[column].map(dict(enumerate(analysis.t.symbol_table.get_sym_table())))
    return frame[sorted(frame.columns)].astype({"pid": object, "tid": object})


def with_counters(analysis, folder, **options):
    """The counters that generate_trace_with_counters() adds to a copy of the trace."""
    path = os.path.join(folder, "trace.json.gz")
    shutil.copy(analysis.trace_files[0] if isinstance(analysis, Ours) else analysis.t.trace_files[0], path)
    files, analysis.t.trace_files[0] = analysis.t.trace_files[0], path
    try:
        analysis.generate_trace_with_counters(**options)
    finally:
        analysis.t.trace_files[0] = files
    written = os.path.join(folder, "trace" + options.get("output_suffix", "_with_counters") + ".json.gz")
    if not os.path.exists(written):
        return None
    with gzip.open(written, "rt", encoding="utf-8") as file:
        events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "C"]
    os.remove(written)
    return [(event["name"], event.get("id"), event["ts"], *event["args"]) for event in events]


CALLS = {
    "temporal_breakdown": lambda a: a.get_temporal_breakdown(visualize=False),
    "comm_comp_overlap": lambda a: a.get_comm_comp_overlap(visualize=False),
    "profiler_steps": lambda a: a.get_profiler_steps(),
    "gpu_kernel_breakdown": lambda a: a.get_gpu_kernel_breakdown(visualize=False),
    "gpu_kernel_breakdown, 3 without memory": lambda a: a.get_gpu_kernel_breakdown(visualize=False, num_kernels=3,
                                                                                  include_memory_kernels=False),
    "idle_time_breakdown": lambda a: a.get_idle_time_breakdown(visualize=False),
    "idle_time_breakdown, statistics": lambda a: a.get_idle_time_breakdown(visualize=False, show_idle_interval_stats=True,
                                                                           consecutive_kernel_delay=10),
    "cuda_kernel_launch_stats": lambda a: a.get_cuda_kernel_launch_stats(visualize=False),
    "queue_length_time_series": lambda a: a.get_queue_length_time_series(),
    "queue_length_summary": lambda a: a.get_queue_length_summary(),
    "memory_bw_time_series": lambda a: {rank: frame.reset_index(drop=True)
                                        for rank, frame in a.get_memory_bw_time_series().items()},
    "memory_bw_summary": lambda a: a.get_memory_bw_summary(),
    "gpu_user_annotation_breakdown": lambda a: a.get_gpu_user_annotation_breakdown(visualize=False),
    "user_annotation_breakdown": lambda a: a.get_gpu_user_annotation_breakdown(use_gpu_annotation=False, visualize=False),
    "annotations, 3": lambda a: a.get_gpu_user_annotation_breakdown(use_gpu_annotation=False, visualize=False, num_kernels=3),
    "annotations, 2 and a quantile": lambda a: a.get_gpu_user_annotation_breakdown(
        use_gpu_annotation=False, visualize=False, num_kernels=2, duration_ratio=0.3),
    "annotations, allowed": lambda a: a.get_gpu_user_annotation_breakdown(
        use_gpu_annotation=False, visualize=False, num_kernels=1, allowlist_patterns=["Step", "for"]),
    "annotations, all allowed": lambda a: a.get_gpu_user_annotation_breakdown(
        use_gpu_annotation=False, visualize=False, num_kernels=1, allowlist_patterns=[]),
    "gpu_kernel_breakdown, a quantile": lambda a: a.get_gpu_kernel_breakdown(visualize=False, num_kernels=4, duration_ratio=0.25),
    "gpu_kernel_breakdown, quantile 0": lambda a: a.get_gpu_kernel_breakdown(visualize=False, num_kernels=4, duration_ratio=0),
    "cuda_kernel_launch_stats, no memory": lambda a: a.get_cuda_kernel_launch_stats(visualize=False, include_memory_events=False),
    "queue_length_summary_from_time_series": lambda a: a.get_queue_length_summary_from_time_series(
        a.get_queue_length_time_series()),
    "gpu_kernels_with_user_annotations": lambda a: with_names(a, a.get_gpu_kernels_with_user_annotations(0)),
    "gpu_kernels_with_user_annotations, full names": lambda a: with_names(
        a, a.get_gpu_kernels_with_user_annotations(0, True, False)),
    "gpu_kernels_with_user_annotations, numbers": lambda a: with_names(
        a, a.get_gpu_kernels_with_user_annotations(0, expand_names=False)),
    "cupti_counter_data_with_operators": lambda a: [with_names(a, frame) for frame in a.get_cupti_counter_data_with_operators()],
    "trace_duration": lambda a: int(a.t.get_trace_duration(0)),
    "iterations": lambda a: a.t.get_iterations(0),
    "trace_with_counters": lambda a: with_counters(a, OUTPUT[0]),
    "trace_with_counters, queues": lambda a: with_counters(a, OUTPUT[0], time_series=TimeSeriesTypes.QUEUE_LENGTH,
                                                           output_suffix="_queues"),
    "aten_op_kernels_and_delay": lambda a: a.get_aten_op_kernels_and_delay(),
    "frequent_cuda_kernel_sequences": lambda a: a.get_frequent_cuda_kernel_sequences("aten::", OUTPUT[0]),
    "potential_stragglers": lambda a: a.get_potential_stragglers(),
    "potential_stragglers, first step": lambda a: a.get_potential_stragglers(a.get_profiler_steps()[:1], 1),
    "potential_stragglers, no such step": lambda a: a.get_potential_stragglers([-7]),
    "time_spent_blocked_on_full_queue": lambda a: a.get_time_spent_blocked_on_full_queue(
        a.get_queue_length_time_series(), max_queue_length=10),
}


CALLS_FIRST = {"events": lambda a: with_names(a, a.t.get_trace(0))}  # before other methods of HTA add columns
CALLS = {**CALLS_FIRST, **CALLS}
OUTPUT = [""]  # a folder for what HTA writes


def assert_equal(theirs, ours):
    assert type(theirs) is type(ours)
    if isinstance(theirs, tuple):
        for left, right in zip(theirs, ours):
            assert_equal(left, right)
    elif isinstance(theirs, list) and theirs and isinstance(theirs[0], pandas.DataFrame):
        assert len(theirs) == len(ours)
        for left, right in zip(theirs, ours):
            assert_equal(left, right)
    elif isinstance(theirs, dict):
        assert list(theirs) == list(ours)
        for key in theirs:
            assert_equal(theirs[key], ours[key])
    elif isinstance(theirs, pandas.DataFrame):
        pandas.testing.assert_frame_equal(theirs, ours, rtol=1e-12, check_dtype=False, check_index_type=False,
                                          check_column_type=False)
    else:
        assert theirs == ours


@pytest.fixture(scope="module", params=[path for path, kind in KINDS.items() if kind == "device"],
                ids=lambda path: os.path.basename(os.path.dirname(path)))
def both(request):
    logging.disable(logging.CRITICAL)
    try:
        theirs = Theirs(trace_files={0: request.param}, trace_dir=os.path.dirname(request.param))
    except Exception as error:  # of any kind: it is no trace to HTA
        pytest.skip(f"HTA does not read it: {type(error).__name__}: {str(error)[:80]}")
    return theirs, Ours(trace_files={0: request.param}, hta_version="%d.%d" % __version_tuple__[:2])


@pytest.mark.parametrize("name", CALLS)
def test_results_equal_hta(name, both, tmp_path):
    OUTPUT[0] = str(tmp_path)
    try:
        theirs = CALLS[name](both[0])
    except (ValueError, IndexError) as error:
        if not name.startswith("potential_stragglers"):
            pytest.skip(f"HTA fails: {type(error).__name__}: {str(error)[:80]}")
        with pytest.raises(type(error)):
            CALLS[name](both[1])
        return
    except Exception as error:
        pytest.skip(f"HTA fails: {type(error).__name__}: {str(error)[:80]}")
    assert_equal(theirs, CALLS[name](both[1]))
