# Hung jobs: screens of each cause, Markdown, JSON, tables and page, the gate, and unusable inputs.
. "$TOOLS/common.sh"
need python3
cat >dumps.py <<'END'
import json, os, pickle

class Job:
    """Dumps of a job: call() records an operation on ranks, write() writes a pickle or JSON per rank."""
    def __init__(self, n, groups=None, **options):
        self.n, self.options = n, options
        self.groups = groups or {"0": ("default_pg", range(n))}
        self.entries = {rank: [] for rank in range(n)}
        self.seq = {}

    def call(self, kind, ranks, group="0", state="completed", n=8, dtype="Float", frame=None, **fields):
        is_p2p = kind.startswith(("send", "recv"))
        for rank in ranks:
            key = rank, group, is_p2p
            self.seq[key] = self.seq.get(key, 0) + 1
            entries = self.entries[rank]
            entry = {"record_id": len(entries), "process_group": [group, self.groups[group][0]], "is_p2p": is_p2p,
                     "collective_seq_id": 0 if is_p2p else self.seq[key], "p2p_seq_id": self.seq[key] if is_p2p else 0,
                     "profiling_name": "nccl:" + kind, "input_sizes": [[n]], "output_sizes": [[n]],
                     "input_dtypes": [dtype], "output_dtypes": [dtype], "state": state, "retired": state == "completed",
                     "time_created_ns": 1000 * len(entries), "timeout_ms": 600000,
                     "frames": [{"name": frame or "step", "filename": "/job/train.py", "line": 10 + len(entries)}]}
            entry.update(fields)
            entries.append(entry)

    def write(self, folder, ranks=None, lists=None, as_json=False):
        os.makedirs(folder, exist_ok=True)
        for rank in range(self.n) if ranks is None else ranks:
            config = {name: {"name": name, "desc": desc, "ranks": str(list((lists or {}).get((rank, name), members)))}
                      for name, (desc, members) in self.groups.items()
                      if rank in (lists or {}).get((rank, name), members)}
            entries = self.entries[rank]
            if self.options.get("without_frames"):
                entries = [{k: v for k, v in e.items() if k != "frames"} for e in entries]
            dump = {"version": "2.9", "pg_config": config, "entries": entries}
            path = f"{folder}/nccl_trace_rank_{rank}"
            if as_json:
                json.dump(dump, open(path + ".json", "w"))
            else:
                pickle.dump(dump, open(path, "wb"), protocol=2)

waits = dict(state="scheduled")

job = Job(4, {"0": ("default_pg", range(4)), "1": ("tp", (0, 1)), "2": ("tp", (2, 3)), "3": ("dp", (0, 2)), "4": ("dp", (1, 3))})
job.call("all_reduce", range(4))
job.call("all_reduce", (2,), "2", n=4096, dtype="BFloat16", frame="backward", **waits)
job.call("_all_gather_base", (0, 1), "1", frame="forward")
job.call("all_reduce", (0,), "3", frame="gradients", **waits)
job.call("all_reduce", (1,), "4", frame="gradients", **waits)
job.write("not_arrived")

job = Job(3)
job.call("all_reduce", range(3))
job.call("all_reduce", (0, 1, 2), state="completed")
job.entries[2][1]["state"], job.entries[2][1]["retired"] = "scheduled", False
job.call("all_reduce", (0, 1), **waits)
job.write("stale")

for name, kind, n, dtype in (("size", "all_reduce", 9, "Float"), ("dtype", "all_reduce", 8, "BFloat16"),
                             ("type", "broadcast", 8, "Float")):
    job = Job(4)
    job.call("all_reduce", range(4))
    job.call("all_reduce", (0, 1, 3), frame="loss", retired=True, **waits)
    job.call(kind, (2,), n=n, dtype=dtype, frame="other_loss", retired=True, **waits)
    job.write(name)
    if name == "size":
        job.write("tie", (0, 2), {(0, "0"): (0, 2), (2, "0"): (0, 2)})

job = Job(3)
job.call("all_reduce", (0, 1), **waits)
job.call("barrier", (0, 1, 2), **waits)
job.call("all_reduce", (2,), **waits)
job.write("order")

job = Job(3)
for kind in ("all_reduce", "barrier", "broadcast", "reduce"):
    job.call(kind, (0, 1) if kind == "all_reduce" else range(3), **waits)
job.write("skipped")

job = Job(3)
for kind in ("all_reduce", "barrier", "broadcast", "reduce"):
    job.call(kind, (2,) if kind == "all_reduce" else range(3), **waits)
job.write("extra")

job = Job(3)
job.call("all_reduce", range(3), **waits)
job.write("members", None, {(2, "0"): (1, 2)})

job = Job(2, {"1": ("tp", (0, 1)), "2": ("dp", (0, 1))})
for rank in (0, 1):
    for group in ("1", "2"):
        job.call("all_reduce", (rank,), group)
job.call("all_reduce", (0,), "1", **waits)
job.call("all_reduce", (1,), "2", **waits)
job.write("cycle")

job = Job(2)
job.call("all_reduce", (0, 1))
job.call("send 0->1", (0,), **waits)
job.call("send 1->0", (1,), **waits)
job.write("deadlock")

job = Job(2)
job.call("send 0->1", (0,), n=512, **waits)
job.call("recv 1<-0", (1,), n=1024, **waits)
job.write("pair")

job = Job(3)
job.call("all_reduce", range(3), frame="log")
job.call("recv 1<-0", (1,), frame="receive_forward", **waits)
job.call("recv 2<-1", (2,), frame="receive_forward", **waits)
job.write("no_send")

job = Job(2)
job.call("recv 1<-?", (1,), **waits)
job.write("any")

job = Job(3)
job.call("all_reduce", range(3), **waits)
job.write("no_dump", (0, 2))
job.write("one_dump", (0,))

job = Job(4)
job.call("all_reduce", (0, 1, 3), state="started")
job.call("all_reduce", (2,), **waits)
job.write("gpu")

job = Job(4)
job.call("all_reduce", range(4), state="started", retired=True)
job.write("kernel")

job = Job(4)
job.call("all_reduce", range(4), **waits)
job.write("no_timing")

job = Job(2)
job.call("all_reduce", range(2))
job.write("none")
Job(2).write("no_operations")

# Two faults: rank 1 is missing in group 0, and ranks 4 and 5 differ in group 1.
job = Job(6, {"0": ("a", (0, 1)), "1": ("b", (2, 3, 4, 5))})
job.call("all_reduce", (0, 1), "0")
job.call("all_reduce", (0,), "0", **waits)
job.call("all_reduce", (2, 3, 4), "1", **waits)
job.call("all_reduce", (5,), "1", dtype="Half", **waits)
job.write("two")

# A large group: every second rank is missing. Names are adversarial.
html = "<img src=x>|`x`\n# \x1b[2J"
job = Job(200, {"0": (html, range(200))}, without_frames=True)
job.call("all_reduce", range(200))
job.call(html, range(0, 200, 2), **waits)
job.write("large", as_json=True)
END
python3 dumps.py
for name in not_arrived stale size dtype type tie order skipped extra members cycle deadlock pair no_send any no_dump \
    one_dump gpu kernel no_timing none no_operations two large; do
    echo "--- $name"
    sutra analyze hang $name 2>errors || cat errors
done
echo "--- Markdown"
sutra analyze hang two --format markdown 2>errors || cat errors
sutra analyze hang large --format markdown 2>errors | head -n 20
sutra analyze hang none --format markdown 2>errors || cat errors
echo "--- the gate"
try sutra analyze hang size --fail-if-stuck -q
try sutra analyze hang none --fail-if-stuck -q
try sutra analyze hang size -q
echo "--- JSON"
sutra analyze hang not_arrived --format json 2>errors >hang.json || cat errors
python3 - <<'END'
import json
found = json.load(open("hang.json"))
for name, value in found.items():
    print(name, *(value if isinstance(value, dict) else value[0] if value else ()))
print(found["hang"]["why"])
END
for n in 1 3; do
    sutra analyze hang large --format json -q --threads $n 2>errors >large_$n.json || cat errors
done
cmp large_1.json large_3.json
echo "--- files and directories, compressed"
mkdir -p nested/node_1/a nested/node_2
cp size/nccl_trace_rank_0 size/nccl_trace_rank_1 nested/node_1/a
gzip -c size/nccl_trace_rank_2 >nested/node_2/nccl_trace_rank_2.gz
sutra analyze hang nested size/nccl_trace_rank_3 2>errors | sed -n 1,4p
echo "--- tables and page"
quietly sutra analyze hang not_arrived -o out --print-path | sed "s,file://.*/,file://,"
ls out out/charts
head -n 3 out/*.csv
sutra analyze hang large -o large_out -q 2>errors || cat errors
sutra analyze hang none -o none_out -q --table-format json --no-report 2>errors || cat errors
ls none_out
for n in 1 3; do
    sutra analyze hang two -o out_$n -q --threads $n 2>errors || cat errors
done
diff -r out_1 out_3
python3 - <<'END'
import glob, os, xml.dom.minidom
for path in glob.glob("*out*/hang.html") + glob.glob("*out*/charts/*.svg"):
    xml.dom.minidom.parse(path)
    assert os.path.getsize(path) < 100000, path
page = open("large_out/hang.html").read()
assert "<img" not in page and "&lt;img src=x&gt;" in page
assert "RANK NOT ARRIVED" in open("out/hang.html").read()
END
echo "--- unusable inputs"
python3 - <<'END'
import gzip, os, pickle
class Command:
    def __reduce__(self):
        return os.system, ("echo executed",)
for folder in ("empty", "bad", "some"):
    os.makedirs(folder, exist_ok=True)
whole = open("size/nccl_trace_rank_0", "rb").read()
files = {"rank_1": whole[:-40], "rank_2": pickle.dumps([Command()], protocol=2), "rank_3.json": b'{"entries": [',
         "notes.txt": b"notes", "rank_4": b"hello", "rank_5": b"",
         "rank_6.pickle": pickle.dumps({"segments": [], "device_traces": []}, protocol=4)}
for name, data in files.items():
    open("bad/" + name, "wb").write(data)
    open("some/" + name, "wb").write(data)
for rank in range(4):
    os.link(f"size/nccl_trace_rank_{rank}", f"some/nccl_trace_rank_{10 + rank}")
END
for input in empty bad missing bad/rank_1 bad/rank_2 bad/rank_6.pickle; do
    try sutra analyze hang $input
done
sutra analyze hang some 2>errors | sed -n 1,4p
sed 's/^[0-9.]* s, .* peak memory$/SECONDS and MEMORY/' errors
try sutra analyze hang
try sutra analyze hang size size/nccl_trace_rank_0 -q
