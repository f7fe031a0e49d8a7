# Pairs of forward and backward operators as CSV and JSON, and flows that replace the flows of the trace.
. "$TOOLS/common.sh"
cat >device.json <<'END'
{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 11, "ts": 10.125, "dur": 5, "args": {"Ev Idx": 4, "Sequence number": 3, "Fwd thread id": 0}},
{"ph": "s", "id": 9, "pid": 1, "tid": 11, "ts": 10.125, "cat": "fwdbwd", "name": "fwdbwd"},
{"ph": "X", "cat": "cpu_op", "name": "Mm\"Back,ward0", "pid": 1, "tid": 12, "ts": 30, "dur": 9, "args": {"Ev Idx": 5, "Sequence number": 3, "Fwd thread id": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 12, "ts": 32, "dur": 4, "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 50, "dur": 25, "args": {"correlation": 7, "stream": 7}},
{"ph": "f", "id": 9, "pid": 1, "tid": 12, "ts": 30, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"}
]}
END
sutra correlate device.json --format csv -q
sutra correlate device.json --format csv --kind all -q
sutra correlate device.json --kind all -q
echo "chrome:"
sutra correlate device.json --format chrome -q
echo "again:"
sutra correlate device.json --format chrome --kind all -q -o once.json
sutra correlate once.json --format chrome --kind all -q -o twice.json
cmp once.json twice.json && echo "the same"
echo "summary:"
sutra correlate device.json --kind all -o pairs.json 2>&1 | sed -E '/read$|written$|peak memory$/d'
echo "statistics:"
sutra correlate device.json --kind all -o pairs.json -q --stats - | sed -n '/counts/,/}/p'
echo "refused:"
try sutra correlate device.json --stats device.json
try sutra correlate
try sutra correlate missing.json
try sutra correlate device.json --kind some
