# The summary with masked numbers, without lines that depend on the run (a rate after a while); each log level prints
# less.
. "$TOOLS/common.sh"
traces
mask() { sed -E 's/[0-9][0-9,.]*/N/g; s/ +N/ N/; s/N [kMG]?B/N B/g; s| at N B/s of input,||'; }
sutra link host.json device.json --no-sync -o out.json 2>&1 >/dev/null | grep -vE 'warning:|(unlinked|unmatched|skipped):' | mask
for level in debug info warning error critical; do
    n=$(chakra_trace_link --rank 0 --chakra-host host.json --chakra-dev device.json --out out.json --log-level $level 2>&1 | grep -vc warning:)
    echo "$level: $([ "$n" -gt 1 ] && echo summary || echo "$n lines")"
done
# Without profile_all_threads a trace lacks the operators of threads that the script starts, but not their kernels.
gzip -dc "$DATA/link/h200_streams/host.json.gz" >host.json
gzip -dc "$DATA/link/h200_streams/device.json.gz" | sed '/"tid": 50[34],/s/"cpu_op"/"python_function"/' >device.json
sutra link host.json device.json -o out.json 2>&1 | grep unmatched:
