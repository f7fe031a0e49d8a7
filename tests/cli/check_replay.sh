# Checks for a replay of durations, missing members of process groups, and warnings of the simulation about missing data.
. "$TOOLS/common.sh"
node() { printf '{"id": "%s", "name": "node %s", "type": "%s", %s"durationMicros": "10", "inputs": {}, "outputs": {}, "attr": [{"name": "is_cpu_op", "boolVal": false}%s]}\n' "$@"; }
number() { printf ', {"name": "%s", "int64Val": "%s"}' "$@"; }
head='{"attr": [{"name": "schema", "stringVal": "1.1.1-chakra.0.0.4"}]}'
group=', {"name": "pg_name", "stringVal": "3"}'
{ echo "$head" && node 1 1 COMM_COLL_NODE "" "" && node 2 2 COMM_SEND_NODE "" "" && node 3 3 INVALID_NODE "" ""; node 4 4 MEM_LOAD_NODE "" ""; } |
    encode_et >faults.0.et
try sutra check faults.0.et
try sutra check faults.0.et --replay
echo "--- members without a file"
for rank in 0 1 2; do
    { echo "$head" && node 1 1 COMM_COLL_NODE "" "$(number comm_type 0)$(number comm_size 64)$group"; } |
        encode_et >job.$rank.et
done
echo '{"3": [0, 1, 2]}' >groups.json
try sutra check job.0.et job.1.et job.2.et --groups groups.json
try sutra check job.0.et job.1.et --groups groups.json
try sutra check job.0.et job.1.et --groups groups.json --replay
try sutra check job.0.et job.1.et
echo "--- different numbers of collectives before one of all ranks; the directory defines the groups"
mkdir numbers
echo '{"3": [0, 1]}' >numbers/comm_group.json
sizes=$(number comm_type 0)$(number comm_size 64)
for rank in 0 1 2; do
    echo "$head" >lines
    [ $rank = 2 ] || node 1 1 COMM_COLL_NODE "" "$sizes$group" >>lines
    node 2 2 COMM_COLL_NODE "" "$sizes" >>lines
    encode_et <lines >numbers/job.$rank.et
done
try sutra check numbers
try sutra check numbers --replay
echo "--- the simulation warns"
sutra simulate job.0.et job.2.et 2>&1 >/dev/null
{ echo "$head" && node 1 1 COMP_NODE '"dataDeps": ["7", "8"], ' ""; } | encode_et >absent.0.et
sutra simulate absent.0.et 2>&1 >/dev/null
echo "$head" | encode_et >empty.1.et
sutra simulate absent.0.et empty.1.et 2>&1 >/dev/null
{ echo "$head" && node 1 1 COMM_COLL_NODE "" "" && node 2 2 COMM_COLL_NODE "" ""; } | encode_et >two.0.et
{ echo "$head" && node 1 1 COMM_COLL_NODE "" ""; } | encode_et >two.1.et
sutra simulate two.0.et two.1.et 2>&1 >/dev/null
sutra simulate two.0.et two.1.et --quiet 2>&1 >/dev/null
