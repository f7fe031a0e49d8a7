"""Jobs of several ranks, and what is done with traces beyond reading them: overviews, collectives, differences, timelines, parts,
repairs, simulations. Each is compared with what the program says of the same files."""

import json
import os
import subprocess
import sys

import pandas
import pyarrow
import pytest
from test_analyze import assert_same, files_of

import pysutra


def program(*arguments):
    return subprocess.run([pysutra.program(), *map(str, arguments)], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """The device traces of four ranks, of which the third is slow, and their folder."""
    folder = tmp_path_factory.mktemp("job")
    program("gen", "-n", "2k", "--ranks", 4, "--ranks-per-host", 2, "--seed", 1, "--straggler-rank", 2, "--clock-offset-us", 500,
            "--host", folder / "h", "--device", folder / "d")
    return [str(folder / "d" / f"device.{rank}.json") for rank in range(4)]


@pytest.mark.filterwarnings("ignore::pysutra.SutraWarning")
@pytest.mark.parametrize("words, make, n_least", [
    (["analyze"], pysutra.analyze.overview, 20),
    (["analyze", "collectives"], pysutra.analyze.collectives, 6),
    (["diff"], lambda paths: pysutra.diff(paths[0], paths[2]), 5),
])
def test_tables_equal_the_program_output(words, make, n_least, job, tmp_path):
    files = files_of(words, *([job[0], job[2]] if words == ["diff"] else job), folder=str(tmp_path / "out"))
    with make(job) as result:
        same = [name for name in result.tables if name in files]
        for name, table in result.tables.items():
            pyarrow.table(table).validate(full=True)
            if name in files:
                assert_same(table, files[name])
        assert len(same) >= n_least, (list(files), list(result.tables))
        page = result._repr_html_()
    assert page.startswith("<iframe srcdoc=") and "&lt;svg" in page


@pytest.mark.filterwarnings("ignore::pysutra.SutraWarning")
def test_findings_are_sentences_with_numbers(job):
    with pysutra.analyze.overview(job, page=False) as result:
        findings = result.findings
        assert findings and all(finding.text and finding.rule for finding in findings)
        assert [finding.text for finding in findings] == result.tables["findings"].to_dict()["text"]
        assert any(finding.numbers for finding in findings)
        assert repr(result) == "\n".join([result.verdict["why"], *(finding.text for finding in findings)])
        assert result.verdict["why"] in " ".join(program("analyze", *job, "-q", "--format", "markdown").split())
        assert len(result.steps) > 0
        assert json.loads(program("analyze", *job, "--format", "json", "-q")) == result.report
        assert program("analyze", *job, "--format", "markdown", "-q") == result.markdown
        with pytest.raises(pysutra.SutraError, match="page=True"):
            result._repr_html_()


def test_the_slow_rank_is_the_straggler(job):
    with pysutra.analyze.collectives(job, arrivals=True) as result:
        assert result.straggler["rank"] == 2 and "Straggler: rank 2" in result.straggler["sentence"]
        assert [rank.rank for rank in result.ranks] == [0, 1, 2, 3]
        arrivals = result.tables["collective_arrivals"].to_pandas()
        assert result.report["n_calls"] == len(arrivals) and result.report["n_clocks_set"] == 2
    with pysutra.analyze.collectives(job, compat=True) as result:
        assert "nccl_long" in result.tables


def test_a_difference_turns_its_sign(job):
    with pysutra.DeviceTrace(job[0]) as a, pysutra.DeviceTrace(job[2]) as b:
        with pysutra.diff(a, b) as there, pysutra.diff(b, a, step="0") as back, pysutra.diff(job[0], b.path) as files:
            assert repr(there.report) == repr(files.report)  # nan among them
            assert there.report["device_us"] == back.report["device_us"][::-1]
            assert there.report["step_us"][0] < there.report["step_us"][1]
            assert back.report["n_steps"] == (1, 1)
    with pysutra.diff(job[0], job[0], renames={"aten::mm": "aten::other"}) as renamed:
        names = renamed.tables["diff_operators"].to_dict()["name"]
        assert names.count("aten::mm") == 1 and names.count("aten::other") == 1
    with pysutra.DeviceTrace(job[0]) as a, pysutra.DeviceTrace(job[2], pysutra.Context()) as b:
        with pytest.raises(ValueError, match="different contexts"):
            pysutra.diff(a, b)
        with pytest.raises(TypeError):
            pysutra.diff(a, job[2])


def test_timeline_equals_the_program_output(job, tmp_path):
    program("merge", *job, "-o", tmp_path / "theirs.json", "-q")
    with pysutra.merge(job, tmp_path / "ours.json") as merged:
        assert merged.report["n_bytes"] == (tmp_path / "ours.json").stat().st_size
        ranks = merged.ranks.to_dict()
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()
    assert ranks["rank"] == [0, 1, 2, 3] and ranks["path"] == job
    with pysutra.merge(job, tmp_path / "gpu.json", side="gpu", clocks="none", arrows=False) as merged:
        assert merged.report["n_kept"] < merged.report["n_events"] and set(merged.ranks.to_dict()["offset_ns"]) == {0}
    with pytest.raises(ValueError, match="collectives, none"):
        pysutra.merge(job, tmp_path / "x.json", clocks="atomic")


def test_cut_equals_the_program_output(job, tmp_path):
    host = job[0].replace("/d/device.", "/h/host.")
    program("cut", job[0], "--host", host, "--to-us", 3000, "-o", tmp_path / "theirs.json", "--host-out",
            tmp_path / "theirs.host.json", "-q")
    with pysutra.cut(job[0], host, to_us=3000) as part:
        assert part.write(tmp_path / "ours.json") == (tmp_path / "ours.json").stat().st_size
        part.write_host(tmp_path / "ours.host.json")
        assert 0 < part.report["n_events_kept"] < part.report["n_events"]
    for name in ("json", "host.json"):
        assert (tmp_path / f"ours.{name}").read_bytes() == (tmp_path / f"theirs.{name}").read_bytes()
    with pysutra.DeviceTrace(job[0]) as trace, pysutra.cut(trace, side="gpu", min_us=5, python=False) as part:
        assert part.report["n_operators_kept"] == 0
        with pytest.raises(pysutra.SutraError, match="no host trace"):
            part.write_host(tmp_path / "no.json")
        assert len(trace.events(["ts"])) == part.report["n_events"]


def test_truncated_trace_is_repaired(tmp_path):
    (tmp_path / "broken.json").write_text('{"traceEvents":[{"ts":NaN},{"name":"a"b","ts":1},{"ts":2},{"ts"')
    with pysutra.repair(tmp_path / "broken.json") as repaired:
        repaired.write(tmp_path / "whole.json")
        report, places = repaired.report, repaired.repairs.to_dict()
    assert [event["ts"] for event in json.loads((tmp_path / "whole.json").read_text())["traceEvents"]] == [None, 1, 2]
    assert report["n_repaired"] == sum(report["repaired"].values()) == len(places["offset"])
    assert places["offset"][0] == 22 and all(places["kind"])
    with pytest.raises(pysutra.SutraError):
        pysutra.repair(tmp_path / "nowhere.json")


@pytest.mark.filterwarnings("ignore::pysutra.SutraWarning")
def test_simulation_equals_the_program_output(job, tmp_path):
    files = []
    for rank, device in enumerate(job):
        with pysutra.link(device.replace("/d/device.", "/h/host."), device) as linked:
            linked.write(tmp_path / f"job.{rank}.et")
        files.append(tmp_path / f"job.{rank}.et")
    told = json.loads(program("simulate", *files, "-f", "json", "-q"))
    with pysutra.simulate(files) as simulation, pysutra.simulate(files, ["gpu:0"], straggler=False) as fast:
        tables = {name: pandas.DataFrame(table.to_dict()) for name, table in simulation.tables.items()}
        assert simulation.report["time_ns"] == round(told["time_us"] * 1000)
        assert simulation.time_us == told["time_us"]
        assert fast.time_us < simulation.time_us
        assert simulation.write_trace(tmp_path / "times.json") > 1000
        assert "rank" in simulation._repr_html_()
    assert list(tables["ranks"]["rank"]) == [0, 1, 2, 3] and tables["ranks"]["time_ns"].max() == round(told["time_us"] * 1000)
    assert tables["path"]["end_ns"].max() == tables["ranks"]["time_ns"].max() and tables["deadlocked"].empty
    with pytest.raises(pysutra.SutraError, match="nothing"):
        pysutra.simulate(files, ["nothing"])


def test_changed_jobs_equal_the_program_output(tmp_path):
    writer = os.path.join(os.path.dirname(__file__), "../../tests/scale_job.py")
    subprocess.run([sys.executable, writer, tmp_path, "dp=2", "pp=2", "micro=4", "layers=8"], check=True)
    files = [tmp_path / f"rank.{rank}.et" for rank in range(4)]
    told = json.loads(program("simulate", *files, "--data-parallel", 4, "--micro-batches", 8, "--layers", 12, "--hop", 1,
                              "--pipeline", "-f", "json", "-q"))
    with pysutra.simulate(files, data_parallel=4, micro_batches=8, layers=12, hop_us=1) as changed:
        assert changed.time_us == told["time_us"] and changed.report["n_ranks"] == 8
        assert changed.interval == (told["interval"]["low_us"], told["interval"]["high_us"])
        assert changed.report["n_recorded_layers"] == told["layers"]["recorded_blocks"] == 8
        with changed.pipeline as pipeline:
            assert pipeline.report["n_stages"] == 2 and pipeline.report["n_micro_batches"] == 8
            rows = pipeline.tables["pipeline_bubbles"].to_dict()
            assert rows["rank"] == [row["rank"] for row in told["pipeline"]["bubbles"]]
            assert rows["window_us"] == pytest.approx([row["window_us"] for row in told["pipeline"]["bubbles"]], abs=0.001)
            assert "expert_balance" not in pipeline.tables
            assert pipeline.write_report(tmp_path / "page").endswith("pipeline.html")
    with pysutra.simulate(files) as recorded:
        assert recorded.interval is None
    with pytest.raises(pysutra.SutraError, match="not a multiple"):
        pysutra.simulate(files, layers=7)
    with pytest.raises(ValueError):
        pysutra.simulate(files, data_parallel=0)


@pytest.mark.filterwarnings("ignore::pysutra.SutraWarning")
def test_the_verdict_equals_the_program_output(job):
    expected = json.loads(program("analyze", *job, "--format", "json", "-q"))
    with pysutra.analyze.overview(job, page=False) as result:
        assert result.report == expected and result.verdict == expected["verdict"]
        assert [finding.details for finding in result.findings] == expected["findings"]
        assert sum(result.verdict["shares"].values()) == pytest.approx(100, abs=0.01)
