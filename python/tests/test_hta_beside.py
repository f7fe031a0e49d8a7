"""pysutra.hta beside Holistic Trace Analysis itself, method by method, on every device trace that there is; skipped where that is not
installed.

    pip install HolisticTraceAnalysis==0.5.0; PYSUTRA_CASES=FOLDER:FOLDER pytest python/tests/test_hta_beside.py

Its sorts are made stable first, for the order of equal times is any with pandas' own. Not compared are the widths of integers, the
index of series of bandwidth, and columns of kernels with annotations that tell of neither times nor names.
"""

import logging
import os

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

from hta.trace_analysis import TraceAnalysis as Theirs  # noqa: E402

from pysutra.hta import TraceAnalysis as Ours  # noqa: E402



def told(frame):
    """What kernels with annotations tell of times and names."""
    wanted = ["index", "ts", "dur", "end", "pid", "tid", "stream", "correlation", "index_correlation", "s_cat", "s_name",
              "s_user_annotation"]
    return None if frame is None else frame[wanted]


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
    "gpu_kernels_with_user_annotations": lambda a: told(a.get_gpu_kernels_with_user_annotations(0, shortern_names=False)),
    "aten_op_kernels_and_delay": lambda a: a.get_aten_op_kernels_and_delay(),
    "frequent_cuda_kernel_sequences": lambda a: a.get_frequent_cuda_kernel_sequences("aten::", OUTPUT[0]),
    "potential_stragglers": lambda a: a.get_potential_stragglers(),
    "time_spent_blocked_on_full_queue": lambda a: a.get_time_spent_blocked_on_full_queue(
        a.get_queue_length_time_series(), max_queue_length=10),
}


OUTPUT = [""]  # a folder for what HTA writes


def assert_equal(theirs, ours):
    assert type(theirs) is type(ours)
    if isinstance(theirs, tuple):
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
    return theirs, Ours(trace_files={0: request.param})


@pytest.mark.parametrize("name", CALLS)
def test_results_equal_hta(name, both, tmp_path):
    OUTPUT[0] = str(tmp_path)
    try:
        theirs = CALLS[name](both[0])
    except Exception as error:
        pytest.skip(f"HTA fails: {type(error).__name__}: {str(error)[:80]}")
    assert_equal(theirs, CALLS[name](both[1]))
