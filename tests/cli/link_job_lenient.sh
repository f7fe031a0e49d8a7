# A job whose traces are malformed near their start: --lenient pairs and links them as if they were repaired.
. "$TOOLS/common.sh"
need python3
sutra gen -n 1k --ranks 3 --seed 3 --host hosts --device devices
python3 - <<'PYTHON'
import json
trace = json.load(open("devices/device.0.json"))
json.dump(trace["traceEvents"], open("devices/device.0.json", "w"))
text = open("devices/device.1.json").read()
begin = text.index("[", text.index('"traceEvents"')) + 1
event = '{"ph": "X", "cat": "Trace", "name": "a{"b}{c", "pid": 1, "tid": 1, "ts": 1, "dur": 1},'
open("devices/device.1.json", "w").write(text[:begin] + event + text[begin:])
text = open("hosts/host.2.json").read()
open("hosts/host.2.json", "w").write("\ufeff" + text)
PYTHON
try sutra link hosts devices --dry-run
try sutra link hosts devices --dry-run --lenient
mkdir h d
for rank in 0 1 2; do
    sutra repair hosts/host.$rank.json -o h/host.$rank.json -q
    sutra repair devices/device.$rank.json -o d/device.$rank.json -q
done
try sutra link h d --dry-run
sutra link h d -o good -q
sutra link hosts devices -o out --lenient -q
for rank in 0 1 2; do cmp good/rank.$rank.json out/rank.$rank.json; done
