"""Checks `sutra convert`, `info` and `analyze nsys` on reports of Nsight Systems, rocprofv3 and rocmProfileData: facts about small databases,
and tables of random databases against direct implementations of the definitions of `nsys stats`.

    python3 nsys_check.py SUTRA FOLDER
"""

import collections
import csv
import gzip
import json
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys

import nsys_make
from nsys_make import DOMAIN, MARK, START_END, Report

SUTRA, FOLDER = sys.argv[1:3]
n_checks = 0


def check(what, found, expected):
    global n_checks
    n_checks += 1
    assert found == expected, "%s: %r, expected %r" % (what, found, expected)


def run(*words, status=0, **more):
    done = subprocess.run([SUTRA, *words], capture_output=True, text="input" not in more, **more)
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done


def path_of(name):
    return os.path.join(FOLDER, name)


def convert(path, *options):
    out = path_of("trace.json")
    run("convert", path, "-o", out, "-q", *options)
    with open(out) as file:
        return json.load(file)


def events(trace, **wanted):
    return [e for e in trace["traceEvents"] if all(e.get(k) == v for k, v in wanted.items())]


def event(trace, **wanted):
    found = events(trace, **wanted)
    check("number of events %r" % wanted, len(found), 1)
    return found[0]


def tables(path, *options):
    folder = path_of("tables")
    shutil.rmtree(folder, ignore_errors=True)
    run("analyze", "nsys", path, "-o", folder, "-q", *options)
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), newline="") as file:
            rows = list(csv.DictReader(file))
        found[name[:-4]] = [{k: v if k in ("name", "range", "style") else float(v) if "." in v else int(v)
                             for k, v in row.items()} for row in rows]
    return found


# ---- Facts about small databases ----

def check_full():
    path = path_of("full.sqlite")
    nsys_make.full(path)
    info = json.loads(run("info", path, "--json").stdout)
    check("kind", info["kind"], "nsys")
    check("ranks of NCCL", info["ranks"],
          [{"rank": 0, "pid": 9, "devices": [1]}, {"rank": 1, "pid": 7, "devices": [0]}])
    check("clock of the session", info["utc_offset_ns"], 1700000000000000000)
    trace = convert(path, "--rank", "1")
    check("head", (trace["baseTimeNanoseconds"], trace["distributedInfo"]),
          (1700000000000000000, {"rank": 1, "world_size": 2}))
    operator = event(trace, name="aten::mm")
    check("operator", (operator["cat"], operator["ts"], operator["dur"]), ("cpu_op", 0.02, 3.98))
    check("its arguments", operator["args"],
          {"Sequence number": 3, "Record function id": 11, "Input Dims": [[4, 8], [8, 2]]})
    flows = events(trace, cat="fwdbwd")
    check("forward and backward", [(f["ph"], f["id"], f["tid"], f["ts"]) for f in flows],
          [("s", 1, 7, 0.02), ("f", 1, 77, 5)])
    kernel = events(trace, cat="kernel", name="gemm")[0]
    check("kernel", (kernel["pid"], kernel["tid"], kernel["ts"], kernel["dur"]), (0, 5, 3, 2.001))
    check("its arguments", kernel["args"],
          {"device": 0, "stream": 5, "correlation": 1, "context": 1, "grid": [4, 2, 1], "block": [64, 1, 1],
           "registers per thread": 16, "shared memory": 128})
    collective = event(trace, cat="kernel", name="ncclDevKernel_AllGather")["args"]
    check("collective", {k: collective[k] for k in ("Collective name", "Process Group Name", "Group size", "dtype",
                                                    "In msg nelems", "Out msg nelems")},
          {"Collective name": "allgather", "Process Group Name": "0xab", "Group size": 2, "dtype": "Byte",
           "In msg nelems": 4096, "Out msg nelems": 8192})
    check("memcpy", event(trace, cat="gpu_memcpy")["name"], "Memcpy HtoD (Pinned -> Device)")
    check("memset", event(trace, cat="gpu_memset")["args"]["bytes"], 32)
    wait = event(trace, cat="cuda_sync")
    check("wait", (wait["name"], wait["tid"], wait["args"]["wait_on_stream"]), ("Stream Wait Event", 6, 5))
    check("graph", event(trace, name="CUDA graph 8")["args"]["graph id"], 8)
    check("step", event(trace, name="ProfilerStep#4")["tid"], 7)
    check("domain", event(trace, name="ncclAllGather")["args"], {"domain": "NCCL"})
    check("overhead", event(trace, cat="overhead")["name"], "overhead 2")
    check("call", event(trace, cat="cuda_runtime", name="cudaGraphLaunch")["tid"], 7)

    # The same text as a file, from a pipe, compressed, for any number of threads, and as REPORT/rankN.
    run("convert", path, "-o", path_of("one.json"), "--rank", "0", "-T", "1", "-q")
    run("convert", path + "/rank0", "-o", path_of("other.json.gz"), "-T", "3", "-q")
    run("convert", path, "-o", path_of("both") + "/", "-q")
    with open(path_of("one.json"), "rb") as one, gzip.open(path_of("other.json.gz")) as other, \
            gzip.open(path_of("both/rank0.json.gz")) as both:
        text = one.read()
        check("threads", other.read() == text, True)
        check("directory", both.read() == text, True)
    check("files of the directory", sorted(os.listdir(path_of("both"))), ["rank0.json.gz", "rank1.json.gz"])
    check("several ranks", "2 ranks in the report: select one with --rank" in
          run("convert", path, "-o", path_of("x.json"), status=64).stderr, True)
    check("commands for one trace", "select one, such as full.sqlite/rank0" in
          run("critical-path", path, status=64).stderr, True)
    check("unknown rank", "no rank 5 in the report: it has 2 ranks" in
          run("critical-path", path + "/rank5", status=64).stderr, True)
    with open(path, "rb") as file, gzip.open(path_of("full.sqlite.gz"), "wb") as packed:
        shutil.copyfileobj(file, packed)
    check("compressed", json.loads(run("info", path_of("full.sqlite.gz"), "--json").stdout)["ranks"], info["ranks"])

    # Commands read the report as they read its converted ranks.
    for words in (["analyze", "hta"], ["analyze", "operators"], ["analyze", "kernels"], ["analyze", "collectives"]):
        for name, inputs in (("direct", [path]), ("converted", [path_of("both")])):
            run(*words, *inputs, "-o", path_of(name), "-q", "--no-report")
        direct, converted = (sorted(os.listdir(path_of(n))) for n in ("direct", "converted"))
        check("tables of %s" % words, direct, converted)
        for name in direct:
            if name.endswith(".csv"):
                with open(path_of("direct/" + name)) as a, open(path_of("converted/" + name)) as b:
                    check(name, a.read().replace("full.sqlite/rank", "both/rank"), b.read().replace(".json.gz", ""))
        shutil.rmtree(path_of("direct"))
        shutil.rmtree(path_of("converted"))


def check_rocpd():
    traces = []
    for stamps in (False, True):
        path = path_of("rocpd.sqlite")
        nsys_make.rocpd(path, stamps)
        info = json.loads(run("info", path, "--json").stdout)
        check("rocpd", (info["kind"], info["ranks"]), ("rocpd", [{"rank": 0, "pid": 55, "devices": [1]}]))
        traces.append(convert(path))
    check("schemas", traces[0], traces[1])
    trace = traces[0]
    kernel = event(trace, cat="kernel")
    check("kernel", (kernel["name"], kernel["pid"], kernel["tid"], kernel["ts"], kernel["dur"]),
          ("gemm()", 1, 4, 1, 1.5))
    check("its arguments", kernel["args"],
          {"device": 1, "stream": 4, "correlation": 21, "grid": [4, 2, 1], "block": [64, 1, 1]})
    check("launches", [e["args"]["correlation"] for e in events(trace, cat="hip_runtime")], [21, 22])
    check("copy", event(trace, cat="gpu_memcpy")["args"]["bytes"], 4096)
    check("step", event(trace, name="ProfilerStep#2")["dur"], 8.9)


def check_rpd():
    path = path_of("trace.rpd")
    for schema in (1, 2, 3):
        nsys_make.rpd(path, schema)
        info = json.loads(run("info", path, "--json").stdout)
        check("schema %d" % schema, (info["kind"], info["ranks"]),
              ("rpd", [{"rank": 0, "pid": 90, "devices": [0]}, {"rank": 1, "pid": 70, "devices": [2]}]))
        check("skipped", info["skipped"], {"no valid start and end": 1, "NVTX mark": 1, "GPU activity without a launch": 1,
                                           "barrier of a queue: no GPU activity": 1})
        check("counts", (info["kernels"], info["calls"], info["ranges"]), (4, 4, 3 if schema == 3 else 2))
        trace = convert(path, "--rank", "1")
        check("kernels", sorted((e["name"], e["pid"], e["tid"], e["ts"], e["dur"]) for e in events(trace, cat="kernel")),
              [("add()", 2, 5, 4, 0.5), ("gemm()", 2, 5, 1, 1.5), ("unlinked", 2, 5, 4.8, 0.1)])
        launch = event(trace, name="hipLaunchKernel")
        check("launch", (launch["cat"], launch["pid"], launch["tid"], launch["ts"]), ("hip_runtime", 70, 71, 0.2))
        check("its kernel", event(trace, name="gemm()")["args"],
              {"device": 2, "stream": 5, "correlation": launch["args"]["correlation"]})
        graph = event(trace, name="hipGraphLaunch")["args"]["correlation"]
        check("a graph", (event(trace, name="add()")["args"]["correlation"], event(trace, cat="gpu_memset")["args"]),
              (graph, {"device": 2, "stream": 6, "correlation": graph}))
        copy = event(trace, cat="gpu_memcpy")
        check("copy", (copy["name"], copy["args"].get("bytes")),
              ("Memcpy HtoD (Host -> Device)", 4096 if schema > 1 else None))
        operator = event(trace, cat="cpu_op")
        check("operator of emit_nvtx()", (operator["name"], operator["args"]),
              ("aten::mm", {"Sequence number": 3, "Record function id": 11, "Input Dims": [[4, 8], [8, 2]]}))
        check("step", event(trace, name="ProfilerStep#4")["dur"], 8.9)
        other = convert(path, "--rank", "0")
        check("the other process", [e["name"] for e in other["traceEvents"] if e["cat"] != "ac2g"],
              ["hipLaunchKernel"] + ["aten::relu"] * (schema == 3) + ["gemm()"])
    nsys_make.rpd(path, rows=False)
    for words in (["info", path], ["analyze", path], ["convert", path, "-o", path_of("x.json.gz")]):
        error = run(*words, status=65).stderr
        check("empty: %s" % error, ("rocmProfileData report without activities" in error, "nsys" in error), (True, False))


def check_small():
    path = path_of("small.sqlite")
    with Report(path, drop=("globalPid",), suffix="_V4") as r:
        r.kernel(50, 70, r.call(10, 20))
        r.kernel(90, 80, r.call(30, 31))
        r.kernel(95, 99, 777)
        r.range(3, 4, "mark", kind=MARK)
        r.range(5, 60, "thread 7 to 8", kind=START_END, end_tid=8)
        r.range(6, None, "open")
    info = json.loads(run("info", path, "--json").stdout)
    check("old schema", info["ranks"], [{"rank": 0, "pid": 7, "devices": [0]}])
    check("skipped", info["skipped"], {
        "no valid start and end": 1, "NVTX mark": 1, "GPU activity without a launch": 1,
        "NVTX range without end: ends with the last range": 1,
        "NVTX range ends on another thread: no parent and no projection": 1})
    check("end of an open range", event(convert(path), name="open")["dur"], 0.054)
    check("projection", [r["range"] for r in tables(path)["nvtx_gpu_proj_sum"]], [":open"])

    with Report(path) as r:  # a group of calls; a graph; clocks
        r.nccl_schemas()
        r.row("CLOCK", utcEpochNs=10 ** 18, systemClockNs=100)
        r.range(0, None, "NCCL", kind=DOMAIN, domain=2)
        for start, text, values in ((110, "ncclGroupStart", ()), (120, "ncclSend", (1, 100)), (130, "ncclRecv", (1, 60))):
            r.nccl(start, start + 5, text, values=values)
        r.nccl(140, 190, "ncclGroupEnd")
        r.kernel(200, 210, r.call(150, 160), "ncclDevKernel_SendRecv")
        for i in range(2):
            r.range(300 + 100 * i, 380 + 100 * i, "body")
    trace = convert(path, "--annotation", "body")
    check("group", {k: event(trace, cat="kernel")["args"][k] for k in ("Collective name", "In msg nelems")},
          {"Collective name": "coalesced", "In msg nelems": 160})
    check("clock of the machine", trace["baseTimeNanoseconds"], 10 ** 18 - 100)
    check("steps", [e["name"] for e in trace["traceEvents"] if e["name"].startswith("ProfilerStep")],
          ["ProfilerStep#0", "ProfilerStep#1"])


def check_refused():
    def refused(path, message, status=65):
        for words in (["info", path], ["analyze", "hta", path], ["convert", path, "-o", path_of("x.json.gz")],
                      ["analyze", "nsys", path]):
            error = run(*words, status=status).stderr
            check("one line of %r" % words, len(error.splitlines()), 1)
            check("error of %r: %s" % (words, error), message in error, True)

    path = path_of("other.sqlite")
    sqlite3.connect(path).executescript("create table runs (a); create table jobs (b);").close()
    refused(path, "neither an nsys export nor a rocpd database (no table StringIds, rocpd_string or rocpd_op; tables: runs, jobs)")
    path = path_of("empty.sqlite")
    Report(path).__exit__()
    refused(path, "no CUDA activity and no NVTX ranges")
    path = path_of("open.sqlite")
    with Report(path) as r:
        r.kernel(50, 70, r.call(10, 20))
    with open(path + "-wal", "wb") as file:
        file.write(b"log")
    refused(path, "open write-ahead log")
    path = path_of("cut.sqlite")
    with Report(path) as r:
        for i in range(2000):
            r.kernel(50 + i, 70 + i, r.call(10 + i, 20 + i))
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) // 2)
    refused(path, "truncated or corrupt SQLite database")
    for path, message in nsys_make.refused(FOLDER):
        refused(path, message)
    path = path_of("report.nsys-rep")
    with open(path, "wb") as file:
        file.write(bytes(range(256)))
    refused(path, "nsys export --type sqlite")


# ---- Random databases against direct implementations ----

def summary(values, unit):
    return {"total_" + unit: sum(values), "instances": len(values),
            "avg_" + unit: round(sum(values) / len(values), 1), "med_" + unit: round(float(statistics.median(values)), 1),
            "min_" + unit: min(values), "max_" + unit: max(values),
            "stddev_" + unit: round(statistics.stdev(values), 1) if len(values) > 1 else 0.0}


def same(what, found, expected):
    """Rows in their order; averages may differ in the last digit."""
    check(what + ": rows", len(found), len(expected))
    for a, b in zip(found, expected):
        for key, value in b.items():
            near = isinstance(value, float) and abs(a[key] - value) <= 0.1 + 1e-9 * abs(value)
            check("%s: %s of %r" % (what, key, b), a[key] if not near else value, value)


def grouped(pairs, unit="ns"):
    groups = collections.defaultdict(list)
    for name, value in pairs:
        groups[name].append(value)
    rows = [{"name": name, **summary(values, unit)} for name, values in groups.items()]
    return sorted(rows, key=lambda r: (-r["total_" + unit], r["instances"], r["name"]))


def check_random(seed):
    generator = random.Random(seed)
    path = path_of("random.sqlite")
    calls, work, ranges = [], [], []  # as they are written
    with Report(path) as r:
        for i in range(generator.randrange(1, 120)):
            pid, tid = generator.choice((7, 9)), generator.choice((70, 71))
            start = generator.randrange(2000)
            end = start + generator.randrange(60)
            name = generator.choice(("cudaLaunchKernel", "cudaMemcpyAsync"))
            correlation = r.call(start, end, name + "_v3020", pid=pid, tid=tid)
            calls.append((pid, tid, start, end, correlation, name))
            for _ in range(generator.randrange(3)):
                device, stream = pid % 2 + generator.randrange(2), generator.randrange(3)
                start = generator.randrange(3000)
                end = start + generator.randrange(100)
                if generator.random() < 0.3:
                    r.gpu("MEMCPY", start, end, correlation, pid=pid, device=device, stream=stream, bytes=start,
                          copyKind=2, srcKind=2, dstKind=0)
                    work.append((pid, device, stream, start, end, correlation, "memcpy", start))
                else:
                    name = generator.choice(("gemm", "add", "ncclDevKernel_AllReduce"))
                    r.kernel(start, end, correlation, name, pid=pid, device=device, stream=stream)
                    work.append((pid, device, stream, start, end, correlation, name, 0))
        for i in range(generator.randrange(40)):
            pid, tid = generator.choice((7, 9)), generator.choice((70, 71))
            start = generator.randrange(2000)
            end = start + generator.randrange(900)
            kind, text = generator.choice((nsys_make.PUSH_POP, START_END)), generator.choice("abc")
            r.range(start, end, text, pid=pid, tid=tid, kind=kind)
            ranges.append((pid, tid, start, end, kind, text))
    found = tables(path, "--min-gap-ns", "20")
    kernels = [w for w in work if w[6] != "memcpy"]
    for name, pairs in (("cuda_gpu_kern_sum", [(w[6], w[4] - w[3]) for w in kernels]),
                        ("cuda_api_sum", [(c[5], c[3] - c[2]) for c in calls]),
                        ("cuda_gpu_mem_time_sum",
                         [("[CUDA memcpy Device-to-Host]", w[4] - w[3]) for w in work if w[6] == "memcpy"])):
        expected = grouped(pairs)
        total = sum(r["total_ns"] for r in expected)
        for row in expected:
            row["time_percent"] = round(100.0 * row["total_ns"] / total, 1) if total else 0.0
        same(name, found[name], expected)
    same("cuda_gpu_mem_size_sum", found["cuda_gpu_mem_size_sum"],
         grouped([("[CUDA memcpy Device-to-Host]", w[7]) for w in work if w[6] == "memcpy"], "bytes"))

    # Projection: the GPU activity whose call is inside of the range, on its thread.
    projected = collections.defaultdict(list)
    for pid, tid, start, end, kind, text in ranges:
        inside = {c[4] for c in calls if c[:2] == (pid, tid) and start <= c[2] and c[3] <= end}
        spans = [w for w in work if w[0] == pid and w[5] in inside]
        if spans:
            key = (":" + text, "StartEnd" if kind == START_END else "PushPop")
            projected[key].append((max(w[4] for w in spans) - min(w[3] for w in spans), end - start,
                                   len({w[5] for w in spans})))
    expected = []
    for (text, style), list_of in projected.items():
        stats = summary([x[0] for x in list_of], "ns")
        expected.append({"range": text, "style": style, "total_proj_ns": stats["total_ns"],
                         "total_range_ns": sum(x[1] for x in list_of), "instances": len(list_of),
                         "gpu_ops": sum(x[2] for x in list_of),
                         **{"proj_" + k: stats[k] for k in ("avg_ns", "med_ns", "min_ns", "max_ns", "stddev_ns")}})
    expected.sort(key=lambda row: (-row["total_proj_ns"], row["range"], row["style"]))
    same("nvtx_gpu_proj_sum", sorted(found["nvtx_gpu_proj_sum"], key=lambda row: (-row["total_proj_ns"], row["range"],
                                                                                 row["style"])), expected)
    # Times of each GPU of a rank, by counting nanoseconds.
    ranks = json.loads(run("info", path, "--json").stdout)["ranks"]
    exposed, gaps = [], []
    for rank in ranks:
        for device in rank["devices"]:
            mine = [w for w in work if w[:2] == (rank["pid"], device)]
            sets = [set(), set(), set()]
            for w in mine:
                kind = 2 if w[6] == "memcpy" else 1 if "nccl" in w[6] else 0
                sets[kind].update(range(w[3], w[4]))
            compute, communication, memory = sets
            busy = compute | communication | memory
            span = max(w[4] for w in mine) - min(w[3] for w in mine)
            exposed.append({"rank": rank["rank"], "device": device, "span_ns": span, "compute_ns": len(compute),
                            "communication_ns": len(communication),
                            "exposed_communication_ns": len(communication - compute), "memory_ns": len(memory),
                            "exposed_memory_ns": len(memory - compute - communication), "idle_ns": span - len(busy)})
            order = sorted(busy)
            gaps += [{"rank": rank["rank"], "device": device, "start_ns": a + 1, "dur_ns": b - a - 1}
                     for a, b in zip(order, order[1:]) if b - a - 1 >= 20]
    same("exposed", found["exposed"], exposed)
    same("gpu_gaps", found["gpu_gaps"], gaps)


def check_shared():
    """A report whose ranks are analyzed together is read once: thousands of processes, and results as of single traces."""
    path = path_of("processes.sqlite")
    with Report(path) as r:
        for i in range(6000):
            r.kernel(10 * i + 3, 10 * i + 8, r.call(10 * i, 10 * i + 2, pid=i + 1), pid=i + 1)
    verdict = json.loads(run("analyze", path, "--format", "json", "-q").stdout)["verdict"]
    check("ranks of thousands of processes", verdict["n_ranks"], 6000)
    path, folder = path_of("full.sqlite"), path_of("ranks")
    run("convert", path, "-o", folder + "/", "-q")
    results = []
    for threads, traces in ((1, path), (3, path), (1, folder)):
        run("analyze", "hta", traces, "--threads", str(threads), "-o", path_of("hta"), "-q", "--no-report")
        results.append({name: open(path_of("hta/" + name)).read() for name in os.listdir(path_of("hta"))
                        if name.endswith(".csv") and name != "rank_summary.csv"})  # which names the traces
        shutil.rmtree(path_of("hta"))
    check("tables of a report by 1 and 3 threads", results[0], results[1])
    check("tables of a report and of its traces", results[0], results[2])


check_full()
check_rocpd()
check_rpd()
check_small()
check_refused()
check_shared()
for seed in range(12):
    check_random(seed)
print("%d checks" % n_checks)
