#!/usr/bin/env python3
"""hta_reference.py OUT TRACE... - the tables of Holistic Trace Analysis for bench/hta, by that library itself.

Needs HolisticTraceAnalysis (version: "Reference programs" in README.md). The traces are ranks 0, 1, ... With STABLE=1
pandas sorts stably, as `sutra analyze hta` does; then all tables are equal.
"""
import logging
import os
import sys
import warnings

import pandas as pd

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

if os.environ.get("STABLE"):
    sort_values = pd.DataFrame.sort_values

    def stable(self, *args, **options):
        options.setdefault("kind", "stable")
        return sort_values(self, *args, **options)

    pd.DataFrame.sort_values = stable

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def main():
    folder, files = sys.argv[1], [os.path.abspath(path) for path in sys.argv[2:]]
    ranks = list(range(len(files)))
    os.makedirs(folder, exist_ok=True)

    def save(name, table, index=False, **more):
        if table is not None:
            table.to_csv(f"{folder}/{name}.csv", index=index, **more)

    traces = TraceAnalysis(trace_files=dict(zip(ranks, files)), trace_dir=os.path.dirname(files[0]))
    save("temporal_breakdown", traces.get_temporal_breakdown(visualize=False))
    for memory, suffix in ((False, ""), (True, "_mem")):
        types, kernels = traces.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=memory)
        save(f"gpu_kernel_breakdown{suffix}.types", types)
        save(f"gpu_kernel_breakdown{suffix}.kernels", kernels)
    rows, stats = traces.get_idle_time_breakdown(ranks=ranks, visualize=False, show_idle_interval_stats=True)
    save("idle_time_breakdown.rows", rows)
    save("idle_time_breakdown.stats", stats, index=True)
    save("comm_comp_overlap", traces.get_comm_comp_overlap(visualize=False))
    for rank, table in traces.get_cuda_kernel_launch_stats(ranks=ranks, visualize=False).items():
        save(f"cuda_kernel_launch_stats.rank{rank}", table)
    for rank, table in traces.get_queue_length_time_series(ranks=ranks).items():
        save(f"queue_length_time_series.rank{rank}", table, index=True, index_label="index")
    save("queue_length_summary", traces.get_queue_length_summary(ranks=ranks), index=True)
    save("memory_bw_summary", traces.get_memory_bw_summary(ranks=ranks), index=True)


if __name__ == "__main__":
    main()
