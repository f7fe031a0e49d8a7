# --max-input limits memory for compressed and piped inputs in all commands that read traces.
. "$TOOLS/common.sh"
need zstd
strange_traces
{ printf '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}'
  head -c 40000000 /dev/zero | tr '\0' ' '; echo ']}'; } | zstd -qc >spaces.zst
{ printf '{"schema": "1.1.1-chakra.0.0.4", "nodes": ['; head -c 40000000 /dev/zero | tr '\0' ' '; echo ']}'; } | zstd -qc >nodes.zst
echo "-- more than 1,000 times the compressed bytes, unless that is meant"
try sutra tree spaces.zst -q -f text | sed -E 's/[0-9]+ compressed/N compressed/'
try sutra tree spaces.zst -q -f text --max-input 50M
try sutra info spaces.zst -q --max-input 50M | grep -e events -e exit
# a node whose name is 40,000,000 spaces
sutra link host.json device.json -o small.et -q
{ cat small.et; printf '\205\264\211\023\022\200\264\211\023'
  head -c 40000000 /dev/zero | tr '\0' ' '; } | zstd -qc >named.et.zst
rm small.et
try sutra info named.et.zst -q --max-input 50M | grep -e bytes -e exit
echo "-- less, where that is wanted"
gzip -c device.json >device.gz
refused() {
    "$@" --max-input 100 -q >out.txt 2>&1
    echo "$2 $? $(grep -c -e '--max-input' out.txt)"
}
refused sutra link host.json device.gz -o out.json
refused sutra link-legacy host.json device.gz -o out.json
refused sutra tree device.gz
refused sutra correlate device.gz
refused sutra critical-path device.gz
refused sutra info device.gz
refused sutra analyze hta device.gz -o tables
refused sutra analyze dlrm device.gz -o tables
refused sutra convert nodes.zst -o out.et
gzip -c nodes.zst >job.et.gz
refused sutra jsonize job.et.gz
refused sutra check job.et.gz
refused sutra draw job.et.gz --around 1
refused sutra simulate job.et.gz
cat device.json | sutra link host.json - -q --max-input 100 -o out.json 2>&1
ls
