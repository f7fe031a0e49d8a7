#!/usr/bin/env python3
"""causal_check.py SYNC TRACE SLOWER: whether the device trace TRACE, as `sutra gen --sync SYNC` makes it, is causal, and
whether SLOWER is the same run on a GPU whose operators take three times as long."""
import json
import sys

GPU = ("kernel", "gpu_memcpy")
CALLS = ("cuda_runtime", "cuda_driver")
TOLERANCE = 0.002  # times have three decimals


def end(event):
    return event["ts"] + event["dur"]


def check(trace, sync):
    events = [event for event in trace if event["ph"] == "X"]
    calls = {event["args"]["correlation"]: event for event in events if event["cat"] in CALLS}
    work = [event for event in events if event["cat"] in GPU and event["args"]["correlation"] in calls]
    waits = [event for event in events if event["cat"] == "cuda_sync"]
    launch = {id(event): calls[event["args"]["correlation"]] for event in work}
    streams = {}
    for event in work:
        assert event["ts"] >= end(launch[id(event)]), "a GPU operator runs before it is launched"
        streams.setdefault(event["args"]["stream"], []).append(event)
    for queue in streams.values():
        queue.sort(key=lambda event: event["ts"])
        assert all(a["ts"] + a["dur"] <= b["ts"] + TOLERANCE for a, b in zip(queue, queue[1:])), "a stream overlaps"
    assert waits, "nothing waits"
    kinds = {wait["name"] for wait in waits}
    expected = {"plain": "Stream Sync", "stream": "Stream Sync", "event": "Event Sync", "device": "Context Sync"}[sync]
    assert kinds == {expected} | (set() if sync == "plain" else {"Stream Wait Event"}), kinds
    for wait in waits:
        call, args = calls[wait["args"]["correlation"]], wait["args"]
        record = calls.get(args.get("wait_on_cuda_event_record_corr_id"), call)
        on = args.get("wait_on_stream", args["stream"])
        awaited = [e for e in work if launch[id(e)]["ts"] < record["ts"] and on in (-1, e["args"]["stream"])
                   and launch[id(e)]["tid"] == call["tid"]]
        if wait["name"] == "Stream Wait Event":
            held = [e for e in streams.get(args["stream"], ()) if launch[id(e)]["ts"] > call["ts"]
                    and launch[id(e)]["tid"] == call["tid"]]
            if held and awaited:
                first = min(held, key=lambda e: launch[id(e)]["ts"])
                assert first["ts"] + TOLERANCE >= max(map(end, awaited)), "a stream does not wait"
        elif awaited:
            assert end(call) + TOLERANCE >= max(map(end, awaited)), "a call returns before what it waits for has ended"
    return [(event["name"], event["args"]["stream"], event["dur"]) for event in work]


def main(sync, path, slower_path):
    work, slower = (check(json.load(open(p))["traceEvents"], sync) for p in (path, slower_path))
    assert [event[:2] for event in work] == [event[:2] for event in slower], "another run"
    assert all(abs(3 * a[2] - b[2]) < 0.01 for a, b in zip(work, slower)), "other durations"


main(*sys.argv[1:])
