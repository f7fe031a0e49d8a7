# A trace without any duration has a critical path, through the times of its events.
. "$TOOLS/common.sh"
need python3
cat >zero.json <<'END'
{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 0, "args": {"External id": 1}},
{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 4, "dur": 0, "args": {"External id": 2}}]}
END
sed 's/"ts": 4/"ts": 1/' zero.json >moment.json
for trace in zero moment; do
    try sutra critical-path $trace.json
    for format in json chrome; do
        sutra critical-path $trace.json -q 2>/dev/null -f $format | python3 -c 'import json, sys; json.load(sys.stdin); print("well formed")'
    done
done
sed 's/"dur": 0/"dur": -1/' zero.json >negative.json
try sutra critical-path negative.json
