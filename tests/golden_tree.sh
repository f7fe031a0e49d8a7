# golden_tree.sh - tests call trees, tensor ids and forward/backward pairs against PyTorch's, for any number of threads.
#
# A case is NAME.json.gz, events that PyTorch recorded with the parents and ids that it computed, or
# NAME.chrome.json.gz, a trace that PyTorch exported from the same run, with its own forward/backward flows. $DATA names
# another directory of cases. The trace must give the same parents, and the same pairs without the flows. In the traces
# of $DATA/link, the parents of kernels must be their launches, and the parents of launches the operator with the same
# External id. Without one, it is the innermost enclosing operator.
set -u
command -v python3 >/dev/null || { echo "needs the program python3"; exit 77; }
exec python3 - "$SUTRA" "${DATA:-tests/data}" <<'END'
import collections, csv, glob, gzip, io, json, os, subprocess, sys, tempfile

sutra, data = sys.argv[1:]
n_checks, failed = 0, []


def run(*words):
    return subprocess.run([sutra, *words, "-q"], check=True, stdout=subprocess.PIPE).stdout.decode()


def check(name, good):
    global n_checks
    n_checks += 1
    if not good:
        failed.append(name)


def flows(events, phase):
    return {e["id"]: (e["tid"], e["ts"]) for e in events if e.get("cat") == "fwdbwd" and e["ph"] == phase}


def check_events(path, case, threads):
    got = json.loads(run("tree", "--events", path, "--threads", threads))
    check(f"{path}: parents", got["parent"] == case["expected"]["parent"])
    check(f"{path}: tensor ids", got["tensor_ids"] == case["expected"]["tensor_ids"])


def pairs(path, threads):
    rows = csv.DictReader(io.StringIO(run("correlate", path, "--format", "csv", "--threads", threads)))
    return {int(r["flow_id"]): ((int(r["forward_tid"]), float(r["forward_ts"])),
                                (int(r["backward_tid"]), float(r["backward_ts"]))) for r in rows}


def check_flows(path, trace, threads):
    starts, ends = flows(trace["traceEvents"], "s"), flows(trace["traceEvents"], "f")
    expected = {i: (starts[i], ends[i]) for i in starts}
    check(f"{path}: pairs", pairs(path, threads) == expected)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as bare:
        json.dump({"traceEvents": [e for e in trace["traceEvents"] if e.get("cat") != "fwdbwd"]}, bare)
        bare.flush()
        check(f"{path}: pairs without flows", pairs(bare.name, threads) == expected)
    again = json.loads(run("correlate", path, "--format", "chrome", "--threads", threads))["traceEvents"]
    check(f"{path}: flows", flows(again, "s") == starts and flows(again, "f") == ends)
    others = [[e for e in events if e.get("cat") != "fwdbwd"] for events in (again, trace["traceEvents"])]
    check(f"{path}: other events", others[0] == others[1])


def check_parents(path, trace_path):
    """Events of both are brought together by name and time, which has another origin in the trace."""
    events, expected = (json.load(gzip.open(path))[key] for key in ("events", "expected"))
    nodes = json.loads(run("tree", trace_path))["nodes"]
    later = events[0]["start_ns"] - nodes[0]["start_ns"]
    rows = collections.defaultdict(list)
    for i, e in enumerate(events):
        rows[e["start_ns"], e["name"]].append(i)
    row = [rows[n["start_ns"] + later, n["name"]].pop(0) for n in nodes]
    got = dict(zip(row, (-1 if n["parent"] is None else row[n["parent"]] for n in nodes)))
    check(f"{trace_path}: parents", got == dict(enumerate(expected["parent"])))


def innermost(operators, call):
    around = [o for o in operators if o["ts"] <= call["ts"] and call["ts"] + call["dur"] <= o["ts"] + o["dur"]]
    least = min((o["dur"] for o in around), default=None)
    return [id(o) for o in around if o["dur"] == least]


def check_launches(path, events):
    nodes = json.loads(run("tree", path))["nodes"]
    above = {id(events[n["event"]]): None if n["parent"] is None else events[nodes[n["parent"]]["event"]] for n in nodes}
    launches, operators, by_external_id = collections.defaultdict(list), collections.defaultdict(list), {}
    for e in events:
        if e.get("cat") == "cuda_runtime":
            launches[e["args"]["correlation"]].append(id(e))
        if e.get("cat") in ("cpu_op", "user_annotation"):
            operators[e["pid"], e["tid"]].append(e)
            if "External id" in e["args"]:
                by_external_id[e["args"]["External id"]] = id(e)
    for e in events:
        parent = above.get(id(e))
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and e["args"]["correlation"] in launches:
            check(f"{path}: {e['name']}", id(parent) in launches[e["args"]["correlation"]])
        if e.get("cat") == "cuda_runtime":
            # nccl:all_reduce encloses calls that Kineto links with record_param_comms around it.
            linked = by_external_id.get(e["args"].get("External id"))
            expected = [linked] if linked else innermost(operators[e["pid"], e["tid"]], e)
            check(f"{path}: {e['name']}", not expected or id(parent) in expected)


for path in sorted(glob.glob(data + "/profiler/*.json.gz")):
    for threads in ("1", "2", "7"):
        case = json.load(gzip.open(path))
        (check_flows if path.endswith(".chrome.json.gz") else check_events)(path, case, threads)
for path in sorted(glob.glob(data + "/profiler/*.chrome.json.gz")):
    if os.path.exists(path.replace(".chrome", "")):
        check_parents(path.replace(".chrome", ""), path)
for path in sorted(glob.glob(data + "/link/*/device.json.gz")):
    check_launches(path, json.load(gzip.open(path))["traceEvents"])
print(f"{n_checks} checks, {len(failed)} failed", *failed[:20], sep="\n")
if not n_checks:
    print(f"no cases in {data}")
    sys.exit(77)
sys.exit(bool(failed))
END
