# Both names of the program write the same file, with any notation of options.
. "$TOOLS/common.sh"
traces
sutra link host.json device.json -o a.json -q 2>/dev/null
echo "link: $?"
chakra_trace_link --rank 0 --chakra-host-trace host.json --chakra-device-trace=device.json --output-file b.json \
    --log-level ERROR
echo "chakra_trace_link: $?"
chakra_trace_link --rank=3 --chakra-host host.json --chakra-dev device.json --out c.json --log-level error
echo "abbreviated: $?"
sutra link host.json device.json -o - -q 2>/dev/null >d.json
echo "to standard output: $?"
gzip -c host.json | sutra link - device.json -oe.json -q 2>/dev/null
echo "from standard input: $?"
for file in b c d e; do cmp a.json $file.json && echo "$file is the same"; done
