"""Tables: columns that other libraries import without a copy."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from . import _core

if TYPE_CHECKING:
    from ._device import DeviceTable

#: Rows of a page in a notebook.
PAGE_ROWS = 20


class Table:
    """Columns of libsutra, exported by Arrow's PyCapsule interface (``__arrow_c_stream__``).

    >>> pyarrow.table(table)
    >>> polars.DataFrame(table)
    >>> pandas.DataFrame.from_arrow(table)     # pandas 3; table.to_pandas() with any
    >>> duckdb.sql("select * from table")      # after: table = pyarrow.table(table)

    ``to_dict()`` and the display in notebooks need none of these libraries. Numbers are views of libsutra's memory, which is
    freed with the last object that uses it, even if the trace was closed before.
    """

    def __init__(self, name: str, stream: Callable[[], Any]) -> None:
        #: Name of the table.
        self.name = name
        self._stream = stream
        self._n_rows: Optional[int] = None

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Exports the columns as a stream of one batch. ``requested_schema`` is ignored, as the interface allows."""
        return self._stream()

    def __arrow_c_schema__(self) -> Any:
        """Exports the types of the columns."""
        return _core.schema(self._stream())

    def _values(self, begin: int, end: int) -> Dict[str, List[Any]]:
        self._n_rows, columns = _core.values(self._stream(), begin, end)
        return columns

    def __len__(self) -> int:
        """Returns the number of rows."""
        if self._n_rows is None:
            self._values(0, 0)
        return self._n_rows or 0

    @property
    def columns(self) -> List[str]:
        """The names of the columns."""
        return list(self._values(0, 0))

    def to_dict(self, begin: int = 0, end: Optional[int] = None) -> Dict[str, List[Any]]:
        """Rows ``begin`` to ``end`` as lists by column; values are int, float, str, bool, list or None."""
        return self._values(begin, 1 << 62 if end is None else end)

    def to_arrow(self) -> Any:
        """Converts to a ``pyarrow.Table``."""
        import pyarrow

        return pyarrow.RecordBatchReader._import_from_c_capsule(self.__arrow_c_stream__()).read_all()

    def to_pandas(self, exact: bool = False, **options: Any) -> Any:
        """Converts to a ``pandas.DataFrame`` through pyarrow; text columns become categories.

        Args:
            exact: keep Arrow's types (``pandas.ArrowDtype``) without a copy. Otherwise types are numpy's:
                integer columns with missing values become float64, which rounds integers beyond 2**53.
            options: options of ``pyarrow.Table.to_pandas``; ``split_blocks=True`` is the default because it avoids a copy.
        """
        if exact:
            options = {"types_mapper": _exact_type, **options}
        return self.to_arrow().to_pandas(**{"split_blocks": True, **options})

    def to_polars(self) -> Any:
        """Converts to a ``polars.DataFrame``."""
        import polars

        return polars.DataFrame(self)

    def to_device(self, device: int = 0) -> "DeviceTable":
        """Copies the columns to the memory of CUDA device ``device``, for CuPy, PyTorch, cuDF and other libraries.

        >>> columns = table.to_device()
        >>> torch.from_dlpack(columns["dur"]).sum()
        """
        from ._device import DeviceTable

        return DeviceTable(self.name, self._stream(), device)

    def html(self, number: int = 0, rows: int = PAGE_ROWS) -> "TableHtml":
        """Returns page ``number`` for display, with ``rows`` rows per page."""
        return TableHtml(self, number, rows)

    def __repr__(self) -> str:
        try:
            return f"<pysutra.Table {self.name}: {len(self):,} rows, {', '.join(self.columns)}>"
        except ValueError:
            return f"<pysutra.Table {self.name}, closed>"

    def _repr_html_(self) -> str:
        return self.html()._repr_html_()


def _exact_type(arrow_type: Any) -> Any:
    """Returns the pandas type of a numeric column; None (the default type) for categories and text."""
    import pandas
    import pyarrow.types

    is_number = pyarrow.types.is_integer(arrow_type) or pyarrow.types.is_floating(arrow_type)
    return pandas.ArrowDtype(arrow_type) if is_number or pyarrow.types.is_boolean(arrow_type) else None


class TableHtml:
    """One page of a table, for display."""

    def __init__(self, table: Table, number: int, rows: int) -> None:
        self.table, self.number, self.rows = table, number, rows

    def _repr_html_(self) -> str:
        begin = self.number * self.rows
        columns = self.table._values(begin, begin + self.rows)
        n_rows = len(self.table)
        shown = min(self.rows, max(0, n_rows - begin))
        head = "".join(f"<th>{escape(name)}</th>" for name in columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(values[row])}</td>" for values in columns.values()) + "</tr>"
            for row in range(shown))
        n_pages = max(1, -(-n_rows // self.rows))
        foot = f"rows {begin + 1:,} to {begin + shown:,} of {n_rows:,}" if shown else f"no rows of {n_rows:,}"
        if n_pages > 1:
            foot += f", page {self.number} of 0 to {n_pages - 1}: <code>.html({min(self.number + 1, n_pages - 1)})</code>"
        return (f"<table><caption>{escape(self.table.name)}</caption><thead><tr>{head}</tr></thead>"
                f"<tbody>{body}</tbody></table><p>{foot}</p>")

    def __repr__(self) -> str:
        columns = self.table._values(self.number * self.rows, (self.number + 1) * self.rows)
        cells = [[name, *("" if value is None else str(value) for value in values)] for name, values in columns.items()]
        widths = [min(40, max(len(cell) for cell in column)) for column in cells]
        lines = zip(*([cell[:width].ljust(width) for cell in column] for column, width in zip(cells, widths)))
        return "\n".join("  ".join(line).rstrip() for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.3f}"
    return escape(str(value))
