# The command that links a pair of traces: reported by info, and by link if no operator matches.
. "$TOOLS/common.sh"
older_traces
try sutra info host.json device.json
try sutra info host.json device.json --json
sutra link host.json device.json --no-sync -o out.json -q
cp host.json "it's.json"
sutra info "it's.json" device.json | tail -n 1
sed 's/aten::/other::/' host.json >strange.json
try sutra info strange.json device.json
try sutra info host.json device.json more.json
mkdir hosts devices
try sutra info hosts devices
