# The critical path in three formats: consistent JSON, the trace with marks, text whose times add up.
. "$TOOLS/common.sh"
need python3
traces
sutra critical-path device.json -q | sed -E '/^ +at/,$d; s/[0-9][0-9,.]*/N/g; s/^ +N +N +% +N/N N % N/' |
    grep -E '^[a-z]|^  [a-z]|^ +us|N  (operator|kernel|launch latency|kernel gap|synchronization|dependency)$'
sutra critical-path device.json -q --format json -o path.json || exit 1
sutra critical-path device.json -q --format chrome -o marked.json.gz || exit 1
gzip -d marked.json.gz
python3 - <<'END'
import json
path, old, new = json.load(open("path.json")), json.load(open("device.json")), json.load(open("marked.json"))
nodes, edges = path["nodes"], {(u, v): (w, kind) for u, v, w, kind in path["edges"]}
steps = list(zip(path["path"], path["path"][1:]))
assert steps and all(step in edges for step in steps)
total = sum(edges[step][0] for step in steps)
breakdown = path["breakdown"]
assert abs(breakdown["total_us"] - total) < 1e-6 * total
assert abs(sum(breakdown["by_kind_us"].values()) - total) < 1e-6 * total
assert abs(sum(share["us"] for share in breakdown["shares"]) - total) < 1e-6 * total
assert sum(share["edges"] for share in breakdown["shares"]) == len(steps)
n = len(old["traceEvents"])
marked = {i for i, event in enumerate(new["traceEvents"][:n]) if event.get("args", {}).pop("critical_path", 0)}
assert marked == {i for i, event in enumerate(new["traceEvents"][:n]) if event.get("args", {}).pop("critical", 0)}
assert marked == {nodes[node][0] for node in path["path"]}
added = new["traceEvents"][n:]
flows = [event for event in added if event["ph"] != "X"]
spans = {event["name"][:6]: event for event in added if event["ph"] == "X"}
covered = path["coverage"]
assert abs(spans["critic"]["dur"] - (covered["end_us"] - covered["begin_us"])) < 1
assert covered["path_us"] == breakdown["total_us"] <= covered["window_us"] + 1
assert ("before" in spans) == (covered["before_path"]["us"] > 0) and ("after " in spans) == (covered["after_path"]["us"] > 0)
first = nodes[path["path"][0]][1]
outside = [node for node in nodes if node[2] and first - covered["begin_us"] <= node[1] < first]
assert len(outside) == covered["before_path"]["operators"] + covered["before_path"]["kernels"]
assert new["traceEvents"][:n] == old["traceEvents"]
assert len(flows) == 2 * sum(nodes[u][0] != nodes[v][0] for u, v in steps)
assert all(flow["ph"] in "sf" for flow in flows)
END
# A marked trace of the path alone, as HTA's overlay; one with all edges of the graph; and HTA's newest rules.
sutra critical-path device.json -q --format chrome --only-critical --edges arrows -o few.json || exit 1
sutra critical-path device.json -q --format chrome --edges all -o all.json || exit 1
sutra critical-path device.json -q --hta-version 0.6 --format json -o newer.json || exit 1
sutra critical-path device.json -q --rules hta-0.6 --format json | cmp - newer.json
python3 - <<'END'
import json
path, old = json.load(open("path.json")), json.load(open("device.json"))
few, whole, newer = (json.load(open(name + ".json")) for name in ("few", "all", "newer"))
nodes, steps = path["nodes"], set(zip(path["path"], path["path"][1:]))
events = lambda trace: [e for e in trace["traceEvents"] if e.get("cat") != "critical_path"]
starts = lambda trace: [e for e in trace["traceEvents"] if e.get("cat") == "critical_path" and e["ph"] == "s"]
kept = [e for e in events(few) if e["ph"] == "X"]
assert len(events(few)) < len(events(whole)) == len(old["traceEvents"])
assert sum(e["args"].get("critical", 0) for e in kept) == len({nodes[node][0] for node in path["path"]})
assert all(e["args"].get("critical") or e["cat"] in ("user_annotation", "python_function") for e in kept)
assert [e for e in events(few) if e["ph"] != "X"] == [e for e in old["traceEvents"] if e["ph"] != "X"]
waits = ("critical_path_dependency", "critical_path_kernel_launch_delay", "critical_path_sync_dependency")
assert starts(few) and all(e["args"]["critical"] and e["args"]["type"] in waits for e in starts(few))
between = [(u, v) for u, v, _, _ in path["edges"] if nodes[u][0] != nodes[v][0]]
assert len(starts(whole)) == len(between)
assert sum(e["args"]["critical"] for e in starts(whole)) == len(steps.intersection(between))
assert (path["hta_version"], newer["hta_version"]) == ("0.5", "0.6") and newer["map"] == path["map"]
END
quietly sutra critical-path device.json --only-critical
quietly sutra critical-path device.json --rules full --hta-version 0.6
quietly sutra critical-path device.json --data-loading DataLoader
sutra critical-path device.json -q --rules full | sed -E 's/[0-9][0-9,.]*/N/g; s/^ +N +N +% +N/N N % N/' | sed '/waits  kind/,$d'
sutra critical-path device.json -q --rules full | awk 'length($0) > 80'
sutra critical-path device.json -q --rules full --format json -o full.json || exit 1
python3 - <<'END'
import json
full, old = json.load(open("full.json")), json.load(open("device.json"))
steps, at = full["path"], 0
for step in steps:
    assert step["start_us"] == at < step["end_us"]
    at = step["end_us"]
assert at == full["us"] and abs(full["us"] / full["measured_us"] - 1) <= 0.005
for sums in full["kinds"], full["shares"]:
    assert abs(sum(share["us"] for share in sums) - full["us"]) < 1e-6 * full["us"]
    assert sum(share["steps"] for share in sums) == len(steps)
assert sum(share["waits"] for share in full["shares"]) == full["waits"] == sum("awaited" in step for step in steps)
slack = full["slack"]
events = old["traceEvents"]
on_path = {step["event"] for step in full["path"] if "event" in step}
assert [s["event"] for s in slack] == sorted({s["event"] for s in slack})
assert all(events[s["event"]]["name"] == s["name"] and s["slack_us"] >= 0 for s in slack)
assert {s["event"] for s in slack if s["slack_us"] == 0} <= on_path | {s["event"] for s in slack if s["kind"] == "operator"}
assert any(s["slack_us"] > 1 for s in slack)
END
echo "annotations:"
sutra critical-path device.json -q --annotation nothing_of_this_name 2>&1
echo "exit $?"
echo "an empty annotation:"
sutra critical-path device.json -q --annotation '' | grep window:
echo "steps:"
sutra gen --events 4k --host host.json --device steps.json -q
for steps in 1 0-1; do
    sutra critical-path steps.json -q --step $steps | grep window:
    sutra critical-path steps.json -q --rules full --step $steps | grep window:
done
sutra critical-path steps.json -q --annotation ProfilerStep#1 -o annotation.json
sutra critical-path steps.json -q --step 1 -f json | cmp - annotation.json
try sutra critical-path steps.json -q --step 9
try sutra critical-path steps.json -q --rules full --step 9
try sutra critical-path steps.json -q --step 1 --annotation forward
try sutra critical-path steps.json -q --step 1 --instance 1
try sutra critical-path
try sutra critical-path device.json -o device.json
try sutra critical-path device.json --rules full --format chrome
try sutra critical-path device.json -q --rules full --instance 1000
echo "--- many streams, each with many synchronizations of the device: the graph is quadratic"
python3 - <<'END'
import json
events = []
for i in range(400):
    launch, wait = {"External id": i, "correlation": i}, {"External id": 400 + i, "correlation": 400 + i}
    events += [{"cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 2, "args": launch},
               {"cat": "kernel", "name": "k", "pid": 0, "tid": i, "ts": 10 * i + 2, "dur": 4,
                "args": {**launch, "stream": i, "device": 0}},
               {"cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": 10 * i + 3, "dur": 5, "args": wait},
               {"cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": -1, "ts": 10 * i + 3, "dur": 5,
                "args": {**wait, "cuda_sync_kind": "Context Sync", "stream": -1, "device": 0}}]
json.dump({"traceEvents": [{"ph": "X", **event} for event in events]}, open("streams.json", "w"))
END
for options in "--format text" "--format chrome" "--format json" "--format chrome --edges all"; do
    echo "$options"
    sutra critical-path streams.json $options -o graph.json 2>&1 | grep 'output'
    python3 -c '
import os, re, sys
found = re.search(r"about ([0-9.]+) MB", sys.argv[1])
size = os.path.getsize("graph.json")
assert abs(float(found[1]) * 1e6 - size) < 0.2 * size + 5e4, (found[1], size)
' "$(sutra critical-path streams.json $options -o no.json --max-output 1k 2>&1)"
done
try sutra critical-path streams.json --format json -o no.json --max-output 1M 2>&1 | grep -v 'using extended rules'
try sutra critical-path streams.json -o no.json --max-output 1k 2>&1 | grep -v 'using extended rules'
sutra critical-path streams.json --format json -q 2>/dev/null -o graph.json
sutra critical-path streams.json --format json -q 2>/dev/null --max-output 4M | cmp - graph.json
try sutra critical-path streams.json --rules full --max-output 1M
ls no.json 2>/dev/null || echo "no output"
