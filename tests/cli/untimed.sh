# Every analysis reports how many events it skips because of their times; a valid trace has no warning.
. "$TOOLS/common.sh"
cat >device.json <<'END'
{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 100, "dur": 50, "args": {"External id": 1}},
{"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 160},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 110, "dur": 5,
 "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 120, "dur": 15,
 "args": {"correlation": 7, "stream": 7, "device": 0}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32", "pid": 0, "tid": 7, "dur": 5,
 "args": {"correlation": 8, "stream": 7, "device": 0}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 140, "dur": -5,
 "args": {"correlation": 9, "stream": 7, "device": 0}},
{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 1, "tid": 1, "ts": 110},
{"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 0, "tid": 7, "ts": 120, "bp": "e"}
]}
END
sed -e '/relu/s/160/160, "dur": 5/' -e '/nccl/s/"dur"/"ts": 130, "dur"/' -e 's/-5/5/' device.json >whole.json

# told COMMAND...: what it warns of.
told() {
    echo "\$ $*"
    "$@" 2>&1 >/dev/null | grep -e 'left out' -e 'no start' -e 'no valid' || :
}
for trace in device whole; do
    told sutra analyze $trace.json
    told sutra analyze operators $trace.json
    told sutra analyze operators $trace.json --compat tracelens
    told sutra analyze kernels $trace.json
    told sutra analyze collectives $trace.json
    told sutra diff $trace.json $trace.json
    told sutra critical-path $trace.json
done

echo "-- on pages"
for trace in device whole; do
    sutra analyze $trace.json -q -o overview_$trace 2>/dev/null
    sutra analyze operators $trace.json -q -o operators_$trace 2>/dev/null
    for page in overview_$trace/report.html operators_$trace/operators.html; do
        echo $page
        grep -o '<p class="warning"[^/]*' $page
    done
done

echo "-- among the results of HTA"
sutra analyze hta device.json 2>/dev/null | grep -A1 '^  skipped'

echo "-- where operators are linked 0 stands for such times"
strange_traces
sed -e 's/"dur": 5,/"x": 5,/' -e 's/"Record function id": 8/"Record function id": 7/' device.json >no_duration.json
sed 's/"Record function id": 8/"Record function id": 7/' device.json >pair.json
told sutra link host.json no_duration.json -o linked.json
told sutra link host.json pair.json -o linked.json --force
