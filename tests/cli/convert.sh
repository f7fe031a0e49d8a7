# Conversion: the summary, both command lines, errors of wrong options and files.
. "$TOOLS/common.sh"
gunzip -c "$DATA/link/torch_mlp_adam_ne/out.nosync.json.gz" >plus.json
summary() { sed 's/^ *[0-9.]* s .*/TIME/; s/^ *[0-9.]* [kM]B  /SIZE  /'; }
sutra convert plus.json -o a.et 2>&1 | summary
sutra convert plus.json --compat -o b.et 2>&1 | summary
ln -s "$(command -v sutra)" chakra_converter
./chakra_converter --log-filename log PyTorch --input plus.json --output c.et --quiet && cmp b.et c.et && ls
try ./chakra_converter --input plus.json --output c.et
try ./chakra_converter Text --input plus.json --output c.et
try sutra convert
try sutra convert plus.json
try sutra convert plus.json --input plus.json -o c.et
try sutra convert plus.json -o plus.json
gunzip -c "$DATA/link/torch_mlp_adam_ne/device.json.gz" >device.json
try sutra convert device.json -o d.et
printf '{"nodes": [{"id": 1, "name": 3}]}' >broken.json
try sutra convert broken.json -o d.et
printf '{"nodes": [{"name": "a"}]}' >broken.json
try sutra convert broken.json -o d.et
sutra convert plus.json -o e.et --quiet --stats - | grep -o '"n_[a-z_]*": [0-9]*'
# Files for ASTRA-sim: a group with a name gets a number, and its members stand beside the file.
cat >group.json <<'END'
{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "time": "now", "start_ts": 1, "finish_ts": 2, "nodes": [
{"id": 1, "name": "[pytorch|profiler|execution_trace|thread]", "ctrl_deps": 1, "attrs": [],
 "inputs": {"values": [], "shapes": [], "types": []}, "outputs": {"values": [], "shapes": [], "types": []}},
{"id": 2, "name": "## process_group:init ##", "ctrl_deps": 1, "attrs": [],
 "inputs": {"values": ["[{\"pg_name\": \"dp\", \"ranks\": [0, 2]}]"], "shapes": [[]], "types": ["String"]},
 "outputs": {"values": [], "shapes": [], "types": []}},
{"id": 3, "name": "c10d::allreduce_", "ctrl_deps": 1, "attrs": [],
 "inputs": {"values": [], "shapes": [], "types": []}, "outputs": {"values": [], "shapes": [], "types": []}},
{"id": 4, "name": "ncclDevKernel_AllReduce", "ctrl_deps": 3, "cat": "kernel", "pg_name": "dp", "attrs": [],
 "inputs": {"values": [[1, 2, 0, 4, 4, "cuda:0"]], "shapes": [[4]], "types": ["Tensor(float)"]},
 "outputs": {"values": [], "shapes": [], "types": []}}
]}
END
sutra convert group.json -o job.0.et --astra astra --ranks 4 --quiet && ls astra && cat astra/comm_group.json astra/network.yml
sutra jsonize job.0.et --lines | grep -o '"pg_name[^}]*'
try sutra convert group.json -o job.0.et --astra astra --compat
echo '{' >bad.json
try sutra convert bad.json -o bad.0.et --astra bad_astra -q
try sutra convert group.json -o missing/bad.0.et --astra bad_astra -q
ls -d bad_astra bad.0.et 2>/dev/null
# Measured times from ET+ alone, and what is said of it.
sutra convert plus.json --faithful -o faithful.0.et 2>&1 | summary
sutra convert plus.json --faithful --gpu streams --min-idle-us -1 -o streams.0.et --quiet && sutra check faithful.0.et streams.0.et --quiet
try sutra convert plus.json --faithful --compat -o a.et
try sutra convert plus.json --min-idle-us 5 -o a.et
try sutra convert plus.json --faithful --min-idle-us five -o a.et
try sutra convert group.json --faithful -o a.et
