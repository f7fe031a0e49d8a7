# Traces of several ranks as one timeline: only ids and times change, clocks are aligned, flows end at kernels;
# selections, any number of threads, every form of files, and errors.
. "$TOOLS/common.sh"
need python3
cat >check.py <<'PYTHON'
"""check.py MERGED DEVICE...: whether the timeline has the events of the traces, in their order, one process a kind."""
import collections, decimal, gzip, json, sys

def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        return json.load(file, parse_float=decimal.Decimal)

merged = read(sys.argv[1])
bits = 53 - (len(merged["mergedRanks"]) + 1).bit_length()
ranks, arrows, names, starts = collections.defaultdict(list), collections.defaultdict(list), {}, set()
for event in merged["traceEvents"]:
    if event["ph"] == "M":
        names[event["name"], event["pid"], event["tid"]] = event["args"]
    elif event.get("cat") == "collective":
        arrows[event["id"]].append(event)
    else:
        ranks[(event["pid"] - 1) // 10000].append(event)
        starts.add((event["pid"], event["tid"], event["ts"]))
for position, path in enumerate(sys.argv[2:]):
    rank = merged["mergedRanks"][position]
    assert rank["trace"] == path and rank["rank"] == position
    offset, kinds = decimal.Decimal(str(rank["offset_us"])), {}
    events = [event for event in read(path)["traceEvents"] if event["ph"] != "M"]
    assert len(events) == len(ranks[position])
    for event, moved in zip(events, ranks[position]):
        assert moved["ts"] == event["ts"] + offset
        stream = event["tid"] if event["pid"] == 0 else None
        assert kinds.setdefault(stream, moved["pid"]) == moved["pid"]
        for key in "correlation", "wait_on_cuda_event_record_corr_id":
            id = event.get("args", {}).pop(key, -1)
            assert moved.get("args", {}).pop(key, -1) == (id if id < 0 else id + (position << bits))
        assert ("id" in event) == ("id" in moved) and moved.pop("id", 0) == event.pop("id", -position << bits) + (position << bits)
        event["pid"], event["ts"] = moved["pid"], moved["ts"]
        assert list(event.items()) == list(moved.items())
    for stream, pid in kinds.items():
        kind = "CPU" if stream is None else f"GPU stream {stream}"
        assert names["process_name", pid, 0] == {"name": f"rank {position}: {kind}"}
        assert names["process_sort_index", pid, 0] == {"sort_index": pid}
at_starts = sum((end["pid"], end["tid"], end["ts"]) in starts for ends in arrows.values() for end in ends)
for ends in arrows.values():
    assert ends[0]["ph"] == "s" and ends[-1]["ph"] == "f" and {end["ph"] for end in ends[1:-1]} <= {"t"}
    assert all(one["ts"] <= next["ts"] for one, next in zip(ends, ends[1:]))
print(len(ranks), "ranks,", len(arrows), "arrows with", sum(map(len, arrows.values())), "ends,", at_starts, "at starts")
PYTHON
sutra gen -n 1k --ranks 4 --ranks-per-host 2 --clock-offset-us 5000 --skew-us 100 --host h --device d
summary() {
    echo "\$ $*"
    "$@" 2>&1 | grep -v -e '  read$' -e '  written$' -e ' peak memory'
}
summary sutra merge d -o all.json
python3 check.py all.json d/device.0.json d/device.1.json d/device.2.json d/device.3.json
sutra info all.json | grep -E ' (events|CPU operators|GPU operators|whose correlation.*|threads)$'
echo "--- a link that leads nowhere"
ln -s nowhere d/lost.json
sutra merge d -o lost.json -q 2>&1
rm d/lost.json
echo "--- forms of files, and threads"
sutra merge d -o all.json.gz -q -T 1
sutra merge d -o 3.json.gz -q -T 3
cmp all.json.gz 3.json.gz && gzip -dc 3.json.gz | cmp - all.json && echo same
sutra merge d -o - -q | cmp - all.json && echo same
gzip d/device.1.json
sutra merge d/device.0.json d/device.1.json.gz d/device.2.json d/device.3.json -o - -q | sed 's/json.gz/json/' | cmp - all.json && echo same
gzip -d d/device.1.json.gz
echo "--- parts"
summary sutra merge d --clocks none --no-arrows -o none.json
summary sutra merge d --side gpu --min-us 100 -o gpu.json
sutra merge d --side communication -o communication.json -q --stats - | head -n 9
try sutra merge d --step 77 -o step.json
echo "--- what is refused"
try sutra merge d
try sutra merge -o all.json
try sutra merge d/device.0.json d/device.0.json -o all.json
try sutra merge d/device.0.json -o d/device.0.json
try sutra merge - -o all.json
head -c 9999 d/device.2.json >cut.json && mv cut.json d/device.2.json
sutra merge d -o all.json 2>&1 | grep -e skipped: -e ranks
sutra merge d -o strict.json --strict 2>/dev/null || echo "exit $?"
ls
