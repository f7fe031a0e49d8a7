"""Analyses of a part of a job: keywords say what the program's options say."""

import json
import os
import subprocess

import pytest
from test_analyze import assert_same, files_of
from test_jobs import job  # noqa: F401 - a fixture

import pysutra

PARTS = [
    (["--step", "0"], {"step": 0}),
    (["--from-us", "500", "--to-us", "2500"], {"from_us": 500, "to_us": 2500}),
    (["--name", "gemm", "--rank", "0-1,3"], {"name": "gemm", "rank": [3, 0, 1]}),
    (["--stream", "7"], {"stream": 7}),
    (["--category", "gemm", "--rank", "2"], {"category": "gemm", "rank": 2}),
]
ANALYSES = [("hta", pysutra.analyze.hta), ("operators", pysutra.analyze.operators), ("kernels", pysutra.analyze.kernels),
            ("collectives", pysutra.analyze.collectives), (None, pysutra.analyze.overview)]


def files_or_error(words, paths, folder):
    """The tables that the program writes, or how it fails."""
    try:
        return files_of(words, *paths, folder=folder), None
    except subprocess.CalledProcessError as error:
        return {}, error


@pytest.mark.filterwarnings("ignore::pysutra.SutraWarning")
@pytest.mark.parametrize("name, function", ANALYSES)
def test_partial_results_equal_the_program_output(name, function, job, tmp_path):  # noqa: F811
    n_same = 0
    for number, (options, keywords) in enumerate(PARTS):
        files, error = files_or_error(["analyze", *([name] if name else []), *options], job, str(tmp_path / str(number)))
        if error:
            with pytest.raises(pysutra.SutraError):
                function(job, **keywords)
            continue
        with function(job, **keywords) as result:
            same = [table for table in result.tables if table in files]
            for table in same:
                assert_same(result.tables[table], files[table])
            n_same += len(same)
    assert n_same >= 6


def test_differences_are_of_a_part(job, tmp_path):  # noqa: F811
    options = ["--rank", "0-1", "--stream", "7", "--step", "0"]
    halves = [os.path.dirname(job[0])] * 2
    files = files_of(["diff", *options], *halves, folder=str(tmp_path / "out"))
    with pysutra.diff(job, job, rank=range(2), stream=7, step=0) as result:
        assert result.report["n_ranks"] == (2, 2)
        for name in ("diff_operators", "diff_kernels"):
            assert_same(result.tables[name], files[name])


@pytest.mark.filterwarnings("ignore::pysutra.SutraWarning")
def test_a_part_of_a_trace_is_read(job, tmp_path):  # noqa: F811
    part = {"step": "0", "stream": 7}
    with pysutra.DeviceTrace(job[0]) as whole, pysutra.DeviceTrace(job[0], **part) as trace:
        streams = trace.events(["stream", "kind"]).to_pandas()
        assert set(streams[streams.kind == "gpu_operator"].stream) == {7}
        assert len(streams) < len(whole.events(["kind"]))
        with pysutra.analyze.hta_rank(trace) as mine, pysutra.analyze.hta(job[0], **part) as result:
            assert mine.tables["temporal_breakdown"].to_dict() == result.tables["temporal_breakdown"].to_dict()
    subprocess.run([pysutra.program(), "analyze", "dlrm", "--step", "0", "--stream", "7", job[0], "-o",
                    tmp_path, "-q"], check=True)
    with pysutra.analyze.dlrm(job[0], **part) as result, open(tmp_path / "qps.json", encoding="utf-8") as file:
        assert result.report["qps"] == json.load(file)["QPS"]


def test_a_part_that_is_not_there_is_an_error(job):  # noqa: F811
    with pytest.raises(pysutra.SutraError, match="ProfilerStep#99"):
        pysutra.DeviceTrace(job[0], step=99)
    with pytest.raises(pysutra.SutraError):
        pysutra.analyze.kernels(job, rank=7)
    with pytest.raises(ValueError, match="list of ranks is empty"):
        pysutra.analyze.kernels(job, rank=[])
