# Flight recorder dumps: commands that read other files name 'sutra analyze hang'; the inventory of a run counts dumps,
# also in files without an extension.
. "$TOOLS/common.sh"
need python3
python3 - <<'END_OF_PYTHON'
import gzip, json, pickle
entry = {"frames": [{"name": "f" * 90, "filename": "train.py", "line": 3}] * 50, "record_id": 0, "process_group": ("0", "default_pg"),
         "collective_seq_id": 1, "profiling_name": "nccl:all_reduce", "state": "scheduled", "is_p2p": False}
dump = {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}, "entries": [entry] * 3}
for protocol in 2, 3, 4, 5:
    open(f"nccl_trace_rank_{protocol}", "wb").write(pickle.dumps(dump, protocol=protocol))
open("rank_0.pickle.gz", "wb").write(gzip.compress(pickle.dumps(dump, protocol=2)))
dump["entries"] = [{key: value for key, value in entry.items() if key != "frames"}] * 5000
open("rank_1.json", "w").write(json.dumps(dump))
open("sorted_2.json", "w").write(json.dumps(dump, sort_keys=True))  # the entries precede "pg_config"
snapshot = {"segments": [{"blocks": [{"frames": [{"name": "get_pg_config", "filename": "pg_config.py", "line": 1}]}]}]}
open("snapshot_1.pickle", "wb").write(pickle.dumps(snapshot, protocol=4))
END_OF_PYTHON
for file in nccl_trace_rank_* rank_0.pickle.gz rank_1.json sorted_2.json; do
    try sutra info $file
done
for command in analyze 'analyze memory' 'analyze operators' 'critical-path' 'simulate' 'diff rank_1.json'; do
    try sutra $command nccl_trace_rank_2
    try sutra $command sorted_2.json
done
echo "-- the names of a snapshot's functions are not the keys of a dump"
try sutra analyze snapshot_1.pickle
echo "-- a run with dumps"
for rank in 0 1; do
    trace_of run/traces/rank$rank.json - 10$rank 100 1000
    mkdir -p run/dumps
    cp nccl_trace_rank_2 run/dumps/nccl_trace_rank_node.example_$rank
done
cp sorted_2.json run/dumps
cp run/traces/rank0.json run/dumps/trace_3 # files without an extension are read as dumps only
echo 'epoch 1' >run/epoch_1
cp nccl_trace_rank_2 run/trace.3
try sutra info run
sutra info run --json | sed -n '/"skipped"/,$p'
try sutra analyze run -q
echo "-- only dumps"
mkdir flat && cp nccl_trace_rank_* flat
try sutra info flat
try sutra analyze flat
try sutra analyze memory flat
