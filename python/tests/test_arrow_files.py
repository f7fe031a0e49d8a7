"""Arrow and Parquet files of the program: pyarrow, pandas, polars and DuckDB read the columns that pysutra exports."""

import os
import subprocess
import sys

import pyarrow
import pytest

import pysutra


def columns(*words):
    subprocess.run([pysutra.program(), "columns", *words, "-q"], check=True)


def read(path):
    with pyarrow.memory_map(str(path)) as file:
        table = pyarrow.ipc.open_file(file).read_all()
    table.validate(full=True)
    return table


def test_events_nodes_and_launches(device, host, tmp_path):
    out = tmp_path / "out.arrow"
    columns(device, "-o", str(out), "--arg", "grid", "--arg", "Input Dims")
    with pysutra.DeviceTrace(device) as trace:
        expected = trace.events(args=["grid", "Input Dims"]).to_arrow()
    assert read(out).equals(expected) and read(out).schema.equals(expected.schema, check_metadata=True)
    columns(device, "-o", str(out), "--column", "tid", "--column", "name")
    assert read(out).column_names == ["tid", "name"]
    columns(host, "-o", str(out))
    with pysutra.HostTrace(host) as trace:
        assert read(out).equals(trace.nodes().to_arrow())
    columns(device, "-o", str(out), "--table", "launches")
    launches = read(out)
    assert set(launches["kind"].to_pylist()) == {"launch", "operator"} and len(launches) > 10


def test_types_of_columns(write_trace, tmp_path):
    path = write_trace([
        {"ph": "X", "name": "é", "ts": 1, "dur": 2, "pid": "p", "tid": 1, "args": {"b": True, "j": [1], "r": 0.5, "i": 1 << 40}},
        {"ph": "X", "ts": 2, "pid": 3, "args": {"j": 7}},
    ])
    out = tmp_path / "out.arrow"
    columns(path, "-o", str(out), *(word for name in "bjrin" for word in ("-a", name)), "-c", "name", "-c", "pid")
    assert read(out).to_pydict() == {
        "name": ["é", None], "pid": [None, 3], "b": [True, None], "j": ["[1]", "7"], "r": [0.5, None],
        "i": [1 << 40, None], "n": [None, None]}
    columns(write_trace([]), "-o", str(out))
    assert len(read(out)) == 0


def test_tables_of_an_analysis(device, tmp_path):
    for form in "arrow", "json":
        subprocess.run([pysutra.program(), "analyze", "hta", device, "--table-format", form, "-o", str(tmp_path / form), "-q"], check=True)
    names = sorted(os.listdir(tmp_path / "arrow"))
    tables = [name for name in names if name.endswith(".arrow")]
    others = [name[:-5] for name in sorted(os.listdir(tmp_path / "json")) if name.endswith(".json") and name != "rules.json"]
    assert [name[:-6] for name in tables] == others
    assert all(read(tmp_path / "arrow" / name).num_columns for name in tables) and len(tables) > 3


def test_other_libraries(device, tmp_path):
    out = tmp_path / "out.arrow"
    columns(device, "-o", str(out))
    expected = read(out)
    duckdb, pandas, polars = (pytest.importorskip(name) for name in ("duckdb", "pandas", "polars"))
    assert polars.read_ipc(out)["name"].to_list() == expected["name"].to_pylist()
    assert pandas.read_feather(out)["ts"].tolist() == expected["ts"].to_pylist()
    made = subprocess.run([sys.executable, "-m", "pysutra.parquet", str(tmp_path)], check=True, capture_output=True, text=True)
    parquet = tmp_path / "out.parquet"
    assert made.stdout == f"{parquet}\n"
    assert duckdb.sql(f"select count(*), sum(dur) from '{parquet}'").limit(1).fetchall()[0][0] == len(expected)
    assert pandas.read_parquet(parquet)["name"].tolist() == expected["name"].to_pylist()


def test_messages(device, tmp_path):
    def run(*words):
        return subprocess.run(words, capture_output=True, text=True)

    refused = run(pysutra.program(), "columns", device, "-o", str(tmp_path / "x.parquet"))
    assert refused.returncode == 64 and "python3 -m pysutra.parquet" in refused.stderr
    unknown = run(pysutra.program(), "columns", device, "-c", "nothing", "-o", str(tmp_path / "x.arrow"))
    assert unknown.returncode == 64 and "nothing" in unknown.stderr and not os.listdir(tmp_path)
    (tmp_path / "x.arrow").write_text("no arrow")
    assert run(sys.executable, "-m", "pysutra.parquet", str(tmp_path / "x.arrow")).returncode == 65
    assert run(sys.executable, "-m", "pysutra.parquet", str(tmp_path / "none.arrow")).returncode == 66
