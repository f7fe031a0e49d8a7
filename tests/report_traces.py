#!/usr/bin/env python3
"""report_traces.py FOLDER - makes device traces that are hard on a report: hostile.json, long.json, many/rank*.json.

Names that are markup, scripts, control characters, lone surrogates, text that runs from right to left, very long or empty;
streams with such names; times below zero and near the limits; dozens of ranks and streams.
"""
import json
import os
import random
import sys

NAMES = ["<script>alert(1)</script>", "</svg></style><script>alert(2)</script>", '"><img src=x onerror=alert(3)>', "&amp;<&>'\"",
         "a\x00b\x01\x1b\x7f\x85\u2028", "\ud800 lone \udfff", "\u202egnp.exe\u2066", "]]>--><!-- <![CDATA[", "\ufffe\uffff",
         "核函数<半精度>" * 9, "🙂" * 50, "", " ", "x" * 10_000, "&" * 10_000, "<" * 3_000 + "é" * 3_000, "javascript:alert(4)",
         "{{7*7}}${7*7}", "aten::mm", "ncclKernel_<b>", "Memcpy HtoD <i>", "Memset \"x\"", "## Forward ##", "cudaLaunchKernel"]


def event(name, cat, ts, dur, tid=1, **args):
    return {"ph": "X", "name": name, "cat": cat, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def trace(names, n, streams, seed, scale=1):
    rnd = random.Random(seed)
    events, ts = [event("## Forward ##", "user_annotation", 0, n * 100 * scale)], 1
    for i in range(1, n):
        name, stream = rnd.choice(names), rnd.choice(streams)
        dur = rnd.choice([0, 1, 7, 60]) * scale
        events.append(event(name, "cpu_op", ts, 40 * scale, **{"External id": i, "Input Dims": [[i % 3, 2], []]}))
        events.append(event("cudaLaunchKernel", "cuda_runtime", ts + 2 * scale, 5 * scale, correlation=i, **{"External id": i}))
        events.append(event(rnd.choice(names), rnd.choice(["kernel", "gpu_memcpy"]), ts + 20 * scale, dur, tid=9, stream=stream,
                            correlation=i, **{"External id": i, "memory bandwidth (GB/s)": rnd.random() * 900}))
        ts += rnd.choice([41, 60, 99]) * scale
    events.append(event("## Forward ##", "cpu_op", ts, 5))
    return {"traceEvents": events, "schemaVersion": 1}


def write(path, value):
    with open(path, "w") as file:
        json.dump(value, file)


if __name__ == "__main__":
    folder = sys.argv[1]
    odd_streams = [0, 7, "<b>", "../../x", "a/b", "a_b", "\x00", "x" * 300, -1, 2**62]
    write(os.path.join(folder, "hostile.json"), trace(NAMES, 400, [0, 7, 20], 1))
    write(os.path.join(folder, "streams.json"), trace(NAMES, 400, odd_streams, 2))
    write(os.path.join(folder, "long.json"), trace([chr(0x100 + i) * 9_999 + "&<" for i in range(60)], 1_000, [7], 3))
    write(os.path.join(folder, "tiny.json"), trace(["k"], 3, [7], 4, scale=0.001))
    write(os.path.join(folder, "huge.json"), trace(["k", "l"], 30, [7], 5, scale=10**12))
    write(os.path.join(folder, "bare.json"), {"traceEvents": [event("a", "cpu_op", 1, 2)]})
    os.mkdir(os.path.join(folder, "many"))
    for rank in range(70):
        write(os.path.join(folder, "many", f"rank{rank}.json"),
              trace(["k", "ncclKernel_a", "Memcpy HtoD", "l<x>"], 60 + rank, range(12), 10 + rank))
    with open(os.path.join(os.fsencode(folder), b"many/\xff<rank>99.json"), "w") as file:
        file.write("{")
