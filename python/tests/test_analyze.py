"""Results of analyses: their tables are those of the program's files; pages; many ranks; HTA's methods."""

import csv
import glob
import gzip
import io
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pandas
import pyarrow
import pytest
from conftest import SYNTH

import pysutra
from pysutra.hta import TraceAnalysis

TRACE = os.path.join(SYNTH, "trace.json.gz")


def files_of(words, *paths, folder):
    """The tables that the program writes."""
    subprocess.run([pysutra.program(), *words, *paths, "-o", folder, "-q"], check=True)
    return {os.path.basename(path)[:-4]: pandas.read_csv(path) for path in glob.glob(os.path.join(folder, "*.csv"))
            if not has_two_headers(path)}


def has_two_headers(path):
    with open(path, encoding="utf-8") as file:
        return file.readline().startswith(",")


def assert_same(table, frame):
    ours = table.to_pandas()
    assert list(ours.columns) == list(frame.columns)
    for name in frame:
        if not pandas.api.types.is_numeric_dtype(ours[name]):
            theirs = frame[name].fillna("") if frame[name].notna().any() else [""] * len(frame)
            assert list(ours[name]) == [str(value) for value in theirs], name
        else:
            pandas.testing.assert_series_equal(ours[name], frame[name], check_dtype=False, rtol=1e-15)


@pytest.mark.parametrize("kind, function", [("hta", pysutra.analyze.hta), ("operators", pysutra.analyze.operators),
                                            ("kernels", pysutra.analyze.kernels)])
def test_tables_equal_the_program_output(kind, function, tmp_path):
    files = files_of(["analyze", kind], TRACE, folder=str(tmp_path / "out"))
    n_same = 0
    with function([TRACE]) as result:
        for name, table in result.tables.items():
            pyarrow.table(table).validate(full=True)
            file = name if name in files else f"operators_{name}"
            if file in files:
                assert_same(table, files[file])
                n_same += 1
    assert n_same >= 3, (list(files), n_same)


def test_capture_traces_name_the_operators_of_graphs(write_trace):
    def event(category, name, start, duration, **args):
        return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": start, "dur": duration, "args": args}

    trace = write_trace([event("cuda_runtime", "cudaGraphLaunch", 10, 5, correlation=1),
                         event("kernel", "k", 20, 50, stream=7, correlation=1)], "trace.json")
    capture = write_trace([event("cuda_runtime", "cudaStreamBeginCapture", 10, 5), event("cpu_op", "aten::mm", 20, 20),
                           event("cuda_runtime", "cudaLaunchKernel", 25, 5),
                           event("cuda_runtime", "cudaStreamEndCapture", 50, 5)], "capture.json")
    with pysutra.analyze.operators(trace) as result:
        assert result.tables["graph_kernels"].to_pandas()["method"].tolist() == ["unmatched"]
    with pysutra.analyze.operators(trace, capture=capture) as result:
        row = result.tables["graph_operators"].to_pandas().iloc[0]
        assert (row["operator"], row["method"], row["confidence"]) == ("aten::mm", "counted", "medium")
    with pysutra.analyze.overview(trace, capture=[capture, capture]) as result:
        assert result.tables["overview_operators"].to_pandas()["name"].tolist() == ["aten::mm"]
    with pytest.raises(pysutra.SutraError):
        pysutra.analyze.operators(trace, capture=trace + ".missing")


@pytest.mark.filterwarnings("ignore::pysutra.SutraWarning")
def test_dlrm_has_its_tables():
    with pysutra.analyze.dlrm(TRACE) as result:
        frames = {name: table.to_pandas() for name, table in result.tables.items()}
        assert result.report["qps"] > 0
        assert "<svg" in result._repr_html_() or "&lt;svg" in result._repr_html_()
    assert set(frames) == {"streams", "rows", "overheads", "overheads_by_shape"}
    assert set(frames["overheads"]["kind"]) <= {"T1", "T2", "T3", "T4", "T5"}


def test_tracelens_of_one_trace():
    with pysutra.DeviceTrace(TRACE) as trace, pysutra.analyze.tracelens(trace) as result:
        assert len(result.tables["ops_summary"]) > 0


def test_results_show_their_page():
    with pysutra.analyze.hta(TRACE) as result:
        page = result._repr_html_()
        assert page.startswith("<iframe srcdoc=") and "&lt;svg" in page
        assert "idle_time(us)" in result.tables["temporal_breakdown"]._repr_html_()
        with pytest.raises(KeyError, match="available: temporal_breakdown"):
            result.tables["speed"]


def test_tables_are_shown_in_pages(device):
    with pysutra.DeviceTrace(device) as trace:
        events = trace.events()
        first, last = events.html()._repr_html_(), events.html(len(events) // 20)._repr_html_()
        assert "rows 1 to 20 of 976" in first and first.count("<tr>") == 21
        assert "rows 961 to 976 of 976" in last
        assert trace._repr_html_() == first
        text = repr(events.html(0, 2))
    assert text.splitlines()[0].startswith("ts") and len(text.splitlines()) == 3


def test_names_in_pages_are_text(write_trace):
    with pysutra.DeviceTrace(write_trace([{"name": "<script>alert(1)</script>"}])) as trace:
        assert "<script>" not in trace._repr_html_()


def count_kernels(path):
    with pysutra.DeviceTrace(path) as trace:
        kinds = trace.events(["kind"]).to_dict()["kind"]
    return kinds.count("gpu_operator")


def test_ranks_are_mapped_in_order(device):
    expected = [count_kernels(device), count_kernels(TRACE)]
    with ThreadPoolExecutor(2) as executor:
        assert pysutra.map_ranks(count_kernels, [device, TRACE], executor) == expected
        with pytest.raises(pysutra.SutraError):
            pysutra.map_ranks(count_kernels, [device, "/nowhere"], executor)


def test_ranks_are_mapped_to_processes(device):
    assert pysutra.map_ranks(pysutra.trace_kind, [device, TRACE]) == ["device", "device"]


@pytest.mark.filterwarnings("ignore")
def test_ranks_are_mapped_by_dask(device):
    distributed = pytest.importorskip("distributed", reason="Dask's distributed is not installed")
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        for executor in (client, client.get_executor()):
            assert pysutra.map_ranks(pysutra.trace_kind, [device, TRACE, device], executor) == ["device"] * 3
            with pytest.raises(pysutra.SutraError, match="nowhere"):
                pysutra.map_ranks(pysutra.trace_kind, [device, "/nowhere"], executor)


# ---- HTA ----


def golden(name):
    for folder in ("hta_compat", "hta"):
        path = os.path.join(SYNTH, folder, f"{name}.csv.gz")
        if os.path.exists(path):
            with gzip.open(path, "rt", encoding="utf-8") as file:
                return pandas.read_csv(io.StringIO(file.read()))
    raise FileNotFoundError(name)


def near(ours, theirs):
    pandas.testing.assert_frame_equal(ours.reset_index(drop=True), theirs, check_dtype=False, rtol=1e-12)


def test_hta_gives_htas_frames():
    analysis = TraceAnalysis(trace_files={0: TRACE})
    near(analysis.get_temporal_breakdown(visualize=False), golden("temporal_breakdown"))
    near(analysis.get_comm_comp_overlap(visualize=False), golden("comm_comp_overlap"))
    types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
    near(types, golden("gpu_kernel_breakdown_mem.types"))
    near(kernels, golden("gpu_kernel_breakdown_mem.kernels"))
    rows, stats = analysis.get_idle_time_breakdown(visualize=False, show_idle_interval_stats=True)
    near(rows, golden("idle_time_breakdown.rows"))
    assert stats.index.name == "idle_category"
    launches = analysis.get_cuda_kernel_launch_stats(visualize=False)
    assert list(launches) == [0] and list(launches[0].columns) == ["correlation", "cpu_duration", "gpu_duration",
                                                                 "launch_delay"]
    summary = analysis.get_queue_length_summary()
    assert summary.columns.nlevels == 2 and list(summary.index.names) == ["rank", "stream"]
    series = analysis.get_queue_length_time_series()[0]
    assert list(series.columns) == ["ts", "pid", "tid", "stream", "queue_length"]


def test_hta_reports_missing_columns():
    analysis = TraceAnalysis(trace_files=[TRACE])
    with pytest.raises(NotImplementedError, match="DeviceTrace"):
        analysis.critical_path_analysis(0, "", 0)


def test_the_goldens_are_there():
    with gzip.open(os.path.join(SYNTH, "hta", "temporal_breakdown.csv.gz"), "rt", encoding="utf-8") as file:
        assert next(csv.reader(file))[0] == "rank"
