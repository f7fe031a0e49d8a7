# Memory snapshots and Kineto traces: the page, tables, JSON of one and of several inputs, directories, arrays of events,
# comparison, errors.
. "$TOOLS/common.sh"
need python3
[ -e "$DATA/memory/gen_oom" ] || skip "needs $DATA/memory"
cp "$DATA/memory/gen_oom/input.pickle.gz" oom.pickle.gz
cp "$DATA/memory/gen_leak/input.pickle.gz" leak.pickle.gz
cp "$DATA/memory/cpu_mlp_adam/input.json.gz" trace.json.gz
memory() {
    quietly sutra analyze memory "$@"
}
memory oom.pickle.gz
memory leak.pickle.gz trace.json.gz
memory leak.pickle.gz --format markdown
memory leak.pickle.gz --against oom.pickle.gz
echo "--- Markdown of adversarial names and absolute paths"
python3 - <<'END'
import pickle
html = "<img src=x>|`x`|\\|[l](javascript:0)&lt;\n# H"
frames = [{"filename": "/home/<b>.py", "name": html, "line": 3}]
events = [{"action": "alloc", "addr": i, "size": 1 << 20, "time_us": i, "frames": frames, "category": html} for i in range(3)]
events.append({"action": "oom", "size": 1 << 30, "time_us": 9, "frames": frames})
pickle.dump({"segments": [], "device_traces": [events]}, open("html.pickle", "wb"))
END
sutra analyze memory "$PWD/html.pickle" --format markdown 2>errors | grep -v '^SECONDS'
sutra analyze memory "$PWD/html.pickle" --against leak.pickle.gz --format markdown 2>errors | grep '^A:'
echo "--- tables"
memory oom.pickle.gz -o tables -q
ls tables tables/charts
head -n 3 tables/*.csv
python3 - <<'END'
import glob, xml.dom.minidom
for path in ["tables/memory.html", *glob.glob("tables/charts/*.svg")]:
    xml.dom.minidom.parse(path)
page = open("tables/memory.html").read()
assert "Out of memory: a request of 1.95 GiB failed" in page and "optim.py:50:init_state" in page
END
sutra analyze memory oom.pickle.gz leak.pickle.gz trace.json.gz -o pages -q --threads 1
ls pages/charts
sutra analyze memory oom.pickle.gz leak.pickle.gz trace.json.gz -o again -q --threads 3
diff -r pages again
memory leak.pickle.gz --against oom.pickle.gz -o more -q --table-format json
ls more more/charts
echo "--- the page of a comparison"
sutra analyze memory leak.pickle.gz --against trace.json.gz -o other -q
ls other/charts
python3 - <<'END'
import glob, json, re, xml.dom.minidom
for path in [*glob.glob("more/*.html"), *glob.glob("more/charts/*.svg"), "other/memory.html"]:
    xml.dom.minidom.parse(path)
page = open("more/memory.html").read()
assert "Comparison of GPU memory" in page and "Out of memory" in page and "Memory leak" in page
changes = [row for row in json.load(open("more/memory_comparison.json")) if row["group_by"] == "frame"]
steps = json.load(open("more/memory_steps.json"))
bars = lambda path: [float(v) for v in re.findall('data-value="([^"]*)"', open(path).read())]
assert bars("more/charts/memory_changes_frame_0.svg") == [r["difference"] for r in changes if r["difference"]]
expected = [r["peak_active"] for r in sorted(steps, key=lambda r: (r["step"], r["input"]))]
assert bars("more/charts/memory_step_peaks_0.svg") == expected, expected
END
echo "--- JSON"
sutra analyze memory leak.pickle.gz trace.json.gz --format json --top 1 >several.json 2>errors || cat errors
sutra analyze memory leak.pickle.gz --format json --top 1 >one.json 2>errors || cat errors
python3 - <<'END'
import json
several, one = json.load(open("several.json")), json.load(open("one.json"))
assert several["kind"] == "inputs" and several["inputs"][0] == one, several["kind"]
assert [i["kind"] for i in several["inputs"]] == ["snapshot", "kineto"]
assert len(one["devices"][0]["peak"]["by_frame"]) == 1
assert all(f["text"] and f["rule"] for f in one["findings"])
END
sutra analyze memory - --format json --top 1 <leak.pickle.gz >pipe.json 2>errors || cat errors
python3 -c 'import json; a, b = json.load(open("one.json")), json.load(open("pipe.json")); assert a["devices"] == b["devices"]'
echo "--- a directory of ranks"
mkdir -p ranks/rank_9 empty
cp oom.pickle.gz ranks/rank_2.pickle.gz
gzip -dc leak.pickle.gz >ranks/rank_10.pickle
cp trace.json.gz ranks/rank_11.json.gz
gzip -dc oom.pickle.gz >ranks/rank_1.pkl
echo notes >ranks/notes.txt
sutra analyze memory ranks --format json --top 1 >folder.json 2>errors || cat errors
sutra analyze memory ranks/rank_1.pkl ranks/rank_2.pickle.gz ranks/rank_10.pickle ranks/rank_11.json.gz \
    --format json --top 1 >files.json 2>errors || cat errors
cmp folder.json files.json
python3 -c 'import json; print([i["kind"] for i in json.load(open("folder.json"))["inputs"]])'
try sutra analyze memory empty
echo "--- two directories of ranks"
mkdir before after single
cp oom.pickle.gz before/rank_2.pickle.gz
cp leak.pickle.gz before/rank_10.pickle.gz
cp leak.pickle.gz after/memory_2.pickle.gz
cp oom.pickle.gz after/memory_10.pickle.gz
cp oom.pickle.gz after/memory_11.pickle.gz
cp oom.pickle.gz single
memory before --against after
sutra analyze memory before --against after --format json -q --threads 1 >pairs.json 2>errors
sutra analyze memory before --against after --format json -q --threads 3 2>errors | cmp - pairs.json
sutra analyze memory oom.pickle.gz --against leak.pickle.gz --format json >pair.json 2>errors || cat errors
sutra analyze memory single --against leak.pickle.gz --format json 2>errors | cmp - pair.json
python3 - <<'END'
import json
pairs, pair = json.load(open("pairs.json"))["devices"], json.load(open("pair.json"))["devices"]
print([d["device"] for d in pairs])
assert {**pairs[0], "device": "cuda:0"} == pair[0]
END
sutra analyze memory before --against after -o compared -q
ls compared/charts
sed -n 1,2p compared/memory_comparison.csv
try sutra analyze memory before --against single
try sutra analyze memory before --against missing
mkdir no_match twice
cp oom.pickle.gz no_match/rank_5.pickle.gz
cp oom.pickle.gz no_match/rank_6.pickle.gz
try sutra analyze memory before --against no_match
cp oom.pickle.gz twice/rank_2.pickle.gz
cp oom.pickle.gz twice/old_rank_2.pickle.gz
try sutra analyze memory twice --against before
echo "--- an array of events"
python3 - <<'END'
import gzip, json
events = json.load(gzip.open("trace.json.gz"))["traceEvents"]
json.dump(events, open("array.json", "w"))
open("array_more.json", "w").write(json.dumps(events[:2]) + " 1\n")
open("array_cut.json", "w").write(json.dumps(events[:2])[:-3])
json.dump([{"ph": "X", "name": "aten::mm", "ts": 1, "dur": 1, "pid": 1, "tid": 1}], open("array_other.json", "w"))
END
devices() {
    sutra analyze memory "$@" --format json 2>errors | sed 's/"input": "[^"]*", //' || cat errors
}
devices trace.json.gz >trace.out
for n in 1 3; do
    devices array.json --threads $n | cmp - trace.out
    devices - --threads $n <array.json | cmp - trace.out
done
grep -c '"kind": "kineto"' trace.out
for input in array_more.json array_cut.json array_other.json; do
    try sutra analyze memory $input
done
echo "--- a snapshot of several MB: events on two threads, on one, and of the JSON form"
python3 - <<'END'
import json, pickle, random
rng = random.Random(1)
frames = [{"name": f"f{i}", "filename": f"/home/train{i % 7}.py", "line": i} for i in range(90)]
stacks = [rng.sample(frames, rng.randint(1, 40)) for _ in range(60)]
def events(device):
    live, time = {}, 10 ** 15
    for i in range(15000):
        time += rng.randrange(3)
        address = rng.choice(list(live)) if len(live) > 99 else 2 ** 40 + 512 * rng.randrange(1000)
        size = live.pop(address, None)
        event = {"action": "free_completed" if size else "alloc", "addr": address, "time_us": time, "stream": 0,
                 "size": size or rng.choice((512, 70000, 2 ** 31)), "frames": list(rng.choice(stacks))}
        if rng.random() < 0.01:
            event["action"] = rng.choice(("segment_alloc", "segment_free", "oom", "free_requested"))
        elif not size:
            live[address] = event["size"]
        yield event
snapshot = {"segments": [{"device": 1, "address": 2 ** 40, "total_size": 1 << 30, "blocks": [
    {"size": 512, "state": "active_allocated", "frames": stacks[0]}]}], "device_traces": [[], [*events(1)], [*events(2)]]}
pickle.dump(snapshot, open("large.pickle", "wb"), protocol=4)
json.dump(snapshot, open("large.json", "w"))
END
devices large.json >large.out
for n in 1 3; do
    devices large.pickle --threads $n | cmp - large.out
done
grep -c '"device": "cuda:' large.out
echo "--- frees of segments that share a million frames"
python3 - <<'END'
import pickle
frames = [{"name": "f", "filename": "f.cpp", "line": 1}] * 1000000 + [{"name": "empty_cache", "filename": "memory.py", "line": 2}]
free = {"action": "segment_free", "addr": 1, "size": 1, "stream": 0, "frames": frames}
events = [event for i in range(50000) for event in (dict(free, addr=i), {"action": "snapshot", "addr": i, "size": 0})]
pickle.dump({"segments": [], "device_traces": [events]}, open("shared.pickle", "wb"))
END
sutra analyze memory shared.pickle --format json -q 2>errors | python3 -c '
import json, sys
found = json.load(sys.stdin)["devices"][0]["segment_events"]
print(found["n_empty_cache"], "of", found["n_free"], "frees")' || cat errors
echo "--- errors"
python3 - <<'END'
import os, pickle
class Command:
    def __reduce__(self):
        return os.system, ("echo executed",)
pickle.dump([Command()], open("command.pickle", "wb"), protocol=2)
open("truncated.pickle", "wb").write(pickle.dumps({"segments": [1, 2]}, protocol=4)[:-3])
pickle.dump({"segments": []}, open("empty.pickle", "wb"))
pickle.dump({"a": []}, open("other.pickle", "wb"))
pickle.dump({"segments": [], "device_traces": [[{"action": "alloc", "size": -1}]]}, open("size.pickle", "wb"))
huge = [{"action": "alloc", "addr": i, "size": 2 ** 62} for i in range(9)]
pickle.dump({"device_traces": [huge], "segments": []}, open("huge.pickle", "wb"), protocol=4)
event = {"action": "alloc", "addr": 1, "size": 1}
pickle.dump({"segments": [], "device_traces": [[event] * 20] * 1000}, open("repeated.pickle", "wb"))
pickle.dump([{"total_size": 1, "blocks": [], "segment_pool_id": [7] * 2000}] * 100, open("pools.pickle", "wb"))
annotation = {"stage": "START", "name": "ProfilerStep#1", "time_us": 1}
pickle.dump({"segments": [], "device_traces": [[dict(event, time_us=1)]] * 99, "external_annotations": [annotation] * 999},
            open("annotations.pickle", "wb"))
open("trace.json", "w").write('{"traceEvents": []}')
open("cut.json", "w").write('{"segments": [')
open("text.txt", "w").write("hello")
END
for input in command.pickle truncated.pickle empty.pickle other.pickle size.pickle huge.pickle repeated.pickle pools.pickle annotations.pickle trace.json cut.json text.txt; do
    try sutra analyze memory $input
done
try sutra analyze memory leak.pickle.gz trace.json.gz --against oom.pickle.gz
try sutra analyze memory
