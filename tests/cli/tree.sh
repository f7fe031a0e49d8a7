# The call tree in its formats: text with limits, consistent JSON, flows in the trace; and errors.
. "$TOOLS/common.sh"
need python3
cat >device.json <<'END'
{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 11, "ts": 10.5, "dur": 40, "args": {"External id": 1, "Input type": ["float", "TensorList", "Scalar"], "Input Dims": [[8, 3], [[3], [4]], []]}},
{"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 11, "ts": 12, "dur": 20, "args": {"External id": 2}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 11, "ts": 13, "dur": 4, "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 30, "dur": 25, "args": {"correlation": 7, "stream": 7}},
{"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 11, "ts": 60, "dur": 3, "args": {"External id": 3}},
{"ph": "X", "cat": "kernel", "name": "lost", "pid": 0, "tid": 7, "ts": 90, "dur": 5, "args": {"correlation": 9, "stream": 7}}
]}
END
try sutra tree device.json --format text -o -
echo "cut:"
sutra tree device.json --format text --depth 2 --min-us 5 -q 2>/dev/null
echo "summary:"
sutra tree device.json -o tree.json 2>&1 | sed -E '/read$|written$|peak memory$/d'
echo "json:"
python3 - <<'END'
import json
for node in json.load(open("tree.json"))["nodes"]:
    print({key: node.get(key) for key in ("name", "parent", "depth", "children", "types", "shapes")})
END
echo "chrome:"
sutra tree device.json --format chrome -q -o flows.json.gz 2>/dev/null
gzip -dc flows.json.gz | tail -n 4
echo "events:"
echo '{"events": [{"kind": "TorchOp", "name": "aten::relu", "start_ns": 1, "end_ns": 9, "tid": 1, "inputs": [null, {"impl": 5, "storage": 6}]},
{"kind": "Allocation", "start_ns": 2, "tid": 1, "ptr": 6, "bytes": 8}]}' >events.json
sutra tree --events events.json -q
sutra tree --events events.json -q --format text
echo "statistics:"
sutra tree device.json -o tree.json -q --threads 2 --stats stats.json 2>/dev/null
sed -E 's/[0-9]+\.[0-9]{6}/SECONDS/; s/(peak_[a-z_]*|output_bytes)": [0-9]+/\1": BYTES/; s/(engine": ").*"/\1ENGINE"/' stats.json
sutra tree --events events.json -o tree.json -q --stats - | sed -n '/"n_events"/p; /"n_tensors"/p; /"open events"/p' |
    sed 's/[0-9.]*[0-9],/N,/'
echo "refused:"
try sutra tree device.json -q --stats -
try sutra tree device.json -q --stats device.json
try sutra tree device.json --host-trace host.json -q --stats host.json
try sutra tree device.json -q -o tree.json --stats tree.json
try sutra tree device.json -q -o tree.json --stats missing/stats.json
try sutra tree
try sutra tree device.json -o device.json
try sutra tree device.json --host-trace device.json
try sutra tree --events events.json device.json
try sutra tree --events events.json --host-trace device.json
try sutra tree --events events.json --format chrome
try sutra tree --events device.json
try sutra tree device.json --torch-version 3
