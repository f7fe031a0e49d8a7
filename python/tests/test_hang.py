"""Hangs: results equal the JSON and the tables of the program; findings, page, errors."""

import glob
import json
import os
import pickle
import subprocess

import pandas
import pytest
from conftest import DATA
from test_analyze import assert_same

import pysutra

CASES = sorted({os.path.dirname(path) for path in glob.glob(os.path.join(DATA, "hang", "**", "gloo_trace_rank_0*"), recursive=True)})


def case(name):
    return os.path.join(DATA, "hang", name)


@pytest.mark.parametrize("folder", CASES, ids=os.path.basename)
def test_report_equals_the_json_of_the_program(folder):
    command = [pysutra.program(), "analyze", "hang", folder, "--format", "json"]
    with pysutra.analyze.hang(folder) as result:
        assert result.report == json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        assert result.summary["stuck"] == bool(result.findings)
        assert repr(result) == result.summary["why"]
    assert repr(result) == "<pysutra.analyze.HangResult, closed>"


@pytest.mark.parametrize("folder", CASES, ids=os.path.basename)
def test_tables_equal_the_program_output(folder, tmp_path):
    subprocess.run([pysutra.program(), "analyze", "hang", folder, "-o", str(tmp_path), "-q", "--no-report"], check=True)
    with pysutra.analyze.hang(folder, operations=True) as result:
        assert set(result.tables) == {os.path.basename(file)[:-4] for file in glob.glob(str(tmp_path / "*.csv"))}
        for name, table in result.tables.items():
            ours = table.to_pandas()
            texts = {column: str for column in ours if not pandas.api.types.is_numeric_dtype(ours[column])}  # "3" is a list
            assert_same(table, pandas.read_csv(tmp_path / f"{name}.csv", dtype=texts, keep_default_na=False))


def test_operations_are_optional():
    with pysutra.analyze.hang(case("data_loading")) as result:
        assert "hang_causes" in result.tables and "hang_operations" not in result.tables
    with pysutra.analyze.hang(case("data_loading"), operations=True) as result:
        assert len(result.tables["hang_operations"].to_pandas()) == result.summary["n_entries"]


def test_findings_name_ranks_and_calls():
    with pysutra.analyze.hang(case("data_loading")) as result:
        finding = result.findings[0]
        root = result.report["roots"][0]
    assert finding.cause == root["cause"] == "rank_not_arrived" and finding.ranks == root["ranks"] == [2]
    assert finding.confidence == root["confidence"] and finding.title == "RANK NOT ARRIVED"
    assert root["ranks_frames"][0] in finding.where and finding.remedy and finding.check


def test_dumps_may_be_files():
    files = sorted(glob.glob(os.path.join(case("data_loading"), "*")))
    with pysutra.analyze.hang(files) as all_ranks, pysutra.analyze.hang(files[:2]) as some_ranks:
        assert all_ranks.summary["n_ranks"] == 4 and some_ranks.summary["n_ranks"] == 2


def test_page_shows_the_cause(tmp_path):
    with pysutra.analyze.hang(case("data_loading")) as result:
        page = result._repr_html_()
        assert os.path.basename(result.write_report(tmp_path)) == "hang.html"
    assert "RANK NOT ARRIVED" in page


def test_errors_name_the_file(tmp_path):
    class Command:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    path = tmp_path / "nccl_trace_rank_0"
    path.write_bytes(pickle.dumps({"entries": [Command()]}, protocol=2))
    with pytest.raises(pysutra.SutraError, match="pickle opcode GLOBAL is not allowed"):
        pysutra.analyze.hang(path)
    with pytest.warns(pysutra.SutraWarning, match="GLOBAL"), pysutra.analyze.hang([path, case("data_loading")]) as result:
        assert result.summary["n_ranks"] == 4 and result.summary["skipped_files"] == 1
    assert not (tmp_path / "executed").exists()
    with pytest.raises(pysutra.SutraError, match="nowhere"):
        pysutra.analyze.hang("/nowhere")
