"""The files of a job for ASTRA-sim, run in time; and what if."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Optional, Sequence, Union

from . import _core
from ._context import Closing, Context, Progress, path_bytes, path_list, shared
from ._table import Table
from ._traces import Path, _columns_of, counts_html

TABLES = ("ranks", "waits", "meetings", "links", "path", "names", "stuck")
GPUS = {None: -1, "one": 0, "streams": 1}


class Simulation(Closing):
    """Simulated times of a job. Made by ``simulate()``."""

    @property
    def report(self) -> Dict[str, int]:
        """time_ns (when the last node of the job ended), n_ranks, n_stuck (nodes that can never run)."""
        return _core.report(self._thing)

    @property
    def time_us(self) -> float:
        """When the last node of the job ended."""
        return self.report["time_ns"] / 1000

    @property
    def tables(self) -> Dict[str, Table]:
        """Times in nanoseconds. ranks: what each did; waits: who waited for whom; meetings: collectives of several ranks;
        links: what the transfers tell of the network; path: the critical path; names: by the time of their nodes; stuck:
        nodes that never ran, and why."""
        return {name: _columns_of(self, name, None, (), number) for number, name in enumerate(TABLES)}

    def write_trace(self, path: Path, progress: Optional[Progress] = None) -> int:
        """Writes the simulated times as a trace for Perfetto. Returns its bytes before compression."""
        return self._write("simulate_trace", (path_bytes(path),), (), progress)

    def __repr__(self) -> str:
        return "<pysutra.Simulation, closed>" if self.closed else f"<pysutra.Simulation: {self.time_us:,.3f} us>"

    def _repr_html_(self) -> str:
        return counts_html("simulation", self.report) + self.tables["ranks"]._repr_html_()


def _ranks_of(paths: Sequence[bytes]) -> List[int]:
    """By their names, as in job.3.et, if all of these tell one, and each another; else by their order."""
    told = [re.search(rb"\.(\d+)\.et", os.path.basename(path)) for path in paths]
    ranks = [int(match.group(1)) for match in told if match]
    return ranks if len(set(ranks)) == len(paths) else list(range(len(paths)))


def simulate(paths: Union[Path, Sequence[Path]], scales: Sequence[str] = (), network: Optional[str] = None,
             bandwidth: float = 1, straggler: bool = True, launch_latency: bool = True, alone: bool = False,
             gpu: Optional[str] = None, threads: bool = False, context: Optional[Context] = None,
             progress: Optional[Progress] = None) -> Simulation:
    """Runs the .et files of a job's ranks together, and says what if.

    Args:
        paths: of the files, whose names may tell their ranks (job.3.et).
        scales: changes: "gpu:0.5" halves the time of what GPUs do, "rank=1:name=~gemm:0" removes what is called so on one
            rank; see ``sutra help simulate``.
        network: a network that is told: "alpha=12us,beta=50GB/s".
        bandwidth: the network's, times as much as it was.
        straggler: False: no rank computes more slowly than the median rank.
        launch_latency: False: kernels begin as soon as they can.
        alone: ranks do not meet in their collectives.
        gpu: "one": a GPU computes one thing at a time, "streams": one a stream; None: as the files were made for.
        threads: a processor for each thread of a rank instead of one for all.

    >>> base, fast = pysutra.simulate(files), pysutra.simulate(files, ["gpu:0.5"])
    >>> fast.time_us / base.time_us
    """
    if gpu not in GPUS:
        raise ValueError(f"gpu is \"one\", \"streams\" or None, not {gpu!r}")
    context = context or shared()
    files = path_list(paths)
    numbers = (GPUS[gpu], threads, alone, not launch_latency, not straggler, bandwidth, len(scales), *_ranks_of(files))
    return Simulation(context, context.run("simulate", (), (network, *scales, *files), numbers, progress))
