# --stats writes JSON that fits the output.
. "$TOOLS/common.sh"
need python3
traces
sutra link host.json device.json -o out.json --stats stats.json --threads 2 -q 2>/dev/null || exit 1
sutra link host.json device.json -o out2.json --stats - -q 2>/dev/null | python3 -m json.tool >/dev/null || exit 1
python3 - <<'END'
import json
stats, linked = json.load(open("stats.json")), json.load(open("out.json"))
device = json.load(open("device.json"))["traceEvents"]
counts, seconds = stats["counts"], stats["seconds"]
print(*stats)
print(*counts)
assert counts["n_nodes"] == len(linked["nodes"])
assert counts["n_gpu_nodes"] == sum("cat" in node for node in linked["nodes"]) > 0
assert counts["n_host_nodes"] + counts["n_gpu_nodes"] == counts["n_nodes"]
assert counts["n_events"] == len(device)
assert counts["n_gpu_ops"] == sum(e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") for e in device)
assert counts["n_gpu_ops"] == (counts["n_gpu_with_parent"] + counts["n_gpu_without_launch"]
                               + counts["n_gpu_without_parent"] + counts["n_gpu_memory_sets"])
assert counts["n_host_steps"] == sum("ProfilerStep" in node["name"] for node in linked["nodes"]) > 0
assert counts["n_host_linked"] <= counts["n_host_ops"] <= counts["n_host_nodes"]
stages = [s for name, s in seconds.items() if name != "total"]
assert stages and min(stages) >= 0 and sum(stages) <= seconds["total"] * 1.01 + 0.001
assert stats["threads"] == 2
assert stats["input_bytes"] == sum(len(open(f, "rb").read()) for f in ("host.json", "device.json"))
assert stats["output_bytes"] == len(open("out.json", "rb").read())
assert 0 < stats["peak_memory_bytes"] <= stats["peak_rss_bytes"]
END
