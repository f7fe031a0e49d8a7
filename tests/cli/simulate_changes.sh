# Factors of changes, and changes that select nothing: the error names the unknown rank, stream or name, and the nearest.
. "$TOOLS/common.sh"
et_file >job.0.et
cp job.0.et job.4.et
for factor in 2 2x 2.0x 0.5x; do
    echo "$factor: $(sutra simulate job.0.et --scale cpu:$factor --quiet | head -1)"
done
try sutra simulate job.0.et --scale cpu:x
try sutra simulate job.0.et --scale cpu:2xx
try sutra simulate job.0.et --scale cpu:
for scale in rank=3:cpu:2 name=aten::nm:2 op=aten:mm:2 op=aten::m:2 name=zzzzz:2 'name=~gemm:2' stream=9:2 rank=0:stream=7:2; do
    echo "$scale: $(sutra simulate job.0.et job.4.et --scale "$scale" --quiet 2>&1 | head -1)"
done
try sutra simulate job.0.et --remove name=ncclDevKernel_AllReduce
sutra simulate job.0.et job.4.et --bandwidth 2x --quiet | head -1
