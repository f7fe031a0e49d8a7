# A directory of host traces and device traces: one line counts the host traces that were skipped.
. "$TOOLS/common.sh"
traces
mkdir run
cp device.json run/device.0.json
cp host.json run/host.0.json
warnings() {
    sutra "$@" 2>&1 >/dev/null | grep warning
}
warnings analyze hta run
cp host.json run/host.1.json
gzip -c host.json >run/host.2.json.gz
echo '{"traceEvents": [' >run/cut.json
for command in 'analyze' 'analyze hta' 'analyze collectives' 'analyze dlrm' 'analyze operators' 'analyze kernels' 'merge -o all.json'; do
    echo "$command:"
    warnings $command run
done
rm run/device.0.json run/cut.json
try sutra analyze run
