# Files for simulators contain FLOPs and bytes of kernels, with equal totals with and without measured times.
. "$TOOLS/common.sh"
cat >plus.json <<'END'
{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "time": "now", "start_ts": 1, "finish_ts": 2, "nodes": [
{"id": 1, "name": "[pytorch|profiler|execution_trace|thread]", "ctrl_deps": 1, "attrs": [],
 "inputs": {"values": [], "shapes": [], "types": []}, "outputs": {"values": [], "shapes": [], "types": []}},
{"id": 2, "name": "aten::mm", "ctrl_deps": 1, "attrs": [], "inputs": {"values": [[1, 2, 0, 6, 4, "cuda:0"],
 [3, 4, 0, 15, 4, "cuda:0"]], "shapes": [[2, 3], [3, 5]], "types": ["Tensor(float)", "Tensor(float)"]},
 "outputs": {"values": [], "shapes": [], "types": []}},
{"id": 3, "name": "gemm", "ctrl_deps": 2, "cat": "kernel", "exclusive_dur": 20, "attrs": [],
 "inputs": {"values": [], "shapes": [], "types": []}, "outputs": {"values": [], "shapes": [], "types": []}},
{"id": 4, "name": "splitK", "ctrl_deps": 2, "cat": "kernel", "exclusive_dur": 10, "attrs": [],
 "inputs": {"values": [], "shapes": [], "types": []}, "outputs": {"values": [], "shapes": [], "types": []}}
]}
END
work() { sutra jsonize "$1" --lines | grep -o '"name": "\(num_ops\|tensor_size\)"[^}]*'; }
sutra convert plus.json -o plus.0.et 2>&1 | grep operations
work plus.0.et
sutra check plus.0.et --roofline
sutra convert plus.json -o none.0.et --no-flops --quiet
work none.0.et

sum() { work "$1" | sed -n "s/.*$2.*\"\([0-9]*\)\"/\1/p" | awk '{ n++; sum += $1 } END { printf "%d %.0f\n", n, sum }'; }
sutra gen --events 2k --seed 1 --sync stream --host host.json --device device.json 2>/dev/null
sutra link host.json device.json -o parts.0.et --no-sync 2>&1 | grep -E 'operations|parts'
sutra link host.json device.json -o whole.0.et --no-sync --plain --quiet 2>&1
sutra link host.json device.json -o none.0.et --no-sync --no-flops --quiet
for file in parts.0.et whole.0.et none.0.et; do sum $file num_ops; sum $file tensor_size; done
try sutra link host.json device.json -o linked.json --no-flops
