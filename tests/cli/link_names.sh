# Operators matched by names: the bytes of the pair with ids, the summary, when ids are used, and errors.
. "$TOOLS/common.sh"
# without_ids FILE: the device trace as before PyTorch 2.4.
without_ids() {
    sed 's/"Record function id": [0-9]*, //' "$1"
}
# device OPERATIONS: changes args of each operator of device.json; prints the trace.
device() {
    python3 -c '
import json, sys
trace = json.load(open("device.json"))
for event in trace["traceEvents"]:
    if "Record function id" in event.get("args", {}):
        id = event["args"].pop("Record function id")
        value = eval(sys.argv[1])
        if value is not None:
            event["args"]["Record function id"] = value
json.dump(trace, sys.stdout)' "$1"
}
same() {
    cmp "$1" "$2" && echo "the bytes of the pair with ids"
}
for side in host device; do
    gzip -dc "$DATA/link/h200_matmul/$side.json.gz" >$side.json
done
sutra link host.json device.json --match ids -o ids.json -q
without_ids device.json >stripped.json

echo "--- no ids"
try sutra link host.json stripped.json -o auto.json --quiet
same auto.json ids.json
sutra link host.json stripped.json -o names.json --match names 2>&1 | grep -v "peak memory"
same names.json ids.json
sutra link host.json stripped.json -o auto.et -q 2>/dev/null
sutra link host.json device.json -o ids.et -q
same auto.et ids.et
for threads in 1 3; do
    sutra link host.json stripped.json -o threads.json -q --threads $threads 2>/dev/null
    same threads.json ids.json
done

echo "--- ids a constant apart, ids of 0"
device 'id + 1' >shifted.json
try sutra link host.json shifted.json -o out.json -q
same out.json ids.json
device 0 >zeros.json
sutra link host.json zeros.json -o out.json -q 2>/dev/null
same out.json ids.json
sutra link host.json device.json -o out.json -q && same out.json ids.json

echo "--- ids are used where half of them fit"
device 'id if id % 3 else None' >most.json
sutra link host.json most.json -o out.json --match ids -q
sutra link host.json most.json -o auto.json -q && cmp out.json auto.json && echo "ids"

echo "--- the reference's command line, and ids"
for options in "--chakra-host-trace host.json --chakra-device-trace stripped.json" "host.json stripped.json --match ids"; do
    try sutra link $options -o "reference.json" -q
    grep -c '"ts"' reference.json
done
chakra_trace_link --rank 0 --chakra-host-trace host.json --chakra-device-trace stripped.json --output-file byname.json \
    2>/dev/null
cmp reference.json byname.json && echo "the bytes of chakra_trace_link"

echo "--- strict"
try sutra link host.json stripped.json -o strict.json --strict -q
try sutra link host.json stripped.json -o strict.json --strict --match names -q
same strict.json ids.json

echo "--- another program"
sed 's/aten::/other::/' stripped.json >other.json
try sutra link host.json other.json -o out.json --match names -q
try sutra link host.json other.json -o auto.json -q

echo "--- statistics"
sutra link host.json stripped.json -o out.json -q --stats - 2>/dev/null | grep -e '"match":' -e confidence -e n_host_linked

echo "--- a job: one rank with ids, one without, one of another program"
mkdir hosts devices
for rank in 0 1 2; do
    cp host.json hosts/rank-$rank.json
done
cp device.json devices/rank-0.json
sed 's/"trace_id": "[^"]*"/"trace_id": "1"/' stripped.json >devices/rank-1.json
sed 's/"trace_id": "[^"]*"/"trace_id": "2"/' other.json >devices/rank-2.json
try sutra link hosts devices -o job -q
same job/rank.0.json ids.json
same job/rank.1.json ids.json
grep -e '"rank":' -e '"match"' -e confidence -e '"state"' job/job.json
try sutra link hosts devices -o job -q --match ids
try sutra link hosts devices -o job -q --strict

echo "--- steps"
try sutra link host.json stripped.json -o out.json -q --match-step 99
try sutra link host.json stripped.json -o out.json -q --match-step 1 --match ids
