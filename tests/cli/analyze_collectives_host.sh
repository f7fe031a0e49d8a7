# A straggler because of its host, not its GPU; ranks of a host, and bandwidth limits of links from options.
. "$TOOLS/common.sh"
need python3
mkdir d
python3 - <<'PYTHON'
import json
STEPS, SLOW = 8, 2
for rank in range(4):
    events, host, correlation = [], 0.0, 1
    base = 1_000_000.0
    def call(name, start, dur, cat="cpu_op", **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 9, "tid": 9, "ts": base + start, "dur": dur, "args": args})
    def kernel(name, start, dur, stream, **args):
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": base + start, "dur": dur,
                       "args": {"stream": stream, "correlation": correlation, "External id": correlation, **args}})
    for step in range(STEPS):
        begin = step * 1000.0
        tokenize = 500.0 if rank == SLOW else 100.0
        call("my::tokenize", begin, tokenize)
        at = begin + tokenize
        for name, work, stream, args in [
                ("aten::mm", "gemm", 7, {}),
                ("c10d::allreduce_", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 8,
                 {"Collective name": "allreduce", "In msg nelems": 262144, "Out msg nelems": 262144, "Group size": 4,
                  "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]", "Seq": step})]:
            call(name, at, 20.0, **{"External id": correlation})
            call("cudaLaunchKernel", at + 5, 5.0, "cuda_runtime", correlation=correlation)
            if args:
                kernel(work, at + 20, begin + 700.0 - at - 20, stream, **args)
            else:
                kernel(work, at + 15, 5.0, stream)
            at += 25
            correlation += 1
    with open(f"d/rank{rank}.json", "w") as file:
        json.dump({"deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "distributedInfo": {"rank": rank, "world_size": 4},
                   "traceEvents": events}, file)
PYTHON
quietly sutra analyze collectives d -o alone --no-report
cat alone/straggler_operators.csv
echo "--- two ranks a host, links of 50 GB/s"
quietly sutra analyze collectives d -o told --no-report -q --ranks-per-host 2 --link-peak-gbps 50
quietly sutra analyze collectives d -o one --no-report -q --ranks-per-host 4 --link-peak-gbps 50
cat told/collective_hosts.csv
for folder in alone told one; do
    python3 - "$folder" <<'PYTHON'
import csv, sys
rows = list(csv.DictReader(open(f"{sys.argv[1]}/collectives.csv")))
ends = {(row["place"], round(float(row["bus_gb_per_s"]), 4), row["link_percent"] and round(float(row["link_percent"]), 4)) for row in rows}
print(sys.argv[1], ends)
PYTHON
done
