# Traces of Kineto until 2021 have other categories: all commands give the same results; empty results are reported.
. "$TOOLS/common.sh"
traces
# older: the categories of 2021; flows from launches had three names after one another.
older() { sed 's/"cat": "cpu_op"/"cat": "Operator"/; s/"cat": "cuda_runtime"/"cat": "Runtime"/; s/"cat": "kernel"/"cat": "Kernel"/; s/"cat": "gpu_memcpy"/"cat": "Memcpy"/; s/"cat": "ac2g"/"cat": "'"${1:-async}"'"/'; }
gzip -dc "$case/device.json.gz" | tr '\n' ' ' | sed 's/{"ph"/\n{"ph"/g' >device.json
older <device.json >older.json
echo "categories that are today's: $(grep -c -e '"cpu_op"' -e '"cuda_runtime"' -e '"kernel"' older.json)"
counts() { sutra info $1 -q | sed -n "/CPU operators/,/streams/p"; }
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
echo "flows alone tell the launch, whatever their name:"
cat >flow.json <<'END'
{"traceEvents": [
{"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 9},
{"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 3, "dur": 2},
{"ph": "X", "cat": "Kernel", "name": "sgemm", "pid": 0, "tid": "stream 7", "ts": 8, "dur": 5},
{"ph": "s", "id": 9, "pid": 1, "tid": 1, "ts": 3, "cat": "ac2g", "name": "launch"},
{"ph": "f", "id": 9, "pid": 0, "tid": "stream 7", "ts": 8, "cat": "ac2g", "name": "launch", "bp": "e"}]}
END
for name in async async_gpu async_cpu_to_gpu; do
    older $name <flow.json >named.json
    sutra correlate named.json -q -k ac2g -f csv | grep -c 'sgemm'
    sutra info named.json -q | grep "flow events"
done
