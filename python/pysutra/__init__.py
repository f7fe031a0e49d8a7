"""Link and analyze PyTorch GPU traces; every result is a table for pandas, polars, pyarrow or DuckDB.

>>> import pysutra
>>> with pysutra.DeviceTrace("device.json") as trace:
...     events = trace.to_pandas()
>>> with pysutra.link("host.json", "device.json") as linked:
...     linked.write("linked.json")
>>> pysutra.analyze.hta(["rank0.json", "rank1.json"]).tables["temporal_breakdown"].to_pandas()

libsutra releases the interpreter lock while it computes, and Ctrl-C cancels the computation. Errors raise ``SutraError``;
skipped or repaired input issues a ``SutraWarning``.
"""

from __future__ import annotations

import os

from . import _core, analyze
from ._context import Context
from ._device import DeviceColumn, DeviceTable
from ._errors import SutraError, SutraFileNotFoundError, SutraOSError, SutraPermissionError, SutraWarning
from ._program import program
from ._ranks import map_ranks
from ._rewrites import Cut, Merged, Repaired, cut, merge, repair
from ._simulation import Pipeline, Simulation, simulate
from ._table import Table
from ._traces import (CriticalPath, Correlation, Defect, DeviceTrace, HostTrace, Linked, Match, Tree, Unmatched, link,
                      trace_kind)
from .analyze import diff, hang

__version__ = _core.version()

__all__ = [
    "Context", "CriticalPath", "Correlation", "Cut", "Defect", "DeviceColumn", "DeviceTable", "DeviceTrace", "HostTrace", "Linked", "Match", "Merged", "Pipeline", "Repaired",
    "Simulation", "SutraError", "SutraFileNotFoundError", "SutraOSError", "SutraPermissionError", "SutraWarning", "Table", "Tree", "Unmatched", "analyze", "cut", "diff", "hang", "include_dir", "link", "map_ranks", "merge",
    "program", "repair", "simulate", "trace_kind",
]


def include_dir() -> str:
    """Returns the directory of libsutra's headers, for C programs: ``#include <sutra/sutra.h>``."""
    return os.path.join(os.path.dirname(__file__), "include")
