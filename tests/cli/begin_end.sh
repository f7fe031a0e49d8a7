# B and E events of Chrome traces: complete events for all commands; copies keep the events of the file.
. "$TOOLS/common.sh"
need python3
python3 - <<'END'
import json
events = []
def pair(start, end, tid, **more):
    events.append((start, {"ph": "B", "pid": 1 if tid < 7 else 0, "tid": tid, "ts": start, **more}))
    events.append((end, {"ph": "E", "pid": 1 if tid < 7 else 0, "tid": tid, "ts": end}))
for i in range(5):
    t = 100 * i
    pair(t, t + 60, 1, cat="cpu_op", name="aten::linear", args={"External id": 10 * i + 1})
    pair(t + 5, t + 50, 1, cat="cpu_op", name="aten::mm", args={"External id": 10 * i + 2})
    pair(t + 10, t + 15, 1, cat="cuda_runtime", name="cudaLaunchKernel", args={"correlation": i + 1})
    pair(t + 20, t + 80, 7, cat="kernel", name="gemm", args={"stream": 7, "device": 0, "correlation": i + 1})
events = [e for _, e in sorted(events, key=lambda e: e[0])]
def write(name, events):
    json.dump({"traceEvents": events}, open(name, "w"))
write("pairs.json", events)
write("open.json", [events[0]] + [{"ph": "E", "pid": 1, "tid": 9, "ts": 3}] + events[1:-2])
write("shuffled.json", sorted(events, key=lambda e: (e["ph"], e["ts"] % 7)))
write("complete.json", [{"ph": "X", "dur": 60 if e["name"] in ("gemm", "aten::linear") else 45 if e["name"] == "aten::mm" else 5,
                         **{k: v for k, v in e.items() if k != "ph"}} for e in events if e["ph"] == "B"])
END
try sutra info pairs.json
echo "-- the same tables as of complete events"
for file in pairs shuffled complete; do
    sutra analyze operators $file.json -o $file -q --no-report 2>/dev/null
    sutra analyze $file.json -f json 2>/dev/null | sed "s/$file.json//g" >$file/verdict.json
done
diff -r pairs complete
diff -r shuffled complete
head -n 2 pairs/operators.csv | cut -d, -f1-8
for file in pairs complete; do
    sutra tree $file.json -o - -q 2>/dev/null | sed 's/"event": [0-9]*, //' >$file.tree
    sutra critical-path $file.json --rules full 2>/dev/null | sed 1d >$file.path
done
cmp pairs.tree complete.tree
cmp pairs.path complete.path && wc -l <pairs.path
echo "-- unpaired events"
try sutra info open.json | grep -v ' 0 '
sutra columns open.json -o - -q 2>&1 >/dev/null
echo "-- copies"
count() {
    python3 -c 'import collections, json, sys
for name in sys.argv[1:]:
    events = json.load(open(name))["traceEvents"]
    print(name, *sorted(collections.Counter(e["ph"] for e in events if e.get("cat") != "critical_path").items()))' "$@"
}
sutra cut pairs.json --from-us 120 --to-us 330 -o cut.json -q 2>/dev/null
sutra cut pairs.json --side gpu -o gpu.json -q 2>/dev/null
sutra critical-path pairs.json --format chrome --only-critical -o path.json -q 2>/dev/null
mkdir ranks
cp pairs.json ranks/rank0.json
cp pairs.json ranks/rank1.json
sutra merge ranks -o merged.json -q 2>&1
count cut.json gpu.json path.json merged.json
sutra merge ranks -o merged.pftrace -q 2>&1
