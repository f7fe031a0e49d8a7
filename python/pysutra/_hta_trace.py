"""Events as HTA's ``TraceAnalysis.t`` has them: one table per rank, with names and categories as symbol numbers."""

from __future__ import annotations

import gzip
import json
import logging
import os
import re
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence

from ._traces import DeviceTrace

logger = logging.getLogger("pysutra.hta")

RANK = re.compile(rb'"rank":\s+(\d+)')


def rank_of_file(path: str) -> Optional[int]:
    """Returns the first ``"rank": N`` of a file, or None."""
    opened = gzip.open if path.endswith("gz") else open
    with opened(path, "rb") as file:
        for line in file:
            found = RANK.search(line)
            if found:
                return int(found.group(1))
    return None


def files_by_rank(paths: Iterable[str]) -> Dict[int, str]:
    """Returns traces by recorded rank. As in HTA, a file without a rank is rank 0, and the last file of a rank is used."""
    by_rank: Dict[int, str] = {}
    for path in paths:
        rank = rank_of_file(path)
        if rank is None:
            logger.warning("%s records no rank: used as rank 0; to set the rank, add \"distributedInfo\": {\"rank\": N}", path)
        if (rank or 0) in by_rank:
            logger.warning("%s and %s are both rank %d: the first file is skipped", by_rank[rank or 0], path, rank or 0)
        by_rank[rank or 0] = path
    return by_rank


def files_of_folder(folder: str) -> Dict[int, str]:
    """Returns the traces of a directory by rank, in the order of their names."""
    if not os.path.isdir(folder):
        logger.warning("%s is not a directory: no traces", folder)
        return {}
    names = sorted(name for name in os.listdir(folder) if name.endswith((".gz", ".json")))
    if not names:
        logger.warning("%s contains no trace (*.json, *.gz)", folder)
    return files_by_rank(os.path.join(folder, name) for name in names)


class Argument(NamedTuple):
    """A member of "args" as a column, with the default for events without it."""

    column: str
    name: str
    default: Any


#: The columns that HTA 0.5 makes of "args", and those that 0.6 adds.
ARGUMENTS = (
    Argument("bytes", "bytes", -1),
    Argument("memory_bw_gbps", "memory bandwidth (GB/s)", 0.0),
    Argument("wait_on_stream", "wait_on_stream", -1),
    Argument("wait_on_cuda_event_record_corr_id", "wait_on_cuda_event_record_corr_id", -1),
    Argument("input_dims", "Input Dims", "-1"),
    Argument("input_type", "Input type", "-1"),
    Argument("input_strides", "Input Strides", "-1"),
    Argument("external_id", "External id", -1),
)
ARGUMENTS_0_6 = ARGUMENTS + (
    Argument("python_id", "Python id", -1),
    Argument("python_parent_id", "Python parent id", -1),
    Argument("collective_name", "Collective name", ""),
    Argument("in_msg_nelems", "In msg nelems", 0),
    Argument("out_msg_nelems", "Out msg nelems", 0),
    Argument("msg_dtype", "dtype", ""),
    Argument("group_size", "Group size", 0),
    Argument("process_rank", "Rank", -1),
    Argument("in_split_size", "In split size", "[]"),
    Argument("out_split_size", "Out split size", "[]"),
)


def argument_columns(trace: DeviceTrace, arguments: Sequence[Argument], rows: Any) -> Dict[str, Any]:
    """Returns columns of "args" for these rows of the file."""
    table = trace.events(columns=[], args=[argument.name for argument in arguments]).to_arrow()
    columns = {}
    for argument, field, column in zip(arguments, table.schema, table.columns):
        values = column.to_pandas().reindex(rows).reset_index(drop=True)
        if values.dtype == "category":
            values = values.astype(object)
        missing = values.isna()
        if (field.metadata or {}).get(b"encoding") == b"json":
            values = values.astype(object).map(json.loads, na_action="ignore")
        if missing.any():
            values = values.astype(object).where(~missing, argument.default).infer_objects()
        if isinstance(argument.default, int) and values.dtype.kind == "f" and (values % 1 == 0).all():
            values = values.astype("int64")
        columns[argument.column] = values
    return columns


class SymbolTable:
    """Names and categories by number; numbers are in the order of first use."""

    def __init__(self) -> None:
        self.sym_table: List[str] = []
        self.sym_index: Dict[str, int] = {}

    def add_symbols(self, symbols: Iterable[str]) -> None:
        """Assigns the next number to each new symbol."""
        for symbol in symbols:
            if symbol not in self.sym_index:
                self.sym_index[symbol] = len(self.sym_table)
                self.sym_table.append(symbol)

    def get_sym_id_map(self) -> Dict[str, int]:
        """Returns numbers by symbol."""
        return self.sym_index

    def get_sym_table(self) -> List[str]:
        """Returns symbols by number."""
        return self.sym_table

    def find_matched_symbols(self, patterns: Sequence[str]) -> List[str]:
        """Returns the symbols that contain one of the patterns, or all symbols without patterns."""
        return [symbol for symbol in self.sym_table if not patterns or any(text in symbol for text in patterns)]

    def add_symbols_to_trace_df(self, trace_df: Any, col: str) -> None:
        """Replaces the numbers of a column by symbols."""
        trace_df[col] = self.names(trace_df[col])

    def names(self, numbers: Any) -> Any:
        """Maps a column of numbers to symbols, or "" for a number without a symbol."""
        return numbers.map(dict(enumerate(self.sym_table))).fillna("")


class Trace:
    """The events of all ranks; a rank is read when its events are requested.

    Columns equal the columns of HTA; integers are int64, and ``end`` is on the clock of the file.
    """

    is_parsed = True

    def __init__(self, trace_files: Dict[int, str], read: Callable[[int], Any]) -> None:
        self.trace_files = trace_files
        self._read = read
        self._traces: Dict[int, Any] = {}
        self._symbols = SymbolTable()

    def get_ranks(self) -> List[int]:
        """The ranks, ascending."""
        return sorted(self.trace_files)

    def get_trace(self, rank: int) -> Any:
        """The events of a rank as a ``DataFrame``, always the same object."""
        if rank not in self.trace_files:
            raise ValueError(f"no trace of rank {rank}; available ranks: {self.get_ranks()}")
        if rank not in self._traces:
            frame = self._read(rank)
            self._symbols.add_symbols(frame["cat"].unique())
            self._symbols.add_symbols(frame["name"].unique())
            for column in ("cat", "name"):
                frame[column] = frame[column].map(self._symbols.sym_index)
            self._traces[rank] = frame
        return self._traces[rank]

    def get_all_traces(self) -> Dict[int, Any]:
        """The events of all ranks, by rank."""
        return {rank: self.get_trace(rank) for rank in self.get_ranks()}

    @property
    def traces(self) -> Dict[int, Any]:
        """The events of all ranks, by rank."""
        return self.get_all_traces()

    @property
    def symbol_table(self) -> SymbolTable:
        """The symbols of all ranks."""
        self.get_all_traces()
        return self._symbols

    def _first(self, rank: Optional[int]) -> int:
        return min(self.trace_files, default=-1) if rank is None else rank

    def get_iterations(self, rank: Optional[int] = None) -> List[int]:
        """The profiler steps that events are in."""
        rank = self._first(rank)
        steps = self.get_trace(rank)["iteration"].unique() if rank in self.trace_files else []
        return sorted(int(step) for step in steps if step >= 0)

    def get_trace_duration(self, rank: Optional[int] = None) -> Any:
        """Microseconds from the first start of an event to the last."""
        starts = self.get_trace(self._first(rank))["ts"]
        return starts.max() - starts.min()

    def get_raw_trace_for_one_rank(self, rank: int = 0) -> Dict[str, Any]:
        """The file of a rank, parsed."""
        if rank not in self.trace_files:
            raise ValueError(f"no trace of rank {rank}; available ranks: {self.get_ranks()}")
        path = self.trace_files[rank]
        opened = gzip.open if path.endswith("gz") else open
        with opened(path, "rt", encoding="utf-8") as file:
            return dict(json.load(file))

    def decode_symbol_ids(self, use_shorten_name: bool = False) -> None:
        """Adds the columns s_name and s_cat."""
        if use_shorten_name:
            raise NotImplementedError("decode_symbol_ids() with short names is not implemented: "
                                      "use get_gpu_kernels_with_user_annotations()")
        for frame in self.get_all_traces().values():
            for column in ("name", "cat"):
                frame[f"s_{column}"] = self._symbols.names(frame[column])
