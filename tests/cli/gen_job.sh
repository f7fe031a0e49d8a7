# A synthetic job: one program on all ranks, collectives that end simultaneously, and the requested faults.
. "$TOOLS/common.sh"
need python3
cat >check.py <<'PYTHON'
"""check.py DEVICES RANKS_PER_HOST: what the collectives of a job's ranks have in common, and what not."""
import collections, glob, json, statistics, sys

found, ranks, per_host = collections.defaultdict(dict), set(), int(sys.argv[2])
for path in sorted(glob.glob(sys.argv[1] + "/device.*.json")):
    try:
        trace = json.load(open(path))
    except ValueError:
        print(path, "is cut")
        continue
    info = trace["distributedInfo"]
    ranks.add(info["rank"])
    assert len(trace["deviceProperties"]) == per_host
    free = 0
    for event in trace["traceEvents"]:
        args = event.get("args", {})
        if "Seq" not in args:
            continue
        assert event["ts"] >= free
        free = event["ts"] + event["dur"]
        members = json.loads(args["Process Group Ranks"])
        assert len(members) == args["Group size"] and info["rank"] in members
        assert any(group["ranks"] == members for group in info["pg_config"])
        message = args["Collective name"] in ("send", "recv")
        found[args["Process Group Name"], message, args["Seq"]][info["rank"]] = event
print(len(ranks), "ranks of", info["world_size"])
shift = collections.defaultdict(list)
for calls in found.values():
    first = min(calls)
    for rank, event in calls.items():
        if rank // per_host != first // per_host:
            shift[rank // per_host].append(event["ts"] + event["dur"] - calls[first]["ts"] - calls[first]["dur"])
shift = {host: statistics.median(times) for host, times in shift.items()}
last = collections.Counter()
for (group, message, seq), calls in sorted(found.items()):
    starts = {rank: event["ts"] - shift.get(rank // per_host, 0) for rank, event in calls.items()}
    ends = [starts[rank] + event["dur"] for rank, event in calls.items()]
    assert max(starts.values()) <= min(ends) and max(ends) - min(ends) < 3
    last[max(starts, key=starts.get)] += 1
    kinds = {(event["args"]["Collective name"], event["args"]["In msg nelems"]) for event in calls.values()}
    if message:
        assert {name for name, n in kinds} <= {"send", "recv"} and len({n for name, n in kinds}) == 1
    elif len(kinds) > 1:
        print("group", group, "number", seq, "differs")
print("clocks differ:", any(abs(offset) > 5 for offset in shift.values()))
rank, n = last.most_common(1)[0]
print("mostly last: rank", rank if n * 3 > len(found) else "none")
PYTHON
job() {
    rm -rf h d
    sutra gen -n 2k --host h --device d "$@" || exit 1
}
job --ranks 4
python3 check.py d 4
echo "--- a slow rank, and clocks"
job --ranks 8 --ranks-per-host 4 --skew-us 300 --clock-offset-us 900 --straggler-rank 5
python3 check.py d 4
echo "--- faults"
job --ranks 4 --inject swap:2 --inject missing:1 --inject cut:3
ls h d
python3 check.py d 4
echo "--- the same again, and an odd number"
job --ranks 3 --seed 4
mv h h1 && mv d d1
job --ranks 3 --seed 4
diff -r h h1 && diff -r d d1 && python3 check.py d 3
echo "--- what is refused"
sutra gen -n 2k --ranks 1 --host one_h --device one_d 2>&1
ls -d one_h one_d 2>/dev/null
sutra gen -n 2k --ranks 4 --straggler-rank 4 --host h --device d 2>&1
sutra gen -n 2k --ranks 4 --inject lost:4 --host h --device d 2>&1
sutra gen -n 2k --ranks 4 --inject resize:4 --host h --device d 2>&1
sutra gen -n 2k --ranks 4 --streams 1 --host h --device d 2>&1
sutra gen -n 2k --ranks 4 --shape ties --host h --device d 2>&1
sutra gen -n 2k --ranks 4 --host h --device h/none/d 2>&1
sutra gen -n 2k --ranks 4 --inject lots:1 --host h --device d 2>&1
sutra gen -n 2k --ranks 4 --inject lost:-1 --host h --device d 2>&1
sutra gen -n 2k --inject swap:4 2>&1 || exit 0
