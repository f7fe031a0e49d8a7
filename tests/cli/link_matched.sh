# A job whose collectives are matched for the simulation: two passes, what-ifs, and warnings about missing ranks.
. "$TOOLS/common.sh"
need python3
sutra gen -n 2k --ranks 4 --seed 5 --ranks-per-host 2 --clock-offset-us 700 --skew-us 300 --straggler-rank 2 --sync stream \
    --host hosts --device devices
sutra link hosts devices -o met --format et -q
ls met
# times FOLDER: the simulated time of the job and of its ranks beside what was measured, by way of the traces.
cat >times.py <<'PYTHON'
import glob, json, sys
simulated = json.loads(sys.stdin.read())
ends, begins = [], []
for rank in simulated["ranks"]:
    assert rank["ran"] == rank["nodes"]
print(len(simulated["ranks"]), "ranks,", len(simulated["collectives"]), "collectives,", simulated["never_ran"], "never ran")
slow = {rank["rank"]: rank["gpu_slowness"] > 1.05 for rank in simulated["ranks"]}
print("waited for:", sorted({wait["for"] for wait in simulated["waits"][:3]}), "slow:", [r for r in slow if slow[r]])
PYTHON
sutra simulate met/rank.*.et --format json | python3 times.py
sutra simulate met/rank.*.et --what-if-summary | sed -n '/what-if/,/no time/p' | cut -c1-34
echo "--- one clock for what was measured"
sutra simulate met/rank.*.et --quiet --trace trace.json >/dev/null
python3 - <<'PYTHON'
import json
spans = {}
for event in json.load(open("trace.json"))["traceEvents"]:
    if event.get("cat") in ("measured", "runs"):
        spans.setdefault(event["pid"], {})[event["args"]["node"]] = event["ts"]
for rank in range(4):
    measured, simulated = spans[2 * rank], spans[2 * rank + 1]
    first = min(measured, key=measured.get)
    print(rank, abs(measured[first] - simulated[first]) <= 3, measured[first] > 0)
PYTHON
echo "--- the same for any number of threads, and in parts"
sutra link hosts devices -o one --format et --threads 1 -q
for part in 1 2 3; do sutra link hosts devices -o parts --format et --shard $part/3 -q; done
sutra link --combine -o parts -q
for rank in 0 1 2 3; do cmp met/rank.$rank.et one/rank.$rank.et && cmp met/rank.$rank.et parts/rank.$rank.et; done
echo "--- only what has changed is made again"
touch -d 2020-01-01 met/rank.*.et
sutra link hosts devices -o met --format et -q
find met -name 'rank.*.et' -newermt 2021-01-01 -path 'met/rank*'
rm met/rank.2.et
sutra link hosts devices -o met --format et -q
find met -name 'rank.*.et' -newermt 2021-01-01 -path 'met/rank*'
echo "--- for ASTRA-sim"
sutra link hosts devices -o astra --format et --astra -q
ls astra
sutra jsonize astra/rank.1.et --lines | grep -c '"name": *"\[meet\] '
grep -o 'endpoint-delay": 0\|latency: \[ 0.0 \]' astra/system.json astra/network.yml
echo "--- a rank of its own"
mkdir alone && cp hosts/host.1.json devices/device.1.json alone
sutra link alone alone -o single --format et -q
sutra link hosts/host.1.json devices/device.1.json -o pair.et -q && cmp pair.et single/rank.1.et && echo the same
echo "--- a rank that is not there"
rm hosts/host.3.json devices/device.3.json
try sutra link hosts devices -o lost --format et
sutra simulate lost/rank.*.et --format json | python3 times.py
try sutra simulate met/rank.[12].et --scale gpu:2 >told
grep -c 'lack ranks' told
echo "--- what does not fit"
try sutra link hosts devices -o x --format et --astra --gpu streams
try sutra link hosts devices -o x --astra
try sutra link hosts/host.1.json devices/device.1.json -o pair.et --astra
try sutra simulate met/rank.0.et --network fast
try sutra simulate met/rank.0.et --bandwidth 0
