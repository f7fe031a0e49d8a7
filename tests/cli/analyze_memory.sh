# Memory snapshots and Kineto traces: the page, tables, JSON of one and of several inputs, comparison, errors.
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
memory leak.pickle.gz --against oom.pickle.gz -o more -q --tables json
ls more
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
event = {"action": "alloc", "addr": 1, "size": 1}
pickle.dump({"segments": [], "device_traces": [[event] * 20] * 1000}, open("repeated.pickle", "wb"))
open("trace.json", "w").write('{"traceEvents": []}')
open("cut.json", "w").write('{"segments": [')
open("text.txt", "w").write("hello")
END
for input in command.pickle truncated.pickle empty.pickle other.pickle size.pickle repeated.pickle trace.json cut.json text.txt; do
    try sutra analyze memory $input
done
try sutra analyze memory leak.pickle.gz trace.json.gz --against oom.pickle.gz
try sutra analyze memory
