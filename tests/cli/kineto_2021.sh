# Traces of Kineto until 2021 have other categories: all commands see the same in them as in today's; an empty result is told.
. "$TOOLS/common.sh"
traces
older() { sed 's/"cat": "cpu_op"/"cat": "Operator"/; s/"cat": "cuda_runtime"/"cat": "Runtime"/; s/"cat": "kernel"/"cat": "Kernel"/; s/"cat": "gpu_memcpy"/"cat": "Memcpy"/'; }
gzip -dc "$case/device.json.gz" | tr '\n' ' ' | sed 's/{"ph"/\n{"ph"/g' >device.json
older <device.json >older.json
echo "categories that are today's: $(grep -c -e '"cpu_op"' -e '"cuda_runtime"' -e '"kernel"' older.json)"
counts() { sutra info $1 -q | sed -n '/CPU operators/,/streams/p'; }
counts device.json >new && counts older.json | diff new - && echo "info: the same, of which the linkers take none"
sutra tree device.json -q --format text >new && sutra tree older.json -q --format text | diff new - && echo "tree: the same"
sutra correlate device.json -q >new && sutra correlate older.json -q | diff new - && echo "correlate: the same"
sutra critical-path older.json -f json -o path.json 2>&1 | grep -o '(no event.*'
grep -c '"kernel"\|"operator"' path.json
echo "nothing:"
echo '{"traceEvents": [{"ph": "X", "cat": "other", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}' >nothing.json
try sutra tree nothing.json --format text
try sutra correlate nothing.json
sed 's/other/cpu_op/' nothing.json >operator.json
try sutra correlate operator.json
