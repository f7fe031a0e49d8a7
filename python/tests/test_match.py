"""Links by names of pairs without common ids: output, warnings, errors, and the description of the match."""

import dataclasses
import json
import os
import pickle
import subprocess
import warnings

import pytest
from conftest import DATA, load

import pysutra


def pair_of(name):
    folder = os.path.join(DATA, "link", name)
    return os.path.join(folder, "host.json.gz"), os.path.join(folder, "device.json.gz")


def without_ids(events):
    for event in events:
        event.get("args", {}).pop("Record function id", None)
    return events


def repeated(events):
    """The events of ProfilerStep#2 and one second later their copies in ProfilerStep#3, with the same sequence numbers."""
    copies = [json.loads(json.dumps(event)) for event in events if event["ph"] != "M"]
    for event in copies:
        event["ts"] += 1e6
        event["name"] = event["name"].replace("ProfilerStep#2", "ProfilerStep#3")
        numbers = event.get("args", {})
        numbers.update({key: numbers[key] + 1_000_000 for key in ("correlation", "External id") if key in numbers})
        if "id" in event:
            event["id"] += 1_000_000
    return events + copies


@pytest.fixture
def stripped(device, write_trace):
    """The device trace of the pair, without record-function ids."""
    return write_trace(without_ids(load(device)["traceEvents"]))


@pytest.fixture
def one_of_two(write_trace):
    """A host trace of one step, and a device trace of two equal steps without record-function ids."""
    host, device = pair_of("torch_mlp_adam_ne")
    return host, write_trace(repeated(without_ids(load(device)["traceEvents"])), "two_steps.json")


def linked_bytes(path, host, device, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysutra.SutraWarning)
        with pysutra.link(host, device, **options) as linked:
            linked.write(path)
    return path.read_bytes()


@pytest.mark.parametrize("name", ["torch_mlp_nosync", "torch_mlp_da", "torch_gloo2_r0_ne", "torch_threads_int"])
def test_links_by_name_equal_links_by_id(name, tmp_path, write_trace):
    host, device = pair_of(name)
    document = load(device)
    without_ids(document["traceEvents"])
    stripped = write_trace(json.dumps(document))
    by_ids = linked_bytes(tmp_path / "ids.json", host, device, match="ids")
    assert linked_bytes(tmp_path / "auto.json", host, device) == by_ids
    assert linked_bytes(tmp_path / "stripped.json", host, stripped) == by_ids
    assert linked_bytes(tmp_path / "names.json", host, device, match="names") == by_ids
    assert linked_bytes(tmp_path / "unlinked.json", host, stripped, match="ids") != by_ids


@pytest.mark.parametrize("match", ["auto", "ids", "names"])
def test_files_equal_the_program_output(match, host, stripped, tmp_path):
    file = tmp_path / "program.json"
    subprocess.run([pysutra.program(), "link", host, stripped, "--match", match, "-o", file], check=True, capture_output=True)
    assert linked_bytes(tmp_path / "package.json", host, stripped, match=match) == file.read_bytes()


def test_a_match_by_ids_counts_common_ids(host, device):
    with pysutra.link(host, device) as linked:
        match = linked.match
        assert (match.by, match.confidence, match.ids_fault, match.step, match.number_shift) == ("ids", None, None, None, None)
        assert match.common_ids == linked.report["n_host_linked"] == 400
        assert 0 < match.covered_us <= match.steps_us
        assert repr(match) == "<pysutra.Match: by ids, 400 host operators with an operator of their name and id>"
        assert "match" not in linked.report and "matched by names" not in repr(linked)


def test_a_match_by_names_has_counts_and_confidence(host, device, stripped):
    fault = "the device trace has no record-function ids, as before PyTorch 2.4"
    with pytest.warns(pysutra.SutraWarning, match=f"400 of 400 host operators are matched by name .*{fault}"):
        linked = pysutra.link(host, stripped)
    match = linked.match
    assert (match.by, match.confidence, match.host_ops, match.device_ops, match.matched) == ("names", 1, 400, 400, 400)
    assert (match.common_ids, match.ids_fault, match.positions, match.number_shift) == (0, fault, 0, 0)
    assert match.step == "ProfilerStep#2"
    assert match.host == match.device == pysutra.Unmatched(0, 0, 0, 0, {}, "") and match.host.count == 0
    with pysutra.link(host, device) as by_ids:
        assert (match.covered_us, match.steps_us) == (by_ids.match.covered_us, by_ids.match.steps_us)
    assert repr(match) == ("<pysutra.Match: by names, confidence 100.0 %; 400 of 400 host operators and 400 device operators; "
                           f"{fault}>")
    assert repr(linked).endswith("matched by names with confidence 100.0 %>")
    assert pickle.loads(pickle.dumps(match)) == match
    with pytest.raises(dataclasses.FrozenInstanceError):
        match.by = "ids"
    with pytest.warns(pysutra.SutraWarning, match="matched by name"), pysutra.link(host, device, match="names") as by_names:
        assert by_names.match == dataclasses.replace(match, ids_fault=None)


def test_unmatched_operators_have_reasons_and_names(write_trace):
    host, device = pair_of("torch_threads_int")
    events = load(device)["traceEvents"]
    with pytest.warns(pysutra.SutraWarning, match="1,166 of 1,766 host operators"):
        match = pysutra.link(host, write_trace(without_ids(events))).match
    assert (match.matched, match.host_ops, match.device_ops) == (1166, 1766, 1166)
    assert match.host == pysutra.Unmatched(
        0, 0, 600, 0, {"aten::as_strided": 96, "aten::select": 96, "aten::_to_copy": 48}, "10, 11, 12, 13, 14, 15")
    assert match.host.count == 600 and match.device.count == 0

    host, device = pair_of("torch_mlp_nosync")
    events = [event for event in load(device)["traceEvents"] if event.get("name") != "aten::transpose"]
    with pytest.warns(pysutra.SutraWarning, match="372 of 400 host operators"):
        match = pysutra.link(host, write_trace(without_ids(events))).match
    assert match.host == pysutra.Unmatched(0, 0, 0, 28, {"aten::transpose": 28}, "") and match.device.count == 0
    assert match.confidence == pytest.approx(372 / 400)


def test_sequence_numbers_of_another_iteration_are_shifted(host, stripped, write_trace):
    with open(stripped, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    for event in events:
        if "Sequence number" in event.get("args", {}):
            event["args"]["Sequence number"] += 40
    with pytest.warns(pysutra.SutraWarning, match="sequence numbers differ by 40"):
        match = pysutra.link(host, write_trace(events, "shifted.json")).match
    assert match.number_shift == 40 and "sequence numbers differ by 40" in repr(match)


def test_match_step_selects_one_of_two_equal_steps(one_of_two):
    times = {}
    for step in (None, 2, "ProfilerStep#3", "3"):
        with pytest.warns(pysutra.SutraWarning, match="matched by name"), pysutra.link(*one_of_two, match_step=step) as linked:
            match = linked.match
            times[step] = linked.nodes(["ts"]).to_dict()["ts"]
        assert match.matched == match.host_ops == 477
        assert match.step == ("ProfilerStep#2" if step in (None, 2) else "ProfilerStep#3")
        assert match.covered_us < match.steps_us
        if step is None:
            assert match.positions == 2 and "first of 2 positions" in repr(match) and match.device.after == 477
    assert times[None] == times[2] and times["3"] == times["ProfilerStep#3"]
    assert times["3"] == [None if ts is None else pytest.approx(ts + 1e6) for ts in times[2]]


def test_an_absent_step_is_an_error(host, stripped):
    with pytest.raises(pysutra.SutraError, match="no annotation ProfilerStep#9: the trace has steps 2 to 3") as caught:
        pysutra.link(host, stripped, match_step=9)
    assert (caught.value.status, caught.value.file) == (65, stripped)


def test_names_of_another_program_are_an_error(host):
    _, device = pair_of("h200_convolutions")
    with pytest.warns(pysutra.SutraWarning):  # another process
        with pytest.raises(pysutra.SutraError, match="host operators match by name .*at least 50 % required") as caught:
            pysutra.link(host, device, match="names")
    assert caught.value.status == 65


def test_strict_contexts_need_ids_or_certain_names(host, device, stripped, one_of_two):
    with pysutra.Context(strict=True) as context:
        def traces(*paths):
            return pysutra.HostTrace(paths[0], context), pysutra.DeviceTrace(paths[1], context)

        assert pysutra.link(*traces(host, device)).match.by == "ids"
        with pytest.raises(pysutra.SutraError, match="no record-function ids") as caught:
            pysutra.link(*traces(host, stripped))
        assert caught.value.status == 1
        with pytest.warns(pysutra.SutraWarning, match="matched by name"):
            assert pysutra.link(*traces(host, stripped), match="names").match.confidence == 1
        with pytest.raises(pysutra.SutraError, match="2 positions") as caught:
            pysutra.link(*traces(*one_of_two), match="names")
        assert caught.value.status == 1


def test_a_warning_may_be_an_error(host, stripped):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(pysutra.SutraWarning, match="matched by name"):
            pysutra.link(host, stripped)


def test_unknown_matches_are_value_errors(host, device):
    for match in ("name", "", None, 1):
        with pytest.raises(ValueError, match="match must be one of auto, ids, names, not"):
            pysutra.link(host, device, match=match)
    with pytest.raises(ValueError, match="match_step needs"):
        pysutra.link(host, device, match="ids", match_step=2)
