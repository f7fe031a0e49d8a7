# A trace into which a tool merged the traces of several ranks: FILE/rankN is the trace of rank N, and commands for jobs
# read the file as a job.
. "$TOOLS/common.sh"
need sed
need python3

# trace PREFIXED WORKERS: two ranks with two steps of 1 ms; in a step, rank N launches 4 kernels of (N + 1) * 100 us. With
# PREFIXED, pids have the rank as a prefix, as SGLang writes them; else the correlations of the second rank are different.
trace() {
    python3 - "$@" <<'END'
import json, sys

prefixed, workers = int(sys.argv[1]), int(sys.argv[2])
events = []
for rank in (0, 1):
    cpu, gpu = (f"[TP0{rank}] {40 + rank}", f"[TP0{rank}] 0") if prefixed else (40 + rank, rank)
    events.append({"ph": "M", "name": "process_name", "pid": cpu, "tid": 0, "args": {"name": "trainer \u00b5" + "\u00b5" * 40 * rank}})
    for step in range(2):
        begin = 10000 + 1000 * step
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": cpu, "tid": 1,
                       "ts": begin, "dur": 999})
        for i in range(4):
            correlation = 1 + 4 * step + i + (0 if prefixed else 100 * rank)
            ts = begin + 10 + 240 * i
            events += [
                {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": cpu, "tid": 1, "ts": ts, "dur": 20,
                 "args": {"External id": correlation}},
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": cpu, "tid": 1, "ts": ts + 5,
                 "dur": 5, "args": {"External id": correlation, "correlation": correlation}},
                {"ph": "X", "cat": "kernel", "name": "gemm", "pid": gpu, "tid": 7, "ts": ts + 15,
                 "dur": 100 * (rank + 1),
                 "args": {"External id": correlation, "correlation": correlation, "device": 0, "stream": 7}}]
for worker in range(workers):
    events.append({"ph": "X", "cat": "cpu_op", "name": "aten::stack", "pid": 50 + worker, "tid": 1, "ts": 10100, "dur": 9})
print(json.dumps({"distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": events}))
END
}
trace 1 0 >prefixed.json
trace 0 2 >workers.json
sed 's/\[TP0[01]\] //g' prefixed.json >shared.json

echo "-- processes"
try sutra info prefixed.json | sed -n '/category/,$p'
try sutra info prefixed.json --json | sed -n '/processes/,$p'
try sutra info workers.json | sed -n '/ranks in/,$p'
try sutra info shared.json | grep -E 'ranks|pid|select|exit'
try sutra info workers.json/rank1 | grep -E 'events$|rank|no_rank|skipped|exit'

echo "-- a trace with several ranks is a job"
try sutra analyze prefixed.json 2>&1 | sed -n '/2 ranks/p; /^  rank/,/^$/p; /^  sutra/p'
try sutra analyze workers.json 2>&1 | sed -n '/warning/p; /2 ranks/p'
try sutra analyze prefixed.json --rank 1 2>&1 | sed -n '/^rank/p'
try sutra analyze operators prefixed.json -o tables --no-report | grep '^rank'
cut -d , -f 1-4 tables/operators.csv
for analysis in hta kernels collectives; do
    try sutra analyze $analysis prefixed.json | grep -E '2 ranks|^exit'
done
try sutra diff prefixed.json prefixed.json | grep -E '^[AB] '
try sutra diff prefixed.json/rank0 prefixed.json/rank1 | grep -E '^[AB] '
try sutra merge prefixed.json -o merged.json | sed -n '/ranks/p; /rank  /,/^$/p'
sutra merge prefixed.json -o less.json --memory 0 -q && cmp merged.json less.json
try sutra analyze merged.json 2>&1 | sed -n '/2 ranks/p; /^  rank/,/^$/p'
try sutra analyze workers.json --strict
try sutra analyze operators prefixed.json --compat tracelens -o tracelens -q
ls tracelens | grep -c 'rank[01].csv$'

sutra cut prefixed.json/rank1 --step 0-1 -o third.json -q
sed -i 's/"rank": 1/"rank": 7/' third.json

echo "-- in a list, from a stream, by several processes"
try sutra analyze third.json prefixed.json 2>&1 | sed -n '/ranks in/p; /^  rank/,/^$/p'
cat prefixed.json | try sutra analyze - 2>&1 | sed -n '/ranks in/p; /^  rank/,/^$/p'
cat prefixed.json | try sutra analyze dlrm - 2>&1 | sed -n '/ranks:/p; /^ *rank/,/^$/p'
for analysis in operators hta dlrm; do
    sutra analyze $analysis third.json prefixed.json -o one -q --no-report
    for shard in 1/3 2/3 3/3; do
        try sutra analyze $analysis third.json prefixed.json -o shards -q --no-report --shard $shard
    done
    try sutra analyze $analysis third.json prefixed.json -o shards -q --no-report --combine
    diff -r one shards && rm -r one shards
done
try sutra analyze third.json prefixed.json --rank 1,7 2>&1 | sed -n '/ranks in/p; /^  rank/,/^$/p'
try sutra analyze prefixed.json workers.json -q
try sutra analyze prefixed.json workers.json -q --strict

echo "-- the only device trace of a job"
sutra gen --events 200 --ranks 2 --host hosts --device devices -q
mkdir merged shared
python3 "$TOOLS/../merged_trace.py" devices/*.json >merged/merged.json
sed 's/\[TP0[01]\] //g' merged/merged.json >shared/shared.json
sutra link hosts devices -o linked -q
try sutra link hosts merged --dry-run
try sutra link hosts merged -o linked_merged -q && cmp linked/rank.1.json linked_merged/rank.1.json
try sutra link hosts shared --dry-run

echo "-- a rank is a trace"
try sutra cut prefixed.json/rank1 --step 1 -o cut.json -q
python3 -c '
import json
trace = json.load(open("cut.json"))
print(trace["distributedInfo"], sorted({str(event["pid"]) for event in trace["traceEvents"]}))'
try sutra critical-path prefixed.json/rank1 | head -n 4
try sutra columns prefixed.json/rank0 -o rank0.arrow -q
try sutra columns prefixed.json -o all.arrow -q

echo "-- refused inputs"
for command in 'tree prefixed.json' 'critical-path workers.json' 'cut prefixed.json --step 1 -o none.json' \
    'analyze shared.json' 'analyze shared.json/rank0' 'analyze prefixed.json/rank2' 'analyze prefixed.json cut.json -q' \
    'analyze dlrm prefixed.json -o dlrm --print-path'; do
    try sutra $command
done
try sutra tree - -q <prefixed.json
python3 - >many.json <<'END'
import json

events = [{"ph": "M", "name": "process_name", "pid": f"p {i}", "args": {"name": "n"}} for i in range(2000)]
for rank in range(2000):
    args = {"correlation": rank + 1}
    events += [{"ph": "X", "cat": "cuda_runtime", "name": "c", "pid": rank, "tid": 1, "ts": rank, "dur": 1, "args": args},
               {"ph": "X", "cat": "kernel", "name": "k", "pid": -1, "tid": 7, "ts": rank + 1, "dur": 1, "args": args}]
print(json.dumps({"traceEvents": events}))
END
try sutra analyze many.json -q
try sutra analyze many.json/rank7 -q
