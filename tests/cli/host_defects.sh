# Nodes that are not below the root and duplicate ids: one warning each, rows of `info`, JSON, an error with --strict; an
# absent thread is the cause if nothing is linked.
. "$TOOLS/common.sh"
# node ID PARENT NAME RF [,]
node() {
    printf '{"id": %s, "name": "%s", "ctrl_deps": %s, "inputs": {"values": [], "shapes": [], "types": []},\n' $1 "$3" $2
    printf ' "outputs": {"values": [], "shapes": [], "types": []}, "attrs": [{"name": "rf_id", "type": "uint64", "value": %s},\n' $4
    printf ' {"name": "tid", "type": "uint64", "value": 1}]}%s\n' "${5-}"
}
# host NODES: a trace of these and two nodes below node 5, which is absent.
host() {
    echo '{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": ['
    node 1 1 process 0 ,
    "$@"
    node 6 5 aten::mm 3 ,
    node 7 5 aten::relu 4
    echo ']}'
}
thread_and_operators() {
    node 2 1 thread 0 ,
    node 3 2 aten::add 1 ,
    node 4 2 aten::mul 2 ,
}
host thread_and_operators >host.json
host eval 'node 3 2 aten::add 1 ,; node 4 2 aten::mul 2 ,' | sed 's/"ctrl_deps": 5/"ctrl_deps": 2/' >no_thread.json
sed 's/"id": 4/"id": 3/' host.json >twice.json
sed 's/"id": 1,/"id": 9,/' host.json >no_root.json
{
    echo '{"traceEvents": ['
    for i in 1 2 3 4; do
        printf '{"ph": "X", "cat": "cpu_op", "name": "op%s", "pid": 1, "tid": 1, "ts": %s0, "dur": 9, "args": {"External id": %s, "Record function id": %s}},\n' $i $i $i $i
        printf '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": %s1, "dur": 1, "args": {"correlation": %s}},\n' $i $i
        printf '{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": %s3, "dur": 4, "args": {"External id": %s, "stream": 7, "device": 0, "correlation": %s}},\n' $i $i $i
    done
    echo '{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}]}'
} >device.json

for trace in host no_thread twice no_root; do
    try sutra info $trace.json
    try sutra link $trace.json device.json -o $trace.out.json -q --no-sync
    try sutra link $trace.json device.json -o $trace.strict.json --strict --no-sync
done
try sutra info no_thread.json device.json -q
sutra info twice.json --json -q 2>/dev/null | sed -n '/validity/,/\]/p'
sutra info twice.json device.json --json -q 2>/dev/null | grep -c '"defect"'
sutra link twice.json device.json -o twice.out.json -q --no-sync --stats - 2>/dev/null | sed -n '/validity/,/\]/p'
sutra link twice.json device.json -o twice.out.json --no-sync 2>&1 | grep -e 'below' -e skipped | grep -v warning

echo "-- a job: one line per defect, with its ranks"
mkdir hosts devices
for rank in 0 1 2; do
    sed "s/\"pid\": 1,/\"pid\": 1$rank,/" host.json >hosts/host.$rank.json
    sed "s/\"pid\": 1,/\"pid\": 1$rank,/" device.json >devices/device.$rank.json
done
sed 's/"ctrl_deps": 5/"ctrl_deps": 2/' hosts/host.1.json >sound && mv sound hosts/host.1.json
try sutra link hosts devices -o job -q --no-sync
grep -c '"defect": "not_below_root"' job/job.json
grep -A 3 '"rule": "trace defect"' job/job.json
try sutra link hosts devices -o job -q --no-sync --strict
ls job
ls *.strict.json 2>/dev/null || :
