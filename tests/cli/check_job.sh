# Errors across the ranks of a job: each injected fault is found and named with its rank.
. "$TOOLS/common.sh"
need python3
job() {
    rm -rf h d out
    sutra gen -n 2k --ranks 8 --ranks-per-host 4 --seed 1 --host h --device d "$@" || exit 1
}
check() {
    sutra link h d -o out -q 2>/dev/null
    try sutra check out
}
job
echo "--- nothing"
check
echo "--- a rank is missing"
job --inject missing:3
check
echo "--- two collectives are swapped"
job --inject swap:6
check
echo "--- a file is cut"
job --inject cut:0
check
echo "--- clocks of hosts"
job --clock-offset-us 2000 --skew-us 100 --straggler-rank 2
check
sutra check out --json >check.json
python3 - <<'END'
import json
check = json.load(open("check.json"))
assert json.load(open("out/job.json"))["findings"] == check["findings"]
assert [host["last_rank"] for host in check["clocks"]] == [3, 7] and check["clocks"][1]["spread_us"] < 1
END
echo "--- a collective is lost, and another has another size"
job --inject lost:4 --inject resize:5
check
echo "--- two files of one rank, and a device trace that is another's"
job
cp d/device.1.json d/copy.json
check
job
sed 's/"rank": 2/"rank": 1/' d/device.2.json >x && sed 's/"rank": 1,/"rank": 2,/' d/device.1.json >d/device.2.json && mv x d/device.1.json
check
echo "--- messages differ"
job
sed '/"Collective name": "recv"/s/BFloat16/Half/' d/device.7.json >x && mv x d/device.7.json
check
echo "--- no job"
mkdir empty
try sutra check empty
