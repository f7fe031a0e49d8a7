"""Converts Arrow files to Parquet: ``python -m pysutra.parquet FILE.arrow... | DIRECTORY``; needs pyarrow.

``sutra columns`` and ``--table-format arrow`` write Arrow files. FILE.arrow becomes FILE.parquet in the same directory; a
directory stands for its files that end in .arrow.
"""

from __future__ import annotations

import glob
import os
import sys
from typing import List


def convert(path: str) -> str:
    """Writes the Arrow file ``path`` as Parquet (zstd) next to it, and returns the path of the new file.

    Columns, metadata and dictionaries stay. The file is complete or not there.
    """
    import pyarrow
    from pyarrow import parquet

    to = os.path.splitext(path)[0] + ".parquet"
    with pyarrow.memory_map(path) as file:
        table = pyarrow.ipc.open_file(file).read_all()
        parquet.write_table(table, to + ".tmp", compression="zstd")
    os.replace(to + ".tmp", to)
    return to


def main(arguments: List[str]) -> int:
    """Runs the program, and returns its exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if arguments else 64
    try:
        import pyarrow
    except ImportError:
        print("pysutra.parquet: pyarrow is not installed: pip install pyarrow", file=sys.stderr)
        return 69
    for argument in arguments:
        files = sorted(glob.glob(os.path.join(argument, "*.arrow"))) if os.path.isdir(argument) else [argument]
        if not files:
            print(f"pysutra.parquet: {argument}: no file in this directory ends in .arrow", file=sys.stderr)
            return 66
        for file in files:
            try:
                print(convert(file))
            except (OSError, pyarrow.ArrowException) as error:
                print(f"pysutra.parquet: {file}: {str(error).splitlines()[0]}", file=sys.stderr)
                return 66 if isinstance(error, OSError) else 65
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
