# Files for ASTRA-sim: a job with ASTRA-sim's network model, a job that it replays, and a rank alone.
. "$TOOLS/common.sh"
sutra gen --events 2k --ranks 4 --seed 3 --host hosts --device devices
echo "--- the network model"
sutra link hosts devices -o net --format et --astra network 2>&1 | grep -v ' read$\| written$'
ls net
cat net/network.yml net/comm_group.json
grep 'ring\|splits\|delay\|replay' net/system.json
sutra link hosts devices -o one --format et --gpu one --quiet
for of in one net; do sutra simulate $of --quiet | head -n 1; done
echo "the nodes of a collective, and of a message:"
attributes='s/.*"id": "\([0-9]*\)", "name": "\([^"]*\)".*"type": "\([A-Z_]*\)"/\1 \2 \3/; s/"startTimeMicros": "[0-9]*", //; s/"inputs".*"is_cpu_op"/is_cpu_op/'
sutra jsonize net/rank.0.et --lines >lines
for name in ncclDevKernel_AllGather ncclDevKernel_SendRecv; do
    grep "\"name\": \"[^\"]*$name" lines | sed "$attributes" | grep '^[0-9]* ncclDev\|alpha\|meet' | awk '!seen[$2 $3]++' | grep -o '^[0-9]* .*' | head -n 3
done
grep -c '"name": "\[alpha\]' lines
sutra check net/rank.*.et --groups net/comm_group.json | tail -n 1
echo "--- without data types in the device traces: sizes of the operators' tensors"
sed -i 's/"dtype"/"other"/g' devices/device.*.json
sutra link hosts devices -o unsized --format et --astra network 2>&1 | grep 'collectives\|replayed'
echo "--- without tensors: replayed"
sed -i -E 's/\[[0-9]+, ?[0-9]+, ?0, ?[0-9]+, ?[0-9]+, ?"cuda:[0-9]*"\]/[0,0,0,0,0,"cuda:0"]/g' hosts/host.*.json
sutra link hosts devices -o unsized --format et --astra network 2>&1 | grep 'collective\|replayed'
sutra simulate unsized --quiet | head -n 1
echo "--- without arguments of collectives: ranks cannot be matched"
sed 's/"Collective name"/"other"/g' -i devices/device.*.json
sed 's/record_param_comms/other/g' -i hosts/host.*.json
try sutra link hosts devices -o unmatched --format et --astra network --quiet
sutra link hosts devices -o unmatched --format et --astra --quiet
sutra jsonize unmatched/rank.0.et --lines | grep -c '"COMM_COLL_NODE".*"comm_type", "int64Val": "5"'
sutra simulate unmatched --quiet | head -n 1
rm -r hosts devices
sutra gen --events 2k --ranks 4 --seed 3 --host hosts --device devices
echo "--- a rank that lacks its first collective: a group without this rank"
python3 - <<'END'
import json

path = "devices/device.2.json"
trace = json.load(open(path))
first = min((event for event in trace["traceEvents"] if "Collective name" in event.get("args", {})), key=lambda e: e["ts"])
trace["traceEvents"].remove(first)
json.dump(trace, open(path, "w"))
END
sutra link hosts devices -o lacking --format et --astra network 2>&1 | grep 'collectives\|replayed'
cat lacking/comm_group.json
echo "--- replay"
sutra link hosts devices -o replay --format et --astra --quiet
sutra link hosts devices -o again --format et --astra=replay --quiet
cmp replay/rank.0.et again/rank.0.et && grep -v '^#' replay/network.yml && grep splits replay/system.json
echo "--- a rank alone"
sutra link hosts/host.1.json devices/device.1.json -o rank.0.et --astra alone --quiet
ls alone
grep replay alone/system.json
grep npus alone/network.yml
cmp rank.0.et alone/rank.0.et && cmp rank.0.et alone/rank.1.et && echo "three times the same file"
sutra link --astra other hosts/host.1.json devices/device.1.json -o rank.0.et --quiet && ls other | wc -l
sutra link --chakra-host-trace hosts/host.1.json --astra third devices/device.1.json -o rank.0.et --quiet && ls third | wc -l
echo "--- its metadata selects the resources"
for gpu in one streams; do
    sutra link hosts/host.1.json devices/device.1.json -o $gpu.0.et --gpu $gpu --quiet
    sutra jsonize $gpu.0.et --lines | sed -n 1p | grep -o '{"name": "gpu"[^}]*}'
    [ "$(sutra simulate $gpu.0.et | head -n 1)" = "$(sutra simulate $gpu.0.et --gpu $gpu | head -n 1)" ] && echo same
done
echo "--- errors"
try sutra link hosts devices -o x --format et --astra=netwrk
try sutra link hosts devices -o x --format et --astra network --gpu streams
try sutra link hosts devices -o x --astra network
try sutra link hosts/host.1.json devices/device.1.json -o x.et --astra
try sutra link hosts/host.1.json devices/device.1.json -o x.et --astra=
try sutra link hosts/host.1.json devices/device.1.json -o x.et --astra rank.0.et
try sutra link hosts/host.1.json devices/device.1.json more.json -o x.et
