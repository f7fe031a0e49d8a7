"""Columns are what Python's json reads: every trace, every row, every value."""

import math

import pandas
import pyarrow
import pytest
from conftest import KINDS, load

import pysutra

SMALLEST = -(2**63) + 2**32  # integers below stand for other things in libsutra, and are texts


def integer(value):
    """An id that is a 64-bit integer, also one that was written as 7.0 or true; else None."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return int(value) if isinstance(value, int) and SMALLEST <= value < 2**63 else None


def int_of(value):
    """What int() makes of an id, if it is a 64-bit integer."""
    try:
        return integer(int(value))
    except (TypeError, ValueError, OverflowError):
        return None


def but_minus_one(value):
    return None if value == -1 else value


def text(value):
    if not isinstance(value, str):
        return None
    return "".join("\ufffd" if 0xD800 <= ord(character) < 0xE000 else character for character in value)


def same(ours, theirs):
    if isinstance(theirs, float) and math.isnan(theirs):
        return isinstance(ours, float) and math.isnan(ours)
    return ours == theirs


def check(name, ours, theirs):
    assert len(ours) == len(theirs)
    wrong = [(row, a, b) for row, (a, b) in enumerate(zip(ours, theirs)) if not same(a, b)]
    assert not wrong, f"{name}: {len(wrong)} differ, first row, ours, json: {wrong[0]}"


def times(events, key):
    values = [event.get(key) for event in events]
    values = [value if isinstance(value, (int, float)) else None for value in values]
    is_real = any(isinstance(value, float) for value in values)
    return [float(value) if is_real and value is not None else value for value in values]


def args_of(event):
    args = event.get("args", {})
    return args if isinstance(args, dict) else {}


def arg_values(events, name):
    """As the columns of args are documented."""
    import json

    values = [args_of(event).get(name) for event in events]
    there = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in there):
        return values, None
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in there)
    if numbers and any(isinstance(value, float) for value in there):
        return [None if value is None else float(value) for value in values], None
    if numbers and all(-(2**63) <= value < 2**63 for value in there):
        return values, None
    if all(isinstance(value, str) for value in there):
        return [None if value is None else text(value) for value in values], None
    return values, json.loads


def devices():
    return [path for path, kind in KINDS.items() if kind == "device"]


def hosts():
    return [path for path, kind in KINDS.items() if kind == "host"]


@pytest.mark.parametrize("path", devices())
@pytest.mark.filterwarnings("ignore::pysutra.SutraWarning")
def test_events(path):
    try:
        trace = pysutra.DeviceTrace(path)
    except pysutra.SutraError as error:
        assert error.status == 65 and error.message
        return
    events = [event if isinstance(event, dict) else {} for event in load(path)["traceEvents"]]
    args = sorted({name for event in events for name in args_of(event)})
    table = pyarrow.table(trace.events(args=args))
    trace.close()
    table.validate(full=True)
    expected = {
        "ts": times(events, "ts"),
        "dur": times(events, "dur"),
        "name": [text(event.get("name")) for event in events],
        "category": [text(event.get("cat")) or None for event in events],
        "phase": [phase if isinstance(phase := event.get("ph"), str) and len(phase) == 1 and " " < phase < "\x7f" else None
                  for event in events],
        "pid": [integer(event.get("pid")) for event in events],
        "tid": [integer(event.get("tid")) for event in events],
        "stream": [integer(args_of(event).get("stream")) for event in events],
        "device": [integer(args_of(event).get("device")) if "stream" in args_of(event) else None for event in events],
        "correlation": [but_minus_one(integer(args_of(event).get("correlation"))) for event in events],
        "external_id": [but_minus_one(int_of(args_of(event).get("External id", args_of(event).get("external id"))))
                        for event in events],
        "rf_id": [integer(args_of(event).get("Record function id")) for event in events],
    }
    for name, values in expected.items():
        check(name, table[name].to_pylist(), values)
    for name in args:
        column = f"args.{name}" if name in expected or name == "kind" else name
        values, read = arg_values(events, name)
        ours = table[column].to_pylist()
        check(column, [None if value is None else read(value) for value in ours] if read else ours, values)


@pytest.mark.parametrize("path", hosts())
@pytest.mark.filterwarnings("ignore::pysutra.SutraWarning")
def test_nodes(path):
    try:
        trace = pysutra.HostTrace(path)
    except pysutra.SutraError:
        return
    document = load(path)
    nodes = document["nodes"]
    table = pyarrow.table(trace.nodes(args=["tid"]))
    trace.close()
    table.validate(full=True)
    check("id", table["id"].to_pylist(), [integer(node.get("id")) for node in nodes])
    check("name", table["name"].to_pylist(), [text(node.get("name")) for node in nodes])
    if any("ctrl_deps" in node for node in nodes) and any("attrs" in node for node in nodes):
        attributes = [{a["name"]: a.get("value") for a in node.get("attrs", [])} for node in nodes]
        check("parent", table["parent"].to_pylist(), [integer(node.get("ctrl_deps")) for node in nodes])
        check("rf_id", table["rf_id"].to_pylist(), [int_of(a.get("rf_id")) for a in attributes])
        check("tid", table["tid"].to_pylist(), [a.get("tid") for a in attributes])


def test_there_are_traces():
    assert len(devices()) > 5 and len(hosts()) > 5


def test_a_frame_of_exact_numbers_rounds_none(write_trace):
    events = [{"pid": 2**53 + 1, "name": "a", "cat": "c", "ph": "X", "ts": 5, "dur": 1.5}, {"name": "a"}]
    with pysutra.DeviceTrace(write_trace(events)) as trace:
        exact, usual = trace.to_pandas(exact=True), trace.to_pandas()
    assert exact["pid"][0] == 2**53 + 1 and exact["pid"].isna().tolist() == [False, True]
    assert exact["ts"].dtype == pandas.ArrowDtype(pyarrow.int64()) and exact["dur"].sum() == 1.5
    assert usual["pid"].dtype == "float64" and usual["pid"][0] == 2**53
    assert exact["name"].dtype == usual["name"].dtype == "category"


def test_odd_values(write_trace):
    events = [
        {"pid": 2**63, "tid": "all", "ts": 2**53 + 1, "dur": 1e308, "args": {"big": 2**64, "i": 2**63 - 1}},
        {"pid": -(2**63), "tid": 1.5, "ts": 0, "dur": -0.0, "args": {"big": 1, "i": -(2**63)}},
        {"pid": None, "tid": True, "name": "\ud800\"\\\u0000\U0001f600", "args": {"big": "x", "i": None}},
    ]
    with pysutra.DeviceTrace(write_trace(events)) as trace:
        columns = ["pid", "pid_text", "tid", "tid_text", "ts", "dur", "name"]
        found = trace.events(columns, args=["big", "i"]).to_dict()
    assert found == {
        "pid": [None, None, None],
        "pid_text": ["9223372036854775808", "-9223372036854775808", None],
        "tid": [None, None, 1],
        "tid_text": ["all", "1.5", None],
        "ts": [2**53 + 1, 0, None],
        "dur": [1e308, 0.0, None],
        "name": [None, None, "\ufffd\"\\\u0000\U0001f600"],
        "big": ["18446744073709551616", "1", '"x"'],
        "i": [2**63 - 1, -(2**63), None],
    }
