# Chakra files run in time: alone, with what-ifs, as ranks that meet, and jobs that stand still.
. "$TOOLS/common.sh"
et_file >job.0.et
cp job.0.et job.1.et
sutra simulate job.0.et
echo
try sutra simulate job.0.et --scale comm:0.5 --remove 'name=aten::mm'
echo
try sutra simulate job.0.et job.1.et --bandwidth x2 --sensitivity
echo
sutra simulate job.1.et job.0.et --format json
sutra simulate job.0.et --trace trace.json
cat trace.json
echo "what is wrong:"
try sutra simulate
try sutra simulate none.et
try sutra simulate job.0.et --scale comm
try sutra simulate job.0.et --scale 'name=~(:0.5'
try sutra simulate job.0.et --scale 'kernel:0.5'
try sutra simulate job.0.et --scale 'gpu:fast'
try sutra simulate job.0.et --scale 'rank=x:gpu:2'
try sutra simulate job.0.et --bandwidth fast
try sutra simulate job.0.et --trace job.0.et
