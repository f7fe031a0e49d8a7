# The contents of a trace, as text and as JSON, agree with the file.
. "$TOOLS/common.sh"
need python3
traces
mask() { sed -E 's/[0-9][0-9,.]*/N/g; s/^ +N/ N/'; }
sutra info host.json -q | mask
sutra info device.json -q | sed '/  category$/q' | mask
gzip device.json
sutra info host.json --json -q >host_info.json || exit 1
sutra info device.json.gz --json -q >device_info.json || exit 1
gzip -d device.json.gz
python3 - <<'END'
import collections, json
host, device = json.load(open("host.json")), json.load(open("device.json"))
info = json.load(open("host_info.json"))
assert info["kind"] == "host" and info["schema"] == host["schema"] and info["nodes"] == len(host["nodes"])
info = json.load(open("device_info.json"))
assert info["kind"] == "device" and info["events"] == len(device["traceEvents"]) and info["file"] == "device.json.gz"
assert info["bytes"] == len(open("device.json", "rb").read())
assert sum(info["categories"].values()) == info["events"]
counts = collections.Counter(e.get("cat", "") for e in device["traceEvents"])
assert info["categories"] == counts
assert list(info["categories"].values()) == sorted(counts.values(), reverse=True)
assert info["ts_begin_us"] <= info["ts_end_us"]
END

# A member without a name is no trace's array.
printf '{"": [1], "other": [2]}' >nothing.json
sutra info nothing.json
echo "exit $?"
# An array without its object is a device trace, also without a first event that shows it.
for list in '[]' '[1, 2]' '[[]]'; do
    printf '%s' "$list" >list.json
    sutra info list.json -q 2>&1 | head -2
done
