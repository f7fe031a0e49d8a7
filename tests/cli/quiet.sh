# --quiet leaves warnings and errors alone, --log-level ERROR only errors; standard output stays for the trace.
. "$TOOLS/common.sh"
traces
sutra link host.json device.json -o out.json --quiet 2>&1 | grep -v '^sutra: warning: '
sutra link host.json device.json -o out.json --log-level ERROR
sutra link host.json device.json -o out.json 2>/dev/null
strange_traces
echo "nothing matches:"
sutra link host.json device.json -o out.json --quiet 2>&1 | grep -c '^sutra: warning: nothing matches'
sutra link host.json device.json -o out.json --log-level CRITICAL
