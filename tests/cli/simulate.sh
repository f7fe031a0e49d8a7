# Simulated Chakra files: alone, with what-ifs, as ranks with matched collectives, and deadlocked jobs.
. "$TOOLS/common.sh"
et_file >job.0.et
cp job.0.et job.1.et
sutra simulate job.0.et
echo
try sutra simulate job.0.et --scale comm:0.5 --remove 'name=aten::mm'
echo
try sutra simulate job.0.et job.1.et --bandwidth x2 --sensitivity
echo
sutra simulate job.0.et job.1.et --scale rank=1:cpu:2 | grep -A1 shares
echo
sutra link "$DATA/link/torch_mlp_adam_ne/host.json.gz" "$DATA/link/torch_mlp_adam_ne/device.json.gz" -o rank.0.et --quiet --no-sync
# what_if FILE OPTION...: the lines above the ranks: the result, and why it hardly differs
what_if() {
    echo "$*"
    sutra simulate "$@" --quiet | sed '/^$/,$d'
}
for what in '--scale name=~gemm:0.5' '--scale op=aten::addmm:0.5' '--scale compute:0.5' '--scale stream=7:0.5' '--scale cpu:0.8' \
    '--remove name=~Memcpy' '--no-launch-latency' '--overlap comm' '--bandwidth x2' '--scale gpu:1' '--scale gpu:0.9999' \
    '--scale cpu:1x --bandwidth x1' '--network alpha=1us' '--straggler none'; do
    what_if rank.0.et $what
done
echo "without communication, GPU or launch latency:"
sutra jsonize job.0.et --lines | sed 3d | encode_et >mm.0.et
what_if mm.0.et --bandwidth x2 --network beta=1GB/s --overlap comm --scale gpu:2 --remove compute --no-launch-latency
what_if job.0.et --bandwidth x2 --scale cpu:0.5
echo
sutra simulate job.1.et job.0.et --format json
try sutra simulate job.0.et --trace trace.json
cat trace.json
echo "beside the measured times:"
sutra jsonize job.0.et --lines |
    sed 's/"COMP_NODE"/&, "startTimeMicros": "1005"/; s/"COMM_COLL_NODE"/&, "startTimeMicros": "1030"/' >lines
encode_et <lines >timed.0.et && sutra simulate timed.0.et --scale gpu:2 --quiet --trace trace.json >/dev/null
sed 's/{"ph"/\n&/g' trace.json
echo "jobs that stand still:"
ring() { sed -n 1p lines && sed -n '2s/"durationMicros"/"dataDeps": ["1"], &/p; 3p' lines; }
ring | encode_et >stuck.0.et
try sutra simulate stuck.0.et
try sutra simulate job.0.et stuck.0.et
echo "what is wrong:"
try sutra simulate
try sutra simulate none.et
try sutra simulate job.0.et --scale comm
try sutra simulate job.0.et --scale 'name=~(:0.5'
try sutra simulate job.0.et --scale 'kernel:0.5'
try sutra simulate job.0.et --scale 'gpu:fast'
try sutra simulate job.0.et --scale 'rank=x:gpu:2'
try sutra simulate job.0.et --bandwidth fast
try sutra simulate job.0.et --scale 'name=aten:mm:0.5'
try sutra simulate job.0.et --remove 'name=~gemm'
try sutra simulate job.0.et --scale 'op=~AllReduce:0.5'
try sutra simulate mm.0.et job.1.et --scale 'rank=0:name=~AllReduce:0.5'
try sutra simulate job.0.et --trace job.0.et
