# Errors with a remedy: a trace of the wrong kind, an unnamed analysis, ambiguous options; ET+ is recognized.
. "$TOOLS/common.sh"
need zstd
traces
sutra link host.json device.json --no-sync -o plus.json -q
try sutra link host.json host.json -o out.json
try sutra link device.json device.json -o out.json
try sutra link device.json host.json -o out.json
try sutra tree host.json
try sutra critical-path plus.json
try sutra analyze hta plus.json
try sutra convert device.json -o out.et
try sutra convert host.json -o out.et -q
try sutra simulate plus.json
try sutra draw device.json --around 1
try sutra jsonize missing.et
try sutra link plus.json device.json --no-sync -o again.json -q
try sutra link plus.json device.json --no-sync -o again.json -q --strict
try sutra link-legacy plus.json device.json -o again.json -q --strict
sutra info plus.json device.json | grep -A 1 warning
try sutra analyze
try sutra analyze other
try sutra analyze hta device.json --kernel
echo "--- what cannot be made, and why"
mkdir folder
for out in missing/out.json folder device.json/out.json; do
    try sutra link host.json device.json --no-sync -o $out -q
    try sutra link host.json device.json --no-sync -o out.json -q --stats $out
    try sutra tree device.json -o $out -q
done
for out in missing/a/tables device.json; do
    try sutra analyze hta device.json -o $out -q
    try sutra convert plus.json -o out.et --astra $out -q
done
echo "--- ET+"
sutra info plus.json | sed -E 's/[0-9][0-9,.]*/N/g'
sutra info plus.json --json | grep -c -e '"kind": "ET+"' -e '"gpu_nodes": [1-9]'
echo "--- what a trace says of itself"
sed 's/"record_shapes"/"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}, "with_stack": 1, &/' device.json >rank.json
sutra info rank.json | grep -e rank -e backend -e GPU' ' -e recorded -e steps
sutra info rank.json --json | grep -e '"rank"' -e '"recorded"' -e '"steps"'
echo "--- zstd with a long window, and the sizes of what is compressed"
zstd -q --ultra --long=30 host.json -o host.json.zst && sutra info host.json.zst | head -n 1
sutra link host.json.zst device.json --no-sync -o out.json 2>&1 | grep -c 'B  read, compressed'
sutra link host.json device.json --no-sync -o out.json 2>&1 | grep -c 'B  read$'
echo "--- link-legacy finds the step without an annotation"
older_traces
sed -i 's/aten::relu/step##done/' host.json
sed -i 's/aten::relu/step##done/' device.json
echo '{"ph": "X", "cat": "user_annotation", "name": "step##done", "pid": 1, "tid": 1, "ts": 40, "dur": 5, "args": {}},' >line
sed -i '1r line' device.json
sutra info host.json device.json | tail -n 2
for options in "" "--annotation DataLoader" "--annotation step##done"; do
    sutra link-legacy host.json device.json -o out.json $options 2>&1 | grep -e warning -e 'matched to'
done
