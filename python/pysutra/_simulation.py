"""Simulation of a job's .et files, and what-if questions."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _core
from ._context import Closing, Context, Progress, path_bytes, path_list, shared
from ._table import Table
from ._traces import Path, _columns_of, counts_html
from .analyze import Result

TABLES = ("ranks", "waits", "collectives", "links", "path", "names", "deadlocked")
GPUS = {None: -1, "one": 0, "streams": 1}


class Pipeline(Result):
    """Pipeline bubbles and expert balance of a simulated job. Returned by ``Simulation.pipeline``. Tables without data are
    absent: pipeline_bubbles (per rank and step), pipeline_passes (forward and backward passes), expert_balance (per layer
    and rank)."""

    _module = "pysutra"
    _page = "pipeline"

    def _write_page(self, folder: bytes) -> None:
        self._run("pipeline_page", (self._thing,), (folder,))

    @property
    def report(self) -> Dict[str, float]:
        """n_stages, n_micro_batches, bubble_percent, ideal_percent, experts_lost_us; NaN: no pipeline, or no experts."""
        return _core.report(self._thing)


class Simulation(Closing):
    """Simulated times of a job. Returned by ``simulate()``."""

    @property
    def report(self) -> Dict[str, int]:
        """time_ns (end time of the last node), n_ranks, n_deadlocked (nodes that can never run); with another number of replicas
        low_ns and high_ns, the interval of the time, and assumes_ring (the interval assumes ring collectives across hosts);
        with another number of layers n_recorded_layers."""
        return _core.report(self._thing)

    @property
    def time_us(self) -> float:
        """End time of the last node, in microseconds."""
        return self.report["time_ns"] / 1000

    @property
    def interval(self) -> Optional[Tuple[float, float]]:
        """Interval of the time in microseconds, for another number of replicas; else None."""
        report = self.report
        return (report["low_ns"] / 1000, report["high_ns"] / 1000) if "low_ns" in report else None

    @property
    def pipeline(self) -> Pipeline:
        """Pipeline bubbles of each rank and step, and the balance of experts."""
        return Pipeline(self._context, self._context.run("pipeline", (self._thing,)))

    @property
    def tables(self) -> Dict[str, Table]:
        """Tables, times in nanoseconds. ranks: time breakdown per rank; waits: wait time per pair of ranks; collectives:
        collectives of several ranks; links: network rates estimated from transfers; path: the critical path; names: total
        time per node name; deadlocked: nodes that never ran, with the reason."""
        return {name: _columns_of(self, name, None, (), number) for number, name in enumerate(TABLES)}

    def write_trace(self, path: Path, progress: Optional[Progress] = None) -> int:
        """Writes the simulated times as a trace for Perfetto. Returns the uncompressed bytes."""
        return self._write("simulate_trace", (path_bytes(path),), (), progress)

    def _brief(self) -> str:
        return f"{self.time_us:,.3f} us"

    def _repr_html_(self) -> str:
        return counts_html("simulation", self.report) + self.tables["ranks"]._repr_html_()


def _ranks_of(paths: Sequence[bytes]) -> List[int]:
    """Ranks from the file names (job.3.et) if all names contain distinct ranks, else from the order of the paths."""
    told = [re.search(rb"\.(\d+)\.et", os.path.basename(path)) for path in paths]
    ranks = [int(match.group(1)) for match in told if match]
    return ranks if len(set(ranks)) == len(paths) else list(range(len(paths)))


def simulate(paths: Union[Path, Sequence[Path]], scales: Sequence[str] = (), network: Optional[str] = None,
             bandwidth: float = 1, straggler: bool = True, launch_latency: bool = True, alone: bool = False,
             gpu: Optional[str] = None, threads: bool = False, data_parallel: Optional[int] = None,
             micro_batches: Optional[int] = None, layers: Optional[int] = None, ranks_per_host: Optional[int] = None,
             hop_us: Optional[float] = None, peaks: Optional[Path] = None, context: Optional[Context] = None,
             progress: Optional[Progress] = None) -> Simulation:
    """Simulates the .et files of a job's ranks, with optional what-if changes.

    Args:
        paths: .et files; their names may contain the rank (job.3.et).
        scales: what-if changes: "gpu:0.5" halves the duration of GPU nodes, "rank=1:name=~gemm:0" removes nodes of this
            name on one rank; see ``sutra help simulate``.
        network: latency and bandwidth of an assumed network: "alpha=12us,beta=50GB/s".
        bandwidth: factor on the measured network bandwidth.
        straggler: False limits the compute time of each rank to the median rank.
        launch_latency: False removes the launch latency of kernels.
        alone: simulate ranks independently, without waiting at collectives.
        gpu: "one" runs one kernel at a time per GPU, "streams" one per stream; None follows the files.
        threads: simulate one CPU per thread of a rank instead of one per rank.
        data_parallel: number of data-parallel replicas; the batch per rank stays. See ``Simulation.interval``.
        micro_batches: number of micro-batches per step and pipeline.
        layers: number of repeated blocks of layers in the whole pipeline, a multiple of its stages.
        ranks_per_host: consecutive ranks that share a host (None: as recorded in the files, else 8).
        hop_us: time of a hop of a collective in microseconds, if the recorded collectives do not determine it.
        peaks: file with peak rates of the GPU, for kernels without duration if no file records matched collectives.

    >>> base, fast = pysutra.simulate(files), pysutra.simulate(files, ["gpu:0.5"])
    >>> fast.time_us / base.time_us
    """
    if gpu not in GPUS:
        raise ValueError(f"gpu must be \"one\", \"streams\" or None, not {gpu!r}")
    for name, value in (("data_parallel", data_parallel), ("micro_batches", micro_batches), ("layers", layers),
                        ("ranks_per_host", ranks_per_host)):
        if value is not None and not 1 <= value < 2**32:
            raise ValueError(f"{name} must be a positive number, not {value!r}")
    if hop_us is not None and not 0 <= hop_us <= 1e9:
        raise ValueError(f"hop_us must be a number of microseconds, not {hop_us!r}")
    context = context or shared()
    files = path_list(paths)
    numbers = (GPUS[gpu], threads, alone, not launch_latency, not straggler, bandwidth, len(scales), layers or 0,
               micro_batches or 0, data_parallel or 0, ranks_per_host or 0, -1 if hop_us is None else hop_us,
               *_ranks_of(files))
    texts = (network, peaks and path_bytes(peaks), *scales, *files)
    return Simulation(context, context.run("simulate", (), texts, numbers, progress))
