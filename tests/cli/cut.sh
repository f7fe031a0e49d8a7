# Cut traces: kept events, the summary, errors, and the written files.
. "$TOOLS/common.sh"
cat >device.json <<'END'
{"schemaVersion": 1, "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 10, "dur": 50},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 12, "dur": 5.50, "args": {"Record function id": 4}},
{"ph": "X", "cat": "python_function", "name": "train.py(3): step", "pid": 1, "tid": 1, "ts": 61, "dur": 9},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 1, "tid": 1, "ts": 60, "dur": 50},
{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 62, "dur": 5, "args": {"Record function id": 5}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 63, "dur": 1, "args": {"correlation": 7}},
{"ph": "s", "id": 7, "pid": 1, "tid": 1, "ts": 63, "cat": "ac2g", "name": "ac2g"},
{"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 170, "dur": 20, "args": {"correlation": 7, "stream": 7}},
{"ph": "f", "id": 7, "pid": 0, "tid": 7, "ts": 170, "cat": "ac2g", "name": "ac2g", "bp": "e"}
], "traceName": "device.json"}
END
cat >host.json <<'END'
{"schema": "1.0.1", "nodes": [
{"id": 1, "name": "root", "parent": 1}, {"id": 2, "name": "thread", "parent": 1},
{"id": 3, "name": "aten::mm", "parent": 2, "rf_id": 4}, {"id": 4, "name": "aten::add", "parent": 2, "rf_id": 5}
]}
END
try sutra cut device.json --step 4 -q
try sutra cut device.json --side gpu --no-python -q
echo "a pair:"
sutra cut device.json --step 3 -o d.json --host host.json --host-out h.json 2>&1 | sed '/peak memory$/d'
cat h.json
sutra cut device.json --min-us 6 -o d.json 2>&1 | sed '/peak memory$/d'
echo "all of it is the same file, also compressed:"
sutra cut device.json -o same.json -q && cmp device.json same.json && echo same
sutra cut device.json -o same.json.gz -q && gzip -dc same.json.gz | cmp device.json - && echo same
sutra cut - -q <device.json | cmp device.json - && echo same
echo "statistics:"
sutra cut device.json --step 4 -o d.json -q --stats - | sed -n '/counts/,/}/p'
echo "the timeline of a range, with the launch that precedes it:"
sutra cut device.json --overlap --from-us 160 --to-us 170 -q
echo "refused:"
try sutra cut device.json --overlap
try sutra cut
try sutra cut device.json --step 9
try sutra cut device.json -o device.json
try sutra cut device.json --host host.json
try sutra cut device.json --host host.json --host-out host.json -o d.json
try sutra cut device.json --host host.json --host-out d.json -o d.json
try sutra cut device.json --host host.json --host-out h.json --side gpu -o d.json
try sutra cut device.json --from-us 9 --to-us 9
try sutra cut host.json
try sutra cut missing.json
try sutra cut device.json -o missing/d.json
ls
