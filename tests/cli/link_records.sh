# Collectives that only host traces record, as in PyTorch before 2.3: the simulated job and its what-ifs equal those of
# the same job whose device traces record the arguments of collectives.
. "$TOOLS/common.sh"
need python3
# older OPTION...: rewrites the job as hosts2 and devices2.
older() {
    rm -rf hosts2 devices2
    cp -r hosts hosts2 && cp -r devices devices2
    python3 "$TOOLS/../address_records.py" hosts2 devices2 "$@" || exit 1
}
link() {
    sutra link hosts2 devices2 -o records --format et -q 2>/dev/null || exit 1
}
# simulated FOLDER: the job with and without what-ifs.
simulated() {
    for option in --quiet --what-if-summary '--bandwidth x2' '--network alpha=1ms,beta=1GB/s' '--straggler none'; do
        sutra simulate "$1" $option
        sutra simulate "$1" $option --format json
    done
}
sutra gen -n 2k --ranks 4 --ranks-per-host 2 --seed 3 --clock-offset-us 500 --skew-us 300 --straggler-rank 2 \
    --sync event --host hosts --device devices || exit 1
sutra link hosts devices -o arguments --format et -q || exit 1
simulated arguments >expected
for schema in nested flat; do
    echo "--- $schema inputs"
    older $schema
    link
    try sutra check records
    cmp arguments/comm_groups.json records/comm_groups.json && cat records/comm_groups.json
    simulated records >found
    cmp expected found && echo "the same times"
done
echo "--- for ASTRA-sim"
sutra link hosts2 devices2 -o astra --format et --astra network -q 2>/dev/null || exit 1
sutra jsonize astra/rank.1.et --lines >lines
python3 - <<'END'
import json
from collections import Counter
types = Counter()
for line in open("lines"):
    node = json.loads(line)
    if node.get("name", "").startswith("nccl") and node["type"] == "COMM_COLL_NODE":
        attributes = {attribute.pop("name"): next(iter(attribute.values())) for attribute in node["attr"]}
        types[attributes["meeting_kind"]] += 1
        assert int(attributes["comm_size"]) >= 4 and int(attributes["meeting_bytes"]) > 0, attributes
print(sorted(types.items()))
END
echo "--- ET+"
sutra link hosts2 devices2 -o plus -q 2>/dev/null || exit 1
sutra check plus | tail -n 1
echo "--- another sequence number"
older other:1
link
try sutra check records
echo "--- unknown members"
older unknown
link
try sutra check records
cat records/comm_groups.json
