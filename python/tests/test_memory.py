"""GPU memory: numbers equal the JSON of the program and of the reference; tables, findings, comparison, page, errors."""

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

CASES = sorted(os.path.dirname(path) for path in glob.glob(os.path.join(DATA, "memory", "*", "expected.json")))


def input_of(folder):
    return glob.glob(os.path.join(folder, "input.*"))[0]


LEAK, OOM = (input_of(os.path.join(DATA, "memory", name)) for name in ("gen_leak", "gen_oom"))


def json_of_program(*words):
    command = [pysutra.program(), "analyze", "memory", *words, "--format", "json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


@pytest.mark.parametrize("folder", CASES, ids=os.path.basename)
def test_numbers_equal_the_program_and_the_reference(folder):
    path = input_of(folder)
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    with pysutra.analyze.memory(path) as result:
        report = result.report
    assert report == json_of_program(path)
    for device, reference in zip(report["devices"], expected["devices"]):
        for key in {"max_allocated", "timeline"} & reference.keys():  # cases about names have only names
            assert device[key] == reference[key]


@pytest.mark.parametrize("folder", CASES, ids=os.path.basename)
def test_tables_equal_the_program_output(folder, tmp_path):
    path = input_of(folder)
    subprocess.run([pysutra.program(), "analyze", "memory", path, "-o", str(tmp_path), "-q", "--no-report"], check=True)
    with pysutra.analyze.memory(path) as result:
        names = set(result.tables)
        assert names == {os.path.basename(file)[:-4] for file in glob.glob(str(tmp_path / "*.csv"))}
        for name, table in result.tables.items():
            assert_same(table, pandas.read_csv(tmp_path / f"{name}.csv"))
        peak = result.tables["memory_devices"].to_pandas().peak_active
        timeline = result.tables["memory_timeline"].to_pandas().groupby("device", observed=True).active.max()
    assert sorted(peak) == sorted(timeline)


def test_findings_name_rule_device_and_bytes():
    with pysutra.analyze.memory(OOM) as result:
        (finding,) = result.findings
        assert finding[:3] == ("oom", "cuda:0", 2097152000) and finding.text.startswith("Out of memory: a request of 1.95 GiB")
        assert repr(result) == finding.text
    with pysutra.analyze.memory([LEAK, OOM], top=1) as result:
        assert [finding.rule for finding in result.findings] == ["growth", "oom"]
        assert result.report == json_of_program(LEAK, OOM, "--top", "1")
    with pysutra.analyze.memory(input_of(os.path.join(DATA, "memory", "cpu_mlp_adam"))) as result:
        assert result.findings == [] and repr(result) == "no findings"
    assert repr(result) == "<pysutra.analyze.MemoryResult, closed>"


def test_comparison_equals_the_program():
    with pysutra.analyze.memory(LEAK, against=OOM) as result:
        report, changes = result.report, result.tables["memory_comparison"].to_pandas()
    assert report == json_of_program(LEAK, "--against", OOM)
    assert report["kind"] == "diff"
    frames = changes[changes.group_by == "frame"].set_index("name")
    assert frames.difference["train.py:77:log_loss"] == -30 << 20


def test_pages_show_peak_and_differences(tmp_path):
    with pysutra.analyze.memory(OOM) as result:
        page = result._repr_html_()
    assert "optim.py:50:init_state" in page and "&lt;svg" in page
    with pysutra.analyze.memory(LEAK, against=OOM) as result, open(result.write_report(tmp_path), encoding="utf-8") as file:
        page = file.read()
    assert "Comparison of GPU memory" in page and (tmp_path / "charts" / "memory_changes_frame_0.svg").exists()


def test_ranks_are_compared(tmp_path):
    for side, snapshots in (("before", (LEAK, OOM)), ("after", (OOM, LEAK))):
        (tmp_path / side).mkdir()
        for rank, snapshot in enumerate(snapshots):
            os.symlink(os.path.abspath(snapshot), tmp_path / side / f"rank{rank}.pickle.gz")
    sides = [sorted((tmp_path / side).iterdir()) for side in ("before", "after")]
    with pysutra.analyze.memory(sides[0], against=sides[1]) as result:
        report = result.report
    assert report == json_of_program(tmp_path / "before", "--against", tmp_path / "after")


def test_errors_name_the_file(tmp_path):
    class Command:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    path = tmp_path / "command.pickle"
    path.write_bytes(pickle.dumps([Command()], protocol=2))
    with pytest.raises(pysutra.SutraError, match="pickle opcode GLOBAL is not allowed"):
        pysutra.analyze.memory(path)
    assert not (tmp_path / "executed").exists()
    with pytest.raises(pysutra.SutraError, match="cannot compare 2 inputs with 1"):
        pysutra.analyze.memory([LEAK, OOM], against=OOM)
    with pytest.raises(pysutra.SutraError, match="nowhere"):
        pysutra.analyze.memory("/nowhere")
