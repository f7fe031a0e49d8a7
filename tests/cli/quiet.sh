# --quiet prints only warnings and errors, and --log-level ERROR of chakra_trace_link only errors.
. "$TOOLS/common.sh"
traces
sutra link host.json device.json -o out.json --quiet 2>&1 | grep -v '^sutra: warning: '
trace_link="chakra_trace_link --rank 0 --chakra-host-trace host.json --chakra-device-trace device.json --output-file out.json"
$trace_link --log-level ERROR
sutra link host.json device.json -o out.json 2>/dev/null
strange_traces
echo "nothing matches:"
sutra link host.json device.json -o out.json --quiet 2>&1 | grep -c '^sutra: warning: nothing matches'
$trace_link --log-level CRITICAL
