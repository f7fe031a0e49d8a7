# Launches by calls that chakra_trace_link does not know: `info` and `link` count and name them; ET+ lacks their kernels,
# .et files contain them, except with --plain and --compat; --strict fails.
. "$TOOLS/common.sh"
node() {
    printf '{"id": %s, "name": "%s", "ctrl_deps": %s, "inputs": {"values": [], "shapes": [], "types": []},\n' $1 "$3" $2
    printf ' "outputs": {"values": [], "shapes": [], "types": []}, "attrs": [{"name": "rf_id", "type": "uint64", "value": %s},\n' $4
    for name in fw_parent seq_id scope tid fw_tid; do
        printf ' {"name": "%s", "type": "int64", "value": 1},\n' $name
    done
    printf ' {"name": "op_schema", "type": "string", "value": ""}]}%s\n' "${5-}"
}
{
    echo '{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "time": "2026-01-01 00:00:00", "start_ts": 1, "finish_ts": 9, "nodes": ['
    node 1 1 '[pytorch|profiler|execution_trace|process]' 0 ,
    node 2 1 '[pytorch|profiler|execution_trace|thread]' 0 ,
    node 3 2 aten::mm 1 ,
    node 4 2 graph 2 ,
    node 5 2 aten::copy_ 3
    echo ']}'
} >host.json
# operator NUMBER CALL: an operator that launches a kernel of 4 us with the call
operator() {
    printf '{"ph": "X", "cat": "cpu_op", "name": "op%s", "pid": 1, "tid": 1, "ts": %s00, "dur": 90, "args": {"External id": %s, "Record function id": %s}},\n' $1 $1 $1 $1
    printf '{"ph": "X", "cat": "cuda_runtime", "name": "%s", "pid": 1, "tid": 1, "ts": %s10, "dur": 5, "args": {"correlation": %s}},\n' $2 $1 $1
    printf '{"ph": "X", "cat": "kernel", "name": "k%s", "pid": 0, "tid": 7, "ts": %s30, "dur": 40, "args": {"External id": %s, "stream": 7, "device": 0, "correlation": %s}},\n' $1 $1 $1 $1
}
{
    echo '{"traceEvents": ['
    operator 1 cudaLaunchKernel
    operator 2 cudaGraphLaunch
    operator 3 cudaMemcpy2DAsync
    echo '{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}]}'
} >device.json

sutra info device.json | grep -e launch
sutra info device.json --json | grep -A 4 -e unknown_launches -e unknown_calls
try sutra link host.json device.json -o linked.json --no-sync | sed 's/^ *[0-9.]* s .*/SECONDS/'
try sutra link host.json device.json -o strict.json --no-sync --strict
sutra link host.json device.json -o linked.json -q --stats - 2>/dev/null | grep -e unknown -e cuda
try sutra link host.json device.json -o linked.et --no-sync | grep -v -e ' s ' -e written -e read
sutra simulate linked.et | grep -e 'k[0-9]'
for form in plain compat; do
    sutra link host.json device.json -o $form.et --$form -q 2>/dev/null
    sutra convert linked.json -o converted.et -q $([ $form = compat ] && echo --compat)
    cmp $form.et converted.et && echo "$form: as converted from ET+"
done
ls strict.json 2>/dev/null || :

echo "-- a job"
mkdir hosts devices
for rank in 0 1; do
    sed "s/\"pid\": 1,/\"pid\": 1$rank,/" host.json >hosts/host.$rank.json
    sed "s/\"pid\": 1,/\"pid\": 1$rank,/" device.json >devices/device.$rank.json
done
for format in json et; do
    sutra link hosts devices -o job_$format -f $format 2>&1 | grep -e linked: -e ' linked' | grep -v into
done
grep '"defect"\|"text"' job_json/job.json | cut -c 1-150
try sutra link hosts devices -o strict --strict | grep -e warning -e linked: -e exit
sutra simulate job_et/rank.0.et job_et/rank.1.et | grep -e 'k[0-9]'
