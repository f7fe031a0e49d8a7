# Many host operators of one external id: the output grows quadratically, which is reported before and can be refused.
. "$TOOLS/common.sh"
need python3
python3 - <<'END'
import json
n = 120
nodes = [{"id": 1, "name": "[pytorch|profiler|execution_trace|thread]", "ctrl_deps": 1, "attrs": []}]
events = []
for i in range(n):
    nodes.append({"id": i + 2, "name": "a", "ctrl_deps": 1, "attrs": [{"name": "rf_id", "type": "uint64", "value": i + 1}]})
    where = {"ph": "X", "pid": 1, "tid": 1, "dur": 2}
    events.append({**where, "cat": "cpu_op", "name": "a", "ts": 10 * i, "args": {"External id": 7, "Record function id": i + 1}})
    events.append({**where, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 10 * i + 1,
                   "args": {"External id": 7, "correlation": i + 1}})
    events.append({**where, "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10 * i + 5,
                   "args": {"External id": 7, "correlation": i + 1, "stream": 7}})
json.dump({"schema": "1.1.1-chakra.0.0.4", "nodes": nodes}, open("host.json", "w"))
json.dump({"schemaVersion": 1, "traceEvents": events}, open("device.json", "w"))
END
sutra link host.json device.json -o out.json --no-sync 2>told >/dev/null || exit 1
grep warning told
python3 -c '
import json, os, re
told = float(re.search(r"about ([0-9.]+) MB", open("told").read())[1])
assert abs(told * 1e6 - os.path.getsize("out.json")) < 0.1 * told * 1e6, (told, os.path.getsize("out.json"))
'
rm out.json
try sutra link host.json device.json -o out.json --no-sync --max-output 1M | sed 's/[0-9.]* MB/N MB/'
[ ! -e out.json ]
echo "-- many operators of one Ev Idx, linked by names and order"
python3 - <<'END'
import json
tensors = {"inputs": {"values": [], "shapes": [], "types": []}, "outputs": {"values": [], "shapes": [], "types": []}}
host, device = json.load(open("host.json")), json.load(open("device.json"))
process = {"name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1, "attrs": []}
host["nodes"] = [{**process, "id": 1}] + [{**node, **tensors, "id": node["id"] + 1} for node in host["nodes"]]
for event in device["traceEvents"]:
    event["args"]["Ev Idx"] = 5
    event["dur"] = 8 if event["cat"] == "cpu_op" else 2
    if event["cat"] != "cpu_op":
        event["args"]["External id"] = event["args"]["correlation"]
json.dump(host, open("host.json", "w"))
json.dump(device, open("device.json", "w"))
END
sutra link-legacy host.json device.json -o out.json 2>told >/dev/null || cat told
grep 'the output' told | sed 's/[0-9.]* MB/N MB/'
grep -c '"kernel"' out.json
rm out.json
sutra link-legacy host.json device.json -q -o out.json --max-output 1M 2>&1 >/dev/null | sed 's/[0-9.]* MB/N MB/'
ls out.json 2>/dev/null || echo "no output"
