"""Tables in the memory of a CUDA device, for libraries that compute there."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Tuple

from . import _core
from ._context import of_device

#: Number of CUDA in DLPack.
_CUDA = 2


class DeviceTable:
    """Columns in the memory of a CUDA device; ``Table.to_device()`` returns one.

    The whole table is an Arrow device array (``__arrow_c_device_array__``), each column of numbers a DLPack tensor:

    >>> events = trace.events(["ts", "dur", "name"]).to_device()
    >>> cupy.from_dlpack(events["dur"]).sum()
    >>> torch.from_dlpack(events["name"])          # numbers of names: events["name"].categories has the names

    Exports are views. The memory is freed with the last of them, even if the trace was closed before.
    """

    def __init__(self, name: str, stream: Any, device: int) -> None:
        #: Name of the table.
        self.name = name
        self._thing, dictionaries = _core.device_columns(of_device(device)._thing, stream)
        #: Number of the CUDA device.
        self.device: int
        self.device, self._n_rows, fields = _core.device_fields(self._thing)
        self._columns: Dict[str, DeviceColumn] = {}
        for index, ((column, kind, n_null), categories) in enumerate(zip(fields, dictionaries)):
            self._columns[column] = DeviceColumn(self, index, column, kind, n_null, categories)

    def __arrow_c_device_array__(self, requested_schema: Any = None, **unused: Any) -> Tuple[Any, Any]:
        """Exports the table as an Arrow device array. ``requested_schema`` is ignored, as the interface allows."""
        return _core.device_array(self._thing)

    def __arrow_c_schema__(self) -> Any:
        """Exports the types of the columns."""
        return _core.device_array(self._thing)[0]

    @property
    def columns(self) -> List[str]:
        """The names of the columns."""
        return list(self._columns)

    def __getitem__(self, column: str) -> "DeviceColumn":
        return self._columns[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Returns the number of rows."""
        return self._n_rows

    def __repr__(self) -> str:
        return f"<pysutra.DeviceTable {self.name} on cuda:{self.device}: {len(self):,} rows, {', '.join(self._columns)}>"


class DeviceColumn:
    """A column of a ``DeviceTable``, exported through DLPack. Text columns are numbers of their ``categories``."""

    def __init__(self, table: DeviceTable, index: int, name: str, kind: str, n_null: int,
                 categories: Optional[List[str]]) -> None:
        self._table, self._index, self._kind = table, index, kind
        #: Name of the column.
        self.name = name
        #: Number of missing values.
        self.null_count = n_null
        #: Texts by number; None for columns of numbers.
        self.categories = categories

    def __len__(self) -> int:
        """Returns the number of rows."""
        return len(self._table)

    def __dlpack_device__(self) -> Tuple[int, int]:
        """Returns DLPack's number of CUDA, and the number of the device."""
        return _CUDA, self._table.device

    def __dlpack__(self, *, stream: Any = None, **unused: Any) -> Any:
        """Exports the values as a tensor. ``stream`` is not needed, since the copies to the device have ended.

        Raises:
            BufferError: values are missing, or the column has no numbers (bool, lists, texts that are no categories).
        """
        if self.null_count:
            raise BufferError(f"column {self.name!r} has {self.null_count} missing values: use .values, whose missing values "
                              "are undefined, and .valid_bits")
        return self._export(False)

    def _export(self, valid_rows: bool) -> Any:
        capsule = _core.dlpack(self._table._thing, self._index, valid_rows)
        if capsule is None:
            raise BufferError(f"column {self.name!r} of Arrow type {self._kind!r} is no DLPack tensor: export the table as an "
                              "Arrow device array")
        return capsule

    @property
    def values(self) -> "DeviceTensor":
        """The values as a tensor, even if some are missing; missing values are undefined."""
        return DeviceTensor(self, False)

    @property
    def valid_bits(self) -> Optional["DeviceTensor"]:
        """A tensor of uint8 with a bit for each row, lowest first: 1 if its value is not missing. None: all are 1."""
        return DeviceTensor(self, True) if self.null_count else None

    def __repr__(self) -> str:
        return f"<pysutra.DeviceColumn {self.name} on cuda:{self._table.device}: {len(self):,} rows>"


class DeviceTensor:
    """A buffer of a column, exported through DLPack."""

    def __init__(self, column: DeviceColumn, valid_rows: bool) -> None:
        self._column, self._valid_rows = column, valid_rows

    def __dlpack_device__(self) -> Tuple[int, int]:
        """Returns DLPack's number of CUDA, and the number of the device."""
        return self._column.__dlpack_device__()

    def __dlpack__(self, *, stream: Any = None, **unused: Any) -> Any:
        """Exports the buffer as a tensor."""
        return self._column._export(self._valid_rows)
